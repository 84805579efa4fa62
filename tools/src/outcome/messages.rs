//! Builds the next messages of a conversation from a turn and its results.
//!
//! Every call of the turn gets one result: the one with its id or, if there is none, one that says that it was cancelled, so
//! that no call is left unanswered. The model's own words are kept: byte for byte in plain text, elsewhere with the arguments
//! spelled as the model spelled them. That keeps prefix caches valid; [`Assistant::Canonical`] rewrites the calls instead.

use std::collections::HashSet;

use toolglot::json::{Value as Json, json};
use toolglot::{Call, Turn};
use toolglot::{EncodeCall, EncodeOptions, NotRepresentable};

use super::{Content, RenderOptions, Renderer, Status, ToolResult};
use crate::NameRule;
use crate::prompt::PromptError;

/// The format of messages.
///
/// See the example of [`messages`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shape {
    /// OpenAI's chat completions: `tool_calls`, and messages with the role `tool`.
    OpenAi,
    /// Anthropic's messages: blocks `tool_use`, and `tool_result` in a user message.
    Anthropic,
    /// Text in the dialect, and the results in its layout in one message.
    Text,
}

toolglot::words! {
    Shape, "shape of messages":
    OpenAi = "openai",
    Anthropic = "anthropic",
    Text = "text",
}

/// How the model's own words are returned to it.
///
/// ```
/// use toolglot::{DialectSet, EncodeOptions, Finish, Options, parse};
/// use toolglot_tools::outcome::{Assistant, MessageOptions, Renderer, Shape, messages};
/// use toolglot_tools::prompt::Layout;
///
/// let set = DialectSet::builtin("hermes")?;
/// let renderer = Renderer::new(&set, Layout::new(&set, "hermes")?)?;
/// let reply = r#"<tool_call>{'name': 'f', 'arguments': {}}</tool_call>"#; // single quotes
/// let turn = parse(&set, Options::default(), reply.as_bytes(), Finish::Stop);
/// let options = MessageOptions::new(Shape::Text);
/// let own = |assistant| messages(&turn, assistant, &[], &renderer, &options).map(|all| all[0]["content"].to_string());
/// assert!(own(Assistant::Exact(reply))?.contains("'name'"));
/// assert!(!own(Assistant::Canonical(&EncodeOptions::default()))?.contains("'name'"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Assistant<'a> {
    /// Exactly as it wrote them.
    Exact(&'a str),
    /// Its text, then its calls as the dialect's encoder writes them.
    Canonical(&'a EncodeOptions),
}

/// How to build messages.
///
/// ```
/// use toolglot_tools::outcome::{MessageOptions, RenderOptions, Shape};
/// use toolglot_tools::prompt::Lang;
///
/// let options = MessageOptions::new(Shape::OpenAi).render(RenderOptions::new(Lang::Zh)).id_prefix("turn_2_");
/// assert_eq!(options.shape, Shape::OpenAi);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MessageOptions {
    /// The format of the messages.
    pub shape: Shape,
    /// How to write results.
    pub render: RenderOptions,
    /// The prefix of generated ids. Use a different one per turn: ids must be unique in a conversation.
    pub id_prefix: String,
}

toolglot::setters! {
    MessageOptions:
    shape = Shape,
    render = RenderOptions,
    id_prefix: String,
}

impl MessageOptions {
    /// Options for a format, with ids `call_0`, `call_1` and so on.
    #[must_use]
    pub fn new(shape: Shape) -> Self {
        Self {
            shape,
            render: RenderOptions::default(),
            id_prefix: "call_".to_owned(),
        }
    }
}

