//! Maps the name of a model to the dialects that it writes.
//!
//! A dialect's file lists its models by name (`models`): "Qwen3.5 to 3.8", "Hermes 2 and 3". Each entry is a pattern; a model
//! has the dialect if its own name contains the pattern, word for word. The first match in the name wins, and of several at one
//! position the longest. Sizes between the words (`9B`, `A3B`, `8x7B`) and the `v` of a version are ignored, and a size does
//! not count as a version. The name may be that of a publisher, a server or a file, with any spacing, dots and capitals.

use std::cmp::Reverse;
use std::sync::OnceLock;

use crate::dialect::{FileHead, builtin_files};

/// The built-in dialects that a model writes; see [`dialects`].
///
/// ```
/// use toolglot::models::dialects;
///
/// let found = dialects("Qwen/Qwen3-8B");
/// assert_eq!(found.calls, ["hermes"]);
/// assert_eq!(found.reasoning, Some("reasoning-think"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ModelDialects {
    /// Those of its calls. Most models have one; the dialects of a model with several, such as Llama 4, can be active in one
    /// set.
    pub calls: Vec<&'static str>,
    /// The dialect that reads its reasoning and nothing else. Dialects of calls usually read the reasoning of their models
    /// themselves; such a one cannot be active beside it, but it may be active alone, where no calls are due.
    pub reasoning: Option<&'static str>,
    /// None of the dialects of its calls excludes it.
    beside: bool,
}

impl ModelDialects {
    /// Whether no dialect lists such a model.
    ///
    /// ```
    /// assert!(toolglot::models::dialects("gpt-2").is_empty());
    /// ```
    ///
    /// ```
    /// assert!(toolglot::models::dialects("a-model-nobody-knows").is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.reasoning.is_none()
    }

    /// The dialects to read its replies with, which fit into one set: those of its calls, then that of its reasoning if they leave it
    /// to one.
    ///
    /// ```
    /// use toolglot::{DialectSet, models};
    ///
    /// let found = models::dialects("Qwen3-8B-Q4_K_M.gguf");
    /// let set = found.all().fold(DialectSet::builder(), |set, id| set.builtin(id)).build()?;
    /// assert_eq!(set.dialects().len(), 2);
    /// // The dialect of GPT-OSS reads its reasoning.
    /// assert!(models::dialects("gpt-oss-120b").all().eq(["harmony"]));
    /// # Ok::<(), toolglot::BuildError>(())
    /// ```
    pub fn all(&self) -> impl Iterator<Item = &'static str> {
        let reasoning = self.reasoning.filter(|_| self.beside);
        self.calls.iter().copied().chain(reasoning)
    }
}

/// The built-in dialects of a model, by its name: that of its publisher (`Qwen/Qwen3-Coder-30B-A3B-Instruct`), of a server or
/// of a file. Empty if no dialect lists such a model.
///
/// It is a guess from the name: fine-tuned models keep names and change formats. [`Detector`](crate::Detector) looks at what a
/// model wrote.
///
/// ```
/// use toolglot::models::dialects;
///
/// assert_eq!(dialects("Qwen/Qwen3-Coder-30B-A3B-Instruct").calls, ["qwen3-coder"]);
/// assert_eq!(dialects("glm-4.6-q4_k_m.gguf").calls, ["glm45"]);
/// assert_eq!(dialects("Llama-4-Scout-17B-16E").calls, ["llama3-json", "llama4-pythonic"]);
/// assert_eq!(dialects("ibm-granite/granite-3.2-8b-instruct").reasoning, Some("reasoning-granite"));
/// ```
#[must_use]
pub fn dialects(name: &str) -> ModelDialects {
    let own = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let own = words(own);
    let best = |plain: bool| -> Vec<&'static Entry> {
        let entries = table().iter().filter(|entry| entry.plain == plain);
        let found = entries.filter_map(|entry| {
            let places = entry.names.iter().filter_map(|name| place(&own, name));
            Some((places.min()?, entry))
        });
        let mut found: Vec<_> = found.collect();
        let first = found.iter().map(|(place, _)| *place).min();
        found.retain(|(place, _)| Some(*place) == first);
        found.into_iter().map(|(_, entry)| entry).collect()
    };
    let mut calls: Vec<&Entry> = vec![];
    for entry in best(false) {
        let same = |have: &&Entry| entry.group.is_some() && have.group == entry.group;
        if !calls.iter().any(same) {
            calls.push(entry);
        }
    }
    let reasoning = best(true).first().copied();
    let excludes = |call: &&Entry| {
        call.group.is_some() && reasoning.is_some_and(|own| own.group == call.group)
    };
    ModelDialects {
        beside: !calls.iter().any(excludes),
        calls: calls.into_iter().map(|entry| entry.id).collect(),
        reasoning: reasoning.map(|entry| entry.id),
    }
}

/// What a built-in dialect says about its models.
struct Entry {
    id: &'static str,
    /// It reads no calls.
    plain: bool,
    group: Option<String>,
    names: Vec<Vec<Word>>,
}

/// All of them, computed once.
fn table() -> &'static [Entry] {
    static TABLE: OnceLock<Vec<Entry>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let entry = |((id, _), head): (&(&'static str, _), &FileHead)| Entry {
            id,
            plain: !head.calls,
            names: head.models.iter().flat_map(|entry| names(entry)).collect(),
            group: head.group.clone(),
        };
        let heads = builtin_files().iter().zip(FileHead::all());
        heads.map(entry).collect()
    })
}

