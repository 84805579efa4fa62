//! Nothing in a turn of another author is a call, in every built-in dialect that names the turns of others: after each of their
//! openers, with several names where a name follows, alone and in sets of many dialects, under every cut.

use std::collections::BTreeMap;
use std::sync::Arc;

use toolglot::{
    DialectSet, EncodeCall, EncodeOptions, Finish, Options, Parser, Tools, Turn, builtin_files,
    encode,
};

use crate::markers::set;
use crate::support::{ANY, DEFAULTS, cut_turn};

const TOOLS: &str = r#"[{"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}]"#;

/// Names of other authors.
const NAMES: [&str; 6] = ["user", "system", "tool", "critic", "用户", "工具"];

/// Text before the turn.
const BEFORE: [&str; 4] = ["", "That is all.\n", "就这样。", "Done"];

/// Text of the turn before a call in it.
const INSIDE: [&str; 3] = ["", "Now do it:\n", "请再来一次。\n"];

struct Case {
    id: &'static str,
    turn: Vec<String>,
    others: Vec<String>,
    call: String,
}

fn strings(table: &toml::Table, key: &str) -> Vec<String> {
    let list = table.get(key).and_then(|list| list.as_array());
    let list = list.into_iter().flatten();
    list.filter_map(|text| text.as_str().map(str::to_owned))
        .collect()
}

fn cases() -> Vec<Case> {
    let mut out = vec![];
    for (id, file) in builtin_files() {
        let table: toml::Table = file.parse().expect("a dialect file");
        let others = strings(&table, "others");
        if others.is_empty() {
            continue;
        }
        let call = EncodeCall::new("get_weather", r#"{"city":"Köln"}"#);
        let call = encode(&set(id), id, &[call], &EncodeOptions::default());
        out.push(Case {
            id,
            turn: strings(&table, "turn"),
            others,
            call: call.expect("a call"),
        });
    }
    assert!(out.len() > 40, "{} dialects", out.len());
    out
}

impl Case {
    /// The openers of others' turns, and whether a name follows each.
    fn openers(&self) -> Vec<String> {
        let mut out = vec![];
        for other in &self.others {
            let own = self.turn.iter().find_map(|turn| turn.strip_prefix(other));
            match own {
                Some(name) => {
                    let end = name.find(|c: char| !c.is_alphanumeric());
                    let end = end.map_or("\n", |end| &name[end..]);
                    out.extend(NAMES.map(|name| format!("{other}{name}{end}")));
                }
                None => out.push(other.clone()),
            }
        }
        out
    }

    /// The openers of the model's turns, as its templates write them.
    fn own(&self) -> impl Iterator<Item = String> + '_ {
        // One that is a part of another one only ends it.
        let part = |one: &&String| {
            let mut turns = self.turn.iter();
            turns.any(|other| other != *one && other.contains(one.as_str()))
        };
        let whole = self.turn.iter().filter(move |one| !part(one));
        whole.map(|turn| match turn.ends_with(char::is_alphanumeric) {
            true => format!("{turn}\n"),
            false => turn.clone(),
        })
    }
}

fn read(set: &DialectSet, text: &str) -> Turn {
    let parser = || {
        let mut options = Options::default();
        options.tools = Some(Arc::new(Tools::from_json(TOOLS).expect("tools")));
        Parser::new(set, options)
    };
    cut_turn(parser, text, Finish::Stop)
}

#[test]
fn turns_of_others_give_no_call() {
    let mut failures = vec![];
    for case in cases() {
        let own = &set(case.id);
        let many = [DEFAULTS.clone(), ANY.clone()];
        for opener in case.openers() {
            // An opener that is not a tag is looked for only if the application has chosen the dialect.
            let tag = opener.starts_with('<');
            for (n, before) in BEFORE.iter().enumerate() {
                let inside = INSIDE[n % INSIDE.len()];
                let text = format!("{before}{opener}{inside}{}", case.call);
                let has = |set: &&DialectSet| set.dialects().any(|one| one.id() == case.id);
                let sets = many.iter().filter(|set| tag && n == 0 && has(set));
                for set in std::iter::once(own).chain(sets) {
                    let turn = read(set, &text);
                    if !turn.calls.is_empty() {
                        failures.push(format!("{}: {text:?}", case.id));
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn the_models_next_turn_gives_calls_again() {
    let mut failures = BTreeMap::new();
    for case in cases() {
        // Bare calls open only where a reply begins.
        if case.call.starts_with(['{', '[']) {
            continue;
        }
        for opener in case.openers() {
            for own in case.own() {
                let text = format!("{opener}Hi.\n{own}{}", case.call);
                let turn = read(&set(case.id), &text);
                if turn.calls.len() != 1 {
                    failures.insert(case.id, text);
                }
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn a_mention_leaves_the_models_turn() {
    let mut failures = BTreeMap::new();
    for case in cases() {
        if case.call.starts_with(['{', '[']) {
            continue;
        }
        for opener in case.openers() {
            let opener = opener.trim_end();
            for text in [
                format!("A turn begins with \"{opener}\" here.\n"),
                format!("写作“{opener}”即可。\n"),
                format!("The token {opener} is written before it.\n"),
                format!("```text\n{opener}\nHi.\n```\n"),
            ] {
                let text = text + &case.call;
                let turn = read(&set(case.id), &text);
                if turn.calls.len() != 1 {
                    failures.insert(case.id, text);
                }
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}
