//! Acts on what a walk through the patterns has found.

use super::{Body, FramedAt, opener};
use crate::body::payload::Payload;
use crate::body::{Flow, Out};
use crate::dialect::{Action, Framed};
use crate::event::Span;
use crate::kind::{Kind, Severity};
use toolglot_scan::json;
use toolglot_scan::path::{Hole, Walk};
use toolglot_scan::xml;

impl Body {
    /// Whether nothing but white space has followed the section's opener.
    fn is_empty_section(&self) -> bool {
        let none = !(self.calls > 0 || self.has_closed() || self.broke) && self.loose.is_none();
        matches!(self.at, FramedAt::Gap(_)) && self.section && none
    }

    /// Acts on a pattern that is complete before `end`.
    pub(super) fn found(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        action: Action,
        walk: &Walk,
        end: u64,
    ) -> Option<Flow> {
        let start = walk.start().unwrap_or(end);
        let section_ends = matches!(action, Action::End | Action::WrongEnd);
        if self.has_closed()
            && let Some(flow) = self.settle_after(out)
        {
            return Some(flow.at_end(section_ends || !self.section));
        }
        // The block's opener has been reported.
        let first = matches!(self.at, FramedAt::Enter(_));
        let span = Span::new(start, end);
        if let Action::Section | Action::Unit(_) | Action::Whole = action
            && (walk.loose().is_some() || !first && misspells(out, table, span))
        {
            out.repaired(Kind::RepairedMarker, span);
        }
        if walk.twice() {
            self.twice(out, action, span);
        }
        // Behind a name they belong to the call.
        if let (Action::Section | Action::Unit(_), Some(loose)) = (action, walk.loose())
            && opener::behind(out, walk, walk.span(Hole::Name)).is_none()
        {
            self.announced(out, loose);
        }
        if action == Action::Repeat && self.after.is_some() {
            self.closes_again(out, table, span);
            return None;
        }
        if matches!(
            action,
            Action::Close | Action::WrongClose | Action::Half | Action::End | Action::WrongEnd
        ) {
            self.close_empty(out, start);
        }
        if let Some(flow) = self.settle(out) {
            return Some(flow.at_end(section_ends || !self.section));
        }
        match action {
            Action::Section => {
                self.section = true;
                self.fix_from(out, walk);
                if let Some(key) = table.spec.section.as_ref().and_then(|s| s.argument.clone()) {
                    let tag = walk.span(Hole::Tag);
                    let pairs = xml::loose_attributes(out.slice(tag.start, tag.end).as_bytes());
                    self.shared = Some((key, json::object(&pairs)));
                }
                out.skip(end);
                self.at = FramedAt::Gap(table.gap.begin());
                None
            }
            Action::End | Action::WrongEnd => {
                if self.loose.is_some() && self.has_none(out, end) {
                    // It has text and no call.
                    return Some(Flow::Mention { at: end });
                }
                if action == Action::WrongEnd || walk.loose().is_some() {
                    self.misspelt(out, Span::new(start, end));
                }
                self.section_ends(out, table, start, end)
            }
            Action::Close | Action::WrongClose | Action::Half => {
                if action != Action::Close || walk.loose().is_some() {
                    self.misspelt(out, Span::new(start, end));
                }
                self.call_closes(out, table, end)
            }
            Action::Separator => {
                if !self.looks_ahead(table) {
                    out.skip(end);
                }
                self.at = FramedAt::Gap(table.gap.begin());
                None
            }
            Action::Repeat => {
                // Behind text it closes a call whose opener was lost.
                let (kind, from) = match self.loose {
                    Some((at, _)) => (Kind::MalformedBody, at),
                    None => (Kind::RepeatedMarker, start),
                };
                out.issue(kind, Span::new(from, end), "");
                out.skip(end);
                self.last = end;
                if !self.has_none(out, end) {
                    (self.loose, self.good) = (None, end);
                }
                self.at = match self.at {
                    FramedAt::More(walk) => FramedAt::More(walk.restart()),
                    _ => FramedAt::Gap(table.gap.begin()),
                };
                None
            }
            Action::Stray => {
                // Only blanks separate it from what came before. A closer that is named after its parameter may be another
                // parameter's.
                let twice = self.shut && walk.span(Hole::Key).is_empty();
                let kind = match (twice, self.doubled) {
                    // Two openers and two closers may be a value that quotes its parameter.
                    (true, true) => Kind::BareMarkup,
                    (true, false) => Kind::RepeatedMarker,
                    (false, _) => Kind::OrphanClose,
                };
                if let Some(args) = &mut self.args {
                    args.report(out, kind, span, "");
                }
                out.skip(end);
                self.inner(table);
                None
            }
            Action::Further => {
                out.repaired(Kind::RepairedOpener, span);
                self.begin(out, table, walk, end)
            }
            Action::Param => self.param(out, table, walk, end),
            Action::Whole => {
                out.skip(end);
                let mut args = self.args.as_mut().filter(|args| args.count() == 0);
                // No marker announces it, or only a code fence.
                let bare = span.is_empty() || out.byte(start) == Some(b'`');
                if let Some(args) = args.as_mut().filter(|_| bare) {
                    args.report(
                        out,
                        Kind::RepairedArguments,
                        Span::new(start, start + 1),
                        "",
                    );
                }
                let Some(payload) = args.map(|args| Payload::of(out, args)) else {
                    let span = Span::new(start, end.max(start + 1));
                    return Some(self.refuse(out, Kind::MalformedBody, span));
                };
                self.args = None;
                self.at = FramedAt::Payload(Box::new(payload));
                None
            }
            // The section's opener is repeated before its first call.
            Action::Reopen if self.is_empty_section() && walk.span(Hole::Tag).is_empty() => {
                out.repaired(Kind::RepeatedMarker, span);
                out.skip(end);
                self.at = FramedAt::Gap(table.gap.begin());
                None
            }
            // It has text and no call.
            Action::Reopen if self.loose.is_some() && self.has_none(out, start) => {
                out.hold(start);
                Some(Flow::Mention { at: start })
            }
            Action::Reopen | Action::Unit(_) if self.again(out, table, action, walk, end) => None,
            Action::Reopen | Action::Turn | Action::Header => {
                let ended = !self.lacks_params();
                // After a payload, and where the end of the stream would end the call, only a closer was forgotten.
                let severity = match self.at {
                    FramedAt::Tail(_) => Severity::Warning,
                    FramedAt::Gap(_) if action == Action::Turn => Severity::Warning,
                    _ if ended => Severity::Warning,
                    _ => Severity::Error,
                };
                if let Some(flow) = self.end_before_next(out, start) {
                    return Some(flow);
                }
                out.hold(start);
                Some(Flow::Broken {
                    at: start,
                    severity,
                })
            }
            Action::Unit(unit) => {
                let ended = !self.lacks_params();
                let severity = match self.at {
                    FramedAt::Tail(_) => Some(Severity::Warning),
                    FramedAt::Inner(_) | FramedAt::Confirm { .. } if ended => {
                        Some(Severity::Warning)
                    }
                    FramedAt::Inner(_) | FramedAt::Confirm { .. } => Some(Severity::Error),
                    _ => None,
                };
                if let Some(severity) = severity {
                    let span = Span::new(self.last.min(start), start);
                    out.report(Kind::UnclosedBlock, severity, span, "", "", "");
                    if let Some(flow) = self.end_before_next(out, start) {
                        return Some(flow);
                    }
                }
                if let FramedAt::Enter(_) = self.at {
                    self.fix_from(out, walk);
                }
                self.unit = if let FramedAt::More(_) = self.at {
                    self.unit
                } else {
                    unit
                };
                if let Some((at, true)) = self.loose.take() {
                    // Text directly before an opener may belong behind it.
                    out.repaired(Kind::MalformedBody, Span::new(at, start));
                }
                self.begin(out, table, walk, end)
            }
        }
    }

