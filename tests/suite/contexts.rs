//! Every marker, and a whole call, of every built-in dialect in the places where people show them: in quotation marks of many
//! languages, in emphasis, in lists and tables, in inline code and in code fences.
//!
//! A marker alone is text there, whatever its dialect does elsewhere. A call in code is text if the application says that code
//! hides markers. In both cases nothing is lost, the cut makes no difference, and a call that follows is found.

use toolglot::{
    Call, DialectSet, Fence, Finish, Grade, Options, Parser, Start, Turn, builtin_files,
};

use crate::markers::{Does, MARKERS, has_messages, set};
use crate::openers::CALLS;
use crate::support::{ANY, DEFAULTS, none_wrong, turn_of};

/// One in so many combinations is tried in a test run.
const SAMPLE: usize = 97;

/// Directly around a marker, represented by `@`.
const QUOTED: [&str; 18] = [
    "Write \"@\" first.",
    "Write '@' first.",
    "Write `@` first.",
    "Write “@” first.",
    "Write ‘@’ first.",
    "Man schreibt „@“ zuerst.",
    "Man skriver ”@” först.",
    "On écrit «@» avant.",
    "Man schreibt »@« zuerst.",
    "先写“@”，然后写参数。",
    "先写「@」，然后写参数。",
    "先写『@』，然后写参数。",
    "先写《@》，然后写参数。",
    "Write **`@`** first.",
    "| opener | `@` |\n|---|---|\n| closer | \"@\" |\n",
    "1. `@`: the marker\n2. \"@\", again\n",
    "- “@”\n- another item\n",
    "> a quotation: '@' and more\n",
];

/// Code around a marker, a call or several lines, represented by `@`.
const CODE: [&str; 22] = [
    "So:\n```\n@\n```\nand more.",
    "So:\n````\n@\n````\nand more.",
    "So:\n`````xml\n@\n`````\nand more.",
    "So:\n``````\n@\n``````\nand more.",
    "So:\n~~~\n@\n~~~\nand more.",
    "So:\n~~~~text\n@\n~~~~\nand more.",
    "So:\n``````json\n@\n``````\n然后继续。",
    "例如：\n```\n@\n```\n然后继续。",
    "So:\n  ```\n  @\n  ```\nand more.",
    "- An item:\n  ```\n  @\n  ```\nand more.",
    "1. An item:\n\n   ```xml\n   @\n   ```\n\nand more.",
    "- ```\n  @\n  ```\nand more.",
    "So:\n````md\n```\n@\n```\n````\nand more.",
    "So:\n~~~md\n```\n@\n```\n~~~\nand more.",
    "So:\n```\nfirst @ and so on\n```\nand more.",
    "So:\n```xml\n<!-- a comment -->\n@\n\n@\n```\nand more.",
    "So: `@` and more.",
    "So: ``@`` and more.",
    "So: `` @ `` and more.",
    "So: ```@``` and more.",
    "写 `@`，然后继续。",
    "So: `a @ b` and more.",
];

