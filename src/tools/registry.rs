//! Where definitions live, and what an agent is offered of them.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::{Value, json};

use super::{CallConfig, NameRule, Tool};
use crate::hints::{Tools, ToolsError};

/// Why a registry refuses a tool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// The id is taken.
    #[error("there is a tool {id} already")]
    Duplicate {
        /// The id.
        id: String,
    },
    /// The id is empty, or has characters that no name can have.
    #[error("{id:?} is no id of a tool: {why}")]
    Id {
        /// The id.
        id: String,
        /// What is wrong with it.
        why: &'static str,
    },
}

/// Tools that come and go. Share it between threads with an `Arc`.
///
/// Every change makes a new [`Inventory`]; those that were handed out stay as they are. A change is linear in the number of
/// tools, [`inventory`](Self::inventory) is constant.
///
/// ```
/// use toolglot::tools::{Registry, Tool};
///
/// let registry = Registry::new();
/// registry.register([Tool::new("fs:read"), Tool::new("fs:write")])?;
/// assert_eq!(registry.version(), 1);
/// assert_eq!(registry.inventory().tools().len(), 2);
/// # Ok::<(), toolglot::tools::RegistryError>(())
/// ```
#[derive(Debug, Default)]
pub struct Registry {
    now: RwLock<Arc<Inventory>>,
}

impl Registry {
    /// Nothing is registered.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers tools, behind those that are there: all of them, or none.
    ///
    /// # Errors
    /// An id is taken, or is none.
    pub fn register(&self, tools: impl IntoIterator<Item = Tool>) -> Result<(), RegistryError> {
        let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
        let mut all = now.tools.clone();
        all.extend(tools.into_iter().map(Arc::new));
        *now = Arc::new(Inventory::new(all, now.version + 1)?);
        Ok(())
    }

    /// Takes a tool out.
    pub fn unregister(&self, id: &str) -> Option<Arc<Tool>> {
        let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
        let at = now.tools.iter().position(|tool| tool.id == id)?;
        let mut all = now.tools.clone();
        let tool = all.remove(at);
        *now = Arc::new(Inventory::indexed(all, now.version + 1));
        Some(tool)
    }

    /// All that is registered now.
    #[must_use]
    pub fn inventory(&self) -> Arc<Inventory> {
        let now = self.now.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&now)
    }

    /// Changes since the registry was made.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.inventory().version
    }
}

/// A list of tools with their names. Immutable.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    tools: Vec<Arc<Tool>>,
    version: u64,
    /// Of ids, then aliases, then commands, then spellings: the first that has a name keeps it.
    names: HashMap<String, usize>,
}

