//! The gateway as a program of its own, for containers and services. It is what `toolglot gateway` runs.

use std::process::ExitCode;

use clap::Parser;

/// Stands between clients and a model server: calls in its text become calls of its API
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
