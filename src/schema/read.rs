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

/// Normalizes a document to plain JSON Schema, node for node, but for schemas with `nullable` and no type of their own: some become one of
/// two alternatives.
pub fn ready(schema: &Value) -> Value {
    let mut found = HashMap::new();
    anchors(schema, Place::Schema, &mut String::new(), &mut found);
    let mut out = schema.clone();
    let draft4 = names_draft(schema, &["draft-04"]);
    translate_all(&mut out, Place::Schema, &found, draft4);
    out
}

/// Whether siblings of a `$ref` are ignored: up to draft 7.
pub fn ref_alone(schema: &Value) -> bool {
    names_draft(schema, &["draft-04", "draft-06", "draft-07"])
}

/// Whether `$schema` names one of these drafts.
fn names_draft(schema: &Value, drafts: &[&str]) -> bool {
    let name = schema.get("$schema").and_then(Value::as_str);
    let name = name.unwrap_or_default();
    drafts.iter().any(|draft| name.contains(draft))
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
fn translate_all(value: &mut Value, place: Place, anchors: &HashMap<String, String>, draft4: bool) {
    match value {
        Value::Object(map) => {
            if place == Place::Schema {
                translate(map, draft4);
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
                    place => translate_all(part, place, anchors, draft4),
                }
            }
        }
        Value::Array(list) => list
            .iter_mut()
            .for_each(|part| translate_all(part, place, anchors, draft4)),
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

/// Members that mean nothing where they are, or that other drafts and generators spell otherwise, become what is meant; type
/// names of other languages such as `int` and `dict` are mapped, and OpenAPI's `nullable: true` adds null.
fn translate(map: &mut Map, draft4: bool) {
    // A serializer writes null for what is not set.
    map.retain(|key, value| !value.is_null() || matches!(key, "const" | "default"));
    for word in COUNTS {
        if let Some(value) = map.get_mut(word)
            && let Some(number) = value.as_str().and_then(Number::read)
        {
            *value = Value::Number(number);
        }
    }
    if !draft4 {
        exclusive(map, "exclusiveMinimum", "minimum");
        exclusive(map, "exclusiveMaximum", "maximum");
    }
    required(map);
    types(map);
    if map.get("nullable") == Some(&Value::Bool(true)) {
        or_null(map);
    }
}

/// Draft 4 says beside a bound whether it is exclusive.
fn exclusive(map: &mut Map, word: &str, bound: &str) {
    let Some(Value::Bool(is)) = map.get(word) else {
        return;
    };
    let is = *is;
    map.remove(word);
    if is && let Some(limit) = map.remove(bound) {
        map.insert(word.to_owned(), limit);
    }
}

/// Draft 3 says in a parameter that it is required.
fn required(map: &mut Map) {
    if matches!(map.get("required"), Some(Value::Bool(_))) {
        map.remove("required");
    }
    let members = map.get("properties").and_then(Value::as_object);
    let required = |(name, part): (&String, &Value)| {
        (part.get("required") == Some(&Value::Bool(true))).then(|| Value::from(name.as_str()))
    };
    let named: Vec<Value> = members.into_iter().flatten().filter_map(required).collect();
    match map.get_mut("required") {
        Some(Value::Array(list)) => list.extend(named),
        _ if named.is_empty() => {}
        _ => {
            map.insert("required".to_owned(), Value::Array(named));
        }
    }
}

fn types(map: &mut Map) {
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
    }
}

/// Lets a value be null, where the schema says what it is.
fn or_null(map: &mut Map) {
    let null = || Value::from_iter([("type".to_owned(), Value::from("null"))]);
    let typed = map.contains_key("type");
    match map.get_mut("type") {
        Some(kind @ Value::String(_)) if *kind != "null" => {
            *kind = Value::Array(vec![kind.take(), "null".into()]);
        }
        Some(Value::Array(list)) if list.iter().all(|name| name != "null") => {
            list.push("null".into());
        }
        _ => {}
    }
    if !typed && let Some(Value::Array(branches)) = map.get_mut("anyOf") {
        branches.push(null());
    } else if let Some(Value::Array(values)) = map.get_mut("enum") {
        if !values.contains(&Value::Null) {
            values.push(Value::Null);
        }
    } else if !typed && ALTERNATIVE.iter().any(|word| map.contains_key(word)) {
        map.remove("nullable");
        let own = Value::Object(std::mem::take(map));
        map.insert("anyOf".to_owned(), Value::Array(vec![own, null()]));
    }
}

/// What says what a value is and cannot be extended: null becomes an alternative to it.
const ALTERNATIVE: [&str; 4] = ["$ref", "allOf", "oneOf", "const"];

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
            // Draft 4 itself has it.
            (
                r#"{"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 0, "exclusiveMinimum": true}"#,
                r#"{"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 0, "exclusiveMinimum": true}"#,
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
