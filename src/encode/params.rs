//! Tagged parameters in framed dialects.
//!
//! A value is written verbatim, so it must not contain anything that would end it: neither its own closer nor a line that opens
//! the next parameter. CDATA protects closers if the dialect reads it.

use toolglot_scan::path::{self, Hole, Part};
use toolglot_scan::{Needle, xml};

use super::content::shared;
use super::doc::Node;
use super::elements::{self, is_tag};
use super::error::{Fault, Reason};
use super::framed::{Block, Holes, Place};
use super::text::{entities, find_all, spellings, texts};
use super::{Ctx, Item, fits};
use crate::body::{Elements, Strange, holds_markup, other_tags};
use crate::dialect::spec::{Deltas, Framing, Hint, Param, Payload};
use crate::dialect::{Action, ParamStart, halves, last_tag, written};
use crate::hints::{Schema, Types};
use crate::limits::Untyped;

const CDATA: &str = "<![CDATA[";
const CDATA_END: &str = "]]>";

/// Writes the parameters of a call into its block.
pub(super) fn write(block: &mut Block<'_>, unit: usize, item: &Item<'_>) -> Result<(), Fault> {
    let Some(param) = block.table.params(unit as u16) else {
        return Err(Reason::Shape { what: "parameters" }.into());
    };
    let spec = &block.table.spec.unit[unit];
    let shared = shared(block.table, spec);
    let members = item.arguments().filter(|(key, _)| shared != Some(key));
    let mut members: Vec<(&str, usize)> = members.collect();
    if spec.fix_name {
        named(block.ctx, param, item, &mut members)?;
    }
    for (key, node) in members {
        one(block, unit, param, item, key, node)?;
        // Only a limited amount of whitespace is accepted there.
        if param.confirm > 0 {
            block.text.push('\n');
        }
    }
    Ok(())
}

/// For tags named after tools: a tag named after another tool begins its call, and after a value a tag that belongs neither to
/// a parameter nor to a tool is text.
fn named(
    ctx: &Ctx<'_>,
    param: &Param,
    item: &Item<'_>,
    members: &mut [(&str, usize)],
) -> Result<(), Fault> {
    let Some(tool) = item.tool else { return Ok(()) };
    let known = |key: &str| tool.param(key).is_some();
    let call = |key: &str| ctx.tools.is_some_and(|tools| tools.get(key).is_some());
    let refused = |key: &str, why| Err(Fault::at(key, Reason::Key { why }));
    if let Some((key, _)) = members.iter().find(|(key, _)| !known(key) && call(key)) {
        return refused(key, "its tag is that of another tool");
    }
    if param.confirm > 0 && !tool.params.is_empty() {
        members.sort_by_key(|(key, _)| known(key));
        if let Some((key, _)) = members.iter().skip(1).find(|(key, _)| !known(key)) {
            return refused(
                key,
                "the tool has no such parameter, nor another one's name",
            );
        }
    }
    Ok(())
}

