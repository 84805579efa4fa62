//! `toolglot detect`: which dialect is this?

use std::io::{self, Write};

use crate::terminal::one_line;
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use toolglot::{Confidence, Detector, Evidence, Options, Sighting, Span};
use toolglot_testkit::json;

use crate::args::{DetectArgs, Report};
use crate::input::{self, Input};
use crate::stop::{Stop, Verdict};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default().bold();
const FAIR: Style = AnsiColor::Yellow.on_default().bold();

/// Maximum number of spans shown per dialect, and bytes shown of each.
const SPANS: usize = 3;
const EXCERPT: usize = 60;

pub fn run(args: &DetectArgs, color: ColorChoice) -> Result<Verdict, Stop> {
    let mut detector = Detector::builtin();
    for path in &args.files {
        let text = input::text(path)?;
        let origin = path.display().to_string();
        detector = detector.toml(&origin, &text).map_err(Stop::because)?;
    }
    let mut options = Options::default();
    options.tools = crate::tools::hints(args.tools.as_deref())?;
    let mut bytes = vec![];
    Input::open(&args.file)?.exactly(usize::MAX, &mut bytes)?;

    let found = detector.detect(&bytes, &options);
    let calls = found.iter().any(|one| one.complete + one.recovered > 0);
    let sightings = if calls {
        vec![]
    } else {
        detector.sightings(&bytes)
    };
    let mut out = io::stdout().lock();
    match args.output {
        Report::Json => writeln!(out, "{}", json::detection(&found, &sightings)),
        Report::Pretty => {
            let mut out = AutoStream::new(out, color);
            // Dialects whose markers were found are an answer too, if a faint one.
            let answer = match calls || !found.is_empty() {
                true => Ok(()),
                false => writeln!(out, "No dialect finds a call in this input."),
            };
            answer
                .and_then(|()| pretty(&mut out, &bytes, &found, &sightings))
                .and_then(|()| match calls {
                    true => Ok(()),
                    false => nothing(&mut out, args, &found, &sightings),
                })
        }
    }
    .map_err(Stop::output)?;
    Ok(Verdict::of(!calls, args.strict))
}

fn pretty(
    out: &mut dyn Write,
    input: &[u8],
    found: &[Evidence],
    sightings: &[Sighting],
) -> io::Result<()> {
    // The answer comes first, its evidence below, because that can be long.
    let calls = |one: &Evidence| one.complete + one.recovered > 0;
    let mut found: Vec<&Evidence> = found.iter().collect();
    found.sort_by_key(|one| !(one.chosen && calls(one)));
    // If there are calls, dialects that share nothing but a reasoning marker say little, and there are many.
    let mut beside = vec![];
    if found.iter().any(|one| calls(one)) {
        let says = |one: &&Evidence| calls(one) || one.broken > 0;
        (found, beside) = found.into_iter().partition(says);
    }
    for one in &found {
        let style = match one.confidence {
            Confidence::Strong => GOOD,
            Confidence::Fair => FAIR,
            _ => DIM,
        };
        let (id, confidence) = (&one.dialect, one.confidence.name());
        writeln!(
            out,
            "{style}{confidence:6}{style:#}  {BOLD}{id}{BOLD:#}  {}",
            one.reason
        )?;
    }
    if !beside.is_empty() {
        let ids: Vec<&str> = beside.iter().map(|one| one.dialect.as_str()).collect();
        let ids = ids.join(", ");
        writeln!(
            out,
            "{DIM}only markers of reasoning or framing: {ids}{DIM:#}"
        )?;
    }
    for one in &found {
        let id = &one.dialect;
        write!(out, "\n{BOLD}{id}{BOLD:#}: {}", one_line(&one.title))?;
        if let Some(group) = &one.group {
            write!(out, "; group {group}, of which a set holds one")?;
        }
        writeln!(
            out,
            "{}",
            if one.in_default_set {
                ""
            } else {
                "; not in the default set"
            }
        )?;
        for span in one.spans.iter().take(SPANS) {
            writeln!(out, "        {DIM}{}{DIM:#}", place(input, *span))?;
        }
        if one.spans.len() > SPANS {
            writeln!(
                out,
                "        {DIM}and {} more{DIM:#}",
                one.spans.len() - SPANS
            )?;
        }
    }
    for one in sightings {
        let (opener, at) = (one_line(&one.opener), one.span.start);
        let ids = one.dialects.join(", ");
        writeln!(
            out,
            "{DIM}seen{DIM:#}    {opener} at byte {at} opens nothing there; it is a marker of {ids}"
        )?;
    }
    Ok(())
}

/// Suggests what to try next.
fn nothing(
    out: &mut dyn Write,
    args: &DetectArgs,
    found: &[Evidence],
    sightings: &[Sighting],
) -> io::Result<()> {
    if !found.is_empty() {
        writeln!(out, "No dialect finds a call in this input.")?;
    }
    if args.tools.is_none() {
        writeln!(
            out,
            "Formats whose tags are tool names, or that have no marker, need to know the tools: give --tools TOOLS.json."
        )?;
    }
    if sightings.is_empty() {
        writeln!(
            out,
            "No opener of any known dialect stands in it. If a server removed special tokens, keep them in its output \
             (`skip_special_tokens: false`)."
        )?;
    }
    writeln!(
        out,
        "`toolglot dialects` lists what is known; a format of your own is one file: see docs/FIRST-DIALECT.md, then give \
         --dialect-file."
    )
}

/// The place of evidence and its beginning.
fn place(input: &[u8], span: Span) -> String {
    let index = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(input.len());
    let bytes = &input[index(span.start)..index(span.end)];
    let excerpt = String::from_utf8_lossy(&bytes[..bytes.len().min(EXCERPT)]);
    let dots = if bytes.len() > EXCERPT { "..." } else { "" };
    let excerpt = one_line(excerpt.trim_end_matches('\u{fffd}'));
    format!("bytes {}..{}: {excerpt}{dots}", span.start, span.end)
}
