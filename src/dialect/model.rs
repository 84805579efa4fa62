//! From the name of a model to the dialects that it writes.
//!
//! A dialect says in words who writes it (`models`): "Qwen3.5 to 3.8", "Hermes 2 and 3". Each such entry stands for names, and a
//! model has a dialect if its own name begins with one of them, word for word; of several the longest counts. The name of
//! a model is what its publisher calls it, with or without the publisher, in any spelling of blanks, dots and capitals.

use std::sync::OnceLock;

use super::{DialectSet, builtin_files};

/// The built-in dialects that a model writes, by its name (`Qwen/Qwen3-Coder-30B-A3B-Instruct`): that of its calls first, then
/// that of its reasoning where it has one of its own. Empty if no dialect names a model like it.
///
/// It is a guess from a name: fine-tuned models keep names and change formats. [`Detector`](crate::Detector) looks at what a
/// model wrote.
///
/// ```
/// assert_eq!(toolglot::dialects_of_model("Qwen/Qwen3-Coder-30B-A3B-Instruct")[0], "qwen3-coder");
/// assert_eq!(toolglot::dialects_of_model("zai-org/GLM-4.6-FP8")[0], "glm45");
/// assert!(toolglot::dialects_of_model("gpt-2").is_empty());
/// ```
#[must_use]
pub fn dialects_of_model(name: &str) -> Vec<&'static str> {
    let own = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let own = words(own);
    // Of those that read calls and of those that read reasoning alone, the first of the longest.
    let mut best: [(usize, Option<&'static str>); 2] = [(0, None); 2];
    for entry in table() {
        let place = usize::from(entry.plain);
        let length = entry
            .names
            .iter()
            .filter(|name| begins(&own, name))
            .map(Vec::len)
            .max();
        if length > Some(best[place].0) {
            best[place] = (length.unwrap_or(0), Some(entry.id));
        }
    }
    best.into_iter().filter_map(|(_, id)| id).collect()
}

/// What a built-in dialect says of its models.
struct Entry {
    id: &'static str,
    /// It reads no calls.
    plain: bool,
    names: Vec<Vec<Word>>,
}

/// All of them, read once.
fn table() -> &'static [Entry] {
    static TABLE: OnceLock<Vec<Entry>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let entry = |(id, _): &(&'static str, &'static str)| {
            let set = DialectSet::builtin(id).ok()?;
            let dialect = set.dialects().find(|dialect| dialect.id() == *id)?;
            Some(Entry {
                id,
                plain: dialect.family() == "plain",
                names: dialect
                    .models()
                    .iter()
                    .flat_map(|entry| names(entry))
                    .collect(),
            })
        };
        builtin_files().iter().filter_map(entry).collect()
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

/// Whether a name begins with these words.
fn begins(name: &[Word], entry: &[Word]) -> bool {
    let same = |(have, wanted): (&Word, &Word)| match (have, wanted) {
        (Word::Number(a, b), Word::Range(first, last)) => *first <= (*a, *b) && (*a, *b) <= *last,
        (have, wanted) => have == wanted,
    };
    !entry.is_empty() && name.len() >= entry.len() && name.iter().zip(entry).all(same)
}

/// Letters and numbers; all else parts them.
fn words(text: &str) -> Vec<Word> {
    let mut out = vec![];
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let digits = first.is_ascii_digit();
        let end = rest
            .char_indices()
            .find(|(at, c)| match digits {
                // A dot belongs to a number if a digit follows.
                true => {
                    !(c.is_ascii_digit()
                        || *c == '.' && rest[at + 1..].starts_with(|c: char| c.is_ascii_digit()))
                }
                false => !(c.is_alphabetic() || *c == '+') || c.is_ascii_digit(),
            })
            .map_or(rest.len(), |(at, _)| at);
        if end == 0 {
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let (word, after) = rest.split_at(end);
        out.push(match digits {
            true => number(word),
            false => Word::Text(word.to_lowercase()),
        });
        rest = after;
    }
    out
}

fn number(word: &str) -> Word {
    let (whole, part) = word.split_once('.').unwrap_or((word, ""));
    Word::Number(whole.parse().unwrap_or(u32::MAX), part.parse().unwrap_or(0))
}

/// The names that an entry of a dialect file stands for.
fn names(entry: &str) -> Vec<Vec<Word>> {
    let mut out: Vec<Vec<Word>> = vec![];
    let parts = entry.split(',').flat_map(|part| part.split(" and "));
    for part in parts {
        let mut words = match part.split_once(" to ") {
            Some((from, to)) => range(self::words(from), &self::words(to)),
            None => self::words(part),
        };
        // "Hermes 2 and 3": a number alone goes on with the name before it.
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
