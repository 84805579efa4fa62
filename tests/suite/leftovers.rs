//! What escaping and sinks with a guard write, read once more by the same set: no call in it, whatever the text was made of.

use std::sync::LazyLock;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use toolglot::sink::mask::{Mask, Show};
use toolglot::{Collect, DialectSet, Escaper, Finish, Options, Parser, Sink, Turn, Unescaper};

use crate::markers::{MARKERS, set};
use crate::openers::CALLS;

/// Many dialects, and every fourth alone.
static SETS: LazyLock<Vec<DialectSet>> = LazyLock::new(|| {
    let ids = toolglot::builtin_files().iter().map(|(id, _)| *id);
    let mut names = vec!["default", "default", "all"];
    names.extend(ids.step_by(4));
    names.into_iter().map(set).collect()
});

/// Words between markers, and what payloads are made of.
const WORDS: [&str; 26] = [
    "word ",
    "中文",
    "\n",
    " ",
    "🌊",
    "{\"name\": \"f\", \"arguments\": {}}",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    "`",
    "```\n",
    "<",
    ">",
    "/",
    "\\",
    "f",
    "name",
    ":",
    "=",
    "「始」",
    "「末」",
    "(",
    ")",
];

/// A marker, a part of one, a call, a part of one, or a word.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let markers: Vec<&str> = MARKERS.iter().map(|marker| marker.text.as_str()).collect();
    let calls: Vec<&str> = CALLS.values().copied().collect();
    let part = |(text, a, b): (&str, Index, Index)| {
        let (a, b) = (a.index(text.len() + 1), b.index(text.len() + 1));
        text.as_bytes()[a.min(b)..a.max(b)].to_vec()
    };
    let whole = |text: &str| text.as_bytes().to_vec();
    prop_oneof![
        6 => select(markers.clone()).prop_map(whole),
        4 => (select(markers), any::<Index>(), any::<Index>()).prop_map(part),
        2 => select(calls.clone()).prop_map(whole),
        2 => (select(calls), any::<Index>(), any::<Index>()).prop_map(part),
        6 => select(WORDS.to_vec()).prop_map(whole),
        1 => vec(any::<u8>(), 1..4),
    ]
}

/// Pieces, of which some are put into others.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let inside = |(mut outer, inner, at): (Vec<u8>, Vec<u8>, Index)| {
        let at = at.index(outer.len() + 1);
        outer.splice(at..at, inner);
        outer
    };
    let nested = (piece(), piece(), any::<Index>()).prop_map(inside);
    vec(prop_oneof![3 => piece(), 1 => nested], 0..14).prop_map(|pieces| pieces.concat())
}

fn feed(set: &DialectSet, text: &[u8], size: usize, sink: &mut dyn Sink) {
    let mut parser = Parser::new(set, Options::default());
    for piece in text.chunks(size.max(1)) {
        parser.feed(piece, sink);
    }
    parser.finish(Finish::Stop, sink);
}

fn read(set: &DialectSet, text: &[u8]) -> Turn {
    let mut turn = Collect::new();
    feed(set, text, text.len(), &mut turn);
    turn.turn()
}

fn show(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

/// What a mask with a guard writes, with calls taken out, and the rest as it is told.
fn masked(set: &DialectSet, text: &[u8], size: usize, rest: &Show) -> Vec<u8> {
    let mut out = vec![];
    let mut mask = Mask::new(|bytes: &[u8]| out.extend_from_slice(bytes)).guard(set);
    mask = mask.reasoning(rest.clone()).protected(rest.clone());
    feed(set, text, size, &mut mask);
    drop(mask);
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn escaped_text_is_text(which: Index, text in text(), size in 1..9_usize) {
        let set = which.get(&SETS);
        let escaped = toolglot::escape(set, &text).expect("built-in markers can be escaped");
        let mut escaper = Escaper::new(set).expect("as above");
        let mut pieces = vec![];
        text.chunks(size).for_each(|piece| escaper.push(piece, &mut pieces));
        escaper.finish(&mut pieces);
        prop_assert_eq!(show(&pieces), show(&escaped), "in pieces of {}", size);
        let mut unescaper = Unescaper::new(set).expect("as above");
        let mut back = vec![];
        escaped.chunks(size).for_each(|piece| unescaper.push(piece, &mut back));
        unescaper.finish(&mut back);
        prop_assert_eq!(&back, &text, "{} came back as {}", show(&escaped), show(&back));
        // In a reply, and as the whole of one where no prompt opened a thought.
        let thinks = !read(set, b"x").reasoning.is_empty();
        for before in ["", "See: "] {
            let reply = [before.as_bytes(), &escaped].concat();
            let turn = read(set, &reply);
            prop_assert!(turn.calls.is_empty(), "{}: {:?}", show(&reply), turn.calls);
            if !thinks {
                prop_assert!(turn.reasoning.is_empty(), "{}: {:?}", show(&reply), turn.reasoning);
                prop_assert_eq!(&turn.text, &show(&reply));
            }
        }
    }

    #[test]
    fn what_is_left_over_is_no_call(which: Index, text in text(), size in 1..9_usize) {
        let set = which.get(&SETS);
        for rest in [Show::Keep, Show::Drop, Show::With("~".to_owned())] {
            let whole = masked(set, &text, text.len(), &rest);
            prop_assert_eq!(show(&masked(set, &text, size, &rest)), show(&whole), "{} in pieces of {}", show(&text), size);
            let turn = read(set, &whole);
            prop_assert!(turn.calls.is_empty(), "{:?} is {:?}: {:?}", show(&text), show(&whole), turn.calls);
        }
        let mut turn = Collect::new().guard(set);
        feed(set, &text, size, &mut turn);
        let left = turn.turn().text;
        let turn = read(set, left.as_bytes());
        prop_assert!(turn.calls.is_empty(), "{:?} leaves {left:?}: {:?}", show(&text), turn.calls);
    }
}
