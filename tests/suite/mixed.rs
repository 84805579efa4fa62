//! A value without its closer: what the model wrote after it is never mixed into a value of a complete or repaired call.

use std::cell::Cell;

use toolglot::{Call, Grade, Turn};

use crate::slipped::{ARGUMENTS, VALUES, read_slips};

/// An opener with slips in its tags: after the name of each tag, and after a prefix.
fn slips(opener: &str) -> Vec<String> {
    let blanks = [" ", "\n", "   ", "\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t"];
    let attributes = [" id=\"1\"", "\n\tid='2 > 1' index=3 "];
    let mut out = vec![opener.to_owned()];
    let mut put = |at: usize, all: &[&str]| {
        let (head, rest) = opener.split_at(at);
        out.extend(all.iter().map(|slip| format!("{head}{slip}{rest}")));
    };
    // A bare special token has no inside.
    for (at, _) in opener.match_indices('>') {
        let special = opener[..at].ends_with('|');
        match special {
            false => [&blanks[..], &attributes[..]].map(|all| put(at, all)),
            true => [(); 2].map(|()| put(at + 1, &blanks)),
        };
    }
    for (at, _) in opener.match_indices("<|").filter(|(at, _)| *at > 1) {
        put(at, &blanks);
        put(at, &attributes);
    }
    for (at, lead) in opener.match_indices("<｜") {
        let name = at + lead.len();
        let bar = opener[name..].find('｜');
        put(bar.map_or(at, |bar| name + bar + '｜'.len_utf8()), &blanks);
    }
    out
}

/// A call whose first value lacks its closer.
struct Open<'t> {
    head: &'t str,
    /// What follows that closer, up to the second value.
    opener: &'t str,
    tail: &'t str,
}

/// Removes the closer of the first value from a text; `None` if the closer is not a tag.
fn open(text: &str) -> Option<Open<'_>> {
    let first = text.find(VALUES[0])? + VALUES[0].len();
    let second = first + text[first..].find(VALUES[1])?;
    let between = &text[first..second];
    let (at, end) = match between.find("</") {
        Some(at) => (at, between[at..].find('>')? + 1),
        None => (between.find("<|close|>")?, between.find("<|sep|>")? + 7),
    };
    Some(Open {
        head: &text[..first + at],
        opener: between[at..].get(end..)?,
        tail: &text[second..],
    })
}

/// What is wrong with a turn, if anything.
fn wrong(turn: &Turn) -> Option<&'static str> {
    let both = |call: &Call| VALUES.iter().all(|value| call.arguments.contains(value));
    let counts = |call: &&Call| call.grade != Grade::Recovered;
    let empty = turn.calls.is_empty() && turn.text.trim().is_empty() && turn.issues.is_empty();
    match turn.calls.iter().filter(counts).any(both) {
        true => Some("a call that counts"),
        false => empty.then_some("nothing"),
    }
}

#[test]
fn no_reliable_call_mixes_two_values() {
    let glued = |opener: String| ["", "\n", " 然后 "].map(|glue| format!("{glue}{opener}"));
    let without_closer = |_, text: &str| -> Vec<String> {
        let Some(cut) = open(text) else {
            return vec![];
        };
        let openers = slips(cut.opener.trim_start()).into_iter().flat_map(glued);
        openers
            .map(|opener| format!("{}{opener}{}", cut.head, cut.tail))
            .collect()
    };
    let tried = read_slips(without_closer, wrong);
    assert!(tried.len() > 25, "{tried:?}");
}

/// An opener that holds its value in an attribute, in several spellings.
fn valued(opener: &str) -> Vec<String> {
    let at = match opener.strip_suffix("<|sep|>") {
        Some(head) => head.len(),
        None => opener.rfind('>').unwrap_or(opener.len()),
    };
    let (head, end) = opener.split_at(at);
    let value = VALUES[1];
    [
        format!("{head} value=\"{value}\"/{end}"),
        format!("{head} value='{value}'{end}"),
        format!("{head}\n\tid=\"1\" value = \"{value}\" /{end}"),
    ]
    .to_vec()
}

