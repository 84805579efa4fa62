//! One slip in the text of a vector, in any of its tokens: if nothing but warnings is reported, nothing is missing that the
//! model wrote. Each word that the text without the slip delivered is still in the text, the reasoning or a call, if the
//! slip left it in place.

use std::collections::BTreeSet;

use toolglot::json::Value;
use toolglot::{Finish, Grade, Kind, Severity, Turn, builtin_files, parse};

use crate::support::{CASES, Case, VECTORS, none_wrong};
use crate::token_slips::tokens;

/// One in so many slips is tried in a test run.
const SAMPLE: usize = 61;

/// Words of at least that many letters or digits are looked for.
const SHORTEST: usize = 3;

fn words(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words
        .filter(|word| word.chars().count() >= SHORTEST)
        .collect()
}

/// The strings and keys of a value.
fn flat(value: &Value, out: &mut String) {
    out.push(' ');
    match value {
        Value::String(text) => out.push_str(text),
        Value::Array(items) => items.iter().for_each(|item| flat(item, out)),
        Value::Object(members) => {
            for (key, value) in members {
                out.push(' ');
                out.push_str(key);
                flat(value, out);
            }
        }
        other => out.push_str(&other.to_string()),
    }
}

/// Everything that a turn delivers.
fn delivered(turn: &Turn) -> String {
    let mut out = format!("{} {}", turn.text, turn.reasoning);
    for call in &turn.calls {
        out.push(' ');
        out.push_str(&call.name);
        for (key, value) in &call.meta {
            out.push_str(&format!(" {key} {value}"));
        }
        match toolglot_testkit::vectors::value(&call.arguments) {
            Ok(value) => flat(&value, &mut out),
            Err(_) => out.push_str(&call.arguments),
        }
    }
    out
}

/// Whether a turn reports nothing but warnings.
fn mild(turn: &Turn) -> bool {
    let grave = |kind, severity| severity == Severity::Error || kind == Kind::RepeatedParam;
    turn.not_delivered.is_empty()
        && !turn
            .issues
            .iter()
            .any(|issue| grave(issue.kind, issue.severity))
        && !turn.calls.iter().any(|call| call.grade == Grade::Recovered)
}

/// A text with each of its tokens left out, doubled, exchanged with the next one, or without its first or last character.
fn slips(text: &str) -> Vec<String> {
    let tokens = tokens(text);
    let mut out = vec![];
    for (at, token) in tokens.iter().enumerate() {
        let (before, after) = (tokens[..at].concat(), tokens[at + 1..].concat());
        out.push(format!("{before}{after}"));
        out.push(format!("{before}{token}{token}{after}"));
        if let Some(next) = tokens.get(at + 1) {
            out.push(format!("{before}{next}{token}{}", &after[next.len()..]));
        }
        let mut chars = token.chars();
        if chars.next().is_some() && !chars.as_str().is_empty() {
            out.push(format!("{before}{}{after}", chars.as_str()));
            chars = token.chars();
            chars.next_back();
            out.push(format!("{before}{}{after}", chars.as_str()));
        }
    }
    out
}

/// Whether a vector shows calls in text, without markup that a slip makes visible or hides.
fn fits(case: &Case) -> bool {
    let hides = [
        "artifact-with-text",
        "call-in-reasoning",
        "think",
        "thought",
        "comment",
        "hash",
        "cdata",
        "entit",
        "escapes",
        "results",
    ];
    case.native.is_empty()
        && case.input.len() < 1200
        && !hides.iter().any(|form| case.id.contains(form))
}

fn check(step: usize) {
    let mut tried = 0;
    let mut missing = vec![];
    for (number, (case, vector)) in CASES.iter().zip(VECTORS.iter()).enumerate() {
        let Some(input) = std::str::from_utf8(case.input).ok().filter(|_| fits(case)) else {
            continue;
        };
        if !vector.options.is_empty() {
            continue;
        }
        let file = builtin_files().iter().find(|(id, _)| *id == case.dialect);
        let markup = file.map(|(_, text)| words(text)).unwrap_or_default();
        let read = |text: &str| {
            parse(
                &case.set,
                case.options.clone(),
                text.as_bytes(),
                Finish::Stop,
            )
        };
        let whole = read(input);
        if whole.calls.is_empty() || !mild(&whole) {
            continue;
        }
        let all = delivered(&whole);
        let all: Vec<&str> = words(&all)
            .into_iter()
            .filter(|word| !markup.contains(word))
            .collect();
        for text in slips(input).iter().skip(number % step).step_by(step) {
            tried += 1;
            let turn = read(text);
            if !mild(&turn) {
                continue;
            }
            let have = delivered(&turn);
            let left = words(text);
            let gone = all
                .iter()
                .find(|word| left.contains(*word) && !have.contains(*word));
            if let Some(word) = gone {
                missing.push(format!(
                    "{}: {word:?} of {text:?}: {:?}",
                    case.id, turn.calls
                ));
            }
        }
    }
    none_wrong(&missing, tried);
}

#[test]
fn with_warnings_alone_nothing_is_missing() {
    check(SAMPLE);
}

#[test]
#[ignore = "ci/generators.sh"]
fn all() {
    check(1);
}
