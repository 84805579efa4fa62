//! Skips over bytes at which no marker can begin.
//!
//! Chunks of a token's size go through a byte table. Longer ones are searched with vectors ([`Vector`]) or, where the
//! processor has none or the markers have too many first bytes, by several searches ([`Searches`]). Neither decides
//! anything: the automaton steps over what they find.

mod searches;

use self::searches::{Density, Searches};
use super::{Dfa, Node, Pattern, PatternError};
use crate::begin::{Begin, HEAD};
use crate::marks::{CODE, Marks, marks_code};
use crate::vector::Vector;

/// Chunks up to this length are read byte by byte; the limit grows by as much for each search of the set.
const TINY: usize = 16;

/// What bytes of a text mean to markers, lines and code.
///
/// ```
/// use toolglot_scan::{Case, Kinds, Pattern, Scanner};
///
/// let scanner = Scanner::new(vec![Pattern::new("<tool_call>", Case::Exact)])?;
/// let kinds = scanner.kinds(b"a < b\n");
/// assert!(kinds.has(Kinds::BEGINS) && kinds.has(Kinds::MARKS) && !kinds.has(Kinds::WIDE));
/// # Ok::<(), toolglot_scan::PatternError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds(u8);

impl Kinds {
    /// A byte begins a marker.
    pub const BEGINS: Self = Self(1);
    /// A byte ends a line or is a backtick.
    pub const MARKS: Self = Self(2);
    /// A byte marks code, and the set reports where such bytes are.
    const CODE: Self = Self(4);
    /// A byte opens a bracket.
    pub const BRACKET: Self = Self(8);
    /// A byte is not ASCII.
    pub const WIDE: Self = Self(16);

    /// Both.
    #[inline]
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Those that `others` lacks.
    #[inline]
    #[must_use]
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Whether some of them occur.
    #[inline]
    #[must_use]
    pub const fn has(self, some: Self) -> bool {
        self.0 & some.0 != 0
    }

    /// Whether only one of these occurs, and it is `one`.
    #[inline]
    #[must_use]
    pub const fn has_only(self, one: Self, of: Self) -> bool {
        self.0 & of.0 == one.0
    }

    /// Those of every byte, if nothing is looked for.
    const WITHOUT_MARKERS: [Self; 256] = {
        let mut all = [Self(0); 256];
        all[b'\n' as usize] = Self::MARKS;
        all[b'`' as usize] = Self::MARKS;
        all[b'[' as usize] = Self::BRACKET;
        let mut wide = 0x80;
        while wide < all.len() {
            all[wide] = Self::WIDE;
            wide += 1;
        }
        all
    };

    /// Those of every byte.
    fn all(begins: &[Begin], reports_marks: bool) -> [Self; 256] {
        let mut all = Self::WITHOUT_MARKERS;
        let mut add = |byte: u8, kind| {
            let kinds = &mut all[usize::from(byte)];
            *kinds = kinds.with(kind);
        };
        let first = begins.iter().filter_map(|begin| begin.bytes().first());
        first.for_each(|byte| add(*byte, Self::BEGINS));
        let marks = CODE.into_iter().filter(|_| reports_marks);
        marks.for_each(|byte| add(byte, Self::CODE));
        all
    }
}

/// An automaton with its prefilters. Immutable.
///
/// ```
/// use toolglot_scan::{Case, Pattern, Scanner, Skip};
///
/// let scanner = Scanner::new(vec![Pattern::new("<tool_call>", Case::Exact)])?;
/// let text = b"Three cities, and then a call: <tool_call>";
/// assert_eq!(scanner.skip(text, 0, &mut Skip::default()), 31); // the automaton goes on here
/// # Ok::<(), toolglot_scan::PatternError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Scanner {
    /// The automaton.
    pub dfa: Dfa,
    /// Per byte.
    kinds: [Kinds; 256],
    prints: Box<Prints>,
    bulk: Bulk,
}

/// How long texts are searched.
#[derive(Clone, Debug)]
enum Bulk {
    Vector(Box<Vector>),
    Searches(Box<Searches>),
}

