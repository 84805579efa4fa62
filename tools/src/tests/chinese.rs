//! A Chinese observation is entirely Chinese, whatever is wrong.

use toolglot::json::{Value, json};
use toolglot::{Dialect, DialectSet};
use toolglot::{Issue, Kind, Severity, Span};

use crate::{CheckOptions, Inventory, Tool};

/// The English letters of a text outside quotations.
fn english(text: &str) -> String {
    // JSON has no Chinese name.
    let text = text.replace("JSON", "");
    let outside = text.split('"').step_by(2);
    outside
        .flat_map(str::chars)
        .filter(char::is_ascii_alphabetic)
        .collect()
}

fn with_vcp(run: impl Fn(&Dialect)) {
    let set = DialectSet::builtin("vcp").expect("a set");
    run(set.dialects().next().expect("a dialect"));
}

#[test]
fn every_rule_of_a_schema_has_a_chinese_sentence() {
    let long = "长".repeat(99);
    let cases: Vec<(Value, Value)> = vec![
        (json!({"type": "integer"}), json!("x")),
        (json!({"type": ["integer", "null"]}), json!([1])),
        (json!({"type": "boolean"}), json!(7)),
        (
            json!({"type": "array", "items": {"type": "integer"}}),
            json!({"a": 1}),
        ),
        (json!({"type": "object"}), json!("x")),
        (json!({"type": "string"}), json!({})),
        (json!({"type": "number"}), json!("x")),
        (json!({"enum": ["c", "f"]}), json!("k")),
        (json!({"enum": ["normal", "hard"]}), json!("herd")),
        (json!({"enum": (0..30).collect::<Vec<i32>>()}), json!(99)),
        (json!({"const": 5}), json!(6)),
        (json!({"const": "a"}), json!("b")),
        (json!({"minimum": 1}), json!(0)),
        (json!({"maximum": 1}), json!(2)),
        (json!({"exclusiveMinimum": 1}), json!(1)),
        (json!({"exclusiveMaximum": 1}), json!(1)),
        (json!({"multipleOf": 2}), json!(3)),
        (json!({"minLength": 2}), json!("a")),
        (json!({"maxLength": 2}), json!(long)),
        (json!({"pattern": "^a$"}), json!("b")),
        (json!({"minItems": 2}), json!([1])),
        (json!({"maxItems": 1}), json!([1, 2])),
        (json!({"uniqueItems": true}), json!([1, 1])),
        (json!({"contains": {"const": 1}}), json!([2])),
        (
            json!({"prefixItems": [{"type": "integer"}], "items": false}),
            json!([1, 2]),
        ),
        (
            json!({"prefixItems": [{"type": "integer"}], "unevaluatedItems": false}),
            json!([1, 2]),
        ),
        (json!({"minProperties": 1}), json!({})),
        (json!({"maxProperties": 0}), json!({"a": 1})),
        (json!({"propertyNames": {"maxLength": 1}}), json!({"ab": 1})),
        (json!({"additionalProperties": false}), json!({"a": 1})),
        (json!({"unevaluatedProperties": false}), json!({"a": 1})),
        (json!({"required": ["a"]}), json!({})),
        (json!({"dependentRequired": {"a": ["b"]}}), json!({"a": 1})),
        (
            json!({"anyOf": [{"type": "integer"}, {"type": "boolean"}]}),
            json!("x"),
        ),
        (
            json!({"oneOf": [{"type": "integer"}, {"minimum": 0}]}),
            json!(3),
        ),
        (
            json!({"oneOf": [{"type": "integer"}, {"type": "boolean"}]}),
            json!("x"),
        ),
        (json!({"not": {"type": "string"}}), json!("x")),
        (json!(false), json!(1)),
        (
            json!({"if": {"type": "string"}, "then": {"minLength": 3}}),
            json!("a"),
        ),
    ];
    with_vcp(|dialect| {
        let mut wrong: Vec<String> = vec![];
        for (schema, value) in &cases {
            let schema = json!({"type": "object", "properties": {"p": schema}});
            let tool = Tool::new("工具").parameters(schema.clone()).callable(true);
            let tools = Inventory::of([tool]).expect("an inventory");
            let arguments = json!({"p": value}).to_string();
            let have = tools.checked("工具", &arguments, &CheckOptions::of(dialect));
            match have.observation {
                Some(text) if english(&text).is_empty() => {}
                other => wrong.push(format!("{schema} {value}: {other:?}")),
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        // Errors of the call itself.
        let tool = Tool::new("工具").parameters(json!({"type": "object", "properties": {"p": {}}}));
        let tools = Inventory::of([tool.callable(true)]).expect("an inventory");
        for (name, arguments) in [
            ("工具", "[1]"),
            ("工具", "{x"),
            ("工具", "{\"p\":1,\"p\":2}"),
            ("工", "{}"),
            ("工具", "{\"q\":1}"),
        ] {
            let have = tools.checked(name, arguments, &CheckOptions::of(dialect));
            let text = have.observation.expect("it is wrong");
            assert_eq!(english(&text), "", "{arguments}: {text}");
        }
    });
}

#[test]
fn every_issue_has_a_chinese_sentence() {
    with_vcp(|dialect| {
        for kind in Kind::ALL {
            // A warning has its own wording or the generic one; the document's wording contains some with its marks.
            if dialect.observation(*kind).is_some() {
                continue;
            }
            for (subject, suggestion) in [("", ""), ("k", ""), ("k", "kind")] {
                let issue = Issue::new(*kind, Severity::Error, Span::default())
                    .dialect(dialect)
                    .tool("工具")
                    .subject(subject)
                    .suggestion(suggestion);
                let text = issue.observation();
                assert!(text.starts_with("工具请求解析失败："), "{kind}: {text}");
                assert_eq!(english(&text), "", "{kind}: {text}");
            }
        }
    });
}

#[test]
fn what_it_says() {
    with_vcp(|dialect| {
        let schema = json!({"type": "object", "properties": {"p": {"enum": ["c", "f"]}}});
        let tools =
            Inventory::of([Tool::new("t").parameters(schema).callable(true)]).expect("tools");
        let have = tools.checked("t", "{\"p\":\"k\"}", &CheckOptions::of(dialect));
        let want = "工具 \"t\" 的参数 \"p\" 不符合要求：\"k\" 不在允许的值之中：\"c\"、\"f\"";
        assert_eq!(have.observation.as_deref(), Some(want));
        assert_eq!(have.violations[0].message, "\"k\" is none of \"c\", \"f\"");
    });
}
