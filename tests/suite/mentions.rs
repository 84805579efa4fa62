//! A marker that is only mentioned is text: `tests/mentions/*.jsonl`, with the default set.
//!
//! One case per line: `input`, the `mentions` in it in order, and `within`: the number of bytes after a mention at which
//! everything has been delivered. The test appends plain prose, so that a parser stuck on a mention would be caught waiting.
//! Delivered bytes are counted from events, never taken from the parser's own figures.
//!
//! `special-tokens.jsonl` has markers spelled like special tokens: split, misspelled, or in code where their dialect ignores
//! code. `openers` has every opener whole.

use std::collections::BTreeSet;

use serde::Deserialize;
use toolglot::{Event, Finish, Options, Parser, Severity, parse};

use crate::markers::set;
use crate::openers::CALLS;
use crate::replay::checks::pieces;
use crate::support::{DEFAULTS, root, some};

/// Pairs of quotation marks, of one byte and of more.
const QUOTATION: [[&str; 2]; 6] = [
    ["'", "'"],
    ["\"", "\""],
    ["`", "`"],
    ["‘", "’"],
    ["“", "”"],
    ["「", "」"],
];

/// Plain prose, longer than any `within`.
const TAIL: &str = "\n\nThe ferry left the pier at nine. It carried mail, two bicycles and a crate of lamps. \
    Nobody on deck spoke of the weather. 船在九点离开码头。船上有邮件和两辆自行车。甲板上没有人谈论天气。\
    By noon the island was in sight. The harbour was small and quiet. 中午时分看见了小岛。港口又小又安静。\
    They tied the ropes, set down the crate and went home. That is the end of the story.\n";

/// One line of a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    id: String,
    input: String,
    mentions: Vec<String>,
    within: usize,
}

impl Case {
    /// Offsets after the mentions.
    fn ends(&self) -> Vec<usize> {
        let mut from = 0;
        let end = |mention: &String| {
            let at = self.input[from..].find(mention.as_str());
            from += at.unwrap_or_else(|| panic!("{}: no {mention}", self.id)) + mention.len();
            from
        };
        self.mentions.iter().map(end).collect()
    }
}

fn cases() -> Vec<Case> {
    let entries = std::fs::read_dir(root().join("tests/mentions")).expect("the folder");
    let mut out = vec![];
    for entry in entries {
        let text = std::fs::read_to_string(entry.expect("an entry").path()).expect("a file");
        let read = |line: &str| serde_json::from_str::<Case>(line).expect(line);
        out.extend(text.lines().map(read));
    }
    out
}

/// What a stream delivered when fed byte by byte.
#[derive(Default)]
struct Seen {
    /// Bytes of text delivered after each number of bytes.
    delivered: Vec<usize>,
    text: Vec<u8>,
    wrong: Vec<String>,
}

fn byte_by_byte(input: &str) -> Seen {
    let mut parser = Parser::new(&DEFAULTS, Options::default());
    let mut seen = Seen {
        delivered: vec![0],
        ..Seen::default()
    };
    let mut take = |seen: &mut Seen, byte: Option<u8>| {
        let (text, wrong) = (&mut seen.text, &mut seen.wrong);
        let mut sink = |event: Event<'_>| match event {
            Event::Text { data, .. } => text.extend_from_slice(data),
            Event::Issue(issue) if issue.severity == Severity::Warning => {}
            other => wrong.push(format!("{other:?}")),
        };
        match byte {
            Some(byte) => {
                parser.feed(&[byte], &mut sink);
            }
            None => parser.finish(Finish::Stop, &mut sink),
        }
        seen.delivered.push(seen.text.len());
    };
    for byte in input.bytes() {
        take(&mut seen, Some(byte));
    }
    take(&mut seen, None);
    seen
}

/// Offsets after the last character of sentences.
fn sentence_ends(text: &str) -> impl Iterator<Item = usize> {
    let ends = |(at, c): (usize, char)| {
        let behind = at + c.len_utf8();
        let last = match c {
            '。' | '！' | '？' => true,
            '.' | '!' | '?' => text[behind..].starts_with([' ', '\n']),
            _ => false,
        };
        last.then_some(behind)
    };
    text.char_indices().filter_map(ends)
}

