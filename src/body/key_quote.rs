//! `key:「始」value「末」` fields between two markers: reads the fields.
//!
//! Values stay in the block's retained bytes. Fields become calls when the block ends (`fields.rs`), since a later field may
//! name the tool, repeat a key or start a chain. Outside values the block's own markers always count; `value.rs` documents
//! what ends a value.

use serde::{Deserialize, Serialize};
use toolglot_scan::{Case, Node, ROOT, Skip, Utf8, lossy};

use super::args::tool_name;
use super::field_head::{Head, HeadStep, is_key};
use super::fields::{self, Field};
use super::named_params::limit;
use super::value::{Ahead, Bounds, Lines, Value, ValueStep};
use super::{Finished, Flow, Out, Short};
use crate::dialect::KeyQuote;
use crate::dialect::spec::CommentAt;
use crate::event::{Event, Span};
use crate::kind::{Kind, KindSet, Severity};
use crate::limits::Limits;

/// The body of an open block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Body {
    at: KeyQuoteAt,
    /// The scan for the block's own markers, outside values.
    marks: Node,
    chars: Utf8,
    line_start: bool,
    /// Where bytes that belong to nothing began, if they were not reported yet.
    junk: Option<u64>,
    /// Among them was a value's opener, and no closer since: a value may be open that no field has.
    quoted: bool,
    /// The last value contains its opener again: of two closers at its end, the first may belong to that one.
    nested: bool,
    /// How many bytes of a wide opener may still follow it.
    extra: u8,
    /// The end of the white space after the last value's closer.
    closed: u64,
    fields: Vec<Field>,
    kinds: KindSet,
    /// How many bytes of the mark that would close the quotation before the block have come, while it may follow.
    mention: Option<u8>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum KeyQuoteAt {
    Between,
    /// After the first of two characters that open a comment.
    Slash(u64),
    Comment,
    Head(Head),
    Value(Value),
    /// After the block's closer; this many more bytes may belong to it.
    Wide(u8),
}

impl Body {
    /// The body of a block; where its opener ended does not matter.
    pub fn new(_at: u64) -> Self {
        Self {
            at: KeyQuoteAt::Between,
            marks: ROOT,
            chars: Utf8::default(),
            line_start: true,
            junk: None,
            quoted: false,
            nested: false,
            extra: u8::MAX,
            closed: 0,
            fields: vec![],
            kinds: KindSet::default(),
            mention: Some(0),
        }
    }

    pub fn fits(&self, table: &KeyQuote) -> bool {
        let quote = |index: u16| table.quotes.get(usize::from(index));
        let fields = self.fields.iter().all(|field| quote(field.quote).is_some());
        let value = match &self.at {
            KeyQuoteAt::Value(value) => {
                quote(value.quote).is_some_and(|q| q.scanner.dfa.knows(value.node))
            }
            KeyQuoteAt::Between
            | KeyQuoteAt::Slash(_)
            | KeyQuoteAt::Comment
            | KeyQuoteAt::Head(_)
            | KeyQuoteAt::Wide(_) => true,
        };
        fields && value && table.marks.knows(self.marks)
    }

    pub fn undecided(&self) -> bool {
        matches!(&self.at, KeyQuoteAt::Value(Value { ahead: Some(_), .. }))
    }

    /// The open value, if its next bytes can be delivered unchanged.
    pub fn short(&self, table: &KeyQuote, limits: &Limits) -> Option<Short> {
        let KeyQuoteAt::Value(value) = &self.at else {
            return None;
        };
        let looks = self.mention.is_some() && self.fields.len() == 1;
        let kept = self.fields.last().is_none_or(|field| field.kept.is_some());
        if !value.idle() || looks || self.waits() > 0 || kept {
            return None;
        }
        let short = Short::late(value.start.saturating_add(limits.max_value));
        let mut firsts = table.quotes[usize::from(value.quote)].firsts.iter();
        firsts.try_fold(short, |short, first| short.stops_at(*first))
    }

    /// Notes bytes of the open value at offset `at` that bypassed it.
    pub fn passed(&mut self, bytes: &[u8], at: u64) {
        if let KeyQuoteAt::Value(value) = &mut self.at {
            value.looked(bytes, at, at + bytes.len() as u64);
        }
    }

    /// Whether the open part may be any text.
    pub fn takes_any(&self) -> bool {
        matches!(self.at, KeyQuoteAt::Value(_))
    }

