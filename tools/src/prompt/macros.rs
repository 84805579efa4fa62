//! `{{tools}}`, `{{tools::id1::id2}}` and `{{tool_usage}}` in a system prompt.
//!
//! The text for a macro is cached by everything that it depends on: dialect and layout, agent, version of the registry,
//! configuration, ids, options. Everything else in the prompt is unchanged, and inserted text is not expanded again.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Lang, Layout, PromptError, PromptOptions, tokens};
use crate::{CallConfig, Inventory, Registry, Tool};

/// The maximum number of cached texts; the cache is then emptied.
const CACHE: usize = 256;

/// An expanded system prompt.
///
/// ```
/// use std::sync::Arc;
/// use toolglot_tools::prompt::{Layout, PromptOptions, Prompts};
/// use toolglot_tools::{CallConfig, Registry};
///
/// let layout = Layout::new(&toolglot::DialectSet::builtin("hermes")?, "hermes")?;
/// let prompts = Prompts::new(layout, Arc::new(Registry::new()));
/// let config = CallConfig::enabled();
/// let expanded = prompts.expand("{{tools::wether}}", "agent", &config, &PromptOptions::default())?;
/// assert_eq!(expanded.unknown, ["wether"]); // a misspelt id
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Expanded {
    /// The prompt.
    pub text: String,
    /// Tokens of the inserted text: an estimate, unless [`Prompts::counting`] provides a counter.
    pub tokens: usize,
    /// Ids in `{{tools::..}}` that are not those of a declared tool.
    pub unknown: Vec<String>,
}

/// Expands macros with the tools of one registry. Share it between threads.
///
/// ```
/// use std::sync::Arc;
/// use toolglot_tools::prompt::{Layout, PromptOptions, Prompts};
/// use toolglot_tools::{CallConfig, Registry, Tool};
///
/// let registry = Arc::new(Registry::new());
/// registry.register([Tool::new("weather").description("Tells the weather").callable(true)])?;
/// let layout = Layout::new(&toolglot::DialectSet::defaults(), "tam")?;
/// let prompts = Prompts::new(layout, registry);
///
/// let off = prompts.expand("Hello. {{tools}}", "agent", &CallConfig::default(), &PromptOptions::default())?;
/// assert_eq!(off.text, "Hello. ");
/// let on = prompts.expand("Hello. {{tools}}", "agent", &CallConfig::enabled(), &PromptOptions::default())?;
/// assert!(on.text.contains("- Tool ID: weather"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Prompts {
    layout: Layout,
    registry: Arc<Registry>,
    cache: Mutex<HashMap<Key, Arc<str>>>,
    knowledge: Option<Arc<KnowledgeOf>>,
    count: Arc<Count>,
}

/// Provides additional text about a tool.
type KnowledgeOf = dyn Fn(&Tool) -> Option<String> + Send + Sync;

/// Counts the tokens of a text.
type Count = dyn Fn(&str) -> usize + Send + Sync;

/// Everything that a text depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    dialect: String,
    layout: u64,
    agent: String,
    version: u64,
    config: u64,
    lang: Lang,
    examples: bool,
    what: Macro,
}

/// The contents of double braces.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Macro {
    Tools(Vec<String>),
    Usage,
}

impl std::fmt::Debug for Prompts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prompts")
            .field("layout", &self.layout)
            .finish_non_exhaustive()
    }
}

impl Prompts {
    /// Creates an expander for the tools of a registry.
    #[must_use]
    pub fn new(layout: Layout, registry: Arc<Registry>) -> Self {
        Self {
            layout,
            registry,
            cache: Mutex::default(),
            knowledge: None,
            count: Arc::new(tokens),
        }
    }

    /// Asks `knowledge` for additional text about each tool. Call [`clear`](Self::clear) when the answers change.
    #[must_use]
    pub fn knowledge(
        mut self,
        knowledge: impl Fn(&Tool) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.knowledge = Some(Arc::new(knowledge));
        self
    }

