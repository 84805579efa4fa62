//! Owned events, iterators over them, and the state that a stream reports between two chunks.

use toolglot::{
    Collect, DialectSet, Event, Events, Finish, Options, OwnedEvent, Parser, Prefer, ReasoningMode,
    Stage, TextMode, UnknownTool,
};

use crate::support::{CASES, DEFAULTS, places};

/// The events of a parser for these chunks.
fn told(mut parser: Parser, chunks: &[&[u8]], finish: Finish) -> Vec<OwnedEvent> {
    let mut all = vec![];
    for chunk in chunks {
        parser.feed(chunk, &mut |event: Event<'_>| all.push(event.into()));
    }
    parser.finish(finish, &mut |event: Event<'_>| all.push(event.into()));
    all
}

#[test]
fn an_iterator_gives_what_a_sink_gets() {
    for case in CASES.iter().filter(|case| case.native.is_empty()) {
        for size in [1, 3, case.input.len().max(1)] {
            let chunks: Vec<&[u8]> = case.input.chunks(size).collect();
            let wanted = told(case.parser(), &chunks, case.finish);
            let events = case.parser().events(chunks.iter().copied(), case.finish);
            assert!(events.eq(wanted.iter().cloned()), "{} {size}", case.id);

            let (mut parser, mut queue, mut got) = (case.parser(), Events::default(), vec![]);
            for chunk in &chunks {
                parser.feed(chunk, &mut queue);
                let (low, high) = queue.size_hint();
                let before = got.len();
                got.extend(queue.by_ref());
                assert_eq!((low, high), (got.len() - before, Some(low)), "{}", case.id);
            }
            parser.finish(case.finish, &mut queue);
            got.extend(queue);
            assert_eq!(got, wanted, "{} {size}", case.id);

            let mut parser = case.parser();
            let fed = chunks.iter().flat_map(|chunk| parser.feed_events(chunk));
            let mut got: Vec<OwnedEvent> = fed.collect();
            got.extend(parser.finish_events(case.finish));
            assert_eq!(got, wanted, "{} {size}", case.id);
            assert_eq!(parser.finish_events(case.finish).next(), None);
        }
    }
}

#[test]
fn kept_events_have_the_same_json() {
    let mut tags = std::collections::BTreeSet::new();
    for case in CASES.iter().filter(|case| case.native.is_empty()) {
        let mut both = |event: Event<'_>| {
            let json = serde_json::to_value(event).expect("JSON");
            let kept = serde_json::to_value(OwnedEvent::from(event)).expect("JSON");
            assert_eq!(json, kept, "{}", case.id);
            assert!(json["span"][1].is_u64(), "{json}");
            tags.extend(json["type"].as_str().map(str::to_owned));
        };
        let mut parser = case.parser();
        parser.feed(case.input, &mut both);
        parser.finish(case.finish, &mut both);
    }
    assert_eq!(tags.len(), 16, "{tags:?}");
}

#[test]
fn an_iterator_is_as_early_as_its_chunks() {
    let mut fed = 0;
    let chunks = ["a", "b <tool", "_x c"].into_iter().inspect(|_| fed += 1);
    let mut events = Parser::new(&DEFAULTS, Options::default()).events(chunks, Finish::Stop);
    assert!(matches!(&events.next(), Some(OwnedEvent::Text { data, .. }) if data == b"a"));
    assert_eq!(events.parser().position(), 1);
    assert!(matches!(&events.next(), Some(OwnedEvent::Text { data, .. }) if data == b"b "));
    assert!(events.parser().may_hold_marker());
    assert!(events.by_ref().count() > 0);
    assert!(events.next().is_none() && events.parser().is_finished());
    assert_eq!(fed, 3);
}

#[test]
fn an_owned_issue_keeps_all_members() {
    let text =
        "<tool_call name=\"f\"><param name=\"a\">1</param><param name=\"a\">2</param></tool_call>";
    let parser = Parser::new(&DEFAULTS, Options::default());
    let issues: Vec<OwnedEvent> = parser
        .events([text], Finish::Stop)
        .filter(|event| matches!(event, OwnedEvent::Issue(_)))
        .collect();
    let [OwnedEvent::Issue(issue)] = &issues[..] else {
        panic!("{issues:?}")
    };
    assert_eq!((issue.call, issue.tool.as_str()), (Some(0), "f"));
    assert_eq!(issue.subject, "a");
    assert!(issue.report.message.contains("a") && !issue.report.observation.is_empty());
}

/// Whether an event is a leaf with bytes, and if so whether they are reasoning.
fn leaf(event: &OwnedEvent) -> Option<bool> {
    match event {
        OwnedEvent::Reasoning { data, framing, .. } => (!data.is_empty()).then_some(!framing),
        OwnedEvent::Text { data, .. }
        | OwnedEvent::Protected { data, .. }
        | OwnedEvent::Raw { data, .. } => (!data.is_empty()).then_some(false),
        OwnedEvent::BlockOpen { .. } | OwnedEvent::BlockAbandoned { .. } => Some(false),
        _ => None,
    }
}

/// If nothing is open, the end adds nothing, and the next words are what the stream reports.
#[test]
fn the_state_that_a_stream_reports_is_true() {
    let mut answers = [0; 3];
    for case in CASES
        .iter()
        .filter(|case| case.options.text == TextMode::Bytes)
    {
        for at in places(case.input.len(), 60) {
            let mut parser = case.parser();
            parser.feed(&case.input[..at], &mut |_: Event<'_>| ());
            let at = format!("{} at {at}", case.id);
            if parser.may_hold_marker() {
                answers[0] += 1;
                continue;
            }
            assert_eq!(parser.held(), 0, "{at}");
            let end = told(parser.clone(), &[], Finish::Length);
            assert_eq!(end.iter().find_map(leaf), None, "{at}: {end:?}");
            if case.options.reasoning == ReasoningMode::Text {
                continue;
            }
            let reasoning = parser.in_reasoning();
            answers[1 + usize::from(reasoning)] += 1;
            let next = told(parser, &[b" qz"], Finish::Stop);
            assert_eq!(
                next.iter().find_map(leaf),
                Some(reasoning),
                "{at}: {next:?}"
            );
        }
    }
    assert!(answers.iter().all(|count| *count > 1000), "{answers:?}");
}

/// Before the first byte, what the prompt has opened counts; after the end nothing is open.
#[test]
fn what_the_prompt_has_opened_is_open() {
    let open = |set: &DialectSet, tail: &str| {
        let mut options = Options::default();
        options.set_prompt_tail(tail.as_bytes());
        let mut parser = Parser::new(set, options);
        let said = (parser.in_reasoning(), parser.may_hold_marker());
        parser.feed(b"qz", &mut |_: Event<'_>| ());
        assert_eq!(
            said,
            (parser.in_reasoning(), parser.may_hold_marker()),
            "{tail}"
        );
        parser.finish(Finish::Length, &mut |_: Event<'_>| ());
        assert!(!parser.in_reasoning() && !parser.may_hold_marker());
        said
    };
    let hermes = DialectSet::builder()
        .builtin("hermes")
        .builtin("reasoning-think");
    let hermes = hermes.build().expect("a set");
    let turn = "<|im_start|>assistant\n";
    assert_eq!(open(&hermes, turn), (false, false));
    assert_eq!(open(&hermes, &format!("{turn}<think>\n")), (true, false));
    assert_eq!(
        open(&hermes, &format!("{turn}<think>\n\n</think>\n")),
        (false, false)
    );
    let call = format!("{turn}<tool_call>{{\"name\":\"f\",\"arguments\":{{\"a\":\"");
    assert_eq!(open(&hermes, &call), (false, true));
}

/// A block is open between the event of its opener and that of its end; after a call in it comes its end or the next call.
#[test]
fn a_stream_reports_its_stage() {
    let mut stages = [0; 4];
    for case in CASES.iter() {
        // Held or dropped bytes are in no event.
        let unknown = case.options.unknown_tool.unwrap_or_default();
        let shown = case.options.prefer != Prefer::Native
            && unknown == UnknownTool::Deliver
            && case.dialect != "any";
        for at in places(case.input.len(), 30) {
            let (mut parser, mut open, mut call, mut closed) = (case.parser(), false, false, 0);
            parser.feed(&case.input[..at], &mut |event: Event<'_>| match event {
                Event::BlockOpen { .. } => (open, closed) = (true, 0),
                Event::BlockClose { .. } | Event::BlockAbandoned { .. } => open = false,
                Event::CallOpen { .. } => call = true,
                Event::CallClose { .. } => (call, closed) = (false, closed + 1),
                Event::CallAbandoned { .. } => call = false,
                _ => {}
            });
            let (stage, at) = (parser.stage(), format!("{} at {at}", case.id));
            let place = Stage::ALL.iter().position(|one| *one == stage);
            stages[place.expect("a stage")] += 1;
            let inside = [Stage::TagContent, Stage::TagClosing].contains(&stage);
            assert!(!open || inside, "{at}: {stage}");
            let between = open && closed > 0 && !call;
            assert!(
                !shown || between == (stage == Stage::TagClosing),
                "{at}: {stage}"
            );
            assert!(stage == Stage::Normal || parser.may_hold_marker(), "{at}");
            parser.finish(case.finish, &mut |_: Event<'_>| ());
            assert_eq!(parser.stage(), Stage::Normal, "{at}");
        }
    }
    assert!(stages.iter().all(|count| *count > 1000), "{stages:?}");
}

/// The open call is the one that closes next, with a part of its arguments.
#[test]
fn the_open_call_is_a_part_of_the_call() {
    let mut opens = 0;
    for case in CASES.iter() {
        let (mut parser, mut turn) = (case.parser(), Collect::new());
        let mut last = None;
        for byte in case.input {
            let before = turn.calls().len();
            parser.feed(&[*byte], &mut turn);
            if let (Some(call), Some((index, text))) = (turn.calls().get(before), last.take())
                && call.index == index
                && call.kinds.is_empty()
            {
                let whole: &str = &call.arguments;
                assert!(whole.starts_with(&text), "{}: {text}", case.id);
                opens += 1;
            }
            last = turn.open_call().map(|c| (c.index, c.arguments.clone()));
        }
    }
    assert!(opens > 100, "{opens}");
}

/// Text that may hold no marker holds none, in the middle of a reply.
#[test]
fn text_that_may_hold_no_marker_holds_none() {
    let mut seen = [0; 2];
    for case in CASES.iter().filter(|case| case.native.is_empty()) {
        let options = Options::default();
        for at in places(case.input.len(), 20) {
            for piece in [&case.input[..at], &case.input[at..]] {
                let may = case.set.may_hold_marker(piece);
                seen[usize::from(may)] += 1;
                // Some words end whatever a dialect recognises at the first byte only.
                let mut parser = Parser::new(&case.set, options.clone());
                let before = parser.feed_events("Words, 字.\n".as_bytes());
                if may || parser.in_reasoning() || before.count() != 1 {
                    continue;
                }
                let mut events: Vec<OwnedEvent> = parser.feed_events(piece).collect();
                events.extend(parser.finish_events(Finish::Stop));
                let text = events
                    .iter()
                    .all(|event| matches!(event, OwnedEvent::Text { .. } | OwnedEvent::Issue(_)));
                assert!(text, "{} at {at}: {events:?}", case.id);
            }
        }
    }
    assert!(seen.iter().all(|count| *count > 1000), "{seen:?}");
}
