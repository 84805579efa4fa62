//! The command line.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use toolglot::{Finish, Prefer, Start, ToolChoice, UnknownTool, Untyped};
use toolglot_testkit::chunks::Chunking;
use toolglot_testkit::options;
use toolglot_testkit::recording::Way;
use toolglot_testkit::sets::{Choice, SetError, Sets};
use toolglot_tools::prompt::Lang;

#[cfg(feature = "agent")]
use crate::agent::args::{CALL_EXAMPLES, CallArgs, RUN_EXAMPLES, RunArgs};
#[cfg(feature = "serve")]
use crate::agent::serve;
use crate::api::{Format, MaskArgs, OpenAiArgs};
use crate::field::Field;
use crate::groups::{DIALECTS, INPUT, OUTPUT, RECORDS, RUN, TOOLS};
use crate::values::{OneDialect, lang, milliseconds, prefer, start, unknown_tool, untyped};

/// The examples of the command: one for the commands of the feature `agent`, and a note on their statuses.
macro_rules! examples {
    ($agent:literal, $statuses:literal) => {
        concat!(
            "\
Examples:
  toolglot parse reply.txt                          show text, reasoning and calls
  toolglot parse --output turn < reply.txt          the same as one JSON object
  toolglot parse --chunk 3 --delay 30 reply.txt     watch it stream
  toolglot batch replies.jsonl -o turns.jsonl       one turn per line, on all cores
  toolglot check tests/vectors/*.jsonl              do they pass however they are split?
  toolglot detect reply.txt                         which dialect is this?
  toolglot replay bug.json                          run a recorded stream again
  toolglot encode --dialect vcp < calls.json        the text that a model would write
  toolglot transcode --to hermes reply.txt          the same calls in another dialect
  toolglot escape page.html                         no dialect sees a marker in it any more
  toolglot prompt --dialect vcp --tools tools.json  tool definitions as the model reads them
  toolglot result --dialect vcp < results.json      tool results as the model reads them
  toolglot dialects                                 the built-in dialects
  toolglot validate --tools tools.json < turn.json  may these calls be executed?
  toolglot tools import mcp.json                    tool definitions in one form
",
            $agent,
            "  toolglot completions bash                         completions of a shell
  toolglot man | man -l -                           the manual page

Exit status: 0 success; 1 errors were found and --strict is set, or a check failed; 2 wrong usage or unreadable input.",
            $statuses
        )
    };
}

#[cfg(feature = "agent")]
const EXAMPLES: &str = examples!(
    "  toolglot run --help                               run a model and execute its calls\n",
    "\n`run` and `call` have more; see their help."
);
#[cfg(not(feature = "agent"))]
const EXAMPLES: &str = examples!("", "");

const PARSE_EXAMPLES: &str = "\
Examples:
  toolglot parse examples/mixed.txt
  toolglot parse --dialect vcp --switch vcp.fuzzy --output events reply.txt
  toolglot parse --tools tools.json --output turn reply.txt | jq '.calls[].arguments'
  toolglot parse --dialect-file mine.toml --chunk random:7 reply.txt
  llm prompt | toolglot parse
  toolglot parse --output openai reply.txt            as the stream of a chat completion
  curl -sN $SERVER/v1/chat/completions -d @ask.json | toolglot parse --input openai-sse
  toolglot parse --output mask --mask-calls '[{tools}]' reply.txt

An API response has text, API tool calls and reasoning; spans count the bytes of its text. Unreadable parts are
reported on standard error with their line, and the rest is read.";

const BATCH_EXAMPLES: &str = "\
Records, one JSON object per line:
  {\"id\"?, \"input\" | \"input_b64\", \"dialect\"? | \"dialects\"?, \"tools\"?, \"finish\"?,
   \"options\"?, \"native_tool_calls\"?, \"prompt_tail\"?, \"tool_choice\"?, \"start\"?, \"prefill\"?}
gives, in the same order,
  {\"id\"?, \"text\", \"reasoning\", \"calls\": [...], \"errors\": [...], \"tool_issues\"?: [...]}

A conversation, {\"messages\": [{\"role\", \"content\"}...]} or {\"conversations\": [{\"from\", \"value\"}...]},
and any record with --field stays as it is and gets one more member, with a turn for each text:
  {..., \"turns\": [{\"at\": \"/messages/1/content\", \"text\", \"reasoning\", \"calls\", \"errors\"}...]}
Of messages only those of the model are read. Its `tools`, a list or the JSON of one, are declared.

A line that is not a record gives
  {\"line\": N, \"id\"?, \"error\": \"...\", \"record\"}
Blank lines are skipped. Memory does not grow with the length of the file.

Examples:
  toolglot batch replies.jsonl -o turns.jsonl
  toolglot batch --dialect all --jobs 4 < replies.jsonl | jq -c '.calls[]'
  toolglot batch sharegpt.jsonl -o turns.jsonl
  toolglot batch --field '/choices/*/message/content' log.jsonl | jq -c '.turns[].calls[]'
  toolglot batch --field /output outputs.parquet -o turns.parquet";

const STATS_EXAMPLES: &str = "\
A file named .jsonl, .ndjson or .parquet has records as `toolglot batch` reads them; any other file is one output. LOST is the
number of bytes that no event has: it is always 0, else the status is 1.

Examples:
  toolglot stats replies.jsonl sharegpt.jsonl
  toolglot stats --dialect all logs/*.txt
  toolglot stats --output json --field /output outputs.parquet | jq .total.errors";

const CHECK_EXAMPLES: &str = "\
Every vector runs in one chunk, in small chunks, and split in two at every place (at a sample of places above 1 KiB), with its
dialect alone and in the default set. Short vectors (40 bytes) run under all 3-way splits and longer ones under a
sample; with `--cuts all` vectors up to 256 bytes run under all of them and in chunks of every size, which takes 30 times as long.

Examples:
  toolglot check tests/vectors/*.jsonl
  toolglot check --cuts all mine.jsonl
  toolglot check --dialect-file mine.toml mine.jsonl";

const DETECT_EXAMPLES: &str = "\
Every dialect reads the input; those that find calls in it are named, strongest evidence first, then those that only find
markers. Dialects of one group have the same markup: any of them reads the input.

Examples:
  toolglot detect reply.txt
  toolglot detect --tools tools.json reply.txt               tags that are tool names count too
  toolglot detect --output json reply.txt | jq -r '.dialects[0].dialect'";

const ESCAPE_EXAMPLES: &str = "\
Every marker of the dialects gets a backslash, and so do the edges of a text that begins or ends inside one; everything else is
unchanged. `toolglot unescape` with the same dialects restores the original.

Examples:
  toolglot escape page.html > safe.txt
  curl -s https://example.org | toolglot escape --dialect all";

const UNESCAPE_EXAMPLES: &str = "\
Examples:
  toolglot unescape safe.txt > page.html
  toolglot escape --dialect vcp < a.txt | toolglot unescape --dialect vcp";

const ENCODE_EXAMPLES: &str = "\
Calls are a JSON array (or one object) of
  {\"name\", \"arguments\": {...} or JSON text, \"id\"?}
or of OpenAI's {\"id\", \"function\": {\"name\", \"arguments\"}}, of Anthropic's and Gemini's (\"input\", \"args\"); a turn printed by
`toolglot parse` works too. A member that is not read is an error, and so is a call that is recovered. The text reads back as
these calls; a call that the dialect cannot express is an error that names the value and the rule.

Examples:
  echo '{\"name\": \"weather\", \"arguments\": {\"city\": \"Leith\"}}' | toolglot encode --dialect qwen3-coder
  toolglot encode --dialect tam --tools tools.json calls.json
  toolglot parse --output turn reply.txt | toolglot encode --dialect hermes";

const TRANSCODE_EXAMPLES: &str = "\
Text is unchanged, but an opener of the old dialect that opened nothing may get an escape, so that no reader takes it for a call.
Calls are written anew in their places, several calls of one block together. A call that is recovered or that the new dialect cannot
express is an error with its place; with `--keep` its bytes stay.

Examples:
  toolglot transcode --to vcp reply.txt
  toolglot transcode --from hermes --to qwen3-coder --tools tools.json < reply.txt > other.txt";

#[cfg(feature = "gateway")]
const GATEWAY_EXAMPLES: &str = "\
Prints its address when it is ready. All settings are described in docs/GATEWAY.md.

Examples:
  toolglot gateway --upstream http://127.0.0.1:8000
  toolglot gateway --upstream http://127.0.0.1:8000 --dialect hermes --mode prompt";

const PROMPT_EXAMPLES: &str = "\
Tools are a list of OpenAI's, Anthropic's or MCP's, or a plugin manifest. Layouts are listed in docs/PROMPTS.md.

Examples:
  toolglot prompt --dialect vcp --tools tools.json --lang zh
  toolglot prompt --dialect hermes --tools tools.json --part structural-tag > tag.json
  toolglot prompt --dialect react-text --part stop";

const DERIVE_EXAMPLES: &str = "\
The template is asked to write turns, and a dialect counts only if it reads them back under every cut. If a built-in dialect does,
its id is printed. See docs/DERIVE.md.

Examples:
  toolglot dialects derive model/ -o mine.toml
  toolglot dialects derive model.gguf --var enable_thinking=false";

const RENDER_EXAMPLES: &str = "\
A template is a model's folder of Hugging Face, its `tokenizer_config.json` or `chat_template.jinja`, a GGUF file, or the answer of
llama.cpp's `/props`. A conversation is a request of a chat API
  {\"messages\": [...], \"tools\"?: [...], \"add_generation_prompt\"?: true, ...}
whose other members are variables of the template, or a list of messages alone.

Examples:
  toolglot render model/ request.json
  jq -c '{messages}' requests.jsonl | toolglot render --lines chat_template.jinja";

const RESULT_EXAMPLES: &str = "\
Results are a JSON array (or one object) of
  {\"id\"?, \"name\", \"status\"?: success | error | denied | cancelled | timeout, \"content\"?,
   \"duration_ms\"?}
with content that is text, any JSON, or a list of MCP's content parts. No marker of a dialect comes through.

Examples:
  echo '{\"name\": \"weather\", \"content\": \"sunny\"}' | toolglot result --dialect vcp --lang zh
  toolglot result --dialect hermes --select /items/0 --max-bytes 2000 results.json";

const REPLAY_EXAMPLES: &str = "\
A recording is one JSON object; docs/REPLAY.md has every key:
  {\"note\"?, \"input\" | \"input_b64\", \"cuts\"?: [LENGTH...], \"dialects\"?: [ID | {\"file\", \"toml\"}...],
   \"options\"?, \"tools\"?, \"native_tool_calls\"?, \"finish\"?, \"expect\": [ENTRY...]}
It runs in its own chunks and in one chunk; both must give the log in `expect`.

The log of an agent's run (`toolglot run --log FILE`) is replayed too: its inputs are given again, and must give the same
instructions.

Examples:
  toolglot parse --record bug.json reply.txt       write one
  toolglot replay bug.json                         run it again; the first difference is printed
  toolglot replay --rechunk each tests/replay/*    under every way to split it
  toolglot replay --minimise -o small.json bug.json
  toolglot replay --update bug.json                make the current log the expected one";

const DIALECTS_EXAMPLES: &str = "\
Examples:
  toolglot dialects                  list the built-in dialects
  toolglot dialects show vcp         print the file of one
  toolglot dialects lint mine.toml   check a file of your own, alone and beside the default set
  toolglot dialects import tokenizer_config.json --id mine -o mine.toml
                                     convert a response_template to a dialect file

`lint` prints findings as warnings; below each set it lists shared openers and what distinguishes them.";

const VALIDATE_EXAMPLES: &str = "\
Reads a turn printed by `toolglot parse --output turn`, or calls in the form that `toolglot encode` takes. Prints
  {\"valid\", \"calls\": [{\"tool\", \"name\", \"valid\", \"arguments\", \"state\", \"kinds\", \"changes\",
    \"violations\", \"observation\"}...], \"observations\"}
Arguments are coerced to the types of the tool's schema and get its defaults; each change is reported. Observations are error
messages for the model, in the words of the dialect of each call. Exit status 1 if a call is invalid or recovered.

Examples:
  toolglot parse --output turn reply.txt | toolglot validate --tools tools.json
  toolglot validate --tools plugin.yaml --preset preset.json < turn.json | jq -r '.observations[]'";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  toolglot completions bash > ~/.local/share/bash-completion/completions/toolglot
  toolglot completions zsh > ~/.zfunc/_toolglot          in a folder of $fpath
  toolglot completions fish > ~/.config/fish/completions/toolglot.fish";

const MAN_EXAMPLES: &str = "\
Examples:
  toolglot man | man -l -
  toolglot man parse | man -l -
  toolglot man --dir ~/.local/share/man/man1             toolglot.1, toolglot-parse.1 and so on";

const TOOLS_EXAMPLES: &str = "\
Examples:
  toolglot tools import openai.json plugin.yaml > tools.json
  toolglot tools import --server files mcp.json      ids become files:NAME

Lists of OpenAI and Anthropic, results of MCP's tools/list and plugin manifests (YAML or JSON) become one manifest in JSON.
Exit status 1 if the schema of a tool cannot be used; each of them is reported on standard error.";

/// Parse the tool calls that language models write into their text.
#[derive(Debug, Parser)]
#[command(name = "toolglot", version, after_help = EXAMPLES)]
pub struct Cli {
    /// When to use colours; NO_COLOR is respected
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Parse one model output
    #[command(after_help = PARSE_EXAMPLES)]
    Parse(Box<ParseArgs>),
    /// Parse many outputs, one JSON record per line
    #[command(after_help = BATCH_EXAMPLES)]
    Batch(BatchArgs),
    /// Count calls, dialects and errors in files of outputs
    #[command(after_help = STATS_EXAMPLES)]
    Stats(StatsArgs),
    /// Check conformance vectors, split at every place
    #[command(after_help = CHECK_EXAMPLES)]
    Check(CheckArgs),
    /// Name the dialect that an output is written in
    #[command(after_help = DETECT_EXAMPLES)]
    Detect(DetectArgs),
    /// Replay recordings of streams and compare the results
    #[command(after_help = REPLAY_EXAMPLES)]
    Replay(ReplayArgs),
    /// Write calls as a model would, in any dialect
    #[command(after_help = ENCODE_EXAMPLES)]
    Encode(EncodeArgs),
    /// Write the calls of a model output in another dialect
    #[command(after_help = TRANSCODE_EXAMPLES)]
    Transcode(TranscodeArgs),
    /// Make untrusted text safe for a prompt or a tool result
    #[command(after_help = ESCAPE_EXAMPLES)]
    Escape(EscapeArgs),
    /// Reverse `escape`
    #[command(after_help = UNESCAPE_EXAMPLES)]
    Unescape(EscapeArgs),
    /// Render tool definitions for a model
    #[command(after_help = PROMPT_EXAMPLES)]
    Prompt(PromptArgs),
    /// Render a conversation with a model's chat template
    #[command(after_help = RENDER_EXAMPLES)]
    Render(RenderArgs),
    /// Render tool results for a model
    #[command(after_help = RESULT_EXAMPLES)]
    Result(ResultArgs),
    /// List, show or check dialects
    #[command(after_help = DIALECTS_EXAMPLES)]
    Dialects(DialectsArgs),
    /// Validate calls against the definitions of their tools
    #[command(after_help = VALIDATE_EXAMPLES)]
    Validate(ValidateArgs),
    /// Convert tool definitions
    #[command(after_help = TOOLS_EXAMPLES)]
    Tools(ToolsArgs),
    /// Run a model and execute its calls
    #[cfg(feature = "agent")]
    #[command(after_help = RUN_EXAMPLES)]
    Run(Box<RunArgs>),
    /// Execute one call of a tool
    #[cfg(feature = "agent")]
    #[command(after_help = CALL_EXAMPLES)]
    Call(Box<CallArgs>),
    /// Run a proxy in front of a model server: calls in its text become API tool calls
    #[cfg(feature = "gateway")]
    #[command(after_help = GATEWAY_EXAMPLES)]
    Gateway(toolglot_gateway::Args),
    /// Serve agents to programs and to a page in the browser: tools, calls, runs and questions
    #[cfg(feature = "serve")]
    #[command(after_help = serve::EXAMPLES)]
    Serve(Box<serve::ServeArgs>),
    /// Write shell completions for this command
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArgs),
    /// Write manual pages of this command
    #[command(after_help = MAN_EXAMPLES)]
    Man(ManArgs),
}

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub struct ManArgs {
    /// The page of one subcommand; without it, of the whole command
    #[arg(value_name = "COMMAND", conflicts_with = "dir")]
    pub of: Option<String>,
    /// Write all pages into a folder, which is created if necessary
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
}

impl Color {
    pub fn choice(self) -> anstream::ColorChoice {
        match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        }
    }
}

/// Which dialects are active.
#[derive(Debug, Args)]
pub struct SetArgs {
    /// Dialect to look for: an id, `default`, `any`, or `all`; may be repeated [default: the default set]
    #[arg(long = "dialect", value_name = "ID", help_heading = DIALECTS)]
    pub dialects: Vec<String>,
    /// Additional dialect file; may be repeated. With `--dialect` of its own id, only it is active
    #[arg(long = "dialect-file", value_name = "F", help_heading = DIALECTS)]
    pub files: Vec<PathBuf>,
    /// Variation of a dialect to enable, for example vcp.fuzzy; may be repeated
    #[arg(long = "switch", value_name = "DIALECT.NAME", value_parser = options::switch, help_heading = DIALECTS)]
    pub switches: Vec<(String, String)>,
}

impl SetArgs {
    pub fn sets(&self) -> Result<Sets, SetError> {
        Sets::load(&self.files)
    }

    pub fn choice(&self) -> Choice {
        let mut switches = self.switches.clone();
        switches.sort();
        switches.dedup();
        Choice {
            names: self.dialects.clone(),
            files: true,
            switches,
        }
    }
}

#[derive(Debug, Args)]
pub struct ParseArgs {
    /// Model output; `-` is standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub file: PathBuf,
    #[command(flatten)]
    pub set: SetArgs,
    /// Declared tools: a list of OpenAI's, Anthropic's, MCP's or Gemini's definitions, or a plugin manifest
    #[arg(long, value_name = "TOOLS.json", help_heading = TOOLS)]
    pub tools: Option<PathBuf>,
    /// Validate each call against the definition of its tool: a violation is an error. `--output turn` and `completion` have
    /// the validated arguments, the outputs that are written live those of the model
    #[arg(long, requires = "tools", help_heading = TOOLS)]
    pub validate: bool,
    /// Also show the model's whole output, markup included (`--output turn`)
    #[arg(long, help_heading = OUTPUT)]
    pub original: bool,
    /// Feed it in chunks: a number of bytes, `whole`, or `random:SEED` [default: as it arrives]
    #[arg(long, value_name = "N|whole|random:SEED", help_heading = INPUT)]
    pub chunk: Option<Chunking>,
    /// Wait this many milliseconds after each chunk (of 8 bytes unless `--chunk` is given)
    #[arg(long, value_name = "MS", value_parser = milliseconds, help_heading = INPUT)]
    pub delay: Option<Duration>,
    /// Why the output ended: stop, length, tool_calls, error, cancelled [default: as in the response, or stop]
    #[arg(long, value_name = "REASON", value_parser = Finish::from_str, help_heading = INPUT)]
    pub finish: Option<Finish>,
    /// Format of the input
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = INPUT)]
    pub input: Format,
    /// Which choice of an OpenAI response is read [default: 0; all of them are rewritten]
    #[arg(long, value_name = "N", help_heading = INPUT)]
    pub choice: Option<u64>,
    /// Which calls count if a response has API tool calls
    #[arg(long, value_parser = prefer(), default_value_t = Prefer::Text, help_heading = TOOLS)]
    pub prefer: Prefer,
    /// What becomes of a call whose tool is not declared [default: deliver; text with `--dialect any`]
    #[arg(long, value_parser = unknown_tool(), value_name = "WAY", help_heading = TOOLS)]
    pub unknown_tool: Option<UnknownTool>,
    /// The request's tool choice: auto, none, required, or the JSON of a named function. Guided output is bare JSON
    #[arg(long, value_name = "CHOICE", value_parser = ToolChoice::from_json, help_heading = TOOLS)]
    pub tool_choice: Option<ToolChoice>,
    /// The prompt, or the end of it: the output continues what its last bytes have opened (a thought, a header, a call)
    #[arg(long, value_name = "FILE", help_heading = INPUT)]
    pub prompt_tail: Option<PathBuf>,
    /// Where the output begins [default: by the prompt's tail or the dialects]
    #[arg(long, value_parser = start(), value_name = "WHERE", help_heading = INPUT)]
    pub start: Option<Start>,
    /// How text of unknown type is read [default: per dialect]
    #[arg(long, value_parser = untyped(), value_name = "KIND", help_heading = TOOLS)]
    pub untyped: Option<Untyped>,
    /// Assistant prefix that is already in the prompt, for example a forced call's opener: read, not shown
    #[arg(long, value_name = "TEXT", help_heading = INPUT)]
    pub prefill: Option<String>,
    /// Write the stream, its chunks and its log into a file for `toolglot replay`
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub record: Option<PathBuf>,
    /// What to print
    #[arg(long, value_enum, default_value_t = Output::Pretty, help_heading = OUTPUT)]
    pub output: Output,
    /// Exit with status 1 if an error is reported
    #[arg(long, help_heading = OUTPUT)]
    pub strict: bool,
    #[command(flatten)]
    pub openai: OpenAiArgs,
    #[command(flatten)]
    pub mask: MaskArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people, live
    Pretty,
    /// One JSON object
    Turn,
    /// One JSON object for each event, live
    Events,
    /// The stream of an OpenAI chat completion (server-sent events), live
    Openai,
    /// One OpenAI chat completion that is not streamed
    Completion,
    /// The text without calls, live
    Mask,
}

/// How records are read.
#[derive(Debug, Args)]
pub struct RecordArgs {
    /// Where the model's texts are in records of another form: a JSON pointer with `*` for each element; may be repeated
    #[arg(id = "field", long, value_name = "POINTER", help_heading = RECORDS)]
    pub fields: Vec<Field>,
    /// Declared tools for records without any
    #[arg(long, value_name = "TOOLS.json", help_heading = RECORDS)]
    pub tools: Option<PathBuf>,
    /// How text of unknown type is read, for records that do not set it [default: per dialect]
    #[arg(long, value_parser = untyped(), value_name = "KIND", help_heading = RECORDS)]
    pub untyped: Option<Untyped>,
    /// Longest line in MiB; a longer one is an error and is skipped
    #[arg(long, value_name = "MIB", default_value = "256", help_heading = RECORDS)]
    pub max_line: NonZeroUsize,
    #[command(flatten)]
    pub set: SetArgs,
    /// Threads [default: one per core]
    #[arg(long, value_name = "N", help_heading = RUN)]
    pub jobs: Option<NonZeroUsize>,
}

impl RecordArgs {
    /// The files that are read beside the records.
    pub fn inputs(&self) -> impl Iterator<Item = &PathBuf> {
        self.tools.iter().chain(&self.set.files)
    }

    /// The longest line in bytes.
    pub fn max_line(&self) -> u64 {
        (self.max_line.get() as u64).saturating_mul(1 << 20)
    }
}

#[derive(Debug, Args)]
pub struct BatchArgs {
    /// Records, one per line or row (`.parquet`); `-` is standard input
    #[arg(value_name = "IN.jsonl", default_value = "-")]
    pub file: PathBuf,
    /// Output file [default: standard output]
    #[arg(short, long, value_name = "OUT.jsonl", help_heading = OUTPUT)]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub records: RecordArgs,
    /// Refuse records with unknown keys [default: they pass through]
    #[arg(long, conflicts_with = "field", help_heading = RECORDS)]
    pub deny_unknown: bool,
    /// Feed every text in chunks: a number of bytes, `whole`, or `random:SEED`
    #[arg(long, value_name = "N|whole|random:SEED", default_value = "whole", help_heading = RECORDS)]
    pub chunk: Chunking,
    /// Exit with status 1 if a line is not a record or an error is reported in one
    #[arg(long, help_heading = OUTPUT)]
    pub strict: bool,
}

#[derive(Debug, Args)]
pub struct StatsArgs {
    /// Files; `-` is standard input with records
    #[arg(id = "inputs", value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub records: RecordArgs,
    /// What to print
    #[arg(long, value_enum, default_value_t = Report::Pretty, help_heading = OUTPUT)]
    pub output: Report,
    /// Exit with status 1 if a line is not a record or an error is reported
    #[arg(long, help_heading = OUTPUT)]
    pub strict: bool,
}

#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// Recordings
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Also run them in other chunks: of N bytes, under every split, or under a hundred random ones
    #[arg(long, value_name = "N|each|random:SEED", help_heading = INPUT)]
    pub rechunk: Option<Way>,
    /// Write the current logs into the files as the expected ones
    #[arg(long, conflicts_with = "minimise", help_heading = OUTPUT)]
    pub update: bool,
    /// Make one failing recording smaller while the failure stays the same, and print it
    #[arg(long, alias = "minimize", help_heading = OUTPUT)]
    pub minimise: bool,
    /// Output file for the smaller recording [default: standard output]
    #[arg(short, long, value_name = "SMALL.json", requires = "minimise", help_heading = OUTPUT)]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct EncodeArgs {
    /// Calls as JSON; `-` is standard input
    #[arg(value_name = "CALLS.json", default_value = "-")]
    pub file: PathBuf,
    /// Dialect to write: an id or an alias
    #[arg(long, value_name = "ID", help_heading = DIALECTS)]
    pub dialect: String,
    /// Additional dialect file; may be repeated
    #[arg(long = "dialect-file", value_name = "F", help_heading = DIALECTS)]
    pub files: Vec<PathBuf>,
    /// Variation of the dialect to enable, for example vcp.fuzzy; may be repeated
    #[arg(long = "switch", value_name = "DIALECT.NAME", value_parser = options::switch, help_heading = DIALECTS)]
    pub switches: Vec<(String, String)>,
    /// Declared tools that the reader will use: they type values of untyped text
    #[arg(long, value_name = "TOOLS.json", help_heading = TOOLS)]
    pub tools: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct PromptArgs {
    #[command(flatten)]
    pub dialect: OneDialect,
    /// The model's own chat template: definitions and results as it writes them, with its turn tokens
    #[arg(long, value_name = "FILE.jinja", help_heading = DIALECTS)]
    pub chat_template: Option<PathBuf>,
    /// Definitions of tools
    #[arg(long, value_name = "TOOLS.json", help_heading = TOOLS)]
    pub tools: Option<PathBuf>,
    /// Language of the prompt's own words
    #[arg(long, value_parser = lang(), default_value_t = Lang::En, help_heading = OUTPUT)]
    pub lang: Lang,
    /// What to print
    #[arg(long, value_enum, default_value_t = PromptPart::System, help_heading = OUTPUT)]
    pub part: PromptPart,
    /// Omit whole conversations
    #[arg(long, help_heading = OUTPUT)]
    pub no_examples: bool,
    /// Print an estimate of its tokens on standard error
    #[arg(long, help_heading = OUTPUT)]
    pub tokens: bool,
}

#[derive(Debug, Args)]
pub struct DeriveArgs {
    /// A model's folder, or a file with its chat template
    #[arg(value_name = "TEMPLATE")]
    pub template: PathBuf,
    /// Id of the dialect
    #[arg(long, default_value = "derived", help_heading = OUTPUT)]
    pub id: String,
    /// Output file [default: standard output]
    #[arg(short, long, value_name = "OUT.toml", help_heading = OUTPUT)]
    pub output: Option<PathBuf>,
    /// A variable of the template, as JSON or text: `enable_thinking=true`
    #[arg(long = "var", value_name = "NAME=VALUE", help_heading = INPUT)]
    pub variables: Vec<String>,
    /// Make a dialect even if a built-in one reads the same
    #[arg(long, help_heading = OUTPUT)]
    pub own: bool,
    /// Print the best draft even if it does not read everything
    #[arg(long, help_heading = OUTPUT)]
    pub draft: bool,
    /// Only report whether this file was derived from the template
    #[arg(long, value_name = "FILE.toml", help_heading = OUTPUT)]
    pub check: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct RenderArgs {
    /// A model's folder, or a file with its chat template
    #[arg(value_name = "TEMPLATE")]
    pub template: PathBuf,
    /// The conversation; `-` is standard input
    #[arg(value_name = "REQUEST.json", default_value = "-")]
    pub file: PathBuf,
    /// Read one conversation per line, and print `{"text"}` or `{"error"}` for each
    #[arg(long, help_heading = INPUT)]
    pub lines: bool,
    /// The time for templates that ask for it, instead of the clock's
    #[arg(long, value_name = "SECONDS", help_heading = INPUT)]
    pub now: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PromptPart {
    /// Definitions and usage
    System,
    /// Definitions
    Tools,
    /// How to call them
    Usage,
    /// Stop sequences, as JSON
    Stop,
    /// Calls as a GBNF grammar
    Gbnf,
    /// Calls as a Lark grammar for llguidance
    Lark,
    /// Calls as a structural tag for XGrammar
    StructuralTag,
}

#[derive(Debug, Args)]
pub struct ResultArgs {
    /// Results as JSON; `-` is standard input
    #[arg(value_name = "RESULTS.json", default_value = "-")]
    pub file: PathBuf,
    #[command(flatten)]
    pub dialect: OneDialect,
    /// The model's own chat template: definitions and results as it writes them, with its turn tokens
    #[arg(long, value_name = "FILE.jinja", help_heading = DIALECTS)]
    pub chat_template: Option<PathBuf>,
    /// Language of the layout's own words
    #[arg(long, value_parser = lang(), default_value_t = Lang::En, help_heading = OUTPUT)]
    pub lang: Lang,
    /// JSON pointer to the part of JSON results to show
    #[arg(long, value_name = "POINTER", value_parser = options::pointer, help_heading = OUTPUT)]
    pub select: Option<String>,
    /// Show this many bytes of each result, three quarters from its beginning and one from its end
    #[arg(long, value_name = "N", help_heading = OUTPUT)]
    pub max_bytes: Option<usize>,
}

#[derive(Debug, Args)]
pub struct TranscodeArgs {
    /// Model output; `-` is standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub file: PathBuf,
    /// Dialect to write: an id or an alias
    #[arg(long, value_name = "ID", help_heading = DIALECTS)]
    pub to: String,
    /// Dialect to look for: an id, `default`, `any`, or `all`; may be repeated [default: the default set]
    #[arg(long, value_name = "ID", help_heading = DIALECTS)]
    pub from: Vec<String>,
    /// Additional dialect file, also to look for; may be repeated
    #[arg(long = "dialect-file", value_name = "F", help_heading = DIALECTS)]
    pub files: Vec<PathBuf>,
    /// Declared tools: they type values of untyped text
    #[arg(long, value_name = "TOOLS.json", help_heading = TOOLS)]
    pub tools: Option<PathBuf>,
    /// Leave calls that cannot be written unchanged
    #[arg(long, help_heading = OUTPUT)]
    pub keep: bool,
}

#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// Turn or calls as JSON; `-` is standard input
    #[arg(value_name = "TURN.json", default_value = "-")]
    pub file: PathBuf,
    /// Definitions of the declared tools, in any form that `toolglot tools import` reads
    #[arg(long, value_name = "TOOLS", help_heading = TOOLS)]
    pub tools: PathBuf,
    /// Dialect of calls that name none
    #[arg(long, value_name = "ID", help_heading = DIALECTS)]
    pub dialect: Option<String>,
    /// Additional dialect file; may be repeated
    #[arg(long = "dialect-file", value_name = "F", help_heading = DIALECTS)]
    pub files: Vec<PathBuf>,
    /// Arguments that override defaults, and that the call overrides: a JSON object
    #[arg(long, value_name = "PRESET.json", help_heading = TOOLS)]
    pub preset: Option<PathBuf>,
    /// Pass on parameters that a tool does not have
    #[arg(long, help_heading = TOOLS)]
    pub allow_unknown: bool,
}

#[derive(Debug, Args)]
pub struct ToolsArgs {
    #[command(subcommand)]
    pub command: ToolsCommand,
}

#[derive(Debug, Subcommand)]
pub enum ToolsCommand {
    /// Convert definitions of any form to one manifest
    Import {
        /// Definitions; `-` is standard input
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
        /// Put the name of a server before every id
        #[arg(long, value_name = "NAME")]
        server: Option<String>,
        /// Output file for the manifest [default: standard output]
        #[arg(short, long, value_name = "OUT.json")]
        output: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub struct EscapeArgs {
    /// The text; `-` is standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub file: PathBuf,
    #[command(flatten)]
    pub set: SetArgs,
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Vectors, one per line
    #[arg(value_name = "VECTORS.jsonl", required = true)]
    pub files: Vec<PathBuf>,
    /// Dialect file that vectors may name by its id; may be repeated
    #[arg(long = "dialect-file", value_name = "F", help_heading = DIALECTS)]
    pub dialect_files: Vec<PathBuf>,
    /// How many of the ways to split an input are tried
    #[arg(long, value_enum, default_value_t = Cuts::Quick, value_name = "HOW", help_heading = RUN)]
    pub cuts: Cuts,
    /// Threads [default: one per core]
    #[arg(long, value_name = "N", help_heading = RUN)]
    pub jobs: Option<NonZeroUsize>,
}

/// How many of the ways to split an input are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Cuts {
    /// Every place, and a sample of pairs of places
    Quick,
    /// Every pair of places in all but long inputs
    All,
}

impl From<Cuts> for toolglot_testkit::vectors::Cuts {
    fn from(cuts: Cuts) -> Self {
        match cuts {
            Cuts::Quick => Self::Quick,
            Cuts::All => Self::All,
        }
    }
}

#[derive(Debug, Args)]
pub struct DetectArgs {
    /// Model output; `-` is standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub file: PathBuf,
    /// Dialect file to try too; may be repeated
    #[arg(long = "dialect-file", value_name = "F", help_heading = DIALECTS)]
    pub files: Vec<PathBuf>,
    /// Declared tools: a list of OpenAI's, Anthropic's, MCP's or Gemini's definitions, or a plugin manifest
    #[arg(long, value_name = "TOOLS.json", help_heading = TOOLS)]
    pub tools: Option<PathBuf>,
    /// What to print
    #[arg(long, value_enum, default_value_t = Report::Pretty, help_heading = OUTPUT)]
    pub output: Report,
    /// Exit with status 1 if no dialect finds a call
    #[arg(long, help_heading = OUTPUT)]
    pub strict: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Report {
    /// For people
    Pretty,
    /// One JSON object
    Json,
}

#[derive(Debug, Args)]
pub struct DialectsArgs {
    /// Print the dialects of a model, by its name, one on each line: that of its calls, and that of its thoughts if the prompt opens
    /// them. Each goes to a `--dialect` of its own
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    #[command(subcommand)]
    pub command: Option<DialectsCommand>,
}

#[derive(Debug, Subcommand)]
pub enum DialectsCommand {
    /// List the built-in dialects (the default)
    List,
    /// Print the file of a built-in dialect
    Show {
        /// Its id or an alias
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Derive a dialect from a model's own chat template
    #[command(after_help = DERIVE_EXAMPLES)]
    Derive(DeriveArgs),
    /// Convert a Hugging Face response_template to a dialect file
    Import {
        /// tokenizer_config.json, or the bare declaration; `-` is standard input
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Id of the dialect
        #[arg(long, default_value = "imported")]
        id: String,
        /// Output file [default: standard output]
        #[arg(short, long, value_name = "OUT.toml")]
        output: Option<PathBuf>,
    },
    /// Check dialect files, or the built-in ones
    Lint {
        /// Dialect files
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Exit with status 1 if there is anything to say
        #[arg(long)]
        strict: bool,
    },
}
