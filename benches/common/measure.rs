//! Times for comparison: all candidates of a question run alternately, round by round.
//!
//! A busy machine makes single times worthless. Here every candidate gets a short batch in every round, and the shortest
//! batch counts: it is the least disturbed one.

use std::hint::black_box;
use std::time::{Duration, Instant};

const ROUNDS: usize = 21;
const BATCH: Duration = Duration::from_micros(1500);

/// Something to time. It returns a number, so that its work is not optimised away.
pub struct Candidate<'a> {
    pub name: String,
    run: Box<dyn FnMut() -> u64 + 'a>,
    repeat: u32,
    best: Duration,
}

impl<'a> Candidate<'a> {
    pub fn new(name: impl Into<String>, run: impl FnMut() -> u64 + 'a) -> Self {
        Self {
            name: name.into(),
            run: Box::new(run),
            repeat: 1,
            best: Duration::MAX,
        }
    }

    fn batch(&mut self) -> Duration {
        let start = Instant::now();
        for _ in 0..self.repeat {
            black_box((self.run)());
        }
        start.elapsed()
    }

    /// Nanoseconds per run of the best batch.
    pub fn nanos(&self) -> f64 {
        self.best.as_secs_f64() * 1e9 / f64::from(self.repeat)
    }
}

/// Times all candidates alternately.
pub fn race(candidates: &mut [Candidate<'_>]) {
    for candidate in candidates.iter_mut() {
        while candidate.batch() < BATCH && candidate.repeat < 1 << 24 {
            candidate.repeat *= 2;
        }
    }
    for _ in 0..ROUNDS {
        for candidate in candidates.iter_mut() {
            candidate.best = candidate.best.min(candidate.batch());
        }
    }
}
