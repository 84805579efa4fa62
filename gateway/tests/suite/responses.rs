//! A server that answers `/v1/responses` itself.

use serde_json::{Value, json};

use crate::support::{Answer, Fake, client, gateway, post, read_face};

const CONFIG: &str = "responses = true\ndefault.dialect = \"hermes, reasoning-think\"\n";

/// A response with a thought and a text, as OpenAI's server streams it. Its spelling is not that of the gateway.
fn events(pieces: &[&str]) -> String {
    let mut out = String::new();
    let mut number = 0;
    let mut push = |mut event: Value| {
        event["sequence_number"] = number.into();
        number += 1;
        let kind = event["type"].as_str().unwrap();
        out.push_str(&format!("event: {kind}\ndata:  {event}\n\n"));
    };
    let thought = json!({"type": "reasoning", "id": "rs_5", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]});
    let text = pieces.concat();
    let part =
        json!({"type": "output_text", "text": text, "annotations": [], "logprobs": [], "odd": 1.5});
    let message = json!({"type": "message", "id": "msg_5", "role": "assistant", "status": "completed", "content": [part]});
    let response = |status: &str, output: Value| {
        json!({"id": "resp_5", "object": "response", "created_at": 7, "model": "m", "status": status, "output": output, "odd": 1.5,
        "usage": {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}})
    };
    push(json!({"type": "response.created", "response": response("in_progress", json!([]))}));
    push(
        json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning", "id": "rs_5", "summary": []}}),
    );
    push(
        json!({"type": "response.reasoning_text.delta", "output_index": 0, "item_id": "rs_5", "content_index": 0, "delta": "hm"}),
    );
    push(json!({"type": "response.output_item.done", "output_index": 0, "item": thought}));
    push(
        json!({"type": "response.output_item.added", "output_index": 1, "item": {"type": "message", "id": "msg_5", "role": "assistant", "status": "in_progress", "content": []}}),
    );
    push(
        json!({"type": "response.content_part.added", "output_index": 1, "item_id": "msg_5", "content_index": 0, "part": {"type": "output_text", "text": ""}}),
    );
    for piece in pieces {
        push(
            json!({"type": "response.output_text.delta", "output_index": 1, "item_id": "msg_5", "content_index": 0, "delta": piece}),
        );
    }
    push(
        json!({"type": "response.output_text.done", "output_index": 1, "item_id": "msg_5", "content_index": 0, "text": text}),
    );
    push(json!({"type": "response.output_item.done", "output_index": 1, "item": message}));
    push(
        json!({"type": "response.completed", "response": response("completed", json!([thought, message]))}),
    );
    out
}

fn body(text: &str) -> String {
    let done = events(&[text]);
    let last = done
        .lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .next_back();
    serde_json::from_str::<Value>(last.unwrap()).unwrap()["response"].to_string()
}

fn asked(stream: bool) -> Value {
    json!({"model": "m", "stream": stream, "input": [{"role": "user", "content": "x"}, {"type": "web_search_call", "id": "ws_1"}],
        "previous_response_id": "resp_4", "top_logprobs": 2, "tools": [{"type": "web_search"}, {"type": "function", "name": "f", "parameters": {"type": "object"}}]})
}

#[tokio::test]
async fn bytes_without_a_marker_and_the_request_are_forwarded_unchanged() {
    let native = events(&["x"]).replace("\"msg_5\"", "\"fc_5\"").replace(
        "\"type\":\"message\"",
        "\"type\":\"function_call\",\"call_id\":\"q\",\"name\":\"f\"",
    );
    for (stream, sent) in [
        (true, events(&["Hi <tool", "_belt> ", "x"])),
        (true, native),
        (false, body("Hi <tool_belt>")),
    ] {
        for size in [1, 9, sent.len()] {
            let back = sent.clone();
            let fake = Fake::new(move |_| match stream {
                true => Answer::events(&back).cut(size),
                false => Answer::json(&back).cut(size),
            })
            .await;
            let url = gateway(&fake.url, CONFIG).await;
            let got = post(
                &client(),
                &format!("{url}/v1/responses?a=b"),
                &asked(stream),
            )
            .await;
            assert_eq!(got.body, sent, "{size}");
            assert!(!got.headers.contains_key("toolglot-ignored"));
            assert_eq!(fake.last().body, asked(stream).to_string());
            assert!(fake.last().line.contains("/v1/responses?a=b"));
        }
    }
}

