//! Tools of a file that are composed of its other tools: workflows and agents.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use toolglot::json::Value;
use toolglot_tools::{Implementation, ImplementationKind, Inventory, Tool, ToolKind};

use super::{Approver, Delegate, Executor, Executors, Model, Script, Workflow};
use crate::agent::{Agent, Budget};
use crate::run::Step;

/// `execute.workflow`: calls that run in order.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkflowSpec {
    steps: Vec<Step>,
    #[serde(default)]
    budget: Budget,
}

/// `execute.agent`: a model with some of the tools.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AgentSpec {
    tools: Vec<String>,
    #[serde(default)]
    budget: Budget,
    max_rounds: Option<u32>,
    /// A built-in dialect; by default that of the run.
    dialect: Option<String>,
    /// A file with its replies, in place of the model.
    script: Option<String>,
}

/// What a composed tool consists of.
#[derive(Clone, Debug)]
pub(super) enum Inside {
    Workflow(WorkflowSpec),
    Agent(AgentSpec, Option<Arc<Script>>),
}

impl Inside {
    /// Reads the workflow of a manifest, from a file next to it: a list of steps, or an object with `steps`.
    pub fn of(implementation: &Implementation, folder: &Path) -> Result<Option<Self>, String> {
        if implementation.kind != ImplementationKind::Workflow {
            return Ok(None);
        }
        let text = text(folder, &implementation.target)?;
        let wrong = |error: serde_json::Error| format!("{}: {error}", implementation.target);
        let spec = match text.trim_start().starts_with('[') {
            true => WorkflowSpec {
                steps: serde_json::from_str(&text).map_err(wrong)?,
                budget: Budget::default(),
            },
            false => serde_json::from_str(&text).map_err(wrong)?,
        };
        Ok(Some(Self::Workflow(spec)))
    }

    pub fn agent(spec: AgentSpec, folder: &Path) -> Result<Self, String> {
        let script = match &spec.script {
            None => None,
            Some(file) => Some(Arc::new(Script::from_text(&text(folder, file)?))),
        };
        Ok(Self::Agent(spec, script))
    }

    /// Completes the tool's definition.
    pub fn define(&self, tool: &mut Tool) -> Result<(), String> {
        match self {
            Self::Workflow(_) => tool.kind = ToolKind::Skill,
            Self::Agent(..) => {
                let own = Delegate::tool("", "").parameters;
                let told = tool.parameters.get_or_insert(own.unwrap_or_default());
                if told["properties"][Delegate::WHAT] == Value::Null {
                    let what = Delegate::WHAT;
                    return Err(format!("parameters: an agent needs a parameter `{what}`"));
                }
            }
        }
        Ok(())
    }

    /// Builds its executor from the tools that exist, under the rules of an agent.
    pub fn executor(
        &self,
        outer: &Agent,
        tools: &[Tool],
        executors: &Executors,
        model: &Arc<dyn Model>,
        approver: &Arc<dyn Approver>,
    ) -> Result<Arc<dyn Executor>, String> {
        let executor: Arc<dyn Executor> = Arc::new(executors.clone());
        let approver = approver.clone();
        Ok(match self {
            Self::Workflow(spec) => {
                let names = spec.steps.iter().map(|step| step.tool.as_str());
                let agent = outer.within(chosen(tools, executors, names)?);
                let agent = agent.budget(spec.budget);
                let steps = spec.steps.clone();
                Arc::new(Workflow::new(agent, steps, executor, approver))
            }
            Self::Agent(spec, script) => {
                let names = spec.tools.iter().map(String::as_str);
                let mut agent = outer.within(chosen(tools, executors, names)?);
                if let Some(dialect) = &spec.dialect {
                    agent = agent.speaking(dialect)?;
                }
                agent = agent.budget(spec.budget);
                agent.config.max_iterations =
                    spec.max_rounds.unwrap_or(agent.config.max_iterations);
                let model = match script {
                    Some(script) => script.clone(),
                    None => model.clone(),
                };
                Arc::new(Delegate::new(agent, model, executor, approver))
            }
        })
    }
}

/// Selects tools by name and makes them callable. The policy still applies.
fn chosen<'n>(
    tools: &[Tool],
    executors: &Executors,
    names: impl Iterator<Item = &'n str>,
) -> Result<Inventory, String> {
    let mut chosen: Vec<Tool> = vec![];
    for name in names {
        let found = tools
            .iter()
            .find(|tool| tool.id == name && executors.get(name).is_some());
        let Some(tool) = found else {
            return Err(format!(
                "there is no tool `{name}`; a tool made of others must precede those that use it"
            ));
        };
        if chosen.iter().all(|one| one.id != name) {
            let mut tool = tool.clone().callable(true);
            if !tool.described() {
                // Without a description it would not be declared, although it is listed.
                name.clone_into(&mut tool.description);
            }
            chosen.push(tool);
        }
    }
    Inventory::of(chosen).map_err(|error| error.to_string())
}

fn text(folder: &Path, file: &str) -> Result<String, String> {
    std::fs::read_to_string(folder.join(file)).map_err(|error| format!("{file}: {error}"))
}
