//! In the mode of whole characters, text comes in whole characters, wherever invalid bytes occur.

use toolglot::{Event, Parser, ReasoningMode, TextMode};

use crate::support::{CASES, Case};

/// Invalid UTF-8: a continuation byte, incomplete characters, and bytes that begin no character.
const BAD: [&[u8]; 5] = [b"\x96", b"\xe4\xb8", b"\xff", b"\xf0\x9f\x8c", b"\xc3"];

fn checked(case: &Case, input: &[u8], reasoning: ReasoningMode, size: usize) -> (String, String) {
    let mut options = case.options.clone();
    options.text = TextMode::Chars;
    options.reasoning = reasoning;
    let mut parser = Parser::new(&case.set, options);
    let (mut text, mut thought) = (String::new(), String::new());
    let mut sink = |event: Event<'_>| {
        let (data, into) = match event {
            Event::Text { data, .. } => (data, &mut text),
            Event::Reasoning { data, .. } => (data, &mut thought),
            Event::Protected { data, .. } => {
                let whole = std::str::from_utf8(data).is_ok();
                return assert!(whole, "{}: {:?}", case.id, String::from_utf8_lossy(input));
            }
            _ => return,
        };
        match std::str::from_utf8(data) {
            Ok(piece) => into.push_str(piece),
            Err(why) => panic!(
                "{}: {why} in {:?} of {:?}",
                case.id,
                String::from_utf8_lossy(data),
                String::from_utf8_lossy(input)
            ),
        }
    };
    for chunk in input.chunks(size) {
        parser.feed(chunk, &mut sink);
    }
    case.end(&mut parser, &mut sink);
    (text, thought)
}

#[test]
fn whole_characters_come_out_despite_invalid_bytes() {
    let mut last = "";
    for (number, case) in CASES.iter().enumerate() {
        if case.input.len() > 400 {
            continue;
        }
        // The first vector of a dialect is broken at every place, the others at a few.
        let step = if case.dialect == last { 37 } else { 1 };
        last = case.dialect;
        for at in (number % step..=case.input.len()).step_by(step) {
            let bad = BAD[(number + at) % BAD.len()];
            let (head, tail) = case.input.split_at(at);
            let input = [head, bad, tail].concat();
            for reasoning in [ReasoningMode::Split, ReasoningMode::Text] {
                let whole = checked(case, &input, reasoning, input.len());
                assert_eq!(
                    checked(case, &input, reasoning, 1),
                    whole,
                    "{} {at}",
                    case.id
                );
            }
        }
    }
}
