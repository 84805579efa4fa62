use toolglot::json::{Value, json};

use crate::{CALL, CUT, Ran, file, repository, run};

/// The chunks of a stream; with `done` it must end with `[DONE]`.
fn chunks(ran: &Ran, done: bool) -> Vec<Value> {
    let mut events: Vec<&str> = ran.out.split_terminator("\n\n").collect();
    if done {
        assert_eq!(events.pop(), Some("data: [DONE]"));
    }
    let data = |event: &&str| {
        let json = event.strip_prefix("data: ").expect(event);
        serde_json::from_str(json).expect(event)
    };
    events.iter().map(data).collect()
}

fn openai(flags: &[&str], input: &[u8]) -> Ran {
    let ran = run(&[&["parse", "--output", "openai"], flags].concat(), input);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{flags:?}");
    ran
}

fn reason(chunks: &[Value]) -> &Value {
    &chunks.last().expect("a chunk")["choices"][0]["finish_reason"]
}

#[test]
fn openai_output_is_a_stream_of_chunks() {
    let chunks = chunks(&openai(&["--id-seed", "0"], CALL.as_bytes()), true);
    let deltas: Vec<&Value> = chunks
        .iter()
        .map(|chunk| &chunk["choices"][0]["delta"])
        .collect();
    assert_eq!(deltas[0], &json!({"role": "assistant", "content": ""}));
    assert_eq!(deltas[1], &json!({"content": "Looking. "}));
    let first = json!({"index": 0, "id": "call_000000000000000000000000", "type": "function",
        "function": {"name": "weather", "arguments": ""}});
    assert_eq!(deltas[2], &json!({"tool_calls": [first]}));
    assert_eq!(reason(&chunks), "tool_calls");
    for chunk in &chunks {
        assert_eq!(
            (&chunk["object"], &chunk["id"], &chunk["created"]),
            (
                &json!("chat.completion.chunk"),
                &json!("chatcmpl-toolglot"),
                &json!(0)
            )
        );
    }
}

