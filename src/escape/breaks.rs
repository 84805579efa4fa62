//! Breaks markers of more than one byte, and removes the breaks.
//!
//! The *skeleton* of a text is the text without breaker characters. The skeleton alone determines what must be broken, and
//! where: after the first character of each marker in it, at its start if it may begin with the rest of a marker, and at its
//! end if it ends with the beginning of one. Escaping adds one breaker at each of these sites, and unescaping removes one. The
//! skeleton is the same before and after, so both see the same sites, whatever breakers the text itself had.
//!
//! A site is known once its marker is complete. Until then bytes are held back: fewer than the longest marker has, with the
//! number of breakers before each.

use std::collections::VecDeque;

use toolglot_scan::{Node, Pattern, ROOT};

use super::lead::{Lead, Step};
use crate::dialect::EscapeTable;

/// Whether breakers are added or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Escape,
    Unescape,
}

impl Way {
    fn site(self, breakers: &mut u64) {
        *breakers = match self {
            Self::Escape => *breakers + 1,
            // There is one, unless the text was never escaped.
            Self::Unescape => breakers.saturating_sub(1),
        };
    }
}

/// A held back byte of the skeleton, and the number of breakers before it.
#[derive(Clone, Copy, Debug)]
struct Held {
    breakers: u64,
    byte: u8,
}

/// What is known about the text's start.
#[derive(Clone, Debug)]
enum Start {
    /// No byte has come. It may be inside any marker.
    Anywhere,
    /// So far it matches the rest of these markers.
    Tails(Vec<(u16, u16)>),
    Settled,
}

/// The state of one text.
#[derive(Clone, Debug)]
pub(super) struct Breaks {
    way: Way,
    node: Node,
    start: Start,
    /// What the text may begin with, if it is at the start of a reply.
    lead: Option<Lead>,
    held: VecDeque<Held>,
    /// Breakers after the last byte of the skeleton.
    breakers: u64,
    /// Bytes of the skeleton since the last site inside a marker.
    since: usize,
}

impl Breaks {
    pub fn new(table: &EscapeTable, way: Way) -> Self {
        Self {
            way,
            node: ROOT,
            start: Start::Anywhere,
            lead: Lead::new(&table.leads),
            held: VecDeque::new(),
            breakers: 0,
            since: usize::MAX,
        }
    }

    /// Starts in the middle of a prompt, where these markers have begun.
    pub fn after(tails: &[(u16, u16)]) -> Self {
        Self {
            way: Way::Escape,
            node: ROOT,
            start: match tails.is_empty() {
                true => Start::Settled,
                false => Start::Tails(tails.to_vec()),
            },
            lead: None,
            held: VecDeque::new(),
            breakers: 0,
            since: usize::MAX,
        }
    }

    /// The text before the start no longer matters.
    fn settle(&mut self) {
        self.start = Start::Settled;
        self.lead = None;
    }

    pub fn push(&mut self, table: &EscapeTable, chunk: &[u8], out: &mut Vec<u8>) {
        let mut at = 0;
        while at < chunk.len() {
            if self.idle() {
                let free = chunk[at..]
                    .iter()
                    .position(|byte| table.begins[usize::from(*byte)]);
                let end = free.map_or(chunk.len(), |n| at + n);
                if end > at {
                    out.extend_from_slice(&chunk[at..end]);
                    // No later marker begins before this point.
                    self.since = usize::MAX;
                    self.node = ROOT;
                    at = end;
                    continue;
                }
            }
            if chunk[at] == table.breaker {
                self.breakers += 1;
            } else {
                self.step(table, chunk[at], out);
            }
            at += 1;
        }
    }

    /// Whether nothing is pending.
    fn idle(&self) -> bool {
        self.held.is_empty()
            && self.breakers == 0
            && self.lead.is_none()
            && matches!(self.start, Start::Settled)
    }

    /// Processes one byte of the skeleton.
    fn step(&mut self, table: &EscapeTable, byte: u8, out: &mut Vec<u8>) {
        let breakers = std::mem::take(&mut self.breakers);
        self.held.push_back(Held { breakers, byte });
        self.node = table.dfa.next(self.node, byte);
        self.since = self.since.saturating_add(1);
        // Shorter markers first: breaking them often breaks the longer ones around them.
        for pattern in table.dfa.hits(self.node).iter().rev() {
            let len = table.dfa.len_of(*pattern);
            if self.since < len {
                continue;
            }
            self.since = len - table.sites[usize::from(*pattern)];
            let site = self.held.len().saturating_sub(self.since);
            if let Some(held) = self.held.get_mut(site) {
                self.way.site(&mut held.breakers);
            }
            // This also breaks a marker that began before the text and continued up to here.
            self.settle();
        }
        self.lead(table, byte);
        self.follow(table, byte);
        if matches!(self.start, Start::Settled) {
            self.release(table.breaker, table.dfa.hold(self.node), out);
        }
    }

