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

/// Maximum number of errors printed; a file of another kind would have one per line.
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

fn unreadable(errors: &[LineError]) -> Stop {
    let mut lines: Vec<String> = errors
        .iter()
        .take(MISTAKES)
        .map(ToString::to_string)
        .collect();
    if errors.len() > MISTAKES {
        lines.push(format!("and {} more like these", errors.len() - MISTAKES));
    }
    Stop::because(lines.join("\ntoolglot: "))
}
