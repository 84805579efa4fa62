//! The parameters of a framed call: what opens one, its value, and what confirms that a closer ended it.

use super::found::misspells;
use super::shorter::{half_closer, last_complete, parts};
use super::stray::MAX_STRAY;
use super::value::{HALF, Hit, Lead, MANY, SPACED, Strange, Value};
use super::{Body, FramedAt};
use crate::body::args::As;
use crate::body::given::is_fact;
use crate::body::tree_payload::tag_name;
use crate::body::{Args, Flow, Out};
use crate::dialect::spec::{self, Framing};
use crate::dialect::{Action, Framed, named, written};
use crate::event::Span;
use crate::hints::Tool;
use crate::kind::{Kind, Severity};
use toolglot_scan::path::{Go, Hole, Walk};
use toolglot_scan::{Needle, lossy, tag, xml};

/// The attribute that holds the value of a parameter whose tag closes itself.
const VALUE: &str = "value";

impl Body {
    /// Opens a parameter; its opener ends at `end`.
    pub(super) fn param(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        walk: &Walk,
        end: u64,
    ) -> Option<Flow> {
        let spec = table.params(self.unit)?;
        (self.shut, self.doubled) = (false, false);
        let unit = &table.spec.unit[usize::from(self.unit)];
        let start = walk.start().unwrap_or(end);
        let span = Span::new(start, end);
        self.opener.clear();
        if table.units[usize::from(self.unit)].twins {
            self.opener.extend(out.bytes(start, end));
        }
        let mut key = String::new();
        let mut closed = false;
        let mut kind = None;
        let mut slip = walk.loose().is_some() || misspells(out, table, span);
        let mut pairs = vec![];
        let mut doubt = None;
        let tag = walk.span(Hole::Tag);
        if !tag.is_empty() {
            let text = out.slice(tag.start, tag.end);
            closed = text.ends_with('/');
            (pairs, doubt) = xml::checked_attributes(text.as_bytes());
            key = taken(&mut pairs, &spec.name).unwrap_or_default();
            let hint = spec.hint.as_ref();
            kind = hint.and_then(|hint| taken(&mut pairs, hint.attribute.as_deref()?));
        }
        let word = walk.span(Hole::Key);
        let mut ends = false;
        if !word.is_empty() {
            key = out.slice(word.start, word.end);
            let named = spec.close.iter().any(|close| close.contains("$key"));
            let after = out.slice(word.end, end);
            slip |= repeats(&after);
            ends = after == ">";
            if ends && !named {
                let plain = key.trim_start();
                slip |= plain.len() < key.len();
                key = plain.to_owned();
            }
            let name = key.trim_end_matches('/');
            let blank = name.find([' ', '\n', '\t', '\r']);
            let loose = blank.is_some_and(|at| tag::is_loose(&name[at..]));
            if named || ends && (key.ends_with('/') || loose) {
                // The key is a tag's name, with or without attributes.
                closed = key.ends_with('/');
                let name = match (tag_name(name), blank) {
                    (Some(name), _) => Some(name),
                    // Where tags are not named after the parameter, it may contain what no tag name does.
                    (None, Some(at)) if !named && at > 0 => Some(&name[..at]),
                    (None, _) => None,
                };
                match name {
                    Some(name) => {
                        (pairs, doubt) = xml::checked_attributes(&key.as_bytes()[name.len()..]);
                        key = name.to_owned();
                    }
                    None => return Some(self.refuse(out, Kind::MalformedBody, span)),
                }
            }
            let before = out.slice(start, word.start);
            slip |= named::slips(&before, &spec.open);
            let name = key.trim();
            if ends && !param_known(out, self.args.as_ref(), name) {
                match xml::unquoted(name) {
                    Some(plain) if plain.len() < name.len() => {
                        key = plain.to_owned();
                        slip = true;
                    }
                    Some(_) => {}
                    None => doubt = Some(key.clone()),
                }
            }
        }
        // A key that contains a piece of markup is not the intended one: of a tag, or of what may be in the tag that it is in.
        let piece = key.contains(['<', '>']) || holds_markup(&key, ends);
        if piece && tag.is_empty() && !param_known(out, self.args.as_ref(), key.trim()) {
            doubt = Some(key.clone());
        }
        if let Some(loose) = walk.loose().filter(|_| tag.is_empty()) {
            let (more, stray) = match loose.start == word.end {
                true => xml::checked_attributes(out.slice(loose.start, loose.end).as_bytes()),
                false => (tag::attributes(&out.slice(start, end)), None),
            };
            pairs.extend(more);
            doubt = doubt.or(stray);
        }
        if unit.fix_name && key_is_tool(out, self.args.as_ref(), &key) {
            // This is not a parameter but the next call, or a repetition of the call's own opener.
            if let Some(args) = &mut self.args
                && !closed
                && pairs.is_empty()
                && args.opens_again(&key, &[])
            {
                args.report(out, Kind::RepeatedMarker, span, "");
                out.skip(end);
                self.inner(table);
                return None;
            }
            let ended = !self.lacks_params();
            if let Some(flow) = self.end_before_next(out, start) {
                return Some(flow);
            }
            if ended {
                // The value may quote it: its closer was confirmed by a tag that anybody writes.
                out.open_string(Span::new(start, start));
            }
            out.hold(start);
            return Some(Flow::Broken {
                at: start,
                severity: if ended {
                    Severity::Warning
                } else {
                    Severity::Error
                },
            });
        }
        let frame = if spec.newline.contains(&key) {
            Framing::Newline
        } else {
            spec.frame
        };
        let word = walk.span(Hole::Type);
        if !word.is_empty() {
            kind = Some(out.slice(word.start, word.end));
        }
        let form = match (&spec.hint, kind) {
            (Some(hint), Some(kind))
                if hint
                    .text
                    .iter()
                    .any(|word| word.eq_ignore_ascii_case(&kind)) =>
            {
                As::Text
            }
            (Some(_), Some(_)) => As::Json,
            _ if frame == Framing::Trim => As::Trimmed,
            _ if unit.payload == spec::Payload::Tree => As::Element,
            _ => As::Schema,
        };
        out.skip(end);
        let args = self.args.as_mut()?;
        let value = closed.then(|| taken(&mut pairs, VALUE)).flatten();
        let unread = pairs.iter().find(|(key, _)| !is_fact(key));
        if let Some(key) = doubt.or_else(|| unread.map(|(key, _)| key.clone())) {
            args.report(out, Kind::ExtraKey, span, &key);
        }
        if slip {
            args.report(out, Kind::RepairedMarker, span, "");
        }
        if let Some(value) = value {
            let result = args.given(out, key.trim(), &value, span, end);
            self.inner(table);
            return match result {
                Ok(()) => None,
                Err(Kind::MalformedValue) => {
                    Some(self.value_fails(out, table, Kind::MalformedValue, end))
                }
                Err(kind) => Some(self.limit(out, kind, end)),
            };
        }
        if let Err(kind) = args.param_open_as(out, key.trim(), span, end, form) {
            return Some(self.limit(out, kind, end));
        }
        if closed {
            let result = args.param_close(out, end);
            self.inner(table);
            return result
                .err()
                .map(|kind| self.value_fails(out, table, kind, end));
        }
        let halves = &table.units[usize::from(self.unit)];
        let fix = lossy(&self.fix).into_owned();
        let whole = |pattern: &String| written(pattern, &fix, key.trim());
        let tag = |tag: &String| Needle::new(whole(tag).into_bytes());
        let nest = args.nests().then(|| spec.open.first().map(tag)).flatten();
        let marks = halves.marks.of(spec, &halves.close, &fix, key.trim());
        let flat = nest.is_none();
        let strange = marks.start.filter(|_| flat);
        let others = other_tags(table, self.unit, out.tool(args.tool()), args.key());
        let others = others.into_iter().map(|tag| Needle::new(tag.into_bytes()));
        self.mention = self.may_be_mention(out);
        self.at = FramedAt::Value(Box::new(Value {
            closers: marks.closers,
            nest: nest.map(|open| (open, 0)),
            line: marks.line,
            strange: strange.map(Strange::new),
            others: others.collect(),
            over: None,
            due: true,
            again: marks.again,
            element: marks
                .element
                .filter(|_| flat)
                .map(|start| (Strange::new(start), 0)),
            twin: (!self.opener.is_empty()).then_some(0),
            line_at: None,
            mixed: false,
            start: end,
            framed: false,
            newline: frame == Framing::Newline,
            lead: Lead::first(spec, frame == Framing::Newline),
        }));
        None
    }

