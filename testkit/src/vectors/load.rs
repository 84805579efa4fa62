//! Reads vectors files. Every mistake is reported with file and line. An unknown key is a mistake, because an ignored key
//! would be a check that never runs.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::path::Path;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use toolglot::json::{Map, Value};

use toolglot::{Grade, Kind};

use super::halves;
use crate::base64;

/// One conformance vector.
#[derive(Clone, Debug)]
pub struct Vector {
    /// Its file.
    pub origin: String,
    /// Its line there, from 1.
    pub line: usize,
    /// `<dialect>/<slug>`.
    pub id: String,
    /// The dialect of the input.
    pub dialect: String,
    /// The model's output.
    pub input: Vec<u8>,
    /// The declared tools: a JSON array.
    pub tools: Option<Value>,
    /// API tool calls: OpenAI's `tool_calls`.
    pub native_tool_calls: Option<Box<RawValue>>,
    /// Why the output ended.
    pub finish: String,
    /// Parser options, as read by [`crate::options`].
    pub options: Map,
    /// The vector cannot pass with all dialects active.
    pub alone_only: bool,
    /// The expectation.
    pub expect: Expect,
}

/// The expectation of a vector.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// All text outside calls and reasoning.
    pub text: String,
    /// Whether to compare the text without white space at both ends.
    #[serde(default)]
    pub trim: bool,
    /// All reasoning; compared without white space at both ends.
    #[serde(default)]
    pub reasoning: String,
    /// The calls, in order.
    pub calls: Vec<ExpectCall>,
    /// Kinds that must be reported.
    pub errors: Vec<String>,
    /// The withheld calls, in order.
    #[serde(default)]
    pub withheld: Option<Vec<ExpectWithheld>>,
}

/// An expected call.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectCall {
    /// Name of the tool.
    pub name: String,
    /// Its arguments; numbers compare by value, and the order of keys does not matter.
    #[serde(deserialize_with = "arguments")]
    pub arguments: Value,
    /// `complete`, `repaired` or `recovered`; `None` means not recovered.
    #[serde(default)]
    pub grade: Option<String>,
    /// Its kinds, ordered by code.
    #[serde(default)]
    pub kinds: Option<Vec<String>>,
}

/// An expected withheld call.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectWithheld {
    /// Name of the tool.
    pub name: String,
    /// Its kinds, ordered by code.
    #[serde(default)]
    pub kinds: Option<Vec<String>>,
    /// Its bytes.
    #[serde(default)]
    pub span: Option<[u64; 2]>,
}

/// An expectation may contain lone surrogates, as a result may.
fn arguments<'de, D: Deserializer<'de>>(from: D) -> Result<Value, D::Error> {
    halves::value(Box::<RawValue>::deserialize(from)?.get()).map_err(D::Error::custom)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    id: String,
    dialect: String,
    input: Option<String>,
    input_b64: Option<String>,
    tools: Option<Value>,
    native_tool_calls: Option<Box<RawValue>>,
    finish: Option<String>,
    #[serde(default)]
    options: Map,
    #[serde(default)]
    alone_only: bool,
    expect: Expect,
    #[serde(default, rename = "note")]
    _note: String,
}

/// A line that is not a vector, or a file that cannot be read (line 0).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineError {
    /// The file.
    pub origin: String,
    /// The line, from 1; 0 means the whole file.
    pub line: usize,
    /// What is wrong.
    pub why: String,
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.origin, self.why),
            line => write!(f, "{}:{line}: {}", self.origin, self.why),
        }
    }
}

impl std::error::Error for LineError {}

