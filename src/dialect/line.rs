//! Tables of the line family: what may begin a line.

use toolglot_scan::path::{self, Paths};

use super::payload::{JsonTable, Syntax};
use super::spec;

/// What a header begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Head {
    Thought,
    Action,
    Input,
    Observation,
    Answer,
    /// The arguments begin.
    Object,
    /// The arguments begin in a code fence.
    Fenced,
    /// JSON that names the tool begins.
    Blob,
    /// The line of an input ends.
    Tail,
}

/// A JSON action up to its first key: `Action: {"action":`, also in a list and in a fence.
fn blobs(header: &str, blob: &spec::Blob) -> Vec<(String, Head)> {
    let mut all = vec![];
    for fence in ["", "$_```", "$_```json", "$_```JSON"] {
        for list in ["", "[$_"] {
            for key in [&blob.name, &blob.arguments] {
                for quote in ['"', '\''] {
                    let json = format!("{list}{{$_{quote}{key}{quote}$_:");
                    all.push((format!("{header}{fence}$_{json}"), Head::Blob));
                }
            }
        }
    }
    all
}

/// The keys of a JSON action.
fn blob(spec: &spec::Line) -> JsonTable {
    let Some(blob) = &spec.blob else {
        return JsonTable::default();
    };
    JsonTable {
        name: vec![blob.name.clone()],
        args: vec![blob.arguments.clone()],
        plain: spec.plain.clone(),
        answer: blob.answer.clone(),
        ..JsonTable::default()
    }
}

/// Emphasis that models put around a header.
const EMPHASIS: [&str; 5] = ["***", "**", "*", "__", "_"];

/// What models put around the name of a tool, and no name contains.
pub(crate) const NAME_MARKS: [u8; 3] = *b"`\"'";

/// Adds each header with the emphasis that models use, with its colon inside or outside.
fn emphasise(headers: &mut Vec<String>) {
    let plain = |header: &&String| header.starts_with(char::is_alphanumeric);
    for header in headers.iter().filter(plain).cloned().collect::<Vec<_>>() {
        let Some(colon) = header
            .chars()
            .next_back()
            .filter(|c| matches!(c, ':' | '：'))
        else {
            continue;
        };
        let label = header.trim_end_matches(colon);
        for mark in EMPHASIS {
            for text in [
                format!("{mark}{label}{colon}{mark}"),
                format!("{mark}{label}{mark}{colon}"),
            ] {
                if !headers.contains(&text) {
                    headers.push(text);
                }
            }
        }
    }
}

/// The most hashes that a heading has.
const LEVELS: usize = 6;

/// Tables of the line family. Immutable.
#[derive(Debug)]
pub(crate) struct Line {
    pub spec: spec::Line,
    /// The literals to search for in text, and whether each is a whole header.
    pub openers: Vec<(String, bool)>,
    /// Headers in text: an action with its name up to the end of the line.
    pub heads: Paths<Head>,
    /// Headers after an action.
    pub all: Paths<Head>,
    /// The same where an input is missing. An object after the header of an action that names no tool is that input.
    pub next: Paths<Head>,
    /// What may follow the header of an input.
    pub input: Paths<Head>,
    /// What ends the line of an input, without and with a fence.
    pub tails: [Paths<Head>; 2],
    pub json: JsonTable,
    /// The keys of JSON that names the tool.
    pub blob: JsonTable,
    /// The reasoning of thoughts.
    pub thoughts: u16,
}

