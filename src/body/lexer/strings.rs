//! Strings: in one, two or three quotes, or between delimiters.

use serde::{Deserialize, Serialize};
use toolglot_scan::{json, lossy, valid_prefix};

use super::aside::{self, Aside};
use super::literals::InText;
use super::pen::{Decode, Emit, Feed, Meaning};
use super::{Frame, Gap, Lexer, LexerAt, Rules, Token, Took, is_blank, is_name};
use crate::kind::Kind;

/// An open string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Quoted {
    pub quote: u8,
    pub triple: bool,
    /// It is a key.
    pub key: bool,
    /// It contained a quote that did not close it.
    pub torn: bool,
}

/// State after a backslash: the letter of the escape (or 0, right after the backslash) and the value of its digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Escape {
    letter: u8,
    digits: u8,
    value: u32,
    /// The first half of a surrogate pair, whose escape precedes this one.
    high: u16,
}

/// The most blanks, or bytes of an argument's name, after a quote that are examined.
const MAX_BLANKS_AFTER: usize = 64;
/// The replacement for half of a surrogate pair.
const LONE: (&str, &str) = ("\\ufffd", "\u{FFFD}");

/// How far an argument has come whose name directly follows a quotation mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum NamedAt {
    /// The string before it has ended.
    Quote,
    Comma,
    Key,
    Value,
}

/// What the text after a quotation mark in a Python call begins.
enum Begins {
    Undecided,
    Nothing,
    /// An argument: a name, `=`, and the first byte of a string or a bracket.
    Argument,
}

/// What `text`, which follows a quotation mark, and `byte` after it begin; nothing known if no name follows the mark.
fn begins_argument(text: &[u8], byte: u8) -> Option<Begins> {
    let first = *text.first().unwrap_or(&byte);
    if !is_name(first) || first.is_ascii_digit() {
        return None;
    }
    let name = text.iter().take_while(|byte| is_name(**byte)).count();
    let rest = text[name..].trim_ascii();
    let begins = match byte {
        _ if rest.is_empty() && name == text.len() && is_name(byte) => Begins::Undecided,
        b'=' if rest.is_empty() => Begins::Undecided,
        // What begins the next line may be the next call.
        b'\n' | b'\r' => Begins::Nothing,
        _ if is_blank(byte) => Begins::Undecided,
        b'"' | b'\'' | b'[' | b'{' if rest == b"=" => Begins::Argument,
        _ => Begins::Nothing,
    };
    Some(begins)
}

/// The length of the text before a delimiter, of which only the beginning may have come.
fn before(delim: &[u8], text: &[u8]) -> usize {
    let Some(first) = delim.first() else {
        return text.len();
    };
    let mut firsts = memchr::memchr_iter(*first, text);
    let begins = |at: &usize| {
        text[*at..]
            .iter()
            .zip(delim)
            .all(|(one, other)| one == other)
    };
    firsts.find(begins).unwrap_or(text.len())
}

/// How much of `delim` matches after `len` bytes of it and then `byte`, which broke the match.
pub(super) fn border(delim: &[u8], len: usize, byte: u8) -> usize {
    let fits = |n: &usize| {
        n.checked_sub(1)
            .is_none_or(|last| delim[last] == byte && delim[..len].ends_with(&delim[..last]))
    };
    (0..=len).rev().find(fits).unwrap_or(0)
}

impl Lexer {
    pub(super) fn open_string<E: Emit>(
        &mut self,
        rules: &Rules<'_>,
        f: &mut Feed<'_, E>,
        i: usize,
        byte: u8,
        key: bool,
    ) -> Took {
        f.decoded = i + 1;
        if byte != b'"' && byte != b'\'' {
            f.hold = Some(i);
            self.at = LexerAt::DelimOpen {
                which: rules.delim_at(byte).unwrap_or_default(),
                len: 0,
                key,
            };
            return (i, None);
        }
        let quoted = Quoted {
            quote: byte,
            triple: false,
            key,
            torn: false,
        };
        if byte == b'\'' {
            f.hold = Some(i);
            self.pen.swap(f, i + 1, "\"", Meaning::Text(""));
        }
        if rules.syntax.python {
            self.at = LexerAt::Quote(quoted, 1);
            return (i + 1, None);
        }
        self.at = LexerAt::String(quoted);
        let repaired = Token::Repaired(Kind::RepairedQuotes, f.pos(i));
        (i + 1, (byte == b'\'').then_some(repaired))
    }

