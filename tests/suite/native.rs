//! API tool calls beside the text: which calls count, and that no call is delivered twice or lost.

use toolglot::sink::openai::{Delta, Deltas, Settings};
use toolglot::{
    Collect, DialectSet, Event, Finish, Grade, Kind, NativeCall, Options, Origin, Parser, Prefer,
    Sink, Turn,
};
use toolglot_testkit::vectors::Log;

use crate::support::{CASES, Case, DEFAULTS, places};

const CALL: &str = "<tool_call name=\"f\"><param name=\"k\">v</param></tool_call>";

fn options(change: impl FnOnce(&mut Options)) -> Options {
    let mut options = Options::default();
    change(&mut options);
    options
}

fn names(turn: &Turn) -> Vec<&str> {
    turn.calls.iter().map(|call| call.name.as_str()).collect()
}

fn kinds(turn: &Turn) -> Vec<Kind> {
    turn.issues.iter().map(|report| report.kind).collect()
}

pub fn native(name: &str, arguments: &str) -> NativeCall {
    NativeCall::new(name, arguments).id("c1".to_owned())
}

pub fn with_native(prefer: Prefer, early: bool, input: &str, calls: &[NativeCall]) -> Turn {
    let mut parser = Parser::new(&DEFAULTS, options(|o| o.prefer = prefer));
    let mut turn = Collect::new();
    if early {
        calls
            .iter()
            .for_each(|call| parser.native_call(call, &mut turn));
    }
    parser.feed(input.as_bytes(), &mut turn);
    if !early {
        calls
            .iter()
            .for_each(|call| parser.native_call(call, &mut turn));
    }
    parser.finish(Finish::ToolCalls, &mut turn);
    turn.turn()
}

/// Items 24 and 108 of the checklist: calls in the text count first and API tool calls otherwise, or those that the host prefers, or
/// both; no call is delivered twice.
#[test]
fn api_tool_calls_are_merged_as_the_host_prefers() {
    let same = native("f", "{ \"k\" : \"v\" }");
    let other = native("g", "");
    for early in [false, true] {
        let text = with_native(Prefer::Text, early, CALL, std::slice::from_ref(&other));
        assert_eq!(names(&text), ["f"]);
        let text = with_native(Prefer::Text, early, "no call", std::slice::from_ref(&other));
        assert_eq!(
            (names(&text), text.calls[0].origin),
            (vec!["g"], Origin::Native)
        );
        assert_eq!(text.calls[0].arguments, "{}");
        assert_eq!(text.calls[0].meta, [("id".to_owned(), "c1".to_owned())]);
        let both = with_native(Prefer::Both, early, CALL, &[same.clone(), other.clone()]);
        assert_eq!(names(&both), ["f", "g"]);
    }
    let first = with_native(Prefer::Native, true, CALL, std::slice::from_ref(&other));
    assert_eq!((names(&first), first.text.as_str()), (vec!["g"], CALL));
    // API tool calls that are left out are reported; those that repeat a delivered call are not left out.
    let text = with_native(Prefer::Text, false, CALL, &[same.clone(), other.clone()]);
    assert_eq!(kinds(&text), [Kind::ReplacedCall]);
    let dropped = &text.not_delivered.dropped;
    assert_eq!(dropped.len(), 1);
    assert!(
        dropped
            .iter()
            .all(|one| one.span.is_empty() && one.kinds.contains(Kind::ReplacedCall))
    );
    let both = with_native(Prefer::Both, false, CALL, &[same, other.clone()]);
    assert!(both.issues.is_empty() && both.not_delivered.is_empty());
    // An abandoned block is not a call: the API tool call counts.
    let cut = with_native(Prefer::Text, false, &CALL[..40], &[other]);
    assert_eq!(names(&cut), ["g"]);
}

