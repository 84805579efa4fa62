//! How replies end: filters, refusals, and the errors of servers.

use std::time::Duration;

use crate::faces::request;
use crate::replies::{Part, said};
use crate::support::{
    Answer, FACES, Fake, Reply, chunks, client, completion, gateway, got, metrics, post, read_face,
    spoken,
};

const APIS: [&str; 3] = ["openai", "anthropic", "ollama"];

fn config(api: &str) -> String {
    format!("api = {api:?}\ndefault.dialect = \"hermes\"\n")
}

pub fn same(face: &str, api: &str) -> bool {
    let pairs = [
        ("chat", "openai"),
        ("messages", "anthropic"),
        ("ollama", "ollama"),
    ];
    pairs.contains(&(face, api))
}

/// How each protocol says that a filter stopped the output, or that the model refused.
const FILTERED: [(&str, &str); 4] = [
    ("chat", "content_filter"),
    ("responses", "incomplete"),
    ("messages", "refusal"),
    ("ollama", "content_filter"),
];

#[tokio::test]
async fn a_filtered_reply_keeps_its_text_and_says_so_in_every_protocol() {
    const CALL: &str = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>";
    let open = CALL.trim_end_matches("}}\n</tool_call>");
    let text = [Part::Text("Half of an "), Part::Text("answer")];
    for (parts, said_text, calls) in [
        (&text[..], "Half of an answer", 0),
        (&[Part::Text("Hi "), Part::Text(open)][..], "Hi ", 0),
        (&[Part::Text("Hi "), Part::Text(CALL)][..], "Hi ", 1),
    ] {
        for api in APIS {
            let own = parts.to_vec();
            let fake = Fake::new(move |asked| {
                let stream = asked.json()["stream"] == true;
                said(api, stream, &own, "content_filter")
            })
            .await;
            let url = gateway(&fake.url, &config(api)).await;
            for ((face, path), (_, reason)) in FACES.into_iter().zip(FILTERED) {
                for stream in [false, true] {
                    let got =
                        post(&client(), &format!("{url}{path}"), &request(face, stream)).await;
                    let what = format!("{face} over {api}, streamed {stream}: {}", got.body);
                    assert_eq!(got.status, 200, "{what}");
                    let reply = read_face(face, &got, stream);
                    assert!(!reply.error && !got.body.contains("\"error\":{"), "{what}");
                    assert!(reply.text.starts_with(said_text), "{what}");
                    // The arguments of a retracted call are not JSON.
                    let whole = |(_, arguments): &&(String, String)| {
                        serde_json::from_str::<serde_json::Value>(arguments).is_ok()
                    };
                    let whole = reply.calls.iter().filter(whole).count();
                    assert_eq!(whole, calls, "{what}");
                    assert_eq!(reply.reason.as_deref(), Some(reason), "{what}");
                    if face == "responses" {
                        let last = match stream {
                            true => got.events().pop().unwrap()["response"].clone(),
                            false => got.json(),
                        };
                        assert_eq!(last["incomplete_details"]["reason"], "content_filter");
                    }
                    if face == "chat" && stream {
                        assert!(got.body.ends_with("data: [DONE]\n\n"), "{what}");
                    }
                    if same(face, api) && parts.len() == text.len() && said_text.len() > 3 {
                        let body = said(api, stream, parts, "content_filter").pieces.concat();
                        assert_eq!(got.body.as_bytes(), body, "{what}");
                    }
                }
            }
            let page = metrics(&url).await.body;
            assert!(
                page.contains("failed_total{model=\"m\",dialect=\"hermes\"} 0"),
                "{page}"
            );
        }
    }
}

/// A stream of events with their types as names.
fn events(values: &[serde_json::Value]) -> String {
    let event = |value: &serde_json::Value| {
        let kind = value["type"].as_str().unwrap();
        format!("event: {kind}\ndata: {value}\n\n")
    };
    values.iter().map(event).collect()
}

