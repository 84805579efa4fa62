//! One record: its settings, and the answer.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use toolglot::json::{Map, Value};
use toolglot::{Collect, DialectSet, Finish, NativeCall, Options, Severity, Tools, Turn};
use toolglot_testkit::chunks::{Chunking, Cutter};
use toolglot_testkit::options::{self, ReadOptions};
use toolglot_testkit::run::Stream;
use toolglot_testkit::sets::{Choice, Sets};
use toolglot_testkit::vectors::{json_error, panic_text};
use toolglot_testkit::{base64, json};

use super::beside::Beside;
use super::fields;
use super::lines::{Line, Text};
use crate::field::Field;

/// Defaults for records.
pub struct Defaults {
    pub sets: Sets,
    pub choice: Choice,
    pub tools: Option<Arc<Tools>>,
    pub chunking: Chunking,
    pub untyped: Option<toolglot::Untyped>,
    /// Unknown keys are errors.
    pub deny_unknown: bool,
    /// Where the texts of a record are, if it is not in the form of this command.
    pub fields: Vec<Field>,
    /// Look for bytes that no event has.
    pub audit: bool,
}

/// Members that the answer to a record, or to an invalid line, has itself. An input member of that name goes into `record`.
const TURN: [&str; 10] = [
    "id",
    "text",
    "reasoning",
    "calls",
    "errors",
    "toolglot",
    "tool_issues",
    "record",
    "line",
    "error",
];
/// Members of a conversation that this command knows.
const CONVERSATION: [&str; 4] = ["id", "messages", "conversations", "tools"];
/// As [`TURN`], for records of another form.
const TURNS: [&str; 3] = ["turns", "tool_issues", "record"];

/// A parsed text.
pub struct ReadText {
    /// The pointer to it, in a record of another form.
    pub at: String,
    /// Its length in bytes.
    pub bytes: u64,
    pub turn: Turn,
    /// Bytes that no event has, if that was asked for.
    pub lost: u64,
}

/// What a record says.
pub struct ReadRecord {
    form: Form,
    pub turns: Vec<ReadText>,
    /// Problems in the record's tools.
    pub tool_issues: Vec<String>,
    /// The members that pass through.
    beside: Beside,
}

enum Form {
    /// One text, with settings.
    Own { id: Option<Box<RawValue>> },
    /// Any number of texts in a record that stays as it is.
    Other,
}

impl ReadRecord {
    /// Whether an error was reported in a turn.
    pub fn errors(&self) -> bool {
        let mut reports = self.turns.iter().flat_map(|read| &read.turn.issues);
        reports.any(|report| report.severity == Severity::Error)
    }

    /// Returns the line of the output.
    fn line(&self) -> String {
        let issues = match self.tool_issues.is_empty() {
            true => String::new(),
            false => format!(",\"tool_issues\":{}", Value::from(self.tool_issues.clone())),
        };
        match (&self.form, &self.turns[..]) {
            (Form::Own { id }, [read]) => {
                let turn = json::turn(&read.turn, id.as_deref());
                let turn = turn.strip_suffix('}').unwrap_or(&turn);
                self.beside.behind(format!("{turn}{issues}}}"), &TURN)
            }
            (Form::Own { .. } | Form::Other, turns) => {
                let turns: Vec<String> = turns
                    .iter()
                    .map(|read| {
                        let turn = json::turn(&read.turn, None);
                        let at = Value::from(&*read.at);
                        format!("{{\"at\":{at},{}", turn.strip_prefix('{').unwrap_or(&turn))
                    })
                    .collect();
                let added = format!("\"turns\":[{}]{issues}", turns.join(","));
                self.beside.before(&added, &TURNS)
            }
        }
    }
}

#[cfg(feature = "parquet")]
impl Defaults {
    /// Whether a member changes what is read of a record.
    pub fn needs(&self, member: &str) -> bool {
        match &self.fields[..] {
            [] => Record::KEYS.contains(&member) || fields::CONVERSATIONS.contains(&member),
            given => member == "tools" || given.iter().any(|field| field.member() == member),
        }
    }
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
    options: Option<Map>,
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

/// Answers records one after another.
pub struct Answers<'a> {
    defaults: &'a Defaults,
    /// The tools of the last record, cached because many records declare the same.
    tools: Option<(String, Arc<Tools>)>,
}

impl<'a> Answers<'a> {
    pub fn new(defaults: &'a Defaults) -> Self {
        Self {
            defaults,
            tools: None,
        }
    }

    /// Answers a line.
    pub fn to(&mut self, line: Line) -> Answer {
        match self.read(&line) {
            Ok(read) => Answer {
                text: read.line(),
                bad: false,
                errors: read.errors(),
            },
            Err(why) => bad(&line, &why),
        }
    }

