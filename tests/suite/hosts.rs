//! What hosts can use besides feeding bytes: whole characters, API tool calls, trusted markers, prefilled replies, limits,
//! fences, reasoning, finish reasons.

use std::sync::Arc;

use toolglot::{
    Abandoned, Arguments, CallState, Collect, DialectSet, Event, Fence, Finish, Kind, Options,
    Parser, Prefer, ReasoningMode, Retain, Start, TextMode, Tools, Turn, Unclosed, parse,
};
use toolglot_testkit::vectors;

use crate::native::{native, with_native};
use crate::support::{CASES, Case, DEFAULTS, nothing};

fn options(change: impl FnOnce(&mut Options)) -> Options {
    let mut options = Options::default();
    change(&mut options);
    options
}

fn turn(options: Options, input: &str) -> Turn {
    parse(&DEFAULTS, options, input.as_bytes(), Finish::Stop)
}

fn names(turn: &Turn) -> Vec<&str> {
    turn.calls.iter().map(|call| call.name.as_str()).collect()
}

fn kinds(turn: &Turn) -> Vec<Kind> {
    turn.issues.iter().map(|report| report.kind).collect()
}

const CALL: &str = "<tool_call name=\"f\"><param name=\"k\">v</param></tool_call>";

#[test]
fn text_can_come_in_whole_characters() {
    let input = "中<tool\u{1F30A} \u{301}"
        .bytes()
        .chain(*b"\xff\xe4\xb8 <think>\xf0\x9f</think>\xe4")
        .collect::<Vec<u8>>();
    let lossy = String::from_utf8_lossy(&input).into_owned();
    for size in 1..=input.len() {
        let mut parser = Parser::new(&DEFAULTS, options(|o| o.text = TextMode::Chars));
        let (mut text, mut end) = (String::new(), 0);
        let mut sink = |event: Event<'_>| {
            if let Event::Text { data, span, .. } | Event::Reasoning { data, span, .. } = event {
                text.push_str(std::str::from_utf8(data).expect("whole characters"));
                assert_eq!(span.start, end, "spans go on without a gap");
                end = span.end;
            }
        };
        for chunk in input.chunks(size) {
            parser.feed(chunk, &mut sink);
        }
        parser.finish(Finish::Stop, &mut sink);
        assert_eq!(text, lossy);
        assert_eq!(end, input.len() as u64);
    }
}

#[test]
fn arguments_are_final_json_whatever_the_bytes() {
    for case in CASES.iter() {
        let mut parser = case.parser();
        let (mut open, mut joined, mut kept) = (None, String::new(), vec![]);
        let mut turn = Collect::new();
        let mut sink = |event: Event<'_>| {
            match event {
                Event::CallOpen { call, .. } => {
                    assert_eq!(
                        open.replace(call),
                        None,
                        "{}: calls do not overlap",
                        case.id
                    );
                    joined.clear();
                }
                Event::ArgDelta { call, json, .. } => {
                    assert_eq!(open, Some(call));
                    joined.push_str(json);
                }
                Event::CallClose {
                    call,
                    arguments,
                    state,
                    ..
                } => {
                    assert_eq!(open.take(), Some(call));
                    if arguments == Arguments::Deltas {
                        let value = vectors::value(&joined).expect(case.id);
                        assert!(value.is_object());
                        kept.push(value);
                    } else {
                        kept.push(toolglot::json::json!({}));
                    }
                    assert_eq!(state, CallState::from(state.kinds()));
                }
                Event::BlockOpen { .. } => assert_eq!(open, None),
                Event::BlockAbandoned { .. } | Event::CallAbandoned { .. } => open = None,
                _ => {}
            }
            toolglot::Sink::event(&mut turn, event);
        };
        for byte in case.input {
            parser.feed(&[*byte], &mut sink);
        }
        case.end(&mut parser, &mut sink);
        assert_eq!(open, None, "{}: every call is closed or retracted", case.id);
        for call in turn.turn().calls {
            let value = vectors::value(&call.arguments).expect(case.id);
            assert!(
                kept.contains(&value),
                "{}: {} is what the deltas said",
                case.id,
                call.arguments
            );
        }
    }
}

