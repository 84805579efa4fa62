//! A compiled set: the tables that all its streams share. How they are made is in [`compile`](super::compile).

use std::sync::{Arc, OnceLock};

use toolglot_scan::path::Paths;
use toolglot_scan::{Dfa, Pattern, Scanner};

use super::bounds::PROBE_BLANKS;
use super::channels::MAX_HEADER;
use super::escape::{EscapeError, EscapeTable};
use super::marker::{BESIDE, MAX_LEAD, OpenRef, Role, SpanMarks, TOGETHER, Token, Written};
use super::thought::{Mark, Reasoning};
use super::{Dialect, guided};
use crate::limits::Limits;

/// A compiled set.
#[derive(Debug)]
pub(crate) struct SetInner {
    pub dialects: Vec<Dialect>,
    pub text: Scanner,
    /// Per pattern of `text`.
    pub roles: Vec<Role>,
    /// Who opens a block with a marker, in the order of the set.
    pub opens: Vec<Vec<OpenRef>>,
    pub reasoning: Vec<Reasoning>,
    /// Markers of thoughts with what may stand in them.
    pub marks: Vec<Mark>,
    /// Openers of calls.
    pub calls: Vec<(Pattern, Role)>,
    pub spans: Vec<SpanMarks>,
    pub tokens: Vec<Token>,
    /// Openers that are tokens where they open nothing.
    pub seconds: Vec<(String, u16)>,
    /// Tokens with what may stand in them that they do not show, by their numbers.
    pub loose: Paths<u16>,
    /// It has one dialect of calls, or is one of reasoning alone: the host has chosen a model.
    pub chosen: bool,
    /// Dialects that look for the rest of a header at the beginning of a stream.
    pub first: Vec<u16>,
    /// What the prompt may have written.
    pub begins: Arc<[Written]>,
    /// Some dialect does not look into code.
    pub skips: bool,
    /// Some dialect's calls end thoughts: there code matters.
    pub thinks: bool,
    pub fingerprint: u64,
    /// It reads whatever there is: only calls of declared tools count, unless the host says otherwise.
    pub any: bool,
    /// What escaping needs, compiled when it is first asked for.
    pub escapes: OnceLock<Result<Arc<EscapeTable>, EscapeError>>,
}

impl SetInner {
    /// A dialect by its number; those of guided output stand after the others.
    pub fn dialect(&self, index: u16) -> Option<&Dialect> {
        let index = usize::from(index);
        let guided = || guided::dialect(index.checked_sub(self.dialects.len())?);
        self.dialects.get(index).or_else(guided)
    }

    /// How many dialects a block may be of.
    pub fn kinds_of_blocks(&self) -> usize {
        self.dialects.len() + guided::COUNT
    }

    /// Every marker that text is looked through for, and what ends regions and blocks; some of them more than once.
    pub fn markers(&self) -> impl Iterator<Item = &Pattern> {
        let reasoning = self.reasoning.iter().map(|r| &r.inside.dfa);
        let spans = self.spans.iter().map(|s| &s.inside.dfa);
        let closers = self.dialects.iter().map(|d| &d.closer);
        let all = std::iter::once(&self.text.dfa).chain(reasoning);
        // What has no closer is skipped to the end of its line; that is no marker.
        let all = all.chain(spans).chain(closers).flat_map(Dfa::patterns);
        all.filter(|pattern| pattern.bytes != b"\n")
    }

    /// The longest beginning of a marker that text or reasoning withholds.
    pub fn marker(&self) -> usize {
        let reasoning = self.reasoning.iter().map(|r| r.inside.dfa.max_len());
        let longest = reasoning.max().unwrap_or(0).max(self.text.dfa.max_len());
        longest.saturating_sub(1)
    }

    /// The most bytes that wait with a token until it is told whether it is framing: the token, and white space after it.
    fn waits(&self) -> usize {
        // One that holds what it does not show is a tag, and may be as long as one.
        let loose = self.loose.is_empty();
        let token = |(pattern, role): (&Pattern, &Role)| match role {
            Role::Token { .. } if !loose => pattern.bytes.len().max(PROBE_BLANKS as usize),
            Role::Token { .. } => pattern.bytes.len(),
            // An opener, and the name behind it, wait for what they stand before once more.
            Role::Open { .. } => pattern.bytes.len() + PROBE_BLANKS as usize,
            Role::Reasoning { .. } | Role::Span { .. } => 0,
        };
        let longest = self
            .text
            .dfa
            .patterns()
            .iter()
            .zip(&self.roles)
            .map(token)
            .max();
        longest
            .filter(|len| *len > 0)
            .map_or(0, |len| (len + BESIDE as usize) * TOGETHER)
    }

    /// The most bytes that are ever withheld: the longest marker less one, or the longest lookahead.
    pub fn bound(&self, limits: &Limits) -> usize {
        let ahead = self
            .dialects
            .iter()
            .map(|dialect| dialect.lookahead(limits))
            .max()
            .unwrap_or(0);
        let headers = self
            .dialects
            .iter()
            .any(|dialect| dialect.spec.channels.is_some());
        let header = if headers { MAX_HEADER as usize + 1 } else { 0 };
        let labels = self
            .reasoning
            .iter()
            .map(|reasoning| reasoning.spec.label.len());
        let label = labels.max().unwrap_or(0);
        let lead = if self.begins.is_empty() { 0 } else { MAX_LEAD };
        self.marker().max(ahead).max(header).max(label).max(lead) + self.waits()
    }
}
