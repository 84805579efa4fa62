//! What a host may ask of a stream between two chunks.

use super::{Mode, Parser, Region, State};
use crate::event::Event;

/// The position of a stream between two chunks; see [`Parser::stage`].
///
/// ```
/// use toolglot::{Collect, DialectSet, Options, Parser, Stage};
///
/// let (mut turn, set) = (Collect::new(), DialectSet::builtin("hermes")?);
/// let mut parser = Parser::new(&set, Options::default());
/// let mut stages = vec![];
/// for chunk in ["Hi <tool", r#"_call>{"name": "f", "#, r#""arguments": {}}"#, "</tool_call>"] {
///     parser.feed(chunk.as_bytes(), &mut turn);
///     stages.push(parser.stage());
/// }
/// assert_eq!(stages, [Stage::TagOpening, Stage::TagContent, Stage::TagClosing, Stage::Normal]);
/// # Ok::<(), toolglot::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// In text, a thought or a protected region. No bytes that may be a marker are held back.
    Normal,
    /// Bytes that may be a marker are held back: the beginning of one, or a whole one until the bytes after it show what it
    /// is. The closer of a thought or of a protected region counts, too.
    TagOpening,
    /// In a block, from its opener's last byte on, while a call of it is being written or its first call is still to come.
    /// Formats whose calls are formed when their block ends stay here until then.
    TagContent,
    /// In a block, after a call of it: the block's closer follows, or a separator and the next call.
    TagClosing,
}

impl Stage {
    /// All stages, in order.
    pub const ALL: &'static [Self] = &[
        Self::Normal,
        Self::TagOpening,
        Self::TagContent,
        Self::TagClosing,
    ];

    /// The stage's word: `normal`, `tag_opening`, `tag_content`, `tag_closing`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::TagOpening => "tag_opening",
            Self::TagContent => "tag_content",
            Self::TagClosing => "tag_closing",
        }
    }

    /// The stage with that word. The error of `FromStr` also says what was expected.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|stage| stage.name() == name)
    }
}

impl Parser {
    /// Whether a thought is open: the next bytes are reasoning until its closer, or until a call that ends it. A call inside
    /// a thought (with [`Options::calls_in_reasoning`](crate::Options::calls_in_reasoning)) doesn't close it. Before the
    /// first byte the answer depends on the dialects, [`Options::start`](crate::Options::start) and the prompt's tail.
    ///
    /// ```
    /// use toolglot::{DialectSet, Events, Options, Parser};
    ///
    /// let mut parser = Parser::new(&DialectSet::builtin("reasoning-think")?, Options::default());
    /// parser.feed(b"<think>hm", &mut Events::default());
    /// assert!(parser.in_reasoning() && !parser.may_hold_marker());
    /// parser.feed(b"</think>So <", &mut Events::default());
    /// assert!(!parser.in_reasoning() && parser.may_hold_marker());
    /// # Ok::<(), toolglot::BuildError>(())
    /// ```
    #[must_use]
    pub fn in_reasoning(&self) -> bool {
        self.ask(|state| matches!(state.region, Region::Reasoning { .. }))
    }

    /// Whether a marker, a block or a protected region is under way: bytes that may begin a marker are held back, or a call
    /// is being written. If false, everything fed was emitted as text or reasoning, except for an incomplete character, and
    /// nothing else is open: a host may split the output here.
    #[must_use]
    pub fn may_hold_marker(&self) -> bool {
        self.ask(|state| {
            stage(state) != Stage::Normal || matches!(state.region, Region::Span { .. })
        })
    }

    /// The position of the stream: outside, at a marker, in a call or after one. [`in_reasoning`](Self::in_reasoning) says
    /// independently whether a thought is open. [`Stage::Normal`] after the end. Costs nothing, except before the first
    /// byte, where it reads the prompt's tail.
    ///
    /// ```
    /// use toolglot::{Collect, DialectSet, Options, Parser, Stage};
    ///
    /// let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
    /// let mut stages = vec![];
    /// for chunk in ["Hi ", "<tool_", "call>{\"name\": \"f\", ", "\"arguments\": {}}\n", "</tool_", "call>"] {
    ///     parser.feed(chunk.as_bytes(), &mut Collect::new());
    ///     stages.push(parser.stage().name());
    /// }
    /// assert_eq!(stages, ["normal", "tag_opening", "tag_content", "tag_closing", "tag_closing", "normal"]);
    /// ```
    #[must_use]
    pub fn stage(&self) -> Stage {
        let mut found = Stage::Normal;
        self.ask(|state| {
            found = stage(state);
            true
        });
        found
    }

    /// Asks the state or, if the prompt's tail was not read yet, a copy that has read it. Nothing is open after the end.
    fn ask(&self, question: impl FnOnce(&State) -> bool) -> bool {
        if self.state.finished {
            return false;
        }
        if self.state.begun {
            return question(&self.state);
        }
        let mut ahead = self.clone();
        ahead.begin(&mut |_: Event<'_>| ());
        question(&ahead.state)
    }
}

/// The position of a stream.
fn stage(state: &State) -> Stage {
    // Includes the prompt's bytes.
    let lead = state.lead.as_ref();
    let waits = lead.is_some_and(|lead| !lead.bytes.is_empty()) || state.from() < state.pos();
    let io = &state.io;
    let between = io.open.is_none()
        && (io.block.as_ref()).is_some_and(|block| block.undeclared || io.valid > block.before.0);
    match state.mode {
        Mode::Body(_) if between => Stage::TagClosing,
        Mode::Body(_) | Mode::Skip(_) => Stage::TagContent,
        // A dialect may open at the first byte, before there is one.
        Mode::Flow | Mode::Opening(_) | Mode::Guess(_) | Mode::Link(_) if waits => {
            Stage::TagOpening
        }
        Mode::Flow | Mode::Opening(_) | Mode::Guess(_) | Mode::Link(_) => Stage::Normal,
    }
}
