//! Runs the fuzzer's findings and its corpus in every test run.

use std::path::Path;

use crate::support::root;

#[path = "../../fuzz/checks/mod.rs"]
pub mod checks;

fn replay(target: &str, check: fn(&[u8])) {
    let mut count = 0;
    for folder in ["corpus", "regressions"] {
        let folder = root().join("fuzz").join(folder).join(target);
        if folder.is_dir() {
            count += files(&folder, check);
        }
    }
    assert!(count >= 10, "{target}: only {count} inputs");
}

fn files(folder: &Path, check: fn(&[u8])) -> usize {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let paths = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_file());
    paths
        .map(|path| check(&std::fs::read(path).expect("a readable input")))
        .count()
}

#[test]
fn chunking() {
    replay("chunking", checks::chunking);
}

#[test]
fn builtin() {
    replay("builtin", checks::builtin);
}

#[test]
fn user_dialect() {
    replay("user_dialect", checks::user_dialect);
}

#[test]
fn escape() {
    replay("escape", checks::escape);
}

#[test]
fn encode() {
    replay("encode", checks::encode);
}

#[test]
fn json() {
    replay("json", checks::json);
}

#[test]
fn pythonic() {
    replay("pythonic", checks::pythonic);
}

#[test]
fn tagged() {
    replay("tagged", checks::tagged);
}

#[test]
fn snapshot() {
    replay("snapshot", checks::snapshot);
}

#[test]
fn agent_run() {
    replay("agent_run", checks::agent_run);
}

#[test]
fn template() {
    replay("template", checks::template);
}

#[test]
fn gguf() {
    replay("gguf", checks::gguf);
}
