//! Servers without tool support, and models that are asked again.

use serde_json::{Value, json};

use crate::faces::request;
use crate::support::{Answer, Fake, Reply, client, gateway, metrics, post, spoken};

const CALL: &str = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>";
const CUT: &str = "So: <tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1\n</tool_call>";
const PROMPT: &str = "default = { dialect = \"hermes\", mode = \"prompt\" }\n";

fn path(url: &str) -> String {
    format!("{url}/v1/chat/completions")
}

#[tokio::test]
async fn tools_calls_and_results_become_text() {
    let fake = Fake::new(|asked| spoken("openai", &[CALL], asked.json()["stream"] == true)).await;
    let url = gateway(&fake.url, PROMPT).await;
    let mut asked = request("chat", true);
    asked["messages"] = json!([
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "q", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}}]},
        {"role": "tool", "tool_call_id": "q", "content": "rain"},
    ]);
    let got = post(&client(), &path(&url), &asked).await;
    assert_eq!(Reply::streamed(&got).calls.len(), 1, "{}", got.body);
    let sent = fake.last().json();
    assert!(sent.get("tools").is_none());
    let messages = sent["messages"].as_array().unwrap();
    let content = |at: usize| messages[at]["content"].as_str().unwrap();
    assert!(
        content(0).starts_with("Be kind.") && content(0).contains("\"name\": \"f\""),
        "{sent}"
    );
    assert!(content(2).contains("<tool_call>") && messages[2].get("tool_calls").is_none());
    assert!(
        content(3).contains("rain") && content(3).contains("<tool_response>"),
        "{sent}"
    );
    assert_ne!(messages[3]["role"], "tool");
}

#[tokio::test]
async fn settings_for_calls_are_obeyed_or_refused() {
    let two = format!("{CALL}\n{CALL}");
    let fake = Fake::new(move |asked| {
        let two: &str = &two;
        spoken("openai", &[two], asked.json()["stream"] == true)
    })
    .await;
    let url = gateway(&fake.url, PROMPT).await;
    let with = |key: &str, value: Value| {
        let mut asked = request("chat", false);
        asked[key] = value;
        asked
    };
    let client = client();
    let refused = post(
        &client,
        &path(&url),
        &with("tool_choice", "required".into()),
    )
    .await;
    assert_eq!(refused.status, 400);
    assert!(refused.body.contains("tool_choice"), "{}", refused.body);
    let none = post(&client, &path(&url), &with("tool_choice", "none".into())).await;
    assert!(Reply::whole(&none).calls.is_empty());
    assert!(!fake.last().body.contains("parameters"), "no tool is told");
    let one = post(
        &client,
        &path(&url),
        &with("parallel_tool_calls", false.into()),
    )
    .await;
    let reply = Reply::whole(&one);
    assert!(
        reply.calls.len() == 1 && reply.left.is_some(),
        "{}",
        one.body
    );
    // With a grammar a call can be guaranteed.
    let config = PROMPT.replace(" }", ", grammar = \"gbnf\" }");
    let url = gateway(&fake.url, &config).await;
    let forced = post(
        &client,
        &path(&url),
        &with("tool_choice", "required".into()),
    )
    .await;
    assert_eq!(forced.status, 200, "{}", forced.body);
    assert!(
        fake.last().json()["grammar"]
            .as_str()
            .unwrap()
            .contains("root")
    );
    // With a structural tag, calls that the model begins follow the schema, and none is required.
    let config = PROMPT.replace(" }", ", grammar = \"structural_tag\" }");
    let url = gateway(&fake.url, &config).await;
    let tagged = post(&client, &path(&url), &request("chat", false)).await;
    assert_eq!(tagged.status, 200, "{}", tagged.body);
    let format = fake.last().json()["response_format"].clone();
    assert_eq!(format["type"], "structural_tag");
    assert!(format.to_string().contains("\"integer\""), "{format}");
    let required = with("tool_choice", "required".into());
    let refused = post(&client, &path(&url), &required).await;
    assert_eq!(refused.status, 400, "{}", refused.body);
}

#[tokio::test]
async fn a_model_is_asked_again_while_the_client_has_seen_only_text() {
    let config = "default = { dialect = \"hermes,qwen3-coder\", recovered = \"ask\" }\n";
    // Broken JSON, and calls that are only withheld: the end of a value was guessed, and more of the call may have been meant.
    let guessed = "So: <tool_call>\n<function=f>\n<parameter=a>\n1\n</function>\n</tool_call>";
    let truncated = "So: <tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>";
    for (cut, stream) in [CUT, guessed, truncated]
        .into_iter()
        .flat_map(|cut| [(cut, true), (cut, false)])
    {
        let fake = Fake::new(move |asked| {
            let again = asked.json()["messages"].as_array().unwrap().len() > 1;
            spoken("openai", &[if again { CALL } else { cut }], stream)
        })
        .await;
        let url = gateway(&fake.url, config).await;
        let answer = post(&client(), &path(&url), &request("chat", stream)).await;
        let reply = match stream {
            true => Reply::streamed(&answer),
            false => Reply::whole(&answer),
        };
        assert_eq!(reply.calls.len(), 1, "{}", answer.body);
        assert_eq!(reply.reason.as_deref(), Some("tool_calls"));
        assert!(reply.left.is_none());
        assert_eq!(answer.body.matches("[DONE]").count(), usize::from(stream));
        let messages = fake.last().json()["messages"].clone();
        assert_eq!(messages[1]["content"], cut);
        assert!(
            messages[2]["content"]
                .as_str()
                .is_some_and(|words| words.contains("write the call again"))
        );
        let page = metrics(&url).await;
        assert!(
            page.body
                .contains("asked_again_total{model=\"m\",dialect=\"hermes\"} 1")
        );
    }
    // A model that repeats the error is asked again up to the limit; the withheld call is reported.
    let fake = Fake::new(|_| spoken("openai", &[CUT], true)).await;
    let url = gateway(&fake.url, config).await;
    let answer = post(&client(), &path(&url), &request("chat", true)).await;
    let reply = Reply::streamed(&answer);
    assert!(
        reply.left.is_some() && reply.calls.is_empty(),
        "{}",
        answer.body
    );
    assert_eq!(reply.reason.as_deref(), Some("stop"));
    assert_eq!(answer.body.matches("[DONE]").count(), 1);
    assert_eq!(fake.asked.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn an_unknown_model_is_taught_a_dialect_until_its_reply_shows_another() {
    let glm = "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>";
    for (reply, next) in [(CALL, "<tool_call>\n{\"name\""), (glm, "<arg_key>")] {
        let fake = Fake::new(move |asked| match asked.line.contains("/props") {
            true => Answer::json("{}").status(404),
            false => spoken("openai", &[reply], asked.json()["stream"] == true),
        })
        .await;
        let url = gateway(&fake.url, "default.mode = \"prompt\"\n").await;
        for expected in ["<tool_call>", next] {
            let got = post(&client(), &path(&url), &request("chat", true)).await;
            assert_eq!(
                (got.status, Reply::streamed(&got).calls.len()),
                (200, 1),
                "{}",
                got.body
            );
            let prompt = fake.last().json()["messages"][0]["content"].to_string();
            let taught = prompt.contains("<arg_key>");
            assert_eq!(taught, expected == "<arg_key>", "{prompt}");
        }
    }
}
