//! Instructions of a run to its host, and its events.

use serde::{Deserialize, Serialize};
use toolglot::json::Value;
use toolglot_tools::outcome::ToolResult;

/// An instruction. Serializes as `{"do": "ask", ..}`.
///
/// ```
/// # use toolglot::{DialectSet, Finish};
/// # use toolglot_agent::{Agent, Do, Policy};
/// # use toolglot_tools::{CallConfig, Inventory, Tool};
/// # let tools = Inventory::of([Tool::new("weather").description("Tells the weather").callable(true)])?;
/// # let agent = Agent::new(&DialectSet::defaults(), "hermes", tools)?.config(CallConfig::enabled()).policy(Policy::allow_all());
/// let mut run = agent.run("How is the weather?");
/// run.model(br#"<tool_call>{"name": "weather", "arguments": {}}</tool_call>"#)?;
/// run.model_ended(Finish::Stop)?;
/// let todo: Vec<Do> = std::iter::from_fn(|| run.take()).collect();
/// assert!(matches!(todo[0], Do::Ask(_)));
/// assert!(todo.iter().any(|one| matches!(one, Do::Start(call) if call.tool == "weather")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "do", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Do {
    /// Ask the model, and pass its reply to [`Run::model`](crate::Run::model).
    Ask(Ask),
    /// Ask a person, and pass the answer to [`Run::decision`](crate::Run::decision).
    Confirm(Confirm),
    /// Execute a call, and pass its result to [`Run::done`](crate::Run::done).
    Start(Start),
    /// Stop a call or task that was started. Its result is settled; later results are refused.
    Abort {
        /// The call's id, or the task's if it continues as one.
        call: String,
    },
    /// A restored run does not know the result of a call that was started. Find it ([`Run::done`](crate::Run::done)),
    /// or report that it is unknown ([`Run::lost`](crate::Run::lost)). Never start the call again. If it continues as a task, pass the
    /// result to [`Run::later`](crate::Run::later), under the task's id.
    Recall(Receipt),
    /// Something happened. For display and logs; needs no action.
    Event(Event),
    /// The run is over.
    Finished(Outcome),
}

/// What to ask a model.
///
/// ```
/// # use toolglot::{DialectSet, Finish};
/// # use toolglot_agent::{Agent, Do, Policy};
/// # use toolglot_tools::{CallConfig, Inventory, Tool};
/// # let tools = Inventory::of([Tool::new("weather").description("Tells the weather").callable(true)])?;
/// # let agent = Agent::new(&DialectSet::defaults(), "hermes", tools)?.config(CallConfig::enabled()).policy(Policy::allow_all());
/// let mut run = agent.run("How is the weather?");
/// let Some(Do::Ask(ask)) = run.take() else { panic!("a run begins with a question to its model") };
/// assert_eq!(ask.messages.last().unwrap()["content"], "How is the weather?");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Ask {
    /// The conversation, in the agent's message shape.
    pub messages: Vec<Value>,
    /// Definitions of the tools, if the interface takes them separately from the messages; otherwise empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Value>,
    /// Stop sequences.
    pub stop: Vec<String>,
    /// A grammar of the calls in GBNF, if the agent is configured to use one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grammar: Option<String>,
}

/// A call that needs a person's decision. What runs is byte for byte what is approved.
///
/// ```
/// # use toolglot::{DialectSet, Finish};
/// # use toolglot_agent::{Agent, Do, Policy};
/// # use toolglot_tools::{CallConfig, Inventory, Tool};
/// # let tools = Inventory::of([Tool::new("weather").description("Tells the weather").callable(true)])?;
/// # let agent = Agent::new(&DialectSet::defaults(), "hermes", tools)?.config(CallConfig::enabled()).policy(Policy::confirm_all());
/// use toolglot_agent::Decision;
///
/// let mut run = agent.run("How is the weather?");
/// run.model(br#"<tool_call>{"name": "weather", "arguments": {"city": "Leith"}}</tool_call>"#)?;
/// run.model_ended(Finish::Stop)?;
/// while let Some(one) = run.take() {
///     if let Do::Confirm(call) = one {
///         assert_eq!(call.arguments, r#"{"city":"Leith"}"#);
///         run.decision(&call.id, Decision::Approve)?;
///     }
/// }
/// assert_eq!(run.receipts().len(), 1); // it was started
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Confirm {
    /// The call's id.
    pub id: String,
    /// The tool's name, as written in the call.
    pub name: String,
    /// The tool's id.
    pub tool: String,
    /// JSON text of the arguments that the tool would get.
    pub arguments: String,
    /// Their digest; see [`Receipt::digest`].
    pub digest: String,
    /// Why a person is asked; may be empty.
    pub reason: String,
}

