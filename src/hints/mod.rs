//! The declared tools, as hints: names, parameter names and types.
//!
//! The engine uses them to give untyped text its type, to correct the spelling of keys, and to warn about undeclared tools and
//! parameters. It does not validate against the whole schema.

use std::collections::HashMap;

use crate::json::{Map, Value};
use crate::schema::{Doc, open, others, params, ready, ref_alone};

pub use crate::schema::{Coerced, Param, Schema, Types, coerce, is_json, may_be_json};

/// The budget for reading the schema of one tool; what exceeds it counts as unknown.
const WORK: u64 = 200_000;

/// A list of tools. Immutable; share it with an `Arc`.
///
/// ```
/// use toolglot::Tools;
///
/// let tools = Tools::from_json(r#"[{"name": "f", "parameters": {"properties": {"n": {"type": "integer"}}}}]"#)?;
/// assert_eq!((tools.names().next(), tools.len()), (Some("f"), 1));
/// assert!(tools.issues().is_empty() && !tools.is_empty());
/// # Ok::<(), toolglot::ToolsError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Tools {
    tools: Vec<Tool>,
    by_name: HashMap<String, usize>,
    fingerprint: u64,
    issues: Vec<ToolsError>,
}

/// One tool: its name and its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    pub name: String,
    pub params: Vec<Param>,
    /// Whether its schema allows other parameters.
    pub open: bool,
    /// What these are.
    others: Option<Schema>,
    by_name: HashMap<String, usize>,
}

/// Why a list of tools cannot be read.
///
/// ```
/// use toolglot::{Tools, ToolsError};
///
/// assert!(matches!(Tools::from_json("[{"), Err(ToolsError::Json(_))));
/// let error = Tools::from_json(r#"[{"description": "nameless"}]"#).unwrap_err();
/// assert!(error.to_string().starts_with("tools[0]"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolsError {
    /// The text is not JSON.
    #[error("the tools are not JSON: {0}")]
    Json(String),
    /// It is JSON, but not an array of tools.
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
    /// An invalid definition, or one that repeats an earlier name, is left out, and invalid parts of a schema are ignored; the
    /// others count. [`issues`](Self::issues) lists them.
    ///
    /// # Errors
    /// The text is not JSON, not an array, or an array of definitions none of which can be read.
    pub fn from_json(text: &str) -> Result<Self, ToolsError> {
        // Some editors begin files with it.
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        let value: Value =
            serde_json::from_str(text).map_err(|e| ToolsError::Json(e.to_string()))?;
        Self::from_value(&value)
    }

    /// As [`from_json`](Self::from_json), from a JSON value.
    ///
    /// # Errors
    /// It is not an array, or an array of definitions none of which can be read.
    pub fn from_value(value: &Value) -> Result<Self, ToolsError> {
        let list = value.as_array().ok_or_else(|| ToolsError::Shape {
            path: String::new(),
            why: "an array of tools is needed".to_owned(),
        })?;
        let mut out = Self::default();
        for (index, item) in list.iter().enumerate() {
            out.add(format!("[{index}]"), item);
        }
        // A list of only unreadable definitions is not meant as an empty list.
        if let (true, Some(odd)) = (out.tools.is_empty(), out.issues.first()) {
            return Err(odd.clone());
        }
        let mut fnv = toolglot_scan::Fnv::default();
        fnv.add(value.to_string().as_bytes());
        out.fingerprint = fnv.0;
        Ok(out)
    }

    /// What was left out of the list, or ignored, and where.
    #[must_use]
    pub fn issues(&self) -> &[ToolsError] {
        &self.issues
    }

    fn odd(&mut self, path: String, why: impl Into<String>) {
        let why = why.into();
        self.issues.push(ToolsError::Shape { path, why });
    }

    fn add(&mut self, mut path: String, item: &Value) {
        let Some(mut item) = item.as_object() else {
            return self.odd(path, "a tool must be an object");
        };
        if let Some(function) = item.get("function").filter(|_| !item.contains_key("name")) {
            path.push_str(".function");
            match function.as_object() {
                Some(function) => item = function,
                None => return self.odd(path, "it must be an object"),
            }
        }
        let name = match item.get("name") {
            Some(Value::String(name)) if !name.is_empty() => name.clone(),
            Some(_) => {
                return self.odd(
                    format!("{path}.name"),
                    "it must be a string that is not empty",
                );
            }
            None => return self.odd(path, "it has no `name`"),
        };
        if self.by_name.contains_key(&name) {
            return self.odd(
                format!("{path}.name"),
                format!("there are two tools called `{name}`; the first counts"),
            );
        }
        let key = SCHEMAS
            .into_iter()
            .find(|key| item.get(key).is_some_and(|schema| !schema.is_null()));
        let (params, open, others) = match key.map(|key| (key, &item[key])) {
            None => (vec![], false, None),
            Some((key, Value::Object(schema))) => self.parameters(&format!("{path}.{key}"), schema),
            Some((key, _)) => {
                self.odd(format!("{path}.{key}"), "it must be a JSON Schema object");
                (vec![], true, None)
            }
        };
        let by_name = params
            .iter()
            .enumerate()
            .map(|(n, p)| (p.name.clone(), n))
            .collect();
        self.by_name.insert(name.clone(), self.tools.len());
        self.tools.push(Tool {
            name,
            params,
            open,
            others,
            by_name,
        });
    }

    fn parameters(&mut self, path: &str, schema: &Map) -> (Vec<Param>, bool, Option<Schema>) {
        for (key, wanted, fits) in [
            (
                "properties",
                "it must be an object",
                Value::is_object as fn(&Value) -> bool,
            ),
            ("required", "it must be an array of names", Value::is_array),
        ] {
            if schema
                .get(key)
                .is_some_and(|value| !value.is_null() && !fits(value))
            {
                self.odd(format!("{path}.{key}"), wanted);
            }
        }
        let root = ready(&Value::Object(schema.clone()));
        let doc = Doc::new(&root, ref_alone(&root), WORK);
        (params(&doc), open(&doc), others(&doc))
    }

    /// The number of tools.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether there are no tools.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.name.as_str())
    }

    /// The tool that the text inside a JSON string names, which has not been read yet.
    pub(crate) fn in_json(&self, name: &[u8]) -> Option<&Tool> {
        let name = std::str::from_utf8(name).ok()?;
        if !name.contains('\\') {
            return self.get(name);
        }
        let read = serde_json::from_str::<String>(&format!("\"{name}\""));
        self.get(read.as_deref().unwrap_or(name))
    }

    /// Whether a tool has this name or, if it is still `open`, one that begins with it.
    pub(crate) fn offers(&self, name: &[u8], open: bool) -> bool {
        match open {
            true => self.names().any(|tool| tool.as_bytes().starts_with(name)),
            false => std::str::from_utf8(name).is_ok_and(|name| self.get(name).is_some()),
        }
    }

    /// Whether a tool has a parameter of that name.
    pub(crate) fn takes(&self, key: &str) -> bool {
        self.tools.iter().any(|tool| tool.param(key).is_some())
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

    /// The schema of a parameter that it names, or of others.
    pub fn schema(&self, name: &str) -> Option<&Schema> {
        let named = self.param(name).map(|param| &param.schema);
        named.or(self.others.as_ref())
    }

    /// The parameter that takes a text alone: the only required one, or the only one.
    pub fn sole(&self) -> Option<&Param> {
        let mut required = self.params.iter().filter(|param| param.required);
        match (required.next(), required.next(), self.params.as_slice()) {
            (Some(one), None, _) | (None, None, [one]) => Some(one),
            _ => None,
        }
    }

    /// The parameters by their folded names; of those that fold alike, the first.
    pub fn folded(&self, fold: impl Fn(&str) -> String) -> HashMap<String, &Param> {
        self.params
            .iter()
            .rev()
            .map(|param| (fold(&param.name), param))
            .collect()
    }
}

