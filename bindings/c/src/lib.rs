//! The C ABI of toolglot. `include/toolglot.h` is made of these files, and their comments are its manual.
//!
//! The shape of it: bytes in, borrowed views out. Misuse of the interface is a status, a mistake of the model is an event.
//! Nothing here is global but two numbers (the count of live streams, and the version) and the reserve for want of memory;
//! nothing is per thread but whether the call under way has run out of it.
//!
//! How the promises of the header are kept:
//! * [`guard`] runs the body of every exported function: no panic gets out, no null pointer in. A test reads the sources
//!   and refuses a function that does anything else.
//! * [`handle`] is what an opaque type is made of. A word of atomics tells who is inside, so that a second caller gets
//!   `TOOLGLOT_E_BUSY` and not a data race, and a stream whose call panicked or ran out of memory takes no further one.
//! * [`memory`] is the allocator, and what a call knows of allocations that failed; [`reserve`] is what it takes then.
//! * [`raw`], [`handle`], [`memory`] and [`reserve`] hold the unsafe code; the other files call them under one contract, which the header states:
//!   pointers point at what their types say, for as long as the call or the documented lifetime lasts.

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

// The crate that this one binds has its name too.
use ::engine as tg;