/// How a value will be read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum As<'w> {
    Schema,
    /// The tag declares text, with this word.
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
) -> Result<(), Fault> {
    let fault = |reason| Fault::at(key, reason);
    if key.is_empty() || key.trim() != key {
        let why = "it is empty, or whitespace at its ends would be trimmed";
        return Err(fault(Reason::Key { why }));
    }
    let ends = param.open.iter().any(|open| open.ends_with("$key>"));
    let attribute = key.split_once(char::is_whitespace);
    let attribute = attribute.is_some_and(|(_, rest)| rest.contains('='));
    if ends && (key.ends_with('/') || key.contains("=\"") || attribute) {
        let why = "it would be read as a tag with attributes, or one that closes itself";
        return Err(fault(Reason::Key { why }));
    }
    if holds_markup(key, ends) {
        let why = "it would be read as a piece of another markup";
        return Err(fault(Reason::Key { why }));
    }
    if ends && xml::unquoted(key) != Some(key) {
        let why = "its quotation marks would be read as those of the tag";
        return Err(fault(Reason::Key { why }));
    }
    if param.close.iter().any(|close| close.contains("$key")) && !is_tag(key) {
        let why = "it cannot be the name of a tag";
        return Err(fault(Reason::Key { why }));
    }
    let form = form(param.hint.as_ref(), item, node);
    let word = match form {
        As::Schema => None,
        As::Text(word) | As::Json(word) => Some(word),
    };
    let others = other_tags(block.table, unit as u16, item.tool, key);
    let mut frame = Frame::new(param, &block.fix, key, others);
    let value = match form {
        As::Text(_) => match item.doc.node(node) {
            Node::String(text) => text
                .whole()
                .ok_or(Reason::Surrogate)
                .and_then(|text| frame.around(text))
                .map_err(fault),
            _ => Err(fault(Reason::Untyped)),
        },
        As::Json(_) => spellings(&item.doc, node, |text| frame.around(text)).map_err(fault),
        As::Schema => untyped(block, unit, item, key, node, &mut frame),
    }?;
    fits(block.ctx, &value).map_err(fault)?;
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
    block
        .pattern(open, Place::Inner(unit), Action::Param, &holes)
        .map_err(fault)?;
    let opener = &block.text[from..];
    if frame.closers.iter().any(|close| opener.contains(close)) {
        let why = "it holds the closer of a value";
        return Err(fault(Reason::Key { why }));
    }
    block.text.push_str(&value);
    block.text.push_str(frame.closer());
    block.at = block.text.len();
    Ok(())
}

/// The schema of an unknown value, if JSON is read as JSON.
static ANY: Schema = Schema::ANY;

/// A value typed by its schema: text, or elements.
fn untyped(
    block: &Block<'_>,
    unit: usize,
    item: &Item<'_>,
    key: &str,
    node: usize,
    frame: &mut Frame<'_>,
) -> Result<String, Fault> {
    let json = block.ctx.dialect.spec.untyped == Untyped::Json;
    let schema = match item.schema(key) {
        unknown if json && unknown.types == Types::none() => &ANY,
        schema => schema,
    };
    let trims = frame.framing == Framing::Trim;
    let fault = |reason| Fault::at(key, reason);
    let waits = block.ctx.dialect.spec.deltas == Deltas::AtValueEnd;
    let tree = block.table.spec.unit[unit].payload == Payload::Tree;
    let form = Elements::new(frame.param, &block.fix);
    if tree && (waits || !(schema.types == Types::STRING || trims && schema.types.plain())) {
        frame.nest = Some(format!("{}{key}>", form.open));
        let writer = elements::Writer {
            ctx: block.ctx,
            doc: &item.doc,
            form: &form,
        };
        return writer.place(node, schema, key, |text| frame.around(text));
    }
    let place = |text: &str| {
        if trims && text.trim() != text {
            return Err(Reason::Blanks);
        }
        if tree && !trims {
            return frame.around(&elements::escaped(&form, text));
        }
        frame.around(text)
    };
    texts(&item.doc, node, schema, place).map_err(fault)
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

/// What surrounds the value of a parameter.
struct Frame<'p> {
    param: &'p Param,
    framing: Framing,
    closers: Vec<String>,
    /// The parameter's own opener, if elements in its value count.
    nest: Option<String>,
    /// The beginning of a parameter: no value may contain it.
    strange: Option<Strange>,
    /// The marker that ends a parameter's opener: no value may contain it either.
    again: Option<Needle>,
    /// The tags of other parameters: a closer may be missing before one.
    others: Vec<String>,
}

impl<'p> Frame<'p> {
    fn new(param: &'p Param, fix: &str, key: &str, others: Vec<String>) -> Self {
        let close = |close: &String| written(close, fix, key);
        let newline = param.newline.iter().any(|have| have == key);
        Self {
            param,
            framing: if newline {
                Framing::Newline
            } else {
                param.frame
            },
            closers: param.close.iter().map(close).collect(),
            nest: None,
            strange: ParamStart::new(param, fix, key).map(Strange::new),
            again: last_tag(param, fix),
            others,
        }
    }

    fn closer(&self) -> &str {
        self.closers.first().map_or("", String::as_str)
    }