    /// Consumes bytes of an open value.
    pub(super) fn value(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        mut i: usize,
        end: usize,
    ) -> (usize, Option<Flow>) {
        let (FramedAt::Value(value), Some(args), Some(spec)) =
            (&mut self.at, &mut self.args, table.params(self.unit))
        else {
            return (end, None);
        };
        let longest = out.limits().max_value.saturating_add(1);
        let mut max = value.start.saturating_add(longest);
        let mut firsts = value.firsts();
        let mut pairs = None;
        let mut lines = false;
        while i < end {
            let pos = out.base + i as u64;
            if value.lead != Lead::Past {
                i += usize::from(value.lead(out, args, spec, out.seg[i], pos, &self.opener));
                continue;
            }
            if let Some(have) = value.twin {
                // The value's own opener may be repeated here.
                let byte = out.seg[i];
                if self.opener.get(usize::from(have)) == Some(&byte) {
                    i += 1;
                    if let Some(Hit::Line(len)) = value.step(byte) {
                        value.line_at = Some((pos + 1 - len, pos + 1));
                    }
                    value.twin = Some(have + 1);
                    if usize::from(have) + 1 == self.opener.len() {
                        let span = Span::new(pos + 1 - self.opener.len() as u64, pos + 1);
                        value.begin_again(spec, pos + 1);
                        max = value.start.saturating_add(longest);
                        self.doubled = true;
                        out.skip(pos + 1);
                        let key = args.key().to_owned();
                        args.report(out, Kind::RepeatedMarker, span, &key);
                    }
                    continue;
                }
                value.twin = None;
                if let Some((newline, begun)) = value.line_at.take() {
                    return (i, self.next_line(out, table, newline, begun, pos));
                }
            }
            if value.idle() {
                if !lines && value.waits_for_line() {
                    (firsts, lines) = (firsts.and(b'\n'), true);
                    pairs = None;
                }
                let stop = out.clip(max, i, end);
                if pairs.is_none() && stop - i >= MANY && !value.due {
                    pairs = Some(value.pairs());
                }
                i += value.skip(firsts, pairs.as_ref(), &out.seg[i..stop]);
                if i >= stop {
                    if out.base + (i as u64) < max {
                        break;
                    }
                    args.value(out, max - 1);
                    return (i, Some(self.limit(out, Kind::LimitValue, max)));
                }
            }
            let pos = out.base + i as u64;
            i += 1;
            let byte = out.seg[i - 1];
            if value.watch(table, (self.unit, &self.fix, args.key()), byte, pos) {
                return (i, self.runs_over(out, table, pos + 1));
            }
            if spec.confirm > 0
                && let Some((len, which)) = value.half(byte)
            {
                let ends = value.ends(out, pos - len);
                args.value(out, ends);
                self.stray = None;
                self.at = FramedAt::Confirm {
                    value: value.clone(),
                    end: ends,
                    closed: pos,
                    which: which | HALF,
                    walk: table.units[usize::from(self.unit)].inner.begin(),
                };
                return (i - 1, None);
            }
            match value.step(byte) {
                Some(Hit::Close { len, which }) => {
                    let start = pos + 1 - len;
                    let ends = value.ends(out, start);
                    args.value(out, ends);
                    let value = value.clone();
                    let walk = table.units[usize::from(self.unit)].inner.begin();
                    if spec.confirm == 0 && !wrong(table, spec, which) {
                        args.mixed(out, value.mixed, ends);
                        if usize::from(which & !SPACED) >= spec.close.len() {
                            args.report(out, Kind::RepeatedMarker, Span::new(start, pos + 1), "");
                        }
                        return (i, self.value_ends(out, table, ends, pos + 1));
                    }
                    self.stray = None;
                    self.at = FramedAt::Confirm {
                        value,
                        end: ends,
                        closed: pos + 1,
                        which,
                        walk,
                    };
                    return (i, None);
                }
                Some(Hit::Opener(len)) if pos + 1 - len == value.start => {
                    // Nothing separates it from the value's own opener.
                    value.start = pos + 1;
                    max = value.start.saturating_add(longest);
                    let span = Span::new(pos + 1 - len, pos + 1);
                    out.skip(pos + 1);
                    let key = args.key().to_owned();
                    args.report(out, Kind::RepeatedMarker, span, &key);
                }
                Some(Hit::Opener(_)) => value.mixed = true,
                Some(Hit::Line(_)) if value.over.as_ref().is_some_and(|over| over.next()) => {
                    return (i, self.runs_over(out, table, pos + 1));
                }
                Some(Hit::Line(len)) => {
                    let newline = pos + 1 - len;
                    return (i, self.next_line(out, table, newline, pos + 1, pos + 1));
                }
                None => {}
            }
            if out.base + (i as u64) - value.have() >= max {
                args.value(out, max - 1);
                return (i, Some(self.limit(out, Kind::LimitValue, max)));
            }
        }
        if value.lead == Lead::Past {
            // While a quotation mark may reveal a mention, its bytes are not part of the value.
            let waits = value.twin.max(self.mention.map(u16::from)).unwrap_or(0);
            let have = value.have().max(u64::from(waits));
            let at = out.base + (i as u64) - have;
            let over = value.over.as_ref().and_then(|over| over.begins());
            let settled = value.settled(out, at.min(over.unwrap_or(at)));
            args.value(out, settled);
        }
        (i, None)
    }

