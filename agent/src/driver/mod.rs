//! Drivers: what carries out the instructions of a [`Run`], on tokio.
//!
//! A [`Driver`] joins a run with a [`Model`], an [`Executor`] and an [`Approver`]. Everything that it begins is a stream or a
//! future that it polls itself, in the task of whoever awaits [`Driver::drive`]: nothing is spawned, so what is dropped is
//! cancelled, and nothing outlives the drive. Deadlines go by tokio's clock.
//!
//! ```
//! use toolglot::{DialectSet, Finish};
//! use toolglot_agent::driver::{Approver, Driver, Executors, Script, function};
//! use toolglot_agent::{Agent, Decision, Outcome, Policy};
//! use toolglot_tools::{CallConfig, Inventory, Tool};
//! # use toolglot_agent::Confirm;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let mut tool = Tool::new("weather").description("Tells the weather of a city");
//! tool.agent_callable = true;
//! let agent = Agent::new(&DialectSet::defaults(), "hermes", Inventory::of([tool])?)?
//!     .config(CallConfig::enabled())
//!     .policy(Policy::confirm_all());
//! let model = Script::new([r#"<tool_call>{"name": "weather", "arguments": {"city": "Leith"}}</tool_call>"#, "It rains."]);
//! let executors = Executors::new().with("weather", function(async |arguments| match arguments.get("city") {
//!     Some(_) => Ok("rain"),
//!     None => Err("which city?"),
//! }));
//! let approver = async |call: Confirm| (call.name == "weather").then_some(Decision::Approve);
//! let outcome = Driver::new(&model, &executors, &approver)
//!     .drive(&mut agent.run("How is the weather in Leith?"))
//!     .await?;
//! assert_eq!(outcome, Outcome::Answer { text: "It rains.".to_owned() });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "http")]
mod client;
mod delegate;
mod drive;
mod function;
#[cfg(feature = "http")]
mod http;
mod inside;
#[cfg(feature = "mcp")]
mod mcp;
mod pieces;
mod plugins;
mod process;
mod script;
#[cfg(feature = "tower")]
mod service;
#[cfg(feature = "tracing")]
mod spans;
mod template;
#[cfg(feature = "http")]
mod tls;
mod toolbox;
#[cfg(feature = "schemars")]
mod typed;
mod workflow;

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;

use toolglot_tools::outcome::Content;

use crate::response::Said;
use crate::run::Run;
use crate::step::{Ask, Confirm, Decision, Do, Receipt, Start};
use crate::wire::Told;

#[cfg(feature = "http")]
pub use client::{Api, ChatModel};
pub use delegate::Delegate;
pub use drive::{Driver, Stopped};
pub use function::{Function, Progress, function, task};
#[cfg(feature = "http")]
pub use http::{Hosts, Http, HttpSpec};
#[cfg(feature = "mcp")]
pub use mcp::{Mcp, McpError, McpLimits, McpTools};
pub use pieces::{Out, pieces};
pub use process::{Input, Output, Process, ProcessSpec};
pub use script::{Reply, Script, ScriptError};
#[cfg(feature = "tower")]
pub use service::{ServiceExecutor, ToolFailed, ToolService};
#[cfg(feature = "tracing")]
pub use spans::{Traced, agent_span};
pub use toolbox::{Toolbox, ToolboxError};
#[cfg(feature = "schemars")]
pub use typed::typed;
pub use workflow::Workflow;

/// A stream that its owner polls, and ends by dropping it.
pub type Stream<T> = Pin<Box<dyn futures_core::Stream<Item = T> + Send>>;

/// A future that its owner polls, and ends by dropping it.
pub type Task<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What a call gave, or in words for the model why it gave nothing.
pub type Gave = Result<Vec<Content>, String>;

/// A piece of what a call gives.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// Output that people see while it runs.
    Progress(String),
    /// It goes on as a task with this id, which is what the call gives: the run does not wait for it, and the model is told later
    /// what [`Done`](Self::Done) has. A stream that ends before that leaves the task to others, who tell
    /// [`Run::later`](crate::Run::later).
    Task(String),
    /// It is over. What comes after that is not read.
    Done(Gave),
}

