//! The closer that a longer pattern begins with: after a fence's closing backticks the word of another fence may begin,
//! and then be another word; after one marker of a closer its other marker may begin, and then be the section's.

use super::{Body, FramedAt};
use crate::body::{Flow, Out};
use crate::dialect::{Action, Framed, spec};
use toolglot_scan::path::{Paths, Walk};
use toolglot_scan::xml;

/// The longest pattern that was complete on the way of a walk that ends before `pos`, with its end.
pub(super) fn shortest(
    out: &Out<'_>,
    paths: &Paths<Action>,
    walk: &Walk,
    pos: u64,
    fix: &[u8],
) -> Option<(Action, Walk, u64)> {
    let start = walk.start()?;
    let mut again = paths.begin();
    let mut complete = None;
    for at in start..pos {
        paths.step(&mut again, out.byte(at)?, at, fix);
        if let Some(action) = paths.complete(&again, at + 1, fix) {
            complete = Some((action, again, at + 1));
        }
    }
    complete
}

/// Whether a part of a closer, which a walk has read up to `end`, counts. A special token does; what people type must stand
/// before a marker: what a value quotes goes on as text.
pub(super) fn parts(out: &Out<'_>, action: Action, walk: &Walk, end: u64, pos: u64) -> bool {
    let mut behind = (end..=pos).filter_map(|at| out.byte(at));
    action != Action::Half
        || spec::special(&out.slice(walk.start().unwrap_or(end), end))
        || behind.find(|byte| !xml::is_space(*byte)) == Some(b'<')
}

impl Body {
    /// No pattern that may stand here goes on with the byte at `pos`. If one was complete before it, that one counts, and
    /// what was looked at after it is read again.
    pub(super) fn shorter(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        pos: u64,
    ) -> Option<Option<Flow>> {
        let unit = &table.units[usize::from(self.unit)];
        let (paths, walk) = match &self.at {
            FramedAt::Tail(walk) => (&unit.tail, walk),
            FramedAt::Inner(walk) => (&unit.inner, walk),
            _ => return None,
        };
        let (action, walk, end) = shortest(out, paths, walk, pos, &self.fix)?;
        let flow = self.found(out, table, action, &walk, end);
        Some(flow.or_else(|| self.walk_again(out, table, end, pos)))
    }

    /// Reads once more what was looked at after a pattern.
    pub(super) fn walk_again(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        mut at: u64,
        to: u64,
    ) -> Option<Flow> {
        while at < to {
            let byte = out.byte(at)?;
            let (taken, flow) = self.walk(out, table, byte, at);
            if flow.is_some() {
                return flow;
            }
            at += u64::from(taken);
        }
        None
    }

    /// One marker of several that close the call, right before `end`, where the stream ended.
    pub(super) fn half(&self, out: &Out<'_>, table: &Framed, end: u64) -> Option<(u64, u64)> {
        let (FramedAt::Confirm { walk, .. } | FramedAt::Inner(walk)) = &self.at else {
            return None;
        };
        let paths = &table.units[usize::from(self.unit)].inner;
        let (action, walk, to) = shortest(out, paths, walk, end, &self.fix)?;
        let mut behind = (to..end).filter_map(|at| out.byte(at));
        let ends = action == Action::Half && behind.all(xml::is_space);
        ends.then(|| (walk.start().unwrap_or(to), to))
    }
}
