//! Events: the output of a parser.
//!
//! Every event carries the absolute range of stream bytes that it covers. Five kinds are *leaves*: [`Event::Text`],
//! [`Event::Reasoning`], [`Event::Protected`], [`Event::Raw`] and a whole block ([`Event::BlockOpen`] to its
//! [`Event::BlockClose`], or to a [`Event::BlockAbandoned`] that drops it). The spans of the leaves partition the input:
//! concatenated they are the input, byte for byte. All other events describe the inside of a block.
//!
//! Data is borrowed from the chunk, from the parser or from the static marker table, and is valid until the next call on that
//! parser. Adjacent events of one kind may be split anywhere; concatenated they are the same for every chunking of the input.

use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::issue::Issue;
use crate::kind::{Grade, Kind, KindSet};
use crate::wire;
pub use toolglot_scan::Span;

/// Where a call came from.
///
/// ```
/// assert_eq!(toolglot::Origin::Native.name(), "native");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Origin {
    /// Written in the text.
    Text,
    /// Given by the host as an API tool call (`tool_calls` of a response).
    Native,
}

crate::words! {
    Origin, "origin":
    Text = "text",
    Native = "native",
}

/// What happens to the bytes of a block that turned out not to be one.
///
/// ```
/// assert_eq!(toolglot::Abandoned::Text.name(), "text");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Abandoned {
    /// They follow as one [`Event::Text`] that is flagged `recovered` and has the same span.
    Text,
    /// They are part of the thought in which the block opened, which goes on: they follow as one [`Event::Reasoning`] that has the same
    /// span.
    Reasoning,
    /// They are not text; `raw` of the event holds them if they were retained.
    Drop,
}

