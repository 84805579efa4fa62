//! The configuration that the runs of an agent share.

use std::sync::{Arc, OnceLock};

use serde::Deserialize;
use toolglot::json::{Value, json};
use toolglot::{Dialect, DialectSet, Options, TextMode, Tools};
use toolglot_tools::outcome::{MessageError, RenderOptions, Renderer, Shape};
use toolglot_tools::prompt::grammar::{CallGrammar, GrammarError};
use toolglot_tools::prompt::{Lang, Layout, PromptError, PromptOptions};
use toolglot_tools::{CallConfig, Inventory, NameRule, Tool, read};

use crate::policy::Policy;
use crate::step::Ask;

/// How recovered calls are handled.
///
/// ```
/// # use toolglot::{DialectSet, Finish};
/// # use toolglot_agent::{Agent, Do, Policy};
/// # use toolglot_tools::{CallConfig, Inventory, Tool};
/// # let tools = Inventory::of([Tool::new("weather").description("Tells the weather").callable(true)])?;
/// # let agent = Agent::new(&DialectSet::defaults(), "hermes", tools)?.config(CallConfig::enabled()).policy(Policy::allow_all());
/// use toolglot_agent::Recovered;
///
/// let mut run = agent.recovered(Recovered::Confirm).run("How is the weather?");
/// run.model(br#"<tool_call>{"name": "weather", "arguments": {"city": "Leith", "city": "Ayr"}}</tool_call>"#)?; // which one?
/// run.model_ended(Finish::Stop)?;
/// assert!(std::iter::from_fn(|| run.take()).any(|one| matches!(one, Do::Confirm(_))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Recovered {
    /// They do not run; the model is told what was wrong with them.
    #[default]
    Answer,
    /// A person must confirm them, as if a rule required it.
    Confirm,
}

toolglot::words! {
    Recovered, "fate of recovered calls":
    Answer = "answer",
    Confirm = "confirm",
}

/// Limits of a run. A limit that is not set does not apply.
///
/// ```
/// use toolglot_agent::Budget;
///
/// let budget = Budget::new().calls(10).time(60_000);
/// assert_eq!((budget.calls, budget.bytes, budget.time), (Some(10), None, Some(60_000)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Budget {
    /// Calls that may be started.
    pub calls: Option<u32>,
    /// Bytes that the model may write: text, reasoning, and API tool calls.
    pub bytes: Option<u64>,
    /// Milliseconds since the first [`tick`](crate::Run::tick).
    pub time: Option<u64>,
}

impl Budget {
    /// No bounds.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Limits the number of calls that start.
    #[must_use]
    pub fn calls(mut self, calls: u32) -> Self {
        self.calls = Some(calls);
        self
    }

    /// Limits the bytes that the model writes.
    #[must_use]
    pub fn bytes(mut self, bytes: u64) -> Self {
        self.bytes = Some(bytes);
        self
    }

    /// Limits the time, in milliseconds.
    #[must_use]
    pub fn time(mut self, milliseconds: u64) -> Self {
        self.time = Some(milliseconds);
        self
    }
}

/// Why an agent cannot be created, or cannot ask its model.
///
/// ```
/// use toolglot_agent::{Agent, AgentError};
/// use toolglot_tools::Inventory;
///
/// let agent = Agent::new(&toolglot::DialectSet::defaults(), "hermess", Inventory::default());
/// assert!(matches!(agent, Err(AgentError::Prompt(_)))); // there is no such dialect
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The dialect is not in the set, or a prompt cannot be written.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// The messages after a reply cannot be written.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// No grammar can be made for the tools.
    #[error(transparent)]
    Grammar(#[from] GrammarError),
}

/// The configuration that the runs of an agent share: dialects, tools, rules. Cheap to clone. A run keeps the configuration that it
/// started with.
///
/// The defaults run nothing: tools must be [callable](toolglot_tools::Tool::agent_callable), the [configuration](CallConfig)
/// enabled, and the [policy](Policy) must allow a call or require its confirmation.
///
/// ```
/// use toolglot::DialectSet;
/// use toolglot_agent::{Agent, Budget, Policy};
/// use toolglot_tools::{CallConfig, Inventory, Tool};
///
/// let tools = Inventory::of([Tool::new("weather").description("Tells the weather").callable(true)])?;
/// let agent = Agent::new(&DialectSet::defaults(), "hermes", tools)?
///     .config(CallConfig::enabled().max_iterations(3))
///     .policy(Policy::confirm_all())
///     .budget(Budget::new().calls(10));
/// assert_eq!(agent.offered().tools().len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Agent {
    pub(crate) set: DialectSet,
    pub(crate) dialect: String,
    pub(crate) renderer: Arc<Renderer>,
    pub(crate) tools: Arc<Inventory>,
    /// Those of `tools` that the configuration offers.
    pub(crate) offered: Arc<Inventory>,
    /// What follows from the other fields; setters that change it begin anew.
    made: Arc<Made>,
    pub(crate) config: CallConfig,
    pub(crate) policy: Arc<Policy>,
    pub(crate) options: Options,
    pub(crate) shape: Shape,
    pub(crate) render: RenderOptions,
    pub(crate) recovered: Recovered,
    pub(crate) max_concurrent: usize,
    pub(crate) references: bool,
    pub(crate) budget: Budget,
    pub(crate) task_timeout: u64,
    grammar: bool,
}

