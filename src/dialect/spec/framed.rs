//! Framed blocks: sections, units and their payloads.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::channels::ReasoningAt;
use super::{Deltas, name_attribute};

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
    /// How to find a tool's name in an id: what precedes it, and what separates it from a following number.
    #[serde(default)]
    pub ids: Vec<[String; 2]>,
    /// The value of `$x` after an opener that does not contain it.
    #[serde(default)]
    pub fixed: BTreeMap<String, String>,
    /// The openers and closers that are known misspellings.
    #[serde(default)]
    pub misspelt: Vec<String>,
    /// The separator of a name that is written twice, as in `f.f`.
    #[serde(default)]
    pub doubled: String,
}

/// What encloses calls.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    pub open: Vec<String>,
    /// Empty: it ends where no further call begins.
    #[serde(default)]
    pub close: Vec<String>,
    /// Calls may occur without it.
    #[serde(default)]
    pub optional: bool,
    /// What may be between calls besides whitespace.
    #[serde(default)]
    pub separators: Vec<String>,
    /// What must follow the opener; otherwise it is text.
    #[serde(default)]
    pub probe: Vec<String>,
    /// Any text may be between calls.
    #[serde(default)]
    pub prose: bool,
    /// The argument that its attributes form, for each call inside.
    pub argument: Option<String>,
}

/// One form of a call.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unit {
    /// What opens it, up to its payload.
    pub open: Vec<String>,
    /// Empty: it ends with its payload.
    #[serde(default)]
    pub close: Vec<String>,
    pub payload: Payload,
    /// What must follow the literal beginning of the opener in text.
    #[serde(default)]
    pub probe: Vec<String>,
    /// What may be between this call and another one of the same kind without an opener.
    #[serde(default)]
    pub more: Vec<String>,
    /// The attribute that names the tool.
    #[serde(default = "name_attribute")]
    pub name: String,
    /// The other attributes are arguments.
    #[serde(default)]
    pub attributes: bool,
    /// The name in a probe must be that of a declared tool.
    #[serde(default)]
    pub offered: bool,
    /// `$x` in its other markers is the tool's name.
    #[serde(default)]
    pub fix_name: bool,
    /// The opener is not a marker: the JSON that follows the probe, or the opener itself if that is JSON, must be a call of a
    /// declared tool.
    pub bare: Option<Bare>,
    /// How its text is read, if that is one argument.
    pub content: Option<Content>,
}

impl Unit {
    /// Whether it opens without a marker, in text that anybody may write.
    pub fn unmarked(&self) -> bool {
        self.bare.is_some() || (self.offered && self.open.iter().all(|open| open.starts_with("$^")))
    }
}

/// JSON that is a call only under conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bare {
    /// Where its opener counts.
    #[serde(default)]
    pub at: ReasoningAt,
}

/// Text that is one argument.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    /// The argument's name.
    pub argument: String,
    /// The recipients to whom a message holds such text in place of the other units' payloads.
    #[serde(default)]
    pub recipients: Vec<String>,
    /// How to process it: the first rule for the tool applies. Without a rule it stays as it is.
    #[serde(default)]
    pub rule: Vec<ContentRule>,
}

/// How to process a text that is one argument.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ContentRule {
    /// The tools that it is for; empty: all.
    pub tools: Vec<String>,
    /// Attributes without which there is no call.
    pub requires: Vec<String>,
    /// Remove whitespace at both ends.
    pub trim: bool,
    /// Remove a code fence around the whole.
    pub unfence: bool,
    /// Not if an attribute ends like this: `[attribute, ending]`.
    pub unless: Vec<[String; 2]>,
    /// End it with one newline.
    pub newline: bool,
}

