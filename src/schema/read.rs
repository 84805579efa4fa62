//! Normalizes schemas to plain JSON Schema.

use std::collections::HashMap;

use super::types::alias;
use crate::json::{Map, Value};
use crate::pointer::step;

/// The role of a part of a document.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A schema, or a list of them.
    Schema,
    /// Schemas by name.
    Named,
    /// A value that the schema describes.
    Data,
}

impl Place {
    pub fn inside(self, key: &str) -> Self {
        match (self, key) {
            (Self::Data, _)
            | (Self::Schema, "enum" | "const" | "default" | "examples" | "example") => Self::Data,
            (
                Self::Schema,
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas"
                | "dependencies",
            ) => Self::Named,
            (Self::Schema | Self::Named, _) => Self::Schema,
        }
    }
}

/// Normalizes a document to plain JSON Schema, node for node.
pub fn ready(schema: &Value) -> Value {
    let mut found = HashMap::new();
    anchors(schema, Place::Schema, &mut String::new(), &mut found);
    let mut out = schema.clone();
    translate_all(&mut out, Place::Schema, &found);
    out
}

/// Whether siblings of a `$ref` are ignored: up to draft 7.
pub fn ref_alone(schema: &Value) -> bool {
    let name = schema
        .get("$schema")
        .and_then(Value::as_str)
        .unwrap_or_default();
    ["draft-04", "draft-06", "draft-07"]
        .iter()
        .any(|draft| name.contains(draft))
}

/// Collects the pointers of anchors. Recursion is bounded by the depth of the input.
fn anchors(value: &Value, place: Place, path: &mut String, out: &mut HashMap<String, String>) {
    let outer = path.len();
    match value {
        Value::Object(map) => {
            let text = |word: &str| map.get(word).and_then(Value::as_str);
            let own = || ["$id", "id"].into_iter().find_map(text)?.strip_prefix('#');
            if let Some(name) = text("$anchor")
                .or_else(own)
                .filter(|_| place == Place::Schema)
            {
                out.insert(format!("#{name}"), format!("#{path}"));
            }
            for (key, part) in map {
                step(path, key);
                anchors(part, place.inside(key), path, out);
                path.truncate(outer);
            }
        }
        Value::Array(list) => {
            for (index, part) in list.iter().enumerate() {
                step(path, &index.to_string());
                anchors(part, place, path, out);
                path.truncate(outer);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Normalizes every schema of a document. Recursion is bounded by the depth of the input.
fn translate_all(value: &mut Value, place: Place, anchors: &HashMap<String, String>) {
    match value {
        Value::Object(map) => {
            if place == Place::Schema {
                translate(map);
                if let Some(Value::String(target)) = map.get_mut("$ref") {
                    // Pointers can be followed without a search.
                    if let Some(pointer) = anchors.get(target.as_str()) {
                        target.clone_from(pointer);
                    }
                }
            }
            for (key, part) in map {
                match place.inside(key) {
                    Place::Data => {}
                    place => translate_all(part, place, anchors),
                }
            }
        }
        Value::Array(list) => list
            .iter_mut()
            .for_each(|part| translate_all(part, place, anchors)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// OpenAPI's `nullable: true` adds the type null; type names of other languages such as `int` and `dict` are mapped.
fn translate(map: &mut Map) {
    let nullable = map.get("nullable") == Some(&Value::Bool(true));
    let Some(kind) = map.get_mut("type") else {
        return;
    };
    let names = match &mut *kind {
        Value::Array(list) => list.as_mut_slice(),
        one => std::slice::from_mut(one),
    };
    for name in names {
        if let Some(plain) = name.as_str().and_then(alias) {
            *name = plain.into();
        }
    }
    if kind == "any" {
        map.remove("type");
        return;
    }
    if nullable {
        match kind {
            Value::String(one) if one != "null" => {
                *kind = Value::Array(vec![std::mem::take(one).into(), "null".into()]);
            }
            Value::Array(list) if list.iter().all(|name| name != "null") => {
                list.push("null".into());
            }
            _ => {}
        }
        match map.get_mut("enum") {
            Some(Value::Array(values)) if !values.contains(&Value::Null) => {
                values.push(Value::Null);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nullable_adds_null_where_it_is_missing() {
        for (schema, plain) in [
            (
                r#"{"nullable": true, "type": "string", "enum": ["a"]}"#,
                r#"{"nullable": true, "type": ["string", "null"], "enum": ["a", null]}"#,
            ),
            (
                r#"{"nullable": true, "type": ["string", "null"], "enum": [null, "a"]}"#,
                r#"{"nullable": true, "type": ["string", "null"], "enum": [null, "a"]}"#,
            ),
            (
                r#"{"nullable": false, "type": "string", "enum": ["a"]}"#,
                r#"{"nullable": false, "type": "string", "enum": ["a"]}"#,
            ),
        ] {
            let read = |text: &str| text.parse::<Value>().expect("JSON");
            assert_eq!(ready(&read(schema)), read(plain), "{schema}");
        }
    }
}
