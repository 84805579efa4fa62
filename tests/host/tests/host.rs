//! A host's own types read the same with the library linked as without it.

use serde_json::{Value, json};
use toolglot_host::{Beside, Part, Request, Sampling, Score};

/// Uses the library, so that it is linked.
#[test]
fn the_library_is_linked() {
    let set = toolglot::DialectSet::defaults();
    let text = b"<tool_call>\n{\"name\": \"f\", \"arguments\": {\"b\": 1.50, \"a\": 1}}\n</tool_call>";
    let turn = toolglot::parse(&set, toolglot::Options::default(), text, toolglot::Finish::Stop);
    assert_eq!(turn.calls[0].arguments, r#"{"b": 1.50, "a": 1}"#);
    let tools = toolglot_tools::read::any(
        "tools",
        r#"[{"name": "f", "parameters": {"properties": {"b": {"maximum": 9007199254740992}, "a": {}}}}]"#,
    )
    .expect("tools");
    let inventory = toolglot_tools::Inventory::of(tools).expect("an inventory");
    let check = |arguments| inventory.checked("f", arguments, &toolglot_tools::CheckOptions::default());
    assert_eq!(check(r#"{"b": 1.50, "a": 1}"#).text(), r#"{"b":1.50,"a":1}"#);
    assert!(!check(r#"{"b": 9007199254740993}"#).valid());
    assert!(toolglot_testkit::vectors::same_number("1e2", "100"));
}

#[test]
fn floats_are_read_through_flatten_and_tags() {
    let text = r#"{"model": "m", "temperature": 0.7, "top_p": 1}"#;
    let want = Request {
        model: "m".to_owned(),
        sampling: Sampling { temperature: 0.7, top_p: Some(1.0) },
    };
    assert_eq!(serde_json::from_str::<Request>(text).expect("flatten"), want);
    for (text, want) in [
        ("0.5", Score::Number(0.5)),
        ("3", Score::Number(3.0)),
        ("[1.5, 2]", Score::List(vec![1.5, 2.0])),
        ("\"0.5\"", Score::Text("0.5".to_owned())),
    ] {
        assert_eq!(serde_json::from_str::<Score>(text).expect("untagged"), want);
    }
    for text in [r#"{"type": "weight", "value": 1.25}"#, r#"{"value": 1.25, "type": "weight"}"#] {
        assert_eq!(serde_json::from_str::<Part>(text).expect("tagged"), Part::Weight { value: 1.25 });
    }
    let text = r#"{"value": 2.5, "kind": "Weight"}"#;
    assert_eq!(serde_json::from_str::<Beside>(text).expect("adjacent"), Beside::Weight(2.5));
}

/// What the features would change in values: order, numbers, depth.
#[test]
fn values_are_those_of_the_default_features() {
    let value: Value = serde_json::from_str(r#"{"b": 1.50, "a": 20000000000000000001}"#).expect("JSON");
    let keys: Vec<&String> = value.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["a", "b"]);
    assert!(value["a"].is_f64());
    assert_eq!(value["b"].to_string(), "1.5");
    assert_eq!(json!({"z": 1, "a": 2}).to_string(), r#"{"a":2,"z":1}"#);
    assert!(serde_json::from_str::<Value>("1e400").is_err());
}
