//! The JSON Schema Test Suite, run through the same interface as calls. `ci/json-schema.sh` fetches it and runs this.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toolglot::Kind;
use toolglot::json::{Value, json};

use crate::{ChangeKind, CheckOptions, Inventory, Tool, Unknown};

/// Folders of the suite, and the drafts that they test.
const DRAFTS: &[(&str, &str)] = &[
    ("draft4", "http://json-schema.org/draft-04/schema#"),
    ("draft6", "http://json-schema.org/draft-06/schema#"),
    ("draft7", "http://json-schema.org/draft-07/schema#"),
    (
        "draft2019-09",
        "https://json-schema.org/draft/2019-09/schema",
    ),
    (
        "draft2020-12",
        "https://json-schema.org/draft/2020-12/schema",
    ),
];

/// Excluded files: what they test is not supported, see `docs/TOOLS.md`.
const OUT: &[&str] = &["optional/format/", "optional/format-assertion.json"];

/// Excluded groups that depend on the position of their schema: `$recursiveRef` means the whole document, which is not the
/// suite's schema here.
const ROOT: &[&str] = &["$recursiveRef without $recursiveAnchor works like $ref"];

/// The results of a draft.
#[derive(Default)]
struct Tally {
    /// The verdict equals that of the suite.
    same: usize,
    /// The suite rejects the value; here it was converted to a valid one, and the change was reported.
    coerced: usize,
    /// The schema cannot be used, and why.
    refused: BTreeMap<String, usize>,
    /// Excluded groups.
    left_out: usize,
    wrong: Vec<String>,
}

#[test]
#[ignore = "needs the suite: ci/json-schema.sh"]
fn json_schema_test_suite() {
    let root = std::env::var_os("TOOLGLOT_JSON_SCHEMA_TESTS").expect("the folder of the suite");
    let mut wrong = vec![];
    for (folder, draft) in DRAFTS {
        let mut tally = Tally::default();
        let mut files = vec![];
        files_below(&Path::new(&root).join(folder), &mut files);
        assert!(files.len() > 30, "{folder}: {}", files.len());
        for file in files {
            let name = file.strip_prefix(&root).expect("below").display();
            let name = name.to_string();
            if !OUT.iter().any(|out| name.contains(out)) {
                run(&file, &name, draft, &mut tally);
            }
        }
        let refused: usize = tally.refused.values().sum();
        println!(
            "{folder}: {} as the suite says, {} coerced, {refused} with a schema that is refused, {} groups left out, {} otherwise",
            tally.same,
            tally.coerced,
            tally.left_out,
            tally.wrong.len()
        );
        for (why, count) in &tally.refused {
            println!("    {count:4} refused: {why}");
        }
        wrong.append(&mut tally.wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn files_below(folder: &Path, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    entries.sort();
    for path in entries {
        match path.is_dir() {
            true => files_below(&path, out),
            false => out.push(path),
        }
    }
}

fn run(file: &Path, name: &str, draft: &str, tally: &mut Tally) {
    let text = std::fs::read_to_string(file).expect("a file");
    let groups: Vec<Value> = serde_json::from_str(&text).expect("a list");
    for group in &groups {
        if group["description"]
            .as_str()
            .is_some_and(|text| ROOT.contains(&text))
        {
            tally.left_out += 1;
            continue;
        }
        let inventory = Inventory::of([Tool::new("t").parameters(around(&group["schema"], draft))]);
        let inventory = inventory.expect("an inventory");
        let options = CheckOptions {
            unknown: Unknown::Allow,
            ..CheckOptions::default()
        };
        for case in group["tests"].as_array().expect("cases") {
            let arguments = json!({"p": case["data"]}).to_string();
            let checked = inventory.checked("t", &arguments, &options);
            let broken = checked.violations.first();
            if let Some(fault) = broken.filter(|v| v.kind == Kind::MalformedValue) {
                let why = fault.message.rsplit(": ").next().expect("a reason");
                *tally.refused.entry(why.to_owned()).or_default() += 1;
                continue;
            }
            // A default of the whole value is never filled in, because the value exists.
            let changed = !checked.changes.is_empty();
            assert!(
                checked
                    .changes
                    .iter()
                    .all(|c| c.kind != ChangeKind::Default)
            );
            match (case["valid"] == true, checked.valid(), changed) {
                (true, true, false) | (false, false, _) => tally.same += 1,
                (false, true, true) => tally.coerced += 1,
                (want, ..) => tally.wrong.push(format!(
                    "{name}: {}: {}: valid must be {want}: {:?} {:?}",
                    group["description"], case["description"], checked.changes, checked.violations
                )),
            }
        }
    }
}

/// A schema for arguments with one parameter of this schema. References are adapted to its new position.
fn around(schema: &Value, draft: &str) -> Value {
    let mut inner = schema.clone();
    let mut draft = json!(draft);
    if let Some(map) = inner.as_object_mut() {
        draft = map.remove("$schema").unwrap_or(draft);
        // References by this name are rejected; by `#` they mean the same document.
        let word = if draft.to_string().contains("draft-04") {
            "id"
        } else {
            "$id"
        };
        let id = map.get(word).and_then(Value::as_str);
        if id.is_some_and(|id| !id.starts_with('#')) {
            map.remove(word);
        }
    }
    moved(&mut inner, false);
    json!({"$schema": draft, "properties": {"p": inner}})
}

fn moved(value: &mut Value, named: bool) {
    match value {
        Value::Object(map) => {
            for (key, part) in map {
                let word = !named;
                match (key.as_str(), part) {
                    ("$ref" | "$dynamicRef", Value::String(target)) if word => {
                        if let Some(pointer) = target.strip_prefix('#')
                            && (pointer.is_empty() || pointer.starts_with('/'))
                        {
                            *target = format!("#/properties/p{pointer}");
                        }
                    }
                    ("enum" | "const" | "default" | "examples", _) if word => {}
                    (key, part) => moved(part, word && NAMED.contains(&key)),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|part| moved(part, false)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Keywords whose values are schemas by name.
const NAMED: &[&str] = &[
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
    "dependencies",
];
