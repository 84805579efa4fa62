//! The keys of model servers are in no event and in no file, however they come.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use toolglot::{Finish, NativeCall};
use toolglot_agent::driver::{Executor, Model, Piece, Script, Stream, pieces};
use toolglot_agent::{Ask, Said, Start};
use toolglot_serve::Setup;
use toolglot_tools::outcome::Content;

use crate::support::{Up, call, folder, kept, says, setup, text};

const KEY: &str = "sk-\"hunter2\"-ключ-0123";

/// A model that says given pieces: those of the first reply, of the second, ..
struct Pieces(Vec<Vec<Said>>);

impl Model for Pieces {
    fn ask(&self, ask: Ask) -> Stream<Said> {
        let said = ask.messages.iter();
        let said = said.filter(|message| message["role"] == "assistant");
        let reply = self.0[said.count()].clone();
        pieces(async move |out| {
            for said in reply {
                out.send(said).await;
            }
            Said::End(Finish::Stop)
        })
    }
}

/// A tool whose output is in two pieces.
struct Tells(usize);

impl Executor for Tells {
    fn start(&self, _: Start) -> Stream<Piece> {
        let (first, rest) = (KEY.split_at(self.0).0.to_owned(), KEY[self.0..].to_owned());
        pieces(async move |out| {
            out.send(Piece::Progress(format!("p {first}"))).await;
            out.send(Piece::Progress(format!("{rest} q"))).await;
            let value = toolglot::json::json!({"auth": [format!("Bearer {KEY}")]});
            Piece::Done(Ok(vec![
                Content::Text(format!("it is {KEY}")),
                Content::Json(value),
            ]))
        })
    }
}

fn with(model: impl Model + 'static, secrets: &[&str]) -> Setup {
    let mut setup = setup(model);
    setup.secrets = secrets.iter().map(|one| (*one).to_owned()).collect();
    setup
}

/// Everything in a folder.
fn bytes(folder: &Path) -> Vec<u8> {
    let files = std::fs::read_dir(folder).unwrap();
    files
        .flat_map(|file| std::fs::read(file.unwrap().path()).unwrap())
        .collect()
}

#[track_caller]
fn without(what: &[u8], cut: usize) {
    let quoted = Value::from(KEY).to_string();
    for key in [KEY, quoted.trim_matches('"')] {
        let found = what.windows(key.len()).any(|some| some == key.as_bytes());
        assert!(!found, "cut at {cut}: {}", String::from_utf8_lossy(what));
    }
}

#[tokio::test]
async fn a_key_cut_at_any_place_is_in_no_event_and_no_file() {
    let cuts = KEY.char_indices().map(|(at, _)| at).chain([KEY.len()]);
    for cut in cuts {
        let (first, rest) = KEY.split_at(cut);
        let arguments = json!({"note": KEY}).to_string();
        let native = NativeCall::new("facts", arguments);
        let model = Pieces(vec![
            vec![
                Said::Text(format!("Key: {first}").into_bytes()),
                Said::Reasoning(format!("I know {first}")),
                Said::Text(format!("{rest}, {KEY}{first}").into_bytes()),
                Said::Reasoning(format!("{rest}.")),
                Said::Native(native),
            ],
            vec![
                Said::Text(b"sk-".to_vec()),
                Said::Text(first.as_bytes().to_vec()),
            ],
        ]);
        let folder = folder("secrets");
        let mut setup = with(model, &[KEY]);
        let set = toolglot::DialectSet::builtin("hermes").unwrap();
        setup.agents[0].set = set;
        setup.agents[0].shape = toolglot_tools::outcome::Shape::OpenAi;
        setup.toolbox.executors.add("facts", Arc::new(Tells(cut)));
        let up = Up::start(setup, kept(&folder)).await;
        let id = up.begin(&json!({"task": "Say it."})).await;
        let events = up.all(&id).await;
        let end = if cut == KEY.len() { "[key]" } else { first };
        assert_eq!(
            text(&events),
            format!("Key: [key], [key]{end}sk-{end}"),
            "cut at {cut}"
        );
        let of = |kind: &str| {
            let some = events.iter().filter(|event| event["event"] == kind);
            some.filter_map(|event| event["text"].as_str())
                .collect::<String>()
        };
        assert_eq!(of("reasoning"), "I know [key].", "cut at {cut}");
        assert_eq!(of("progress"), "p [key] q", "cut at {cut}");
        let all = json!(events).to_string();
        assert!(all.contains("it is [key]") && all.contains("Bearer [key]"));
        without(all.as_bytes(), cut);
        without(up.run(&id).await.to_string().as_bytes(), cut);
        // The log of writes holds what was written, and the file what was saved.
        without(&bytes(&folder), cut);
        up.finish().await;
        without(&bytes(&folder), cut);
    }
}

