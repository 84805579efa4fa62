//! Elements to calls: leaves, objects, lists, and the types that a schema asks for.

use toolglot::json::{Map, Value};

use super::fields::{complain_of_missing, known_tool, settle};
use super::xml::decode;
use super::{Block, Run, schema};

/// The element that holds one item of a list, where the schema says list.
const ITEM: &str = "item";

/// A piece of an element's text, as written.
pub(super) struct Piece {
    pub(super) text: String,
    /// Whether it is CDATA, which is never trimmed.
    pub(super) verbatim: bool,
}

/// An element, or the block itself.
#[derive(Default)]
pub(super) struct Node {
    pub(super) name: String,
    /// The source between its tags.
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) pieces: Vec<Piece>,
    pub(super) children: Vec<Node>,
}

/// The calls of a closed block.
pub(super) fn finish(run: &mut Run<'_>, root: &Node, end: usize) -> Block {
    if root.children.is_empty() {
        run.error(if root.is_blank() {
            "empty_block"
        } else {
            "malformed_body"
        });
        return Block::hidden(end);
    }
    let mut calls = vec![];
    for node in &root.children {
        if let Some(arguments) = arguments(run, node) {
            calls.push((node.name.clone(), arguments));
        }
    }
    Block::calls(end, calls)
}

fn arguments(run: &mut Run<'_>, node: &Node) -> Option<Value> {
    let tool = known_tool(run, &node.name);
    let params = tool.map(schema::params);
    let mut out = Map::new();
    if node.children.is_empty() && !node.is_blank() {
        out.insert("__raw".to_owned(), Value::String(node.leaf(run)));
    } else if !node.is_blank() {
        run.error("junk_in_block");
    }
    for (name, group) in grouped(node) {
        let known = params
            .as_ref()
            .and_then(|params| params.iter().find(|(key, _)| *key == name));
        if params.is_some() && known.is_none() {
            run.warn("unknown_param");
        }
        out.insert(
            name.to_owned(),
            group_value(run, &group, known.map(|(_, schema)| *schema))?,
        );
    }
    complain_of_missing(run, tool, &out);
    Some(Value::Object(out))
}

/// The children by name, in order of first occurrence.
fn grouped(node: &Node) -> Vec<(&str, Vec<&Node>)> {
    let mut out: Vec<(&str, Vec<&Node>)> = vec![];
    for child in &node.children {
        match out.iter_mut().find(|(name, _)| *name == child.name) {
            Some((_, group)) => group.push(child),
            None => out.push((&child.name, vec![child])),
        }
    }
    out
}

fn group_value(run: &mut Run<'_>, group: &[&Node], schema: Option<&Value>) -> Option<Value> {
    if let [one] = group {
        return value(run, one, schema);
    }
    // Chosen: if the schema asks for anything but a list, repeated elements stay as they are.
    let list = schema::is_list(schema);
    if !list && schema.is_some_and(|schema| !schema::types(schema).is_empty()) {
        run.warn("type_mismatch");
    }
    let inner = match list {
        true => schema.and_then(schema::items),
        false => schema,
    };
    let list: Option<Vec<Value>> = group.iter().map(|node| value(run, node, inner)).collect();
    list.map(Value::Array)
}

fn value(run: &mut Run<'_>, node: &Node, schema: Option<&Value>) -> Option<Value> {
    if node.children.is_empty() {
        let leaf = node.leaf(run);
        return settle(run, schema::typed(&leaf, schema));
    }
    let raw = || run.input[node.from..node.to].trim().to_owned();
    let types = schema.map(schema::types).unwrap_or_default();
    if !types.is_empty() && types.iter().all(|name| name == "string") {
        return Some(Value::String(raw()));
    }
    if !node.is_blank() {
        let raw = raw();
        run.warn("bare_markup");
        let plain = schema.filter(|schema| schema::is_list(Some(schema)));
        return settle(run, schema::typed(&raw, plain));
    }
    if types.contains("array") {
        let items = schema.and_then(schema::items);
        let listed = node.children.iter().all(|child| child.name == ITEM);
        let member =
            types.contains("object") && schema.and_then(|s| schema::prop(s, ITEM)).is_some();
        if listed && !member {
            let list: Option<Vec<Value>> = node
                .children
                .iter()
                .map(|child| value(run, child, items))
                .collect();
            return list.map(Value::Array);
        }
        if !types.contains("object") {
            return Some(Value::Array(vec![object(run, node, items)?]));
        }
    }
    object(run, node, schema)
}

fn object(run: &mut Run<'_>, node: &Node, schema: Option<&Value>) -> Option<Value> {
    let mut out = Map::new();
    for (name, group) in grouped(node) {
        let prop = schema.and_then(|schema| schema::prop(schema, name));
        out.insert(name.to_owned(), group_value(run, &group, prop)?);
    }
    Some(Value::Object(out))
}

impl Piece {
    fn decoded(&self, run: &mut Run<'_>) -> String {
        if self.verbatim {
            return self.text.clone();
        }
        let decoded = decode(&self.text);
        if decoded.bare {
            run.warn("bare_markup");
        }
        if decoded.unknown {
            run.warn("unknown_entity");
        }
        decoded.text
    }
}

impl Node {
    /// Whether its own text is only blanks.
    fn is_blank(&self) -> bool {
        self.pieces.iter().all(|piece| piece.text.trim().is_empty())
    }

    /// Its text, decoded: trimmed at both ends, except inside CDATA.
    fn leaf(&self, run: &mut Run<'_>) -> String {
        let texts: Vec<String> = self.pieces.iter().map(|piece| piece.decoded(run)).collect();
        let verbatim = self.pieces.iter().map(|piece| piece.verbatim);
        let mut pieces: Vec<(&str, bool)> =
            texts.iter().map(String::as_str).zip(verbatim).collect();
        while let Some((text, false)) = pieces.first_mut() {
            *text = text.trim_start();
            if !text.is_empty() {
                break;
            }
            pieces.remove(0);
        }
        while let Some((text, false)) = pieces.last_mut() {
            *text = text.trim_end();
            if !text.is_empty() {
                break;
            }
            pieces.pop();
        }
        pieces.iter().map(|(text, _)| *text).collect()
    }
}
