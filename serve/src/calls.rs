//! `POST /api/calls`: one call of one tool, without a model.

use std::sync::Arc;

use serde::Deserialize;
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;
use toolglot::json::{Map, Value, json};
use toolglot_agent::driver::{Approver, Driver, Model, Stopped, Task, Watch};
use toolglot_agent::{Confirm, Decision, Do, Event, Step};

use crate::app::App;
use crate::guard::hex;
use crate::nobody::{Nobody, Refuses};
use crate::problem::Problem;

/// A call that somebody asks for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    name: String,
    #[serde(default)]
    arguments: Map,
    /// The digest of a call that was shown to a person.
    approved: Option<String>,
}

/// Returns what an approval names: the tool and the arguments that it would get.
fn digest(call: &Confirm) -> String {
    let text = format!("{}\n{}", call.tool, call.arguments);
    hex(&Sha256::digest(text.as_bytes()))
}

/// Runs a call through the policy. If the client goes, the call is stopped.
pub async fn run(app: &App, asked: Call) -> Result<Value, Problem> {
    let name = &asked.name;
    if app.tools.get(name).is_none() {
        let why = format!("name: there is no tool {name}");
        return Err(Problem::new(404, "no_tool", why));
    }
    let step = Step::new(name.clone(), asked.arguments);
    let agent = app.setup.caller().map_err(Problem::internal)?;
    let mut run = agent.steps(&[step]);
    let model: Arc<dyn Model> = match app.setup.named(None) {
        Some(of) => Arc::clone(&of.model),
        None => Arc::new(Nobody),
    };
    let executors = {
        let config = app.setup.config.clone();
        app.setup
            .executors(&agent, &model, config, Arc::new(Refuses))
    };
    let executors = executors.map_err(Problem::internal)?;
    let (shown, question) = oneshot::channel();
    let asks = Approved {
        digest: asked.approved,
        shown: std::sync::Mutex::new(Some(shown)),
    };
    let mut last = Last(None);
    let driver = Driver::new(&Nobody, &executors, &asks).watch(&mut last);
    let driven = driver.drive(&mut run).await;
    drop(asks);
    match driven {
        Ok(_) => last
            .0
            .ok_or_else(|| Problem::internal("the call ended without a result")),
        Err(Stopped::Waits { .. }) => Err(match question.await {
            Ok(call) => needs(&call),
            Err(_) => {
                Problem::internal("the call continues as a task, which only runs can wait for")
            }
        }),
        Err(stopped) => Err(Problem::internal(stopped.to_string())),
    }
}

fn needs(call: &Confirm) -> Problem {
    let words = "the call needs confirmation; send it again with this digest as `approved`";
    Problem::new(409, "needs_confirmation", words)
        .with("digest", digest(call))
        .with("name", call.name.as_str())
        .with("arguments", call.arguments.as_str())
        .with("reason", call.reason.as_str())
}

/// Approves the call that was shown, and postpones any other.
struct Approved {
    digest: Option<String>,
    shown: std::sync::Mutex<Option<oneshot::Sender<Confirm>>>,
}

impl Approver for Approved {
    fn confirm(&self, call: Confirm) -> Task<Option<Decision>> {
        let own = digest(&call);
        if self.digest.as_ref() == Some(&own) {
            return Box::pin(async { Some(Decision::Approve) });
        }
        let shown = self.shown.lock().ok().and_then(|mut shown| shown.take());
        if let Some(shown) = shown {
            let _ = shown.send(call);
        }
        Box::pin(async { None })
    }
}

/// The state and result of the call.
struct Last(Option<Value>);

impl Watch for Last {
    fn does(&mut self, one: &Do) {
        if let Do::Event(Event::Settled { state, result, .. }) = one {
            self.0 = Some(json!({"state": state, "result": result}));
        }
    }
}
