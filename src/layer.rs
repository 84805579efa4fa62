//! What the crate `toolglot-tools` is built on. Not part of the API: it changes without notice.

use std::sync::Arc;

use crate::dialect::{Dialect, DialectSet, EscapeTable, SetInner};
use crate::escape::{self, EscapeError};

pub use crate::dialect::default_protocol;
pub use crate::dialect::guided::ID as GUIDED;
pub use crate::dialect::spec::{Framed, Spec, fold};
pub use crate::dialect::tokens::Tokens;
pub use crate::encode::recovered;
pub use crate::escape::Beside;
pub use crate::hints::{SCHEMAS, closest, nearest};
pub use crate::issue::{expand, observation, one_line};
pub use crate::json::read::{Bounds, Read, read};
pub use crate::kind::chinese::{is_chinese, sentence};
pub use crate::pointer::{index, key, member, step};
pub use crate::schema::{
    Doc, Place, Typed, Types, listed, ready, ref_alone, same, spelled, typed, unions,
};
pub use crate::source::halves::readable;
pub use crate::yaml::{Fault, Yaml, read as yaml};

/// Names of the model in a conversation: of APIs, of chat templates and of data sets.
const MODEL: [&str; 8] = [
    "assistant",
    "model",
    "gpt",
    "chatgpt",
    "bot",
    "ai",
    "function_call",
    "tool_call",
];

/// The keys of a message's author: of chat APIs and of ShareGPT. The first one that a message has counts.
pub const AUTHORS: [&str; 2] = ["role", "from"];
/// The keys of its text, likewise.
pub const TEXTS: [&str; 2] = ["content", "value"];

/// Whether a message of this author is the model's.
#[must_use]
pub fn is_model(author: &str) -> bool {
    MODEL.iter().any(|name| author.eq_ignore_ascii_case(name))
}

/// The contents of a dialect's file.
#[must_use]
pub fn spec(dialect: &Dialect) -> &Spec {
    &dialect.spec
}

/// The markers of a set.
pub fn markers(set: &DialectSet) -> impl Iterator<Item = &[u8]> {
    set.inner.markers().map(|marker| marker.bytes.as_ref())
}

/// Breaks the markers of a set, and of the dialect that a prompt is written in, where they occur in that prompt.
#[derive(Clone, Debug)]
pub struct Breaker(Arc<EscapeTable>);

impl Breaker {
    /// The dialects need not be compatible as one set.
    ///
    /// # Errors
    /// The markers of the set cannot be escaped.
    pub fn new(active: &DialectSet, own: &Spec) -> Result<Self, EscapeError> {
        Ok(Self(match SetInner::new(vec![own.clone()], 0) {
            Ok(own) => Arc::new(EscapeTable::both(&active.inner, &own)?),
            Err(_) => active.escapes()?,
        }))
    }

    /// What may be next to a text: one of `before` precedes it, and no marker continues from earlier text; one of `following`
    /// follows it.
    #[must_use]
    pub fn beside(&self, before: &[Vec<u8>], following: Vec<Vec<u8>>) -> Beside {
        Beside::new(&self.0, before, following)
    }

    /// Breaks markers, including those that form together with what is next to the text. A word at the end stays as it is if
    /// nothing is known about what follows: words are not joined.
    #[must_use]
    pub fn escape(&self, text: &[u8], beside: &Beside) -> Vec<u8> {
        escape::beside(&self.0, text, beside)
    }
}
