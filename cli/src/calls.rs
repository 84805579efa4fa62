//! Calls in a JSON text: a turn, toolglot's or OpenAI's, a list of calls, or one call.
//!
//! What would be lost is refused: a call has only members that are read, or that say nothing about what is called.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use toolglot::{Grade, Kind, KindSet};

use crate::batch::beside::Beside;

/// A turn.
pub struct Turn {
    pub calls: Vec<Given>,
    pub issues: Vec<Told>,
}

/// A call as `parse` prints it, or in the form of an API.
#[derive(Default)]
pub struct Given {
    pub id: Option<String>,
    pub name: String,
    /// JSON text.
    pub arguments: String,
    pub dialect: Option<String>,
    pub index: Option<u32>,
    pub span: Option<(u64, u64)>,
    pub grade: Grade,
    pub kinds: KindSet,
}

/// Issues that the parser reported.
#[derive(Deserialize)]
pub struct Told {
    pub kind: String,
    pub severity: String,
    pub observation: String,
}

/// The members of a turn that are read.
#[derive(Deserialize)]
struct Read {
    #[serde(alias = "tool_calls")]
    calls: Vec<Beside>,
    #[serde(default, alias = "errors")]
    issues: Vec<Told>,
}

/// Members that hold a call's name and arguments: of OpenAI and of Gemini.
const INNER: [&str; 2] = ["function", "functionCall"];
/// Members that hold the arguments: of OpenAI, Anthropic and Gemini, and of models that copy a definition.
const ARGUMENTS: [&str; 4] = ["arguments", "input", "args", "parameters"];
/// Members beside a call that do not change what is called.
const ASIDE: [&str; 8] = [
    "type",
    "origin",
    "meta",
    "call_id",
    "status",
    "cache_control",
    "thoughtSignature",
    "extra_content",
];

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl Turn {
    pub fn read(json: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(json).map_err(told)?;
        // Windows writes one.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let read = if text.trim_start().starts_with('[') {
            alone(serde_json::from_str(text).map_err(told)?)
        } else {
            let one: Beside = serde_json::from_str(text).map_err(told)?;
            match ["calls", "tool_calls"]
                .iter()
                .any(|key| one.get(key).is_some())
            {
                true => serde_json::from_str(text).map_err(told)?,
                false => alone(vec![one]),
            }
        };
        let calls = read.calls.iter().enumerate();
        let call =
            |(index, members)| Given::read(members).map_err(|why| format!("call {index} {why}"));
        Ok(Self {
            calls: calls.map(call).collect::<Result<_, _>>()?,
            issues: read.issues,
        })
    }
}

/// Calls without a turn.
fn alone(calls: Vec<Beside>) -> Read {
    Read {
        calls,
        issues: vec![],
    }
}

impl Given {
    fn read(members: &Beside) -> Result<Self, String> {
        let (mut name, mut arguments) = (None, None);
        let mut given = Self::default();
        for (key, raw) in members.iter() {
            match key {
                key if INNER.contains(&key) => {
                    let inner: Beside = value(key, raw)?;
                    for (inner, raw) in inner.iter() {
                        match inner {
                            "name" => once(&mut name, inner, value(inner, raw)?)?,
                            "id" => given.id = value(inner, raw)?,
                            _ if ARGUMENTS.contains(&inner) => {
                                once(&mut arguments, inner, json_text(raw)?)?;
                            }
                            _ => return Err(unread(&format!("{key}.{inner}"))),
                        }
                    }
                }
                "name" => once(&mut name, key, value(key, raw)?)?,
                key if ARGUMENTS.contains(&key) => once(&mut arguments, key, json_text(raw)?)?,
                "id" => given.id = value(key, raw)?,
                "dialect" => given.dialect = value(key, raw)?,
                "index" => given.index = value(key, raw)?,
                "span" => given.span = value(key, raw)?,
                "state" => {
                    let state: String = value(key, raw)?;
                    let grade = Grade::from_name(&state);
                    given.grade =
                        grade.ok_or_else(|| format!("has the unknown `state` {state}"))?;
                }
                "kinds" => {
                    let names: Vec<String> = value(key, raw)?;
                    let known = names.iter().filter_map(|name| Kind::from_name(name));
                    known.for_each(|kind| given.kinds.insert(kind));
                }
                key if ASIDE.contains(&key) => {}
                key => return Err(unread(key)),
            }
        }
        given.grade = given.grade.max(given.kinds.grade());
        given.name = name.ok_or("has no `name`")?;
        given.arguments = arguments.unwrap_or_else(|| "{}".to_owned());
        Ok(given)
    }
}

fn unread(key: &str) -> String {
    format!("has a member `{key}`, which is not read")
}

fn value<T: DeserializeOwned>(key: &str, raw: &RawValue) -> Result<T, String> {
    serde_json::from_str(raw.get()).map_err(|error| format!("has an unreadable `{key}`: {error}"))
}

/// Arguments as an object, or as JSON in a string.
fn json_text(raw: &RawValue) -> Result<String, String> {
    match raw.get() {
        "null" => Ok("{}".to_owned()),
        text if text.starts_with('"') => value("arguments", raw),
        text => Ok(text.to_owned()),
    }
}

/// Two values for one part of a call leave open which one counts.
fn once<T>(slot: &mut Option<T>, key: &str, value: T) -> Result<(), String> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!("says twice what its `{key}` is")),
    }
}
