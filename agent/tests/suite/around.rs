//! Wrappers of models and tools: services of `tower`, spans of `tracing`.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use toolglot::DialectSet;
use toolglot::json::{Map, Value};
use toolglot_agent::driver::{
    Driver, Executor, Executors, Progress, Script, ServiceExecutor, ToolService, Traced,
    agent_span, function, task,
};
use toolglot_agent::{Agent, Confirm, Decision, Ended, Outcome, Policy};
use toolglot_tools::outcome::{Content, RenderOptions, ToolResult};
use toolglot_tools::prompt::Lang;
use toolglot_tools::{CallConfig, Inventory, Tool};
use tower::ServiceBuilder;
use tracing::Instrument;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};

use crate::common::Seen;

async fn nobody(_: Confirm) -> Option<Decision> {
    panic!("nobody is to be asked")
}

fn agent() -> Agent {
    let mut tool = Tool::new("a").description("A tool");
    tool.agent_callable = true;
    let mut config = CallConfig::enabled();
    config.parallel_execution = true;
    config.timeout = 60_000;
    let set = DialectSet::builtin("hermes").unwrap();
    Agent::new(&set, "hermes", Inventory::of([tool]).unwrap())
        .unwrap()
        .config(config)
        .policy(Policy::allow_all())
}

fn calls(count: u32) -> String {
    let call =
        |n| format!("<tool_call>{{\"name\": \"a\", \"arguments\": {{\"n\": {n}}}}}</tool_call>\n");
    (0..count).map(call).collect()
}

async fn drive(executor: &dyn Executor, count: u32) -> Vec<(Ended, ToolResult)> {
    let model = Script::new([calls(count).as_str(), "Done."]);
    let mut seen = Seen::default();
    let driver = Driver::new(&model, executor, &nobody).watch(&mut seen);
    let outcome = driver.drive(&mut agent().run("Go.")).await;
    assert_eq!(
        outcome,
        Ok(Outcome::Answer {
            text: "Done.".to_owned()
        })
    );
    seen.settled
}

fn words(result: &ToolResult) -> &str {
    match result.content.as_slice() {
        [Content::Text(text)] => text,
        other => panic!("{other:?}"),
    }
}

/// A tool that takes a given number of seconds, and counts how many calls run at once.
fn waits(running: Arc<AtomicUsize>, most: Arc<AtomicUsize>, seconds: u64) -> Arc<dyn Executor> {
    Arc::new(function(move |given: Map| {
        let (running, most) = (running.clone(), most.clone());
        async move {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            sleep(Duration::from_secs(seconds)).await;
            running.fetch_sub(1, Ordering::SeqCst);
            match given.get("n").and_then(Value::as_i64) {
                Some(1) => Err("one is wrong"),
                _ => Ok("well"),
            }
        }
    }))
}

#[tokio::test(start_paused = true)]
async fn layers_of_tower_wrap_a_tool() {
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let tool = ToolService::new(waits(running, most.clone(), 10));
    let service = ServiceBuilder::new().concurrency_limit(1).service(tool);
    let began = Instant::now();
    let settled = drive(&ServiceExecutor::new(service), 3).await;
    assert_eq!(
        most.load(Ordering::SeqCst),
        1,
        "the limit is shared by all calls"
    );
    assert_eq!(began.elapsed().as_secs(), 30);
    let mut said: Vec<_> = settled
        .iter()
        .map(|(state, result)| (*state, words(result)))
        .collect();
    said.sort_by_key(|one| one.1);
    let well = (Ended::Completed, "well");
    assert_eq!(said, [(Ended::Failed, "one is wrong"), well, well]);

    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let tool = ToolService::new(waits(running, most, 10));
    let service = ServiceBuilder::new()
        .timeout(Duration::from_secs(2))
        .service(tool);
    let settled = drive(&ServiceExecutor::new(service), 1).await;
    assert_eq!(settled[0].0, Ended::Failed);
    assert!(words(&settled[0].1).contains("timed out"), "{settled:?}");
}

