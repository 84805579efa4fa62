//! Closers as models spell them, in what the encoders write in every built-in dialect: with blanks, doubled, tripled. The
//! calls stay, their grade shows the slip, and no part of the closers is left in the text.

use std::sync::Arc;

use toolglot::{
    Call, DialectSet, EncodeCall, EncodeOptions, Finish, Grade, Kind, Options, Parser, Tools, Turn,
    builtin_files, encode,
};

use crate::framing::stray;
use crate::markers::{Does, MARKERS, set};
use crate::support::turn_of;

const TOOLS: &str = r#"[
    {"name": "wipe", "parameters": {"properties": {"path": {"type": "string"}, "n": {"type": "string"}}}},
    {"name": "look", "parameters": {"properties": {"at": {"type": "string"}}}}]"#;
const CALLS: [(&str, &str); 2] = [
    ("wipe", r#"{"path":"/x 中","n":"b c"}"#),
    ("look", r#"{"at":"天气"}"#),
];
/// What follows the calls; left out where nothing may follow.
const BEHIND: [&str; 2] = ["\nDone. 好了。", ""];
/// Between two closers.
const GLUE: [&str; 4] = ["", "\n", " ", "\n\n"];

fn tools() -> Arc<Tools> {
    Arc::new(Tools::from_json(TOOLS).expect("tools"))
}

/// One text of a dialect, and the sets that read it.
struct Written {
    id: &'static str,
    text: String,
    sets: Vec<(DialectSet, Turn)>,
}

fn read(set: &DialectSet, text: &str, step: usize) -> Turn {
    let mut options = Options::default();
    options.tools = Some(tools());
    turn_of(
        Parser::new(set, options),
        text.as_bytes().chunks(step),
        Finish::Stop,
    )
}

/// Names and arguments.
fn calls(turn: &Turn) -> Vec<(&str, &str)> {
    let calls = turn.calls.iter();
    calls.map(|c| (&*c.name, &*c.arguments)).collect()
}

fn names(turn: &Turn) -> Vec<&str> {
    turn.calls.iter().map(|call| &*call.name).collect()
}

/// What every built-in dialect writes: both calls, and each alone.
fn written() -> Vec<Written> {
    let many = ["default", "all"].map(set);
    let call = |(name, arguments): (&str, &str)| EncodeCall::new(name, arguments);
    let both = CALLS.map(call);
    let mut options = EncodeOptions::default();
    options.tools = Some(tools());
    let mut out = vec![];
    for (id, _) in builtin_files() {
        let own = set(id);
        for calls in [&both[..], &both[..1], &both[1..]] {
            let Ok(text) = encode(&own, id, calls, &options) else {
                continue;
            };
            for behind in BEHIND {
                let text = format!("{text}{behind}");
                let plain = |set: &DialectSet| {
                    let turn = read(set, &text, text.len());
                    let good = turn.calls.len() == calls.len() && turn.issues.is_empty();
                    (good && turn.text == behind).then(|| (set.clone(), turn))
                };
                let sets: Vec<_> = [&own].into_iter().chain(&many).filter_map(plain).collect();
                if !sets.is_empty() {
                    out.push(Written { id, text, sets });
                }
            }
        }
    }
    out
}

/// A closer in a text.
struct Closer<'t> {
    at: usize,
    tag: &'t str,
    /// Whether it closes only a value or a key.
    value: bool,
    /// Whether it is text where it closes nothing.
    stray: bool,
    /// Whether only a prompt asks for its dialect.
    prompted: bool,
}

/// The closers in a text.
fn closers(written: &Written) -> Vec<Closer<'_>> {
    let text = written.text.as_str();
    let own: Vec<_> = MARKERS.iter().filter(|m| m.dialect == written.id).collect();
    let has = |does: Does, tag: &str| own.iter().any(|m| m.does == does && m.text == tag);
    let mut out: Vec<Closer<'_>> = vec![];
    let file = builtin_files().iter().find(|(id, _)| *id == written.id);
    let prompted = file.is_some_and(|(_, text)| !text.contains("[[framed.unit]]"));
    for (at, _) in text.match_indices("</") {
        let end = text[at..].find('>').map_or(at, |end| at + end + 1);
        // The tag may be the end of a longer marker.
        let lead = text[..at].strip_suffix(">[");
        let lead = lead.and_then(|before| before.rfind("]<]")).unwrap_or(at);
        let tag = &text[lead..end];
        let value = has(Does::Inner, tag) || !has(Does::Close, tag);
        let marker = own.iter().find(|m| m.does == Does::Close && m.text == tag);
        let stray = marker.is_some_and(|marker| stray(marker));
        out.push(Closer {
            at: lead,
            tag,
            value,
            stray,
            prompted,
        });
    }
    let literal = own.iter().filter(|m| m.does == Does::Close && m.literal);
    for marker in literal.filter(|m| !m.text.contains("</") && !m.text.contains("```")) {
        // A closer that is also an opener is skipped, and so is the beginning of a header's last part.
        if marker.text.trim().len() < 3 || marker.text == "<|constrain|>" {
            continue;
        }
        for (at, tag) in text.match_indices(marker.text.as_str()) {
            let (value, stray) = (has(Does::Inner, tag), stray(marker));
            out.push(Closer {
                at,
                tag,
                value,
                stray,
                prompted,
            });
        }
    }
    out
}

