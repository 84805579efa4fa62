//! The variables of a tool for templates.

use std::collections::BTreeMap;

use minijinja::Value;
use toolglot::json::{Map, Value as Json, json};
use toolglot::{EncodeCall, EncodeOptions, Encoder};

use crate::template::json::value;
use crate::{Tool, ToolKind};

/// A map for a template.
pub(crate) type Facts = BTreeMap<&'static str, Value>;

/// The variables of a tool. `docs/PROMPTS.md` lists them.
pub(super) fn facts(
    tool: &Tool,
    name: &str,
    knowledge: Option<&str>,
    encoder: &Encoder,
    options: &EncodeOptions,
) -> Facts {
    let empty = || json!({"type": "object", "properties": {}});
    let schema = spelt_out(tool.parameters.clone().unwrap_or_else(empty));
    let function = json!({"name": name, "description": tool.description, "parameters": schema});
    // An id is shown only if no call can do without one.
    let say = |arguments: &Map| {
        let call = |id: Option<&str>| {
            EncodeCall::new(name, Json::Object(arguments.clone()).to_string())
                .id(id.map(str::to_owned))
        };
        let encode = |id| encoder.encode(&[call(id)], options).ok();
        encode(None).or_else(|| encode(Some("call_0")))
    };
    // An example that the dialect cannot express is left out.
    let mut examples = vec![];
    for example in &tool.examples {
        if let Some(call) = say(&example.arguments) {
            let about = example.description.as_deref().unwrap_or_default();
            examples.push((about.to_owned(), call));
        }
    }
    let made = || say(&sample(tool)).unwrap_or_default();
    let example = examples.first().map_or_else(made, |(_, call)| call.clone());
    let shown = |(about, call): (String, String)| {
        Value::from_object(Facts::from([
            ("description", Value::from(about)),
            ("call", Value::from(call)),
        ]))
    };
    let examples: Vec<Value> = examples.into_iter().map(shown).collect();
    let params: Vec<Value> = tool
        .properties()
        .map(|(key, schema)| param(tool, key, schema))
        .collect();
    let text = |text: &str| Value::from(text);
    Facts::from([
        ("name", text(name)),
        ("id", text(&tool.id)),
        (
            "title",
            text(tool.display_name.as_deref().unwrap_or_default()),
        ),
        ("description", text(&tool.description)),
        ("namespace", text(tool.namespace().unwrap_or_default())),
        ("skill", Value::from(tool.kind == ToolKind::Skill)),
        ("usage", text(tool.usage.as_deref().unwrap_or_default())),
        ("knowledge", text(knowledge.unwrap_or_default())),
        ("parameters", value(&schema)),
        ("function", value(&function)),
        (
            "openai",
            value(&json!({"type": "function", "function": function})),
        ),
        ("params", Value::from(params)),
        ("listing", value(&listing(tool))),
        ("example", Value::from(example)),
        ("examples", Value::from(examples)),
    ])
}

/// How deep schemas of properties are looked at.
const MAX_DEPTH: u32 = 64;

/// The schema with the objects that mean the same as `true` and `false` in their places: templates read the members of schemas.
fn spelt_out(mut schema: Json) -> Json {
    spell_out(&mut schema, 0);
    schema
}

fn spell_out(schema: &mut Json, depth: u32) {
    match schema {
        Json::Bool(true) => *schema = json!({}),
        Json::Bool(false) => *schema = json!({"not": {}}),
        Json::Object(map) if depth < MAX_DEPTH => {
            let items = map.get_mut("items").filter(|items| items.is_object());
            items
                .into_iter()
                .for_each(|items| spell_out(items, depth + 1));
            let properties = map.get_mut("properties").and_then(Json::as_object_mut);
            let properties = properties.into_iter().flat_map(Map::values_mut);
            properties.for_each(|property| spell_out(property, depth + 1));
        }
        _ => {}
    }
}

