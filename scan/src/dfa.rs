//! The automaton over all patterns, after Aho and Corasick. A byte leads on from a node where it does from the node which that one fails
//! to, except for the bytes with which a pattern goes on. Most nodes lie within one pattern and have one such byte: they have it beside the
//! steps of the other node. Only at the first bytes of patterns, and where many part, has a node a row for all bytes.
//!
//! Patterns whose letters match in either case have a tree of their own, so that none needs a second copy; a node of the
//! automaton is a node of each tree.

use std::borrow::Cow;
use std::ops::Range;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    pub bytes: Cow<'static, [u8]>,
    /// Whether its letters match in either case.
    pub case: Case,
    /// Whether a prefix of it must be held back until it is decided.
    pub hold: bool,
}

impl Pattern {
    /// A pattern whose prefixes are held back.
    pub fn new(bytes: impl AsRef<[u8]>, case: Case) -> Self {
        Self {
            bytes: Cow::Owned(bytes.as_ref().to_vec()),
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

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        (&self.bytes, self.case, self.hold).serialize(to)
    }
}

/// Its bytes are those that it is read from.
impl<'de: 'static> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (bytes, case, hold) = Deserialize::deserialize(from)?;
        Ok(Self {
            bytes: Cow::Borrowed(bytes),
            case,
            hold,
        })
    }
}

/// A letter in its other case.
fn swapped(byte: u8) -> u8 {
    match byte.is_ascii_alphabetic() {
        true => byte ^ 0x20,
        false => byte,
    }
}

/// The patterns of one case rule as a tree; node 0 is its root.
struct Trie {
    nodes: Vec<Branch>,
    /// Patterns that are the same as one before, with the nodes at which they end; sorted.
    more_ends: Vec<(u16, u16)>,
    case: Case,
}

#[derive(Default)]
struct Branch {
    /// The byte that leads here; a letter in lower case if either case matches.
    byte: u8,
    depth: u16,
    /// The first of the nodes after it, and the next one after its own parent. 0 is none.
    child: u16,
    sibling: u16,
    /// The first pattern that ends here.
    end: Option<u16>,
    /// A pattern that continues after this node and must be held back.
    hold: Option<u16>,
}

impl Trie {
    fn new(patterns: &[Pattern], case: Case) -> Result<Self, PatternError> {
        let of_case = patterns.iter().filter(|pattern| pattern.case == case);
        let most = 1 + of_case.map(|pattern| pattern.bytes.len()).sum::<usize>();
        let mut nodes = Vec::with_capacity(most.min(usize::from(u16::MAX)));
        nodes.push(Branch::default());
        let mut trie = Self {
            nodes,
            more_ends: vec![],
            case,
        };
        for (index, pattern) in patterns.iter().enumerate() {
            if pattern.case == case {
                let index = u16::try_from(index).map_err(|_| PatternError::TooMany)?;
                trie.add(index, pattern)?;
            }
        }
        trie.more_ends.sort_unstable();
        Ok(trie)
    }

    fn add(&mut self, index: u16, pattern: &Pattern) -> Result<(), PatternError> {
        let mut at = 0_u16;
        for byte in pattern.bytes.iter() {
            let byte = match self.case {
                Case::Exact => *byte,
                Case::Ignore => byte.to_ascii_lowercase(),
            };
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
                sibling: std::mem::replace(&mut parent.child, fresh),
                ..Branch::default()
            };
            self.nodes.push(node);
            at = fresh;
        }
        let node = &mut self.nodes[usize::from(at)];
        match node.end {
            None => node.end = Some(index),
            Some(_) => self.more_ends.push((at, index)),
        }
        Ok(())
    }

    /// Appends the patterns that end at a node.
    fn ends_at(&self, at: u16, ends: &mut Vec<u16>) {
        if let Some(end) = self.node(at).end {
            ends.push(end);
            let first = self.more_ends.partition_point(|(node, _)| *node < at);
            let more = self.more_ends[first..].iter();
            let here = more.take_while(|(node, _)| *node == at);
            ends.extend(here.map(|(_, pattern)| *pattern));
        }
    }

    fn node(&self, at: u16) -> &Branch {
        &self.nodes[usize::from(at)]
    }

    /// The child that a byte leads to, or 0.
    fn child(&self, at: u16, byte: u8) -> u16 {
        let mut child = self.node(at).child;
        while child != 0 && self.node(child).byte != byte {
            child = self.node(child).sibling;
        }
        child
    }

    /// Adds an edge for each byte that leads on from a node; for a letter two if either case matches.
    fn edges(&self, at: u16, of: impl Fn(u16) -> [u16; 2], edges: &mut Vec<Edge>) {
        let mut child = self.node(at).child;
        while child != 0 {
            let node = self.node(child);
            edges.push((node.byte, of(child)));
            let other = swapped(node.byte);
            if self.case == Case::Ignore && other != node.byte {
                edges.push((other, of(child)));
            }
            child = node.sibling;
        }
    }
}