    /// Ends the stream; `stopped` if the model ended it. If the open value contains the block's closer, the block ended there.
    pub fn finish(&mut self, out: &mut Out<'_>, table: &KeyQuote, stopped: bool) -> Finished {
        let end = out.base;
        match &self.at {
            KeyQuoteAt::Wide(_) => {
                let made = fields::assemble(out, table, &self.fields, self.kinds, end);
                made.ok().map(|_| end).into()
            }
            KeyQuoteAt::Value(value) => {
                if let Some(ahead) = value.ahead {
                    return match self.ended(out, table, ahead, end, false) {
                        Flow::Closed { end } => Finished::Closed(end),
                        _ => Finished::Open,
                    };
                }
                let name = self.fields.last().map_or("", |field| field.key.as_str());
                let span = Span::new(value.start, end);
                out.report(Kind::UnclosedValue, Severity::Error, span, "", name, "");
                self.truncated(out, table, stopped)
            }
            KeyQuoteAt::Between
            | KeyQuoteAt::Slash(_)
            | KeyQuoteAt::Comment
            | KeyQuoteAt::Head(_) => self.truncated(out, table, stopped),
        }
    }

    /// Ends a block that is not closed with the stream. If the model stopped after text that belongs to nothing, or that could
    /// have been a key, that text follows the call, whose closer is missing.
    fn truncated(&mut self, out: &mut Out<'_>, table: &KeyQuote, stopped: bool) -> Finished {
        let end = out.base;
        if let KeyQuoteAt::Head(head) = &self.at
            && head.is_key()
        {
            self.junk = self.junk.or(Some(head.start));
        }
        if stopped
            && self
                .junk
                .is_some_and(|junk| !begins_marker(out, table, junk, end))
        {
            self.report_junk(out, end);
        }
        match stopped && self.kinds.contains(Kind::JunkInBlock) {
            true => Finished::Broken(out.block_span(end).start),
            false => Finished::Open,
        }
    }

    /// Delivers the calls that the complete fields form; returns whether there are any.
    pub fn salvage(&mut self, out: &mut Out<'_>, table: &KeyQuote, end: u64) -> bool {
        if let KeyQuoteAt::Value(_) = self.at {
            self.fields.pop();
        }
        self.kinds.insert(Kind::UnclosedBlock);
        !self.fields.is_empty()
            && fields::assemble(out, table, &self.fields, self.kinds, end) == Ok(true)
    }

    pub fn feed(
        &mut self,
        out: &mut Out<'_>,
        table: &KeyQuote,
        mut i: usize,
        end: usize,
    ) -> (usize, Flow) {
        let mut skip = Skip::default();
        while i < end {
            let looks = self.mention.is_some() && self.fields.len() == 1;
            if looks && let Some(at) = self.mentions(out, out.seg[i], out.base + i as u64) {
                return (i + 1, Flow::Mention { at });
            }
            if let KeyQuoteAt::Value(_) = self.at {
                let end = if looks { i + 1 } else { end };
                match self.value(out, table, i, end, &mut skip) {
                    Ok(next) => i = next,
                    Err(stop) => return stop,
                }
                continue;
            }
            let byte = out.seg[i];
            if let KeyQuoteAt::Wide(left) = self.at {
                if left > 0 && table.spec.extra.as_bytes().first() == Some(&byte) {
                    i += 1;
                    self.at = KeyQuoteAt::Wide(left - 1);
                    out.skip(out.base + i as u64);
                    continue;
                }
                return (i, self.done(out, table, out.base + i as u64));
            }
            i += 1;
            let pos = out.base + i as u64;
            self.marks = table.marks.next(self.marks, byte);
            // The beginning of a block's opener stays in the carry: it may open the next block.
            let hold = table.marks.hold(self.marks).max(self.waits());
            out.skip(pos.saturating_sub(hold as u64));
            let hits = table.marks.hits(self.marks);
            if let Some(again) = self.again(table, hits, pos) {
                let span = Span::new(again, pos);
                let (fields, kinds) = (&self.fields, &mut self.kinds);
                note(out, fields, kinds, Kind::RepeatedMarker, span);
                if self.nested {
                    note(out, fields, kinds, Kind::BareMarkup, span);
                }
                self.closed = pos;
                self.junk = None;
                self.at = KeyQuoteAt::Between;
                self.chars = Utf8::default();
                continue;
            }
            self.quoted &= hits.iter().all(|pattern| table.closes(*pattern).is_none());
            let own = |pattern: &&u16| table.closes(**pattern).is_none();
            let hit = hits.iter().find(own).copied();
            let hit = hit.map(|pattern| {
                (
                    pattern,
                    pos.saturating_sub(table.marks.len_of(pattern) as u64),
                )
            });
            if let Some((pattern, start)) = hit.filter(|(_, start)| *start >= out.trusted()) {
                self.leave(out, start);
                if self.quoted {
                    // The marker may be quoted there, and what follows as well.
                    out.open_string(Span::new(start, start));
                }
                if usize::from(pattern) < table.closers {
                    if table.spec.extra.is_empty() {
                        return (i, self.done(out, table, pos));
                    }
                    self.at = KeyQuoteAt::Wide(table.spec.extra.len() as u8);
                    continue;
                }
                out.hold(start);
                return (
                    i,
                    Flow::Reopened {
                        start,
                        end: pos,
                        done: false,
                    },
                );
            }
            if let Err(kind) = self.outside(out, table, byte, pos) {
                return (i, limit(kind));
            }
        }
        (i, Flow::More)
    }

