//! A streaming parser for the tool calls that language models write into their text.
//!
//! Feed the bytes of a model's output as they arrive, in chunks of any size. Out come plain text, reasoning and tool calls, in
//! whatever dialect the model writes. The same bytes give the same events however they are chunked. No byte is lost. Text is
//! delivered as soon as it cannot begin a marker. Cost is linear and memory is bounded.
//!
//! ```
//! use toolglot::{DialectSet, Finish, Options, Parser, Collect};
//!
//! let set = DialectSet::defaults();                       // compiled once, shared by all streams
//! let mut parser = Parser::new(&set, Options::default()); // one stream
//! let mut turn = Collect::new();
//! for chunk in ["Looking. <tool_c", "all name=\"weather\"><param name=\"city\">Le", "ith</param></tool_call>"] {
//!     parser.feed(chunk.as_bytes(), &mut turn);
//! }
//! parser.finish(Finish::Stop, &mut turn);
//!
//! let turn = turn.turn();
//! assert_eq!(turn.text, "Looking. ");
//! assert_eq!(turn.calls[0].name, "weather");
//! assert_eq!(turn.calls[0].arguments, r#"{"city":"Leith"}"#);
//! ```
//!
//! [`source`] feeds API responses to a parser. [`sink`] turns events into turns, OpenAI completions and masked text. [`Event`]
//! lists the events and what each of them guarantees. [`DialectSet`] selects what to look for, [`Options`] how to parse it.
//!
//! # Features
//!
//! All are off by default. `bytes`: `Parser::feed_buf` takes the buffers of that crate. `futures` (implies `bytes`):
//! `Parser::event_stream` turns an asynchronous stream of chunks into one of events, whose bytes are slices of the chunks.
//!
//! `docs/ARCHITECTURE.md` shows how the parts fit together, `docs/DIALECTS.md` how to add a dialect.

#![deny(unsafe_code, missing_docs)]

mod body;
mod call;
#[cfg(feature = "bytes")]
mod chunks;
mod detect;
mod dialect;
mod encode;
mod engine;
mod error;
mod escape;
mod event;
mod hints;
mod issue;
pub mod json;
mod kind;
#[doc(hidden)]
pub mod layer;
mod limits;
pub mod models;
mod owned;
mod pointer;
pub mod rewrite;
#[allow(missing_docs, reason = "public for `layer` alone")]
mod schema;
pub mod sink;
pub mod source;
mod wire;
#[doc(hidden)]
pub mod words;
mod yaml;

pub use call::{Call, Dropped, NotDelivered, Report, Turn, Withheld};
#[cfg(feature = "futures")]
pub use chunks::EventStream;
pub use detect::{Confidence, Detector, Evidence, Sighting};
pub use dialect::{
    Branch, DecidedBy, Decision, Dialect, DialectSet, Lint, SetBuilder, builtin_files,
};
pub use encode::{
    EncodeCall, EncodeOptions, Encoder, NotRepresentable, Reason, TranscodeError, Transcoder,
    encode, transcode,
};
pub use engine::{Finish, NativeCall, NativeCallError, Parser, Stage};
pub use error::{BuildError, SnapshotError};
pub use escape::{EscapeError, Escaper, Unescaper, escape, unescape};
pub use event::{Abandoned, Arguments, CallState, Event, Origin, Sink, Span};
pub use hints::{Tools, ToolsError};
pub use issue::Issue;
pub use kind::{Grade, Kind, KindSet, Severity};
pub use limits::{
    Broken, Fence, Limits, Options, Prefer, ReasoningMode, Retain, Start, TextMode, ToolChoice,
    ToolChoiceError, Unclosed, UnknownTool, Untyped,
};
pub use owned::{Events, EventsOf, OwnedEvent, OwnedIssue};
pub use sink::Collect;
pub use words::UnknownWord;

// Declared here, so that the engine's own files do not depend on `words`.
words!(Finish, "finish reason");
words!(Stage, "stage of a stream");

/// Parses a whole output at once.
///
/// ```
/// use toolglot::{DialectSet, Finish, Options, parse};
///
/// let reply = br#"<tool_call>{"name": "f", "arguments": {}}</tool_call>"#;
/// let turn = parse(&DialectSet::defaults(), Options::default(), reply, Finish::Stop);
/// assert_eq!(turn.calls[0].name, "f");
/// ```
#[must_use]
pub fn parse(set: &DialectSet, options: Options, input: &[u8], finish: Finish) -> Turn {
    let tools = options.hinted().cloned();
    let mut parser = Parser::new(set, options);
    let mut turn = Collect::new();
    parser.feed(input, &mut turn);
    parser.finish(finish, &mut turn);
    turn.hint(tools.as_ref());
    turn.turn()
}

/// The documentation pages, so that their examples are compiled and run.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../README.md")]
    mod readme {}
    #[doc = include_str!("../docs/DIALECTS.md")]
    mod dialects {}
    #[doc = include_str!("../docs/ENCODE.md")]
    mod encode {}
    #[doc = include_str!("../docs/OPENAI.md")]
    mod openai {}
}
