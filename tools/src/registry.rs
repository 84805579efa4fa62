//! Holds definitions, and selects the tools of an agent.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use toolglot::Dialect;
use toolglot::json::{Value, json};
use toolglot::{Tools, ToolsError};

use super::schema::{Plan, SchemaError};
use super::{CallConfig, NameRule, Tool};

/// Why a registry rejects a tool.
///
/// ```
/// use toolglot_tools::{Inventory, RegistryError, Tool};
///
/// let error = Inventory::of([Tool::new("read"), Tool::new("read")]).unwrap_err();
/// assert_eq!(error, RegistryError::Duplicate { id: "read".to_owned() });
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// The id is taken.
    #[error("there is a tool {id} already")]
    Duplicate {
        /// The id.
        id: String,
    },
    /// The id is empty, or contains characters that no name can have.
    #[error("{id:?} is not a valid tool id: {why}")]
    Id {
        /// The id.
        id: String,
        /// What is wrong with it.
        why: &'static str,
    },
}

/// A collection of tools that can change. Share it between threads with an `Arc`.
///
/// Every change creates a new [`Inventory`]; existing ones are unchanged. A change is linear in the number of tools,
/// [`inventory`](Self::inventory) is constant.
///
/// ```
/// use toolglot_tools::{Registry, Tool};
///
/// let registry = Registry::new();
/// registry.register([Tool::new("fs:read"), Tool::new("fs:write")])?;
/// assert_eq!(registry.version(), 1);
/// assert_eq!(registry.inventory().tools().len(), 2);
/// # Ok::<(), toolglot_tools::RegistryError>(())
/// ```
#[derive(Debug, Default)]
pub struct Registry {
    now: RwLock<Arc<Inventory>>,
}

impl Registry {
    /// An empty registry.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers tools after the existing ones: all of them, or none.
    ///
    /// # Errors
    /// An id is taken, or invalid.
    pub fn register(&self, tools: impl IntoIterator<Item = Tool>) -> Result<(), RegistryError> {
        let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
        let mut all = now.slots();
        all.extend(tools.into_iter().map(Slot::new));
        *now = Arc::new(Inventory::new(all, now.version + 1)?);
        Ok(())
    }

    /// Removes a tool.
    pub fn unregister(&self, id: &str) -> Option<Arc<Tool>> {
        let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
        let at = now.tools.iter().position(|tool| tool.id == id)?;
        let mut all = now.slots();
        let tool = all.remove(at).tool;
        *now = Arc::new(Inventory::indexed(all, now.version + 1));
        Some(tool)
    }

    /// All registered tools.
    #[must_use]
    pub fn inventory(&self) -> Arc<Inventory> {
        let now = self.now.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&now)
    }

    /// The number of changes since the registry was created.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.inventory().version
    }
}

/// A list of tools with their names. Immutable.
///
/// ```
/// use toolglot_tools::{CallConfig, Inventory, Tool};
///
/// let inventory = Inventory::of([Tool::new("read").callable(true).description("Reads a file"), Tool::new("wipe")])?;
/// assert!(inventory.get("read").is_some());
/// let offered = inventory.discover(&CallConfig::enabled());
/// assert_eq!(offered.tools().len(), 1); // `wipe` is not callable
/// # Ok::<(), toolglot_tools::RegistryError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    tools: Vec<Arc<Tool>>,
    /// The compiled schema of each tool, built on first use. Inventories with the same tool share it.
    plans: Vec<Ready>,
    /// The names that calls may use, by dialect.
    offered: Arc<RwLock<ByDialect>>,
    version: u64,
    /// Ids, then aliases, then commands, then spellings: the first tool with a name keeps it.
    names: HashMap<String, usize>,
}

type Ready = Arc<OnceLock<Result<Plan, SchemaError>>>;

/// The names of tools in a dialect, in order, and the tool of each name.
type Offered = (Vec<String>, HashMap<String, usize>);

type ByDialect = HashMap<(String, NameRule), Arc<Offered>>;

/// A tool with its compiled schema.
struct Slot {
    tool: Arc<Tool>,
    plan: Ready,
}

impl Slot {
    fn new(tool: Tool) -> Self {
        Self {
            tool: Arc::new(tool),
            plan: Ready::default(),
        }
    }
}

