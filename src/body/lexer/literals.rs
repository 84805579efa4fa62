//! Values without quotes: numbers, literals, and strings in dialects that write them so.

use serde::{Deserialize, Serialize};
use toolglot_scan::{json, lossy};

use super::number::{Num, Radix};
use super::pen::{Emit, Feed, Meaning};
use super::{Lexer, LexerAt, Rules, Shape, Token, Took, is_blank, is_name};
use crate::dialect::payload::BareMark;
use crate::kind::Kind;

pub(super) const WORDS: [(&[u8], &str, Shape); 6] = [
    (b"true", "true", Shape::Bool),
    (b"false", "false", Shape::Bool),
    (b"null", "null", Shape::Null),
    (b"True", "true", Shape::Bool),
    (b"False", "false", Shape::Bool),
    (b"None", "null", Shape::Null),
];
/// How many of these words are JSON.
pub(super) const JSON_WORDS: usize = 3;

/// A number in Python's spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Python {
    Num(Num),
    /// After an underscore.
    Under(Num),
    /// After a zero, which is on hold.
    Zero,
    /// After a point without digits before it.
    Point,
    Radix(Radix),
}

/// What a value without quotes may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Literal {
    Number(Num),
    Word {
        which: u8,
        len: u8,
    },
    /// In blanks after a literal: a number, or that word.
    Blank(Option<u8>),
    /// After a Python word that was emitted as its counterpart.
    Swapped,
}

impl Python {
    /// Whether the number may end here.
    #[cfg(test)]
    pub fn ends(self) -> bool {
        match self {
            Self::Num(num) => num.ends(),
            Self::Zero => true,
            Self::Under(_) | Self::Point | Self::Radix(_) => false,
        }
    }
}

/// Whether a further key may have begun in a value without quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum InText {
    Other,
    /// After a blank.
    Blank,
    /// In a name after a blank.
    Name,
    /// After the colon behind that name.
    Colon,
}

impl InText {
    /// After a byte that is no blank.
    fn next(self, byte: u8) -> Self {
        match self {
            Self::Blank if is_name(byte) && !byte.is_ascii_digit() => Self::Name,
            Self::Name if is_name(byte) => Self::Name,
            Self::Name if byte == b':' => Self::Colon,
            Self::Other | Self::Blank | Self::Name | Self::Colon => Self::Other,
        }
    }
}

impl Lexer {
    /// Reports a Python spelling at `at`, which is a slip in other syntaxes.
    fn spelled(rules: &Rules<'_>, at: u64) -> Option<Token> {
        (!rules.syntax.python).then_some(Token::Repaired(Kind::RepairedLiteral, at))
    }

    pub(super) fn open_number<E: Emit>(
        &mut self,
        rules: &Rules<'_>,
        f: &mut Feed<'_, E>,
        i: usize,
        byte: u8,
    ) -> Took {
        let at = f.pos(i);
        let mut put = |number, json| {
            f.hold = Some(i);
            self.pen.swap(f, i + 1, json, Meaning::Text(""));
            (number, Self::spelled(rules, at))
        };
        let (number, token) = match byte {
            b'+' => put(Python::Num(Num::Sign), ""),
            b'.' => put(Python::Point, "0."),
            b'0' => {
                f.hold = Some(i);
                (Python::Zero, None)
            }
            b'-' => (Python::Num(Num::Sign), None),
            _ => (Python::Num(Num::Int), None),
        };
        self.at = LexerAt::Number(number);
        (i + 1, token)
    }

