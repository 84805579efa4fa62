//! The configuration: a TOML file, and flags that override it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use toolglot::sink::openai;
use toolglot::{Limits, Prefer};
use toolglot_tools::prompt::Lang;

use crate::Args;

/// The protocol of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Api {
    /// `/v1/chat/completions`.
    #[default]
    OpenAi,
    /// Anthropic's `/v1/messages`.
    Anthropic,
    /// Ollama's `/api/chat`.
    Ollama,
}

toolglot::words! {
    Api, "interface":
    OpenAi = "openai",
    Anthropic = "anthropic",
    Ollama = "ollama",
}

/// How requests are changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Not at all: the server, or its template, supports tools.
    #[default]
    Repair,
    /// Tools, calls and results become text.
    Prompt,
}

toolglot::words! {
    Mode, "mode":
    Repair = "repair",
    Prompt = "prompt",
}

/// What becomes of recovered calls, which may be truncated, mixed or guessed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Recovered {
    /// They are withheld from the client, and reported.
    #[default]
    Withhold,
    /// The client gets them like complete ones.
    Deliver,
    /// The model gets the error message and is asked again, as long as the client has seen nothing but text.
    Ask,
}

toolglot::words! {
    Recovered, "rule for recovered calls":
    Withhold = "withhold",
    Deliver = "deliver",
    Ask = "ask",
}

impl Recovered {
    pub(crate) const fn sink(self) -> openai::Recovered {
        match self {
            Self::Withhold | Self::Ask => openai::Recovered::Withhold,
            Self::Deliver => openai::Recovered::Deliver,
        }
    }
}

/// A grammar that the server may enforce.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Grammar {
    #[default]
    None,
    /// llama.cpp's member `grammar`.
    Gbnf,
    /// vLLM's and SGLang's `response_format` of type `structural_tag`.
    StructuralTag,
}

toolglot::words! {
    Grammar, "grammar":
    None = "none",
    Gbnf = "gbnf",
    StructuralTag = "structural_tag",
}

/// Settings for models of one name.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Rule {
    /// A glob: `*` matches any text, `?` one character. Case does not matter.
    #[serde(rename = "match")]
    pub glob: Option<String>,
    /// Whether responses are read at all.
    pub enabled: Option<bool>,
    pub dialect: Option<String>,
    pub mode: Option<Mode>,
    pub recovered: Option<Recovered>,
    pub prefer: Option<Prefer>,
    pub grammar: Option<Grammar>,
    pub language: Option<Lang>,
    /// How often the model is asked again at most.
    pub rounds: Option<u32>,
}

impl Rule {
    /// Fills in missing settings from another rule.
    fn or(&mut self, other: &Self) {
        fn or<T: Clone>(own: &mut Option<T>, other: &Option<T>) {
            if own.is_none() {
                own.clone_from(other);
            }
        }
        or(&mut self.enabled, &other.enabled);
        or(&mut self.dialect, &other.dialect);
        or(&mut self.mode, &other.mode);
        or(&mut self.recovered, &other.recovered);
        or(&mut self.prefer, &other.prefer);
        or(&mut self.grammar, &other.grammar);
        or(&mut self.language, &other.language);
        or(&mut self.rounds, &other.rounds);
    }
}

/// Limits. Sizes are in bytes, times in seconds.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Bounds {
    /// Of the body of a request, and of a response that is not streamed.
    pub body: usize,
    /// Time for the head of a request.
    pub head: u64,
    /// Time until the server's response begins.
    pub first_byte: u64,
    /// Time between two chunks.
    pub silence: u64,
    /// Time of a whole exchange.
    pub total: u64,
    /// Concurrent exchanges.
    pub streams: usize,
    /// Time for open exchanges when the process ends.
    pub shutdown: u64,
    /// Limits of the parser.
    pub parser: Limits,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            body: 64 << 20,
            head: 30,
            first_byte: 600,
            silence: 300,
            total: 3600,
            streams: 4096,
            shutdown: 30,
            parser: Limits::default(),
        }
    }
}

/// The configuration of the gateway.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub(crate) upstream: Option<String>,
    pub(crate) listen: Option<String>,
    pub(crate) api: Option<Api>,
    /// The server, of OpenAI's protocol, answers `/v1/responses` itself.
    pub(crate) responses: bool,
    /// The key for the server, instead of the client's.
    pub(crate) key: Option<String>,
    /// The environment variable with the key.
    pub(crate) key_env: Option<String>,
    pub(crate) record: Option<PathBuf>,
    /// Additional dialect files.
    pub(crate) dialects: Vec<PathBuf>,
    pub(crate) limits: Bounds,
    /// For models that no rule names.
    pub(crate) default: Rule,
    pub(crate) models: Vec<Rule>,
    /// The texts of the files in `dialects`.
    #[serde(skip)]
    pub(crate) texts: BTreeMap<String, String>,
}

/// Why a configuration is invalid.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file cannot be read.
    #[error("{file}: {why}")]
    File {
        /// The file.
        file: String,
        /// The cause.
        why: String,
    },
    /// A setting is invalid.
    #[error("{0}")]
    Odd(String),
}

