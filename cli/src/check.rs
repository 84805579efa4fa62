//! `toolglot check`: conformance vectors.

use std::io::{self, Write};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use toolglot_testkit::sets::Sets;
use toolglot_testkit::vectors::{self, LineError, Vector};

use crate::args::CheckArgs;
use crate::stop::{Stop, Verdict};
use crate::values::threads;

const BAD: Style = AnsiColor::Red.on_default();
const GOOD: Style = AnsiColor::Green.on_default();

/// Maximum number of errors printed; a file of another kind would have many.
const MISTAKES: usize = 20;

pub fn run(args: &CheckArgs, color: ColorChoice) -> Result<Verdict, Stop> {
    let sets = Sets::load(&args.dialect_files).map_err(Stop::because)?;
    let vectors = load(args)?;
    let summary = vectors::check(&vectors, &sets, args.cuts.into(), threads(args.jobs))
        .map_err(|errors| unreadable(&errors))?;

    let mut out = AutoStream::new(io::stdout().lock(), color);
    for failure in &summary.failures {
        writeln!(out, "{BAD}{failure}{BAD:#}").map_err(Stop::output)?;
    }
    let style = if summary.failed == 0 { GOOD } else { BAD };
    writeln!(
        out,
        "{style}{} passed, {} failed{style:#}",
        summary.passed, summary.failed
    )
    .map_err(Stop::output)?;
    Ok(Verdict::of(summary.failed > 0, true))
}

fn load(args: &CheckArgs) -> Result<Vec<Vector>, Stop> {
    let mut vectors = vec![];
    let mut errors = vec![];
    for path in &args.files {
        match vectors::read_file(path) {
            Ok(more) => vectors.extend(more),
            Err(more) => errors.extend(more),
        }
    }
    if errors.is_empty() {
        Ok(vectors)
    } else {
        Err(unreadable(&errors))
    }
}

/// One line for each kind of error: a wrong file would have the same one on every line.
fn unreadable(errors: &[LineError]) -> Stop {
    let mut kinds: Vec<(&LineError, usize)> = vec![];
    for error in errors {
        let same = |(first, _): &(&LineError, usize)| {
            first.origin == error.origin && first.why == error.why
        };
        match kinds.iter().position(same) {
            Some(at) => kinds[at].1 += 1,
            None if kinds.len() < MISTAKES => kinds.push((error, 0)),
            None => {}
        }
    }
    let shown: usize = kinds.iter().map(|(_, more)| 1 + more).sum();
    let mut lines: Vec<String> = kinds
        .iter()
        .map(|(first, more)| match more {
            0 => first.to_string(),
            1 => format!("{first} (and 1 more line)"),
            more => format!("{first} (and {more} more lines)"),
        })
        .collect();
    if errors.len() > shown {
        lines.push(format!("and {} other errors", errors.len() - shown));
    }
    Stop::because(lines.join("\ntoolglot: "))
}