    /// Ends the value where the opener of the next parameter began on its own line: before that `newline`, which may belong
    /// to the opener. The opener, known from there up to `begun`, is read again from its first byte up to `to`.
    fn next_line(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        newline: u64,
        begun: u64,
        to: u64,
    ) -> Option<Flow> {
        let (FramedAt::Value(value), Some(args)) = (&mut self.at, &mut self.args) else {
            return None;
        };
        let start = value.before_newline(out, newline);
        args.value(out, start);
        let key = args.key().to_owned();
        args.recovered(Kind::UnclosedValue);
        let span = Span::new(value.start, start);
        out.report(
            Kind::UnclosedValue,
            Severity::Warning,
            span,
            args.tool(),
            &key,
            "",
        );
        out.skip(newline + 1);
        if let Err(kind) = args.param_close(out, start) {
            return Some(self.value_fails(out, table, kind, begun));
        }
        let literal = out.bytes(newline + 1, to);
        let paths = &table.units[usize::from(self.unit)].inner;
        let mut walk = paths.begin();
        paths.seek(&mut walk, &literal, to);
        self.at = FramedAt::Inner(walk);
        None
    }

    /// Consumes a byte after the closer of a value, which may confirm that the value ended.
    pub(super) fn confirm(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        byte: u8,
        pos: u64,
    ) -> (bool, Option<Flow>) {
        let (
            FramedAt::Confirm {
                value,
                closed,
                which,
                walk,
                ..
            },
            Some(spec),
        ) = (&mut self.at, table.params(self.unit))
        else {
            return (true, None);
        };
        let paths = &table.units[usize::from(self.unit)].inner;
        let named = table.spec.unit[usize::from(self.unit)].fix_name;
        let late = walk.blank() && pos - *closed >= u64::from(spec.within()) && xml::is_space(byte);
        let go = if late {
            Go::None
        } else {
            paths.step(walk, byte, pos, &self.fix)
        };
        if matches!(go, Go::More) && self.stray.is_none() {
            let from = walk.start().unwrap_or(*closed);
            if pos + 1 - from > u64::from(out.limits().max_header) {
                return (true, Some(self.limit(out, Kind::LimitHeader, pos + 1)));
            }
            return (true, self.another_closer(out, byte, pos));
        }
        let found = match go {
            Go::Found { action, taken } => Some((action, *walk, pos + u64::from(taken))),
            Go::None if !late => last_complete(out, paths, walk, pos, &self.fix),
            Go::None | Go::More => None,
        };
        let found = found.filter(|(action, walk, end)| parts(out, *action, walk, *end, pos));
        let mut step = (go, found);
        if let (Go::None, None) = step
            && let Some((action, to)) = half_closer(out, table, (self.unit, &self.fix), walk, pos)
        {
            step = (Go::None, Some((action, *walk, to)));
        }
        if !late && !matches!(step, (Go::More, _) | (_, Some(_))) && !value.mixed {
            let from = (*closed, pos, MAX_STRAY);
            if self.stray.is_none()
                && let Some(over) = &mut value.over
            {
                // Only what follows the value's closer matters from here on.
                over.forget();
            }
            match Self::skip_stray(&mut self.stray, out, paths, walk, from, &self.fix) {
                Some(found @ Some(_)) => step = (Go::None, found),
                Some(None) => step = (Go::More, None),
                None => {}
            }
        }
        if *which & HALF != 0 && matches!(step.1, Some((Action::Stray, ..))) {
            // A whole closer follows half of one, which is content.
            step = (Go::None, None);
        }
        if let (Some(_), (_, Some(found))) = (self.stray, &step) {
            let closed = *closed;
            if self.ends_value(out, table, closed, found) {
                self.report_stray(out, closed, found);
            } else {
                step = (Go::None, None);
            }
        }
        let FramedAt::Confirm {
            value,
            end,
            closed,
            which,
            ..
        } = &mut self.at
        else {
            return (true, None);
        };
        let of = (
            self.unit,
            self.fix.as_slice(),
            self.args.as_ref().map_or("", Args::key),
        );
        match step {
            (Go::More, _) => {
                value.watch(table, of, byte, pos);
                (true, self.another_closer(out, byte, pos))
            }
            (_, Some((Action::Param | Action::Stray, walk, _)))
                if named && foreign(out, self.args.as_ref(), walk.span(Hole::Key)) =>
            {
                // A tag follows, but not one that could: the content continues.
                value.watch(table, of, byte, pos);
                let hit = value.step(byte);
                (true, self.content_after_all(out, hit, pos + 1))
            }
            (_, Some((Action::Stray, ..))) if !named && value.encloses() => {
                // The first of two closers is that of an element in the value.
                let hit = value.step(byte);
                (true, self.content_after_all(out, hit, pos + 1))
            }
            (_, Some((action, walk, to))) => {
                let ends = *end;
                let start = walk.start().unwrap_or(pos);
                let taken = to > pos;
                let (mixed, tag) = (value.mixed, Span::new(ends, *closed));
                let half = usize::from(*which & !(SPACED | HALF)) >= spec.close.len();
                if wrong(table, spec, *which) {
                    self.misspelt(out, tag);
                }
                out.skip(start);
                let Some(args) = &mut self.args else {
                    return (taken, None);
                };
                if half {
                    args.report(out, Kind::RepeatedMarker, tag, "");
                }
                args.mixed(out, mixed, ends);
                self.shut = true;
                if let Err(kind) = args.param_close(out, ends) {
                    // What follows may have ended the block.
                    let ended = match action {
                        Action::End | Action::WrongEnd => true,
                        Action::Close | Action::WrongClose | Action::Half => !self.section,
                        _ => false,
                    };
                    let end = if ended { to } else { pos };
                    self.value_fails(out, table, kind, end);
                    let flow = crate::body::named_params::fail(kind, ended);
                    return (taken, Some(flow));
                }
                let flow = self.found(out, table, action, &walk, to);
                (taken, flow.or_else(|| self.walk_again(out, table, to, pos)))
            }
            (_, None) => {
                value.watch(table, of, byte, pos);
                let hit = value.step(byte);
                (true, self.content_after_all(out, hit, pos + 1))
            }
        }
    }

