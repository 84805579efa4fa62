//! Logs of runs: one JSON object per line. The first describes the run (`run`); the others are its instructions (`do`) and
//! its inputs, in order. So the run can be replayed: the same inputs must give the same instructions.
//!
//! A log contains neither keys nor anything else about how models and tools are reached, but the words of people, models and tools.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use toolglot::json::Value;
use toolglot_agent::{Run, Told};

use super::plan::Plan;
use crate::stop::Stop;

/// Maximum length of a printed instruction.
const SHOWN: usize = 400;

/// A log being written.
pub struct Log {
    path: PathBuf,
    file: File,
    /// A secret that must not be in it.
    secret: Option<String>,
}

impl Log {
    /// Adds a run to a file.
    pub fn new(path: &Path, secret: Option<String>, plan: &Plan) -> Result<Self, Stop> {
        let file = File::options().append(true).create(true).open(path);
        let file = file.map_err(|error| cannot(path, &error))?;
        let mut log = Self {
            path: path.to_owned(),
            file,
            secret,
        };
        log.line(&toolglot::json::json!({"run": plan}))?;
        Ok(log)
    }

    pub fn line(&mut self, what: &impl Serialize) -> Result<(), Stop> {
        let text = serde_json::to_string(what).unwrap_or_default();
        let mut text = without(text, self.secret.as_deref());
        text.push('\n');
        let written = self.file.write_all(text.as_bytes());
        written.map_err(|error| cannot(&self.path, &error))
    }
}

/// The shortest key that is removed. Servers without keys are given words as short as `x`, which are in every text.
const KEY: usize = 8;

/// Removes the key from a text: a server may repeat the one that it refuses.
pub fn without(text: String, secret: Option<&str>) -> String {
    match secret.filter(|secret| secret.len() >= KEY) {
        Some(secret) => text.replace(secret, "[key]"),
        None => text,
    }
}

fn cannot(path: &Path, error: &std::io::Error) -> Stop {
    Stop::because(format!("cannot write {}: {error}", path.display()))
}

/// Whether a text is a log of runs.
pub fn is_one(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    let first: Option<Value> = serde_json::from_str(first).ok();
    first.is_some_and(|line| line.get("run").is_some())
}

/// Replays a log; returns the first difference.
///
/// # Errors
/// A line is not part of a log, or a run cannot be made.
pub fn replay(text: &str) -> Result<Option<String>, String> {
    let mut run: Option<Run> = None;
    let mut have = VecDeque::new();
    let mut number = 0;
    for line in text.lines() {
        number += 1;
        let fail = |why: String| format!("line {number}: {why}");
        let value: Value =
            serde_json::from_str(line).map_err(|error| fail(format!("no JSON: {error}")))?;
        if value.get("do").is_some() {
            let got = have.pop_front();
            if got.as_ref() != Some(&value) {
                return Ok(Some(difference(number, Some(&value), got.as_ref())));
            }
            continue;
        }
        match (value.get("run"), &mut run) {
            (Some(plan), run) => {
                if let Some(more) = have.front() {
                    return Ok(Some(difference(number, None, Some(more))));
                }
                *run = Some(begin(plan).map_err(fail)?);
            }
            (None, Some(run)) => {
                let told = serde_json::from_str::<Told>(line);
                // An input that came too late did so in the recorded run too.
                let _ = run.tell(told.map_err(|error| fail(error.to_string()))?);
            }
            (None, None) => return Err(fail("the log begins without `run`".to_owned())),
        }
        while let Some(one) = run.as_mut().and_then(Run::take) {
            have.push_back(value_of(&one)?);
        }
    }
    Ok(have
        .front()
        .map(|more| difference(number + 1, None, Some(more))))
}

fn begin(plan: &Value) -> Result<Run, String> {
    let plan: Plan = serde_json::from_str(&plan.to_string()).map_err(|error| error.to_string())?;
    plan.run(&plan.agent()?)
}

/// A value after a round trip through JSON.
fn value_of(what: &impl Serialize) -> Result<Value, String> {
    let text = serde_json::to_string(what).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

fn difference(line: usize, expected: Option<&Value>, got: Option<&Value>) -> String {
    let show = |value: Option<&Value>| match value.map(ToString::to_string) {
        None => "no instruction".to_owned(),
        Some(text) => match text.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}...", &text[..end]),
            None => text,
        },
    };
    let (expected, got) = (show(expected), show(got));
    format!("line {line}:\n    expected: {expected}\n    got:      {got}")
}

#[cfg(test)]
mod tests {
    use super::without;

    /// A word such as `x` is in every log; the key of a server that needs one is longer.
    #[test]
    fn keys_are_removed_and_words_are_not() {
        let text = r#"{"text":"the key sk-quiet is wrong"}"#;
        let kept = |secret| without(text.to_owned(), secret);
        assert_eq!(kept(Some("x")), text);
        assert_eq!(kept(Some("text")), text);
        assert_eq!(kept(None), text);
        assert_eq!(
            kept(Some("sk-quiet")),
            r#"{"text":"the key [key] is wrong"}"#
        );
    }
}
