//! Calls in Python's syntax: `[f(a=1, b='x'), g()]`, or one call per line.
//!
//! This file reads the names, [`LiveCall`] the arguments: keyword arguments become an object as they arrive. Values that are
//! not literals are refused. A single call closes at its own bracket. One of several on lines waits for the next byte, which
//! may make it a different expression (`f(x=1).g()`). One in a list waits for the comma or bracket after it; if only the
//! list itself marks it, it waits for the next call or the end of the list, and for the byte after that: `[f(x=1) and more`
//! is text, and so is the link `[f(x=1)](..)`.

#[cfg(test)]
mod tests;

use crate::dialect::payload::PythonTable;
use crate::dialect::spec::Brackets;
use serde::{Deserialize, Serialize};

use super::hidden::Torn;
use super::lexer::{Lexer, Rules, is_blank};
use super::live::{LiveCall, Source, Step, rules};
use super::{Out, Short, json_calls, tool_name};
use crate::event::Span;
use crate::kind::{Kind, KindSet};
use crate::limits::Limits;

/// The state of a payload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Body {
    at: PythonAt,
    /// Inside the brackets of a list.
    list: bool,
    name: Vec<u8>,
    name_at: u64,
    call: Option<LiveCall>,
    /// Where a call ended that waits for what follows it.
    ended: Option<u64>,
    json: Option<json_calls::Body>,
    calls: u32,
    /// In a comment between calls, which its line ends.
    comment: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum PythonAt {
    Open,
    /// Where a call may begin or the list may end.
    Item,
    Name,
    /// After a name.
    Bracket,
    Args,
    /// After a call.
    After,
    /// After the list, if the text of a link could end so.
    Closed,
    Json,
}

fn starts_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn in_name(byte: u8) -> bool {
    starts_name(byte) || byte.is_ascii_digit() || byte == b'.' || byte == b'-'
}

impl Body {
    pub fn new() -> Self {
        Self {
            at: PythonAt::Open,
            list: false,
            name: vec![],
            name_at: 0,
            call: None,
            ended: None,
            json: None,
            calls: 0,
            comment: false,
        }
    }

    /// What reads the open value.
    pub(super) fn lexer(&mut self) -> Option<&mut Lexer> {
        match self.at {
            PythonAt::Json => self.json.as_mut()?.lexer(),
            PythonAt::Args => self.call.as_mut().map(LiveCall::lexer),
            _ => None,
        }
    }

    /// The open string, if its next bytes can be delivered unchanged.
    pub fn short(&self, table: &PythonTable, limits: &Limits) -> Option<Short> {
        if self.at == PythonAt::Json {
            return self.json.as_ref()?.short(table.json.as_ref()?, limits);
        }
        let call = self.call.as_ref().filter(|_| self.at == PythonAt::Args)?;
        call.short(&table.syntax, limits)
    }

    /// Resumes after a comma of a list, or after a call in `rows`.
    pub fn resume(rows: bool) -> Self {
        Self {
            at: if rows {
                PythonAt::After
            } else {
                PythonAt::Item
            },
            list: !rows,
            ..Self::new()
        }
    }

    /// What was open where the payload broke.
    pub(super) fn torn(&self, table: &PythonTable) -> Torn {
        if let (Some(body), Some(json)) = (&self.json, &table.json) {
            return body.torn(json);
        }
        let mut torn = Torn {
            brackets: Some(if self.list { vec![b']'] } else { vec![] }),
            rows: !self.list && table.brackets != Brackets::One,
            closers: matches!(self.at, PythonAt::After | PythonAt::Item),
            ..Torn::default()
        };
        if let Some(call) = self.call.as_ref().filter(|_| self.at == PythonAt::Args) {
            call.torn(&table.syntax, &mut torn);
        }
        torn
    }

    /// Whether the open call names a declared tool.
    pub fn offered(&self, out: &Out<'_>) -> bool {
        let call = self.call.as_ref().filter(|_| self.at == PythonAt::Args);
        call.is_some_and(|call| out.tool(call.tool()).is_some())
    }

    /// How many calls were closed.
    pub fn calls(&self) -> u32 {
        self.calls + self.json.as_ref().map_or(0, json_calls::Body::calls)
    }

    /// Whether a call has begun and not closed.
    pub fn under_way(&self) -> bool {
        let json = self.json.as_ref().is_some_and(json_calls::Body::under_way);
        json || self.ended.is_some()
            || matches!(self.at, PythonAt::Name | PythonAt::Bracket | PythonAt::Args)
    }

    /// Whether the stream ends in a comment after calls.
    pub fn in_comment(&self) -> bool {
        self.comment
    }

    /// Whether a name is open that may begin a further call, where there is one call per line.
    pub fn only_name(&self) -> bool {
        !self.list && matches!(self.at, PythonAt::Name | PythonAt::Bracket)
    }