/// What an agent makes once: a prompt of many tools takes longer than a round.
#[derive(Debug, Default)]
struct Made {
    /// What the offered tools tell a parser; made for the first reply.
    hints: OnceLock<Option<Arc<Tools>>>,
    /// What each question to the model contains beside the messages; made for the first one.
    offer: OnceLock<Offer>,
}

#[derive(Debug, Default)]
struct Offer {
    /// The system message that teaches the dialect, or nothing.
    taught: String,
    tools: Vec<Value>,
    stop: Vec<String>,
    grammar: Option<String>,
}

impl Agent {
    /// Creates an agent for models that write calls in `dialect`. Replies are parsed with the whole set.
    ///
    /// # Errors
    /// The set has no such dialect, or the dialect has no calls.
    pub fn new(set: &DialectSet, dialect: &str, tools: Inventory) -> Result<Self, AgentError> {
        let renderer = Renderer::new(set, Layout::new(set, dialect)?)?;
        let tools = Arc::new(tools);
        let config = CallConfig::default();
        Ok(Self {
            set: set.clone(),
            dialect: renderer.layout().dialect().to_owned(),
            renderer: Arc::new(renderer),
            offered: Arc::new(tools.discover(&config)),
            made: Arc::default(),
            tools,
            config,
            policy: Arc::default(),
            options: Options::default().text(TextMode::Chars),
            shape: Shape::Text,
            render: RenderOptions::new(Lang::En),
            recovered: Recovered::Answer,
            max_concurrent: 4,
            references: false,
            budget: Budget::default(),
            task_timeout: 3_600_000,
            grammar: false,
        })
    }

    /// Sets the configuration of calls: which tools are declared, confirmation, concurrency, limits of time and rounds.
    #[must_use]
    pub fn config(mut self, config: CallConfig) -> Self {
        self.offered = Arc::new(self.tools.discover(&config));
        self.config = config;
        self.anew()
    }

