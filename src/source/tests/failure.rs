//! A server failure of any known shape is never an empty reply.

use crate::json::{Value, json};
use crate::rewrite::{Completer, Rewriter};
use crate::sink::openai::{Deltas, Head, Settings};
use crate::source::*;
use crate::{Collect, DialectSet, Options, Parser};

static SET: std::sync::LazyLock<DialectSet> = std::sync::LazyLock::new(DialectSet::defaults);

type Make = fn() -> Box<dyn Source>;

const MAKE: [(&str, Make); 3] = [
    ("openai", || Box::new(OpenAi::new())),
    ("anthropic", || Box::new(Anthropic::new())),
    ("ollama", || Box::new(Ollama::new())),
];

/// Errors, with the message and type that the host gets.
fn failures() -> Vec<(Value, &'static str, &'static str)> {
    let none = "upstream_error";
    vec![
        (
            json!({"error": {"message": "m", "type": "t", "code": 5}}),
            "m",
            "t",
        ),
        (
            json!({"error": {"message": "m", "code": "c_d"}}),
            "m",
            "c_d",
        ),
        (json!({"error": "x"}), "x", none),
        (
            json!({"error": true, "message": "没有余额"}),
            "没有余额",
            none,
        ),
        (json!({"error": {"code": 5}}), "{\"code\":5}", none),
        (
            json!({"object": "error", "message": "bad", "type": "BadRequestError", "code": 400}),
            "bad",
            "BadRequestError",
        ),
        (json!({"object": "error", "message": "bad"}), "bad", none),
        (json!({"detail": "Not Found"}), "Not Found", none),
        (
            json!({"detail": [{"loc": ["body", "messages", 0], "msg": "field required", "type": "missing"}, {"msg": "b"}]}),
            "body.messages.0: field required; b",
            none,
        ),
        (
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
            "Overloaded",
            "overloaded_error",
        ),
        (json!({"message": "bad", "code": 401}), "bad", none),
        (
            json!({"code": "InvalidApiKey", "message": "no", "request_id": "r"}),
            "no",
            "InvalidApiKey",
        ),
        (
            json!({"success": false, "errors": [{"code": 1, "message": "a"}, {"message": "b"}]}),
            "a; b",
            none,
        ),
        (
            json!({"type": "about:blank", "title": "Too Many Requests", "status": 429, "detail": "slow down"}),
            "slow down",
            "about:blank",
        ),
    ]
}

/// The framings in which such an object arrives.
fn framed(error: &Value) -> Vec<String> {
    vec![
        error.to_string(),
        format!("\u{feff}{error}\r\n"),
        format!("data: {error}\n\n"),
        format!("event: error\r\ndata: {error}\r\n\r\ndata: [DONE]\r\n\r\n"),
        format!(": hi\n\nevent: error\ndata:{error}"),
    ]
}

/// The last line of the output that is written for another server's response.
fn last(make: Make, pieces: &[&[u8]]) -> (Value, Ended, Vec<u8>) {
    let mut feeder = Feeder::new(make(), Parser::new(&SET, Options::default()));
    let mut collect = Collect::new();
    for piece in pieces {
        let _ = feeder.feed(piece, &mut collect);
    }
    let ended = feeder.finish(None, &mut collect);
    let mut line = String::new();
    let mut deltas = Deltas::new(Settings::default(), |delta| {
        line = delta.to_json(&Head::default())
    });
    if let Some(error) = &ended.error {
        deltas.fail(&error.message, &error.kind);
    }
    deltas.finish(ended.reason);
    drop(deltas);
    (line.parse().expect("JSON"), ended, collect.text().to_vec())
}

fn completed(body: &[&[u8]]) -> (Value, Finish) {
    let mut completer = Completer::new(&SET, Options::default());
    for piece in body {
        let _ = completer.feed(piece);
    }
    let (line, end) = completer.finish(None);
    (line.parse().expect("JSON"), end.reason)
}

fn rewritten(body: &[u8]) -> Vec<Value> {
    let mut lines = vec![];
    let mut rewriter = Rewriter::new(&SET, Options::default());
    let mut take = |line: &str| lines.push(line.parse().expect("JSON"));
    let _ = rewriter.feed(body, &mut take);
    rewriter.finish(None, &mut take);
    lines
}

/// Checks a body that is an error, with every source under every 2-way split.
fn each(body: &str, message: &str, kind: &str) {
    let error = json!({"error": {"message": message, "type": kind, "param": null, "code": null}});
    let bytes = body.as_bytes();
    for (name, make) in MAKE {
        if name == "ollama" && body.contains("data:") {
            continue; // It has lines, no events.
        }
        for cut in 0..=bytes.len() {
            let (a, b) = bytes.split_at(cut);
            let (line, ended, text) = last(make, &[a, b]);
            assert_eq!(line, error, "{name}: {body} split at {cut}");
            assert_eq!(
                (ended.reason, text.len()),
                (Finish::Error, 0),
                "{name}: {body}"
            );
        }
    }
}

