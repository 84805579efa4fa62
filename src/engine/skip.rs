//! A block that broke a limit, or its grammar: raw bytes up to its own closer.

use serde::{Deserialize, Serialize};

use super::Mode;
use super::machine::{Chunk, Machine};
use crate::body::{Needle, xml};
use crate::event::{Event, Span};
use crate::scan::{Node, ROOT};

/// Where the search for the closer stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Skipping {
    pub dialect: u16,
    pub node: Node,
    /// Behind the name of a closing tag.
    tail: bool,
    /// Behind a closer, of which so many bytes may still follow.
    wide: Option<u8>,
    /// The closer of this block alone, where its dialect's closers depend on the opener.
    own: Option<Needle>,
}

impl Skipping {
    pub fn new(dialect: u16, own: Option<String>) -> Self {
        Self {
            dialect,
            node: ROOT,
            tail: false,
            wide: None,
            own: own.map(|own| Needle::new(own.into_bytes())),
        }
    }

    /// Whether the state fits its tables, as far as they are its own.
    pub fn fits(&self) -> bool {
        self.own.as_ref().is_none_or(Needle::fits)
    }
}

impl Machine<'_> {
    /// Takes bytes from index `at` on.
    pub fn skipping(&mut self, chunk: Chunk<'_>, mut at: usize) -> usize {
        let Mode::Skip(skip) = &self.st.mode else {
            return at;
        };
        let mut skip = skip.clone();
        let dfa = self.closer(skip.dialect);
        let family = &self.dialect(skip.dialect).family;
        let (tag, extra) = (family.tag_header(), family.extra().as_bytes());
        let mut found = false;
        while at < chunk.seg.len() && !found {
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
        let from = (self.st.io.from.max(chunk.base) - chunk.base) as usize;
        let span = Span::new(chunk.base + from as u64, chunk.base + at as u64);
        if from < at {
            self.out(chunk).event(Event::Raw {
                data: &chunk.seg[from..at],
                span,
            });
        }
        self.st.io.from = span.end;
        if found {
            // A message that the closer ends is over.
            let own = self.dialect(skip.dialect).blocks_close;
            let mut hits = dfa.hits(skip.node).iter();
            self.st.message &= !hits.any(|pattern| usize::from(*pattern) >= own);
            self.flow_again(span.end);
        } else {
            self.st.mode = Mode::Skip(skip);
        }
        at
    }
}
