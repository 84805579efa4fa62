//! One conversation of a model with its tools.

mod budget;
mod calls;
mod inputs;
mod rounds;
mod saved;
mod tasks;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use toolglot::json::{Map, Value, json};
use toolglot::{Finish, Kind, NativeCall, Parser};
use toolglot_tools::outcome::{Status, ToolResult};

use crate::agent::{Agent, AgentError};
use crate::step::{Do, Ended, Event, Outcome, Receipt};
use crate::watch::Watch;
use tasks::Task;

pub use budget::Spent;

/// How many times in a row the same call may run.
const SAME: u32 = 2;
/// Version of the format of saved runs.
const VERSION: u32 = 1;

/// Why a run rejects an input.
///
/// ```
/// # use toolglot::{DialectSet, Finish};
/// # use toolglot_agent::{Agent, Do, Policy};
/// # use toolglot_tools::{CallConfig, Inventory, Tool};
/// # let tools = Inventory::of([Tool::new("weather").description("Tells the weather").callable(true)])?;
/// # let agent = Agent::new(&DialectSet::defaults(), "hermes", tools)?.config(CallConfig::enabled()).policy(Policy::allow_all());
/// use toolglot_agent::{Decision, RunError};
///
/// let error = agent.run("Hi").decision("call_9", Decision::Approve).unwrap_err();
/// assert_eq!(error, RunError::NoCall("call_9".to_owned()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The current round has no such call.
    #[error("there is no call {0}")]
    NoCall(String),
    /// The call is in a state that does not accept the input.
    #[error("the call {id} is {state}, so it does not accept this")]
    State {
        /// The call's id.
        id: String,
        /// Its state: `pending`, `waiting`, `approved`, `running`, or how it ended.
        state: &'static str,
    },
    /// The run does not wait for the model.
    #[error("the model was not asked, or its reply has ended")]
    NoReply,
    /// A call of this reply is already committed, so the model cannot be asked for another reply.
    #[error("a call of the reply stands already; end the reply instead")]
    Stands,
    /// The task's id is empty, or a call or task already has it.
    #[error("`{0}` cannot be the id of a task: a call or a task has it already, or it is empty")]
    Task(String),
    /// A prompt or a message cannot be written.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The text is not a saved run.
    #[error("this is no saved run: {0}")]
    Saved(String),
}

/// A step of a workflow: a call that a host gives.
///
/// ```
/// use toolglot::json::{Map, json};
/// use toolglot_agent::Step;
///
/// let mut arguments = Map::new();
/// arguments.insert("text".to_owned(), json!("{{1.result}}"));
/// let steps = [Step::new("read", Map::new()), Step::new("translate", arguments)];
/// assert_eq!(steps[1].tool, "translate");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Step {
    /// Name of the tool.
    pub tool: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Map,
}

impl Step {
    /// Creates a step.
    #[must_use]
    pub fn new(tool: impl Into<String>, arguments: Map) -> Self {
        Self {
            tool: tool.into(),
            arguments,
        }
    }
}

/// What a run waits for.
///
/// See the example of [`Run`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Waits {
    /// Bytes of the model, or the end of its reply.
    Model,
    /// Decisions on calls, their results, or the results of tasks.
    Calls,
    /// Nothing: the run is over.
    Nothing,
}

/// The state of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Stage {
    /// Not checked yet: the results that it refers to are not available.
    Pending,
    /// Waits for a person's decision on these arguments.
    Waiting { shown: String },
    /// May run with these arguments, approved by a person or by the policy alone.
    Approved { arguments: String, by_person: bool },
    /// Runs.
    Running { deadline: u64, receipt: Receipt },
    /// It has its result.
    Ended { how: Ended, result: ToolResult },
}

/// A committed call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Entry {
    id: String,
    name: String,
    arguments: String,
    dialect: String,
    recovered: bool,
    /// Its chain. Calls of the same chain run in order.
    chain: Option<u32>,
    /// Whether the steps after it run even if it does not complete.
    goes_on: bool,
    stage: Stage,
}

