//! An asynchronous stream of events, made from a stream of chunks.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::stream::{FusedStream, Stream};

use crate::engine::{Finish, Parser};
use crate::event::{Event, Sink};
use crate::owned::OwnedEvent;

/// The events of an output whose chunks come from a stream; see [`Parser::event_stream`].
///
/// See the example of [`Parser::event_stream`].
#[derive(Debug)]
pub struct EventStream<S, E> {
    parser: Parser,
    chunks: S,
    finish: Finish,
    waiting: VecDeque<OwnedEvent<Bytes>>,
    /// The error of the stream of chunks.
    error: Option<E>,
}

/// Only the stream of chunks is pinned.
impl<S: Unpin, E> Unpin for EventStream<S, E> {}

impl Parser {
    /// Returns the events of an output whose chunks come from a stream, each as soon as it is known. `finish` is the reason for
    /// which the output ends with the stream; [`finish_as`](EventStream::finish_as) can change it later.
    ///
    /// Text, reasoning, protected regions and raw bytes are slices of the chunk if they lie in it, without a copy, and keep the
    /// whole chunk alive. Bytes that were held back from an earlier chunk, and those that a block retains, are copied. The next
    /// chunk is polled for once every event of the last one was taken, so memory is bounded by the events of one chunk.
    /// Dropping the stream cancels it; no chunk is left half consumed.
    ///
    /// # Errors
    ///
    /// An error of the stream of chunks ends the output with [`Finish::Error`]: the last events come first, then the error,
    /// then the stream ends.
    ///
    /// ```
    /// use std::pin::{Pin, pin};
    /// use std::task::{Context, Poll, Waker};
    /// use bytes::Bytes;
    /// use futures_core::Stream;
    /// use toolglot::{DialectSet, Finish, Options, OwnedEvent, Parser};
    ///
    /// /// Stands for the body of a response.
    /// struct Body(Vec<&'static str>);
    ///
    /// impl Stream for Body {
    ///     type Item = Result<Bytes, std::io::Error>;
    ///
    ///     fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
    ///         Poll::Ready(self.0.pop().map(|chunk| Ok(Bytes::from(chunk))))
    ///     }
    /// }
    ///
    /// let body = Body(vec!["me=\"f\"></tool_call>", "Hi <tool_call na"]);
    /// let parser = Parser::new(&DialectSet::defaults(), Options::default());
    /// let mut events = pin!(parser.event_stream(body, Finish::Stop)); // one that is not `Unpin`: Box::pin(body)
    /// let mut context = Context::from_waker(Waker::noop()); // an executor's, as a rule: `while let Some(event) = events.next().await`
    /// let mut names = vec![];
    /// while let Poll::Ready(Some(event)) = events.as_mut().poll_next(&mut context) {
    ///     if let OwnedEvent::CallOpen { name, .. } = event? {
    ///         names.push(name);
    ///     }
    /// }
    /// assert_eq!(names, ["f"]);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn event_stream<S, E>(self, chunks: S, finish: Finish) -> EventStream<S, E>
    where
        S: Stream<Item = Result<Bytes, E>>,
    {
        EventStream {
            parser: self,
            chunks,
            finish,
            waiting: VecDeque::new(),
            error: None,
        }
    }
}

impl<S, E> EventStream<S, E> {
    /// The parser, for its state after the chunks so far.
    #[must_use]
    pub const fn parser(&self) -> &Parser {
        &self.parser
    }

    /// Sets the reason for which the output ends with the stream of chunks, for hosts that learn it on the way.
    pub fn finish_as(&mut self, reason: Finish) {
        self.finish = reason;
    }
}

impl<S, E> Stream for EventStream<S, E>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
{
    type Item = Result<OwnedEvent<Bytes>, E>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if let Some(event) = this.waiting.pop_front() {
                return Poll::Ready(Some(Ok(event)));
            }
            if this.parser.is_finished() {
                return Poll::Ready(this.error.take().map(Err));
            }
            let next = ready!(Pin::new(&mut this.chunks).poll_next(context));
            let mut keep = Keep {
                chunk: next.as_ref().and_then(|next| next.as_ref().ok()),
                waiting: &mut this.waiting,
            };
            match &next {
                Some(Ok(chunk)) => this.parser.feed(chunk, &mut keep),
                Some(Err(_)) => this.parser.finish(Finish::Error, &mut keep),
                None => this.parser.finish(this.finish, &mut keep),
            }
            this.error = next.and_then(Result::err);
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.waiting.len() + usize::from(self.error.is_some());
        (left, self.parser.is_finished().then_some(left))
    }
}

impl<S, E> FusedStream for EventStream<S, E>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
{
    fn is_terminated(&self) -> bool {
        self.size_hint() == (0, Some(0))
    }
}

/// Converts events; bytes that lie in the chunk become slices of it.
struct Keep<'c> {
    chunk: Option<&'c Bytes>,
    waiting: &'c mut VecDeque<OwnedEvent<Bytes>>,
}

impl Sink for Keep<'_> {
    fn event(&mut self, event: Event<'_>) {
        let own = |bytes: &[u8]| match self.chunk {
            Some(chunk) if lies_in(bytes, chunk) => chunk.slice_ref(bytes),
            _ => Bytes::copy_from_slice(bytes),
        };
        self.waiting.push_back(OwnedEvent::keep(event, own));
    }
}

/// Whether `bytes` is a part of `all` in memory, not only equal to one.
fn lies_in(bytes: &[u8], all: &[u8]) -> bool {
    let (part, all) = (bytes.as_ptr_range(), all.as_ptr_range());
    !bytes.is_empty() && all.start <= part.start && part.end <= all.end
}

#[cfg(test)]
mod tests;
