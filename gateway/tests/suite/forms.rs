//! Requests whose members have another type than the protocol gives them, and results in another order than their calls.

use serde_json::{Value, json};

use crate::faces::request;
use crate::support::{FACES, Fake, Got, client, gateway, post, spoken};

const HERMES: &str = "default.dialect = \"hermes\"\n";
const PROMPT: &str = "default = { dialect = \"hermes\", mode = \"prompt\" }\n";

/// Sends a request with more members; returns the response, and what the server got.
async fn ask(
    face: &str,
    (api, config): (&'static str, &str),
    more: &Value,
) -> (Got, Option<Value>) {
    let fake = Fake::new(move |_| spoken(api, &["x"], false)).await;
    let url = gateway(&fake.url, &format!("api = {api:?}\n{config}")).await;
    let (_, path) = FACES.into_iter().find(|(own, _)| *own == face).unwrap();
    let mut asked = request(face, false);
    for (key, value) in more.as_object().unwrap() {
        asked[key] = value.clone();
    }
    let got = post(&client(), &format!("{url}{path}"), &asked).await;
    let sent = fake.asked.lock().unwrap().last().map(|asked| asked.json());
    (got, sent)
}

fn user(content: &Value) -> Value {
    json!({"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": content}]})
}

fn call(function: &Value) -> Value {
    let call = json!({"id": "c", "type": "function", "function": function});
    json!({"messages": [{"role": "assistant", "content": null, "tool_calls": [call]}]})
}

