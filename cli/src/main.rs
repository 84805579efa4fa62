//! The program `toolglot`, which is all in the library.

#![deny(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(toolglot_cli::main(std::env::args_os()))
}