/// The first bytes of all markers: for each index and byte, the groups of markers that have the byte there.
type Prints = [[u32; 256]; HEAD];

/// The number of groups that markers are divided into.
const GROUPS: usize = 32;

/// What one feed has seen: how dense candidates are, and where code is marked.
///
/// See the example of [`Scanner`].
#[derive(Debug)]
pub struct Skip {
    density: Density,
    marks: Marks,
}

impl Default for Skip {
    fn default() -> Self {
        Self {
            density: Density::default(),
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
        Dfa::new(patterns).map(Self::of)
    }

    /// Builds the prefilters of an automaton.
    pub fn of(dfa: Dfa) -> Self {
        let begins = Begin::all(dfa.patterns());
        let bulk = match Vector::new(dfa.patterns(), &begins) {
            Some(vector) => Bulk::Vector(Box::new(vector)),
            None => Bulk::Searches(Box::new(Searches::new(&dfa))),
        };
        Self {
            kinds: Kinds::all(&begins, bulk.reports_marks()),
            prints: prints(&begins),
            bulk,
            dfa,
        }
    }

    /// The kinds of all bytes of a short text.
    #[inline]
    #[must_use]
    pub fn kinds(&self, text: &[u8]) -> Kinds {
        let of = |byte: &u8| self.kinds[usize::from(*byte)];
        let all = |bytes: &[u8]| {
            bytes
                .iter()
                .fold(Kinds::default(), |all, byte| all.with(of(byte)))
        };
        // Steps of four and the last four, some of which may have been looked at; of less than four the first, the middle and the
        // last one.
        match (text.last_chunk::<4>(), text) {
            (Some(last), [before @ .., _]) => {
                let steps = before.as_chunks::<4>().0.iter();
                steps.fold(all(last), |kinds, bytes| kinds.with(all(bytes)))
            }
            (None, [first, .., last]) => of(first).with(of(&text[text.len() / 2])).with(of(last)),
            (_, text) => all(text),
        }
    }

    /// Whether no marker begins in a short text, as far as each byte and the next one show.
    #[inline(never)]
    #[must_use]
    pub fn begins_none(&self, text: &[u8]) -> bool {
        let [first, second, ..] = &*self.prints;
        let mut before = 0;
        for byte in text {
            let byte = usize::from(*byte);
            if before & second[byte] != 0 {
                return false;
            }
            before = first[byte];
        }
        before == 0
    }

    /// The automaton's node after a short text, and the kinds of its bytes, or `None` if a marker ends in it.
    #[inline]
    #[must_use]
    pub fn walk(&self, mut node: Node, text: &[u8]) -> Option<(Node, Kinds)> {
        let mut all = Kinds::default();
        for byte in text {
            let kinds = self.kinds[usize::from(*byte)];
            all = all.with(kinds);
            if node == super::ROOT && !kinds.has(Kinds::BEGINS) {
                continue;
            }
            node = self.dfa.next(node, *byte);
            if self.dfa.is_hit(node) {
                return None;
            }
        }
        Some((node, all))
    }

    /// The next index from `at` at which a marker may begin, or the length of `hay`. Nothing may be under way at `at`.
    #[inline]
    pub fn skip(&self, hay: &[u8], at: usize, state: &mut Skip) -> usize {
        let searches = match &self.bulk {
            Bulk::Vector(_) => 1,
            Bulk::Searches(searches) => 1 + searches.count(),
        };
        if hay.len() - at <= TINY * searches {
            return self.table(hay, at, state);
        }
        match &self.bulk {
            Bulk::Vector(vector) => match vector.find(hay, at, &mut state.marks) {
                (found, true) => found,
                (to, false) => self.table(hay, to, state),
            },
            Bulk::Searches(searches) => self.search(searches, hay, at, state),
        }
    }

    /// Where marks of code are among the bytes that were skipped or [stepped over](Skip::stepped).
    #[must_use]
    pub fn marks(&self, state: &Skip) -> Marks {
        match self.bulk.reports_marks() {
            true => state.marks,
            false => Marks::UNKNOWN,
        }
    }

    /// Skips byte by byte.
    #[inline]
    fn table(&self, hay: &[u8], mut at: usize, state: &mut Skip) -> usize {
        let kinds = Kinds::BEGINS.with(Kinds::CODE);
        let matters = |byte: &u8| self.kinds[usize::from(*byte)].has(kinds);
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
        // Mostly the second byte decides.
        let mut all = self.prints[0][usize::from(hay[at])];
        for n in 1..HEAD {
            match hay.get(at + n) {
                Some(byte) if all != 0 => all &= self.prints[n][usize::from(*byte)],
                _ => break,
            }
        }
        all != 0
    }
}

impl Bulk {
    /// Whether marks of code are found by the way.
    fn reports_marks(&self) -> bool {
        match self {
            Self::Vector(vector) => vector.marks,
            Self::Searches(_) => false,
        }
    }
}

impl Skip {
    /// Notes a byte at `at` that went to the automaton.
    #[inline]
    pub fn stepped(&mut self, byte: u8, at: usize) {
        if marks_code(byte) {
            self.marks.add(at);
        }
    }
}

/// Groups are ranges of the sorted beginnings, so that the markers of a group begin alike.
fn prints(begins: &[Begin]) -> Box<Prints> {
    let mut prints = Box::new([[0; 256]; HEAD]);
    for (number, begin) in begins.iter().enumerate() {
        let group = 1 << (number * GROUPS / begins.len());
        for (at, place) in prints.iter_mut().enumerate() {
            match begin.bytes().get(at) {
                Some(byte) => place[usize::from(*byte)] |= group,
                None => place.iter_mut().for_each(|entry| *entry |= group),
            }
        }
    }
    prints
}

#[cfg(test)]
mod tests {
    use super::super::ROOT;
    use super::searches::Search;
    use super::*;
    use crate::Case;
    use crate::random::random;

