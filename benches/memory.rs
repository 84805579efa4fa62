//! How much memory does a stream hold, and what does a chunk allocate?
//!
//! `cargo bench -p toolglot --bench memory` counts every allocation of the process while a parser works. It ends with status 1 if a
//! chunk of text allocates, or if allocations or the memory of a stream grow with an argument although nothing is to be retained.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use common::arguments::SHAPES;
use common::corpus::{self, KINDS};
use common::{Count, every};
use toolglot::{DialectSet, Options, Parser, Retain};

struct Counting;

static CALLS: AtomicU64 = AtomicU64::new(0);
static LIVE: AtomicU64 = AtomicU64::new(0);
static PEAK: AtomicU64 = AtomicU64::new(0);

// SAFETY: every method passes its arguments unchanged to the system allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Relaxed);
        let live = LIVE.fetch_add(layout.size() as u64, Relaxed) + layout.size() as u64;
        PEAK.fetch_max(live, Relaxed);
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as u64, Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations, and the peak of live bytes above those live before.
fn watched(run: impl FnOnce()) -> (u64, u64) {
    let (calls, live) = (CALLS.load(Relaxed), LIVE.load(Relaxed));
    PEAK.store(live, Relaxed);
    run();
    (CALLS.load(Relaxed) - calls, PEAK.load(Relaxed) - live)
}

fn main() -> ExitCode {
    let mut good = sizes();
    good &= text();
    good &= arguments();
    if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn sizes() -> bool {
    let before = LIVE.load(Relaxed);
    let set = DialectSet::defaults();
    let heap = LIVE.load(Relaxed) - before;
    println!("default set: {heap} bytes, shared by its streams");
    let before = LIVE.load(Relaxed);
    let parser = Parser::new(&set, Options::default());
    let heap = LIVE.load(Relaxed) - before;
    println!(
        "Parser: {} bytes, and {heap} on the heap with all dialects",
        size_of_val(&parser)
    );
    println!(
        "snapshot of a stream in text: {} bytes",
        parser.snapshot().len()
    );
    true
}

fn text() -> bool {
    let set = DialectSet::defaults();
    // What a stream first meets is built for all.
    set.dialects().for_each(drop);
    let mut good = true;
    println!("\n| text | chunks | allocations | bytes at once |\n|---|---|---|---|");
    for kind in KINDS {
        let text = kind.text(64 * 1024);
        for (name, ends) in [
            ("4 bytes", every(text.len(), 4)),
            ("pieces", corpus::pieces(&text)),
            ("whole", vec![text.len()]),
        ] {
            let mut parser = Parser::new(&set, Options::default());
            let (calls, peak) = watched(|| {
                common::feed(&mut parser, text.as_bytes(), &ends);
            });
            println!("| {} | {name} | {calls} | {peak} |", kind.name());
            good &= calls == 0;
        }
    }
    good
}

/// Dialects whose arguments are known only when a value or a call ends: until then they are held, whatever is retained.
const WAITING: [&str; 2] = ["bolt-action", "yaml-xml"];

fn arguments() -> bool {
    let mut good = true;
    println!(
        "\n| dialect | retain | chunks | allocations, 64 KiB | 1 MiB | bytes at once, 64 KiB | 1 MiB |\n|---|---|---|---|---|---|---|"
    );
    for shape in SHAPES {
        let set = shape.set();
        for (retained, retain) in [("none", Retain::None), ("block", Retain::Block)] {
            // What is allocated once, whatever the length. Chunks of 4 bytes end everywhere; a long one may end where a buffer is
            // needed only the second time.
            let mut once = (0, 0);
            for (chunks, size) in [("4 bytes", 4), ("64 KiB", 64 * 1024)] {
                let [small, large] = [64 * 1024, 1024 * 1024].map(|len| {
                    let call = shape.call(len);
                    let value =
                        &call.as_bytes()[shape.before.len()..call.len() - shape.after.len()];
                    let ends = every(value.len(), size);
                    let mut parser = Parser::new(&set, shape.options(retain));
                    parser.feed(shape.before.as_bytes(), &mut Count::default());
                    watched(|| {
                        common::feed(&mut parser, value, &ends);
                    })
                });
                println!(
                    "| {} | {retained} | {chunks} | {} | {} | {} | {} |",
                    shape.dialect, small.0, large.0, small.1, large.1
                );
                once = (small.0.max(once.0), small.1.max(once.1));
                let live = large.0 <= once.0 + 1 && large.1 <= once.1 + 64;
                let waits = WAITING.contains(&shape.dialect) && large.1 <= 3 * 1024 * 1024;
                good &= retain == Retain::Block || live || waits;
            }
        }
    }
    good
}
