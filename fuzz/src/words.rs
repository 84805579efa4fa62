//! Reads all words over the symbols of each family, and prints a line for the ledger for each family and length.
//!
//! `words LENGTH [FAMILY]...`: words of up to five symbols are cut in all ways, those of six so that a chunk ends with a symbol, longer ones
//! into bytes.

use std::env;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use toolglot_fuzz::{Count, Cuts, FAMILIES, words};

fn main() -> ExitCode {
    let mut args = env::args().skip(1);
    let Some(length) = args
        .next()
        .and_then(|length| length.parse().ok())
        .filter(|length| (1..=7).contains(length))
    else {
        eprintln!("usage: words LENGTH [FAMILY]..., with a length from 1 to 7");
        return ExitCode::from(2);
    };
    let cuts = match length {
        1..=5 => Cuts::All,
        6 => Cuts::Symbols,
        _ => Cuts::Bytes,
    };
    let chosen: Vec<String> = args.collect();
    if let Some(odd) = chosen
        .iter()
        .find(|name| !FAMILIES.iter().any(|(known, _)| known == name))
    {
        eprintln!(
            "no family {odd:?}; there are {}",
            FAMILIES.map(|(name, _)| name).join(", ")
        );
        return ExitCode::from(2);
    }
    for (family, (name, symbols)) in FAMILIES.iter().enumerate() {
        if !chosen.is_empty() && !chosen.iter().any(|one| one == name) {
            continue;
        }
        let (begun, next, sum) = (
            Instant::now(),
            AtomicUsize::new(0),
            Mutex::new(Count::default()),
        );
        // A failed check ends the program by its panic.
        std::thread::scope(|scope| {
            for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(|| {
                    loop {
                        let first = next.fetch_add(1, Ordering::Relaxed);
                        if first >= symbols.len() {
                            break;
                        }
                        let count = words(family, first, length, cuts);
                        let mut sum = sum.lock().expect("no thread panics");
                        sum.words += count.words;
                        sum.chunks += count.chunks;
                    }
                });
            }
        });
        let Count { words, chunks } = sum.into_inner().expect("no thread panics");
        let seconds = begun.elapsed().as_secs();
        println!(
            r#"{{"words": "{name}", "length": {length}, "cuts": "{cuts:?}", "count": {words}, "chunks": {chunks}, "seconds": {seconds}}}"#
        );
    }
    ExitCode::SUCCESS
}
