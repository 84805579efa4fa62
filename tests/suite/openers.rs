//! Every opener of every built-in dialect, mentioned in twenty ways: it is text, whatever else is in the set, and a real call
//! after it is valid. An opener that is repeated before a call belongs to that call.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use toolglot::{DialectSet, Finish, Grade, Kind, Options, Parser, Turn, builtin_files, parse};

use crate::markers::{self, Does, MARKERS, filled, set};
use crate::support::{VECTORS, turn_of};

/// Sentences about a marker, represented by `@`.
pub const SENTENCES: [&str; 20] = [
    "Models write @ before a call.",
    "A block opens with @. Then the fields follow.",
    "The marker is `@`. A second paragraph follows.\n\nIt goes on for a while.",
    "A \"@\" mark, and nothing behind it.",
    "Some write '@' and others do not.",
    "In a list:\n- @\n- another item\n",
    "标记是 @。后面是正文，还有很多字。",
    "模型用“@”开始调用，然后写参数。",
    "「@」是一个标记。它不是调用。",
    "用 `@` 开头，第二段在这里。",
    "(@) stands in brackets [@] and once more: @, that is all.",
    "@ begins this sentence, and it goes on.",
    "# @\n\nA heading names it.\n",
    "| marker | @ |\n|---|---|\n| closer | none |\n",
    "> quoted: @ and so on\n",
    "It ends with @",
    "It ends with `@`",
    "Two of them: @ @ and then text.",
    "```text\n@ in a code block\n```\nand text behind it.",
    "What does @ mean? It means that 3 < 4 and {x} is [a, b] or (c).",
];

/// For each dialect, an input that is exactly one call.
pub static CALLS: LazyLock<BTreeMap<&'static str, &'static str>> = LazyLock::new(|| {
    let mut out = BTreeMap::new();
    for vector in VECTORS.iter() {
        let plain = vector.tools.is_none() && vector.native_tool_calls.is_none();
        let Ok(input) = std::str::from_utf8(&vector.input) else {
            continue;
        };
        if !plain || out.contains_key(vector.dialect.as_str()) {
            continue;
        }
        let turn = read(&set(&vector.dialect), input);
        // A continuation of the prompt's header works only at the start of a reply.
        let whole =
            !input.starts_with(' ') && turn.text.trim().is_empty() && turn.issues.is_empty();
        if whole && turn.calls.len() == 1 && turn.reasoning.is_empty() {
            out.insert(vector.dialect.as_str(), input);
        }
    }
    out
});

fn read(set: &DialectSet, input: &str) -> Turn {
    parse(set, Options::default(), input.as_bytes(), Finish::Stop)
}

fn names(turn: &Turn) -> Vec<&str> {
    turn.calls.iter().map(|call| call.name.as_str()).collect()
}

#[test]
fn mentioned_openers_are_text() {
    let many = [set("default"), set("all")];
    let mut failures = vec![];
    let mut tried = 0;
    for (id, _) in builtin_files() {
        let own = set(id);
        let ends = MARKERS.iter().filter(|marker| marker.dialect == *id);
        let ends = ends.filter(|marker| marker.does == Does::Inner);
        let header: Vec<String> = ends.map(|marker| marker.text.clone()).collect();
        let turns = markers::turns(id);
        let openers = own.dialects().flat_map(|dialect| dialect.openers());
        for opener in openers.collect::<Vec<_>>() {
            for set in many.iter().chain([&own]) {
                for sentence in SENTENCES {
                    // A header of a single marker counts where a reply or a line begins.
                    let line =
                        header.contains(&opener) || own.dialects().any(|d| d.family() == "line");
                    let begins = sentence.trim_start_matches(['#', ' ']).starts_with('@')
                        || sentence.contains("\n@");
                    // The opener of a turn is not text at either end of a reply.
                    let edge = turns.contains(&opener)
                        && (sentence.starts_with('@') || sentence.ends_with('@'));
                    if line && begins || edge {
                        continue;
                    }
                    tried += 1;
                    let text = sentence.replace('@', &opener);
                    let turn = read(set, &text);
                    if turn.text != text || !turn.calls.is_empty() {
                        let kinds: Vec<_> = turn.issues.iter().map(|e| e.kind).collect();
                        failures.push(format!("{id}: {text:?} is {:?} {kinds:?}", turn.text));
                    }
                    let Some(call) = CALLS.get(id).filter(|_| !sentence.contains("```")) else {
                        continue;
                    };
                    let whole = read(set, call);
                    let both = format!("{text} Now:\n{call}");
                    let turn = read(set, &both);
                    let begins = turn.text.starts_with(&text);
                    if !whole.calls.is_empty() && (names(&turn) != names(&whole) || !begins) {
                        let kinds: Vec<_> = turn.issues.iter().map(|e| e.kind).collect();
                        failures.push(format!(
                            "{id}: the call in {both:?} is {:?} beside {:?} {kinds:?}",
                            names(&turn),
                            turn.text
                        ));
                    }
                }
            }
        }
    }
    assert!(tried > 5000, "{tried}");
    assert!(CALLS.len() > 50, "calls of {} dialects", CALLS.len());
    let count = failures.len();
    // A few of each dialect.
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    failures.retain(|failure| {
        let id = failure.split(':').next().unwrap_or_default();
        let of = seen.entry(id.to_owned()).or_default();
        *of += 1;
        *of < 6
    });
    assert!(count == 0, "{count} of {tried}:\n{}", failures.join("\n"));
}

