//! Conformance vectors and recordings, and the code that runs them.
//!
//! [`vectors`] checks conformance vectors under every way to chunk their input; [`recording`] keeps a stream in a file and runs it
//! again. [`sets`] resolves names to compiled dialect sets, [`options`] reads parser options from JSON, [`chunks`] splits an input,
//! [`run`] drives one stream, [`json`] writes turns and events. The command, the test suite and the tests of the bindings use it.

#![deny(unsafe_code, missing_docs)]

pub mod base64;
pub mod chunks;
pub mod json;
pub mod options;
pub mod recording;
pub mod run;
pub mod sets;
pub mod vectors;
