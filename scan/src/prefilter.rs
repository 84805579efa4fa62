//! Skips over bytes at which no marker can begin.
//!
//! Chunks of a token's size go through a byte table. Longer ones are searched with vectors ([`Vector`]). Where the processor has
//! none, or the markers have too many first bytes, several searches take their place: `memchr` for first bytes of markers that are rare in text, and a substring search for each marker that begins with a letter. A hit
//! is compared with the first bytes of the markers before the automaton sees it. Where candidates are dense (code full of
//! `<`), packed Teddy over whole markers takes over for a while, or the table if there are too many markers for Teddy; both
//! cost the same whatever the text. The choice is kept in [`Skip`], which belongs to one feed and never to the parser's
//! state.

use std::collections::BTreeSet;

use aho_corasick::packed;
use memchr::{memchr, memchr2, memchr3, memmem};

use super::{Dfa, Pattern, PatternError};
use crate::vector::{Vector, marks_code};

/// Chunks up to this length are read byte by byte; the limit grows by as much for each search of the set.
const TINY: usize = 16;
/// More candidates than this within [`WINDOW`] bytes make the text dense.
const DENSE: u32 = 20;
/// The same limit where the byte table is the only alternative.
const CROWDED: u32 = 64;
const WINDOW: usize = 1024;
/// How far the dense mode stays active before the density is measured again.
const STRETCH: usize = 16 * 1024;
/// How far each search goes before the next one runs: the first step, and the longest. A hit resets the length, which bounds
/// what the other searches read again.
const STEP: usize = 256;
const MAX_STEP: usize = 16 * 1024;
/// More searches than this cost more than the table.
const SEARCHES: usize = 6;
/// Teddy takes at most this many markers.
const TEDDY: usize = 64;
/// Bytes of a marker that are compared with a candidate.
const PRINT: usize = 4;

/// This byte may begin a marker.
const BEGINS: u8 = 1;
/// This byte matters to lines or to Markdown code.
const MARKS: u8 = 2;
/// This byte marks code, and the set reports where such bytes are.
const CODE: u8 = 4;
/// This byte opens a bracket.
const BRACKET: u8 = 8;

/// An automaton with its prefilters. Immutable.
#[derive(Clone, Debug)]
pub struct Scanner {
    /// The automaton.
    pub dfa: Dfa,
    /// Per byte: [`BEGINS`], [`MARKS`], [`BRACKET`].
    kinds: [u8; 256],
    prints: Box<Prints>,
    searches: Vec<Search>,
    dense: Option<Dense>,
    vector: Option<Box<Vector>>,
}

/// Whether a short text is plain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plain {
    /// In it no marker begins, no line ends, nothing marks code, and no bracket opens.
    Yes,
    /// The same, but a bracket opens.
    Brackets,
    /// It is not.
    No,
}

/// Finds markers where candidates are dense.
#[derive(Clone, Debug)]
struct Dense {
    /// Searches for the markers, or for their prefixes of at most `prefix` bytes.
    teddy: packed::Searcher,
    prefix: usize,
    /// The two bytes that most markers begin with, if Teddy could not take those markers as well.
    pair: Option<Search>,
}

/// The first bytes of all markers: for each index and byte, the groups of markers that have the byte there.
type Prints = [[u32; 256]; PRINT];

/// The number of groups that markers are divided into.
const GROUPS: usize = 32;

#[derive(Clone, Debug)]
enum Search {
    /// One to three bytes that begin markers.
    Bytes(Vec<u8>),
    /// A whole marker.
    Marker(Box<memmem::Finder<'static>>),
}

/// What one feed has seen of the text's density.
#[derive(Debug)]
pub struct Skip {
    window: usize,
    candidates: u32,
    dense_until: usize,
    step: usize,
    marks: Marks,
}

/// Where bytes are that may mark code: all are between the first and the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    /// The first place.
    pub first: usize,
    /// The last place.
    pub last: usize,
}

