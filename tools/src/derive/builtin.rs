//! The built-in dialect that reads what a template writes.

use toolglot::{DialectSet, builtin_files};

use super::calls::Seen;
use super::check::Cells;
use super::score;
use super::turns::Around;

/// The built-in dialects that read every cell, and their set: one that knows the turn's opener first, and with a dialect of
/// reasoning only if none does alone.
pub(super) fn find(
    seen: &Seen,
    around: &Around,
    cells: &Cells<'_>,
) -> Option<(Vec<String>, DialectSet)> {
    let samples = seen.samples();
    let known = |file: &str| around.turn().is_some_and(|turn| file.contains(turn));
    let mut calls: Vec<(&str, &str)> = builtin_files()
        .iter()
        .filter(|(id, _)| {
            let set = DialectSet::builtin(id);
            set.is_ok_and(|set| samples.iter().any(|sample| cells.reads(&set, sample)))
        })
        .copied()
        .collect();
    calls.sort_by_key(|(_, file)| !known(file));
    let whole = |ids: Vec<String>| {
        let builder = ids
            .iter()
            .fold(DialectSet::builder(), |builder, id| builder.builtin(id));
        let set = builder.build().ok()?;
        let (right, _) = score(cells, &set, cells.cells.len() - 1);
        (right == cells.cells.len()).then_some((ids, set))
    };
    let alone = calls
        .iter()
        .find_map(|(id, _)| whole(vec![(*id).to_owned()]));
    alone.or_else(|| {
        let mut thoughts: Vec<&(&str, &str)> = builtin_files()
            .iter()
            .filter(|(id, _)| id.starts_with("reasoning-"))
            .collect();
        thoughts.sort_by_key(|(_, file)| !known(file));
        calls.iter().find_map(|(id, _)| {
            thoughts
                .iter()
                .find_map(|(thought, _)| whole(vec![(*id).to_owned(), (*thought).to_owned()]))
        })
    })
}
