//! Compares escaped text with brute force (every marker at every position, neighbours included) and with the parser.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use toolglot_scan::Case;
use toolglot_scan::Pattern;

use super::{EscapeError, Escaper, Unescaper, escape, unescape};
use crate::dialect::DialectSet;
use crate::dialect::EscapeTable;
use crate::engine::{Finish, Parser};
use crate::event::Event;
use crate::limits::Options;

/// A set with everything that it looks for.
struct Set {
    set: DialectSet,
    markers: Vec<Pattern>,
}

impl Set {
    fn new(set: DialectSet) -> Self {
        let markers = set.inner.markers().cloned().collect();
        Self { set, markers }
    }
}

/// A key-quote dialect with these markers.
fn made(open: &str, close: &str, case: &str) -> String {
    format!(
        "id = \"made\"\ntitle = \"Made\"\ndeltas = \"at-call-end\"\n[key_quote]\nopen = ['{open}']\nclose = ['{close}']\n\
         case = \"{case}\"\nname = \"tool\"\ncolon = [\":\"]\nseparators = []\n\
         [[key_quote.quotes]]\nopen = [\"(\"]\nclose = [\")\"]\n"
    )
}

fn user(open: &str, close: &str, case: &str) -> DialectSet {
    let text = made(open, close, case);
    DialectSet::builder()
        .toml("made", &text)
        .build()
        .expect("a dialect")
}

static SETS: LazyLock<Vec<Set>> = LazyLock::new(|| {
    let mut sets = vec![DialectSet::defaults()];
    for (id, _) in crate::dialect::builtin_files() {
        let alone = DialectSet::builtin(id).expect("a built-in dialect");
        for (name, takes_value) in alone.dialects().flat_map(|d| d.switches()) {
            let switch = format!("{name}{}", if takes_value { "=:0a1b" } else { "" });
            let builder = DialectSet::builder().builtin(id).switch(id, &switch);
            sets.push(builder.build().expect("a switch of it"));
        }
        sets.push(alone.clone());
    }
    sets.push(user("{", "}", "exact"));
    sets.push(user("<", "⟧", "exact"));
    sets.push(user("⟦", "x7b}", "exact"));
    sets.push(user("G", "GG", "ignore"));
    sets.push(user("<\\", "[~]", "exact"));
    sets.push(user("<<[a", "<[<[", "ignore"));
    // A dialect may have no markers at all.
    let sets = sets.into_iter().map(Set::new);
    sets.filter(|set| !set.markers.is_empty()).collect()
});

/// A marker that overlaps `text` with some neighbours: the part of it that lies over the text agrees.
fn touched<'m>(markers: &'m [Pattern], text: &[u8]) -> Option<&'m Pattern> {
    markers.iter().find(|marker| {
        let len = marker.bytes.len();
        // The marker's byte `at` lies over byte `at + shift - len` of the text.
        (1..text.len() + len).any(|shift| {
            let over = len.saturating_sub(shift)..len.min(text.len() + len - shift);
            !over.is_empty()
                && over
                    .clone()
                    .all(|at| marker.accepts(at, text[at + shift - len]))
        })
    })
}

fn check(escaper: &Escaper, unescaper: &Unescaper, markers: &[Pattern], text: &[u8], at: usize) {
    let run = |pieces: &[&[u8]]| {
        let (mut escaper, mut out) = (escaper.clone(), vec![]);
        pieces
            .iter()
            .for_each(|piece| escaper.push(piece, &mut out));
        escaper.finish(&mut out);
        out
    };
    let back = |pieces: &[&[u8]]| {
        let (mut unescaper, mut out) = (unescaper.clone(), vec![]);
        pieces
            .iter()
            .for_each(|piece| unescaper.push(piece, &mut out));
        unescaper.finish(&mut out);
        out
    };
    let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let escaped = run(&[text]);
    if let Some(marker) = touched(markers, &escaped) {
        panic!(
            "{} touches {} of {}",
            show(&marker.bytes),
            show(&escaped),
            show(text)
        );
    }
    assert_eq!(
        back(&[&escaped]),
        text,
        "{} of {}",
        show(&escaped),
        show(text)
    );
    assert_eq!(
        std::str::from_utf8(text).is_ok(),
        std::str::from_utf8(&escaped).is_ok()
    );

    let bytes: Vec<&[u8]> = text.chunks(1).collect();
    assert_eq!(run(&bytes), escaped, "byte by byte: {}", show(text));
    assert_eq!(
        run(&[&text[..at], b"", &text[at..]]),
        escaped,
        "cut at {at}: {}",
        show(text)
    );
    let bytes: Vec<&[u8]> = escaped.chunks(1).collect();
    assert_eq!(back(&bytes), text, "byte by byte: {}", show(&escaped));

    let breaker = escaper.table.breaker;
    let skeleton: Vec<u8> = text.iter().copied().filter(|b| *b != breaker).collect();
    // What a reply may begin with because of its prompt is not a marker, and is broken at the start of a text.
    let plain = escaper.table.codes.is_empty() && escaper.table.leads.is_empty();
    if touched(markers, &skeleton).is_none() && plain {
        assert_eq!(show(&escaped), show(text), "there is nothing to escape");
    }
}

