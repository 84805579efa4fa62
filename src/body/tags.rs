//! Small matchers for the inside of a block: which tag begins here, and where a comment ends.

use serde::{Deserialize, Serialize};
use toolglot_scan::xml;

/// The most blanks allowed after `</`.
pub(super) const MAX_BLANKS: u8 = 16;

/// Matches bytes against up to eight literals at once. A literal that is the name of a tag counts only if the next byte ends
/// the name. Blanks may follow the `</` of a closing tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Match {
    len: u16,
    alive: u8,
    /// Blanks after `</`.
    blanks: u8,
}

/// What must follow a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    /// Nothing: the literal is complete by itself.
    None,
    /// A blank, `>` or `/`.
    Open,
    /// A blank or `>`.
    Close,
}

impl Edge {
    fn ends(self, byte: u8) -> bool {
        match self {
            Self::None => true,
            Self::Open => xml::is_space(byte) || byte == b'>' || byte == b'/',
            Self::Close => xml::is_space(byte) || byte == b'>',
        }
    }
}

/// The effect of one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MatchStep {
    More,
    /// The literal of that index is complete; `taken` if the byte is part of it.
    Found {
        index: usize,
        taken: bool,
    },
    None,
}

impl Match {
    /// A match of `count` literals at its start.
    pub fn new(count: usize) -> Self {
        Self {
            len: 0,
            alive: ((1_u16 << count) - 1) as u8,
            blanks: 0,
        }
    }

    /// The same, after the first byte (`<` in all literals).
    pub fn after_lt(count: usize) -> Self {
        Self {
            len: 1,
            ..Self::new(count)
        }
    }

    /// How many bytes have matched, including blanks after `</`.
    pub fn len(self) -> u64 {
        u64::from(self.len) + u64::from(self.blanks)
    }

    /// Whether there are blanks after `</`.
    pub fn spaced(self) -> bool {
        self.blanks > 0
    }

    /// Consumes the next byte.
    pub fn step(&mut self, byte: u8, literals: &[(&[u8], Edge)]) -> MatchStep {
        let at = usize::from(self.len);
        if at == 2 && xml::is_space(byte) && self.blanks < MAX_BLANKS {
            let alive = |index: usize| self.alive & (1 << index) != 0;
            let mut all = literals.iter().enumerate();
            // All remaining literals share the bytes matched so far.
            if all.any(|(index, (literal, _))| alive(index) && literal.starts_with(b"</")) {
                self.blanks += 1;
                return MatchStep::More;
            }
        }
        for (index, (literal, edge)) in literals.iter().enumerate() {
            if self.alive & (1 << index) == 0 {
                continue;
            }
            if at == literal.len() {
                if edge.ends(byte) {
                    return MatchStep::Found {
                        index,
                        taken: false,
                    };
                }
                self.alive &= !(1 << index);
            } else if literal.get(at) != Some(&byte) {
                self.alive &= !(1 << index);
            } else if at + 1 == literal.len() && *edge == Edge::None {
                return MatchStep::Found { index, taken: true };
            }
        }
        self.len = self.len.saturating_add(1);
        if self.alive == 0 {
            MatchStep::None
        } else {
            MatchStep::More
        }
    }
}

/// A section of XML in which nothing else has a meaning. It ends with two of its marks and `>`.
pub(crate) struct XmlSection {
    /// Its first byte occurs nowhere else in it.
    pub open: &'static [u8],
    mark: u8,
}

impl XmlSection {
    /// Whether its opener is misspelt if this byte follows `have` bytes of it. `<!` alone may begin something else.
    pub fn tears(&self, have: usize, byte: u8) -> bool {
        let other = self.open.get(have) != Some(&byte);
        other && (have > 2 || have == 2 && matches!(byte, b'C' | b'!'))
    }
}

pub(crate) const COMMENT: XmlSection = XmlSection {
    open: b"<!--",
    mark: b'-',
};
pub(crate) const CDATA: XmlSection = XmlSection {
    open: b"<![CDATA[",
    mark: b']',
};

/// The position in a section: how many bytes of its end have come, and of its opener. A section that contains its opener may
/// have lost its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InXmlSection {
    end: u8,
    open: u8,
}

/// The effect of one byte of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum XmlSectionStep {
    More,
    /// The opener stands inside it.
    Nested,
    End,
}

impl InXmlSection {
    /// Neither its end nor its opener has begun.
    pub const IDLE: Self = Self { end: 0, open: 0 };

    /// Consumes the next byte.
    pub fn step(&mut self, section: &XmlSection, byte: u8) -> XmlSectionStep {
        self.end = match self.end {
            2 if byte == b'>' => return XmlSectionStep::End,
            1 | 2 if byte == section.mark => 2,
            _ => u8::from(byte == section.mark),
        };
        self.open = match section.open.get(usize::from(self.open)) == Some(&byte) {
            true => self.open + 1,
            false => u8::from(section.open.first() == Some(&byte)),
        };
        if usize::from(self.open) < section.open.len() {
            return XmlSectionStep::More;
        }
        self.open = 0;
        XmlSectionStep::Nested
    }

    /// How many bytes of its end have come.
    pub fn ending(self) -> u64 {
        u64::from(self.end)
    }

    /// Whether the state fits its section.
    pub fn fits(self, section: &XmlSection) -> bool {
        self.end <= 2 && usize::from(self.open) < section.open.len()
    }
}
