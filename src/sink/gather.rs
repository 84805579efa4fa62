//! Assembles calls from their events, for sinks that deliver whole calls.

use crate::call::Call;
use crate::event::{Arguments, CallState, Event, Span};
use crate::json::Members;
use crate::kind::{Grade, Kind, KindSet};

/// Assembles calls: takes every event, and returns the whole call at [`Event::CallClose`]. It holds only the open call; memory
/// grows with its arguments.
///
/// ```
/// use toolglot::{DialectSet, Options, Parser, sink::Gather};
///
/// let mut gather = Gather::default();
/// let mut names = vec![];
/// let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
/// let reply = br#"<tool_call name="f"><param name="a">1</param></tool_call>"#;
/// parser.feed(reply, &mut |event: toolglot::Event<'_>| {
///     names.extend(gather.event(&event).map(|call| call.name + &call.arguments));
/// });
/// assert_eq!(names, [r#"f{"a":"1"}"#]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Gather {
    open: Option<Call>,
}

/// Continues after the events of an open call, as returned by [`open`](Gather::open).
impl From<Option<Call>> for Gather {
    fn from(open: Option<Call>) -> Self {
        Self { open }
    }
}

impl Gather {
    /// The open call, with its arguments so far.
    #[must_use]
    pub fn open(&self) -> Option<&Call> {
        self.open.as_ref()
    }

    /// Takes an event and returns the call that it closes. If a call repeats a parameter, the last value counts. A call whose
    /// arguments were delivered only as parameters is recovered, for its arguments are `{}`.
    pub fn event(&mut self, event: &Event<'_>) -> Option<Call> {
        match *event {
            Event::CallOpen {
                call,
                name,
                meta,
                dialect,
                origin,
                span,
            } => {
                self.open = Some(Call {
                    index: call,
                    name: name.to_owned(),
                    arguments: String::new(),
                    grade: Grade::Complete,
                    kinds: KindSet::default(),
                    dialect: dialect.to_owned(),
                    origin,
                    meta: meta.to_vec(),
                    span,
                });
                None
            }
            Event::ArgDelta { json, .. } => {
                if let Some(call) = &mut self.open {
                    call.arguments.push_str(json);
                }
                None
            }
            Event::CallClose {
                state,
                arguments,
                span,
                ..
            } => self.close(state, arguments, span),
            Event::CallAbandoned { .. } | Event::BlockAbandoned { .. } => {
                self.open = None;
                None
            }
            Event::Text { .. }
            | Event::Reasoning { .. }
            | Event::Protected { .. }
            | Event::Raw { .. }
            | Event::BlockOpen { .. }
            | Event::CallNamed { .. }
            | Event::ParamOpen { .. }
            | Event::ParamDelta { .. }
            | Event::ParamClose { .. }
            | Event::BlockClose { .. }
            | Event::Issue(_) => None,
        }
    }

    /// Closes the open call and returns it, as [`event`](Self::event) does at [`Event::CallClose`].
    pub fn close(&mut self, state: CallState, arguments: Arguments, span: Span) -> Option<Call> {
        let mut call = self.open.take()?;
        call.span = span;
        call.grade = state.grade();
        call.kinds = state.kinds();
        if arguments == Arguments::Params {
            // The arguments were delivered only as parameters, so the call is incomplete, whatever else was repaired in it.
            call.arguments = "{}".to_owned();
            call.grade = Grade::Recovered;
        }
        if call.kinds.contains(Kind::DuplicateParam) || call.kinds.contains(Kind::RepeatedParam) {
            let members = Members::read(&call.arguments).map(|members| members.last_wins());
            call.arguments = members.unwrap_or(call.arguments);
        }
        Some(call)
    }
}
