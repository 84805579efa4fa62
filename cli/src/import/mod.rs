//! Converts a `response_template` of Hugging Face to a dialect file.
//!
//! A `tokenizer_config.json` may declare how to take the model's replies apart: a list of fields, each with its opener
//! and closer (literals or regular expressions) and its content. Its declarations about calls, reasoning and framing are
//! written as a dialect file, which is then an ordinary file: read it, change it, keep it.
//!
//! | field | becomes |
//! |---|---|
//! | `tool_calls`, `tool_call`, `function_call` | a unit of the family `framed` |
//! | `thinking`, `reasoning`, `reasoning_content`, `thought` | reasoning markers |
//! | `content`, `response`, `text` | framing: its markers are not text |
//!
//! Regular expressions are translated if they consist of literals, white space and groups that capture a name, a key, an id
//! or a value; anything else is refused with its place, never guessed. Transformations are programs and are not
//! translated: a note says so. The keys are those of transformers' chat parsing.

mod pattern;
mod template;
mod write;

use toolglot::json::Value;

/// Why a declaration cannot be converted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {why}")]
pub struct ImportError {
    /// The field and key concerned.
    pub place: String,
    /// The error.
    pub why: String,
}

/// A generated dialect file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The text of the file.
    pub toml: String,
    /// Parts that were left out or need review. The file contains them as comments.
    pub notes: Vec<String>,
}

fn wrong<T>(place: &str, why: impl Into<String>) -> Result<T, ImportError> {
    Err(ImportError {
        place: place.to_owned(),
        why: why.into(),
    })
}

/// Makes a dialect file from a declaration: a whole `tokenizer_config.json`, or the bare object. `id` becomes the id of the
/// dialect, `origin` its recorded source.
///
/// # Errors
/// There is no declaration, it declares nothing that a dialect can express, or a part of it cannot be translated.
pub fn response_template(json: &Value, id: &str, origin: &str) -> Result<Imported, ImportError> {
    let draft = template::read(json)?;
    Ok(Imported {
        toml: write::dialect(&draft, id, origin),
        notes: draft.notes,
    })
}

#[cfg(test)]
mod tests;
