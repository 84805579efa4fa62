//! Anthropic's `/v1/messages`.

use serde_json::json as plain;
use toolglot::json::{Map, Value, json};
use toolglot::sink::openai::Head;

use super::form::{self, Content};
use super::{call, content, copy, faults, function, text};
use crate::engine::blocks::Block;
use crate::engine::documents;
use crate::engine::gathered::{Gathered, Part};
use crate::engine::pieces::{Piece, Why, Writer, beside};
use crate::settings::Lost;

/// Members of a request that are translated.
const CARRIED: [&str; 15] = [
    "max_tokens",
    "messages",
    "metadata",
    "model",
    "output_config",
    "output_format",
    "stop_sequences",
    "stream",
    "system",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
];

/// Converts a request to chat completions.
pub fn to_chat(asked: &Value, lost: &mut Lost) -> Result<Value, String> {
    lost.rest(asked, "", &CARRIED, &["container", "mcp_servers"]);
    let mut out = Map::new();
    copy(
        asked,
        &mut out,
        &[
            ("model", "model"),
            ("stream", "stream"),
            ("max_tokens", "max_tokens"),
            ("temperature", "temperature"),
            ("top_p", "top_p"),
            ("top_k", "top_k"),
            ("stop_sequences", "stop"),
        ],
    );
    let mut messages = vec![];
    let system = match form::content(asked, "system")? {
        Content::Text(system) => system.to_owned(),
        Content::Parts(blocks) => {
            for block in blocks {
                lost.rest(block, "", &["type", "text"], &[]);
            }
            texts("system", blocks)?.join("\n\n")
        }
    };
    if !system.is_empty() {
        messages.push(json!({"role": "system", "content": system}));
    }
    for (index, message) in super::messages_of(asked)?.iter().enumerate() {
        self::message(message, &mut messages, lost).map_err(form::at("messages", index))?;
    }
    out.insert("messages".to_owned(), Value::Array(messages));
    let mut tools = vec![];
    for tool in form::objects(asked, "tools")? {
        let Some(schema) = tool.get("input_schema") else {
            let what = text(tool, "type");
            lost.refuse(format!(
                "the tool {what:?} runs on Anthropic's own servers, which the gateway does not call"
            ));
            continue;
        };
        let carried = ["type", "name", "description", "input_schema", "strict"];
        lost.rest(tool, "tools.", &carried, &[]);
        tools.push(function(tool, Some(schema)));
    }
    if !tools.is_empty() {
        out.insert("tools".to_owned(), Value::Array(tools));
    }
    if let Some(choice) = asked.get("tool_choice") {
        let choice_of = match text(choice, "type") {
            "auto" => "auto".into(),
            "any" => "required".into(),
            "none" => "none".into(),
            "tool" => json!({"type": "function", "function": {"name": (text(choice, "name"))}}),
            other => return Err(format!("`tool_choice` of type {other:?} is not known")),
        };
        out.insert("tool_choice".to_owned(), choice_of);
        let single = choice
            .get("disable_parallel_tool_use")
            .and_then(Value::as_bool);
        if single == Some(true) {
            out.insert("parallel_tool_calls".to_owned(), Value::Bool(false));
        }
    }
    settings(asked, &mut out, lost)?;
    Ok(Value::Object(out))
}

/// The texts of blocks that are nothing else.
fn texts<'v>(key: &str, blocks: &'v [Value]) -> Result<Vec<&'v str>, String> {
    let text = |(index, block)| {
        let words = match text(block, "type") {
            "text" => form::text(block, "text"),
            other => Err(format!("content of type {other:?} is not known")),
        };
        words.map_err(form::at(key, index))
    };
    blocks.iter().enumerate().map(text).collect()
}

