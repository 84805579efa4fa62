//! Spans of `tracing` with the names of OpenTelemetry's conventions for generative AI: `invoke_agent`, `chat`, `execute_tool`.
//!
//! Spans contain no content: only names, ids, amounts, and how the operation ended. A span is entered while its model or tool is polled,
//! so that nested spans are its children. It ends with its stream; if the stream is dropped before its end, the error type is `cancelled`.

use std::pin::Pin;
use std::task::{Context, Poll};

use tracing::Span;
use tracing::field::Empty;

use super::{Executor, Model, Piece, Stream};
use crate::response::Said;
use crate::step::{Ask, Receipt, Start};

/// Returns the span of a run: `driver.drive(&mut run).instrument(agent_span("helper"))`.
///
/// See the example of [`Traced`].
#[must_use]
pub fn agent_span(name: &str) -> Span {
    tracing::info_span!(
        "invoke_agent",
        otel.name = format!("invoke_agent {name}"),
        otel.kind = "internal",
        gen_ai.operation.name = "invoke_agent",
        gen_ai.agent.name = name,
    )
}

/// A model or an executor whose work is recorded in spans.
///
/// ```
/// # use toolglot::{DialectSet, Finish};
/// # use toolglot_agent::{Agent, Do, Policy};
/// # use toolglot_tools::{CallConfig, Inventory, Tool};
/// # let tools = Inventory::of([Tool::new("weather").description("Tells the weather").callable(true)])?;
/// # let agent = Agent::new(&DialectSet::defaults(), "hermes", tools)?.config(CallConfig::enabled()).policy(Policy::allow_all());
/// use toolglot_agent::driver::{Driver, Executors, Script, Traced, agent_span};
/// use tracing::Instrument;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let model = Traced::model(Script::new(["Hello."]), "openai", "m");
/// let executors = Traced::executor(Executors::new());
/// # let approver = async |_| None;
/// let mut run = agent.run("Hi");
/// Driver::new(&model, &executors, &approver).drive(&mut run).instrument(agent_span("helper")).await?;
/// assert!(run.outcome().is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Traced<T> {
    inner: T,
    provider: String,
    name: String,
}

impl<T> Traced<T> {
    /// Wraps a model. `provider` is `openai`, `anthropic`, or another name; `name` is the model's.
    #[must_use]
    pub fn model(inner: T, provider: &str, name: &str) -> Self {
        Self {
            inner,
            provider: provider.to_owned(),
            name: name.to_owned(),
        }
    }

    /// Wraps an executor.
    #[must_use]
    pub fn executor(inner: T) -> Self {
        Self::model(inner, "", "")
    }
}

impl<M: Model> Model for Traced<M> {
    fn ask(&self, ask: Ask) -> Stream<Said> {
        let span = tracing::info_span!(
            "chat",
            otel.name = format!("chat {}", self.name),
            otel.kind = "client",
            otel.status_code = Empty,
            gen_ai.operation.name = "chat",
            gen_ai.provider.name = self.provider,
            gen_ai.request.model = self.name,
            gen_ai.response.finish_reasons = Empty,
            "error.type" = Empty,
        );
        let stream = span.in_scope(|| self.inner.ask(ask));
        within(span, stream, |said, span| match said {
            Said::End(reason) => {
                span.record("gen_ai.response.finish_reasons", reason.name());
                true
            }
            Said::Failed(_) => {
                failed(span, "model_failed");
                true
            }
            Said::Text(_)
            | Said::Reasoning(_)
            | Said::Native(_)
            | Said::Gap(_)
            | Said::Refused { .. } => false,
        })
    }
}

impl<E: Executor> Traced<E> {
    fn tool(tool: &str, id: &str) -> Span {
        tracing::info_span!(
            "execute_tool",
            otel.name = format!("execute_tool {tool}"),
            otel.kind = "internal",
            otel.status_code = Empty,
            gen_ai.operation.name = "execute_tool",
            gen_ai.tool.name = tool,
            gen_ai.tool.call.id = id,
            gen_ai.tool.r#type = "function",
            "error.type" = Empty,
        )
    }

    fn traced(span: Span, stream: Stream<Piece>) -> Stream<Piece> {
        within(span, stream, |piece, span| match piece {
            Piece::Done(gave) => {
                if gave.is_err() {
                    failed(span, "tool_failed");
                }
                true
            }
            Piece::Progress(_) | Piece::Task(_) => false,
        })
    }
}

impl<E: Executor> Executor for Traced<E> {
    fn start(&self, call: Start) -> Stream<Piece> {
        let span = Self::tool(&call.tool, &call.id);
        let stream = span.in_scope(|| self.inner.start(call));
        Self::traced(span, stream)
    }

    fn recall(&self, receipt: &Receipt) -> Option<Stream<Piece>> {
        let span = Self::tool(&receipt.tool, &receipt.id);
        let stream = span.in_scope(|| self.inner.recall(receipt))?;
        Some(Self::traced(span, stream))
    }
}

fn failed(span: &Span, kind: &str) {
    span.record("error.type", kind);
    span.record("otel.status_code", "ERROR");
}

/// Wraps a stream so that it is polled and dropped within a span. `last` records what an item says about the end, and returns whether
/// it is the end.
fn within<T: Send + 'static>(
    span: Span,
    stream: Stream<T>,
    last: fn(&T, &Span) -> bool,
) -> Stream<T> {
    Box::pin(Within {
        span,
        stream: Some(stream),
        last,
        over: false,
    })
}

struct Within<T> {
    span: Span,
    stream: Option<Stream<T>>,
    last: fn(&T, &Span) -> bool,
    over: bool,
}

impl<T> futures_core::Stream for Within<T> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let this = self.get_mut();
        let Some(stream) = &mut this.stream else {
            return Poll::Ready(None);
        };
        let span = &this.span;
        let polled = span.in_scope(|| stream.as_mut().poll_next(context));
        match &polled {
            Poll::Ready(Some(item)) => this.over |= (this.last)(item, span),
            Poll::Ready(None) => this.over = true,
            Poll::Pending => {}
        }
        polled
    }
}

impl<T> Drop for Within<T> {
    fn drop(&mut self) {
        if !self.over {
            failed(&self.span, "cancelled");
        }
        let stream = self.stream.take();
        self.span.in_scope(|| drop(stream));
    }
}
