//! Every client protocol with every server protocol.

use serde_json::{Value, json};

use crate::support::{Answer, FACES, Fake, chunks, client, gateway, got, post, read_face, spoken};

const PIECES: [&str; 4] = [
    "<think>hm</think>Hi ",
    "<tool_call>\n{\"name\": \"f\", ",
    "\"arguments\": {\"a\": 1}}\n</tool",
    "_call>",
];

fn config(api: &str) -> String {
    format!("api = {api:?}\ndefault.dialect = \"hermes, reasoning-think\"\n")
}

/// A request with a tool, in the format of a protocol.
pub fn request(face: &str, stream: bool) -> Value {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let function = json!({"name": "f", "parameters": schema});
    match face {
        "chat" => {
            json!({"model": "m", "stream": stream, "messages": [{"role": "user", "content": "x"}], "tools": [{"type": "function", "function": function}]})
        }
        "responses" => {
            json!({"model": "m", "stream": stream, "input": "x", "tools": [{"type": "function", "name": "f", "parameters": schema}]})
        }
        "messages" => {
            json!({"model": "m", "stream": stream, "max_tokens": 9, "messages": [{"role": "user", "content": "x"}], "tools": [{"name": "f", "input_schema": schema}]})
        }
        _ => {
            json!({"model": "m", "stream": stream, "messages": [{"role": "user", "content": "x"}], "tools": [{"type": "function", "function": function}]})
        }
    }
}

#[tokio::test]
async fn calls_reach_every_client_from_every_server() {
    for api in ["openai", "anthropic", "ollama"] {
        let fake = Fake::new(move |asked| {
            let body = asked.json();
            assert_eq!(body["tools"].as_array().map(Vec::len), Some(1), "{body}");
            assert_eq!(body["messages"][0]["role"], "user");
            spoken(api, &PIECES, body["stream"] == true).cut(11)
        })
        .await;
        let url = gateway(&fake.url, &config(api)).await;
        for (face, path) in FACES {
            let mut both = vec![];
            for stream in [true, false] {
                let got = post(&client(), &format!("{url}{path}"), &request(face, stream)).await;
                assert_eq!(got.status, 200, "{}", got.body);
                let mut reply = read_face(face, &got, stream);
                for call in &mut reply.calls {
                    call.1 = call.1.replace(' ', "");
                }
                both.push(reply);
            }
            assert_eq!(both[0], both[1], "{face} over {api}");
            assert_eq!(
                (both[0].text.as_str(), both[0].thought.as_str()),
                ("Hi ", "hm")
            );
            assert_eq!(both[0].calls, [("f".to_owned(), "{\"a\":1}".to_owned())]);
        }
    }
}

#[tokio::test]
async fn bytes_without_a_marker_are_forwarded_between_equal_protocols() {
    let plain = ["Hi <tool", "_belt> ", "x"];
    for (api, path) in [
        ("anthropic", "/v1/messages?beta=true"),
        ("ollama", "/api/chat"),
    ] {
        for stream in [true, false] {
            let fake = Fake::new(move |_| spoken(api, &plain, stream).cut(1)).await;
            let url = gateway(&fake.url, &config(api)).await;
            let asked = json!({"stream": stream, "model": "m", "odd": 1.50});
            let got = post(&client(), &format!("{url}{path}"), &asked).await;
            let body = spoken(api, &plain, stream).pieces.concat();
            assert_eq!(got.body.as_bytes(), body, "{api}");
            assert_eq!(fake.last().body, asked.to_string());
            assert!(fake.last().line.contains(path), "{}", fake.last().line);
        }
    }
}

