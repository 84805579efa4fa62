//! What the members of a call's object are: its name, its arguments, facts of it, or nothing that a rule reads.
//!
//! Nothing is matched by distance: a key that is not a known spelling is an extra one, and what stands under it is reported.

use serde::{Deserialize, Serialize};

use crate::dialect::payload::JsonTable;
use crate::event::Span;

/// Words for the key of the arguments, in any case of their letters.
const ARGUMENTS: [&str; 5] = ["arguments", "args", "parameters", "params", "input"];
/// What `type` says of a call: nothing that its place does not say.
const SORTS: [&str; 4] = ["function", "function_call", "tool_call", "tool_use"];
/// Bytes of a string that are compared with them.
const MAX_SORT: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Member {
    Name,
    Args,
    /// Another word for the key of the arguments.
    Synonym,
    Id,
    /// What sort of call it is.
    Sort,
    /// Which one of the reply it is.
    Index,
    Wrapper,
    Other,
}

/// An object that stands under another word for the key of the arguments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Spare {
    pub key: String,
    pub span: Span,
    pub start: u64,
    pub bytes: Vec<u8>,
}

/// A member that says something of the call where arguments stand beside it, and may be one of them where none do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Fact {
    pub key: String,
    pub span: Span,
    /// The call has it as `meta`.
    pub kept: bool,
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
                "id" => Member::Id,
                "type" => Member::Sort,
                "index" => Member::Index,
                _ => Member::Other,
            }
        }
    }

    /// Whether it is another spelling of a key of the arguments.
    pub(crate) fn is_synonym(&self, key: &str) -> bool {
        let mut own = self.args.iter().map(String::as_str).chain(ARGUMENTS);
        !self.name_is_key && own.any(|word| word.eq_ignore_ascii_case(key))
    }
}

/// Adds to the beginning of what `type` holds, as much as is compared.
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
