//! Finds markers in a stream of chunks.
//!
//! [`Dfa`] is a small automaton over a handful of byte patterns. After any byte its node records which patterns are under
//! way, so the node is the whole state of the scan: how many bytes must be held back, which bytes they are, and whether a
//! marker has just ended. [`Scanner`] adds prefilters for the long stretches in which nothing begins.
//!
//! Cost: one table look-up per byte while something is under way, otherwise a vector scan for each search of the set. The
//! automaton steps over a byte at most once.

#![deny(unsafe_code, missing_docs)]

mod begin;
mod chars;
mod dfa;
mod error;
mod hash;
pub mod json;
mod line;
mod marks;
mod needle;
mod pairs;
pub mod path;
mod prefilter;
mod quotes;
#[cfg(test)]
mod random;
mod span;
pub mod tag;
mod utf8;
mod vector;
pub mod xml;

pub use chars::{breaks, unseen};
pub use dfa::{Case, Dfa, Node, Pattern, ROOT, Tables};
pub use error::PatternError;
pub use hash::Fnv;
pub use line::{Line, last_line, lines};
pub use marks::Marks;
pub use needle::Needle;
pub use pairs::Pairs;
pub use prefilter::{Kinds, Scanner, Skip};
pub use quotes::{bracket_before, quote_after, quote_before, quote_opening};
pub use span::Span;
pub use utf8::{Gate, Utf8, is_whole, kinds, lossy, valid_prefix};

/// The page of the package, so that its example is compiled and run.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../README.md")]
    mod readme {}
}
