//! Finds where the openers of a set meet, and what distinguishes them.
//!
//! Openers are sorted. The common prefix of neighbours is where they part, and the next character decides. If several dialects
//! have the same opener, the following bytes decide; if the end of one opener begins another, the earlier one wins. Nothing
//! here runs while a stream is parsed: it is a report for authors of sets.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::plan::Member;
use crate::limits::Limits;

/// Shorter common prefixes and overlaps are shared by most openers and tell nothing.
const SHORT: usize = 2;

/// A place where openers of different dialects meet.
///
/// ```
/// use toolglot::{DecidedBy, DialectSet, Limits};
///
/// let decisions = DialectSet::defaults().decisions(&Limits::default());
/// let hermes = decisions.iter().find(|one| one.concerns("hermes")).unwrap();
/// assert_eq!((hermes.shared.as_str(), hermes.by), ("<tool_", DecidedBy::NextByte));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    /// The bytes that all of them share.
    pub shared: String,
    /// What distinguishes them.
    pub by: DecidedBy,
    /// The dialects by what comes next. An opener that ends here has an empty `next`.
    pub branches: Vec<Branch>,
    /// The maximum number of bytes after `shared` that are needed.
    pub lookahead: usize,
}

/// What distinguishes openers.
///
/// See the example of [`Decision`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DecidedBy {
    /// They continue differently.
    NextByte,
    /// They are equal: what follows decides, in the order of the set.
    Body,
    /// The end of one is the beginning of another: the one that begins earlier wins.
    Earlier,
}

/// One continuation of a shared beginning.
///
/// ```
/// use toolglot::{DialectSet, Limits};
///
/// let decisions = DialectSet::defaults().decisions(&Limits::default());
/// let branches = &decisions.iter().find(|one| one.concerns("hermes")).unwrap().branches;
/// assert!(branches.iter().any(|branch| branch.dialects.contains(&"hermes".to_owned())));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Branch {
    /// The rest of the opener, up to the next branch.
    pub next: String,
    /// Ids of the dialects.
    pub dialects: Vec<String>,
}

impl Decision {
    /// Whether a dialect is involved.
    #[must_use]
    pub fn concerns(&self, dialect: &str) -> bool {
        let has = |branch: &Branch| branch.dialects.iter().any(|id| id == dialect);
        self.branches.iter().any(has)
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shared, lookahead) = (&self.shared, self.lookahead);
        let ids = |branch: &Branch| branch.dialects.join(", ");
        let lists = |glue: &str| {
            let one = |branch: &Branch| match branch.next.as_str() {
                "" => format!("else {}", ids(branch)),
                next => format!("`{next}` {}", ids(branch)),
            };
            self.branches.iter().map(one).collect::<Vec<_>>().join(glue)
        };
        match self.by {
            DecidedBy::NextByte => {
                let s = if lookahead == 1 {
                    "byte decides"
                } else {
                    "bytes decide"
                };
                write!(
                    f,
                    "`{shared}` goes on with {}: {lookahead} {s}",
                    lists("; ")
                )
            }
            DecidedBy::Body => {
                let all: Vec<String> = self.branches.iter().map(ids).collect();
                let all = all.join(", ");
                write!(
                    f,
                    "`{shared}` opens {all}: what follows decides, within {lookahead} bytes"
                )
            }
            DecidedBy::Earlier => {
                write!(
                    f,
                    "`{shared}` ends and begins openers: {}; the one that began earlier counts",
                    lists(" and ")
                )
            }
        }
    }
}

/// All decisions between openers of different dialects.
pub(super) fn decisions(dialects: &[Member], limits: &Limits) -> Vec<Decision> {
    let mut openers: Vec<(String, usize)> = vec![];
    for (index, dialect) in dialects.iter().enumerate() {
        // If messages have headers, calls open nowhere else.
        let mut own = match &dialect.spec.channels {
            Some(channels) => channels.start.clone(),
            None => dialect.openers(),
        };
        own.retain(|opener| !opener.is_empty());
        openers.extend(own.into_iter().map(|opener| (opener, index)));
    }
    openers.sort();
    openers.dedup();
    let report = Report {
        dialects,
        limits,
        openers: &openers,
    };
    let mut places: BTreeSet<&str> = BTreeSet::new();
    for pair in openers.windows(2) {
        places.insert(common(&pair[0].0, &pair[1].0));
    }
    let mut out = vec![];
    for place in places.into_iter().filter(|place| place.len() >= SHORT) {
        out.extend(report.shared(place));
        out.extend(report.parting(place));
    }
    report.overlaps(&mut out);
    out
}

