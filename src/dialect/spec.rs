//! A dialect file, key by key. `docs/DIALECTS.md` explains every key with examples.
//!
//! Built-in files and a user's files are read by the same code into the same structures; unknown keys are errors.

use std::collections::BTreeMap;

use serde::Deserialize;
use toolglot_scan::Case;

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

/// `key:「始」value「末」` between two markers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyQuote {
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
    /// The key and the value by which a step of a chain lets the next ones run though it broke.
    #[serde(default)]
    pub go_on: Option<GoOn>,
    /// Keys that start with this name the type of another parameter: `text` or `json`.
    #[serde(default)]
    pub type_prefix: String,
    pub colon: Vec<String>,
    pub separators: Vec<String>,
    /// Whether the writer puts the first separator between fields.
    #[serde(default = "yes")]
    pub separated: bool,
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
    /// The format's document says that the last value of a key that comes twice wins.
    #[serde(default)]
    pub last_wins: bool,
    /// Bytes after a block's closer in an open value that may be looked at.
    #[serde(default = "lookahead")]
    pub lookahead: u32,
}

fn lookahead() -> u32 {
    1024
}

/// How a step of a chain says that the next ones run whatever becomes of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoOn {
    pub key: String,
    pub value: String,
}

/// What encloses a value.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quote {
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
pub struct Comment {
    pub open: String,
    pub at: CommentAt,
}

/// Where a comment may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommentAt {
    LineStart,
    Anywhere,
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

/// What is cut from a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trim {
    #[default]
    None,
    Ends,
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

/// Calls between markers: the frame of most model formats. Its markers are patterns; see [`toolglot_scan::path`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Framed {
    /// What may enclose several calls.
    pub section: Option<Section>,
    /// The forms that a call can have.
    pub unit: Vec<Unit>,
    /// Parameters between tags.
    pub param: Option<Param>,
    /// Parameters that are elements named after them; elements inside are lists and objects.
    pub tree: Option<Param>,
    #[serde(default)]
    pub json: Json,
    #[serde(default)]
    pub python: Python,
    #[serde(default)]
    pub braces: Braces,
    /// How a tool's name is found in an id: what stands before it, and what separates it from a number after it.
    #[serde(default)]
    pub ids: Vec<[String; 2]>,
    /// What `$x` is after an opener that does not show it.
    #[serde(default)]
    pub fixed: BTreeMap<String, String>,
    /// Those of the openers and closers that are known misspellings.
    #[serde(default)]
    pub misspelt: Vec<String>,
    /// What stands between a name that is written twice, as `f.f`.
    #[serde(default)]
    pub doubled: String,
}

/// What encloses calls.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    pub open: Vec<String>,
    /// Nothing: it ends where no further call begins.
    #[serde(default)]
    pub close: Vec<String>,
    /// Calls may stand without it.
    #[serde(default)]
    pub optional: bool,
    /// What may stand between calls beside white space.
    #[serde(default)]
    pub separators: Vec<String>,
    /// What must follow the opener, or it is text.
    #[serde(default)]
    pub probe: Vec<String>,
    /// Anything may stand between calls.
    #[serde(default)]
    pub prose: bool,
    /// The argument that its attributes are, of each call inside.
    pub argument: Option<String>,
}

/// One form of a call.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unit {
    /// What opens it, up to its payload.
    pub open: Vec<String>,
    /// Nothing: it ends with its payload.
    #[serde(default)]
    pub close: Vec<String>,
    pub payload: Payload,
    /// What must follow the literal beginning of the opener, where it stands in text.
    #[serde(default)]
    pub probe: Vec<String>,
    /// What may stand between this call and a further one of the same kind that has no opener.
    #[serde(default)]
    pub more: Vec<String>,
    /// The attribute that names the tool.
    #[serde(default = "name_attribute")]
    pub name: String,
    /// The other attributes are arguments.
    #[serde(default)]
    pub attributes: bool,
    /// The name in a probe must be one declared.
    #[serde(default)]
    pub offered: bool,
    /// `$x` in its other markers is the tool's name.
    #[serde(default)]
    pub fix_name: bool,
    /// The opener is no marker: the JSON that follows the probe, or the opener itself if that is JSON, must show a call of
    /// a declared tool.
    pub bare: Option<Bare>,
    /// What its text is, where that is one argument.
    pub content: Option<Content>,
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

impl Unit {
    /// Whether it opens without a marker, in text that anybody may write.
    pub fn unmarked(&self) -> bool {
        self.bare.is_some() || (self.offered && self.open.iter().all(|open| open.starts_with("$^")))
    }
}

/// JSON that is a call only if it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Bare {
    /// Where its opener counts.
    pub at: ReasoningAt,
    /// So many bytes may be looked at.
    pub within: u32,
}

impl Default for Bare {
    fn default() -> Self {
        Self {
            at: ReasoningAt::Anywhere,
            within: 256,
        }
    }
}

