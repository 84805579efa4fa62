//! What models write between two tokens although JSON has no such thing: comments, white space of other alphabets, full-width commas and
//! colons.

use serde::{Deserialize, Serialize};

use super::pen::{Emit, Feed, Meaning};
use super::{Frame, Gap, Lexer, LexerAt, Rules, Token, Took};
use crate::kind::Kind;

/// How far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Aside {
    /// After `/`.
    Slash,
    /// In a comment that its line ends.
    Line,
    /// In a comment that `*/` ends, after a `*` or not.
    Block(bool),
    /// After the first byte of a character.
    One(u8),
    /// After its first two bytes.
    Two([u8; 2]),
}

/// The length of a character with this first byte, if it may stand between tokens.
pub(super) fn odd(first: u8) -> Option<usize> {
    match first {
        0xC2 => Some(2),
        0xE2 | 0xE3 | 0xEF => Some(3),
        _ => None,
    }
}

/// Whether the character, whose `bytes` these are, may follow a string.
pub(super) fn ends_string(bytes: &[u8], key: bool) -> bool {
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    match text {
        "：" => key,
        "，" | "、" => !key,
        _ => text.chars().all(is_space) && !text.is_empty(),
    }
}

/// Whether a name cannot begin with the character, because it may stand before one.
pub(crate) fn precedes_names(character: char) -> bool {
    is_space(character) || matches!(character, '，' | '、' | '：')
}

/// Whether the character is white space, or has no width.
fn is_space(character: char) -> bool {
    character.is_whitespace()
        || matches!(character, '\u{200B}'..='\u{200D}' | '\u{2060}' | '\u{FEFF}')
}

impl Lexer {
    /// The gap, if a byte there is none of the grammar and begins what may stand in it. `/` in a Python call is a division.
    pub(super) fn aside_begins(&self, rules: &Rules<'_>, byte: u8) -> Option<Gap> {
        // The first bytes of comments, of the characters of `is_space`, and of `，`, `、` and `：`.
        if !matches!(byte, b'/' | b'#' | 0x0B | 0x0C | 0xC2 | 0xE2 | 0xE3 | 0xEF) {
            return None;
        }
        let LexerAt::Between(gap) = self.at else {
            return None;
        };
        let syntax = rules.syntax;
        let own = match gap {
            _ if byte == b'/' && self.stack.first() == Some(&Frame::Call) => true,
            Gap::Value | Gap::Item | Gap::NextItem => {
                !syntax.bare_values.is_empty() || rules.delim_at(byte).is_some()
            }
            Gap::Key | Gap::NextKey => {
                syntax.bare_keys && byte == b'/' || rules.delim_at(byte).is_some()
            }
            Gap::Colon | Gap::After => false,
        };
        (!own).then_some(gap)
    }

    /// Consumes the first byte.
    #[cold]
    #[inline(never)]
    pub(super) fn open_aside<E: Emit>(
        &mut self,
        rules: &Rules<'_>,
        f: &mut Feed<'_, E>,
        i: usize,
        byte: u8,
        gap: Gap,
    ) -> Took {
        self.joined = false;
        self.pen.omit(f, i);
        let (aside, token) = match byte {
            b'#' => (Aside::Line, Self::spaced(rules, f.pos(i))),
            b'/' => (Aside::Slash, None),
            0x0B | 0x0C => return (i + 1, Self::spaced(rules, f.pos(i))),
            _ => (Aside::One(byte), None),
        };
        self.at = LexerAt::Aside(aside, gap);
        (i + 1, token)
    }

    /// Python has comments.
    fn spaced(rules: &Rules<'_>, at: u64) -> Option<Token> {
        (!rules.syntax.python).then_some(Token::Repaired(Kind::RepairedSpace, at))
    }

    #[cold]
    #[inline(never)]
    pub(super) fn aside<E: Emit>(
        &mut self,
        rules: &Rules<'_>,
        f: &mut Feed<'_, E>,
        i: usize,
        byte: u8,
        (aside, gap): (Aside, Gap),
    ) -> Took {
        let next = match (aside, byte) {
            (Aside::Slash, b'/') => Aside::Line,
            (Aside::Slash, b'*') => Aside::Block(false),
            (Aside::Slash, _) => return self.no_aside(rules, i, b'/', gap),
            (Aside::Line, b'\n') => {
                self.at = LexerAt::Between(gap);
                return self.blank(f, i);
            }
            (Aside::Line, _) => Aside::Line,
            (Aside::Block(true), b'/') => {
                self.pen.omit(f, i);
                self.at = LexerAt::Between(gap);
                return (i + 1, None);
            }
            (Aside::Block(_), _) => Aside::Block(byte == b'*'),
            (Aside::One(0xC2), _) => return self.character(rules, f, i, &[0xC2, byte], gap),
            (Aside::One(first), 0x80..0xC0) => Aside::Two([first, byte]),
            (Aside::One(first), _) => return self.no_aside(rules, i, first, gap),
            (Aside::Two([first, second]), _) => {
                return self.character(rules, f, i, &[first, second, byte], gap);
            }
        };
        self.pen.omit(f, i);
        self.at = LexerAt::Aside(next, gap);
        let begun = aside == Aside::Slash;
        (
            i + 1,
            begun.then_some(Token::Repaired(
                Kind::RepairedSpace,
                f.pos(i).saturating_sub(1),
            )),
        )
    }

    fn no_aside(&mut self, rules: &Rules<'_>, i: usize, first: u8, gap: Gap) -> Took {
        self.at = LexerAt::Between(gap);
        (i, Some(Self::unfit(rules, first)))
    }

    /// Consumes the last byte of a character, whose `bytes` these are.
    #[cold]
    #[inline(never)]
    fn character<E: Emit>(
        &mut self,
        rules: &Rules<'_>,
        f: &mut Feed<'_, E>,
        i: usize,
        bytes: &[u8],
        gap: Gap,
    ) -> Took {
        let mut characters = std::str::from_utf8(bytes).unwrap_or_default().chars();
        let (Some(character), None) = (characters.next(), characters.next()) else {
            return self.no_aside(rules, i, bytes[0], gap);
        };
        let at = f.pos(i + 1).saturating_sub(bytes.len() as u64);
        let call = self.calls();
        match (gap, character) {
            (_, one) if is_space(one) => {
                self.pen.omit(f, i);
                self.at = LexerAt::Between(gap);
                (i + 1, Some(Token::Repaired(Kind::RepairedSpace, at)))
            }
            (Gap::After, '，' | '、') => {
                self.pen.omit(f, i);
                self.pen.hold(f, i + 1, at, b",");
                self.comma();
                (i + 1, Some(Token::Repaired(Kind::RepairedPunctuation, at)))
            }
            (Gap::Colon, '：') if !call => {
                self.pen.omit(f, i);
                self.pen.insert(f, i + 1, ":");
                self.at = LexerAt::Between(Gap::Value);
                (i + 1, Some(Token::Repaired(Kind::RepairedPunctuation, at)))
            }
            (Gap::Key | Gap::NextKey, one) if self.names(rules, bytes[0]).is_some() => {
                self.pen.omit(f, i);
                self.pen.keep(f, i + 1, Meaning::Text(""));
                let token = self.open_name(rules, f, i + 1, at, bytes[0]);
                self.pen.hold(f, i + 1, at, bytes);
                let mut text = [0; 4];
                self.pen
                    .keep(f, i + 1, Meaning::Text(one.encode_utf8(&mut text)));
                (i + 1, token)
            }
            _ => self.no_aside(rules, i, bytes[0], gap),
        }
    }
}