/// The member that holds a definition's schema: in OpenAI's, Anthropic's, MCP's and Gemini's form. The first one counts.
pub const SCHEMAS: [&str; 5] = [
    "parameters",
    "input_schema",
    "inputSchema",
    "parametersJsonSchema",
    "parameters_json_schema",
];

/// Names longer than this, and names after this many others, are not compared, to bound the cost of suggestions.
const SUGGEST_LEN: usize = 64;
const SUGGEST_NAMES: usize = 1000;

/// Returns the name closest to `wanted`, if one is close enough.
pub fn closest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    near(wanted, names)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Returns the names close enough to `wanted`, nearest first.
pub fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found: Vec<(usize, &str)> = near(wanted, names).collect();
    found.sort_by_key(|(distance, _)| *distance);
    found.truncate(SUGGESTIONS);
    found.into_iter().map(|(_, name)| name).collect()
}

/// The maximum number of suggestions at once.
const SUGGESTIONS: usize = 3;

/// Names within a few edits of `wanted`, ignoring case and separators.
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
        let wrong = |text: &str| Tools::from_json(text).expect_err("wrong tools").to_string();
        assert_eq!(wrong("{}"), "tools: an array of tools is needed");
        assert_eq!(
            wrong(r#"[{"name": 1}, {"name": 2}]"#),
            "tools[0].name: it must be a string that is not empty"
        );
        assert_eq!(
            wrong(r#"[{"function": {}}]"#),
            "tools[0].function: it has no `name`"
        );
        assert!(wrong("[").starts_with("the tools are not JSON"));
        assert!(Tools::from_json("[]").expect("no tools").is_empty());
    }

    /// Invalid definitions are ignored, and the others count.
    #[test]
    fn odd_definitions_cost_only_themselves() {
        let text = r#"[{"name": "a", "parameters": {"properties": {"n": {"type": "int"}}}}, 5, {"name": "a"}, {"name": ""},
            {"type": "function", "function": null}, {"name": "b", "parameters": []},
            {"name": "c", "parameters": {"properties": [], "required": "x"}},
            {"name": "d", "input_schema": {"properties": {"n": {"type": "bool"}}, "required": ["n"]}}]"#;
        let tools = Tools::from_json(text).expect("a list");
        assert_eq!(tools.names().collect::<Vec<_>>(), ["a", "b", "c", "d"]);
        let d = tools
            .get("d")
            .and_then(|tool| tool.param("n"))
            .expect("the parameter");
        assert!(d.required && d.schema.types == Types::BOOLEAN);
        let issues: Vec<String> = tools.issues().iter().map(ToString::to_string).collect();
        assert_eq!(
            issues,
            [
                "tools[1]: a tool must be an object",
                "tools[2].name: there are two tools called `a`; the first counts",
                "tools[3].name: it must be a string that is not empty",
                "tools[4].function: it must be an object",
                "tools[5].parameters: it must be a JSON Schema object",
                "tools[6].parameters.properties: it must be an object",
                "tools[6].parameters.required: it must be an array of names",
            ]
        );
    }

    /// As zod and pydantic write them.
    #[test]
    fn roots_are_followed() {
        for (schema, want) in [
            (
                r##"{"$ref": "#/$defs/P", "$defs": {"P": {"properties": {"n": {"type": "integer"}}}}}"##,
                Types::INTEGER,
            ),
            (
                r##"{"$ref": "#/definitions/P", "$schema": "http://json-schema.org/draft-07/schema#",
                "definitions": {"P": {"properties": {"n": {"type": "integer"}}}}}"##,
                Types::INTEGER,
            ),
            (
                r##"{"allOf": [{"properties": {"n": {"type": ["integer", "string"]}}}, {"properties": {"n": {"type": "integer"}}}]}"##,
                Types::INTEGER,
            ),
            (
                r##"{"anyOf": [{"properties": {"n": {"type": "integer"}}}, {"properties": {"n": {"type": "null"}, "o": {}}}]}"##,
                Types::INTEGER.or(Types::NULL),
            ),
            (
                r##"{"oneOf": [{"$ref": "#/$defs/A"}, {"properties": {"k": {"const": "b"}}}],
                "$defs": {"A": {"properties": {"k": {"const": "a"}, "n": {"type": "boolean"}}}}}"##,
                Types::BOOLEAN,
            ),
            (
                r##"{"properties": {"n": {"$ref": "#/$defs/E"}}, "$defs": {"E": {"enum": [1, 2]}}}"##,
                Types::INTEGER,
            ),
            (
                r##"{"properties": {"n": {"allOf": [{"$ref": "#/$defs/E"}], "default": 1}}, "$defs": {"E": {"type": "int"}}}"##,
                Types::INTEGER,
            ),
            (
                r##"{"properties": {"n": {"anyOf": [{"type": "number"}, {"type": "null"}], "default": null}}}"##,
                Types::NUMBER.or(Types::NULL),
            ),
            (
                r##"{"properties": {"n": {"type": "string", "anyOf": [{"type": "string"}, {"type": "null"}]}}}"##,
                Types::STRING,
            ),
            (
                r##"{"properties": {"n": {"type": "INTEGER", "nullable": true}}}"##,
                Types::INTEGER.or(Types::NULL),
            ),
            (
                r##"{"properties": {"n": {"$ref": "#n"}}, "$defs": {"x": {"$anchor": "n", "type": "boolean"}}}"##,
                Types::BOOLEAN,
            ),
        ] {
            let text = format!("[{{\"name\": \"f\", \"parameters\": {schema}}}]");
            let tools = Tools::from_json(&text).expect("a list");
            let param = tools
                .get("f")
                .and_then(|tool| tool.param("n"))
                .expect(schema);
            assert_eq!(param.schema.types, want, "{schema}");
        }
    }

    #[test]
    fn parameters_without_a_schema_of_their_own_have_one() {
        let number = r#"{"type": "integer"}"#;
        for (schema, name, types) in [
            (
                format!(r#"{{"additionalProperties": {number}}}"#),
                "x",
                Some(Types::INTEGER),
            ),
            (
                format!(r#"{{"additionalProperties": {number}, "patternProperties": {{}}}}"#),
                "x",
                None,
            ),
            (r#"{"additionalProperties": true}"#.to_owned(), "x", None),
            (
                format!(r#"{{"if": {{}}, "then": {{"properties": {{"n": {number}}}}}}}"#),
                "n",
                Some(Types::INTEGER),
            ),
            (
                format!(r#"{{"dependentSchemas": {{"b": {{"properties": {{"n": {number}}}}}}}}}"#),
                "n",
                Some(Types::INTEGER),
            ),
        ] {
            let text = format!("[{{\"name\": \"f\", \"parameters\": {schema}}}]");
            let tools = Tools::from_json(&text).expect("a list");
            let tool = tools.get("f").expect("f");
            let found = tool.schema(name).map(|schema| schema.types);
            assert_eq!(found, types, "{schema}");
        }
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

    /// References that double at every step are followed only within a budget.
    #[test]
    fn a_schema_that_grows_is_bounded() {
        let defs: Map = (0..30)
            .map(|n| {
                let next = crate::json::json!({"$ref": format!("#/$defs/d{}", n + 1)});
                (format!("d{n}"), crate::json::json!({"anyOf": [next, next]}))
            })
            .collect();
        let tools = crate::json::json!([{"name": "t", "parameters": {
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