#[tokio::test]
async fn calls_in_the_text_become_items_after_those_of_the_server() {
    let call = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>";
    for pieces in [
        vec!["Hi ", call],
        vec!["Hi <to", &call[3..]],
        vec![call],
        vec!["\n", call, "\n", call, "\nBye"],
    ] {
        let text = pieces.concat();
        let count = text.matches("<tool_call>").count();
        let (sent, whole) = (events(&pieces), body(&text));
        let fake = Fake::new(move |asked| match asked.json()["stream"] == true {
            true => Answer::events(&sent).cut(50),
            false => Answer::json(&whole),
        })
        .await;
        let url = gateway(&fake.url, CONFIG).await;
        let mut both = vec![];
        for stream in [true, false] {
            let got = post(&client(), &format!("{url}/v1/responses"), &asked(stream)).await;
            let reply = read_face("responses", &got, stream);
            assert_eq!(
                (reply.calls.len(), reply.thought.as_str()),
                (count, "hm"),
                "{}",
                got.body
            );
            let response = match stream {
                true => got.events().last().unwrap()["response"].clone(),
                false => got.json(),
            };
            assert_eq!(
                (&response["id"], &response["usage"]["output_tokens"]),
                (&"resp_5".into(), &4.into())
            );
            let kinds = response["output"].as_array().unwrap().iter();
            let kinds: Vec<String> = kinds.map(|item| item["type"].to_string()).collect();
            if stream {
                // The events of each item: added, and done, at its place.
                let places = |kind: &str| -> Vec<u64> {
                    let events = got.events();
                    let all = events.iter().filter(|event| event["type"] == kind);
                    all.map(|event| event["output_index"].as_u64().unwrap())
                        .collect()
                };
                let expected: Vec<u64> = (0..kinds.len() as u64).collect();
                assert_eq!(
                    places("response.output_item.added"),
                    expected,
                    "{}",
                    got.body
                );
                assert_eq!(
                    places("response.output_item.done"),
                    expected,
                    "{}",
                    got.body
                );
            }
            both.push((kinds, reply.text, reply.calls, reply.reason));
        }
        assert_eq!(both[0], both[1]);
    }
}

#[tokio::test]
async fn an_error_of_such_a_server_is_an_error() {
    let cut: String = events(&["Hi ", "<tool_call>\n{\"name\""])
        .split_inclusive("\n\n")
        .take(8)
        .collect();
    let failed = "event: response.failed\ndata: {\"type\":\"response.failed\",\"sequence_number\":8,\"response\":{\"id\":\"resp_5\",\"status\":\"failed\",\"error\":{\"code\":\"server_error\",\"message\":\"too much\"}}}\n\n";
    for (sent, word) in [(cut.clone(), "broke off"), (cut + failed, "too much")] {
        let fake = Fake::new(move |_| Answer::events(&sent)).await;
        let url = gateway(&fake.url, CONFIG).await;
        let got = post(&client(), &format!("{url}/v1/responses"), &asked(true)).await;
        let last = got.events().pop().unwrap();
        assert_eq!(last["type"], "response.failed", "{}", got.body);
        assert!(
            last["response"]["error"]["message"]
                .as_str()
                .unwrap()
                .contains(word),
            "{last}"
        );
        assert!(
            got.body.contains("Hi ") && !got.body.contains("function_call\""),
            "{}",
            got.body
        );
    }
}

/// A search that the server ran itself between a text and a call, with members that the gateway does not know.
fn searched() -> String {
    let mut out = String::new();
    let mut number = 0;
    let mut push = |kind: &str, mut event: Value| {
        event["type"] = kind.into();
        event["sequence_number"] = number.into();
        number += 1;
        out.push_str(&format!("event: {kind}\ndata: {event}\n\n"));
    };
    let text = |id: &str, status: &str, parts: &[&str]| {
        let part = |text: &&str| json!({"type": "output_text", "text": text, "annotations": []});
        let parts: Vec<Value> = parts.iter().map(part).collect();
        json!({"type": "message", "id": id, "role": "assistant", "status": status, "content": parts})
    };
    let search = |status: &str| json!({"type": "web_search_call", "id": "ws_5", "status": status, "action": {"query": "x"}});
    let own = |status: &str, arguments: &str| json!({"type": "function_call", "id": "fc_5", "call_id": "q", "name": "f", "arguments": arguments, "status": status, "namespace": "n"});
    let response = |status: &str, output: Value| {
        json!({"id": "resp_5", "object": "response", "created_at": 7, "model": "m", "status": status, "output": output, "tools": [{"type": "web_search"}],
            "service_tier": "flex", "usage": {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7, "output_tokens_details": {"reasoning_tokens": 1}}})
    };
    push(
        "response.created",
        json!({"response": response("in_progress", json!([]))}),
    );
    push(
        "response.output_item.added",
        json!({"output_index": 0, "item": text("msg_4", "in_progress", &[])}),
    );
    for (at, piece) in [
        "Hi ",
        "<tool_call>\n{\"name\": \"g\", \"arguments\": {}}\n</tool_call>then ",
    ]
    .into_iter()
    .enumerate()
    {
        let place = json!({"output_index": 0, "item_id": "msg_4", "content_index": at});
        let with = |key: &str, value: Value| {
            let mut event = place.clone();
            event[key] = value;
            event
        };
        push(
            "response.content_part.added",
            with("part", json!({"type": "output_text", "text": ""})),
        );
        push("response.output_text.delta", with("delta", piece.into()));
        push("response.output_text.done", with("text", piece.into()));
        push(
            "response.content_part.done",
            with("part", json!({"type": "output_text", "text": piece})),
        );
    }
    let first = text(
        "msg_4",
        "completed",
        &[
            "Hi ",
            "<tool_call>\n{\"name\": \"g\", \"arguments\": {}}\n</tool_call>then ",
        ],
    );
    push(
        "response.output_item.done",
        json!({"output_index": 0, "item": first}),
    );
    push(
        "response.output_item.added",
        json!({"output_index": 1, "item": search("in_progress")}),
    );
    push(
        "response.web_search_call.searching",
        json!({"output_index": 1, "item_id": "ws_5", "odd": 1}),
    );
    push(
        "response.output_item.done",
        json!({"output_index": 1, "item": search("completed")}),
    );
    push(
        "response.output_item.added",
        json!({"output_index": 2, "item": own("in_progress", "")}),
    );
    push(
        "response.function_call_arguments.delta",
        json!({"output_index": 2, "item_id": "fc_5", "delta": "{\"a\":1}"}),
    );
    push(
        "response.output_item.done",
        json!({"output_index": 2, "item": own("completed", "{\"a\":1}")}),
    );
    push("response.odd", json!({"odd": 2}));
    let output = json!([first, search("completed"), own("completed", "{\"a\":1}")]);
    push(
        "response.completed",
        json!({"response": response("completed", output)}),
    );
    out
}

