//! Events that borrow nothing, for hosts that keep them, send them to another thread or pull them from an iterator.

use std::collections::VecDeque;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::call::Report;
use crate::engine::{Finish, Parser};
use crate::event::{Abandoned, Arguments, CallState, Event, Origin, Sink, Span};
use crate::issue::Issue;
use crate::wire;

/// An [`Event`] that owns its data. The fields mean the same. `D` holds bytes: with the feature `futures` an `EventStream`
/// gives events whose bytes are slices of its chunks.
///
/// ```
/// use toolglot::{DialectSet, Options, OwnedEvent, Parser};
///
/// let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
/// let events: Vec<OwnedEvent> = parser.feed_events(b"Hi").collect(); // outlives the chunk
/// assert!(matches!(&events[0], OwnedEvent::Text { data, .. } if data == b"Hi"));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[serde(bound(serialize = "D: AsRef<[u8]>"))]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are those of `Event`")]
pub enum OwnedEvent<D = Vec<u8>> {
    /// [`Event::Text`].
    #[non_exhaustive]
    Text {
        #[serde(serialize_with = "wire::text")]
        data: D,
        #[serde(serialize_with = "wire::pair")]
        span: Span,
        recovered: bool,
    },
    /// [`Event::Reasoning`].
    #[non_exhaustive]
    Reasoning {
        #[serde(serialize_with = "wire::text")]
        data: D,
        #[serde(serialize_with = "wire::pair")]
        span: Span,
        framing: bool,
    },
    /// [`Event::Protected`].
    #[non_exhaustive]
    Protected {
        kind: String,
        #[serde(serialize_with = "wire::text")]
        data: D,
        #[serde(serialize_with = "wire::pair")]
        span: Span,
    },
    /// [`Event::Raw`].
    #[non_exhaustive]
    Raw {
        #[serde(serialize_with = "wire::text")]
        data: D,
        #[serde(serialize_with = "wire::pair")]
        span: Span,
    },
    /// [`Event::BlockOpen`].
    #[non_exhaustive]
    BlockOpen {
        dialect: String,
        #[serde(serialize_with = "wire::pair")]
        span: Span,
    },
    /// [`Event::CallNamed`].
    #[non_exhaustive]
    CallNamed {
        block: u32,
        ordinal: u32,
        name: String,
        provisional: bool,
        #[serde(serialize_with = "wire::pair")]
        span: Span,
    },
    /// [`Event::CallOpen`].
    #[non_exhaustive]
    CallOpen {
        call: u32,
        name: String,
        #[serde(serialize_with = "wire::meta")]
        meta: Vec<(String, String)>,
        dialect: String,
        origin: Origin,
        #[serde(serialize_with = "wire::pair")]
        span: Span,
    },
    /// [`Event::ArgDelta`].
    #[non_exhaustive]
    ArgDelta {
        call: u32,
        json: String,
        #[serde(serialize_with = "wire::pair")]
        span: Span,
    },
    /// [`Event::ParamOpen`].
    #[non_exhaustive]
    ParamOpen {
        name: String,
        depth: u32,
        #[serde(serialize_with = "wire::pair")]
        span: Span,
    },
    /// [`Event::ParamDelta`].
    #[non_exhaustive]
    ParamDelta {
        #[serde(serialize_with = "wire::text")]
        data: D,
        #[serde(serialize_with = "wire::pair")]
        span: Span,
    },
    /// [`Event::ParamClose`].
    #[non_exhaustive]
    ParamClose {
        #[serde(serialize_with = "wire::pair")]
        span: Span,
    },
    /// [`Event::CallAbandoned`].
    #[non_exhaustive]
    CallAbandoned {
        call: u32,
        #[serde(serialize_with = "wire::pair")]
        span: Span,
    },
    /// [`Event::CallClose`].
    #[non_exhaustive]
    CallClose {
        call: u32,
        #[serde(flatten)]
        state: CallState,
        arguments: Arguments,
        #[serde(serialize_with = "wire::pair")]
        span: Span,
    },
    /// [`Event::BlockClose`].
    #[non_exhaustive]
    BlockClose {
        #[serde(serialize_with = "wire::pair")]
        span: Span,
        #[serde(serialize_with = "wire::text")]
        raw: D,
    },
    /// [`Event::BlockAbandoned`].
    #[non_exhaustive]
    BlockAbandoned {
        #[serde(serialize_with = "wire::pair")]
        span: Span,
        becomes: Abandoned,
        #[serde(serialize_with = "wire::text")]
        raw: D,
    },
    /// [`Event::Issue`].
    Issue(OwnedIssue),
}

