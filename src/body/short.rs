//! The fast path inside a value.
//!
//! Most chunks of an argument are bytes of one string that are delivered unchanged and only advance the stream. A body inside
//! such a string offers a [`Short`]: what the bytes are for, and which bytes may have a meaning. Bytes before those bypass the
//! body, if they are the whole chunk or many.

use toolglot_scan::{json, valid_prefix};

use crate::event::{Event, Sink, Span};

/// Bytes that JSON escapes.
const ESCAPED: u8 = 1;
/// Other bytes that may have a meaning, one bit for each kind.
const SINGLE: u8 = 2;
const LESS: u8 = 4;
const AMPERSAND: u8 = 8;
const LINE: u8 = 16;
const BRACKET: u8 = 32;
const DOUBLE: u8 = 64;
/// The first byte of corner brackets in UTF-8.
const CORNER: u8 = 128;

/// The kinds of each byte.
const KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut byte = 0;
    while byte < 0x20 {
        kinds[byte] = ESCAPED;
        byte += 1;
    }
    kinds[b'"' as usize] = ESCAPED | DOUBLE;
    kinds[b'\\' as usize] = ESCAPED;
    kinds[b'\'' as usize] = SINGLE;
    kinds[b'<' as usize] = LESS;
    kinds[b'&' as usize] = AMPERSAND;
    kinds[b'\n' as usize] |= LINE;
    kinds[b'\r' as usize] |= LINE;
    kinds[b']' as usize] = BRACKET;
    kinds["「".as_bytes()[0] as usize] = CORNER;
    kinds
};

/// The form of the open value's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The inside of a JSON string that ends at this quotation mark. Its escapes are delivered unchanged.
    Quoted(u8),
    /// The inside of a JSON string in which a backslash means itself.
    Json,
    /// Text.
    Text,
    /// Bytes of a parameter whose argument is written when it ends.
    Late,
}

/// What bypasses the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken<'c> {
    pub text: &'c str,
    /// No byte of it is escaped in JSON, as far as was looked.
    plain: bool,
}

impl Taken<'_> {
    /// Whether it is delivered in one piece, as it is.
    #[inline]
    pub fn is_whole(&self, short: &Short) -> bool {
        self.plain || short.form != Form::Text
    }
}

/// Chunks of fewer bytes bypass the body only if they do so whole.
const LONG: usize = 64;

/// An open value whose next bytes are delivered unchanged, up to one that stops it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Short {
    call: u32,
    form: Form,
    /// The kinds of bytes that may have a meaning.
    stops: u8,
    /// The offset at which the value must end.
    until: u64,
    /// Whether the block's bytes are retained.
    pub retained: bool,
}

impl Short {
    /// The inside of a JSON string between these quotation marks, which may extend to `until`.
    pub fn quoted(call: u32, until: u64, quote: u8) -> Option<Self> {
        let form = Form::Quoted(quote);
        let short = Self::json(call, until);
        let short = match quote {
            // JSON escapes it.
            b'"' => short,
            _ => short.stops_at(quote)?,
        };
        Some(Self { form, ..short })
    }

    /// Text of a call that is the inside of a JSON string, if no byte of it is escaped, and may extend to `until`.
    pub fn json(call: u32, until: u64) -> Self {
        Self {
            call,
            form: Form::Json,
            stops: ESCAPED,
            until,
            retained: false,
        }
    }

    /// Text of a call, which may extend to `until`.
    pub fn text(call: u32, until: u64) -> Self {
        Self {
            form: Form::Text,
            stops: 0,
            ..Self::json(call, until)
        }
    }

    /// Bytes of a parameter that may extend to `until` and whose argument is written when it ends.
    pub fn late(until: u64) -> Self {
        Self {
            form: Form::Late,
            ..Self::text(0, until)
        }
    }

    /// Whether the body keeps what bypasses it.
    pub fn is_late(&self) -> bool {
        self.form == Form::Late
    }

    /// Lets the byte stop the value; returns `None` if there is no kind for it.
    pub fn stops_at(mut self, byte: u8) -> Option<Self> {
        let kind = match KINDS[usize::from(byte)] {
            ESCAPED => ESCAPED,
            kinds => kinds & !ESCAPED,
        };
        self.stops |= kind;
        (kind != 0).then_some(self)
    }

    /// Limits the value to `end` as well.
    pub fn until(mut self, end: u64) -> Self {
        self.until = self.until.min(end);
        self
    }

