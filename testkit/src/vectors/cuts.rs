//! Every way to chunk an input that a vector runs under.
//!
//! Hand-picked splits are not enough: a parser can fail under exactly one 3-way split. Inputs up to [`ALL_SPLITS`] bytes run
//! under all 2-way and 3-way splits, empty chunks included, and all chunk sizes; inputs up to [`ALL_PAIRS`] bytes under all
//! 2-way splits and a sample of the others; longer ones under a sample. Samples depend on the seed alone. For faster checks
//! during development, the environment variable `TOOLGLOT_SPLITS` replaces [`ALL_SPLITS`] and selects the sample of a quick
//! check; with 0, a few of each are tried, to see whether anything is read wrongly at all. [`Cuts::Quick`] is fast enough for an
//! interactive command: it has its own lengths and sample size.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::LazyLock;

use super::log::readable;
use crate::chunks::Rng;

/// Longest input, in bytes, for all 2-way and 3-way splits, unless `TOOLGLOT_SPLITS` overrides it.
const ALL_SPLITS: usize = 256;
static SPLITS: LazyLock<Option<usize>> = LazyLock::new(|| {
    let set = std::env::var("TOOLGLOT_SPLITS").ok();
    set.and_then(|text| text.parse().ok())
});

/// Whether `TOOLGLOT_SPLITS` asks for a quick run. Tests with random inputs then try fewer of them too.
///
/// ```
/// let tries = if toolglot_testkit::vectors::quick() { 250 } else { 1000 };
/// assert!(tries >= 250);
/// ```
pub fn quick() -> bool {
    SPLITS.is_some()
}

/// Longest input, in bytes, for all 2-way splits.
const ALL_PAIRS: usize = 4096;
/// Chunk sizes for longer inputs.
const SIZES: [usize; 8] = [1, 2, 3, 5, 7, 11, 16, 64];
/// Number of 2-way and of 3-way splits of a longer input, unless it is very long.
const SAMPLE: usize = 500;
/// Longest input, in bytes, for all 2-way and 3-way splits of a quick check.
const QUICK_SPLITS: usize = 40;
/// Longest input, in bytes, for all 2-way splits of a quick check.
const QUICK_PAIRS: usize = 1024;
/// Number of splits of a longer input in a quick check.
const QUICK_SAMPLE: usize = 60;
/// Total bytes of all sampled runs of one input, so that a long vector does not take minutes.
const SAMPLE_BYTES: usize = 64 << 20;
/// Minimum size of a sample, and its size if `TOOLGLOT_SPLITS` is 0.
const SAMPLE_MIN: usize = 20;

/// How many of the chunkings are tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cuts {
    /// Every place, and a sample of the pairs of places.
    #[default]
    Quick,
    /// Every pair of places, except in long inputs.
    All,
}

impl Cuts {
    /// The longest inputs for all 2-way and 3-way splits and for all 2-way splits, and the size of a sample.
    fn measure(self) -> (usize, usize, usize) {
        match self {
            Self::Quick => (QUICK_SPLITS, QUICK_PAIRS, QUICK_SAMPLE),
            Self::All => match *SPLITS {
                Some(0) => (0, 0, SAMPLE_MIN),
                Some(splits) => (splits, ALL_PAIRS, QUICK_SAMPLE),
                None => (ALL_SPLITS, ALL_PAIRS, SAMPLE),
            },
        }
    }
}

/// One chunking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// One chunk.
    Whole,
    /// Two chunks; the second starts here.
    Two(usize),
    /// Three chunks; the second and the third start here.
    Three(usize, usize),
    /// Chunks of this many bytes.
    Size(usize),
}

impl Cut {
    /// Passes on the chunks in order.
    pub fn feed<'a>(self, input: &'a [u8], take: &mut dyn FnMut(&'a [u8])) {
        match self {
            Self::Whole => take(input),
            Self::Two(at) => [&input[..at], &input[at..]].into_iter().for_each(take),
            Self::Three(i, j) => [&input[..i], &input[i..j], &input[j..]]
                .into_iter()
                .for_each(take),
            Self::Size(size) => input.chunks(size.max(1)).for_each(take),
        }
    }

    /// Describes the chunking for people, with the bytes around the splits.
    #[must_use]
    pub fn describe(self, input: &[u8]) -> String {
        let around = |at: usize| {
            let before = &input[at.saturating_sub(12)..at];
            let after = &input[at..input.len().min(at + 12)];
            format!("`{}` | `{}`", readable(before), readable(after))
        };
        match self {
            Self::Two(at) => format!("{self}: {}", around(at)),
            Self::Three(i, j) => format!("{self}: {} and {}", around(i), around(j)),
            Self::Whole | Self::Size(_) => self.to_string(),
        }
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("one chunk"),
            Self::Two(at) => write!(f, "cut at byte {at}"),
            Self::Three(i, j) => write!(f, "cut at bytes {i} and {j}"),
            Self::Size(size) => write!(f, "chunks of {size} bytes"),
        }
    }
}

