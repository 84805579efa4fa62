//! Why a call cannot be written in a dialect.

pub(super) use crate::pointer::member as pointer;

/// A call that a dialect cannot express: no text of the dialect reads back as it.
///
/// `docs/ENCODE.md` lists the exact conditions for each reason, family by family.
///
/// ```
/// use toolglot::{DialectSet, EncodeCall, EncodeOptions, Reason, encode};
///
/// let call = EncodeCall::new("f", "[1, 2]"); // not an object
/// let error = encode(&DialectSet::defaults(), "hermes", &[call], &EncodeOptions::default()).unwrap_err();
/// assert_eq!((error.call, error.name.as_str()), (0, "f"));
/// assert!(matches!(error.reason, Reason::Arguments { .. }));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("call {call} ({name}){}: {reason}", place(pointer))]
#[non_exhaustive]
pub struct NotRepresentable {
    /// Index of the call among those that were given, from 0.
    pub call: usize,
    /// Its tool.
    pub name: String,
    /// The value concerned: a JSON pointer into the arguments; empty for the call as a whole.
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
///
/// ```
/// use toolglot::{DialectSet, Encoder, Reason};
///
/// let error = Encoder::new(&DialectSet::defaults(), "hermess").unwrap_err();
/// assert_eq!(error.reason, Reason::Dialect { dialect: "hermess".to_owned() });
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The set has no such dialect, or the dialect describes no calls.
    #[error("there is no dialect {dialect} with calls in the set")]
    Dialect {
        /// The id that was asked for.
        dialect: String,
    },
    /// The arguments are not a JSON object, or a key occurs twice in one object.
    #[error("the arguments are not one JSON object with different keys: {why}")]
    Arguments {
        /// What is wrong.
        why: String,
    },
    /// The tool's name is not possible in the dialect's syntax.
    #[error("the dialect cannot write this tool name: {why}")]
    Name {
        /// Why not.
        why: &'static str,
    },
    /// The parameter's name is not possible in the dialect's syntax, or has another meaning there.
    #[error("the dialect cannot write this parameter name: {why}")]
    Key {
        /// Why not.
        why: &'static str,
    },
    /// The value contains a marker that would end it, and the dialect cannot write it in another way.
    #[error("the value contains `{marker}`, which the dialect would read as its own")]
    Marker {
        /// The marker.
        marker: String,
    },
    /// The value is not a string, the dialect writes untyped text, and no schema gives the parameter a type.
    #[error("the dialect writes untyped text, and no schema gives this value its type")]
    Untyped,
    /// The schema would read the text as another value.
    #[error("the schema of the parameter would read this value as another one")]
    Coerced,
    /// Whitespace at the ends of the value would be trimmed or added.
    #[error("whitespace at the ends of the value would be trimmed or added")]
    Blanks,
    /// A lone surrogate, which is not valid text.
    #[error("a lone surrogate is not valid text")]
    Surrogate,
    /// A list of one, an empty list or an empty object in a dialect that can write neither, or an object that would be read as
    /// a list.
    #[error("the dialect has no form for {what} here")]
    Shape {
        /// The kind of value.
        what: &'static str,
    },
    /// The dialect writes an argument in every such call, and this call lacks it.
    #[error("every such call of the dialect has the argument `{key}`")]
    Missing {
        /// The argument.
        key: String,
    },
    /// A limit would be exceeded.
    #[error("it breaks the limit {limit}")]
    Limit {
        /// The field of [`Limits`](crate::Limits), or another bound of the format.
        limit: &'static str,
    },
    /// The text reads back as something else, although no rule rejects it: this is a bug in the encoder or the parser.
    #[error("read back it is something else: {what}")]
    RoundTrip {
        /// The difference.
        what: String,
    },
}

/// Where and why, within one call.
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
