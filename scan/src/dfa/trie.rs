//! Patterns as trees, from which the automaton is built: one tree for those whose letters match in either case, one for the others.

use super::{Case, Node, Pattern, ROOT};
use crate::PatternError;

/// A letter in its other case.
pub fn swapped(byte: u8) -> u8 {
    match byte.is_ascii_alphabetic() {
        true => byte ^ 0x20,
        false => byte,
    }
}

/// The patterns of one case rule as a tree; node 0 is its root.
pub struct Trie {
    pub nodes: Vec<Branch>,
    /// Patterns that are the same as one before, with the nodes at which they end; sorted.
    more_ends: Vec<(u16, u16)>,
    case: Case,
}

#[derive(Default)]
pub struct Branch {
    /// The byte that leads here; a letter in lower case if either case matches.
    pub byte: u8,
    pub depth: u16,
    /// The first of the nodes after it, and the next one after its own parent. 0 is none.
    child: u16,
    sibling: u16,
    /// The first pattern that ends here.
    end: Option<u16>,
    /// A pattern that continues after this node and must be held back.
    pub hold: Option<u16>,
}

impl Trie {
    pub fn new(patterns: &[Pattern], case: Case) -> Result<Self, PatternError> {
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
    pub fn ends_at(&self, at: u16, ends: &mut Vec<u16>) {
        if let Some(end) = self.node(at).end {
            ends.push(end);
            let first = self.more_ends.partition_point(|(node, _)| *node < at);
            let more = self.more_ends[first..].iter();
            let here = more.take_while(|(node, _)| *node == at);
            ends.extend(here.map(|(_, pattern)| *pattern));
        }
    }

    pub fn node(&self, at: u16) -> &Branch {
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
    pub fn edges(&self, at: u16, of: impl Fn(u16) -> [u16; 2], edges: &mut Vec<Edge>) {
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
pub type Edge = (u8, [u16; 2]);

/// Sorts edges, and joins those of a byte with which both trees go on.
pub fn join(edges: &mut Vec<Edge>) {
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
pub struct Numbers {
    /// The larger tree.
    by: usize,
    /// For each node of that tree: a node of the automaton with it.
    first: Vec<Node>,
    /// For each node of the automaton: what is under way, and another node with the same of the larger tree.
    pub nodes: Vec<([u16; 2], Node)>,
}

impl Numbers {
    pub fn new(tries: &[Trie; 2]) -> Self {
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
    pub fn of(&mut self, under_way: [u16; 2]) -> Result<(Node, bool), PatternError> {
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