#[tokio::test]
async fn a_key_in_a_call_that_the_model_writes_runs_without_it() {
    let asks = call("facts", &json!({"key": KEY}));
    let model = Script::new([asks.as_str(), "Done."]).chunk(1);
    let up = Up::start(with(model, &[KEY]), toolglot_serve::Options::default()).await;
    let id = up.begin(&json!({"task": "Say it."})).await;
    let events = up.all(&id).await;
    let start = events.iter().find(|event| event["do"] == "start").unwrap();
    assert_eq!(start["arguments"], r#"{"key":"[key]"}"#);
    without(json!(events).to_string().as_bytes(), 0);
}

#[tokio::test]
async fn the_reason_of_a_failure_has_no_key() {
    struct Fails;
    impl Model for Fails {
        fn ask(&self, _: Ask) -> Stream<Said> {
            pieces(async move |_| Said::Failed(format!("401: wrong key {KEY}")))
        }
    }
    let up = Up::start(with(Fails, &[KEY]), toolglot_serve::Options::default()).await;
    let id = up.begin(&json!({"task": "Say it."})).await;
    let events = json!(up.all(&id).await).to_string();
    assert!(events.contains("401: wrong key [key]"), "{events}");
    without(events.as_bytes(), 0);
}

/// Keys that are words of the interface change none of it, and a run saved with them continues. Short ones are not replaced at
/// all: servers without keys are given such.
#[tokio::test]
async fn keys_that_are_words_of_the_interface_change_no_member_and_no_state() {
    let keys = [
        "text",
        "none",
        "ask",
        "completed",
        "duration_ms",
        "assistant",
        "messages",
    ];
    let make = || {
        let model = says("none of the messages is completed by the assistant");
        with(model, &keys)
    };
    let options = kept(&folder("words"));
    let up = Up::start(make(), options.clone()).await;
    let id = up.begin(&json!({"task": "Say some text."})).await;
    up.until(&id, json!({"event": "waiting"})).await;
    let before = up.run(&id).await;
    up.kill().await;

    let up = Up::start(make(), options).await;
    let after = up.run(&id).await;
    assert_eq!(after["waiting"], before["waiting"]);
    let asked = &after["waiting"][0];
    assert_eq!(
        asked["arguments"],
        r#"{"what":"none of the [key] is [key] by the [key]"}"#
    );
    let body = json!({"call": asked["call"], "digest": asked["digest"], "decision": "approve"});
    assert_eq!(up.decide(&id, &body).await.status, 204);
    let events = up.all(&id).await;
    let settled = events.iter().find(|event| event["event"] == "settled");
    let settled = settled.unwrap();
    assert_eq!(settled["state"], "completed");
    assert!(settled["result"]["duration_ms"].is_u64(), "{settled}");
    assert_eq!(events.last().unwrap()["text"], "It is said.");
    let roles = up.run(&id).await["messages"].as_array().unwrap().clone();
    assert_eq!(roles[1]["role"], "assistant");
}

#[tokio::test]
async fn a_person_who_writes_a_key_is_told() {
    let up = Up::start(with(says("hello"), &[KEY]), kept(&folder("person"))).await;
    let task = json!({"task": format!("Use {KEY}")});
    let got = up.post("/api/runs", &task).await;
    got.refused(400, "bad_request", "task: it contains a key");
    let id = up.begin(&json!({"task": "Say hello."})).await;
    let asked = up.until(&id, json!({"do": "confirm"})).await;
    up.until(&id, json!({"event": "waiting"})).await;
    for (decision, member, value) in [
        ("approve", "arguments", json!({"what": KEY})),
        ("deny", "reason", json!(KEY)),
    ] {
        let mut body =
            json!({"call": asked["id"], "digest": asked["digest"], "decision": decision});
        body[member] = value;
        let got = up.decide(&id, &body).await;
        got.refused(400, "bad_request", &format!("{member}: it contains a key"));
    }
    assert_eq!(up.run(&id).await["state"], "waiting");
}
