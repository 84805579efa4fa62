//! An action and its input, each after a header at the start of a line: `Action: f`, `Action Input: {..}`.
//!
//! The header and the name are read before the block opens. The input is a JSON object and ends by itself; the rest of its
//! line belongs to it. If a dialect has a parameter for it, the input may be text up to the next header. JSON that names the
//! tool may replace name and input. What the model writes afterwards as if the tool had run is hidden: results up to the
//! next thought or action, and answers beside an action. A header ends an object that lacks its brackets; in the strings of
//! one it has no meaning.

use serde::{Deserialize, Serialize};
use toolglot_scan::lossy;
use toolglot_scan::path::{Go, Walk};

use super::hidden::{Strings, Torn};
use super::lexer::Lexer;
use super::live::{LiveCall, Source, Step, rules};
use super::plain::unfenced;
use super::{Finished, Flow, Opened, Out, Short, json_calls};
use crate::dialect::payload::JsonTable;
use crate::dialect::{Head, Line, NAME_MARKS};
use crate::event::Span;
use crate::kind::{Kind, KindSet, Severity};
use crate::limits::Limits;

/// The body of an open block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Body {
    at: LineAt,
    /// The tool, and the line of its action. Empty if there is no tool.
    name: String,
    span: Span,
    /// How many calls are closed.
    calls: u32,
    /// Its JSON broke, and nothing has closed the hidden part after it.
    broke: bool,
    /// The strings of what is hidden after it.
    strings: Strings,
    /// Where the last line that counts ended.
    last: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum LineAt {
    /// After the action: before its input or another header.
    Next(Walk),
    /// After the header of another action, which begins at `start`: it may be the same action again. `name` is the text after it.
    Again { start: u64, name: Vec<u8> },
    /// After the header of the input.
    Input(Walk),
    /// In an input that is not an object and begins at `start`; `line` is the walk at the beginning of a line.
    Plain {
        start: u64,
        text: Vec<u8>,
        line: Option<Walk>,
    },
    /// In JSON; `line` is the walk at the beginning of a line outside strings. The bytes of a header have not been read as JSON.
    Json {
        payload: Box<json_calls::Body>,
        fenced: bool,
        line: Option<Walk>,
    },
    /// After the input, on its line or before the end of its fence. `payload` is JSON whose call waits for what follows it there.
    Tail {
        fenced: bool,
        walk: Walk,
        payload: Option<Box<json_calls::Body>>,
    },
    /// After all that belongs to the call.
    After(Walk),
    /// In hidden lines; `None` in the middle of a line.
    Hidden(Option<Walk>),
}

impl Body {
    /// The body after a header: that of an action or, if it names no tool, one whose lines are hidden.
    pub fn open(table: &Line, header: &Opened<'_>) -> Self {
        let walk = table.next.begin();
        Self {
            at: if header.name.is_empty() {
                LineAt::Hidden(None)
            } else {
                LineAt::Next(walk)
            },
            name: header.name.to_owned(),
            span: header.span,
            calls: 0,
            broke: false,
            strings: Strings::default(),
            last: header.at,
        }
    }

    /// Whether a call of this block is final, whatever follows.
    pub fn is_final(&self) -> bool {
        let inner = match &self.at {
            LineAt::Json { payload, .. } => payload.calls(),
            LineAt::Next(_)
            | LineAt::Again { .. }
            | LineAt::Input(_)
            | LineAt::Plain { .. }
            | LineAt::Tail { .. }
            | LineAt::After(_)
            | LineAt::Hidden(_) => 0,
        };
        self.calls + inner > 0
    }

    /// Begins JSON that names the tool and follows the block's header, in a fence or not.
    pub fn begin_blob(&mut self, fenced: bool) {
        let payload = Box::new(json_calls::Body::new());
        self.at = LineAt::Json {
            payload,
            fenced,
            line: None,
        };
    }

