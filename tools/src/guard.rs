//! Keeps the marks that a layout writes around results out of the results.
//!
//! A result is untrusted text. If a line of it reads `Observation: ..`, the model takes it for another result. So every mark of
//! a layout that occurs in a result is broken by a backslash: what the layout writes at the beginning of a line counts at the
//! beginning of a line; tags and bracketed marks count everywhere.
//!
//! There is no list of marks. They are derived from the layout itself: it is filled with unique words, and the text around them
//! is its marks. So a host's layout is guarded like a built-in one.
//!
//! Models do not read marks literally, so neither does this module: it ignores case, whitespace, zero-width characters, numbers
//! in a mark, the level of a heading and the emphasis of a label. The cost per mark is linear in the text.

use std::collections::BTreeMap;

use toolglot::layer::Tokens;
use toolglot::layer::{expand, one_line};
use toolglot_scan::{breaks, unseen};

/// What precedes the first word of a line: nothing, a heading, or a list bullet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lead {
    None,
    Heading,
    Bullet,
}

/// A mark normalized for comparison: lower case, without whitespace, `0` for any number.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mark {
    lead: Lead,
    core: Vec<char>,
}

/// The marks of a layout.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guard {
    /// Marks that begin a line.
    lines: Vec<Mark>,
    /// Marks that count anywhere.
    inside: Vec<Mark>,
    /// Separators between two fields of one line. They count anywhere in a one-line field.
    fields: Vec<Mark>,
    /// The spellings of special tokens, each of which counts anywhere: see [`Tokens::bars`].
    bars: Vec<(bool, bool)>,
}

/// Unique words for the fields of a layout. The id is one that every template accepts.
pub(crate) const ID: &str = "Qz1ident1";
pub(crate) const NAME: &str = "Qz2name2";
pub(crate) const TEXT: &str = "Qz3text3";
pub(crate) const KEY: &str = "Qz4key4";
/// [`TEXT`] as JSON, for layouts that embed JSON as it is and other text as a string.
pub(crate) const LIST: &str = "[\"Qz3text3\"]";
const WORDS: [(&str, Field); 4] = [
    (ID, Field::Short),
    (NAME, Field::Short),
    (TEXT, Field::Text),
    (KEY, Field::Text),
];

/// The kind of field that a word fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    /// A one-line field: the id, the name.
    Short,
    /// The contents of a result.
    Text,
}

