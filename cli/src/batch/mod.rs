//! `toolglot batch` and `toolglot stats`: many records, on all cores, in bounded memory ([`pipeline`]).
//!
//! `batch` writes one line for each line, in the same order; `stats` counts ([`stats`]).

pub mod beside;
mod budget;
#[cfg(feature = "parquet")]
mod columns;
mod fields;
mod lines;
mod pipeline;
mod record;
mod rows;
pub mod stats;

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use toolglot_testkit::chunks::Chunking;

use crate::args::{BatchArgs, RecordArgs};
use crate::input;
use crate::stop::{Stop, Verdict};
use crate::values::threads;
use lines::Line;
use record::{Answers, Defaults};
use rows::Source;

pub fn run(args: &BatchArgs) -> Result<Verdict, Stop> {
    match &args.output {
        Some(output) => args
            .records
            .inputs()
            .chain([&args.file])
            .try_for_each(|input| input::not_the_same(input, output))?,
        None => input::not_stdout(&args.file)?,
    }
    let mut defaults = defaults(&args.records)?;
    defaults.chunking = args.chunk;
    defaults.deny_unknown = args.deny_unknown;
    let source = Source::open(&args.file, args.records.max_line())?;
    let mut totals = Totals::default();
    if let Some(path) = args.output.as_deref().filter(|path| rows::is_parquet(path)) {
        rows::write(&args.records, &defaults, source, path, &mut totals)?;
    } else {
        let mut out = BufWriter::new(output(args.output.as_deref())?);
        write(&args.records, &defaults, source, &mut totals, &mut out)?;
    }
    if totals.bad > 0 {
        let message = format!(
            "toolglot: {} of {} lines have an error record",
            totals.bad, totals.lines
        );
        let _ = writeln!(io::stderr(), "{message}");
    }
    Ok(Verdict::of(totals.bad > 0 || totals.errors, args.strict))
}

/// What the records of a run have in common. Settings on the command line must be valid, even if every record overrides them.
fn defaults(args: &RecordArgs) -> Result<Defaults, Stop> {
    let defaults = Defaults {
        sets: args.set.sets().map_err(Stop::because)?,
        choice: args.set.choice(),
        tools: crate::tools::hints(args.tools.as_deref())?,
        untyped: args.untyped,
        chunking: Chunking::Whole,
        deny_unknown: false,
        fields: args.fields.clone(),
        audit: false,
    };
    defaults.sets.get(&defaults.choice).map_err(Stop::because)?;
    Ok(defaults)
}

#[derive(Default)]
struct Totals {
    lines: u64,
    /// Lines that are not records.
    bad: u64,
    /// Whether an error was reported in a record.
    errors: bool,
}

impl Totals {
    fn add(&mut self, more: &Self) {
        self.lines += more.lines;
        self.bad += more.bad;
        self.errors |= more.errors;
    }
}

fn write(
    args: &RecordArgs,
    defaults: &Defaults,
    mut source: Source,
    totals: &mut Totals,
    out: &mut impl Write,
) -> Result<(), Stop> {
    let bar = progress(source.len());
    pipeline::run(
        (threads(args.jobs).get(), defaults),
        move || source.lines(),
        answer,
        |(text, done)| {
            totals.add(&done);
            out.write_all(&text).map_err(Stop::output)?;
            out.flush().map_err(Stop::output)
        },
        &bar,
    )
}

fn answer(answers: &mut Answers<'_>, lines: Vec<Line>) -> (Vec<u8>, Totals) {
    let mut text = vec![];
    let mut totals = Totals::default();
    for line in lines {
        let answer = answers.to(line);
        text.extend_from_slice(answer.text.as_bytes());
        text.push(b'\n');
        totals.add(&Totals {
            lines: 1,
            bad: u64::from(answer.bad),
            errors: answer.errors,
        });
    }
    (text, totals)
}

fn output(path: Option<&Path>) -> Result<Box<dyn Write>, Stop> {
    let Some(path) = path else {
        return Ok(Box::new(io::stdout()));
    };
    Ok(Box::new(create(path)?))
}

fn create(path: &Path) -> Result<File, Stop> {
    File::create(path)
        .map_err(|error| Stop::because(format!("cannot write {}: {error}", path.display())))
}

/// For people only: nothing is drawn unless standard error is a terminal.
fn progress(len: Option<u64>) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let (bar, template) = match len {
        Some(len) => (
            ProgressBar::new(len),
            "{wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}",
        ),
        None => (
            ProgressBar::no_length(),
            "{spinner} {bytes} {bytes_per_sec}",
        ),
    };
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
