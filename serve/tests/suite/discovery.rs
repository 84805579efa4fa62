//! The page filters tools itself, while somebody types. The table of what the tools layer offers is the file with which the page's tests
//! compare that, so that the two cannot differ.
//!
//! `TOOLGLOT_WRITE=1 cargo test -p toolglot-serve discovery` writes the file again.

use serde_json::{Map, Value, json};
use toolglot_tools::{CallConfig, Inventory, read};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../page/tests/discovery.json");

/// Tools with and without what decides whether they are offered, in all forms of ids.
fn manifest() -> Value {
    let schema = json!({"type": "object", "properties": {}});
    json!({"tools": [
        {"id": "plain", "description": "x", "agentCallable": true},
        {"id": "space:one", "description": "x", "parameters": schema, "agentCallable": true},
        {"id": "space:two", "description": "", "parameters": schema, "agentCallable": true},
        {"id": "dot.one", "description": "x", "agentCallable": true},
        {"id": "a.b:c", "description": "x", "agentCallable": true},
        {"id": "a:b:c", "description": "x", "agentCallable": true},
        {"id": "not:described", "description": "", "agentCallable": true},
        {"id": "not:callable", "description": "x", "agentCallable": false},
        {"id": "not:said", "description": "x"}
    ]})
}

/// Every combination of a few values for each member.
fn configs() -> Vec<Value> {
    let all: [(&str, Vec<Value>); 4] = [
        ("enabled", vec![json!(true), json!(false)]),
        ("defaultToolEnabled", vec![json!(true), json!(false)]),
        (
            "toolToggles",
            vec![
                json!({}),
                json!({"plain": false, "space:one": true, "dot": false}),
                json!({"plain": true, "space": false, "space:two": true, "a.b": true}),
                json!({"a": false, "a:b": true, "a.b:c": false, "dot.one": true, "one": false}),
                json!({"not": true, "not:described": true, "not:callable": true, "not:said": true}),
                json!({"": false, "nobody": true}),
            ],
        ),
        (
            "toolIdsInventory",
            vec![
                Value::Null,
                json!([]),
                json!(["plain", "space", "space:two", "a.b:c", "not:callable"]),
            ],
        ),
    ];
    let mut made = vec![Map::new()];
    for (name, values) in &all {
        let with = |one: &Map<String, Value>| {
            let mut all = vec![];
            for value in values {
                let mut one = one.clone();
                if !value.is_null() {
                    one.insert((*name).to_owned(), value.clone());
                }
                all.push(one);
            }
            all
        };
        made = made.iter().flat_map(with).collect();
    }
    made.into_iter().map(Value::Object).collect()
}

#[test]
fn the_table_of_the_page_is_what_the_tools_layer_offers() {
    let manifest = manifest();
    let tools = read::any("manifest", &manifest.to_string()).unwrap();
    let all = Inventory::of(tools).unwrap();
    let mut cases = vec![];
    for config in configs() {
        let read: CallConfig = serde_json::from_value(config.clone()).unwrap();
        let offered = all.discover(&read);
        let ids: Vec<&str> = offered
            .tools()
            .iter()
            .map(|tool| tool.id.as_str())
            .collect();
        cases.push(json!({"config": config, "offered": ids}).to_string());
    }
    let text = format!(
        "{{\"manifest\": {manifest},\n\"cases\": [\n{}\n]}}\n",
        cases.join(",\n")
    );
    if std::env::var_os("TOOLGLOT_WRITE").is_some() {
        std::fs::write(FILE, &text).unwrap();
    }
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let have = std::fs::read_to_string(FILE).unwrap();
    assert!(
        read(&have) == read(&text),
        "page/tests/discovery.json is not what this test writes"
    );
}
