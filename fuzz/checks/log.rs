//! The event log with adjacent fragments joined, so that logs of different chunkings can be compared.
//!
//! Fragments of one kind are joined. The deltas of arguments and the raw bytes of parameters describe the same value in
//! two lanes. How they interleave depends on the chunking, so each run of them is one entry with both lanes. Everything
//! else stays in its place, spans included.

use std::ops::Range;

use serde::Serialize;
use toolglot::{Dialect, Event, Span};

/// A run of fragments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    data: Vec<u8>,
    span: Span,
}

impl Run {
    fn push(&mut self, data: &[u8], span: Span) {
        if self.data.is_empty() && self.span.is_empty() {
            self.span = span;
        }
        self.data.extend_from_slice(data);
        self.span = Span::new(self.span.start.min(span.start), self.span.end.max(span.end));
    }
}

/// The kind of bytes of a run outside a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    Text,
    Reasoning,
    Protected(String),
    Raw,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    Run(What, Run),
    /// Both lanes of a value.
    Value {
        param: Run,
        args: Run,
    },
    /// Anything else: where its JSON is in the log's text.
    Other(Range<usize>),
}

/// A joined log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    entries: Vec<Entry>,
    /// The other events in one allocation, as JSON, which is faster to write than debug text.
    text: Vec<u8>,
    /// Whether only bytes matter: other events leave an empty entry.
    pub runs_only: bool,
}

impl Log {
    pub fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Text {
                data,
                span,
                recovered: false,
                ..
            } => self.run(What::Text, data, span),
            Event::Reasoning {
                data,
                span,
                framing: false,
                ..
            } => self.run(What::Reasoning, data, span),
            Event::Protected {
                kind, data, span, ..
            } => self.run(What::Protected(kind.to_owned()), data, span),
            Event::Raw { data, span, .. } => self.run(What::Raw, data, span),
            Event::ParamDelta { data, span, .. } => self.value(false, data, span),
            Event::ArgDelta { json, span, .. } => self.value(true, json.as_bytes(), span),
            _ if self.runs_only => self.other(|_| ()),
            // Other checks compare their bytes with the input; here their number is enough.
            Event::BlockClose { span, raw, .. } => {
                self.json(&("block_close", span.start, span.end, raw.len()));
            }
            Event::BlockAbandoned {
                span, becomes, raw, ..
            } => {
                let (from, to) = (span.start, span.end);
                self.json(&("block_abandoned", from, to, becomes.name(), raw.len()));
            }
            // What it says in words follows from these fields, and takes longer to write than a short stream to parse.
            Event::Issue(issue) => self.json(&(
                (issue.kind.code(), issue.severity, issue.span),
                (issue.dialect.map(Dialect::id), issue.call),
                (issue.tool, issue.subject, issue.suggestion),
            )),
            other => self.json(&other),
        }
    }

    fn run(&mut self, what: What, data: &[u8], span: Span) {
        if data.is_empty() && span.is_empty() {
            return;
        }
        if let Some(Entry::Run(have, run)) = self.entries.last_mut()
            && *have == what
        {
            return run.push(data, span);
        }
        let mut run = Run::default();
        run.push(data, span);
        self.entries.push(Entry::Run(what, run));
    }

    fn value(&mut self, is_arg: bool, data: &[u8], span: Span) {
        if data.is_empty() && span.is_empty() {
            return;
        }
        if !matches!(self.entries.last(), Some(Entry::Value { .. })) {
            self.entries.push(Entry::Value {
                param: Run::default(),
                args: Run::default(),
            });
        }
        if let Some(Entry::Value { param, args }) = self.entries.last_mut() {
            if is_arg {
                args.push(data, span)
            } else {
                param.push(data, span)
            }
        }
    }

    fn json(&mut self, event: &impl Serialize) {
        self.other(|text| serde_json::to_writer(text, event).expect("events have text as keys"));
    }

    fn other(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.text.len();
        write(&mut self.text);
        self.entries.push(Entry::Other(start..self.text.len()));
    }

    /// Panics with the first entry in which two logs differ.
    pub fn same(&self, other: &Self, which: &str) {
        if self.entries == other.entries && self.text == other.text {
            return;
        }
        let longer = self.entries.len().max(other.entries.len());
        for at in 0..longer {
            let (a, b) = (self.show(at), other.show(at));
            assert!(
                a == b,
                "{which}: entry {at} of the log differs\n  one: {a}\n  other: {b}"
            );
        }
        panic!("{which}: the logs differ, and read alike");
    }

    fn show(&self, at: usize) -> String {
        match self.entries.get(at) {
            None => "the end of the log".to_owned(),
            Some(Entry::Run(what, data)) => format!("{what:?} {}", show_run(data)),
            Some(Entry::Value { param, args }) => {
                format!("value {} | arguments {}", show_run(param), show_run(args))
            }
            Some(Entry::Other(range)) => {
                String::from_utf8_lossy(&self.text[range.clone()]).into_owned()
            }
        }
    }

    /// The runs, so that their bytes can be checked.
    pub fn runs(&self) -> impl Iterator<Item = (&What, &[u8], Span)> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Run(what, run) => Some((what, run.data.as_slice(), run.span)),
            Entry::Value { .. } | Entry::Other(_) => None,
        })
    }
}

fn show_run(run: &Run) -> String {
    let (span, data) = (run.span, run.data.escape_ascii());
    format!("{}..{} \"{data}\"", span.start, span.end)
}
