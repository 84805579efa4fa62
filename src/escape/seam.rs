//! Text that remains where parts of a reply were removed: no reader of the same set may find a call in it.
//!
//! Two things could form a call. First, a block that was retracted comes back as text, and a block removed from inside it may
//! have been what broke it. Second, removing a part joins the text before and after it: the beginning of a marker and its rest,
//! or an opener and its evidence. So text that comes back is escaped. If a marker may begin before a seam, a breaker is written
//! into the seam; if an opener may continue across it, a breaker on a line of its own. Removing the start of a reply makes
//! other text its beginning: if that is what a prompt may have opened ([`lead`](super::lead)), it is broken. Reasoning or a
//! protected region that follows a removed part may count only because of it; if text precedes it on its line, a newline is
//! written into the seam, because its markers would otherwise be text. All other text is unchanged.

use std::sync::Arc;

use toolglot_scan::{Line, Node, ROOT, xml};

use super::lead::{Lead, Step};
use super::{EscapeError, Escaper};
use crate::dialect::DialectSet;
use crate::dialect::EscapeTable;
use crate::dialect::bounds::PROBE_BLANKS;
use crate::event::Event;

/// What was written since an opener of calls, as long as what follows may be its evidence.
#[derive(Clone, Copy, Debug)]
struct Opener {
    len: u32,
    /// Inside its tag: attributes may follow.
    tag: bool,
    /// In a word.
    word: bool,
    /// After a word and white space: what follows may be evidence, but not a second word.
    spaced: bool,
}

impl Opener {
    fn new(marker: &[u8]) -> Self {
        Self {
            len: 0,
            tag: marker.contains(&b'<') && !marker.ends_with(b">"),
            word: false,
            spaced: false,
        }
    }

    /// The state after one more byte. Outside of tags a second word is prose.
    fn after(self, byte: u8) -> Option<Self> {
        let word = byte.is_ascii_alphanumeric() || byte >= 0x80;
        let prose = word && self.spaced && !self.tag;
        (self.len < PROBE_BLANKS && !prose).then_some(Self {
            len: self.len + 1,
            tag: self.tag && byte != b'>',
            word,
            spaced: xml::is_space(byte) && (self.word || self.spaced),
        })
    }
}

/// What has been written, as far as it matters to what follows.
#[derive(Clone, Debug)]
pub(crate) struct Seams {
    table: Arc<EscapeTable>,
    node: Node,
    opener: Option<Opener>,
    seam: bool,
    /// Something was removed.
    cut: bool,
    /// What the output may begin with.
    lead: Option<Lead>,
    /// What was written on the current line.
    line: Line,
    /// Only whitespace was written since something was removed or came back.
    at_seam: bool,
}

impl Seams {
    pub fn new(set: &DialectSet) -> Result<Self, EscapeError> {
        let table = set.escapes()?;
        Ok(Self {
            lead: Lead::new(&table.leads),
            table,
            node: ROOT,
            opener: None,
            seam: false,
            cut: false,
            line: Line::Start,
            at_seam: false,
        })
    }

    /// Records that something is removed here.
    pub fn cut(&mut self) {
        self.seam = true;
        self.cut = true;
        self.at_seam = true;
    }

    /// Writes a piece of reasoning or of a protected region that is kept.
    pub fn keep(&mut self, data: &[u8], mut out: impl FnMut(&[u8])) {
        if self.at_seam && !self.line.begins() {
            self.write(b"\n", false, &mut out);
        }
        self.at_seam = false;
        self.write(data, false, out);
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

    /// Writes a text event.
    pub fn write(&mut self, data: &[u8], recovered: bool, mut out: impl FnMut(&[u8])) {
        self.line = self.line.after(data);
        self.at_seam &= data.iter().all(|byte| matches!(byte, b' ' | b'\t'));
        if recovered {
            self.at_seam = true;
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
        (self.node, self.opener) = (ROOT, None);
        self.read(rest);
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

    /// What must precede more text, if anything. The text is written unchanged.
    fn text(&mut self, data: &[u8]) -> Option<Vec<u8>> {
        let dfa = &self.table.dfa;
        // A marker is completed only if the first byte continues it.
        let goes_on = data.first().is_some_and(|byte| {
            let next = dfa.next(self.node, *byte);
            dfa.hold(next) > 1 || dfa.is_hit(next)
        });
        let breaker = self.table.breaker;
        let broken = match self.seam && !data.is_empty() {
            true if self.opener.is_some() => Some(vec![b'\n', breaker]),
            true if goes_on && self.node != ROOT => Some(vec![breaker]),
            _ => None,
        };
        self.seam &= data.is_empty();
        if broken.is_some() {
            (self.node, self.opener) = (ROOT, None);
        }
        self.read(data);
        broken
    }

    /// Records what is written.
    fn read(&mut self, data: &[u8]) {
        let EscapeTable { dfa, opens, .. } = &*self.table;
        for byte in data {
            self.node = dfa.next(self.node, *byte);
            let opens = |id: &&u16| opens.get(usize::from(**id)) == Some(&true);
            let opener = dfa.hits(self.node).iter().find(opens);
            self.opener = match opener {
                Some(id) => Some(Opener::new(&dfa.patterns()[usize::from(*id)].bytes)),
                None => self.opener.and_then(|opener| opener.after(*byte)),
            };
        }
    }

    /// Escapes a whole text that comes back.
    fn recovered(&mut self, data: &[u8]) -> Vec<u8> {
        let mut escaper = Escaper::with(Arc::clone(&self.table));
        let mut out = Vec::with_capacity(data.len() + 8);
        escaper.push(data, &mut out);
        escaper.finish(&mut out);
        (self.node, self.opener) = (ROOT, None);
        self.seam = false;
        out
    }
}