    pub(super) fn number<E: Emit>(
        &mut self,
        rules: &Rules<'_>,
        f: &mut Feed<'_, E>,
        i: usize,
        byte: u8,
        number: Python,
    ) -> Took {
        let unfit = (i, Some(Self::unfit(rules, byte)));
        let mut token = None;
        let next = match (number, byte) {
            (Python::Num(num), _) if num.step(byte).is_some_and(|num| num != Num::Zero) => {
                Python::Num(num.step(byte).unwrap_or(num))
            }
            (Python::Num(Num::Sign), b'0') => {
                f.hold = Some(i);
                Python::Zero
            }
            (Python::Num(Num::Sign), b'.') => {
                self.pen.insert(f, i, "0");
                token = Self::spelled(rules, f.pos(i));
                Python::Point
            }
            (Python::Zero, b'0'..=b'9') => {
                let at = self.pen.held_at(f).unwrap_or(f.pos(i));
                token = Some(Token::Repaired(Kind::RepairedNumber, at));
                self.pen.swap(f, i, "", Meaning::Text(""));
                if byte == b'0' {
                    f.hold = Some(i);
                    Python::Zero
                } else {
                    Python::Num(Num::Int)
                }
            }
            (Python::Zero, b'_') => return (i, Some(Token::Malformed(Kind::MalformedBody))),
            (Python::Zero, _) => match Radix::begin(byte) {
                Some(radix) => {
                    token = Self::spelled(rules, f.pos(i));
                    Python::Radix(radix)
                }
                None => {
                    self.pen.keep(f, i, Meaning::Text(""));
                    self.at = LexerAt::Number(Python::Num(Num::Zero));
                    return (i, None);
                }
            },
            (Python::Radix(radix), _) if radix.takes(byte) => match radix.step(byte) {
                Some(radix) => Python::Radix(radix),
                None => return (i, Some(Token::Malformed(Kind::UnsupportedExpression))),
            },
            (Python::Radix(radix), _) => match radix.value() {
                Some(value) => {
                    self.pen.swap(f, i, &value.to_string(), Meaning::Text(""));
                    return self.end(i);
                }
                None => return unfit,
            },
            (Python::Point, b'0'..=b'9') => Python::Num(Num::Frac),
            (Python::Under(num), b'0'..=b'9') => Python::Num(num),
            (Python::Point | Python::Under(_), _) => return unfit,
            (Python::Num(num), b'_') if num.digits() => {
                f.hold = Some(i);
                self.pen.swap(f, i + 1, "", Meaning::Text(""));
                token = Self::spelled(rules, f.pos(i));
                Python::Under(num)
            }
            (Python::Num(Num::Dot), b'e' | b'E') => {
                self.pen.insert(f, i, "0");
                token = Self::spelled(rules, f.pos(i));
                Python::Num(Num::Exp)
            }
            (Python::Num(Num::Dot), _) => {
                self.pen.insert(f, i, "0");
                self.at = LexerAt::Number(Python::Num(Num::Frac));
                return (i, Self::spelled(rules, f.pos(i)));
            }
            (Python::Num(num), _) if num.ends() => return self.end(i),
            (Python::Num(_), _) => return unfit,
        };
        self.at = LexerAt::Number(next);
        (i + 1, token)
    }

    pub(super) fn open_word<E: Emit>(
        &mut self,
        rules: &Rules<'_>,
        f: &mut Feed<'_, E>,
        i: usize,
        byte: u8,
    ) -> Took {
        let Some(which) = WORDS.iter().position(|(word, ..)| word[0] == byte) else {
            return (i, Some(Self::unfit(rules, byte)));
        };
        self.at = LexerAt::Word {
            which: which as u8,
            len: 1,
        };
        if which < JSON_WORDS {
            return (i + 1, None);
        }
        f.hold = Some(i);
        self.pen
            .swap(f, i + 1, &WORDS[which].1[..1], Meaning::Text(""));
        (i + 1, Self::spelled(rules, f.pos(i)))
    }

