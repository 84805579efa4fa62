//! Payload syntax of a dialect file, as the body parsers use it.

use super::spec::Brackets;

/// How values are spelled.
#[derive(Clone, Debug, Default)]
pub(crate) struct Syntax {
    /// Python literals: strings, names, tuples and numbers, and trailing commas.
    pub python: bool,
    /// `true`, `false` and `null` are allowed beside the Python words without being repairs.
    pub json_words: bool,
    /// Additional string delimiters: no escapes, up to the same delimiter. No two begin with the same byte.
    pub delims: Vec<String>,
    /// Keys have no quotes.
    pub bare_keys: bool,
    /// Any other text is a string, up to the next comma or closing bracket; not if this is empty. It also holds what
    /// raises doubts in such text.
    pub bare_values: Vec<(String, BareMark)>,
}

/// A marker in a string without quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BareMark {
    /// The closer of a call: brackets are missing before it.
    Closer,
    /// It may have begun or ended a string.
    Delimiter,
    /// The opener of a call.
    Opener,
}

/// The keys of calls in JSON.
#[derive(Clone, Debug, Default)]
pub(crate) struct JsonTable {
    pub syntax: Syntax,
    /// Keys of the tool's name.
    pub name: Vec<String>,
    /// Keys of its arguments.
    pub args: Vec<String>,
    /// Keys of the call's id.
    pub id: Vec<String>,
    /// Keys of an object that holds name and arguments.
    pub wrapper: Vec<String>,
    /// The key is the name; its value is the arguments.
    pub name_is_key: bool,
    /// Arguments may be a string: the parameter that takes it if no schema determines one. Empty: they may not.
    pub plain: String,
    /// Names that are not tools: their arguments are the answer.
    pub answer: Vec<String>,
}

impl JsonTable {
    /// The table for an object that is only the arguments.
    pub fn arguments() -> Self {
        Self {
            syntax: Syntax {
                json_words: true,
                ..Syntax::default()
            },
            ..Self::default()
        }
    }
}

/// The syntax of calls in Python.
#[derive(Clone, Debug, Default)]
pub(crate) struct PythonTable {
    /// The syntax of the values; `python` must be set.
    pub syntax: Syntax,
    pub brackets: Brackets,
    /// Bytes that continue the expression after a call outside a list: it is then not just that call.
    pub goes_on: Vec<u8>,
    /// What may follow a name without being part of it, for example `.call`.
    pub method: String,
    /// Quotes are delimiters; the schema gives the type of their text.
    pub typed: bool,
    /// The list may contain calls in JSON instead.
    pub json: Option<JsonTable>,
}

/// The syntax of calls as `call:name{..}`.
#[derive(Clone, Debug, Default)]
pub(crate) struct BraceTable {
    /// The syntax of the object: delimiters, unquoted keys and values.
    pub syntax: Syntax,
    /// What precedes the name, for example `call:`.
    pub prefix: String,
    /// Every value is delimited; the schema gives the type of its text.
    pub typed: bool,
}
