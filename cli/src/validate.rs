//! `toolglot validate`: validates calls against the definitions of their tools.

use std::io::{self, Write};

use toolglot::json::{Map, json};
use toolglot::{
    Call, Collect, DialectSet, Event, Grade, Issue, Kind, Origin, Severity, Sink, Span,
};
use toolglot_testkit::sets::{Choice, Sets};
use toolglot_tools::{CheckOptions, Checked, Inventory, Places, Unknown, Violation};

use crate::args::ValidateArgs;
use crate::calls::{Given, Told, Turn};
use crate::input::{self, Input};
use crate::stop::{Stop, Verdict};

pub fn run(args: &ValidateArgs) -> Result<Verdict, Stop> {
    let inventory = crate::tools::inventory(&args.tools)?;
    let preset = args.preset.as_deref().map(preset).transpose()?;
    let mut bytes = vec![];
    let mut input = Input::open(&args.file)?;
    input.exactly(usize::MAX, &mut bytes)?;
    let turn = Turn::read(&bytes);
    let turn = turn.map_err(|why| input.wrong(format!("the turn cannot be read: {why}")))?;
    let calls = calls(turn.calls, args.dialect.as_deref());
    let set = dialects(args, &calls)?;

    let mut options = CheckOptions::default();
    options.preset = preset.as_ref();
    if args.allow_unknown {
        options.unknown = Unknown::Allow;
    }
    let checked: Vec<Checked> = calls
        .iter()
        .map(|call| {
            let mut options = options;
            options.dialect = set.as_ref().and_then(|set| set.dialect(&call.dialect));
            inventory.check(call, &options)
        })
        .collect();
    for (index, checked) in checked.iter().enumerate() {
        checked
            .violations
            .iter()
            .filter(|one| one.host)
            .for_each(|one| {
                crate::tools::note(format!(
                    "call {index} ({}): {}",
                    checked.name,
                    in_words(one)
                ));
            });
    }
    // The kinds that a call was recovered from count too: a recovered call must not run without asking.
    let recovered = || calls.iter().filter(|call| call.grade == Grade::Recovered);
    let counts = |told: &&Told| {
        let by = |call: &Call| Some(call.kinds.contains(Kind::from_name(&told.kind)?));
        told.severity == "error" || recovered().any(|call| by(call) == Some(true))
    };
    let failed = turn.issues.iter().filter(counts);
    let mut observations: Vec<&str> = failed.map(|told| told.observation.as_str()).collect();
    observations.extend(
        checked
            .iter()
            .filter_map(|checked| checked.observation.as_deref()),
    );
    let valid = observations.is_empty() && recovered().next().is_none();
    let answer = json!({
        "valid": valid,
        "calls": checked.iter().map(Checked::to_json).collect::<Vec<_>>(),
        "observations": observations,
    });
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{}",
        toolglot_testkit::json::escaped(answer.to_string())
    )
    .map_err(Stop::output)?;
    out.flush().map_err(Stop::output)?;
    Ok(Verdict::of(!valid, true))
}

fn calls(given: Vec<Given>, dialect: Option<&str>) -> Vec<Call> {
    let call = |(index, given): (u32, Given)| {
        let own = given.dialect.or_else(|| dialect.map(str::to_owned));
        Call::new(given.name, given.arguments)
            .index(given.index.unwrap_or(index))
            .grade(given.grade)
            .kinds(given.kinds)
            .dialect(own.unwrap_or_default())
            .origin(match given.span {
                Some(_) => Origin::Text,
                None => Origin::Native,
            })
            .span(
                given
                    .span
                    .map_or(Span::default(), |(start, end)| Span::new(start, end)),
            )
    };
    (0..).zip(given).map(call).collect()
}

/// Returns the dialects that the calls name, if any.
fn dialects(args: &ValidateArgs, calls: &[Call]) -> Result<Option<DialectSet>, Stop> {
    let mut ids: Vec<&str> = calls.iter().map(|call| call.dialect.as_str()).collect();
    // Constrained output has a dialect of its own, which no set has.
    ids.retain(|id| !id.is_empty() && *id != toolglot::layer::GUIDED);
    ids.sort_unstable();
    ids.dedup();
    if ids.is_empty() {
        return Ok(None);
    }
    let sets = Sets::load(&args.files).map_err(Stop::because)?;
    sets.get(&Choice::of(&ids)).map(Some).map_err(Stop::because)
}

fn preset(path: &std::path::Path) -> Result<Map, Stop> {
    let read = serde_json::from_str(&input::text(path)?);
    read.map_err(|error| Stop::because(format!("{}: {error}", path.display())))
}

/// A violation, for people.
fn in_words(violation: &Violation) -> String {
    match violation.subject.as_str() {
        "" => violation.message.clone(),
        subject => format!("parameter {subject}: {}", violation.message),
    }
}

/// A validated call of a stream.
pub struct Delivered {
    pub name: String,
    /// Its arguments as the model wrote them.
    pub written: String,
    /// Its arguments as they were validated; `None` if it is invalid.
    pub arguments: Option<String>,
}

/// The words for an issue, where those of the engine say less or blame the wrong side.
pub struct Said {
    /// The application is at fault.
    pub host: bool,
    pub message: String,
    pub observation: String,
}

/// Validates the calls of a stream when it ends.
pub struct Check {
    inventory: Inventory,
    collect: Collect,
    places: Places,
}

impl Check {
    pub fn new(inventory: Inventory) -> Self {
        Self {
            inventory,
            collect: Collect::new(),
            places: Places::new(),
        }
    }

    /// Records an event; returns whether other sinks need it. Validation reports better what the engine reports from its hints.
    pub fn takes(&mut self, event: Event<'_>) -> bool {
        self.collect.event(event);
        self.places.event(event);
        // A call that is left out because of its tool is an error, and not a call to validate.
        !matches!(
            event,
            Event::Issue(Issue {
                kind: Kind::UnknownTool
                    | Kind::UnknownParam
                    | Kind::MissingRequired
                    | Kind::TypeMismatch,
                severity: Severity::Warning,
                ..
            })
        )
    }

    /// Reports invalid calls; returns all calls, in order. Where the application is at fault, or a value does not fit, the words are
    /// those of the check: an issue of the engine blames the model, and does not say what is wrong with the value.
    pub fn end(
        self,
        set: &DialectSet,
        mut tell: impl FnMut(&Issue<'_>, Option<&Said>),
    ) -> Vec<Delivered> {
        let turn = self.collect.turn();
        let mut options = CheckOptions::default();
        options.places = Some(&self.places);
        let checked = self.inventory.check_turn(&turn, set, &options);
        for (call, checked) in turn.calls.iter().zip(&checked) {
            let dialect = set.dialect(&call.dialect);
            for violation in &checked.violations {
                let span = violation.span.unwrap_or(call.span);
                let issue = Issue::new(violation.kind, Severity::Error, span)
                    .dialect(dialect)
                    .call(call.index)
                    .tool(&call.name)
                    .subject(&violation.subject)
                    .suggestion(violation.suggestion.as_deref().unwrap_or_default());
                let better = violation.host || violation.kind == Kind::TypeMismatch;
                let said = better.then(|| Said {
                    host: violation.host,
                    message: in_words(violation),
                    observation: violation.observation(&call.name, dialect),
                });
                tell(&issue, said.as_ref());
            }
        }
        let delivered = |(call, checked): (Call, &Checked)| Delivered {
            name: call.name,
            written: call.arguments,
            arguments: checked.valid().then(|| checked.text()),
        };
        turn.calls
            .into_iter()
            .zip(&checked)
            .map(delivered)
            .collect()
    }
}