impl ContentRule {
    /// Whether to remove a fence from a call with these attributes.
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

/// The format of a call's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "PayloadWord")]
pub enum Payload {
    /// Parameters between tags.
    Params,
    /// Parameters that are elements: the table `tree`.
    Tree,
    /// A mapping, up to the call's closer.
    Mapping(Notation),
    /// JSON that names the tool: an object, or a list of them.
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

impl Payload {
    /// When its arguments can be delivered, and why.
    pub fn deltas(self) -> (&'static [Deltas], &'static str) {
        match self {
            Self::Params | Self::Tree => (
                &[Deltas::Live, Deltas::AtValueEnd],
                "a parameter is final at its closer at the latest",
            ),
            Self::Json | Self::Arguments | Self::Python | Self::Braces => {
                (&[Deltas::Live], "values are read as they come")
            }
            Self::Content => (&[Deltas::AtValueEnd], "what the text is, its end decides"),
            Self::Mapping(_) => (
                &[Deltas::AtCallEnd],
                "a later line may change what a block is",
            ),
        }
    }

    /// Whether the attributes of a section can be an argument beside it.
    pub fn takes_attributes(self) -> bool {
        match self {
            Self::Params | Self::Tree | Self::Content => true,
            Self::Json | Self::Arguments | Self::Python | Self::Braces | Self::Mapping(_) => false,
        }
    }
}

/// How a mapping is spelled. It is read when its call has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Notation {
    /// YAML.
    Yaml,
}

/// A payload as dialect files name it.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PayloadWord {
    Params,
    Tree,
    Yaml,
    Json,
    Arguments,
    Python,
    Braces,
    Content,
}

impl From<PayloadWord> for Payload {
    fn from(word: PayloadWord) -> Self {
        match word {
            PayloadWord::Params => Self::Params,
            PayloadWord::Tree => Self::Tree,
            PayloadWord::Yaml => Self::Mapping(Notation::Yaml),
            PayloadWord::Json => Self::Json,
            PayloadWord::Arguments => Self::Arguments,
            PayloadWord::Python => Self::Python,
            PayloadWord::Braces => Self::Braces,
            PayloadWord::Content => Self::Content,
        }
    }
}

/// Parameters between tags.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Param {
    pub open: Vec<String>,
    pub close: Vec<String>,
    /// What precedes all parameters as one JSON object.
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
    /// Entities are decoded.
    #[serde(default)]
    pub entities: bool,
    /// A value may be CDATA.
    #[serde(default)]
    pub cdata: bool,
    /// An opener at the start of a line ends the open value.
    #[serde(default)]
    pub line: bool,
    /// The maximum whitespace between a closer and what confirms it. With 0, only a closer with a slip needs that.
    #[serde(default = "confirm")]
    pub confirm: u32,
    pub hint: Option<Hint>,
}

impl Param {
    /// The maximum whitespace between a closer that needs a confirmation and what confirms it.
    pub fn within(&self) -> u32 {
        match self.confirm {
            0 => confirm(),
            most => most,
        }
    }
}

pub(super) fn confirm() -> u32 {
    64
}

/// What separates a tag from its value.
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

/// Where a parameter's tag states its type.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hint {
    /// The attribute; `None`: the hole `$type`.
    pub attribute: Option<String>,
    /// Its values for text. Anything else is JSON, or text if it does not parse. Without it, the schema decides.
    pub text: Vec<String>,
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
    /// The models write a list, also of one call.
    pub list: bool,
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
            list: false,
        }
    }
}

/// `f(a=1)`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Python {
    pub brackets: Brackets,
    /// What separates the name from the parenthesis: `.call`.
    pub method: String,
    /// Quotes are delimiters; the schema gives the type.
    pub quoted_typed: bool,
    /// The list may contain calls in JSON instead.
    pub json: bool,
}

/// Brackets around calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Brackets {
    #[default]
    Required,
    Optional,
    /// Calls follow one another, usually one per line.
    Forbidden,
    /// There is one call, without a list.
    One,
}

/// `call:f{a:1}`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Braces {
    pub prefix: String,
    /// What encloses a string.
    pub delimiters: Vec<String>,
    /// Every value is enclosed; the schema gives the type.
    pub all_delimited: bool,
}
