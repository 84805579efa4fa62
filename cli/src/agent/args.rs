//! The command line of `toolglot run` and `toolglot call`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::TypedValueParser;
use clap::{Args, ValueEnum};
use toolglot_agent::driver::Api;
use toolglot_tools::prompt::Lang;

use crate::groups::{MODEL, OUTPUT, RUN, TOOLS};
use crate::values::{OneDialect, lang, meant};

pub fn api() -> impl TypedValueParser<Value = Api> {
    meant(&[
        (Api::OpenAi, "As OpenAI's chat completions: most servers"),
        (Api::Anthropic, "As Anthropic's messages"),
        (Api::Ollama, "As Ollama's chat"),
    ])
}

pub const RUN_EXAMPLES: &str = "\
The policy decides which calls run. If it requires confirmation, a line of standard input decides: `y`; `n`, optionally with a reason
for the model; `e` with other arguments as JSON; `l` for later, with --save. At the end of standard input, the run stops and waits
with --save, and otherwise the call is denied.

Ctrl-C stops the run. With --save it can continue later; a call that was running is never started again.

Examples:
  toolglot run --model script:examples/agent/replies.txt --dialect hermes \\
    --tools examples/agent/tools.toml --policy examples/agent/policy.toml 'How long is the note?'
  toolglot run --model http://localhost:8000 --model-name qwen3 --dialect hermes \\
    --tools tools.toml 'What is new?'
  toolglot run --model https://api.example.org/v1 --key-env API_KEY --native ... 'What is new?'
  toolglot run ... --save run.json 'Tidy up.'; toolglot run ... --resume run.json

Exit status: 0 the model answered; 1 it failed, or there were too many rounds; 2 wrong usage or unreadable input; 3 the
run is saved and waits for a decision; 130 it was interrupted.";

pub const CALL_EXAMPLES: &str = "\
Arguments are coerced to the tool's schema and validated, like those of a model. The result is written to standard output.

Examples:
  toolglot call --tools examples/agent/tools.toml count_words '{\"path\": \"note.txt\"}'
  echo '{\"path\": \"note.txt\"}' | toolglot call --tools examples/agent/tools.toml count_words -

Exit status: 0 the tool gave a result; 1 it failed, or the call was not valid or not allowed; 2 wrong usage or unreadable input;
130 it was interrupted.";

/// Tools, and what they may do.
#[derive(Debug, Args)]
pub struct ToolArgs {
    /// Tools, each with `execute`, which defines how it is executed: TOML, JSON or YAML, or a folder of plugins
    #[arg(long, value_name = "TOOLS", help_heading = TOOLS)]
    pub tools: PathBuf,
    /// Which calls run, which are confirmed: TOML or JSON [default: `run` asks for each call, `call` allows its one]
    #[arg(long, value_name = "POLICY", help_heading = TOOLS)]
    pub policy: Option<PathBuf>,
    /// Tool whose calls need no confirmation, by its id; may be repeated. What the policy denies stays denied
    #[arg(long, value_name = "TOOL", help_heading = TOOLS)]
    pub yes_to: Vec<String>,
    /// How long a call may take
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "30", help_heading = TOOLS)]
    pub timeout: Duration,
    /// Append instructions and inputs to a file, one JSON object per line, for `toolglot replay`
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub log: Option<PathBuf>,
    /// What to print
    #[arg(long, value_enum, default_value_t = Shown::Text, help_heading = OUTPUT)]
    pub output: Shown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shown {
    /// Text; calls on standard error
    Text,
    /// One JSON object for each event and for the outcome, live
    Events,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// The user's message; `-` is standard input
    #[arg(value_name = "TEXT", required_unless_present = "resume")]
    pub text: Option<String>,
    /// The address of an OpenAI-compatible server, or `script:FILE` with the replies of a model
    #[arg(long, value_name = "URL|script:FILE", help_heading = MODEL)]
    pub model: String,
    /// The model's name on the server
    #[arg(long, value_name = "NAME", default_value = "default", help_heading = MODEL)]
    pub model_name: String,
    /// The protocol of the server
    #[arg(long, value_parser = api(), default_value_t = Api::OpenAi, help_heading = MODEL)]
    pub api: Api,
    /// Environment variable with the server's key [default: no key is sent]
    #[arg(long, value_name = "VARIABLE", help_heading = MODEL)]
    pub key_env: Option<String>,
    /// Send the tools to the server and accept its API tool calls; calls in the text count too
    #[arg(long, help_heading = MODEL)]
    pub native: bool,
    #[command(flatten)]
    pub dialect: OneDialect,
    #[command(flatten)]
    pub tools: ToolArgs,
    /// Language of the prompt's own words
    #[arg(long, value_parser = lang(), default_value_t = Lang::En, help_heading = MODEL)]
    pub lang: Lang,
    /// Maximum number of rounds of calls
    #[arg(long, value_name = "N", default_value = "5", help_heading = RUN)]
    pub max_rounds: u32,
    /// Save the run in a file, so that it can continue [default: the file of --resume]
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub save: Option<PathBuf>,
    /// Continue a saved run. If it was answered, TEXT is the user's next message
    #[arg(long, value_name = "FILE", help_heading = RUN)]
    pub resume: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct CallArgs {
    /// The tool
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Its arguments: a JSON object; `-` is standard input
    #[arg(value_name = "ARGUMENTS", default_value = "{}")]
    pub arguments: String,
    #[command(flatten)]
    pub tools: ToolArgs,
}

pub fn seconds(text: &str) -> Result<Duration, String> {
    let read = text
        .parse()
        .ok()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    read.filter(|time| time.as_millis() > 0)
        .ok_or_else(|| format!("`{text}` is not a number of seconds above 0"))
}
