//! Recordings: one stream in a file, with everything that determines the result, and the result.
//!
//! A recording is a complete bug report. `toolglot parse --record` writes one, `toolglot replay` runs it again;
//! `docs/REPLAY.md` is the manual of the format. [`Recording`] reads and writes files, [`Ready`] runs them, [`Way`]
//! selects another chunking, [`minimise`] shrinks them.

mod entry;
mod file;
mod minimise;
mod project;
mod ready;
mod way;

pub use entry::{difference, entries};
pub use file::{Dialect, Recording};
pub use minimise::{Failure, Run, failure, minimise};
pub use ready::{Outcome, Ready};
pub use way::Way;
