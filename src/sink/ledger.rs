//! What a stream does not deliver: the bytes of blocks and calls that were dropped. Calls that are withheld are the business
//! of the sink that withholds them.
//!
//! Dropped are a block that was abandoned and did not become text, the raw bytes that go on from it, a call that was
//! abandoned in a block that stands, what is hidden after a break in such a block up to its next call or its end, what follows the
//! last call of a block that the stream ends in, a step of a chain that is none or does not run, a block that closes with an error
//! and without a call, a call that gave way to native ones, a result or an answer that the model wrote where none was due, and a
//! protected region that the stream ends in. Where native calls are preferred the calls of a block come after it, if they come:
//! then what was lost beside them is dropped in the block's place.
//!
//! A native call that is refused has no bytes: what is dropped is an empty span where it would have come out.

use std::collections::VecDeque;

use crate::call::{Dropped, Report};
use crate::error::{Kind, KindSet, Severity};
use crate::event::{Abandoned, Event, Span};
use crate::issue::Issue;

/// Takes events. Memory grows with the number of things that were dropped.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    block: Option<Block>,
    /// The last error outside blocks: it may speak of what is dropped next.
    outside: Option<(Span, Kind)>,
    dropped: Vec<Dropped>,
    /// Blocks among them whose calls may still come.
    empty: Vec<(Span, Block)>,
    /// Native calls that were refused.
    natives: Vec<Dropped>,
}

/// An issue, as far as it says what was dropped.
struct Told {
    kind: Kind,
    severity: Severity,
    span: Span,
    /// A dialect speaks.
    dialect: bool,
}

impl From<&Issue<'_>> for Told {
    fn from(issue: &Issue<'_>) -> Self {
        Self {
            kind: issue.kind,
            severity: issue.severity,
            span: issue.span,
            dialect: issue.dialect.is_some(),
        }
    }
}

impl From<&Report> for Told {
    fn from(report: &Report) -> Self {
        Self {
            kind: report.kind,
            severity: report.severity,
            span: report.span,
            dialect: !report.dialect.is_empty(),
        }
    }
}

/// The open block.
#[derive(Clone, Debug, Default)]
struct Block {
    /// Errors in it.
    kinds: KindSet,
    /// Calls that closed.
    calls: usize,
    /// What the calls that closed have of issues.
    stood: KindSet,
    /// The end of the last call that closed, or of the block's opener.
    until: u64,
    /// Breaks since then: what follows them is hidden, unless they are a call's own.
    breaks: VecDeque<(Span, Kind)>,
    /// Calls that were abandoned, and what was hidden.
    lost: Vec<Span>,
    /// The end of the stream cuts it: what follows the last call is lost.
    cut: bool,
}

impl Block {
    /// A call closes: what was hidden ends before it.
    fn call(&mut self, span: Span, kinds: KindSet) {
        self.stood.extend(kinds);
        // Where calls come after their block, so do the breaks after this one.
        let later = self.breaks.partition_point(|(at, _)| at.start < span.end);
        self.hidden(later, span.start);
        self.calls += 1;
        self.until = self.until.max(span.end);
    }

    /// A call is none: what is hidden after its break is part of it.
    fn abandoned(&mut self, span: Span) {
        let breaks = self.breaks.iter_mut();
        match breaks.rev().find(|(at, _)| at.start >= span.start) {
            Some((at, _)) => at.start = span.start,
            None => self.lost.push(span),
        }
    }

    /// What the first so many breaks hide: all from the last call up to `end`. A break may be seen late, also at the byte where
    /// the next call begins. A break inside valid calls is theirs, or that of a step of their chain.
    fn hidden(&mut self, breaks: usize, end: u64) {
        let late = Span::new(end, end + 1);
        let hides = |at: Span| self.until <= at.start && (at.start < end || at == late);
        let mut hidden = false;
        for (at, kind) in self.breaks.drain(..breaks) {
            hidden |= hides(at);
            if !hides(at) && !self.stood.contains(kind) {
                self.lost.push(at);
            }
        }
        if hidden {
            self.lost.push(Span::new(self.until, end));
        }
    }

