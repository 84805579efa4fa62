//! The automaton: subset construction over linear patterns.
//!
//! A node is the set of (pattern, bytes matched) that are under way after the last byte. Patterns are short and few, so all
//! nodes are built in advance. A case-insensitive letter needs no second copy of its pattern.

use std::collections::HashMap;

use serde::Deserialize;

use crate::PatternError;

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

    /// Whether the pattern alone determines the bytes it matched.
    pub fn exact(&self) -> bool {
        self.case == Case::Exact || !self.bytes.iter().any(u8::is_ascii_alphabetic)
    }
}

/// A node of the tree of all patterns; 0 is its root.
#[derive(Default)]
struct Branch {
    steps: Vec<Step>,
    /// Patterns that end here.
    ends: Vec<u16>,
    /// A pattern that continues after this node and must be held back.
    hold: Option<u16>,
    depth: u16,
}

struct Step {
    byte: u8,
    /// A letter in either case.
    fold: bool,
    to: u16,
}

impl Branch {
    /// Where a byte leads: at most one branch for each case rule.
    fn after(&self, byte: u8) -> impl Iterator<Item = u16> {
        let steps = self.steps.iter().filter(move |step| step.takes(byte));
        steps.map(|step| step.to)
    }
}

impl Step {
    /// The bytes that it takes.
    fn bytes(&self) -> impl Iterator<Item = u8> {
        let other = self.fold.then_some(swapped(self.byte));
        [self.byte].into_iter().chain(other)
    }

    fn takes(&self, byte: u8) -> bool {
        self.byte == byte || (self.fold && self.byte.eq_ignore_ascii_case(&byte))
    }
}

/// A letter in its other case.
fn swapped(byte: u8) -> u8 {
    match byte.is_ascii_alphabetic() {
        true => byte ^ 0x20,
        false => byte,
    }
}

fn trie(patterns: &[Pattern]) -> Result<Vec<Branch>, PatternError> {
    let mut trie = vec![Branch::default()];
    for (index, pattern) in patterns.iter().enumerate() {
        let index = u16::try_from(index).map_err(|_| PatternError::TooMany)?;
        let mut at = 0_usize;
        for (depth, byte) in pattern.bytes.iter().enumerate() {
            if pattern.hold && depth > 0 {
                trie[at].hold.get_or_insert(index);
            }
            let fold = pattern.case == Case::Ignore && byte.is_ascii_alphabetic();
            let byte = if fold {
                byte.to_ascii_lowercase()
            } else {
                *byte
            };
            let known = trie[at]
                .steps
                .iter()
                .find(|s| s.byte == byte && s.fold == fold);
            let to = match known.map(|step| step.to) {
                Some(to) => to,
                None => {
                    let to = u16::try_from(trie.len()).map_err(|_| PatternError::TooMany)?;
                    trie[at].steps.push(Step { byte, fold, to });
                    trie.push(Branch {
                        depth: depth as u16 + 1,
                        ..Branch::default()
                    });
                    to
                }
            };
            at = usize::from(to);
        }
        trie[at].ends.push(index);
    }
    Ok(trie)
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
    next: Vec<Node>,
    /// Per node: patterns that end here, longest first.
    hits: Vec<Vec<u16>>,
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
            for byte in &pattern.bytes {
                let fold = pattern.case == Case::Ignore;
                column[usize::from(*byte)] = 1;
                column[usize::from(if fold { swapped(*byte) } else { *byte })] = 1;
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
        let trie = trie(&patterns)?;
        let width = 1 << shift;
        let mut nodes: HashMap<Vec<u16>, Node> = HashMap::new();
        let mut order: Vec<Vec<u16>> = vec![vec![]];
        nodes.insert(vec![], ROOT);
        let mut next: Vec<Node> = vec![ROOT; width];
        let mut there: Vec<u16> = vec![];
        let mut changed: Vec<usize> = vec![];
        let mut at = 0;
        while at < order.len() {
            // A byte leads from every node where it leads from the root, unless a pattern goes on with it.
            let mut goes_on = order[at].as_slice();
            match at {
                0 => goes_on = &[0],
                _ => next.extend_from_within(..width),
            }
            let steps = goes_on.iter().flat_map(|n| &trie[usize::from(*n)].steps);
            let bytes = steps.flat_map(Step::bytes);
            changed.clear();
            changed.extend(bytes.map(|byte| usize::from(column[usize::from(byte)])));
            changed.sort_unstable();
            changed.dedup();
            for index in &changed {
                let byte = columns[*index - 1];
                there.clear();
                // A byte that begins a pattern does so everywhere.
                for from in order[at].iter().chain([&0]) {
                    there.extend(trie[usize::from(*from)].after(byte));
                }
                there.sort_unstable();
                there.dedup();
                let fresh = order.len();
                let node = match nodes.get(&there) {
                    Some(node) => *node,
                    None => {
                        let node = Node::try_from(fresh).map_err(|_| PatternError::TooMany)?;
                        nodes.insert(there.clone(), node);
                        order.push(there.clone());
                        node
                    }
                };
                next[at * width + index] = node;
            }
            at += 1;
        }
        let mut hits = vec![];
        let mut held = vec![];
        for node in &order {
            let under_way = || node.iter().map(|n| &trie[usize::from(*n)]);
            let len = |p: &u16| std::cmp::Reverse(patterns[usize::from(*p)].bytes.len());
            let mut ends: Vec<u16> = under_way().flat_map(|n| n.ends.iter().copied()).collect();
            ends.sort_by_key(len);
            hits.push(ends);
            let live = under_way().filter_map(|n| n.hold.map(|pattern| (pattern, n.depth)));
            held.push(live.max_by_key(|(_, n)| *n).unwrap_or((0, 0)));
        }
        Ok(Self {
            exact: patterns.iter().all(Pattern::exact),
            max_len: patterns.iter().map(|p| p.bytes.len()).max().unwrap_or(0),
            is_hit: hits
                .iter()
                .map(|ends: &Vec<u16>| !ends.is_empty())
                .collect(),
            patterns,
            column,
            shift,
            next,
            hits,
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
        &self.hits[usize::from(node)]
    }

    /// How many bytes must be held back: the longest suffix of the stream that begins a holding pattern.
    #[inline]
    pub fn hold(&self, node: Node) -> usize {
        usize::from(self.held[usize::from(node)].1)
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
