//! The automaton over all patterns, after Aho and Corasick, with all transitions in one table.
//!
//! Patterns whose letters match in either case have a tree of their own, so that none needs a second copy; a node of the
//! automaton is a node of each tree. Patterns are short and few, so all nodes are built in advance.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use serde::Deserialize;

use crate::{Fnv, PatternError};

/// One node of a [`Dfa`].
pub type Node = u16;

/// The node in which no pattern is under way.
pub const ROOT: Node = 0;

/// Whether letters of a marker match in either case.
///
/// ```
/// use toolglot_scan::{Case, Pattern};
///
/// assert!(Pattern::new("<think>", Case::Ignore).accepts(1, b'T'));
/// assert!(!Pattern::new("<think>", Case::Exact).accepts(1, b'T'));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Case {
    /// Bytes must match exactly.
    #[default]
    Exact,
    /// ASCII letters match in either case.
    Ignore,
}

/// Bytes to look for.
///
/// See the example of [`Dfa`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The marker.
    pub bytes: Vec<u8>,
    /// Whether its letters match in either case.
    pub case: Case,
    /// Whether a prefix of it must be held back until it is decided.
    pub hold: bool,
}

impl Pattern {
    /// A pattern whose prefixes are held back.
    pub fn new(bytes: impl AsRef<[u8]>, case: Case) -> Self {
        Self {
            bytes: bytes.as_ref().to_vec(),
            case,
            hold: true,
        }
    }

    /// Whether the pattern accepts `byte` at index `at`.
    pub fn accepts(&self, at: usize, byte: u8) -> bool {
        match self.case {
            Case::Exact => self.bytes[at] == byte,
            Case::Ignore => self.bytes[at].eq_ignore_ascii_case(&byte),
        }
    }

    /// The bytes that it accepts at index `at`; one may be there twice.
    pub(crate) fn takes(&self, at: usize) -> impl Iterator<Item = u8> {
        let byte = self.bytes[at];
        let other = (self.case == Case::Ignore).then_some(swapped(byte));
        [byte].into_iter().chain(other)
    }

    /// Whether the pattern alone determines the bytes it matched.
    pub fn exact(&self) -> bool {
        self.case == Case::Exact || !self.bytes.iter().any(u8::is_ascii_alphabetic)
    }
}

/// A letter in its other case.
fn swapped(byte: u8) -> u8 {
    match byte.is_ascii_alphabetic() {
        true => byte ^ 0x20,
        false => byte,
    }
}

/// The patterns of one case rule as a tree; node 0 is its root. What is under way after some text is the deepest node that the
/// text ends with, and those that its `fail` leads to.
struct Trie {
    nodes: Vec<Branch>,
    case: Case,
}

#[derive(Default)]
struct Branch {
    /// The byte that leads here; a letter in lower case if either case matches.
    byte: u8,
    depth: u16,
    parent: u16,
    /// The first of the nodes after it, and the next one after its own parent. 0 is none.
    child: u16,
    sibling: u16,
    /// The next shorter suffix of the bytes so far that is a node.
    fail: u16,
    /// Patterns that end here.
    ends: Vec<u16>,
    /// A pattern that continues after this node and must be held back.
    hold: Option<u16>,
}

impl Trie {
    fn new(patterns: &[Pattern], case: Case) -> Result<Self, PatternError> {
        let nodes = vec![Branch::default()];
        let mut trie = Self { nodes, case };
        for (index, pattern) in patterns.iter().enumerate() {
            if pattern.case == case {
                let index = u16::try_from(index).map_err(|_| PatternError::TooMany)?;
                trie.add(index, pattern)?;
            }
        }
        let mut by_depth: Vec<u16> = (0..).take(trie.nodes.len()).collect();
        by_depth.sort_by_key(|at| trie.node(*at).depth);
        for at in by_depth {
            let node = trie.node(at);
            if node.depth > 1 {
                let fail = trie.after(trie.node(node.parent).fail, node.byte);
                trie.nodes[usize::from(at)].fail = fail;
            }
        }
        Ok(trie)
    }