    /// Ends of markers and the nodes there, the last node, and where marks of code may be, with skipping or by stepping over
    /// every byte.
    fn ends(scanner: &Scanner, hay: &[u8], skipping: bool) -> (Vec<(usize, u16)>, u16, Marks) {
        let (mut node, mut at, mut state, mut out) = (ROOT, 0, Skip::default(), vec![]);
        while at < hay.len() {
            if skipping && node == ROOT {
                at = scanner.skip(hay, at, &mut state);
                if at == hay.len() {
                    break;
                }
            }
            node = scanner.dfa.next(node, hay[at]);
            state.stepped(hay[at], at);
            at += 1;
            if scanner.dfa.is_hit(node) {
                out.push((at, node));
            }
        }
        (out, node, scanner.marks(&state))
    }

    /// The same set with each kind of vectors, and with searches.
    fn kinds(scanner: &Scanner) -> Vec<Scanner> {
        let vector = match &scanner.bulk {
            Bulk::Vector(vector) => Some(vector),
            Bulk::Searches(_) => None,
        };
        let vectors = vector.into_iter().flat_map(|vector| vector.widths());
        let vectors = vectors.map(|vector| Bulk::Vector(Box::new(vector)));
        let searches = Bulk::Searches(Box::new(Searches::new(&scanner.dfa)));
        let with = |bulk| Scanner {
            bulk,
            ..scanner.clone()
        };
        vectors.chain([searches]).map(with).collect()
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
            assert_eq!(
                ends(scanner, hay, true),
                ends(scanner, hay, false),
                "{}",
                String::from_utf8_lossy(hay)
            );
        }
    }

