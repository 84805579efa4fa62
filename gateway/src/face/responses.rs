//! OpenAI's `/v1/responses`. The gateway stores nothing: a request carries its whole conversation.

mod reply;

use toolglot::json::{Map, Value, json};

pub use self::reply::{Responses, keep, whole};
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
    for more in list(asked, "include") {
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
    let none = Value::Null;
    let reasoning = asked.get("reasoning").unwrap_or(&none);
    lost.rest(reasoning, "reasoning.", &["effort"], &[]);
    let written = asked.get("text").unwrap_or(&none);
    lost.rest(written, "text.", &["format", "verbosity"], &[]);
    copy(written, &mut out, &[("verbosity", "verbosity")]);
    if let Some(effort) = asked
        .pointer("/reasoning/effort")
        .filter(|effort| !effort.is_null())
    {
        out.insert("reasoning_effort".to_owned(), effort.clone());
    }
    if let Some(format) = asked.pointer("/text/format") {
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
    if let Some(words) = asked.get("instructions").and_then(Value::as_str) {
        messages.push(json!({"role": "system", "content": words}));
    }
    match asked.get("input") {
        Some(Value::String(words)) => {
            messages.push(json!({"role": "user", "content": (words.clone())}))
        }
        Some(_) | None => {
            for item in list(asked, "input") {
                self::item(item, &mut messages, lost)?;
            }
        }
    }
    out.insert("messages".to_owned(), Value::Array(messages));
    let mut tools = vec![];
    for tool in list(asked, "tools") {
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
                text(item, "call_id"),
                text(item, "name"),
                text(item, "arguments"),
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
            let words = match item.get("output") {
                Some(Value::String(words)) => words.clone(),
                Some(_) | None => {
                    let texts = list(item, "output").iter().map(|part| {
                        match text(part, "type") {
                            "input_text" | "output_text" | "text" => {}
                            other => lost.refuse(format!(
                                "a result with content of type {other:?} cannot be converted"
                            )),
                        }
                        text(part, "text")
                    });
                    texts.collect::<Vec<_>>().join("\n")
                }
            };
            out.push(
                json!({"role": "tool", "tool_call_id": (text(item, "call_id")), "content": words}),
            );
        }
        // A thought of an earlier turn: models do not get those again.
        "reasoning" => lost.ignore("input.reasoning"),
        "message" | "" => {
            let role = match text(item, "role") {
                "developer" => "system",
                role => role,
            };
            let content = match item.get("content") {
                Some(Value::String(words)) => words.as_str().into(),
                Some(_) | None => content(parts(item, lost)?),
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

/// The parts of a message.
fn parts(item: &Value, lost: &mut Lost) -> Result<Vec<Value>, String> {
    let mut parts = vec![];
    for part in list(item, "content") {
        match text(part, "type") {
            "input_text" | "output_text" | "text" => {
                parts.push(json!({"type": "text", "text": (text(part, "text"))}));
            }
            "refusal" => parts.push(json!({"type": "text", "text": (text(part, "refusal"))})),
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
                parts.push(json!({"type": "image_url", "image_url": (Value::Object(image))}));
            }
            other => return Err(format!("content of type {other:?} is not known")),
        }
    }
    Ok(parts)
}
