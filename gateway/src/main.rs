//! The gateway as a separate program, for containers and services. `toolglot gateway` runs the same.

use std::process::ExitCode;

use clap::Parser;

/// Run a proxy in front of a model server: calls in its text become API tool calls
#[derive(Parser)]
#[command(name = "toolglot-gateway", version)]
struct Cli {
    #[command(flatten)]
    args: toolglot_gateway::Args,
}

fn main() -> ExitCode {
    match toolglot_gateway::run(&Cli::parse().args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("toolglot-gateway: {error}");
            ExitCode::from(2)
        }
    }
}
