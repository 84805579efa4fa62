//! Models' slips, applied to what the encoders write: in every built-in dialect a call with a slip is delivered, and its
//! grade shows the slip. A complete call has lost nothing, and no call is lost because of a slip.

use std::sync::Arc;

use toolglot::{
    Call, DialectSet, EncodeCall, EncodeOptions, Finish, Grade, Kind, Options, Parser, Tools,
    builtin_files, encode, parse,
};

use crate::support::cut_turn;

const TOOLS: &str = r#"[{"name": "wipe", "parameters": {"type": "object", "properties": {
    "path": {"type": "string"}, "n": {"type": "array"}, "ok": {"type": "boolean"}}}}]"#;
const ARGUMENTS: &str = r#"{"path": "/x 中", "n": [1, 2], "ok": true}"#;
/// Keys of arguments, as dialects spell them.
const OWN: [&str; 3] = ["\"arguments\"", "\"parameters\"", "\"args\""];
/// A slip that fits fewer dialects than this means that the test looks for the wrong text.
const MANY: usize = 20;

fn tools() -> Arc<Tools> {
    Arc::new(Tools::from_json(TOOLS).expect("tools"))
}

/// YAML allows such numbers.
const YAML: &str = "yaml-xml";

/// What every built-in dialect writes, if it can express the call.
fn written() -> Vec<(&'static str, DialectSet, String)> {
    let call = EncodeCall::new("wipe", ARGUMENTS);
    let mut options = EncodeOptions::default();
    options.tools = Some(tools());
    let write = |id: &'static str| {
        let set = DialectSet::builtin(id).ok()?;
        let text = encode(&set, id, std::slice::from_ref(&call), &options).ok()?;
        Some((id, set, text))
    };
    builtin_files()
        .iter()
        .filter_map(|(id, _)| write(id))
        .collect()
}

fn read(set: &DialectSet, text: &str) -> Vec<Call> {
    let mut options = Options::default();
    options.tools = Some(tools());
    let mut turn = parse(set, options, text.as_bytes(), Finish::Stop);
    std::mem::take(&mut turn.calls)
}

fn value(text: &str) -> toolglot::json::Value {
    toolglot_testkit::vectors::value(text).expect("arguments are JSON")
}

/// The one call of a text, with its grade.
fn one(id: &str, set: &DialectSet, text: &str) -> (Call, Grade) {
    let mut calls = read(set, text);
    assert_eq!(calls.len(), 1, "{id}: {text:?}");
    let call = calls.remove(0);
    assert_eq!(call.name, "wipe", "{id}: {text:?}");
    let grade = call.grade;
    (call, grade)
}

/// Changes each text that `change` fits, and returns their number.
fn each(mut change: impl FnMut(&str) -> Option<String>, check: impl Fn(&str, &Call, Grade, &str)) {
    let mut fitting = 0;
    for (id, set, text) in written() {
        if let Some(text) = change(&text) {
            fitting += 1;
            let (call, grade) = one(id, &set, &text);
            check(id, &call, grade, &text);
        }
    }
    assert!(fitting >= MANY, "{fitting} dialects");
}

/// The text with another key for the arguments.
fn keyed(text: &str, key: &str) -> Option<String> {
    let mut own = OWN.iter().filter(|own| text.contains(**own));
    let own = own.next().filter(|own| **own != format!("\"{key}\""))?;
    // JSON without a marker must be recognisable as a call by its own keys.
    let marked = !text.starts_with(['{', '[']) && !text.starts_with("```");
    marked.then(|| text.replacen(own, &format!("\"{key}\""), 1))
}

#[test]
fn arguments_under_a_synonym_are_read() {
    for key in ["args", "params", "input", "Arguments", "PARAMS"] {
        each(
            |text| keyed(text, key),
            |id, call, grade, text| {
                assert_eq!(value(&call.arguments), value(ARGUMENTS), "{id}: {text}");
                assert_eq!(grade, Grade::Repaired, "{id}: {text}");
            },
        );
    }
}

#[test]
fn arguments_that_are_null_are_an_empty_object() {
    let mut calls = 0;
    for (id, set, text) in written() {
        let begins = text.find("{\"path\"");
        let Some((start, end)) = begins.zip(text.find("true}")) else {
            continue;
        };
        for nothing in ["null", "None", "\"\""] {
            let text = format!(
                "{}{nothing}{}",
                &text[..start],
                &text[end + "true}".len()..]
            );
            // Lines of text take such an input for one that is not an object.
            let sure = |call: &Call| call.grade != Grade::Recovered;
            for call in read(&set, &text).into_iter().filter(sure) {
                calls += 1;
                assert_eq!(call.arguments, "{}", "{id}: {text:?}");
            }
        }
    }
    assert!(calls >= MANY, "only {calls}");
}

#[test]
fn arguments_under_any_other_key_are_reported_as_missing() {
    for key in ["arguements", "参数", "data", "kwargs"] {
        each(
            |text| keyed(text, key),
            |id, call, grade, text| {
                assert!(call.kinds.contains(Kind::ExtraKey), "{id}: {text}");
                assert_eq!(grade, Grade::Recovered, "{id}: {text}");
            },
        );
    }
}

