//! Calls written in dialects: what the text looks like, what is refused, what becomes of transcripts.
//!
//! That every dialect writes what it reads is a property test beside the encoders.

use std::sync::Arc;

use toolglot::{
    DialectSet, EncodeCall, EncodeOptions, Encoder, Reason, Tools, builtin_files, transcode,
};

fn options(tools: Option<&str>) -> EncodeOptions {
    let mut options = EncodeOptions::default();
    options.tools = tools.map(|text| Arc::new(Tools::from_json(text).expect("tools")));
    options
}

#[test]
fn several_calls_share_a_block_where_the_dialect_has_such_blocks() {
    let calls = [1, 2].map(|n| EncodeCall {
        name: "f".to_owned(),
        arguments: format!("{{\"a\":\"{n}\"}}"),
        id: None,
    });
    let written = |id: &str| {
        let set = DialectSet::builtin(id).expect("a dialect");
        toolglot::encode(&set, id, &calls, &EncodeOptions::default()).expect("it can")
    };
    assert_eq!(
        written("tam"),
        "<|[REQUEST_TOOL]|>\ncommand1:「始」f「末」,\na1:「始」1「末」,\ncommand2:「始」f「末」,\na2:「始」2「末」\n<|[END_TOOL]|>"
    );
    assert_eq!(
        written("qwen3-coder"),
        "<tool_call>\n<function=f><parameter=a>\n1\n</parameter>\n</function>\n<function=f><parameter=a>\n2\n</parameter>\n</function>\n</tool_call>"
    );
    assert_eq!(
        written("lfm2"),
        "<|tool_call_start|>[f(a=\"1\"), f(a=\"2\")]<|tool_call_end|>"
    );
    assert_eq!(
        written("hermes"),
        "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"1\"}}</tool_call><tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"2\"}}</tool_call>"
    );
}

#[test]
fn refusals_name_the_value_and_the_rule() {
    let refused = |id: &str, arguments: &str, tools: Option<&str>| {
        let set = DialectSet::builtin(id).expect("a dialect");
        let call = EncodeCall {
            name: "f".to_owned(),
            arguments: arguments.to_owned(),
            id: None,
        };
        let error = toolglot::encode(&set, id, &[call], &options(tools)).expect_err("it cannot");
        (error.pointer, error.reason)
    };
    let marker = |marker: &str| Reason::Marker {
        marker: marker.to_owned(),
    };
    let typed = r#"[{"name": "f", "parameters": {"properties": {"n": {"type": "integer"}}}}]"#;
    assert_eq!(refused("tam", r#"{"x/y": 1}"#, None).0, "/x~1y");
    assert_eq!(
        refused("tam", r#"{"a": "「末」"}"#, None),
        ("/a".to_owned(), marker("「末」"))
    );
    assert_eq!(
        refused("tam", r#"{"a": 1}"#, None),
        ("/a".to_owned(), Reason::Untyped)
    );
    assert_eq!(
        refused("tam", r#"{"n": "5"}"#, Some(typed)),
        ("/n".to_owned(), Reason::Coerced)
    );
    assert_eq!(
        refused("qwen3-coder", r#"{"a": "\nx\r"}"#, None),
        ("/a".to_owned(), Reason::Blanks)
    );
    assert_eq!(
        refused("qwen3-coder", r#"{"a": "</parameter>"}"#, None),
        ("/a".to_owned(), marker("</parameter>"))
    );
    assert_eq!(
        refused("action", r#"{"a": {"b": ["\ud800"]}}"#, None).0,
        "/a/b"
    );
    assert_eq!(
        refused("action", r#"{"a": {}}"#, None),
        (
            "/a".to_owned(),
            Reason::Shape {
                what: "an empty object"
            }
        )
    );
    assert!(matches!(
        refused("hermes", "[]", None).1,
        Reason::Arguments { .. }
    ));
    assert!(matches!(
        refused("hermes", "{\"a\":1,\"a\":2}", None).1,
        Reason::Arguments { .. }
    ));
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(500), "]".repeat(500));
    assert_eq!(
        refused("hermes", &deep, None).1,
        Reason::Limit { limit: "max_depth" }
    );
}

#[test]
fn transcripts_keep_their_text() {
    let from = DialectSet::builtin("hermes").expect("a dialect");
    let input = "Hm.\n<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"x\"}}</tool_call>\n then <tool_call>{\"name\": \"g\", \"arguments\": {}}</tool_call>.";
    for (id, _) in builtin_files() {
        let set = DialectSet::builtin(id).expect("a dialect");
        // Calls that begin a line, that need tools on offer, and what is not written yet.
        let other = [
            "functionary-v32",
            "react-text",
            "json-bare",
            "markdown-json",
            "bolt-action",
            "minimax-m3",
            "morph-xml",
            "cline-xml",
            "yaml-xml",
        ];
        if Encoder::new(&set, id).is_err() || other.contains(id) {
            continue;
        }
        let output = transcode(&from, input.as_bytes(), &set, id, &EncodeOptions::default());
        let output = output.unwrap_or_else(|error| panic!("{id}: {error}"));
        let text = String::from_utf8(output).expect("text");
        assert!(
            text.starts_with("Hm.\n") && text.contains("\n then ") && text.ends_with('.'),
            "{id}: {text}"
        );
    }
}