/// Converts the settings that are named or nested differently.
fn settings(asked: &Value, out: &mut Map, lost: &mut Lost) -> Result<(), String> {
    let own = form::object(asked, "metadata")?;
    copy(own, out, &[("user_id", "user")]);
    lost.rest(own, "metadata.", &["user_id"], &[]);
    let config = form::object(asked, "output_config")?;
    lost.rest(config, "output_config.", &["effort", "format"], &[]);
    copy(config, out, &[("effort", "reasoning_effort")]);
    let format = match form::object(config, "format")? {
        Value::Null => form::object(asked, "output_format")?,
        format => format,
    };
    if !format.is_null() {
        let schema = format.get("schema").cloned().unwrap_or_default();
        out.insert("response_format".to_owned(), super::schema(schema));
    }
    let thinking = form::object(asked, "thinking")?;
    lost.rest(thinking, "thinking.", &["type"], &[]);
    match text(thinking, "type") {
        "" => {}
        "disabled" => {
            out.insert("reasoning_effort".to_owned(), "none".into());
        }
        // Translated further for a server that can only switch it.
        _ => {
            out.insert("thinking".to_owned(), Value::Bool(true));
        }
    }
    Ok(())
}

fn message(message: &Value, out: &mut Vec<Value>, lost: &mut Lost) -> Result<(), String> {
    lost.rest(message, "messages.", &["role", "content"], &[]);
    let role = form::text(message, "role")?;
    let blocks = match form::content(message, "content")? {
        Content::Text(content) => {
            out.push(json!({"role": role, "content": content}));
            return Ok(());
        }
        Content::Parts(_) if message.get("content").is_none_or(Value::is_null) => {
            return Err("`content` is missing".to_owned());
        }
        Content::Parts(blocks) => blocks,
    };
    let mut own = Own::default();
    for (index, block) in blocks.iter().enumerate() {
        self::block(block, &mut own, out, lost).map_err(form::at("content", index))?;
    }
    let Own {
        parts,
        calls,
        thought,
    } = own;
    if parts.is_empty() && calls.is_empty() && thought.is_empty() {
        return Ok(());
    }
    let mut own = Map::new();
    own.insert("role".to_owned(), role.into());
    own.insert("content".to_owned(), content(parts));
    if !thought.is_empty() {
        own.insert("reasoning_content".to_owned(), thought.into());
    }
    if !calls.is_empty() {
        own.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    out.push(Value::Object(own));
    Ok(())
}

/// What a message says itself. Results in it are messages of their own.
#[derive(Default)]
struct Own {
    parts: Vec<Value>,
    calls: Vec<Value>,
    thought: String,
}

fn block(
    block: &Value,
    own: &mut Own,
    out: &mut Vec<Value>,
    lost: &mut Lost,
) -> Result<(), String> {
    let carried: &[&str] = match text(block, "type") {
        "text" => &["type", "text"],
        "thinking" => &["type", "thinking", "signature"],
        "image" => &["type", "source"],
        "tool_use" => &["type", "id", "name", "input"],
        "tool_result" => &["type", "tool_use_id", "content", "is_error"],
        _ => &["type"],
    };
    lost.rest(block, "", carried, &[]);
    match text(block, "type") {
        "text" => own
            .parts
            .push(json!({"type": "text", "text": (form::text(block, "text")?)})),
        "image" => own.parts.push(image(block)?),
        "thinking" => own.thought.push_str(form::text(block, "thinking")?),
        "redacted_thinking" => lost.ignore("redacted_thinking"),
        "tool_use" => {
            let input = block.get("input").cloned().unwrap_or_else(|| json!({}));
            own.calls.push(call(
                form::text(block, "id")?,
                form::text(block, "name")?,
                &input.to_string(),
            ));
        }
        "tool_result" => out.push(result(block)?),
        other => return Err(format!("content of type {other:?} is not known")),
    }
    Ok(())
}

fn image(block: &Value) -> Result<Value, String> {
    let source = form::object(block, "source")?;
    let url = match text(source, "type") {
        "base64" => format!(
            "data:{};base64,{}",
            form::text(source, "media_type")?,
            form::text(source, "data")?
        ),
        "url" => form::text(source, "url")?.to_owned(),
        other => return Err(format!("an image of source {other:?} is not known")),
    };
    Ok(json!({"type": "image_url", "image_url": {"url": url}}))
}

fn result(block: &Value) -> Result<Value, String> {
    let mut words = match form::content(block, "content")? {
        Content::Text(words) => words.to_owned(),
        Content::Parts(parts) => texts("content", parts)?.join("\n"),
    };
    if block.get("is_error").and_then(Value::as_bool) == Some(true) {
        words = format!("Error: {words}");
    }
    let id = form::text(block, "tool_use_id")?;
    Ok(json!({"role": "tool", "tool_call_id": id, "content": words}))
}

/// Writes the stream: blocks, one after another.
#[derive(Default)]
pub struct Messages {
    begun: bool,
    open: Option<Block>,
    /// The number of the next block.
    next: u64,
    /// The end of a server of the same protocol: its usage has more members.
    end: serde_json::Value,
}

fn event(value: &serde_json::Value, out: &mut Vec<u8>) {
    let name = value["type"].as_str().unwrap_or_default();
    out.extend_from_slice(format!("event: {name}\ndata: {value}\n\n").as_bytes());
}

fn usage(head: &Head) -> serde_json::Value {
    let usage = head.usage.unwrap_or_default();
    let cached = usage.cached.unwrap_or_default();
    plain!({
        "input_tokens": usage.prompt.saturating_sub(cached), "output_tokens": usage.completion,
        "cache_read_input_tokens": cached, "cache_creation_input_tokens": 0,
    })
}

fn id(head: &Head) -> String {
    match head.id.starts_with("msg_") {
        true => head.id.clone(),
        false => format!("msg_{}", head.id),
    }
}

fn word(reason: Option<Why>) -> &'static str {
    match reason {
        Some(Why::ToolCalls) => "tool_use",
        Some(Why::Length) => "max_tokens",
        Some(Why::Filter) => "refusal",
        Some(Why::Stop) | None => "end_turn",
    }
}

