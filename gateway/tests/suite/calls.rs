//! Which calls of a reply count, and what is told of the others.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::faces::request;
use crate::replies::{Part, said};
use crate::support::{FACES, Fake, Got, Reply, client, gateway, metrics, post, read_face, spoken};

const APIS: [&str; 3] = ["openai", "anthropic", "ollama"];
const CALL: &str = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>";

fn config(api: &str, more: &str) -> String {
    format!("api = {api:?}\n[default]\ndialect = \"hermes\"\n{more}")
}

fn names(reply: &Reply) -> Vec<&str> {
    reply.calls.iter().map(|(name, _)| name.as_str()).collect()
}

fn kinds(left: Option<&Value>) -> String {
    let dropped = left.map(|left| left["dropped"].clone());
    dropped.map_or(String::new(), |dropped| dropped.to_string())
}

#[tokio::test]
async fn the_preferred_calls_count_and_the_others_are_told_in_every_protocol() {
    let parts = [Part::Text("Hi "), Part::Text(CALL), Part::Own("g", "{}")];
    for (prefer, calls, told) in [
        ("text", &["f"][..], true),
        ("native", &["g"][..], true),
        ("both", &["f", "g"][..], false),
    ] {
        for api in APIS {
            let fake = Fake::new(move |asked| {
                said(api, asked.json()["stream"] == true, &parts, "tool_calls")
            })
            .await;
            let url = gateway(&fake.url, &config(api, &format!("prefer = {prefer:?}\n"))).await;
            for (face, path) in FACES {
                for stream in [false, true] {
                    let got =
                        post(&client(), &format!("{url}{path}"), &request(face, stream)).await;
                    let what = format!(
                        "{prefer}: {face} over {api}, streamed {stream}: {}",
                        got.body
                    );
                    let reply = read_face(face, &got, stream);
                    assert_eq!(names(&reply), calls, "{what}");
                    assert_eq!(
                        kinds(reply.left.as_ref()).contains("replaced_call"),
                        told,
                        "{what}"
                    );
                    if !stream {
                        let header = got.headers.get("toolglot-issues");
                        assert_eq!(
                            header.map(|kinds| kinds.as_bytes()),
                            told.then_some(&b"replaced_call"[..]),
                            "{what}"
                        );
                    }
                }
            }
            let page = metrics(&url).await;
            let counter = "kinds_total{model=\"m\",dialect=\"hermes\",kind=\"replaced_call\"} 8";
            assert_eq!(page.body.contains(counter), told, "{}", page.body);
        }
    }
}

#[tokio::test]
async fn a_trailer_tells_of_a_replaced_call() {
    let parts = [Part::Text(CALL), Part::Own("g", "{}")];
    let fake = Fake::new(move |_| said("openai", true, &parts, "tool_calls")).await;
    let url = gateway(&fake.url, &config("openai", "")).await;
    let mut stream = tokio::net::TcpStream::connect(url.strip_prefix("http://").unwrap())
        .await
        .unwrap();
    let body = request("chat", true).to_string();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nte: trailers\r\nconnection: close, te\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).await.unwrap();
    assert!(
        all.ends_with("toolglot-issues: replaced_call\r\n\r\n"),
        "{all}"
    );
}

/// A request in the format of a protocol that allows one call at most.
fn single(face: &str, stream: bool) -> Value {
    let mut asked = request(face, stream);
    match face {
        "messages" => {
            asked["tool_choice"] = json!({"type": "auto", "disable_parallel_tool_use": true})
        }
        _ => asked["parallel_tool_calls"] = false.into(),
    }
    asked
}

#[tokio::test]
async fn one_call_at_most_is_delivered_and_the_other_is_told() {
    let two = [CALL, "\n", CALL];
    for mode in ["repair", "prompt"] {
        for api in ["openai", "anthropic"] {
            let fake =
                Fake::new(move |asked| spoken(api, &two, asked.json()["stream"] == true)).await;
            let url = gateway(&fake.url, &config(api, &format!("mode = {mode:?}\n"))).await;
            for (face, path) in &FACES[..3] {
                for stream in [false, true] {
                    let got = post(&client(), &format!("{url}{path}"), &single(face, stream)).await;
                    let what =
                        format!("{mode}: {face} over {api}, streamed {stream}: {}", got.body);
                    let reply = read_face(face, &got, stream);
                    assert_eq!(names(&reply), ["f"], "{what}");
                    assert!(kinds(reply.left.as_ref()).contains("limit_calls"), "{what}");
                }
            }
        }
    }
}

