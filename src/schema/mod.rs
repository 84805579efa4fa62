//! JSON Schema: one engine for the hints of the parser, for coercion and for the validation of calls.
//!
//! [`read`] normalizes schemas to plain JSON Schema, [`resolve`] follows references and compositions, [`types`] are sets of types,
//! [`compile`] converts a schema to what the parser needs, [`mod@typed`] converts text to typed values.

mod compile;
mod read;
mod resolve;
mod typed;
mod types;

pub use compile::{Param, Schema, open, others, params};
pub use read::Place;
pub use read::{ready, ref_alone};
pub use resolve::Doc;
pub use resolve::{listed, same, unions};
pub use typed::{Coerced, coerce, is_json, may_be_json};
pub use typed::{Typed, spelled, typed};
pub use types::{Types, whole};
