//! `toolglot stats`: what is in files of outputs.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use serde::Serialize;
use toolglot::{Grade, Severity};

use super::record::{Answers, Defaults, ReadText};
use super::rows::{Source, has_records};
use super::{Line, defaults, pipeline, progress};
use crate::args::{Report, StatsArgs};
use crate::input::{self, Input};
use crate::stop::{Stop, Verdict};
use crate::terminal::one_line;
use crate::values::{is_stdin, threads};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const WARN: Style = AnsiColor::Yellow.on_default();
const BAD: Style = AnsiColor::Red.on_default();

/// What was counted in a file.
#[derive(Default, Serialize)]
struct Tally {
    /// Lines that are records, or 1 for a file that is one output.
    records: u64,
    /// Lines that are not records.
    bad: u64,
    /// The first of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_bad: Option<BadLine>,
    /// Texts of the model, and their bytes.
    turns: u64,
    bytes: u64,
    calls: u64,
    complete: u64,
    repaired: u64,
    recovered: u64,
    /// Calls by dialect.
    dialects: BTreeMap<String, u64>,
    /// Errors and warnings by kind.
    errors: BTreeMap<&'static str, u64>,
    warnings: BTreeMap<&'static str, u64>,
    /// Bytes that no event has.
    lost: u64,
}

#[derive(Clone, Serialize)]
struct BadLine {
    line: u64,
    error: String,
}

impl Tally {
    fn line(&mut self, answers: &mut Answers<'_>, line: &Line) {
        match answers.read(line) {
            Ok(record) => {
                self.records += 1;
                record.turns.iter().for_each(|read| self.text(read));
            }
            Err(error) => {
                self.bad += 1;
                let line = line.number;
                self.first_bad.get_or_insert(BadLine { line, error });
            }
        }
    }

    fn text(&mut self, read: &ReadText) {
        self.turns += 1;
        self.bytes += read.bytes;
        self.lost += read.lost;
        for call in &read.turn.calls {
            self.calls += 1;
            match call.grade {
                Grade::Complete => self.complete += 1,
                Grade::Repaired => self.repaired += 1,
                Grade::Recovered => self.recovered += 1,
            }
            let dialect = match call.dialect.is_empty() {
                true => "native",
                false => &call.dialect,
            };
            *self.dialects.entry(dialect.to_owned()).or_default() += 1;
        }
        for report in &read.turn.issues {
            let kinds = match report.severity {
                Severity::Error => &mut self.errors,
                Severity::Warning => &mut self.warnings,
            };
            *kinds.entry(report.kind.name()).or_default() += 1;
        }
    }

    fn add(&mut self, more: &Self) {
        self.records += more.records;
        self.bad += more.bad;
        self.turns += more.turns;
        self.bytes += more.bytes;
        self.calls += more.calls;
        self.complete += more.complete;
        self.repaired += more.repaired;
        self.recovered += more.recovered;
        self.lost += more.lost;
        if self.first_bad.is_none() {
            self.first_bad.clone_from(&more.first_bad);
        }
        sum(&mut self.dialects, &more.dialects);
        sum(&mut self.errors, &more.errors);
        sum(&mut self.warnings, &more.warnings);
    }

    fn error_count(&self) -> u64 {
        self.errors.values().sum()
    }
}

fn sum<K: Ord + Clone>(all: &mut BTreeMap<K, u64>, more: &BTreeMap<K, u64>) {
    for (key, count) in more {
        *all.entry(key.clone()).or_default() += count;
    }
}

#[derive(Serialize)]
struct FileTally {
    file: String,
    #[serde(flatten)]
    tally: Tally,
}

#[derive(Serialize)]
struct All {
    files: Vec<FileTally>,
    total: Tally,
}

pub fn run(args: &StatsArgs, color: ColorChoice) -> Result<Verdict, Stop> {
    let mut defaults = defaults(&args.records)?;
    defaults.audit = true;
    let mut all = All {
        files: vec![],
        total: Tally::default(),
    };
    for path in &args.files {
        let tally = match is_stdin(path) || has_records(path) {
            true => records(args, &defaults, path)?,
            false => output(args, &defaults, path)?,
        };
        all.total.add(&tally);
        let file = match is_stdin(path) {
            true => "standard input".to_owned(),
            false => path.display().to_string(),
        };
        all.files.push(FileTally { file, tally });
    }
    // Of several files, the first bad line says nothing without its file.
    all.total.first_bad = None;
    let out = io::stdout().lock();
    match args.output {
        Report::Pretty => {
            table(&mut AutoStream::new(out, color), &all).map_err(Stop::output)?;
        }
        Report::Json => {
            let mut out = out;
            let json = serde_json::to_string(&all).map_err(Stop::because)?;
            writeln!(out, "{json}").map_err(Stop::output)?;
        }
    }
    let total = &all.total;
    let errors = total.bad > 0 || total.error_count() > 0;
    Ok(Verdict::of(
        errors || total.lost > 0,
        args.strict || total.lost > 0,
    ))
}

