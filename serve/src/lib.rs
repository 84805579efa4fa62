//! A local server for agents, with a page for the browser: it lists tools, executes calls, carries out runs and asks people.
//!
//! The agents, their tools and their rules are those of `toolglot-agent`. Runs and all their events are in one SQLite file, so they
//! survive a restart; a call that was running when the server ended is never started again. See `docs/SERVE.md`.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use std::path::Path;
//! use std::sync::Arc;
//!
//! use toolglot::DialectSet;
//! use toolglot_agent::driver::{Script, Toolbox};
//! use toolglot_serve::{AgentSetup, Options, Server, Setup};
//!
//! let text = r#"{"tools": [{"name": "ferries", "description": "Gives the ferries", "execute": {"value": ["12:00"]}}]}"#;
//! let mut setup = Setup::new(Toolbox::read("tools.json", text, Path::new("."))?);
//! let model = Arc::new(Script::new(["Good day."]));
//! setup.agents.push(AgentSetup::new("host", DialectSet::builtin("hermes")?, "hermes", model));
//! let server = Server::bind(setup, &Options::default()).await?;
//! println!("listening on {}", server.url());
//! server.serve(std::future::pending()).await;
//! # Ok(())
//! # }
//! ```

mod api;
mod app;
mod calls;
mod error;
mod events;
mod guard;
mod known;
mod live;
mod nobody;
mod page;
mod problem;
mod secrets;
mod server;
mod setup;
mod store;
mod wanted;

pub use error::ServeError;
pub use server::Server;
pub use setup::{AgentSetup, Keep, Options, Setup};
pub use store::StoreError;
