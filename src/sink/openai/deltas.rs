//! The sink that converts events to deltas.

use toolglot_scan::Gate;

use super::ids::Ids;
use super::{Calls, Delta, Reason, Settings};
use crate::call::{Call, NotDelivered, Report, Withheld};
use crate::dialect::DialectSet;
use crate::engine::Finish;
use crate::escape::Seams;
use crate::event::{Arguments, Event, Sink, Span};
use crate::kind::{Grade, KindSet};
use crate::limits::Options;
use crate::sink::gather::Gather;
use crate::sink::ledger::Ledger;

/// A sink that delivers [`Delta`]s. See the [module](super) for its guarantees.
///
/// Pass it to `feed` and `finish` of a parser, then call [`finish`](Self::finish) with the reason for which the stream ended.
/// Cost: each byte is copied at most once more in live mode; at close, the whole calls of the open block are kept.
///
/// ```
/// use toolglot::sink::openai::{Delta, Deltas, Reason, Settings};
/// use toolglot::{DialectSet, Finish, Options, Parser};
///
/// let (mut content, mut reason) = (String::new(), None);
/// let mut deltas = Deltas::new(Settings::default(), |delta| match delta {
///     Delta::Content(text) => content.push_str(text),
///     Delta::Finish { reason: why, .. } => reason = Some(why),
///     _ => {}
/// });
/// let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
/// parser.feed(b"Hi there", &mut deltas);
/// parser.finish(Finish::Stop, &mut deltas);
/// deltas.finish(Finish::Stop);
/// drop(deltas);
/// assert_eq!((content.as_str(), reason), ("Hi there", Some(Reason::Stop)));
/// ```
#[derive(Debug)]
pub struct Deltas<F> {
    door: Door<F>,
    settings: Settings,
    ids: Ids,
    lane: Lane,
    gate: Gate,
    /// Index of the next call.
    next: u32,
    /// The number of calls that were delivered and are valid.
    delivered: usize,
    /// Calls that were partly sent and retracted.
    void: Vec<u32>,
    /// Valid calls that are not delivered; those of the open block come last.
    withheld: Vec<Withheld>,
    /// How many of them were withheld before the open block.
    settled: usize,
    ledger: Ledger,
    block: bool,
    live: Live,
    close: AtClose,
    finished: bool,
    seams: Option<Seams>,
    /// Message and type of the error that ends the response.
    error: Option<(String, String)>,
}

/// The only output; it sends the role first.
#[derive(Debug)]
struct Door<F> {
    take: F,
    begun: bool,
}

impl<F: FnMut(Delta<'_>)> Door<F> {
    fn begin(&mut self) {
        if !self.begun {
            self.begun = true;
            (self.take)(Delta::Role);
        }
    }

    fn send(&mut self, delta: Delta<'_>) {
        self.begin();
        (self.take)(delta);
    }
}

/// Deltas have no position in the stream. The value leaves room for the bytes that the gate may hold back, which it subtracts
/// from the position.
const NOWHERE: u64 = 4;

/// The kind of the current bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lane {
    Content,
    Reasoning,
}

/// Incomplete calls in live mode.
#[derive(Debug, Default)]
struct Live {
    /// The open call.
    open: Option<Tail>,
    /// The last closed call of the open block.
    closed: Option<Tail>,
    /// Closed calls of the open block.
    block: Vec<u32>,
}

/// A call whose end is held back.
#[derive(Debug)]
struct Tail {
    index: u32,
    name: String,
    /// A `}` and whitespace after it, or empty.
    held: String,
    /// Arguments have arrived.
    some: bool,
    /// Arguments have been sent.
    sent: bool,
}

/// Incomplete calls in at-close mode.
#[derive(Debug, Default)]
struct AtClose {
    open: Gather,
    /// Closed calls of the open block.
    block: Vec<Call>,
}

/// Returns where the end of an arguments text begins: a `}` followed only by whitespace.
fn end_of(json: &str) -> usize {
    let trimmed = json.trim_end_matches([' ', '\t', '\n', '\r']);
    trimmed.strip_suffix('}').map_or(json.len(), str::len)
}

