//! From a `response_template` of Hugging Face to a dialect file.
//!
//! A `tokenizer_config.json` may declare how the model's replies are taken apart: a list of fields, each with what opens
//! and closes it (literals or regular expressions) and what its content is. What such a declaration says of calls,
//! reasoning and framing is written as a dialect file, which is then an ordinary file: read it, change it, keep it.
//!
//! | field | becomes |
//! |---|---|
//! | `tool_calls`, `tool_call`, `function_call` | a unit of the family `framed` |
//! | `thinking`, `reasoning`, `reasoning_content`, `thought` | reasoning markers |
//! | `content`, `response`, `text` | framing: its markers are not text |
//!
//! Regular expressions are translated as far as they are literals, white space and groups that take a name, a key, an id
//! or a value; anything else is refused with its place, never guessed. Transformations are programs and are not
//! translated: a note says so. The keys are those of the catalogue of formats (transformers' chat parsing).

mod pattern;
mod template;
mod write;

use toolglot::json::Value;

/// Why a declaration cannot be taken over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {why}")]
pub struct ImportError {
    /// The field and key concerned.
    pub place: String,
    /// What is wrong.
    pub why: String,
}

/// A dialect file that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The text of the file.
    pub toml: String,
    /// What was left out or should be looked at. The file holds them as comments.
    pub notes: Vec<String>,
}

fn wrong<T>(place: &str, why: impl Into<String>) -> Result<T, ImportError> {
    Err(ImportError {
        place: place.to_owned(),
        why: why.into(),
    })
}

/// Makes a dialect file of a declaration: a whole `tokenizer_config.json`, or the bare object. `id` becomes the id of the
/// dialect, `origin` says in it where it comes from.
///
/// # Errors
/// There is no declaration, it declares nothing that a dialect could say, or a part of it cannot be translated.
pub fn response_template(json: &Value, id: &str, origin: &str) -> Result<Imported, ImportError> {
    let draft = template::read(json)?;
    Ok(Imported {
        toml: write::dialect(&draft, id, origin),
        notes: draft.notes,
    })
}

#[cfg(test)]
mod tests;
