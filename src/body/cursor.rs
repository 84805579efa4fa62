//! The position in a stream: what was read, what of it was delivered, what is held back and what is read again.
//!
//! `from` is the first byte that no event covers yet. Bytes from there on are in the chunk or, if they came with an earlier
//! one, in the carry, which always ends where the chunk begins. Nothing else keeps undelivered bytes, apart from what a family
//! cannot write yet, and nothing else goes back in the input.

use serde::{Deserialize, Serialize};

/// A chunk with the offset of its first byte.
#[derive(Clone, Copy)]
pub(crate) struct Chunk<'c> {
    pub seg: &'c [u8],
    pub base: u64,
}

/// A position in a stream, with the held-back bytes before it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cursor {
    /// Bytes read before the current chunk.
    pos: u64,
    from: u64,
    carry: Vec<u8>,
}

/// A range of the stream in at most two pieces, each with its offset.
pub(crate) type Pieces<'a> = [(&'a [u8], u64); 2];

impl Cursor {
    /// The beginning of a stream that holds back at most `bound` bytes.
    pub fn new(bound: usize) -> Self {
        Self {
            carry: Vec::with_capacity(bound),
            ..Self::default()
        }
    }

    /// Takes over the memory of another cursor, without its data.
    pub fn reuse(&mut self, old: &mut Self) {
        std::mem::swap(&mut self.carry, &mut old.carry);
        self.carry.clear();
    }

    #[inline]
    pub fn pos(&self) -> u64 {
        self.pos
    }

    #[inline]
    pub fn from(&self) -> u64 {
        self.from
    }

    /// Bytes in the carry.
    #[inline]
    pub fn carried(&self) -> usize {
        self.carry.len()
    }

    /// `seg` as the chunk that follows.
    pub fn chunk<'c>(&self, seg: &'c [u8]) -> Chunk<'c> {
        Chunk {
            seg,
            base: self.pos,
        }
    }

    /// The bytes `from..to`. They must not have been delivered.
    pub fn pieces<'a>(&'a self, chunk: Chunk<'a>, from: u64, to: u64) -> Pieces<'a> {
        pieces(&self.carry, chunk, from, to)
    }

    /// The byte at an offset, if it was not delivered.
    pub fn peek(&self, chunk: Chunk<'_>, at: u64) -> Option<u8> {
        match at.checked_sub(chunk.base) {
            Some(at) => chunk.seg.get(at as usize).copied(),
            None => {
                let carried = chunk.base.saturating_sub(self.carry.len() as u64);
                let at = at.checked_sub(carried)?;
                self.carry.get(at as usize).copied()
            }
        }
    }

    /// Marks bytes up to `to` as covered by an event, or as belonging to none.
    #[inline]
    pub fn skip(&mut self, to: u64) {
        self.from = self.from.max(to);
    }

    /// Holds back the bytes from `from` on.
    #[inline]
    pub fn hold(&mut self, from: u64) {
        self.from = from;
        if from >= self.pos {
            self.carry.clear();
        }
    }

    /// Holds back the bytes from `start` on. Those before the chunk are the last bytes of `held`.
    pub fn adopt(&mut self, start: u64, held: &[u8]) {
        if start < self.pos && self.carry.is_empty() {
            let len = (self.pos - start) as usize;
            let from = held.len().saturating_sub(len);
            self.carry.extend_from_slice(&held[from..]);
        }
        self.from = start;
    }

    /// Lends the carry to the code that delivers it; [`Self::restore`] takes it back.
    pub fn lend(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.carry)
    }

    pub fn restore(&mut self, carry: Vec<u8>) {
        self.carry = carry;
        self.hold(self.from);
    }

    /// Goes back to `to`; bytes before it that were not delivered are still held back.
    pub fn rewind(&mut self, chunk: Chunk<'_>, to: u64) {
        match to.checked_sub(chunk.base) {
            Some(len) => {
                let read = chunk.seg.get(..len as usize);
                self.carry.extend_from_slice(read.unwrap_or_default());
            }
            None => {
                let again = (chunk.base - to) as usize;
                let keep = self.carry.len().saturating_sub(again);
                self.carry.truncate(keep);
            }
        }
        self.pos = to;
        self.hold(self.from);
    }

    /// Ends the chunk. Its undelivered bytes are carried, unless a table determines them.
    #[inline]
    pub fn settle(&mut self, chunk: Chunk<'_>, exact: bool) {
        self.pos = chunk.base + chunk.seg.len() as u64;
        if exact {
            self.carry.clear();
        } else if self.from >= chunk.base {
            self.carry.clear();
            let rest = chunk.seg.get((self.from - chunk.base) as usize..);
            self.carry.extend_from_slice(rest.unwrap_or_default());
        } else {
            let carried = chunk.base.saturating_sub(self.carry.len() as u64);
            let done = self.from.saturating_sub(carried) as usize;
            self.carry.drain(..done.min(self.carry.len()));
            self.carry.extend_from_slice(chunk.seg);
        }
    }

    /// Records that a chunk of that length was read while nothing was carried, and everything before `to` delivered. A table
    /// determines the rest.
    #[inline]
    pub fn read(&mut self, len: usize, to: u64) {
        self.pos = self.pos.wrapping_add(len as u64);
        self.from = to;
    }

    /// Records that a chunk of that length was read and delivered while nothing was held back.
    #[inline]
    pub fn take(&mut self, len: usize) {
        self.read(len, self.pos.wrapping_add(len as u64));
    }
}

/// The bytes `from..to`, which may begin in `carry` and continue in the chunk.
#[inline]
pub(crate) fn pieces<'a>(carry: &'a [u8], chunk: Chunk<'a>, from: u64, to: u64) -> Pieces<'a> {
    if to <= from {
        return [(&[], from), (&[], from)];
    }
    let Chunk { seg, base } = chunk;
    // A fabricated state may claim bytes that do not exist.
    let carried = base.saturating_sub(carry.len() as u64);
    let at = |offset: u64| offset.saturating_sub(carried) as usize;
    let head = carry.get(at(from)..at(to.min(base))).unwrap_or_default();
    let begin = from.max(base);
    let at = |offset: u64| offset.saturating_sub(base) as usize;
    let tail = seg.get(at(begin)..at(to)).unwrap_or_default();
    [(head, from), (tail, begin)]
}

/// A range in one piece.
pub(crate) fn joined([head, tail]: Pieces<'_>) -> Vec<u8> {
    [head.0, tail.0].concat()
}
