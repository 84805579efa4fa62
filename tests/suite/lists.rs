//! Lists of calls without their end: each call that has ended counts, and the missing end is only reported. One rule for every
//! dialect that writes its calls as one list.

use std::sync::Arc;

use toolglot::{
    Call, DialectSet, EncodeCall, EncodeOptions, Finish, Grade, Kind, Options, Parser, Tools, Turn,
    builtin_files, encode,
};

use crate::markers::set;
use crate::support::cut_turn;

const TOOLS: &str = r#"[{"name": "look", "parameters": {"properties": {"at": {"type": "string"}}}},
    {"name": "wipe", "parameters": {"properties": {"n": {"type": "integer"}}}}]"#;

fn calls() -> [EncodeCall; 2] {
    [("look", r#"{"at":"雨 ] b"}"#), ("wipe", r#"{"n":2}"#)]
        .map(|(name, arguments)| EncodeCall::new(name, arguments))
}

fn read(set: &DialectSet, tools: &Arc<Tools>, text: &str, finish: Finish) -> Turn {
    let parser = || {
        let mut options = Options::default();
        options.tools = Some(Arc::clone(tools));
        Parser::new(set, options)
    };
    cut_turn(parser, text, finish)
}

fn says(call: &Call) -> (&str, &str, Grade) {
    (&call.name, &call.arguments, call.grade)
}

/// What a dialect writes for two calls, and how it is read, if that is one list.
fn list(id: &str, set: &DialectSet, tools: &Arc<Tools>) -> Option<(String, Turn)> {
    let mut options = EncodeOptions::default();
    options.tools = Some(Arc::clone(tools));
    let text = encode(set, id, &calls(), &options).ok()?;
    let turn = read(set, tools, &text, Finish::Stop);
    let [one, two] = turn.calls.as_slice() else {
        return None;
    };
    let between = text.get(one.span.end as usize..two.span.start as usize)?;
    let behind = text.get(two.span.end as usize..)?;
    let listed = between.trim() == "," && behind.trim_start().starts_with(']');
    listed.then_some((text, turn))
}

#[test]
fn a_list_without_its_end_has_its_calls() {
    let tools = Arc::new(Tools::from_json(TOOLS).expect("tools"));
    let mut tried = vec![];
    for (id, _) in builtin_files() {
        let own = set(id);
        let Some((text, whole)) = list(id, &own, &tools) else {
            continue;
        };
        tried.push(*id);
        assert!(whole.issues.is_empty(), "{id}: {whole:?}");
        let ends: Vec<usize> = whole
            .calls
            .iter()
            .map(|call| call.span.end as usize)
            .collect();
        for cut in ends[0]..text.len() {
            if !text.is_char_boundary(cut) {
                continue;
            }
            for finish in Finish::ALL {
                let turn = read(&own, &tools, &text[..cut], *finish);
                let told = |kind| turn.issues.iter().any(|report| report.kind == kind);
                for (index, want) in whole.calls.iter().enumerate() {
                    let call = turn.calls.get(index);
                    // The same for a list between markers and for one without its end: a call ends at its own bracket.
                    let rest = text.get(ends[index]..cut);
                    let at_end = rest.is_some_and(|rest| rest.trim().is_empty());
                    match call {
                        None => assert!(cut < ends[index], "{id}: {:?}", &text[..cut]),
                        // A Python expression may continue after its bracket.
                        Some(call) if call.grade == Grade::Recovered => assert!(
                            at_end && !finish.stopped() && call.kinds.contains(Kind::UnclosedBlock)
                                // Only its bracket is missing.
                                || cut < ends[index]
                                    && finish.stopped()
                                    && call.kinds.contains(Kind::MalformedBody),
                            "{id}: {finish:?}: {:?}: {call:?}",
                            &text[..cut]
                        ),
                        Some(call) => {
                            assert_eq!(says(call), says(want), "{id}: {:?}", &text[..cut])
                        }
                    }
                }
                let open = !turn.calls.is_empty();
                assert!(
                    !open || told(Kind::UnclosedBlock),
                    "{id}: {:?}: {turn:?}",
                    &text[..cut]
                );
                assert_eq!(turn.text, whole.text, "{id}: {:?}", &text[..cut]);
            }
        }
    }
    assert!(tried.len() > 10, "{tried:?}");
    for id in [
        "lfm2",
        "llama4-pythonic",
        "pythonic",
        "mistral-array",
        "xlam",
        "sarashina",
    ] {
        assert!(tried.contains(&id), "{id}: {tried:?}");
    }
}

/// What a dialect writes for one call, and the position of the call's own object in it, if that holds name and arguments and is
/// between markers.
fn object(
    id: &str,
    set: &DialectSet,
    tools: &Arc<Tools>,
) -> Option<(String, std::ops::Range<usize>)> {
    let mut options = EncodeOptions::default();
    options.tools = Some(Arc::clone(tools));
    let [call, _] = calls();
    let text = encode(set, id, &[call], &options).ok()?;
    let turn = read(set, tools, &text, Finish::Stop);
    let span = turn.calls.first()?.span;
    let (from, to) = (span.start as usize, span.end as usize);
    let own = text.get(from..to)?;
    let json = own.starts_with('{') && own.ends_with('}') && own.contains("\"look\"");
    (json && !text[..from].trim().is_empty()).then_some((text, from..to))
}

#[test]
fn lists_and_objects_may_replace_each_other() {
    let tools = Arc::new(Tools::from_json(TOOLS).expect("tools"));
    let mut tried = vec![];
    for (id, _) in builtin_files() {
        let own = set(id);
        let Some((text, place)) = object(id, &own, &tools) else {
            continue;
        };
        let one = &text[place.clone()];
        let (head, tail) = (&text[..place.start], &text[place.end..]);
        // In a list already: the brackets are there.
        let listed = head.trim_end().ends_with('[');
        let (open, close) = if listed { ("", "") } else { ("[", "]") };
        let two = one.replacen("\"look\"", "\"wipe\"", 1);
        // Objects may follow one another where a closer ends them, and a list may lack commas.
        let closed = listed || !tail.trim().is_empty();
        let mut texts = vec![
            (format!("{open}{one}, {two}{close}"), 2),
            (format!("{open}{one},\n{two}{close}"), 2),
            (format!("{open}{one}\n{two}{close}"), 2),
            (format!("{open}{one}, 或者, {two}{close}"), 1),
            (format!("{open}{one}, {{\"name\": 7}}, {two}{close}"), 1),
        ];
        texts.extend(closed.then(|| (format!("{one}\n\n{two}"), 2)));
        texts.extend(closed.then(|| (format!("{one},{two}"), 2)));
        for (text, least) in texts {
            let text = format!("{head}{text}{tail}");
            let turn = read(&own, &tools, &text, Finish::Stop);
            let good = turn
                .calls
                .iter()
                .filter(|call| call.grade != Grade::Recovered);
            let names: Vec<&str> = good.map(|call| call.name.as_str()).collect();
            let all = ["look", "wipe"];
            assert!(names.starts_with(&all[..least]), "{id}: {text}: {turn:?}");
            assert!(all.starts_with(&names), "{id}: {text}: {turn:?}");
        }
        tried.push(*id);
    }
    for id in [
        "hermes",
        "longcat",
        "minimax-m1",
        "mistral-array",
        "nemotron-nano-v2",
    ] {
        assert!(tried.contains(&id), "{id}: {tried:?}");
    }
}