/// An [`Issue`] that owns its data: what a [`Turn`](crate::Turn) keeps of it, and what it concerns.
///
/// ```
/// use toolglot::{DialectSet, Finish, Options, OwnedEvent, Parser};
///
/// let parser = Parser::new(&DialectSet::defaults(), Options::default());
/// let issue = parser
///     .events([r#"<tool_call>{"name": "f", "argu"#], Finish::Length)
///     .find_map(|event| if let OwnedEvent::Issue(issue) = event { Some(issue) } else { None });
/// assert_eq!(issue.unwrap().report.kind.name(), "unclosed_block");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OwnedIssue {
    /// Kind, severity and span, with its sentences.
    pub report: Report,
    /// The call concerned.
    pub call: Option<u32>,
    /// The tool concerned, or empty.
    pub tool: String,
    /// The parameter, entity or tag concerned, or empty.
    pub subject: String,
    /// A name that was probably meant, or empty.
    pub suggestion: String,
}

impl From<&Issue<'_>> for OwnedIssue {
    fn from(issue: &Issue<'_>) -> Self {
        Self {
            report: issue.into(),
            call: issue.call,
            tool: issue.tool.to_owned(),
            subject: issue.subject.to_owned(),
            suggestion: issue.suggestion.to_owned(),
        }
    }
}

impl Serialize for OwnedIssue {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut out = out.serialize_struct("Issue", 11)?;
        let Report {
            kind,
            severity,
            span,
            message,
            observation,
            dialect,
        } = &self.report;
        wire::head(&mut out, (*kind, *severity, *span), (message, observation))?;
        out.serialize_field("dialect", &Some(dialect).filter(|id| !id.is_empty()))?;
        wire::whom(
            &mut out,
            self.call,
            [&self.tool, &self.subject, &self.suggestion],
        )?;
        out.end()
    }
}

impl From<Event<'_>> for OwnedEvent {
    fn from(event: Event<'_>) -> Self {
        Self::keep(event, <[u8]>::to_vec)
    }
}

impl<D> OwnedEvent<D> {
    /// Converts an event; `own` converts its bytes.
    pub(crate) fn keep(event: Event<'_>, own: impl Fn(&[u8]) -> D) -> Self {
        match event {
            Event::Text {
                data,
                span,
                recovered,
            } => Self::Text {
                data: own(data),
                span,
                recovered,
            },
            Event::Reasoning {
                data,
                span,
                framing,
            } => Self::Reasoning {
                data: own(data),
                span,
                framing,
            },
            Event::Protected { kind, data, span } => Self::Protected {
                kind: kind.to_owned(),
                data: own(data),
                span,
            },
            Event::Raw { data, span } => Self::Raw {
                data: own(data),
                span,
            },
            Event::BlockClose { span, raw } => Self::BlockClose {
                span,
                raw: own(raw),
            },
            Event::BlockAbandoned { span, becomes, raw } => Self::BlockAbandoned {
                span,
                becomes,
                raw: own(raw),
            },
            Event::Issue(issue) => Self::Issue((&issue).into()),
            inner @ (Event::BlockOpen { .. }
            | Event::CallNamed { .. }
            | Event::CallOpen { .. }
            | Event::ArgDelta { .. }
            | Event::ParamOpen { .. }
            | Event::ParamDelta { .. }
            | Event::ParamClose { .. }
            | Event::CallAbandoned { .. }
            | Event::CallClose { .. }) => inside(inner, own),
        }
    }
}

/// Converts an event inside a block.
fn inside<D>(event: Event<'_>, own: impl Fn(&[u8]) -> D) -> OwnedEvent<D> {
    match event {
        Event::BlockOpen { dialect, span } => OwnedEvent::BlockOpen {
            dialect: dialect.to_owned(),
            span,
        },
        Event::CallNamed {
            block,
            ordinal,
            name,
            provisional,
            span,
        } => OwnedEvent::CallNamed {
            block,
            ordinal,
            name: name.to_owned(),
            provisional,
            span,
        },
        Event::CallOpen {
            call,
            name,
            meta,
            dialect,
            origin,
            span,
        } => OwnedEvent::CallOpen {
            call,
            name: name.to_owned(),
            meta: meta.to_vec(),
            dialect: dialect.to_owned(),
            origin,
            span,
        },
        Event::ArgDelta { call, json, span } => OwnedEvent::ArgDelta {
            call,
            json: json.to_owned(),
            span,
        },
        Event::ParamOpen { name, depth, span } => OwnedEvent::ParamOpen {
            name: name.to_owned(),
            depth,
            span,
        },
        Event::ParamDelta { data, span } => OwnedEvent::ParamDelta {
            data: own(data),
            span,
        },
        Event::ParamClose { span } => OwnedEvent::ParamClose { span },
        Event::CallAbandoned { call, span } => OwnedEvent::CallAbandoned { call, span },
        Event::CallClose {
            call,
            state,
            arguments,
            span,
        } => OwnedEvent::CallClose {
            call,
            state,
            arguments,
            span,
        },
        Event::Text { .. }
        | Event::Reasoning { .. }
        | Event::Protected { .. }
        | Event::Raw { .. }
        | Event::BlockClose { .. }
        | Event::BlockAbandoned { .. }
        | Event::Issue(_) => OwnedEvent::keep(event, own),
    }
}

