//! The `toolglot` command, for programs that carry it: the package for Python has a command of its own that runs it.
//!
//! Exit status: 0 success; 1 errors were found and `--strict` is set, or a check or an agent's run failed; 2 wrong usage or unreadable
//! input; 3 a run waits for a decision; 130 a run was interrupted.
//! Every failure is one clear line on standard error, never a backtrace.

#![deny(unsafe_code)]

#[cfg(feature = "agent")]
mod agent;
mod api;
mod args;
mod batch;
mod calls;
mod check;
mod detect;
mod dialects;
mod encode;
mod escape;
mod field;
mod groups;
mod help;
mod import;
mod input;
mod manual;
mod output;
mod parse;
mod pretty;
mod prompt;
mod record;
mod render;
mod replay;
mod result;
mod rewritten;
mod seed;
mod stop;
mod terminal;
mod tools;
mod validate;
mod values;

use std::ffi::OsString;
use std::io::{self, Write};
use std::panic;

use args::{Cli, Command};
use escape::Way;
use stop::{Stop, Verdict};

/// Runs the command with these arguments, the first of which is its name, and returns its exit status.
///
/// It reads and writes the standard streams and replaces the panic hook: it is meant to be all that a process does. Some failures,
/// wrong usage among them, end the process at once.
///
/// ```
/// assert_eq!(toolglot_cli::main(["toolglot", "dialects"].map(Into::into)), 0);
/// ```
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    panic::set_hook(Box::new(|info| {
        let text = info.to_string().replace('\n', " ");
        let _ = writeln!(
            io::stderr(),
            "toolglot: internal error: {text}; please report it together with the input"
        );
    }));
    // A usage error ends the process here, with status 2.
    let cli = help::parse(arguments);
    match panic::catch_unwind(|| run(&cli)) {
        Ok(Ok(verdict)) => verdict.status(),
        Ok(Err(stop)) => stop.report(),
        Err(_) => 2,
    }
}

fn run(cli: &Cli) -> Result<Verdict, Stop> {
    let color = cli.color.choice();
    match &cli.command {
        None => {
            help::command().print_help().map_err(Stop::output)?;
            Ok(Verdict::Clean)
        }
        Some(Command::Parse(args)) => parse::run(args, color),
        Some(Command::Batch(args)) => batch::run(args),
        Some(Command::Stats(args)) => batch::stats::run(args, color),
        Some(Command::Check(args)) => check::run(args, color),
        Some(Command::Detect(args)) => detect::run(args, color),
        Some(Command::Replay(args)) => replay::run(args, color),
        Some(Command::Encode(args)) => encode::encode(args),
        Some(Command::Transcode(args)) => encode::transcode(args),
        Some(Command::Escape(args)) => escape::run(args, Way::Escape),
        Some(Command::Unescape(args)) => escape::run(args, Way::Unescape),
        Some(Command::Prompt(args)) => prompt::run(args),
        Some(Command::Render(args)) => render::run(args),
        Some(Command::Result(args)) => result::run(args),
        Some(Command::Dialects(args)) => dialects::run(args, color),
        Some(Command::Validate(args)) => validate::run(args),
        Some(Command::Tools(args)) => tools::run(args),
        #[cfg(feature = "agent")]
        Some(Command::Run(args)) => agent::run::run(args),
        #[cfg(feature = "agent")]
        Some(Command::Call(args)) => agent::call::run(args),
        #[cfg(feature = "gateway")]
        Some(Command::Gateway(args)) => match toolglot_gateway::run(args) {
            Ok(()) => Ok(Verdict::Clean),
            Err(error) => Err(Stop::because(error)),
        },
        #[cfg(feature = "serve")]
        Some(Command::Serve(args)) => agent::serve::run(args),
        Some(Command::Completions(args)) => manual::completions(args),
        Some(Command::Man(args)) => manual::pages(args),
    }
}
