//! Broken parts of a framed block: calls that are not valid, and what is hidden up to where the block continues.

use super::{Body, FramedAt};
use crate::body::hidden::{Hit as Found, Lost, Torn};
use crate::body::payload::Payload;
use crate::body::{Flow, Out};
use crate::dialect::spec::{self, Malformed};
use crate::dialect::{Action, Framed};
use crate::event::Span;
use crate::kind::Kind;
use toolglot_scan::lossy;
use toolglot_scan::path::Walk;

impl Body {
    /// Whether a block that breaks is hidden. A Python list that has no marker and no call is text,
    /// unless the call that broke names a declared tool.
    pub(super) fn hides(&self, out: &Out<'_>, table: &Framed) -> bool {
        let python = table.spec.unit[usize::from(self.unit)].payload == spec::Payload::Python;
        let block = out.io.block.as_ref().filter(|_| python && !self.is_final());
        let offered = self.torn.as_ref().is_some_and(|torn| torn.offered);
        let text = block.is_some_and(|block| block.unmarked) && !offered;
        let dialect = out.dialect();
        !text && dialect.is_some_and(|dialect| dialect.spec.malformed == Malformed::Drop)
    }

    /// Hides everything from `pos` on; see [`super::Body::hide`].
    pub fn hide(&mut self, out: &mut Out<'_>, table: &Framed, pos: u64) {
        self.lose(out, table, pos);
        self.invented = true;
    }

    /// Hides a call, or what should be one, that broke before `pos`, from here on.
    pub(super) fn lose(&mut self, out: &mut Out<'_>, table: &Framed, pos: u64) {
        let mut torn = self.torn.take().unwrap_or_default();
        let fix = lossy(&self.fix);
        let prefix = std::mem::take(&mut torn.prefix);
        let dialect = out.dialect();
        let turns = dialect.map_or(&[][..], |dialect| &dialect.spec.framing);
        let channels = dialect.and_then(|dialect| dialect.channels.as_ref());
        let headers =
            channels.map(|channels| channels.spec.start.iter().chain(&channels.spec.close));
        let turns = turns.iter().map(|turn| (turn.as_str(), true));
        let messages = dialect.map_or(&[][..], |dialect| &dialect.spec.messages);
        // Calls in thoughts do not count, whatever is hidden before the thoughts.
        let thoughts = dialect.map_or(&[][..], |dialect| &dialect.spec.reasoning);
        let thoughts = thoughts.iter().flat_map(|reasoning| &reasoning.open);
        let thoughts = thoughts.filter(|open| spec::special(open));
        let headers = headers
            .into_iter()
            .flatten()
            .chain(messages)
            .chain(thoughts);
        let turns = turns.chain(headers.map(|header| (header.as_str(), false)));
        let mut lost = Lost::new(table, self.unit, &fix, torn, turns);
        lost.prime(table, &prefix, pos, &self.fix, out.limits().max_header);
        // The bytes already read may begin a marker.
        out.skip(lost.keeps(pos));
        self.at = FramedAt::Lost(Box::new(lost));
    }

    /// Consumes hidden bytes.
    pub(super) fn lost(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        mut i: usize,
        end: usize,
    ) -> (usize, Option<Flow>) {
        let FramedAt::Lost(lost) = &mut self.at else {
            return (end, None);
        };
        let max = out.limits().max_header;
        let mut hit = None;
        while i < end && hit.is_none() {
            let pos = out.base + i as u64;
            hit = lost.step(table, out.seg[i], pos, &self.fix, max);
            i += 1;
        }
        let pos = out.base + i as u64;
        let Some(hit) = hit else {
            let keeps = lost.keeps(pos);
            out.skip(keeps);
            return (i, None);
        };
        let (done, rows) = (lost.done(), lost.rows());
        let quotes = lost.may_quote_more();
        let blind = lost.is_blind() && matches!(hit, Found::Opener { .. });
        let quoted = blind || lost.may_quote() || quotes && matches!(hit, Found::Object);
        if quoted && lost.is_delimited() {
            out.io.open_delimited(out.set);
        }
        let taken = match hit {
            Found::Opener { taken, .. } | Found::Payload { taken } | Found::Item { taken } => taken,
            Found::Call | Found::Section | Found::Turn { .. } => true,
            Found::Object => false,
        };
        let i = i - usize::from(!taken);
        if let Found::Item { .. } = hit {
            let unit = &table.spec.unit[usize::from(self.unit)];
            out.skip(out.base + i as u64);
            if quoted {
                out.open_string(Span::new(out.base + i as u64, out.base + i as u64));
            }
            if let Some(payload) = Payload::resume(table, unit, rows) {
                self.at = FramedAt::Payload(Box::new(payload));
            }
            return (i, None);
        }
        let pos = out.base + i as u64;
        let flow = self.hidden(out, table, hit, quoted, pos);
        if done
            && !quotes
            && let Some(more) = &table.units[usize::from(self.unit)].more
        {
            // Further objects may follow.
            self.at = FramedAt::More(more.begin());
            return (i, None);
        }
        (i, flow)
    }