    /// Closes the waiting call as it is.
    fn settle(&mut self, out: &mut Out<'_>) {
        if let Some((call, end)) = self.call.as_mut().zip(self.ended.take()) {
            call.close(out, end);
            self.call = None;
            self.calls += 1;
        }
    }

    /// Closes the waiting call with an issue: what follows it is not what should follow.
    fn doubt(&mut self, out: &mut Out<'_>, kind: Kind) {
        if let Some(call) = self.call.as_mut().filter(|_| self.ended.is_some()) {
            let mut kinds = KindSet::default();
            kinds.insert(kind);
            call.recovered(kinds);
        }
        self.settle(out);
    }

    /// Whether only the next byte decides, which would show that it is no payload.
    pub fn closed(&self) -> bool {
        self.at == PythonAt::Closed
    }

    /// Ends the stream. If it was truncated, the expression of the call may have continued.
    pub fn finish(&mut self, out: &mut Out<'_>, end: u64, stopped: bool) {
        if self.comment && unmarked(out) {
            return self.abandon(out, end);
        }
        // A comma shows that the call before it is whole.
        let comma = self.list && self.at != PythonAt::After && !unmarked(out);
        match stopped || comma {
            true => self.settle(out),
            false => self.doubt(out, Kind::UnclosedBlock),
        }
    }

    /// Whether an issue of this kind was reported for the open call.
    pub fn doubts(&self, kind: Kind) -> bool {
        let json = self.json.as_ref().is_some_and(|json| json.doubts(kind));
        json || self.call.as_ref().is_some_and(|call| call.doubts(kind))
    }

    /// Abandons the open call, which ends at `end` at the latest.
    pub fn abandon(&mut self, out: &mut Out<'_>, end: u64) {
        if let Some(json) = &mut self.json {
            json.abandon(out, end);
        }
        self.ended = None;
        if let Some(call) = self.call.take() {
            out.call_abandon(call.span(end));
        }
    }

    /// Consumes the chunk from index `i` up to `end`. Without brackets, the payload ends at the first byte that cannot begin
    /// a call.
    pub fn feed(
        &mut self,
        out: &mut Out<'_>,
        table: &PythonTable,
        mut i: usize,
        end: usize,
    ) -> (usize, Step) {
        let rules = rules(out, &table.syntax);
        let source = Source::chunk(out, end);
        let mut step = Step::More;
        while i < end && step == Step::More {
            (i, step) = self.step(out, table, &rules, source, i);
        }
        out.skip(source.pos(i));
        (i, step)
    }

    fn step(
        &mut self,
        out: &mut Out<'_>,
        table: &PythonTable,
        rules: &Rules<'_>,
        source: Source<'_>,
        i: usize,
    ) -> (usize, Step) {
        let byte = source.bytes[i];
        if !self.list && self.ended == Some(source.pos(i)) {
            if table.goes_on.contains(&byte) {
                self.doubt(out, Kind::MalformedBody);
                return self.broken(out, source.pos(i), i);
            }
            // What follows a name shows whether it is that of another parameter, after a bracket too many.
            if !starts_name(byte) {
                self.settle(out);
            }
        }
        if self.comment {
            if byte == b']' && unmarked(out) {
                // Nothing but the list marks its calls, and it may end there.
                return self.broken(out, source.pos(i), i);
            }
            // What closes the block may follow the comment on its line.
            self.comment = !matches!(byte, b'\n' | b'<');
            return (i + usize::from(byte != b'<'), Step::More);
        }
        match self.at {
            PythonAt::Open | PythonAt::Item | PythonAt::Bracket | PythonAt::After
                if is_blank(byte) =>
            {
                return (i + 1, Step::More);
            }
            // Outside a list and without a marker it begins a heading.
            PythonAt::Item | PythonAt::After if byte == b'#' && (self.list || !unmarked(out)) => {
                self.comment = true;
                return (i + 1, Step::More);
            }
            PythonAt::Open => {
                self.list = match table.brackets {
                    Brackets::Required | Brackets::Optional => byte == b'[',
                    Brackets::Forbidden | Brackets::One => false,
                };
                if byte == b'{' && table.json.is_some() {
                    // One object is a list of one.
                    self.json = Some(json_calls::Body::new());
                    self.at = PythonAt::Json;
                    return (i, Step::More);
                }
                if !self.list && table.brackets == Brackets::Required {
                    return self.broken(out, source.pos(i), i);
                }
                self.at = PythonAt::Item;
                return (i + usize::from(self.list), Step::More);
            }
            PythonAt::Item if starts_name(byte) => {
                self.name_at = source.pos(i);
                self.at = PythonAt::Name;
            }
            PythonAt::Item if self.list && byte == b'{' && self.calls == 0 => {
                let Some(json) = &table.json else {
                    return self.broken(out, source.pos(i), i);
                };
                self.json = Some(json_calls::Body::in_list(json));
                self.at = PythonAt::Json;
            }
            PythonAt::Item | PythonAt::After if self.list && byte == b']' => {
                if self.ended.is_some() && self.calls == 0 && unmarked(out) {
                    self.at = PythonAt::Closed;
                    return (i + 1, Step::More);
                }
                self.settle(out);
                return (i + 1, Step::Done);
            }
            PythonAt::Closed if byte == b'(' => return self.broken(out, source.pos(i), i),
            PythonAt::Closed => {
                self.settle(out);
                return (i, Step::Done);
            }
            PythonAt::After if byte == b',' => {
                self.at = PythonAt::Item;
                return (i + 1, Step::More);
            }
            // It ends a statement. In a list it stands for a comma.
            PythonAt::After if byte == b';' && !unmarked(out) => {
                if let Some(call) = self.call.as_mut().filter(|_| self.list) {
                    call.repaired(out, Kind::RepairedComma, source.pos(i));
                }
                self.at = PythonAt::Item;
                return (i + 1, Step::More);
            }
            PythonAt::After if !self.list => self.at = PythonAt::Item,
            PythonAt::Item if !self.list && table.brackets != Brackets::One => {
                return (i, Step::Done);
            }
            PythonAt::Item | PythonAt::After => {
                if !unmarked(out) {
                    match self.at {
                        PythonAt::After => self.doubt(out, Kind::MalformedBody),
                        // The comma shows that the call before it is whole.
                        _ => self.settle(out),
                    }
                }
                return self.broken(out, source.pos(i), i);
            }
            PythonAt::Name => return self.name(out, source, i),
            PythonAt::Bracket if byte == b'(' => return self.open(out, table, rules, source, i),
            PythonAt::Bracket => {
                if !unmarked(out) {
                    match byte {
                        // Another parameter of the call before it, after a bracket too many.
                        b'=' => self.doubt(out, Kind::MalformedBody),
                        _ => self.settle(out),
                    }
                }
                return self.broken(out, source.pos(i), i);
            }
            PythonAt::Args => return self.args(out, table, rules, source, i),
            PythonAt::Json => {
                if let (Some(body), Some(json)) = (&mut self.json, &table.json) {
                    return body.feed(out, json, i, source.bytes.len());
                }
                return self.broken(out, source.pos(i), i);
            }
        }
        (i, Step::More)
    }

