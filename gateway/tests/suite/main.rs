//! The gateway between a server that the tests write and clients that look at every byte.

mod chat;
mod faces;
mod process;
mod prompt;
mod support;
mod vectors;
