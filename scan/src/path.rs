//! Anchored patterns with holes: what may appear at one place of a block.
//!
//! A dialect writes them as text, for example `<function=$name>` or `<arg_key>$key</arg_key>$_<arg_value>`:
//!
//! | hole | takes |
//! |---|---|
//! | `$_` | any run of white space, or nothing |
//! | `$/` | any run of line ends and of blanks that begin a line, or nothing |
//! | `$name`, `$id`, `$type` | a word: no white space, no control character, no quote, no `<` or `>` |
//! | `$key` | the name of a parameter: as a word, but with blanks inside |
//! | `$tag` | the attributes of a tag, up to what follows the hole; quotes hide it |
//! | `$digits` | digits |
//! | `$ticks` | where a block opens: backticks, or nothing; elsewhere: at least as many |
//! | `$x` | where a block opens: a suffix of the checkpoint's markers; elsewhere: the same suffix |
//! | `$^` | nothing: checks the byte after it without consuming it |
//!
//! A word ends at the first byte with which the pattern can continue, or which no word may contain. The patterns of one
//! place become one tree, so a byte is read once. Where a pattern is complete and others continue, the next byte decides.
//! Where literal bytes and a word may begin at one place, the literal pattern wins if it becomes complete, otherwise the
//! word: `<item>` beside `<$key>`.
//!
//! A token may appear twice, with white space between, where the pattern continues after it: `<call><call>$name` in place of
//! `<call>$name`. The second one leads back to where the first one led ([`Paths::with_twins`]).
//!
//! Tags may hold white space and attributes that the pattern does not spell out: attributes do not make a different tag. The
//! shape of the tag decides where ([`room`](crate::tag::room)), and a hole takes them that no pattern spells out
//! ([`Hole::Loose`]).

mod build;
mod pattern;
mod step;

use serde::{Deserialize, Serialize};

pub use self::pattern::{Hole, Part, literal, parts, spelt};
use crate::{Span, xml};

/// The number of kinds of holes that remember what they took.
pub const HOLES: usize = 10;

/// The most white space that a `$_` takes.
pub const MAX_BLANKS: u16 = 1024;

/// One node of the tree.
#[derive(Clone, Debug)]
struct Node<A> {
    /// A literal byte and where it leads; the others are in `rare`.
    first: Option<(u8, u16)>,
    /// White space may appear here.
    blanks: bool,
    /// Line ends, and blanks after them, may appear here.
    lines: bool,
    /// A hole begins here; the node is its inside.
    hole: Option<(Hole, u16)>,
    /// This node is the inside of a hole.
    inside: Option<Hole>,
    /// White space ends the hole and leads here.
    after: Option<u16>,
    /// The checkpoint's suffix must appear here.
    fix: Option<u16>,
    /// White space and attributes that the pattern does not spell out may appear here; the node is their inside.
    loose: Option<u16>,
    /// White space that the pattern does not spell out may appear here.
    slip: bool,
    /// A token that may appear twice ends here.
    token: bool,
    /// White space before a repetition of the same token leads here.
    again: Option<u16>,
    /// A pattern ends here.
    accept: Option<A>,
    rare: Option<Box<Rare<A>>>,
}

/// What most nodes have not.
#[derive(Clone, Debug)]
struct Rare<A> {
    /// More literal bytes and where they lead.
    more: Vec<(u8, u16)>,
    /// Bytes that complete a pattern without being consumed.
    peeks: Vec<(u8, A)>,
}

impl<A> Default for Rare<A> {
    fn default() -> Self {
        Self {
            more: vec![],
            peeks: vec![],
        }
    }
}

/// What a byte has in a list.
fn found<T: Copy>(list: &[(u8, T)], byte: u8) -> Option<T> {
    list.iter().find(|(b, _)| *b == byte).map(|(_, to)| *to)
}

impl<A> Default for Node<A> {
    fn default() -> Self {
        Self {
            first: None,
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
            accept: None,
            rare: None,
        }
    }
}

impl<A: Copy> Node<A> {
    fn byte(&self, byte: u8) -> Option<u16> {
        let (first, to) = self.first?;
        match &self.rare {
            _ if first == byte => Some(to),
            Some(rare) => found(&rare.more, byte),
            None => None,
        }
    }

    /// Whether a literal byte of the node leads on, whatever else may appear here.
    fn is_literal(&self) -> bool {
        self.hole.is_none() && self.inside.is_none() && self.fix.is_none()
    }

    /// Lets a byte lead to a node.
    fn add_byte(&mut self, byte: u8, to: u16) {
        match self.first {
            None => self.first = Some((byte, to)),
            Some(_) => self.rare().more.push((byte, to)),
        }
    }

    fn rare(&mut self) -> &mut Rare<A> {
        self.rare.get_or_insert_default()
    }

    fn peek(&self, byte: u8) -> Option<A> {
        found(&self.rare.as_ref()?.peeks, byte)
    }