impl Marks {
    /// There are none.
    pub const NONE: Self = Self {
        first: usize::MAX,
        last: 0,
    };
    /// They may be anywhere.
    pub const UNKNOWN: Self = Self {
        first: 0,
        last: usize::MAX,
    };

    /// The same places within a piece at offset `start` of a stream, if they were counted from `base`. Bytes before `base` may
    /// be marks.
    #[inline]
    #[must_use]
    pub fn within(self, start: u64, base: u64) -> Self {
        match start.checked_sub(base) {
            Some(_) if self == Self::UNKNOWN => self,
            Some(at) if self.last as u64 >= at && self != Self::NONE => Self {
                first: self.first.saturating_sub(at as usize),
                last: self.last - at as usize,
            },
            Some(_) => Self::NONE,
            None => Self::UNKNOWN,
        }
    }
}

impl Default for Skip {
    fn default() -> Self {
        Self {
            window: 0,
            candidates: 0,
            dense_until: 0,
            step: STEP,
            marks: Marks::NONE,
        }
    }
}

impl Scanner {
    /// Builds automaton and prefilters.
    ///
    /// # Errors
    /// The patterns are too many or too long for the table, or use every byte value.
    pub fn new(patterns: Vec<Pattern>) -> Result<Self, PatternError> {
        let dfa = Dfa::new(patterns)?;
        let vector = Vector::new(dfa.patterns()).map(Box::new);
        let reports = vector.as_ref().is_some_and(|vector| vector.marks);
        let mut kinds = [0; 256];
        for byte in 0..=255_u8 {
            if dfa.next(super::ROOT, byte) != super::ROOT {
                kinds[usize::from(byte)] |= BEGINS;
            }
            if matches!(byte, b'\n' | b'`') {
                kinds[usize::from(byte)] |= MARKS;
            }
            if reports && marks_code(byte) {
                kinds[usize::from(byte)] |= CODE;
            }
            if byte == b'[' {
                kinds[usize::from(byte)] |= BRACKET;
            }
        }
        Ok(Self {
            kinds,
            prints: prints(dfa.patterns()),
            searches: searches(&dfa),
            dense: Dense::new(&dfa),
            vector,
            dfa,
        })
    }

    /// Whether no byte of a short text is the first byte of a marker, ends a line, marks code or opens a bracket.
    #[inline]
    pub fn bland(&self, text: &[u8]) -> bool {
        let kinds = text.iter().map(|byte| self.kinds[usize::from(*byte)]);
        kinds.fold(0, |all, kind| all | kind) & !CODE == 0
    }

    /// The same, but a byte begins a marker only if the bytes after it fit as well, and brackets are told apart.
    #[inline]
    pub fn plain(&self, text: &[u8]) -> Plain {
        let kinds = text.iter().map(|byte| self.kinds[usize::from(*byte)]);
        match kinds.fold(0, |all, kind| all | kind) & !CODE {
            0 => Plain::Yes,
            all if all & MARKS != 0 => Plain::No,
            all if all & BEGINS != 0 && !self.empty(text) => Plain::No,
            all if all & BRACKET != 0 => Plain::Brackets,
            _ => Plain::Yes,
        }
    }

    /// Whether no marker begins in a short text, as far as a quick look shows.
    #[inline]
    pub fn begins_none(&self, text: &[u8]) -> bool {
        let kinds = text.iter().map(|byte| self.kinds[usize::from(*byte)]);
        let all = kinds.fold(0, |all, kind| all | kind);
        // A last byte that may begin a marker mostly does, as far as can be seen.
        let last = text.last().map_or(0, |byte| self.kinds[usize::from(*byte)]);
        all & BEGINS == 0 || (last & BEGINS == 0 && self.empty(text))
    }

    #[inline(never)]
    fn empty(&self, text: &[u8]) -> bool {
        self.table(text, 0, &mut Skip::default()) == text.len()
    }

