//! The command `toolglot`, which wheels carry (feature `command`).

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command `toolglot`, and returns its exit status. It may end the process.
#[pyfunction]
#[pyo3(signature = (arguments: "list[str]"))]
pub fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    // It catches its own panics.
    py.detach(|| toolglot_cli::main(arguments))
}
