//! Conformance vectors: reads them, and checks that the engine meets them under every way to chunk their input.
//!
//! A vector is one line of a JSON Lines file. It passes if, under every chunking, the joined event log is the same as for the
//! whole input, the leaf spans of that log partition the input, and text, reasoning, calls and kinds of issues are as the vector
//! expects. Each vector runs with its own dialect alone, and again with all dialects active unless it says `"alone_only": true`.

mod check;
mod compare;
mod cuts;
mod halves;
mod leaves;
mod load;
mod log;
mod number;

pub use check::{Failure, Mode, Summary, check, check_one, panic_text};
pub use cuts::{Cut, Cuts, each_cut, quick};
pub use halves::value;
pub use leaves::partition;
pub use load::{Expect, ExpectCall, LineError, Vector, json_error, read, read_file};
pub use log::{Entry, IssueEntry, Log, What};
pub use number::same_number;
