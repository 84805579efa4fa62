//! Calls with parameters between tags that the end of the stream truncates: a call that lacks only its closers is
//! delivered, as recovered.

use toolglot::{
    Collect, DialectSet, EncodeCall, EncodeOptions, Finish, Grade, Kind, Options, Parser, Turn,
    builtin_files,
};

fn read(set: &DialectSet, text: &str, finish: Finish) -> Turn {
    let mut parser = Parser::new(set, Options::default());
    let mut turn = Collect::new();
    parser.feed(text.as_bytes(), &mut turn);
    parser.finish(finish, &mut turn);
    turn.turn()
}

/// The built-in dialects with such calls, and two calls in each: with one parameter and with two.
fn written() -> Vec<(&'static str, DialectSet, String)> {
    let mut all = vec![];
    for (id, text) in builtin_files() {
        let file: toml::Table = toml::from_str(text).expect("a dialect file");
        let framed = file.get("framed").and_then(toml::Value::as_table);
        if framed.is_none_or(|framed| !framed.contains_key("param")) {
            continue;
        }
        let set = DialectSet::builtin(id).expect("a built-in dialect");
        let calls =
            [r#"{"a":"里斯"}"#, r#"{"a":"x > y","b":"z"}"#].map(|text| EncodeCall::new("f", text));
        let options = EncodeOptions::default();
        if let Ok(text) = toolglot::encode(&set, id, &calls, &options) {
            all.push((*id, set, text));
        }
    }
    assert!(all.len() > 15, "{}", all.len());
    all
}

#[test]
fn a_call_that_lacks_only_closers_is_recovered() {
    for (id, set, text) in written() {
        let whole = read(&set, &text, Finish::Stop);
        let two = |turn: &Turn| turn.calls.len() == 2;
        assert!(two(&whole), "{id}: {text}");
        let last = &whole.calls[1];
        let mut cut = 0;
        for at in (0..text.len()).filter(|at| text.is_char_boundary(*at)) {
            for finish in [Finish::Stop, Finish::Length] {
                let turn = read(&set, &text[..at], finish);
                for call in turn.calls.iter().filter(|c| c.grade == Grade::Recovered) {
                    assert!(
                        call.kinds.contains(Kind::UnclosedBlock),
                        "{id} {at}: {turn:?}"
                    );
                    let not = &turn.not_delivered;
                    assert_eq!(not.withheld.len(), 1, "{id} {at}: {turn:?}");
                }
                if let [_, call] = &*turn.calls
                    && call.arguments == last.arguments
                {
                    cut += 1;
                }
            }
        }
        assert!(cut > 2, "{id}: {text}");
    }
}

#[test]
fn an_incomplete_parameter_retracts_the_call() {
    for (text, id) in [
        (
            "<tool_call>f<arg_key>a</arg_key><arg_value>x</arg_value><arg_key>b",
            "glm47",
        ),
        (
            "<tool_call><function=f><parameter=a>x</parameter><parameter=b>地",
            "qwen3-coder",
        ),
        (
            "<tool_call><function=f><parameter=a>x</param",
            "qwen3-coder",
        ),
        ("<tool_call><function=f>", "qwen3-coder"),
        ("<minimax:tool_call><invoke name=\"f\">", "minimax-m2"),
    ] {
        let set = DialectSet::builtin(id).expect("a built-in dialect");
        for finish in Finish::ALL {
            let turn = read(&set, text, *finish);
            assert!(turn.calls.is_empty(), "{text}: {turn:?}");
        }
    }
}
