//! The head of a field: key, colon and the value's opener.

use serde::{Deserialize, Serialize};
use toolglot_scan::{Case, lossy};

use crate::dialect::bounds::LINE_BLANKS;
use crate::dialect::{KeyQuote, spec};

/// Characters of a key: letters and digits of any script, `_`, `-` and `.`.
pub(crate) fn is_key(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// A head in progress.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    pub start: u64,
    pub key: String,
    at: HeadAt,
    /// The part of the opener read so far.
    opener: String,
    /// Blanks between key, colon and opener.
    blanks: u32,
    /// The last of them was on a new line.
    line: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum HeadAt {
    #[default]
    Key,
    AfterKey,
    AfterColon,
}

/// The effect of one character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeadStep {
    More,
    /// The value opens, with the quote of that index.
    Open {
        quote: u16,
    },
    /// Not a head.
    No,
    TooLong,
}

impl Head {
    /// Whether nothing but a key has come.
    pub fn is_key(&self) -> bool {
        matches!(self.at, HeadAt::Key | HeadAt::AfterKey)
    }

    /// Begins with `c` at `start`.
    pub fn new(c: char, start: u64) -> Self {
        let mut head = Self::default();
        head.begin(c, start);
        head
    }

    /// Begins with the opener of a value without a key.
    pub fn keyless(c: char, start: u64) -> Self {
        Self {
            start,
            at: HeadAt::AfterColon,
            opener: c.to_string(),
            ..Self::default()
        }
    }

    /// Begins again, keeping the buffers.
    pub fn begin(&mut self, c: char, start: u64) {
        self.clear();
        self.start = start;
        self.key.push(c);
    }

    /// Clears everything and keeps the buffers.
    pub fn clear(&mut self) {
        self.start = 0;
        self.key.clear();
        self.at = HeadAt::Key;
        self.opener.clear();
        self.blanks = 0;
        self.line = false;
    }

    /// Consumes the next character.
    pub fn step(&mut self, c: char, table: &KeyQuote, max: u32) -> HeadStep {
        self.blanks += u32::from(c.is_whitespace());
        if self.blanks > LINE_BLANKS {
            return HeadStep::No;
        }
        let colon = || table.spec.colon.iter().any(|colon| colon.starts_with(c));
        match self.at {
            HeadAt::Key if is_key(c) => {
                self.key.push(c);
                if self.key.len() > max as usize {
                    return HeadStep::TooLong;
                }
            }
            HeadAt::Key | HeadAt::AfterKey if colon() => self.at = HeadAt::AfterColon,
            HeadAt::Key | HeadAt::AfterKey if c.is_whitespace() && c != '\n' => {
                self.at = HeadAt::AfterKey
            }
            HeadAt::Key | HeadAt::AfterKey => return HeadStep::No,
            HeadAt::AfterColon if self.opener.is_empty() && c.is_whitespace() => {
                self.line |= c == '\n';
            }
            HeadAt::AfterColon => {
                self.opener.push(c);
                return self.opener(table);
            }
        }
        HeadStep::More
    }

    /// Whether only blanks have come after the colon.
    pub fn waits(&self) -> bool {
        self.at == HeadAt::AfterColon && self.opener.is_empty()
    }

    /// Whether the character that ended the head begins a line.
    pub fn broke_at_line_start(&self) -> bool {
        self.line && self.opener.chars().nth(1).is_none()
    }

    /// Whether more than one character of an opener came before the one that ended the head.
    pub fn tears(&self) -> bool {
        self.opener.chars().nth(2).is_some()
    }

    fn opener(&self, table: &KeyQuote) -> HeadStep {
        let mut result = HeadStep::No;
        for (index, quote) in table.spec.quotes.iter().enumerate() {
            let begins = |open: &String| match (open.get(..self.opener.len()), quote.case) {
                (None, _) => false,
                (Some(head), Case::Exact) => head == self.opener,
                (Some(head), Case::Ignore) => head.eq_ignore_ascii_case(&self.opener),
            };
            for open in quote.open.iter().filter(|open| begins(open)) {
                if open.len() == self.opener.len() {
                    return HeadStep::Open {
                        quote: index as u16,
                    };
                }
                result = HeadStep::More;
            }
        }
        result
    }

    /// The quote that opened the value.
    pub fn opened(&self, table: &KeyQuote) -> u16 {
        match self.opener(table) {
            HeadStep::Open { quote } => quote,
            HeadStep::More | HeadStep::No | HeadStep::TooLong => 0,
        }
    }
}

/// How many bytes of a value, including an opener in it, decide whether a field begins there.
pub(crate) const WINDOW: usize = 32;

/// The text before the key, if `before` ends with a key and a colon, as it must before a value's opener.
pub(crate) fn before_key<'a>(spec: &spec::KeyQuote, before: &'a str) -> Option<&'a str> {
    last_key(spec, before).map(|(rest, _)| rest)
}

/// The same, and the key.
fn last_key<'a>(spec: &spec::KeyQuote, before: &'a str) -> Option<(&'a str, &'a str)> {
    let before = before.trim_end();
    let colon = spec
        .colon
        .iter()
        .find_map(|colon| before.strip_suffix(colon.as_str()));
    let head = colon?.trim_end_matches(|c: char| c.is_whitespace() && c != '\n');
    let rest = head.trim_end_matches(is_key);
    let key = &head[rest.len()..];
    (!key.is_empty()).then_some((rest, key))
}

/// Whether a field begins before a value's opener, as far as `before` shows: nothing but white space, or a key and a colon at
/// the start of a line or of the value, after a separator or after a piece of a marker. The key of a parameter, if it is
/// `known` to be one, may also follow white space. A field that begins before `before` counts.
pub(crate) fn begins_inside(
    spec: &spec::KeyQuote,
    before: &[u8],
    known: impl Fn(&str) -> bool,
) -> bool {
    let cut = before
        .iter()
        .take_while(|byte| (0x80..0xc0).contains(*byte));
    let before = lossy(&before[cut.count()..]);
    // A repetition of the value's own opener.
    if before.trim_end().is_empty() {
        return true;
    }
    let Some((rest, key)) = last_key(spec, &before) else {
        return false;
    };
    if rest.ends_with(char::is_whitespace) && known(key) {
        return true;
    }
    let rest = rest.trim_end_matches(|c: char| c.is_whitespace() && c != '\n');
    let separated = spec
        .separators
        .iter()
        .any(|separator| rest.ends_with(separator.as_str()));
    // A remainder of a marker of values separates, too.
    let quotes = spec.quotes.iter();
    let mut markers = quotes.flat_map(|quote| quote.open.iter().chain(&quote.close));
    let last = rest.chars().next_back().filter(|c| !c.is_alphanumeric());
    let torn = last.is_some_and(|last| markers.any(|marker| marker.contains(last)));
    let separated = separated || torn || rest.ends_with([';', '；', '、']);
    rest.is_empty() || rest.ends_with('\n') || separated
}