/// A call whose first value lacks its closer, before a parameter whose value is an attribute: the text before that parameter,
/// its opener, and the rest.
fn attribute_valued(text: &str) -> Option<(String, String, String)> {
    if let Some(cut) = open(text) {
        let tail = cut.tail.strip_prefix(VALUES[1])?;
        return Some((
            cut.head.to_owned(),
            cut.opener.trim().to_owned(),
            tail.to_owned(),
        ));
    }
    // `<path value="/x 中"/><n value="b c"/>`
    let attribute = format!(" value=\"{}\"/>", VALUES[0]);
    let at = text.find(&attribute)?;
    let name = text[..at].rfind('<')? + 1;
    let tag = &text[name..at];
    let rest = &text[at + attribute.len()..];
    let second = rest.find(" value=")?;
    let behind = second + rest[second..].find("/>")? + 2;
    Some((
        format!("{}>{}", &text[..at], VALUES[0]),
        format!("{}>", rest[..second].trim_start()),
        format!("</{tag}>{}", &rest[behind..]),
    ))
}

#[test]
fn a_parameter_with_an_attribute_value_is_not_text_of_another() {
    let texts = |_, text: &str| -> Vec<String> {
        let Some((head, opener, tail)) = attribute_valued(text) else {
            return vec![];
        };
        let glue = |opener: String| ["", "\n", " 然后 "].map(|glue| format!("{glue}{opener}"));
        let openers = valued(&opener).into_iter().flat_map(glue);
        openers
            .map(|opener| format!("{head}{opener}{tail}"))
            .collect()
    };
    let tried = read_slips(texts, wrong);
    assert!(
        tried.len() > 25 && tried.contains_key("tool-action"),
        "{tried:?}"
    );
}

/// The marker directly before the first value, if it is a single marker.
fn value_opener(text: &str) -> Option<&str> {
    let head = &text[..text.find(VALUES[0])?];
    let begins = head.rfind(['<', '「']).or_else(|| head.rfind("»»»"))?;
    let marker = &head[begins..];
    let whole = marker.ends_with(['>', '」', '»']);
    (whole && !marker.contains(['=', ' ', '/']) && !marker.contains("path")).then_some(marker)
}

/// The closer of the first value, with the preceding white space.
fn value_closer(text: &str) -> Option<&str> {
    let first = text.find(VALUES[0])? + VALUES[0].len();
    let rest = &text[first..];
    let token = rest.starts_with("<|close|>").then(|| rest.find("<|sep|>"));
    let len = match token.flatten() {
        Some(at) => at + "<|sep|>".len(),
        None if rest.starts_with("«««") => "«««".len(),
        None => rest
            .find(['>', '」'])
            .and_then(|at| Some(at + rest[at..].chars().next()?.len_utf8()))?,
    };
    let closer = &rest[..len];
    let marker = closer.trim_start();
    let fits = marker.starts_with("</") || marker.starts_with(['「', '«']) || token.is_some();
    (fits && !marker.contains("path")).then_some(closer)
}

#[test]
fn a_repeated_marker_of_a_value_is_not_part_of_it() {
    let repaired = Cell::new(0);
    let wrong = |turn: &Turn| {
        let call = turn.calls.first()?;
        repaired.set(repaired.get() + usize::from(call.grade == Grade::Repaired));
        match call.grade {
            Grade::Complete => Some("a complete call"),
            Grade::Repaired if call.arguments != ARGUMENTS => Some("a marker in a value"),
            _ => None,
        }
    };
    let twice = |_, text: &str| -> Vec<String> {
        let Some(first) = text.find(VALUES[0]) else {
            return vec![];
        };
        let (head, rest) = text.split_at(first);
        let (value, tail) = rest.split_at(VALUES[0].len());
        let opener = value_opener(text).map(|marker| format!("{head}{marker}{value}{tail}"));
        let closers = value_closer(text).into_iter().flat_map(|marker| {
            let gaps = ["", "\n", " "];
            gaps.map(|gap| {
                format!(
                    "{head}{value}{marker}{gap}{}{}",
                    marker.trim(),
                    &tail[marker.len()..]
                )
            })
        });
        opener.into_iter().chain(closers).collect()
    };
    let tried = read_slips(twice, wrong);
    assert!(tried.len() > 25, "{tried:?}");
    assert!(repaired.get() > 200, "{}", repaired.get());
}
