//! Errors of servers in the words of each client protocol.

use serde_json::json;

use crate::faces::request;
use crate::support::{Answer, FACES, Fake, client, gateway, post, read_face, spoken};

const HERMES: &str = "default.dialect = \"hermes\"\n";

/// In a stream there is no status: a client decides by the name alone whether it asks again.
#[tokio::test]
async fn errors_in_a_stream_have_names_of_the_client_protocol() {
    for (kind, name, code) in [
        ("server_error", "api_error", "server_error"),
        ("upstream_error", "api_error", "server_error"),
        ("BadRequestError", "invalid_request_error", "server_error"),
        (
            "rate_limit_error",
            "rate_limit_error",
            "rate_limit_exceeded",
        ),
        ("RateLimitError", "rate_limit_error", "rate_limit_exceeded"),
        ("overloaded_error", "overloaded_error", "server_error"),
        (
            "insufficient_quota",
            "rate_limit_error",
            "insufficient_quota",
        ),
    ] {
        let error = json!({"error": {"message": "boom", "type": kind}});
        let text = json!({"choices": [{"index": 0, "delta": {"content": "Hi"}}]});
        let body = format!("data: {text}\n\ndata: {error}\n\n");
        let fake = Fake::new(move |_| Answer::events(&body)).await;
        let url = gateway(&fake.url, HERMES).await;
        let asked = request("messages", true);
        let got = post(&client(), &format!("{url}/v1/messages"), &asked).await;
        let last = got.events().pop().unwrap();
        assert_eq!(last["error"], json!({"type": name, "message": "boom"}));
        let asked = request("responses", true);
        let got = post(&client(), &format!("{url}/v1/responses"), &asked).await;
        let last = got.events().pop().unwrap();
        assert_eq!(last["response"]["error"]["code"], code, "{kind}: {last}");
    }
    // A stream that breaks off.
    let fake = Fake::new(move |_| Answer::events("data: {\"choices\":[]}\n\n")).await;
    let url = gateway(&fake.url, HERMES).await;
    let got = post(
        &client(),
        &format!("{url}/v1/messages"),
        &request("messages", true),
    )
    .await;
    assert_eq!(got.events().pop().unwrap()["error"]["type"], "api_error");
}

/// The last event that a client of `/v1/responses` gets if a server of that protocol ends its reply, of which something was
/// converted, with this event.
async fn last_of_response(event: serde_json::Value) -> serde_json::Value {
    let events = [
        json!({"type": "response.created", "response": {"id": "r", "output": [], "status": "in_progress", "error": null}}),
        json!({"type": "response.output_text.delta", "output_index": 0, "delta": "<think>hm</think>Hi"}),
        event,
    ];
    let body: String = events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    let fake = Fake::new(move |_| Answer::events(&body)).await;
    let config = "responses = true\ndefault.dialect = \"hermes, reasoning-think\"\n";
    let url = gateway(&fake.url, config).await;
    let asked = request("responses", true);
    let got = post(&client(), &format!("{url}/v1/responses"), &asked).await;
    assert!(got.body.contains("\"hm\""), "{}", got.body);
    got.events().pop().unwrap()
}

/// The error that a server of `/v1/responses` tells stays, also after something was converted.
#[tokio::test]
async fn the_error_of_a_response_stays() {
    let error = json!({"code": "rate_limit_exceeded", "message": "boom", "odd": 1});
    let event = json!({"type": "response.failed", "response": {"id": "r", "output": [], "status": "failed", "error": error}});
    let last = last_of_response(event).await;
    assert_eq!(last["response"]["error"], error, "{last}");
    // It may come in an event of its own.
    let event =
        json!({"type": "error", "code": "rate_limit_exceeded", "message": "m", "param": null});
    let last = last_of_response(event).await;
    let code = &last["response"]["error"]["code"];
    assert_eq!(code, "rate_limit_exceeded", "{last}");
}

/// Of an error in another protocol, the status tells the kind.
#[tokio::test]
async fn a_status_names_the_error_of_a_server_with_another_protocol() {
    for (status, kind, code) in [
        (401, "authentication_error", json!("invalid_api_key")),
        (429, "rate_limit_error", json!("rate_limit_exceeded")),
        (400, "invalid_request_error", json!(null)),
        (529, "upstream_error", json!(null)),
    ] {
        let body = r#"{"type":"error","error":{"type":"x","message":"boom"}}"#;
        let fake = Fake::new(move |_| Answer::json(body).status(status)).await;
        let url = gateway(&fake.url, &format!("api = \"anthropic\"\n{HERMES}")).await;
        for (face, path) in [("chat", "chat/completions"), ("responses", "responses")] {
            let got = post(
                &client(),
                &format!("{url}/v1/{path}"),
                &request(face, false),
            )
            .await;
            let expected = json!({"message": "boom", "type": kind, "param": null, "code": code});
            assert_eq!(
                (got.status, &got.json()["error"]),
                (status, &expected),
                "{face}"
            );
        }
    }
}

