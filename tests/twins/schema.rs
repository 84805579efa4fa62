//! Types by JSON Schema: the conversion of untyped text.
//!
//! Types are tried in the order null, integer, number, boolean, object, array, string; text that fits none is null or
//! stays a string. References and lists of values are not followed.

use std::collections::BTreeSet;

use toolglot::json::Value;

/// How text fits its type.
pub(super) enum Typed {
    Fits(Value),
    /// It stays a string.
    Mismatch(Value),
    /// It begins like the JSON that its type requires, and does not parse.
    Malformed,
}

/// The tool of that name.
pub(super) fn tool<'a>(tools: Option<&'a Value>, name: &str) -> Option<&'a Value> {
    tools?
        .as_array()?
        .iter()
        .find(|tool| tool.get("name").and_then(Value::as_str) == Some(name))
}

/// Name and schema of a tool's parameters.
pub(super) fn params(tool: &Value) -> Vec<(&str, &Value)> {
    let props = tool
        .get("parameters")
        .and_then(|p| p.get("properties"))
        .and_then(Value::as_object);
    props
        .into_iter()
        .flatten()
        .map(|(name, schema)| (name.as_str(), schema))
        .collect()
}

/// The parameters that a tool requires.
pub(super) fn required(tool: &Value) -> Vec<&str> {
    let list = tool
        .get("parameters")
        .and_then(|p| p.get("required"))
        .and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// The parameter that takes a text alone: the only required one, or the only one.
pub(super) fn sole(tool: &Value) -> Option<&str> {
    match (required(tool).as_slice(), params(tool).as_slice()) {
        ([one], _) | ([], [(one, _)]) => Some(one),
        _ => None,
    }
}

/// The names of all types that a schema allows; empty if it does not restrict them.
pub(super) fn types(schema: &Value) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    match schema.get("type") {
        Some(Value::String(name)) => {
            out.insert(plain(name));
        }
        Some(Value::Array(names)) => out.extend(names.iter().filter_map(Value::as_str).map(plain)),
        _ => {
            let listed = schema
                .get("enum")
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            out.extend(
                listed
                    .chain(schema.get("const"))
                    .map(|value| type_of(value).to_owned()),
            );
        }
    }
    if schema.get("nullable") == Some(&Value::Bool(true)) {
        out.insert("null".to_owned());
    }
    for word in ["anyOf", "oneOf", "allOf"] {
        let parts = schema.get(word).and_then(Value::as_array);
        let all: Vec<BTreeSet<String>> = parts.into_iter().flatten().map(types).collect();
        let told: Vec<&BTreeSet<String>> = all.iter().filter(|types| !types.is_empty()).collect();
        let mut any: BTreeSet<String> = told.iter().copied().flatten().cloned().collect();
        match word {
            "allOf" => any.retain(|name| told.iter().all(|types| types.contains(name))),
            // An alternative without a type allows all types.
            _ if told.len() < all.len() => any.clear(),
            _ => {}
        }
        if out.is_empty() {
            out = any;
        } else if !any.is_empty() {
            out.retain(|name| any.contains(name));
        }
    }
    out
}

/// The JSON Schema name of a type.
fn plain(name: &str) -> String {
    match name {
        "int" => "integer",
        "float" => "number",
        "bool" => "boolean",
        "str" => "string",
        "dict" => "object",
        "list" => "array",
        other => other,
    }
    .to_owned()
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if is_whole(n.as_str()) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Whether the schema asks for a list.
pub(super) fn is_list(schema: Option<&Value>) -> bool {
    schema.is_some_and(|schema| types(schema).contains("array"))
}

/// The schema of a list's items.
pub(super) fn items(schema: &Value) -> Option<&Value> {
    let parts = ["anyOf", "oneOf", "allOf"]
        .iter()
        .filter_map(|word| schema.get(word))
        .filter_map(Value::as_array);
    schema
        .get("items")
        .or_else(|| parts.flatten().find_map(items))
}

/// The schema of an object's property.
pub(super) fn prop<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    let parts = ["anyOf", "oneOf", "allOf"]
        .iter()
        .filter_map(|word| schema.get(word))
        .filter_map(Value::as_array);
    let own = schema.get("properties").and_then(|props| props.get(name));
    own.or_else(|| parts.flatten().find_map(|part| prop(part, name)))
}

/// Converts `text` to the type that `schema` asks for.
pub(super) fn typed(text: &str, schema: Option<&Value>) -> Typed {
    let string = || Value::String(text.to_owned());
    let Some(schema) = schema else {
        return Typed::Fits(string());
    };
    let types = types(schema);
    let has = |name: &str| types.contains(name);
    if types.iter().all(|name| name == "string") {
        return Typed::Fits(string());
    }
    let bare = text.trim();
    let json = toolglot_testkit::vectors::value(bare).ok();
    if has("null") && (bare == "null" || bare == "None" && !has("string")) {
        return Typed::Fits(Value::Null);
    }
    let fits = has("number") || (has("integer") && is_whole(bare));
    if let Some(number @ Value::Number(_)) = json.as_ref().filter(|_| fits) {
        return Typed::Fits(number.clone());
    }
    if has("boolean") {
        match bare.to_ascii_lowercase().as_str() {
            "true" => return Typed::Fits(Value::Bool(true)),
            "false" => return Typed::Fits(Value::Bool(false)),
            _ => {}
        }
    }
    for (name, sign) in [("object", '{'), ("array", '[')] {
        if has(name) && bare.starts_with(sign) {
            match json {
                Some(value) => return Typed::Fits(value),
                None if has("string") => {}
                None => return Typed::Malformed,
            }
            break;
        }
    }
    if has("string") {
        return Typed::Fits(string());
    }
    if bare == "null" || bare == "None" {
        return Typed::Mismatch(Value::Null);
    }
    if bare.is_empty() && has("array") {
        return Typed::Fits(Value::Array(vec![]));
    }
    if bare.is_empty() && has("object") {
        return Typed::Fits(Value::Object(toolglot::json::Map::new()));
    }
    if has("array") {
        let inner = items(schema).filter(|inner| !is_list(Some(inner)));
        return match typed(text, inner) {
            Typed::Fits(value) => Typed::Fits(Value::Array(vec![value])),
            Typed::Mismatch(value) => Typed::Mismatch(Value::Array(vec![value])),
            Typed::Malformed => Typed::Malformed,
        };
    }
    Typed::Mismatch(string())
}

/// Whether the value of a JSON number is whole: that of `14.0`, `1e2` and `120e-1` is.
fn is_whole(number: &str) -> bool {
    let number = number.to_ascii_lowercase();
    let (mantissa, exponent) = number.split_once('e').unwrap_or((&number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{}{fraction}", whole.trim_start_matches('-'));
    let zeros = digits.len() - digits.trim_end_matches('0').len();
    let exponent: i64 = exponent.parse().unwrap_or(i64::MAX / 2);
    zeros == digits.len() || exponent + zeros as i64 >= fraction.len() as i64
}
