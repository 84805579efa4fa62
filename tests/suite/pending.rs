//! Dialects whose vectors are here before they are: `pending.txt`, one id a line.
//!
//! Their vectors are skipped, and the number of those is printed. The list is the only way to skip a vector; a dialect that
//! has landed must leave it, and one that no vector names has no business in it.

/// The ids of the list.
pub fn pending() -> impl Iterator<Item = &'static str> {
    include_str!("pending.txt")
        .lines()
        .map(str::trim)
        .filter(|id| !id.is_empty())
}

/// Whether a dialect stands in the list.
pub fn is_pending(dialect: &str) -> bool {
    pending().any(|id| id == dialect)
}
