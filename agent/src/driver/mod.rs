//! Drivers: carry out the instructions of a [`Run`], on tokio.
//!
//! A [`Driver`] joins a run with a [`Model`], an [`Executor`] and an [`Approver`]. Everything that it starts is a stream or a
//! future that it polls itself, in the task that awaits [`Driver::drive`]: the driver spawns nothing, so dropping cancels,
//! and no call outlives the drive. Deadlines use tokio's clock.
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
mod failure;
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
pub use failure::{SaveError, SetupError, ToolFailed};
pub use function::{Function, Progress, function, task};
#[cfg(feature = "http")]
pub use http::{Hosts, Http, HttpSpec};
#[cfg(feature = "mcp")]
pub use mcp::{Mcp, McpError, McpLimits, McpTools};
pub use pieces::{Out, pieces};
pub use process::{Input, Output, Process, ProcessSpec};
pub use script::{Reply, Script, ScriptError};
#[cfg(feature = "tower")]
pub use service::{ServiceExecutor, ToolService};
#[cfg(feature = "tracing")]
pub use spans::{Traced, agent_span};
pub use toolbox::{Toolbox, ToolboxError};
#[cfg(feature = "schemars")]
pub use typed::typed;
pub use workflow::Workflow;

/// A stream. Dropping it cancels its work.
pub type Stream<T> = Pin<Box<dyn futures_core::Stream<Item = T> + Send>>;

/// A future. Dropping it cancels its work.
pub type Task<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The content of a call's result, or why it failed.
pub type Gave = Result<Vec<Content>, ToolFailed>;

/// A piece of a call's output.
///
/// See the example of [`Executor`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Piece {
    /// Output while the call runs, for display.
    Progress(String),
    /// The call continues as a task with this id, which is its result: the run does not wait for the task, and the model gets the
    /// content of [`Done`](Self::Done) later. A stream that ends before that leaves the task to the outside, which must call
    /// [`Run::later`](crate::Run::later).
    Task(String),
    /// The result. Anything after it is ignored.
    Done(Gave),
}

/// Executes calls.
///
/// A panic, of [`start`](Self::start) or of the stream, is a failed result; so is a stream that ends without one.
///
/// ```
/// use toolglot_agent::Start;
/// use toolglot_agent::driver::{Executor, Executors, Piece, Stream, pieces};
/// use toolglot_tools::outcome::Content;
///
/// struct Echo;
///
/// impl Executor for Echo {
///     fn start(&self, call: Start) -> Stream<Piece> {
///         pieces(async move |out| {
///             out.send(Piece::Progress("repeating".to_owned())).await;
///             Piece::Done(Ok(vec![Content::Text(call.arguments)]))
///         })
///     }
/// }
/// assert!(Executors::new().with("echo", Echo).get("echo").is_some());
/// ```
pub trait Executor: Send + Sync {
    /// Starts a call. The stream yields pieces and then [`Piece::Done`]. If it is dropped before that, the call was cancelled or
    /// timed out: everything it started must end.
    ///
    /// It is polled in the same task as the rest of the run, so it must not block.
    fn start(&self, call: Start) -> Stream<Piece>;

    /// Finds the result of a call that was started before a restart, or of its [task](Receipt::task), without starting
    /// it again. Returns `None` if the result is unknown.
    fn recall(&self, receipt: &Receipt) -> Option<Stream<Piece>> {
        let _ = receipt;
        None
    }
}

/// Asks a model.
///
/// See the example of [`pieces()`].
pub trait Model: Send + Sync {
    /// Returns the reply, as it arrives. The stream yields pieces and then [`Said::End`] or [`Said::Failed`]. If it is dropped before
    /// that, the reply is no longer needed.
    fn ask(&self, ask: Ask) -> Stream<Said>;
}