    /// After one or two Python quotes.
    pub(super) fn quote<E: Emit>(
        &mut self,
        f: &mut Feed<'_, E>,
        i: usize,
        byte: u8,
        quoted: Quoted,
        len: u8,
    ) -> Took {
        match (len, byte == quoted.quote) {
            (1, true) => {
                f.hold = Some(i);
                self.at = LexerAt::Quote(quoted, 2);
                (i + 1, None)
            }
            (1, false) => {
                self.at = LexerAt::String(quoted);
                (i, None)
            }
            (_, true) => {
                self.pen.swap(f, i + 1, "", Meaning::Text(""));
                self.at = LexerAt::String(Quoted {
                    triple: true,
                    ..quoted
                });
                (i + 1, None)
            }
            // The string is empty, and another one may follow.
            (_, false) if is_blank(byte) => {
                self.at = LexerAt::Closing(quoted);
                (i, None)
            }
            (_, false) => self.closed(f, i, quoted),
        }
    }

    /// Closes the string with the quotes on hold before `i`.
    fn closed<E: Emit>(&mut self, f: &mut Feed<'_, E>, i: usize, quoted: Quoted) -> Took {
        let line = self.pen.waits(f, i) > 1 && self.pen.held(f, i).contains(&b'\n');
        if quoted.quote == b'"' && !quoted.triple {
            self.pen.keep(f, i, Meaning::Text(""));
        } else {
            self.pen.swap(f, i, "\"", Meaning::Text(""));
        }
        let took = self.end_string(f, i, quoted.key);
        self.quote = (!line).then_some(quoted.quote);
        took
    }

    pub(super) fn end_string<E: Emit>(&mut self, f: &mut Feed<'_, E>, i: usize, key: bool) -> Took {
        self.pen.end_text(f, i);
        if key {
            self.at = LexerAt::Between(Gap::Colon);
            (i, self.watched().then_some(Token::Key))
        } else {
            self.end(i)
        }
    }

    pub(super) fn string<E: Emit>(
        &mut self,
        rules: &Rules<'_>,
        f: &mut Feed<'_, E>,
        i: usize,
        quoted: Quoted,
    ) -> Took {
        let stop = self.key_stop(rules, f);
        let run = match self.pen.decode {
            Decode::No => json::verbatim,
            Decode::Key | Decode::Text => json::plain,
        };
        let i = i + run(&f.src[i..stop], quoted.quote);
        if i == stop {
            return (i, None);
        }
        let byte = f.src[i];
        if byte == b'\\' {
            f.hold = Some(i);
            self.at = LexerAt::Escape(quoted, Escape::default());
        } else if byte == quoted.quote {
            f.hold = Some(i);
            // The next bytes decide, except in strict JSON or where nothing is known to follow.
            let sure = !rules.syntax.python && byte == b'"' || self.stack.is_empty();
            if !quoted.triple && sure {
                let took = self.closed(f, i + 1, quoted);
                self.joined = !self.stack.is_empty();
                return took;
            }
            self.at = if quoted.triple {
                LexerAt::Triple(quoted, 1)
            } else {
                LexerAt::Closing(quoted)
            };
        } else if byte == b'"' {
            self.written(f, i, byte);
            let inner = Token::Repaired(Kind::BareQuote, f.pos(i));
            return (i + 1, (!rules.syntax.python).then_some(inner));
        } else {
            return self.control(rules, f, i, byte, quoted);
        }
        (i + 1, None)
    }

