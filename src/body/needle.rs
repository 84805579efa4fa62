//! One literal that is looked for in a value, byte by byte or by leaps. In tags blanks may stand that the literal does not
//! show ([`tag::rooms`]).

use memchr::memchr;
use serde::{Deserialize, Serialize};

use super::xml;
use crate::scan::tag;

/// Blanks that may stand in a tag that does not show them.
const MAX_BLANKS: u16 = 16;

/// A literal with what to fall back to where it breaks off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Needle {
    bytes: Vec<u8>,
    fall: Vec<u16>,
    /// How much of it stands right before the present place.
    have: u16,
    /// Where blanks may stand in it that it does not show.
    gaps: Vec<u16>,
    /// Such blanks in what stands right before the present place.
    blanks: u16,
    /// Bytes of it behind the last of these blanks.
    since: u16,
    /// Such blanks where it was found last.
    spaced: u16,
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
            gaps: vec![],
            blanks: 0,
            since: 0,
            spaced: 0,
        }
    }

    /// A tag, in which blanks may stand that it does not show.
    pub fn tag(bytes: Vec<u8>) -> Self {
        let gaps = tag::rooms(&bytes).map(|at| at as u16).collect();
        Self {
            gaps,
            ..Self::new(bytes)
        }
    }

    /// Its length where it was found last.
    pub fn len(&self) -> usize {
        self.bytes.len() + usize::from(self.spaced)
    }

    /// Whether blanks stood in it where it was found last.
    pub fn spaced(&self) -> bool {
        self.spaced > 0
    }

    /// Its bytes, if they are text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap_or_default()
    }

    /// Its first byte.
    pub fn begins(&self) -> Option<u8> {
        self.bytes.first().copied()
    }

    /// How many bytes of it stand right before the present place.
    pub fn have(&self) -> u64 {
        u64::from(self.have + self.blanks)
    }

    /// Takes a byte; true if the literal is complete.
    pub fn step(&mut self, byte: u8) -> bool {
        let mut have = usize::from(self.have);
        if self.bytes[have] != byte && have > 0 && !self.gaps.is_empty() {
            if self.blank(byte) {
                return false;
            }
            // What it may go on with stands behind the blanks.
            while self.blanks > 0 && have > usize::from(self.since) {
                have = usize::from(self.fall[have - 1]);
            }
            self.blanks = 0;
        }
        while have > 0 && self.bytes[have] != byte {
            have = usize::from(self.fall[have - 1]);
        }
        have += usize::from(self.bytes[have] == byte);
        self.since += u16::from(self.blanks > 0);
        let complete = have == self.bytes.len();
        if complete {
            (self.spaced, self.blanks) = (self.blanks, 0);
        }
        self.have = if complete { 0 } else { have as u16 };
        complete
    }

    /// Takes a blank that it does not show.
    fn blank(&mut self, byte: u8) -> bool {
        let may = self.gaps.contains(&self.have) && xml::is_space(byte);
        let may = may && self.blanks < MAX_BLANKS;
        if may {
            (self.blanks, self.since) = (self.blanks + 1, 0);
        }
        may
    }

    /// While nothing of it stands here: where it may begin in `hay`.
    pub fn first(&self, hay: &[u8]) -> usize {
        memchr(self.bytes[0], hay).unwrap_or(hay.len())
    }

    /// Nothing of it stands here any more.
    pub fn reset(&mut self) {
        (self.have, self.blanks) = (0, 0);
    }

    /// Whether its tables fit; only a snapshot that was tampered with has others.
    pub fn fits(&self) -> bool {
        let len = self.bytes.len();
        len > 0
            && self.fall.len() == len
            && usize::from(self.have) < len
            && (self.blanks == 0 || self.have > 0)
            && self.blanks.max(self.spaced) <= MAX_BLANKS
            && self.since <= len as u16
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
    fn blanks_may_stand_in_a_closing_tag() {
        for (tag, text, found) in [
            ("</a>", "x</ a >y</a></ a", vec![(7, 6), (12, 4)]),
            ("</a>", "</ </a>< /a></a\n>", vec![(7, 4), (17, 5)]),
            (
                "<|close|>arg<|sep|>",
                "<|close|> arg <|close|>arg<|sep|>",
                vec![(33, 19)],
            ),
            (
                "<|close|>arg<|sep|>",
                "<|close|> arg <|sep|>",
                vec![(21, 21)],
            ),
            ("]<]m[>[</k>", "]<]m[>]<]m[>[</\tk >", vec![(19, 13)]),
            ("</中>", "</ 中 >", vec![(8, 8)]),
            ("</｜D｜k>", "</｜D｜\n k >", vec![(14, 14)]),
        ] {
            let mut needle = Needle::tag(tag.into());
            let mut got = vec![];
            for (at, byte) in text.bytes().enumerate() {
                if needle.step(byte) {
                    got.push((at + 1, needle.len()));
                    assert_eq!(needle.spaced(), needle.len() > tag.len(), "{tag} in {text}");
                }
                assert!(needle.fits() && needle.have() <= at as u64 + 1);
            }
            assert_eq!(got, found, "{tag} in {text}");
        }
        let long = format!("</a{}>", " ".repeat(17));
        let mut needle = Needle::tag("</a>".into());
        assert!(!long.bytes().any(|byte| needle.step(byte)));
    }

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
