//! Splits bytes into lines.

use memchr::{memchr, memchr2};

/// What ends a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Breaks {
    /// A newline; a preceding carriage return belongs to it.
    Newline,
    /// A newline, a carriage return, or both, as in server-sent events.
    Any,
}

/// A line without its line break.
pub(super) struct Line<'a> {
    /// Counts from 1.
    pub number: u64,
    /// `None` if it is longer than the limit.
    pub text: Option<&'a [u8]>,
}

/// Buffers the beginning of an incomplete line, up to a limit. Each byte is scanned once and copied at most once.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    breaks: Breaks,
    max: usize,
    /// The line so far.
    kept: Vec<u8>,
    /// It is longer than the limit.
    over: bool,
    /// The number of complete lines.
    count: u64,
    /// The last byte was a carriage return that ended a line.
    after_return: bool,
}

impl Lines {
    pub fn new(breaks: Breaks, max: usize) -> Self {
        Self {
            breaks,
            max,
            kept: vec![],
            over: false,
            count: 0,
            after_return: false,
        }
    }

    /// The number of the current line.
    pub fn number(&self) -> u64 {
        self.count + 1
    }

    /// Passes on each line that ends in these bytes.
    pub fn feed(&mut self, bytes: &[u8], mut take: impl FnMut(Line<'_>)) {
        let mut rest = bytes;
        while !rest.is_empty() {
            if std::mem::take(&mut self.after_return) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = match self.breaks {
                Breaks::Newline => memchr(b'\n', rest),
                Breaks::Any => memchr2(b'\n', b'\r', rest),
            };
            let Some(end) = end else {
                return self.keep(rest);
            };
            self.after_return = rest[end] == b'\r';
            self.line(&rest[..end], &mut take);
            rest = &rest[end + 1..];
        }
    }

    /// Passes on a last line that has no line break.
    pub fn end(&mut self, mut take: impl FnMut(Line<'_>)) {
        if self.over || !self.kept.is_empty() {
            self.line(&[], &mut take);
        }
    }

    fn keep(&mut self, piece: &[u8]) {
        self.over |= self.kept.len() + piece.len() > self.max;
        if self.over {
            self.kept = vec![];
        } else {
            self.kept.extend_from_slice(piece);
        }
    }

    fn line(&mut self, tail: &[u8], take: &mut impl FnMut(Line<'_>)) {
        let text = if self.kept.is_empty() && !self.over && tail.len() <= self.max {
            Some(tail)
        } else {
            self.keep(tail);
            (!self.over).then_some(self.kept.as_slice())
        };
        let text = match self.breaks {
            Breaks::Newline => text.map(|text| text.strip_suffix(b"\r").unwrap_or(text)),
            Breaks::Any => text,
        };
        self.count += 1;
        let number = self.count;
        take(Line { number, text });
        self.kept.clear();
        self.over = false;
    }
}
