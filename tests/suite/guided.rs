//! Guided output: what a server writes that was told to have a tool called.

use std::sync::Arc;

use toolglot::{
    Collect, DialectSet, Finish, Grade, Options, Parser, ToolChoice, Tools, Turn, builtin_files,
};

use crate::support::places;

const TOOLS: &str = r#"[
    {"name": "get_weather", "parameters": {"properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}},
    {"name": "rename", "parameters": {"properties": {"name": {"type": "string"}, "arguments": {"type": "object"}}}}]"#;

fn cut(set: &DialectSet, options: &Options, pieces: &[&[u8]], finish: Finish) -> Turn {
    let mut parser = Parser::new(set, options.clone());
    let mut turn = Collect::new();
    for piece in pieces {
        parser.feed(piece, &mut turn);
    }
    parser.finish(finish, &mut turn);
    turn.turn()
}

/// The turn of a text, the same for every cut.
fn turn(set: &DialectSet, choice: &str, text: &str, finish: Finish) -> Turn {
    let mut options = Options::default();
    options.tools = Some(Arc::new(Tools::from_json(TOOLS).expect("tools")));
    options.tool_choice = ToolChoice::from_json(choice).expect("a choice");
    let all = text.as_bytes();
    let whole = cut(set, &options, &[all], finish);
    let bytes: Vec<&[u8]> = all.chunks(1).collect();
    assert_eq!(cut(set, &options, &bytes, finish), whole, "{text}");
    for at in places(all.len(), 60) {
        let (a, b) = all.split_at(at);
        assert_eq!(cut(set, &options, &[a, b], finish), whole, "{text} at {at}");
    }
    whole
}

const WEATHER: &str = r#"{"type": "function", "function": {"name": "get_weather"}}"#;
const RENAME: &str = r#"{"name": "rename"}"#;

fn calls(turn: &Turn) -> Vec<(&str, &str)> {
    let call = |call: &'_ toolglot::Call| call.grade == Grade::Complete;
    assert!(turn.calls.iter().all(call), "{turn:?}");
    turn.calls
        .iter()
        .map(|c| (&*c.name, &*c.arguments))
        .collect()
}

#[test]
fn arguments_and_calls_are_read_in_every_dialect() {
    for (id, _) in builtin_files() {
        let set = DialectSet::builtin(id).expect("a built-in dialect");
        for (choice, text, want) in [
            (
                WEATHER,
                r#"{"city":"里斯 }","days":3}"#,
                vec![("get_weather", r#"{"city":"里斯 }","days":3}"#)],
            ),
            (WEATHER, "{}", vec![("get_weather", "{}")]),
            (
                "required",
                r#"{"name":"get_weather","parameters":{"city":"x"}}"#,
                vec![("get_weather", r#"{"city":"x"}"#)],
            ),
            (
                "required",
                r#"[{"name":"get_weather","arguments":{"city":"x"}},{"name":"rename","arguments":{}}]"#,
                vec![("get_weather", r#"{"city":"x"}"#), ("rename", "{}")],
            ),
        ] {
            let read = turn(&set, choice, text, Finish::Stop);
            let implicit = !read.reasoning.is_empty();
            assert!(implicit || calls(&read) == want, "{id}: {text}: {read:?}");
        }
    }
}

#[test]
fn what_begins_the_reply_decides() {
    let set = DialectSet::defaults();
    for (choice, text, want, left) in [
        (
            WEATHER,
            " \n{\"city\": \"x\"}\nbye",
            vec![("get_weather", r#"{"city": "x"}"#)],
            " \n\nbye",
        ),
        (
            WEATHER,
            "<think>Which {\"a\"?</think>\n{\"city\":\"x\"}",
            vec![("get_weather", r#"{"city":"x"}"#)],
            "\n",
        ),
        (
            WEATHER,
            r#"[{"name":"get_weather","parameters":{"city":"x"}}]"#,
            vec![("get_weather", r#"{"city":"x"}"#)],
            "",
        ),
        (
            WEATHER,
            r#"{"name":"get_weather","arguments":{"city":"x"}}"#,
            vec![("get_weather", r#"{"city":"x"}"#)],
            "",
        ),
        // These are parameters of the tool.
        (
            RENAME,
            r#"{"name":"rename","arguments":{"a":1}}"#,
            vec![("rename", r#"{"name":"rename","arguments":{"a":1}}"#)],
            "",
        ),
        (
            "required",
            r#"{"name":"get_weather"}"#,
            vec![("get_weather", "{}")],
            "",
        ),
        ("required", r#"{"city":"x"}"#, vec![], r#"{"city":"x"}"#),
        (
            "required",
            r#"So: {"name":"get_weather","arguments":{}}"#,
            vec![],
            r#"So: {"name":"get_weather","arguments":{}}"#,
        ),
        (
            "auto",
            r#"{"name":"get_weather","arguments":{}}"#,
            vec![],
            r#"{"name":"get_weather","arguments":{}}"#,
        ),
        // The model's own markup.
        (
            "required",
            "<tool_call>{\"name\":\"get_weather\",\"arguments\":{}}</tool_call>",
            vec![("get_weather", "{}")],
            "",
        ),
        (
            WEATHER,
            "<tool_call>{\"name\":\"get_weather\",\"arguments\":{}}</tool_call>",
            vec![("get_weather", "{}")],
            "",
        ),
    ] {
        let read = turn(&set, choice, text, Finish::Stop);
        assert_eq!(calls(&read), want, "{choice}: {text}: {read:?}");
        assert_eq!(read.text, left, "{choice}: {text}");
    }
}

#[test]
fn with_none_markers_of_calls_are_text() {
    let set = DialectSet::builtin("hermes").expect("a built-in dialect");
    let text =
        "<think>hm</think><tool_call>{\"name\":\"get_weather\",\"arguments\":{}}</tool_call>";
    let read = turn(&set, "none", text, Finish::Stop);
    assert_eq!((read.calls.len(), &*read.reasoning), (0, "hm"));
    assert!(read.text.starts_with("<tool_call>"), "{read:?}");
}

#[test]
fn what_is_cut_is_no_call() {
    let set = DialectSet::defaults();
    let text = r#"{"city":"a {b} \" c","days":[3]}"#;
    for at in 1..text.len() {
        for finish in Finish::ALL {
            let read = turn(&set, WEATHER, &text[..at], *finish);
            assert!(read.calls.is_empty(), "{at}: {read:?}");
        }
    }
}

#[test]
fn choices_are_read_as_requests_say_them() {
    for (text, want) in [
        ("auto", Some(ToolChoice::Auto)),
        ("\"none\"", Some(ToolChoice::None)),
        ("required", Some(ToolChoice::Required)),
        (WEATHER, Some(ToolChoice::Named("get_weather".into()))),
        (RENAME, Some(ToolChoice::Named("rename".into()))),
        (
            r#"{"type": "tool", "name": "f"}"#,
            Some(ToolChoice::Named("f".into())),
        ),
        (r#"{"type": "any"}"#, Some(ToolChoice::Required)),
        ("sometimes", None),
        ("{}", None),
        ("[]", None),
        (r#"{"name": ""}"#, None),
    ] {
        assert_eq!(ToolChoice::from_json(text).ok(), want, "{text}");
    }
}
