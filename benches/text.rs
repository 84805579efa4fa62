//! What does text without calls cost?
//!
//! Criterion reports bytes and chunks per second for each case; `ratios.rs` compares the same cases with yardsticks.

mod common;

use common::corpus::{self, KINDS};
use common::{every, feed, sets, yardsticks};
use criterion::measurement::WallTime;
use criterion::{
    BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main,
};
use toolglot::{Options, Parser};

const KIB: usize = 1024;

/// Does scanning keep up with memory?
fn large(c: &mut Criterion) {
    for (name, size, len) in [
        ("text in 64 KiB chunks", 64 * KIB, 256 * KIB),
        ("text in 1 MiB chunks", 1024 * KIB, 8192 * KIB),
    ] {
        let mut group = c.benchmark_group(name);
        for kind in KINDS {
            let text = kind.text(len);
            case(
                &mut group,
                kind.name(),
                text.as_bytes(),
                &every(text.len(), size),
            );
        }
        group.finish();
    }
}

/// What does a chunk of the size of a token cost?
fn tiny(c: &mut Criterion) {
    let mut group = c.benchmark_group("text in 4-byte chunks");
    for kind in KINDS {
        let text = kind.text(64 * KIB);
        case(
            &mut group,
            kind.name(),
            text.as_bytes(),
            &every(text.len(), 4),
        );
    }
    group.finish();
    let mut group = c.benchmark_group("text in pieces as long as tokens");
    for kind in KINDS {
        let text = kind.text(64 * KIB);
        case(
            &mut group,
            kind.name(),
            text.as_bytes(),
            &corpus::pieces(&text),
        );
    }
    group.finish();
}

fn case(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, input: &[u8], ends: &[usize]) {
    group.throughput(Throughput::ElementsAndBytes {
        elements: ends.len() as u64,
        bytes: input.len() as u64,
    });
    group.bench_function(BenchmarkId::new("memchr of an absent byte", name), |b| {
        b.iter(|| yardsticks::memchr_absent(input, ends));
    });
    group.bench_function(BenchmarkId::new("null call", name), |b| {
        b.iter(|| yardsticks::null_calls(input, ends))
    });
    for (dialects, set) in sets() {
        let searcher = yardsticks::teddy();
        group.bench_function(
            BenchmarkId::new(format!("packed Teddy, {dialects}"), name),
            |b| {
                b.iter(|| yardsticks::teddy_absent(&searcher, input, ends));
            },
        );
        let mut parser = Parser::new(&set, Options::default());
        group.bench_function(BenchmarkId::new(dialects, name), |b| {
            b.iter(|| feed(&mut parser, input, ends))
        });
    }
}

criterion_group! { name = benches; config = common::criterion(); targets = large, tiny }
criterion_main!(benches);
