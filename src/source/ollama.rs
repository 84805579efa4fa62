//! Ollama's own API.

use super::documents::Documents;
use super::json::{Node, Object};
use super::{CallPiece, End, Item, ServerError, Take, document};

/// Reads `/api/chat` and `/api/generate`: one JSON object a line, or a single one.
///
/// Read are `message.thinking`, `message.content` and `message.tool_calls`, or `thinking` and `response`; `done` with its
/// `done_reason`; and `error`. Calls come whole.
#[derive(Clone, Debug)]
pub struct Ollama {
    documents: Documents,
    state: State,
}

#[derive(Clone, Debug, Default)]
struct State {
    /// Calls so far. Servers number them anew in each line, or not at all.
    calls: u64,
    end: End,
}

super::source!(Ollama, lines);

impl State {
    fn read(&mut self, line: u64, data: &[u8], take: &mut Take<'_>) {
        let Some(node) = document(line, data, take) else {
            return;
        };
        let root = node.object();
        if let Some(error) = ServerError::explicit(node) {
            return self.end.fail(line, error, take);
        }
        // A message in words is that of an error.
        let message = root.get("message").is_some_and(Node::is_object);
        if !message && root.some("response").is_none() && root.some("done").is_none() {
            let why = "it has no `message`, `response` or `done`";
            return self.end.odd(line, node, why, take);
        }
        self.end.seen = true;
        match root.some("message") {
            Some(message) => self.message(&message.object(), "content", take),
            None => self.message(&root, "response", take),
        }
        if root.get("done").is_some_and(|done| done.json() == "true") {
            let reason = root.text("done_reason");
            let reason = reason.as_deref().unwrap_or("stop");
            self.end.read(line, reason, take);
        }
    }

    fn message(&mut self, message: &Object<'_>, content: &str, take: &mut Take<'_>) {
        if let Some(text) = message.text("thinking") {
            take(Item::Reasoning(&text));
        }
        if let Some(text) = message.text(content) {
            take(Item::Text(&text));
        }
        for call in message.items("tool_calls") {
            self.call(&call.object(), take);
        }
    }

    fn call(&mut self, call: &Object<'_>, take: &mut Take<'_>) {
        let index = Some(self.calls);
        self.calls += 1;
        let function = call.object("function");
        let arguments = function.arguments("arguments");
        take(Item::Call(CallPiece {
            index,
            id: call.text("id").as_deref(),
            name: function.text("name").as_deref(),
            // A call comes whole, so no arguments are none.
            arguments: if arguments.is_empty() {
                "{}"
            } else {
                &arguments
            },
        }));
        take(Item::CallEnd(index));
    }
}