/// A stream in which the server reports an error, after text.
fn failing(wire: &str) -> (&'static str, String) {
    use serde_json::json;
    match wire {
        "openai" => (
            "text/event-stream",
            "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: {\"error\":{\"message\":\"boom\",\"type\":\"x\"}}\n\n".to_owned(),
        ),
        "anthropic" => (
            "text/event-stream",
            events(&[
                json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": null, "usage": {"input_tokens": 1, "output_tokens": 1}}}),
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}}),
                json!({"type": "error", "error": {"type": "overloaded_error", "message": "boom"}}),
            ]),
        ),
        "ollama" => (
            "application/x-ndjson",
            "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"done\":false}\n{\"error\":\"boom\"}\n".to_owned(),
        ),
        _ => (
            "text/event-stream",
            events(&[
                json!({"type": "response.created", "sequence_number": 0, "response": {"id": "r", "output": [], "status": "in_progress"}}),
                json!({"type": "response.failed", "sequence_number": 1, "response": {"id": "r", "output": [], "status": "failed", "error": {"code": "server_error", "message": "boom"}}}),
            ]),
        ),
    }
}

#[tokio::test]
async fn an_error_of_the_server_is_told_once_in_every_protocol() {
    for wire in ["openai", "anthropic", "ollama", "responses"] {
        let api = if wire == "responses" { "openai" } else { wire };
        for dies in [false, true] {
            let (kind, body) = failing(wire);
            let sent = body.clone();
            let fake = Fake::new(move |_| {
                let mut answer = Answer::new(kind, &sent).cut(7);
                answer.dies = dies;
                answer
            })
            .await;
            let more = if wire == "responses" {
                "responses = true\n"
            } else {
                ""
            };
            let url = gateway(&fake.url, &format!("{more}{}", config(api))).await;
            for (face, path) in FACES {
                if wire == "responses" && face != "responses" {
                    continue;
                }
                let asked = request(face, true);
                let sent = client()
                    .post(format!("{url}{path}"))
                    .body(asked.to_string());
                let mut response = sent.send().await.unwrap();
                let mut all = vec![];
                while let Ok(Some(bytes)) = response.chunk().await {
                    all.extend_from_slice(&bytes);
                }
                let all = String::from_utf8(all).unwrap();
                let what = format!("{face} over {wire}, dies {dies}: {all}");
                if same(face, wire) || face == wire {
                    assert_eq!(all, body, "{what}");
                }
                assert_eq!(all.matches("boom").count(), 1, "{what}");
                assert!(!all.contains("broke off"), "{what}");
            }
        }
    }
}

/// A call that only the end of the reply ends may be truncated, unless the model stopped.
#[tokio::test]
async fn only_a_stop_ends_a_call_at_the_end() {
    let parts = [Part::Text("Action: f\nAction Input: 5")];
    for (end, calls) in [("stop", 1), ("content_filter", 0), ("length", 0)] {
        for api in APIS {
            let fake =
                Fake::new(move |asked| said(api, asked.json()["stream"] == true, &parts, end))
                    .await;
            let more = config(api).replace("hermes", "react-text");
            let url = gateway(&fake.url, &more).await;
            for (face, path) in FACES {
                for stream in [false, true] {
                    let got =
                        post(&client(), &format!("{url}{path}"), &request(face, stream)).await;
                    let reply = read_face(face, &got, stream);
                    let what = format!("{end}: {face} over {api}, streamed {stream}: {}", got.body);
                    assert_eq!(reply.calls.len(), calls, "{what}");
                    let told = reply.left.is_some() || reply.text.contains("Input: 5");
                    assert_eq!(told, calls == 0, "{what}");
                }
            }
        }
    }
}

