//! What comes out of a parser.
//!
//! Every event carries the absolute range of stream bytes that it speaks of. Five kinds are *leaves*: [`Event::Text`],
//! [`Event::Reasoning`], [`Event::Protected`], [`Event::Raw`] and a whole block ([`Event::BlockOpen`] to its
//! [`Event::BlockClose`], or a [`Event::BlockAbandoned`] that drops it). The spans of the leaves partition the input:
//! laid side by side they are the input, byte for byte. All other events describe what is inside a block.
//!
//! Data is borrowed from the chunk that was fed, from the parser, or from the static marker table, and lives until the
//! next call on that parser. Neighbouring events of one kind may be cut anywhere; joined they are the same for every way
//! to cut the input.

use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::error::{Grade, Kind, KindSet};
use crate::issue::Issue;
use crate::wire;
pub use toolglot_scan::Span;

/// Where a call came from.
///
/// ```
/// assert_eq!(toolglot::Origin::Native.name(), "native");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// Written in the text.
    Text,
    /// Given by the host beside the text (`tool_calls` of an API response).
    Native,
}

crate::words! {
    Origin, "origin":
    Text = "text",
    Native = "native",
}

/// What became of the bytes of a block that turned out to be none.
///
/// ```
/// assert_eq!(toolglot::Abandoned::Text.name(), "text");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Abandoned {
    /// They follow as one [`Event::Text`] that is flagged `recovered` and has the same span.
    Text,
    /// They are not text; `raw` of the event holds them when they were retained.
    Drop,
}

crate::words! {
    Abandoned, "fate of a block":
    Text = "text",
    Drop = "drop",
}

/// How a call ended.
///
/// ```
/// use toolglot::{CallState, Grade, Kind, KindSet};
///
/// let mut kinds = KindSet::default();
/// assert_eq!(CallState::from(kinds), CallState::Complete);
/// kinds.insert(Kind::DuplicateParam);
/// let state = CallState::from(kinds);
/// assert_eq!((state.grade(), state.kinds()), (Grade::Recovered, kinds));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallState {
    /// Well formed and closed.
    Complete,
    /// The text broke a rule, but not in a way that leaves a doubt about the call; the kinds say how.
    Repaired(KindSet),
    /// Put together by a documented rule from something that may be cut, mixed or guessed; the kinds say how. A host
    /// should not execute such a call without asking.
    Recovered(KindSet),
}

impl CallState {
    /// The grade.
    #[must_use]
    pub const fn grade(self) -> Grade {
        match self {
            Self::Complete => Grade::Complete,
            Self::Repaired(_) => Grade::Repaired,
            Self::Recovered(_) => Grade::Recovered,
        }
    }

    /// The kinds; none if it is complete.
    #[must_use]
    pub fn kinds(self) -> KindSet {
        match self {
            Self::Complete => KindSet::default(),
            Self::Repaired(kinds) | Self::Recovered(kinds) => kinds,
        }
    }
}

impl Serialize for CallState {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let kinds: Vec<_> = self.kinds().iter().map(Kind::name).collect();
        let mut out = out.serialize_map(Some(2))?;
        out.serialize_entry("state", self.grade().name())?;
        out.serialize_entry("kinds", &kinds)?;
        out.end()
    }
}

/// The grade, and the kinds in brackets: `repaired (repaired_comma)`.
impl fmt::Display for CallState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.grade().fmt(f)?;
        for (n, kind) in self.kinds().iter().enumerate() {
            f.write_str(if n == 0 { " (" } else { ", " })?;
            kind.fmt(f)?;
        }
        f.write_str(if self.kinds().is_empty() { "" } else { ")" })
    }
}

/// The state of a call that has these kinds.
impl From<KindSet> for CallState {
    fn from(kinds: KindSet) -> Self {
        match kinds.grade() {
            Grade::Complete => Self::Complete,
            Grade::Repaired => Self::Repaired(kinds),
            Grade::Recovered => Self::Recovered(kinds),
        }
    }
}

/// Where the arguments of a call were delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arguments {
    /// The concatenation of the call's [`Event::ArgDelta`] is the JSON text of its arguments.
    Deltas,
    /// Only in the provisional parameter events: the dialect knows arguments when the block ends, and the parser was
    /// told to retain nothing ([`Retain::None`](crate::Retain::None)).
    Params,
}

