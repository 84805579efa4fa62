//! A closure that says when it has had enough.

use std::fmt;
use std::ops::ControlFlow;

use crate::event::{Event, Sink};

/// Hands events to a closure until it breaks. The closure gets nothing after that, whatever the parser still says, and the
/// parser [stops](Sink::stopped) as soon as it can.
///
/// What broke it off is in the host's hands: the rest of the chunk ([`Parser::feed_until`](crate::Parser::feed_until) says how much it has
/// taken), and the end, [`Finish::Cancelled`](crate::Finish::Cancelled). A host that wants to go on reading where it stopped
/// writes a [`Sink`] of its own, because events of bytes that were taken already are passed over here. Cost: that of the closure.
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
    /// Nothing yet.
    #[must_use]
    pub fn new(take: F) -> Self {
        Self {
            take,
            broken: false,
        }
    }
}

impl<F> Until<F> {
    /// Whether the closure has broken off.
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
