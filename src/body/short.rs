//! The fast path inside a value.
//!
//! Most chunks of an argument are a few bytes of one string that are delivered unchanged and only advance the stream. A body
//! inside such a string offers a [`Short`]: what the bytes are for, and which bytes may have a meaning. Chunks without such
//! bytes bypass the body.

use toolglot_scan::json;

use crate::event::{Event, Sink, Span};

/// Bytes that JSON escapes.
const ESCAPED: u8 = 1;
/// Other bytes that may have a meaning, one bit for each kind.
const SINGLE: u8 = 2;
const LESS: u8 = 4;
const AMPERSAND: u8 = 8;
const LINE: u8 = 16;
const BRACKET: u8 = 32;

/// The kinds of each byte.
const KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut byte = 0;
    while byte < 0x20 {
        kinds[byte] = ESCAPED;
        byte += 1;
    }
    kinds[b'"' as usize] = ESCAPED;
    kinds[b'\\' as usize] = ESCAPED;
    kinds[b'\'' as usize] = SINGLE;
    kinds[b'<' as usize] = LESS;
    kinds[b'&' as usize] = AMPERSAND;
    kinds[b'\n' as usize] |= LINE;
    kinds[b'\r' as usize] |= LINE;
    kinds[b']' as usize] = BRACKET;
    kinds
};

/// The form of the open value's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The inside of a JSON string.
    Json,
    /// Text.
    Text,
}

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
    /// The inside of a JSON string of a call, which may extend to `until`.
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

    /// Lets the byte stop the value; returns `None` if there is no kind for it.
    pub fn stops_at(mut self, byte: u8) -> Option<Self> {
        let kind = match byte {
            b'\n' | b'\r' => LINE,
            _ => KINDS[usize::from(byte)],
        };
        self.stops |= kind;
        (kind != 0).then_some(self)
    }

    /// Limits the value to `end` as well.
    pub fn until(mut self, end: u64) -> Self {
        self.until = self.until.min(end);
        self
    }

    /// The chunk as text, if no byte in it may have a meaning and its end, at `end`, is within the limit.
    pub fn takes<'c>(&self, chunk: &'c [u8], end: u64) -> Option<&'c str> {
        let kinds = chunk.iter().map(|byte| KINDS[usize::from(*byte)]);
        let all = kinds.fold(0, |all, kind| all | kind);
        if all & self.stops != 0 || end > self.until {
            return None;
        }
        std::str::from_utf8(chunk).ok()
    }

    /// Delivers an accepted chunk, in the order in which the body would; `hears` gets the pieces of arguments.
    pub fn deliver(
        &self,
        text: &str,
        span: Span,
        sink: &mut dyn Sink,
        mut hears: impl FnMut(&str),
    ) {
        let call = self.call;
        let data = text.as_bytes();
        match self.form {
            Form::Json => {
                let json = text;
                hears(json);
                sink.event(Event::ArgDelta { call, json, span });
                sink.event(Event::ParamDelta { data, span });
            }
            Form::Text => {
                sink.event(Event::ParamDelta { data, span });
                let plain = |byte: &u8| KINDS[usize::from(*byte)] & ESCAPED == 0;
                if data.iter().all(plain) {
                    let json = text;
                    hears(json);
                    return sink.event(Event::ArgDelta { call, json, span });
                }
                json::escape(text, |json| {
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

    #[test]
    fn only_bytes_without_a_meaning_are_accepted() {
        let json = Short::json(0, 10);
        assert_eq!(json.takes(b"a'<&", 10), Some("a'<&"));
        assert_eq!(json.takes("中".as_bytes(), 3), Some("中"));
        for chunk in [&b"a\""[..], b"\\n", b"\n", b"\0", b"\xE4"] {
            assert_eq!(json.takes(chunk, 4), None, "{chunk:?}");
        }
        assert_eq!(json.takes(b"a", 11), None);
        let single = json.stops_at(b'\'').expect("a kind exists");
        assert_eq!(single.takes(b"it's", 4), None);
        let text = Short::text(0, 10).stops_at(b'<').expect("a kind exists");
        assert_eq!(text.takes(b"\"\n&", 4), Some("\"\n&"));
        assert_eq!(text.takes(b"a<", 4), None);
        assert_eq!(text.stops_at(b'x'), None);
    }
}
