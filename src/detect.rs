//! Detects the dialect of a transcript: it is read with every dialect, and the results are the evidence.
//!
//! Nothing is guessed from the spelling of markers: the evidence is what the parser itself finds. Each dialect reads the input
//! on its own, because several share an opener and would hide one another, and one that begins inside reasoning would hide
//! everything. Dialects with identical markup are therefore all listed. The default set reads the input once more, to decide as
//! it would for a host. Cost: one pass over the input per dialect.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::dialect::{Dialect, DialectSet, builtin_files};
use crate::engine::{Finish, Parser};
use crate::error::BuildError;
use crate::event::{CallState, Event, Sink, Span};
use crate::kind::Severity;
use crate::limits::{Options, Prefer};
use crate::wire;

/// How much evidence there is. Ordered: later variants are stronger.
///
/// ```
/// use toolglot::Confidence;
///
/// assert!(Confidence::Strong > Confidence::Fair);
/// assert_eq!(Confidence::Faint.name(), "faint");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Confidence {
    /// Blocks began and broke or were truncated.
    Faint,
    /// Markers of reasoning or framing without calls, or calls for which another dialect explains more of the input.
    Weak,
    /// Calls that are recovered.
    Fair,
    /// Calls that are well formed and closed.
    Strong,
}

crate::words! {
    Confidence, "confidence":
    Faint = "faint",
    Weak = "weak",
    Fair = "fair",
    Strong = "strong",
}

/// The evidence for one dialect.
///
/// ```
/// use toolglot::{Detector, Options};
///
/// let text = br#"<tool_call>{"name": "f", "arguments": {}}</tool_call>"#;
/// let found = Detector::builtin().detect(text, &Options::default());
/// assert_eq!((found[0].dialect.as_str(), found[0].complete), ("hermes", 1));
/// assert!(found[0].chosen && found[0].covered() == text.len() as u64);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Evidence {
    /// Its id.
    pub dialect: String,
    /// Its title.
    pub title: String,
    /// The group of dialects with the same markup; a set can contain only one of them.
    pub group: Option<String>,
    /// The dialect belongs to the default set.
    #[serde(rename = "default")]
    pub in_default_set: bool,
    /// The default set reads calls of the input with this dialect.
    pub chosen: bool,
    /// The strength of the evidence.
    pub confidence: Confidence,
    /// Calls that are well formed and closed.
    pub complete: usize,
    /// Calls that are recovered.
    pub recovered: usize,
    /// Blocks that broke or were truncated.
    pub broken: usize,
    /// The dialect whose blocks contain all blocks of this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inside: Option<String>,
    /// Where the dialect occurs: blocks, reasoning markers, protected regions. In order.
    #[serde(serialize_with = "wire::pairs")]
    pub spans: Vec<Span>,
    /// The reason, in one sentence.
    pub reason: String,
}

impl Evidence {
    /// The number of bytes that its spans cover.
    #[must_use]
    pub fn covered(&self) -> u64 {
        self.spans.iter().map(|span| span.len()).sum()
    }
}

/// An opener that occurs in an input in which no dialect found anything.
///
/// ```
/// use toolglot::{Detector, Options};
///
/// let (detector, text) = (Detector::builtin(), b"The model writes <tool_call> first.");
/// assert!(detector.detect(text, &Options::default()).is_empty());
/// let seen = &detector.sightings(text)[0];
/// assert_eq!((seen.opener.as_str(), seen.span.start), ("<tool_call", 17));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Sighting {
    /// The opener; a tag up to its name.
    pub opener: String,
    /// Where it first occurs.
    #[serde(serialize_with = "wire::pair")]
    pub span: Span,
    /// Ids of the dialects that it opens.
    pub dialects: Vec<String>,
}

/// Dialects to try. Compiled once, reusable for any number of inputs.
///
/// ```
/// use toolglot::{Detector, Options};
///
/// let text = br#"Looking. <tool_call name="weather"><param name="city">Leith</param></tool_call>"#;
/// let found = Detector::builtin().detect(text, &Options::default());
/// assert_eq!(found[0].dialect, "tool-call-xml");
/// assert_eq!(found[0].confidence.name(), "strong");
/// ```
#[derive(Clone, Debug)]
pub struct Detector {
    /// One dialect each.
    sets: Vec<DialectSet>,
    arbiter: DialectSet,
}

