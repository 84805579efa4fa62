//! Anthropic messages.

use std::collections::BTreeMap;

use super::documents::Documents;
use super::json::{Node, Object};
use super::{CallPiece, End, Item, Said, ServerError, Take, Usage, document, said};

/// Reads messages: server-sent events, or one JSON body if the response is not streamed.
///
/// It reads the content blocks `text`, `thinking` and `tool_use`, their deltas, the `stop_reason` and `error` events. It
/// ignores tools that the server runs itself (`server_tool_use` and its results), signatures, citations, encrypted reasoning,
/// `ping` and unknown kinds. A `tool_use` block is a complete call when it stops; without input it is one when another block begins
/// or the reason is known. The input in its start counts if no delta follows.
///
/// ```
/// use toolglot::source::{Feeder, Anthropic};
/// use toolglot::{Collect, DialectSet, Options, Parser};
///
/// let parser = Parser::new(&DialectSet::defaults(), Options::default());
/// let (mut feeder, mut turn) = (Feeder::new(Anthropic::new(), parser), Collect::new());
/// assert!(feeder.feed(br#"{"type":"message","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn"}"#, &mut turn).is_empty());
/// feeder.finish(None, &mut turn);
/// assert_eq!(turn.text(), b"Hi");
/// ```
#[derive(Clone, Debug)]
pub struct Anthropic {
    documents: Documents,
    state: State,
}

#[derive(Clone, Debug, Default)]
struct State {
    /// Open `tool_use` blocks.
    open: BTreeMap<u64, Input>,
    /// The last block, if it was a call without input: a length limit may have truncated it.
    bare: Option<u64>,
    usage: Counts,
    end: End,
}

/// The input of an open call.
#[derive(Clone, Debug)]
enum Input {
    None,
    /// In the start of its block.
    Given(String),
    /// In deltas.
    Comes,
}

/// The counters of a message. Each report is a total, and the last one counts: a stream reports the prompt's counters at the
/// start and the output's repeatedly, and servers that run tools themselves report the prompt's again at the end.
#[derive(Clone, Debug, Default)]
struct Counts {
    input: Option<u64>,
    written: Option<u64>,
    cached: Option<u64>,
    output: Option<u64>,
}

impl Counts {
    /// Reads the counters of a message or of its delta. The prompt's own counter excludes cached tokens.
    fn read(&mut self, from: &Object<'_>) -> Option<Usage> {
        let usage = from.object("usage");
        let mut any = false;
        for (key, counter) in [
            ("input_tokens", &mut self.input),
            ("cache_creation_input_tokens", &mut self.written),
            ("cache_read_input_tokens", &mut self.cached),
            ("output_tokens", &mut self.output),
        ] {
            if let Some(count) = usage.get(key).and_then(Node::number) {
                *counter = Some(count);
                any = true;
            }
        }
        let prompt = [self.input, self.written, self.cached];
        any.then(|| Usage {
            prompt: prompt.into_iter().flatten().fold(0, u64::saturating_add),
            completion: self.output.unwrap_or(0),
            cached: self.cached,
        })
    }
}

super::source!(Anthropic, events);

impl State {
    fn read(&mut self, line: u64, data: &[u8], take: &mut Take<'_>) {
        let Some(node) = document(line, data, take) else {
            return;
        };
        let root = node.object();
        let index = root.get("index").and_then(Node::number).unwrap_or(0);
        const SEEN: [&str; 7] = [
            "message_start",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop",
            "message",
        ];
        let kind = root.text("type");
        self.end.seen |= kind.as_deref().is_some_and(|kind| SEEN.contains(&kind));
        match kind.as_deref() {
            Some("content_block_start") => self.start(index, &root.object("content_block"), take),
            Some("content_block_delta") => self.delta(index, &root.object("delta"), take),
            Some("content_block_stop") => self.stop(index, take),
            Some("message_delta") => {
                if let Some(usage) = self.usage.read(&root) {
                    said(
                        Said {
                            usage: Some(usage),
                            ..Said::default()
                        },
                        take,
                    );
                }
                self.reason(line, &root.object("delta"), take);
            }
            Some("message_stop") => self.end.done = true,
            Some("message") => self.message(line, &root, take),
            Some("message_start") => self.says(&root.object("message"), take),
            Some("ping") => {}
            // Unknown kinds are ignored, unless they are errors.
            Some(_) => {
                if let Some(error) = ServerError::of(node) {
                    self.end.fail(line, error, take);
                }
            }
            None => self.end.odd(line, node, "it has no `type`", take),
        }
    }