/// Why messages cannot be built.
///
/// ```
/// use toolglot::{DialectSet, Turn};
/// use toolglot_tools::outcome::{Assistant, MessageError, MessageOptions, Renderer, Shape, Status, ToolResult, messages};
/// use toolglot_tools::prompt::Layout;
///
/// let set = DialectSet::builtin("hermes")?;
/// let renderer = Renderer::new(&set, Layout::new(&set, "hermes")?)?;
/// let stray = ToolResult::text("call_9", "f", Status::Success, "done");
/// let options = MessageOptions::new(Shape::OpenAi);
/// let error = messages(&Turn::default(), Assistant::Exact(""), &[stray], &renderer, &options).unwrap_err();
/// assert_eq!(error, MessageError::Orphan { id: "call_9".to_owned() });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// A result belongs to no call of the turn, or two belong to one call.
    #[error("the result {id} belongs to no call of the turn, or to one that has another")]
    Orphan {
        /// The id that it names.
        id: String,
    },
    /// A call cannot be written.
    #[error(transparent)]
    Encode(#[from] NotRepresentable),
    /// The results cannot be written.
    #[error(transparent)]
    Prompt(#[from] PromptError),
}

/// An id for each call of a turn, in order: the one that the model wrote, if there is one and it is unique, or else the prefix
/// with the call's number.
///
/// ```
/// use toolglot::{DialectSet, Finish, Options, parse};
///
/// let reply = br#"<tool_call>{"name": "f", "arguments": {}}</tool_call>"#;
/// let turn = parse(&DialectSet::defaults(), Options::default(), reply, Finish::Stop);
/// assert_eq!(toolglot_tools::outcome::call_ids(&turn, "call_"), ["call_0"]);
/// ```
#[must_use]
pub fn call_ids(turn: &Turn, prefix: &str) -> Vec<String> {
    let mut used = HashSet::new();
    let mut one = |call: &Call| {
        let own = call
            .meta
            .iter()
            .find(|(key, id)| key == "id" && !id.is_empty());
        let own = own
            .map(|(_, id)| id.clone())
            .filter(|id| !used.contains(id));
        let mut id = own.unwrap_or_else(|| format!("{prefix}{}", call.index));
        while !used.insert(id.clone()) {
            id.push('_');
        }
        id
    };
    turn.calls.iter().map(&mut one).collect()
}

/// The messages that follow: the model's own, then the results. A turn without calls is a single message; for Anthropic's interface,
/// which takes no message without content, one without text too is none.
///
/// ```
/// use toolglot::{DialectSet, Finish, Options, parse};
/// use toolglot_tools::outcome::{Assistant, MessageOptions, Renderer, Shape, Status, ToolResult, messages};
/// use toolglot_tools::prompt::Layout;
///
/// let set = DialectSet::builtin("hermes")?;
/// let renderer = Renderer::new(&set, Layout::new(&set, "hermes")?)?;
/// let reply = r#"<tool_call>{"name": "f", "arguments": {}}</tool_call>"#;
/// let turn = parse(&set, Options::default(), reply.as_bytes(), Finish::Stop);
/// let result = ToolResult::text("call_0", "f", Status::Success, "done");
/// let options = MessageOptions::new(Shape::OpenAi);
/// let messages = messages(&turn, Assistant::Exact(reply), &[result], &renderer, &options)?;
/// assert_eq!(messages[0]["tool_calls"][0]["id"], "call_0");
/// assert_eq!(messages[1]["role"], "tool");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A result belongs to no call; a call cannot be rewritten; the results cannot be rendered.
pub fn messages(
    turn: &Turn,
    assistant: Assistant<'_>,
    results: &[ToolResult],
    renderer: &Renderer,
    options: &MessageOptions,
) -> Result<Vec<Json>, MessageError> {
    let ids = call_ids(turn, &options.id_prefix);
    let results = paired(turn, &ids, results)?;
    let text = match assistant {
        Assistant::Exact(_) => turn.text.as_str(),
        Assistant::Canonical(_) => turn.text.trim_end(),
    };
    match options.shape {
        Shape::OpenAi => openai(turn, text, &ids, &results, renderer, options),
        Shape::Anthropic => anthropic(turn, text, &ids, &results, renderer, options),
        Shape::Text => {
            let own = match assistant {
                Assistant::Exact(raw) => raw.to_owned(),
                Assistant::Canonical(encoding) => canonical(turn, text, renderer, encoding)?,
            };
            let mut out = vec![json!({"role": "assistant", "content": own})];
            let size = if renderer.apart() {
                1
            } else {
                results.len().max(1)
            };
            for results in results.chunks(size) {
                let text = renderer.render(results, &options.render)?;
                out.push(json!({"role": renderer.role(), "content": text}));
            }
            Ok(out)
        }
    }
}

/// Pairs each call with one result, in the order of the calls.
fn paired(
    turn: &Turn,
    ids: &[String],
    results: &[ToolResult],
) -> Result<Vec<ToolResult>, MessageError> {
    let mut left: Vec<Option<&ToolResult>> = results.iter().map(Some).collect();
    let mut out = vec![];
    for (call, id) in turn.calls.iter().zip(ids) {
        let mine = left
            .iter_mut()
            .find(|one| one.is_some_and(|one| one.id == *id));
        out.push(match mine.and_then(Option::take) {
            Some(result) => result.clone(),
            None => ToolResult::text(id, &call.name, Status::Cancelled, ""),
        });
    }
    match left.into_iter().flatten().next() {
        Some(orphan) => Err(MessageError::Orphan {
            id: orphan.id.clone(),
        }),
        None => Ok(out),
    }
}

fn canonical(
    turn: &Turn,
    text: &str,
    renderer: &Renderer,
    encoding: &EncodeOptions,
) -> Result<String, MessageError> {
    let own = |call: &Call| {
        call.meta
            .iter()
            .find(|(key, _)| key == "id")
            .map(|(_, id)| id.clone())
    };
    let call =
        |call: &Call| EncodeCall::new(call.name.clone(), call.arguments.clone()).id(own(call));
    let calls: Vec<EncodeCall> = turn.calls.iter().map(call).collect();
    let calls = renderer.layout().encoder.encode(&calls, encoding)?;
    let between = if text.is_empty() || calls.is_empty() {
        ""
    } else {
        "\n"
    };
    Ok(format!("{text}{between}{calls}"))
}

fn openai(
    turn: &Turn,
    text: &str,
    ids: &[String],
    results: &[ToolResult],
    renderer: &Renderer,
    options: &MessageOptions,
) -> Result<Vec<Json>, MessageError> {
    if turn.calls.is_empty() {
        return Ok(vec![json!({"role": "assistant", "content": text})]);
    }
    let calls = turn.calls.iter().zip(ids).map(|(call, id)| {
        json!({"id": id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}})
    });
    let content = if text.is_empty() {
        Json::Null
    } else {
        text.into()
    };
    let calls: Vec<Json> = calls.collect();
    let mut out = vec![json!({"role": "assistant", "content": content, "tool_calls": calls})];
    for result in results {
        let text = renderer.content(result, &options.render)?;
        out.push(json!({"role": "tool", "tool_call_id": result.id, "content": text}));
    }
    Ok(out)
}

