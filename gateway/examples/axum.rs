//! The chat endpoint of an inference server, with axum: what the model writes becomes a chat completion. In a stream, each token becomes
//! the chunks that it amounts to, and nothing waits that need not wait.
//!
//! ```console
//! $ cargo run -p toolglot-gateway --example axum
//! $ curl -N localhost:8000/v1/chat/completions -d '{"stream": true, "messages": [], "tools": [{"type": "function",
//!     "function": {"name": "weather"}}]}'
//! ```

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use tokio::sync::mpsc;
use toolglot::json::{Value, json};
use toolglot::sink::openai::{Deltas, Head, Settings, completion};
use toolglot::{Collect, DialectSet, Finish, Options, Parser, Tools};

/// What all requests for a model share.
struct Model {
    name: String,
    set: DialectSet,
    requests: AtomicU64,
}

impl Model {
    fn new(name: &str, dialect: &str) -> Result<Self, toolglot::BuildError> {
        Ok(Self {
            name: name.to_owned(),
            set: DialectSet::builtin(dialect)?,
            requests: AtomicU64::new(0),
        })
    }

    /// Stands for your engine: gives the reply to a request token by token, until `take` wants no more. A token may end within a
    /// character.
    fn generate(&self, _request: &Value, mut take: impl FnMut(&[u8]) -> bool) -> Finish {
        let reply = "Let me look.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Leith\"}}\n</tool_call>";
        match reply.as_bytes().chunks(4).all(&mut take) {
            true => Finish::Stop,
            false => Finish::Cancelled,
        }
    }

    fn head(&self) -> Head {
        let request = self.requests.fetch_add(1, Ordering::Relaxed);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Head::default()
            .id(format!("chatcmpl-{request}"))
            .model(&self.name)
            .created(now.map_or(0, |now| now.as_secs()))
    }
}

async fn chat(State(model): State<Arc<Model>>, body: Bytes) -> Response {
    let (request, options) = match read(&body) {
        Ok(read) => read,
        Err(message) => {
            let error = json!({"error": {"message": message, "type": "invalid_request_error"}});
            return (StatusCode::BAD_REQUEST, error.to_string()).into_response();
        }
    };
    // The thread of a request waits where its client reads slowly, and ends when the client is gone.
    let (send, mut receive) = mpsc::channel::<Bytes>(64);
    let streamed = request["stream"] == true;
    tokio::task::spawn_blocking(move || match streamed {
        true => stream(&model, &request, options, &send),
        false => whole(&model, &request, options, &send),
    });
    let kind = match streamed {
        true => "text/event-stream",
        false => "application/json",
    };
    let chunks = futures_util::stream::poll_fn(move |context| receive.poll_recv(context));
    let chunks = futures_util::StreamExt::map(chunks, Ok::<_, Infallible>);
    ([(header::CONTENT_TYPE, kind)], Body::from_stream(chunks)).into_response()
}

/// The request, and what toolglot should know of it: the declared tools.
fn read(body: &[u8]) -> Result<(Value, Options), String> {
    let request: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let tools = match request.get("tools") {
        Some(tools) => Some(Tools::from_value(tools).map_err(|error| error.to_string())?),
        None => None,
    };
    Ok((request, Options::default().tools(tools.map(Arc::new))))
}

fn stream(model: &Model, request: &Value, options: Options, send: &mpsc::Sender<Bytes>) {
    let head = model.head();
    let mut deltas = Deltas::new(Settings::default(), |delta| {
        let line = format!("data: {}\n\n", delta.to_json(&head));
        // A client that is gone: `generate` notices it below.
        let _ = send.blocking_send(line.into());
    });
    let mut parser = Parser::new(&model.set, options);
    let finish = model.generate(request, |token| {
        parser.feed(token, &mut deltas);
        !send.is_closed()
    });
    parser.finish(finish, &mut deltas);
    deltas.finish(finish);
    let _ = send.blocking_send("data: [DONE]\n\n".into());
}

fn whole(model: &Model, request: &Value, options: Options, send: &mpsc::Sender<Bytes>) {
    let mut turn = Collect::new();
    let mut parser = Parser::new(&model.set, options);
    let finish = model.generate(request, |token| {
        parser.feed(token, &mut turn);
        !send.is_closed()
    });
    parser.finish(finish, &mut turn);
    let made = completion(&turn.turn(), &model.head(), &Settings::default(), finish);
    let _ = send.blocking_send(made.into());
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = Arc::new(Model::new("my-model", "hermes")?);
    let app = Router::new()
        .route("/v1/chat/completions", post(chat))
        .with_state(model);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, app).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    async fn answer(request: &Value) -> (StatusCode, String) {
        let model = Arc::new(Model::new("m", "hermes").unwrap());
        let response = chat(State(model), request.to_string().into()).await;
        let status = response.status();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn calls_arrive_as_tool_calls() {
        let tools = json!([{"type": "function", "function": {"name": "weather"}}]);
        let (status, body) = answer(&json!({"tools": tools})).await;
        let made: Value = serde_json::from_str(&body).unwrap();
        let choice = &made["choices"][0];
        assert_eq!(status, StatusCode::OK);
        assert_eq!(choice["finish_reason"], "tool_calls", "{body}");
        assert_eq!(choice["message"]["content"], "Let me look.\n", "{body}");
        let called = &choice["message"]["tool_calls"][0]["function"];
        assert_eq!(called["arguments"], r#"{"city": "Leith"}"#, "{body}");

        let (status, body) = answer(&json!({"tools": tools, "stream": true})).await;
        assert_eq!(status, StatusCode::OK);
        assert!(body.ends_with("data: [DONE]\n\n"), "{body}");
        let parts = [
            "\"content\":\"Let ",
            "\"name\":\"weather\"",
            "\"finish_reason\":\"tool_calls\"",
        ];
        let places = parts.map(|part| body.find(part).unwrap_or_else(|| panic!("{part}: {body}")));
        assert!(places.is_sorted(), "{body}");
    }

    #[tokio::test]
    async fn bad_requests_are_told() {
        let (status, body) = answer(&json!({"tools": 3})).await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
        assert!(body.contains("invalid_request_error"), "{body}");
    }
}