impl Entry {
    fn ended(&self) -> Option<Ended> {
        match &self.stage {
            Stage::Ended { how, .. } => Some(*how),
            _ => None,
        }
    }

    fn state(&self) -> &'static str {
        match &self.stage {
            Stage::Pending => "pending",
            Stage::Waiting { .. } => "waiting",
            Stage::Approved { .. } => "approved",
            Stage::Running { .. } => "running",
            Stage::Ended { how, .. } => how.name(),
        }
    }
}

/// A reply, with everything that is needed to parse it again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Reply {
    pieces: Vec<Piece>,
    finish: Option<Finish>,
    /// Why it failed, if that is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    failure: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Piece {
    Text(String),
    /// A chunk that is not valid UTF-8 by itself.
    Bytes(Vec<u8>),
    Native(NativeCall),
    /// Something could not be read.
    Gap,
    /// An API tool call could not be read.
    Refused(String, #[serde(with = "crate::kind")] Kind),
}

impl Piece {
    /// Feeds it to the parser of the reply.
    fn feed(&self, parser: &mut Parser, watch: &mut Watch) {
        match self {
            Self::Text(text) => parser.feed(text.as_bytes(), watch),
            Self::Bytes(bytes) => parser.feed(bytes, watch),
            Self::Native(call) => parser.native_call(call, watch),
            Self::Gap => parser.gap(watch),
            Self::Refused(name, kind) => parser.native_refused(name, *kind, watch),
        }
    }
}

/// The part of a run that is saved.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct State {
    version: u32,
    dialect: String,
    messages: Vec<Value>,
    /// Completed rounds: replies that had calls, or were answered with observations.
    rounds: u32,
    reply: Option<Reply>,
    calls: Vec<Entry>,
    receipts: Vec<Receipt>,
    /// Digest of the last valid and permitted call, and how many times in a row it occurred.
    last: (String, u32),
    now: u64,
    /// Results of tasks, for the next message.
    later: Vec<ToolResult>,
    /// All tasks that calls continued as, open or ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tasks: Vec<Task>,
    /// Time of the first tick.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    began: Option<u64>,
    /// Bytes that the model wrote.
    #[serde(default)]
    bytes: u64,
    /// Whether anything was refused because the budget is used up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    exhausted: bool,
    /// Whether the budget ended a reply. Its remaining chunks are ignored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
    /// Whether the run has only steps, and no model.
    workflow: bool,
    outcome: Option<Outcome>,
}

/// A conversation of a model with its tools, as a state machine.
///
/// Take instructions from [`take`](Self::take) until there are none, carry them out in any order, and report the results to the run.
/// Every committed call gets exactly one result, whatever the order of events. An input that comes too late is an error and changes
/// nothing.
///
/// Memory grows with the conversation. An instruction costs time linear in its size; a pass over the calls of a round is linear in
/// their number.
///
/// ```
/// use toolglot::{DialectSet, Finish};
/// use toolglot_agent::{Agent, Outcome, Run, Waits};
/// use toolglot_tools::Inventory;
///
/// let agent = Agent::new(&DialectSet::defaults(), "hermes", Inventory::of([])?)?;
/// let mut run = agent.run("Hi");
/// while run.take().is_some() {}
/// assert_eq!(run.waits(), Waits::Model);
/// let mut run = Run::restore(&agent, &run.save())?;
/// run.model(b"Hello.")?;
/// run.model_ended(Finish::Stop)?;
/// assert_eq!(run.outcome(), Some(&Outcome::Answer { text: "Hello.".to_owned() }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Run {
    agent: Agent,
    state: State,
    /// The reply in progress.
    live: Option<(Parser, Watch)>,
    out: VecDeque<Do>,
}

impl Agent {
    /// Starts a run with a user's message.
    #[must_use]
    pub fn run(&self, user: &str) -> Run {
        self.run_with(vec![json!({"role": "user", "content": user})])
    }

    /// Starts a run that continues a conversation.
    #[must_use]
    pub fn run_with(&self, messages: Vec<Value>) -> Run {
        Run::new(self.clone(), messages)
    }

