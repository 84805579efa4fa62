//! Makes untrusted text safe to stand in a prompt or a tool result: no dialect of a set sees a marker in it.
//!
//! Text that a model reads comes back in what it writes. A web page that holds `<tool_call name="delete">`, quoted in a
//! reply, would be a call. Escaped it is `<\tool_call name="delete">`, which is none.
//!
//! # What is promised
//!
//! Markers are all that the set looks for in text, and what ends it: openers, closers, reasoning markers, span markers. Of
//! a tag with attributes the marker is the part up to its name.
//!
//! * **Safe.** No marker stands in the escaped text, and none touches it, whatever bytes stand before and after. (A marker
//!   that is whole in a neighbour is the neighbour's: an open block takes what follows as its body.)
//! * **Reversible.** [`unescape`] gives back every byte string, with escapes of its own or not.
//! * **Minimal.** Without a marker, whole or cut at its edges, a text stays as it is, backslashes included.
//! * **Streaming.** The result does not depend on chunks; less than the longest marker waits; the cost is linear. UTF-8
//!   stays UTF-8.
//!
//! # How
//!
//! A backslash goes after the first character of a marker: `<\think>`. It goes to the start of a text that may begin with
//! the rest of a marker (`\ll name=`) and to the end of one that ends with the beginning of a marker (`<tool_c\`). At the start
//! of a text stands another before what would complete a call that a prompt may have opened (`f` and a line with `\{`, after
//! `>>>`). Where a
//! marker has backslashes in it already (`<\think>` in the original) there is one more; that is how it can be taken back.
//! If a marker of the set holds a backslash, the first of `^ ~ % ! $` that is in no marker serves instead. A marker of one
//! character cannot be broken and is written as its bytes in hex: `\x7b` for `{`.
//!
//! Why a character that can be seen: models know the backslash as "this is quoted" and copy it; a character without width
//! is dropped when text is normalised, tokenised or copied, and then the marker is whole again. After the first character
//! rather than further on, so that no token and no eye takes what is left for the marker.

mod breaks;
mod lead;
mod seam;
mod spell;
#[cfg(test)]
mod tests;

use crate::dialect::EscapeTable;
use std::sync::Arc;

use crate::dialect::DialectSet;
use breaks::{Breaks, Way};
use spell::Spell;

pub use crate::dialect::EscapeError;
pub(crate) use seam::Seams;

/// Escapes text for a set of dialects, as it comes; [`escape`](crate::escape()) says what that means.
///
/// ```
/// let set = toolglot::DialectSet::defaults();
/// let mut escaper = toolglot::Escaper::new(&set)?;
/// let mut out = vec![];
/// for chunk in ["(see <thi", "nk> and <tool_c"] {
///     escaper.push(chunk.as_bytes(), &mut out);
/// }
/// escaper.finish(&mut out);
/// assert_eq!(out, br"(see <\think> and <tool_c\");
/// # Ok::<(), toolglot::EscapeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Escaper {
    table: Arc<EscapeTable>,
    spell: Spell,
    breaks: Breaks,
    /// What the first stage gave the second.
    between: Vec<u8>,
}

impl Escaper {
    /// At the start of a text.
    ///
    /// # Errors
    /// The markers of the set cannot be escaped; no built-in dialect has such markers.
    pub fn new(set: &DialectSet) -> Result<Self, EscapeError> {
        set.escapes().map(Self::with)
    }

    fn with(table: Arc<EscapeTable>) -> Self {
        Self {
            spell: Spell::new(Way::Escape),
            breaks: Breaks::new(&table, Way::Escape),
            between: vec![],
            table,
        }
    }

    /// Takes the next bytes of the text and adds to `out` what is settled. Linear.
    pub fn push(&mut self, chunk: &[u8], out: &mut Vec<u8>) {
        if self.table.codes.is_empty() {
            return self.breaks.push(&self.table, chunk, out);
        }
        self.between.clear();
        self.spell.push(&self.table, chunk, &mut self.between);
        self.breaks.push(&self.table, &self.between, out);
    }

    fn all(mut self, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len() + 8);
        self.push(text, &mut out);
        self.finish(&mut out);
        out
    }

    /// Ends the text: adds what waited. Another text may follow.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.between.clear();
        self.spell.finish(&self.table, &mut self.between);
        self.breaks.push(&self.table, &self.between, out);
        self.breaks.finish(&self.table, out);
    }
}