#[test]
fn markers_may_have_to_be_vouched_for() {
    let pieces = [
        "<|[REQUEST_TOOL]|>",
        "\ncommand:「始」f「末」\n",
        "<|[END_TOOL]|>",
    ];
    let run = |special: &[usize]| {
        let mut parser = Parser::new(&DEFAULTS, options(|o| o.trusted_only = true));
        let mut turn = Collect::new();
        for (n, piece) in pieces.iter().enumerate() {
            match special.contains(&n) {
                true => parser.feed_special(piece.as_bytes(), &mut turn),
                false => {
                    parser.feed(piece.as_bytes(), &mut turn);
                }
            }
        }
        parser.finish(Finish::Stop, &mut turn);
        turn.turn()
    };
    assert_eq!(names(&run(&[0, 2])), ["f"]);
    let quoted = run(&[]);
    assert_eq!((quoted.text, quoted.calls.len()), (pieces.concat(), 0));
    assert!(run(&[0]).calls.is_empty(), "a closer needs it too");
    let mut parser = Parser::new(&DEFAULTS, options(|o| o.trusted_only = true));
    let mut turn = Collect::new();
    parser.feed(b"<|[REQ", &mut turn);
    parser.feed_special(b"UEST_TOOL]|>", &mut turn);
    parser.finish(Finish::Stop, &mut turn);
    assert_eq!(
        turn.turn().text,
        pieces[0],
        "half a trusted marker does not count"
    );
}

#[test]
fn a_reply_may_begin_in_the_prompt() {
    let mut parser = Parser::new(&DEFAULTS, Options::default());
    let mut turn = Collect::new();
    parser.prefill(b"Sure: <tool_call name=\"f\"><param name=\"k\">", &mut turn);
    parser.feed(b"v</param></tool_call> done", &mut turn);
    parser.finish(Finish::Stop, &mut turn);
    let turn = turn.turn();
    assert_eq!(
        (turn.text.as_str(), turn.calls[0].arguments.as_str()),
        (" done", r#"{"k":"v"}"#)
    );

    let start = options(|o| o.start = Start::Reasoning);
    let turn = parse(&DEFAULTS, start, b"plan</think>answer", Finish::Stop);
    assert_eq!(
        (turn.reasoning.as_str(), turn.text.as_str()),
        ("plan", "answer")
    );
}

#[test]
fn what_the_prompt_gave_does_not_come_back_as_text() {
    let set = DialectSet::builtin("hermes").expect("a built-in dialect");
    for (given, reply, text) in [
        (
            "<tool_call>\n{\"name\": \"f\", \"arguments\": ",
            "Sorry, I cannot.",
            "Sorry, I cannot.",
        ),
        ("Sure: <tool_call>\n", "No.", "No."),
        ("<tool_call>\n", "", ""),
        ("<tool_ca", "se>", "se>"),
    ] {
        for size in [1, 2, 64] {
            let mut parser = Parser::new(&set, Options::default());
            let mut turn = Collect::new();
            parser.prefill(given.as_bytes(), &mut turn);
            for chunk in reply.as_bytes().chunks(size) {
                parser.feed(chunk, &mut turn);
            }
            parser.finish(Finish::Stop, &mut turn);
            assert_eq!(turn.turn().text, text, "{given:?} {reply:?} in {size}");
        }
    }
}

#[test]
fn a_character_that_the_prefilled_reply_cuts_comes_whole() {
    let set = DialectSet::builtin("hermes").expect("a built-in dialect");
    let wave = "🌊".as_bytes();
    for (rest, text) in [
        (&b""[..], "🌊"),
        (b"!", "🌊!"),
        (b"<tool_call>", "🌊<tool_call>"),
        (b"\xff", "🌊\u{fffd}"),
    ] {
        for cut in 1..wave.len() {
            for size in [1, 2, 64] {
                let options = options(|o| o.text = TextMode::Chars);
                let mut parser = Parser::new(&set, options);
                let mut turn = Collect::new();
                parser.prefill(b"Sure ", &mut turn);
                parser.prefill(&wave[..cut], &mut turn);
                for chunk in [&wave[cut..], rest].concat().chunks(size) {
                    parser.feed(chunk, &mut turn);
                }
                parser.finish(Finish::Stop, &mut turn);
                assert_eq!(turn.turn().text, text, "{cut} in {size}");
            }
        }
    }
}

#[test]
fn bytes_that_are_no_text_in_a_prefilled_reply_shift_nothing() {
    let options = options(|o| o.text = TextMode::Chars);
    let mut parser = Parser::new(&DialectSet::defaults(), options);
    parser.prefill(b"<|start|>\x80assistant<|message", &mut nothing);
    let mut reply = vec![];
    let mut keep = |event: Event<'_>| match event {
        Event::Text { data, .. } | Event::Protected { data, .. } => reply.extend_from_slice(data),
        _ => {}
    };
    parser.feed(b"|>Hi", &mut keep);
    parser.finish(Finish::Stop, &mut keep);
    assert_eq!(reply, b"|>Hi");
}

