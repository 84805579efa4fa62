//! Values as elements inside a parameter: objects and lists as elements if that reads back, else as JSON text if the schema
//! asks for it.
//!
//! Before values are placed, they are read as the parser reads them: if elements have no entities, text may look like elements.

use super::doc::{Doc, Node, Text};
use super::error::{Fault, Reason, pointer};
use super::text::{entities, texts};
use super::{Ctx, PLAIN};
use crate::body::{Elements, ITEM, tag_name};
use crate::hints::{Coerced, Schema, Types};
use crate::kind::Kind;

/// The maximum nesting of elements, whatever the limits say: it bounds the only recursion.
const MAX_NEST: usize = 128;

/// Writes the values of one call.
pub(super) struct Writer<'a> {
    pub ctx: &'a Ctx<'a>,
    pub doc: &'a Doc,
    pub form: &'a Elements,
}

/// Whether a schema allows lists and no objects.
fn listed(schema: &Schema) -> bool {
    schema.types.has(Types::ARRAY) && !schema.types.has(Types::OBJECT)
}

fn untyped(schema: &Schema) -> bool {
    schema.types == Types::none()
}

impl Writer<'_> {
    /// Passes texts that are read as the value to `place`, until one can be placed. If none can, returns the first rejection.
    pub fn place(
        &self,
        node: usize,
        schema: &Schema,
        key: &str,
        mut place: impl FnMut(&str) -> Result<String, Reason>,
    ) -> Result<String, Fault> {
        let mut tried = |text: &str| {
            self.reads(text, node, schema)?;
            place(text)
        };
        let at = pointer("", key);
        let made = self.value(node, schema, &at, 1);
        let first = match made.and_then(|text| tried(&text).map_err(|r| Fault::at(key, r))) {
            Ok(done) => return Ok(done),
            Err(fault) => fault,
        };
        let flat = texts(self.doc, node, schema, |text| {
            tried(&self.leaf(text, schema)?)
        });
        flat.map_err(|_| first)
    }

    /// Whether a text is read as the value.
    fn reads(&self, text: &str, node: usize, schema: &Schema) -> Result<(), Reason> {
        let mut got = String::new();
        let limit = |limit| Err(Reason::Limit { limit });
        let value = self.form.value(text, schema, self.ctx.limits, &mut got);
        if value
            .as_ref()
            .is_ok_and(|value| value.kinds.contains(Kind::DuplicateParam))
        {
            // A list, but the schema wants none.
            return Err(Reason::Coerced);
        }
        match value.map(|value| (value.how, value.kinds.is_empty())) {
            Err(Kind::LimitDepth) => return limit("max_depth"),
            Err(Kind::LimitName) => return limit("max_name"),
            Err(_) => return limit("max_params"),
            Ok((Coerced::Malformed, _)) => return Err(Reason::Coerced),
            Ok((_, false)) => {
                let marker = self.form.open.clone();
                return Err(Reason::Marker { marker });
            }
            Ok((Coerced::Fits | Coerced::Mismatch, true)) => {}
        }
        match Doc::parse(&got) {
            Ok(have) if have.same_at(0, self.doc, node) => Ok(()),
            _ => Err(Reason::Marker {
                marker: self.form.open.clone(),
            }),
        }
    }

    /// The inside of an element: elements if possible, else text. `depth` elements are open.
    fn value(&self, node: usize, schema: &Schema, at: &str, depth: usize) -> Result<String, Fault> {
        let nested = match self.doc.node(node) {
            Node::Object(members) if !members.is_empty() => {
                Some(self.object(members, schema, at, depth))
            }
            Node::Array(items) if !items.is_empty() => Some(self.list(items, schema, at, depth)),
            _ => None,
        };
        if let Some(Ok(nested)) = nested {
            return Ok(nested);
        }
        let text = matches!(self.doc.node(node), Node::String(_));
        let flat = texts(self.doc, node, schema, |json| {
            let leaf = self.leaf(json, schema)?;
            if !text && leaf.contains(&self.form.open) {
                // In another spelling it does not look like an element.
                return Err(Reason::Marker {
                    marker: self.form.open.clone(),
                });
            }
            Ok(leaf)
        });
        let shape = match self.doc.node(node) {
            Node::Object(members) if members.is_empty() => Some("an empty object"),
            Node::Array(items) if items.is_empty() => Some("an empty list"),
            _ => None,
        };
        flat.map_err(|reason| match (nested, shape) {
            (Some(Err(fault)), _) => fault,
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

    /// Text as it is written in an element.
    fn leaf(&self, text: &str, schema: &Schema) -> Result<String, Reason> {
        let types = schema.types;
        let holds = types.has(Types::OBJECT) || types.has(Types::ARRAY);
        if text.trim().is_empty() && holds && !types.has(Types::STRING) {
            // An empty element is an empty list or object.
            return Err(Reason::Coerced);
        }
        Ok(escaped(self.form, text))
    }

    /// Checks that another element may be nested at this depth.
    fn nest(&self, at: &str, depth: usize) -> Result<(), Fault> {
        if depth >= MAX_NEST.min(self.ctx.limits.max_depth as usize) {
            return Err(Fault {
                pointer: at.to_owned(),
                reason: Reason::Limit { limit: "max_depth" },
            });
        }
        Ok(())
    }

    fn object(
        &self,
        members: &[(Text, usize)],
        schema: &Schema,
        at: &str,
        depth: usize,
    ) -> Result<String, Fault> {
        let fault = |reason| Fault {
            pointer: at.to_owned(),
            reason,
        };
        if !(untyped(schema) || schema.types.has(Types::OBJECT)) {
            return Err(fault(Reason::Coerced));
        }
        self.nest(at, depth)?;
        let item = |(key, _): &(Text, usize)| key.whole() == Some(ITEM);
        if untyped(schema) && members.iter().all(item) {
            let what = "an object of nothing but items";
            return Err(fault(Reason::Shape { what }));
        }
        let mut out = String::new();
        for (key, node) in members {
            let key = key.whole().ok_or_else(|| fault(Reason::Surrogate))?;
            let schema = schema.prop(key).unwrap_or(&PLAIN);
            out.push_str(&self.member(key, *node, schema, &pointer(at, key), depth)?);
        }
        Ok(out)
    }

    /// A member of an object: one element, or one per item of a list that cannot be in a single element.
    fn member(
        &self,
        key: &str,
        node: usize,
        schema: &Schema,
        at: &str,
        depth: usize,
    ) -> Result<String, Fault> {
        let fault = |reason| Fault {
            pointer: at.to_owned(),
            reason,
        };
        if !is_tag(key) {
            let why = "it cannot be the name of an element";
            return Err(fault(Reason::Key { why }));
        }
        if key.len() > self.ctx.limits.max_name as usize {
            return Err(fault(Reason::Limit { limit: "max_name" }));
        }
        let whole = self.value(node, schema, at, depth + 1);
        let items = match self.doc.node(node) {
            // A list that may be in a single element was already tried item by item.
            Node::Array(items) if items.len() > 1 && !(untyped(schema) || listed(schema)) => items,
            _ => return whole.map(|value| self.element(key, &value)),
        };
        if let Ok(value) = whole {
            return Ok(self.element(key, &value));
        }
        self.items(key, items, schema, at, depth)
    }

    fn list(
        &self,
        items: &[usize],
        schema: &Schema,
        at: &str,
        depth: usize,
    ) -> Result<String, Fault> {
        if !(untyped(schema) || listed(schema)) {
            return Err(Fault {
                pointer: at.to_owned(),
                reason: if schema.types.plain() {
                    Reason::Untyped
                } else {
                    Reason::Coerced
                },
            });
        }
        self.nest(at, depth)?;
        self.items(ITEM, items, schema, at, depth)
    }

    /// One element of that name per item of a list.
    fn items(
        &self,
        key: &str,
        items: &[usize],
        schema: &Schema,
        at: &str,
        depth: usize,
    ) -> Result<String, Fault> {
        let schema = schema.items.as_deref().unwrap_or(&PLAIN);
        let mut out = String::new();
        for (index, item) in items.iter().enumerate() {
            let at = pointer(at, &index.to_string());
            let value = self.value(*item, schema, &at, depth + 1)?;
            out.push_str(&self.element(key, &value));
        }
        Ok(out)
    }

    fn element(&self, key: &str, value: &str) -> String {
        let Elements { open, close, .. } = self.form;
        format!("{open}{key}>{value}{close}{key}>")
    }
}

/// Text as it is written in elements of that form.
pub(super) fn escaped(form: &Elements, text: &str) -> String {
    if form.entities {
        entities(text, false)
    } else {
        text.to_owned()
    }
}

/// Whether a name can be that of a tag.
pub(super) fn is_tag(name: &str) -> bool {
    tag_name(name) == Some(name) && !name.contains(['<', '>'])
}