/// The openers of thoughts and protected regions of a dialect, and whether they count in the middle of a line.
fn regions(file: &str) -> Vec<(String, bool)> {
    let table: toml::Table = toml::from_str(file).expect("a built-in file");
    let list = |key| table.get(key).and_then(toml::Value::as_array);
    let all = ["reasoning", "span"].into_iter().filter_map(list).flatten();
    let mut out = vec![];
    for region in all.filter_map(toml::Value::as_table) {
        if region.get("implicit").is_some() {
            // The stream begins inside it.
            continue;
        }
        let anywhere = region.get("at").and_then(toml::Value::as_str) == Some("anywhere");
        let open = &region["open"];
        let one = open.as_str().into_iter();
        let many = open.as_array().into_iter().flatten();
        let opens = one.chain(many.filter_map(toml::Value::as_str));
        out.extend(opens.map(|open| (open.to_owned(), anywhere)));
    }
    out
}

/// Openers of thoughts and protected regions, and openers of calls followed by that of a parameter whose value may be any text.
#[test]
fn mentioned_openers_of_arbitrary_text_are_text() {
    let many = [set("default"), set("all")];
    let quotes = ["`@`", "\"@\"", "“@”", "「@」"];
    let quoted = |sentence: &&&str| quotes.iter().any(|quote| sentence.contains(quote));
    let begins = |sentence: &str| sentence.starts_with('@') || sentence.contains("\n@");
    let placed = |sentence: &str| begins(sentence) || sentence.contains("- @");
    let (mut tried, mut failures) = (0, vec![]);
    for (id, file) in builtin_files() {
        let own = set(id);
        let mut one = |marker: &str, sentence: &str| {
            let text = sentence.replace('@', marker);
            for set in many.iter().chain([&own]) {
                tried += 1;
                let turn = read(set, &text);
                if turn.text != text || !turn.calls.is_empty() {
                    failures.push(format!("{id}: {text:?} is {:?}", turn.text));
                }
                let Some(call) = CALLS.get(id).filter(|_| !sentence.contains("```")) else {
                    continue;
                };
                let (whole, both) = (read(set, call), format!("{text} Now:\n{call}"));
                let turn = read(set, &both);
                let found = names(&turn) == names(&whole) && turn.text.starts_with(&text);
                if !whole.calls.is_empty() && !found {
                    let calls = names(&turn);
                    failures.push(format!("{id}: {both:?} is {calls:?} in {:?}", turn.text));
                }
            }
        };
        for (open, anywhere) in regions(file) {
            let spoken = SENTENCES.iter().filter(|sentence| !placed(sentence));
            for sentence in spoken.filter(|sentence| !anywhere || quoted(sentence)) {
                one(&open, sentence);
            }
        }
        for opener in with_parameters(file) {
            for sentence in SENTENCES.iter().filter(quoted) {
                one(&opener, sentence);
            }
        }
    }
    assert!(tried > 2000, "{tried}");
    let count = failures.len();
    failures.truncate(40);
    assert!(count == 0, "{count} of {tried}:\n{}", failures.join("\n"));
}

/// The openers of calls of a framed dialect, each followed by that of a parameter.
fn with_parameters(file: &str) -> Vec<String> {
    let table: toml::Table = toml::from_str(file).expect("a built-in file");
    let framed = table.get("framed").and_then(toml::Value::as_table);
    let strings = |table: &toml::Table| -> Vec<String> {
        let list = table.get("open").and_then(toml::Value::as_array);
        let list = list.into_iter().flatten().filter_map(toml::Value::as_str);
        list.map(filled).filter(|open| open.len() > 3).collect()
    };
    let Some(framed) = framed else { return vec![] };
    let params = framed.get("param").and_then(toml::Value::as_table);
    let units = framed["unit"].as_array().into_iter().flatten();
    let units = units.filter_map(toml::Value::as_table);
    let taken = units.filter(|unit| unit["payload"].as_str() == Some("params"));
    let opens: Vec<String> = taken.flat_map(&strings).collect();
    let params: Vec<String> = params.map(strings).unwrap_or_default();
    let pairs = opens.iter().flat_map(|open| {
        let params = params.iter();
        params.map(move |param| format!("{open}{param}"))
    });
    pairs.collect()
}