    /// After a quote on hold, and blanks. It closes the string if the next byte can follow a string. It is content if a word
    /// continues right after it; from then on so is every other quote that cannot end the string. Further quotes right after it
    /// are superfluous if the next byte can follow the string.
    pub(super) fn closing<E: Emit>(
        &mut self,
        rules: &Rules<'_>,
        f: &mut Feed<'_, E>,
        i: usize,
        byte: u8,
        quoted: Quoted,
    ) -> Took {
        let waits = self.pen.waits(f, i);
        let whole = !quoted.torn && !quoted.triple;
        let odd = match waits {
            1 if byte < 0x80 => None,
            1..=3 if whole => self.odd(f, i, byte),
            _ => None,
        };
        if let Some(len) = odd {
            if waits < len {
                return (i + 1, None);
            }
            if let Some(took) = self.closed_odd(f, i, byte, quoted) {
                return took;
            }
        }
        if (waits > 1 || is_name(byte)) && self.may_name(quoted) {
            let held = self.pen.held(f, i);
            let text = held.get(1..).unwrap_or_default();
            match begins_argument(text, byte) {
                Some(Begins::Undecided) if waits < MAX_BLANKS_AFTER => return (i + 1, None),
                Some(Begins::Undecided | Begins::Nothing) => return self.inside(f, i, quoted),
                Some(Begins::Argument) => {
                    self.pen.swap_but(f, i, "\"", Meaning::Text(""), text);
                    let took = self.end_string(f, i, false);
                    self.at = LexerAt::Named(NamedAt::Quote);
                    return took;
                }
                None => {}
            }
        }
        if is_blank(byte) && waits < MAX_BLANKS_AFTER {
            return (i + 1, None);
        }
        let run = if waits == 1 || quoted.torn || quoted.triple {
            1
        } else {
            let held = self.pen.held(f, i);
            held.iter()
                .take_while(|byte| **byte == quoted.quote)
                .count()
        };
        let again = byte == quoted.quote && run == waits && waits < MAX_BLANKS_AFTER;
        if again && whole {
            return (i + 1, None);
        }
        if run > 1 {
            return self.repeated(rules, f, i, byte, quoted, run);
        }
        let apart = waits > 1 || quoted.triple;
        if apart && matches!(byte, b'"' | b'\'') && self.joins(rules, quoted) {
            // Python joins adjacent strings.
            self.pen.swap(f, i + 1, "", Meaning::Text(""));
            let next = Quoted {
                quote: byte,
                triple: false,
                ..quoted
            };
            self.at = LexerAt::Quote(next, 1);
            return (i + 1, None);
        }
        let follows = is_blank(byte) || b",:}])".contains(&byte);
        let word = (waits == 1 || odd.is_some()) && !quoted.triple && is_name(byte);
        let inside = quoted.torn || word;
        if follows || !inside {
            return self.closed(f, i, quoted);
        }
        self.inside(f, i, quoted)
    }

    /// The length of the character that directly follows the quote on hold and may stand between tokens; `byte` is one of its bytes.
    fn odd<E>(&self, f: &Feed<'_, E>, i: usize, byte: u8) -> Option<usize> {
        let waits = self.pen.waits(f, i);
        let first = match waits {
            1 => byte,
            2 | 3 => self.pen.second(f)?,
            _ => return None,
        };
        aside::odd(first).filter(|len| waits <= *len)
    }

    /// Closes the string if the quote on hold precedes a character that may follow it; its last byte is at `i`.
    #[cold]
    fn closed_odd<E: Emit>(
        &mut self,
        f: &mut Feed<'_, E>,
        i: usize,
        byte: u8,
        quoted: Quoted,
    ) -> Option<Took> {
        let mut bytes = self.pen.held(f, i).split_off(1);
        let aside = match bytes[..] {
            [first] => Aside::One(first),
            [first, second] => Aside::Two([first, second]),
            _ => return None,
        };
        bytes.push(byte);
        if !aside::ends_string(&bytes, quoted.key) {
            return None;
        }
        self.pen.swap(f, i, "\"", Meaning::Text(""));
        let took = self.end_string(f, i, quoted.key);
        if let LexerAt::Between(gap) = self.at {
            self.at = LexerAt::Aside(aside, gap);
        }
        Some(took)
    }

    /// Takes the quote on hold, and what follows it before `i`, as content.
    fn inside<E: Emit>(&mut self, f: &mut Feed<'_, E>, i: usize, quoted: Quoted) -> Took {
        let at = self.pen.held_at(f).unwrap_or(f.pos(i));
        self.spell(f, i, "", 0);
        self.at = LexerAt::String(Quoted {
            torn: true,
            ..quoted
        });
        (i, Some(Token::Repaired(Kind::BareQuote, at)))
    }

