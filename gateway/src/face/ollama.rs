//! Ollama's `/api/chat`.

use std::collections::VecDeque;

use serde_json::json as plain;
use toolglot::json::{Map, Value, json};
use toolglot::sink::openai::Head;

use super::{call, copy, form, text};
use crate::engine::gathered::Gathered;
use crate::engine::pieces::{Piece, Why, Writer, beside};
use crate::settings::Lost;

/// Options that chat completions have too.
const OPTIONS: [(&str, &str); 9] = [
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("top_k", "top_k"),
    ("min_p", "min_p"),
    ("seed", "seed"),
    ("stop", "stop"),
    ("num_predict", "max_tokens"),
    ("frequency_penalty", "frequency_penalty"),
    ("presence_penalty", "presence_penalty"),
];

/// Converts a request to chat completions.
pub fn to_chat(asked: &Value, lost: &mut Lost) -> Result<Value, String> {
    let carried = [
        "format", "messages", "model", "options", "stream", "think", "tools",
    ];
    lost.rest(asked, "", &carried, &["logprobs", "top_logprobs"]);
    let mut out = Map::new();
    copy(asked, &mut out, &[("model", "model")]);
    // Ollama's own client sends an empty list if there are none, which OpenAI's server refuses.
    if !form::list(asked, "tools")?.is_empty() {
        copy(asked, &mut out, &[("tools", "tools")]);
    }
    let stream = asked.get("stream").and_then(Value::as_bool).unwrap_or(true);
    out.insert("stream".to_owned(), Value::Bool(stream));
    let options = form::object(asked, "options")?;
    lost.rest(options, "options.", &OPTIONS.map(|(own, _)| own), &[]);
    copy(options, &mut out, &OPTIONS);
    // A negative number sets no limit, which is the default elsewhere.
    let max = out.get("max_tokens").and_then(Value::as_f64);
    if max.is_some_and(|max| max < 0.0) {
        out.remove("max_tokens");
    }
    match asked.get("think") {
        None | Some(Value::Null) => {}
        Some(Value::Bool(false)) => {
            out.insert("reasoning_effort".to_owned(), "none".into());
        }
        // Translated further for a server that can only switch it.
        Some(Value::Bool(true)) => {
            out.insert("thinking".to_owned(), Value::Bool(true));
        }
        Some(effort) => {
            out.insert("reasoning_effort".to_owned(), effort.clone());
        }
    }
    match asked.get("format") {
        None | Some(Value::Null) => {}
        Some(Value::String(word)) if word.is_empty() => {}
        Some(Value::String(word)) if word == "json" => {
            out.insert("response_format".to_owned(), json!({"type": "json_object"}));
        }
        Some(schema) => {
            out.insert("response_format".to_owned(), super::schema(schema.clone()));
        }
    }
    let (mut messages, mut calls) = (vec![], Calls::default());
    for (index, message) in super::messages_of(asked)?.iter().enumerate() {
        let own = self::message(message, &mut calls, lost).map_err(form::at("messages", index))?;
        messages.push(own);
    }
    out.insert("messages".to_owned(), Value::Array(messages));
    Ok(Value::Object(out))
}

/// The calls so far. Most clients send no ids: results follow their calls in order.
#[derive(Default)]
struct Calls {
    count: usize,
    /// Id and name of each call without a result.
    open: VecDeque<(String, String)>,
    /// A result has come since the last call.
    answered: bool,
}

impl Calls {
    /// Returns a call of chat completions.
    fn call(&mut self, one: &Value) -> Result<Value, String> {
        let function = form::function(one)?;
        let arguments = function
            .get("arguments")
            .map_or("{}".to_owned(), Value::to_string);
        let id = match form::text(one, "id")? {
            "" => format!("call_{}", self.count),
            id => id.to_owned(),
        };
        self.count += 1;
        if std::mem::take(&mut self.answered) {
            // Those of an earlier turn stay without a result.
            self.open.clear();
        }
        let name = form::text(function, "name")?;
        self.open.push_back((id.clone(), name.to_owned()));
        Ok(call(&id, name, &arguments))
    }

