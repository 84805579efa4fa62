//! What can be made from events.
//!
//! | sink | gives |
//! |---|---|
//! | [`Collect`] | the whole turn, at the end |
//! | [`openai`] | `chat.completion.chunk` deltas, live, or one `chat.completion` |
//! | [`mask`] | the text with calls, and optionally reasoning, removed |
//! | [`ready`] | each call at the byte that completes it |
//! | [`Until`] | events, until a closure has enough |
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
