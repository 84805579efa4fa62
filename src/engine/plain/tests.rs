//! The fast paths against the engine, which [`Parser::feed_until`] always takes.

use super::super::State;
use super::*;
use crate::dialect::DialectSet;
use crate::event::Event;

/// What texts are made of: beginnings of markers, and what matters to lines, code, links and characters.
const PIECES: [&str; 28] = [
    " of",
    "f",
    "fu",
    "functools",
    "L",
    "Act",
    "Action:",
    "[",
    "[TH",
    "](a) ",
    "]<]",
    "<",
    "</",
    "<tool",
    "<think>",
    "</think>",
    "\n",
    "\n\n",
    "  ",
    "- a\n",
    "`",
    "```",
    "~~~",
    "天气",
    "é",
    "😀",
    "plain words",
    "1. ",
];

/// Text and reasoning, without the places of cuts.
#[derive(Debug, Default, PartialEq)]
struct Output(Vec<(bool, Vec<u8>)>);

impl Sink for Output {
    fn event(&mut self, event: Event<'_>) {
        let (thought, data) = match event {
            Event::Text { data, .. } => (false, data),
            Event::Reasoning { data, .. } => (true, data),
            _ => return,
        };
        match self.0.last_mut().filter(|(last, _)| *last == thought) {
            Some((_, all)) => all.extend_from_slice(data),
            None => self.0.push((thought, data.to_vec())),
        }
    }
}

/// Feeds chunks, and returns the paces that were met as well.
fn fast(parser: &mut Parser, chunks: &[&[u8]]) -> (Output, Vec<Pace>) {
    let (mut output, mut paces) = (Output::default(), vec![]);
    for chunk in chunks {
        parser.feed(chunk, &mut output);
        paces.push(parser.pace);
    }
    (output, paces)
}

fn slow(parser: &mut Parser, text: &[u8]) -> (Output, State) {
    let mut output = Output::default();
    assert_eq!(parser.feed_until(text, &mut output), text.len());
    (output, parser.state.clone())
}

#[test]
fn fast_paths_do_what_the_engine_does() {
    let sets = [
        DialectSet::defaults(),
        DialectSet::builtin("tool-call-xml").expect("a built-in dialect"),
    ];
    let mut seed = 3_u64;
    let mut random = |below: usize| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let mut met = vec![];
    for round in 0..4_000 {
        let text = [TextMode::Bytes, TextMode::Chars][round % 2];
        let options = Options::default().text(text);
        let words = (0..random(24)).map(|_| PIECES[random(PIECES.len())]);
        let mut text = words.collect::<String>().into_bytes();
        if round % 5 == 0 && !text.is_empty() {
            // Not always UTF-8.
            text.remove(random(text.len()));
        }
        if round % 7 == 0 {
            text.splice(
                0..0,
                b"Some words, so that the chunk is long enough. ".repeat(random(4)),
            );
        }
        let most = 1 + random(12);
        let (mut chunks, mut rest) = (vec![], text.as_slice());
        while !rest.is_empty() {
            let (chunk, behind) = rest.split_at(rest.len().min(1 + random(most)));
            chunks.push(chunk);
            rest = behind;
        }
        let parser = Parser::new(&sets[round / 2 % 2], options);
        let (expected, state) = slow(&mut parser.clone(), &text);
        for chunks in [chunks, vec![text.as_slice()]] {
            let mut parser = parser.clone();
            let (output, paces) = fast(&mut parser, &chunks);
            let shown = String::from_utf8_lossy(&text);
            assert_eq!(output, expected, "{shown:?}");
            assert_eq!(parser.state, state, "{shown:?}");
            met.extend(paces);
        }
    }
    for pace in [Pace::Careful, Pace::Flow, Pace::Line, Pace::Plain] {
        let count = met.iter().filter(|met| **met == pace).count();
        assert!(count > 500, "{pace:?}: {count}");
    }
}
