//! Forged snapshots: with a valid checksum and an invalid state. They are rejected, or restored as a stream that can be
//! finished; nothing panics and nothing hangs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use toolglot::{Options, Parser, Prefer, Retain, TextMode};

use crate::replay::checks::repair;
use crate::support::{CASES, Case, nothing, places};

/// Length of magic, version, fingerprint and checksum; the state follows.
const HEAD: usize = 4 + 2 + 8 + 8;

/// A generator with the same numbers in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

/// Changes a byte or two of the state: ends or continues a number, adds or subtracts one, or writes any byte.
fn forge(good: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bad = good.to_vec();
    for _ in 0..=random.below(3) {
        let at = HEAD + random.below(bad.len() - HEAD);
        match random.below(8) {
            0 => bad[at] = 0,
            1 => bad[at] = 1,
            2 => bad[at] = 0xFF,
            3 => bad[at] = bad[at].wrapping_add(1),
            4 => bad[at] = bad[at].wrapping_sub(1),
            5 => bad[at] ^= 0x80,
            6 => drop(bad.splice(at..at, [0xFF; 9])),
            _ => bad[at] = random.below(256) as u8,
        }
    }
    repair(&mut bad);
    bad
}

/// The options of a case's snapshots.
fn options(case: &Case, number: usize) -> Options {
    let mut options = case.options.clone();
    options.retain = [Retain::Block, Retain::Block, Retain::None][number % 3];
    options.text = [TextMode::Bytes, TextMode::Chars][number % 2];
    options.prefer = [Prefer::Text, Prefer::Both, Prefer::Native][number / 3 % 3];
    options
}

/// Continues from a snapshot if it is accepted; returns whether it was.
fn read_on(case: &Case, options: &Options, snapshot: &[u8], rest: &[u8]) -> bool {
    let Ok(mut parser) = Parser::restore(&case.set, options.clone(), snapshot) else {
        return false;
    };
    let _ = (parser.held(), parser.position(), parser.snapshot());
    parser.feed(rest, &mut nothing);
    for byte in b"</a>\n\"]}> x" {
        parser.feed(&[*byte], &mut nothing);
    }
    case.end(&mut parser, &mut nothing);
    true
}

/// Forges `each` snapshots of each state; returns how many were accepted, and what panicked.
fn hunt(each: usize, states: usize, work: &AtomicU64, at: &Mutex<String>) -> (usize, Vec<String>) {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let (mut taken, mut found) = (0, vec![]);
    for (number, case) in CASES.iter().enumerate() {
        if case.input.len() > 600 {
            continue;
        }
        let options = options(case, number);
        let mut parser = Parser::new(&case.set, options.clone());
        let mut fed = 0;
        for place in places(case.input.len(), states) {
            parser.feed(&case.input[fed..place], &mut nothing);
            fed = place;
            let good = parser.snapshot();
            let rest = &case.input[place..];
            for _ in 0..each {
                let bad = forge(&good, &mut random);
                *at.lock().expect("no panic holds it") = format!("{} at {place}: {bad:?}", case.id);
                let read = AssertUnwindSafe(|| read_on(case, &options, &bad, rest));
                match catch_unwind(read) {
                    Ok(was) => taken += usize::from(was),
                    Err(_) => found.push(at.lock().expect("it is held here").clone()),
                }
                work.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
    (taken, found)
}

#[test]
fn a_forged_state_is_rejected_or_can_be_finished() {
    let number = |name: &str, default: usize| {
        std::env::var(name).map_or(default, |value| value.parse().expect("a number"))
    };
    let each = number("TOOLGLOT_FORGED", 2);
    let states = number("TOOLGLOT_FORGED_STATES", 4);
    let work = Arc::new((AtomicU64::new(0), Mutex::new(String::new())));
    let shared = Arc::clone(&work);
    let hunter = std::thread::spawn(move || hunt(each, states, &shared.0, &shared.1));
    let mut last = (0, 0);
    while !hunter.is_finished() {
        std::thread::sleep(Duration::from_millis(200));
        let done = work.0.load(Ordering::Relaxed);
        last = if done == last.0 {
            (done, last.1 + 1)
        } else {
            (done, 0)
        };
        let place = || work.1.lock().expect("no panic holds it").clone();
        assert!(last.1 < 100, "it hangs: {}", place());
    }
    let (taken, found) = hunter.join().expect("panics were caught");
    let done = work.0.load(Ordering::Relaxed);
    eprintln!(
        "{taken} of {done} forged snapshots were accepted, {} panicked",
        found.len()
    );
    assert!(taken > 100, "too few were accepted: {taken}");
    assert!(
        found.is_empty(),
        "{} panics: {:#?}",
        found.len(),
        &found[..found.len().min(3)]
    );
}
