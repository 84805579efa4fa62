//! Keys: strings, or names without quotes.

use super::pen::{Decode, Emit, Feed, Meaning};
use super::{Frame, Gap, Lexer, LexerAt, Rules, Token, Took, is_name};
use crate::kind::Kind;

impl Lexer {
    /// The last offset at which the open key may end.
    pub(super) fn key_end(&self, rules: &Rules<'_>) -> u64 {
        self.key_at + u64::from(rules.max_name) + 1
    }

    pub(super) fn colon<E: Emit>(
        &mut self,
        rules: &Rules<'_>,
        f: &mut Feed<'_, E>,
        i: usize,
        byte: u8,
    ) -> Took {
        let call = self.calls();
        if std::mem::take(&mut self.joined) && byte == b'"' {
            return self.open_stray(f, i, true, true);
        }
        if byte == if call { b'=' } else { b':' } {
            if call {
                f.hold = Some(i);
                self.pen.swap(f, i + 1, ":", Meaning::Text(""));
            }
            self.at = LexerAt::Between(Gap::Value);
            return (i + 1, None);
        }
        if let Some(gap) = self.aside_begins(rules, byte) {
            return self.open_aside(rules, f, i, byte, gap);
        }
        let token = if call && (byte == b',' || byte == b')') {
            // A bare name in place of a value.
            Token::Malformed(Kind::UnsupportedExpression)
        } else {
            Self::unfit(rules, byte)
        };
        (i, Some(token))
    }

    /// Whether the members of the innermost bracket are the arguments of a Python call.
    pub(super) fn calls(&self) -> bool {
        self.stack.last() == Some(&Frame::Call)
    }

    /// Whether `byte` begins a name without quotes, and whether that is a slip.
    pub(super) fn names(&self, rules: &Rules<'_>, byte: u8) -> Option<bool> {
        // Curly quotation marks and other punctuation begin with 0xE2: they are no part of a name.
        let named = is_name(byte) && byte != 0xE2;
        if self.calls() {
            (is_name(byte) && !byte.is_ascii_digit()).then_some(false)
        } else if rules.syntax.bare_keys {
            (Self::in_bare_key(byte) && byte != 0xE2).then_some(false)
        } else {
            let lenient = (named || byte == b'$') && !byte.is_ascii_digit();
            lenient.then_some(true)
        }
    }

    /// Begins a name without quotes at the offset `at`, whose first byte is `byte`. What precedes it has been emitted up to `i`.
    pub(super) fn open_name<E: Emit>(
        &mut self,
        rules: &Rules<'_>,
        f: &mut Feed<'_, E>,
        i: usize,
        at: u64,
        byte: u8,
    ) -> Option<Token> {
        let slip = self.names(rules, byte) == Some(true);
        self.begin_key(f, i, at);
        self.pen.insert(f, i, "\"");
        self.at = LexerAt::BareKey;
        slip.then_some(Token::Repaired(Kind::RepairedKey, at))
    }

    /// Begins a key at the offset `at`; its text is decoded from `i` on.
    fn begin_key<E: Emit>(&mut self, f: &mut Feed<'_, E>, i: usize, at: u64) {
        self.key_at = at;
        if self.watched() {
            self.pen.key.clear();
            self.pen.decode = Decode::Key;
            f.decoded = i;
        }
    }

    /// Consumes the first byte of a key.
    pub(super) fn open_key<E: Emit>(
        &mut self,
        rules: &Rules<'_>,
        f: &mut Feed<'_, E>,
        i: usize,
        byte: u8,
    ) -> Took {
        if let Some(gap) = self.aside_begins(rules, byte) {
            return self.open_aside(rules, f, i, byte, gap);
        }
        let quoted =
            !self.calls() && (byte == b'"' || byte == b'\'' || rules.delim_at(byte).is_some());
        // A key cannot begin like this: the bracket of a call's object is missing, and the next call of the list begins.
        let list = self.stack.as_slice() == [Frame::Array, Frame::Object];
        if byte == b'{' && self.at == LexerAt::Between(Gap::NextKey) && self.watch > 0 && list {
            // The comma on hold separates calls, and follows as one that is missing.
            self.pen.swap(f, i, "}", Meaning::Text(""));
            self.at = LexerAt::Unclosed;
            return (i, Some(Token::Repaired(Kind::UnclosedValue, f.pos(i))));
        }
        if !quoted && self.names(rules, byte).is_none() {
            return (i, Some(Self::unfit(rules, byte)));
        }
        self.pen.keep(f, i, Meaning::Text(""));
        if quoted {
            self.begin_key(f, i, f.pos(i));
            return self.open_string(rules, f, i, byte, true);
        }
        (i + 1, self.open_name(rules, f, i, f.pos(i), byte))
    }

    pub(super) fn in_bare_key(byte: u8) -> bool {
        is_name(byte) || b"$-./@+".contains(&byte)
    }

    pub(super) fn bare_key<E: Emit>(
        &mut self,
        rules: &Rules<'_>,
        f: &mut Feed<'_, E>,
        i: usize,
    ) -> Took {
        let call = self.calls();
        let rest = &f.src[i..self.key_stop(rules, f)];
        let fits = |byte: u8| {
            if call {
                is_name(byte)
            } else {
                Self::in_bare_key(byte)
            }
        };
        let Some(n) = rest.iter().position(|byte| !fits(*byte)) else {
            return (i + rest.len(), None);
        };
        let i = i + n;
        self.pen.insert(f, i, "\"");
        f.hold = Some(i);
        self.pen.keep(f, i, Meaning::Text(""));
        self.end_string(f, i, true)
    }

    /// Where a scan of the open string must stop, so that the limit of a key fires at one offset.
    pub(super) fn key_stop<E>(&self, rules: &Rules<'_>, f: &Feed<'_, E>) -> usize {
        if self.pen.decode == Decode::Key {
            let stop = (self.key_end(rules) + 1).saturating_sub(f.base);
            usize::try_from(stop).map_or(f.src.len(), |stop| stop.min(f.src.len()))
        } else {
            f.src.len()
        }
    }
}
