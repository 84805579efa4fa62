//! Where values begin and end: brackets, and commas between them.

use super::literals::WORDS;
use super::pen::{Decode, Emit, Feed, Meaning};
use super::strings::Quoted;
use super::{Frame, Gap, Lexer, LexerAt, Rules, Shape, Token, Took, is_blank, is_name};
use crate::kind::Kind;

/// The most blanks that are kept after a comma that may be superfluous; the rest is dropped.
pub(super) const MAX_BLANKS: usize = 256;

impl Lexer {
    pub(super) fn blank<E: Emit>(&mut self, f: &mut Feed<'_, E>, i: usize) -> Took {
        if f.src[i] == b'\n' {
            self.quote = None;
        }
        self.joined = false;
        if self.stack.is_empty() {
            self.pen.skip(f, i + 1);
        } else if self.pen.waits(f, i) >= MAX_BLANKS {
            self.pen.stash(f, i);
            self.pen.skip(f, i + 1);
            f.hold = Some(i + 1);
        }
        (i + 1, None)
    }

    /// The error for a byte that fits nothing: part of an unsupported expression, or malformed.
    pub(super) fn unfit(rules: &Rules<'_>, byte: u8) -> Token {
        let graphic = byte.is_ascii_graphic() || byte >= 0x80;
        if rules.syntax.python && graphic && !b")]},:".contains(&byte) {
            Token::Malformed(Kind::UnsupportedExpression)
        } else {
            Token::Malformed(Kind::MalformedBody)
        }
    }

    pub(super) fn shape(&self, rules: &Rules<'_>, byte: u8) -> Option<Shape> {
        let syntax = rules.syntax;
        match byte {
            b'{' => Some(Shape::Object),
            b'[' => Some(Shape::Array),
            b'(' if syntax.python => Some(Shape::Array),
            b'"' | b'\'' => Some(Shape::String),
            _ if rules.delim_at(byte).is_some() => Some(Shape::String),
            b',' | b':' | b'}' | b']' | 0..0x20 => None,
            _ if !syntax.bare_values.is_empty() => Some(Shape::Bare),
            b'-' | b'+' | b'.' | b'0'..=b'9' => Some(Shape::Number),
            _ => WORDS
                .iter()
                .find(|(word, ..)| word[0] == byte)
                .map(|(.., shape)| *shape),
        }
    }

    /// Consumes the first byte of a value.
    pub(super) fn value<E: Emit>(
        &mut self,
        rules: &Rules<'_>,
        f: &mut Feed<'_, E>,
        i: usize,
        byte: u8,
    ) -> Took {
        if let Some(gap) = self.aside_begins(rules, byte) {
            return self.open_aside(rules, f, i, byte, gap);
        }
        let Some(shape) = self.shape(rules, byte) else {
            return (i, Some(Self::unfit(rules, byte)));
        };
        self.pen.keep(f, i, Meaning::Text(""));
        if self.watched() {
            self.at = LexerAt::Begin(shape);
            return (i, Some(Token::Open(shape)));
        }
        self.begin(rules, f, i, byte, shape)
    }

    pub(super) fn begin<E: Emit>(
        &mut self,
        rules: &Rules<'_>,
        f: &mut Feed<'_, E>,
        i: usize,
        byte: u8,
        shape: Shape,
    ) -> Took {
        match shape {
            Shape::Object => self.open(rules, i, Frame::Object),
            Shape::Array if byte == b'(' => {
                let took = self.open(rules, i, Frame::Tuple);
                if took.1.is_none() {
                    f.hold = Some(i);
                    self.pen.swap(f, i + 1, "[", Meaning::Text(""));
                }
                took
            }
            Shape::Array => self.open(rules, i, Frame::Array),
            Shape::String => self.open_string(rules, f, i, byte, false),
            Shape::Number => self.open_number(rules, f, i, byte),
            Shape::Bool | Shape::Null => self.open_word(rules, f, i, byte),
            Shape::Bare => self.open_bare(rules, f, i, byte),
        }
    }

    pub(super) fn open(&mut self, rules: &Rules<'_>, i: usize, frame: Frame) -> Took {
        if self.stack.len() >= rules.max_depth as usize {
            return (i, Some(Token::Limit(Kind::LimitDepth)));
        }
        self.stack.push(frame);
        self.at = frame.first();
        (i + 1, None)
    }