#[tokio::test]
async fn a_member_of_a_wrong_type_is_refused_with_its_place() {
    let text = json!({"type": "text", "text": "q"});
    let block = |block: Value| user(&json!([block]));
    let input = |item: Value| json!({"input": [item]});
    let cases: &[(&str, &[Value], &[&str])] = &[
        (
            "messages",
            &[user(&text), user(&json!(5)), user(&Value::Null)],
            &["messages[1]", "content"],
        ),
        ("messages", &[user(&json!(["q"]))], &["content[0]"]),
        (
            "messages",
            &[
                block(json!({"type": "text", "text": {"q": 1}})),
                block(json!({"type": "tool_result", "tool_use_id": "c", "content": text})),
                block(json!({"type": "tool_result", "tool_use_id": "c", "content": ["q"]})),
                block(json!({"type": "tool_result", "tool_use_id": 5, "content": "q"})),
                block(json!({"type": "image", "source": "data:"})),
                block(json!({"type": "thinking", "thinking": ["q"]})),
            ],
            &["messages[1]", "content[0]"],
        ),
        (
            "messages",
            &[
                json!({"system": 5}),
                json!({"system": ["S"]}),
                json!({"system": {"type": "text", "text": "S"}}),
                json!({"system": [{"type": "text", "text": 5}]}),
                json!({"system": [{"type": "image"}]}),
            ],
            &["system"],
        ),
        (
            "messages",
            &[json!({"tools": "x"}), json!({"tools": ["x"]})],
            &["tools"],
        ),
        ("messages", &[json!({"metadata": "u"})], &["metadata"]),
        ("messages", &[json!({"thinking": true})], &["thinking"]),
        (
            "messages",
            &[json!({"output_config": {"format": "json"}})],
            &["format"],
        ),
        (
            "responses",
            &[
                json!({"input": 5}),
                json!({"input": {"role": "user", "content": "q"}}),
                json!({"input": ["q"]}),
                input(json!({"content": "q"})),
                input(json!({"role": 5, "content": "q"})),
                input(json!({"role": "user", "content": 5})),
                input(json!({"role": "user", "content": {"type": "input_text", "text": "q"}})),
                input(json!({"role": "user", "content": ["q"]})),
                input(json!({"role": "user", "content": [{"type": "input_text", "text": 5}]})),
                input(
                    json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": {"a": 1}}),
                ),
                input(json!({"type": "function_call_output", "call_id": "c", "output": {"a": 1}})),
                input(
                    json!({"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": 5}]}),
                ),
            ],
            &["input"],
        ),
        (
            "responses",
            &[json!({"instructions": ["S"]})],
            &["instructions"],
        ),
        (
            "responses",
            &[json!({"tools": "x"}), json!({"tools": ["x"]})],
            &["tools"],
        ),
        (
            "responses",
            &[json!({"text": {"format": "json"}})],
            &["format"],
        ),
        ("responses", &[json!({"reasoning": "low"})], &["reasoning"]),
        ("ollama", &[json!({"tools": "x"})], &["tools"]),
        ("ollama", &[json!({"options": [1]})], &["options"]),
        (
            "ollama",
            &[
                json!({"messages": [{"role": "user", "content": "a", "images": "QQ=="}]}),
                json!({"messages": [{"role": "user", "content": "a", "images": [5]}]}),
                json!({"messages": [{"role": "user", "content": 5, "images": ["QQ=="]}]}),
                json!({"messages": [{"role": "assistant", "tool_calls": {"function": {"name": "f"}}}]}),
                json!({"messages": [{"role": "assistant", "tool_calls": [{"function": "f"}]}]}),
                json!({"messages": [{"role": "assistant", "tool_calls": [{"name": "f"}]}]}),
            ],
            &["messages[0]"],
        ),
    ];
    for (face, all, words) in cases {
        for more in *all {
            for config in [("openai", HERMES), ("openai", PROMPT)] {
                check(&ask(face, config, more).await, face, more, words);
            }
        }
    }
    let cases: &[(&[Value], &[&str])] = &[
        (
            &[
                user(&text),
                user(&json!(5)),
                user(&json!(["q"])),
                block(json!({"type": "text", "text": 5})),
                block(json!({"type": "image_url", "image_url": "http://a/b.png"})),
            ],
            &["messages[1]", "content"],
        ),
        (
            &[
                call(&json!({"name": "f", "arguments": {"a": 1}})),
                call(&json!("f")),
                call(&Value::Null),
                json!({"messages": [{"role": "assistant", "tool_calls": [{"type": "custom", "custom": {"name": "f"}}]}]}),
                json!({"messages": [{"role": "assistant", "tool_calls": {"id": "c"}}]}),
            ],
            &["messages[0]", "tool_calls"],
        ),
        (
            &[json!({"tools": "x"}), json!({"tools": ["x"]})],
            &["tools"],
        ),
        (&[json!({"stop": 5})], &["stop"]),
    ];
    for (all, words) in cases {
        for more in *all {
            for config in [
                ("anthropic", HERMES),
                ("ollama", HERMES),
                ("openai", PROMPT),
            ] {
                check(&ask("chat", config, more).await, "chat", more, words);
            }
        }
    }
    for more in [
        json!({"response_format": "json"}),
        json!({"reasoning_effort": 5}),
    ] {
        for api in ["anthropic", "ollama"] {
            check(&ask("chat", (api, HERMES), &more).await, "chat", &more, &[]);
        }
    }
}

fn check((got, sent): &(Got, Option<Value>), face: &str, more: &Value, words: &[&str]) {
    let what = format!("{face} {more}: {}, sent {sent:?}", got.body);
    assert_eq!((got.status, sent), (400, &None), "{what}");
    let error = &got.json()["error"];
    let message = error["message"].as_str().or(error.as_str()).expect(&what);
    assert_eq!(error.is_string(), face == "ollama", "{what}");
    assert!(words.iter().all(|word| message.contains(word)), "{what}");
}

/// A server of the client's own protocol reports it in its own words.
#[tokio::test]
async fn a_server_of_the_same_protocol_gets_a_member_of_a_wrong_type() {
    for (face, api) in [
        ("chat", "openai"),
        ("messages", "anthropic"),
        ("ollama", "ollama"),
    ] {
        for more in [user(&json!(5)), json!({"tools": "x"})] {
            let (_, sent) = ask(face, (api, HERMES), &more).await;
            let sent = sent.unwrap();
            assert!(
                sent["tools"] == "x" || sent["messages"][1]["content"] == 5,
                "{sent}"
            );
        }
    }
}

