//! What a stream does not deliver: the bytes of blocks and calls that were dropped. Calls that are withheld are the business
//! of the sink that withholds them.
//!
//! Dropped are a block that was abandoned and did not become text, the raw bytes that go on from it, a call that was
//! abandoned in a block that stands, a block that closes with an error and without a call, and a call that gave way to native
//! ones. Where native calls are preferred the calls of a block come after it, if they come: then what was lost beside them
//! is dropped in the block's place.
//!
//! A native call that is refused has no bytes: what is dropped is an empty span where it would have come out.

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
    /// Blocks among them whose calls may still come, and what else was lost in them.
    empty: Vec<(Span, Option<Vec<Span>>)>,
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
    /// Calls that were abandoned.
    lost: Vec<Span>,
}

impl Ledger {
    /// What was dropped so far, in order.
    pub fn dropped(&self) -> Vec<Dropped> {
        let mut all = self.dropped.clone();
        all.extend_from_slice(&self.natives);
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
            Event::BlockOpen { .. } => self.block = Some(Block::default()),
            Event::CallClose { span, .. } => match &mut self.block {
                Some(block) => block.calls += 1,
                None => self.late(span),
            },
            Event::CallAbandoned { span, .. } => {
                if let Some(block) = &mut self.block {
                    block.lost.push(span);
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
        let mut block = self.block.take().unwrap_or_default();
        // What stands after the block's end came back as text.
        block.lost.retain_mut(|lost| {
            lost.end = lost.end.min(span.end);
            lost.start < lost.end
        });
        if block.calls > 0 {
            for lost in block.lost {
                self.drop(lost, block.kinds);
            }
        } else if !block.kinds.is_empty() || !block.lost.is_empty() {
            self.drop(span, block.kinds);
            self.empty.push((span, Some(block.lost)));
        }
    }

    /// A call closes outside blocks: if its block seemed to have none, only what else was lost in it is dropped.
    fn late(&mut self, span: Span) {
        let Some(at) = self.within(span) else {
            return;
        };
        let Dropped { span, kinds } = self.dropped[at].clone();
        let block = |(block, _): &(Span, _)| block.start;
        let Ok(index) = self.empty.binary_search_by_key(&span.start, block) else {
            return;
        };
        let (block, lost) = &mut self.empty[index];
        let Some(mut lost) = lost.take() else {
            return;
        };
        // Raw bytes went on from the block.
        match lost.last_mut() {
            Some(last) if last.end == block.end => last.end = span.end,
            Some(_) | None if block.end < span.end => lost.push(Span::new(block.end, span.end)),
            Some(_) | None => {}
        }
        let lost = lost.into_iter().map(|span| Dropped { span, kinds });
        self.dropped.splice(at..=at, lost);
    }

    /// What was dropped that holds a range of the stream.
    fn within(&self, span: Span) -> Option<usize> {
        let next = self.dropped.partition_point(|d| d.span.start <= span.start);
        let at = next.checked_sub(1)?;
        (!span.is_empty() && span.end <= self.dropped[at].span.end).then_some(at)
    }

    /// A call gave way, long after its block.
    fn replaced(&mut self, span: Span) {
        let mut kinds = KindSet::default();
        kinds.insert(Kind::ReplacedCall);
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
        if told.severity != Severity::Error {
            return;
        }
        // A native call is given between two bytes, and no dialect speaks of it.
        if span.is_empty() && !told.dialect && refuses_native(kind) {
            let mut kinds = KindSet::default();
            kinds.insert(kind);
            self.natives.push(Dropped { span, kinds });
        } else if let Some(block) = &mut self.block {
            block.kinds.insert(kind);
            if matches!(kind, Kind::UnknownTool | Kind::LimitNative) {
                // A call that is left out, or that cannot be held, never opens.
                block.lost.push(span);
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
