//! Events as OpenAI chat completions: streamed deltas, or one message.
//!
//! ```
//! use toolglot::sink::openai::{Deltas, Head, Settings};
//! use toolglot::{DialectSet, Finish, Options, Parser};
//!
//! let head = Head { id: "chatcmpl-1".to_owned(), model: "m".to_owned(), ..Head::default() };
//! let mut lines = vec![];
//! let mut deltas = Deltas::new(Settings::default(), |delta| lines.push(delta.to_json(&head)));
//! let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
//! parser.feed(br#"Hi <tool_call name="f"><param name="a">1</param></tool_call>"#, &mut deltas);
//! parser.finish(Finish::Stop, &mut deltas);
//! deltas.finish(Finish::Stop); // the last chunk, with `finish_reason`
//!
//! assert!(lines[0].contains(r#""delta":{"role":"assistant","content":""}"#));
//! assert!(lines[1].contains(r#""delta":{"content":"Hi "}"#));
//! assert!(lines[2].contains(
//!     r#"{"tool_calls":[{"index":0,"id":"call_000000000000000000000000","type":"function","function":{"name":"f","arguments":""}}]}"#
//! ));
//! assert!(lines.last().unwrap().contains(r#""finish_reason":"tool_calls""#));
//! ```
//!
//! # Order
//!
//! The role comes first, with empty content. Then content and reasoning as they come; for each call one delta with index,
//! id, type and the whole name, and then its arguments in pieces. The index counts calls of the output from 0. The pieces
//! of a call, joined, are one JSON object, `{}` where there are no arguments; numbers are spelled as the model spelled
//! them. At most one call is in a delta. Last comes the reason. Every text is whole UTF-8: up to 3 bytes of an unfinished
//! character wait for the rest.
//!
//! # Calls that are taken back
//!
//! The protocol cannot take back what was sent, and a parser sometimes must: a call can break its grammar, be cut, or
//! have its block abandoned. No client may take such a call for a complete one. [`Calls`] says how that is kept:
//!
//! | | [`Calls::Live`] (default) | [`Calls::AtClose`] |
//! |---|---|---|
//! | a call is sent | while it is written | when its block has closed (a native call: when it closes) |
//! | its arguments | all pieces at once, but the last `}`, which waits until the call stands | one piece, canonical: a repeated key once, with its last value |
//! | a call that is void | was sent in part: its arguments stay without their last `}`, so they are not JSON, nor empty; the reason is never `tool_calls`, for the other calls neither | was never sent |
//! | a recovered call, withheld | as one that is void | was never sent |
//!
//! *The call stands* when its block closes. In live mode there is one exception, for the sake of the order of deltas: if
//! the next call of the same block opens, the `}` of the one before is sent then. If such a block is abandoned later, only
//! the reason (and `void`) says so. Clients that run calls without looking at the reason should be served at close.
//!
//! The last chunk of a live stream with void calls says which they are, beside the protocol, in a member of its own that
//! clients ignore: `"toolglot":{"void":[0]}`. The same member of the last chunk, and of a completion, lists what was left
//! out: see [`NotDelivered`].
//!
//! [`Recovered`] says what becomes of recovered calls ([`CallState::Recovered`](crate::CallState::Recovered)). A call whose
//! arguments went by as parameters only ([`Arguments::Params`](crate::Arguments::Params)) is never delivered.
//!
//! # The reason
//!
//! | the stream's end | `finish_reason` |
//! |---|---|
//! | [`Stop`](Finish::Stop), [`ToolCalls`](Finish::ToolCalls) | `tool_calls` if a call was delivered, none is void and the tool was not [forced](Settings::forced); else `stop` |
//! | [`Length`](Finish::Length) | `length`, also where calls were delivered before the cut |
//! | [`Error`](Finish::Error) | none: an error object comes instead ([`Delta::Error`]), which official clients raise |
//! | [`Cancelled`](Finish::Cancelled) | none: the stream breaks off without a last chunk, and the host should send no `[DONE]` |
//!
//! # Ids
//!
//! A call has the id that its format gives it (`id` in its meta) if that is not empty and no call of the stream had it
//! before. Else one is made: the prefix, 16 hexadecimal digits of the seed, and 8 of a number that counts made ids from 0
//! and passes over those that a call already has. So equal streams give equal ids, and a host must give each response a seed of
//! its own ([`Settings::id_seed`]): clients match results with calls by their ids, over a whole conversation. [`Deltas::with_ids`] takes the rule from the host instead.