/// Calls that the server found itself are forwarded between equal protocols. For other clients they obey the request.
#[tokio::test]
async fn calls_of_the_server_obey_the_request_unless_they_are_forwarded() {
    let two = [Part::Own("f", "{}"), Part::Own("f", "{\"a\": 1}")];
    for api in ["openai", "anthropic"] {
        let fake =
            Fake::new(move |asked| said(api, asked.json()["stream"] == true, &two, "tool_calls"))
                .await;
        let url = gateway(&fake.url, &config(api, "")).await;
        for (face, path) in &FACES[..3] {
            for stream in [false, true] {
                let mut none = request(face, stream);
                none["tool_choice"] = match *face {
                    "messages" => json!({"type": "none"}),
                    _ => "none".into(),
                };
                for (asked, count, kind) in [
                    (single(face, stream), 1, "limit_calls"),
                    (none, 0, "unknown_tool"),
                ] {
                    let got = post(&client(), &format!("{url}{path}"), &asked).await;
                    let what = format!("{face} over {api}, streamed {stream}: {}", got.body);
                    let reply = read_face(face, &got, stream);
                    let same = crate::ends::same(face, api);
                    let count = if same { 2 } else { count };
                    assert_eq!(reply.calls.len(), count, "{what}");
                    assert_eq!(reply.left.is_none(), same, "{what}");
                    let told = kinds(reply.left.as_ref());
                    assert_eq!(told.contains(kind), !same, "{what}");
                }
            }
        }
    }
}

fn refused(got: &Got, word: &str) {
    assert_eq!(got.status, 400, "{word}: {}", got.body);
    assert!(got.body.contains(word), "{word}: {}", got.body);
}

/// Servers without tools: whatever a request says about calls is obeyed or refused.
#[tokio::test]
async fn every_setting_for_calls_is_obeyed_or_refused_in_mode_prompt() {
    let tools = json!([
        {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}},
        {"type": "function", "function": {"name": "gee", "parameters": {"type": "object"}}},
    ]);
    let function = |name: &str| json!({"type": "function", "function": {"name": name}});
    let allowed = |mode: &str, tools: Value| {
        let own = json!({"mode": mode, "tools": tools});
        json!({"tool_choice": {"type": "allowed_tools", "allowed_tools": own}})
    };
    let message = |message: Value| json!({"messages": [{"role": "user", "content": "x"}, message]});
    let fake = Fake::new(|asked| spoken("openai", &["x"], asked.json()["stream"] == true)).await;
    let url = gateway(&fake.url, &config("openai", "mode = \"prompt\"\n")).await;
    let gbnf = gateway(
        &fake.url,
        &config("openai", "mode = \"prompt\"\ngrammar = \"gbnf\"\n"),
    )
    .await;
    let ask = async |url: &str, more: &Value| {
        fake.asked.lock().unwrap().clear();
        let mut asked = request("chat", false);
        asked["tools"] = tools.clone();
        for (key, value) in more.as_object().unwrap() {
            asked[key] = value.clone();
        }
        post(&client(), &format!("{url}/v1/chat/completions"), &asked).await
    };
    for (more, word) in [
        (json!({"tool_choice": "bogus"}), "bogus"),
        (json!({"tool_choice": {"type": "bogus"}}), "bogus"),
        (
            json!({"tool_choice": {"type": "custom", "custom": {"name": "f"}}}),
            "custom",
        ),
        (
            json!({"tool_choice": {"type": "custom", "name": "f"}}),
            "custom",
        ),
        (json!({"tool_choice": 7}), "tool_choice"),
        (json!({"tool_choice": function("none")}), "none"),
        (json!({"tool_choice": "required"}), "gbnf"),
        (json!({"tool_choice": function("f")}), "gbnf"),
        (allowed("required", json!([function("f")])), "gbnf"),
        (allowed("auto", json!([function("h")])), "h"),
        (allowed("auto", json!([])), "allowed_tools"),
        (
            allowed("auto", json!([{"type": "custom", "custom": {"name": "f"}}])),
            "allowed_tools",
        ),
        (allowed("odd", json!([function("f")])), "odd"),
        (json!({"functions": [{"name": "f"}]}), "functions"),
        (json!({"function_call": {"name": "f"}}), "function_call"),
        (json!({"function_call": "none"}), "function_call"),
        (
            message(
                json!({"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{}"}}),
            ),
            "function_call",
        ),
        (
            message(json!({"role": "function", "name": "f", "content": "x"})),
            "function_call",
        ),
        (
            json!({"tools": [{"type": "custom", "custom": {"name": "f"}}]}),
            "custom",
        ),
    ] {
        refused(&ask(&url, &more).await, word);
        assert!(fake.asked.lock().unwrap().is_empty(), "{more}");
    }
    // Which of the tools the prompt teaches, and whether a grammar forces a call.
    for (more, taught, forced) in [
        (json!({}), "f gee", false),
        (json!({"tool_choice": null}), "f gee", false),
        (json!({"tool_choice": "none"}), "", false),
        (allowed("auto", json!([function("f")])), "f", false),
        (allowed("required", json!([function("f")])), "f", true),
        (
            allowed("required", json!([function("gee"), function("f")])),
            "f gee",
            true,
        ),
        (json!({"tool_choice": function("gee")}), "gee", true),
        (json!({"tool_choice": "required"}), "f gee", true),
    ] {
        let answer = ask(&gbnf, &more).await;
        assert_eq!(answer.status, 200, "{more}: {}", answer.body);
        let sent = fake.last().json();
        let prompt = sent["messages"][0]["content"].as_str().unwrap();
        let told = ["f", "gee"].map(|name| prompt.contains(&format!("\"name\": {name:?}")));
        let expected = ["f", "gee"].map(|name| taught.split(' ').any(|own| own == name));
        assert_eq!(told, expected, "{more}: {sent}");
        let grammar = sent.get("grammar").and_then(Value::as_str);
        assert_eq!(grammar.is_some(), forced, "{more}: {sent}");
        assert!(
            sent.get("tool_choice").is_none() && sent.get("tools").is_none(),
            "{sent}"
        );
    }
}