/// The parameters as a list of objects, as in the AIO design.
fn listing(tool: &Tool) -> Json {
    let one = |(key, schema): (&str, &Json)| {
        let mut map = Map::new();
        map.insert("name".to_owned(), key.into());
        map.insert("type".to_owned(), kind(schema).into());
        map.insert("required".to_owned(), tool.requires(key).into());
        let more = [
            ("description", "description"),
            ("defaultValue", "default"),
            ("enum", "enum"),
            ("properties", "properties"),
        ];
        for (name, from) in more {
            if let Some(value) = schema.get(from) {
                map.insert(name.to_owned(), value.clone());
            }
        }
        Json::Object(map)
    };
    let fixed = |(key, schema): &(&str, &Json)| *key == "command" && schema.get("const").is_some();
    tool.properties()
        .filter(|pair| !fixed(pair))
        .map(one)
        .collect()
}

fn param(tool: &Tool, key: &str, schema: &Json) -> Value {
    let schema = &spelt_out(schema.clone());
    let description = schema
        .get("description")
        .and_then(Json::as_str)
        .unwrap_or_default();
    let mut facts = Facts::from([
        ("name", Value::from(key)),
        ("type", Value::from(kind(schema))),
        ("description", Value::from(description)),
        ("required", Value::from(tool.requires(key))),
        ("schema", value(schema)),
    ]);
    if let Some(default) = schema.get("default") {
        facts.insert("default", value(default));
    }
    let listed = schema.get("examples").and_then(|list| list.get(0));
    if let Some(shown) = schema.get("example").or(listed) {
        facts.insert("example", value(shown));
    }
    if let Some(choices) = schema.get("enum") {
        facts.insert("enum", value(choices));
    }
    Value::from_object(facts)
}

/// The type of a parameter for models: `string`, `number`, `boolean`, `object`, `array` and the other names of JSON Schema,
/// several joined by ` or `, `any` if unspecified.
fn kind(schema: &Json) -> String {
    let mut names: Vec<&str> = vec![];
    gather(schema, &mut names, 0);
    if names.is_empty() {
        "any".to_owned()
    } else {
        names.join(" or ")
    }
}

fn gather<'s>(schema: &'s Json, names: &mut Vec<&'s str>, depth: usize) {
    let mut add = |name: &'s str| {
        if !names.contains(&name) {
            names.push(name);
        }
    };
    match schema.get("type") {
        Some(Json::String(name)) => add(name),
        Some(Json::Array(list)) => list.iter().filter_map(Json::as_str).for_each(add),
        _ => {
            let listed = schema
                .get("enum")
                .and_then(Json::as_array)
                .into_iter()
                .flatten();
            listed
                .chain(schema.get("const"))
                .for_each(|value| add(type_of(value)));
            let parts = ["anyOf", "oneOf"].map(|key| schema.get(key).and_then(Json::as_array));
            for part in parts.into_iter().flatten().flatten().filter(|_| depth < 8) {
                gather(part, names, depth + 1);
            }
        }
    }
}

fn type_of(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(number) if number.is_i64() || number.is_u64() => "integer",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

/// Arguments that show the form of a call: the required parameters, or else the first one.
fn sample(tool: &Tool) -> Map {
    let all = || tool.properties();
    let required = all().any(|(key, _)| tool.requires(key));
    let shown = all().enumerate().filter(|(index, (key, _))| {
        if required {
            tool.requires(key)
        } else {
            *index == 0
        }
    });
    shown
        .map(|(_, (key, schema))| (key.to_owned(), sample_value(schema, 0)))
        .collect()
}

fn sample_value(schema: &Json, depth: usize) -> Json {
    let given = ["const", "default", "example"]
        .into_iter()
        .find_map(|key| schema.get(key));
    let listed = ["enum", "examples"]
        .into_iter()
        .filter_map(|key| schema.get(key)?.get(0));
    if let Some(value) = given.or_else(|| listed.into_iter().next()) {
        return value.clone();
    }
    let mut names = vec![];
    gather(schema, &mut names, 0);
    match names.first().copied() {
        Some("integer") => json!(1),
        Some("number") => json!(1.5),
        Some("boolean") => json!(true),
        Some("null") => Json::Null,
        Some("array") => match schema.get("items").filter(|_| depth < 4) {
            Some(items) => json!([sample_value(items, depth + 1)]),
            None => json!([]),
        },
        Some("object") => {
            let parts = schema
                .get("properties")
                .and_then(Json::as_object)
                .filter(|_| depth < 4);
            let parts = parts.into_iter().flatten();
            parts
                .map(|(key, part)| (key.clone(), sample_value(part, depth + 1)))
                .collect()
        }
        _ => json!("..."),
    }
}
