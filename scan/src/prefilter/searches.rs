//! Searches for the beginnings of markers: `memchr` for first bytes that are rare in text, and a substring search for each
//! marker that begins with a letter. A hit is compared with the first bytes of the markers before the automaton sees it. Where
//! candidates are dense (code full of `<`), packed Teddy over whole markers takes over for a while, or the table if there are
//! too many markers for Teddy; both cost the same whatever the text. The choice is kept in [`Skip`], which belongs to one feed
//! and never to the parser's state.

use std::collections::BTreeSet;

use aho_corasick::packed;
use memchr::{memchr, memchr2, memchr3, memmem};

use super::{HEAD, Scanner, Skip};
use crate::chars::frequent;
use crate::{Dfa, Pattern, ROOT};

/// More candidates than this within [`WINDOW`] bytes make the text dense.
const DENSE: u32 = 20;
/// The same limit where the byte table is the only alternative.
const CROWDED: u32 = 64;
const WINDOW: usize = 1024;
/// How far the dense mode stays active before the density is measured again.
const STRETCH: usize = 16 * 1024;
/// How far each search goes before the next one runs: the first step, and the longest. A hit resets the length, which bounds
/// what the other searches read again.
const STEP: usize = 256;
const MAX_STEP: usize = 16 * 1024;
/// More searches than this cost more than the table.
const SEARCHES: usize = 6;
/// Teddy takes at most this many markers.
const TEDDY: usize = 64;

/// What one feed has seen of the text's density, and how far each search goes.
#[derive(Debug)]
pub(super) struct Density {
    window: usize,
    candidates: u32,
    dense_until: usize,
    step: usize,
}

impl Default for Density {
    fn default() -> Self {
        Self {
            window: 0,
            candidates: 0,
            dense_until: 0,
            step: STEP,
        }
    }
}

/// The searches for the markers of a set.
#[derive(Clone, Debug)]
pub(super) struct Searches {
    /// Empty if the table alone is cheaper.
    all: Vec<Search>,
    pub dense: Option<Dense>,
}

#[derive(Clone, Debug)]
pub(super) enum Search {
    /// One to three bytes that begin markers.
    Bytes(Vec<u8>),
    /// A whole marker.
    Marker(Box<memmem::Finder<'static>>),
}

/// Finds markers where candidates are dense.
#[derive(Clone, Debug)]
pub(super) struct Dense {
    /// Searches for the markers, or for their prefixes of at most `prefix` bytes.
    teddy: packed::Searcher,
    pub prefix: usize,
    /// The two bytes that most markers begin with, if Teddy could not take those markers as well.
    pub pair: Option<Search>,
}

impl Searches {
    pub fn new(dfa: &Dfa) -> Self {
        Self {
            all: searches(dfa),
            dense: Dense::new(dfa),
        }
    }

    pub fn count(&self) -> usize {
        self.all.len()
    }
}

impl Scanner {
    /// The next index from `at` on at which a marker may begin, or the length of `hay`.
    pub(super) fn search(
        &self,
        searches: &Searches,
        hay: &[u8],
        mut at: usize,
        state: &mut Skip,
    ) -> usize {
        while at < hay.len() {
            if at < state.density.dense_until || searches.all.is_empty() {
                return match &searches.dense {
                    Some(dense) => self.dense(dense, hay, at, state),
                    None => self.table(hay, at, state),
                };
            }
            let step = if searches.all.len() > 1 {
                state.density.step
            } else {
                hay.len()
            };
            let end = hay.len().min(at.saturating_add(step));
            let Some(found) = search(&searches.all, hay, at, end) else {
                state.density.step = MAX_STEP.min(2 * state.density.step);
                at = end;
                continue;
            };
            state.density.step = STEP;
            state.density.candidate(found, searches.dense.is_some());
            if self.may(hay, found) {
                return found;
            }
            at = found + 1;
        }
        hay.len()
    }

