//! A closure that decides when it has enough.

use std::fmt;
use std::ops::ControlFlow;

use crate::event::{Event, Sink};

/// Passes events to a closure until it breaks. After that the closure gets no more events, and the parser
/// [stops](Sink::stopped) as soon as it can.
///
/// The host decides what follows: it may drop the rest of the chunk ([`Parser::feed_until`](crate::Parser::feed_until) returns
/// how much was consumed) and end with [`Finish::Cancelled`](crate::Finish::Cancelled). To continue reading where it stopped,
/// write a [`Sink`] instead, because here later events of bytes that were already consumed are skipped. Cost: that of the
/// closure.
///
/// ```
/// use std::ops::ControlFlow;
/// use toolglot::{DialectSet, Event, Finish, Options, Parser, sink::Until};
///
/// let mut name = None;
/// let mut first = Until::new(|event: Event<'_>| match event {
///     Event::CallOpen { name: found, .. } => {
///         name = Some(found.to_owned());
///         ControlFlow::Break(())
///     }
///     _ => ControlFlow::Continue(()),
/// });
/// let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
/// for chunk in ["Hi <tool_call name=\"f\">", "</tool_call>", " never read"] {
///     parser.feed_until(chunk.as_bytes(), &mut first);
///     if first.broken() {
///         parser.finish(Finish::Cancelled, &mut first);
///         break;
///     }
/// }
/// assert_eq!(name.as_deref(), Some("f"));
/// ```
pub struct Until<F> {
    take: F,
    broken: bool,
}

impl<F: FnMut(Event<'_>) -> ControlFlow<()>> Until<F> {
    /// A sink whose closure has not broken.
    #[must_use]
    pub fn new(take: F) -> Self {
        Self {
            take,
            broken: false,
        }
    }
}

impl<F> Until<F> {
    /// Whether the closure has broken.
    #[must_use]
    pub fn broken(&self) -> bool {
        self.broken
    }
}

impl<F: FnMut(Event<'_>) -> ControlFlow<()>> Sink for Until<F> {
    fn event(&mut self, event: Event<'_>) {
        self.broken = self.broken || (self.take)(event).is_break();
    }

    fn stopped(&self) -> bool {
        self.broken
    }
}

impl<F> fmt::Debug for Until<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Until");
        out.field("broken", &self.broken).finish_non_exhaustive()
    }
}
