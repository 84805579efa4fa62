//! The interface: tools, calls, runs and decisions.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use toolglot::json::{Map, Value, json};
use toolglot_agent::{Confirm, Decision};

use crate::app::App;
use crate::known::Known;
use crate::live::Refused;
use crate::problem::{Problem, method};
use crate::store::Entry;
use crate::wanted::Wanted;
use crate::{calls, events};

/// Limits of a request's body.
const BODY: usize = 1 << 20;
const BODY_TIME: Duration = Duration::from_secs(30);
/// Maximum number of runs in an answer.
const LISTED: usize = 100;

type Answer = Result<Response, Problem>;

/// Everything below `/api/`.
pub fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/api/tools", get(tools))
        .route("/api/calls", post(call))
        .route("/api/runs", get(list).post(begin))
        .route("/api/prompt", post(prompt))
        .route("/api/runs/{id}", get(one).delete(delete))
        .route("/api/runs/{id}/events", get(events::serve))
        .route("/api/runs/{id}/decisions", post(decide))
        .route("/api/runs/{id}/cancel", post(cancel))
        .route("/api", axum::routing::any(nothing))
        .route("/api/{*path}", axum::routing::any(nothing))
        .method_not_allowed_fallback(method)
        .with_state(app)
}

async fn nothing() -> Problem {
    Problem::new(404, "not_found", "there is nothing at this path")
}

