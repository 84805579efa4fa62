//! JSON Schema: one engine for the hints of the parser, for coercion and for the check of calls.
//!
//! [`read`] puts what people write into plain JSON Schema, [`doc`] follows references and compositions, [`types`] are sets of
//! types, [`compile`] makes of a schema what the parser asks for, [`text`] says what text becomes.

mod compile;
mod doc;
mod read;
mod text;
mod types;

pub(crate) use compile::{Param, Schema, open, params};
pub(crate) use doc::Doc;
#[cfg(feature = "tools")]
pub(crate) use doc::{listed, same, unions};
#[cfg(feature = "tools")]
pub(crate) use read::Place;
pub(crate) use read::{ready, ref_alone};
pub(crate) use text::{Coerced, coerce, is_json, may_be_json};
#[cfg(feature = "tools")]
pub(crate) use text::{Typed, spelled, typed};
pub(crate) use types::{Types, whole};
