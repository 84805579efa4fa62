//! The tools on offer, as hints: names, parameter names and types.
//!
//! The engine uses them to give untyped text its type, to spell keys as the schema does, and to warn of tools and
//! parameters that nobody offers. Validation against the whole schema is not done here.

mod coerce;

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::pointer;

pub(crate) use coerce::{Coerced, coerce, is_json};

/// How deep a schema is followed.
const MAX_DEPTH: usize = 32;

/// How many schemas are looked at for one tool: references can make many of few. Of the rest nothing is known.
const MAX_SCHEMAS: u32 = 10_000;

/// A list of tools. Immutable; share it with an `Arc`.
#[derive(Clone, Debug, Default)]
pub struct Tools {
    tools: Vec<Tool>,
    by_name: HashMap<String, usize>,
    fingerprint: u64,
}

/// One tool: its name and its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    pub name: String,
    pub params: Vec<Param>,
    by_name: HashMap<String, usize>,
}

/// One parameter of a tool.
#[derive(Clone, Debug)]
pub(crate) struct Param {
    pub name: String,
    pub schema: Schema,
    pub required: bool,
}

/// What a JSON Schema says of types.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schema {
    pub types: Types,
    pub items: Option<Box<Schema>>,
    pub props: Vec<(String, Schema)>,
}

impl Schema {
    /// Nothing is known.
    pub const UNKNOWN: Self = Self {
        types: Types::none(),
        items: None,
        props: vec![],
    };

    pub fn prop(&self, name: &str) -> Option<&Schema> {
        self.props
            .iter()
            .find(|(have, _)| have == name)
            .map(|(_, schema)| schema)
    }
}

/// A set of JSON types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Types(u8);

impl Types {
    pub const STRING: Self = Self(1);
    pub const INTEGER: Self = Self(2);
    pub const NUMBER: Self = Self(4);
    pub const BOOLEAN: Self = Self(8);
    pub const NULL: Self = Self(16);
    pub const OBJECT: Self = Self(32);
    pub const ARRAY: Self = Self(64);

    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    pub const fn none() -> Self {
        Self(0)
    }

    /// Whether text of this type is the value as it stands: a string, or nothing known.
    pub fn plain(self) -> bool {
        self == Self::default() || self == Self::STRING
    }

    fn named(name: &str) -> Self {
        match name {
            "string" => Self::STRING,
            "integer" => Self::INTEGER,
            "number" => Self::NUMBER,
            "boolean" => Self::BOOLEAN,
            "null" => Self::NULL,
            "object" => Self::OBJECT,
            "array" => Self::ARRAY,
            _ => Self::default(),
        }
    }

    fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(n) if n.is_i64() || n.is_u64() => Self::INTEGER,
            Value::Number(_) => Self::NUMBER,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }
}

/// Why a list of tools cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolsError {
    /// The text is not JSON.
    #[error("the tools are not JSON: {0}")]
    Json(String),
    /// It is JSON, but no array of tools.
    #[error("tools{path}: {why}")]
    Shape {
        /// Where, for example `[2].function.name`.
        path: String,
        /// What is wrong there.
        why: String,
    },
}

impl Tools {
    /// Reads a JSON array of `{"name", "description"?, "parameters": JSON Schema}` or of OpenAI's
    /// `{"type": "function", "function": {...}}`.
    ///
    /// # Errors
    /// The text is not JSON, or not such an array; the message says where.
    pub fn from_json(text: &str) -> Result<Self, ToolsError> {
        let value: Value =
            serde_json::from_str(text).map_err(|e| ToolsError::Json(e.to_string()))?;
        Self::from_value(&value)
    }