/// Asks people.
///
/// ```
/// # use toolglot::{DialectSet, Finish};
/// # use toolglot_agent::{Agent, Do, Policy};
/// # use toolglot_tools::{CallConfig, Inventory, Tool};
/// # let tools = Inventory::of([Tool::new("weather").description("Tells the weather").callable(true)])?;
/// # let agent = Agent::new(&DialectSet::defaults(), "hermes", tools)?.config(CallConfig::enabled()).policy(Policy::confirm_all());
/// use toolglot_agent::driver::{Driver, Executors, Script, function};
/// use toolglot_agent::{Confirm, Decision, Outcome};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let careful = async |call: Confirm| match call.tool.as_str() {
///     "weather" => Some(Decision::Approve),
///     _ => Some(Decision::Deny("not today".to_owned())),
/// };
/// # let model = Script::new([r#"<tool_call>{"name": "weather", "arguments": {}}</tool_call>"#, "It rains."]);
/// # let executors = Executors::new().with("weather", function(async |_| Ok::<_, String>("rain")));
/// let outcome = Driver::new(&model, &executors, &careful).drive(&mut agent.run("How is the weather?")).await?;
/// assert_eq!(outcome, Outcome::Answer { text: "It rains.".to_owned() });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Approver: Send + Sync {
    /// Asks whether a call may run. Several questions may be open at once. `None` postpones the decision: the drive ends with
    /// [`Stopped::Waits`] when there is nothing else to do, and a later drive asks again.
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
///
/// ```
/// # use toolglot::{DialectSet, Finish};
/// # use toolglot_agent::{Agent, Do, Policy};
/// # use toolglot_tools::{CallConfig, Inventory, Tool};
/// # let tools = Inventory::of([Tool::new("weather").description("Tells the weather").callable(true)])?;
/// # let agent = Agent::new(&DialectSet::defaults(), "hermes", tools)?.config(CallConfig::enabled()).policy(Policy::allow_all());
/// use toolglot_agent::driver::{Driver, Executors, Script, Watch};
///
/// #[derive(Default)]
/// struct Log(Vec<String>);
///
/// impl Watch for Log {
///     fn does(&mut self, one: &Do) {
///         self.0.extend(serde_json::to_string(one));
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let mut log = Log::default();
/// # let (model, executors, approver) = (Script::new(["Hello."]), Executors::new(), async |_| None);
/// Driver::new(&model, &executors, &approver).watch(&mut log).drive(&mut agent.run("Hi")).await?;
/// assert!(log.0.iter().any(|line| line.contains(r#""do":"ask""#)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Watch: Send {
    /// Called with each instruction, before it is carried out.
    fn does(&mut self, one: &Do) {
        let _ = one;
    }

    /// Called with each input, before its effects.
    fn told(&mut self, told: &Told) {
        let _ = told;
    }

    /// Saves the run. Called when all instructions are taken and none of the latest is carried out yet: a run saved here never starts a
    /// call twice.
    ///
    /// # Errors
    /// The run cannot be saved. The drive ends, and running calls are stopped.
    fn save(&mut self, run: &Run) -> Result<(), SaveError> {
        let _ = run;
        Ok(())
    }
}

/// Executors by the ids of their tools.
///
/// ```
/// use toolglot_agent::driver::{Executors, function};
///
/// let executors = Executors::new().with("greet", function(async |_| Ok::<_, String>("Hello")));
/// assert!(executors.get("greet").is_some() && executors.get("wipe").is_none());
/// ```
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
    /// Creates an empty map.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool's executor, by value; replaces an earlier one of the same id.
    #[must_use]
    pub fn with(mut self, tool: &str, executor: impl Executor + 'static) -> Self {
        self.add(tool, Arc::new(executor));
        self
    }

    /// Adds a tool's executor; replaces an earlier one of the same id.
    pub fn add(&mut self, tool: &str, executor: Arc<dyn Executor>) {
        self.all.insert(tool.to_owned(), executor);
    }

    /// Returns a tool's executor.
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
                let why = format!("there is no executor for {}", call.tool);
                pieces(async move |_| Piece::Done(Err(why.into())))
            }
        }
    }

    fn recall(&self, receipt: &Receipt) -> Option<Stream<Piece>> {
        self.get(&receipt.tool)?.recall(receipt)
    }
}
