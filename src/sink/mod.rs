//! What can be made of events.
//!
//! | sink | gives |
//! |---|---|
//! | [`Collect`] | the whole turn, at the end |
//! | [`openai`] | `chat.completion.chunk` deltas, live, or one `chat.completion` |
//! | [`mask`] | the text with calls, and reasoning if you like, taken out |
//! | [`ready`] | each call at the byte that makes it complete |
//! | [`Until`] | events, until a closure has had enough |
//! | [`Gather`] | a call from its events, for a sink of your own |
//!
//! A closure `FnMut(Event<'_>)` is a sink too, and so is a pair of sinks.

mod collect;
mod gather;
mod hint;
mod ledger;
pub mod mask;
pub mod openai;
pub mod ready;
mod until;

pub use collect::Collect;
pub use gather::Gather;
pub use until::Until;