/// The form of `/v1/responses`.
#[tokio::test]
async fn allowed_tools_of_responses_are_obeyed() {
    let tools = json!([
        {"type": "function", "name": "f", "parameters": {"type": "object"}},
        {"type": "function", "name": "gee", "parameters": {"type": "object"}},
    ]);
    let choice = json!({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]});
    let fake = Fake::new(|_| spoken("openai", &["x"], false)).await;
    for mode in ["repair", "prompt"] {
        let url = gateway(&fake.url, &config("openai", &format!("mode = {mode:?}\n"))).await;
        let mut asked = request("responses", false);
        asked["tools"] = tools.clone();
        asked["tool_choice"] = choice.clone();
        let answer = post(&client(), &format!("{url}/v1/responses"), &asked).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let sent = fake.last().json();
        match mode {
            "prompt" => {
                let prompt = sent["messages"][0]["content"].as_str().unwrap();
                assert!(
                    prompt.contains("\"name\": \"f\"") && !prompt.contains("gee"),
                    "{sent}"
                );
            }
            _ => {
                let tools = json!([{"type": "function", "function": {"name": "f"}}]);
                let own = json!({"mode": "auto", "tools": tools});
                let expected = json!({"type": "allowed_tools", "allowed_tools": own});
                assert_eq!(sent["tool_choice"], expected, "{sent}");
            }
        }
    }
}

/// What was not wanted as a call is text, and no call for the next reader either.
#[tokio::test]
async fn without_a_choice_of_tools_a_call_is_text_that_no_reader_takes_for_one() {
    for api in APIS {
        let fake = Fake::new(move |asked| {
            spoken(api, &["Hi ", CALL, " < b"], asked.json()["stream"] == true)
        })
        .await;
        let url = gateway(&fake.url, &config(api, "")).await;
        for (face, path) in &FACES[..3] {
            for stream in [false, true] {
                let mut asked = request(face, stream);
                asked["tool_choice"] = match *face {
                    "messages" => json!({"type": "none"}),
                    _ => "none".into(),
                };
                let answer = post(&client(), &format!("{url}{path}"), &asked).await;
                let reply = read_face(face, &answer, stream);
                let what = format!("{face} over {api}, streamed {stream}: {}", answer.body);
                assert!(reply.calls.is_empty() && reply.left.is_none(), "{what}");
                let (before, after) = CALL.split_at(1);
                assert_eq!(
                    reply.text,
                    format!("Hi {before}\\{after} < b").replace("\n</tool", "\n<\\/tool"),
                    "{what}"
                );
                let next = Fake::new(move |_| spoken("openai", &[&reply.text], false)).await;
                let next = gateway(&next.url, &config("openai", "")).await;
                let next = post(
                    &client(),
                    &format!("{next}/v1/chat/completions"),
                    &request("chat", false),
                )
                .await;
                assert!(Reply::whole(&next).calls.is_empty(), "{}", next.body);
            }
        }
    }
}

/// A model that is switched off is neither read nor taught.
#[tokio::test]
async fn a_model_that_is_switched_off_is_not_read() {
    let off = "[[models]]\nmatch = \"m\"\nenabled = false\n";
    for api in APIS {
        let fake = Fake::new(move |asked| {
            let body = asked.json();
            assert!(body.get("tools").is_some(), "{body}");
            spoken(api, &["<think>hm</think>Hi ", CALL], body["stream"] == true)
        })
        .await;
        let more = format!("mode = \"prompt\"\nrecovered = \"ask\"\n{off}");
        let url = gateway(&fake.url, &config(api, &more)).await;
        for (face, path) in FACES {
            for stream in [false, true] {
                let answer = post(&client(), &format!("{url}{path}"), &request(face, stream)).await;
                let reply = read_face(face, &answer, stream);
                let what = format!("{face} over {api}, streamed {stream}: {}", answer.body);
                assert!(reply.calls.is_empty() && reply.left.is_none(), "{what}");
                assert_eq!(reply.text, format!("<think>hm</think>Hi {CALL}"), "{what}");
            }
        }
    }
}
