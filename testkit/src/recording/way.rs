//! Other ways to chunk a recording.

use std::ops::ControlFlow;
use std::str::FromStr;

use crate::chunks::{Chunking, Cutter, Rng};
use crate::vectors::{Cuts, each_cut};

/// Number of random chunkings per seed.
const RANDOM: usize = 100;

/// Ways to chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// One chunking: a number of bytes, or whole. With random sizes: a hundred chunkings.
    Chunks(Chunking),
    /// Every chunking that vectors run under.
    Each,
}

impl FromStr for Way {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "each" {
            return Ok(Self::Each);
        }
        let wrong = |why: String| match text.starts_with("random:") {
            true => why,
            false => format!(
                "`{text}` is none of: a number of bytes from 1, `whole`, `each`, `random:SEED`"
            ),
        };
        text.parse().map(Self::Chunks).map_err(wrong)
    }
}

impl Way {
    /// Passes on lengths of chunks until `check` breaks.
    pub fn each<B>(
        self,
        input: &[u8],
        mut check: impl FnMut(Vec<usize>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        match self {
            Self::Each => each_cut(Cuts::All, input.len(), input.len() as u64, |cut| {
                let mut lens = vec![];
                cut.feed(input, &mut |chunk| lens.push(chunk.len()));
                check(lens)
            }),
            Self::Chunks(Chunking::Random(seed)) => {
                let mut rng = Rng::new(seed);
                (0..RANDOM).try_for_each(|_| check(lens(Chunking::Random(rng.next_u64()), input)))
            }
            Self::Chunks(one) => check(lens(one, input)),
        }
    }
}

fn lens(chunking: Chunking, input: &[u8]) -> Vec<usize> {
    let mut lens = vec![];
    Cutter::new(chunking).each(input, |chunk| lens.push(chunk.len()));
    lens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_add_up() {
        let input = b"abcdefghij".repeat(3);
        for (text, count) in [
            ("3", 1),
            ("whole", 1),
            ("random:7", RANDOM),
            ("each", 31 + 30 + 31 * 32 / 2),
        ] {
            let way: Way = text.parse().expect("a way");
            let mut seen = 0;
            let _: ControlFlow<()> = way.each(&input, |lens| {
                assert_eq!(lens.iter().sum::<usize>(), input.len(), "{text}");
                seen += 1;
                ControlFlow::Continue(())
            });
            assert_eq!(seen, count, "{text}");
        }
        for text in ["", "0", "every", "random:x"] {
            assert!(text.parse::<Way>().is_err(), "{text}");
        }
    }
}