crate::words! {
    Abandoned, "fate of a block":
    Text = "text",
    Reasoning = "reasoning",
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
#[non_exhaustive]
pub enum CallState {
    /// Well formed and closed.
    Complete,
    /// The text broke a rule, but without leaving doubt about the call; the kinds say how.
    Repaired(KindSet),
    /// Assembled by a documented rule from something that may be truncated, mixed or guessed; the kinds say how. A host should
    /// not execute such a call without asking.
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

    /// The kinds; empty if the call is complete.
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

/// Writes the grade, and the kinds in brackets: `repaired (repaired_comma)`.
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
///
/// ```
/// use toolglot::{Arguments, DialectSet, Event, Options, Parser};
///
/// let mut found = vec![];
/// let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
/// let reply = br#"<tool_call>{"name": "f", "arguments": {}}</tool_call>"#;
/// parser.feed(reply, &mut |event: Event<'_>| {
///     if let Event::CallClose { arguments, .. } = event {
///         found.push(arguments);
///     }
/// });
/// assert_eq!(found, [Arguments::Deltas]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Arguments {
    /// The concatenation of the call's [`Event::ArgDelta`] is the JSON text of its arguments.
    Deltas,
    /// Only in the provisional parameter events: the dialect knows the arguments only when the block ends, and the parser
    /// retains nothing ([`Retain::None`](crate::Retain::None)).
    Params,
}

crate::words! {
    Arguments, "place of arguments":
    Deltas = "deltas",
    Params = "params",
}

/// One event of a parser.
///
/// Every event carries the absolute range of stream bytes that it covers. Text, reasoning, protected regions, raw bytes and
/// whole blocks are *leaves*: their spans partition the input. Adjacent fragments of one kind may be split anywhere;
/// concatenated (parameter and argument deltas separately) they are the same for every chunking of the input. Borrowed data is
/// valid until the sink returns.
///
/// As JSON an event is an object of its fields and `type`: `{"type":"text","data":"Hi","span":[0,2],"recovered":false}`. A
/// closed call has `state` and `kinds`.
///
/// ```
/// use toolglot::{DialectSet, Event, Options, Parser};
///
/// let mut seen = vec![];
/// let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
/// let reply = br#"Hi <tool_call>{"name": "f", "arguments": {}}</tool_call>"#;
/// parser.feed(reply, &mut |event: Event<'_>| match event {
///     Event::Text { data, .. } => seen.push(String::from_utf8_lossy(data).into_owned()),
///     Event::CallOpen { name, .. } => seen.push(format!("call of {name}")),
///     _ => {}
/// });
/// assert_eq!(seen, ["Hi ", "call of f"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event<'a> {
    /// Plain text of the reply.
    #[non_exhaustive]
    Text {
        /// The bytes. In [`TextMode::Chars`](crate::TextMode::Chars) they are always whole UTF-8 characters.
        #[serde(serialize_with = "wire::text")]
        data: &'a [u8],
        /// Where they are.
        #[serde(serialize_with = "wire::pair")]
        span: Span,
        /// The bytes were first taken for a block; see [`Event::BlockAbandoned`].
        recovered: bool,
    },
    /// Reasoning of the model.
    #[non_exhaustive]
    Reasoning {
        /// The bytes; in [`TextMode::Chars`](crate::TextMode::Chars) whole characters, as for text.
        #[serde(serialize_with = "wire::text")]
        data: &'a [u8],
        /// Where they are.
        #[serde(serialize_with = "wire::pair")]
        span: Span,
        /// The bytes are the marker (`<think>`), not the reasoning itself.
        framing: bool,
    },
    /// Part of a region that a dialect protects: no calls are looked for inside. Tokens of turns and messages (`<|im_end|>`)
    /// and closers that close nothing are not part of the reply's text and come as this event too, with the kind `framing`.
    #[non_exhaustive]
    Protected {
        /// The kind of region, as its dialect names it, or `framing`.
        kind: &'a str,
        /// The bytes, markers included.
        #[serde(serialize_with = "wire::text")]
        data: &'a [u8],
        /// Where they are.
        #[serde(serialize_with = "wire::pair")]
        span: Span,
    },
    /// Bytes of a block after it exceeded a limit, up to and including its own closer.
    #[non_exhaustive]
    Raw {
        /// The bytes.
        #[serde(serialize_with = "wire::text")]
        data: &'a [u8],
        /// Where they are.
        #[serde(serialize_with = "wire::pair")]
        span: Span,
    },
    /// A block begins.
    #[non_exhaustive]
    BlockOpen {
        /// The id of its dialect.
        dialect: &'a str,
        /// The opening marker with its header.
        #[serde(serialize_with = "wire::pair")]
        span: Span,
    },
    /// The name of a call is known. It precedes the call's [`Event::CallOpen`]: families that assemble calls at the end of
    /// their block report the name long before. It is for display; only `CallOpen` opens a call. API tool calls have no such
    /// event.
    #[non_exhaustive]
    CallNamed {
        /// Number of the block in this stream, from 0.
        block: u32,
        /// Number of the name in its block, from 0.
        ordinal: u32,
        /// Name of the tool.
        name: &'a str,
        /// The name can still be taken back: a later [`Event::CallOpen`] of the block replaces it, or it is retracted when the
        /// block ends.
        provisional: bool,
        /// What names it.
        #[serde(serialize_with = "wire::pair")]
        span: Span,
    },
    /// A call begins; its name is final.
    #[non_exhaustive]
    CallOpen {
        /// Number of the call in this stream, from 0.
        call: u32,
        /// Name of the tool.
        name: &'a str,
        /// What the format says about the call besides name and arguments (for example an `id` or `type` attribute).
        #[serde(serialize_with = "wire::meta")]
        meta: &'a [(String, String)],
        /// The id of its dialect; empty for an API tool call.
        dialect: &'a str,
        /// Text or API.
        origin: Origin,
        /// What named it.
        #[serde(serialize_with = "wire::pair")]
        span: Span,
    },
    /// The next piece of a call's arguments: final JSON text.
    #[non_exhaustive]
    ArgDelta {
        /// Number of the call.
        call: u32,
        /// The piece.
        json: &'a str,
        /// The source bytes that it came from.
        #[serde(serialize_with = "wire::pair")]
        span: Span,
    },
    /// A parameter begins. Provisional: the call's arguments are authoritative.
    #[non_exhaustive]
    ParamOpen {
        /// Its name as written.
        name: &'a str,
        /// Nesting depth; 0 is a parameter of the call.
        depth: u32,
        /// Where it is named.
        #[serde(serialize_with = "wire::pair")]
        span: Span,
    },
    /// Raw bytes of the open parameter's value, as soon as they arrive.
    #[non_exhaustive]
    ParamDelta {
        /// The bytes as written.
        #[serde(serialize_with = "wire::text")]
        data: &'a [u8],
        /// Where they are.
        #[serde(serialize_with = "wire::pair")]
        span: Span,
    },
    /// The open parameter ends.
    #[non_exhaustive]
    ParamClose {
        /// The range of its value.
        #[serde(serialize_with = "wire::pair")]
        span: Span,
    },
    /// The open call is retracted: it broke its grammar, exceeded a limit or was truncated. It never closes, and its deltas are
    /// retracted with it. Calls of the same block that closed earlier remain valid. With
    /// [`Prefer::Native`](crate::Prefer::Native) an abandoned call of the text was never opened in the events.
    #[non_exhaustive]
    CallAbandoned {
        /// Number of the call.
        call: u32,
        /// The bytes of the call, as far as it got.
        #[serde(serialize_with = "wire::pair")]
        span: Span,
    },
    /// A call ends. It is final unless its block is abandoned.
    #[non_exhaustive]
    CallClose {
        /// Number of the call.
        call: u32,
        /// Complete, or repaired or recovered, and why.
        #[serde(flatten)]
        state: CallState,
        /// Where its arguments were delivered.
        arguments: Arguments,
        /// The bytes of the call.
        #[serde(serialize_with = "wire::pair")]
        span: Span,
    },
    /// The block ends.
    #[non_exhaustive]
    BlockClose {
        /// The whole block, markers included.
        #[serde(serialize_with = "wire::pair")]
        span: Span,
        /// Its bytes if they were retained, else empty.
        #[serde(serialize_with = "wire::text")]
        raw: &'a [u8],
    },
    /// The block turned out not to be one. All calls since its [`Event::BlockOpen`] are retracted.
    #[non_exhaustive]
    BlockAbandoned {
        /// The whole block, as far as it got.
        #[serde(serialize_with = "wire::pair")]
        span: Span,
        /// What happens to its bytes.
        becomes: Abandoned,
        /// Its bytes if they were retained, else empty.
        #[serde(serialize_with = "wire::text")]
        raw: &'a [u8],
    },
    /// Something is wrong with what the model wrote. Parsing continues.
    Issue(Issue<'a>),
}

/// Gives each event a constructor that takes its fields in order.
macro_rules! constructors {
    ($($name:ident $variant:ident($($field:ident: $type:ty),*);)*) => {
        /// Constructors, for hosts that replay events or test a [`Sink`]: one per event, with its fields in order.
        ///
        /// ```
        /// use toolglot::{Collect, Event, Sink, Span};
        ///
        /// let mut turn = Collect::new();
        /// turn.event(Event::text(b"Hi", Span::new(0, 2), false));
        /// assert_eq!(turn.text(), b"Hi");
        /// ```
        impl<'a> Event<'a> {
            $(
                #[doc = concat!("Creates [`Event::", stringify!($variant), "`].")]
                #[must_use]
                pub const fn $name($($field: $type),*) -> Self {
                    Self::$variant { $($field),* }
                }
            )*
        }
    };
}

constructors! {
    text Text(data: &'a [u8], span: Span, recovered: bool);
    reasoning Reasoning(data: &'a [u8], span: Span, framing: bool);
    protected Protected(kind: &'a str, data: &'a [u8], span: Span);
    raw Raw(data: &'a [u8], span: Span);
    block_open BlockOpen(dialect: &'a str, span: Span);
    call_named CallNamed(block: u32, ordinal: u32, name: &'a str, provisional: bool, span: Span);
    call_open CallOpen(call: u32, name: &'a str, meta: &'a [(String, String)], dialect: &'a str, origin: Origin, span: Span);
    arg_delta ArgDelta(call: u32, json: &'a str, span: Span);
    param_open ParamOpen(name: &'a str, depth: u32, span: Span);
    param_delta ParamDelta(data: &'a [u8], span: Span);
    param_close ParamClose(span: Span);
    call_abandoned CallAbandoned(call: u32, span: Span);
    call_close CallClose(call: u32, state: CallState, arguments: Arguments, span: Span);
    block_close BlockClose(span: Span, raw: &'a [u8]);
    block_abandoned BlockAbandoned(span: Span, becomes: Abandoned, raw: &'a [u8]);
}

/// Receives events. Implemented for closures `FnMut(Event<'_>)`.
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
    /// Receives one event; borrowed data is valid until this returns.
    fn event(&mut self, event: Event<'_>);

    /// Returns whether the sink has enough, so that the parser stops reading. Default: never.
    ///
    /// [`Parser::feed_until`](crate::Parser::feed_until) asks at the end of every piece (a marker, a block, a part of a block)
    /// if nothing that was read is still held back and bytes of the chunk are left. If the answer is yes, it returns how many
    /// bytes it has consumed. All events of those bytes are delivered, including those after the event that was enough. No
    /// consumed byte is lost, and the rest was not looked at. The host can therefore feed the rest as if the chunk had ended
    /// there, or drop it and [finish](crate::Parser::finish) with [`Finish::Cancelled`](crate::Finish::Cancelled). Nothing else
    /// asks: [`feed`](crate::Parser::feed) consumes whole chunks. [`Until`](crate::sink::Until) makes such a sink of a closure.
    ///
    /// Cost: one call per piece.
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

    /// The parser has [finished](crate::Parser::finish): no event of this reply follows. A sink that holds something back writes
    /// it now; a sink that contains another one passes this on. Default: nothing.
    fn finished(&mut self) {}

    /// Lends the sink to an owner that takes one by value, for example a pair of sinks. (References to sinks are not sinks in
    /// general: that would conflict with the implementation for closures.)
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

/// Two sinks: both get every event, the first one first. Either of them can stop the parser.
impl<A: Sink, B: Sink> Sink for (A, B) {
    fn event(&mut self, event: Event<'_>) {
        self.0.event(event);
        self.1.event(event);
    }

    fn stopped(&self) -> bool {
        self.0.stopped() || self.1.stopped()
    }

    fn finished(&mut self) {
        self.0.finished();
        self.1.finished();
    }
}

/// Implements `Sink` for pointers to sinks.
macro_rules! pointers {
    ($($pointer:ty),*) => {$(
        impl Sink for $pointer {
            fn event(&mut self, event: Event<'_>) {
                (**self).event(event);
            }

            fn stopped(&self) -> bool {
                (**self).stopped()
            }

            fn finished(&mut self) {
                (**self).finished();
            }
        }
    )*};
}

pointers!(
    &mut (dyn Sink + '_),
    &mut (dyn Sink + Send + '_),
    Box<dyn Sink + '_>,
    Box<dyn Sink + Send + '_>
);

/// The token counts of a response.
///
/// ```
/// use toolglot::sink::openai::{Head, Settings, Usage, completion};
/// use toolglot::{Finish, Turn};
///
/// let usage = Usage::default().prompt(9).completion(4);
/// let head = Head::default().id("chatcmpl-1").model("m").usage(Some(usage));
/// let json = completion(&Turn::default(), &head, &Settings::default(), Finish::Stop);
/// assert!(json.contains(r#""prompt_tokens":9"#));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens of the prompt, cached ones included.
    pub prompt: u64,
    /// Tokens of the output.
    pub completion: u64,
    /// Tokens of the prompt that were read from a cache, if the server reports it.
    pub cached: Option<u64>,
}

crate::setters! {
    Usage:
    prompt = u64,
    completion = u64,
    cached: Option<u64>,
}
