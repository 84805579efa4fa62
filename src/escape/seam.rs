//! Text that remains where parts of a reply were removed: no reader of the same set may find a call in it.
//!
//! Two things could form a call. First, a block that was retracted comes back as text, and a block removed from inside it may
//! have been what broke it. Second, removing a part joins the text before and after it, and changes what the engine knows of
//! what precedes it: a marker is completed, an opener finds its evidence, a code span ends elsewhere, or a text begins the reply.
//! So text that comes back is escaped; a breaker is written into a seam where a marker may begin before it; and what is written is
//! read as the next [reader](super::reader) will, who escapes each opener that it takes.
//!
//! Two things this reader cannot know. A prompt may have opened what a text continues ([`lead`](super::lead)): if removing the
//! start of a reply makes such a text its beginning, it is broken. And reasoning or a protected region that follows a removed part
//! may count only because of it: if text precedes it on its line, a newline is written into the seam, because its markers would
//! otherwise be text. All other text is unchanged.

use std::sync::Arc;

use toolglot_scan::{Line, ROOT};

use super::lead::{Lead, Step};
use super::reader::{Part, Reader};
use super::{EscapeError, Escaper};
use crate::dialect::DialectSet;
use crate::dialect::EscapeTable;
use crate::event::Event;
use crate::limits::Options;

/// What has been written, as far as it matters to what follows.
#[derive(Clone, Debug)]
pub(crate) struct Seams {
    table: Arc<EscapeTable>,
    reader: Box<Reader>,
    /// Something was removed since the last text.
    seam: bool,
    /// Something was removed, or came back.
    cut: bool,
    /// What the output may begin with.
    lead: Option<Lead>,
    /// What was written on the current line.
    line: Line,
    /// Only whitespace was written since something was removed or came back.
    at_seam: bool,
}

impl Seams {
    /// For output that will be read with this set and these options.
    pub fn new(set: &DialectSet, options: &Options) -> Result<Self, EscapeError> {
        let table = set.escapes()?;
        Ok(Self {
            reader: Box::new(Reader::new(set, options)?),
            seam: false,
            cut: false,
            lead: Lead::new(&table.leads),
            line: Line::Start,
            at_seam: false,
            table,
        })
    }

    /// Records that something is removed here.
    pub fn cut(&mut self) {
        self.seam = true;
        self.cut = true;
        self.at_seam = true;
    }

    /// Records what an event removes from the text, for sinks that write only text.
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

    /// Writes a piece of reasoning or of a protected region that is kept.
    pub fn keep(&mut self, data: &[u8], out: impl FnMut(&[u8])) {
        self.part(Part::Region, data, false, out);
    }

    /// Writes a text event.
    pub fn write(&mut self, data: &[u8], recovered: bool, out: impl FnMut(&[u8])) {
        self.part(Part::Text, data, recovered, out);
    }

    fn part(&mut self, part: Part, data: &[u8], recovered: bool, mut out: impl FnMut(&[u8])) {
        self.put(part, data, recovered, &mut |_, bytes| out(bytes));
    }

    /// Writes a part, and passes on what is settled, which may be of other parts.
    pub fn put(
        &mut self,
        part: Part,
        data: &[u8],
        recovered: bool,
        out: &mut dyn FnMut(Part, &[u8]),
    ) {
        if data.is_empty() {
            return;
        }
        match part {
            Part::Text => {}
            Part::Region => {
                if self.at_seam && !self.line.begins() {
                    self.put(Part::Text, b"\n", false, out);
                }
                self.at_seam = false;
            }
            Part::Block => {
                (self.cut, self.seam, self.at_seam) = (true, true, false);
                self.lead = None;
                self.line = self.line.after(data);
                return self.reader.push(part, data, true, out);
            }
        }
        self.line = self.line.after(data);
        self.at_seam &= data.iter().all(|byte| matches!(byte, b' ' | b'\t'));
        if recovered {
            (self.at_seam, self.cut, self.seam) = (true, true, false);
            let text = self.recovered(data);
            return self.begun(part, &text, out);
        }
        if std::mem::take(&mut self.seam) && self.joins(data) {
            self.lead = None;
            self.reader
                .push(Part::Text, &[self.table.breaker], true, out);
        }
        self.begun(part, data, out);
    }

    /// Writes text that may be the beginning of the reply.
    fn begun(&mut self, part: Part, text: &[u8], out: &mut dyn FnMut(Part, &[u8])) {
        let (before, rest) = text.split_at(self.started(text).unwrap_or(text.len()));
        self.reader.push(part, before, self.cut, out);
        if !rest.is_empty() {
            self.reader.push(part, &[self.table.breaker], true, out);
            self.reader.push(part, rest, true, out);
        }
    }

    /// The position at which to break the text if it completes what a prompt may have opened, and something was removed before.
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

    /// Whether text continues a marker that has begun before the seam.
    fn joins(&self, data: &[u8]) -> bool {
        let dfa = &self.table.dfa;
        let node = self
            .reader
            .tail()
            .iter()
            .fold(ROOT, |node, byte| dfa.next(node, *byte));
        // A marker is completed only if the first byte continues it.
        let next = data.first().map(|byte| dfa.next(node, *byte));
        node != ROOT && next.is_some_and(|next| dfa.hold(next) > 1 || dfa.is_hit(next))
    }

    /// Escapes a whole text that comes back.
    fn recovered(&self, data: &[u8]) -> Vec<u8> {
        Escaper::with(Arc::clone(&self.table)).all(data)
    }

    /// Ends the output: writes what still waits. Another output may follow.
    pub fn finish(&mut self, mut out: impl FnMut(&[u8])) {
        self.end(&mut |_, bytes| out(bytes));
    }

    /// As [`finish`](Self::finish), with parts.
    pub fn end(&mut self, out: &mut dyn FnMut(Part, &[u8])) {
        self.reader.finish(self.cut, out);
        (self.seam, self.cut, self.at_seam) = (false, false, false);
        self.lead = Lead::new(&self.table.leads);
        self.line = Line::Start;
    }
}
