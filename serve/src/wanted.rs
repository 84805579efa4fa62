//! What a request wants of a run: its agent, its dialect, its tools, and the agent's switches and limits.

use serde::Deserialize;
use toolglot::json::{Map, Value, from_value, to_value};
use toolglot_tools::{CallConfig, Tool};

/// The body of `POST /api/runs` and of `POST /api/prompt`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    #[serde(default)]
    pub task: String,
    /// By default the first agent.
    pub agent: Option<String>,
    /// By default the agent's.
    pub dialect: Option<String>,
    /// Ids of the tools that the run may call; by default all.
    pub tools: Option<Vec<String>>,
    /// Members of a `CallConfig`, in place of the agent's.
    pub config: Option<Map>,
}

/// What a run may set. The others are what `agent`, `dialect` and `tools` are for.
const MEMBERS: [&str; 7] = [
    "enabled",
    "toolToggles",
    "defaultToolEnabled",
    "maxIterations",
    "timeout",
    "requireConfirmation",
    "parallelExecution",
];

/// Returns the configuration of a run: what it sets, within what its agent has. It can switch off and ask for confirmation, not the
/// reverse; its limits count. `all` are the tools of the server.
pub fn config<'a>(
    base: &CallConfig,
    set: Option<&Map>,
    tools: Option<&[String]>,
    all: impl Iterator<Item = &'a Tool>,
) -> Result<CallConfig, String> {
    let mut made = merged(base, set)?;
    made.enabled &= base.enabled;
    made.require_confirmation |= base.require_confirmation;
    let wanted = |id: &String| tools.is_none_or(|tools| tools.contains(id));
    let allowed = all.filter(|tool| base.allows(tool) && wanted(&tool.id));
    made.tool_ids_inventory = Some(allowed.map(|tool| tool.id.clone()).collect());
    Ok(made)
}

fn merged(base: &CallConfig, set: Option<&Map>) -> Result<CallConfig, String> {
    let Some(set) = set else {
        return Ok(base.clone());
    };
    let read = |members: Map| from_value::<CallConfig>(&Value::Object(members));
    let base = to_value(base).map_err(|error| error.to_string())?;
    let mut all = base.as_object().cloned().unwrap_or_default();
    for (name, value) in set {
        if !MEMBERS.contains(&name.as_str()) {
            let members = MEMBERS.join(", ");
            return Err(format!("config: a run cannot set {name}, only {members}"));
        }
        let alone = Map::from_iter([(name.clone(), value.clone())]);
        read(alone).map_err(|error| format!("config.{name}: {error}"))?;
        if value.as_u64() == Some(0) {
            return Err(format!("config.{name}: it must be at least 1"));
        }
        all.insert(name.clone(), value.clone());
    }
    read(all).map_err(|error| format!("config: {error}"))
}
