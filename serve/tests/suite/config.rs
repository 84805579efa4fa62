//! What a run changes of its agent: the master switch, the tools, the limits; and the prompt that follows from it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use toolglot_agent::Policy;
use toolglot_agent::driver::{Script, function};
use toolglot_serve::{Options, Setup};

use crate::support::{Slow, Up, call, folder, kept, setup, text};

/// A server that confirms nothing, whose model says these replies.
fn free(replies: &[&str]) -> Setup {
    let mut setup = setup(Script::new(replies.iter().copied()));
    setup.policy = Policy::allow_all();
    setup
}

fn settled(events: &[Value]) -> Vec<&str> {
    let settled = events.iter().filter(|event| event["event"] == "settled");
    settled
        .map(|event| event["state"].as_str().unwrap())
        .collect()
}

async fn prompt(up: &Up, body: Value) -> (String, Value) {
    let got = up.post("/api/prompt", &body).await;
    assert_eq!(got.status, 200, "{}", got.text);
    let answer = got.json();
    (
        answer["prompt"].as_str().unwrap().to_owned(),
        answer["tools"].clone(),
    )
}

/// Items 92, 110 and 114 of the checklist: the switch for all calls of an agent.
#[tokio::test]
async fn the_master_switch_leaves_calls_as_text_and_teaches_nothing() {
    let asks = call("facts", &json!({}));
    let up = Up::start(free(&[&asks, "Done."]), Options::default()).await;
    let off = json!({"task": "How many?", "config": {"enabled": false}});
    let id = up.begin(&off).await;
    let events = up.all(&id).await;
    assert_eq!(text(&events), asks);
    assert_eq!(events.last().unwrap()["outcome"], "answer");
    assert!(settled(&events).is_empty());
    assert_eq!(prompt(&up, off).await, (String::new(), json!([])));

    // On is what it is by default, and another run is not concerned.
    for body in [
        json!({"task": "x"}),
        json!({"task": "x", "config": {"enabled": true}}),
    ] {
        let id = up.begin(&body).await;
        assert_eq!(settled(&up.all(&id).await), ["completed"]);
    }
}

/// Item 114 of the checklist: each agent has a switch.
#[tokio::test]
async fn an_agent_that_is_off_on_the_server_cannot_be_switched_on() {
    let asks = call("facts", &json!({}));
    let mut one = free(&[&asks, "Done."]);
    let mut other = one.agents[0].clone();
    other.name = "off".to_owned();
    let mut config = one.config.clone();
    config.enabled = false;
    other.config = Some(config);
    one.agents.push(other);
    let up = Up::start(one, Options::default()).await;
    let body = json!({"task": "x", "agent": "off", "config": {"enabled": true}});
    let id = up.begin(&body).await;
    assert_eq!(text(&up.all(&id).await), asks);
    let id = up.begin(&json!({"task": "x"})).await;
    assert_eq!(settled(&up.all(&id).await), ["completed"]);
    let agents = up.get("/api/tools").await.json()["agents"].take();
    assert_eq!(agents[0]["config"]["enabled"], true);
    assert_eq!(agents[1]["config"]["enabled"], false);
    assert_eq!(agents[1]["tools"], json!([]));
}

/// Items 30 and 92 of the checklist: the tools of one agent are chosen.
#[tokio::test]
async fn switches_and_the_default_choose_tools_within_those_of_the_server() {
    let asks = call("facts", &json!({}));
    let mut setup = free(&[&asks, "Done."]);
    setup.config.tool_toggles.insert("slow".to_owned(), false);
    let up = Up::start(setup, Options::default()).await;
    let offered = async |config: Value, tools: Option<Value>| {
        let mut body = json!({"config": config});
        if let Some(tools) = tools {
            body["tools"] = tools;
        }
        let (text, tools) = prompt(&up, body).await;
        for name in ["say", "facts", "slow", "twice", "never"] {
            let here = tools.as_array().unwrap().contains(&json!(name));
            assert_eq!(
                text.contains(&format!("\"{name}\"")),
                here,
                "{name}: {text}"
            );
        }
        tools
    };
    assert_eq!(
        offered(json!({}), None).await,
        json!(["say", "facts", "twice", "never"])
    );
    let off = json!({"toolToggles": {"say": false}});
    assert_eq!(offered(off, None).await, json!(["facts", "twice", "never"]));
    let only = json!({"defaultToolEnabled": false, "toolToggles": {"facts": true, "slow": true}});
    assert_eq!(offered(only.clone(), None).await, json!(["facts"]));
    let two = json!(["facts", "slow", "say"]);
    assert_eq!(offered(json!({}), Some(two)).await, json!(["say", "facts"]));

    // What was offered is what can be called.
    for (config, state) in [
        (only, "completed"),
        (json!({"toolToggles": {"facts": false}}), "failed"),
    ] {
        let id = up.begin(&json!({"task": "x", "config": config})).await;
        assert_eq!(settled(&up.all(&id).await), [state]);
    }
}

/// Item 92 of the checklist: confirmation.
#[tokio::test]
async fn confirmation_is_asked_for_also_within_calls_and_cannot_be_taken_away() {
    let asks = call("twice", &json!({}));
    let mut setup = free(&[&asks, "Done."]);
    let up = Up::start(setup.clone(), Options::default()).await;
    let id = up.begin(&json!({"task": "x"})).await;
    assert_eq!(settled(&up.all(&id).await), ["completed"]);
    let body = json!({"task": "x", "config": {"requireConfirmation": true}});
    let id = up.begin(&body).await;
    for call in ["call_0_0", "call_0_0/step_0"] {
        let asked = up.until(&id, json!({"do": "confirm", "id": call})).await;
        while up.run(&id).await["state"] != "waiting" {
            tokio::task::yield_now().await;
        }
        let body = json!({"call": call, "digest": asked["digest"], "decision": "approve"});
        assert_eq!(up.decide(&id, &body).await.status, 204);
    }

    setup.config.require_confirmation = true;
    let up = Up::start(setup, Options::default()).await;
    let body = json!({"task": "x", "config": {"requireConfirmation": false}});
    let id = up.begin(&body).await;
    up.until(&id, json!({"event": "waiting", "id": "call_0_0"}))
        .await;
}

