//! Converts requests of chat completions for other servers.

use toolglot::json::{Map, Value, json};

use crate::config::Api;
use crate::face::results::in_order;
use crate::face::{copy, form, list, text};
use crate::settings::Lost;

/// Members of chat completions that are translated for every server.
const CARRIED: [&str; 17] = [
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "model",
    "n",
    "parallel_tool_calls",
    "reasoning_effort",
    "response_format",
    "stop",
    "stream",
    "stream_options",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
];
/// Members without which the answer would be another.
const NEEDED: [&str; 18] = [
    "audio",
    "function_call",
    "functions",
    "grammar",
    "guided_choice",
    "guided_grammar",
    "guided_json",
    "guided_regex",
    "json_schema",
    "logit_bias",
    "logprobs",
    "moderation",
    "regex",
    "ebnf",
    "structured_outputs",
    "structural_tag",
    "top_logprobs",
    "web_search_options",
];

/// Settings that Ollama's server has among its options.
const OPTIONS: [(&str, &str); 9] = [
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("top_k", "top_k"),
    ("min_p", "min_p"),
    ("seed", "seed"),
    ("max_tokens", "num_predict"),
    ("max_completion_tokens", "num_predict"),
    ("frequency_penalty", "frequency_penalty"),
    ("presence_penalty", "presence_penalty"),
];

/// Default for the maximum tokens of an Anthropic reply: that API requires a number.
const TOKENS: u32 = 8192;

/// Returns the server's path, and the request. `same`: the client speaks the protocol of the server. `lost` gets what the server's
/// protocol does not have.
pub fn request(api: Api, same: bool, chat: &Value, lost: &mut Lost) -> (&'static str, Value) {
    if chat.get("n").and_then(Value::as_u64).is_some_and(|n| n > 1) && api != Api::OpenAi {
        lost.refuse("`n`: this server gives one choice");
    }
    if api != Api::OpenAi
        && let Err(why) = form::check(chat).and_then(|()| settings(chat))
    {
        lost.refuse(why);
    }
    match api {
        Api::OpenAi if same => ("/v1/chat/completions", chat.clone()),
        Api::OpenAi => ("/v1/chat/completions", openai(chat, lost)),
        Api::Anthropic => ("/v1/messages", anthropic(chat, lost)),
        Api::Ollama => ("/api/chat", ollama(chat, lost)),
    }
}

/// Checks settings that are nested, or that are words.
fn settings(chat: &Value) -> Result<(), String> {
    form::object(chat, "response_format")?;
    form::text(chat, "reasoning_effort")?;
    Ok(())
}

/// For a server of the client's own protocol: the members that were not translated stay as they came.
pub fn keep(asked: &Value, body: &mut Value, lost: &mut Lost) {
    const WRITTEN: [&str; 3] = ["tools", "tool_choice", "parallel_tool_calls"];
    let mut kept = vec![];
    let (Some(from), Some(to)) = (asked.as_object(), body.as_object_mut()) else {
        return;
    };
    for (key, value) in from {
        if !WRITTEN.contains(&key.as_str()) && !to.contains_key(key) {
            to.insert(key.clone(), value.clone());
            kept.push(key.as_str());
        }
    }
    if let (Some(own), Some(options)) = (
        from.get("options").and_then(Value::as_object),
        to.get_mut("options").and_then(Value::as_object_mut),
    ) {
        for (key, value) in own {
            options.or_insert(key, || value.clone());
        }
        kept.push("options");
    }
    lost.keep(|name| kept.contains(&name.split('.').next().unwrap_or_default()));
}

/// A stream reports its usage only on request.
fn openai(chat: &Value, lost: &mut Lost) -> Value {
    let mut out = chat.clone();
    if let Some(map) = out.as_object_mut() {
        if map.get("stream").and_then(Value::as_bool) == Some(true) {
            map.or_insert("stream_options", || json!({"include_usage": true}));
        }
        // Of another protocol: there is no word for it here. A server's own member of this name is an object.
        if map.get("thinking").and_then(Value::as_bool) == Some(true) {
            map.remove("thinking");
            lost.ignore("thinking");
        }
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
                .filter(|part| text(part, "type") == "text")
                .map(|part| text(part, "text"));
            texts.collect::<Vec<_>>().join("\n")
        }
    }
}

/// The same, if there is nothing else in it.
fn plain(message: &Value, lost: &mut Lost) -> String {
    for part in list(message, "content") {
        if text(part, "type") != "text" {
            let (role, kind) = (text(message, "role"), text(part, "type"));
            lost.refuse(format!(
                "content of type {kind:?} in a message of role {role:?} cannot be converted"
            ));
        }
    }
    words(message)
}

