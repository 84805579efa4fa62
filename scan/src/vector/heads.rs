//! Which markers begin with some bytes.

use super::HEAD;
use crate::Pattern;
use crate::begin::Begin;

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
        let (mut bytes, mut mask) = ([0; COMPARED], [0; COMPARED]);
        for (at, byte) in pattern.bytes.iter().take(COMPARED).enumerate() {
            mask[at] = match pattern.case {
                crate::Case::Ignore if byte.is_ascii_alphabetic() => !0x20,
                _ => u8::MAX,
            };
            bytes[at] = byte & mask[at];
        }
        Self {
            bytes: u64::from_le_bytes(bytes),
            mask: u64::from_le_bytes(mask),
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
        // With a marker of less than three bytes, any bytes may begin one.
        if patterns
            .iter()
            .any(|pattern| pattern.bytes.len() + 1 < HEAD)
        {
            for pattern in patterns {
                let next = all.first[0];
                all.first[0] = all.push(&Marker::new(pattern), next)?;
            }
            all.first = Box::new([all.first[0]; _]);
            return Some(all);
        }
        for pattern in patterns {
            let marker = Marker::new(pattern);
            // Most hashes of a marker that leaves the fourth byte open are its own.
            let mut alone = 0;
            for begin in Begin::of(pattern) {
                let begin = begin.bytes();
                let fourth = match begin.get(HEAD - 1) {
                    Some(byte) => *byte..=*byte,
                    None => 0..=OPEN,
                };
                for fourth in fourth {
                    let hash = hash(u32::from_le_bytes([begin[0], begin[1], begin[2], fourth]));
                    let first = all.first[hash];
                    if all.holds(first, &marker) {
                        continue;
                    }
                    if first != 0 || alone == 0 {
                        all.first[hash] = all.push(&marker, first)?;
                        if first == 0 {
                            alone = all.first[hash];
                        }
                    } else {
                        all.first[hash] = alone;
                    }
                }
            }
        }
        Some(all)
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

/// The upper bits of a product. The factor drops the three upper bits of the fourth byte, so that a marker of three bytes has 32
/// hashes and not 256.
#[inline(always)]
fn hash(four: u32) -> usize {
    (four.wrapping_mul(0x9E37_79B1 << 3) >> (u32::BITS - HASH_BITS)) as usize
}

/// The bits of the fourth byte that the hash has.
const OPEN: u8 = u8::MAX >> 3;
