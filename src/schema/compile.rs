//! A schema as the parser asks for it: types, members and items, with everything resolved.

use super::Types;
use super::doc::{Doc, unions};
use crate::json::{Map, Value};

/// How deep a schema is followed.
const MAX_DEPTH: usize = 32;
/// How many schemas are made of one document: references can make many of few. Of the rest nothing is known.
const MAX_SCHEMAS: u32 = 10_000;

/// What a schema says of a value.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// None if nothing is known.
    pub types: Types,
    /// The values that it may be, where they are listed.
    pub listed: Vec<Value>,
    pub items: Option<Box<Schema>>,
    pub props: Vec<(String, Schema)>,
}

/// One parameter of a tool.
#[derive(Clone, Debug)]
pub struct Param {
    pub name: String,
    pub schema: Schema,
    pub required: bool,
}

/// The parameters that a document names, those of alternatives too.
pub fn params(doc: &Doc<'_>) -> Vec<Param> {
    let root = Compile {
        doc,
        left: MAX_SCHEMAS,
    }
    .schema(&[doc.root], 0);
    let parts = doc.parts(&[doc.root]);
    let required: Vec<&str> = parts
        .iter()
        .flat_map(|part| names(part, "required"))
        .collect();
    let param = |(name, schema): (String, Schema)| Param {
        required: required.contains(&name.as_str()),
        name,
        schema,
    };
    root.props.into_iter().map(param).collect()
}

/// Whether an object may have members that the document does not name, where it says so itself.
pub fn open(doc: &Doc<'_>) -> bool {
    let more = |part: &Map, word: &str| part.get(word).is_some_and(|value| *value != false);
    let words = [
        "additionalProperties",
        "unevaluatedProperties",
        "patternProperties",
    ];
    let parts = doc.parts(&[doc.root]);
    parts
        .iter()
        .any(|part| words.iter().any(|word| more(part, word)))
}

fn names<'s>(part: &'s Map, word: &str) -> impl Iterator<Item = &'s str> {
    let list = part.get(word).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str)
}

struct Compile<'d, 's> {
    doc: &'d Doc<'s>,
    left: u32,
}

impl<'s> Compile<'_, 's> {
    /// What all of `schemas` say together. Recursion is bounded by [`MAX_DEPTH`] and by what is left.
    fn schema(&mut self, schemas: &[&'s Value], depth: usize) -> Schema {
        if depth == MAX_DEPTH || self.left == 0 || schemas.is_empty() {
            return Schema::UNKNOWN;
        }
        self.left -= 1;
        let parts = self.doc.parts(schemas);
        let types = self.doc.types(&parts);
        let mut out = Schema {
            types: if types == Types::ANY {
                Types::NONE
            } else {
                types
            },
            listed: parts
                .iter()
                .find_map(|part| values(part))
                .unwrap_or_default(),
            ..Schema::UNKNOWN
        };
        let items = self.doc.item(&parts, usize::MAX);
        if !items.is_empty() {
            out.items = Some(Box::new(self.schema(&items, depth + 1)));
        }
        for (at, part) in parts.iter().enumerate() {
            for name in part
                .get("properties")
                .and_then(Value::as_object)
                .into_iter()
                .flat_map(Map::keys)
            {
                let own = |part: &&'s Map| part.get("properties")?.get(name);
                let before = parts[..at].iter().any(|part| own(part).is_some());
                if !before {
                    let all: Vec<&'s Value> = parts.iter().filter_map(own).collect();
                    out.props.push((name.clone(), self.schema(&all, depth + 1)));
                }
            }
        }
        for branches in parts.iter().flat_map(|part| unions(part)) {
            let each = branches
                .iter()
                .map(|branch| self.schema(&[branch], depth + 1));
            if let Some(any) = each.collect::<Vec<_>>().into_iter().reduce(Schema::or) {
                out.also(any);
            }
        }
        out
    }
}

/// The values that a schema lists itself.
fn values(part: &Map) -> Option<Vec<Value>> {
    let list = part.get("enum").and_then(Value::as_array).cloned();
    part.get("const").map(|value| vec![value.clone()]).or(list)
}

impl Schema {
    /// Nothing is known.
    pub const UNKNOWN: Self = Self {
        types: Types::none(),
        listed: vec![],
        items: None,
        props: vec![],
    };

    /// Everything is allowed: JSON where the text is some, else a string.
    pub const ANY: Self = Self {
        types: Types::ANY,
        listed: vec![],
        items: None,
        props: vec![],
    };

    pub fn prop(&self, name: &str) -> Option<&Schema> {
        self.props
            .iter()
            .find(|(have, _)| have == name)
            .map(|(_, schema)| schema)
    }

    /// What one of two says: a member that only one of them names is what that one says.
    fn or(mut self, other: Self) -> Self {
        let known = self.types != Types::NONE && other.types != Types::NONE;
        self.types = if known {
            self.types.or(other.types)
        } else {
            Types::NONE
        };
        match self.listed.is_empty() || other.listed.is_empty() {
            true => self.listed.clear(),
            false => self.listed.extend(other.listed),
        }
        self.items = match (self.items, other.items) {
            (Some(a), Some(b)) => Some(Box::new(a.or(*b))),
            (a, b) => a.or(b),
        };
        for (name, schema) in other.props {
            match self.props.iter_mut().find(|(have, _)| *have == name) {
                Some((_, have)) => *have = std::mem::take(have).or(schema),
                None => self.props.push((name, schema)),
            }
        }
        self
    }

    /// Adds what the alternatives beside it say; its own types count those already.
    fn also(&mut self, any: Self) {
        if self.listed.is_empty() {
            self.listed = any.listed;
        }
        if self.items.is_none() {
            self.items = any.items;
        }
        for (name, schema) in any.props {
            match self.props.iter_mut().find(|(have, _)| *have == name) {
                Some((_, have)) if have.types == Types::NONE => *have = schema,
                Some(_) => {}
                None => self.props.push((name, schema)),
            }
        }
    }
}
