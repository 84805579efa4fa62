//! Calls at the byte that completes them, before their block closes.
//!
//! For hosts that want to start early: look up a tool, ask for permission, start what can be undone. A block can still be
//! abandoned after a complete call, which retracts the call; so wait for [`Signal::Stands`] before anything that cannot be
//! undone.
//!
//! ```
//! use toolglot::sink::ready::{Ready, Signal};
//! use toolglot::{DialectSet, Finish, Options, Parser};
//!
//! let mut seen = vec![];
//! let mut ready = Ready::new(|signal: Signal<'_>| match signal {
//!     Signal::Ready(call) => seen.push(format!("begin {} {}", call.name, call.arguments)),
//!     Signal::Stands(index) => seen.push(format!("commit {index}")),
//!     Signal::Void(index) => seen.push(format!("undo {index}")),
//!     _ => {}
//! });
//! let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
//! parser.feed(br#"<tool_call name="f"><param name="a">1</param></tool_call>"#, &mut ready);
//! parser.finish(Finish::Stop, &mut ready);
//! assert_eq!(seen, [r#"begin f {"a":"1"}"#, "commit 0"]);
//! ```

use super::gather::Gather;
use crate::call::Call;
use crate::event::{Event, Sink};
use crate::kind::Grade;

/// What a [`Ready`] sink reports about calls. Indices are those of the events: numbers of calls in the stream.
///
/// ```
/// use toolglot::sink::ready::{Ready, Signal};
/// use toolglot::{DialectSet, Finish, Options, Parser};
///
/// let mut seen = vec![];
/// let mut ready = Ready::new(|signal: Signal<'_>| seen.push(match signal {
///     Signal::Ready(call) => format!("start {}", call.name),
///     Signal::Stands(index) => format!("commit {index}"),
///     other => format!("undo {other:?}"),
/// }));
/// let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
/// parser.feed(br#"<tool_call>{"name": "f", "arguments": {}}</tool_call>"#, &mut ready);
/// parser.finish(Finish::Stop, &mut ready);
/// assert_eq!(seen, ["start f", "commit 0"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Signal<'a> {
    /// The call is complete. Its block is still open, unless it is an API tool call.
    Ready(&'a Call),
    /// The block of a call that was ready has closed (for an API tool call: immediately). The call is final.
    Stands(u32),
    /// The block of a call that was ready was abandoned. The call is retracted.
    Void(u32),
}

/// A sink that delivers each call at its [`Event::CallClose`].
///
/// Every [`Signal::Ready`] is followed by exactly one [`Signal::Stands`] or [`Signal::Void`] with the same index, at the latest
/// when the parser finishes. Recovered calls are skipped unless [`recovered`](Self::recovered) asks for them. Memory grows with
/// the open call's arguments and the number of calls of the open block.
///
/// ```
/// use toolglot::sink::ready::{Ready, Signal};
/// use toolglot::{DialectSet, Finish, Options, Parser};
///
/// let mut started = vec![];
/// let mut ready = Ready::new(|signal: Signal<'_>| {
///     if let Signal::Ready(call) = signal {
///         started.push(call.name.clone());
///     }
/// });
/// let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
/// parser.feed(br#"<tool_call>{"name": "f", "arguments": {}}</tool_call>"#, &mut ready);
/// parser.finish(Finish::Stop, &mut ready);
/// assert_eq!(started, ["f"]);
/// ```
#[derive(Debug)]
pub struct Ready<F> {
    take: F,
    open: Gather,
    recovered: bool,
    block: bool,
    waiting: Vec<u32>,
}

impl<F: FnMut(Signal<'_>)> Ready<F> {
    /// Sends signals to a closure.
    #[must_use]
    pub fn new(take: F) -> Self {
        Self {
            take,
            open: Gather::default(),
            recovered: false,
            block: false,
            waiting: vec![],
        }
    }

    /// Whether to deliver recovered calls too; [`Call::grade`] identifies them. Calls whose arguments were not retained
    /// ([`Arguments::Params`](crate::Arguments::Params)) are never delivered.
    ///
    /// ```
    /// use toolglot::sink::ready::{Ready, Signal};
    /// use toolglot::{DialectSet, Finish, Options, Parser};
    ///
    /// let mut grades = vec![];
    /// let mut ready = Ready::new(|signal: Signal<'_>| {
    ///     if let Signal::Ready(call) = signal {
    ///         grades.push(call.grade.name());
    ///     }
    /// })
    /// .recovered(true);
    /// let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
    /// parser.feed(br#"<tool_call>{"name": "f", "arguments": {"id": 7, "id": 8}}</tool_call>"#, &mut ready);
    /// parser.finish(Finish::Stop, &mut ready);
    /// assert_eq!(grades, ["recovered"]);
    /// ```
    #[must_use]
    pub fn recovered(mut self, wanted: bool) -> Self {
        self.recovered = wanted;
        self
    }

    fn close(&mut self, call: &Call) {
        let wanted = call.grade != Grade::Recovered || self.recovered && !call.kinds.is_empty();
        if !wanted {
            return;
        }
        (self.take)(Signal::Ready(call));
        if self.block {
            self.waiting.push(call.index);
        } else {
            (self.take)(Signal::Stands(call.index));
        }
    }

    fn settle(&mut self, signal: fn(u32) -> Signal<'static>) {
        self.block = false;
        for index in std::mem::take(&mut self.waiting) {
            (self.take)(signal(index));
        }
    }
}

