//! What every fuzz target checks, without the fuzzer.
//!
//! Each function takes one input and panics if a law of the engine is broken. Every choice (dialects, options, limits,
//! cuts) is read from the input itself, so a file is all that is needed to see a failure again. The fuzz targets call these
//! functions, and so may an ordinary test: it includes this folder with `#[path]` and runs over the files under `corpus/`
//! and `regressions/`.

mod agent;
mod case;
mod chunking;
mod encode;
mod escape;
mod json;
mod log;
mod payload;
mod snapshot;
mod user;
mod watch;

pub use agent::agent_run;
#[allow(unused_imports, reason = "the tests of the repository use it")]
pub use case::Case;
pub use chunking::chunking;
#[allow(unused_imports, reason = "the tests of the repository use it")]
pub use chunking::{cuts, pieces};
pub use encode::encode;
pub use escape::escape;
pub use payload::{json, pythonic, tagged};
#[allow(unused_imports, reason = "the tests of the repository use it")]
pub use snapshot::repair;
pub use snapshot::snapshot;
pub use user::user_dialect;

use toolglot::{Collect, DialectSet, Event, Finish, Options, Parser, Retain, Sink};

use watch::Watch;

/// What a target does with an input.
pub type Check = fn(&[u8]);

/// Every target.
#[allow(dead_code, reason = "the tests of the repository name each")]
pub const TARGETS: [(&str, Check); 10] = [
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
];

/// All default dialects, arbitrary bytes: no panic, the leaves partition the input, no more is withheld than the set's
/// bound, and a call that is complete stays complete.
pub fn builtin(data: &[u8]) {
    let defaults = &case::SETS[0];
    laws(defaults, &Options::default(), data, 4096);
    let mut options = Options::default();
    options.retain = Retain::None;
    laws(defaults, &options, data, 5);
    let turn = toolglot::parse(defaults, Options::default(), data, Finish::Stop);
    for call in &turn.calls {
        json::object(&call.arguments);
    }
}

/// Feeds chunks of one size and checks everything that does not need a second run.
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
    // The collector must cope with whatever the parser says, and so must the texts that it makes of issues.
    let _ = turn.turn();
}
