//! The strings in the bytes of a payload that broke.

use serde::{Deserialize, Serialize};
use toolglot_scan::Needle;

use super::Quote;

/// What is open, and what may open and close strings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::body) struct Strings {
    open: Option<Quote>,
    /// After a backslash in the string.
    escaped: bool,
    /// It broke after a string that may go on.
    inner: Option<Inner>,
    /// It broke at a word, which a quotation mark may end that nothing opened.
    unpaired: Option<Word>,
    /// Bytes that open strings.
    quotes: Vec<u8>,
    delims: Vec<Needle>,
    /// Opener and closers of a parameter.
    param: Option<(Needle, Vec<Needle>)>,
}

/// A string whose closing mark may have been a mark inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Inner {
    quote: u8,
    at: InnerAt,
}

/// What has come of a mark, and what must follow it if it closes the string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum InnerAt {
    Text,
    /// A mark.
    Mark,
    /// A mark and a comma: the next key or value follows.
    Comma,
    /// A mark and a colon: a value follows.
    Colon,
    /// After the comma, a name: `=` follows.
    Name,
}

/// The words at which a payload broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Word {
    /// Nothing has come yet.
    Before,
    In,
    /// The last byte is white space.
    Blank,
}

impl Strings {
    /// After a break inside the string `open`, if any, or after a string that the mark `inner` closed; `quotes` open strings
    /// and close them.
    pub fn new(open: Option<Quote>, inner: Option<u8>, quotes: Vec<u8>) -> Self {
        Self {
            open,
            inner: inner.map(|quote| Inner {
                quote,
                at: InnerAt::Text,
            }),
            unpaired: open.is_none().then_some(Word::Before),
            quotes,
            ..Self::default()
        }
    }

    /// The same, with delimiters, and the opener and closers of a parameter.
    pub(super) fn with(self, delims: Vec<Needle>, param: Option<(Needle, Vec<Needle>)>) -> Self {
        Self {
            delims,
            param,
            ..self
        }
    }

    /// Whether a string is open.
    pub fn open(&self) -> bool {
        self.open.is_some()
    }

    /// Whether the open string is between delimiters.
    pub fn is_delimited(&self) -> bool {
        matches!(self.open, Some(Quote::Delim(_)))
    }

    /// Whether the string after which it broke may go on.
    pub fn may_go_on(&self) -> bool {
        self.inner.is_some()
    }

    /// Records that the string after which it broke has ended.
    pub fn ended(&mut self) {
        self.inner = None;
    }

    /// Whether the state is consistent.
    pub(super) fn fits(&self) -> bool {
        let param = self.param.iter();
        let param = param.flat_map(|(open, closers)| closers.iter().chain([open]));
        self.delims.iter().chain(param).all(Needle::fits)
    }

    /// Consumes a byte.
    pub fn step(&mut self, byte: u8) {
        self.word(byte);
        if let Some(inner) = self.inner {
            self.inner = inner.after(byte);
            // What follows shows where the string ended, however many marks it holds.
            if self.inner.is_none() && inner.at != InnerAt::Text {
                self.escaped = false;
                self.unpaired = None;
                self.open = self.quotes.contains(&byte).then_some(Quote::Byte(byte));
                return;
            }
        }
        if std::mem::take(&mut self.escaped) {
            return;
        }
        match self.open {
            Some(Quote::Byte(_)) if byte == b'\\' => self.escaped = true,
            Some(Quote::Byte(quote)) if quote == byte => self.open = None,
            Some(Quote::Byte(_)) => {}
            Some(Quote::Delim(which)) => {
                let delim = self.delims.get_mut(usize::from(which));
                if delim.is_none_or(|delim| delim.step(byte)) {
                    self.open = None;
                }
            }
            Some(Quote::Param) => {
                let closers = self.param.iter_mut().flat_map(|(_, closers)| closers);
                // Every closer must consume the byte.
                if closers.fold(false, |hit, closer| closer.step(byte) | hit) {
                    self.open = None;
                }
            }
            None => self.open = self.opens(byte),
        }
    }

    fn opens(&mut self, byte: u8) -> Option<Quote> {
        for (which, delim) in self.delims.iter_mut().enumerate() {
            if delim.step(byte) {
                return u8::try_from(which).ok().map(Quote::Delim);
            }
        }
        if self.param.as_mut().is_some_and(|(open, _)| open.step(byte)) {
            return Some(Quote::Param);
        }
        // A mark in a delimiter is no quotation mark.
        let inside = self.delims.iter().any(|delim| delim.have() > 1);
        let opens = !inside && self.quotes.contains(&byte);
        let closes = opens && self.unpaired.take() == Some(Word::In);
        (opens && !closes).then_some(Quote::Byte(byte))
    }

    /// Follows the words at which the payload broke. A mark directly after them opens no string but ends one whose own
    /// opening mark is missing.
    fn word(&mut self, byte: u8) {
        let Some(word) = self.unpaired.filter(|_| !self.quotes.contains(&byte)) else {
            return;
        };
        let part = byte >= 0x80 || byte.is_ascii_alphanumeric();
        self.unpaired = match word {
            Word::Before if !part => None,
            _ if b"{[(,:=".contains(&byte) => None,
            _ if byte.is_ascii_whitespace() => Some(Word::Blank),
            _ => Some(Word::In),
        };
    }
}

impl Inner {
    /// The state after one more byte. The end of a line closes the string, because a string has no line break.
    fn after(self, byte: u8) -> Option<Self> {
        if matches!(byte, b'\n' | b'\r') {
            return None;
        }
        let blank = matches!(byte, b' ' | b'\t');
        let name = byte == b'_' || byte >= 0x80 || byte.is_ascii_alphanumeric();
        let at = match (self.at, byte) {
            (InnerAt::Mark | InnerAt::Comma | InnerAt::Colon, _) if blank => self.at,
            (InnerAt::Mark, b'}' | b']' | b')') => return None,
            (InnerAt::Mark, b',') => InnerAt::Comma,
            (InnerAt::Mark, b':') => InnerAt::Colon,
            (InnerAt::Comma, b'"' | b'\'' | b'{' | b'[') => return None,
            (InnerAt::Colon, b'"' | b'\'' | b'{' | b'[' | b'-' | b'0'..=b'9') => return None,
            (InnerAt::Name, b'=') => return None,
            (InnerAt::Comma | InnerAt::Name, _) if name => InnerAt::Name,
            _ if byte == self.quote => InnerAt::Mark,
            _ => InnerAt::Text,
        };
        Some(Self { at, ..self })
    }
}
