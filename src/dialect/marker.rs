//! The meaning of markers in plain text: what they open, and which are framing.

use std::ops::Index;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use toolglot_scan::path::Paths;
use toolglot_scan::{Case, Pattern, PatternError, Scanner};

use super::framed::{self, Framed};
use super::lazy::try_once;
use super::{Dialect, Family, check, spec};
use crate::error::BuildError;

/// One dialect's way to open a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OpenRef {
    pub dialect: u16,
    pub begins: Begins,
}

/// The dialects that open a block with each of some markers.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Opens {
    all: Vec<OpenRef>,
    /// Where those of each marker end in `all`.
    ends: Vec<usize>,
}

impl From<Vec<Vec<OpenRef>>> for Opens {
    fn from(lists: Vec<Vec<OpenRef>>) -> Self {
        let end = |end: &mut usize, list: &Vec<OpenRef>| {
            *end += list.len();
            Some(*end)
        };
        let ends = lists.iter().scan(0, end).collect();
        Self {
            all: lists.concat(),
            ends,
        }
    }
}

/// By the number of a marker.
impl Index<u16> for Opens {
    type Output = [OpenRef];

    fn index(&self, marker: u16) -> &[OpenRef] {
        let marker = usize::from(marker);
        let start = marker.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.all[start..self.ends[marker]]
    }
}

/// What a marker begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Begins {
    /// A block, by the index of the opener in its dialect.
    Block(u16),
    /// The same, with tolerated whitespace or attributes.
    Tag(u16),
    /// The header of a message.
    Message,
    /// The same without its beginning, in reasoning that has no closer.
    Rest,
    /// A reasoning marker with a suffix, by the number of the reasoning.
    Thought(u16),
    /// A reasoning marker with tolerated whitespace or attributes, by its index in `SetInner::marks`.
    Mark(u16),
    /// A token with tolerated whitespace or attributes: once it is complete, its index in `SetInner::tokens`.
    Token(u16),
}

impl Begins {
    /// The opener, for a framed dialect.
    pub fn of(self, table: &Framed) -> Option<&framed::Opener> {
        match self {
            Self::Block(number) | Self::Tag(number) => table.openers.get(usize::from(number)),
            Self::Message | Self::Rest | Self::Thought(_) | Self::Mark(_) | Self::Token(_) => None,
        }
    }
}

/// What a marker in plain text means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Role {
    /// Opens a block: an index into `SetInner::opens`.
    Open {
        refs: u16,
    },
    /// A token, not part of the text where it is framing: an index into `SetInner::tokens`.
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

/// The maximum whitespace, in bytes, between a token and what it belongs to.
pub(crate) const BESIDE: u64 = 64;

/// The maximum number of tokens of one dialect, separated only by whitespace, that are held back together until it is known
/// what follows them.
pub(crate) const TOGETHER: usize = 4;

/// Whose turn follows a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Author {
    Model,
    Other,
    /// The name after the token says it.
    Named,
    /// It ends a turn.
    Nobody,
}

/// A token that is not part of the text where it is framing.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Token {
    /// The dialects that have it, in the order of the set.
    pub dialects: Vec<u16>,
    /// It closes the sections of one of its dialects, and these dialects open the same calls without their section.
    pub alike: Vec<u16>,
    /// It opens text messages.
    pub opens: bool,
    /// It is a tag of ordinary markup whose closing tag is a token as well.
    pub pairs: bool,
    /// It closes blocks or calls.
    pub closes: bool,
    /// It closes calls together with the token that follows it, and has no other role.
    pub part: bool,
    /// It closes blocks or calls, and is not framing.
    pub stray: bool,
    /// It closes reasoning, and has no other role.
    pub thought: bool,
    /// It closes reasoning that calls have ended, and has no other role.
    pub owed: bool,
    /// It closes messages.
    pub message: bool,
    /// It closes those messages that are calls.
    pub calls: bool,
    /// It is the closing tag of an opener.
    pub named: bool,
    /// It opens calls, but only inside a section: elsewhere it is text, and so is its closer.
    pub inner: bool,
    /// None of its dialects is a model's own: its closers of reasoning and messages are framing only if one is open or
    /// adjacent.
    pub plain: bool,
    /// It is also ordinary markup.
    pub markup: bool,
    /// The reasoning that it closes.
    pub thoughts: Vec<u16>,
    /// The reasoning that it ends without being one of its closers.
    pub ends: Vec<u16>,
    /// Whose turn follows it, if it is a token of turns.
    pub author: Option<Author>,
    /// How the model is named after it.
    pub model: Vec<String>,
}

impl Default for Token {
    /// A token of no dialect yet.
    fn default() -> Self {
        Self {
            dialects: vec![],
            alike: vec![],
            opens: false,
            pairs: false,
            closes: false,
            part: true,
            stray: true,
            thought: true,
            owed: true,
            message: false,
            calls: false,
            named: false,
            inner: true,
            plain: true,
            markup: false,
            thoughts: vec![],
            ends: vec![],
            author: None,
            model: vec![],
        }
    }
}

/// A protected region of one dialect.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
pub(crate) struct SpanMarks {
    pub dialect: u16,
    pub spec: spec::SpanSpec,
    pub close: Pattern,
    /// The scanner for its closer; built when a stream first needs it.
    #[serde(skip)]
    inside: OnceLock<Scanner>,
}

impl SpanMarks {
    pub(super) fn new(dialect: u16, spec: spec::SpanSpec) -> Self {
        let close = Pattern {
            hold: false,
            ..Pattern::new(&spec.close, Case::Exact)
        };
        Self {
            dialect,
            spec,
            close,
            inside: OnceLock::new(),
        }
    }

    /// The scanner for the inside. There always is one: a set whose closers could be too long has built it.
    #[inline]
    pub fn inside(&self) -> Option<&Scanner> {
        self.inside.get().or_else(|| self.build().ok())
    }

    #[cold]
    #[inline(never)]
    pub(super) fn build(&self) -> Result<&Scanner, PatternError> {
        try_once(&self.inside, || Scanner::new(vec![self.close.clone()]))
    }
}

/// The maximum number of bytes of a reply that may determine what the prompt has written.
pub(crate) const MAX_LEAD: usize = 128;

/// What the prompt may have written, and how the reply then begins.
#[derive(Debug)]
pub(crate) struct Written {
    pub prompt: String,
    pub paths: Paths<()>,
}

impl Written {
    /// Those of a set, only if it has one dialect with calls; otherwise the beginning of a reply could be another dialect's
    /// text.
    pub(super) fn all(dialects: &[Dialect]) -> Result<Vec<Self>, BuildError> {
        let calls = |dialect: &&Dialect| !matches!(dialect.family, Family::Plain);
        let mut chosen = dialects.iter().filter(calls);
        let (Some(dialect), None) = (chosen.next(), chosen.next()) else {
            return Ok(vec![]);
        };
        let mut all = vec![];
        for begins in &dialect.spec.begins {
            // Separate patterns, because a name may begin like a word of another.
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