#[test]
fn bad_api_tool_calls_are_reported() {
    let turn = with_native(
        Prefer::Text,
        false,
        "",
        &[native("f", "[1]"), native("", "{}"), native("g", "{")],
    );
    assert_eq!(
        kinds(&turn),
        [Kind::MalformedJson, Kind::MissingName, Kind::MalformedJson]
    );
    let mut small = options(|o| o.prefer = Prefer::Both);
    small.limits.max_native = 8;
    let mut parser = Parser::new(&DEFAULTS, small);
    let mut turn = Collect::new();
    parser.native_call(&native("f", "{\"long\": \"long\"}"), &mut turn);
    parser.finish(Finish::Stop, &mut turn);
    assert_eq!(kinds(&turn.turn()), [Kind::LimitNative]);
}

#[test]
fn arguments_too_long_to_remember_equal_none() {
    let long = format!(
        "<tool_call name=\"u\"><param name=\"k\">{}</param></tool_call>",
        "v".repeat(64)
    );
    let mut small = options(|o| o.prefer = Prefer::Both);
    small.limits.max_native = 60;
    let mut parser = Parser::new(&DEFAULTS, small);
    let mut turn = Collect::new();
    parser.feed(long.as_bytes(), &mut turn);
    parser.feed(CALL.as_bytes(), &mut turn);
    parser.native_call(&native("f", "{}"), &mut turn);
    parser.finish(Finish::Stop, &mut turn);
    assert_eq!(names(&turn.turn()), ["u", "f", "f"]);
}

/// Input of a stream: text, or an API tool call.
enum Piece<'a> {
    Text(&'a str),
    Native(NativeCall),
}

