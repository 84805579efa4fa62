//! Two calls as every built-in dialect with tokens of its own writes them, with each of its tokens doubled or left out in turn. Nothing is lost: what
//! has no slip in it stands, what has one is a call that says so or text, and no marker is left in the text around a call.

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

/// What only they hold.
const VALUES: [&str; 2] = ["Köln", "Bob"];

/// What stands in place of a token, which is `@`.
const SLIPS: [&str; 6] = ["@@", "@ @", "@\n@", "@@@", "", " "];

/// Their markers have several tokens each, or are tokens in a row: one of these too many is no marker, and stays in the text or in the value where it
/// stands.
const SEVERAL: [&str; 3] = ["inkling", "kimi-k3", "minimax-m3"];

fn written(id: &str, own: &DialectSet) -> Option<String> {
    let calls = CALLS.map(|(name, arguments)| EncodeCall {
        name: name.to_owned(),
        arguments: arguments.to_owned(),
        id: None,
    });
    encode(own, id, &calls, &EncodeOptions::default()).ok()
}

/// Where tokens stand in a text: what is spelled like one, or like a tag.
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

/// Whether it is that call; a value may keep `kept` with the blanks beside it.
fn is(call: &Call, (name, arguments): (&str, &str), kept: Option<&str>) -> bool {
    let bare =
        |text: &str| kept.map(|kept| text.replace(kept, "").replace(r"\n", "").replace(' ', ""));
    let value =
        |text: &str| toolglot_testkit::vectors::value(&bare(text).unwrap_or(text.into())).ok();
    call.name == name && value(&call.arguments) == value(arguments)
}

/// What is wrong with how a text with a slip in it is read; `harmed` are the calls that it may harm, `kept` is what a marker too many may leave behind.
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
        return Some(format!(
            "{} {} is no call of both",
            call.name, call.arguments
        ));
    }
    let mut back = false;
    // What is hidden as broken is told.
    let hidden = !turn.not_delivered.dropped.is_empty();
    for ((one, value), harmed) in CALLS.into_iter().zip(VALUES).zip(harmed) {
        let stands = turn
            .calls
            .iter()
            .filter(sure)
            .any(|call| is(call, one, kept));
        let some = turn.calls.iter().any(|call| call.name == one.0);
        // A value without its closer goes on over the next call.
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
    // What comes back as text holds its own markers.
    if !back && kept.is_none() && !tokens(&turn.text).is_empty() {
        return Some(format!("a marker leaks: {}", told()));
    }
    None
}

#[test]
fn a_token_too_many_or_too_few_loses_nothing() {
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
                // Tokens between the names may be the first call's or the second's.
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
