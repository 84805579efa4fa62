//! What a run asks its host to do, and what it says of itself.

use serde::{Deserialize, Serialize};
use toolglot::json::Value;
use toolglot_tools::outcome::ToolResult;

/// An instruction. Serializes as `{"do": "ask", ..}`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "do", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Do {
    /// Ask the model, and feed its reply to [`Run::model`](crate::Run::model).
    Ask(Ask),
    /// Ask a person, and tell [`Run::decision`](crate::Run::decision).
    Confirm(Confirm),
    /// Carry a call out, and tell [`Run::done`](crate::Run::done).
    Start(Start),
    /// Stop a call or task that was started. Its result is settled; what still comes of it is refused.
    Abort {
        /// The call's id; that of the task, if it goes on as one.
        call: String,
    },
    /// A restored run does not know what became of a call that was started. Find its result ([`Run::done`](crate::Run::done)),
    /// or say that nobody knows it ([`Run::lost`](crate::Run::lost)). Never start it again. If it goes on as a task, its result goes to
    /// [`Run::later`](crate::Run::later), under the task's id.
    Recall(Receipt),
    /// Something happened; for people who watch.
    Event(Event),
    /// The run is over.
    Finished(Outcome),
}

/// What to ask a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Ask {
    /// The conversation, as the shape of the agent has it.
    pub messages: Vec<Value>,
    /// Definitions of the tools, where the model takes them apart from its messages; else none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Value>,
    /// What no reply should go on after.
    pub stop: Vec<String>,
    /// A grammar of the calls in GBNF, where the agent wants one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grammar: Option<String>,
}

/// A call that a person is to decide on. What runs is byte for byte what is approved.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Confirm {
    /// The call's id.
    pub id: String,
    /// The tool's name, as the call has it.
    pub name: String,
    /// The tool's id.
    pub tool: String,
    /// JSON text of the arguments that would be handed over.
    pub arguments: String,
    /// Their digest; see [`Receipt::digest`].
    pub digest: String,
    /// Why a person is asked.
    pub reason: String,
}

/// What a person says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It may run as it was shown.
    Approve,
    /// It may run with these arguments, JSON text of an object. They are validated.
    Edit(String),
    /// It may not run; the reason is told to the model. An empty one gives the words of the agent's language.
    Deny(String),
}

/// A call to carry out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Start {
    /// The call's id.
    pub id: String,
    /// The tool's name, as the call has it.
    pub name: String,
    /// The tool's id.
    pub tool: String,
    /// JSON text of the arguments.
    pub arguments: String,
    /// Milliseconds of the host's clock ([`Run::tick`](crate::Run::tick)) at which the call is aborted.
    pub deadline: u64,
}

/// What a call leaves behind that was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Receipt {
    /// The call's id.
    pub id: String,
    /// The tool's id.
    pub tool: String,
    /// SHA-256 of the arguments that were handed over, as 64 hexadecimal digits.
    pub digest: String,
    /// The id of the task that the call began, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

impl Receipt {
    /// The id by which what runs is spoken of: that of the task, else that of the call.
    #[must_use]
    pub fn runs(&self) -> &str {
        self.task.as_deref().unwrap_or(&self.id)
    }
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ended {
    /// The tool gave a result.
    Completed,
    /// The tool failed, or the call was not valid.
    Failed,
    /// A rule or a person refused it.
    Denied,
    /// It took too long.
    TimedOut,
    /// The run was cancelled.
    Cancelled,
    /// It never ran: a step before it failed, or it came again and again, or there were too many rounds.
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
/// A call is `named` (perhaps), `written`, then `retracted` or `stands`; then perhaps `waiting`, perhaps `running` with
/// `progress`, then exactly once `settled`.
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
    /// The model has written the name of a call.
    Named {
        /// The name.
        name: String,
        /// What follows can still take it back.
        provisional: bool,
    },
    /// The model has written a whole call, which may still be retracted with its block.
    Written {
        /// Its name.
        name: String,
    },
    /// A call that was written does not count.
    Retracted {
        /// Its name.
        name: String,
    },
    /// A call counts.
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
    /// A call or task that runs gave a piece of its output.
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
    /// A call goes on as a task: its own result is the task's id, and that of the task comes later.
    Begun {
        /// The call's id.
        id: String,
        /// The task's id.
        task: String,
    },
    /// A task has its result, which the model is told with the next message.
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
    /// The budget of the run is used up. Calls that were still to start were not run.
    Budget {
        /// What to tell the user.
        message: String,
    },
    /// The model could not be asked, or its reply broke off without a call.
    ModelFailed {
        /// The text that had come, or why where there is none.
        text: String,
    },
    /// The host cancelled the run.
    Cancelled,
    /// All steps of a workflow are settled.
    Steps {
        /// Whether each completed.
        completed: bool,
    },
}