impl Detector {
    /// All built-in dialects, including those outside the default set.
    ///
    /// # Panics
    /// Never: a test builds every one of them.
    #[must_use]
    pub fn builtin() -> Self {
        let alone =
            |(id, _): &(&str, _)| DialectSet::builtin(id).expect("a built-in dialect works alone");
        Self {
            sets: builtin_files().iter().map(alone).collect(),
            arbiter: DialectSet::defaults(),
        }
    }

    /// Adds a dialect file. `origin` identifies it in errors.
    ///
    /// # Errors
    /// The text is not a valid dialect.
    pub fn toml(mut self, origin: &str, text: &str) -> Result<Self, BuildError> {
        let set = DialectSet::builder().toml(origin, text).build()?;
        self.sets.push(set);
        Ok(self)
    }

    /// The dialects found in `input`, strongest evidence first. Declare tools in `options`: dialects whose tags are tool names,
    /// or that have no markers, find nothing without them.
    #[must_use]
    pub fn detect(&self, input: &[u8], options: &Options) -> Vec<Evidence> {
        let chosen = read(&self.arbiter, input, options).calls;
        let mut found: Vec<Evidence> = vec![];
        for set in &self.sets {
            let traces = read(set, input, options);
            if traces.spans.is_empty() {
                continue;
            }
            for dialect in set.dialects() {
                let chosen = chosen.contains_key(dialect.id());
                found.push(evidence(dialect, &traces, chosen));
            }
        }
        found.sort_by_key(rank);
        demote(&mut found);
        found.sort_by_key(rank);
        found.iter_mut().for_each(|one| one.reason = reason(one));
        found
    }

    /// Openers that occur in `input` as plain bytes, in order: what may have been meant if [`detect`](Self::detect) finds
    /// nothing.
    #[must_use]
    pub fn sightings(&self, input: &[u8]) -> Vec<Sighting> {
        let mut seen: BTreeMap<(u64, String), Vec<String>> = BTreeMap::new();
        for dialect in self.sets.iter().flat_map(DialectSet::dialects) {
            for opener in dialect
                .openers()
                .into_iter()
                // A short marker, which needs context to be one, is not evidence by itself.
                .filter(|open| open.len() > 3)
            {
                if let Some(at) = memchr::memmem::find(input, opener.as_bytes()) {
                    let ids = seen.entry((at as u64, opener)).or_default();
                    ids.push(dialect.id().to_owned());
                }
            }
        }
        let sighting = |((start, opener), dialects): ((u64, String), _)| Sighting {
            span: Span::new(start, start + opener.len() as u64),
            opener,
            dialects,
        };
        seen.into_iter().map(sighting).collect()
    }
}

/// Strongest first, then most calls, then most bytes explained. Ties are finally resolved by the order of the built-in list.
fn rank(one: &Evidence) -> impl Ord + use<> {
    use std::cmp::Reverse;
    let calls = one.complete + one.recovered;
    (
        Reverse(one.confidence),
        Reverse(calls),
        Reverse(one.covered()),
        one.broken,
        Reverse(one.chosen),
        Reverse(one.in_default_set),
    )
}

/// Demotes a dialect whose finds all lie inside the blocks of another, such as bare JSON in another dialect's tags.
fn demote(found: &mut [Evidence]) {
    let holds = |outer: &Evidence, inner: &Evidence| {
        let calls = |one: &Evidence| one.complete + one.recovered;
        let within = |span: &Span| {
            let around = |o: &Span| o.start <= span.start && span.end <= o.end;
            outer.spans.iter().any(around)
        };
        calls(outer) > 0
            && calls(outer) >= calls(inner)
            && outer.covered() > inner.covered()
            && inner.spans.iter().all(within)
    };
    for index in 0..found.len() {
        let (stronger, rest) = found.split_at_mut(index);
        let Some(inner) = rest.first_mut() else {
            return;
        };
        if let Some(outer) = stronger.iter().find(|outer| holds(outer, inner)) {
            inner.inside = Some(outer.dialect.clone());
            inner.confidence = inner.confidence.min(Confidence::Weak);
        }
    }
}

