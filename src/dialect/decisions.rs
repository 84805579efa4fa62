//! Where the openers of a set meet, and what tells them apart.
//!
//! Openers are laid side by side as a tree of characters. Where it branches, the next character decides; where several
//! dialects end at one leaf, what follows the opener decides, and where the end of one opener begins another, the earlier
//! one wins. Nothing here runs while a stream is parsed: it is a report for the people who put a set together.

use std::collections::BTreeMap;
use std::fmt;

use super::Dialect;
use crate::limits::Limits;

/// Shared beginnings and overlaps shorter than this are the same for most openers and say nothing.
const SHORT: usize = 2;

/// A place where openers of different dialects meet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    /// What is the same in all of them.
    pub shared: String,
    /// What tells them apart.
    pub by: DecidedBy,
    /// Whose opener it is, by what comes next. An opener that ends here has nothing next.
    pub branches: Vec<Branch>,
    /// The most bytes behind `shared` that have to be seen.
    pub lookahead: usize,
}

/// What tells openers apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DecidedBy {
    /// They go on differently.
    NextByte,
    /// They are the same: what follows decides, in the order of the set.
    Body,
    /// The end of one is the beginning of another: the one that began earlier counts.
    Earlier,
}

/// One way on from what openers share.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Branch {
    /// The rest of the opener, up to where it branches again.
    pub next: String,
    /// Ids of the dialects.
    pub dialects: Vec<String>,
}

impl Decision {
    /// Whether a dialect takes part.
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

/// A node of the tree.
#[derive(Default)]
struct Node {
    next: BTreeMap<char, Node>,
    /// Dialects whose opener ends here.
    ends: Vec<usize>,
}

impl Node {
    fn insert(&mut self, opener: &str, dialect: usize) {
        let mut node = self;
        for c in opener.chars() {
            node = node.next.entry(c).or_default();
        }
        node.ends.push(dialect);
    }

    /// All dialects below.
    fn all(&self, out: &mut Vec<usize>) {
        out.extend(&self.ends);
        self.next.values().for_each(|node| node.all(out));
    }
}

/// Everything that is decided between openers of different dialects.
pub(super) fn decisions(dialects: &[Dialect], limits: &Limits) -> Vec<Decision> {
    let mut openers: Vec<(String, usize)> = vec![];
    for (index, dialect) in dialects.iter().enumerate() {
        let mut own = dialect.openers();
        own.retain(|opener| !opener.is_empty());
        openers.extend(own.into_iter().map(|opener| (opener, index)));
    }
    let mut root = Node::default();
    for (opener, dialect) in &openers {
        root.insert(opener, *dialect);
    }
    let report = Report { dialects, limits };
    let mut out = vec![];
    report.walk(&root, &mut String::new(), &mut out);
    report.overlaps(&openers, &mut out);
    out
}

struct Report<'a> {
    dialects: &'a [Dialect],
    limits: &'a Limits,
}

impl Report<'_> {
    fn ids(&self, mut list: Vec<usize>) -> Vec<String> {
        list.sort_unstable();
        list.dedup();
        list.iter()
            .map(|n| self.dialects[*n].id().to_owned())
            .collect()
    }

    /// Depth first; no opener is longer than a marker may be, so neither is the way down.
    fn walk(&self, node: &Node, path: &mut String, out: &mut Vec<Decision>) {
        let shared_by = self.ids(node.ends.clone());
        if shared_by.len() > 1 {
            let ahead = node
                .ends
                .iter()
                .map(|n| self.dialects[*n].lookahead(self.limits));
            out.push(Decision {
                shared: path.clone(),
                by: DecidedBy::Body,
                lookahead: ahead.max().unwrap_or(0),
                branches: vec![Branch {
                    next: String::new(),
                    dialects: shared_by,
                }],
            });
        }
        if path.len() >= SHORT && node.next.len() + usize::from(!node.ends.is_empty()) > 1 {
            out.extend(self.parting(node, path));
        }
        for (c, next) in &node.next {
            path.push(*c);
            self.walk(next, path, out);
            path.pop();
        }
    }

    /// Openers that part at a node, unless all of them are of one dialect.
    fn parting(&self, node: &Node, path: &str) -> Option<Decision> {
        let mut branches: Vec<Branch> = vec![];
        for (c, next) in &node.next {
            let mut dialects = vec![];
            next.all(&mut dialects);
            branches.push(Branch {
                next: stretch(*c, next),
                dialects: self.ids(dialects),
            });
        }
        if !node.ends.is_empty() {
            branches.push(Branch {
                next: String::new(),
                dialects: self.ids(node.ends.clone()),
            });
        }
        let first = branches.first().map(|branch| &branch.dialects);
        let alike = |branch: &Branch| Some(&branch.dialects) == first && branch.dialects.len() == 1;
        if branches.iter().all(alike) {
            return None;
        }
        let next = node.next.keys().map(|c| c.len_utf8()).max().unwrap_or(0);
        Some(Decision {
            shared: path.to_owned(),
            by: DecidedBy::NextByte,
            branches,
            lookahead: next,
        })
    }

    /// Openers of which the end of one is the beginning of another dialect's.
    fn overlaps(&self, openers: &[(String, usize)], out: &mut Vec<Decision>) {
        for (one, first) in openers {
            for (other, second) in openers.iter().filter(|(_, second)| second != first) {
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

/// What an edge spells up to the next branch or end.
fn stretch(first: char, mut node: &Node) -> String {
    let mut text = String::from(first);
    while node.ends.is_empty() && node.next.len() == 1 {
        let Some((c, next)) = node.next.first_key_value() else {
            break;
        };
        text.push(*c);
        node = next;
    }
    text
}
