//! OpenAI's `/v1/responses`. The gateway stores nothing: a request carries its whole conversation.

use serde_json::json as plain;
use toolglot::json::{Map, Value, json};
use toolglot::sink::openai::Head;

use super::{call, content, copy, function, list, text};
use crate::engine::gathered::{Gathered, Part};
use crate::engine::pieces::{Piece, Why, Writer, beside};
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

/// The open item of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Text,
    Thought,
    Call,
}

/// Writes the stream: items, one after another.
pub struct Responses {
    /// Members of the request that the response repeats.
    echo: serde_json::Value,
    number: u64,
    begun: bool,
    open: Option<Open>,
    /// The id of the current item.
    item: String,
    /// Text, thought or arguments of the current item.
    kept: String,
    call: (String, String),
    /// Complete items.
    output: Vec<serde_json::Value>,
}

/// Members of a request that its response repeats.
fn echo(asked: &Value) -> serde_json::Value {
    let plain = |key: &str| -> serde_json::Value {
        let value = asked.get(key).map(Value::to_string);
        value
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default()
    };
    let or = |key: &str, other: serde_json::Value| match plain(key) {
        serde_json::Value::Null => other,
        value => value,
    };
    plain!({
        "instructions": plain("instructions"), "max_output_tokens": plain("max_output_tokens"),
        "metadata": or("metadata", plain!({})), "parallel_tool_calls": or("parallel_tool_calls", true.into()),
        "temperature": plain("temperature"), "top_p": plain("top_p"), "tools": or("tools", plain!([])),
        "tool_choice": or("tool_choice", "auto".into()), "previous_response_id": null, "store": false,
    })
}

fn response(
    echo: &serde_json::Value,
    head: &Head,
    status: &str,
    output: &[serde_json::Value],
) -> serde_json::Value {
    let mut out = echo.clone();
    out["id"] = match head.id.starts_with("resp_") {
        true => head.id.as_str().into(),
        false => format!("resp_{}", head.id).into(),
    };
    out["object"] = "response".into();
    out["created_at"] = head.created.into();
    out["model"] = head.model.as_str().into();
    out["status"] = status.into();
    out["error"] = serde_json::Value::Null;
    out["incomplete_details"] = serde_json::Value::Null;
    out["output"] = output.into();
    out["usage"] = match head.usage.filter(|_| status != "in_progress") {
        None => serde_json::Value::Null,
        Some(usage) => plain!({
            "input_tokens": usage.prompt, "output_tokens": usage.completion,
            "total_tokens": usage.prompt.saturating_add(usage.completion),
            "input_tokens_details": {"cached_tokens": usage.cached.unwrap_or_default()},
            "output_tokens_details": {"reasoning_tokens": 0},
        }),
    };
    out
}

/// The end of a response: its status, and why it is incomplete.
fn ended(
    mut response: serde_json::Value,
    reason: Option<Why>,
    left: Option<&serde_json::Value>,
) -> serde_json::Value {
    let short = match reason {
        Some(Why::Length) => Some("max_output_tokens"),
        Some(Why::Filter) => Some("content_filter"),
        Some(Why::Stop | Why::ToolCalls) | None => None,
    };
    if let Some(short) = short {
        response["status"] = "incomplete".into();
        response["incomplete_details"] = plain!({"reason": short});
    }
    if let Some(left) = left {
        response["toolglot"] = left.clone();
    }
    response
}

fn text_item(id: &str, text: &str) -> serde_json::Value {
    plain!({
        "type": "message", "id": id, "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}],
    })
}

fn thought_item(id: &str, text: &str) -> serde_json::Value {
    plain!({"type": "reasoning", "id": id, "summary": [], "content": [{"type": "reasoning_text", "text": text}]})
}

fn call_item(
    id: &str,
    (call, name): (&str, &str),
    arguments: &str,
    status: &str,
) -> serde_json::Value {
    plain!({
        "type": "function_call", "id": id, "call_id": call, "name": name, "arguments": arguments, "status": status,
    })
}

impl Responses {
    pub fn new(asked: &Value) -> Self {
        Self {
            echo: echo(asked),
            number: 0,
            begun: false,
            open: None,
            item: String::new(),
            kept: String::new(),
            call: Default::default(),
            output: vec![],
        }
    }