    /// Whether the next argument of a Python call may follow this string without a comma.
    fn may_name(&self, quoted: Quoted) -> bool {
        !quoted.torn && !quoted.triple && self.calls()
    }

    /// Before the value of an argument whose name is on hold. No comma precedes it, and the quote before it may be content.
    pub(super) fn named<E: Emit>(
        &mut self,
        rules: &Rules<'_>,
        f: &mut Feed<'_, E>,
        i: usize,
        at: NamedAt,
    ) -> Took {
        let name_at = self.pen.held_at(f).unwrap_or(f.pos(i));
        let (next, token) = match at {
            NamedAt::Quote => {
                let quote_at = name_at.saturating_sub(1);
                (NamedAt::Comma, Token::Repaired(Kind::BareQuote, quote_at))
            }
            NamedAt::Comma => (NamedAt::Key, Token::Repaired(Kind::RepairedComma, name_at)),
            NamedAt::Key => {
                let held = self.pen.held(f, i);
                let len = held.iter().take_while(|byte| is_name(**byte)).count();
                if len > rules.max_name as usize {
                    return (i, Some(Token::Limit(Kind::LimitName)));
                }
                let (name, rest) = held.split_at(len);
                self.key_at = name_at;
                self.pen.key = lossy(name).into_owned();
                let json = format!(",\"{}\"", self.pen.key);
                self.pen.swap_but(f, i, &json, Meaning::Text(""), rest);
                (NamedAt::Value, Token::Key)
            }
            NamedAt::Value => {
                self.pen.swap(f, i, ":", Meaning::Text(""));
                self.at = LexerAt::Between(Gap::Value);
                return (i, None);
            }
        };
        self.at = LexerAt::Named(next);
        (i, Some(token))
    }

    /// Decides about several quotes in a row, and blanks, before `byte`: the first closes the string, and the others are superfluous.
    /// If text follows two, they are content, or in Python the end of a string and the beginning of the next.
    fn repeated<E: Emit>(
        &mut self,
        rules: &Rules<'_>,
        f: &mut Feed<'_, E>,
        i: usize,
        byte: u8,
        quoted: Quoted,
        run: usize,
    ) -> Took {
        let held = self.pen.held(f, i);
        let at = self.pen.held_at(f).unwrap_or(f.pos(i));
        let colon = if quoted.key { b':' } else { b',' };
        if byte == colon || !quoted.key && b",}])".contains(&byte) {
            let rest = &held[run - 1..];
            self.pen.swap_but(f, i, "", Meaning::Text(""), rest);
            return (i, Some(Token::Repaired(Kind::BareQuote, at + 1)));
        }
        let line = held.contains(&b'\n') || is_blank(byte);
        if run == 2 && !line && self.joins(rules, quoted) {
            self.spell(f, i, "", run);
            self.at = LexerAt::String(quoted);
            return (i, None);
        }
        if run == held.len() && is_name(byte) && !rules.syntax.python {
            self.spell(f, i, "", 0);
            self.at = LexerAt::String(Quoted {
                torn: true,
                ..quoted
            });
            return (i, Some(Token::Repaired(Kind::BareQuote, at)));
        }
        (i, Some(Self::unfit(rules, byte)))
    }

    /// Whether another string may follow this one. In a list, a comma may be missing instead.
    fn joins(&self, rules: &Rules<'_>, quoted: Quoted) -> bool {
        let value = match self.stack.last() {
            Some(Frame::Call | Frame::Object | Frame::Doubled) => !quoted.key,
            Some(Frame::Array | Frame::Halved | Frame::Tuple | Frame::Tuples) | None => false,
        };
        rules.syntax.python && value && !quoted.torn
    }

