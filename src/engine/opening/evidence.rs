//! The evidence that a marker opens a block, for families whose bodies need no pattern tables: the first field after a
//! key-quote marker, the first tag after an element tree's.

use serde::{Deserialize, Serialize};
use toolglot_scan::Case;
use toolglot_scan::Utf8;
use toolglot_scan::xml::{Header, HeaderStep, is_space};

use crate::body::is_key;
use crate::dialect::bounds::{LINE_BLANKS, PROBE_BLANKS};
use crate::dialect::spec::CommentAt;
use crate::dialect::{ElementTree, KeyQuote};

/// What one byte decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    More,
    Yes,
    No,
}

/// Markers compared in parallel, byte by byte: how many bytes have come, and which of the first 32 markers still fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Several {
    have: u16,
    alive: u32,
}

impl Several {
    fn new() -> Self {
        Self {
            have: 0,
            alive: u32::MAX,
        }
    }

    fn step<'m>(&mut self, byte: u8, markers: impl Iterator<Item = (&'m str, Case)>) -> Shown {
        let at = usize::from(self.have);
        let mut alive = 0;
        let mut whole = false;
        for (index, (marker, case)) in markers.take(32).enumerate() {
            let fits = marker.as_bytes().get(at).is_some_and(|want| match case {
                Case::Exact => *want == byte,
                Case::Ignore => want.eq_ignore_ascii_case(&byte),
            });
            if fits && self.alive & (1 << index) != 0 {
                alive |= 1 << index;
                whole |= marker.len() == at + 1;
            }
        }
        self.alive = alive;
        self.have += 1;
        match (whole, alive) {
            (true, _) => Shown::Yes,
            (false, 0) => Shown::No,
            (false, _) => Shown::More,
        }
    }
}

/// A name and what follows it may be read whatever the limits are.
const NEXT: u32 = 128;

/// The state after the marker of a key-quote block: blanks, separators and comments up to a key with its colon and its
/// value's opener, or up to the block's closer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Field {
    at: FieldAt,
    char: Utf8,
    /// Only blanks have come on this line.
    line: bool,
    /// The marker is alone on its line: lines that are not fields may precede the first field.
    alone: bool,
    /// Such a line has come.
    junk: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum FieldAt {
    /// Right after the marker, this many bytes into its optional extension.
    Marker(u8),
    Between,
    /// After the first of two characters that begin a comment.
    Slash,
    Comment,
    /// In a line that is not a field.
    Junk,
    Key,
    AfterKey(u32),
    AfterColon(u32),
    Quote(Several),
    Close(Several),
}

fn closers(table: &KeyQuote) -> impl Iterator<Item = (&str, Case)> {
    let case = table.spec.case;
    table
        .spec
        .close
        .iter()
        .map(move |close| (close.as_str(), case))
}

fn quotes(table: &KeyQuote) -> impl Iterator<Item = (&str, Case)> {
    let quotes = table.spec.quotes.iter();
    quotes.flat_map(|quote| quote.open.iter().map(|open| (open.as_str(), quote.case)))
}

impl Field {
    pub fn new() -> Self {
        Self {
            at: FieldAt::Marker(0),
            char: Utf8::default(),
            line: false,
            alone: false,
            junk: false,
        }
    }

    /// Consumes the next byte; `came` bytes precede it.
    pub fn step(&mut self, byte: u8, table: &KeyQuote, came: u64, max: u32) -> Shown {
        if came >= u64::from(max.max(NEXT)) {
            return Shown::No;
        }
        match &mut self.at {
            FieldAt::Marker(have) => {
                let extra = table.spec.extra.as_bytes();
                if extra.get(usize::from(*have)) == Some(&byte) {
                    *have += 1;
                    return Shown::More;
                }
                self.at = FieldAt::Between;
            }
            FieldAt::Quote(quote) => {
                let shown = quote.step(byte, quotes(table));
                return self.or_junk(byte, shown);
            }
            FieldAt::Close(close) => {
                let shown = close.step(byte, closers(table));
                return self.or_junk(byte, shown);
            }
            FieldAt::Between
            | FieldAt::Slash
            | FieldAt::Comment
            | FieldAt::Junk
            | FieldAt::Key
            | FieldAt::AfterKey(_)
            | FieldAt::AfterColon(_) => {}
        }
        // Markers are compared as bytes: one begins where a character begins.
        let begins = byte & 0xc0 != 0x80;
        // After junk a closer shows nothing: it is a mention, like the opener.
        if begins && self.at == FieldAt::Between && !self.junk {
            let mut close = Several::new();
            let shown = close.step(byte, closers(table));
            if shown != Shown::No {
                self.at = FieldAt::Close(close);
                return shown;
            }
        }
        if begins && let FieldAt::AfterColon(_) = self.at {
            let mut quote = Several::new();
            let shown = quote.step(byte, quotes(table));
            if shown != Shown::No {
                self.at = FieldAt::Quote(quote);
                return shown;
            }
        }
        let mut char = self.char;
        let mut shown = Shown::More;
        char.step(byte, |c| {
            if shown == Shown::More {
                shown = self.char(c, table);
            }
        });
        self.char = char;
        shown
    }