/// What is neither text, thought nor call stays where it stood, also after something was converted.
#[tokio::test]
async fn items_and_members_that_the_gateway_does_not_know_stay() {
    let last = |body: &str| -> Value {
        let mut data = body.lines().filter_map(|line| line.strip_prefix("data:"));
        serde_json::from_str::<Value>(data.next_back().unwrap()).unwrap()["response"].clone()
    };
    let sent = searched();
    let whole = last(&sent).to_string();
    for size in [1, 40, usize::MAX] {
        let (sent, whole) = (sent.clone(), whole.clone());
        let fake = Fake::new(move |asked| match asked.json()["stream"] == true {
            true => Answer::events(&sent).cut(size),
            false => Answer::json(&whole),
        })
        .await;
        let url = gateway(&fake.url, &format!("{CONFIG}default.prefer = \"both\"\n")).await
            + "/v1/responses";
        let streamed = post(&client(), &url, &asked(true)).await;
        let events = streamed.events();
        for (number, event) in events.iter().enumerate() {
            assert_eq!(event["sequence_number"], number, "{}", streamed.body);
        }
        let known = |kind: &str| events.iter().find(|event| event["type"] == kind).unwrap();
        assert_eq!(known("response.odd")["odd"], 2);
        let searching = known("response.web_search_call.searching");
        assert_eq!(
            (&searching["odd"], &searching["item_id"]),
            (&json!(1), &json!("ws_5"))
        );
        let response = &last(&streamed.body);
        let place = usize::try_from(searching["output_index"].as_u64().unwrap()).unwrap();
        assert_eq!(response["output"][place]["id"], "ws_5", "{}", streamed.body);
        // Parts of one item, each opened and closed once.
        let mut parts = vec![];
        for event in &events {
            let at = (&event["output_index"], &event["content_index"]);
            match event["type"].as_str().unwrap() {
                "response.content_part.added" => parts.push((at, false)),
                "response.content_part.done" => {
                    let open = parts.iter_mut().find(|(own, done)| *own == at && !done);
                    open.unwrap_or_else(|| panic!("{}", streamed.body)).1 = true;
                }
                _ => {}
            }
        }
        assert!(parts.iter().all(|(_, done)| *done), "{}", streamed.body);
        let got = post(&client(), &url, &asked(false)).await.json();
        for response in [response, &got] {
            assert_eq!(
                (&response["service_tier"], &response["status"]),
                (&json!("flex"), &json!("completed"))
            );
            assert_eq!(response["tools"], json!([{"type": "web_search"}]));
            assert_eq!(
                response["usage"]["output_tokens_details"]["reasoning_tokens"],
                1
            );
            let output = response["output"].as_array().unwrap();
            let kinds: Vec<&str> = output
                .iter()
                .map(|item| item["type"].as_str().unwrap())
                .collect();
            assert_eq!(
                kinds,
                [
                    "message",
                    "function_call",
                    "message",
                    "web_search_call",
                    "function_call"
                ]
            );
            assert_eq!(output[3]["action"]["query"], "x");
            let own = &output[4];
            assert_eq!(
                (&own["id"], &own["namespace"], &own["arguments"]),
                (&json!("fc_5"), &json!("n"), &json!("{\"a\":1}"))
            );
        }
        let texts = |response: &Value| {
            let items = response["output"].as_array().unwrap().iter();
            let parts =
                items.flat_map(|item| item["content"].as_array().cloned().unwrap_or_default());
            parts
                .map(|part| part["text"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(texts(response), ["Hi ", "then "]);
        assert_eq!(texts(&got), texts(response));
    }
}
