//! Text that is one argument of a call, and arguments that are attributes of tags.
//!
//! The text is written verbatim up to the closer, so it must not contain a closer. If a rule of the dialect removes a part of
//! it (whitespace, a fence), it is written so that the intended text remains.

use toolglot_scan::xml;

use super::doc::Node;
use super::error::{Fault, Reason};
use super::framed::Block;
use super::text::{entities, find_all};
use super::{Item, fits};
use crate::body::Clean;
use crate::dialect::Framed;
use crate::dialect::spec::{self, Payload};

/// Writes the text of a call and its closer.
pub(super) fn write(
    block: &mut Block<'_>,
    unit: &spec::Unit,
    item: &Item<'_>,
) -> Result<(), Fault> {
    let Some(content) = &unit.content else {
        return Err(Reason::Shape { what: "text" }.into());
    };
    let key = content.argument.as_str();
    let node = item.argument(key).ok_or_else(|| missing(key))?;
    let fault = |reason| Fault::at(key, reason);
    let text = string(item, node).map_err(fault)?;
    let clean = content.rule(item.name).map_or(Clean::default(), |rule| {
        let pairs = item.arguments().filter(|(have, _)| *have != key);
        let pairs: Vec<(String, String)> = pairs
            .filter_map(|(key, node)| Some((key.to_owned(), string(item, node).ok()?.to_owned())))
            .collect();
        Clean {
            trim: rule.trim,
            unfence: rule.unfences(&pairs),
            newline: rule.newline,
        }
    });
    let text = placed(&unit.close, clean, text).map_err(fault)?;
    // With whitespace after it, the call's own opener makes it ambiguous where the text ends.
    let literals = unit.open.iter().filter_map(|open| open.split_once('$'));
    for (open, _) in literals.filter(|(open, _)| open.len() > 1) {
        let blank =
            |at: usize| text[at + open.len()..].starts_with(|c: char| c.is_ascii_whitespace());
        if find_all(&text, open, false).any(blank) {
            let marker = open.to_owned();
            return Err(fault(Reason::Marker { marker }));
        }
    }
    fits(block.ctx, &text).map_err(fault)?;
    block.text.push_str(&text);
    block
        .text
        .push_str(unit.close.first().map_or("", String::as_str));
    block.at = block.text.len();
    Ok(())
}

fn missing(key: &str) -> Fault {
    Reason::Missing {
        key: key.to_owned(),
    }
    .into()
}

fn string<'i>(item: &'i Item<'_>, node: usize) -> Result<&'i str, Reason> {
    match item.doc.node(node) {
        Node::String(text) => text.whole().ok_or(Reason::Surrogate),
        _ => Err(Reason::Untyped),
    }
}

/// The text as it is, or inside a fence that will be removed: whichever reads back.
fn placed(closers: &[String], clean: Clean, text: &str) -> Result<String, Reason> {
    let fence = |inner: &str| format!("```\n{inner}\n```");
    let line = text.strip_suffix('\n').unwrap_or(text);
    let mut reason = Reason::Blanks;
    for made in [text.to_owned(), fence(line), fence(text)] {
        if clean.apply(&made) != text {
            continue;
        }
        match ends(closers, &made) {
            Ok(()) => return Ok(made),
            Err(marker) => reason = marker,
        }
    }
    Err(reason)
}

/// Whether a text ends with the closer that follows it, and not earlier.
fn ends(closers: &[String], text: &str) -> Result<(), Reason> {
    let own = closers.first().map_or("", String::as_str);
    let whole = format!("{text}{own}");
    let early = |close: &&String| find_all(&whole, close, false).any(|at| at < text.len());
    match closers.iter().find(early) {
        Some(marker) => Err(Reason::Marker {
            marker: marker.clone(),
        }),
        None => Ok(()),
    }
}

/// The arguments that are attributes of a call's tag, if there is a `tag` for them.
pub(super) fn attributes(
    table: &Framed,
    unit: &spec::Unit,
    item: &Item<'_>,
    tag: bool,
) -> Result<String, Fault> {
    let (Some(content), Payload::Content) = (&unit.content, unit.payload) else {
        return Ok(String::new());
    };
    let shared = shared(table, unit);
    let mut out = String::new();
    for (key, node) in item.arguments() {
        let object = matches!(item.doc.node(node), Node::Object(_));
        if key == content.argument || (object && shared == Some(key)) {
            continue;
        }
        let fault = |reason| Fault::at(key, reason);
        if !(unit.attributes && tag) {
            let why = "the dialect has no place for it";
            return Err(fault(Reason::Key { why }));
        }
        if key == unit.name {
            let why = "the attribute of that name names the tool";
            return Err(fault(Reason::Key { why }));
        }
        out.push_str(&attribute(key, string(item, node)).map_err(fault)?);
    }
    let rule = content.rule(item.name);
    let mut required = rule.into_iter().flat_map(|rule| &rule.requires);
    match required.find(|key| item.argument(key).is_none()) {
        Some(key) => Err(missing(key)),
        None => Ok(out),
    }
}

fn attribute(key: &str, value: Result<&str, Reason>) -> Result<String, Reason> {
    if key.is_empty() || !key.bytes().all(xml::is_name) {
        let why = "it cannot be the name of an attribute";
        return Err(Reason::Key { why });
    }
    Ok(format!(" {key}=\"{}\"", entities(value?, true)))
}

/// The argument that the section's attributes form, for calls of that form.
pub(super) fn shared<'t>(table: &'t Framed, unit: &spec::Unit) -> Option<&'t str> {
    let section = table.spec.section.as_ref()?;
    let argument = section.argument.as_deref();
    argument.filter(|_| unit.payload.takes_attributes())
}

/// The attributes of a section, which all calls in it share.
pub(super) fn section<'i>(
    table: &Framed,
    parts: impl Iterator<Item = (usize, &'i [Item<'i>])>,
) -> Result<String, Fault> {
    let mut tag: Option<String> = None;
    for (unit, items) in parts {
        let unit = &table.spec.unit[unit];
        let Some(key) = shared(table, unit) else {
            continue;
        };
        for item in items {
            let node = item.argument(key).ok_or_else(|| missing(key))?;
            let fault = |reason| Fault::at(key, reason);
            let made = match item.doc.node(node) {
                Node::Object(_) => pairs(item, key, node)?,
                // An attribute of the call takes precedence.
                Node::String(_) if unit.attributes => continue,
                _ => return Err(fault(Reason::Untyped)),
            };
            if tag.as_ref().is_some_and(|have| *have != made) {
                let what = "calls that do not share it";
                return Err(fault(Reason::Shape { what }));
            }
            tag = Some(made);
        }
    }
    Ok(tag.unwrap_or_default())
}

/// The members of an object as attributes. Names in the opener allow no backtick, so such keys come last.
fn pairs(item: &Item<'_>, at: &str, node: usize) -> Result<String, Fault> {
    let Node::Object(members) = item.doc.node(node) else {
        return Ok(String::new());
    };
    let mut out = vec![];
    for (key, value) in members {
        let key = key
            .whole()
            .ok_or_else(|| Fault::at(at, Reason::Surrogate))?;
        let made = attribute(key, string(item, *value));
        out.push((
            key.contains('`'),
            made.map_err(|r| Fault::below(at, key, r))?,
        ));
    }
    out.sort_by_key(|(last, _)| *last);
    Ok(out.into_iter().map(|(_, made)| made).collect())
}
