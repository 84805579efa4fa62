//! Upstream chunks are generated: any number of choices, any chunking, unknown members.

use super::*;
use crate::json::{Map, Value, json};
use crate::sink::openai::Calls;

const TEXTS: [&str; 4] = [
    "Hi \u{4e2d} <tool_call name=\"f\"><param name=\"a\">n\u{e9}</param></tool_call> ok",
    "no call, but x < y <tool",
    "<tool_call name=\"g\"></tool_call>",
    "",
];

/// A small pseudo-random generator; every choice comes from it.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most
    }
}

fn set() -> DialectSet {
    DialectSet::builtin("tool-call-xml").expect("it is built in")
}

/// The chunks of an upstream response.
fn upstream(chance: &mut Chance, choices: usize) -> Vec<Value> {
    let head = |choices: Value| {
        json!({"id": "chatcmpl-up", "object": "chat.completion.chunk", "created": 5, "model": "up",
            "system_fingerprint": "fp_1", "service_tier": null, "x_unknown": "x", "choices": choices})
    };
    let mut queues: Vec<Vec<Value>> = vec![];
    for index in 0..choices {
        let text: Vec<char> = TEXTS[(index + chance.below(2)) % TEXTS.len()]
            .chars()
            .collect();
        let mut queue = vec![
            json!({"index": index, "delta": {"role": "assistant", "content": "", "refusal": null}, "finish_reason": null}),
        ];
        let mut at = 0;
        while at < text.len() {
            let end = (at + 1 + chance.below(9)).min(text.len());
            let piece: String = text[at..end].iter().collect();
            let logprobs = json!({"content": [{"token": piece, "logprob": -0.25}]});
            queue.push(json!({"index": index, "delta": {"content": piece}, "logprobs": logprobs, "finish_reason": null}));
            at = end;
        }
        queue
            .push(json!({"index": index, "delta": {}, "finish_reason": "stop", "stop_reason": 42}));
        queues.push(queue);
    }
    let mut out = vec![];
    while queues.iter().any(|queue| !queue.is_empty()) {
        let mut list = vec![];
        for queue in &mut queues {
            if !queue.is_empty() && chance.below(2) == 0 {
                list.push(queue.remove(0));
            }
        }
        if !list.is_empty() {
            out.push(head(Value::Array(list)));
        }
    }
    let mut last = head(json!([]));
    last["usage"] = json!({"total_tokens": 9, "cost": 1.50});
    out.push(last);
    out
}

fn sse(chunks: &[Value]) -> String {
    let data = chunks.iter().map(|chunk| format!("data: {chunk}\n\n"));
    data.chain(["data: [DONE]\n\n".to_owned()]).collect()
}

fn run(body: &[u8], pieces: usize, build: impl FnOnce(Rewriter) -> Rewriter) -> (Vec<Value>, End) {
    let mut rewriter = build(Rewriter::new(&set(), Options::default()));
    let mut lines = vec![];
    let mut take = |line: &str| lines.push(line.parse::<Value>().expect("JSON"));
    let mut errors = vec![];
    for piece in body.chunks(pieces) {
        errors.extend(rewriter.feed(piece, &mut take));
    }
    let mut end = rewriter.finish(None, &mut take);
    errors.append(&mut end.errors);
    end.errors = errors;
    (lines, end)
}

/// What a client reads from one choice.
#[derive(Debug, Default, PartialEq)]
struct Client {
    content: String,
    calls: Vec<(String, String, String)>,
    reason: Vec<String>,
    logprobs: Vec<Value>,
    stop: Vec<Value>,
}

fn client(chunks: &[Value], index: usize) -> Client {
    let mut client = Client::default();
    for choice in chunks
        .iter()
        .flat_map(|chunk| chunk["choices"].as_array().into_iter().flatten())
    {
        if choice["index"] != index {
            continue;
        }
        assert!(client.reason.is_empty(), "nothing comes after the reason");
        client.content += choice["delta"]["content"].as_str().unwrap_or_default();
        for call in choice["delta"]["tool_calls"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            if let Some(id) = call["id"].as_str() {
                client.calls.push((
                    id.to_owned(),
                    text(&call["function"]["name"]),
                    String::new(),
                ));
            }
            client.calls.last_mut().expect("a call").2 += &text(&call["function"]["arguments"]);
        }
        client
            .logprobs
            .extend(Some(choice["logprobs"].clone()).filter(|value| !value.is_null()));
        client
            .stop
            .extend(Some(choice["stop_reason"].clone()).filter(|value| !value.is_null()));
        client
            .reason
            .extend(choice["finish_reason"].as_str().map(str::to_owned));
    }
    client
}

