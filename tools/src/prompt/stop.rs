//! What ends a reply.
//!
//! Told from the dialect's file, unless its table `prompt` says it:
//!
//! * `turn`: what no reply should go on after. Marks of results, which a model that writes them invents (the openers of
//!   spans of kind `result`, the headers of observations), then the markers that are part of no text (`framing`), but for
//!   what opens the model's turn and what ends its header.
//! * `block`: closers of blocks, for hosts that want one block of calls a reply. Most servers cut what stopped them: ask for
//!   it to be kept, or put it back before parsing. Dialects whose calls end by themselves have none.

use toolglot::DialectSet;
use toolglot::layer;
use toolglot::layer::Spec;
use toolglot_scan::path;

use super::Layout;

/// Stop sequences of a dialect, each once, in the order of its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stops {
    /// What no reply should go on after.
    pub turn: Vec<String>,
    /// What closes a block of calls.
    pub block: Vec<String>,
}

impl Stops {
    /// The stop sequences of a dialect of the set; none if there is no such dialect.
    #[must_use]
    pub fn of(set: &DialectSet, dialect: &str) -> Option<Self> {
        let found = set.dialects().find(|have| have.id() == dialect)?;
        let mut block = found.closers();
        block.retain(|closer| !closer.trim().is_empty());
        for closer in &mut block {
            // A tag is shown up to its name.
            if closer.starts_with("</") && !closer.ends_with('>') {
                closer.push('>');
            }
        }
        Some(Self {
            turn: once(turn(layer::spec(found))),
            block: once(block),
        })
    }
}

impl Layout {
    /// What no reply should go on after; see [`Stops`].
    #[must_use]
    pub fn stops(&self) -> Vec<String> {
        once(turn(&self.spec))
    }
}

fn turn(spec: &Spec) -> Vec<String> {
    if let Some(own) = &spec.prompt.stop {
        return own.clone();
    }
    let spans = spec.span.iter().filter(|span| span.kind == "result");
    let mut all: Vec<String> = spans.map(|span| span.open.clone()).collect();
    let lines = spec.line.iter().flat_map(|line| &line.observation);
    all.extend(
        lines
            .filter_map(|pattern| path::literal(pattern).ok())
            .filter(|text| text.ends_with([':', '*'])),
    );
    // What opens a turn stands at its beginning; where the prompt has written some of it, the reply begins with the rest.
    let opens = |token: &str, turn: &str| token.starts_with(turn) || turn.ends_with(token);
    let begins = |token: &String| spec.turn.iter().any(|turn| opens(token, turn));
    all.extend(spec.framing.iter().filter(|token| !begins(token)).cloned());
    all
}

fn once(mut all: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    all.retain(|stop| !stop.is_empty() && seen.insert(stop.clone()));
    all
}