/// Passes on every chunking of an input of `len` bytes, simple ones first, until `check` breaks. The whole input is left out:
/// the others are compared with it.
pub fn each_cut<B>(
    cuts: Cuts,
    len: usize,
    seed: u64,
    check: impl FnMut(Cut) -> ControlFlow<B>,
) -> ControlFlow<B> {
    each_of(cuts.measure(), len, seed, check)
}

fn each_of<B>(
    (splits, pairs, most): (usize, usize, usize),
    len: usize,
    seed: u64,
    mut check: impl FnMut(Cut) -> ControlFlow<B>,
) -> ControlFlow<B> {
    match len <= splits {
        true => every(len, &mut check),
        false => sample(len, pairs, most, seed, &mut check),
    }
}

fn every<B>(len: usize, check: &mut impl FnMut(Cut) -> ControlFlow<B>) -> ControlFlow<B> {
    (0..=len).map(Cut::Two).try_for_each(&mut *check)?;
    (1..=len).map(Cut::Size).try_for_each(&mut *check)?;
    (0..=len)
        .flat_map(|i| (i..=len).map(move |j| Cut::Three(i, j)))
        .try_for_each(check)
}

fn sample<B>(
    len: usize,
    pairs: usize,
    most: usize,
    seed: u64,
    check: &mut impl FnMut(Cut) -> ControlFlow<B>,
) -> ControlFlow<B> {
    SIZES.into_iter().map(Cut::Size).try_for_each(&mut *check)?;
    if len <= pairs {
        (0..=len).map(Cut::Two).try_for_each(&mut *check)?;
    }
    let mut rng = Rng::new(seed);
    let mut at = |from: usize| from + rng.below((len - from + 1) as u64) as usize;
    for _ in 0..most.min(SAMPLE_BYTES / len).max(SAMPLE_MIN) {
        if len > pairs {
            check(Cut::Two(at(0)))?;
        }
        let i = at(0);
        check(Cut::Three(i, at(i)))?;
    }
    ControlFlow::Continue(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(measure: (usize, usize, usize), len: usize) -> Vec<Cut> {
        let mut out = vec![];
        let _: ControlFlow<()> = each_of(measure, len, 7, |cut| {
            out.push(cut);
            ControlFlow::Continue(())
        });
        out
    }

    fn all(len: usize) -> Vec<Cut> {
        of((ALL_SPLITS, ALL_PAIRS, SAMPLE), len)
    }

    /// A quick check leaves out pairs of places only: every single place, and single bytes, are always tried.
    #[test]
    fn a_quick_check_splits_at_every_place() {
        for len in [0, 1, 40, 41, 256, 1024] {
            let cuts = of(Cuts::Quick.measure(), len);
            assert!((0..=len).all(|at| cuts.contains(&Cut::Two(at))), "{len}");
            assert!(len == 0 || cuts.contains(&Cut::Size(1)), "{len}");
            assert!(
                cuts.iter().any(|cut| matches!(cut, Cut::Three(..))),
                "{len}"
            );
            assert!(cuts.len() <= 1100, "{len}");
        }
    }

    #[test]
    fn short_inputs_are_split_everywhere() {
        // 5 places for one split, 4 sizes, 5 + 4 + 3 + 2 + 1 pairs of places for two.
        assert_eq!(all(4).len(), 5 + 4 + 15);
        assert_eq!(all(0), [Cut::Two(0), Cut::Three(0, 0)]);
        assert!(all(256).contains(&Cut::Three(256, 256)));
    }

    #[test]
    fn long_inputs_are_sampled_the_same_way_each_time() {
        assert_eq!(all(257), all(257));
        assert_eq!(all(257).len(), SIZES.len() + 258 + SAMPLE);
        assert_eq!(all(4097).len(), SIZES.len() + 2 * SAMPLE);
        assert_eq!(all(1 << 30).len(), SIZES.len() + 2 * SAMPLE_MIN);
    }

    #[test]
    fn chunks_joined_are_the_input() {
        let input = b"abcdefg";
        for cut in all(input.len()).into_iter().chain([Cut::Whole]) {
            let mut joined = vec![];
            cut.feed(input, &mut |chunk| joined.extend_from_slice(chunk));
            assert_eq!(joined, input, "{cut}");
        }
    }
}