/// A call truncated anywhere after its opener is a truncated block.
#[test]
fn an_opener_truncated_by_a_length_limit_is_not_text() {
    let many = [set("default"), set("all")];
    let mut failures = vec![];
    let mut tried = 0;
    let cut = |set: &DialectSet, input: &str, finish| {
        parse(set, Options::default(), input.as_bytes(), finish)
    };
    for (id, call) in CALLS.iter() {
        let own = set(id);
        for set in many.iter().chain([&own]) {
            let whole = cut(set, call, Finish::Length);
            let openers = own.dialects().flat_map(|dialect| dialect.openers());
            // A word alone is not yet a marker.
            let word = |opener: &String| opener.bytes().all(|b| b.is_ascii_alphanumeric());
            let opener = openers.filter(|opener| opener.len() > 1 && !word(opener));
            let opener = opener.filter(|opener| call.starts_with(opener.as_str()));
            let Some(opener) = opener.max_by_key(String::len) else {
                continue;
            };
            // Dialects that return unclosed blocks as text are not tested here.
            let file = builtin_files().iter().find(|(name, _)| name == id);
            let back = file.is_some_and(|(_, text)| text.contains("unclosed = \"text\""));
            if whole.calls.is_empty() || !whole.text.is_empty() || back {
                continue;
            }
            for at in (opener.len()..call.len()).filter(|at| call.is_char_boundary(*at)) {
                tried += 1;
                let turn = cut(set, &call[..at], Finish::Length);
                if !turn.text.is_empty() {
                    failures.push(format!("{id}: {:?}: {:?}", &call[..at], turn.text));
                }
            }
        }
    }
    assert!(tried > 1000, "{tried}");
    let some: Vec<_> = failures.iter().take(40).collect();
    assert!(failures.is_empty(), "{}: {some:#?}", failures.len());
}

#[test]
fn a_place_where_a_longer_marker_may_begin_is_reported_once() {
    let mut failures = vec![];
    let mut tried = 0;
    for name in ["default", "all", "minicpm5"] {
        let many = set(name);
        let own = |marker: &&crate::markers::Marker| {
            marker.does == Does::Open && (name != "minicpm5" || marker.dialect == name)
        };
        let openers: Vec<&str> = MARKERS
            .iter()
            .filter(own)
            .map(|m| m.text.as_str())
            .collect();
        for long in &openers {
            let begins = |short: &&&str| long.len() > short.len() && long.starts_with(**short);
            for short in openers.iter().filter(begins) {
                let middle = (short.len() + 1..=long.len()).filter(|at| long.is_char_boundary(*at));
                for input in middle.flat_map(|at| {
                    ["", " 和后面", "x y"].map(|rest| format!("a {}{rest}", &long[..at]))
                }) {
                    tried += 1;
                    let turn = read(&many, &input);
                    let here: Vec<Kind> = turn
                        .issues
                        .iter()
                        .filter(|report| report.span.start == 2)
                        .map(|report| report.kind)
                        .collect();
                    if here.len() > 1 && here.contains(&Kind::LookalikeMarker) {
                        failures.push(format!("{name}: {input:?}: {:?}", turn.issues));
                    }
                }
            }
        }
    }
    assert!(tried > 100, "{tried}");
    let count = failures.len();
    failures.truncate(12);
    assert!(count == 0, "{count} of {tried}:\n{}", failures.join("\n"));
}

/// The text between an opener and its repetition.
const BETWEEN: [&str; 4] = ["", "\n", " ", "\r\n\n"];

fn in_pieces(set: &DialectSet, input: &str, cuts: &[usize]) -> Turn {
    let mut from = 0;
    let ends = cuts.iter().copied().chain([input.len()]);
    let pieces = ends.map(|at| &input.as_bytes()[std::mem::replace(&mut from, at)..at]);
    turn_of(Parser::new(set, Options::default()), pieces, Finish::Stop)
}

