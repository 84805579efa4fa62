//! Reads OpenAI's `/v1/responses`, streamed or not, from a server that answers it itself.

use serde_json::{Value, json};
use toolglot::Finish;
use toolglot::layer::readable;
use toolglot::sink::openai::Usage;
use toolglot::source::{
    CallPiece, DEFAULT_MAX, Item, Said, ServerError, Source, SourceError, Take,
};

/// Takes events that are not read.
type Others = Box<dyn FnMut(Value) + Send>;

/// Kinds of events that are read, or that say again what others say.
const READ: [&str; 9] = [
    "response.queued",
    "response.created",
    "response.in_progress",
    "response.content_part.",
    "response.output_text.",
    "response.refusal.",
    "response.reasoning_text.",
    "response.reasoning_summary_",
    "response.function_call_arguments.",
];

/// The source. Memory: one line, or a whole body.
#[derive(Default)]
pub struct Responses {
    /// Takes the events of items that are neither text, thought nor call. In a body that is not streamed, one for each item.
    others: Option<Others>,
    /// The current line.
    line: Vec<u8>,
    number: u64,
    /// The body is one document.
    whole: bool,
    /// A call has begun.
    called: bool,
    ended: bool,
}

impl Source for Responses {
    fn feed(&mut self, bytes: &[u8], take: &mut Take<'_>) {
        for byte in bytes {
            if self.number == 0 && self.line.is_empty() {
                if byte.is_ascii_whitespace() {
                    continue;
                }
                self.whole = *byte == b'{';
            }
            match byte {
                b'\n' | b'\r' if !self.whole => self.line(take),
                _ if self.line.len() < DEFAULT_MAX => self.line.push(*byte),
                _ => {}
            }
        }
    }

    fn end(&mut self, take: &mut Take<'_>) {
        match self.whole {
            true => self.document(take),
            false => self.line(take),
        }
        if !std::mem::replace(&mut self.ended, true) {
            take(Item::Error(SourceError::Cut));
            take(Item::Finish(Finish::Error));
        }
    }
}

/// Whether the contents of an item are read.
pub fn is_read(item: &Value) -> bool {
    matches!(
        item["type"].as_str(),
        Some("message" | "reasoning" | "function_call")
    )
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

impl Responses {
    /// Passes on events that are not read.
    pub fn with_others(others: impl FnMut(Value) + Send + 'static) -> Self {
        Self {
            others: Some(Box::new(others)),
            ..Self::default()
        }
    }

    fn other(&mut self, event: Value) {
        if let Some(others) = &mut self.others {
            others(event);
        }
    }

    fn line(&mut self, take: &mut Take<'_>) {
        self.number += 1;
        let line = std::mem::take(&mut self.line);
        let Some(data) = line.strip_prefix(b"data:") else {
            return;
        };
        match serde_json::from_slice(&readable(data)) {
            Ok(event) => self.event(event, take),
            Err(error) => {
                let (line, why) = (self.number, error.to_string());
                take(Item::Error(SourceError::Json { line, why }));
            }
        }
    }

    fn event(&mut self, event: Value, take: &mut Take<'_>) {
        let index = event["output_index"].as_u64();
        match text(&event, "type") {
            "response.created" => said(&event["response"], take),
            "response.output_text.delta" | "response.refusal.delta" => {
                take(Item::Text(text(&event, "delta")));
            }
            "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
                take(Item::Reasoning(text(&event, "delta")));
            }
            "response.output_item.added" if text(&event["item"], "type") == "function_call" => {
                let item = &event["item"];
                self.called = true;
                take(Item::Call(begun(index, item)));
            }
            "response.function_call_arguments.delta" => take(Item::Call(
                CallPiece::default()
                    .index(index)
                    .arguments(text(&event, "delta")),
            )),
            "response.output_item.done" if text(&event["item"], "type") == "function_call" => {
                take(Item::CallEnd(index));
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.last(&event["response"], take);
            }
            "error" => self.fail(&event, take),
            // Those of text and thoughts are written anew.
            "response.output_item.added" | "response.output_item.done"
                if is_read(&event["item"]) => {}
            kind if READ.iter().any(|read| kind.starts_with(read)) => {}
            _ => self.other(event),
        }
    }

    /// A response that is not streamed.
    fn document(&mut self, take: &mut Take<'_>) {
        let body = std::mem::take(&mut self.line);
        let Ok(response) = serde_json::from_slice::<Value>(&readable(&body)) else {
            return;
        };
        if response.get("output").is_none() {
            return self.fail(&response, take);
        }
        said(&response, take);
        for (index, item) in (0..).zip(response["output"].as_array().into_iter().flatten()) {
            let parts = item["content"].as_array().into_iter().flatten();
            let summary = item["summary"].as_array().into_iter().flatten();
            match text(item, "type") {
                "message" => parts.for_each(|part| {
                    take(Item::Text(text(part, "text")));
                    take(Item::Text(text(part, "refusal")));
                }),
                "reasoning" => parts
                    .chain(summary)
                    .for_each(|part| take(Item::Reasoning(text(part, "text")))),
                "function_call" => {
                    self.called = true;
                    take(Item::Call(begun(Some(index), item)));
                    take(Item::CallEnd(Some(index)));
                }
                _ => self.other(json!({"item": item})),
            }
        }
        self.last(&response, take);
    }

    fn last(&mut self, response: &Value, take: &mut Take<'_>) {
        said(response, take);
        match text(response, "status") {
            "failed" | "cancelled" => self.fail(response, take),
            _ if std::mem::replace(&mut self.ended, true) => {}
            "incomplete" => match response["incomplete_details"]["reason"].as_str() {
                Some("content_filter") => {
                    let mut said = Said::default();
                    said.filter = Some("content_filter");
                    take(Item::Said(said));
                    take(Item::Finish(Finish::Error));
                }
                _ => take(Item::Finish(Finish::Length)),
            },
            _ if self.called => take(Item::Finish(Finish::ToolCalls)),
            _ => take(Item::Finish(Finish::Stop)),
        }
    }

    fn fail(&mut self, from: &Value, take: &mut Take<'_>) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let error = match &from["error"] {
            Value::Object(_) => &from["error"],
            _ => from,
        };
        // An event that is an error has this type itself.
        let kind = error["type"].as_str().filter(|kind| *kind != "error");
        let kind = kind.or(error["code"].as_str());
        let mut error = ServerError::new(text(error, "message"), kind.unwrap_or("upstream_error"));
        error.json = Some(from.to_string());
        let error = Box::new(error);
        let line = self.number;
        take(Item::Error(SourceError::Api { line, error }));
        take(Item::Finish(Finish::Error));
    }
}

fn said(response: &Value, take: &mut Take<'_>) {
    let usage = &response["usage"];
    let cached = usage["input_tokens_details"]["cached_tokens"].as_u64();
    take(Item::Said(
        Said::default()
            .id(response["id"].as_str())
            .model(response["model"].as_str())
            .created(response["created_at"].as_u64())
            .usage(usage["input_tokens"].as_u64().map(|prompt| {
                Usage::default()
                    .prompt(prompt)
                    .completion(usage["output_tokens"].as_u64().unwrap_or_default())
                    .cached(cached)
            })),
    ));
}

/// A function call as far as its item says.
fn begun<'i>(index: Option<u64>, item: &'i Value) -> CallPiece<'i> {
    CallPiece::default()
        .index(index)
        .id(item["call_id"].as_str())
        .name(item["name"].as_str())
        .arguments(text(item, "arguments"))
}
