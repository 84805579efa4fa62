//! toolglot as one WebAssembly file. It exports the C interface, compiled from the same files as `bindings/c`, and a few
//! more functions that only JavaScript needs ([`host`]). `toolglot.js` is its only user.
//!
//! Why the C interface: it is complete and tested, its events are plain structs in linear memory that JavaScript reads
//! without a call, and it needs no glue generator. It is included as source, not as a dependency, because the C crate is
//! not a Rust library (that would cost it link-time optimization).
//!
//! The difference from C: a panic cannot be caught here. It traps, and the instance is lost; [`host`] keeps the message,
//! and `toolglot.js` refuses further calls.

#![allow(
    non_camel_case_types,
    reason = "the names of types are those of the header"
)]
#![allow(
    clippy::missing_safety_doc,
    reason = "the contract is one for all functions; the header states it"
)]
#![deny(missing_docs, unsafe_op_in_unsafe_fn)]

#[path = "../../c/src/batch.rs"]
mod batch;
#[path = "../../c/src/guard.rs"]
mod guard;
#[path = "../../c/src/handle.rs"]
mod handle;
mod memory;
#[path = "../../c/src/replay.rs"]
mod replay;

#[cfg(feature = "agent")]
#[path = "../../c/src/agent.rs"]
pub mod agent;
#[path = "../../c/src/buffer.rs"]
pub mod buffer;
#[path = "../../c/src/config.rs"]
pub mod config;
#[path = "../../c/src/engine.rs"]
pub mod engine;
#[path = "../../c/src/event.rs"]
pub mod event;
#[path = "../../c/src/issues.rs"]
pub mod issues;
#[path = "../../c/src/library.rs"]
pub mod library;
#[path = "../../c/src/options.rs"]
pub mod options;
#[path = "../../c/src/raw.rs"]
pub mod raw;
#[path = "../../c/src/status.rs"]
pub mod status;
#[path = "../../c/src/stream.rs"]
pub mod stream;
#[cfg(feature = "agent")]
#[path = "../../c/src/template.rs"]
pub mod template;
#[path = "../../c/src/text.rs"]
pub mod text;
#[cfg(feature = "agent")]
#[path = "../../c/src/tools.rs"]
pub mod tools;
#[path = "../../c/src/turn.rs"]
pub mod turn;

#[cfg(feature = "agent")]
pub mod derive;
pub mod host;
pub mod reader;
#[cfg(feature = "agent")]
pub mod seed;

// The C files use these names for the engine.
use ::engine as tg;
