//! Tests of the gateway between a fake server and clients that check every byte.

mod chat;
mod faces;
mod process;
mod prompt;
mod support;
mod vectors;
