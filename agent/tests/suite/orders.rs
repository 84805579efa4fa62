//! Runs under any order of events: hosts that answer at random, save and restore at any point, and cancel.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use toolglot::json::json;
use toolglot::{DialectSet, Finish, NativeCall};
use toolglot_agent::{Agent, Budget, Decision, Do, Event, Outcome, Policy, Recovered, Run, Waits};
use toolglot_tools::outcome::{Shape, Status, ToolResult};
use toolglot_tools::{CallConfig, Inventory, Tool};

const TOOLS: [&str; 4] = ["free", "asked", "denied", "别的"];

fn agent(
    parallel: bool,
    concurrent: usize,
    recovered: bool,
    native: bool,
    references: bool,
    budget: Budget,
) -> Agent {
    let tools = TOOLS.map(|name| {
        let mut tool = Tool::new(name).description("A tool");
        tool.agent_callable = true;
        tool.parameters = Some(json!({"type": "object", "properties": {"n": {"type": "integer"}}}));
        tool
    });
    let policy =
        r#"{"deny": [{"tools": ["denied"]}], "confirm": [{"tools": ["asked"]}], "allow": [{}]}"#;
    let mut config = CallConfig::enabled();
    config.parallel_execution = parallel;
    config.max_iterations = 3;
    config.timeout = 50;
    let shape = if native { Shape::OpenAi } else { Shape::Text };
    let set = DialectSet::defaults();
    Agent::new(&set, "hermes", Inventory::of(tools).expect("tools"))
        .expect("a dialect")
        .config(config)
        .policy(Policy::from_json(policy).expect("rules"))
        .recovered(if recovered {
            Recovered::Confirm
        } else {
            Recovered::Answer
        })
        .max_concurrent(concurrent)
        .references(references)
        .budget(budget)
        .task_timeout(90)
        .shape(shape)
}

/// Pieces of replies: valid calls, calls with various errors, text.
const PIECES: [&str; 14] = [
    "Some text. ",
    "<think>hm</think>\n",
    "<tool_call>{\"name\": \"free\", \"arguments\": {\"n\": 1}}</tool_call>\n",
    "<tool_call>{\"name\": \"free\", \"arguments\": {\"n\": 2}}</tool_call>\n",
    "<tool_call>{\"name\": \"asked\", \"arguments\": {\"n\": 3}}</tool_call>\n",
    "<tool_call>{\"name\": \"别的\", \"arguments\": {\"n\": \"4\"}}</tool_call>\n",
    "<tool_call>{\"name\": \"denied\", \"arguments\": {}}</tool_call>\n",
    "<tool_call>{\"name\": \"nobody\", \"arguments\": {}}</tool_call>\n",
    "<tool_call>{\"name\": \"free\", \"arguments\": {\"n\": \"x\"}}</tool_call>\n",
    "<tool_call>{\"name\": \"free\", \"arguments\": {\"n\": \"{{1.result}}\"}}</tool_call>\n",
    "<tool_call>{\"name\": \"free\", \"arguements\": {\"n\": 5}}</tool_call>\n",
    "<tool_call>{\"name\": \"free\", \"arguments\": {\"n\": !}}</tool_call>\n",
    "<tool_call>{\"name\": \"asked\", \"arguments\": {\"n\": ",
    "<<<[TOOL_REQUEST]>>>\ntool_name:「始」free「末」,\ncommand1:「始」x「末」,\nn1:「始」1「末」,\ncommand2:「始」y「末」,\nn2:「始」2「末」\n<<<[END_TOOL_REQUEST]>>>\n",
];

/// A host's actions, chosen by small numbers.
#[derive(Clone, Debug)]
struct Host {
    replies: Vec<(Vec<usize>, u8, bool)>,
    acts: Vec<(u8, u8)>,
}

fn host() -> impl Strategy<Value = Host> {
    let reply = (
        prop::collection::vec(0..PIECES.len(), 0..5),
        0..8u8,
        any::<bool>(),
    );
    let replies = prop::collection::vec(reply, 1..4);
    let acts = prop::collection::vec((0..18u8, any::<u8>()), 0..60);
    (replies, acts).prop_map(|(replies, acts)| Host { replies, acts })
}

/// The run's instructions, and the state for checking them.
#[derive(Default)]
struct Seen {
    log: Vec<Do>,
    stood: Vec<String>,
    settled: HashMap<String, u32>,
    started: HashMap<String, u32>,
    shown: HashMap<String, String>,
    waiting: Vec<String>,
    running: Vec<String>,
    /// Open tasks, and the number of results of each task.
    open: Vec<String>,
    tasks: HashMap<String, u32>,
    over: Option<Outcome>,
    cancelled: bool,
    round: usize,
}

impl Seen {
    fn key(&self, id: &str) -> String {
        format!("{} {id}", self.round)
    }

