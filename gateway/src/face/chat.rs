//! Chat completions, from a server with another protocol.

use serde_json::{Value, json};
use toolglot::sink::openai::{Delta, Head, Reason};

use super::Writer;
use crate::engine::gathered::Gathered;
use crate::engine::pieces::Piece;

/// Writes the stream: chunks, and `[DONE]`.
pub struct Chat;

impl Writer for Chat {
    fn piece(&mut self, piece: &Piece, head: &Head, out: &mut Vec<u8>) {
        let delta = match piece {
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
                reason: *reason,
                void,
                left,
            },
            Piece::Failed { message, kind } => Delta::Error { message, kind },
        };
        out.extend_from_slice(format!("data: {}\n\n", delta.to_json(head)).as_bytes());
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"data: [DONE]\n\n");
    }
}

pub fn word(reason: Option<Reason>) -> &'static str {
    match reason {
        Some(Reason::ToolCalls) => "tool_calls",
        Some(Reason::Length) => "length",
        _ => "stop",
    }
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
    if let Some(usage) = head.usage {
        out["usage"] = json!({
            "prompt_tokens": usage.prompt, "completion_tokens": usage.completion,
            "total_tokens": usage.prompt.saturating_add(usage.completion),
        });
    }
    if let Some(beside) = &reply.beside {
        out["toolglot"] = beside.clone();
    }
    out
}
