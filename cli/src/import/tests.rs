use toolglot::json::json;
use toolglot::{DialectSet, Finish, Options, Turn, parse};

use super::*;

fn import(json: &Value) -> Imported {
    response_template(json, "mine", "test.json").expect("a declaration")
}

fn refused(json: &Value, place: &str, why: &str) {
    let error = response_template(json, "mine", "test.json").expect_err("a refusal");
    assert!(
        error.place == place && error.why.contains(why),
        "{error}, not {place}: {why}"
    );
}

fn read(imported: &Imported, input: &str) -> Turn {
    let set = DialectSet::builder()
        .toml("mine.toml", &imported.toml)
        .build()
        .unwrap_or_else(|error| panic!("{error}\n{}", imported.toml));
    parse(&set, Options::default(), input.as_bytes(), Finish::Stop)
}

fn function_tags() -> Value {
    json!({"response_template": {"fields": {
        "thinking": {"open": "<think>", "close": "</think>", "content": "text"},
        "tool_calls": {
            "open_pattern": r"<tool_call>\s*<function=(?P<name>[^>]+)>",
            "close_pattern": r"</function>\s*</tool_call>",
            "content": "xml-inline", "repeats": true,
            "content_args": {"tag_pattern": r"<parameter=(?P<key>\w+)>(?P<value>.*?)</parameter>"},
        },
    }}, "model_max_length": 4096})
}

