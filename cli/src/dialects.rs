//! `toolglot dialects`: the built-in dialects, and problems in a file.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::import;
use crate::terminal::one_line;
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use toolglot::{Decision, DialectSet, Limits, builtin_files};
use toolglot_testkit::sets::{Choice, Sets};
use toolglot_tools::{DeriveError, DeriveOptions, TemplateSource};

use crate::args::{DeriveArgs, DialectsArgs, DialectsCommand};
use crate::input::{self, Input};
use crate::stop::{Stop, Verdict};
use crate::values::is_stdin;

const BOLD: Style = Style::new().bold();
const WARN: Style = AnsiColor::Yellow.on_default();

pub fn run(args: &DialectsArgs, color: ColorChoice) -> Result<Verdict, Stop> {
    let out = io::stdout().lock();
    match &args.command {
        None if args.model.is_some() => model(args.model.as_deref().unwrap_or_default(), out),
        None | Some(DialectsCommand::List) => list(&mut AutoStream::new(out, color)),
        Some(DialectsCommand::Show { id }) => show(id, out),
        Some(DialectsCommand::Import { file, id, output }) => {
            import(file, id, output.as_deref(), out)
        }
        Some(DialectsCommand::Derive(args)) => derive(args, out),
        Some(DialectsCommand::Lint { files, strict }) => {
            lint(files, *strict, &mut AutoStream::new(out, color))
        }
    }
}

/// Widths of titles and openers, so that a row fits 100 columns. `show` prints them whole.
const TITLE: usize = 24;
const OPENER: usize = 21;

/// Truncates a text to a width.
fn fit(text: &str, columns: usize) -> String {
    match text.chars().count() <= columns {
        true => text.to_owned(),
        false => text.chars().take(columns - 1).chain(['…']).collect(),
    }
}

fn list(out: &mut dyn Write) -> Result<Verdict, Stop> {
    let mut rows = vec![["ID", "FAMILY", "DEFAULT", "TITLE", "OPENER"].map(str::to_owned)];
    for (id, _) in builtin_files() {
        let set = DialectSet::builtin(id).map_err(Stop::because)?;
        for dialect in set.dialects() {
            let default = if dialect.in_default_set() {
                "yes"
            } else {
                "no"
            };
            let opener = dialect.openers().into_iter().next().unwrap_or_default();
            let cells = [
                dialect.id(),
                dialect.family(),
                default,
                &fit(dialect.title(), TITLE),
                &fit(&one_line(&opener), OPENER),
            ];
            rows.push(cells.map(str::to_owned));
        }
    }
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..4).map(width).collect();
    for (index, [id, family, default, title, opener]) in rows.iter().enumerate() {
        let style = if index == 0 { BOLD } else { Style::new() };
        let (a, b, c, d) = (widths[0], widths[1], widths[2], widths[3]);
        writeln!(
            out,
            "{style}{id:a$}  {family:b$}  {default:c$}  {title:d$}  {opener}{style:#}"
        )
        .map_err(Stop::output)?;
    }
    Ok(Verdict::Clean)
}

/// Lists the dialects of a model by its name: the one of its calls first.
fn model(name: &str, mut out: impl Write) -> Result<Verdict, Stop> {
    let found = toolglot::models::dialects(name);
    if found.is_empty() {
        let why = format!(
            "no dialect names a model like `{name}`; try `toolglot detect` on one of its outputs"
        );
        return Err(Stop::because(why));
    }
    for id in found.all() {
        writeln!(out, "{id}").map_err(Stop::output)?;
    }
    Ok(Verdict::Clean)
}

fn show(id: &str, mut out: impl Write) -> Result<Verdict, Stop> {
    // Building it resolves aliases, and reports an unknown id in the engine's own words.
    let set = DialectSet::builtin(id).map_err(Stop::because)?;
    let found = set
        .ids()
        .find_map(|id| builtin_files().iter().find(|(have, _)| *have == id));
    if let Some((_, text)) = found {
        out.write_all(text.as_bytes()).map_err(Stop::output)?;
    }
    Ok(Verdict::Clean)
}

