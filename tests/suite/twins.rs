//! The engine against parsers that were written from the specification alone, slowly and over whole strings, and that share
//! no code with it.

use std::collections::BTreeSet;

use serde_json::Value;
use toolglot::{DialectSet, Finish, Options, Severity, Turn, parse};

use crate::naive::{self, Outcome, generate};
use crate::support::{CASES, VECTORS};

/// Random inputs per dialect.
const SAMPLES: u64 = 20_000;

/// Kinds that tell of something beside the meaning of a block. How often one mistake is told is not compared.
const BESIDE: [&str; 5] = [
    "bare_markup",
    "duplicate_param",
    "orphan_close",
    "type_mismatch",
    "unknown_entity",
];

fn compare(place: &str, input: &str, ours: Turn, theirs: Outcome) {
    let arguments = |text: &str| serde_json::from_str(text).expect("arguments are JSON");
    let calls: Vec<(String, Value)> = ours
        .calls
        .iter()
        .map(|c| (c.name.clone(), arguments(&c.arguments)))
        .collect();
    let kinds = |only: Option<Severity>| -> BTreeSet<String> {
        let reports = ours
            .errors
            .iter()
            .filter(|report| only.is_none_or(|severity| report.severity == severity));
        reports
            .map(|report| report.kind.name().to_owned())
            .collect()
    };
    let main = |kinds: &BTreeSet<String>| -> BTreeSet<String> {
        kinds
            .iter()
            .filter(|kind| !BESIDE.contains(&kind.as_str()))
            .cloned()
            .collect()
    };
    assert_eq!(ours.text, theirs.text, "text of {place}: {input:?}");
    assert_eq!(
        ours.reasoning, theirs.reasoning,
        "reasoning of {place}: {input:?}"
    );
    assert_eq!(calls, theirs.calls, "calls of {place}: {input:?}");
    assert_eq!(
        main(&kinds(None)),
        main(&theirs.kinds),
        "kinds of {place}: {input:?}"
    );
    assert_eq!(
        kinds(Some(Severity::Error)),
        theirs.severe,
        "errors of {place}: {input:?}"
    );
}

#[test]
fn they_agree_on_every_vector() {
    let mut compared = 0;
    for (vector, case) in VECTORS.iter().zip(CASES.iter()) {
        let salvage = vector
            .options
            .get("unclosed")
            .is_some_and(|word| word == "salvage");
        let knows = |key: &str| !["retain", "prefer", "text"].contains(&key) && !salvage;
        let plain = vector.options.keys().all(|key| knows(key)) && case.native.is_empty();
        let Ok(input) = std::str::from_utf8(case.input) else {
            continue;
        };
        if plain && naive::KNOWN.contains(&case.dialect) {
            let ours = parse(&case.set, case.options.clone(), case.input, Finish::Stop);
            let options = Value::Object(vector.options.clone());
            let theirs =
                naive::run_with(case.dialect, input, vector.tools.as_ref(), Some(&options));
            compare(case.id, input, ours, theirs);
            compared += 1;
        }
    }
    assert!(compared > 100, "{compared} vectors");
}

#[test]
fn they_agree_on_random_inputs() {
    for dialect in naive::KNOWN {
        let set = DialectSet::builtin(dialect).expect("a built-in dialect");
        for seed in 0..SAMPLES {
            let input = generate::sample(dialect, seed);
            let ours = parse(&set, Options::default(), input.as_bytes(), Finish::Stop);
            let theirs = naive::run(dialect, &input, None);
            compare(&format!("{dialect}, seed {seed}"), &input, ours, theirs);
        }
    }
}
