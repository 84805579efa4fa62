//! Messages, lines and reasoning.

use serde::{Deserialize, Serialize};

/// Headers at the start of a line: `Thought:`, `Action:`, `Action Input:`. They are patterns; see [`toolglot_scan::path`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Only actions of declared tools count, and other lines only after such an action.
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
    /// The parameter that takes an input that is not an object, if no schema determines one.
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
    /// Names that are not tools: what accompanies them is the answer.
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
    /// What begins a header at the beginning of the stream, after the prompt's part of it.
    #[serde(default)]
    pub first: String,
    /// What ends a header; one that is also in `start` begins a header of its own.
    pub end: Vec<String>,
    /// What ends a message.
    pub close: Vec<String>,
    /// What precedes the parts of a header, each up to a space or `<`.
    #[serde(default)]
    pub recipient: String,
    #[serde(default)]
    pub channel: String,
    #[serde(default)]
    pub content: String,
    /// The words with which headers name the model as author, if they name one.
    #[serde(default)]
    pub model: Vec<String>,
    /// The first matching route determines what the message is.
    pub route: Vec<Route>,
}

/// What messages of some kind are. `*` matches anything that is not empty; an omitted condition matches.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    pub kind: RouteKind,
    /// The marker that its header begins with, if that does not end it too.
    pub start: Option<Vec<String>>,
    /// Its author: the word that the header begins with. A pattern that ends with `*` matches the beginning of a word.
    pub role: Option<Vec<String>>,
    pub recipient: Option<Vec<String>>,
    pub channel: Option<Vec<String>>,
    pub content: Option<Vec<String>>,
    pub end: Option<Vec<String>>,
}

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RouteKind {
    Text,
    Reasoning,
    /// The result of a tool; one written by the model is made up.
    Result,
    /// A call of the tool that is the recipient.
    Call,
    /// Calls that contain the names of their tools.
    Calls,
}

/// Reasoning markers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reasoning {
    #[serde(deserialize_with = "one_or_more")]
    pub open: Vec<String>,
    #[serde(deserialize_with = "one_or_more")]
    pub close: Vec<String>,
    /// Where its opener counts.
    #[serde(default)]
    pub at: ReasoningAt,
    /// The same opener inside opens another level.
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
    /// What may directly follow the opener and is framing.
    #[serde(default)]
    pub label: String,
    /// Markers before which it ends without a closer.
    #[serde(default)]
    pub ended_by: Vec<String>,
    /// What follows a call that ended it.
    #[serde(default)]
    pub after_call: AfterCall,
    /// The markers may have a suffix before their last byte, the same in opener and closer.
    #[serde(default)]
    pub suffix: bool,
}

/// What follows a call that ended reasoning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AfterCall {
    /// The answer; the closer of the reasoning is framing if it comes.
    #[default]
    Text,
    /// The reasoning again, up to its closer.
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
    // Only a file may spell it in two ways.
    if !from.is_human_readable() {
        return Vec::deserialize(from);
    }
    Ok(match Words::deserialize(from)? {
        Words::One(word) => vec![word],
        Words::More(words) => words,
    })
}

/// Where a marker counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReasoningAt {
    /// Only after whitespace at the start of the stream.
    Start,
    /// After at most three spaces on its line; the end of a block or of reasoning counts as a line start.
    #[default]
    LineStart,
    Anywhere,
}
