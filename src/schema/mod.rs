//! JSON Schema: one engine for the hints of the parser, for coercion and for the validation of calls.
//!
//! [`read`] normalizes schemas to plain JSON Schema, [`doc`] follows references and compositions, [`types`] are sets of types,
//! [`compile`] converts a schema to what the parser needs, [`text`] converts text to typed values.

mod compile;
mod doc;
mod read;
mod text;
mod types;

pub use compile::{Param, Schema, open, params};
pub use doc::Doc;
pub use doc::{listed, same, unions};
pub use read::Place;
pub use read::{ready, ref_alone};
pub use text::{Coerced, coerce, is_json, may_be_json};
pub use text::{Typed, spelled, typed};
pub use types::{Types, whole};
