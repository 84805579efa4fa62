//! The automaton over all patterns, after Aho and Corasick. A byte leads on from a node where it does from the node which that one fails
//! to, except for the bytes with which a pattern goes on. Most nodes lie within one pattern and have one such byte: they have it beside the
//! steps of the other node. Only at the first bytes of patterns, and where many part, has a node a row for all bytes.
//!
//! Patterns whose letters match in either case have a tree of their own, so that none needs a second copy; a node of the
//! automaton is a node of each tree.

mod build;
mod pattern;
mod tables;
mod trie;

pub use self::pattern::{Case, Pattern};
pub use self::tables::Tables;
use crate::PatternError;

/// One node of a [`Dfa`].
pub type Node = u16;

/// The node in which no pattern is under way.
pub const ROOT: Node = 0;

/// An automaton over patterns. Immutable.
///
/// ```
/// use toolglot_scan::{Case, Dfa, Pattern, ROOT};
///
/// let dfa = Dfa::new(vec![Pattern::new("<tool_call>", Case::Exact), Pattern::new("<think>", Case::Exact)])?;
/// let walk = |text: &str| text.bytes().fold(ROOT, |node, byte| dfa.next(node, byte));
/// assert_eq!(dfa.held(walk("Hi <tool_")), b"<tool_"); // may become a marker
/// assert_eq!(dfa.hits(walk("Hi <think>")), [1]);
/// assert_eq!(dfa.hold(walk("Hi <b>")), 0);
/// # Ok::<(), toolglot_scan::PatternError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Dfa {
    patterns: Vec<Pattern>,
    tables: Tables,
}

impl Dfa {
    /// Builds the automaton. The caller must have rejected empty patterns.
    ///
    /// # Errors
    /// The patterns are too many or too long, or use every byte value.
    pub fn new(patterns: Vec<Pattern>) -> Result<Self, PatternError> {
        let tables = Tables::new(&patterns)?;
        Ok(Self::of(patterns, tables))
    }

    /// The automaton of these patterns, whose tables were made before.
    pub fn of(patterns: Vec<Pattern>, tables: Tables) -> Self {
        Self { patterns, tables }
    }

    /// What it has made of its patterns.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// The node after one more byte.
    #[inline]
    pub fn next(&self, node: Node, byte: u8) -> Node {
        self.tables.next(node, byte)
    }

    /// Whether a pattern ends here.
    #[inline]
    pub fn is_hit(&self, node: Node) -> bool {
        self.tables.is_hit(node)
    }

    /// The patterns that end here, longest first.
    pub fn hits(&self, node: Node) -> &[u16] {
        &self.tables.ends[self.tables.ends_of(node)]
    }

    /// How many bytes must be held back: the longest suffix of the stream that begins a holding pattern.
    #[inline]
    pub fn hold(&self, node: Node) -> usize {
        usize::from(self.tables.held(node).1)
    }

    /// The end of what need not be held back, if the stream is `end` bytes long. Saturates, for a forged state may hold more bytes
    /// than came.
    #[inline]
    pub fn settled(&self, node: Node, end: u64) -> u64 {
        end.saturating_sub(self.hold(node) as u64)
    }

    /// The bytes that are held back. Correct only if the automaton is [exact](Self::exact).
    pub fn held(&self, node: Node) -> &[u8] {
        let (pattern, len) = self.tables.held(node);
        self.patterns
            .get(usize::from(pattern))
            .map_or(&[], |p| &p.bytes[..usize::from(len)])
    }

    /// Whether the node determines the held bytes, so that nobody needs to keep them.
    pub fn exact(&self) -> bool {
        self.tables.exact
    }

    /// Length of a pattern.
    pub fn len_of(&self, pattern: u16) -> usize {
        self.patterns[usize::from(pattern)].bytes.len()
    }

    /// Length of the longest pattern.
    pub fn max_len(&self) -> usize {
        usize::from(self.tables.max_len)
    }

    /// Whether the node exists.
    pub fn knows(&self, node: Node) -> bool {
        usize::from(node) < self.tables.about.0.len()
    }

