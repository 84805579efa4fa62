//! Readers of tool definitions: OpenAI, Anthropic and MCP lists, and plugin manifests.
//!
//! Names, schemas and the order of their keys are preserved. Nothing is fetched: a `$ref` must stay inside its schema.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use toolglot::Limits;
use toolglot::json::{Map, Value, json};
use toolglot::layer::{Fault, SCHEMAS, yaml};

use super::{Example, Implementation, ImplementationKind, Tool, ToolKind};

/// What cannot be read, and where.
///
/// ```
/// let error = toolglot_tools::read::any("tools.json", r#"[{"type": "function", "function": {}}]"#).unwrap_err();
/// assert_eq!(error.origin, "tools.json");
/// assert!(error.path.starts_with("[0]"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{origin}{}{path}: {why}", if .path.is_empty() { "" } else { ": " })]
#[non_exhaustive]
pub struct ReadError {
    /// The file, or the caller's name for it.
    pub origin: String,
    /// Where in it, for example `tools[2].inputSchema`.
    pub path: String,
    /// What is wrong there.
    pub why: String,
}

/// The form of a list of definitions.
///
/// See the example of [`text`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source {
    /// `[{"type": "function", "function": {"name", "description", "parameters"}}]`, or a list of the inner objects. Such a list
    /// declares its tools, so they are callable. Gemini's `parametersJsonSchema` counts like `parameters`, and its lists
    /// `functionDeclarations` inside the list like their items.
    OpenAi,
    /// `[{"name", "description", "input_schema"}]`. Such a list declares its tools, so they are callable.
    Anthropic,
    /// The result of MCP's `tools/list`: `{"tools": [{"name", "description", "inputSchema"}]}`, or the list alone. A server's
    /// tools are not callable by default.
    Mcp,
    /// A plugin manifest with a section `tools`, as YAML or JSON. Each tool states whether it is callable.
    Plugin,
}

/// Reads definitions; their form is detected.
///
/// # Errors
/// The text is neither JSON nor YAML, or not in the form of a [`Source`].
///
/// ```
/// let text = r#"[{"type": "function", "function": {"name": "weather", "description": "Tells the weather"}}]"#;
/// let tools = toolglot_tools::read::any("tools.json", text)?;
/// assert_eq!(tools[0].id, "weather");
/// # Ok::<(), toolglot_tools::ReadError>(())
/// ```
pub fn any(origin: &str, text: &str) -> Result<Vec<Tool>, ReadError> {
    let (source, value) = guessed(origin, text)?;
    from_value(origin, source, &value)
}

fn guessed(origin: &str, text: &str) -> Result<(Source, Value), ReadError> {
    let mut value = document(origin, text)?;
    // A whole response of a server, not only its result.
    if let Some(result) = value
        .get_mut("result")
        .filter(|result| result.get("tools").is_some())
    {
        value = result.take();
    }
    let source = guess(&value).ok_or_else(|| ReadError {
        origin: origin.to_owned(),
        path: String::new(),
        why: "it is no list of tools: an array, or an object with `tools`, is needed".to_owned(),
    })?;
    Ok((source, value))
}

/// The tools of a list, and its problems.
///
/// See the example of [`listing`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Listing {
    /// The form of the list.
    pub source: Source,
    /// The valid definitions, each id once.
    pub tools: Vec<Tool>,
    /// The errors of definitions that are invalid, or repeat an earlier id.
    pub odd: Vec<ReadError>,
    /// Where a valid definition has no schema, but members that were not read: its schema may be among them. Where a page of MCP is not
    /// the last one.
    pub unread: Vec<ReadError>,
}

/// Reads definitions like [`any`], and skips invalid ones.
///
/// ```
/// let text = r#"[{"type": "function", "function": {"name": "weather"}}, {"type": "function", "function": {}}]"#;
/// let listing = toolglot_tools::read::listing("tools.json", text)?;
/// assert_eq!(listing.tools[0].id, "weather");
/// assert_eq!(listing.odd.len(), 1); // the one without a name
/// # Ok::<(), toolglot_tools::ReadError>(())
/// ```
///
/// # Errors
/// The text is neither JSON nor YAML, or not a list of tools.
pub fn listing(origin: &str, text: &str) -> Result<Listing, ReadError> {
    let (source, value) = guessed(origin, text)?;
    read(origin, source, &value)
}

