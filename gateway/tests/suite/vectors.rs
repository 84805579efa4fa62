//! Every vector as the reply of a server: streamed in one piece and character by character, and not streamed.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use toolglot::{Finish, Grade, Options, Tools};
use toolglot_testkit::vectors::{Vector, read_file};

use crate::support::{Answer, Fake, Reply, chunks, client, completion, gateway, post};

/// The vectors that say nothing but what a model wrote.
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
    // A quick run takes a sample, as those of the laws do.
    let step = if std::env::var_os("TOOLGLOT_SPLITS").is_some() {
        5
    } else {
        1
    };
    all.into_iter().step_by(step).collect()
}

/// Calls that a client gets: names, and arguments as JSON.
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
        // A call that was taken back is no JSON.
        Some((name.clone(), serde_json::from_str(arguments).ok()?))
    };
    reply.calls.iter().filter_map(read).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_vector_streamed_equals_not_streamed() {
    let vectors = std::sync::Arc::new(vectors());
    let said = std::sync::Arc::clone(&vectors);
    let fake = Fake::new(move |asked| {
        let body = asked.json();
        let vector = &said[usize::try_from(body["number"].as_u64().unwrap()).unwrap()];
        let text = std::str::from_utf8(&vector.input).unwrap();
        match (body["stream"].as_bool(), body["each"].as_bool()) {
            (Some(true), Some(true)) => {
                let each: Vec<String> = text.chars().map(String::from).collect();
                Answer::events(&chunks(&each)).cut(4096)
            }
            (Some(true), _) => Answer::events(&chunks(&[text])),
            _ => Answer::json(&completion(text, "stop")),
        }
    })
    .await;
    let ids: BTreeSet<&str> = vectors
        .iter()
        .map(|vector| vector.dialect.as_str())
        .collect();
    let rules: String = ids
        .iter()
        .map(|id| format!("[[models]]\nmatch = {id:?}\ndialect = {id:?}\n"))
        .collect();
    let url = gateway(&fake.url, &rules).await + "/v1/chat/completions";
    let client = client();
    for (number, vector) in vectors.iter().enumerate() {
        let mut request = json!({"model": vector.dialect, "number": number, "messages": []});
        if let Some(tools) = &vector.tools {
            request["tools"] = serde_json::from_str(&tools.to_string()).unwrap();
        }
        let whole = Reply::whole(&post(&client, &url, &request).await);
        assert_eq!(calls(&whole), expected(vector), "{}", vector.id);
        request["stream"] = true.into();
        for each in [false, true] {
            request["each"] = each.into();
            let got = post(&client, &url, &request).await;
            let streamed = Reply::streamed(&got);
            let id = &vector.id;
            assert_eq!(calls(&streamed), calls(&whole), "{id}: {}", got.body);
            assert_eq!(streamed.text, whole.text, "{id}");
            assert_eq!(streamed.thought, whole.thought, "{id}");
            assert_eq!(
                streamed.left.is_some(),
                whole.left.is_some() || streamed.calls.len() > whole.calls.len(),
                "{id}"
            );
        }
    }
}