impl Line {
    /// Builds the tables of a description, or returns what is wrong with it.
    pub fn new(mut spec: spec::Line) -> Result<Self, String> {
        for patterns in [
            &mut spec.thought,
            &mut spec.action,
            &mut spec.input,
            &mut spec.observation,
            &mut spec.answer,
        ] {
            emphasise(patterns);
        }
        let kinds = [
            (&spec.thought, Head::Thought),
            (&spec.action, Head::Action),
            (&spec.input, Head::Input),
            (&spec.observation, Head::Observation),
            (&spec.answer, Head::Answer),
        ];
        if spec.action.is_empty() || spec.input.is_empty() {
            return Err("action and input need at least one header each".to_owned());
        }
        let mut openers: Vec<(String, bool)> = vec![];
        let mut heads: Vec<(String, Head)> = vec![];
        let mut all: Vec<(String, Head)> = vec![];
        let mut next: Vec<(String, Head)> = vec![];
        for (patterns, kind) in kinds {
            for bare in patterns {
                let literal = path::literal(bare)?;
                // As a heading of any level, too.
                let headings = bare.starts_with(|c: char| c.is_alphanumeric() || "*_".contains(c));
                let pattern = match headings {
                    true => format!("$hash$_{bare}"),
                    false => bare.clone(),
                };
                // The space after it belongs to it.
                let both = [pattern.clone(), format!("{pattern} ")];
                all.extend(both.clone().map(|pattern| (pattern, kind)));
                match (&spec.blob, kind) {
                    (Some(blob), Head::Action) => {
                        let blobs = blobs(&pattern, blob).into_iter();
                        next.extend(blobs.map(|(blob, _)| (blob, kind)));
                        next.push((pattern.clone(), kind));
                    }
                    _ => next.extend(both.clone().map(|pattern| (pattern, kind))),
                }
                match kind {
                    Head::Input => continue,
                    Head::Action => {
                        heads.push((format!("{pattern}$_$name$_\n"), kind));
                        let marked = NAME_MARKS.map(char::from);
                        let marked = marked.map(|mark| format!("{pattern}$_{mark}$name{mark}$_\n"));
                        heads.extend(marked.map(|pattern| (pattern, kind)));
                        if let Some(blob) = &spec.blob {
                            heads.extend(blobs(&pattern, blob));
                        }
                    }
                    _ => heads.extend(both.map(|pattern| (pattern, kind))),
                }
                if literal.len() < 2 {
                    return Err(format!("`{bare}` begins with nothing to look for"));
                }
                let whole = literal == *bare;
                for level in 0..=if headings { LEVELS } else { 0 } {
                    let blank = if level > 0 { " " } else { "" };
                    let literal = format!("{}{blank}{literal}", "#".repeat(level));
                    if !openers.iter().any(|(have, _)| *have == literal) {
                        openers.push((literal, whole));
                    }
                }
            }
        }
        let mut input = all.clone();
        input.push(("$^{".to_owned(), Head::Object));
        for info in ["", "json", "JSON"] {
            input.push((format!("```{info}$_$^{{"), Head::Fenced));
        }
        let build = |patterns: &[(String, Head)]| {
            Paths::new(patterns.iter().map(|(p, kind)| (p.as_str(), *kind)))
        };
        Ok(Self {
            heads: build(&heads)?,
            all: build(&all)?.with_blanks(),
            next: build(&next)?.with_blanks(),
            input: build(&input)?.with_blanks(),
            tails: [
                Paths::new([("\n", Head::Tail)])?.with_blanks(),
                Paths::new([("```$_\n", Head::Tail)])?.with_blanks(),
            ],
            openers,
            json: JsonTable {
                syntax: Syntax::default(),
                ..JsonTable::default()
            },
            blob: blob(&spec),
            thoughts: 0,
            spec,
        })
    }

    /// The reasoning of thoughts, which the next header ends.
    pub fn reasoning(&self) -> spec::Reasoning {
        spec::Reasoning {
            open: vec![],
            close: vec![],
            at: spec::ReasoningAt::LineStart,
            nested: false,
            repeats: false,
            implicit: false,
            first: false,
            label: String::new(),
            ended_by: self.openers.iter().map(|(open, _)| open.clone()).collect(),
            after_call: super::spec::AfterCall::Text,
            suffix: false,
        }
    }

    /// Whether an action deliberately names no tool.
    pub fn is_null(&self, name: &str) -> bool {
        self.spec.null.iter().any(|null| null == name)
    }

    /// Where the JSON of an action begins in its evidence, and whether it is in a fence.
    pub fn blob(&self, shown: &[u8]) -> (usize, bool) {
        let object = shown.iter().rposition(|byte| *byte == b'{').unwrap_or(0);
        let before = shown[..object].trim_ascii_end();
        let list = before.ends_with(b"[");
        let at = if list { before.len() - 1 } else { object };
        let fenced = shown[..at].trim_ascii_end();
        let info = fenced.iter().rposition(|byte| *byte == b'`');
        (at, info.is_some_and(|at| fenced[..=at].ends_with(b"```")))
    }

    /// The maximum number of bytes that are held back.
    pub fn lookahead(&self, tag: usize) -> usize {
        let longest = self.spec.headers().map(String::len).max().unwrap_or(0);
        // Whitespace, the hashes of a heading, a number, a name.
        longest + LEVELS + tag + 2 * usize::from(path::MAX_BLANKS)
    }
}
