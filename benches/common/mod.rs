//! What the benches share: texts to parse, ways to chunk them, and sinks that cannot be optimised away.
//!
//! Texts are made from the small files under `data/`: their parts are repeated in an order determined by a fixed seed,
//! with running numbers. They are the same on every machine, need no network, and resemble prose, code and pages in the
//! respect that matters: how often a byte occurs that may begin a marker.

#![allow(dead_code, reason = "every bench uses a part of it")]

pub mod arguments;
pub mod corpus;
pub mod measure;
pub mod yardsticks;

use std::hint::black_box;

use toolglot::{CallState, DialectSet, Event, Options, Parser, Retain, Sink};

/// Adds up the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Bytes of text and reasoning.
    pub text: u64,
    /// Bytes of arguments as JSON text.
    pub args: u64,
    /// Bytes of values as written.
    pub params: u64,
    /// Calls that were complete.
    pub complete: u32,
    /// Everything else.
    pub others: u32,
}

impl Sink for Count {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Text { data, .. } | Event::Reasoning { data, .. } => {
                self.text += black_box(data).len() as u64
            }
            Event::ArgDelta { json, .. } => self.args += black_box(json).len() as u64,
            Event::ParamDelta { data, .. } => self.params += black_box(data).len() as u64,
            Event::CallClose {
                state: CallState::Complete,
                ..
            } => self.complete += 1,
            _ => self.others += 1,
        }
    }
}

/// Where chunks of one size end.
pub fn every(len: usize, size: usize) -> Vec<usize> {
    (1..=len.div_ceil(size))
        .map(|n| (n * size).min(len))
        .collect()
}

/// Feeds the chunks that end at `ends` and counts the output.
pub fn feed(parser: &mut Parser, input: &[u8], ends: &[usize]) -> Count {
    let mut count = Count::default();
    let mut at = 0;
    for end in ends {
        parser.feed(black_box(&input[at..*end]), &mut count);
        at = *end;
    }
    count
}

/// A single dialect, whose markers begin with a byte that is common in code.
pub fn one() -> DialectSet {
    DialectSet::builtin("tool-call-xml").expect("a built-in dialect")
}

/// The dialect sets of the cases, with their names.
pub fn sets() -> [(&'static str, DialectSet); 2] {
    [
        ("1 dialect", one()),
        ("all dialects", DialectSet::defaults()),
    ]
}

/// Options that differ from the default only in retention.
pub fn retaining(retain: Retain) -> Options {
    let mut options = Options::default();
    options.retain = retain;
    options
}

/// Short measurements: there are many cases, and the comparisons use the figures of `ratios.rs`.
pub fn criterion() -> criterion::Criterion {
    let time = std::time::Duration::from_millis;
    criterion::Criterion::default()
        .warm_up_time(time(200))
        .measurement_time(time(800))
        .sample_size(20)
        .configure_from_args()
}
