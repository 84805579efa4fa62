//! Searches for one literal in a value, byte by byte or by leaps. Inside a tag the text may have white space that the
//! literal does not spell out ([`tag::rooms`]).

use std::sync::Arc;

use memchr::memchr;
use serde::{Deserialize, Serialize};

use crate::xml;
use crate::{path, tag};

/// White space allowed in a closing tag that spells out none. It is held back.
const MAX_BLANKS: u16 = 16;

/// A literal with its failure table (Knuth-Morris-Pratt). Clones share both.
///
/// ```
/// use toolglot_scan::Needle;
///
/// let mut closer = Needle::tag(b"</tool_call>");
/// let end = b"} </tool_call >.".iter().position(|byte| closer.step(*byte));
/// assert_eq!(end, Some(14));
/// assert!(closer.spaced()); // the space is not part of the tag
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct Needle {
    literal: Arc<Literal>,
    /// Its first byte, or 0 if a tampered snapshot has none.
    first: u8,
    /// How many of its bytes precede the current position.
    have: u16,
    /// White space in its gaps before the current position.
    blanks: u16,
    /// Some of it is not a space.
    odd: bool,
    /// Bytes matched after the last of it.
    since: u16,
    /// White space in these places in the last match.
    spaced: u16,
    /// It was not the white space that the literal spells out.
    slip: bool,
}

/// What does not change.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Literal {
    bytes: Vec<u8>,
    fall: Vec<u16>,
    /// Where white space that it does not spell out may appear.
    gaps: Vec<u16>,
    /// The most white space allowed in these places.
    most: u16,
    /// White space that it does spell out in these places, and that `bytes` therefore leaves out.
    own: u16,
}

/// A needle in a snapshot.
#[derive(Serialize, Deserialize)]
struct Written {
    bytes: Vec<u8>,
    fall: Vec<u16>,
    have: u16,
    gaps: Vec<u16>,
    most: u16,
    own: u16,
    blanks: u16,
    odd: bool,
    since: u16,
    spaced: u16,
    slip: bool,
}

impl From<Written> for Needle {
    fn from(written: Written) -> Self {
        let literal = Literal {
            bytes: written.bytes,
            fall: written.fall,
            gaps: written.gaps,
            most: written.most,
            own: written.own,
        };
        Self {
            have: written.have,
            blanks: written.blanks,
            odd: written.odd,
            since: written.since,
            spaced: written.spaced,
            slip: written.slip,
            ..Self::of(literal)
        }
    }
}

impl From<Needle> for Written {
    fn from(needle: Needle) -> Self {
        let literal = Arc::unwrap_or_clone(needle.literal);
        Self {
            bytes: literal.bytes,
            fall: literal.fall,
            have: needle.have,
            gaps: literal.gaps,
            most: literal.most,
            own: literal.own,
            blanks: needle.blanks,
            odd: needle.odd,
            since: needle.since,
            spaced: needle.spaced,
            slip: needle.slip,
        }
    }
}

impl Literal {
    fn new(bytes: Vec<u8>) -> Self {
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
            gaps: vec![],
            most: 0,
            own: 0,
        }
    }

    /// A tag that may have as much white space as `most` in each of its gaps.
    fn tag(tag: &[u8], most: u16) -> Self {
        let bytes = tag::without_blanks(tag);
        Self {
            gaps: tag::rooms(&bytes).map(|at| at as u16).collect(),
            most,
            own: (tag.len() - bytes.len()) as u16,
            ..Self::new(bytes)
        }
    }
}

