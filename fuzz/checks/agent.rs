//! A run of an agent that receives any input in any order.
//!
//! | byte | what it chooses |
//! |---|---|
//! | 0 | what the agent allows: parallel or sequential calls, how many, recovered calls, API tool calls, references, a budget |
//! | then, again and again | the kind of the next input, and the call or task that it concerns |
//!
//! Kinds below 32 are pieces of a reply; the next ones are raw bytes, an end, decisions, results and the rest. The run is
//! played twice; the second one is saved and restored before each input. The fuzzer plays one of two runs twice, and restores
//! before one of eight inputs.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use super::choice::Choice;
use toolglot::{DialectSet, Finish, NativeCall};
use toolglot_agent::{Agent, Decision, Do, Event, Run, RunError, Told};
use toolglot_tools::outcome::{Status, ToolResult};

const PIECES: [&str; 16] = [
    "Some text. ",
    "<think>hm</think>\n",
    r#"<tool_call>{"name": "free", "arguments": {"n": 1}}</tool_call>"#,
    r#"<tool_call>{"name": "free", "arguments": {"n": 2}}</tool_call>"#,
    r#"<tool_call>{"name": "free", "arguments": {"n": "{{1.result}}"}}</tool_call>"#,
    r#"<tool_call>{"name": "free", "arguments": {"n": "x"}}</tool_call>"#,
    r#"<tool_call>{"name": "asked", "arguments": {"n": 3}}</tool_call>"#,
    r#"<tool_call>{"name": "asked", "arguments": {}}</tool_call>"#,
    r#"<tool_call>{"name": "denied", "arguments": {}}</tool_call>"#,
    r#"<tool_call>{"name": "nobody", "arguments": {}}</tool_call>"#,
    r#"<tool_call>{"name": "free", "arguments": {"n": !}}</tool_call>"#,
    r#"<tool_call>{"name": "free", "arguments": {"n": "#,
    "</tool_call>",
    "<tool_call>",
    r#"{"name": "asked"}"#,
    "\n",
];

const BUDGET: &str = r#"{"calls": 2, "bytes": 400, "time": 150}"#;

static SET: LazyLock<DialectSet> =
    LazyLock::new(|| DialectSet::builtin("hermes").expect("a dialect"));

/// Agents are kept between executions: making one takes longer than a short run.
fn agent(choice: u8) -> &'static Agent {
    static MADE: [OnceLock<Agent>; 256] = [const { OnceLock::new() }; 256];
    MADE[usize::from(choice)].get_or_init(|| make(choice))
}

fn make(choice: u8) -> Agent {
    let form = format!(
        r#"{{"dialect": "hermes", "shape": "{}", "recovered": "{}", "references": {}, "max_concurrent": {}, "budget": {}, "task_timeout": 80,
        "config": {{"parallelExecution": {}, "maxIterations": 2, "timeout": 50}},
        "policy": {{"deny": [{{"tools": ["denied"]}}], "confirm": [{{"tools": ["asked"]}}], "allow": [{{}}]}},
        "tools": [{}]}}"#,
        if choice & 1 == 0 { "text" } else { "openai" },
        if choice & 2 == 0 { "answer" } else { "confirm" },
        choice & 4 != 0,
        1 + (choice >> 5),
        if choice & 16 == 0 { "{}" } else { BUDGET },
        choice & 8 != 0,
        ["free", "asked", "denied"]
            .map(|name| format!(
                r#"{{"name": "{name}", "description": "A tool", "parameters": {{"properties": {{"n": {{"type": "integer"}}}}}}}}"#
            ))
            .join(", "),
    );
    Agent::from_json(&SET, &form).expect("an agent")
}

