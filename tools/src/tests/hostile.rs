//! Hostile definitions and arguments are answered quickly and clearly. Without the bounds tested here, these cases would
//! practically never end.

use toolglot::json::{Map, Value, json};

use crate::{CheckOptions, Inventory, Registry, Tool, read};

fn check(schema: Value, arguments: &str) -> Vec<String> {
    let inventory = Inventory::of([Tool::new("t").parameters(schema)]).expect("an inventory");
    let checked = inventory.checked("t", arguments, &CheckOptions::default());
    let violations = checked.violations.iter();
    violations
        .map(|v| format!("{} {}", v.kind, v.message))
        .collect()
}

fn says(violations: &[String], words: &str) {
    assert!(
        violations.iter().any(|v| v.contains(words)),
        "{words}: {violations:?}"
    );
}

/// Definitions `d0` to `dN`, each built from the next.
fn chain(count: usize, link: impl Fn(Value) -> Value, last: Value) -> Map {
    let next = |n: usize| json!({"$ref": format!("#/$defs/d{}", n + 1)});
    let mut all: Map = (0..count)
        .map(|n| (format!("d{n}"), link(next(n))))
        .collect();
    all.insert(format!("d{count}"), last);
    all
}

#[test]
fn alternatives_that_double_are_refused() {
    for link in [
        |next: Value| json!({"anyOf": [next.clone(), next]}),
        |next: Value| json!({"allOf": [next.clone(), next]}),
        |next: Value| json!({"oneOf": [next.clone(), next]}),
        |next: Value| json!({"if": next.clone(), "then": next}),
    ] {
        let defs = chain(40, link, json!({"type": "integer"}));
        let schema = json!({"properties": {"p": {"$ref": "#/$defs/d0"}}, "$defs": defs});
        says(&check(schema, r#"{"p": "x"}"#), "alternatives are too many");
    }
    // The same, with one level of the value per definition.
    let link = |next: Value| json!({"anyOf": [{"properties": {"n": next.clone()}}, {"properties": {"n": next}}]});
    let defs = chain(40, link, json!({"type": "integer"}));
    let value = format!("{}\"x\"{}", "{\"n\":".repeat(40), "}".repeat(40));
    let schema = json!({"properties": {"p": {"$ref": "#/$defs/d0"}}, "$defs": defs});
    says(
        &check(schema, &format!("{{\"p\":{value}}}")),
        "alternatives are too many",
    );
}

#[test]
fn references_without_end_are_refused() {
    let schema = json!({"properties": {"p": {"$ref": "#/$defs/a"}},
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}}});
    says(&check(schema, r#"{"p": 1}"#), "leads back to itself");
    let schema = json!({"properties": {"p": {"$ref": "#/properties/p"}}});
    says(&check(schema, r#"{"p": 1}"#), "leads back to itself");
    let tree = json!({"properties": {"p": {"$ref": "#"}, "n": {"type": "integer"}}});
    let deep = format!("{}{{\"n\":\"1\"}}{}", "{\"p\":".repeat(60), "}".repeat(60));
    assert_eq!(check(tree, &deep), [""; 0]);
}

#[test]
fn long_chains_are_refused_or_followed() {
    for count in [10, 300, 900, 20_000] {
        let schema = json!({"properties": {"p": {"$ref": "#/$defs/d0"}}, "$defs": chain(count, |next| next, json!({}))});
        let found = check(schema, r#"{"p": 1}"#);
        assert!(found.is_empty() || found.len() == 1, "{found:?}");
    }
    for count in [10, 300, 900] {
        let link = |next: Value| json!({"properties": {"n": next}});
        let schema = json!({"properties": {"p": {"$ref": "#/$defs/d0"}}, "$defs": chain(count, link, json!({}))});
        assert_eq!(check(schema, r#"{"p": {"n": {"n": 1}}}"#), [""; 0]);
    }
}

#[test]
fn large_schemas_are_answered() {
    let names: Vec<String> = (0..200_000).map(|n| format!("value{n}")).collect();
    let schema = json!({"properties": {"p": {"enum": names}}});
    says(&check(schema.clone(), r#"{"p": "nothing"}"#), "is none of");
    assert_eq!(check(schema, r#"{"p": "value199999"}"#), [""; 0]);

    let around = |inner, _| Value::Object(Map::from_iter([("items".to_owned(), inner)]));
    let mut tool = Tool::new("t");
    tool.parameters = Some((0..500).fold(Value::Bool(true), around));
    let inventory = Inventory::of([tool]).expect("an inventory");
    let checked = inventory.checked("t", "{}", &CheckOptions::default());
    assert!(checked.violations[0].message.contains("nested 64 deep"));

    let wide: Map = (0..60_000)
        .map(|n| (format!("p{n}"), json!({"type": "integer"})))
        .collect();
    says(&check(json!({"properties": wide}), "{}"), "too large");
    says(
        &check(json!({"$ref": "http://example.org/x"}), "{}"),
        "is not fetched",
    );
    says(
        &check(json!({"$schema": "http://example.org/x"}), "{}"),
        "names no draft",
    );
    says(
        &check(json!({"properties": {"p": {"type": "thing"}}}), "{}"),
        "cannot be checked",
    );
    says(
        &check(json!({"properties": {"p": {"pattern": "("}}}), "{}"),
        "cannot be checked",
    );
    says(
        &check(json!({"properties": {"p": {"$ref": "#/nowhere"}}}), "{}"),
        "cannot be checked",
    );
}

#[test]
fn large_schemas_with_large_values_are_answered() {
    let names: Vec<String> = (0..100_000).map(|n| format!("value{n}")).collect();
    let schema = json!({"properties": {"p": {"items": {"enum": names}}}});
    let texts = vec!["\"value99999\""; 50_000].join(",");
    let found = check(schema, &format!("{{\"p\":[{texts}]}}"));
    says(&found, "too many");
    let branches: Vec<Value> = (0..5000).map(|n| json!({"const": n})).collect();
    let schema = json!({"properties": {"p": {"items": {"anyOf": branches}}}});
    let found = check(
        schema,
        &format!("{{\"p\":[{}]}}", vec!["-1"; 50_000].join(",")),
    );
    says(&found, "too many");
}

/// References by anchor and with percent-encoding resolve correctly, and nothing outside the document is read.
#[test]
fn references_are_followed_in_the_document() {
    let defs = json!({"a": {"$anchor": "here", "type": "object", "properties": {"n": {"type": "integer"}}},
        "b c": {"type": "object", "properties": {"n": {"type": "integer"}}}});
    for target in ["#here", "#/$defs/b%20c"] {
        let schema = json!({"$ref": target, "$defs": defs});
        assert_eq!(check(schema, r#"{"n": "1"}"#), [""; 0], "{target}");
    }
    let id = "http://example.org/x";
    for (draft, inner) in [
        ("2020-12", json!({"$id": id, "$ref": "#/a", "a": true})),
        ("2020-12", json!({"$id": id, "$anchor": "here"})),
        ("draft-04", json!({"id": id, "$ref": "#/a", "a": {}})),
    ] {
        let draft = format!("http://json-schema.org/{draft}/schema#");
        let schema = json!({"$schema": draft, "properties": {"p": inner}});
        says(&check(schema, "{}"), "is not read");
    }
    let schema = json!({"properties": {"p": {"id": id, "$ref": "#/$defs/a"}}, "$defs": {"a": {}}});
    assert_eq!(check(schema, r#"{"p": 1}"#), [""; 0]);
}

#[test]
fn patterns_and_numbers_cost_little() {
    let text = "a".repeat(50_000);
    for pattern in ["^(a+)+$", "^(a|aa)+b$", "^(?=(a+)+$)b", "(a*)*\\1c"] {
        let schema = json!({"properties": {"p": {"pattern": pattern}}});
        check(schema, &format!("{{\"p\":\"{text}\"}}"));
    }
    for number in [
        "1e999999999",
        "1e-999999999",
        "-1e999999999",
        &"9".repeat(1000),
    ] {
        for rule in [
            json!({"minimum": 5}),
            json!({"multipleOf": 3}),
            json!({"type": "integer"}),
            json!({"const": 7}),
            json!({"multipleOf": 0.001}),
            json!({"exclusiveMaximum": 1e300}),
            json!({"enum": [1, 2]}),
        ] {
            check(
                json!({"properties": {"p": rule}}),
                &format!("{{\"p\":{number}}}"),
            );
        }
    }
    let texts: Vec<String> = (0..20_000).map(|n| format!("{{\"n\":[{n}]}}")).collect();
    let list = format!("{{\"p\":[{}]}}", texts.join(","));
    assert_eq!(
        check(json!({"properties": {"p": {"uniqueItems": true}}}), &list),
        [""; 0]
    );
    let many = vec!["1"; 20_000].join(",");
    says(
        &check(
            json!({"properties": {"p": {"uniqueItems": true}}}),
            &format!("{{\"p\":[{many}]}}"),
        ),
        "non-unique",
    );
}

#[test]
fn coercing_is_bounded() {
    let leaf = json!({"properties": {"a": {"type": "integer"}}, "required": ["z"]});
    let nested = (0..12).fold(leaf, |inner, _| {
        json!({"anyOf": [{"items": inner.clone(), "type": "array"}, {"items": inner, "type": "array"}]})
    });
    let value = format!("{}{{\"a\":\"1\"}}{}", "[".repeat(12), "]".repeat(12));
    assert!(
        !check(
            json!({"properties": {"p": nested}}),
            &format!("{{\"p\":{value}}}")
        )
        .is_empty()
    );
    let texts: Vec<String> = (0..20_000).map(|n| n.to_string()).collect();
    let list = serde_json::to_string(&texts).expect("JSON");
    let found = check(
        json!({"properties": {"p": {"type": "array", "items": {"type": "integer"}}}}),
        &format!("{{\"p\":{list}}}"),
    );
    assert_eq!(found, [""; 0]);
}

#[test]
fn ten_thousand_tools_are_checked() {
    let tool = |n| {
        Tool::new(&format!("server:tool{n}"))
            .parameters(json!({"properties": {"p": {"type": "integer"}}}))
    };
    let inventory = Inventory::of((0..10_000).map(tool)).expect("an inventory");
    for n in 0..10_000 {
        let checked = inventory.checked(
            &format!("server_tool{n}"),
            r#"{"p": "1"}"#,
            &CheckOptions::default(),
        );
        assert!(checked.valid() && checked.arguments["p"] == 1);
    }
    let unknown = inventory.checked("server_tool10000", "{}", &CheckOptions::default());
    assert!(unknown.violations[0].suggestion.is_some());
    assert_eq!(inventory.faults().count(), 0);
}

#[test]
fn duplicate_ids_are_refused() {
    let one = json!({"name": "same", "parameters": {"type": "object"}});
    let list = Value::Array(vec![one; 10_000]).to_string();
    let error = read::any("tools.json", &list).expect_err("refused");
    assert_eq!(
        error.to_string(),
        "tools.json: [1]: same is the id of [0] too"
    );
    let last = (0..10_000).map(|n| Tool::new(&format!("t{}", n % 9_999)));
    let error = Inventory::of(last).expect_err("refused");
    assert_eq!(error.to_string(), "there is a tool t0 already");
    let registry = Registry::new();
    registry.register([Tool::new("t0")]).expect("a new id");
    let again = (0..10_000).rev().map(|n| Tool::new(&format!("t{n}")));
    assert!(registry.register(again).is_err());
    assert_eq!(registry.inventory().tools().len(), 1);
    // A repeated key, with another schema.
    let twice = r#"{"tools": [{"name": "a", "inputSchema": {"type": "object"}, "inputSchema": {"type": "string"}}]}"#;
    let read = read::any("tools.json", twice);
    assert!(read.is_err(), "{read:?}");
}
