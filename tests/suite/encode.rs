//! Calls written in dialects: the resulting text, what is refused, and how transcripts are rewritten.
//!
//! A property test beside the encoders checks that every dialect writes what it reads.

use std::sync::Arc;

use toolglot::{
    DialectSet, EncodeCall, EncodeOptions, Encoder, Reason, Tools, TranscodeError, builtin_files,
    transcode,
};

fn options(tools: Option<&str>) -> EncodeOptions {
    let mut options = EncodeOptions::default();
    options.tools = tools.map(|text| Arc::new(Tools::from_json(text).expect("tools")));
    options
}

#[test]
fn several_calls_share_a_block_where_the_dialect_has_such_blocks() {
    let calls = [1, 2].map(|n| EncodeCall::new("f", format!("{{\"a\":\"x{n}\"}}")));
    let written = |id: &str| {
        let set = DialectSet::builtin(id).expect("a dialect");
        toolglot::encode(&set, id, &calls, &EncodeOptions::default()).expect("it can")
    };
    assert_eq!(
        written("tam"),
        "<|[REQUEST_TOOL]|>\ncommand1:「始」f「末」\na1:「始」x1「末」\ncommand2:「始」f「末」\na2:「始」x2「末」\n<|[END_TOOL]|>"
    );
    assert_eq!(
        written("qwen3-coder"),
        "<tool_call>\n<function=f><parameter=a>\nx1\n</parameter>\n</function>\n<function=f><parameter=a>\nx2\n</parameter>\n</function>\n</tool_call>"
    );
    assert_eq!(
        written("lfm2"),
        "<|tool_call_start|>[f(a=\"x1\"), f(a=\"x2\")]<|tool_call_end|>"
    );
    assert_eq!(
        written("hermes"),
        "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"x1\"}}</tool_call><tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"x2\"}}</tool_call>"
    );
}

