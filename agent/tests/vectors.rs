//! `tests/agent/*.jsonl`: what a run is told, and what it does. A line is an object:
//!
//! | member | what |
//! |---|---|
//! | `id` | unique |
//! | `agent` | `dialect`, `tools` (definitions, all callable), `config`, `policy`, and perhaps `shape`, `lang`, `recovered`, `references`, `max_concurrent` |
//! | `user` or `steps` | what the user says, or the steps of a workflow |
//! | `script` | what happens, in turn: each an object of one member beside `expect` |
//!
//! Told are `model` (a text), `native` (a call), `ended` (why), `decision` (`[id, "approve" | {"edit": ..} | {"deny": ..}]`), `done`
//! (a result), `progress` (`[id, text]`), `lost` (an id), `later` (a result), `tick`, `cancel`, `ask_again`, and `begin`, which
//! tells nothing. `expect` lists the instructions that follow, without events of text, reasoning, names and messages; members that
//! it does not name may be anything. `fails` is a part of the error instead.
//!
//! Each is played as it is, with the model's text in pieces of every small size, and with the run saved and restored before each
//! thing that it is told.

use std::path::Path;

use serde_json::{Value, json};
use toolglot::{DialectSet, Finish, NativeCall};
use toolglot_agent::{Agent, Decision, Do, Event, Policy, Recovered, Run, RunError, Step};
use toolglot_tools::outcome::{RenderOptions, Shape, ToolResult};
use toolglot_tools::{CallConfig, Inventory, read};

fn part<T: serde::de::DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{value}: {error}"))
}

fn agent(vector: &Value) -> Agent {
    let given = &vector["agent"];
    let tools = read::any("tools", &given["tools"].to_string());
    let tools = tools.expect("tools").into_iter().map(|mut tool| {
        tool.agent_callable = true;
        tool
    });
    let mut config = CallConfig::enabled();
    if let Some(own) = given.get("config") {
        config = part(own);
        config.enabled = true;
    }
    let lang = given
        .get("lang")
        .map_or(Ok(toolglot_tools::prompt::Lang::En), |lang| {
            part::<String>(lang).parse()
        });
    let dialect: String = part(&given["dialect"]);
    let mut agent = Agent::new(
        &DialectSet::builtin(&dialect).expect("a dialect"),
        &dialect,
        Inventory::of(tools).expect("tools"),
    )
    .expect("a dialect")
    .config(config)
    .render(RenderOptions::new(lang.expect("a language")))
    .policy(match given.get("policy") {
        Some(policy) => part::<Policy>(policy),
        None => Policy::allow_all(),
    });
    match given.get("shape").and_then(Value::as_str) {
        None => {}
        Some("openai") => agent = agent.shape(Shape::OpenAi),
        Some(other) => panic!("{other} is no shape"),
    }
    if let Some(word) = given.get("recovered") {
        agent = agent.recovered(part::<Recovered>(word));
    }
    if let Some(on) = given.get("references") {
        agent = agent.references(part(on));
    }
    if let Some(many) = given.get("max_concurrent") {
        agent = agent.max_concurrent(part(many));
    }
    agent
}

/// Tells a run a line of a script.
fn tell(run: &mut Run, line: &Value, size: usize) -> Result<(), RunError> {
    let mut told = line.as_object().expect("an object").iter();
    let (what, value) = told
        .find(|(key, _)| !matches!(key.as_str(), "expect" | "fails"))
        .expect("something is told");
    match what.as_str() {
        "begin" => {}
        "model" => {
            let text: String = part(value);
            for chunk in text.as_bytes().chunks(size) {
                run.model(chunk)?;
            }
        }
        "native" => {
            let function = &value["function"];
            run.native_call(&NativeCall {
                id: value.get("id").map(part),
                name: part(&function["name"]),
                arguments: part(&function["arguments"]),
            })?;
        }
        "ended" => run.model_ended(part::<Finish>(value))?,
        "decision" => {
            let (id, decision): (String, Decision) = part(value);
            run.decision(&id, decision)?;
        }
        "done" => run.done(part::<ToolResult>(value))?,
        "progress" => {
            let (id, text): (String, String) = part(value);
            run.progress(&id, &text)?;
        }
        "lost" => run.lost(&part::<String>(value))?,
        "later" => run.later(part::<ToolResult>(value))?,
        "tick" => run.tick(part(value)),
        "cancel" => run.cancel(),
        "ask_again" => run.ask_again()?,
        other => panic!("{other} cannot be told"),
    }
    Ok(())
}

/// Whether what is wanted is in what there is.
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
            // What it asks again was asked before.
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
                "{} stands twice",
                vector["id"]
            );
            let agent = agent(&vector);
            for size in [usize::MAX, 1, 3, 7] {
                for saves in [false, true] {
                    play(&vector, &agent, size, saves);
                }
            }
        }
    }
    assert!(ids.len() >= 15, "{} scripts", ids.len());
}