    /// Searches for another closer in a byte after the closer of a value: what follows may turn out to be content.
    fn another_closer(&mut self, out: &mut Out<'_>, byte: u8, pos: u64) -> Option<Flow> {
        let FramedAt::Confirm { value, .. } = &mut self.at else {
            return None;
        };
        let hit @ Some(Hit::Close { .. }) = value.step(byte) else {
            return None;
        };
        self.content_after_all(out, hit, pos + 1)
    }

    /// Continues the value: the closer that was held back is content. `pos` is after the last byte read, which may end
    /// another closer.
    pub(super) fn content_after_all(
        &mut self,
        out: &mut Out<'_>,
        hit: Option<Hit>,
        pos: u64,
    ) -> Option<Flow> {
        let (
            FramedAt::Confirm {
                value,
                end,
                closed,
                which,
                walk,
            },
            Some(args),
        ) = (&mut self.at, &mut self.args)
        else {
            return None;
        };
        let stray = self.stray.take();
        if *which & HALF == 0 {
            let key = args.key().to_owned();
            args.recovered(Kind::AmbiguousClose);
            let span = Span::new(*end, *closed);
            out.tool_issue(Kind::AmbiguousClose, span, args.tool(), &key);
        }
        let mut value = std::mem::replace(value, Box::new(Value::none()));
        if *which & HALF == 0 {
            value.closes_element();
        }
        let walk = *walk;
        // What came before is content now; a closer of the call after stray bytes may end it all the same.
        if let Some(over) = value.over.as_mut().filter(|_| stray.is_none()) {
            over.forget();
        }
        match hit {
            Some(Hit::Close { len, which }) => {
                let ends = value.ends(out, pos.saturating_sub(len));
                args.value(out, ends);
                self.at = FramedAt::Confirm {
                    value,
                    end: ends,
                    closed: pos,
                    which,
                    walk: walk.restart(),
                };
            }
            Some(Hit::Line(_) | Hit::Opener(_)) | None => {
                let at = pos.saturating_sub(value.have());
                let over = value.over.as_ref().and_then(|over| over.begins());
                let settled = value.settled(out, at.min(over.unwrap_or(at)));
                args.value(out, settled);
                self.at = FramedAt::Value(value);
            }
        }
        None
    }