impl<F: FnMut(Signal<'_>)> Sink for Ready<F> {
    fn event(&mut self, event: Event<'_>) {
        if let Some(call) = self.open.event(&event) {
            self.close(&call);
        }
        match event {
            Event::BlockOpen { .. } => self.block = true,
            Event::BlockClose { .. } => self.settle(Signal::Stands),
            Event::BlockAbandoned { .. } => self.settle(Signal::Void),
            Event::Text { .. }
            | Event::Reasoning { .. }
            | Event::Protected { .. }
            | Event::Raw { .. }
            | Event::CallNamed { .. }
            | Event::CallOpen { .. }
            | Event::ArgDelta { .. }
            | Event::ParamOpen { .. }
            | Event::ParamDelta { .. }
            | Event::ParamClose { .. }
            | Event::CallAbandoned { .. }
            | Event::CallClose { .. }
            | Event::Issue(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Abandoned, Arguments, CallState, Origin, Span};
    use crate::{DialectSet, Finish, Kind, KindSet, NativeCall, Options, Parser};

    const NOWHERE: Span = Span::new(0, 0);

    fn signals(recovered: bool, events: &[Event<'_>]) -> Vec<String> {
        let mut signals = vec![];
        let mut ready = Ready::new(|signal: Signal<'_>| {
            signals.push(match signal {
                Signal::Ready(call) => format!("ready {} {}", call.name, call.arguments),
                Signal::Stands(index) => format!("stands {index}"),
                Signal::Void(index) => format!("void {index}"),
            });
        })
        .recovered(recovered);
        for event in events {
            ready.event(*event);
        }
        signals
    }

    fn open(call: u32) -> Event<'static> {
        Event::CallOpen {
            call,
            name: "f",
            meta: &[],
            dialect: "d",
            origin: Origin::Text,
            span: NOWHERE,
        }
    }

    fn arguments(call: u32, json: &str) -> Event<'_> {
        Event::ArgDelta {
            call,
            json,
            span: NOWHERE,
        }
    }

    fn close(call: u32, state: CallState, arguments: Arguments) -> Event<'static> {
        Event::CallClose {
            call,
            state,
            arguments,
            span: NOWHERE,
        }
    }

    const BLOCK: Event<'static> = Event::BlockOpen {
        dialect: "d",
        span: NOWHERE,
    };
    const CLOSED: Event<'static> = Event::BlockClose {
        span: NOWHERE,
        raw: b"",
    };
    const VOID: Event<'static> = Event::BlockAbandoned {
        span: NOWHERE,
        becomes: Abandoned::Drop,
        raw: b"",
    };

    #[test]
    fn a_call_is_ready_before_its_block_closes() {
        let complete = |call| close(call, CallState::Complete, Arguments::Deltas);
        let begin = [BLOCK, open(0), arguments(0, "{}"), complete(0)];
        assert_eq!(signals(false, &begin), ["ready f {}"]);
        let ends = [&begin[..], &[CLOSED]].concat();
        assert_eq!(signals(false, &ends), ["ready f {}", "stands 0"]);
        let breaks = [&begin[..], &[open(1), VOID]].concat();
        assert_eq!(signals(false, &breaks), ["ready f {}", "void 0"]);
    }

    #[test]
    fn an_abandoned_call_is_never_ready() {
        let dropped = Event::CallAbandoned {
            call: 0,
            span: NOWHERE,
        };
        let events = [BLOCK, open(0), arguments(0, "{"), dropped, CLOSED];
        assert_eq!(signals(true, &events), [""; 0]);
    }

    #[test]
    fn recovered_calls_are_asked_for() {
        let mut kinds = KindSet::default();
        kinds.insert(Kind::DuplicateParam);
        let state = CallState::Recovered(kinds);
        let repeated = arguments(0, r#"{"a":1,"b":2,"a":1.50}"#);
        let events = [
            BLOCK,
            open(0),
            repeated,
            close(0, state, Arguments::Deltas),
            CLOSED,
        ];
        assert_eq!(signals(false, &events), [""; 0]);
        assert_eq!(
            signals(true, &events),
            [r#"ready f {"a":1.50,"b":2}"#, "stands 0"]
        );
        let lost = [
            BLOCK,
            open(0),
            close(0, CallState::Complete, Arguments::Params),
            CLOSED,
        ];
        assert_eq!(signals(true, &lost), [""; 0]);
    }

    #[test]
    fn an_api_call_is_final_immediately() {
        let mut signals = vec![];
        let mut ready = Ready::new(|signal: Signal<'_>| signals.push(format!("{signal:?}")));
        let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
        let call = NativeCall {
            id: None,
            name: "f".to_owned(),
            arguments: String::new(),
        };
        parser.native_call(&call, &mut ready);
        parser.finish(Finish::Stop, &mut ready);
        assert_eq!(signals.len(), 2);
        assert!(signals[0].starts_with("Ready(") && signals[0].contains(r#"arguments: "{}""#));
        assert_eq!(signals[1], "Stands(0)");
    }
}