    /// The same from a JSON value.
    ///
    /// # Errors
    /// It is not such an array; the message says where.
    pub fn from_value(value: &Value) -> Result<Self, ToolsError> {
        let shape = |path: String, why: &str| ToolsError::Shape {
            path,
            why: why.to_owned(),
        };
        let list = value
            .as_array()
            .ok_or_else(|| shape(String::new(), "an array of tools is needed"))?;
        let mut out = Self::default();
        for (index, item) in list.iter().enumerate() {
            let mut path = format!("[{index}]");
            let item = item
                .as_object()
                .ok_or_else(|| shape(path.clone(), "a tool must be an object"))?;
            let item = match item.get("function") {
                Some(function) if !item.contains_key("name") => {
                    path.push_str(".function");
                    function
                        .as_object()
                        .ok_or_else(|| shape(path.clone(), "it must be an object"))?
                }
                _ => item,
            };
            let name = match item.get("name") {
                Some(Value::String(name)) if !name.is_empty() => name.clone(),
                Some(_) => {
                    return Err(shape(
                        format!("{path}.name"),
                        "it must be a string that is not empty",
                    ));
                }
                None => return Err(shape(path, "it has no `name`")),
            };
            let params = match item.get("parameters") {
                None | Some(Value::Null) => vec![],
                Some(Value::Object(schema)) => params(schema)
                    .map_err(|(key, why)| shape(format!("{path}.parameters{key}"), why))?,
                Some(_) => {
                    return Err(shape(
                        format!("{path}.parameters"),
                        "it must be a JSON Schema object",
                    ));
                }
            };
            if out.by_name.insert(name.clone(), index).is_some() {
                return Err(shape(
                    format!("{path}.name"),
                    &format!("there are two tools called `{name}`"),
                ));
            }
            let by_name = params
                .iter()
                .enumerate()
                .map(|(n, p)| (p.name.clone(), n))
                .collect();
            out.tools.push(Tool {
                name,
                params,
                by_name,
            });
        }
        let mut fnv = crate::dialect::Fnv::default();
        fnv.add(value.to_string().as_bytes());
        out.fingerprint = fnv.0;
        Ok(out)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.name.as_str())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Tool> {
        self.by_name.get(name).map(|index| &self.tools[*index])
    }

    pub(crate) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }
}

impl Tool {
    pub fn param(&self, name: &str) -> Option<&Param> {
        self.by_name.get(name).map(|index| &self.params[*index])
    }

    /// The parameters by their folded names; the first of those that fold alike.
    pub fn folded(&self, fold: impl Fn(&str) -> String) -> HashMap<String, &Param> {
        self.params
            .iter()
            .rev()
            .map(|param| (fold(&param.name), param))
            .collect()
    }
}

type Found<'a> = Result<Vec<Param>, (String, &'a str)>;

fn params(schema: &Map<String, Value>) -> Found<'static> {
    let root = schema;
    let required: Vec<&str> = match schema.get("required") {
        None | Some(Value::Null) => vec![],
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
        Some(_) => return Err((".required".to_owned(), "it must be an array of names")),
    };
    let props = match schema.get("properties") {
        None | Some(Value::Null) => return Ok(vec![]),
        Some(Value::Object(props)) => props,
        Some(_) => return Err((".properties".to_owned(), "it must be an object")),
    };
    let mut left = MAX_SCHEMAS;
    let param = |(name, schema): (&String, &Value)| Param {
        name: name.clone(),
        schema: compile(schema, root, 0, &mut left),
        required: required.contains(&name.as_str()),
    };
    Ok(props.iter().map(param).collect())
}

/// Gathers types over `type`, `enum`, `const`, `anyOf`, `oneOf`, `allOf` and references inside the document. Recursion is
/// over the host's schema, bounded by [`MAX_DEPTH`] and by what is `left` of [`MAX_SCHEMAS`].
fn compile(schema: &Value, root: &Map<String, Value>, depth: usize, left: &mut u32) -> Schema {
    let mut out = Schema::default();
    let Some(map) = schema.as_object() else {
        return out;
    };
    if depth >= MAX_DEPTH || *left == 0 {
        return out;
    }
    *left -= 1;
    if let Some(target) = map
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|r| reference(r, root))
    {
        out = compile(target, root, depth + 1, left);
    }
    match map.get("type") {
        Some(Value::String(name)) => out.types.add(Types::named(name)),
        Some(Value::Array(names)) => names
            .iter()
            .filter_map(Value::as_str)
            .for_each(|n| out.types.add(Types::named(n))),
        _ => {
            let values = map
                .get("enum")
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            values
                .chain(map.get("const"))
                .for_each(|value| out.types.add(Types::of(value)));
        }
    }
    if map.get("nullable") == Some(&Value::Bool(true)) {
        out.types.add(Types::NULL);
    }
    for word in ["anyOf", "oneOf", "allOf"] {
        for part in map
            .get(word)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let part = compile(part, root, depth + 1, left);
            out.types.add(part.types);
            out.items = out.items.take().or(part.items);
            out.props.extend(part.props);
        }
    }
    if let Some(items) = map.get("items") {
        out.items = Some(Box::new(compile(items, root, depth + 1, left)));
    }
    if let Some(props) = map.get("properties").and_then(Value::as_object) {
        out.props.extend(
            props
                .iter()
                .map(|(name, schema)| (name.clone(), compile(schema, root, depth + 1, left))),
        );
    }
    out
}

fn reference<'a>(reference: &str, root: &'a Map<String, Value>) -> Option<&'a Value> {
    let mut parts = reference.strip_prefix("#/")?.split('/');
    let first = root.get(&pointer::key(parts.next()?))?;
    parts.try_fold(first, |value, part| value.get(pointer::key(part)))
}

/// Names longer than this, and names behind so many others, are not compared: suggestions must cost little.
const SUGGEST_LEN: usize = 64;
const SUGGEST_NAMES: usize = 1000;

