//! What follows a call that the server found itself.

use crate::faces::request;
use crate::replies::{Part, said};
use crate::support::{FACES, Fake, Reply, client, gateway, post, read_face, spoken};

const CALL: &str = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>";
const ESCAPED: &str = "<\\tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n<\\/tool_call>";

const PARTS: [Part; 6] = [
    Part::Text("Hi "),
    Part::Own("g", "{\"b\": 1}"),
    Part::Text("<think>hm</think>then "),
    Part::Text(CALL),
    Part::Own("g", "{\"b\": 2}"),
    Part::Text(" bye"),
];

/// Each server, and how its configuration names it.
const APIS: [(&str, &str); 4] = [
    ("openai", "api = \"openai\"\n"),
    ("responses", "api = \"openai\"\nresponses = true\n"),
    ("anthropic", "api = \"anthropic\"\n"),
    ("ollama", "api = \"ollama\"\n"),
];

const DIALECTS: &str = "default.dialect = \"hermes, reasoning-think\"\n";

/// Whether a face asks a server of this kind.
fn meets(face: &str, api: &str) -> bool {
    face == "responses" || api != "responses"
}

/// A body that is not streamed has no order where the protocol has one text and one list of calls: its text comes first.
fn has_order(api: &str, stream: bool) -> bool {
    stream || matches!(api, "anthropic" | "responses")
}

#[tokio::test]
async fn text_after_a_call_of_the_server_is_read_on_every_face() {
    for (api, config) in APIS {
        for size in [1, 30, usize::MAX] {
            let fake = Fake::new(move |asked| {
                said(api, asked.json()["stream"] == true, &PARTS, "tool_calls").cut(size)
            })
            .await;
            let url = gateway(&fake.url, &format!("{config}{DIALECTS}")).await;
            for (face, path) in FACES.iter().filter(|(face, _)| meets(face, api)) {
                for stream in [true, false] {
                    if !has_order(api, stream) {
                        continue;
                    }
                    let got =
                        post(&client(), &format!("{url}{path}"), &request(face, stream)).await;
                    let what = format!("{face} over {api}, streamed {stream}: {}", got.body);
                    let mut reply = read_face(face, &got, stream);
                    for call in &mut reply.calls {
                        call.1 = call.1.replace(' ', "");
                    }
                    let own = |arguments: &str| ("g".to_owned(), arguments.to_owned());
                    assert_eq!(reply.calls, [own("{\"b\":1}"), own("{\"b\":2}")], "{what}");
                    assert_eq!(reply.thought, "hm", "{what}");
                    assert_eq!(reply.text, format!("Hi then {ESCAPED} bye"), "{what}");
                    assert!(reply.left.is_none(), "{what}");
                    let ends = ["tool_calls", "completed", "tool_use", "stop"];
                    assert!(ends.contains(&reply.reason.as_deref().unwrap()), "{what}");
                    // No reader behind this one takes the text for a call.
                    let text = reply.text;
                    let next = Fake::new(move |_| spoken("openai", &[&text], false)).await;
                    let next = gateway(&next.url, DIALECTS).await + "/v1/chat/completions";
                    let next = post(&client(), &next, &request("chat", false)).await;
                    assert!(Reply::whole(&next).calls.is_empty(), "{}", next.body);
                }
            }
        }
    }
}

/// The order of text, thoughts and calls stays, where the protocol of the client has one.
#[tokio::test]
async fn blocks_and_items_keep_their_order_around_calls_of_the_server() {
    for (api, config) in APIS {
        let fake =
            Fake::new(move |asked| said(api, asked.json()["stream"] == true, &PARTS, "tool_calls"))
                .await;
        let url = gateway(&fake.url, &format!("{config}{DIALECTS}")).await;
        for (face, path) in FACES.iter().filter(|(face, _)| meets(face, api)) {
            if !matches!(*face, "messages" | "responses") {
                continue;
            }
            for stream in [true, false] {
                if !has_order(api, stream) {
                    continue;
                }
                let got = post(&client(), &format!("{url}{path}"), &request(face, stream)).await;
                let parts = match (*face, stream) {
                    ("messages", true) => {
                        let starts = got.events().into_iter();
                        starts
                            .map(|event| event["content_block"].clone())
                            .filter(|block| !block.is_null())
                            .collect()
                    }
                    ("messages", false) => got.json()["content"].as_array().unwrap().clone(),
                    (_, true) => {
                        let last = got.events().pop().unwrap();
                        last["response"]["output"].as_array().unwrap().clone()
                    }
                    (_, false) => got.json()["output"].as_array().unwrap().clone(),
                };
                let kind = |part: &serde_json::Value| match part["type"].as_str().unwrap() {
                    "text" | "message" => 't',
                    "tool_use" | "function_call" => 'c',
                    _ => 'h',
                };
                let order: String = parts.iter().map(kind).collect();
                // Two blocks of the server may be one here.
                let order = order.replace("tt", "t");
                let what = format!("{face} over {api}, streamed {stream}: {}", got.body);
                let expected = match api {
                    // Chat completions tell only at their end that a call is complete.
                    "openai" => "thtcc",
                    _ => "tchtct",
                };
                assert_eq!(order, expected, "{what}");
            }
        }
    }
}