impl<F: FnMut(Delta<'_>)> Deltas<F> {
    /// Sends deltas to a closure.
    #[must_use]
    pub fn new(settings: Settings, take: F) -> Self {
        Self {
            ids: Ids::new(&settings),
            settings,
            door: Door { take, begun: false },
            lane: Lane::Content,
            gate: Gate::default(),
            next: 0,
            delivered: 0,
            void: vec![],
            withheld: vec![],
            settled: 0,
            ledger: Ledger::default(),
            block: false,
            live: Live::default(),
            close: AtClose::default(),
            finished: false,
            seams: None,
            error: None,
        }
    }

    /// Sets why the output broke off, before [`finish`](Self::finish): the server's message, and its error type.
    ///
    /// ```
    /// use toolglot::sink::openai::{Deltas, Head, Settings};
    /// use toolglot::Finish;
    ///
    /// let mut lines = vec![];
    /// let mut deltas = Deltas::new(Settings::default(), |delta| lines.push(delta.to_json(&Head::default())));
    /// deltas.fail("the server closed the connection", "connection_error");
    /// deltas.finish(Finish::Error);
    /// assert!(lines.iter().any(|line| line.contains("the server closed the connection")));
    /// ```
    pub fn fail(&mut self, message: &str, kind: &str) {
        self.error = Some((message.to_owned(), kind.to_owned()));
    }

    /// Prevents the content from being read as a call by another reader of the same set, like
    /// [`Mask::guard`](crate::sink::mask::Mask::guard). Without it the content is the text verbatim.
    #[must_use]
    pub fn guard(self, set: &DialectSet) -> Self {
        self.guard_with(set, &Options::default())
    }

    /// As [`guard`](Self::guard), for a reader with these options; see
    /// [`Mask::guard_with`](crate::sink::mask::Mask::guard_with).
    #[must_use]
    pub fn guard_with(mut self, set: &DialectSet, options: &Options) -> Self {
        self.seams = Seams::new(set, options).ok();
        self
    }

    /// Gets ids from the host for calls that have no id of their own, or a repeated one: the closure gets index and name. The
    /// host must make them unique.
    #[must_use]
    pub fn with_ids(mut self, rule: impl FnMut(u32, &str) -> String + Send + 'static) -> Self {
        self.ids.rule(Box::new(rule));
        self
    }

    /// Sends the role now. Otherwise it is sent with the first delta.
    pub fn begin(&mut self) {
        self.door.begin();
    }

    /// Ends the response; call it after [`Parser::finish`](crate::Parser::finish). Later events are ignored.
    pub fn finish(&mut self, reason: Finish) {
        if self.finished {
            return;
        }
        self.finished = true;
        if let Some(mut seams) = self.seams.take() {
            seams.finish(|bytes| self.say(Lane::Content, bytes));
        }
        self.part();
        self.drop_block();
        if reason == Finish::Error {
            let error = self.error.as_ref();
            let (message, kind) = error.map_or(("the output broke off", "stream_error"), |error| {
                (error.0.as_str(), error.1.as_str())
            });
            return self.door.send(Delta::Error { message, kind });
        }
        let void = &self.void;
        let left = &NotDelivered {
            withheld: std::mem::take(&mut self.withheld),
            dropped: self.ledger.dropped(),
        };
        if let Some(reason) = Reason::of(reason, self.delivered, void.len(), self.settings.forced) {
            self.door.send(Delta::Finish { reason, void, left });
        }
    }

    /// Adds an issue that was kept elsewhere, at its place among the events: it says what was dropped.
    pub fn report(&mut self, report: &Report) {
        self.ledger.report(report);
    }

    /// Calls so far that were partly sent and retracted, in ascending order.
    ///
    /// ```
    /// use toolglot::sink::openai::{Deltas, Settings};
    /// use toolglot::{DialectSet, Finish, Options, Parser};
    ///
    /// let mut deltas = Deltas::new(Settings::default(), |_| {});
    /// let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
    /// parser.feed(br#"<tool_call>{"name": "f", "arguments": {"id": 7"#, &mut deltas);
    /// parser.finish(Finish::Length, &mut deltas);
    /// assert_eq!(deltas.void(), [0]); // its name and the beginning of its arguments were sent
    /// ```
    #[must_use]
    pub fn void(&self) -> &[u32] {
        &self.void
    }

    /// Sends bytes of a lane, in whole characters.
    fn say(&mut self, lane: Lane, data: &[u8]) {
        if self.lane != lane {
            self.part();
            self.lane = lane;
        }
        let (door, field) = (&mut self.door, self.settings.reasoning.as_deref());
        self.gate
            .push(data, NOWHERE, |text, _| send(door, field, lane, text));
    }

    /// The run of text ends: an incomplete character will not be completed.
    fn part(&mut self) {
        let (door, field) = (&mut self.door, self.settings.reasoning.as_deref());
        let lane = self.lane;
        self.gate
            .end(NOWHERE, |text, _| send(door, field, lane, text));
    }

    /// Sends content, through the guard if there is one.
    fn guarded(&mut self, data: &[u8], through: impl FnOnce(&mut Seams, &mut dyn FnMut(&[u8]))) {
        match self.seams.take() {
            Some(mut seams) => {
                through(&mut seams, &mut |bytes| self.say(Lane::Content, bytes));
                self.seams = Some(seams);
            }
            None => self.say(Lane::Content, data),
        }
    }

    fn event_text(&mut self, data: &[u8], recovered: bool) {
        if recovered {
            self.part();
        }
        self.guarded(data, |seams, out| seams.write(data, recovered, out));
        if recovered {
            self.part();
        }
    }

    /// Sends the first delta of a call.
    fn announce(&mut self, name: &str, meta: &[(String, String)]) -> u32 {
        let index = self.next;
        self.next += 1;
        let id = self.ids.of(index, name, meta);
        let id = &id;
        self.door.send(Delta::Call { index, id, name });
        index
    }

    fn live_open(&mut self, name: &str, meta: &[(String, String)]) {
        self.release();
        let index = self.announce(name, meta);
        self.live.open = Some(Tail {
            index,
            name: name.to_owned(),
            held: String::new(),
            some: false,
            sent: false,
        });
    }

    fn live_arguments(&mut self, json: &str) {
        let Some(call) = &mut self.live.open else {
            return;
        };
        call.some = true;
        let blank = json.trim_matches([' ', '\t', '\n', '\r']).is_empty();
        if blank && !call.held.is_empty() {
            return call.held.push_str(json);
        }
        let (send, keep) = json.split_at(end_of(json));
        let index = call.index;
        call.sent |= !send.is_empty() || !call.held.is_empty();
        if call.held.is_empty() {
            if !send.is_empty() {
                self.door.send(Delta::Arguments { index, json: send });
            }
        } else {
            call.held.push_str(send);
            let json = &call.held;
            self.door.send(Delta::Arguments { index, json });
            call.held.clear();
        }
        call.held.push_str(keep);
    }

    fn live_close(&mut self, grade: Grade, kinds: KindSet, span: Span) {
        let Some(mut call) = self.live.open.take() else {
            return;
        };
        if !self.settings.recovered.delivers(grade, kinds) {
            self.drop_call(&call);
            let name = call.name;
            return self.withhold(Withheld { name, kinds, span });
        }
        if !call.some {
            call.held.push_str("{}");
        }
        self.live.block.push(call.index);
        self.live.closed = Some(call);
        if !self.block {
            self.block_close();
        }
    }

    /// Sends what is held back of the call that closed last.
    fn release(&mut self) {
        if let Some(Tail { index, held, .. }) = self.live.closed.take()
            && !held.is_empty()
        {
            let json = &held;
            self.door.send(Delta::Arguments { index, json });
        }
    }

    /// Withholds a call; whether it is valid is known when its block closes.
    fn withhold(&mut self, call: Withheld) {
        self.withheld.push(call);
        if !self.block {
            self.settled = self.withheld.len();
        }
    }

    /// The calls of the block are final.
    fn block_close(&mut self) {
        self.block = false;
        self.settled = self.withheld.len();
        self.release();
        self.delivered += self.live.block.len();
        self.live.block.clear();
        for call in std::mem::take(&mut self.close.block) {
            let index = self.announce(&call.name, &call.meta);
            let json = match call.arguments.trim() {
                "" => "{}",
                text => text,
            };
            self.door.send(Delta::Arguments { index, json });
            self.delivered += 1;
        }
    }

    /// Retracts a call. Clients read missing arguments as `{}`, so some must have been sent.
    fn drop_call(&mut self, call: &Tail) {
        let index = call.index;
        if !call.sent {
            self.door.send(Delta::Arguments { index, json: "{" });
        }
        self.void.push(index);
    }

    fn drop_open(&mut self) {
        if let Some(call) = self.live.open.take() {
            self.drop_call(&call);
        }
    }

    /// Retracts the calls of the block.
    fn drop_block(&mut self) {
        self.block = false;
        self.withheld.truncate(self.settled);
        self.close.block.clear();
        let last = self.live.closed.take();
        for index in std::mem::take(&mut self.live.block) {
            match &last {
                Some(call) if call.index == index => self.drop_call(call),
                _ => self.void.push(index),
            }
        }
        self.drop_open();
        self.void.sort_unstable();
    }

    /// Handles an event of a call in at-close mode.
    fn at_close(&mut self, event: &Event<'_>) {
        let rule = self.settings.recovered;
        match self.close.open.event(event) {
            Some(call) if rule.delivers(call.grade, call.kinds) => self.close.block.push(call),
            Some(call) => self.withhold(Withheld::from(&call)),
            None => {}
        }
        if !self.block {
            self.block_close();
        }
    }
}