fn evidence(dialect: &Dialect, traces: &Traces, chosen: bool) -> Evidence {
    let confidence = if traces.complete > 0 {
        Confidence::Strong
    } else if traces.recovered > 0 {
        Confidence::Fair
    } else if traces.framing > 0 {
        Confidence::Weak
    } else {
        Confidence::Faint
    };
    Evidence {
        dialect: dialect.id().to_owned(),
        title: dialect.title().to_owned(),
        group: dialect.group().map(str::to_owned),
        in_default_set: dialect.in_default_set(),
        chosen,
        confidence,
        complete: traces.complete,
        recovered: traces.recovered,
        broken: traces.broken,
        inside: None,
        spans: traces.spans.clone(),
        reason: String::new(),
    }
}

fn reason(one: &Evidence) -> String {
    let count = |n: usize, what: &str| match n {
        0 => None,
        1 => Some(format!("1 {what}")),
        n => Some(format!("{n} {what}s")),
    };
    let mut parts: Vec<String> = [
        count(one.complete, "complete call"),
        count(one.recovered, "recovered call"),
        count(one.broken, "broken block"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if parts.is_empty() {
        parts.push("only markers of reasoning or framing".to_owned());
    }
    let mut text = parts.join(", ");
    if let Some(outer) = &one.inside {
        text.push_str(&format!("; inside the blocks of {outer}"));
    } else if one.chosen {
        text.push_str("; the default set reads it so");
    }
    text
}

/// What a set found in an input.
#[derive(Default)]
struct Traces {
    complete: usize,
    recovered: usize,
    /// Blocks with errors and without valid calls.
    broken: usize,
    /// Reasoning markers, protected regions, and blocks that hold no call and no error.
    framing: usize,
    spans: Vec<Span>,
    /// Valid calls, by dialect.
    calls: BTreeMap<String, usize>,
    /// The open block.
    block: Block,
}

/// What an open block has contained so far.
#[derive(Default)]
struct Block {
    dialect: String,
    complete: usize,
    recovered: usize,
    errors: usize,
}

fn read(set: &DialectSet, input: &[u8], options: &Options) -> Traces {
    let mut traces = Traces::default();
    // There are no API tool calls here, so calls need not be held back for them.
    let options = Options {
        prefer: Prefer::Text,
        ..options.clone()
    };
    let mut parser = Parser::new(set, options);
    parser.feed(input, &mut traces);
    parser.finish(Finish::Stop, &mut traces);
    traces
}

impl Traces {
    /// The open block ends; `valid` unless it was abandoned.
    fn end(&mut self, span: Span, valid: bool) {
        let block = std::mem::take(&mut self.block);
        let calls = block.complete + block.recovered;
        self.spans.push(span);
        if valid && calls > 0 {
            self.complete += block.complete;
            self.recovered += block.recovered;
            *self.calls.entry(block.dialect).or_default() += calls;
        } else if valid && block.errors == 0 {
            self.framing += 1;
        } else {
            self.broken += 1;
        }
    }

    /// Adds a marker; adjacent pieces are merged.
    fn frame(&mut self, span: Span) {
        match self.spans.last_mut() {
            Some(last) if last.end == span.start => last.end = span.end,
            Some(_) | None => {
                self.spans.push(span);
                self.framing += 1;
            }
        }
    }
}

impl Sink for Traces {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::BlockOpen { dialect, .. } => {
                self.block = Block {
                    dialect: dialect.to_owned(),
                    ..Block::default()
                };
            }
            Event::CallClose { state, .. } => match state {
                CallState::Complete => self.block.complete += 1,
                CallState::Repaired(_) | CallState::Recovered(_) => self.block.recovered += 1,
            },
            Event::Issue(issue) => {
                self.block.errors += usize::from(issue.severity == Severity::Error);
            }
            Event::BlockClose { span, .. } => self.end(span, true),
            Event::BlockAbandoned { span, .. } => self.end(span, false),
            Event::Reasoning {
                span,
                framing: true,
                ..
            }
            | Event::Protected { span, .. } => self.frame(span),
            Event::Text { .. }
            | Event::Reasoning { framing: false, .. }
            | Event::Raw { .. }
            | Event::CallNamed { .. }
            | Event::CallOpen { .. }
            | Event::ArgDelta { .. }
            | Event::ParamOpen { .. }
            | Event::ParamDelta { .. }
            | Event::ParamClose { .. }
            | Event::CallAbandoned { .. } => {}
        }
    }
}
