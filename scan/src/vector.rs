//! One pass of vectors over the beginnings of all markers, or over the inside of a value.
//!
//! A byte counts if it begins markers and is rare in text, or if it begins a marker together with the byte after it. Both are
//! asked of tables of 16 bytes, indexed by the low half of a byte: an entry is the only byte with that half that counts. What
//! counts is looked up by a hash of its first four bytes, and compared with the markers that have it. Bytes that mark code are found by
//! the way.
//!
//! This is the only module with `unsafe` code: loads of vectors, and calls of functions for which the processor's features were
//! tested.
#![allow(unsafe_code)]
// Elsewhere nothing has a width.
#![cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, unused_macros, unused_variables)
)]

#[macro_use]
mod search;
#[macro_use]
mod string;
#[cfg(target_arch = "x86_64")]
mod avx2;
mod heads;
#[cfg(target_arch = "x86_64")]
mod ssse3;

use self::heads::{COMPARED, Heads};
use crate::Pattern;
use crate::begin::{Begin, HEAD};
use crate::chars::frequent;
use crate::marks::{CODE, Marks};

/// For each low half of a byte: the byte that counts.
type Table = [u8; 16];

/// The table that no byte counts in.
const UNUSED: Table = {
    let mut table = [0; 16];
    let mut at = 0;
    while at < table.len() {
        table[at] = unused(at);
        at += 1;
    }
    table
};

/// The table of the bytes that mark code.
const MARKS: Table = {
    let mut table = UNUSED;
    let mut n = 0;
    while n < CODE.len() {
        table[half(CODE[n])] = CODE[n];
        n += 1;
    }
    table
};

/// The tests of blocks take at most this many tables of each kind.
const TABLES: usize = 2;

/// The vectors that a processor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Ssse3,
}

impl Width {
    fn verbatim(self, hay: &[u8], quote: u8) -> (usize, bool) {
        match self {
            // SAFETY: the processor has these vectors.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { avx2::verbatim(hay, quote) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Self::Ssse3 => unsafe { ssse3::verbatim(hay, quote) },
        }
    }

    fn escape(self, text: &[u8], to: &mut [u8]) -> (usize, usize) {
        match self {
            // SAFETY: the processor has these vectors.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { avx2::escape(text, to) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Self::Ssse3 => unsafe { ssse3::escape(text, to) },
        }
    }

    fn pairs(self, hay: &[u8], firsts: [u8; 3], after: &[u8; 256]) -> (usize, bool) {
        match self {
            // SAFETY: the processor has these vectors.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { avx2::pairs(hay, firsts, after) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Self::Ssse3 => unsafe { ssse3::pairs(hay, firsts, after) },
        }
    }

    fn last_line(self, hay: &[u8], byte: u8) -> (usize, Option<usize>, bool) {
        match self {
            // SAFETY: the processor has these vectors.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { avx2::last_line(hay, byte) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Self::Ssse3 => unsafe { ssse3::last_line(hay, byte) },
        }
    }

    fn lines(self, hay: &[u8], plain: &[bool; 256]) -> usize {
        match self {
            // SAFETY: the processor has these vectors.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { avx2::lines(hay, plain) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Self::Ssse3 => unsafe { ssse3::lines(hay, plain) },
        }
    }

    /// The widest that this processor has.
    #[inline]
    fn best() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        {
            if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("bmi1") {
                return Some(Self::Avx2);
            }
            if std::is_x86_feature_detected!("ssse3") {
                return Some(Self::Ssse3);
            }
        }
        None
    }
}

/// Bytes of a string per step.
pub(crate) const BLOCK: usize = 64;

/// How far the inside of a JSON string is emitted as it is: the index of the first other byte and true, or an index that is not
/// inside an escape, before less than a block of bytes, and false.
pub(crate) fn verbatim(hay: &[u8], quote: u8) -> (usize, bool) {
    Width::best().map_or((0, false), |width| width.verbatim(hay, quote))
}

/// Copies the beginning of `text` as the inside of a JSON string, as far as vectors reach: up to a byte that has no escape of one
/// letter, or until less than 32 bytes are left or might not fit. Returns how many bytes were read and written.
pub(crate) fn escape(text: &[u8], to: &mut [u8]) -> (usize, usize) {
    Width::best().map_or((0, 0), |width| width.escape(text, to))
}

