//! Responses of model servers, as bytes, into a parser.
//!
//! A [`Source`] takes the bytes of one HTTP response body in any cut and says what is in it: text, reasoning, pieces of
//! native calls, the reason of its end, and what is wrong with it. It does no I/O. A [`Feeder`] joins a source and a
//! [`Parser`](crate::Parser): text is parsed, native calls are put together and given to
//! [`Parser::native_call`](crate::Parser::native_call) when they are complete, reasoning of the API comes out as
//! [`Event::Reasoning`](crate::Event::Reasoning).
//!
//! | source | reads |
//! |---|---|
//! | [`OpenAi`] | chat completions: server-sent events, or one JSON body |
//! | [`Anthropic`] | messages: server-sent events, or one JSON body |
//! | [`Ollama`] | `/api/chat` and `/api/generate`: one JSON object a line |
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
//! # Promises
//!
//! *Cuts do not matter*: whatever the pieces of the body, the same items come out. *Nothing that was cut counts*: a native
//! call is complete when the server says so; one that the end of the response cut is an error, never a call. (After a length
//! limit a call counts whose arguments are a whole object: nothing can be missing in it.) *Nothing
//! stops*: what cannot be read is a [`SourceError`] with its line and reason, and the next line is read. *Bounded*: a line,
//! an event, or a body that is not a stream, up to [`DEFAULT_MAX`] bytes is kept while it is incomplete; longer ones are
//! errors and skipped.
//!
//! # Offsets
//!
//! Spans of events count the bytes of the *text* that the source found, in UTF-8, not of the response body. Reasoning that
//! the API delivers beside the text has no place in it: its spans are empty and stand at the first byte of text that is in
//! no event yet, so the spans of leaves still partition the text.

mod anthropic;
pub(crate) mod calls;
pub(crate) mod documents;
pub(crate) mod failure;
pub(crate) mod feeder;
pub(crate) mod json;
mod lines;
mod ollama;
pub(crate) mod openai;
mod sse;
#[cfg(test)]
mod tests;

use crate::engine::Finish;
use json::Node;

pub use crate::event::Usage;
pub use anthropic::Anthropic;
pub use calls::Assembly;
pub use failure::ServerError;
pub use feeder::{Ended, Feeder};
pub use ollama::Ollama;
pub use openai::OpenAi;

/// Bytes that a source keeps at most of a line, an event or a body: 16 MiB.
pub const DEFAULT_MAX: usize = 16 << 20;

/// One thing that a response says. What it borrows lives until the closure returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// The next piece of text. A refusal is text too: people are to read it.
    Text(&'a str),
    /// The next piece of reasoning.
    Reasoning(&'a str),
    /// A piece of a native call.
    Call(CallPiece<'a>),
    /// The native call of this index is complete; `None`: all that have begun are.
    CallEnd(Option<u64>),
    /// The response is finished. It comes once, at the latest from [`Source::end`].
    Finish(Finish),
    /// Something cannot be read.
    Error(SourceError),
    /// What a response that is not of OpenAI's form says of itself. It comes before its output, but for what it counts: that comes as
    /// often as the server tells it, before the reason of the end, and the last one counts.
    Said(Said<'a>),
}

/// What a response says of itself, as far as it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Said<'a> {
    /// Its id.
    pub id: Option<&'a str>,
    /// The model.
    pub model: Option<&'a str>,
    /// When it was made, in seconds since 1970.
    pub created: Option<u64>,
    /// What it counts of its tokens so far.
    pub usage: Option<Usage>,
}

/// Tells what a response says of itself, if it says anything.
fn said(said: Said<'_>, take: &mut Take<'_>) {
    if said != Said::default() {
        take(Item::Said(said));
    }
}

/// A source that tells a closure what the response says of itself, before the output goes on to a parser.
pub struct Telling<S, F> {
    source: S,
    tell: F,
}

impl<S: Source, F: FnMut(&Said<'_>)> Telling<S, F> {
    /// Around a source.
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

/// A piece of a native call. A piece of a new index begins a call; one with another id and a name does so too, for there
/// are servers that give all calls one index, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallPiece<'a> {
    /// Tells the calls of a response apart. `None`: the call that began last.
    pub index: Option<u64>,
    /// Its id; the first one counts.
    pub id: Option<&'a str>,
    /// The next piece of its name. A piece that repeats the name so far is left out.
    pub name: Option<&'a str>,
    /// The next piece of its arguments.
    pub arguments: &'a str,
}

/// What cannot be read of a response. Lines count from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// What stands there is no JSON, or was cut.
    #[error("line {line}: it is no JSON: {why}")]
    Json {
        /// Where.
        line: u64,
        /// What and at which column.
        why: String,
    },
    /// JSON, but not what this API says.
    #[error("line {line}: {why}")]
    Shape {
        /// Where.
        line: u64,
        /// What is missing or unknown.
        why: String,
    },
    /// A line, an event or a body is longer than may be kept. It was skipped.
    #[error("line {line}: more than {max} bytes")]
    TooLong {
        /// Where it begins.
        line: u64,
        /// The limit.
        max: usize,
    },
    /// The server reports an error.
    #[error("line {line}: the server says: {error}")]
    Api {
        /// Where.
        line: u64,
        /// What it says.
        error: Box<ServerError>,
    },
    /// The response broke off before its end.
    #[error("the response broke off before its end")]
    Cut,
    /// A native call was cut by the end of the response. It is not delivered.
    #[error("the native call of `{name}` was cut and is not delivered")]
    CutCall {
        /// The tool, as far as it is known.
        name: String,
    },
    /// A native call without a name. It is not delivered.
    #[error("a native call has no name and is not delivered")]
    NoName,
    /// Native calls on their way are too many or too long. This one is not delivered.
    #[error("the native call of `{name}` is more than may wait and is not delivered")]
    TooManyCalls {
        /// The tool, as far as it is known.
        name: String,
    },
}

impl SourceError {
    /// The line of the response body, where there is one.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        match self {
            Self::Json { line, .. }
            | Self::Shape { line, .. }
            | Self::TooLong { line, .. }
            | Self::Api { line, .. } => Some(*line),
            Self::Cut | Self::CutCall { .. } | Self::NoName | Self::TooManyCalls { .. } => None,
        }
    }

    pub(crate) fn shape(line: u64, why: &str) -> Self {
        let why = why.to_owned();
        Self::Shape { line, why }
    }
}

