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

/// One test for each target, so that they run at the same time.
macro_rules! replayed {
    ($($target:ident),*) => {
        $(#[test]
        fn $target() {
            replay(stringify!($target), checks::$target);
        })*

        #[test]
        fn every_target_is_replayed() {
            let named = [$(stringify!($target)),*];
            let targets = checks::TARGETS.map(|(name, _)| name);
            assert_eq!(named.as_slice(), targets.as_slice());
        }
    };
}

replayed!(
    chunking,
    builtin,
    user_dialect,
    escape,
    encode,
    json,
    pythonic,
    tagged,
    snapshot,
    agent_run,
    template,
    gguf,
    composed,
    source,
    tools,
    wire,
    gateway
);

/// All words of three symbols under all cuts; `ci/campaign/tally.py words` reads longer ones.
#[test]
fn short_words() {
    for (family, (name, symbols)) in checks::FAMILIES.iter().enumerate() {
        let count = |first| checks::words(family, first, 3, checks::Cuts::All).words;
        let read: u64 = (0..symbols.len()).map(count).sum();
        assert_eq!(read, 12 * 12 * 12, "{name}");
    }
}
