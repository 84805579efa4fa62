//! The end of a stream.

use toolglot_scan::tag;

use super::machine::{Chunk, Machine};
use super::opening::Opening;
use super::plain::skips_code;
use super::{Mode, Region};
use crate::body::Finished;
use crate::dialect::{Family, Role};
use crate::event::{Event, Span};
use crate::issue::Issue;
use crate::kind::{Kind, Severity};
use crate::limits::Unclosed;

/// Why a stream ended.
///
/// ```
/// use toolglot::Finish;
///
/// let reason: Finish = "tool_calls".parse()?;
/// assert_eq!((reason, reason.name()), (Finish::ToolCalls, "tool_calls"));
/// # Ok::<(), toolglot::UnknownWord>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Finish {
    /// The model stopped by itself.
    #[default]
    Stop,
    /// A length limit truncated the output.
    Length,
    /// The model stopped to have tools called.
    ToolCalls,
    /// The connection or the server failed.
    Error,
    /// The host cancelled the output.
    Cancelled,
}

impl Finish {
    /// All reasons.
    pub const ALL: &'static [Self] = &[
        Self::Stop,
        Self::Length,
        Self::ToolCalls,
        Self::Error,
        Self::Cancelled,
    ];

    /// The reason's name, as in `finish_reason`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolCalls => "tool_calls",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
        }
    }

    /// The reason with that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|reason| reason.name() == name)
    }

    /// Whether the model ended the stream itself, so that nothing at its end is truncated.
    #[must_use]
    pub const fn stopped(self) -> bool {
        match self {
            Self::Stop | Self::ToolCalls => true,
            Self::Length | Self::Error | Self::Cancelled => false,
        }
    }

    /// How an issue words the reason.
    const fn why(self) -> &'static str {
        match self {
            Self::Stop | Self::ToolCalls => "",
            Self::Length => "the output was truncated by its length limit",
            Self::Error => "the output broke off",
            Self::Cancelled => "the output was cancelled",
        }
    }
}

/// The longest role in a header.
const MAX_ROLE: usize = 16;

/// Whether a marker that has begun contains a complete special token.
fn shows_special(begun: &[u8]) -> bool {
    begun.windows(2).any(|pair| pair == b"|>")
}

