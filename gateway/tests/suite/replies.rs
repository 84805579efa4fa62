//! Replies of servers: text and the server's own calls, and how they end.

use serde_json::{Value, json};

use crate::support::Answer;

/// A part of a reply.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    Text(&'static str),
    /// A call that the server found itself: name and arguments.
    Own(&'static str, &'static str),
}

/// Returns a reply in the protocol of a server. `end`: the finish reason in OpenAI's words.
pub fn said(api: &str, stream: bool, parts: &[Part], end: &str) -> Answer {
    match (api, stream) {
        ("openai", true) => {
            let mut out = String::new();
            let mut push = |delta: Value, reason: Option<&str>| {
                let chunk = json!({
                    "id": "chatcmpl-9", "object": "chat.completion.chunk", "created": 7, "model": "m",
                    "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
                });
                out.push_str(&format!("data: {chunk}\n\n"));
            };
            push(json!({"role": "assistant", "content": ""}), None);
            let mut index = 0;
            for part in parts {
                match part {
                    Part::Text(text) => push(json!({"content": text}), None),
                    Part::Own(name, arguments) => {
                        let function = json!({"name": name, "arguments": arguments});
                        let call = json!({"index": index, "id": format!("own_{index}"), "type": "function", "function": function});
                        push(json!({"tool_calls": [call]}), None);
                        index += 1;
                    }
                }
            }
            push(json!({}), Some(end));
            let usage =
                json!({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}});
            Answer::events(&format!("{out}data: {usage}\n\ndata: [DONE]\n\n"))
        }
        ("openai", false) => {
            let mut message = json!({"role": "assistant", "content": text(parts)});
            let calls: Vec<Value> = own(parts)
                .map(|(at, name, arguments)| {
                    json!({"id": format!("own_{at}"), "type": "function", "function": {"name": name, "arguments": arguments}})
                })
                .collect();
            if !calls.is_empty() {
                message["tool_calls"] = calls.into();
            }
            let body = json!({
                "id": "chatcmpl-9", "object": "chat.completion", "created": 7, "model": "m",
                "choices": [{"index": 0, "message": message, "finish_reason": end}],
                "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
            });
            Answer::json(&body.to_string())
        }
        ("anthropic", true) => {
            let mut out = String::new();
            let mut push = |value: Value| {
                let kind = value["type"].as_str().unwrap();
                out.push_str(&format!("event: {kind}\ndata: {value}\n\n"));
            };
            push(
                json!({"type": "message_start", "message": {"id": "msg_9", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": null, "usage": {"input_tokens": 3, "output_tokens": 0}}}),
            );
            for (index, part) in parts.iter().enumerate() {
                let (start, delta) = match part {
                    Part::Text(text) => (
                        json!({"type": "text", "text": ""}),
                        json!({"type": "text_delta", "text": text}),
                    ),
                    Part::Own(name, arguments) => (
                        json!({"type": "tool_use", "id": format!("own_{index}"), "name": name, "input": {}}),
                        json!({"type": "input_json_delta", "partial_json": arguments}),
                    ),
                };
                push(
                    json!({"type": "content_block_start", "index": index, "content_block": start}),
                );
                push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
                push(json!({"type": "content_block_stop", "index": index}));
            }
            push(
                json!({"type": "message_delta", "delta": {"stop_reason": anthropic(end), "stop_sequence": null}, "usage": {"output_tokens": 4}}),
            );
            push(json!({"type": "message_stop"}));
            Answer::events(&out)
        }
        ("anthropic", false) => {
            let blocks: Vec<Value> = parts
                .iter()
                .map(|part| match part {
                    Part::Text(text) => json!({"type": "text", "text": text}),
                    Part::Own(name, arguments) => {
                        let input: Value = serde_json::from_str(arguments).unwrap();
                        json!({"type": "tool_use", "id": "own_0", "name": name, "input": input})
                    }
                })
                .collect();
            let body = json!({"id": "msg_9", "type": "message", "role": "assistant", "model": "m", "content": blocks, "stop_reason": anthropic(end), "stop_sequence": null, "usage": {"input_tokens": 3, "output_tokens": 4}});
            Answer::json(&body.to_string())
        }
        // OpenAI's server, for a path that it answers itself.
        ("responses", _) => {
            let mut out = String::new();
            let mut number = 0;
            let mut push = |mut event: Value| {
                event["sequence_number"] = number.into();
                number += 1;
                let kind = event["type"].as_str().unwrap();
                out.push_str(&format!("event: {kind}\ndata: {event}\n\n"));
            };
            let response = |status: &str, output: &[Value]| {
                json!({"id": "resp_9", "object": "response", "created_at": 7, "model": "m", "status": status, "output": output,
                    "usage": {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}, "odd": [1.5]})
            };
            let mut items = vec![];
            push(json!({"type": "response.created", "response": response("in_progress", &[])}));
            for (index, part) in parts.iter().enumerate() {
                let id = format!("item_{index}");
                let at = json!({"output_index": index, "item_id": id});
                let with = |kind: &str, more: Value| {
                    let mut event = at.clone();
                    event["type"] = kind.into();
                    for (key, value) in more.as_object().unwrap() {
                        event[key] = value.clone();
                    }
                    event
                };
                let item = |status: &str, words: &str| match part {
                    Part::Text(_) => {
                        json!({"type": "message", "id": id, "role": "assistant", "status": status, "content": [{"type": "output_text", "text": words, "annotations": []}]})
                    }
                    Part::Own(name, _) => {
                        json!({"type": "function_call", "id": id, "call_id": id, "name": name, "arguments": words, "status": status})
                    }
                };
                push(with(
                    "response.output_item.added",
                    json!({"item": item("in_progress", "")}),
                ));
                let words = match part {
                    Part::Text(text) => {
                        push(with(
                            "response.content_part.added",
                            json!({"content_index": 0, "part": {"type": "output_text", "text": ""}}),
                        ));
                        push(with(
                            "response.output_text.delta",
                            json!({"content_index": 0, "delta": text}),
                        ));
                        push(with(
                            "response.output_text.done",
                            json!({"content_index": 0, "text": text}),
                        ));
                        text
                    }
                    Part::Own(_, arguments) => {
                        push(with(
                            "response.function_call_arguments.delta",
                            json!({"delta": arguments}),
                        ));
                        push(with(
                            "response.function_call_arguments.done",
                            json!({"arguments": arguments}),
                        ));
                        arguments
                    }
                };
                let done = item("completed", words);
                push(with("response.output_item.done", json!({"item": done})));
                items.push(done);
            }
            let whole = response("completed", &items);
            push(json!({"type": "response.completed", "response": whole}));
            match stream {
                true => Answer::events(&out),
                false => Answer::json(&whole.to_string()),
            }
        }
        ("ollama", true) => {
            let mut out = String::new();
            for part in parts {
                let message = match part {
                    Part::Text(text) => json!({"role": "assistant", "content": text}),
                    Part::Own(..) => {
                        json!({"role": "assistant", "content": "", "tool_calls": calls(std::slice::from_ref(part))})
                    }
                };
                let line = json!({"model": "m", "created_at": "2025-01-01T00:00:00Z", "message": message, "done": false});
                out.push_str(&format!("{line}\n"));
            }
            let line = last(json!({"role": "assistant", "content": ""}), end);
            Answer::new("application/x-ndjson", &format!("{out}{line}\n"))
        }
        _ => {
            let mut message = json!({"role": "assistant", "content": text(parts)});
            if own(parts).next().is_some() {
                message["tool_calls"] = calls(parts);
            }
            Answer::json(&last(message, end).to_string())
        }
    }
}

fn text(parts: &[Part]) -> String {
    let texts = parts.iter().map(|part| match part {
        Part::Text(text) => *text,
        Part::Own(..) => "",
    });
    texts.collect()
}

fn own(parts: &[Part]) -> impl Iterator<Item = (usize, &str, &str)> {
    let calls = parts.iter().filter_map(|part| match part {
        Part::Own(name, arguments) => Some((*name, *arguments)),
        Part::Text(_) => None,
    });
    calls
        .enumerate()
        .map(|(at, (name, arguments))| (at, name, arguments))
}

/// Calls as Ollama writes them.
fn calls(parts: &[Part]) -> Value {
    let calls = own(parts).map(|(_, name, arguments)| {
        let arguments: Value = serde_json::from_str(arguments).unwrap();
        json!({"function": {"name": name, "arguments": arguments}})
    });
    calls.collect()
}

fn anthropic(end: &str) -> &str {
    match end {
        "stop" => "end_turn",
        "tool_calls" => "tool_use",
        "length" => "max_tokens",
        "content_filter" => "refusal",
        other => other,
    }
}

fn last(message: Value, end: &str) -> Value {
    let end = if end == "tool_calls" { "stop" } else { end };
    json!({"model": "m", "created_at": "2025-01-01T00:00:00Z", "message": message, "done": true, "done_reason": end, "prompt_eval_count": 3, "eval_count": 4})
}
