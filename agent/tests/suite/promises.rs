//! The designs' promises about agents that no other test covers. Numbers are those of the checklist; the table in
//! `docs/AGENT.md` has all of them.
#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Mutex};

use toolglot::json::{Map, Value, json};
use toolglot::{DialectSet, Finish, NativeCall, Options, Prefer};
use toolglot_agent::driver::{
    Approver, Driver, Executor, Executors, Model, Script, Stream, Watch, Workflow, function, pieces,
};
use toolglot_agent::{
    Agent, Ask, Budget, CallState, Confirm, Decision, Do, Ended, Event, Outcome, Policy, Records,
    Run, Said, Start, Step,
};
use toolglot_tools::outcome::{Content, Shape, Status, ToolResult, call_ids};
use toolglot_tools::{CallConfig, Inventory, Tool};

use crate::common::call;

fn tool(id: &str, tags: &[&str]) -> Tool {
    let mut tool = Tool::new(id).description("A tool").callable(true);
    tool.tags = tags.iter().map(|&tag| tag.to_owned()).collect();
    tool
}

fn agent(tools: &[Tool], config: CallConfig) -> Agent {
    let tools = Inventory::of(tools.iter().cloned()).unwrap();
    Agent::new(&DialectSet::builtin("hermes").unwrap(), "hermes", tools)
        .unwrap()
        .config(config)
        .policy(Policy::allow_all())
}

fn side_by_side() -> CallConfig {
    let mut config = CallConfig::enabled();
    config.parallel_execution = true;
    config
}

/// Returns a run whose model has replied `reply`.
fn said(agent: &Agent, reply: &str) -> Run {
    let mut run = agent.run("Go.");
    run.model(reply.as_bytes()).unwrap();
    run.model_ended(Finish::Stop).unwrap();
    run
}

fn all(run: &mut Run) -> Vec<Do> {
    std::iter::from_fn(|| run.take()).collect()
}

fn starts(list: &[Do]) -> Vec<&Start> {
    let starts = list.iter().filter_map(|one| match one {
        Do::Start(start) => Some(start),
        _ => None,
    });
    starts.collect()
}

fn settled(list: &[Do]) -> Vec<(Ended, &ToolResult)> {
    let settled = list.iter().filter_map(|one| match one {
        Do::Event(Event::Settled { state, result, .. }) => Some((*state, result)),
        _ => None,
    });
    settled.collect()
}

fn done(run: &mut Run, id: &str) {
    let result = ToolResult::text(id, "", Status::Success, "well");
    run.done(result).unwrap();
}

async fn nobody(_: Confirm) -> Option<Decision> {
    None
}

/// Records a run's instructions.
#[derive(Default)]
struct Kept(Vec<Do>);

impl Watch for Kept {
    fn does(&mut self, one: &Do) {
        self.0.push(one.clone());
    }
}

