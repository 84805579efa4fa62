//! The tables of an automaton, as they are stored, and how they are read.

use std::borrow::Cow;
use std::ops::Range;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Node;

/// A bit beside a place in a list: the node has patterns in it.
pub const HIT: u32 = 1 << 31;

/// A bit beside a place in a list: it is a further step, and not a row.
pub const MORE: u32 = 1 << 31;

/// Where one byte leads to, and what to do with others.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The byte that leads to `to`, with `fold` set in it.
    pub byte: u8,
    /// The bit in which the cases of a letter differ, if both lead to `to`, or nothing.
    pub fold: u8,
    pub to: Node,
    /// The row for the other bytes, or with [`MORE`] the next step. A node with a row of its own has the byte 0, which leads where it does
    /// by that row.
    pub others: u32,
}

impl Step {
    #[inline]
    pub fn read(bytes: [u8; 8]) -> Self {
        let [byte, fold, to @ .., a, b, c, d] = bytes;
        Self {
            byte,
            fold,
            to: Node::from_le_bytes(to),
            others: u32::from_le_bytes([a, b, c, d]),
        }
    }

    pub fn bytes(self) -> [u8; 8] {
        let ([to, high], [a, b, c, d]) = (self.to.to_le_bytes(), self.others.to_le_bytes());
        [self.byte, self.fold, to, high, a, b, c, d]
    }
}

/// Numbers of a fixed count of bytes, the lowest first, made at run time or read in place.
#[derive(Clone, Debug)]
pub struct Table<const BYTES: usize>(pub Cow<'static, [[u8; BYTES]]>);

impl<const BYTES: usize> Table<BYTES> {
    pub fn with_capacity(count: usize) -> Self {
        Self(Cow::Owned(Vec::with_capacity(count)))
    }

    /// The table while it is made.
    pub fn edit(&mut self) -> &mut Vec<[u8; BYTES]> {
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
    pub(super) column: Box<[u8; 256]>,
    /// The row length.
    pub(super) columns: u16,
    /// Per node: its first step.
    pub(super) steps: Table<8>,
    /// Further steps of nodes.
    pub(super) more: Table<8>,
    /// Where the bytes of a column lead to, row by row.
    pub(super) rows: Table<2>,
    /// Per node: the pattern and length of what must be held back, and where its patterns end in `ends`, with [`HIT`] if it has
    /// some.
    pub(super) about: Table<8>,
    /// Patterns that end at a node, longest first.
    pub(super) ends: Vec<u16>,
    pub(super) exact: bool,
    pub(super) max_len: u16,
}

impl Tables {
    #[inline]
    pub(super) fn next(&self, node: Node, byte: u8) -> Node {
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
    pub(super) fn row(&self, step: Step, byte: u8) -> Option<Node> {
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
    pub(super) fn is_hit(&self, node: Node) -> bool {
        self.end(usize::from(node)) & HIT != 0
    }

    /// The pattern and the length of what is held back.
    #[inline]
    pub(super) fn held(&self, node: Node) -> (u16, u16) {
        let [a, b, c, d, ..] = self.about.0[usize::from(node)];
        (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]))
    }

    pub(super) fn ends_of(&self, node: Node) -> Range<usize> {
        let end = |node: usize| (self.end(node) & !HIT) as usize;
        let node = usize::from(node);
        node.checked_sub(1).map_or(0, end)..end(node)
    }
}
