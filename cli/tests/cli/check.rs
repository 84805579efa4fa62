use std::collections::HashSet;
use std::fs;

use toolglot::json::{Value, json};

use crate::{CALL, CUT, directory, file, repository, run};

fn vectors() -> Vec<Value> {
    let call = json!({"name": "weather", "arguments": {"city": "Leith"}});
    vec![
        json!({"id": "a/call", "dialect": "tool-call-xml", "input": CALL,
            "expect": {"text": "Looking.  Done.", "calls": [call], "errors": []}, "note": "one call"}),
        json!({"id": "a/cut", "dialect": "tool-call-xml", "input": CUT, "alone_only": true, "finish": "length",
            "expect": {"text": CUT, "trim": true, "calls": [], "errors": ["unclosed_block"]}}),
        json!({"id": "a/think", "dialect": "vcp", "input": "<think>\nhm\n</think>\nYes.",
            "options": {"limits": {"max_value": 100}, "fence": "allow"},
            "expect": {"text": "Yes.", "trim": true, "reasoning": "hm", "calls": [], "errors": []}}),
        json!({"id": "a/off", "dialect": "vcp", "input": "<think>x</think>", "options": {"reasoning": "off"},
            "expect": {"text": "<think>x</think>", "calls": [], "errors": []}}),
    ]
}

fn lines(vectors: &[Value]) -> String {
    vectors.iter().map(|vector| format!("{vector}\n")).collect()
}

#[test]
fn good_vectors_pass() {
    let path = file("good.jsonl", lines(&vectors()));
    let ran = run(&["check", &path, "--jobs", "2"], b"");
    assert_eq!(
        (ran.code, ran.out.as_str(), ran.err.as_str()),
        (0, "4 passed, 0 failed\n", "")
    );
    let all = run(&["check", "--cuts", "all", &path], b"");
    assert_eq!((all.code, all.out), (0, ran.out));
}

#[test]
fn a_failure_says_what_was_expected_and_got() {
    let mut vectors = vectors();
    vectors[0]["expect"]["calls"][0]["arguments"]["city"] = json!("Oban");
    let path = file("bad.jsonl", lines(&vectors));
    let ran = run(&["check", &path], b"");
    assert_eq!(ran.code, 1);
    assert!(ran.out.ends_with("\n3 passed, 1 failed\n"), "{}", ran.out);
    for word in [
        "FAIL a/call",
        "bad.jsonl:1",
        "alone",
        "one chunk",
        r#"calls[0].arguments.city: expected "Oban", got "Leith""#,
    ] {
        assert!(ran.out.contains(word), "{word}: {}", ran.out);
    }
}

/// Every way to change one expectation of a vector, with a name.
fn mutations(vector: &Value) -> Vec<(&'static str, Value)> {
    let expect = &vector["expect"];
    let mut out = vec![];
    let mut change = |what: &'static str, key: &str, value: Value| {
        let mut changed = vector.clone();
        changed["expect"][key] = value;
        changed["id"] = json!(format!("{}#{what}", vector["id"].as_str().expect("an id")));
        out.push((what, changed));
    };
    change(
        "text",
        "text",
        json!(format!("{}~", expect["text"].as_str().expect("a text"))),
    );
    change(
        "reasoning",
        "reasoning",
        json!(format!(
            "{}~",
            expect["reasoning"].as_str().unwrap_or_default()
        )),
    );
    let calls = expect["calls"].as_array().expect("a list");
    let more = [&calls[..], &[json!({"name": "one_more", "arguments": {}})]].concat();
    change("one call more", "calls", json!(more));
    if let Some((first, others)) = calls.split_first() {
        let with = |key: &str, value: Value| {
            let mut first = first.clone();
            first[key] = value;
            json!([&[first], others].concat())
        };
        change("dropped call", "calls", json!(others));
        change(
            "call name",
            "calls",
            with(
                "name",
                json!(format!("{}~", first["name"].as_str().expect("a name"))),
            ),
        );
        change(
            "argument value",
            "calls",
            with("arguments", other_value(&first["arguments"])),
        );
    }
    let kind = |kind: &&str| {
        !expect["errors"]
            .as_array()
            .expect("a list")
            .contains(&json!(*kind))
    };
    let kind = ["null_action", "limit_native", "malformed_header"]
        .into_iter()
        .find(kind)
        .expect("one is left");
    change("error kind", "errors", json!([kind]));
    out
}

/// A value that differs in its first leaf.
fn other_value(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut map = map.clone();
            match map.values_mut().next() {
                Some(first) => *first = other_value(&first.clone()),
                None => drop(map.insert("one_more".to_owned(), json!(1))),
            }
            Value::Object(map)
        }
        Value::Array(list) => match list.split_first() {
            Some((first, others)) => json!([&[other_value(first)], others].concat()),
            None => json!([1]),
        },
        Value::String(text) => json!(format!("{text}~")),
        Value::Number(_) => serde_json::from_str(&format!("{value}1")).unwrap_or(json!("~")),
        Value::Bool(is) => json!(!is),
        Value::Null => json!(false),
    }
}