    /// Reads a line; a panic of the engine is an error too.
    pub fn read(&mut self, line: &Line) -> Result<ReadRecord, String> {
        match &line.text {
            Text::Kept(text) => caught(|| self.record(text)),
            Text::TooLong => Err(format!(
                "the line has {} bytes, more than --max-line allows",
                line.bytes
            )),
        }
    }

    /// Reads a text that is no record.
    pub fn plain(&mut self, text: &[u8]) -> Result<ReadText, String> {
        caught(|| {
            let set = self.set(&self.defaults.choice)?;
            let options = self.options(self.defaults.tools.clone());
            Ok(self.parse(String::new(), text, &whole(&set, &options)))
        })
    }

    fn record(&mut self, text: &[u8]) -> Result<ReadRecord, String> {
        let beside: Beside = serde_json::from_slice(text).map_err(|e| json_error(&e))?;
        let given = &self.defaults.fields;
        let own = beside.given("input").is_some() || beside.given("input_b64").is_some();
        if given.is_empty() && (own || !fields::is_conversation(&beside)) {
            return self.own(text, beside);
        }
        let unknown = |key: &&str| !CONVERSATION.contains(key);
        let unknown = beside.iter().map(|(key, _)| key).find(unknown);
        if let Some(key) = unknown.filter(|_| self.defaults.deny_unknown) {
            return Err(format!("unknown field `{key}`"));
        }
        let texts = match given.is_empty() {
            true => fields::conversation(&beside)?,
            false => fields::texts(&beside, given)?,
        };
        let (tools, tool_issues) = self.tools_beside(&beside);
        let set = self.set(&self.defaults.choice)?;
        let options = self.options(tools);
        let stream = whole(&set, &options);
        let turns = texts
            .into_iter()
            .map(|found| self.parse(found.at, found.text.as_bytes(), &stream))
            .collect();
        Ok(ReadRecord {
            form: Form::Other,
            turns,
            tool_issues,
            beside,
        })
    }

    /// Reads a record in the form of this command.
    fn own(&mut self, text: &[u8], beside: Beside) -> Result<ReadRecord, String> {
        let mut record: Record = serde_json::from_slice(text).map_err(|e| json_error(&e))?;
        let beside = beside.without(&Record::KEYS);
        if let Some(key) = beside.first().filter(|_| self.defaults.deny_unknown) {
            return Err(format!("unknown field `{key}`"));
        }
        let mut options = record.options.take().unwrap_or_default();
        let begins = [
            ("prompt_tail", record.prompt_tail.take()),
            ("tool_choice", record.tool_choice.take()),
            ("start", record.start.take()),
        ];
        for (key, value) in begins {
            if let Some(value) = value {
                options.insert(key.to_owned(), value);
            }
        }
        let ReadOptions {
            mut options,
            switches,
        } = options::read(&options).map_err(|e| e.to_string())?;
        options.untyped = options.untyped.or(self.defaults.untyped);
        let set = self.set(&self.choice(&record, switches)?)?;
        let tools = match record.tools.take() {
            Some(raw) => self.tools(raw.get())?,
            None => None,
        };
        let tool_issues = tools.as_deref().map(told).unwrap_or_default();
        options.tools = tools.or_else(|| self.defaults.tools.clone());
        let native = match &record.native_tool_calls {
            Some(calls) => NativeCall::from_json(calls.get()).map_err(|e| e.to_string())?,
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
            (None, None) => {
                return Err(
                    "`input` or `input_b64` is missing, and so are `messages`, `conversations` and a --field"
                        .to_owned(),
                );
            }
            (Some(_), Some(_)) => return Err("`input` and `input_b64` stand together".to_owned()),
        };
        let stream = Stream {
            set: &set,
            options: &options,
            prefill: record.prefill.as_deref().unwrap_or_default(),
            native: &native,
            finish,
        };
        Ok(ReadRecord {
            form: Form::Own { id: record.id },
            turns: vec![self.parse("/input".to_owned(), &input, &stream)],
            tool_issues,
            beside,
        })
    }

    fn parse(&self, at: String, input: &[u8], stream: &Stream<'_>) -> ReadText {
        let mut collect = Collect::new();
        if self.defaults.audit {
            collect = collect.keep_original();
        }
        stream.run(
            |take| Cutter::new(self.defaults.chunking).each(input, take),
            &mut collect,
        );
        collect.hint(stream.options.hinted());
        let mut turn = collect.turn();
        let lost = turn.original.take().map_or(0, |kept| lost(input, &kept));
        ReadText {
            at,
            bytes: input.len() as u64,
            turn,
            lost,
        }
    }

    fn set(&self, choice: &Choice) -> Result<DialectSet, String> {
        self.defaults.sets.get(choice).map_err(|e| e.to_string())
    }