    /// Consumes a byte at the beginning of the first value, or after its closer. If the byte completes the closing quotation
    /// mark of the one before the block, all of it is a mention; then returns where the mark began.
    fn mentions(&mut self, out: &Out<'_>, byte: u8, pos: u64) -> Option<u64> {
        let start = match &self.at {
            KeyQuoteAt::Value(value) => value.start,
            _ => self.closed,
        };
        out.closes_mention(&mut self.mention, start, byte, pos)
    }

    /// How many bytes may belong to the quotation mark that makes all of it a mention.
    fn waits(&self) -> usize {
        self.mention.map_or(0, usize::from)
    }

    /// Where a repetition of the last value's closer begins, if it ends at `pos` and directly follows the closer.
    fn again(&self, table: &KeyQuote, hits: &[u16], pos: u64) -> Option<u64> {
        let last = self.fields.last()?.quote;
        let mut closers = hits.iter().filter(|p| table.closes(**p) == Some(last));
        closers.find_map(|pattern| {
            let start = pos.checked_sub(table.marks.len_of(*pattern) as u64)?;
            (start == self.closed).then_some(start)
        })
    }

    /// Ends what was under way outside values, before `start`.
    fn leave(&mut self, out: &mut Out<'_>, start: u64) {
        match &self.at {
            KeyQuoteAt::Head(head) => self.junk = Some(self.junk.unwrap_or(head.start)),
            KeyQuoteAt::Slash(at) => self.junk = Some(self.junk.unwrap_or(*at)),
            KeyQuoteAt::Between
            | KeyQuoteAt::Comment
            | KeyQuoteAt::Value(_)
            | KeyQuoteAt::Wide(_) => {}
        }
        self.report_junk(out, start);
    }

    /// Reports bytes up to `end` that belong to nothing.
    fn report_junk(&mut self, out: &mut Out<'_>, end: u64) {
        let Some(start) = self.junk.take().filter(|start| *start < end) else {
            return;
        };
        self.kinds.insert(Kind::JunkInBlock);
        let mut bytes: Vec<u8> = vec![];
        if let Some(block) = &out.io.block {
            bytes.extend(block.slice(start, end).iter().take(80));
        }
        let text = lossy(&bytes);
        out.tool_issue(Kind::JunkInBlock, Span::new(start, end), "", text.trim());
    }

    /// Consumes a byte outside values; `pos` is the offset after it.
    fn outside(
        &mut self,
        out: &mut Out<'_>,
        table: &KeyQuote,
        byte: u8,
        pos: u64,
    ) -> Result<(), Kind> {
        let mut chars = std::mem::take(&mut self.chars);
        let mut result = Ok(());
        chars.step(byte, |c| {
            if result.is_ok() {
                result = self.char(out, table, c, pos.saturating_sub(c.len_utf8() as u64), pos);
            }
        });
        self.chars = chars;
        result
    }