#[test]
fn calls_that_the_prompt_has_closed_do_not_run_again() {
    let set = DialectSet::builtin("kimi-k2").expect("a built-in dialect");
    let open = "<|im_assistant|>assistant<|im_middle|><|tool_calls_section_begin|>";
    let first =
        "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{\"a\": 1}<|tool_call_end|>";
    let second =
        "<|tool_call_begin|>functions.g:1<|tool_call_argument_begin|>{\"b\": 2}<|tool_call_end|>";
    let end = "<|tool_calls_section_end|>";
    for cut in 0..=second.len() {
        let (have, rest) = second.split_at(cut);
        let tail = format!("{open}{first}{have}");
        let options = options(|o| o.set_prompt_tail(tail.as_bytes()));
        let turn = parse(
            &set,
            options,
            format!("{rest}{end}").as_bytes(),
            Finish::Stop,
        );
        let names: Vec<_> = turn.calls.iter().map(|call| &*call.name).collect();
        let closed = cut == second.len();
        assert_eq!(names, if closed { vec![] } else { vec!["g"] }, "{have:?}");
    }
}

#[test]
fn calls_in_reasoning_are_calls_only_if_asked() {
    let input = format!("<think>a {CALL} b</think> c");
    let plain = turn(Options::default(), &input);
    assert!(plain.calls.is_empty() && plain.reasoning.contains("<tool_call"));
    let asked = turn(options(|o| o.calls_in_reasoning = true), &input);
    assert_eq!(
        (names(&asked), asked.reasoning.as_str(), asked.text.as_str()),
        (vec!["f"], "a  b", " c")
    );
}

#[test]
fn reasoning_can_be_ignored_or_kept_in_the_text() {
    let input = format!("<think>a {CALL} b</think> c");
    let off = turn(options(|o| o.reasoning = ReasoningMode::Off), &input);
    assert_eq!(
        (names(&off), off.text.as_str(), off.reasoning.as_str()),
        (vec!["f"], "<think>a  b</think> c", "")
    );
    let kept = turn(options(|o| o.reasoning = ReasoningMode::Text), &input);
    assert_eq!(
        (names(&kept), kept.text.as_str(), kept.reasoning.as_str()),
        (vec![], input.as_str(), "")
    );
}

