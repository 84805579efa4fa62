//! Guided output: what a server writes when a request requires a tool call.

use std::sync::Arc;

use toolglot::{
    Collect, DialectSet, Finish, Grade, Options, Parser, ToolChoice, Tools, Turn, builtin_files,
};

use crate::markers::{Does, MARKERS, set};
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

/// The turn of a text, the same for every chunking.
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
    let many = ["default", "all", "any"];
    for id in builtin_files().iter().map(|(id, _)| *id).chain(many) {
        let set = set(id);
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
        // As OpenAI's API writes calls.
        (
            WEATHER,
            r#"{"type":"function","function":{"name":"get_weather","arguments":{"city":"x"}}}"#,
            vec![("get_weather", r#"{"city":"x"}"#)],
            "",
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

/// A brace alone is no marker after which a guided model would write a list of calls.
#[test]
fn a_list_in_a_brace_is_text() {
    for id in ["default", "all", "any"] {
        let read = turn(&set(id), "required", "{[1]}", Finish::Stop);
        assert_eq!(read.text, "{[1]}", "{id}");
        assert!(read.issues.is_empty(), "{id}: {read:?}");
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
fn truncated_output_is_not_a_call() {
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

/// What a dialect writes around the object of a call, if its calls are objects that name the tool.
fn around(set: &DialectSet, id: &str) -> Option<(String, String)> {
    let call = toolglot::EncodeCall::new("get_weather", r#"{"city":"x"}"#);
    let mut options = toolglot::EncodeOptions::default();
    options.tools = Some(Arc::new(Tools::from_json(TOOLS).expect("tools")));
    let text = toolglot::encode(set, id, &[call], &options).ok()?;
    let (open, close) = (text.find('{')?, text.rfind('}')?);
    let object = toolglot_testkit::vectors::value(&text[open..=close]).ok()?;
    let named = object.as_object()?.get("name").is_some();
    let (before, behind) = (text[..open].to_owned(), text[close + 1..].to_owned());
    let marked = before.trim_start().starts_with('<') && !before.trim_end().ends_with('[');
    (named && marked).then_some((before, behind))
}

#[test]
fn bare_arguments_are_read_between_the_markers_of_a_dialect() {
    let mut tried = 0;
    for (id, _) in builtin_files() {
        let set = DialectSet::builtin(id).expect("a built-in dialect");
        let Some((before, behind)) = around(&set, id) else {
            continue;
        };
        tried += 1;
        for (choice, object, name, arguments) in [
            (WEATHER, r#"{"city":"里斯 }","days":3}"#, "get_weather", ""),
            (WEATHER, "{}", "get_weather", ""),
            (WEATHER, r#"{ "days" : 2 }"#, "get_weather", ""),
            (WEATHER, r#"{"type":"arid","city":"x"}"#, "get_weather", ""),
            (RENAME, r#"{"name":"新","arguments":{}}"#, "rename", ""),
            (RENAME, r#"{"arguments":{"a":1},"name":"b"}"#, "rename", ""),
            (
                WEATHER,
                r#"{"name":"get_weather","arguments":{"city":"y"},"x":1}"#,
                "get_weather",
                r#"{"city":"y"}"#,
            ),
        ] {
            let text = format!("{before}{object}{behind}");
            let read = turn(&set, choice, &text, Finish::Stop);
            let want = match arguments {
                "" => object,
                given => given,
            };
            let [call] = &*read.calls else {
                panic!("{id}: {text}: {read:?}");
            };
            let own = arguments.is_empty();
            assert_eq!(call.grade == Grade::Complete, own, "{id}: {text}: {read:?}");
            assert_eq!(call.name, name, "{id}: {text}");
            if own || *id != "inkling" {
                assert_eq!(call.arguments, want, "{id}: {text}");
            }
            assert_eq!(read.text.trim(), "", "{id}: {text}: {read:?}");
        }
        // Without a named tool, it is not a call.
        let text = format!("{before}{{\"city\":\"x\"}}{behind}");
        assert!(turn(&set, "auto", &text, Finish::Stop).calls.is_empty());
    }
    assert!(tried > 8, "{tried}");
}

#[test]
fn a_list_of_calls_is_read_between_the_markers_of_one_call() {
    let set = DialectSet::builtin("hermes").expect("a built-in dialect");
    let list =
        r#"[{"name":"get_weather","parameters":{"city":"x"}},{"name":"rename","arguments":{}}]"#;
    let text = format!("<tool_call>\n{list}\n</tool_call>");
    for choice in ["required", WEATHER, "auto"] {
        let read = turn(&set, choice, &text, Finish::Stop);
        let want = vec![("get_weather", r#"{"city":"x"}"#), ("rename", "{}")];
        assert_eq!(calls(&read), want, "{read:?}");
    }
}

/// Name, arguments and grade of a call.
type Slip<'s> = (&'s str, &'s str, Grade);

/// Objects without the name that the host gave, or with a different one.
#[test]
fn the_name_that_the_host_gave_may_be_left_out() {
    let city = r#"{"city":"里斯 }"}"#;
    let mut slips: Vec<(String, Vec<Slip>)> = vec![];
    for key in [
        "arguments",
        "parameters",
        "args",
        "params",
        "input",
        "Arguments",
        "INPUT",
    ] {
        let one = ("get_weather", city, Grade::Repaired);
        slips.push((format!("{{\"{key}\":{city}}}"), vec![one]));
        slips.push((format!("{{ \"id\": 7, \"{key}\" : {city} }}"), vec![one]));
        slips.push((format!("[{{\"{key}\":{city}}}]"), vec![one]));
        // A number under such a key is an unknown parameter.
        let own = format!("{{\"{key}\":5}}");
        if !["arguments", "parameters"].contains(&key) {
            slips.push((own, vec![("get_weather", "", Grade::Complete)]));
        }
    }
    let list = [("get_weather", city, Grade::Complete); 2];
    slips.push((format!("[{city}]"), list[..1].to_vec()));
    slips.push((format!("[{city} , {city}]"), list.to_vec()));
    slips.push((
        "[{}]".to_owned(),
        vec![("get_weather", "{}", Grade::Complete)],
    ));
    for wrapped in ["{}", "[{}]"] {
        for text in [
            format!("{{\"name\":\"rename\",\"arguments\":{city}}}"),
            format!("{{\"arguments\":{city},\"name\":\"rename\"}}"),
        ] {
            let text = wrapped.replace("{}", &text);
            slips.push((text, vec![("rename", city, Grade::Complete)]));
        }
    }
    let set = DialectSet::builtin("hermes").expect("a built-in dialect");
    for (text, want) in slips {
        for text in [text.clone(), format!("<tool_call>\n{text}\n</tool_call>")] {
            let read = turn(&set, WEATHER, &text, Finish::Stop);
            assert_eq!(read.text.trim(), "", "{text}: {read:?}");
            assert_eq!(read.calls.len(), want.len(), "{text}: {read:?}");
            for (call, (name, arguments, grade)) in read.calls.iter().zip(&want) {
                assert_eq!((call.name.as_str(), call.grade), (*name, *grade), "{text}");
                if !arguments.is_empty() {
                    assert_eq!(call.arguments, *arguments, "{text}");
                }
            }
        }
    }
}

#[test]
fn what_is_removed_before_the_output_is_not_its_text() {
    let search = r#"{"city": "Köln"}"#;
    let (mut tried, mut read) = (0, 0);
    for marker in MARKERS.iter() {
        let set = set(marker.dialect);
        for glue in ["", " ", "\n", "\n\n", "x"] {
            let text = format!("{}{glue}{search}", marker.text);
            // The same for every chunking, whatever it is.
            let turn = turn(&set, WEATHER, &text, Finish::Stop);
            let whole = turn.text.trim().is_empty() && turn.calls.len() == 1;
            let frames = marker.does == Does::Frame && glue != "x";
            tried += usize::from(frames);
            read += usize::from(frames && whole);
        }
    }
    // Some open messages or calls, in which the object is something else.
    assert!(read * 10 > tried * 8 && tried > 300, "{read} of {tried}");
}