    /// The next index from `at` at which a marker may begin, or the length of `hay`. Nothing may be under way at `at`.
    #[inline]
    pub fn skip(&self, hay: &[u8], at: usize, state: &mut Skip) -> usize {
        let searches = if self.vector.is_some() {
            1
        } else {
            1 + self.searches.len()
        };
        if hay.len() - at <= TINY * searches {
            return self.table(hay, at, state);
        }
        if let Some(vector) = &self.vector {
            let may = |at| self.may(hay, at);
            return vector.find(hay, at, state, &may);
        }
        state.marks = Marks::UNKNOWN;
        self.bulk(hay, at, state)
    }

    /// Where marks of code are among the bytes that were skipped or [stepped over](Skip::stepped).
    #[must_use]
    pub fn marks(&self, state: &Skip) -> Marks {
        let reports = self.vector.as_ref().is_some_and(|vector| vector.marks);
        if reports { state.marks } else { Marks::UNKNOWN }
    }

    /// Skips byte by byte.
    #[inline]
    fn table(&self, hay: &[u8], mut at: usize, state: &mut Skip) -> usize {
        let matters = |byte: &u8| self.kinds[usize::from(*byte)] & (BEGINS | CODE) != 0;
        while let Some(n) = hay[at..].iter().position(matters) {
            at += n;
            state.stepped(hay[at], at);
            if self.may(hay, at) {
                return at;
            }
            at += 1;
        }
        hay.len()
    }

    /// Whether a marker may begin at `at`, as far as its first bytes show.
    #[inline]
    fn may(&self, hay: &[u8], at: usize) -> bool {
        let places = self.prints.iter().zip(&hay[at..]);
        places.fold(u32::MAX, |all, (place, byte)| {
            all & place[usize::from(*byte)]
        }) != 0
    }

    fn bulk(&self, hay: &[u8], mut at: usize, state: &mut Skip) -> usize {
        while at < hay.len() {
            if at < state.dense_until || self.searches.is_empty() {
                return match &self.dense {
                    Some(dense) => self.dense(dense, hay, at, state),
                    None => self.table(hay, at, state),
                };
            }
            let step = if self.searches.len() > 1 {
                state.step
            } else {
                hay.len()
            };
            let end = hay.len().min(at.saturating_add(step));
            let Some(found) = search(&self.searches, hay, at, end) else {
                state.step = MAX_STEP.min(2 * state.step);
                at = end;
                continue;
            };
            state.step = STEP;
            state.candidate(found, self.dense.is_some());
            if self.may(hay, found) {
                return found;
            }
            at = found + 1;
        }
        hay.len()
    }

    /// Skips to what begins like a marker. Markers that the end of the chunk splits count: one may begin before a whole
    /// marker that it contains (`Action:` in `**Action:**`).
    fn dense(&self, dense: &Dense, hay: &[u8], mut at: usize, state: &mut Skip) -> usize {
        let tail = hay.len().saturating_sub(dense.prefix - 1).max(at);
        // Where the pair occurs next, or the end of what was searched for it.
        let (mut pair, mut step) = (at, WINDOW);
        while at < tail {
            if pair <= at {
                let end = match dense.pair {
                    None => tail,
                    Some(_) => tail.min(at + step),
                };
                pair = search(dense.pair.as_slice(), hay, at, end).unwrap_or(end);
                step = MAX_STEP.min(2 * step);
            }
            let span = aho_corasick::Span {
                start: at,
                end: hay.len().min(pair + dense.prefix - 1),
            };
            let found = dense.teddy.find_in(hay, span).map(|found| found.start());
            let first = found.map_or(pair, |found| pair.min(found));
            if first < tail && self.may(hay, first) {
                return first;
            }
            at = tail.min(first + 1);
        }
        self.table(hay, at, state)
    }
}