#[test]
fn tags_are_parameters_and_calls_are_read() {
    let imported = import(&function_tags());
    assert_eq!(imported.notes, [""; 0]);
    let input = "<think>hm</think>\nSo: <tool_call>\n<function=open_gate>\n<parameter=gate>north</parameter>\n</function>\n</tool_call> Done.";
    let turn = read(&imported, input);
    assert_eq!(
        (turn.reasoning.as_str(), turn.text.as_str()),
        ("hm", "\nSo:  Done.")
    );
    assert_eq!(turn.calls.len(), 1, "{turn:#?}\n{}", imported.toml);
    assert_eq!(turn.calls[0].name, "open_gate");
    assert_eq!(turn.calls[0].arguments, r#"{"gate":"north"}"#);
    // A tag that a person can type is probed.
    let mention = "The tag <tool_call> and <tool_call><function=x> are named.";
    assert_eq!(read(&imported, mention).text, mention);
}

#[test]
fn json_and_braces_have_their_payloads() {
    let field = |field: Value| json!({"tool_calls": field});
    let payload = |json: Value| {
        let toml = import(&field(json)).toml;
        let line = toml
            .lines()
            .find(|line| line.starts_with("payload"))
            .map(str::to_owned);
        (line.expect("a payload"), toml)
    };
    let (line, toml) =
        payload(json!({"open": "<tool_call>", "close": "</tool_call>", "content": "json"}));
    assert_eq!(line, "payload = \"json\"");
    assert!(toml.contains("probe = [\"$_$^[\", \"$_$^{\"]"), "{toml}");
    let (line, toml) =
        payload(json!({"open_pattern": r"\[TOOL_CALLS\](\w+)\[ARGS\]", "content": "json"}));
    assert_eq!(line, "payload = \"arguments\"");
    assert!(
        toml.contains("open = [\"[TOOL_CALLS]$name[ARGS]\"]"),
        "{toml}"
    );
    let (line, toml) = payload(
        json!({"open_pattern": r"<\|tool_call>call:(?P<name>\w+)", "close": "<tool_call|>",
        "content": "json", "content_args": {"unquoted_keys": true, "string_delims": [["<|\"|>", "<|\"|>"]]}}),
    );
    assert_eq!(line, "payload = \"braces\"");
    assert!(
        toml.contains("open = [\"<|tool_call>\"]") && toml.contains("prefix = \"call:\""),
        "{toml}"
    );
    assert!(toml.contains(r#"delimiters = ["<|\"|>"]"#), "{toml}");
}

#[test]
fn what_was_imported_reads_calls_of_every_payload() {
    let cases = [
        (
            json!({"open": "<call>", "close": "</call>", "content": "json"}),
            r#"a <call>{"name": "f", "arguments": {"k": "v"}}</call> b"#,
        ),
        (
            json!({"open_pattern": r"<call>\s*(?P<name>\w+)\s*<sep>", "close": "</call>", "content": "json"}),
            r#"a <call>f<sep>{"k": "v"}</call> b"#,
        ),
        (
            json!({"open_pattern": r"<\|call>call:(?P<name>\w+)", "close": "<call|>", "content": "json",
                "content_args": {"unquoted_keys": true, "string_delims": ["<|q|>"]}}),
            "a <|call>call:f{k:<|q|>v<|q|>}<call|> b",
        ),
    ];
    for (field, input) in cases {
        let imported = import(&json!({ "tool_calls": field }));
        let turn = read(&imported, input);
        let calls: Vec<(&str, Value)> = turn
            .calls
            .iter()
            .map(|call| {
                (
                    call.name.as_str(),
                    serde_json::from_str(&call.arguments).expect("JSON"),
                )
            })
            .collect();
        let place = format!("{}{turn:#?}", imported.toml);
        assert_eq!(calls, [("f", json!({"k": "v"}))], "{place}");
        assert_eq!(turn.text, "a  b", "{place}");
    }
}

#[test]
fn reasoning_framing_and_notes() {
    let imported = import(&json!({
        "reasoning_content": {"close": "</think>"},
        "content": {"open": "<|text|>", "close": ["<|end|>", "<|eot|>"]},
        "citations": {"open": "<cite>", "close": "</cite>", "content": "text"},
        "tool_call": {"open_pattern": "<call (?P<name>.+)>", "close": "</call>", "content": "json", "transform": "@.x", "colour": "red"},
    }));
    assert!(
        imported
            .toml
            .contains("framing = [\"<|text|>\", \"<|end|>\", \"<|eot|>\"]")
    );
    assert!(
        imported
            .toml
            .contains("open = [\"<think>\"]\nclose = [\"</think>\"]")
    );
    assert!(imported.toml.contains("implicit = true"));
    for word in ["citations", "transform", "colour", "starts inside"] {
        assert!(
            imported.notes.iter().any(|note| note.contains(word)),
            "{:?}",
            imported.notes
        );
        assert!(imported.toml.contains(word));
    }
}

#[test]
fn what_cannot_be_said_is_refused_with_its_place() {
    let call = |extra: Value| {
        let mut field = json!({"open": "<c>", "close": "</c>", "content": "json"});
        field
            .as_object_mut()
            .expect("a map")
            .extend(extra.as_object().expect("a map").clone());
        json!({"tool_calls": field})
    };
    refused(&json!([]), "the file", "object");
    refused(
        &json!({"chat_template": "x"}),
        "the file",
        "no response_template",
    );
    refused(
        &json!({"response_template": "{"}),
        "response_template",
        "EOF",
    );
    refused(&call(json!({"open": 7})), "tool_calls.open", "string");
    refused(
        &call(json!({"open": []})),
        "tool_calls.open",
        "nothing opens",
    );
    refused(
        &call(json!({"content": "kv-lines"})),
        "tool_calls.content",
        "kv-lines",
    );
    refused(
        &call(json!({"content": "text"})),
        "tool_calls.content",
        "no family has calls of `text`",
    );
    refused(
        &call(json!({"content": "xml-inline"})),
        "tool_calls.open",
        "group",
    );
    refused(
        &call(json!({"open_pattern": "<c|d>"})),
        "tool_calls.open_pattern",
        "`|d>`",
    );
    refused(
        &call(json!({"open_pattern": "(?P<name>x"})),
        "tool_calls.open_pattern",
        "no end",
    );
    refused(
        &call(json!({"open_pattern": r"\s*<c>"})),
        "tool_calls.open_pattern",
        "begin with a literal",
    );
    refused(
        &call(json!({"open_pattern": "<c(?:d)?>"})),
        "tool_calls.open_pattern",
        "cannot express",
    );
    refused(
        &json!({"thinking": {"open": "<t>"}}),
        "thinking.close",
        "nothing closes",
    );
    refused(
        &json!({"thinking": {"open_pattern": "<t>", "close": "x"}}),
        "thinking.open_pattern",
        "literal",
    );
    let tags = |pattern: &str| {
        let mut json = function_tags();
        json["response_template"]["fields"]["tool_calls"]["content_args"] =
            json!({"tag_pattern": pattern});
        json
    };
    let place = "tool_calls.content_args.tag_pattern";
    refused(&tags("<p>(?P<value>.*)</p>"), place, "a key, then a value");
    refused(
        &tags(r"<(?P<key>\w+)>(?P<value>.*?)</(?P=key)>"),
        place,
        "cannot express",
    );
}

#[test]
fn signs_and_quotes_are_written_so_that_they_are_read() {
    let imported = import(&json!({"tool_calls": {
        "open_pattern": r#"<\$"call (?P<name>\w+)>"#, "close": "</\\x\u{7f}>", "content": "json"}}));
    assert!(
        imported.toml.contains(r#"open = ["<$$\"call $name>"]"#),
        "{}",
        imported.toml
    );
    let set = DialectSet::builder()
        .toml("mine.toml", &imported.toml)
        .build()
        .expect("a set");
    assert_eq!(
        set.dialects().next().map(|d| d.openers()),
        Some(vec!["<$\"call ".to_owned()])
    );
}
