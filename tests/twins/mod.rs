//! Naive twins: a second opinion on what an output means.
//!
//! Each family of dialects has a parser here that was written from the rules alone, over a whole string, with index
//! arithmetic and without regard to speed. It shares nothing with the engine but `serde_json`, so a rule that the engine
//! gets wrong is unlikely to be wrong here in the same way. Tests run both over the vectors and over the mixtures of
//! [`generate`], and compare text, reasoning and calls.
//!
//! A twin knows one dialect at a time, and neither API tool calls nor retention. Where a rule left something open, the
//! comment at that line begins with "Chosen:".

#![allow(dead_code, reason = "a test uses the part that it needs")]

use std::collections::BTreeSet;

use toolglot::json::Value;

pub mod framed;
pub mod generate;

mod attribute_params;
mod chain;
mod element_tree;
mod fields;
mod key_quote;
mod named_params;
mod pieces;
mod schema;
mod text;
mod tree_values;
mod xml;

/// What one output means.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// All text outside calls, reasoning and protected regions, joined.
    pub text: String,
    /// All reasoning, joined, without its outer markers.
    pub reasoning: String,
    /// Name and arguments of every call, in order.
    pub calls: Vec<(String, Value)>,
    /// Names of all kinds of issues, of either severity.
    pub kinds: BTreeSet<String>,
    /// Names of those kinds that were reported as errors.
    pub severe: BTreeSet<String>,
    /// The twin does not define what this input means: a tool's tag in an element tree is truncated.
    pub open: bool,
}

/// Parses `input` with one dialect. `tools` is an array of `{"name", "parameters"}`.
///
/// # Panics
/// The dialect has no twin.
pub fn run(dialect: &str, input: &str, tools: Option<&Value>) -> Outcome {
    run_with(dialect, input, tools, None)
}

/// The dialects that have a twin.
pub const KNOWN: [&str; 6] = [
    "tam",
    "tam2",
    "vcp",
    "tool-call-xml",
    "tool-action",
    "action",
];

/// The same with the `options` of a vector: `limits`, `fence`, `unclosed`, `reasoning`, `calls_in_reasoning`, `start`,
/// `switches`. Others are ignored.
///
/// The dialect has no twin.
/// There is no twin for that dialect.
pub fn run_with(
    dialect: &str,
    input: &str,
    tools: Option<&Value>,
    options: Option<&Value>,
) -> Outcome {
    let setup = Setup::new(options);
    let family: Box<dyn Family> = match dialect {
        "tam" => Box::new(key_quote::tam()),
        "tam2" => Box::new(key_quote::tam2()),
        "vcp" => Box::new(key_quote::vcp(setup.fuzzy)),
        "tool-call-xml" => Box::new(named_params::NamedParams),
        "tool-action" => Box::new(attribute_params::AttributeParams),
        "action" => Box::new(element_tree::ElementTree),
        other => panic!("there is no twin for {other}"),
    };
    let unclosed_is_text = match setup.unclosed.as_deref() {
        Some(word) => word == "text",
        None => !matches!(dialect, "tam" | "tam2" | "vcp"),
    };
    let run = Run {
        input,
        tools,
        setup,
        unclosed_is_text,
        outcome: Outcome::default(),
        issues: 0,
        blocks: 0,
        torn: Torn::No,
    };
    text::read(run, &*family, dialect == "vcp")
}

/// The `options` of a vector.
struct Setup {
    limits: Limits,
    fence: Option<String>,
    unclosed: Option<String>,
    reasoning: bool,
    calls_in_reasoning: bool,
    start_in_reasoning: bool,
    fuzzy: bool,
}

impl Setup {
    fn new(options: Option<&Value>) -> Self {
        let get = |key: &str| options.and_then(|o| o.get(key));
        let word = |key: &str| get(key).and_then(Value::as_str).map(str::to_owned);
        let switches = get("switches").and_then(Value::as_array);
        Self {
            limits: Limits::new(get("limits")),
            fence: word("fence"),
            unclosed: word("unclosed"),
            reasoning: word("reasoning").is_none_or(|w| w != "off"),
            calls_in_reasoning: get("calls_in_reasoning") == Some(&Value::Bool(true)),
            start_in_reasoning: word("start").is_some_and(|w| w == "reasoning"),
            fuzzy: switches.is_some_and(|list| list.iter().any(|s| s == "vcp.fuzzy")),
        }
    }
}