crate::words! {
    Arguments, "place of arguments":
    Deltas = "deltas",
    Params = "params",
}

/// One thing that a parser has to say.
///
/// Every event carries the absolute range of stream bytes that it speaks of. Text, reasoning, protected regions, raw bytes
/// and whole blocks are *leaves*: their spans, side by side, are the input. Neighbouring fragments of one kind may be cut
/// anywhere; joined (parameter and argument deltas each for themselves) they are the same for every way to cut the input.
/// What an event borrows lives until the sink returns. As JSON it is an object of its fields and `type`, `{"type":"text","data":"Hi",
/// "span":[0,2],"recovered":false}`; a closed call has `state` and `kinds`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event<'a> {
    /// Plain text of the reply.
    Text {
        /// The bytes. In [`TextMode::Chars`](crate::TextMode::Chars) always whole UTF-8 characters.
        #[serde(serialize_with = "wire::lossy")]
        data: &'a [u8],
        /// Where they stand.
        #[serde(serialize_with = "wire::pair")]
        span: Span,
        /// They were taken for a block first; see [`Event::BlockAbandoned`].
        recovered: bool,
    },
    /// Reasoning of the model.
    Reasoning {
        /// The bytes; whole characters as for text.
        #[serde(serialize_with = "wire::lossy")]
        data: &'a [u8],
        /// Where they stand.
        #[serde(serialize_with = "wire::pair")]
        span: Span,
        /// The bytes are the marker (`<think>`), not the reasoning itself.
        framing: bool,
    },
    /// Part of a region that a dialect protects: no calls are looked for inside. What is not part of the reply's text comes so,
    /// too: tokens of turns and messages (`<|im_end|>`) and closers that close nothing, with the kind `framing`.
    Protected {
        /// The kind of region, as its dialect names it, or `framing`.
        kind: &'a str,
        /// The bytes, markers included.
        #[serde(serialize_with = "wire::lossy")]
        data: &'a [u8],
        /// Where they stand.
        #[serde(serialize_with = "wire::pair")]
        span: Span,
    },
    /// Bytes of a block that broke a limit; they go on until the block's own closer.
    Raw {
        /// The bytes.
        #[serde(serialize_with = "wire::lossy")]
        data: &'a [u8],
        /// Where they stand.
        #[serde(serialize_with = "wire::pair")]
        span: Span,
    },
    /// A block begins.
    BlockOpen {
        /// The id of its dialect.
        dialect: &'a str,
        /// The opening marker with its header.
        #[serde(serialize_with = "wire::pair")]
        span: Span,
    },
    /// The name of a call is written. It comes before the call's [`Event::CallOpen`], as early as the name is known: families
    /// that put calls together at the end of their block say it long before. For people who watch; only `CallOpen` opens a
    /// call. Native calls have none.
    CallNamed {
        /// Number of the block in this stream, from 0.
        block: u32,
        /// Number of the name in its block, from 0.
        ordinal: u32,
        /// Name of the tool.
        name: &'a str,
        /// What follows can still take the name back: a [`Event::CallOpen`] of the block replaces it, or it is void when the
        /// block ends.
        provisional: bool,
        /// What names it.
        #[serde(serialize_with = "wire::pair")]
        span: Span,
    },
    /// A call begins; its name is final.
    CallOpen {
        /// Number of the call in this stream, from 0.
        call: u32,
        /// Name of the tool.
        name: &'a str,
        /// What the format says of the call beside name and arguments (for example an `id` or `type` attribute).
        #[serde(serialize_with = "wire::meta")]
        meta: &'a [(String, String)],
        /// The id of its dialect; empty for a native call.
        dialect: &'a str,
        /// Text or native.
        origin: Origin,
        /// What named it.
        #[serde(serialize_with = "wire::pair")]
        span: Span,
    },
    /// The next piece of a call's arguments: final JSON text.
    ArgDelta {
        /// Number of the call.
        call: u32,
        /// The piece.
        json: &'a str,
        /// The source bytes that it came from.
        #[serde(serialize_with = "wire::pair")]
        span: Span,
    },
    /// A parameter begins. Provisional: what counts are the arguments of the call.
    ParamOpen {
        /// Its name as written.
        name: &'a str,
        /// Nesting depth; 0 is a parameter of the call.
        depth: u32,
        /// Where it is named.
        #[serde(serialize_with = "wire::pair")]
        span: Span,
    },
    /// Raw bytes of the open parameter's value, at once.
    ParamDelta {
        /// The bytes as written.
        #[serde(serialize_with = "wire::lossy")]
        data: &'a [u8],
        /// Where they stand.
        #[serde(serialize_with = "wire::pair")]
        span: Span,
    },
    /// The open parameter ends.
    ParamClose {
        /// The range of its value.
        #[serde(serialize_with = "wire::pair")]
        span: Span,
    },
    /// The open call is retracted: it broke its grammar, broke a limit or was truncated. It never closes, and its deltas are void.
    /// Calls of the same block that closed before it stand. With [`Prefer::Native`](crate::Prefer::Native) a call of the text
    /// that is abandoned never opened in the events.
    CallAbandoned {
        /// Number of the call.
        call: u32,
        /// The bytes of the call as far as it went.
        #[serde(serialize_with = "wire::pair")]
        span: Span,
    },
    /// A call ends. It is final unless its block is abandoned.
    CallClose {
        /// Number of the call.
        call: u32,
        /// Complete, or repaired or recovered and why.
        #[serde(flatten)]
        state: CallState,
        /// Where its arguments were delivered.
        arguments: Arguments,
        /// The bytes of the call.
        #[serde(serialize_with = "wire::pair")]
        span: Span,
    },
    /// The block ends.
    BlockClose {
        /// The whole block, markers included.
        #[serde(serialize_with = "wire::pair")]
        span: Span,
        /// Its bytes if they were retained, else empty.
        #[serde(serialize_with = "wire::lossy")]
        raw: &'a [u8],
    },
    /// The block was none after all. All calls since its [`Event::BlockOpen`] are void.
    BlockAbandoned {
        /// The whole block as far as it went.
        #[serde(serialize_with = "wire::pair")]
        span: Span,
        /// What becomes of its bytes.
        becomes: Abandoned,
        /// Its bytes if they were retained, else empty.
        #[serde(serialize_with = "wire::lossy")]
        raw: &'a [u8],
    },
    /// Something is wrong with what the model wrote. Parsing goes on.
    Issue(Issue<'a>),
}