    /// Sets which calls run and which need confirmation. Without a policy no call runs.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = Arc::new(policy);
        self
    }

    /// Sets how replies are parsed. Text is always in whole characters.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options.text(TextMode::Chars);
        self
    }

    /// Sets the shape of the messages. [`Shape::Text`] teaches the dialect in a system message; the others pass tools and
    /// results in the form of those interfaces.
    #[must_use]
    pub fn shape(mut self, shape: Shape) -> Self {
        self.shape = shape;
        self.anew()
    }

    /// Sets how results are written, and the language of the agent's own texts.
    #[must_use]
    pub fn render(mut self, render: RenderOptions) -> Self {
        self.render = render;
        self.anew()
    }

    /// Sets how recovered calls are handled.
    #[must_use]
    pub fn recovered(mut self, recovered: Recovered) -> Self {
        self.recovered = recovered;
        self
    }

    /// Sets how many calls may run concurrently, at least one; 4 by default. If the configuration does not allow parallel execution,
    /// calls run in order regardless.
    #[must_use]
    pub fn max_concurrent(mut self, calls: usize) -> Self {
        self.max_concurrent = calls.max(1);
        self
    }

    /// Sets whether `{{1.result.path}}` in arguments refers to the result of an earlier call of the reply. Off by default; always on
    /// in workflows.
    #[must_use]
    pub fn references(mut self, on: bool) -> Self {
        self.references = on;
        self
    }

    /// Sets the limits of a run, in addition to the rounds of the configuration. None by default.
    #[must_use]
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// Sets the time limit of a task, in milliseconds; an hour by default.
    #[must_use]
    pub fn task_timeout(mut self, milliseconds: u64) -> Self {
        self.task_timeout = milliseconds;
        self
    }

    /// Sets whether the model is asked with a grammar of the calls.
    #[must_use]
    pub fn grammar(mut self, on: bool) -> Self {
        self.grammar = on;
        self.anew()
    }

    fn anew(mut self) -> Self {
        self.made = Arc::default();
        self
    }

    /// Returns the declared tools.
    #[must_use]
    pub fn offered(&self) -> &Inventory {
        &self.offered
    }

    /// The name in an API tool call of the tool that a step of a workflow names by its id or an alias. Only where another tool has that
    /// name there it is a different one.
    pub(crate) fn called(&self, name: &str) -> String {
        let tools = &self.offered;
        let other = |tool: &&Arc<Tool>| match tools.resolve(name, None) {
            Ok(found) => found.id != tool.id,
            Err(_) => true,
        };
        let Some(tool) = tools.get(name).filter(other) else {
            return name.to_owned();
        };
        let names = tools.names("", NameRule::Api);
        let mut all = tools.tools().iter().zip(names);
        let own = all.find(|(one, _)| one.id == tool.id);
        own.map_or_else(|| name.to_owned(), |(_, own)| own)
    }

    /// Returns a copy for models that write a built-in dialect.
    #[cfg(feature = "tokio")]
    pub(crate) fn speaking(&self, dialect: &str) -> Result<Self, String> {
        let set = DialectSet::builtin(dialect).map_err(|error| error.to_string())?;
        let own = Self::new(&set, dialect, Inventory::default());
        let own = own.map_err(|error| error.to_string())?;
        Ok(Self {
            set: own.set,
            dialect: own.dialect,
            renderer: own.renderer,
            made: Arc::default(),
            ..self.clone()
        })
    }

    /// Returns a copy with other tools.
    #[cfg(feature = "tokio")]
    pub(crate) fn within(&self, tools: Inventory) -> Self {
        let mut own = self.clone();
        own.offered = Arc::new(tools.discover(&own.config));
        own.tools = Arc::new(tools);
        own.anew()
    }

    pub(crate) fn dialect_of(&self, id: &str) -> Option<&Dialect> {
        self.set.dialect(id)
    }

    /// The tools that a model was offered, for a parser. None if their declarations cannot be read.
    pub(crate) fn hints(&self) -> Option<Arc<Tools>> {
        let make = || {
            let rule = self.renderer.layout().rule();
            self.offered.hints(&self.dialect, rule).ok().map(Arc::new)
        };
        self.made.hints.get_or_init(make).clone()
    }

    /// Returns what to ask a model after these messages.
    pub(crate) fn ask(&self, messages: &[Value]) -> Result<Ask, AgentError> {
        let offer = match self.made.offer.get() {
            Some(offer) => offer,
            None => {
                let offer = self.offer()?;
                self.made.offer.get_or_init(|| offer)
            }
        };
        let mut messages = messages.to_vec();
        if !offer.taught.is_empty() {
            teach(&mut messages, &offer.taught);
        }
        Ok(Ask {
            messages,
            tools: offer.tools.clone(),
            stop: offer.stop.clone(),
            grammar: offer.grammar.clone(),
        })
    }

    fn offer(&self) -> Result<Offer, AgentError> {
        let layout = self.renderer.layout();
        let mut offer = Offer {
            stop: layout.stops(),
            ..Offer::default()
        };
        if self.shape == Shape::Text {
            let mut options = PromptOptions::default();
            options.lang = self.render.lang;
            offer.taught = layout.system(&self.offered, &options)?;
        } else {
            let names = self.offered.names("", NameRule::Api);
            let list = self.offered.tools().iter().zip(&names);
            let write = match self.shape {
                Shape::Anthropic => read::to_anthropic,
                _ => read::to_openai,
            };
            offer.tools = list.map(|(tool, name)| write(tool, name)).collect();
        }
        if self.grammar && !self.offered.tools().is_empty() {
            offer.grammar = Some(CallGrammar::new(layout, &self.offered)?.gbnf());
        }
        Ok(offer)
    }
}

/// Appends to the system message, or inserts one.
fn teach(messages: &mut Vec<Value>, text: &str) {
    if let Some(first) = messages.first_mut()
        && first.get("role").and_then(Value::as_str) == Some("system")
        && let Some(content) = first.get("content").and_then(Value::as_str)
    {
        let content = format!("{content}\n\n{text}");
        if let Value::Object(map) = first {
            map.insert("content".to_owned(), content.into());
        }
        return;
    }
    messages.insert(0, json!({"role": "system", "content": text}));
}
