//! A stream's state as bytes: to roll it back, or to move it to another machine.
//!
//! A snapshot contains what the stream remembers and nothing that it delivered. Its size does not grow with the stream,
//! except for the bytes of an open block. It fits only the set and the options that it was made with.

use std::hash::Hasher;
use std::sync::Arc;

use toolglot_scan::{Dfa, Fnv};

use super::bounds::within;
use super::machine::scanner;
use super::opening::Candidate;
use super::plain::minds;
use super::tail::Lead;
use super::{Mode, Pace, Parser, Region, State};
use crate::dialect::{DialectSet, SetInner};
use crate::error::SnapshotError;
use crate::limits::Options;

const MAGIC: &[u8; 4] = b"TGss";
const VERSION: u16 = 6;
const HEAD: usize = 4 + 2 + 8 + 8;

impl Parser {
    /// Returns the state as bytes. Linear in the bytes of the open block.
    ///
    /// ```
    /// use toolglot::{Collect, DialectSet, Options, Parser};
    ///
    /// let (set, mut turn) = (DialectSet::defaults(), Collect::new());
    /// let mut parser = Parser::new(&set, Options::default());
    /// parser.feed(br#"<tool_call>{"name": "f", "arg"#, &mut turn);
    /// let bytes = parser.snapshot(); // another process continues
    /// let mut parser = Parser::restore(&set, Options::default(), &bytes)?;
    /// parser.feed(br#"uments": {}}</tool_call>"#, &mut turn);
    /// assert_eq!(turn.calls().len(), 1);
    /// # Ok::<(), toolglot::SnapshotError>(())
    /// ```
    #[must_use]
    pub fn snapshot(&self) -> Vec<u8> {
        // Serialization fails only for sequences of unknown length or if an allocation fails; the state has neither.
        let body = postcard::to_allocvec(&self.state).unwrap_or_default();
        let mut out = Vec::with_capacity(HEAD + body.len());
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&fingerprint(&self.set, &self.opts).to_le_bytes());
        out.extend_from_slice(&checksum(&body).to_le_bytes());
        out.extend_from_slice(&body);
        out
    }

    /// Restores the stream that a snapshot was made of.
    ///
    /// # Errors
    /// The snapshot is damaged, of another version, or was made with other dialects or options.
    pub fn restore(
        set: &DialectSet,
        options: Options,
        snapshot: &[u8],
    ) -> Result<Self, SnapshotError> {
        let (head, body) = snapshot
            .split_at_checked(HEAD)
            .ok_or(SnapshotError::Damaged)?;
        let number = |from: usize| {
            let bytes = head.get(from..from + 8).and_then(|b| b.try_into().ok());
            bytes.map(u64::from_le_bytes).ok_or(SnapshotError::Damaged)
        };
        if !head.starts_with(MAGIC) {
            return Err(SnapshotError::Damaged);
        }
        let found = u16::from_le_bytes([head[4], head[5]]);
        if found != VERSION {
            return Err(SnapshotError::Version {
                found,
                expected: VERSION,
            });
        }
        if number(6)? != fingerprint(set, &options) {
            return Err(SnapshotError::OtherSet);
        }
        if number(14)? != checksum(body) {
            return Err(SnapshotError::Damaged);
        }
        let state: State = postcard::from_bytes(body).map_err(|_| SnapshotError::Damaged)?;
        if !state.fits(&set.inner, &options) {
            return Err(SnapshotError::Damaged);
        }
        Ok(Self {
            set: set.clone(),
            minds: minds(&options),
            opts: Arc::new(options),
            state,
            pace: Pace::Careful,
            plain: 0,
            short: 0,
        })
    }
}

/// No stream is longer than this.
const MAX_POS: u64 = 1 << 62;

impl State {
    /// The parts that contain offsets. (The sizes of API tool calls are counted separately.)
    fn offsets(&self) -> impl serde::Serialize {
        let Self {
            origin,
            mode,
            candidates,
            region,
            interrupted,
            prefilled,
            acted: _,
            untagged,
            unlinked,
            inside,
            waiting,
            together,
            near,
            paired,
            torn: _,
            io,
            begun: _,
            // Its offsets count its own bytes.
            lead: _,
            node: _,
            line: _,
            code: _,
            blank: _,
            guided: _,
            message: _,
            others: _,
            heard,
            turn: _,
            odd_header: _,
            broken_author: _,
            within: _,
            thoughts: _,
            tail: _,
            link: _,
            reasoned: _,
            fresh: _,
            owed: _,
            natives: _,
            native_bytes: _,
            given: _,
            native: _,
            mentioned: _,
            shown: _,
            region_bytes: _,
            suffix: _,
            finished: _,
        } = self;
        let tokens = (inside, waiting, together, near, paired, unlinked, heard);
        let regions = (region, interrupted, prefilled);
        (origin, mode, candidates, regions, untagged, tokens, io)
    }

