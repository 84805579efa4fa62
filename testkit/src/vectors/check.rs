//! Runs vectors.

use std::any::Any;
use std::fmt;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use toolglot::{
    Collect, DialectSet, Event, Finish, Kind, NativeCall, Options, Sink, TextMode, Tools,
};

use super::compare::differences;
use super::cuts::{Cut, Cuts, each_cut};
use super::leaves::partition;
use super::load::{LineError, Vector};
use super::log::{Entry, Log};
use crate::options::{self, ReadOptions};
use crate::run::Stream;
use crate::sets::{Choice, Sets};

/// Vectors that hold only while their dialect is alone, in addition to those marked as such: another dialect of the
/// default set claims the same bytes, or the vector tests a single reasoning layer.
const ALONE: &[&str] = &["tool-call-xml/hermes-json-body-en"];
const ALONE_DIALECTS: &str = "reasoning-";

/// Which dialects are active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The vector's own dialect alone.
    Alone,
    /// The default set and the vector's own dialect.
    Together,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Alone => "its dialect alone",
            Self::Together => "all dialects active",
        })
    }
}

/// A vector that fails.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The vector's id.
    pub id: String,
    /// Its file and line.
    pub place: String,
    /// Which dialects were active.
    pub mode: Mode,
    /// The chunking that shows the failure, described with the bytes around the splits.
    pub cut: String,
    /// What was expected, and the result.
    pub details: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "FAIL {} ({}), {}, {}",
            self.id, self.place, self.mode, self.cut
        )?;
        self.details
            .iter()
            .try_for_each(|detail| write!(f, "\n  {detail}"))
    }
}

/// The results of a number of vectors.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Vectors that passed in every mode.
    pub passed: usize,
    /// Vectors that did not.
    pub failed: usize,
    /// The failures, in the order of the vectors; a vector may fail in both modes.
    pub failures: Vec<Failure>,
}

