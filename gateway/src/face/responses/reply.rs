//! Writes a response of `/v1/responses`.

use std::collections::BTreeMap;

use serde_json::json as plain;
use toolglot::json::Value;
use toolglot::sink::openai::Head;

use crate::engine::documents;
use crate::engine::gathered::{Gathered, Part};
use crate::engine::is_read;
use crate::engine::pieces::{Piece, Why, Writer, beside};
use crate::face::{faults, fill};

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
    /// The response as a server of the same protocol told it last.
    told: serde_json::Value,
    /// The calls of that server, by their ids.
    own: BTreeMap<String, serde_json::Value>,
    number: u64,
    begun: bool,
    open: Option<Open>,
    /// The id of the open item, and its place in the output.
    item: String,
    place: usize,
    /// Complete parts of the open item, and whether another one is open.
    parts: Vec<serde_json::Value>,
    part: bool,
    /// Text or thought of that part, or arguments of the open call.
    kept: String,
    call: (String, String),
    /// All items that have begun.
    output: Vec<serde_json::Value>,
    /// Places of the items that are forwarded, by those that the server gave them.
    places: BTreeMap<u64, usize>,
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

/// `told`: the response of a server of the same protocol, whose other members stay.
fn response(
    (echo, told): (&serde_json::Value, &serde_json::Value),
    head: &Head,
    status: &str,
    output: &[serde_json::Value],
) -> serde_json::Value {
    if told.is_object() {
        let mut out = told.clone();
        out["output"] = output.into();
        out["status"] = status.into();
        return out;
    }
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
        if response["incomplete_details"].is_null() {
            response["incomplete_details"] = plain!({"reason": short});
        }
    }
    if let Some(left) = left {
        response["toolglot"] = left.clone();
    }
    response
}

