//! Sinks that stop the parser: a stop has the effect of a chunk boundary.

use std::ops::ControlFlow;

use toolglot::sink::Until;
use toolglot::{Collect, Event, Finish, Options, OwnedEvent, Parser, Sink};
use toolglot_testkit::vectors::Log;

use crate::support::{CASES, Case, DEFAULTS, nothing, places};

/// Stops always, or after each event that makes it stop.
struct Stops<'l> {
    log: &'l mut Log,
    always: bool,
    now: bool,
}

impl Sink for Stops<'_> {
    fn event(&mut self, event: Event<'_>) {
        self.log.event(event);
        self.now = matches!(
            event,
            Event::CallClose { .. } | Event::BlockClose { .. } | Event::Issue(_)
        );
    }

    fn stopped(&self) -> bool {
        self.always || self.now
    }
}

/// Feeds a chunk, and the rest of it each time the sink has stopped. Returns how often that was.
fn feed(parser: &mut Parser, mut chunk: &[u8], sink: &mut dyn Sink, id: &str) -> usize {
    let mut stops = 0;
    while !chunk.is_empty() {
        let before = parser.position();
        let taken = parser.feed_until(chunk, sink);
        assert!(taken > 0 && taken <= chunk.len(), "{id}: {taken}");
        assert_eq!(parser.position(), before + taken as u64, "{id}");
        chunk = &chunk[taken..];
        stops += usize::from(!chunk.is_empty());
    }
    stops
}

/// The state and the events of a case that is fed in two chunks to a stopping sink.
fn stopped(case: &Case, at: usize, always: bool) -> (Vec<u8>, Log, usize) {
    let (mut parser, mut log, mut stops) = (case.parser(), Log::new(), 0);
    let (head, tail) = case.input.split_at(at);
    let now = false;
    let mut sink = Stops {
        log: &mut log,
        always,
        now,
    };
    for chunk in [head, tail] {
        stops += feed(&mut parser, chunk, &mut sink, case.id);
    }
    let state = parser.snapshot();
    case.end(&mut parser, &mut log);
    (state, log, stops)
}

#[test]
fn a_stop_is_a_chunk_boundary() {
    let mut stops = [0; 2];
    for case in CASES.iter() {
        let mut whole = case.parser();
        whole.feed(case.input, &mut nothing);
        let (state, log) = (whole.snapshot(), case.log());
        for at in places(case.input.len(), 8) {
            for always in [false, true] {
                let (after, told, count) = stopped(case, at, always);
                stops[usize::from(always)] += count;
                assert_eq!(told.difference(&log), None, "{} at {at} {always}", case.id);
                assert!(after == state, "{} at {at} {always}", case.id);
            }
        }
    }
    assert!(stops.iter().all(|count| *count > 1000), "{stops:?}");
}

const CALL: &str = "<tool_call name=\"f\"><param name=\"a\">1</param></tool_call>";

#[test]
fn a_parser_stops_where_a_block_ends() {
    for rest in [" and more", CALL, "好 <tool_call name", "\n"] {
        let mut parser = Parser::new(&DEFAULTS, Options::default());
        let mut closed = Until::new(|event: Event<'_>| match event {
            Event::BlockClose { .. } => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        let text = format!("答: {CALL}{rest}");
        let taken = parser.feed_until(text.as_bytes(), &mut closed);
        assert_eq!(&text[taken..], rest);
        assert!(closed.broken());
        // The host continues with the rest, or with anything else.
        let mut turn = Collect::new();
        let mut left = Collect::new();
        let mut other = parser.clone();
        parser.feed(rest.as_bytes(), &mut turn);
        parser.finish(Finish::Stop, &mut turn);
        other.finish(Finish::Cancelled, &mut left);
        assert_eq!(turn.calls().len(), usize::from(rest == CALL), "{rest}");
        assert!(left.issues().is_empty() && left.text().is_empty());
    }
}

/// A sink that has stopped before it begins.
struct Always(bool);

impl Sink for Always {
    fn event(&mut self, _: Event<'_>) {}

    fn stopped(&self) -> bool {
        self.0
    }
}

#[test]
fn host_input_is_read_whole_by_a_stopped_sink() {
    let mut parser = Parser::new(&DEFAULTS, Options::default());
    let mut turn = Collect::new();
    let mut sink = (turn.lend(), Always(true));
    parser.prefill(format!("{CALL}a").as_bytes(), &mut sink);
    parser.feed_special(format!("{CALL}b{CALL}c").as_bytes(), &mut sink);
    let call = toolglot::NativeCall::new("n", "");
    parser.native_call(&call, &mut sink);
    parser.finish(Finish::Stop, &mut sink);
    // Bytes after the end are ignored.
    assert_eq!(parser.feed_until(b"more", &mut sink), 4);
    assert_eq!((turn.calls().len(), turn.text()), (3, &b"bc"[..]));
}

#[test]
fn both_sinks_of_a_pair_get_every_event() {
    for case in CASES.iter().step_by(7) {
        let (mut left, mut right) = (Log::new(), Log::new());
        let mut boxed: Vec<OwnedEvent> = vec![];
        {
            let third: Box<dyn Sink + '_> = Box::new(|event: Event<'_>| boxed.push(event.into()));
            let mut all = (left.lend(), (right.lend(), third));
            let mut parser = case.parser();
            assert_eq!(parser.feed_until(case.input, &mut all), case.input.len());
            case.end(&mut parser, &mut all);
        }
        assert_eq!(left.difference(&right), None, "{}", case.id);
        assert_eq!(left.difference(&case.log()), None, "{}", case.id);
        assert!(!boxed.is_empty() || case.input.is_empty(), "{}", case.id);
    }
}

#[test]
fn a_closure_that_stopped_is_not_called_again() {
    for case in CASES.iter().step_by(5) {
        let mut count = 0;
        let mut first = Until::new(|_: Event<'_>| {
            count += 1;
            ControlFlow::Break(())
        });
        let mut parser = case.parser();
        parser.feed(case.input, &mut first);
        case.end(&mut parser, &mut first);
        assert!(count <= 1, "{}", case.id);
    }
}