/// A word of a name.
#[derive(Clone, Debug, PartialEq)]
enum Word {
    /// Letters, in lower case.
    Text(String),
    /// A number with at most one dot.
    Number(u32, u32),
    /// Numbers from one to another.
    Range((u32, u32), (u32, u32)),
}

/// Where an entry occurs in a name; the smallest is the best match: the first, and of those the longest. A single word counts
/// only at the beginning.
fn place(name: &[Word], entry: &[Word]) -> Option<(usize, Reverse<usize>)> {
    let starts = if entry.len() > 1 { name.len() } else { 1 };
    let at = (0..starts.min(name.len())).find(|at| begins(&name[*at..], entry))?;
    Some((at, Reverse(entry.len())))
}

/// Whether a name begins with these words.
fn begins(name: &[Word], entry: &[Word]) -> bool {
    let mut at = 0;
    for (index, wanted) in entry.iter().enumerate() {
        // A size is not a version, unless the entry names it.
        let sized = |at: usize| is_size(name.get(at + 1)) && !is_size(entry.get(index + 1));
        while !name
            .get(at)
            .is_some_and(|have| same(have, wanted) && !(number(have) && sized(at)))
        {
            match size(&name[at..]) {
                Some(len) if index > 0 => at += len,
                Some(_) | None => return false,
            }
        }
        at += 1;
    }
    !entry.is_empty()
}

fn same(have: &Word, wanted: &Word) -> bool {
    match (have, wanted) {
        (Word::Number(a, b), Word::Range(first, last)) => *first <= (*a, *b) && (*a, *b) <= *last,
        (have, wanted) => have == wanted,
    }
}

fn number(word: &Word) -> bool {
    match word {
        Word::Number(..) => true,
        Word::Text(_) | Word::Range(..) => false,
    }
}

/// Whether a word makes the number before it a size: billions or millions.
fn is_size(word: Option<&Word>) -> bool {
    matches!(word, Some(Word::Text(unit)) if unit == "b" || unit == "m")
}

/// How many words at the beginning form a size: `9B`, `A3B`, `8x7B`.
fn size(name: &[Word]) -> Option<usize> {
    let text = |word: &Word, texts: &[&str]| match word {
        Word::Text(have) => texts.contains(&have.as_str()),
        Word::Number(..) | Word::Range(..) => false,
    };
    match name {
        [a, unit, ..] if number(a) && is_size(Some(unit)) => Some(2),
        [of, a, unit, ..] if text(of, &["a", "e"]) && number(a) && is_size(Some(unit)) => Some(3),
        [a, x, b, unit, ..] if number(a) && text(x, &["x"]) && number(b) && is_size(Some(unit)) => {
            Some(4)
        }
        _ => None,
    }
}

/// Splits a text into words and numbers; everything else separates them.
fn words(text: &str) -> Vec<Word> {
    let mut out = vec![];
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let digits = first.is_ascii_digit();
        let end = rest
            .char_indices()
            .find(|(at, c)| match digits {
                // A dot belongs to a number if a digit follows; so does the character that replaces it in file names.
                true => {
                    !(c.is_ascii_digit()
                        || matches!(c, '.' | '_')
                            && rest[at + 1..].starts_with(|c: char| c.is_ascii_digit()))
                }
                false => !(c.is_alphabetic() || *c == '+') || c.is_ascii_digit(),
            })
            .map_or(rest.len(), |(at, _)| at);
        if end == 0 {
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let (word, after) = rest.split_at(end);
        rest = after;
        let version =
            word.eq_ignore_ascii_case("v") && after.starts_with(|c: char| c.is_ascii_digit());
        match digits {
            true => out.push(numbered(word)),
            false if version => {}
            false => out.push(Word::Text(word.to_lowercase())),
        }
    }
    out
}

fn numbered(word: &str) -> Word {
    let (whole, part) = word.split_once(['.', '_']).unwrap_or((word, ""));
    Word::Number(whole.parse().unwrap_or(u32::MAX), part.parse().unwrap_or(0))
}

/// The names that an entry of a dialect file lists.
fn names(entry: &str) -> Vec<Vec<Word>> {
    let mut out: Vec<Vec<Word>> = vec![];
    let parts = entry.split(',').flat_map(|part| part.split(" and "));
    for part in parts {
        let mut words = match part.split_once(" to ") {
            Some((from, to)) => range(self::words(from), &self::words(to)),
            None => self::words(part),
        };
        // "Hermes 2 and 3": a number alone continues the name before it.
        if let ([Word::Number(..)], Some(before)) = (words.as_slice(), out.last()) {
            let mut name = before.clone();
            name.pop();
            name.append(&mut words);
            words = name;
        }
        let later = matches!(words.as_slice(), [Word::Text(or), Word::Text(later), ..] if or == "or" || later == "later");
        if !words.is_empty() && !later && words != [Word::Text("later".to_owned())] {
            out.push(words);
        }
    }
    out
}

/// "Qwen3.5 to 3.8": the last number is a range.
fn range(mut from: Vec<Word>, to: &[Word]) -> Vec<Word> {
    let last = to.iter().rev().find_map(|word| match word {
        Word::Number(a, b) => Some((*a, *b)),
        Word::Text(_) | Word::Range(..) => None,
    });
    if let (Some(Word::Number(a, b)), Some(last)) = (from.last().cloned(), last) {
        from.pop();
        from.push(Word::Range((a, b), last));
    }
    from
}

#[cfg(test)]
mod tests;
