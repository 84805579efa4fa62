//! A dialect file, key by key. `docs/DIALECTS.md` explains every key with examples.
//!
//! Built-in files and users' files are read by the same code into the same structures; unknown keys are errors.

mod channels;
mod framed;
mod key_quote;
mod prompt;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use self::channels::{
    AfterCall, Blob, Channels, Line, Reasoning, ReasoningAt, Route, RouteKind,
};
pub use self::framed::{Bare, Brackets, Framed, Framing, Hint, Notation, Param, Payload, Unit};
pub use self::key_quote::{CommentAt, KeyQuote, Quote, Trim};
pub use self::prompt::LazyPrompt;
use crate::limits::{Fence, Unclosed, Untyped};

/// One dialect file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    pub id: String,
    pub title: String,
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The models or systems that write it.
    #[serde(default)]
    pub models: Vec<String>,
    /// The sources of its rules.
    #[serde(default)]
    pub sources: Vec<String>,
    /// At most one member of a group is active in a set: same markup, different framing.
    pub group: Option<String>,
    /// Part of the default set.
    #[serde(default = "yes")]
    pub default: bool,
    #[serde(default = "allow")]
    pub fence: Fence,
    #[serde(default = "drop")]
    pub unclosed: Unclosed,
    /// How text of unknown type is read.
    #[serde(default)]
    pub untyped: Untyped,
    /// What happens to a block whose body breaks its grammar.
    #[serde(default)]
    pub malformed: Malformed,
    #[serde(default)]
    pub reopen: Reopen,
    /// More blocks than this in one stream are reported.
    pub max_blocks: Option<u32>,
    /// How the prompt opens the model's turn; the reply, or the rest of its header, follows.
    #[serde(default)]
    pub turn: Vec<String>,
    /// How the turns of other authors begin. What a turn opener begins with, too, precedes the name of an author.
    #[serde(default)]
    pub others: Vec<String>,
    /// What the prompt may have written, inferred from the beginning of the reply.
    #[serde(default)]
    pub begins: Vec<Begins>,
    /// Its calls end open reasoning.
    #[serde(default)]
    pub ends_thought: bool,
    pub deltas: Deltas,
    pub key_quote: Option<KeyQuote>,
    pub element_tree: Option<ElementTree>,
    pub named_params: Option<NamedParams>,
    pub attribute_params: Option<AttributeParams>,
    pub framed: Option<Framed>,
    /// It deliberately has no calls.
    #[serde(default)]
    pub plain: bool,
    pub line: Option<Line>,
    /// Markers that are not part of the text: those of messages, and of the end of a stream.
    #[serde(default)]
    pub framing: Vec<String>,
    /// Framing that opens text messages: at the start of a reply it is framing in every set.
    #[serde(default)]
    pub messages: Vec<String>,
    /// Framing that is also ordinary markup.
    #[serde(default)]
    pub markup: Vec<String>,
    /// Messages with headers, which determine what the messages are.
    pub channels: Option<Channels>,
    #[serde(default)]
    pub reasoning: Vec<Reasoning>,
    #[serde(default)]
    pub span: Vec<SpanSpec>,
    /// Observation texts by kind of issue.
    #[serde(default)]
    pub observe: BTreeMap<String, String>,
    /// Text for the model: definitions of tools, how to call them, results.
    #[serde(default)]
    pub prompt: LazyPrompt,
    /// Named tables that overlay the file when a host enables them.
    #[serde(default)]
    pub switch: BTreeMap<String, toml::Table>,
}

/// Something that the prompt may have written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Begins {
    pub prompt: String,
    /// How a reply begins that continues it: patterns.
    pub reply: Vec<String>,
}

fn yes() -> bool {
    true
}

fn allow() -> Fence {
    Fence::Allow
}

fn drop() -> Unclosed {
    Unclosed::Drop
}

/// What happens to a block whose body breaks its grammar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Malformed {
    /// It is hidden, up to its closer.
    #[default]
    Drop,
    /// It is text.
    Text,
}

/// What happens to a block when the next one opens inside it, outside values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reopen {
    /// It is abandoned.
    #[default]
    Abandon,
    /// It remains valid if everything opened inside was closed.
    Complete,
}

/// When the arguments of a call are delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Deltas {
    Live,
    AtValueEnd,
    AtCallEnd,
}

/// What is ignored when keys are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fold {
    Case,
    Underscore,
    Hyphen,
    /// Every run of characters other than letters and digits becomes one underscore.
    Punctuation,
}

/// Normalizes a key for comparison.
pub fn fold(key: &str, folds: &[Fold]) -> String {
    let mut key = key.to_owned();
    for fold in folds {
        key = match fold {
            Fold::Case => key.to_lowercase(),
            Fold::Underscore => key.replace('_', ""),
            Fold::Hyphen => key.replace('-', ""),
            Fold::Punctuation => {
                let parts = key
                    .split(|c: char| !c.is_alphanumeric())
                    .filter(|part| !part.is_empty());
                parts.collect::<Vec<_>>().join("_")
            }
        };
    }
    key
}

/// `<ACTION><tool><param>value</param></tool></ACTION>`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ElementTree {
    pub open: String,
    pub close: String,
    /// The element for one item of a list, if the schema asks for a list.
    pub item: String,
}

/// `<tool_call name="n"><param name="k">v</param></tool_call>`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedParams {
    pub call: String,
    pub param: String,
    pub name: String,
    /// Without a name: what the body must begin with to be an error and not a mention.
    pub nameless: Vec<String>,
    /// The maximum whitespace between a closer and what confirms it.
    pub confirm: u32,
}

/// `<tool_action name="n"><k value="v"/></tool_action>`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttributeParams {
    pub call: String,
    pub name: String,
    pub value: String,
    pub nameless: Vec<String>,
    /// How many bytes after a quote may be looked at to decide whether it ends the value.
    pub confirm: u32,
}

impl Spec {
    /// Whether ordinary markup that is framing closes this tag.
    pub fn closes_markup(&self, tag: &str) -> bool {
        let inner = tag
            .strip_prefix('<')
            .filter(|inner| !inner.starts_with('/'));
        let closer = |inner: &str| {
            self.markup
                .iter()
                .any(|marker| marker.strip_prefix("</") == Some(inner))
        };
        inner.is_some_and(closer)
    }

    /// Restricts calls whose markers could occur in prose to declared tools.
    pub fn only_offered(&mut self) {
        if let Some(line) = &mut self.line {
            line.offered = true;
        }
        for unit in self.framed.iter_mut().flat_map(|framed| &mut framed.unit) {
            unit.offered |= unit.probe.iter().any(|probe| probe.contains("$name"));
        }
    }
}

fn name_attribute() -> String {
    "name".to_owned()
}

/// A region without calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpanSpec {
    pub kind: String,
    pub open: String,
    pub close: String,
    /// Where its opener counts.
    #[serde(default)]
    pub at: ReasoningAt,
    /// The kind of issue with which its opener is reported.
    pub issue: Option<String>,
}

/// Whether a marker is spelled like a special token, which nobody types.
pub fn special(marker: &str) -> bool {
    let parts = ["<|", "|>", "｜", "]<]"];
    parts.iter().any(|part| marker.contains(part))
}
