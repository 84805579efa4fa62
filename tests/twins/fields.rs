//! From written parameters to the arguments of a call: spelling, duplicates, lists, types, issues.

use toolglot::json::{Map, Value};

use super::schema::{self, Typed};
use super::{Outcome, Run, Setup, Torn};

/// A parameter as written, with its value decoded.
#[derive(Clone)]
pub(super) struct Field {
    pub key: String,
    pub text: String,
    /// Whether the format itself says that the text is JSON.
    pub json: bool,
}

impl Field {
    pub fn new(key: &str, text: &str) -> Self {
        Self {
            key: key.to_owned(),
            text: text.to_owned(),
            json: false,
        }
    }
}

/// The arguments of a call, or `None` if a value is malformed. `fold` normalises the names of parameters. Of several the
/// last one counts; the caller has reported the others.
pub(super) fn arguments(
    run: &mut Run<'_>,
    name: &str,
    fields: &[Field],
    fold: &dyn Fn(&str) -> String,
) -> Option<Value> {
    let tool = known_tool(run, name);
    let mut groups: Vec<(String, Vec<&Field>)> = vec![];
    for field in fields {
        let folded = fold(&field.key);
        match groups.iter_mut().find(|(key, _)| *key == folded) {
            Some((_, group)) => group.push(field),
            None => groups.push((folded, vec![field])),
        }
    }
    let mut out = Map::new();
    for (folded, group) in groups {
        let last = group[group.len() - 1];
        let params = tool.map(schema::params).unwrap_or_default();
        let exact = params.iter().find(|(key, _)| *key == last.key);
        let known = exact.or_else(|| params.iter().find(|(key, _)| fold(key) == folded));
        if tool.is_some() && known.is_none() {
            run.warn("unknown_param");
        }
        // Chosen: without a schema the last spelling counts, like the last value.
        let key = known.map_or(last.key.as_str(), |(key, _)| *key);
        let schema = known.map(|(_, schema)| *schema);
        if group.len() > 1 && schema::is_list(schema) {
            let items = schema.and_then(schema::items);
            let list: Option<Vec<Value>> = group
                .iter()
                .map(|field| settle(run, schema::typed(&field.text, items)))
                .collect();
            out.insert(key.to_owned(), Value::Array(list?));
            continue;
        }
        let typed = if last.json {
            serde_json::from_str(&last.text).map_or(Typed::Malformed, Typed::Fits)
        } else {
            schema::typed(&last.text, schema)
        };
        out.insert(key.to_owned(), settle(run, typed)?);
    }
    complain_of_missing(run, tool, &out);
    Some(Value::Object(out))
}

/// The same for the tag dialects, which report issues with each parameter: reports only what is missing.
pub(super) fn arguments_of_tags(run: &mut Run<'_>, name: &str, fields: &[Field]) -> Option<Value> {
    let mut quiet = Run {
        input: run.input,
        tools: run.tools,
        setup: Setup::new(None),
        unclosed_is_text: false,
        outcome: Outcome::default(),
        issues: 0,
        blocks: 0,
        torn: Torn::No,
    };
    let out = arguments(&mut quiet, name, fields, &str::to_owned)?;
    let tool = schema::tool(run.tools, name);
    complain_of_missing(run, tool, out.as_object()?);
    Some(out)
}

/// Reports the issues of one parameter of a tag dialect. Returns whether the call can still be valid.
pub(super) fn observe(run: &mut Run<'_>, call: &str, fields: &[Field], field: &Field) -> bool {
    let Some(tool) = schema::tool(run.tools, call) else {
        return true;
    };
    let params = schema::params(tool);
    let known = params.iter().find(|(key, _)| *key == field.key);
    let Some((_, schema)) = known else {
        run.warn("unknown_param");
        return true;
    };
    let again = schema::is_list(Some(schema)) && fields.iter().any(|f| f.key == field.key);
    let schema = if again {
        schema::items(schema)
    } else {
        Some(*schema)
    };
    settle(run, schema::typed(&field.text, schema)).is_some()
}

/// Whether the schema of that parameter asks for a list.
pub(super) fn is_list(run: &Run<'_>, call: &str, key: &str) -> bool {
    let params = schema::tool(run.tools, call)
        .map(schema::params)
        .unwrap_or_default();
    params
        .iter()
        .any(|(name, schema)| *name == key && schema::is_list(Some(schema)))
}

/// The declared tool; reports an undeclared one.
pub(super) fn known_tool<'a>(run: &mut Run<'a>, name: &str) -> Option<&'a Value> {
    let tool = schema::tool(run.tools, name);
    if run.tools.is_some() && tool.is_none() {
        run.warn("unknown_tool");
    }
    if tool.is_none() && super::is_torn(name) {
        run.warn("malformed_body");
    }
    tool
}

/// Reports what a tool requires and `out` lacks.
pub(super) fn complain_of_missing(run: &mut Run<'_>, tool: Option<&Value>, out: &Map) {
    if tool.is_some_and(|tool| {
        schema::required(tool)
            .iter()
            .any(|key| !out.contains_key(key))
    }) {
        run.warn("missing_required");
    }
}

/// The value, after reporting its issue; `None` if it is malformed.
pub(super) fn settle(run: &mut Run<'_>, typed: Typed) -> Option<Value> {
    match typed {
        Typed::Fits(value) => Some(value),
        Typed::Mismatch(value) => {
            run.warn("type_mismatch");
            Some(value)
        }
        Typed::Malformed => {
            run.error("malformed_value");
            None
        }
    }
}
