//! Settings that the server's protocol does not have: carried over, refused, or listed in a header.

use serde_json::{Value, json};

use crate::faces::request;
use crate::support::{FACES, Fake, Got, client, gateway, post, spoken};

fn path(face: &str) -> &'static str {
    FACES.iter().find(|(own, _)| *own == face).unwrap().1
}

/// A request with more members.
fn with(face: &str, more: &Value) -> Value {
    let mut asked = request(face, false);
    for (key, value) in more.as_object().unwrap() {
        asked[key] = value.clone();
    }
    asked
}

fn ignored(got: &Got) -> &str {
    let value = got.headers.get("toolglot-ignored");
    value.map_or("", |value| value.to_str().unwrap())
}

struct Servers(Vec<(&'static str, Fake, String)>);

impl Servers {
    async fn new(config: &str) -> Self {
        let mut all = vec![];
        for api in ["openai", "anthropic", "ollama"] {
            let fake = Fake::new(move |asked| spoken(api, &["x"], asked.json()["stream"] == true));
            let fake = fake.await;
            let url = gateway(&fake.url, &format!("api = {api:?}\n{config}")).await;
            all.push((api, fake, url));
        }
        Self(all)
    }

    /// Sends a request; returns the response, and what the server got.
    async fn ask(&self, face: &str, api: &str, asked: &Value) -> (Got, Option<Value>) {
        let (_, fake, url) = self.0.iter().find(|(own, _, _)| *own == api).unwrap();
        fake.asked.lock().unwrap().clear();
        let got = post(&client(), &format!("{url}{}", path(face)), asked).await;
        let sent = fake.asked.lock().unwrap().last().map(|asked| asked.json());
        (got, sent)
    }
}

const HERMES: &str = "default.dialect = \"hermes\"\n";

#[tokio::test]
async fn settings_with_an_equal_are_carried_over() {
    let servers = Servers::new(HERMES).await;
    let schema = json!({"type": "object", "properties": {"b": {"type": "string"}}});
    let format = json!({"type": "json_schema", "json_schema": {"name": "n", "schema": schema}});
    let reply = json!({"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}});
    let output = json!({"format": {"type": "json_schema", "schema": schema}});
    for (face, api, more, at, expected) in [
        (
            "chat",
            "anthropic",
            json!({"response_format": format}),
            "/output_config",
            output.clone(),
        ),
        (
            "chat",
            "anthropic",
            json!({"reasoning_effort": "low"}),
            "/output_config/effort",
            "low".into(),
        ),
        (
            "chat",
            "anthropic",
            json!({"reasoning_effort": "none"}),
            "/thinking",
            json!({"type": "disabled"}),
        ),
        (
            "chat",
            "anthropic",
            json!({"user": "u"}),
            "/metadata/user_id",
            "u".into(),
        ),
        ("chat", "anthropic", json!({"top_k": 3}), "/top_k", 3.into()),
        (
            "chat",
            "ollama",
            json!({"response_format": format}),
            "/format",
            schema.clone(),
        ),
        (
            "chat",
            "ollama",
            json!({"response_format": {"type": "json_object"}}),
            "/format",
            "json".into(),
        ),
        (
            "chat",
            "ollama",
            json!({"reasoning_effort": "high"}),
            "/think",
            "high".into(),
        ),
        (
            "chat",
            "ollama",
            json!({"reasoning_effort": "none"}),
            "/think",
            false.into(),
        ),
        (
            "chat",
            "ollama",
            json!({"seed": 0}),
            "/options/seed",
            0.into(),
        ),
        (
            "chat",
            "ollama",
            json!({"min_p": 0.1}),
            "/options/min_p",
            0.1.into(),
        ),
        (
            "responses",
            "openai",
            json!({"reasoning": {"effort": "low"}}),
            "/reasoning_effort",
            "low".into(),
        ),
        (
            "responses",
            "openai",
            json!({"text": {"verbosity": "low"}}),
            "/verbosity",
            "low".into(),
        ),
        (
            "responses",
            "openai",
            json!({"service_tier": "flex"}),
            "/service_tier",
            "flex".into(),
        ),
        (
            "responses",
            "ollama",
            json!({"max_output_tokens": 5}),
            "/options/num_predict",
            5.into(),
        ),
        (
            "messages",
            "openai",
            json!({"thinking": {"type": "disabled"}}),
            "/reasoning_effort",
            "none".into(),
        ),
        (
            "messages",
            "openai",
            json!({"output_config": {"effort": "max"}}),
            "/reasoning_effort",
            "max".into(),
        ),
        (
            "messages",
            "openai",
            json!({"output_config": {"format": {"type": "json_schema", "schema": schema}}}),
            "/response_format",
            reply.clone(),
        ),
        (
            "messages",
            "openai",
            json!({"metadata": {"user_id": "u"}}),
            "/user",
            "u".into(),
        ),
        (
            "messages",
            "ollama",
            json!({"thinking": {"type": "adaptive"}}),
            "/think",
            true.into(),
        ),
        (
            "ollama",
            "openai",
            json!({"think": false}),
            "/reasoning_effort",
            "none".into(),
        ),
        (
            "ollama",
            "openai",
            json!({"think": "low"}),
            "/reasoning_effort",
            "low".into(),
        ),
        (
            "ollama",
            "openai",
            json!({"format": schema}),
            "/response_format",
            reply,
        ),
        (
            "ollama",
            "openai",
            json!({"options": {"seed": 4, "min_p": 0.5, "num_predict": 6}}),
            "/max_tokens",
            6.into(),
        ),
        (
            "ollama",
            "openai",
            json!({"options": {"num_predict": -1}}),
            "/max_tokens",
            Value::Null,
        ),
        (
            "ollama",
            "anthropic",
            json!({"options": {"stop": ["a"]}}),
            "/stop_sequences",
            json!(["a"]),
        ),
    ] {
        let (got, sent) = servers.ask(face, api, &with(face, &more)).await;
        let sent = sent.unwrap_or_default();
        let what = format!("{face} {more} over {api}: {sent} {}", got.body);
        if expected.is_null() {
            assert_eq!(sent.pointer(at), None, "{what}");
            continue;
        }
        assert_eq!((got.status, ignored(&got)), (200, ""), "{what}");
        assert_eq!(sent.pointer(at), Some(&expected), "{what}");
    }
    let strict = json!({"tools": [{"type": "function", "name": "f", "strict": true, "parameters": {"type": "object"}}]});
    for (api, at) in [
        ("openai", "/tools/0/function/strict"),
        ("anthropic", "/tools/0/strict"),
    ] {
        let (got, sent) = servers
            .ask("responses", api, &with("responses", &strict))
            .await;
        assert_eq!(ignored(&got), "");
        assert_eq!(sent.unwrap().pointer(at), Some(&true.into()), "{api}");
    }
}

#[tokio::test]
async fn settings_that_change_the_answer_are_refused_with_their_name() {
    let servers = Servers::new(HERMES).await;
    let part = |part: Value| json!({"messages": [{"role": "user", "content": [part]}]});
    for (face, api, more, word) in [
        ("chat", "anthropic", json!({"logprobs": true}), "logprobs"),
        (
            "chat",
            "ollama",
            json!({"logprobs": true, "top_logprobs": 2}),
            "logprobs",
        ),
        ("chat", "ollama", json!({"n": 2}), "`n`"),
        (
            "chat",
            "anthropic",
            json!({"response_format": {"type": "json_object"}}),
            "response_format",
        ),
        (
            "chat",
            "ollama",
            json!({"response_format": {"type": "structural_tag"}}),
            "response_format",
        ),
        (
            "chat",
            "ollama",
            json!({"logit_bias": {"1": 100}}),
            "logit_bias",
        ),
        (
            "chat",
            "anthropic",
            json!({"functions": [{"name": "f"}]}),
            "functions",
        ),
        (
            "chat",
            "anthropic",
            json!({"guided_regex": "a+"}),
            "guided_regex",
        ),
        (
            "chat",
            "anthropic",
            json!({"tools": [{"type": "custom", "custom": {"name": "f"}}]}),
            "custom",
        ),
        (
            "chat",
            "anthropic",
            json!({"tool_choice": {"type": "allowed_tools", "allowed_tools": {}}}),
            "tool_choice",
        ),
        (
            "chat",
            "anthropic",
            part(json!({"type": "input_audio", "input_audio": {}})),
            "input_audio",
        ),
        (
            "chat",
            "ollama",
            part(json!({"type": "file", "file": {}})),
            "file",
        ),
        (
            "chat",
            "ollama",
            part(json!({"type": "image_url", "image_url": {"url": "http://a/b.png"}})),
            "image",
        ),
        (
            "responses",
            "openai",
            json!({"top_logprobs": 2}),
            "top_logprobs",
        ),
        (
            "responses",
            "openai",
            json!({"include": ["message.output_text.logprobs"]}),
            "include",
        ),
        (
            "responses",
            "openai",
            json!({"text": {"format": {"type": "grammar"}}}),
            "grammar",
        ),
        (
            "responses",
            "openai",
            json!({"background": true}),
            "background",
        ),
        (
            "responses",
            "openai",
            json!({"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "x"}]}]}),
            "image",
        ),
        (
            "responses",
            "openai",
            json!({"tools": [{"type": "web_search"}]}),
            "web_search",
        ),
        (
            "messages",
            "openai",
            json!({"mcp_servers": [{"type": "url"}]}),
            "mcp_servers",
        ),
        (
            "messages",
            "ollama",
            part(json!({"type": "document", "source": {}})),
            "document",
        ),
        ("ollama", "openai", json!({"logprobs": true}), "logprobs"),
    ] {
        let (got, sent) = servers.ask(face, api, &with(face, &more)).await;
        let what = format!("{face} {more} over {api}: {}", got.body);
        assert_eq!((got.status, sent), (400, None), "{what}");
        assert!(got.body.contains(word), "{what}");
    }
    // What asks for nothing is not refused.
    let nothing =
        json!({"logprobs": false, "top_logprobs": 0, "n": 1, "logit_bias": {}, "functions": null});
    let (got, _) = servers
        .ask("chat", "anthropic", &with("chat", &nothing))
        .await;
    assert_eq!(
        (got.status, ignored(&got)),
        (200, "top_logprobs"),
        "{}",
        got.body
    );
}

#[tokio::test]
async fn settings_without_an_equal_are_listed_in_a_header() {
    let servers = Servers::new(HERMES).await;
    let cached = json!([{"type": "text", "text": "S", "cache_control": {"type": "ephemeral"}}]);
    let thought = json!([{"role": "user", "content": "x"}, {"role": "assistant", "content": "y", "reasoning_content": "z", "name": "n"}]);
    for (face, api, more, names) in [
        (
            "chat",
            "anthropic",
            json!({"seed": 0, "store": true, "odd": {"a": 1}}),
            "odd, seed, store",
        ),
        (
            "chat",
            "anthropic",
            json!({"reasoning_effort": "minimal"}),
            "reasoning_effort",
        ),
        (
            "chat",
            "anthropic",
            json!({"messages": thought}),
            "messages.name, messages.reasoning_content",
        ),
        (
            "chat",
            "ollama",
            json!({"messages": thought}),
            "messages.name",
        ),
        (
            "chat",
            "ollama",
            json!({"user": "u", "service_tier": "flex"}),
            "service_tier, user",
        ),
        (
            "responses",
            "openai",
            json!({"store": true, "truncation": "auto", "include": ["reasoning.encrypted_content"]}),
            "include, store, truncation",
        ),
        (
            "responses",
            "openai",
            json!({"reasoning": {"summary": "auto"}, "metadata": {"a": "b"}}),
            "reasoning.summary",
        ),
        (
            "responses",
            "ollama",
            json!({"text": {"verbosity": "low"}}),
            "verbosity",
        ),
        (
            "messages",
            "openai",
            json!({"thinking": {"type": "enabled", "budget_tokens": 9}}),
            "thinking, thinking.budget_tokens",
        ),
        (
            "messages",
            "openai",
            json!({"system": cached, "service_tier": "auto"}),
            "cache_control, service_tier",
        ),
        (
            "ollama",
            "openai",
            json!({"keep_alive": 5, "options": {"num_ctx": 9}, "think": true}),
            "keep_alive, options.num_ctx, thinking",
        ),
    ] {
        for stream in [false, true] {
            let mut asked = with(face, &more);
            asked["stream"] = stream.into();
            let (got, _) = servers.ask(face, api, &asked).await;
            let what = format!("{face} {more} over {api}: {}", got.body);
            assert_eq!((got.status, ignored(&got)), (200, names), "{what}");
        }
    }
}

#[tokio::test]
async fn settings_reach_a_server_of_the_same_protocol() {
    let prompt = "default = { dialect = \"hermes\", mode = \"prompt\" }\n";
    for config in [HERMES, prompt] {
        let servers = Servers::new(config).await;
        for (face, api, more) in [
            (
                "chat",
                "openai",
                json!({"seed": 1, "logprobs": true, "n": 2, "odd": {"a": [1.5]}}),
            ),
            (
                "messages",
                "anthropic",
                json!({"thinking": {"type": "enabled", "budget_tokens": 9}, "metadata": {"user_id": "u", "x": 1}, "odd": 1}),
            ),
            (
                "ollama",
                "ollama",
                json!({"keep_alive": "5m", "think": true, "options": {"num_ctx": 9, "seed": 3}}),
            ),
        ] {
            let asked = with(face, &more);
            let (got, sent) = servers.ask(face, api, &asked).await;
            assert_eq!(got.status, 200, "{face}: {}", got.body);
            let sent = sent.unwrap();
            for (key, value) in more.as_object().unwrap() {
                // The part that chat completions have is translated there and back.
                let mut value = value.clone();
                if config == prompt && key == "metadata" {
                    value = json!({"user_id": "u"});
                }
                if key == "options" {
                    let mut sent = sent[key].clone();
                    // Those of the dialect.
                    sent.as_object_mut().unwrap().remove("stop");
                    assert_eq!(sent, value, "{face}");
                    continue;
                }
                assert_eq!(sent[key], value, "{face} {key}: {sent}");
            }
            let expected = match (config == prompt, face) {
                (true, "messages") => "metadata.x",
                _ => "",
            };
            assert_eq!(ignored(&got), expected, "{face}");
        }
    }
}

#[tokio::test]
async fn images_reach_every_server() {
    let servers = Servers::new(HERMES).await;
    let data = "/9j/AA==";
    let url = format!("data:image/jpeg;base64,{data}");
    for (face, _) in FACES {
        let words = json!({"type": "text", "text": "see"});
        let more = match face {
            "chat" => {
                json!({"messages": [{"role": "user", "content": [words, {"type": "image_url", "image_url": {"url": url}}]}]})
            }
            "responses" => {
                json!({"input": [{"role": "user", "content": [{"type": "input_text", "text": "see"}, {"type": "input_image", "image_url": url}]}]})
            }
            "messages" => {
                json!({"messages": [{"role": "user", "content": [words, {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": data}}]}]})
            }
            _ => json!({"messages": [{"role": "user", "content": "see", "images": [data]}]}),
        };
        for api in ["openai", "anthropic", "ollama"] {
            let (got, sent) = servers.ask(face, api, &with(face, &more)).await;
            let message = &sent.unwrap()["messages"][0];
            let (image, expected) = match api {
                "openai" => (&message["content"][1]["image_url"]["url"], url.as_str()),
                "anthropic" => (&message["content"][1]["source"]["data"], data),
                _ => (&message["images"][0], data),
            };
            assert_eq!(image, expected, "{face} over {api}: {message}");
            if api == "anthropic" && face != "messages" {
                assert_eq!(message["content"][1]["source"]["media_type"], "image/jpeg");
            }
            assert!(message.to_string().contains("see"), "{message}");
            assert_eq!((got.status, ignored(&got)), (200, ""));
        }
    }
}

#[tokio::test]
async fn keys_stay_where_a_client_of_the_same_protocol_put_them() {
    let servers = Servers::new(HERMES).await;
    let (_, fake, url) = &servers.0[1];
    for path in ["/v1/messages", "/v1/models"] {
        let sent = client().post(format!("{url}{path}"));
        let sent = sent
            .header("authorization", "Bearer t")
            .body(request("messages", false).to_string());
        assert_eq!(sent.send().await.unwrap().status(), 200);
        assert_eq!(
            fake.last().header("authorization"),
            Some("Bearer t"),
            "{path}"
        );
        assert_eq!(fake.last().header("x-api-key"), None, "{path}");
    }
    let config = "api = \"anthropic\"\nkey = \"k\"\n";
    let url = gateway(&fake.url, config).await;
    let sent = client().post(format!("{url}/v1/models")).body("{}");
    assert_eq!(sent.send().await.unwrap().status(), 200);
    assert_eq!(fake.last().header("x-api-key"), Some("k"));
}

#[tokio::test]
async fn messages_that_cannot_be_read_are_refused() {
    let translated = Servers::new(HERMES).await;
    let prompt = Servers::new("[default]\ndialect = \"hermes\"\nmode = \"prompt\"\n").await;
    for messages in [Value::Null, json!("hello"), json!(["hello"]), json!({})] {
        for (servers, face, api) in [
            (&prompt, "chat", "openai"),
            (&translated, "chat", "anthropic"),
            (&translated, "chat", "ollama"),
            (&translated, "messages", "openai"),
            (&translated, "ollama", "openai"),
        ] {
            let asked = with(face, &json!({"messages": messages}));
            let (got, sent) = servers.ask(face, api, &asked).await;
            assert_eq!((got.status, sent), (400, None), "{face}: {messages}");
            assert!(got.body.contains("`messages`"), "{}", got.body);
        }
        // The server reports it in its own words.
        let asked = with("chat", &json!({"messages": messages}));
        let (_, sent) = translated.ask("chat", "openai", &asked).await;
        assert_eq!(sent, Some(asked));
    }
}

#[tokio::test]
async fn broken_arguments_of_an_earlier_call_are_listed() {
    let servers = Servers::new(HERMES).await;
    for (arguments, told) in [
        ("{\"a\": 1}", ""),
        ("", ""),
        ("{\"a\": 1,", "messages.tool_calls.function.arguments"),
        ("[1]", "messages.tool_calls.function.arguments"),
    ] {
        let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}});
        let messages = json!([
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "y"},
        ]);
        for api in ["anthropic", "ollama"] {
            let asked = with("chat", &json!({"messages": messages}));
            let (got, _) = servers.ask("chat", api, &asked).await;
            assert_eq!((got.status, ignored(&got)), (200, told), "{api}");
        }
        let (got, _) = servers
            .ask(
                "chat",
                "openai",
                &with("chat", &json!({"messages": messages})),
            )
            .await;
        assert_eq!(ignored(&got), "");
    }
}

#[tokio::test]
async fn a_server_gets_no_member_that_nobody_asked_for() {
    let servers = Servers::new(HERMES).await;
    let asked = with(
        "chat",
        &json!({"tool_choice": "none", "parallel_tool_calls": false}),
    );
    let (_, sent) = servers.ask("chat", "anthropic", &asked).await;
    assert_eq!(sent.unwrap()["tool_choice"], json!({"type": "none"}));
    let prompt = Servers::new("[default]\ndialect = \"hermes\"\nmode = \"prompt\"\n").await;
    let (_, sent) = prompt.ask("chat", "openai", &request("chat", true)).await;
    assert_eq!(sent.unwrap().get("stream_options"), None);
}

#[tokio::test]
async fn a_message_that_is_only_a_thought_reaches_the_server() {
    let servers = Servers::new(HERMES).await;
    let thought = json!({"type": "thinking", "thinking": "T", "signature": "S"});
    let messages = json!([
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": [thought]},
        {"role": "user", "content": "y"},
    ]);
    let asked = with("messages", &json!({"messages": messages}));
    let (_, sent) = servers.ask("messages", "openai", &asked).await;
    assert_eq!(sent.unwrap()["messages"][1]["reasoning_content"], "T");
}
