//! A model that plays the replies of a file: for tests and examples.

use serde::Deserialize;
use toolglot::json::Value;
use toolglot::{Finish, NativeCall};

use super::{Model, Stream, pieces};
use crate::response::Said;
use crate::step::Ask;

/// A reply of a scripted model.
///
/// ```
/// use toolglot::NativeCall;
/// use toolglot_agent::driver::{Reply, Script};
///
/// let call = Reply::default().native(vec![NativeCall::new("weather", "{}")]);
/// let script = Script::new([call, Reply::from("It rains.")]);
/// let lines = r#"{"native": [{"name": "weather", "arguments": "{}"}]}
/// {"text": "It rains."}"#;
/// assert_eq!(script, Script::from_jsonl(lines)?);
/// # Ok::<(), toolglot_agent::driver::ScriptError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Reply {
    /// Its text.
    pub text: String,
    /// Its API tool calls.
    pub native: Vec<NativeCall>,
    /// The reason for its end.
    pub finish: Finish,
}

toolglot::setters! {
    Reply:
    text: String,
    native = Vec<NativeCall>,
    finish = Finish,
}

impl From<&str> for Reply {
    fn from(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            ..Self::default()
        }
    }
}

/// Why a script cannot be read.
///
/// ```
/// use toolglot_agent::driver::Script;
///
/// let error = Script::from_jsonl("{\"text\": \"It rains.\"}\nBye.\n").unwrap_err();
/// assert_eq!(error.line, 2);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
#[non_exhaustive]
pub struct ScriptError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

/// A model that plays replies in order. The number of replies in the conversation determines the next one, so that a
/// restored run continues with the right one.
///
/// ```
/// use toolglot_agent::driver::Script;
///
/// let script = Script::from_text("First reply\n---\nSecond reply\n");
/// assert_eq!(script, Script::new(["First reply", "Second reply"]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    replies: Vec<Reply>,
    /// Number of the model's messages that the conversation starts with.
    before: usize,
    size: usize,
}

impl Script {
    /// Creates a script from replies.
    pub fn new<R: Into<Reply>>(replies: impl IntoIterator<Item = R>) -> Self {
        Self {
            replies: replies.into_iter().map(Into::into).collect(),
            before: 0,
            size: 16,
        }
    }

    /// Reads replies: texts separated by lines `---`.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        let mut replies = vec![String::new()];
        for line in text.split_inclusive('\n') {
            match (line.trim_end(), replies.last_mut()) {
                ("---", _) => replies.push(String::new()),
                (_, Some(last)) => last.push_str(line),
                (_, None) => {}
            }
        }
        let replies = replies.iter().map(|text| {
            let text = text.strip_suffix('\n').unwrap_or(text);
            Reply::from(text.strip_suffix('\r').unwrap_or(text))
        });
        Self::new(replies)
    }

    /// Reads replies, one JSON object per line: `{"text": "..", "native": [{"name": "..", "arguments": "{}"}], "finish": "stop"}`.
    /// All members are optional.
    ///
    /// # Errors
    /// A line is not a reply.
    pub fn from_jsonl(text: &str) -> Result<Self, ScriptError> {
        let lines = text.lines().enumerate();
        let read = lines
            .filter(|(_, line)| !line.trim().is_empty())
            .map(|(at, line)| {
                serde_json::from_str::<Reply>(line).map_err(|error| ScriptError {
                    line: at + 1,
                    why: error.to_string(),
                })
            });
        Ok(Self::new(read.collect::<Result<Vec<_>, _>>()?))
    }

    /// Sets the size of chunks in bytes; 16 by default.
    #[must_use]
    pub fn chunk(mut self, bytes: usize) -> Self {
        self.size = bytes.max(1);
        self
    }

    /// Sets how many replies the conversation has before the first one of the script.
    #[must_use]
    pub fn after(mut self, replies: usize) -> Self {
        self.before = replies;
        self
    }
}

impl Model for Script {
    fn ask(&self, ask: Ask) -> Stream<Said> {
        let role =
            |message: &&Value| message.get("role").and_then(Value::as_str) == Some("assistant");
        let said = ask.messages.iter().filter(role).count();
        let at = said.saturating_sub(self.before);
        let reply = self.replies.get(at).cloned();
        let (size, number) = (self.size, at + 1);
        pieces(async move |out| {
            let Some(reply) = reply else {
                return Said::Failed(format!("the script has no reply {number}"));
            };
            for chunk in reply.text.as_bytes().chunks(size) {
                out.send(Said::Text(chunk.to_vec())).await;
            }
            for call in reply.native {
                out.send(Said::Native(call)).await;
            }
            Said::End(reply.finish)
        })
    }
}
