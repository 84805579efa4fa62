//! A hidden second question: it keeps the settings of the first, and the reply keeps its other members.

use serde_json::{Value, json};

use crate::faces::request;
use crate::support::{Answer, FACES, Fake, Reply, client, gateway, post, read_face, spoken};

const CALL: &str = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>";
const CUT: &str = "So: <tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1\n</tool_call>";
const APIS: [&str; 3] = ["openai", "anthropic", "ollama"];

fn config(api: &str, more: &str) -> String {
    format!("api = {api:?}\n[default]\ndialect = \"hermes\"\nrecovered = \"ask\"\n{more}")
}

/// Members that the gateway does not know, or that its own translation would lose.
fn odd(face: &str) -> Value {
    match face {
        "chat" => json!({"seed": 3, "odd": [1.50], "metadata": {"a": "b"}, "service_tier": "flex"}),
        "messages" => json!({
            "system": [{"type": "text", "text": "S", "cache_control": {"type": "ephemeral"}}],
            "thinking": {"type": "enabled", "budget_tokens": 2000}, "service_tier": "auto",
            "mcp_servers": [{"type": "url", "url": "x", "name": "y"}],
            "tools": [{"name": "f", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}}, {"type": "web_search_20250305", "name": "web_search"}],
        }),
        _ => json!({"keep_alive": "5m", "options": {"num_ctx": 32768, "seed": 1}, "odd": 1}),
    }
}