/// Sends a piece of text.
fn send<F: FnMut(Delta<'_>)>(door: &mut Door<F>, field: Option<&str>, lane: Lane, text: &str) {
    match (lane, field) {
        (Lane::Content, _) => door.send(Delta::Content(text)),
        (Lane::Reasoning, Some(field)) => door.send(Delta::Reasoning { field, text }),
        (Lane::Reasoning, None) => {}
    }
}

impl<F: FnMut(Delta<'_>)> Sink for Deltas<F> {
    fn event(&mut self, event: Event<'_>) {
        if self.finished {
            return;
        }
        self.ledger.event(&event);
        let kept = self.settings.protected && matches!(event, Event::Protected { .. });
        if let Some(seams) = self.seams.as_mut().filter(|_| !kept) {
            seams.event(&event);
        }
        match event {
            Event::Text {
                data, recovered, ..
            } => self.event_text(data, recovered),
            Event::Reasoning {
                data,
                framing: false,
                ..
            } => self.say(Lane::Reasoning, data),
            Event::Reasoning { framing: true, .. } => self.part(),
            Event::Protected { data, .. } if self.settings.protected => {
                self.guarded(data, |seams, out| seams.keep(data, out));
            }
            Event::Protected { .. } => self.part(),
            Event::BlockOpen { .. } => {
                self.part();
                self.block = true;
            }
            Event::CallOpen { name, meta, .. } => {
                self.part();
                match self.settings.calls {
                    Calls::Live => self.live_open(name, meta),
                    Calls::AtClose => self.at_close(&event),
                }
            }
            Event::ArgDelta { json, .. } => match self.settings.calls {
                Calls::Live => self.live_arguments(json),
                Calls::AtClose => self.at_close(&event),
            },
            Event::CallClose {
                state,
                arguments,
                span,
                ..
            } => match self.settings.calls {
                Calls::Live => match arguments {
                    Arguments::Params => {
                        self.live_close(Grade::Recovered, KindSet::default(), span)
                    }
                    Arguments::Deltas => self.live_close(state.grade(), state.kinds(), span),
                },
                Calls::AtClose => self.at_close(&event),
            },
            Event::CallAbandoned { .. } => match self.settings.calls {
                Calls::Live => self.drop_open(),
                Calls::AtClose => self.at_close(&event),
            },
            Event::BlockClose { .. } => self.block_close(),
            Event::BlockAbandoned { .. } => {
                self.close.open = Gather::default();
                self.drop_block();
            }
            Event::Raw { .. }
            | Event::CallNamed { .. }
            | Event::ParamOpen { .. }
            | Event::ParamDelta { .. }
            | Event::ParamClose { .. }
            | Event::Issue(_) => {}
        }
    }
}
