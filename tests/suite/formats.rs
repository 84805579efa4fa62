//! `docs/FORMATS.md` against the dialects: every dialect has an entry, the entry's facts are those of the file, and its
//! example is read as it says.

use std::collections::BTreeMap;
use std::sync::Arc;

use toolglot::{
    Dialect, DialectSet, EncodeCall, EncodeOptions, Finish, Options, Report, Severity, Tools, Turn,
    builtin_files, parse,
};

use crate::pages::page;
use crate::support::root;

/// Dialects whose rules are in `docs/DIALECTS.md`.
const ELSEWHERE: [&str; 6] = [
    "tam",
    "tam2",
    "vcp",
    "tool-call-xml",
    "action",
    "tool-action",
];

const TOOLS: &str = r#"[
    {"name": "open_gate", "parameters": {"type": "object", "properties": {
        "gate": {"type": "string"}, "minutes": {"type": "integer"}, "note": {"type": "string"}}}},
    {"name": "shell", "parameters": {"type": "object"}}
]"#;

/// One entry of the page.
#[derive(Default)]
struct Entry {
    example: String,
}

/// The entries by id.
fn entries() -> BTreeMap<String, Entry> {
    let page = std::fs::read_to_string(root().join("docs/FORMATS.md")).expect("the page");
    let mut out = BTreeMap::new();
    let mut id = String::new();
    let mut fence: Option<&str> = None;
    for line in page.lines() {
        let entry: &mut Entry = out.entry(id.clone()).or_default();
        if let Some(open) = fence {
            if line == open {
                fence = None;
            } else {
                entry.example.push_str(line);
                entry.example.push('\n');
            }
        } else if let Some(ticks) = line.strip_suffix("text").filter(|t| t.starts_with("```")) {
            fence = Some(ticks);
        } else if let Some(name) = line.strip_prefix("### ") {
            id = name.trim_matches('`').to_owned();
        }
    }
    out.remove("");
    out
}

fn facts(dialect: &Dialect) -> Vec<String> {
    let code = |name: &String| format!("`{name}`");
    let names: Vec<String> = dialect.aliases().iter().map(code).collect();
    let aliases = (!names.is_empty()).then(|| format!("* aliases: {}", names.join(", ")));
    let default = if dialect.in_default_set() {
        "yes"
    } else {
        "no"
    };
    let group = dialect.group().map(|group| format!("; group `{group}`"));
    let mut out: Vec<String> = aliases.into_iter().collect();
    out.push(format!("* written by: {}", dialect.models().join(", ")));
    out.push(format!(
        "* default set: {default}{}",
        group.unwrap_or_default()
    ));
    out.push(format!("* source: {}", dialect.sources().join("; ")));
    out
}

#[test]
fn every_dialect_has_an_entry() {
    let entries = entries();
    for id in entries.keys() {
        let known = builtin_files().iter().any(|(have, _)| have == id);
        assert!(known, "docs/FORMATS.md: there is no dialect {id}");
    }
    for (id, _) in builtin_files() {
        let there = entries.contains_key(*id) || ELSEWHERE.contains(id);
        assert!(there, "docs/FORMATS.md lacks {id}, run ci/pages.sh");
    }
}

/// What the calls of a dialect look like: its payload, else its family.
fn shape(id: &str) -> String {
    let set = DialectSet::builtin(id).expect("a built-in dialect");
    let dialect = set.dialects().next().expect("one dialect");
    let (_, text) = builtin_files()
        .iter()
        .find(|(have, _)| *have == id)
        .expect("its file");
    let file: toml::Table = text.parse().expect("a built-in file");
    let units = file.get("framed").and_then(|framed| framed.get("unit"));
    let payload = units.and_then(|units| units.get(0)?.get("payload")?.as_str());
    payload.unwrap_or(dialect.family()).to_owned()
}

/// The page with an entry for each dialect that it lacks, after the last one of the same shape.
fn with_missing_entries(page: &str) -> String {
    let mut parts: Vec<String> = page.split("\n### `").map(str::to_owned).collect();
    let known = entries();
    for (id, _) in builtin_files() {
        if known.contains_key(*id) || ELSEWHERE.contains(id) {
            continue;
        }
        let of_shape = |part: &String| {
            let (have, _) = part.split_once('`').unwrap_or_default();
            known.contains_key(have) && shape(have) == shape(id)
        };
        let after = parts.iter().rposition(of_shape).unwrap_or(parts.len() - 1);
        let entry = new_entry(id);
        // The last entry of a chapter ends with the heading of the next one.
        match parts[after].find("\n## ") {
            Some(heading) => {
                let rest = parts[after].split_off(heading);
                parts.insert(after + 1, entry + &rest);
            }
            None => parts.insert(after + 1, entry),
        }
    }
    parts.join("\n### `")
}

