//! An agent as a tool of another.

use std::sync::Arc;

use toolglot::json::{Map, Value, json};
use toolglot_tools::Tool;
use toolglot_tools::outcome::Content;

use super::{Approver, Driver, Executor, Gave, Model, Out, Piece, Stream, Task, Watch, pieces};
use crate::agent::Agent;
use crate::step::{Confirm, Decision, Do, Event, Outcome, Start};
use crate::wire::Told;

/// Carries a call out by a run of another agent: the call's argument `task` is what the user says there, and the answer is the result.
///
/// The agent has its own dialect, model, tools, rules and [budget](Agent::budget), and of the conversation knows only what the
/// call says. Calls of it that are to be confirmed are asked about under ids that begin with that of the call (`call_0_0/call_0_1`);
/// a decision that is put off is a denial. What its model says and calls is progress. A call that is dropped takes its run with
/// it, with all that this began. After a restart nobody knows what became of a run that was open.
///
/// Executors are shared by `Arc`, so agents form a tree: none can be its own tool, and calls end at its leaves.
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
    /// The argument that says what is to be done.
    pub(super) const WHAT: &str = "task";

    /// An agent with what its runs are driven with.
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

    /// The tool that the calling agent is offered: it takes one text, what is to be done.
    #[must_use]
    pub fn tool(id: &str, description: &str) -> Tool {
        let mut tool = Tool::new(id).description(description);
        let what = json!({"type": "string", "description": "What is to be done, with all that must be known for it"});
        tool.parameters =
            Some(json!({"type": "object", "properties": {"task": what}, "required": [Self::WHAT]}));
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
            return Err(format!("`{name}` says what is to be done, and is missing"));
        };
        let mut run = self.agent.run(what);
        let asked = Asked {
            inner: self,
            call: call.id,
        };
        let mut shown = Shown { out };
        let driver = Driver::new(&*self.model, &*self.executor, &asked).watch(&mut shown);
        match driver.drive(&mut run).await {
            Ok(Outcome::Answer { text }) => Ok(vec![Content::Text(text)]),
            Ok(Outcome::Iterations { message } | Outcome::Budget { message }) => Err(message),
            Ok(Outcome::ModelFailed { text }) => Err(format!("the model failed: {text}")),
            Ok(Outcome::Cancelled | Outcome::Steps { .. }) => Err("it was cancelled".to_owned()),
            Err(stopped) => Err(stopped.to_string()),
        }
    }
}

/// Asks whoever the delegate was given, under ids that say whose calls they are.
struct Asked<'a> {
    inner: &'a Inner,
    call: String,
}

impl Approver for Asked<'_> {
    fn confirm(&self, mut confirm: Confirm) -> Task<Option<Decision>> {
        confirm.id = format!("{}/{}", self.call, confirm.id);
        let asked = self.inner.approver.confirm(confirm);
        Box::pin(async move { Some(asked.await.unwrap_or_else(|| Decision::Deny(String::new()))) })
    }
}

/// Tells what happens in the run as progress of the call.
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
        // Whoever watches may be slower than the model; then pieces are left out.
        self.out.offer(Piece::Progress(text));
    }

    fn told(&mut self, _: &Told) {}
}