    fn event(&mut self, mut value: serde_json::Value, out: &mut Vec<u8>) {
        value["sequence_number"] = self.number.into();
        self.number += 1;
        let name = value["type"].as_str().unwrap_or_default();
        out.extend_from_slice(format!("event: {name}\ndata: {value}\n\n").as_bytes());
    }

    fn id(&self, head: &Head) -> String {
        let kind = match self.open {
            Some(Open::Text) | None => "msg",
            Some(Open::Thought) => "rs",
            Some(Open::Call) => "fc",
        };
        format!("{kind}_{}_{}", head.id, self.output.len())
    }

    fn begin(&mut self, head: &Head, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        for kind in ["response.created", "response.in_progress"] {
            let response = response(&self.echo, head, "in_progress", &[]);
            self.event(plain!({"type": kind, "response": response}), out);
        }
    }

    /// Closes the current item.
    fn close_item(&mut self, out: &mut Vec<u8>) {
        let Some(open) = self.open else { return };
        let (id, index) = (std::mem::take(&mut self.item), self.output.len());
        let kept = std::mem::take(&mut self.kept);
        let place = plain!({"item_id": id, "output_index": index});
        let at = |kind: &str, more: serde_json::Value| {
            let mut value = place.clone();
            value["type"] = kind.into();
            for (key, one) in more.as_object().into_iter().flatten() {
                value[key] = one.clone();
            }
            value
        };
        let item = match open {
            Open::Text => {
                let part = plain!({"type": "output_text", "text": kept, "annotations": [], "logprobs": []});
                self.event(
                    at(
                        "response.output_text.done",
                        plain!({"content_index": 0, "text": kept, "logprobs": []}),
                    ),
                    out,
                );
                self.event(
                    at(
                        "response.content_part.done",
                        plain!({"content_index": 0, "part": part}),
                    ),
                    out,
                );
                text_item(&id, &kept)
            }
            Open::Thought => {
                self.event(
                    at(
                        "response.reasoning_text.done",
                        plain!({"content_index": 0, "text": kept}),
                    ),
                    out,
                );
                let part = plain!({"type": "reasoning_text", "text": kept});
                self.event(
                    at(
                        "response.content_part.done",
                        plain!({"content_index": 0, "part": part}),
                    ),
                    out,
                );
                thought_item(&id, &kept)
            }
            Open::Call => {
                let name = self.call.1.clone();
                self.event(
                    at(
                        "response.function_call_arguments.done",
                        plain!({"name": name, "arguments": kept}),
                    ),
                    out,
                );
                call_item(&id, (&self.call.0, &self.call.1), &kept, "completed")
            }
        };
        self.event(
            plain!({"type": "response.output_item.done", "output_index": index, "item": item}),
            out,
        );
        self.output.push(item);
        self.open = None;
    }

    fn open(&mut self, open: Open, head: &Head, out: &mut Vec<u8>) {
        if self.open == Some(open) && open != Open::Call {
            return;
        }
        self.close_item(out);
        self.open = Some(open);
        let (id, index) = (self.id(head), self.output.len());
        self.item.clone_from(&id);
        let item = match open {
            Open::Text => {
                plain!({"type": "message", "id": id, "role": "assistant", "status": "in_progress", "content": []})
            }
            Open::Thought => plain!({"type": "reasoning", "id": id, "summary": [], "content": []}),
            Open::Call => call_item(&id, (&self.call.0, &self.call.1), "", "in_progress"),
        };
        self.event(
            plain!({"type": "response.output_item.added", "output_index": index, "item": item}),
            out,
        );
        let part = match open {
            Open::Text => {
                Some(plain!({"type": "output_text", "text": "", "annotations": [], "logprobs": []}))
            }
            Open::Thought => Some(plain!({"type": "reasoning_text", "text": ""})),
            Open::Call => None,
        };
        if let Some(part) = part {
            self.event(plain!({"type": "response.content_part.added", "item_id": id, "output_index": index, "content_index": 0, "part": part}), out);
        }
    }

