//! Finds markers in a stream of chunks.
//!
//! [`Dfa`] is a small automaton over a handful of byte patterns. After any byte its node says which patterns are under way,
//! so the node is the whole state of the scan: how many bytes must be held back, which bytes they are, and whether a
//! marker has just ended. [`Scanner`] puts prefilters before it for the long stretches in which nothing begins.
//!
//! Cost: one table look-up a byte while something is under way, a vector scan otherwise. A byte is looked at by the
//! prefilter once and stepped at most once.

mod dfa;
mod line;
pub(crate) mod path;
mod prefilter;
pub(crate) mod tag;

pub(crate) use dfa::{Dfa, Node, Pattern, ROOT};
pub(crate) use line::Line;
pub(crate) use prefilter::{Scanner, Skip};