/// Wherever a reply breaks off, a client of the server's own protocol can read every event, and knows whether the reply is whole.
#[tokio::test]
async fn a_reply_may_break_off_anywhere() {
    const CALL: &str = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>";
    for parts in [
        vec![Part::Text("Hi "), Part::Text("you")],
        vec![Part::Text("Hi "), Part::Text(CALL)],
        vec![Part::Text(CALL), Part::Text(" Bye")],
    ] {
        for api in APIS {
            let body = said(api, true, &parts, "stop").pieces.concat();
            let (sent, length) = (body.clone(), body.len());
            let fake = Fake::new(move |asked| {
                let text = asked.json()["messages"].to_string();
                let cut = text.split("cut ").nth(1).unwrap();
                let cut: usize = cut.split(' ').next().unwrap().parse().unwrap();
                let mut answer = said(api, true, &[], "stop").cut(13);
                answer.pieces = vec![sent[..cut].to_vec()];
                answer
            })
            .await;
            let url = gateway(&fake.url, &config(api)).await;
            let (face, path) = FACES.into_iter().find(|(face, _)| same(face, api)).unwrap();
            let client = client();
            for cut in (1..=length).rev().step_by(11) {
                let mut asked = request(face, true);
                asked["messages"] =
                    serde_json::json!([{"role": "user", "content": format!("cut {cut} ")}]);
                let got = post(&client, &format!("{url}{path}"), &asked).await;
                let what = format!("{face}, {cut} of {length}: {}", got.body);
                // Each document can be read, and stands alone in its event.
                let (documents, between): (Vec<serde_json::Value>, &str) = match api {
                    "ollama" => (
                        got.body
                            .lines()
                            .map(|line| serde_json::from_str(line).expect(&what))
                            .collect(),
                        "\n",
                    ),
                    _ => (got.events(), "\n\n"),
                };
                let events = got.body.split(between).filter(|event| event.contains('{'));
                assert_eq!(events.count(), documents.len(), "{what}");
                let error = documents
                    .iter()
                    .filter(|one| !one["error"].is_null())
                    .count();
                let reason = documents.iter().any(|one| {
                    let reasons = [
                        &one["choices"][0]["finish_reason"],
                        &one["delta"]["stop_reason"],
                        &one["done_reason"],
                    ];
                    reasons.iter().any(|reason| reason.is_string())
                });
                assert!(error <= 1 && (error == 1 || reason || cut < 9), "{what}");
                assert!(
                    !got.body.contains("<tool_call>") || !got.body.contains("\"f\""),
                    "{what}"
                );
            }
        }
    }
}