    pub(super) fn word<E: Emit>(
        &mut self,
        rules: &Rules<'_>,
        f: &mut Feed<'_, E>,
        i: usize,
        byte: u8,
        which: u8,
        len: u8,
    ) -> Took {
        let (word, json, _) = WORDS[usize::from(which) % WORDS.len()];
        let n = usize::from(len);
        if n == word.len() {
            return self.end(i);
        }
        if word.get(n) != Some(&byte) {
            return (i, Some(Self::unfit(rules, byte)));
        }
        if word[n] != json.as_bytes()[n] {
            f.hold = Some(i);
            self.pen.swap(f, i + 1, &json[n..=n], Meaning::Text(""));
        }
        let whole = n + 1 == word.len();
        let syntax = rules.syntax;
        let foreign = usize::from(which) < JSON_WORDS && syntax.python && !syntax.json_words;
        if whole && !foreign {
            return self.end(i + 1);
        }
        self.at = LexerAt::Word {
            which,
            len: len + 1,
        };
        // In Python a JSON word may have been the beginning of a name or a string prefix.
        let at = (f.pos(i) + 1).saturating_sub(word.len() as u64);
        let repaired = Token::Repaired(Kind::RepairedLiteral, at);
        (i + 1, (whole && foreign).then_some(repaired))
    }

    pub(super) fn open_bare<E: Emit>(
        &mut self,
        rules: &Rules<'_>,
        f: &mut Feed<'_, E>,
        i: usize,
        byte: u8,
    ) -> Took {
        let word = WORDS.iter().position(|(word, ..)| word[0] == byte);
        let literal = match (word, Num::begin(byte)) {
            _ if std::mem::take(&mut self.force) => None,
            (Some(which), _) => Some(Literal::Word {
                which: which as u8,
                len: 1,
            }),
            (None, Some(num)) => Some(Literal::Number(num)),
            (None, None) => None,
        };
        match literal {
            Some(literal) => {
                f.hold = Some(i);
                self.at = LexerAt::Literal(literal);
                (i + 1, None)
            }
            None => {
                self.pen.insert(f, i, "\"");
                // It may begin with the rest of a delimiter.
                let (which, len) = rules.torn_mark(byte);
                let key = InText::Other;
                self.at = LexerAt::BareText { which, len, key };
                (i, None)
            }
        }
    }

    pub(super) fn literal<E: Emit>(
        &mut self,
        f: &mut Feed<'_, E>,
        i: usize,
        byte: u8,
        literal: Literal,
    ) -> Took {
        let word = |which: u8| WORDS[usize::from(which) % WORDS.len()].0;
        let whole = match literal {
            Literal::Number(num) => num.ends(),
            Literal::Word { which, len } => word(which).len() == usize::from(len),
            Literal::Blank(_) => true,
            Literal::Swapped => return self.end(i),
        };
        let spelled = match literal {
            Literal::Word { which, .. } | Literal::Blank(Some(which)) => Some(which),
            Literal::Number(_) | Literal::Blank(None) | Literal::Swapped => None,
        };
        if whole && matches!(byte, b',' | b'}' | b']') {
            let foreign = spelled.filter(|which| usize::from(*which) >= JSON_WORDS);
            let Some(which) = foreign else {
                self.pen.keep(f, i, Meaning::Text(""));
                return self.end(i);
            };
            let at = self.pen.held_at(f).unwrap_or(f.pos(i));
            let json = WORDS[usize::from(which) % WORDS.len()].1;
            self.pen.swap(f, i, json, Meaning::Text(""));
            self.at = LexerAt::Literal(Literal::Swapped);
            return (i, Some(Token::Repaired(Kind::RepairedLiteral, at)));
        }
        let next = match literal {
            _ if whole && is_blank(byte) => Some(Literal::Blank(spelled)),
            Literal::Number(num) => num.step(byte).map(Literal::Number),
            Literal::Word { which, len } if word(which).get(usize::from(len)) == Some(&byte) => {
                Some(Literal::Word {
                    which,
                    len: len + 1,
                })
            }
            Literal::Word { .. } | Literal::Blank(_) | Literal::Swapped => None,
        };
        if let Some(next) = next {
            self.at = LexerAt::Literal(next);
            return (i + 1, None);
        }
        // It is not a literal but a string.
        self.spell(f, i, "\"", 0);
        let blank = matches!(literal, Literal::Blank(_));
        let key = if blank { InText::Blank } else { InText::Other };
        self.at = LexerAt::BareText {
            which: 0,
            len: 0,
            key,
        };
        (i, None)
    }

