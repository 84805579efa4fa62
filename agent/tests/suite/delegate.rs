//! Agents and workflows as tools of agents.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use toolglot::DialectSet;
use toolglot::json::{Map, Value};
use toolglot_agent::driver::{Approver, Delegate, Driver, Executors, Script, Workflow, function};
use toolglot_agent::{Agent, Budget, Confirm, Decision, Ended, Outcome, Policy, Step};
use toolglot_tools::outcome::{Content, ToolResult};
use toolglot_tools::{CallConfig, Inventory, Tool};

use crate::common::{Seen, call};

fn agent(mut tools: Vec<Tool>, policy: Policy) -> Agent {
    tools.iter_mut().for_each(|tool| tool.agent_callable = true);
    Agent::new(
        &DialectSet::builtin("hermes").unwrap(),
        "hermes",
        Inventory::of(tools).unwrap(),
    )
    .unwrap()
    .config(CallConfig::enabled())
    .policy(policy)
}

fn look() -> Tool {
    Tool::new("look").description("Looks something up")
}

fn looks(count: &Arc<AtomicUsize>) -> Executors {
    let count = count.clone();
    Executors::new().with(
        "look",
        function(move |given: Map| {
            count.fetch_add(1, Ordering::SeqCst);
            async move { Ok::<_, String>(Value::Object(given)) }
        }),
    )
}

