//! Anchored patterns with holes: what may stand at one place of a block.
//!
//! A dialect writes them as text, for example `<function=$name>` or `<arg_key>$key</arg_key>$_<arg_value>`:
//!
//! | hole | takes |
//! |---|---|
//! | `$_` | any run of white space, also none |
//! | `$/` | any run of line ends, also none |
//! | `$name`, `$id`, `$type` | a word: no white space, no control character, no quote, no `<` or `>` |
//! | `$key` | the name of a parameter: as a word, but with blanks inside |
//! | `$tag` | the attributes of a tag, up to what follows the hole; quotes hide it |
//! | `$digits` | digits |
//! | `$ticks` | where a block opens: backticks, or none; elsewhere: at least as many |
//! | `$x` | where a block opens: a suffix of the checkpoint's markers; elsewhere: the same again |
//! | `$^` | nothing: the one byte after it is looked at and not taken |
//!
//! A word ends at the first byte with which the pattern can go on, or that no word has. Patterns of one place become one tree, so a byte is
//! looked at once. Where a pattern is complete and others go on, the next byte decides. Where literal bytes and a word may
//! begin at one place, the literal pattern counts if it becomes complete, and else the word: `<item>` beside `<$key>`.
//!
//! A token may stand twice, with white space between, where the pattern goes on after it: `<call><call>$name` in place of
//! `<call>$name`. The second one leads back to where the first one led ([`Paths::with_twins`]).
//!
//! In tags, blanks and attributes may stand that the pattern does not show: a tag with attributes is no other tag. Where they
//! may is told by its shape ([`room`](crate::tag::room)), and they are taken by a hole that no file writes ([`Hole::Loose`]).

mod build;
mod pattern;
mod step;

use serde::{Deserialize, Serialize};

pub use self::pattern::{Hole, Part, literal, parts, spelt};
use crate::{Span, xml};

/// How many kinds of holes remember what they took.
pub const HOLES: usize = 9;

/// White space that a `$_` takes at most.
pub const MAX_BLANKS: u16 = 1024;

/// One node of the tree.
#[derive(Clone, Debug)]
struct Node<A> {
    /// Literal bytes and where they lead.
    bytes: Vec<(u8, u16)>,
    /// White space may stand here.
    blanks: bool,
    /// Line ends may stand here.
    lines: bool,
    /// A hole begins here; the node is its inside.
    hole: Option<(Hole, u16)>,
    /// This node is the inside of a hole.
    inside: Option<Hole>,
    /// White space ends the hole and leads here.
    after: Option<u16>,
    /// The checkpoint's suffix must stand here.
    fix: Option<u16>,
    /// Blanks and attributes may stand here that the pattern does not show; the node is their inside.
    loose: Option<u16>,
    /// Blanks may stand here that the pattern does not show.
    slip: bool,
    /// A token ends here that may stand twice.
    token: bool,
    /// White space before the same token once more leads here.
    again: Option<u16>,
    /// Bytes that complete a pattern without being taken.
    peeks: Vec<(u8, A)>,
    /// A pattern ends here.
    accept: Option<A>,
}

impl<A> Default for Node<A> {
    fn default() -> Self {
        Self {
            bytes: vec![],
            blanks: false,
            lines: false,
            hole: None,
            inside: None,
            after: None,
            fix: None,
            loose: None,
            slip: false,
            token: false,
            again: None,
            peeks: vec![],
            accept: None,
        }
    }
}

impl<A: Copy> Node<A> {
    fn byte(&self, byte: u8) -> Option<u16> {
        self.bytes.iter().find(|(b, _)| *b == byte).map(|(_, n)| *n)
    }

    fn peek(&self, byte: u8) -> Option<A> {
        self.peeks.iter().find(|(b, _)| *b == byte).map(|(_, n)| *n)
    }

    /// Whether white space before what comes next may hold that byte.
    fn skips(&self, byte: u8) -> bool {
        self.blanks && xml::is_space(byte) || self.lines && matches!(byte, b'\n' | b'\r')
    }

    /// Whether white space may stand here, shown or not.
    fn blank(&self, byte: u8) -> bool {
        self.skips(byte) || self.slip && xml::is_space(byte)
    }

    fn goes_on(&self) -> bool {
        !self.bytes.is_empty()
            || self.hole.is_some()
            || self.fix.is_some()
            || !self.peeks.is_empty()
            || self.inside.is_some()
    }
}

/// What patterns are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Exact,
    /// Their tags may hold what the patterns do not show.
    Tags,
    /// The same, and they open a block.
    Opening,
}