/// Between equal protocols the bytes of the server arrive until something in the text has to be converted.
#[tokio::test]
async fn bytes_are_those_of_the_server_until_something_is_converted() {
    let same = [
        Part::Text("Hi "),
        Part::Own("g", "{\"b\":2}"),
        Part::Text("then < b"),
    ];
    for ((api, config), (face, path)) in APIS.into_iter().zip(FACES) {
        for parts in [&same[..], &PARTS[..]] {
            let own = parts.to_vec();
            let fake = Fake::new(move |_| said(api, true, &own, "tool_calls").cut(7)).await;
            let url = gateway(&fake.url, &format!("{config}{DIALECTS}")).await;
            let got = post(&client(), &format!("{url}{path}"), &request(face, true)).await;
            let sent = String::from_utf8(said(api, true, parts, "tool_calls").pieces.concat());
            let sent = sent.unwrap();
            let until = sent.find("<think>").map_or(sent.len(), |at| {
                // The beginning of a block waits for its text.
                let blocks = [
                    "event: content_block_start",
                    "event: response.output_item.added",
                ];
                let starts = blocks
                    .iter()
                    .filter_map(|start| sent[..at].rfind(start))
                    .max();
                let line = || sent[..at].rfind('\n').map_or(0, |at| at + 1);
                starts.unwrap_or_else(line)
            });
            assert_eq!(
                got.body.get(..until),
                Some(&sent[..until]),
                "{face}: {}",
                got.body
            );
            assert_eq!(got.body == sent, parts.len() == same.len(), "{face}");
        }
    }
}

/// A call whose text the server splits over two parts, blocks or items, in the middle of a key.
#[tokio::test]
async fn a_call_that_is_split_over_two_parts_is_one_call() {
    const HALVES: [Part; 3] = [
        Part::Text("Hi <tool_call>\n{\"name\": \"f\", \"argu"),
        Part::Text("ments\": {\"a\": 1}}\n</tool_call>"),
        Part::Text(" bye"),
    ];
    for (api, config) in APIS {
        for size in [1, 30, usize::MAX] {
            let fake = Fake::new(move |asked| {
                let stream = asked.json()["stream"] == true;
                let mut answer = said(api, stream, &HALVES, "stop");
                if api == "openai" {
                    // Lists of parts, streamed and not.
                    let body = String::from_utf8(answer.pieces.concat()).unwrap();
                    let texts = HALVES.map(|part| match part {
                        Part::Text(text) => text,
                        Part::Own(..) => "",
                    });
                    let part = |text: &str| {
                        format!(
                            "{{\"type\":\"text\",\"text\":{}}}",
                            serde_json::Value::from(text)
                        )
                    };
                    let body = match stream {
                        true => texts.iter().fold(body, |body, text| {
                            let old = format!("\"content\":{}", serde_json::Value::from(*text));
                            body.replace(&old, &format!("\"content\":[{}]", part(text)))
                        }),
                        false => {
                            let old =
                                format!("\"content\":{}", serde_json::Value::from(texts.concat()));
                            body.replace(
                                &old,
                                &format!("\"content\":[{}]", texts.map(part).join(",")),
                            )
                        }
                    };
                    assert!(body.contains("\"content\":[{"));
                    answer.pieces = vec![body.into_bytes()];
                }
                answer.cut(size)
            })
            .await;
            let url = gateway(&fake.url, &format!("{config}{DIALECTS}")).await;
            for (face, path) in FACES.iter().filter(|(face, _)| meets(face, api)) {
                for stream in [true, false] {
                    let got =
                        post(&client(), &format!("{url}{path}"), &request(face, stream)).await;
                    let what = format!("{face} over {api}, streamed {stream}: {}", got.body);
                    let mut reply = read_face(face, &got, stream);
                    for call in &mut reply.calls {
                        call.1 = call.1.replace(' ', "");
                    }
                    assert_eq!(
                        reply.calls,
                        [("f".to_owned(), "{\"a\":1}".to_owned())],
                        "{what}"
                    );
                    assert_eq!(reply.text, "Hi  bye", "{what}");
                }
            }
        }
    }
}