struct Limits {
    value: usize,
    block: usize,
    calls: usize,
    chain: usize,
    depth: usize,
    params: usize,
    name: usize,
    header: usize,
    lookahead: usize,
    issues: usize,
}

impl Limits {
    fn new(limits: Option<&Value>) -> Self {
        let get = |key: &str, default: usize| {
            let given = limits.and_then(|l| l.get(key)).and_then(Value::as_u64);
            given.map_or(default, |n| {
                usize::try_from(n).expect("a limit of a test is small")
            })
        };
        Self {
            value: get("max_value", 8 << 20),
            block: get("max_block", 16 << 20),
            calls: get("max_calls", 4096),
            chain: get("max_chain", 64),
            depth: get("max_depth", 128),
            params: get("max_params", 16_384),
            name: get("max_name", 1024),
            header: get("max_header", 4096),
            lookahead: get("max_lookahead", 1024),
            issues: get("max_issues", 10_000),
        }
    }
}

/// One run over one input.
struct Run<'a> {
    input: &'a str,
    tools: Option<&'a Value>,
    setup: Setup,
    unclosed_is_text: bool,
    outcome: Outcome,
    issues: usize,
    /// The number of blocks opened so far.
    blocks: usize,
    /// A block broke and is text.
    torn: Torn,
}

/// How long what follows a broken block may be part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Torn {
    #[default]
    No,
    /// Up to its closer.
    Closer,
    /// The same, but a line that ends behind words ends it, too: whether words have come, and whether a line has ended.
    Line(bool, bool),
}

impl Run<'_> {
    fn warn(&mut self, kind: &str) {
        self.issues += 1;
        if self.issues > self.setup.limits.issues {
            self.outcome.kinds.insert("limit_issues".to_owned());
        }
        self.outcome.kinds.insert(kind.to_owned());
    }

    fn error(&mut self, kind: &str) {
        self.warn(kind);
        self.outcome.severe.insert(kind.to_owned());
    }
}

/// A body grammar.
trait Family {
    /// The length of the opener at `at`, without the evidence that must follow it.
    fn opener(&self, input: &str, at: usize) -> Option<usize>;
    /// The length of the closer at `at`.
    fn closer(&self, input: &str, at: usize) -> Option<usize>;
    /// The length of the closer at `at` in text.
    fn orphan(&self, input: &str, at: usize) -> Option<usize> {
        self.closer(input, at)
    }
    /// Reads the block whose opener is at `at`.
    fn block(&self, run: &mut Run<'_>, at: usize) -> Block;
}

/// The result of reading a block.
struct Block {
    /// Where text continues.
    end: usize,
    /// Its bytes are text after all.
    text: bool,
    /// Its calls, in order.
    calls: Vec<(String, Value)>,
}

impl Block {
    fn hidden(end: usize) -> Self {
        Self {
            end,
            text: false,
            calls: vec![],
        }
    }

    fn text(end: usize) -> Self {
        Self {
            end,
            text: true,
            calls: vec![],
        }
    }

    fn calls(end: usize, calls: Vec<(String, Value)>) -> Self {
        Self {
            end,
            text: false,
            calls,
        }
    }

    /// The body broke at the character at `at`, which is text like everything before it. Chosen: a `<` there is read
    /// again, since it may open the next block.
    ///
    /// `begun`: a parameter has begun. `None`: the call's closing tag has.
    fn broken(run: &mut Run<'_>, at: usize, begun: Option<bool>) -> Self {
        run.error("malformed_body");
        let Some(begun) = begun else {
            return Self::text_from(run, at);
        };
        match (begun, run.torn) {
            (true, _) => run.torn = Torn::Closer,
            (false, Torn::No) => {
                let c = char_at(run.input, at).filter(|c| *c != '<');
                let words = c.is_some_and(|c| !c.is_ascii_whitespace());
                run.torn = Torn::Line(words, c == Some('\n'));
            }
            (false, _) => {}
        }
        Self::text_from(run, at)
    }

