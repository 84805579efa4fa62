//! Every vector as the reply of a server: streamed in one piece, streamed character by character, and not streamed.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use toolglot::{Finish, Grade, Options, Tools};
use toolglot_testkit::vectors::{Vector, quick, read_file};

use crate::support::{Answer, FACES, Fake, Reply, client, gateway, post, read_face, spoken};

/// The vectors with default options, without API tool calls, whose input is UTF-8 and ends with `stop`.
fn vectors() -> Vec<Vector> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors");
    let mut all = vec![];
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "jsonl") {
            all.extend(read_file(&path).unwrap());
        }
    }
    let plain = |vector: &Vector| {
        vector.native_tool_calls.is_none()
            && vector.options.is_empty()
            && vector.finish == "stop"
            && std::str::from_utf8(&vector.input).is_ok_and(|text| !text.is_empty())
    };
    all.retain(plain);
    assert!(all.len() > 1000, "{}", all.len());
    // A quick run uses a sample, as the tests of the laws do.
    let step = if quick() { 12 } else { 1 };
    all.into_iter().step_by(step).collect()
}

/// The calls that a client must get: names, and arguments as JSON.
fn expected(vector: &Vector) -> Vec<(String, Value)> {
    let set = toolglot::DialectSet::builtin(&vector.dialect).unwrap();
    let tools = vector
        .tools
        .as_ref()
        .map(|tools| Tools::from_value(tools).unwrap());
    let options = Options::default().tools(tools.map(std::sync::Arc::new));
    let turn = toolglot::parse(&set, options, &vector.input, Finish::Stop);
    let calls = turn.calls.into_iter();
    calls
        .filter(|call| call.grade != Grade::Recovered)
        .filter_map(|call| Some((call.name, serde_json::from_str(&call.arguments).ok()?)))
        .collect()
}

fn calls(reply: &Reply) -> Vec<(String, Value)> {
    let read = |(name, arguments): &(String, String)| {
        // The arguments of a retracted call are not valid JSON.
        Some((name.clone(), serde_json::from_str(arguments).ok()?))
    };
    reply.calls.iter().filter_map(read).collect()
}

/// The text without white space.
fn dense(text: &str) -> String {
    text.split_whitespace().collect()
}

/// The tools of a vector in the form of a protocol.
fn tools(vector: &Vector, face: &str) -> Option<Value> {
    let tools: Value = serde_json::from_str(&vector.tools.as_ref()?.to_string()).unwrap();
    let each = tools.as_array().unwrap().iter().map(|tool| {
        let own = tool.get("function").unwrap_or(tool);
        let schema = own
            .get("parameters")
            .cloned()
            .unwrap_or_else(|| json!({"type": "object"}));
        match face {
            "responses" => json!({"type": "function", "name": own["name"], "parameters": schema}),
            "messages" => json!({"name": own["name"], "input_schema": schema}),
            _ => tool.clone(),
        }
    });
    Some(each.collect())
}

/// The answer to a request. Its model is named `DIALECT/NUMBER/HOW`: the number of a vector, and `each` for a chunk per character.
fn reply_to(vectors: &[Vector], asked: &Value) -> Answer {
    let model: Vec<&str> = asked["model"].as_str().unwrap().split('/').collect();
    let vector = &vectors[model[1].parse::<usize>().unwrap()];
    let text = std::str::from_utf8(&vector.input).unwrap();
    let each: Vec<String> = text.chars().map(String::from).collect();
    let pieces: Vec<&str> = match model[2] {
        "each" => each.iter().map(String::as_str).collect(),
        _ => vec![text],
    };
    spoken("openai", &pieces, asked["stream"] == true).cut(4096)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_vector_streamed_equals_not_streamed_in_every_protocol() {
    let vectors = std::sync::Arc::new(vectors());
    let given = std::sync::Arc::clone(&vectors);
    let fake = Fake::new(move |asked| reply_to(&given, &asked.json())).await;
    let ids: BTreeSet<&str> = vectors
        .iter()
        .map(|vector| vector.dialect.as_str())
        .collect();
    let rules: String = ids
        .iter()
        .map(|id| format!("[[models]]\nmatch = \"{id}/*\"\ndialect = {id:?}\n"))
        .collect();
    let url = gateway(&fake.url, &rules).await;
    let client = client();
    for (number, vector) in vectors.iter().enumerate() {
        let (mut first, mut blocks): (Option<Reply>, Option<String>) = (None, None);
        for (face, path) in FACES {
            for (stream, how) in [(false, "all"), (true, "all"), (true, "each")] {
                let model = format!("{}/{number}/{how}", vector.dialect);
                let mut request = json!({"model": model, "stream": stream});
                let key = if face == "responses" {
                    "input"
                } else {
                    "messages"
                };
                request[key] = json!([{"role": "user", "content": "x"}]);
                if let Some(tools) = tools(vector, face) {
                    request["tools"] = tools;
                }
                let got = post(&client, &format!("{url}{path}"), &request).await;
                let reply = read_face(face, &got, stream);
                let what = format!("{} {face} {stream} {how}: {}", vector.id, got.body);
                let Some(first) = &first else {
                    assert_eq!(calls(&reply), expected(vector), "{what}");
                    first = Some(reply);
                    continue;
                };
                assert_eq!(calls(&reply), calls(first), "{what}");
                // White space alone is no block of `/v1/responses` and `/v1/messages`.
                match face {
                    "chat" | "ollama" => assert_eq!(reply.text, first.text, "{what}"),
                    _ => {
                        assert_eq!(dense(&reply.text), dense(&first.text), "{what}");
                        assert_eq!(
                            &reply.text,
                            blocks.get_or_insert(reply.text.clone()),
                            "{what}"
                        );
                    }
                }
                assert_eq!(reply.thought, first.thought, "{what}");
                // A retracted call is reported too.
                let left = first.left.is_some() || reply.calls.len() > first.calls.len();
                assert_eq!(reply.left.is_some(), left, "{what}");
            }
        }
    }
}
