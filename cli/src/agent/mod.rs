//! `toolglot run` and `toolglot call`: runs of agents on the terminal.

pub mod args;
pub mod call;
pub mod log;
mod model;
mod people;
mod plan;
pub mod run;
#[cfg(feature = "serve")]
pub mod serve;
mod signals;
mod watch;

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};
use toolglot_agent::driver::{Executors, Model, Toolbox};
use toolglot_agent::{Agent, Policy};
use toolglot_tools::Tool;

use crate::input;
use crate::stop::Stop;
use crate::terminal;
use args::ToolArgs;
use people::People;

/// Prints a line on standard error. If it is closed, the exit status must suffice.
fn note(what: impl std::fmt::Display) {
    let what = what.to_string();
    let _ = writeln!(io::stderr(), "toolglot: {}", terminal::lines(&what));
}

/// One thread is enough: tools wait for things outside the process.
fn runtime() -> Result<Runtime, Stop> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Stop::because(format!("the runtime cannot be started: {error}")))
}

/// Reads the tools, including those of their servers; paths are relative to the file. A folder has plugins.
fn open(path: &Path, runtime: &Runtime) -> Result<Toolbox, Stop> {
    let origin = path.display().to_string();
    let read = match path.is_dir() {
        true => Toolbox::open(path, &Executors::new()),
        false => {
            let text = input::text(path)?;
            let folder = path.parent().unwrap_or(Path::new(""));
            Toolbox::read(&origin, &text, folder)
        }
    };
    let mut toolbox = read.map_err(Stop::because)?;
    let connected = runtime.block_on(async {
        // Processes that are being started must end with this one.
        let stopped = signals::interrupted();
        tokio::select! {
            biased;
            () = stopped => None,
            connected = toolbox.connect(&origin) => Some(connected),
        }
    });
    let connected = connected.ok_or(Stop::Interrupted)?;
    connected.map_err(Stop::because)?;
    Ok(toolbox)
}

/// Reads the tools of `run` and `call`.
fn toolbox(args: &ToolArgs, runtime: &Runtime) -> Result<Toolbox, Stop> {
    let path = &args.tools;
    let toolbox = open(path, runtime)?;
    for id in &args.yes_to {
        if !toolbox.tools.iter().any(|tool| tool.id == *id) {
            return Err(Stop::because(format!(
                "--yes-to: {}",
                unknown(path, &toolbox, id)
            )));
        }
    }
    Ok(toolbox)
}

/// Builds the tools that consist of others.
fn join(
    toolbox: &mut Toolbox,
    args: &ToolArgs,
    agent: &Agent,
    model: &Arc<dyn Model>,
    people: &People,
) -> Result<(), Stop> {
    let origin = args.tools.display().to_string();
    let joined = toolbox.join(&origin, agent, model, &(Arc::new(people.at_once()) as _));
    joined.map_err(Stop::because)
}

/// Why a tool is not declared.
fn hidden(tool: &Tool) -> Option<&'static str> {
    if !tool.agent_callable {
        return Some("agents may not call it (agentCallable)");
    }
    let told = tool.described();
    (!told).then_some("it is not offered: it has neither a description nor parameters")
}

/// Reports the tools that are not declared.
fn note_hidden(path: &Path, toolbox: &Toolbox) {
    for tool in &toolbox.tools {
        if let Some(why) = hidden(tool) {
            note(format!("{}: {}: {why}", path.display(), tool.id));
        }
    }
}

fn unknown(path: &Path, toolbox: &Toolbox, id: &str) -> String {
    let known: Vec<&str> = toolbox.tools.iter().map(|tool| tool.id.as_str()).collect();
    let (path, known) = (path.display(), known.join(", "));
    format!("{path}: there is no tool `{id}`; there are {known}")
}

/// Reads rules in TOML or JSON; without a file, the default.
fn policy(path: Option<&Path>, without: fn() -> Policy) -> Result<Policy, Stop> {
    let Some(path) = path else {
        return Ok(without());
    };
    let text = input::text(path)?;
    let read = match text.trim_start().starts_with('{') {
        true => Policy::from_json(&text).map_err(|error| error.to_string()),
        false => toml::from_str(&text).map_err(|error| error.to_string()),
    };
    read.map_err(|why| Stop::because(format!("{}: {}", path.display(), why.trim_end())))
}
