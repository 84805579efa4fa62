//! The C ABI of toolglot. `include/toolglot.h` is generated from these files; their comments are its manual.
//!
//! Bytes in, borrowed views out. Misuse of the interface is a status; a mistake of the model is an event. The only global state
//! is two numbers (the count of live streams, and the version) and the memory reserve; the only thread-local state is the
//! memory accounting of the current call.
//!
//! How the guarantees of the header are kept:
//! * [`guard`] runs the body of every exported function: no panic gets out, no null pointer in. A test reads the sources and
//!   rejects a function that does anything else.
//! * [`handle`] implements opaque types. An atomic word records who is inside, so that a second caller gets `TOOLGLOT_E_BUSY`
//!   and not a data race, and a handle whose call panicked or ran out of memory accepts no further one.
//! * [`memory`] is the allocator, and records failed allocations of a call; [`reserve`] serves those allocations.
//! * [`raw`], [`handle`], [`memory`] and [`reserve`] contain the unsafe code; the other files call them under one contract,
//!   which the header states: pointers point at what their types say, for as long as the call or the documented lifetime lasts.

#![allow(
    non_camel_case_types,
    reason = "the names of types are those of the header"
)]
#![allow(
    clippy::missing_safety_doc,
    reason = "the contract is one for all functions; the header states it"
)]
#![deny(missing_docs, unsafe_op_in_unsafe_fn)]

mod batch;
mod guard;
mod handle;
mod memory;
mod replay;
mod reserve;
mod seed;
#[cfg(feature = "test-panic")]
mod watch;

// In the order of the header.
pub mod library;

pub mod status;

pub mod raw;

pub mod event;

pub mod config;

pub mod template;

pub mod engine;

pub mod options;

pub mod stream;

pub mod buffer;

pub mod turn;

pub mod openai;

pub mod text;

pub mod tools;

pub mod agent;

pub mod issues;

#[cfg(feature = "test-panic")]
pub mod test_panic;
#[cfg(test)]
mod tests;

// The bound crate has the same name as this one.
use ::engine as tg;
