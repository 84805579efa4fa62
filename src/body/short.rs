//! The fast path inside a value.
//!
//! Most chunks of an argument are bytes of one string that are delivered unchanged and only advance the stream. A body inside
//! such a string offers a [`Short`]: what the bytes are for, and which bytes may have a meaning. Bytes before those bypass the
//! body, if they are the whole chunk or many.

use toolglot_scan::{json, kinds, valid_prefix};

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

const LESS_OR_AMPERSAND: u8 = LESS | AMPERSAND;
const LESS_OR_LINE: u8 = LESS | LINE;

/// Whether a byte is of one of these kinds.
fn is_of(byte: u8, kinds: u8) -> bool {
    KINDS[usize::from(byte)] & kinds != 0
}

/// The form of the open value's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The inside of a JSON string that ends at this quotation mark. Its escapes are delivered unchanged.
    Quoted(u8),
    /// The same after a backslash, which waits for its letter.
    Escape(u8),
    /// Text between delimiters, which is the inside of a JSON string once it is escaped.
    Delimited,
    /// Text.
    Text,
    /// Text after this byte, which is held back, because what has a meaning may begin with it.
    Held(u8),
    /// Bytes of a parameter whose argument is written when it ends.
    Late,
}

/// What bypasses the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken<'c> {
    pub text: &'c str,
    /// It ends with a backslash whose letter is still to come.
    backslash: bool,
}

/// A chunk of text that bypasses the body whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Marked<'c> {
    /// A byte before it, which was held back.
    pub before: Option<u8>,
    pub text: &'c str,
    /// A byte after it, which is held back.
    pub holds: Option<u8>,
}

/// Chunks of fewer bytes bypass the body only if they do so whole.
const LONG: usize = 64;
/// Fewer bytes are not worth a search.
const FEW: usize = 32;
/// Of text from this length on every byte that may have a meaning stops a value.
const MANY: usize = 1024;

/// An open value whose next bytes are delivered unchanged, up to one that stops it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Short {
    call: u32,
    form: Form,
    /// The kinds of bytes that may have a meaning.
    stops: u8,
    /// The bytes before which they may have one, as [`Short::second`] marks them.
    seconds: u64,
    /// The offset at which the value must end.
    until: u64,
    /// Whether the block's bytes are retained.
    pub retained: bool,
}

impl Short {
    /// The inside of a JSON string between these quotation marks, which may extend to `until`.
    pub fn quoted(call: u32, until: u64, quote: u8) -> Option<Self> {
        let short = Self {
            form: Form::Quoted(quote),
            stops: ESCAPED,
            ..Self::text(call, until)
        };
        match quote {
            // JSON escapes it.
            b'"' => Some(short),
            _ => short.stops_at(quote),
        }
    }

    /// Text of a call between delimiters, which may extend to `until`.
    pub fn delimited(call: u32, until: u64) -> Self {
        Self {
            form: Form::Delimited,
            ..Self::text(call, until)
        }
    }

    /// Text of a call, which may extend to `until`.
    pub fn text(call: u32, until: u64) -> Self {
        Self {
            call,
            form: Form::Text,
            stops: 0,
            seconds: u64::MAX,
            until,
            retained: false,
        }
    }

    /// Bytes of a parameter that may extend to `until` and whose argument is written when it ends.
    pub fn late(until: u64) -> Self {
        Self {
            form: Form::Late,
            ..Self::text(0, until)
        }
    }

    /// The same string after a backslash.
    pub fn after_backslash(self) -> Self {
        let form = match self.form {
            Form::Quoted(quote) => Form::Escape(quote),
            form => form,
        };
        Self { form, ..self }
    }

    /// The same text after a byte that is held back.
    pub fn after_held(self, byte: u8) -> Option<Self> {
        let form = Form::Held(byte);
        (self.form == Form::Text && byte.is_ascii()).then_some(Self { form, ..self })
    }

