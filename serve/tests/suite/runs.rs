//! Runs: their events, the questions that they ask, and their end.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Value, json};
use toolglot_agent::driver::{Model, Script, Stream, pieces};
use toolglot_agent::{Ask, Said};
use toolglot_serve::{AgentSetup, Options};
use toolglot_tools::outcome::Shape;

use crate::support::{Slow, Up, call, folder, kept, says, setup, text};

fn kinds(events: &[Value]) -> Vec<String> {
    let kind = |event: &Value| {
        let names = ["event", "do", "outcome"];
        let found = names.iter().find_map(|name| event[name].as_str());
        found.unwrap_or("decision").to_owned()
    };
    let mut kinds: Vec<String> = events.iter().map(kind).collect();
    kinds.dedup();
    kinds
}

#[tokio::test]
async fn a_run_asks_is_approved_and_ends() {
    let up = Up::with(says("hello")).await;
    let id = up.begin(&json!({"task": "Say hello."})).await;
    let asked = up.until(&id, json!({"event": "waiting"})).await;
    let confirm = up.until(&id, json!({"do": "confirm"})).await;
    assert_eq!(asked["id"], confirm["id"]);
    assert_eq!(confirm["arguments"], r#"{"what":"hello"}"#);

    let run = up.run(&id).await;
    assert_eq!(
        (&run["state"], &run["task"]),
        (&json!("waiting"), &json!("Say hello."))
    );
    let waiting = &run["waiting"][0];
    assert_eq!(
        (&waiting["call"], &waiting["name"]),
        (&confirm["id"], &json!("say"))
    );
    assert_eq!(waiting["digest"], confirm["digest"]);

    let decision =
        json!({"call": confirm["id"], "digest": confirm["digest"], "decision": "approve"});
    assert_eq!(up.decide(&id, &decision).await.status, 204);
    let events = up.all(&id).await;
    let numbers: Vec<u64> = events
        .iter()
        .map(|event| event["n"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>());
    assert_eq!(
        kinds(&events),
        [
            "ask", "text", "named", "written", "stands", "confirm", "waiting", "decision",
            "running", "start", "settled", "message", "ask", "text", "message", "answer"
        ]
    );
    assert_eq!(text(&events), "I say it. It is said.");

    let run = up.run(&id).await;
    assert_eq!(run["state"], "finished");
    assert_eq!(
        run["outcome"],
        json!({"outcome": "answer", "text": "It is said."})
    );
    assert_eq!(run["last"], events.len());
    let messages = run["messages"].as_array().unwrap();
    let roles: Vec<_> = messages
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(
        roles,
        ["user", "assistant", "user", "assistant"],
        "{messages:?}"
    );

    up.decide(&id, &decision)
        .await
        .refused(409, "not_waiting", "does not wait");
    let got = up.post(&format!("/api/runs/{id}/cancel"), &json!({})).await;
    got.refused(409, "finished", &id);
}

#[tokio::test]
async fn a_decision_names_the_arguments_that_were_shown() {
    let up = Up::with(says("hello")).await;
    let id = up.begin(&json!({"task": "Say hello."})).await;
    let asked = up.until(&id, json!({"do": "confirm"})).await;
    let (call, digest) = (&asked["id"], asked["digest"].as_str().unwrap());
    up.until(&id, json!({"event": "waiting"})).await;
    let decide = async |body: Value| up.decide(&id, &body).await;

    let other = digest.replace(&digest[..1], "x");
    for wrong in ["", &other, &digest[..63]] {
        let got = decide(json!({"call": call, "digest": wrong, "decision": "approve"})).await;
        got.refused(409, "digest_mismatch", "arguments");
    }
    let got = decide(json!({"call": "call_9_9", "digest": digest, "decision": "approve"})).await;
    got.refused(409, "not_waiting", "call_9_9");
    for (body, words) in [
        (
            json!({"call": call, "digest": digest, "decision": "maybe"}),
            "approve",
        ),
        (json!({"call": call, "decision": "approve"}), "digest"),
        (
            json!({"call": call, "digest": digest, "decision": "approve", "arguments": "{}"}),
            "object",
        ),
        (
            json!({"call": call, "digest": digest, "decision": "approve", "all": true}),
            "all",
        ),
    ] {
        decide(body).await.refused(400, "bad_request", words);
    }
    let edit = json!({"often": "never"});
    let body = json!({"call": call, "digest": digest, "decision": "approve", "arguments": edit});
    decide(body).await.refused(422, "invalid_arguments", "what");
    assert_eq!(
        up.run(&id).await["state"],
        "waiting",
        "nothing of that has decided"
    );

    let edit = json!({"what": "good day"});
    let body = json!({"call": call, "digest": digest, "decision": "approve", "arguments": edit});
    assert_eq!(decide(body).await.status, 204);
    let events = up.all(&id).await;
    let start = events.iter().find(|event| event["do"] == "start").unwrap();
    assert_eq!(start["arguments"], r#"{"what":"good day"}"#);
}

#[tokio::test]
async fn a_denial_is_told_to_the_model() {
    let up = Up::with(says("hello")).await;
    let id = up.begin(&json!({"task": "Say hello."})).await;
    let asked = up.until(&id, json!({"do": "confirm"})).await;
    up.until(&id, json!({"event": "waiting"})).await;
    let body = json!({"call": asked["id"], "digest": asked["digest"], "decision": "deny", "reason": "too loud"});
    assert_eq!(up.decide(&id, &body).await.status, 204);
    let events = up.all(&id).await;
    assert!(!events.iter().any(|event| event["do"] == "start"));
    let settled = events
        .iter()
        .find(|event| event["event"] == "settled")
        .unwrap();
    assert_eq!(settled["state"], "denied");
    assert!(
        up.run(&id).await["messages"]
            .to_string()
            .contains("too loud")
    );
}

#[tokio::test]
async fn calls_within_calls_ask_too() {
    let asks = call("twice", &json!({}));
    let up = Up::with(Script::new([asks.as_str(), "Done."])).await;
    let id = up.begin(&json!({"task": "Say it twice."})).await;
    let mut asked = vec![];
    for what in ["one", "two"] {
        let arguments = json!({"what": what}).to_string();
        let wanted = json!({"do": "confirm", "arguments": arguments});
        asked.push(up.until(&id, wanted).await);
    }
    let waiting = up.run(&id).await["waiting"].take();
    assert_eq!(waiting.as_array().unwrap().len(), 2);
    for (one, step) in asked.iter().zip(["step_0", "step_1"]) {
        assert_eq!(one["id"], format!("call_0_0/{step}"));
        let body = json!({"call": one["id"], "digest": one["digest"], "decision": "approve"});
        assert_eq!(up.decide(&id, &body).await.status, 204);
        up.until(&id, json!({"decision": [one["id"], "approve"]}))
            .await;
    }
    let settled = up.until(&id, json!({"event": "settled"})).await;
    assert_eq!(settled["state"], "completed", "{settled}");
    let answer = up.until(&id, json!({"outcome": "answer"})).await;
    assert_eq!(answer["text"], "Done.");
}

#[tokio::test]
async fn a_cancelled_run_stops_its_calls() {
    let asks = call("slow", &json!({}));
    let mut setup = setup(Script::new([asks.as_str()]));
    let slow = Slow::default();
    let (begun, stopped) = (slow.begun.clone(), slow.stopped.clone());
    setup.toolbox.executors.add("slow", Arc::new(slow));
    let up = Up::start(setup, Options::default()).await;
    let id = up.begin(&json!({"task": "Take your time."})).await;
    begun.notified().await;
    assert_eq!(up.run(&id).await["state"], "running");
    let cancel = format!("/api/runs/{id}/cancel");
    assert_eq!(up.post(&cancel, &json!({})).await.status, 204);
    let events = up.all(&id).await;
    assert_eq!(events.last().unwrap()["outcome"], "cancelled");
    assert_eq!(stopped.load(Ordering::SeqCst), 1);
    assert_eq!(up.run(&id).await["state"], "finished");
    up.post(&cancel, &json!({}))
        .await
        .refused(409, "finished", &id);
}

#[tokio::test]
async fn a_run_chooses_its_dialect_and_its_tools() {
    let up = Up::with(says("hello")).await;
    let vcp = "<<<[TOOL_REQUEST]>>>\ntool_name:「始」facts「末」\n<<<[END_TOOL_REQUEST]>>>";
    let mut two = setup(Script::new([vcp, "Two ferries."]));
    let hermes = setup(says("hello")).agents.remove(0);
    two.agents[0].name = "other".to_owned();
    two.agents[0].shape = Shape::Text;
    two.agents.push(hermes);
    let mixed = Up::start(two, Options::default()).await;
    let body = json!({"task": "How many?", "agent": "other", "dialect": "vcp"});
    let id = mixed.begin(&body).await;
    let events = mixed.all(&id).await;
    let settled = events
        .iter()
        .find(|event| event["event"] == "settled")
        .unwrap();
    assert_eq!(settled["state"], "completed", "{settled}");
    let run = mixed.run(&id).await;
    assert_eq!(
        (&run["agent"], &run["dialect"]),
        (&json!("other"), &json!("vcp"))
    );

    let id = up
        .begin(&json!({"task": "Say hello.", "tools": ["facts"]}))
        .await;
    let events = up.all(&id).await;
    let settled = events
        .iter()
        .find(|event| event["event"] == "settled")
        .unwrap();
    assert_eq!(settled["state"], "failed", "it has no such tool: {settled}");
}

#[tokio::test]
async fn a_model_that_fails_is_told() {
    let up = Up::with(Script::new(Vec::<&str>::new())).await;
    let id = up.begin(&json!({"task": "Hello."})).await;
    let events = up.all(&id).await;
    let failed = events
        .iter()
        .find(|event| event.get("failed").is_some())
        .unwrap();
    assert!(failed["failed"].as_str().unwrap().contains("no reply 1"));
    assert_eq!(events.last().unwrap()["outcome"], "model_failed");
}

#[tokio::test]
async fn runs_are_listed_newest_first() {
    let up = Up::with(Script::new(["Hello."])).await;
    let mut ids = vec![];
    for task in ["one", "two", "three"] {
        let id = up.begin(&json!({"task": task})).await;
        up.all(&id).await;
        ids.insert(0, id);
    }
    let listed = async |path: &str| {
        let runs = up.get(path).await.json()["runs"].take();
        let runs = runs.as_array().unwrap().iter();
        runs.map(|run| run["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(listed("/api/runs").await, ids);
    assert_eq!(
        listed(&format!("/api/runs?before={}", ids[0])).await,
        ids[1..]
    );
    let first = up.get("/api/runs").await.json()["runs"][0].clone();
    assert_eq!(
        (&first["task"], &first["state"]),
        (&json!("three"), &json!("finished"))
    );
    assert_eq!(first["outcome"]["outcome"], "answer");
    assert!(first["started"].as_u64() > Some(1_600_000_000_000));
}

/// A model with a defect.
struct Panics;

impl Model for Panics {
    fn ask(&self, _: Ask) -> Stream<Said> {
        pieces(async move |_| panic!("a test"))
    }
}

#[tokio::test]
async fn a_run_that_panics_is_stopped_and_others_go_on() {
    let mut both = setup(says("hello"));
    let set = both.agents[0].set.clone();
    let panics = AgentSetup::new("panics", set, "hermes", Arc::new(Panics));
    both.agents.push(panics);
    let up = Up::start(both, Options::default()).await;
    let body = json!({"task": "Hello.", "agent": "panics"});
    let broken = up.begin(&body).await;
    let id = up.begin(&json!({"task": "Hello."})).await;
    up.until(&id, json!({"event": "waiting"})).await;
    while up.run(&broken).await["state"] != "stopped" {
        tokio::task::yield_now().await;
    }
    let run = up.run(&broken).await;
    assert!(
        run["reason"].as_str().unwrap().contains("internal error"),
        "{run}"
    );
    assert_eq!(up.run(&id).await["state"], "waiting");
    let cancel = format!("/api/runs/{broken}/cancel");
    assert_eq!(up.post(&cancel, &json!({})).await.status, 204);
    assert_eq!(up.run(&broken).await["state"], "finished");
}

#[tokio::test]
async fn many_runs_are_carried_out_at_once() {
    let asks = call("facts", &json!({}));
    let model = Script::new([asks.as_str(), "Two ferries."]);
    let up = Up::start(setup(model), kept(&folder("many"))).await;
    let mut ids = vec![];
    for _ in 0..50 {
        ids.push(up.begin(&json!({"task": "How many?"})).await);
    }
    let first = up.all(&ids[0]).await;
    assert_eq!(first.last().unwrap()["text"], "Two ferries.");
    for id in &ids[1..] {
        assert_eq!(up.all(id).await.len(), first.len());
        assert_eq!(up.run(id).await["state"], "finished");
    }
    up.finish().await;
}