#[test]
fn an_error_is_reported_whatever_its_shape() {
    for (error, message, kind) in failures() {
        for body in framed(&error) {
            if body.contains("data:") {
                // `[DONE]` is not part of the streams of the other servers.
                each(&body.replace("data: [DONE]\r\n\r\n", ""), message, kind);
            } else {
                each(&body, message, kind);
            }
            // Same protocol: passed on unchanged.
            for cut in 0..=body.len() {
                let (a, b) = body.as_bytes().split_at(cut);
                assert_eq!(completed(&[a, b]), (error.clone(), Finish::Error), "{body}");
            }
            assert_eq!(
                rewritten(body.as_bytes()),
                std::slice::from_ref(&error),
                "{body}"
            );
        }
    }
}

#[test]
fn invalid_json_is_the_message_of_an_error() {
    for text in [
        "<html>502</html>",
        "<html>\r\n<h1>Bad Gateway</h1>\r\n</html>\r\n",
        "upstream timed out",
        "请求过多",
        "\"quoted\"",
        "Internal Server Error\n",
    ] {
        let message = text.trim().trim_matches('"');
        each(text, message, "upstream_error");
        let (made, reason) = completed(&[text.as_bytes()]);
        assert_eq!(reason, Finish::Error);
        assert_eq!(made["error"]["message"], json!(message));
        assert_eq!(rewritten(text.as_bytes()).len(), 1);
    }
    let (made, _) = completed(&[b"event: error\ndata: upstream died\n\n"]);
    assert_eq!(made["error"]["message"], json!("upstream died"));
    let list = b"[{\"error\":{\"code\":400,\"message\":\"m\",\"status\":\"INVALID\"}}]";
    assert_eq!(completed(&[list]).0["error"]["message"], json!("m"));
}

/// An empty response is an error too, in every output.
#[test]
fn an_empty_response_is_not_an_empty_reply() {
    for body in [
        "",
        "\n",
        ": ping\n\n",
        "{\"choices\":[{\"mes",
        "data: {\"cho",
    ] {
        for (name, make) in MAKE {
            let (line, ended, _) = last(make, &[body.as_bytes()]);
            assert_eq!(ended.reason, Finish::Error, "{name}");
            assert!(
                line["error"]["message"].as_str().is_some(),
                "{name}: {line}"
            );
        }
        let (made, reason) = completed(&[body.as_bytes()]);
        assert_eq!(reason, Finish::Error);
        assert!(
            made["error"]["message"].as_str().is_some(),
            "{body}: {made}"
        );
    }
}

#[test]
fn an_error_within_a_response_is_reported() {
    let error = json!({"error": {"message": "m", "type": "t"}});
    let failed = json!({"error": {"message": "m", "type": "t", "param": null, "code": null}});
    let event = |value: Value| format!("data: {value}\r\n\r\n");
    let chunk = |index: u64, text: &str| {
        event(json!({"id": "i", "choices": [{"index": index, "delta": {"content": text}}]}))
    };
    let piece = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "half"}});
    let halves = [
        chunk(0, "half") + &chunk(1, "other") + &event(error.clone()),
        event(json!({"type": "message_start", "message": {"id": "a"}}))
            + &event(piece)
            + "event: error\r\n"
            + &event(json!({"type": "error", "error": error["error"]})),
        format!(
            "{}\n{error}\n",
            json!({"message": {"content": "half"}, "done": false})
        ),
    ];
    for ((name, make), body) in MAKE.into_iter().zip(&halves) {
        for cut in 0..=body.len() {
            let (a, b) = body.as_bytes().split_at(cut);
            let (line, ended, text) = last(make, &[a, b]);
            assert_eq!(
                (ended.reason, text.as_slice()),
                (Finish::Error, b"half".as_slice())
            );
            assert_eq!(line, failed, "{name}");
        }
    }
    assert_eq!(
        completed(&[halves[0].as_bytes()]),
        (error.clone(), Finish::Error)
    );
    assert_eq!(rewritten(halves[0].as_bytes()).last(), Some(&error));
    // An unknown object that is not an error ends nothing.
    let odd = chunk(0, "a") + &event(json!({"ping": 1})) + &chunk(0, "b") + "data: [DONE]\n\n";
    let (made, reason) = completed(&[odd.as_bytes()]);
    assert_eq!(
        (reason, &made["choices"][0]["message"]["content"]),
        (Finish::Stop, &json!("ab"))
    );
}
