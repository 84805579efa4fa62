//! Finds markers in a stream of chunks.
//!
//! [`Dfa`] is a small automaton over a handful of byte patterns. After any byte its node says which patterns are under way,
//! so the node is the whole state of the scan: how many bytes must be held back, which bytes they are, and whether a
//! marker has just ended. [`Scanner`] puts prefilters before it for the long stretches in which nothing begins.
//!
//! Cost: one table look-up a byte while something is under way, a vector scan otherwise. A byte is looked at by the
//! prefilter once and stepped at most once.

mod chars;
mod dfa;
mod hash;
pub(crate) mod json;
mod line;
mod needle;
pub(crate) mod path;
mod prefilter;
mod span;
pub(crate) mod tag;
mod utf8;
pub(crate) mod xml;

pub(crate) use chars::{breaks, unseen};
pub(crate) use dfa::{Case, Dfa, Node, Pattern, ROOT};
pub(crate) use hash::Fnv;
pub(crate) use line::Line;
pub(crate) use needle::Needle;
pub(crate) use prefilter::{Scanner, Skip};
pub use span::Span;
pub(crate) use utf8::{Gate, Utf8};
