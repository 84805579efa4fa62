//! Text about tools for the model.

use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;

use serde::{Deserialize, Deserializer};

use crate::dialect::lazy::once;

/// Text about tools for the model. A layout is a template, or the name of a shared one.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Prompt {
    /// The sources of the layouts; empty for the general ones.
    pub sources: Vec<String>,
    /// The definitions.
    pub tools: Option<String>,
    /// How to call them.
    pub usage: Option<String>,
    /// The text between both.
    pub between: Option<String>,
    /// Results of calls.
    pub results: Option<String>,
    /// The role of the message with the results.
    pub role: Option<String>,
    /// What ends a reply; `None`: derived from the rest of the file.
    pub stop: Option<Vec<String>>,
    /// Markers of the results layout that no result may contain.
    pub guard: Vec<String>,
    /// The number of characters of a result that are shown.
    pub cut: Option<usize>,
    /// The text that marks where a result is shortened.
    pub mark: Option<String>,
}

/// The same, read when it is first needed: no stream needs it.
#[derive(Clone, Default)]
pub struct LazyPrompt {
    /// The table in a built-in file.
    table: &'static str,
    read: OnceLock<Prompt>,
}

impl LazyPrompt {
    /// Splits a built-in file into what precedes its table of prompts, which comes last, and that table.
    pub(crate) fn split(file: &'static str) -> (&'static str, Self) {
        let (rest, table) = file.split_at(file.find("\n[prompt]\n").unwrap_or(file.len()));
        let read = OnceLock::new();
        (rest, Self { table, read })
    }
}

impl Deref for LazyPrompt {
    type Target = Prompt;

    fn deref(&self) -> &Prompt {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Table {
            prompt: Prompt,
        }
        // A test reads all of them.
        let read = || toml::from_str::<Table>(self.table).unwrap_or_default();
        once(&self.read, || read().prompt)
    }
}

impl<'de> Deserialize<'de> for LazyPrompt {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let read = OnceLock::from(Prompt::deserialize(from)?);
        Ok(Self { table: "", read })
    }
}

impl fmt::Debug for LazyPrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