#[test]
fn all_members_of_a_server_are_kept() {
    for seed in 0..60 {
        let mut chance = Chance(seed);
        let choices = 1 + seed as usize % 4;
        let upstream = upstream(&mut chance, choices);
        // Numbers keep their spelling.
        let body = sse(&upstream).replace("1.5}", "1.50}");
        let (whole, end) = run(body.as_bytes(), body.len(), |rewriter| rewriter);
        assert_eq!((end.reason, end.errors.len()), (Finish::Stop, 0));
        let (cut, _) = run(body.as_bytes(), 1 + chance.below(20), |rewriter| rewriter);
        assert_eq!(whole, cut, "cuts do not matter");
        for chunk in &whole {
            let head = [
                "id",
                "object",
                "created",
                "model",
                "system_fingerprint",
                "service_tier",
                "x_unknown",
            ];
            for key in head {
                assert_eq!(chunk[key], upstream[0][key], "{key}: {chunk}");
            }
        }
        let usage: Vec<&Value> = whole
            .iter()
            .filter_map(|chunk| chunk.get("usage"))
            .collect();
        assert_eq!((usage.len(), &usage[0]["total_tokens"]), (1, &json!(9)));
        let last = whole[whole.len() - 1].to_string();
        assert!(last.contains("1.50"), "{last}");
        let mut ids = vec![];
        for index in 0..choices {
            let (before, after) = (client(&upstream, index), client(&whole, index));
            let turn = crate::parse(
                &set(),
                Options::default(),
                before.content.as_bytes(),
                Finish::Stop,
            );
            assert_eq!(after.content, turn.text);
            let calls: Vec<(&str, &str)> = after
                .calls
                .iter()
                .map(|call| (call.1.as_str(), call.2.as_str()))
                .collect();
            let expected: Vec<(&str, &str)> = turn
                .calls
                .iter()
                .map(|call| (call.name.as_str(), call.arguments.as_str()))
                .collect();
            assert_eq!(calls, expected);
            let reason = if calls.is_empty() {
                "stop"
            } else {
                "tool_calls"
            };
            assert_eq!(after.reason, [reason]);
            assert_eq!((after.logprobs, after.stop), (before.logprobs, before.stop));
            ids.extend(after.calls.into_iter().map(|call| call.0));
        }
        let count = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), count, "ids differ between choices");
    }
}

#[test]
fn one_choice_may_be_asked_for() {
    let upstream = upstream(&mut Chance(3), 3);
    let body = sse(&upstream);
    let (all, _) = run(body.as_bytes(), 5, |rewriter| rewriter);
    let (one, end) = run(body.as_bytes(), 5, |rewriter| rewriter.choice(2));
    assert_eq!(client(&one, 2).content, client(&all, 2).content);
    assert_eq!(
        (client(&one, 0), end.reason),
        (Client::default(), Finish::Stop)
    );
}