/// Reads a body of JSON. Its type is required, because a page of another site can send any other without asking.
async fn body<T: DeserializeOwned>(request: Request) -> Result<T, Problem> {
    let (head, body) = request.into_parts();
    if !is_json(&head.headers) {
        return Err(Problem::new(
            415,
            "not_json",
            "the request needs a body, and Content-Type: application/json",
        ));
    }
    let bytes = tokio::time::timeout(BODY_TIME, whole(body)).await;
    let bytes = bytes.map_err(|_| Problem::new(408, "timeout", "the body took too long"))??;
    serde_json::from_slice(&bytes).map_err(|error| Problem::bad(format!("the body: {error}")))
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

async fn whole(body: Body) -> Result<Vec<u8>, Problem> {
    match Limited::new(body, BODY).collect().await {
        Ok(whole) => Ok(whole.to_bytes().into()),
        Err(error) if error.is::<LengthLimitError>() => Err(Problem::new(
            413,
            "too_large",
            format!("the body is larger than {BODY} bytes"),
        )),
        Err(error) => Err(Problem::bad(format!("the body: {error}"))),
    }
}

async fn tools(State(app): State<Arc<App>>) -> Answer {
    let listing = app.setup.listing().map_err(Problem::internal)?;
    Ok(Json(listing).into_response())
}

async fn call(State(app): State<Arc<App>>, request: Request) -> Answer {
    let asked = body::<calls::Call>(request).await?;
    Ok(Json(calls::run(&app, asked).await?).into_response())
}

async fn begin(State(app): State<Arc<App>>, request: Request) -> Answer {
    let asked = body::<Wanted>(request).await?;
    if asked.task.trim().is_empty() {
        return Err(Problem::bad("task: it is missing or empty"));
    }
    let id = app.begin(asked)?;
    Ok((StatusCode::CREATED, Json(json!({"id": id}))).into_response())
}

async fn prompt(State(app): State<Arc<App>>, request: Request) -> Answer {
    let asked = body::<Wanted>(request).await?;
    Ok(Json(app.prompt(&asked)?).into_response())
}

async fn delete(State(app): State<Arc<App>>, Known(run): Known) -> Answer {
    app.delete(&run)?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

#[derive(Deserialize)]
struct Page {
    before: Option<String>,
}

async fn list(State(app): State<Arc<App>>, page: Result<Query<Page>, QueryRejection>) -> Answer {
    let Query(page) = page.map_err(|error| Problem::bad(error.body_text()))?;
    let before = page.before.map(|id| app.run(&id)).transpose()?;
    let runs = app.store.list(before.as_ref(), LISTED)?;
    let runs: Vec<Value> = runs.iter().map(|run| shown(&app, run).into()).collect();
    Ok(Json(json!({"runs": runs})).into_response())
}

/// Returns what a list says of a run.
fn shown(app: &App, run: &Entry) -> Map {
    let mut out = Map::new();
    let mut put = |name: &str, value: Value| out.insert(name.to_owned(), value);
    put("id", run.id.as_str().into());
    put("task", run.task.as_str().into());
    let outcome = run.outcome.as_ref();
    let outcome = outcome.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let (state, reason) = match (&outcome, app.live(&run.id)) {
        (Some(_), _) => ("finished", None),
        (None, Some(live)) => live.state(),
        // It has ended since it was read.
        (None, None) => ("running", None),
    };
    put("state", state.into());
    put("started", run.started.into());
    put("agent", run.agent.as_str().into());
    put("dialect", run.dialect.as_str().into());
    if let Some(outcome) = outcome {
        put("outcome", outcome);
    }
    if let Some(reason) = reason {
        put("reason", reason.into());
    }
    out
}

async fn one(State(app): State<Arc<App>>, Known(run): Known) -> Answer {
    let mut out = shown(&app, &run);
    let mut messages = vec![json!({"role": "user", "content": run.task})];
    for line in app.store.messages(run.number)? {
        let line: Value = serde_json::from_str(&line).unwrap_or_default();
        messages.extend(line.get("message").cloned());
    }
    let waiting = app.live(&run.id).map(|live| live.waiting());
    let waiting = waiting.iter().flatten().map(|call| {
        json!({
            "call": call.id,
            "name": call.name,
            "arguments": call.arguments,
            "digest": call.digest,
            "reason": call.reason,
        })
    });
    out.insert("waiting".to_owned(), waiting.collect::<Vec<_>>().into());
    out.insert("messages".to_owned(), messages.into());
    out.insert("last".to_owned(), app.store.last(run.number)?.into());
    Ok(Json(out).into_response())
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Way {
    Approve,
    Deny,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Decide {
    call: String,
    digest: String,
    decision: Way,
    arguments: Option<Map>,
    #[serde(default)]
    reason: String,
}

impl Decide {
    fn decision(self, app: &App, asked: &Confirm) -> Result<Decision, String> {
        match (self.decision, self.arguments) {
            (Way::Deny, _) => Ok(Decision::Deny(self.reason)),
            (Way::Approve, None) => Ok(Decision::Approve),
            (Way::Approve, Some(arguments)) => {
                let text = Value::Object(arguments).to_string();
                Ok(Decision::Edit(app.checked(&asked.tool, &text)?))
            }
        }
    }
}

async fn decide(State(app): State<Arc<App>>, Known(run): Known, request: Request) -> Answer {
    let asked = body::<Decide>(request).await?;
    let edited = asked.arguments.clone().unwrap_or_default();
    let edited = Value::Object(edited).to_string();
    for (name, text) in [("reason", &asked.reason), ("arguments", &edited)] {
        app.open_text(name, text).map_err(Problem::bad)?;
    }
    let (call, digest) = (asked.call.clone(), asked.digest.clone());
    let decided = match app.live(&run.id) {
        Some(live) => live.decide(&call, &digest, |confirm| asked.decision(&app, confirm)),
        None => Err(Refused::NotWaiting),
    };
    match decided {
        Ok(()) => Ok(StatusCode::NO_CONTENT.into_response()),
        Err(Refused::NotWaiting) => Err(Problem::new(
            409,
            "not_waiting",
            format!("call: {call} does not wait for a decision"),
        )),
        Err(Refused::Digest) => Err(Problem::new(
            409,
            "digest_mismatch",
            format!("digest: it is not that of the arguments with which {call} waits"),
        )),
        Err(Refused::Arguments(why)) => Err(Problem::new(
            422,
            "invalid_arguments",
            format!("arguments: {why}"),
        )),
    }
}

async fn cancel(State(app): State<Arc<App>>, Known(run): Known) -> Answer {
    let live = app.live(&run.id).filter(|_| run.outcome.is_none());
    let Some(live) = live else {
        let why = format!("run {} is over", run.id);
        return Err(Problem::new(409, "finished", why));
    };
    if live.cancel()? {
        app.forget(&run.id);
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}