/// Text that is one argument.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    /// The argument's name.
    pub argument: String,
    /// What is done to it: the first rule for the tool counts. Without one it stays as it is.
    #[serde(default)]
    pub rule: Vec<ContentRule>,
}

/// What is done to a text that is one argument.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ContentRule {
    /// Tools that it is for; none: all.
    pub tools: Vec<String>,
    /// Attributes without which there is no call.
    pub requires: Vec<String>,
    /// White space at both ends goes.
    pub trim: bool,
    /// A code fence around the whole goes.
    pub unfence: bool,
    /// Not if an attribute ends so: `[attribute, ending]`.
    pub unless: Vec<[String; 2]>,
    /// It ends with one newline.
    pub newline: bool,
}

impl ContentRule {
    /// Whether a fence goes from a call with these attributes.
    pub fn unfences(&self, attributes: &[(String, String)]) -> bool {
        let kept = |[key, ending]: &[String; 2]| {
            let mut values = attributes.iter().filter(|(have, _)| have == key);
            values.any(|(_, value)| value.ends_with(ending.as_str()))
        };
        self.unfence && !self.unless.iter().any(kept)
    }
}

impl Content {
    /// The rule for a tool.
    pub fn rule(&self, tool: &str) -> Option<&ContentRule> {
        let fits = |rule: &&ContentRule| {
            rule.tools.is_empty() || rule.tools.iter().any(|have| have == tool)
        };
        self.rule.iter().find(fits)
    }
}

fn name_attribute() -> String {
    "name".to_owned()
}

/// What a call's arguments are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Payload {
    /// Parameters between tags.
    Params,
    /// Parameters that are elements: the table `tree`.
    Tree,
    /// A YAML mapping, up to the call's closer.
    Yaml,
    /// JSON that names the tool: an object, or a list of such.
    Json,
    /// A JSON object that is the arguments.
    Arguments,
    /// `f(a=1)`, one or a list.
    Python,
    /// `call:f{a:1}`.
    Braces,
    /// Text that is one argument.
    Content,
}

/// Parameters between tags.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Param {
    pub open: Vec<String>,
    pub close: Vec<String>,
    /// What all parameters stand after as one object in JSON.
    #[serde(default)]
    pub whole: Vec<String>,
    /// The attribute that names it.
    #[serde(default = "name_attribute")]
    pub name: String,
    #[serde(default)]
    pub frame: Framing,
    /// Parameters with one newline on each side, whatever the others have.
    #[serde(default)]
    pub newline: Vec<String>,
    /// Entities stand for characters.
    #[serde(default)]
    pub entities: bool,
    /// The element that holds one item of a list.
    #[serde(default = "item")]
    pub item: String,
    /// A value may be CDATA.
    #[serde(default)]
    pub cdata: bool,
    /// An opener at the start of a line ends the open value.
    #[serde(default)]
    pub line: bool,
    /// White space that may stand between a closer and what confirms it.
    #[serde(default = "confirm")]
    pub confirm: u32,
    pub hint: Option<Hint>,
}

fn item() -> String {
    "item".to_owned()
}

fn confirm() -> u32 {
    64
}

/// What stands between a tag and its value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Framing {
    #[default]
    Verbatim,
    /// One newline on each side.
    Newline,
    /// White space.
    Trim,
}

/// Where a parameter's tag tells its type.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hint {
    /// The attribute; none: the hole `$type`.
    pub attribute: Option<String>,
    /// What it says of text. Everything else is JSON, or text if it does not parse.
    pub text: Vec<String>,
    /// Without it the value is JSON if it parses.
    #[serde(default)]
    pub json: bool,
}

/// JSON that names the tool.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Json {
    pub name: Vec<String>,
    pub arguments: Vec<String>,
    pub id: Vec<String>,
    /// An object around it: `{"function": {..}}`.
    pub wrapper: Vec<String>,
    /// `{"NAME": {arguments}}`.
    pub name_is_key: bool,
    /// Python literals: `{'name': True}`.
    pub python: bool,
}

impl Default for Json {
    fn default() -> Self {
        let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Self {
            name: list(&["name"]),
            arguments: list(&["arguments", "parameters"]),
            id: list(&["id"]),
            wrapper: vec![],
            name_is_key: false,
            python: false,
        }
    }
}

/// `f(a=1)`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Python {
    pub brackets: Brackets,
    /// What stands between the name and the parenthesis: `.call`.
    pub method: String,
    /// Quotes are delimiters; the schema tells the type.
    pub quoted_typed: bool,
    /// The list may hold calls in JSON instead.
    pub json: bool,
}

/// Brackets around calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Brackets {
    #[default]
    Required,
    Optional,
    /// Calls follow one another, one a line as a rule.
    Forbidden,
    /// There is one call, and no list.
    One,
}

/// `call:f{a:1}`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Braces {
    pub prefix: String,
    /// What encloses a string.
    pub delimiters: Vec<String>,
    /// Every value is enclosed; the schema tells the type.
    pub all_delimited: bool,
}

