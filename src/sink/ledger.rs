//! Records what a stream does not deliver: the bytes of dropped blocks and calls. Withheld calls are recorded by the sink that
//! withholds them.
//!
//! The following is dropped: an abandoned block that did not become text; the raw bytes that continue it; an abandoned call in
//! a valid block; what is hidden after a break in such a block, up to its next call or its end; what follows the last call of a
//! block in which the stream ends; a step of a chain that is not a call or is not run; a block that closes with an error and
//! without a call; a call that was replaced by API tool calls; a result or an answer that the model wrote where none was due,
//! also as a protected region; and a protected region in which the stream ends. If API tool calls are preferred, the calls of a
//! block may come after it; then only what was lost between them is dropped, in place of the block.
//!
//! An API tool call that is rejected, or gives way to calls of the text, has no bytes: it is recorded as an empty span where it
//! would have been delivered.

use std::collections::VecDeque;

use crate::call::{Dropped, Report};
use crate::event::{Abandoned, Event, Span};
use crate::issue::Issue;
use crate::kind::{Kind, KindSet, Severity};

/// Takes events. Memory grows with the number of dropped ranges.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    block: Option<Block>,
    /// The last error outside blocks: it may concern what is dropped next.
    outside: Option<(Span, Kind)>,
    dropped: Vec<Dropped>,
    /// Where the last block with calls closed, and its errors: raw bytes may continue it.
    closed: (u64, KindSet),
    /// Dropped blocks whose calls may still come.
    empty: Vec<(Span, Block)>,
    /// API tool calls that are not delivered.
    natives: Vec<Dropped>,
    /// Where something begins that the model should not have written, and the issue that says so.
    invented: Option<(u64, Kind)>,
    /// The kind of the protected region that was dropped last, if it may go on.
    region: String,
}

/// The part of an issue that says what was dropped.
struct Reported {
    kind: Kind,
    severity: Severity,
    span: Span,
    /// A dialect reports it.
    dialect: bool,
}

impl From<&Issue<'_>> for Reported {
    fn from(issue: &Issue<'_>) -> Self {
        Self {
            kind: issue.kind,
            severity: issue.severity,
            span: issue.span,
            dialect: issue.dialect.is_some(),
        }
    }
}

impl From<&Report> for Reported {
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
    /// The kinds of the calls that closed.
    call_kinds: KindSet,
    /// The end of the last call that closed, or of the block's opener.
    until: u64,
    /// Breaks since then: what follows them is hidden, unless they belong to a call.
    breaks: VecDeque<(Span, Kind)>,
    /// Abandoned calls, and what was hidden.
    lost: Vec<Span>,
    /// The stream ends in the block: what follows the last call is lost.
    truncated: bool,
}

impl Block {
    /// A call closes: what was hidden ends before it.
    fn call(&mut self, span: Span, kinds: KindSet) {
        self.call_kinds.extend(kinds);
        // If calls come after their block, so do the breaks that follow this call.
        let later = self.breaks.partition_point(|(at, _)| at.start < span.end);
        self.hidden(later, span.start);
        self.calls += 1;
        self.until = self.until.max(span.end);
    }

    /// A call is retracted: what is hidden after its break is part of it.
    fn abandoned(&mut self, span: Span) {
        let breaks = self.breaks.iter_mut();
        match breaks.rev().find(|(at, _)| at.start >= span.start) {
            Some((at, _)) => at.start = span.start,
            None => self.lost.push(span),
        }
    }

    /// Adds what the first `breaks` breaks hide: everything from the last call up to `end`, because a break may be detected
    /// late, at the latest where the next call begins. A break inside valid calls belongs to them, or to a step of their chain.
    fn hidden(&mut self, breaks: usize, end: u64) {
        let late = Span::new(end, end + 1);
        let hides = |at: Span| self.until <= at.start && (at.start < end || at == late);
        let mut hidden = false;
        for (at, kind) in self.breaks.drain(..breaks) {
            hidden |= hides(at);
            if !hides(at) && !self.call_kinds.contains(kind) {
                self.lost.push(at);
            }
        }
        if hidden {
            self.lost.push(Span::new(self.until, end));
        }
    }

    /// Returns what was lost in the block, which ends at `end`. Anything after that came back as text.
    fn ends(mut self, end: u64) -> Vec<Span> {
        self.hidden(self.breaks.len(), end);
        if self.truncated {
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
        self.issue(&Reported::from(report));
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
            Event::Issue(ref issue) => self.issue(&Reported::from(issue)),
            Event::Text {
                recovered: true,
                span,
                ..
            } => self.comes_back(span),
            Event::Protected { kind, span, .. } => self.region(kind, span),
            Event::Text { .. }
            | Event::Reasoning { .. }
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
            self.closed = (span.end, kinds);
            for lost in block.ends(span.end) {
                self.drop(lost, kinds);
            }
        } else if !kinds.is_empty() || !block.lost.is_empty() {
            self.drop(span, kinds);
            self.empty.push((span, block));
        }
    }