/// Checks vectors on `jobs` threads.
///
/// # Errors
/// Lines that name dialects, options, tools or kinds that do not exist. Nothing is run in that case.
pub fn check(
    vectors: &[Vector],
    sets: &Sets,
    cuts: Cuts,
    jobs: NonZeroUsize,
) -> Result<Summary, Vec<LineError>> {
    let mut ready = vec![];
    let mut errors = vec![];
    for vector in vectors {
        match Ready::new(vector, sets) {
            Ok(one) => ready.push(one),
            Err(why) => errors.push(LineError {
                origin: vector.origin.clone(),
                line: vector.line,
                why,
            }),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(run(&ready, cuts, jobs))
}

/// Checks one vector in all its modes.
///
/// # Errors
/// The vector names a dialect, option, tool or kind that does not exist.
pub fn check_one(vector: &Vector, sets: &Sets) -> Result<Vec<Failure>, LineError> {
    match Ready::new(vector, sets) {
        Ok(ready) => Ok(ready.check(Cuts::All)),
        Err(why) => Err(LineError {
            origin: vector.origin.clone(),
            line: vector.line,
            why,
        }),
    }
}

fn run(ready: &[Ready<'_>], cuts: Cuts, jobs: NonZeroUsize) -> Summary {
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<(usize, Vec<Failure>)>> = Mutex::default();
    thread::scope(|scope| {
        for _ in 0..jobs.get().min(ready.len()) {
            scope.spawn(|| {
                while let Some((index, one)) = claim(&next, ready) {
                    let failures = one.check(cuts);
                    if !failures.is_empty() {
                        found
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .push((index, failures));
                    }
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by_key(|(index, _)| *index);
    Summary {
        passed: ready.len() - found.len(),
        failed: found.len(),
        failures: found
            .into_iter()
            .flat_map(|(_, failures)| failures)
            .collect(),
    }
}

fn claim<'a, 'v>(next: &AtomicUsize, ready: &'a [Ready<'v>]) -> Option<(usize, &'a Ready<'v>)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    ready.get(index).map(|one| (index, one))
}

/// A vector with all its names resolved.
struct Ready<'v> {
    vector: &'v Vector,
    options: Options,
    native: Vec<NativeCall>,
    finish: Finish,
    modes: Vec<(Mode, DialectSet)>,
}

impl<'v> Ready<'v> {
    fn new(vector: &'v Vector, sets: &Sets) -> Result<Self, String> {
        let ReadOptions {
            mut options,
            switches,
        } = options::read(&vector.options).map_err(|e| e.to_string())?;
        if let Some(tools) = &vector.tools {
            let tools = Tools::from_value(tools).map_err(|e| e.to_string())?;
            options.tools = Some(Arc::new(tools));
        }
        let native = match &vector.native_tool_calls {
            Some(calls) => {
                NativeCall::from_json(calls.get()).map_err(|e| format!("native_tool_calls: {e}"))?
            }
            None => vec![],
        };
        let finish = Finish::from_name(&vector.finish);
        let finish =
            finish.ok_or_else(|| format!("there is no finish reason `{}`", vector.finish))?;
        if let Some(kind) = vector
            .expect
            .errors
            .iter()
            .find(|name| Kind::from_name(name).is_none())
        {
            return Err(format!("expect.errors: there is no kind `{kind}`"));
        }
        let modes = modes(vector, switches, sets)?;
        Ok(Self {
            vector,
            options,
            native,
            finish,
            modes,
        })
    }

    fn check(&self, cuts: Cuts) -> Vec<Failure> {
        self.modes
            .iter()
            .filter_map(|(mode, set)| self.check_mode(*mode, set, cuts))
            .collect()
    }

    fn check_mode(&self, mode: Mode, set: &DialectSet, cuts: Cuts) -> Option<Failure> {
        let input = &self.vector.input;
        let fail = |cut: Cut, details: Vec<String>| Failure {
            id: self.vector.id.clone(),
            place: format!("{}:{}", self.vector.origin, self.vector.line),
            mode,
            cut: cut.describe(input),
            details,
        };
        let stream = Stream {
            set,
            options: &self.options,
            prefill: "",
            native: &self.native,
            finish: self.finish,
        };
        let mut both = Both::default();
        if let Err(panic) = guarded(|| stream.run(|take| take(input), &mut both)) {
            return Some(fail(Cut::Whole, vec![panic]));
        }
        let mut details = differences(&self.vector.expect, &both.turn.turn());
        details.extend(partition(
            &both.log,
            input,
            self.options.text == TextMode::Bytes,
        ));
        if !details.is_empty() {
            return Some(fail(Cut::Whole, details));
        }
        let cuts = each_cut(cuts, input.len(), seed(&self.vector.id), |cut| {
            let mut log = Log::new();
            if let Err(panic) = guarded(|| stream.run(|take| cut.feed(input, take), &mut log)) {
                return ControlFlow::Break(fail(cut, vec![panic]));
            }
            match both.log.difference(&log) {
                None => ControlFlow::Continue(()),
                Some(found) => ControlFlow::Break(fail(cut, vec![difference(found)])),
            }
        });
        cuts.break_value()
    }
}

fn modes(
    vector: &Vector,
    switches: Vec<(String, String)>,
    sets: &Sets,
) -> Result<Vec<(Mode, DialectSet)>, String> {
    let get = |names: &[&str]| {
        let choice = Choice {
            switches: switches.clone(),
            ..Choice::of(names)
        };
        sets.get(&choice).map_err(|e| e.to_string())
    };
    let own = vector.dialect.as_str();
    let mut modes = vec![(Mode::Alone, get(&[own])?)];
    let exempt =
        vector.alone_only || ALONE.contains(&vector.id.as_str()) || own.starts_with(ALONE_DIALECTS);
    if !exempt {
        // A member of the default set runs in the set that hosts get, in that order,
        let default = sets.get(&Choice::default()).map_err(|e| e.to_string())?;
        // unless that set leaves out some of its openers: those without a marker work only on request.
        let alone = get(&[own])?;
        let openers = |set: &DialectSet| {
            let mut dialects = set.dialects();
            let dialect = dialects.find(|dialect| dialect.id() == own);
            dialect.map(toolglot::Dialect::openers)
        };
        let member = openers(&default).is_some() && openers(&default) == openers(&alone);
        modes.push((
            Mode::Together,
            if member {
                get(&["default"])?
            } else {
                get(&[own, "default"])?
            },
        ));
    }
    Ok(modes)
}

/// A panic of the engine fails one vector and does not end the run. The state it leaves behind is discarded.
fn guarded(run: impl FnOnce()) -> Result<(), String> {
    panic::catch_unwind(AssertUnwindSafe(run))
        .map_err(|cause| format!("the engine panicked: {}", panic_text(&*cause)))
}

/// The message of a panic.
#[must_use]
pub fn panic_text(cause: &(dyn Any + Send)) -> &str {
    let text = cause.downcast_ref::<&str>().copied();
    text.or_else(|| cause.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

/// The log and the turn of one run.
#[derive(Default)]
struct Both {
    log: Log,
    turn: Collect,
}

impl Sink for Both {
    fn event(&mut self, event: Event<'_>) {
        self.log.event(event);
        self.turn.event(event);
    }
}

fn difference((index, whole, cut): (usize, Option<&Entry>, Option<&Entry>)) -> String {
    let show = |entry: Option<&Entry>| {
        entry.map_or_else(|| "the end of the log".to_owned(), ToString::to_string)
    };
    format!(
        "event {index}: in one chunk {}\n  {}with this cut {}",
        show(whole),
        " ".repeat(7),
        show(cut)
    )
}

/// A seed that depends on the id alone (FNV-1a).
fn seed(id: &str) -> u64 {
    id.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}
