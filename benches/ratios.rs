//! How close is the parser to the minimum cost of reading the same bytes?
//!
//! `cargo bench -p toolglot --bench ratios` prints times as Markdown, next to those of yardsticks that ran alternately with the
//! parser in the same process (see `common/measure.rs`). The ratios are meaningful on a busy machine, the times are not. A word
//! as an argument selects the tables whose title contains it: `cargo bench -p toolglot --bench ratios -- tiny`.

mod common;

use std::hint::black_box;

use common::arguments::SHAPES;
use common::corpus::{self, KINDS, Kind, Random};
use common::measure::{Candidate, race};
use common::yardsticks::{memchr_absent, null_calls, teddy, teddy_absent};
use common::{Count, every, feed, sets};
use toolglot::{DialectSet, Finish, Options, Parser, Retain};

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

fn main() {
    let filter = std::env::args()
        .skip(1)
        .find(|arg| !arg.starts_with('-'))
        .unwrap_or_default();
    let title = |text: &str| {
        let wanted = text.contains(&filter);
        if wanted {
            println!("\n### {text}\n");
        }
        wanted
    };
    if title("text in chunks of 64 KiB, within the L2 cache") {
        bulk(64 * KIB, 256 * KIB);
    }
    if title("text in chunks of 1 MiB, out of the L2 cache") {
        bulk(MIB, 8 * MIB);
    }
    if title("text in chunks of 1 KiB") {
        bulk(KIB, 64 * KIB);
    }
    if title("tiny chunks of text: 4 bytes, and pieces as long as tokens") {
        tiny();
    }
    if title("many live streams, a chunk of 4 bytes for each in turn") {
        streams();
    }
    if title("one call with a long argument") {
        long_arguments();
    }
}

fn bulk(chunk: usize, len: usize) {
    println!(
        "| text | dialects | GB/s | memchr GB/s | of memchr | Teddy GB/s | times Teddy | ns/chunk |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for kind in KINDS {
        let text = kind.text(len);
        let (input, ends) = (text.as_bytes(), every(text.len(), chunk));
        for (name, set) in sets() {
            let searcher = teddy();
            let mut parser = checked(&set, input, &ends);
            let mut all = [
                Candidate::new("memchr", || memchr_absent(input, &ends)),
                Candidate::new("teddy", || teddy_absent(&searcher, input, &ends)),
                Candidate::new(name, || feed(&mut parser, input, &ends).text),
            ];
            race(&mut all);
            let [memchr, teddy, own] = all.map(|candidate| candidate.nanos());
            let rate = |nanos: f64| input.len() as f64 / nanos;
            println!(
                "| {} | {name} | {:.1} | {:.1} | {:.2} | {:.1} | {:.2} | {:.0} |",
                kind.name(),
                rate(own),
                rate(memchr),
                memchr / own,
                rate(teddy),
                teddy / own,
                own / ends.len() as f64,
            );
        }
    }
}

fn tiny() {
    println!(
        "| text | chunks | bytes/chunk | dialects | ns/chunk | null call ns | times null | MB/s |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for kind in KINDS {
        let text = kind.text(64 * KIB);
        let input = text.as_bytes();
        for (cut, ends) in [
            ("4 bytes", every(input.len(), 4)),
            ("pieces", corpus::pieces(&text)),
        ] {
            for (name, set) in sets() {
                let mut parser = checked(&set, input, &ends);
                let mut all = [
                    Candidate::new("null", || null_calls(input, &ends)),
                    Candidate::new(name, || feed(&mut parser, input, &ends).text),
                ];
                race(&mut all);
                let [null, own] = all.map(|candidate| candidate.nanos());
                let count = ends.len() as f64;
                println!(
                    "| {} | {cut} | {:.1} | {name} | {:.1} | {:.2} | {:.1} | {:.0} |",
                    kind.name(),
                    input.len() as f64 / count,
                    own / count,
                    null / count,
                    own / null,
                    input.len() as f64 * 1e3 / own,
                );
            }
        }
    }
}

/// A server feeds one token to each of its streams: how much do cache misses on a stream's state cost?
fn streams() {
    println!("| streams | ns/chunk | times one stream |\n|---|---|---|");
    let set = DialectSet::defaults();
    let text = Kind::English.text(64 * KIB);
    let chunks: Vec<&[u8]> = text.as_bytes().chunks_exact(4).collect();
    let mut all: Vec<Candidate<'_>> = vec![];
    for count in [1, 100, 1000, 10_000, 100_000] {
        let mut parsers = vec![Parser::new(&set, Options::default()); count];
        // A fixed order that a processor cannot predict.
        let mut order: Vec<usize> = (0..count).collect();
        let mut random = Random(7);
        (1..count)
            .rev()
            .for_each(|at| order.swap(at, random.below(at + 1)));
        let mut next = order.into_iter().cycle();
        let chunks = &chunks;
        all.push(Candidate::new(count.to_string(), move || {
            let mut seen = Count::default();
            for (chunk, stream) in chunks.iter().zip(&mut next) {
                parsers[stream].feed(black_box(chunk), &mut seen);
            }
            seen.text
        }));
    }
    race(&mut all);
    let one = all[0].nanos();
    for candidate in &all {
        let nanos = candidate.nanos() / chunks.len() as f64;
        println!(
            "| {} | {nanos:.1} | {:.2} |",
            candidate.name,
            candidate.nanos() / one
        );
    }
}

fn long_arguments() {
    println!("| dialect | argument | retain | chunks | MB/s | ns/chunk | of memchr |");
    println!("|---|---|---|---|---|---|---|");
    for shape in SHAPES {
        let set = shape.set();
        for (size, len) in [("64 KiB", 64 * KIB), ("1 MiB", MIB)] {
            let call = shape.call(len);
            let input = call.as_bytes();
            for (cut, ends) in [
                ("64 KiB", every(input.len(), 64 * KIB)),
                ("16 bytes", every(input.len(), 16)),
            ] {
                for (name, retain) in [("none", Retain::None), ("block", Retain::Block)] {
                    let mut parser = Parser::new(&set, shape.options(retain));
                    let mut whole = || {
                        let mut count = feed(&mut parser, input, &ends);
                        parser.finish(Finish::Stop, &mut count);
                        parser.reset();
                        count
                    };
                    let count = whole();
                    assert!(
                        count.complete == 1
                            && count.params.max(count.args) as usize > len - 8 * KIB,
                        "{}: {count:?}",
                        shape.dialect
                    );
                    let mut all = [
                        Candidate::new("memchr", || memchr_absent(input, &ends)),
                        Candidate::new(name, || u64::from(whole().complete)),
                    ];
                    race(&mut all);
                    let [memchr, own] = all.map(|candidate| candidate.nanos());
                    println!(
                        "| {} | {size} | {name} | {cut} | {:.0} | {:.0} | {:.3} |",
                        shape.dialect,
                        input.len() as f64 * 1e3 / own,
                        own / ends.len() as f64,
                        memchr / own,
                    );
                }
            }
        }
    }
}

/// A parser that has read the input once and returned it as text.
fn checked(set: &DialectSet, input: &[u8], ends: &[usize]) -> Parser {
    let mut parser = Parser::new(set, Options::default());
    let count = feed(&mut parser, input, ends);
    let out = count.text as usize + parser.held();
    assert_eq!(out, input.len(), "text went elsewhere: {count:?}");
    black_box(parser)
}
