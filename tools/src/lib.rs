//! Tools around `toolglot`: which tools may be called, by whom and by which names, and the prompts and results that models
//! read.
//!
//! [`Tool`] is a definition, [`Registry`] holds definitions that come and go, [`Inventory`] is what one agent may use. [`read`]
//! reads definitions from OpenAI, Anthropic and MCP lists and from plugin manifests.
//!
//! [`Inventory::check`] turns a call into one that the tool accepts, or reports what is wrong with it and what to tell the
//! model. [`prompt`] writes instructions about tools for the model, [`outcome`] the results of its calls.
//!
//! The feature `tiktoken`, off by default, counts tokens with real vocabularies.

#![deny(unsafe_code, missing_docs)]

mod check;
mod chinese;
mod coerce;
mod config;
mod derive;
mod form;
pub(crate) mod guard;
mod judge;
mod names;
mod observe;
pub mod outcome;
mod places;
mod price;
pub mod prompt;
pub mod read;
mod registry;
mod schema;
mod short;
mod template;
#[cfg(test)]
mod tests;
mod validate;

use toolglot::json::{Map, Value};

pub use check::{CheckOptions, Checked, Unknown};
pub use coerce::{Change, ChangeKind};
pub use config::{CallConfig, Mode};
#[doc(hidden)]
pub use derive::STEPS;
pub use derive::{DeriveError, DeriveOptions, Derived, Report, derive, made_of};
pub use names::NameRule;
pub use observe::{executed, failed, incompatible};
pub use places::Places;
pub use read::ReadError;
pub use registry::{Inventory, Lookup, Registry, RegistryError};
pub use schema::SchemaError;
#[doc(hidden)]
pub use template::stack::deep;
pub use template::{ChatTemplate, TemplateError, TemplateOptions, TemplateSource};
pub use validate::Violation;

/// The definition of a tool.
///
/// ```
/// let tool = toolglot_tools::Tool::new("weather:get").description("Tells the weather of a city");
/// assert_eq!(tool.namespace(), Some("weather"));
/// assert!(!tool.agent_callable);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Tool {
    /// Unique in a registry: `get_weather`, `plugin:tool` or `A.B`.
    pub id: String,
    /// For people.
    pub display_name: Option<String>,
    /// For the model.
    pub description: String,
    /// A JSON Schema of an object, with its keys in their original order; `None` if nothing is known about the parameters.
    pub parameters: Option<Value>,
    /// Its kind, for the model.
    pub kind: ToolKind,
    /// What carries it out.
    pub implementation: Option<Implementation>,
    /// Whether models may call it. Nothing is callable by default.
    pub agent_callable: bool,
    /// Other names that calls may use.
    pub aliases: Vec<String>,
    /// Its names in calls of a dialect, by the dialect's id.
    pub commands: Vec<(String, String)>,
    /// Notes on its usage, for prompts.
    pub usage: Option<String>,
    /// Example calls, for prompts.
    pub examples: Vec<Example>,
    /// Labels for permissions.
    pub tags: Vec<String>,
    /// Further members of its source, unchanged: MCP's `annotations`, `outputSchema` and the like.
    pub extra: Map,
}

/// The kind of a tool, for the model.
///
/// ```
/// use toolglot_tools::{Tool, ToolKind};
///
/// let mut release = Tool::new("release").description("Builds, tests and publishes a version");
/// release.kind = ToolKind::Skill;
/// let tools = [Tool::new("weather"), release];
/// let skills: Vec<&str> = tools.iter().filter(|tool| tool.kind == ToolKind::Skill).map(|tool| tool.id.as_str()).collect();
/// assert_eq!(skills, ["release"]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolKind {
    /// A function.
    #[default]
    Tool,
    /// A workflow of several steps, which prompts may list separately.
    Skill,
}

/// What executes a tool. A hint for hosts: nothing here runs it.
///
/// ```
/// use toolglot_tools::{Implementation, ImplementationKind, Tool};
///
/// let mut tool = Tool::new("weather");
/// tool.implementation = Some(Implementation::new(ImplementationKind::Service, "weather_api"));
/// assert_eq!(tool.implementation.unwrap().target, "weather_api");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Implementation {
    /// The kind of implementation.
    pub kind: ImplementationKind,
    /// Which one: the type of a node, the id of a workflow, the name of a service.
    pub target: String,
}

impl Implementation {
    /// Describes an implementation.
    #[must_use]
    pub fn new(kind: ImplementationKind, target: &str) -> Self {
        Self {
            kind,
            target: target.to_owned(),
        }
    }
}

