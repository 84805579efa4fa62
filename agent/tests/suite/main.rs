//! Tests of runs, and of the drivers that carry them out. Each file says what it tests; some need features of the crate.

#[cfg(all(feature = "tower", feature = "tracing"))]
mod around;
#[cfg(feature = "tokio")]
mod common;
#[cfg(feature = "tokio")]
mod delegate;
#[cfg(feature = "tokio")]
mod driver;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "mcp")]
mod mcp;
mod orders;
#[cfg(all(feature = "tokio", unix))]
mod process;
#[cfg(feature = "tokio")]
mod promises;
mod responses;
#[cfg(feature = "tokio")]
mod toolbox;
#[cfg(feature = "schemars")]
mod typed;
mod vectors;