/// The first index in `at..end` that one of these searches finds.
fn search(searches: &[Search], hay: &[u8], at: usize, end: usize) -> Option<usize> {
    let mut first = end;
    for search in searches {
        let found = match search {
            Search::Bytes(bytes) => match *bytes.as_slice() {
                [a] => memchr(a, &hay[at..first]),
                [a, b] => memchr2(a, b, &hay[at..first]),
                [a, b, c] => memchr3(a, b, c, &hay[at..first]),
                _ => hay[at..first].iter().position(|byte| bytes.contains(byte)),
            },
            Search::Marker(marker) => {
                let needle = marker.needle();
                let to = hay.len().min(first + needle.len() - 1);
                let found = marker.find(&hay[at..to]);
                if found.is_none() && to == hay.len() {
                    // The end of the chunk may split a marker.
                    let tail = at.max((to + 1).saturating_sub(needle.len()));
                    split_by_end(needle, hay, tail).map(|n| n - at)
                } else {
                    found
                }
            }
        };
        first = found.map_or(first, |n| first.min(at + n));
    }
    (first < end).then_some(first)
}

impl Skip {
    /// Notes a byte at `at` that went to the automaton.
    #[inline]
    pub fn stepped(&mut self, byte: u8, at: usize) {
        if marks_code(byte) {
            self.marked(at);
        }
    }

    /// Notes a mark of code.
    pub(crate) fn marked(&mut self, at: usize) {
        self.marks.first = self.marks.first.min(at);
        self.marks.last = self.marks.last.max(at);
    }

    /// Counts a candidate.
    fn candidate(&mut self, at: usize, teddy: bool) {
        if at >= self.window.saturating_add(WINDOW) {
            self.window = at;
            self.candidates = 0;
        }
        self.candidates += 1;
        if self.candidates > if teddy { DENSE } else { CROWDED } {
            self.dense_until = at + STRETCH;
            self.candidates = 0;
        }
    }
}

impl Dense {
    /// Searches for the markers or, if there are too many, for prefixes that are as long as Teddy can take. If those are
    /// still too many, the most common first pair is searched for separately.
    fn new(dfa: &Dfa) -> Option<Self> {
        let markers = dfa.patterns();
        if !dfa.exact() || markers.iter().any(|p| p.bytes.len() < 2) {
            return None;
        }
        for prefix in [dfa.max_len(), 8, 4, 3] {
            let mut begins: BTreeSet<&[u8]> = markers
                .iter()
                .map(|marker| within(beginning(dfa, marker), prefix))
                .collect();
            let pair = match begins.len() <= TEDDY {
                true => None,
                false => Some(commonest(&begins)),
            };
            begins.retain(|begin| pair.is_none_or(|pair| !begin.starts_with(pair)));
            if prefix == PRINT {
                begins = merged(begins);
            }
            if begins.len() <= TEDDY {
                let finder = |pair| Box::new(memmem::Finder::new(pair).into_owned());
                return Some(Self {
                    teddy: packed::Config::new().builder().extend(begins).build()?,
                    prefix,
                    pair: pair.map(|pair| Search::Marker(finder(pair))),
                });
            }
        }
        None
    }
}

/// At most `most` bytes, and none after white space: spellings that differ only there are searched for as one.
fn within(begin: &[u8], most: usize) -> &[u8] {
    let begin = &begin[..begin.len().min(most)];
    let blank = begin.iter().skip(1).position(u8::is_ascii_whitespace);
    blank.map_or(begin, |at| &begin[..at + 2])
}

