//! What escaping and guarded sinks write, parsed again with the same set: it contains no call, whatever the text was made of.

use std::sync::LazyLock;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use toolglot::sink::mask::{Mask, Show};
use toolglot::{Collect, DialectSet, Escaper, Finish, Options, Parser, Sink, Turn, Unescaper};

use crate::markers::{MARKERS, set};
use crate::openers::CALLS;

/// Many dialects together, and every fourth alone.
static SETS: LazyLock<Vec<DialectSet>> = LazyLock::new(|| {
    let ids = toolglot::builtin_files().iter().map(|(id, _)| *id);
    let mut names = vec!["default", "default", "all"];
    names.extend(ids.step_by(4));
    names.into_iter().map(set).collect()
});

/// Words between markers, and pieces of payloads.
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

/// Pieces, some of them nested in others.
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

/// What a guarded mask writes without calls, with `rest` for reasoning and protected regions.
fn masked(set: &DialectSet, text: &[u8], size: usize, rest: &Show) -> Vec<u8> {
    let mut out = vec![];
    let mut mask = Mask::new(|bytes: &[u8]| out.extend_from_slice(bytes)).guard(set);
    mask = mask.reasoning(rest.clone()).protected(rest.clone());
    feed(set, text, size, &mut mask);
    drop(mask);
    out
}

/// The beginnings of replies that the prompt has opened, read from the dialect's file: a call without its opener, and the words alone.
fn begun(id: &str, file: &str) -> Vec<String> {
    let file: toml::Table = file.parse().expect("a built-in file");
    let strings = |value: &toml::Value| match value {
        toml::Value::Array(list) => list
            .iter()
            .filter_map(|one| one.as_str().map(str::to_owned))
            .collect(),
        value => value
            .as_str()
            .map(str::to_owned)
            .into_iter()
            .collect::<Vec<_>>(),
    };
    let mut out = vec![];
    let begins = file.get("begins").and_then(toml::Value::as_array);
    for entry in begins.into_iter().flatten() {
        let prompt = strings(&entry["prompt"]).concat();
        out.extend(
            CALLS
                .get(id)
                .and_then(|call| call.strip_prefix(&prompt))
                .map(str::to_owned),
        );
        for reply in strings(&entry["reply"]) {
            let reply = reply
                .replace("$name", "f")
                .replace("$_", "")
                .replace("$/", "");
            out.extend([format!("{reply}x"), reply]);
        }
    }
    out
}

