//! `<ACTION><tool><param>value</param></tool></ACTION>`: objects and lists as elements, or as JSON if the schema reads it.
//! Markup in text is escaped; CDATA keeps whitespace that would be trimmed at the ends of a text.

use toolglot_scan::xml;

use super::doc::{Doc, Node};
use super::error::{Fault, Reason, pointer};
use super::text::{entities, texts};
use super::{Ctx, Item, PLAIN, Written, fits};
use crate::dialect::ElementTree;
use crate::hints::{Schema, Types};

/// The maximum nesting of elements, whatever the limits say: it bounds the only recursion.
const MAX_NEST: usize = 128;

pub(super) fn encode(ctx: &Ctx<'_>, table: &ElementTree, items: &[Item<'_>]) -> Written {
    let mut out = format!("{}\n", table.spec.open);
    let mut elements = 0;
    for item in items {
        let mut writer = Writer {
            ctx,
            table,
            doc: &item.doc,
            elements: elements + 1,
        };
        let tool = writer.tool(item).map_err(|fault| (item.index, fault))?;
        elements = writer.elements;
        out.push_str(&tool);
    }
    if elements > ctx.limits.max_params as usize {
        let index = items.last().map_or(0, |item| item.index);
        return Err((
            index,
            Reason::Limit {
                limit: "max_params",
            }
            .into(),
        ));
    }
    out.push_str(&table.spec.close);
    Ok(vec![out])
}

struct Writer<'a> {
    ctx: &'a Ctx<'a>,
    table: &'a ElementTree,
    doc: &'a Doc,
    /// An upper bound on the elements so far: discarded attempts count too.
    elements: usize,
}