/// A person's decision on a call.
///
/// See the example of [`Confirm`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Decision {
    /// It may run as shown.
    Approve,
    /// It may run with these arguments, JSON text of an object. They are validated.
    Edit(String),
    /// It may not run. The model gets the reason; if it is empty, a default text in the agent's language.
    Deny(String),
}

/// A call to execute.
///
/// See the example of [`Do`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Start {
    /// The call's id.
    pub id: String,
    /// The tool's name, as written in the call.
    pub name: String,
    /// The tool's id.
    pub tool: String,
    /// JSON text of the arguments.
    pub arguments: String,
    /// When the call is aborted, in milliseconds of the host's clock ([`Run::tick`](crate::Run::tick)).
    pub deadline: u64,
}

/// The record of a call that was started.
///
/// ```
/// # use toolglot::{DialectSet, Finish};
/// # use toolglot_agent::{Agent, Do, Policy};
/// # use toolglot_tools::{CallConfig, Inventory, Tool};
/// # let tools = Inventory::of([Tool::new("weather").description("Tells the weather").callable(true)])?;
/// # let agent = Agent::new(&DialectSet::defaults(), "hermes", tools)?.config(CallConfig::enabled()).policy(Policy::allow_all());
/// let mut run = agent.run("How is the weather?");
/// run.model(br#"<tool_call>{"name": "weather", "arguments": {}}</tool_call>"#)?;
/// run.model_ended(Finish::Stop)?;
/// let receipt = &run.receipts()[0];
/// assert_eq!((receipt.tool.as_str(), receipt.digest.len()), ("weather", 64));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Receipt {
    /// The call's id.
    pub id: String,
    /// The tool's id.
    pub tool: String,
    /// SHA-256 of the arguments that the tool got, as 64 hexadecimal digits.
    pub digest: String,
    /// The id of the task that the call continues as, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

impl Receipt {
    /// The id of what is running: the task's if there is one, otherwise the call's.
    #[must_use]
    pub fn runs(&self) -> &str {
        self.task.as_deref().unwrap_or(&self.id)
    }
}

/// How a call ended.
///
/// ```
/// # use toolglot::{DialectSet, Finish};
/// # use toolglot_agent::{Agent, Do, Policy};
/// # use toolglot_tools::{CallConfig, Inventory, Tool};
/// # let tools = Inventory::of([Tool::new("weather").description("Tells the weather").callable(true)])?;
/// # let agent = Agent::new(&DialectSet::defaults(), "hermes", tools)?.config(CallConfig::enabled()).policy(Policy::allow_all());
/// use toolglot_agent::{Ended, Event};
///
/// let mut run = agent.run("How is the weather?");
/// run.model(br#"<tool_call>{"name": "wether", "arguments": {}}</tool_call>"#)?;
/// run.model_ended(Finish::Stop)?;
/// let ended = std::iter::from_fn(|| run.take()).find_map(|one| match one {
///     Do::Event(Event::Settled { state, .. }) => Some(state),
///     _ => None,
/// });
/// assert_eq!(ended, Some(Ended::Failed)); // there is no such tool
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ended {
    /// The tool returned a result.
    Completed,
    /// The tool failed, or the call was not valid.
    Failed,
    /// A rule or a person refused it.
    Denied,
    /// It exceeded its time limit.
    TimedOut,
    /// The run was cancelled.
    Cancelled,
    /// It never ran: an earlier step did not complete, it repeated the same call too often, there were too many rounds, or the budget
    /// was used up.
    NotRun,
}

