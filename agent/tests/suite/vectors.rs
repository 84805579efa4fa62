//! `tests/agent/*.jsonl`: inputs of a run, and its instructions. Each line is an object:
//!
//! | member | value |
//! |---|---|
//! | `id` | unique |
//! | `agent` | as `Agent::from_json` reads it |
//! | `user` or `steps` | the user's message, or the steps of a workflow |
//! | `script` | the inputs, in order: each an object with one member besides `expect` or `fails` |
//!
//! An input is a `Told`, or `begin`, which does nothing. `expect` lists the instructions that follow, without events of text,
//! reasoning, names and messages; members that it does not name may have any value. `fails` is a part of the error instead.
//!
//! Each script is played as written, with the model's text in chunks of several sizes, and with the run saved and restored before each
//! input.

use std::path::Path;

use serde_json::{Value, json};
use toolglot::DialectSet;
use toolglot_agent::{Agent, Do, Event, Run, RunError, Step, Told};

fn part<T: serde::de::DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{value}: {error}"))
}

/// Passes one line of a script to a run, with text in chunks.
fn tell(run: &mut Run, line: &Value, size: usize) -> Result<(), RunError> {
    let mut told = line.clone();
    let map = told.as_object_mut().expect("an object");
    map.retain(|key, _| !matches!(key.as_str(), "expect" | "fails"));
    if map.contains_key("begin") {
        return Ok(());
    }
    match part(&told) {
        Told::Model(bytes) => {
            let mut chunks = bytes.chunks(size);
            chunks.try_for_each(|chunk| run.model(chunk))
        }
        told => run.tell(told),
    }
}

/// Returns whether `have` contains `wanted`.
fn holds(wanted: &Value, have: &Value) -> bool {
    match (wanted, have) {
        (Value::Object(wanted), Value::Object(have)) => wanted
            .iter()
            .all(|(key, value)| have.get(key).is_some_and(|have| holds(value, have))),
        (Value::Array(wanted), Value::Array(have)) => {
            wanted.len() == have.len() && wanted.iter().zip(have).all(|(a, b)| holds(a, b))
        }
        _ => wanted == have,
    }
}

fn said(run: &mut Run) -> Vec<Value> {
    let mut out = vec![];
    while let Some(one) = run.take() {
        match &one {
            Do::Event(
                Event::Text { .. }
                | Event::Reasoning { .. }
                | Event::Named { .. }
                | Event::Written { .. }
                | Event::Message { .. },
            ) => {}
            one => out.push(serde_json::to_value(one).expect("JSON")),
        }
    }
    out
}

fn play(vector: &Value, agent: &Agent, size: usize, saves: bool) {
    let id = &vector["id"];
    let mut run = match vector.get("steps") {
        Some(steps) => agent.steps(&part::<Vec<Step>>(steps)),
        None => agent.run(vector["user"].as_str().expect("a user")),
    };
    for (number, line) in vector["script"]
        .as_array()
        .expect("a script")
        .iter()
        .enumerate()
    {
        if saves && number > 0 {
            run = Run::restore(agent, &run.save()).expect("a saved run");
            // Repeated questions were already expected.
            said(&mut run);
        }
        let told = tell(&mut run, line, size);
        if let Some(why) = line.get("fails").and_then(Value::as_str) {
            let error = told.expect_err(why).to_string();
            assert!(error.contains(why), "{id} line {number}: {error}");
        } else {
            told.unwrap_or_else(|error| panic!("{id} line {number}: {error}"));
        }
        let wanted = line.get("expect").cloned().unwrap_or_else(|| json!([]));
        let have = Value::Array(said(&mut run));
        assert!(
            holds(&wanted, &have),
            "{id} line {number} ({size}, {saves}):\nwanted {wanted:#}\nhave {have:#}"
        );
    }
}