    /// Skips to what begins like a marker. Markers that the end of the chunk splits count: one may begin before a whole
    /// marker that it contains (`Action:` in `**Action:**`).
    fn dense(&self, dense: &Dense, hay: &[u8], mut at: usize, state: &mut Skip) -> usize {
        let tail = hay.len().saturating_sub(dense.prefix - 1).max(at);
        // Where the pair occurs next, or the end of what was searched for it.
        let (mut pair, mut step) = (at, WINDOW);
        while at < tail {
            if pair <= at {
                let end = match dense.pair {
                    None => tail,
                    Some(_) => tail.min(at + step),
                };
                pair = search(dense.pair.as_slice(), hay, at, end).unwrap_or(end);
                step = MAX_STEP.min(2 * step);
            }
            let span = aho_corasick::Span {
                start: at,
                end: hay.len().min(pair + dense.prefix - 1),
            };
            let found = dense.teddy.find_in(hay, span).map(|found| found.start());
            let first = found.map_or(pair, |found| pair.min(found));
            if first < tail && self.may(hay, first) {
                return first;
            }
            at = tail.min(first + 1);
        }
        self.table(hay, at, state)
    }
}

/// The first index in `at..end` that one of these searches finds.
fn search(searches: &[Search], hay: &[u8], at: usize, end: usize) -> Option<usize> {
    let mut first = end;
    for search in searches {
        let found = match search {
            Search::Bytes(bytes) => match *bytes.as_slice() {
                [a] => memchr(a, &hay[at..first]),
                [a, b] => memchr2(a, b, &hay[at..first]),
                [a, b, c] => memchr3(a, b, c, &hay[at..first]),
                _ => hay[at..first].iter().position(|byte| bytes.contains(byte)),
            },
            Search::Marker(marker) => {
                let needle = marker.needle();
                let to = hay.len().min(first + needle.len() - 1);
                let found = marker.find(&hay[at..to]);
                if found.is_none() && to == hay.len() {
                    // The end of the chunk may split a marker.
                    let tail = at.max((to + 1).saturating_sub(needle.len()));
                    split_by_end(needle, hay, tail).map(|n| n - at)
                } else {
                    found
                }
            }
        };
        first = found.map_or(first, |n| first.min(at + n));
    }
    (first < end).then_some(first)
}

impl Density {
    /// Counts a candidate.
    fn candidate(&mut self, at: usize, teddy: bool) {
        if at >= self.window.saturating_add(WINDOW) {
            self.window = at;
            self.candidates = 0;
        }
        self.candidates += 1;
        if self.candidates > if teddy { DENSE } else { CROWDED } {
            self.dense_until = at + STRETCH;
            self.candidates = 0;
        }
    }
}

impl Dense {
    /// Searches for the markers or, if there are too many, for prefixes that are as long as Teddy can take. If those are
    /// still too many, the most common first pair is searched for separately.
    fn new(dfa: &Dfa) -> Option<Self> {
        let markers = dfa.patterns();
        if !dfa.exact() || markers.iter().any(|p| p.bytes.len() < 2) {
            return None;
        }
        for prefix in [dfa.max_len(), 8, 4, 3] {
            let mut begins: BTreeSet<&[u8]> = markers
                .iter()
                .map(|marker| within(beginning(dfa, marker), prefix))
                .collect();
            let pair = match begins.len() <= TEDDY {
                true => None,
                false => Some(commonest(&begins)),
            };
            begins.retain(|begin| pair.is_none_or(|pair| !begin.starts_with(pair)));
            if prefix == HEAD {
                begins = merged(begins);
            }
            if begins.len() <= TEDDY {
                let finder = |pair| Box::new(memmem::Finder::new(pair).into_owned());
                return Some(Self {
                    teddy: packed::Config::new().builder().extend(begins).build()?,
                    prefix,
                    pair: pair.map(|pair| Search::Marker(finder(pair))),
                });
            }
        }
        None
    }
}

/// At most `most` bytes, and none after white space: spellings that differ only there are searched for as one.
fn within(begin: &[u8], most: usize) -> &[u8] {
    let begin = &begin[..begin.len().min(most)];
    let blank = begin.iter().skip(1).position(u8::is_ascii_whitespace);
    blank.map_or(begin, |at| &begin[..at + 2])
}

/// At most as many prefixes as Teddy takes, if possible. Prefixes that differ only in their last byte are replaced by what
/// they share. Those with the fewest letters go first, since they are the rarest in text.
fn merged(mut begins: BTreeSet<&[u8]>) -> BTreeSet<&[u8]> {
    fn shared(begin: &[u8]) -> &[u8] {
        &begin[..HEAD - 1]
    }
    while begins.len() > TEDDY {
        let twins = |begin: &[u8]| {
            let others = begins.iter();
            others
                .filter(|other| other.starts_with(shared(begin)))
                .count()
                > 1
        };
        let letters = |begin: &[u8]| {
            let letters = shared(begin)
                .iter()
                .filter(|byte| byte.is_ascii_alphabetic());
            letters.count()
        };
        let whole = begins.iter().filter(|begin| begin.len() == HEAD);
        let whole = whole.filter(|begin| twins(begin));
        let Some(begin) = whole.min_by_key(|begin| letters(begin)).copied() else {
            break;
        };
        begins.retain(|other| !other.starts_with(shared(begin)));
        begins.insert(shared(begin));
    }
    begins
}

/// The two bytes that most prefixes begin with.
fn commonest<'m>(begins: &BTreeSet<&'m [u8]>) -> &'m [u8] {
    let count = |pair: &[u8]| {
        begins
            .iter()
            .filter(|begin| begin.starts_with(pair))
            .count()
    };
    let pairs = begins.iter().map(|begin| &begin[..2]);
    pairs.max_by_key(|pair| count(pair)).unwrap_or_default()
}

