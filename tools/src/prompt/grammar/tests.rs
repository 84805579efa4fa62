use toolglot::json::json;

use super::super::tests::{golden_tools, ids, layout};
use super::{CallGrammar, GrammarError};
use crate::{Inventory, Tool};

#[test]
fn calls_in_json_take_their_schema_along() {
    let grammar = CallGrammar::new(&layout("hermes", &[]), &golden_tools()).expect("a grammar");
    assert!(grammar.parallel());
    let tag = grammar.structural_tag();
    let format = &tag["format"];
    assert_eq!(format["triggers"], json!(["<tool_call>{\"name\":\""]));
    let first = &format["tags"][0]["content"]["tags"][0];
    assert_eq!(first["begin"], "get_weather\",\"arguments\":");
    assert_eq!(first["content"]["json_schema"]["required"], json!(["city"]));
    assert!(grammar.lark().contains("%json {\"type\":\"object\""));
}

#[test]
fn parameters_one_by_one_are_rules() {
    let grammar =
        CallGrammar::new(&layout("qwen3-coder", &[]), &golden_tools()).expect("a grammar");
    let gbnf = grammar.gbnf();
    assert!(gbnf.starts_with("root ::= "), "{gbnf}");
    assert!(gbnf.contains("\"celsius\" | \"fahrenheit\""), "{gbnf}");
}

/// The errors listed in `docs/PROMPTS.md`, and no others.
#[test]
fn every_dialect_has_a_grammar_or_a_reason() {
    let refused = |tools: &Inventory| -> Vec<(&str, &str)> {
        let why = |id| match CallGrammar::new(&layout(id, &[]), tools).err()? {
            GrammarError::Empty => Some((id, "empty")),
            GrammarError::Call { tool, .. } if tools.get(&tool).is_some() => Some((id, "call")),
            GrammarError::Call { .. } => Some((id, "call of another tool")),
            GrammarError::Value { param, .. } if param == "tags" => Some((id, "value")),
            GrammarError::Value { .. } => Some((id, "another value")),
            GrammarError::Form { .. } => Some((id, "form")),
        };
        ids().filter_map(why).collect()
    };
    assert_eq!(
        refused(&golden_tools()),
        [
            ("action", "value"),
            ("tool-action", "value"),
            ("gemma4", "value"),
            ("bolt-action", "call"),
            ("minimax-m3", "value"),
            ("cline-xml", "form"),
            ("morph-xml", "value"),
        ]
    );
    // Without lists.
    let tool = Tool::new("t").parameters(json!({"properties": {"p": {"type": "string"}}}));
    assert_eq!(
        refused(&Inventory::of([tool]).expect("an inventory")),
        [
            ("action", "form"),
            ("bolt-action", "call"),
            ("minimax-m3", "form"),
            ("cline-xml", "form"),
            ("morph-xml", "form"),
        ]
    );
}

#[test]
fn what_cannot_be_taken_apart_is_refused() {
    assert_eq!(
        CallGrammar::new(&layout("hermes", &[]), &Inventory::default()).err(),
        Some(GrammarError::Empty)
    );
    let error = CallGrammar::new(&layout("tool-action", &[]), &golden_tools()).err();
    assert!(
        matches!(error, Some(GrammarError::Value { .. })),
        "{error:?}"
    );
    let hard = Tool::new("a>b").description("x");
    let tools = Inventory::of([hard]).expect("an inventory");
    let error = CallGrammar::new(&layout("tam", &[]), &tools).err();
    assert!(
        matches!(error, Some(GrammarError::Call { .. })),
        "{error:?}"
    );
}
