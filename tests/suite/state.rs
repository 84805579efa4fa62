//! The state of a stream is a function of the bytes so far: it is equal after every 2-way split, which by induction
//! proves it for every chunking. And it can be copied, saved, restored and reset.

use toolglot::{Event, Finish, Options, Parser, SnapshotError, TextMode};
use toolglot_testkit::vectors::Log;

use crate::support::{CASES, Case, DEFAULTS, nothing, places};

fn after(case: &Case, chunks: &[&[u8]]) -> Parser {
    let mut parser = case.parser();
    for chunk in chunks {
        parser.feed(chunk, &mut nothing);
    }
    parser
}

#[test]
fn state_is_equal_after_every_split() {
    for case in CASES.iter() {
        let whole = after(case, &[case.input]).snapshot();
        for at in places(case.input.len(), 400) {
            let (head, tail) = case.input.split_at(at);
            assert!(
                after(case, &[head, tail]).snapshot() == whole,
                "{} cut at {at}",
                case.id
            );
            assert!(
                after(case, &[head, &[], tail, &[]]).snapshot() == whole,
                "{} cut at {at} with empty chunks",
                case.id
            );
        }
    }
}

#[test]
fn a_restored_stream_continues_unchanged() {
    for case in CASES.iter() {
        let whole = case.log();
        for at in places(case.input.len(), 60) {
            let (head, tail) = case.input.split_at(at);
            let mut log = Log::new();
            let mut first = case.parser();
            first.feed(head, &mut log);
            let snapshot = first.snapshot();
            let mut second = Parser::restore(&case.set, case.options.clone(), &snapshot)
                .unwrap_or_else(|why| panic!("{} at {at}: {why}", case.id));
            assert_eq!(second.snapshot(), snapshot, "{} at {at}", case.id);
            // What the first parser reads next does not affect the second.
            first.feed(b"<tool_call name=\"other\">", &mut nothing);
            second.feed(tail, &mut log);
            case.end(&mut second, &mut log);
            assert_eq!(log.difference(&whole), None, "{} at {at}", case.id);
        }
    }
}

#[test]
fn a_clone_and_a_reset_stream_behave_alike() {
    for case in CASES.iter() {
        let whole = case.log();
        let mut parser = case.parser();
        parser.feed(b"<|[REQUEST_TOOL]|> half", &mut nothing);
        parser.feed(case.input, &mut nothing);
        parser.reset();
        assert_eq!((parser.held(), parser.position()), (0, 0));
        assert_eq!(parser.snapshot(), case.parser().snapshot(), "{}", case.id);
        let (head, tail) = case.input.split_at(case.input.len() / 2);
        let mut log = Log::new();
        parser.feed(head, &mut log);
        let mut copy = parser.clone();
        copy.feed(tail, &mut log);
        case.end(&mut copy, &mut log);
        assert_eq!(log.difference(&whole), None, "{}", case.id);
    }
}

#[test]
fn foreign_and_damaged_snapshots_are_rejected() {
    let mut parser = Parser::new(&DEFAULTS, Options::default());
    parser.feed(
        "a <tool_call name=\"f\"><param name=\"k\">v".as_bytes(),
        &mut nothing,
    );
    let good = parser.snapshot();
    let restore =
        |options: Options, bytes: &[u8]| Parser::restore(&DEFAULTS, options, bytes).map(|_| ());
    assert_eq!(restore(Options::default(), &good), Ok(()));

    let mut chars = Options::default();
    chars.text = TextMode::Chars;
    assert_eq!(restore(chars, &good), Err(SnapshotError::OtherSet));
    let other = toolglot::DialectSet::builtin("tam").expect("a built-in dialect");
    assert_eq!(
        Parser::restore(&other, Options::default(), &good).map(|_| ()),
        Err(SnapshotError::OtherSet)
    );
    for len in 0..good.len() {
        assert!(
            restore(Options::default(), &good[..len]).is_err(),
            "truncated to {len} bytes"
        );
    }
    let mut newer = good.clone();
    newer[4] = 99;
    assert_eq!(
        restore(Options::default(), &newer),
        Err(SnapshotError::Version {
            found: 99,
            expected: 6
        })
    );
    for at in 6..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x55;
        assert!(
            restore(Options::default(), &bad).is_err(),
            "byte {at} changed"
        );
    }
}

#[test]
fn a_finished_stream_is_restored_as_finished() {
    let mut parser = Parser::new(&DEFAULTS, Options::default());
    parser.feed(b"a <tool_c", &mut nothing);
    parser.finish(Finish::Stop, &mut nothing);
    let restored = Parser::restore(&DEFAULTS, Options::default(), &parser.snapshot());
    let mut restored = restored.expect("its own snapshot");
    assert!(restored.is_finished());
    assert_eq!(restored.held(), 0);
    restored.feed(b"more", &mut |_: Event<'_>| panic!("it is finished"));
}

#[test]
fn a_snapshot_does_not_grow_with_the_stream() {
    let mut parser = Parser::new(&DEFAULTS, Options::default());
    parser.feed(b"words ", &mut nothing);
    let small = parser.snapshot().len();
    for _ in 0..10_000 {
        parser.feed(b"more words and `code` and <b>tags</b>, ", &mut nothing);
    }
    assert!(
        parser.snapshot().len() <= small + 8,
        "{} bytes",
        parser.snapshot().len()
    );
}

#[test]
fn nothing_comes_after_the_end() {
    let mut parser = Parser::new(&DEFAULTS, Options::default());
    parser.feed(b"a <tool", &mut nothing);
    parser.finish(toolglot::Finish::Stop, &mut nothing);
    let mut events = 0;
    parser.feed(b"more", &mut |_: toolglot::Event<'_>| events += 1);
    parser.finish(toolglot::Finish::Stop, &mut |_: toolglot::Event<'_>| {
        events += 1
    });
    assert_eq!(events, 0);
}
