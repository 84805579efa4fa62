//! Two calls in each built-in framed dialect, one of them broken: the other one is valid.

use std::sync::Arc;

use toolglot::{
    Collect, DialectSet, EncodeCall, EncodeOptions, Finish, Grade, Options, Parser, Tools,
    builtin_files,
};

const TOOLS: &str = r#"[
    {"name": "f", "parameters": {"properties": {"a": {"type": "string"}}}},
    {"name": "g", "parameters": {"properties": {"b": {"type": "string"}}}}]"#;

/// Dialects in which the broken text is read differently: quotes are optional, or the broken call's marker lacks
/// evidence, so that the call is text.
const READ_OTHERWISE: [&str; 13] = [
    "cline-xml",
    "functiongemma",
    "gemma4",
    "glm45",
    "glm47",
    "hy-v4",
    "iquest-q1",
    "ling3",
    "minicpm5",
    "morph-xml",
    "poolside",
    "spark25",
    "yaml-xml",
];

fn written(set: &DialectSet, id: &str, calls: [(&str, &str); 2]) -> Option<String> {
    let calls = calls.map(|(name, arguments)| EncodeCall::new(name, arguments));
    let mut options = EncodeOptions::default();
    options.tools = Some(Arc::new(Tools::from_json(TOOLS).expect("tools")));
    toolglot::encode(set, id, &calls, &options).ok()
}

/// Texts in which one call is broken.
fn broken(set: &DialectSet, id: &str) -> Vec<String> {
    let (f, g) = (("f", r#"{"a":"Q7Q"}"#), ("g", r#"{"b":"two"}"#));
    let texts = [[f, g], [g, f]].map(|calls| written(set, id, calls));
    let mut out = vec![];
    for text in texts.iter().flatten() {
        for value in ["\"Q7Q\"", "'Q7Q'", "<|\"|>Q7Q<|\"|>", "<escape>Q7Q<escape>"] {
            if text.contains(value) {
                for wrong in [
                    "%% @".to_owned(),
                    format!("{value} nope"),
                    "[1, }".to_owned(),
                ] {
                    out.push(text.replace(value, &wrong));
                }
                break;
            }
        }
    }
    let none = written(set, id, [("f", "{}"), g]);
    if let (true, Some(text), Some(none)) = (out.is_empty(), &texts[0], none) {
        // Parameters between tags: a bracket before the first of them.
        let same = text.bytes().zip(none.bytes()).take_while(|(a, b)| a == b);
        let same = same.count();
        let head = &text.as_bytes()[..same];
        let last = |byte: u8| head.iter().rposition(|b| *b == byte);
        let at = if last(b'<') > last(b'>') {
            last(b'<').unwrap_or(same)
        } else {
            same
        };
        out.push(format!("{}[nope{}", &text[..at], &text[at..]));
    }
    out
}

#[test]
fn a_broken_call_does_not_affect_the_other() {
    let mut tried = 0;
    for (id, toml) in builtin_files() {
        let quoted = READ_OTHERWISE.contains(id);
        if quoted || !toml.contains("[[framed.unit]]") {
            continue;
        }
        let set = DialectSet::builtin(id).expect("a built-in dialect");
        for text in broken(&set, id) {
            for chunk in [1, 7, text.len()] {
                let mut options = Options::default();
                options.tools = Some(Arc::new(Tools::from_json(TOOLS).expect("tools")));
                let mut parser = Parser::new(&set, options);
                let mut turn = Collect::new();
                for piece in text.as_bytes().chunks(chunk) {
                    parser.feed(piece, &mut turn);
                }
                parser.finish(Finish::Stop, &mut turn);
                let turn = turn.turn();
                let calls: Vec<_> = turn.calls.iter().map(|c| (&*c.name, c.grade)).collect();
                // In a list whose brackets do not nest, the ends of the items are unknown.
                let lost = text.contains("[1, }") && calls.iter().all(|(name, _)| *name == "g");
                // Where the section lacks evidence, a call in it is valid without the section.
                let stands = calls == [("g", Grade::Complete)] || calls == [("g", Grade::Repaired)];
                assert!(lost || stands, "{id}: {text:?}: {calls:?}");
                // Whatever was dropped with it is reported.
                let wrong = ["%% @", "nope", "[1, }"].into_iter();
                let found = wrong.filter_map(|wrong| text.find(wrong).map(|at| (at as u64, wrong)));
                let (at, wrong) = found.min().expect("a break");
                let mut dropped = turn.not_delivered.dropped.iter();
                let told = turn.text.contains(wrong)
                    || dropped.any(|d| d.span.start <= at && at < d.span.end);
                assert!(told, "{id}: {text:?}: {:?}", turn.not_delivered);
            }
            tried += 1;
        }
    }
    assert!(tried > 200, "{tried}");
}
