//! One resumable parser per body family.
//!
//! A body consumes the bytes of a block from its opener to its own closer. It reports parameters and calls to [`Out`], the
//! only way by which events leave. Undecided bytes stay with the [`cursor`], retained bytes in the block. A body keeps only
//! what it cannot write yet, such as a value whose type decides its form.

mod args;
mod attribute_params;
pub(crate) mod brace_calls;
mod call;
mod content;
mod cursor;
mod element_tree;
mod entities;
mod field_head;
mod fields;
mod firsts;
mod framed;
mod given;
mod heard;
mod hidden;
mod inner;
pub(crate) mod json_calls;
mod key_quote;
mod lexer;
mod line;
mod live;
mod mapping_call;
mod named_params;
mod object;
mod opener_again;
mod out;
mod payload;
mod plain;
pub(crate) mod python_calls;
mod short;
mod tags;
mod tree;
mod tree_payload;
mod typed;
mod value;

use serde::{Deserialize, Serialize};

use crate::dialect::Family;
use crate::kind::{Kind, Severity};
use crate::limits::Limits;

pub(crate) use args::{Args, is_torn, tool_name};
pub(crate) use call::Names;
pub(crate) use cursor::{Chunk, joined, pieces};
pub(crate) use field_head::{WINDOW, before_key, begins_inside, is_key};
pub(crate) use fields::{Key, doubts, split};
pub(crate) use framed::{Strange, holds_markup, name_in_id, other_tags};
pub(crate) use heard::{Heard, Said};
pub(crate) use lexer::precedes_names;
pub(crate) use out::{Block, Io, Out, Stuff};
pub(crate) use plain::Clean;
pub(crate) use short::{Marked, Short, Taken};
pub(crate) use tree_payload::{Elements, ITEM, tag_name};

/// The state of an open block's body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Body {
    KeyQuote(key_quote::Body),
    ElementTree(element_tree::Body),
    NamedParams(named_params::Body),
    AttributeParams(attribute_params::Body),
    Framed(Box<framed::Body>),
    Line(Box<line::Body>),
}

/// How far a body was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// All bytes were consumed.
    More,
    /// The block ended at `end`; lookahead bytes after it must be read again as text.
    Closed { end: u64 },
    /// The next block of the same dialect opened at `start`, with a marker up to `end`; bytes after the marker are read
    /// again. `done` if the open block is valid all the same.
    Reopened { start: u64, end: u64, done: bool },
    /// The block ended at `at` without its closer; the bytes after it are read again as text.
    Broken { at: u64, severity: Severity },
    /// The opener is a mention: the block is text up to `at`, and the bytes after it are read again.
    Mention { at: u64 },
    /// The block contains a broken call and ends at `at`; the bytes after it are read again.
    Hidden { at: u64 },
    /// The turn ended at `at`, in a block a call of which broke: what follows its last call, from `from` on, becomes text, as
    /// where the stream ends. What follows is read again.
    GivenBack { from: u64, at: u64 },
    /// The body is malformed, which was reported. `ended` if the block ended here all the same.
    Malformed { ended: bool },
    /// A limit fired. `ended` if the block ended here all the same.
    Limit { kind: Kind, ended: bool },
}

impl Flow {
    /// A limit that fires where the block has `ended`.
    pub fn at_end(self, ended: bool) -> Self {
        match self {
            Self::Limit { kind, .. } => Self::Limit { kind, ended },
            other => other,
        }
    }
}

/// How a body ends when the stream does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finished {
    /// The block counts as closed at that offset.
    Closed(u64),
    /// Only closers are missing. The block ends at that offset; the bytes after it are read again.
    Forgotten(u64),
    /// The block is not closed.
    Open,
    /// It broke, and ended at that offset all the same.
    Hidden(u64),
    /// It broke, and nothing ended it. If some of its calls are valid, they extend to that offset.
    Broken(u64),
}

impl From<Option<u64>> for Finished {
    fn from(closed: Option<u64>) -> Self {
        closed.map_or(Self::Open, Self::Closed)
    }
}

