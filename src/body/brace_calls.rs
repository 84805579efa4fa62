//! A call with braces: `call:name{key:<|"|>text<|"|>,n:1,o:{..}}`.
//!
//! This file reads the name, [`LiveCall`] the object. The payload is one call and ends at its own brace. A text without its
//! delimiters may contain a brace, so the owner closes the call when it knows what follows.

#[cfg(test)]
mod tests;

use crate::dialect::payload::BraceTable;
use serde::{Deserialize, Serialize};

use super::hidden::Torn;
use super::lexer::{Rules, is_blank};
use super::live::{LiveCall, Source, Step, rules};
use super::{Out, Short, tool_name};
use crate::event::Span;
use crate::kind::Kind;
use crate::limits::Limits;

/// A name without repetitions of the prefix before it.
fn without_repeats<'n>(mut name: &'n str, prefix: &str) -> &'n str {
    while let Some(rest) = name.strip_prefix(prefix).filter(|_| !prefix.is_empty()) {
        name = rest;
    }
    name
}

/// The state of a payload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Body {
    at: BraceAt,
    start: u64,
    name: Vec<u8>,
    call: Option<LiveCall>,
    /// The call has ended there.
    end: Option<u64>,
    /// The prefix lacks its word.
    short: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum BraceAt {
    Open,
    /// After this many bytes of the prefix.
    Prefix(u16),
    Name,
    Args,
}

impl Body {
    pub fn new() -> Self {
        Self {
            at: BraceAt::Open,
            start: 0,
            name: vec![],
            call: None,
            end: None,
            short: false,
        }
    }

    /// The open string, if its next bytes can be delivered unchanged.
    pub fn short(&self, table: &BraceTable, limits: &Limits) -> Option<Short> {
        let call = self.call.as_ref().filter(|_| self.at == BraceAt::Args)?;
        call.short(&table.syntax, limits)
    }

    /// What was open where the payload broke.
    pub(super) fn torn(&self, table: &BraceTable) -> Torn {
        let mut torn = Torn::default();
        if let Some(call) = self.call.as_ref().filter(|_| self.at == BraceAt::Args) {
            call.torn(&table.syntax, &mut torn);
        }
        torn
    }

    /// The call, once it has ended, and where.
    pub fn take(&mut self) -> Option<(LiveCall, u64)> {
        let end = self.end?;
        self.call.take().map(|call| (call, end))
    }

    /// Whether a call is open.
    pub fn under_way(&self) -> bool {
        self.at != BraceAt::Open
    }

    /// Whether an issue of this kind was reported for the open call.
    pub fn doubts(&self, kind: Kind) -> bool {
        self.call.as_ref().is_some_and(|call| call.doubts(kind))
    }

    /// Abandons the open call, which ends at `end` at the latest.
    pub fn abandon(&mut self, out: &mut Out<'_>, end: u64) {
        if let Some(call) = self.call.take() {
            out.call_abandon(call.span(end));
        }
    }

    /// Consumes the chunk from index `i` up to `end`.
    pub fn feed(
        &mut self,
        out: &mut Out<'_>,
        table: &BraceTable,
        mut i: usize,
        end: usize,
    ) -> (usize, Step) {
        let rules = rules(out, &table.syntax);
        let source = Source::chunk(out, end);
        let mut step = Step::More;
        while i < end && step == Step::More {
            (i, step) = self.step(out, table, &rules, source, i);
        }
        // What has begun a delimiter may begin a turn token instead.
        let begun = self.call.as_ref().map_or(0, LiveCall::begun_delimiter);
        out.skip(source.pos(i).saturating_sub(begun));
        (i, step)
    }

    fn step(
        &mut self,
        out: &mut Out<'_>,
        table: &BraceTable,
        rules: &Rules<'_>,
        source: Source<'_>,
        i: usize,
    ) -> (usize, Step) {
        let byte = source.bytes[i];
        match self.at {
            BraceAt::Open if is_blank(byte) => return (i + 1, Step::More),
            BraceAt::Open => {
                self.start = source.pos(i);
                self.at = BraceAt::Prefix(0);
            }
            BraceAt::Prefix(len) => match table.prefix.as_bytes().get(usize::from(len)) {
                None => self.at = BraceAt::Name,
                Some(want) if *want == byte => {
                    self.at = BraceAt::Prefix(len + 1);
                    return (i + 1, Step::More);
                }
                // The word may be missing.
                Some(_) if len == 0 && table.prefix.ends_with(char::from(byte)) => {
                    self.short = true;
                    self.at = BraceAt::Name;
                    return (i + 1, Step::More);
                }
                Some(_) => return self.broken(out, source.pos(i), i),
            },
            BraceAt::Name if byte == b'{' => return self.open(out, table, rules, source.pos(i), i),
            BraceAt::Name if byte < 0x20 && !is_blank(byte) || b"<>\"'}[](),".contains(&byte) => {
                return self.broken(out, source.pos(i), i);
            }
            BraceAt::Name => {
                self.name.push(byte);
                let long = self.name.len() > rules.max_name as usize;
                let limit = Step::Limit(Kind::LimitName);
                return (i + 1, if long { limit } else { Step::More });
            }
            BraceAt::Args => return self.args(out, rules, source, i),
        }
        (i, Step::More)
    }

    fn broken(&self, out: &mut Out<'_>, at: u64, i: usize) -> (usize, Step) {
        out.issue(Kind::MalformedBody, Span::new(at, at + 1), "");
        (i, Step::Malformed)
    }

    /// Opens the call; its name ends before the brace at index `i`.
    fn open(
        &mut self,
        out: &mut Out<'_>,
        table: &BraceTable,
        rules: &Rules<'_>,
        at: u64,
        i: usize,
    ) -> (usize, Step) {
        let bytes = std::mem::take(&mut self.name);
        let span = Span::new(at.saturating_sub(bytes.len() as u64), at);
        let text = String::from_utf8_lossy(&bytes);
        let named = match out.tool(&text) {
            Some(_) => &text,
            None => without_repeats(&text, &table.prefix),
        };
        let name = match tool_name(named, rules.max_name) {
            Ok(name) => name,
            Err(Kind::LimitName) => return (i, Step::Limit(Kind::LimitName)),
            Err(kind) => {
                out.issue(kind, span, "");
                return (i, Step::Malformed);
            }
        };
        match LiveCall::open(out, name, &[], span, self.start) {
            Ok(mut call) => {
                if self.short {
                    let span = Span::new(self.start, at);
                    call.recovered_at(out, Kind::RepairedMarker, span, "");
                }
                if named.len() < text.len() {
                    call.recovered_at(out, Kind::RepeatedMarker, span, "");
                }
                self.call = Some(call.typed(table.typed));
            }
            Err(kind) => return (i, Step::Limit(kind)),
        }
        self.at = BraceAt::Args;
        (i, Step::More)
    }

    fn args(
        &mut self,
        out: &mut Out<'_>,
        rules: &Rules<'_>,
        source: Source<'_>,
        i: usize,
    ) -> (usize, Step) {
        let Some(call) = &mut self.call else {
            return self.broken(out, source.pos(i), i);
        };
        let (i, step) = call.feed(out, rules, source, i);
        if step == Step::Done {
            self.end = Some(source.pos(i));
        }
        (i, step)
    }
}
