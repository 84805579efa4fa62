//! Blanks and attributes do not make a different tag, in every dialect and wherever a tag of it may occur: around
//! blocks, calls, parameters and thoughts, spelled as ordinary tags or with special tokens.

use std::collections::{BTreeMap, BTreeSet};

use toolglot::{Finish, Grade, Parser, Turn};

use crate::markers::MARKERS;
use crate::support::{CASES, Case, says_the_same, turn_of};

fn read(case: &Case, text: &str, step: usize) -> Turn {
    let parser = Parser::new(&case.set, case.options.clone());
    turn_of(parser, text.as_bytes().chunks(step), case.finish)
}

/// A tag of a marker up to the end of its name, the offset of its name, and the end of the tag.
pub fn head(marker: &str, at: usize) -> Option<(String, usize, &'static str)> {
    let rest = &marker[at..];
    let (name, end) = if let Some(token) = rest.strip_prefix("<|") {
        (token.find("|>")? + 4, "<|")
    } else if let Some(inner) = rest.trim_start_matches(['<', '/']).strip_prefix('｜') {
        let bar = inner.find('｜')?;
        (rest.len() - inner.len() + bar + '｜'.len_utf8(), ">")
    } else {
        (rest.len() - rest.trim_start_matches(['<', '/']).len(), ">")
    };
    let word = |c: char| c.is_ascii_alphanumeric() || "_:-.".contains(c);
    let len = rest[name..].find(|c| !word(c))?;
    let behind = &rest[name + len..];
    let shows = behind.starts_with([' ', '=']) && rest.contains(end);
    // One letter is the sample of a hole, not a name of the dialect, or an element of HTML.
    let fits = len > 1 && (behind.starts_with(end) || shows);
    fits.then(|| (rest[..name + len].to_owned(), name, end))
}

/// The tags of each dialect.
fn tags() -> BTreeMap<&'static str, BTreeSet<(String, usize, &'static str)>> {
    let heads = |text: &str| -> Vec<_> {
        let starts = text.match_indices('<').map(|(at, _)| at);
        starts.filter_map(|at| head(text, at)).collect()
    };
    let mut out: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for marker in MARKERS.iter() {
        let tags: &mut BTreeSet<_> = out.entry(marker.dialect).or_default();
        tags.extend(heads(&marker.text));
    }
    out
}

/// The misspellings of the tag at `at`.
pub fn slips(text: &str, at: usize, (head, name, end): &(String, usize, &str)) -> Vec<String> {
    let behind = at + head.len();
    let close = head.contains('/') || head.contains("close");
    // The attributes of some tags may be arguments; the closer of a value takes none.
    let shows = text[behind..].starts_with(' ');
    let inside: &[&str] = match (close, shows) {
        (true, _) | (_, true) => &[" ", "\n"],
        (false, false) => &[" ", "\n", " id=\"1\"", "\n index='2 > 1' id=3 "],
    };
    let tail = text[behind..].find(end).map(|len| behind + len);
    let put = |at: usize, slip: &str| format!("{}{slip}{}", &text[..at], &text[at..]);
    let mut out: Vec<String> = tail
        .iter()
        .flat_map(|at| inside.iter().map(|s| put(*at, s)))
        .collect();
    if *name > 1 {
        let lead: &[&str] = if head.starts_with("</") && *name == 2 {
            &[" ", "\n"]
        } else {
            &[" ", "\n", "  "]
        };
        out.extend(lead.iter().map(|slip| put(at + name, slip)));
    }
    out
}

#[test]
fn blanks_and_attributes_do_not_change_any_tag() {
    let tags = tags();
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let (mut tried, mut failures) = (0, vec![]);
    for case in CASES.iter() {
        let Ok(text) = std::str::from_utf8(case.input) else {
            continue;
        };
        let plain = read(case, text, text.len().max(1));
        let sound =
            plain.issues.is_empty() && case.finish == Finish::Stop && case.native.is_empty();
        let prompted = case.options.prompt_tail.is_some();
        if !sound || prompted || plain.calls.is_empty() && plain.reasoning.is_empty() {
            continue;
        }
        // Where a thought is open already, its opener is an echo.
        if read(case, "x", 1).text.is_empty() {
            continue;
        }
        for tag in tags.get(case.dialect).into_iter().flatten() {
            let count = counts.entry((case.dialect, &tag.0)).or_default();
            let Some(at) = text.find(&tag.0).filter(|_| *count < 1) else {
                continue;
            };
            let next = text[at + tag.0.len()..].starts_with([' ', '=', '>', '<']);
            let said = |part: &str| part.contains(&tag.0);
            let mentioned = said(&plain.text) || said(&plain.reasoning);
            if !next || mentioned || plain.calls.iter().any(|call| said(&call.arguments)) {
                continue;
            }
            *count += 1;
            for loose in slips(text, at, tag) {
                tried += 1;
                let turn = read(case, &loose, loose.len());
                let sure = turn.calls.iter().all(|call| call.grade != Grade::Recovered);
                // The line end after a role belongs only to the plain token.
                let words = |text: &str| text.split_whitespace().collect::<String>();
                let same = turn.clone().text(plain.text.clone());
                let text = words(&turn.text) == words(&plain.text);
                if !text || !says_the_same(&same, &plain) || !sure {
                    failures.push(format!("{}: {loose:?}: {turn:?}", case.id));
                }
                if read(case, &loose, 1) != turn {
                    failures.push(format!("{}: {loose:?} byte by byte", case.id));
                }
            }
        }
    }
    assert!(tried > 800, "{tried}");
    let some: Vec<_> = failures.iter().take(40).cloned().collect();
    assert!(
        failures.is_empty(),
        "{} of {tried}:\n{}",
        failures.len(),
        some.join("\n")
    );
}

#[test]
fn prose_opens_no_thought() {
    for name in ["default", "hermes", "reasoning-think"] {
        let set = crate::markers::set(name);
        for text in [
            "<think about it> and go on.",
            "<think hard>\n",
            "<think class>x",
            "<think\nof it>, they say",
            "Use <think class=\"a\"> for thoughts.",
            "用 <think class=\"a\"> 思考。",
            "<think class=\"a\n\">x",
            "<think/>x",
            "< think>x",
        ] {
            let turn = toolglot::parse(&set, Default::default(), text.as_bytes(), Finish::Stop);
            let opens = name == "reasoning-think" && text.contains("class=\"a\">");
            assert_eq!(
                turn.reasoning.is_empty(),
                !opens,
                "{name}: {text}: {turn:?}"
            );
            assert!(opens || turn.text == text, "{name}: {text}: {turn:?}");
        }
    }
}