#[tokio::test]
async fn the_end_comes_when_the_server_says_it_though_the_connection_stays_open() {
    const ENDS: [&str; 4] = [
        "[DONE]",
        "response.completed",
        "message_stop",
        "\"done\":true",
    ];
    for api in APIS {
        for text in [
            "Hi",
            "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>",
        ] {
            let fake = Fake::new(move |_| {
                let mut answer = spoken(api, &[text], true);
                answer.pause = Duration::from_secs(600);
                answer
            })
            .await;
            let url = gateway(&fake.url, &config(api)).await;
            for ((face, path), end) in FACES.into_iter().zip(ENDS) {
                let asked = client().post(format!("{url}{path}"));
                let asked = asked.header("content-type", "application/json");
                let asked = asked.body(request(face, true).to_string());
                let mut body = String::new();
                let reads = async {
                    let mut got = asked.send().await.unwrap();
                    while !body.contains(end) {
                        let chunk = got.chunk().await.unwrap().expect("an end");
                        body.push_str(&String::from_utf8_lossy(&chunk));
                    }
                };
                let read = tokio::time::timeout(Duration::from_secs(60), reads).await;
                assert!(read.is_ok(), "{face} over {api}: {body}");
            }
        }
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_told_to_a_client_of_another_protocol() {
    let begun = chunks(&["<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"b"]);
    let begun = begun.split("data: [DONE]").next().unwrap().to_owned();
    let begun = begun.replace("\"finish_reason\":\"stop\"", "\"finish_reason\":null");
    let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}\n\ndata: [DONE]";
    let rest = chunks(&["c\"}}\n</tool_call>"]).replace("data: [DONE]", usage);
    let damaged = "data: {\"choices\": oops\n\n";
    let body = format!("{begun}{damaged}{rest}");
    let fake = Fake::new(move |_| Answer::events(&body)).await;
    let url = gateway(&fake.url, &config("openai")).await;
    for (face, path) in FACES {
        let mut got = post(&client(), &format!("{url}{path}"), &request(face, true)).await;
        // A client of the same protocol gets it unchanged.
        got.body = got.body.replace(damaged, "");
        let reply = read_face(face, &got, true);
        let whole = |(_, arguments): &&(String, String)| {
            serde_json::from_str::<serde_json::Value>(arguments).is_ok()
        };
        // A call that lacks bytes does not run.
        assert_eq!(
            reply.calls.iter().filter(whole).count(),
            0,
            "{face}: {}",
            got.body
        );
        let told = got.body.contains("could not be read");
        assert_eq!(told, face != "chat", "{face}: {}", got.body);
    }
}

#[tokio::test]
async fn characters_in_two_halves_arrive_whole() {
    let delta = |text: &str| {
        format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
    };
    let call = |text: &str| delta(&text.replace('"', "\\\"").replace('\n', "\\n"));
    let body = [
        call("hi <tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"b"),
        delta("\\ud83d"),
        delta("\\ude00"),
        call("c\"}}\n</tool_call>"),
    ]
    .concat();
    let end = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}\n\ndata: [DONE]\n\n";
    let body = body + end;
    let fake = Fake::new(move |_| Answer::events(&body)).await;
    let url = gateway(&fake.url, &config("openai")).await;
    for (face, path) in FACES {
        let got = post(&client(), &format!("{url}{path}"), &request(face, true)).await;
        let reply = read_face(face, &got, true);
        let read: serde_json::Value = serde_json::from_str(&reply.calls[0].1).unwrap();
        assert_eq!(read["a"], "b😀c", "{face}: {}", got.body);
        assert!(
            reply.text.starts_with("hi") && !reply.error,
            "{face}: {}",
            got.body
        );
    }
}

#[tokio::test]
async fn settings_count_in_requests_with_halves_of_characters() {
    let call = "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>";
    let fake = Fake::new(move |_| Answer::json(&completion(call, "stop"))).await;
    let url = gateway(&fake.url, &config("openai")).await;
    let url = format!("{url}/v1/chat/completions");
    let asked = r#"{"model":"m","messages":[{"role":"user","content":"cut \ud83d"}],"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"none"}"#;
    for mark in ["", "\u{feff}"] {
        let sent = client()
            .post(&url)
            .header("content-type", "application/json");
        let answer = sent.body(format!("{mark}{asked}")).send().await.unwrap();
        let got = got(answer).await;
        assert_eq!(got.status, 200, "{}", got.body);
        assert!(Reply::whole(&got).calls.is_empty(), "{}", got.body);
    }
    for odd in ["{\"model\": oops}", "", "[1]"] {
        let sent = client()
            .post(&url)
            .header("content-type", "application/json");
        let answer = sent.body(odd).send().await.unwrap();
        assert_eq!(got(answer).await.status, 400, "{odd}");
    }
}

#[tokio::test]
async fn settings_count_though_the_conversation_cannot_be_converted() {
    let call = "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>";
    let fake =
        Fake::new(move |asked| spoken("anthropic", &[call], asked.json()["stream"] == true)).await;
    let url = gateway(&fake.url, &config("anthropic")).await;
    let document =
        serde_json::json!([{"type": "document", "source": {"type": "text", "data": "x"}}]);
    for (choice, calls) in [("auto", 1), ("none", 0)] {
        let mut asked = request("messages", false);
        asked["messages"][0]["content"] = document.clone();
        asked["tool_choice"] = serde_json::json!({"type": choice});
        let got = post(&client(), &format!("{url}/v1/messages"), &asked).await;
        assert_eq!(got.status, 200, "{}", got.body);
        assert_eq!(fake.last().json()["messages"][0]["content"], document);
        assert_eq!(
            read_face("messages", &got, false).calls.len(),
            calls,
            "{}",
            got.body
        );
    }
}

#[tokio::test]
async fn a_whole_call_before_an_error_reaches_every_client() {
    let body = chunks(&["<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>"]);
    let end = body.find("data: {\"choices\":[{\"delta\":{},").unwrap();
    let body = format!(
        "{}data: {{\"error\":{{\"message\":\"boom\"}}}}\n\n",
        &body[..end]
    );
    let fake = Fake::new(move |_| Answer::events(&body)).await;
    let url = gateway(&fake.url, &config("openai")).await;
    for (face, path) in FACES {
        let got = post(&client(), &format!("{url}{path}"), &request(face, true)).await;
        let name = if face == "responses" {
            "function_call_arguments"
        } else {
            "\"f\""
        };
        assert!(
            got.body.contains(name) && got.body.contains("boom"),
            "{face}: {}",
            got.body
        );
    }
}
