//! Measures the cost of an agent in addition to the engine, and the memory of many runs.
//!
//! `cargo bench -p toolglot-agent --bench numbers` prints the table of docs/AGENT.md. It ends with status 1 if a run holds more per
//! call than promised. Times depend on the machine and are only printed.

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use toolglot::json::json;
use toolglot::{Collect, DialectSet, Finish, Options, Parser};
use toolglot_agent::{Agent, Do, Policy, Run};
use toolglot_tools::outcome::{Status, ToolResult};
use toolglot_tools::{CallConfig, Inventory, Tool};

struct Counting;

static LIVE: AtomicU64 = AtomicU64::new(0);
static PEAK: AtomicU64 = AtomicU64::new(0);

// SAFETY: every method forwards its arguments to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
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

/// Calls of a reply.
const CALLS: u64 = 64;
/// Repetitions of each measurement; the fastest one counts, to exclude other load on the machine.
const TIMES: u32 = 50;
/// Runs that are open at once.
const RUNS: u64 = 10_000;
/// Maximum bytes that a call may hold in addition to the engine's.
const HELD: u64 = 4096;

/// Returns the peak bytes in addition to those live before, the bytes that remain, and the value.
fn held<T>(work: impl FnOnce() -> T) -> (u64, u64, T) {
    let before = LIVE.load(Relaxed);
    PEAK.store(before, Relaxed);
    let made = work();
    let (peak, live) = (PEAK.load(Relaxed), LIVE.load(Relaxed));
    (peak - before, live.saturating_sub(before), made)
}

fn quickest(mut work: impl FnMut()) -> f64 {
    let times = (0..TIMES).map(|_| {
        let began = Instant::now();
        work();
        began.elapsed().as_secs_f64()
    });
    times.fold(f64::INFINITY, f64::min)
}

fn reply() -> String {
    let call = |n: u64| {
        format!(
            r#"<tool_call>{{"name": "weather", "arguments": {{"city": "Leith", "days": {n}}}}}</tool_call>"#
        )
    };
    (0..CALLS).map(call).collect()
}

fn agent(policy: Policy) -> Agent {
    let mut tool = Tool::new("weather").description("Tells the weather of a city");
    tool.agent_callable = true;
    tool.parameters = Some(
        json!({"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}),
    );
    let mut config = CallConfig::enabled();
    config.parallel_execution = true;
    let inventory = Inventory::of([tool]).expect("tools");
    Agent::new(
        &DialectSet::builtin("hermes").expect("a dialect"),
        "hermes",
        inventory,
    )
    .expect("a dialect")
    .config(config)
    .policy(policy)
    .max_concurrent(usize::MAX)
}

/// Runs a whole round: the reply in chunks, each call executed.
fn round(run: &mut Run, reply: &str) {
    for chunk in reply.as_bytes().chunks(16) {
        run.model(chunk).expect("the model was asked");
        while let Some(one) = run.take() {
            if let Do::Start(call) = one {
                let result = ToolResult::text(&call.id, &call.name, Status::Success, "rain");
                run.done(result).expect("it runs");
            }
        }
    }
}

fn main() -> ExitCode {
    let set = DialectSet::builtin("hermes").expect("a dialect");
    let reply = reply();
    let parse = || {
        let mut parser = Parser::new(&set, Options::default());
        let mut turn = Collect::new();
        for chunk in reply.as_bytes().chunks(16) {
            parser.feed(chunk, &mut turn);
        }
        parser.finish(Finish::Stop, &mut turn);
        turn.turn()
    };
    let free = agent(Policy::allow_all());
    let carry = || {
        let mut run = free.run("How is the weather?");
        while run.take().is_some() {}
        round(&mut run, &reply);
        run
    };
    assert_eq!(parse().calls.len() as u64, CALLS);
    assert_eq!(carry().receipts().len() as u64, CALLS);

    let (engine, _, turn) = held(parse);
    drop(turn);
    let (whole, _, run) = held(carry);
    drop(run);
    let bytes = whole.saturating_sub(engine) / CALLS;
    let (engine, whole) = (
        quickest(|| drop(black_box(parse()))),
        quickest(|| drop(black_box(carry()))),
    );
    let each = |seconds: f64| seconds / CALLS as f64 * 1e6;

    let asked = agent(Policy::confirm_all());
    let one = r#"<tool_call>{"name": "weather", "arguments": {"city": "Leith"}}</tool_call>"#;
    let begin = || {
        let mut run = asked.run("How is the weather?");
        run.model(one.as_bytes()).expect("the model was asked");
        run.model_ended(Finish::Stop).expect("it wrote");
        while run.take().is_some() {}
        run
    };
    let (_, open, runs) = held(|| (0..RUNS).map(|_| begin()).collect::<Vec<_>>());
    let saved = runs[0].save().len();
    assert!(runs.iter().all(|run| run.outcome().is_none()));
    drop(runs);

    println!("| | |\n|---|---:|");
    println!("| a call in the engine alone | {:.1} µs |", each(engine));
    println!(
        "| a call that a run checks, starts and settles, in addition | {:.1} µs |",
        each(whole - engine)
    );
    println!("| memory per call, in addition to the engine's | {bytes} bytes |");
    println!(
        "| {RUNS} runs that wait for a person | {:.0} MB, {} bytes each |",
        open as f64 / 1e6,
        open / RUNS
    );
    println!("| one of them saved | {saved} bytes |");
    if bytes > HELD {
        eprintln!("a call holds more than {HELD} bytes");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