/// Accounts for the members of a message, of its calls, and of its parts.
fn account(message: &Value, carried: &[&str], lost: &mut Lost) {
    let all = [&["role", "content", "tool_calls", "tool_call_id"], carried].concat();
    lost.rest(message, "messages.", &all, &["function_call"]);
    for part in list(message, "content") {
        lost.rest(part, "", &["type", "text", "image_url"], &[]);
        let image = part.get("image_url").unwrap_or(&Value::Null);
        lost.rest(image, "image_url.", &["url"], &[]);
    }
}

/// Only functions can be translated.
fn functions<'v>(chat: &'v Value, lost: &mut Lost) -> Vec<&'v Value> {
    let all = list(chat, "tools").iter();
    let own = all.filter(|tool| {
        let function = tool.get("function").is_some();
        if !function {
            let kind = text(tool, "type");
            lost.refuse(format!("a tool of type {kind:?} cannot be converted"));
        }
        function
    });
    own.collect()
}

/// The arguments of an earlier call. A model writes some that are broken, and the conversation goes on.
fn arguments(call: &Value, lost: &mut Lost) -> Value {
    let function = call.get("function").unwrap_or(&Value::Null);
    let arguments = text(function, "arguments");
    let read = arguments.parse::<Value>().ok().filter(Value::is_object);
    if read.is_none() && !arguments.trim().is_empty() {
        lost.ignore("messages.tool_calls.function.arguments");
    }
    read.unwrap_or_else(|| json!({}))
}

fn name(call: &Value) -> String {
    text(call.get("function").unwrap_or(&Value::Null), "name").to_owned()
}

fn format(chat: &Value) -> Option<&Value> {
    chat.get("response_format")
        .filter(|format| !matches!(text(format, "type"), "" | "text"))
}