#[test]
fn an_extra_key_is_reported() {
    each(
        |text| {
            let own = OWN.iter().find(|own| text.contains(**own))?;
            Some(text.replacen(own, &format!("\"mode\": \"all\", {own}"), 1))
        },
        |id, call, grade, text| {
            assert_eq!(value(&call.arguments), value(ARGUMENTS), "{id}: {text}");
            assert_eq!(grade, Grade::Recovered, "{id}: {text}");
        },
    );
}

#[test]
fn slips_in_values_keep_the_call() {
    let slips: [(&str, &str, Grade); 4] = [
        ("2]", "2,]", Grade::Repaired),
        ("[1", "[ 'a' ,1", Grade::Repaired),
        ("[1", "[07,1", Grade::Recovered),
        ("[1", "[None,1", Grade::Repaired),
    ];
    for (from, to, least) in slips {
        each(
            |text| text.contains(from).then(|| text.replacen(from, to, 1)),
            |id, call, grade, text| {
                assert!(value(&call.arguments).is_object(), "{id}: {text}");
                // Where the dialect itself has the spelling, it is not a slip.
                let own = to.contains(['\'', 'N']) || to.contains(",]") || id == YAML;
                // What is not a value of its type stays text, in which nothing is lost.
                let kept = ["\"[07", "\"07\""]
                    .iter()
                    .any(|text| call.arguments.contains(text));
                assert!(
                    grade == least || ((own || kept) && grade < least),
                    "{id}: {text}"
                );
            },
        );
    }
}

/// What stands between two tokens of JSON and has no meaning, and of Python.
const ASIDES: [&str; 9] = [
    "/* it's \"c\" */",
    "// c\n",
    "//\r\n",
    "/***/",
    " # 注\n",
    "\u{a0}",
    " \u{3000} ",
    "\u{feff}",
    "\u{2028}",
];

/// Where the tokens of the arguments end that are no part of a string or word.
fn tokens(text: &str) -> Vec<usize> {
    let mut string = false;
    let mut out = vec![];
    for (at, byte) in text.bytes().enumerate() {
        string ^= byte == b'"' || byte == b'\'';
        if !string && b"{}[](),:=\"'".contains(&byte) {
            out.push(at + 1);
        }
    }
    out
}

/// Reads the text whole and byte by byte.
fn cut(id: &str, set: &DialectSet, text: &str) -> (Call, Grade) {
    let mut options = Options::default();
    options.tools = Some(tools());
    let turn = cut_turn(|| Parser::new(set, options.clone()), text, Finish::Stop);
    assert_eq!(turn.calls.len(), 1, "{id}: {text:?}");
    let call = turn.calls.into_iter().next().expect("a call");
    let grade = call.grade;
    (call, grade)
}

#[test]
fn what_stands_between_tokens_keeps_the_call() {
    let mut tried = 0;
    for (id, set, text) in written() {
        let python = text.contains("path=\"") || text.contains("path='");
        let Some(start) = text.find("\"path\":").or_else(|| text.find("path=")) else {
            continue;
        };
        // Without a marker, the first bytes show whether it is a call.
        let Some(end) = text.to_lowercase().rfind("true").filter(|_| id != YAML) else {
            continue;
        };
        let body = &text[start..end];
        if !body.contains("[1,") {
            continue;
        }
        for at in tokens(body).into_iter().map(|at| start + at) {
            for aside in ASIDES {
                // Python divides.
                if python && aside.starts_with('/') {
                    continue;
                }
                let changed = format!("{}{aside}{}", &text[..at], &text[at..]);
                let (call, grade) = cut(id, &set, &changed);
                assert_eq!(
                    value(&call.arguments),
                    value(ARGUMENTS),
                    "{id}: {changed:?}"
                );
                let own = text.contains("True") && aside.contains('#');
                let least = if own {
                    Grade::Complete
                } else {
                    Grade::Repaired
                };
                assert_eq!(grade, least, "{id}: {changed:?}");
                assert!(
                    own || call.kinds.contains(Kind::RepairedSpace),
                    "{id}: {changed:?}"
                );
                tried += 1;
            }
        }
        for (from, wide) in [(",", "，"), (",", "、"), (":", "：")] {
            if python && from == ":" {
                continue;
            }
            let changed = format!(
                "{}{}{}",
                &text[..start],
                body.replace(from, wide),
                &text[end..]
            );
            let (call, grade) = cut(id, &set, &changed);
            assert_eq!(
                value(&call.arguments),
                value(ARGUMENTS),
                "{id}: {changed:?}"
            );
            assert_eq!(grade, Grade::Repaired, "{id}: {changed:?}");
            assert!(
                call.kinds.contains(Kind::RepairedPunctuation),
                "{id}: {changed:?}"
            );
            tried += 1;
        }
    }
    assert!(tried > 3_000, "only {tried}");
}