    /// Returns the id of the call that a result belongs to.
    fn answer(&mut self, result: &Value) -> Result<String, String> {
        self.answered = true;
        let (id, name) = (
            form::text(result, "tool_call_id")?,
            form::text(result, "tool_name")?,
        );
        let place = self.open.iter().position(|(own, of)| match id {
            "" => of == name,
            id => own == id,
        });
        if !id.is_empty() {
            place.and_then(|place| self.open.remove(place));
            return Ok(id.to_owned());
        }
        let found = self.open.remove(place.unwrap_or(0));
        Ok(found.map(|(id, _)| id).unwrap_or_default())
    }
}

fn message(message: &Value, calls: &mut Calls, lost: &mut Lost) -> Result<Value, String> {
    let mut own = Map::new();
    let carried = [
        "role",
        "content",
        "thinking",
        "tool_calls",
        "images",
        "tool_name",
        "tool_call_id",
    ];
    lost.rest(message, "messages.", &carried, &[]);
    copy(
        message,
        &mut own,
        &[
            ("role", "role"),
            ("content", "content"),
            ("thinking", "reasoning_content"),
        ],
    );
    let mut made = vec![];
    for (index, one) in form::objects(message, "tool_calls")?.iter().enumerate() {
        made.push(calls.call(one).map_err(form::at("tool_calls", index))?);
    }
    if !made.is_empty() {
        own.insert("tool_calls".to_owned(), Value::Array(made));
    }
    if text(message, "role") == "tool" {
        own.insert("tool_call_id".to_owned(), calls.answer(message)?.into());
    }
    let images = form::list(message, "images")?;
    if !images.is_empty() {
        let words = form::text(message, "content")?;
        let mut parts = vec![json!({"type": "text", "text": words})];
        for (index, image) in images.iter().enumerate() {
            let data = image.as_str();
            let data = data.ok_or_else(|| format!("`images[{index}]` is not a string"))?;
            let url = format!("data:{};base64,{data}", kind(data));
            parts.push(json!({"type": "image_url", "image_url": {"url": url}}));
        }
        own.insert("content".to_owned(), Value::Array(parts));
    }
    Ok(Value::Object(own))
}

/// The media type of an image in base64, by its first bytes; Ollama's protocol does not name it.
fn kind(data: &str) -> &'static str {
    match data {
        data if data.starts_with("/9j/") => "image/jpeg",
        data if data.starts_with("R0lG") => "image/gif",
        data if data.starts_with("UklG") => "image/webp",
        _ => "image/png",
    }
}

/// Writes the stream: one document per line. Calls are sent whole.
#[derive(Default)]
pub struct Ollama {
    name: String,
    arguments: String,
    /// Other members of a server of the same protocol (`logprobs`), for the next line, and those for the last one.
    next: Members,
    last: Members,
}

type Members = serde_json::Map<String, serde_json::Value>;

/// Members of a line that are written here.
const OWN: [&str; 7] = [
    "created_at",
    "done",
    "done_reason",
    "eval_count",
    "message",
    "model",
    "prompt_eval_count",
];