/// Reads definitions in one form.
///
/// ```
/// use toolglot_tools::read::{Source, text};
///
/// let list = r#"{"tools": [{"name": "weather", "inputSchema": {"type": "object"}}]}"#;
/// let tools = text("server", Source::Mcp, list)?;
/// assert!(tools[0].id == "weather" && !tools[0].agent_callable);
/// # Ok::<(), toolglot_tools::ReadError>(())
/// ```
///
/// # Errors
/// The text is neither JSON nor YAML, or not in that form.
pub fn text(origin: &str, source: Source, text: &str) -> Result<Vec<Tool>, ReadError> {
    from_value(origin, source, &document(origin, text)?)
}

/// As [`text`], from a JSON value.
///
/// ```
/// use toolglot::json::json;
/// use toolglot_tools::read::{Source, from_value};
///
/// let list = json!([{"name": "weather", "input_schema": {"type": "object"}}]);
/// assert_eq!(from_value("tools", Source::Anthropic, &list)?[0].id, "weather");
/// # Ok::<(), toolglot_tools::ReadError>(())
/// ```
///
/// # Errors
/// It is not in that form.
pub fn from_value(origin: &str, source: Source, value: &Value) -> Result<Vec<Tool>, ReadError> {
    let list = read(origin, source, value)?;
    list.odd.into_iter().next().map_or(Ok(list.tools), Err)
}

/// The definitions of a list, and its problems.
fn read(origin: &str, source: Source, value: &Value) -> Result<Listing, ReadError> {
    let root = At {
        origin,
        path: String::new(),
        value,
    };
    let list = match (source, value) {
        (Source::Plugin, _) | (_, Value::Object(_)) => root.need("tools")?,
        _ => root.clone(),
    };
    let (mut items, mut odd) = (vec![], vec![]);
    for item in list.items()? {
        let declared = GEMINI.iter().find_map(|key| item.find(key).ok().flatten());
        match declared.map_or_else(|| Ok(vec![item.clone()]), |list| list.items()) {
            Ok(all) => items.extend(all),
            Err(why) => odd.push(why),
        }
    }
    let one = |item: &At<'_>| match source {
        Source::OpenAi | Source::Anthropic => listed(item, true),
        Source::Mcp => listed(item, false),
        Source::Plugin => plugin(item).map(|tool| named_after(value, tool)),
    };
    let (mut tools, mut unread) = (vec![], vec![]);
    let next = value.get("nextCursor").filter(|next| !next.is_null());
    if source == Source::Mcp && next.is_some() {
        let why = "these are some of the server's tools: `nextCursor` leads to the next ones";
        unread.push(root.wrong(why));
    }
    let mut seen = std::collections::HashMap::new();
    for item in &items {
        match one(item) {
            Ok(tool) => match seen.get(&tool.id) {
                Some(first) => {
                    odd.push(item.wrong(format!("{} is the id of {first} too", tool.id)))
                }
                None => {
                    seen.insert(tool.id.clone(), item.path.clone());
                    unread.extend(not_read(item, &tool));
                    tools.push(tool);
                }
            },
            Err(why) => odd.push(why),
        }
    }
    Ok(Listing {
        source,
        tools,
        odd,
        unread,
    })
}

/// Adds the plugin's name as the namespace to a tool of a manifest, if the manifest states the name.
fn named_after(manifest: &Value, mut tool: Tool) -> Tool {
    let plugin = manifest.get("name").and_then(Value::as_str);
    if let Some(plugin) = plugin.filter(|name| !name.is_empty() && !tool.id.contains(':')) {
        tool.id = format!("{plugin}:{}", tool.id);
    }
    tool
}

/// Prefixes the ids of tools with the name of their server: `server:tool`.
///
/// ```
/// use toolglot_tools::{Tool, read};
///
/// assert_eq!(read::prefixed("files", vec![Tool::new("read")])[0].id, "files:read");
/// ```
#[must_use]
pub fn prefixed(server: &str, mut tools: Vec<Tool>) -> Vec<Tool> {
    for tool in &mut tools {
        tool.id = format!("{server}:{}", tool.id);
    }
    tools
}