fn stream(options: Options, pieces: &[Piece<'_>], size: usize, sink: &mut dyn Sink) {
    let mut parser = Parser::new(&DEFAULTS, options);
    for piece in pieces {
        match piece {
            Piece::Text(text) => {
                for chunk in text.as_bytes().chunks(size) {
                    parser.feed(chunk, sink);
                }
            }
            Piece::Native(call) => parser.native_call(call, sink),
        }
    }
    parser.finish(Finish::ToolCalls, sink);
}

fn preferred(pieces: &[Piece<'_>]) -> Turn {
    let options = || options(|o| o.prefer = Prefer::Native);
    let mut whole = Collect::new();
    stream(options(), pieces, usize::MAX, &mut whole);
    let whole = whole.turn();
    for size in [1, 2, 7] {
        let mut turn = Collect::new();
        stream(options(), pieces, size, &mut turn);
        assert_eq!(turn.turn(), whole);
    }
    whole
}

/// Item 108 of the checklist: calls of both kinds exclude each other in a reply.
#[test]
fn calls_of_the_text_yield_to_api_tool_calls() {
    let zh = "看 <ACTION><查><词>雨</词></查></ACTION> 后";
    let text = [
        Piece::Text("a "),
        Piece::Text(CALL),
        Piece::Text(" b "),
        Piece::Text(zh),
    ];
    let turn = preferred(&text);
    assert_eq!(names(&turn), ["f", "查"]);
    assert!(turn.issues.is_empty() && turn.not_delivered.is_empty());

    let mut pieces = Vec::from(text);
    pieces.push(Piece::Native(native("f", "{\"k\":\"v\"}")));
    pieces.push(Piece::Native(native("f", "{\"k\":\"w\"}")));
    pieces.push(Piece::Text(CALL));
    let turn = preferred(&pieces);
    assert_eq!(names(&turn), ["f", "f"]);
    assert!(turn.calls.iter().all(|call| call.origin == Origin::Native));
    assert_eq!(turn.text, format!("a  b 看  后{CALL}"));
    assert_eq!(kinds(&turn)[..2], [Kind::ReplacedCall, Kind::ReplacedCall]);
    assert_eq!(turn.issues[0].dialect, "tool-call-xml");
    let first = 2 + CALL.len();
    let dropped = &turn.not_delivered.dropped;
    assert_eq!(dropped.len(), 2);
    assert_eq!(
        (dropped[0].span.start, dropped[0].span.end),
        (2, first as u64)
    );
    assert!(dropped[1].kinds.contains(Kind::ReplacedCall));
}

#[test]
fn an_api_tool_call_inside_a_block_waits_for_its_end_and_replaces_it() {
    let (head, tail) = CALL.split_at(40);
    let turn = preferred(&[
        Piece::Text(head),
        Piece::Native(native("g", "")),
        Piece::Text(tail),
        Piece::Text(" 后"),
    ]);
    assert_eq!((names(&turn), turn.text.as_str()), (vec!["g"], " 后"));
    assert_eq!(kinds(&turn), [Kind::ReplacedCall]);
    // A block that turns out not to be one leaves its text.
    let turn = preferred(&[
        Piece::Text("<tool_call name=\"f\"><param name=\"k\">v"),
        Piece::Native(native("g", "")),
    ]);
    assert_eq!(names(&turn), ["g"]);
    assert_eq!(kinds(&turn), [Kind::UnclosedValue, Kind::UnclosedBlock]);
}

#[test]
fn invalid_api_tool_calls_replace_nothing() {
    for none in [native("g", "[1]"), native("", "{}"), native("g", "{")] {
        let pieces = [Piece::Text(CALL), Piece::Native(none), Piece::Text(CALL)];
        let turn = preferred(&pieces);
        assert_eq!(names(&turn), ["f", "f"]);
        assert_eq!(turn.issues.len(), 1);
    }
}

#[test]
fn what_is_held_is_bounded() {
    let long = CALL.replace(">v<", &format!(">{}<", "长".repeat(40)));
    let small = options(|o| {
        o.prefer = Prefer::Native;
        o.limits.max_native = 100;
    });
    let pieces = [Piece::Text(CALL), Piece::Text(&long), Piece::Text(CALL)];
    for size in [1, 5, 1000] {
        let mut turn = Collect::new();
        stream(small.clone(), &pieces, size, &mut turn);
        let turn = turn.turn();
        assert_eq!(names(&turn), ["f", "f"]);
        assert_eq!(kinds(&turn), [Kind::LimitNative]);
        let dropped = &turn.not_delivered.dropped;
        assert_eq!(
            (dropped.len(), dropped[0].span.len()),
            (1, long.len() as u64)
        );
    }
}

#[test]
fn losses_beside_a_late_call_are_listed() {
    let set = DialectSet::builtin("kimi-k2").expect("a dialect");
    let call = |id: &str, arguments: &str| {
        format!("<|tool_call_begin|>{id}<|tool_call_argument_begin|>{arguments}<|tool_call_end|>")
    };
    let (good, bad) = (
        call("functions.f:0", "{\"a\":1}"),
        call("functions.g:1", "{\"a\":x}"),
    );
    let input = format!("<|tool_calls_section_begin|>{good}{bad}<|tool_calls_section_end|>");
    let run = |prefer| {
        let options = options(|o| o.prefer = prefer);
        toolglot::parse(&set, options, input.as_bytes(), Finish::Stop)
    };
    let (text, native) = (run(Prefer::Text), run(Prefer::Native));
    assert!(!text.not_delivered.dropped.is_empty());
    assert_eq!(text.calls, native.calls);
    assert_eq!(text.not_delivered, native.not_delivered);
}

fn prefers(case: &Case) -> Parser {
    let mut options = case.options.clone();
    options.prefer = Prefer::Native;
    Parser::new(&case.set, options)
}

#[test]
fn without_an_api_tool_call_every_call_of_the_text_is_delivered() {
    for case in CASES.iter() {
        let run = |prefer| {
            let mut options = case.options.clone();
            options.prefer = prefer;
            options.limits.max_native = 1 << 20;
            toolglot::parse(&case.set, options, case.input, case.finish)
        };
        assert_eq!(run(Prefer::Native), run(Prefer::Text), "{}", case.id);
    }
}

#[test]
fn held_bytes_do_not_depend_on_the_chunking() {
    for case in CASES.iter() {
        let run = |cuts: &[usize], gives: bool| {
            let (mut parser, mut log, mut from) = (prefers(case), Log::new(), 0);
            for to in cuts.iter().copied().chain([case.input.len()]) {
                parser.feed(&case.input[from..to], &mut log);
                from = to;
            }
            if gives {
                parser.native_call(&native("beside", "{}"), &mut log);
            }
            parser.finish(case.finish, &mut log);
            log
        };
        for gives in [false, true] {
            let whole = run(&[], gives);
            for at in places(case.input.len(), 30) {
                let cut = run(&[at], gives);
                assert_eq!(cut.difference(&whole), None, "{} cut at {at}", case.id);
            }
        }
    }
}

#[test]
fn an_api_tool_call_replaces_those_of_the_text_wherever_it_is_given() {
    for case in CASES.iter() {
        for at in places(case.input.len(), 20) {
            let (mut parser, mut native_calls, mut text_calls) = (prefers(case), 0, 0);
            let mut sink = |event: Event<'_>| match event {
                Event::CallOpen {
                    origin: Origin::Native,
                    ..
                } => native_calls += 1,
                Event::CallOpen { .. } => text_calls += 1,
                _ => {}
            };
            parser.feed(&case.input[..at], &mut sink);
            parser.native_call(&native("beside", "{}"), &mut sink);
            parser.feed(&case.input[at..], &mut sink);
            parser.finish(case.finish, &mut sink);
            let offered = case.options.unknown_tool.is_none() || case.options.tools.is_none();
            if offered && case.options.limits.max_calls > 8 && case.options.limits.max_native > 99 {
                assert_eq!((native_calls, text_calls), (1, 0), "{} at {at}", case.id);
            }
        }
    }
}

#[test]
fn a_stream_that_holds_calls_can_be_moved() {
    let mut parser = Parser::new(&DEFAULTS, options(|o| o.prefer = Prefer::Native));
    let mut turn = Collect::new();
    parser.feed(CALL.as_bytes(), &mut turn);
    parser.feed(&CALL.as_bytes()[..30], &mut turn);
    let snapshot = parser.snapshot();
    let options = options(|o| o.prefer = Prefer::Native);
    let mut parser = Parser::restore(&DEFAULTS, options, &snapshot).expect("its own snapshot");
    parser.feed(&CALL.as_bytes()[30..], &mut turn);
    parser.finish(Finish::Stop, &mut turn);
    assert_eq!(names(&turn.turn()), ["f", "f"]);
    parser.reset();
    parser.finish(Finish::Stop, &mut |event: Event<'_>| panic!("{event:?}"));
}

#[test]
fn a_response_in_openais_form_has_each_call_once() {
    let run = |gives: bool| {
        let mut said = vec![];
        let mut deltas = Deltas::new(Settings::default(), |delta: Delta<'_>| match delta {
            Delta::Call { name, .. } => said.push(name.to_owned()),
            Delta::Finish { left, .. } => said.push(format!("{} left", left.dropped.len())),
            _ => {}
        });
        let mut parser = Parser::new(&DEFAULTS, options(|o| o.prefer = Prefer::Native));
        parser.feed(CALL.as_bytes(), &mut deltas);
        if gives {
            parser.native_call(&native("f", "{\"k\":\"v\"}"), &mut deltas);
        }
        parser.finish(Finish::ToolCalls, &mut deltas);
        deltas.finish(Finish::ToolCalls);
        drop(deltas);
        said
    };
    assert_eq!(run(false), ["f", "0 left"]);
    assert_eq!(run(true), ["f", "1 left"]);
}

#[test]
fn a_valid_api_tool_call_is_never_lost_to_a_withheld_one() {
    // The stream ends inside its second parameter, so the first call is recovered.
    let cut = "<tool_call name=\"f\"><param name=\"k\">v</param><param name=\"m\">w";
    for prefer in [Prefer::Text, Prefer::Both, Prefer::Native] {
        let mut parser = Parser::new(
            &DEFAULTS,
            options(|o| {
                o.prefer = prefer;
                o.unclosed = Some(toolglot::Unclosed::Salvage);
            }),
        );
        let mut turn = Collect::new();
        parser.feed(CALL.replace('f', "h").as_bytes(), &mut turn);
        parser.feed(cut.as_bytes(), &mut turn);
        parser.native_call(&native("f", "{\"k\":\"v\"}"), &mut turn);
        parser.native_call(&native("h", "{\"k\":\"v\"}"), &mut turn);
        parser.finish(Finish::Stop, &mut turn);
        let turn = turn.turn();
        let good: Vec<&str> = turn
            .calls
            .iter()
            .filter(|call| call.grade != toolglot::Grade::Recovered)
            .map(|call| call.name.as_str())
            .collect();
        let mut sorted = good.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, ["f", "h"], "{prefer:?}: {good:?}");
    }
}