/// Text does not become a call where a prompt may have opened one: escaped text, and text whose preceding part of the reply was
/// removed.
#[test]
fn text_at_the_start_of_a_reply_continues_nothing() {
    let (mut dialects, mut broken) = (0, 0);
    for (id, file) in toolglot::builtin_files() {
        let (set, starts) = (set(id), begun(id, file));
        dialects += usize::from(!starts.is_empty());
        let own = CALLS.get(id).map(|call| read(&set, call.as_bytes()));
        let mut names = own.map_or(vec![], |turn| turn.calls);
        let mut names: Vec<String> = names
            .drain(..)
            .map(|call| format!("{{\"name\":\"{}\"}}", call.name))
            .collect();
        names.push("{\"name\":\"f\"}".to_owned());
        names.dedup();
        let tools = toolglot::Tools::from_json(&format!("[{}]", names.join(","))).expect("tools");
        let mut options = Options::default();
        options.tools = Some(std::sync::Arc::new(tools));
        let parse = |text: &[u8], size: usize, sink: &mut dyn Sink| {
            let mut parser = Parser::new(&set, options.clone());
            for piece in text.chunks(size) {
                parser.feed(piece, sink);
            }
            parser.finish(Finish::Stop, sink);
        };
        let whole = |text: &[u8]| {
            let mut turn = Collect::new();
            parse(text, text.len().max(1), &mut turn);
            turn.turn()
        };
        for start in &starts {
            let escaped = toolglot::escape(&set, start.as_bytes()).expect("a built-in set");
            let turn = whole(&escaped);
            assert_eq!(
                (turn.text, turn.calls.len()),
                (show(&escaped), 0),
                "{id}: {start:?}"
            );
            assert_ne!(escaped, start.as_bytes(), "{id}");
            assert_eq!(
                toolglot::unescape(&set, &escaped).expect("the same"),
                start.as_bytes()
            );
            // After a call, and after a thought, both removed.
            let dialect = set.dialects().next().expect("one dialect");
            let (opens, closes) = (dialect.reasoning_openers(), dialect.reasoning_closers());
            let thought = opens.first().zip(closes.first());
            let thought = thought.map(|(open, close)| format!("{open}x{close}{start}"));
            let behind = CALLS.get(id).map(|call| format!("{call}{start}"));
            for reply in behind.into_iter().chain(thought) {
                let mut lefts: Vec<Vec<u8>> = vec![];
                for size in [1, 2, 5, reply.len()] {
                    let mut turn = Collect::new().guard(&set);
                    parse(reply.as_bytes(), size, &mut turn);
                    lefts.push(turn.turn().text.into_bytes());
                    let mut out = vec![];
                    let mut mask =
                        Mask::new(|bytes: &[u8]| out.extend_from_slice(bytes)).guard(&set);
                    mask = mask.reasoning(Show::Drop).protected(Show::Drop);
                    parse(reply.as_bytes(), size, &mut mask);
                    drop(mask);
                    lefts.push(out);
                }
                assert!(
                    lefts.iter().all(|left| left == &lefts[0]),
                    "{id}: {reply:?}"
                );
                let again = whole(&lefts[0]);
                assert!(
                    again.calls.is_empty(),
                    "{id}: {reply:?} leaves {:?}",
                    show(&lefts[0])
                );
                assert_eq!(again.text, show(&lefts[0]), "{id}: {reply:?}");
                broken += usize::from(lefts[0].contains(&b'\\'));
            }
        }
    }
    assert!(
        dialects >= 8 && broken >= 8,
        "{dialects} dialects, {broken}"
    );
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
        // Within a reply, and as a whole reply where no prompt opened a thought.
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

/// A thought or a protected region that counts because it follows a block still counts when the block is removed, with its content.
#[test]
fn a_region_after_a_removed_block_stays_a_region() {
    let set = set("default");
    let regions = [
        ("<think>maybe\n", "\n</think>ok"),
        ("<think>", "</think>"),
        ("<function_results>\n", "\n</function_results>"),
    ];
    let inner = ["action", "tool-call-xml", "hermes", "glm45"];
    let mut tried = 0;
    for dialect in set.dialects() {
        let Some(call) = CALLS.get(dialect.id()) else {
            continue;
        };
        for (n, before) in ["Hm ", "好。", "", "a\n", "    "].iter().enumerate() {
            for (open, close) in regions {
                let own = CALLS[inner[(n + tried) % inner.len()]];
                let blank = ["", " ", "\n"][tried % 3];
                let text = format!("{before}{call}{blank}{open}{own}{close}");
                let whole = read(&set, text.as_bytes());
                if whole.calls.len() != 1 {
                    continue; // Here the inner call counts too, or the outer one does not.
                }
                tried += 1;
                for with in [Show::Keep, Show::With("~".to_owned())] {
                    let mut out = vec![];
                    let mut mask =
                        Mask::new(|bytes: &[u8]| out.extend_from_slice(bytes)).guard(&set);
                    if with != Show::Keep {
                        mask = mask.calls(with);
                    }
                    feed(&set, text.as_bytes(), 1 + tried % 9, &mut mask);
                    drop(mask);
                    let left = read(&set, &out).calls.len();
                    assert_eq!(left, 0, "{text:?}: {:?}", show(&out));
                }
            }
        }
    }
    assert!(tried > 300, "{tried}");
}
