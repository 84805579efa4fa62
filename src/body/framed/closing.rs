//! How payloads, calls and sections close.

use super::{Body, FramedAt};
use crate::body::hidden::Torn;
use crate::body::live::Step;
use crate::body::{Flow, Out};
use crate::dialect::Framed;
use crate::event::Span;
use crate::kind::{Kind, Severity};
use toolglot_scan::path::Walk;

impl Body {
    /// Acts on the payload, which was read up to `pos`.
    pub(super) fn payload(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        step: Step,
        pos: u64,
    ) -> Option<Flow> {
        let closed = match &self.at {
            FramedAt::Payload(payload) => payload.closed(),
            _ => None,
        };
        let ended = closed.is_some();
        match step {
            Step::More | Step::Line => None,
            // Doubled brackets that break are those of a template.
            Step::Malformed if !self.section && !self.is_final() && self.is_template() => {
                self.count(out, pos);
                Some(Flow::Mention { at: pos })
            }
            Step::Malformed => {
                // A payload without a closer ends by itself.
                let bare = table.spec.unit[usize::from(self.unit)].close.is_empty();
                let mut ended = ended;
                if let FramedAt::Payload(payload) = &self.at {
                    ended |= bare && !self.section && payload.ended();
                    self.torn = Some(Torn {
                        offered: payload.offered(out),
                        ..payload.torn(table)
                    });
                }
                self.count(out, pos);
                self.last = pos;
                Some(Flow::Malformed { ended })
            }
            Step::Limit(kind) => {
                if let FramedAt::Payload(payload) = &self.at
                    && payload.torn(table).string.is_some()
                {
                    // Its strings are not read on, and its closer may be part of one.
                    out.open_string(Span::new(pos, pos));
                }
                self.drop_call(out, pos);
                Some(Flow::Limit { kind, ended })
            }
            Step::Done => {
                if let FramedAt::Payload(payload) = &mut self.at {
                    self.whole = payload.take_waiting().map(Box::new);
                }
                // A payload that reads up to the closer may have read on.
                let (read, pos) = (pos, closed.unwrap_or(pos));
                self.count(out, pos);
                self.last = pos;
                if self.is_final() {
                    // The end of the payload is not text, whatever becomes of the closer.
                    self.good = pos;
                }
                out.skip(pos);
                let unit = &table.spec.unit[usize::from(self.unit)];
                if unit.close.is_empty() {
                    self.settle(out);
                }
                if !unit.close.is_empty() && closed.is_none() {
                    self.at = FramedAt::Tail(table.units[usize::from(self.unit)].tail.begin());
                    return None;
                }
                let flow = self.after_call(table, pos);
                flow.or_else(|| self.walk_again(out, table, pos, read))
            }
        }
    }

    /// Whether the open payload has an object with doubled brackets.
    fn is_template(&self) -> bool {
        matches!(&self.at, FramedAt::Payload(payload) if payload.doubts(Kind::RepeatedMarker))
    }

    /// Adds the closed calls of the open payload to the block's.
    pub(super) fn count(&mut self, out: &mut Out<'_>, pos: u64) {
        if let FramedAt::Payload(payload) = &mut self.at {
            payload.abandon(out, pos);
            self.calls += payload.calls();
            self.at = FramedAt::Gap(Walk::default());
        }
    }

    /// Continues after a call that is closed at `end`.
    pub(super) fn after_call(&mut self, table: &Framed, end: u64) -> Option<Flow> {
        (self.last, self.good) = (end, end);
        let tables = &table.units[usize::from(self.unit)];
        if self.section {
            self.at = FramedAt::Gap(table.gap.begin());
            None
        } else if let Some(more) = &tables.more {
            self.at = FramedAt::More(more.begin());
            None
        } else {
            Some(Flow::Closed { end })
        }
    }

    /// Closes the call; its closer ends at `end`.
    pub(super) fn call_closes(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        end: u64,
    ) -> Option<Flow> {
        out.skip(end);
        if !self.waits(table, end)
            && let Some(flow) = self.close_args(out, end)
        {
            return Some(flow.at_end(!self.section));
        }
        self.after_call(table, end)
    }

    pub(super) fn close_args(&mut self, out: &mut Out<'_>, end: u64) -> Option<Flow> {
        let mut args = self.args.take()?;
        if let Some((key, json)) = self.shared.clone() {
            args.json(out, &key, &json, Span::new(end, end));
        }
        match args.close(out, end) {
            Ok(()) => {
                self.calls += 1;
                None
            }
            Err(Kind::MalformedValue) => {
                self.drop_call(out, end);
                // The block continues after a call that was not valid.
                None
            }
            Err(kind) => {
                self.drop_call(out, end);
                Some(Flow::Limit { kind, ended: false })
            }
        }
    }

    /// Whether only closers are missing where a turn ends.
    pub(super) fn may_end(&self) -> bool {
        match self.at {
            FramedAt::Tail(_) => true,
            FramedAt::Gap(_) => self.is_final() && self.loose.is_none(),
            _ => !self.lacks_params(),
        }
    }

    /// Ends the open call, whose closer is missing before what begins at `start`. It counts if it has a parameter: all of them
    /// are closed, but more of it may have been meant. Otherwise it is retracted.
    pub(super) fn end_before_next(&mut self, out: &mut Out<'_>, start: u64) -> Option<Flow> {
        if self.lacks_params() {
            self.drop_call(out, start);
            return None;
        }
        if let Some(args) = &mut self.args {
            args.recovered(Kind::UnclosedBlock);
        }
        let flow = self.close_args(out, start);
        if flow.is_none() {
            (self.last, self.good) = (start, start);
        }
        flow
    }

    /// Closes the section; its closer ends at `end`.
    pub(super) fn section_ends(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        start: u64,
        end: u64,
    ) -> Option<Flow> {
        let forgotten = matches!(
            self.at,
            FramedAt::Inner(_) | FramedAt::Confirm { .. } | FramedAt::Tail(_)
        );
        if forgotten {
            let span = Span::new(self.last, end);
            match &mut self.args {
                // The section's closer shows that the last parameter was meant to be the last.
                Some(args) => args.report(out, Kind::RepairedCloser, span, ""),
                None => out.report(Kind::UnclosedBlock, Severity::Warning, span, "", "", ""),
            }
            if let Some(flow) = self.close_args(out, end) {
                return Some(flow.at_end(true));
            }
        }
        out.skip(end);
        if let FramedAt::More(_) = self.at {
            let kind = match self.section {
                true => Kind::RepeatedMarker,
                false => Kind::OrphanClose,
            };
            out.issue(kind, Span::new(start, end), "");
        }
        // In a message the closer may be repeated; elsewhere it is a token of the dialect.
        let message = out
            .dialect()
            .is_some_and(|dialect| dialect.channels.is_some());
        if let Some(more) = table.units[usize::from(self.unit)]
            .more
            .as_ref()
            .filter(|_| message)
        {
            self.last = end;
            self.at = FramedAt::More(more.begin());
            return None;
        }
        Some(Flow::Closed { end })
    }
}
