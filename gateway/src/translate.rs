//! Converts requests of chat completions for other servers.

use toolglot::json::{Map, Value, json};

use crate::config::Api;
use crate::face::{copy, list, text};

/// Default for the maximum tokens of an Anthropic reply: that API requires a number.
const TOKENS: u32 = 8192;

/// Returns the server's path, and the request.
///
/// # Errors
/// The server's protocol lacks something that the request asks for; nothing is dropped silently.
pub fn request(api: Api, chat: &Value) -> Result<(&'static str, Value), String> {
    if chat.get("n").and_then(Value::as_u64).is_some_and(|n| n > 1) && api != Api::OpenAi {
        return Err("`n`: this server gives one choice".to_owned());
    }
    match api {
        Api::OpenAi => Ok(("/v1/chat/completions", openai(chat))),
        Api::Anthropic => Ok(("/v1/messages", anthropic(chat)?)),
        Api::Ollama => Ok(("/api/chat", ollama(chat)?)),
    }
}

/// A stream reports its usage only on request.
fn openai(chat: &Value) -> Value {
    let mut out = chat.clone();
    if let Some(map) = out.as_object_mut()
        && map.get("stream").and_then(Value::as_bool) == Some(true)
    {
        map.or_insert("stream_options", || json!({"include_usage": true}));
    }
    out
}

fn stops(chat: &Value) -> Vec<Value> {
    match chat.get("stop") {
        Some(Value::String(one)) => vec![one.as_str().into()],
        Some(Value::Array(all)) => all.clone(),
        Some(_) | None => vec![],
    }
}

/// Returns the texts of a message's content.
pub fn words(message: &Value) -> String {
    match message.get("content") {
        Some(Value::String(words)) => words.clone(),
        Some(_) | None => {
            let texts = list(message, "content")
                .iter()
                .map(|part| text(part, "text"));
            texts.collect::<Vec<_>>().join("\n")
        }
    }
}

fn arguments(call: &Value) -> Value {
    let function = call.get("function").unwrap_or(&Value::Null);
    let read = text(function, "arguments").parse::<Value>();
    read.ok()
        .filter(Value::is_object)
        .unwrap_or_else(|| json!({}))
}

fn name(call: &Value) -> String {
    text(call.get("function").unwrap_or(&Value::Null), "name").to_owned()
}

fn format(chat: &Value) -> Option<&Value> {
    chat.get("response_format")
        .filter(|format| !matches!(text(format, "type"), "" | "text"))
}

fn anthropic(chat: &Value) -> Result<Value, String> {
    if format(chat).is_some() {
        return Err("`response_format`: this server does not support it".to_owned());
    }
    let mut out = Map::new();
    copy(
        chat,
        &mut out,
        &[
            ("model", "model"),
            ("stream", "stream"),
            ("max_tokens", "max_tokens"),
            ("max_completion_tokens", "max_tokens"),
            ("temperature", "temperature"),
            ("top_p", "top_p"),
            ("top_k", "top_k"),
        ],
    );
    out.or_insert("max_tokens", || TOKENS.into());
    let stops = stops(chat);
    if !stops.is_empty() {
        out.insert("stop_sequences".to_owned(), Value::Array(stops));
    }
    let mut tools = vec![];
    for tool in list(chat, "tools") {
        let function = tool.get("function").unwrap_or(&Value::Null);
        let mut own = Map::new();
        copy(
            function,
            &mut own,
            &[
                ("name", "name"),
                ("description", "description"),
                ("parameters", "input_schema"),
            ],
        );
        own.or_insert(
            "input_schema",
            || json!({"type": "object", "properties": {}}),
        );
        tools.push(Value::Object(own));
    }
    let single = chat.get("parallel_tool_calls").and_then(Value::as_bool) == Some(false);
    let mut choice = match chat.get("tool_choice") {
        None | Some(Value::Null) => json!({"type": "auto"}),
        Some(Value::String(word)) if word == "required" => json!({"type": "any"}),
        Some(Value::String(word)) => json!({"type": (word.clone())}),
        Some(choice) => json!({"type": "tool", "name": (name(choice))}),
    };
    if single && let Some(map) = choice.as_object_mut() {
        map.insert("disable_parallel_tool_use".to_owned(), Value::Bool(true));
    }
    if !tools.is_empty() {
        out.insert("tools".to_owned(), Value::Array(tools));
        out.insert("tool_choice".to_owned(), choice);
    }
    let (mut system, mut messages): (Vec<String>, Vec<Value>) = (vec![], vec![]);
    for message in list(chat, "messages") {
        match text(message, "role") {
            "system" | "developer" => system.push(words(message)),
            "tool" => {
                let result = json!({
                    "type": "tool_result",
                    "tool_use_id": (text(message, "tool_call_id")),
                    "content": (words(message)),
                });
                push(&mut messages, "user", vec![result]);
            }
            role => push(&mut messages, role, blocks(message)?),
        }
    }
    if !system.is_empty() {
        out.insert("system".to_owned(), system.join("\n\n").into());
    }
    out.insert("messages".to_owned(), Value::Array(messages));
    Ok(Value::Object(out))
}