    /// Consumes the character at `start..end`.
    fn char(
        &mut self,
        out: &mut Out<'_>,
        table: &KeyQuote,
        c: char,
        start: u64,
        end: u64,
    ) -> Result<(), Kind> {
        if self.extra > 0 {
            let extra = table.spec.extra.as_bytes();
            self.extra = self.extra.min(extra.len() as u8);
            if extra.first().is_some_and(|b| char::from(*b) == c) && self.extra > 0 {
                self.extra -= 1;
                return Ok(());
            }
            self.extra = 0;
        }
        match &mut self.at {
            KeyQuoteAt::Comment => {
                if c == '\n' {
                    self.at = KeyQuoteAt::Between;
                    self.line_start = true;
                }
            }
            KeyQuoteAt::Slash(at) => {
                let second = table
                    .spec
                    .comment
                    .as_ref()
                    .and_then(|comment| comment.open.chars().nth(1));
                if second == Some(c) {
                    let start = *at;
                    self.report_junk(out, start);
                    self.at = KeyQuoteAt::Comment;
                } else {
                    self.junk = Some(self.junk.unwrap_or(*at));
                    self.at = KeyQuoteAt::Between;
                    self.between(out, table, c, start);
                }
            }
            KeyQuoteAt::Head(head) => match head.step(c, table, out.limits().max_name) {
                HeadStep::More => {}
                HeadStep::TooLong => return Err(Kind::LimitName),
                HeadStep::Open { .. } if head.key.is_empty() => {
                    self.quoted = true;
                    self.at = KeyQuoteAt::Between;
                }
                HeadStep::Open { quote } => {
                    let head = head.clone();
                    return self.open(out, table, head, quote, end);
                }
                HeadStep::No => {
                    self.junk = Some(self.junk.unwrap_or(head.start));
                    self.quoted |= head.tears();
                    self.line_start = head.broke_at_line_start();
                    self.at = KeyQuoteAt::Between;
                    self.between(out, table, c, start);
                }
            },
            KeyQuoteAt::Between => self.between(out, table, c, start),
            KeyQuoteAt::Value(_) | KeyQuoteAt::Wide(_) => {}
        }
        Ok(())
    }

    fn between(&mut self, out: &mut Out<'_>, table: &KeyQuote, c: char, start: u64) {
        if c == '\n' {
            self.report_junk(out, start);
            self.line_start = true;
            self.white(c, start);
            return;
        }
        if c.is_whitespace() {
            self.white(c, start);
            return;
        }
        let comment = table.spec.comment.as_ref().filter(|comment| {
            comment.open.starts_with(c) && (comment.at == CommentAt::Anywhere || self.line_start)
        });
        self.line_start = false;
        if let Some(comment) = comment {
            self.at = if comment.open.chars().nth(1).is_some() {
                KeyQuoteAt::Slash(start)
            } else {
                KeyQuoteAt::Comment
            };
            if self.at == KeyQuoteAt::Comment {
                self.report_junk(out, start);
            }
        } else if is_key(c) {
            self.at = KeyQuoteAt::Head(Head::new(c, start));
        } else if !table
            .spec
            .separators
            .iter()
            .any(|separator| separator.starts_with(c))
        {
            self.junk = Some(self.junk.unwrap_or(start));
            let mut quotes = table.spec.quotes.iter().flat_map(|quote| &quote.open);
            if quotes.any(|open| open.starts_with(c)) {
                self.at = KeyQuoteAt::Head(Head::keyless(c, start));
            }
        }
    }

    /// Notes that white space continues after the last value's closer.
    fn white(&mut self, c: char, start: u64) {
        if self.closed == start {
            self.closed = start + c.len_utf8() as u64;
        }
    }

    /// Opens a field's value at `start`.
    fn open(
        &mut self,
        out: &mut Out<'_>,
        table: &KeyQuote,
        head: Head,
        quote: u16,
        start: u64,
    ) -> Result<(), Kind> {
        self.report_junk(out, head.start);
        (self.quoted, self.nested) = (false, false);
        if self.fields.len() >= out.limits().max_params as usize {
            return Err(Kind::LimitParams);
        }
        out.event(Event::ParamOpen {
            name: &head.key,
            depth: 0,
            span: Span::new(head.start, start),
        });
        out.skip(start);
        let keep = !out.retains() && fields::may_decide(table, &head.key);
        let span = Span::new(head.start, start);
        self.fields.push(Field {
            key: head.key,
            span,
            quote,
            value: (start, start),
            kept: keep.then(Vec::new),
        });
        self.at = KeyQuoteAt::Value(Value::new(quote, start));
        Ok(())
    }

