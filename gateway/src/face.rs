//! The protocols of clients. Each converts its requests to chat completions, and writes responses from pieces.

mod chat;
mod faults;
pub mod form;
mod messages;
mod ollama;
mod responses;
pub mod results;

use axum::http::{Method, StatusCode};
use toolglot::json::{Map, Value, json};
use toolglot::layer::readable;
use toolglot::sink::openai::Head;

use crate::config::Api;
use crate::engine::Framing;
use crate::engine::gathered::{Gathered, Spaces};
use crate::engine::pieces::Writer;
use crate::settings::Lost;

/// A client protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    /// `/v1/chat/completions`.
    Chat,
    /// `/v1/responses`.
    Responses,
    /// Anthropic's `/v1/messages`.
    Messages,
    /// Ollama's `/api/chat`.
    Ollama,
}

impl Face {
    /// Returns the protocol of a request; `None`: it is forwarded unread.
    pub fn of(method: &Method, path: &str) -> Option<Self> {
        let path = path.strip_prefix("/v1").unwrap_or(path);
        match path {
            _ if method != Method::POST => None,
            "/chat/completions" => Some(Self::Chat),
            "/responses" => Some(Self::Responses),
            "/messages" => Some(Self::Messages),
            "/api/chat" => Some(Self::Ollama),
            _ => None,
        }
    }

    /// Whether a server speaks it.
    pub fn is(self, api: Api) -> bool {
        match self {
            Self::Chat => api == Api::OpenAi,
            Self::Messages => api == Api::Anthropic,
            Self::Ollama => api == Api::Ollama,
            // Such a server is asked for chat completions.
            Self::Responses => false,
        }
    }

    /// Converts a request to chat completions.
    ///
    /// # Errors
    /// The request cannot be read. `lost` gets what chat completions do not have.
    pub fn to_chat(self, asked: &Value, lost: &mut Lost) -> Result<Value, String> {
        if asked.as_object().is_none() {
            return Err("the body is not a JSON object".to_owned());
        }
        match self {
            Self::Chat => Ok(asked.clone()),
            Self::Responses => responses::to_chat(asked, lost),
            Self::Messages => messages::to_chat(asked, lost),
            Self::Ollama => ollama::to_chat(asked, lost),
        }
    }

    /// Converts what a request says beside its conversation, which cannot be converted; null if that cannot be either.
    pub fn settings(self, asked: &Value) -> Value {
        let mut rest = asked.clone();
        if let Some(rest) = rest.as_object_mut() {
            for key in ["messages", "input", "system"] {
                rest.remove(key);
            }
            let key = if self == Self::Responses {
                "input"
            } else {
                "messages"
            };
            rest.insert(key.to_owned(), Value::Array(vec![]));
        }
        self.to_chat(&rest, &mut Lost::default())
            .unwrap_or_default()
    }

    pub fn writer(self, asked: &Value) -> Box<dyn Writer> {
        match self {
            Self::Chat => Box::new(chat::Chat::new(asked)),
            Self::Responses => Box::new(responses::Responses::new(asked)),
            Self::Messages => Box::<messages::Messages>::default(),
            Self::Ollama => Box::<ollama::Ollama>::default(),
        }
    }

    /// Returns the rule for white space, if text comes in blocks.
    pub fn spaces(self) -> Option<Spaces> {
        match self {
            Self::Responses | Self::Messages => Some(Spaces::default()),
            Self::Chat | Self::Ollama => None,
        }
    }

    /// Returns a response that is not streamed.
    pub fn whole(self, reply: &Gathered, head: &Head, asked: &Value) -> serde_json::Value {
        match self {
            Self::Chat => chat::whole(reply, head),
            Self::Responses => responses::whole(reply, head, asked),
            Self::Messages => messages::whole(reply, head),
            Self::Ollama => ollama::whole(reply, head),
        }
    }

    /// Adds the other members of a whole body of the same protocol.
    pub fn keep(self, body: &[u8], whole: &mut serde_json::Value) {
        let body = document(body);
        if self == Self::Responses {
            return responses::keep(&body, whole);
        }
        fill(whole, &body);
        fill(&mut whole["usage"], &body["usage"]);
    }

