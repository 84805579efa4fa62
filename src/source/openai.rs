//! OpenAI chat completions, as OpenAI and compatible servers write them.

use super::documents::Documents;
use super::json::{Node, Object};
use super::{CallPiece, End, Item, ServerError, Take, document};

/// The index of the call in the `function_call` member, the predecessor of `tool_calls`.
const LEGACY: u64 = u64::MAX;

/// Reads chat completions: server-sent events (`data: {...}`, `data: [DONE]`), or one JSON body if the response is not
/// streamed.
///
/// It reads one choice. Of its `delta` or `message` it reads `content` (a string, or a list of parts), `refusal` as text,
/// `reasoning_content` or else `reasoning`, `tool_calls`, `function_call`, and `finish_reason`; of plain completions `text`. An
/// `error` object is a [`SourceError::Api`](super::SourceError::Api). Within one delta reasoning comes first, then content,
/// then calls.
///
/// A `finish_reason` or `[DONE]` ends all calls. A body that ends without either has ended early.
///
/// ```
/// use toolglot::source::{Feeder, OpenAi};
/// use toolglot::{Collect, DialectSet, Options, Parser};
///
/// let parser = Parser::new(&DialectSet::defaults(), Options::default());
/// let (mut feeder, mut turn) = (Feeder::new(OpenAi::new(), parser), Collect::new());
/// assert!(feeder.feed(br#"{"choices":[{"index":0,"message":{"content":"Hi"},"finish_reason":"stop"}]}"#, &mut turn).is_empty());
/// feeder.finish(None, &mut turn);
/// assert_eq!(turn.text(), b"Hi");
/// ```
#[derive(Clone, Debug)]
pub struct OpenAi {
    documents: Documents,
    state: State,
}

#[derive(Clone, Debug, Default)]
struct State {
    choice: u64,
    end: End,
}

super::source!(OpenAi, events);

impl OpenAi {
    /// Selects the choice to read; the others are ignored. Default 0.
    #[must_use]
    pub fn choice(mut self, index: u64) -> Self {
        self.state.choice = index;
        self
    }
}

impl State {
    fn read(&mut self, line: u64, data: &[u8], take: &mut Take<'_>) {
        if data.trim_ascii() == b"[DONE]" {
            self.end.done = true;
            return;
        }
        let Some(node) = document(line, data, take) else {
            return;
        };
        let root = node.object();
        if let Some(error) = ServerError::explicit(node) {
            return self.end.fail(line, error, take);
        }
        let Some(choices) = root.some("choices") else {
            return self.end.odd(line, node, "it has no `choices`", take);
        };
        self.end.seen = true;
        for (place, choice) in (0..).zip(choices.items()) {
            let choice = choice.object();
            let index = choice.get("index").and_then(Node::number);
            if index.unwrap_or(place) == self.choice {
                self.choice(line, &choice, take);
            }
        }
    }

    fn choice(&mut self, line: u64, choice: &Object<'_>, take: &mut Take<'_>) {
        if let Some(text) = choice.text("text") {
            take(Item::Text(&text));
        }
        if let Some((said, whole)) = said(choice) {
            message(&said, whole, take);
        }
        if let Some(reason) = choice.text("finish_reason") {
            self.end.read(line, &reason, take);
        }
    }
}

/// Returns the `delta` of a choice, or its `message`, and whether that is a whole message.
pub(crate) fn said<'a>(choice: &Object<'a>) -> Option<(Object<'a>, bool)> {
    match choice.some("delta") {
        Some(delta) => Some((delta.object(), false)),
        None => Some((choice.some("message")?.object(), true)),
    }
}

/// Reads a `delta` or a whole `message`.
pub(crate) fn message(message: &Object<'_>, whole: bool, take: &mut Take<'_>) {
    let reasoning = message
        .text("reasoning_content")
        .or_else(|| message.text("reasoning"));
    if let Some(text) = reasoning {
        take(Item::Reasoning(&text));
    }
    match message.text("content") {
        Some(text) => take(Item::Text(&text)),
        None => {
            for part in message.items("content") {
                self::part(&part.object(), take);
            }
        }
    }
    if let Some(text) = message.text("refusal") {
        take(Item::Text(&text));
    }
    for (place, call) in (0..).zip(message.items("tool_calls")) {
        let call = call.object();
        // Each call of a whole message is separate, whatever its id and index.
        let index = match whole {
            true => Some(place),
            false => call.get("index").and_then(Node::number),
        };
        self::call(index, &call, &call.object("function"), take);
    }
    if let Some(function) = message.some("function_call") {
        call(Some(LEGACY), &Object::default(), &function.object(), take);
    }
}

/// Reads a part of content: text, a refusal, or reasoning, whose text may again be parts, one level deep.
fn part(part: &Object<'_>, take: &mut Take<'_>) {
    if let Some(text) = part.text("text").or_else(|| part.text("refusal")) {
        return take(Item::Text(&text));
    }
    match part.text("thinking") {
        Some(text) => take(Item::Reasoning(&text)),
        None => {
            for inner in part.items("thinking") {
                if let Some(text) = inner.object().text("text") {
                    take(Item::Reasoning(&text));
                }
            }
        }
    }
}

fn call(index: Option<u64>, call: &Object<'_>, function: &Object<'_>, take: &mut Take<'_>) {
    take(Item::Call(CallPiece {
        index,
        id: call.text("id").as_deref(),
        name: function.text("name").as_deref(),
        arguments: &function.arguments("arguments"),
    }));
}
