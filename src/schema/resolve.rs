//! A schema document with references and compositions resolved.
//!
//! All approximations err on one side: a value that a schema allows always [fits](Doc::fits), and its type is always among the
//! [types](Doc::types). So a value that does not fit may be changed, and a valid one never is. The converse is left to the
//! validator. Work is counted; beyond the budget the answer is "it may fit".

use std::cell::Cell;

use super::Types;
use crate::json::{Decimal, Number};
use crate::json::{Map, Value};

/// A schema document, with a work budget.
pub struct Doc<'s> {
    pub root: &'s Value,
    /// Up to draft 7, siblings of a `$ref` are ignored.
    pub ref_alone: bool,
    left: Cell<u64>,
}

/// Schemas that all apply to one value.
pub type Parts<'s> = Vec<&'s Map>;

/// The maximum number of schemas that may apply to one value.
const MAX_PARTS: usize = 64;
/// How deep unions are followed.
const MAX_DEPTH: usize = 32;

impl<'s> Doc<'s> {
    pub fn new(root: &'s Value, ref_alone: bool, work: u64) -> Self {
        Self {
            root,
            ref_alone,
            left: Cell::new(work),
        }
    }

    /// Takes work from the budget; returns false if not enough is left.
    pub fn spend(&self, work: u64) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(work));
        left >= work
    }

    /// The target of a reference inside the document.
    pub fn target(&self, reference: &str) -> Option<&'s Value> {
        let fragment = reference.strip_prefix('#')?;
        match fragment.contains('%') {
            true => self.root.pointer(&decoded(fragment)?),
            false => self.root.pointer(fragment),
        }
    }

    /// The schemas that apply if all of `schemas` apply: follows references and `allOf`.
    pub fn parts(&self, schemas: &[&'s Value]) -> Parts<'s> {
        let mut out: Parts<'s> = vec![];
        let mut todo: Vec<&'s Value> = schemas.iter().rev().copied().collect();
        while let Some(schema) = todo.pop() {
            let Some(map) = schema.as_object() else {
                continue;
            };
            let known = out.iter().any(|have| std::ptr::eq(*have, map));
            let listed = map.get("enum").and_then(Value::as_array);
            let work = 1 + listed.map_or(0, |list| list.len() as u64 / 16);
            if known || out.len() == MAX_PARTS || !self.spend(work) {
                continue;
            }
            let reference = map.get("$ref").and_then(Value::as_str);
            let alone = self.ref_alone && reference.is_some();
            if !alone {
                let all = map.get("allOf").and_then(Value::as_array);
                todo.extend(all.into_iter().flatten().rev());
                out.push(map);
            }
            todo.extend(reference.and_then(|reference| self.target(reference)));
        }
        out
    }

    /// The types that a value may have.
    pub fn types(&self, parts: &[&'s Map]) -> Types {
        self.types_at(parts, 0)
    }

    fn types_at(&self, parts: &[&'s Map], depth: usize) -> Types {
        let mut types = Types::ANY;
        for part in parts {
            match part.get("type") {
                Some(Value::String(name)) => {
                    types = types.and(Types::named(name).unwrap_or(Types::ANY));
                }
                Some(Value::Array(names)) => {
                    let names = names.iter().filter_map(Value::as_str);
                    let any = names.fold(Types::NONE, |any, name| {
                        any.or(Types::named(name).unwrap_or(Types::ANY))
                    });
                    types = types.and(any);
                }
                _ => {}
            }
            if let Some(values) = part.get("enum").and_then(Value::as_array) {
                let any = values
                    .iter()
                    .fold(Types::NONE, |any, value| any.or(Types::of(value)));
                types = types.and(any);
            }
            if let Some(value) = part.get("const") {
                types = types.and(Types::of(value));
            }
            for branches in unions(part) {
                if depth == MAX_DEPTH || !self.spend(1) {
                    continue;
                }
                let any = branches.iter().fold(Types::NONE, |any, branch| {
                    any.or(match branch {
                        Value::Bool(false) => Types::NONE,
                        _ => self.types_at(&self.parts(&[branch]), depth + 1),
                    })
                });
                types = types.and(any);
            }
        }
        types
    }

    /// Whether a value may be valid.
    pub fn fits(&self, value: &Value, schema: &'s Value, depth: usize) -> bool {
        if depth == 2 * MAX_DEPTH || !self.spend(1) {
            return true;
        }
        if schema == &Value::Bool(false) {
            return false;
        }
        let parts = self.parts(&[schema]);
        if !self.types(&parts).meets(Types::of(value)) || !listed(value, &parts) {
            return false;
        }
        let inside = match value {
            Value::Object(map) => {
                let has = |part: &&Map| {
                    let names = part.get("required").and_then(Value::as_array);
                    let mut names = names.into_iter().flatten().filter_map(Value::as_str);
                    names.all(|name| map.contains_key(name))
                };
                parts.iter().all(has)
                    && map.iter().all(|(key, value)| {
                        let schemas = self.property(&parts, key);
                        schemas
                            .iter()
                            .all(|schema| self.fits(value, schema, depth + 1))
                    })
            }
            Value::Array(list) => list.iter().enumerate().all(|(index, value)| {
                let schemas = self.item(&parts, index);
                schemas
                    .iter()
                    .all(|schema| self.fits(value, schema, depth + 1))
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        };
        inside
            && parts.iter().flat_map(|part| unions(part)).all(|branches| {
                branches
                    .iter()
                    .any(|branch| self.fits(value, branch, depth + 1))
            })
    }

    /// The schemas of a member of an object.
    pub fn property(&self, parts: &[&'s Map], key: &str) -> Vec<&'s Value> {
        let of = |part: &&'s Map| {
            let own = part.get("properties").and_then(|own| own.get(key));
            // Only the validator knows which patterns match.
            own.or_else(|| match part.contains_key("patternProperties") {
                true => None,
                false => part.get("additionalProperties"),
            })
        };
        parts.iter().filter_map(of).collect()
    }

    /// The schemas of an item of an array.
    pub fn item(&self, parts: &[&'s Map], index: usize) -> Vec<&'s Value> {
        let of = |part: &&'s Map| {
            let items = part.get("items");
            // Drafts that ignore siblings of a reference do not have `prefixItems`.
            let prefix = part.get("prefixItems").filter(|_| !self.ref_alone);
            let (first, rest) = match (prefix, items) {
                (Some(Value::Array(first)), _) => (first.as_slice(), items),
                (_, Some(Value::Array(first))) => (first.as_slice(), part.get("additionalItems")),
                _ => (&[][..], items),
            };
            first.get(index).or(rest)
        };
        parts.iter().filter_map(of).collect()
    }
}

/// Percent-decodes a part of a URI.
fn decoded(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut out = parts.next()?.as_bytes().to_vec();
    for part in parts {
        out.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        out.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(out).ok()
}

/// The lists of alternatives, of which one schema must apply.
pub fn unions(part: &Map) -> impl Iterator<Item = &[Value]> {
    let lists = ["anyOf", "oneOf"].into_iter();
    lists
        .filter_map(|word| part.get(word).and_then(Value::as_array))
        .map(Vec::as_slice)
}

/// Whether a value is among the listed values, if any are listed.
pub fn listed(value: &Value, parts: &[&Map]) -> bool {
    parts.iter().all(|part| {
        let list = part.get("enum").and_then(Value::as_array);
        list.is_none_or(|list| list.iter().any(|have| same(have, value)))
            && part.get("const").is_none_or(|have| same(have, value))
    })
}

/// Whether two values are equal: `1`, `1.0` and `1e0` are. The reader bounds the depth of values.
pub fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            let exact = |number: &Number| Decimal::read(number.as_str());
            a == b || exact(a).is_some() && exact(a) == exact(b)
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let has = |(key, a): (&String, &Value)| b.get(key).is_some_and(|b| same(a, b));
            a.len() == b.len() && a.iter().all(has)
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_fits_if_its_schema_may_allow_it() {
        let object = r#"{"properties": {"a": {"type": "integer"}}, "required": ["a"]}"#;
        let list = r#"{"items": {"anyOf": [{"const": "甲"}, {"type": "boolean"}]}}"#;
        for (schema, value, fits) in [
            ("false", "1", false),
            (r#"{"type": "integer"}"#, "1", true),
            (r#"{"type": "integer"}"#, "\"1\"", false),
            (r#"{"enum": [1, "b"]}"#, "\"b\"", true),
            (r#"{"enum": [1, "b"]}"#, "\"c\"", false),
            (object, r#"{"a": 1}"#, true),
            (object, r#"{"a": "1"}"#, false),
            (object, r#"{"b": 1}"#, false),
            (list, r#"["甲", true]"#, true),
            (list, r#"["甲", 1]"#, false),
        ] {
            let root: Value = schema.parse().expect("JSON");
            let value = value.parse().expect("JSON");
            let doc = Doc::new(&root, false, 1000);
            assert_eq!(doc.fits(&value, &root, 0), fits, "{schema} {value:?}");
            // Without work left nothing is refused.
            assert!(Doc::new(&root, false, 0).fits(&value, &root, 0));
        }
    }

    /// A list of 1600 values is 100 steps of work, beside the two for its schema.
    #[test]
    fn long_lists_take_work() {
        let listed: Value = (0..1600).map(Value::from).collect();
        let root = Value::from_iter([("enum".to_owned(), listed)]);
        for (work, fits) in [(101, true), (102, false)] {
            assert_eq!(
                Doc::new(&root, false, work).fits(&"a".into(), &root, 0),
                fits,
                "{work}"
            );
        }
    }

    /// Beyond a depth a value may fit.
    #[test]
    fn deep_values_are_answered() {
        let members = r##"{"type": "object", "properties": {"a": {"$ref": "#"}}}"##;
        let items = r##"{"type": "array", "items": {"$ref": "#"}}"##;
        for (schema, open, close) in [(members, "{\"a\": ", "}"), (items, "[", "]")] {
            let root: Value = schema.parse().expect("JSON");
            for (depth, fits) in [
                (1, false),
                (2 * MAX_DEPTH - 1, false),
                (2 * MAX_DEPTH, true),
            ] {
                let value = format!("{}1{}", open.repeat(depth), close.repeat(depth));
                let value = value.parse().expect("JSON");
                let doc = Doc::new(&root, false, u64::MAX);
                assert_eq!(doc.fits(&value, &root, 0), fits, "{depth} deep");
            }
        }
        let root: Value = r##"{"anyOf": [{"$ref": "#"}]}"##.parse().expect("JSON");
        assert!(Doc::new(&root, false, u64::MAX).fits(&Value::Null, &root, 0));
    }
}
