//! Arguments as a mapping, up to the call's closer.
//!
//! YAML: one line per argument, its value in flow style. Strings are written in double quotes with escapes, so every text is possible. Numbers, booleans and null are plain: the
//! schema may read them as another value.

use super::doc::{Doc, Node, Spelling, Style, Text, key};
use super::error::{Fault, Reason, pointer};
use super::framed::Block;
use super::text::find_all;
use super::{Ctx, Item, PLAIN, fits};
use crate::dialect::spec::{self, Notation};
use crate::hints::Schema;
use crate::yaml::scalar;

/// Writes the arguments of a call and its closer.
pub(super) fn write(
    block: &mut Block<'_>,
    unit: &spec::Unit,
    notation: Notation,
    item: &Item<'_>,
) -> Result<(), Fault> {
    let limit = |limit| Fault::from(Reason::Limit { limit });
    let limits = block.ctx.limits;
    if item.doc.depth(0) > limits.max_depth as usize {
        return Err(limit("max_depth"));
    }
    if item.doc.len() - 1 > limits.max_params as usize {
        return Err(limit("max_params"));
    }
    let texts = match notation {
        Notation::Yaml => yaml(block.ctx, item)?,
    };
    let close = unit.close.first().map_or("", String::as_str);
    let close = close.replace("$x", item.name);
    for text in texts {
        let whole = format!("{text}{close}");
        if find_all(&whole, &close, false).next() == Some(text.len()) {
            fits(block.ctx, &text)?;
            block.text.push_str(&whole);
            block.at = block.text.len();
            return Ok(());
        }
    }
    Err(Reason::Marker { marker: close }.into())
}

/// The spellings of the arguments, the usual one first: a later one hides the closer.
fn yaml(ctx: &Ctx<'_>, item: &Item<'_>) -> Result<Vec<String>, Fault> {
    for (key, node) in item.arguments() {
        value(ctx, &item.doc, node, item.schema(key), key)?;
    }
    let plain = lines(item, Spelling::Plain);
    // Such closers begin like this, and only text contains it.
    let slash = plain.replace("</", "<\\/");
    let marks = [Spelling::Marks, Spelling::All].map(|spelling| lines(item, spelling));
    Ok([plain, slash].into_iter().chain(marks).collect())
}

fn lines(item: &Item<'_>, spelling: Spelling) -> String {
    let mut out = String::from("\n");
    for (name, node) in item.arguments() {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(word) {
            out.push_str(name);
        } else {
            let name = Text::Whole(name.to_owned());
            key(&name, Style::Json(spelling), &mut out);
        }
        out.push_str(&format!(": {}\n", item.doc.json(node, spelling)));
    }
    out
}

/// Checks that a value reads back as it is written.
fn value(ctx: &Ctx<'_>, doc: &Doc, node: usize, schema: &Schema, key: &str) -> Result<(), Fault> {
    let mut stack = vec![(node, schema, pointer("", key))];
    while let Some((node, schema, at)) = stack.pop() {
        let fault = |reason| Fault {
            pointer: at.clone(),
            reason,
        };
        match doc.node(node) {
            Node::String(text) => {
                text.whole().ok_or_else(|| fault(Reason::Surrogate))?;
            }
            Node::Null | Node::Bool(_) | Node::Number(_) => {
                let text = doc.json(node, Spelling::Plain);
                let read = scalar(&text, schema).0.to_string();
                if read != text {
                    return Err(fault(Reason::Coerced));
                }
            }
            Node::Array(items) => {
                let schema = schema.items.as_deref().unwrap_or(&PLAIN);
                for (index, item) in items.iter().enumerate() {
                    stack.push((*item, schema, pointer(&at, &index.to_string())));
                }
            }
            Node::Object(members) => {
                for (key, node) in members {
                    let key = key.whole().ok_or_else(|| fault(Reason::Surrogate))?;
                    if key.len() > ctx.limits.max_name as usize {
                        return Err(fault(Reason::Limit { limit: "max_name" }));
                    }
                    let schema = schema.prop(key).unwrap_or(&PLAIN);
                    stack.push((*node, schema, pointer(&at, key)));
                }
            }
        }
    }
    Ok(())
}