    /// The beginning of the chunk that bypasses the body, if there is one. The chunk is at `start`.
    #[inline]
    pub fn takes<'c>(&self, chunk: &'c [u8], start: u64) -> Option<Taken<'c>> {
        let len = chunk.len();
        let kind = |byte: &u8| KINDS[usize::from(*byte)];
        if start.saturating_add(len as u64) > self.until {
            return None;
        }
        if len < LONG {
            let all = chunk.iter().fold(0, |all, byte| all | kind(byte));
            let whole = match (all & self.stops, self.form) {
                (0, _) => true,
                (ESCAPED, Form::Quoted(quote)) => json::verbatim(chunk, quote) == len,
                _ => false,
            };
            let text = valid_prefix(if whole { chunk } else { &[] });
            let plain = all & ESCAPED == 0;
            return (text.len() == len).then_some(Taken { text, plain });
        }
        let to = match self.form {
            Form::Quoted(quote) => json::verbatim(chunk, quote),
            Form::Json | Form::Text | Form::Late => self.before_stop(chunk),
        };
        let text = valid_prefix(&chunk[..to]);
        let taken = Taken { text, plain: false };
        (text.len() >= LONG).then_some(taken)
    }

    /// The length of the prefix of which no byte stops the value.
    #[inline]
    fn before_stop(&self, chunk: &[u8]) -> usize {
        let stop = |byte: &u8| KINDS[usize::from(*byte)] & self.stops != 0;
        chunk.iter().position(stop).unwrap_or(chunk.len())
    }

    /// How many bytes at the beginning of the chunk bypass the body, which keeps them. The chunk is at `start`.
    #[inline]
    pub fn takes_late(&self, chunk: &[u8], start: u64) -> usize {
        let len = chunk.len();
        if start.saturating_add(len as u64) > self.until {
            return 0;
        }
        let to = self.before_stop(chunk);
        if to == len || to >= LONG { to } else { 0 }
    }

    /// Delivers what was taken, in the order in which the body would; `hears` gets the pieces of arguments.
    #[inline]
    pub fn deliver<S: Sink + ?Sized>(
        &self,
        Taken { text, plain }: Taken<'_>,
        span: Span,
        sink: &mut S,
        mut hears: impl FnMut(&str),
    ) {
        let call = self.call;
        let data = text.as_bytes();
        match self.form {
            Form::Quoted(_) | Form::Json => {
                let json = text;
                hears(json);
                sink.event(Event::ArgDelta { call, json, span });
                sink.event(Event::ParamDelta { data, span });
            }
            Form::Late => {}
            Form::Text => {
                sink.event(Event::ParamDelta { data, span });
                if plain {
                    let json = text;
                    hears(json);
                    return sink.event(Event::ArgDelta { call, json, span });
                }
                json::escape_joined(text, |json, _| {
                    hears(json);
                    sink.event(Event::ArgDelta { call, json, span });
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(short: Short, chunk: &[u8], start: u64) -> Option<&str> {
        short.takes(chunk, start).map(|taken| taken.text)
    }

    #[test]
    fn only_bytes_without_a_meaning_are_taken() {
        let json = Short::quoted(0, 10, b'"').expect("a kind exists");
        assert_eq!(takes(json, b"a'<&", 6), Some("a'<&"));
        assert_eq!(takes(json, "中".as_bytes(), 0), Some("中"));
        assert_eq!(takes(json, br#"\n\""#, 0), Some(r#"\n\""#));
        for chunk in [&b"a\""[..], b"a\\", br"\u", br"\/", b"\n", b"\0", b"\xE4"] {
            assert_eq!(takes(json, chunk, 0), None, "{chunk:?}");
        }
        assert_eq!(takes(json, b"a", 10), None);
        let single = Short::quoted(0, 10, b'\'').expect("a kind exists");
        assert_eq!(takes(single, b"it's", 0), None);
        let delimited = Short::json(0, 10).stops_at(b'<').expect("a kind exists");
        assert_eq!(takes(delimited, br"\n", 0), None);
        let text = Short::text(0, 10).stops_at(b'<').expect("a kind exists");
        assert_eq!(takes(text, b"\"\n&", 0), Some("\"\n&"));
        assert_eq!(takes(text, b"a<", 0), None);
        assert_eq!(text.stops_at(b'x'), None);
        let late = Short::late(10).stops_at(b'"').expect("a kind exists");
        assert_eq!(late.takes_late(b"\n\\&", 0), 3);
        assert_eq!(late.takes_late(b"\n\\&", 8), 0);
        assert_eq!(late.takes_late(b"a\"", 0), 0);
        // A part of a character.
        assert_eq!(late.takes_late(b"\xE4", 0), 1);
        let late = late.stops_at("「".as_bytes()[0]).expect("a kind exists");
        assert_eq!(late.takes_late("中」".as_bytes(), 0), 0);
        assert_eq!(late.takes_late("中".as_bytes(), 0), 3);
    }

    #[test]
    fn long_chunks_are_taken_up_to_what_has_a_meaning() {
        let begin = "one line\\n".repeat(12);
        let json = Short::quoted(0, 1000, b'"').expect("a kind exists");
        let text = Short::text(0, 1000).stops_at(b'<').expect("a kind exists");
        for end in [&b""[..], b"\"", b"\\u4e2d", b"\xE4\xB8", b"<", b"\xFF"] {
            let chunk = [begin.as_bytes(), end].concat();
            for short in [json, text] {
                let found = takes(short, &chunk, 0).map(|found| &found[..begin.len()]);
                assert_eq!(found, Some(&*begin), "{end:?}");
            }
        }
        assert_eq!(
            takes(json, [b"few \"", begin.as_bytes()].concat().as_slice(), 0),
            None
        );
    }
}