    /// The options of a text that is not in a record of this command.
    fn options(&self, tools: Option<Arc<Tools>>) -> Options {
        let mut options = Options::default();
        options.untyped = self.defaults.untyped;
        options.tools = tools;
        options
    }

    /// A record that names dialects gets only those; switches add up, those for all records where their dialect is looked for.
    fn choice(&self, record: &Record, switches: Vec<(String, String)>) -> Result<Choice, String> {
        let names = match (&record.dialect, &record.dialects) {
            (Some(_), Some(_)) => return Err("`dialect` and `dialects` stand together".to_owned()),
            (Some(one), None) => vec![one.clone()],
            (None, Some(some)) if some.is_empty() => return Err("`dialects` is empty".to_owned()),
            (None, Some(some)) => some.clone(),
            (None, None) => vec![],
        };
        let mut choice = self.defaults.choice.clone();
        if !names.is_empty() {
            let common = std::mem::take(&mut choice.switches);
            choice = Choice {
                names,
                files: false,
                switches: vec![],
            };
            if !common.is_empty() {
                let set = self.set(&choice)?;
                let has = |id: &str| set.dialects().any(|dialect| dialect.id() == id);
                choice.switches = common.into_iter().filter(|(id, _)| has(id)).collect();
            }
        }
        choice.switches.extend(switches);
        choice.switches.sort();
        choice.switches.dedup();
        Ok(choice)
    }

    /// The tools of a record of another form, with what is wrong with them.
    fn tools_beside(&mut self, beside: &Beside) -> (Option<Arc<Tools>>, Vec<String>) {
        let read = beside
            .given("tools")
            .map_or(Ok(None), |raw| self.tools(raw));
        let (tools, issues) = match read {
            Ok(Some(tools)) => {
                let issues = told(&tools);
                (Some(tools), issues)
            }
            Ok(None) => (None, vec![]),
            Err(why) => (None, vec![why]),
        };
        (tools.or_else(|| self.defaults.tools.clone()), issues)
    }

    /// Reads the tools of a record. Data sets keep them as a list, or as its JSON text, which may be empty.
    fn tools(&mut self, raw: &str) -> Result<Option<Arc<Tools>>, String> {
        let text = serde_json::from_str::<String>(raw);
        let text = text.as_deref().unwrap_or(raw).trim();
        if text.is_empty() {
            return Ok(None);
        }
        if let Some((have, tools)) = &self.tools
            && have == text
        {
            return Ok(Some(tools.clone()));
        }
        let tools = Tools::from_json(text).map_err(|error| error.to_string())?;
        let tools = Arc::new(tools);
        self.tools = Some((text.to_owned(), tools.clone()));
        Ok(Some(tools))
    }
}

/// How a text is read that comes without settings.
fn whole<'a>(set: &'a DialectSet, options: &'a Options) -> Stream<'a> {
    Stream {
        set,
        options,
        prefill: "",
        native: &[],
        finish: Finish::Stop,
    }
}

fn told(tools: &Tools) -> Vec<String> {
    tools.issues().iter().map(ToString::to_string).collect()
}

/// Runs a reading; a panic of the engine is an error.
fn caught<T>(read: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    panic::catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|cause| Err(format!("internal error: {}", panic_text(&*cause))))
}

/// How many bytes of a text the kept ones lack. They are all of it, in order, unless the engine has a fault.
fn lost(input: &[u8], kept: &str) -> u64 {
    if input == kept.as_bytes() {
        return 0;
    }
    match String::from_utf8_lossy(input) {
        text if text == kept => 0,
        text => (text.len().saturating_sub(kept.len())).max(1) as u64,
    }
}

/// The answer to a line that cannot be read: the reason, and the line.
fn bad(line: &Line, why: &str) -> Answer {
    let (id, record) = match &line.text {
        Text::Kept(text) => {
            // At least the id of an unreadable record.
            let found = serde_json::from_slice::<Beside>(text).ok();
            let id = found.as_ref().and_then(|found| found.get("id"));
            let id = id
                .filter(|id| *id != "null")
                .map(|id| format!("\"id\":{id},"));
            (id.unwrap_or_default(), kept(text))
        }
        Text::TooLong => Default::default(),
    };
    let (number, why) = (line.number, Value::from(why));
    Answer {
        text: format!("{{\"line\":{number},{id}\"error\":{why}{record}}}"),
        bad: true,
        errors: false,
    }
}

/// A line as a member: as JSON, as text if it is not JSON for every reader, or encoded if it is not even text.
fn kept(text: &[u8]) -> String {
    let json = serde_json::from_slice::<Value>(text).is_ok();
    match std::str::from_utf8(text) {
        Ok(text) if json => format!(",\"record\":{}", text.trim()),
        Ok(text) => format!(",\"record\":{}", Value::from(text)),
        Err(_) => format!(",\"record_b64\":{}", Value::from(base64::encode(text))),
    }
}