/// The JSON value of a text, which is JSON or YAML.
///
/// ```
/// let manifest = toolglot_tools::read::document("plugin.yaml", "name: weather\ntools: []")?;
/// assert_eq!(manifest["name"], "weather");
/// # Ok::<(), toolglot_tools::ReadError>(())
/// ```
///
/// # Errors
/// It is neither, or a key occurs twice.
pub fn document(origin: &str, text: &str) -> Result<Value, ReadError> {
    let fail = |why: String| ReadError {
        origin: origin.to_owned(),
        path: String::new(),
        why,
    };
    // Windows writes one.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim_start().starts_with(['{', '[']) {
        let wrong = |error: serde_json::Error| fail(format!("no JSON: {error}"));
        return match serde_json::from_str::<KeysOnce>(text) {
            Err(twice) if twice.is_data() => Err(wrong(twice)),
            // Numbers of any size are read, and what is no JSON is refused, here.
            _ => serde_json::from_str(text).map_err(wrong),
        };
    }
    let mut limits = Limits::default();
    (limits.max_params, limits.max_name) = (u32::MAX, u32::MAX);
    let wrong = |at: usize, why: String| {
        let before = text.chars().take(at);
        let (line, column) = before.fold((1, 1), |(line, column), c| match c {
            '\n' => (line + 1, 1),
            _ => (line, column + 1),
        });
        fail(format!("{why} at line {line} column {column}"))
    };
    let read = yaml(text, &limits, |_| None).map_err(|fault| match fault {
        Fault::Malformed { at, why } => wrong(at, format!("no YAML: {why}")),
        Fault::Limit(_) => fail("it is nested too deep".to_owned()),
    })?;
    if let Some((key, at)) = read.repeated.first() {
        return Err(wrong(*at, format!("the key {key} occurs twice")));
    }
    read.value.ok_or_else(|| fail("it is empty".to_owned()))
}

/// JSON in which no object has a key twice. A map would keep one of the two values, and nobody would learn of the other.
struct KeysOnce;

impl<'de> Deserialize<'de> for KeysOnce {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for KeysOnce {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        let mut keys = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if keys.contains(&key) {
                return Err(A::Error::custom(format!("the key {key} occurs twice")));
            }
            keys.insert(key);
            map.next_value::<Self>()?;
        }
        Ok(self)
    }
}

/// The keys of a list of declarations in one of Gemini's tools.
const GEMINI: [&str; 2] = ["functionDeclarations", "function_declarations"];

fn guess(value: &Value) -> Option<Source> {
    let list = match value {
        Value::Array(list) => list,
        Value::Object(map) => map.get("tools")?.as_array()?,
        _ => return None,
    };
    let has = |key: &str| list.iter().any(|item| item.get(key).is_some());
    Some(if GEMINI.iter().any(|key| has(key)) {
        Source::OpenAi
    } else if has("inputSchema") {
        Source::Mcp
    } else if has("input_schema") {
        Source::Anthropic
    } else if has("id") && value.is_object() {
        Source::Plugin
    } else if value.is_object() && !has("function") && !has("parameters") {
        Source::Mcp
    } else {
        Source::OpenAi
    })
}

/// Reads a tool of a list whose entries, or their `function`, have a name, a description and a schema.
fn listed(item: &At<'_>, callable: bool) -> Result<Tool, ReadError> {
    let map = item.object()?;
    let wraps = map.contains_key("function") && !map.contains_key("name");
    let (item, outer) = match wraps {
        true => (item.need("function")?, Some(item)),
        false => (item.clone(), None),
    };
    let mut tool = Tool::new(item.need("name")?.filled()?);
    tool.display_name = item.text("title")?;
    tool.description = item.text("description")?.unwrap_or_default();
    tool.agent_callable = callable;
    let mut read = vec!["name", "title", "description"];
    for key in SCHEMAS {
        if let Some(schema) = item.find(key)? {
            tool.parameters = Some(schema.schema()?);
            read.push(key);
            break;
        }
    }
    tool.extra = item.rest(&read)?;
    if let Some(outer) = outer {
        let beside = outer.rest(&["type", "function"])?;
        let schema = |key: &str| SCHEMAS.contains(&key);
        let beside = beside.iter().filter(|(key, _)| !schema(key));
        for (key, value) in beside {
            tool.extra.or_insert(key, || value.clone());
        }
    }
    Ok(tool)
}

