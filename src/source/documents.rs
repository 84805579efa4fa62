//! Splits a response body into JSON documents, whatever its framing.

use super::failure::SHOWN;
use super::halves::Halves;
use super::lines::{Breaks, Lines};
use super::sse::{Document, Sse};
use super::{Item, SourceError, Take};

/// Finds documents. Buffers one, up to a limit.
#[derive(Clone, Debug)]
pub(crate) struct Documents {
    max: usize,
    framing: Framing,
    /// The beginning of the body.
    start: Vec<u8>,
    halves: Halves,
}

#[derive(Clone, Debug)]
enum Framing {
    /// Only whitespace so far: a brace makes it one body, anything else events.
    Unknown(Sse),
    Events(Sse),
    /// One document that begins at this line.
    Body {
        line: u64,
        data: Vec<u8>,
        over: bool,
    },
    Lines(Lines),
}

impl Documents {
    /// Documents in server-sent events, or one body.
    pub fn events(max: usize) -> Self {
        Self::framed(max, Framing::Unknown(Sse::new(max)))
    }

    /// One document per line.
    pub fn lines(max: usize) -> Self {
        Self::framed(max, Framing::Lines(Lines::new(Breaks::Newline, max)))
    }

    fn framed(max: usize, framing: Framing) -> Self {
        Self {
            max,
            framing,
            start: vec![],
            halves: Halves::default(),
        }
    }

    /// The beginning of the body, at most [`SHOWN`] bytes.
    pub fn start(&self) -> &[u8] {
        &self.start
    }

    /// Whether the body is one document.
    pub fn whole(&self) -> bool {
        matches!(self.framing, Framing::Body { .. })
    }

    /// Passes on each document that ends in these bytes; `read` gets its first line.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        take: &mut Take<'_>,
        mut read: impl FnMut(u64, &[u8], &mut Take<'_>),
    ) {
        let max = self.max;
        let room = SHOWN.saturating_sub(self.start.len()).min(bytes.len());
        self.start.extend_from_slice(&bytes[..room]);
        let rest = self.frame(bytes);
        let (halves, follow) = (&mut self.halves, true);
        let mut whole =
            |document: Document<'_>| hand(document, max, (halves, follow), take, &mut read);
        match &mut self.framing {
            Framing::Unknown(sse) | Framing::Events(sse) => sse.feed(rest, &mut whole),
            Framing::Lines(lines) => lines.feed(rest, |line| whole((line.number, line.text))),
            Framing::Body { data, over, .. } => {
                *over |= data.len() + rest.len() > max;
                if *over {
                    *data = vec![];
                } else {
                    data.extend_from_slice(rest);
                }
            }
        }
    }

    /// Passes on a last document.
    pub fn end(&mut self, take: &mut Take<'_>, mut read: impl FnMut(u64, &[u8], &mut Take<'_>)) {
        let max = self.max;
        let (halves, follow) = (&mut self.halves, false);
        let mut whole =
            |document: Document<'_>| hand(document, max, (halves, follow), take, &mut read);
        match &mut self.framing {
            Framing::Unknown(sse) | Framing::Events(sse) => sse.end(&mut whole),
            Framing::Lines(lines) => lines.end(|line| whole((line.number, line.text))),
            Framing::Body { line, data, over } => {
                let data = std::mem::take(data);
                whole((*line, (!*over).then_some(data.as_slice())));
            }
        }
        self.halves.end(|error| take(Item::Error(error)));
    }

    /// Decides between events and a body by the first non-whitespace byte; returns the bytes from there on.
    fn frame<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let Framing::Unknown(sse) = &mut self.framing else {
            return bytes;
        };
        let mark = |byte: &u8| !b" \t\r\n\xef\xbb\xbf".contains(byte);
        let Some(at) = bytes.iter().position(mark) else {
            return bytes;
        };
        if bytes[at] == b'{' {
            sse.feed(&bytes[..at], &mut |_| {});
            let line = sse.number();
            self.framing = Framing::Body {
                line,
                data: vec![],
                over: false,
            };
            return &bytes[at..];
        }
        self.framing = Framing::Events(sse.clone());
        bytes
    }
}

fn hand(
    (line, text): Document<'_>,
    max: usize,
    (halves, follow): (&mut Halves, bool),
    take: &mut Take<'_>,
    read: &mut impl FnMut(u64, &[u8], &mut Take<'_>),
) {
    match text {
        None => take(Item::Error(SourceError::TooLong { line, max })),
        Some(text) if text.trim_ascii().is_empty() => {}
        Some(text) => {
            // A byte order mark before a body of lines.
            let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
            let text = halves.mend((line, follow), text, |error| take(Item::Error(error)));
            read(line, &text, take);
        }
    }
}