/// At most as many prefixes as Teddy takes, if possible. Prefixes that differ only in their last byte are replaced by what
/// they share. Those with the fewest letters go first, since they are the rarest in text.
fn merged(mut begins: BTreeSet<&[u8]>) -> BTreeSet<&[u8]> {
    fn shared(begin: &[u8]) -> &[u8] {
        &begin[..PRINT - 1]
    }
    while begins.len() > TEDDY {
        let twins = |begin: &[u8]| {
            let others = begins.iter();
            others
                .filter(|other| other.starts_with(shared(begin)))
                .count()
                > 1
        };
        let letters = |begin: &[u8]| {
            let letters = shared(begin)
                .iter()
                .filter(|byte| byte.is_ascii_alphabetic());
            letters.count()
        };
        let whole = begins.iter().filter(|begin| begin.len() == PRINT);
        let whole = whole.filter(|begin| twins(begin));
        let Some(begin) = whole.min_by_key(|begin| letters(begin)).copied() else {
            break;
        };
        begins.retain(|other| !other.starts_with(shared(begin)));
        begins.insert(shared(begin));
    }
    begins
}

/// The two bytes that most prefixes begin with.
fn commonest<'m>(begins: &BTreeSet<&'m [u8]>) -> &'m [u8] {
    let count = |pair: &[u8]| {
        begins
            .iter()
            .filter(|begin| begin.starts_with(pair))
            .count()
    };
    let pairs = begins.iter().map(|begin| &begin[..2]);
    pairs.max_by_key(|pair| count(pair)).unwrap_or_default()
}

/// The prefix of a marker to search for: up to the end of the first other marker inside it. The scan must stop where that
/// one ends, because this one may be under way and hold back text.
fn beginning<'p>(dfa: &Dfa, marker: &'p Pattern) -> &'p [u8] {
    let mut node = super::ROOT;
    for (at, byte) in marker.bytes.iter().enumerate().skip(1) {
        node = dfa.next(node, *byte);
        if dfa.is_hit(node) {
            return &marker.bytes[..=at];
        }
    }
    &marker.bytes
}

/// Where a marker begins, from `at` on, that the end of `hay` splits.
fn split_by_end(marker: &[u8], hay: &[u8], at: usize) -> Option<usize> {
    (at..hay.len()).find(|start| marker.starts_with(&hay[*start..]))
}

/// Whether a byte is too frequent in text to search for.
pub(crate) fn frequent(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte.is_ascii_whitespace() || !byte.is_ascii()
}

/// The searches for the prefixes of all markers; empty if the table alone is cheaper.
fn searches(dfa: &Dfa) -> Vec<Search> {
    let mut bytes: Vec<u8> = vec![];
    let mut markers: Vec<&[u8]> = vec![];
    for pattern in dfa.patterns() {
        let first = pattern.bytes[0];
        if !frequent(first) {
            bytes.push(first);
        } else if pattern.exact() && pattern.bytes.len() > 2 {
            markers.push(beginning(dfa, pattern));
        } else {
            // Both cases of a letter.
            let both = (0..=255).filter(|byte| pattern.accepts(0, *byte));
            bytes.extend(both);
        }
    }
    bytes.sort_unstable();
    bytes.dedup();
    // A marker is found by its first byte if that byte is searched for anyway.
    markers.retain(|marker| !bytes.contains(&marker[0]));
    markers.sort_unstable();
    markers.dedup();
    let finder = |marker: &[u8]| memmem::Finder::new(marker).into_owned();
    let bytes = bytes.chunks(3).map(|bytes| Search::Bytes(bytes.to_vec()));
    let markers = markers
        .iter()
        .map(|marker| Search::Marker(Box::new(finder(marker))));
    let all: Vec<Search> = bytes.chain(markers).collect();
    if all.len() > SEARCHES { vec![] } else { all }
}

/// Groups are ranges of the sorted markers, so that the markers of a group begin alike.
fn prints(patterns: &[Pattern]) -> Box<Prints> {
    let mut sorted: Vec<&Pattern> = patterns.iter().collect();
    let begin = |pattern: &&Pattern| pattern.bytes[..pattern.bytes.len().min(PRINT)].to_vec();
    sorted.sort_by_key(begin);
    let mut begins: Vec<Vec<u8>> = sorted.iter().map(begin).collect();
    begins.dedup();
    let mut prints = Box::new([[0; 256]; PRINT]);
    for pattern in sorted {
        let place = begins.iter().position(|have| *have == begin(&pattern));
        let group = place.unwrap_or(0) * GROUPS / begins.len();
        for (at, place) in prints.iter_mut().enumerate() {
            for byte in 0..=255_u8 {
                if at >= pattern.bytes.len() || pattern.accepts(at, byte) {
                    place[usize::from(byte)] |= 1 << group;
                }
            }
        }
    }
    prints
}