    fn start(&mut self, index: u64, block: &Object<'_>, take: &mut Take<'_>) {
        if let Some(bare) = self.bare.take() {
            // Another block follows: nothing truncated it.
            arguments(bare, "{}", take);
            take(Item::CallEnd(Some(bare)));
        }
        match block.text("type").as_deref() {
            Some("text") => text(block, take),
            Some("thinking") => thinking(block, take),
            Some("tool_use") => {
                // Input that is not an object is passed on too; the common check of all calls rejects it. In a stream, an empty
                // object is only a placeholder for the deltas.
                let empty = |input: &Node<'_>| input.is_object() && input.object().is_empty();
                let said = block.some("input").filter(|input| !empty(input));
                let input = match said {
                    Some(_) => Input::Given(block.arguments("input").into_owned()),
                    None => Input::None,
                };
                self.open.insert(index, input);
                take(Item::Call(CallPiece {
                    index: Some(index),
                    id: block.text("id").as_deref(),
                    name: block.text("name").as_deref(),
                    arguments: "",
                }));
            }
            _ => {}
        }
    }

    fn delta(&mut self, index: u64, delta: &Object<'_>, take: &mut Take<'_>) {
        match delta.text("type").as_deref() {
            Some("text_delta") => text(delta, take),
            Some("thinking_delta") => thinking(delta, take),
            Some("input_json_delta") => {
                let piece = delta.text("partial_json");
                if let (Some(piece), Some(input)) = (piece, self.open.get_mut(&index)) {
                    *input = Input::Comes;
                    arguments(index, &piece, take);
                }
            }
            _ => {}
        }
    }

    fn stop(&mut self, index: u64, take: &mut Take<'_>) {
        match self.open.remove(&index) {
            None => return,
            Some(Input::None) => {
                self.bare = Some(index);
                return;
            }
            Some(Input::Given(input)) => arguments(index, &input, take),
            Some(Input::Comes) => {}
        }
        take(Item::CallEnd(Some(index)));
    }

    fn reason(&mut self, line: u64, delta: &Object<'_>, take: &mut Take<'_>) {
        if let Some(reason) = delta.text("stop_reason") {
            self.end.read(line, &reason, take);
        }
    }

    /// Reports what a message says about itself.
    fn says(&mut self, message: &Object<'_>, take: &mut Take<'_>) {
        let (id, model) = (message.text("id"), message.text("model"));
        let told = Said {
            id: id.as_deref(),
            model: model.as_deref(),
            usage: self.usage.read(message),
            ..Said::default()
        };
        said(told, take);
    }

    /// Reads a body that is not streamed.
    fn message(&mut self, line: u64, message: &Object<'_>, take: &mut Take<'_>) {
        self.says(message, take);
        for (index, block) in (0..).zip(message.items("content")) {
            self.start(index, &block.object(), take);
            self.stop(index, take);
        }
        self.reason(line, message, take);
        self.end.done = true;
    }
}

fn text(block: &Object<'_>, take: &mut Take<'_>) {
    if let Some(text) = block.text("text") {
        take(Item::Text(&text));
    }
}

fn thinking(block: &Object<'_>, take: &mut Take<'_>) {
    if let Some(text) = block.text("thinking") {
        take(Item::Reasoning(&text));
    }
}

fn arguments(index: u64, arguments: &str, take: &mut Take<'_>) {
    take(Item::Call(CallPiece {
        index: Some(index),
        arguments,
        ..CallPiece::default()
    }));
}