/// Both protocols of OpenAI name errors alike; clients decide by these names.
#[tokio::test]
async fn the_names_of_an_error_stay_between_the_protocols_of_openai() {
    for (status, error) in [
        (
            400,
            json!({"message": "m", "type": "invalid_request_error", "code": "context_length_exceeded", "param": "messages"}),
        ),
        (
            429,
            json!({"message": "m", "type": "insufficient_quota", "code": "insufficient_quota", "param": null}),
        ),
        (
            401,
            json!({"message": "m", "type": "invalid_request_error", "code": "invalid_api_key", "param": null}),
        ),
        (
            500,
            json!({"message": "m", "type": "server_error", "code": null, "param": null}),
        ),
        // Reported in a body that is no reply.
        (
            200,
            json!({"message": "m", "type": "server_error", "code": "rate_limit_exceeded", "param": null}),
        ),
    ] {
        for body in [json!({"error": error}), error.clone()] {
            if status == 200 && body["error"].is_null() {
                continue;
            }
            let sent = format!("\u{feff}{body}");
            let fake = Fake::new(move |_| Answer::json(&sent).status(status)).await;
            let url = gateway(&fake.url, HERMES).await;
            let asked = request("responses", false);
            let got = post(&client(), &format!("{url}/v1/responses"), &asked).await;
            assert_eq!(got.status, if status == 200 { 502 } else { status });
            assert_eq!(got.json()["error"], error, "{}", got.body);
        }
    }
    // In a stream.
    for code in ["rate_limit_exceeded", "context_length_exceeded", "odd"] {
        let error = json!({"error": {"message": "m", "type": "server_error", "code": code}});
        let fake = Fake::new(move |_| Answer::events(&format!("data: {error}\n\n"))).await;
        let url = gateway(&fake.url, HERMES).await;
        let asked = request("responses", true);
        let got = post(&client(), &format!("{url}/v1/responses"), &asked).await;
        let last = got.events().pop().unwrap();
        assert_eq!(last["response"]["error"]["code"], code, "{last}");
    }
}

/// Ollama's server answers so when it is asked to load a model or to unload it.
#[tokio::test]
async fn a_model_that_was_only_loaded_ends_with_a_stop() {
    for reason in ["load", "unload"] {
        for stream in [false, true] {
            let line = json!({"model": "m", "created_at": "2025-01-01T00:00:00Z", "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": reason, "eval_count": 4});
            let fake = Fake::new(move |_| Answer::json(&format!("{line}\n"))).await;
            let url = gateway(&fake.url, &format!("api = \"ollama\"\n{HERMES}")).await;
            for ((face, path), end) in
                FACES
                    .into_iter()
                    .zip(["stop", "completed", "end_turn", reason])
            {
                let got = post(&client(), &format!("{url}{path}"), &request(face, stream)).await;
                let reply = read_face(face, &got, stream);
                assert_eq!(reply.reason.as_deref(), Some(end), "{face}: {}", got.body);
            }
        }
    }
}

/// A byte order mark before a body that is not streamed.
#[tokio::test]
async fn a_byte_order_mark_changes_nothing() {
    const CALL: &str = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>";
    for api in ["openai", "anthropic", "ollama"] {
        for ((face, path), stream) in FACES
            .into_iter()
            .flat_map(|face| [(face, false), (face, true)])
        {
            let same = crate::ends::same(face, api);
            if same && (stream || face == "chat") {
                continue;
            }
            let mut both = vec![];
            for mark in ["", "\u{feff}"] {
                let body = spoken(api, &["Hi ", CALL], false).pieces.concat();
                let body = format!("{mark}{}", String::from_utf8(body).unwrap());
                let fake = Fake::new(move |_| Answer::json(&body)).await;
                let url = gateway(&fake.url, &format!("api = {api:?}\n{HERMES}")).await;
                let got = post(&client(), &format!("{url}{path}"), &request(face, stream)).await;
                let reply = read_face(face, &got, stream);
                assert_eq!(reply.calls.len(), 1, "{face} over {api}: {}", got.body);
                let usage = stream
                    || [
                        "\"prompt_tokens\":3",
                        "\"input_tokens\":3",
                        "\"prompt_eval_count\":3",
                    ]
                    .iter()
                    .any(|usage| got.body.contains(usage));
                assert!(usage, "{face} over {api}: {}", got.body);
                assert!(
                    api == "ollama"
                        || face == "ollama"
                        || got.body.contains("_9")
                        || got.body.contains("-9\""),
                    "{face} over {api}: {}",
                    got.body
                );
                both.push(reply);
            }
            assert_eq!(both[0], both[1]);
        }
    }
}

/// A byte order mark before a body that is converted.
#[tokio::test]
async fn members_behind_a_byte_order_mark_stay() {
    const CALL: &str = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>";
    let body = json!({"id": "msg_9", "type": "message", "role": "assistant", "model": "m", "odd": 1, "content": [{"type": "text", "text": CALL}], "stop_reason": "end_turn", "stop_sequence": null, "usage": {"input_tokens": 3, "output_tokens": 4, "service_tier": "x"}});
    let mut both = vec![];
    for mark in ["", "\u{feff}"] {
        let sent = format!("{mark}{body}");
        let fake = Fake::new(move |_| Answer::json(&sent)).await;
        let url = gateway(&fake.url, &format!("api = \"anthropic\"\n{HERMES}")).await;
        let asked = request("messages", false);
        let got = post(&client(), &format!("{url}/v1/messages"), &asked).await;
        let mut got = got.json();
        // Made anew for each reply.
        let id = got.pointer_mut("/content/0/id").expect("a call");
        id.take();
        both.push(got);
    }
    assert_eq!(both[0]["odd"], 1);
    assert_eq!(both[0], both[1]);
}