fn sets(id: &str) -> [(&'static str, DialectSet); 3] {
    [
        ("own", set(id)),
        ("default", DEFAULTS.clone()),
        ("any", ANY.clone()),
    ]
}

/// The turn of a text, after checking that it is the same for some cuts and that nothing is lost.
fn read(set: &DialectSet, options: &Options, text: &str, wrong: &mut Vec<String>) -> Turn {
    let parser = || Parser::new(set, options.clone());
    let whole = turn_of(parser(), [text.as_bytes()], Finish::Stop);
    for size in [1, 7] {
        let cut = turn_of(parser(), text.as_bytes().chunks(size), Finish::Stop);
        if cut != whole {
            wrong.push(format!("cut {size}: {text:?}"));
        }
    }
    whole
}

fn delivered(turn: &Turn) -> Vec<&Call> {
    let calls = turn.calls.iter();
    calls
        .filter(|call| call.grade != Grade::Recovered)
        .collect()
}

/// A context of code with a call in it; `None` if it has one line and the call has more.
fn placed(context: &str, call: &str) -> Option<String> {
    let indented = context.contains("  @");
    let inline = !indented && !context.contains("\n@");
    if inline && call.contains('\n') {
        return None;
    }
    let call = call.trim_end();
    Some(match indented {
        true => context.replace('@', &call.replace('\n', "\n  ")),
        false => context.replace('@', call),
    })
}

fn told(wrong: &[String], tried: usize) {
    none_wrong(wrong, tried);
}

/// A call that follows what was shown is found with its arguments.
fn follows(
    (place, set): &(&str, DialectSet),
    options: &Options,
    (id, shown, call): (&str, &str, &str),
    wrong: &mut Vec<String>,
) {
    let alone = read(set, options, &format!("Now:\n\n{call}"), wrong);
    if delivered(&alone).is_empty() || !alone.text.starts_with("Now:") {
        return;
    }
    let both = format!("{shown}\n\nNow:\n\n{call}");
    let turn = read(set, options, &both, wrong);
    let same =
        |one: &&Call, other: &&Call| one.name == other.name && one.arguments == other.arguments;
    let (have, want) = (delivered(&turn), delivered(&alone));
    let equal = have.len() == want.len() && have.iter().zip(&want).all(|(a, b)| same(a, b));
    if !equal {
        let kinds: Vec<_> = turn.issues.iter().map(|issue| issue.kind).collect();
        wrong.push(format!(
            "{place}/{id}: a call after {both:?}: {have:?} {kinds:?}"
        ));
    }
}

fn mentions(step: usize) {
    let mut wrong = vec![];
    let mut tried = 0;
    let options = Options::default();
    for (id, _) in builtin_files() {
        let sets = sets(id);
        let mine = MARKERS.iter().filter(|marker| marker.dialect == *id);
        for (number, marker) in mine.enumerate() {
            // A mark of one character begins words, and a fence is code.
            let word = marker.text.chars().any(char::is_alphanumeric);
            if !marker.literal || !word || marker.text.contains(['\n', '`']) {
                continue;
            }
            let quoted = QUOTED.iter().map(|context| (false, context));
            let all = quoted.chain(CODE.iter().map(|context| (true, context)));
            for (other, (code, context)) in all.enumerate() {
                if !(number * 7 + other).is_multiple_of(step) {
                    continue;
                }
                // A header of a line begins one in code, too.
                let lines = sets[0].1.dialects().any(|one| one.family() == "line");
                if code && lines {
                    continue;
                }
                let text = context.replace('@', &marker.text);
                for set in &sets {
                    // Where the reply begins in a thought, this is one.
                    if !read(&set.1, &options, "Hi", &mut wrong)
                        .reasoning
                        .is_empty()
                    {
                        continue;
                    }
                    tried += 1;
                    let turn = read(&set.1, &options, &text, &mut wrong);
                    if turn.text != text || !turn.calls.is_empty() {
                        let kinds: Vec<_> = turn.issues.iter().map(|issue| issue.kind).collect();
                        wrong.push(format!(
                            "{}/{id}: {text:?} is {:?} {kinds:?}",
                            set.0, turn.text
                        ));
                    }
                    if let Some(call) = CALLS.get(id).filter(|_| marker.does == Does::Open) {
                        follows(set, &options, (id, &text, call), &mut wrong);
                    }
                }
            }
        }
    }
    assert!(tried > 500, "{tried}");
    told(&wrong, tried);
}

fn calls(step: usize) {
    let mut wrong = vec![];
    let mut tried = 0;
    for (number, (id, call)) in CALLS.iter().enumerate() {
        let sets = sets(id);
        for (other, context) in CODE.iter().enumerate() {
            if !(number + other).is_multiple_of(step) || call.contains("```") {
                continue;
            }
            let Some(shown) = placed(context, call) else {
                continue;
            };
            // Truncated at the end of the call, the fence is not closed.
            let open = context.find("@\n").map(|_| {
                let end = shown
                    .rfind("\n`")
                    .or(shown.rfind("\n~"))
                    .or(shown.rfind("\n  `"));
                shown[..end.unwrap_or(shown.len())].to_owned()
            });
            for fence in [Fence::Skip, Fence::Allow] {
                let options = Options::default().fence(fence);
                for set in &sets {
                    for text in open.iter().chain([&shown]) {
                        tried += 1;
                        let turn = read(&set.1, &options, text, &mut wrong);
                        if fence == Fence::Allow {
                            continue;
                        }
                        if turn.text != *text || !turn.calls.is_empty() {
                            let kinds: Vec<_> =
                                turn.issues.iter().map(|issue| issue.kind).collect();
                            wrong.push(format!(
                                "{}/{id}: {text:?} is {:?} {:?} {kinds:?}",
                                set.0, turn.text, turn.calls
                            ));
                        }
                    }
                    if fence == Fence::Skip {
                        follows(set, &options, (id, &shown, call), &mut wrong);
                    }
                }
            }
        }
    }
    assert!(tried > 500, "{tried}");
    told(&wrong, tried);
}

/// A call in code in a thought is part of the thought, whatever the application says about code. A message ends in code, too, and
/// a header of a line counts in it unless code hides.
fn thoughts(step: usize) {
    let mut wrong = vec![];
    let mut tried = 0;
    for (number, (id, call)) in CALLS.iter().enumerate() {
        let sets = sets(id);
        let lines = sets[0].1.dialects().any(|one| one.family() == "line");
        if has_messages(id) {
            continue;
        }
        for set in &sets {
            for (other, context) in CODE.iter().enumerate() {
                if !(number + other).is_multiple_of(step) || call.contains("```") {
                    continue;
                }
                let Some(text) = placed(context, call) else {
                    continue;
                };
                for fence in [Fence::Skip, Fence::Allow] {
                    if lines && fence == Fence::Allow {
                        continue;
                    }
                    let options = Options::default().start(Start::Reasoning).fence(fence);
                    if read(&set.1, &options, "Hi", &mut wrong).reasoning != "Hi" {
                        continue;
                    }
                    tried += 1;
                    let turn = read(&set.1, &options, &text, &mut wrong);
                    if turn.reasoning != text || !turn.calls.is_empty() {
                        let kinds: Vec<_> = turn.issues.iter().map(|issue| issue.kind).collect();
                        wrong.push(format!(
                            "{}/{id} {fence:?}: {text:?} is {:?} {:?} {kinds:?}",
                            set.0, turn.reasoning, turn.calls
                        ));
                    }
                }
            }
        }
    }
    assert!(tried > 100, "{tried}");
    told(&wrong, tried);
}

#[test]
fn markers_that_are_shown_are_text() {
    mentions(SAMPLE);
}

#[test]
fn calls_in_code_are_text_where_code_hides() {
    calls(19);
}

#[test]
fn calls_in_code_in_a_thought_are_thoughts() {
    thoughts(19);
}

#[test]
#[ignore = "ci/generators.sh"]
fn all() {
    mentions(1);
}

#[test]
#[ignore = "ci/generators.sh"]
fn all_calls() {
    calls(1);
}

#[test]
#[ignore = "ci/generators.sh"]
fn all_thoughts() {
    thoughts(1);
}