    fn broken(&self, out: &mut Out<'_>, at: u64, i: usize) -> (usize, Step) {
        out.issue(Kind::MalformedBody, Span::new(at, at + 1), "");
        (i, Step::Malformed)
    }

    fn name(&mut self, out: &mut Out<'_>, source: Source<'_>, i: usize) -> (usize, Step) {
        let room = (out.limits().max_name as usize + 1).saturating_sub(self.name.len());
        let rest = &source.bytes[i..];
        let n = rest.iter().position(|byte| !in_name(*byte));
        let n = n.unwrap_or(rest.len()).min(room);
        self.name.extend_from_slice(&rest[..n]);
        if n == room {
            self.settle(out);
            return (i + n, Step::Limit(Kind::LimitName));
        }
        if n < rest.len() {
            self.at = PythonAt::Bracket;
        }
        (i + n, Step::More)
    }

    /// Opens a call with the bracket at index `i`.
    fn open(
        &mut self,
        out: &mut Out<'_>,
        table: &PythonTable,
        rules: &Rules<'_>,
        source: Source<'_>,
        i: usize,
    ) -> (usize, Step) {
        self.settle(out);
        let bytes = std::mem::take(&mut self.name);
        let span = Span::new(self.name_at, self.name_at + bytes.len() as u64);
        let text = String::from_utf8_lossy(&bytes);
        let text = text.strip_suffix(&table.method).unwrap_or(&text);
        let name = match tool_name(text, rules.max_name) {
            Ok(name) => name,
            Err(Kind::LimitName) => return (i, Step::Limit(Kind::LimitName)),
            Err(kind) => {
                out.issue(kind, span, "");
                return (i, Step::Malformed);
            }
        };
        let mut call = match LiveCall::open(out, name, &[], span, span.start) {
            Ok(call) => call.typed(table.typed),
            Err(kind) => return (i, Step::Limit(kind)),
        };
        let took = call.begin_call(out, rules, source, i);
        self.call = Some(call);
        self.at = PythonAt::Args;
        took
    }

    fn args(
        &mut self,
        out: &mut Out<'_>,
        table: &PythonTable,
        rules: &Rules<'_>,
        source: Source<'_>,
        i: usize,
    ) -> (usize, Step) {
        let Some(call) = &mut self.call else {
            return self.broken(out, source.pos(i), i);
        };
        let (i, step) = call.feed(out, rules, source, i);
        if step != Step::Done {
            return (i, step);
        }
        self.ended = Some(source.pos(i));
        self.at = PythonAt::After;
        if table.brackets == Brackets::One {
            self.settle(out);
            return (i, Step::Done);
        }
        (i, Step::More)
    }
}

/// Whether only the list itself marks the calls of the open block.
fn unmarked(out: &Out<'_>) -> bool {
    let block = out.io.block.as_ref();
    block.is_some_and(|block| block.unmarked)
}