/// Appends blocks; consecutive blocks of one role are one message.
fn push(messages: &mut Vec<Value>, role: &str, blocks: Vec<Value>) {
    if blocks.is_empty() {
        return;
    }
    if let Some(last) = messages.last_mut()
        && text(last, "role") == role
        && let Some(content) = last.get_mut("content").and_then(Value::as_array_mut)
    {
        content.extend(blocks);
        return;
    }
    messages.push(json!({"role": role, "content": (Value::Array(blocks))}));
}

fn blocks(message: &Value) -> Result<Vec<Value>, String> {
    let mut blocks = vec![];
    match message.get("content") {
        Some(Value::String(words)) if words.is_empty() => {}
        Some(Value::String(words)) => blocks.push(json!({"type": "text", "text": (words.clone())})),
        Some(_) | None => {
            for part in list(message, "content") {
                match text(part, "type") {
                    "text" => blocks.push(json!({"type": "text", "text": (text(part, "text"))})),
                    "image_url" => blocks.push(image(part)),
                    other => return Err(format!("content of type {other:?} is not known")),
                }
            }
        }
    }
    for call in list(message, "tool_calls") {
        blocks.push(json!({
            "type": "tool_use", "id": (text(call, "id")), "name": (name(call)), "input": (arguments(call)),
        }));
    }
    Ok(blocks)
}

fn url(part: &Value) -> &str {
    text(part.get("image_url").unwrap_or(&Value::Null), "url")
}

fn image(part: &Value) -> Value {
    let url = url(part);
    let data = url
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"));
    let source = match data {
        Some((kind, data)) => json!({"type": "base64", "media_type": kind, "data": data}),
        None => json!({"type": "url", "url": url}),
    };
    json!({"type": "image", "source": source})
}

fn ollama(chat: &Value) -> Result<Value, String> {
    let mut out = Map::new();
    copy(chat, &mut out, &[("model", "model"), ("tools", "tools")]);
    match chat.get("tool_choice") {
        None | Some(Value::Null) => {}
        Some(Value::String(word)) if word == "auto" => {}
        Some(Value::String(word)) if word == "none" => {
            out.remove("tools");
        }
        Some(choice) => {
            return Err(format!(
                "`tool_choice` {choice}: this server cannot be required to call a tool"
            ));
        }
    }
    if out.contains_key("tools")
        && chat.get("parallel_tool_calls").and_then(Value::as_bool) == Some(false)
    {
        return Err("`parallel_tool_calls` false: this server does not support it".to_owned());
    }
    let stream = chat.get("stream").and_then(Value::as_bool).unwrap_or(false);
    out.insert("stream".to_owned(), Value::Bool(stream));
    let mut options = Map::new();
    copy(
        chat,
        &mut options,
        &[
            ("temperature", "temperature"),
            ("top_p", "top_p"),
            ("top_k", "top_k"),
            ("seed", "seed"),
            ("max_tokens", "num_predict"),
            ("max_completion_tokens", "num_predict"),
            ("frequency_penalty", "frequency_penalty"),
            ("presence_penalty", "presence_penalty"),
        ],
    );
    let stops = stops(chat);
    if !stops.is_empty() {
        options.insert("stop".to_owned(), Value::Array(stops));
    }
    if !options.is_empty() {
        out.insert("options".to_owned(), Value::Object(options));
    }
    if let Some(format) = format(chat) {
        let schema = format.pointer("/json_schema/schema").cloned();
        out.insert("format".to_owned(), schema.unwrap_or_else(|| "json".into()));
    }
    let mut messages = vec![];
    // Results name the tool; those of chat completions name the call.
    let mut names = std::collections::HashMap::new();
    for message in list(chat, "messages") {
        let mut own = Map::new();
        copy(
            message,
            &mut own,
            &[("role", "role"), ("reasoning_content", "thinking")],
        );
        own.insert("content".to_owned(), words(message).into());
        let images: Vec<Value> = list(message, "content")
            .iter()
            .filter(|part| text(part, "type") == "image_url")
            .filter_map(|part| url(part).split_once(";base64,"))
            .map(|(_, data)| data.into())
            .collect();
        if !images.is_empty() {
            own.insert("images".to_owned(), Value::Array(images));
        }
        let mut calls = vec![];
        for call in list(message, "tool_calls") {
            names.insert(text(call, "id").to_owned(), name(call));
            calls.push(json!({"function": {"name": (name(call)), "arguments": (arguments(call))}}));
        }
        if !calls.is_empty() {
            own.insert("tool_calls".to_owned(), Value::Array(calls));
        }
        if let Some(name) = names.get(text(message, "tool_call_id")) {
            own.insert("tool_name".to_owned(), name.as_str().into());
        }
        messages.push(Value::Object(own));
    }
    out.insert("messages".to_owned(), Value::Array(messages));
    Ok(Value::Object(out))
}
