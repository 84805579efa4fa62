//! A dialect file, key by key. `docs/DIALECTS.md` explains every key with examples.
//!
//! Built-in files and a user's files are read by the same code into the same structures; unknown keys are errors.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::limits::{Fence, Unclosed};

/// One dialect file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Spec {
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
    /// What becomes of a block whose body breaks its grammar.
    #[serde(default)]
    pub malformed: Malformed,
    #[serde(default)]
    pub reopen: Reopen,
    /// More blocks than this in one stream are reported.
    pub max_blocks: Option<u32>,
    /// Markers count only where the host vouches for them.
    #[serde(default)]
    pub trusted_only: bool,
    pub deltas: Deltas,
    pub key_quote: Option<KeyQuote>,
    pub element_tree: Option<ElementTree>,
    pub named_params: Option<NamedParams>,
    pub attribute_params: Option<AttributeParams>,
    #[serde(default)]
    pub reasoning: Vec<Reasoning>,
    #[serde(default)]
    pub span: Vec<SpanSpec>,
    /// Observation texts by kind of issue.
    #[serde(default)]
    pub observe: BTreeMap<String, String>,
    /// Named tables that are laid over the file when a host switches them on.
    #[serde(default)]
    pub switch: BTreeMap<String, toml::Table>,
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
pub(crate) enum Malformed {
    /// It is hidden, up to its closer.
    #[default]
    Drop,
    /// It is text.
    Text,
}

/// What happens to a block when the next one opens inside it, outside values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Reopen {
    /// It is abandoned.
    #[default]
    Abandon,
    /// It counts if everything opened inside was closed.
    Complete,
}

/// When the arguments of a call come out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Deltas {
    Live,
    AtValueEnd,
    AtCallEnd,
}

/// Whether letters of a marker match in either case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Case {
    #[default]
    Exact,
    Ignore,
}

/// `key:「始」value「末」` between two markers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyQuote {
    pub open: Vec<String>,
    pub close: Vec<String>,
    #[serde(default)]
    pub case: Case,
    /// Bytes of this kind beside the block markers belong to them.
    #[serde(default)]
    pub extra: String,
    /// The key that names the tool.
    pub name: String,
    /// The key whose numbered forms (`command1`) make a chain.
    pub chain: Option<String>,
    /// What stands between a key and its number, beside nothing.
    #[serde(default)]
    pub chain_infix: String,
    /// Keys that start with this are shared by all calls of a chain, under the rest of their name.
    #[serde(default)]
    pub shared_prefix: String,
    /// Keys (numbered or not) that are no arguments but facts of the call.
    #[serde(default)]
    pub meta: Vec<String>,
    /// Keys that are left out.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// Keys that start with this name the type of another parameter: `text` or `json`.
    #[serde(default)]
    pub type_prefix: String,
    pub colon: Vec<String>,
    pub separators: Vec<String>,
    pub quotes: Vec<Quote>,
    #[serde(default)]
    pub comment: Option<Comment>,
    #[serde(default)]
    pub fold: Vec<Fold>,
    #[serde(default)]
    pub trim: Trim,
    /// A line that starts with a key and a value's opener ends the open value.
    #[serde(default)]
    pub key_line_ends_value: bool,
    /// Bytes behind a block's closer in an open value that may be looked at.
    #[serde(default = "lookahead")]
    pub lookahead: u32,
}

fn lookahead() -> u32 {
    1024
}

/// What encloses a value.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Quote {
    pub open: Vec<String>,
    pub close: Vec<String>,
    /// Closers of other quotes that end the value only at the end of a line; reported.
    #[serde(default)]
    pub loose_close: Vec<String>,
    #[serde(default)]
    pub case: Case,
    /// Nothing but its own closer ends it.
    #[serde(default)]
    pub protect: bool,
    /// Spellings inside that stand for others.
    #[serde(default)]
    pub restore: Vec<[String; 2]>,
}

/// Comments between fields, up to the end of the line.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Comment {
    pub open: String,
    pub at: CommentAt,
}

/// Where a comment may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CommentAt {
    LineStart,
    Anywhere,
}

/// What does not matter when keys are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Fold {
    Case,
    Underscore,
    Hyphen,
    /// Every run of other than letters and digits is one underscore.
    Punctuation,
}

/// What is cut from a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Trim {
    #[default]
    None,
    Ends,
}

/// `<ACTION><tool><param>value</param></tool></ACTION>`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ElementTree {
    pub open: String,
    pub close: String,
    /// The element that holds one item of a list, where the schema says list.
    pub item: String,
}

/// `<tool_call name="n"><param name="k">v</param></tool_call>`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NamedParams {
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
pub(crate) struct AttributeParams {
    pub call: String,
    pub name: String,
    pub value: String,
    pub nameless: Vec<String>,
    /// Bytes behind a quote that may be looked at to tell whether it ends the value.
    pub confirm: u32,
}

/// Reasoning markers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reasoning {
    pub open: String,
    pub close: String,
    pub at: ReasoningAt,
    /// The same opener inside opens a level more.
    #[serde(default)]
    pub nested: bool,
}

/// Where a reasoning marker counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ReasoningAt {
    /// Only blanks before it in the stream.
    Start,
    /// At most three blanks before it on its line; right behind a block or reasoning counts as a line start.
    LineStart,
    Anywhere,
}

/// A region without calls.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SpanSpec {
    pub kind: String,
    pub open: String,
    pub close: String,
}
