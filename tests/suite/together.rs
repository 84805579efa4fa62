//! Calls of two dialects in one reply: one after the other, and one quoted in a value of the other.
//!
//! Whichever dialects of the set read them, a call that is delivered is one that was written, and a quoted call never runs.

use std::sync::{Arc, LazyLock};

use toolglot::{
    DialectSet, EncodeCall, EncodeOptions, Finish, Grade, Kind, Options, Parser, Report, Tools,
    builtin_files, encode,
};

use crate::markers::set;
use crate::support::{ANY, DEFAULTS, turn_of};

const TOOLS: &str = r#"[
    {"name": "wipe", "parameters": {"properties": {"path": {"type": "string"}}}},
    {"name": "look", "parameters": {"properties": {"where": {"type": "string"}}}},
    {"name": "burn", "parameters": {"properties": {"all": {"type": "string"}}}}]"#;

static OFFER: LazyLock<Arc<Tools>> =
    LazyLock::new(|| Arc::new(Tools::from_json(TOOLS).expect("tools")));

/// A call in every dialect that can write it.
fn written(name: &str, arguments: &str) -> Vec<(&'static str, String)> {
    let mut options = EncodeOptions::default();
    options.tools = Some(Arc::clone(&OFFER));
    let write = |(id, _): &(&'static str, &str)| {
        let call = EncodeCall::new(name, arguments);
        Some((*id, encode(&set(id), id, &[call], &options).ok()?))
    };
    builtin_files().iter().filter_map(write).collect()
}

/// Whether a set reads a text as one whole call.
fn is_whole(set: &DialectSet, text: &str) -> bool {
    let mut options = Options::default();
    options.tools = Some(Arc::clone(&OFFER));
    let turn = turn_of(Parser::new(set, options), [text.as_bytes()], Finish::Stop);
    let unclosed = |issue: &Report| issue.kind == Kind::UnclosedBlock;
    turn.calls.len() == 1 && !turn.issues.iter().any(unclosed)
}

/// The delivered calls of a text, after checking that they do not depend on the chunks.
fn calls(set: &DialectSet, text: &str) -> Vec<(String, String)> {
    let mut options = Options::default();
    options.tools = Some(Arc::clone(&OFFER));
    let parser = || Parser::new(set, options.clone());
    let whole = turn_of(parser(), [text.as_bytes()], Finish::Stop);
    let bytes = turn_of(parser(), text.as_bytes().chunks(3), Finish::Stop);
    assert_eq!(whole, bytes, "{text:?}");
    let calls = whole.calls.into_iter();
    let calls = calls.filter(|call| call.grade != Grade::Recovered);
    calls
        .map(|call| (call.name, call.arguments.trim().to_owned()))
        .collect()
}

fn is(call: &(String, String), name: &str, value: &str) -> bool {
    let object: Option<serde_json::Value> = serde_json::from_str(&call.1).ok();
    let only = object.as_ref().and_then(|object| object.as_object());
    let one = only.is_some_and(|members| {
        members.len() == 1 && members.values().all(|have| have.as_str() == Some(value))
    });
    call.0 == name && one
}

#[test]
fn calls_of_two_dialects_follow_one_another() {
    let any = ANY.clone();
    let first = written("wipe", r#"{"path":"/x 中"}"#);
    let second = written("look", r#"{"where":"later"}"#);
    let mut wrong = vec![];
    let mut missing = vec![];
    for (place, set) in [("default", &*DEFAULTS), ("any", &any)] {
        // Without its closer a call lasts to the closer of a later one.
        let [first, second] = [&first, &second].map(|all| {
            let whole = all.iter().filter(|(_, text)| is_whole(set, text));
            whole.collect::<Vec<_>>()
        });
        for (one, a) in &first {
            for (other, b) in &second {
                let text = format!("{a}\n\n{b}");
                let have = calls(set, &text);
                let known = |call: &(String, String)| {
                    is(call, "wipe", "/x 中") || is(call, "look", "later")
                };
                if !have.iter().all(known) || have.len() > 2 {
                    wrong.push(format!("{place}: {one} then {other}: {text:?}: {have:?}"));
                } else if have.len() < 2 {
                    missing.push(format!("{place}: {one} then {other}: {text:?}: {have:?}"));
                }
            }
        }
    }
    let shown = |list: &[String]| list[..list.len().min(30)].join("\n");
    assert!(
        wrong.is_empty() && missing.is_empty(),
        "{} wrong:\n{}\n{} missing:\n{}",
        wrong.len(),
        shown(&wrong),
        missing.len(),
        shown(&missing)
    );
}

#[test]
fn a_quoted_call_of_another_dialect_never_runs() {
    let any = ANY.clone();
    let plain = written("wipe", r#"{"path":"see it"}"#);
    let quotes = written("burn", r#"{"all":"yes"}"#);
    let mut wrong = vec![];
    for (other, quote) in &quotes {
        let arguments = serde_json::json!({"path": format!("see {quote} there")}).to_string();
        for (one, text) in written("wipe", &arguments) {
            let plain = plain.iter().find(|(id, _)| *id == one);
            for (place, set) in [("default", &*DEFAULTS), ("any", &any)] {
                // The set must read the dialect, and know its call from another's.
                let reads = |text: &str| {
                    is_whole(set, text)
                        && calls(set, text)
                            .iter()
                            .all(|call| is(call, "wipe", "see it"))
                };
                if !plain.is_some_and(|(_, text)| reads(text)) {
                    continue;
                }
                let have = calls(set, &text);
                if have.iter().any(|call| call.0 == "burn") {
                    wrong.push(format!("{place}: {other} in {one}: {text:?}: {have:?}"));
                }
            }
        }
    }
    let shown = wrong[..wrong.len().min(30)].join("\n");
    assert!(wrong.is_empty(), "{}:\n{shown}", wrong.len());
}
