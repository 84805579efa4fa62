//! The parts of the `toolglot` command that tests use too.
//!
//! [`vectors`] checks conformance vectors under every way to cut their input; [`sets`] resolves names to compiled
//! dialect sets; [`options`] reads parser options from JSON; [`chunks`] cuts an input; [`run`] drives one stream;
//! [`json`] writes turns and events; [`recording`] keeps a stream in a file. The command itself (arguments, files, threads, colours) lives beside `main.rs`.

#![deny(unsafe_code, missing_docs)]

pub mod base64;
pub mod chunks;
pub mod import;
pub mod json;
pub mod options;
pub mod recording;
pub mod run;
pub mod sets;
pub mod terminal;
pub mod vectors;