    /// The notation of the JSON under way.
    fn json_table<'t>(&self, table: &'t Line) -> &'t JsonTable {
        if self.name.is_empty() {
            &table.blob
        } else {
            &table.json
        }
    }

    /// Whether the state fits its tables.
    pub fn fits(&self, table: &Line) -> bool {
        match &self.at {
            LineAt::Next(walk) => table.next.fits(walk),
            LineAt::After(walk) | LineAt::Hidden(Some(walk)) => table.all.fits(walk),
            LineAt::Input(walk) => table.input.fits(walk),
            LineAt::Tail { fenced, walk, .. } => table.tails[usize::from(*fenced)].fits(walk),
            LineAt::Plain {
                line: Some(walk), ..
            }
            | LineAt::Json {
                line: Some(walk), ..
            } => table.all.fits(walk),
            LineAt::Again { start, .. } => *start >= self.last,
            LineAt::Plain { line: None, .. }
            | LineAt::Json { line: None, .. }
            | LineAt::Hidden(None) => true,
        }
    }

    /// What reads the open string.
    pub(super) fn lexer(&mut self) -> Option<&mut Lexer> {
        match &mut self.at {
            LineAt::Json {
                payload,
                line: None,
                ..
            } => payload.lexer(),
            _ => None,
        }
    }

    /// The open string, if its next bytes can be delivered unchanged.
    pub fn short(&self, table: &Line, limits: &Limits) -> Option<Short> {
        match &self.at {
            LineAt::Json {
                payload,
                line: None,
                ..
            } => payload.short(self.json_table(table), limits),
            _ => None,
        }
    }

    /// Consumes the chunk from index `i` up to `end`.
    pub fn feed(
        &mut self,
        out: &mut Out<'_>,
        table: &Line,
        mut i: usize,
        end: usize,
    ) -> (usize, Flow) {
        while i < end {
            let pos = out.base + i as u64;
            let flow = match &mut self.at {
                LineAt::Json { line: None, .. } => {
                    let newline = memchr::memchr(b'\n', &out.seg[i..end]);
                    let to = newline.map_or(end, |n| i + n + 1);
                    let source = Source::chunk(out, to);
                    let flow;
                    (i, flow) = self.read(out, table, source, i);
                    if let LineAt::Json { payload, line, .. } = &mut self.at
                        && newline.is_some()
                        && i == to
                        && payload.between()
                    {
                        *line = Some(table.all.begin());
                    }
                    flow
                }
                LineAt::Plain {
                    start, text, line, ..
                } if line.is_none() => {
                    let max = start.saturating_add(out.limits().max_value);
                    let stop = out.clip(max.saturating_add(1), i, end);
                    let newline = memchr::memchr(b'\n', &out.seg[i..stop]);
                    let to = newline.map_or(stop, |n| i + n + 1);
                    text.extend_from_slice(&out.seg[i..to]);
                    i = to;
                    out.skip(out.base + i as u64);
                    *line = newline.map(|_| table.all.begin());
                    (out.base + i as u64 > max).then_some(Flow::Limit {
                        kind: Kind::LimitValue,
                        ended: false,
                    })
                }
                LineAt::Again { name, .. } => {
                    name.push(out.seg[i]);
                    i += 1;
                    self.again(out, table, pos + 1)
                }
                LineAt::Hidden(None) => {
                    let newline = memchr::memchr(b'\n', &out.seg[i..end]);
                    let to = newline.map_or(end, |n| i + n + 1);
                    self.hides(&out.seg[i..to]);
                    i = to;
                    out.skip(out.base + i as u64);
                    if newline.is_some() {
                        self.at = LineAt::Hidden(Some(table.all.begin()));
                    }
                    None
                }
                LineAt::Next(_)
                | LineAt::Input(_)
                | LineAt::Plain { .. }
                | LineAt::Json { .. }
                | LineAt::Tail { .. }
                | LineAt::After(_)
                | LineAt::Hidden(_) => {
                    let (taken, flow) = self.walk(out, table, out.seg[i], pos);
                    if taken && let LineAt::Hidden(_) = self.at {
                        self.hides(&out.seg[i..=i]);
                    }
                    i += usize::from(taken);
                    flow
                }
            };
            if let Some(flow) = flow {
                return (i, flow);
            }
        }
        (i, Flow::More)
    }

    /// Follows the strings of hidden bytes after JSON that broke.
    fn hides(&mut self, bytes: &[u8]) {
        if self.broke {
            bytes.iter().for_each(|byte| self.strings.step(*byte));
        }
    }

    fn walk(
        &mut self,
        out: &mut Out<'_>,
        table: &Line,
        byte: u8,
        pos: u64,
    ) -> (bool, Option<Flow>) {
        if !matches!(byte, b' ' | b'\t' | b'\r') {
            self.close_waiting(out, Some((byte, pos)));
        }
        let (paths, walk) = match &mut self.at {
            LineAt::Next(walk) => (&table.next, walk),
            LineAt::After(walk) | LineAt::Hidden(Some(walk)) => (&table.all, walk),
            LineAt::Input(walk) => (&table.input, walk),
            LineAt::Tail { fenced, walk, .. } => (&table.tails[usize::from(*fenced)], walk),
            LineAt::Plain {
                line: Some(walk), ..
            }
            | LineAt::Json {
                line: Some(walk), ..
            } => (&table.all, walk),
            LineAt::Plain { line: None, .. }
            | LineAt::Json { line: None, .. }
            | LineAt::Again { .. }
            | LineAt::Hidden(None) => {
                return (true, None);
            }
        };
        let hash = walk.start().filter(|_| matches!(byte, b'\n' | b'\r'));
        let go = match hash {
            // The hashes of a heading are on its line.
            Some(start) if out.bytes(start, pos).iter().all(|b| b"# \t".contains(b)) => Go::None,
            _ => paths.step(walk, byte, pos, b""),
        };
        let walk = *walk;
        match go {
            Go::More => {
                if let LineAt::Hidden(_) | LineAt::Input(_) | LineAt::Plain { .. } = self.at {
                    out.skip(walk.start().unwrap_or(pos + 1));
                }
                if let LineAt::Plain { text, .. } = &mut self.at {
                    text.push(byte);
                }
                (true, None)
            }
            Go::Found { action, taken } => {
                let end = pos + u64::from(taken);
                (taken, self.found(out, table, action, &walk, end))
            }
            Go::None => self.nothing(out, table, &walk, pos),
        }
    }

    /// Acts where neither a header nor anything else that was searched for appears.
    fn nothing(
        &mut self,
        out: &mut Out<'_>,
        table: &Line,
        walk: &Walk,
        pos: u64,
    ) -> (bool, Option<Flow>) {
        match self.at {
            LineAt::Next(_) => {
                // The text here may be the input.
                let limit = self.no_input(out, table, self.last, true);
                let closed = Flow::Closed { end: self.last };
                (false, Some(limit.unwrap_or(closed)))
            }
            LineAt::Input(_) => {
                let at = walk.start().unwrap_or(pos);
                self.at = if table.is_null(&self.name) {
                    LineAt::Hidden(None)
                } else if table.spec.plain.is_empty() {
                    out.tool_issue(Kind::MalformedBody, Span::new(at, at + 1), &self.name, "");
                    self.broke = true;
                    LineAt::Hidden(None)
                } else {
                    LineAt::Plain {
                        start: at,
                        text: out.bytes(at, pos),
                        line: None,
                    }
                };
                (false, None)
            }
            LineAt::Plain { ref mut line, .. } => {
                *line = None;
                (false, None)
            }
            LineAt::Json { ref mut line, .. } => {
                *line = None;
                let base = out.from();
                let source = Source {
                    bytes: &out.bytes(base, pos),
                    base,
                    until: pos,
                    raw: true,
                };
                let (_, flow) = self.read(out, table, source, 0);
                if let LineAt::Hidden(line) = &mut self.at {
                    // It has just been compared with the headers.
                    *line = None;
                }
                out.skip(pos);
                (false, flow)
            }
            LineAt::Hidden(_) => {
                self.at = LineAt::Hidden(None);
                (false, None)
            }
            LineAt::Tail { .. } | LineAt::Again { .. } | LineAt::After(_) => {
                (false, Some(Flow::Closed { end: self.last }))
            }
        }
    }

    /// Acts on a header, or on what else was searched for, that is complete before `end`.
    fn found(
        &mut self,
        out: &mut Out<'_>,
        table: &Line,
        head: Head,
        walk: &Walk,
        end: u64,
    ) -> Option<Flow> {
        let start = walk.start().unwrap_or(end);
        let after = matches!(self.at, LineAt::After(_) | LineAt::Plain { .. });
        match (head, &self.at) {
            (Head::Tail, _) => {
                out.skip(end);
                self.last = end;
                self.at = LineAt::After(table.all.begin());
                return None;
            }
            (Head::Object | Head::Fenced, _) => {
                return self.begin(out, table, head == Head::Fenced, end);
            }
            (Head::Input, LineAt::Next(_) | LineAt::Input(_)) => {
                if let LineAt::Input(_) = self.at {
                    out.repaired(Kind::RepeatedMarker, Span::new(start, end));
                }
                out.skip(end);
                self.last = end;
                self.at = LineAt::Input(table.input.begin());
                return None;
            }
            (_, LineAt::Json { .. }) => self.cut_off(out, table, start),
            (_, LineAt::Plain { .. }) => {
                if let Some(limit) = self.plain(out, table, start) {
                    return Some(limit);
                }
            }
            (Head::Action, LineAt::Next(_)) => {
                let header = out.slice(start, end);
                let name = header.rsplit([':', '：']).next().unwrap_or_default();
                let name = name.trim_start_matches(['*', '_', ' ']).into();
                self.at = LineAt::Again { start, name };
                return None;
            }
            (_, LineAt::Next(_) | LineAt::Input(_)) => {
                if let Some(limit) = self.no_input(out, table, start, false) {
                    return Some(limit);
                }
            }
            _ => {}
        }
        let span = Span::new(start, end);
        match head {
            Head::Observation => out.tool_issue(Kind::HallucinatedResult, span, &self.name, ""),
            Head::Answer if out.io.valid > 0 => {
                out.tool_issue(Kind::FinalAnswerWithAction, span, &self.name, "");
            }
            // The call has its input already.
            Head::Input if after => out.tool_issue(Kind::MalformedBody, span, &self.name, ""),
            Head::Input => {}
            _ => {
                if self.broke && (self.strings.open() || self.strings.may_go_on()) {
                    out.open_string(Span::new(start, start));
                }
                return Some(Flow::Closed { end: start });
            }
        }
        out.skip(end);
        self.broke = head == Head::Input && after;
        self.strings = Strings::new(None, None, vec![b'"']);
        self.at = LineAt::Hidden(None);
        None
    }

    /// Acts on the text up to `end` after the header of another action. An agent that reads it takes one action: the line is
    /// repeated, or nothing shows whether the first action was meant.
    fn again(&mut self, out: &mut Out<'_>, table: &Line, end: u64) -> Option<Flow> {
        let LineAt::Again { start, name } = &self.at else {
            return None;
        };
        let start = *start;
        let said = marked_off(name.trim_ascii());
        if said == self.name.as_bytes() && name.ends_with(b"\n") {
            out.repaired(Kind::RepeatedMarker, Span::new(start, end));
            out.skip(end);
            self.last = end;
            self.at = LineAt::Next(table.next.begin());
            return None;
        }
        if self.name.as_bytes().starts_with(said) && !name.ends_with(b"\n") {
            return None;
        }
        let limit = self.no_input(out, table, start, true);
        Some(limit.unwrap_or(Flow::Closed { end: start }))
    }

    /// Ends an input that is not an object, before the header at `end` or with the stream.
    fn plain(&mut self, out: &mut Out<'_>, table: &Line, end: u64) -> Option<Flow> {
        let LineAt::Plain { start, text, .. } = &self.at else {
            return None;
        };
        let (start, len) = (
            *start,
            usize::try_from(end.saturating_sub(*start)).unwrap_or(usize::MAX),
        );
        let raw = text[..len.min(text.len())].trim_ascii_end().to_vec();
        let text = lossy(&raw);
        let whole = text.trim_end();
        let inner = unfenced(whole).unwrap_or(whole);
        // Of several lines, some may not be part of it.
        let lines = whole.contains('\n').then_some(Kind::UnclosedValue);
        let doubt = is_torn_object(inner).then_some(Kind::MalformedBody);
        let span = Span::new(start, start + raw.len() as u64);
        let live = LiveCall::open(out, &self.name, &[], self.span, self.span.start);
        let mut live = match live {
            Ok(live) => live,
            Err(kind) => return Some(Flow::Limit { kind, ended: false }),
        };
        live.plain(&table.spec.plain);
        let rules = rules(out, &table.json.syntax);
        let step = if table.is_null(inner.trim()) {
            live.nothing(out, inner, (&raw, span))
        } else {
            live.single(out, &rules, inner, (&raw, span), doubt.or(lines))
        };
        match step {
            Step::Limit(kind) => {
                out.call_abandon(live.span(end));
                return Some(Flow::Limit { kind, ended: false });
            }
            Step::Malformed | Step::More | Step::Line => out.call_abandon(live.span(end)),
            Step::Done => {
                live.close(out, span.end);
                self.calls += 1;
            }
        }
        self.last = end;
        None
    }

    /// Begins the arguments at `at`.
    fn begin(&mut self, out: &mut Out<'_>, table: &Line, fenced: bool, at: u64) -> Option<Flow> {
        out.skip(at);
        if table.is_null(&self.name) {
            self.at = LineAt::Hidden(None);
            return None;
        }
        match json_calls::Body::arguments(out, &self.name, &[], self.span) {
            Ok(mut payload) => {
                payload.wait();
                let payload = Box::new(payload);
                self.at = LineAt::Json {
                    payload,
                    fenced,
                    line: None,
                };
                None
            }
            Err(kind) => Some(Flow::Limit { kind, ended: false }),
        }
    }

    /// Acts on the arguments, which were read up to `pos`.
    fn json(
        &mut self,
        out: &mut Out<'_>,
        table: &Line,
        step: Step,
        fenced: bool,
        pos: u64,
    ) -> Option<Flow> {
        match step {
            Step::More | Step::Line => None,
            Step::Done => {
                self.done(out);
                self.last = pos;
                out.skip(pos);
                let was = std::mem::replace(&mut self.at, LineAt::Hidden(None));
                let payload = match was {
                    LineAt::Json { payload, .. } if payload.under_way() => Some(payload),
                    _ => None,
                };
                self.at = LineAt::Tail {
                    fenced,
                    walk: Walk::default(),
                    payload,
                };
                None
            }
            Step::Malformed => {
                // The calls before it remain valid.
                if let LineAt::Json { payload, .. } = &self.at
                    && payload.calls() > 0
                {
                    self.calls += payload.calls();
                    self.last = out.io.closed;
                }
                // Where only brackets are missing, the next header may follow.
                let torn = match &self.at {
                    LineAt::Json { payload, .. } => payload.torn(self.json_table(table)),
                    _ => Torn::default(),
                };
                let closers = torn.closers;
                self.strings = Strings::new(torn.string, torn.inner, vec![b'"']);
                self.abandon(out, pos);
                out.skip(pos);
                self.broke = true;
                self.at = LineAt::Hidden(closers.then(|| table.all.begin()));
                None
            }
            Step::Limit(kind) => {
                self.abandon(out, pos);
                Some(Flow::Limit { kind, ended: false })
            }
        }
    }

    /// Reads JSON from index `i` on.
    fn read(
        &mut self,
        out: &mut Out<'_>,
        table: &Line,
        source: Source<'_>,
        i: usize,
    ) -> (usize, Option<Flow>) {
        let json = self.json_table(table);
        let LineAt::Json {
            payload, fenced, ..
        } = &mut self.at
        else {
            return (i, None);
        };
        let fenced = *fenced;
        let (i, step) = payload.read(out, json, source, i);
        (i, self.json(out, table, step, fenced, source.pos(i)))
    }

    /// Breaks JSON off before a header at `at`: its brackets are missing.
    fn cut_off(&mut self, out: &mut Out<'_>, table: &Line, at: u64) {
        out.tool_issue(Kind::MalformedBody, Span::new(at, at + 1), &self.name, "");
        self.json(out, table, Step::Malformed, false, at);
    }

    /// Completes the JSON.
    fn done(&mut self, out: &mut Out<'_>) {
        let LineAt::Json { payload, .. } = &self.at else {
            return;
        };
        self.calls += payload.calls();
        let Some(answer) = payload.answer() else {
            return;
        };
        if out.io.valid > 0 {
            out.tool_issue(Kind::FinalAnswerWithAction, answer, &self.name, "");
        } else if let Some(block) = &mut out.io.block {
            block.answer = Some(answer);
        }
    }

    /// Closes the call that waits, if any, before the first byte on its line that is no blank. That byte may belong to a member of the
    /// object, torn off by a bracket too many.
    fn close_waiting(&mut self, out: &mut Out<'_>, next: Option<(u8, u64)>) {
        let LineAt::Tail { payload, .. } = &mut self.at else {
            return;
        };
        let Some(mut payload) = payload.take() else {
            return;
        };
        let member = next.filter(|(byte, _)| json_calls::begins_member(*byte));
        if let Some((_, pos)) = member {
            // It is no part of the block, so nothing else reports it.
            out.issue(Kind::MalformedBody, Span::new(pos, pos + 1), "");
        }
        payload.close_waiting(out, member.map(|_| Kind::MalformedBody));
        self.calls += 1;
    }

    /// Abandons the open call, if any; it ends at `end` at the latest.
    pub fn abandon(&mut self, out: &mut Out<'_>, end: u64) {
        self.close_waiting(out, None);
        if let LineAt::Json { payload, .. } = &mut self.at {
            payload.abandon(out, end);
        }
    }

    /// Closes a call whose action has no input, as is known at `end`. `other` if text follows that is not a header.
    fn no_input(&mut self, out: &mut Out<'_>, table: &Line, end: u64, other: bool) -> Option<Flow> {
        if table.is_null(&self.name) {
            return None;
        }
        let tool = out.tool(&self.name);
        if tool.is_some_and(|tool| tool.params.iter().any(|param| param.required)) {
            out.tool_issue(Kind::MissingInput, self.span, &self.name, "");
            return None;
        }
        let takes = tool.is_none_or(|tool| !tool.params.is_empty());
        let mut doubts = KindSet::default();
        if other && takes {
            doubts.insert(Kind::MissingInput);
            let severity = Severity::Warning;
            out.report(Kind::MissingInput, severity, self.span, &self.name, "", "");
        }
        match json_calls::Body::arguments(out, &self.name, &[], self.span) {
            Ok(mut payload) => {
                payload.close_empty(out, end, doubts);
                self.calls += 1;
                None
            }
            Err(kind) => Some(Flow::Limit { kind, ended: false }),
        }
    }

    /// Ends the stream at `end`. An action without input ends there if the model `stopped`; otherwise its input may be
    /// truncated.
    pub fn finish(&mut self, out: &mut Out<'_>, table: &Line, end: u64, stopped: bool) -> Finished {
        self.close_waiting(out, None);
        if let LineAt::Again { start, name } = &mut self.at {
            if !stopped {
                // The line may go on as the same action.
                return Finished::Open;
            }
            let start = *start;
            // The end of the stream ends the line.
            name.push(b'\n');
            return match self.again(out, table, end) {
                None => self.finish(out, table, end, stopped),
                Some(Flow::Closed { .. }) => Finished::Closed(start),
                Some(_) => Finished::Open,
            };
        }
        let header = match &self.at {
            LineAt::Next(walk) => table.next.complete(walk, end, b""),
            LineAt::After(walk) | LineAt::Hidden(Some(walk)) => table.all.complete(walk, end, b""),
            LineAt::Plain {
                line: Some(walk), ..
            } if stopped => table.all.complete(walk, end, b""),
            LineAt::Json {
                line: Some(walk), ..
            } => table.all.complete(walk, end, b""),
            _ => None,
        };
        match (&self.at, header) {
            // The input may have this header, too.
            (LineAt::Next(_), Some(Head::Action)) if !stopped => Finished::Open,
            (
                LineAt::Next(walk)
                | LineAt::After(walk)
                | LineAt::Hidden(Some(walk))
                | LineAt::Plain {
                    line: Some(walk), ..
                }
                | LineAt::Json {
                    line: Some(walk), ..
                },
                Some(action),
            ) => {
                let walk = *walk;
                match self.found(out, table, action, &walk, end) {
                    Some(Flow::Closed { end }) => Finished::Closed(end),
                    Some(_) => Finished::Open,
                    None => self.finish(out, table, end, stopped),
                }
            }
            (LineAt::Json { .. }, _) => {
                if let LineAt::Json { payload, .. } = &mut self.at {
                    payload.finish(out, end, stopped);
                }
                self.abandon(out, end);
                Finished::Open
            }
            (LineAt::Next(walk) | LineAt::Input(walk), None)
                if walk.blank() && (stopped || table.is_null(&self.name)) =>
            {
                self.no_input(out, table, end, false);
                Finished::Closed(end)
            }
            // The model was done: what began like a header or an object is text.
            (LineAt::Input(walk), None) if stopped => {
                let walk = *walk;
                match self.nothing(out, table, &walk, end).1 {
                    Some(Flow::Closed { end }) => Finished::Closed(end),
                    Some(_) => Finished::Open,
                    None => self.finish(out, table, end, stopped),
                }
            }
            (LineAt::Plain { .. }, _) if stopped => match self.plain(out, table, end) {
                Some(_) => Finished::Open,
                None => Finished::Closed(end),
            },
            // A truncated header, beginning of the input, or input that could continue.
            (
                LineAt::Next(_) | LineAt::Again { .. } | LineAt::Input(_) | LineAt::Plain { .. },
                _,
            ) => Finished::Open,
            (LineAt::Tail { fenced, walk, .. }, _) => {
                // The fence is missing or truncated.
                let inside = *fenced || !walk.blank();
                Finished::Closed(if inside { end } else { self.last })
            }
            (LineAt::After(_), None) => Finished::Closed(self.last),
            (LineAt::Hidden(_), _) if self.broke => Finished::Broken(self.last),
            (LineAt::Hidden(_), _) => Finished::Closed(end),
        }
    }
}

/// A name without the marks around it.
fn marked_off(mut name: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = name
        && NAME_MARKS.contains(first)
    {
        name = rest;
    }
    while let [rest @ .., last] = name
        && NAME_MARKS.contains(last)
    {
        name = rest;
    }
    name
}

/// Whether a text is part of an object: it begins with a quoted key, or ends with a bracket that it does not open.
fn is_torn_object(text: &str) -> bool {
    let text = text.trim();
    let key = ['"', '\''].iter().any(|quote| {
        let rest = text
            .strip_prefix(*quote)
            .and_then(|rest| rest.split_once(*quote));
        rest.is_some_and(|(_, rest)| rest.trim_start().starts_with([':', '：']))
    });
    let count = |bracket: char| text.matches(bracket).count();
    let ends = |open: char, close: char| text.ends_with(close) && count(open) < count(close);
    key || ends('{', '}') || ends('[', ']')
}
