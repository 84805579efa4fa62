//! Tests of the server by clients that speak HTTP to it.

mod api;
mod events;
mod guard;
mod page;
mod restart;
mod runs;
mod support;
