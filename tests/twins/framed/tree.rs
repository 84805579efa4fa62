//! Values made from elements.

use toolglot::json::{Map, Value};

use crate::naive::schema::{self, Typed};
use crate::naive::xml;

use super::params::tag_name;
use super::spec::Param;

/// An element, or the value itself.
#[derive(Clone, Default)]
struct Node {
    name: String,
    /// Its contents, as written.
    from: usize,
    to: usize,
    children: Vec<Node>,
    /// Whether it has text of its own.
    text: bool,
}

/// Reads values of one block.
pub struct Tree<'s> {
    /// The text before the name in an opening tag, and in a closing tag.
    open: String,
    close: String,
    item: &'s str,
    entities: bool,
}

impl<'s> Tree<'s> {
    pub fn new(param: &'s Param, open: &str, close: &str) -> Self {
        let before = |tag: &str| tag.split("$key").next().unwrap_or_default().to_owned();
        Self {
            open: before(open),
            close: before(close),
            item: "item",
            entities: param.entities,
        }
    }

    /// A value by its schema; `None` if it begins like the JSON that its type requires and is not JSON.
    pub fn value(&self, text: &str, schema: Option<&Value>) -> Option<Value> {
        let whole = Node {
            to: text.len(),
            ..Node::default()
        };
        let root = self.nodes(text).unwrap_or(whole);
        self.node(text, &root, schema)
    }

    /// The normalised text.
    pub fn text(&self, text: &str) -> String {
        match self.entities {
            true => xml::decode(text).text,
            false => text.to_owned(),
        }
    }

    /// The elements of a text; `None` if they do not nest.
    fn nodes(&self, text: &str) -> Option<Node> {
        let mut open = vec![Node::default()];
        let mut at = 0;
        let mut from = 0;
        while at < text.len() {
            let Some((end, name, kind)) = self.tag(&text[at..]) else {
                at += text[at..].chars().next().map_or(1, char::len_utf8);
                continue;
            };
            let here = open.last_mut().expect("the value itself");
            here.text |= !text[from..at].trim().is_empty();
            let end = at + end;
            match kind {
                Kind::Close => {
                    let mut node = open.pop().filter(|node| node.name == name)?;
                    node.to = at;
                    open.last_mut()?.children.push(node);
                }
                Kind::Open | Kind::Empty => {
                    let node = Node {
                        name: name.to_owned(),
                        from: end,
                        to: end,
                        ..Node::default()
                    };
                    match kind {
                        Kind::Open => open.push(node),
                        _ => here.children.push(node),
                    }
                }
            }
            (at, from) = (end, end);
        }
        let mut root = open.pop().filter(|_| open.is_empty())?;
        root.text |= !text[from..].trim().is_empty();
        root.to = text.len();
        Some(root)
    }

    /// The tag at the beginning of a text: its length and name.
    fn tag<'t>(&self, text: &'t str) -> Option<(usize, &'t str, Kind)> {
        let (rest, closes) = match text.strip_prefix(&self.close) {
            Some(rest) => (rest, true),
            None => (text.strip_prefix(&self.open)?, false),
        };
        let len = rest.find(['<', '>'])?;
        if !rest[len..].starts_with('>') {
            return None;
        }
        let inside = &rest[..len];
        let end = text.len() - rest.len() + len + 1;
        let (inside, kind) = match inside.strip_suffix('/') {
            _ if closes => (inside, Kind::Close),
            Some(inside) => (inside, Kind::Empty),
            None => (inside, Kind::Open),
        };
        let name = tag_name(inside);
        (!name.is_empty()).then_some((end, name, kind))
    }

    fn node(&self, text: &str, node: &Node, schema: Option<&Value>) -> Option<Value> {
        let types = schema.map(schema::types).unwrap_or_default();
        let has = |name: &str| types.contains(name);
        let leaf = self.text(&text[node.from..node.to]);
        let holds = has("array") || has("object");
        let is_text = types.len() == 1 && has("string") || !(holds || types.is_empty());
        if node.children.is_empty() && leaf.trim().is_empty() && !has("string") {
            if has("array") {
                return Some(Value::Array(vec![]));
            }
            if has("object") {
                return Some(Value::Object(Map::new()));
            }
        }
        if node.children.is_empty() || is_text || node.text {
            return match schema::typed(&leaf, schema) {
                Typed::Fits(value) | Typed::Mismatch(value) => Some(value),
                Typed::Malformed => None,
            };
        }
        let items = schema.and_then(schema::items);
        let list = has("array") && !has("object");
        let all_items = node.children.iter().all(|child| child.name == self.item);
        let either = has("array") && schema.and_then(|s| schema::prop(s, self.item)).is_none();
        if (list || either || types.is_empty()) && all_items {
            let all = node.children.iter();
            let all: Option<Vec<Value>> = all.map(|child| self.node(text, child, items)).collect();
            return all.map(Value::Array);
        }
        if list {
            return Some(Value::Array(vec![self.members(text, node, items)?]));
        }
        self.members(text, node, schema)
    }

    fn members(&self, text: &str, node: &Node, schema: Option<&Value>) -> Option<Value> {
        let mut out = Map::new();
        for child in &node.children {
            let prop = schema.and_then(|schema| schema::prop(schema, &child.name));
            let same = node
                .children
                .iter()
                .filter(|other| other.name == child.name);
            let same: Vec<&Node> = same.collect();
            let value = match same.as_slice() {
                [one] => self.node(text, one, prop)?,
                many => {
                    let one = prop.filter(|prop| !schema::is_list(Some(prop)));
                    let items = prop.and_then(schema::items).or(one);
                    let all = many.iter().map(|one| self.node(text, one, items));
                    Value::Array(all.collect::<Option<_>>()?)
                }
            };
            out.insert(child.name.clone(), value);
        }
        Some(Value::Object(out))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Open,
    Empty,
    Close,
}