    /// A call closes outside blocks: its block had been taken for one without calls.
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

    /// Returns what else was lost in a block that had been taken for one without calls, including the raw bytes that continue
    /// it.
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

    /// Finds the dropped range that contains a range of the stream.
    fn within(&self, span: Span) -> Option<usize> {
        let next = self.dropped.partition_point(|d| d.span.start <= span.start);
        let at = next.checked_sub(1)?;
        (!span.is_empty() && span.end <= self.dropped[at].span.end).then_some(at)
    }

    /// A call was replaced, long after its block.
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

    /// Raw bytes continue what was dropped before them.
    fn raw(&mut self, span: Span) {
        match self.dropped.last_mut() {
            Some(last) if last.span.end == span.start => last.span.end = span.end,
            Some(_) | None => {
                let (end, kinds) = self.closed;
                let continues = end == span.start;
                self.drop(span, if continues { kinds } else { KindSet::default() });
            }
        }
    }

    /// Bytes of a protected region of this kind, which are dropped if an issue says that the model should not have written it.
    fn region(&mut self, region: &str, span: Span) {
        let invented = self.invented.take_if(|(at, _)| *at == span.start);
        match (invented, self.dropped.last_mut()) {
            (Some((_, kind)), _) => {
                self.drop(span, [kind].into_iter().collect());
                region.clone_into(&mut self.region);
            }
            (None, Some(last)) if self.region == region && last.span.end == span.start => {
                last.span.end = span.end;
            }
            (None, _) => self.region.clear(),
        }
    }

    /// An unclosed region was not dropped if its bytes are text.
    fn comes_back(&mut self, text: Span) {
        let region = |last: &mut Dropped| {
            last.span == text && last.kinds == [Kind::UnclosedSpan].into_iter().collect()
        };
        self.dropped.pop_if(region);
    }

    /// Records an issue of the open block, of what was dropped last, or of a rejected API tool call.
    fn issue(&mut self, reported: &Reported) {
        let Reported { kind, span, .. } = *reported;
        if kind == Kind::ReplacedCall && span.is_empty() && !reported.dialect {
            let kinds = [kind].into_iter().collect();
            return self.natives.push(Dropped { span, kinds });
        }
        if kind == Kind::ReplacedCall {
            return self.replaced(span);
        }
        if kind == Kind::UnclosedSpan {
            match self.dropped.last_mut() {
                // Its first bytes were dropped before.
                Some(last) if !self.region.is_empty() && last.span.start == span.start => {
                    last.span = span;
                    last.kinds.insert(kind);
                }
                _ => {
                    let kinds = [kind].into_iter().collect();
                    self.dropped.push(Dropped { span, kinds });
                }
            }
            return;
        }
        if reported.severity != Severity::Error && !hides(kind) {
            return;
        }
        // An API tool call is given between two bytes, and no dialect reports on it.
        if span.is_empty() && !reported.dialect && refuses_native(kind) {
            let kinds = [kind].into_iter().collect();
            self.natives.push(Dropped { span, kinds });
        } else if let Some(block) = &mut self.block {
            block.kinds.insert(kind);
            if matches!(kind, Kind::UnknownTool | Kind::LimitNative) {
                // A call that is left out, or that cannot be held back, never opens.
                block.lost.push(span);
            } else if breaks(kind) || hides(kind) {
                block.breaks.push_back((span, kind));
            } else if kind == Kind::UnclosedBlock {
                // A block that broke earlier ends where its last call does.
                block.truncated |= !span.is_empty();
            }
        } else if let Some(last) = self.dropped.last_mut()
            && last.span.start <= span.start
            && span.end <= last.span.end
        {
            last.kinds.insert(kind);
        } else {
            self.outside = Some((span, kind));
            if hides(kind) {
                self.invented = Some((span.start, kind));
            }
        }
    }
}

/// Whether the kind breaks the grammar of a block, or makes a step of its chain fail.
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

/// Whether the text is hidden from there on, because the model wrote what the host should have written.
fn hides(kind: Kind) -> bool {
    matches!(kind, Kind::HallucinatedResult | Kind::FinalAnswerWithAction)
}

/// Whether an API tool call can be rejected with this kind.
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