    /// The patterns, in the order in which they were given.
    pub fn patterns(&self) -> &[Pattern] {
        &self.patterns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::random;

    /// The longest suffix of `text` that is a proper prefix of a pattern.
    fn hold_by_force(patterns: &[&str], text: &[u8]) -> usize {
        (0..=text.len())
            .map(|from| &text[from..])
            .find(|tail| {
                patterns
                    .iter()
                    .any(|p| tail.len() < p.len() && p.as_bytes().starts_with(tail))
            })
            .map_or(0, <[u8]>::len)
    }

    #[test]
    fn too_long_patterns_are_refused() {
        let pattern = |len| vec![Pattern::new(vec![b'a'; len], Case::Exact)];
        assert!(Dfa::new(pattern(70_000)).is_err());
        assert!(Dfa::new(pattern(5_000)).is_ok());
    }

    #[test]
    fn hold_is_the_longest_live_prefix() {
        let patterns = ["<<[a", "<[b", "aba", "<<<x"];
        let dfa = Dfa::new(
            patterns
                .iter()
                .map(|p| Pattern::new(p, Case::Exact))
                .collect(),
        )
        .expect("few patterns");
        let alphabet = b"<[abx";
        for length in 0..7_u32 {
            for mut number in 0..alphabet.len().pow(length) {
                let mut text = vec![];
                for _ in 0..length {
                    text.push(alphabet[number % alphabet.len()]);
                    number /= alphabet.len();
                }
                let node = text.iter().fold(ROOT, |node, byte| dfa.next(node, *byte));
                assert_eq!(
                    dfa.hold(node),
                    hold_by_force(&patterns, &text),
                    "{}",
                    String::from_utf8_lossy(&text)
                );
                assert!(text.ends_with(dfa.held(node)));
            }
        }
    }

    #[test]
    fn hits_and_holds_are_those_of_brute_force() {
        let mut random = random(5);
        let begins = |pattern: &Pattern, tail: &[u8]| {
            let mut bytes = tail.iter().enumerate();
            bytes.all(|(at, byte)| at < pattern.bytes.len() && pattern.accepts(at, *byte))
        };
        let mut nodes = 0;
        for _ in 0..60 {
            let mixed = random(3);
            let mut pattern = || {
                let bytes: Vec<u8> = (0..1 + random(14)).map(|_| b"aAb<\0"[random(5)]).collect();
                let case = if random(3) < mixed {
                    Case::Ignore
                } else {
                    Case::Exact
                };
                let hold = random(4) > 0;
                Pattern {
                    hold,
                    ..Pattern::new(bytes, case)
                }
            };
            let patterns: Vec<Pattern> = (0..60).map(|_| pattern()).collect();
            let mut dfa = Dfa::new(patterns.clone()).expect("few patterns");
            if random(2) == 0 {
                let stored = postcard::to_allocvec(dfa.tables()).expect("numbers");
                let tables = postcard::from_bytes(stored.leak()).expect("what was stored");
                dfa = Dfa::of(patterns.clone(), tables);
            }
            nodes = nodes.max(dfa.tables.about.0.len());
            let (mut text, mut node) = (vec![], ROOT);
            while text.len() < 500 {
                let some = &patterns[random(patterns.len())].bytes;
                text.extend_from_slice(&some[..random(some.len() + 1)]);
                text.push(b"aAbBx<\0"[random(7)]);
            }
            for end in 0..text.len() {
                node = dfa.next(node, text[end]);
                let tails = || (end.saturating_sub(14)..=end).map(|from| &text[from..=end]);
                let ends = |tail: &[u8]| {
                    let whole = |(pattern, _): &(&Pattern, u16)| {
                        pattern.bytes.len() == tail.len() && begins(pattern, tail)
                    };
                    let all = patterns.iter().zip(0..).filter(whole);
                    all.map(|(_, index)| index).collect::<Vec<u16>>()
                };
                let hits: Vec<u16> = tails().flat_map(ends).collect();
                assert_eq!(dfa.hits(node), hits);
                assert_eq!(dfa.is_hit(node), !hits.is_empty());
                let mut holds = tails().filter(|tail| {
                    let longer = |pattern: &&Pattern| pattern.bytes.len() > tail.len();
                    let mut held = patterns.iter().filter(|pattern| pattern.hold);
                    held.any(|pattern| longer(&pattern) && begins(pattern, tail))
                });
                assert_eq!(dfa.hold(node), holds.next().map_or(0, <[u8]>::len));
            }
        }
        assert!(nodes > 300, "{nodes}");
    }

    #[test]
    fn letters_match_in_either_case_where_asked() {
        let dfa = Dfa::new(vec![
            Pattern::new("<A", Case::Ignore),
            Pattern::new("<b", Case::Exact),
        ])
        .expect("few patterns");
        let ends =
            |text: &str| dfa.is_hit(text.bytes().fold(ROOT, |node, byte| dfa.next(node, byte)));
        assert!(ends("<a") && ends("<A") && ends("<b") && !ends("<B"));
        assert!(!dfa.exact());
    }
}