    /// Ends the hidden part before `pos`; `quoted` if a string is open there.
    pub(super) fn hidden(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        hit: Found,
        quoted: bool,
        pos: u64,
    ) -> Option<Flow> {
        let at = match hit {
            Found::Turn { at, .. } => at.min(pos).max(out.from()),
            Found::Opener { walk, .. } => walk.start().unwrap_or(pos),
            Found::Call
            | Found::Section
            | Found::Payload { .. }
            | Found::Item { .. }
            | Found::Object => pos,
        };
        if quoted {
            out.open_string(Span::new(at, pos));
        }
        out.skip(at);
        (self.last, self.broke) = (at, true);
        match hit {
            Found::Call | Found::Payload { .. } if self.section => {
                self.at = FramedAt::Gap(table.gap.begin());
                None
            }
            Found::Call | Found::Section | Found::Payload { .. } => {
                self.at = FramedAt::Gap(Walk::default());
                Some(Flow::Malformed { ended: true })
            }
            Found::Turn { ends: true, .. } => {
                let from = self.good.max(out.io.closed);
                Some(Flow::GivenBack { from, at })
            }
            Found::Turn { .. } => Some(Flow::Hidden { at }),
            // The payload continues.
            Found::Item { .. } => None,
            Found::Object => {
                out.repaired(Kind::RepairedOpener, Span::new(at, at + 1));
                self.at = FramedAt::Gap(Walk::default());
                self.begin(out, table, &Walk::default(), pos)
            }
            Found::Opener { action, walk, .. } => {
                let Action::Unit(unit) = action else {
                    return Some(Flow::Hidden { at });
                };
                if !self.section {
                    return Some(Flow::Hidden { at });
                }
                self.at = FramedAt::Gap(table.gap.begin());
                self.unit = unit;
                self.begin(out, table, &walk, pos)
            }
        }
    }

    /// Reports that nothing in the block can continue at `pos`.
    pub(super) fn broken(&mut self, out: &mut Out<'_>, pos: u64) -> Option<Flow> {
        let walk = self.pattern().and_then(Walk::start);
        self.stray = None;
        if let Some(word) = self.trailing_words(out) {
            self.good = word;
        }
        let start = walk.unwrap_or(pos).max(out.from());
        self.torn = Some(Torn {
            prefix: out.bytes(start, pos),
            between: matches!(self.at, FramedAt::Gap(_) | FramedAt::Tail(_)),
            ..Torn::default()
        });
        // The bytes already read may begin a marker that ends the hidden part.
        out.skip(start);
        out.issue(Kind::MalformedBody, Span::new(pos, pos + 1), "");
        if !begins_token(out, start, pos + 1) {
            // It may be a further parameter.
            if let Some(whole) = &mut self.whole {
                whole
                    .0
                    .recovered([Kind::MalformedBody].into_iter().collect());
            }
            let more = self.may_go_on(out, &out.bytes(start, pos + 1));
            if let (true, Some(args)) = (more, &mut self.args) {
                args.recovered(Kind::MalformedBody);
            }
        }
        self.drop_call(out, pos);
        Some(Flow::Malformed { ended: false })
    }

    /// Where words, after calls, begin in a tag that closes nothing.
    pub(super) fn trailing_words(&self, out: &Out<'_>) -> Option<u64> {
        let (FramedAt::Gap(walk) | FramedAt::Tail(walk)) = &self.at else {
            return None;
        };
        let word = walk
            .loose()
            .filter(|_| self.calls > 0 || self.has_closed())?;
        let bytes = out.bytes(word.start, word.end);
        (!bytes.trim_ascii().is_empty()).then_some(word.start)
    }

    pub(super) fn refuse(&mut self, out: &mut Out<'_>, kind: Kind, span: Span) -> Flow {
        out.skip(span.start);
        out.issue(kind, span, "");
        self.drop_call(out, span.start);
        // What was read ahead may have ended at the next opener.
        self.torn = Some(Torn {
            closers: true,
            ..Torn::default()
        });
        Flow::Malformed { ended: false }
    }

    pub(super) fn limit(&mut self, out: &mut Out<'_>, kind: Kind, pos: u64) -> Flow {
        self.drop_call(out, pos);
        Flow::Limit { kind, ended: false }
    }

    /// Retracts the open call, if any; it ends at `pos` at the latest.
    pub fn drop_call(&mut self, out: &mut Out<'_>, pos: u64) {
        self.settle(out);
        self.count(out, pos);
        self.args = None;
        out.call_abandon(Span::new(self.last.min(pos), pos));
    }
}

/// Whether the bytes from `start` to `end`, more than one, begin a framing token of the dialect.
fn begins_token(out: &Out<'_>, start: u64, end: u64) -> bool {
    let begun = out.bytes(start, end);
    let mut tokens = out.dialect().into_iter().flat_map(|one| &one.spec.framing);
    begun.len() > 1 && tokens.any(|token| token.as_bytes().starts_with(&begun))
}