/// What is kept in the text is exactly what would have been separated, in its place, and nothing else changes.
#[test]
fn reasoning_in_the_text_changes_no_call() {
    let mut with = 0;
    let split = |case: &&Case| case.options.reasoning == ReasoningMode::Split;
    for case in CASES.iter().filter(split) {
        let mut split = case.parser();
        let mut text: Vec<u8> = vec![];
        let mut others: Vec<String> = vec![];
        let mut sink = |event: Event<'_>| match event {
            Event::Text { data, .. } => text.extend_from_slice(data),
            Event::Reasoning { data, .. } => {
                with += 1;
                text.extend_from_slice(data);
            }
            // What goes back to a thought is text as well.
            other => {
                others.push(format!("{other:?}").replace("becomes: Reasoning", "becomes: Text"))
            }
        };
        split.feed(case.input, &mut sink);
        case.end(&mut split, &mut sink);
        let mut kept = case.options.clone();
        kept.reasoning = ReasoningMode::Text;
        for size in [1, case.input.len().max(1)] {
            let mut parser = Parser::new(&case.set, kept.clone());
            let mut seen: Vec<u8> = vec![];
            let mut rest: Vec<String> = vec![];
            let mut sink = |event: Event<'_>| match event {
                Event::Text { data, .. } => seen.extend_from_slice(data),
                other => rest.push(format!("{other:?}")),
            };
            for chunk in case.input.chunks(size) {
                parser.feed(chunk, &mut sink);
            }
            case.end(&mut parser, &mut sink);
            assert_eq!(seen, text, "{} in {size}", case.id);
            // Byte by byte, arguments come in more pieces.
            if size > 1 {
                assert_eq!(rest, others, "{}", case.id);
            }
        }
    }
    assert!(with > 100, "{with} pieces of reasoning");
}

#[test]
fn fences_and_unclosed_blocks_follow_the_host() {
    let fenced = format!("```\n{CALL}\n```\n");
    assert_eq!(names(&turn(Options::default(), &fenced)), ["f"]);
    let skip = turn(options(|o| o.fence = Some(Fence::Skip)), &fenced);
    assert_eq!(
        (skip.text.as_str(), kinds(&skip).first()),
        (fenced.as_str(), Some(&Kind::HiddenByCode))
    );
    let open = turn(options(|o| o.fence = Some(Fence::Skip)), "```\nx");
    assert_eq!(kinds(&open), [Kind::UnclosedFence]);

    let cut = &CALL[..40];
    assert_eq!(turn(Options::default(), cut).text, cut);
    assert_eq!(
        turn(options(|o| o.unclosed = Some(Unclosed::Drop)), cut).text,
        ""
    );
    let retained_not = turn(options(|o| o.retain = Retain::None), cut);
    assert_eq!(
        (retained_not.text.as_str(), retained_not.calls.len()),
        ("", 0)
    );
}

#[test]
fn truncation_has_a_reason() {
    for (finish, word) in [
        (Finish::Length, "length limit"),
        (Finish::Error, "broke off"),
        (Finish::Cancelled, "cancelled"),
    ] {
        let turn = parse(
            &DEFAULTS,
            Options::default(),
            &CALL.as_bytes()[..40],
            finish,
        );
        let report = turn
            .issues
            .iter()
            .find(|r| r.kind == Kind::UnclosedBlock)
            .expect("an unclosed block");
        assert!(report.message.contains(word), "{}", report.message);
        assert_eq!(Finish::from_name(finish.name()), Some(finish));
    }
}

#[test]
fn without_retention_key_quote_calls_come_as_parameters() {
    let input = "<|[REQUEST_TOOL]|>\ncommand1:「始」f「末」\nk1:「始」v「末」\ncommand2:「始」g「末」\n<|[END_TOOL]|>";
    let mut parser = Parser::new(&DEFAULTS, options(|o| o.retain = Retain::None));
    let (mut calls, mut params) = (vec![], vec![]);
    let mut sink = |event: Event<'_>| match event {
        Event::CallOpen { name, .. } => calls.push(name.to_owned()),
        Event::CallClose { arguments, .. } => assert_eq!(arguments, Arguments::Params),
        Event::ParamOpen { name, .. } => params.push(name.to_owned()),
        Event::BlockClose { raw, .. } => assert!(raw.is_empty()),
        _ => {}
    };
    for chunk in input.as_bytes().chunks(3) {
        parser.feed(chunk, &mut sink);
    }
    parser.finish(Finish::Stop, &mut sink);
    assert_eq!(
        (calls.join(","), params.join(",")),
        ("f,g".to_owned(), "command1,k1,command2".to_owned())
    );
}

