use toolglot::json::json;

use crate::{Ran, file, run};

const TOOLS: &str = r#"[{"name": "GetPlayerInfo", "parameters": {"type": "object", "properties": {
    "player_id": {"type": "string"}, "level": {"type": "integer", "default": 1}}, "required": ["player_id"]}}]"#;
const GOOD: &str =
    "<ACTION><GetPlayerInfo><player_id>7</player_id><level>30</level></GetPlayerInfo></ACTION>";
const BAD: &str = "<ACTION><GetPlayerInfo><playerId>7</playerId></GetPlayerInfo></ACTION>";

/// The observations of `parse | validate`.
fn observations(reply: &str, flags: &[&str]) -> (i32, Vec<String>) {
    let tools = file("tools.json", TOOLS);
    let turn = run(
        &["parse", "--dialect", "action", "--output", "turn"],
        reply.as_bytes(),
    );
    let mut args = vec!["validate", "--tools", &tools];
    args.extend(flags);
    let ran = run(&args, turn.out.as_bytes());
    assert_eq!(ran.err, "");
    let list = ran.json()[0]["observations"]
        .as_array()
        .expect("a list")
        .clone();
    (
        ran.code,
        list.iter()
            .map(|text| text.as_str().expect("text").to_owned())
            .collect(),
    )
}

#[test]
fn a_turn_is_checked() {
    let tools = file("tools.json", TOOLS);
    let turn = run(
        &["parse", "--dialect", "action", "--output", "turn"],
        GOOD.as_bytes(),
    );
    let ran = run(&["validate", "--tools", &tools], turn.out.as_bytes());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let answer = &ran.json()[0];
    assert_eq!(answer["valid"], true);
    assert_eq!(
        answer["calls"][0]["arguments"],
        json!({"player_id": "7", "level": 30})
    );
    let change = json!({"path": "/level", "kind": "integer", "before": "30", "after": 30});
    assert_eq!(answer["calls"][0]["changes"], json!([change]));
}

