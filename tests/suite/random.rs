//! Laws 1, 2, 3 and 5 over random inputs, chunkings and options.

use proptest::collection::vec;
use proptest::prelude::*;
use toolglot::{Arguments, Event, Finish, Options, Parser, Retain, Sink, TextMode};
use toolglot_testkit::vectors::{Log, partition};

use crate::support::DEFAULTS;

/// Pieces of markup, near-misses included.
const PIECES: &[&str] = &[
    "<tool_call",
    " name=\"f\"",
    ">",
    "/>",
    "<param name=\"k\">",
    "</param>",
    "</tool_call>",
    "<tool_action",
    "<k value=\"",
    "\"",
    "</tool_action>",
    "<k>",
    "</k>",
    "<ACTION>",
    "</ACTION>",
    "<t>",
    "</t>",
    "<![CDATA[",
    "]]>",
    "<!--",
    "-->",
    "&lt;",
    "&#20013;",
    "&",
    "<",
    "<|[REQUEST_TOOL]|>",
    "<|[END_TOOL]|>",
    "<<<[TOOL_REQUEST]>>>",
    "<<<[END_TOOL_REQUEST]>>>",
    "command:「始」f「末」",
    "tool_name:「始」f「末」",
    "k:「始」",
    "「末」",
    "「始ESCAPE」",
    "「末ESCAPE」",
    "「",
    "command1:「始」g「末」",
    "k1:「始」v「末」",
    "# c",
    "// c",
    ",",
    "，",
    "\n",
    "\r\n",
    " ",
    "```",
    "`",
    "<think>",
    "</think>",
    "<thinking>",
    "<<<DailyNoteStart>>>",
    "<<<DailyNoteEnd>>>",
    "words",
    "中文",
    "🌊",
    "'",
    "=",
    "<!DOCTYPE a [",
    "]",
    "<<<[",
    "<|[",
    "name:",
    "\u{0}",
    "é",
];

fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        12 => (0..PIECES.len()).prop_map(|n| PIECES[n].as_bytes().to_vec()),
        1 => vec(any::<u8>(), 1..4),
    ]
}

fn input() -> impl Strategy<Value = Vec<u8>> {
    vec(piece(), 0..40).prop_map(|pieces| pieces.concat())
}

fn some_options() -> impl Strategy<Value = Options> {
    (
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        prop_oneof![3 => Just(0_u64), 1 => 1..60_u64],
    )
        .prop_map(|(chars, none, inside, small)| {
            let mut options = Options::default();
            options.text = if chars {
                TextMode::Chars
            } else {
                TextMode::Bytes
            };
            options.retain = if none { Retain::None } else { Retain::Block };
            options.calls_in_reasoning = inside;
            if small > 0 {
                options.limits.max_value = small;
                options.limits.max_block = small * 4;
                options.limits.max_lookahead = small as u32;
                options.limits.max_header = small as u32;
                options.limits.max_name = small as u32;
                options.limits.max_depth = 2;
                options.limits.max_calls = 3;
                options.limits.max_params = 4;
            }
            options
        })
}

fn run(options: &Options, chunks: &[&[u8]], sink: &mut dyn Sink) {
    let mut parser = Parser::new(&DEFAULTS, options.clone());
    for chunk in chunks {
        parser.feed(chunk, sink);
    }
    parser.finish(Finish::Stop, sink);
}

fn log(options: &Options, chunks: &[&[u8]]) -> Log {
    let mut log = Log::new();
    run(options, chunks, &mut log);
    log
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn cuts_change_nothing_and_nothing_is_lost(
        input in input(),
        options in some_options(),
        cuts in vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let whole = log(&options, &[&input]);
        prop_assert_eq!(partition(&whole, &input, options.text == TextMode::Bytes), None);
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(input.len() + 1)).collect();
        places.sort_unstable();
        let mut chunks: Vec<&[u8]> = vec![];
        let mut from = 0;
        for place in places {
            chunks.push(&input[from..place]);
            from = place;
        }
        chunks.push(&input[from..]);
        let cut = log(&options, &chunks);
        prop_assert!(whole == cut, "{:?}", whole.difference(&cut));
        let bytes: Vec<&[u8]> = input.chunks(1).collect();
        let single = log(&options, &bytes);
        prop_assert!(whole == single, "{:?}", whole.difference(&single));
    }

    #[test]
    fn escaped_text_holds_no_marker(input in input(), header: [u8; 4]) {
        crate::replay::checks::escape(&[&header, input.as_slice()].concat());
    }

    #[test]
    fn deltas_are_json_and_calls_are_closed_or_void(input in input(), options in some_options()) {
        let (mut open, mut json, mut block) = (None, String::new(), false);
        let mut wrong = None;
        let mut sink = |event: Event<'_>| match event {
            Event::BlockOpen { .. } => { if block { wrong = Some("a block in a block".to_owned()); } block = true; }
            Event::BlockClose { .. } => { if open.is_some() { wrong = Some("a call outlives its block".to_owned()); } block = false; }
            Event::BlockAbandoned { .. } => { open = None; block = false; }
            Event::CallOpen { call, .. } => { if open.replace(call).is_some() { wrong = Some("two open calls".to_owned()); } json.clear(); }
            Event::ArgDelta { call, json: piece, .. } => { if open != Some(call) { wrong = Some("a delta of no call".to_owned()); } json.push_str(piece); }
            Event::CallAbandoned { call, .. } if open.take() != Some(call) => wrong = Some("no open call is abandoned".to_owned()),
            Event::CallClose { call, arguments, .. } => {
                if open.take() != Some(call) { wrong = Some("a close of no call".to_owned()); }
                if arguments == Arguments::Deltas && serde_json::from_str::<toolglot::json::Map>(&json).is_err() {
                    wrong = Some(format!("no object: {json}"));
                }
            }
            _ => {}
        };
        run(&options, &[&input], &mut sink);
        prop_assert_eq!(wrong, None);
        prop_assert!(open.is_none() && !block, "something is open at the end");
    }

    #[test]
    fn what_waits_is_bounded(input in input()) {
        let options = Options::default();
        let bound = DEFAULTS.bound(&options.limits);
        let mut parser = Parser::new(&DEFAULTS, options);
        for byte in &input {
            parser.feed(&[*byte], &mut |_: Event<'_>| {});
            prop_assert!(parser.held() <= bound);
        }
    }
}