    pub(super) fn triple<E: Emit>(
        &mut self,
        f: &mut Feed<'_, E>,
        i: usize,
        byte: u8,
        quoted: Quoted,
        len: u8,
    ) -> Took {
        if byte == quoted.quote {
            if len == 2 {
                // One quote stays on hold, for another string may follow.
                let last = [quoted.quote];
                self.pen.swap_but(f, i + 1, "", Meaning::Text(""), &last);
                self.at = LexerAt::Closing(quoted);
                return (i + 1, None);
            }
            self.at = LexerAt::Triple(quoted, len + 1);
            return (i + 1, None);
        }
        let two = usize::from(len == 2);
        if quoted.quote == b'"' {
            let json = ["\\\"", "\\\"\\\""][two];
            self.pen
                .swap(f, i, json, Meaning::Text(["\"", "\"\""][two]));
        } else {
            self.pen.keep(f, i, Meaning::Text(["'", "''"][two]));
        }
        self.at = LexerAt::String(quoted);
        (i, None)
    }

    /// Emits an ASCII byte that means itself and that JSON escapes.
    pub(super) fn written<E: Emit>(&mut self, f: &mut Feed<'_, E>, i: usize, byte: u8) {
        f.hold = Some(i);
        self.char(f, i + 1, char::from(byte));
    }

    /// Emits the bytes on hold before `i` as this character.
    fn char<E: Emit>(&mut self, f: &mut Feed<'_, E>, i: usize, c: char) {
        let mut bytes = [0; 4];
        let text = &*c.encode_utf8(&mut bytes);
        json::escape(text, |json| self.pen.swap(f, i, json, Meaning::Text(text)));
    }

    fn control<E: Emit>(
        &mut self,
        rules: &Rules<'_>,
        f: &mut Feed<'_, E>,
        i: usize,
        byte: u8,
        quoted: Quoted,
    ) -> Took {
        let line = byte == b'\n' || byte == b'\r';
        let free = rules.syntax.python && byte != 0 && (quoted.triple || !line);
        self.written(f, i, byte);
        let repaired = Token::Repaired(Kind::RepairedNewline, f.pos(i));
        (i + 1, (!free).then_some(repaired))
    }

    pub(super) fn escape<E: Emit>(
        &mut self,
        rules: &Rules<'_>,
        f: &mut Feed<'_, E>,
        i: usize,
        byte: u8,
        quoted: Quoted,
        escape: Escape,
    ) -> Took {
        if escape.letter != 0 {
            return self.digit(rules, f, i, byte, quoted, escape);
        }
        if escape.high != 0 && byte != b'u' {
            let token = self.lone(f, i, b"\\");
            self.at = LexerAt::Escape(quoted, Escape::default());
            return (i, Some(token));
        }
        let python = rules.syntax.python;
        let mut repaired = None;
        let meaning = match byte {
            b'"' => "\"",
            b'\\' => "\\",
            b'b' => "\u{8}",
            b'f' => "\u{c}",
            b'n' => "\n",
            b'r' => "\r",
            b't' => "\t",
            b'/' if !python => "/",
            b'u' => return self.digits(i, quoted, byte, escape),
            b'x' | b'U' if python => return self.digits(i, quoted, byte, escape),
            b'0'..=b'7' if python => {
                let (value, digits) = (u32::from(byte - b'0'), 1);
                let octal = Escape {
                    value,
                    digits,
                    ..escape
                };
                return self.digits(i, quoted, b'0', octal);
            }
            b'N' if python => return (i, Some(Token::Malformed(Kind::UnsupportedExpression))),
            b'\'' => {
                if !python {
                    let at = self.pen.held_at(f).unwrap_or(f.pos(i));
                    repaired = Some(Token::Repaired(Kind::RepairedQuotes, at));
                }
                self.char(f, i + 1, '\'');
                ""
            }
            b'a' if python => {
                self.char(f, i + 1, '\u{7}');
                ""
            }
            b'v' if python => {
                self.char(f, i + 1, '\u{b}');
                ""
            }
            // The line continues.
            b'\n' if python => {
                self.pen.swap(f, i + 1, "", Meaning::Text(""));
                ""
            }
            // A backslash that escapes nothing means itself.
            _ => {
                let at = self.pen.held_at(f).unwrap_or(f.pos(i));
                self.char(f, i, '\\');
                self.at = LexerAt::String(quoted);
                let repaired = Token::Repaired(Kind::RepairedEscape, at);
                return (i, (!python).then_some(repaired));
            }
        };
        self.pen.keep(f, i + 1, Meaning::Text(meaning));
        self.at = LexerAt::String(quoted);
        (i + 1, repaired)
    }