impl Messages {
    fn begin(&mut self, head: &Head, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        let message = plain!({
            "id": id(head), "type": "message", "role": "assistant", "model": head.model, "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": usage(head),
        });
        event(&plain!({"type": "message_start", "message": message}), out);
    }

    fn close_block(&mut self, out: &mut Vec<u8>) {
        if self.open.take().is_some() {
            let index = self.next - 1;
            event(&plain!({"type": "content_block_stop", "index": index}), out);
        }
    }

    fn block(&mut self, kind: Block, start: &serde_json::Value, out: &mut Vec<u8>) {
        let joins = matches!(kind, Block::Text | Block::Thought);
        if self.open == Some(kind) && joins {
            return;
        }
        self.close_block(out);
        event(
            &plain!({"type": "content_block_start", "index": self.next, "content_block": start}),
            out,
        );
        self.open = Some(kind);
        self.next += 1;
    }

    fn delta(&self, delta: &serde_json::Value, out: &mut Vec<u8>) {
        let index = self.next.saturating_sub(1);
        event(
            &plain!({"type": "content_block_delta", "index": index, "delta": delta}),
            out,
        );
    }

    /// Writes an event of the server's that nothing reads, with the number that its block has here.
    fn other(&mut self, event: &serde_json::Value, out: &mut Vec<u8>) {
        match event["type"].as_str().unwrap_or_default() {
            "content_block_start" => self.block(Block::Other, &event["content_block"], out),
            "content_block_delta" => {
                let of = match event["delta"]["type"].as_str().unwrap_or_default() {
                    "signature_delta" => Block::Thought,
                    "citations_delta" => Block::Text,
                    _ => Block::Other,
                };
                if self.open == Some(of) {
                    self.delta(&event["delta"], out);
                }
            }
            _ if self.open == Some(Block::Other) => self.close_block(out),
            _ => {}
        }
    }
}

impl Writer for Messages {
    fn came(&mut self, bytes: &[u8]) {
        if memchr::memmem::find(bytes, b"message_delta").is_none() {
            return;
        }
        for read in documents(bytes) {
            if read["type"] == "message_delta" {
                self.end = read;
            }
        }
    }

    /// Blocks that the server wrote count like those written here.
    fn passed(&mut self, bytes: &[u8]) {
        let told = |what: &[u8]| memchr::memmem::find(bytes, what).is_some();
        if !told(b"content_block_st") && !told(b"message_start") {
            return;
        }
        for read in documents(bytes) {
            match read["type"].as_str().unwrap_or_default() {
                "message_start" => self.begun = true,
                "content_block_stop" => self.open = None,
                "content_block_start" => {
                    self.next = read["index"].as_u64().unwrap_or_default() + 1;
                    self.open = Some(Block::of(&read["content_block"]));
                }
                _ => {}
            }
        }
    }

