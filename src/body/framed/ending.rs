//! What becomes of a block when the stream ends.

use toolglot_scan::lossy;

use super::over::unclosed;
use super::shorter::half_closer;
use super::{Body, FramedAt};
use crate::body::{Finished, Flow, Out};
use crate::dialect::Framed;
use crate::event::Span;
use crate::kind::{Kind, Severity};
use toolglot_scan::path::Walk;

impl Body {
    /// Whether the open part extends to the end of the stream, at `end`, because a closer is missing. It does if it is
    ///
    /// * a value or a string with a closer of the call, of its section or of values in it;
    /// * a string with a line break or a framing token in it;
    /// * a section that may contain any text, without a call.
    fn runs_on(&self, out: &Out<'_>, table: &Framed, end: u64) -> bool {
        let spec = &table.spec;
        let (from, end, key) = match (&self.at, &self.args) {
            (FramedAt::Gap(_), _) => {
                let none = self.good == out.block_span(end).start;
                return none && self.is_prose(table);
            }
            // In CDATA no closer has a meaning.
            (FramedAt::Value(value), Some(args)) if !value.in_cdata() => {
                (value.start, end, args.key())
            }
            // The last closer may be the value's own.
            (FramedAt::Confirm { value, end, .. }, Some(args)) => (value.start, *end, args.key()),
            (FramedAt::Plain(plain), _) => (plain.start(), end, ""),
            (FramedAt::Payload(payload), _) if payload.torn(table).string.is_some() => {
                (self.last, end, "")
            }
            (FramedAt::Payload(payload), _) => return payload.runs_on(),
            _ => return false,
        };
        let section = spec.section.iter().flat_map(|section| &section.close);
        let unit = &spec.unit[usize::from(self.unit)];
        let param = spec.params(unit).into_iter().flat_map(|param| &param.close);
        let mut closers = unit.close.iter().chain(section).chain(param);
        let fix = lossy(&self.fix);
        let block = out.io.block.as_ref();
        let mut value = block.map_or(&[][..], |block| block.slice(from, end));
        if let FramedAt::Payload(payload) = &self.at {
            // The markers before the payload are no part of a string.
            let quote = value.iter().position(|byte| matches!(byte, b'"' | b'\''));
            value = &value[quote.unwrap_or(0)..];
            let framing = out
                .dialect()
                .map_or(&[][..], |dialect| &dialect.spec.framing);
            let has = |token: &String| memchr::memmem::find(value, token.as_bytes()).is_some();
            if payload.doubts(Kind::RepairedNewline) || framing.iter().any(has) {
                return true;
            }
        }
        closers.any(|close| {
            let close = close.replace("$x", &fix).replace("$key", key);
            let literal = table.last_literal(&close, &fix);
            literal.is_some_and(|literal| memchr::memmem::find(value, literal.as_bytes()).is_some())
        })
    }

