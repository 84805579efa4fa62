//! Payloads as a dialect file describes them: what the readers of bodies are given.

use super::spec::Brackets;

/// How values are spelled.
#[derive(Clone, Debug, Default)]
pub(crate) struct Syntax {
    /// Literals of Python: its strings, names, tuples and numbers, and commas before closing brackets.
    pub python: bool,
    /// `true`, `false` and `null` stand beside them and are not slips.
    pub json_words: bool,
    /// What encloses strings beside quotes: no escapes, up to the same delimiter. No two begin with the same byte.
    pub delims: Vec<String>,
    /// Keys stand without quotes.
    pub bare_keys: bool,
    /// What is not a value otherwise is a string, up to the next comma or closing bracket.
    pub bare_values: bool,
}

/// How calls are written in JSON.
#[derive(Clone, Debug, Default)]
pub(crate) struct JsonTable {
    pub syntax: Syntax,
    /// Keys of the tool's name.
    pub name: Vec<String>,
    /// Keys of its arguments.
    pub args: Vec<String>,
    /// Keys of what identifies the call.
    pub id: Vec<String>,
    /// Keys of an object that holds name and arguments.
    pub wrapper: Vec<String>,
    /// The key is the name, its value the arguments.
    pub name_is_key: bool,
    /// Arguments may be a text; the parameter that takes it where no schema says which one does. Empty: they may not.
    pub plain: String,
    /// Names that are not a tool: their arguments are the answer.
    pub answer: Vec<String>,
}

impl JsonTable {
    /// Of an object that is the arguments and nothing else.
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

/// How calls are written in Python.
#[derive(Clone, Debug, Default)]
pub(crate) struct PythonTable {
    /// Of the values; `python` must be set.
    pub syntax: Syntax,
    pub brackets: Brackets,
    /// Bytes with which the expression goes on behind a call that stands in no list: it is not the call that it began with.
    pub goes_on: Vec<u8>,
    /// What may stand after a name and is not part of it, for example `.call`.
    pub method: String,
    /// Quotes are delimiters; the schema gives their text its type.
    pub typed: bool,
    /// The list may hold calls in JSON instead.
    pub json: Option<JsonTable>,
}

/// How calls are written as `call:name{..}`.
#[derive(Clone, Debug, Default)]
pub(crate) struct BraceTable {
    /// Of the object: delimiters, keys and values without quotes.
    pub syntax: Syntax,
    /// What stands before the name, for example `call:`.
    pub prefix: String,
    /// Every value is between delimiters; the schema gives its text its type.
    pub typed: bool,
}