impl Guard {
    /// Whether the layout writes nothing around a result.
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.inside.is_empty() && self.fields.is_empty()
    }

    /// Adds a mark: a label, which counts at the beginning of a line, or markup.
    pub(crate) fn add(&mut self, mark: &str) {
        let markup = markup(mark);
        match mark.starts_with(char::is_alphanumeric) {
            true => self.line(mark, true),
            false if markup.is_empty() => self.token(mark),
            false => {}
        }
        for mark in markup {
            if mark.starts_with('[') {
                self.token(mark);
            }
            push(&mut self.inside, Mark::tag(mark));
        }
    }

    /// Adds the tokens of the model that reads the layout.
    pub(crate) fn tokens(&mut self, tokens: &Tokens) {
        tokens.turns.iter().for_each(|token| self.token(token));
        for token in &tokens.calls {
            push(&mut self.inside, Mark::new(token, Lead::None));
        }
        self.bars.clone_from(&tokens.bars);
    }

    /// Adds a token that separates turns or messages, and its counterpart.
    fn token(&mut self, token: &str) {
        for (open, close) in [("<", "</"), ("[", "[/")] {
            if let Some(name) = token
                .strip_prefix(close)
                .or_else(|| token.strip_prefix(open))
            {
                push(
                    &mut self.inside,
                    Mark::new(&format!("{close}{name}"), Lead::None),
                );
                push(
                    &mut self.inside,
                    Mark::new(&format!("{open}{name}"), Lead::None),
                );
                return;
            }
        }
        push(&mut self.inside, Mark::new(token, Lead::None));
    }

    /// Adds the marks of a layout whose fields are filled with [`ID`], [`NAME`], [`TEXT`] and [`KEY`].
    pub(crate) fn learn(&mut self, filled: &str) {
        for line in filled.split(breaks) {
            let (mut before, mut rest) = (None, line);
            loop {
                let found = WORDS
                    .iter()
                    .filter_map(|(word, field)| Some((rest.find(word)?, word.len(), *field)));
                let next = found.min_by_key(|(at, ..)| *at);
                self.piece(&rest[..next.map_or(rest.len(), |(at, ..)| at)], before);
                let Some((at, len, field)) = next else { break };
                (before, rest) = (Some(field), &rest[at + len..]);
            }
        }
    }

    /// Adds the text of the layout at the beginning of a line, or after a field.
    fn piece(&mut self, piece: &str, before: Option<Field>) {
        for mark in markup(piece) {
            push(&mut self.inside, Mark::tag(mark));
        }
        let marked = piece.trim_start().starts_with(OPENING);
        match before {
            None if marked => {}
            None => self.line(piece, true),
            Some(_) if piece.chars().filter(|c| c.is_alphanumeric()).count() < 2 => {}
            Some(field) => {
                if field == Field::Text {
                    push(&mut self.inside, Mark::new(piece, Lead::None));
                }
                push(&mut self.fields, Mark::new(first_word(piece), Lead::None));
            }
        }
    }

    /// Adds the wording of a dialect's observations.
    pub(crate) fn observations(&mut self, observe: &BTreeMap<String, String>) {
        for template in observe.values() {
            let end = template.find(['{']).unwrap_or(template.len());
            let end = template.find("[[").map_or(end, |at| at.min(end));
            self.line(&template[..end], false);
        }
    }

    /// Adds the beginning of a line. A label counts up to its colon if the rest may differ; a number does not count.
    fn line(&mut self, piece: &str, label: bool) {
        let (lead, core) = leading(piece);
        let label = core
            .char_indices()
            .find(|(_, c)| label && matches!(c, ':' | '：'))
            .map_or(core.len(), |(at, c)| at + c.len_utf8());
        let number = core
            .find(char::is_numeric)
            .filter(|at| core[..*at].contains(char::is_alphabetic));
        let core = &core[..number.unwrap_or(label).min(label)];
        let mark = Mark::new(core, lead);
        // A single bracket or quotation mark is JSON, in which a result is a string or a value.
        let json = matches!(mark.core[..], [c] if !c.is_alphanumeric());
        if !(json || mark.core.is_empty()) || lead != Lead::None {
            push(&mut self.lines, mark);
        }
    }

    /// The guard of a template for the sentence about a call that was carried out.
    pub(crate) fn of_sentence(template: &str) -> Self {
        let mut guard = Self::default();
        guard.learn(&expand(template, &[("{tool}", NAME), ("{result}", TEXT)]));
        guard
    }

    /// Breaks the marks in a text of several lines.
    pub(crate) fn text(&self, text: &str) -> String {
        self.broken(text, &[&self.inside], true)
    }

    /// The same for text that keeps its line breaks.
    pub(crate) fn within(&self, text: &str) -> String {
        self.broken(text, &[&self.inside], false)
    }

    /// Breaks the marks in a one-line field: replaces line breaks, and breaks the marks of its line.
    pub(crate) fn field(&self, text: &str) -> String {
        self.broken(&one_line(text), &[&self.inside, &self.fields], true)
    }

    fn broken(&self, text: &str, inside: &[&Vec<Mark>], lines: bool) -> String {
        let mut out = String::with_capacity(text.len());
        let (mut start, mut word) = (lines, false);
        // The end of the character after which a mark of the line is broken.
        let mut due = None;
        for (at, c) in text.char_indices() {
            let rest = &text[at..];
            if start {
                let found = self.lines.iter().filter_map(|mark| mark.at_line(rest));
                due = found.min().map(|len| at + len);
            }
            start = lines && breaks(c);
            out.push(c);
            let end = at + c.len_utf8();
            // Of several angle brackets the last one begins the tag.
            let first = !(blank(c) || c == '<' && text[end..].starts_with('<'));
            let begins = same(c);
            let here = |mark: &Mark| {
                mark.core.first() == Some(&begins)
                    && !(word && mark.word_first())
                    && mark.follows(rest)
            };
            let token = || c == '<' && special(rest, &self.bars);
            if due == Some(end) || first && (inside.iter().copied().flatten().any(here) || token())
            {
                out.push('\\');
            }
            word = c.is_alphanumeric();
        }
        out
    }
}

impl Mark {
    fn new(text: &str, lead: Lead) -> Self {
        let mut core: Vec<char> = vec![];
        for c in text.chars().filter(|c| !blank(*c)).map(same) {
            if !(matches!(c, '0' | '<' | '>') && core.last() == Some(&c)) {
                core.push(c);
            }
        }
        Self { lead, core }
    }

    /// A tag counts whatever its attributes, and so does its closer.
    fn tag(text: &str) -> Self {
        let mut mark = Self::new(text, Lead::None);
        if mark.is_tag() {
            if mark.core.get(1) == Some(&'/') {
                mark.core.remove(1);
            }
            if mark.core.last() == Some(&'>') {
                mark.core.pop();
            }
        }
        mark
    }

    fn is_tag(&self) -> bool {
        self.core.first() == Some(&'<')
    }

    fn word_first(&self) -> bool {
        self.core.first().is_some_and(char::is_ascii_alphanumeric)
    }

    /// If the line begins with the mark: the number of bytes up to the character after which it is broken.
    fn at_line(&self, line: &str) -> Option<usize> {
        let (at, c) = line
            .char_indices()
            .find(|(_, c)| breaks(*c) || !blank(*c))
            .filter(|(_, c)| !breaks(*c))?;
        let (_, core) = leading(&line[at..]);
        let lead = &line[at..line.len() - core.len()];
        let len = match self.lead {
            Lead::None => line.len() - core.len() + core.chars().next()?.len_utf8(),
            Lead::Heading if lead.contains(['#', '*', '_']) => at + c.len_utf8(),
            Lead::Bullet if lead.contains(BULLETS) => at + c.len_utf8(),
            Lead::Heading | Lead::Bullet => return None,
        };
        self.follows(core).then_some(len)
    }

