//! A turn that ends where only closers of a call are missing: the end of turn changes nothing of what the end of the stream gives.

use std::sync::Arc;

use toolglot::{
    DialectSet, EncodeCall, EncodeOptions, Finish, Options, Parser, Tools, Turn, builtin_files,
    encode, layer,
};

use crate::support::{cut_turn, none_wrong};

const TOOLS: &str = r#"[
    {"name": "look", "parameters": {"properties": {"at": {"type": "string"}}}},
    {"name": "查", "parameters": {"properties": {"城": {"type": "string"}}}}
]"#;

const CALLS: [(&str, &str); 2] = [("look", r#"{"at":"Leith"}"#), ("查", r#"{"城":"京"}"#)];

/// Name and arguments of the calls.
fn calls(turn: &Turn) -> Vec<(String, String)> {
    let call = |call: &toolglot::Call| (call.name.clone(), call.arguments.clone());
    turn.calls.iter().map(call).collect()
}

/// The closers of calls and sections, without blanks and suffixes in them.
fn closers(spec: &layer::Spec) -> Vec<String> {
    let framed = spec.framed.iter();
    let of = |framed: &layer::Framed| -> Vec<String> {
        let section = framed.section.iter().flat_map(|section| &section.close);
        let units = framed.unit.iter().flat_map(|unit| &unit.close);
        section
            .chain(units)
            .map(|close| close.replace("$_", "").replace("$x", ""))
            .collect()
    };
    framed.flat_map(of).collect()
}

#[test]
fn the_end_of_a_turn_is_as_good_as_that_of_the_stream() {
    let tools = Arc::new(Tools::from_json(TOOLS).expect("tools"));
    let (mut tried, mut wrong) = (0, vec![]);
    for (id, _) in builtin_files() {
        let set = DialectSet::builtin(id).expect("a built-in set");
        let dialect = set.dialects().next().expect("a dialect");
        let spec = layer::spec(dialect);
        // A token that begins a turn, or a message, decides about what follows.
        let begins = |token: &&String| {
            let turns = spec.turn.iter().chain(&spec.others);
            turns
                .chain(&spec.messages)
                .any(|turn| token.starts_with(turn.as_str()))
        };
        let tokens: Vec<_> = spec.framing.iter().filter(|token| !begins(token)).collect();
        let closers = closers(spec);
        let mut options = Options::default();
        options.tools = Some(Arc::clone(&tools));
        let parser = || Parser::new(&set, options.clone());
        for (name, arguments) in CALLS {
            let mut encoding = EncodeOptions::default();
            encoding.tools = Some(Arc::clone(&tools));
            let Ok(text) = encode(&set, id, &[EncodeCall::new(name, arguments)], &encoding) else {
                continue;
            };
            for (at, _) in text.char_indices().rev() {
                let (begun, rest) = text.split_at(at);
                let stopped = cut_turn(parser, begun, Finish::Stop);
                if stopped.calls.len() != 1 || !stopped.text.trim().is_empty() {
                    break;
                }
                // Half a closer is another matter.
                let half = |close: &String| {
                    let mut lens = close.char_indices().map(|(len, _)| len).skip(1);
                    lens.any(|len| {
                        begun.ends_with(&close[..len]) && rest.starts_with(&close[len..])
                    })
                };
                if closers.iter().any(half) {
                    continue;
                }
                for token in &tokens {
                    let ended = cut_turn(parser, &format!("{begun}{token}"), Finish::Stop);
                    tried += 1;
                    if calls(&ended) != calls(&stopped) || !ended.text.trim().is_empty() {
                        let said = (ended.text, ended.calls.len());
                        wrong.push(format!("{id}: {begun:?} and {token}: {said:?}"));
                    }
                }
            }
        }
    }
    none_wrong(&wrong, tried);
    assert!(tried > 500, "{tried}");
}