mod completion;
mod deltas;
mod ids;
#[cfg(test)]
mod tests;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

pub use completion::completion;
pub use deltas::Deltas;

use crate::call::NotDelivered;
use crate::engine::Finish;
use crate::error::{Grade, KindSet};
pub use crate::event::Usage;

/// When calls are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Calls {
    /// While they are written. The last `}` of a call waits until it stands.
    #[default]
    Live,
    /// Whole, when their block has closed. Nothing that was sent is ever void.
    AtClose,
}

crate::words! {
    Calls, "time of calls":
    Live = "live",
    AtClose = "at_close",
}

/// What becomes of recovered calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovered {
    /// They are not delivered: a client would run them without asking.
    #[default]
    Withhold,
    /// They are delivered like complete ones.
    Deliver,
}

crate::words! {
    Recovered, "fate of recovered calls":
    Withhold = "withhold",
    Deliver = "deliver",
}

impl Recovered {
    /// Whether a call counts. No kinds at all means that its arguments are not known.
    fn delivers(self, grade: Grade, kinds: KindSet) -> bool {
        grade != Grade::Recovered || self == Self::Deliver && !kinds.is_empty()
    }
}

/// How chat completions are written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// When calls are sent. Default [`Calls::Live`].
    pub calls: Calls,
    /// What becomes of recovered calls. Default [`Recovered::Withhold`].
    pub recovered: Recovered,
    /// The member that holds reasoning; `None` leaves it out. Default `reasoning_content`.
    pub reasoning: Option<String>,
    /// Protected regions are content. Default `false`: they are left out, as [`Turn`](crate::Turn) leaves them out.
    pub protected: bool,
    /// The host forced a tool by name; then the reason is `stop` although there is a call. Default `false`.
    pub forced: bool,
    /// How made ids begin. Default `call_`.
    pub id_prefix: String,
    /// What made ids are made of. Default 0, for this crate knows neither time nor chance: a host that serves more than one
    /// response gives each another number. (The hosts of this project do, unless they are given one.)
    pub id_seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            calls: Calls::default(),
            recovered: Recovered::default(),
            reasoning: Some("reasoning_content".to_owned()),
            protected: false,
            forced: false,
            id_prefix: "call_".to_owned(),
            id_seed: 0,
        }
    }
}

/// What every chunk of a response says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Id of the response, `chatcmpl-...`.
    pub id: String,
    /// When it was made, in seconds since 1970.
    pub created: u64,
    /// The model.
    pub model: String,
    /// Number of the choice.
    pub choice: u32,
    /// What the response counts of its tokens: a completion says it, and the chunk with the reason.
    pub usage: Option<Usage>,
}

impl Head {
    /// Takes what a response says of itself.
    pub fn said(&mut self, id: Option<&str>, created: Option<u64>, model: Option<&str>) {
        id.into_iter().for_each(|id| id.clone_into(&mut self.id));
        self.created = created.unwrap_or(self.created);
        model
            .into_iter()
            .for_each(|model| model.clone_into(&mut self.model));
    }

    fn counts(&self) -> Option<Counts> {
        self.usage.map(|usage| Counts {
            prompt_tokens: usage.prompt,
            completion_tokens: usage.completion,
            total_tokens: usage.prompt.saturating_add(usage.completion),
            prompt_tokens_details: usage.cached.map(|cached_tokens| Details { cached_tokens }),
        })
    }
}

/// The member `usage`.
#[derive(Serialize)]
struct Counts {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_tokens_details: Option<Details>,
}

#[derive(Serialize)]
struct Details {
    cached_tokens: u64,
}

/// Why a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The model stopped by itself.
    Stop,
    /// Its length limit cut it.
    Length,
    /// It wants tools to be called: all calls of the response are complete.
    ToolCalls,
}

impl Reason {
    /// The reason of a stream that ended so, if it has one: `calls` were delivered, `void` of them do not stand.
    fn of(finish: Finish, calls: usize, void: usize, forced: bool) -> Option<Self> {
        match finish {
            Finish::Stop | Finish::ToolCalls if calls > 0 && void == 0 && !forced => {
                Some(Self::ToolCalls)
            }
            Finish::Stop | Finish::ToolCalls => Some(Self::Stop),
            Finish::Length => Some(Self::Length),
            Finish::Error | Finish::Cancelled => None,
        }
    }
}

