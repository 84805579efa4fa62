//! Yardsticks for the parser: the minimum cost of processing the same bytes.

use std::hint::black_box;

use aho_corasick::packed;
use toolglot::DialectSet;

/// A byte that occurs in no text here.
const ABSENT: u8 = 0;

/// Searches for an absent byte: reads every byte once, with vector instructions.
pub fn memchr_absent(input: &[u8], ends: &[usize]) -> u64 {
    let mut at = 0;
    let mut found = 0;
    for end in ends {
        found += u64::from(memchr::memchr(black_box(ABSENT), &input[at..*end]).is_some());
        at = *end;
    }
    found
}

/// Packed Teddy over the openers and closers of a few dialects: the fastest general search for several patterns. It
/// accepts at most 64, fewer than the default set has.
pub fn teddy() -> packed::Searcher {
    let few = ["tam", "vcp", "tool-call-xml", "action", "tool-action"];
    let set = few
        .iter()
        .fold(DialectSet::builder(), |set, id| set.builtin(id));
    let set = set.build().expect("built-in dialects");
    let markers: Vec<String> = set
        .dialects()
        .flat_map(|dialect| [dialect.openers(), dialect.closers()].concat())
        .collect();
    packed::Config::new()
        .builder()
        .extend(&markers)
        .build()
        .expect("few markers, and a processor with vectors")
}

pub fn teddy_absent(searcher: &packed::Searcher, input: &[u8], ends: &[usize]) -> u64 {
    let mut at = 0;
    let mut found = 0;
    for end in ends {
        found += u64::from(searcher.find(&input[at..*end]).is_some());
        at = *end;
    }
    found
}

/// A call through a pointer, with a chunk: what a host pays per chunk for nothing.
pub fn null_calls(input: &[u8], ends: &[usize]) -> u64 {
    let call: fn(&mut u64, &[u8]) = black_box(null);
    let mut at = 0;
    let mut state = 0;
    for end in ends {
        call(&mut state, &input[at..*end]);
        at = *end;
    }
    state
}

#[inline(never)]
fn null(state: &mut u64, chunk: &[u8]) {
    *state += black_box(chunk).len() as u64;
}