    /// Ends the value at `ends`, its closer at `closed`; nothing needs to confirm it.
    fn value_ends(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        ends: u64,
        closed: u64,
    ) -> Option<Flow> {
        out.skip(closed);
        self.shut = true;
        let result = self.args.as_mut()?.param_close(out, ends);
        self.inner(table);
        result
            .err()
            .map(|kind| self.value_fails(out, table, kind, closed))
    }

    /// Abandons the call: a value is not what its type demands, or exceeds a limit.
    pub(super) fn value_fails(
        &mut self,
        out: &mut Out<'_>,
        _table: &Framed,
        kind: Kind,
        pos: u64,
    ) -> Flow {
        self.drop_call(out, pos);
        out.skip(pos);
        crate::body::named_params::fail(kind, false)
    }
}

/// Whether a key contains a piece of a tag or, where it ends its tag (`ends`), of an attribute.
pub(crate) fn holds_markup(key: &str, ends: bool) -> bool {
    key.starts_with('=') || ends && key.contains(['=', '"'])
}

/// The most parameters whose tags are looked for in a value.
const MAX_OTHERS: usize = 32;

/// The tags of a tool's parameters other than `key`, if tags are named after their parameters: where one begins in a value, the
/// value's closer may be missing.
pub(crate) fn other_tags(table: &Framed, unit: u16, tool: Option<&Tool>, key: &str) -> Vec<String> {
    let payload = table.spec.unit[usize::from(unit)].payload;
    let named = payload == spec::Payload::Params && !table.units[usize::from(unit)].twins;
    let (Some(tool), Some(param)) = (tool.filter(|_| named), table.params(unit)) else {
        return vec![];
    };
    let open = param.open.first().map_or("", String::as_str);
    let params = tool.params.iter().map(|param| param.name.as_str());
    let others = params.filter(|name| *name != key && tag_name(name) == Some(name));
    let tag = |name: &str| open.replace("$key", name);
    others.take(MAX_OTHERS).map(tag).collect()
}

