//! `toolglot serve`: a local server for agents, with a page in the browser.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use clap::Args;
use tokio::runtime::Runtime;
use toolglot::models;
use toolglot_agent::Policy;
use toolglot_agent::driver::{Api, Toolbox};
use toolglot_serve::{AgentSetup, Options, Server, Setup};
use toolglot_testkit::sets::{Choice, Sets};
use toolglot_tools::prompt::Lang;

use super::args::{api, seconds};
use super::model::model;
use super::plan::single;
use super::{note, note_hidden, open, policy, signals};
use crate::groups::{MODEL, RUN, SERVER, TOOLS};
use crate::stop::{Stop, Verdict};
use crate::values::lang;

/// Seconds of a day.
const DAY: u64 = 24 * 60 * 60;

pub const EXAMPLES: &str = "\
Prints its address, with a token, when it is ready. Runs are kept in a file and continue when the server is started again.
docs/SERVE.md describes the interface for programs.

Examples:
  toolglot serve --open --model http://localhost:8000 --dialect hermes --tools tools.toml
  toolglot serve --model small=http://localhost:8000 --model large=http://localhost:8001 \\
    --tools tools.toml
  toolglot serve --model script:examples/agent/replies.txt --dialect hermes \\
    --tools examples/agent/tools.toml --policy examples/agent/policy.toml";

#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Address to listen on; port 0 picks a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0", help_heading = SERVER)]
    listen: String,
    /// Listen on an address that other machines can reach. Whoever has the token can execute the tools
    #[arg(long, help_heading = SERVER)]
    allow_remote: bool,
    /// Name of this server that requests may use, besides localhost and addresses; may be repeated
    #[arg(long = "host", value_name = "NAME", help_heading = SERVER)]
    hosts: Vec<String>,
    /// Open the page in the browser
    #[arg(long, help_heading = SERVER)]
    open: bool,
    /// A model, as for `run`; may be repeated. NAME is its name on the server, by which runs choose it [default: default]
    #[arg(long = "model", value_name = "[NAME=]URL|script:FILE", help_heading = MODEL)]
    models: Vec<String>,
    /// The protocol of the servers
    #[arg(long, value_parser = api(), default_value_t = Api::OpenAi, help_heading = MODEL)]
    api: Api,
    /// Environment variable with the servers' key [default: no key is sent]
    #[arg(long, value_name = "VARIABLE", help_heading = MODEL)]
    key_env: Option<String>,
    /// The dialect that the models write: an id or an alias [default: by the name of each model]
    #[arg(long, value_name = "ID", help_heading = MODEL)]
    dialect: Option<String>,
    /// Tools, each with `execute`, which defines how it is executed: TOML, JSON or YAML, or a folder of plugins
    #[arg(long, value_name = "TOOLS", help_heading = TOOLS)]
    tools: Option<PathBuf>,
    /// Which calls run, which are confirmed: TOML or JSON [default: all are confirmed]
    #[arg(long, value_name = "POLICY", help_heading = TOOLS)]
    policy: Option<PathBuf>,
    /// File that keeps the runs; `:memory:` keeps them only as long as the server runs
    #[arg(long, value_name = "FILE", default_value = "toolglot-runs.db", help_heading = RUN)]
    store: PathBuf,
    /// How many days runs are kept after their end; 0 keeps them for ever
    #[arg(long, value_name = "DAYS", default_value = "90", help_heading = RUN)]
    keep_days: u64,
    /// How many runs are kept; the oldest that are over are deleted. 0 sets no limit
    #[arg(long, value_name = "N", default_value = "10000", help_heading = RUN)]
    keep_runs: u64,
    /// How many MiB of runs are kept, in the same way; 0 sets no limit
    #[arg(long, value_name = "MIB", default_value = "1024", help_heading = RUN)]
    keep_mib: u64,
    /// How long a call may take, with the questions of calls within it
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "30", help_heading = TOOLS)]
    timeout: Duration,
    /// Maximum number of rounds of calls
    #[arg(long, value_name = "N", default_value = "5", help_heading = RUN)]
    max_rounds: u32,
    /// Folder to serve in place of the built-in page
    #[arg(long, value_name = "DIR", help_heading = SERVER)]
    page: Option<PathBuf>,
    /// Language of the prompt's own words
    #[arg(long, value_parser = lang(), default_value_t = Lang::En, help_heading = MODEL)]
    lang: Lang,
}

