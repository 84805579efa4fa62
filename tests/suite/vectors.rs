//! Laws 1 and 2 over every vector: all chunkings give one log, its leaves partition the input, and the result is what
//! the vector expects.

use std::num::NonZeroUsize;

use toolglot_testkit::vectors::{Cuts, check};

use crate::support::{SETS, VECTORS};

/// Minimum number of vectors for each dialect in `SEEDS`.
const MANY: usize = 20;
/// Minimum number of vectors for every other dialect.
const SOME: usize = 3;
const SEEDS: [&str; 6] = [
    "tam",
    "tam2",
    "vcp",
    "tool-call-xml",
    "action",
    "tool-action",
];

#[test]
fn every_vector_passes_under_every_chunking() {
    let jobs = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let summary = check(&VECTORS, &SETS, Cuts::All, jobs).expect("vectors that name what exists");
    for failure in &summary.failures {
        eprintln!("{failure}");
    }
    assert_eq!(
        summary.failed, 0,
        "{} passed, {} failed",
        summary.passed, summary.failed
    );
    assert_eq!(summary.passed, VECTORS.len());
}

#[test]
fn every_dialect_has_vectors() {
    for (id, _) in toolglot::builtin_files() {
        let least = if SEEDS.contains(id) { MANY } else { SOME };
        let count = VECTORS
            .iter()
            .filter(|vector| vector.dialect == *id)
            .count();
        assert!(count >= least, "{id} has {count} vectors, not {least}");
    }
}

#[test]
fn ids_are_unique() {
    let mut ids: Vec<&str> = VECTORS.iter().map(|vector| vector.id.as_str()).collect();
    ids.sort_unstable();
    let twice: Vec<_> = ids.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(twice.is_empty(), "{twice:?}");
}
