//! Tests of the server by clients that speak HTTP to it.

mod api;
mod config;
mod discovery;
mod events;
mod guard;
mod keep;
mod page;
mod restart;
mod runs;
mod secrets;
mod support;