    /// Counts tokens with the model's own vocabulary instead of [estimating](tokens) them.
    #[must_use]
    pub fn counting(mut self, count: impl Fn(&str) -> usize + Send + Sync + 'static) -> Self {
        self.count = Arc::new(count);
        self
    }

    /// Clears the cache.
    pub fn clear(&self) {
        self.cache
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    /// The number of cached texts.
    #[must_use]
    pub fn cached(&self) -> usize {
        self.cache
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }

    /// Expands the macros of a system prompt. A macro becomes empty if calls are not enabled. `{{tools::a::b}}` lists only the
    /// tools with these names, and never one that the agent may not use.
    ///
    /// # Errors
    /// A template fails.
    pub fn expand(
        &self,
        prompt: &str,
        agent: &str,
        config: &CallConfig,
        options: &PromptOptions<'_>,
    ) -> Result<Expanded, PromptError> {
        let mut out = Expanded::default();
        let mut offered: Option<Inventory> = None;
        let mut rest = prompt;
        while let Some(at) = rest.find("{{") {
            let (before, after) = rest.split_at(at);
            out.text.push_str(before);
            let found = after[2..]
                .split_once("}}")
                .and_then(|(inner, tail)| Some((Macro::read(inner)?, tail)));
            let Some((what, tail)) = found else {
                // The next pair of braces may overlap this one.
                out.text.push('{');
                rest = &after[1..];
                continue;
            };
            rest = tail;
            if !config.enabled {
                continue;
            }
            let tools = offered.get_or_insert_with(|| self.registry.inventory().discover(config));
            if let Macro::Tools(ids) = &what {
                let unknown = ids.iter().filter(|id| tools.get(id).is_none());
                out.unknown.extend(unknown.cloned());
            }
            let text = self.text(what, tools, agent, config, options)?;
            out.tokens += (self.count)(&text);
            out.text.push_str(&text);
        }
        out.text.push_str(rest);
        Ok(out)
    }

    fn text(
        &self,
        what: Macro,
        tools: &Inventory,
        agent: &str,
        config: &CallConfig,
        options: &PromptOptions<'_>,
    ) -> Result<Arc<str>, PromptError> {
        let mut hash = DefaultHasher::new();
        config.hash(&mut hash);
        let key = Key {
            dialect: self.layout.dialect().to_owned(),
            layout: self.layout.fingerprint,
            agent: agent.to_owned(),
            version: tools.version(),
            config: hash.finish(),
            lang: options.lang,
            examples: options.examples,
            what,
        };
        // Knowledge passed with one call is not part of the key.
        let keep = options.knowledge.is_none();
        let lock = || self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = lock().get(&key).filter(|_| keep) {
            return Ok(Arc::clone(text));
        }
        let mut options = *options;
        if let (None, Some(own)) = (options.knowledge, &self.knowledge) {
            options.knowledge = Some(&**own);
        }
        let text: Arc<str> = match &key.what {
            Macro::Usage => self.layout.usage(tools, &options)?.into(),
            Macro::Tools(ids) if ids.is_empty() => self.layout.tools(tools, &options)?.into(),
            Macro::Tools(ids) => self.layout.tools(&tools.only(ids), &options)?.into(),
        };
        if keep {
            let mut cache = lock();
            // Texts of earlier versions will not be needed again.
            cache.retain(|have, _| have.version == key.version);
            if cache.len() >= CACHE {
                cache.clear();
            }
            cache.insert(key, Arc::clone(&text));
        }
        Ok(text)
    }
}

impl Macro {
    fn read(inner: &str) -> Option<Self> {
        let mut words = inner.split("::").map(str::trim);
        match words.next()? {
            "tools" => Some(Self::Tools(
                words
                    .filter(|id| !id.is_empty())
                    .map(str::to_owned)
                    .collect(),
            )),
            "tool_usage" if words.next().is_none() => Some(Self::Usage),
            _ => None,
        }
    }
}