fn anthropic(chat: &Value, lost: &mut Lost) -> Value {
    lost.rest(chat, "", &[&CARRIED[..], &["user"]].concat(), &NEEDED);
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
    if let Some(user) = chat.get("user").filter(|user| !user.is_null()) {
        out.insert("metadata".to_owned(), json!({"user_id": (user.clone())}));
    }
    effort(chat, &mut out, lost);
    let mut tools = vec![];
    for tool in functions(chat, lost) {
        let function = tool.get("function").unwrap_or(&Value::Null);
        lost.rest(
            function,
            "tools.",
            &["name", "description", "parameters", "strict"],
            &[],
        );
        let mut own = Map::new();
        copy(
            function,
            &mut own,
            &[
                ("name", "name"),
                ("description", "description"),
                ("parameters", "input_schema"),
                ("strict", "strict"),
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
        Some(choice) => {
            if name(choice).is_empty() {
                lost.refuse(format!("`tool_choice` {choice} cannot be converted"));
            }
            json!({"type": "tool", "name": (name(choice))})
        }
    };
    if single
        && text(&choice, "type") != "none"
        && let Some(map) = choice.as_object_mut()
    {
        map.insert("disable_parallel_tool_use".to_owned(), Value::Bool(true));
    }
    if !tools.is_empty() {
        out.insert("tools".to_owned(), Value::Array(tools));
        out.insert("tool_choice".to_owned(), choice);
    }
    let (mut system, mut messages): (Vec<String>, Vec<Value>) = (vec![], vec![]);
    for message in list(chat, "messages") {
        account(message, &[], lost);
        match text(message, "role") {
            "system" | "developer" => system.push(plain(message, lost)),
            "tool" => {
                let result = json!({
                    "type": "tool_result",
                    "tool_use_id": (text(message, "tool_call_id")),
                    "content": (plain(message, lost)),
                });
                push(&mut messages, "user", vec![result]);
            }
            role => push(&mut messages, role, blocks(message, lost)),
        }
    }
    if !system.is_empty() {
        out.insert("system".to_owned(), system.join("\n\n").into());
    }
    out.insert("messages".to_owned(), Value::Array(messages));
    Value::Object(out)
}

/// Converts how much the model thinks, and the format of its reply.
fn effort(chat: &Value, out: &mut Map, lost: &mut Lost) {
    let mut config = Map::new();
    match text(chat, "reasoning_effort") {
        "" => {}
        "none" => {
            out.insert("thinking".to_owned(), json!({"type": "disabled"}));
        }
        effort @ ("low" | "medium" | "high" | "xhigh" | "max") => {
            config.insert("effort".to_owned(), effort.into());
        }
        _ => lost.ignore("reasoning_effort"),
    }
    if chat.get("thinking").is_some_and(|value| !value.is_null()) {
        lost.ignore("thinking");
    }
    if let Some(format) = format(chat) {
        match format.pointer("/json_schema/schema") {
            Some(schema) => {
                let format = json!({"type": "json_schema", "schema": (schema.clone())});
                config.insert("format".to_owned(), format);
            }
            None => lost.refuse("`response_format`: this server needs a JSON schema"),
        }
    }
    if config.iter().next().is_some() {
        out.insert("output_config".to_owned(), Value::Object(config));
    }
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

fn blocks(message: &Value, lost: &mut Lost) -> Vec<Value> {
    let mut blocks = vec![];
    match message.get("content") {
        Some(Value::String(words)) if words.is_empty() => {}
        Some(Value::String(words)) => blocks.push(json!({"type": "text", "text": (words.clone())})),
        Some(_) | None => {
            for part in list(message, "content") {
                match text(part, "type") {
                    "text" => blocks.push(json!({"type": "text", "text": (text(part, "text"))})),
                    "image_url" => blocks.push(image(part)),
                    other => lost.refuse(format!("content of type {other:?} cannot be converted")),
                }
            }
        }
    }
    for call in list(message, "tool_calls") {
        blocks.push(json!({
            "type": "tool_use", "id": (text(call, "id")), "name": (name(call)), "input": (arguments(call, lost)),
        }));
    }
    blocks
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

fn ollama(chat: &Value, lost: &mut Lost) -> Value {
    let options = OPTIONS.map(|(key, _)| key);
    lost.rest(chat, "", &[&CARRIED[..], &options].concat(), &NEEDED);
    let mut out = Map::new();
    for tool in functions(chat, lost) {
        let function = tool.get("function").unwrap_or(&Value::Null);
        lost.rest(
            function,
            "tools.",
            &["name", "description", "parameters"],
            &[],
        );
    }
    copy(chat, &mut out, &[("model", "model"), ("tools", "tools")]);
    match chat.get("tool_choice") {
        None | Some(Value::Null) => {}
        Some(Value::String(word)) if word == "auto" => {}
        Some(Value::String(word)) if word == "none" => {
            out.remove("tools");
        }
        Some(choice) => lost.refuse(format!(
            "`tool_choice` {choice}: this server cannot be required to call a tool"
        )),
    }
    if out.contains_key("tools")
        && chat.get("parallel_tool_calls").and_then(Value::as_bool) == Some(false)
    {
        lost.refuse("`parallel_tool_calls` false: this server does not support it");
    }
    let stream = chat.get("stream").and_then(Value::as_bool).unwrap_or(false);
    out.insert("stream".to_owned(), Value::Bool(stream));
    let mut options = Map::new();
    copy(chat, &mut options, &OPTIONS);
    let stops = stops(chat);
    if !stops.is_empty() {
        options.insert("stop".to_owned(), Value::Array(stops));
    }
    if !options.is_empty() {
        out.insert("options".to_owned(), Value::Object(options));
    }
    let think = match text(chat, "reasoning_effort") {
        "" => chat.get("thinking").cloned(),
        "none" => Some(Value::Bool(false)),
        effort @ ("low" | "medium" | "high") => Some(effort.into()),
        _ => {
            lost.ignore("reasoning_effort");
            None
        }
    };
    if let Some(think) = think {
        out.insert("think".to_owned(), think);
    }
    if let Some(format) = format(chat) {
        match (format.pointer("/json_schema/schema"), text(format, "type")) {
            (Some(schema), _) => out.insert("format".to_owned(), schema.clone()),
            (None, "json_object") => out.insert("format".to_owned(), "json".into()),
            (None, other) => {
                lost.refuse(format!(
                    "`response_format` of type {other:?} cannot be converted"
                ));
                None
            }
        };
    }
    let mut messages = vec![];
    // Results name the tool; those of chat completions name the call. Two results of one tool are told apart by their order.
    let mut names = std::collections::HashMap::new();
    for message in in_order(list(chat, "messages")) {
        let mut own = Map::new();
        account(message, &["reasoning_content"], lost);
        copy(message, &mut own, &[("reasoning_content", "thinking")]);
        let role = match text(message, "role") {
            "developer" => "system",
            role => role,
        };
        own.insert("role".to_owned(), role.into());
        let mut images: Vec<Value> = vec![];
        for part in list(message, "content") {
            match (text(part, "type"), url(part).split_once(";base64,")) {
                ("text", _) => {}
                ("image_url", Some((_, data))) => images.push(data.into()),
                ("image_url", None) => {
                    lost.refuse("an image by its address: this server needs its data");
                }
                (other, _) => {
                    lost.refuse(format!("content of type {other:?} cannot be converted"));
                }
            }
        }
        own.insert("content".to_owned(), words(message).into());
        if !images.is_empty() {
            own.insert("images".to_owned(), Value::Array(images));
        }
        let mut calls = vec![];
        for call in list(message, "tool_calls") {
            names.insert(text(call, "id").to_owned(), name(call));
            calls.push(
                json!({"function": {"name": (name(call)), "arguments": (arguments(call, lost))}}),
            );
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
    Value::Object(out)
}
