//! Openers that an open thought only mentions, in every built-in dialect whose calls end thoughts; and the thought's own
//! opener, given by the prompt and repeated by the model.

use std::collections::BTreeMap;
use std::sync::Arc;

use toolglot::{Dialect, DialectSet, Finish, Options, Parser, Start, Tools, Turn, builtin_files};

use crate::markers::set;
use crate::openers::CALLS;
use crate::support::{none_wrong, says_the_same, turn_of};

/// Thoughts that mention a section's opener, represented by `@`, before what looks like its call, represented by `#`.
const SPOKEN: [&str; 8] = [
    "I could use `@` like:\n#\nand so on.",
    "Calls begin with @ and then\n\n#\nfollows.",
    "我会用 @\n#\n这样就行。",
    "Use \"@\"\n#\nfor that.",
    "```\n@\n```\nthen\n#\n",
    "模型写“@”，\n  #",
    "In the middle @\n#",
    "(@)\n#\n#\n",
];

fn read(set: &DialectSet, text: &str, step: usize) -> Turn {
    let parser = Parser::new(set, Options::default());
    turn_of(parser, text.as_bytes().chunks(step), Finish::Stop)
}

/// A dialect whose calls end thoughts: the thought's markers, a section's opener, what follows it in a call, and the call.
struct Spoken {
    id: &'static str,
    open: String,
    close: String,
    section: String,
    inner: &'static str,
    call: &'static str,
}

fn spoken() -> Vec<Spoken> {
    let mut all = vec![];
    for (id, file) in builtin_files() {
        let file: toml::Table = toml::from_str(file).expect("a dialect file");
        let ends = file.get("ends_thought").and_then(toml::Value::as_bool);
        let own = set(id);
        let Some(dialect) = own.dialects().find(|dialect| dialect.id() == *id) else {
            continue;
        };
        let (open, close) = (dialect.reasoning_openers(), dialect.reasoning_closers());
        let (Some(open), Some(close), Some(call)) = (open.first(), close.first(), CALLS.get(id))
        else {
            continue;
        };
        let openers = dialect.openers();
        let longest = openers.iter().filter(|o| call.starts_with(o.as_str()));
        let Some(section) = longest.max_by_key(|opener| opener.len()) else {
            continue;
        };
        let inner = call[section.len()..].trim_start();
        let alone = read(&own, &format!("{open}a word\n{inner}"), 4096);
        if ends == Some(true) && !alone.calls.is_empty() {
            all.push(Spoken {
                id,
                open: open.clone(),
                close: close.clone(),
                section: section.clone(),
                inner,
                call,
            });
        }
    }
    let ids: Vec<_> = all.iter().map(|one| one.id).collect();
    assert!(all.len() > 3, "{ids:?}");
    all
}

#[test]
fn a_call_of_a_mentioned_section_is_part_of_the_thought() {
    let many = [set("default")];
    let mut failures: BTreeMap<String, String> = BTreeMap::new();
    for one in spoken() {
        let own = set(one.id);
        for set in [&own].into_iter().chain(&many) {
            // An opener that a dialect lists ends a thought wherever its call follows.
            let listed = |sentence: &&str| {
                let ends = |(_, file): &(&str, &str)| {
                    let lists = file.lines().filter(|line| line.starts_with("ended_by"));
                    let mut lists = lists.filter(|line| line.contains(&one.section));
                    lists.next().is_some()
                };
                sentence.contains("@\n#") && builtin_files().iter().any(ends)
            };
            for sentence in SPOKEN.iter().filter(|sentence| !listed(sentence)) {
                let thought = sentence.replace('@', &one.section).replace('#', one.inner);
                let text = format!("{}{thought}{}Done.", one.open, one.close);
                let turn = read(set, &text, 4096);
                if !turn.calls.is_empty() || turn.reasoning != thought || turn.text != "Done." {
                    failures.insert(format!("{} {text:?}", one.id), format!("{turn:?}"));
                }
                if std::ptr::eq(set, &own) && read(set, &text, 1) != turn {
                    failures.insert(format!("{} {text:?} in bytes", one.id), String::new());
                }
                // The call itself still ends the thought, or comes after it.
                for glue in ["\n".to_owned(), format!("{}\n", one.close)] {
                    let both = format!("{}{thought}{glue}{}", one.open, one.call);
                    let calls = read(set, &both, 4096).calls.len();
                    if calls != read(set, one.call, 4096).calls.len() {
                        failures.insert(format!("{} {both:?}", one.id), format!("{calls} calls"));
                    }
                }
            }
        }
    }
    let some: Vec<_> = failures.iter().take(12).collect();
    assert!(failures.is_empty(), "{}: {some:#?}", failures.len());
}

/// An opener as models repeat it: with blanks or attributes in it, where its syntax allows them.
fn repeated(open: &str) -> Vec<String> {
    let end = match open {
        _ if open.starts_with("<|") => open.rfind("<|").filter(|at| *at > 0),
        _ if open.contains('｜') || open.contains("|>") => None,
        _ => open
            .rfind('>')
            .filter(|_| open.starts_with('<') && !open.starts_with("<|")),
    };
    let loose = end.into_iter().flat_map(|at| {
        let slips = [" ", "\n", " class=\"a\"", "\n\tid='2 > 1' index=3 "];
        slips.map(|slip| format!("{}{slip}{}", &open[..at], &open[at..]))
    });
    std::iter::once(open.to_owned()).chain(loose).collect()
}

