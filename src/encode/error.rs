//! Why a call cannot be written in a dialect.

pub(super) use crate::pointer::member as pointer;

/// A call that a dialect cannot say: no text of the dialect reads back as it.
///
/// `docs/ENCODE.md` lists, family by family, exactly when which reason is given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("call {call} ({name}){}: {reason}", place(pointer))]
#[non_exhaustive]
pub struct NotRepresentable {
    /// Number of the call among those that were given, from 0.
    pub call: usize,
    /// Its tool.
    pub name: String,
    /// Which value: a JSON pointer into the arguments; empty for the call as a whole.
    pub pointer: String,
    /// Why.
    pub reason: Reason,
}

fn place(pointer: &str) -> String {
    if pointer.is_empty() {
        String::new()
    } else {
        format!(", {pointer}")
    }
}

/// Why a value, a key or a name cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The set has no such dialect, or the dialect describes no calls.
    #[error("there is no dialect {dialect} with calls in the set")]
    Dialect {
        /// What was asked for.
        dialect: String,
    },
    /// The arguments are not a JSON object, or a key stands twice in one.
    #[error("the arguments are not one JSON object with different keys: {why}")]
    Arguments {
        /// What is wrong.
        why: String,
    },
    /// The tool's name cannot stand where the dialect has it.
    #[error("the dialect cannot write this tool name: {why}")]
    Name {
        /// Why not.
        why: &'static str,
    },
    /// The parameter's name cannot stand where the dialect has it, or means something else there.
    #[error("the dialect cannot write this parameter name: {why}")]
    Key {
        /// Why not.
        why: &'static str,
    },
    /// The value holds a marker that would end it, and the dialect has no way to write it otherwise.
    #[error("the value holds `{marker}`, which the dialect would take for its own")]
    Marker {
        /// The marker.
        marker: String,
    },
    /// The value is not a string, the dialect writes untyped text, and no schema types the parameter.
    #[error("the dialect writes untyped text, and no schema gives this value its type")]
    Untyped,
    /// The schema reads the text of the value as another value.
    #[error("the schema of the parameter would read this value as another one")]
    Coerced,
    /// White space at the ends of the value would be cut, or added.
    #[error("white space at the ends of the value would be cut off or added")]
    Blanks,
    /// Half of a surrogate pair: no text has it.
    #[error("half of a surrogate pair is no text")]
    Surrogate,
    /// A list of one, an empty list or an empty object where the dialect writes neither, or an object that would be read
    /// as a list.
    #[error("the dialect has no form for {what} here")]
    Shape {
        /// What it is.
        what: &'static str,
    },
    /// The dialect writes an argument in every such call, and this one lacks it.
    #[error("every such call of the dialect has the argument `{key}`")]
    Missing {
        /// The argument.
        key: String,
    },
    /// A limit would fire.
    #[error("it breaks the limit {limit}")]
    Limit {
        /// The field of [`Limits`](crate::Limits), or another bound of the format.
        limit: &'static str,
    },
    /// Read back, the text was something else. No rule foresaw it: this is a mistake of the encoder or of the parser.
    #[error("read back it is something else: {what}")]
    RoundTrip {
        /// What is different.
        what: String,
    },
}

/// Where and why, inside one call.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub pointer: String,
    pub reason: Reason,
}

impl Fault {
    /// About the value of a parameter.
    pub fn at(key: &str, reason: Reason) -> Self {
        Self {
            pointer: pointer("", key),
            reason,
        }
    }

    /// About a member of the value of a parameter.
    pub fn below(key: &str, member: &str, reason: Reason) -> Self {
        Self {
            pointer: pointer(&pointer("", key), member),
            reason,
        }
    }
}

impl From<Reason> for Fault {
    fn from(reason: Reason) -> Self {
        Self {
            pointer: String::new(),
            reason,
        }
    }
}
