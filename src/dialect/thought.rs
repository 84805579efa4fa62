//! Reasoning markers: how reasoning opens, and what ends it.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use toolglot_scan::path::{self, Paths};
use toolglot_scan::{Case, Pattern, Scanner, tag};

use super::lazy::{Stored, once, try_once};
use super::marker::Role;
use super::spec;

/// Reasoning markers of one dialect.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
pub(crate) struct Reasoning {
    pub dialect: u16,
    pub spec: spec::Reasoning,
    /// Closers, openers, markers that end it without a closer, and calls that end it.
    patterns: Stored<Vec<Pattern>>,
    /// The length of the longest of these.
    pub longest: usize,
    /// The scanner for these; built when a stream first needs it.
    #[serde(skip)]
    inside: OnceLock<Scanner>,
    /// The number of patterns of `inside` of each kind except calls.
    pub kinds: [usize; 3],
    /// The meaning of the calls that end it.
    ends: Stored<Vec<Role>>,
    /// The headers at the start of a line that end it: what each opens.
    pub headers: Vec<u16>,
    /// It is a message: markers that begin a header end it if the header is complete.
    pub messages: bool,
    /// Those of the ending markers that are a header without its beginning, or the beginning of a closer with a suffix or with
    /// tolerated whitespace or attributes, and what each opens.
    pub(super) rest: Vec<(u16, u16)>,
    /// As `inside`, plus all call openers; built when a stream first needs it.
    #[serde(skip)]
    with_calls: OnceLock<Scanner>,
}

/// The meaning of a pattern inside reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inside {
    Close,
    Open,
    EndedBy,
    /// A call that ends it, if it turns out to be one.
    Ends(Role),
    Call(Role),
}

/// The beginning of a marker that has a suffix: `<think:`.
pub(crate) fn suffixed(marker: &str) -> String {
    format!("{}:", marker.strip_suffix('>').unwrap_or(marker))
}

impl Reasoning {
    /// What a pattern opens that must be looked at: a header without its beginning, or a closer with a variant spelling.
    pub fn rest(&self, pattern: u16) -> Option<u16> {
        let before: usize = self.kinds[..2].iter().sum();
        let place = usize::from(pattern).checked_sub(before)?;
        let mut rest = self.rest.iter();
        let found = rest.find(|(at, _)| usize::from(*at) == place);
        found.map(|(_, refs)| *refs)
    }

    pub(super) fn new(dialect: u16, spec: &spec::Reasoning, calls: &[(Pattern, Role)]) -> Self {
        let lists = [spec.close.as_slice(), &spec.open, &spec.ended_by];
        let patterns = lists.iter().flat_map(|list| list.iter());
        let mut patterns: Vec<Pattern> = patterns
            .map(|marker| Pattern::new(marker, Case::Exact))
            .collect();
        let own = |pattern: &Pattern| patterns.iter().any(|have| have.bytes == pattern.bytes);
        let calls: Vec<_> = calls.iter().filter(|(call, _)| !own(call)).collect();
        patterns.extend(calls.iter().map(|(pattern, _)| pattern.clone()));
        Self {
            dialect,
            spec: spec.clone(),
            longest: patterns.iter().map(|p| p.bytes.len()).max().unwrap_or(0),
            patterns: patterns.into(),
            inside: OnceLock::new(),
            kinds: lists.map(<[String]>::len),
            ends: calls
                .iter()
                .map(|(_, role)| *role)
                .collect::<Vec<_>>()
                .into(),
            headers: vec![],
            messages: false,
            rest: vec![],
            with_calls: OnceLock::new(),
        }
    }

    /// Builds the scanner for the inside, whose patterns may be too many.
    pub(super) fn build(&self) -> Result<(), String> {
        let built = try_once(&self.inside, || Scanner::new(self.patterns.clone()));
        Ok(built.map(|_| ())?)
    }

    /// The patterns that are looked for inside, except calls that only count where the host says so.
    pub fn patterns(&self) -> &[Pattern] {
        &self.patterns
    }

    /// Whether a marker is the beginning of its opener with a suffix.
    pub fn opens_with_suffix(&self, marker: &[u8]) -> bool {
        let mut open = self.spec.open.iter();
        self.spec.suffix && open.any(|open| suffixed(open).as_bytes() == marker)
    }

    /// The matched length of its label at the start, if it has one.
    pub fn label(&self) -> Option<u8> {
        (!self.spec.label.is_empty()).then_some(0)
    }