/// The time of a response, in RFC 3339.
fn time(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days since 1 March of year 0 (Howard Hinnant's algorithm).
    let z = days + 719_468;
    let (era, day) = (z / 146_097, z % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let (month, later) = match month {
        0..10 => (month + 3, 0),
        _ => (month - 9, 1),
    };
    let year = year + era * 400 + later;
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Characters that end a line for some readers, including Ollama's own client. JSON allows them unescaped; it always escapes
/// the other such characters.
const LINE_ENDS: [(char, &str); 3] = [
    ('\u{85}', "\\u0085"),
    ('\u{2028}', "\\u2028"),
    ('\u{2029}', "\\u2029"),
];

fn line(value: &serde_json::Value, out: &mut Vec<u8>) {
    let mut text = value.to_string();
    for (end, escape) in LINE_ENDS {
        if text.contains(end) {
            text = text.replace(end, escape);
        }
    }
    text.push('\n');
    out.extend_from_slice(text.as_bytes());
}

fn document(head: &Head, message: serde_json::Value, done: bool) -> serde_json::Value {
    plain!({"model": head.model, "created_at": time(head.created), "message": message, "done": done})
}

fn function(name: &str, arguments: &str) -> serde_json::Value {
    let arguments = super::input(arguments);
    plain!({"function": {"name": name, "arguments": arguments}})
}

fn end(document: &mut serde_json::Value, reason: Option<Why>, head: &Head) {
    document["done_reason"] = match reason {
        Some(Why::Length) => "length".into(),
        Some(Why::Filter) => "content_filter".into(),
        Some(Why::Stop | Why::ToolCalls) | None => "stop".into(),
    };
    if let Some(usage) = head.usage {
        document["prompt_eval_count"] = usage.prompt.into();
        document["eval_count"] = usage.completion.into();
    }
}

impl Ollama {
    /// Sends the current call.
    fn call(&mut self, head: &Head, out: &mut Vec<u8>) {
        if self.name.is_empty() {
            return;
        }
        let (name, arguments) = (
            std::mem::take(&mut self.name),
            std::mem::take(&mut self.arguments),
        );
        let message = plain!({"role": "assistant", "content": "", "tool_calls": [function(&name, &arguments)]});
        self.say(head, message, out);
    }

    fn say(&mut self, head: &Head, message: serde_json::Value, out: &mut Vec<u8>) {
        let mut document = document(head, message, false);
        let more = serde_json::Value::Object(std::mem::take(&mut self.next));
        super::fill(&mut document, &more);
        line(&document, out);
    }
}

impl Writer for Ollama {
    fn came(&mut self, bytes: &[u8]) {
        let serde_json::Value::Object(line) = super::document(bytes) else {
            return;
        };
        let done = line.get("done") == Some(&true.into());
        for (key, mut value) in line {
            if OWN.contains(&key.as_str()) {
                continue;
            }
            let kept = match done && !value.is_array() {
                true => &mut self.last,
                false => &mut self.next,
            };
            match (kept.get_mut(&key), &mut value) {
                // Those of text that waited.
                (Some(serde_json::Value::Array(have)), serde_json::Value::Array(more)) => {
                    have.append(more);
                }
                _ => {
                    kept.insert(key, value);
                }
            }
        }
    }

    fn passed(&mut self, _: &[u8]) {
        self.next.clear();
        self.last.clear();
    }

    fn piece(&mut self, piece: &Piece, head: &Head, out: &mut Vec<u8>) {
        match piece {
            // Only a client of `/v1/responses` gets the others.
            Piece::Begin | Piece::Other(_) => {}
            Piece::Text(text) => {
                self.call(head, out);
                let message = plain!({"role": "assistant", "content": text});
                self.say(head, message, out);
            }
            Piece::Thought(text) => {
                self.call(head, out);
                let message = plain!({"role": "assistant", "content": "", "thinking": text});
                self.say(head, message, out);
            }
            Piece::Call { name, .. } => {
                self.call(head, out);
                self.name.clone_from(name);
            }
            Piece::Arguments { json, .. } => self.arguments.push_str(json),
            Piece::End { reason, void, left } => {
                self.call(head, out);
                let message = plain!({"role": "assistant", "content": ""});
                let mut last = document(head, message, true);
                end(&mut last, Some(*reason), head);
                if let Some(beside) = beside(void, left) {
                    last["toolglot"] = beside;
                }
                let mut more = std::mem::take(&mut self.next);
                more.append(&mut self.last);
                super::fill(&mut last, &serde_json::Value::Object(more));
                line(&last, out);
            }
            Piece::Failed { message, .. } => {
                // A call that had ended stands; one that breaks off here lacks its last bracket.
                if serde_json::from_str::<serde::de::IgnoredAny>(&self.arguments).is_ok() {
                    self.call(head, out);
                }
                line(&plain!({"error": message}), out);
            }
        }
    }
}

pub fn whole(reply: &Gathered, head: &Head) -> serde_json::Value {
    let mut message = plain!({"role": "assistant", "content": reply.text()});
    let thought = reply.thought();
    if !thought.is_empty() {
        message["thinking"] = thought.into();
    }
    let calls = reply.calls();
    let calls: Vec<_> = calls
        .map(|(_, name, arguments)| function(name, arguments))
        .collect();
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    let mut out = document(head, message, true);
    end(&mut out, reply.reason, head);
    if let Some(beside) = &reply.beside {
        out["toolglot"] = beside.clone();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn times_are_dates() {
        assert_eq!(time(0), "1970-01-01T00:00:00Z");
        assert_eq!(time(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(time(1_709_251_199), "2024-02-29T23:59:59Z");
        assert_eq!(time(1_735_689_600), "2025-01-01T00:00:00Z");
    }
}