impl Needle {
    /// A literal of at least one byte.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self::of(Literal::new(bytes))
    }

    /// A tag. White space may appear where the tag spells out none, and may differ or be missing where it does.
    pub fn tag(tag: &[u8]) -> Self {
        Self::of(Literal::tag(tag, MAX_BLANKS))
    }

    /// A tag that nothing is held back for: it may have as much white space as an opener.
    pub fn opener(tag: &[u8]) -> Self {
        Self::of(Literal::tag(tag, path::MAX_BLANKS))
    }

    fn of(literal: Literal) -> Self {
        Self {
            first: literal.bytes.first().copied().unwrap_or_default(),
            literal: Arc::new(literal),
            have: 0,
            blanks: 0,
            odd: false,
            since: 0,
            spaced: 0,
            slip: false,
        }
    }

    /// Length of the last match.
    #[expect(clippy::len_without_is_empty, reason = "no needle is empty")]
    pub fn len(&self) -> usize {
        self.literal.bytes.len() + usize::from(self.spaced)
    }

    /// Whether the white space in the last match differed from what the literal spells out.
    pub fn spaced(&self) -> bool {
        self.slip
    }

    /// Its bytes, if they are text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.literal.bytes).unwrap_or_default()
    }

    /// Its first byte.
    pub fn begins(&self) -> Option<u8> {
        self.literal.bytes.first().copied()
    }

    /// Whether it may begin with these two bytes.
    #[inline]
    pub fn may_begin(&self, first: u8, second: u8) -> bool {
        let goes_on = self.literal.bytes.get(1).is_none_or(|own| *own == second);
        let blank = self.literal.gaps.first() == Some(&1) && xml::is_space(second);
        self.first == first && (goes_on || blank)
    }

    /// Calls `add` with each byte that may be its second one: those with which [`may_begin`](Self::may_begin) is true.
    ///
    /// ```
    /// let mut seconds = vec![];
    /// toolglot_scan::Needle::new(b"</a>".into()).seconds(|byte| seconds.push(byte));
    /// assert_eq!(seconds, *b"/");
    /// ```
    pub fn seconds(&self, mut add: impl FnMut(u8)) {
        match self.literal.bytes.get(1) {
            Some(own) => add(*own),
            None => (0..=255).for_each(&mut add),
        }
        if self.literal.gaps.first() == Some(&1) {
            xml::SPACES.into_iter().for_each(add);
        }
    }

    /// How many bytes of a partial match precede the current position.
    pub fn have(&self) -> u64 {
        u64::from(self.have + self.blanks)
    }

    /// Whether all of a closing tag but its last byte precedes the current position.
    pub fn lacks_end(&self) -> bool {
        usize::from(self.have) + 1 == self.literal.bytes.len()
            && self.literal.bytes.starts_with(b"</")
    }

    /// How many of its bytes precede the current position, without white space between them, if `byte` does not go on.
    #[inline]
    pub fn breaks_off(&self, byte: u8) -> Option<usize> {
        let have = usize::from(self.have);
        (have > 0 && self.blanks == 0 && self.literal.bytes[have] != byte).then_some(have)
    }

    /// Begins a match of which `len` bytes precede the current position.
    pub fn begin(&mut self, len: usize) {
        self.reset();
        for at in 0..len.min(self.literal.bytes.len() - 1) {
            self.step(self.literal.bytes[at]);
        }
    }

    /// Consumes a byte; returns true if it completes the literal.
    #[inline]
    pub fn step(&mut self, byte: u8) -> bool {
        // Nothing is under way, and this byte begins nothing.
        if self.have == 0 && self.first != byte {
            return false;
        }
        self.go_on(byte)
    }

    fn go_on(&mut self, byte: u8) -> bool {
        let mut have = usize::from(self.have);
        if self.literal.bytes[have] != byte && have > 0 && !self.literal.gaps.is_empty() {
            if self.blank(byte) {
                return false;
            }
            // What the match may fall back to must lie after the white space.
            while self.blanks > 0 && have > usize::from(self.since) {
                have = usize::from(self.literal.fall[have - 1]);
            }
            (self.blanks, self.odd) = (0, false);
        }
        while have > 0 && self.literal.bytes[have] != byte {
            have = usize::from(self.literal.fall[have - 1]);
        }
        have += usize::from(self.literal.bytes[have] == byte);
        self.since += u16::from(self.blanks > 0);
        let complete = have == self.literal.bytes.len();
        if complete {
            self.slip = self.blanks != self.literal.own || (self.odd && self.literal.own > 0);
            (self.spaced, self.blanks, self.odd) = (self.blanks, 0, false);
        }
        self.have = if complete { 0 } else { have as u16 };
        complete
    }

    /// Consumes white space that the literal does not spell out, if it is allowed here.
    fn blank(&mut self, byte: u8) -> bool {
        let may = self.literal.gaps.contains(&self.have) && xml::is_space(byte);
        let may = may && self.blanks < self.literal.most;
        if may {
            (self.blanks, self.since) = (self.blanks + 1, 0);
            self.odd |= byte != b' ';
        }
        may
    }

    /// Where the literal may begin in `hay`, while no match is under way.
    pub fn first(&self, hay: &[u8]) -> usize {
        memchr(self.first, hay).unwrap_or(hay.len())
    }

    /// Drops the partial match.
    pub fn reset(&mut self) {
        (self.have, self.blanks, self.odd) = (0, 0, false);
    }

    /// Whether the tables are consistent; only a tampered snapshot has others.
    pub fn fits(&self) -> bool {
        let len = self.literal.bytes.len();
        len > 0
            && self.literal.fall.len() == len
            && usize::from(self.have) < len
            && (self.blanks == 0 || self.have > 0)
            && self.blanks.max(self.spaced) <= self.literal.most
            && self.since <= len as u16
            && self
                .literal
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
    fn the_second_bytes_are_those_that_it_may_begin_with() {
        for tag in [
            "<",
            "</a>",
            "</ a>",
            "\n<param=",
            "<a>",
            "[/x]",
            "「末」",
            "< / a >",
        ] {
            for needle in [
                Needle::new(tag.into()),
                Needle::tag(tag.as_bytes()),
                Needle::opener(tag.as_bytes()),
            ] {
                let mut seconds = [false; 256];
                needle.seconds(|second| seconds[usize::from(second)] = true);
                for byte in 0..=255 {
                    let may = needle.may_begin(needle.first, byte);
                    assert_eq!(seconds[usize::from(byte)], may, "{tag:?} {byte}");
                }
            }
        }
    }

    #[test]
    fn closing_tags_may_contain_white_space() {
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
            let mut needle = Needle::tag(tag.as_bytes());
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
        let mut needle = Needle::tag(b"</a>");
        assert!(!long.bytes().any(|byte| needle.step(byte)));
        for (text, slip) in [
            ("</｜D｜ k>", false),
            ("</｜D｜k>", true),
            ("</｜D｜\nk>", true),
            ("</｜D｜ k >", true),
        ] {
            let mut needle = Needle::tag("</｜D｜ k>".as_bytes());
            assert!(text.bytes().any(|byte| needle.step(byte)), "{text}");
            assert_eq!((needle.spaced(), needle.len()), (slip, text.len()));
        }
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
