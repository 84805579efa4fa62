//! What an agent may do with tools.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How an agent may call tools. Nothing is enabled by default.
///
/// Reads and writes the JSON of the AIO design: `{"enabled": true, "toolToggles": {"fs.read": false}, ..}`. Missing keys have
/// their defaults.
///
/// ```
/// use std::collections::BTreeMap;
/// use toolglot_tools::{CallConfig, Tool};
///
/// let toggles = BTreeMap::from([("fs".to_owned(), false), ("fs:read".to_owned(), true)]);
/// let config = CallConfig::enabled().tool_toggles(toggles);
/// assert!(config.allows(&Tool::new("fs:read").callable(true)));
/// assert!(!config.allows(&Tool::new("fs:write").callable(true)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct CallConfig {
    /// The master switch.
    pub enabled: bool,
    /// Whether calls are carried out immediately.
    pub mode: Mode,
    /// Tools that are switched on or off, by id or by namespace; the id takes precedence.
    pub tool_toggles: BTreeMap<String, bool>,
    /// Whether tools without a toggle are on.
    pub default_tool_enabled: bool,
    /// The ids that the agent's profile grants; `None` if the profile does not restrict them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_ids_inventory: Option<Vec<String>>,
    /// The maximum number of rounds of calls per turn.
    pub max_iterations: u32,
    /// The timeout of a call, in milliseconds.
    pub timeout: u64,
    /// Whether a person has to approve each call.
    pub require_confirmation: bool,
    /// Whether calls of one turn may run in parallel.
    pub parallel_execution: bool,
    /// The id of the dialect that calls are written in.
    pub protocol: String,
}

/// Whether calls are carried out immediately.
///
/// See the example of [`CallConfig::enabled`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Mode {
    /// Immediately.
    #[default]
    Auto,
    /// Somebody starts them.
    Manual,
}

toolglot::setters! {
    CallConfig:
    mode = Mode,
    tool_toggles = BTreeMap<String, bool>,
    default_tool_enabled = bool,
    tool_ids_inventory: Option<Vec<String>>,
    max_iterations = u32,
    timeout = u64,
    require_confirmation = bool,
    parallel_execution = bool,
    protocol: String,
}

impl Default for CallConfig {
    fn default() -> Self {
        Self {
            enabled: false,
            mode: Mode::Auto,
            tool_toggles: BTreeMap::new(),
            default_tool_enabled: true,
            tool_ids_inventory: None,
            max_iterations: 5,
            timeout: 30_000,
            require_confirmation: false,
            parallel_execution: false,
            protocol: toolglot::layer::default_protocol().to_owned(),
        }
    }
}

impl CallConfig {
    /// The defaults, enabled.
    ///
    /// ```
    /// use toolglot_tools::{CallConfig, Mode};
    ///
    /// let config = CallConfig::enabled().mode(Mode::Manual).max_iterations(3);
    /// assert!(config.enabled && config.max_iterations == 3);
    /// ```
    #[must_use]
    pub fn enabled() -> Self {
        Self {
            enabled: true,
            ..Self::default()
        }
    }

    /// Whether a tool is switched on: by its id, else by its namespace, else by default.
    #[must_use]
    pub fn allows(&self, tool: &super::Tool) -> bool {
        let granted = self.tool_ids_inventory.as_ref();
        if granted.is_some_and(|ids| !ids.contains(&tool.id)) {
            return false;
        }
        let space = || {
            tool.namespace()
                .and_then(|space| self.tool_toggles.get(space))
        };
        let toggle = self.tool_toggles.get(&tool.id).or_else(space);
        toggle.copied().unwrap_or(self.default_tool_enabled)
    }
}