/// Items 92 and 110 of the checklist: limits of rounds and time.
#[tokio::test]
async fn limits_are_obeyed() {
    let asks = call("slow", &json!({}));
    let mut setup = free(&[&asks, "Over."]);
    setup
        .toolbox
        .executors
        .add("slow", Arc::new(Slow::default()));
    let up = Up::start(setup, Options::default()).await;
    let id = up
        .begin(&json!({"task": "x", "config": {"timeout": 50}}))
        .await;
    assert_eq!(settled(&up.all(&id).await), ["timed_out"]);

    // Calls that differ: one that is repeated is stopped for that.
    let asks: Vec<String> = (0..9).map(|n| call("facts", &json!({"n": n}))).collect();
    let asks: Vec<&str> = asks.iter().map(String::as_str).collect();
    let up = Up::start(free(&asks), Options::default()).await;
    for most in [1, 3] {
        let body = json!({"task": "x", "config": {"maxIterations": most}});
        let id = up.begin(&body).await;
        let events = up.all(&id).await;
        assert_eq!(events.last().unwrap()["outcome"], "iterations");
        let ran = settled(&events);
        let ran = ran.iter().filter(|state| **state == "completed");
        assert_eq!(ran.count(), most);
    }
}

/// Item 92 of the checklist: parallel calls.
#[tokio::test]
async fn calls_run_in_parallel_if_that_is_wanted() {
    let both = format!(
        "{}{}",
        call("say", &json!({"what": "a"})),
        call("facts", &json!({}))
    );
    for (parallel, most) in [(false, 1), (true, 2)] {
        let mut setup = free(&[&both, "Done."]);
        let (now, peak) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        for tool in ["say", "facts"] {
            let (now, peak) = (Arc::clone(&now), Arc::clone(&peak));
            let counts = function(move |_| {
                let (now, peak) = (Arc::clone(&now), Arc::clone(&peak));
                async move {
                    let at = now.fetch_add(1, Ordering::SeqCst) + 1;
                    peak.fetch_max(at, Ordering::SeqCst);
                    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                    now.fetch_sub(1, Ordering::SeqCst);
                    Ok::<_, String>("done")
                }
            });
            setup.toolbox.executors.add(tool, Arc::new(counts));
        }
        let up = Up::start(setup, Options::default()).await;
        let body = json!({"task": "x", "config": {"parallelExecution": parallel}});
        let id = up.begin(&body).await;
        assert_eq!(settled(&up.all(&id).await), ["completed", "completed"]);
        assert_eq!(peak.load(Ordering::SeqCst), most, "parallel: {parallel}");
    }
}

#[tokio::test]
async fn a_restart_keeps_what_a_run_changed() {
    let asks = call("facts", &json!({}));
    let make = || free(&[&asks, &asks, "Done."]);
    let options = kept(&folder("config"));
    let up = Up::start(make(), options.clone()).await;
    let config = json!({"requireConfirmation": true, "maxIterations": 1});
    let id = up.begin(&json!({"task": "x", "config": config})).await;
    up.until(&id, json!({"event": "waiting"})).await;
    up.kill().await;

    let up = Up::start(make(), options).await;
    let asked = up.run(&id).await["waiting"][0].take();
    let body = json!({"call": asked["call"], "digest": asked["digest"], "decision": "approve"});
    assert_eq!(up.decide(&id, &body).await.status, 204);
    let events = up.all(&id).await;
    assert_eq!(events.last().unwrap()["outcome"], "iterations");
}

#[tokio::test]
async fn what_a_run_cannot_set_is_told() {
    let up = Up::start(free(&["Hello."]), Options::default()).await;
    for (config, words) in [
        (
            json!({"protocol": "vcp"}),
            "config: a run cannot set protocol",
        ),
        (
            json!({"toolIdsInventory": []}),
            "cannot set toolIdsInventory",
        ),
        (json!({"enable": true}), "cannot set enable"),
        (json!({"enabled": "yes"}), "config.enabled: "),
        (json!({"toolToggles": {"a": 1}}), "config.toolToggles: "),
        (
            json!({"timeout": 0}),
            "config.timeout: it must be at least 1",
        ),
        (json!({"maxIterations": 0}), "config.maxIterations: "),
        (json!({"maxIterations": -1}), "config.maxIterations: "),
        (json!([]), "an object is needed"),
    ] {
        let body = json!({"task": "x", "config": config});
        for path in ["/api/runs", "/api/prompt"] {
            let got = up.post(path, &body).await;
            got.refused(400, "bad_request", words);
        }
    }
    let body = json!({"tools": ["nope"]});
    up.post("/api/prompt", &body)
        .await
        .refused(400, "bad_request", "no tool nope");
    let body = json!({"agent": "nope"});
    up.post("/api/prompt", &body)
        .await
        .refused(404, "no_agent", "nope");
    up.post("/api/runs", &json!({"agent": "host"}))
        .await
        .refused(400, "bad_request", "task");
    let (text, _) = prompt(&up, json!({"dialect": "vcp"})).await;
    assert!(text.contains("TOOL_REQUEST"), "{text}");
}