/// Where `hay` first has one of the bytes before one that may follow it, and true; or an index up to which it has none, as far as
/// vectors reach, and false. `after` has a bit for each of `firsts` that a byte may follow.
pub(crate) fn pairs(hay: &[u8], firsts: [u8; 3], after: &[u8; 256]) -> (usize, bool) {
    Width::best().map_or((0, false), |width| width.pairs(hay, firsts, after))
}

/// Where the last line end of `hay` is and whether `byte` occurs behind it, as far back as vectors reach: to the returned index.
#[inline]
pub(crate) fn last_line(hay: &[u8], byte: u8) -> (usize, Option<usize>, bool) {
    let none = (hay.len(), None, false);
    Width::best().map_or(none, |width| width.last_line(hay, byte))
}

/// See [`crate::lines`]. `None` where there are no vectors.
#[inline]
pub(crate) fn lines(hay: &[u8], plain: &[bool; 256]) -> Option<usize> {
    let width = Width::best().filter(|_| hay.len() >= BLOCK);
    width.map(|width| width.lines(hay, plain))
}

/// Whether a line is empty, or begins with four blanks, or with fewer and a byte that is `plain`.
#[inline(always)]
pub(crate) fn begins_plain(line: &[u8], plain: &[bool; 256]) -> bool {
    let four = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes);
    if line
        .first_chunk()
        .is_some_and(|begin| four(begin) == four(b"    "))
    {
        return true;
    }
    match line {
        [b'\n', ..] => true,
        [b' ', rest @ ..] => {
            let other = rest.iter().take(3).find(|byte| **byte != b' ');
            other.is_some_and(|byte| plain[usize::from(*byte)])
        }
        [byte, ..] => plain[usize::from(*byte)],
        [] => false,
    }
}

/// The same bytes, which the compiler takes for others: it then reads them from memory as an operand of each instruction, where it
/// would load them once into a register for two instructions.
#[cfg(target_arch = "x86_64")]
#[expect(
    clippy::pointers_in_nomem_asm_block,
    reason = "nothing is read through it"
)]
#[inline(always)]
fn again(hay: &[u8]) -> &[u8] {
    let mut at = hay.as_ptr();
    // SAFETY: nothing is executed, and the pointer comes out as it went in.
    unsafe {
        std::arch::asm!("/* {0} */", inout(reg) at, options(pure, nomem, nostack, preserves_flags));
        std::slice::from_raw_parts(at, hay.len())
    }
}

/// The bytes as text, if all of them are ASCII.
#[inline]
pub(crate) fn ascii(bytes: &[u8]) -> Option<&str> {
    // SAFETY: ASCII is UTF-8.
    bytes
        .is_ascii()
        .then(|| unsafe { std::str::from_utf8_unchecked(bytes) })
}

/// The kinds of all bytes, which `table` gives, and the bytes as text if they are ASCII: in one pass.
#[inline]
pub(crate) fn kinds<'b>(bytes: &'b [u8], table: &[u8; 256]) -> (u8, Option<&'b str>) {
    let (mut kinds, mut all) = (0, 0);
    for byte in bytes {
        kinds |= table[usize::from(*byte)];
        all |= byte;
    }
    // SAFETY: ASCII is UTF-8.
    let text = || unsafe { std::str::from_utf8_unchecked(bytes) };
    (kinds, all.is_ascii().then(text))
}

/// The tables of all markers. Immutable.
#[derive(Clone, Debug)]
pub(crate) struct Vector {
    /// One that the processor has.
    width: Width,
    /// Bytes that begin markers or mark code.
    rare: Vec<Table>,
    /// Frequent bytes that begin markers, and the byte that must follow each.
    pairs: Vec<[Table; 2]>,
    heads: Heads,
    /// Whether marks of code are among the rare bytes.
    pub marks: bool,
}

/// A byte that no byte with this low half equals.
const fn unused(half: usize) -> u8 {
    half as u8 ^ 1
}

const fn half(byte: u8) -> usize {
    (byte & 15) as usize
}

/// Puts a byte where its low half is free. Returns the table, or `None` if there are too many.
fn place(tables: &mut Vec<Table>, byte: u8) -> Option<usize> {
    let at = half(byte);
    let free = |table: &Table| table[at] == byte || table[at] == unused(at);
    let index = tables.iter().position(free).unwrap_or(tables.len());
    if index == TABLES {
        return None;
    }
    if index == tables.len() {
        tables.push(std::array::from_fn(unused));
    }
    tables[index][at] = byte;
    Some(index)
}