/// Counts in a file of records.
fn records(args: &StatsArgs, defaults: &Defaults, path: &Path) -> Result<Tally, Stop> {
    let mut source = Source::open(path, args.records.max_line())?;
    let bar = progress(source.len());
    let mut all = Tally::default();
    pipeline::run(
        (threads(args.records.jobs).get(), defaults),
        move || source.lines(),
        |answers, lines: Vec<Line>| {
            let mut tally = Tally::default();
            lines.iter().for_each(|line| tally.line(answers, line));
            tally
        },
        |tally| {
            all.add(&tally);
            Ok(())
        },
        &bar,
    )?;
    Ok(all)
}

/// Counts in one output.
fn output(args: &StatsArgs, defaults: &Defaults, path: &Path) -> Result<Tally, Stop> {
    let max = args.records.max_line();
    let input = Input::open(path)?;
    if input.len.is_some_and(|len| len > max) {
        return Err(input.wrong("the file is longer than --max-line allows"));
    }
    let text = input::whole(path)?;
    let read = Answers::new(defaults).plain(&text);
    let mut tally = Tally {
        records: 1,
        ..Tally::default()
    };
    tally.text(&read.map_err(|why| input.wrong(why))?);
    Ok(tally)
}

const HEAD: [&str; 8] = [
    "RECORDS",
    "TURNS",
    "CALLS",
    "COMPLETE",
    "REPAIRED",
    "RECOVERED",
    "ERRORS",
    "LOST",
];

fn table(out: &mut dyn Write, all: &All) -> io::Result<()> {
    let mut rows: Vec<_> = all
        .files
        .iter()
        .map(|one| (cells(&one.tally), one_line(&one.file), &one.tally))
        .collect();
    if rows.len() > 1 {
        rows.push((cells(&all.total), "total".to_owned(), &all.total));
    }
    let widths: Vec<usize> = (0..HEAD.len())
        .map(|at| {
            let cells = rows.iter().map(|(cells, ..)| cells[at].len());
            cells.chain([HEAD[at].len()]).max().unwrap_or(0)
        })
        .collect();
    let line = |cells: &[String; 8]| -> String {
        let cell = |(cell, width): (&String, &usize)| format!("{cell:>width$}  ");
        cells.iter().zip(&widths).map(cell).collect()
    };
    writeln!(out, "{BOLD}{}FILE{BOLD:#}", line(&HEAD.map(str::to_owned)))?;
    for (cells, name, tally) in &rows {
        let style = if tally.lost > 0 { BAD } else { Style::new() };
        writeln!(out, "{style}{}{name}{style:#}", line(cells))?;
    }
    for one in &all.files {
        let tally = &one.tally;
        writeln!(out, "\n{BOLD}{}{BOLD:#}", one_line(&one.file))?;
        kinds(out, "calls", Style::new(), &tally.dialects)?;
        kinds(out, "errors", BAD, &tally.errors)?;
        kinds(out, "warnings", WARN, &tally.warnings)?;
        if let Some(first) = &tally.first_bad {
            let (count, line, why) = (tally.bad, first.line, one_line(&first.error));
            writeln!(
                out,
                "  {BAD}bad lines{BAD:#} {count}; the first is line {line}: {why}"
            )?;
        }
    }
    if all.total.lost > 0 {
        writeln!(
            out,
            "\n{BAD}Bytes were lost. That is a bug: please report it.{BAD:#}"
        )?;
    }
    Ok(())
}

fn cells(tally: &Tally) -> [String; 8] {
    [
        tally.records,
        tally.turns,
        tally.calls,
        tally.complete,
        tally.repaired,
        tally.recovered,
        tally.error_count(),
        tally.lost,
    ]
    .map(|count| count.to_string())
}

/// Widest line of a list of kinds.
const WIDTH: usize = 78;

/// Counts, the largest first, wrapped between entries.
fn kinds<K: AsRef<str>>(
    out: &mut dyn Write,
    what: &str,
    style: Style,
    counts: &BTreeMap<K, u64>,
) -> io::Result<()> {
    let mut list: Vec<(&str, u64)> = counts.iter().map(|(kind, n)| (kind.as_ref(), *n)).collect();
    list.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let mut lines = vec![String::new()];
    for (number, (kind, count)) in list.iter().enumerate() {
        let comma = if number + 1 < list.len() { "," } else { "" };
        let entry = format!(" {kind} {count}{comma}");
        match lines.last_mut() {
            Some(line) if line.is_empty() || line.len() + entry.len() + 11 <= WIDTH => {
                line.push_str(&entry);
            }
            Some(_) | None => lines.push(entry),
        }
    }
    if list.is_empty() && what == "calls" {
        return writeln!(out, "  {DIM}no calls{DIM:#}");
    }
    for (number, line) in lines.iter().filter(|line| !line.is_empty()).enumerate() {
        let what = if number == 0 { what } else { "" };
        writeln!(out, "  {style}{what:9}{style:#}{line}")?;
    }
    Ok(())
}
