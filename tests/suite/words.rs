//! Words of enums: one table per enum, for people, files, serde and binary formats alike.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toolglot::sink::openai;
use toolglot::{
    Abandoned, Arguments, Broken, CallState, Confidence, EncodeOptions, Fence, Finish, Grade, Kind,
    KindSet, Options, Origin, Prefer, ReasoningMode, Retain, Severity, Stage, Start, TextMode,
    ToolChoice, Unclosed, UnknownTool, UnknownWord, Untyped,
};

fn all<W>(words: &[W])
where
    W: Copy + PartialEq + Debug + Display + FromStr<Err = UnknownWord>,
    W: Serialize + DeserializeOwned,
{
    let mut known = vec![];
    for word in words {
        let text = word.to_string();
        assert_eq!(text.parse(), Ok(*word));
        let json = serde_json::to_string(word).expect("JSON");
        assert_eq!(json, format!("\"{text}\""));
        assert_eq!(serde_json::from_str::<W>(&json).ok(), Some(*word));
        known.push(text);
    }
    let wrong = "no such".parse::<W>().expect_err("a mistake");
    assert_eq!(wrong.expected, known);
    assert_eq!(wrong.word, "no such");
    assert!(serde_json::from_str::<W>("\"no such\"").is_err());
    known.sort();
    known.dedup();
    assert_eq!(known.len(), words.len(), "each word means one thing");
}

#[test]
fn each_enum_has_one_table() {
    all(Severity::ALL);
    all(Grade::ALL);
    all(Kind::ALL);
    all(Finish::ALL);
    all(Stage::ALL);
    all(Origin::ALL);
    all(Abandoned::ALL);
    all(Arguments::ALL);
    all(TextMode::ALL);
    all(Retain::ALL);
    all(Prefer::ALL);
    all(ReasoningMode::ALL);
    all(Fence::ALL);
    all(Unclosed::ALL);
    all(Broken::ALL);
    all(Untyped::ALL);
    all(UnknownTool::ALL);
    all(Start::ALL);
    all(Confidence::ALL);
    all(openai::Calls::ALL);
    all(openai::Recovered::ALL);
}

#[test]
fn a_mistake_says_what_was_expected() {
    let wrong = "halt".parse::<Finish>().expect_err("a mistake");
    assert_eq!(wrong.what, "finish reason");
    assert_eq!(
        wrong.to_string(),
        "`halt` is none of: stop, length, tool_calls, error, cancelled"
    );
    let wrong = "halt".parse::<Kind>().expect_err("a mistake");
    assert_eq!(wrong.to_string(), "`halt` is no kind of issue");
    assert!("halt".parse::<ToolChoice>().is_err());
}

#[test]
fn states_and_choices_are_displayed() {
    assert_eq!(CallState::Complete.to_string(), "complete");
    let mut kinds = KindSet::default();
    kinds.insert(Kind::RepairedComma);
    kinds.insert(Kind::RepairedKey);
    assert_eq!(
        CallState::from(kinds).to_string(),
        "repaired (repaired_comma, repaired_key)"
    );
    for text in [
        "auto",
        "none",
        "required",
        r#"{"type":"function","function":{"name":"f"}}"#,
    ] {
        let choice: ToolChoice = text.parse().expect("a choice");
        assert_eq!(choice.to_string(), text);
        let json = serde_json::to_string(&choice).expect("JSON");
        assert_eq!(serde_json::from_str::<ToolChoice>(&json).ok(), Some(choice));
    }
}

#[test]
fn options_come_back() {
    let mut options = Options::default()
        .text(TextMode::Chars)
        .retain(Retain::None)
        .prefer(Prefer::Both)
        .fence(Fence::Allow)
        .unclosed(Unclosed::Salvage)
        .unknown_tool(UnknownTool::Drop)
        .tool_choice(ToolChoice::Named("f".into()))
        .prompt_tail("中<think>".as_bytes());
    options.limits.max_calls = 3;
    let json = serde_json::to_string(&options).expect("JSON");
    let read: Options = serde_json::from_str(&json).expect("options");
    assert_eq!(format!("{read:?}"), format!("{options:?}"));
    for wrong in [
        r#"{"preferred": "text"}"#,
        r#"{"prefer": "texts"}"#,
        r#"{"limits": {"max": 1}}"#,
        r#"{"tools": [{}]}"#,
    ] {
        assert!(serde_json::from_str::<Options>(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn tools_are_read_from_their_definitions() {
    #[derive(Deserialize)]
    struct Both {
        parse: Options,
        encode: EncodeOptions,
    }
    let tools = r#"[{"name": "f", "parameters": {"properties": {"n": {"type": "integer"}}}}]"#;
    let text = format!(
        r#"{{"parse": {{"tools": {tools}}}, "encode": {{"tools": {tools}, "verify": false}}}}"#
    );
    let both: Both = serde_json::from_str(&text).expect("options");
    for tools in [both.parse.tools, both.encode.tools.clone()] {
        let tools = tools.expect("tools");
        assert_eq!(tools.names().collect::<Vec<_>>(), ["f"]);
    }
    assert!(!both.encode.verify);
    let written = serde_json::to_value(&both.encode).expect("JSON");
    assert_eq!(written.get("tools"), None);
}