    /// Breaks what a prompt may have opened, before the byte that completes it.
    fn lead(&mut self, table: &EscapeTable, byte: u8) {
        let Some(lead) = &mut self.lead else {
            return;
        };
        match lead.step(&table.leads, byte) {
            Step::More => {}
            Step::Over => self.lead = None,
            Step::Whole => {
                self.lead = None;
                if let Some(last) = self.held.back_mut() {
                    self.way.site(&mut last.breakers);
                }
            }
        }
    }

    /// Follows markers that may have begun before the text.
    fn follow(&mut self, table: &EscapeTable, byte: u8) {
        let patterns = table.dfa.patterns();
        let mut tails = match std::mem::replace(&mut self.start, Start::Settled) {
            Start::Anywhere => table.tails_with[usize::from(byte)].clone(),
            Start::Tails(mut tails) => {
                tails.retain(|(p, at)| patterns[usize::from(*p)].accepts(usize::from(*at), byte));
                tails
            }
            Start::Settled => return,
        };
        tails.iter_mut().for_each(|(_, at)| *at += 1);
        let whole = tails
            .iter()
            .any(|(p, at)| usize::from(*at) == table.dfa.len_of(*p));
        if whole {
            self.break_start();
        } else if !tails.is_empty() {
            self.start = Start::Tails(tails);
        }
    }

    fn break_start(&mut self) {
        if let Some(first) = self.held.front_mut() {
            self.way.site(&mut first.breakers);
        }
        self.settle();
    }

    /// Writes all but the last `keep` bytes of the skeleton.
    fn release(&mut self, breaker: u8, keep: usize, out: &mut Vec<u8>) {
        while self.held.len() > keep {
            if let Some(held) = self.held.pop_front() {
                repeat(breaker, held.breakers, out);
                out.push(held.byte);
            }
        }
    }

    pub fn finish(&mut self, table: &EscapeTable, out: &mut Vec<u8>) {
        self.finish_before(table, None, out);
    }

    /// Ends the text before one of these; without a list, before any text.
    pub fn finish_before(
        &mut self,
        table: &EscapeTable,
        following: Option<&[Vec<u8>]>,
        out: &mut Vec<u8>,
    ) {
        let begins = self.begins_marker(table, following);
        let patterns = table.dfa.patterns();
        let on =
            |(p, at): &(u16, u16)| goes_on(&patterns[usize::from(*p)], (*at).into(), following);
        let inside = match &self.start {
            Start::Anywhere => table.tails.iter().any(on),
            Start::Tails(tails) => tails.iter().any(on),
            Start::Settled => false,
        };
        let lead = self
            .lead
            .as_ref()
            .is_some_and(|lead| lead.tells(&table.leads));
        if begins || (lead && !inside) {
            // This also breaks a marker around the whole text.
            self.way.site(&mut self.breakers);
        } else if inside {
            self.break_start();
        }
        self.release(table.breaker, 0, out);
        repeat(table.breaker, self.breakers, out);
        *self = Self::new(table, self.way);
    }

    /// Whether the text ends with the beginning of a marker that no site breaks.
    fn begins_marker(&self, table: &EscapeTable, following: Option<&[Vec<u8>]>) -> bool {
        let longest = table.dfa.hold(self.node).min(self.since);
        let end = |len: usize| self.held.iter().skip(self.held.len() - len);
        (1..=longest.min(self.held.len())).any(|len| {
            table.dfa.patterns().iter().any(|p| {
                len < p.bytes.len()
                    && end(len).enumerate().all(|(at, h)| p.accepts(at, h.byte))
                    && goes_on(p, len, following)
            })
        })
    }
}

/// Whether a marker of which `at` bytes are present may continue in what follows. If too little is known about what follows, it
/// may, unless the present part is no more than a word.
fn goes_on(pattern: &Pattern, at: usize, following: Option<&[Vec<u8>]>) -> bool {
    let Some(following) = following else {
        return true;
    };
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let word = pattern.bytes[..at].iter().all(plain);
    let left = pattern.bytes.len() - at;
    following.iter().any(|next| {
        let mut known = next.iter().take(left).enumerate();
        known.all(|(n, byte)| pattern.accepts(at + n, *byte)) && (next.len() >= left || !word)
    })
}

fn repeat(byte: u8, times: u64, out: &mut Vec<u8>) {
    let times = usize::try_from(times).unwrap_or(usize::MAX);
    out.resize(out.len().saturating_add(times), byte);
}
