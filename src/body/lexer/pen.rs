//! The output of a lexer: JSON text and, on request, the decoded text of a string.
//!
//! Source bytes that are already JSON are emitted as slices, in runs as long as the chunk allows. Undecided bytes (an
//! escape, a comma that may be superfluous) are on *hold*: they are emitted later, unchanged ([`Pen::keep`]) or as something
//! else ([`Pen::swap`]). Between chunks held bytes are copied; they are few.

use serde::{Deserialize, Serialize};
use toolglot_scan::{Gate, json};

use crate::event::Span;

/// Takes the output of a lexer.
pub(crate) trait Emit {
    /// JSON text, and the source bytes that it came from.
    fn json(&mut self, text: &str, span: Span);
    /// Decoded text of the current string.
    fn text(&mut self, text: &str, span: Span);
}

/// Whether the decoded text of a string is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Decode {
    #[default]
    No,
    /// Yes: it is a key, which the pen keeps.
    Key,
    /// Yes: it is emitted through [`Emit::text`].
    Text,
}

/// The decoded text of part of a string.
#[derive(Clone, Copy, Debug)]
pub(super) enum Meaning<'m> {
    Text(&'m str),
}

/// The state between chunks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Pen {
    gate: Gate,
    /// Bytes of earlier chunks that are on hold.
    held: Vec<u8>,
    held_at: u64,
    pub decode: Decode,
    /// The key that was decoded last.
    pub key: String,
    reader: Gate,
}

/// The output of one chunk.
pub(super) struct Feed<'f, E> {
    pub src: &'f [u8],
    pub base: u64,
    /// The first byte that was not emitted as JSON.
    pub from: usize,
    /// The first byte that was not decoded, while a string is decoded.
    pub decoded: usize,
    /// Where the undecided bytes begin, if there are any.
    pub hold: Option<usize>,
    pub emit: &'f mut E,
}

impl<E> Feed<'_, E> {
    pub fn pos(&self, i: usize) -> u64 {
        self.base + i as u64
    }
}

impl Pen {
    /// Whether source bytes are emitted unchanged and nothing is on hold.
    pub fn idle(&self) -> bool {
        self.decode == Decode::No && self.held.is_empty() && self.gate.len() == 0
    }

    /// The same, except that a backslash is on hold.
    pub fn awaits_letter(&self) -> bool {
        self.decode == Decode::No && self.held == b"\\" && self.gate.len() == 0
    }

    /// Puts the backslash at that offset on hold, and nothing else.
    pub fn await_letter(&mut self, backslash: Option<u64>) {
        self.held.clear();
        self.held.extend(backslash.map(|_| b'\\'));
        self.held_at = backslash.unwrap_or_default();
    }

    /// Whether a byte is on hold after the source has been left.
    pub fn holds(&self, byte: u8) -> bool {
        self.held.contains(&byte)
    }