#[cfg(test)]
mod tests {
    use super::super::ROOT;
    use super::*;
    use crate::Case;

    /// Ends of markers and the nodes there, with skipping or by stepping over every byte.
    fn ends(scanner: &Scanner, hay: &[u8], skipping: bool) -> (Vec<(usize, u16)>, u16) {
        let (mut node, mut at, mut state, mut out) = (ROOT, 0, Skip::default(), vec![]);
        while at < hay.len() {
            if skipping && node == ROOT {
                at = scanner.skip(hay, at, &mut state);
                if at == hay.len() {
                    break;
                }
            }
            node = scanner.dfa.next(node, hay[at]);
            at += 1;
            if scanner.dfa.is_hit(node) {
                out.push((at, node));
            }
        }
        (out, node)
    }

    /// The same set with each kind of vectors, and without.
    fn kinds(scanner: &Scanner) -> Vec<Scanner> {
        let vector = scanner.vector.iter().flat_map(|vector| vector.widths());
        let with = |vector| Scanner {
            vector,
            ..scanner.clone()
        };
        let all = vector.map(|vector| with(Some(Box::new(vector))));
        all.chain([with(None)]).collect()
    }

    /// Compares both ways on texts made of many of these pieces.
    fn same(scanner: &Scanner, pieces: &[&str]) {
        for scanner in kinds(scanner) {
            same_of(&scanner, pieces);
        }
    }

    fn same_of(scanner: &Scanner, pieces: &[&str]) {
        let mut seed = 7_u64;
        for round in 0..800 {
            let mut hay = String::new();
            for _ in 0..(round % 197) {
                seed = seed
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                hay.push_str(pieces[(seed >> 33) as usize % pieces.len()]);
                // Stretches that vectors skip.
                if seed >> 60 == 0 {
                    hay.push_str(&"and many, many more words; ".repeat((seed >> 40) as usize % 20));
                }
            }
            let hay = hay.as_bytes();
            check_marks(scanner, hay);
            assert_eq!(
                ends(scanner, hay, true),
                ends(scanner, hay, false),
                "{}",
                String::from_utf8_lossy(hay)
            );
        }
    }

    /// The reported marks are the first and the last one.
    fn check_marks(scanner: &Scanner, hay: &[u8]) {
        let (mut node, mut at, mut state) = (ROOT, 0, Skip::default());
        while at < hay.len() {
            if node == ROOT {
                at = scanner.skip(hay, at, &mut state);
                if at == hay.len() {
                    break;
                }
            }
            node = scanner.dfa.next(node, hay[at]);
            state.stepped(hay[at], at);
            at += 1;
        }
        let is_mark = |byte: &u8| marks_code(*byte);
        let first = hay.iter().position(is_mark).unwrap_or(usize::MAX);
        let last = hay.iter().rposition(is_mark).unwrap_or(0);
        let marks = scanner.marks(&state);
        assert!(
            marks == Marks::UNKNOWN || marks == Marks { first, last },
            "{marks:?}: {}",
            String::from_utf8_lossy(hay)
        );
    }