    /// The scanner for the inside, with the openers of calls if they count there. There always is one: a set whose patterns
    /// could be too many has built it.
    #[inline]
    pub fn scanner(&self, calls: Option<&[(Pattern, Role)]>) -> Option<&Scanner> {
        match calls {
            None => self.inside.get().or_else(|| self.fill(&self.inside, &[])),
            Some(calls) => {
                let fill = || self.fill(&self.with_calls, calls);
                self.with_calls.get().or_else(fill)
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn fill<'s>(
        &self,
        cell: &'s OnceLock<Scanner>,
        calls: &[(Pattern, Role)],
    ) -> Option<&'s Scanner> {
        let build = || {
            let calls = calls.iter().map(|(pattern, _)| pattern);
            Scanner::new(self.patterns.iter().chain(calls).cloned().collect())
        };
        try_once(cell, build).ok()
    }

    /// The meaning of a pattern of the scanner.
    pub fn meaning(&self, pattern: u16, calls: &[(Pattern, Role)]) -> Option<Inside> {
        let mut at = usize::from(pattern);
        for (count, meaning) in
            self.kinds
                .iter()
                .zip([Inside::Close, Inside::Open, Inside::EndedBy])
        {
            if at < *count {
                return Some(meaning);
            }
            at -= count;
        }
        if let Some(role) = self.ends.get(at) {
            return Some(Inside::Ends(*role));
        }
        let call = calls.get(at - self.ends.len());
        call.map(|(_, role)| Inside::Call(*role))
    }
}

/// A reasoning marker with tolerated whitespace or attributes.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Mark {
    /// The reasoning.
    pub id: u16,
    pub closes: bool,
    pub marker: String,
    #[serde(skip)]
    paths: OnceLock<Paths<()>>,
}

impl Mark {
    /// `None` for a marker that tolerates neither.
    pub(super) fn new(id: u16, closes: bool, marker: &str) -> Option<Self> {
        tag::rooms(marker.as_bytes()).next()?;
        Some(Self {
            id,
            closes,
            marker: marker.to_owned(),
            paths: OnceLock::new(),
        })
    }

    /// An opener may have its first token more than once.
    pub(super) fn variants(&self) -> Vec<String> {
        match self.closes {
            true => vec![],
            false => slipped(&self.marker),
        }
    }

    /// Builds the table, which may become too large.
    pub(super) fn build(&self) -> Result<(), String> {
        try_once(&self.paths, || self.make()).map(|_| ())
    }

    fn make(&self) -> Result<Paths<()>, String> {
        let spelt = path::spelt(&self.marker, &self.variants())?;
        Ok(spelt.unwrap_or_default())
    }

    /// Its spellings. A set whose tables could be too large has built them.
    pub fn paths(&self) -> &Paths<()> {
        once(&self.paths, || self.make().unwrap_or_default())
    }
}

/// Tokens with tolerated whitespace or attributes, each with its number.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Loose {
    tokens: Vec<(String, u16)>,
    #[serde(skip)]
    paths: OnceLock<Paths<u16>>,
}

impl Loose {
    pub(super) fn new(tokens: Vec<(String, u16)>) -> Self {
        Self {
            tokens,
            paths: OnceLock::new(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Builds the table, which may become too large.
    pub(super) fn build(&self) -> Result<(), String> {
        try_once(&self.paths, || self.make()).map(|_| ())
    }

    fn make(&self) -> Result<Paths<u16>, String> {
        let tokens = self.tokens.iter();
        let spelt: Vec<_> = tokens
            .map(|(token, id)| (token.replace('$', "$$"), *id))
            .collect();
        Ok(Paths::tags(
            spelt.iter().map(|(token, id)| (token.as_str(), *id)),
        )?)
    }

    /// Their spellings. A set whose table could be too large has built it.
    pub fn paths(&self) -> &Paths<u16> {
        once(&self.paths, || self.make().unwrap_or_default())
    }
}

/// A marker of several special tokens with the first one written twice or three times.
fn slipped(marker: &str) -> Vec<String> {
    let first = marker.find("|>").map(|at| marker.split_at(at + 2));
    match first.filter(|(_, rest)| rest.contains("|>")) {
        Some((first, rest)) => [2, 3].map(|times| first.repeat(times) + rest).into(),
        None => vec![],
    }
}
