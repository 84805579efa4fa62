//! Reads and writes the file. Unknown keys are errors: an ignored key would be an ignored choice.

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use toolglot::json::{Map, Value};

use super::entry;
use crate::base64;

/// A stream, and its result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// A description for people.
    pub note: String,
    /// The bytes.
    pub input: Vec<u8>,
    /// Lengths of the chunks; the remaining bytes are one more chunk. Empty: one chunk.
    pub cuts: Option<Vec<usize>>,
    /// The dialects; empty: the default set.
    pub dialects: Vec<Dialect>,
    /// Parser options, as read by [`crate::options`].
    pub options: Map,
    /// The declared tools.
    pub tools: Option<Value>,
    /// API tool calls: OpenAI's `tool_calls`.
    pub native_tool_calls: Option<Value>,
    /// The byte of the input before which they came; `None`: after the text, or before it if they are preferred.
    pub native_at: Option<usize>,
    /// Reasoning that the API delivered beside the text.
    pub reasoning_content: Option<String>,
    /// Why the output ended.
    pub finish: String,
    /// The joined log; `None` in a file written by hand and not run yet.
    pub expect: Option<Vec<Value>>,
}

/// A dialect of a recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Dialect {
    /// A built-in dialect by its id, or `default`, `any` or `all`.
    Name(String),
    /// A dialect file.
    File {
        /// Its name in messages.
        file: String,
        /// Its text.
        toml: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    #[serde(default)]
    note: String,
    input: Option<String>,
    input_b64: Option<String>,
    cuts: Option<Vec<usize>>,
    #[serde(default)]
    dialects: Vec<Dialect>,
    #[serde(default)]
    options: Map,
    tools: Option<Value>,
    native_tool_calls: Option<Value>,
    native_at: Option<usize>,
    reasoning_content: Option<String>,
    #[serde(default = "stop")]
    finish: String,
    expect: Option<Vec<Value>>,
}

fn stop() -> String {
    "stop".to_owned()
}

impl Recording {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// The text is not a recording; the message says where.
    pub fn read(text: &str) -> Result<Self, String> {
        let raw: Raw = serde_json::from_str(text).map_err(|e| e.to_string())?;
        let input = match (raw.input, raw.input_b64) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(text)) => {
                base64::decode(&text).map_err(|why| format!("input_b64: {why}"))?
            }
            (None, None) => return Err("`input` or `input_b64` is missing".to_owned()),
            (Some(_), Some(_)) => {
                return Err("`input` and `input_b64` exclude each other".to_owned());
            }
        };
        let out = Self {
            note: raw.note,
            input,
            cuts: raw.cuts,
            dialects: raw.dialects,
            options: raw.options,
            tools: raw.tools,
            native_tool_calls: raw.native_tool_calls,
            native_at: raw.native_at,
            reasoning_content: raw.reasoning_content,
            finish: raw.finish,
            expect: raw.expect,
        };
        match out
            .cuts
            .iter()
            .flatten()
            .try_fold(0_usize, |sum, len| sum.checked_add(*len))
        {
            Some(sum) if sum <= out.input.len() => Ok(out),
            _ => Err(format!(
                "cuts: the chunks are longer than the {} bytes of the input",
                out.input.len()
            )),
        }
    }

    /// The text of a file: one key per line and one log entry per line, for readable diffs.
    #[must_use]
    pub fn text(&self) -> String {
        let mut head = Map::new();
        if !self.note.is_empty() {
            head.insert("note".to_owned(), self.note.clone().into());
        }
        entry::bytes(&mut head, "input", &self.input);
        if let Some(cuts) = &self.cuts {
            head.insert("cuts".to_owned(), cuts.clone().into());
        }
        let dialects = self.dialects.iter().map(|dialect| match dialect {
            Dialect::Name(name) => Value::from(name.as_str()),
            Dialect::File { file, toml } => toolglot::json::json!({"file": file, "toml": toml}),
        });
        head.insert("dialects".to_owned(), dialects.collect());
        head.insert("options".to_owned(), self.options.clone().into());
        for (key, value) in [
            ("tools", &self.tools),
            ("native_tool_calls", &self.native_tool_calls),
        ] {
            if let Some(value) = value {
                head.insert(key.to_owned(), value.clone());
            }
        }
        if let Some(at) = self.native_at {
            head.insert("native_at".to_owned(), at.into());
        }
        if let Some(reasoning) = &self.reasoning_content {
            head.insert("reasoning_content".to_owned(), reasoning.clone().into());
        }
        head.insert("finish".to_owned(), self.finish.clone().into());
        let lines = head
            .iter()
            .map(|(key, value)| format!("  {}: {value}", Value::from(key.as_str())));
        let mut out = format!("{{\n{}", lines.collect::<Vec<_>>().join(",\n"));
        if let Some(expect) = &self.expect {
            out.push_str(",\n  \"expect\": [");
            for (at, entry) in expect.iter().enumerate() {
                // Writing to a string cannot fail.
                let _ = write!(out, "{}\n    {entry}", if at == 0 { "" } else { "," });
            }
            out.push_str("\n  ]");
        }
        out.push_str("\n}\n");
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_files_can_be_read() {
        let recording = Recording {
            note: "a \"note\"".to_owned(),
            input: vec![b'a', 0xff],
            cuts: Some(vec![0, 1, 1]),
            dialects: vec![
                Dialect::Name("vcp".to_owned()),
                Dialect::File {
                    file: "m.toml".to_owned(),
                    toml: "id = \"m\"\n".to_owned(),
                },
            ],
            options: serde_json::from_str(r#"{"text": "chars"}"#).expect("an object"),
            tools: Some(
                serde_json::from_str(r#"[{"name": "f", "parameters": {"n": 1.50}}]"#)
                    .expect("a list"),
            ),
            native_tool_calls: None,
            native_at: Some(1),
            reasoning_content: Some("hm".to_owned()),
            finish: "length".to_owned(),
            expect: Some(vec![
                toolglot::json::json!({"type": "text"}),
                toolglot::json::json!({"type": "raw"}),
            ]),
        };
        let text = recording.text();
        assert_eq!(Recording::read(&text), Ok(recording), "{text}");
        assert!(
            text.contains("1.50") && text.contains("\n    {\"type\":\"raw\"}\n"),
            "{text}"
        );
    }

    #[test]
    fn mistakes_are_named() {
        for (text, words) in [
            ("{", "EOF"),
            ("{}", "`input_b64` is missing"),
            (r#"{"input": "", "inptu": 1}"#, "inptu"),
            (r#"{"input": "a", "input_b64": ""}"#, "exclude each other"),
            (r#"{"input_b64": "%"}"#, "input_b64: the byte at 0"),
            (
                r#"{"input": "abc", "cuts": [2, 2]}"#,
                "longer than the 3 bytes",
            ),
            (
                r#"{"input": "", "cuts": [18446744073709551615, 1]}"#,
                "longer than the 0 bytes",
            ),
            (r#"{"input": "", "cuts": [-1]}"#, "-1"),
            (r#"{"input": "", "dialects": [{"toml": ""}]}"#, "Dialect"),
        ] {
            let error = Recording::read(text).expect_err(text);
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
