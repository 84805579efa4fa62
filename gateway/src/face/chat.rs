//! Chat completions, from a server with another protocol.

use serde_json::{Value, json};
use toolglot::sink::openai::{Delta, Head, Reason};

use crate::engine::gathered::Gathered;
use crate::engine::pieces::{Piece, Why, Writer};

/// Writes the stream: chunks, and `[DONE]`.
pub struct Chat {
    /// The client asked for the usage, which is a chunk of its own.
    usage: bool,
}

impl Chat {
    pub fn new(asked: &toolglot::json::Value) -> Self {
        let usage = asked.pointer("/stream_options/include_usage");
        Self {
            usage: usage.and_then(toolglot::json::Value::as_bool) == Some(true),
        }
    }
}

impl Writer for Chat {
    fn piece(&mut self, piece: &Piece, head: &Head, out: &mut Vec<u8>) {
        let delta = match piece {
            // Only a client of `/v1/responses` gets it.
            Piece::Other(_) => return,
            Piece::Begin => Delta::Role,
            Piece::Text(text) => Delta::Content(text),
            Piece::Thought(text) => Delta::Reasoning {
                field: "reasoning_content",
                text,
            },
            Piece::Call { index, id, name } => Delta::Call {
                index: *index,
                id,
                name,
            },
            Piece::Arguments { index, json } => Delta::Arguments {
                index: *index,
                json,
            },
            Piece::End { reason, void, left } => Delta::Finish {
                reason: match reason {
                    Why::ToolCalls => Reason::ToolCalls,
                    Why::Stop => Reason::Stop,
                    Why::Length | Why::Filter => Reason::Length,
                },
                void,
                left,
            },
            Piece::Failed { message, kind, .. } => Delta::Error { message, kind },
        };
        let mut silent = head.clone();
        silent.usage = None;
        let mut line = delta.to_json(&silent);
        if let Piece::End { reason, .. } = piece
            && *reason == Why::Filter
        {
            // The library's deltas have no such reason.
            let mut chunk: Value = serde_json::from_str(&line).unwrap_or_default();
            chunk["choices"][0]["finish_reason"] = word(Some(*reason)).into();
            line = chunk.to_string();
        }
        out.extend_from_slice(format!("data: {line}\n\n").as_bytes());
        if let (Piece::End { .. }, true, Some(usage)) = (piece, self.usage, usage(head)) {
            let chunk = json!({
                "id": head.id, "object": "chat.completion.chunk", "created": head.created, "model": head.model,
                "choices": [], "usage": usage,
            });
            out.extend_from_slice(format!("data: {chunk}\n\n").as_bytes());
        }
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"data: [DONE]\n\n");
    }
}

fn word(reason: Option<Why>) -> &'static str {
    match reason {
        Some(Why::ToolCalls) => "tool_calls",
        Some(Why::Length) => "length",
        Some(Why::Filter) => "content_filter",
        Some(Why::Stop) | None => "stop",
    }
}

fn usage(head: &Head) -> Option<Value> {
    let usage = head.usage?;
    let mut out = json!({
        "prompt_tokens": usage.prompt, "completion_tokens": usage.completion,
        "total_tokens": usage.prompt.saturating_add(usage.completion),
    });
    if let Some(cached) = usage.cached {
        out["prompt_tokens_details"] = json!({"cached_tokens": cached});
    }
    Some(out)
}

pub fn whole(reply: &Gathered, head: &Head) -> Value {
    let calls: Vec<Value> = reply
        .calls()
        .map(|(id, name, arguments)| {
            json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
        })
        .collect();
    let (text, thought) = (reply.text(), reply.thought());
    let mut message = json!({"role": "assistant", "content": text});
    if !calls.is_empty() {
        if text.is_empty() {
            message["content"] = Value::Null;
        }
        message["tool_calls"] = calls.into();
    }
    if !thought.is_empty() {
        message["reasoning_content"] = thought.into();
    }
    let mut out = json!({
        "id": head.id, "object": "chat.completion", "created": head.created, "model": head.model,
        "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": word(reply.reason)}],
    });
    if let Some(usage) = usage(head) {
        out["usage"] = usage;
    }
    if let Some(beside) = &reply.beside {
        out["toolglot"] = beside.clone();
    }
    out
}
