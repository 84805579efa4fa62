//! Executors as services of `tower`, and services as executors, so that its layers (limits, retries, buffers) can wrap tools.

use std::error::Error;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use toolglot_tools::outcome::Content;
use tower_service::Service;

use super::{Executor, Piece, Stream, Task, ToolFailed, pieces};
use crate::step::Start;

/// An executor as a service. The response is the content of the call's result; progress is omitted, and a task is awaited.
///
/// It is always ready. Dropping the future cancels the call. A panic of the executor is a panic of the future.
///
/// ```
/// use std::sync::Arc;
/// use tower::ServiceBuilder;
/// use toolglot_agent::driver::{Executors, ServiceExecutor, ToolService, function};
///
/// let greet = Arc::new(function(async |_| Ok::<_, String>("Hello")));
/// let one_at_a_time = ServiceBuilder::new().concurrency_limit(1).service(ToolService::new(greet));
/// let executors = Executors::new().with("greet", ServiceExecutor::new(one_at_a_time));
/// assert!(executors.get("greet").is_some());
/// ```
#[derive(Clone)]
pub struct ToolService {
    executor: Arc<dyn Executor>,
}

impl std::fmt::Debug for ToolService {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("ToolService")
    }
}

impl ToolService {
    /// Wraps an executor.
    #[must_use]
    pub fn new(executor: Arc<dyn Executor>) -> Self {
        Self { executor }
    }
}

impl Service<Start> for ToolService {
    type Response = Vec<Content>;
    type Error = ToolFailed;
    type Future = Task<Result<Vec<Content>, ToolFailed>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ToolFailed>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Start) -> Self::Future {
        let executor = self.executor.clone();
        Box::pin(async move {
            let mut stream = executor.start(call);
            loop {
                match poll_fn(|context| stream.as_mut().poll_next(context)).await {
                    Some(Piece::Progress(_) | Piece::Task(_)) => {}
                    Some(Piece::Done(gave)) => return gave,
                    None => {
                        let why = "the tool ended without a result";
                        return Err(why.into());
                    }
                }
            }
        })
    }
}

/// A service as an executor. Each call goes to a clone of it, once that is ready. An error of the service, as text, fails the call.
///
/// See the example of [`ToolService`].
pub struct ServiceExecutor<S> {
    service: Mutex<S>,
}

impl<S> std::fmt::Debug for ServiceExecutor<S> {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("ServiceExecutor")
    }
}

impl<S> ServiceExecutor<S> {
    /// Wraps a service. Its clones must share their limits, as those of `tower` do.
    #[must_use]
    pub fn new(service: S) -> Self {
        Self {
            service: Mutex::new(service),
        }
    }
}

impl<S> Executor for ServiceExecutor<S>
where
    S: Service<Start, Response = Vec<Content>> + Clone + Send + 'static,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    S::Future: Send,
{
    fn start(&self, call: Start) -> Stream<Piece> {
        // A panic while cloning leaves the original unchanged.
        let kept = self.service.lock().unwrap_or_else(PoisonError::into_inner);
        let mut service = kept.clone();
        drop(kept);
        pieces(async move |_| {
            // Errors become text at once, because they need not be `Send`.
            let ready = poll_fn(|context| service.poll_ready(context).map_err(words)).await;
            let gave = match ready {
                Ok(()) => service.call(call).await.map_err(words),
                Err(why) => Err(why),
            };
            Piece::Done(gave)
        })
    }
}

fn words(error: impl Into<Box<dyn Error + Send + Sync>>) -> ToolFailed {
    ToolFailed::new(error.into())
}