/// Headers at the start of a line: `Thought:`, `Action:`, `Action Input:`. They are patterns; see [`toolglot_scan::path`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Only actions of declared tools count, and other lines after such an action.
    #[serde(skip)]
    pub offered: bool,
    /// Reasoning, up to the next header.
    #[serde(default)]
    pub thought: Vec<String>,
    /// The name of a tool, up to the end of the line.
    pub action: Vec<String>,
    /// Its arguments, a JSON object.
    pub input: Vec<String>,
    /// A tool's result, which no model should write.
    #[serde(default)]
    pub observation: Vec<String>,
    /// Text, up to the end.
    #[serde(default)]
    pub answer: Vec<String>,
    /// Actions that name no tool on purpose.
    #[serde(default)]
    pub null: Vec<String>,
    /// The parameter that takes an input without an object where no schema says which one does.
    #[serde(default)]
    pub plain: String,
    /// JSON that names the tool, in place of the action's name and its input.
    #[serde(default)]
    pub blob: Option<Blob>,
}

/// An action that is one object: `{"action": "f", "action_input": {..}}`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blob {
    /// Key of the tool's name.
    pub name: String,
    /// Key of its arguments.
    pub arguments: String,
    /// Names that are no tool: what stands beside them is the answer.
    #[serde(default)]
    pub answer: Vec<String>,
}

impl Line {
    /// All headers.
    pub fn headers(&self) -> impl Iterator<Item = &String> {
        let lists = [
            &self.thought,
            &self.action,
            &self.input,
            &self.observation,
            &self.answer,
        ];
        lists.into_iter().flatten()
    }
}

/// Messages with headers: `<|start|>assistant<|channel|>final<|message|>text<|end|>`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Channels {
    /// What begins a header.
    pub start: Vec<String>,
    /// What begins a header at the very beginning of the stream, after what the prompt has put there.
    #[serde(default)]
    pub first: String,
    /// What ends a header; one that is in `start` too is a header of its own.
    pub end: Vec<String>,
    /// What ends a message.
    pub close: Vec<String>,
    /// What stands before the parts of a header, each up to a blank or `<`.
    #[serde(default)]
    pub recipient: String,
    #[serde(default)]
    pub channel: String,
    #[serde(default)]
    pub content: String,
    /// The first that fits says what the message is.
    pub route: Vec<Route>,
}

/// What messages of some kind are. `*` stands for anything but nothing; a condition that is left out holds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    pub kind: RouteKind,
    /// Who writes it: the word that the header begins with. One that ends with `*` is the beginning of a word.
    pub role: Option<Vec<String>>,
    pub recipient: Option<Vec<String>>,
    pub channel: Option<Vec<String>>,
    pub content: Option<Vec<String>>,
    pub end: Option<Vec<String>>,
}

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RouteKind {
    Text,
    Reasoning,
    /// What a tool answers; a model that writes it makes it up.
    Result,
    /// A call of the tool that is the recipient.
    Call,
    /// Calls that name their tools themselves.
    Calls,
}

/// Reasoning markers.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reasoning {
    #[serde(deserialize_with = "one_or_more")]
    pub open: Vec<String>,
    #[serde(deserialize_with = "one_or_more")]
    pub close: Vec<String>,
    /// Where its opener counts.
    #[serde(default)]
    pub at: ReasoningAt,
    /// The same opener inside opens a level more.
    #[serde(default)]
    pub nested: bool,
    /// The same opener inside is framing.
    #[serde(default)]
    pub repeats: bool,
    /// The stream starts inside: the prompt opened it.
    #[serde(default)]
    pub implicit: bool,
    /// Only the first block of a stream counts.
    #[serde(default)]
    pub first: bool,
    /// What may stand right after the opener and is framing.
    #[serde(default)]
    pub label: String,
    /// Markers before which it ends without a closer.
    #[serde(default)]
    pub ended_by: Vec<String>,
    /// What follows a call that ended it.
    #[serde(default)]
    pub after_call: AfterCall,
    /// The markers may have a suffix before their last byte, the opener's and the closer's the same.
    #[serde(default)]
    pub suffix: bool,
}

/// What follows a call that ended a thought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AfterCall {
    /// The answer; the thought's closer is framing if it comes.
    #[default]
    Text,
    /// The thought again, up to its closer.
    Resume,
}

/// A string, or a list of strings.
fn one_or_more<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Words {
        One(String),
        More(Vec<String>),
    }
    Ok(match Words::deserialize(from)? {
        Words::One(word) => vec![word],
        Words::More(words) => words,
    })
}

/// Where a marker counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReasoningAt {
    /// Only blanks before it in the stream.
    Start,
    /// At most three blanks before it on its line; right after a block or reasoning counts as a line start.
    #[default]
    LineStart,
    Anywhere,
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