    /// Whether it is the inside of a JSON string as it is written.
    #[inline]
    pub fn is_quoted(&self) -> bool {
        matches!(self.form, Form::Quoted(_) | Form::Escape(_))
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

    /// A mark for a byte, which some others share.
    pub const fn second(byte: u8) -> u64 {
        1 << (byte & 63)
    }

    /// Bytes other than `&` have a meaning only before one of those that are marked in `seconds`, as far as it has come. What follows
    /// the last byte of a chunk is not known.
    pub fn only_before(self, seconds: u64) -> Self {
        Self { seconds, ..self }
    }

    /// Limits the value to `end` as well.
    pub fn until(mut self, end: u64) -> Self {
        self.until = self.until.min(end);
        self
    }

    /// A chunk that bypasses the body whole and is delivered as it is, as far as a look at each byte shows. It is at `start`.
    #[inline]
    pub fn takes_plain<'c>(&self, chunk: &'c [u8], start: u64) -> Option<&'c str> {
        let whole = match self.form {
            Form::Quoted(_) | Form::Delimited | Form::Text => true,
            Form::Escape(_) | Form::Held(_) | Form::Late => false,
        };
        if !whole || start.saturating_add(chunk.len() as u64) > self.until {
            return None;
        }
        let (kinds, text) = kinds(chunk, &KINDS);
        text.filter(|_| kinds & (self.stops | ESCAPED) == 0)
    }

    /// Whether a chunk is short enough to look at each byte.
    #[inline]
    pub fn is_few(chunk: &[u8]) -> bool {
        chunk.len().wrapping_sub(1) < LONG - 1
    }

    /// Whether text that was taken is delivered in one piece, as it is.
    pub fn is_whole(&self, taken: Taken<'_>) -> bool {
        matches!(self.form, Form::Quoted(_)) && !taken.backslash
    }

    /// The beginning of the chunk that bypasses the body, if there is one, in a string as it is written. The chunk is at `start`.
    #[inline]
    pub fn takes_quoted<'c>(&self, chunk: &'c [u8], start: u64) -> Option<Taken<'c>> {
        let to = match (self.form, chunk) {
            (Form::Quoted(quote), _) => json::verbatim(chunk, quote),
            (Form::Escape(quote), [letter, rest @ ..]) if json::is_simple(*letter) => {
                1 + json::verbatim(rest, quote)
            }
            _ => 0,
        };
        let backslash = chunk[to..] == *b"\\";
        let to = to + usize::from(backslash);
        let text = self.taken(chunk, to, start)?;
        Some(Taken {
            text,
            backslash: backslash && text.len() == chunk.len(),
        })
    }

    /// The same in text that is escaped.
    #[inline]
    pub fn takes_text<'c>(&self, chunk: &'c [u8], start: u64) -> Option<&'c str> {
        match self.form {
            Form::Held(_) => None,
            _ => self.taken(chunk, self.before_stop(chunk), start),
        }
    }

    /// The same in text where bytes at the end of a chunk are held back: all of the chunk, if nothing in it has a meaning, with the
    /// byte that is held back before it.
    pub fn takes_marks<'c>(&self, chunk: &'c [u8], start: u64) -> Option<Marked<'c>> {
        if self.seconds == u64::MAX {
            return None;
        }
        let (first, last) = (*chunk.first()?, *chunk.last()?);
        let before = match self.form {
            Form::Held(byte) => Some(byte),
            Form::Text => None,
            Form::Quoted(_) | Form::Escape(_) | Form::Delimited | Form::Late => return None,
        };
        let stop = self.before_stop(chunk);
        let holds = stop + 1 == chunk.len() && last != b'&';
        let line = |byte| is_of(byte, LINE & self.stops);
        if last == b'\r' && line(last) {
            // Whether it ends a line depends on more than what is known here.
            return None;
        }
        let goes_on = |byte| Self::second(first) & self.seconds != 0 || line(byte) && line(first);
        // Two bytes are not held back.
        let two = |byte| line(byte) && holds && chunk.len() == 1;
        if before.is_some_and(|byte| goes_on(byte) || two(byte)) {
            return None;
        }
        let text = valid_prefix(&chunk[..stop]);
        let whole = text.len() + usize::from(holds) == chunk.len();
        let fits = start.saturating_add(chunk.len() as u64) <= self.until;
        let holds = holds.then_some(last);
        (whole && fits).then_some(Marked {
            before,
            text,
            holds,
        })
    }

    /// The text after bytes that were taken.
    pub fn holding(self, byte: Option<u8>) -> Self {
        let form = byte.map_or(Form::Text, Form::Held);
        Self { form, ..self }
    }

    /// The whole characters before `to`, if they are the chunk or many.
    #[inline]
    fn taken<'c>(&self, chunk: &'c [u8], to: usize, start: u64) -> Option<&'c str> {
        let len = chunk.len();
        let text = valid_prefix(&chunk[..to]);
        let fits = start.saturating_add(len as u64) <= self.until;
        (fits && text.len() >= len.min(LONG)).then_some(text)
    }

    /// The length of the prefix of which no byte stops the value.
    fn before_stop(&self, chunk: &[u8]) -> usize {
        let stops = self.stops;
        let few = chunk.len() < FEW;
        let seconds = match chunk.len() {
            // Of so much text the body makes a table of what counts.
            MANY.. if self.form == Form::Text => u64::MAX,
            _ => self.seconds,
        };
        let mut at = 0;
        loop {
            let rest = &chunk[at..];
            let found = match stops {
                _ if few => rest.iter().position(|byte| is_of(*byte, stops)),
                LESS => memchr::memchr(b'<', rest),
                BRACKET => memchr::memchr(b']', rest),
                LESS_OR_AMPERSAND => memchr::memchr2(b'<', b'&', rest),
                LESS_OR_LINE => memchr::memchr3(b'<', b'\n', b'\r', rest),
                _ => rest.iter().position(|byte| is_of(*byte, stops)),
            };
            let Some(found) = found else {
                return chunk.len();
            };
            at += found;
            if seconds == u64::MAX {
                return at;
            }
            // What follows an `&` may be an entity, whatever else has a meaning.
            match chunk.get(at + 1) {
                Some(_) if chunk[at] == b'&' => break,
                Some(second) if Self::second(*second) & seconds == 0 => at += 1,
                _ => break,
            }
        }
        // If lines have a meaning, the end of one may belong to what follows it.
        while at > 0 && is_of(chunk[at - 1], LINE & stops) {
            at -= 1;
        }
        at
    }

    /// How many bytes at the beginning of the chunk bypass the body, which keeps them. The chunk is at `start`.
    #[inline]
    pub fn takes_late(&self, chunk: &[u8], start: u64) -> usize {
        let len = chunk.len();
        if start.saturating_add(len as u64) > self.until {
            return 0;
        }
        let kind = |byte: &u8| KINDS[usize::from(*byte)];
        if len < FEW && chunk.iter().fold(0, |all, byte| all | kind(byte)) & self.stops == 0 {
            return len;
        }
        let to = self.before_stop(chunk);
        if to == len || to >= LONG { to } else { 0 }
    }

    /// What to tell the body's lexer about bytes that were taken up to `end`, if anything: where a backslash waits for its
    /// letter, or that none does any more.
    pub fn tells(&self, taken: Taken<'_>, end: u64) -> Option<Option<u64>> {
        let changes = taken.backslash || matches!(self.form, Form::Escape(_));
        changes.then(|| taken.backslash.then(|| end - 1))
    }

    /// The value after bytes that were taken.
    pub fn after(self, taken: Taken<'_>) -> Self {
        let form = match self.form {
            Form::Quoted(quote) | Form::Escape(quote) if taken.backslash => Form::Escape(quote),
            Form::Escape(quote) => Form::Quoted(quote),
            form => form,
        };
        Self { form, ..self }
    }

    /// Delivers text that is neither escaped nor ends with a backslash; `hears` gets the pieces of arguments.
    #[inline]
    pub fn deliver_plain<S: Sink + ?Sized>(
        &self,
        text: &str,
        span: Span,
        sink: &mut S,
        hears: impl FnOnce(&str),
    ) {
        hears(text);
        let param = Event::ParamDelta {
            data: text.as_bytes(),
            span,
        };
        let arg = Event::ArgDelta {
            call: self.call,
            json: text,
            span,
        };
        // In the order in which the body would.
        match self.form {
            Form::Quoted(_) | Form::Escape(_) | Form::Delimited => {
                sink.event(arg);
                sink.event(param);
            }
            Form::Text | Form::Held(_) | Form::Late => {
                sink.event(param);
                sink.event(arg);
            }
        }
    }

    /// Delivers what was taken of a string as it is written, in the order in which the body would; `hears` gets the pieces of
    /// arguments.
    #[inline]
    pub fn deliver_quoted(
        &self,
        Taken { text, backslash }: Taken<'_>,
        span: Span,
        sink: &mut dyn Sink,
        mut hears: impl FnMut(&str),
    ) {
        let call = self.call;
        if let Form::Escape(_) = self.form {
            let (json, span) = ("\\", Span::new(span.start.saturating_sub(1), span.start));
            hears(json);
            sink.event(Event::ArgDelta { call, json, span });
        }
        let wait = usize::from(backslash);
        let json = &text[..text.len() - wait];
        if !json.is_empty() {
            hears(json);
            let span = Span::new(span.start, span.end - wait as u64);
            sink.event(Event::ArgDelta { call, json, span });
        }
        let data = text.as_bytes();
        sink.event(Event::ParamDelta { data, span });
    }

    /// The same for text that is escaped.
    pub fn deliver_text(
        &self,
        text: &str,
        span: Span,
        sink: &mut dyn Sink,
        mut hears: impl FnMut(&str),
    ) {
        let call = self.call;
        let param = Event::ParamDelta {
            data: text.as_bytes(),
            span,
        };
        let late = self.form == Form::Delimited;
        if !late {
            sink.event(param);
        }
        json::escape_joined(text, |json, _| {
            hears(json);
            sink.event(Event::ArgDelta { call, json, span });
        });
        if late {
            sink.event(param);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(short: Short, chunk: &[u8], start: u64) -> Option<&str> {
        match short.is_quoted() {
            true => short.takes_quoted(chunk, start).map(|taken| taken.text),
            false => short.takes_text(chunk, start),
        }
    }

    fn stopped(short: Short, byte: u8) -> Short {
        short.stops_at(byte).expect("a kind exists")
    }

    #[test]
    fn only_bytes_without_a_meaning_are_taken() {
        let json = Short::quoted(0, 10, b'"').expect("a kind exists");
        assert_eq!(takes(json, b"a'<&", 6), Some("a'<&"));
        assert_eq!(takes(json, "中".as_bytes(), 0), Some("中"));
        assert_eq!(takes(json, br#"\n\""#, 0), Some(r#"\n\""#));
        for chunk in [
            &b"a\""[..],
            br"\u",
            br"\/",
            b"\n",
            b"\0",
            b"\xE4",
            b"\xE4\\",
        ] {
            assert_eq!(takes(json, chunk, 0), None, "{chunk:?}");
        }
        assert_eq!(takes(json, b"a", 10), None);
        let single = Short::quoted(0, 10, b'\'').expect("a kind exists");
        assert_eq!(takes(single, b"it's", 0), None);
        let delimited = stopped(Short::delimited(0, 10), b'<');
        assert_eq!(takes(delimited, b"\\\n\"", 0), Some("\\\n\""));
        let text = stopped(Short::text(0, 10), b'<');
        assert_eq!(takes(text, b"\"\n&", 0), Some("\"\n&"));
        assert_eq!(takes(text, b"a<", 0), None);
        assert_eq!(text.stops_at(b'x'), None);
        let late = stopped(Short::late(10), b'"');
        assert_eq!(late.takes_late(b"\n\\&", 0), 3);
        assert_eq!(late.takes_late(b"\n\\&", 8), 0);
        assert_eq!(late.takes_late(b"a\"", 0), 0);
        // A part of a character.
        assert_eq!(late.takes_late(b"\xE4", 0), 1);
        let late = stopped(late, "「".as_bytes()[0]);
        assert_eq!(late.takes_late("中」".as_bytes(), 0), 0);
        assert_eq!(late.takes_late("中".as_bytes(), 0), 3);
    }

    #[test]
    fn an_escape_may_be_in_two_chunks() {
        let json = Short::quoted(0, 10, b'"').expect("a kind exists");
        let after = json.after_backslash();
        for (short, chunk, backslash) in [
            (json, "a\\", true),
            (json, "a\\\\", false),
            (json, "\\\\\\", true),
            (after, "n", false),
            (after, "\\", false),
            (after, "\"\\", true),
            (after, "n\\n\\\\", false),
        ] {
            let taken = short.takes_quoted(chunk.as_bytes(), 0);
            let text = chunk;
            assert_eq!(taken, Some(Taken { text, backslash }), "{chunk}");
            let next = if backslash { after } else { json };
            assert_eq!(taken.map(|taken| short.after(taken)), Some(next));
        }
        for chunk in ["u", "/", "n\"", "\n", "é"] {
            assert_eq!(takes(after, chunk.as_bytes(), 0), None, "{chunk}");
        }
        assert_eq!(after.takes_plain(b"n", 0), None);
    }

    #[test]
    fn a_byte_counts_only_before_what_gives_it_a_meaning() {
        let seconds = Short::second(b'/');
        let text = stopped(Short::text(0, 2000), b'<').only_before(seconds);
        let lines = stopped(text, b'\n');
        for short in [text, lines] {
            for chunk in ["a < b", "<<a", "<T>\n "] {
                assert_eq!(takes(short, chunk.as_bytes(), 0), Some(chunk));
            }
            for chunk in ["a<", "</", "a</b"] {
                assert_eq!(takes(short, chunk.as_bytes(), 0), None);
            }
        }
        let entities = stopped(text, b'&');
        assert_eq!(takes(entities, b"a&lt;", 0), None);
        assert_eq!(takes(text, b"a\n", 0), Some("a\n"));
        // A newline at the end may be framing, and one before what stops the value, too.
        assert_eq!(takes(lines, b"a\n", 0), None);
        assert_eq!(takes(lines, b"a\r", 0), None);
        let begin = "if a < b\n".repeat(12);
        let long = format!("{begin}end\r\n</");
        let cut = &long[..begin.len() + 3];
        assert_eq!(takes(lines, long.as_bytes(), 0), Some(cut));
        let until = &long[..begin.len() + 5];
        assert_eq!(takes(text, long.as_bytes(), 0), Some(until));
    }

    #[test]
    fn a_byte_at_the_end_of_a_chunk_may_be_held_back() {
        let text = stopped(Short::text(0, 10), b'<').only_before(Short::second(b'/'));
        let lines = stopped(text, b'\n');
        for (short, before, chunk, taken) in [
            (text, None, "a<", Some(("a", Some(b'<')))),
            (text, None, "<", Some(("", Some(b'<')))),
            (text, None, "a</", None),
            (text, Some(b'<'), " b", Some((" b", None))),
            (text, Some(b'<'), "<", Some(("", Some(b'<')))),
            (text, Some(b'<'), "T><", Some(("T>", Some(b'<')))),
            (text, Some(b'<'), "/a", None),
            (text, Some(b'<'), "0123456789", Some(("0123456789", None))),
            (text, Some(b'<'), "0123456789<", None),
            (lines, None, "a\n", Some(("a", Some(b'\n')))),
            (lines, None, "a\r\n", None),
            (lines, Some(b'\n'), "x\r", None),
            (lines, None, "\r", None),
            (lines, Some(b'\n'), "\nx", None),
            (lines, Some(b'\r'), "\n", None),
            (lines, Some(b'\n'), "<", None),
            (lines, Some(b'<'), "\n", Some(("", Some(b'\n')))),
            (stopped(text, b'&'), None, "a&", None),
        ] {
            let short = before.map_or(Some(short), |byte| short.after_held(byte));
            let short = short.expect("it is text");
            let found = short.takes_marks(chunk.as_bytes(), 0);
            let taken = taken.map(|(text, holds)| Marked {
                before,
                text,
                holds,
            });
            assert_eq!(found, taken, "{before:?} {chunk:?}");
        }
        let unknown = stopped(Short::text(0, 10), b'<');
        assert_eq!(unknown.takes_marks(b"a<", 0), None);
    }

    #[test]
    fn long_chunks_are_taken_up_to_what_has_a_meaning() {
        let begin = "one line\\n".repeat(12);
        let json = Short::quoted(0, 1000, b'"').expect("a kind exists");
        let text = stopped(Short::text(0, 1000), b'<');
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