    fn add(&mut self, index: u16, pattern: &Pattern) -> Result<(), PatternError> {
        let mut at = 0_u16;
        for byte in &pattern.bytes {
            let byte = self.folded(*byte);
            if pattern.hold && at > 0 {
                let node = &mut self.nodes[usize::from(at)];
                node.hold.get_or_insert(index);
            }
            let known = self.child(at, byte);
            if known != 0 {
                at = known;
                continue;
            }
            let fresh = u16::try_from(self.nodes.len()).map_err(|_| PatternError::TooMany)?;
            let parent = &mut self.nodes[usize::from(at)];
            let node = Branch {
                byte,
                depth: parent.depth + 1,
                parent: at,
                sibling: std::mem::replace(&mut parent.child, fresh),
                ..Branch::default()
            };
            self.nodes.push(node);
            at = fresh;
        }
        self.nodes[usize::from(at)].ends.push(index);
        Ok(())
    }

    fn node(&self, at: u16) -> &Branch {
        &self.nodes[usize::from(at)]
    }

    fn folded(&self, byte: u8) -> u8 {
        match self.case {
            Case::Exact => byte,
            Case::Ignore => byte.to_ascii_lowercase(),
        }
    }

    /// The deepest node after one more byte.
    fn after(&self, mut at: u16, byte: u8) -> u16 {
        let byte = self.folded(byte);
        loop {
            let child = self.child(at, byte);
            if child != 0 || at == 0 {
                return child;
            }
            at = self.node(at).fail;
        }
    }

    /// The child that a byte leads to, or 0.
    fn child(&self, at: u16, byte: u8) -> u16 {
        let mut child = self.node(at).child;
        while child != 0 && self.node(child).byte != byte {
            child = self.node(child).sibling;
        }
        child
    }

    /// Calls `take` with the bytes with which what is under way goes on; at the root, with those that begin a pattern.
    fn bytes(&self, mut at: u16, mut take: impl FnMut(u8)) {
        loop {
            let mut child = self.node(at).child;
            while child != 0 {
                let node = self.node(child);
                take(node.byte);
                if self.case == Case::Ignore {
                    take(swapped(node.byte));
                }
                child = node.sibling;
            }
            at = self.node(at).fail;
            if at == 0 {
                break;
            }
        }
    }
}

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
    /// Byte to column; column 0 holds all bytes that occur in no pattern.
    column: Box<[u8; 256]>,
    /// Row length as a shift.
    shift: u32,
    next: Box<[Node]>,
    /// Per node: where its patterns end in `ends`.
    hits: Vec<u32>,
    /// Patterns that end at a node, longest first.
    ends: Vec<u16>,
    is_hit: Vec<bool>,
    /// Per node: the pattern and length of what must be held back.
    held: Vec<(u16, u16)>,
    exact: bool,
    max_len: usize,
}