/// The result of looking up a name.
///
/// ```
/// use toolglot_tools::{Inventory, Lookup, Tool};
///
/// let inventory = Inventory::of([Tool::new("weather"), Tool::new("fetch")])?;
/// assert!(matches!(inventory.lookup("weather"), Lookup::Found(_)));
/// assert!(matches!(inventory.lookup("wether"), Lookup::Unknown(names) if names == ["weather"]));
/// # Ok::<(), toolglot_tools::RegistryError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Lookup<'i> {
    /// A tool.
    Found(&'i Arc<Tool>),
    /// No tool has the name; these are the most similar names, nearest first.
    Unknown(Vec<&'i str>),
}

impl Inventory {
    /// Creates an inventory without a registry.
    ///
    /// # Errors
    /// Two tools have the same id, or an id is invalid.
    pub fn of(tools: impl IntoIterator<Item = Tool>) -> Result<Self, RegistryError> {
        Self::new(tools.into_iter().map(Slot::new).collect(), 0)
    }

    fn new(slots: Vec<Slot>, version: u64) -> Result<Self, RegistryError> {
        let mut ids = HashSet::new();
        for Tool { id, .. } in slots.iter().map(|slot| slot.tool.as_ref()) {
            let id = id.as_str();
            let wrong = |why| {
                let id = id.to_owned();
                Err(RegistryError::Id { id, why })
            };
            if id.is_empty() {
                return wrong("it is empty");
            }
            if id.chars().any(|c| c.is_control() || c.is_whitespace()) {
                return wrong("it contains whitespace or control characters");
            }
            if !ids.insert(id) {
                return Err(RegistryError::Duplicate { id: id.to_owned() });
            }
        }
        Ok(Self::indexed(slots, version))
    }

    fn slots(&self) -> Vec<Slot> {
        let both = self.tools.iter().zip(&self.plans);
        let slot = |(tool, plan): (&Arc<Tool>, &Ready)| Slot {
            tool: Arc::clone(tool),
            plan: Arc::clone(plan),
        };
        both.map(slot).collect()
    }

    fn indexed(slots: Vec<Slot>, version: u64) -> Self {
        let (tools, plans): (Vec<_>, Vec<_>) =
            slots.into_iter().map(|slot| (slot.tool, slot.plan)).unzip();
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
            plans,
            offered: Arc::default(),
            version,
            names,
        }
    }

    /// The compiled schema of a tool.
    pub(super) fn plan(&self, at: usize) -> Result<&Plan, &SchemaError> {
        let tool = &self.tools[at];
        let schema = tool.parameters.as_ref().unwrap_or(&Value::Bool(true));
        self.plans[at].get_or_init(|| Plan::new(schema)).as_ref()
    }

    /// The problems of the schemas: the ids of tools whose calls cannot be checked, and why. Compiles every schema; call it at
    /// startup to find problems early.
    pub fn faults(&self) -> impl Iterator<Item = (&str, &SchemaError)> {
        let tools = self.tools.iter().enumerate();
        let with = tools.filter(|(_, tool)| tool.parameters.is_some());
        with.filter_map(|(at, tool)| Some((tool.id.as_str(), self.plan(at).err()?)))
    }

    /// Finds the tool of a call in a dialect: by the name that the dialect's calls use for it, or else by any of its names. An
    /// API tool call has no dialect, and uses the names of the APIs. Constant time after the first query for the dialect.
    ///
    /// ```
    /// use toolglot_tools::{Inventory, Tool};
    ///
    /// let inventory = Inventory::of([Tool::new("weather:get")])?;
    /// assert_eq!(inventory.resolve("weather_get", None).unwrap().id, "weather:get"); // the name in the APIs
    /// assert_eq!(inventory.resolve("weather_gte", None).unwrap_err(), ["weather_get"]);
    /// # Ok::<(), toolglot_tools::RegistryError>(())
    /// ```
    ///
    /// # Errors
    /// There is no such tool; the error lists the most similar names of the dialect, nearest first.
    pub fn resolve(
        &self,
        name: &str,
        dialect: Option<&Dialect>,
    ) -> Result<&Arc<Tool>, Vec<String>> {
        self.position(name, dialect).map(|at| &self.tools[at])
    }

    pub(super) fn position(
        &self,
        name: &str,
        dialect: Option<&Dialect>,
    ) -> Result<usize, Vec<String>> {
        let (id, rule) = match dialect {
            Some(dialect) => (dialect.id(), NameRule::of(dialect)),
            None => ("", NameRule::Api),
        };
        let offered = self.offered(id, rule);
        let (names, index) = &*offered;
        let found = index.get(name).or_else(|| self.names.get(name));
        found.copied().ok_or_else(|| {
            let near = toolglot::layer::nearest(name, names.iter().map(String::as_str));
            near.into_iter().map(str::to_owned).collect()
        })
    }

    fn offered(&self, dialect: &str, rule: NameRule) -> Arc<Offered> {
        let key = (dialect.to_owned(), rule);
        let known = self.offered.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(offered) = known.get(&key) {
            return Arc::clone(offered);
        }
        drop(known);
        let names = self.names(dialect, rule);
        let index = names.iter().cloned().zip(0..).collect();
        let offered = Arc::new((names, index));
        let mut known = self.offered.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(key).or_insert(offered))
    }

    /// The tools, in the order in which they were registered.
    #[must_use]
    pub fn tools(&self) -> &[Arc<Tool>] {
        &self.tools
    }

    /// The registry's version of this inventory; it differs whenever the tools do.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns a tool by any of its names: id, alias, command, flat name, XML-safe name, API name. Constant time.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Tool>> {
        self.names.get(name).map(|at| &self.tools[*at])
    }

    /// As [`get`](Self::get), with suggestions if there is no such tool: names that differ in case, separators or a few
    /// letters. Linear in the number of tools in that case.
    #[must_use]
    pub fn lookup(&self, name: &str) -> Lookup<'_> {
        match self.get(name) {
            Some(tool) => Lookup::Found(tool),
            None => {
                let ids = self.tools.iter().map(|tool| tool.id.as_str());
                Lookup::Unknown(toolglot::layer::nearest(name, ids))
            }
        }
    }

    /// The name of each tool in calls of a dialect: its command there, or its id by the dialect's rule. All names differ.
    #[must_use]
    pub fn names(&self, dialect: &str, rule: NameRule) -> Vec<String> {
        let command = |tool: &Arc<Tool>| tool.command(dialect).map(str::to_owned);
        let ids = self.tools.iter().map(|tool| tool.id.as_str());
        rule.named(ids.zip(self.tools.iter().map(command)))
    }

    /// The tools of an agent: those that are described, that agents may call, and that its configuration allows. Empty if calls
    /// are not enabled.
    #[must_use]
    pub fn discover(&self, config: &CallConfig) -> Self {
        let offered = |tool: &&Arc<Tool>| {
            config.enabled && tool.described() && tool.agent_callable && config.allows(tool)
        };
        let slots = self.slots().into_iter();
        let slots = slots.filter(|slot| offered(&&slot.tool)).collect();
        Self::indexed(slots, self.version)
    }

    /// The tools with these names, in the order of this inventory.
    #[must_use]
    pub fn only(&self, names: &[String]) -> Self {
        let wanted: HashSet<&str> = names
            .iter()
            .filter_map(|name| self.get(name))
            .map(|tool| tool.id.as_str())
            .collect();
        let slots = self.slots().into_iter();
        let slots = slots
            .filter(|slot| wanted.contains(slot.tool.id.as_str()))
            .collect();
        Self::indexed(slots, self.version)
    }

    /// The tools as hints for the engine, with the names that the dialect's calls use. Of tools with the same name the first
    /// counts.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use toolglot::{DialectSet, Options};
    /// use toolglot_tools::{Inventory, NameRule, Tool};
    ///
    /// let set = DialectSet::builtin("hermes")?;
    /// let inventory = Inventory::of([Tool::new("weather:get")])?;
    /// let rule = NameRule::of(set.dialects().next().unwrap());
    /// let tools = inventory.hints("hermes", rule)?;
    /// assert_eq!(tools.len(), 1);
    /// let options = Options::default().tools(Some(Arc::new(tools)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A schema is invalid; the message says where.
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