    /// Closes the open value, which ends at `value_end`.
    fn close(
        &mut self,
        out: &mut Out<'_>,
        table: &KeyQuote,
        start: u64,
        value_end: u64,
        kind: Option<Kind>,
    ) {
        deliver(out, &mut self.fields, value_end);
        let span = Span::new(start, value_end);
        out.event(Event::ParamClose { span });
        let Some(field) = self.fields.last_mut() else {
            return;
        };
        field.value = (start, value_end);
        if matches!(&self.at, KeyQuoteAt::Value(value) if value.mixed) {
            self.kinds.insert(Kind::BareMarkup);
            out.tool_issue(Kind::BareMarkup, span, "", &field.key);
        }
        if let Some(kind) = kind {
            if kind == Kind::UnclosedValue {
                self.kinds.insert(kind);
            }
            out.report(kind, Severity::Warning, span, "", &field.key, "");
        }
        self.named(out, table);
    }

    /// Announces the call that the last closed field may name. Another field of that name may still win, and a chain forms
    /// several calls.
    fn named(&self, out: &mut Out<'_>, table: &KeyQuote) {
        let naming = |field: &&Field| fields::may_name(table, &field.key);
        let Some(field) = self.fields.last().filter(naming) else {
            return;
        };
        let text = fields::text(table, out, field);
        if let Ok(name) = tool_name(&text, out.limits().max_name) {
            out.call_named(name, true, field.span);
        }
    }

    /// Ends the value and the block at the block's closer; everything before `pos` was read. Unless the next block was
    /// `shown` to have begun, all that follows may be content of the value.
    fn ended(
        &mut self,
        out: &mut Out<'_>,
        table: &KeyQuote,
        ahead: Ahead,
        pos: u64,
        shown: bool,
    ) -> Flow {
        let KeyQuoteAt::Value(value) = &self.at else {
            return Flow::Malformed { ended: false };
        };
        let until = if shown { u128::from(pos) } else { u128::MAX };
        out.io.doubted = out.io.doubted.max(until);
        let start = value.start;
        self.close(
            out,
            table,
            start,
            ahead.value_end.max(start),
            Some(Kind::UnclosedValue),
        );
        let extra = table.spec.extra.as_bytes();
        let after = out.slice(ahead.end, pos.min(ahead.end + extra.len() as u64));
        let wide = after
            .bytes()
            .take_while(|byte| extra.first() == Some(byte))
            .count();
        let end = ahead.end + wide as u64;
        out.skip(end);
        self.at = KeyQuoteAt::Between;
        self.done(out, table, end)
    }

    /// Ends the block at `end`.
    fn done(&mut self, out: &mut Out<'_>, table: &KeyQuote, end: u64) -> Flow {
        match fields::assemble(out, table, &self.fields, self.kinds, end) {
            Ok(_) => Flow::Closed { end },
            Err(kind) => Flow::Limit { kind, ended: true },
        }
    }

