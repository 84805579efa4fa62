//! What can be made of events.
//!
//! | sink | gives |
//! |---|---|
//! | [`Collect`] | the whole turn, at the end |
//! | [`openai`] | `chat.completion.chunk` deltas, live, or one `chat.completion` |
//! | [`mask`] | the text with calls, and reasoning if you like, taken out |
//! | [`ready`] | each call at the byte that makes it complete |
//! | [`Gather`] | a call from its events, for a sink of your own |
//!
//! A closure `FnMut(Event<'_>)` is a sink too.

mod collect;
mod gather;
mod hint;
mod ledger;
pub mod mask;
pub mod openai;
pub mod ready;

pub use collect::Collect;
pub use gather::Gather;
