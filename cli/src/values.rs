//! Arguments that several commands have, and how they are read.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use toolglot::words::{self, Word};
use toolglot::{Prefer, Start, UnknownTool, Untyped};
use toolglot_testkit::options;
use toolglot_tools::prompt::Lang;

use crate::groups::DIALECTS;

/// One dialect.
#[derive(Debug, Args)]
pub struct OneDialect {
    /// Dialect: an id or an alias
    #[arg(long, value_name = "ID", help_heading = DIALECTS)]
    pub dialect: String,
    /// Additional dialect file; may be repeated
    #[arg(long = "dialect-file", value_name = "F", help_heading = DIALECTS)]
    pub files: Vec<PathBuf>,
    /// Variation of the dialect to enable, for example vcp.aio-prompt; may be repeated
    #[arg(long = "switch", value_name = "DIALECT.NAME", value_parser = options::switch, help_heading = DIALECTS)]
    pub switches: Vec<(String, String)>,
}

/// Parses the library's enum names, and describes each in the help.
pub fn meant<T>(known: &[(T, &'static str)]) -> impl TypedValueParser<Value = T> + use<T>
where
    T: Word + Send + Sync,
{
    let known = known
        .iter()
        .map(|(one, help)| PossibleValue::new(T::WORDS[one.place()]).help(*help));
    PossibleValuesParser::new(known.collect::<Vec<_>>()).try_map(|word| words::read(&word))
}

/// How text of unknown type is read.
pub fn untyped() -> impl TypedValueParser<Value = Untyped> {
    meant(&[
        (Untyped::String, "A string"),
        (Untyped::Json, "What it says as JSON; else a string"),
    ])
}

pub fn unknown_tool() -> impl TypedValueParser<Value = UnknownTool> {
    meant(&[
        (UnknownTool::Deliver, "It is delivered, with a warning"),
        (UnknownTool::Text, "It is text"),
        (UnknownTool::Drop, "It is left out, with an error"),
    ])
}

pub fn start() -> impl TypedValueParser<Value = Start> {
    meant(&[
        (Start::Text, "In plain text: no thought is open"),
        (Start::Reasoning, "Inside a thought that the prompt opened"),
    ])
}

pub fn prefer() -> impl TypedValueParser<Value = Prefer> {
    meant(&[
        (
            Prefer::Text,
            "Those in the text; native ones only if the text has none",
        ),
        (
            Prefer::Native,
            "Native ones; from the first one on, markers in the text are text",
        ),
        (
            Prefer::Both,
            "Both, without native ones that repeat one of the text",
        ),
    ])
}

pub fn lang() -> impl TypedValueParser<Value = Lang> {
    meant(&[(Lang::Zh, "Chinese"), (Lang::En, "English")])
}

/// Whether a path means standard input.
pub fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Returns the number of threads: the given one, else one per core.
pub fn threads(jobs: Option<NonZeroUsize>) -> NonZeroUsize {
    jobs.or_else(|| std::thread::available_parallelism().ok())
        .unwrap_or(NonZeroUsize::MIN)
}

pub fn milliseconds(text: &str) -> Result<Duration, String> {
    text.parse()
        .map(Duration::from_millis)
        .map_err(|_| format!("`{text}` is not a whole number of milliseconds"))
}
