//! The twin of the framed family: a dialect's file, read over a whole string.
//!
//! Text, reasoning and calls are told, and whether a call was closed by its own rules. Issues are not: how often and where a
//! slip is reported is the engine's matter, what counts as a call is not.
//!
//! [`Spec::new`] says which dialects it reads.

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

/// What an output means.
#[derive(Debug, Default)]
pub struct Outcome {
    pub text: String,
    pub reasoning: String,
    pub calls: Vec<(String, Value)>,
    /// The rules leave open what this input means: see [`line`].
    pub open: bool,
}

/// What stands at a place in a block.
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
}

/// How a block ended.
#[derive(Debug)]
enum Stop {
    /// Text goes on there.
    Ends(usize),
    /// The byte there can be nothing.
    Malformed(usize),
    /// The input ends.
    Cut,
    /// The input ends in what is more than a value, or in a section without a call where anything may stand.
    RunsOn,
    /// The input ends in a word that no bracket follows; calls end there.
    Word(usize),
    /// The opener is spoken of; text goes on there.
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
    /// A block or reasoning has been there.
    begun: bool,
    /// Closers of a thought that a call has ended.
    owed: Vec<String>,
    /// In the section of a block.
    inside: bool,
    /// What the last call of a block is written as.
    unit: usize,
    /// The argument that the section's attributes are.
    shared: Option<(String, Value)>,
    /// What `$x` is in the block, once its opener has been read.
    fix: Option<String>,
    /// Where the block's last call ended, or the block began.
    good: usize,
    /// What closes the quotation that stands right before the block, until a value has begun.
    quote: Option<char>,
    /// There is one, and no call has ended.
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
        quote: None,
        quoted: false,
    };
    match &spec.channels {
        Some(channels) => twin.messages(channels),
        None => twin.text(),
    }
    // What the prompt has opened where a reply begins so is the engine's to tell.
    let begins: Vec<_> = spec.begins.iter().map(|p| (p, ())).collect();
    twin.out.open |=
        matches!(pattern::walk(input, 0, &begins), pattern::Walk::Fits(_)) && !begins.is_empty();
    // What goes on after an empty tag where a call has a second form that begins with a tag.
    let opens = || spec.units.iter().flat_map(|unit| &unit.open);
    let longer = |open: &pattern::Pattern| {
        opens().any(|other| other.len() > open.len() && other.starts_with(open))
    };
    twin.out.open |= input.contains("/>") && opens().any(longer);
    // Without declared tools none of them opens anything.
    let yaml = tools.is_some() && spec.units.iter().any(|unit| unit.payload == "yaml");
    twin.out.open |= yaml && has_tags_in_a_row(input);
    twin.out
}

/// Whether a tag stands right after one: the first may be a mention before a call, which is a known gap of the engine.
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