impl Config {
    /// Reads the file, if there is one, and applies the flags.
    ///
    /// # Errors
    /// A file cannot be read, a value is unknown, or there is no server.
    pub fn read(args: &Args) -> Result<Self, ConfigError> {
        let mut config = match &args.config {
            None => Self::default(),
            Some(path) => {
                let fail = |why: String| ConfigError::File {
                    file: path.display().to_string(),
                    why,
                };
                let text = std::fs::read_to_string(path).map_err(|e| fail(e.to_string()))?;
                // The error itself shows the line, which may hold a key.
                toml::from_str(&text).map_err(|error: toml::de::Error| {
                    let at = error.span().map_or(0, |span| span.start);
                    let line = text[..at].matches('\n').count() + 1;
                    fail(format!("line {line}: {}", error.message()))
                })?
            }
        };
        config.flags(args)?;
        config.load()?;
        Ok(config)
    }

    fn flags(&mut self, args: &Args) -> Result<(), ConfigError> {
        fn word<T: std::str::FromStr>(
            text: &Option<String>,
            own: &mut Option<T>,
        ) -> Result<(), ConfigError>
        where
            T::Err: std::fmt::Display,
        {
            if let Some(text) = text {
                let read = text.parse::<T>();
                *own = Some(read.map_err(|error| ConfigError::Odd(error.to_string()))?);
            }
            Ok(())
        }
        let set = |from: &Option<String>, own: &mut Option<String>| {
            if from.is_some() {
                own.clone_from(from);
            }
        };
        set(&args.upstream, &mut self.upstream);
        set(&args.listen, &mut self.listen);
        set(&args.dialect, &mut self.default.dialect);
        word(&args.api, &mut self.api)?;
        word(&args.mode, &mut self.default.mode)?;
        if args.record.is_some() {
            self.record.clone_from(&args.record);
        }
        Ok(())
    }

    /// Reads the files that the configuration names.
    fn load(&mut self) -> Result<(), ConfigError> {
        if self.upstream.is_none() {
            let why = "no server to ask: --upstream URL, or `upstream` in the file";
            return Err(ConfigError::Odd(why.to_owned()));
        }
        for path in &self.dialects {
            let file = path.display().to_string();
            let text = std::fs::read_to_string(path).map_err(|error| ConfigError::File {
                file: file.clone(),
                why: error.to_string(),
            })?;
            self.texts.insert(file, text);
        }
        if let Some(name) = &self.key_env {
            let key = std::env::var(name).map_err(|_| {
                ConfigError::Odd(format!("the variable {name} of `key_env` is not set"))
            })?;
            self.key = Some(key);
        }
        if let Some(rule) = self.models.iter().find(|rule| rule.glob.is_none()) {
            let what = rule.dialect.as_deref().unwrap_or("a rule");
            let why = format!("`models`: {what}: `match` is missing");
            return Err(ConfigError::Odd(why));
        }
        Ok(())
    }

    /// Returns the settings of a model: the first rule that matches it, and the default for the rest.
    pub(crate) fn rule(&self, model: &str) -> Rule {
        let named = |rule: &&Rule| rule.glob.as_deref().is_some_and(|glob| fits(glob, model));
        let mut rule = self.models.iter().find(named).cloned().unwrap_or_default();
        rule.or(&self.default);
        rule
    }
}

/// Whether a name matches a glob. Linear except for `*`, which backtracks to the last one only.
fn fits(glob: &str, name: &str) -> bool {
    let glob: Vec<char> = glob.to_lowercase().chars().collect();
    let name: Vec<char> = name.to_lowercase().chars().collect();
    let (mut at, mut place, mut star) = (0, 0, None);
    while place < name.len() {
        match glob.get(at) {
            Some('*') => {
                star = Some((at, place));
                at += 1;
            }
            Some(one) if *one == '?' || *one == name[place] => {
                at += 1;
                place += 1;
            }
            Some(_) | None => {
                let Some((back, taken)) = star else {
                    return false;
                };
                star = Some((back, taken + 1));
                at = back + 1;
                place = taken + 1;
            }
        }
    }
    glob[at..].iter().all(|rest| *rest == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_globs() {
        for (glob, name, fit) in [
            ("*", "", true),
            ("qwen3*", "Qwen3-8B", true),
            ("*/qwen?-*", "org/qwen3-8b", true),
            ("*a*b", "aab", true),
            ("*a*b", "aaba", false),
            ("qwen3", "qwen35", false),
            ("", "x", false),
        ] {
            assert_eq!(fits(glob, name), fit, "{glob} {name}");
        }
    }

    #[test]
    fn the_first_rule_that_names_a_model_counts_and_the_default_fills_it() {
        let config: Config = toml::from_str(
            r#"
            upstream = "http://x"
            [default]
            dialect = "hermes"
            recovered = "deliver"
            [[models]]
            match = "glm*"
            dialect = "glm45"
            [[models]]
            match = "*"
            mode = "prompt"
            "#,
        )
        .unwrap();
        let rule = config.rule("GLM-4.5");
        assert_eq!(rule.dialect.as_deref(), Some("glm45"));
        assert_eq!(rule.recovered, Some(Recovered::Deliver));
        let rule = config.rule("other");
        assert_eq!(rule.dialect.as_deref(), Some("hermes"));
        assert_eq!(rule.mode, Some(Mode::Prompt));
    }

    #[test]
    fn a_file_with_unknown_settings_is_refused() {
        for text in [
            "upstraem = 'x'",
            "[limits]\nbodi = 1",
            "[default]\nmode = 'x'",
        ] {
            assert!(toml::from_str::<Config>(text).is_err(), "{text}");
        }
    }
}