/// Takes items.
pub type Take<'a> = dyn FnMut(Item<'_>) + 'a;

/// Reads the body of one response.
pub trait Source {
    /// Takes the next bytes, in any cut.
    fn feed(&mut self, bytes: &[u8], take: &mut Take<'_>);

    /// The body is at its end: what is complete comes out, and the reason if it has not come.
    fn end(&mut self, take: &mut Take<'_>);
}

/// A source whose `documents` (server-sent events, or lines) its `state` reads one by one.
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
            /// At the beginning of a body.
            #[must_use]
            pub fn new() -> Self {
                Self::default()
            }

            /// Keeps at most so many bytes of a line, an event or a body. Default
            /// [`DEFAULT_MAX`](super::DEFAULT_MAX).
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

/// How far a response has come to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct End {
    /// The reason was told.
    pub told: bool,
    /// The server said that nothing follows.
    pub done: bool,
    /// Something of a response was found.
    pub seen: bool,
}

impl End {
    /// Tells the reason, once. Native calls that have begun are complete if the server ended the response.
    fn tell(&mut self, reason: Finish, take: &mut Take<'_>) {
        if self.told {
            return;
        }
        self.told = true;
        match reason {
            Finish::Stop | Finish::ToolCalls | Finish::Length => take(Item::CallEnd(None)),
            Finish::Error | Finish::Cancelled => {}
        }
        take(Item::Finish(reason));
    }

    /// The body, which began so, is at its end. One in which nothing of a response was found is an error of the server.
    pub fn end(&mut self, start: &[u8], take: &mut Take<'_>) {
        if self.told {
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

    /// Takes an object that is not part of a response: an error of the server, or nothing that is known.
    pub fn odd(&mut self, line: u64, node: Node<'_>, why: &str, take: &mut Take<'_>) {
        match ServerError::of(node) {
            Some(error) => self.fail(line, error, take),
            None => take(Item::Error(SourceError::shape(line, why))),
        }
    }

    /// Reads a reason as servers spell it. A filter that cut the output counts as a failure.
    pub fn read(&mut self, line: u64, word: &str, take: &mut Take<'_>) {
        let reason = match word {
            "stop" | "end_turn" | "stop_sequence" | "eos" | "eos_token" | "pause_turn" => {
                Finish::Stop
            }
            "length" | "max_tokens" | "model_context_window_exceeded" => Finish::Length,
            "tool_calls" | "tool_use" | "function_call" => Finish::ToolCalls,
            "content_filter" | "refusal" | "error" => Finish::Error,
            "abort" | "cancelled" | "canceled" => Finish::Cancelled,
            other => {
                // Nobody knows whether the model stopped, so what only the end of the stream ends is not whole.
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

    /// The server reports an error.
    pub fn fail(&mut self, line: u64, error: ServerError, take: &mut Take<'_>) {
        let error = Box::new(error);
        take(Item::Error(SourceError::Api { line, error }));
        self.tell(Finish::Error, take);
    }
}

/// Reads a JSON document that begins at `line`, or tells why not.
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
