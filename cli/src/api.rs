//! Flags for API formats: the format of the input, and how chat completions and masked text are written.

use clap::{Args, ValueEnum};
use toolglot::sink::mask::Show;
use toolglot::sink::openai::{self, Head, Settings};
use toolglot::source::{Anthropic, Ollama, OpenAi, Source};

/// The format of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// What the model wrote
    Text,
    /// A chat completion: server-sent events, or one JSON body
    OpenaiSse,
    /// An Anthropic message: server-sent events, or one JSON body
    AnthropicSse,
    /// Ollama's /api/chat or /api/generate: one JSON object a line
    Ollama,
}

impl Format {
    /// Returns the reader of a response; none for text.
    pub fn source(self, choice: Option<u64>) -> Option<Box<dyn Source>> {
        match self {
            Self::Text => None,
            Self::OpenaiSse => Some(Box::new(OpenAi::new().choice(choice.unwrap_or(0)))),
            Self::AnthropicSse => Some(Box::new(Anthropic::new())),
            Self::Ollama => Some(Box::new(Ollama::new())),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Calls {
    /// While they are written; the last `}` waits until the call stands
    Live,
    /// Whole, when their block has closed
    AtClose,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Recovered {
    /// Leave them out: a client would run them without asking
    Withhold,
    /// Like complete ones
    Deliver,
}

/// How chat completions are written.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Options of --output openai and completion")]
pub struct OpenAiArgs {
    /// When calls are sent; a completion has them at close [default: live]
    #[arg(long, value_enum, value_name = "WHEN")]
    pub calls: Option<Calls>,
    /// What becomes of recovered calls [default: withhold]
    #[arg(long, value_enum, value_name = "RULE")]
    pub recovered: Option<Recovered>,
    /// Name of the model [default: what a response says, or toolglot]
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Id of the response [default: its own, or chatcmpl-toolglot]
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// When it was made, in seconds since 1970 [default: what a response says, or 0]
    #[arg(long, value_name = "SECONDS")]
    pub created: Option<u64>,
    /// Seed of the ids of calls that have none: the same seed, the same ids [default: another one each time]
    #[arg(long, value_name = "N")]
    pub id_seed: Option<u64>,
    /// How such ids begin [default: call_]
    #[arg(long, value_name = "TEXT")]
    pub id_prefix: Option<String>,
    /// Member that holds reasoning; empty leaves it out [default: reasoning_content]
    #[arg(long, value_name = "NAME")]
    pub reasoning_field: Option<String>,
}

impl OpenAiArgs {
    /// Returns the first flag that was given.
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            (self.calls.is_some(), "--calls"),
            (self.recovered.is_some(), "--recovered"),
            (self.model.is_some(), "--model"),
            (self.id.is_some(), "--id"),
            (self.created.is_some(), "--created"),
            (self.id_seed.is_some(), "--id-seed"),
            (self.id_prefix.is_some(), "--id-prefix"),
            (self.reasoning_field.is_some(), "--reasoning-field"),
        ];
        given.iter().find(|(is, _)| *is).map(|(_, flag)| *flag)
    }

    pub fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        settings.calls = match self.calls {
            None | Some(Calls::Live) => openai::Calls::Live,
            Some(Calls::AtClose) => openai::Calls::AtClose,
        };
        settings.recovered = match self.recovered {
            None | Some(Recovered::Withhold) => openai::Recovered::Withhold,
            Some(Recovered::Deliver) => openai::Recovered::Deliver,
        };
        settings.id_seed = self.id_seed.unwrap_or_else(crate::seed::fresh);
        if let Some(prefix) = &self.id_prefix {
            settings.id_prefix.clone_from(prefix);
        }
        if let Some(field) = &self.reasoning_field {
            settings.reasoning = Some(field.clone()).filter(|field| !field.is_empty());
        }
        settings
    }

    pub fn head(&self) -> Head {
        let or = |text: &Option<String>, default: &str| text.clone().unwrap_or(default.to_owned());
        Head::default()
            .id(or(&self.id, "chatcmpl-toolglot"))
            .created(self.created.unwrap_or(0))
            .model(or(&self.model, "toolglot"))
            .choice(0)
    }
}

/// How masked text is written.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of --output mask")]
pub struct MaskArgs {
    /// What stands for a block of calls; {tools} in it for the names of its tools [default: nothing]
    #[arg(long, value_name = "TEXT")]
    pub mask_calls: Option<String>,
    /// What stands for reasoning; empty leaves it out [default: reasoning as it is]
    #[arg(long, value_name = "TEXT")]
    pub mask_reasoning: Option<String>,
}

impl MaskArgs {
    /// Returns the first flag that was given.
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            (self.mask_calls.is_some(), "--mask-calls"),
            (self.mask_reasoning.is_some(), "--mask-reasoning"),
        ];
        given.iter().find(|(is, _)| *is).map(|(_, flag)| *flag)
    }

    pub fn calls(&self) -> Show {
        replace(self.mask_calls.as_deref()).unwrap_or(Show::Drop)
    }

    pub fn reasoning(&self) -> Show {
        replace(self.mask_reasoning.as_deref()).unwrap_or(Show::Keep)
    }
}

fn replace(text: Option<&str>) -> Option<Show> {
    text.map(|text| match text {
        "" => Show::Drop,
        text => Show::With(text.to_owned()),
    })
}