impl Writer<'_> {
    fn tool(&mut self, item: &Item<'_>) -> Result<String, Fault> {
        if !self.tag(item.name) {
            return Err(Reason::Name {
                why: "it cannot be the name of an element",
            }
            .into());
        }
        let mut out = format!("<{}>\n", item.name);
        for (key, node) in item.arguments() {
            out.push_str(&self.member(key, node, item.schema(key), "", 1)?);
            out.push('\n');
        }
        out.push_str(&format!("</{}>\n", item.name));
        Ok(out)
    }

    /// Whether a string can be an element's name.
    fn tag(&self, name: &str) -> bool {
        let starts = |b: u8| b.is_ascii_alphabetic() || b == b'_' || b >= 0x80;
        name.bytes().next().is_some_and(starts)
            && name.bytes().all(|b| xml::is_name(b) || b == b'/')
            && !name.ends_with('/')
            && name != self.table.tag
            && name.len() <= self.ctx.limits.max_name as usize
    }

    /// A member of an object: one element, or one per item of a list. `depth` elements are open.
    fn member(
        &mut self,
        key: &str,
        node: usize,
        schema: &Schema,
        at: &str,
        depth: usize,
    ) -> Result<String, Fault> {
        let at = pointer(at, key);
        let fault = |reason| Fault {
            pointer: at.clone(),
            reason,
        };
        if !self.tag(key) {
            return Err(fault(Reason::Key {
                why: "it cannot be the name of an element",
            }));
        }
        if depth >= MAX_NEST.min(self.ctx.limits.max_depth as usize) {
            return Err(fault(Reason::Limit { limit: "max_depth" }));
        }
        let whole = self.value(node, schema, &at, depth + 1);
        let listed = schema.types.has(Types::ARRAY) && !schema.types.has(Types::OBJECT);
        // Otherwise a repeated element is a mistake.
        let many = schema.types.has(Types::ARRAY) || schema.types == Types::none();
        let items = match self.doc.node(node) {
            // A list with a schema was already tried item by item.
            Node::Array(items) if items.len() > 1 && many && !listed => items.clone(),
            _ => {
                self.elements += 1;
                return whole.map(|value| format!("<{key}>{value}</{key}>"));
            }
        };
        if let Ok(value) = whole {
            self.elements += 1;
            return Ok(format!("<{key}>{value}</{key}>"));
        }
        let schema = schema.items.as_deref().unwrap_or(&PLAIN);
        let mut out = String::new();
        for (index, item) in items.into_iter().enumerate() {
            let value = self.value(item, schema, &pointer(&at, &index.to_string()), depth + 1)?;
            self.elements += 1;
            out.push_str(&format!("<{key}>{value}</{key}>"));
        }
        Ok(out)
    }

    /// The inside of an element: elements if possible, else text.
    fn value(
        &mut self,
        node: usize,
        schema: &Schema,
        at: &str,
        depth: usize,
    ) -> Result<String, Fault> {
        let before = self.elements;
        let nested = match self.doc.node(node) {
            Node::Object(members) if !members.is_empty() => {
                Some(self.object(members.clone(), schema, at, depth))
            }
            Node::Array(items) if !items.is_empty() => {
                Some(self.list(items.clone(), schema, at, depth))
            }
            _ => None,
        };
        if let Some(Ok(nested)) = nested {
            return Ok(nested);
        }
        self.elements = before;
        let flat = texts(self.doc, node, schema, |text| {
            let text = leaf(text);
            fits(self.ctx, &text).map(|()| text)
        });
        let shape = match self.doc.node(node) {
            Node::Object(members) if members.is_empty() => Some("an empty object"),
            Node::Array(items) if items.is_empty() => Some("an empty list"),
            Node::Array(items) if items.len() == 1 => Some("a list of one"),
            _ => None,
        };
        flat.map_err(|reason| match (nested, shape) {
            (Some(Err(fault)), None) => fault,
            (_, Some(what)) if reason == Reason::Untyped => Fault {
                pointer: at.to_owned(),
                reason: Reason::Shape { what },
            },
            _ => Fault {
                pointer: at.to_owned(),
                reason,
            },
        })
    }

    fn object(
        &mut self,
        members: Vec<(super::doc::Text, usize)>,
        schema: &Schema,
        at: &str,
        depth: usize,
    ) -> Result<String, Fault> {
        let list = schema.types.has(Types::ARRAY) && !schema.types.has(Types::OBJECT);
        if schema.types == Types::STRING || list {
            return Err(Fault {
                pointer: at.to_owned(),
                reason: Reason::Coerced,
            });
        }
        let mut out = String::new();
        for (key, node) in members {
            let key = key.whole().ok_or_else(|| Fault {
                pointer: at.to_owned(),
                reason: Reason::Surrogate,
            })?;
            let schema = schema.prop(key).unwrap_or(&PLAIN);
            out.push_str(&self.member(key, node, schema, at, depth)?);
        }
        self.inside(out, at)
    }

    fn list(
        &mut self,
        items: Vec<usize>,
        schema: &Schema,
        at: &str,
        depth: usize,
    ) -> Result<String, Fault> {
        let list = schema.types.has(Types::ARRAY) && !schema.types.has(Types::OBJECT);
        let tag = self.table.spec.item.clone();
        let fault = |reason| Fault {
            pointer: at.to_owned(),
            reason,
        };
        if !list {
            return Err(fault(if schema.types.plain() {
                Reason::Untyped
            } else {
                Reason::Coerced
            }));
        }
        if depth >= MAX_NEST.min(self.ctx.limits.max_depth as usize) {
            return Err(fault(Reason::Limit { limit: "max_depth" }));
        }
        let schema = schema.items.as_deref().unwrap_or(&PLAIN);
        let mut out = String::new();
        for (index, item) in items.into_iter().enumerate() {
            let value = self.value(item, schema, &pointer(at, &index.to_string()), depth + 1)?;
            self.elements += 1;
            out.push_str(&format!("<{tag}>{value}</{tag}>"));
        }
        self.inside(out, at)
    }

    fn inside(&self, text: String, at: &str) -> Result<String, Fault> {
        fits(self.ctx, &text).map_err(|reason| Fault {
            pointer: at.to_owned(),
            reason,
        })?;
        Ok(text)
    }
}

/// The text of an element without children.
fn leaf(text: &str) -> String {
    if text.as_bytes().trim_ascii().len() == text.len() {
        return entities(text, false);
    }
    format!("<![CDATA[{}]]>", text.replace("]]>", "]]]]><![CDATA[>"))
}
