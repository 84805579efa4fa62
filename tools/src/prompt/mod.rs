//! Texts about tools for models: definitions, usage, stop sequences and grammars, with one layout per dialect.
//!
//! Layouts are data. A dialect's file contains templates (table `prompt`), or names shared ones; a host can replace each. A
//! dialect without a known layout has the general one. Calls in prompts are written by [`encode`](toolglot::encode()), so the
//! parser can read them. Everything here is a pure function of its arguments, except for the cache of [`Prompts`].
//!
//! `docs/PROMPTS.md` lists the layouts with their sources, and the variables of templates.

mod chat;
pub mod grammar;
mod layout;
mod macros;
mod stop;
#[cfg(test)]
pub(crate) mod tests;
mod tokens;
pub(crate) mod tool;

use crate::{TemplateError, Tool};

pub use crate::template::TemplateOptions;
pub use layout::Layout;
pub use macros::{Expanded, Prompts};
pub use stop::Stops;
#[cfg(feature = "tiktoken")]
pub use tokens::Vocabulary;
pub use tokens::tokens;

/// The language of a prompt's own words. Descriptions of tools are not translated. A chat template always uses the words that
/// its model was trained with.
///
/// ```
/// use toolglot_tools::prompt::Lang;
///
/// assert_eq!("zh".parse(), Ok(Lang::Zh));
/// assert_eq!(Lang::default().name(), "en");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Lang {
    /// Chinese.
    Zh,
    /// English.
    #[default]
    En,
}

toolglot::words! {
    Lang, "language":
    Zh = "zh",
    En = "en",
}

/// A part of a layout that a template fills.
///
/// ```
/// use toolglot_tools::Inventory;
/// use toolglot_tools::prompt::{Layout, Part, PromptOptions};
///
/// let layout = Layout::new(&toolglot::DialectSet::builtin("hermes")?, "hermes")?
///     .with(Part::Usage, "Call a tool if it helps.")?;
/// let usage = layout.usage(&Inventory::default(), &PromptOptions::default())?;
/// assert_eq!(usage, "Call a tool if it helps.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Part {
    /// The definitions of tools.
    Tools,
    /// How to call them.
    Usage,
    /// Results of calls.
    Results,
}

toolglot::words! {
    Part, "part of a layout":
    Tools = "tools",
    Usage = "usage",
    Results = "results",
}

/// Provides additional text about a tool, such as examples of its use or common mistakes.
///
/// See the example of [`PromptOptions`].
pub type Knowledge<'k> = dyn Fn(&Tool) -> Option<String> + Send + Sync + 'k;

/// How to write prompts.
///
/// ```
/// use toolglot_tools::prompt::{Knowledge, Layout, PromptOptions};
/// use toolglot_tools::{Inventory, Tool};
///
/// let advice: &Knowledge<'_> = &|tool| (tool.id == "weather").then(|| "Ask for one city at a time.".to_owned());
/// let options = PromptOptions::default().knowledge(Some(advice));
/// let layout = Layout::new(&toolglot::DialectSet::builtin("tam2")?, "tam2")?;
/// let tools = Inventory::of([Tool::new("weather").description("Tells the weather")])?;
/// assert!(layout.tools(&tools, &options)?.contains("Ask for one city at a time."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct PromptOptions<'k> {
    /// The language of the prompt's own words.
    pub lang: Lang,
    /// Whether the usage shows whole conversations, if the layout has any. On by default.
    pub examples: bool,
    /// Provides additional text about a tool.
    pub knowledge: Option<&'k Knowledge<'k>>,
}

toolglot::setters! {
    PromptOptions<'k>:
    lang = Lang,
    examples = bool,
    knowledge: Option<&'k Knowledge<'k>>,
}

impl Default for PromptOptions<'_> {
    fn default() -> Self {
        Self {
            lang: Lang::En,
            examples: true,
            knowledge: None,
        }
    }
}

impl std::fmt::Debug for PromptOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PromptOptions")
            .field("lang", &self.lang)
            .field("examples", &self.examples)
            .field("knowledge", &self.knowledge.is_some())
            .finish()
    }
}

/// Why a prompt cannot be written.
///
/// ```
/// use toolglot_tools::prompt::{Layout, PromptError};
///
/// let set = toolglot::DialectSet::builtin("hermes")?;
/// assert!(matches!(Layout::new(&set, "llama3"), Err(PromptError::Dialect { dialect }) if dialect == "llama3"));
/// # Ok::<(), toolglot::BuildError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PromptError {
    /// The set has no such dialect, or it has no calls.
    #[error("there is no dialect {dialect} with calls in the set")]
    Dialect {
        /// The id that was asked for.
        dialect: String,
    },
    /// A template is invalid, or fails.
    #[error("template {part}: {message}")]
    Template {
        /// Which template.
        part: String,
        /// Why.
        message: String,
    },
    /// A schema is invalid.
    #[error("{message}")]
    Schema {
        /// Where and why.
        message: String,
    },
    /// The markers of the set cannot be escaped.
    #[error(transparent)]
    Escape(#[from] toolglot::EscapeError),
}

impl From<TemplateError> for PromptError {
    fn from(error: TemplateError) -> Self {
        Self::Template {
            part: "chat template".to_owned(),
            message: error.message,
        }
    }
}

impl PromptError {
    fn template(part: &str, error: &minijinja::Error) -> Self {
        Self::Template {
            part: part.to_owned(),
            message: TemplateError::of(error).message,
        }
    }
}
