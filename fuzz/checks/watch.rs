//! A sink that checks every event.
//!
//! Spans lie within the bytes fed, leaves are contiguous, data are the bytes of their span, blocks, calls and parameters
//! nest, arguments are a JSON object, and nothing complete is retracted.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};

use toolglot::{
    Abandoned, Arguments, CallState, Event, Finish, Kind, Options, Origin, Parser, Prefer, Retain,
    Sink, Span, TextMode,
};

use super::json;
use super::log::{Log, What};

/// How often a stream was watched to its end.
pub static PARSES: AtomicU64 = AtomicU64::new(0);

#[derive(Clone)]
pub struct Watch<'i> {
    input: Cow<'i, [u8]>,
    chars: bool,
    retained: bool,
    /// Whether calls of the text come after their blocks, if they come.
    held: bool,
    /// Bytes fed, including the current chunk. Set by the driver.
    pub fed: u64,
    pub log: Log,
    /// The leaves cover the input up to here.
    at: u64,
    block: Option<Block>,
    call: Option<Open>,
    calls: u32,
    params: u32,
    /// A text event with this span must come next.
    owed: Option<(Span, Abandoned)>,
    /// Where the last committed block ended.
    closed: Option<u64>,
    /// Where a protected region began that is not closed.
    region: Option<u64>,
    /// Whether issues may be left out because of their limit.
    silent: bool,
}

#[derive(Clone)]
struct Block {
    start: u64,
    /// A call in it that was delivered as complete.
    complete: Option<u32>,
    /// Whether a limit was exceeded in it.
    limited: bool,
}

#[derive(Clone)]
struct Open {
    call: u32,
    arguments: String,
}

impl<'i> Watch<'i> {
    pub fn new(input: &'i [u8], options: &Options) -> Self {
        Self {
            input: Cow::Borrowed(input),
            chars: options.text == TextMode::Chars,
            retained: options.retain == Retain::Block,
            held: options.prefer == Prefer::Native,
            fed: 0,
            log: Log::default(),
            at: 0,
            block: None,
            call: None,
            calls: 0,
            params: 0,
            owed: None,
            closed: None,
            region: None,
            silent: options.limits.max_issues < 1000,
        }
    }

    /// Goes on with an input that begins with the same bytes.
    pub fn goes_on(&mut self, input: &[u8]) {
        self.input = Cow::Owned(input.to_vec());
    }

    /// Call this after every chunk.
    pub fn between_chunks(&self, parser: &Parser, bound: usize) {
        assert_eq!(
            parser.position(),
            self.fed,
            "the position is not what was fed"
        );
        let held = parser.held();
        assert!(
            held <= bound,
            "{held} bytes are held, more than the set's bound of {bound}"
        );
        // A protected region, which is open where nothing else may hold a marker, keeps its bytes as a block does.
        let region = parser.may_hold_marker() && parser.stage() == toolglot::Stage::Normal;
        if self.block.is_none() && !region {
            assert_eq!(
                self.at + held as u64,
                self.fed,
                "what was delivered and what is held is not what was fed"
            );
        }
    }

    /// Call this after `finish`.
    pub fn at_end(&mut self, parser: &mut Parser) {
        PARSES.fetch_add(1, Ordering::Relaxed);
        assert_eq!(
            self.at,
            self.input.len() as u64,
            "the leaves do not reach the end"
        );
        assert!(self.block.is_none(), "a block is open after the end");
        assert!(
            self.owed.is_none(),
            "the text of an abandoned block never came"
        );
        assert_eq!(parser.held(), 0, "bytes are held after the end");
        let mut silent = |event: Event<'_>| panic!("an event after the end: {event:?}");
        parser.feed(b"<x>", &mut silent);
        parser.finish(Finish::Stop, &mut silent);
        if self.chars {
            for (what, data, span) in self.log.runs().filter(|(what, ..)| **what != What::Raw) {
                let source = String::from_utf8_lossy(self.source(span));
                assert!(
                    source.as_bytes() == data,
                    "{what:?} at {span:?} is not the lossy text of its bytes"
                );
            }
        }
    }

