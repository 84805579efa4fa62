//! The original text of a reply, and the text before and after its blocks.

use toolglot::{Collect, Event, Finish, Options, OwnedEvent, Parser, Retain, TextMode};

use crate::support::{CASES, DEFAULTS};

const BLOCK: &str = "<ACTION><f><x>1</x></f></ACTION>";

#[test]
fn a_turn_can_hold_the_original_text() {
    let mut whole = 0;
    for case in CASES.iter() {
        let retained = case.options.retain != Retain::None;
        if !retained || case.options.text != TextMode::Bytes || !case.native.is_empty() {
            continue;
        }
        for size in [1, 7, case.input.len().max(1)] {
            let (mut parser, mut turn) = (case.parser(), Collect::new().keep_original());
            for chunk in case.input.chunks(size) {
                parser.feed(chunk, &mut turn);
            }
            parser.finish(case.finish, &mut turn);
            let input = String::from_utf8_lossy(case.input);
            assert_eq!(
                turn.turn().original.as_deref(),
                Some(&*input),
                "{}",
                case.id
            );
        }
        whole += 1;
    }
    assert!(whole > 1000, "{whole}");
}

#[test]
fn no_original_without_retention_or_request() {
    let read = |retain, mut turn: Collect| {
        let mut options = Options::default();
        options.retain = retain;
        let mut parser = Parser::new(&DEFAULTS, options);
        parser.feed(format!("Hi {BLOCK} bye").as_bytes(), &mut turn);
        parser.finish(Finish::Stop, &mut turn);
        turn.turn().original
    };
    assert_eq!(read(Retain::default(), Collect::new()), None);
    assert_eq!(read(Retain::None, Collect::new().keep_original()), None);
    let all = read(Retain::default(), Collect::new().keep_original());
    assert_eq!(all, Some(format!("Hi {BLOCK} bye")));
}

#[test]
fn events_distinguish_text_before_and_after_a_block() {
    let input = format!("Before {BLOCK} between {BLOCK} after");
    for size in [1, 5, input.len()] {
        let mut events: Vec<OwnedEvent> = vec![];
        let mut parser = Parser::new(&DEFAULTS, Options::default());
        for chunk in input.as_bytes().chunks(size) {
            parser.feed(chunk, &mut |event: Event<'_>| events.push(event.into()));
        }
        parser.finish(Finish::Stop, &mut |event: Event<'_>| {
            events.push(event.into())
        });
        let mut places = vec![String::new()];
        for event in &events {
            match event {
                OwnedEvent::Text { data, .. } => {
                    let text = std::str::from_utf8(data).expect("text");
                    places.last_mut().expect("a place").push_str(text);
                }
                OwnedEvent::BlockClose { .. } => places.push(String::new()),
                _ => {}
            }
        }
        assert_eq!(places, ["Before ", " between ", " after"], "{size}");
    }
}
