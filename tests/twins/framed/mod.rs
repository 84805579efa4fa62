//! The twin of the framed family: reads a whole string by a dialect's file.
//!
//! It determines text, reasoning and calls, and whether a call was closed by its own rules, but no issues: how often and
//! where a slip is reported is up to the engine, what counts as a call is not.
//!
//! [`Spec::new`] defines which dialects it supports.

pub mod generate;
pub mod line;

mod block;
mod braces;
mod calls;
mod channels;
mod content;
mod evidence;
mod json;
mod params;
mod pattern;
mod python;
mod spec;
mod text;
mod tree;
mod yaml;

use toolglot::json::Value;

use json::Fault;
pub use spec::Spec;

/// The meaning of an output.
#[derive(Debug, Default)]
pub struct Outcome {
    pub text: String,
    pub reasoning: String,
    pub calls: Vec<(String, Value)>,
    /// The rules leave open what this input means; see [`line`].
    pub open: bool,
}

/// What is at a place in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Unit(usize),
    Section,
    End,
    Close,
    Separator,
    Param,
    Stray,
    Reopen,
    Further,
    /// The model's turn ends.
    Turn,
    /// The next message begins.
    Header,
}

/// How a block ended.
#[derive(Debug)]
enum Stop {
    /// Text continues there.
    Ends(usize),
    /// The byte there does not fit anything.
    Malformed(usize),
    /// The input ends.
    Cut,
    /// The input ends in what is more than a value, or in a section without a call that may hold anything.
    RunsOn,
    /// The input ends in a word without a following bracket; the calls end there.
    Word(usize),
    /// The opener is only mentioned; text continues there.
    Spoken(usize),
    /// The next block begins there.
    Reopen(usize),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::At(at) => Self::Malformed(at),
            Fault::Cut => Self::Cut,
        }
    }
}

pub struct Twin<'a> {
    spec: &'a Spec,
    input: &'a str,
    tools: Option<&'a Value>,
    out: Outcome,
    /// Whether a block or reasoning came before.
    begun: bool,
    /// Closers of a thought that a call has ended.
    owed: Vec<String>,
    /// Whether the position is in the section of a block.
    inside: bool,
    /// The unit of the block's last call.
    unit: usize,
    /// The argument that the attributes of the section form.
    shared: Option<(String, Value)>,
    /// The value of `$x` in the block, once its opener has been read.
    fix: Option<String>,
    /// The end of the block's last call, or the start of the block.
    good: usize,
    /// The end of the last block.
    ended: usize,
    /// The closing mark of the quotation directly before the block, until a value has begun.
    quote: Option<char>,
    /// Whether there is one, and no call has ended.
    quoted: bool,
}

/// Reads an output.
pub fn read(spec: &Spec, input: &str, tools: Option<&Value>) -> Outcome {
    let mut twin = Twin {
        spec,
        input,
        tools,
        out: Outcome::default(),
        begun: false,
        owed: vec![],
        inside: false,
        unit: 0,
        fix: None,
        shared: None,
        good: 0,
        ended: usize::MAX,
        quote: None,
        quoted: false,
    };
    match &spec.channels {
        Some(channels) => twin.messages(channels),
        None => twin.text(),
    }
    // What the prompt may have opened at the beginning of a reply is left to the engine.
    let begins: Vec<_> = spec.begins.iter().map(|p| (p, ())).collect();
    twin.out.open |=
        matches!(pattern::walk(input, 0, &begins), pattern::Walk::Fits(_)) && !begins.is_empty();
    // What follows an empty tag is left open if a call has a second form that begins with a tag.
    let opens = || spec.units.iter().flat_map(|unit| &unit.open);
    let longer = |open: &pattern::Pattern| {
        opens().any(|other| other.len() > open.len() && other.starts_with(open))
    };
    twin.out.open |= input.contains("/>") && opens().any(longer);
    // Without declared tools, no tag opens anything.
    let yaml = tools.is_some() && spec.units.iter().any(|unit| unit.payload == "yaml");
    twin.out.open |= yaml && has_tags_in_a_row(input);
    twin.out
}

/// Whether one tag directly follows another: the first may be a mention before a call, a known gap of the engine.
fn has_tags_in_a_row(input: &str) -> bool {
    let pieces: Vec<&str> = input.split('<').skip(1).collect();
    let opens = |piece: &str| {
        let ended = piece.split_once('>');
        !piece.starts_with('/') && ended.is_some_and(|(_, rest)| rest.trim().is_empty())
    };
    pieces
        .windows(2)
        .any(|two| opens(two[0]) && !two[1].starts_with('/'))
}
