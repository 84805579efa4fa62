//! Tests of the gateway between a fake server and clients that check every byte.

mod chat;
mod faces;
mod process;
mod prompt;
mod responses;
mod settings;
mod support;
mod upstreams;
mod vectors;