/// Kinds of implementations.
///
/// See the example of [`Implementation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ImplementationKind {
    /// One node, run alone.
    Node,
    /// A workflow.
    Workflow,
    /// A function of the host.
    Service,
}

/// An example call of a tool.
///
/// ```
/// use toolglot::json::{Map, json};
/// use toolglot_tools::{Example, Tool};
///
/// let mut arguments = Map::new();
/// arguments.insert("city".to_owned(), json!("Leith"));
/// let mut tool = Tool::new("weather");
/// tool.examples.push(Example::new(arguments).description("The weather in Leith".to_owned()));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Example {
    /// When to make it.
    pub description: Option<String>,
    /// Its arguments.
    pub arguments: Map,
}

impl Example {
    /// Creates an example without a description.
    #[must_use]
    pub fn new(arguments: Map) -> Self {
        Self {
            description: None,
            arguments,
        }
    }
}

toolglot::setters! {
    Example:
    description: Option<String>,
}

impl Tool {
    /// Creates a tool without parameters that no agent may call.
    #[must_use]
    pub fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            display_name: None,
            description: String::new(),
            parameters: None,
            kind: ToolKind::Tool,
            implementation: None,
            agent_callable: false,
            aliases: vec![],
            commands: vec![],
            usage: None,
            examples: vec![],
            tags: vec![],
            extra: Map::new(),
        }
    }

    /// Sets its description.
    #[must_use]
    pub fn description(mut self, text: &str) -> Self {
        text.clone_into(&mut self.description);
        self
    }

    /// Sets its parameters: a JSON Schema of an object.
    #[must_use]
    pub fn parameters(mut self, schema: Value) -> Self {
        self.parameters = Some(schema);
        self
    }

    /// Allows agents to call it, or not.
    #[must_use]
    pub fn callable(mut self, callable: bool) -> Self {
        self.agent_callable = callable;
        self
    }

    /// The part of its id before the last `:`, or else before the last `.`.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        let split = self
            .id
            .rsplit_once(':')
            .or_else(|| self.id.rsplit_once('.'));
        split
            .map(|(space, _)| space)
            .filter(|space| !space.is_empty())
    }

    /// Its name in calls of a dialect, if it has a special one there.
    #[must_use]
    pub fn command(&self, dialect: &str) -> Option<&str> {
        let found = self.commands.iter().find(|(have, _)| have == dialect);
        found.map(|(_, command)| command.as_str())
    }

    /// Whether it is described: discovery leaves out tools with neither a description nor parameters.
    #[must_use]
    pub fn described(&self) -> bool {
        !self.description.is_empty() || self.parameters.is_some()
    }

    /// The schema's properties, in order; empty without parameters.
    pub fn properties(&self) -> impl Iterator<Item = (&str, &Value)> {
        let schema = self.parameters.as_ref();
        let properties = schema.and_then(|schema| schema.get("properties"));
        let entries = properties.and_then(Value::as_object).into_iter();
        entries.flat_map(|map| map.iter().map(|(name, schema)| (name.as_str(), schema)))
    }

    /// The type of a property in JSON Schema's words: `string`, `number`, `integer or null`, `any`. `None` if there is no such
    /// property.
    #[must_use]
    pub fn type_hint(&self, name: &str) -> Option<String> {
        let schema = self.parameters.as_ref()?;
        let doc = toolglot::layer::Doc::new(schema, false, coerce::WORK);
        let parts = doc.parts(&[schema]);
        let named = |part: &&Map| {
            let own = part.get("properties").and_then(|own| own.get(name));
            own.is_some()
        };
        if !parts.iter().any(named) {
            return None;
        }
        let parts = doc.parts(&doc.property(&parts, name));
        Some(doc.types(&parts).to_string())
    }

    /// Whether a property is required.
    #[must_use]
    pub fn requires(&self, name: &str) -> bool {
        let schema = self.parameters.as_ref();
        let required = schema.and_then(|schema| schema.get("required"));
        let mut names = required.and_then(Value::as_array).into_iter().flatten();
        names.any(|have| have == name)
    }
}

/// The documentation pages, so that their examples are compiled and run.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../README.md")]
    mod readme {}
    #[doc = include_str!("../../docs/PROMPTS.md")]
    mod prompts {}
    #[doc = include_str!("../../docs/TOOLS.md")]
    mod tools {}
}
