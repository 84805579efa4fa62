//! Every marker of every built-in dialect, read from its file, and the sets in which to try it.

use std::sync::LazyLock;

use toolglot::{DialectSet, builtin_files};
use toolglot_testkit::sets::Choice;

use crate::support::SETS;

/// The role of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Does {
    /// Opens a block, a section or a call, or begins the header of a message.
    Open,
    /// Closes one of these.
    Close,
    /// Opens or closes reasoning or a span.
    Region,
    /// Is framing.
    Frame,
    /// Occurs inside blocks or headers.
    Inner,
}

/// One marker. Its holes are filled with a sample.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Marker {
    pub dialect: &'static str,
    pub does: Does,
    pub text: String,
    /// Whether it has no holes.
    pub literal: bool,
}

/// All markers, each once per dialect that has it.
pub static MARKERS: LazyLock<Vec<Marker>> = LazyLock::new(|| {
    let mut out = vec![];
    for (id, text) in builtin_files() {
        let table: toml::Table = toml::from_str(text).expect("a built-in file");
        let mut add = |does: Does, text: &str| {
            let literal = !text.contains('$');
            let text = filled(text);
            if !text.is_empty() {
                out.push(Marker {
                    dialect: id,
                    does,
                    text,
                    literal,
                });
            }
        };
        walk(&table, "", &mut add);
        // Where calls are messages, the opener of a turn opens one of these.
        let strings = |key| {
            let list = table.get(key).and_then(toml::Value::as_array);
            list.into_iter().flatten().filter_map(toml::Value::as_str)
        };
        for turn in strings("turn").filter(|_| !table.contains_key("channels")) {
            // A role after a tag never occurs with blanks in the tag.
            let role = turn.starts_with('<') && !turn.ends_with('>') && !turn.contains('|');
            match role || strings("markup").any(|token| token == turn) {
                true => add(Does::Inner, turn),
                false => add(Does::Frame, turn),
            }
        }
        for other in strings("others") {
            // A name after a tag never occurs with blanks in the tag.
            let named = strings("turn").any(|turn| turn.starts_with(other));
            let role = named && other.starts_with('<') && !other.contains('|');
            match role || strings("markup").any(|token| token == other) {
                true => add(Does::Inner, other),
                false => add(Does::Frame, other),
            }
        }
        for family in ["named_params", "attribute_params"] {
            let call = table.get(family).and_then(|family| family.get("call"));
            if let Some(call) = call.and_then(toml::Value::as_str) {
                add(Does::Open, &format!("<{call}>"));
                add(Does::Open, &format!("<{call} name=\"f\">"));
                add(Does::Close, &format!("</{call}>"));
            }
        }
    }
    out.sort();
    out.dedup();
    out
});

/// Whether the calls of a built-in dialect are messages.
pub fn has_messages(id: &str) -> bool {
    let file = builtin_files().iter().find(|(name, _)| *name == id);
    file.is_some_and(|(_, text)| text.contains("[channels]"))
}

fn walk(table: &toml::Table, place: &str, add: &mut impl FnMut(Does, &str)) {
    for (key, value) in table {
        let does = match (place, key.as_str()) {
            ("prompt" | "observe" | "switch", _) => continue,
            ("", "framing" | "messages") => Does::Frame,
            ("", "markup") => Does::Inner,
            ("reasoning" | "span", "open" | "close") => Does::Region,
            ("param" | "tree" | "quotes", "open" | "close") => Does::Inner,
            ("channels", "start") | (_, "open" | "action" | "thought" | "answer") => Does::Open,
            (_, "close") => Does::Close,
            (_, "end" | "first" | "separators" | "misspelt" | "input" | "observation") => {
                Does::Inner
            }
            _ => {
                let tables: Vec<&toml::Table> = match value {
                    toml::Value::Table(one) => vec![one],
                    toml::Value::Array(all) => {
                        all.iter().filter_map(toml::Value::as_table).collect()
                    }
                    _ => vec![],
                };
                tables.into_iter().for_each(|one| walk(one, key, add));
                continue;
            }
        };
        let one = value.as_str().into_iter();
        let many = value.as_array().into_iter().flatten();
        one.chain(many.filter_map(toml::Value::as_str))
            .for_each(|text| add(does, text));
    }
}

/// Whether a marker of a dialect begins the turn of another author by itself.
pub fn begins_others(id: &str, marker: &str) -> bool {
    let mut files = builtin_files().iter();
    let text = files
        .find(|(have, _)| *have == id)
        .map_or("", |(_, text)| *text);
    let table: toml::Table = text.parse().expect("a built-in file");
    let any = |key: &str, fits: &dyn Fn(&str) -> bool| {
        let list = table.get(key).and_then(toml::Value::as_array);
        let mut list = list.into_iter().flatten();
        list.any(|word| word.as_str().is_some_and(fits))
    };
    let own = any("turn", &|turn| {
        turn.starts_with(marker) || marker.starts_with(turn)
    });
    !own && any("others", &|other| marker.starts_with(other))
}

/// The openers of turns in a dialect, which may be ordinary markup.
pub fn turns(id: &str) -> Vec<String> {
    let mut files = builtin_files().iter();
    let text = files
        .find(|(have, _)| *have == id)
        .map_or("", |(_, text)| *text);
    let table: toml::Table = text.parse().expect("a built-in file");
    let lists =
        ["turn", "others", "markup"].map(|key| table.get(key).and_then(toml::Value::as_array));
    let words = lists.into_iter().flatten().flatten();
    words
        .filter_map(|word| Some(word.as_str()?.to_owned()))
        .collect()
}

/// A pattern with its holes filled.
pub fn filled(pattern: &str) -> String {
    let holes = [
        ("$_", ""),
        ("$/", ""),
        ("$^", ""),
        ("$id", "functions.f:0"),
        ("$name", "f"),
        ("$key", "a"),
        ("$type", "string"),
        ("$tag", " name=\"f\""),
        ("$ticks", ""),
        ("$digits", "1"),
        ("$x", ""),
    ];
    holes
        .iter()
        .fold(pattern.to_owned(), |text, (hole, sample)| {
            text.replace(hole, sample)
        })
}

/// A set by its name on the command line.
pub fn set(name: &str) -> DialectSet {
    SETS.get(&Choice::of(&[name])).expect("a built-in set")
}
