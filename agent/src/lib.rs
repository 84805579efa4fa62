//! Agents on top of `toolglot`: executes the calls that a model writes.
//!
//! A [`Run`] is one conversation of a model with its tools. It is a state machine without I/O, clock or threads: a host passes in
//! what happens (bytes of the model, people's decisions, tool results, the time) and carries out its instructions ([`Do`]).
//! The same core serves blocking programs, async runtimes and tests, and a run can be [saved](Run::save) at any point.
//!
//! ```
//! use toolglot::{DialectSet, Finish};
//! use toolglot_agent::{Agent, Do, Outcome, Policy};
//! use toolglot_tools::outcome::ToolResult;
//! use toolglot_tools::{CallConfig, Inventory, Tool};
//!
//! let mut tool = Tool::new("weather").description("Tells the weather of a city");
//! tool.agent_callable = true;
//! let agent = Agent::new(&DialectSet::defaults(), "hermes", Inventory::of([tool])?)?
//!     .config(CallConfig::enabled())
//!     .policy(Policy::allow_all());
//! let mut run = agent.run("How is the weather in Leith?");
//! let mut replies = [r#"<tool_call>{"name": "weather", "arguments": {"city": "Leith"}}</tool_call>"#, "It rains."].into_iter();
//! let outcome = loop {
//!     match run.take().expect("a run that is not finished waits for its host") {
//!         Do::Ask(_) => {
//!             run.model(replies.next().unwrap().as_bytes())?;
//!             run.model_ended(Finish::Stop)?;
//!         }
//!         Do::Start(call) => run.done(ToolResult::json(&call.id, &call.name, "rain".into()))?,
//!         Do::Confirm(_) | Do::Abort { .. } | Do::Recall(_) | Do::Event(_) => {}
//!         Do::Finished(outcome) => break outcome,
//!         _ => {}
//!     }
//! };
//! assert_eq!(outcome, Outcome::Answer { text: "It rains.".to_owned() });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(unsafe_code, missing_docs)]

mod agent;
mod digest;
#[cfg(feature = "tokio")]
pub mod driver;
mod kind;
mod policy;
mod record;
mod reference;
mod response;
mod run;
mod step;
mod watch;
mod wire;

pub use agent::{Agent, AgentError, Budget, Recovered};
pub use policy::{Argument, Policy, PolicyError, Rule, Verdict};
pub use record::{CallState, Record, Records};
pub use response::{Response, Said};
pub use run::{Run, RunError, Spent, Step, Waits};
pub use step::{Ask, Confirm, Decision, Do, Ended, Event, Outcome, Receipt, Start};
pub use wire::{FormError, Told};

#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../docs/AGENT.md")]
    mod agent {}
}