/// The common prefix of two strings.
fn common<'a>(one: &'a str, other: &str) -> &'a str {
    let pairs = one.char_indices().zip(other.chars());
    let differ = pairs.clone().find(|((_, x), y)| x != y);
    let end = match differ {
        Some(((at, _), _)) => at,
        None => one.len().min(other.len()),
    };
    &one[..end]
}

struct Report<'a> {
    dialects: &'a [Member],
    limits: &'a Limits,
    /// Sorted, each with its dialect.
    openers: &'a [(String, usize)],
}

impl Report<'_> {
    fn ids(&self, mut list: Vec<usize>) -> Vec<String> {
        list.sort_unstable();
        list.dedup();
        let id = |n: &usize| self.dialects[*n].id().to_owned();
        list.iter().map(id).collect()
    }

    /// The decision for an opener of several dialects.
    fn shared(&self, opener: &str) -> Option<Decision> {
        let have = self.openers.iter().filter(|(have, _)| have == opener);
        let list: Vec<usize> = have.map(|(_, dialect)| *dialect).collect();
        let ahead = list
            .iter()
            .map(|n| self.dialects[*n].lookahead(self.limits));
        let lookahead = ahead.max().unwrap_or(0);
        let dialects = self.ids(list);
        (dialects.len() > 1).then(|| Decision {
            shared: opener.to_owned(),
            by: DecidedBy::Body,
            lookahead,
            branches: vec![Branch {
                next: String::new(),
                dialects,
            }],
        })
    }

    /// The decision for openers with a common prefix, unless all of them belong to one dialect.
    fn parting(&self, shared: &str) -> Option<Decision> {
        let mut ends = vec![];
        let mut ways: BTreeMap<char, (&str, Vec<usize>)> = BTreeMap::new();
        for (opener, dialect) in self.openers {
            let Some(rest) = opener.strip_prefix(shared) else {
                continue;
            };
            let Some(next) = rest.chars().next() else {
                ends.push(*dialect);
                continue;
            };
            let way = ways.entry(next).or_insert((rest, vec![]));
            way.0 = common(way.0, rest);
            way.1.push(*dialect);
        }
        let lookahead = ways.keys().map(|next| next.len_utf8()).max()?;
        let branch = |(next, list): (&str, Vec<usize>)| Branch {
            next: next.to_owned(),
            dialects: self.ids(list),
        };
        let mut branches: Vec<Branch> = ways.into_values().map(branch).collect();
        if !ends.is_empty() {
            branches.push(branch(("", ends)));
        }
        let all: BTreeSet<&String> = branches.iter().flat_map(|one| &one.dialects).collect();
        let several = branches.len() > 1 && all.len() > 1;
        several.then_some(Decision {
            shared: shared.to_owned(),
            by: DecidedBy::NextByte,
            lookahead,
            branches,
        })
    }

    /// Openers whose end is the beginning of another dialect's opener.
    fn overlaps(&self, out: &mut Vec<Decision>) {
        for (one, first) in self.openers {
            for (other, second) in self.openers.iter().filter(|(_, second)| second != first) {
                let most = one.len().min(other.len() + 1) - 1;
                let meets = |n: &usize| other.is_char_boundary(*n) && one.ends_with(&other[..*n]);
                let Some(n) = (SHORT..=most).rev().find(meets) else {
                    continue;
                };
                let branch = |opener: &str, dialect: usize| Branch {
                    next: opener.to_owned(),
                    dialects: self.ids(vec![dialect]),
                };
                out.push(Decision {
                    shared: other[..n].to_owned(),
                    by: DecidedBy::Earlier,
                    branches: vec![branch(one, *first), branch(other, *second)],
                    lookahead: other.len() - n,
                });
            }
        }
    }
}
