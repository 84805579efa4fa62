//! What the seed documents ask of a parser, item by item: each test asserts all that its item says.

use toolglot::json::Value;
use toolglot::{
    Collect, DialectSet, Event, Finish, Grade, Kind, Options, OwnedEvent, Parser, Turn, parse,
};

fn events(dialect: &str, input: &str, chunk: usize) -> Vec<OwnedEvent> {
    let set = DialectSet::builtin(dialect).expect("a dialect");
    let mut parser = Parser::new(&set, Options::default());
    let mut out = vec![];
    let mut take = |event: Event<'_>| out.push(OwnedEvent::from(event));
    for piece in input.as_bytes().chunks(chunk) {
        parser.feed(piece, &mut take);
    }
    parser.finish(Finish::Stop, &mut take);
    out
}

fn turn(dialect: &str, input: &str) -> Turn {
    let set = DialectSet::builtin(dialect).expect("a dialect");
    parse(&set, Options::default(), input.as_bytes(), Finish::Stop)
}

/// Chunks of every kind: bytes, some bytes, all.
const CHUNKS: [usize; 3] = [1, 7, usize::MAX];

/// Item 2 of the checklist: the calls of a chain come in the order of their numbers, not of the text, and each tells its number.
#[test]
fn a_chain_is_ordered_by_its_numbers() {
    let input = "<|[REQUEST_TOOL]|>\ncommand10:「始」J「末」\ncommand2:「始」B「末」\ncommand1:「始」A「末」\nx10:「始」1「末」\nx2:「始」2「末」\n<|[END_TOOL]|>";
    for chunk in CHUNKS {
        let opened: Vec<(String, Option<String>)> = events("tam", input, chunk)
            .into_iter()
            .filter_map(|event| match event {
                OwnedEvent::CallOpen { name, meta, .. } => {
                    let number = meta.into_iter().find(|(key, _)| key == "index");
                    Some((name, number.map(|(_, number)| number)))
                }
                _ => None,
            })
            .collect();
        let want = [("A", "1"), ("B", "2"), ("J", "10")];
        assert_eq!(
            opened,
            want.map(|(name, number)| (name.to_owned(), Some(number.to_owned())))
        );
    }
    let calls = turn("tam", input).calls;
    let arguments: Vec<&str> = calls.iter().map(|call| call.arguments.as_str()).collect();
    assert_eq!(arguments, ["{}", r#"{"x":"2"}"#, r#"{"x":"1"}"#]);
}

/// Item 25 of the checklist: a turn has all that the model wrote, markup included, beside its calls.
#[test]
fn a_turn_keeps_the_original() {
    let input = "我看看。\n<ACTION><look><at>书</at></look></ACTION> 好了 <|im_end|>";
    let set = DialectSet::builtin("action").expect("a dialect");
    for chunk in CHUNKS {
        let mut parser = Parser::new(&set, Options::default());
        let mut sink = Collect::new().keep_original();
        for piece in input.as_bytes().chunks(chunk) {
            parser.feed(piece, &mut sink);
        }
        parser.finish(Finish::Stop, &mut sink);
        let turn = sink.turn();
        assert_eq!(turn.original.as_deref(), Some(input));
        assert_eq!(turn.calls.len(), 1);
        assert!(!turn.text.contains("ACTION"), "{}", turn.text);
    }
}

/// Item 26 of the checklist: an event tells that a tool was selected, before its arguments are there.
#[test]
fn a_tool_is_named_before_its_arguments() {
    for (dialect, input) in [
        (
            "tam",
            "<|[REQUEST_TOOL]|>\ncommand:「始」pick「末」\na:「始」1「末」\n<|[END_TOOL]|>",
        ),
        (
            "tool-call-xml",
            "<tool_call name=\"pick\"><param name=\"a\">1</param></tool_call>",
        ),
        ("action", "<ACTION><pick><a>1</a></pick></ACTION>"),
        (
            "vcp",
            "<<<[TOOL_REQUEST]>>>\ntool_name:「始」pick「末」,\na:「始」1「末」\n<<<[END_TOOL_REQUEST]>>>",
        ),
        ("tool-action", "<tool_action name=\"pick\" a=\"1\"/>"),
        (
            "hermes",
            "<tool_call>{\"name\": \"pick\", \"arguments\": {\"a\": \"1\"}}</tool_call>",
        ),
    ] {
        for chunk in CHUNKS {
            let all = events(dialect, input, chunk);
            let first = |wanted: fn(&OwnedEvent) -> bool| all.iter().position(wanted);
            let named = first(
                |event| matches!(event, OwnedEvent::CallNamed { name, .. } if name == "pick"),
            );
            let opened = first(|event| matches!(event, OwnedEvent::CallOpen { .. }));
            let selected = named
                .or(opened)
                .unwrap_or_else(|| panic!("{dialect}: {all:?}"));
            let argument = first(|event| matches!(event, OwnedEvent::ArgDelta { .. }));
            assert!(
                argument.is_none_or(|argument| selected < argument),
                "{dialect}: {all:?}"
            );
        }
    }
}

/// Item 44 of the checklist: the text before a block and the text after it are apart.
#[test]
fn text_before_and_after_a_block_is_apart() {
    let input = "先说 <ACTION><f><a>1</a></f></ACTION> 后说";
    for chunk in CHUNKS {
        let mut texts = [vec![], vec![]];
        let mut block = 0;
        for event in events("action", input, chunk) {
            match event {
                OwnedEvent::BlockClose { .. } => block = 1,
                OwnedEvent::Text { data, .. } => texts[block].extend_from_slice(&data),
                _ => {}
            }
        }
        let texts = texts.map(|text| String::from_utf8(text).expect("UTF-8"));
        assert_eq!(texts, ["先说 ", " 后说"]);
    }
}

/// Items 65 and 66 of the checklist: every block of a reply gives a request with a dictionary of its parameters; an empty value is an
/// empty string, a later value replaces an earlier one and the call still runs; a block without its end or its tool's name is dropped
/// with a warning; and a text without blocks gives no calls and no error.
#[test]
fn vcp_tolerates_what_its_document_says() {
    let block = |name: &str| {
        format!(
            "<<<[TOOL_REQUEST]>>>\ntool_name:「始」{name}「末」,\na:「始」1「末」,\na:「始」2「末」,\nb:「始」「末」\n<<<[END_TOOL_REQUEST]>>>"
        )
    };
    let both = turn("vcp", &format!("一 {} 二 {} 三", block("F"), block("G")));
    let calls: Vec<(&str, Value)> = both
        .calls
        .iter()
        .map(|call| (call.name.as_str(), call.arguments.parse().expect("JSON")))
        .collect();
    let dictionary: Value = r#"{"a": "2", "b": ""}"#.parse().expect("JSON");
    assert_eq!(calls, [("F", dictionary.clone()), ("G", dictionary)]);
    assert_eq!(both.text, "一  二  三");
    for call in &both.calls {
        assert_eq!(call.grade, Grade::Repaired);
    }
    assert!(both.not_delivered.is_empty());

    let open = "<<<[TOOL_REQUEST]>>>\ntool_name:「始」F「末」,\na:「始」1「末」\n";
    for (input, kind) in [
        (open.to_owned(), Kind::UnclosedBlock),
        (
            "<<<[TOOL_REQUEST]>>>\na:「始」1「末」\n<<<[END_TOOL_REQUEST]>>>".to_owned(),
            Kind::MissingName,
        ),
    ] {
        let turn = turn("vcp", &input);
        assert!(turn.calls.is_empty(), "{input}");
        assert!(
            turn.issues.iter().any(|issue| issue.kind == kind),
            "{input}: {:?}",
            turn.issues
        );
        assert_eq!(turn.not_delivered.dropped.len(), 1, "{input}");
    }

    let none = turn("vcp", "没有工具请求。");
    assert!(none.calls.is_empty() && none.issues.is_empty());
}