fn text_part(text: &str) -> serde_json::Value {
    plain!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

fn thought_part(text: &str) -> serde_json::Value {
    plain!({"type": "reasoning_text", "text": text})
}

fn text_item(id: &str, parts: &[serde_json::Value]) -> serde_json::Value {
    plain!({"type": "message", "id": id, "role": "assistant", "status": "completed", "content": parts})
}

fn thought_item(id: &str, parts: &[serde_json::Value]) -> serde_json::Value {
    plain!({"type": "reasoning", "id": id, "summary": [], "content": parts})
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

fn word(value: &serde_json::Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Gives a call the id and the other members that its server gave it.
fn adopt(item: &mut serde_json::Value, own: &serde_json::Value) {
    if own["id"].is_string() {
        item["id"] = own["id"].clone();
    }
    fill(item, own);
}

impl Responses {
    pub fn new(asked: &Value) -> Self {
        Self {
            echo: echo(asked),
            told: serde_json::Value::Null,
            own: BTreeMap::new(),
            number: 0,
            begun: false,
            open: None,
            item: String::new(),
            place: 0,
            parts: vec![],
            part: false,
            kept: String::new(),
            call: Default::default(),
            output: vec![],
            places: BTreeMap::new(),
        }
    }

    fn event(&mut self, mut value: serde_json::Value, out: &mut Vec<u8>) {
        value["sequence_number"] = self.number.into();
        self.number += 1;
        let name = value["type"].as_str().unwrap_or_default();
        out.extend_from_slice(format!("event: {name}\ndata: {value}\n\n").as_bytes());
    }

    /// An event of the open item.
    fn say(&mut self, kind: &str, more: &serde_json::Value, out: &mut Vec<u8>) {
        let mut value = plain!({"type": kind, "item_id": self.item, "output_index": self.place});
        if self.open != Some(Open::Call) {
            value["content_index"] = self.parts.len().into();
        }
        fill(&mut value, more);
        self.event(value, out);
    }

    fn id(&self, open: Open, head: &Head) -> String {
        let kind = match open {
            Open::Text => "msg",
            Open::Thought => "rs",
            Open::Call => "fc",
        };
        format!("{kind}_{}_{}", head.id, self.output.len())
    }

    fn response(&self, head: &Head, status: &str) -> serde_json::Value {
        response((&self.echo, &self.told), head, status, &self.output)
    }

    fn begin(&mut self, head: &Head, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        for kind in ["response.created", "response.in_progress"] {
            let response = self.response(head, "in_progress");
            self.event(plain!({"type": kind, "response": response}), out);
        }
    }

    /// Closes the open part of the open item.
    fn close_part(&mut self, out: &mut Vec<u8>) {
        if !std::mem::take(&mut self.part) {
            return;
        }
        let kept = std::mem::take(&mut self.kept);
        let (kind, part, more) = match self.open {
            Some(Open::Thought) => (
                "reasoning_text",
                thought_part(&kept),
                plain!({"text": kept}),
            ),
            _ => {
                let more = plain!({"text": kept, "logprobs": []});
                ("output_text", text_part(&kept), more)
            }
        };
        self.say(&format!("response.{kind}.done"), &more, out);
        self.say("response.content_part.done", &plain!({"part": part}), out);
        self.parts.push(part);
    }

    /// Closes the open item.
    fn close_item(&mut self, out: &mut Vec<u8>) {
        self.close_part(out);
        let Some(open) = self.open else { return };
        let parts = std::mem::take(&mut self.parts);
        let item = match open {
            Open::Text => text_item(&self.item, &parts),
            Open::Thought => thought_item(&self.item, &parts),
            Open::Call => {
                let kept = std::mem::take(&mut self.kept);
                let (call, name) = &self.call;
                let mut item = call_item(&self.item, (call, name), &kept, "completed");
                if let Some(own) = self.own.get(call) {
                    adopt(&mut item, own);
                }
                let more = plain!({"name": name, "arguments": kept});
                self.say("response.function_call_arguments.done", &more, out);
                item
            }
        };
        self.event(
            plain!({"type": "response.output_item.done", "output_index": self.place, "item": item}),
            out,
        );
        self.put(self.place, item);
        self.open = None;
    }

    /// Keeps an item at its place.
    fn put(&mut self, place: usize, item: serde_json::Value) {
        if self.output.len() <= place {
            self.output.resize(place + 1, serde_json::Value::Null);
        }
        self.output[place] = item;
    }

    fn open(&mut self, open: Open, head: &Head, out: &mut Vec<u8>) {
        if self.open != Some(open) || open == Open::Call {
            self.close_item(out);
            self.item = self.id(open, head);
            self.place = self.output.len();
            let id = &self.item;
            let mut item = match open {
                Open::Text => {
                    plain!({"type": "message", "id": id, "role": "assistant", "status": "in_progress", "content": []})
                }
                Open::Thought => {
                    plain!({"type": "reasoning", "id": id, "summary": [], "content": []})
                }
                Open::Call => call_item(id, (&self.call.0, &self.call.1), "", "in_progress"),
            };
            if let (Open::Call, Some(own)) = (open, self.own.get(&self.call.0)) {
                adopt(&mut item, own);
                self.item = word(&item["id"]);
            }
            self.open = Some(open);
            self.put(self.place, item.clone());
            self.event(
                plain!({"type": "response.output_item.added", "output_index": self.place, "item": item}),
                out,
            );
        }
        let part = match open {
            Open::Text => text_part(""),
            Open::Thought => thought_part(""),
            Open::Call => return,
        };
        if !std::mem::replace(&mut self.part, true) {
            self.say("response.content_part.added", &plain!({"part": part}), out);
        }
    }

    fn delta(&mut self, kind: &str, text: &str, out: &mut Vec<u8>) {
        self.kept.push_str(text);
        let mut more = plain!({"delta": text});
        if self.open == Some(Open::Text) {
            more["logprobs"] = plain!([]);
        }
        self.say(kind, &more, out);
    }

    /// Forwards an event that is not read, at the place that its item has here.
    fn forward(&mut self, event: &serde_json::Value, out: &mut Vec<u8>) {
        let mut event = event.clone();
        if let Some(at) = event["output_index"].as_u64() {
            let known = self.places.get(&at).copied();
            let place = known.unwrap_or_else(|| {
                self.close_item(out);
                self.places.insert(at, self.output.len());
                self.output.len()
            });
            if event["item"].is_object() {
                self.put(place, event["item"].clone());
            }
            event["output_index"] = place.into();
        }
        self.event(event, out);
    }
}

impl Writer for Responses {
    fn came(&mut self, bytes: &[u8]) {
        let told = |what: &[u8]| memchr::memmem::find(bytes, what).is_some();
        if !told(b"\"response\"") && !told(b"\"function_call\"") {
            return;
        }
        for event in documents(bytes) {
            let kind = event["type"].as_str().unwrap_or_default();
            if kind.starts_with("response.") && event["response"].is_object() {
                self.told = event["response"].clone();
            }
            let item = &event["item"];
            if kind.starts_with("response.output_item.") && item["type"] == "function_call" {
                self.own.insert(word(&item["call_id"]), item.clone());
            }
        }
    }

    /// Items that the server wrote count like those written here.
    fn passed(&mut self, bytes: &[u8]) {
        for event in documents(bytes) {
            if let Some(number) = event["sequence_number"].as_u64() {
                self.number = number + 1;
            }
            let at = event["output_index"].as_u64().unwrap_or_default();
            let place = usize::try_from(at).unwrap_or_default();
            let item = &event["item"];
            match event["type"].as_str().unwrap_or_default() {
                "response.created" => self.begun = true,
                "response.output_item.added" => {
                    self.put(place, item.clone());
                    if !is_read(item) {
                        self.places.insert(at, place);
                        continue;
                    }
                    (self.item, self.place) = (word(&item["id"]), place);
                    self.kept.clear();
                    self.parts.clear();
                    self.part = false;
                    self.open = match item["type"].as_str() {
                        Some("message") => Some(Open::Text),
                        Some("reasoning") => Some(Open::Thought),
                        Some(_) | None => Some(Open::Call),
                    };
                    self.call = (word(&item["call_id"]), word(&item["name"]));
                }
                "response.content_part.added" => {
                    self.part = true;
                    self.kept.clear();
                }
                "response.content_part.done" => {
                    self.part = false;
                    self.kept.clear();
                    self.parts.push(event["part"].clone());
                }
                "response.output_text.delta" | "response.reasoning_text.delta" => {
                    self.part = true;
                    self.kept.push_str(&word(&event["delta"]));
                }
                "response.function_call_arguments.delta" => {
                    self.kept.push_str(&word(&event["delta"]));
                }
                "response.output_item.done" => {
                    self.put(place, item.clone());
                    if is_read(item) {
                        self.open = None;
                        self.part = false;
                        self.kept.clear();
                        self.parts.clear();
                    }
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
            Piece::Other(event) => self.forward(event, out),
            Piece::End { reason, void, left } => {
                self.close_item(out);
                let response = self.response(head, "completed");
                let left = beside(void, left);
                let response = ended(response, Some(*reason), left.as_ref());
                let kind = match reason {
                    Why::Length | Why::Filter => "response.incomplete",
                    Why::Stop | Why::ToolCalls => "response.completed",
                };
                self.event(plain!({"type": kind, "response": response}), out);
            }
            Piece::Failed {
                message,
                kind,
                code,
            } => {
                self.close_item(out);
                let mut response = self.response(head, "failed");
                // A server of the same protocol tells its error in the response.
                if response["error"].is_null() {
                    let code = code.as_deref().unwrap_or(faults::code(kind));
                    response["error"] =
                        plain!({"code": code, "message": format!("{kind}: {message}")});
                }
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
        Part::Text(text) => text_item(&id("msg", at), &[text_part(text)]),
        Part::Thought(text) => thought_item(&id("rs", at), &[thought_part(text)]),
        Part::Call {
            id: call,
            name,
            arguments,
        } => call_item(&id("fc", at), (call, name), arguments, "completed"),
        Part::Other(item) => item.clone(),
    });
    let output: Vec<serde_json::Value> = output.collect();
    let none = serde_json::Value::Null;
    let response = response((&echo(asked), &none), head, "completed", &output);
    ended(response, reply.reason, reply.beside.as_ref())
}

/// The other members of a whole body of the same protocol stay.
pub fn keep(body: &serde_json::Value, whole: &mut serde_json::Value) {
    let calls = body["output"].as_array().into_iter().flatten();
    let calls: Vec<_> = calls
        .filter(|item| item["type"] == "function_call")
        .collect();
    for item in whole["output"].as_array_mut().into_iter().flatten() {
        let own = calls.iter().find(|own| own["call_id"] == item["call_id"]);
        if let Some(own) = own.filter(|_| item["type"] == "function_call") {
            adopt(item, own);
        }
    }
    let mut out = body.clone();
    for key in ["output", "status", "toolglot"] {
        if let Some(value) = whole.get(key) {
            out[key] = value.clone();
        }
    }
    if out["incomplete_details"].is_null() {
        out["incomplete_details"] = whole["incomplete_details"].clone();
    }
    *whole = out;
}
