//! Makes untrusted text safe for a prompt or a tool result: no dialect of a set finds a marker in it.
//!
//! A model repeats text that it reads. A web page that contains `<tool_call name="delete">`, quoted in a reply, would be a
//! call. Escaped it is `<\tool_call name="delete">`, which is not.
//!
//! # Guarantees
//!
//! Markers are everything that the set looks for in text, and what ends it: openers, closers, reasoning markers, span markers.
//! For a tag with attributes the marker is the part up to its name.
//!
//! * **Safe.** The escaped text contains no marker, and none overlaps it, whatever bytes precede and follow it. (A whole marker
//!   in the surrounding text is not affected: an open block takes what follows as its body.)
//! * **Reversible.** [`unescape`] restores every byte string, with or without escapes of its own.
//! * **Minimal.** A text without a marker, whole or partial at its edges, is unchanged, backslashes included.
//! * **Streaming.** The result does not depend on the chunks; fewer bytes than the longest marker has are held back; the cost
//!   is linear. UTF-8 stays UTF-8.
//!
//! # Method
//!
//! A backslash is inserted after the first character of a marker: `<\think>`. It is also inserted at the start of a text that
//! may begin with the rest of a marker (`\ll name=`) and at the end of one that ends with the beginning of a marker
//! (`<tool_c\`). At the start of a text another one precedes what would complete a call that a prompt may have opened (`f` and
//! a line with `\{`, after `>>>`). If a marker already contains backslashes (`<\think>` in the original) one more is added, so
//! that the change can be reversed. If a marker of the set contains a backslash, the first of `^ ~ % ! $` that occurs in no
//! marker is used instead. A marker of one character cannot be broken and is written as its bytes in hex: `\x7b` for `{`.
//!
//! Why a visible character: models know the backslash as a sign of quoting and copy it. An invisible character is dropped when
//! text is normalised, tokenised or copied, and the marker is then whole again. It follows the first character, and not a later
//! one, so that neither a tokenizer nor a reader takes the rest for the marker.

mod breaks;
mod lead;
mod reader;
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
pub(crate) use reader::Part;
pub(crate) use seam::Seams;

/// Escapes streamed text for a set of dialects; see [`escape`](crate::escape()).
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
    /// The output of the first stage, which is the input of the second.
    between: Vec<u8>,
}

impl Escaper {
    /// Starts a text.
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

    /// Processes the next bytes of the text and appends what is final to `out`. Linear.
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

    /// Ends the text: appends what was held back. Another text may follow.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.between.clear();
        self.spell.finish(&self.table, &mut self.between);
        self.breaks.push(&self.table, &self.between, out);
        self.breaks.finish(&self.table, out);
    }
}

/// Reverses [`Escaper`], on streamed text.
///
/// Text that was never escaped may lose backslashes at places where an escaped text would have them.
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
    /// The output of the first stage, which is the input of the second.
    between: Vec<u8>,
}

impl Unescaper {
    /// Starts a text that was escaped for the same set.
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

    /// Processes the next bytes of the escaped text and appends what is final to `out`. Linear.
    pub fn push(&mut self, chunk: &[u8], out: &mut Vec<u8>) {
        if self.table.codes.is_empty() {
            return self.breaks.push(&self.table, chunk, out);
        }
        self.between.clear();
        self.breaks.push(&self.table, chunk, &mut self.between);
        self.spell.push(&self.table, &self.between, out);
    }

    /// Ends the text: appends what was held back. Another text may follow.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.between.clear();
        self.breaks.finish(&self.table, &mut self.between);
        self.spell.push(&self.table, &self.between, out);
        self.spell.finish(&self.table, out);
    }
}

/// Escapes a whole text, so that no dialect of the set finds a marker in it or across its edges.
///
/// A backslash breaks each marker after its first character, and is added at an edge that splits a marker. The text is safe
/// between any neighbours, [`unescape`] restores it, and text without markers is unchanged. The breaker is visible because
/// models copy visible characters and drop invisible ones.
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

/// What may be next to a text in a prompt.
#[derive(Clone, Debug)]
pub struct Beside {
    /// The markers that have begun before it, with the length of the part before it.
    tails: Vec<(u16, u16)>,
    /// One of these follows. Nothing is known beyond their last bytes.
    following: Vec<Vec<u8>>,
}

impl Beside {
    /// One of `before` precedes the text, and no marker continues from earlier text.
    pub(crate) fn new(table: &EscapeTable, before: &[Vec<u8>], following: Vec<Vec<u8>>) -> Self {
        let tails = table.tails_after(before);
        Self { tails, following }
    }
}

/// Escapes a text with known neighbours: breaks only what forms a marker together with them.
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
        .finish_before(table, Some(&beside.following), &mut out);
    out
}

/// Restores the text from which [`escape`] made this one.
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