    /// A value with what separates it from its tags, if it ends where it should.
    fn around(&self, text: &str) -> Result<String, Reason> {
        let newlines = self.framing == Framing::Newline;
        let plain = match self.framing {
            // The carriage return would be removed with the newline after it.
            Framing::Newline if text.ends_with('\r') && text.starts_with(['\n', '\r']) => {
                return Err(Reason::Blanks);
            }
            Framing::Newline if text.ends_with('\r') => text.to_owned(),
            Framing::Newline => format!("\n{text}\n"),
            Framing::Verbatim | Framing::Trim => text.to_owned(),
        };
        let cdata = self.param.cdata && text.starts_with(CDATA);
        let reason = match self.ends(&plain) {
            Ok(()) if !cdata => return Ok(plain),
            Ok(()) => Reason::Marker {
                marker: CDATA.to_owned(),
            },
            Err(reason) => reason,
        };
        if !self.param.cdata {
            return Err(reason);
        }
        // CDATA contains everything but its own end. It is possible only at the beginning, and does not nest.
        if text.contains(CDATA_END) || text.contains(CDATA) {
            return Err(Reason::Marker {
                marker: CDATA.to_owned(),
            });
        }
        let newline = if newlines { "\n" } else { "" };
        self.ends(newline)?;
        Ok(format!("{newline}{CDATA}{text}{CDATA_END}{newline}"))
    }

    /// Checks that a value ends with the closer after it, and not earlier.
    fn ends(&self, text: &str) -> Result<(), Reason> {
        let whole = format!("{text}{}", self.closer());
        let marker = |marker: &str| {
            Err(Reason::Marker {
                marker: marker.to_owned(),
            })
        };
        // Ordered by their ends: closers, and the parameter's own opener.
        let mut marks: Vec<(usize, usize, Option<&str>)> = vec![];
        for close in &self.closers {
            // With the whitespace that it may contain.
            let mut needle = Needle::tag(close.as_bytes());
            for (at, byte) in whole.bytes().enumerate() {
                if needle.step(byte) {
                    let end = at + 1;
                    marks.push((end, end - needle.len(), Some(close.as_str())));
                }
            }
        }
        if let Some(open) = &self.nest {
            let all = find_all(&whole, open, false);
            marks.extend(all.map(|at| (at + open.len(), at, None)));
        }
        marks.sort_unstable_by_key(|(end, at, _)| (*end, *at));
        let (mut open, mut ended) = (0, false);
        for (_, at, close) in marks {
            match close {
                None => open += 1,
                Some(_) if open > 0 => open -= 1,
                Some(close) if at < text.len() => return marker(close),
                Some(_) => {
                    ended = true;
                    break;
                }
            }
        }
        if !ended {
            return marker(self.nest.as_deref().unwrap_or(self.closer()));
        }
        // A closer that breaks off before a tag; before that of an element, there may be blanks.
        let parts = self
            .closers
            .iter()
            .filter_map(|close| close.strip_suffix('>'));
        for part in parts {
            let breaks_off = |(at, _)| {
                let rest = &whole[at + part.len()..];
                let blanks = |c: char| c.is_ascii_whitespace() && part.starts_with("</");
                rest.trim_start_matches(blanks).starts_with('<')
            };
            if whole.match_indices(part).any(breaks_off) {
                return marker(part);
            }
        }
        // A part of a closer directly before it would be a repeated part.
        for close in &self.closers {
            let twice = halves(close).map_or(vec![], |(twice, _)| twice);
            let parts = twice
                .iter()
                .filter_map(|twice| twice.strip_suffix(close.as_str()));
            for part in parts {
                if text.trim_end().ends_with(part) {
                    return marker(part);
                }
            }
        }
        let opener = self.param.open.first();
        let strange = self.strange.as_ref().filter(|_| self.nest.is_none());
        if let Some(strange) = strange.filter(|strange| strange.stands_in(&whole)) {
            return marker(strange.literal());
        }
        if let Some(other) = self.others.iter().find(|other| text.contains(*other)) {
            return marker(other);
        }
        let again = self.again.as_ref().map(Needle::text);
        if let Some(again) = again.filter(|again| text.contains(again)) {
            return marker(again);
        }
        let literal = opener.and_then(|open| path::literal(open).ok());
        if let (true, Some(literal)) = (self.param.line, literal) {
            let line = format!("\n{literal}");
            if whole.contains(&line) {
                return marker(line.trim_start());
            }
        }
        Ok(())
    }
}