    fn digits(&mut self, i: usize, quoted: Quoted, letter: u8, escape: Escape) -> Took {
        self.at = LexerAt::Escape(quoted, Escape { letter, ..escape });
        (i + 1, None)
    }

    fn digit<E: Emit>(
        &mut self,
        rules: &Rules<'_>,
        f: &mut Feed<'_, E>,
        i: usize,
        byte: u8,
        quoted: Quoted,
        mut escape: Escape,
    ) -> Took {
        let (radix, need) = match escape.letter {
            b'0' => (8, 3),
            b'x' => (16, 2),
            b'u' => (16, 4),
            _ => (16, 8),
        };
        let mut to = i;
        match char::from(byte).to_digit(radix) {
            Some(digit) => {
                escape.value = escape.value.wrapping_mul(radix).wrapping_add(digit);
                escape.digits = escape.digits.saturating_add(1);
                to += 1;
            }
            // The byte after it is not part of the escape.
            None if escape.letter == b'0' => escape.digits = need,
            None if !rules.syntax.python && escape.high == 0 => {
                let at = self.pen.held_at(f).unwrap_or(f.pos(i));
                let text = lossy(&self.pen.held(f, i)).into_owned();
                self.pen
                    .swap(f, i, &format!("\\{text}"), Meaning::Text(&text));
                self.at = LexerAt::String(quoted);
                return (i, Some(Token::Repaired(Kind::RepairedEscape, at)));
            }
            None => return (i, Some(Token::Malformed(Kind::MalformedBody))),
        }
        self.at = LexerAt::String(quoted);
        if escape.digits < need {
            self.at = LexerAt::Escape(quoted, escape);
            return (to, None);
        }
        match (escape.letter, u16::try_from(escape.value)) {
            (b'u', Ok(unit)) => return (to, self.unit(f, to, quoted, escape.high, unit)),
            (_, Ok(0xD800..0xE000)) => return (to, Some(self.lone(f, to, b""))),
            _ => match char::from_u32(escape.value) {
                Some(c) => self.char(f, to, c),
                None => return (i, Some(Token::Malformed(Kind::MalformedBody))),
            },
        }
        (to, None)
    }

    /// Ends the escape before `i`, which means a UTF-16 code unit; `high` is the first half of a pair, or 0.
    fn unit<E: Emit>(
        &mut self,
        f: &mut Feed<'_, E>,
        i: usize,
        quoted: Quoted,
        high: u16,
        unit: u16,
    ) -> Option<Token> {
        let mut token = None;
        if let (0xD800..0xDC00, 0xDC00..0xE000) = (high, unit) {
            let pair = [high, unit];
            let c = char::decode_utf16(pair).flatten().next();
            let mut bytes = [0; 4];
            let text = &*c.unwrap_or_default().encode_utf8(&mut bytes);
            self.pen.keep(f, i, Meaning::Text(text));
            return None;
        }
        if high != 0 {
            let held = self.pen.held(f, i);
            let own = &held[held.len().saturating_sub("\\u0000".len())..];
            token = Some(self.lone(f, i, own));
        }
        match (unit, char::from_u32(u32::from(unit))) {
            (0xD800..0xDC00, _) => self.at = LexerAt::High(quoted, unit),
            (_, None) => token = Some(self.lone(f, i, b"")),
            (_, Some(c)) => {
                let mut bytes = [0; 4];
                let text = &*c.encode_utf8(&mut bytes);
                self.pen.keep(f, i, Meaning::Text(text));
            }
        }
        token
    }

    /// After the first half of a surrogate pair, which is on hold.
    pub(super) fn high<E: Emit>(
        &mut self,
        f: &mut Feed<'_, E>,
        i: usize,
        byte: u8,
        quoted: Quoted,
        high: u16,
    ) -> Took {
        if byte == b'\\' {
            let escape = Escape {
                high,
                ..Escape::default()
            };
            self.at = LexerAt::Escape(quoted, escape);
            return (i + 1, None);
        }
        self.at = LexerAt::String(quoted);
        (i, Some(self.lone(f, i, b"")))
    }

