use super::*;
use crate::{Collect, DialectSet, Options, TextMode};
use std::task::Waker;

/// A stream of chunks; each is preceded by a poll that is pending.
struct Chunks {
    left: VecDeque<Result<Bytes, &'static str>>,
    waits: bool,
    /// Polls that returned a chunk.
    given: usize,
}

impl Chunks {
    fn of(left: impl IntoIterator<Item = Result<Bytes, &'static str>>) -> Self {
        Self {
            left: left.into_iter().collect(),
            waits: false,
            given: 0,
        }
    }
}

impl Stream for Chunks {
    type Item = Result<Bytes, &'static str>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.waits = !self.waits;
        if self.waits {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.given += 1;
        Poll::Ready(self.left.pop_front())
    }
}

type Events = EventStream<Chunks, &'static str>;

fn next(events: &mut Events) -> Option<Result<OwnedEvent<Bytes>, &'static str>> {
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(next) = Pin::new(&mut *events).poll_next(&mut context) {
            return next;
        }
    }
}

fn all(events: &mut Events) -> Vec<OwnedEvent<Bytes>> {
    let next = std::iter::from_fn(|| next(events));
    next.map(|event| event.expect("no error")).collect()
}

/// As JSON, which is the same for every representation of bytes.
fn json<D: AsRef<[u8]>>(events: &[OwnedEvent<D>]) -> String {
    serde_json::to_string(events).expect("JSON")
}

const REPLIES: &[(&str, &str)] = &[
    (
        "hermes",
        "好的 <tool_call>\n{\"name\": \"f\", \"arguments\": {\"城\": \"里昂\"}}\n</tool_call> 完",
    ),
    (
        "hermes",
        "a <tool_call> is a tag, <tool_call>{\"name\": \"f\", \"argu",
    ),
    (
        "tam",
        "Hi <tool_call name=\"f\"><param name=\"a\">1 < 2</param></tool_call> <b>x</b> <tool",
    ),
    (
        "action",
        "<ACTION><weather><days>3</days></weather></ACTION>\n```\ncode\n```\n",
    ),
    (
        "reasoning-think",
        "<think>\nOkay, 想一想</think>\n\nSo <b> it is.",
    ),
    (
        "vcp",
        "<<<[TOOL_REQUEST]>>>\ntool_name:「始」f「末」,\na:「始」1「末」\n<<<[END_TOOL_REQUEST]>>>x",
    ),
];

fn parser(dialect: &str, mode: TextMode) -> Parser {
    let set = DialectSet::builtin(dialect).expect("a built-in dialect");
    let options = Options {
        text: mode,
        ..Options::default()
    };
    Parser::new(&set, options)
}

#[test]
fn the_events_are_those_of_the_parser_for_every_chunking() {
    for (dialect, reply) in REPLIES {
        let bytes = Bytes::from_static(reply.as_bytes());
        for mode in [TextMode::Bytes, TextMode::Chars] {
            for at in 0..=bytes.len() {
                for second in [at, bytes.len().min(at + 3)] {
                    let cuts = [0..at, at..second, second..bytes.len()];
                    let chunks = cuts.map(|cut| bytes.slice(cut));
                    let mut sync = parser(dialect, mode);
                    let fed = chunks.iter().flat_map(|chunk| sync.feed_events(chunk));
                    let mut wanted: Vec<OwnedEvent> = fed.collect();
                    wanted.extend(sync.finish_events(Finish::Stop));

                    let chunks = Chunks::of(chunks.map(Ok));
                    let mut events = parser(dialect, mode).event_stream(chunks, Finish::Length);
                    events.finish_as(Finish::Stop);
                    assert!(!events.is_terminated());
                    assert_eq!(json(&all(&mut events)), json(&wanted), "{dialect} {at}");
                    assert!(events.is_terminated() && events.parser().is_finished());
                }
            }
        }
    }
}