fn every_mutation_fails(name: &str, vectors: &[Value]) {
    let mutants: Vec<(&str, Value)> = vectors.iter().flat_map(mutations).collect();
    let values: Vec<Value> = mutants.iter().map(|(_, value)| value.clone()).collect();
    let ran = run(&["check", &file("mutants.jsonl", lines(&values))], b"");
    assert_eq!(ran.code, 1, "{name}: {}", ran.err);
    let failed = ran.out.lines().filter_map(|line| {
        let (id, _) = line.strip_prefix("FAIL ")?.split_once(" (")?;
        Some(id)
    });
    let failed: HashSet<&str> = failed.collect();
    for (what, mutant) in &mutants {
        let id = mutant["id"].as_str().expect("an id");
        assert!(
            failed.contains(id),
            "{name}: {id} passes with a changed {what}"
        );
    }
    assert!(
        ran.out
            .ends_with(&format!("\n0 passed, {} failed\n", mutants.len())),
        "{name}"
    );
}

#[test]
fn every_changed_expectation_fails() {
    every_mutation_fails("inline", &vectors());
    let files = fs::read_dir(repository("tests/vectors")).expect("the vectors");
    let mut all = vec![];
    for path in files.map(|entry| entry.expect("an entry").path()) {
        if path.extension().is_none_or(|e| e != "jsonl") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a vectors file");
        for line in text.lines() {
            let mut vector: Value = toolglot_testkit::vectors::value(line).expect("JSON");
            // An expected `state` would be rejected with other calls, before anything is compared.
            if let Some(expect) = vector["expect"].as_object_mut() {
                expect.remove("state");
            }
            all.push(vector);
        }
    }
    every_mutation_fails("tests/vectors", &all);
}

#[test]
fn changed_grades_fail_too() {
    let mut vector = vectors().remove(0);
    vector["expect"]["calls"][0]["grade"] = json!("complete");
    assert_eq!(
        run(
            &["check", &file("grade.jsonl", lines(&[vector.clone()]))],
            b""
        )
        .code,
        0
    );
    vector["expect"]["calls"][0]["grade"] = json!("recovered");
    assert_eq!(
        run(&["check", &file("grade.jsonl", lines(&[vector]))], b"").code,
        1
    );
}

#[test]
fn a_dialect_file_may_be_named_by_vectors() {
    let show = run(&["dialects", "show", "tool-action"], b"").out;
    let text = show
        .replace("id = \"tool-action\"", "id = \"mine\"")
        .replace("\"tool_action\"", "\"do_it\"");
    let vector = json!({"id": "m/a", "dialect": "mine", "input": "<do_it name=\"a\"><x value=\"1\"/></do_it>",
        "expect": {"text": "", "calls": [{"name": "a", "arguments": {"x": "1"}}], "errors": []}});
    let ran = run(
        &[
            "check",
            "--dialect-file",
            &file("mine.toml", text),
            &file("m.jsonl", lines(&[vector])),
        ],
        b"",
    );
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "1 passed, 0 failed\n"),
        "{}",
        ran.err
    );
}

#[test]
fn invalid_vectors_are_named() {
    let good = vectors().remove(0);
    let broken = |change: &dyn Fn(&mut Value)| {
        let mut vector = good.clone();
        change(&mut vector);
        let text = format!("{good}\n{}\n", json!(vector)).replacen("a/call", "a/first", 1);
        run(&["check", &file("v.jsonl", text)], b"")
    };
    let remove = |key: &'static str| {
        move |vector: &mut Value| drop(vector.as_object_mut().map(|map| map.remove(key)))
    };
    broken(&remove("expect")).refused(&["v.jsonl:2", "missing field `expect`"]);
    broken(&remove("input")).refused(&["v.jsonl:2", "`input` or `input_b64` is missing"]);
    broken(&|v| v["nite"] = json!("x")).refused(&["v.jsonl:2", "unknown field `nite`"]);
    broken(&|v| v["expect"]["call"] = json!([])).refused(&["v.jsonl:2", "unknown field `call`"]);
    broken(&|v| v["dialect"] = json!("vpc")).refused(&["v.jsonl:2", "vpc"]);
    broken(&|v| v["finish"] = json!("done")).refused(&["v.jsonl:2", "done"]);
    broken(&|v| v["tools"] = json!([{}])).refused(&["v.jsonl:2", "tools[0]"]);
    broken(&|v| v["options"] = json!({"fences": "skip"})).refused(&["v.jsonl:2", "options.fences"]);
    broken(&|v| v["options"] = json!({"vcp.fuzzy": true})).refused(&["v.jsonl:2", "vcp"]);
    broken(&|v| v["expect"]["errors"] = json!(["unclosed_blok"]))
        .refused(&["v.jsonl:2", "unclosed_blok"]);
    broken(&|v| v["id"] = json!("a/first")).refused(&["v.jsonl:2", "a/first"]);

    // The same error on many lines is one line of output.
    let of_a_file = |n: usize| {
        let mut vector = good.clone();
        vector["id"] = json!(format!("a/{n}"));
        vector["dialect"] = json!("mine");
        vector
    };
    let many: Vec<Value> = (0..30).map(of_a_file).collect();
    let ran = run(&["check", &file("mine.jsonl", lines(&many))], b"");
    ran.refused(&["mine.jsonl:1: there is no dialect mine (and 29 more lines)"]);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);

    run(&["check", &file("v.jsonl", "{\"id\": 1\n")], b"").refused(&["v.jsonl:1"]);
    run(&["check", &file("v.jsonl", b"\n\xff\xfe")], b"").refused(&["v.jsonl:2", "UTF-8"]);
    run(&["check", &file("v.jsonl", "")], b"").refused(&["v.jsonl", "no vector"]);
    run(&["check", "no/such.jsonl"], b"").refused(&["no/such.jsonl"]);
    let directory = directory().display().to_string();
    run(&["check", &directory], b"").refused(&[&directory, "directory"]);
}