    fn waits(&self, bytes: &[u8], before: bool) -> bool {
        let told = |what: &[u8]| memchr::memmem::find(bytes, what).is_some();
        // Anthropic's server sends one after the start of the first block.
        told(b"content_block_start") || before && told(b"event: ping")
    }

    fn piece(&mut self, piece: &Piece, head: &Head, out: &mut Vec<u8>) {
        self.begin(head, out);
        match piece {
            Piece::Begin => {}
            Piece::Other(event) => self.other(event, out),
            Piece::Text(text) => {
                self.block(Block::Text, &plain!({"type": "text", "text": ""}), out);
                self.delta(&plain!({"type": "text_delta", "text": text}), out);
            }
            Piece::Thought(text) => {
                let start = plain!({"type": "thinking", "thinking": "", "signature": ""});
                self.block(Block::Thought, &start, out);
                self.delta(&plain!({"type": "thinking_delta", "thinking": text}), out);
            }
            Piece::Call { id, name, .. } => {
                let start = plain!({"type": "tool_use", "id": id, "name": name, "input": {}});
                self.block(Block::Call, &start, out);
            }
            Piece::Arguments { json, .. } => {
                self.delta(
                    &plain!({"type": "input_json_delta", "partial_json": json}),
                    out,
                );
            }
            Piece::End { reason, void, left } => {
                self.close_block(out);
                let delta = plain!({"stop_reason": word(Some(*reason)), "stop_sequence": null});
                let mut last =
                    plain!({"type": "message_delta", "delta": delta, "usage": usage(head)});
                if let Some(beside) = beside(void, left) {
                    last["toolglot"] = beside;
                }
                for key in ["delta", "usage"] {
                    super::fill(&mut last[key], &self.end[key]);
                }
                super::fill(&mut last, &self.end);
                event(&last, out);
                event(&plain!({"type": "message_stop"}), out);
            }
            Piece::Failed { message, kind, .. } => {
                event(&error(faults::anthropic(kind), message), out);
            }
        }
    }
}

pub fn error(kind: &str, message: &str) -> serde_json::Value {
    plain!({"type": "error", "error": {"type": kind, "message": message}})
}

/// Adds a block of the server's as it came, or the end of one to the block that it belongs to.
fn add(other: &serde_json::Value, blocks: &mut Vec<serde_json::Value>) {
    let (kind, place, said) = match other["type"].as_str().unwrap_or_default() {
        "signature_delta" => ("thinking", "signature", &other["signature"]),
        "citations_delta" => ("text", "citations", &other["citation"]),
        _ => return blocks.push(other.clone()),
    };
    let Some(last) = blocks.last_mut().filter(|last| last["type"] == kind) else {
        return;
    };
    match (last[place].as_array_mut(), place) {
        (Some(have), _) => have.push(said.clone()),
        (None, "citations") => last[place] = plain!([said]),
        (None, _) => last[place] = said.clone(),
    }
}

pub fn whole(reply: &Gathered, head: &Head) -> serde_json::Value {
    let mut blocks: Vec<serde_json::Value> = vec![];
    for part in &reply.parts {
        match part {
            Part::Text(text) => blocks.push(plain!({"type": "text", "text": text})),
            Part::Thought(text) => {
                blocks.push(plain!({"type": "thinking", "thinking": text, "signature": ""}));
            }
            Part::Call {
                id,
                name,
                arguments,
            } => {
                let input = super::input(arguments);
                blocks.push(plain!({"type": "tool_use", "id": id, "name": name, "input": input}));
            }
            Part::Other(other) => add(other, &mut blocks),
        }
    }
    let mut out = plain!({
        "id": id(head), "type": "message", "role": "assistant", "model": head.model, "content": blocks,
        "stop_reason": word(reply.reason), "stop_sequence": null, "usage": usage(head),
    });
    if let Some(beside) = &reply.beside {
        out["toolglot"] = beside.clone();
    }
    out
}