    /// Starts a workflow: calls that the host gives, run in order, without a model. Arguments may refer to the results of
    /// earlier steps: `{{1.result.path}}`. The first step that does not complete stops the rest.
    #[must_use]
    pub fn steps(&self, steps: &[Step]) -> Run {
        Run::workflow(self.clone(), steps)
    }
}

impl Run {
    fn empty(agent: Agent, messages: Vec<Value>, workflow: bool) -> Self {
        Self {
            state: State {
                version: VERSION,
                dialect: agent.dialect.clone(),
                messages,
                rounds: 0,
                reply: None,
                calls: vec![],
                receipts: vec![],
                last: (String::new(), 0),
                now: 0,
                later: vec![],
                tasks: vec![],
                began: None,
                bytes: 0,
                exhausted: false,
                cut: false,
                workflow,
                outcome: None,
            },
            agent,
            live: None,
            out: VecDeque::new(),
        }
    }

    fn new(agent: Agent, messages: Vec<Value>) -> Self {
        let mut run = Self::empty(agent, messages, false);
        run.ask();
        run
    }

    fn workflow(agent: Agent, steps: &[Step]) -> Self {
        let mut run = Self::empty(agent, vec![], true);
        for (index, step) in steps.iter().enumerate() {
            let arguments = Value::Object(step.arguments.clone()).to_string();
            run.stands(Entry {
                id: format!("step_{index}"),
                name: run.agent.called(&step.tool),
                arguments,
                dialect: String::new(),
                recovered: false,
                chain: Some(0),
                goes_on: false,
                stage: Stage::Pending,
            });
        }
        run.advance();
        run
    }

    /// Returns the next instruction; `None` until the next input.
    pub fn take(&mut self) -> Option<Do> {
        self.out.pop_front()
    }

    /// Returns what the run waits for once there are no instructions.
    #[must_use]
    pub fn waits(&self) -> Waits {
        let coming = self.state.reply.as_ref();
        match coming.is_some_and(|reply| reply.finish.is_none()) {
            _ if self.state.outcome.is_some() => Waits::Nothing,
            true => Waits::Model,
            false => Waits::Calls,
        }
    }

    /// Returns the conversation so far, without the agent's prompt about its tools.
    #[must_use]
    pub fn messages(&self) -> &[Value] {
        &self.state.messages
    }

    /// Returns the receipts of the calls that were started, in order.
    #[must_use]
    pub fn receipts(&self) -> &[Receipt] {
        &self.state.receipts
    }

    /// Returns how the run ended, if it has.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        self.state.outcome.as_ref()
    }

    fn event(&mut self, event: Event) {
        self.out.push_back(Do::Event(event));
    }

    fn find(&self, id: &str) -> Result<usize, RunError> {
        let mut calls = self.state.calls.iter();
        calls
            .position(|entry| entry.id == id)
            .ok_or_else(|| RunError::NoCall(id.to_owned()))
    }

    fn wrong(&self, at: usize) -> RunError {
        let entry = &self.state.calls[at];
        RunError::State {
            id: entry.id.clone(),
            state: entry.state(),
        }
    }

    /// Finds a running call by its id or by that of the task it waits for.
    fn running(&self, id: &str) -> Result<usize, RunError> {
        let mut calls = self.state.calls.iter();
        let waits = |entry: &Entry| matches!(&entry.stage, Stage::Running { receipt, .. } if receipt.runs() == id);
        let at = match calls.position(waits) {
            Some(at) => at,
            None => self.find(id)?,
        };
        match &self.state.calls[at].stage {
            Stage::Running { .. } => Ok(at),
            _ => Err(self.wrong(at)),
        }
    }
}

/// Returns how a call with a result of this status ended.
fn ended(status: Status) -> Ended {
    match status {
        Status::Success => Ended::Completed,
        Status::Denied => Ended::Denied,
        Status::Cancelled => Ended::Cancelled,
        Status::Timeout => Ended::TimedOut,
        Status::NotRun => Ended::NotRun,
        _ => Ended::Failed,
    }
}