    /// The block ends: what was lost in it. What stands after the block's end came back as text.
    fn ends(mut self, end: u64) -> Vec<Span> {
        self.hidden(self.breaks.len(), end);
        if self.cut {
            self.lost.push(Span::new(self.until, end));
        }
        self.lost.retain_mut(|lost| {
            lost.end = lost.end.min(end);
            lost.start < lost.end
        });
        self.lost.sort_by_key(|lost| lost.start);
        self.lost.dedup_by(|next, last| {
            let meets = next.start < last.end;
            if meets {
                last.end = last.end.max(next.end);
            }
            meets
        });
        self.lost
    }
}

impl Ledger {
    /// What was dropped so far, in order.
    pub fn dropped(&self) -> Vec<Dropped> {
        let mut all = self.natives.clone();
        for dropped in &self.dropped {
            let start = |(block, _): &(Span, Block)| block.start;
            let index = self.empty.binary_search_by_key(&dropped.span.start, start);
            match index.ok().map(|index| &self.empty[index]) {
                Some((span, block)) if block.calls > 0 => {
                    all.extend(Self::beside(dropped, *span, block))
                }
                Some(_) | None => all.push(dropped.clone()),
            }
        }
        all.sort_by_key(|dropped| dropped.span.start);
        all
    }

    /// Takes an issue that was kept elsewhere.
    pub fn report(&mut self, report: &Report) {
        self.issue(&Told::from(report));
    }

    /// Takes an event.
    pub fn event(&mut self, event: &Event<'_>) {
        match *event {
            Event::BlockOpen { span, .. } => {
                self.block = Some(Block {
                    until: span.end,
                    ..Block::default()
                });
            }
            Event::CallClose { span, state, .. } => match &mut self.block {
                Some(block) => block.call(span, state.kinds()),
                None => self.late(span, state.kinds()),
            },
            Event::CallAbandoned { span, .. } => {
                if let Some(block) = &mut self.block {
                    block.abandoned(span);
                }
            }
            Event::BlockClose { span, .. } => self.close(span),
            Event::BlockAbandoned { span, becomes, .. } => {
                let block = self.block.take().unwrap_or_default();
                if becomes == Abandoned::Drop {
                    self.drop(span, block.kinds);
                }
            }
            Event::Raw { span, .. } => self.raw(span),
            Event::Issue(ref issue) => self.issue(&Told::from(issue)),
            Event::Text { .. }
            | Event::Reasoning { .. }
            | Event::Protected { .. }
            | Event::CallNamed { .. }
            | Event::CallOpen { .. }
            | Event::ArgDelta { .. }
            | Event::ParamOpen { .. }
            | Event::ParamDelta { .. }
            | Event::ParamClose { .. } => {}
        }
    }

    fn drop(&mut self, span: Span, mut kinds: KindSet) {
        if let Some((at, kind)) = self.outside.take()
            && span.start <= at.start
            && at.end <= span.end
        {
            kinds.insert(kind);
        }
        self.dropped.push(Dropped { span, kinds });
    }

    fn close(&mut self, span: Span) {
        let block = self.block.take().unwrap_or_default();
        let kinds = block.kinds;
        if block.calls > 0 {
            for lost in block.ends(span.end) {
                self.drop(lost, kinds);
            }
        } else if !kinds.is_empty() || !block.lost.is_empty() {
            self.drop(span, kinds);
            self.empty.push((span, block));
        }
    }

    /// A call closes outside blocks: its block seemed to have none.
    fn late(&mut self, call: Span, kinds: KindSet) {
        let Some(at) = self.within(call) else {
            return;
        };
        let start = |(block, _): &(Span, Block)| block.start;
        let block = self.dropped[at].span.start;
        if let Ok(index) = self.empty.binary_search_by_key(&block, start) {
            self.empty[index].1.call(call, kinds);
        }
    }

