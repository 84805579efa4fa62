//! An agent as a tool of another.

use std::sync::Arc;

use toolglot::json::{Map, Value, json};
use toolglot_tools::Tool;
use toolglot_tools::outcome::Content;

use super::{
    Approver, Driver, Executor, Gave, Model, Out, Piece, Stream, Task, ToolFailed, Watch, pieces,
};
use crate::agent::Agent;
use crate::step::{Confirm, Decision, Do, Event, Outcome, Start};
use crate::wire::Told;

/// Executes a call with a run of another agent: the call's argument `task` is its user message, and its answer is the result.
///
/// The agent has its own dialect, model, tools, rules and [budget](Agent::budget), and knows of the conversation only what the
/// call says. Its calls that need confirmation have ids that begin with that of the call (`call_0_0/call_0_1`);
/// a postponed decision is a denial. The text and calls of its model are reported as progress. Dropping a call drops its run and
/// everything it started. After a restart the result of an open run is unknown.
///
/// Executors are owned through `Arc`, so agents form an acyclic graph: no agent can be its own tool, and nesting is finite.
///
/// ```
/// use std::sync::Arc;
/// use toolglot::DialectSet;
/// use toolglot_agent::driver::{Delegate, Executors, Script};
/// use toolglot_agent::{Agent, Confirm, Decision};
/// use toolglot_tools::Inventory;
///
/// let agent = Agent::new(&DialectSet::defaults(), "hermes", Inventory::of([])?)?;
/// let approver = async |_: Confirm| Some(Decision::Approve);
/// let helper = Delegate::new(agent, Arc::new(Script::new(["Done."])), Arc::new(Executors::new()), Arc::new(approver));
/// let tool = Delegate::tool("helper", "Does what it is asked");
/// let executors = Executors::new().with(&tool.id, helper);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Delegate {
    inner: Arc<Inner>,
}

struct Inner {
    agent: Agent,
    model: Arc<dyn Model>,
    executor: Arc<dyn Executor>,
    approver: Arc<dyn Approver>,
}

impl std::fmt::Debug for Delegate {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Delegate")
            .field("agent", &self.inner.agent)
            .finish_non_exhaustive()
    }
}

impl Delegate {
    /// The argument with the agent's task.
    pub(super) const WHAT: &str = "task";

    /// Creates a delegate from an agent and the parts of its driver.
    #[must_use]
    pub fn new(
        agent: Agent,
        model: Arc<dyn Model>,
        executor: Arc<dyn Executor>,
        approver: Arc<dyn Approver>,
    ) -> Self {
        let inner = Inner {
            agent,
            model,
            executor,
            approver,
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Returns the definition of the tool for the calling agent. Its one parameter is the task, a string.
    #[must_use]
    pub fn tool(id: &str, description: &str) -> Tool {
        let mut tool = Tool::new(id).description(description);
        let what = json!({"type": "string", "description": "What is to be done, with all that must be known for it"});
        tool.parameters = Some(
            json!({"type": "object", "properties": {(Self::WHAT): what}, "required": [Self::WHAT]}),
        );
        tool
    }
}

impl Executor for Delegate {
    fn start(&self, call: Start) -> Stream<Piece> {
        let inner = self.inner.clone();
        pieces(async move |out| Piece::Done(inner.run(call, out).await))
    }
}

impl Inner {
    async fn run(&self, call: Start, out: Out<Piece>) -> Gave {
        let arguments: Map = serde_json::from_str(&call.arguments).unwrap_or_default();
        let name = Delegate::WHAT;
        let Some(what) = arguments.get(name).and_then(Value::as_str) else {
            return Err(format!("`{name}` says what is to be done, and is missing").into());
        };
        let mut run = self.agent.run(what);
        let asked = Asked::new(&self.approver, &call.id);
        let mut shown = Shown { out };
        let driver = Driver::new(&*self.model, &*self.executor, &asked).watch(&mut shown);
        match driver.drive(&mut run).await {
            Ok(Outcome::Answer { text }) => Ok(vec![Content::Text(text)]),
            Ok(Outcome::Iterations { message } | Outcome::Budget { message }) => {
                Err(message.into())
            }
            Ok(Outcome::ModelFailed { text }) => Err(format!("the model failed: {text}").into()),
            Ok(Outcome::Cancelled | Outcome::Steps { .. }) => Err("it was cancelled".into()),
            Err(stopped) => Err(ToolFailed::new(stopped)),
        }
    }
}

/// Asks about calls within a call, under ids that begin with the outer call's.
pub(super) struct Asked<'a> {
    approver: &'a Arc<dyn Approver>,
    call: &'a str,
}

impl<'a> Asked<'a> {
    pub(super) fn new(approver: &'a Arc<dyn Approver>, call: &'a str) -> Self {
        Self { approver, call }
    }
}

impl Approver for Asked<'_> {
    fn confirm(&self, mut confirm: Confirm) -> Task<Option<Decision>> {
        confirm.id = format!("{}/{}", self.call, confirm.id);
        let asked = self.approver.confirm(confirm);
        Box::pin(async move { Some(asked.await.unwrap_or_else(|| Decision::Deny(String::new()))) })
    }
}

/// Reports events of the run as progress of the call.
struct Shown {
    out: Out<Piece>,
}

impl Watch for Shown {
    fn does(&mut self, one: &Do) {
        let text = match one {
            Do::Event(Event::Text { text }) => text.clone(),
            Do::Start(call) => format!("[{} {}]\n", call.name, call.arguments),
            _ => return,
        };
        // If the receiver is slower than the model, pieces are dropped.
        self.out.offer(Piece::Progress(text));
    }

    fn told(&mut self, _: &Told) {}
}
