//! Counters for Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::engine::Told;

/// Maximum number of model names with their own counters; clients choose them.
const LABELS: usize = 512;
/// Bucket bounds of the time that a chunk spends in the gateway, in microseconds.
const BOUNDS: [u64; 8] = [10, 25, 50, 100, 250, 1000, 10_000, 100_000];

/// Model and dialect.
type Labels = (String, String);

#[derive(Default)]
struct Counts {
    responses: u64,
    calls: u64,
    withheld: u64,
    asked_again: u64,
    failed: u64,
    kinds: BTreeMap<String, u64>,
}

/// All counters of a process.
#[derive(Default)]
pub struct Metrics {
    open: AtomicI64,
    requests: AtomicU64,
    refused: AtomicU64,
    passed: AtomicU64,
    chunks: [AtomicU64; BOUNDS.len() + 1],
    spent: AtomicU64,
    counts: Mutex<BTreeMap<Labels, Counts>>,
}

/// An open exchange.
pub struct Open(std::sync::Arc<Metrics>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Metrics {
    /// Counts the beginning of an exchange.
    pub fn open(self: &std::sync::Arc<Self>) -> Open {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.open.fetch_add(1, Ordering::Relaxed);
        Open(std::sync::Arc::clone(self))
    }

    /// Returns the number of open exchanges.
    pub fn opened(&self) -> i64 {
        self.open.load(Ordering::Relaxed)
    }

    /// Counts a request that the gateway answered itself.
    pub fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a request that was forwarded unread.
    pub fn passed(&self) {
        self.passed.fetch_add(1, Ordering::Relaxed);
    }

    /// Records the time of a chunk in the gateway.
    pub fn chunk(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let place = BOUNDS.iter().position(|bound| micros <= *bound);
        self.chunks[place.unwrap_or(BOUNDS.len())].fetch_add(1, Ordering::Relaxed);
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.spent.fetch_add(nanos, Ordering::Relaxed);
    }

    fn counts(&self, model: &str, dialect: &str, change: impl FnOnce(&mut Counts)) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let known = counts.len() < LABELS;
        let labels = (model.to_owned(), dialect.to_owned());
        let labels = match known || counts.contains_key(&labels) {
            true => labels,
            false => ("other".to_owned(), dialect.to_owned()),
        };
        change(counts.entry(labels).or_default());
    }

    /// Counts a finished response.
    pub fn told(&self, model: &str, dialect: &str, told: &Told) {
        self.counts(model, dialect, |counts| {
            counts.responses += 1;
            counts.calls += told.calls;
            counts.withheld += told.withheld;
            counts.failed += u64::from(told.failed);
            for kind in &told.kinds {
                *counts.kinds.entry(kind.clone()).or_default() += 1;
            }
        });
    }

    /// Counts a repeated question to a model.
    pub fn asked_again(&self, model: &str, dialect: &str) {
        self.counts(model, dialect, |counts| counts.asked_again += 1);
    }

    /// Returns the page.
    pub fn page(&self) -> String {
        let mut out = String::new();
        let mut one = |name: &str, kind: &str, help: &str, value: String| {
            let _ = write!(
                out,
                "# HELP toolglot_gateway_{name} {help}\n# TYPE toolglot_gateway_{name} {kind}\ntoolglot_gateway_{name} {value}\n"
            );
        };
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed).to_string();
        one(
            "requests_total",
            "counter",
            "Requests received.",
            load(&self.requests),
        );
        one(
            "passed_total",
            "counter",
            "Requests forwarded unread.",
            load(&self.passed),
        );
        one(
            "refused_total",
            "counter",
            "Requests that the gateway answered itself with an error.",
            load(&self.refused),
        );
        one(
            "open",
            "gauge",
            "Open exchanges.",
            self.opened().to_string(),
        );
        self.times(&mut out);
        self.labelled(&mut out);
        out
    }

    fn times(&self, out: &mut String) {
        let name = "toolglot_gateway_chunk_seconds";
        let _ = write!(
            out,
            "# HELP {name} Time that a chunk of a response spent in the gateway.\n# TYPE {name} histogram\n"
        );
        let mut all = 0;
        for (place, count) in self.chunks.iter().enumerate() {
            all += count.load(Ordering::Relaxed);
            let bound = match BOUNDS.get(place) {
                Some(micros) => format!("{}", *micros as f64 / 1e6),
                None => "+Inf".to_owned(),
            };
            let _ = writeln!(out, "{name}_bucket{{le=\"{bound}\"}} {all}");
        }
        let spent = self.spent.load(Ordering::Relaxed) as f64 / 1e9;
        let _ = writeln!(out, "{name}_sum {spent}\n{name}_count {all}");
    }

    fn labelled(&self, out: &mut String) {
        type Pick = fn(&Counts) -> u64;
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let each: [(&str, &str, Pick); 5] = [
            (
                "asked_again_total",
                "Number of times that a model was asked again.",
                |c| c.asked_again,
            ),
            ("responses_total", "Responses that were read.", |c| {
                c.responses
            }),
            ("calls_total", "Calls delivered to clients.", |c| c.calls),
            (
                "withheld_total",
                "Calls and blocks withheld from clients.",
                |c| c.withheld,
            ),
            (
                "failed_total",
                "Responses that broke off or were errors.",
                |c| c.failed,
            ),
        ];
        for (name, help, pick) in each {
            let _ = write!(
                out,
                "# HELP toolglot_gateway_{name} {help}\n# TYPE toolglot_gateway_{name} counter\n"
            );
            for ((model, dialect), counts) in counts.iter() {
                let (model, value) = (escaped(model), pick(counts));
                let _ = writeln!(
                    out,
                    "toolglot_gateway_{name}{{model=\"{model}\",dialect=\"{dialect}\"}} {value}"
                );
            }
        }
        let name = "toolglot_gateway_kinds_total";
        let _ = write!(
            out,
            "# HELP {name} Issue kinds of calls withheld from clients.\n# TYPE {name} counter\n"
        );
        for ((model, dialect), counts) in counts.iter() {
            let model = escaped(model);
            for (kind, count) in &counts.kinds {
                let _ = writeln!(
                    out,
                    "{name}{{model=\"{model}\",dialect=\"{dialect}\",kind=\"{kind}\"}} {count}"
                );
            }
        }
    }
}

/// Escapes a label value.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