#[test]
fn issues_past_the_limit_are_counted() {
    let mut few = Options::default();
    few.limits.max_issues = 3;
    let turn = turn(few, &"</tool_call> ".repeat(10));
    assert_eq!(turn.issues.len(), 4);
    let last = turn.issues.last().expect("a last report");
    assert!(
        last.kind == Kind::LimitIssues && last.message.contains("7 more"),
        "{}",
        last.message
    );
}

#[test]
fn an_abandoned_block_is_followed_by_its_text() {
    let mut parser = Parser::new(&DEFAULTS, Options::default());
    let mut seen = vec![];
    let mut sink = |event: Event<'_>| match event {
        Event::BlockAbandoned {
            span, becomes, raw, ..
        } => seen.push((span, becomes == Abandoned::Text, raw.to_vec())),
        Event::Text {
            data,
            span,
            recovered: true,
            ..
        } => seen.push((span, true, data.to_vec())),
        _ => {}
    };
    parser.feed(&CALL.as_bytes()[..40], &mut sink);
    parser.finish(Finish::Stop, &mut sink);
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0], seen[1]);
}

#[test]
fn observations_are_worded_as_the_dialect_does() {
    let tools = r#"[{"name": "GetPlayerInfo", "parameters": {"properties": {"player_id": {"type": "string"}}}}]"#;
    let tools = Arc::new(Tools::from_json(tools).expect("tools"));
    let input = "<ACTION><GetPlayerInfo><playerId>p</playerId></GetPlayerInfo></ACTION>";
    let set = DialectSet::builtin("action").expect("a built-in dialect");
    let turn = parse(
        &set,
        options(|o| o.tools = Some(tools.clone())),
        input.as_bytes(),
        Finish::Stop,
    );
    let want = "Observation: Error - Invalid parameters for GetPlayerInfo: Unknown parameter 'playerId', did you mean 'player_id'?";
    assert_eq!(turn.issues[0].observation, want);
    let input = "<ACTION><Nothing/></ACTION>";
    let turn = parse(
        &set,
        options(|o| o.tools = Some(tools)),
        input.as_bytes(),
        Finish::Stop,
    );
    assert_eq!(
        turn.issues[0].observation,
        "Observation: Error - Unknown tool ID 'Nothing'"
    );
}

#[test]
fn every_kind_has_a_code_a_name_and_a_severity() {
    let codes: Vec<u16> = Kind::ALL.iter().map(|kind| kind.code()).collect();
    let expected: Vec<u16> = (1..=codes.len() as u16).collect();
    assert_eq!(codes, expected, "codes are appended, never moved");
    for kind in Kind::ALL {
        assert_eq!(Kind::from_name(kind.name()), Some(*kind));
    }
    let pinned = [
        (1, "unclosed_block"),
        (17, "duplicate_param"),
        (33, "unknown_tool"),
        (47, "unclosed_span"),
    ];
    for (code, name) in pinned {
        assert_eq!(Kind::from_name(name).map(Kind::code), Some(code));
    }
}

#[test]
fn a_stream_may_move_between_threads_and_a_set_may_be_shared() {
    fn send<T: Send>() {}
    fn share<T: Send + Sync>() {}
    send::<Parser>();
    share::<DialectSet>();
    share::<Tools>();
    let mut parser = Parser::new(&DEFAULTS, Options::default());
    parser.feed(b"a <tool_call na", &mut nothing);
    let parser = std::thread::spawn(move || {
        parser.feed(b"me='f'/>", &mut nothing);
        parser
    });
    assert_eq!(parser.join().expect("a thread").held(), 0);
}

