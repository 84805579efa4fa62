use toolglot::json::{Value, json};

use crate::{CALL, CUT, directory, file, repository, run};

fn turn(args: &[&str], input: &[u8]) -> Value {
    let ran = run(&[&["parse", "--output", "turn"], args].concat(), input);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args:?}");
    ran.json().remove(0)
}

#[test]
fn a_turn_is_one_object() {
    let turn = turn(&[], CALL.as_bytes());
    let call = json!({
        "name": "weather", "arguments": {"city": "Leith"}, "state": "complete", "index": 0, "dialect": "tool-call-xml",
        "origin": "text", "span": [9, CALL.len() - " Done.".len()]
    });
    assert_eq!(
        turn,
        json!({"text": "Looking.  Done.", "reasoning": "", "calls": [call], "errors": []})
    );
}

#[test]
fn an_issue_says_what_where_and_what_to_do() {
    let turn = turn(&[], CUT.as_bytes());
    assert_eq!(turn["text"], CUT);
    assert_eq!(turn["calls"], json!([]));
    let errors = turn["errors"].as_array().expect("a list");
    let error = errors
        .iter()
        .find(|error| error["kind"] == "unclosed_block")
        .expect("the kind");
    assert_eq!(
        (&error["code"], &error["severity"]),
        (&json!(1), &json!("error"))
    );
    assert_eq!(error["span"], json!([9, CUT.len()]));
    assert!(error["message"].is_string() && error["observation"].is_string());
}