impl Body {
    /// The body of a block that has just opened. `header` is its accepted header.
    pub fn open(out: &mut Out<'_>, family: &Family, header: &Opened<'_>) -> Result<Self, Kind> {
        Ok(match family {
            Family::KeyQuote(_) => Self::KeyQuote(key_quote::Body::new(header.at)),
            Family::ElementTree(_) => Self::ElementTree(element_tree::Body::new(header.at)),
            Family::NamedParams(_) => {
                Self::NamedParams(named_params::Body::new(Args::open(out, header)?))
            }
            Family::AttributeParams(_) => {
                Self::AttributeParams(attribute_params::Body::new(Args::open(out, header)?))
            }
            Family::Framed(table) => Self::Framed(Box::new(framed::Body::open(out, table, header))),
            Family::Line(table) => {
                if !header.name.is_empty() && !table.is_null(header.name) {
                    out.call_named(header.name, true, header.span);
                }
                Self::Line(Box::new(line::Body::open(table, header)))
            }
            Family::Plain => return Err(Kind::MalformedBody),
        })
    }

    /// Consumes the chunk from index `at` up to `end`. Returns the index after the last byte consumed.
    pub fn feed(
        &mut self,
        out: &mut Out<'_>,
        family: &Family,
        at: usize,
        end: usize,
    ) -> (usize, Flow) {
        match (self, family) {
            (Self::KeyQuote(body), Family::KeyQuote(table)) => body.feed(out, table, at, end),
            (Self::ElementTree(body), Family::ElementTree(table)) => body.feed(out, table, at, end),
            (Self::NamedParams(body), Family::NamedParams(table)) => body.feed(out, table, at, end),
            (Self::AttributeParams(body), Family::AttributeParams(table)) => {
                body.feed(out, table, at, end)
            }
            (Self::Framed(body), Family::Framed(table)) => body.feed(out, table, at, end),
            (Self::Line(body), Family::Line(table)) => body.feed(out, table, at, end),
            // Only a tampered snapshot leads here.
            _ => (at, Flow::Malformed { ended: false }),
        }
    }

    /// Hides everything from `pos` on: the model must not write it, so it never becomes text. Returns false if the body
    /// cannot do that.
    pub fn hide(&mut self, out: &mut Out<'_>, family: &Family, pos: u64) -> bool {
        match (self, family) {
            (Self::Framed(body), Family::Framed(table)) => {
                body.hide(out, table, pos);
                true
            }
            _ => false,
        }
    }

    /// Begins JSON that names a tool and follows the header of its lines, in a fence or not.
    pub fn begin_blob(&mut self, fenced: bool) {
        match self {
            Self::Line(body) => body.begin_blob(fenced),
            Self::KeyQuote(_)
            | Self::ElementTree(_)
            | Self::NamedParams(_)
            | Self::AttributeParams(_)
            | Self::Framed(_) => {}
        }
    }

    /// The open value, if its next bytes can be delivered unchanged.
    pub fn short(&self, family: &Family, limits: &Limits) -> Option<Short> {
        match (self, family) {
            (Self::NamedParams(body), Family::NamedParams(table)) => body.short(table, limits),
            (Self::AttributeParams(body), Family::AttributeParams(table)) => {
                body.short(table, limits)
            }
            (Self::Framed(body), Family::Framed(table)) => body.short(table, limits),
            (Self::Line(body), Family::Line(table)) => body.short(table, limits),
            (Self::KeyQuote(body), Family::KeyQuote(table)) => body.short(table, limits),
            (Self::ElementTree(body), _) => body.short(limits),
            _ => None,
        }
    }

    /// Notes, for bytes of a string that bypassed the body, the offset of a backslash at their end, whose letter is still to
    /// come; `None` if they end otherwise. Returns false if it cannot do that.
    pub fn passed_escape(&mut self, backslash: Option<u64>) -> bool {
        let lexer = match self {
            Self::Framed(body) => body.lexer(),
            Self::Line(body) => body.lexer(),
            Self::KeyQuote(_)
            | Self::ElementTree(_)
            | Self::NamedParams(_)
            | Self::AttributeParams(_) => None,
        };
        lexer.map(|lexer| lexer.passed(backslash)).is_some()
    }

