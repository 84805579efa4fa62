//! Feeds API responses, as bytes, to a parser.
//!
//! A [`Source`] takes the bytes of one HTTP response body in chunks of any size and reports its contents: text, reasoning,
//! pieces of API tool calls, the finish reason, and errors. It does no I/O. A [`Feeder`] connects a source to a
//! [`Parser`](crate::Parser): text is parsed, API tool calls are assembled and given to
//! [`Parser::native_call`](crate::Parser::native_call) when they are complete, reasoning of the API comes out as
//! [`Event::Reasoning`](crate::Event::Reasoning).
//!
//! | source | reads |
//! |---|---|
//! | [`OpenAi`] | chat completions: server-sent events, or one JSON body |
//! | [`Anthropic`] | messages: server-sent events, or one JSON body |
//! | [`Ollama`] | `/api/chat` and `/api/generate`: one JSON object per line |
//!
//! ```
//! use toolglot::source::{Feeder, OpenAi};
//! use toolglot::{Collect, DialectSet, Finish, Options, Parser};
//!
//! let parser = Parser::new(&DialectSet::defaults(), Options::default());
//! let mut feeder = Feeder::new(OpenAi::new(), parser);
//! let mut turn = Collect::new();
//! let body = concat!(
//!     "data: {\"choices\":[{\"delta\":{\"content\":\"Hi <tool_call name=\\\"f\\\">\"}}]}\n\n",
//!     "data: {\"choices\":[{\"delta\":{\"content\":\"</tool_call>\"},\"finish_reason\":\"stop\"}]}\n\n",
//!     "data: [DONE]\n\n",
//! );
//! for bytes in body.as_bytes().chunks(7) {
//!     assert!(feeder.feed(bytes, &mut turn).is_empty()); // no errors
//! }
//! let ended = feeder.finish(None, &mut turn);
//! assert_eq!((ended.reason, ended.errors), (Finish::Stop, vec![]));
//! let turn = turn.turn();
//! assert_eq!((turn.text.as_str(), turn.calls[0].name.as_str()), ("Hi ", "f"));
//! ```
//!
//! # Guarantees
//!
//! *Chunking does not matter*: the same body gives the same items, however it is split. *Nothing truncated counts*: an API tool
//! call is complete when the server says so; one that the end of the response truncates is an error, never a call. (After a
//! length limit, a call whose arguments are a whole object counts: nothing can be missing in it.) *Nothing stops the stream*:
//! what cannot be read is a [`SourceError`] with its line and reason, and reading continues with the next line. A call of the text that
//! is open there is at most recovered ([`Parser::gap`](crate::Parser::gap)), and an API tool call of which pieces may be missing is
//! refused. *Memory is bounded*: at most [`DEFAULT_MAX`] bytes of an incomplete line, event or unstreamed body are buffered; longer ones are errors
//! and skipped.
//!
//! # Offsets
//!
//! Spans of events count the bytes of the *text* that the source found, in UTF-8, not those of the response body. Reasoning
//! that the API delivers beside the text has no position in it: its spans are empty, at the first byte of text that is not yet
//! in an event. The spans of leaves therefore still partition the text.

mod anthropic;
pub(crate) mod calls;
pub(crate) mod documents;
pub(crate) mod failure;
pub(crate) mod feeder;
pub(crate) mod halves;
pub(crate) mod json;
mod lines;
mod ollama;
pub(crate) mod openai;
mod sse;
#[cfg(test)]
mod tests;

use crate::engine::Finish;
use crate::kind::Kind;
use json::Node;

pub use crate::event::Usage;
pub use anthropic::Anthropic;
pub use calls::Assembly;
pub use failure::ServerError;
pub use feeder::{Ended, Feeder, Flow};
pub use ollama::Ollama;
pub use openai::OpenAi;

/// The default limit on the bytes that a source buffers of a line, an event or a body: 16 MiB.
pub const DEFAULT_MAX: usize = 16 << 20;