impl Machine<'_> {
    /// Releases what is held back and reports what is open.
    pub fn finish(&mut self, reason: Finish) {
        self.stand_in();
        while !self.flows() {
            self.end_mode(reason);
            self.stand_in();
        }
        let chunk = self.nothing();
        self.meet_end(chunk);
        if self.set.plan.chosen && self.st.region == Region::Text && self.st.from() < self.st.pos()
        {
            // A truncated marker is text, unless a special token in it is complete.
            let held = self.bytes(chunk, self.st.from(), self.st.pos());
            if shows_special(&held) && self.may_frame() {
                self.flow_end(chunk);
                self.framing(chunk, self.st.pos());
            }
        }
        self.deliver(chunk, self.st.pos());
        self.flow_end(chunk);
        match self.st.region {
            Region::Text => {}
            // Such a thought has no closer.
            Region::Reasoning { id, .. }
                if !self.set.plan.reasoning[usize::from(id)].headers.is_empty() => {}
            Region::Reasoning { start, .. } => {
                let span = Span::new(start, self.st.pos());
                self.plain_issue(
                    chunk,
                    Kind::UnclosedReasoning,
                    Severity::Error,
                    span,
                    reason.why(),
                );
            }
            Region::Span { id, start } => {
                let dialect = self.set.plan.spans[usize::from(id)].dialect;
                self.dialect_issue(
                    chunk,
                    dialect,
                    Kind::UnclosedSpan,
                    Span::new(start, self.st.pos()),
                );
                self.region_is_text(chunk, self.st.pos());
            }
        }
        self.st.code.settle();
        let fence = skips_code(self.opts, self.set) && self.st.code.in_fence();
        if fence && self.st.region == Region::Text {
            self.plain_issue(
                chunk,
                Kind::UnclosedFence,
                Severity::Warning,
                Span::new(self.st.pos(), self.st.pos()),
                "",
            );
        }
        self.natives_last();
        let most = self.opts.limits.max_issues;
        if self.st.io.issues > most {
            // Reported beyond the limit, or nobody would know of it.
            self.sink.event(Event::Issue(Issue {
                kind: Kind::LimitIssues,
                severity: Severity::Warning,
                span: Span::new(0, self.st.pos()),
                dialect: None,
                call: None,
                tool: "",
                subject: &format!("{} more", self.st.io.issues - most),
                suggestion: "",
            }));
        }
    }

    /// Whether a token may be framing here: outside code.
    fn may_frame(&mut self) -> bool {
        self.st.code.settle();
        !self.st.code.hides()
    }

    /// Whether a thought is open that a call would end: a truncated marker is then part of the thought.
    pub(super) fn thinks(&self) -> bool {
        match self.st.region {
            Region::Reasoning { id, .. } => {
                self.set.plan.reasoning[usize::from(id)].headers.is_empty()
                    && !self.opts.calls_in_reasoning
            }
            Region::Text | Region::Span { .. } => false,
        }
    }

    /// An empty chunk, for the end.
    pub fn nothing<'c>(&self) -> Chunk<'c> {
        self.st.io.cursor.chunk(&[])
    }

    /// Whether the truncated bytes are the beginning of a header right after a message, a thought or a token of its dialect,
    /// with no more than a role in it.
    fn header_begins(&self, chunk: Chunk<'_>, opening: &Opening, end: u64) -> bool {
        if self.st.region != Region::Text {
            return false;
        }
        let begun = self.bytes(chunk, opening.start, end);
        let role = |rest: &[u8]| rest.len() <= MAX_ROLE && rest.iter().all(u8::is_ascii_lowercase);
        // Dialects share beginnings of headers, but not what ends their messages.
        self.set.plan.headers.iter().any(|header| {
            let starts = header.start.iter();
            let rest = starts.filter_map(|start| begun.strip_prefix(start.as_bytes()));
            let rest = rest.min_by_key(|rest| rest.len());
            rest.is_some_and(role) && self.follows(header.dialect, opening.start)
        })
    }

    /// Whether the truncated bytes are the beginning of a token of the chosen dialect and contain a complete special token.
    fn token_begins(&self, chunk: Chunk<'_>, opening: &Opening, end: u64) -> bool {
        if !self.set.plan.chosen || self.st.region != Region::Text || !self.looks_at_token() {
            return false;
        }
        let begun = self.bytes(chunk, opening.start, end);
        let plain = tag::without_blanks(begun.trim_ascii_end());
        let roles = self
            .set
            .text
            .dfa
            .patterns()
            .iter()
            .zip(&self.set.plan.roles);
        let mut tokens = roles.filter(|(_, role)| matches!(role, Role::Token { .. }));
        shows_special(&plain) && tokens.any(|(token, _)| token.bytes.starts_with(&plain))
    }

    /// Whether the truncated bytes are a whole opener of calls right after a call of its dialect: the model stopped where its next
    /// call begins, or wrote it in place of the closer.
    fn opener_dangles(&self, chunk: Chunk<'_>, opening: &Opening, end: u64) -> bool {
        let blank = |from: u64| {
            self.bytes(chunk, from, end)
                .iter()
                .all(u8::is_ascii_whitespace)
        };
        let follows = |dialect| {
            matches!(self.dialect(dialect).family, Family::Framed(_))
                && self.follows_block(dialect, opening.start)
        };
        self.st.region == Region::Text
            && opening.whole().is_some_and(blank)
            && self.st.candidates.iter().any(|one| follows(one.dialect))
    }

    /// Whether the truncated bytes are the beginning of a header or a token, or an opener that opens nothing.
    fn begins_framing(&self, chunk: Chunk<'_>, opening: &Opening, end: u64) -> bool {
        self.header_begins(chunk, opening, end)
            || self.token_begins(chunk, opening, end)
            || self.opener_dangles(chunk, opening, end)
    }

    /// Makes text of the undecided marker. Another one that began in the bytes read is examined next.
    fn text_at_end(&mut self, chunk: Chunk<'_>, opening: &Opening) {
        match self.read_again(chunk, opening, self.st.pos()) {
            Some(again) => self.again(again),
            None => self.release(chunk, self.st.pos()),
        }
    }

    /// Ends the open message that is a thought before the beginning of a header, unless it quotes or mentions that.
    fn header_at_end(&mut self, chunk: Chunk<'_>, reason: Finish, opening: &Opening) {
        let Region::Reasoning { id, .. } = self.st.region else {
            return;
        };
        let lacks = reason != Finish::Length && self.lacks_call(opening.start);
        if self.heads() && !lacks && self.quotes(opening.start).is_none() {
            self.flow_end(chunk);
            self.st.reasoned = true;
            self.enter(Region::Text, opening.start);
            self.near_thought(id, opening.start);
        }
    }

    /// Ends an undecided marker.
    fn end_opening(&mut self, reason: Finish, opening: &Opening) {
        let chunk = self.nothing();
        let end = self.st.pos();
        self.settle_twin(chunk, opening.start);
        self.header_at_end(chunk, reason, opening);
        if let Some(complete) = self.complete_unless() {
            // What would make it a mention does not follow.
            self.st.candidates.clear();
            if let Some(again) = self.accept(chunk, *opening, complete, end, false) {
                self.again(again);
            }
            return;
        }
        let head = self.complete_head(chunk, end);
        if head.is_none() && self.begins_framing(chunk, opening, end) {
            self.st.candidates.clear();
            self.settle_token(chunk, opening.start, true);
            self.deliver(chunk, opening.start);
            self.flow_end(chunk);
            self.framing(chunk, end);
            self.flow_again(end);
        } else if let Some(complete) = head.or_else(|| self.complete_token(end)) {
            self.st.candidates.clear();
            self.accept(chunk, *opening, complete, end, false);
        } else if self.st.candidates.is_empty() {
            // A longer marker than the one that opens nothing is truncated.
            self.st.mode = Mode::Opening(*opening);
            if let Some(again) = self.give_up(chunk, end) {
                self.again(again);
            }
        } else if self.unborn() || self.thinks() {
            self.st.candidates.clear();
            self.text_at_end(chunk, opening);
        } else if let Some(again) = self.second_at_end(chunk, reason, opening) {
            self.st.candidates.clear();
            self.again(again);
        } else if reason != Finish::Length {
            // What had to follow never came. Only a length limit truncates what was about to come.
            self.st.candidates.clear();
            if !opening.bare {
                self.was_text(opening.first, opening.start);
            }
            let span = Span::new(opening.start, end);
            self.dialect_issue(chunk, opening.first, Kind::LookalikeMarker, span);
            self.text_at_end(chunk, opening);
        } else {
            self.end_truncated(chunk, reason, opening);
        }
    }

    /// Whether a truncated header shows more than a role: another part of it, or the beginning of one.
    fn header_goes_on(&self, chunk: Chunk<'_>, opening: &Opening) -> bool {
        let begun = self.bytes(chunk, opening.start, self.st.pos());
        let channels = self.dialect(opening.first).channels.as_ref();
        channels.is_some_and(|channels| {
            let parts = [&channels.spec.recipient, &channels.spec.channel];
            let starts = channels.spec.start.iter();
            let rest = starts.filter_map(|start| begun.strip_prefix(start.as_bytes()));
            let rest = rest.min_by_key(|rest| rest.len()).unwrap_or_default();
            let word = rest.iter().take_while(|b| b.is_ascii_lowercase()).count();
            let rest = &rest[word..];
            let shows = |part: &&&String| {
                let part = part.as_bytes();
                !rest.is_empty()
                    && !part.is_empty()
                    && (rest.starts_with(part) || rest.len() > 1 && part.starts_with(rest))
            };
            parts.iter().any(|part| shows(&part))
        })
    }

    /// Decides the opener that is undecided where the model stopped as a token, if it is one, too. Returns the bytes after
    /// it, which are read again.
    fn second_at_end(
        &mut self,
        chunk: Chunk<'_>,
        reason: Finish,
        opening: &Opening,
    ) -> Option<Vec<u8>> {
        match reason {
            Finish::Length => None,
            _ if self.header_goes_on(chunk, opening) => None,
            Finish::Stop | Finish::ToolCalls | Finish::Error | Finish::Cancelled => {
                self.second_token(chunk, opening, self.st.pos(), self.st.pos())
            }
        }
    }

    /// Ends a marker that a length limit truncated, in it or in what had to follow.
    fn end_truncated(&mut self, chunk: Chunk<'_>, reason: Finish, opening: &Opening) {
        let end = self.st.pos();
        let compiled = self.dialect(self.under_way().unwrap_or(opening.first));
        self.st.candidates.clear();
        let span = Span::new(opening.start, end);
        let severity = Kind::UnclosedBlock.severity();
        self.out(chunk).report_for(
            Some(compiled),
            Kind::UnclosedBlock,
            severity,
            span,
            "",
            reason.why(),
            "",
        );
        if self.unclosed(compiled) == Unclosed::Text {
            return;
        }
        self.settle_token(chunk, span.start, false);
        self.flow_end(chunk);
        let raw = self.bytes(chunk, opening.start, end);
        let mut out = self.out(chunk);
        out.event(Event::BlockOpen {
            dialect: compiled.id(),
            span,
        });
        out.event(Event::BlockAbandoned {
            span,
            becomes: crate::event::Abandoned::Drop,
            raw: &raw,
        });
        self.flow_again(end);
    }

    /// Ends any mode other than plain flow.
    fn end_mode(&mut self, reason: Finish) {
        let chunk = self.nothing();
        let end = self.st.pos();
        let mut mode = std::mem::replace(&mut self.st.mode, Mode::Flow);
        let closed = self.st.io.closed;
        match &mut mode {
            Mode::Flow => {}
            Mode::Guess(guess) => {
                let guess = *guess;
                self.guess_ends(chunk, guess, end);
            }
            Mode::Link(linked) => {
                let linked = *linked;
                self.link_ends(chunk, linked, reason, end);
            }
            Mode::Skip(skip) => {
                self.dialect_issue(
                    chunk,
                    skip.dialect,
                    Kind::UnclosedBlock,
                    Span::new(end, end),
                );
                if skip.hidden {
                    self.give_back(chunk, closed, end);
                }
                self.flow_again(end);
            }
            Mode::Opening(opening) => {
                let opening = *opening;
                self.end_opening(reason, &opening);
            }
            Mode::Body(body) => {
                let Some(block) = &self.st.io.block else {
                    return;
                };
                let (start, compiled) = (block.start, self.dialect(block.dialect));
                let stopped = reason.stopped();
                let family = &compiled.family;
                let mentioned = stopped && block.quoted.is_some() && body.takes_any();
                let mut finished = body.finish(&mut self.out(chunk), family, end, stopped);
                if mentioned && finished == Finished::Open && !body.is_final() {
                    // It is a mention: nothing that followed shows a call.
                    finished = Finished::Broken(start);
                }
                if let Some(block) = &mut self.st.io.block {
                    block.kept |= body.is_final() && self.st.io.valid > block.before.0;
                }
                match finished {
                    Finished::Forgotten(closed) => {
                        let span = Span::new(start, closed);
                        let why = reason.why();
                        self.out(chunk).report(
                            Kind::UnclosedBlock,
                            Severity::Warning,
                            span,
                            "",
                            why,
                            "",
                        );
                        self.close(chunk, closed);
                        let again = self.rewind(chunk, closed, end);
                        self.again(again);
                    }
                    Finished::Closed(closed) | Finished::Hidden(closed) => {
                        if matches!(finished, Finished::Hidden(_)) {
                            self.drop_block(chunk, closed, false);
                            self.flow_again(closed);
                        } else {
                            self.close(chunk, closed);
                        }
                        let again = self.rewind(chunk, closed, end);
                        self.again(again);
                    }
                    Finished::Broken(from) => {
                        let span = Span::new(end, end);
                        self.out(chunk)
                            .issue(Kind::UnclosedBlock, span, reason.why());
                        self.give_back(chunk, from, end);
                    }
                    Finished::Open => {
                        self.out(chunk).issue(
                            Kind::UnclosedBlock,
                            Span::new(start, end),
                            reason.why(),
                        );
                        let wanted = self.unclosed(compiled) == Unclosed::Salvage;
                        if wanted && body.salvage(&mut self.out(chunk), &compiled.family, end) {
                            self.close(chunk, end);
                        } else {
                            self.abandon(chunk, end);
                        }
                    }
                }
            }
        }
    }
}