    fn source(&self, span: Span) -> &[u8] {
        &self.input[span.start as usize..span.end as usize]
    }

    fn inside(&self, span: Span) {
        assert!(
            span.start <= span.end && span.end <= self.fed,
            "{span:?} is not within the {} bytes fed",
            self.fed
        );
    }

    /// A leaf begins where the previous one ended.
    fn leaf(&mut self, span: Span) {
        self.inside(span);
        assert_eq!(span.start, self.at, "the leaves are not contiguous");
        assert!(self.block.is_none(), "a leaf inside a block");
        self.at = span.end;
    }

    fn flow(&mut self, data: &[u8], span: Span) {
        self.leaf(span);
        if self.chars {
            assert!(
                std::str::from_utf8(data).is_ok(),
                "text that is not made of whole characters"
            );
        } else {
            assert!(
                data == self.source(span),
                "data that are not the bytes of their span"
            );
        }
    }

    /// The end of the open block.
    fn end(&mut self, span: Span, raw: &[u8], whole: bool) {
        self.inside(span);
        let block = self
            .block
            .take()
            .expect("the end of a block that is not open");
        assert_eq!(span.start, block.start, "a block ends that began elsewhere");
        assert!(
            raw.is_empty() || raw == self.source(span),
            "a block's raw bytes are not those of its span"
        );
        assert!(
            !self.retained || raw.len() as u64 == span.len(),
            "a retained block without its bytes"
        );
        if whole {
            assert!(
                self.call.is_none() && self.params == 0,
                "a block ends before what is in it"
            );
        } else {
            // The limit on calls can take effect between the calls of one block; nothing else retracts a complete call.
            let taken_back = block.complete.filter(|_| !block.limited);
            assert_eq!(
                taken_back, None,
                "a call was complete and its block is abandoned"
            );
        }
        self.call = None;
        self.params = 0;
    }

    fn close(&mut self, call: u32, state: CallState, form: Arguments, span: Span) {
        self.inside(span);
        let open = self
            .call
            .take()
            .expect("the end of a call that is not open");
        assert_eq!(open.call, call, "another call ends than the open one");
        match form {
            Arguments::Params => {
                assert!(open.arguments.is_empty(), "deltas of a call that has none")
            }
            _ => {
                let object = json::object(&open.arguments);
                let flagged = state.kinds().contains(Kind::DuplicateParam)
                    || state.kinds().contains(Kind::RepeatedParam);
                let native = self.block.is_none();
                assert!(
                    !object.repeats || flagged || native,
                    "a key is repeated without a flag: {}",
                    open.arguments
                );
            }
        }
        match (&mut self.block, state) {
            (Some(block), CallState::Complete) => block.complete = Some(call),
            (None, CallState::Complete) => {}
            _ => {
                assert_eq!(
                    state.kinds().grade(),
                    state.grade(),
                    "the kinds do not give the grade"
                )
            }
        }
    }
}