/// A sink that queues events: an iterator over those that have arrived. It continues after it has returned `None`, once the
/// parser was fed again. In asynchronous code feed what has arrived, then send the events.
///
/// ```
/// use toolglot::{DialectSet, Events, Finish, Options, OwnedEvent, Parser};
///
/// let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
/// let mut events = Events::default();
/// for chunk in ["Hi <tool_", "call name=\"f\"></tool_call>"] {
///     parser.feed(chunk.as_bytes(), &mut events);
///     for event in events.by_ref() {
///         if let OwnedEvent::CallClose { call, .. } = event {
///             assert_eq!(call, 0);
///         }
///     }
/// }
/// parser.finish(Finish::Stop, &mut events);
/// assert_eq!(events.next(), None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Events {
    waiting: VecDeque<OwnedEvent>,
}

impl Sink for Events {
    fn event(&mut self, event: Event<'_>) {
        self.waiting.push_back(event.into());
    }
}

impl Iterator for Events {
    type Item = OwnedEvent;

    fn next(&mut self) -> Option<OwnedEvent> {
        self.waiting.pop_front()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.waiting.len(), Some(self.waiting.len()))
    }
}

/// The events of an output whose chunks come from an iterator; see [`Parser::events`].
///
/// See the example of [`Parser::events`].
#[derive(Clone, Debug)]
pub struct EventsOf<I> {
    parser: Parser,
    chunks: I,
    finish: Finish,
    waiting: Events,
}

impl Parser {
    /// Returns the events of an output whose chunks come from an iterator, each as soon as it is known. `finish` is the reason
    /// for which the output ends with the iterator.
    ///
    /// ```
    /// use toolglot::{DialectSet, Finish, Options, OwnedEvent, Parser};
    ///
    /// let parser = Parser::new(&DialectSet::defaults(), Options::default());
    /// let chunks = ["Hi <tool_", "call name=\"f\"></tool_call>"];
    /// let names: Vec<String> = parser
    ///     .events(chunks, Finish::Stop)
    ///     .filter_map(|event| match event {
    ///         OwnedEvent::CallOpen { name, .. } => Some(name),
    ///         _ => None,
    ///     })
    ///     .collect();
    /// assert_eq!(names, ["f"]);
    /// ```
    pub fn events<C: IntoIterator<Item: AsRef<[u8]>>>(
        self,
        chunks: C,
        finish: Finish,
    ) -> EventsOf<C::IntoIter> {
        EventsOf {
            parser: self,
            chunks: chunks.into_iter(),
            finish,
            waiting: Events::default(),
        }
    }
}

/// Feeding one chunk at a time.
impl Parser {
    /// Feeds the next bytes and returns their events: [`feed`](Self::feed) for hosts that prefer a loop to a sink. Consumes all
    /// bytes. Cost and memory: a copy of the data of the events.
    ///
    /// ```
    /// use toolglot::{DialectSet, Finish, Options, OwnedEvent, Parser};
    ///
    /// let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
    /// let mut names = vec![];
    /// for chunk in ["Hi <tool_", "call name=\"f\"></tool_call>"] {
    ///     for event in parser.feed_events(chunk.as_bytes()) {
    ///         if let OwnedEvent::CallOpen { name, .. } = event {
    ///             names.push(name);
    ///         }
    ///     }
    /// }
    /// assert_eq!(names, ["f"]);
    /// assert_eq!(parser.finish_events(Finish::Stop).count(), 0);
    /// ```
    #[must_use = "these events come once"]
    pub fn feed_events(&mut self, chunk: &[u8]) -> Events {
        let mut events = Events::default();
        self.feed(chunk, &mut events);
        events
    }

    /// Ends the stream and returns the last events: [`finish`](Self::finish) for hosts that prefer a loop to a sink. Empty if
    /// the stream has already ended. Cost and memory: a copy of the data of the events.
    ///
    /// ```
    /// use toolglot::{DialectSet, Finish, Options, OwnedEvent, Parser};
    ///
    /// let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
    /// assert_eq!(parser.feed_events(b"<tool").count(), 0);
    /// let last = parser.finish_events(Finish::Stop).next();
    /// assert!(matches!(last, Some(OwnedEvent::Text { data, .. }) if data == b"<tool"));
    /// ```
    #[must_use = "these events come once"]
    pub fn finish_events(&mut self, reason: Finish) -> Events {
        let mut events = Events::default();
        self.finish(reason, &mut events);
        events
    }
}

impl<I> EventsOf<I> {
    /// The parser, for its state after the bytes so far.
    #[must_use]
    pub const fn parser(&self) -> &Parser {
        &self.parser
    }
}

impl<I: Iterator<Item: AsRef<[u8]>>> Iterator for EventsOf<I> {
    type Item = OwnedEvent;

    fn next(&mut self) -> Option<OwnedEvent> {
        loop {
            if let Some(event) = self.waiting.next() {
                return Some(event);
            }
            if self.parser.is_finished() {
                return None;
            }
            match self.chunks.next() {
                Some(chunk) => self.parser.feed(chunk.as_ref(), &mut self.waiting),
                None => self.parser.finish(self.finish, &mut self.waiting),
            }
        }
    }
}