    /// Ends the stream at `end`; `stopped` if the model ended it.
    pub fn finish(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        end: u64,
        stopped: bool,
    ) -> Finished {
        if self.stray.is_some() {
            match self.at {
                // The value goes on.
                FramedAt::Confirm { .. } => {
                    self.content_after_all(out, None, end);
                }
                _ => {
                    self.broken(out, end - 1);
                    return Finished::Broken(self.good.max(out.io.closed));
                }
            }
        }
        let ended = match &mut self.at {
            FramedAt::Plain(plain) => plain.ended(),
            _ => None,
        };
        // The text may quote the closer and go on.
        if let (Some(_), Some(args), false) = (&ended, &mut self.args, stopped) {
            let key = args.key().to_owned();
            args.report(out, Kind::UnclosedValue, Span::new(end, end), &key);
        }
        let flow = match ended {
            Some(came) => Some(self.plain(out, table, came, end)),
            None if stopped => self.half_closer_ends(out, table, end),
            None => None,
        };
        if let Some(flow) = flow {
            if let Some(Flow::Closed { end }) = flow {
                return Finished::Closed(end);
            }
            // The section is open, and what follows the call is read again.
            return self.finish(out, table, end, stopped);
        }
        if self.lacks_closers(out, table, end) {
            return self.close_truncated(out, table, end, stopped);
        }
        if stopped && let Some((ends, to)) = self.ends_before_closers(out, end) {
            return self.close_value(out, ends, to);
        }
        // More of the text, or a parameter, could have followed.
        let begun = self.pattern().and_then(Walk::start);
        let begun = begun.map_or_else(Vec::new, |start| out.bytes(start, end));
        let more = self.may_go_on(out, &begun);
        if let (true, Some(args), false) = (more, &mut self.args, stopped) {
            args.recovered(Kind::UnclosedBlock);
        }
        if let (Some(whole), false) = (&mut self.whole, stopped) {
            whole
                .0
                .recovered([Kind::UnclosedBlock].into_iter().collect());
        }
        if !self.awaits_closer() {
            self.settle(out);
        }
        if let FramedAt::Value(_) | FramedAt::Plain(_) = self.at
            && let Some(args) = &self.args
        {
            let span = Span::new(args.value_start(), out.from().max(args.value_start()));
            let (tool, key) = (args.tool().to_owned(), args.key().to_owned());
            out.report(
                Kind::UnclosedValue,
                Severity::Warning,
                span,
                &tool,
                &key,
                "",
            );
        }
        if let FramedAt::Tail(walk) = self.at {
            // A closer that could have been longer.
            let tail = &table.units[usize::from(self.unit)].tail;
            let flow = match tail.complete(&walk, end, &self.fix) {
                Some(action) => self.found(out, table, action, &walk, end),
                None => self.shorter(out, table, end).flatten(),
            };
            match flow {
                Some(Flow::Closed { end }) => return Finished::Closed(end),
                // The opener of another block: what follows decides there.
                Some(Flow::Broken { at, .. }) => return Finished::Forgotten(at),
                _ => {}
            }
        }
        if let FramedAt::Payload(payload) = &mut self.at {
            payload.finish(out, end, stopped);
            if payload.complete() {
                return Finished::Closed(end);
            }
            if let (Some(closed), true) = (payload.closed(), payload.calls() > 0) {
                return Finished::Closed(closed);
            }
        }
        // The model was done: words in a closer that lacks its end are the rest of its reply.
        if stopped && let Some(word) = self.trailing_words(out) {
            self.drop_call(out, end);
            return Finished::Broken(word);
        }
        let broken = Finished::Broken(self.good.max(out.io.closed));
        let block = out.io.block.as_ref().filter(|_| !self.is_final());
        let unmarked = block.is_some_and(|block| block.unmarked);
        let finished = match &self.at {
            FramedAt::Lost(lost) if (lost.done() && !unmarked) || self.invented => {
                Finished::Hidden(end)
            }
            FramedAt::Lost(_) => broken,
            FramedAt::More(_) => Finished::Closed(self.last),
            FramedAt::Gap(_) if self.looks_ahead(table) && self.is_final() => {
                Finished::Closed(self.last)
            }
            FramedAt::Gap(_) if self.looks_ahead(table) => Finished::Hidden(self.last),
            FramedAt::Payload(payload) if !payload.under_way() && self.is_final() => {
                Finished::Forgotten(end)
            }
            // Nothing but the list marks its calls, and it has no end.
            FramedAt::Payload(payload) if stopped && unmarked && payload.in_comment() => broken,
            // The model was done: a string that seems to have no end began or ended elsewhere, a comment may hold the end of
            // its call, and after calls a word without a bracket is the rest of the reply.
            FramedAt::Payload(payload)
                if stopped
                    && (payload.doubts(Kind::BareQuote)
                        || payload.doubts(Kind::RepairedSpace)
                        || self.is_final() && payload.only_name()) =>
            {
                broken
            }
            // Text after the last call.
            FramedAt::Gap(_) if self.loose.is_some() && !self.has_none(out, end) => broken,
            FramedAt::Gap(walk) | FramedAt::Tail(walk) if self.calls > 0 && walk.blank() => {
                Finished::Forgotten(end)
            }
            _ if stopped && self.runs_on(out, table, end) => broken,
            _ => Finished::Open,
        };
        self.drop_call(out, end);
        finished
    }

    /// Closes the call whose closer lacks its last byte: words up to the stream's end, at `end`, are no attributes of it.
    fn half_closer_ends(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        end: u64,
    ) -> Option<Option<Flow>> {
        let (FramedAt::Confirm { walk, .. } | FramedAt::Inner(walk)) = &self.at else {
            return None;
        };
        let start = walk.start()?;
        half_closer(out, table, (self.unit, &self.fix), walk, end)?;
        // A tag ends its attributes.
        let (_, flow) = match self.at {
            FramedAt::Confirm { .. } => self.confirm(out, table, b'<', end),
            _ => self.walk(out, table, b'<', end),
        };
        let same = match &self.at {
            FramedAt::Confirm { walk, .. } | FramedAt::Inner(walk) => walk.start() == Some(start),
            _ => false,
        };
        (!same || flow.is_some()).then_some(flow)
    }

