//! A compiled set: the tables that all its streams share. [`compile`](super::compile) builds them.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use toolglot_scan::{Dfa, Pattern, Scanner};

use super::bounds::PROBE_BLANKS;
use super::channels::MAX_HEADER;
use super::escape::{EscapeError, EscapeTable};
use super::marker::{BESIDE, MAX_LEAD, Role, TOGETHER, Written};
use super::plan::{Header, Member, Plan};
use super::thought::Reasoning;
use super::{Dialect, guided};
use crate::limits::Limits;

/// A compiled set.
#[derive(Debug)]
pub(crate) struct SetInner {
    pub dialects: Vec<Member>,
    pub text: Scanner,
    pub plan: Plan,
    /// Dialects that look for the rest of a header at the beginning of a stream.
    pub first: Vec<u16>,
    /// What the prompt may have written.
    pub begins: Arc<[Written]>,
    pub fingerprint: u64,
    /// The maximum number of bytes that are held back in text or reasoning for an incomplete marker.
    pub marker: usize,
    /// The set reads any format: only calls of declared tools count, unless the host says otherwise.
    pub any: bool,
    /// The tables for escaping, compiled on first use.
    pub escapes: OnceLock<Result<Arc<EscapeTable>, EscapeError>>,
}

impl SetInner {
    /// A dialect by number; those of constrained output follow the others.
    pub fn dialect(&self, index: u16) -> Option<&Dialect> {
        let index = usize::from(index);
        let guided = || guided::dialect(index.checked_sub(self.dialects.len())?);
        self.dialects.get(index).map(Deref::deref).or_else(guided)
    }

    /// The number of dialects that a block may have.
    pub fn kinds_of_blocks(&self) -> usize {
        self.dialects.len() + guided::COUNT
    }

    /// The header of a dialect's messages, for which the dialect need not be built.
    pub fn header(&self, dialect: u16) -> Option<&Header> {
        self.plan
            .headers
            .iter()
            .find(|header| header.dialect == dialect)
    }

    /// Whether the rest of a header with which a reply of this dialect may begin can have this first byte: a blank there may be
    /// missing.
    pub fn begins_reply(&self, dialect: u16, byte: u8) -> bool {
        let first = self.header(dialect).map_or("", |header| &header.first);
        let first = match byte {
            b' ' => first,
            _ => first.trim_start_matches(' '),
        };
        first.as_bytes().first() == Some(&byte)
    }

    /// Every marker that text is scanned for, and every closer of regions and blocks; some occur more than once.
    pub fn markers(&self) -> impl Iterator<Item = &Pattern> {
        let reasoning = self.plan.reasoning.iter().flat_map(Reasoning::patterns);
        let spans = self.plan.spans.iter().map(|span| &span.close);
        let closers = self.dialects.iter().map(|d| &d.closer);
        let all = self.text.dfa.patterns().iter().chain(reasoning);
        let others = spans.chain(closers.flat_map(Dfa::patterns));
        // A block without a closer is skipped to the end of its line; that is not a marker.
        all.chain(others).filter(|pattern| *pattern.bytes != *b"\n")
    }

    /// The maximum number of bytes that are held back with a token until it is known whether it is framing: the token, and
    /// whitespace after it.
    fn waits(&self) -> usize {
        // A token with tolerated attributes is a tag, and may be as long as one.
        let loose = self.plan.loose.is_empty();
        let token = |(pattern, role): (&Pattern, &Role)| match role {
            Role::Token { .. } if !loose => pattern.bytes.len().max(PROBE_BLANKS as usize),
            Role::Token { .. } => pattern.bytes.len(),
            // An opener and the following name are held back while they may be repeated.
            Role::Open { .. } => pattern.bytes.len() + PROBE_BLANKS as usize,
            Role::Reasoning { .. } | Role::Span { .. } => 0,
        };
        let longest = self
            .text
            .dfa
            .patterns()
            .iter()
            .zip(&self.plan.roles)
            .map(token)
            .max();
        longest
            .filter(|len| *len > 0)
            .map_or(0, |len| (len + BESIDE as usize) * TOGETHER)
    }

    /// The maximum number of bytes that are ever held back: for an incomplete marker, a lookahead, a header, a label or a lead,
    /// whichever is longest, plus the tokens before it.
    pub fn bound(&self, limits: &Limits) -> usize {
        let ahead = self
            .dialects
            .iter()
            .map(|dialect| dialect.lookahead(limits))
            .max()
            .unwrap_or(0);
        let header = match self.plan.headers.is_empty() {
            true => 0,
            false => MAX_HEADER as usize + 1,
        };
        let labels = self
            .plan
            .reasoning
            .iter()
            .map(|reasoning| reasoning.spec.label.len());
        let label = labels.max().unwrap_or(0);
        let lead = if self.begins.is_empty() { 0 } else { MAX_LEAD };
        let link = self.marker + limits.max_lookahead as usize;
        link.max(ahead).max(header).max(label).max(lead) + self.waits()
    }
}
