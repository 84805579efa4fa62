//! OpenAI's `/v1/responses`. The gateway stores nothing: a request carries its whole conversation.

mod reply;

use toolglot::json::{Map, Value, json};

pub use self::reply::{Responses, keep, whole};
use super::form::{self, Content};
use super::{call, content, copy, function, list, text};
use crate::settings::Lost;

/// Members of a request that are translated, or repeated in the response.
const CARRIED: [&str; 15] = [
    "input",
    "instructions",
    "max_output_tokens",
    "metadata",
    "model",
    "parallel_tool_calls",
    "reasoning",
    "stream",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_p",
    "user",
    "include",
];
/// Members with the same name and meaning in chat completions.
const SAME: [(&str, &str); 4] = [
    ("prompt_cache_key", "prompt_cache_key"),
    ("prompt_cache_retention", "prompt_cache_retention"),
    ("safety_identifier", "safety_identifier"),
    ("service_tier", "service_tier"),
];
/// Members without which the answer would be another.
const NEEDED: [&str; 6] = [
    "background",
    "conversation",
    "moderation",
    "previous_response_id",
    "prompt",
    "top_logprobs",
];

/// Converts a request to chat completions.
pub fn to_chat(asked: &Value, lost: &mut Lost) -> Result<Value, String> {
    for key in [
        "previous_response_id",
        "conversation",
        "prompt",
        "background",
    ] {
        if !matches!(
            asked.get(key),
            None | Some(Value::Null | Value::Bool(false))
        ) {
            lost.refuse(format!(
                "`{key}` needs a server that stores requests, and the gateway stores nothing"
            ));
        }
    }
    let carried = [&CARRIED[..], &SAME.map(|(key, _)| key)].concat();
    lost.rest(asked, "", &carried, &NEEDED);
    for more in form::list(asked, "include")? {
        match more.as_str().unwrap_or_default() {
            "message.output_text.logprobs" => {
                lost.refuse("`include`: log probabilities cannot be converted");
            }
            _ => lost.ignore("include"),
        }
    }
    let mut out = Map::new();
    copy(
        asked,
        &mut out,
        &[
            ("model", "model"),
            ("stream", "stream"),
            ("max_output_tokens", "max_tokens"),
            ("temperature", "temperature"),
            ("top_p", "top_p"),
            ("parallel_tool_calls", "parallel_tool_calls"),
            ("user", "user"),
        ],
    );
    copy(asked, &mut out, &SAME);
    let reasoning = form::object(asked, "reasoning")?;
    lost.rest(reasoning, "reasoning.", &["effort"], &[]);
    let written = form::object(asked, "text")?;
    lost.rest(written, "text.", &["format", "verbosity"], &[]);
    copy(written, &mut out, &[("verbosity", "verbosity")]);
    copy(reasoning, &mut out, &[("effort", "reasoning_effort")]);
    let format = form::object(written, "format")?;
    if !format.is_null() {
        match text(format, "type") {
            "json_schema" => {
                let mut schema = Map::new();
                copy(
                    format,
                    &mut schema,
                    &[("name", "name"), ("schema", "schema"), ("strict", "strict")],
                );
                let format = json!({"type": "json_schema", "json_schema": (Value::Object(schema))});
                out.insert("response_format".to_owned(), format);
            }
            "json_object" => {
                out.insert("response_format".to_owned(), json!({"type": "json_object"}));
            }
            "" | "text" => {}
            other => lost.refuse(format!("`text.format` of type {other:?} is not known")),
        }
    }
    let mut messages = vec![];
    let instructions = form::text(asked, "instructions")?;
    if !asked.get("instructions").is_none_or(Value::is_null) {
        messages.push(json!({"role": "system", "content": instructions}));
    }
    match form::content(asked, "input")? {
        Content::Text(words) => messages.push(json!({"role": "user", "content": words})),
        Content::Parts(items) => {
            for (index, item) in items.iter().enumerate() {
                self::item(item, &mut messages, lost).map_err(form::at("input", index))?;
            }
        }
    }
    out.insert("messages".to_owned(), Value::Array(messages));
    let mut tools = vec![];
    for tool in form::objects(asked, "tools")? {
        let kind = text(tool, "type");
        if kind != "function" {
            lost.refuse(format!(
                "the tool {kind:?} runs on OpenAI's own servers, which the gateway does not call"
            ));
            continue;
        }
        let carried = ["type", "name", "description", "parameters", "strict"];
        lost.rest(tool, "tools.", &carried, &[]);
        tools.push(function(tool, tool.get("parameters")));
    }
    if !tools.is_empty() {
        out.insert("tools".to_owned(), Value::Array(tools));
    }
    match asked.get("tool_choice") {
        None | Some(Value::Null) => {}
        Some(Value::String(word)) => {
            out.insert("tool_choice".to_owned(), Value::from(word.as_str()));
        }
        Some(choice) if text(choice, "type") == "function" => {
            let choice = json!({"type": "function", "function": {"name": (text(choice, "name"))}});
            out.insert("tool_choice".to_owned(), choice);
        }
        Some(choice) if text(choice, "type") == "allowed_tools" => {
            let tools = list(choice, "tools")
                .iter()
                .map(|tool| match text(tool, "type") {
                    "function" => {
                        json!({"type": "function", "function": {"name": (text(tool, "name"))}})
                    }
                    _ => tool.clone(),
                });
            let tools = Value::Array(tools.collect());
            let own = json!({"mode": (text(choice, "mode")), "tools": tools});
            let choice = json!({"type": "allowed_tools", "allowed_tools": own});
            out.insert("tool_choice".to_owned(), choice);
        }
        Some(choice) => {
            return Err(format!(
                "`tool_choice` of type {:?} is not known",
                text(choice, "type")
            ));
        }
    }
    Ok(Value::Object(out))
}

