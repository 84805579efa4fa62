//! Two calls as every built-in dialect with its own tokens writes them, with each token doubled or left out in turn. Nothing is
//! lost: a call without a slip is valid, one with a slip is text or a call whose grade shows it, and no marker is left in the
//! text around a call.

use std::collections::BTreeMap;

use toolglot::{
    Call, DialectSet, EncodeCall, EncodeOptions, Finish, Grade, Options, Parser, builtin_files,
    encode,
};

use crate::markers::set;
use crate::support::cut_turn;

/// Name and arguments of the calls.
const CALLS: [(&str, &str); 2] = [
    ("get_weather", r#"{"city":"Köln","note":"two 字"}"#),
    ("send_mail", r#"{"to":"Bob"}"#),
];

/// Values that only these calls have.
const VALUES: [&str; 2] = ["Köln", "Bob"];

/// Replacements for a token, represented by `@`.
const SLIPS: [&str; 6] = ["@@", "@ @", "@\n@", "@@@", "", " "];

/// Dialects whose markers consist of several tokens, or whose tokens follow one another: a surplus token is not a marker, and
/// stays in the text or in the value where it is.
const SEVERAL: [&str; 3] = ["inkling", "kimi-k3", "minimax-m3"];

fn written(id: &str, own: &DialectSet) -> Option<String> {
    let calls = CALLS.map(|(name, arguments)| EncodeCall::new(name, arguments));
    encode(own, id, &calls, &EncodeOptions::default()).ok()
}

/// The positions of tokens in a text: of anything spelled like a token or like a tag.
fn tokens(text: &str) -> Vec<(usize, usize)> {
    let mut out = vec![];
    let mut from = 0;
    while let Some(at) = text[from..].find(['<', '[']) {
        let start = from + at;
        let close = if text[start..].starts_with('<') {
            '>'
        } else {
            ']'
        };
        let inside = |c: char| c.is_alphanumeric() || "_|｜/▁:-~#= \"".contains(c);
        let len = text[start + 1..].find(|c| !inside(c));
        let end = len.map(|len| start + 1 + len);
        match end {
            Some(end) if text[end..].starts_with(close) && end > start + 2 => {
                out.push((start, end + 1));
                from = end + 1;
            }
            _ => from = start + 1,
        }
    }
    out
}

/// Whether it is that call; a value may keep `kept` and the adjacent blanks.
fn is(call: &Call, (name, arguments): (&str, &str), kept: Option<&str>) -> bool {
    let bare =
        |text: &str| kept.map(|kept| text.replace(kept, "").replace(r"\n", "").replace(' ', ""));
    let value =
        |text: &str| toolglot_testkit::vectors::value(&bare(text).unwrap_or(text.into())).ok();
    call.name == name && value(&call.arguments) == value(arguments)
}

/// What is wrong with the result for a text with a slip. `harmed` are the calls that the slip may affect, `kept` is what a
/// surplus marker may leave.
fn wrong(own: &DialectSet, text: &str, harmed: [bool; 2], kept: Option<&str>) -> Option<String> {
    let parser = || Parser::new(own, Options::default());
    let turn = cut_turn(parser, text, Finish::Stop);
    if turn.text == text {
        return None;
    }
    let said: Vec<_> = turn.calls.iter().map(|c| (&c.name, c.grade)).collect();
    let whole = |call: &Call| CALLS.iter().any(|one| is(call, *one, kept));
    let sure = |call: &&Call| call.grade != Grade::Recovered;
    let told = || format!("{said:?} beside {:?}", turn.text);
    if let Some(call) = turn.calls.iter().filter(sure).find(|call| !whole(call)) {
        return Some(format!("{} {} is neither call", call.name, call.arguments));
    }
    let mut back = false;
    // What is dropped as broken is reported.
    let hidden = !turn.not_delivered.dropped.is_empty();
    for ((one, value), harmed) in CALLS.into_iter().zip(VALUES).zip(harmed) {
        let stands = turn
            .calls
            .iter()
            .filter(sure)
            .any(|call| is(call, one, kept));
        let some = turn.calls.iter().any(|call| call.name == one.0);
        // A value without its closer continues over the next call.
        let inside = |call: &Call| !sure(&call) && call.arguments.contains(value);
        let text = turn.text.contains(value) || turn.calls.iter().any(inside);
        back |= text;
        if !stands && !text && !(harmed && (some || hidden)) {
            return Some(format!("{} is lost: {}", one.0, told()));
        }
        if !stands && !harmed && !turn.calls.is_empty() {
            return Some(format!("{} is harmed: {}", one.0, told()));
        }
    }
    // What is returned as text keeps its own markers.
    if !back && kept.is_none() && !tokens(&turn.text).is_empty() {
        return Some(format!("a marker leaks: {}", told()));
    }
    None
}

#[test]
fn a_surplus_or_missing_token_loses_nothing() {
    let mut failures: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut tried = 0;
    for (id, _) in builtin_files() {
        let own = set(id);
        let framed = own.dialects().any(|dialect| dialect.family() == "framed");
        let Some(text) = written(id, &own).filter(|_| framed) else {
            continue;
        };
        let second = text.find(CALLS[1].0).unwrap_or(text.len());
        let first = text.find(CALLS[0].0).unwrap_or(0);
        for (start, end) in tokens(&text) {
            for slip in SLIPS {
                tried += 1;
                let token = &text[start..end];
                let slipped = slip.replace('@', token);
                let text = format!("{}{slipped}{}", &text[..start], &text[end..]);
                // Tokens between the names may belong to either call.
                let harmed = [start < second, end > first];
                let kept = SEVERAL.contains(id).then_some(token);
                if let Some(why) = wrong(&own, &text, harmed, kept) {
                    failures
                        .entry(id)
                        .or_default()
                        .push(format!("{slip:?}: {text:?}: {why}"));
                }
            }
        }
    }
    assert!(tried > 1000, "{tried}");
    let count: usize = failures.values().map(Vec::len).sum();
    let lines = failures.iter().flat_map(|(id, all)| {
        let few = all.iter().take(3).map(move |one| format!("{id}: {one}"));
        few.chain([format!("{id}: {}", all.len())])
    });
    assert!(
        count == 0,
        "{count} of {tried}:\n{}",
        lines.collect::<Vec<_>>().join("\n")
    );
}