/// Runs an agent whose only tool is another agent, which replies `replies`; returns the result of the call.
async fn delegated(
    replies: &[&str],
    budget: Budget,
    approver: Arc<dyn Approver>,
    policy: Policy,
) -> (Seen, usize) {
    let count = Arc::new(AtomicUsize::new(0));
    let inner = agent(vec![look()], policy).budget(budget);
    let model = Arc::new(Script::new(replies.iter().copied()));
    let delegate = Delegate::new(inner, model, Arc::new(looks(&count)), approver);
    let executors = Executors::new().with("research", delegate);
    let outer = agent(
        vec![Delegate::tool("research", "Researches")],
        Policy::allow_all(),
    );
    let said = [
        call("research", r#"{"task": "How high is it?"}"#),
        "Done.".to_owned(),
    ];
    let model = Script::new(said.iter().map(String::as_str));
    let nobody = async |_: Confirm| None;
    let mut seen = Seen::default();
    let driver = Driver::new(&model, &executors, &nobody).watch(&mut seen);
    let outcome = driver.drive(&mut outer.run("Go.")).await;
    assert_eq!(
        outcome,
        Ok(Outcome::Answer {
            text: "Done.".to_owned()
        })
    );
    (seen, count.load(Ordering::SeqCst))
}

fn words(result: &ToolResult) -> String {
    match result.content.as_slice() {
        [Content::Text(text)] => text.clone(),
        other => format!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_is_a_tool_with_a_budget_of_its_own() {
    let nobody: Arc<dyn Approver> = Arc::new(async |_: Confirm| None);
    let looks: Vec<String> = (0..9)
        .map(|n| call("look", &format!("{{\"n\": {n}}}")))
        .collect();
    let mut replies: Vec<&str> = looks.iter().map(String::as_str).take(2).collect();
    replies.push("It is 829 m high.");
    let (seen, count) =
        delegated(&replies, Budget::new(), nobody.clone(), Policy::allow_all()).await;
    assert_eq!((seen.settled[0].0, count), (Ended::Completed, 2));
    assert_eq!(words(&seen.settled[0].1), "It is 829 m high.");
    assert!(
        seen.progress.contains("[look {\"n\":1}]"),
        "{}",
        seen.progress
    );

    let (seen, count) = delegated(
        &replies,
        Budget::new().calls(1),
        nobody.clone(),
        Policy::allow_all(),
    )
    .await;
    assert_eq!((seen.settled[0].0, count), (Ended::Failed, 1));
    assert_eq!(
        words(&seen.settled[0].1),
        "The budget of the run is used up"
    );

    let (seen, _) = delegated(&[], Budget::new(), nobody, Policy::allow_all()).await;
    assert!(words(&seen.settled[0].1).contains("the script has no reply 1"));
}

#[tokio::test(start_paused = true)]
async fn people_are_asked_about_calls_of_the_inner_agent() {
    let look = call("look", "{}");
    for (decision, count) in [(Some(Decision::Approve), 1), (None, 0)] {
        let asked = Arc::new(Mutex::new(vec![]));
        let noted = asked.clone();
        let approver: Arc<dyn Approver> = Arc::new(move |call: Confirm| {
            noted.lock().unwrap().push(call.id);
            let decision = decision.clone();
            async move { decision }
        });
        let (seen, ran) = delegated(
            &[&look, "Well."],
            Budget::new(),
            approver,
            Policy::confirm_all(),
        )
        .await;
        assert_eq!(*asked.lock().unwrap(), ["call_0_0/call_0_0"]);
        assert_eq!((words(&seen.settled[0].1).as_str(), ran), ("Well.", count));
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_takes_too_long_ends_with_all_that_it_began() {
    struct Gone(Arc<AtomicUsize>);
    impl Drop for Gone {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let gone = Arc::new(AtomicUsize::new(0));
    let noted = gone.clone();
    let forever = Executors::new().with(
        "look",
        function(move |_| {
            let gone = Gone(noted.clone());
            async move {
                let _gone = gone;
                std::future::pending::<Result<Value, String>>().await
            }
        }),
    );
    let mut config = CallConfig::enabled();
    config.timeout = 600_000;
    let inner = agent(vec![look()], Policy::allow_all()).config(config);
    let look = call("look", "{}");
    let model = Arc::new(Script::new([look.as_str()]));
    let nobody: Arc<dyn Approver> = Arc::new(async |_: Confirm| None);
    let delegate = Delegate::new(inner, model, Arc::new(forever), nobody);
    let outer = agent(
        vec![Delegate::tool("research", "Researches")],
        Policy::allow_all(),
    );
    let said = [call("research", r#"{"task": "x"}"#), "Too slow.".to_owned()];
    let model = Script::new(said.iter().map(String::as_str));
    let executors = Executors::new().with("research", delegate);
    let asked = async |_: Confirm| None;
    let began = tokio::time::Instant::now();
    let outcome = Driver::new(&model, &executors, &asked)
        .drive(&mut outer.run("Go."))
        .await;
    assert_eq!(
        outcome,
        Ok(Outcome::Answer {
            text: "Too slow.".to_owned()
        })
    );
    assert_eq!(began.elapsed(), Duration::from_secs(30));
    assert_eq!(gone.load(Ordering::SeqCst), 1);
}

fn steps(json: &str) -> Vec<Step> {
    serde_json::from_str(json).unwrap()
}

async fn worked(manifest: &str, arguments: &str) -> (Ended, String, usize) {
    let count = Arc::new(AtomicUsize::new(0));
    let nobody: Arc<dyn Approver> = Arc::new(async |_: Confirm| None);
    let inner = agent(vec![look()], Policy::allow_all());
    let workflow = Workflow::new(inner, steps(manifest), Arc::new(looks(&count)), nobody);
    let executors = Executors::new().with("skill", workflow);
    let outer = agent(
        vec![Tool::new("skill").description("A skill")],
        Policy::allow_all(),
    );
    let said = [call("skill", arguments), "Done.".to_owned()];
    let model = Script::new(said.iter().map(String::as_str));
    let asked = async |_: Confirm| None;
    let mut seen = Seen::default();
    let driver = Driver::new(&model, &executors, &asked).watch(&mut seen);
    driver.drive(&mut outer.run("Go.")).await.unwrap();
    (
        seen.settled[0].0,
        words(&seen.settled[0].1),
        count.load(Ordering::SeqCst),
    )
}

#[tokio::test(start_paused = true)]
async fn a_workflow_is_a_tool() {
    let manifest = r#"[{"tool": "look", "arguments": {"city": "{{input.city}}"}},
        {"tool": "look", "arguments": {"from": "{{1.result.city}}", "all": "{{1.result}}"}}]"#;
    let (state, gave, count) = worked(manifest, r#"{"city": "Leith"}"#).await;
    assert_eq!((state, count), (Ended::Completed, 2));
    assert!(gave.contains("Leith") && gave.contains("from"), "{gave}");

    let broken = r#"[{"tool": "look"}, {"tool": "nobody"}, {"tool": "look"}]"#;
    let (state, why, count) = worked(broken, "{}").await;
    assert_eq!((state, count), (Ended::Failed, 1), "{why}");
    assert!(why.contains("step_1") && why.contains("nobody"), "{why}");

    // The caller must not read results of steps.
    let (state, why, count) = worked(manifest, r#"{"city": "{{1.result}}"}"#).await;
    assert_eq!((state, count), (Ended::Failed, 0), "{why}");
}

#[tokio::test]
async fn steps_of_a_workflow_ask_under_the_id_of_their_call() {
    for (decision, state) in [
        (Some(Decision::Approve), Ended::Completed),
        (None, Ended::Failed),
    ] {
        let ids = Arc::new(Mutex::new(vec![]));
        let (seen, count) = (Arc::clone(&ids), Arc::new(AtomicUsize::new(0)));
        let asks: Arc<dyn Approver> = Arc::new(move |confirm: Confirm| {
            seen.lock().unwrap().push(confirm.id);
            std::future::ready(decision.clone())
        });
        let inner = agent(vec![look()], Policy::confirm_all());
        let list = steps(r#"[{"tool": "look"}, {"tool": "look"}]"#);
        let workflow = Workflow::new(inner, list, Arc::new(looks(&count)), asks);
        let executors = Executors::new().with("skill", workflow);
        let skill = Tool::new("skill").description("A skill");
        let outer = agent(vec![skill], Policy::allow_all());
        let said = [call("skill", "{}"), "Done.".to_owned()];
        let model = Script::new(said.iter().map(String::as_str));
        let nobody = async |_: Confirm| None;
        let mut seen = Seen::default();
        let driver = Driver::new(&model, &executors, &nobody).watch(&mut seen);
        driver.drive(&mut outer.run("Go.")).await.unwrap();
        assert_eq!(seen.settled[0].0, state);
        let ids = ids.lock().unwrap();
        assert_eq!(*ids, ["call_0_0/step_0", "call_0_0/step_1"]);
    }
}
