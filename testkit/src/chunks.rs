//! Ways to split an input into chunks.
//!
//! Every choice follows from the value of [`Chunking`] alone, so a run can be repeated: the seed comes from the
//! command line, never from a clock.

use std::num::NonZeroUsize;
use std::str::FromStr;

/// Longest chunk that [`Chunking::Random`] makes. Short chunks split more markers.
const RANDOM_MAX: u64 = 24;

/// How to split an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chunking {
    /// One chunk.
    Whole,
    /// Chunks of this many bytes; the last may be shorter.
    Size(NonZeroUsize),
    /// Chunks of 0 to 24 bytes, chosen by this seed.
    Random(u64),
}

impl FromStr for Chunking {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "whole" {
            return Ok(Self::Whole);
        }
        if let Some(seed) = text.strip_prefix("random:") {
            let seed = seed
                .parse()
                .map_err(|_| format!("the seed `{seed}` is not a whole number"))?;
            return Ok(Self::Random(seed));
        }
        let wrong =
            || format!("`{text}` is none of: a number of bytes from 1, `whole`, `random:SEED`");
        text.parse().map(Self::Size).map_err(|_| wrong())
    }
}

/// Decides how long the next chunk is.
#[derive(Clone, Debug)]
pub struct Cutter {
    chunking: Chunking,
    rng: Rng,
}

impl Cutter {
    /// Starts at the first chunk.
    #[must_use]
    pub fn new(chunking: Chunking) -> Self {
        let seed = match chunking {
            Chunking::Random(seed) => seed,
            Chunking::Whole | Chunking::Size(_) => 0,
        };
        Self {
            chunking,
            rng: Rng::new(seed),
        }
    }

    /// The length of the next chunk; `None` takes everything that is left.
    pub fn next_len(&mut self) -> Option<usize> {
        match self.chunking {
            Chunking::Whole => None,
            Chunking::Size(size) => Some(size.get()),
            Chunking::Random(_) => Some(self.rng.below(RANDOM_MAX + 1) as usize),
        }
    }

    /// Passes on every chunk of `input` in order. An empty input is one empty chunk.
    pub fn each<'a>(mut self, mut input: &'a [u8], mut take: impl FnMut(&'a [u8])) {
        loop {
            let len = self.next_len().unwrap_or(input.len()).min(input.len());
            let (chunk, rest) = input.split_at(len);
            take(chunk);
            input = rest;
            if input.is_empty() {
                return;
            }
        }
    }
}

/// SplitMix64: good enough to choose splits, and the same on every machine.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// Starts the sequence of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which must not be 0. Slightly biased, which does not matter here.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next_u64() % bound.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(spec: &str, input: &[u8]) -> Vec<Vec<u8>> {
        let mut out = vec![];
        Cutter::new(spec.parse().expect("a chunking"))
            .each(input, |chunk| out.push(chunk.to_vec()));
        out
    }

    #[test]
    fn chunks_joined_are_the_input() {
        let input: Vec<u8> = (0..=255).collect();
        for spec in ["whole", "1", "7", "256", "1000", "random:0", "random:99"] {
            assert_eq!(cut(spec, &input).concat(), input, "{spec}");
            assert_eq!(cut(spec, b"").concat(), b"", "{spec}");
        }
        assert_eq!(
            cut("100", &input).iter().map(Vec::len).collect::<Vec<_>>(),
            [100, 100, 56]
        );
        assert_eq!(cut("random:5", &input), cut("random:5", &input));
        assert_ne!(cut("random:5", &input), cut("random:6", &input));
    }

    #[test]
    fn wrong_words_are_refused() {
        for text in ["0", "-1", "x", "", "random:", "random:x", "1.5"] {
            assert!(text.parse::<Chunking>().is_err(), "{text}");
        }
    }
}