    /// The open value after a byte that is held back, if its next bytes can be delivered unchanged unless they go on with what that
    /// byte may begin.
    pub fn short_after(&self, limits: &Limits, byte: u8) -> Option<Short> {
        match self {
            Self::Framed(body) => body.short_after(limits, byte),
            Self::KeyQuote(_)
            | Self::ElementTree(_)
            | Self::NamedParams(_)
            | Self::AttributeParams(_)
            | Self::Line(_) => None,
        }
    }

    /// Looks at a chunk that bypassed the body and in which nothing has a meaning, except that its last byte may begin something
    /// (`holds`). Returns false if it cannot do that.
    pub fn passed_marks(&mut self, chunk: &[u8], holds: bool) -> bool {
        match self {
            Self::Framed(body) => body.passed_marks(chunk, holds),
            Self::KeyQuote(_)
            | Self::ElementTree(_)
            | Self::NamedParams(_)
            | Self::AttributeParams(_)
            | Self::Line(_) => false,
        }
    }

    /// Keeps bytes at offset `at` of a parameter whose argument is written when it ends, and that bypassed the body.
    #[inline]
    pub fn passed(&mut self, bytes: &[u8], at: u64) {
        match self {
            Self::KeyQuote(body) => body.passed(bytes, at),
            Self::NamedParams(body) => body.passed(bytes),
            Self::AttributeParams(body) => body.passed(bytes),
            Self::Framed(body) => body.passed(bytes),
            // Its values are read in the retained block.
            Self::ElementTree(_) | Self::Line(_) => {}
        }
    }

    /// Closes a call without parameters whose opening tag closes itself; it ends at `end`.
    pub fn close_empty(&mut self, out: &mut Out<'_>, end: u64) -> Result<(), Kind> {
        match self {
            Self::NamedParams(body) => body.close_empty(out, end),
            Self::AttributeParams(body) => body.close_empty(out, end),
            Self::KeyQuote(_) | Self::ElementTree(_) | Self::Framed(_) | Self::Line(_) => Ok(()),
        }
    }

    /// Ends the stream at `end`; `stopped` if the model ended it, so that nothing is truncated.
    pub fn finish(
        &mut self,
        out: &mut Out<'_>,
        family: &Family,
        end: u64,
        stopped: bool,
    ) -> Finished {
        match (self, family) {
            (Self::KeyQuote(body), Family::KeyQuote(table)) => body.finish(out, table, stopped),
            (Self::ElementTree(body), _) => body.finish(out).into(),
            (Self::NamedParams(body), _) => body.finish(out, end, stopped),
            (Self::AttributeParams(body), _) => body.finish(out, end, stopped),
            (Self::Framed(body), Family::Framed(table)) => body.finish(out, table, end, stopped),
            (Self::Line(body), Family::Line(table)) => body.finish(out, table, end, stopped),
            (Self::KeyQuote(_) | Self::Framed(_) | Self::Line(_), _) => Finished::Open,
        }
    }

    /// Whether the open part may be any text, so that nothing in it shows that a call was meant.
    pub fn takes_any(&self) -> bool {
        match self {
            Self::KeyQuote(body) => body.takes_any(),
            Self::Framed(body) => body.takes_any(),
            // The open part of these becomes text in any case, or is JSON.
            Self::ElementTree(_)
            | Self::NamedParams(_)
            | Self::AttributeParams(_)
            | Self::Line(_) => false,
        }
    }