fn item(item: &Value, out: &mut Vec<Value>, lost: &mut Lost) -> Result<(), String> {
    match text(item, "type") {
        "function_call" => {
            let made = call(
                form::text(item, "call_id")?,
                form::text(item, "name")?,
                form::text(item, "arguments")?,
            );
            // Calls of one reply belong to one message.
            match out.last_mut() {
                Some(Value::Object(last))
                    if last.get("role").and_then(Value::as_str) == Some("assistant") =>
                {
                    let calls = last.or_insert("tool_calls", || Value::Array(vec![]));
                    if let Some(calls) = calls.as_array_mut() {
                        calls.push(made);
                    }
                }
                _ => out.push(json!({"role": "assistant", "content": "", "tool_calls": [made]})),
            }
        }
        "function_call_output" => {
            let words = match form::content(item, "output")? {
                Content::Text(words) => words.to_owned(),
                Content::Parts(parts) => texts(parts, lost)?.join("\n"),
            };
            let id = form::text(item, "call_id")?;
            out.push(json!({"role": "tool", "tool_call_id": id, "content": words}));
        }
        // A thought of an earlier turn: models do not get those again.
        "reasoning" => lost.ignore("input.reasoning"),
        "message" | "" => {
            let role = match form::text(item, "role")? {
                "" => return Err("an item without a `role` is not known".to_owned()),
                "developer" => "system",
                role => role,
            };
            let content = match form::content(item, "content")? {
                Content::Text(words) => words.into(),
                Content::Parts(all) => content(parts(all, lost)?),
            };
            // Text between calls of one reply belongs to their message.
            if role == "assistant"
                && let Some(Value::Object(last)) = out.last_mut()
                && last.get("tool_calls").is_some()
                && let Some(Value::String(have)) = last.get_mut("content")
                && let Value::String(more) = &content
            {
                have.push_str(more);
                return Ok(());
            }
            out.push(json!({"role": role, "content": content}));
        }
        other => lost.refuse(format!("an item of type {other:?} is not known")),
    }
    Ok(())
}

/// The texts of a result.
fn texts<'v>(parts: &'v [Value], lost: &mut Lost) -> Result<Vec<&'v str>, String> {
    let texts = parts.iter().enumerate().map(|(index, part)| {
        match text(part, "type") {
            "input_text" | "output_text" | "text" => {}
            other => lost.refuse(format!(
                "a result with content of type {other:?} cannot be converted"
            )),
        }
        form::text(part, "text").map_err(form::at("output", index))
    });
    texts.collect()
}

/// The parts of a message.
fn parts(parts: &[Value], lost: &mut Lost) -> Result<Vec<Value>, String> {
    let part = |(index, part)| self::part(part, lost).map_err(form::at("content", index));
    parts.iter().enumerate().map(part).collect()
}

fn part(part: &Value, lost: &mut Lost) -> Result<Value, String> {
    let words = match text(part, "type") {
        "input_text" | "output_text" | "text" => form::text(part, "text")?,
        "refusal" => form::text(part, "refusal")?,
        "input_image" => {
            let mut image = Map::new();
            copy(
                part,
                &mut image,
                &[("image_url", "url"), ("detail", "detail")],
            );
            if !image.contains_key("url") {
                lost.refuse("an image that OpenAI's server stores cannot be converted");
            }
            return Ok(json!({"type": "image_url", "image_url": (Value::Object(image))}));
        }
        other => return Err(format!("content of type {other:?} is not known")),
    };
    Ok(json!({"type": "text", "text": words}))
}
