//! Rejected API tool calls: whatever the server and its framing, every output lists the calls that it leaves out.

use crate::json::{Value, json};
use crate::rewrite::{self, Given, Rewriter};
use crate::sink::openai::{self, Deltas, Head, Settings};
use crate::source::*;
use crate::{Collect, DialectSet, Kind, Options, Parser, Turn};

static SET: std::sync::LazyLock<DialectSet> = std::sync::LazyLock::new(DialectSet::defaults);

/// A call as the server sends it.
struct Sent {
    name: &'static str,
    /// The arguments in the document: a string that holds them, or a value.
    arguments: Value,
    cut: bool,
}

fn string(name: &'static str, arguments: &str) -> Sent {
    Sent {
        name,
        arguments: json!(arguments),
        cut: false,
    }
}

type Make = fn() -> Box<dyn Source>;

fn chunk(delta: &Value, reason: &Value) -> String {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
    format!("data: {}\n\n", json!({"id": "x", "choices": [choice]}))
}

/// The response of each server that can send these arguments, with the call in it.
fn bodies(sent: &Sent) -> Vec<(&'static str, Make, String)> {
    let name = sent.name;
    let arguments = &sent.arguments;
    let piece = arguments.as_str().map(str::to_owned);
    let function = json!({"name": name, "arguments": arguments});
    let call = json!({"index": 0, "id": "c", "type": "function", "function": function});
    let legacy = json!({"function_call": function});
    let word = if sent.cut { "length" } else { "tool_calls" };
    let stop = json!(if sent.cut { "max_tokens" } else { "tool_use" });
    let open: Make = || Box::new(OpenAi::new());
    let claude: Make = || Box::new(Anthropic::new());
    let llama: Make = || Box::new(Ollama::new());
    let whole = |message: &Value| {
        let choice = json!({"index": 0, "message": message, "finish_reason": word});
        json!({"id": "x", "choices": [choice]}).to_string()
    };
    let event = |value: Value| format!("data: {value}\r\n\r\n");
    let calls = json!({"tool_calls": [call]});
    let done = json!({"done": true, "done_reason": if sent.cut { "length" } else { "stop" }});
    let message = json!({"message": {"tool_calls": [{"function": function}]}});
    let block = json!({"type": "tool_use", "id": "c", "name": name, "input": arguments});
    let start = |block: &Value| {
        event(json!({"type": "content_block_start", "index": 1, "content_block": block}))
    };
    let end = event(json!({"type": "content_block_stop", "index": 1}))
        + &event(json!({"type": "message_delta", "delta": {"stop_reason": stop}}))
        + &event(json!({"type": "message_stop"}));
    let mut all = vec![
        (
            "openai",
            open,
            chunk(&calls, &Value::Null) + &chunk(&json!({}), &json!(word)) + "data: [DONE]\n\n",
        ),
        ("openai whole", open, whole(&calls)),
        ("openai, old", open, chunk(&legacy, &json!(word))),
        (
            "anthropic whole",
            claude,
            json!({"type": "message", "content": [block], "stop_reason": stop}).to_string(),
        ),
        ("anthropic start", claude, start(&block) + &end),
        ("ollama", llama, format!("{message}\r\n{done}\r\n")),
    ];
    if let Some(piece) = piece {
        let bare = json!({"type": "tool_use", "id": "c", "name": name, "input": {}});
        let delta = json!({"type": "input_json_delta", "partial_json": piece});
        let delta = event(json!({"type": "content_block_delta", "index": 1, "delta": delta}));
        all.push(("anthropic", claude, start(&bare) + &delta + &end));
    }
    all
}

/// What a client reads of a response: the turn, the completion and the stream that are written for it.
fn read(make: Make, pieces: &[&[u8]]) -> (Turn, Value, Value) {
    let run = |sink: &mut dyn crate::Sink| {
        let mut feeder = Feeder::new(make(), Parser::new(&SET, Options::default()));
        for piece in pieces {
            let _ = feeder.feed(piece, sink);
        }
        feeder.finish(None, sink).reason
    };
    let mut collect = Collect::new();
    let reason = run(&mut collect);
    let turn = collect.turn();
    let settings = Settings::default();
    let completion = openai::completion(&turn, &Head::default(), &settings, reason);
    let mut last = String::new();
    let mut deltas = Deltas::new(settings, |delta| last = delta.to_json(&Head::default()));
    let reason = run(&mut deltas);
    deltas.finish(reason);
    drop(deltas);
    (
        turn,
        completion.parse().expect("JSON"),
        last.parse().expect("JSON"),
    )
}

/// All outputs of an OpenAI response that is rewritten.
fn rewritten(body: &str) -> Value {
    if body.starts_with('{') {
        let settings = Settings::default();
        let (line, _) = rewrite::completion(
            &SET,
            &Options::default(),
            &settings,
            &Given::default(),
            body.as_bytes(),
        );
        return line.parse().expect("JSON");
    }
    let mut last = String::new();
    let mut rewriter = Rewriter::new(&SET, Options::default());
    let _ = rewriter.feed(body.as_bytes(), &mut |line| line.clone_into(&mut last));
    rewriter.finish(None, &mut |line| line.clone_into(&mut last));
    last.parse().expect("JSON")
}