/// Pieces of a set's markers, with text between them.
fn pieces(set: usize) -> impl Strategy<Value = Vec<u8>> {
    let markers: Vec<Vec<u8>> = SETS[set].markers.iter().map(|m| m.bytes.to_vec()).collect();
    let part = (select(markers), any::<Index>(), any::<Index>()).prop_map(|(marker, a, b)| {
        let (a, b) = (a.index(marker.len() + 1), b.index(marker.len() + 1));
        match a <= b {
            true => marker[a..b].to_vec(),
            false => marker.clone(),
        }
    });
    let text = select(vec![
        "\\", "\\\\", " ", "\\x7b", "x7b", "a", "始", "<", "~", "^",
    ]);
    let piece = prop_oneof![
        5 => part.clone(),
        2 => part.prop_map(|bytes| bytes.to_ascii_lowercase()),
        3 => text.prop_map(|text| text.as_bytes().to_vec()),
        1 => any::<u8>().prop_map(|byte| vec![byte]),
    ];
    vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn any_set() -> impl Strategy<Value = (usize, Vec<u8>, Vec<u8>, Vec<u8>)> {
    (0..SETS.len()).prop_flat_map(|set| (Just(set), pieces(set), pieces(set), pieces(set)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn no_marker_touches_escaped_text((set, text, _, _) in any_set(), cut: Index) {
        let Set { set, markers } = &SETS[set];
        let (escaper, unescaper) = (Escaper::new(set).expect("it can"), Unescaper::new(set).expect("it can"));
        check(&escaper, &unescaper, markers, &text, cut.index(text.len() + 1));
    }

    #[test]
    fn any_markers_can_be_escaped(
        words in vec((vec(select(b"gh<[".to_vec()), 1..6), any::<bool>()), 1..6),
        text in vec(select(b"gh<[\\GH".to_vec()), 0..24),
        cut: Index,
    ) {
        let case = |ignore: bool| if ignore { Case::Ignore } else { Case::Exact };
        let markers: Vec<Pattern> = words.iter().map(|(word, ignore)| Pattern::new(word, case(*ignore))).collect();
        match EscapeTable::of(&markers) {
            Ok(table) => {
                let table = Arc::new(table);
                let (escaper, unescaper) = (Escaper::with(table.clone()), Unescaper::with(table));
                check(&escaper, &unescaper, &markers, &text, cut.index(text.len() + 1));
            }
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn the_parser_sees_only_text((set, text, before, following) in any_set(), chars: bool) {
        let Set { set, markers } = &SETS[set];
        // Neighbours without whole markers: those would be the neighbours' own.
        let parts = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            while let Some(at) = (0..bytes.len()).find(|at| markers.iter().any(|m| stands(m, &bytes[*at..]))) {
                bytes.remove(at);
            }
            bytes
        };
        let escaped = escape(set, &text).expect("it can");
        prop_assume!(!escaped.is_empty());
        let before = parts(&before);
        let range = before.len() as u64..(before.len() + escaped.len()) as u64;
        let all = [before, escaped, parts(&following)].concat();
        let mut options = Options {
            start: crate::limits::Start::Text,
            ..Options::default()
        };
        if chars {
            options.text = crate::limits::TextMode::Chars;
        }
        let mut parser = Parser::new(set, options);
        let mut only_text = |event: Event<'_>| {
            // The end of the stream may truncate a marker of a neighbour.
            if let Event::Protected { span, .. } = event
                && (span.end <= range.start || span.start >= range.end)
            {
                return;
            }
            assert!(matches!(event, Event::Text { recovered: false, .. }), "{event:?} in {}", String::from_utf8_lossy(&all));
        };
        parser.feed(&all, &mut only_text);
        parser.finish(Finish::Stop, &mut only_text);
    }

    #[test]
    fn arbitrary_bytes_are_restored(text in vec(any::<u8>(), 0..64)) {
        for Set { set, .. } in SETS.iter() {
            let escaped = escape(set, &text).expect("it can");
            prop_assert_eq!(unescape(set, &escaped).expect("it can"), text.clone());
        }
    }
}

fn stands(marker: &Pattern, bytes: &[u8]) -> bool {
    let len = marker.bytes.len();
    len <= bytes.len() && (0..len).all(|at| marker.accepts(at, bytes[at]))
}

#[test]
fn every_marker_of_every_set_alone_and_split() {
    for Set { set, markers } in SETS.iter() {
        let escaper = Escaper::new(set).expect("it can");
        let unescaper = Unescaper::new(set).expect("it can");
        // Markers are similar: most parts are parts of several. Of parts that are split on both sides, only some are used.
        let parts = |bytes: &'static [u8]| {
            let len = bytes.len();
            let all = (0..=len).flat_map(move |from| (from..=len).map(move |to| (from, to)));
            let some =
                move |(from, to): &(usize, usize)| *from == 0 || *to == len || (from + to) % 5 == 0;
            all.filter(some).map(move |(from, to)| &bytes[from..to])
        };
        let parts: BTreeSet<&[u8]> = markers.iter().flat_map(|m| parts(&m.bytes)).collect();
        // Each part is compared with each marker; a quick run takes only some of a large set.
        let quick = std::env::var_os("TOOLGLOT_SPLITS").is_some() && markers.len() > 100;
        for part in parts.into_iter().step_by(if quick { 8 } else { 1 }) {
            check(&escaper, &unescaper, markers, part, part.len() / 2);
        }
    }
}

#[test]
fn what_it_looks_like() {
    let set = DialectSet::defaults();
    for (text, escaped) in [
        ("", ""),
        (
            "plain words, C:\\temp\\new, 1 < 2, [a](b)",
            "plain words, C:\\temp\\new, 1 < 2, [a](b)",
        ),
        ("a <tool_call name=\"f\">", "a <\\tool_call name=\"f\">"),
        ("a <tool_call name=\"f\">.", "a <\\tool_call name=\"f\">."),
        ("<think>x</think>.", "<\\think>x<\\/think>."),
        ("<<<[TOOL_REQUEST]>>>.", "<\\<<[TOOL_REQUEST]>>>."),
        ("x[本轮工具调用摘要:]\n", "x[\\本轮工具调用摘要:]\n"),
        ("x[本轮工具调用摘要:].", "x[本轮工具调用摘要:]."),
        ("Hm, <tool_c", "Hm, <tool_c\\"),
        ("ll name", "\\ll name"),
        ("<\\think> <\\\\think>.", "<\\\\think> <\\\\\\think>."),
        ("\\", "\\"),
    ] {
        let out = escape(&set, text.as_bytes()).expect("it can");
        assert_eq!(String::from_utf8_lossy(&out), escaped, "{text}");
    }
}

#[test]
fn one_break_serves_all_markers_around_it() {
    let markers = ["</t", "</t>", "<<[R]>>", "<<<[R]>>>", "<<<<[R]>>>>"];
    let markers = markers.map(|marker| Pattern::new(marker, Case::Exact));
    let escaper = Escaper::with(Arc::new(EscapeTable::of(&markers).expect("it can")));
    for (text, escaped) in [
        ("</t>.", "<\\/t>."),
        ("</t", "<\\/t"),
        ("<<<[R]>>>", "<<\\<[R]>>>"),
    ] {
        let (mut escaper, mut out) = (escaper.clone(), vec![]);
        escaper.push(text.as_bytes(), &mut out);
        escaper.finish(&mut out);
        assert_eq!(String::from_utf8_lossy(&out), escaped, "{text}");
    }
}

#[test]
fn markers_of_one_character_are_spelled() {
    let set = user("{", "}", "exact");
    for (text, escaped) in [
        ("{\"a\": 1}", "\\x7b\"a\": 1\\x7d"),
        ("\\{ \\x7b x7b \\\\x7b", "\\\\\\x7b \\\\x7b x7b \\\\\\\\x7b"),
        ("\\x7", "\\x7"),
    ] {
        let out = escape(&set, text.as_bytes()).expect("it can");
        assert_eq!(String::from_utf8_lossy(&out), escaped, "{text}");
        assert_eq!(unescape(&set, &out).expect("it can"), text.as_bytes());
    }
}

#[test]
fn what_cannot_be_escaped_is_refused() {
    let letter = escape(&user("a", "bb", "exact"), b"").expect_err("a letter of codes");
    assert_eq!(
        letter,
        EscapeError::OneLetter {
            marker: "a".to_owned()
        }
    );
    assert!(letter.to_string().contains("`a`"));
    let all = escape(&user("\\^~", "%!$", "exact"), b"").expect_err("no breaker is left");
    assert_eq!(all, EscapeError::NoBreaker);
    let other = user("<\\tool", "^]", "exact");
    assert_eq!(
        escape(&other, b"<\\tool.").expect("~ is left"),
        b"<~\\tool."
    );
}
