//! What a server offers: agents, their tools, and the rules for calls.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use toolglot::json::{Value, json, to_value};
use toolglot::{DialectSet, builtin_files};
use toolglot_agent::driver::{Approver, Executors, Model, Toolbox};
use toolglot_agent::{Agent, Do, Policy};
use toolglot_tools::outcome::{RenderOptions, Shape};
use toolglot_tools::prompt::Lang;
use toolglot_tools::{CallConfig, Inventory};

use crate::nobody::{Nobody, Refuses};
use crate::secrets::{CleanModel, Secrets, clean_tools};
use crate::wanted::{self, Wanted};

/// A model that carries out runs.
#[derive(Clone)]
#[non_exhaustive]
pub struct AgentSetup {
    /// The name by which runs choose it.
    pub name: String,
    /// What people see of its model: a server or a file, without secrets.
    pub label: String,
    /// The dialects of its replies.
    pub set: DialectSet,
    /// The one that it is taught.
    pub dialect: String,
    /// How it is asked; [`Shape::Text`] teaches the dialect in a system message.
    pub shape: Shape,
    /// The model.
    pub model: Arc<dyn Model>,
    /// Its limits, and what is switched off, in place of those of the setup.
    pub config: Option<CallConfig>,
}

impl AgentSetup {
    /// Creates an agent for a model that writes a dialect of this set.
    #[must_use]
    pub fn new(name: &str, set: DialectSet, dialect: &str, model: Arc<dyn Model>) -> Self {
        Self {
            name: name.to_owned(),
            label: name.to_owned(),
            set,
            dialect: dialect.to_owned(),
            shape: Shape::Text,
            model,
            config: None,
        }
    }
}

/// What a server offers. Nothing runs that the policy does not allow.
#[derive(Clone)]
#[non_exhaustive]
pub struct Setup {
    /// The tools and their executors, connected, but not [joined](Toolbox::join): each run builds its own workflows.
    pub toolbox: Toolbox,
    /// The name of the tools' file in messages.
    pub origin: String,
    /// Which calls run, and which need confirmation.
    pub policy: Policy,
    /// Limits of time and rounds, and what is switched off.
    pub config: CallConfig,
    /// The language of prompts.
    pub lang: Lang,
    /// The agents; runs use the first one unless they choose another.
    pub agents: Vec<AgentSetup>,
    /// Texts that must be in no event and no file, such as keys of servers. Those shorter than 8 bytes stay: they are words.
    pub secrets: Vec<String>,
}

impl Setup {
    /// Creates a setup with these tools, each of whose calls needs confirmation, and without agents.
    #[must_use]
    pub fn new(toolbox: Toolbox) -> Self {
        Self {
            toolbox,
            origin: "tools".to_owned(),
            policy: Policy::confirm_all(),
            config: CallConfig::enabled(),
            lang: Lang::En,
            agents: vec![],
            secrets: vec![],
        }
    }

    /// Replaces the secrets in what models and tools say.
    pub(crate) fn keep_secrets(&mut self, secrets: &Arc<Secrets>) {
        for agent in &mut self.agents {
            agent.model = Arc::new(CleanModel {
                inner: Arc::clone(&agent.model),
                secrets: Arc::clone(secrets),
            });
        }
        clean_tools(&mut self.toolbox, secrets);
    }

    /// Builds everything once, so that what cannot be built is reported at the start and not by a request. Returns the tools.
    pub(crate) fn check(&self) -> Result<Inventory, String> {
        for of in &self.agents {
            let agent = self.agent(of, &of.dialect, &Wanted::default())?;
            self.executors(&agent, &of.model, self.config.clone(), Arc::new(Refuses))?;
        }
        let nobody: Arc<dyn Model> = Arc::new(Nobody);
        self.executors(
            &self.caller()?,
            &nobody,
            self.config.clone(),
            Arc::new(Refuses),
        )?;
        let names: HashSet<&str> = self.agents.iter().map(|of| of.name.as_str()).collect();
        if names.len() < self.agents.len() {
            return Err("two agents have the same name".to_owned());
        }
        Inventory::of(self.toolbox.tools.clone()).map_err(|error| error.to_string())
    }

    /// Returns the agent of this name, or the first one.
    pub(crate) fn named(&self, name: Option<&str>) -> Option<&AgentSetup> {
        match name {
            Some(name) => self.agents.iter().find(|agent| agent.name == name),
            None => self.agents.first(),
        }
    }

