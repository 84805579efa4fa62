//! The checks of `checks/`, one for each fuzz target.

#[allow(unused_imports, reason = "the tests of the repository use the rest")]
#[path = "../checks/mod.rs"]
mod checks;

pub use checks::{Check, Count, Cuts, FAMILIES, TARGETS, one_each, parses, words};

/// The check of a target, or the names of all.
///
/// # Errors
///
/// A sentence with the names, if there is no such target.
pub fn check(name: &str) -> Result<Check, String> {
    let found = TARGETS.iter().find(|(known, _)| *known == name);
    found.map(|(_, check)| *check).ok_or_else(|| {
        let names: Vec<_> = TARGETS.iter().map(|(name, _)| *name).collect();
        format!("no target {name:?}; there are {}", names.join(", "))
    })
}
