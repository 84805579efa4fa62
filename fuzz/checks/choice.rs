//! Which of a check's comparisons are made on an input.
//!
//! A replay makes all of them. The fuzzer makes one on each input, chosen by the input's bytes: several inputs find more than
//! several comparisons of one. What it finds, a replay finds too.

use std::hash::{DefaultHasher, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};

static ONE: AtomicBool = AtomicBool::new(false);

/// From now on, each check of this process makes one comparison on each input.
#[allow(dead_code, reason = "the fuzzer calls it")]
pub fn one_each() {
    ONE.store(true, Ordering::Relaxed);
}

/// The choice for one input.
#[derive(Clone, Copy, Debug)]
pub struct Choice(Option<u64>);

impl Choice {
    pub const ALL: Self = Self(None);

    pub fn of(data: &[u8]) -> Self {
        Self(ONE.load(Ordering::Relaxed).then(|| {
            let mut hasher = DefaultHasher::new();
            hasher.write(data);
            hasher.finish()
        }))
    }

    /// Whether to make the comparison at `index`, of `count`.
    pub fn takes(self, index: u64, count: u64) -> bool {
        self.0.is_none_or(|hash| hash % count == index)
    }

    /// The choice among comparisons that are independent of those chosen from `count`.
    pub fn within(self, count: u64) -> Self {
        Self(self.0.map(|hash| hash / count))
    }
}
