//! Markers that overlap themselves: wherever a marker is expected, the bytes so far may contain the beginning of another.

use toolglot::json::json;
use toolglot::{Collect, DialectSet, Finish, Options, Parser, Turn};

const MARKERS: [&str; 7] = ["aab", "abab", "<<|", "]]>", "aaab", "-->", "<a<a>"];

/// A built-in dialect with one of its markers replaced.
fn with(id: &str, own: &str, marker: &str) -> DialectSet {
    let files = toolglot::builtin_files();
    let (_, text) = files.iter().find(|(name, _)| *name == id).expect("a file");
    assert!(text.contains(own), "{id} has {own}");
    let text = text.replace(own, marker);
    let built = DialectSet::builder().toml("mine.toml", &text).build();
    built.unwrap_or_else(|why| panic!("{id} with {marker}: {why}"))
}

/// Beginnings of a marker, once and repeated, that may precede it without hiding it.
fn leads(marker: &str) -> Vec<String> {
    let begins: Vec<&str> = (1..marker.len()).map(|len| &marker[..len]).collect();
    let twice = begins
        .iter()
        .flat_map(|a| begins.iter().map(move |b| format!("{a}{b}")));
    let mut leads: Vec<String> = begins
        .iter()
        .map(|a| (*a).to_owned())
        .chain(twice)
        .collect();
    leads.push(begins.concat());
    leads.retain(|lead| format!("{lead}{marker}").find(marker) == Some(lead.len()));
    assert!(leads.len() > 3, "{marker} has {} leads", leads.len());
    leads
}

fn read(set: &DialectSet, options: &Options, input: &str) -> Turn {
    let run = |size: usize| {
        let (mut parser, mut turn) = (Parser::new(set, options.clone()), Collect::new());
        for chunk in input.as_bytes().chunks(size) {
            parser.feed(chunk, &mut turn);
        }
        parser.finish(Finish::Stop, &mut turn);
        turn.turn()
    };
    let whole = run(input.len());
    assert_eq!(run(1), whole, "{input}");
    whole
}

/// The only argument of the only call.
fn argument(turn: &Turn) -> String {
    assert_eq!(turn.calls.len(), 1, "{turn:?}");
    turn.calls[0].arguments.clone()
}

#[test]
fn a_marker_ends_the_header_of_a_message() {
    for marker in MARKERS {
        let set = with("harmony", "<|message|>", marker);
        for lead in leads(marker) {
            let input = format!("<|channel|>final{lead}{marker}Hi<|end|>");
            let turn = read(&set, &Options::default(), &input);
            assert_eq!(turn.text, "Hi", "{input}: {turn:?}");
        }
    }
}

/// In a thought, the rest of a header ends it before the closer with which the header's last marker begins.
#[test]
fn a_marker_that_ends_a_header_may_begin_with_a_closer() {
    let set = with("harmony", "<|message|>", "<|end|>m");
    let input = "<|channel|>analysis<|end|>mCall it. to=functions.f<|end|>m{}<|call|>";
    let turn = read(&set, &Options::default(), input);
    assert_eq!(argument(&turn), "{}");
    assert_eq!(turn.reasoning, "Call it.");
}

#[test]
fn a_marker_ends_a_parameter() {
    for marker in MARKERS {
        let set = with("qwen3-coder", "</parameter>", marker);
        for lead in leads(marker) {
            let input = format!(
                "<tool_call><function=f><parameter=k>x{lead}{marker}</function></tool_call>"
            );
            let value = format!("x{lead}");
            let want = json!({"k": value}).to_string();
            let turn = read(&set, &Options::default(), &input);
            assert_eq!(argument(&turn), want, "{input}");
        }
    }
}

#[test]
fn a_delimiter_ends_a_string() {
    // It must not begin like a value.
    for marker in ["<<|", "<a<a>", "$$a", "%a%a!"] {
        let set = with("gemma4", "<|\"|>", marker);
        for lead in leads(marker) {
            let input = format!("<|tool_call>call:f{{k:{marker}{lead}{marker}}}<tool_call|>");
            let value = lead.clone();
            let want = json!({"k": value}).to_string();
            let turn = read(&set, &Options::default(), &input);
            assert_eq!(argument(&turn), want, "{input}");
        }
    }
}

#[test]
fn a_quote_ends_a_field() {
    for marker in MARKERS {
        let set = with("tam", "「末」", marker);
        for lead in leads(marker) {
            let input = format!(
                "<|[REQUEST_TOOL]|>\ncommand:「始」f{marker}\nk:「始」x{lead}{marker}\n<|[END_TOOL]|>"
            );
            let value = format!("x{lead}");
            let want = json!({"k": value}).to_string();
            let turn = read(&set, &Options::default(), &input);
            assert_eq!(argument(&turn), want, "{input}");
        }
    }
}

#[test]
fn a_marker_ends_a_thought() {
    for marker in MARKERS {
        let set = with("hermes", "</think>", marker);
        for lead in leads(marker) {
            let input = format!("<think>x{lead}{marker} after");
            let turn = read(&set, &Options::default(), &input);
            let found = (turn.reasoning.as_str(), turn.text.as_str());
            assert_eq!(found, (format!("x{lead}").as_str(), " after"), "{input}");
        }
    }
}

#[test]
fn a_marker_ends_what_is_hidden() {
    for marker in MARKERS {
        let set = with("hermes", "</tool_call>", marker);
        let mut small = Options::default();
        small.limits.max_value = 4;
        for lead in leads(marker) {
            let input = format!("<tool_call>{{\"name\": f {lead}{marker} after");
            let turn = read(&set, &Options::default(), &input);
            assert_eq!(turn.text, " after", "{input}: {turn:?}");
            let input = format!(
                "<tool_call>{{\"name\": \"f\", \"arguments\": {{\"k\": \"123456 {lead}{marker} after"
            );
            let turn = read(&set, &small, &input);
            assert_eq!(turn.text, " after", "{input}: {turn:?}");
        }
    }
}
