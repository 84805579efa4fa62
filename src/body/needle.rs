//! One literal that is looked for in a value, byte by byte or by leaps.

use memchr::memchr;
use serde::{Deserialize, Serialize};

/// A literal with what to fall back to where it breaks off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Needle {
    bytes: Vec<u8>,
    fall: Vec<u16>,
    /// How much of it stands right before the present place.
    have: u16,
}

impl Needle {
    /// A literal of at least one byte.
    pub fn new(bytes: Vec<u8>) -> Self {
        let mut fall = vec![0_u16; bytes.len()];
        let mut have = 0;
        for at in 1..bytes.len() {
            while have > 0 && bytes[at] != bytes[have] {
                have = usize::from(fall[have - 1]);
            }
            have += usize::from(bytes[at] == bytes[have]);
            fall[at] = have as u16;
        }
        Self {
            bytes,
            fall,
            have: 0,
        }
    }

    /// Its length.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Its first byte.
    pub fn begins(&self) -> Option<u8> {
        self.bytes.first().copied()
    }

    /// How many of its bytes stand right before the present place.
    pub fn have(&self) -> u64 {
        u64::from(self.have)
    }

    /// Takes a byte; true if the literal is complete.
    pub fn step(&mut self, byte: u8) -> bool {
        let mut have = usize::from(self.have);
        while have > 0 && self.bytes[have] != byte {
            have = usize::from(self.fall[have - 1]);
        }
        have += usize::from(self.bytes[have] == byte);
        let complete = have == self.bytes.len();
        self.have = if complete { 0 } else { have as u16 };
        complete
    }

    /// While nothing of it stands here: where it may begin in `hay`.
    pub fn first(&self, hay: &[u8]) -> usize {
        memchr(self.bytes[0], hay).unwrap_or(hay.len())
    }

    /// Nothing of it stands here any more.
    pub fn reset(&mut self) {
        self.have = 0;
    }

    /// Whether its tables fit; only a snapshot that was tampered with has others.
    pub fn fits(&self) -> bool {
        let len = self.bytes.len();
        len > 0
            && self.fall.len() == len
            && usize::from(self.have) < len
            && self
                .fall
                .iter()
                .enumerate()
                .all(|(at, fall)| usize::from(*fall) <= at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_a_naive_search_finds() {
        for literal in ["</a>", "]<]mm[>[</k>", "aab", "\n<p=", "x"] {
            let hay = "]<]mm[>[<]<]mm[>[</k></a</a>aaabx\n\n<p=</</a>";
            let mut needle = Needle::new(literal.into());
            let mut found = vec![];
            for (at, byte) in hay.bytes().enumerate() {
                if needle.step(byte) {
                    found.push(at + 1 - needle.len());
                }
                let naive = (0..needle.len())
                    .rev()
                    .find(|n| hay[..=at].ends_with(&literal[..*n]))
                    .unwrap_or(0);
                if !hay[..=at].ends_with(literal) {
                    assert_eq!(needle.have(), naive as u64, "{literal} {at}");
                }
            }
            let naive: Vec<usize> = hay.match_indices(literal).map(|(at, _)| at).collect();
            assert_eq!(found, naive, "{literal}");
        }
    }
}
