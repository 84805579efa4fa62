//! Events as OpenAI chat completions: streamed deltas, or one message.
//!
//! ```
//! use toolglot::sink::openai::{Deltas, Head, Settings};
//! use toolglot::{DialectSet, Finish, Options, Parser};
//!
//! let head = Head::default().id("chatcmpl-1").model("m");
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
//! The role comes first, with empty content. Then follow content and reasoning as they arrive, and for each call one delta with
//! index, id, type and the whole name, followed by its arguments in pieces. The index counts calls of the output from 0. The
//! concatenated pieces of a call are one JSON object, `{}` if there are no arguments; numbers are spelled as the model spelled
//! them. A delta has at most one call. The finish reason comes last. All text is whole UTF-8: up to 3 bytes of an incomplete
//! character are held back.
//!
//! # Retracted calls
//!
//! The protocol cannot retract what was sent, and a parser sometimes must: a call can break its grammar, be truncated, or be
//! part of an abandoned block. No client may take such a call for a complete one. [`Calls`] selects how this is guaranteed:
//!
//! | | [`Calls::Live`] (default) | [`Calls::AtClose`] |
//! |---|---|---|
//! | a call is sent | while it is written | when its block has closed (an API tool call: when it closes) |
//! | its arguments | all pieces immediately, except the last `}`, which is held back until the call is final | one piece, canonical: a repeated key once, with its last value |
//! | a retracted call | was partly sent: its arguments lack their last `}`, so they are not JSON, and are not empty; the reason is never `tool_calls`, not even for the other calls | was never sent |
//! | a withheld recovered call | as a retracted one | was never sent |
//!
//! *A call is final* when its block closes. Live mode has one exception, to keep the order of deltas: if the next call of the
//! same block opens, the `}` of the previous one is sent then. If such a block is abandoned later, only the reason (and `void`)
//! shows it. Use [`Calls::AtClose`] for clients that run calls without checking the reason.
//!
//! The last chunk of a live stream with retracted calls lists them in an extra member that clients ignore:
//! `"toolglot":{"void":[0]}`. The same member of the last chunk, and of a completion, lists what was left out: see
//! [`NotDelivered`].
//!
//! [`Recovered`] selects what happens to recovered calls ([`CallState::Recovered`](crate::CallState::Recovered)). A call whose
//! arguments were delivered only as parameters ([`Arguments::Params`](crate::Arguments::Params)) is never delivered.
//!
//! # The reason
//!
//! | the stream's end | `finish_reason` |
//! |---|---|
//! | [`Stop`](Finish::Stop), [`ToolCalls`](Finish::ToolCalls) | `tool_calls` if a call was delivered, none was retracted and the tool was not [forced](Settings::forced); else `stop` |
//! | [`Length`](Finish::Length) | `length`, even if calls were delivered before the limit |
//! | [`Error`](Finish::Error) | none: an error object comes instead ([`Delta::Error`]), which official clients raise |
//! | [`Cancelled`](Finish::Cancelled) | none: the stream breaks off without a last chunk, and the host should send no `[DONE]` |
//!
//! # Ids
//!
//! A call has the id that its format gives it (`id` in its meta) if that is not empty and was not used by an earlier call of
//! the stream. Otherwise one is generated: the prefix, 16 hexadecimal digits of the seed, and 8 digits of a counter that starts
//! at 0 and skips ids that are in use. Equal streams therefore give equal ids, and a host must give each response its own seed
//! ([`Settings::id_seed`]): clients match results to calls by id, over a whole conversation. [`Deltas::with_ids`] uses the
//! host's rule instead.

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
pub use crate::event::Usage;
use crate::kind::{Grade, KindSet};

/// When calls are sent.
///
/// See the example of [`Settings`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Calls {
    /// While they are written. The last `}` of a call is held back until the call is final.
    #[default]
    Live,
    /// Whole, when their block has closed. Nothing that was sent is ever retracted.
    AtClose,
}

crate::words! {
    Calls, "time of calls":
    Live = "live",
    AtClose = "at_close",
}

/// What happens to recovered calls.
///
/// ```
/// use toolglot::sink::openai::{Head, Recovered, Settings, completion};
/// use toolglot::{DialectSet, Finish, Options, parse};
///
/// let reply = br#"<tool_call>{"name": "f", "arguments": {"id": 7, "id": 8}}</tool_call>"#; // which one?
/// let turn = parse(&DialectSet::defaults(), Options::default(), reply, Finish::Stop);
/// let json = |settings| completion(&turn, &Head::default(), &settings, Finish::Stop);
/// assert!(!json(Settings::default()).contains("tool_calls"));
/// assert!(json(Settings::default().recovered(Recovered::Deliver)).contains("tool_calls"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Recovered {
    /// They are not delivered, because a client would run them without asking.
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
    /// Whether a call is delivered. A recovered call without kinds is one whose arguments are unknown.
    fn delivers(self, grade: Grade, kinds: KindSet) -> bool {
        grade != Grade::Recovered || self == Self::Deliver && !kinds.is_empty()
    }
}