/// The entry of a dialect, from the end of the mark before its id: its title, and a call as it is encoded.
fn new_entry(id: &str) -> String {
    let set = DialectSet::builtin(id).expect("a built-in dialect");
    let title = set.dialects().next().expect("one dialect").title();
    let call = EncodeCall::new("open_gate", r#"{"gate": "north", "minutes": 5}"#);
    let tools = Arc::new(Tools::from_json(TOOLS).expect("tools"));
    let options = EncodeOptions::default().tools(tools);
    let example = toolglot::encode(&set, id, &[call], &options).unwrap_or_else(|why| {
        panic!("docs/FORMATS.md: write the entry of {id} by hand, no call of `open_gate` can be encoded: {why}")
    });
    let fence = if example.contains("```") {
        "````"
    } else {
        "```"
    };
    let example = example.trim_end();
    format!("{id}`\n\n{title}.\n\n* source:\n\n{fence}text\n{example}\n{fence}\n")
}

/// The first list of an entry repeats the dialect's file.
#[test]
fn entries_have_the_facts() {
    page("docs/FORMATS.md", |have| {
        let have = with_missing_entries(have);
        let (head, entries) = have.split_once("\n### `").expect("entries");
        let mut out = vec![head.to_owned()];
        for entry in entries.split("\n### `") {
            let (id, _) = entry.split_once('`').expect("an id");
            let set = DialectSet::builtin(id).expect("a built-in dialect");
            let own = facts(set.dialects().next().expect("one dialect"));
            let is_fact = |line: &str| line.starts_with("* ");
            let lines: Vec<&str> = entry.split('\n').collect();
            let from = lines.iter().position(|line| is_fact(line));
            let from = from.expect("a list of facts");
            let count = lines[from..].iter().take_while(|line| is_fact(line));
            let tail = from + count.count();
            let own = own.iter().map(String::as_str);
            let all = lines[..from].iter().copied().chain(own);
            let all: Vec<&str> = all.chain(lines[tail..].iter().copied()).collect();
            out.push(all.join("\n"));
        }
        out.join("\n### `")
    });
}

#[test]
fn every_example_is_read_as_its_dialect() {
    let mut options = Options::default();
    options.tools = Some(Arc::new(Tools::from_json(TOOLS).expect("tools")));
    let mut failures = vec![];
    for (id, entry) in entries() {
        assert!(entry.example.len() > 10, "{id} has no example");
        let set = DialectSet::builtin(&id).expect("a built-in dialect");
        let turn = parse(
            &set,
            options.clone(),
            entry.example.as_bytes(),
            Finish::Stop,
        );
        if !fits(&id, &turn) {
            failures.push(format!("{id}: {:#?}", turn));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Whether an example gives what its entry promises.
fn fits(id: &str, turn: &Turn) -> bool {
    let error = |one: &Report| one.severity == Severity::Error;
    if turn.issues.iter().any(error) {
        return false;
    }
    if id == "reasoning-append-think" {
        return turn.reasoning.is_empty() && !turn.text.is_empty();
    }
    if id.starts_with("reasoning-") {
        return (turn.reasoning.trim(), turn.text.trim())
            == ("It is late.", "The gate stays shut.");
    }
    let tool = if id == "bolt-action" {
        "shell"
    } else {
        "open_gate"
    };
    !turn.calls.is_empty() && turn.calls.iter().all(|call| call.name == tool)
}

#[test]
fn an_alias_names_one_dialect() {
    let mut owners: BTreeMap<String, &str> = BTreeMap::new();
    for (id, _) in builtin_files() {
        let set = DialectSet::builtin(id).expect("a built-in dialect");
        let dialect = set.dialects().next().expect("one dialect");
        for name in std::iter::once(*id).chain(dialect.aliases().iter().map(String::as_str)) {
            let other = owners.insert(name.to_owned(), id);
            assert_eq!(other, None, "`{name}` names {id} too");
        }
    }
}
