//! Values get the types that schemas ask for: valid values never change, and coercion is idempotent.

use proptest::prelude::*;
use toolglot::json::{Value, json};
use toolglot::layer::read;

use crate::coerce::{Change, WORK, coerce};
use crate::schema::Plan;

/// The coerced arguments, and the changes.
fn coerced(schema: &Value, arguments: &str) -> (String, Vec<Change>) {
    let plan = Plan::new(schema).expect("a usable schema");
    let mut value = read(arguments, crate::coerce::ARGUMENTS)
        .expect("JSON")
        .value;
    let changes = coerce(&mut value, &plan.doc(WORK));
    (value.to_string(), changes)
}

/// The result of coercing one value by the schema of a parameter.
fn one(schema: Value, value: &str) -> String {
    let schema = json!({
        "type": "object",
        "properties": {"p": schema},
        "$defs": {
            "tree": {
                "type": "object",
                "properties": {"n": {"type": "integer"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
            },
            "size": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "loop": {"$ref": "#/$defs/size"},
        },
    });
    let (text, _) = coerced(&schema, &format!("{{\"p\":{value}}}"));
    text[5..text.len() - 1].to_owned()
}

/// Neither the inner list nor the outer one. What says itself that it is a list is one.
#[test]
fn lists_of_lists_are_not_guessed() {
    let lists = json!({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}});
    let maps = json!({"type": "array", "items": {"properties": {"l": {"type": "array"}}}});
    let unions =
        json!({"type": "array", "items": {"anyOf": [lists["items"].clone(), {"type": "null"}]}});
    for (schema, value, want) in [
        (&lists, "1", "1"),
        (&lists, "[1,2]", "[1,2]"),
        (&lists, r#""[1,2]""#, "[1,2]"),
        (&lists, r#"["1",[2]]"#, r#"["1",[2]]"#),
        (&lists, r#"["[1]",{"item":"2"}]"#, "[[1],[2]]"),
        (&lists, r#"["<item>1</item>"]"#, "[[1]]"),
        (&unions, "[1,null]", "[1,null]"),
        (&maps, r#"" ""#, "[]"),
        // A list in an object is the first one.
        (&maps, r#"[{"l":1}]"#, r#"[{"l":[1]}]"#),
    ] {
        assert_eq!(one(schema.clone(), value), want, "{value}");
    }
}

/// Tuples as older drafts write them, and listed values with white space around them.
#[test]
fn tuples_and_listed_values() {
    let pair = json!({"type": "array", "items": [{"type": "integer"}, {"type": "string"}]});
    assert_eq!(one(pair.clone(), r#"["1",2]"#), r#"[1,"2"]"#);
    assert_eq!(one(pair, r#""1""#), "[1]");
    for unit in [
        json!({"enum": ["celsius"]}),
        json!({"type": "string", "const": "celsius"}),
    ] {
        assert_eq!(one(unit.clone(), r#"" celsius ""#), r#""celsius""#);
        assert_eq!(one(unit, r#""Celsius""#), r#""Celsius""#);
    }
}

#[test]
fn text_gets_the_type_of_the_schema() {
    let list = |of: &str| json!({"type": "array", "items": {"type": of}});
    let tree = || json!({"$ref": "#/$defs/tree"});
    let nullable = || json!({"type": "integer", "nullable": true});
    let listed =
        |values: &Value| json!({"type": "integer", "nullable": true, "enum": values.clone()});
    for (schema, value, want) in [
        // The order: null, integer, number, boolean, object, array.
        (json!({"type": ["integer", "null"]}), r#""null""#, "null"),
        (json!({"type": "null"}), r#"" null ""#, "null"),
        (json!({"type": "integer"}), r#"" 42\n""#, "42"),
        (
            json!({"type": "integer"}),
            r#""9007199254740993""#,
            "9007199254740993",
        ),
        (
            json!({"type": "integer"}),
            r#""-123456789012345678901234567890""#,
            "-123456789012345678901234567890",
        ),
        (json!({"type": "integer"}), r#""14.0""#, "14.0"),
        (json!({"type": "number"}), r#""1.10""#, "1.10"),
        (json!({"type": "number"}), r#""1e3""#, "1e3"),
        (json!({"type": "boolean"}), r#""True""#, "true"),
        (json!({"type": "boolean"}), r#""FALSE""#, "false"),
        (
            json!({"type": "object"}),
            r#""{\"a\": [1]}""#,
            r#"{"a":[1]}"#,
        ),
        (list("integer"), r#""[1, \"2\"]""#, "[1,2]"),
        // Lists of single values and of elements.
        (list("integer"), r#""7""#, "[7]"),
        (list("integer"), "7", "[7]"),
        (list("string"), r#""a,b""#, r#"["a,b"]"#),
        (list("string"), r#"{"item": ["a", "b"]}"#, r#"["a","b"]"#),
        (list("integer"), r#"{"item": "1"}"#, "[1]"),
        (
            list("string"),
            r#""<item>a &amp; b</item>\n<item></item>""#,
            r#"["a & b",""]"#,
        ),
        (list("object"), r#"{"a": 1}"#, r#"[{"a":1}]"#),
        (json!({"type": "array"}), r#""x""#, r#"["x"]"#),
        // Numbers and booleans for parameters that only allow text, digit for digit.
        (
            json!({"type": "string"}),
            "02134.50".trim_start_matches('0'),
            r#""2134.50""#,
        ),
        (json!({"type": "string"}), "true", r#""true""#),
        // Listed values.
        (json!({"enum": [1, 2, "auto"]}), r#""2""#, "2"),
        (json!({"enum": ["low", "high"]}), r#"" low\n""#, r#""low""#),
        (json!({"const": true}), r#""true""#, "true"),
        // References, cyclic ones too, and alternatives.
        (json!({"$ref": "#/$defs/loop"}), r#""5""#, "5"),
        (json!({"$ref": "#/$defs/size"}), r#""null""#, "null"),
        (
            tree(),
            r#""{\"n\": \"1\", \"kids\": [{\"n\": \"2\", \"kids\": {\"n\": \"3\"}}]}""#,
            r#"{"n":1,"kids":[{"n":2,"kids":[{"n":3}]}]}"#,
        ),
        (nullable(), r#""null""#, "null"),
        (nullable(), r#""5""#, "5"),
        // A list of values that lacks null gets it, too.
        (listed(&json!([1, 2])), r#""null""#, "null"),
        (listed(&json!([1, 2])), r#""2""#, "2"),
        (listed(&json!([1, null])), r#""null""#, "null"),
        (
            json!({"anyOf": [list("integer"), {"type": "null"}]}),
            r#""5""#,
            "[5]",
        ),
        (
            json!({"oneOf": [
                {"properties": {"kind": {"const": "a"}, "v": {"type": "integer"}}, "required": ["kind"]},
                {"properties": {"kind": {"const": "b"}, "v": {"type": "boolean"}}, "required": ["kind"]},
            ]}),
            r#"{"kind": "b", "v": "true"}"#,
            r#"{"kind":"b","v":true}"#,
        ),
        (
            json!({"allOf": [{"type": ["string", "integer"]}, {"type": "integer"}]}),
            r#""5""#,
            "5",
        ),
        (
            json!({"prefixItems": [{"type": "integer"}], "items": {"type": "boolean"}}),
            r#"["1", "true"]"#,
            "[1,true]",
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "integer"}}),
            r#"{"x": "1"}"#,
            r#"{"x":1}"#,
        ),
        // Types of other languages.
        (json!({"type": "int"}), r#""5""#, "5"),
        (json!({"type": "dict"}), r#""{}""#, "{}"),
        (
            json!({"properties": {"default": {"type": "int"}, "type": {"type": "bool"}}}),
            r#"{"default": "1", "type": "true"}"#,
            r#"{"default":1,"type":true}"#,
        ),
    ] {
        assert_eq!(one(schema.clone(), value), want, "{schema} {value}");
    }
}

#[test]
fn values_that_cannot_be_coerced_are_kept() {
    for (schema, value) in [
        (json!({"type": "integer"}), r#""14.5""#),
        (json!({"type": "integer"}), r#""007""#),
        (json!({"type": "integer"}), r#""0x1F""#),
        (json!({"type": "integer"}), "14.5"),
        (json!({"type": "integer"}), r#""""#),
        (json!({"type": "number"}), r#""NaN""#),
        (json!({"type": "boolean"}), r#""1""#),
        (json!({"type": "boolean"}), "1"),
        (json!({"type": "boolean"}), r#""yes""#),
        (json!({"type": "object"}), r#""{\"a\": ""#),
        (json!({"type": "object"}), r#""{\"a\":1,\"a\":2}""#),
        (json!({"type": "object"}), "[]"),
        (json!({"type": "array"}), r#""[1,""#),
        (json!({"type": "array"}), "null"),
        (
            json!({"type": "array", "items": {"type": "integer"}}),
            r#""x""#,
        ),
        (
            json!({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}),
            r#""x""#,
        ),
        (
            json!({"type": "array", "items": {"type": "array"}}),
            r#""x""#,
        ),
        (json!({"type": "string"}), "null"),
        (json!({"type": "string"}), r#"{"a":1}"#),
        // Text stays text if text is allowed, and case is not guessed.
        (json!({"type": ["string", "integer"]}), r#""5""#),
        (json!({}), r#""5""#),
        (json!(true), r#""5""#),
        (json!({"enum": ["Low"]}), r#""low""#),
        (json!({"type": "string"}), r#""  x  ""#),
    ] {
        assert_eq!(one(schema.clone(), value), value, "{schema}");
    }
}

#[test]
fn every_change_is_reported() {
    let schema = json!({"properties": {
        "a/b": {"type": "array", "items": {"properties": {"n": {"type": "integer"}}}},
        "s": {"type": "boolean"},
    }});
    let (text, changes) = coerced(&schema, r#"{"a/b": "[{\"n\": \"1\"}]", "s": "true"}"#);
    assert_eq!(text, r#"{"a/b":[{"n":1}],"s":true}"#);
    let told: Vec<String> = changes
        .iter()
        .map(|change| {
            let before = change.before.as_ref().expect("a value");
            format!(
                "{} {} {before} -> {}",
                change.path,
                change.kind.name(),
                change.after
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            r#"/a~1b array "[{\"n\": \"1\"}]" -> [{"n":"1"}]"#,
            r#"/a~1b/0/n integer "1" -> 1"#,
            r#"/s boolean "true" -> true"#,
        ]
    );
}

/// Up to draft 7 siblings of a reference are ignored; in later drafts everything counts.
#[test]
fn the_draft_decides_what_counts() {
    let schema = |draft: &str| {
        json!({
            "$schema": draft,
            "properties": {"p": {"$ref": "#/definitions/any", "type": "integer"}},
            "definitions": {"any": {"type": ["string", "integer"]}},
        })
    };
    let old = "http://json-schema.org/draft-07/schema#";
    let new = "https://json-schema.org/draft/2020-12/schema";
    assert_eq!(coerced(&schema(old), r#"{"p":"5"}"#).0, r#"{"p":"5"}"#);
    assert_eq!(coerced(&schema(new), r#"{"p":"5"}"#).0, r#"{"p":5}"#);
}

fn schemas() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({})),
        Just(json!(false)),
        prop::sample::subsequence(
            vec![
                "string", "integer", "number", "boolean", "null", "object", "array"
            ],
            0..4
        )
        .prop_map(|types| if types.is_empty() {
            json!({})
        } else {
            json!({"type": types})
        }),
        prop::collection::vec(values(), 1..3).prop_map(|list| json!({"enum": list})),
        values().prop_map(|value| json!({"const": value})),
        Just(json!({"type": "integer", "minimum": 3})),
        Just(json!({"$ref": "#"})),
        Just(json!({"$ref": "#/properties/p"})),
        Just(json!({"type": "string", "nullable": true})),
    ];
    leaf.prop_recursive(3, 24, 3, |inner| {
        prop_oneof![
            inner
                .clone()
                .prop_map(|items| json!({"type": "array", "items": items})),
            inner.clone().prop_map(|items| json!({"items": items})),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|list| json!({"anyOf": list})),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|list| json!({"oneOf": list})),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|list| json!({"allOf": list})),
            (inner.clone(), inner.clone(), any::<bool>()).prop_map(|(a, b, need)| {
                let required: &[&str] = if need { &["a"] } else { &[] };
                json!({"type": "object", "properties": {"a": a, "b": b}, "required": required})
            }),
            inner.prop_map(|more| json!({"additionalProperties": more})),
        ]
    })
}

fn values() -> impl Strategy<Value = Value> {
    let texts = vec![
        "",
        "x",
        "5",
        "-7",
        "14.0",
        "1.5",
        "1e3",
        "true",
        "False",
        "null",
        "[]",
        "[1]",
        "[\"5\"]",
        "{}",
        "{\"a\":\"5\"}",
        "<item>5</item>",
        "[",
        "{",
        " 5 ",
        "123456789012345678901234567890",
    ];
    let leaf = prop_oneof![
        prop::sample::select(texts).prop_map(|text| json!(text)),
        prop::sample::select(vec![
            "null",
            "true",
            "5",
            "3.5",
            "14.0",
            "1e3",
            "123456789012345678901234567890"
        ])
        .prop_map(|text| serde_json::from_str::<Value>(text).expect("JSON")),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            prop::collection::btree_map("[ab]|item", inner, 0..3).prop_map(|map| json!(map)),
        ]
    })
}

/// The inner list wants an item of the outer kind, which wants the inner list: this would never end, so nothing is changed.
#[test]
fn endless_coercions_are_not_started() {
    let inner = json!({"oneOf": [{"items": {"type": "array"}}]});
    let schema = json!({"allOf": [inner, {"items": {"$ref": "#/properties/p"}}]});
    let plan = Plan::new(&json!({"properties": {"p": schema}})).unwrap();
    let before = json!({"p": ["x"]});
    let mut after = before.clone();
    assert!(coerce(&mut after, &plan.doc(WORK)).is_empty());
    assert_eq!(after, before);
    // A value that a constant lists is not matched by a list around it.
    let plan =
        Plan::new(&json!({"properties": {"p": {"oneOf": [{"items": {"const": []}}]}}})).unwrap();
    let before = json!({"p": ["x"]});
    let mut after = before.clone();
    assert!(coerce(&mut after, &plan.doc(WORK)).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn coercion_is_idempotent_and_keeps_valid_values(schema in schemas(), value in values()) {
        let schema = json!({"type": "object", "properties": {"p": schema}});
        let Ok(plan) = Plan::new(&schema) else { return Ok(()) };
        let before = json!({"p": value});
        let mut once = before.clone();
        let changes = coerce(&mut once, &plan.doc(WORK));
        let (old, new) = (before.to_string(), once.to_string());
        prop_assert_eq!(changes.is_empty(), old == new);
        let mut twice = once.clone();
        let again = coerce(&mut twice, &plan.doc(WORK));
        prop_assert!(again.is_empty(), "{:?}", again);
        if plan.validator(&before).is_ok_and(|validator| validator.is_valid(&before)) {
            prop_assert_eq!(new, old);
        }
    }

    /// Each part of the arguments that is valid on its own is unchanged, whatever happens to the others.
    #[test]
    fn a_valid_part_of_invalid_arguments_stays(schema in schemas(), value in values()) {
        let with = |schema: &Value| json!({"properties": {"p": schema, "q": {"type": "integer"}}});
        let (Ok(plan), Ok(alone)) = (Plan::new(&with(&schema)), Plan::new(&json!({"properties": {"p": schema}}))) else {
            return Ok(());
        };
        let single = json!({"p": value});
        let valid = alone.validator(&single).is_ok_and(|validator| validator.is_valid(&single));
        let mut both = json!({"p": value, "q": "5"});
        // A reference to the whole document includes the other parameter, too.
        if !valid || schema.to_string().contains("\"#\"") {
            return Ok(());
        }
        coerce(&mut both, &plan.doc(WORK));
        prop_assert_eq!(both["p"].to_string(), value.to_string());
        prop_assert_eq!(both["q"].to_string(), "5");
    }

    #[test]
    fn integers_are_exact(digits in "[1-9][0-9]{0,60}", minus in any::<bool>()) {
        let digits = if minus { format!("-{digits}") } else { digits };
        prop_assert_eq!(one(json!({"type": "integer"}), &format!("\"{digits}\"")), digits.clone());
        prop_assert_eq!(one(json!({"type": "string"}), &digits), format!("\"{digits}\""));
    }
}
