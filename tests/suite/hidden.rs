//! Nothing disappears silently: three calls in every built-in dialect, with any one byte of markup removed. Each value is in
//! the text, in a call, or in what the turn lists as withheld or dropped. The same holds for the word with which a model ends
//! calls, wherever it breaks them off.

use std::sync::Arc;

use toolglot::{
    DialectSet, EncodeCall, EncodeOptions, Finish, Options, Parser, Tools, Turn, builtin_files,
    encode,
};

use crate::support::turn_of;

const TOOLS: &str = r#"[{"name": "first", "parameters": {"properties": {"path": {"type": "string"}}}},
    {"name": "second", "parameters": {"properties": {"path": {"type": "string"}}}},
    {"name": "third", "parameters": {"properties": {"path": {"type": "string"}}}}]"#;
const CALLS: [(&str, &str); 3] = [("first", "Qa 甲"), ("second", "Qb"), ("third", "Qc")];

/// The calls as a model writes them, as many as a reply may hold.
fn written(set: &DialectSet, id: &str, tools: &Arc<Tools>) -> Option<String> {
    let mut options = EncodeOptions::default();
    options.tools = Some(Arc::clone(tools));
    (1..=CALLS.len()).rev().find_map(|count| {
        let calls = CALLS[..count].iter().map(|(name, value)| EncodeCall {
            name: (*name).to_owned(),
            arguments: format!(r#"{{"path":"{value}"}}"#),
            id: None,
        });
        let calls: Vec<_> = calls.collect();
        encode(set, id, &calls, &options).ok()
    })
}

fn told(turn: &Turn, text: &str, value: &str) -> bool {
    let left = &turn.not_delivered;
    let withheld = left.withheld.iter().map(|withheld| withheld.span);
    let dropped = left.dropped.iter().map(|dropped| dropped.span);
    let holds = |span: toolglot::Span| {
        let bytes = &text.as_bytes()[span.start as usize..span.end as usize];
        String::from_utf8_lossy(bytes).contains(value)
    };
    turn.text.contains(value)
        || turn.reasoning.contains(value)
        || turn.calls.iter().any(|call| call.arguments.contains(value))
        || withheld.chain(dropped).any(holds)
}

/// Reads what `broken` makes of every dialect's calls: texts, each with the values that must be reported.
fn check(broken: impl Fn(&str) -> Vec<(String, Vec<&'static str>)>) {
    let tools = Arc::new(Tools::from_json(TOOLS).expect("tools"));
    let mut failures = vec![];
    let mut tried = 0;
    for (id, _) in builtin_files() {
        let set = DialectSet::builtin(id).expect("a built-in dialect");
        let Some(good) = written(&set, id, &tools) else {
            continue;
        };
        for (text, values) in broken(&good) {
            let mut options = Options::default();
            options.tools = Some(Arc::clone(&tools));
            let turn = turn_of(Parser::new(&set, options), [text.as_bytes()], Finish::Stop);
            let lost = values
                .into_iter()
                .filter(|value| !told(&turn, &text, value));
            let lost: Vec<_> = lost.collect();
            if !lost.is_empty() {
                failures.push(format!("{id}: {text:?}: {lost:?}"));
            }
            tried += 1;
        }
    }
    let shown: Vec<_> = failures.iter().take(20).collect();
    assert!(failures.is_empty(), "{}: {shown:#?}", failures.len());
    assert!(tried > 10_000, "{tried}");
}

#[test]
fn nothing_disappears_silently() {
    check(|good| {
        let without = good.char_indices().map(|(at, char)| {
            let text = format!("{}{}", &good[..at], &good[at + char.len_utf8()..]);
            let values = CALLS.iter().map(|(_, value)| *value);
            let values = values.filter(|value| text.contains(value)).collect();
            (text, values)
        });
        without.collect()
    });
}

#[test]
fn a_word_after_calls_that_break_off_is_not_lost() {
    const WORDS: [(&str, &str); 4] = [
        ("\n", "Done."),
        (" ", "好了。"),
        ("", "Done"),
        ("\n", "好 了"),
    ];
    check(|good| {
        let cut = good.char_indices().flat_map(|(at, _)| {
            WORDS.map(|(glue, word)| (format!("{}{glue}{word}", &good[..at]), vec![word]))
        });
        cut.collect()
    });
}
