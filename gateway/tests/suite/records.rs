//! Recordings hold everything that the result depends on: `toolglot replay` reproduces the turn.

use serde_json::{Value, json};
use toolglot_testkit::recording::{Ready, Recording};

use crate::faces::request;
use crate::process::{folder, recorder, recording, start};
use crate::replies::{Part, said};
use crate::support::{FACES, Fake, Reply, client, post, read_face};

const CALL: &str = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>";

/// Names of the calls, text and reasoning of a log.
fn turn(log: &[toolglot::json::Value]) -> (Vec<String>, String, String) {
    let (mut calls, mut text, mut thought) = (vec![], String::new(), String::new());
    for entry in log {
        let word = |key: &str| {
            entry
                .get(key)
                .and_then(|word| word.as_str())
                .unwrap_or_default()
                .to_owned()
        };
        match word("type").as_str() {
            "call_open" => calls.push(word("name")),
            "text" => text += &word("data"),
            "reasoning"
                if entry
                    .get("framing")
                    .is_some_and(|framing| framing.as_bool() == Some(false)) =>
            {
                thought += &word("data");
            }
            _ => {}
        }
    }
    (calls, text, thought)
}

fn names(reply: &Reply) -> Vec<String> {
    reply.calls.iter().map(|(name, _)| name.clone()).collect()
}

#[tokio::test]
async fn a_recording_reproduces_what_the_client_got() {
    let two = [Part::Text("Hi "), Part::Text(CALL), Part::Text(CALL)];
    let own = [
        Part::Text("Hi "),
        Part::Text(CALL),
        Part::Own("g", "{}"),
        Part::Text(" then"),
    ];
    // Streamed, a call in text behind one of the server is text.
    let first = [
        Part::Text("Hi "),
        Part::Own("g", "{\"b\": 2}"),
        Part::Text(CALL),
    ];
    let only = [
        Part::Text("Hi"),
        Part::Own("g", "{\"b\": 2}"),
        Part::Own("g", "{}"),
    ];
    for (parts, config, more) in [
        (&two[..], "", json!({})),
        (&two[..], "", json!({"parallel_tool_calls": false})),
        (&two[..], "", json!({"tool_choice": "none"})),
        (&two[..], "mode = \"prompt\"\n", json!({})),
        (&two[..], "limits.parser.max_calls = 1\n", json!({})),
        (&own[..], "", json!({})),
        (&own[..], "default.prefer = \"native\"\n", json!({})),
        (&own[..], "default.prefer = \"both\"\n", json!({})),
        (&only[..], "", json!({})),
        (&first[..], "", json!({})),
    ] {
        for stream in [false, true] {
            let own = parts.to_vec();
            let fake = Fake::new(move |_| {
                let mut answer = said("openai", stream, &own, "stop");
                // Reasoning beside the text.
                let body = String::from_utf8(answer.pieces.concat()).unwrap();
                let thought = "\"reasoning_content\":\"hm\",\"role\":\"assistant\"";
                answer.pieces = vec![
                    body.replacen("\"role\":\"assistant\"", thought, 1)
                        .into_bytes(),
                ];
                answer
            })
            .await;
            let folder = folder("records");
            let (file, record) = (folder.join("gateway.toml"), folder.join("record"));
            let config = config.replace("mode", "default.mode");
            let text = format!(
                "upstream = {:?}\nrecord = {record:?}\ndefault.dialect = \"hermes\"\n{config}",
                fake.url
            );
            std::fs::write(&file, text).unwrap();
            let process = start(&["--config", file.to_str().unwrap()]).await;
            // A face of another protocol delivers the calls of both kinds as the parser does.
            let (face, path) = FACES[1];
            let mut asked = request(face, stream);
            for (key, value) in more.as_object().unwrap() {
                asked[key] = value.clone();
            }
            let got = post(&client(), &format!("{}{path}", process.url), &asked).await;
            let reply = read_face(face, &got, stream);
            let what = format!("{config} {more}, streamed {stream}: {}", got.body);
            let recording = recording(&record).await;
            let again = Ready::new(&recording).unwrap();
            for cuts in [&recording.cuts.clone().unwrap()[..], &[]] {
                let log = again.run(&recording.input, cuts).entries();
                assert_eq!(recording.expect.as_ref(), Some(&log), "{what}");
            }
            let (calls, text, thought) = turn(recording.expect.as_ref().unwrap());
            assert_eq!(calls, names(&reply), "{what}");
            assert_eq!(thought, reply.thought, "{what}");
            assert_eq!(thought, "hm", "{what}");
            let plain = |text: &str| {
                text.replace('\\', "")
                    .split_whitespace()
                    .collect::<String>()
            };
            assert_eq!(plain(&text), plain(&reply.text), "{what}");
            assert_eq!(
                recording.native_tool_calls.is_some(),
                parts.iter().any(|part| matches!(part, Part::Own(..)))
            );
            assert_eq!(Recording::read(&recording.text()).as_ref(), Ok(&recording));
        }
    }
}

/// The client is told of a call of the server that broke off, and so is who replays the recording.
#[tokio::test]
async fn a_recording_has_calls_of_the_server_that_broke_off() {
    for stream in [false, true] {
        let parts = [Part::Text("Hi "), Part::Own("g", "")];
        let fake = Fake::new(move |_| said("openai", stream, &parts, "length")).await;
        let folder = folder("records-broken");
        let record = folder.join("record");
        let process = recorder(&fake, &record).await;
        let (face, path) = FACES[1];
        let got = post(
            &client(),
            &format!("{}{path}", process.url),
            &request(face, stream),
        )
        .await;
        let reply = read_face(face, &got, stream);
        let told = reply.left.expect(&got.body)["dropped"].to_string();
        assert!(told.contains("unclosed_block"), "{told}");
        let recording = recording(&record).await;
        let own = recording.native_tool_calls.clone().unwrap();
        assert_eq!(
            own.to_string(),
            "[{\"id\":\"\",\"type\":\"function\",\"function\":{\"name\":\"g\",\"arguments\":\"\"},\"refused\":\"unclosed_block\"}]"
        );
        let log = Ready::new(&recording).unwrap().run(&recording.input, &[]);
        assert_eq!(recording.expect.as_ref(), Some(&log.entries()));
        let log = toolglot::json::Value::from(log.entries()).to_string();
        assert!(
            log.contains("unclosed_block") && !log.contains("call_open"),
            "{log}"
        );
        assert_eq!(Recording::read(&recording.text()).as_ref(), Ok(&recording));
    }
}

/// The model's output and the tools, and nothing else of the request.
#[tokio::test]
async fn a_recording_holds_nothing_else_of_the_request() {
    let parts = [Part::Text("Hi "), Part::Text(CALL)];
    let fake = Fake::new(move |_| said("openai", false, &parts, "stop")).await;
    let folder = folder("records-request");
    let record = folder.join("record");
    let process = recorder(&fake, &record).await;
    let mut asked = request("chat", false);
    asked["messages"] = json!([{"role": "user", "content": "my secret question"}]);
    asked["user"] = Value::from("someone");
    post(
        &client(),
        &format!("{}/v1/chat/completions", process.url),
        &asked,
    )
    .await;
    let text = recording(&record).await.text();
    assert!(
        text.contains("\"a\"") && !text.contains("secret") && !text.contains("someone"),
        "{text}"
    );
}