    /// Whether the white space before the next part may contain that byte, after this much of it.
    fn skips(&self, byte: u8, before: u16) -> bool {
        let ends = matches!(byte, b'\n' | b'\r');
        let space = xml::is_space(byte);
        self.blanks && space || self.lines && (ends || space && before > 0)
    }

    /// Whether white space may appear here, spelled out or not.
    fn blank(&self, byte: u8, before: u16) -> bool {
        self.skips(byte, before) || self.slip && xml::is_space(byte)
    }

    fn goes_on(&self) -> bool {
        self.first.is_some()
            || self.hole.is_some()
            || self.fix.is_some()
            || self
                .rare
                .as_ref()
                .is_some_and(|rare| !rare.peeks.is_empty())
            || self.inside.is_some()
    }
}

/// What patterns are used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Exact,
    /// Their tags may hold what the patterns do not spell out.
    Tags,
    /// The same, and they open a block.
    Opening,
}

/// Patterns that may appear at one place, each with its action. Immutable.
///
/// ```
/// use toolglot_scan::path::{Go, Hole, Paths};
///
/// let text = "<function=weather>";
/// let paths = Paths::new([("<function=$name>", 'f'), ("</tool_call>", 'c')])?;
/// let mut walk = paths.begin();
/// let mut go = Go::More;
/// for (at, byte) in text.bytes().enumerate() {
///     go = paths.step(&mut walk, byte, at as u64, b"");
/// }
/// assert_eq!(go, Go::Found { action: 'f', taken: true });
/// let name = walk.span(Hole::Name);
/// assert_eq!(&text[name.start as usize..name.end as usize], "weather");
/// # Ok::<(), toolglot_scan::PatternError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Paths<A> {
    nodes: Vec<Node<A>>,
    /// Blocks open here: `$x` takes any suffix.
    opens: bool,
}

/// No patterns.
impl<A> Default for Paths<A> {
    fn default() -> Self {
        Self {
            nodes: vec![Node::default()],
            opens: false,
        }
    }
}

/// The position of a walk through [`Paths`].
///
/// See the example of [`Paths`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Walk {
    node: u16,
    /// White space so far in the present run.
    blanks: u16,
    /// Bytes of the checkpoint's suffix so far.
    fixed: u16,
    /// State within a tag's attributes: the quote, or a state of [`tag`](crate::tag).
    tag: u8,
    /// Inside of the word to use if the literal bytes break off.
    word: Option<u16>,
    /// Where the last repeatable token led.
    token: u16,
    /// A token appeared twice.
    twice: bool,
    /// Offset of the first byte after leading white space, where the pattern began.
    start: Option<u64>,
    spans: [Span; HOLES],
}

/// The effect of one byte.
///
/// See the example of [`Paths`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Go<A> {
    /// A pattern may still become complete.
    More,
    /// A pattern is complete.
    Found {
        /// The action of the pattern.
        action: A,
        /// Whether the byte belongs to it.
        taken: bool,
    },
    /// None of the patterns matches.
    None,
}

impl<A: Copy> Paths<A> {
    /// Whether a text as a whole is one of the patterns.
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

    /// Whether a walk from a snapshot lies in this tree.
    pub fn fits(&self, walk: &Walk) -> bool {
        let inside = |at: u16| {
            let node = self.nodes.get(usize::from(at));
            node.is_some_and(|node| node.inside.is_some())
        };
        usize::from(walk.node) < self.nodes.len() && walk.word.is_none_or(inside)
    }

    /// Whether a walk is in a hole, which may continue.
    pub fn in_hole(&self, walk: &Walk) -> bool {
        walk.word.is_some() || self.nodes[usize::from(walk.node)].inside.is_some()
    }

    /// Whether a walk is in literal bytes or a tag's extra attributes, neither at the beginning nor in another hole.
    pub fn literal(&self, walk: &Walk) -> bool {
        let node = &self.nodes[usize::from(walk.node)];
        walk.start.is_some() && matches!(node.inside, None | Some(Hole::Loose))
    }

    /// Consumes bytes that are known to be here, ending before `end`: a literal prefix of one of the patterns.
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

    /// The pattern that is complete if the stream, or the lookahead, ends at `end`.
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

    /// What a tag held that the pattern does not spell out, if anything.
    pub fn loose(&self) -> Option<Span> {
        let span = self.span(Hole::Loose);
        (!span.is_empty()).then_some(span)
    }

    /// Marks that text as reported.
    pub fn told(&mut self) {
        self.spans[Hole::Loose as usize] = Span::default();
    }

    /// Whether a token of the pattern appeared twice.
    pub fn twice(&self) -> bool {
        self.twice
    }

    /// Offset of the first byte of the pattern, after leading white space.
    pub fn start(&self) -> Option<u64> {
        self.start
    }

    /// Returns the walk to its start.
    pub fn restart(self) -> Self {
        Self::default()
    }

    /// Whether nothing but white space has been consumed.
    pub fn blank(&self) -> bool {
        self.start.is_none()
    }
}

#[cfg(test)]
mod tests;
