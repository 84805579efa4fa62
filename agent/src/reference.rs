//! References between calls: `{{1.result.path}}` in the arguments of a call is replaced by a part of the result of an earlier call.
//! The number is that call's position in its reply or workflow, from 1; the path selects a part of its result.

use std::collections::BTreeSet;

use toolglot::json::{Map, Value};
use toolglot_tools::outcome::{Content, ToolResult};

/// Maximum bytes of a reference without its closing braces.
const MAX: usize = 256;

struct Reference<'t> {
    /// The reference with its braces.
    whole: &'t str,
    call: usize,
    path: Vec<&'t str>,
}

/// Returns the references in a text, in order. Other uses of braces are text.
fn references(text: &str) -> Vec<Reference<'_>> {
    let mut out = vec![];
    let mut rest = text;
    while let Some(open) = rest.find("{{") {
        let from = &rest[open..];
        let close = from.find("}}").filter(|close| *close <= MAX);
        let read = close.and_then(|close| {
            let mut parts = from[2..close].trim().split('.');
            let call = parts.next()?.parse().ok()?;
            (parts.next()? == "result").then(|| Reference {
                whole: &from[..close + 2],
                call,
                path: parts.collect(),
            })
        });
        rest = &from[read.as_ref().map_or(2, |found| found.whole.len())..];
        out.extend(read);
    }
    out
}

/// Collects the numbers of the calls that a value refers to. Ignores keys of objects.
pub fn referred(value: &Value, out: &mut BTreeSet<usize>) {
    match value {
        Value::String(text) => out.extend(references(text).iter().map(|one| one.call)),
        Value::Array(items) => items.iter().for_each(|item| referred(item, out)),
        Value::Object(map) => map.values().for_each(|value| referred(value, out)),
        _ => {}
    }
}

/// Returns a result as one value: its JSON, its text parsed as JSON if possible, otherwise its text.
pub fn value_of(result: &ToolResult) -> Value {
    let one = |content: &Content| match content {
        Content::Json(value) => value.clone(),
        Content::Text(text) => serde_json::from_str(text).unwrap_or_else(|_| text.as_str().into()),
        Content::Image { data, .. } => data.as_str().into(),
        Content::Resource { uri, text, .. } => text.as_deref().unwrap_or(uri).into(),
        _ => Value::Null,
    };
    match result.content.as_slice() {
        [] => Value::Null,
        [content] => one(content),
        contents => Value::Array(contents.iter().map(one).collect()),
    }
}

/// Replaces references by the results of calls. A string that is only a reference becomes the value itself. In a longer one
/// strings are inserted as they are, and all other values as JSON.
///
/// # Errors
/// A call has no result, or a path does not exist; the message names it.
pub fn resolve(arguments: &mut Map, given: &dyn Fn(usize) -> Option<Value>) -> Result<(), String> {
    arguments
        .iter_mut()
        .try_for_each(|(_, value)| put(value, given))
}

fn put(value: &mut Value, given: &dyn Fn(usize) -> Option<Value>) -> Result<(), String> {
    match value {
        Value::Array(items) => items.iter_mut().try_for_each(|item| put(item, given)),
        Value::Object(map) => resolve(map, given),
        Value::String(text) => {
            let mut out = String::new();
            let mut rest = text.as_str();
            for reference in references(text) {
                let found = find(&reference, given)?;
                if reference.whole.len() == text.len() {
                    *value = found;
                    return Ok(());
                }
                // References are in order, so each one is in the rest.
                let (before, behind) = rest.split_once(reference.whole).unwrap_or((rest, ""));
                out.push_str(before);
                match found.as_str() {
                    Some(text) => out.push_str(text),
                    None => out.push_str(&found.to_string()),
                }
                rest = behind;
            }
            out.push_str(rest);
            *text = out;
            Ok(())
        }
        _ => Ok(()),
    }
}

fn find(
    reference: &Reference<'_>,
    given: &dyn Fn(usize) -> Option<Value>,
) -> Result<Value, String> {
    let whole = reference.whole;
    let mut value = given(reference.call)
        .ok_or_else(|| format!("{whole}: call {} has no result", reference.call))?;
    for part in &reference.path {
        let inner = match &value {
            Value::Object(map) => map.get(part),
            Value::Array(items) => part.parse().ok().and_then(|at: usize| items.get(at)),
            _ => None,
        };
        value = inner.cloned().ok_or_else(|| {
            format!(
                "{whole}: there is no `{part}` in the result of call {}",
                reference.call
            )
        })?;
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolglot::json::json;

    fn resolved(arguments: &str) -> Result<String, String> {
        let mut map: Map = serde_json::from_str(arguments).expect("an object");
        let given = |call: usize| match call {
            1 => Some(json!({"城市": ["北京", {"n": 7}], "text": "a}}b"})),
            2 => Some(json!("whole")),
            _ => None,
        };
        resolve(&mut map, &given)?;
        Ok(Value::Object(map).to_string())
    }

    #[test]
    fn references_are_values_or_text() {
        for (arguments, expect) in [
            (r#"{"a":"{{1.result.城市.1.n}}"}"#, r#"{"a":7}"#),
            (r#"{"a":"{{ 1.result.城市.1 }}"}"#, r#"{"a":{"n":7}}"#),
            (
                r#"{"a":["x {{2.result}}, {{1.result.城市.0}}!"]}"#,
                r#"{"a":["x whole, 北京!"]}"#,
            ),
            (
                r#"{"a":"n={{1.result.城市.1.n}}{{2.result}}"}"#,
                r#"{"a":"n=7whole"}"#,
            ),
            (
                r#"{"a":"{{1.result.text}}{{2.result}}"}"#,
                r#"{"a":"a}}bwhole"}"#,
            ),
            (
                r#"{"a":"{{name}} {{1.x}} {{"}"#,
                r#"{"a":"{{name}} {{1.x}} {{"}"#,
            ),
            (
                r#"{"{{2.result}}":"{{{{2.result}}"}"#,
                r#"{"{{2.result}}":"{{whole"}"#,
            ),
        ] {
            assert_eq!(resolved(arguments).as_deref(), Ok(expect), "{arguments}");
        }
        let wrong = resolved(r#"{"a":"{{3.result}}"}"#).expect_err("a mistake");
        assert_eq!(wrong, "{{3.result}}: call 3 has no result");
        let wrong = resolved(r#"{"a":"{{1.result.b}}"}"#).expect_err("a mistake");
        assert_eq!(
            wrong,
            "{{1.result.b}}: there is no `b` in the result of call 1"
        );
    }
}