#[test]
fn errors_are_passed_on_unchanged() {
    let page = "<html><body>502 Bad Gateway</body></html>";
    let bodies: [(&str, Value); 7] = [
        (
            r#"{"error":{"message":"overloaded","type":"x","code":429},"request_id":"r"}"#,
            Value::Null,
        ),
        (
            "data: {\"error\":{\"message\":\"overloaded\"}}\n\ndata: [DONE]\n\n",
            json!({"error": {"message": "overloaded"}}),
        ),
        (r#"{"detail":"Not Found"}"#, Value::Null),
        (
            r#"{"object":"error","message":"too long","code":40303}"#,
            Value::Null,
        ),
        (
            r#"[{"error":{"code":400,"message":"bad"}}]"#,
            json!({"error": {"code": 400, "message": "bad"}}),
        ),
        (r#"{"error":"rate limit"}"#, Value::Null),
        (
            page,
            json!({"error": {"message": page, "type": "upstream_error", "param": null, "code": null}}),
        ),
    ];
    for (body, expected) in bodies {
        let expected = match expected {
            Value::Null => body.parse().expect(body),
            other => other,
        };
        for pieces in [1, 7, body.len()] {
            let (lines, end) = run(body.as_bytes(), pieces, |rewriter| rewriter);
            assert_eq!(lines, std::slice::from_ref(&expected), "{body}");
            assert_eq!(end.reason, Finish::Error);
            assert!(!end.errors.is_empty(), "{body}");
        }
    }
}

#[test]
fn an_error_within_a_response_follows_held_back_text() {
    let begun = r#"{"choices":[{"index":0,"delta":{"content":"x <tool"}}]}"#;
    let error = r#"{"id":"e","error":{"message":"gone"},"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}"#;
    let body = format!("data: {begun}\n\ndata: {error}\n\n");
    let (lines, end) = run(body.as_bytes(), 3, |rewriter| rewriter);
    assert_eq!(client(&lines[..lines.len() - 1], 0).content, "x <tool");
    assert_eq!(lines.last(), Some(&error.parse().expect("JSON")));
    assert_eq!(end.reason, Finish::Error);
}

#[test]
fn a_body_that_breaks_off_is_reported_once() {
    let body = sse(&upstream(&mut Chance(1), 3));
    let (lines, end) = run(&body.as_bytes()[..body.len() / 3], 9, |rewriter| rewriter);
    let errors = lines
        .iter()
        .filter(|line| line.get("error").is_some())
        .count();
    assert_eq!((errors, end.reason), (1, Finish::Error));
    assert!(end.errors.contains(&SourceError::Cut));
}

#[test]
fn an_unknown_reason_is_kept() {
    for word in ["content_filter", "abort", "error"] {
        let chunk =
            json!({"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": word}]});
        let (lines, _) = run(sse(&[chunk]).as_bytes(), 4, |rewriter| rewriter);
        assert_eq!(client(&lines, 0).reason, [word]);
        assert!(lines.iter().all(|line| line.get("error").is_none()));
    }
}

