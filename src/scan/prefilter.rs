//! Skips over bytes at which no marker can begin.
//!
//! Three ways, chosen as the text goes: a byte table for chunks of a token's size, `memchr` on the first bytes of the
//! markers while they are rare, and packed Teddy over whole markers where first bytes are dense (code full of `<`), which
//! costs the same whatever the text. The choice lives in [`Skip`], which belongs to one feed and never to the parser's state.

use aho_corasick::packed;
use memchr::{memchr, memchr2, memchr3};

use super::{Dfa, Pattern};

/// Chunks up to this length are looked at byte by byte.
const TINY: usize = 32;
/// So many false candidates within [`WINDOW`] bytes make the text dense.
const DENSE: u32 = 12;
const WINDOW: usize = 1024;
/// How far Teddy stays in charge before the density is measured again.
const STRETCH: usize = 16 * 1024;

/// An automaton with its prefilters. Immutable.
#[derive(Clone, Debug)]
pub(crate) struct Scanner {
    pub dfa: Dfa,
    begins: Box<[bool; 256]>,
    firsts: Vec<u8>,
    teddy: Option<packed::Searcher>,
}

/// What one feed has seen of the text's density.
#[derive(Debug, Default)]
pub(crate) struct Skip {
    window: usize,
    candidates: u32,
    dense_until: usize,
}

impl Scanner {
    pub fn new(patterns: Vec<Pattern>) -> Result<Self, String> {
        let dfa = Dfa::new(patterns)?;
        let mut begins = Box::new([false; 256]);
        for byte in 0..=255_u8 {
            begins[usize::from(byte)] = dfa.next(super::ROOT, byte) != super::ROOT;
        }
        let firsts = (0..=255_u8)
            .filter(|byte| begins[usize::from(*byte)])
            .collect();
        let teddy = if dfa.exact() && dfa.patterns().iter().all(|p| p.bytes.len() > 1) {
            packed::Config::new()
                .builder()
                .extend(dfa.patterns().iter().map(|p| &p.bytes))
                .build()
        } else {
            None
        };
        Ok(Self {
            dfa,
            begins,
            firsts,
            teddy,
        })
    }

    /// The next index from `at` on at which a marker may begin, or the length of `hay`. Nothing may be under way at `at`.
    #[inline]
    pub fn skip(&self, hay: &[u8], at: usize, state: &mut Skip) -> usize {
        if hay.len() - at <= TINY {
            return self.tiny(hay, at);
        }
        self.bulk(hay, at, state)
    }

    #[inline]
    fn tiny(&self, hay: &[u8], at: usize) -> usize {
        hay[at..]
            .iter()
            .position(|byte| self.begins[usize::from(*byte)])
            .map_or(hay.len(), |n| at + n)
    }

    fn bulk(&self, hay: &[u8], at: usize, state: &mut Skip) -> usize {
        let dense = at < state.dense_until || self.firsts.len() > 3;
        if let Some(teddy) = self.teddy.as_ref().filter(|_| dense) {
            return self.dense(teddy, hay, at);
        }
        if at >= state.window + WINDOW {
            state.window = at;
            state.candidates = 0;
        }
        state.candidates += 1;
        if state.candidates > DENSE {
            state.dense_until = at + STRETCH;
            state.candidates = 0;
        }
        let rest = &hay[at..];
        let found = match *self.firsts.as_slice() {
            [] => None,
            [a] => memchr(a, rest),
            [a, b] => memchr2(a, b, rest),
            [a, b, c] => memchr3(a, b, c, rest),
            _ => return self.tiny(hay, at),
        };
        found.map_or(hay.len(), |n| at + n)
    }

    /// Up to the next whole marker; if there is none, up to where a marker that the chunk cuts may begin.
    fn dense(&self, teddy: &packed::Searcher, hay: &[u8], at: usize) -> usize {
        let tail = hay.len().saturating_sub(self.dfa.max_len() - 1).max(at);
        if at < tail {
            match teddy.find_in(
                hay,
                aho_corasick::Span {
                    start: at,
                    end: hay.len(),
                },
            ) {
                Some(found) => return found.start(),
                None => return self.tiny(hay, tail),
            }
        }
        self.tiny(hay, at)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ROOT;
    use super::*;
    use crate::dialect::spec::Case;

    /// Ends of markers, by skipping and by stepping every byte.
    fn ends(scanner: &Scanner, hay: &[u8], skipping: bool) -> (Vec<usize>, u16) {
        let (mut node, mut at, mut state, mut out) = (ROOT, 0, Skip::default(), vec![]);
        while at < hay.len() {
            if skipping && node == ROOT {
                at = scanner.skip(hay, at, &mut state);
                if at == hay.len() {
                    break;
                }
            }
            node = scanner.dfa.next(node, hay[at]);
            at += 1;
            if scanner.dfa.is_hit(node) {
                out.push(at);
            }
        }
        (out, node)
    }

    #[test]
    fn skipping_changes_nothing() {
        let markers = ["<tool_call", "<<<[REQ]>>>", "<|[R]|>", "[x"];
        for count in 1..=markers.len() {
            let patterns = markers[..count]
                .iter()
                .map(|m| Pattern::new(m, Case::Exact))
                .collect();
            let scanner = Scanner::new(patterns).expect("few patterns");
            let mut seed = 7_u64;
            let pieces = [
                "<",
                "plain words ",
                "<tool_call",
                "<tool_cal",
                "<<<[REQ]>>>",
                "<<",
                "<|[R]|",
                "[",
                "[x",
                "a < b; ",
            ];
            for round in 0..400 {
                let mut hay = String::new();
                for _ in 0..(round % 97) {
                    seed = seed
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    hay.push_str(pieces[(seed >> 33) as usize % pieces.len()]);
                }
                let hay = hay.as_bytes();
                assert_eq!(
                    ends(&scanner, hay, true),
                    ends(&scanner, hay, false),
                    "{}",
                    String::from_utf8_lossy(hay)
                );
            }
        }
    }
}
