//! Slips of models, made of what the encoders write: in every built-in dialect a call with one is delivered, and its grade
//! says so. Nothing that was written vanishes from a complete call, and no call is lost for a slip.

use std::sync::Arc;

use toolglot::{
    Call, DialectSet, EncodeCall, EncodeOptions, Finish, Grade, Kind, Options, Tools,
    builtin_files, encode, parse,
};

const TOOLS: &str = r#"[{"name": "wipe", "parameters": {"type": "object", "properties": {
    "path": {"type": "string"}, "n": {"type": "array"}, "ok": {"type": "boolean"}}}}]"#;
const ARGUMENTS: &str = r#"{"path": "/x 中", "n": [1, 2], "ok": true}"#;
/// Keys of arguments, as dialects spell them.
const OWN: [&str; 3] = ["\"arguments\"", "\"parameters\"", "\"args\""];
/// Fewer dialects than this that a slip fits would mean that the test looks for the wrong text.
const MANY: usize = 20;

fn tools() -> Arc<Tools> {
    Arc::new(Tools::from_json(TOOLS).expect("tools"))
}

/// YAML has such numbers.
const YAML: &str = "yaml-xml";

/// What every built-in dialect that can say the call writes.
fn written() -> Vec<(&'static str, DialectSet, String)> {
    let call = EncodeCall {
        name: "wipe".to_owned(),
        arguments: ARGUMENTS.to_owned(),
        id: None,
    };
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

/// Changes each text that `change` fits, and gives how many these are.
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

/// The text with another key of the arguments.
fn keyed(text: &str, key: &str) -> Option<String> {
    let mut own = OWN.iter().filter(|own| text.contains(**own));
    let own = own.next().filter(|own| **own != format!("\"{key}\""))?;
    // JSON without a marker must show a call by its own keys.
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
fn arguments_under_any_other_key_are_missed_and_said() {
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
fn a_key_beside_the_arguments_is_said() {
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
                // Where the spelling is the dialect's own it is none.
                let own = to.contains(['\'', 'N']) || to.contains(",]") || id == YAML;
                // What is no value of its type stays a text, in which nothing is lost.
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