#[test]
fn api_calls_keep_their_other_members() {
    let call = |piece: Value| json!({"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]});
    let chunks = [
        call(
            json!({"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\""}, "extra_content": {"signature": "s"}}),
        ),
        call(json!({"index": 0, "function": {"arguments": ":1}"}})),
        json!({"choices": [{"index": 0, "delta": {"annotations": [1]}, "finish_reason": "tool_calls"}]}),
    ];
    let (lines, end) = run(sse(&chunks).as_bytes(), 11, |rewriter| rewriter);
    let client = client(&lines, 0);
    assert_eq!(
        client.calls,
        [("c1".to_owned(), "f".to_owned(), "{\"a\":1}".to_owned())]
    );
    assert_eq!(
        (client.reason, end.errors.len()),
        (vec!["tool_calls".to_owned()], 0)
    );
    let text: String = lines.iter().map(ToString::to_string).collect();
    assert_eq!(
        text.matches(r#""extra_content":{"signature":"s"}"#).count(),
        1
    );
    assert_eq!(text.matches(r#""annotations":[1]"#).count(), 1);
}

#[test]
fn the_host_may_know_better() {
    let upstream = upstream(&mut Chance(8), 1);
    let given = Given {
        model: Some("mine".to_owned()),
        ..Given::default()
    };
    let (lines, _) = run(sse(&upstream).as_bytes(), 8, |rewriter| {
        rewriter.given(given)
    });
    assert!(
        lines
            .iter()
            .all(|line| line["model"] == "mine" && line["id"] == "chatcmpl-up")
    );
    let head = Head {
        id: "spare".to_owned(),
        ..Head::default()
    };
    let bare = [json!({"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]})];
    let (lines, _) = run(sse(&bare).as_bytes(), 8, |rewriter| rewriter.spare(&head));
    assert!(lines.iter().all(|line| line["id"] == "spare"));
}

#[test]
fn left_over_text_is_not_read_as_a_call_again() {
    let text = "<tool_call name=\"f\"><x<tool_call name=\"g\"></tool_call>";
    let chunk =
        json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]});
    let (lines, _) = run(sse(&[chunk]).as_bytes(), 8, |rewriter| rewriter);
    let content = client(&lines, 0).content;
    let again = crate::parse(&set(), Options::default(), content.as_bytes(), Finish::Stop);
    assert_eq!(again.calls.len(), 0, "{content}");
}

#[test]
fn whole_completions_keep_the_rest() {
    let message = |text: &str| json!({"role": "assistant", "content": text, "refusal": null, "annotations": []});
    let mut body = json!({"id": "chatcmpl-up", "object": "chat.completion", "created": 5, "model": "up",
        "choices": [], "usage": {"total_tokens": 3}, "system_fingerprint": "fp"});
    body["choices"] = Value::Array(
        (0..).zip(TEXTS).map(|(index, text)| json!({"index": index, "message": message(text), "logprobs": {"content": [1]}, "finish_reason": "stop"})).collect(),
    );
    let settings = Settings {
        calls: Calls::AtClose,
        ..Settings::default()
    };
    let (line, errors) = completion(
        &set(),
        &Options::default(),
        &settings,
        &Given::default(),
        body.to_string().as_bytes(),
    );
    let out: Value = line.parse().expect("JSON");
    assert!(errors.is_empty());
    let keys = |value: &Value| -> Vec<String> {
        let map: &Map = value.as_object().expect("an object");
        let mut keys: Vec<String> = map.iter().map(|(key, _)| key.to_owned()).collect();
        keys.sort();
        keys
    };
    assert_eq!(keys(&out), keys(&body));
    for (at, text) in TEXTS.iter().enumerate() {
        let choice = &out["choices"][at];
        let turn = crate::parse(&set(), Options::default(), text.as_bytes(), Finish::Stop);
        assert_eq!(
            choice["message"]["tool_calls"]
                .as_array()
                .map_or(0, Vec::len),
            turn.calls.len()
        );
        assert_eq!(
            choice["finish_reason"],
            if turn.calls.is_empty() {
                "stop"
            } else {
                "tool_calls"
            }
        );
        assert_eq!(
            (&choice["logprobs"], &choice["message"]["annotations"]),
            (&json!({"content": [1]}), &json!([]))
        );
        assert_eq!(
            choice["message"]["content"].as_str().unwrap_or_default(),
            turn.text
        );
    }
    for error in [r#"{"error":{"message":"no"},"x":1}"#, r#"{"detail":"no"}"#] {
        let (line, errors) = completion(
            &set(),
            &Options::default(),
            &settings,
            &Given::default(),
            error.as_bytes(),
        );
        assert_eq!((line.as_str(), errors.len()), (error, 1));
    }
}

/// The completion of a stream equals that of the object into which a client joins its chunks.
#[test]
fn a_stream_becomes_the_equivalent_completion() {
    let usage = json!({"total_tokens": 9, "cost": 1.50});
    for seed in 0..60 {
        let mut chance = Chance(seed);
        let choices = 1 + seed as usize % 4;
        let upstream = upstream(&mut chance, choices);
        let mut body = sse(&upstream);
        if seed % 3 == 0 {
            body = body.replace("data: [DONE]\n\n", "");
        }
        if seed % 2 == 0 {
            body = format!("\u{feff}: hi\r\n\r\n{}", body.replace('\n', "\r\n"));
        }
        let made = |pieces: usize| {
            let mut completer = Completer::new(&set(), Options::default());
            for piece in body.as_bytes().chunks(pieces) {
                assert_eq!(completer.feed(piece), []);
            }
            let (line, end) = completer.finish(None);
            assert_eq!((end.reason, end.errors), (Finish::Stop, vec![]));
            line.parse::<Value>().expect("JSON")
        };
        let whole = made(body.len());
        assert_eq!(whole, made(1 + chance.below(20)), "cuts do not matter");
        for key in ["id", "created", "model", "system_fingerprint", "x_unknown"] {
            assert_eq!(whole[key], upstream[0][key], "{key}: {whole}");
        }
        assert_eq!(whole["object"], json!("chat.completion"));
        assert_eq!(whole["usage"], usage);
        assert_eq!(whole["choices"].as_array().map(Vec::len), Some(choices));
        let mut ids = vec![];
        for index in 0..choices {
            let before = client(&upstream, index);
            let choice = &whole["choices"][index];
            let message = json!({"index": index, "message": {"role": "assistant", "content": before.content},
                "finish_reason": "stop"});
            let body = json!({"id": "x", "choices": [message]}).to_string();
            let settings = Settings::default();
            let (one, _) = completion(
                &set(),
                &Options::default(),
                &settings,
                &Given::default(),
                body.as_bytes(),
            );
            let one: Value = one.parse().expect("JSON");
            let one = &one["choices"][0];
            assert_eq!(choice["index"], json!(index));
            assert_eq!(choice["finish_reason"], one["finish_reason"]);
            assert_eq!(choice["message"]["content"], one["message"]["content"]);
            let calls = |choice: &Value| {
                let calls = choice["message"]["tool_calls"]
                    .as_array()
                    .cloned()
                    .unwrap_or_default();
                calls
                    .into_iter()
                    .map(|call| call["function"].clone())
                    .collect::<Vec<_>>()
            };
            assert_eq!(calls(choice), calls(one));
            let logprobs = before
                .logprobs
                .iter()
                .flat_map(|l| l["content"].as_array().cloned().unwrap_or_default());
            let logprobs: Vec<Value> = logprobs.collect();
            match logprobs.is_empty() {
                true => assert!(choice["logprobs"].is_null()),
                false => assert_eq!(choice["logprobs"], json!({"content": logprobs})),
            }
            assert_eq!(choice["stop_reason"], json!(42));
            let calls = choice["message"]["tool_calls"]
                .as_array()
                .into_iter()
                .flatten();
            ids.extend(calls.map(|call| call["id"].to_string()));
        }
        let count = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), count, "ids differ between choices");
    }
}

#[test]
fn pieces_of_a_message_are_joined() {
    let chunk = |delta: Value, reason: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        json!({"id": "i", "usage": null, "choices": [choice]})
    };
    let call = |index: usize, id: Value, name: Value, arguments: &str, more: Value| json!({"tool_calls": [{"index": index, "id": id, "function": {"name": name, "arguments": arguments}, "x": more}]});
    let chunks = [
        chunk(
            json!({"role": "assistant", "content": "", "refusal": null}),
            json!(null),
        ),
        chunk(json!({"refusal": "I "}), json!(null)),
        chunk(
            json!({"refusal": "can't", "annotations": [1], "audio": {"id": "a", "data": "x"}}),
            json!(null),
        ),
        chunk(
            json!({"annotations": [], "audio": {"data": "y"}}),
            json!(null),
        ),
        chunk(json!({"annotations": [2]}), json!(null)),
        chunk(
            call(0, json!("c0"), json!("f"), "{\"a\":", json!("k")),
            json!(null),
        ),
        chunk(
            call(1, json!("c1"), json!("g"), "", json!(null)),
            json!(null),
        ),
        chunk(
            call(0, json!(null), json!(null), "1}", json!(null)),
            json!(null),
        ),
        chunk(json!({}), json!("tool_calls")),
    ];
    let body = sse(&chunks);
    let made = |spare: &Head, given: Given| -> Value {
        let mut completer = Completer::new(&set(), Options::default())
            .spare(spare)
            .given(given);
        assert_eq!(completer.feed(body.as_bytes()), []);
        completer.finish(None).0.parse().expect("JSON")
    };
    let spare = Head {
        id: "s".to_owned(),
        created: 3,
        model: "m".to_owned(),
        ..Head::default()
    };
    let whole = made(&spare, Given::default());
    assert_eq!(
        (&whole["id"], &whole["model"], &whole["created"]),
        (&json!("i"), &json!("m"), &json!(3))
    );
    let message = &whole["choices"][0]["message"];
    assert_eq!(message["refusal"], json!("I can't"));
    assert_eq!(message["annotations"], json!([1, 2]));
    assert_eq!(message["audio"], json!({"id": "a", "data": "xy"}));
    assert_eq!(
        message["tool_calls"][0]["function"],
        json!({"name": "f", "arguments": "{\"a\":1}"})
    );
    assert_eq!(
        (
            &message["tool_calls"][0]["x"],
            &message["tool_calls"][1]["id"]
        ),
        (&json!("k"), &json!("c1"))
    );
    let given = Given {
        id: Some("z".to_owned()),
        created: Some(1),
        model: None,
    };
    assert_eq!(made(&spare, given)["id"], json!("z"));
}

/// The output of a host that passes on bytes if possible: each event of the body, or what was made from those that were held
/// back.
fn passed(body: &str) -> (String, Same) {
    let mut rewriter = Rewriter::new(&DialectSet::defaults(), Options::default()).passing();
    let (mut out, mut raw, mut made) = (String::new(), String::new(), String::new());
    let mut last = Same::Yes;
    for event in body.split_inclusive("\n\n") {
        let errors = rewriter.feed(event.as_bytes(), &mut |line| {
            made.push_str(&format!("data: {line}\n\n"));
        });
        assert!(errors.is_empty(), "{errors:?}");
        raw.push_str(event);
        last = rewriter.same();
        match last {
            Same::Waits => continue,
            Same::Yes => out.push_str(&raw),
            Same::No => out.push_str(&made),
        }
        raw.clear();
        made.clear();
    }
    let end = rewriter.finish(None, &mut |line| panic!("{line}"));
    assert_eq!(end.changed, last == Same::No);
    (out, last)
}

fn chunk(delta: &str) -> String {
    format!("data: {{\"x\" : 1,\"choices\":[{{\"index\":0,\"delta\":{delta}}}]}}\n\n")
}

#[test]
fn unchanged_bytes_can_be_passed_on() {
    let end = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    let plain: String = [
        r#"{"role":"assistant","content":""}"#,
        r#"{"content":"a <tool"}"#,
        r#"{"content":"_calm> b < c"}"#,
        r#"{"reasoning":"hm","content":"d"}"#,
        r#"{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{"}}]}"#,
    ]
    .map(chunk)
    .concat();
    let body = format!("{plain}{end}data: [DONE]\n\n");
    assert_eq!(passed(&body), (body.clone(), Same::Yes));
    let call = [
        r#"{"content":"a <tool"}"#,
        r#"{"content":"_call name=\"f\"></tool_call> b"}"#,
    ]
    .map(chunk)
    .concat();
    // A list without calls has no effect, wherever it is.
    let empty = call.replace(r#""}"#, r#"","tool_calls":[],"function_call":null}"#);
    for call in [call, empty] {
        let (out, same) = passed(&format!("{call}{end}"));
        assert_eq!(same, Same::No);
        assert!(
            out.contains(r#""content":"a ""#) && out.contains(r#""name":"f""#),
            "{out}"
        );
        assert!(!out.contains("<tool"), "{out}");
    }
    // Text that was hidden and came back, or is escaped, differs from the input.
    let (_, same) = passed(&(chunk(r#"{"content":"<think>a</think>b"}"#) + end));
    assert_eq!(same, Same::No);
}

#[test]
fn a_completion_reports_whether_its_text_was_changed() {
    for (content, changed) in [
        ("plain <b>", false),
        ("<tool_call name='f'></tool_call>", true),
        ("<think>a</think>b", true),
    ] {
        let body = format!(
            r#"{{"choices":[{{"index":0,"message":{{"content":"{content}","reasoning":"r"}},"finish_reason":"stop"}}]}}"#
        );
        let mut completer = Completer::new(&DialectSet::defaults(), Options::default());
        assert!(completer.feed(body.as_bytes()).is_empty());
        assert_eq!(completer.finish(None).1.changed, changed, "{content}");
    }
}

#[test]
fn bytes_of_other_choices_stay_the_same() {
    let said = |index: u32, text: &str| {
        let text = serde_json::to_string(text).unwrap();
        format!(
            "data: {{\"choices\":[{{\"index\":{index},\"delta\":{{\"content\":{text}}}}}]}}\n\n"
        )
    };
    let error = "data: {\"error\":{\"message\":\"x\"}}\n\n";
    let usage = "data: {\"choices\":[],\"usage\":{}}\n\n";
    let mut rewriter = Rewriter::new(&DialectSet::defaults(), Options::default()).passing();
    for (event, same) in [
        (said(0, "a"), Same::Yes),
        (said(1, "b < c"), Same::Yes),
        (said(0, "<tool_call name=\"f\">"), Same::No),
        (said(1, "d"), Same::Yes),
        (usage.to_owned(), Same::Yes),
        (said(0, "</tool_call>"), Same::No),
        // What is held back comes out with a later event, or with an error.
        (said(1, "e <to"), Same::Waits),
        (said(1, "y f"), Same::Waits),
        (error.to_owned(), Same::No),
    ] {
        let errors = rewriter.feed(event.as_bytes(), &mut |_| {});
        assert_eq!(errors.is_empty(), event != error);
        assert_eq!(rewriter.same_last(), same, "{event}");
    }
}

/// The server's own calls pass, and so does text around them; a call in text after them is text, and escaped.
#[test]
fn text_after_a_call_of_the_server_is_read() {
    let role = chunk(r#"{"role":"assistant","content":"a"}"#);
    let own = chunk(
        r#"{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"g","arguments":"{}"}}]}"#,
    );
    let more =
        chunk(r#"{"tool_calls":[{"index":1,"id":"d","function":{"name":"h","arguments":"{}"}}]}"#);
    let end =
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n";
    let plain = [&role, &own, &chunk(r#"{"content":"b < c"}"#), &more, end].concat();
    assert_eq!(passed(&plain), (plain.clone(), Same::Yes));
    let call = r#"{"content":"<tool_call name=\"f\"></tool_call>"}"#;
    let (out, same) = passed(&[&role, &own, &chunk(call), &more, end].concat());
    assert_eq!(same, Same::No);
    assert!(
        out.starts_with(&[role.as_str(), own.as_str()].concat()),
        "{out}"
    );
    let lines = out.lines().filter_map(|line| line.strip_prefix("data: "));
    let lines: Vec<Value> = lines.map(|line| line.parse().expect("JSON")).collect();
    let client = client(&lines, 0);
    assert_eq!(client.content, r#"a<\tool_call name="f"><\/tool_call>"#);
    let names: Vec<&str> = client
        .calls
        .iter()
        .map(|(_, name, _)| name.as_str())
        .collect();
    assert_eq!(names, ["g", "h"]);
    assert_eq!(client.reason, ["tool_calls"]);
    let thought = r#"{"content":"<think>hm</think>"}"#;
    let (out, same) = passed(
        &[
            &role,
            &own,
            &chunk(r#"{"content":"\n"}"#),
            &chunk(thought),
            end,
        ]
        .concat(),
    );
    assert!(
        same == Same::No && out.contains(r#""reasoning_content":"hm""#),
        "{out}"
    );
}

#[test]
fn a_call_that_lacks_an_unreadable_event_is_not_complete() {
    let said = |text: &str| {
        let text = serde_json::to_string(text).unwrap();
        format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":{text}}}}}]}}\n\n")
    };
    let body = [
        said("<tool_call>\n{\"name\": \"rm\", \"arguments\": {\"path\": \"/tmp"),
        "data: {\"choices\": oops\n\n".to_owned(),
        said("\"}}\n</tool_call>"),
        "data: [DONE]\n\n".to_owned(),
    ]
    .concat();
    let mut rewriter = Rewriter::new(&DialectSet::defaults(), Options::default());
    let mut lines = vec![];
    let errors = rewriter.feed(body.as_bytes(), &mut |line| lines.push(line.to_owned()));
    rewriter.finish(None, &mut |line| lines.push(line.to_owned()));
    assert_eq!(errors.len(), 1);
    assert!(
        !lines.concat().contains("\"finish_reason\":\"tool_calls\""),
        "{lines:?}"
    );
    let mut completer = Completer::new(&DialectSet::defaults(), Options::default());
    let _ = completer.feed(body.as_bytes());
    let (line, _) = completer.finish(None);
    let made: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(
        made["choices"][0]["message"].get("tool_calls"),
        None,
        "{line}"
    );
}