/// How chat completions are written. Each field has a setter of the same name.
///
/// ```
/// use toolglot::sink::openai::{Calls, Settings};
///
/// let settings = Settings::default().calls(Calls::AtClose).reasoning(None).id_seed(7);
/// assert_eq!((settings.calls, settings.reasoning), (Calls::AtClose, None));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// When calls are sent. Default [`Calls::Live`].
    pub calls: Calls,
    /// What happens to recovered calls. Default [`Recovered::Withhold`].
    pub recovered: Recovered,
    /// The member that holds reasoning; `None` omits reasoning. Default `reasoning_content`.
    pub reasoning: Option<String>,
    /// Include protected regions in the content. Default `false`: they are left out, as in [`Turn`](crate::Turn).
    pub protected: bool,
    /// The host forced a tool by name; the reason is then `stop` even if there is a call. Default `false`.
    pub forced: bool,
    /// The prefix of generated ids. Default `call_`.
    pub id_prefix: String,
    /// The seed of generated ids. Default 0, because this crate has neither a clock nor randomness: a host that serves more
    /// than one response must give each a different number. (The hosts in this project do so by default.)
    pub id_seed: u64,
}

crate::setters! {
    Settings:
    calls = Calls,
    recovered = Recovered,
    reasoning: Option<String>,
    protected = bool,
    forced = bool,
    id_prefix: String,
    id_seed = u64,
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

/// What every chunk of a response repeats.
///
/// ```
/// use toolglot::sink::openai::Head;
///
/// let head = Head::default().id("chatcmpl-1").created(1_700_000_000).model("m");
/// assert_eq!((head.model.as_str(), head.choice), ("m", 0));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Head {
    /// Id of the response, `chatcmpl-...`.
    pub id: String,
    /// When it was created, in seconds since 1970.
    pub created: u64,
    /// The model.
    pub model: String,
    /// Number of the choice.
    pub choice: u32,
    /// The token counts of the response: written in a completion, and in the chunk with the reason.
    pub usage: Option<Usage>,
}

crate::setters! {
    Head:
    id: String,
    created = u64,
    model: String,
    choice = u32,
    usage: Option<Usage>,
}

impl Head {
    /// Sets metadata of the response, as far as it is given.
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
///
/// ```
/// use toolglot::sink::openai::Reason;
///
/// assert_eq!(serde_json::to_string(&Reason::ToolCalls)?, r#""tool_calls""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// The model stopped by itself.
    Stop,
    /// A length limit truncated it.
    Length,
    /// Tools are to be called: all calls of the response are complete.
    ToolCalls,
}

impl Reason {
    /// The reason of a stream with that end, if it has one: `calls` were delivered, `void` were retracted.
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

/// One step of a streamed response. Serializes as the `delta` of a choice; [`to_json`](Self::to_json) returns the whole chunk.
///
/// ```
/// use toolglot::sink::openai::{Delta, Head};
///
/// let chunk = Delta::Content("Hi").to_json(&Head::default().id("chatcmpl-1").model("m"));
/// assert!(chunk.contains(r#""delta":{"content":"Hi"}"#));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
        /// Calls that were partly sent and retracted, in ascending order.
        void: &'a [u32],
        /// What was left out.
        left: &'a NotDelivered,
    },
    /// The response broke off. Its chunk is an error object.
    Error {
        /// One sentence.
        message: &'a str,
        /// Its type, the member `type` of the object.
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

/// The extra member beside the protocol.
#[derive(Serialize)]
struct Beside<'a> {
    #[serde(skip_serializing_if = "no_calls")]
    void: &'a [u32],
    #[serde(flatten)]
    left: Option<&'a NotDelivered>,
}

impl<'a> Beside<'a> {
    /// Returns `None` if there is nothing to report.
    fn of(void: &'a [u32], left: &'a NotDelivered) -> Option<Self> {
        let left = (!left.is_empty()).then_some(left);
        (!void.is_empty() || left.is_some()).then_some(Self { void, left })
    }
}

fn no_calls(void: &&[u32]) -> bool {
    void.is_empty()
}

impl Delta<'_> {
    /// Returns one `chat.completion.chunk` object as a line of JSON, or the error object of [`Delta::Error`].
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

/// Serializing strings, numbers and maps with string keys cannot fail.
fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