#[tokio::test]
async fn the_second_request_is_the_first_with_two_messages() {
    for (face, api) in [
        ("chat", "openai"),
        ("messages", "anthropic"),
        ("ollama", "ollama"),
    ] {
        for mode in ["repair", "prompt"] {
            let fake = Fake::new(move |asked| {
                let messages = asked.json()["messages"].as_array().unwrap().len();
                let again = messages
                    > if mode == "prompt" && face != "messages" {
                        2
                    } else {
                        1
                    };
                spoken(
                    api,
                    &[if again { CALL } else { CUT }],
                    asked.json()["stream"] == true,
                )
            })
            .await;
            let url = gateway(&fake.url, &config(api, &format!("mode = {mode:?}\n"))).await;
            let path = FACES.iter().find(|(own, _)| *own == face).unwrap().1;
            for stream in [false, true] {
                fake.asked.lock().unwrap().clear();
                let mut asked = request(face, stream);
                for (key, value) in odd(face).as_object().unwrap() {
                    // Mode `prompt` refuses what it cannot write.
                    if mode == "repair"
                        || !["tools", "mcp_servers", "system"].contains(&key.as_str())
                    {
                        asked[key] = value.clone();
                    }
                }
                let got = post(&client(), &format!("{url}{path}"), &asked).await;
                let what = format!("{face}, {mode}, streamed {stream}: {}", got.body);
                assert_eq!(read_face(face, &got, stream).calls.len(), 1, "{what}");
                let all = fake.asked.lock().unwrap().clone();
                let [first, second] = &all[..] else {
                    panic!("{what}")
                };
                let (mut first, second) = (first.json(), second.json());
                let messages = first["messages"].as_array_mut().unwrap();
                messages.push(json!({"role": "assistant", "content": CUT}));
                messages.push(
                    second["messages"]
                        .as_array()
                        .unwrap()
                        .last()
                        .unwrap()
                        .clone(),
                );
                assert_eq!(first, second, "{what}");
                if mode == "repair" {
                    for (key, value) in odd(face).as_object().unwrap() {
                        assert_eq!(&second[key], value, "{what}");
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn a_translated_second_request_keeps_what_the_first_had() {
    for api in APIS {
        let fake = Fake::new(move |asked| {
            let again = asked.json()["messages"].as_array().unwrap().len() > 1;
            spoken(
                api,
                &[if again { CALL } else { CUT }],
                asked.json()["stream"] == true,
            )
        })
        .await;
        let url = gateway(&fake.url, &config(api, "")).await;
        for (face, path) in FACES {
            fake.asked.lock().unwrap().clear();
            let mut asked = request(face, true);
            asked["temperature"] = json!(0.5);
            asked["keep_alive"] = "5m".into();
            let got = post(&client(), &format!("{url}{path}"), &asked).await;
            assert_eq!(read_face(face, &got, true).calls.len(), 1, "{}", got.body);
            let all = fake.asked.lock().unwrap().clone();
            assert_eq!(all.len(), 2, "{face} over {api}");
            let (mut first, mut second) = (all[0].json(), all[1].json());
            first["messages"].take();
            second["messages"].take();
            assert_eq!(first, second, "{face} over {api}");
        }
    }
}

/// A reply with members beside those that the gateway knows.
fn rich(text: &str, stream: bool) -> Answer {
    let head = json!({"id": "c", "created": 1, "model": "m", "system_fingerprint": "fp", "service_tier": "flex"});
    let usage = json!({"prompt_tokens": 1, "completion_tokens": 2, "completion_tokens_details": {"reasoning_tokens": 9}});
    let with = |more: Value| {
        let mut out = head.clone();
        for (key, value) in more.as_object().unwrap() {
            out[key] = value.clone();
        }
        out
    };
    if !stream {
        let message = json!({"role": "assistant", "content": text, "annotations": [{"k": 1}]});
        let choice = json!({"index": 0, "message": message, "finish_reason": "stop", "odd": 7});
        return Answer::json(
            &with(json!({"object": "chat.completion", "choices": [choice], "usage": usage}))
                .to_string(),
        );
    }
    let mut out = String::new();
    let mut push = |delta: Value, reason: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        let chunk = with(json!({"object": "chat.completion.chunk", "choices": [choice]}));
        out.push_str(&format!("data: {chunk}\n\n"));
    };
    push(json!({"role": "assistant", "content": ""}), Value::Null);
    push(
        json!({"content": text, "annotations": [{"k": 1}]}),
        Value::Null,
    );
    push(json!({}), "stop".into());
    let last = with(json!({"choices": [], "usage": usage}));
    Answer::events(&format!("{out}data: {last}\n\ndata: [DONE]\n\n"))
}

#[tokio::test]
async fn other_members_stay_also_if_the_model_is_asked_again() {
    for (first, questions) in [("Hi", 1), (CALL, 1), (CUT, 2)] {
        for stream in [false, true] {
            let fake = Fake::new(move |asked| {
                let again = asked.json()["messages"].as_array().unwrap().len() > 1;
                rich(if again { CALL } else { first }, stream)
            })
            .await;
            let url = gateway(&fake.url, &config("openai", "")).await;
            let got = post(
                &client(),
                &format!("{url}/v1/chat/completions"),
                &request("chat", stream),
            )
            .await;
            let what = format!("{first}, streamed {stream}: {}", got.body);
            assert_eq!(fake.asked.lock().unwrap().len(), questions, "{what}");
            for member in [
                "\"system_fingerprint\":\"fp\"",
                "\"service_tier\":\"flex\"",
                "\"annotations\":[{\"k\":1}]",
                "\"completion_tokens_details\":{\"reasoning_tokens\":9}",
            ] {
                assert!(got.body.contains(member), "{member}: {what}");
            }
            assert!(stream || got.body.contains("\"odd\":7"), "{what}");
            if first == "Hi" {
                assert_eq!(
                    got.body.as_bytes(),
                    rich(first, stream).pieces.concat(),
                    "{what}"
                );
                continue;
            }
            let reply = if stream {
                Reply::streamed(&got)
            } else {
                Reply::whole(&got)
            };
            assert_eq!(reply.calls.len(), 1, "{what}");
            assert_eq!(reply.reason.as_deref(), Some("tool_calls"), "{what}");
            assert!(reply.left.is_none(), "{what}");
            if stream {
                // The client joins both replies to one.
                assert_eq!(got.body.matches("\"role\"").count(), 1, "{what}");
                assert_eq!(got.body.matches("[DONE]").count(), 1, "{what}");
                assert_eq!(got.body.matches("\"usage\"").count(), 1, "{what}");
            }
        }
    }
}

/// A reply with log probabilities is converted in place, in every protocol that has them.
#[tokio::test]
async fn replies_with_log_probabilities_are_not_repeated() {
    for (face, api) in [("chat", "openai"), ("ollama", "ollama")] {
        for stream in [false, true] {
            let fake = Fake::new(move |asked| {
                assert_eq!(asked.json()["logprobs"], true);
                let body = spoken(api, &[CUT], stream).pieces.concat();
                let body = String::from_utf8(body).unwrap();
                let more = "\"logprobs\":[{\"token\":\"So\",\"logprob\":-0.5}],\"message\":";
                let mut answer = spoken(api, &[], stream);
                answer.pieces = vec![body.replace("\"message\":", more).into_bytes()];
                answer
            })
            .await;
            let url = gateway(&fake.url, &config(api, "")).await;
            let path = FACES.iter().find(|(own, _)| *own == face).unwrap().1;
            let mut asked = request(face, stream);
            asked["logprobs"] = true.into();
            let got = post(&client(), &format!("{url}{path}"), &asked).await;
            let reply = read_face(face, &got, stream);
            assert_eq!(fake.asked.lock().unwrap().len(), 1, "{}", got.body);
            assert!(
                reply.calls.is_empty() && reply.left.is_some(),
                "{}",
                got.body
            );
            if face == "ollama" {
                assert!(got.body.contains("\"logprob\":-0.5"), "{}", got.body);
            }
        }
    }
}

/// What a filter stopped would be stopped again.
#[tokio::test]
async fn a_filtered_reply_is_not_asked_for_again() {
    for api in APIS {
        let fake = Fake::new(move |asked| {
            let end = [crate::replies::Part::Text(CUT)];
            crate::replies::said(api, asked.json()["stream"] == true, &end, "content_filter")
        })
        .await;
        let url = gateway(&fake.url, &config(api, "")).await;
        for (face, path) in FACES {
            for stream in [false, true] {
                fake.asked.lock().unwrap().clear();
                let got = post(&client(), &format!("{url}{path}"), &request(face, stream)).await;
                let reply = read_face(face, &got, stream);
                assert_eq!(fake.asked.lock().unwrap().len(), 1, "{face} over {api}");
                assert!(reply.left.is_some(), "{face} over {api}: {}", got.body);
            }
        }
    }
}

/// A second reply that is an error does not take the place of a first one with text.
#[tokio::test]
async fn a_second_reply_that_is_an_error_leaves_the_first() {
    for api in APIS {
        let fake =
            Fake::new(
                move |asked| match asked.json()["messages"].as_array().unwrap().len() > 1 {
                    true => Answer::json("{\"error\": {\"message\": \"overload\"}}"),
                    false => spoken(api, &[CUT], false),
                },
            )
            .await;
        let url = gateway(&fake.url, &config(api, "")).await;
        for (face, path) in FACES {
            let got = post(&client(), &format!("{url}{path}"), &request(face, false)).await;
            let what = format!("{face} over {api}: {}", got.body);
            assert_eq!(got.status, 200, "{what}");
            assert_eq!(read_face(face, &got, false).text, "So: ", "{what}");
        }
    }
}