impl Sink for Watch<'_> {
    fn event(&mut self, event: Event<'_>) {
        self.log.event(event);
        if let Some(owed) = self.owed.take() {
            let (owed, becomes) = owed;
            let paid = match event {
                Event::Text {
                    span,
                    recovered: true,
                    ..
                } => becomes == Abandoned::Text && span == owed,
                Event::Reasoning {
                    span,
                    framing: false,
                    ..
                } => becomes == Abandoned::Reasoning && span == owed,
                _ => false,
            };
            assert!(
                paid,
                "an abandoned block became {}, but this follows: {event:?}",
                becomes.name()
            );
        } else {
            // At the end of a stream, also what was hidden after the last call of a block.
            let back = |start| self.silent || [self.closed, self.region].contains(&Some(start));
            assert!(
                !matches!(event, Event::Text { recovered: true, span, .. } if !back(span.start)),
                "recovered text of no block"
            );
        }
        if let Event::BlockClose { span, .. } = event {
            self.closed = Some(span.end);
        }
        if let Event::Issue(issue) = &event
            && issue.kind == Kind::UnclosedSpan
        {
            self.region = Some(issue.span.start);
        }
        match event {
            Event::Text { data, span, .. } => self.flow(data, span),
            Event::Reasoning { data, span, .. } | Event::Protected { data, span, .. } => {
                self.flow(data, span)
            }
            Event::Raw { data, span, .. } => {
                self.leaf(span);
                assert!(
                    data == self.source(span),
                    "raw bytes that are not those of their span"
                );
            }
            Event::BlockOpen { span, .. } => {
                self.inside(span);
                assert!(self.block.is_none(), "a block inside a block");
                assert_eq!(
                    span.start, self.at,
                    "a block does not begin where the last leaf ended"
                );
                self.block = Some(Block {
                    start: span.start,
                    complete: None,
                    limited: false,
                });
            }
            Event::BlockClose { span, raw, .. } => {
                self.end(span, raw, true);
                self.at = span.end;
            }
            Event::BlockAbandoned {
                span, becomes, raw, ..
            } => {
                self.end(span, raw, false);
                match becomes {
                    Abandoned::Text | Abandoned::Reasoning => self.owed = Some((span, becomes)),
                    _ => self.at = span.end,
                }
            }
            Event::CallNamed { name, span, .. } => {
                self.inside(span);
                assert!(self.block.is_some(), "a name outside a block");
                assert!(!name.is_empty(), "a name of no bytes");
            }
            Event::CallOpen {
                call,
                name,
                origin,
                span,
                ..
            } => {
                self.inside(span);
                assert!(
                    call == self.calls || self.held && call > self.calls,
                    "calls are not numbered one by one"
                );
                assert!(!name.is_empty(), "a call without a name");
                assert!(self.call.is_none(), "a call inside a call");
                assert_eq!(
                    self.block.is_some(),
                    origin == Origin::Text && !self.held,
                    "a call outside its place"
                );
                self.calls = call + 1;
                self.call = Some(Open {
                    call,
                    arguments: String::new(),
                });
            }
            Event::ArgDelta {
                call, json, span, ..
            } => {
                self.inside(span);
                let open = self.call.as_mut().expect("arguments of no open call");
                assert_eq!(open.call, call, "arguments of another call");
                open.arguments.push_str(json);
            }
            Event::CallAbandoned { call, span, .. } => {
                self.inside(span);
                match self.call.take() {
                    Some(open) => assert_eq!(open.call, call, "another call is abandoned"),
                    None => assert!(self.held, "no open call is abandoned"),
                }
                self.params = 0;
            }
            Event::CallClose {
                call,
                state,
                arguments,
                span,
                ..
            } => self.close(call, state, arguments, span),
            Event::ParamOpen { depth, span, .. } => {
                self.inside(span);
                assert!(self.block.is_some(), "a parameter outside a block");
                assert_eq!(depth, self.params, "a parameter opens at another depth");
                self.params += 1;
            }
            Event::ParamDelta { data, span, .. } => {
                self.inside(span);
                assert!(self.params > 0, "a value of no open parameter");
                assert!(
                    data == self.source(span),
                    "a value that is not the bytes of its span"
                );
            }
            Event::ParamClose { span, .. } => {
                self.inside(span);
                assert!(self.params > 0, "the end of a parameter that is not open");
                self.params -= 1;
            }
            Event::Issue(issue) => {
                self.inside(issue.span);
                if let Some(block) = self
                    .block
                    .as_mut()
                    .filter(|_| issue.kind.name().starts_with("limit_"))
                {
                    block.limited = true;
                }
            }
            other => panic!("an event that this check does not know: {other:?}"),
        }
    }
}