impl Vector {
    /// Returns `None` where these tables can't hold the markers, or if the processor has no such vectors.
    pub fn new(patterns: &[Pattern], begins: &[Begin]) -> Option<Self> {
        let mut all = Self {
            width: Width::best()?,
            rare: vec![],
            pairs: vec![],
            heads: Heads::new(patterns)?,
            marks: true,
        };
        // One for each pair of bytes that markers begin with.
        let two = |begin: &Begin| {
            (
                begin.bytes().first().copied(),
                begin.bytes().get(1).copied(),
            )
        };
        for begin in begins.chunk_by(|a, b| two(a) == two(b)) {
            let (first, second) = two(begin.first()?);
            let first = first?;
            if !first.is_ascii() {
                return None;
            }
            if !frequent(first) {
                place(&mut all.rare, first)?;
                continue;
            }
            let second = second?;
            // Each first byte of a table has one second byte.
            let at = half(first);
            let taken = |n: usize| {
                let pair = all.pairs.get(n);
                pair.is_some_and(|[first, _]| first[at] != unused(at))
            };
            let same = |n: &usize| all.pairs[*n].iter().map(|t| t[at]).eq([first, second]);
            let known = (0..all.pairs.len()).find(same);
            let index = known.or_else(|| (0..TABLES).find(|n| !taken(*n)))?;
            if index == all.pairs.len() {
                all.pairs.push([std::array::from_fn(unused), [0; 16]]);
            }
            all.pairs[index][0][at] = first;
            all.pairs[index][1][at] = second;
        }
        let mut with_marks = all.rare.clone();
        let fit = CODE
            .iter()
            .all(|mark| place(&mut with_marks, *mark).is_some());
        all.marks = fit && with_marks.len() <= all.rare.len().max(1);
        if all.marks {
            all.rare = with_marks;
        }
        if all.rare.is_empty() {
            all.rare.push(std::array::from_fn(unused));
        }
        Some(all)
    }

