//! Nothing disappears silently: three calls in every built-in dialect, with any one byte of markup removed. Each value is in
//! the text, in a call, or in what the turn lists as withheld or dropped. The same holds for the word with which a model ends
//! calls, wherever it breaks them off.

use std::sync::Arc;

use toolglot::{
    Call, DialectSet, EncodeCall, EncodeOptions, Finish, Grade, Options, Parser, Tools, Turn,
    builtin_files, encode,
};

use crate::support::{cut_turn, turn_of};

const TOOLS: &str = r#"[{"name": "first", "parameters": {"properties": {"path": {"type": "string"}}}},
    {"name": "second", "parameters": {"properties": {"path": {"type": "string"}}}},
    {"name": "third", "parameters": {"properties": {"path": {"type": "string"}}}}]"#;
const CALLS: [(&str, &str); 3] = [("first", "Qa 甲"), ("second", "Qb"), ("third", "Qc")];

/// Calls as a model writes them.
fn encoded(
    set: &DialectSet,
    id: &str,
    tools: &Arc<Tools>,
    calls: &[(&str, &str)],
) -> Option<String> {
    let mut options = EncodeOptions::default();
    options.tools = Some(Arc::clone(tools));
    let calls = calls.iter().map(|(name, value)| {
        EncodeCall::new((*name).to_owned(), format!(r#"{{"path":"{value}"}}"#))
    });
    encode(set, id, &calls.collect::<Vec<_>>(), &options).ok()
}

/// As many calls as a reply may hold.
fn written(set: &DialectSet, id: &str, tools: &Arc<Tools>) -> Option<String> {
    let mut counts = (1..=CALLS.len()).rev();
    counts.find_map(|count| encoded(set, id, tools, &CALLS[..count]))
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

/// Values that run on to the next of their closers, in which the second block is the value's, or breaks it.
const RUNS_ON: [&str; 5] = ["functiongemma", "gemma4", "tool-action", "vcp", "yaml-xml"];

/// What breaks in them is text, and what it holds opens nothing.
const TEXT: [&str; 4] = ["command-r-plus", "json-bare", "markdown-json", "morph-xml"];

/// A call whose last closers are missing or truncated takes no block with it that begins on the next line.
#[test]
fn a_truncated_closer_takes_no_later_block_with_it() {
    let tools = Arc::new(Tools::from_json(TOOLS).expect("tools"));
    let (mut failures, mut valid, mut swallowed) = (vec![], 0, 0);
    for (id, _) in builtin_files() {
        let set = DialectSet::builtin(id).expect("a built-in dialect");
        let block = |call| encoded(&set, id, &tools, &CALLS[call..=call]);
        let (Some(first), Some(second)) = (block(0), block(1)) else {
            continue;
        };
        let (name, value) = (CALLS[1].0, CALLS[1].1);
        let begins = first.find(CALLS[0].1).expect("the value is written") + CALLS[0].1.len();
        let places = first.char_indices().map(|(at, _)| at);
        for at in places.filter(|at| *at > begins) {
            let text = format!("{}\n{second}", &first[..at]);
            let parser = || {
                let mut options = Options::default();
                options.tools = Some(Arc::clone(&tools));
                Parser::new(&set, options)
            };
            let turn = cut_turn(parser, &text, Finish::Stop);
            let within =
                |call: &Call| call.arguments.contains(value) && call.grade == Grade::Recovered;
            if turn.calls.iter().any(|call| call.name == name) {
                valid += 1;
            } else if turn.calls.iter().any(within) || RUNS_ON.contains(id) {
                swallowed += 1;
            } else if !TEXT.contains(id) || !turn.text.contains(value) {
                failures.push(format!("{id}: {text:?}"));
            }
        }
    }
    let shown: Vec<_> = failures.iter().take(20).collect();
    assert!(failures.is_empty(), "{}: {shown:#?}", failures.len());
    assert!(valid > 600 && swallowed < 800, "{valid}, {swallowed}");
}
