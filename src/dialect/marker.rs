//! What markers in plain text mean: what they open, and which of them are part of no text.

use serde::{Deserialize, Serialize};
use toolglot_scan::Scanner;
use toolglot_scan::path::Paths;

use super::framed::{self, Framed};
use super::{Dialect, Family, check, spec};
use crate::error::BuildError;

/// One dialect's way to open a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpenRef {
    pub dialect: u16,
    pub begins: Begins,
}

/// What a marker begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Begins {
    /// A block, by the opener of that number among those of the dialect.
    Block(u16),
    /// The same, in which stands what it does not show: blanks or attributes.
    Tag(u16),
    /// The header of a message.
    Message,
    /// The same without its beginning, in a thought that was left without a closer.
    Rest,
    /// A marker of a thought, by its number, that has a suffix.
    Thought(u16),
    /// A marker of a thought in which stands what it does not show, by its number in `SetInner::marks`.
    Mark(u16),
    /// A token in which stands what it does not show: once it is complete, its number in `SetInner::tokens`.
    Token(u16),
}

impl Begins {
    /// Its opener among those of a framed dialect.
    pub fn of(self, table: &Framed) -> Option<&framed::Opener> {
        match self {
            Self::Block(number) | Self::Tag(number) => table.openers.get(usize::from(number)),
            Self::Message | Self::Rest | Self::Thought(_) | Self::Mark(_) | Self::Token(_) => None,
        }
    }
}

/// What a marker in plain text means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// An entry of `SetInner::opens`.
    Open {
        refs: u16,
    },
    /// Part of no text where it is framing: an entry of `SetInner::tokens`.
    Token {
        id: u16,
    },
    Reasoning {
        id: u16,
    },
    Span {
        id: u16,
    },
}

/// White space that may stand between a token and what it belongs to.
pub(crate) const BESIDE: u64 = 64;

/// Tokens of one dialect that wait together, with white space between at most, for what stands after the last.
pub(crate) const TOGETHER: usize = 4;

/// A token that is part of no text where it is framing.
#[derive(Debug)]
pub(crate) struct Token {
    /// Whose it is, in the order of the set.
    pub dialects: Vec<u16>,
    /// It opens messages of text.
    pub opens: bool,
    /// It is a tag of ordinary markup whose closing tag is a token as well.
    pub pairs: bool,
    /// It closes blocks or calls.
    pub closes: bool,
    /// It closes blocks or calls, and is not framing.
    pub stray: bool,
    /// It closes thoughts, and is nothing else.
    pub thought: bool,
    /// It closes thoughts that calls have ended, and is nothing else.
    pub owed: bool,
    /// It closes messages.
    pub message: bool,
    /// It closes those messages that are calls.
    pub calls: bool,
    /// No dialect of it is a model's own: what closes its thoughts and messages is framing only where one is open or beside one.
    pub plain: bool,
    /// It is ordinary markup too.
    pub markup: bool,
    /// The thoughts that it closes.
    pub thoughts: Vec<u16>,
    /// The thoughts that it ends though it is none of their closers.
    pub ends: Vec<u16>,
}

impl Default for Token {
    /// Of no dialect so far.
    fn default() -> Self {
        Self {
            dialects: vec![],
            opens: false,
            pairs: false,
            closes: false,
            stray: true,
            thought: true,
            owed: true,
            message: false,
            calls: false,
            plain: true,
            markup: false,
            thoughts: vec![],
            ends: vec![],
        }
    }
}

/// A protected region of one dialect.
#[derive(Debug)]
pub(crate) struct SpanMarks {
    pub dialect: u16,
    pub spec: spec::SpanSpec,
    pub inside: Scanner,
}

/// So many bytes of a reply may tell what the prompt has written.
pub(crate) const MAX_LEAD: usize = 128;

/// What the prompt may have written, and what the reply begins with then.
#[derive(Debug)]
pub(crate) struct Written {
    pub prompt: String,
    pub paths: Paths<()>,
}

impl Written {
    /// Those of a set: only where it has one dialect with calls, or what begins a reply could be another's text.
    pub(super) fn all(dialects: &[Dialect]) -> Result<Vec<Self>, BuildError> {
        let calls = |dialect: &&Dialect| !matches!(dialect.family, Family::Plain);
        let mut chosen = dialects.iter().filter(calls);
        let (Some(dialect), None) = (chosen.next(), chosen.next()) else {
            return Ok(vec![]);
        };
        let mut all = vec![];
        for begins in &dialect.spec.begins {
            // Each for itself: a name may begin like a word of another.
            for reply in &begins.reply {
                let paths = Paths::new([(reply.as_str(), ())])
                    .map_err(|why| check::key(&dialect.spec, "begins", &why))?;
                let prompt = begins.prompt.clone();
                all.push(Self { prompt, paths });
            }
        }
        Ok(all)
    }
}