    /// The next index from `at` on at which a marker may begin and true, or how far none does and false: to less than a vector and
    /// [`HEAD`] bytes from the end.
    #[inline]
    pub fn find(&self, hay: &[u8], at: usize, marks: &mut Marks) -> (usize, bool) {
        match self.width {
            // SAFETY: the processor has these vectors, see `width`.
            #[cfg(target_arch = "x86_64")]
            Width::Avx2 => unsafe { avx2::find(self, hay, at, marks) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Width::Ssse3 => unsafe { ssse3::find(self, hay, at, marks) },
        }
    }

    /// The first place of a mask of places from `at` on at which a marker may begin, as far as its first [`COMPARED`] bytes show.
    ///
    /// # Safety
    /// `hay` has as many bytes from each place on.
    #[inline(always)]
    unsafe fn first(&self, hay: &[u8], at: usize, mut mask: u64) -> Option<usize> {
        debug_assert!(mask == 0 || at + mask.ilog2() as usize + COMPARED <= hay.len());
        // SAFETY: within `hay`, as the places are.
        let from = unsafe { hay.as_ptr().add(at) };
        while mask != 0 {
            let place = mask.trailing_zeros() as usize;
            // SAFETY: the caller has these bytes.
            let four = unsafe { from.add(place).cast::<u32>().read_unaligned() };
            if self.heads.may_hold(u32::from_le(four)) {
                // SAFETY: as above.
                let text = unsafe { from.add(place).cast::<u64>().read_unaligned() };
                if self.heads.hold(u64::from_le(text), u64::MAX) {
                    return Some(at + place);
                }
            }
            mask &= mask - 1;
        }
        None
    }

    /// The same for places of a mask in a `hay` that may have only [`HEAD`] bytes from each on, and [`COMPARED`] in all.
    fn first_of_short(&self, hay: &[u8], at: usize, mut mask: u64) -> Option<usize> {
        let last = u64::from_le_bytes(*hay.last_chunk()?);
        while mask != 0 {
            let found = at + mask.trailing_zeros() as usize;
            let unknown = 8 * (found + COMPARED).saturating_sub(hay.len());
            let text = match hay[found..].first_chunk() {
                Some(text) => u64::from_le_bytes(*text),
                None => last >> unknown,
            };
            if self.heads.hold(text, u64::MAX >> unknown) {
                return Some(found);
            }
            mask &= mask - 1;
        }
        None
    }
}

#[cfg(test)]
impl Width {
    /// All that this processor has.
    fn all() -> Vec<Self> {
        let mut all: Vec<Self> = Self::best().into_iter().collect();
        #[cfg(target_arch = "x86_64")]
        if all == [Self::Avx2] {
            all.push(Self::Ssse3);
        }
        all
    }
}

#[cfg(test)]
impl Vector {
    /// The same tables for each kind of vectors that the processor has.
    pub fn widths(&self) -> impl Iterator<Item = Self> {
        let widths = Width::all().into_iter();
        widths.map(|width| Self {
            width,
            ..self.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chars::{is_simple, letter};
    use crate::random::random;

    /// The index of the first byte that ends the string or may not be in it.
    fn naive(hay: &[u8], quote: u8) -> usize {
        let mut at = 0;
        while let Some(byte) = hay.get(at) {
            match (byte, hay.get(at + 1)) {
                (b'\\', Some(letter)) if is_simple(*letter) => at += 2,
                (0..0x20 | b'"' | b'\\', _) => break,
                (byte, _) if *byte == quote => break,
                _ => at += 1,
            }
        }
        at
    }

    #[test]
    fn a_line_begins_plain_by_its_first_bytes() {
        let mut plain = [true; 256];
        plain[usize::from(b'-')] = false;
        for line in ["", "\n", "    - a", "    ", "a", " a", "   a", " \n"] {
            assert_eq!(
                begins_plain(line.as_bytes(), &plain),
                !line.is_empty(),
                "{line:?}"
            );
        }
        for line in ["-", "- a", " - a", "   - a", " ", "   "] {
            assert!(!begins_plain(line.as_bytes(), &plain), "{line:?}");
        }
    }

    #[test]
    fn pairs_are_found_by_vectors_of_every_width() {
        let firsts = [b'<', b'\n', 0xE3];
        let mut after = [0; 256];
        for (first, second) in [(0, b'/'), (1, b'<'), (1, b' '), (2, 0x80)] {
            after[usize::from(second)] |= 1 << first;
        }
        let symbols = b"<\n/ \xE3\x80";
        let mut random = random(11);
        for round in 0..3000 {
            let dense = 1 + random(60);
            let hay: Vec<u8> = (0..random(1 + round % 200))
                .map(|_| match random(dense) {
                    0 => symbols[random(symbols.len())],
                    _ => b'x',
                })
                .collect();
            let is = |at: &usize| {
                let two = (hay.get(*at), hay.get(at + 1));
                matches!(
                    two,
                    (Some(b'<'), Some(b'/'))
                        | (Some(b'\n'), Some(b'<' | b' '))
                        | (Some(0xE3), Some(0x80))
                )
            };
            for width in Width::all() {
                match width.pairs(&hay, firsts, &after) {
                    (at, true) => assert_eq!((0..hay.len()).find(is), Some(at), "{hay:?}"),
                    (at, false) => assert!((0..at).all(|at| !is(&at)) && hay.len() - at <= 33),
                }
            }
        }
    }

    #[test]
    fn strings_are_read_as_one_by_one() {
        let mut random = random(7);
        for round in 0..20_000 {
            let (len, odd) = (random(300), 1 + random(60));
            let odds = b"\\\\\\\"n'u/\n\0\x1F \x7F\x80\xE4ab";
            let mut hay: Vec<u8> = (0..len)
                .map(|_| match random(odd) {
                    0 => odds[random(odds.len())],
                    _ => b'x',
                })
                .collect();
            if round % 3 == 0 {
                // Only what may be in a string, so that long ones occur.
                hay.retain(|byte| !matches!(byte, b'"' | b'u' | b'/' | b'\'' | ..0x20));
                let slashes = hay.iter().position(|b| *b == b'\\');
                if let Some(at) = slashes {
                    hay.insert(at + 1, b'n');
                }
            }
            for quote in [b'"', b'\''] {
                let end = naive(&hay, quote);
                assert_eq!(crate::json::verbatim(&hay, quote), end);
                for width in Width::all() {
                    let mut room = vec![0; random(400)];
                    let (read, written) = width.escape(&hay, &mut room);
                    let mut all = vec![];
                    for byte in &hay[..read] {
                        let letter = letter(*byte);
                        all.extend_from_slice(if letter == 0 { &[] } else { b"\\" });
                        all.push(if letter == 0 { *byte } else { letter });
                    }
                    assert_eq!(room[..written], all, "{hay:?}");
                    let (to, stopped) = width.verbatim(&hay, quote);
                    match stopped {
                        true => assert_eq!(to, end, "{hay:?}"),
                        false => {
                            assert!(hay.len() - to <= BLOCK, "{hay:?}");
                            assert_eq!(to + naive(&hay[to..], quote), end, "{hay:?}");
                        }
                    }
                }
            }
        }
    }
}
