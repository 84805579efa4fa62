//! What a host may ask of a stream between two chunks.

use super::{Mode, Parser, Region, State};
use crate::event::Event;

impl Parser {
    /// Whether a thought is open: what comes next is reasoning until its closer, or a call that ends it. A call inside a
    /// thought (with [`Options::calls_in_reasoning`](crate::Options::calls_in_reasoning)) doesn't close it. Before the first
    /// byte it says what the dialects, [`Options::start`](crate::Options::start) and the prompt's tail have opened.
    #[must_use]
    pub fn in_reasoning(&self) -> bool {
        self.ask(|state| matches!(state.region, Region::Reasoning { .. }))
    }

    /// Whether a marker, a block or a protected region is under way: bytes wait that may be the beginning of a marker, or a call
    /// is being written. False says that whatever was fed has come out as text or reasoning, but for half a character, and that
    /// nothing else is open: a host may cut here.
    #[must_use]
    pub fn may_hold_marker(&self) -> bool {
        self.ask(|state| {
            // Of the prompt, too.
            let lead = state.lead.as_ref();
            let waits =
                lead.is_some_and(|lead| !lead.bytes.is_empty()) || state.io.from < state.pos;
            match state.mode {
                // A dialect may open at the first byte, before there is one.
                Mode::Flow | Mode::Opening(_) | Mode::Guess(_) => {
                    waits || matches!(state.region, Region::Span { .. })
                }
                Mode::Body(_) | Mode::Skip(_) => true,
            }
        })
    }

    /// Asks the state; if the prompt's tail was not read yet, that of a copy which has read it. Nothing is open after the
    /// end.
    fn ask(&self, question: impl FnOnce(&State) -> bool) -> bool {
        if self.state.finished {
            return false;
        }
        if self.state.begun {
            return question(&self.state);
        }
        let mut ahead = self.clone();
        ahead.begin(&mut |_: Event<'_>| ());
        question(&ahead.state)
    }
}
