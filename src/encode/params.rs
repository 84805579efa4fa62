//! Parameters between tags, in framed dialects.
//!
//! A value stands as it is, so it may hold nothing that would end it: no closer of its own, no line that opens the next
//! parameter. CDATA keeps closers where the dialect reads it.

use super::doc::Node;
use super::error::{Fault, Reason};
use super::framed::{Block, Holes, Place};
use super::text::{entities, find_all, spellings, texts};
use super::{Item, fits};
use crate::dialect::action;
use crate::dialect::spec::{Framing, Hint, Param};
use crate::scan::path::{self, Hole, Part};

const CDATA: &str = "<![CDATA[";

/// Writes the parameters of a call into its block.
pub(super) fn write(block: &mut Block<'_>, unit: usize, item: &Item<'_>) -> Result<(), Fault> {
    let Some(param) = &block.table.spec.param else {
        return Err(Reason::Shape { what: "parameters" }.into());
    };
    for (key, node) in item.arguments() {
        one(block, unit, param, item, key, node).map_err(|reason| Fault::at(key, reason))?;
        // White space is taken there, and at most so much of it.
        if param.confirm > 0 {
            block.text.push('\n');
        }
    }
    Ok(())
}

/// How a value is meant to be read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum As<'w> {
    Schema,
    /// The tag says so, with this word.
    Text(&'w str),
    Json(&'w str),
}

fn one(
    block: &mut Block<'_>,
    unit: usize,
    param: &Param,
    item: &Item<'_>,
    key: &str,
    node: usize,
) -> Result<(), Reason> {
    if key.is_empty() || key.trim() != key {
        let why = "it is empty, or blanks at its ends would be cut off";
        return Err(Reason::Key { why });
    }
    let form = form(param.hint.as_ref(), item, node);
    let word = match form {
        As::Schema => None,
        As::Text(word) | As::Json(word) => Some(word),
    };
    let fix = block.fix.clone();
    let closer = close(param, 0, &fix);
    let value = match form {
        As::Text(_) => match item.doc.node(node) {
            Node::String(text) => framed(param, &fix, text.whole().ok_or(Reason::Surrogate)?),
            _ => Err(Reason::Untyped),
        },
        As::Json(_) => spellings(&item.doc, node, |text| framed(param, &fix, text)),
        As::Schema => {
            let schema = item.schema(key);
            texts(&item.doc, node, schema, |text| {
                if param.frame == Framing::Trim && text.trim() != text {
                    return Err(Reason::Blanks);
                }
                framed(param, &fix, text)
            })
        }
    }?;
    fits(block.ctx, &value)?;
    let holes = Holes {
        key: Some(key),
        kind: word,
        tag: Some(tag(param, key, word)),
        ..Holes::default()
    };
    let shown = param
        .hint
        .as_ref()
        .is_some_and(|hint| hint.attribute.is_none());
    let typed = |pattern: &&String| {
        let parts = path::parts(pattern).unwrap_or_default();
        parts.contains(&Part::Hole(Hole::Type)) == (shown && word.is_some())
    };
    let open = param.open.iter().find(typed).or(param.open.first());
    let open = open.map_or("", String::as_str);
    let from = block.text.len();
    block.pattern(open, Place::Inner(unit), action::PARAM, &holes)?;
    let opener = &block.text[from..];
    if closers(param, &fix).any(|close| opener.contains(&close)) {
        return Err(Reason::Key {
            why: "it holds the closer of a value",
        });
    }
    block.text.push_str(&value);
    block.text.push_str(&closer);
    block.at = block.text.len();
    Ok(())
}

fn form<'h>(hint: Option<&'h Hint>, item: &Item<'_>, node: usize) -> As<'h> {
    let Some(hint) = hint else { return As::Schema };
    let text = hint.text.first().map(String::as_str);
    let word = match item.doc.node(node) {
        Node::String(_) => return text.map_or(As::Schema, As::Text),
        _ if text == Some("true") => "false",
        Node::Null => "null",
        Node::Bool(_) => "boolean",
        Node::Number(_) => "number",
        Node::Array(_) => "array",
        Node::Object(_) => "object",
    };
    As::Json(word)
}

/// The attributes of a parameter's tag.
fn tag(param: &Param, key: &str, word: Option<&str>) -> String {
    let mut out = format!(" {}=\"{}\"", param.name, entities(key, true));
    let attribute = param
        .hint
        .as_ref()
        .and_then(|hint| hint.attribute.as_deref());
    if let (Some(attribute), Some(word)) = (attribute, word) {
        out.push_str(&format!(" {attribute}=\"{word}\""));
    }
    out
}

fn closers<'p>(param: &'p Param, fix: &'p str) -> impl Iterator<Item = String> + 'p {
    (0..param.close.len()).map(move |index| close(param, index, fix))
}

fn close(param: &Param, index: usize, fix: &str) -> String {
    let close = param.close.get(index).map_or("", String::as_str);
    close.replace("$x", fix)
}

/// A value with what stands between it and its tags, if it ends where it should.
fn framed(param: &Param, fix: &str, text: &str) -> Result<String, Reason> {
    let plain = match param.frame {
        // A carriage return would go with the newline behind it.
        Framing::Newline if text.ends_with('\r') && text.starts_with('\n') => {
            return Err(Reason::Blanks);
        }
        Framing::Newline if text.ends_with('\r') => text.to_owned(),
        Framing::Newline => format!("\n{text}\n"),
        Framing::Verbatim | Framing::Trim => text.to_owned(),
    };
    let cdata = param.cdata && text.starts_with(CDATA);
    let reason = match ends(param, fix, &plain) {
        Ok(()) if !cdata => return Ok(plain),
        Ok(()) => Reason::Marker {
            marker: CDATA.to_owned(),
        },
        Err(reason) => reason,
    };
    if !param.cdata {
        return Err(reason);
    }
    // CDATA holds everything up to its own end, and stands only at the beginning.
    let (inside, rest) = text.split_at(text.find("]]>").unwrap_or(text.len()));
    let newline = if param.frame == Framing::Newline {
        "\n"
    } else {
        ""
    };
    if !newline.is_empty() && rest.ends_with('\r') {
        return Err(Reason::Blanks);
    }
    ends(param, fix, &format!("{rest}{newline}"))?;
    Ok(format!("{newline}{CDATA}{inside}]]>{rest}{newline}"))
}

/// Whether a value ends with the closer behind it and nowhere before.
fn ends(param: &Param, fix: &str, text: &str) -> Result<(), Reason> {
    let closer = close(param, 0, fix);
    let whole = format!("{text}{closer}");
    let marker = |marker: &str| {
        Err(Reason::Marker {
            marker: marker.to_owned(),
        })
    };
    for close in closers(param, fix) {
        let early = find_all(&whole, &close, false).any(|at| at < text.len());
        let longer = whole.ends_with(&close) && close.len() > closer.len();
        if early || longer {
            return marker(&close);
        }
    }
    let literal = param.open.first().and_then(|open| path::literal(open).ok());
    if let (true, Some(literal)) = (param.line, literal) {
        // The newline that frames a value is no line of it.
        let from = usize::from(param.frame == Framing::Newline && text.starts_with('\n'));
        let line = format!("\n{literal}");
        if whole[from..].contains(&line) {
            return marker(line.trim_start());
        }
    }
    Ok(())
}