#[test]
fn mentions_are_text_and_hold_nothing_back() {
    let mut failures = vec![];
    for case in cases() {
        let input = format!("{}{TAIL}", case.input);
        let seen = byte_by_byte(&input);
        let mut wrong = vec![];
        if seen.text != input.as_bytes() {
            let same = seen.text.iter().zip(input.as_bytes());
            let at = same.take_while(|(a, b)| a == b).count();
            let lacks: String = String::from_utf8_lossy(&input.as_bytes()[at..])
                .chars()
                .take(40)
                .collect();
            wrong.push(format!("text is lost from {at} on: {lacks:?}"));
        }
        wrong.extend(seen.wrong.first().cloned());
        let ends = case.ends();
        for (end, mention) in ends.iter().zip(&case.mentions) {
            let mut window = *end..=end + case.within;
            if !window.any(|at| seen.delivered[at] == at) {
                let within = case.within;
                wrong.push(format!("bytes wait {within} bytes behind {mention:?}"));
            }
        }
        let waits = |at: &usize| {
            let near = |end: &usize| (*end..end + case.within).contains(at);
            seen.delivered[*at] != *at && !ends.iter().any(near)
        };
        if let Some(at) = sentence_ends(&input).find(waits) {
            let count = at - seen.delivered[at];
            wrong.push(format!(
                "{count} bytes wait after the sentence that ends at {at}"
            ));
        }
        if !wrong.is_empty() {
            failures.push(format!("{}: {}", case.id, wrong.join("\n    ")));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn mentions_are_text_also_in_one_chunk_and_at_the_end() {
    for case in cases() {
        for input in [case.input.clone(), format!("{}{TAIL}", case.input)] {
            let turn = parse(
                &DEFAULTS,
                Options::default(),
                input.as_bytes(),
                Finish::Stop,
            );
            let id = &case.id;
            assert_eq!(turn.text, input, "{id}");
            assert!(
                turn.calls.is_empty() && turn.reasoning.is_empty(),
                "{id}: {turn:?}"
            );
            let errors = |report: &&toolglot::Report| report.severity == Severity::Error;
            assert_eq!(turn.issues.iter().find(errors), None, "{id}");
        }
    }
}

#[test]
fn the_corpus_is_large_and_in_order() {
    let cases = cases();
    assert!(cases.len() >= 120, "{} cases", cases.len());
    let ids: BTreeSet<&str> = cases.iter().map(|case| case.id.as_str()).collect();
    assert_eq!(ids.len(), cases.len(), "an id is repeated");
    let chinese = cases
        .iter()
        .filter(|case| case.input.contains('。'))
        .count();
    assert!(chinese >= 30, "{chinese} cases in Chinese");
    for case in &cases {
        assert!(case.within < TAIL.len() / 2, "{}", case.id);
        assert_eq!(case.ends().len(), case.mentions.len());
    }
}

/// Whether an opener has a spelling that nobody types by chance.
fn special(opener: &str) -> bool {
    ["|", "｜", "]<]", "<<<["]
        .iter()
        .any(|part| opener.contains(part))
}

#[test]
fn every_plain_opener_of_the_default_set_is_mentioned() {
    let cases = cases();
    for dialect in DEFAULTS.dialects() {
        for opener in dialect
            .openers()
            .into_iter()
            .filter(|opener| !special(opener))
        {
            let mentioned = |case: &Case| case.input.contains(&opener);
            let count = cases.iter().filter(|case| mentioned(case)).count();
            assert!(count > 0, "no case mentions `{opener}` of {}", dialect.id());
        }
    }
}

#[test]
fn a_quotation_may_end_anywhere_in_a_call() {
    let step = (64 / some(64)) as usize;
    for (&dialect, &call) in CALLS.iter() {
        let set = set(dialect);
        let places = (0..=call.len()).filter(|&at| call.is_char_boundary(at));
        for (n, at) in places.enumerate() {
            for (m, [open, close]) in QUOTATION.iter().enumerate() {
                if !(n + m).is_multiple_of(step) {
                    continue;
                }
                let input = format!("As {open}{}{close}, or so.", &call[..at]);
                pieces(&set, &Options::default(), input.as_bytes(), 1);
            }
        }
    }
}
