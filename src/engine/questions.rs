//! What a host may ask of a stream between two chunks.

use super::{Mode, Parser, Region, State};
use crate::event::Event;

/// Where a stream stands between two chunks; see [`Parser::stage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// In text, a thought or a protected region. Nothing waits that may be a marker.
    Normal,
    /// Bytes wait that may be a marker: the beginning of one, or a whole one, while what follows it has to show what it is. A
    /// closer of a thought or of a protected region counts too.
    TagOpening,
    /// In a block, from its opener's last byte on, while a call of it is written or its first is still to come. Formats whose
    /// calls are made when their block ends stay here until then.
    TagContent,
    /// In a block, after a call of it: what comes is the block's closer, or a separator and the next call.
    TagClosing,
}

impl Stage {
    /// All of them, in order.
    pub const ALL: &'static [Self] = &[
        Self::Normal,
        Self::TagOpening,
        Self::TagContent,
        Self::TagClosing,
    ];

    /// Its word: `normal`, `tag_opening`, `tag_content`, `tag_closing`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::TagOpening => "tag_opening",
            Self::TagContent => "tag_content",
            Self::TagClosing => "tag_closing",
        }
    }

    /// The one of that word. `FromStr` says what was expected, too.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|stage| stage.name() == name)
    }
}

impl Parser {
    /// Whether a thought is open: what comes next is reasoning until its closer, or a call that ends it. A call inside a
    /// thought (with [`Options::calls_in_reasoning`](crate::Options::calls_in_reasoning)) doesn't close it. Before the first
    /// byte it says what the dialects, [`Options::start`](crate::Options::start) and the prompt's tail have opened.
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

    /// Whether a marker, a block or a protected region is under way: bytes wait that may be the beginning of a marker, or a call
    /// is being written. False says that whatever was fed has come out as text or reasoning, but for half a character, and that
    /// nothing else is open: a host may cut here.
    #[must_use]
    pub fn may_hold_marker(&self) -> bool {
        self.ask(|state| {
            stage(state) != Stage::Normal || matches!(state.region, Region::Span { .. })
        })
    }

    /// Where the stream stands: outside, at a marker, in a call or after one. [`in_reasoning`](Self::in_reasoning) says beside it whether
    /// a thought is open. After the end it is [`Stage::Normal`]. Cost: none, but before the first byte, where it reads the
    /// prompt's tail.
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
        let mut told = Stage::Normal;
        self.ask(|state| {
            told = stage(state);
            true
        });
        told
    }

    /// Asks the state; if the prompt's tail was not read yet, that of a copy which has read it. Nothing is open after the
    /// end.
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

/// Where a stream stands.
fn stage(state: &State) -> Stage {
    // Of the prompt, too.
    let lead = state.lead.as_ref();
    let waits = lead.is_some_and(|lead| !lead.bytes.is_empty()) || state.from() < state.pos();
    let io = &state.io;
    let between = io.open.is_none()
        && (io.block.as_ref()).is_some_and(|block| block.strangers || io.stood > block.before.0);
    match state.mode {
        Mode::Body(_) if between => Stage::TagClosing,
        Mode::Body(_) | Mode::Skip(_) => Stage::TagContent,
        // A dialect may open at the first byte, before there is one.
        Mode::Flow | Mode::Opening(_) | Mode::Guess(_) if waits => Stage::TagOpening,
        Mode::Flow | Mode::Opening(_) | Mode::Guess(_) => Stage::Normal,
    }
}
