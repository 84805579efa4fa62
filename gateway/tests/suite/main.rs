//! Tests of the gateway between a fake server and clients that check every byte.

mod again;
mod calls;
mod chat;
mod ends;
mod faces;
mod faults;
mod forms;
mod limits;
mod native;
mod process;
mod prompt;
mod records;
mod replies;
mod responses;
mod secrets;
mod settings;
mod support;
mod upstreams;
mod vectors;