#[test]
fn scripts_are_played_as_they_are_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/agent");
    let mut ids = std::collections::HashSet::new();
    for file in std::fs::read_dir(folder).expect("a folder") {
        let text = std::fs::read_to_string(file.expect("a file").path()).expect("a text");
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let vector: Value = serde_json::from_str(line).expect("JSON");
            assert!(
                ids.insert(vector["id"].to_string()),
                "{} appears twice",
                vector["id"]
            );
            let dialect: String = part(&vector["agent"]["dialect"]);
            let set = DialectSet::builtin(&dialect).expect("a dialect");
            let agent = Agent::from_json(&set, &vector["agent"].to_string());
            let agent = agent.unwrap_or_else(|error| panic!("{}: {error}", vector["id"]));
            for size in [usize::MAX, 1, 3, 7] {
                for saves in [false, true] {
                    play(&vector, &agent, size, saves);
                }
            }
        }
    }
    assert!(ids.len() >= 15, "{} scripts", ids.len());
}

#[test]
fn invalid_agents_are_refused_with_a_reason() {
    let set = DialectSet::defaults();
    for (text, why) in [
        ("{", "this is not an agent: EOF"),
        ("{}", "missing field `dialect`"),
        (
            r#"{"dialect": "hermes", "tool": []}"#,
            "unknown field `tool`",
        ),
        (r#"{"dialect": "none"}"#, "none"),
        (
            r#"{"dialect": "hermes", "tools": 7}"#,
            "tools: it is no list of tools",
        ),
        (
            r#"{"dialect": "hermes", "tools": [{"name": "f"}], "callable": ["g"]}"#,
            "`callable` names `g`",
        ),
        (
            r#"{"dialect": "hermes", "policy": {"allow": [{"arguments": [{"pointer": "/a", "pattern": "("}]}]}}"#,
            "allow rule 0: `(` is not a pattern",
        ),
        (
            r#"{"dialect": "hermes", "config": {"timeout": "x"}}"#,
            "config: invalid type",
        ),
        (r#"{"dialect": "hermes", "shape": "x"}"#, "openai"),
    ] {
        let error = Agent::from_json(&set, text).expect_err(text).to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
}

#[test]
fn only_tools_listed_as_callable_are_declared() {
    let tools = r#"{"dialect": "hermes", "tools": [{"name": "f", "description": "F"}, {"name": "g", "description": "G"}], "callable": ["g"]}"#;
    let agent = Agent::from_json(&DialectSet::defaults(), tools).expect("an agent");
    let names: Vec<&str> = agent
        .offered()
        .tools()
        .iter()
        .map(|tool| tool.id.as_str())
        .collect();
    assert_eq!(names, ["g"]);
    let off = r#"{"dialect": "hermes", "tools": [{"name": "f", "description": "F"}], "config": {"enabled": false}}"#;
    let agent = Agent::from_json(&DialectSet::defaults(), off).expect("an agent");
    assert!(agent.offered().tools().is_empty());
}

#[test]
fn inputs_round_trip_through_json() {
    for line in [
        json!({"model": "a"}),
        json!({"model": [255, 97]}),
        json!({"reasoning": "hm"}),
        json!({"failed": "why"}),
        json!({"native": {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}}}),
        json!({"ended": "stop"}),
        json!("ask_again"),
        json!({"decision": ["c", "approve"]}),
        json!({"decision": ["c", {"edit": "{}"}]}),
        json!({"progress": ["c", "x"]}),
        json!({"done": {"id": "c", "name": "f", "status": "error", "content": "no", "duration_ms": 7}}),
        json!({"lost": "c"}),
        json!({"later": {"id": "", "name": "f", "status": "success", "content": null}}),
        json!({"tick": 7}),
        json!("cancel"),
    ] {
        let told: Told = part(&line);
        assert_eq!(serde_json::to_value(&told).expect("JSON"), line);
    }
    assert!(serde_json::from_str::<Told>(r#"{"native": {"name": "f"}}"#).is_err());
}