/// Makes an input for one of the calls named so far in the round, or any other input.
fn told(what: u8, of: u8, known: &[String]) -> Told {
    let id = match known.len() {
        0 => "none".to_owned(),
        some => known[usize::from(of) % some].clone(),
    };
    let result = |status| ToolResult::text(&id, "free", status, "rain");
    match what {
        0..32 => Told::Model(PIECES[usize::from(what % 16)].into()),
        32..40 => Told::Model(vec![of]),
        40..48 => Told::Native(
            NativeCall::new(
                if of & 2 == 0 { "free" } else { "asked" }.to_owned(),
                format!(r#"{{"n": {of}}}"#),
            )
            .id((of & 1 == 0).then(|| format!("c{}", of % 4))),
        ),
        48..96 => Told::Ended(Finish::ALL[usize::from(of) % Finish::ALL.len()]),
        96..112 => Told::Decision(id, Decision::Approve),
        112..120 => Told::Decision(id, Decision::Deny("no".to_owned())),
        120..128 => Told::Decision(id, Decision::Edit(format!(r#"{{"n": {of}}}"#))),
        128..192 => Told::Done(result(Status::ALL[usize::from(of) % Status::ALL.len()])),
        192..196 => Told::Progress(id, "half".to_owned()),
        196..200 => Told::Begun(id, format!("t{}", of >> 5)),
        200..208 => Told::Lost(id),
        208..224 => Told::Tick(u64::from(of)),
        224..232 => Told::AskAgain,
        232..236 => Told::Later(result(Status::Success)),
        236..240 => Told::Later(ToolResult::text(
            &format!("t{}", of >> 5),
            "free",
            Status::Error,
            "hail",
        )),
        240..248 => Told::Failed("gone".to_owned()),
        248..252 => Told::Reasoning("hm".to_owned()),
        252.. => Told::Cancel,
    }
}

/// The calls of a round, and the outcome of each.
#[derive(Default)]
struct Round {
    stood: Vec<String>,
    started: HashMap<String, String>,
    shown: HashMap<String, String>,
    settled: Vec<String>,
}

#[derive(Default)]
struct Seen {
    round: Round,
    /// Tasks, and whether each has its result.
    tasks: HashMap<String, bool>,
    starts: u32,
    over: bool,
    cancelled: bool,
}

impl Seen {
    /// Takes all instructions and checks them.
    fn take(&mut self, run: &mut Run) -> Vec<Do> {
        let mut all = vec![];
        while let Some(one) = run.take() {
            assert!(!self.over, "after the end: {one:?}");
            match &one {
                Do::Ask(_) => {
                    self.ends();
                    self.round = Round::default();
                }
                Do::Event(Event::Stands { id, .. }) => {
                    assert!(!self.round.stood.contains(id), "{id} stands twice");
                    self.round.stood.push(id.clone());
                }
                Do::Confirm(call) => {
                    self.round
                        .shown
                        .insert(call.id.clone(), call.arguments.clone());
                }
                Do::Start(call) => {
                    assert!(!self.cancelled && self.round.stood.contains(&call.id));
                    assert!(!self.round.settled.contains(&call.id));
                    let before = self
                        .round
                        .started
                        .insert(call.id.clone(), call.arguments.clone());
                    assert!(before.is_none(), "{} starts twice", call.id);
                    self.starts += 1;
                    assert!(call.tool != "denied" && call.tool != "nobody");
                    assert!(call.tool != "asked" || self.round.shown.contains_key(&call.id));
                }
                Do::Event(Event::Settled { id, .. }) => {
                    assert!(self.round.stood.contains(id) && !self.round.settled.contains(id));
                    self.round.settled.push(id.clone());
                }
                Do::Event(Event::Begun { id, task }) => {
                    assert!(self.round.started.contains_key(id));
                    let before = self.tasks.insert(task.clone(), false);
                    assert!(before.is_none(), "{task} begins twice");
                }
                Do::Event(Event::Later { id, .. }) => {
                    assert_eq!(self.tasks.insert(id.clone(), true), Some(false), "{id}");
                }
                Do::Finished(_) => {
                    assert!(
                        self.tasks.values().all(|ended| *ended),
                        "a task has no result"
                    );
                    self.ends();
                    self.over = true;
                }
                _ => {}
            }
            all.push(one);
        }
        all
    }

    /// Checks that every committed call has exactly one result.
    fn ends(&self) {
        for id in &self.round.stood {
            assert!(self.round.settled.contains(id), "{id} has no result");
        }
    }
}

/// A run does not panic on any input. Each committed call has one result. Nothing starts that is not committed, was denied, was
/// not shown where it must be, or comes after a cancel. Each task has one result, budgets are kept, and saving changes nothing.
pub fn agent_run(data: &[u8]) {
    let Some((allowed, acts)) = data.split_first() else {
        return;
    };
    let agent = agent(*allowed);
    let mut run = agent.run("go");
    let choice = Choice::of(data);
    let mut twin = choice.takes(0, 2).then(|| agent.run("go"));
    let choice = choice.within(2);
    let mut seen = Seen::default();
    let first = seen.take(&mut run);
    if let Some(twin) = &mut twin {
        assert_eq!(first, drained(twin));
    }
    for (at, act) in acts.chunks_exact(2).take(400).enumerate() {
        let mut known = seen.round.stood.clone();
        known.extend(
            (0..8)
                .map(|n| format!("t{n}"))
                .filter(|id| seen.tasks.contains_key(id)),
        );
        let told = told(act[0], act[1], &known);
        let restored = twin.as_mut().filter(|_| choice.takes(at as u64 % 8, 8));
        if let Some(twin) = restored {
            let saved = twin.save();
            *twin = Run::restore(agent, &saved).expect("a saved run");
            // The restored run repeats requests that were made before.
            drained(twin);
            assert_eq!(twin.save(), saved);
        }
        seen.cancelled |= told == Told::Cancel;
        let answer = run.tell(told.clone());
        if let Err(error) = &answer {
            assert!(!matches!(error, RunError::Saved(_)));
        }
        let does = seen.take(&mut run);
        assert!(
            answer.is_ok() || does.is_empty(),
            "{told:?} was refused and changed something"
        );
        if let Some(twin) = &mut twin {
            assert_eq!(answer, twin.tell(told.clone()));
            assert_eq!(does, drained(twin), "{told:?}");
        }
        let spent = run.spent();
        assert_eq!(spent.calls, seen.starts);
        assert!(*allowed & 16 == 0 || spent.calls <= 2 && spent.bytes <= 400);
    }
    run.cancel();
    seen.take(&mut run);
    assert!(seen.over && run.outcome().is_some());
}

fn drained(run: &mut Run) -> Vec<Do> {
    std::iter::from_fn(|| run.take()).collect()
}