fn import(file: &Path, id: &str, output: Option<&Path>, out: impl Write) -> Result<Verdict, Stop> {
    let name = match is_stdin(file) {
        true => "standard input".to_owned(),
        false => file.display().to_string(),
    };
    let fail = |why: String| Stop::because(format!("{name}: {why}"));
    let mut bytes = vec![];
    Input::open(file)?.exactly(usize::MAX, &mut bytes)?;
    let json = serde_json::from_slice(&bytes).map_err(|e| fail(format!("it is not JSON: {e}")))?;
    let base = file
        .file_name()
        .map(|base| base.to_string_lossy().into_owned());
    let origin = base
        .filter(|_| !is_stdin(file))
        .unwrap_or_else(|| name.clone());
    let made = import::response_template(&json, id, &origin).map_err(|e| fail(e.to_string()))?;
    // Do not leave a refused file behind as if it worked.
    DialectSet::builder()
        .toml("the dialect made of it", &made.toml)
        .build()
        .map_err(|error| fail(error.to_string()))?;
    for note in &made.notes {
        let _ = writeln!(io::stderr(), "toolglot: note: {note}");
    }
    deliver(&made.toml, file, output, out)?;
    Ok(Verdict::Clean)
}

/// Prints the file of a derived dialect, or the ids of the built-in ones that read the same.
fn derive(args: &DeriveArgs, mut out: impl Write) -> Result<Verdict, Stop> {
    let source = TemplateSource::open(&args.template).map_err(Stop::because)?;
    if let Some(file) = &args.check {
        return check(file, &source);
    }
    let mut options = DeriveOptions::default().id(&*args.id).own(args.own);
    for variable in &args.variables {
        let Some((name, value)) = variable.split_once('=') else {
            let why = format!("`--var {variable}` has no `=`");
            return Err(Stop::because(why));
        };
        let value = value.parse().unwrap_or_else(|_| value.into());
        options.template.variables.insert(name.to_owned(), value);
    }
    let (toml, verdict) = match toolglot_tools::derive(&source, &options) {
        Ok(derived) => {
            let _ = writeln!(io::stderr(), "{}", derived.report);
            let Some(toml) = derived.toml else {
                for id in derived.dialects {
                    writeln!(out, "{id}").map_err(Stop::output)?;
                }
                return Ok(Verdict::Clean);
            };
            (toml, Verdict::Clean)
        }
        Err(DeriveError::Unread { why, draft }) if args.draft && !draft.is_empty() => {
            let _ = writeln!(io::stderr(), "toolglot: {why}");
            (draft, Verdict::Errors)
        }
        Err(error) => {
            let why = format!("{}: {error}", args.template.display());
            return Err(Stop::because(why));
        }
    };
    deliver(&toml, &args.template, args.output.as_deref(), out)?;
    Ok(verdict)
}

/// Writes a file that was made of an input, or prints it.
fn deliver(
    toml: &str,
    input: &Path,
    output: Option<&Path>,
    mut out: impl Write,
) -> Result<(), Stop> {
    let Some(path) = output else {
        return out.write_all(toml.as_bytes()).map_err(Stop::output);
    };
    input::not_the_same(input, path)?;
    fs::write(path, toml)
        .map_err(|e| Stop::because(format!("cannot write {}: {e}", path.display())))
}

/// Whether a derived file was made of this template.
fn check(file: &Path, source: &TemplateSource) -> Result<Verdict, Stop> {
    let name = file.display();
    let toml =
        fs::read_to_string(file).map_err(|error| Stop::because(format!("{name}: {error}")))?;
    match toolglot_tools::made_of(&toml, source) {
        Some(true) => Ok(Verdict::Clean),
        Some(false) => {
            let _ = writeln!(
                io::stderr(),
                "toolglot: {name}: it was derived from another template than {}",
                source.origin
            );
            Ok(Verdict::Errors)
        }
        None => Err(Stop::because(format!(
            "{name}: it does not say what it was derived from"
        ))),
    }
}