fn anthropic(
    turn: &Turn,
    text: &str,
    ids: &[String],
    results: &[ToolResult],
    renderer: &Renderer,
    options: &MessageOptions,
) -> Result<Vec<Json>, MessageError> {
    let mut blocks = vec![];
    // Their interface refuses text of nothing but blanks.
    if !text.trim().is_empty() {
        blocks.push(json!({"type": "text", "text": text}));
    }
    for (call, id) in turn.calls.iter().zip(ids) {
        // Arguments are a JSON object, but a host may have changed them.
        let input = serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!({}));
        blocks.push(json!({"type": "tool_use", "id": NameRule::Api.spell(id), "name": call.name, "input": input}));
    }
    let mut out = vec![];
    if !blocks.is_empty() {
        out.push(json!({"role": "assistant", "content": blocks}));
    }
    let mut blocks = vec![];
    for result in results {
        let mut parts = vec![];
        let (images, rest): (Vec<_>, Vec<_>) = result
            .content
            .iter()
            .cloned()
            .partition(|part| matches!(part, Content::Image { .. }));
        let pictures = !images.is_empty();
        // `is_error` says that the call failed.
        let text = renderer.flagged(&result.clone().content(rest), &options.render);
        if !text.is_empty() {
            parts.push(json!({"type": "text", "text": text}));
        }
        for image in images {
            if let Content::Image { mime, data } = image {
                let source = json!({"type": "base64", "media_type": mime, "data": data});
                parts.push(json!({"type": "image", "source": source}));
            }
        }
        let content = if pictures {
            Json::Array(parts)
        } else {
            text.into()
        };
        let mut block = json!({"type": "tool_result", "tool_use_id": NameRule::Api.spell(&result.id), "content": content});
        if result.status != Status::Success {
            block["is_error"] = Json::Bool(true);
        }
        blocks.push(block);
    }
    if !blocks.is_empty() {
        out.push(json!({"role": "user", "content": blocks}));
    }
    Ok(out)
}
