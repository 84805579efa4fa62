//! The checks of all fuzz targets, without the fuzzer.
//!
//! Each function takes one input and panics if it breaks a law of the engine. Every choice (dialects, options, limits, chunking)
//! is read from the input itself, so a file is all it takes to reproduce a failure. The fuzz targets call these functions, and
//! so can ordinary tests, by including this folder with `#[path]` and running over the files under `corpus/` and `regressions/`.

mod agent;
mod case;
mod choice;
mod chunking;
mod composed;
mod encode;
mod escape;
mod gateway;
mod json;
mod log;
mod payload;
mod snapshot;
mod source;
mod template;
mod tools;
mod user;
mod watch;
mod wire;
mod words;

pub use agent::agent_run;
#[allow(unused_imports, reason = "the tests of the repository use it")]
pub use case::Case;
#[allow(unused_imports, reason = "the fuzzer uses it")]
pub use choice::one_each;
pub use chunking::chunking;
#[allow(unused_imports, reason = "the tests of the repository use it")]
pub use chunking::{cuts, pieces};
pub use composed::composed;
pub use encode::encode;
pub use escape::escape;
pub use gateway::gateway;
pub use payload::{json, pythonic, tagged};
#[allow(unused_imports, reason = "the tests of the repository use it")]
pub use snapshot::repair;
pub use snapshot::snapshot;
pub use source::source;
pub use template::{gguf, template};
pub use tools::tools;
pub use user::user_dialect;
pub use wire::wire;
#[allow(unused_imports, reason = "the tests of the repository use the rest")]
pub use words::{Count, Cuts, FAMILIES, words};

use toolglot::{Collect, DialectSet, Event, Finish, Options, Parser, Retain, Sink};

use choice::Choice;
use watch::Watch;

/// The check of a target.
pub type Check = fn(&[u8]);

/// Streams that the checks of this process parsed.
#[allow(dead_code, reason = "the fuzzer prints it")]
pub fn parses() -> u64 {
    watch::PARSES.load(std::sync::atomic::Ordering::Relaxed)
}

/// Every target.
#[allow(dead_code, reason = "the tests of the repository name each")]
pub const TARGETS: [(&str, Check); 17] = [
    ("chunking", chunking),
    ("builtin", builtin),
    ("user_dialect", user_dialect),
    ("escape", escape),
    ("encode", encode),
    ("json", json),
    ("pythonic", pythonic),
    ("tagged", tagged),
    ("snapshot", snapshot),
    ("agent_run", agent_run),
    ("template", template),
    ("gguf", gguf),
    ("composed", composed),
    ("source", source),
    ("tools", tools),
    ("wire", wire),
    ("gateway", gateway),
];

/// All default dialects, arbitrary bytes: no panic, the leaves partition the input, no more bytes are held than the set's
/// bound, and a complete call stays complete.
pub fn builtin(data: &[u8]) {
    let (defaults, choice) = (&case::SETS[0], Choice::of(data));
    if choice.takes(0, 3) {
        laws(defaults, &Options::default(), data, 4096);
    }
    if choice.takes(1, 3) {
        let mut options = Options::default();
        options.retain = Retain::None;
        laws(defaults, &options, data, 5);
    }
    if choice.takes(2, 3) {
        let turn = toolglot::parse(defaults, Options::default(), data, Finish::Stop);
        for call in &turn.calls {
            json::object(&call.arguments);
        }
    }
}

/// Feeds chunks of one size, and checks everything that does not need a second run.
fn laws(set: &DialectSet, options: &Options, data: &[u8], size: usize) {
    let bound = set.bound(&options.limits);
    let mut parser = Parser::new(set, options.clone());
    let mut watch = Watch::new(data, options);
    watch.log.runs_only = true;
    let mut turn = Collect::new();
    for chunk in data.chunks(size) {
        watch.fed += chunk.len() as u64;
        parser.feed(chunk, &mut |event: Event<'_>| {
            watch.event(event);
            turn.event(event);
        });
        watch.between_chunks(&parser, bound);
    }
    parser.finish(Finish::Stop, &mut watch);
    watch.at_end(&mut parser);
    // The collector must accept all events of the parser, and so must the texts that it makes from issues.
    let _ = turn.turn();
}