#[test]
fn a_value_that_holds_what_begins_a_declared_parameter_is_protected() {
    let tools = r#"[{"name": "f", "parameters": {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}}}]"#;
    let set = DialectSet::builtin("vcp").expect("a dialect");
    let call = || EncodeCall::new("f", r#"{"a": "see b:「始」"}"#);
    let written = |tools| {
        let all = toolglot::encode(&set, "vcp", &[call()], &options(tools)).expect("it can");
        let value = all.lines().nth(2).expect("a field");
        value.to_owned()
    };
    assert_eq!(written(None), "a:「始」see b:「始」「末」");
    assert_eq!(
        written(Some(tools)),
        "a:「始ESCAPE」see b:「始」「末ESCAPE」"
    );
}

#[test]
fn a_numbered_key_that_another_tool_has_as_a_parameter_makes_no_chain() {
    let written = |other: &str| {
        let tools = format!(
            r#"[{{"name": "get", "parameters": {{"properties": {{"path": {{"type": "string"}}}}}}}},
            {{"name": "f", "parameters": {{"properties": {{"{other}": {{"type": "string"}}}}}}}}]"#
        );
        let set = DialectSet::builtin("tam").expect("a dialect");
        let calls = [("get", r#"{"path": "a"}"#), ("f", "{}")];
        let calls = calls.map(|(name, arguments)| EncodeCall::new(name, arguments));
        let all = toolglot::encode(&set, "tam", &calls, &options(Some(&tools))).expect("it can");
        all.matches("<|[REQUEST_TOOL]|>").count()
    };
    assert_eq!(written("place"), 1);
    assert_eq!(written("path_1"), 2);
}

#[test]
fn refusals_name_the_value_and_the_rule() {
    let refused = |id: &str, arguments: &str, tools: Option<&str>| {
        let set = DialectSet::builtin(id).expect("a dialect");
        let call = EncodeCall::new("f", arguments);
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
    // An opener at the beginning of a value is taken for its own, written twice.
    for blank in ["", " ", "\u{a0}", "\\n"] {
        let arguments = format!(r#"{{"a": "{blank}{{始ESCAPE」「末」"}}"#);
        let expected = ("/a".to_owned(), marker("「末」"));
        assert_eq!(refused("vcp", &arguments, None), expected, "{blank:?}");
    }
    // One at the place of a field may be that of a field whose value lacks its closer.
    for field in ["\\nk:", "好,k:", "k："] {
        let arguments = format!(r#"{{"a": "{field}「始ESCAPE}}「末」"}}"#);
        let expected = ("/a".to_owned(), marker("「末」"));
        assert_eq!(refused("vcp", &arguments, None), expected, "{field:?}");
    }
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
        refused("action", r#"{"a": {"b": ["\ud800"]}}"#, None),
        ("/a/b/0".to_owned(), Reason::Surrogate)
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

/// A value may quote a closer without its last byte. Where the reader takes that for a closer, the encoder names it.
#[test]
fn closers_that_break_off_are_written_or_named() {
    let (mut written, mut named) = (0, 0);
    for (id, file) in builtin_files() {
        let set = DialectSet::builtin(id).expect("a dialect");
        let Ok(encoder) = Encoder::new(&set, id) else {
            continue;
        };
        let words = file.lines().flat_map(|line| line.split('"'));
        let closers = words.filter_map(|word| word.strip_suffix('>'));
        for closer in closers.filter(|word| word.starts_with("</")) {
            for after in ["", "\n", "\n<b>", " <b>", "\n天气", "\u{3000}<b>"] {
                let value = format!("天气{}{after}", closer.replace("$key", "a"));
                let arguments = serde_json::json!({ "a": value }).to_string();
                let call = EncodeCall::new("f", arguments);
                match encoder.encode(&[call], &EncodeOptions::default()) {
                    Ok(_) => written += 1,
                    Err(error) => {
                        let found = matches!(error.reason, Reason::RoundTrip { .. });
                        assert!(!found, "{id}: {value:?}: {error}");
                        named += 1;
                    }
                }
            }
        }
    }
    assert!(written > 0 && named > 0, "{written} and {named}");
}

/// The tools that the transcripts of this file call.
const OFFERED: &str =
    r#"[{"name": "f", "parameters": {"properties": {"a": {"type": "string"}}}}, {"name": "g"}]"#;

/// Rewrites a transcript of two calls and some text in another dialect.
fn moved(id: &str, input: &str) -> Result<String, TranscodeError> {
    let from = DialectSet::builtin("hermes").expect("a dialect");
    let to = DialectSet::builtin(id).expect("a dialect");
    let output = transcode(&from, input.as_bytes(), &to, id, &options(Some(OFFERED)));
    output.map(|output| String::from_utf8(output).expect("text"))
}

#[test]
fn transcripts_keep_their_text() {
    let line = "Hm.\n<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"x\"}}</tool_call>\n then\n<tool_call>{\"name\": \"g\", \"arguments\": {}}</tool_call>\n.";
    let inside = line.replace(" then\n", " then ");
    let mut moves = 0;
    for (id, _) in builtin_files() {
        let set = DialectSet::builtin(id).expect("a dialect");
        if Encoder::new(&set, id).is_err() {
            continue;
        }
        for input in [line, &inside] {
            // A call must begin a line.
            let inside = ["react-text", "qwen-agent", "markdown-json"];
            if input != line && inside.contains(id) {
                let differs = matches!(moved(id, input), Err(TranscodeError::Differs { .. }));
                assert!(differs, "{id}");
                continue;
            }
            let text = match moved(id, input) {
                Ok(text) => text,
                // Its calls have required arguments, which these lack.
                Err(TranscodeError::NotRepresentable { why, .. }) if *id == "bolt-action" => {
                    assert!(matches!(why.reason, Reason::Missing { .. }), "{why}");
                    continue;
                }
                Err(error) => panic!("{id}: {error}"),
            };
            let then = if input == line {
                "\n then\n"
            } else {
                "\n then "
            };
            assert!(
                text.starts_with("Hm.\n") && text.contains(then) && text.ends_with("\n."),
                "{id}: {text}"
            );
            moves += 1;
        }
    }
    assert!(moves > 120, "{moves}");
}

/// The markers of a thought stay where the new dialect has none.
#[test]
fn thoughts_move_to_every_dialect() {
    let input = "<think>hm</think>\n\nSo.\n<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"x\"}}</tool_call>\n.";
    let (mut kept, mut anew) = (0, 0);
    for (id, _) in builtin_files() {
        let set = DialectSet::builtin(id).expect("a dialect");
        if Encoder::new(&set, id).is_err() || *id == "bolt-action" {
            continue;
        }
        let text = moved(id, input).unwrap_or_else(|error| panic!("{id}: {error}"));
        assert!(
            text.contains("hm") && text.contains("So.\n"),
            "{id}: {text}"
        );
        match text.contains("<think>hm</think>") {
            true => kept += 1,
            false => anew += 1,
        }
    }
    assert!(kept > 40 && anew > 5, "{kept} and {anew}");
}

/// A name that is itself the beginning of a line of the format is refused as a name.
#[test]
fn names_that_are_heads_of_lines_are_refused() {
    for (id, names) in [
        (
            "react-text",
            ["Action:", "Observation:", "Thought:", "Answer:"],
        ),
        (
            "qwen-agent",
            ["✿FUNCTION✿:", "✿RESULT✿:", "✿RETURN✿:", "✿RESULT✿:x"],
        ),
    ] {
        let set = DialectSet::builtin(id).expect("a dialect");
        let encoder = Encoder::new(&set, id).expect("an encoder");
        for name in names {
            let offered = serde_json::json!([{ "name": name }]).to_string();
            let call = EncodeCall::new(name, "{}");
            let error = encoder
                .encode(&[call], &options(Some(&offered)))
                .expect_err(name);
            assert!(
                matches!(error.reason, Reason::Name { .. }),
                "{id}: {name}: {error}"
            );
        }
    }
}

#[test]
fn transcripts_move_to_payloads_other_than_json() {
    let call = |arguments: &str| {
        format!("So:\n<tool_call>{{\"name\":\"f\",\"arguments\":{arguments}}}</tool_call>\nDone.")
    };
    let text = call(r#"{"a":"two\nlines & </f> <b>"}"#);
    for (id, want) in [
        (
            "cline-xml",
            "So:\n<f><a>two\nlines & </f> <b></a>\n</f>\nDone.",
        ),
        (
            "morph-xml",
            "So:\n<f><a>two\nlines &amp; &lt;/f&gt; &lt;b&gt;</a></f>\nDone.",
        ),
        (
            "yaml-xml",
            "So:\n<f>\na: \"two\\nlines & <\\/f> <b>\"\n</f>\nDone.",
        ),
        (
            "minimax-m3",
            "So:\n]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"f\">]<]minimax[>[<a>two\nlines & </f> <b>]<]minimax[>[</a>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>\nDone.",
        ),
    ] {
        assert_eq!(moved(id, &text).expect(id), want, "{id}");
    }
    let bolt =
        call(r#"{"artifact":{"id":"x","title":"\"T\""},"filePath":"a.rs","content":"fn a() {}"}"#);
    assert_eq!(
        moved("bolt-action", &bolt).expect("bolt-action"),
        "So:\n<boltArtifact id=\"x\" title=\"&quot;T&quot;\">\n<boltAction type=\"f\" filePath=\"a.rs\">fn a() {}</boltAction>\n</boltArtifact>\nDone."
    );
}
