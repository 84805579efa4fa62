//! The closer that a longer pattern begins with: after a fence's closing backticks the word of another fence may begin,
//! and then be another word.

use super::{Body, FramedAt};
use crate::body::{Flow, Out};
use crate::dialect::Framed;

impl Body {
    /// No pattern that may stand after the payload goes on with the byte at `pos`. If one was complete before it, that one
    /// counts, and what was looked at after it is read again.
    pub(super) fn shorter(&mut self, out: &mut Out<'_>, table: &Framed, pos: u64) -> Option<Flow> {
        let FramedAt::Tail(walk) = &self.at else {
            return None;
        };
        let unit = &table.units[usize::from(self.unit)];
        // There the block goes on after its closer.
        if self.section || unit.more.is_some() {
            return None;
        }
        let start = walk.start()?;
        let mut again = unit.tail.begin();
        let mut complete = None;
        for at in start..pos {
            unit.tail.step(&mut again, out.byte(at)?, at, &self.fix);
            if let Some(action) = unit.tail.complete(&again, at + 1, &self.fix) {
                complete = Some((action, again, at + 1));
            }
        }
        let (action, walk, end) = complete?;
        self.found(out, table, action, &walk, end)
    }
}