#[test]
fn nothing_recurses_on_input() {
    let schema =
        r#"[{"name": "f", "parameters": {"properties": {"k": {"type": ["array", "object"]}}}}]"#;
    let tools = Arc::new(Tools::from_json(schema).expect("tools"));
    let deep = 100_000;
    let inputs = [
        format!(
            "<ACTION><f>{}{}</f></ACTION>",
            "<a>".repeat(deep),
            "</a>".repeat(deep)
        ),
        format!(
            "<tool_call name=\"f\"><param name=\"k\">{}{}</param></tool_call>",
            "[".repeat(deep),
            "]".repeat(deep)
        ),
        format!(
            "<tool_call name=\"f\"><param name=\"k\">{}</param></tool_call>",
            "{\"a\":".repeat(deep)
        ),
        "<tool_call name=\"f\">".repeat(deep),
        "<think>".repeat(deep),
        "<|[REQUEST_TOOL]|>command:「始」<|[END_TOOL]|>".repeat(deep / 10),
    ];
    let parse_all = move || {
        for input in &inputs {
            let mut wide = options(|o| o.tools = Some(tools.clone()));
            wide.limits.max_depth = 100;
            let turn = turn(wide, input);
            assert!(turn.calls.len() <= 4096);
        }
        let native = native(
            "f",
            &format!("{{\"k\": {}{}}}", "[".repeat(deep), "]".repeat(deep)),
        );
        assert_eq!(
            kinds(&with_native(Prefer::Both, false, "", &[native])),
            [Kind::MalformedJson]
        );
    };
    let small = std::thread::Builder::new().stack_size(128 << 10);
    small
        .spawn(parse_all)
        .expect("a thread")
        .join()
        .expect("no overflow on a small stack");
}

#[test]
fn a_marker_inside_a_block_must_be_vouched_for_too() {
    let mut parser = Parser::new(&DEFAULTS, options(|o| o.trusted_only = true));
    let mut turn = Collect::new();
    parser.feed_special(b"<tool_call", &mut turn);
    parser.feed(
        b" name=\"t\"><param name=\"a\">1</param><tool_call name=\"u\"/>z",
        &mut turn,
    );
    parser.finish(Finish::Stop, &mut turn);
    let turn = turn.turn();
    assert_eq!(names(&turn), ["t"]);
    assert_eq!(turn.text, "<tool_call name=\"u\"/>z");
}

#[test]
fn bytes_held_after_a_nameless_tag_are_bounded() {
    let bound = DEFAULTS.bound(&Options::default().limits);
    let mut parser = Parser::new(&DEFAULTS, Options::default());
    let tag = format!("<tool_call x=\"{}\">{}", "a".repeat(4078), " ".repeat(256));
    parser.feed(tag.as_bytes(), &mut nothing);
    assert!(
        parser.held() > 4000 && parser.held() <= bound,
        "{} of {bound}",
        parser.held()
    );
}

#[test]
fn an_issue_names_the_call_that_is_open() {
    let block =
        "<|[REQUEST_TOOL]|>command:「始」x「末」a:「始」1「末」a:「始」2「末」<|[END_TOOL]|>";
    let mut parser = Parser::new(&DEFAULTS, Options::default());
    let mut calls = vec![];
    let mut sink = |event: Event<'_>| {
        if let Event::Issue(issue) = event {
            calls.push((issue.kind, issue.call));
        }
    };
    parser.feed(block.repeat(2).as_bytes(), &mut sink);
    assert_eq!(
        calls,
        [
            (Kind::DuplicateParam, Some(0)),
            (Kind::DuplicateParam, Some(1))
        ]
    );
}

#[test]
fn the_count_of_issues_is_reported_even_if_no_issue_is() {
    let mut none = Options::default();
    none.limits.max_issues = 0;
    assert_eq!(kinds(&turn(none, "</tool_call>")), [Kind::LimitIssues]);
}

#[test]
fn a_call_that_was_not_retained_is_never_complete() {
    let input = "<|[REQUEST_TOOL]|>command:「始」f「末」k:「始」v「末」<|[END_TOOL]|>";
    let turn = turn(options(|o| o.retain = Retain::None), input);
    assert_eq!(
        (names(&turn), turn.calls[0].grade.name()),
        (vec!["f"], "recovered")
    );
}
