//! The same bytes give the same events, however they are chunked.

use toolglot::{DialectSet, Finish, Options, Parser};

use super::case::Case;
use super::watch::Watch;

/// Parses one stream whole and in chunks. At one split, the states and the logs of both must be equal too, which by
/// induction covers all chunkings. From there a third parser, restored from a snapshot, continues.
pub fn chunking(data: &[u8]) {
    Case::read(data).each(check);
}

/// Runs [`chunking`] on a case.
pub fn check(case: &Case<'_>) {
    let len = case.stream.len();
    let start = || {
        (
            Parser::new(&case.set, case.options.clone()),
            Watch::new(case.stream, &case.options),
        )
    };
    let [states, ends, restores] = [0, 1, 2].map(|part| case.choice.takes(part, 3));

    let (mut cut, mut cut_log) = (case.parser(), Watch::new(case.stream, &case.options));
    case.feed(&mut cut, &mut cut_log, 0, case.stop, &case.cuts);
    if states {
        let (mut prefix, mut prefix_log) = start();
        case.feed(&mut prefix, &mut prefix_log, 0, case.stop, &[]);
        prefix_log
            .log
            .same(&cut_log.log, "the first bytes, whole and in chunks");
        assert!(
            cut.snapshot() == prefix.snapshot(),
            "the states differ after {} bytes:\n  {prefix:?}\n  {cut:?}",
            case.stop
        );
    }
    if !ends && !restores {
        return;
    }

    let (mut whole, mut whole_log) = start();
    case.feed(&mut whole, &mut whole_log, 0, len, &[]);
    whole.finish(case.finish, &mut whole_log);
    whole_log.at_end(&mut whole);
    let finish = |mut parser: Parser, mut watch: Watch<'_>, cuts: &[usize], which: &str| {
        case.feed(&mut parser, &mut watch, case.stop, len, cuts);
        parser.finish(case.finish, &mut watch);
        watch.at_end(&mut parser);
        whole_log.log.same(&watch.log, which);
    };
    if restores {
        let snapshot = cut.snapshot();
        let restored = Parser::restore(&case.set, case.options.clone(), &snapshot);
        let restored = restored.expect("a snapshot can be restored");
        assert!(
            restored.snapshot() == snapshot,
            "a restored parser gives another snapshot"
        );
        finish(
            restored,
            cut_log.clone(),
            &[],
            "whole and restored from a snapshot",
        );
    }
    if ends {
        finish(cut, cut_log, &case.cuts, "whole and in chunks");
    }
}

/// Like [`chunking`], and byte by byte with equal states after every byte, and with every 2-way split.
#[allow(dead_code, reason = "the tests of the repository use it")]
pub fn cuts(case: &Case<'_>) {
    check(case);
    let len = case.stream.len();
    let new = || (case.parser(), Watch::new(case.stream, &case.options));
    let (mut whole, mut whole_log) = new();
    case.feed(&mut whole, &mut whole_log, 0, len, &[]);
    let end = whole.snapshot();
    let (mut bytes, mut bytes_log) = new();
    for at in 0..len {
        case.feed(&mut bytes, &mut bytes_log, at, at + 1, &[]);
        let (mut head, mut head_log) = new();
        case.feed(&mut head, &mut head_log, 0, at + 1, &[]);
        head_log
            .log
            .same(&bytes_log.log, "the first bytes, whole and byte by byte");
        assert!(
            head.snapshot() == bytes.snapshot(),
            "the states differ after {} bytes, whole and byte by byte:\n  {head:?}\n  {bytes:?}",
            at + 1
        );
        case.feed(&mut head, &mut head_log, at + 1, len, &[]);
        whole_log.log.same(&head_log.log, "whole and cut into two");
        assert!(
            head.snapshot() == end,
            "the states differ, split at {}",
            at + 1
        );
    }
}

/// Whole and in chunks of one size, for any set: the same events, and the same state before the end.
pub fn pieces(set: &DialectSet, options: &Options, stream: &[u8], size: usize) {
    let run = |size: usize| {
        let (mut parser, mut watch) = (
            Parser::new(set, options.clone()),
            Watch::new(stream, options),
        );
        for chunk in stream.chunks(size) {
            watch.fed += chunk.len() as u64;
            parser.feed(chunk, &mut watch);
        }
        let state = parser.snapshot();
        parser.finish(Finish::Stop, &mut watch);
        (watch.log, state)
    };
    let ((whole, one), (cut, other)) = (run(stream.len().max(1)), run(size));
    whole.same(&cut, "whole and in chunks of one size");
    assert!(
        one == other,
        "the states differ, whole and in chunks of {size}"
    );
}
