//! One slip in one token of a call: every dialect's own writing of a call, with each token left out, doubled, exchanged with
//! the next one or replaced, and with stray bytes after it. A second call follows on a line of its own.
//!
//! Two properties hold for each of these texts. A call that is delivered without the application's consent is one of those
//! that were written, or differs from one in a single name, key or value, by no more than the slip; so a call that a value
//! quotes never runs. And the second call is delivered as it was written, except after slips in the tokens of [`LOSES`] and [`RUNS`].

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use toolglot::{
    Call, DialectSet, EncodeCall, EncodeOptions, Finish, Grade, Kind, Options, Tools,
    builtin_files, encode, parse,
};

use toolglot::json::Value;

use crate::markers::set;

const TOOLS: &str = r#"[
    {"name": "wipe", "parameters": {"properties": {"path": {"type": "string"}, "n": {"type": "string"}}}},
    {"name": "look", "parameters": {"properties": {"where": {"type": "string"}}}},
    {"name": "burn", "parameters": {"properties": {"all": {"type": "string"}}}}]"#;

/// What stray bytes are inserted, and put in place of a token.
const JUNK: [&str; 21] = [
    ",", ";", "and", "}", ")", "\"", "]", ".", "`", "\n", "<", "|", "x ", ">", "/", "=", ":", "{",
    "[", "(", "'",
];

/// One in so many slips is tried in a test run.
const SAMPLE: usize = 23;

