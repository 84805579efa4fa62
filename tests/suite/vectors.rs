//! Laws 1 and 2 over every vector: all cuts give one log, its leaves partition the input, and what comes out is what the
//! vector expects.

use std::num::NonZeroUsize;

use toolglot_cli::vectors::{Cuts, check};

use crate::pending::{is_pending, pending};
use crate::support::{ALL_VECTORS, SETS, VECTORS};

/// Vectors that the dialects of the seeds have at least.
const MANY: usize = 20;
/// Vectors that every other dialect has at least.
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
fn every_vector_passes_under_every_cut() {
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
    let skipped = ALL_VECTORS.len() - VECTORS.len();
    eprintln!("{skipped} vectors skipped: their dialects are pending");
}

#[test]
fn a_dialect_that_has_landed_is_not_pending() {
    let landed: Vec<&str> = toolglot::builtin_files()
        .iter()
        .map(|(id, _)| *id)
        .collect();
    let late: Vec<&str> = pending().filter(|id| landed.contains(id)).collect();
    assert!(
        late.is_empty(),
        "strike them from tests/suite/pending.txt: {late:?}"
    );
    for id in pending() {
        let named = ALL_VECTORS.iter().any(|vector| vector.dialect == id);
        assert!(named, "no vector names the pending dialect {id}");
        assert_eq!(
            pending().filter(|other| *other == id).count(),
            1,
            "{id} stands twice in the list"
        );
    }
}

#[test]
fn every_vector_names_a_dialect_that_has_landed_or_is_pending() {
    for vector in ALL_VECTORS.iter() {
        let landed = toolglot::builtin_files()
            .iter()
            .any(|(id, _)| *id == vector.dialect);
        assert!(
            landed || is_pending(&vector.dialect),
            "{}: there is no dialect {}",
            vector.id,
            vector.dialect
        );
    }
}

#[test]
fn nothing_is_pending() {
    assert_eq!(pending().collect::<Vec<_>>(), [""; 0]);
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
    let mut ids: Vec<&str> = ALL_VECTORS
        .iter()
        .map(|vector| vector.id.as_str())
        .collect();
    ids.sort_unstable();
    let twice: Vec<_> = ids.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(twice.is_empty(), "{twice:?}");
}
