//! What can be made of events.

mod collect;

pub use collect::Collect;