/// Takes events. Implemented for closures `FnMut(Event<'_>)`.
///
/// A host that shows text while it streams, and runs calls once they are final:
///
/// ```
/// use std::sync::Arc;
/// use toolglot::{Arguments, CallState, DialectSet, Event, Finish, Options, Parser, Sink, TextMode, Tools};
///
/// #[derive(Default)]
/// struct Host {
///     open: Option<(String, String)>,
///     pending: Vec<(String, String)>,
///     run: Vec<(String, String)>,
/// }
///
/// impl Sink for Host {
///     fn event(&mut self, event: Event<'_>) {
///         match event {
///             Event::Text { data, .. } => print!("{}", String::from_utf8_lossy(data)),
///             Event::CallOpen { name, .. } => self.open = Some((name.to_owned(), String::new())),
///             Event::ArgDelta { json, .. } => {
///                 if let Some((_, arguments)) = &mut self.open {
///                     arguments.push_str(json);
///                 }
///             }
///             Event::CallClose { state: CallState::Complete | CallState::Repaired(_), arguments: Arguments::Deltas, .. } => {
///                 self.pending.extend(self.open.take());
///             }
///             Event::CallClose { .. } => self.open = None,       // recovered: get the user's approval first
///             Event::CallAbandoned { .. } => self.open = None,   // malformed; other calls in the block are still valid
///             Event::BlockClose { .. } => self.run.append(&mut self.pending),
///             Event::BlockAbandoned { .. } => {
///                 self.open = None;
///                 self.pending.clear();                          // its calls are retracted
///             }
///             Event::Issue(issue) => eprintln!("{issue}\n  for the model: {}", issue.observation()),
///             _ => {}
///         }
///     }
/// }
///
/// let tools = r#"[{"name": "weather", "parameters": {"properties": {"days": {"type": "integer"}}}}]"#;
/// let mut options = Options::default();
/// options.text = TextMode::Chars;                                // whole UTF-8 characters
/// options.tools = Some(Arc::new(Tools::from_json(tools)?));      // types for untyped text, warnings for unknown names
/// let mut parser = Parser::new(&DialectSet::defaults(), options);
/// let mut host = Host::default();
/// parser.feed(b"<ACTION><weather><days>3</days></weather></ACTION>", &mut host);
/// parser.finish(Finish::Stop, &mut host);
/// assert_eq!(host.run, [("weather".to_owned(), r#"{"days":3}"#.to_owned())]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Sink {
    /// Takes one event; what it borrows lives until this returns.
    fn event(&mut self, event: Event<'_>);

    /// Whether the sink has enough, so that the parser stops reading. Default: never.
    ///
    /// [`Parser::feed_until`](crate::Parser::feed_until) asks wherever it has come to the end of something (a marker, a block, a piece of a
    /// block), nothing that it has read waits, and bytes of the chunk are left. If the answer is yes it returns how many bytes it
    /// has taken. All events of those bytes are delivered, also those after the one with which the sink had enough: nothing
    /// that was taken is lost, and nothing that is left was looked at. So a host goes on with the rest of the chunk as if the
    /// chunk had been cut there, or drops the rest and [finishes](crate::Parser::finish) as
    /// [`Finish::Cancelled`](crate::Finish::Cancelled). Nobody else asks: [`feed`](crate::Parser::feed) takes whole chunks.
    /// [`Until`](crate::sink::Until) is a closure that stops.
    ///
    /// Cost: one call for each such end.
    ///
    /// ```
    /// use toolglot::{DialectSet, Event, Finish, Options, Parser, Sink};
    ///
    /// /// Has enough when one block is closed.
    /// #[derive(Default)]
    /// struct First {
    ///     closed: bool,
    /// }
    ///
    /// impl Sink for First {
    ///     fn event(&mut self, event: Event<'_>) {
    ///         self.closed |= matches!(event, Event::BlockClose { .. });
    ///     }
    ///
    ///     fn stopped(&self) -> bool {
    ///         self.closed
    ///     }
    /// }
    ///
    /// let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
    /// let mut first = First::default();
    /// let call = br#"<tool_call name="f"></tool_call>"#;
    /// let taken = parser.feed_until(&[&call[..], b" and words"].concat(), &mut first);
    /// assert_eq!(taken, call.len());
    /// parser.finish(Finish::Cancelled, &mut first);
    /// ```
    fn stopped(&self) -> bool {
        false
    }

    /// Lends the sink to what takes one by value, a pair of sinks for example. (A reference to any sink cannot be a sink itself:
    /// references to closures are, because they are closures.)
    ///
    /// ```
    /// use toolglot::{Collect, DialectSet, Event, Options, Parser, Sink};
    ///
    /// let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
    /// let (mut turn, mut events) = (Collect::new(), 0);
    /// let mut count = |_: Event<'_>| events += 1;
    /// parser.feed(b"Hi there", &mut (turn.lend(), count.lend())); // both get every event
    /// assert_eq!((turn.text(), events), (&b"Hi there"[..], 1));
    /// ```
    fn lend(&mut self) -> &mut dyn Sink
    where
        Self: Sized,
    {
        self
    }
}

impl<F: FnMut(Event<'_>)> Sink for F {
    fn event(&mut self, event: Event<'_>) {
        self(event);
    }
}

/// Two sinks: both get every event, the first one first. One that has enough stops the parser.
impl<A: Sink, B: Sink> Sink for (A, B) {
    fn event(&mut self, event: Event<'_>) {
        self.0.event(event);
        self.1.event(event);
    }

    fn stopped(&self) -> bool {
        self.0.stopped() || self.1.stopped()
    }
}

/// A sink behind a pointer is one.
macro_rules! behind {
    ($($pointer:ty),*) => {$(
        impl Sink for $pointer {
            fn event(&mut self, event: Event<'_>) {
                (**self).event(event);
            }

            fn stopped(&self) -> bool {
                (**self).stopped()
            }
        }
    )*};
}

behind!(
    &mut (dyn Sink + '_),
    &mut (dyn Sink + Send + '_),
    Box<dyn Sink + '_>,
    Box<dyn Sink + Send + '_>
);

/// What a response counts of its tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt, those of a cache included.
    pub prompt: u64,
    /// Tokens of the output.
    pub completion: u64,
    /// Those of the prompt that were read from a cache, where the server says so.
    pub cached: Option<u64>,
}