    fn delta(&mut self, kind: &str, text: &str, out: &mut Vec<u8>) {
        self.kept.push_str(text);
        let index = self.output.len();
        let mut value =
            plain!({"type": kind, "item_id": self.item, "output_index": index, "delta": text});
        match self.open {
            Some(Open::Text) => {
                value["content_index"] = 0.into();
                value["logprobs"] = plain!([]);
            }
            Some(Open::Thought) => value["content_index"] = 0.into(),
            Some(Open::Call) | None => {}
        }
        self.event(value, out);
    }
}

impl Writer for Responses {
    /// Items that the server wrote count like those written here.
    fn passed(&mut self, bytes: &[u8]) {
        let data = bytes.split(|byte| matches!(byte, b'\n' | b'\r'));
        for data in data.filter_map(|line| line.strip_prefix(b"data:")) {
            let read: serde_json::Value = serde_json::from_slice(data).unwrap_or_default();
            if let Some(number) = read["sequence_number"].as_u64() {
                self.number = number + 1;
            }
            let word = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
            let item = &read["item"];
            match read["type"].as_str().unwrap_or_default() {
                "response.created" => self.begun = true,
                "response.output_item.added" => {
                    self.item = word(&item["id"]);
                    self.kept.clear();
                    self.open = match item["type"].as_str() {
                        Some("message") => Some(Open::Text),
                        Some("reasoning") => Some(Open::Thought),
                        Some("function_call") => Some(Open::Call),
                        Some(_) | None => None,
                    };
                    self.call = (word(&item["call_id"]), word(&item["name"]));
                }
                "response.output_text.delta"
                | "response.reasoning_text.delta"
                | "response.function_call_arguments.delta" => {
                    self.kept.push_str(&word(&read["delta"]));
                }
                "response.output_item.done" => {
                    self.open = None;
                    self.kept.clear();
                    self.output.push(item.clone());
                }
                _ => {}
            }
        }
    }

    fn waits(&self, bytes: &[u8], _: bool) -> bool {
        let told = |what: &[u8]| memchr::memmem::find(bytes, what).is_some();
        told(b"response.output_item.added") && told(b"\"message\"")
            || told(b"response.content_part.added")
    }

    fn piece(&mut self, piece: &Piece, head: &Head, out: &mut Vec<u8>) {
        self.begin(head, out);
        match piece {
            Piece::Begin => {}
            Piece::Text(text) => {
                self.open(Open::Text, head, out);
                self.delta("response.output_text.delta", text, out);
            }
            Piece::Thought(text) => {
                self.open(Open::Thought, head, out);
                self.delta("response.reasoning_text.delta", text, out);
            }
            Piece::Call { id, name, .. } => {
                self.close_item(out);
                self.call = (id.clone(), name.clone());
                self.open(Open::Call, head, out);
            }
            Piece::Arguments { json, .. } => {
                self.delta("response.function_call_arguments.delta", json, out);
            }
            Piece::End { reason, void, left } => {
                self.close_item(out);
                let response = response(&self.echo, head, "completed", &self.output);
                let left = beside(void, left);
                let response = ended(response, Some(*reason), left.as_ref());
                let kind = match reason {
                    Why::Length | Why::Filter => "response.incomplete",
                    Why::Stop | Why::ToolCalls => "response.completed",
                };
                self.event(plain!({"type": kind, "response": response}), out);
            }
            Piece::Failed { message, kind } => {
                self.close_item(out);
                let mut response = response(&self.echo, head, "failed", &self.output);
                response["error"] =
                    plain!({"code": "server_error", "message": format!("{kind}: {message}")});
                self.event(
                    plain!({"type": "response.failed", "response": response}),
                    out,
                );
            }
        }
    }
}

pub fn whole(reply: &Gathered, head: &Head, asked: &Value) -> serde_json::Value {
    let id = |kind: &str, count: usize| format!("{kind}_{}_{count}", head.id);
    let output = reply.parts.iter().enumerate().map(|(at, part)| match part {
        Part::Text(text) => text_item(&id("msg", at), text),
        Part::Thought(text) => thought_item(&id("rs", at), text),
        Part::Call {
            id: call,
            name,
            arguments,
        } => call_item(&id("fc", at), (call, name), arguments, "completed"),
    });
    let output: Vec<serde_json::Value> = output.collect();
    let response = response(&echo(asked), head, "completed", &output);
    ended(response, reply.reason, reply.beside.as_ref())
}