/// The name that is closest to `wanted`, if one is close enough to be meant.
pub(crate) fn closest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    near(wanted, names)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// The names that are close enough to `wanted` to be meant, the nearest first.
#[cfg(feature = "tools")]
pub(crate) fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found: Vec<(usize, &str)> = near(wanted, names).collect();
    found.sort_by_key(|(distance, _)| *distance);
    found.truncate(SUGGESTIONS);
    found.into_iter().map(|(_, name)| name).collect()
}

/// The most suggestions that are made at once.
#[cfg(feature = "tools")]
const SUGGESTIONS: usize = 3;

/// Names that are a few letters away from `wanted`, case and separators aside.
fn near<'a>(
    wanted: &str,
    names: impl Iterator<Item = &'a str>,
) -> impl Iterator<Item = (usize, &'a str)> {
    let plain = |name: &str| -> String {
        name.chars()
            .filter(|c| c.is_alphanumeric())
            .flat_map(char::to_lowercase)
            .collect()
    };
    let target = plain(wanted);
    let usable = !target.is_empty() && target.len() <= SUGGEST_LEN;
    let limit = target.chars().count() / 3;
    names
        .take(if usable { SUGGEST_NAMES } else { 0 })
        .filter(|name| name.len() <= SUGGEST_LEN)
        .map(move |name| (strsim::damerau_levenshtein(&target, &plain(name)), name))
        .filter(move |(distance, _)| *distance <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_shapes_are_read() {
        let plain = r#"[{"name": "a", "parameters": {"type": "object", "properties": {"n": {"type": ["integer", "null"]}}}}]"#;
        let openai = format!(
            r#"[{{"type": "function", "function": {}}}]"#,
            &plain[1..plain.len() - 1]
        );
        for text in [plain, &openai] {
            let tools = Tools::from_json(text).expect("valid tools");
            let types = tools
                .get("a")
                .and_then(|t| t.param("n"))
                .expect("the parameter")
                .schema
                .types;
            assert!(
                types.has(Types::INTEGER) && types.has(Types::NULL) && !types.has(Types::STRING)
            );
        }
    }

    #[test]
    fn errors_say_where() {
        let message = |text: &str| Tools::from_json(text).expect_err("wrong tools").to_string();
        assert_eq!(message("{}"), "tools: an array of tools is needed");
        assert_eq!(
            message(r#"[{"name": 1}]"#),
            "tools[0].name: it must be a string that is not empty"
        );
        assert_eq!(
            message(r#"[{"function": {}}]"#),
            "tools[0].function: it has no `name`"
        );
        assert!(message("[").starts_with("the tools are not JSON"));
    }

    #[test]
    fn references_and_unions_are_followed() {
        let text = r##"[{"name": "a", "parameters": {"$defs": {"x": {"anyOf": [{"type": "number"}, {"const": null}]},
            "loop": {"$ref": "#/$defs/loop"}},
            "properties": {"p": {"$ref": "#/$defs/x"}, "q": {"$ref": "#/$defs/loop"}, "e": {"enum": ["a", 1]}}}}]"##;
        let tools = Tools::from_json(text).expect("valid tools");
        let types = |name: &str| {
            tools
                .get("a")
                .and_then(|t| t.param(name))
                .expect("the parameter")
                .schema
                .types
        };
        assert!(types("p").has(Types::NUMBER) && types("p").has(Types::NULL));
        assert!(types("q").plain());
        assert!(types("e").has(Types::STRING) && types("e").has(Types::INTEGER));
    }

    /// References that double at every step are followed within a budget.
    #[test]
    fn a_schema_that_grows_is_bounded() {
        let defs: Map<String, Value> = (0..30)
            .map(|n| {
                let next = serde_json::json!({"$ref": format!("#/$defs/d{}", n + 1)});
                (format!("d{n}"), serde_json::json!({"anyOf": [next, next]}))
            })
            .collect();
        let tools = serde_json::json!([{"name": "t", "parameters": {
            "properties": {"n": {"type": "integer"}, "p": {"$ref": "#/$defs/d0"}}, "$defs": defs}}]);
        let tools = Tools::from_value(&tools).expect("valid tools");
        let tool = tools.get("t").expect("the tool");
        let types = tool.param("n").expect("a parameter").schema.types;
        assert!(types.has(Types::INTEGER));
        assert!(tool.param("p").expect("a parameter").schema.types.plain());
    }

    #[test]
    fn suggestions_fold_case_and_separators() {
        assert_eq!(
            closest("playerId", ["player_id", "other"].into_iter()),
            Some("player_id")
        );
        assert_eq!(closest("xyz", ["player_id"].into_iter()), None);
    }
}