    fn take(&mut self, run: &mut Run, limit: usize, decided: &HashMap<String, Option<String>>) {
        while let Some(one) = run.take() {
            assert!(self.over.is_none(), "after the end: {one:?}");
            match &one {
                Do::Ask(ask) => {
                    assert!(self.running.is_empty() && self.waiting.is_empty());
                    assert!(!ask.messages.is_empty());
                    self.round += 1;
                }
                Do::Confirm(confirm) => {
                    assert!(self.stood.contains(&self.key(&confirm.id)));
                    self.shown
                        .insert(confirm.id.clone(), confirm.arguments.clone());
                    if !self.waiting.contains(&confirm.id) {
                        self.waiting.push(confirm.id.clone());
                    }
                }
                Do::Start(start) => {
                    assert!(!self.cancelled, "a start after a cancel");
                    assert!(
                        self.stood.contains(&self.key(&start.id)),
                        "a start of a call that does not stand"
                    );
                    let key = self.key(&start.id);
                    let count = self.started.entry(key).or_default();
                    *count += 1;
                    assert_eq!(*count, 1, "started twice");
                    if let Some(edited) = decided.get(&start.id) {
                        let approved = edited.as_ref().unwrap_or(&self.shown[&start.id]);
                        assert_eq!(&start.arguments, approved);
                    }
                    assert_ne!(start.tool, "denied");
                    self.running.push(start.id.clone());
                    assert!(self.running.len() <= limit);
                }
                Do::Abort { call } => {
                    let runs = self.running.contains(call) || self.open.contains(call);
                    assert!(runs, "an abort of what does not run");
                }
                Do::Recall(_) => {}
                Do::Event(Event::Stands { id, .. }) => {
                    let key = self.key(id);
                    assert!(!self.stood.contains(&key));
                    self.stood.push(key);
                }
                Do::Event(Event::Settled { id, state, result }) => {
                    assert_eq!(&result.id, id);
                    *self.settled.entry(self.key(id)).or_default() += 1;
                    self.waiting.retain(|one| one != id);
                    self.running.retain(|one| one != id);
                    let _ = state;
                }
                Do::Event(Event::Begun { id, task }) => {
                    assert!(self.running.contains(id));
                    self.open.push(task.clone());
                    assert_eq!(self.tasks.insert(task.clone(), 0), None);
                }
                Do::Event(Event::Later { id, .. }) => {
                    self.open.retain(|one| one != id);
                    *self.tasks.entry(id.clone()).or_default() += 1;
                }
                Do::Finished(outcome) => self.over = Some(outcome.clone()),
                _ => {}
            }
            self.log.push(one);
        }
    }
}

