//! Framed blocks: sections, units and their payloads.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::channels::ReasoningAt;
use super::name_attribute;

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

pub(super) fn item() -> String {
    "item".to_owned()
}

pub(super) fn confirm() -> u32 {
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
