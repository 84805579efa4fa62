//! One record: its settings, and the answer.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use toolglot::json::{Map, Value};
use toolglot::{Collect, Finish, NativeCall, Severity, Tools};
use toolglot_testkit::chunks::{Chunking, Cutter};
use toolglot_testkit::options::{self, ReadOptions};
use toolglot_testkit::run::Stream;
use toolglot_testkit::sets::{Choice, Sets};
use toolglot_testkit::vectors::{json_error, panic_text};
use toolglot_testkit::{base64, json};

use super::beside::Beside;
use super::lines::{Line, Text};

/// Defaults for records.
pub struct Defaults {
    pub sets: Sets,
    pub choice: Choice,
    pub tools: Option<Arc<Tools>>,
    pub chunking: Chunking,
    pub untyped: Option<toolglot::Untyped>,
    /// Unknown keys are errors.
    pub deny_unknown: bool,
}

/// A line of the output.
pub struct Answer {
    pub text: String,
    /// The line was not a record.
    pub bad: bool,
    /// The turn has an issue of severity error.
    pub errors: bool,
}

#[derive(Deserialize)]
struct Record {
    id: Option<Box<RawValue>>,
    input: Option<String>,
    input_b64: Option<String>,
    dialect: Option<String>,
    dialects: Option<Vec<String>>,
    tools: Option<Box<RawValue>>,
    finish: Option<String>,
    #[serde(default)]
    options: Map,
    native_tool_calls: Option<Box<RawValue>>,
    /// The same as in `options`.
    prompt_tail: Option<Value>,
    tool_choice: Option<Value>,
    start: Option<Value>,
    /// An assistant prefix that is already in the prompt.
    prefill: Option<String>,
}

impl Record {
    /// Its keys.
    const KEYS: [&str; 13] = [
        "id",
        "input",
        "input_b64",
        "dialect",
        "dialects",
        "tools",
        "finish",
        "options",
        "native_tool_calls",
        "prompt_tail",
        "tool_choice",
        "start",
        "prefill",
    ];
}

/// Returns at least the id of an unreadable record.
#[derive(Deserialize)]
struct Id {
    id: Option<Box<RawValue>>,
}

/// Answers records one after another.
pub struct Answers<'a> {
    defaults: &'a Defaults,
    /// The tools of the last record, cached because many records declare the same.
    tools: Option<(Box<RawValue>, Arc<Tools>)>,
}

impl<'a> Answers<'a> {
    pub fn new(defaults: &'a Defaults) -> Self {
        Self {
            defaults,
            tools: None,
        }
    }

    /// Answers a line; a panic of the engine is an answer too.
    pub fn to(&mut self, line: Line) -> Answer {
        let text = match line.text {
            Text::Kept(text) => text,
            Text::TooLong => {
                let why = format!(
                    "the line has {} bytes, more than --max-line allows",
                    line.bytes
                );
                return bad(line.number, None, &why);
            }
        };
        let answer = panic::catch_unwind(AssertUnwindSafe(|| self.turn(&text)));
        let why = match answer {
            Ok(Ok(answer)) => return answer,
            Ok(Err(why)) => why,
            Err(cause) => format!("internal error: {}", panic_text(&*cause)),
        };
        let id = serde_json::from_slice::<Id>(&text)
            .ok()
            .and_then(|found| found.id);
        bad(line.number, id.as_deref(), &why)
    }

