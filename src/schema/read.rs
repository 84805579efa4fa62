//! Normalizes schemas to plain JSON Schema.

use std::collections::HashMap;

use super::types::alias;
use crate::json::{Map, Number, Value};
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

/// What counts items and characters; some write these numbers as strings, as JSON made from 64-bit integers has them.
const COUNTS: [&str; 6] = [
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "minProperties",
    "maxProperties",
];

/// OpenAPI's `nullable: true` adds the type null; type names of other languages such as `int` and `dict` are mapped. Members
/// that mean nothing where they are, or that older drafts spell otherwise, become what is meant.
fn translate(map: &mut Map) {
    // A serializer writes null for what is not set.
    map.retain(|key, value| !value.is_null() || matches!(key, "const" | "default"));
    for word in COUNTS {
        if let Some(value) = map.get_mut(word)
            && let Some(number) = value.as_str().and_then(Number::read)
        {
            *value = Value::Number(number);
        }
    }
    for (word, limit) in [
        ("exclusiveMinimum", "minimum"),
        ("exclusiveMaximum", "maximum"),
    ] {
        match map.get(word) {
            Some(Value::Bool(true)) => {
                map.remove(word);
                if let Some(limit) = map.remove(limit) {
                    map.insert(word.to_owned(), limit);
                }
            }
            Some(Value::Bool(false)) => {
                map.remove(word);
            }
            _ => {}
        }
    }
    // Draft 3 says in the parameter that it is required.
    if matches!(map.get("required"), Some(Value::Bool(_))) {
        map.remove("required");
    }
    let members = map.get("properties").and_then(Value::as_object);
    let required = |(name, part): (&String, &Value)| {
        (part.get("required") == Some(&Value::Bool(true))).then(|| Value::from(name.as_str()))
    };
    let named: Vec<Value> = members.into_iter().flatten().filter_map(required).collect();
    if !named.is_empty() {
        match map.get_mut("required") {
            Some(Value::Array(list)) => list.extend(named),
            _ => {
                map.insert("required".to_owned(), Value::Array(named));
            }
        }
    }
    let nullable = map.get("nullable") == Some(&Value::Bool(true));
    if nullable && !map.contains_key("type") {
        or_null(map);
        return;
    }
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

/// Lets a schema without a type be null.
fn or_null(map: &mut Map) {
    let null = || Value::from_iter([("type".to_owned(), Value::from("null"))]);
    if let Some(Value::Array(branches)) = map.get_mut("anyOf") {
        branches.push(null());
    } else if let Some(Value::Array(values)) = map.get_mut("enum") {
        if !values.contains(&Value::Null) {
            values.push(Value::Null);
        }
    } else if ["$ref", "allOf", "oneOf", "const"]
        .iter()
        .any(|word| map.contains_key(word))
    {
        map.remove("nullable");
        let own = Value::Object(std::mem::take(map));
        map.insert("anyOf".to_owned(), Value::Array(vec![own, null()]));
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
            (
                r#"{"nullable": true, "anyOf": [{"type": "string"}]}"#,
                r#"{"nullable": true, "anyOf": [{"type": "string"}, {"type": "null"}]}"#,
            ),
            (
                r#"{"nullable": true, "enum": ["a"]}"#,
                r#"{"nullable": true, "enum": ["a", null]}"#,
            ),
            (
                r##"{"nullable": true, "$ref": "#/$defs/a"}"##,
                r##"{"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}"##,
            ),
            (r#"{"nullable": true}"#, r#"{"nullable": true}"#),
        ] {
            let read = |text: &str| text.parse::<Value>().expect("JSON");
            let first = ready(&read(schema));
            assert_eq!(first, read(plain), "{schema}");
        }
    }

    #[test]
    fn other_spellings_become_what_is_meant() {
        for (schema, plain) in [
            (
                r#"{"minItems": "1", "maxLength": "x"}"#,
                r#"{"minItems": 1, "maxLength": "x"}"#,
            ),
            (
                r#"{"minimum": 0, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": false}"#,
                r#"{"exclusiveMinimum": 0, "maximum": 9}"#,
            ),
            (
                r#"{"description": null, "items": null, "default": null, "const": null}"#,
                r#"{"default": null, "const": null}"#,
            ),
            (
                r#"{"properties": {"a": {"required": true}, "b": {"required": false}}}"#,
                r#"{"properties": {"a": {}, "b": {}}, "required": ["a"]}"#,
            ),
            (
                r#"{"properties": {"a": {"required": true}}, "required": ["b"]}"#,
                r#"{"properties": {"a": {}}, "required": ["b", "a"]}"#,
            ),
            (
                r#"{"properties": {"required": {"type": "boolean"}}}"#,
                r#"{"properties": {"required": {"type": "boolean"}}}"#,
            ),
        ] {
            let read = |text: &str| text.parse::<Value>().expect("JSON");
            assert_eq!(ready(&read(schema)), read(plain), "{schema}");
        }
    }
}
