//! A tag that opens a block, a section or a call without attributes is the same tag with blanks or attributes in it, in every
//! built-in dialect and set: the calls are the same, repaired, however the input is chunked.

use std::collections::BTreeMap;

use toolglot::{DialectSet, Finish, Grade, Kind, Parser, Turn};

use crate::markers::{Does, MARKERS, Marker, set};
use crate::support::{CASES, Case, says_the_same, turn_of};

/// What is inserted in the tag.
const INSIDE: [&str; 12] = [
    " x=\"1\"",
    " id='a b'",
    " ",
    "\n",
    " 类型=\"工具\"",
    " note=\"天气 > 3\"",
    " a=1 b = \"2\"",
    "\tid=\"<b>\"",
    "\r\n",
    " data-id='{\"a\": 1}' ",
    "\n  version=\"2\"\n",
    " 名='里斯本'",
];

/// What makes it a different tag, or not a tag.
const OTHER: [&str; 5] = [" x=\"1", " is a tag that", "/", " x=\"1\"/", " \"x\""];

fn read(case: &Case, set: &DialectSet, text: &str, cut: &[usize]) -> Turn {
    let parser = Parser::new(set, case.options.clone());
    let mut from = 0;
    let ends = cut.iter().copied().chain([text.len()]);
    let pieces = ends.map(|at| &text.as_bytes()[std::mem::replace(&mut from, at)..at]);
    turn_of(parser, pieces, case.finish)
}

/// The tag without attributes at the start of a marker, up to its `>`.
fn tag(marker: &str) -> Option<&str> {
    let (name, _) = marker.split_once('>')?;
    let word = |byte: u8| byte.is_ascii_alphanumeric() || b"_:-.|".contains(&byte);
    let bytes = name.strip_prefix('<')?.as_bytes();
    let edge = |byte: Option<&u8>| byte.is_some_and(|byte| *byte != b'|');
    (bytes.iter().copied().all(word) && edge(bytes.first()) && edge(bytes.last())).then_some(name)
}

/// Vectors with such a tag, and its first position; a few for each dialect and tag.
fn cases() -> Vec<(&'static Case, &'static str, &'static str, usize)> {
    let mut tags: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for marker in MARKERS.iter().filter(|marker| marker.does == Does::Open) {
        if let Some(tag) = tag(&marker.text) {
            tags.entry(marker.dialect).or_default().push(tag);
        }
    }
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut out = vec![];
    for case in CASES.iter() {
        let Ok(text) = std::str::from_utf8(case.input) else {
            continue;
        };
        for tag in tags.get(case.dialect).into_iter().flatten() {
            let count = counts.entry((case.dialect, tag)).or_default();
            // Attributes of a tag that names the tool do matter.
            let names = |marker: &Marker| marker.text.starts_with(&format!("{tag} "));
            let own = MARKERS.iter().filter(|m| m.dialect == case.dialect);
            let header = own.filter(|marker| marker.does == Does::Open).any(names);
            let Some(at) = text.find(&format!("{tag}>")).filter(|_| !header) else {
                continue;
            };
            let plain = read(case, &case.set, text, &[]);
            let good = plain.issues.is_empty() && case.finish == Finish::Stop;
            let good = good && case.native.is_empty() && !plain.calls.is_empty();
            let inside = plain.calls.iter().any(|call| at < call.span.end as usize);
            if good && inside && *count < 2 {
                *count += 1;
                out.push((case, text, *tag, at));
            }
        }
    }
    assert!(counts.len() > 25, "{counts:?}");
    out
}

fn with(text: &str, tag: &str, at: usize, inside: &str) -> String {
    let behind = at + tag.len();
    format!("{}{inside}{}", &text[..behind], &text[behind..])
}

fn report(failures: &[String]) {
    let some: Vec<_> = failures.iter().take(40).cloned().collect();
    assert!(
        failures.is_empty(),
        "{}:\n{}",
        failures.len(),
        some.join("\n")
    );
}

#[test]
fn blanks_and_attributes_do_not_change_the_tag() {
    let many = [set("default"), set("all")];
    let mut failures = vec![];
    let mut tried = 0;
    for (case, text, tag, at) in cases() {
        let plain = read(case, &case.set, text, &[]);
        for set in [&case.set].into_iter().chain(&many) {
            if !says_the_same(&read(case, set, text, &[]), &plain) {
                // Another dialect of the set reads it, or none does.
                continue;
            }
            let step = if std::ptr::eq(set, &case.set) { 1 } else { 7 };
            for inside in INSIDE {
                tried += 1;
                let loose = with(text, tag, at, inside);
                let turn = read(case, set, &loose, &[]);
                let told = turn.issues.iter().any(|e| e.kind == Kind::RepairedMarker);
                let grades = turn.calls.iter().all(|call| call.grade != Grade::Recovered);
                let repaired = turn.calls.iter().any(|call| call.grade == Grade::Repaired);
                if !says_the_same(&turn, &plain) || !told || !grades || !repaired {
                    failures.push(format!("{}: {loose:?}: {turn:?}", case.id));
                }
                let cuts = (at..loose.len().min(at + 60)).filter(|_| std::ptr::eq(set, &case.set));
                for cut in cuts {
                    if read(case, set, &loose, &[cut]) != turn {
                        failures.push(format!("{}: {loose:?} cut at {cut}", case.id));
                    }
                }
                let bytes: Vec<usize> = (1..loose.len()).step_by(step).collect();
                if read(case, set, &loose, &bytes) != turn {
                    failures.push(format!("{}: {loose:?} in pieces", case.id));
                }
            }
        }
    }
    assert!(tried > 1000, "{tried}");
    report(&failures);
}

#[test]
fn near_tags_are_text() {
    let many = [set("default"), set("all")];
    let mut failures = vec![];
    for (case, text, tag, at) in cases() {
        let first = case
            .set
            .dialects()
            .any(|d| d.openers().iter().any(|o| o.starts_with(tag)));
        if !first {
            continue;
        }
        let long = format!(" x=\"{}\"", "长".repeat(200));
        for set in [&case.set].into_iter().chain(&many) {
            for inside in OTHER.iter().copied().chain([long.as_str()]) {
                let turn = read(case, set, &with(text, tag, at, inside), &[]);
                if !turn.text.contains(tag) && turn.issues.is_empty() {
                    failures.push(format!("{}: {tag}{inside:.20}: {turn:?}", case.id));
                }
            }
        }
    }
    report(&failures);
}

#[test]
fn a_mentioned_wrapper_is_text() {
    let many = [set("default"), set("all")];
    let mut failures = vec![];
    for (case, _, tag, _) in cases() {
        for set in [&case.set].into_iter().chain(&many) {
            for inside in INSIDE {
                for sentence in [
                    "Models write @ before a call, {x} and [y].",
                    "用 `@` 开头。\n{\n",
                    "It ends with @",
                ] {
                    let text = sentence.replace('@', &format!("{tag}{inside}>"));
                    let turn = read(case, set, &text, &[]);
                    let thinks = !read(case, set, "x", &[]).reasoning.is_empty();
                    if !thinks && (turn.text != text || !turn.calls.is_empty()) {
                        failures.push(format!("{}: {text:?}: {turn:?}", case.id));
                    }
                }
            }
        }
    }
    report(&failures);
}
