//! Parts of files that describe the library: they are compared with it or, with `TOOLGLOT_WRITE=1` in the
//! environment (`ci/pages.sh`), rewritten.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use toolglot::{DialectSet, Event, Finish, Options, Parser, builtin_files};

use crate::markers::filled;
use crate::support::root;

/// Checks or writes a file of the repository.
pub fn page(name: &str, made: impl FnOnce(&str) -> String) {
    let path = root().join(name);
    let have = fs::read_to_string(&path).unwrap_or_else(|why| panic!("{name}: {why}"));
    let wanted = made(&have);
    if std::env::var_os("TOOLGLOT_WRITE").is_some() {
        fs::write(&path, wanted).expect("the page can be written");
    } else {
        let differs = have.lines().zip(wanted.lines()).find(|(a, b)| a != b);
        assert!(
            have == wanted,
            "{name} is stale, run ci/pages.sh: {differs:?}"
        );
    }
}

/// Checks or writes the part of a page between `<!-- MARK:begin -->` and `<!-- MARK:end -->`.
pub fn part(name: &str, mark: &str, text: &str) {
    page(name, |have| {
        let (begin, end) = (
            format!("<!-- {mark}:begin -->\n"),
            format!("<!-- {mark}:end -->"),
        );
        let lacks = |line: &str| -> ! { panic!("{name} lacks the line {}", line.trim_end()) };
        let (head, rest) = have.split_once(&begin).unwrap_or_else(|| lacks(&begin));
        let (_, tail) = rest.split_once(&end).unwrap_or_else(|| lacks(&end));
        [head, &begin, text, &end, tail].concat()
    });
}

/// A code span, in a cell of a table.
fn code(text: &str) -> String {
    let text = text.replace('|', "\\|");
    match text.contains('`') {
        true => format!("```` {text} ````"),
        false => format!("`{text}`"),
    }
}

#[test]
fn the_number_of_dialects() {
    let default = DialectSet::defaults().dialects().count();
    let all = builtin_files().len();
    let text = format!("{all} dialects are built in; {default} of them are the default set.\n");
    part("README.md", "counts", &text);
    part("docs/FORMATS.md", "counts", &text);
}

#[test]
fn the_table_of_dialects() {
    let mut table =
        String::from("| id | family | opens with | default | title |\n|---|---|---|---|---|\n");
    for (id, _) in builtin_files() {
        let set = DialectSet::builtin(id).expect("a built-in dialect");
        let dialect = set.dialects().next().expect("one dialect");
        let mut opens: Vec<String> = dialect.openers().iter().map(|open| code(open)).collect();
        // Of many spellings the first few are enough.
        if opens.len() > 6 {
            opens.truncate(5);
            opens.push("..".to_owned());
        }
        let _ = writeln!(
            table,
            "| `{id}` | {} | {} | {} | {} |",
            dialect.family(),
            opens.join(" "),
            ["no", "yes"][usize::from(dialect.in_default_set())],
            dialect.title()
        );
    }
    part("docs/FORMATS.md", "dialects", &table);
}

const REPLY: [&str; 6] = [
    "Let me look. <too",
    "l_call>\n{\"name\": \"wea",
    "ther\", \"arguments\": {\"ci",
    "ty\": \"Lei",
    "th\"}}\n</tool_call",
    ">\nDone.",
];

#[test]
fn a_stream_as_it_is_read() {
    let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
    let mut out = String::from("```text\nthe model writes             your application gets\n");
    for (number, chunk) in REPLY.iter().enumerate() {
        let (mut says, mut arguments) = (vec![], String::new());
        let mut sink = |event: Event<'_>| match event {
            Event::Text { data, .. } => {
                says.push(format!("text {:?}", String::from_utf8_lossy(data)));
            }
            Event::CallOpen { name, .. } => says.push(format!("call {name}")),
            Event::ArgDelta { json, .. } => arguments.push_str(json),
            Event::CallClose { .. } => {
                says.push(format!("arguments {}", std::mem::take(&mut arguments)));
                says.push("the call is whole".to_owned());
            }
            Event::BlockClose { .. } => says.push("the block is closed: run it".to_owned()),
            _ => {}
        };
        parser.feed(chunk.as_bytes(), &mut sink);
        if number + 1 == REPLY.len() {
            parser.finish(Finish::Stop, &mut sink);
        }
        if !arguments.is_empty() {
            says.push(format!("arguments {arguments}"));
        }
        let chunk = format!("{chunk:?}").replace("\\\"", "\"");
        let line = format!("{chunk:28} {}", says.join(", "));
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out.push_str("```\n");
    part("README.md", "stream", &out);
}