impl Dfa {
    /// Builds the automaton. The caller must have rejected empty patterns.
    ///
    /// # Errors
    /// The patterns are too many or too long, or use every byte value.
    pub fn new(patterns: Vec<Pattern>) -> Result<Self, PatternError> {
        let mut column = Box::new([0_u8; 256]);
        for pattern in &patterns {
            for at in 0..pattern.bytes.len() {
                let bytes = pattern.takes(at);
                bytes.for_each(|byte| column[usize::from(byte)] = 1);
            }
        }
        let mut columns: Vec<u8> = vec![];
        for byte in 0..=255_u8 {
            let used = &mut column[usize::from(byte)];
            if *used > 0 {
                columns.push(byte);
                *used = u8::try_from(columns.len()).map_err(|_| PatternError::TooManyBytes)?;
            }
        }
        let shift = (columns.len() + 1).next_power_of_two().trailing_zeros();
        let tries = [
            Trie::new(&patterns, Case::Exact)?,
            Trie::new(&patterns, Case::Ignore)?,
        ];
        let width = 1 << shift;
        // A node is what is under way in each tree.
        let mut order: Vec<[u16; 2]> = vec![[0, 0]];
        let mut nodes: HashMap<[u16; 2], Node, BuildHasherDefault<Fnv>> = HashMap::default();
        nodes.reserve(tries[0].nodes.len());
        nodes.insert([0, 0], ROOT);
        let mut next: Vec<Node> = vec![ROOT; width];
        let mut changed: Vec<usize> = vec![];
        let mut at = 0;
        while let Some(from) = order.get(at).copied() {
            // A byte leads from every node where it leads from the root, unless a pattern goes on with it.
            if at > 0 {
                next.extend_from_within(..width);
            }
            changed.clear();
            for (trie, from) in tries.iter().zip(from) {
                // At the root of one tree while a pattern of the other is under way, nothing changes.
                if at == 0 || from != 0 {
                    trie.bytes(from, |byte| {
                        changed.push(usize::from(column[usize::from(byte)]))
                    });
                }
            }
            changed.sort_unstable();
            changed.dedup();
            for index in &changed {
                let byte = columns[*index - 1];
                let there = [tries[0].after(from[0], byte), tries[1].after(from[1], byte)];
                let node = match nodes.get(&there) {
                    Some(node) => *node,
                    None => {
                        let fresh = order.len();
                        let node = Node::try_from(fresh).map_err(|_| PatternError::TooMany)?;
                        nodes.insert(there, node);
                        order.push(there);
                        node
                    }
                };
                next[at * width + index] = node;
            }
            at += 1;
        }
        let (mut hits, mut is_hit) = (vec![], vec![]);
        let mut all_ends: Vec<u16> = vec![];
        let mut held = vec![];
        for node in order {
            let (first, mut hold) = (all_ends.len(), (0, 0));
            for (trie, mut at) in tries.iter().zip(node) {
                while at != 0 {
                    let node = trie.node(at);
                    all_ends.extend_from_slice(&node.ends);
                    if let Some(pattern) = node.hold.filter(|_| node.depth > hold.1) {
                        hold = (pattern, node.depth);
                    }
                    at = node.fail;
                }
            }
            let ends = &mut all_ends[first..];
            ends.sort_unstable_by_key(|p| (Reverse(patterns[usize::from(*p)].bytes.len()), *p));
            is_hit.push(!ends.is_empty());
            hits.push(u32::try_from(all_ends.len()).map_err(|_| PatternError::TooMany)?);
            held.push(hold);
        }
        Ok(Self {
            exact: patterns.iter().all(Pattern::exact),
            max_len: patterns.iter().map(|p| p.bytes.len()).max().unwrap_or(0),
            is_hit,
            patterns,
            column,
            shift,
            next: next.into(),
            hits,
            ends: all_ends,
            held,
        })
    }

    /// The node after one more byte.
    #[inline]
    pub fn next(&self, node: Node, byte: u8) -> Node {
        let row = usize::from(node) << self.shift;
        self.next[row + usize::from(self.column[usize::from(byte)])]
    }

    /// Whether a pattern ends here.
    #[inline]
    pub fn is_hit(&self, node: Node) -> bool {
        self.is_hit[usize::from(node)]
    }

    /// The patterns that end here, longest first.
    pub fn hits(&self, node: Node) -> &[u16] {
        let node = usize::from(node);
        let first = node.checked_sub(1).map_or(0, |before| self.hits[before]);
        &self.ends[first as usize..self.hits[node] as usize]
    }

    /// How many bytes must be held back: the longest suffix of the stream that begins a holding pattern.
    #[inline]
    pub fn hold(&self, node: Node) -> usize {
        usize::from(self.held[usize::from(node)].1)
    }

    /// The end of what need not be held back, if the stream is `end` bytes long. Saturates, for a forged state may hold more bytes
    /// than came.
    #[inline]
    pub fn settled(&self, node: Node, end: u64) -> u64 {
        end.saturating_sub(self.hold(node) as u64)
    }

    /// The bytes that are held back. Correct only if the automaton is [exact](Self::exact).
    pub fn held(&self, node: Node) -> &[u8] {
        let (pattern, len) = self.held[usize::from(node)];
        self.patterns
            .get(usize::from(pattern))
            .map_or(&[], |p| &p.bytes[..usize::from(len)])
    }

    /// Whether the node determines the held bytes, so that nobody needs to keep them.
    pub fn exact(&self) -> bool {
        self.exact
    }

    /// Length of a pattern.
    pub fn len_of(&self, pattern: u16) -> usize {
        self.patterns[usize::from(pattern)].bytes.len()
    }

    /// Length of the longest pattern.
    pub fn max_len(&self) -> usize {
        self.max_len
    }

    /// Whether the node exists.
    pub fn knows(&self, node: Node) -> bool {
        usize::from(node) < self.hits.len()
    }

    /// The patterns, in the order in which they were given.
    pub fn patterns(&self) -> &[Pattern] {
        &self.patterns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