/// One part of a response. Borrowed data is valid until the closure returns.
///
/// ```
/// use toolglot::source::{Item, OpenAi, Source};
///
/// let mut seen = vec![];
/// let body = br#"{"choices":[{"message":{"reasoning":"Hm.","content":"Hi"},"finish_reason":"stop"}]}"#;
/// let mut take = |item: Item<'_>| match item {
///     Item::Reasoning(piece) => seen.push(format!("thought {piece}")),
///     Item::Text(piece) => seen.push(format!("text {piece}")),
///     Item::Finish(reason) => seen.push(reason.name().to_owned()),
///     _ => {}
/// };
/// let mut source = OpenAi::new();
/// source.feed(body, &mut take);
/// source.end(&mut take);
/// assert_eq!(seen, ["thought Hm.", "text Hi", "stop"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Item<'a> {
    /// The next piece of text. A refusal is text too: it is meant for the user.
    Text(&'a str),
    /// The next piece of reasoning.
    Reasoning(&'a str),
    /// A piece of an API tool call.
    Call(CallPiece<'a>),
    /// The API tool call with this index is complete; `None`: all that have begun are.
    CallEnd(Option<u64>),
    /// The response is finished. Comes once, at the latest from [`Source::end`].
    Finish(Finish),
    /// Something could not be read.
    Error(SourceError),
    /// Metadata of a response that is not in OpenAI's form. It precedes the output, except for token counts: they come whenever
    /// the server reports them, before the finish reason, and the last ones count. [`Said::filter`] comes in every form, right
    /// before the finish reason.
    Said(Said<'a>),
}

/// Metadata of a response, as far as the server gives it.
///
/// See the example of [`Telling`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Said<'a> {
    /// Its id.
    pub id: Option<&'a str>,
    /// The model.
    pub model: Option<&'a str>,
    /// When it was created, in seconds since 1970.
    pub created: Option<u64>,
    /// Its token counts so far.
    pub usage: Option<Usage>,
    /// The server's own word for the end, if a filter stopped the output or the model refused: such a response is complete, but
    /// did not stop by itself. [`Finish::Error`] follows.
    pub filter: Option<&'a str>,
}

crate::setters! {
    Said<'a>:
    id: Option<&'a str>,
    model: Option<&'a str>,
    created: Option<u64>,
    usage: Option<Usage>,
}

/// Reports metadata of a response, if there is any.
fn said(said: Said<'_>, take: &mut Take<'_>) {
    if said != Said::default() {
        take(Item::Said(said));
    }
}

/// A source that first passes the metadata of the response to a closure, before the output goes to a parser.
///
/// ```
/// use toolglot::source::{Ollama, Source, Telling};
///
/// let mut model = None;
/// let body = b"{\"model\": \"m\", \"message\": {\"content\": \"Hi\"}}\n{\"done\": true}\n";
/// let mut source = Telling::new(Ollama::new(), |said| model = said.model.map(str::to_owned));
/// source.feed(body, &mut |_| {});
/// source.end(&mut |_| {});
/// drop(source);
/// assert_eq!(model.as_deref(), Some("m"));
/// ```
pub struct Telling<S, F> {
    source: S,
    tell: F,
}

impl<S: Source, F: FnMut(&Said<'_>)> Telling<S, F> {
    /// Wraps a source.
    pub fn new(source: S, tell: F) -> Self {
        Self { source, tell }
    }
}

impl<S: Source, F: FnMut(&Said<'_>)> Source for Telling<S, F> {
    fn feed(&mut self, bytes: &[u8], take: &mut Take<'_>) {
        let tell = &mut self.tell;
        self.source
            .feed(bytes, &mut |item| telling(item, tell, take));
    }

    fn end(&mut self, take: &mut Take<'_>) {
        let tell = &mut self.tell;
        self.source.end(&mut |item| telling(item, tell, take));
    }
}

fn telling(item: Item<'_>, tell: &mut impl FnMut(&Said<'_>), take: &mut Take<'_>) {
    if let Item::Said(said) = &item {
        tell(said);
    }
    take(item);
}

/// A piece of an API tool call. A piece with a new index begins a call; so does one with another id and a name, because some
/// servers give all calls the same index, or none.
///
/// ```
/// use toolglot::source::{Item, OpenAi, Source};
///
/// let mut arguments = String::new();
/// let call = r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}"#;
/// let body = format!("data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{call}]}}}}]}}\n\n");
/// OpenAi::new().feed(body.as_bytes(), &mut |item| {
///     if let Item::Call(piece) = item {
///         arguments.push_str(piece.arguments);
///     }
/// });
/// assert_eq!(arguments, "{}");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallPiece<'a> {
    /// Distinguishes the calls of a response. `None`: the call that began last.
    pub index: Option<u64>,
    /// Its id; the first one counts.
    pub id: Option<&'a str>,
    /// The next piece of its name. A piece that repeats the whole name so far is ignored.
    pub name: Option<&'a str>,
    /// The next piece of its arguments.
    pub arguments: &'a str,
}

crate::setters! {
    CallPiece<'a>:
    index: Option<u64>,
    id: Option<&'a str>,
    name: Option<&'a str>,
    arguments = &'a str,
}