/// What happens to a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Slip {
    LeftOut,
    Doubled,
    Exchanged,
    Followed(&'static str),
    Replaced(&'static str),
}

/// A text with a slip: its token, what happened to it, and how many bytes differ.
struct Slipped {
    token: String,
    slip: Slip,
    text: String,
    size: usize,
    /// The bytes of the token.
    place: Range<usize>,
}

/// Two calls, the second on a line of its own.
struct Pair {
    dialect: &'static str,
    set: DialectSet,
    first: String,
    second: String,
    /// Where the value is that quotes a call.
    quoted: Range<usize>,
}

fn call(name: &str, arguments: &str) -> EncodeCall {
    EncodeCall::new(name, arguments)
}

/// The pairs of all dialects: with plain values, and with a value that quotes a call, where the dialect can express it.
fn pairs(tools: &Arc<Tools>) -> Vec<Pair> {
    let mut options = EncodeOptions::default();
    options.tools = Some(Arc::clone(tools));
    let mut pairs = vec![];
    for (dialect, _) in builtin_files() {
        let set = set(dialect);
        let write = |call: EncodeCall| encode(&set, dialect, &[call], &options).ok();
        let plain = write(call("wipe", r#"{"path":"/x 中","n":"b c"}"#));
        let holder = write(call("wipe", r#"{"path":"see QUOTE there","n":"b c"}"#));
        let quote = write(call("burn", r#"{"all":"yes"}"#));
        let second = write(call("look", r#"{"where":"later"}"#));
        let (Some(plain), Some(holder), Some(quote), Some(second)) = (plain, holder, quote, second)
        else {
            continue;
        };
        let value = serde_json::to_string(&quote).expect("a string is JSON");
        // As it is, or escaped as in JSON and Python.
        let spellings = [quote.as_str(), &value[1..value.len() - 1]];
        let quoting = spellings.map(|quote| (holder.replace("QUOTE", quote), quote));
        let fits = |(first, _): &&(String, &str)| {
            let calls = read(&set, Some(tools), &format!("{first}\n{second}"));
            let parts = calls.first().map(|call| parts(&call.name, &call.arguments));
            let whole = plain_text(&format!("see {quote} there"));
            calls.len() == 2 && parts.is_some_and(|parts| parts.contains(&whole))
        };
        let quoting = quoting.iter().find(fits).map(|(first, quote)| {
            let start = first.find(quote).unwrap_or_default();
            (first.clone(), start..start + quote.len())
        });
        for (first, quoted) in [Some((plain, 0..0)), quoting].into_iter().flatten() {
            let (set, second) = (set.clone(), second.clone());
            pairs.push(Pair {
                dialect,
                set,
                first,
                second,
                quoted,
            });
        }
    }
    pairs
}

/// The calls of a text.
fn read(set: &DialectSet, tools: Option<&Arc<Tools>>, text: &str) -> Vec<Call> {
    let mut options = Options::default();
    options.tools = tools.cloned();
    parse(set, options, text.as_bytes(), Finish::Stop).calls
}

/// The tokens of a text: tags, words, white space, and other characters one by one.
pub fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = vec![];
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let tag = rest
            .find(['>', '\n'])
            .filter(|end| first == '<' && rest[*end..].starts_with('>'))
            .filter(|end| !rest[1..*end].contains('<') && !rest[..*end].ends_with('/'));
        let run = |is: fn(char) -> bool| rest.find(|c| !is(c)).unwrap_or(rest.len());
        let len = match tag {
            Some(end) => end + 1,
            None if first.is_alphanumeric() => run(char::is_alphanumeric),
            None if first.is_whitespace() => run(char::is_whitespace),
            None => first.len_utf8(),
        };
        let (token, after) = rest.split_at(len);
        tokens.push(token);
        rest = after;
    }
    tokens
}

/// The first call of a pair with every slip.
fn slips(first: &str) -> Vec<Slipped> {
    let tokens = tokens(first);
    let mut all = vec![];
    for (at, token) in tokens.iter().enumerate() {
        let (before, after) = (tokens[..at].concat(), tokens[at + 1..].concat());
        let mut push = |slip, text, size| {
            let place = before.len()..before.len() + token.len();
            let token = (*token).to_owned();
            all.push(Slipped {
                token,
                slip,
                text,
                size,
                place,
            });
        };
        let len = token.len();
        push(Slip::LeftOut, format!("{before}{after}"), len);
        push(Slip::Doubled, format!("{before}{token}{token}{after}"), len);
        if let Some(next) = tokens.get(at + 1) {
            let rest = &after[next.len()..];
            let text = format!("{before}{next}{token}{rest}");
            push(Slip::Exchanged, text, len + next.len());
        }
        for junk in JUNK {
            let size = len + junk.len();
            let text = format!("{before}{token}{junk}{after}");
            push(Slip::Followed(junk), text, size);
            push(Slip::Replaced(junk), format!("{before}{junk}{after}"), size);
        }
    }
    all
}

/// A text without quotes, backslashes and white space.
fn plain_text(text: &str) -> String {
    let kept = |c: &char| !c.is_whitespace() && !"\"'\\".contains(*c);
    text.chars().filter(kept).collect()
}

/// The name, the keys and the values of a call.
fn parts(name: &str, arguments: &str) -> Vec<String> {
    let mut parts = vec![plain_text(name)];
    match toolglot_testkit::vectors::value(arguments) {
        Ok(Value::Object(members)) => {
            for (key, value) in &members {
                let text = match value {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                parts.extend([plain_text(key), plain_text(&text)]);
            }
        }
        _ => parts.push(plain_text(arguments)),
    }
    parts
}

/// Whether two texts differ by at most `most` characters.
fn close(one: &str, other: &str, most: usize) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    if one.len().abs_diff(other.len()) > most {
        return false;
    }
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut left = i + 1;
        let mut corner = i;
        row[0] = left;
        for (j, b) in other.iter().enumerate() {
            let cost = usize::from(a != b);
            let best = (corner + cost).min(row[j + 1] + 1).min(left + 1);
            corner = row[j + 1];
            (row[j + 1], left) = (best, best);
        }
    }
    row[other.len()] <= most
}

/// Whether a delivered call is one that was written, or differs from it in one part, by no more than the slip.
fn is_written(call: &Call, written: &[Call], size: usize) -> bool {
    let parts_of = |call: &Call| parts(&call.name, &call.arguments);
    let have = parts_of(call);
    written.iter().map(parts_of).any(|want| {
        let differ = have.iter().zip(&want).filter(|(one, other)| one != other);
        let differ: Vec<_> = differ.collect();
        // The parts of a repaired marker may stay in the text next to it.
        let most = size + 3;
        have.len() == want.len()
            && differ.len() <= 1
            && differ.iter().all(|(one, other)| close(one, other, most))
    })
}

/// Tokens after whose slip the second call may be lost, by dialect; an empty list stands for all. `docs/CORRECTIONS.md` says
/// why.
const LOSES: [(&str, &[&str]); 16] = [
    // The closer of the last value: the value runs over the next call.
    ("tool-call-xml", &["</param>", "\n", "</tool_call>", "c"]),
    ("cline-xml", &["</path>", "<n>", "</n>", "</wipe>", "\n"]),
    ("morph-xml", &["</path>", "</n>", "</wipe>"]),
    ("yaml-xml", &["</wipe>"]),
    ("beam", &["</rfl:parameter>", "\n"]),
    ("muse", &["</atem:parameter>", "\n"]),
    ("deepseek-v41", &["</｜DSML｜ parameter>", "\n"]),
    ("gemma4", &["<|\"|>"]),
    ("functiongemma", &["<escape>"]),
    (
        "tool-action",
        &["path", "n", "c", "value", "\"", "/", ">", "=", " "],
    ),
    // No marker shows where the next call begins.
    ("json-bare", &["\"", "{", "}", ":", ",", "c"]),
    ("react-text", &["\"", "{", "}", ":", ",", "c"]),
    ("qwen-agent", &["\"", "{", "}", ":", ",", "c"]),
    ("markdown-json", &["`"]),
    ("sarashina", &["name", "wipe", "arguments", "path", "n"]),
    ("olmo3", &["</function_calls>"]),
];

/// Tokens after whose slip another call may run, in the same form.
const RUNS: [(&str, &[&str]); 10] = [
    // The opener is lost, and what the value quotes is in text.
    ("gemma4", &["<|tool_call>", "call", ":", "{", "wipe"]),
    ("cline-xml", &["<wipe>", "<path>"]),
    ("morph-xml", &["<wipe>", "<path>"]),
    ("minimax-m3", &[]),
    // The call ends at its first bracket, and nothing of it follows in the block.
    ("llama31-builtin", &[]),
    ("olmo3", &["\"", ","]),
    // The call is over with its object, and what follows on the line is text.
    ("react-text", &[]),
    ("qwen-agent", &["\"", "{", ","]),
    ("kimi-k3", &["\""]),
    // Its keys may contain anything.
    ("yaml-xml", &[]),
];

/// Whether a slip is in a list.
fn listed(list: &[(&str, &[&str])], dialect: &str, token: &str) -> bool {
    let own = |(id, tokens): &&(&str, &[&str])| {
        *id == dialect && (tokens.is_empty() || tokens.contains(&token))
    };
    list.iter().any(|entry| own(&entry))
}

/// Tries one in `step` slips of each pair. Returns the dialects for which each list was needed.
fn check(step: usize) -> [BTreeSet<&'static str>; 2] {
    let tools = Arc::new(Tools::from_json(TOOLS).expect("tools"));
    let mut tried = 0;
    let mut ran = vec![];
    let mut lost = vec![];
    let mut counts = BTreeMap::<&str, [usize; 2]>::new();
    let mut needed = [BTreeSet::new(), BTreeSet::new()];
    for (number, pair) in pairs(&tools).iter().enumerate() {
        let read = |text: &str, tools| read(&pair.set, tools, &format!("{text}\n{}", pair.second));
        for tools in [None, Some(&tools)] {
            let written = read(&pair.first, tools);
            let [_, second] = written.as_slice() else {
                // Two lists or messages may be one.
                continue;
            };
            for slipped in slips(&pair.first)
                .into_iter()
                .skip(number % step)
                .step_by(step)
            {
                tried += 1;
                let calls = read(&slipped.text, tools);
                let told = |call: &Call| {
                    let text = format!("{}\n{}", slipped.text, pair.second);
                    let (token, slip) = (&slipped.token, slipped.slip);
                    format!("{} {token:?} {slip:?}: {text:?}: {call:?}", pair.dialect)
                };
                for call in &calls {
                    let named = call.kinds.contains(Kind::AttributeArguments);
                    // A slip in a quoted call is one in a value: no more is asked than that nothing quoted runs.
                    let place = &slipped.place;
                    let value = place.start < pair.quoted.end && place.end > pair.quoted.start;
                    let free = call.grade != Grade::Recovered && !named;
                    let same = value && call.name == "wipe";
                    if !free || same || is_written(call, &written, slipped.size) {
                        continue;
                    }
                    if listed(&RUNS, pair.dialect, &slipped.token) {
                        needed[0].insert(pair.dialect);
                    } else {
                        counts.entry(pair.dialect).or_default()[0] += 1;
                        ran.push(told(call));
                    }
                }
                let same =
                    |call: &&Call| call.name == second.name && call.arguments == second.arguments;
                if calls.iter().any(|call| same(&call)) {
                    continue;
                }
                if listed(&LOSES, pair.dialect, &slipped.token) {
                    needed[1].insert(pair.dialect);
                } else {
                    counts.entry(pair.dialect).or_default()[1] += 1;
                    lost.push(told(second));
                }
            }
        }
    }
    let shown = |list: &[String]| {
        let step = (list.len() / 20).max(1);
        list.iter()
            .step_by(step)
            .cloned()
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert!(
        ran.is_empty() && lost.is_empty(),
        "of {tried}, {} ran and {} lost the second call: {counts:?}\n{}\n{}",
        ran.len(),
        lost.len(),
        shown(&ran),
        shown(&lost)
    );
    needed
}

#[test]
fn a_slip_runs_no_other_call_and_loses_none_after_it() {
    check(SAMPLE);
}

#[test]
#[ignore = "ci/generators.sh"]
fn all() {
    let listed = |list: &[(&'static str, &[&str])]| list.iter().map(|(id, _)| *id).collect();
    let lists: [BTreeSet<_>; 2] = [listed(&RUNS), listed(&LOSES)];
    assert_eq!(check(1), lists, "entries that are not needed");
}