/// Runs the check for each server that can send the call, under every 2-way split.
fn each(sent: &Sent, check: impl Fn(&str, &Turn, &Value)) {
    for (server, make, body) in bodies(sent) {
        let whole = read(make, &[body.as_bytes()]);
        for cut in 0..=body.len() {
            let (a, b) = body.as_bytes().split_at(cut);
            let mut collect = Collect::new();
            let mut feeder = Feeder::new(make(), Parser::new(&SET, Options::default()));
            let _ = feeder.feed(a, &mut collect);
            let _ = feeder.feed(b, &mut collect);
            let _ = feeder.finish(None, &mut collect);
            assert_eq!(collect.turn(), whole.0, "{server} split at {cut}");
        }
        let (turn, completion, last) = whole;
        check(server, &turn, &completion);
        check(server, &turn, &last);
        if server.starts_with("openai") {
            check(server, &turn, &rewritten(&body));
        }
    }
}

/// How a client sees that a call was left out.
fn dropped(kind: Kind) -> impl Fn(&str, &Turn, &Value) {
    move |server, turn, made| {
        let wanted = json!({"withheld": [], "dropped": [{"span": [0, 0], "kinds": [kind.name()]}]});
        assert_eq!(made["toolglot"], wanted, "{server}: {made}");
        assert_eq!(turn.not_delivered.to_json(), wanted.to_string(), "{server}");
        assert!(turn.calls.is_empty(), "{server}");
        let reason = &made["choices"][0]["finish_reason"];
        assert_ne!(*reason, json!("tool_calls"), "{server}");
        assert!(reason.as_str().is_some(), "{server}: {made}");
    }
}

#[test]
fn arguments_that_are_not_an_object_are_listed_as_dropped() {
    let strings = [
        "{bad",
        "[1]",
        "null",
        "{\"a\":tru",
        "{\"a\":NaN}",
        "{\"a\":\"\\ud800\"}",
        "{\"a\":1}}",
        "\"x\"",
        "5",
        "你好",
    ];
    for text in strings {
        each(&string("f", text), dropped(Kind::MalformedJson));
    }
    for value in [json!([1]), json!(true), json!(5), json!([{"a": 1}])] {
        let sent = Sent {
            name: "f",
            arguments: value,
            cut: false,
        };
        each(&sent, dropped(Kind::MalformedJson));
    }
}

#[test]
fn what_a_length_limit_truncates_is_listed_as_dropped() {
    for text in ["{\"city\":\"Le", "{\"a\":1", "{\"甲\":[1,"] {
        let cut = Sent {
            cut: true,
            ..string("f", text)
        };
        each(&cut, dropped(Kind::MalformedJson));
    }
}

#[test]
fn an_invalid_name_is_listed_as_dropped() {
    each(&string("", "{}"), dropped(Kind::MissingName));
    each(&string("two words", "{}"), dropped(Kind::MalformedBody));
    let long = "n".repeat(2000).leak();
    each(&string(long, "{}"), dropped(Kind::LimitName));
}

#[test]
fn a_repeated_key_is_withheld_and_occurs_once() {
    for text in [
        "{\"a\":1,\"a\":2}",
        " { \"a\" : [1, 2], \"\\u0061\" : 2 } ",
        "{\"a\":{\"a\":0},\"a\":0,\"a\":2}",
    ] {
        each(&string("f", text), |server, turn, made| {
            let call = &turn.calls[0];
            assert_eq!(call.arguments, "{\"a\":2}", "{server}");
            assert_eq!(call.grade, crate::Grade::Recovered, "{server}");
            let withheld = json!([{"name": "f", "kinds": ["duplicate_param"], "span": [0, 0]}]);
            assert_eq!(made["toolglot"]["withheld"], withheld, "{server}");
            assert_ne!(made["choices"][0]["finish_reason"], json!("tool_calls"));
        });
    }
    // Below the top level a key may occur twice, as in the arguments of a call of the text.
    each(
        &string("f", "{\"a\":{\"b\":1,\"b\":2}}"),
        |_, turn, made| {
            assert_eq!(turn.calls[0].grade, crate::Grade::Complete);
            assert_eq!(made.get("toolglot"), None);
        },
    );
}

#[test]
fn arguments_that_are_whole_are_calls_whatever_holds_them() {
    for sent in [
        string("f", "{\"a\":1}"),
        string("f", " {\"a\":1}\n"),
        Sent {
            name: "f",
            arguments: json!({"a": 1}),
            cut: false,
        },
    ] {
        each(&sent, |server, turn, made| {
            assert_eq!(turn.calls[0].arguments, "{\"a\":1}", "{server}");
            assert_eq!(made.get("toolglot"), None, "{server}");
            let reason = &made["choices"][0]["finish_reason"];
            assert_eq!(*reason, json!("tool_calls"), "{server}");
        });
    }
    for nothing in [json!(null), json!(""), json!({})] {
        let sent = Sent {
            name: "f",
            arguments: nothing,
            cut: false,
        };
        each(&sent, |server, turn, _| {
            assert_eq!(turn.calls[0].arguments, "{}", "{server}");
        });
    }
}

/// A call whose response ends early is listed beside the error.
#[test]
fn a_call_that_breaks_off_is_listed_as_dropped() {
    for (server, make, body) in bodies(&string("f", "{\"a\":1}")) {
        let end = [
            "\"finish_reason\":\"tool",
            "\"content_block_stop\"",
            "\"stop_reason\"",
        ];
        let Some(at) = end.iter().find_map(|end| body.find(end)) else {
            continue;
        };
        if body.starts_with('{') {
            continue; // A truncated body is not JSON, so no call is known.
        }
        let at = body[..at].rfind("data:").expect("it is an event");
        let (turn, _, _) = read(make, &[&body.as_bytes()[..at]]);
        if at == 0 {
            continue;
        }
        let listed: Vec<_> = turn.not_delivered.dropped.iter().collect();
        assert_eq!(listed.len(), 1, "{server}");
        assert!(listed[0].kinds.contains(Kind::UnclosedBlock), "{server}");
    }
}