/// Part of a response that cannot be read. Lines count from 1.
///
/// ```
/// use toolglot::source::{Feeder, OpenAi};
/// use toolglot::{Collect, DialectSet, Options, Parser};
///
/// let parser = Parser::new(&DialectSet::defaults(), Options::default());
/// let errors = Feeder::new(OpenAi::new(), parser).feed(b"data: {\n\n", &mut Collect::new());
/// assert_eq!(errors[0].line(), Some(1));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// It is not JSON, or is truncated.
    #[error("line {line}: not JSON: {why}")]
    Json {
        /// The line.
        line: u64,
        /// What is wrong, and the column.
        why: String,
    },
    /// A character of a document cannot be read: half of a surrogate pair, or bytes that are not UTF-8. It was read as U+FFFD, or left
    /// out if the document after it was to go on with it.
    #[error("line {line}: {why}")]
    Damaged {
        /// The line.
        line: u64,
        /// What is wrong.
        why: String,
    },
    /// JSON that this API does not send.
    #[error("line {line}: {why}")]
    Shape {
        /// The line.
        line: u64,
        /// What is missing or unknown.
        why: String,
    },
    /// A line, an event or a body exceeds the limit. It was skipped.
    #[error("line {line}: more than {max} bytes")]
    TooLong {
        /// The line where it begins.
        line: u64,
        /// The limit.
        max: usize,
    },
    /// The server reports an error.
    #[error("line {line}: the server says: {error}")]
    Api {
        /// The line.
        line: u64,
        /// The error.
        error: Box<ServerError>,
    },
    /// The response ended early.
    #[error("the response broke off before its end")]
    Cut,
    /// An API tool call was truncated by the end of the response. It is not delivered.
    #[error("the API tool call `{name}` was truncated and is not delivered")]
    CutCall {
        /// The tool, as far as it is known.
        name: String,
    },
    /// An API tool call without a name. It is not delivered.
    #[error("an API tool call has no name and is not delivered")]
    NoName,
    /// Too many incomplete API tool calls, or too many bytes of them. This one is not delivered.
    #[error("the API tool call `{name}` exceeds the buffer and is not delivered")]
    TooManyCalls {
        /// The tool, as far as it is known.
        name: String,
    },
}

impl SourceError {
    /// A document in which a character cannot be read.
    pub(crate) fn damaged(line: u64, why: &str) -> Self {
        let why = why.to_owned();
        Self::Damaged { line, why }
    }

    /// Whether output may have been in what could not be read: what is open then lacks bytes ([`Parser::gap`](crate::Parser::gap),
    /// [`Assembly::gap`]).
    #[must_use]
    pub fn is_gap(&self) -> bool {
        matches!(
            self,
            Self::Json { .. } | Self::Damaged { .. } | Self::Shape { .. } | Self::TooLong { .. }
        )
    }

    /// The line of the response body, if there is one.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        match self {
            Self::Json { line, .. }
            | Self::Damaged { line, .. }
            | Self::Shape { line, .. }
            | Self::TooLong { line, .. }
            | Self::Api { line, .. } => Some(*line),
            Self::Cut | Self::CutCall { .. } | Self::NoName | Self::TooManyCalls { .. } => None,
        }
    }

    /// If an API tool call cannot be delivered: its name, as far as it is known, and what the parser reports
    /// ([`Parser::native_refused`](crate::Parser::native_refused)).
    #[must_use]
    pub fn refused(&self) -> Option<(&str, Kind)> {
        match self {
            Self::CutCall { name } => Some((name, Kind::UnclosedBlock)),
            Self::NoName => Some(("", Kind::MissingName)),
            Self::TooManyCalls { name } => Some((name, Kind::LimitNative)),
            Self::Json { .. }
            | Self::Damaged { .. }
            | Self::Shape { .. }
            | Self::TooLong { .. }
            | Self::Api { .. }
            | Self::Cut => None,
        }
    }

    pub(crate) fn shape(line: u64, why: &str) -> Self {
        let why = why.to_owned();
        Self::Shape { line, why }
    }
}

/// Receives items.
pub type Take<'a> = dyn FnMut(Item<'_>) + 'a;

