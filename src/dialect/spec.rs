//! A dialect file, key by key. `docs/DIALECTS.md` explains every key with examples.
//!
//! Built-in files and a user's files are read by the same code into the same structures; unknown keys are errors.

mod channels;
mod framed;
mod key_quote;

use std::collections::BTreeMap;

use serde::Deserialize;

pub use self::channels::{AfterCall, Blob, Channels, Line, Reasoning, ReasoningAt, RouteKind};
pub use self::framed::{Bare, Brackets, Framed, Framing, Hint, Param, Payload, Unit};
pub use self::key_quote::{CommentAt, KeyQuote, Quote, Trim};
use crate::limits::{Fence, Unclosed, Untyped};

/// One dialect file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    pub id: String,
    pub title: String,
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Who writes it: models or systems.
    #[serde(default)]
    pub models: Vec<String>,
    /// Where the rules come from.
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
    /// What text is whose type nobody knows.
    #[serde(default)]
    pub untyped: Untyped,
    /// What becomes of a block whose body breaks its grammar.
    #[serde(default)]
    pub malformed: Malformed,
    #[serde(default)]
    pub reopen: Reopen,
    /// More blocks than this in one stream are reported.
    pub max_blocks: Option<u32>,
    /// Markers count only at the start of a line, or right after a block.
    #[serde(default)]
    pub line_start: bool,
    /// Markers count only where the host vouches for them.
    #[serde(default)]
    pub trusted_only: bool,
    /// What the prompt opens the model's turn with, after which the reply or what is left of its header stands.
    #[serde(default)]
    pub turn: Vec<String>,
    /// What the prompt may have written, told from what the reply begins with.
    #[serde(default)]
    pub begins: Vec<Begins>,
    /// Its calls end an open thought.
    #[serde(default)]
    pub ends_thought: bool,
    pub deltas: Deltas,
    pub key_quote: Option<KeyQuote>,
    pub element_tree: Option<ElementTree>,
    pub named_params: Option<NamedParams>,
    pub attribute_params: Option<AttributeParams>,
    pub framed: Option<Framed>,
    /// It has no calls, and that is meant.
    #[serde(default)]
    pub plain: bool,
    pub line: Option<Line>,
    /// Markers that are part of no text: of messages, of the end of a stream.
    #[serde(default)]
    pub framing: Vec<String>,
    /// Framing that opens messages of text: at the start of a reply it is framing in every set.
    #[serde(default)]
    pub messages: Vec<String>,
    /// Framing that is ordinary markup too.
    #[serde(default)]
    pub markup: Vec<String>,
    /// Messages with headers that say what they are.
    pub channels: Option<Channels>,
    #[serde(default)]
    pub reasoning: Vec<Reasoning>,
    #[serde(default)]
    pub span: Vec<SpanSpec>,
    /// Observation texts by kind of issue.
    #[serde(default)]
    pub observe: BTreeMap<String, String>,
    /// What models read: definitions of tools, how to call them, results.
    #[serde(default)]
    pub prompt: Prompt,
    /// Named tables that are laid over the file when a host switches them on.
    #[serde(default)]
    pub switch: BTreeMap<String, toml::Table>,
}

/// Something that the prompt may have written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Begins {
    pub prompt: String,
    /// What a reply begins with that goes on after it: patterns.
    pub reply: Vec<String>,
}

/// What models read of tools. A layout is the text of a template, or the name of a shared one.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Prompt {
    /// Where the layouts come from; nothing: they are the general ones.
    pub sources: Vec<String>,
    /// The definitions.
    pub tools: Option<String>,
    /// How to call them.
    pub usage: Option<String>,
    /// What stands between both.
    pub between: Option<String>,
    /// Results of calls.
    pub results: Option<String>,
    /// Whose message results are.
    pub role: Option<String>,
    /// What ends a reply; nothing: told from the rest of the file.
    pub stop: Option<Vec<String>>,
    /// Marks of the layout of results that no result may hold.
    pub guard: Vec<String>,
    /// So many characters of a result are shown.
    pub cut: Option<usize>,
    /// What stands where a result is cut.
    pub mark: Option<String>,
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

/// What becomes of a block whose body breaks its grammar.
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
    /// It counts if everything opened inside was closed.
    Complete,
}

/// When the arguments of a call come out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Deltas {
    Live,
    AtValueEnd,
    AtCallEnd,
}

/// What does not matter when keys are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fold {
    Case,
    Underscore,
    Hyphen,
    /// Every run of other than letters and digits is one underscore.
    Punctuation,
}

/// A key as it is compared.
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
    /// The element that holds one item of a list, where the schema says list.
    pub item: String,
}

/// `<tool_call name="n"><param name="k">v</param></tool_call>`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedParams {
    pub call: String,
    pub param: String,
    pub name: String,
    /// Without a name: what the body must begin with to be an error and no mention.
    pub nameless: Vec<String>,
    /// White space that may stand between a closer and what confirms it.
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
    /// Bytes after a quote that may be looked at to tell whether it ends the value.
    pub confirm: u32,
}

impl Spec {
    /// Whether ordinary markup that is framing closes this tag of it.
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

    /// Of calls whose markers could stand in prose only those of declared tools count.
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
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpanSpec {
    pub kind: String,
    pub open: String,
    pub close: String,
    /// Where its opener counts.
    #[serde(default)]
    pub at: ReasoningAt,
    /// What its opener is reported as.
    pub issue: Option<String>,
}

/// Whether a marker is spelled like a special token, so that nobody types it.
pub fn special(marker: &str) -> bool {
    let parts = ["<|", "|>", "｜", "]<]"];
    parts.iter().any(|part| marker.contains(part))
}
