//! The engine against parsers that were written from the specification alone, slowly and over whole strings, and that share
//! no code with it.

use std::collections::BTreeSet;

use serde_json::Value;
use toolglot::{DialectSet, Finish, Options, Severity, Tools, Turn, parse};

use crate::naive::{self, Outcome, framed, generate};
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

/// Dialects of the framed family that have a twin, with it.
fn framed() -> Vec<(&'static str, framed::Spec)> {
    let files = toolglot::builtin_files().iter();
    files
        .filter_map(|(id, text)| Some((*id, framed::Spec::new(text)?)))
        .collect()
}

fn compare_framed(place: &str, input: &str, ours: &Turn, theirs: &framed::Outcome) -> bool {
    let arguments = |text: &str| serde_json::from_str(text).expect("arguments are JSON");
    let calls: Vec<(String, Value)> = ours
        .calls
        .iter()
        .map(|c| (c.name.clone(), arguments(&c.arguments)))
        .collect();
    let same =
        ours.text == theirs.text && ours.reasoning == theirs.reasoning && calls == theirs.calls;
    if !same {
        let kinds: Vec<_> = ours
            .errors
            .iter()
            .map(|e| (e.kind.name(), e.span.start))
            .collect();
        eprintln!(
            "{place}\n  input {input:?}\n  ours   {:?} {:?} {calls:?} {kinds:?}\n  theirs {:?} {:?} {:?}",
            ours.text, ours.reasoning, theirs.text, theirs.reasoning, theirs.calls
        );
    }
    same
}

#[test]
fn framed_twins_agree_on_every_vector() {
    let twins = framed();
    let mut compared = 0;
    let mut wrong = 0;
    for (vector, case) in VECTORS.iter().zip(CASES.iter()) {
        let Some((_, spec)) = twins.iter().find(|(id, _)| *id == case.dialect) else {
            continue;
        };
        let Ok(input) = std::str::from_utf8(case.input) else {
            continue;
        };
        if !vector.options.is_empty() || !case.native.is_empty() {
            continue;
        }
        let ours = parse(&case.set, case.options.clone(), case.input, Finish::Stop);
        let theirs = framed::read(spec, input, vector.tools.as_ref());
        wrong += usize::from(!compare_framed(case.id, input, &ours, &theirs));
        compared += 1;
    }
    eprintln!("{} twins, {compared} vectors, {wrong} wrong", twins.len());
    assert!(wrong == 0);
}

#[test]
fn framed_twins_agree_on_random_inputs() {
    let tools: Value = serde_json::from_str(framed::generate::TOOLS).expect("JSON");
    let offer = std::sync::Arc::new(Tools::from_json(framed::generate::TOOLS).expect("tools"));
    let only = std::env::var("TWIN").ok();
    let samples = std::env::var("SAMPLES").map_or(SAMPLES, |n| n.parse().expect("a number"));
    let mut wrong = vec![];
    for (id, spec) in framed() {
        if only.as_ref().is_some_and(|only| only != id) {
            continue;
        }
        let set = DialectSet::builtin(id).expect("a built-in dialect");
        let (mut bad, mut calls) = (0, 0);
        for seed in 0..samples {
            let input = framed::generate::sample(&spec, seed);
            let offered = seed % 2 == 1;
            let mut options = Options::default();
            options.tools = offered.then(|| offer.clone());
            let ours = parse(&set, options, input.as_bytes(), Finish::Stop);
            let theirs = framed::read(&spec, &input, Some(&tools).filter(|_| offered));
            let same = compare_framed(&format!("{id}, seed {seed}"), &input, &ours, &theirs);
            bad += usize::from(!same);
            calls += ours.calls.len();
        }
        wrong.push((id, bad, calls));
    }
    wrong.sort_by_key(|(_, bad, _)| *bad);
    eprintln!("{wrong:?}");
    assert!(wrong.iter().all(|(_, bad, _)| *bad == 0));
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