    fn turn(&mut self, text: &[u8]) -> Result<Answer, String> {
        let mut record: Record = serde_json::from_slice(text).map_err(|e| json_error(&e))?;
        let beside: Beside = serde_json::from_slice(text).map_err(|e| json_error(&e))?;
        let beside = beside.without(&Record::KEYS);
        if let Some(key) = beside.first().filter(|_| self.defaults.deny_unknown) {
            return Err(format!("unknown field `{key}`"));
        }
        let begins = [
            ("prompt_tail", record.prompt_tail.take()),
            ("tool_choice", record.tool_choice.take()),
            ("start", record.start.take()),
        ];
        for (key, value) in begins {
            if let Some(value) = value {
                record.options.insert(key.to_owned(), value);
            }
        }
        let ReadOptions {
            mut options,
            switches,
        } = options::read(&record.options).map_err(|e| e.to_string())?;
        options.untyped = options.untyped.or(self.defaults.untyped);
        let choice = self.choice(&record, switches)?;
        let set = self.defaults.sets.get(&choice).map_err(|e| e.to_string())?;
        let own = record.tools.is_some();
        options.tools = self.tools(record.tools)?;
        // Issues of the command line's tools were reported on standard error.
        let odd = options.tools.iter().filter(|_| own);
        let odd: Vec<String> = odd
            .flat_map(|tools| tools.issues())
            .map(ToString::to_string)
            .collect();
        let native = match &record.native_tool_calls {
            Some(calls) => {
                NativeCall::from_json(calls.get()).map_err(|e| format!("native_tool_calls: {e}"))?
            }
            None => vec![],
        };
        let finish = record.finish.as_deref().unwrap_or("stop");
        let finish = Finish::from_name(finish)
            .ok_or_else(|| format!("there is no finish reason `{finish}`"))?;
        let input = match (record.input, record.input_b64) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(text)) => {
                base64::decode(&text).map_err(|why| format!("input_b64: {why}"))?
            }
            (None, None) => return Err("`input` or `input_b64` is missing".to_owned()),
            (Some(_), Some(_)) => return Err("`input` and `input_b64` stand together".to_owned()),
        };

        let stream = Stream {
            set: &set,
            options: &options,
            prefill: record.prefill.as_deref().unwrap_or_default(),
            native: &native,
            finish,
        };
        let mut collect = Collect::new();
        stream.run(
            |take| Cutter::new(self.defaults.chunking).each(&input, take),
            &mut collect,
        );
        collect.hint(options.hinted());
        let turn = collect.turn();
        let errors = turn
            .issues
            .iter()
            .any(|report| report.severity == Severity::Error);
        Ok(Answer {
            text: beside.behind(with_odd(json::turn(&turn, record.id.as_deref()), odd)),
            bad: false,
            errors,
        })
    }

    /// A record that names dialects gets only those; switches add up.
    fn choice(&self, record: &Record, switches: Vec<(String, String)>) -> Result<Choice, String> {
        let names = match (&record.dialect, &record.dialects) {
            (Some(_), Some(_)) => return Err("`dialect` and `dialects` stand together".to_owned()),
            (Some(one), None) => vec![one.clone()],
            (None, Some(some)) if some.is_empty() => return Err("`dialects` is empty".to_owned()),
            (None, Some(some)) => some.clone(),
            (None, None) => vec![],
        };
        if !names.is_empty() {
            return Ok(Choice {
                names,
                files: false,
                switches,
            });
        }
        let mut choice = self.defaults.choice.clone();
        choice.switches.extend(switches);
        choice.switches.sort();
        choice.switches.dedup();
        Ok(choice)
    }

    fn tools(&mut self, raw: Option<Box<RawValue>>) -> Result<Option<Arc<Tools>>, String> {
        let Some(raw) = raw else {
            return Ok(self.defaults.tools.clone());
        };
        if let Some((have, tools)) = &self.tools
            && have.get() == raw.get()
        {
            return Ok(Some(tools.clone()));
        }
        let tools = Arc::new(Tools::from_json(raw.get()).map_err(|e| e.to_string())?);
        self.tools = Some((raw, tools.clone()));
        Ok(Some(tools))
    }
}

/// Adds problems in the record's tools to its turn.
fn with_odd(turn: String, odd: Vec<String>) -> String {
    match turn.strip_suffix('}') {
        Some(open) if !odd.is_empty() => format!("{open},\"tool_issues\":{}}}", Value::from(odd)),
        Some(_) | None => turn,
    }
}

fn bad(number: u64, id: Option<&RawValue>, why: &str) -> Answer {
    let id = id
        .map(|id| format!("\"id\":{},", id.get()))
        .unwrap_or_default();
    let text = format!("{{\"line\":{number},{id}\"error\":{}}}", Value::from(why));
    Answer {
        text,
        bad: true,
        errors: false,
    }
}