    pub(super) fn closes(&self, byte: u8) -> bool {
        self.stack.last().is_some_and(|top| top.closer() == byte)
    }

    pub(super) fn close<E: Emit>(&mut self, f: &mut Feed<'_, E>, i: usize, byte: u8) -> Took {
        let frame = self.stack.pop();
        if frame == Some(Frame::Doubled) {
            self.stack.push(Frame::Halved);
            self.at = LexerAt::Between(Gap::After);
            self.quote = None;
            f.hold = Some(i);
            self.pen.swap(f, i + 1, "", Meaning::Text(""));
            return (i + 1, None);
        }
        if byte == b')' {
            f.hold = Some(i);
            let bracket = if frame == Some(Frame::Call) { "}" } else { "]" };
            self.pen.swap(f, i + 1, bracket, Meaning::Text(""));
        }
        self.end(i + 1)
    }

    /// Drops a second bracket that opens the innermost object, at `i`.
    pub(super) fn doubled<E: Emit>(&mut self, f: &mut Feed<'_, E>, i: usize) -> Took {
        self.stack.pop();
        self.stack.push(Frame::Doubled);
        f.hold = Some(i);
        self.pen.swap(f, i + 1, "", Meaning::Text(""));
        (i + 1, Some(Token::Repaired(Kind::RepeatedMarker, f.pos(i))))
    }

    /// Ends the value before `i`.
    pub(super) fn end(&mut self, i: usize) -> Took {
        self.at = self.after_value();
        self.quote = None;
        (i, self.watched().then_some(Token::Close))
    }

    /// Drops the comma before the closing bracket at `i`.
    pub(super) fn trailing<E: Emit>(
        &mut self,
        rules: &Rules<'_>,
        f: &mut Feed<'_, E>,
        i: usize,
    ) -> Took {
        let at = self.pen.held_at(f).unwrap_or(f.pos(i));
        self.pen.swap(f, i, "", Meaning::Text(""));
        self.at = LexerAt::Between(Gap::After);
        let repaired = Token::Repaired(Kind::RepairedComma, at);
        (i, (!rules.syntax.python).then_some(repaired))
    }

    /// Whether the innermost bracket belongs to a list of calls.
    fn lists_calls(&self) -> bool {
        self.watch > 0 && self.stack.as_slice() == [Frame::Array]
    }

    /// Whether the next member begins with this byte, although no comma stands before it. Only bytes that can't belong to the value
    /// before them count: a number or word may go on, and Python joins strings that follow each other.
    fn comma_is_missing(&self, rules: &Rules<'_>, top: Frame, byte: u8) -> bool {
        match top {
            Frame::Object | Frame::Doubled if rules.syntax.bare_keys => {
                byte == b'"' || (is_name(byte) && !byte.is_ascii_digit() && byte != 0xE2)
            }
            Frame::Object | Frame::Doubled => byte == b'"',
            Frame::Call => byte == b'_' || byte.is_ascii_alphabetic(),
            // After a call, a bracket may begin the next section.
            Frame::Array if self.lists_calls() => byte == b'{',
            Frame::Array => b"{[".contains(&byte) || (byte == b'"' && !rules.syntax.python),
            Frame::Halved | Frame::Tuple | Frame::Tuples => false,
        }
    }

    /// Goes on after a comma.
    pub(super) fn comma(&mut self) {
        self.at = match self.stack.last_mut() {
            Some(Frame::Object | Frame::Doubled | Frame::Call) => LexerAt::Between(Gap::NextKey),
            Some(top @ Frame::Tuple) => {
                *top = Frame::Tuples;
                LexerAt::Between(Gap::NextItem)
            }
            _ => LexerAt::Between(Gap::NextItem),
        };
    }

