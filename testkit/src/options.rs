//! Parser options as JSON: the `options` of a conformance vector and of a batch record.
//!
//! The keys are the fields of [`toolglot::Options`] in their serde form, except `tools`, which vectors and records have a place
//! of their own for; and `switches`, `["vcp.fuzzy", ...]`, or `"vcp.fuzzy": true`. A new option is read here without a change.
//!
//! An unknown key or word is an error: otherwise a typo would silently select the default.

use toolglot::Options;
use toolglot::json::{Map, Value};

/// Options of a stream, and switches, which belong to the set.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Options of the stream; the defaults where the JSON gives none.
    pub options: Options,
    /// Sorted `(dialect, switch)` pairs without duplicates.
    pub switches: Vec<(String, String)>,
}

/// What is wrong with options.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("options.{key}: {why}")]
pub struct OptionsError {
    /// The key concerned.
    pub key: String,
    /// What is wrong with it.
    pub why: String,
}

fn wrong<T>(key: &str, why: impl Into<String>) -> Result<T, OptionsError> {
    Err(OptionsError {
        key: key.to_owned(),
        why: why.into(),
    })
}

/// Reads options from a JSON object.
///
/// # Errors
/// A key is unknown or its value is unusable.
pub fn read(map: &Map) -> Result<ReadOptions, OptionsError> {
    let mut out = ReadOptions::default();
    let mut fields = Map::new();
    for (key, value) in map {
        match key.as_str() {
            "switches" => out.switches.extend(switches(value)?),
            "tools" => return wrong(key, "declared tools stand beside the options, not in them"),
            _ if key.contains('.') => {
                let pair = switch(key).or_else(|why| wrong(key, why))?;
                match value.as_bool() {
                    Some(true) => out.switches.push(pair),
                    Some(false) => {}
                    None => return wrong(key, "true or false is needed"),
                }
            }
            _ => drop(fields.insert(key.clone(), value.clone())),
        }
    }
    out.options = options(fields)?;
    out.switches.sort();
    out.switches.dedup();
    Ok(out)
}

/// Options from their fields.
fn options(fields: Map) -> Result<Options, OptionsError> {
    let parse = |fields: Map| serde_json::from_str(&Value::Object(fields).to_string());
    parse(fields.clone()).or_else(|error| {
        // Serde does not say which field it was in: each alone does.
        for (key, value) in fields {
            let alone = |value| parse(Map::from_iter([(key.clone(), value)]));
            match value {
                Value::Object(limits) if key == "limits" => {
                    for (name, value) in limits {
                        let one = Value::Object(Map::from_iter([(name.clone(), value)]));
                        alone(one)
                            .or_else(|error| wrong(&format!("limits.{name}"), said(&error)))?;
                    }
                }
                value => drop(alone(value).or_else(|error| wrong(&key, said(&error)))?),
            }
        }
        wrong("", said(&error))
    })
}

/// What an error says, without the place in a text that nobody wrote.
fn said(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    text[..end].to_owned()
}

/// A JSON pointer.
pub fn pointer(text: &str) -> Result<String, String> {
    match text.is_empty() || text.starts_with('/') {
        true => Ok(text.to_owned()),
        false => Err(format!("a JSON pointer begins with a slash: `/{text}`")),
    }
}

/// Reads a switch as it is written on a command line: `vcp.fuzzy`, or with a value: `hy-v4.suffix=:7b2e`.
///
/// # Errors
/// The dot is missing, or one side of it is empty.
pub fn switch(text: &str) -> Result<(String, String), String> {
    // The id of a dialect may contain dots and so may the value; the name of a switch may not.
    let named = text.split_once('=').map_or(text, |(named, _)| named);
    let dot = named.rfind('.').unwrap_or(0);
    match text
        .split_at_checked(dot)
        .map(|(id, name)| (id, name.trim_start_matches('.')))
    {
        Some((dialect, name)) if !dialect.is_empty() && !name.is_empty() => {
            Ok((dialect.to_owned(), name.to_owned()))
        }
        _ => Err(format!(
            "`{text}` is not a switch; write DIALECT.NAME, for example vcp.fuzzy"
        )),
    }
}

fn switches(value: &Value) -> Result<Vec<(String, String)>, OptionsError> {
    let Some(list) = value.as_array() else {
        return wrong("switches", "an array of strings is needed");
    };
    let read = |item: &Value| match item.as_str() {
        Some(text) => switch(text).or_else(|why| wrong("switches", why)),
        None => wrong("switches", "an array of strings is needed"),
    };
    list.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolglot::{
        Broken, Fence, Prefer, ReasoningMode, Retain, Start, TextMode, Unclosed, UnknownTool,
    };

    fn parse(text: &str) -> Result<ReadOptions, String> {
        let map: Map = serde_json::from_str(text).expect("a JSON object");
        read(&map).map_err(|e| e.to_string())
    }

    #[test]
    fn every_option_is_read() {
        let all = r#"{"switches": ["vcp.fuzzy"], "vcp.fuzzy": true, "tam.x": false, "limits": {"max_value": 9, "max_name": 3},
            "prefer": "both", "reasoning": "off", "calls_in_reasoning": true, "trusted_only": true, "fence": "skip",
            "unclosed": "text", "broken": "drop", "start": "reasoning", "retain": "none", "text": "chars",
            "unknown_tool": "text"}"#;
        let read = parse(all).expect("valid options");
        assert_eq!(read.switches, [("vcp".to_owned(), "fuzzy".to_owned())]);
        let options = read.options;
        assert_eq!((options.limits.max_value, options.limits.max_name), (9, 3));
        assert_eq!(
            (options.prefer, options.reasoning),
            (Prefer::Both, ReasoningMode::Off)
        );
        assert_eq!(
            (options.fence, options.unclosed),
            (Some(Fence::Skip), Some(Unclosed::Text))
        );
        assert_eq!(options.broken, Broken::Drop);
        assert_eq!(options.unknown_tool, Some(UnknownTool::Text));
        assert_eq!(
            (options.start, options.retain, options.text),
            (Start::Reasoning, Retain::None, TextMode::Chars)
        );
        assert!(options.calls_in_reasoning && options.trusted_only);
    }

    #[test]
    fn mistakes_are_named() {
        for (text, message) in [
            (
                r#"{"prefers": "text"}"#,
                "options.prefers: unknown field `prefers`, expected one of `text`",
            ),
            (
                r#"{"prefer": "texts"}"#,
                "options.prefer: unknown variant `texts`, expected one of `text`, `native`, `both`",
            ),
            (
                r#"{"limits": {"max": 1}}"#,
                "options.limits.max: unknown field `max`, expected one of `max_value`",
            ),
            (
                r#"{"limits": {"max_name": -1}}"#,
                "options.limits.max_name: invalid value: integer `-1`, expected u32",
            ),
            (
                r#"{"limits": {"max_name": 4294967296}}"#,
                "options.limits.max_name: invalid value: integer `4294967296`, expected u32",
            ),
            (
                r#"{"tools": []}"#,
                "options.tools: declared tools stand beside the options, not in them",
            ),
            (
                r#"{"vcp.fuzzy": 1}"#,
                "options.vcp.fuzzy: true or false is needed",
            ),
            (
                r#"{"switches": "vcp.fuzzy"}"#,
                "options.switches: an array of strings is needed",
            ),
        ] {
            let error = parse(text).expect_err("a mistake");
            assert!(error.starts_with(message), "{error}");
        }
    }
}
