//! Every closer and every framing token of every built-in dialect, in sentences: not part of the text where the host chose
//! that dialect; text in larger sets, except beside calls of the dialect; and text wherever it is quoted or in code.

use std::collections::BTreeMap;

use toolglot::{DialectSet, Finish, Options, Parser, Turn, builtin_files, parse};

use crate::markers::{self, Does, MARKERS, Marker, set};
use crate::openers::CALLS;
use crate::support::cut_turn;
use crate::tags;

/// Where a token, represented by `@`, is framing if it is framing anywhere.
const BARE: [&str; 5] = [
    "Some text @ goes on here.",
    "中文的一句话@后面还有。",
    "one word@another",
    "A first line.\n@\nA second line.",
    "It ends with @",
];

/// Where it is text in every set.
const QUOTED: [&str; 8] = [
    "A \"@\" mark and more.",
    "Some write '@' here.",
    "用“@”结束。",
    "「@」是一个标记。",
    "『@』也是。",
    "The closer is `@` in backticks.",
    "Code:\n```text\nx @ y\n```\nand more.",
    "在 ‘@’ 里面。",
];

/// Closers that are text everywhere: those of syntax that only a prompt asks for, of calls that are messages, and of messages
/// where the calls are left to another reader, who needs them.
pub fn stray(marker: &Marker) -> bool {
    let file = builtin_files()
        .iter()
        .find(|(id, _)| *id == marker.dialect)
        .map_or("", |(_, text)| *text);
    let own = file.contains("[framed") || file.contains("[[framed");
    let table: toml::Table = file.parse().expect("a dialect file");
    let channels = table.get("channels");
    let listed = |key| {
        let list = channels.and_then(|table| table.get(key));
        let list = list.and_then(|list| list.as_array());
        list.is_some_and(|list| {
            list.iter()
                .any(|m| m.as_str() == Some(marker.text.as_str()))
        })
    };
    if !own && listed("close") {
        return true;
    }
    let message = listed("close") || listed("end");
    marker.does == Does::Close && !message && (!own || channels.is_some())
}

/// The line ends after a token that belong to it: a role has a line of its own.
fn line_ends(marker: &Marker) -> String {
    let longer = MARKERS
        .iter()
        .filter(|other| other.does == Does::Frame && other.dialect == marker.dialect)
        .filter_map(|other| other.text.strip_prefix(&marker.text))
        .filter(|rest| rest.bytes().all(|byte| byte == b'\n'))
        .max();
    let role = marker.does == Does::Frame && marker.text.ends_with(char::is_alphanumeric);
    let least = if role { "\n" } else { "" };
    longer.unwrap_or_default().max(least).to_owned()
}

/// Whether a reply of this set begins inside a thought.
fn thinks(set: &DialectSet) -> bool {
    !read(set, "x").reasoning.is_empty()
}

fn read(set: &DialectSet, input: &str) -> Turn {
    parse(set, Options::default(), input.as_bytes(), Finish::Stop)
}

/// Tokens without holes.
fn tokens() -> impl Iterator<Item = &'static Marker> {
    MARKERS.iter().filter(|marker| {
        let kind = matches!(marker.does, Does::Close | Does::Frame);
        kind && marker.literal && !marker.text.contains('\n') && !marker.text.contains("```")
    })
}

/// A token as it is spelled and, if it is a tag, with blanks and attributes in it.
fn forms(marker: &Marker) -> Vec<String> {
    let text = &marker.text;
    let mut out = vec![text.clone()];
    // A pattern with attributes has these and no others.
    let plain = |tag: &(String, usize, &str)| text[tag.0.len()..].starts_with(tag.2);
    if let Some(tag) = tags::head(text, 0).filter(plain) {
        out.extend(tags::slips(text, 0, &tag));
        let name = tag.0.len();
        out.push(format!("{} a='1 > 0' b=2{}", &text[..name], &text[name..]));
    }
    out.dedup();
    out
}

/// Sentences, each with every form of a token.
fn pairs<'s>(
    sentences: &'s [&'s str],
    marker: &Marker,
) -> impl Iterator<Item = (&'s str, String)> + use<'s> {
    let forms = forms(marker);
    let each = move |sentence: &&'s str| {
        let sentence = *sentence;
        forms.clone().into_iter().map(move |form| (sentence, form))
    };
    sentences.iter().flat_map(each)
}

fn cut(set: &DialectSet, input: &str) -> Turn {
    let parser = || Parser::new(set, Options::default());
    cut_turn(parser, input, Finish::Stop)
}

fn report(mut failures: Vec<String>) {
    let count = failures.len();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    failures.retain(|failure| {
        let of = seen.entry(failure.split(':').next().unwrap_or_default().to_owned());
        let of = of.or_default();
        *of += 1;
        *of < 4
    });
    assert!(count == 0, "{count}:\n{}", failures.join("\n"));
}

#[test]
fn html_elements_are_not_tokens() {
    for id in ["gigachat3", "mistral", "sarashina", "default", "all"] {
        for text in [
            "<s class=\"old\">三</s >",
            "Was <s id='1'>two</s> now",
            "</s >",
            "<s >x",
        ] {
            let turn = read(&set(id), text);
            assert_eq!(turn.text, text, "{id}");
        }
    }
}