    /// Whether the stream ended at `end` after a closed parameter, followed by nothing or by a prefix of a closer.
    fn lacks_closers(&self, out: &Out<'_>, table: &Framed, end: u64) -> bool {
        let walk = match &self.at {
            FramedAt::Confirm { walk, .. } => walk,
            FramedAt::Inner(walk) if self.args.as_ref().is_some_and(|args| args.count() > 0) => {
                walk
            }
            _ => return false,
        };
        let began = walk.start().map(|start| out.slice(start, end));
        let section = table.spec.section.iter().flat_map(|section| &section.close);
        let unit = table.spec.unit[usize::from(self.unit)].close.iter();
        let fix = lossy(&self.fix);
        let closes = |began: &str| {
            let mut closers = unit.chain(section).map(|close| close.replace("$x", &fix));
            // Blanks may precede its bracket.
            closers.any(|close| began_with(&close, began) || began_with(&close, began.trim_end()))
        };
        walk.blank() || began.is_none_or(|began| closes(&began))
    }

    /// Where the open value ends, and the closers after it, if nothing but closers of the call and its section, and tokens that end
    /// a reply, follows up to the stream's end, at `end`.
    fn ends_before_closers(&self, out: &Out<'_>, end: u64) -> Option<(u64, u64)> {
        let FramedAt::Value(value) = &self.at else {
            return None;
        };
        let over = value.over.as_ref().filter(|_| !value.in_cdata())?;
        let at = over.begins()?;
        let bytes = out.bytes(at, end);
        let framing = out
            .dialect()
            .map_or(&[][..], |dialect| &dialect.spec.framing);
        let before_token = |bytes: &[u8]| {
            let bytes = bytes.trim_ascii_end();
            let mut tokens = framing.iter().map(String::as_bytes);
            let before = tokens.find_map(|token| bytes.strip_suffix(token))?;
            Some(before.trim_ascii_end().len())
        };
        let mut closers = &bytes[..];
        while let Some(len) = before_token(closers) {
            closers = &closers[..len];
        }
        let to = at + closers.len() as u64;
        over.are_closers(closers).then(|| (value.ends(out, at), to))
    }

    /// Closes the call whose open value lacks its closer and ends at `ends`; the closers of the call end at `end`.
    fn close_value(&mut self, out: &mut Out<'_>, ends: u64, end: u64) -> Finished {
        let (FramedAt::Value(value), Some(args)) = (&self.at, &mut self.args) else {
            return Finished::Open;
        };
        let whole = !self.section || value.over.as_ref().is_some_and(|over| over.ended());
        let mixed = value.mixed;
        unclosed(out, args, value.start, ends);
        args.mixed(out, mixed, ends);
        out.skip(end);
        if args.param_close(out, ends).is_err() {
            self.drop_call(out, end);
            return Finished::Open;
        }
        match self.close_args(out, end) {
            None if self.calls > 0 && whole => Finished::Closed(end),
            None if self.calls > 0 => Finished::Forgotten(end),
            None | Some(_) => Finished::Open,
        }
    }

    /// Closes a call that lacks only closers where the stream ended. More of it may have been meant.
    fn close_truncated(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        end: u64,
        stopped: bool,
    ) -> Finished {
        let half = self.half(out, table, end);
        if let (
            FramedAt::Confirm {
                value, end: ends, ..
            },
            Some(args),
        ) = (&self.at, &mut self.args)
        {
            args.mixed(out, value.mixed, *ends);
            if args.param_close(out, *ends).is_err() {
                self.drop_call(out, end);
                return Finished::Open;
            }
        }
        if let Some((start, to)) = half {
            self.misspelt(out, Span::new(start, to));
        }
        // The value may go on behind one of several markers, if the model did not stop there.
        if let Some(args) = self.args.as_mut().filter(|_| half.is_none() || !stopped) {
            args.recovered(Kind::UnclosedBlock);
        }
        out.skip(end);
        match self.close_args(out, end) {
            None if self.calls > 0 => Finished::Forgotten(end),
            None | Some(_) => Finished::Open,
        }
    }
}

/// Whether `began` is a prefix of the pattern `close`, whose only holes are white space.
fn began_with(close: &str, began: &str) -> bool {
    let mut rest = began;
    for literal in close.split("$_") {
        if literal.starts_with(rest) {
            return true;
        }
        match rest.strip_prefix(literal) {
            Some(more) => rest = more.trim_ascii_start(),
            None => return false,
        }
    }
    false
}
