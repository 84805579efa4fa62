//! Entities in a piece of a value that are decoded and delivered with the text between them: the piece is in one chunk, and
//! is whole characters.

use toolglot_scan::{json, valid_prefix, xml};

use super::{Args, Out};
use crate::event::{Event, Span};

/// This many bytes are looked at at once, for whether they are whole characters.
const WINDOW: usize = 256;
/// The bytes of the vectors that do so.
const VECTOR: usize = 64;

/// What was taken of such a piece.
pub(super) struct Entities {
    call: u32,
    /// The value takes such pieces.
    fits: bool,
    /// The bytes of the chunk up to this index are taken, from the first entity on.
    taken: usize,
    /// Up to this index they are whole characters.
    whole: usize,
    joined: Option<Joined>,
}

/// Decoded text that is delivered at once. On the stack, so that values cost no allocation.
struct Joined {
    text: [u8; Joined::MOST],
    len: usize,
    json: [u8; 6 * Joined::MOST],
    /// Where what it was made from begins in the chunk.
    from: usize,
}

impl Entities {
    /// Begins at index `i` of the chunk.
    pub fn new(out: &Out<'_>, args: &Args, i: usize) -> Self {
        let here = out.from() == out.base + i as u64;
        Self {
            call: args.number(),
            fits: here && args.takes_decoded(out),
            taken: i,
            whole: i,
            joined: None,
        }
    }

    /// Takes the entity at index `at` of the chunk up to `stop`, if it is whole and known, with the text before it. Returns
    /// where it ends.
    #[inline(always)]
    pub fn takes(&mut self, out: &mut Out<'_>, at: usize, stop: usize) -> Option<usize> {
        let chunk = &out.seg[..stop];
        if !self.fits || chunk[at] != b'&' {
            return None;
        }
        let (c, len) = xml::first_entity(&chunk[at..])?;
        while self.whole < at {
            let window = &chunk[self.whole..stop.min(self.whole + WINDOW)];
            let len = valid_prefix(window).len();
            self.fits = len > 0;
            if !self.fits {
                return None;
            }
            self.whole += len;
        }
        let before = &chunk[self.taken..at];
        let joined = self.joined.get_or_insert_with(|| Joined::new(self.taken));
        if !joined.fits(before) {
            joined.deliver(out, self.call, self.taken);
        }
        match joined.fits(before) {
            true => joined.add(before),
            false => joined.pass(out, self.call, valid_prefix(before)),
        }
        joined.add(c.encode_utf8(&mut [0; 4]).as_bytes());
        self.taken = at + len;
        Some(self.taken)
    }

    /// Delivers what was taken.
    pub fn deliver(&mut self, out: &mut Out<'_>) {
        if let Some(joined) = &mut self.joined {
            joined.deliver(out, self.call, self.taken);
        }
    }
}

impl Joined {
    /// The most bytes of text. In JSON a byte becomes at most six.
    const MOST: usize = 320;

    fn new(from: usize) -> Self {
        Self {
            text: [0; Self::MOST],
            len: 0,
            json: [0; 6 * Self::MOST],
            from,
        }
    }

    /// Whether there is room for a piece and a character after it.
    fn fits(&self, piece: &[u8]) -> bool {
        piece.len() + 4 <= Self::MOST - self.len
    }

    #[inline]
    fn add(&mut self, piece: &[u8]) {
        match piece {
            [byte] => self.text[self.len] = *byte,
            bytes => self.text[self.len..][..bytes.len()].copy_from_slice(bytes),
        }
        self.len += piece.len();
    }

    /// Delivers a long piece of the chunk in which nothing is decoded, where nothing waits.
    fn pass(&mut self, out: &mut Out<'_>, call: u32, text: &str) {
        let span = self.param(out, self.from + text.len());
        json::escape_joined(text, |json, part| {
            let at = |n: usize| span.start + n as u64;
            out.arg(call, json, Span::new(at(part.start), at(part.end)));
        });
    }

    /// Delivers what waits; it was made from the chunk up to index `to`.
    fn deliver(&mut self, out: &mut Out<'_>, call: u32, to: usize) {
        let span = self.param(out, to);
        let len = json::escape_into(
            text(&self.text, self.len).unwrap_or_default(),
            &mut self.json,
        );
        if let Some(json) = text(&self.json, len).filter(|json| !json.is_empty()) {
            out.arg(call, json, span);
        }
        self.len = 0;
    }

    /// Delivers the bytes themselves, up to index `to` of the chunk.
    fn param(&mut self, out: &mut Out<'_>, to: usize) -> Span {
        let data = &out.seg[self.from..to];
        let span = Span::new(out.base + self.from as u64, out.base + to as u64);
        if !data.is_empty() {
            out.event(Event::ParamDelta { data, span });
        }
        out.skip(span.end);
        self.from = to;
        span
    }
}

/// The first bytes as text, if they are. What is behind them is looked at too: whole vectors are faster.
#[inline]
fn text(bytes: &[u8], len: usize) -> Option<&str> {
    let whole = bytes.len().min(len.next_multiple_of(VECTOR));
    valid_prefix(&bytes[..whole]).get(..len)
}
