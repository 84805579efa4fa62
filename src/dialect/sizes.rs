//! Size limits of a dialect file.
//!
//! Compiling a set costs time and memory that grow with its markers, and a file may come from an untrusted source. So the file,
//! its lists and its markers are limited before they are compiled. Only this walk over the file's values knows the limits; the
//! checks of the tables do not repeat them.

use toml::{Table, Value};
use toolglot_scan::unseen;

use super::check;
use super::spec::Spec;
use crate::error::BuildError;

/// Maximum bytes of a file.
const FILE: usize = 256 * 1024;

/// Maximum entries of a list of markers.
const LIST: usize = 256;

/// Maximum tables in a list: forms of calls, spans, rules.
const TABLES: usize = 64;

/// Maximum bytes of a marker or a pattern.
pub(crate) const MARKER: usize = 256;

/// Tables and keys, also in switches, that contain text for people and models and are not compiled.
const WORDS: [&str; 6] = ["title", "sources", "models", "observe", "prompt", "aliases"];

/// Keys of markers that open or close something: they cannot be blank. A unit of a message may have an empty opener; the checks
/// of the tables handle it.
const MARKS: [&str; 10] = [
    "open",
    "close",
    "loose_close",
    "start",
    "end",
    "framing",
    "ended_by",
    "delimiters",
    "first",
    "misspelt",
];

/// Checks the size of a file before it is read.
pub(super) fn file(origin: &str, text: &str) -> Result<(), BuildError> {
    if text.len() <= FILE {
        return Ok(());
    }
    Err(BuildError::Toml {
        origin: origin.to_owned(),
        message: format!(
            "the file has {} bytes; at most {FILE} are allowed",
            text.len()
        ),
    })
}

/// Checks the lists and markers of a file.
pub(super) fn values(spec: &Spec, file: &Table) -> Result<(), BuildError> {
    file.iter()
        .try_for_each(|(key, value)| one(spec, key, key, value))
}

/// Checks a value; `path` names it, `key` is its last part. The TOML parser limits nesting.
fn one(spec: &Spec, path: &str, key: &str, value: &Value) -> Result<(), BuildError> {
    let fail = |why: &str| Err(check::key(spec, path, why));
    match value {
        _ if WORDS.contains(&key) => Ok(()),
        Value::String(text) if text.len() > MARKER => fail(&format!(
            "it has {} bytes; at most {MARKER} are allowed",
            text.len()
        )),
        Value::String(text) if text.contains('\0') => fail("a NUL is in it"),
        Value::String(text) if key == "open" && text.is_empty() => Ok(()),
        Value::String(text) if MARKS.contains(&key) && path != "channels.first" && blank(text) => {
            fail("an empty or blank marker would match everywhere")
        }
        Value::Array(items) => {
            let tables = items.iter().any(Value::is_table);
            let most = if tables { TABLES } else { LIST };
            if items.len() > most {
                return fail(&format!(
                    "it has {} entries; at most {most} are allowed",
                    items.len()
                ));
            }
            for (index, item) in items.iter().enumerate() {
                one(spec, &format!("{path}[{index}]"), key, item)?;
            }
            Ok(())
        }
        Value::Table(table) if table.len() > LIST => fail(&format!("it has more than {LIST} keys")),
        Value::Table(table) => table
            .iter()
            .try_for_each(|(key, value)| one(spec, &format!("{path}.{key}"), key, value)),
        Value::String(_)
        | Value::Integer(_)
        | Value::Float(_)
        | Value::Boolean(_)
        | Value::Datetime(_) => Ok(()),
    }
}

/// Whether a text is invisible: only whitespace, and characters that show nothing.
fn blank(text: &str) -> bool {
    text.chars().all(|one| one.is_whitespace() || unseen(one))
}
