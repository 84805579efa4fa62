//! The same bytes give the same events, however they are cut.

use toolglot::{DialectSet, Finish, Options, Parser};

use super::case::Case;
use super::watch::Watch;

/// Parses one stream whole and in chunks. At one cut the states and the logs of both ways must be equal too, which by
/// induction covers all cuts; from there a third parser goes on that was made of a snapshot.
pub fn chunking(data: &[u8]) {
    let case = Case::read(data);
    let len = case.stream.len();
    let new = || Watch::new(case.stream, &case.options);

    let (mut whole, mut whole_log) = (Parser::new(&case.set, case.options.clone()), new());
    case.feed(&mut whole, &mut whole_log, 0, len, &[]);
    whole.finish(case.finish, &mut whole_log);
    whole_log.at_end(&mut whole);

    let (mut cut, mut cut_log) = (case.parser(), new());
    case.feed(&mut cut, &mut cut_log, 0, case.stop, &case.cuts);

    let (mut prefix, mut prefix_log) = (Parser::new(&case.set, case.options.clone()), new());
    case.feed(&mut prefix, &mut prefix_log, 0, case.stop, &[]);
    prefix_log
        .log
        .same(&cut_log.log, "the first bytes, whole and in chunks");
    let snapshot = cut.snapshot();
    assert!(
        snapshot == prefix.snapshot(),
        "the states differ behind {} bytes:\n  {prefix:?}\n  {cut:?}",
        case.stop
    );

    let restored = Parser::restore(&case.set, case.options.clone(), &snapshot);
    let (mut restored, mut restored_log) = (
        restored.expect("a snapshot can be restored"),
        cut_log.clone(),
    );
    assert!(
        restored.snapshot() == snapshot,
        "a restored parser gives another snapshot"
    );

    for (parser, watch, cuts) in [
        (&mut cut, &mut cut_log, case.cuts.as_slice()),
        (&mut restored, &mut restored_log, &[]),
    ] {
        case.feed(parser, watch, case.stop, len, cuts);
        parser.finish(case.finish, watch);
        watch.at_end(parser);
    }
    whole_log.log.same(&cut_log.log, "whole and in chunks");
    whole_log
        .log
        .same(&restored_log.log, "whole and restored from a snapshot");
}

/// Whole and in chunks of one size, for any set.
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
        parser.finish(Finish::Stop, &mut watch);
        watch.log
    };
    run(stream.len().max(1)).same(&run(size), "whole and in chunks of one size");
}