fn lint(files: &[PathBuf], strict: bool, out: &mut dyn Write) -> Result<Verdict, Stop> {
    let mut lints = Lints {
        out,
        seen: BTreeSet::new(),
    };
    if files.is_empty() {
        lints.builtins()?;
    }
    for path in files {
        let sets = Sets::load(&[path]).map_err(Stop::because)?;
        lints.file(&path.display().to_string(), &sets)?;
    }
    Ok(Verdict::of(!lints.seen.is_empty(), strict))
}

/// Reports every problem once, although a dialect is checked alone and in a set.
struct Lints<'a> {
    out: &'a mut dyn Write,
    seen: BTreeSet<String>,
}

impl Lints<'_> {
    fn builtins(&mut self) -> Result<(), Stop> {
        for (id, _) in builtin_files() {
            self.set(
                &format!("{id} alone"),
                &DialectSet::builtin(id).map_err(Stop::because)?,
            )?;
        }
        let sets = Sets::new();
        for name in ["default", "any", "all"] {
            let set = sets.get(&Choice::of(&[name])).map_err(Stop::because)?;
            self.set(&format!("the set `{name}`"), &set)?;
            self.missing(&set)?;
            self.decisions(&set, |_| true)?;
        }
        Ok(())
    }

    fn file(&mut self, name: &str, sets: &Sets) -> Result<(), Stop> {
        let with = |names: &[&str]| Choice {
            files: true,
            ..Choice::of(names)
        };
        let ids: Vec<&str> = sets.file_ids().collect();
        self.set(
            &format!("{name} alone"),
            &sets.get(&with(&ids)).map_err(Stop::because)?,
        )?;
        match sets.get(&with(&["default"])) {
            Ok(set) => {
                self.set(&format!("{name} beside the default set"), &set)?;
                self.decisions(&set, |one| ids.iter().any(|id| one.concerns(id)))
            }
            Err(error) => self.say(format!(
                "{name} cannot be active beside the default set: {error}"
            )),
        }
    }

    fn set(&mut self, what: &str, set: &DialectSet) -> Result<(), Stop> {
        for lint in set.lints() {
            self.say(lint.to_string())?;
        }
        let bound = set.bound(&Limits::default());
        writeln!(
            self.out,
            "{what}: at most {bound} bytes of text are held back"
        )
        .map_err(Stop::output)
    }

    /// Dialects that a set lacks, because they were not requested or because their group is taken.
    fn missing(&mut self, set: &DialectSet) -> Result<(), Stop> {
        let lacks = |id: &&str| !set.ids().any(|own| own == *id);
        let ids = builtin_files().iter().map(|(id, _)| *id);
        let missing: Vec<&str> = ids.filter(lacks).collect();
        if missing.is_empty() {
            return Ok(());
        }
        writeln!(self.out, "  without {}", missing.join(", ")).map_err(Stop::output)
    }

    /// Shared openers and what distinguishes them. That is information, not a problem.
    fn decisions(
        &mut self,
        set: &DialectSet,
        wanted: impl Fn(&Decision) -> bool,
    ) -> Result<(), Stop> {
        let decisions = set.decisions(&Limits::default());
        for decision in decisions.iter().filter(|one| wanted(one)) {
            writeln!(self.out, "  {decision}").map_err(Stop::output)?;
        }
        Ok(())
    }

    fn say(&mut self, finding: String) -> Result<(), Stop> {
        if self.seen.contains(&finding) {
            return Ok(());
        }
        writeln!(self.out, "{WARN}warning: {finding}{WARN:#}").map_err(Stop::output)?;
        self.seen.insert(finding);
        Ok(())
    }
}
