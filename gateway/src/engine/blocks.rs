//! Blocks of Anthropic's replies of which no reader knows: what stays between a server and a client of this protocol.

use toolglot::json::{Map, Value, json};

use super::documents;

/// The kinds of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    Text,
    Thought,
    Call,
    /// Of the server, written as it came: a search of its own, or an encrypted thought.
    Other,
}

impl Block {
    pub fn of(block: &serde_json::Value) -> Self {
        match block["type"].as_str() {
            Some("text") => Self::Text,
            Some("thinking") => Self::Thought,
            Some("tool_use") => Self::Call,
            Some(_) | None => Self::Other,
        }
    }
}

/// Returns what no reader knows of an event of a server with the same protocol. `open`: it belongs to a block that is not known.
pub fn others(bytes: &[u8], open: &mut bool) -> Vec<serde_json::Value> {
    let told = |what: &[u8]| memchr::memmem::find(bytes, what).is_some();
    if !*open
        && !told(b"content_block_start")
        && !told(b"signature_delta")
        && !told(b"citations_delta")
    {
        return vec![];
    }
    let others = documents(bytes).filter(|event| {
        let kind = event["delta"]["type"].as_str().unwrap_or_default();
        match event["type"].as_str().unwrap_or_default() {
            "content_block_start" => {
                *open = Block::of(&event["content_block"]) == Block::Other;
                *open
            }
            "content_block_delta" => {
                *open || ["signature_delta", "citations_delta"].contains(&kind)
            }
            "content_block_stop" => std::mem::take(open),
            _ => false,
        }
    });
    others.collect()
}

/// Returns the events of a stream that says the same as a whole body, if it is a reply.
pub fn events(body: &[u8]) -> Option<Vec<Vec<u8>>> {
    let body: Value = std::str::from_utf8(body).ok()?.parse().ok()?;
    let blocks = body.get("content").and_then(Value::as_array)?;
    let mut out = vec![];
    let mut say = |kind: &str, key: &str, value: &Value| {
        let event = json!({"type": kind, key: (value.clone())});
        out.push(format!("data: {event}\n\n").into_bytes());
    };
    let mut message = body.as_object().cloned().unwrap_or_default();
    message.insert("content".to_owned(), Value::Array(vec![]));
    say("message_start", "message", &Value::Object(message));
    for block in blocks {
        let words = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
        let (start, deltas) = match words("type") {
            "text" => {
                let mut deltas = vec![json!({"type": "text_delta", "text": (words("text"))})];
                deltas.extend(
                    block
                        .get("citations")
                        .and_then(Value::as_array)
                        .into_iter()
                        .flatten()
                        .map(|one| json!({"type": "citations_delta", "citation": (one.clone())})),
                );
                (json!({"type": "text", "text": ""}), deltas)
            }
            "thinking" => {
                let deltas = vec![
                    json!({"type": "thinking_delta", "thinking": (words("thinking"))}),
                    json!({"type": "signature_delta", "signature": (words("signature"))}),
                ];
                (
                    json!({"type": "thinking", "thinking": "", "signature": ""}),
                    deltas,
                )
            }
            "tool_use" => {
                let input = block.get("input").map_or("{}".to_owned(), Value::to_string);
                let start = json!({"type": "tool_use", "id": (words("id")), "name": (words("name")), "input": {}});
                (
                    start,
                    vec![json!({"type": "input_json_delta", "partial_json": input})],
                )
            }
            _ => (block.clone(), vec![]),
        };
        say("content_block_start", "content_block", &start);
        for delta in &deltas {
            say("content_block_delta", "delta", delta);
        }
        say("content_block_stop", "index", &Value::Null);
    }
    let mut end = Map::new();
    for key in ["stop_reason", "stop_sequence"] {
        end.insert(key.to_owned(), body.get(key).cloned().unwrap_or_default());
    }
    say("message_delta", "delta", &Value::Object(end));
    say("message_stop", "index", &Value::Null);
    Some(out)
}