    /// Returns the first of these names that no tool has.
    pub(crate) fn missing<'n>(&self, tools: &'n [String]) -> Option<&'n String> {
        let known = |id: &String| self.toolbox.tools.iter().any(|tool| tool.id == *id);
        tools.iter().find(|id| !known(id))
    }

    fn config_of<'a>(&'a self, of: &'a AgentSetup) -> &'a CallConfig {
        of.config.as_ref().unwrap_or(&self.config)
    }

    /// Makes an agent that writes `dialect`, with the tools and the configuration that are wanted.
    pub(crate) fn agent(
        &self,
        of: &AgentSetup,
        dialect: &str,
        wanted: &Wanted,
    ) -> Result<Agent, String> {
        let built;
        let set = match dialect == of.dialect {
            true => &of.set,
            false => {
                built = DialectSet::builtin(dialect).map_err(|error| error.to_string())?;
                &built
            }
        };
        let config = self.wanted(of, wanted)?;
        let agent = self.plain(set, dialect, config)?;
        Ok(agent.shape(of.shape))
    }

    /// Returns the configuration of a run.
    pub(crate) fn wanted(&self, of: &AgentSetup, wanted: &Wanted) -> Result<CallConfig, String> {
        let (set, tools) = (wanted.config.as_ref(), wanted.tools.as_deref());
        wanted::config(self.config_of(of), set, tools, self.toolbox.tools.iter())
    }

    /// Returns the configuration of calls within the calls of a run: its limits, and all tools of the agent.
    pub(crate) fn within(&self, of: &AgentSetup, wanted: &Wanted) -> Result<CallConfig, String> {
        let all = self.config_of(of);
        let mut within = self.wanted(of, wanted)?;
        within.tool_toggles.clone_from(&all.tool_toggles);
        within.default_tool_enabled = all.default_tool_enabled;
        within
            .tool_ids_inventory
            .clone_from(&all.tool_ids_inventory);
        Ok(within)
    }

    /// Makes an agent for calls that no model writes.
    pub(crate) fn caller(&self) -> Result<Agent, String> {
        let dialect = &self.config.protocol;
        let set = DialectSet::builtin(dialect).map_err(|error| error.to_string())?;
        self.plain(&set, dialect, self.config.clone())
    }

    fn plain(&self, set: &DialectSet, dialect: &str, config: CallConfig) -> Result<Agent, String> {
        let all = Inventory::of(self.toolbox.tools.clone()).map_err(|error| error.to_string())?;
        let agent = Agent::new(set, dialect, all).map_err(|error| error.to_string())?;
        let agent = agent.config(config).policy(self.policy.clone());
        Ok(agent.render(RenderOptions::new(self.lang)))
    }

    /// Builds the executors of a run. Calls within its calls ask `approver`. They may use the tools of `within`, whatever the run
    /// itself may call.
    pub(crate) fn executors(
        &self,
        agent: &Agent,
        model: &Arc<dyn Model>,
        within: CallConfig,
        approver: Arc<dyn Approver>,
    ) -> Result<Executors, String> {
        let mut toolbox = self.toolbox.clone();
        let all = agent.clone().config(within);
        let joined = toolbox.join(&self.origin, &all, model, &approver);
        joined.map_err(|error| error.to_string())?;
        Ok(toolbox.executors)
    }

    /// Returns the answer to `GET /api/tools`.
    pub(crate) fn listing(&self) -> Result<Value, String> {
        let mut agents = vec![];
        for of in &self.agents {
            let agent = self.agent(of, &of.dialect, &Wanted::default())?;
            let tools = agent.offered().tools().iter();
            let tools: Vec<&str> = tools.map(|tool| tool.id.as_str()).collect();
            agents.push(json!({
                "name": of.name,
                "dialect": of.dialect,
                "model": of.label,
                "tools": tools,
                "prompt": prompt(&agent),
                "config": to_value(self.config_of(of)).map_err(|error| error.to_string())?,
            }));
        }
        let tools = self.toolbox.tools.iter().map(|tool| tool.to_json());
        Ok(json!({
            "tools": tools.collect::<Vec<_>>(),
            "dialects": dialects(),
            "agents": agents,
            "version": env!("CARGO_PKG_VERSION"),
        }))
    }
}

/// Returns what a model is told about its tools.
pub(crate) fn prompt(agent: &Agent) -> String {
    let Some(Do::Ask(ask)) = agent.run("").take() else {
        return String::new();
    };
    let first = ask.messages.first();
    let system = first.filter(|message| message["role"] == "system");
    let content = system.and_then(|message| message["content"].as_str());
    content.unwrap_or_default().to_owned()
}

/// Returns the ids of the built-in dialects in which an agent can call.
fn dialects() -> &'static [String] {
    static KNOWN: OnceLock<Vec<String>> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let calls = |id: &str| {
            let set = DialectSet::builtin(id).ok()?;
            Agent::new(&set, id, Inventory::default()).ok()
        };
        let ids = builtin_files().iter().map(|(id, _)| *id);
        ids.filter(|id| calls(id).is_some())
            .map(str::to_owned)
            .collect()
    })
}

/// Where a server listens, and what it keeps.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The address; port 0 picks a free one.
    pub listen: String,
    /// Whether it may be an address that other machines reach.
    pub remote: bool,
    /// Names of the server besides `localhost`, which requests may have in `Host`.
    pub hosts: Vec<String>,
    /// The file of runs; without one, runs are gone with the process.
    pub store: Option<PathBuf>,
    /// Which of the runs that are over it keeps.
    pub keep: Keep,
    /// How long a subscriber to events may accept nothing.
    pub stalled: Duration,
    /// A folder to serve in place of the built-in page.
    pub page: Option<PathBuf>,
}

/// Which runs that are over a server keeps; the oldest go first. A run that is not over is always kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Keep {
    /// How long since their end; `None` for ever. By default 90 days.
    pub time: Option<Duration>,
    /// How many runs the file may have, with those that are not over. By default 10,000.
    pub runs: Option<u64>,
    /// How many bytes of events and states it may have. By default 1 GiB.
    pub bytes: Option<u64>,
}

impl Default for Keep {
    fn default() -> Self {
        Self {
            time: Some(Duration::from_secs(90 * 24 * 60 * 60)),
            runs: Some(10_000),
            bytes: Some(1 << 30),
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:0".to_owned(),
            remote: false,
            hosts: vec![],
            store: None,
            keep: Keep::default(),
            stalled: Duration::from_secs(60),
            page: None,
        }
    }
}