/// Item 19 of the checklist: the caller determines what may be called. Two agents share their tools; permissions depend on tags, scopes
/// on namespaces and on the arguments.
#[test]
fn each_caller_has_permissions_and_scopes_of_its_own() {
    let tools = [
        tool("files:read", &["read"]),
        tool("files:write", &["write"]),
        tool("mail:read", &["read"]),
    ];
    let shared = agent(&tools, side_by_side());
    let reply = [
        call("files:read", r#"{"path": "/docs/a"}"#),
        call("files:read", r#"{"path": "/etc/b"}"#),
        call("files:write", r#"{"path": "/docs/c"}"#),
        call("mail:read", "{}"),
    ]
    .concat();
    let started = |policy: &str| -> Vec<String> {
        let agent = shared.clone().policy(Policy::from_json(policy).unwrap());
        let list = all(&mut said(&agent, &reply));
        let denied = settled(&list)
            .iter()
            .filter(|(how, _)| *how == Ended::Denied)
            .count();
        let started = starts(&list);
        assert_eq!(denied + started.len(), 4, "{policy}: each has one answer");
        let name = |start: &&Start| format!("{} {}", start.tool, start.arguments);
        started.iter().map(name).collect()
    };
    assert_eq!(
        started(r#"{"allow": [{"tags": ["read"]}]}"#),
        [
            r#"files:read {"path":"/docs/a"}"#,
            r#"files:read {"path":"/etc/b"}"#,
            "mail:read {}"
        ]
    );
    assert_eq!(
        started(
            r#"{"deny": [{"arguments": [{"pointer": "/path", "pattern": "^/etc/"}]}], "allow": [{"namespaces": ["files"]}]}"#
        ),
        [
            r#"files:read {"path":"/docs/a"}"#,
            r#"files:write {"path":"/docs/c"}"#
        ]
    );
    assert!(started("{}").is_empty(), "whom nobody allowed anything");
}

/// Item 42 of the checklist: one statement lists the tools, asks, parses the reply, executes, and answers.
#[tokio::test]
async fn one_statement_lists_asks_parses_and_executes() {
    /// A model that calls a tool from its prompt.
    struct Reads;
    impl Model for Reads {
        fn ask(&self, ask: Ask) -> Stream<Said> {
            let text = match ask.messages.as_slice() {
                [system, _user] => {
                    let told = system["content"].as_str().unwrap();
                    assert!(told.contains("double") && told.contains("Doubles a number"));
                    "<tool_call>{\"name\": \"double\", \"arguments\": {\"n\": 21}}</tool_call>"
                        .to_owned()
                }
                [.., last] => format!("It is {}", last["content"].as_str().unwrap()),
                [] => unreachable!("nobody asked"),
            };
            pieces(async move |out| {
                for byte in text.bytes() {
                    out.send(Said::Text(vec![byte])).await;
                }
                Said::End(Finish::Stop)
            })
        }
    }
    let double = Tool::new("double")
        .description("Doubles a number")
        .callable(true);
    let executors = Executors::new().with(
        "double",
        function(async |given: Map| {
            let n = given.get("n").and_then(Value::as_i64).ok_or("which?")?;
            Ok::<_, &str>(2 * n)
        }),
    );
    let outcome = Driver::new(&Reads, &executors, &nobody)
        .drive(&mut agent(&[double], CallConfig::enabled()).run("Double 21."))
        .await
        .unwrap();
    let Outcome::Answer { text } = outcome else {
        panic!("{outcome:?}")
    };
    assert!(text.starts_with("It is ") && text.contains("42"), "{text}");
}

/// An executor that records its calls.
#[derive(Clone, Default)]
struct Engine {
    ran: Arc<Mutex<Vec<(String, String)>>>,
}

impl Executor for Engine {
    fn start(&self, call: Start) -> Stream<toolglot_agent::driver::Piece> {
        let mut ran = self.ran.lock().unwrap();
        ran.push((call.tool.clone(), call.arguments.clone()));
        let gave = format!("gave {}", self::call("look", "{}"));
        let content = toolglot_tools::outcome::Content::Text(gave);
        pieces(async move |_| toolglot_agent::driver::Piece::Done(Ok(vec![content])))
    }
}

impl Engine {
    fn ran(&self) -> Vec<(String, String)> {
        std::mem::take(&mut self.ran.lock().unwrap())
    }
}

/// Item 49 of the checklist: the loop is outside the workflow engine, which never parses a model's output: steps and their
/// results are data even if they look like a call.
#[tokio::test]
async fn the_engine_of_workflows_reads_no_calls() {
    let engine = Engine::default();
    let inner = agent(&[tool("look", &[])], CallConfig::enabled());
    let text = call("look", r#"{"a": 1}"#);
    let arguments = |text: &str| Map::from_iter([("text".to_owned(), Value::from(text))]);
    let steps = [text.as_str(), "{{1.result}}"].map(|text| Step::new("look", arguments(text)));
    let mut run = inner.steps(&steps);
    let mut kept = Kept::default();
    let outcome = Driver::new(&Script::new([""]), &engine, &nobody)
        .watch(&mut kept)
        .drive(&mut run)
        .await;
    assert_eq!(outcome, Ok(Outcome::Steps { completed: true }));
    assert_eq!(engine.ran().len(), 2, "two steps, whatever they hold");
    assert!(!kept.0.iter().any(|one| matches!(one, Do::Ask(_))));
    // The same text, written by a model, is one call.
    let list = all(&mut said(&inner, &text));
    assert_eq!(starts(&list)[0].arguments, r#"{"a":1}"#);
}

/// Item 61 of the checklist: a skill is a workflow whose input is the call's; a tool executed as a workflow of one step gives
/// the same result as by itself.
#[tokio::test]
async fn a_skill_is_a_workflow_and_a_tool_one_of_one_step() {
    let engine = Engine::default();
    let inner = agent(
        &[tool("look", &[]), tool("greet", &[])],
        CallConfig::enabled(),
    );
    let step = |tool: &str, arguments: Value| {
        Step::new(tool, serde_json::from_str(&arguments.to_string()).unwrap())
    };
    let people: Arc<dyn Approver> = Arc::new(nobody);
    let workflow = |steps| {
        Workflow::new(
            inner.clone(),
            steps,
            Arc::new(engine.clone()),
            people.clone(),
        )
    };
    let skill = workflow(vec![
        step("look", json!({"who": "{{input.npc}}"})),
        step(
            "greet",
            json!({"npc": "{{input.npc}}", "how": "{{1.result}}"}),
        ),
    ]);
    let wrapped = workflow(vec![step("look", json!({"who": "{{input.who}}"}))]);
    let executors = Executors::new()
        .with("skill", skill)
        .with("wrapped", wrapped)
        .with("plain", engine.clone());
    let tools = ["skill", "wrapped", "plain"].map(|id| tool(id, &[]));
    let outer = agent(&tools, CallConfig::enabled());
    let of = async |name: &str, arguments: &str| {
        let model = Script::new([call(name, arguments).as_str(), "Done."]);
        let mut kept = Kept::default();
        let driver = Driver::new(&model, &executors, &nobody).watch(&mut kept);
        driver.drive(&mut outer.run("Go.")).await.unwrap();
        let (how, result) = settled(&kept.0)[0];
        (how, result.content.clone(), engine.ran())
    };
    let (how, _, ran) = of("skill", r#"{"npc": "Bo"}"#).await;
    assert_eq!(how, Ended::Completed);
    assert_eq!(ran[0], ("look".to_owned(), r#"{"who":"Bo"}"#.to_owned()));
    assert_eq!(ran[1].0, "greet");
    let given: Value = serde_json::from_str(&ran[1].1).unwrap();
    assert_eq!(given["npc"], "Bo");
    assert!(given["how"].as_str().unwrap().starts_with("gave "));

    let (how, gave, ran) = of("wrapped", r#"{"who": "Bo"}"#).await;
    let (plain_how, plain_gave, plain_ran) = of("plain", r#"{"who": "Bo"}"#).await;
    assert_eq!((how, gave), (plain_how, plain_gave));
    assert_eq!(ran.len(), 1);
    assert_eq!(ran[0].1, plain_ran[0].1);
}

/// Item 64 of the checklist: each request has an id, a name, the block as written, and arguments; a text may have several.
#[test]
fn requests_have_an_id_a_name_a_block_and_arguments() {
    let blocks = ["A", "B"].map(|name| {
        format!("<<<[TOOL_REQUEST]>>>\ntool_name:「始」{name}「末」,\npath:「始」/{name}「末」\n<<<[END_TOOL_REQUEST]>>>")
    });
    let text = format!("First {} then {}.", blocks[0], blocks[1]);
    let set = DialectSet::builtin("vcp").unwrap();
    let turn = toolglot::parse(&set, Options::default(), text.as_bytes(), Finish::Stop);
    let ids = call_ids(&turn, "request_");
    assert_eq!(ids, ["request_0", "request_1"]);
    for ((call, block), name) in turn.calls.iter().zip(&blocks).zip(["A", "B"]) {
        assert_eq!(call.name, name);
        assert_eq!(call.arguments, format!("{{\"path\":\"/{name}\"}}"));
        let span =
            usize::try_from(call.span.start).unwrap()..usize::try_from(call.span.end).unwrap();
        assert_eq!(&text[span], block);
    }
}

/// Item 68 of the checklist: runs respect every field of the configuration.
#[test]
fn every_field_of_the_configuration_is_obeyed() {
    let tools = [tool("fs:read", &[]), tool("fs:write", &[])];
    let with = |text: &str| -> Agent {
        let config: CallConfig = serde_json::from_str(text).unwrap();
        agent(&tools, config)
    };
    let reply = call("fs:read", "{}") + &call("fs:write", "{}");
    // Counts the calls of a reply that start, need confirmation, and have ended.
    let counts = |text: &str| {
        let list = all(&mut said(&with(text), &reply));
        let asked = list.iter().filter(|one| matches!(one, Do::Confirm(_)));
        (starts(&list).len(), asked.count(), settled(&list).len())
    };
    let on = r#"{"enabled": true, "parallelExecution": true"#;
    assert_eq!(counts("{}"), (0, 0, 0), "enabled");
    assert_eq!(counts(&format!("{on}}}")), (2, 0, 0));
    assert_eq!(
        counts(r#"{"enabled": true}"#),
        (1, 0, 0),
        "parallelExecution"
    );
    assert_eq!(counts(&format!(r#"{on}, "mode": "manual"}}"#)), (0, 2, 0));
    assert_eq!(
        counts(&format!(r#"{on}, "requireConfirmation": true}}"#)),
        (0, 2, 0)
    );
    assert_eq!(
        counts(&format!(r#"{on}, "toolToggles": {{"fs:read": false}}}}"#)),
        (1, 0, 1)
    );
    assert_eq!(
        counts(&format!(
            r#"{on}, "defaultToolEnabled": false, "toolToggles": {{"fs:read": true}}}}"#
        )),
        (1, 0, 1)
    );
    assert_eq!(
        counts(&format!(r#"{on}, "toolIdsInventory": ["fs:write"]}}"#)),
        (1, 0, 1)
    );
    assert_eq!(counts(&format!(r#"{on}, "maxIterations": 0}}"#)), (0, 0, 2));

    let mut run = said(&with(&format!(r#"{on}, "timeout": 250}}"#)), &reply);
    assert_eq!(starts(&all(&mut run))[0].deadline, 250);
    run.tick(249);
    assert!(all(&mut run).is_empty());
    run.tick(250);
    let list = all(&mut run);
    let ends: Vec<Ended> = settled(&list).iter().map(|one| one.0).collect();
    assert_eq!(ends, [Ended::TimedOut, Ended::TimedOut]);

    // Without `dialect`, the configuration's `protocol` applies.
    let form = r#"{"config": {"protocol": "vcp"}, "tools": [{"name": "f", "description": "F"}], "policy": {"allow": [{}]}}"#;
    let own = Agent::from_json(&DialectSet::builtin("vcp").unwrap(), form).unwrap();
    let reply = "<<<[TOOL_REQUEST]>>>\ntool_name:「始」f「末」\n<<<[END_TOOL_REQUEST]>>>";
    assert_eq!(starts(&all(&mut said(&own, reply)))[0].tool, "f");
}

/// Items 91 and 110 of the checklist: without a configuration calls are off. What looks like one is text, and nothing is answered.
#[test]
fn switched_off_calls_are_text() {
    let tools = [tool("a", &[])];
    let reply = format!("I look. {}", call("a", "{}"));
    let off = agent(&tools, CallConfig::default());
    let mut run = said(&off, &reply);
    let list = all(&mut run);
    let events = |list: &[Do]| {
        let made = |one: &&Do| matches!(one, Do::Event(Event::Named { .. } | Event::Stands { .. }));
        list.iter().filter(made).count()
    };
    assert_eq!(events(&list), 0);
    let answer = Outcome::Answer {
        text: reply.clone(),
    };
    assert_eq!(run.outcome(), Some(&answer));
    let asked = list.iter().find_map(|one| match one {
        Do::Ask(ask) => Some(ask.messages.len()),
        _ => None,
    });
    assert_eq!(asked, Some(1), "no tool is declared");

    // Switched off while a person decides: the call has its result, and the model is told.
    let ask = Policy::from_json(r#"{"confirm": [{}]}"#).unwrap();
    let on = agent(&tools, CallConfig::enabled()).policy(ask);
    let mut run = said(&on, &reply);
    assert_eq!(events(&all(&mut run)), 2);
    let mut run = Run::restore(&off, &run.save()).unwrap();
    all(&mut run);
    run.decision("call_0_0", Decision::Approve).unwrap();
    let list = all(&mut run);
    assert!(starts(&list).is_empty() && settled(&list)[0].0 == Ended::Failed);
    assert_eq!(run.messages().len(), 3, "{:?}", run.messages());
}

/// Item 69 of the checklist: only tools made callable may be called, and this is checked again when a call starts.
#[test]
fn what_may_be_called_is_asked_again_when_it_starts() {
    let mut read = Tool::new("read").description("Reads");
    let hidden = agent(&[read.clone()], CallConfig::enabled());
    let list = all(&mut said(&hidden, &call("read", "{}")));
    assert!(starts(&list).is_empty() && settled(&list)[0].0 == Ended::Failed);

    read.agent_callable = true;
    let ask = Policy::from_json(r#"{"confirm": [{}]}"#).unwrap();
    let open = agent(&[read], CallConfig::enabled()).policy(ask.clone());
    let mut run = said(&open, &call("read", "{}"));
    let asked = all(&mut run);
    assert!(asked.iter().any(|one| matches!(one, Do::Confirm(_))));
    // The tool was removed while a person decided.
    let saved = run.save();
    for (agent, starts_now) in [(&open, 1), (&hidden.policy(ask), 0)] {
        let mut run = Run::restore(agent, &saved).unwrap();
        all(&mut run);
        let _ = run.decision("call_0_0", Decision::Approve);
        assert_eq!(starts(&all(&mut run)).len(), starts_now);
    }
}

/// Items 71 and 90 of the checklist: each round has its requests, their states and their results, with status and duration.
#[test]
fn rounds_have_requests_states_and_results() {
    let policy = r#"{"confirm": [{"tools": ["b", "c"]}], "allow": [{}]}"#;
    let agent = agent(&["a", "b", "c"].map(|id| tool(id, &[])), side_by_side())
        .policy(Policy::from_json(policy).unwrap());
    let mut run = agent.run("Go.");
    let mut records = Records::new();
    let mut see = |run: &mut Run| {
        all(run).iter().for_each(|one| records.see(one));
        let states = |round: &Vec<toolglot_agent::Record>| -> Vec<CallState> {
            round.iter().map(|call| call.state).collect()
        };
        records.rounds().iter().map(states).collect::<Vec<_>>()
    };
    assert_eq!(see(&mut run), [[]; 1]);
    let reply = ["a", "b", "c"].map(|name| call(name, "{\"n\":1}")).concat();
    run.model(reply.as_bytes()).unwrap();
    let (waits, runs) = (CallState::Waiting, CallState::Running);
    assert_eq!(see(&mut run), [[runs, waits, waits]]);
    run.model_ended(Finish::Stop).unwrap();
    let edited = Decision::Edit(r#"{"n":2}"#.to_owned());
    run.decision("call_0_1", edited).unwrap();
    run.decision("call_0_2", Decision::Deny(String::new()))
        .unwrap();
    let denied = CallState::Ended(Ended::Denied);
    assert_eq!(see(&mut run), [[runs, runs, denied]]);
    let took = std::time::Duration::from_millis(7);
    run.done(ToolResult::text("call_0_0", "a", Status::Success, "well").took(took))
        .unwrap();
    run.done(ToolResult::text("call_0_1", "b", Status::Error, "no"))
        .unwrap();
    let (well, failed) = (
        CallState::Ended(Ended::Completed),
        CallState::Ended(Ended::Failed),
    );
    assert_eq!(see(&mut run), [vec![well, failed, denied], vec![]]);
    run.model(b"Done.").unwrap();
    run.model_ended(Finish::Stop).unwrap();
    assert_eq!(see(&mut run).len(), 2);

    let round = &records.rounds()[0];
    assert_eq!(
        [&round[0], &round[1]].map(|call| call.arguments.as_str()),
        [r#"{"n":1}"#, r#"{"n":2}"#]
    );
    let written: Value = serde_json::from_str(&serde_json::to_string(&records).unwrap()).unwrap();
    assert_eq!(written[0][0]["state"], "completed");
    assert_eq!(written[0][0]["result"]["duration_ms"], 7);
    assert_eq!(written[0][2]["result"]["status"], "denied");
}

/// Item 54 of the checklist: text before a call is published before the call runs.
#[test]
fn why_a_reply_broke_off_is_told_once() {
    let agent = agent(&[tool("rm", &[])], side_by_side());
    for (reply, told) in [
        // The outcome says it.
        ("", 0),
        ("Half an answer", 1),
        // Another round follows.
        ("<tool_call>\n{\"name\": \"rm\", \"arguments\": {\"a", 1),
    ] {
        let mut run = agent.run("Go.");
        run.model(reply.as_bytes()).unwrap();
        run.model_failed("the server is overloaded").unwrap();
        let list = all(&mut run);
        let why = |one: &&Do| matches!(one, Do::Event(Event::Missing { text }) if text == "the server is overloaded");
        assert_eq!(list.iter().filter(why).count(), told, "{reply}: {list:?}");
    }
}

#[test]
fn text_before_a_call_is_told_before_the_call_runs() {
    let agent = agent(&[tool("a", &[])], CallConfig::enabled());
    let list = all(&mut said(&agent, &format!("I look. {}", call("a", "{}"))));
    let at = |wanted: &dyn Fn(&Do) -> bool| list.iter().position(wanted).unwrap();
    let text = at(&|one| matches!(one, Do::Event(Event::Text { text }) if text.contains("look")));
    let named = at(&|one| matches!(one, Do::Event(Event::Named { name, .. }) if name == "a"));
    let running = at(&|one| matches!(one, Do::Event(Event::Running { .. })));
    let start = at(&|one| matches!(one, Do::Start(_)));
    assert!(text < named && named < running && running < start);
}

/// Item 35 of the checklist: thinking, the choice of a tool, its start, pieces of its output, and its end with the result are events.
#[test]
fn everything_that_happens_is_an_event() {
    let tools = Inventory::of([tool("a", &[])]).unwrap();
    let agent = Agent::new(&DialectSet::defaults(), "hermes", tools)
        .unwrap()
        .config(CallConfig::enabled())
        .policy(Policy::allow_all());
    let reply = format!("<think>Which?</think>I look. {}", call("a", "{}"));
    let mut run = said(&agent, reply.trim_end());
    run.progress("call_0_0", "half").unwrap();
    done(&mut run, "call_0_0");
    let list = all(&mut run);
    let mut names: Vec<String> = vec![];
    for one in &list {
        if let Do::Event(event) = one {
            let written: Value =
                serde_json::from_str(&serde_json::to_string(event).unwrap()).unwrap();
            names.push(written["event"].as_str().unwrap().to_owned());
        }
    }
    names.dedup();
    assert_eq!(
        names,
        [
            "reasoning",
            "text",
            "named",
            "written",
            "stands",
            "running",
            "progress",
            "settled",
            "message"
        ]
    );
    let thought = Event::Reasoning {
        text: "Which?".to_owned(),
    };
    assert!(list.contains(&Do::Event(thought)));
    let piece = Event::Progress {
        id: "call_0_0".to_owned(),
        text: "half".to_owned(),
    };
    assert!(list.contains(&Do::Event(piece)));
    let (how, result) = settled(&list)[0];
    let well = [Content::Text("well".to_owned())];
    assert_eq!(
        (how, result.content.as_slice()),
        (Ended::Completed, &well[..])
    );
}

/// Item 38 of the checklist: each round has what all earlier ones left, the conversation and the observations; the loop ends with an
/// answer, at the maximum of rounds, or where the host's condition is met.
#[test]
fn a_loop_carries_its_conversation_and_ends() {
    let mut config = CallConfig::enabled();
    config.max_iterations = 2;
    let agent = agent(&[tool("a", &[])], config);
    let calls = [1, 2, 3].map(|n| call("a", &format!("{{\"n\": {n}}}")));
    let [first, second, third] = &calls;
    // Returns how the loop ended, and the number of messages that each round began with.
    let played = |agent: &Agent, replies: &[&str]| {
        let mut run = agent.run("Go.");
        let mut carried: Vec<Vec<Value>> = vec![];
        let mut replies = replies.iter();
        loop {
            match run.take().unwrap() {
                Do::Ask(ask) => {
                    let before = carried.last().cloned().unwrap_or_default();
                    assert_eq!(ask.messages[..before.len()], before, "nothing is lost");
                    carried.push(ask.messages);
                    run.model(replies.next().unwrap().as_bytes()).unwrap();
                    run.model_ended(Finish::Stop).unwrap();
                }
                Do::Start(start) => {
                    let seen = format!("seen {}", start.arguments);
                    run.done(ToolResult::text(&start.id, "a", Status::Success, &seen))
                        .unwrap();
                }
                Do::Finished(outcome) => {
                    let lengths: Vec<usize> = carried.iter().map(Vec::len).collect();
                    let last = carried.pop().unwrap();
                    return (outcome, lengths, last);
                }
                _ => {}
            }
        }
    };
    let (outcome, lengths, last) = played(&agent, &[first, second, "Done."]);
    let text = "Done.".to_owned();
    assert_eq!(
        (outcome, lengths),
        (Outcome::Answer { text }, vec![2, 4, 6])
    );
    for (at, n) in [(3, 1), (5, 2)] {
        let observed = last[at]["content"].as_str().unwrap();
        assert!(
            observed.contains(&format!("seen {{\"n\":{n}}}")),
            "{observed}"
        );
    }
    let (outcome, lengths, _) = played(&agent, &[first, second, third]);
    assert!(matches!(outcome, Outcome::Iterations { .. }));
    assert_eq!(lengths, [2, 4, 6]);
    let bounded = agent.clone().budget(Budget::new().calls(1));
    let (outcome, lengths, _) = played(&bounded, &[first, second]);
    assert!(matches!(outcome, Outcome::Budget { .. }));
    assert_eq!(lengths, [2, 4]);
}

/// Item 88 of the checklist: a cancel ends the reply and what runs, keeps finished results, and marks the rest as cancelled. The
/// conversation has a result for each call, so that it can be continued.
#[test]
fn a_cancel_keeps_finished_results_and_leaves_no_call_without_one() {
    let policy = r#"{"confirm": [{"tools": ["c"]}], "allow": [{}]}"#;
    let agent = agent(&["a", "b", "c"].map(|id| tool(id, &[])), side_by_side())
        .policy(Policy::from_json(policy).unwrap())
        .shape(Shape::OpenAi);
    let mut run = agent.run("Go.");
    let calls = ["a", "b", "c"].map(|name| call(name, "{}")).concat();
    run.model(format!("{calls}And now <tool_call>{{\"na").as_bytes())
        .unwrap();
    done(&mut run, "call_0_0");
    all(&mut run);
    run.cancel();
    let list = all(&mut run);
    let aborted: Vec<&Do> = list
        .iter()
        .filter(|one| matches!(one, Do::Abort { .. }))
        .collect();
    let running = Do::Abort {
        call: "call_0_1".to_owned(),
    };
    assert_eq!(aborted, [&running], "one ran");
    assert_eq!(run.outcome(), Some(&Outcome::Cancelled));
    let [_, reply, results @ ..] = run.messages() else {
        panic!("{:?}", run.messages())
    };
    let calls = reply["tool_calls"].as_array().unwrap();
    assert_eq!((calls.len(), results.len()), (3, 3));
    for (call, result) in calls.iter().zip(results) {
        assert_eq!(call["id"], result["tool_call_id"]);
    }
    assert_eq!(results[0]["content"], "well");
    assert_ne!(results[1]["content"], "well");
    assert_eq!(results[1]["content"], results[2]["content"]);
    // The rest of the reply and a late result change nothing.
    assert!(run.model(b"me").is_err());
    let late = ToolResult::text("call_0_1", "b", Status::Success, "late");
    assert!(run.done(late).is_err() && all(&mut run).is_empty());
}

/// Item 78 of the checklist: calls are validated, and `toolId_methodName` and a name of the dialect's own reach the handler of the
/// tool.
#[test]
fn a_flat_name_reaches_its_tool() {
    let mut read = tool("files:read", &[]);
    read.parameters = Some(json!({"type": "object", "properties": {"path": {"type": "string"}}}));
    read.commands = vec![("hermes".to_owned(), "ReadFile".to_owned())];
    let agent = agent(&[read], CallConfig::enabled());
    for name in ["files:read", "files_read", "ReadFile"] {
        let list = all(&mut said(&agent, &call(name, "{}")));
        assert_eq!(starts(&list)[0].tool, "files:read", "{name}");
    }
    for wrong in [
        call("files_write", "{}"),
        call("files_read", r#"{"pth": "a"}"#),
    ] {
        let list = all(&mut said(&agent, &wrong));
        assert!(starts(&list).is_empty() && settled(&list)[0].0 == Ended::Failed);
    }
}

/// Item 89 of the checklist: results have the role `tool`, on which rules about messages can rely; nothing comes between a reply and its
/// results; and roles are those of the interface.
#[test]
fn nothing_comes_between_a_reply_and_its_results() {
    let of = |shape: Shape| {
        let agent = agent(&["a", "b"].map(|id| tool(id, &[])), side_by_side()).shape(shape);
        let mut run = agent.run("Go.");
        for (name, id) in [("a", "x"), ("b", "y")] {
            let (name, id) = (name.to_owned(), Some(id.to_owned()));
            let arguments = "{}".to_owned();
            let call = NativeCall::new(name, arguments).id(id);
            run.native_call(&call).unwrap();
        }
        // Everything that could come between: a task's result, and a broken block.
        run.later(ToolResult::text("", "job", Status::Success, "ready"))
            .unwrap();
        run.model(b"<tool_call>{\"name\": </tool_call>").unwrap();
        run.model_ended(Finish::Stop).unwrap();
        done(&mut run, "y");
        done(&mut run, "x");
        run.messages().to_vec()
    };
    let role = |message: &Value| message["role"].as_str().unwrap().to_owned();
    let messages = of(Shape::OpenAi);
    let roles: Vec<String> = messages.iter().map(role).collect();
    assert_eq!(roles[..4], ["user", "assistant", "tool", "tool"]);
    assert!(roles[4..].iter().all(|role| role == "user"), "{roles:?}");
    assert!(messages.len() > 4, "what was to be told is told behind");
    let calls = messages[1]["tool_calls"].as_array().unwrap();
    for (call, result) in calls.iter().zip(&messages[2..4]) {
        assert_eq!(call["id"], result["tool_call_id"]);
    }
    // A rule for tool messages matches these and no others.
    let tools = messages.iter().filter(|one| one["role"] == "tool");
    assert!(tools.clone().count() == 2 && tools.clone().all(|one| one["content"] == "well"));

    let messages = of(Shape::Anthropic);
    assert_eq!(role(&messages[2]), "user");
    let parts = messages[2]["content"].as_array().unwrap();
    assert_eq!(parts[0]["type"], "tool_result");

    // As text, results have the dialect's own role.
    let plain = agent(&[tool("a", &[])], side_by_side());
    let mut run = said(&plain, &call("a", "{}"));
    done(&mut run, "call_0_0");
    assert_eq!(role(&run.messages()[1]), "assistant");
    assert!(
        run.messages()[2]["content"]
            .as_str()
            .unwrap()
            .contains("well")
    );
}

/// Items 24 and 108 of the checklist: what a model calls in its text and again as an API tool call runs once. With a list of tools in the
/// request both kinds count, or one of them by the host's choice.
#[test]
fn a_call_in_both_forms_runs_once() {
    let tools = [tool("a", &[]), tool("b", &[])];
    let both = |shape: Shape, prefer: Option<Prefer>| {
        let mut options = Options::default();
        if let Some(prefer) = prefer {
            options.prefer = prefer;
        }
        let agent = agent(&tools, CallConfig::enabled());
        let agent = agent.options(options).shape(shape);
        let mut run = agent.run("Go.");
        run.model(call("a", "{\"n\": 1}").as_bytes()).unwrap();
        for (id, name, arguments) in [("x", "a", "{\"n\":1.0}"), ("y", "b", "{}")] {
            let native = NativeCall::new(name, arguments).id(id.to_owned());
            run.native_call(&native).unwrap();
        }
        run.model_ended(Finish::ToolCalls).unwrap();
        let mut names = vec![];
        loop {
            let list = all(&mut run);
            let starts: Vec<_> = starts(&list).into_iter().cloned().collect();
            if starts.is_empty() {
                return names;
            }
            for start in starts {
                names.push(start.tool.clone());
                done(&mut run, &start.id);
            }
        }
    };
    assert_eq!(both(Shape::Text, None), ["a"]);
    assert_eq!(both(Shape::OpenAi, None), ["a", "b"]);
    assert_eq!(both(Shape::OpenAi, Some(Prefer::Native)), ["a", "b"]);
    assert_eq!(both(Shape::Text, Some(Prefer::Both)), ["a", "b"]);
}