/// Reads the body of one response.
///
/// ```
/// use toolglot::source::{Item, OpenAi, Source};
///
/// let mut text = String::new();
/// let mut source = OpenAi::new();
/// let body = b"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: [DONE]\n\n";
/// source.feed(body, &mut |item| {
///     if let Item::Text(piece) = item {
///         text.push_str(piece);
///     }
/// });
/// assert_eq!(text, "Hi");
/// ```
pub trait Source {
    /// Feeds the next bytes, in chunks of any size.
    fn feed(&mut self, bytes: &[u8], take: &mut Take<'_>);

    /// Ends the body: reports what is complete, and the finish reason if it has not been reported.
    fn end(&mut self, take: &mut Take<'_>);
}

/// Defines a source: `documents` (server-sent events, or lines) are read one by one by `state`.
macro_rules! source {
    ($name:ident, $documents:ident) => {
        impl Default for $name {
            fn default() -> Self {
                Self {
                    documents: Documents::$documents(super::DEFAULT_MAX),
                    state: State::default(),
                }
            }
        }

        impl $name {
            /// A source at the beginning of a body.
            #[must_use]
            pub fn new() -> Self {
                Self::default()
            }

            /// Limits the bytes that are buffered of a line, an event or a body. Default [`DEFAULT_MAX`](super::DEFAULT_MAX).
            #[must_use]
            pub fn max(mut self, bytes: usize) -> Self {
                self.documents = Documents::$documents(bytes);
                self
            }
        }

        impl super::Source for $name {
            fn feed(&mut self, bytes: &[u8], take: &mut Take<'_>) {
                let state = &mut self.state;
                self.documents
                    .feed(bytes, take, |line, data, take| state.read(line, data, take));
            }

            fn end(&mut self, take: &mut Take<'_>) {
                let state = &mut self.state;
                self.documents
                    .end(take, |line, data, take| state.read(line, data, take));
                self.state.end.end(self.documents.start(), take);
            }
        }
    };
}
use source;

impl<S: Source + ?Sized> Source for Box<S> {
    fn feed(&mut self, bytes: &[u8], take: &mut Take<'_>) {
        (**self).feed(bytes, take);
    }

    fn end(&mut self, take: &mut Take<'_>) {
        (**self).end(take);
    }
}

/// How much of the end of a response has arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct End {
    /// The finish reason was reported.
    pub reported: bool,
    /// The server reported that nothing follows.
    pub done: bool,
    /// Some part of a response was found.
    pub seen: bool,
}

impl End {
    /// Reports the finish reason, once. API tool calls that have begun are complete if the server ended the response.
    fn tell(&mut self, reason: Finish, take: &mut Take<'_>) {
        if self.reported {
            return;
        }
        self.reported = true;
        match reason {
            Finish::Stop | Finish::ToolCalls | Finish::Length => take(Item::CallEnd(None)),
            Finish::Error | Finish::Cancelled => {}
        }
        take(Item::Finish(reason));
    }

    /// Ends a body that began with `start`. A body in which no part of a response was found is an error of the server.
    pub fn end(&mut self, start: &[u8], take: &mut Take<'_>) {
        if self.reported {
            return;
        }
        if self.done {
            return self.tell(Finish::Stop, take);
        }
        match ServerError::foreign(start).filter(|_| !self.seen) {
            Some(error) => self.fail(1, error, take),
            None => {
                take(Item::Error(SourceError::Cut));
                self.tell(Finish::Error, take);
            }
        }
    }

    /// Handles an object that is not part of a response: an error of the server, or something unknown.
    pub fn odd(&mut self, line: u64, node: Node<'_>, why: &str, take: &mut Take<'_>) {
        match ServerError::of(node) {
            Some(error) => self.fail(line, error, take),
            None => take(Item::Error(SourceError::shape(line, why))),
        }
    }

    /// Reads a finish reason in any server's spelling. A filter that stopped the output counts as a failure of the reply: what
    /// only its end would end is truncated.
    pub fn read(&mut self, line: u64, word: &str, take: &mut Take<'_>) {
        let reason = match word {
            // Ollama's server only loaded the model, or unloaded it: no reply was cut.
            "load" | "unload" => Finish::Stop,
            "stop" | "end_turn" | "stop_sequence" | "eos" | "eos_token" | "pause_turn" => {
                Finish::Stop
            }
            "length" | "max_tokens" | "model_context_window_exceeded" => Finish::Length,
            "tool_calls" | "tool_use" | "function_call" => Finish::ToolCalls,
            "content_filter" | "refusal" => {
                if !self.reported {
                    let filter = Some(word);
                    take(Item::Said(Said {
                        filter,
                        ..Said::default()
                    }));
                }
                Finish::Error
            }
            "error" => Finish::Error,
            "abort" | "cancelled" | "canceled" => Finish::Cancelled,
            other => {
                // It is unknown whether the model stopped, so anything that only the end of the stream would end counts as
                // truncated.
                let why = format!(
                    "the reason `{}` is not known, taken as length",
                    short(other)
                );
                take(Item::Error(SourceError::Shape { line, why }));
                Finish::Length
            }
        };
        self.tell(reason, take);
    }

    /// Reports an error of the server.
    pub fn fail(&mut self, line: u64, error: ServerError, take: &mut Take<'_>) {
        let error = Box::new(error);
        take(Item::Error(SourceError::Api { line, error }));
        self.tell(Finish::Error, take);
    }
}

/// Reads a JSON document that begins at `line`, or reports why it cannot.
pub(crate) fn document<'a>(line: u64, data: &'a [u8], take: &mut Take<'_>) -> Option<Node<'a>> {
    match Node::read(line, data) {
        Ok(node) => Some(node),
        Err(error) => {
            take(Item::Error(error));
            None
        }
    }
}

/// The beginning of a word that may be long.
fn short(word: &str) -> String {
    word.chars().take(40).collect()
}