/// A byte, and where it leads in each tree; 0 in one is none.
type Edge = (u8, [u16; 2]);

/// Sorts edges, and joins those of a byte with which both trees go on.
fn join(edges: &mut Vec<Edge>) {
    edges.sort_unstable_by_key(|(byte, _)| *byte);
    edges.dedup_by(|from, to| {
        let same = from.0 == to.0;
        if same {
            to.1 = [to.1[0].max(from.1[0]), to.1[1].max(from.1[1])];
        }
        same
    });
}

/// Nodes of an automaton by what is under way in each tree.
struct Numbers {
    /// The larger tree.
    by: usize,
    /// For each node of that tree: a node of the automaton with it.
    first: Vec<Node>,
    /// For each node of the automaton: what is under way, and another node with the same of the larger tree.
    nodes: Vec<([u16; 2], Node)>,
}

impl Numbers {
    fn new(tries: &[Trie; 2]) -> Self {
        let by = usize::from(tries[1].nodes.len() > tries[0].nodes.len());
        let mut nodes = Vec::with_capacity(tries[by].nodes.len());
        nodes.push(([0, 0], ROOT));
        Self {
            by,
            first: vec![ROOT; tries[by].nodes.len()],
            nodes,
        }
    }

    /// The number of a node other than the root, and whether it is new.
    fn of(&mut self, under_way: [u16; 2]) -> Result<(Node, bool), PatternError> {
        let first = &mut self.first[usize::from(under_way[self.by])];
        let mut node = *first;
        while node != ROOT {
            let (have, next) = self.nodes[usize::from(node)];
            if have == under_way {
                return Ok((node, false));
            }
            node = next;
        }
        let fresh = Node::try_from(self.nodes.len()).map_err(|_| PatternError::TooMany)?;
        self.nodes
            .push((under_way, std::mem::replace(first, fresh)));
        Ok((fresh, true))
    }
}

/// Of the built-in sets about one node in this many has a row, or a further step.
const ROWS_OF: usize = 20;
const MORE_OF: usize = 8;

/// A bit beside a place in a list: the node has patterns in it.
const HIT: u32 = 1 << 31;

/// A bit beside a place in a list: it is a further step, and not a row.
const MORE: u32 = 1 << 31;

/// No byte takes more steps than this, and then a row.
const LONGEST: usize = 4;

/// Where one byte leads to, and what to do with others.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// The byte that leads to `to`, with `fold` set in it.
    byte: u8,
    /// The bit in which the cases of a letter differ, if both lead to `to`, or nothing.
    fold: u8,
    to: Node,
    /// The row for the other bytes, or with [`MORE`] the next step. A node with a row of its own has the byte 0, which leads where it does
    /// by that row.
    others: u32,
}

impl Step {
    #[inline]
    fn read(bytes: [u8; 8]) -> Self {
        let [byte, fold, to @ .., a, b, c, d] = bytes;
        Self {
            byte,
            fold,
            to: Node::from_le_bytes(to),
            others: u32::from_le_bytes([a, b, c, d]),
        }
    }

    fn bytes(self) -> [u8; 8] {
        let ([to, high], [a, b, c, d]) = (self.to.to_le_bytes(), self.others.to_le_bytes());
        [self.byte, self.fold, to, high, a, b, c, d]
    }
}

/// Numbers of a fixed count of bytes, the lowest first, made at run time or read in place.
#[derive(Clone, Debug)]
struct Table<const BYTES: usize>(Cow<'static, [[u8; BYTES]]>);

impl<const BYTES: usize> Table<BYTES> {
    fn with_capacity(count: usize) -> Self {
        Self(Cow::Owned(Vec::with_capacity(count)))
    }

    /// The table while it is made.
    fn edit(&mut self) -> &mut Vec<[u8; BYTES]> {
        self.0.to_mut()
    }
}

impl<const BYTES: usize> Serialize for Table<BYTES> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(self.0.as_flattened())
    }
}