/// Members of a definition beside its schema.
const ASIDE: [&str; 14] = [
    "type",
    "function",
    "strict",
    "annotations",
    "outputSchema",
    "_meta",
    "icons",
    "execution",
    "execute",
    "cache_control",
    "defer_loading",
    "response",
    "behavior",
    "extra",
];

/// Names the members that were not read of a definition without a schema: without one, any arguments are valid.
fn not_read(item: &At<'_>, tool: &Tool) -> Option<ReadError> {
    let read = |key: &str| {
        ASIDE.contains(&key) || PLUGIN_KEYS.contains(&key) || ["name", "title"].contains(&key)
    };
    let outer = item.value.as_object();
    let inner = item.value.get("function").and_then(Value::as_object);
    let mut keys: Vec<String> = outer
        .into_iter()
        .chain(inner)
        .flatten()
        .filter(|(key, value)| !value.is_null() && (!read(key) || SCHEMAS.contains(&key.as_str())))
        .map(|(key, _)| format!("`{key}`"))
        .collect();
    keys.sort();
    keys.dedup();
    (tool.parameters.is_none() && !keys.is_empty()).then(|| {
        item.wrong(format!(
            "{} has no schema, so any arguments are valid; not read: {}",
            tool.id,
            keys.join(", ")
        ))
    })
}

const PLUGIN_KEYS: &[&str] = &[
    "id",
    "displayName",
    "description",
    "parameters",
    "kind",
    "implementation",
    "agentCallable",
    "aliases",
    "commands",
    "protocolConfig",
    "usage",
    "examples",
    "tags",
    "extra",
];

/// Reads a tool of a manifest.
fn plugin(item: &At<'_>) -> Result<Tool, ReadError> {
    let mut tool = Tool::new(item.need("id")?.filled()?);
    tool.display_name = item.text("displayName")?;
    tool.description = item.text("description")?.unwrap_or_default();
    tool.parameters = item.find("parameters")?.map(|at| at.schema()).transpose()?;
    if let Some(schema) = &mut tool.parameters {
        defaults(schema, 0);
    }
    tool.kind = match item.text("kind")?.as_deref() {
        None | Some("tool") => ToolKind::Tool,
        Some("skill" | "workflow") => ToolKind::Skill,
        Some(_) => return Err(item.need("kind")?.wrong("it is `tool` or `skill`")),
    };
    tool.implementation = item
        .find("implementation")?
        .map(|at| implementation(&at))
        .transpose()?;
    if let Some(at) = item.find("agentCallable")? {
        let Value::Bool(callable) = at.value else {
            return Err(at.wrong("it is true or false"));
        };
        tool.agent_callable = *callable;
    }
    tool.aliases = item.texts("aliases")?;
    tool.tags = item.texts("tags")?;
    tool.usage = item.text("usage")?;
    tool.commands = commands(item)?;
    if let Some(list) = item.find("examples")? {
        let one = |at: &At<'_>| {
            let arguments = at.need("arguments")?;
            Ok(Example {
                description: at.text("description")?,
                arguments: arguments.object()?.clone(),
            })
        };
        tool.examples = list.items()?.iter().map(one).collect::<Result<_, _>>()?;
    }
    tool.extra = item.rest(PLUGIN_KEYS)?;
    if let Some(at) = item.find("extra")? {
        tool.extra.extend(at.object()?.clone());
    }
    Ok(tool)
}