    /// Reports a token that appears twice in a marker.
    fn twice(&mut self, out: &mut Out<'_>, action: Action, span: Span) {
        match (action, &mut self.args) {
            (Action::Unit(_) | Action::Section, _) => out.repaired(Kind::RepeatedMarker, span),
            (_, Some(args)) => args.report(out, Kind::RepeatedMarker, span, ""),
            (_, None) => out.issue(Kind::RepeatedMarker, span, ""),
        }
    }

    /// Reports a closer that is misspelt or holds what it should not. What it closes is repaired.
    pub(super) fn misspelt(&mut self, out: &mut Out<'_>, span: Span) {
        out.skip(span.start);
        out.issue(Kind::RepairedCloseTag, span, "");
        if let Some(args) = &mut self.args {
            args.recovered(Kind::RepairedCloseTag);
        }
    }

    fn fix_from(&mut self, out: &Out<'_>, walk: &Walk) {
        for hole in [Hole::Fix, Hole::Ticks] {
            let span = walk.span(hole);
            if !span.is_empty() {
                self.fix = out.bytes(span.start, span.end);
            }
        }
    }
}

/// Whether an opener begins like a misspelt one.
pub(super) fn misspells(out: &Out<'_>, table: &Framed, opener: Span) -> bool {
    let misspelt = &table.spec.misspelt;
    !misspelt.is_empty() && {
        let text = out.slice(opener.start, opener.end).replace('\r', "");
        misspelt.iter().any(|marker| text.starts_with(marker))
    }
}