#[test]
fn openai_flags_take_effect() {
    let flags = [
        "--model",
        "m",
        "--id",
        "x",
        "--created",
        "7",
        "--id-seed",
        "10",
        "--id-prefix",
        "p-",
        "--calls",
        "at-close",
    ];
    let ran = openai(&flags, CALL.as_bytes());
    let chunks = chunks(&ran, true);
    assert_eq!(
        (&chunks[0]["model"], &chunks[0]["id"], &chunks[0]["created"]),
        (&json!("m"), &json!("x"), &json!(7))
    );
    assert!(ran.out.contains(r#""id":"p-000000000000000a00000000""#));
    let whole = r#"{"index":0,"function":{"arguments":"{\"city\":\"Leith\"}"}}"#;
    assert!(ran.out.contains(whole), "{}", ran.out);
}

/// Clients match results with calls by their ids, across all responses of a conversation.
#[test]
fn ids_differ_from_response_to_response() {
    let ids = |output: &str, flags: &[&str]| -> Vec<String> {
        let input = format!("{CALL}{CALL}");
        let all = [&["parse", "--output", output], flags].concat();
        let out = run(&all, input.as_bytes()).out;
        let ids = out.split(r#""id":""#).skip(1);
        let ids = ids.filter_map(|rest| rest.split('"').next());
        let ids = ids.filter(|id| id.starts_with("call_"));
        ids.map(str::to_owned).collect()
    };
    for output in ["openai", "completion"] {
        let (first, second) = (ids(output, &[]), ids(output, &[]));
        assert_eq!((first.len(), second.len()), (2, 2));
        let all: std::collections::HashSet<_> = first.iter().chain(&second).collect();
        assert_eq!(all.len(), 4, "{all:?}");
        let seeded = ids(output, &["--id-seed", "7"]);
        assert_eq!(seeded, ids(output, &["--id-seed", "7"]));
        assert_eq!(seeded[1], "call_000000000000000700000001");
    }
}

#[test]
fn a_truncated_call_never_has_the_reason_tool_calls() {
    let live = chunks(&openai(&[], CUT.as_bytes()), true);
    assert_eq!(reason(&live), "stop");
    assert_eq!(
        live.last().expect("a chunk")["toolglot"],
        json!({"void": [0]})
    );
    let close = openai(&["--calls", "at-close"], CUT.as_bytes());
    assert_eq!(reason(&chunks(&close, true)), "stop");
    assert!(!close.out.contains("tool_calls"));
}

#[test]
fn a_recovered_call_is_delivered_on_demand() {
    let input =
        b"<tool_call name=\"f\"><param name=\"a\">1</param><param name=\"a\">2</param></tool_call>";
    for calls in ["live", "at-close"] {
        let flags = ["--calls", calls, "--recovered"];
        let withheld = openai(&[&flags[..], &["withhold"]].concat(), input);
        assert_eq!(reason(&chunks(&withheld, true)), "stop");
        let delivered = openai(&[&flags[..], &["deliver"]].concat(), input);
        assert_eq!(reason(&chunks(&delivered, true)), "tool_calls");
    }
}

#[test]
fn the_end_is_reported_as_the_protocol_allows() {
    let end = |finish| openai(&["--finish", finish], CALL.as_bytes());
    assert_eq!(reason(&chunks(&end("length"), true)), "length");
    let error = chunks(&end("error"), false);
    assert!(error.last().expect("a chunk")["error"]["message"].is_string());
    let cancelled = chunks(&end("cancelled"), false);
    assert_eq!(reason(&cancelled), &Value::Null);
}

#[test]
fn a_completion_is_one_object() {
    let ran = run(&["parse", "--output", "completion"], CALL.as_bytes());
    let value = ran.json().remove(0);
    assert_eq!(value["object"], "chat.completion");
    let message = &value["choices"][0]["message"];
    assert_eq!(message["content"], "Looking.  Done.");
    assert_eq!(
        message["tool_calls"][0]["function"],
        json!({"name": "weather", "arguments": "{\"city\":\"Leith\"}"})
    );
}

#[test]
fn reasoning_has_the_requested_field() {
    let input = b"<think>why</think>so";
    for (flags, expected) in [
        (&[][..], r#"{"reasoning_content":"why"}"#),
        (
            &["--reasoning-field", "reasoning"],
            r#"{"reasoning":"why"}"#,
        ),
    ] {
        let ran = openai(&[&["--dialect", "vcp"], flags].concat(), input);
        assert!(ran.out.contains(expected), "{}", ran.out);
    }
    let none = openai(&["--dialect", "vcp", "--reasoning-field", ""], input);
    assert!(!none.out.contains("why"));
}

#[test]
fn masked_text_has_no_calls() {
    let mask = |flags: &[&str], input: &str| {
        run(
            &[&["parse", "--output", "mask"], flags].concat(),
            input.as_bytes(),
        )
        .out
    };
    assert_eq!(mask(&[], CALL), "Looking.  Done.");
    assert_eq!(
        mask(&["--mask-calls", "[{tools}]"], CALL),
        "Looking. [weather] Done."
    );
    // An unfinished call stays visible, but the next reader does not take it for a call.
    assert_eq!(mask(&[], CUT), CUT.replace("<tool_call", "<\\tool_call"));
    let thought = "<think>why</think>so";
    assert_eq!(mask(&["--dialect", "vcp"], thought), thought);
    let hidden = ["--dialect", "vcp", "--mask-reasoning"];
    assert_eq!(mask(&[&hidden[..], &[""]].concat(), thought), "so");
    assert_eq!(
        mask(&[&hidden[..], &["(thinks)"]].concat(), thought),
        "(thinks)so"
    );
}

fn turn(flags: &[&str], input: &[u8]) -> Value {
    let ran = run(&[&["parse", "--output", "turn"], flags].concat(), input);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{flags:?}");
    ran.json().remove(0)
}

#[test]
fn output_can_be_read_as_input() {
    let path = repository("examples/mixed.txt");
    let tools = repository("examples/tools.json");
    let plain = turn(&["--tools", &tools, &path], b"");
    let body = openai(
        &[
            "--recovered",
            "deliver",
            "--calls",
            "at-close",
            "--tools",
            &tools,
            &path,
        ],
        b"",
    );
    for chunk in ["whole", "1", "random:3"] {
        // No dialect of the text counts any more: text that was returned must not be read as a call again.
        let flags = [
            "--input",
            "openai-sse",
            "--prefer",
            "native",
            "--chunk",
            chunk,
        ];
        let again = turn(&flags, body.out.as_bytes());
        let calls = |turn: &Value| {
            let calls = turn["calls"].as_array().expect("calls").iter();
            calls
                .map(|call| (call["name"].clone(), call["arguments"].clone()))
                .collect::<Vec<_>>()
        };
        assert_eq!(calls(&again), calls(&plain), "{chunk}");
        // The truncated call is text, escaped.
        let text = again["text"].as_str().expect("text");
        assert!(text.contains("<\\tool_call "), "{text}");
        assert_eq!(
            Some(text.replace("<\\tool_call ", "<tool_call ").as_str()),
            plain["text"].as_str()
        );
        assert_eq!(again["reasoning"], plain["reasoning"]);
    }
}

#[test]
fn responses_of_every_api_are_read() {
    let text = serde_json::to_string(CALL).expect("JSON");
    let openai = format!(
        "data: {{\"choices\":[{{\"index\":1,\"delta\":{{\"content\":{text}}},\"finish_reason\":\"stop\"}}]}}\n\n"
    );
    let anthropic = format!(
        "data: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":{text}}}}}\n\n\
         data: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"end_turn\"}}}}\n\n"
    );
    let ollama = format!("{{\"message\":{{\"content\":{text}}},\"done\":true}}\n");
    let plain = turn(&[], CALL.as_bytes());
    for (flags, body) in [
        (&["--input", "openai-sse", "--choice", "1"][..], openai),
        (&["--input", "anthropic-sse"], anthropic),
        (&["--input", "ollama"], ollama),
    ] {
        for chunk in ["whole", "1"] {
            let flags = [flags, &["--chunk", chunk]].concat();
            assert_eq!(turn(&flags, body.as_bytes()), plain, "{flags:?}");
        }
    }
}