    pub(super) fn after<E: Emit>(
        &mut self,
        rules: &Rules<'_>,
        f: &mut Feed<'_, E>,
        i: usize,
        byte: u8,
    ) -> Took {
        let joined = std::mem::take(&mut self.joined);
        let Some(top) = self.stack.last().copied() else {
            return (i, Some(Token::Malformed(Kind::MalformedBody)));
        };
        if top == Frame::Halved && byte != b'}' {
            // What follows one bracket could belong to either object.
            return (i, Some(Self::unfit(rules, byte)));
        }
        if byte == b',' {
            f.hold = Some(i);
            self.comma();
            return (i + 1, None);
        }
        if let Some(gap) = self.aside_begins(rules, byte) {
            return self.open_aside(rules, f, i, byte, gap);
        }
        match top {
            _ if byte == b'"' && self.comma_is_missing(rules, top, byte) => {
                self.open_stray(f, i, joined, false)
            }
            _ if self.comma_is_missing(rules, top, byte) => {
                f.hold = Some(i);
                self.pen.swap(f, i, ",", Meaning::Text(""));
                self.at = top.first();
                (i, Some(Token::Repaired(Kind::RepairedComma, f.pos(i))))
            }
            Frame::Array if byte == b';' && self.lists_calls() => {
                f.hold = Some(i);
                self.pen.swap(f, i + 1, ",", Meaning::Text(""));
                self.at = LexerAt::Between(Gap::NextItem);
                (i + 1, Some(Token::Repaired(Kind::RepairedComma, f.pos(i))))
            }
            // It repeats a bracket that is already closed.
            Frame::Array if byte == b'}' && self.lists_calls() => {
                f.hold = Some(i);
                self.pen.swap(f, i + 1, "", Meaning::Text(""));
                (i + 1, Some(Token::Repaired(Kind::RepeatedMarker, f.pos(i))))
            }
            // A value in parentheses is an expression.
            Frame::Tuple if byte == b')' => {
                (i, Some(Token::Malformed(Kind::UnsupportedExpression)))
            }
            top if top.closer() == byte => self.close(f, i, byte),
            _ => (i, Some(Self::unfit(rules, byte))),
        }
    }

    /// Holds a quotation mark that no comma precedes. `joined` if it directly follows the end of a string, which is a `key`.
    pub(super) fn open_stray<E: Emit>(
        &mut self,
        f: &mut Feed<'_, E>,
        i: usize,
        joined: bool,
        key: bool,
    ) -> Took {
        f.hold = Some(i);
        self.at = LexerAt::Stray { joined, key };
        (i + 1, None)
    }

    /// After a quotation mark that no comma precedes, and blanks. Before what may follow the string, another quotation mark or on
    /// a line of its own it begins nothing; before anything else a member begins with it. Of several that directly follow the end of
    /// a string, none begins anything.
    pub(super) fn stray<E: Emit>(
        &mut self,
        rules: &Rules<'_>,
        f: &mut Feed<'_, E>,
        i: usize,
        byte: u8,
        joined: bool,
        key: bool,
    ) -> Took {
        let waits = self.pen.waits(f, i);
        if is_blank(byte) && waits < MAX_BLANKS {
            return (i + 1, None);
        }
        let at = self.pen.held_at(f).unwrap_or(f.pos(i));
        let held = self.pen.held(f, i);
        let run = held.iter().take_while(|byte| **byte == b'"').count();
        if joined && byte == b'"' && run == waits && waits < MAX_BLANKS {
            return (i + 1, None);
        }
        if key && byte != b':' {
            return (i, Some(Self::unfit(rules, byte)));
        }
        let again = waits > run && byte == b'"';
        if key || run > 1 || again || b",}]".contains(&byte) || held.contains(&b'\n') {
            self.pen.swap(f, i, "", Meaning::Text(""));
            self.at = if key {
                LexerAt::Between(Gap::Colon)
            } else {
                LexerAt::Between(Gap::After)
            };
            return (i, Some(Token::Repaired(Kind::BareQuote, at)));
        }
        self.pen.swap_but(f, i, ",", Meaning::Text(""), &held);
        self.at = LexerAt::Begun(false);
        (i, Some(Token::Repaired(Kind::RepairedComma, at)))
    }

    /// Begins the member whose quotation mark, and blanks after it, are on hold; `told` if the consumer knows of it.
    pub(super) fn begun<E: Emit>(&mut self, f: &mut Feed<'_, E>, i: usize, told: bool) -> Took {
        let key = matches!(self.stack.last(), Some(Frame::Object | Frame::Doubled));
        if !key && !told && self.watched() {
            self.at = LexerAt::Begun(true);
            return (i, Some(Token::Open(Shape::String)));
        }
        f.decoded = i;
        if key {
            self.key_at = self.pen.held_at(f).unwrap_or(f.pos(i));
            if self.watched() {
                self.pen.key.clear();
                self.pen.decode = Decode::Key;
            }
        }
        self.spell(f, i, "\"", 1);
        self.at = LexerAt::String(Quoted {
            quote: b'"',
            triple: false,
            key,
            torn: false,
        });
        (i, None)
    }
}