    #[test]
    fn short_texts_are_looked_at_byte_by_byte() {
        let markers = ["fun", "f(", "<ab", "[x", "]<]m", "Q"];
        let pattern = |marker: &&str| Pattern::new(marker, Case::Exact);
        let scanner = Scanner::new(markers.iter().map(pattern).collect()).expect("few patterns");
        let mut random = random(9);
        for round in 0..20_000 {
            let text: Vec<u8> = (0..round % 20)
                .map(|_| b"eeeeeeefun(<ab[x]Q\n`~\xC3"[random(22)])
                .collect();
            let of = |byte: &u8| scanner.kinds[usize::from(*byte)];
            let kinds = text
                .iter()
                .fold(Kinds::default(), |all, byte| all.with(of(byte)));
            assert_eq!(scanner.kinds(&text), kinds, "{text:?}");
            for from in [ROOT, scanner.dfa.next(ROOT, b'f')] {
                let (mut node, mut hit) = (from, false);
                for byte in &text {
                    node = scanner.dfa.next(node, *byte);
                    hit |= scanner.dfa.is_hit(node);
                }
                let walked = (!hit).then_some((node, kinds));
                assert_eq!(scanner.walk(from, &text), walked, "{text:?}");
                if from == ROOT && scanner.begins_none(&text) {
                    assert_eq!(walked, Some((ROOT, kinds)), "{text:?}");
                }
            }
        }
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
        let beside = Searches::new(&pair.dfa).dense;
        let beside = beside.as_ref().map(|dense| dense.pair.as_ref());
        assert!(matches!(beside, Some(Some(Search::Marker(pair))) if pair.needle() == b"<|"));
        same(&pair, &pieces);
        // Too many even with the pair.
        let mut more = markers.clone();
        more.extend(('a'..='z').map(|a| format!("{{{a}")));
        let table = scanner(&more);
        assert!(Searches::new(&table.dfa).dense.is_none());
        same(&table, &pieces);
        markers.retain(|marker| !marker.starts_with("<|"));
        let teddy = scanner(&markers);
        let teddy = Searches::new(&teddy.dfa);
        assert!(teddy.dense.is_some_and(|dense| dense.pair.is_none()));
    }

    /// A letter that begins a marker is looked at; only one at the very end needs the engine.
    #[test]
    fn words_with_first_letters_begin_nothing() {
        let marker = Pattern::new("functools", Case::Exact);
        let scanner = Scanner::new(vec![marker]).expect("one pattern");
        for (text, none) in [
            ("of a", true),
            ("a b", true),
            ("", true),
            ("of", false),
            ("a func", false),
        ] {
            assert_eq!(scanner.begins_none(text.as_bytes()), none, "{text}");
        }
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
        let dense = Searches::new(&scanner.dfa)
            .dense
            .expect("no more than Teddy takes");
        assert_eq!(dense.prefix, HEAD);
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

    /// From everywhere before it, and without passing a byte that marks code.
    #[test]
    fn a_marker_is_found_at_every_place() {
        let markers = ["<tool_call", "[x]", "functools", "Action:", "]<]m"];
        for count in 1..=markers.len() {
            let marker = |marker: &&str| Pattern::new(marker, Case::Exact);
            let patterns = markers[..count].iter().map(marker).collect();
            let scanner = Scanner::new(patterns).expect("few patterns");
            let marker = markers[count - 1].as_bytes();
            for (scanner, len) in kinds(&scanner)
                .iter()
                .flat_map(|s| (40..300).step_by(13).map(move |len| (s, len)))
            {
                for place in 2..len - marker.len() {
                    let mut hay = vec![b'x'; len];
                    hay[place - 1] = b'`';
                    hay[place..place + marker.len()].copy_from_slice(marker);
                    for from in [0, 1, 7, 33, 64, 100].map(|from: usize| from.min(place - 1)) {
                        let (mut at, mut state) = (from, Skip::default());
                        loop {
                            at = scanner.skip(&hay, at, &mut state);
                            if at >= place {
                                break;
                            }
                            state.stepped(hay[at], at);
                            at += 1;
                        }
                        assert_eq!(at, place, "{len} {from}");
                        let marks = scanner.marks(&state);
                        let marked = (marks.first..=marks.last).contains(&(place - 1));
                        assert!(marked, "{len} {from} {place}");
                    }
                }
            }
        }
    }
}
