//! What ends a reply.
//!
//! Derived from the dialect's file, unless its table `prompt` lists them:
//!
//! * `turn`: text after which no reply should continue. Marks of results, which a model can only invent (the openers of spans
//!   of kind `result`, the headers of observations), then the markers that are not part of the text (`framing`), except those
//!   that open the model's turn and end its header.
//! * `block`: closers of blocks, for hosts that want one block of calls per reply. Most servers remove the stop sequence: ask
//!   for it to be kept, or append it before parsing. Dialects whose calls end by themselves have none.

use toolglot::DialectSet;
use toolglot::layer;
use toolglot::layer::Spec;
use toolglot_scan::path;

use super::Layout;

/// Stop sequences of a dialect, each once, in the order of its file.
///
/// ```
/// use toolglot_tools::prompt::Stops;
///
/// let stops = Stops::of(&toolglot::DialectSet::builtin("hermes")?, "hermes").unwrap();
/// assert_eq!(stops.block, ["</tool_call>"]); // for one call a reply
/// assert!(stops.turn.contains(&"<|im_end|>".to_owned()));
/// # Ok::<(), toolglot::BuildError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stops {
    /// Text after which no reply should continue.
    pub turn: Vec<String>,
    /// What closes a block of calls.
    pub block: Vec<String>,
}

impl Stops {
    /// The stop sequences of a dialect of the set; `None` if there is no such dialect.
    #[must_use]
    pub fn of(set: &DialectSet, dialect: &str) -> Option<Self> {
        let found = set.dialect(dialect)?;
        let mut block = found.closers();
        block.retain(|closer| !closer.trim().is_empty());
        for closer in &mut block {
            // A tag is given up to its name.
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
    /// Text after which no reply should continue; see [`Stops`].
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
    let mut all: Vec<String> = spans.map(|span| span.open.trim_end().to_owned()).collect();
    let lines = spec.line.iter().flat_map(|line| &line.observation);
    all.extend(
        lines
            .filter_map(|pattern| path::literal(pattern).ok())
            .filter(|text| text.ends_with([':', '*'])),
    );
    // A turn opener is at the beginning of a turn; if the prompt has written a part of it, the reply begins with the rest.
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
