//! Text that is left over where parts of a reply were taken out: no reader of the same set may find a call in it.
//!
//! Two things could make one. A block that turned out to be none comes back as text, and a block inside it that is taken
//! out may have been what broke it. And what stands before and after a part that is taken out meets: the beginning of a
//! marker and its rest. So text that comes back is escaped, and where a marker may begin before a seam a breaker stands in
//! the seam. What is taken out at the start lets other text begin the reply: where that is what a prompt may have opened
//! ([`lead`](super::lead)), it is broken. A thought or a protected region that follows what is taken out counts because it does;
//! where text comes before it on its line, a line end stands in the seam, else its markers would be those of text. All other text
//! stays as it is.

use std::sync::Arc;

use super::lead::{Lead, Step};
use super::{EscapeError, Escaper};
use crate::dialect::DialectSet;
use crate::dialect::EscapeTable;
use crate::event::Event;
use crate::scan::{Line, Node, ROOT};

/// What has been written, as far as it matters to what follows.
#[derive(Clone, Debug)]
pub(crate) struct Seams {
    table: Arc<EscapeTable>,
    node: Node,
    seam: bool,
    /// Something was taken out.
    cut: bool,
    /// What the output may begin with.
    lead: Option<Lead>,
    /// What was written on this line.
    line: Line,
    /// Whether nothing but blanks was written since something was taken out or came back.
    behind: bool,
}

impl Seams {
    pub fn new(set: &DialectSet) -> Result<Self, EscapeError> {
        let table = set.escapes()?;
        Ok(Self {
            lead: Lead::new(&table.leads),
            table,
            node: ROOT,
            seam: false,
            cut: false,
            line: Line::Start,
            behind: false,
        })
    }

    /// Something is taken out here.
    pub fn cut(&mut self) {
        self.seam = true;
        self.cut = true;
        self.behind = true;
    }

    /// Writes a piece of a thought or of a protected region that is kept.
    pub fn keep(&mut self, data: &[u8], mut out: impl FnMut(&[u8])) {
        if self.behind && !self.line.begins() {
            self.write(b"\n", false, &mut out);
        }
        self.behind = false;
        self.write(data, false, out);
    }

    /// Notes what an event takes out of the text, for sinks that write nothing but text.
    pub fn event(&mut self, event: &Event<'_>) {
        if matches!(
            event,
            Event::BlockOpen { .. }
                | Event::Raw { .. }
                | Event::Protected { .. }
                | Event::Reasoning { .. }
        ) {
            self.cut();
        }
    }

    /// Writes a text event.
    pub fn write(&mut self, data: &[u8], recovered: bool, mut out: impl FnMut(&[u8])) {
        self.line = self.line.after(data);
        self.behind &= data.iter().all(|byte| matches!(byte, b' ' | b'\t'));
        if recovered {
            self.behind = true;
            let text = self.recovered(data);
            return self.begun(&text, &mut out);
        }
        if let Some(breaker) = self.text(data) {
            self.lead = None;
            out(&breaker);
        }
        self.begun(data, &mut out);
    }

    /// Writes text that may be the beginning of the reply.
    fn begun(&mut self, text: &[u8], out: &mut impl FnMut(&[u8])) {
        let Some(at) = self.started(text) else {
            return out(text);
        };
        let (before, rest) = text.split_at(at);
        out(before);
        out(&[self.table.breaker]);
        out(rest);
        let next = |node, byte: &u8| self.table.dfa.next(node, *byte);
        self.node = rest.iter().fold(ROOT, next);
    }

    /// Where the text completes what a prompt may have opened, if something was taken out before: the place to break it.
    fn started(&mut self, data: &[u8]) -> Option<usize> {
        let lead = self.lead.as_mut()?;
        for (at, byte) in data.iter().enumerate() {
            match lead.step(&self.table.leads, *byte) {
                Step::More => {}
                Step::Over => {
                    self.lead = None;
                    return None;
                }
                Step::Whole => {
                    self.lead = None;
                    return self.cut.then_some(at);
                }
            }
        }
        None
    }

    /// What must stand before more text, if anything. The text is written as it is.
    fn text(&mut self, data: &[u8]) -> Option<[u8; 1]> {
        let dfa = &self.table.dfa;
        // A marker meets its rest only if the first byte goes on with it.
        let goes_on = data.first().is_some_and(|byte| {
            let next = dfa.next(self.node, *byte);
            dfa.hold(next) > 1 || dfa.is_hit(next)
        });
        let meets = goes_on && self.seam && self.node != ROOT;
        self.seam &= data.is_empty();
        if meets {
            self.node = ROOT;
        }
        self.node = data
            .iter()
            .fold(self.node, |node, byte| dfa.next(node, *byte));
        meets.then_some([self.table.breaker])
    }

    /// A whole text that comes back.
    fn recovered(&mut self, data: &[u8]) -> Vec<u8> {
        let mut escaper = Escaper::with(Arc::clone(&self.table));
        let mut out = Vec::with_capacity(data.len() + 8);
        escaper.push(data, &mut out);
        escaper.finish(&mut out);
        self.node = ROOT;
        self.seam = false;
        out
    }
}
