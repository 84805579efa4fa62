//! What does a long argument cost?
//!
//! One call whose only parameter is source code, in the markup of each dialect, in large and in small chunks, with and
//! without retention of the block.

mod common;

use common::arguments::SHAPES;
use common::{every, feed};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use toolglot::{Finish, Parser, Retain};

const KIB: usize = 1024;

fn arguments(c: &mut Criterion) {
    for (name, len) in [
        ("an argument of 64 KiB", 64 * KIB),
        ("an argument of 1 MiB", 1024 * KIB),
    ] {
        let mut group = c.benchmark_group(name);
        for shape in SHAPES {
            let set = shape.set();
            let call = shape.call(len);
            for (cut, size) in [("64 KiB chunks", 64 * KIB), ("16-byte chunks", 16)] {
                let ends = every(call.len(), size);
                group.throughput(Throughput::ElementsAndBytes {
                    elements: ends.len() as u64,
                    bytes: call.len() as u64,
                });
                for (retained, retain) in [
                    ("nothing retained", Retain::None),
                    ("block retained", Retain::Block),
                ] {
                    let mut parser = Parser::new(&set, shape.options(retain));
                    group.bench_function(
                        BenchmarkId::new(shape.dialect, format!("{cut}, {retained}")),
                        |b| {
                            b.iter(|| {
                                let mut count = feed(&mut parser, call.as_bytes(), &ends);
                                parser.finish(Finish::Stop, &mut count);
                                parser.reset();
                                assert_eq!(count.complete, 1);
                                count
                            });
                        },
                    );
                }
            }
        }
        group.finish();
    }
}

criterion_group! { name = benches; config = common::criterion(); targets = arguments }
criterion_main!(benches);
