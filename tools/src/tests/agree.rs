//! One schema engine: the check of a call accepts what the parser makes of text, and numbers keep their digits.

use std::sync::Arc;

use toolglot::json::{Value, json};
use toolglot::{DialectSet, Finish, Kind, Options, Tools};

use crate::{CheckOptions, Inventory, Tool};

/// Integers beyond the precision of floats, and their neighbours.
const NUMBERS: [&str; 8] = [
    "9007199254740992",
    "9007199254740993",
    "-9007199254740993",
    "18446744073709551617",
    "123456789012345678901234567890",
    "0.1000000000000000055511151231257827",
    "9007199254740993.0",
    "1e3",
];

const TEXTS: [&str; 21] = [
    "0",
    "-1",
    "07",
    "1.5",
    "true",
    "True",
    "false",
    "null",
    "None",
    "[]",
    "[1, 2]",
    "['a', 'b']",
    "[9007199254740993]",
    "{}",
    "{\"k\": 9007199254740993}",
    "{'k': True}",
    "text",
    "中文",
    "\"quoted\"",
    " 5 ",
    "[1",
];

fn schemas() -> Vec<Value> {
    let types = [
        "string", "integer", "number", "boolean", "null", "array", "object",
    ];
    let mut all: Vec<Value> = vec![json!({})];
    for (n, one) in types.iter().enumerate() {
        all.push(json!({ "type": one }));
        for other in &types[n + 1..] {
            all.push(json!({ "type": [one, other] }));
            all.push(json!({ "anyOf": [{ "type": one }, { "type": other }] }));
            // An integer is a number too: exactly one of the two applies only to fractions.
            if (*one, *other) != ("integer", "number") {
                all.push(json!({ "allOf": [{ "oneOf": [{ "type": one }, { "type": other }] }] }));
            }
        }
        all.push(json!({ "type": one, "nullable": true }));
        all.push(json!({ "$ref": format!("#/$defs/{one}") }));
    }
    for number in NUMBERS {
        let number: Value = serde_json::from_str(number).expect("a number");
        all.push(json!({ "const": number }));
        all.push(json!({ "enum": [number, "text", null] }));
    }
    all.push(json!({"type": "array", "items": {"type": "integer"}}));
    all.push(json!({"type": "array", "items": {"type": "string"}}));
    all.push(json!({"type": "object", "properties": {"k": {"const": 9_007_199_254_740_993_u64}}}));
    all
}

/// A tool `f` with one parameter, for the parser and for the check.
fn offer(schema: &Value) -> (Arc<Tools>, Inventory) {
    let types = [
        "string", "integer", "number", "boolean", "null", "array", "object",
    ];
    let defs: toolglot::json::Map = types
        .iter()
        .map(|one| ((*one).to_owned(), json!({ "type": one })))
        .collect();
    let parameters = json!({
        "type": "object",
        "properties": {"p": schema},
        "required": ["p"],
        "$defs": Value::Object(defs),
    });
    let tools = json!([{"name": "f", "parameters": parameters}]);
    let tool = Tool::new("f")
        .description("d")
        .parameters(parameters)
        .callable(true);
    let inventory = Inventory::of([tool]).expect("an inventory");
    (
        Arc::new(Tools::from_value(&tools).expect("tools")),
        inventory,
    )
}

/// How dialects write one parameter of `f` as text.
const FORMS: [(&str, &str); 3] = [
    (
        "qwen3-coder",
        "<tool_call>\n<function=f>\n<parameter=p>\nVALUE\n</parameter>\n</function>\n</tool_call>",
    ),
    (
        "tool-call-xml",
        "<tool_call name=\"f\"><param name=\"p\">VALUE</param></tool_call>",
    ),
    ("react-text", "Action: f\nAction Input: VALUE\n"),
];

#[test]
fn what_the_parser_makes_of_text_the_check_takes() {
    let (mut valid, mut wrong) = (0, 0);
    for schema in schemas() {
        let (tools, inventory) = offer(&schema);
        for (id, form) in FORMS {
            let set = DialectSet::builtin(id).expect("a built-in dialect");
            for text in NUMBERS.iter().chain(&TEXTS) {
                // In ReAct an object is the whole arguments.
                if id == "react-text" && text.starts_with('{') {
                    continue;
                }
                let options = Options::default().tools(Arc::clone(&tools));
                let input = form.replace("VALUE", text);
                let turn = toolglot::parse(&set, options, input.as_bytes(), Finish::Stop);
                let [call] = &*turn.calls else {
                    assert!(
                        !turn.issues.is_empty(),
                        "{schema} {input:?}: nothing is said"
                    );
                    continue;
                };
                let doubts = [Kind::TypeMismatch, Kind::MalformedValue, Kind::MissingInput];
                let doubted = turn.issues.iter().any(|issue| doubts.contains(&issue.kind));
                let checked = inventory.checked("f", &call.arguments, &CheckOptions::default());
                let place = format!(
                    "{schema} {input:?}: {} {:?}",
                    call.arguments, checked.violations
                );
                // Inside of values a stream does not convert types.
                let deep = |path: &str| path.starts_with("/p/");
                let inner = checked.violations.iter().any(|v| deep(&v.path))
                    || checked.changes.iter().any(|change| deep(&change.path));
                if inner {
                    continue;
                }
                // A list of values is not a type: only the check knows whether the value is listed.
                let rule = |rule: &str| rule.ends_with("/const") || rule.ends_with("/enum");
                let lists = [
                    schema.get("const"),
                    schema.get("enum").and_then(|list| list.get(0)),
                ];
                let listed = lists
                    .iter()
                    .flatten()
                    .any(|one| serde_json::from_str::<Value>(text).is_ok_and(|text| text == **one));
                let unlisted = !listed && checked.violations.iter().all(|v| rule(&v.schema_path));
                assert!(doubted || checked.valid() || unlisted, "{place}");
                assert!(
                    doubted || checked.changes.is_empty(),
                    "{place}: {:?}",
                    checked.changes
                );
                if NUMBERS.contains(text) {
                    assert!(call.arguments.contains(text), "{place}");
                    assert!(
                        !checked.valid() || checked.text().contains(text),
                        "{place}: {}",
                        checked.text()
                    );
                }
                valid += u32::from(checked.valid());
                wrong += u32::from(doubted);
            }
        }
    }
    assert!(valid > 1000 && wrong > 1000, "{valid} {wrong}");
}