pub fn run(args: &ServeArgs) -> Result<Verdict, Stop> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Stop::because(format!("the runtime cannot be started: {error}")))?;
    let setup = setup(args, &runtime)?;
    let mut options = Options::default();
    options.listen.clone_from(&args.listen);
    options.remote = args.allow_remote;
    options.hosts.clone_from(&args.hosts);
    options.page.clone_from(&args.page);
    let limit = |n: u64| (n > 0).then_some(n);
    options.keep.time =
        limit(args.keep_days).map(|days| Duration::from_secs(days.saturating_mul(DAY)));
    options.keep.runs = limit(args.keep_runs);
    options.keep.bytes = limit(args.keep_mib).map(|mib| mib.saturating_mul(1 << 20));
    options.store = (args.store.as_os_str() != ":memory:").then(|| args.store.clone());
    runtime.block_on(async {
        // Before the address is printed: whoever reads it may send a signal.
        let end = signals::interrupted();
        let server = Server::bind(setup, &options).await;
        let server = server.map_err(Stop::because)?;
        if !server.address().ip().is_loopback() {
            note("warning: other machines can reach this address, without encryption; whoever has the token can execute the tools");
        }
        {
            let mut out = io::stdout();
            // The reader may be gone.
            let _ = writeln!(out, "listening on {}", server.url());
            let _ = out.flush();
        }
        let door = args.open.then(|| Door::new(&server.url())).transpose();
        match &door {
            Ok(door) => door.iter().for_each(|door| browse(door.0.clone())),
            Err(error) => note(format!("--open: {error}")),
        }
        server.serve(end).await;
        Ok(Verdict::Clean)
    })
}

fn setup(args: &ServeArgs, runtime: &Runtime) -> Result<Setup, Stop> {
    let toolbox = match &args.tools {
        Some(path) => {
            let toolbox = open(path, runtime)?;
            note_hidden(path, &toolbox);
            toolbox
        }
        None => {
            Toolbox::read("no tools", r#"{"tools": []}"#, Path::new("")).map_err(Stop::because)?
        }
    };
    let mut setup = Setup::new(toolbox);
    if let Some(path) = &args.tools {
        setup.origin = path.display().to_string();
    }
    setup.policy = policy(args.policy.as_deref(), Policy::confirm_all)?;
    setup.config.timeout = u64::try_from(args.timeout.as_millis()).unwrap_or(u64::MAX);
    setup.config.max_iterations = args.max_rounds;
    setup.lang = args.lang;
    for given in &args.models {
        let (name, address) = named(given);
        let asked = model(address, name, args.api, args.key_env.as_deref())?;
        let known = models::dialects(name).calls.first().copied();
        let dialect = args.dialect.as_deref().or(known).ok_or_else(|| {
            Stop::because(format!(
                "--model {name}: no dialect is known for a model of this name; give --dialect"
            ))
        })?;
        single(dialect)?;
        let set = Sets::new().get(&Choice::of(&[dialect]));
        let set = set.map_err(Stop::because)?;
        // It may be an alias.
        let own = set.ids().next().map(str::to_owned);
        let own = own.unwrap_or_else(|| dialect.to_owned());
        let mut agent = AgentSetup::new(name, set, &own, Arc::clone(&asked.model));
        agent.label = asked.name;
        setup.agents.push(agent);
        setup.secrets.extend(asked.key);
    }
    Ok(setup)
}

/// Splits `NAME=URL`. An address has its first `=` behind a `:`.
fn named(given: &str) -> (&str, &str) {
    match given.split_once('=') {
        Some((name, address)) if !name.contains(':') => (name, address),
        _ => ("default", given),
    }
}

/// A file that leads to the page. Only its owner can read the token in it, while other users of the machine can see the arguments of
/// the program that opens a browser. It is deleted at the end.
struct Door(PathBuf);

impl Door {
    fn new(url: &str) -> io::Result<Self> {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let folder = runtime.filter(|folder| folder.is_dir());
        let folder = folder.unwrap_or_else(std::env::temp_dir);
        let path = folder.join(format!("toolglot-{}.html", std::process::id()));
        let mut options = std::fs::OpenOptions::new();
        // A file or a link that somebody else has put there is an error.
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&path)?;
        let door = Self(path);
        write!(
            file,
            "<!doctype html><meta charset=\"utf-8\"><title>toolglot</title><meta http-equiv=\"refresh\" content=\"0; url={url}\">"
        )?;
        Ok(door)
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        // It is worth nothing without the server.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Opens a file in a browser. If that fails, the address was printed.
fn browse(page: PathBuf) {
    let (program, before): (_, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("cmd", &["/C", "start", ""]),
        _ => ("xdg-open", &[]),
    };
    let mut command = Command::new(program);
    command.args(before).arg(page).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    // Some browsers stay until they are closed.
    let opened = thread::Builder::new().spawn(move || match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => note(format!("--open: {program} failed: {status}")),
        Err(error) => note(format!("--open: {program}: {error}")),
    });
    if let Err(error) = opened {
        note(format!("--open: {error}"));
    }
}