    /// Text up to the character at `at`, and that too unless it is a `<`.
    fn text_from(run: &Run<'_>, at: usize) -> Self {
        let c = char_at(run.input, at).filter(|c| *c != '<');
        Self::text(at + c.map_or(0, char::len_utf8))
    }

    /// The stream ends inside.
    fn unclosed(run: &mut Run<'_>) -> Self {
        run.error("unclosed_block");
        Self {
            end: run.input.len(),
            text: run.unclosed_is_text,
            calls: vec![],
        }
    }

    /// A limit was exceeded at `at`: everything up to the next closer is ignored.
    fn limit(run: &mut Run<'_>, family: &dyn Family, kind: &str, at: usize) -> Self {
        run.error(kind);
        let input = run.input;
        // One that begins before counts if it ends after.
        let mut ends = (at.saturating_sub(256)..input.len())
            .filter_map(|i| family.closer(input, i).map(|len| i + len));
        let found = ends.find(|end| *end > at);
        if found.is_none() {
            run.error("unclosed_block");
        }
        Self::hidden(found.unwrap_or(input.len()))
    }
}

/// Whether `pattern` is at `at`, a byte offset that may lie inside a character.
fn stands(input: &str, at: usize, pattern: &str) -> bool {
    input
        .as_bytes()
        .get(at..)
        .is_some_and(|rest| rest.starts_with(pattern.as_bytes()))
}

/// The same with ASCII letters in either case.
fn stands_ignore_case(input: &str, at: usize, pattern: &str) -> bool {
    let part = input.as_bytes().get(at..at + pattern.len());
    part.is_some_and(|part| part.eq_ignore_ascii_case(pattern.as_bytes()))
}

/// The character at `at`.
fn char_at(input: &str, at: usize) -> Option<char> {
    input.get(at..).and_then(|rest| rest.chars().next())
}

/// The normalised name, or the kind of issue if it is not a name.
pub(super) fn name_of(raw: &str) -> Result<String, &'static str> {
    let name = raw.trim();
    if name.is_empty() {
        return Err("missing_name");
    }
    // Chosen: a quote is a quotation mark of any script that models write, backticks and guillemets included.
    let quote = |c: char| "\"'`「」『』“”‘’«»".contains(c);
    let bad = |c: char| c.is_whitespace() || c.is_control() || quote(c) || matches!(c, '<' | '>');
    if name.chars().any(bad) {
        Err("malformed_body")
    } else {
        Ok(name.to_owned())
    }
}

/// Whether a name contains a remnant of markup, or begins or ends with one.
pub(super) fn is_torn(name: &str) -> bool {
    const ENDS: &str = ":.\\&*：，。；、《》";
    const ANYWHERE: &str = "=,;()[]{}|（）［］｛｝【】＝";
    let ends = [name.chars().next(), name.chars().next_back()];
    ends.iter().flatten().any(|c| ENDS.contains(*c)) || name.contains(|c| ANYWHERE.contains(c))
}

/// What closes the quotation in which the block at `start` begins.
fn quotation(run: &Run<'_>, start: usize) -> Option<char> {
    let quote = quote_before(&run.input[..start]);
    quote.filter(|quote| Some(*quote) == quote_before(&run.outcome.text))
}

/// Whether what comes after a text may be in a Markdown link: a bracket or a parenthesis is open on its last line, and may close.
pub fn may_be_link(text: &str, rest: &str) -> bool {
    let line = text.rsplit('\n').next().unwrap_or_default();
    let depth = |depth: usize, c| match c {
        '[' => depth + 1,
        ']' => depth.saturating_sub(1),
        _ => depth,
    };
    let open = line.chars().fold(0, depth) > 0;
    let closes = rest.contains("](") || rest.contains("][");
    (open && closes) || (line.contains("](") && rest.contains(')'))
}

/// The counterpart of the quotation mark at the end of a text.
pub fn quote_before(text: &str) -> Option<char> {
    let pairs = [
        "\"\"", "''", "``", "“”", "””", "‘’", "’’", "「」", "『』", "«»", "»«", "„“", "‹›", "＂＂",
        "《》",
    ];
    let last = text.chars().next_back()?;
    let pair = pairs.iter().find(|pair| pair.starts_with(last))?;
    pair.chars().next_back()
}