#[tokio::test]
async fn conversations_are_converted_to_the_server_protocol() {
    let messages = json!({
        "model": "m", "max_tokens": 9, "system": [{"type": "text", "text": "S"}], "stop_sequences": ["Z"],
        "tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": true},
        "tools": [{"name": "f", "description": "d", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QQ=="}}]},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": ""}, {"type": "text", "text": "y"}, {"type": "tool_use", "id": "q", "name": "f", "input": {"a": 1.50}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "q", "content": [{"type": "text", "text": "r"}]}, {"type": "text", "text": "z"}]},
        ],
    });
    let fake = Fake::new(|_| spoken("openai", &["x"], false)).await;
    let url = gateway(&fake.url, &config("openai")).await;
    let client = client();
    let sent = client
        .post(format!("{url}/v1/messages"))
        .header("x-api-key", "k")
        .body(messages.to_string());
    assert_eq!(sent.send().await.unwrap().status(), 200);
    let chat = fake.last().json();
    let expected = json!({
        "model": "m", "max_tokens": 9, "stop": ["Z"], "parallel_tool_calls": false,
        "tool_choice": {"type": "function", "function": {"name": "f"}},
        "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}],
        "messages": [
            {"role": "system", "content": "S"},
            {"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,QQ=="}}]},
            {"role": "assistant", "content": "y", "reasoning_content": "t", "tool_calls": [{"id": "q", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1.5}"}}]},
            {"role": "tool", "tool_call_id": "q", "content": "r"},
            {"role": "user", "content": "z"},
        ],
    });
    assert_eq!(chat, expected);
    assert_eq!(fake.last().header("authorization"), Some("Bearer k"));
    // The reverse: chat completions converted for Anthropic's server.
    let fake = Fake::new(|_| spoken("anthropic", &["x"], false)).await;
    let url = gateway(&fake.url, &config("anthropic")).await;
    post(&client, &format!("{url}/v1/chat/completions"), &chat).await;
    let mut back = messages.clone();
    back["system"] = "S".into();
    // A thought without Anthropic's signature cannot be sent.
    back["messages"][1]["content"]
        .as_array_mut()
        .unwrap()
        .remove(0);
    back["messages"][2]["content"][0]["content"] = "r".into();
    assert_eq!(fake.last().json(), back);
    assert_eq!(fake.last().header("anthropic-version"), Some("2023-06-01"));
}

#[tokio::test]
async fn a_reply_of_several_items_is_one_message() {
    let fake = Fake::new(|_| spoken("openai", &["x"], false)).await;
    let url = gateway(&fake.url, &config("openai")).await;
    let text = |text: &str| json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]});
    let call =
        |id: &str| json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"});
    let result = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "r"});
    let made = |id: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let mut asked = request("responses", false);
    asked["input"] = json!([
        {"role": "user", "content": "x"},
        text("Hi"), call("p"), text(" and"), call("q"), text("."), result("p"), result("q"),
        text("Done"), {"role": "user", "content": "y"},
    ]);
    post(&client(), &format!("{url}/v1/responses"), &asked).await;
    let expected = json!([
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": "Hi and.", "tool_calls": [made("p"), made("q")]},
        {"role": "tool", "tool_call_id": "p", "content": "r"},
        {"role": "tool", "tool_call_id": "q", "content": "r"},
        {"role": "assistant", "content": "Done"},
        {"role": "user", "content": "y"},
    ]);
    assert_eq!(fake.last().json()["messages"], expected);
}

#[tokio::test]
async fn an_empty_list_of_tools_declares_none() {
    let fake = Fake::new(|_| spoken("openai", &["x"], false)).await;
    let url = gateway(&fake.url, &config("openai")).await;
    for (face, path) in FACES.into_iter().filter(|(face, _)| *face != "chat") {
        let mut asked = request(face, false);
        asked["tools"] = json!([]);
        let got = post(&client(), &format!("{url}{path}"), &asked).await;
        assert_eq!(got.status, 200, "{}", got.body);
        assert_eq!(fake.last().json().get("tools"), None, "{face}");
    }
}

#[tokio::test]
async fn unsupported_requests_are_refused_with_a_message() {
    let fake = Fake::new(|_| spoken("ollama", &["x"], false)).await;
    let url = gateway(&fake.url, &config("ollama")).await;
    let mut forced = request("chat", false);
    forced["tool_choice"] = "required".into();
    let mut kept = request("responses", false);
    kept["previous_response_id"] = "resp_1".into();
    let mut own = request("messages", false);
    own["tools"] = json!([{"type": "web_search_20250305", "name": "web_search"}]);
    for (path, asked, word) in [
        ("/v1/chat/completions", forced, "tool_choice"),
        ("/v1/responses", kept, "previous_response_id"),
        ("/v1/messages", own, "web_search"),
        ("/v1/messages", json!([1]), "object"),
    ] {
        let got = post(&client(), &format!("{url}{path}"), &asked).await;
        assert_eq!(got.status, 400, "{}", got.body);
        assert!(
            got.json()["error"]["message"]
                .as_str()
                .unwrap()
                .contains(word),
            "{}",
            got.body
        );
    }
    assert!(
        fake.asked
            .lock()
            .unwrap()
            .iter()
            .all(|asked| asked.line.contains("/props"))
    );
}