#[test]
fn violations_are_reported_in_the_syntax_of_the_dialect() {
    let unknown = "Observation: Error - Invalid parameters for GetPlayerInfo: Unknown parameter 'playerId', did you mean \
                   'player_id'?";
    let missing = "Observation: Error - Invalid parameters for GetPlayerInfo: Missing required parameter 'player_id'";
    let (code, told) = observations(BAD, &[]);
    assert_eq!(code, 1);
    // The missing parameter is the misspelt one.
    assert_eq!(told, [unknown]);
    let (code, told) = observations(BAD, &["--allow-unknown"]);
    assert_eq!((code, told), (1, vec![missing.to_owned()]));
    let preset = file("preset.json", r#"{"player_id": "9"}"#);
    let (code, told) = observations(BAD, &["--allow-unknown", "--preset", &preset]);
    assert_eq!((code, told), (0, vec![]));
    let broken = "<ACTION><GetPlayerInfo><player_id>7</GetPlayerInfo></ACTION>";
    let (code, told) = observations(broken, &[]);
    assert_eq!(
        (code, told),
        (
            1,
            vec!["Observation: Error - Malformed XML in ACTION block".to_owned()]
        )
    );
}

#[test]
fn calls_of_any_form_are_checked() {
    let tools = file("tools.json", TOOLS);
    let openai = r#"{"tool_calls": [{"id": "1", "function": {"name": "GetPlayerInfo", "arguments": "{\"player_id\": \"7\", \"player_id\": \"8\"}"}}]}"#;
    let ran = run(&["validate", "--tools", &tools], openai.as_bytes());
    assert_eq!(ran.code, 1);
    assert_eq!(
        ran.json()[0]["calls"][0]["violations"][0]["kind"],
        "duplicate_param"
    );
    let one = r#"{"name": "GetPlayerInfo", "arguments": {"PLAYERID": "7"}}"#;
    let ran = run(
        &["validate", "--tools", &tools, "--dialect", "tam"],
        one.as_bytes(),
    );
    assert_eq!(ran.code, 0);
    let ran = run(&["validate", "--tools", &tools], one.as_bytes());
    assert_eq!(ran.code, 1);
}

#[test]
fn a_repaired_call_counts_like_a_complete_one_and_a_recovered_one_is_wrong() {
    let tools = file("tools.json", TOOLS);
    let calls = [
        (
            "hermes",
            r#"<tool_call>{"name": "GetPlayerInfo", "args": {"player_id": "7"}}</tool_call>"#,
            0,
        ),
        (
            "hermes",
            r#"<tool_call>{'name': 'GetPlayerInfo', 'arguments': {'player_id': '七',}}</tool_call>"#,
            0,
        ),
        (
            "minimax-m2",
            r#"<minimax:tool_call><invoke name="GetPlayerInfo" player_id="7"/></minimax:tool_call>"#,
            0,
        ),
        (
            "hermes",
            r#"<tool_call>{"name": "GetPlayerInfo", "arguments": {"player_id": "7"}, "more": 1}</tool_call>"#,
            1,
        ),
        (
            "lfm2",
            r#"<|tool_call_start|>[GetPlayerInfo(player_id="他说"好"了")]<|tool_call_end|>"#,
            1,
        ),
    ];
    for (dialect, reply, code) in calls {
        let turn = run(
            &["parse", "--dialect", dialect, "--output", "turn"],
            reply.as_bytes(),
        );
        let grade = &turn.json()[0]["calls"][0]["state"];
        assert_eq!(
            grade,
            if code == 0 { "repaired" } else { "recovered" },
            "{reply}"
        );
        let ran = run(&["validate", "--tools", &tools], turn.out.as_bytes());
        assert_eq!(
            (ran.code, ran.json()[0]["valid"].as_bool()),
            (code, Some(code == 0)),
            "{reply}"
        );
        let told = ran.json()[0]["observations"].as_array().map_or(0, Vec::len);
        assert_eq!(told > 0, code == 1, "{reply}");
    }
}

#[test]
fn parse_checks_what_it_reads() {
    let tools = file("tools.json", TOOLS);
    let args = [
        "parse",
        "--dialect",
        "action",
        "--tools",
        &tools,
        "--validate",
        "--strict",
        "--output",
        "turn",
    ];
    let ran = run(&args, BAD.as_bytes());
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    let errors = ran.json()[0]["errors"].as_array().expect("a list").clone();
    let kinds: Vec<&str> = errors
        .iter()
        .map(|error| error["kind"].as_str().expect("text"))
        .collect();
    assert_eq!(kinds, ["unknown_param"]);
    assert_eq!(errors[0]["severity"], "error");
    assert_eq!(
        errors[0]["observation"],
        "Observation: Error - Invalid parameters for GetPlayerInfo: Unknown parameter 'playerId', did you mean 'player_id'?"
    );
    assert_eq!(run(&args, GOOD.as_bytes()).code, 0);
    let unknown = run(
        &args,
        b"<ACTION><GetPlayerInf><a>1</a></GetPlayerInf></ACTION>",
    );
    assert_eq!(unknown.json()[0]["errors"][0]["kind"], "unknown_tool");
    for what in ["drop", "text"] {
        let args = [&args[..], &["--unknown-tool", what]].concat();
        let left = run(&args, "<ACTION><没有><a>1</a></没有></ACTION>".as_bytes());
        assert_eq!(
            (left.code, left.json()[0]["calls"].as_array().map(Vec::len)),
            (1, Some(0))
        );
        assert_eq!(
            left.json()[0]["errors"][0]["kind"],
            "unknown_tool",
            "{what}"
        );
    }
}

/// What `parse --validate` says about a reply.
fn parsed(tools: &str, more: &[&str], text: &str) -> Ran {
    let args = [
        "parse",
        "--dialect",
        "hermes",
        "--tools",
        tools,
        "--validate",
    ];
    run(&[&args[..], more].concat(), text.as_bytes())
}

/// A whole output has the arguments that `validate` gives; one that is written live has those of the model.
#[test]
fn what_is_validated_is_delivered() {
    let tools = file("tools.json", TOOLS);
    let call = |arguments: &str| {
        format!(r#"<tool_call>{{"name": "GetPlayerInfo", "arguments": {arguments}}}</tool_call>"#)
    };
    let reply = call(r#"{"player_id": 7}"#) + &call(r#"{"level": "x"}"#);
    let response = json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": reply}, "finish_reason": "stop"}], "x": 1.50});
    let parse = |input: &str, output: &str, text: &str| {
        let ran = parsed(&tools, &["--input", input, "--output", output], text);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        ran
    };
    let turn = parse("text", "turn", &reply).json().remove(0);
    let arguments = |index: usize| &turn["calls"][index]["arguments"];
    assert_eq!(arguments(0), &json!({"player_id": "7", "level": 1}));
    // An invalid call stays as the model wrote it.
    assert_eq!(arguments(1), &json!({"level": "x"}));
    // What is wrong with the value, and not only that something is.
    let errors = turn["errors"].as_array().expect("a list");
    let wrong = errors.iter().find(|error| error["kind"] == "type_mismatch");
    let message = wrong.and_then(|error| error["message"].as_str());
    assert!(
        message.is_some_and(|text| text.starts_with("parameter level: ")),
        "{errors:?}"
    );
    for (input, text) in [
        ("text", reply.as_str()),
        ("openai-sse", &response.to_string()),
    ] {
        let whole = parse(input, "completion", text).json().remove(0);
        let calls = &whole["choices"][0]["message"]["tool_calls"];
        let written = r#"{"player_id":"7","level":1}"#;
        assert_eq!(calls[0]["function"]["arguments"], written, "{input}");
        assert_eq!(calls[1]["function"]["arguments"], r#"{"level": "x"}"#);
        for live in ["events", "openai", "pretty"] {
            let live = parse(input, live, text).out;
            // The default is not among them.
            let plain = live.replace(['\\', '"', ' '], "");
            assert!(!plain.contains("level:1"), "{live}");
        }
    }
}

/// A definition that cannot be used is not the model's fault: the host hears of it, whatever the calls are.
#[test]
fn a_broken_definition_is_told_to_the_host() {
    let tools = file(
        "tools.json",
        r#"[{"name": "f", "parameters": {"properties": {"a": {"pattern": "("}}}}]"#,
    );
    let reply = r#"<tool_call>{"name": "f", "arguments": {"a": "x"}}</tool_call>"#;
    let parse = |more: &[&str], text: &str| parsed(&tools, &[&["--output"], more].concat(), text);
    let place = "toolglot: f: parameters: /properties/a/pattern: ";
    let fault = "the parameters of the tool cannot be checked: /properties/a/pattern: ";
    let turn = parse(&["turn", "--strict"], reply);
    assert_eq!(turn.code, 1);
    let error = &turn.json()[0]["errors"][0];
    let validate = run(&["validate", "--tools", &tools], turn.out.as_bytes());
    let violation = &validate.json()[0]["calls"][0]["violations"][0];
    assert_eq!(
        (&error["kind"], &error["message"]),
        (&violation["kind"], &violation["message"])
    );
    for (ran, out) in [
        (&turn, turn.out.as_str()),
        (&validate, &validate.out),
        (&parse(&["events"], reply), &parse(&["events"], reply).out),
        (&parse(&["pretty"], reply), &parse(&["pretty"], reply).out),
    ] {
        assert!(out.contains(fault) && !out.contains("write"), "{out}");
        assert!(ran.err.starts_with(place), "{}", ran.err);
    }
    // An output without errors leaves them to standard error.
    for ran in [&validate, &parse(&["completion"], reply)] {
        assert!(
            ran.err.contains(&format!("call 0 (f): {fault}")),
            "{}",
            ran.err
        );
    }
    assert!(parse(&["turn"], "no call").err.starts_with(place));
}

#[test]
fn bad_input_is_refused_with_one_line() {
    let tools = file("tools.json", TOOLS);
    let broken = file("broken.json", "[{}]");
    run(&["validate"], b"{}").refused(&["--tools"]);
    run(&["validate", "--tools", "nowhere.json"], b"{}").refused(&["nowhere.json"]);
    run(&["validate", "--tools", &broken], b"[]").refused(&["[0]: it has no `name`"]);
    run(&["validate", "--tools", &tools], b"nonsense").refused(&["the turn cannot be read"]);
    run(&["validate", "--tools", &tools], b"[{}]").refused(&["call 0 has no `name`"]);
    run(
        &["validate", "--tools", &tools],
        br#"{"name": "x", "dialect": "none"}"#,
    )
    .refused(&["none"]);
    run(&["parse", "--validate"], b"").refused(&["--tools"]);
}