/// The prefix of a marker to search for: up to the end of the first other marker inside it. The scan must stop where that
/// one ends, because this one may be under way and hold back text.
fn beginning<'p>(dfa: &Dfa, marker: &'p Pattern) -> &'p [u8] {
    let mut node = ROOT;
    for (at, byte) in marker.bytes.iter().enumerate().skip(1) {
        node = dfa.next(node, *byte);
        if dfa.is_hit(node) {
            return &marker.bytes[..=at];
        }
    }
    &marker.bytes
}

/// Where a marker begins, from `at` on, that the end of `hay` splits.
fn split_by_end(marker: &[u8], hay: &[u8], at: usize) -> Option<usize> {
    (at..hay.len()).find(|start| marker.starts_with(&hay[*start..]))
}

/// The searches for the prefixes of all markers; empty if the table alone is cheaper.
fn searches(dfa: &Dfa) -> Vec<Search> {
    let mut bytes: Vec<u8> = vec![];
    let mut markers: Vec<&[u8]> = vec![];
    for pattern in dfa.patterns() {
        let first = pattern.bytes[0];
        if !frequent(first) {
            bytes.push(first);
        } else if pattern.exact() && pattern.bytes.len() > 2 {
            markers.push(beginning(dfa, pattern));
        } else {
            // Both cases of a letter.
            let both = (0..=255).filter(|byte| pattern.accepts(0, *byte));
            bytes.extend(both);
        }
    }
    bytes.sort_unstable();
    bytes.dedup();
    // A marker is found by its first byte if that byte is searched for anyway.
    markers.retain(|marker| !bytes.contains(&marker[0]));
    markers.sort_unstable();
    markers.dedup();
    let finder = |marker: &[u8]| memmem::Finder::new(marker).into_owned();
    let bytes = bytes.chunks(3).map(|bytes| Search::Bytes(bytes.to_vec()));
    let markers = markers
        .iter()
        .map(|marker| Search::Marker(Box::new(finder(marker))));
    let all: Vec<Search> = bytes.chain(markers).collect();
    if all.len() > SEARCHES { vec![] } else { all }
}