/// Simulates a host to the end. With `saves` the run is saved and restored before every input.
fn play(agent: &Agent, host: &Host, limit: usize, budget: Budget, saves: bool) -> Vec<Do> {
    let mut run = agent.run("Go.");
    let mut seen = Seen::default();
    let mut decided = HashMap::new();
    let mut replies = host.replies.iter();
    let mut left: Vec<Vec<u8>> = vec![];
    let mut acts = host.acts.iter().copied().chain(std::iter::repeat((0, 0)));
    let mut now = 0;
    let mut asked = 0;
    for _ in 0..2_000 {
        seen.take(&mut run, limit, &decided);
        if saves {
            let restored = Run::restore(agent, &run.save()).expect("a saved run");
            assert_eq!(restored.save(), run.save());
            run = restored;
            // Questions repeated after a restart.
            let mut known: HashSet<String> = seen
                .waiting
                .iter()
                .chain(&seen.running)
                .chain(&seen.open)
                .cloned()
                .collect();
            while let Some(one) = run.take() {
                let id = match one {
                    Do::Confirm(confirm) => confirm.id,
                    Do::Recall(receipt) => receipt.runs().to_owned(),
                    other => panic!("a restored run says {other:?}"),
                };
                assert!(known.remove(&id));
            }
            assert!(known.is_empty(), "forgotten: {known:?}");
        }
        if seen.over.is_some() {
            break;
        }
        if asked < seen.round {
            asked = seen.round;
            decided.clear();
            let (pieces, size, native) = replies.next().cloned().unwrap_or_default();
            let text: String = pieces.iter().map(|at| PIECES[*at]).collect();
            let size = usize::from(size) * 7 + 1;
            left = text
                .as_bytes()
                .chunks(size)
                .map(<[u8]>::to_vec)
                .rev()
                .collect();
            if native {
                let call = NativeCall::new("free", "{\"n\": 9}").id("own".to_owned());
                run.native_call(&call).expect("a reply comes");
                continue;
            }
        }
        let (act, more) = acts.next().unwrap_or_default();
        let pick = |list: &Vec<String>| list.get(usize::from(more) % list.len().max(1)).cloned();
        match act {
            0..=5 if run.waits() == Waits::Model && (act == 1 || run.deadline().is_none()) => {
                match left.pop() {
                    Some(chunk) => run.model(&chunk).expect("a reply comes"),
                    None => run.model_ended(Finish::Stop).expect("a reply comes"),
                }
            }
            0..=8 => {
                if let Some(id) = pick(&seen.waiting) {
                    let decision = match more % 4 {
                        0 => Decision::Deny("no".to_owned()),
                        1 => Decision::Edit("{\"n\":77}".to_owned()),
                        _ => Decision::Approve,
                    };
                    let edited = match &decision {
                        Decision::Edit(text) => Some(text.clone()),
                        _ => None,
                    };
                    decided.insert(id.clone(), edited);
                    run.decision(&id, decision).expect("it waits");
                    seen.waiting.retain(|one| *one != id);
                } else if let Some(id) = pick(&seen.running) {
                    run.done(ToolResult::json(&id, "x", json!(8)))
                        .expect("it runs");
                    assert!(run.done(ToolResult::json(&id, "x", json!(8))).is_err());
                } else if run.waits() == Waits::Model {
                    match left.pop() {
                        Some(chunk) => run.model(&chunk).expect("a reply comes"),
                        None => run.model_ended(Finish::Stop).expect("a reply comes"),
                    }
                } else if let Some(id) = pick(&seen.open) {
                    run.later(ToolResult::json(&id, "x", json!(9)))
                        .expect("it runs");
                    assert!(run.later(ToolResult::json(&id, "x", json!(9))).is_err());
                }
            }
            9 => {
                if let Some(id) = pick(&seen.running) {
                    let status =
                        [Status::Error, Status::Success, Status::Cancelled][usize::from(more) % 3];
                    run.done(ToolResult::text(&id, "x", status, "1"))
                        .expect("it runs");
                }
            }
            10 => {
                now += u64::from(more % 40);
                run.tick(now);
            }
            11 => {
                if let Some(id) = pick(&seen.running) {
                    run.lost(&id).expect("it runs");
                }
            }
            12 => {
                if let Some(id) = pick(&seen.running) {
                    run.progress(&id, "…").expect("it runs");
                }
            }
            13 => {
                assert!(run.decision("nobody", Decision::Approve).is_err());
                assert!(
                    run.done(ToolResult::text("nobody", "x", Status::Success, ""))
                        .is_err()
                );
            }
            16 => {
                if let Some(id) = pick(&seen.running) {
                    run.begun(&id, &format!("task {}", seen.tasks.len()))
                        .expect("it runs");
                    assert!(run.begun(&id, "another").is_err(), "it has its result");
                }
            }
            17 => {
                if let Some(id) = pick(&seen.open) {
                    match more % 3 {
                        0 => run.lost(&id).expect("it runs"),
                        1 => run.progress(&id, "…").expect("it runs"),
                        _ => run
                            .later(ToolResult::text(&id, "x", Status::Error, "no"))
                            .expect("it runs"),
                    }
                }
            }
            14 if more < 20 => {
                seen.cancelled = true;
                run.cancel();
            }
            15 if more < 80 && run.waits() == Waits::Model && left.is_empty() => {
                drop(run.model_ended(Finish::Length));
            }
            _ => {}
        }
    }
    assert!(seen.over.is_some(), "it never ends");
    assert_eq!(run.waits(), Waits::Nothing);
    for key in &seen.stood {
        assert_eq!(seen.settled.get(key), Some(&1), "results of {key}");
    }
    assert_eq!(seen.stood.len(), seen.settled.len());
    assert_eq!(run.receipts().len(), seen.started.len());
    assert!(
        seen.tasks.values().all(|results| *results == 1),
        "results of tasks: {:?}",
        seen.tasks
    );
    let (spent, most) = (run.spent(), budget);
    assert!(most.calls.is_none_or(|most| spent.calls <= most));
    assert!(most.bytes.is_none_or(|most| spent.bytes <= most));
    seen.log
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn every_order_of_events_keeps_the_rules(
        host in host(),
        parallel: bool,
        concurrent in 1..3usize,
        recovered: bool,
        native: bool,
        references: bool,
        bounds in (prop::option::of(0..6u32), prop::option::of(0..500u64), prop::option::of(1..200u64)),
    ) {
        let mut budget = Budget::new();
        (budget.calls, budget.bytes, budget.time) = bounds;
        let agent = agent(parallel, concurrent, recovered, native, references, budget);
        let limit = if parallel { concurrent } else { 1 };
        let one = play(&agent, &host, limit, budget, false);
        let other = play(&agent, &host, limit, budget, true);
        prop_assert_eq!(one, other);
    }
}
