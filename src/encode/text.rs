//! Values as untyped text that a schema reads back as the same value.
//!
//! The inverse of [`coerce`], which verifies it: a text is used only if the schema reads it as the value.

use toolglot_scan::json;

use super::doc::{Doc, Node, Spelling};
use super::error::Reason;
use crate::hints::{Coerced, Schema, coerce};

/// Passes texts that mean the value to `place`, until one can be placed. If none can, returns the first rejection.
pub(super) fn texts<T>(
    doc: &Doc,
    node: usize,
    schema: &Schema,
    mut place: impl FnMut(&str) -> Result<T, Reason>,
) -> Result<T, Reason> {
    if let Node::String(text) = doc.node(node) {
        let text = text.whole().ok_or(Reason::Surrogate)?;
        string(text, schema)?;
        return place(text);
    }
    spellings(doc, node, |text| {
        typed(text, schema)?;
        place(text)
    })
}

/// Passes JSON spellings of the value to `place`, until one can be placed. If none can, returns the first rejection.
pub(super) fn spellings<T>(
    doc: &Doc,
    node: usize,
    mut place: impl FnMut(&str) -> Result<T, Reason>,
) -> Result<T, Reason> {
    let mut first = None;
    for spelling in Spelling::EVERY {
        match place(&doc.json(node, spelling)) {
            Ok(done) => return Ok(done),
            Err(reason) => first.get_or_insert(reason),
        };
        if doc.strings(node).is_empty() {
            break;
        }
    }
    Err(first.unwrap_or(Reason::Untyped))
}

/// Checks that the schema reads the text as a string.
pub(super) fn string(text: &str, schema: &Schema) -> Result<(), Reason> {
    if schema.is_text() {
        return Ok(());
    }
    let (mut got, mut want) = (String::new(), String::new());
    let result = coerce(text, schema, &Schema::UNKNOWN, &mut got);
    json::string(text, &mut want);
    if result != Coerced::Malformed && got == want {
        Ok(())
    } else {
        Err(Reason::Coerced)
    }
}

/// Checks that the schema reads JSON text unchanged.
fn typed(text: &str, schema: &Schema) -> Result<(), Reason> {
    if schema.types.plain() {
        return Err(Reason::Untyped);
    }
    let mut got = String::new();
    match coerce(text, schema, &Schema::UNKNOWN, &mut got) {
        Coerced::Fits if got == text => Ok(()),
        Coerced::Fits | Coerced::Mismatch | Coerced::Malformed => Err(Reason::Coerced),
    }
}

/// The positions of `needle` in `hay`; ignores case if `ignore` is set.
pub(super) fn find_all<'h>(
    hay: &'h str,
    needle: &'h str,
    ignore: bool,
) -> impl Iterator<Item = usize> + 'h {
    let (hay, needle) = (hay.as_bytes(), needle.as_bytes());
    let same = move |window: &[u8]| {
        if ignore {
            window.eq_ignore_ascii_case(needle)
        } else {
            window == needle
        }
    };
    let places = hay.windows(needle.len().max(1)).enumerate();
    places
        .filter(move |(_, window)| same(window))
        .map(|(at, _)| at)
}

/// Escapes the characters that have a meaning in markup; in an attribute also those that end it.
pub(super) fn entities(text: &str, quotes: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' if quotes => out.push_str("&quot;"),
            // An attribute stays on one line.
            '\n' if quotes => out.push_str("&#10;"),
            c => out.push(c),
        }
    }
    out
}