/// Patterns that may stand at one place, each with what it leads to. Immutable.
#[derive(Clone, Debug)]
pub struct Paths<A> {
    nodes: Vec<Node<A>>,
    /// Blocks open here: `$x` takes what it finds.
    opens: bool,
}

/// Where a walk through [`Paths`] stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Walk {
    node: u16,
    /// White space so far in the present run.
    blanks: u16,
    /// Bytes of the checkpoint's suffix so far.
    fixed: u16,
    /// Where in a tag's attributes: the quote, or one of [`tag`].
    tag: u8,
    /// Inside of the word that stands here if the literal bytes break off.
    word: Option<u16>,
    /// Where the last token led that may stand twice.
    token: u16,
    /// One did.
    twice: bool,
    /// Offset after the last byte that was no leading white space; where the pattern began.
    start: Option<u64>,
    spans: [Span; HOLES],
}

/// What one byte did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Go<A> {
    /// A pattern may still become complete.
    More,
    /// A pattern is complete.
    Found {
        /// What the pattern stands for.
        action: A,
        /// Whether the byte belongs to it.
        taken: bool,
    },
    /// None of the patterns stands here.
    None,
}

impl<A: Copy> Paths<A> {
    /// Whether a text is one of the patterns, as a whole.
    pub fn is(&self, text: &str) -> bool {
        let mut walk = self.begin();
        let last = text.len();
        let mut bytes = text.bytes().enumerate();
        bytes.any(|(at, byte)| {
            let go = self.step(&mut walk, byte, at as u64, b"");
            matches!(go, Go::Found { taken: true, .. }) && at + 1 == last
        })
    }

    /// A walk at its start.
    pub fn begin(&self) -> Walk {
        Walk::default()
    }

    /// Whether a walk that was read from a snapshot stands in this tree.
    pub fn fits(&self, walk: &Walk) -> bool {
        let inside = |at: u16| {
            let node = self.nodes.get(usize::from(at));
            node.is_some_and(|node| node.inside.is_some())
        };
        usize::from(walk.node) < self.nodes.len() && walk.word.is_none_or(inside)
    }

    /// Whether a walk stands in a hole, which may go on.
    pub fn in_hole(&self, walk: &Walk) -> bool {
        walk.word.is_some() || self.nodes[usize::from(walk.node)].inside.is_some()
    }

    /// Whether a walk stands in literal bytes, neither at the beginning nor in a hole.
    pub fn literal(&self, walk: &Walk) -> bool {
        let node = &self.nodes[usize::from(walk.node)];
        walk.start.is_some() && matches!(node.inside, None | Some(Hole::Loose))
    }

    /// Takes bytes that are known to stand here, ending before `end`: a literal beginning of one of the patterns.
    pub fn seek(&self, walk: &mut Walk, bytes: &[u8], end: u64) -> Go<A> {
        let mut go = Go::More;
        for (index, byte) in bytes.iter().enumerate() {
            go = self.step(walk, *byte, end - (bytes.len() - index) as u64, b"");
            if !matches!(go, Go::More) {
                break;
            }
        }
        go
    }

    /// If the stream, or what is looked at, ended at `end`: the pattern that is complete.
    pub fn complete(&self, walk: &Walk, end: u64, fix: &[u8]) -> Option<A> {
        let node = self.nodes.get(usize::from(walk.node))?;
        let hole = node.inside.or(node.hole.map(|(hole, _)| hole));
        if hole.is_some_and(|hole| self.too_few(walk, hole, b'\n', end, fix)) {
            return None;
        }
        node.accept
    }
}

impl Walk {
    /// What a hole took; empty if it took nothing.
    pub fn span(&self, hole: Hole) -> Span {
        self.spans[hole as usize]
    }

    /// What stood in a tag that shows no attributes, if something did.
    pub fn loose(&self) -> Option<Span> {
        let span = self.span(Hole::Loose);
        (!span.is_empty()).then_some(span)
    }

    /// The same walk, with what stood in such a tag told.
    pub fn told(&mut self) {
        self.spans[Hole::Loose as usize] = Span::default();
    }

    /// Whether a token of the pattern stands twice.
    pub fn twice(&self) -> bool {
        self.twice
    }

    /// Offset of the first byte that is no white space before the pattern.
    pub fn start(&self) -> Option<u64> {
        self.start
    }

    /// The same walk at its start.
    pub fn restart(self) -> Self {
        Self::default()
    }

    /// Whether nothing but white space has come.
    pub fn blank(&self) -> bool {
        self.start.is_none()
    }
}

#[cfg(test)]
mod tests;