/// Reads `commands: {vcp: "Name"}`, and `protocolConfig: {vcpCommand: "Name"}`, which is equivalent.
fn commands(item: &At<'_>) -> Result<Vec<(String, String)>, ReadError> {
    let mut out = vec![];
    if let Some(at) = item.find("commands")? {
        for key in at.object()?.keys() {
            out.push((key.clone(), at.need(key)?.filled()?.to_owned()));
        }
    }
    if let Some(at) = item.find("protocolConfig")? {
        for key in at.object()?.keys() {
            let Some(dialect) = key.strip_suffix("Command") else {
                return Err(at
                    .need(key)?
                    .wrong("a key here is an id of a dialect and `Command`"));
            };
            out.push((dialect.to_owned(), at.need(key)?.filled()?.to_owned()));
        }
    }
    Ok(out)
}

fn implementation(at: &At<'_>) -> Result<Implementation, ReadError> {
    let (kind, key) = match at.need("type")?.filled()? {
        "node" => (ImplementationKind::Node, "nodeType"),
        "workflow" => (ImplementationKind::Workflow, "workflowId"),
        "service" => (ImplementationKind::Service, "service"),
        _ => {
            return Err(at
                .need("type")?
                .wrong("it is `node`, `workflow` or `service`"));
        }
    };
    let target = at.need(key)?.filled()?.to_owned();
    Ok(Implementation { kind, target })
}

/// The maximum nesting of a schema; deeper ones are rejected.
const MAX_DEPTH: usize = 64;

/// Manifests write `defaultValue` for JSON Schema's `default`.
fn defaults(schema: &mut Value, depth: usize) {
    let Some(map) = schema.as_object_mut().filter(|_| depth < MAX_DEPTH) else {
        return;
    };
    if map.contains_key("defaultValue") && !map.contains_key("default") {
        let old = std::mem::take(map);
        for (key, value) in old {
            let key = if key == "defaultValue" {
                "default".to_owned()
            } else {
                key
            };
            map.insert(key, value);
        }
    }
    for (key, value) in map.iter_mut() {
        match (key.as_str(), value) {
            ("properties" | "$defs" | "definitions", Value::Object(parts)) => {
                parts
                    .values_mut()
                    .for_each(|part| defaults(part, depth + 1));
            }
            ("anyOf" | "oneOf" | "allOf", Value::Array(parts)) => {
                parts.iter_mut().for_each(|part| defaults(part, depth + 1));
            }
            ("items" | "additionalProperties", part) => defaults(part, depth + 1),
            _ => {}
        }
    }
}

/// A position in a document.
#[derive(Clone)]
struct At<'d> {
    origin: &'d str,
    path: String,
    value: &'d Value,
}

impl<'d> At<'d> {
    fn wrong(&self, why: impl Into<String>) -> ReadError {
        ReadError {
            origin: self.origin.to_owned(),
            path: self.path.clone(),
            why: why.into(),
        }
    }

    fn step(&self, step: &str, value: &'d Value) -> At<'d> {
        let dot = if self.path.is_empty() || step.starts_with('[') {
            ""
        } else {
            "."
        };
        At {
            origin: self.origin,
            path: format!("{}{dot}{step}", self.path),
            value,
        }
    }

    fn object(&self) -> Result<&'d Map, ReadError> {
        let map = self.value.as_object();
        map.ok_or_else(|| self.wrong("it must be an object"))
    }

