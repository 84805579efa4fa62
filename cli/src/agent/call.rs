//! `toolglot call`: one call of one tool.

use std::path::Path;
use std::sync::Arc;

use toolglot::json::Map;
use toolglot::layer::{self, Bounds};
use toolglot_agent::driver::{Driver, Model, Stream, pieces};
use toolglot_agent::{Ask, Ended, Outcome, Policy, Said, Step};

use super::args::CallArgs;
use super::log::Log;
use super::people::People;
use super::plan::{Begin, Plan};
use super::watch::Show;
use super::{hidden, join, policy, runtime, signals, toolbox, unknown};
use crate::input::Input;
use crate::stop::{Stop, Verdict};

pub fn run(args: &CallArgs) -> Result<Verdict, Stop> {
    let runtime = runtime()?;
    let mut toolbox = toolbox(&args.tools, &runtime)?;
    let rules = policy(args.tools.policy.as_deref(), Policy::allow_all)?;
    let name = &args.name;
    let path = &args.tools.tools;
    let named = |id: &String| id == name;
    let mut known = toolbox.tools.iter();
    let tool = known.find(|tool| named(&tool.id) || tool.aliases.iter().any(named));
    let tool = tool.ok_or_else(|| Stop::because(unknown(path, &toolbox, name)))?;
    if let Some(why) = hidden(tool) {
        return Err(Stop::because(format!("{}: {name}: {why}", path.display())));
    }
    let step = Step::new(name.clone(), arguments(&args.arguments)?);
    let plan = Plan::new(
        &args.tools,
        &toolbox.tools,
        &rules,
        Begin::Steps(vec![step]),
    );
    let agent = plan.agent().map_err(Stop::because)?;
    let mut run = plan.run(&agent).map_err(Stop::because)?;

    let log = args.tools.log.as_ref();
    let log = log.map(|path| Log::new(path, None, &plan));
    let mut show = Show::new(args.tools.output, log.transpose()?);
    let people = People::new(&args.tools.yes_to, false);
    let nobody: Arc<dyn Model> = Arc::new(Nobody);
    join(&mut toolbox, &args.tools, &agent, &nobody, &people)?;
    let outcome = runtime.block_on(async {
        Driver::new(&*nobody, &toolbox.executors, &people)
            .watch(&mut show)
            .cancel(signals::interrupted())
            .drive(&mut run)
            .await
    });
    runtime.block_on(toolbox.settle());
    if let Some(stop) = show.stop.take() {
        return Err(stop);
    }
    let outcome = outcome.map_err(Stop::because)?;
    if let Some((Ended::Completed, result)) = show.last.take() {
        show.result(&result);
    }
    show.event(&outcome);
    if let Some(stop) = show.stop.take() {
        return Err(stop);
    }
    Ok(match outcome {
        Outcome::Steps { completed } => Verdict::of(!completed, true),
        Outcome::Cancelled => Verdict::Interrupted,
        _ => Verdict::Errors,
    })
}

/// What is looked at for repeated keys: what JSON readers take.
const BOUNDS: Bounds = Bounds {
    depth: 128,
    number: usize::MAX,
};

/// The model of calls, which have none.
struct Nobody;

impl Model for Nobody {
    fn ask(&self, _: Ask) -> Stream<Said> {
        let why = "the tool asks a model, which only `toolglot run` has";
        pieces(async move |_| Said::Failed(why.to_owned()))
    }
}

fn arguments(text: &str) -> Result<Map, Stop> {
    let (mut place, mut read) = ("the arguments".to_owned(), text.to_owned());
    if text == "-" {
        let mut input = Input::open(Path::new("-"))?;
        read = input.text()?;
        input.name().clone_into(&mut place);
    }
    let wrong =
        |why: &dyn std::fmt::Display| Stop::because(format!("{place}: no JSON object: {why}"));
    let map = serde_json::from_str(&read).map_err(|error| wrong(&error))?;
    // A map keeps one of two values of a key, and nobody would learn of the other.
    let twice = layer::read(&read, BOUNDS).map_or(vec![], |read| read.twice);
    match twice.first() {
        Some(key) => Err(wrong(&format!("{key} occurs twice"))),
        None => Ok(map),
    }
}
