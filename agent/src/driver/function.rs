//! Host functions as executors.

use std::sync::Arc;

use toolglot::json::{Map, Value};
use toolglot_tools::outcome::Content;

use super::{Executor, Gave, Out, Piece, Stream, ToolFailed, pieces};
use crate::step::Start;

/// A host function as an executor.
///
/// See the example of [`function`].
#[derive(Clone)]
pub struct Function {
    start: Arc<dyn Fn(Start) -> Stream<Piece> + Send + Sync>,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("Function")
    }
}

impl Executor for Function {
    fn start(&self, call: Start) -> Stream<Piece> {
        (self.start)(call)
    }
}

/// Reports the progress of a running call.
///
/// See the example of [`task`].
#[derive(Clone, Debug)]
pub struct Progress {
    out: Out<Piece>,
}

impl Progress {
    /// Reports a piece of output.
    pub async fn tell(&self, text: impl Into<String>) {
        self.out.send(Piece::Progress(text.into())).await;
    }

    /// Continues the call as a task: the model gets the task's id now, and the function's result with a later message.
    pub async fn goes_on_as(&self, task: impl Into<String>) {
        self.out.send(Piece::Task(task.into())).await;
    }
}

/// Returns an executor that passes the arguments to an async function. Its value is the result: a string as text, any other value as
/// JSON. An error is a failed result with its message, a panic one without.
///
/// The function is polled in the same task as the rest of the run: blocking code belongs in `tokio::task::spawn_blocking`.
///
/// ```
/// use toolglot_agent::driver::{Executors, function};
///
/// let executors = Executors::new().with("greet", function(async |given| match given.get("name") {
///     Some(name) => Ok(format!("Hello, {name}")),
///     None => Err("whom?"),
/// }));
/// assert!(executors.get("greet").is_some());
/// ```
pub fn function<V, E, F>(run: impl Fn(Map) -> F + Send + Sync + 'static) -> Function
where
    V: Into<Value>,
    E: std::fmt::Display,
    F: Future<Output = Result<V, E>> + Send + 'static,
{
    task(move |call, _| {
        // The run always passes an object.
        let arguments = serde_json::from_str(&call.arguments).unwrap_or_default();
        let value = run(arguments);
        async move {
            match value.await {
                Ok(value) => Ok(content(value.into())),
                Err(why) => Err(ToolFailed::new(why)),
            }
        }
    })
}

/// Like [`function`], for a function that gets the whole call, can report progress, and returns content of any kind.
///
/// ```
/// use toolglot_agent::driver::{Executors, task};
/// use toolglot_tools::outcome::Content;
///
/// let executors = Executors::new().with("count", task(async |call, progress| {
///     progress.tell("counting").await;
///     Ok(vec![Content::Text(call.arguments.len().to_string())])
/// }));
/// assert!(executors.get("count").is_some());
/// ```
pub fn task<F>(run: impl Fn(Start, Progress) -> F + Send + Sync + 'static) -> Function
where
    F: Future<Output = Gave> + Send + 'static,
{
    Function {
        start: Arc::new(move |call| {
            pieces(|out| {
                let gave = run(call, Progress { out });
                async move { Piece::Done(gave.await) }
            })
        }),
    }
}

/// Converts a value to the content of a result.
pub(super) fn content(value: Value) -> Vec<Content> {
    match value {
        Value::String(text) if text.is_empty() => vec![],
        Value::String(text) => vec![Content::Text(text)],
        other => vec![Content::Json(other)],
    }
}
