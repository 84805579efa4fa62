//! `toolglot batch`: one record per line in, one turn per line out, in the same order.
//!
//! One thread reads, several parse, this one writes. Lines travel in numbered batches, so that the writer can
//! restore their order. The data between reader and writer is bounded in bytes and in batches ([`Budget`]), so memory
//! does not grow with the length of the file.

mod beside;
mod budget;
mod lines;
mod record;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::process;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;

use indicatif::{ProgressBar, ProgressStyle};

use crate::args::BatchArgs;
use crate::input::{self, Input};
use crate::stop::{Stop, Verdict};
use crate::values::{is_stdin, threads};
use budget::Budget;
use lines::{Line, Lines};
use record::{Answers, Defaults};

/// Bytes of input in flight; a longer line travels alone.
const UNDER_WAY: u64 = 64 << 20;
/// A batch is sent when it reaches this many bytes or lines, or when no more input is waiting.
const BATCH_BYTES: u64 = 128 << 10;
const BATCH_LINES: usize = 256;

/// Size of one read.
const BUFFER: usize = 2 * BATCH_BYTES as usize;

/// Lines to be parsed.
struct Task {
    number: u64,
    /// Input bytes of the batch.
    bytes: u64,
    lines: Vec<Line>,
}

/// Answers to be written.
struct Done {
    number: u64,
    bytes: u64,
    text: Vec<u8>,
    /// Lines that are not records.
    bad: u64,
    /// Whether an error was reported in a record.
    errors: bool,
}

pub fn run(args: &BatchArgs) -> Result<Verdict, Stop> {
    if let Some(output) = &args.output {
        not_the_same(&args.file, output)?;
    }
    let defaults = Defaults {
        sets: args.set.sets().map_err(Stop::because)?,
        choice: args.set.choice(),
        tools: input::tools(args.tools.as_deref())?,
        chunking: args.chunk,
        untyped: args.untyped,
        deny_unknown: args.deny_unknown,
    };
    // Settings on the command line must be valid, even if every record overrides them.
    defaults.sets.get(&defaults.choice).map_err(Stop::because)?;
    let input = Input::open(&args.file)?;
    let bar = progress(input.len);
    let mut out = BufWriter::new(output(args.output.as_deref())?);

    let max_line = (args.max_line.get() as u64).saturating_mul(1 << 20);
    let totals = pipeline(
        args,
        &defaults,
        Lines::new(BufReader::with_capacity(BUFFER, input), max_line),
        &bar,
        &mut out,
    )?;
    bar.finish_and_clear();
    if totals.bad > 0 {
        let message = format!(
            "toolglot: {} of {} lines have an error record",
            totals.bad, totals.lines
        );
        let _ = writeln!(io::stderr(), "{message}");
    }
    Ok(Verdict::of(totals.bad > 0 || totals.errors, args.strict))
}

#[derive(Default)]
struct Totals {
    lines: u64,
    bad: u64,
    errors: bool,
}

fn pipeline(
    args: &BatchArgs,
    defaults: &Defaults,
    mut lines: Lines<BufReader<Input>>,
    bar: &ProgressBar,
    out: &mut impl Write,
) -> Result<Totals, Stop> {
    let jobs = threads(args.jobs).get();
    let budget = Budget::new(UNDER_WAY, 4 * jobs as u64);
    let (tasks, waiting) = mpsc::channel();
    let waiting = Mutex::new(waiting);
    let (done, finished) = mpsc::channel();
    thread::scope(|scope| {
        let reader = scope.spawn(|| read(&mut lines, &budget, tasks));
        for _ in 0..jobs {
            let done = done.clone();
            scope.spawn(|| work(defaults, &waiting, done));
        }
        drop(done);
        let written = write(&finished, &budget, bar, out);
        let totals = match written {
            Ok(totals) => totals,
            // The reader may wait for input that never comes. Without an output there is nothing left to do.
            Err(stop) => {
                bar.finish_and_clear();
                process::exit(i32::from(stop.report()));
            }
        };
        let lines = reader
            .join()
            .map_err(|_| Stop::because("the reader ended early"))??;
        Ok(Totals { lines, ..totals })
    })
}

/// Reads to the end; returns the number of lines.
fn read(
    lines: &mut Lines<BufReader<Input>>,
    budget: &Budget,
    tasks: Sender<Task>,
) -> Result<u64, Stop> {
    let mut count = 0;
    for number in 0.. {
        let task = next_task(number, lines).map_err(|e| lines.input().error(&e))?;
        if task.lines.is_empty() {
            break;
        }
        count += task.lines.len() as u64;
        budget.take(task.bytes);
        if tasks.send(task).is_err() {
            break;
        }
    }
    Ok(count)
}

/// Returns a full batch of lines; fewer if the next line is not available yet; none at the end.
fn next_task(number: u64, lines: &mut Lines<BufReader<Input>>) -> io::Result<Task> {
    let mut task = Task {
        number,
        bytes: 0,
        lines: vec![],
    };
    while let Some(line) = lines.next_line()? {
        task.bytes += line.bytes;
        task.lines.push(line);
        if task.bytes >= BATCH_BYTES || task.lines.len() >= BATCH_LINES || lines.is_waiting() {
            break;
        }
    }
    Ok(task)
}

fn work(defaults: &Defaults, waiting: &Mutex<Receiver<Task>>, done: Sender<Done>) {
    let mut answers = Answers::new(defaults);
    loop {
        let task = waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv();
        let Ok(task) = task else { return };
        let mut text = vec![];
        let (mut bad, mut errors) = (0, false);
        for line in task.lines {
            let answer = answers.to(line);
            text.extend_from_slice(answer.text.as_bytes());
            text.push(b'\n');
            bad += u64::from(answer.bad);
            errors |= answer.errors;
        }
        if done
            .send(Done {
                number: task.number,
                bytes: task.bytes,
                text,
                bad,
                errors,
            })
            .is_err()
        {
            return;
        }
    }
}

/// Writes the answers in order.
fn write(
    finished: &Receiver<Done>,
    budget: &Budget,
    bar: &ProgressBar,
    out: &mut impl Write,
) -> Result<Totals, Stop> {
    let mut totals = Totals::default();
    let mut early: BTreeMap<u64, Done> = BTreeMap::new();
    let mut next = 0;
    while let Ok(done) = finished.recv() {
        early.insert(done.number, done);
        while let Some(done) = early.remove(&next) {
            next += 1;
            out.write_all(&done.text).map_err(Stop::output)?;
            totals.bad += done.bad;
            totals.errors |= done.errors;
            bar.inc(done.bytes);
            budget.give_back(done.bytes);
        }
        out.flush().map_err(Stop::output)?;
    }
    Ok(totals)
}

fn output(path: Option<&Path>) -> Result<Box<dyn Write>, Stop> {
    let Some(path) = path else {
        return Ok(Box::new(io::stdout()));
    };
    match File::create(path) {
        Ok(file) => Ok(Box::new(file)),
        Err(error) => Err(Stop::because(format!(
            "cannot write {}: {error}",
            path.display()
        ))),
    }
}

/// Opening the output would truncate the input.
fn not_the_same(input: &Path, output: &Path) -> Result<(), Stop> {
    let same = !is_stdin(input)
        && fs::canonicalize(input)
            .ok()
            .is_some_and(|path| fs::canonicalize(output).ok() == Some(path));
    match same {
        true => Err(Stop::because(format!(
            "{} is both input and output",
            input.display()
        ))),
        false => Ok(()),
    }
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
