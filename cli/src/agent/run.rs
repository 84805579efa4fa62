//! `toolglot run`: runs a model and executes its calls.

use std::path::Path;

use toolglot::json::{Value, json};
use toolglot_agent::driver::{Driver, Stopped};
use toolglot_agent::{Agent, Outcome, Policy, Run};

use super::args::RunArgs;
use super::log::Log;
use super::model::{Asked, model};
use super::people::People;
use super::plan::{Begin, Plan};
use super::watch::Show;
use super::{join, note, note_hidden, policy, runtime, signals, toolbox};
use crate::input::{self, Input};
use crate::stop::{Stop, Verdict};

/// How a drive ended.
enum End {
    Driven(Result<Outcome, Stopped>),
    /// It was interrupted; the run can continue.
    Interrupted,
}

pub fn run(args: &RunArgs) -> Result<Verdict, Stop> {
    let runtime = runtime()?;
    let mut toolbox = toolbox(&args.tools, &runtime)?;
    note_hidden(&args.tools.tools, &toolbox);
    let rules = policy(args.tools.policy.as_deref(), Policy::confirm_all)?;
    let key = args.key_env.as_deref();
    let asked = model(&args.model, &args.model_name, args.api, key)?;
    let said = args.text.as_deref().map(said).transpose()?;
    let begin = match (&said, &args.resume) {
        (_, Some(path)) => Begin::Saved(input::text(path)?),
        (Some(text), None) => Begin::Messages(vec![user(text)]),
        // clap requires one of the two.
        (None, None) => Begin::Messages(vec![]),
    };
    let mut plan = Plan::new(&args.tools, &toolbox.tools, &rules, begin).model(args)?;
    let agent = plan.agent().map_err(Stop::because)?;
    let mut run = start(&mut plan, &agent, args.resume.as_deref(), said)?;

    let save = args.save.as_ref().or(args.resume.as_ref());
    let log = args.tools.log.as_ref();
    let log = log.map(|path| Log::new(path, asked.key.clone(), &plan));
    let mut show =
        Show::new(args.tools.output, log.transpose()?).keeps(save.cloned(), asked.key.clone());
    let people = People::new(&args.tools.yes_to, save.is_some());
    join(&mut toolbox, &args.tools, &agent, &asked.model, &people)?;
    let end = runtime.block_on(async {
        let stopped = signals::interrupted();
        let driver = Driver::new(&*asked.model, &toolbox.executors, &people).watch(&mut show);
        if save.is_none() {
            return End::Driven(driver.cancel(stopped).drive(&mut run).await);
        }
        tokio::select! {
            biased;
            () = stopped => End::Interrupted,
            end = driver.drive(&mut run) => End::Driven(end),
        }
    });
    runtime.block_on(toolbox.settle());
    show.end_line();
    ended(end, &run, show, &asked, save.map(|path| &**path))
}

/// The user's message.
fn said(text: &str) -> Result<String, Stop> {
    let mut read = text.to_owned();
    if text == "-" {
        read = Input::open(Path::new("-"))?.text()?;
    }
    match read.trim().is_empty() {
        true => Err(Stop::because("the user's message TEXT is empty")),
        false => Ok(read),
    }
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// Makes the run. A saved run that is over starts again with its conversation and the new message.
fn start(
    plan: &mut Plan,
    agent: &Agent,
    resumed: Option<&Path>,
    said: Option<String>,
) -> Result<Run, Stop> {
    let run = plan.run(agent);
    let Some(path) = resumed else {
        return run.map_err(Stop::because);
    };
    let fail = |why: &str| Stop::because(format!("{}: {why}", path.display()));
    let run = run.map_err(|why| fail(&why))?;
    let mut messages = run.messages().to_vec();
    if let Some(Outcome::ModelFailed { .. }) = run.outcome() {
        // The part of a reply before the failure is requested again.
        messages.pop_if(|last| last.get("role").and_then(Value::as_str) == Some("assistant"));
    }
    match (run.outcome(), said) {
        (None, None) => return Ok(run),
        (None, Some(_)) => {
            return Err(fail(
                "the run is not over yet, so it takes no further message; omit TEXT",
            ));
        }
        (Some(Outcome::Answer { .. }), None) => {
            return Err(fail(
                "the model has answered; give the next message as TEXT",
            ));
        }
        (Some(_), Some(text)) => messages.push(user(&text)),
        (Some(_), None) => {}
    }
    plan.begin = Begin::Messages(messages);
    plan.run(agent).map_err(Stop::because)
}

/// Reports how it ended.
fn ended(
    end: End,
    run: &Run,
    mut show: Show,
    asked: &Asked,
    save: Option<&Path>,
) -> Result<Verdict, Stop> {
    if let Some(stop) = show.stop.take() {
        return Err(stop);
    }
    let file = save.map(|path| path.display().to_string());
    let file = file.unwrap_or_default();
    let verdict = match end {
        End::Driven(Ok(outcome)) => {
            show.event(&outcome);
            match outcome {
                Outcome::Answer { .. } => Verdict::Clean,
                Outcome::Cancelled => {
                    note("interrupted; running calls were stopped");
                    Verdict::Interrupted
                }
                Outcome::ModelFailed { text } => {
                    let why = show.failure.take().unwrap_or(text);
                    note(format!("the model {}: {why}", asked.name));
                    Verdict::Errors
                }
                Outcome::Iterations { message } | Outcome::Budget { message } => {
                    note(message);
                    Verdict::Errors
                }
                _ => Verdict::Errors,
            }
        }
        End::Driven(Err(Stopped::Waits { calls, tasks })) => {
            show.write(run).map_err(Stop::because)?;
            show.event(&json!({"outcome": "waits", "calls": calls, "tasks": tasks}));
            note(format!(
                "{}; --resume {file} goes on",
                Stopped::Waits { calls, tasks }
            ));
            Verdict::Waits
        }
        End::Driven(Err(other)) => return Err(Stop::because(other)),
        End::Interrupted => {
            show.write(run).map_err(Stop::because)?;
            show.event(&json!({"outcome": "interrupted"}));
            note(format!("interrupted; --resume {file} goes on"));
            Verdict::Interrupted
        }
    };
    match show.stop.take() {
        Some(stop) => Err(stop),
        None => Ok(verdict),
    }
}
