//! Every marker after every other one: no panic, no dependence on the chunking, nothing lost.
//!
//! A test run tries a sample. For all: `cargo test --release pairs::all -- --ignored`.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use toolglot::{
    DialectSet, EncodeCall, EncodeOptions, Finish, Options, Parser, Tools, builtin_files, encode,
};
use toolglot_testkit::vectors::{Log, partition};

use crate::markers::{MARKERS, set};
use crate::support::some;

/// What may come between two markers.
const GLUE: [&str; 9] = ["", " ", "\n", "x", "{", "<", "`", "\"", "。"];

/// What follows the second.
const TAILS: [&str; 3] = [
    "",
    " and more text.\n",
    "{\"name\": \"f\", \"arguments\": {}}",
];

fn log(set: &DialectSet, options: &Options, input: &str, chunk: usize, finish: Finish) -> Log {
    let mut parser = Parser::new(set, options.clone());
    let mut log = Log::new();
    for piece in input.as_bytes().chunks(chunk) {
        parser.feed(piece, &mut log);
    }
    parser.finish(finish, &mut log);
    log
}

/// What is wrong with an input, if anything.
fn wrong(set: &DialectSet, options: &Options, input: &str, finish: Finish) -> Option<String> {
    let tried = catch_unwind(AssertUnwindSafe(|| {
        let whole = log(set, options, input, usize::MAX, finish);
        let lost = partition(&whole, input.as_bytes(), true);
        [1, 2, 3, 7].into_iter().fold(lost, |found, chunk| {
            let cut = log(set, options, input, chunk, finish);
            let differs = whole.difference(&cut);
            found.or(differs.map(|differs| format!("in chunks of {chunk}: {differs:?}")))
        })
    }));
    tried.unwrap_or_else(|_| Some("a panic".to_owned()))
}

/// Tries every pair whose index is a multiple of `stride`.
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
            // A prime number of steps, so that every glue and every set is used.
            if !number.is_multiple_of(stride) {
                continue;
            }
            tried += 1;
            let tail = TAILS[number / stride % TAILS.len()];
            let finish = Finish::ALL[number / stride % 2];
            let input = format!("{first}{glue}{second}{tail}");
            if let Some(why) = wrong(set, &Options::default(), &input, finish) {
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

/// Calls of declared tools that a single byte may begin.
const CALLS: [&str; 4] = [
    "<ping></ping>",
    "{\"name\": \"ping\", \"arguments\": {}}",
    "[ping()]",
    "<tool_call>{\"name\": \"ping\", \"arguments\": {}}</tool_call>",
];

#[test]
fn beginnings_of_markers_before_a_call() {
    let tools = Tools::from_json(r#"[{"name": "ping", "parameters": {"type": "object"}}]"#);
    let options = Options::default().tools(Arc::new(tools.expect("tools")));
    let sets = [set("any"), set("all")];
    let beginning = |marker: &'static str| {
        let ends = marker.char_indices().map(|(at, _)| at).skip(1);
        ends.map(move |at| &marker[..at])
    };
    let markers = MARKERS.iter().map(|marker| marker.text.as_str());
    let begun: BTreeSet<&str> = markers.flat_map(beginning).collect();
    assert!(begun.len() > 1000, "{} beginnings", begun.len());
    let stride = if some(4) > 1 { 1 } else { 5 };
    for (number, begun) in begun.into_iter().enumerate() {
        for (place, call) in CALLS.iter().enumerate() {
            if !(number + place).is_multiple_of(stride) {
                continue;
            }
            for set in &sets {
                let input = format!("x{begun}{call} y");
                let found = wrong(set, &options, &input, Finish::Stop);
                assert_eq!(found, None, "{input:?}");
            }
        }
    }
}

/// What a reply begins with if the prompt has opened a header or a call.
const HEADS: [&str; 6] = [
    "to=",
    " to=",
    "assistant to=",
    "analysis",
    "thought\n",
    "call:f{",
];

#[test]
fn a_marker_after_what_may_continue_the_prompt() {
    let texts: BTreeSet<&str> = MARKERS.iter().map(|marker| marker.text.as_str()).collect();
    let stride = if some(4) > 1 { 1 } else { 3 };
    for (number, marker) in texts.into_iter().enumerate() {
        for (place, head) in HEADS.iter().enumerate() {
            if !(number + place).is_multiple_of(stride) {
                continue;
            }
            for name in ["default", "any", "all"] {
                for tail in ["' and more", "`t"] {
                    let input = format!("{head}{marker}{tail}");
                    let found = wrong(&set(name), &Options::default(), &input, Finish::Stop);
                    assert_eq!(found, None, "{name}: {input:?}");
                }
            }
        }
    }
}

#[test]
fn a_token_after_a_call_that_breaks_off() {
    let tools = Tools::from_json(r#"[{"name": "f", "parameters": {"type": "object"}}]"#);
    let tools = Arc::new(tools.expect("tools"));
    let options = Options::default().tools(Arc::clone(&tools));
    let stride = if some(4) > 1 { 1 } else { 7 };
    let mut tried = 0;
    for (id, _) in builtin_files() {
        let alone = set(id);
        let call = EncodeCall::new("f", r#"{"a":"v 甲","b":1}"#);
        let mut how = EncodeOptions::default();
        how.tools = Some(Arc::clone(&tools));
        let Ok(call) = encode(&alone, id, &[call], &how) else {
            continue;
        };
        let own = MARKERS.iter().filter(|marker| marker.dialect == *id);
        let tokens: BTreeSet<&str> = own.map(|marker| marker.text.as_str()).collect();
        let places = call.char_indices().map(|(at, _)| at);
        for (at, token) in places.flat_map(|at| tokens.iter().map(move |token| (at, token))) {
            tried += 1;
            if tried % stride > 0 {
                continue;
            }
            let input = format!("{}{token}x", &call[..at]);
            let found = wrong(&alone, &options, &input, Finish::Stop);
            assert_eq!(found, None, "{id}: {input:?}");
        }
    }
    assert!(tried > 10_000, "{tried}");
}

#[test]
fn a_sample() {
    pairs(1009);
}

#[test]
#[ignore = "all pairs: minutes; run by ci/generators.sh"]
fn all() {
    pairs(1);
}