/// It is those bytes that it is read from.
impl<'de: 'static, const BYTES: usize> Deserialize<'de> for Table<BYTES> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match <&'static [u8]>::deserialize(from)?.as_chunks() {
            (all, []) => Ok(Self(Cow::Borrowed(all))),
            (_, rest) => Err(D::Error::invalid_length(rest.len(), &"whole numbers")),
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
    tables: Tables,
}

/// A column for each byte, as bytes.
mod columns {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    #[allow(clippy::borrowed_box, reason = "serde passes the field")]
    pub fn serialize<S: Serializer>(all: &Box<[u8; 256]>, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(&**all)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Box<[u8; 256]>, D::Error> {
        let all = <&[u8]>::deserialize(from)?;
        let all = <[u8; 256]>::try_from(all);
        all.map(Box::new).map_err(D::Error::custom)
    }
}

/// What an automaton has made of its patterns. It can be stored, and be used where it is stored.
///
/// ```
/// use toolglot_scan::{Case, Dfa, Pattern, ROOT};
///
/// let patterns = vec![Pattern::new("<think>", Case::Exact)];
/// let dfa = Dfa::new(patterns.clone())?;
/// let stored: &'static [u8] = postcard::to_allocvec(dfa.tables())?.leak();
/// let same = Dfa::of(patterns, postcard::from_bytes(stored)?);
/// assert_eq!(same.hits(b"<think>".iter().fold(ROOT, |node, byte| same.next(node, *byte))), [0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
pub struct Tables {
    /// Byte to column; column 0 holds all bytes that occur in no pattern.
    #[serde(with = "columns")]
    column: Box<[u8; 256]>,
    /// The row length.
    columns: u16,
    /// Per node: its first step.
    steps: Table<8>,
    /// Further steps of nodes.
    more: Table<8>,
    /// Where the bytes of a column lead to, row by row.
    rows: Table<2>,
    /// Per node: the pattern and length of what must be held back, and where its patterns end in `ends`, with [`HIT`] if it has
    /// some.
    about: Table<8>,
    /// Patterns that end at a node, longest first.
    ends: Vec<u16>,
    exact: bool,
    max_len: u16,
}

impl Dfa {
    /// Builds the automaton. The caller must have rejected empty patterns.
    ///
    /// # Errors
    /// The patterns are too many or too long, or use every byte value.
    pub fn new(patterns: Vec<Pattern>) -> Result<Self, PatternError> {
        let tries = [
            Trie::new(&patterns, Case::Exact)?,
            Trie::new(&patterns, Case::Ignore)?,
        ];
        let mut column = Box::new([0_u8; 256]);
        let branches = || tries.iter().flat_map(|trie| &trie.nodes[1..]);
        branches().for_each(|branch| column[usize::from(branch.byte)] = 1);
        for branch in &tries[1].nodes[1..] {
            column[usize::from(swapped(branch.byte))] = 1;
        }
        let mut columns = 1_u16;
        for used in column.iter_mut().filter(|used| **used != 0) {
            *used = u8::try_from(columns).map_err(|_| PatternError::TooManyBytes)?;
            columns += 1;
        }
        let nodes = tries.iter().map(|trie| trie.nodes.len()).max();
        let nodes = nodes.unwrap_or_default();
        let max_len = patterns.iter().map(|p| p.bytes.len()).max().unwrap_or(0);
        let mut tables = Tables {
            exact: patterns.iter().all(Pattern::exact),
            max_len: u16::try_from(max_len).map_err(|_| PatternError::TooMany)?,
            column,
            columns,
            steps: Table::with_capacity(nodes),
            more: Table::with_capacity(nodes / MORE_OF),
            rows: Table::with_capacity(nodes / ROWS_OF * usize::from(columns)),
            about: Table::with_capacity(nodes),
            ends: vec![],
        };
        tables.build(&tries)?;
        tables.more.edit().shrink_to_fit();
        tables.rows.edit().shrink_to_fit();
        tables.ends.shrink_to_fit();
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

impl Tables {
    /// Adds the nodes by their depth, so that where a node fails to is there before it.
    fn build(&mut self, tries: &[Trie; 2]) -> Result<(), PatternError> {
        let mut numbers = Numbers::new(tries);
        // Per node: that of the longest shorter suffix of the bytes so far that begins a pattern.
        let mut fails = Vec::with_capacity(self.steps.edit().capacity());
        fails.push(ROOT);
        let (mut at, mut depth, mut last_of_depth) = (0, 0, 0);
        let mut edges: Vec<Edge> = vec![];
        let mut leads = vec![];
        while let Some(&(under_way, _)) = numbers.nodes.get(at) {
            let fail = fails[at];
            self.ends_at(tries, under_way, depth, fail)?;
            // What is under way in a tree for fewer bytes goes on as at the node that this one fails to.
            let depth_of = |tree: usize| usize::from(tries[tree].node(under_way[tree]).depth);
            let deepest = |tree: usize| depth_of(tree) == depth;
            edges.clear();
            leads.clear();
            if deepest(0) {
                tries[0].edges(under_way[0], |to| [to, 0], &mut edges);
            }
            if deepest(1) {
                tries[1].edges(under_way[1], |to| [0, to], &mut edges);
            }
            if edges.len() > 1 {
                join(&mut edges);
            }
            for (byte, to) in &edges {
                let suffix = match at {
                    0 => ROOT,
                    _ => self.next(fail, *byte),
                };
                let (shorter, _) = numbers.nodes[usize::from(suffix)];
                let or_shorter = |tree: usize| {
                    if to[tree] == 0 {
                        shorter[tree]
                    } else {
                        to[tree]
                    }
                };
                let (node, fresh) = numbers.of([or_shorter(0), or_shorter(1)])?;
                if fresh {
                    fails.push(suffix);
                }
                leads.push((*byte, node));
            }
            self.lead_on(depth, fail, &leads)?;
            if at == last_of_depth {
                depth += 1;
                last_of_depth = numbers.nodes.len() - 1;
            }
            at += 1;
        }
        Ok(())
    }

    /// Adds where the bytes of the next node lead to: those of `leads` to their nodes, the others where they do from `fail`.
    fn lead_on(
        &mut self,
        depth: usize,
        fail: Node,
        leads: &[(u8, Node)],
    ) -> Result<(), PatternError> {
        let of_fail = self.steps.0.get(usize::from(fail));
        let of_fail = of_fail.map(|step| Step::read(*step));
        // Text often reaches the first bytes of patterns, and not many nodes are there. All others share what these have.
        let longest = match depth {
            0 | 1 => None,
            2 | 3 => Some(1),
            _ => Some(LONGEST),
        };
        let shared = of_fail.zip(longest);
        let step = match shared.and_then(|(fail, longest)| self.beside(fail, leads, longest)) {
            Some(step) => step,
            None => self.own_row(of_fail, leads)?,
        };
        self.steps.edit().push(step.bytes());
        Ok(())
    }

    /// The first step of a node that has these bytes beside the steps of another one, if they are few.
    fn beside(&mut self, fail: Step, leads: &[(u8, Node)], longest: usize) -> Option<Step> {
        // A letter of which both cases lead to one node is one step, that of the lower case.
        let fold = |(byte, to): &(u8, Node)| {
            let both = leads.contains(&(swapped(*byte), *to)) && swapped(*byte) != *byte;
            if both { byte ^ swapped(*byte) } else { 0 }
        };
        let steps = leads.iter().map(|lead| (lead.0, fold(lead), lead.1));
        let steps = steps.filter(|(byte, fold, _)| byte & fold == *fold);
        let few = leads.len() <= 2 * longest && leads.first().is_none_or(|(byte, _)| *byte != 0);
        if !few || self.chain(fail).count() + steps.clone().count() > longest {
            return None;
        }
        let more = self.more.edit();
        let next = |next: Step, (byte, fold, to)| {
            let others = match next.byte {
                0 => next.others,
                _ => {
                    more.push(next.bytes());
                    u32::try_from(more.len() - 1).ok()? | MORE
                }
            };
            Some(Step {
                byte,
                fold,
                to,
                others,
            })
        };
        steps.rev().try_fold(fail, next)
    }

    /// A step and those after it, without a row.
    fn chain(&self, first: Step) -> impl Iterator<Item = Step> {
        let after = |step: &Step| {
            let more = step.others & MORE != 0;
            more.then(|| Step::read(self.more.0[(step.others & !MORE) as usize]))
        };
        std::iter::successors(Some(first), after).filter(|step| step.byte != 0)
    }

    fn own_row(
        &mut self,
        of_fail: Option<Step>,
        leads: &[(u8, Node)],
    ) -> Result<Step, PatternError> {
        let chain: Vec<Step> = of_fail
            .into_iter()
            .flat_map(|step| self.chain(step))
            .collect();
        let base = chain.last().copied().or(of_fail);
        let rows = self.rows.edit();
        let start = rows.len();
        let others = u32::try_from(start).ok().filter(|row| row & MORE == 0);
        let others = others.ok_or(PatternError::TooMany)?;
        let columns = usize::from(self.columns);
        match base {
            None => rows.resize(columns, ROOT.to_le_bytes()),
            Some(step) => {
                let from = step.others as usize;
                rows.extend_from_within(from..from + columns);
            }
        }
        let mut set = |byte: u8, to: Node| {
            rows[start + usize::from(self.column[usize::from(byte)])] = to.to_le_bytes();
        };
        // Of two steps for a byte the first one counts.
        for step in chain.iter().rev() {
            set(step.byte, step.to);
            set(step.byte ^ step.fold, step.to);
        }
        leads.iter().for_each(|(byte, to)| set(*byte, *to));
        let by_row = Step {
            byte: 0,
            fold: 0,
            to: ROOT,
            others,
        };
        let to = self.row(by_row, 0).unwrap_or(ROOT);
        Ok(Step { to, ..by_row })
    }

    /// Adds the patterns that end at the next node, and what it holds back.
    fn ends_at(
        &mut self,
        tries: &[Trie; 2],
        under_way: [u16; 2],
        depth: usize,
        fail: Node,
    ) -> Result<(), PatternError> {
        let mut held = match depth {
            0 => (0, 0),
            _ => self.held(fail),
        };
        let first = self.ends.len();
        for (trie, at) in tries.iter().zip(under_way).rev() {
            let node = trie.node(at);
            if usize::from(node.depth) == depth && depth > 0 {
                trie.ends_at(at, &mut self.ends);
                held = node.hold.map_or(held, |pattern| (pattern, node.depth));
            }
        }
        if self.ends.len() > first + 1 {
            self.ends[first..].sort_unstable();
        }
        if depth > 0 && self.is_hit(fail) {
            self.ends.extend_from_within(self.ends_of(fail));
        }
        let ends = u32::try_from(self.ends.len()).ok();
        let ends = ends.filter(|ends| ends & HIT == 0);
        let mut ends = ends.ok_or(PatternError::TooMany)?;
        if self.ends.len() > first {
            ends |= HIT;
        }
        let ([a, b], [c, d], [e, f, g, h]) = (
            held.0.to_le_bytes(),
            held.1.to_le_bytes(),
            ends.to_le_bytes(),
        );
        self.about.edit().push([a, b, c, d, e, f, g, h]);
        Ok(())
    }

    #[inline]
    fn next(&self, node: Node, byte: u8) -> Node {
        self.by(Step::read(self.steps.0[usize::from(node)]), byte)
    }

    /// Where a byte leads to by a step and those after it.
    #[inline]
    fn by(&self, step: Step, byte: u8) -> Node {
        if byte | step.fold == step.byte {
            return step.to;
        }
        match self.row(step, byte) {
            Some(to) => to,
            None => self.further(step, byte),
        }
    }

    /// Where a byte leads to by the row of a step, if it is the last one.
    #[inline]
    fn row(&self, step: Step, byte: u8) -> Option<Node> {
        let column = self.column[usize::from(byte)];
        // No row is where [`MORE`] is set, so this is one test for both.
        let to = self.rows.0.get(step.others as usize + usize::from(column));
        to.map(|to| Node::from_le_bytes(*to))
    }

    /// Where a byte leads to by the step after one. Few nodes have more than one.
    #[cold]
    #[inline(never)]
    fn further(&self, step: Step, byte: u8) -> Node {
        let next = self.more.0[(step.others & !MORE) as usize];
        self.by(Step::read(next), byte)
    }

    /// Of `ends`, with [`HIT`].
    #[inline]
    fn end(&self, node: usize) -> u32 {
        let [.., a, b, c, d] = self.about.0[node];
        u32::from_le_bytes([a, b, c, d])
    }

    #[inline]
    fn is_hit(&self, node: Node) -> bool {
        self.end(usize::from(node)) & HIT != 0
    }

    /// The pattern and the length of what is held back.
    #[inline]
    fn held(&self, node: Node) -> (u16, u16) {
        let [a, b, c, d, ..] = self.about.0[usize::from(node)];
        (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]))
    }

    fn ends_of(&self, node: Node) -> Range<usize> {
        let end = |node: usize| (self.end(node) & !HIT) as usize;
        let node = usize::from(node);
        node.checked_sub(1).map_or(0, end)..end(node)
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