/// Keys whose values are not markers: descriptions of the dialect, and texts for models.
const PROSE: [&str; 9] = [
    "id", "title", "aliases", "models", "sources", "group", "prompt", "observe", "deltas",
];

/// All strings of a dialect file that may be markers, with a word in each hole.
fn strings(value: &toml::Value, out: &mut BTreeSet<String>) {
    match value {
        toml::Value::String(text) => drop(out.insert(filled(text))),
        toml::Value::Array(list) => list.iter().for_each(|item| strings(item, out)),
        toml::Value::Table(table) => {
            let kept = table
                .iter()
                .filter(|(key, _)| !PROSE.contains(&key.as_str()));
            kept.for_each(|(_, item)| strings(item, out));
        }
        _ => {}
    }
}

/// Markers in the form of libFuzzer's dictionaries.
#[test]
fn the_dictionary_of_the_fuzzer() {
    // Longer entries are left out.
    const MOST: usize = 64;
    let entry = |text: &str| {
        let mut out = String::from('"');
        for byte in text.bytes() {
            match byte {
                b' '..=b'~' if !b"\"\\".contains(&byte) => out.push(char::from(byte)),
                _ => write!(out, "\\x{byte:02x}").expect("a string takes it"),
            }
        }
        out + "\""
    };
    let mut marks = BTreeSet::new();
    for (_, text) in builtin_files() {
        let table = text.parse().expect("a built-in file");
        strings(&toml::Value::Table(table), &mut marks);
    }
    // A word alone is a switch of the file, or found quickly anyway.
    let word = |c: char| c.is_alphanumeric() || "_-".contains(c);
    marks.retain(|text| (2..=MOST).contains(&text.len()) && !text.chars().all(word));
    page("fuzz/markers.dict", |have| {
        let begin = "# Markers of the built-in dialects (ci/pages.sh).\n";
        let (hand, _) = have.split_once(begin).expect("where they begin");
        let known: Vec<&str> = hand.lines().collect();
        let new: BTreeSet<String> = marks.iter().map(|text| entry(text)).collect();
        let new: Vec<String> = new
            .into_iter()
            .filter(|entry| !known.contains(&entry.as_str()))
            .collect();
        [hand, begin, &new.join("\n"), "\n"].concat()
    });
}

/// Checks that the table of what the designs promise names existing tests, for exactly these promises.
fn promises(name: &str, wanted: &[u32]) {
    let page = fs::read_to_string(root().join(name)).expect("the page");
    let table = page.split("Of what the designs promise").nth(1);
    let mut numbers = BTreeSet::new();
    for line in table.expect("the table").lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let ["", number, _, tests, ""] = cells.as_slice() else {
            continue;
        };
        let Ok(number) = number.parse::<u32>() else {
            continue;
        };
        assert!(numbers.insert(number), "{name}: {number} appears twice");
        let mut file = String::new();
        for word in tests.split('`').skip(1).step_by(2) {
            if word.contains('/') {
                file = fs::read_to_string(root().join(word)).expect(word);
                continue;
            }
            // A test in JavaScript is named by the beginning of its sentence.
            let there = [
                format!("fn {word}("),
                format!("def {word}("),
                format!("test(\"{word}"),
                format!("\"id\": \"{word}\""),
            ];
            let found = there.iter().any(|one| file.contains(one));
            assert!(found, "{name}: {number}: {word}");
        }
        assert!(!file.is_empty(), "{name}: {number} names no test");
    }
    assert_eq!(numbers.into_iter().collect::<Vec<_>>(), wanted, "{name}");
}

#[test]
fn the_tables_of_promises_name_existing_tests() {
    promises(
        "docs/AGENT.md",
        &[
            4, 7, 8, 12, 18, 19, 20, 21, 28, 31, 33, 34, 35, 38, 39, 41, 42, 43, 49, 54, 55, 61,
            63, 64, 68, 69, 71, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 109, 110, 111,
            113,
        ],
    );
    promises(
        "docs/PAGE.md",
        &[
            14, 22, 24, 30, 31, 36, 37, 92, 93, 94, 95, 96, 97, 98, 99, 100, 101, 108, 110, 114,
        ],
    );
}
