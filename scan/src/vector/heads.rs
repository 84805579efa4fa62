//! Which markers begin with some bytes.

use super::HEAD;
use crate::begin::Begin;
use crate::{Case, Pattern};

/// This many bytes of a marker are compared with the text.
pub(super) const COMPARED: usize = size_of::<u64>();

/// The beginnings of all markers, by a hash of their first four bytes.
#[derive(Clone, Debug)]
pub(super) struct Heads {
    /// For each hash: the number of the first marker with it, counted from 1; 0 if no marker has it.
    first: Box<[u16; 1 << HASH_BITS]>,
    markers: Vec<Marker>,
}

const HASH_BITS: u32 = 13;

#[derive(Clone, Debug)]
struct Marker {
    bytes: u64,
    /// The bits of `bytes` that count: none behind a short marker, all but the case of a letter that may be of either.
    mask: u64,
    /// The number of the next marker with the same hash, or 0.
    next: u16,
}

impl Marker {
    fn new(pattern: &Pattern) -> Self {
        let (mut bytes, len) = ([0; COMPARED], pattern.bytes.len().min(COMPARED));
        bytes[..len].copy_from_slice(&pattern.bytes[..len]);
        let mut mask = [0; COMPARED];
        mask[..len].fill(u8::MAX);
        if pattern.case == Case::Ignore {
            for (byte, mask) in bytes.iter().zip(&mut mask) {
                *mask &= if byte.is_ascii_alphabetic() {
                    !0x20
                } else {
                    !0
                };
            }
        }
        let (bytes, mask) = (u64::from_le_bytes(bytes), u64::from_le_bytes(mask));
        Self {
            bytes: bytes & mask,
            mask,
            next: 0,
        }
    }
}

impl Heads {
    /// Returns `None` for more than can be numbered.
    pub fn new(patterns: &[Pattern]) -> Option<Self> {
        let mut all = Self {
            first: Box::new([0; 1 << HASH_BITS]),
            markers: vec![],
        };
        // Markers of less than three bytes have every hash.
        let is_short = |pattern: &&Pattern| pattern.bytes.len() + 1 < HEAD;
        let mut short = 0;
        for pattern in patterns.iter().filter(is_short) {
            let marker = Marker::new(pattern);
            if !all.holds(short, &marker) {
                short = all.push(&marker, short)?;
            }
        }
        if short != 0 {
            all.first.fill(short);
        }
        for pattern in patterns.iter().filter(|pattern| !is_short(pattern)) {
            let marker = Marker::new(pattern);
            match (pattern.case, pattern.bytes.first_chunk::<HEAD>()) {
                (Case::Exact, Some(begin)) => {
                    all.add(&marker, short, [u32::from_le_bytes(*begin)])?
                }
                _ => {
                    for begin in Begin::of(pattern) {
                        all.add(&marker, short, fours(begin.bytes()))?;
                    }
                }
            }
        }
        Some(all)
    }

    /// Adds a marker that may begin with each of these four bytes, before those from number `short` on, which have every hash.
    fn add(
        &mut self,
        marker: &Marker,
        short: u16,
        fours: impl IntoIterator<Item = u32>,
    ) -> Option<()> {
        // Most hashes of a marker that leaves the fourth byte open are its own.
        let mut alone = short;
        for four in fours {
            let hash = hash(four);
            let first = self.first[hash];
            if self.holds(first, marker) {
                continue;
            }
            self.first[hash] = match first == short && alone != short {
                true => alone,
                false => self.push(marker, first)?,
            };
            if first == short {
                alone = self.first[hash];
            }
        }
        Some(())
    }

    /// Adds a marker before `next`. Returns its number.
    fn push(&mut self, marker: &Marker, next: u16) -> Option<u16> {
        self.markers.push(Marker { next, ..*marker });
        u16::try_from(self.markers.len()).ok()
    }

    /// Whether `marker` is among those from number `first` on.
    fn holds(&self, first: u16, marker: &Marker) -> bool {
        let mut number = first;
        while let Some(other) = self.marker(number) {
            if (other.bytes, other.mask) == (marker.bytes, marker.mask) {
                return true;
            }
            number = other.next;
        }
        false
    }

    #[inline(always)]
    fn marker(&self, number: u16) -> Option<&Marker> {
        self.markers.get(usize::from(number).wrapping_sub(1))
    }

    /// Whether a marker may begin with four bytes, as far as the hash shows.
    #[inline(always)]
    pub fn may_hold(&self, four: u32) -> bool {
        self.first[hash(four)] != 0
    }

    /// Whether a marker begins like `text`, or like the part of it that is `known`: four bytes or more.
    #[inline(always)]
    pub fn hold(&self, text: u64, known: u64) -> bool {
        let mut number = self.first[hash(text as u32)];
        while let Some(marker) = self.marker(number) {
            if (text ^ marker.bytes) & marker.mask & known == 0 {
                return true;
            }
            number = marker.next;
        }
        false
    }
}

/// Of the first three or four bytes of a marker: four for each hash of what may begin with it.
fn fours(begin: &[u8]) -> impl Iterator<Item = u32> {
    let known = begin
        .iter()
        .rev()
        .fold(0, |all, byte| all << 8 | u32::from(*byte));
    let fourth = if begin.len() < HEAD { 0..=OPEN } else { 0..=0 };
    fourth.map(move |fourth| known | fourth << (u32::BITS - u8::BITS))
}

/// The upper bits of a product. The factor drops the three upper bits of the fourth byte, so that a marker of three bytes has 32
/// hashes and not 256.
#[inline(always)]
fn hash(four: u32) -> usize {
    (four.wrapping_mul(0x9E37_79B1 << 3) >> (u32::BITS - HASH_BITS)) as usize
}

/// The bits of the fourth byte that the hash has.
const OPEN: u32 = u8::MAX as u32 >> 3;