/// Carries calls out.
///
/// A panic, of [`start`](Self::start) or of the stream, is a failed result; so is a stream that ends without one.
pub trait Executor: Send + Sync {
    /// Begins a call. The stream gives pieces and then [`Piece::Done`]. If it is dropped before that, the call was cancelled or
    /// its time is over: whatever it began must end.
    ///
    /// It is polled beside everything else, so it must not block.
    fn start(&self, call: Start) -> Stream<Piece>;

    /// Finds the result of a call that was started before a restart, or of the task that it [began](Receipt::task), without starting
    /// it again. None if nobody knows.
    fn recall(&self, receipt: &Receipt) -> Option<Stream<Piece>> {
        let _ = receipt;
        None
    }
}

/// Asks a model.
pub trait Model: Send + Sync {
    /// The reply, as it comes. The stream gives pieces and then [`Said::End`] or [`Said::Failed`]. If it is dropped before that,
    /// nobody wants the reply any more.
    fn ask(&self, ask: Ask) -> Stream<Said>;
}

/// Asks people.
pub trait Approver: Send + Sync {
    /// Asks whether a call may run. Several may be asked at once. None puts it off: the drive ends with
    /// [`Stopped::Waits`] when there is nothing else to do, and a later one asks again.
    fn confirm(&self, call: Confirm) -> Task<Option<Decision>>;
}

impl<F, T> Approver for F
where
    F: Fn(Confirm) -> T + Send + Sync,
    T: Future<Output = Option<Decision>> + Send + 'static,
{
    fn confirm(&self, call: Confirm) -> Task<Option<Decision>> {
        Box::pin(self(call))
    }
}

/// Watches a run: shows it, writes a log, saves it.
pub trait Watch: Send {
    /// The run says to do something; before it is done.
    fn does(&mut self, one: &Do) {
        let _ = one;
    }

    /// The run is told something; before what comes of it.
    fn told(&mut self, told: &Told) {
        let _ = told;
    }

    /// Nothing is left to take from the run, and nothing of what it said last is begun yet: what is saved here never starts a
    /// call twice.
    ///
    /// # Errors
    /// It cannot be saved. The drive ends, and what runs is stopped.
    fn save(&mut self, run: &Run) -> Result<(), String> {
        let _ = run;
        Ok(())
    }
}

/// Executors by the ids of their tools.
#[derive(Clone, Default)]
pub struct Executors {
    all: HashMap<String, Arc<dyn Executor>>,
}

impl std::fmt::Debug for Executors {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut ids: Vec<_> = self.all.keys().collect();
        ids.sort();
        to.debug_struct("Executors").field("all", &ids).finish()
    }
}

impl Executors {
    /// None.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With that of a tool; an earlier one of the same id is replaced.
    #[must_use]
    pub fn with(mut self, tool: &str, executor: impl Executor + 'static) -> Self {
        self.add(tool, Arc::new(executor));
        self
    }

    /// Adds that of a tool; an earlier one of the same id is replaced.
    pub fn add(&mut self, tool: &str, executor: Arc<dyn Executor>) {
        self.all.insert(tool.to_owned(), executor);
    }

    /// That of a tool.
    #[must_use]
    pub fn get(&self, tool: &str) -> Option<&dyn Executor> {
        self.all.get(tool).map(|one| &**one)
    }
}

impl Executor for Executors {
    fn start(&self, call: Start) -> Stream<Piece> {
        match self.get(&call.tool) {
            Some(one) => one.start(call),
            None => {
                let why = format!("nothing carries out {}", call.tool);
                pieces(async move |_| Piece::Done(Err(why)))
            }
        }
    }

    fn recall(&self, receipt: &Receipt) -> Option<Stream<Piece>> {
        self.get(&receipt.tool)?.recall(receipt)
    }
}
