//! A workflow as a tool: a list of steps, each a call of another tool.

use std::collections::BTreeSet;
use std::sync::Arc;

use toolglot::Finish;
use toolglot::json::{Map, Value};
use toolglot_tools::outcome::{Content, Status};

use super::delegate::Asked;
use super::{Approver, Driver, Executor, Gave, Model, Piece, Stream, ToolFailed, Watch, pieces};
use crate::agent::Agent;
use crate::reference::referred as referred_in;
use crate::response::Said;
use crate::run::Step;
use crate::step::{Ask, Do, Event, Outcome, Start};

/// Executes a call as steps that run in order.
///
/// Arguments of a step may refer to those of the call, `{{input.name}}`, and to results of earlier steps, `{{1.result.path}}`. A string
/// that is only a reference becomes the value itself; if the call omits that argument, it is omitted here too. The result is that of the
/// last step; the first step that does not complete fails the call. Steps are calls of an agent: its
/// tools, rules and [budget](Agent::budget) apply to them. Steps that need confirmation have ids that begin with that of the
/// call (`call_0_0/step_1`); a postponed decision is a denial.
///
/// ```
/// # use toolglot::{DialectSet, Finish};
/// # use toolglot_agent::{Agent, Do, Policy};
/// # use toolglot_tools::{CallConfig, Inventory, Tool};
/// # let tools = Inventory::of([Tool::new("weather").description("Tells the weather").callable(true)])?;
/// # let agent = Agent::new(&DialectSet::defaults(), "hermes", tools)?.config(CallConfig::enabled()).policy(Policy::allow_all());
/// use std::sync::Arc;
/// use toolglot::json::{Map, json};
/// use toolglot_agent::Step;
/// use toolglot_agent::driver::{Executors, Workflow, function};
///
/// let city = Map::from_iter([("city".to_owned(), json!("{{input.city}}"))]);
/// let tools = Executors::new().with("weather", function(async |_| Ok::<_, String>("rain")));
/// let workflow = Workflow::new(agent, vec![Step::new("weather", city)], Arc::new(tools), Arc::new(async |_| None));
/// assert!(Executors::new().with("report", workflow).get("report").is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Workflow {
    inner: Arc<Inner>,
}

struct Inner {
    agent: Agent,
    steps: Vec<Step>,
    executor: Arc<dyn Executor>,
    approver: Arc<dyn Approver>,
}

impl std::fmt::Debug for Workflow {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Workflow")
            .field("steps", &self.inner.steps)
            .finish_non_exhaustive()
    }
}

impl Workflow {
    /// Creates a workflow from steps.
    #[must_use]
    pub fn new(
        agent: Agent,
        steps: Vec<Step>,
        executor: Arc<dyn Executor>,
        approver: Arc<dyn Approver>,
    ) -> Self {
        let inner = Inner {
            agent,
            steps,
            executor,
            approver,
        };
        Self {
            inner: Arc::new(inner),
        }
    }
}

impl Executor for Workflow {
    fn start(&self, call: Start) -> Stream<Piece> {
        let inner = self.inner.clone();
        pieces(async move |_| Piece::Done(inner.run(&call).await))
    }
}

impl Inner {
    async fn run(&self, call: &Start) -> Gave {
        let input: Map = serde_json::from_str(&call.arguments).unwrap_or_default();
        let mut referred = BTreeSet::new();
        input
            .values()
            .for_each(|value| referred_in(value, &mut referred));
        if !referred.is_empty() {
            // They would resolve to results of steps, which the caller must not read.
            return Err("arguments of a workflow cannot refer to results".into());
        }
        let filled = |step: &Step| Step {
            tool: step.tool.clone(),
            arguments: filled(&step.arguments, &input),
        };
        let steps: Vec<Step> = self.steps.iter().map(filled).collect();
        let mut run = self.agent.steps(&steps);
        let mut last = Last::default();
        let asked = Asked::new(&self.approver, &call.id);
        let driver = Driver::new(&Nobody, &*self.executor, &asked).watch(&mut last);
        match driver.drive(&mut run).await {
            Ok(Outcome::Steps { completed: true }) => Ok(last.content),
            Ok(_) => Err(last
                .why
                .unwrap_or_else(|| "a step did not complete".to_owned())
                .into()),
            Err(stopped) => Err(ToolFailed::new(stopped)),
        }
    }
}