/// A streamed response with two choices and everything else that servers send.
const RESPONSE: &str = concat!(
    r#"data: {"id":"up-9","object":"chat.completion.chunk","created":77,"model":"up","system_fingerprint":"fp","choices":["#,
    r#"{"index":0,"delta":{"role":"assistant","content":"Hi <tool_call na"},"logprobs":{"content":[1]}},"#,
    r#"{"index":1,"delta":{"content":"二"}}]}"#,
    "\n\n",
    r#"data: {"id":"up-9","created":77,"model":"up","choices":[{"index":0,"delta":{"content":"me=\"f\"></tool_call>"},"#,
    r#""finish_reason":"stop"},{"index":1,"delta":{},"finish_reason":"length"}]}"#,
    "\n\n",
    r#"data: {"id":"up-9","created":77,"model":"up","choices":[],"usage":{"total_tokens":7}}"#,
    "\n\ndata: [DONE]\n\n",
);

#[test]
fn a_call_across_an_unreadable_part_is_not_complete() {
    let text = |text: &str| json!({"choices": [{"delta": {"content": text}}]}).to_string();
    let piece = |arguments: &str| {
        let call =
            json!({"index": 0, "id": "c", "function": {"name": "f", "arguments": arguments}});
        json!({"choices": [{"delta": {"tool_calls": [call]}}]}).to_string()
    };
    let body = |lines: [String; 3]| {
        let end = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}).to_string();
        let lines = lines.iter().chain([&end]);
        lines
            .map(|line| format!("data: {line}\n\n"))
            .collect::<String>()
            + "data: [DONE]\n\n"
    };
    let damaged = "{\"choices\": [{\"delta\": {\"content".to_owned();
    let read = |body: String| {
        let ran = run(
            &["parse", "--input", "openai-sse", "--output", "turn"],
            body.as_bytes(),
        );
        assert!(ran.err.contains("line 3"), "{}", ran.err);
        ran.json().remove(0)
    };

    let open = text(r#"<tool_call>{"name": "rm", "arguments": {"path": "/tmp"#);
    let rest = text(r#""}}</tool_call>"#);
    let turn = read(body([open, damaged.clone(), rest]));
    assert_eq!(turn["calls"][0]["state"], "recovered", "{turn}");

    // A call of the API whose pieces may be missing is not delivered.
    let turn = read(body([
        piece(r#"{"path": ""#),
        damaged.clone(),
        piece(r#"/tmp"}"#),
    ]));
    assert_eq!(turn["calls"], json!([]), "{turn}");

    // What was whole before stays so.
    let whole = text(r#"<tool_call>{"name": "ls", "arguments": {}}</tool_call>"#);
    let turn = read(body([whole, damaged, text("ok")]));
    assert_eq!(turn["calls"][0]["state"], "complete", "{turn}");
}

#[test]
fn what_a_server_says_about_its_response_stays() {
    let made = |flags: &[&str], body: &str| {
        let flags = [&["--input", "openai-sse"], flags].concat();
        chunks(&openai(&flags, body.as_bytes()), true)
    };
    for cut in ["whole", "1", "7"] {
        let chunks = made(&["--chunk", cut], RESPONSE);
        for chunk in &chunks {
            let said = (&chunk["id"], &chunk["created"], &chunk["model"]);
            assert_eq!(said, (&json!("up-9"), &json!(77), &json!("up")), "{chunk}");
            assert_eq!(chunk["system_fingerprint"], "fp");
        }
        let reasons: Vec<&Value> = chunks
            .iter()
            .flat_map(|chunk| chunk["choices"].as_array().expect("choices"))
            .filter_map(|choice| Some(&choice["finish_reason"]).filter(|reason| !reason.is_null()))
            .collect();
        assert_eq!(reasons, [&json!("tool_calls"), &json!("length")]);
        let last = chunks.last().expect("a chunk");
        assert_eq!(last["usage"], json!({"total_tokens": 7}));
        assert_eq!(chunks[0]["choices"][0]["logprobs"], json!({"content": [1]}));
    }
    let own = made(&["--model", "m", "--id", "x", "--choice", "1"], RESPONSE);
    for chunk in &own {
        assert_eq!((&chunk["id"], &chunk["model"]), (&json!("x"), &json!("m")));
    }
    assert_eq!(own[1]["choices"][0]["delta"], json!({"content": "二"}));
    assert!(own.iter().all(|chunk| chunk["choices"][0]["index"] != 0));
}

#[test]
fn a_response_that_is_not_streamed_keeps_what_its_server_says() {
    let text = serde_json::to_string(CALL).expect("JSON");
    let body = format!(
        "{{\"id\":\"up-9\",\"created\":77,\"model\":\"up\",\"usage\":{{\"total_tokens\":7}},\"choices\":[\
         {{\"index\":0,\"message\":{{\"content\":{text}}},\"finish_reason\":\"stop\"}},\
         {{\"index\":1,\"message\":{{\"content\":\"no\"}},\"finish_reason\":\"stop\"}}]}}"
    );
    let args = ["parse", "--input", "openai-sse", "--output", "completion"];
    let ran = run(&[&args[..], &["--model", "m"]].concat(), body.as_bytes());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let made: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(
        (
            &made["id"],
            &made["created"],
            &made["model"],
            &made["usage"]
        ),
        (
            &json!("up-9"),
            &json!(77),
            &json!("m"),
            &json!({"total_tokens": 7})
        )
    );
    assert_eq!(made["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(made["choices"][1]["message"]["content"], "no");
    let one = run(&[&args[..], &["--choice", "1"]].concat(), body.as_bytes());
    let one: Value = serde_json::from_str(&one.out).expect("JSON");
    assert_eq!(one["choices"][0]["message"]["content"], "no");
    // A streamed response becomes a completion too.
    let ran = run(&args, RESPONSE.as_bytes());
    let made: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(made["choices"][0]["finish_reason"], "tool_calls");
}

#[test]
fn a_server_error_passes_unchanged() {
    let body = r#"{"error":{"message":"too long","type":"invalid_request_error","code":"ctx"}}"#;
    for (output, start) in [("openai", "data: "), ("completion", "")] {
        let args = ["parse", "--input", "openai-sse", "--output", output];
        // There is no reply, so the status shows it even without --strict.
        for flags in [&[][..], &["--strict"]] {
            let ran = run(&[&args[..], flags].concat(), body.as_bytes());
            assert_eq!(ran.out.trim_end(), format!("{start}{body}"), "{output}");
            assert_eq!(ran.code, 1);
            assert!(ran.err.contains("the server says: too long"), "{}", ran.err);
        }
    }
}

#[test]
fn api_tool_calls_count_as_preferred() {
    let text = serde_json::to_string(CALL).expect("JSON");
    let body = format!(
        "{{\"message\":{{\"content\":{text},\"tool_calls\":[{{\"function\":{{\"name\":\"n\",\"arguments\":{{\"x\":1e2}}}}}}]}},\"done\":true}}"
    );
    for (prefer, count) in [("text", 1), ("both", 2)] {
        let turn = turn(&["--input", "ollama", "--prefer", prefer], body.as_bytes());
        assert_eq!(turn["calls"].as_array().map(Vec::len), Some(count));
    }
    let ran = run(
        &[
            "parse", "--input", "ollama", "--prefer", "both", "--output", "turn",
        ],
        body.as_bytes(),
    );
    assert!(ran.out.contains(r#""arguments":{"x":1e2}"#), "{}", ran.out);
}

#[test]
fn unreadable_input_is_reported_with_its_line() {
    let body = "data: nonsense\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let path = file("r.sse", body);
    let args = ["parse", "--input", "openai-sse", "--output", "mask", &path];
    let ran = run(&args, b"");
    assert_eq!((ran.code, ran.out.as_str()), (0, "a"));
    assert_eq!(
        ran.err.lines().collect::<Vec<_>>(),
        [
            "toolglot: line 1: not JSON: expected ident at column 2",
            "toolglot: the response broke off before its end"
        ]
    );
    assert_eq!(run(&[&args[..], &["--strict"]].concat(), b"").code, 1);
    let many = "data: x\n\n".repeat(50);
    let ran = run(
        &["parse", "--input", "openai-sse", "--output", "mask"],
        many.as_bytes(),
    );
    assert_eq!(ran.err.lines().count(), 21);
    assert!(
        ran.err.ends_with("toolglot: 31 more errors in the input\n"),
        "{}",
        ran.err
    );
}

#[test]
fn flags_without_effect_are_refused() {
    for (args, words) in [
        (&["--model", "m"][..], &["--model", "--output openai"][..]),
        (
            &["--output", "turn", "--calls", "live"],
            &["--calls", "--output openai"],
        ),
        (
            &["--output", "openai", "--mask-calls", "x"],
            &["--mask-calls", "--output mask"],
        ),
        (&["--choice", "1"], &["--choice", "--input openai-sse"]),
        (&["--input", "sse"], &["--input", "openai-sse"]),
        (
            &["--output", "openai", "--calls", "later"],
            &["--calls", "at-close"],
        ),
        (&["--output", "openai", "--created", "now"], &["--created"]),
    ] {
        run(&[&["parse"], args].concat(), b"").refused(words);
    }
}

/// Whatever a server sends in place of a response, no output looks like an empty reply.
#[test]
fn a_failing_server_is_reported_in_every_output() {
    let bodies = [
        ("<html>502</html>", "<html>502</html>"),
        ("upstream timed out", "upstream timed out"),
        ("{\"error\":{\"message\":\"m\",\"type\":\"t\"}}", "m"),
        ("{\"error\":\"x\"}", "x"),
        ("{\"object\":\"error\",\"message\":\"bad\"}", "bad"),
        ("{\"detail\":\"没有\"}", "没有"),
        (
            "{\"type\":\"error\",\"error\":{\"type\":\"t\",\"message\":\"m\"}}",
            "m",
        ),
        ("", "the response broke off before its end"),
    ];
    for (body, message) in bodies {
        for input in ["openai-sse", "anthropic-sse", "ollama"] {
            for output in ["completion", "openai", "turn"] {
                let ran = run(
                    &[
                        "parse",
                        "--dialect",
                        "hermes",
                        "--input",
                        input,
                        "--output",
                        output,
                    ],
                    body.as_bytes(),
                );
                let place = format!("{input} {output}: {body}");
                assert_eq!(ran.code, 1, "{place}");
                let last = ran.out.lines().rfind(|line| !line.is_empty());
                let last = last.expect("it is no empty output");
                let last = last.strip_prefix("data: ").unwrap_or(last);
                let last: Value = serde_json::from_str(last).expect("JSON");
                if body.is_empty() {
                    assert!(last["error"]["message"].is_string(), "{place}");
                } else if input == "openai-sse" && output != "turn" && body.starts_with('{') {
                    assert_eq!(last, serde_json::from_str::<Value>(body).expect("JSON"));
                } else {
                    assert_eq!(last["error"]["message"], message, "{place}");
                    assert!(last["error"]["type"].is_string(), "{place}");
                }
                assert!(!ran.out.contains("[DONE]"), "{place}");
            }
        }
    }
}

#[test]
fn a_stream_becomes_a_completion_with_everything_its_server_says() {
    let chunk = |choices: Value| {
        let head =
            json!({"id": "up", "created": 7, "model": "m", "usage": null, "choices": choices});
        format!("data: {head}\r\n\r\n")
    };
    let body = chunk(
        json!([{"index": 1, "delta": {"content": CALL}}, {"index": 0, "delta": {"content": "a"}}]),
    ) + &chunk(json!([{"index": 1, "delta": {}, "finish_reason": "stop"}]))
        + &chunk(json!([{"index": 0, "delta": {"content": "b"}, "finish_reason": "length"}]))
        + "data: {\"id\":\"up\",\"choices\":[],\"usage\":{\"total_tokens\":9}}\r\n\r\ndata: [DONE]\r\n\r\n";
    let args = ["parse", "--input", "openai-sse", "--output", "completion"];
    let ran = run(&args, body.as_bytes());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let made: Value = serde_json::from_str(&ran.out).expect("JSON");
    let head = [
        &made["id"],
        &made["created"],
        &made["model"],
        &made["usage"],
    ];
    assert_eq!(
        head,
        [
            &json!("up"),
            &json!(7),
            &json!("m"),
            &json!({"total_tokens": 9})
        ]
    );
    assert_eq!(made["choices"][0]["message"]["content"], "ab");
    assert_eq!(made["choices"][0]["finish_reason"], "length");
    assert_eq!(made["choices"][1]["finish_reason"], "tool_calls");
    let given = run(
        &[&args[..], &["--id", "z", "--model", "y"]].concat(),
        body.as_bytes(),
    );
    let given: Value = serde_json::from_str(&given.out).expect("JSON");
    assert_eq!((&given["id"], &given["model"]), (&json!("z"), &json!("y")));
    let one = run(&[&args[..], &["--choice", "1"]].concat(), body.as_bytes());
    let one: Value = serde_json::from_str(&one.out).expect("JSON");
    assert_eq!(
        (&one["id"], &one["choices"][0]["index"]),
        (&json!("up"), &json!(1))
    );
}

#[test]
fn responses_of_other_apis_say_what_they_are() {
    let events = [
        json!({"type": "message_start", "message": {"id": "msg_1", "model": "claude",
            "usage": {"input_tokens": 2, "cache_read_input_tokens": 3, "output_tokens": 1}}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 4}}),
    ];
    let stream: String = events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    let whole = json!({"type": "message", "id": "msg_1", "model": "claude", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "a"}],
        "usage": {"input_tokens": 2, "cache_read_input_tokens": 3, "output_tokens": 4}});
    let line = json!({"model": "claude", "created_at": "1970-01-01T00:00:09Z", "message": {"content": "a"}, "done": true,
        "prompt_eval_count": 2, "eval_count": 1});
    let cached = json!({"prompt_tokens": 5, "completion_tokens": 4, "total_tokens": 9, "prompt_tokens_details": {"cached_tokens": 3}});
    let plain = json!({"prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 3});
    let bodies = [
        ("anthropic-sse", stream, "msg_1", 0, &cached),
        ("anthropic-sse", whole.to_string(), "msg_1", 0, &cached),
        ("ollama", line.to_string(), "chatcmpl-toolglot", 9, &plain),
    ];
    for (input, body, id, created, usage) in &bodies {
        for output in ["completion", "openai"] {
            for chunk in [&[][..], &["--chunk", "1"]] {
                let args = [
                    "parse",
                    "--dialect",
                    "hermes",
                    "--input",
                    input,
                    "--output",
                    output,
                ];
                let ran = run(&[&args[..], chunk].concat(), body.as_bytes());
                let lines = ran
                    .out
                    .lines()
                    .map(|line| line.trim_start_matches("data: "));
                for line in lines.filter(|line| line.starts_with('{')) {
                    let made: Value = serde_json::from_str(line).expect("JSON");
                    let head = (&made["id"], &made["created"], &made["model"]);
                    assert_eq!(
                        head,
                        (&json!(id), &json!(created), &json!("claude")),
                        "{input}"
                    );
                    let ends = !made["choices"][0]["finish_reason"].is_null();
                    assert_eq!(made.get("usage"), ends.then_some(*usage), "{input}");
                }
                let ran = run(
                    &[&args[..], &["--id", "z", "--model", "y"]].concat(),
                    body.as_bytes(),
                );
                assert!(ran.out.contains("\"id\":\"z\"") && ran.out.contains("\"model\":\"y\""));
            }
        }
    }
}