    /// Consumes bytes of a value from index `i` on.
    fn value(
        &mut self,
        out: &mut Out<'_>,
        table: &KeyQuote,
        mut i: usize,
        end: usize,
        skip: &mut Skip,
    ) -> Result<usize, (usize, Flow)> {
        let waits = self.waits();
        let KeyQuoteAt::Value(value) = &mut self.at else {
            return Ok(i);
        };
        let quote = &table.quotes[usize::from(value.quote)];
        let limits = out.limits();
        let bounds = Bounds {
            name: limits.max_name,
            lookahead: u64::from(limits.max_lookahead),
            trusted: out.trusted(),
        };
        let longest = limits.max_value.saturating_add(1);
        let mut max = value.start.saturating_add(longest);
        let mut lines = Lines::new(table, quote.but_newlines.as_ref());
        while i < end {
            // What follows the limit decides nothing: whether it is in the chunk depends on the chunking.
            let stop = out.clip(max, i, end);
            value.look(&out.seg[i..stop], table);
            if value.idle() {
                i = match &mut lines {
                    Some(lines) => lines.skip(&out.seg[..stop], i, stop),
                    None => quote.scanner.skip(&out.seg[..stop], i, skip),
                };
                if out.base + i as u64 >= max {
                    deliver(out, &mut self.fields, max);
                    return Err((i, limit(Kind::LimitValue)));
                }
                if i == end {
                    break;
                }
            }
            let byte = out.seg[i];
            i += 1;
            let pos = out.base + i as u64;
            let step = value.step(byte, pos, table, bounds);
            if let ValueStep::Opener { len, own } = step {
                if own && pos.checked_sub(len) == Some(value.start) {
                    value.begin(pos);
                    max = pos.saturating_add(longest);
                    out.skip(pos);
                    let span = Span::new(pos - len, pos);
                    let kind = Kind::RepeatedMarker;
                    note(out, &self.fields, &mut self.kinds, kind, span);
                } else {
                    value.mixed = value.mixed || value.swallows(out, table, pos, len);
                    self.nested |= own;
                }
            }
            match step {
                ValueStep::More | ValueStep::Opener { .. } => {
                    let settled = value.settled(pos, quote.scanner.dfa.hold(value.node));
                    if settled >= max {
                        deliver(out, &mut self.fields, max);
                        return Err((i, limit(Kind::LimitValue)));
                    }
                }
                ValueStep::Closed { end, loose } => {
                    let start = value.start;
                    self.close(
                        out,
                        table,
                        start,
                        end,
                        loose.then_some(Kind::MixedDelimiters),
                    );
                    out.skip(pos);
                    if loose {
                        // The closer ended at a newline, which is read again.
                        i -= 1;
                        out.hold(pos - 1);
                    }
                    self.between_fields();
                    if !loose {
                        self.closed = pos;
                    }
                    return Ok(i);
                }
                ValueStep::Field(line_start) => {
                    let start = value.start;
                    let head = std::mem::take(&mut value.line.head);
                    self.close(
                        out,
                        table,
                        start,
                        line_start.max(start),
                        Some(Kind::UnclosedValue),
                    );
                    self.between_fields();
                    let opened = head.opened(table);
                    return self
                        .open(out, table, head, opened, pos)
                        .map(|()| i)
                        .map_err(|kind| (i, limit(kind)));
                }
                ValueStep::Ended { ahead, shown } => {
                    let flow = self.ended(out, table, ahead, pos, shown);
                    return Err((i, flow));
                }
            }
        }
        let pos = out.base + i as u64;
        let hold = quote.scanner.dfa.hold(value.node).max(waits);
        let settled = value.settled(pos, hold);
        value.looked(out.seg, out.base, pos);
        deliver(out, &mut self.fields, settled);
        Ok(i)
    }

    fn between_fields(&mut self) {
        self.at = KeyQuoteAt::Between;
        self.marks = ROOT;
        self.chars = Utf8::default();
        self.line_start = false;
        self.mention = Some(0);
    }
}

/// Reports what a marker of the last field's value is.
fn note(out: &mut Out<'_>, fields: &[Field], kinds: &mut KindSet, kind: Kind, span: Span) {
    kinds.insert(kind);
    let name = fields.last().map_or("", |field| field.key.as_str());
    out.tool_issue(kind, span, "", name);
}

/// Whether the bytes from `from` to the end of the stream are a prefix of a block's marker.
fn begins_marker(out: &Out<'_>, table: &KeyQuote, from: u64, end: u64) -> bool {
    let Some(block) = &out.io.block else {
        return false;
    };
    let begun = |marker: &String| {
        let mut lens = 1..marker.len();
        lens.any(|len| {
            let begins = &marker.as_bytes()[..len];
            let from_end = block.raw.len().checked_sub(len);
            let last = from_end.map_or(&[][..], |at| &block.raw[at..]);
            let same = match table.spec.case {
                Case::Exact => last == begins,
                Case::Ignore => last.eq_ignore_ascii_case(begins),
            };
            same && end.saturating_sub(len as u64) <= from
        })
    };
    let mut markers = table.spec.close.iter().chain(&table.spec.open);
    markers.any(begun)
}

/// Delivers bytes of the open value up to `to`, and keeps them if the field needs them.
fn deliver(out: &mut Out<'_>, fields: &mut [Field], to: u64) {
    if let Some(kept) = fields.last_mut().and_then(|field| field.kept.as_mut()) {
        let room = (out.limits().max_name as usize + 1).saturating_sub(kept.len());
        let bytes = out.pieces(out.from(), to);
        kept.extend(bytes.iter().flat_map(|(piece, _)| piece.iter()).take(room));
    }
    out.param(to);
}
