//! The gateway between a server that the tests write and clients that look at every byte.

mod chat;
mod support;
mod vectors;