/// Whether the rules of ordinary tags do not apply to blanks in the tag.
fn special(tag: &str) -> bool {
    tag.contains(['|', '｜', ']', '▁'])
}

/// What a slip may change.
#[derive(Clone, Copy)]
struct May<'t> {
    most: Grade,
    /// This closer may stay in the text, if it is reported.
    stray: Option<&'t str>,
    /// The closer may be part of a value, in a recovered call.
    content: bool,
}

/// Reads `text` in every set that reads the original, under a few chunkings.
fn check(written: &Written, text: &str, may: May<'_>, failures: &mut Vec<String>) {
    let id = written.id;
    for (n, (set, plain)) in written.sets.iter().enumerate() {
        let turn = read(set, text, text.len());
        let left = |turn: &Turn| {
            let left = turn.text.replace(may.stray.unwrap_or("\0"), "");
            left.trim().to_owned()
        };
        let good = |call: &Call| !may.content || call.grade != Grade::Recovered;
        let sure = |turn: &Turn| turn.calls.iter().all(good);
        let same = calls(&turn) == calls(plain) || (!sure(&turn) && names(&turn) == names(plain));
        let over = turn.calls.iter().any(|call| call.grade > may.most);
        let broken = turn.issues.iter().any(|e| e.kind == Kind::MalformedBody);
        if !same || over || broken || left(&turn) != left(plain) {
            let kinds: Vec<_> = turn.issues.iter().map(|e| e.kind).collect();
            let (calls, left) = (calls(&turn), &turn.text);
            failures.push(format!("{id}/{n}: {text:?}: {calls:?} {left:?} {kinds:?}"));
        }
        for step in [1, 5] {
            if read(set, text, step) != turn {
                failures.push(format!("{id}/{n}: {text:?} in steps of {step}"));
            }
        }
    }
}

fn report(failures: &[String], tried: usize, least: usize) {
    assert!(tried > least, "{tried}");
    let mut count = std::collections::BTreeMap::<&str, usize>::new();
    let mut some = vec![];
    for failure in failures {
        let id = failure.split([':', '/']).next().unwrap_or_default();
        let of = count.entry(id).or_default();
        *of += 1;
        if *of < 4 {
            some.push(failure.as_str());
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {tried} {count:?}:\n{}",
        failures.len(),
        some.join("\n")
    );
}

#[test]
fn blanks_in_closers_keep_the_calls() {
    let mut failures = vec![];
    let mut tried = 0;
    let may = May {
        most: Grade::Repaired,
        stray: None,
        content: false,
    };
    for written in written() {
        for Closer { at, tag, .. } in closers(&written) {
            if !tag.starts_with("</") || special(tag) {
                continue;
            }
            let name = &tag[2..tag.len() - 1];
            for (before, behind) in [
                ("", " "),
                (" ", ""),
                (" ", " "),
                ("", "\n"),
                ("\t", "   \r\n"),
            ] {
                tried += 1;
                let loose = format!("</{before}{name}{behind}>");
                let (head, rest) = (&written.text[..at], &written.text[at + tag.len()..]);
                check(
                    &written,
                    &format!("{head}{loose}{rest}"),
                    may,
                    &mut failures,
                );
            }
        }
    }
    report(&failures, tried, 500);
}

#[test]
fn doubled_and_tripled_closers_keep_the_calls() {
    let mut failures = vec![];
    let mut tried = 0;
    for written in written() {
        for closer in closers(&written) {
            let Closer { at, tag, .. } = closer;
            // Whether the second closer of a value is content cannot be known.
            let most = if closer.value {
                Grade::Recovered
            } else {
                Grade::Repaired
            };
            let may = May {
                most,
                stray: closer.stray.then_some(tag),
                content: closer.value && closer.prompted,
            };
            for glue in GLUE {
                for times in [1, 2] {
                    tried += 1;
                    let (head, rest) = written.text.split_at(at + tag.len());
                    let more = format!("{glue}{tag}").repeat(times);
                    check(&written, &format!("{head}{more}{rest}"), may, &mut failures);
                }
            }
        }
    }
    report(&failures, tried, 1000);
}
