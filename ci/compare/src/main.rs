//! Runs toolglot and the Rust peers: `toolglot-compare PEER`, one job a line on standard input, one answer a line on standard output.
//! `ci/compare/drive.py` writes the jobs. Texts are given to each parser as its server gives them; nothing is repaired here.

mod peers;

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use cpu_time::ThreadTime;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use peers::Peer;

/// What a parser is asked.
#[derive(Deserialize)]
struct Job {
    parser: String,
    tools: Vec<ToolDef>,
    input: String,
    /// Lengths of the chunks in characters; none: the parser's way without streaming.
    cuts: Option<Vec<usize>>,
    /// Processor seconds after which it is stopped.
    limit: f64,
    /// The output itself is not wanted.
    #[serde(default)]
    quiet: bool,
}

#[derive(Clone, Deserialize, Serialize)]
pub struct ToolDef {
    pub name: String,
    #[serde(default)]
    pub parameters: Value,
}

/// What it said: text, and calls by their number.
#[derive(Default, Serialize)]
pub struct Out {
    pub text: String,
    pub calls: BTreeMap<usize, (String, String)>,
}

impl Out {
    /// Takes a piece of a call.
    pub fn piece(&mut self, index: usize, name: Option<&str>, arguments: &str) {
        let call = self.calls.entry(index).or_default();
        call.0.push_str(name.unwrap_or_default());
        call.1.push_str(arguments);
    }

    pub fn whole(&mut self, name: &str, arguments: &str) {
        self.piece(self.calls.len(), Some(name), arguments);
    }
}

#[derive(Serialize)]
struct Answer {
    #[serde(flatten)]
    out: Out,
    error: Option<String>,
    fed: usize,
    seconds: f64,
}

/// The chunks, as slices.
fn chunks<'a>(input: &'a str, cuts: &[usize]) -> Vec<&'a str> {
    let mut rest = input;
    cuts.iter()
        .map(|&length| {
            let end = rest
                .char_indices()
                .nth(length)
                .map_or(rest.len(), |(at, _)| at);
            let (chunk, after) = rest.split_at(end);
            rest = after;
            chunk
        })
        .collect()
}

/// Feeds the chunks until the time is up. Callgrind counts this function.
#[inline(never)]
fn counted(
    peer: &mut dyn Peer,
    chunks: &[&str],
    limit: Duration,
    out: &mut Out,
    fed: &mut usize,
) -> Result<(), String> {
    let begun = ThreadTime::now();
    for (number, chunk) in chunks.iter().enumerate() {
        peer.feed(chunk, out)?;
        *fed += chunk.len();
        if number % 16 == 15 && begun.elapsed() > limit {
            return Ok(());
        }
    }
    peer.finish(out)
}

fn answer(kind: &str, job: &Job) -> Answer {
    let (mut out, mut fed) = (Out::default(), 0);
    let limit = Duration::from_secs_f64(job.limit);
    let mut seconds = 0.0;
    let run = AssertUnwindSafe(|| {
        let mut peer = peers::make(kind, &job.parser, &job.tools)?;
        let Some(cuts) = &job.cuts else {
            return peer.at_once(&job.input, &mut out);
        };
        let chunks = chunks(&job.input, cuts);
        let begun = ThreadTime::now();
        let done = counted(&mut *peer, &chunks, limit, &mut out, &mut fed);
        seconds = begun.elapsed().as_secs_f64();
        done
    });
    let error = match catch_unwind(run) {
        Ok(done) => done.err(),
        Err(why) => Some(format!(
            "panic: {}",
            why.downcast_ref::<String>().cloned().unwrap_or_else(|| why
                .downcast_ref::<&str>()
                .map_or(String::new(), |s| (*s).to_owned()))
        )),
    };
    if job.quiet {
        out = Out::default();
    }
    Answer {
        out,
        error,
        fed,
        seconds,
    }
}

fn main() {
    let kind = std::env::args().nth(1).expect("a peer");
    std::panic::set_hook(Box::new(|_| {}));
    let mut stdout = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let job: Job = serde_json::from_str(&line.expect("a line")).expect("a job");
        let said = serde_json::to_string(&answer(&kind, &job)).expect("an answer");
        writeln!(stdout, "{said}").expect("standard output is open");
    }
}