toolglot::words! {
    Ended, "state of a call":
    Completed = "completed",
    Failed = "failed",
    Denied = "denied",
    TimedOut = "timed_out",
    Cancelled = "cancelled",
    NotRun = "not_run",
}

/// Something that happened. Serializes as `{"event": "text", ..}`.
///
/// A call is optionally `named`, then `written`, then `retracted` or `stands` (committed). A committed call is optionally `waiting`,
/// optionally `running` with `progress`, then `settled` exactly once.
///
/// ```
/// # use toolglot::{DialectSet, Finish};
/// # use toolglot_agent::{Agent, Do, Policy};
/// # use toolglot_tools::{CallConfig, Inventory, Tool};
/// # let tools = Inventory::of([Tool::new("weather").description("Tells the weather").callable(true)])?;
/// # let agent = Agent::new(&DialectSet::defaults(), "hermes", tools)?.config(CallConfig::enabled()).policy(Policy::allow_all());
/// use toolglot_agent::Event;
///
/// let mut run = agent.run("How is the weather?");
/// run.model(br#"I look. <tool_call>{"name": "weather", "arguments": {}}</tool_call>"#)?;
/// let mut shown = String::new();
/// while let Some(one) = run.take() {
///     match one {
///         Do::Event(Event::Text { text }) => shown += &text,
///         Do::Event(Event::Stands { name, .. }) => shown += &format!("[{name}]"),
///         _ => {}
///     }
/// }
/// assert_eq!(shown, "I look. [weather]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// Text of the reply.
    Text {
        /// A piece of it.
        text: String,
    },
    /// Reasoning of the reply.
    Reasoning {
        /// A piece of it.
        text: String,
    },
    /// Part of the reply is missing: it could not be read, a length limit truncated it, or the server gave up.
    Missing {
        /// Why.
        text: String,
    },
    /// The model has written the name of a call.
    Named {
        /// The name.
        name: String,
        /// Whether the call may still be retracted.
        provisional: bool,
    },
    /// The model has written a whole call, which may still be retracted with its block.
    Written {
        /// Its name.
        name: String,
    },
    /// A call that was written is retracted.
    Retracted {
        /// Its name.
        name: String,
    },
    /// A call is committed.
    Stands {
        /// Its id.
        id: String,
        /// Its name.
        name: String,
        /// JSON text of its arguments, as the model wrote them.
        arguments: String,
    },
    /// A call waits for a person.
    Waiting {
        /// Its id.
        id: String,
    },
    /// A call was started.
    Running {
        /// Its id.
        id: String,
    },
    /// A running call or task produced a piece of output.
    Progress {
        /// Its id.
        id: String,
        /// The piece.
        text: String,
    },
    /// A call has its result.
    Settled {
        /// Its id.
        id: String,
        /// How it ended.
        state: Ended,
        /// What the model is told.
        result: ToolResult,
    },
    /// A call continues as a task: the call's own result is the task's id; the task's result follows later.
    Begun {
        /// The call's id.
        id: String,
        /// The task's id.
        task: String,
    },
    /// A task has its result, which the model gets with the next message.
    Later {
        /// The task's id.
        id: String,
        /// How it ended.
        state: Ended,
        /// What the model is told.
        result: ToolResult,
    },
    /// A message was added to the conversation.
    Message {
        /// The message.
        message: Value,
    },
}

/// How a run ended. Serializes as `{"outcome": "answer", ..}`.
///
/// See the example of [`Run`](crate::Run).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// The model answered without a call.
    Answer {
        /// Its text.
        text: String,
    },
    /// There were too many rounds of calls. The last calls were not run.
    Iterations {
        /// What to tell the user.
        message: String,
    },
    /// The budget of the run is used up. Calls that had not started were not run.
    Budget {
        /// What to tell the user.
        message: String,
    },
    /// The model could not be asked, or its reply broke off without a call.
    ModelFailed {
        /// The text received so far, or the reason if there is none.
        text: String,
    },
    /// The host cancelled the run.
    Cancelled,
    /// All steps of a workflow are settled.
    Steps {
        /// Whether all of them completed.
        completed: bool,
    },
}
