//! Attributes as models misspell them, in every dialect whose calls or parameters take a name from one: a wrong name; missing,
//! different or doubled quotes; another order, capitals, repetition. A complete or repaired call loses and guesses nothing, and
//! the chunking does not matter.

use toolglot::{Call, Grade, Kind, Turn};

use crate::slipped::{ARGUMENTS, read_slips};

/// Finds attributes, `name="value"`: offset, name and value.
fn attributes(text: &str) -> Vec<(usize, &str, &str)> {
    let one = |(at, _): (usize, &str)| {
        let head = &text[..at];
        let name = head.rfind(|c: char| !c.is_ascii_alphanumeric())? + 1;
        let end = at + 2 + text[at + 2..].find('"')?;
        let blank = head[..name].ends_with([' ', '\n']) && name < at;
        // Python calls look alike.
        let tag = !head[head.rfind('<')?..].contains('(');
        (blank && tag).then(|| (name, &text[name..at], &text[at + 2..end]))
    };
    text.match_indices("=\"").filter_map(one).collect()
}

/// The misspellings of an attribute.
fn slips(name: &str, value: &str) -> Vec<String> {
    let mut capital = name.to_owned();
    capital[..1].make_ascii_uppercase();
    let names = [
        &name[1..],
        &name[..name.len() - 1],
        &name.to_uppercase(),
        &capital,
        "nam",
        "key",
        "id",
        "index",
        "type",
        "tool",
        "title",
        "名",
        "data-name",
        "xmlname",
    ];
    let names = names.iter().filter(|other| **other != name);
    let mut out: Vec<String> = names.map(|other| format!("{other}=\"{value}\"")).collect();
    let n = name;
    for (left, right) in [
        ("=", ""),
        ("='", "'"),
        ("=\"", ""),
        ("=", "\""),
        ("='", "\""),
        (" = \"", "\""),
        ("\n=\n\"", "\""),
        ("=“", "”"),
        (" \"", "\""),
        (":\"", "\""),
        ("=\"\"", "\"\""),
    ] {
        out.push(format!("{n}{left}{value}{right}"));
    }
    out.extend([
        format!("\"{value}\""),
        value.to_owned(),
        format!("{n}="),
        n.to_owned(),
        format!("{n}=\"{value}\" {n}=\"{value}2\""),
        format!("{n}=\"{value}2\" {n}=\"{value}\""),
        format!("{n}=\"{value}\" {n}=\"{value}\""),
        format!("x=\"1\" {n}=\"{value}\""),
        format!("{n}=\"{value}\" x=\"1\""),
        format!("id=\"1\" {n}=\"{value}\""),
        format!("{n}=\"{value}\" 类=\"string\""),
        format!("nam=\"y\" {n}=\"{value}\""),
    ]);
    out
}

/// The misspellings of a tag that names something after an equals sign: `<function=f>`.
fn named(tag: &str, name: &str) -> Vec<String> {
    [
        "T=\"N\"",
        "T='N'",
        "T=“N”",
        "T N",
        "T name=\"N\"",
        "T name=N",
        "T key='N'",
        "T= N",
        "T =N",
        "T = N",
        "T=",
        "T",
        "T:N",
        "T=\"N",
        "T=N\"",
        "T=name=\"N\"",
        "T=N/",
        "T=N x=\"1\"",
        "T=N id=\"1\"",
        "T-=N",
        "Tx=N",
    ]
    .map(|slip| format!("<{}>", slip.replace('T', tag).replace('N', name)))
    .into()
}

/// Every text with one slip.
fn slipped(text: &str) -> Vec<String> {
    let mut out = vec![];
    for (at, name, value) in attributes(text) {
        let (head, tail) = (&text[..at], &text[at + name.len() + value.len() + 3..]);
        let all = slips(name, value);
        out.extend(all.iter().map(|slip| format!("{head}{slip}{tail}")));
        // The next attribute, moved before this one.
        let own = &text[at..text.len() - tail.len()];
        let next = attributes(tail).into_iter().find(|(at, ..)| *at == 1);
        if let Some((_, name, value)) = next {
            let len = 1 + name.len() + value.len() + 3;
            out.push(format!("{head}{} {own}{}", &tail[1..len], &tail[len..]));
        }
    }
    for (at, _) in text.match_indices('<') {
        let tag = &text[at + 1..];
        let word = |c: char| c.is_ascii_alphanumeric() || c == ':';
        let len = tag.find(|c| !word(c)).unwrap_or(0);
        let (tag, behind) = tag.split_at(len);
        let head = &text[..at];
        // Where a tag is named after a parameter, capitals make another name.
        if len > 0 && !["path", "n", "wipe"].contains(&tag) {
            out.push(format!("{head}<{}{behind}", tag.to_uppercase()));
        }
        if let Some((name, tail)) = behind.strip_prefix('=').and_then(|b| b.split_once('>')) {
            out.extend(
                named(tag, name)
                    .iter()
                    .map(|slip| format!("{head}{slip}{tail}")),
            );
        }
    }
    out
}

fn value(text: &str) -> toolglot::json::Value {
    toolglot_testkit::vectors::value(text).expect("arguments are JSON")
}

/// Whether a call that is not recovered says exactly what was written.
fn sound(call: &Call) -> bool {
    let (own, want) = (value(&call.arguments), value(ARGUMENTS));
    let more = call.kinds.contains(Kind::AttributeArguments);
    let holds = ["path", "n"]
        .iter()
        .all(|key| own.get(key) == want.get(key));
    call.name == "wipe" && holds && (more || own == want)
}

/// What is wrong with a turn, if anything.
fn wrong(turn: &Turn) -> Option<&'static str> {
    let mut counts = turn.calls.iter().filter(|c| c.grade != Grade::Recovered);
    let told = !turn.issues.is_empty() || turn.text.contains("wipe");
    match counts.all(sound) {
        false => Some("lost or guessed"),
        true => (turn.calls.is_empty() && !told).then_some("nothing"),
    }
}

#[test]
fn misspelt_attributes_lose_and_guess_nothing() {
    let inside = |text: String| format!("Go. {text}\nEnd.");
    let slips = |_, text: &str| slipped(text).into_iter().map(inside).collect();
    let tried = read_slips(slips, wrong);
    let fitting = tried.values().filter(|count| **count > 20).count();
    assert!(fitting > 18, "{tried:?}");
}

/// A tag of a call or a parameter with more in it than attributes.
fn strayed(text: &str) -> Vec<String> {
    let mut out = vec![];
    for (at, _) in text.match_indices('>') {
        let tag = &text[text[..at].rfind('<').unwrap_or(at)..at];
        // Tags of sections hold nothing that a call needs, and special tokens have no attributes.
        let named = ["=", "path", "wipe"].iter().any(|part| tag.contains(part));
        if named && !tag.contains(['|', '/']) {
            for stray in [" dry_run", " 危险", " !", " dry-run path"] {
                out.push(format!("{}{stray}{}", &text[..at], &text[at..]));
            }
        }
    }
    out
}

#[test]
fn what_is_no_attribute_is_reported() {
    let wrong = |turn: &Turn| {
        let safe = |call: &Call| {
            let words = ["dry", "危险", "!"];
            let holds = |word: &&str| call.name.contains(*word) || call.arguments.contains(*word);
            call.grade == Grade::Recovered || words.iter().any(holds)
        };
        (!turn.calls.iter().all(safe)).then_some("the words in the tag vanished")
    };
    let tried = read_slips(|_, text| strayed(text), wrong);
    assert!(tried.len() > 15, "{tried:?}");
}