    /// In a string without quotes. A marker in it leaves doubts: the text around it may be two values. So does a key, which no
    /// comma may precede.
    pub(super) fn bare_text<E: Emit>(
        &mut self,
        rules: &Rules<'_>,
        f: &mut Feed<'_, E>,
        i: usize,
        (which, len): (u8, u8),
        key: InText,
    ) -> Took {
        let byte = f.src[i];
        let colon = f.pos(i).saturating_sub(1);
        let keyed = |is: bool| is.then_some(Token::Repaired(Kind::UnclosedValue, colon));
        match byte {
            b',' | b'}' | b']' => {
                if rules.tears_mark((which, len), byte) {
                    let key = InText::Other;
                    self.at = LexerAt::BareText {
                        which: 0,
                        len: 0,
                        key,
                    };
                    return (i, Some(Token::Repaired(Kind::BareQuote, f.pos(i))));
                }
                self.pen.swap(f, i, "\"", Meaning::Text(""));
                return self.end_string(f, i, false);
            }
            _ if is_blank(byte) => {
                let doubt = keyed(key == InText::Colon);
                f.hold = f.hold.or(Some(i));
                let key = InText::Blank;
                self.at = LexerAt::BareText {
                    which: 0,
                    len: 0,
                    key,
                };
                return (i + 1, doubt);
            }
            _ => {}
        }
        let keyed = keyed(key == InText::Colon && byte != b'/');
        let torn = rules.tears_mark((which, len), byte);
        let (which, len) = rules.bare_mark(which, len, byte);
        let mark = rules.whole_mark(which, len);
        if mark == Some(BareMark::Closer) {
            // The closer's last byte is left for what reads the rest of a broken call.
            return (i, Some(Self::unfit(rules, byte)));
        }
        // The next line may not be part of it.
        let mut over = false;
        if f.hold.is_some() {
            over = self
                .pen
                .held(f, i)
                .iter()
                .any(|b| matches!(b, b'\n' | b'\r'));
            self.spell(f, i, "", 0);
        }
        if byte < 0x20 || byte == b'"' || byte == b'\\' {
            self.written(f, i, byte);
        }
        let doubt = match mark {
            Some(BareMark::Delimiter) => Some(Kind::BareQuote),
            Some(BareMark::Opener) => Some(Kind::BareMarkup),
            Some(BareMark::Closer) | None => torn.then_some(Kind::BareQuote),
        };
        let at = (f.pos(i) + 1).saturating_sub(u64::from(len.max(1)));
        let doubt = doubt.map(|kind| Token::Repaired(kind, at));
        let line = over.then(|| Token::Repaired(Kind::UnclosedValue, f.pos(i)));
        self.at = LexerAt::BareText {
            which,
            len: if mark.is_some() { 0 } else { len },
            key: key.next(byte),
        };
        (i + 1, doubt.or(line).or(keyed))
    }

    /// Emits the bytes on hold before `i`, but for the first `skip`, as string content, after `open`.
    pub(super) fn spell<E: Emit>(
        &mut self,
        f: &mut Feed<'_, E>,
        i: usize,
        open: &str,
        skip: usize,
    ) {
        let held = self.pen.held(f, i);
        let bytes = held.get(skip..).unwrap_or_default();
        let (bytes, begun) = bytes.split_at(bytes.len() - begun_character(bytes));
        let text = lossy(bytes);
        let mut json = String::from(open);
        json::escape(&text, |piece| json.push_str(piece));
        self.pen.swap_but(f, i, &json, Meaning::Text(&text), begun);
        if !begun.is_empty() {
            self.pen.go_on(f, i);
        }
    }
}

/// The length of the character that `bytes` end in before it is complete.
fn begun_character(bytes: &[u8]) -> usize {
    if bytes.last().is_none_or(u8::is_ascii) {
        return 0;
    }
    let last = bytes.utf8_chunks().last();
    let begun = last.map_or(&[][..], |chunk| chunk.invalid());
    match std::str::from_utf8(begun) {
        Err(error) if error.error_len().is_none() => begun.len(),
        _ => 0,
    }
}
