//! Functions of the host as executors.

use std::sync::Arc;

use toolglot::json::{Map, Value};
use toolglot_tools::outcome::Content;

use super::{Executor, Gave, Out, Piece, Stream, pieces};
use crate::step::Start;

/// A function of the host.
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

/// Tells what a call that runs has done so far.
#[derive(Clone, Debug)]
pub struct Progress {
    out: Out<Piece>,
}

impl Progress {
    /// Tells a piece of output.
    pub async fn tell(&self, text: impl Into<String>) {
        self.out.send(Piece::Progress(text.into())).await;
    }

    /// The call goes on as a task: the model is told its id now, and what the function gives with a later message.
    pub async fn goes_on_as(&self, task: impl Into<String>) {
        self.out.send(Piece::Task(task.into())).await;
    }
}

/// An executor that gives the arguments to an async function and takes its value: a string as text, everything else as JSON. An
/// error is a failed result with its words, a panic one without.
///
/// The function is polled beside everything else of the run: what blocks belongs into `tokio::task::spawn_blocking`.
pub fn function<V, E, F>(run: impl Fn(Map) -> F + Send + Sync + 'static) -> Function
where
    V: Into<Value>,
    E: std::fmt::Display,
    F: Future<Output = Result<V, E>> + Send + 'static,
{
    task(move |call, _| {
        // The run gives an object always.
        let arguments = serde_json::from_str(&call.arguments).unwrap_or_default();
        let value = run(arguments);
        async move {
            match value.await {
                Ok(value) => Ok(content(value.into())),
                Err(why) => Err(why.to_string()),
            }
        }
    })
}

/// The same of a function that sees the whole call, tells its progress, and gives content of any kind.
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

/// A value as content of a result.
pub(super) fn content(value: Value) -> Vec<Content> {
    match value {
        Value::String(text) if text.is_empty() => vec![],
        Value::String(text) => vec![Content::Text(text)],
        other => vec![Content::Json(other)],
    }
}
