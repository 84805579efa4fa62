//! All arguments as one JSON object instead of parameters, in every dialect whose calls have parameters between tags.

use std::sync::Arc;

use toolglot::{
    EncodeCall, EncodeOptions, Finish, Grade, Kind, Options, Parser, Tools, builtin_files, encode,
};

use crate::markers::set;
use crate::support::cut_turn;

const TOOLS: &str =
    r#"[{"name": "look", "parameters": {"properties": {"at": {"type": "string"}}}}]"#;

const OBJECTS: [&str; 4] = [
    r#"{"at":"Leith"}"#,
    r#"{ "at" : "北京 } \" </b> {" }"#,
    r#"{"at":"a","更多":{"list":[1,{"b":null}]}}"#,
    "{}",
];

/// Beginnings of the end of a call.
const CLOSES: [&str; 4] = ["]<]minimax[>[</", "<|close|>", "<|call|>", "</"];

#[test]
fn an_object_instead_of_parameters_holds_all_arguments() {
    let tools = Arc::new(Tools::from_json(TOOLS).expect("tools"));
    let mut tried = 0;
    for (id, file) in builtin_files() {
        let tagged = [
            "[framed.param]",
            "[framed.tree]",
            "[named_params]",
            "[attribute_params]",
        ];
        if !tagged.iter().any(|table| file.contains(table)) {
            continue;
        }
        let own = set(id);
        let mut options = EncodeOptions::default();
        options.tools = Some(Arc::clone(&tools));
        let written = |arguments: &str| {
            let call = EncodeCall::new("look", arguments);
            encode(&own, id, &[call], &options).unwrap_or_else(|why| panic!("{id}: {why}"))
        };
        let (empty, full) = (written("{}"), written(r#"{"at":"a"}"#));
        // Where the texts with and without a parameter differ, the closing tag of the call begins, or its name.
        let both = empty.bytes().zip(full.bytes());
        let part = both.take_while(|(a, b)| a == b).count();
        let begins = |at: &usize| {
            let rest = empty.get(*at..).unwrap_or_default();
            CLOSES.iter().any(|close| rest.starts_with(close))
        };
        let at = (part.saturating_sub(16)..=part)
            .find(begins)
            .unwrap_or(part);
        let (head, tail) = empty.split_at(at);
        for object in OBJECTS {
            for (before, after) in [("", ""), ("\n", "  \n"), ("\n\n", "\n")] {
                let text = format!("{head}{before}{object}{after}{tail}");
                let parser = || {
                    let mut options = Options::default();
                    options.tools = Some(Arc::clone(&tools));
                    Parser::new(&own, options)
                };
                let turn = cut_turn(parser, &text, Finish::Stop);
                let [call] = turn.calls.as_slice() else {
                    panic!("{id}: {text:?}: {turn:?}");
                };
                assert_eq!(call.name, "look", "{id}: {text:?}");
                let value = |json: &str| -> serde_json::Value {
                    serde_json::from_str(json).unwrap_or_else(|why| panic!("{id}: {json}: {why}"))
                };
                assert_eq!(value(&call.arguments), value(object), "{id}: {text:?}");
                // Some dialects define such a form themselves.
                let known = call.grade == Grade::Complete && call.kinds.is_empty();
                let only =
                    call.kinds.contains(Kind::RepairedArguments) && call.kinds.iter().count() == 1;
                assert!(known || only, "{id}: {text:?}: {call:?}");
                assert_eq!(turn.text.trim(), "", "{id}: {text:?}");
                tried += 1;
            }
        }
    }
    assert!(tried > 300, "{tried}");
}
