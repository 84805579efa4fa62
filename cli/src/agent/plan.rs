//! Everything that defines a run except its model and its executors. A replayed log uses the same, so the run is the same.

use serde::{Deserialize, Serialize};
use toolglot::DialectSet;
use toolglot::json::{Value, json};
use toolglot_agent::driver::Api;
use toolglot_agent::{Agent, Policy, Run, Step};
use toolglot_testkit::sets::{Choice, Sets};
use toolglot_tools::outcome::Shape;
use toolglot_tools::{CallConfig, Tool, read};

use super::args::{RunArgs, ToolArgs};
use crate::input;
use crate::stop::Stop;

/// The definition of a run: `run`, the first line of a log.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The input of [`Agent::from_json`]. It has the definitions of tools, but nothing about how they are executed, which may contain
    /// secrets.
    agent: Value,
    files: Vec<DialectFile>,
    switches: Vec<(String, String)>,
    pub begin: Begin,
}

#[derive(Serialize, Deserialize)]
struct DialectFile {
    file: String,
    toml: String,
}

/// How a run begins.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Begin {
    Messages(Vec<Value>),
    Saved(String),
    Steps(Vec<Step>),
}

impl Plan {
    /// A plan of given calls; the dialect does not matter.
    pub fn new(args: &ToolArgs, tools: &[Tool], policy: &Policy, begin: Begin) -> Self {
        let mut config = CallConfig::enabled();
        config.timeout = u64::try_from(args.timeout.as_millis()).unwrap_or(u64::MAX);
        let callable = tools.iter().filter(|tool| tool.agent_callable);
        let callable: Vec<&str> = callable.map(|tool| tool.id.as_str()).collect();
        let agent = json!({
            "dialect": config.protocol,
            "tools": read::to_manifest(tools),
            "callable": callable,
            "policy": policy,
            "config": config,
        });
        Self {
            agent,
            files: vec![],
            switches: vec![],
            begin,
        }
    }

    /// With a model that writes a dialect.
    pub fn model(mut self, args: &RunArgs) -> Result<Self, Stop> {
        let id = args.dialect.dialect.as_str();
        single(id)?;
        for path in &args.dialect.files {
            self.files.push(DialectFile {
                file: path.display().to_string(),
                toml: input::text(path)?,
            });
        }
        self.switches.clone_from(&args.dialect.switches);
        self.agent["dialect"] = id.into();
        // It may be an alias.
        let set = self.set().map_err(Stop::because)?;
        let own = set.ids().next();
        self.agent["dialect"] = own.unwrap_or(id).into();
        self.agent["config"]["maxIterations"] = args.max_rounds.into();
        self.agent["lang"] = args.lang.name().into();
        if args.native {
            let shape = match args.api {
                Api::Anthropic => Shape::Anthropic,
                _ => Shape::OpenAi,
            };
            self.agent["shape"] = shape.name().into();
        }
        Ok(self)
    }

    fn set(&self) -> Result<DialectSet, String> {
        let mut sets = Sets::new();
        for one in &self.files {
            let added = sets.add(&one.file, &one.toml);
            added.map_err(|error| error.to_string())?;
        }
        let choice = Choice {
            switches: self.switches.clone(),
            ..Choice::of(&[self.agent["dialect"].as_str().unwrap_or_default()])
        };
        sets.get(&choice).map_err(|error| error.to_string())
    }

    /// The agent.
    pub fn agent(&self) -> Result<Agent, String> {
        let agent = Agent::from_json(&self.set()?, &self.agent.to_string());
        agent.map_err(|error| error.to_string())
    }

    /// The run.
    pub fn run(&self, agent: &Agent) -> Result<Run, String> {
        Ok(match &self.begin {
            Begin::Messages(messages) => agent.run_with(messages.clone()),
            Begin::Steps(steps) => agent.steps(steps),
            Begin::Saved(text) => Run::restore(agent, text).map_err(|error| error.to_string())?,
        })
    }
}

/// Refuses the names of several dialects.
pub fn single(id: &str) -> Result<(), Stop> {
    match id {
        "all" | "any" | "default" => {
            Err(Stop::because(format!("`{id}` is not a dialect; name one")))
        }
        _ => Ok(()),
    }
}
