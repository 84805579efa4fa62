//! The members of a call's object: its name, its arguments, facts about it, or something that no rule reads.
//!
//! Nothing is matched by edit distance. A key that is not a known spelling is an extra key and is reported.

use serde::{Deserialize, Serialize};

use crate::dialect::payload::JsonTable;
use crate::event::Span;

/// Synonyms for the key of the arguments, matched without regard to case.
const ARGUMENTS: [&str; 5] = ["arguments", "args", "parameters", "params", "input"];
/// Other keys under which models write the name.
const NAMES: [&str; 4] = ["tool", "tool_name", "function", "function_name"];
/// Values of `type` that add nothing to the fact that it is a call.
const SORTS: [&str; 4] = ["function", "function_call", "tool_call", "tool_use"];
/// How many bytes of a string are compared with them.
const MAX_SORT: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Member {
    Name,
    Args,
    /// A synonym for the key of the arguments.
    Synonym,
    Id,
    /// The sort of call.
    Sort,
    /// Its index in the reply.
    Index,
    Wrapper,
    Other,
}

/// An object under a synonym for the key of the arguments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Spare {
    pub key: String,
    pub span: Span,
    pub start: u64,
    pub bytes: Vec<u8>,
}

/// A name under another key than the dialect's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Called {
    pub key: String,
    /// Where the key is.
    pub at: Span,
    pub name: String,
    /// Where the name is.
    pub span: Span,
}

/// A member that is a fact about the call if there are arguments beside it, and may be an argument if there are none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Fact {
    pub key: String,
    pub span: Span,
    /// The call has it as `meta`, or it says nothing.
    pub kept: bool,
    /// It is the id of the call.
    pub own: bool,
}

impl JsonTable {
    pub(super) fn wraps(&self, key: &str) -> bool {
        self.wrapper.iter().any(|have| have == key)
    }

    pub(super) fn member(&self, key: &str) -> Member {
        let has = |keys: &[String]| keys.iter().any(|have| have == key);
        if has(&self.name) {
            Member::Name
        } else if has(&self.args) {
            Member::Args
        } else if has(&self.id) {
            Member::Id
        } else if has(&self.wrapper) {
            Member::Wrapper
        } else if self.is_synonym(key) {
            Member::Synonym
        } else {
            match key {
                // The form of an API's tool call.
                "function" if !self.name_is_key => Member::Wrapper,
                "id" => Member::Id,
                "type" => Member::Sort,
                "index" => Member::Index,
                _ => Member::Other,
            }
        }
    }

    /// Whether `key` is a synonym for the key of the arguments.
    pub(crate) fn is_synonym(&self, key: &str) -> bool {
        let mut own = self.args.iter().map(String::as_str).chain(ARGUMENTS);
        !self.name_is_key && own.any(|word| word.eq_ignore_ascii_case(key))
    }
}

/// Whether models write the name under this key, too.
pub(super) fn is_name(key: &str) -> bool {
    NAMES.contains(&key)
}

/// Appends to the value of `type`, up to the length that is compared.
pub(super) fn push_sort(text: &mut String, more: &str) {
    for c in more.chars() {
        if text.len() < MAX_SORT {
            text.push(c);
        }
    }
}

pub(super) fn is_sort(text: &str) -> bool {
    SORTS.contains(&text)
}