    /// What else was lost in a block that seemed to have no calls, and the raw bytes that go on from it.
    fn beside(dropped: &Dropped, span: Span, block: &Block) -> Vec<Dropped> {
        let Dropped { span: whole, kinds } = *dropped;
        let mut lost = block.clone().ends(span.end);
        match lost.last_mut() {
            Some(last) if last.end == span.end => last.end = whole.end,
            Some(_) | None if span.end < whole.end => lost.push(Span::new(span.end, whole.end)),
            Some(_) | None => {}
        }
        let lost = lost.into_iter();
        lost.map(|span| Dropped { span, kinds }).collect()
    }

    /// What was dropped that holds a range of the stream.
    fn within(&self, span: Span) -> Option<usize> {
        let next = self.dropped.partition_point(|d| d.span.start <= span.start);
        let at = next.checked_sub(1)?;
        (!span.is_empty() && span.end <= self.dropped[at].span.end).then_some(at)
    }

    /// A call gave way, long after its block.
    fn replaced(&mut self, span: Span) {
        let kinds: KindSet = [Kind::ReplacedCall].into_iter().collect();
        match self.within(span) {
            Some(at) => self.dropped[at].kinds.extend(kinds),
            None => {
                let at = self.dropped.partition_point(|d| d.span.start < span.start);
                self.dropped.insert(at, Dropped { span, kinds });
            }
        }
    }

    /// Raw bytes go on from what was dropped before them.
    fn raw(&mut self, span: Span) {
        match self.dropped.last_mut() {
            Some(last) if last.span.end == span.start => last.span.end = span.end,
            Some(_) | None => self.drop(span, KindSet::default()),
        }
    }

    /// An issue of the open block, of what was dropped last, or of a native call that is refused.
    fn issue(&mut self, told: &Told) {
        let Told { kind, span, .. } = *told;
        if kind == Kind::ReplacedCall {
            return self.replaced(span);
        }
        if kind == Kind::UnclosedSpan {
            let kinds = [kind].into_iter().collect();
            return self.dropped.push(Dropped { span, kinds });
        }
        if told.severity != Severity::Error && !hides(kind) {
            return;
        }
        // A native call is given between two bytes, and no dialect speaks of it.
        if span.is_empty() && !told.dialect && refuses_native(kind) {
            let kinds = [kind].into_iter().collect();
            self.natives.push(Dropped { span, kinds });
        } else if let Some(block) = &mut self.block {
            block.kinds.insert(kind);
            if matches!(kind, Kind::UnknownTool | Kind::LimitNative) {
                // A call that is left out, or that cannot be held, never opens.
                block.lost.push(span);
            } else if breaks(kind) || hides(kind) {
                block.breaks.push_back((span, kind));
            } else if kind == Kind::UnclosedBlock {
                // A block that broke before ends where its last call does.
                block.cut |= !span.is_empty();
            }
        } else if let Some(last) = self.dropped.last_mut()
            && last.span.start <= span.start
            && span.end <= last.span.end
        {
            last.kinds.insert(kind);
        } else {
            self.outside = Some((span, kind));
        }
    }
}

/// Whether the grammar of a block breaks so, or a step of its chain is not a call.
fn breaks(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::MalformedBody
            | Kind::MalformedHeader
            | Kind::MalformedJson
            | Kind::MalformedValue
            | Kind::MissingName
            | Kind::EmptyBlock
            | Kind::UnsupportedExpression
            | Kind::NotRun
    )
}

/// Whether what a model wrote itself in place of a host is hidden from there on.
fn hides(kind: Kind) -> bool {
    matches!(kind, Kind::HallucinatedResult | Kind::FinalAnswerWithAction)
}

/// Whether a native call can be refused so.
fn refuses_native(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::MissingName
            | Kind::MalformedBody
            | Kind::MalformedJson
            | Kind::UnclosedBlock
            | Kind::UnknownTool
            | Kind::LimitName
            | Kind::LimitCalls
            | Kind::LimitNative
    )
}

#[cfg(test)]
mod tests;