    fn items(&self) -> Result<Vec<At<'d>>, ReadError> {
        let list = self.value.as_array();
        let list = list.ok_or_else(|| self.wrong("it must be an array"))?;
        let items = list.iter().enumerate();
        Ok(items
            .map(|(at, item)| self.step(&format!("[{at}]"), item))
            .collect())
    }

    /// A member of an object; `None` if it is missing or null.
    fn find(&self, key: &str) -> Result<Option<At<'d>>, ReadError> {
        let value = self.object()?.get(key).filter(|value| !value.is_null());
        Ok(value.map(|value| self.step(key, value)))
    }

    fn need(&self, key: &str) -> Result<At<'d>, ReadError> {
        self.find(key)?
            .ok_or_else(|| self.wrong(format!("it has no `{key}`")))
    }

    fn string(&self) -> Result<&'d str, ReadError> {
        self.value
            .as_str()
            .ok_or_else(|| self.wrong("it must be a string"))
    }

    fn filled(&self) -> Result<&'d str, ReadError> {
        match self.string()? {
            "" => Err(self.wrong("it must not be empty")),
            text => Ok(text),
        }
    }

    fn text(&self, key: &str) -> Result<Option<String>, ReadError> {
        let found = self.find(key)?;
        found.map(|at| at.string().map(str::to_owned)).transpose()
    }

    fn texts(&self, key: &str) -> Result<Vec<String>, ReadError> {
        let Some(list) = self.find(key)? else {
            return Ok(vec![]);
        };
        let items = list.items()?;
        items
            .iter()
            .map(|at| at.filled().map(str::to_owned))
            .collect()
    }

    /// The members other than these keys.
    fn rest(&self, keys: &[&str]) -> Result<Map, ReadError> {
        let others = self
            .object()?
            .iter()
            .filter(|(key, _)| !keys.contains(&key.as_str()));
        Ok(others
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect())
    }

    /// The schema of an object, unchanged.
    fn schema(&self) -> Result<Value, ReadError> {
        let map = self.object()?;
        if map
            .get("type")
            .is_some_and(|kind| !super::schema::is_object(kind))
        {
            return Err(self.step("type", self.value).wrong(super::schema::FACADE));
        }
        if let Some(properties) = self.find("properties")? {
            properties.object()?;
        }
        if self.find("required")?.is_some() {
            self.texts("required")?;
        }
        self.refs(0)?;
        Ok(self.value.clone())
    }

    /// Checks that every reference stays inside the document, and that nesting is bounded.
    fn refs(&self, depth: usize) -> Result<(), ReadError> {
        if depth > MAX_DEPTH {
            return Err(self.wrong(format!("a schema may be nested {MAX_DEPTH} deep")));
        }
        match self.value {
            Value::Object(map) => {
                for (key, value) in map {
                    let at = self.step(key, value);
                    match value.as_str() {
                        Some(target) if key == "$ref" && !target.starts_with('#') => {
                            return Err(at.wrong(format!(
                                "{target} is not fetched: a reference must begin with #"
                            )));
                        }
                        _ => at.refs(depth + 1)?,
                    }
                }
            }
            Value::Array(list) => {
                for (index, value) in list.iter().enumerate() {
                    self.step(&format!("[{index}]"), value).refs(depth + 1)?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Writes tools as a manifest, which [`any`] reads as a plugin.
///
/// ```
/// use toolglot_tools::{Tool, read};
///
/// let manifest = read::to_manifest(&[Tool::new("weather").description("Tells the weather").callable(true)]);
/// let tools = read::any("plugin.json", &manifest.to_string())?;
/// assert!(tools[0].id == "weather" && tools[0].agent_callable);
/// # Ok::<(), toolglot_tools::ReadError>(())
/// ```
#[must_use]
pub fn to_manifest<'t>(tools: impl IntoIterator<Item = &'t Tool>) -> Value {
    json!({"tools": tools.into_iter().map(Tool::to_json).collect::<Vec<_>>()})
}

/// Writes a tool in the form of Anthropic's API: `{"name", "description", "input_schema"}`, with its name there.
///
/// ```
/// use toolglot_tools::{Tool, read};
///
/// let tool = Tool::new("weather:get").description("Tells the weather");
/// assert_eq!(read::to_anthropic(&tool, "weather_get")["name"], "weather_get");
/// ```
#[must_use]
pub fn to_anthropic(tool: &Tool, name: &str) -> Value {
    json!({"name": name, "description": tool.description, "input_schema": parameters(tool)})
}

/// The parameters for an API, which requires a schema.
fn parameters(tool: &Tool) -> Value {
    let empty = || json!({"type": "object", "properties": {}});
    tool.parameters.clone().unwrap_or_else(empty)
}

/// Writes a tool in the form of OpenAI's API: `{"type": "function", "function": {..}}`, with its name there.
///
/// ```
/// use toolglot_tools::{Tool, read};
///
/// let tool = Tool::new("weather").description("Tells the weather");
/// assert_eq!(read::to_openai(&tool, "weather")["function"]["name"], "weather");
/// ```
#[must_use]
pub fn to_openai(tool: &Tool, name: &str) -> Value {
    json!({
        "type": "function",
        "function": {"name": name, "description": tool.description, "parameters": parameters(tool)},
    })
}