/// What is missing or null stays allowed.
#[tokio::test]
async fn null_is_the_same_as_a_missing_member() {
    for (face, more) in [
        (
            "chat",
            json!({"stop": null, "tools": null, "response_format": null, "reasoning_effort": null}),
        ),
        (
            "messages",
            json!({"system": null, "tools": null, "metadata": null, "thinking": null}),
        ),
        (
            "responses",
            json!({"instructions": null, "tools": null, "text": {"format": null}, "reasoning": null, "include": null}),
        ),
        ("ollama", json!({"options": null, "tools": null})),
    ] {
        for config in [
            ("anthropic", HERMES),
            ("ollama", HERMES),
            ("openai", HERMES),
            ("openai", PROMPT),
        ] {
            let (got, _) = ask(face, config, &more).await;
            assert_eq!(got.status, 200, "{face} {config:?}: {}", got.body);
        }
    }
}

/// Where results carry no ids, the order is all that tells two results of one tool apart.
#[tokio::test]
async fn results_reach_a_server_without_ids_in_the_order_of_their_calls() {
    let call = |id: &str, at: &str| {
        let arguments = json!({"a": at}).to_string();
        json!({"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}})
    };
    let calls = |all: [Value; 2]| json!({"role": "assistant", "content": null, "tool_calls": all});
    let result =
        |id: &str, said: &str| json!({"role": "tool", "tool_call_id": id, "content": said});
    // Ids begin anew with each turn.
    let more = json!({"messages": [
        {"role": "user", "content": "x"},
        calls([call("c1", "Rome"), call("c2", "Oslo")]), result("c2", "2snow"), result("c1", "1sun"),
        calls([call("c2", "Bonn"), call("c1", "Bern")]), result("c1", "4hail"), result("c2", "3rain"),
    ]});
    for config in [("ollama", HERMES), ("openai", PROMPT), ("ollama", PROMPT)] {
        let (got, sent) = ask("chat", config, &more).await;
        let sent = sent.expect(&got.body)["messages"].to_string();
        let places = ["1sun", "2snow", "3rain", "4hail"].map(|said| sent.find(said).unwrap());
        assert!(places.is_sorted(), "{config:?}: {sent}");
    }
}

/// Ollama's clients name the tool; a call that got no result in its own turn gets none later.
#[tokio::test]
async fn results_without_ids_belong_to_calls_of_their_own_turn() {
    let call = |name: &str| json!({"function": {"name": name, "arguments": {}}});
    let result =
        |name: &str, said: &str| json!({"role": "tool", "tool_name": name, "content": said});
    let own = json!({"role": "tool", "tool_call_id": "mine", "content": "2"});
    let mut named = call("f");
    named["id"] = "mine".into();
    let more = json!({"messages": [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": "", "tool_calls": [call("g"), named, call("f")]},
        result("g", "1"), own, result("f", "3"),
        {"role": "assistant", "content": "", "tool_calls": [call("f")]},
        // Each call of a stream may be a message of its own.
        {"role": "assistant", "content": "", "tool_calls": [call("f")]},
        result("f", "4"),
        {"role": "assistant", "content": "", "tool_calls": [call("f")]},
        result("f", "6"),
    ]});
    let (got, sent) = ask("ollama", ("openai", HERMES), &more).await;
    let sent = sent.expect(&got.body);
    let messages = sent["messages"].as_array().unwrap();
    let results = messages.iter().filter(|message| message["role"] == "tool");
    let ids: Vec<(&str, &str)> = results
        .map(|one| {
            (
                one["content"].as_str().unwrap(),
                one["tool_call_id"].as_str().unwrap(),
            )
        })
        .collect();
    let expected = [
        ("1", "call_0"),
        ("2", "mine"),
        ("3", "call_2"),
        ("4", "call_3"),
        ("6", "call_5"),
    ];
    assert_eq!(ids, expected, "{sent}");
}