    /// Replaces the bytes on hold before `i`, except `rest`: half of a surrogate pair, which JSON readers may reject.
    fn lone<E: Emit>(&mut self, f: &mut Feed<'_, E>, i: usize, rest: &[u8]) -> Token {
        let at = self.pen.held_at(f).unwrap_or(f.pos(i));
        let (json, text) = LONE;
        self.pen.swap_but(f, i, json, Meaning::Text(text), rest);
        Token::Repaired(Kind::LoneSurrogate, at)
    }

    /// In a delimiter that opens a string; it is on hold.
    pub(super) fn delim_open<E: Emit>(
        &mut self,
        rules: &Rules<'_>,
        f: &mut Feed<'_, E>,
        i: usize,
        which: u8,
        len: u8,
        key: bool,
    ) -> Took {
        let delim = rules.delim(which);
        if delim.get(usize::from(len)) == Some(&f.src[i]) {
            let len = len + 1;
            self.at = LexerAt::DelimOpen { which, len, key };
            if usize::from(len) == delim.len() {
                self.pen.swap(f, i + 1, "\"", Meaning::Text(""));
                self.at = LexerAt::Delim { which, len: 0, key };
            }
            return (i + 1, None);
        }
        if key || rules.syntax.bare_values.is_empty() {
            return (i, Some(Self::unfit(rules, f.src[i])));
        }
        let begun = lossy(&delim[..usize::from(len).min(delim.len())]);
        let mut text = String::from("\"");
        json::escape(&begun, |piece| text.push_str(piece));
        self.pen.swap(f, i, &text, Meaning::Text(&begun));
        let mut marks = rules.syntax.bare_values.iter();
        let mark = marks.position(|(mark, _)| mark.as_bytes() == delim);
        let (which, len) = mark.map_or((0, 0), |which| (which as u8, len));
        let key = InText::Other;
        let at = f.pos(i).saturating_sub(u64::from(len));
        self.at = LexerAt::BareText { which, len, key };
        // Another spelling of the delimiter may be meant, and be part of the value.
        (i, Some(Token::Repaired(Kind::BareQuote, at)))
    }

    /// In a string between delimiters. The matched part of the closing one is on hold.
    pub(super) fn delim<E: Emit>(
        &mut self,
        rules: &Rules<'_>,
        f: &mut Feed<'_, E>,
        i: usize,
        which: u8,
        len: u8,
        key: bool,
    ) -> Took {
        let delim = rules.delim(which);
        let Some(first) = delim.first() else {
            return (i, Some(Token::Malformed(Kind::MalformedBody)));
        };
        let mut i = i;
        if len == 0 {
            let stop = self.key_stop(rules, f);
            i += json::plain(&f.src[i..stop], *first);
            if i == stop {
                return (i, None);
            }
            let text = valid_prefix(&f.src[i..i + before(delim, &f.src[i..stop])]);
            if !text.is_empty() {
                return (self.pen.escape(f, i, text), None);
            }
            f.hold = Some(i);
        }
        let (byte, have) = (f.src[i], usize::from(len).min(delim.len() - 1));
        if delim.get(have) == Some(&byte) {
            if have + 1 == delim.len() {
                self.pen.swap(f, i + 1, "\"", Meaning::Text(""));
                return self.end_string(f, i + 1, key);
            }
            let len = len + 1;
            self.at = LexerAt::Delim { which, len, key };
            return (i + 1, None);
        }
        // Its first bytes are content; its last bytes may begin it again.
        let next = border(delim, have, byte);
        let past = usize::from(next > 0);
        let begun = lossy(&delim[..have + past - next]);
        let escaped = |byte: u8| byte < b' ' || matches!(byte, b'"' | b'\\');
        let text = if begun.bytes().any(escaped) {
            let mut text = String::new();
            json::escape(&begun, |piece| text.push_str(piece));
            text.into()
        } else {
            begun.clone()
        };
        let rest = &delim[..next];
        self.pen
            .swap_but(f, i + past, &text, Meaning::Text(&begun), rest);
        self.at = LexerAt::Delim {
            which,
            len: next as u8,
            key,
        };
        (i + past, None)
    }
}
