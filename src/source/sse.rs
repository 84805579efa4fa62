//! Splits server-sent events into the data of each event.
//!
//! Follows the standard: lines end with a newline, a carriage return or both; a line that begins with a colon is a comment;
//! `data` lines of one event are joined by newlines; an empty line ends the event. Names, ids and delays of events are ignored,
//! because no API here needs them, except the name `error`: if the data of that event is not an object, it is the message of an
//! error, and is passed on as an object with that message. Unlike the standard, an event that is truncated by the end of the
//! body is passed on: its reader detects whether its JSON is complete.

use toolglot_scan::lossy;

use super::lines::{Breaks, Line, Lines};

/// A document, or `None` if it was too long, and the line where it begins.
pub(super) type Document<'a> = (u64, Option<&'a [u8]>);

/// Splits events. Buffers one event, up to a limit.
#[derive(Clone, Debug)]
pub(super) struct Sse {
    lines: Lines,
    event: Event,
}

/// The current event.
#[derive(Clone, Debug)]
struct Event {
    max: usize,
    data: Vec<u8>,
    /// The line where its data begins, if it has any.
    line: Option<u64>,
    over: bool,
    /// Its name is `error`.
    error: bool,
}

impl Sse {
    pub fn new(max: usize) -> Self {
        Self {
            lines: Lines::new(Breaks::Any, max),
            event: Event {
                max,
                data: vec![],
                line: None,
                over: false,
                error: false,
            },
        }
    }

    /// The number of the current line.
    pub fn number(&self) -> u64 {
        self.lines.number()
    }

    /// Passes on each event that ends in these bytes.
    pub fn feed(&mut self, bytes: &[u8], take: &mut dyn FnMut(Document<'_>)) {
        let event = &mut self.event;
        self.lines.feed(bytes, |line| event.line(&line, take));
    }

    /// Passes on an event that has no end.
    pub fn end(&mut self, take: &mut dyn FnMut(Document<'_>)) {
        let event = &mut self.event;
        self.lines.end(|line| event.line(&line, take));
        self.event.dispatch(take);
    }
}

impl Event {
    fn line(&mut self, line: &Line<'_>, take: &mut dyn FnMut(Document<'_>)) {
        let Some(text) = line.text else {
            self.line.get_or_insert(line.number);
            self.over = true;
            return;
        };
        // A byte order mark may precede the first line.
        let text = match text.strip_prefix(b"\xef\xbb\xbf") {
            Some(rest) if line.number == 1 => rest,
            _ => text,
        };
        if text.is_empty() {
            return self.dispatch(take);
        }
        let (field, value) = match text.iter().position(|byte| *byte == b':') {
            Some(colon) => (&text[..colon], &text[colon + 1..]),
            None => (text, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        if field == b"data" {
            self.data(line.number, value);
        } else if field == b"event" {
            self.error = value == b"error";
        }
    }

    fn data(&mut self, line: u64, value: &[u8]) {
        let first = self.line.is_none();
        self.line.get_or_insert(line);
        self.over |= self.data.len() + value.len() + 1 > self.max;
        if self.over {
            self.data = vec![];
            return;
        }
        if !first {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
    }

    fn dispatch(&mut self, take: &mut dyn FnMut(Document<'_>)) {
        if let Some(line) = self.line.take() {
            if self.error && !self.data.trim_ascii_start().starts_with(b"{") {
                self.data = said(&self.data);
            }
            take((line, (!self.over).then_some(self.data.as_slice())));
        }
        self.data.clear();
        self.over = false;
        self.error = false;
    }
}

/// An error object with this message.
fn said(words: &[u8]) -> Vec<u8> {
    let text = lossy(words);
    let text = serde_json::from_str(&text).unwrap_or_else(|_| text.into_owned());
    // Serializing a string cannot fail.
    let text = serde_json::to_string(&text).unwrap_or_default();
    format!("{{\"error\":{{\"message\":{text}}}}}").into_bytes()
}