/// One step of a streamed response. Serializes as the `delta` of a choice; [`to_json`](Self::to_json) gives the whole
/// chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delta<'a> {
    /// The response begins.
    Role,
    /// The next piece of content.
    Content(&'a str),
    /// The next piece of reasoning.
    Reasoning {
        /// The member that holds it.
        field: &'a str,
        /// The piece.
        text: &'a str,
    },
    /// A call begins.
    Call {
        /// Its number among the calls of the response, from 0.
        index: u32,
        /// Its id.
        id: &'a str,
        /// The whole name of its tool.
        name: &'a str,
    },
    /// The next piece of a call's arguments.
    Arguments {
        /// Number of the call.
        index: u32,
        /// A piece of JSON text.
        json: &'a str,
    },
    /// The response is finished.
    Finish {
        /// Why.
        reason: Reason,
        /// Calls that were sent in part and do not stand, ascending.
        void: &'a [u32],
        /// What was left out.
        left: &'a NotDelivered,
    },
    /// The response broke off. Its chunk is an error object.
    Error {
        /// One sentence.
        message: &'a str,
        /// Its kind, `type` in the object.
        kind: &'a str,
    },
}

#[derive(Serialize)]
struct FirstDelta<'a> {
    index: u32,
    id: &'a str,
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: &'a str,
}

#[derive(Serialize)]
struct NextDelta<'a> {
    index: u32,
    function: Piece<'a>,
}

#[derive(Serialize)]
struct Piece<'a> {
    arguments: &'a str,
}

#[derive(Serialize)]
struct Failure<'a> {
    message: &'a str,
    r#type: &'a str,
    param: Option<()>,
    code: Option<()>,
}

impl Serialize for Delta<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut map = out.serialize_map(None)?;
        match *self {
            Self::Role => {
                map.serialize_entry("role", "assistant")?;
                map.serialize_entry("content", "")?;
            }
            Self::Content(text) => map.serialize_entry("content", text)?,
            Self::Reasoning { field, text } => map.serialize_entry(field, text)?,
            Self::Call { index, id, name } => {
                let call = FirstDelta {
                    index,
                    id,
                    r#type: "function",
                    function: Function {
                        name,
                        arguments: "",
                    },
                };
                map.serialize_entry("tool_calls", &[call])?;
            }
            Self::Arguments { index, json } => {
                let function = Piece { arguments: json };
                map.serialize_entry("tool_calls", &[NextDelta { index, function }])?;
            }
            Self::Finish { .. } => {}
            Self::Error { message, kind } => {
                let failure = Failure {
                    message,
                    r#type: kind,
                    param: None,
                    code: None,
                };
                map.serialize_entry("error", &failure)?;
            }
        }
        map.end()
    }
}

#[derive(Serialize)]
struct Chunk<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: [Choice<'a>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Counts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    toolglot: Option<Beside<'a>>,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u32,
    delta: Delta<'a>,
    logprobs: Option<()>,
    finish_reason: Option<Reason>,
}

/// What stands beside the protocol.
#[derive(Serialize)]
struct Beside<'a> {
    #[serde(skip_serializing_if = "no_calls")]
    void: &'a [u32],
    #[serde(flatten)]
    left: Option<&'a NotDelivered>,
}

impl<'a> Beside<'a> {
    /// None if there is nothing to say.
    fn of(void: &'a [u32], left: &'a NotDelivered) -> Option<Self> {
        let left = (!left.is_empty()).then_some(left);
        (!void.is_empty() || left.is_some()).then_some(Self { void, left })
    }
}

fn no_calls(void: &&[u32]) -> bool {
    void.is_empty()
}

impl Delta<'_> {
    /// One `chat.completion.chunk` object as a line of JSON, or the error object of [`Delta::Error`].
    #[must_use]
    pub fn to_json(&self, head: &Head) -> String {
        let (reason, beside) = match *self {
            Self::Error { .. } => return line(self),
            Self::Finish { reason, void, left } => (Some(reason), Beside::of(void, left)),
            Self::Role
            | Self::Content(_)
            | Self::Reasoning { .. }
            | Self::Call { .. }
            | Self::Arguments { .. } => (None, None),
        };
        line(&Chunk {
            id: &head.id,
            object: "chat.completion.chunk",
            created: head.created,
            model: &head.model,
            choices: [Choice {
                index: head.choice,
                delta: *self,
                logprobs: None,
                finish_reason: reason,
            }],
            usage: matches!(self, Self::Finish { .. })
                .then(|| head.counts())
                .flatten(),
            toolglot: beside,
        })
    }
}

/// Strings, numbers and maps with string keys always have a JSON text.
fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