    pub fn start<'f, E: Emit>(
        &self,
        src: &'f [u8],
        base: u64,
        i: usize,
        emit: &'f mut E,
    ) -> Feed<'f, E> {
        Feed {
            src,
            base,
            from: i,
            decoded: i,
            hold: (!self.held.is_empty()).then_some(i),
            emit,
        }
    }

    /// Emits what is decided up to `i` and keeps the rest.
    pub fn leave<E: Emit>(&mut self, f: &mut Feed<'_, E>, i: usize) {
        if f.hold.is_some() {
            self.stash(f, i);
        } else {
            self.flush(f, i);
            self.read(f, i);
        }
    }

    /// How many bytes are on hold before `i`.
    pub fn waits<E>(&self, f: &Feed<'_, E>, i: usize) -> usize {
        f.hold.map_or(0, |hold| self.held.len() + i - hold)
    }

    /// Where the bytes on hold begin.
    pub fn held_at<E>(&self, f: &Feed<'_, E>) -> Option<u64> {
        let hold = f.hold?;
        Some(if self.held.is_empty() {
            f.pos(hold)
        } else {
            self.held_at
        })
    }

    /// The bytes on hold before `i`.
    pub fn held<E>(&self, f: &Feed<'_, E>, i: usize) -> Vec<u8> {
        let mut bytes = self.held.clone();
        bytes.extend_from_slice(f.hold.map_or(&[][..], |hold| &f.src[hold..i]));
        bytes
    }

    /// The second of the bytes on hold.
    pub fn second<E>(&self, f: &Feed<'_, E>) -> Option<u8> {
        let copied = self.held.get(1).copied();
        copied.or_else(|| f.src.get(f.hold? + 1 - self.held.len()).copied())
    }

    /// Copies the bytes on hold before `i`.
    pub fn stash<E: Emit>(&mut self, f: &mut Feed<'_, E>, i: usize) {
        let Some(hold) = f.hold else { return };
        self.flush(f, hold);
        self.read(f, hold);
        if self.held.is_empty() {
            self.held_at = f.pos(hold);
        }
        self.held.extend_from_slice(&f.src[hold..i]);
        self.skip(f, i);
        f.hold = Some(i);
    }

    /// Drops bytes before `i`.
    pub fn skip<E>(&self, f: &mut Feed<'_, E>, i: usize) {
        (f.from, f.decoded) = (i, i);
    }

    /// Drops the byte at `i`; what is on hold before it stays there.
    pub fn omit<E: Emit>(&mut self, f: &mut Feed<'_, E>, i: usize) {
        if f.hold.is_some() {
            self.stash(f, i);
            f.hold = Some(i + 1);
        } else {
            self.flush(f, i);
        }
        self.skip(f, i + 1);
    }

    /// Puts `bytes`, which stand for those from the offset `at` to `i`, on hold. Nothing else is.
    pub fn hold<E>(&mut self, f: &mut Feed<'_, E>, i: usize, at: u64, bytes: &[u8]) {
        (self.held, self.held_at) = (bytes.to_vec(), at);
        f.hold = Some(i);
    }

    /// Emits the bytes on hold before `i` unchanged: they are JSON.
    pub fn keep<E: Emit>(&mut self, f: &mut Feed<'_, E>, i: usize, meaning: Meaning<'_>) {
        let Some(hold) = f.hold.take() else { return };
        let start = if self.held.is_empty() {
            f.pos(hold)
        } else {
            let emit = &mut *f.emit;
            self.gate
                .push(&self.held, self.held_at, |text, span| emit.json(text, span));
            self.held.clear();
            std::mem::take(&mut self.held_at)
        };
        self.mean(f, hold, i, Span::new(start, f.pos(i)), meaning);
    }

    /// Emits `json` in place of the bytes on hold before `i`.
    pub fn swap<E: Emit>(
        &mut self,
        f: &mut Feed<'_, E>,
        i: usize,
        json: &str,
        meaning: Meaning<'_>,
    ) {
        self.swap_but(f, i, json, meaning, &[]);
    }

    /// Emits `json` in place of the bytes on hold before `i`, except for the last of them, `rest`, which stay on hold.
    pub fn swap_but<E: Emit>(
        &mut self,
        f: &mut Feed<'_, E>,
        i: usize,
        json: &str,
        meaning: Meaning<'_>,
        rest: &[u8],
    ) {
        let hold = f.hold.take().unwrap_or(i);
        let start = if self.held.is_empty() {
            f.pos(hold)
        } else {
            self.held_at
        };
        self.held.clear();
        self.held_at = 0;
        let span = Span::new(start, f.pos(i).saturating_sub(rest.len() as u64));
        self.put(f, hold, json, span);
        f.from = i;
        self.mean(f, hold, i, span, meaning);
        if !rest.is_empty() {
            self.held.extend_from_slice(rest);
            self.held_at = span.end;
            f.hold = Some(i);
        }
    }

    /// Emits the bytes on hold, all of them copies, as the beginning of a character that goes on at `i`.
    pub fn go_on<E: Emit>(&mut self, f: &mut Feed<'_, E>, i: usize) {
        if f.hold.take().is_none() {
            return;
        }
        let (bytes, at) = (
            std::mem::take(&mut self.held),
            std::mem::take(&mut self.held_at),
        );
        let emit = &mut *f.emit;
        self.gate
            .push(&bytes, at, |text, span| emit.json(text, span));
        if self.decode != Decode::No {
            let (decode, key) = (self.decode, &mut self.key);
            self.reader.push(&bytes, at, |text, span| {
                hand_over(decode, key, emit, text, span)
            });
        }
        self.skip(f, i);
    }

    /// Emits `json` before the byte at `i`.
    pub fn insert<E: Emit>(&mut self, f: &mut Feed<'_, E>, i: usize, json: &str) {
        self.put(f, i, json, Span::new(f.pos(i), f.pos(i)));
    }

    /// Emits `text`, the source from `i` on, as the inside of a JSON string, and returns where it ends. Nothing is on hold.
    pub fn escape<E: Emit>(&mut self, f: &mut Feed<'_, E>, i: usize, text: &str) -> usize {
        let to = i + text.len();
        let span = Span::new(f.pos(i), f.pos(to));
        self.settle(f, i, span.start);
        let emit = &mut *f.emit;
        json::escape_joined(text, |json, part| {
            let at = |n: usize| span.start + n as u64;
            emit.json(json, Span::new(at(part.start), at(part.end)));
        });
        f.from = to;
        self.mean(f, i, to, span, Meaning::Text(text));
        to
    }

    fn put<E: Emit>(&mut self, f: &mut Feed<'_, E>, i: usize, json: &str, span: Span) {
        self.settle(f, i, span.start);
        if !json.is_empty() {
            f.emit.json(json, span);
        }
    }

    /// Emits what comes before `i`; a character that is cut at the offset `at` is ill-formed.
    fn settle<E: Emit>(&mut self, f: &mut Feed<'_, E>, i: usize, at: u64) {
        self.flush(f, i);
        let emit = &mut *f.emit;
        self.gate.end(at, |text, span| emit.json(text, span));
    }

    fn flush<E: Emit>(&mut self, f: &mut Feed<'_, E>, to: usize) {
        if to > f.from {
            let emit = &mut *f.emit;
            let (bytes, at) = (&f.src[f.from..to], f.base + f.from as u64);
            self.gate
                .push(bytes, at, |text, span| emit.json(text, span));
            f.from = to;
        }
    }

    /// Decodes source bytes up to `to`, which mean themselves.
    fn read<E: Emit>(&mut self, f: &mut Feed<'_, E>, to: usize) {
        if self.decode == Decode::No || to <= f.decoded {
            return;
        }
        let (bytes, at) = (&f.src[f.decoded..to], f.base + f.decoded as u64);
        let (decode, key, emit) = (self.decode, &mut self.key, &mut *f.emit);
        self.reader.push(bytes, at, |text, span| {
            hand_over(decode, key, emit, text, span)
        });
        f.decoded = to;
    }

    /// Decodes the bytes from `hold` to `i` (`span` in the stream) as something else.
    fn mean<E: Emit>(
        &mut self,
        f: &mut Feed<'_, E>,
        hold: usize,
        i: usize,
        span: Span,
        meaning: Meaning<'_>,
    ) {
        if self.decode == Decode::No {
            return;
        }
        self.read(f, hold);
        f.decoded = i;
        let (decode, key, emit) = (self.decode, &mut self.key, &mut *f.emit);
        self.reader.end(span.start, |text, span| {
            hand_over(decode, key, emit, text, span)
        });
        match meaning {
            Meaning::Text("") => {}
            Meaning::Text(text) => hand_over(self.decode, &mut self.key, f.emit, text, span),
        }
    }

    /// Ends the decoded string before `i`.
    pub fn end_text<E: Emit>(&mut self, f: &mut Feed<'_, E>, i: usize) {
        if self.decode == Decode::No {
            return;
        }
        let at = f.pos(i);
        let (decode, key, emit) = (self.decode, &mut self.key, &mut *f.emit);
        self.reader
            .end(at, |text, span| hand_over(decode, key, emit, text, span));
        self.decode = Decode::No;
    }
}

fn hand_over<E: Emit>(decode: Decode, key: &mut String, emit: &mut E, text: &str, span: Span) {
    match decode {
        Decode::No => {}
        Decode::Key => key.push_str(text),
        Decode::Text => emit.text(text, span),
    }
}