    /// Whether a text begins with the mark.
    fn follows(&self, text: &str) -> bool {
        let mut rest = text;
        let mut last = ' ';
        for (index, want) in self.core.iter().enumerate() {
            rest = rest.trim_start_matches(blank);
            // The emphasis of a label ends before or after its colon.
            if last.is_alphanumeric() && !want.is_alphanumeric() && !EMPHASIS.contains(want) {
                rest = rest.trim_start_matches(|c| blank(c) || EMPHASIS.contains(&c));
            }
            if self.is_tag() && index == 1 && *want != '/' {
                rest = rest
                    .strip_prefix('/')
                    .unwrap_or(rest)
                    .trim_start_matches(blank);
            }
            let mut chars = rest.chars();
            last = match chars.next().map(same) {
                Some(have) if have == *want => have,
                Some(_) | None => return false,
            };
            rest = chars.as_str();
            if matches!(last, '0' | '<' | '>') {
                rest = rest.trim_start_matches(|c| same(c) == last);
            }
        }
        // A longer word is a different one. Chinese has no spaces between words.
        let longer = |c: char| c.is_ascii_alphanumeric() || c == '_';
        !(last.is_ascii_alphanumeric() && rest.trim_start_matches(unseen).starts_with(longer))
    }
}

/// Whether a text begins with a special token in one of these spellings, whatever its name: `<|NAME|>`.
fn special(text: &str, bars: &[(bool, bool)]) -> bool {
    let bar = ['|', '｜'];
    let Some(rest) = text.strip_prefix('<').filter(|_| !bars.is_empty()) else {
        return false;
    };
    let rest = rest.trim_start_matches('/');
    let inner = rest.strip_prefix(bar);
    let rest = inner.unwrap_or(rest);
    let name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ':' | '.' | '▁');
    let mut ends = rest.char_indices().take(MAX_TOKEN);
    let Some((len, _)) = ends.find(|(_, c)| !name(*c)) else {
        return false;
    };
    let closed = rest[len..].trim_start_matches(bar);
    let form = (inner.is_some(), closed.len() < rest.len() - len);
    len > 0 && closed.starts_with('>') && bars.contains(&form)
}

/// The maximum length of a special token's name.
const MAX_TOKEN: usize = 96;

/// The beginning of a bracketed mark.
const OPENING: [char; 4] = ['<', '[', '「', '»'];

/// Emphasis characters.
const EMPHASIS: [char; 4] = ['*', '_', '`', '~'];

/// List bullets.
const BULLETS: [char; 4] = ['-', '*', '+', '•'];

fn push(marks: &mut Vec<Mark>, mark: Mark) {
    if !marks.contains(&mark) {
        marks.push(mark);
    }
}

fn blank(c: char) -> bool {
    c.is_whitespace() || unseen(c)
}

/// Normalizes a character for comparison.
fn same(c: char) -> char {
    match c {
        '：' => ':',
        '｜' => '|',
        c if c.is_numeric() => '0',
        c => c.to_lowercase().next().unwrap_or(c),
    }
}

/// Splits a line into what precedes its first word, and the rest.
fn leading(line: &str) -> (Lead, &str) {
    let rest = line.trim_start_matches(|c| {
        matches!(c, '#' | '>' | '_' | '`' | '~') || BULLETS.contains(&c) || (blank(c) && !breaks(c))
    });
    let lead = &line[..line.len() - rest.len()];
    let kind = if lead.contains('#') {
        Lead::Heading
    } else if lead.contains(BULLETS) {
        Lead::Bullet
    } else {
        Lead::None
    };
    (kind, rest)
}

/// A mark between two fields, up to its first word and the sign that follows it.
fn first_word(piece: &str) -> &str {
    let Some(from) = piece.find(char::is_alphanumeric) else {
        return piece;
    };
    let len = piece[from..].find(|c: char| !c.is_alphanumeric());
    let end = len.map_or(piece.len(), |len| from + len);
    let sign = piece[end..].chars().next().filter(|c| !blank(*c));
    &piece[..end + sign.map_or(0, char::len_utf8)]
}

/// The tags and bracketed marks in a text: text without spaces from an opening bracket to the last closing one, and marks
/// closed by two brackets.
fn markup(text: &str) -> Vec<&str> {
    let mut found = vec![];
    for word in text.split_whitespace() {
        let mut rest = word;
        while let Some(at) = rest.find(OPENING) {
            let own = &rest[at..];
            let name = own.trim_start_matches(OPENING);
            let next = name.find(OPENING).unwrap_or(name.len());
            let close = name[..next].rfind(['>', ']', '」', '«']);
            let len = close.map_or(next, |at| {
                at + name[at..].chars().next().map_or(0, char::len_utf8)
            });
            let mark = &own[..own.len() - name.len() + len];
            if mark.contains(char::is_alphanumeric) {
                found.push(mark);
            }
            rest = &own[mark.len()..];
        }
        if rest.ends_with("]]") && rest.contains(char::is_alphanumeric) {
            found.push(rest);
        }
    }
    found
}
