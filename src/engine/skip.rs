//! A block that exceeded a limit or is malformed: bytes up to its own closer. After a limit they are emitted as raw bytes;
//! those of a malformed block are hidden, and become text if no closer follows.

use serde::{Deserialize, Serialize};
use toolglot_scan::{Dfa, Needle, Node, ROOT, xml};

use super::Mode;
use super::machine::{Chunk, Machine};
use crate::dialect::Family;
use crate::event::{Event, Span};
use crate::kind::{Kind, Severity};
use crate::limits::Retain;

/// The search for the closer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Skipping {
    pub dialect: u16,
    pub node: Node,
    /// After the name of a closing tag.
    tail: bool,
    /// After a closer; this many more bytes may belong to it.
    wide: Option<u8>,
    /// The bytes are hidden: the block is still open.
    pub hidden: bool,
    /// The closer of this block, if its dialect's closers depend on the opener.
    own: Option<Needle>,
}

impl Skipping {
    pub fn new(dialect: u16, own: Option<String>) -> Self {
        Self {
            dialect,
            node: ROOT,
            tail: false,
            wide: None,
            hidden: false,
            own: own.map(|own| Needle::new(own.into_bytes())),
        }
    }

    /// After an error in a block that is still open.
    pub fn hidden(dialect: u16, own: Option<String>) -> Self {
        Self {
            hidden: true,
            ..Self::new(dialect, own)
        }
    }

    /// Reads bytes before the skipped part, in which the closer may begin.
    pub fn prime(&mut self, dfa: &Dfa, family: &Family, last: &[u8]) {
        for byte in last {
            if let Some(own) = &mut self.own {
                own.step(*byte);
                continue;
            }
            self.tail &= xml::is_space(*byte);
            self.node = dfa.next(self.node, *byte);
            self.tail |= dfa.is_hit(self.node) && family.tag_header();
        }
    }

    /// Whether its own state is consistent.
    pub fn fits(&self) -> bool {
        self.own.as_ref().is_none_or(Needle::fits)
    }
}

impl Machine<'_> {
    /// Ends a hidden block that exceeds its limit at `pos`: the following bytes are emitted raw.
    fn too_long(&mut self, chunk: Chunk<'_>, pos: u64) {
        let mut out = self.out(chunk);
        let span = out.block_span(pos);
        out.report(Kind::LimitBlock, Severity::Error, span, "", "", "");
        self.drop_block(chunk, pos, false);
        self.st.io.cursor.hold(pos);
    }

    /// Consumes bytes from index `at` on.
    pub fn skipping(&mut self, chunk: Chunk<'_>, mut at: usize) -> usize {
        let Mode::Skip(skip) = &self.st.mode else {
            return at;
        };
        let mut skip = skip.clone();
        let mut end = chunk.seg.len();
        if let Some(block) = self.st.io.block.as_ref().filter(|_| skip.hidden) {
            let pos = chunk.base + at as u64;
            let room = self
                .opts
                .limits
                .max_block
                .saturating_sub(pos.saturating_sub(block.start));
            let room = usize::try_from(room).unwrap_or(usize::MAX);
            end = end.min(at.saturating_add(room));
            if end == at {
                skip.hidden = false;
                self.too_long(chunk, pos);
                self.st.mode = Mode::Skip(skip);
                return at;
            }
        }
        let first = at;
        let dfa = self.closer(skip.dialect);
        let family = &self.dialect(skip.dialect).family;
        let (tag, extra) = (family.tag_header(), family.extra().as_bytes());
        let mut found = false;
        while at < end && !found {
            let byte = chunk.seg[at];
            if let Some(left) = skip.wide {
                found = left == 0 || extra.first() != Some(&byte);
                at += usize::from(!found);
                skip.wide = Some(left.saturating_sub(1));
                continue;
            }
            at += 1;
            if let Some(own) = &mut skip.own {
                found = own.step(byte);
                continue;
            }
            if skip.tail {
                found = byte == b'>';
                skip.tail = xml::is_space(byte);
            }
            skip.node = dfa.next(skip.node, byte);
            if dfa.is_hit(skip.node) {
                found = !tag && extra.is_empty();
                skip.tail = tag;
                skip.wide = (!extra.is_empty()).then_some(extra.len() as u8);
            }
        }
        let from = (self.st.from().max(chunk.base) - chunk.base) as usize;
        let span = Span::new(chunk.base + from as u64, chunk.base + at as u64);
        if skip.hidden {
            if self.opts.retain == Retain::Block
                && let Some(block) = &mut self.st.io.block
            {
                block.raw.extend_from_slice(&chunk.seg[first..at]);
            }
            if found {
                self.drop_block(chunk, span.end, false);
            }
        } else if from < at {
            self.out(chunk).event(Event::Raw {
                data: &chunk.seg[from..at],
                span,
            });
        }
        self.st.io.cursor.hold(span.end);
        if found {
            // The closer ends a message, too.
            let own = self.dialect(skip.dialect).blocks_close;
            let mut hits = dfa.hits(skip.node).iter();
            let over = hits.any(|pattern| usize::from(*pattern) >= own);
            self.st.message &= !over;
            self.st.others = self.st.others.filter(|_| !over);
            self.flow_again(span.end);
        } else {
            self.st.mode = Mode::Skip(skip);
        }
        at
    }
}