/// Item 39 of the checklist: raw output is processed before the model observes it: pieces are joined, a layer summarizes, a part of
/// JSON is selected, long text is shortened, and the dialect determines how it is written.
#[tokio::test]
async fn output_is_worked_on_before_it_is_observed() {
    let tool = task(async |_, progress: Progress| {
        let mut lines = vec![];
        for n in 0..5 {
            progress.tell(format!("line {n};")).await;
            lines.push(Value::from(format!("line {n}")));
        }
        let report = toolglot::json::json!({"noise": "x", "report": {"lines": lines}});
        Ok(vec![Content::Json(report)])
    });
    let service = ServiceBuilder::new()
        .map_response(|content: Vec<Content>| {
            let [Content::Json(all)] = content.as_slice() else {
                panic!("{content:?}")
            };
            let lines = all["report"]["lines"].as_array().unwrap();
            let summary = format!("{} lines, first {}", lines.len(), lines[0]);
            let report = toolglot::json::json!({"summary": summary, "long": "y".repeat(500)});
            vec![Content::Json(toolglot::json::json!({"report": report}))]
        })
        .service(ToolService::new(Arc::new(tool)));
    let mut render = RenderOptions::new(Lang::En);
    render.condense.select = Some("/report".to_owned());
    (render.condense.head, render.condense.tail) = (60, 20);
    let agent = agent().render(render);
    let mut run = agent.run("Go.");
    let model = Script::new([calls(1).as_str(), "Done."]);
    let executor = ServiceExecutor::new(service);
    let driver = Driver::new(&model, &executor, &nobody);
    driver.drive(&mut run).await.unwrap();
    let observed = run.messages()[2]["content"].as_str().unwrap();
    assert!(observed.starts_with("<tool_response>\n"), "{observed}");
    assert!(observed.contains("5 lines, first"), "{observed}");
    assert!(
        !observed.contains("noise") && observed.len() < 200,
        "{observed}"
    );
}

/// Records spans: their fields, and whether they are closed.
#[derive(Default)]
struct Kept {
    spans: Mutex<Vec<BTreeMap<String, String>>>,
    closed: AtomicUsize,
}

struct Keeper(Arc<Kept>);

struct Fields<'a>(&'a mut BTreeMap<String, String>);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let text = format!("{value:?}");
        self.0
            .insert(field.name().to_owned(), text.trim_matches('"').to_owned());
    }
}

impl tracing::Subscriber for Keeper {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("toolglot")
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut spans = self.0.spans.lock().unwrap();
        let mut fields = BTreeMap::new();
        attributes.record(&mut Fields(&mut fields));
        fields.insert("name".to_owned(), attributes.metadata().name().to_owned());
        spans.push(fields);
        Id::from_u64(spans.len() as u64)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        let mut spans = self.0.spans.lock().unwrap();
        let at = usize::try_from(id.into_u64()).unwrap() - 1;
        values.record(&mut Fields(&mut spans[at]));
    }

    fn try_close(&self, _: Id) -> bool {
        self.0.closed.fetch_add(1, Ordering::SeqCst);
        true
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &tracing::Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[tokio::test(start_paused = true)]
async fn a_run_has_spans_with_the_names_of_opentelemetry() {
    let kept = Arc::new(Kept::default());
    let _guard = tracing::subscriber::set_default(Keeper(kept.clone()));
    let tool = function(
        async |given: Map| match given.get("n").and_then(Value::as_i64) {
            Some(1) => Err("a secret"),
            Some(2) => std::future::pending().await,
            _ => Ok("a secret"),
        },
    );
    let executor = Traced::executor(Executors::new().with("a", tool));
    let model = Traced::model(Script::new([calls(3).as_str(), "a secret"]), "test", "m-1");
    let driver = Driver::new(&model, &executor, &nobody);
    let mut run = agent().run("Go.");
    let outcome = driver
        .drive(&mut run)
        .instrument(agent_span("helper"))
        .await;
    assert_eq!(
        outcome,
        Ok(Outcome::Answer {
            text: "a secret".to_owned()
        })
    );
    drop(model);
    let spans = kept.spans.lock().unwrap();
    let of = |name: &str, key: &str| -> Vec<String> {
        let found = spans.iter().filter(|span| span["name"] == name);
        found
            .map(|span| span.get(key).cloned().unwrap_or_default())
            .collect()
    };
    assert_eq!(of("invoke_agent", "gen_ai.agent.name"), ["helper"]);
    assert_eq!(of("chat", "otel.name"), ["chat m-1", "chat m-1"]);
    assert_eq!(of("chat", "gen_ai.operation.name"), ["chat", "chat"]);
    assert_eq!(of("chat", "gen_ai.provider.name"), ["test", "test"]);
    assert_eq!(
        of("chat", "gen_ai.response.finish_reasons"),
        ["stop", "stop"]
    );
    assert_eq!(of("execute_tool", "gen_ai.tool.name"), ["a", "a", "a"]);
    assert_eq!(
        of("execute_tool", "gen_ai.tool.call.id"),
        ["call_0_0", "call_0_1", "call_0_2"]
    );
    assert_eq!(of("execute_tool", "gen_ai.tool.type"), ["function"; 3]);
    assert_eq!(
        of("execute_tool", "error.type"),
        ["", "tool_failed", "cancelled"]
    );
    assert!(!format!("{spans:?}").contains("secret"), "{spans:?}");
    assert_eq!(kept.closed.load(Ordering::SeqCst), spans.len());
}
