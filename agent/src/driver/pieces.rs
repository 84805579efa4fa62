//! A stream made from a future: yields what the future sends, then what it returns.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::sync::mpsc;

use super::{Stream, Task};

/// Sends pieces before the last one.
///
/// See the example of [`pieces`].
#[derive(Clone, Debug)]
pub struct Out<T> {
    to: mpsc::Sender<T>,
}

impl<T> Out<T> {
    /// Sends a piece, or drops it if the queue is full.
    pub(super) fn offer(&self, piece: T) {
        let _ = self.to.try_send(piece);
    }

    /// Sends a piece; waits while the queue is full. Pieces after the end are dropped.
    pub async fn send(&self, piece: T) {
        let _ = self.to.send(piece).await;
    }
}

/// Returns a stream that yields what a future sends and, last, what it returns. The stream owns the future: dropping it cancels the
/// future.
///
/// ```
/// use toolglot_agent::Said;
/// use toolglot_agent::driver::{Model, Stream, pieces};
/// use toolglot_agent::Ask;
///
/// struct Parrot;
///
/// impl Model for Parrot {
///     fn ask(&self, ask: Ask) -> Stream<Said> {
///         pieces(async move |out| {
///             let last = ask.messages.last().and_then(|message| message["content"].as_str());
///             out.send(Said::Text(last.unwrap_or_default().into())).await;
///             Said::End(toolglot::Finish::Stop)
///         })
///     }
/// }
/// ```
pub fn pieces<T, F>(work: impl FnOnce(Out<T>) -> F) -> Stream<T>
where
    T: Send + Unpin + 'static,
    F: Future<Output = T> + Send + 'static,
{
    // A few pieces are queued, so that the future need not stop at each.
    let (to, from) = mpsc::channel(16);
    let work: Task<T> = Box::pin(work(Out { to }));
    Box::pin(Pieces {
        work: Some(work),
        from,
        last: None,
    })
}

struct Pieces<T> {
    work: Option<Task<T>>,
    from: mpsc::Receiver<T>,
    last: Option<T>,
}

impl<T: Unpin> futures_core::Stream for Pieces<T> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let this = self.get_mut();
        if let Some(work) = &mut this.work
            && let Poll::Ready(last) = work.as_mut().poll(context)
        {
            this.work = None;
            this.last = Some(last);
            // Clones of the sender may still exist.
            this.from.close();
        }
        match this.from.poll_recv(context) {
            Poll::Ready(Some(piece)) => Poll::Ready(Some(piece)),
            Poll::Ready(None) if this.work.is_none() => Poll::Ready(this.last.take()),
            // The future has dropped its sender and continues.
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }
}