    #[test]
    fn more_markers_than_teddy_takes() {
        let mut markers: Vec<String> = ('a'..='z')
            .flat_map(|a| ["x", "y|", "z>"].map(|rest| format!("<{a}{rest}")))
            .collect();
        // Four-byte prefixes that are equal because white space ends them, and prefixes that begin with the same pair.
        markers.truncate(60);
        markers.extend(
            [
                "</ t",
                "</ u",
                "</ v",
                "[THINK]",
                "]<]m",
                "functools",
                "<|",
                "<|x|>",
            ]
            .map(str::to_owned),
        );
        markers.extend(('a'..='z').map(|a| format!("<|{a}")));
        let scanner = |markers: &[String]| {
            let pattern = |marker: &String| Pattern::new(marker, Case::Exact);
            Scanner::new(markers.iter().map(pattern).collect()).expect("few patterns")
        };
        let pieces = [
            "<",
            "a < b; ",
            "<ax",
            "<by",
            "<by|",
            "<cz",
            "<cz>",
            "<d",
            "[",
            "[TH",
            "[THINK]",
            "[x",
            "]<",
            "]<]m",
            "{",
            "{{",
            "**",
            "**Do",
            "**Do:**",
            "fun",
            "functools",
            "plain words ",
            "中文",
            "]<]<ax",
            "<|",
            "<|x|>",
            "<|q",
            "<| ",
            "</ t",
            "</ ",
        ];
        let pair = scanner(&markers);
        let beside = pair.dense.as_ref().map(|dense| dense.pair.as_ref());
        assert!(matches!(beside, Some(Some(Search::Marker(pair))) if pair.needle() == b"<|"));
        same(&pair, &pieces);
        // Too many even with the pair.
        let mut more = markers.clone();
        more.extend(('a'..='z').map(|a| format!("{{{a}")));
        let table = scanner(&more);
        assert!(table.dense.is_none());
        same(&table, &pieces);
        markers.retain(|marker| !marker.starts_with("<|"));
        let teddy = scanner(&markers);
        assert!(teddy.dense.is_some_and(|dense| dense.pair.is_none()));
    }

    #[test]
    fn prefixes_that_differ_in_their_last_byte_are_merged() {
        let mut markers: Vec<String> = ('a'..='z')
            .flat_map(|a| ['<', '('].map(|mark| format!("{mark}{a}wx")))
            .collect();
        markers.extend(('a'..='i').map(|a| format!("]{a}wx")));
        let twins = [
            "<<<[", "<<<D", "</ma", "</mb", "[max", "[may", "{qqx", "{qqy",
        ];
        markers.extend(twins.map(str::to_owned));
        let pattern = |marker: &String| Pattern::new(marker, Case::Exact);
        let scanner = Scanner::new(markers.iter().map(pattern).collect()).expect("few patterns");
        let dense = scanner.dense.as_ref().expect("no more than Teddy takes");
        assert_eq!(dense.prefix, PRINT);
        let pieces = [
            "<", "<<", "<<<", "<<<[", "<<<D", "</m", "</ma", "</mc", "<bwx", "<bw", "]awx",
            "a < b; ",
        ];
        same(&scanner, &pieces);
    }

    #[test]
    fn skipping_changes_nothing() {
        let markers = [
            "<tool_call",
            "<<<[REQ]>>>",
            "<|[R]|>",
            "[x",
            "functools",
            "Action:",
            "]<]m",
            "「末」",
            // Markers that contain others of this list.
            "**Action:**",
            "]<]<tool_call>",
        ];
        for count in 1..=markers.len() {
            let patterns = markers[..count]
                .iter()
                .map(|m| Pattern::new(m, Case::Exact))
                .collect();
            let scanner = Scanner::new(patterns).expect("few patterns");
            let pieces = [
                "<",
                "plain words ",
                "<tool_call",
                "<tool_cal",
                "<<<[REQ]>>>",
                "<<",
                "<|[R]|",
                "[",
                "[x",
                "a < b; ",
                "functools",
                "functool",
                "Action",
                "Action: ",
                "]<",
                "]<]m",
                "「末",
                "「末」",
                "fun",
                "**",
                "**Action:",
                "**Action:**",
                "]<]<tool_call",
                "`",
                "~~~",
                "```x\n",
            ];
            same(&scanner, &pieces);
        }
    }
}
