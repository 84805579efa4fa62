//! References between calls: `{{1.result.path}}` in the arguments of a call stands for a part of what an earlier call gave.
//! The number is that of the call in its reply or workflow, from 1; `result` is what it gave, and the path leads into it.

use std::collections::BTreeSet;

use toolglot::json::{Map, Value};
use toolglot_tools::outcome::{Content, ToolResult};

/// Longest text between the braces.
const MAX: usize = 256;

struct Reference<'t> {
    /// With its braces.
    whole: &'t str,
    call: usize,
    path: Vec<&'t str>,
}

/// The references in a text, in order. What is not one is text.
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

/// The numbers of the calls that a value refers to, keys of objects excepted.
pub fn referred(value: &Value, out: &mut BTreeSet<usize>) {
    match value {
        Value::String(text) => out.extend(references(text).iter().map(|one| one.call)),
        Value::Array(items) => items.iter().for_each(|item| referred(item, out)),
        Value::Object(map) => map.values().for_each(|value| referred(value, out)),
        _ => {}
    }
}

/// What a call gave, as one value: its JSON, a text that is JSON read as such, else its text.
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

/// Puts what calls gave in the place of references. A text that is one reference becomes the value itself; in a longer one
/// strings stand as they are, and everything else as JSON.
///
/// # Errors
/// A path leads nowhere; the message says which.
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
                // References come in order, so each is in what is left.
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
        .ok_or_else(|| format!("{whole}: call {} has given nothing", reference.call))?;
    for part in &reference.path {
        let inner = match &value {
            Value::Object(map) => map.get(part),
            Value::Array(items) => part.parse().ok().and_then(|at: usize| items.get(at)),
            _ => None,
        };
        value = inner.cloned().ok_or_else(|| {
            format!(
                "{whole}: there is no `{part}` in what call {} gave",
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
        assert_eq!(wrong, "{{3.result}}: call 3 has given nothing");
        let wrong = resolved(r#"{"a":"{{1.result.b}}"}"#).expect_err("a mistake");
        assert_eq!(wrong, "{{1.result.b}}: there is no `b` in what call 1 gave");
    }
}