/// The content of the last step, and why the first failed step failed.
#[derive(Default)]
struct Last {
    content: Vec<Content>,
    why: Option<String>,
}

impl Watch for Last {
    fn does(&mut self, one: &Do) {
        let Do::Event(Event::Settled { id, state, result }) = one else {
            return;
        };
        self.content.clone_from(&result.content);
        if result.status != Status::Success && self.why.is_none() {
            let words = result.content.iter().find_map(|content| match content {
                Content::Text(text) => Some(text.as_str()),
                _ => None,
            });
            self.why = Some(format!(
                "{id} ({}): {state}: {}",
                result.name,
                words.unwrap_or_default()
            ));
        }
    }
}

/// The model of a workflow, which is never asked.
struct Nobody;

impl Model for Nobody {
    fn ask(&self, _: Ask) -> Stream<Said> {
        pieces(async move |_| Said::End(Finish::Stop))
    }
}

/// Replaces `{{input.name}}` in arguments by the call's arguments.
fn filled(arguments: &Map, input: &Map) -> Map {
    let filled = arguments
        .iter()
        .filter_map(|(key, value)| Some((key.clone(), put(value, input)?)));
    filled.collect()
}

fn put(value: &Value, input: &Map) -> Option<Value> {
    Some(match value {
        Value::Array(items) => items.iter().filter_map(|item| put(item, input)).collect(),
        Value::Object(map) => Value::Object(filled(map, input)),
        Value::String(text) => {
            let mut out = String::new();
            let mut rest = text.as_str();
            while let Some((before, name, behind)) = reference(rest) {
                let given = input.get(name);
                if before.is_empty() && behind.is_empty() && out.is_empty() {
                    return given.cloned();
                }
                out.push_str(before);
                match given {
                    Some(Value::String(text)) => out.push_str(text),
                    Some(other) => out.push_str(&other.to_string()),
                    None => {}
                }
                rest = behind;
            }
            out.push_str(rest);
            Value::from(out)
        }
        other => other.clone(),
    })
}

/// Finds the first reference to the call: the text before it, the name, and the text after it.
fn reference(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(open) = text[from..].find("{{") {
        let open = from + open;
        let inside = &text[open + 2..];
        let close = inside.find("}}")?;
        if let Some(name) = inside[..close].trim().strip_prefix("input.") {
            return Some((&text[..open], name, &inside[close + 2..]));
        }
        from = open + 2;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_the_call_are_inserted_in_steps() {
        let input: Map = serde_json::from_str(r#"{"a": "x{{input.b}}", "n": [1], "城": "北"}"#)
            .expect("an object");
        for (given, wanted) in [
            (r#"{"k":"{{input.n}}"}"#, r#"{"k":[1]}"#),
            (
                r#"{"k":"{{ input.a }}-{{input.n}}"}"#,
                r#"{"k":"x{{input.b}}-[1]"}"#,
            ),
            (
                r#"{"k":"{{input.none}}","l":["{{input.城}}!"]}"#,
                r#"{"l":["北!"]}"#,
            ),
            (
                r#"{"k":"{{1.result}} {{input.a"}"#,
                r#"{"k":"{{1.result}} {{input.a"}"#,
            ),
            (r#"{"k":"a{{input.none}}b"}"#, r#"{"k":"ab"}"#),
        ] {
            let given: Map = serde_json::from_str(given).expect("an object");
            assert_eq!(Value::Object(filled(&given, &input)).to_string(), wanted);
        }
    }
}