/// Openers before calls in dialects whose calls begin with a marker, with the dialect's set and the call.
fn opened() -> Vec<(&'static str, DialectSet, String, &'static str)> {
    let mut out = vec![];
    for (id, call) in CALLS.iter() {
        let own = set(id);
        let dialect = own.dialects().next().expect("one");
        let begins = !["framed", "key-quote", "element-tree"].contains(&dialect.family());
        let openers: Vec<String> = own.dialects().flat_map(|d| d.openers()).collect();
        let word = |opener: &String| opener.bytes().all(|b| b.is_ascii_alphanumeric());
        let opener = openers.into_iter().filter(|o| o.len() > 1 && !word(o));
        let opener = opener.filter(|opener| opener.ends_with(['>', ']']) && opener != ">>>");
        let opener = opener.filter(|opener| call.starts_with(opener.as_str()));
        if let Some(opener) = opener
            .max_by_key(String::len)
            .filter(|_| !begins && !markers::has_messages(id))
        {
            out.push((*id, own, opener, *call));
        }
    }
    assert!(out.len() > 25, "{}", out.len());
    out
}

/// The opener is repeated once or twice: all but the last are framing, and the call is repaired, unless they are tokens of the
/// chosen dialect by themselves.
#[test]
fn a_repeated_opener_counts_once() {
    let many = [set("default"), set("all")];
    let mut failures = vec![];
    let mut tried = 0;
    for (id, own, opener, call) in opened() {
        let token = markers::turns(id).contains(&opener);
        for set in many.iter().chain([&own]) {
            let plain = read(set, call);
            if names(&plain) != names(&read(&own, call)) || !plain.issues.is_empty() {
                // Another dialect of the set reads it, or none does.
                continue;
            }
            for between in BETWEEN {
                for before in ["", "好的。\n", "First.\n"] {
                    for times in 1..3 {
                        tried += 1;
                        let more = format!("{opener}{between}").repeat(times);
                        let text = format!("{before}{more}{call}");
                        let turn = in_pieces(set, &text, &[]);
                        let same = turn.calls.len() == plain.calls.len()
                            && turn.calls.iter().zip(&plain.calls).all(|(have, want)| {
                                have.name == want.name
                                    && have.arguments == want.arguments
                                    && (have.grade == Grade::Repaired
                                        || token && std::ptr::eq(set, &own))
                            });
                        let told = turn.issues.iter().all(|e| e.kind == Kind::RepeatedMarker);
                        if !same || !told || turn.text.trim() != before.trim() {
                            let kinds: Vec<_> = turn.issues.iter().map(|e| e.kind).collect();
                            failures.push(format!(
                                "{id} of {}: {text:?} is {:?} beside {:?} {kinds:?}",
                                set.dialects().count(),
                                names(&turn),
                                turn.text
                            ));
                            break;
                        }
                        let bytes: Vec<usize> = (1..text.len()).collect();
                        let alone = std::ptr::eq(set, &own) && times == 1;
                        let cuts = (1..text.len()).map(|at| vec![at]).filter(|_| alone);
                        for cuts in cuts.chain([bytes]) {
                            if in_pieces(set, &text, &cuts) != turn {
                                failures.push(format!("{id}: {text:?} cut at {cuts:?}"));
                            }
                        }
                    }
                }
            }
        }
    }
    assert!(tried > 500, "{tried}");
    let some: Vec<_> = failures.iter().take(40).collect();
    assert!(
        failures.is_empty(),
        "{} of {tried}: {some:#?}",
        failures.len()
    );
}

/// Without a following call it is a mention, however often it is repeated.
#[test]
fn a_repeated_opener_that_opens_nothing_is_text() {
    let many = [set("default"), set("all")];
    let mut failures = vec![];
    for (id, own, opener, call) in opened() {
        // An opener that is also a token is framing where the host chose its dialect.
        let token = markers::turns(id).contains(&opener);
        for set in many.iter().chain(Some(&own).filter(|_| !token)) {
            for between in BETWEEN {
                for rest in ["", " 和正文。", "\nand text.", "x", "`"] {
                    for before in ["", "标记：", "\""] {
                        let more = format!("{opener}{between}").repeat(2);
                        let text = format!("{before}{more}{opener}{rest}");
                        let turn = in_pieces(set, &text, &[]);
                        let bytes: Vec<usize> = (1..text.len()).collect();
                        if turn.text != text || !turn.calls.is_empty() {
                            failures.push(format!("{id}: {text:?}: {turn:?}"));
                        }
                        if in_pieces(set, &text, &bytes) != turn {
                            failures.push(format!("{id}: {text:?} in pieces"));
                        }
                        // A mention does not affect the call after it.
                        let both = format!("{text} so\n{call}");
                        let plain = read(set, call);
                        let turn = read(set, &both);
                        if !plain.calls.is_empty() && names(&turn) != names(&plain) {
                            failures.push(format!("{id}: {both:?}: {:?}", names(&turn)));
                        }
                    }
                }
            }
        }
    }
    let some: Vec<_> = failures.iter().take(40).collect();
    assert!(failures.is_empty(), "{}: {some:#?}", failures.len());
}
