//! Every marker after every other one: no panic, no cut that shows, nothing lost.
//!
//! A test run tries a sample. For all: `cargo test --release pairs::all -- --ignored`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use toolglot::{DialectSet, Finish, Options, Parser};
use toolglot_testkit::vectors::{Log, partition};

use crate::markers::{MARKERS, set};

/// What may stand between two markers.
const GLUE: [&str; 9] = ["", " ", "\n", "x", "{", "<", "`", "\"", "。"];

/// What follows the second.
const TAILS: [&str; 3] = [
    "",
    " and more text.\n",
    "{\"name\": \"f\", \"arguments\": {}}",
];

fn log(set: &DialectSet, input: &str, chunk: usize, finish: Finish) -> Log {
    let mut parser = Parser::new(set, Options::default());
    let mut log = Log::new();
    for piece in input.as_bytes().chunks(chunk) {
        parser.feed(piece, &mut log);
    }
    parser.finish(finish, &mut log);
    log
}

/// What is wrong with an input, if something is.
fn wrong(set: &DialectSet, input: &str, finish: Finish) -> Option<String> {
    let tried = catch_unwind(AssertUnwindSafe(|| {
        let whole = log(set, input, usize::MAX, finish);
        let lost = partition(&whole, input.as_bytes(), true);
        [1, 3, 7].into_iter().fold(lost, |found, chunk| {
            let cut = log(set, input, chunk, finish);
            let differs = whole.difference(&cut);
            found.or(differs.map(|differs| format!("in chunks of {chunk}: {differs:?}")))
        })
    }));
    tried.unwrap_or_else(|_| Some("a panic".to_owned()))
}

/// Tries every pair whose number is a multiple of `stride`.
fn pairs(stride: usize) {
    let sets = [set("default"), set("all")];
    let mut texts: Vec<&str> = MARKERS.iter().map(|marker| marker.text.as_str()).collect();
    texts.sort_unstable();
    texts.dedup();
    assert!(texts.len() > 250, "{} markers", texts.len());
    let mut failures = vec![];
    let mut number = 0_usize;
    let mut tried = 0_usize;
    let mut one = |set: &DialectSet, first: &str, second: &str, place: &str| {
        for glue in GLUE {
            number += 1;
            // A prime number of steps, so that no glue and no set is left out.
            if !number.is_multiple_of(stride) {
                continue;
            }
            tried += 1;
            let tail = TAILS[number / stride % TAILS.len()];
            let finish = Finish::ALL[number / stride % 2];
            let input = format!("{first}{glue}{second}{tail}");
            if let Some(why) = wrong(set, &input, finish) {
                failures.push(format!("{place}: {input:?}: {why}"));
            }
        }
    };
    for first in &texts {
        for second in &texts {
            for (set, name) in sets.iter().zip(["default", "all"]) {
                one(set, first, second, name);
            }
        }
    }
    let mut ids: Vec<&str> = MARKERS.iter().map(|marker| marker.dialect).collect();
    ids.dedup();
    for id in ids {
        let alone = set(id);
        let own = MARKERS.iter().filter(|marker| marker.dialect == id);
        let own: Vec<&str> = own.map(|marker| marker.text.as_str()).collect();
        for first in &own {
            for second in &own {
                one(&alone, first, second, id);
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {tried}:\n{}",
        failures.len(),
        failures[..failures.len().min(20)].join("\n")
    );
}

#[test]
fn a_sample() {
    pairs(1009);
}

#[test]
#[ignore = "all pairs: minutes"]
fn all() {
    pairs(1);
}
