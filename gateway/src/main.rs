//! The gateway as a separate program, for containers and services. `toolglot gateway` runs the same.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser};

/// Run a proxy in front of a model server: calls in its text become API tool calls
#[derive(Parser)]
#[command(name = "toolglot-gateway", version)]
struct Cli {
    #[command(flatten)]
    args: toolglot_gateway::Args,
    /// Write the manual page, and exit
    #[arg(long, exclusive = true)]
    man: bool,
}

fn main() -> ExitCode {
    let given = Cli::command().get_matches();
    let done = match given.get_flag("man") {
        true => manual().map_err(|error| format!("the manual page cannot be written: {error}")),
        false => {
            let cli = Cli::from_arg_matches(&given).unwrap_or_else(|error| error.exit());
            toolglot_gateway::run(&cli.args).map_err(|error| error.to_string())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("toolglot-gateway: {error}");
            ExitCode::from(2)
        }
    }
}

/// Writes the page that a package installs, from the definitions that parse the command line.
fn manual() -> io::Result<()> {
    let mut page = vec![];
    clap_mangen::Man::new(Cli::command()).render(&mut page)?;
    io::stdout().write_all(&page)
}