#[test]
fn an_opener_given_by_the_prompt_is_framing_in_any_spelling() {
    let (mut tried, mut failures) = (0, vec![]);
    for (id, _) in builtin_files() {
        let own = set(id);
        let Some(dialect) = own.dialects().find(|dialect| dialect.id() == *id) else {
            continue;
        };
        let (open, close) = (dialect.reasoning_openers(), dialect.reasoning_closers());
        let (Some(open), Some(close)) = (open.first(), close.first()) else {
            continue;
        };
        let mut options = Options::default();
        options.start = Start::Reasoning;
        let read = |text: &str, step: usize| {
            let parser = Parser::new(&own, options.clone());
            turn_of(parser, text.as_bytes().chunks(step), Finish::Stop)
        };
        // Other dialects would read a label, or another opener.
        let plain = read(&format!("{open}想 a{close}Hi"), 4096);
        if plain.reasoning != "想 a" || plain.text != "Hi" {
            continue;
        }
        for again in repeated(open) {
            for before in ["", "\n", " "] {
                tried += 1;
                let text = format!("{before}{again}想 a{close}Hi");
                let turn = read(&text, text.len());
                if turn.reasoning.trim() != "想 a" || turn.text != "Hi" {
                    failures.push(format!("{id}: {text:?}: {turn:?}"));
                }
                let late = format!("想 {again}{close}Hi");
                let turn = read(&late, late.len());
                let nested = turn.reasoning.is_empty() || turn.text != "Hi";
                if !nested && again != *open && !turn.reasoning.contains(&again) {
                    failures.push(format!("{id}: {late:?}: {turn:?}"));
                }
                for text in [&text, &late] {
                    if read(text, 1) != read(text, text.len()) {
                        failures.push(format!("{id}: {text:?} byte by byte"));
                    }
                }
            }
        }
    }
    none_wrong(&failures, tried);
    assert!(tried > 200, "{tried}");
}

#[test]
fn beside_any_dialect_a_forced_thought_begins_the_reply() {
    let opens = |text: &str| text.contains("\nimplicit = true");
    let (mut tried, mut failures) = (0, vec![]);
    for (forced, _) in builtin_files().iter().filter(|(_, text)| opens(text)) {
        let own = set(forced);
        let close = own.dialects().flat_map(Dialect::reasoning_closers).next();
        let text = format!("想 a{}Hi", close.expect("it has one"));
        // Of two such formats the first one counts.
        for (id, _) in builtin_files().iter().filter(|(_, text)| !opens(text)) {
            for ids in [[id, forced], [forced, id]] {
                let builder = DialectSet::builder();
                let Ok(both) = builder.builtin(ids[0]).builtin(ids[1]).build() else {
                    continue;
                };
                tried += 1;
                let parser = Parser::new(&both, Options::default());
                let turn = turn_of(parser, text.as_bytes().chunks(3), Finish::Stop);
                if turn.reasoning != "想 a" || turn.text != "Hi" {
                    failures.push(format!("{ids:?}: {text:?}: {turn:?}"));
                }
            }
        }
    }
    none_wrong(&failures, tried);
    assert!(tried > 300, "{tried}");
}

#[test]
fn in_the_default_set_every_closer_ends_a_thought_of_the_prompt() {
    let (mut tried, mut failures) = (0, vec![]);
    let set = DialectSet::defaults();
    let options = Options::default().start(Start::Reasoning);
    for dialect in set.dialects() {
        for close in dialect.reasoning_closers() {
            // Words, or a token of messages too. VCP's tags are markup of another kind.
            if !close.starts_with(['<', '[', ']']) || close == "<|end|>" || dialect.id() == "vcp" {
                continue;
            }
            for (before, options) in [("想 a", options.clone()), ("", Options::default())] {
                for step in [1, 7, 4096] {
                    tried += 1;
                    let text = format!("{before}{close}Hi");
                    let parser = Parser::new(&set, options.clone());
                    let turn = turn_of(parser, text.as_bytes().chunks(step), Finish::Stop);
                    if turn.reasoning != before || turn.text != "Hi" {
                        failures.push(format!("{}: {text:?} by {step}: {turn:?}", dialect.id()));
                    }
                }
            }
        }
    }
    none_wrong(&failures, tried);
    assert!(tried > 100, "{tried}");
}

#[test]
fn a_reply_begins_where_its_first_thoughts_end() {
    let tools = r#"[{"name": "f", "parameters": {"properties": {"a": {"type": "string"}}}}]"#;
    let mut options = Options::default();
    options.tools = Some(Arc::new(Tools::from_json(tools).expect("tools")));
    let mut tried = 0;
    for (id, file) in builtin_files() {
        let anywhere = r#"bare = { at = "anywhere" }"#;
        if !file.contains(anywhere) || !file.contains("\"$^{\"") {
            continue;
        }
        tried += 1;
        let file = file.replace(anywhere, r#"bare = { at = "start" }"#);
        let both = DialectSet::builder()
            .toml("a file", &file)
            .builtin("reasoning-think")
            .build();
        let both = both.expect("a set");
        let call = r#"{"name": "f", "parameters": {"a": "Oban"}}"#;
        for (before, opens) in [
            ("", true),
            ("<think>hm</think>", true),
            (" \n<think>\n想一想\n</think>\n\n", true),
            ("<think></think><think>b</think>\n", true),
            ("Yes. ", false),
            ("Yes.\n<think>hm</think>\n", false),
            ("<think>hm</think>So: ", false),
        ] {
            let text = format!("{before}{call}");
            let whole = turn_of(
                Parser::new(&both, options.clone()),
                [text.as_bytes()],
                Finish::Stop,
            );
            assert_eq!(whole.calls.len(), usize::from(opens), "{id}: {text}");
            for step in [1, 2, 7] {
                let chunks = text.as_bytes().chunks(step);
                let cut = turn_of(Parser::new(&both, options.clone()), chunks, Finish::Stop);
                assert!(says_the_same(&whole, &cut), "{id}: {text}");
            }
        }
    }
    assert!(tried > 0);
}
