//! Runs a payload alone, under every split into two, and logs the result.

use std::sync::LazyLock;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Step;
use crate::body::{Io, Out};
use crate::dialect::DialectSet;
use crate::event::{CallState, Event};
use crate::limits::Options;

/// A payload under test.
pub(crate) trait Payload:
    Clone + std::fmt::Debug + PartialEq + Serialize + DeserializeOwned
{
    type Table;
    /// How many bytes it may hold back: those of an incomplete delimiter.
    const HOLDS: u64 = 0;
    fn start(out: &mut Out<'_>, table: &Self::Table) -> Self;
    fn feed(
        &mut self,
        out: &mut Out<'_>,
        table: &Self::Table,
        i: usize,
        end: usize,
    ) -> (usize, Step);
    fn abandon(&mut self, out: &mut Out<'_>, end: u64);
    fn calls(&self) -> u32;
}

/// The result of an input.
#[derive(Debug, PartialEq)]
pub(crate) struct Log<P> {
    /// Events without parameter deltas; argument deltas are joined.
    pub events: Vec<String>,
    /// Events without argument deltas; parameter deltas are joined.
    pub params: Vec<String>,
    /// `name arguments`, and what was recovered, for each closed call.
    pub calls: Vec<String>,
    /// Kinds of issues.
    pub issues: Vec<&'static str>,
    pub step: Step,
    pub end: usize,
    state: (P, Io),
}

fn join(log: &mut Vec<String>, head: &str, text: &str) {
    match log.last_mut().filter(|last| last.starts_with(head)) {
        Some(last) => last.push_str(text),
        None => log.push(format!("{head}{text}")),
    }
}

pub(crate) fn run<P: Payload>(
    table: &P::Table,
    options: &Options,
    input: &[u8],
    cuts: &[usize],
) -> Log<P> {
    static SET: LazyLock<DialectSet> = LazyLock::new(DialectSet::defaults);
    let set = &*SET;
    let mut io = Io::new(0);
    let (mut events, mut params, mut calls, mut issues) = (vec![], vec![], vec![], vec![]);
    let mut json = (String::new(), String::new());
    let mut sink = |event: Event<'_>| match event {
        Event::ArgDelta { json: text, .. } => {
            json.1.push_str(text);
            join(&mut events, "arg ", text);
        }
        Event::ParamDelta { data, span } => {
            assert_eq!(&input[span.start as usize..span.end as usize], data);
            join(&mut params, "data ", &data.escape_ascii().to_string());
        }
        event => {
            match &event {
                Event::CallOpen { name, .. } => json = ((*name).to_owned(), String::new()),
                Event::CallClose { state, .. } => {
                    let kinds = match state {
                        CallState::Complete => String::new(),
                        CallState::Repaired(kinds) | CallState::Recovered(kinds) => {
                            format!(" {kinds:?}")
                        }
                    };
                    calls.push(format!("{} {}{kinds}", json.0, json.1));
                    let value = serde_json::from_str::<crate::json::Value>(&json.1);
                    assert!(value.is_ok_and(|value| value.is_object()), "{}", json.1);
                }
                Event::Issue(issue) => issues.push(issue.kind.name()),
                _ => {}
            }
            events.push(format!("{event:?}"));
            params.push(format!("{event:?}"));
        }
    };
    let (mut from, mut end, mut step) = (0, 0, Step::More);
    let mut body = None;
    for to in cuts.iter().copied().chain([input.len()]) {
        let mut out = Out {
            io: &mut io,
            set: &set.inner,
            opts: options,
            sink: &mut sink,
            seg: &input[from..to],
            base: from as u64,
        };
        let payload: &mut P = body.get_or_insert_with(|| P::start(&mut out, table));
        if from < to && step == Step::More {
            let (mut i, mut now) = (0, Step::Line);
            while now == Step::Line {
                (i, now) = payload.feed(&mut out, table, i, to - from);
            }
            (end, step) = (from + i, now);
            assert!(end as u64 - out.from() <= P::HOLDS, "bytes are held back");
            assert!(
                step != Step::More || end == to,
                "`More` before the end of the input"
            );
        }
        if to == input.len() && step != Step::Done && from <= to {
            // Only once, since the last piece may be empty.
            payload.abandon(&mut out, end as u64);
        }
        let bytes = postcard::to_allocvec(payload).expect("a state");
        let read: P = postcard::from_bytes(&bytes).expect("its bytes");
        assert_eq!(&read, payload);
        from = to;
    }
    let body = body.expect("a payload");
    assert_eq!(body.calls() as usize, calls.len());
    Log {
        events,
        params,
        calls,
        issues,
        step,
        end,
        state: (body, io),
    }
}

/// The log, which must not depend on the split.
pub(crate) fn log<P: Payload>(table: &P::Table, options: &Options, input: &[u8]) -> Log<P> {
    let whole = run::<P>(table, options, input, &[]);
    let shown = String::from_utf8_lossy(input);
    for cut in 0..=input.len() {
        let log = run::<P>(table, options, input, &[cut]);
        assert_eq!(log, whole, "{shown:?} cut at {cut}");
    }
    let every: Vec<usize> = (0..input.len()).collect();
    assert_eq!(run::<P>(table, options, input, &every), whole, "{shown:?}");
    whole
}

/// The calls, the issues, and how it ended, in one line for a table of cases.
pub(crate) fn line<P: Payload>(table: &P::Table, options: &Options, input: &str) -> String {
    let log = log::<P>(table, options, input.as_bytes());
    let step = match log.step {
        Step::More | Step::Line => "more".to_owned(),
        Step::Done => format!("done {}", input.len() - log.end),
        Step::Malformed => "malformed".to_owned(),
        Step::Limit(kind) => kind.name().to_owned(),
    };
    format!(
        "{} | {} | {step}",
        log.calls.join("; "),
        log.issues.join(" ")
    )
}

/// Options with declared tools.
pub(crate) fn tools(json: &str) -> Options {
    Options {
        tools: Some(std::sync::Arc::new(
            crate::hints::Tools::from_json(json).expect("tools"),
        )),
        ..Options::default()
    }
}