/// Takes back what [`Escaper`] did, as the text comes.
///
/// Text that was never escaped may lose backslashes where an escaped one would have them.
///
/// ```
/// use toolglot::{DialectSet, Unescaper, escape};
///
/// let set = DialectSet::builtin("hermes")?;
/// let escaped = escape(&set, b"<tool_call>")?;
/// let (mut unescaper, mut out) = (Unescaper::new(&set)?, vec![]);
/// for byte in escaped {
///     unescaper.push(&[byte], &mut out);
/// }
/// unescaper.finish(&mut out);
/// assert_eq!(out, b"<tool_call>");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Unescaper {
    table: Arc<EscapeTable>,
    breaks: Breaks,
    spell: Spell,
    /// What the first stage gave the second.
    between: Vec<u8>,
}

impl Unescaper {
    /// At the start of a text that was escaped for the same set.
    ///
    /// # Errors
    /// As [`Escaper::new`].
    pub fn new(set: &DialectSet) -> Result<Self, EscapeError> {
        set.escapes().map(Self::with)
    }

    fn with(table: Arc<EscapeTable>) -> Self {
        Self {
            breaks: Breaks::new(&table, Way::Unescape),
            spell: Spell::new(Way::Unescape),
            between: vec![],
            table,
        }
    }

    /// Takes the next bytes of the escaped text and adds to `out` what is settled. Linear.
    pub fn push(&mut self, chunk: &[u8], out: &mut Vec<u8>) {
        if self.table.codes.is_empty() {
            return self.breaks.push(&self.table, chunk, out);
        }
        self.between.clear();
        self.breaks.push(&self.table, chunk, &mut self.between);
        self.spell.push(&self.table, &self.between, out);
    }

    /// Ends the text: adds what waited. Another text may follow.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.between.clear();
        self.breaks.finish(&self.table, &mut self.between);
        self.spell.push(&self.table, &self.between, out);
        self.spell.finish(&self.table, out);
    }
}

/// Escapes a whole text, so that no dialect of the set sees a marker in it or at its edges.
///
/// A backslash breaks each marker after its first character, and stands at the edges of a text that is cut inside one.
/// Any neighbours are safe, [`unescape`] gives the text back, and text without markers stays as it is. A visible character
/// does it, because models copy it where they would drop one without width.
///
/// ```
/// use toolglot::{DialectSet, escape, unescape};
/// let set = DialectSet::defaults();
/// let page = br#"C:\temp, <tool_call name="f">, <\think>"#;
/// let safe = escape(&set, page)?;
/// assert_eq!(safe, br#"C:\temp, <\tool_call name="f">, <\\think>"#);
/// assert_eq!(unescape(&set, &safe)?, page);
/// # Ok::<(), toolglot::EscapeError>(())
/// ```
///
/// # Errors
/// The markers of the set cannot be escaped; no built-in dialect has such markers.
pub fn escape(set: &DialectSet, text: &[u8]) -> Result<Vec<u8>, EscapeError> {
    Ok(Escaper::new(set)?.all(text))
}

/// What may stand around a text in a prompt.
#[derive(Clone, Debug)]
pub struct Beside {
    /// The markers that have begun before it, and how much of each stands there.
    tails: Vec<(u16, u16)>,
    /// One of these follows. Nothing is known after the last byte.
    behind: Vec<Vec<u8>>,
}

impl Beside {
    /// One of `before` stands before the text, and no marker goes on from before that.
    pub(crate) fn new(table: &EscapeTable, before: &[Vec<u8>], behind: Vec<Vec<u8>>) -> Self {
        let tails = table.tails_after(before);
        Self { tails, behind }
    }
}

/// The same for a text of which it is known what stands beside it: only what is a marker together with that is broken.
pub(crate) fn beside(table: &Arc<EscapeTable>, text: &[u8], beside: &Beside) -> Vec<u8> {
    let mut escaper = Escaper {
        spell: Spell::new(Way::Escape),
        breaks: Breaks::after(&beside.tails),
        between: vec![],
        table: Arc::clone(table),
    };
    let mut out = Vec::with_capacity(text.len() + 8);
    escaper.push(text, &mut out);
    escaper.between.clear();
    escaper.spell.finish(table, &mut escaper.between);
    escaper.breaks.push(table, &escaper.between, &mut out);
    escaper
        .breaks
        .finish_before(table, Some(&beside.behind), &mut out);
    out
}

/// The text that [`escape`] made this of.
///
/// # Errors
/// As [`escape`].
///
/// ```
/// use toolglot::{DialectSet, escape, unescape};
///
/// let set = DialectSet::builtin("hermes")?;
/// assert_eq!(unescape(&set, &escape(&set, b"<tool_call>")?)?, b"<tool_call>");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn unescape(set: &DialectSet, text: &[u8]) -> Result<Vec<u8>, EscapeError> {
    let mut unescaper = Unescaper::new(set)?;
    let mut out = Vec::with_capacity(text.len());
    unescaper.push(text, &mut out);
    unescaper.finish(&mut out);
    Ok(out)
}