#[test]
fn bytes_of_the_chunk_are_not_copied() {
    let (mut shared, mut copied) = (0, 0);
    for (dialect, reply) in REPLIES {
        let head = Bytes::copy_from_slice(&reply.as_bytes()[..reply.len() / 2]);
        let tail = Bytes::copy_from_slice(&reply.as_bytes()[reply.len() / 2..]);
        let chunks = [head.clone(), tail.clone()];
        let mut events =
            parser(dialect, TextMode::Bytes).event_stream(Chunks::of(chunks.map(Ok)), Finish::Stop);
        while let Some(Ok(event)) = next(&mut events) {
            let (OwnedEvent::Text { data, span, .. }
            | OwnedEvent::Reasoning {
                data,
                span,
                framing: false,
            }
            | OwnedEvent::Protected { data, span, .. }) = event
            else {
                continue;
            };
            let middle = head.len() as u64;
            let (from, chunk) = match span.start < middle {
                true => (0, &head),
                false => (middle, &tail),
            };
            let place = (span.start - from) as usize;
            if lies_in(&data, &chunk[place..]) {
                assert_eq!(data.as_ptr(), chunk[place..].as_ptr());
                shared += 1;
            } else {
                // Held back from the first chunk, or delivered at the end.
                assert!(events.parser().position() > span.end || events.parser().is_finished());
                copied += 1;
            }
        }
    }
    assert!(
        shared >= 8 && copied <= 3,
        "{shared} shared, {copied} copied"
    );
}

#[test]
fn the_next_chunk_is_asked_for_when_all_is_taken() {
    let chunks = ["a <b> ", "<tool_call name=\"f\"></tool_call>b", "c"];
    let chunks = Chunks::of(chunks.map(|chunk| Ok(Bytes::from(chunk))));
    let mut events = parser("tool-call-xml", TextMode::Bytes).event_stream(chunks, Finish::Stop);
    let mut given = vec![];
    while let Some(event) = next(&mut events) {
        let waiting = events.waiting.len();
        assert_eq!(Stream::size_hint(&events).0, waiting);
        given.push((events.chunks.given, waiting));
        event.expect("no error");
    }
    // No chunk is polled for while events are queued.
    let early = given
        .windows(2)
        .filter(|pair| pair[0].1 > 0 && pair[0].0 != pair[1].0);
    assert_eq!(early.count(), 0, "{given:?}");
    assert_eq!((given[0].0, events.chunks.given), (1, 4));
}

#[test]
fn an_error_of_the_chunks_comes_last() {
    let chunks = Chunks::of([
        Ok("Hi <tool_call name=\"f\"><param".into()),
        Err("gone"),
        Ok("x".into()),
    ]);
    let mut events = parser("tool-call-xml", TextMode::Bytes).event_stream(chunks, Finish::Stop);
    let mut turn = Collect::new();
    let mut sync = parser("tool-call-xml", TextMode::Bytes);
    sync.feed(b"Hi <tool_call name=\"f\"><param", &mut turn);
    sync.finish(Finish::Error, &mut turn);
    let mut issues = 0;
    let error = loop {
        match next(&mut events) {
            Some(Ok(OwnedEvent::Issue(issue))) => {
                assert_eq!(issue.report, turn.issues()[issues]);
                issues += 1;
            }
            Some(Ok(_)) => {}
            Some(Err(why)) => break why,
            None => panic!("there is an error"),
        }
    };
    assert_eq!((error, issues), ("gone", turn.issues().len()));
    assert!(issues > 0 && events.is_terminated());
    assert!(next(&mut events).is_none());
    assert_eq!(events.chunks.given, 2);
}

#[test]
fn it_may_be_sent_and_moved() {
    fn sent<T: Send + Unpin>(_: &T) {}
    let chunks = Chunks::of([]);
    sent(&parser("tool-call-xml", TextMode::Bytes).event_stream(Box::pin(chunks), Finish::Stop));
}
