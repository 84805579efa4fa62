//! Escaped text can be restored, does not depend on the chunking, and no marker touches it.
//!
//! | byte | what it chooses |
//! |---|---|
//! | 0 | the dialect set |
//! | 1 | the size of chunks |
//! | 2, 3 | where the text before ends, and where the text after begins |
//!
//! The rest is: text before, escaped text, text after.

use std::ops::Range;
use std::sync::LazyLock;

use toolglot::{DialectSet, Escaper, Event, Finish, Kind, Options, Parser, Span, Unescaper};

use super::case;

/// The sets of the other targets, and some whose markers need more than a backslash.
static SETS: LazyLock<Vec<DialectSet>> = LazyLock::new(|| {
    let own = [
        ("{", "}"),
        ("<", "[/]"),
        ("\u{27e6}", "\u{27e7}"),
        ("<\\", "<<[<["),
    ];
    let own = own.into_iter().map(|(open, close)| {
        let text = format!(
            "id = \"own\"\ntitle = \"Own\"\ndeltas = \"at-call-end\"\n[key_quote]\nopen = ['{open}']\nclose = ['{close}']\n\
             name = \"tool\"\ncolon = [\":\"]\nseparators = []\n[[key_quote.quotes]]\nopen = [\"(\"]\nclose = [\")\"]\n"
        );
        let builder = DialectSet::builder().toml("own", &text);
        builder.build().expect("a dialect")
    });
    case::SETS.iter().cloned().chain(own).collect()
});

/// Escapes the middle of the input, and parses all of it.
pub fn escape(data: &[u8]) {
    let mut header = [0; 4];
    let given = data.len().min(header.len());
    header[..given].copy_from_slice(&data[..given]);
    let [set, size, a, b] = header;
    let (set, size) = (usize::from(set) % SETS.len(), usize::from(size) + 1);
    let rest = &data[given..];
    let place = |byte: u8| rest.len() * usize::from(byte) / 255;
    let (from, to) = (place(a.min(b)), place(a.max(b)));
    check(&SETS[set], size, rest, from..to);
    // Most hosts choose the default set, so half of the runs use it.
    if set > 0 {
        check(&SETS[0], size, rest, from..to);
    }
}

/// Checks the bytes of `rest` in the range as text, in chunks of `size`.
fn check(set: &DialectSet, size: usize, rest: &[u8], range: Range<usize>) {
    let Range {
        start: from,
        end: to,
    } = range;
    let text = &rest[range];

    let escaped = toolglot::escape(set, text).expect("these markers can be escaped");
    let mut escaper = Escaper::new(set).expect("as above");
    let mut pieces = vec![];
    text.chunks(size)
        .for_each(|chunk| escaper.push(chunk, &mut pieces));
    escaper.finish(&mut pieces);
    assert!(escaped == pieces, "escaped whole and in chunks of {size}");

    let mut unescaper = Unescaper::new(set).expect("as above");
    let mut back = vec![];
    escaped
        .chunks(size)
        .for_each(|chunk| unescaper.push(chunk, &mut back));
    unescaper.finish(&mut back);
    assert!(
        back == text,
        "{} came back as {}",
        escaped.escape_ascii(),
        back.escape_ascii()
    );
    // Text that was never escaped must not panic either.
    let _ = toolglot::unescape(set, text).expect("as above");

    let all = [&rest[..from], &escaped, &rest[to..]].concat();
    let place = Span::new(from as u64, (from + escaped.len()) as u64);
    no_marker(set, &all, place);
    no_marker(set, &escaped, Span::new(0, escaped.len() as u64));
}

/// Checks that no region and no block begins inside `place`, and that nothing there is taken for a marker.
fn no_marker(set: &DialectSet, all: &[u8], place: Span) {
    let inside = |at: u64| (place.start..place.end).contains(&at);
    let (mut block, mut protected) = (false, None);
    let mut watch = |event: Event<'_>| match event {
        Event::BlockOpen { span, .. } => {
            assert!(
                !inside(span.start),
                "a block opens in escaped text: {event:?}"
            );
            block = true;
        }
        Event::BlockClose { .. } | Event::BlockAbandoned { .. } => block = false,
        Event::Reasoning {
            span,
            framing: true,
            ..
        } => {
            let apart = span.end <= place.start || span.start >= place.end;
            // The host's own tag, whose attributes the text continues.
            let before = &all[span.start as usize..place.start.max(span.start) as usize];
            let attributes =
                before.contains(&b' ') || before.contains(&b'\n') || before.contains(&b'\t');
            assert!(
                apart || attributes || place.is_empty(),
                "a reasoning marker touches escaped text: {event:?}"
            );
        }
        Event::Protected { span, .. } => {
            let goes_on = protected == Some(span.start);
            assert!(
                goes_on || !inside(span.start),
                "a region begins in escaped text: {event:?}"
            );
            protected = Some(span.end);
        }
        Event::Issue(issue) if !block => match issue.kind {
            Kind::OrphanClose | Kind::HiddenByCode | Kind::LookalikeMarker => {
                assert!(
                    !inside(issue.span.start),
                    "a marker in escaped text: {issue:?}"
                );
            }
            _ => {}
        },
        _ => {}
    };
    let mut parser = Parser::new(set, Options::default());
    parser.feed(all, &mut watch);
    parser.finish(Finish::Stop, &mut watch);
}