/// Whether a parameter's tag is named after another tool.
fn key_is_tool(out: &Out<'_>, args: Option<&Args>, key: &str) -> bool {
    !param_known(out, args, key) && out.tool(key).is_some()
}

/// Whether the open call's tool is known to have a parameter of that name.
pub(super) fn param_known(out: &Out<'_>, args: Option<&Args>, key: &str) -> bool {
    let param = args.and_then(|args| out.tool(args.tool())?.param(key));
    param.is_some()
}

/// Whether the open call's tool has parameters, but none of the tag's name, which is no other tool's either.
pub(super) fn foreign(out: &Out<'_>, args: Option<&Args>, key: Span) -> bool {
    let Some(tool) = args.and_then(|args| out.tool(args.tool())) else {
        return false;
    };
    let key = out.slice(key.start, key.end);
    let name = tag_name(key.trim_end_matches('/'));
    let knows = |name| tool.param(name).is_some() || out.tool(name).is_some();
    !tool.params.is_empty() && !name.is_some_and(knows)
}

/// Removes an attribute from those of a tag and returns its value.
fn taken(pairs: &mut Vec<(String, String)>, name: &str) -> Option<String> {
    let at = pairs.iter().position(|(key, _)| key == name)?;
    let value = pairs.remove(at).1;
    pairs.retain(|(key, _)| key != name);
    Some(value)
}

/// Whether a closer of values is misspelt, or contains white space that it should not.
fn wrong(table: &Framed, spec: &spec::Param, which: u16) -> bool {
    let close = spec.close.get(usize::from(which & !(SPACED | HALF)));
    which & SPACED != 0 || close.is_some_and(|close| table.spec.misspelt.contains(close))
}

/// Whether a closing tag appears twice in a row.
fn repeats(text: &str) -> bool {
    let tags: Vec<&str> = text.split("</").skip(1).map(str::trim).collect();
    let twice = |pair: &[&str]| pair[0].ends_with('>') && pair[1].starts_with(pair[0]);
    tags.windows(2).any(twice)
}
