//! `toolglot replay`: runs recordings again.

use std::fs;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use toolglot::json::Value;
use toolglot_testkit::recording::{Outcome, Ready, Recording, difference, minimise};

use crate::args::ReplayArgs;
use crate::input;
use crate::stop::{Stop, Verdict};

const BAD: Style = AnsiColor::Red.on_default();
const GOOD: Style = AnsiColor::Green.on_default();

/// Maximum length of a printed entry.
const SHOWN: usize = 400;
/// Maximum number of printed chunks.
const CHUNKS: usize = 12;

pub fn run(args: &ReplayArgs, color: ColorChoice) -> Result<Verdict, Stop> {
    if args.minimise {
        return smaller(args);
    }
    let mut out = AutoStream::new(io::stdout().lock(), color);
    let (mut same, mut other) = (0, 0);
    for path in &args.files {
        #[cfg(feature = "agent")]
        if let Some(found) = log(path, args)? {
            match found {
                None => same += 1,
                Some(details) => {
                    other += 1;
                    let name = path.display();
                    writeln!(out, "{BAD}DIFFERENT {name}, {details}{BAD:#}")
                        .map_err(Stop::output)?;
                }
            }
            continue;
        }
        let (recording, ready) = read(path)?;
        match check(&recording, &ready, args) {
            None => same += 1,
            Some(Found { way, details, .. }) => {
                other += 1;
                let name = path.display();
                writeln!(out, "{BAD}DIFFERENT {name}, {way}\n{details}{BAD:#}")
                    .map_err(Stop::output)?;
                continue;
            }
        }
        if args.update {
            update(path, recording, &ready)?;
        }
    }
    let style = if other == 0 { GOOD } else { BAD };
    writeln!(out, "{style}{same} the same, {other} different{style:#}").map_err(Stop::output)?;
    Ok(Verdict::of(other > 0, true))
}

/// Returns the difference in the log of a run; none if the file is not such a log.
#[cfg(feature = "agent")]
fn log(path: &Path, args: &ReplayArgs) -> Result<Option<Option<String>>, Stop> {
    use crate::agent::log;
    let text = input::text(path)?;
    if !log::is_one(&text) {
        return Ok(None);
    }
    let fail = |why: String| Stop::because(format!("{}: {why}", path.display()));
    if args.update || args.rechunk.is_some() {
        return Err(fail(
            "it is the log of a run, which takes neither --rechunk nor --update".to_owned(),
        ));
    }
    log::replay(&text).map(Some).map_err(fail)
}

fn read(path: &Path) -> Result<(Recording, Ready), Stop> {
    let fail = |why: String| Stop::because(format!("{}: {why}", path.display()));
    let text = input::text(path)?;
    #[cfg(feature = "agent")]
    if crate::agent::log::is_one(&text) {
        return Err(fail(
            "it is the log of a run, which cannot be made smaller".to_owned(),
        ));
    }
    let recording = Recording::read(&text).map_err(fail)?;
    let ready = Ready::new(&recording).map_err(fail)?;
    Ok((recording, ready))
}

/// A difference.
struct Found {
    /// The chunks that reproduce it.
    cuts: Vec<usize>,
    way: String,
    details: String,
}

/// Returns the first failure: the recording's chunking matters, the log differs, another chunking matters.
fn check(recording: &Recording, ready: &Ready, args: &ReplayArgs) -> Option<Found> {
    let whole = ready.run(&recording.input, &[]);
    let entries = whole.entries();
    let mut under = |cuts: Vec<usize>| {
        let outcome = ready.run(&recording.input, &cuts);
        if outcome == whole {
            return ControlFlow::Continue(());
        }
        let details = compare("in one chunk", &entries, &outcome);
        ControlFlow::Break(Found {
            way: describe(&cuts),
            cuts,
            details: details.unwrap_or_else(|| "  the bytes of a block differ".to_owned()),
        })
    };
    if let Some(cuts) = &recording.cuts
        && let ControlFlow::Break(found) = under(cuts.clone())
    {
        return Some(found);
    }
    if !args.update
        && let Some(details) = unexpected(recording, &whole)
    {
        let way = "in one chunk".to_owned();
        return Some(Found {
            cuts: vec![],
            way,
            details,
        });
    }
    let way = args.rechunk?;
    way.each(&recording.input, &mut under).break_value()
}

fn unexpected(recording: &Recording, whole: &Outcome) -> Option<String> {
    match &recording.expect {
        Some(expect) => compare("expected", expect, whole),
        None => Some("  no expected log; --update records the current one".to_owned()),
    }
}

fn describe(cuts: &[usize]) -> String {
    let shown: Vec<String> = cuts.iter().take(CHUNKS).map(ToString::to_string).collect();
    let more = if cuts.len() > CHUNKS { ", ..." } else { "" };
    format!("in chunks of {}{more} bytes", shown.join(", "))
}

fn compare(what: &str, expected: &[Value], got: &Outcome) -> Option<String> {
    let got = got.entries();
    let (at, expected, got) = difference(expected, &got)?;
    let show = |entry: Option<&Value>| match entry.map(ToString::to_string) {
        None => "the end of the log".to_owned(),
        Some(text) => match text.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}...", &text[..end]),
            None => text,
        },
    };
    let (expected, got) = (show(expected), show(got));
    let width = what.len();
    Some(format!(
        "  entry {at}:\n    {what}: {expected}\n    {:width$}: {got}",
        "got"
    ))
}

fn update(path: &Path, mut recording: Recording, ready: &Ready) -> Result<(), Stop> {
    recording.expect = Some(ready.run(&recording.input, &[]).entries());
    write(path, &recording)
}

fn write(path: &Path, recording: &Recording) -> Result<(), Stop> {
    fs::write(path, recording.text())
        .map_err(|e| Stop::because(format!("cannot write {}: {e}", path.display())))
}

/// `--minimise`.
fn smaller(args: &ReplayArgs) -> Result<Verdict, Stop> {
    let [path] = args.files.as_slice() else {
        return Err(Stop::because("--minimise takes one recording"));
    };
    let (mut recording, ready) = read(path)?;
    let name = path.display();
    let Some(found) = check(&recording, &ready, args) else {
        return Err(Stop::because(format!(
            "{name} passes: there is nothing to minimise"
        )));
    };
    // Without splits the failure already occurs in one chunk.
    recording.cuts = (!found.cuts.is_empty()).then_some(found.cuts);
    let run = &mut |input: &[u8], cuts: &[usize]| ready.run(input, cuts).entries();
    let Some(small) = minimise(&recording, run) else {
        return Err(Stop::because(format!(
            "{name} has no `expect`, and its chunking does not matter: there is nothing to minimise"
        )));
    };
    match &args.output {
        Some(path) => write(path, &small)?,
        None => io::stdout()
            .write_all(small.text().as_bytes())
            .map_err(Stop::output)?,
    }
    Ok(Verdict::Errors)
}