    /// Returns an error in its format.
    pub fn error(self, status: StatusCode, message: &str) -> serde_json::Value {
        match self {
            Self::Chat | Self::Responses => {
                let (kind, code) = faults::openai(status);
                serde_json::json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
            }
            Self::Messages => messages::error(faults::of_status(status), message),
            Self::Ollama => serde_json::json!({"error": message}),
        }
    }

    /// Returns an error that a server told in `body`, in its format. Both protocols of OpenAI name errors alike, and clients decide by
    /// these names.
    pub fn told(
        self,
        api: Api,
        (status, message): (StatusCode, &str),
        body: &[u8],
    ) -> serde_json::Value {
        let mut out = self.error(status, message);
        if self != Self::Responses || api != Api::OpenAi {
            return out;
        }
        let read = document(body);
        let own = match &read["error"] {
            own @ serde_json::Value::Object(_) => own,
            _ => &read,
        };
        for key in ["type", "code", "param"] {
            if own[key].is_string() {
                out["error"][key] = own[key].clone();
            }
        }
        out
    }

    /// Returns the content type of a stream.
    pub fn stream_type(self) -> &'static str {
        match self {
            Self::Chat | Self::Responses | Self::Messages => "text/event-stream",
            Self::Ollama => "application/x-ndjson",
        }
    }

    pub fn framing(api: Api) -> Framing {
        match api {
            Api::OpenAi | Api::Anthropic => Framing::Events,
            Api::Ollama => Framing::Lines,
        }
    }

    /// Whether a request wants a stream. Ollama's clients get one by default.
    pub fn streams(self, asked: &Value) -> bool {
        let said = asked.get("stream").and_then(Value::as_bool);
        said.unwrap_or(self == Self::Ollama)
    }
}

/// Reads a document of a server; null if it is none.
fn document(bytes: &[u8]) -> serde_json::Value {
    serde_json::from_slice(&readable(bytes)).unwrap_or_default()
}

/// Adds the members that an object lacks.
fn fill(object: &mut serde_json::Value, more: &serde_json::Value) {
    if let (Some(own), Some(more)) = (object.as_object_mut(), more.as_object()) {
        for (key, value) in more {
            own.entry(key).or_insert_with(|| value.clone());
        }
    }
}

/// Copies existing members.
pub fn copy(from: &Value, to: &mut Map, pairs: &[(&str, &str)]) {
    for (own, other) in pairs {
        if let Some(value) = from.get(*own).filter(|value| !value.is_null()) {
            to.insert((*other).to_owned(), value.clone());
        }
    }
}

pub fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

pub fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Returns the messages of a request.
///
/// # Errors
/// They are no list of objects.
pub fn messages_of(chat: &Value) -> Result<&[Value], String> {
    let all = chat.get("messages").and_then(Value::as_array);
    all.filter(|all| all.iter().all(|one| one.as_object().is_some()))
        .map(Vec::as_slice)
        .ok_or_else(|| "`messages` is not a list of objects".to_owned())
}

/// Returns a tool in the form of chat completions.
fn function(tool: &Value, parameters: Option<&Value>) -> Value {
    let mut function = Map::new();
    let own = ["name", "description", "strict"];
    copy(tool, &mut function, &own.map(|key| (key, key)));
    if let Some(parameters) = parameters.filter(|schema| !schema.is_null()) {
        function.insert("parameters".to_owned(), parameters.clone());
    }
    json!({"type": "function", "function": (Value::Object(function))})
}

/// Returns a format of replies in the form of chat completions.
fn schema(schema: Value) -> Value {
    json!({"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}})
}

/// Returns a call in the form of chat completions.
fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

/// Returns the content of a message: one text if there is nothing else.
fn content(parts: Vec<Value>) -> Value {
    let plain = |part: &Value| text(part, "type") == "text";
    match parts.as_slice() {
        parts if parts.iter().all(plain) => {
            let texts: Vec<&str> = parts.iter().map(|part| text(part, "text")).collect();
            texts.join("\n").into()
        }
        _ => Value::Array(parts),
    }
}

/// Returns the arguments of a call as a value.
fn input(arguments: &str) -> serde_json::Value {
    serde_json::from_str(arguments).unwrap_or_else(|_| serde_json::json!({}))
}
