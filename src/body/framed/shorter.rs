//! Closers that a longer pattern begins with. After a fence's closing backticks the word of another fence may begin and turn
//! out to be a different word. After one marker of a closer its second marker may begin and turn out to be the section's.

use super::{Body, FramedAt};
use crate::body::{Flow, Out};
use crate::dialect::{Action, Framed, spec};
use toolglot_scan::path::{Paths, Walk};
use toolglot_scan::{lossy, xml};

/// The longest pattern that was complete along a walk that ends before `pos`, with its end.
pub(super) fn last_complete(
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

/// Whether part of a closer, read by a walk up to `end`, counts. A special token does. A marker that people type counts only
/// before another marker: text that a value quotes is content.
pub(super) fn parts(out: &Out<'_>, action: Action, walk: &Walk, end: u64, pos: u64) -> bool {
    let mut after = (end..=pos).filter_map(|at| out.byte(at));
    action != Action::Half
        || spec::special(&out.slice(walk.start().unwrap_or(end), end))
        || after.find(|byte| !xml::is_space(*byte)) == Some(b'<')
}

/// A closer of the call, or of its section, that lacks its last byte: the text from where `walk` began up to `pos`, where a
/// line ends or a tag begins. Returns what it closes, and its end. `call` is the form of the call, and the suffix of markers.
pub(super) fn half_closer(
    out: &Out<'_>,
    table: &Framed,
    (unit, fix): (u16, &[u8]),
    walk: &Walk,
    pos: u64,
) -> Option<(Action, u64)> {
    let start = walk.start()?;
    let text = out.bytes(start, pos + 1);
    let fix = lossy(fix);
    let half = |close: &String| {
        let close = close.replace("$x", &fix);
        let half = close
            .strip_suffix('>')
            .filter(|half| half.starts_with("</"))?;
        let rest = text.strip_prefix(half.as_bytes())?;
        let blanks = rest.iter().take_while(|byte| xml::is_space(**byte)).count();
        let ends = rest[..blanks].contains(&b'\n') || rest.get(blanks) == Some(&b'<');
        ends.then_some(start + half.len() as u64)
    };
    let section = table.spec.section.iter().flat_map(|section| &section.close);
    let unit = &table.spec.unit[usize::from(unit)].close;
    let call = unit.iter().filter_map(half).max();
    let section = section.filter_map(half).max();
    match (call, section) {
        (Some(end), _) => Some((Action::WrongClose, end)),
        (None, Some(end)) => Some((Action::WrongEnd, end)),
        (None, None) => None,
    }
}

impl Body {
    /// No pattern that may appear here continues with the byte at `pos`. If one was complete earlier, it counts, and the
    /// bytes after it are read again.
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
        let whole = last_complete(out, paths, walk, pos, &self.fix);
        // In place of arguments, a marker that people type may begin them.
        let empty = self.awaits_closer();
        let whole =
            whole.filter(|(action, walk, end)| !empty || parts(out, *action, walk, *end, pos));
        let half = || {
            let (action, end) = half_closer(out, table, (self.unit, &self.fix), walk, pos)?;
            Some((action, *walk, end))
        };
        let (action, walk, end) = whole.or_else(half)?;
        let flow = self.found(out, table, action, &walk, end);
        Some(flow.or_else(|| self.walk_again(out, table, end, pos)))
    }

    /// Reads the bytes after a pattern again.
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

    /// One of several markers that close the call, right before `end`, where the stream ended.
    pub(super) fn half(&self, out: &Out<'_>, table: &Framed, end: u64) -> Option<(u64, u64)> {
        let (FramedAt::Confirm { walk, .. } | FramedAt::Inner(walk)) = &self.at else {
            return None;
        };
        let paths = &table.units[usize::from(self.unit)].inner;
        let (action, walk, to) = last_complete(out, paths, walk, end, &self.fix)?;
        let mut after = (to..end).filter_map(|at| out.byte(at));
        let ends = action == Action::Half && after.all(xml::is_space);
        ends.then(|| (walk.start().unwrap_or(to), to))
    }
}