    /// Whether every index points at something; false only for a fabricated snapshot.
    fn fits(&self, set: &SetInner, options: &Options) -> bool {
        // Offsets lie in the stream, and no stream is longer than `MAX_POS`.
        if self.pos() > MAX_POS || !within(&self.offsets(), self.pos()) {
            return false;
        }
        let lead = |lead: &Lead| lead.fits(set) && within(lead, lead.bytes.len() as u64);
        let lead = self.lead.as_ref().is_none_or(lead);
        let link = self.link.fits();
        let dialects = set.dialects.len();
        let mentioned = self.mentioned.len() <= dialects && self.acted.len() <= dialects;
        if self.origin > self.pos() || !lead || !link || !mentioned {
            return false;
        }
        let untagged = |(index, from): (u16, u64)| {
            usize::from(index) < set.dialects.len() && from <= self.pos()
        };
        if !self.untagged.is_none_or(untagged) {
            return false;
        }
        if self.finished {
            // Nothing else is read any more.
            return self.from() <= self.pos();
        }
        if let Region::Reasoning {
            id,
            label: Some(have),
            ..
        } = self.region
            && set
                .plan
                .reasoning
                .get(usize::from(id))
                .is_none_or(|r| r.spec.label.len() < usize::from(have))
        {
            return false;
        }
        let thought = |thought: Region| {
            matches!(thought, Region::Reasoning { .. }) && scanner(set, options, thought).is_some()
        };
        if !self.interrupted.is_none_or(thought) {
            return false;
        }
        let dialect = |index: u16| set.dialect(index);
        let scanner = scanner(set, options, self.region);
        let block = self
            .io
            .block
            .as_ref()
            .is_none_or(|b| dialect(b.dialect).is_some() && b.start <= self.pos());
        let mode = match &self.mode {
            Mode::Flow => self.io.block.is_none(),
            Mode::Link(linked) => {
                self.io.block.is_none() && linked.fits(self.from(), set.dialects.len())
            }
            Mode::Guess(guess) => self.io.block.is_none() && guess.fits(self.from()),
            Mode::Opening(opening) => {
                let fits = |candidate: &Candidate| {
                    dialect(candidate.dialect).is_some_and(|d| candidate.fits(set, d))
                };
                dialect(opening.first).is_some()
                    && opening.start >= self.from()
                    && self.candidates.iter().all(fits)
            }
            Mode::Skip(skip) => {
                dialect(skip.dialect).is_some_and(|d| d.closer.knows(skip.node)) && skip.fits()
            }
            Mode::Body(body) => {
                let family = self
                    .io
                    .block
                    .as_ref()
                    .and_then(|b| dialect(b.dialect))
                    .map(|d| &d.family);
                family.is_some_and(|family| body.fits(family))
            }
        };
        let came = |dfa: &Dfa| dfa.hold(self.node) as u64 <= self.pos();
        let node = scanner.is_some_and(|s| s.dfa.knows(self.node) && came(&s.dfa));
        let waits = self.waiting.is_none_or(|waiting| {
            let ordered = waiting.in_order(self.from(), &self.together);
            ordered && waiting.end <= self.pos() && self.region == Region::Text
        });
        let tokens = |id: u16| usize::from(id) < set.plan.tokens.len();
        let turn = self
            .heard
            .as_ref()
            .is_none_or(|heard| tokens(heard.token()))
            && self.turn.is_none_or(tokens);
        let carried = self.pos().checked_sub(self.from());
        let exact = matches!(self.mode, Mode::Flow)
            && scanner.is_some_and(|s| s.dfa.exact())
            && !self.region.labelled()
            && self.waiting.is_none();
        let carry = match (carried, exact, scanner) {
            (Some(n), true, Some(s)) => {
                node && n == s.dfa.hold(self.node) as u64 && self.io.cursor.carried() == 0
            }
            (Some(n), false, _) => n == self.io.cursor.carried() as u64,
            _ => false,
        };
        block
            && mode
            && waits
            && turn
            && node
            && carry
            && self.io.blocks.len() <= set.kinds_of_blocks()
    }
}

fn checksum(bytes: &[u8]) -> u64 {
    let mut fnv = Fnv::default();
    fnv.add(bytes);
    fnv.0
}

fn fingerprint(set: &DialectSet, options: &Options) -> u64 {
    let mut fnv = Fnv(set.inner.fingerprint);
    let tools = options.tools.as_ref();
    let tools = tools.map_or(0, |tools| tools.fingerprint());
    fnv.add(&tools.to_le_bytes());
    // The other options. They serialize for the reason that the state does.
    postcard::serialize_with_flavor(options, Hashing(fnv)).unwrap_or_default()
}

/// Hashes what is serialized.
struct Hashing(Fnv);

impl postcard::ser_flavors::Flavor for Hashing {
    type Output = u64;

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.try_extend(&[byte])
    }

    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.0.write(bytes);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<u64> {
        Ok(self.0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_in_order() {
        let (set, options) = (DialectSet::defaults(), Options::default());
        let mut parser = Parser::new(&set, options.clone());
        parser.feed(b"Say \"<|im_end|>", &mut |_: crate::Event<'_>| {});
        let mut state = parser.state;
        let waiting = state.waiting.expect("a token that waits");
        assert!(state.fits(&set.inner, &options));
        let empty = crate::Span::new(waiting.end, waiting.end);
        state.together.push((0, empty));
        assert!(!state.fits(&set.inner, &options));
    }
}