/// Reads a vectors file.
///
/// # Errors
/// All mistakes in the file.
pub fn read_file(path: &Path) -> Result<Vec<Vector>, Vec<LineError>> {
    let origin = path.display().to_string();
    let fail = |why: String| {
        vec![LineError {
            origin: origin.clone(),
            line: 0,
            why,
        }]
    };
    let bytes = fs::read(path).map_err(|e| fail(e.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|e| {
        let line = 1 + e.as_bytes()[..e.utf8_error().valid_up_to()]
            .iter()
            .filter(|b| **b == b'\n')
            .count();
        vec![LineError {
            origin: origin.clone(),
            line,
            why: "it is not UTF-8 text".to_owned(),
        }]
    })?;
    read(&origin, &text)
}

/// Reads the text of a vectors file. Blank lines are skipped.
///
/// # Errors
/// All mistakes in the text.
pub fn read(origin: &str, text: &str) -> Result<Vec<Vector>, Vec<LineError>> {
    let mut vectors = vec![];
    let mut errors = vec![];
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (index, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let number = index + 1;
        let mut fail = |why: String| {
            errors.push(LineError {
                origin: origin.to_owned(),
                line: number,
                why,
            })
        };
        match vector(origin, number, line) {
            Ok(vector) => match seen.insert(vector.id.clone(), number) {
                None => vectors.push(vector),
                Some(before) => fail(format!(
                    "the id {} is already used in line {before}",
                    vector.id
                )),
            },
            Err(why) => fail(why),
        }
    }
    if vectors.is_empty() && errors.is_empty() {
        errors.push(LineError {
            origin: origin.to_owned(),
            line: 0,
            why: "it contains no vectors".to_owned(),
        });
    }
    if errors.is_empty() {
        Ok(vectors)
    } else {
        Err(errors)
    }
}

fn vector(origin: &str, number: usize, text: &str) -> Result<Vector, String> {
    let line: Line = serde_json::from_str(text).map_err(|e| json_error(&e))?;
    let input = match (line.input, line.input_b64) {
        (Some(text), None) => text.into_bytes(),
        (None, Some(text)) => base64::decode(&text).map_err(|why| format!("input_b64: {why}"))?,
        (None, None) => return Err("`input` or `input_b64` is missing".to_owned()),
        (Some(_), Some(_)) => return Err("`input` and `input_b64` exclude each other".to_owned()),
    };
    for (index, call) in line.expect.calls.iter().enumerate() {
        grade_fits(index, call)?;
    }
    Ok(Vector {
        origin: origin.to_owned(),
        line: number,
        id: line.id,
        dialect: line.dialect,
        input,
        tools: line.tools,
        native_tool_calls: line.native_tool_calls,
        finish: line.finish.unwrap_or_else(|| "stop".to_owned()),
        options: line.options,
        alone_only: line.alone_only,
        expect: line.expect,
    })
}

fn grade_fits(index: usize, call: &ExpectCall) -> Result<(), String> {
    let unknown = |grade: &&String| Grade::from_name(grade).is_none();
    if let Some(grade) = call.grade.as_ref().filter(unknown) {
        return Err(format!(
            "expect.calls[{index}].grade: `{grade}` is none of `complete`, `repaired` and `recovered`"
        ));
    }
    let strange = |kind: &&String| Kind::from_name(kind).is_none();
    match call.kinds.iter().flatten().find(strange) {
        Some(kind) => Err(format!(
            "expect.calls[{index}].kinds: there is no kind `{kind}`"
        )),
        None => Ok(()),
    }
}

/// The message of `serde_json` without its line number, which is 1 for every record.
#[must_use]
pub fn json_error(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&place) {
        Some(what) => format!("{what} (column {})", error.column()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"id":"d/a","dialect":"d","input":"x","expect":{"text":"x","calls":[],"errors":[]},"note":"n"}"#;

    fn errors(text: &str) -> Vec<String> {
        read("f.jsonl", text)
            .expect_err("a mistake")
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn a_good_line_is_read() {
        let vectors = read("f.jsonl", &format!("\n{GOOD}\n\n")).expect("vectors");
        assert_eq!(
            (vectors.len(), vectors[0].line, vectors[0].finish.as_str()),
            (1, 2, "stop")
        );
    }

    #[test]
    fn mistakes_name_their_line() {
        let twice = errors(&format!("{GOOD}\n{GOOD}"));
        assert_eq!(twice, ["f.jsonl:2: the id d/a is already used in line 1"]);
        let both = errors(&format!("{{\n{}", GOOD.replace("\"note\"", "\"nite\"")));
        assert!(
            both[0].starts_with("f.jsonl:1: EOF while parsing"),
            "{both:?}"
        );
        assert!(
            both[1].starts_with("f.jsonl:2: unknown field `nite`"),
            "{both:?}"
        );
        assert!(errors(&GOOD.replace("\"calls\":[],", ""))[0].contains("missing field `calls`"));
        assert!(
            errors(&GOOD.replace("\"input\":\"x\",", ""))[0]
                .contains("`input` or `input_b64` is missing")
        );
        assert!(errors(&GOOD.replace("\"input\"", "\"input_b64\""))[0].contains("input_b64: "));
        assert!(
            errors(&GOOD.replace("\"text\":\"x\"", "\"text\":\"x\",\"txet\":1"))[0]
                .contains("unknown field `txet`")
        );
        assert_eq!(errors(" \n"), ["f.jsonl: it contains no vectors"]);
    }
}