    fn char(&mut self, c: char, table: &KeyQuote) -> Shown {
        let blank = c.is_whitespace();
        let colon = table.spec.colon.iter().any(|colon| colon.starts_with(c));
        let comment = table.spec.comment.as_ref();
        self.at = match self.at {
            FieldAt::Comment | FieldAt::Junk if c == '\n' => {
                self.line = true;
                FieldAt::Between
            }
            FieldAt::Comment => FieldAt::Comment,
            FieldAt::Junk => FieldAt::Junk,
            FieldAt::Between if blank => {
                self.line |= c == '\n';
                self.alone |= c == '\n';
                FieldAt::Between
            }
            FieldAt::Between => {
                let begins = comment.filter(|comment| {
                    comment.open.starts_with(c) && (comment.at == CommentAt::Anywhere || self.line)
                });
                self.line = false;
                match begins {
                    Some(comment) if comment.open.chars().nth(1).is_some() => FieldAt::Slash,
                    Some(_) => FieldAt::Comment,
                    None if table.spec.separators.iter().any(|s| s.starts_with(c)) => {
                        FieldAt::Between
                    }
                    None if is_key(c) => FieldAt::Key,
                    None => return self.or_junk_char(c),
                }
            }
            FieldAt::Slash if comment.is_some_and(|comment| comment.open.ends_with(c)) => {
                FieldAt::Comment
            }
            FieldAt::Key if is_key(c) => FieldAt::Key,
            FieldAt::Key | FieldAt::AfterKey(_) if colon => FieldAt::AfterColon(0),
            FieldAt::Key if blank && c != '\n' => FieldAt::AfterKey(1),
            FieldAt::AfterKey(n) if blank && c != '\n' && n < LINE_BLANKS => {
                FieldAt::AfterKey(n + 1)
            }
            FieldAt::AfterColon(n) if blank && n < LINE_BLANKS => FieldAt::AfterColon(n + 1),
            FieldAt::Marker(_)
            | FieldAt::Slash
            | FieldAt::Key
            | FieldAt::AfterKey(_)
            | FieldAt::AfterColon(_)
            | FieldAt::Quote(_)
            | FieldAt::Close(_) => return self.or_junk_char(c),
        };
        Shown::More
    }

    /// Makes junk of what is not a field, up to the end of its line, if junk is allowed.
    fn or_junk(&mut self, byte: u8, shown: Shown) -> Shown {
        match shown {
            Shown::No => self.or_junk_char(char::from(byte)),
            Shown::More | Shown::Yes => shown,
        }
    }

    fn or_junk_char(&mut self, c: char) -> Shown {
        if !self.alone {
            return Shown::No;
        }
        self.junk = true;
        self.line = c == '\n';
        self.at = match c {
            '\n' => FieldAt::Between,
            _ => FieldAt::Junk,
        };
        Shown::More
    }
}

/// The state after the opening tag of an element tree: blanks up to a complete opening tag, a comment, or the block's
/// closing tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Tag {
    Blanks(u32),
    Begins,
    /// In the tag's name. How many bytes of the block's own opener have come, if it may be that: a repetition shows nothing.
    Name(Option<u16>),
    /// In its attributes.
    Rest(Header),
    /// In the beginning of a comment, CDATA or a document type declaration.
    Bang(Several),
    /// This many bytes into the closing tag.
    Close(u16),
}

const BANGS: [(&str, Case); 3] = [
    ("<!--", Case::Exact),
    ("<![CDATA[", Case::Exact),
    ("<!DOCTYPE", Case::Exact),
];

impl Tag {
    pub fn new() -> Self {
        Self::Blanks(0)
    }

    /// Consumes the next byte.
    pub fn step(&mut self, byte: u8, table: &ElementTree) -> Shown {
        // More bytes may appear in a tag's name than may begin it.
        let name = |byte: u8| byte > b' ' && byte != 0x7f && !b"<>=\"'`&".contains(&byte);
        let own = |at: u16| {
            let want = table.spec.open.as_bytes().get(usize::from(at));
            (want == Some(&byte)).then_some(at + 1)
        };
        *self = match *self {
            Self::Blanks(n) if is_space(byte) && n < PROBE_BLANKS => Self::Blanks(n + 1),
            Self::Blanks(_) if byte == b'<' => Self::Begins,
            Self::Begins if byte == b'!' => Self::Bang(Several {
                have: 2,
                ..Several::new()
            }),
            Self::Begins if byte == b'/' => Self::Close(2),
            Self::Begins if byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80 => {
                Self::Name(own(1))
            }
            Self::Name(at) if name(byte) => Self::Name(at.and_then(own)),
            Self::Name(at) if byte == b'>' => match at.and_then(own) {
                Some(len) if usize::from(len) == table.spec.open.len() => return Shown::No,
                Some(_) | None => return Shown::Yes,
            },
            Self::Name(_) if is_space(byte) => Self::Rest(Header::Space),
            Self::Rest(mut header) => match header.step(byte) {
                HeaderStep::More => Self::Rest(header),
                HeaderStep::End { .. } => return Shown::Yes,
                HeaderStep::Bad => return Shown::No,
            },
            Self::Bang(mut bang) => match bang.step(byte, BANGS.into_iter()) {
                Shown::More => Self::Bang(bang),
                shown => return shown,
            },
            Self::Close(at) => {
                let close = table.spec.close.as_bytes();
                match close.get(usize::from(at)) {
                    Some(want) if *want == byte && close.len() == usize::from(at) + 1 => {
                        return Shown::Yes;
                    }
                    Some(want) if *want == byte => Self::Close(at + 1),
                    Some(_) | None => return Shown::No,
                }
            }
            Self::Blanks(_) | Self::Begins | Self::Name(_) => return Shown::No,
        };
        Shown::More
    }
}