/// Undelivered and replaced calls of the text do not count against the limit for API tool calls.
#[test]
fn yielding_calls_do_not_count_against_limits() {
    let withheld = r#"<tool_call>{"name": "f", "arguments": {"a": 1, "a": 2}}</tool_call>"#;
    let run = |text: &str, prefer: Prefer, early: bool| {
        let options = options(|o| {
            o.prefer = prefer;
            o.limits.max_calls = 10;
        });
        let mut parser = Parser::new(&DEFAULTS, options);
        let mut turn = Collect::new();
        let give = |parser: &mut Parser, turn: &mut Collect| {
            for n in 0..12 {
                parser.native_call(&native(&format!("n{n}"), "{}"), turn);
            }
        };
        if early {
            give(&mut parser, &mut turn);
        }
        for _ in 0..8 {
            parser.feed(text.as_bytes(), &mut turn);
        }
        if !early {
            give(&mut parser, &mut turn);
        }
        parser.finish(Finish::ToolCalls, &mut turn);
        let turn = turn.turn();
        let natives = turn
            .calls
            .iter()
            .filter(|call| call.origin == Origin::Native);
        let natives = natives.count();
        let refused = kinds(&turn)
            .iter()
            .filter(|kind| **kind == Kind::LimitCalls)
            .count();
        (turn.calls.len() - natives, natives, refused)
    };
    for early in [false, true] {
        assert_eq!(run(CALL, Prefer::Native, early), (0, 10, 2));
        assert_eq!(run(withheld, Prefer::Native, early), (0, 10, 2));
        assert_eq!(run(withheld, Prefer::Text, early), (8, 10, 2));
        assert_eq!(run(withheld, Prefer::Both, early), (8, 10, 2));
        assert_eq!(run(CALL, Prefer::Text, early), (8, 0, 0));
        assert_eq!(run(CALL, Prefer::Both, early), (8, 2, 10));
    }
}

/// An undelivered API tool call replaces nothing: neither a call of the text nor a valid API tool call.
#[test]
fn an_invalid_api_tool_call_replaces_nothing() {
    for bad in ["{bad", "[1]", "{\"k\":1,\"k\":2}"] {
        for early in [false, true] {
            let turn = with_native(Prefer::Native, early, CALL, &[native("f", bad)]);
            let good = turn
                .calls
                .iter()
                .filter(|call| call.grade == Grade::Complete);
            let good: Vec<Origin> = good.map(|call| call.origin).collect();
            assert_eq!(good, [Origin::Text], "{bad}");
        }
        let lost = r#"<tool_call>{"name": "f", "arguments": {"a": 1, "a": 2}}</tool_call>"#;
        let text = format!(
            "{lost}{}",
            r#"<tool_call>{"name": "g", "arguments": {}}</tool_call>"#
        );
        let both = [native("f", bad), native("f", "{\"a\":2}")];
        let turn = with_native(Prefer::Text, false, &text, &both);
        let good = turn
            .calls
            .iter()
            .filter(|call| call.grade == Grade::Complete);
        let good: Vec<&str> = good.map(|call| call.name.as_str()).collect();
        assert_eq!(good, ["g", "f"], "{bad}");
    }
}