    /// Whether a call of the block is final, whatever follows.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Framed(body) => body.is_final(),
            Self::Line(body) => body.is_final(),
            Self::NamedParams(body) => body.is_final(),
            Self::AttributeParams(body) => body.is_final(),
            Self::KeyQuote(_) | Self::ElementTree(_) => false,
        }
    }

    /// Delivers what was complete when the stream ended at `end` with the block open. Returns false if nothing was, or if it
    /// cannot be distinguished from what was not.
    pub fn salvage(&mut self, out: &mut Out<'_>, family: &Family, end: u64) -> bool {
        match (self, family) {
            (Self::KeyQuote(body), Family::KeyQuote(table)) => body.salvage(out, table, end),
            (Self::ElementTree(body), Family::ElementTree(table)) => body.salvage(out, table, end),
            (Self::NamedParams(body), _) => body.salvage(out, end),
            (Self::AttributeParams(body), _) => body.salvage(out, end),
            (Self::KeyQuote(_) | Self::ElementTree(_) | Self::Framed(_) | Self::Line(_), _) => {
                false
            }
        }
    }

    /// Ends a block some of whose calls are valid, at `end`: a call that is still open is retracted.
    pub fn abandon(&mut self, out: &mut Out<'_>, end: u64) {
        match self {
            Self::Framed(body) => body.drop_call(out, end),
            Self::Line(body) => body.abandon(out, end),
            Self::KeyQuote(_)
            | Self::ElementTree(_)
            | Self::NamedParams(_)
            | Self::AttributeParams(_) => {}
        }
    }

    /// The closer of the block, if it depends on the opener.
    pub fn own_closer(&self, family: &Family) -> Option<String> {
        match (self, family) {
            (Self::Framed(body), Family::Framed(table)) => body.own_closer(table),
            _ => None,
        }
    }

    /// Whether the closer of a call has not come whose arguments have.
    pub fn awaits_closer(&self) -> bool {
        match self {
            Self::Framed(body) => body.in_tail(),
            Self::KeyQuote(_)
            | Self::ElementTree(_)
            | Self::NamedParams(_)
            | Self::AttributeParams(_)
            | Self::Line(_) => false,
        }
    }

    /// Whether nothing is missing, though more may come: a limit of the block's length ends it here.
    pub fn rests(&self, family: &Family) -> bool {
        match (self, family) {
            (Self::Framed(body), Family::Framed(table)) => body.rests(table),
            _ => false,
        }
    }

    /// Whether a parameter has begun, or was read; `None` in the closing tag of the call.
    pub fn begun(&self) -> Option<bool> {
        match self {
            Self::NamedParams(body) => body.begun(),
            Self::AttributeParams(body) => body.begun(),
            Self::KeyQuote(_) | Self::ElementTree(_) | Self::Framed(_) | Self::Line(_) => {
                Some(true)
            }
        }
    }

    /// Whether a block limit must wait, because the block may have ended already.
    pub fn undecided(&self) -> bool {
        match self {
            Self::KeyQuote(body) => body.undecided(),
            Self::ElementTree(_)
            | Self::NamedParams(_)
            | Self::AttributeParams(_)
            | Self::Framed(_)
            | Self::Line(_) => false,
        }
    }

    /// Whether the state fits its tables; only that of a tampered snapshot does not.
    pub fn fits(&self, family: &Family) -> bool {
        match (self, family) {
            (Self::KeyQuote(body), Family::KeyQuote(table)) => body.fits(table),
            (Self::ElementTree(body), Family::ElementTree(_)) => body.fits(),
            (Self::NamedParams(body), Family::NamedParams(table)) => body.fits(table),
            (Self::AttributeParams(_), Family::AttributeParams(_)) => true,
            (Self::Framed(body), Family::Framed(table)) => body.fits(table),
            (Self::Line(body), Family::Line(table)) => body.fits(table),
            _ => false,
        }
    }
}

/// An accepted opener.
#[derive(Debug)]
pub(crate) struct Opened<'a> {
    /// Name of the tool, if the header has it.
    pub name: &'a str,
    /// Its other attributes.
    pub meta: &'a [(String, String)],
    /// The opener with its header.
    pub span: crate::event::Span,
    /// Offset after it.
    pub at: u64,
}