/// What a name stands for.
#[derive(Clone, Debug)]
pub enum Lookup<'i> {
    /// A tool.
    Found(&'i Arc<Tool>),
    /// None, but these are spelled almost like it, the nearest first.
    Unknown(Vec<&'i str>),
}

impl Inventory {
    /// A list of its own.
    ///
    /// # Errors
    /// Two tools have one id, or an id is none.
    pub fn of(tools: impl IntoIterator<Item = Tool>) -> Result<Self, RegistryError> {
        Self::new(tools.into_iter().map(Arc::new).collect(), 0)
    }

    fn new(tools: Vec<Arc<Tool>>, version: u64) -> Result<Self, RegistryError> {
        let mut ids = HashSet::new();
        for Tool { id, .. } in tools.iter().map(AsRef::as_ref) {
            let id = id.as_str();
            let wrong = |why| {
                let id = id.to_owned();
                Err(RegistryError::Id { id, why })
            };
            if id.is_empty() {
                return wrong("it is empty");
            }
            if id.chars().any(|c| c.is_control() || c.is_whitespace()) {
                return wrong("white space and control characters cannot stand in it");
            }
            if !ids.insert(id) {
                return Err(RegistryError::Duplicate { id: id.to_owned() });
            }
        }
        Ok(Self::indexed(tools, version))
    }

    fn indexed(tools: Vec<Arc<Tool>>, version: u64) -> Self {
        let mut names = HashMap::new();
        let mut add = |name: &str, at: usize| {
            names.entry(name.to_owned()).or_insert(at);
        };
        for (at, tool) in tools.iter().enumerate() {
            add(&tool.id, at);
        }
        for (at, tool) in tools.iter().enumerate() {
            tool.aliases.iter().for_each(|name| add(name, at));
        }
        for (at, tool) in tools.iter().enumerate() {
            tool.commands.iter().for_each(|(_, name)| add(name, at));
        }
        for rule in [NameRule::Flat, NameRule::Xml, NameRule::Api] {
            let spelled = rule.unique(tools.iter().map(|tool| tool.id.as_str()));
            spelled
                .iter()
                .enumerate()
                .for_each(|(at, name)| add(name, at));
        }
        Self {
            tools,
            version,
            names,
        }
    }

    /// The tools, in the order in which they were registered.
    #[must_use]
    pub fn tools(&self) -> &[Arc<Tool>] {
        &self.tools
    }

    /// The version of the registry that it is of; it differs whenever the tools do.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// A tool by any of its names: id, alias, command, flat name, XML-safe name, interface name. Constant time.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Tool>> {
        self.names.get(name).map(|at| &self.tools[*at])
    }

    /// The same, with suggestions where there is none: names that differ in case, separators or a few letters. Linear in the
    /// number of tools where there is none.
    #[must_use]
    pub fn lookup(&self, name: &str) -> Lookup<'_> {
        match self.get(name) {
            Some(tool) => Lookup::Found(tool),
            None => {
                let ids = self.tools.iter().map(|tool| tool.id.as_str());
                Lookup::Unknown(crate::hints::nearest(name, ids))
            }
        }
    }

    /// What calls in a dialect name each tool: its command there, or its id by the dialect's rule. Each name is different.
    #[must_use]
    pub fn names(&self, dialect: &str, rule: NameRule) -> Vec<String> {
        let spelled = rule.unique(self.tools.iter().map(|tool| tool.id.as_str()));
        let named = self.tools.iter().zip(spelled);
        named
            .map(|(tool, spelled)| tool.command(dialect).map_or(spelled, str::to_owned))
            .collect()
    }

    /// What an agent is offered: tools that tell what they are, that agents may call, and that its configuration allows.
    /// Nothing where calls are not enabled.
    #[must_use]
    pub fn discover(&self, config: &CallConfig) -> Self {
        let offered = |tool: &&Arc<Tool>| {
            config.enabled && tool.described() && tool.agent_callable && config.allows(tool)
        };
        let tools = self.tools.iter().filter(offered).cloned().collect();
        Self::indexed(tools, self.version)
    }

    /// Those of its tools that these names stand for, in its own order.
    #[must_use]
    pub fn only(&self, names: &[String]) -> Self {
        let wanted: HashSet<&str> = names
            .iter()
            .filter_map(|name| self.get(name))
            .map(|tool| tool.id.as_str())
            .collect();
        let tools = self
            .tools
            .iter()
            .filter(|tool| wanted.contains(tool.id.as_str()));
        Self::indexed(tools.cloned().collect(), self.version)
    }

    /// The tools as the engine takes them for hints: with the names that the dialect's calls use. Of tools with one name the
    /// first counts.
    ///
    /// # Errors
    /// Something in a schema is not what it must be; the message says where.
    pub fn hints(&self, dialect: &str, rule: NameRule) -> Result<Tools, ToolsError> {
        let names = self.names(dialect, rule);
        let mut taken = HashSet::new();
        let mut list = vec![];
        for (tool, name) in self.tools.iter().zip(&names) {
            if taken.insert(name) {
                let schema = tool.parameters.as_ref().unwrap_or(&Value::Null);
                list.push(json!({"name": name, "parameters": schema}));
            }
        }
        Tools::from_value(&list.into())
    }
}
