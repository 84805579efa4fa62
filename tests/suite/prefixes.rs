//! Every prefix of every vector: a complete call there is the same call in the whole.
//!
//! A call that ended at its own closer is complete for every finish reason. One that ends only because the stream does is
//! complete only for a stop: with more text it might have been another call.

use toolglot::{Call, Collect, Finish, Grade, Sink};

use crate::support::{CASES, Case, places};

/// The calls of a prefix. API tool calls are not among its bytes.
fn calls(case: &Case, at: usize, finish: Finish) -> Vec<Call> {
    let mut parser = case.parser();
    let mut turn = Collect::new();
    parser.feed(&case.input[..at], &mut turn as &mut dyn Sink);
    parser.finish(finish, &mut turn);
    turn.turn().calls
}

fn complete(calls: &[Call]) -> impl Iterator<Item = &Call> {
    calls.iter().filter(|call| call.grade == Grade::Complete)
}

/// Whether a call of a prefix is also a call of the whole.
fn stands(call: &Call, whole: &[Call]) -> bool {
    whole.iter().any(|other| {
        let same = call.name == other.name && call.arguments == other.arguments;
        // Some closers may be longer than necessary.
        let place = call.span.start == other.span.start && call.span.end <= other.span.end;
        same && place && other.grade == Grade::Complete
    })
}

/// Number of prefixes tried per vector in a test run.
const CUTS: usize = 12;

/// Tries prefixes of every vector, of the lengths that `cuts` lists for its number and length.
fn check(cuts: impl Fn(usize, usize) -> Vec<usize>) {
    let mut tried = 0;
    let mut wrong = vec![];
    for (number, case) in CASES.iter().enumerate() {
        let whole = calls(case, case.input.len(), Finish::Stop);
        for at in cuts(number, case.input.len()) {
            for reason in [Finish::Length, Finish::Error, Finish::Cancelled] {
                let cut = calls(case, at, reason);
                for call in complete(&cut) {
                    tried += 1;
                    if !stands(call, &whole) {
                        wrong.push(format!("{} at {at}, {reason:?}: {call:?}", case.id));
                    }
                }
            }
        }
    }
    assert!(tried > 1000, "{tried}");
    let shown = wrong.iter().take(30).cloned().collect::<Vec<_>>();
    assert!(wrong.is_empty(), "{}: {}", wrong.len(), shown.join("\n"));
}

#[test]
fn a_call_that_is_complete_in_a_prefix_is_complete_in_the_whole() {
    check(|number, len| {
        // Different prefixes in each vector.
        let shift = number % (len / CUTS).max(1);
        let cuts = places(len, CUTS).map(|at| at + shift);
        cuts.filter(|at| *at < len).collect()
    });
}

#[test]
#[ignore = "all prefixes: minutes; run by ci/generators.sh"]
fn all() {
    check(|_, len| (0..len).collect());
}