#[test]
fn tokens_of_the_chosen_dialect_are_not_text() {
    let mut failures = vec![];
    let mut tried = 0;
    for marker in tokens() {
        let dialect = marker.dialect;
        let own = set(dialect);
        if thinks(&own) {
            continue;
        }
        for (sentence, text) in pairs(&BARE, marker) {
            tried += 1;
            let turn = cut(&own, &sentence.replace('@', &text));
            let left = if stray(marker) { text.as_str() } else { "" };
            let short = sentence.replace(&format!("@{}", line_ends(marker)), "@");
            // After a tag with blanks or attributes the line end stays.
            let stays = text != marker.text && turn.text == sentence.replace('@', left);
            if turn.text != short.replace('@', left) && !stays {
                failures.push(format!(
                    "{dialect}: {text} in {sentence:?}: {:?}",
                    turn.text
                ));
            }
        }
    }
    assert!(tried > 2000, "{tried}");
    report(failures);
}

#[test]
fn tokens_of_others_are_text() {
    let mut failures = vec![];
    for name in ["default", "all"] {
        let many = set(name);
        for marker in tokens() {
            let dialect = marker.dialect;
            for (sentence, text) in pairs(&BARE, marker) {
                let input = sentence.replace('@', &text);
                let turn = cut(&many, &input);
                if turn.text != input {
                    failures.push(format!("{dialect}: {name}: {input:?}: {:?}", turn.text));
                }
            }
        }
    }
    report(failures);
}

#[test]
fn tokens_in_quotation_and_code_are_text() {
    let mut failures = vec![];
    let many = ["default", "all"].map(set);
    for marker in tokens() {
        let dialect = marker.dialect;
        let own = set(dialect);
        for set in many.iter().chain([&own]).filter(|set| !thinks(set)) {
            for (sentence, text) in pairs(&QUOTED, marker) {
                let input = sentence.replace('@', &text);
                let turn = read(set, &input);
                if turn.text != input {
                    failures.push(format!("{dialect}: {input:?}: {:?}", turn.text));
                }
            }
        }
    }
    report(failures);
}

#[test]
fn tokens_beside_a_call_of_their_dialect_are_framing() {
    let mut failures = vec![];
    let many = ["default", "all"].map(set);
    // The opener of a turn is recognised only where the host chose its dialect, unless it is a tag.
    let role = |marker: &Marker| {
        let turns = markers::turns(marker.dialect);
        !marker.text.starts_with('<') && turns.iter().any(|turn| marker.text.starts_with(turn))
    };
    for marker in tokens().filter(|marker| !stray(marker) && !role(marker)) {
        let dialect = &marker.dialect;
        let Some(call) = CALLS.get(dialect) else {
            continue;
        };
        for set in &many {
            let whole = read(set, call);
            let here = whole.calls.first();
            if here.is_none_or(|call| call.dialect != *dialect) || !whole.text.is_empty() {
                // Another dialect of the set reads the call.
                continue;
            }
            for (blanks, text) in pairs(&["", " ", "\n\n"], marker) {
                let turn = read(set, &format!("{call}{blanks}{text} more"));
                let names = turn.calls.len() == whole.calls.len();
                // White space between two closers of one block belongs to the block.
                let left = [format!("{blanks} more"), " more".to_owned()];
                if !left.contains(&turn.text) || !names {
                    failures.push(format!("{dialect}: {text} after {call:?}: {:?}", turn.text));
                }
                if read(set, &format!("before {blanks}{call}"))
                    .calls
                    .is_empty()
                {
                    // Must begin the reply or a line.
                    continue;
                }
                if markers::begins_others(dialect, &marker.text) {
                    // Nothing in that turn is a call.
                    continue;
                }
                let turn = read(set, &format!("before {text}{blanks}{call}"));
                let left = blanks.strip_prefix(&line_ends(marker)).unwrap_or(blanks);
                let stays = text != marker.text && turn.text == format!("before {blanks}");
                if turn.text != format!("before {left}") && !stays {
                    failures.push(format!(
                        "{dialect}: {text} before {call:?}: {:?}",
                        turn.text
                    ));
                }
            }
        }
    }
    report(failures);
}

#[test]
fn prose_between_angle_brackets_is_not_a_token() {
    let mut failures = vec![];
    for marker in tokens() {
        let own = set(marker.dialect);
        let Some((head, _, end)) = tags::head(&marker.text, 0).filter(|_| !thinks(&own)) else {
            continue;
        };
        // A token at its beginning still counts.
        let shorter =
            |other: &Marker| other.dialect == marker.dialect && head.starts_with(&other.text);
        if tokens().any(shorter) {
            continue;
        }
        for inside in [
            " about it",
            " 关于它",
            " class",
            "\nof it",
            " a=\"x\n\"",
            " a=\"x",
            " < b",
            " a=1 b",
            "  ",
            "",
            "x",
        ] {
            let close = if end == ">" && inside.trim().contains(' ') {
                ">"
            } else {
                ""
            };
            for input in [
                format!("Some {head}{inside}{close} text goes on."),
                format!("{head}{inside}{close} 开头的一句话。"),
            ] {
                let turn = cut(&own, &input);
                if turn.text != input {
                    failures.push(format!("{}: {input:?}: {:?}", marker.dialect, turn.text));
                }
            }
        }
    }
    report(failures);
}

#[test]
fn every_dialect_is_tried() {
    let have = |id: &str| tokens().any(|marker| marker.dialect == id);
    let count = builtin_files().iter().filter(|(id, _)| have(id)).count();
    assert!(count > 60, "{count} dialects have tokens");
}
