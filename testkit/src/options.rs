//! Parser options as JSON: the `options` of a conformance vector and of a batch record.
//!
//! | key | value |
//! |---|---|
//! | `switches` | `["vcp.fuzzy", ...]`; or `"vcp.fuzzy": true` |
//! | `limits` | `{"max_value": 65536, ...}`, the fields of [`toolglot::Limits`] |
//! | `prefer` | `text`, `native`, `both` |
//! | `reasoning` | `split`, `off`, `text` |
//! | `calls_in_reasoning`, `trusted_only` | `true`, `false` |
//! | `fence` | `skip`, `allow` |
//! | `broken` | `text`, `drop` |
//! | `unclosed` | `drop`, `text`, `salvage` |
//! | `untyped` | `string`, `json` |
//! | `unknown_tool` | `deliver`, `text`, `drop` |
//! | `tool_choice` | `auto`, `none`, `required`, `{"type": "function", "function": {"name": ..}}` |
//! | `start` | `dialect`, `text`, `reasoning` |
//! | `prompt_tail` | the end of the prompt |
//! | `retain` | `block`, `none` |
//! | `text` | `bytes`, `chars` |
//!
//! A key or word that is not in the table is an error: otherwise a typo would silently select the default.

use std::str::FromStr;

use toolglot::json::{Map, Value};
use toolglot::{Limits, Options, ToolChoice, ToolChoiceError, UnknownWord};

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
    for (key, value) in map {
        option(&mut out, key, value)?;
    }
    out.switches.sort();
    out.switches.dedup();
    Ok(out)
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

fn option(out: &mut ReadOptions, key: &str, value: &Value) -> Result<(), OptionsError> {
    let options = &mut out.options;
    match key {
        "switches" => out.switches.extend(switches(value)?),
        "limits" => limits(&mut options.limits, value)?,
        "prefer" => options.prefer = word(key, value)?,
        "reasoning" => options.reasoning = word(key, value)?,
        "calls_in_reasoning" => options.calls_in_reasoning = boolean(key, value)?,
        "trusted_only" => options.trusted_only = boolean(key, value)?,
        "fence" => options.fence = Some(word(key, value)?),
        "broken" => options.broken = word(key, value)?,
        "unclosed" => options.unclosed = Some(word(key, value)?),
        "untyped" => options.untyped = Some(word(key, value)?),
        "tool_choice" => {
            let needed = format!("{} is needed", ToolChoiceError::EXPECTED);
            options.tool_choice = ToolChoice::from_value(value).or_else(|_| wrong(key, needed))?;
        }
        "unknown_tool" => options.unknown_tool = Some(word(key, value)?),
        "start" => options.start = word(key, value)?,
        "prompt_tail" => match value.as_str() {
            Some(tail) => options.set_prompt_tail(tail.as_bytes()),
            None => return wrong(key, "a string is needed"),
        },
        "retain" => options.retain = word(key, value)?,
        "text" => options.text = word(key, value)?,
        _ if key.contains('.') => {
            let pair = switch(key).or_else(|why| wrong(key, why))?;
            if boolean(key, value)? {
                out.switches.push(pair);
            }
        }
        _ => return wrong(key, "there is no such option"),
    }
    Ok(())
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

fn limits(limits: &mut Limits, value: &Value) -> Result<(), OptionsError> {
    let Some(map) = value.as_object() else {
        return wrong("limits", "an object is needed");
    };
    for (name, value) in map {
        let key = format!("limits.{name}");
        let Some(number) = value.as_u64() else {
            return wrong(&key, "a whole number from 0 is needed");
        };
        let small = || match u32::try_from(number) {
            Ok(small) => Ok(small),
            Err(_) => wrong(&key, format!("it is at most {}", u32::MAX)),
        };
        match name.as_str() {
            "max_value" => limits.max_value = number,
            "max_block" => limits.max_block = number,
            "max_native" => limits.max_native = number,
            "max_calls" => limits.max_calls = small()?,
            "max_chain" => limits.max_chain = small()?,
            "max_depth" => limits.max_depth = small()?,
            "max_params" => limits.max_params = small()?,
            "max_name" => limits.max_name = small()?,
            "max_header" => limits.max_header = small()?,
            "max_lookahead" => limits.max_lookahead = small()?,
            "max_issues" => limits.max_issues = small()?,
            _ => return wrong(&key, "there is no such limit"),
        }
    }
    Ok(())
}

fn boolean(key: &str, value: &Value) -> Result<bool, OptionsError> {
    value
        .as_bool()
        .map_or_else(|| wrong(key, "true or false is needed"), Ok)
}

fn word<T: FromStr<Err = UnknownWord>>(key: &str, value: &Value) -> Result<T, OptionsError> {
    value
        .as_str()
        .unwrap_or_default()
        .parse()
        .or_else(|unknown: UnknownWord| {
            let known: Vec<String> = unknown
                .expected
                .iter()
                .map(|word| format!("\"{word}\""))
                .collect();
            wrong(key, format!("{value} is none of: {}", known.join(", ")))
        })
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
                "options.prefers: there is no such option",
            ),
            (
                r#"{"prefer": "texts"}"#,
                r#"options.prefer: "texts" is none of: "text", "native", "both""#,
            ),
            (
                r#"{"limits": {"max": 1}}"#,
                "options.limits.max: there is no such limit",
            ),
            (
                r#"{"limits": {"max_name": -1}}"#,
                "options.limits.max_name: a whole number from 0 is needed",
            ),
            (
                r#"{"limits": {"max_name": 4294967296}}"#,
                "options.limits.max_name: it is at most 4294967295",
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
            assert_eq!(parse(text).expect_err("a mistake"), message);
        }
    }
}