#[test]
fn numbers_keep_their_spelling() {
    let tools = file(
        "t.json",
        r#"[{"name": "f", "parameters": {"type": "object", "properties": {"n": {"type": "number"}}}}]"#,
    );
    let input = b"<tool_call name=\"f\"><param name=\"n\">123456789012345678901234567890.10</param></tool_call>";
    let ran = run(&["parse", "--output", "turn", "--tools", &tools], input);
    assert!(
        ran.out
            .contains(r#""arguments":{"n":123456789012345678901234567890.10}"#),
        "{}",
        ran.out
    );
}

#[test]
fn events_are_one_object_a_line() {
    let ran = run(&["parse", "--output", "events"], CALL.as_bytes());
    assert_eq!(ran.code, 0);
    let events = ran.json();
    let kinds: Vec<&str> = events
        .iter()
        .filter_map(|event| event["type"].as_str())
        .collect();
    assert_eq!(
        (kinds.first(), kinds.last()),
        (Some(&"text"), Some(&"text"))
    );
    for kind in [
        "block_open",
        "call_named",
        "call_open",
        "param_open",
        "param_delta",
        "param_close",
        "arg_delta",
        "call_close",
        "block_close",
    ] {
        assert!(kinds.contains(&kind), "{kind}");
    }
    assert!(
        events
            .iter()
            .all(|event| event["span"].as_array().is_some_and(|span| span.len() == 2))
    );
    let joined: String = events
        .iter()
        .filter_map(|event| event["json"].as_str())
        .collect();
    assert_eq!(joined, r#"{"city":"Leith"}"#);
}

#[test]
fn pretty_is_the_default_and_plain_without_a_terminal() {
    let ran = run(&["parse"], CALL.as_bytes());
    assert_eq!(ran.code, 0);
    for word in [
        "Looking.",
        "┌ weather  tool-call-xml",
        "city: Leith",
        "1 call, 0 errors",
    ] {
        assert_eq!(ran.out.matches(word).count(), 1, "{word}: {}", ran.out);
    }
    assert!(!ran.out.contains('\u{1b}'));
    let coloured = run(&["parse", "--color", "always"], CALL.as_bytes());
    assert!(coloured.out.contains("\u{1b}["));
    assert!(
        !run(&["parse", "--color", "never"], CALL.as_bytes())
            .out
            .contains('\u{1b}')
    );
}

#[test]
fn a_model_cannot_drive_the_terminal() {
    let ran = run(
        &["parse", "--color", "always"],
        b"a\x1b[2Jb\x07\xc2\x9bc\xff",
    );
    assert!(
        ran.out.contains("a\u{241b}[2Jb\u{2407}\u{fffd}c\u{fffd}"),
        "{:?}",
        ran.out
    );
}

#[test]
fn the_turn_does_not_depend_on_the_chunks() {
    let path = repository("examples/mixed.txt");
    let tools = repository("examples/tools.json");
    let whole = turn(&["--tools", &tools, &path], b"");
    for chunk in [
        "1", "2", "7", "64", "100000", "whole", "random:1", "random:2",
    ] {
        assert_eq!(
            turn(&["--tools", &tools, "--chunk", chunk, &path], b""),
            whole,
            "{chunk}"
        );
    }
}

#[test]
fn the_example_shows_every_dialect_of_the_default_set() {
    let path = repository("examples/mixed.txt");
    let turn = turn(&["--tools", &repository("examples/tools.json"), &path], b"");
    let names: Vec<&Value> = turn["calls"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|call| &call["name"])
        .collect();
    let expected = [
        "sky-forecast",
        "note-book",
        "note-book",
        "write_file",
        "invite_observers",
        "set-alarm",
        "Mount.Slew",
        "Camera.Expose",
    ];
    assert_eq!(
        names,
        expected
            .iter()
            .map(|name| Value::from(*name))
            .collect::<Vec<_>>()
            .iter()
            .collect::<Vec<_>>()
    );
    assert!(
        turn["reasoning"]
            .as_str()
            .expect("text")
            .contains("is only a thought")
    );
    let text = turn["text"].as_str().expect("text");
    assert!(
        text.contains("tool_name:「始」open-dome「末」")
            && text.contains("<tool_call name=\"publish\">")
    );
    assert_eq!(turn["calls"][0]["arguments"]["hours"], json!(6));
    assert_eq!(
        turn["calls"][4]["arguments"]["people"],
        json!(["小林", "Mara", "老周"])
    );
    let kinds: Vec<&Value> = turn["errors"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|error| &error["kind"])
        .collect();
    for kind in ["hidden_by_code", "bare_markup", "unclosed_block"] {
        assert!(kinds.contains(&&Value::from(kind)), "{kind}: {kinds:?}");
    }
}

#[test]
fn strict_turns_errors_into_status_1() {
    assert_eq!(run(&["parse", "--strict"], CALL.as_bytes()).code, 0);
    assert_eq!(run(&["parse", "--strict"], CUT.as_bytes()).code, 1);
    assert_eq!(run(&["parse"], CUT.as_bytes()).code, 0);
}

#[test]
fn dialects_are_chosen() {
    let calls = |args: &[&str], input: &str| {
        turn(args, input.as_bytes())["calls"]
            .as_array()
            .expect("a list")
            .len()
    };
    let vcp = "<<<[TOOL_REQUEST]>>>\ntool_name:「始」a「末」\n<<<[END_TOOL_REQUEST]>>>";
    let fuzzy = "<<[tool_request]>>\ntool_name:{始}a{末}\n<<[end_tool_request]>>";
    assert_eq!(calls(&[], CALL), 1);
    assert_eq!(calls(&["--dialect", "vcp"], CALL), 0);
    assert_eq!(calls(&["--dialect", "aio"], vcp), 1);
    assert_eq!(calls(&["--dialect", "all"], vcp), 1);
    assert_eq!(calls(&["--dialect", "action", "--dialect", "vcp"], vcp), 1);
    assert_eq!(calls(&[], fuzzy), 0);
    assert_eq!(calls(&["--switch", "vcp.fuzzy"], fuzzy), 1);
}

#[test]
fn a_dialect_file_is_active_beside_the_default_set_or_alone() {
    let show = run(&["dialects", "show", "tool-action"], b"").out;
    let text = show
        .replace("id = \"tool-action\"", "id = \"mine\"")
        .replace("\"tool_action\"", "\"do_it\"");
    let mine = file("mine.toml", text);
    let input = format!("<do_it name=\"a\"><x value=\"1\"/></do_it> {CALL}");
    let calls = |args: &[&str]| {
        let all = [&["--dialect-file", &mine], args].concat();
        turn(&all, input.as_bytes())["calls"]
            .as_array()
            .expect("a list")
            .len()
    };
    assert_eq!(calls(&[]), 2);
    assert_eq!(calls(&["--dialect", "mine"]), 1);
    assert_eq!(calls(&["--dialect", "vcp"]), 1);
}

#[test]
fn the_finish_reason_is_passed_on() {
    for reason in ["stop", "length", "tool_calls", "error", "cancelled"] {
        assert_eq!(
            run(&["parse", "--finish", reason], CALL.as_bytes()).code,
            0,
            "{reason}"
        );
    }
}

#[test]
fn a_delay_only_slows_down() {
    let ran = run(
        &["parse", "--delay", "1", "--output", "turn"],
        CALL.as_bytes(),
    );
    assert_eq!(ran.json()[0], turn(&[], CALL.as_bytes()));
}

#[test]
fn pieces_of_parameters_hold_whole_characters() {
    let values = |chunk: &str| {
        let input = "<tool_call>{\"name\": \"f\", \"arguments\": {\"s\": \"日🌊é\"}}</tool_call>";
        let ran = run(
            &["parse", "--output", "events", "--chunk", chunk],
            input.as_bytes(),
        );
        let events = ran.json();
        let mut pieces = String::new();
        let mut end = None;
        for event in events.iter().filter(|event| event["type"] == "param_delta") {
            pieces += event["data"].as_str().unwrap_or_default();
            assert!(end.is_none_or(|end| end == event["span"][0]), "{event}");
            end = Some(event["span"][1].clone());
        }
        pieces
    };
    for chunk in ["1", "2", "3", "64"] {
        assert_eq!(values(chunk), "\"日🌊é\"", "{chunk}");
    }
}

#[test]
fn empty_and_binary_input_are_input() {
    assert_eq!(
        turn(&[], b""),
        json!({"text": "", "reasoning": "", "calls": [], "errors": []})
    );
    let garbage: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    assert!(turn(&[], &garbage)["text"] == String::from_utf8_lossy(&garbage).as_ref());
    for output in ["pretty", "events"] {
        assert_eq!(
            run(
                &["parse", "--output", output, "--chunk", "random:3"],
                &garbage
            )
            .code,
            0,
            "{output}"
        );
    }
}

#[test]
fn bad_input_is_named() {
    let directory = directory().display().to_string();
    run(&["parse", "no/such.txt"], b"").refused(&["no/such.txt"]);
    run(&["parse", &directory], b"").refused(&[&directory, "directory"]);
    run(&["parse", "--dialect", "vpc"], b"").refused(&["vpc", "vcp"]);
    run(&["parse", "--switch", "vcp.fuzy"], b"").refused(&["fuzy", "fuzzy"]);
    run(&["parse", "--dialect", "vcp", "--switch", "tam.x"], b"").refused(&["tam"]);
    run(&["parse", "--dialect", "tam", "--dialect", "tam2"], b"").refused(&["tam", "tam2"]);

    let toml = file("bad.toml", "id = \"x\"\ntitel = 1\n");
    run(&["parse", "--dialect-file", &toml], b"").refused(&["bad.toml", "titel"]);
    run(&["parse", "--dialect-file", &directory], b"").refused(&[&directory]);
    run(
        &["parse", "--dialect-file", &file("bin.toml", [0xff, 0x00])],
        b"",
    )
    .refused(&["bin.toml", "UTF-8"]);

    run(&["parse", "--tools", &file("t.json", "[{]")], b"").refused(&["t.json", "JSON"]);
    run(
        &["parse", "--tools", &file("u.json", r#"[{"name": 1}]"#)],
        b"",
    )
    .refused(&["u.json", "[0].name"]);
    run(&["parse", "--tools", &directory], b"").refused(&[&directory]);
    run(&["parse", "--tools", "no/such.json"], b"").refused(&["no/such.json"]);
}