#[tokio::test]
async fn server_errors_are_converted_to_the_client_protocol() {
    let fake = Fake::new(|_| {
        Answer::json(r#"{"error":{"message":"slow down","type":"x"}}"#)
            .status(429)
            .header("retry-after", "3")
    })
    .await;
    let url = gateway(&fake.url, &config("openai")).await;
    for (face, path) in FACES {
        let got = post(&client(), &format!("{url}{path}"), &request(face, true)).await;
        assert_eq!(
            (got.status, &got.headers["retry-after"]),
            (429, &"3".parse().unwrap())
        );
        assert!(got.body.contains("slow down"), "{}", got.body);
    }
    let got = post(
        &client(),
        &format!("{url}/v1/messages"),
        &request("messages", true),
    )
    .await;
    assert_eq!(got.json()["error"]["type"], "rate_limit_error");
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_an_error_in_every_protocol() {
    let fake = Fake::new(|_| {
        let mut answer = spoken("openai", &["Hi ", "<tool_call>\n{\"name\": \"f\""], true);
        let body = String::from_utf8(answer.pieces.concat()).unwrap();
        let cut: Vec<&str> = body.split_inclusive("\n\n").take(3).collect();
        answer.pieces = vec![cut.concat().into_bytes()];
        answer.dies = true;
        answer
    })
    .await;
    let url = gateway(&fake.url, &config("openai")).await;
    for (face, path) in FACES {
        let got = post(&client(), &format!("{url}{path}"), &request(face, true)).await;
        let told = got.body.contains("error") || got.body.contains("response.failed");
        // Only chat completions deliver a call while it is being written.
        let call = ["\"function_call\"", "\"tool_use\"", "\"tool_calls\""];
        let named = face != "chat" && call.iter().any(|word| got.body.contains(word));
        assert!(told && !named, "{face}: {}", got.body);
    }
}

#[tokio::test]
async fn comments_reach_event_clients_and_data_after_the_end_only_chat_clients() {
    for lines in ["\n", "\r\n"] {
        let fake = Fake::new(move |_| {
            let body = chunks(&PIECES) + &chunks(&["behind"]);
            Answer::events(&format!(": ping\n\n{body}").replace('\n', lines)).cut(7)
        })
        .await;
        let url = gateway(&fake.url, &config("openai")).await;
        for (face, path) in FACES {
            let got = post(&client(), &format!("{url}{path}"), &request(face, true)).await;
            assert_eq!(got.body.contains(": ping"), face != "ollama", "{face}");
            assert_eq!(got.body.contains("behind"), face == "chat", "{face}");
            if face == "ollama" {
                let documents = got.body.lines().map(serde_json::from_str);
                let documents: Vec<Value> = documents.map(Result::unwrap).collect();
                assert_eq!(documents.last().unwrap()["done"], true, "{}", got.body);
            }
        }
    }
}

#[tokio::test]
async fn ollama_documents_contain_no_line_separators() {
    let text = "a\u{85}b\u{2028}c\u{2029}\u{b}\u{c}\u{1c}\u{1e}é";
    for api in ["openai", "ollama"] {
        let call = json!({"name": "f", "arguments": {"a": text}});
        let call = format!("{text}<tool_call>\n{call}\n</tool_call>");
        let fake = Fake::new(move |_| spoken(api, &[&call], true)).await;
        let url = gateway(&fake.url, &config(api)).await;
        let got = post(
            &client(),
            &format!("{url}/api/chat"),
            &request("ollama", true),
        )
        .await;
        let mut reply = (String::new(), Value::Null);
        let end = |c: char| matches!(c, '\n'..='\r' | '\x1c'..='\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}');
        for line in got.body.split_terminator(end) {
            let document: Value = serde_json::from_str(line).unwrap();
            let message = &document["message"];
            reply.0 += message["content"].as_str().unwrap();
            if let Some(call) = message["tool_calls"].get(0) {
                reply.1 = call["function"]["arguments"]["a"].clone();
            }
        }
        assert_eq!(reply, (text.to_owned(), text.into()));
    }
}

#[tokio::test]
async fn many_models_are_listed_by_the_server_itself() {
    let fake = Fake::new(|_| Answer::json("{\"data\":[]}")).await;
    let url = gateway(&fake.url, &config("openai")).await;
    let models = got(client()
        .get(format!("{url}/v1/models"))
        .send()
        .await
        .unwrap())
    .await;
    assert_eq!(models.body, "{\"data\":[]}");
}

/// Some servers answer a request for a stream with a whole body.
#[tokio::test]
async fn a_whole_body_becomes_a_stream_of_the_client_protocol() {
    for api in ["openai", "anthropic", "ollama"] {
        let fake = Fake::new(move |_| spoken(api, &PIECES, false)).await;
        let url = gateway(&fake.url, &config(api)).await;
        for (face, path) in FACES {
            if crate::ends::same(face, api) {
                continue;
            }
            let got = post(&client(), &format!("{url}{path}"), &request(face, true)).await;
            let reply = read_face(face, &got, true);
            assert_eq!(reply.calls.len(), 1, "{face} over {api}: {}", got.body);
            assert!(
                !got.body.contains("<tool_call>"),
                "{face} over {api}: {}",
                got.body
            );
            let foreign = ["\"choices\"", "\"stop_sequence\"", "\"prompt_eval_count\""];
            let own = match face {
                "chat" => 0,
                "messages" => 1,
                "ollama" => 2,
                _ => 3,
            };
            for (of, member) in foreign.iter().enumerate() {
                assert!(
                    of == own || !got.body.contains(member),
                    "{face} over {api}: {}",
                    got.body
                );
            }
        }
    }
}

#[tokio::test]
async fn media_types_have_no_case() {
    for kind in ["Text/Event-Stream; charset=utf-8", "TEXT/EVENT-STREAM"] {
        let fake = Fake::new(move |_| Answer::new(kind, &chunks(&PIECES))).await;
        let url = gateway(&fake.url, &config("openai")).await;
        for (face, path) in FACES {
            let got = post(&client(), &format!("{url}{path}"), &request(face, true)).await;
            assert_eq!(
                got.body.contains("data: "),
                face != "ollama",
                "{}",
                got.body
            );
        }
    }
}

/// Chat completions report the usage of a stream on request, in a chunk of its own.
#[tokio::test]
async fn usage_is_told_to_clients_that_ask() {
    for api in ["anthropic", "ollama"] {
        let fake = Fake::new(move |_| spoken(api, &["x"], true)).await;
        let url = gateway(&fake.url, &config(api)).await + "/v1/chat/completions";
        for asks in [None, Some(false), Some(true)] {
            let mut asked = request("chat", true);
            if let Some(asks) = asks {
                asked["stream_options"] = json!({"include_usage": asks});
            }
            let events = post(&client(), &url, &asked).await.events();
            let with = |event: &&Value| !event["usage"].is_null();
            let told: Vec<&Value> = events.iter().filter(with).collect();
            assert_eq!(told.len(), usize::from(asks == Some(true)), "{api}");
            for event in told {
                assert_eq!(event["choices"], json!([]));
                assert_eq!(event["usage"]["total_tokens"], 7);
                assert_eq!(event, events.last().unwrap());
            }
        }
    }
}

/// What no reader knows of a server's reply has its place beside a call that was converted.
#[tokio::test]
async fn blocks_of_the_server_stay_beside_a_converted_call() {
    const CALL: &str = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>";
    let search =
        json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": 1}});
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "s", "content": []});
    let citation = json!({"type": "char_location", "cited_text": "c"});
    let blocks = json!([
        {"type": "text", "text": format!("Hey {CALL}")},
        {"type": "thinking", "thinking": "T", "signature": "SIG"},
        search, found,
        {"type": "text", "text": "more", "citations": [citation]},
        {"type": "redacted_thinking", "data": "zzz"},
    ]);
    let body = json!({"id": "msg_9", "type": "message", "role": "assistant", "model": "m", "content": blocks, "stop_reason": "end_turn", "stop_sequence": null, "usage": {"input_tokens": 3, "output_tokens": 4, "server_tool_use": {"web_search_requests": 1}}});
    let mut stream = String::new();
    let mut push = |event: Value| {
        let kind = event["type"].as_str().unwrap();
        stream.push_str(&format!("event: {kind}\ndata: {event}\n\n"));
    };
    push(
        json!({"type": "message_start", "message": {"id": "msg_9", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": {"input_tokens": 3, "output_tokens": 0}}}),
    );
    for (index, block) in blocks.as_array().unwrap().iter().enumerate() {
        let (mut start, mut deltas) = (block.clone(), vec![]);
        for (key, kind) in [
            ("text", "text_delta"),
            ("thinking", "thinking_delta"),
            ("signature", "signature_delta"),
        ] {
            if block[key].is_string() {
                start[key] = "".into();
                deltas.push(json!({"type": kind, key: block[key]}));
            }
        }
        if let Some(citations) = start.as_object_mut().unwrap().remove("citations") {
            deltas.push(json!({"type": "citations_delta", "citation": citations[0]}));
        }
        if block["type"] == "server_tool_use" {
            start["input"] = json!({});
            deltas.push(json!({"type": "input_json_delta", "partial_json": "{\"q\": 1}"}));
        }
        push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        for delta in deltas {
            push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        push(json!({"type": "content_block_stop", "index": index}));
    }
    push(
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null}, "usage": {"output_tokens": 4}}),
    );
    push(json!({"type": "message_stop"}));
    let fake = Fake::new(move |asked| match asked.json()["stream"] == true {
        true => Answer::events(&stream).cut(17),
        false => Answer::json(&body.to_string()),
    })
    .await;
    let url = gateway(&fake.url, &config("anthropic")).await + "/v1/messages";
    let whole = post(&client(), &url, &request("messages", false))
        .await
        .json();
    let kinds = |blocks: &[Value]| -> Vec<String> {
        blocks
            .iter()
            .map(|block| block["type"].as_str().unwrap().to_owned())
            .collect()
    };
    let expected = [
        "text",
        "tool_use",
        "thinking",
        "server_tool_use",
        "web_search_tool_result",
        "text",
        "redacted_thinking",
    ];
    let content = whole["content"].as_array().unwrap();
    assert_eq!(kinds(content), expected, "{whole}");
    assert_eq!(content[2], blocks[1]);
    assert_eq!(content[3..], blocks.as_array().unwrap()[2..]);
    assert_eq!(
        whole["usage"]["server_tool_use"],
        json!({"web_search_requests": 1})
    );
    let got = post(&client(), &url, &request("messages", true)).await;
    let mut streamed: Vec<Value> = vec![];
    for event in got.events() {
        match event["type"].as_str().unwrap() {
            "content_block_start" => {
                assert_eq!(event["index"], streamed.len());
                streamed.push(event["content_block"].clone());
            }
            "content_block_delta" => {
                assert_eq!(event["index"], streamed.len() - 1);
                let (block, delta) = (streamed.last_mut().unwrap(), &event["delta"]);
                match delta["type"].as_str().unwrap() {
                    "signature_delta" => block["signature"] = delta["signature"].clone(),
                    "citations_delta" => block["citations"] = json!([delta["citation"]]),
                    "input_json_delta" => {
                        block["input"] =
                            serde_json::from_str(delta["partial_json"].as_str().unwrap()).unwrap()
                    }
                    _ => {
                        for key in ["text", "thinking"] {
                            if let Some(more) = delta[key].as_str() {
                                block[key] =
                                    (block[key].as_str().unwrap().to_owned() + more).into();
                            }
                        }
                    }
                }
            }
            _ => {}
        }
    }
    assert_eq!(kinds(&streamed), expected, "{}", got.body);
    assert_eq!(streamed[2..], content[2..], "{}", got.body);
}
