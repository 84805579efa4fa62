//! What a template writes for a turn, apart from the conversation around it.

use toolglot::json::{Map, Value as Json, json};

use super::asked::{KEYS, SAID, THOUGHT, TOOLS, Turn, VALUES, tools};
use super::text::{common_start, is_edge};
use crate::{ChatTemplate, TemplateError};

const QUESTION: &str = "Where is everything?";

/// How messages must be given to a template.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Form {
    /// Arguments as JSON text, not as an object.
    text: bool,
    /// The content of a call without text is null, not empty.
    null: bool,
    /// Text and reasoning as parts of the content.
    parts: bool,
    /// Reasoning as a part of the content.
    thought: bool,
    /// Ids that contain the tool's name and a number, as Kimi's.
    pub named_ids: bool,
}

/// Maximum bytes of what a template writes after the question: comparing turns takes time with the square of their tokens.
const MAX_TURN: usize = 8 << 10;

/// The names under which templates read reasoning.
const REASONING: [&str; 3] = ["reasoning_content", "reasoning", "thinking"];

/// What a template wrote for a turn.
#[derive(Clone, Debug)]
pub(super) struct Written {
    /// The prompt, as far as the reply goes on with it.
    pub prompt: String,
    /// The assistant's words, without the end of the turn.
    pub reply: String,
}

pub(super) struct Writer {
    template: ChatTemplate,
    source: String,
    tools: Json,
    pub form: Form,
    /// The conversation up to the model's turn, with its beginning and without.
    prompt: String,
    bare: String,
    /// What the template writes after any text: the tokens that end a turn, at which a server stops.
    pub end: String,
}

impl Writer {
    /// Finds the form of messages with which the template writes calls.
    pub fn new(template: &ChatTemplate, source: &str) -> Result<Self, TemplateError> {
        let mut writer = Self {
            template: template.clone(),
            source: source.to_owned(),
            tools: tools(),
            form: Form {
                text: false,
                null: false,
                parts: false,
                thought: false,
                named_ids: false,
            },
            prompt: String::new(),
            bare: String::new(),
            end: String::new(),
        };
        writer.bare = writer.render(&json!([question()]), false)?;
        let mut best: Option<((bool, bool, u8, bool), Form)> = None;
        let mut refused = None;
        let mut silent = false;
        for bits in 0..32u8 {
            let bit = |at: u8| bits & (1 << at) != 0;
            writer.form = Form {
                parts: bit(0),
                null: bit(1),
                thought: bit(2),
                text: bit(3),
                named_ids: bit(4),
            };
            match writer.rank() {
                Ok(Some(rank)) if best.is_none_or(|(have, _)| rank < have) => {
                    best = Some((rank, writer.form));
                }
                Ok(found) => silent |= found.is_none(),
                // Another form will not make it end.
                Err(error) if error.bound => return Err(error),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        match (best, refused) {
            (Some((_, form)), _) => {
                writer.form = form;
                writer.prompt = writer.render(&json!([question()]), true)?;
                let whole = writer.conversation(&Turn::text(SAID)).unwrap_or_default();
                let end = whole.rsplit_once(SAID).map(|(_, end)| end.to_owned());
                writer.end = end.unwrap_or_default();
                Ok(writer)
            }
            (None, Some(error)) if !silent => Err(error),
            (None, _) => Err(TemplateError::new("it writes no calls")),
        }
    }

    /// How well the template takes this form: whether the name is missing, arguments are escaped twice or in Python's
    /// spelling, and reasoning is left out.
    fn rank(&self) -> Result<Option<(bool, bool, u8, bool)>, TemplateError> {
        let turn = Turn::call(TOOLS[0], json!({(KEYS[0]): VALUES[0]})).thinking(THOUGHT);
        let whole = self.conversation(&turn)?;
        let out = whole.strip_prefix(&self.bare).unwrap_or(&whole);
        if !out.contains(VALUES[0]) || !after_question(out).contains(KEYS[0]) {
            return Ok(None);
        }
        let escaped = out.contains(&format!("\\\"{}", KEYS[0]));
        let spelled =
            |text: &str| out.contains(&format!("'{text}'")) || out.contains(&format!("\"{text}\""));
        let python = out.contains(&format!("{{'{}'", KEYS[0])) || spelled(THOUGHT);
        let unnamed = !after_question(out).contains(TOOLS[0]);
        let silent = !out.contains(THOUGHT);
        Ok(Some((
            unnamed,
            self.form.named_ids,
            u8::from(escaped) + 2 * u8::from(python),
            silent,
        )))
    }

    /// The id of a call in this form.
    pub fn id(&self, name: &str, index: usize) -> String {
        match self.form.named_ids {
            true => format!("functions.{name}:{index}"),
            false => format!("idz{index:06}"),
        }
    }

    fn message(&self, turn: &Turn) -> Json {
        let mut message = Map::new();
        let mut set = |key: &str, value: Json| message.insert(key.to_owned(), value);
        set("role", Json::from("assistant"));
        set("content", Json::from(turn.text.as_str()));
        if !turn.calls.is_empty() {
            let call = |(index, call): (usize, &super::asked::Said)| {
                let arguments = Json::Object(call.arguments.clone());
                let arguments = match self.form.text {
                    true => Json::from(crate::template::json::text(&arguments, None)),
                    false => arguments,
                };
                json!({
                    "id": self.id(&call.name, index),
                    "type": "function",
                    "function": {"name": call.name, "arguments": arguments},
                })
            };
            set(
                "tool_calls",
                Json::Array(turn.calls.iter().enumerate().map(call).collect()),
            );
            if turn.text.is_empty() && self.form.null {
                set("content", Json::Null);
            }
        }
        let text = json!({"type": "text", "text": turn.text});
        if !turn.text.is_empty() && self.form.parts {
            set("content", json!([text]));
        }
        if !turn.reasoning.is_empty() && self.form.thought {
            let mut parts = vec![json!({"type": "thinking", "thinking": turn.reasoning})];
            if !turn.text.is_empty() {
                parts.push(text);
            }
            set("content", Json::Array(parts));
        } else if !turn.reasoning.is_empty() {
            for key in REASONING {
                if self.source.contains(key) {
                    set(key, Json::from(turn.reasoning.as_str()));
                }
            }
        }
        Json::Object(message)
    }

    fn conversation(&self, turn: &Turn) -> Result<String, TemplateError> {
        self.render(&json!([question(), self.message(turn)]), false)
    }

    fn render(&self, messages: &Json, generate: bool) -> Result<String, TemplateError> {
        let text = self
            .template
            .render(messages, Some(&self.tools), generate)?;
        match after_question(&text).len() <= MAX_TURN {
            true => Ok(text),
            false => Err(TemplateError::bound(format!(
                "it writes more than {MAX_TURN} bytes for a turn"
            ))),
        }
    }

    /// The beginning of the model's turn in the prompt.
    pub fn header(&self) -> &str {
        after_question(&self.prompt)
    }

    /// What follows the question without the beginning of the model's turn.
    pub fn without_prompt(&self) -> &str {
        after_question(&self.bare)
    }

    /// The whole conversation after the question.
    pub fn after(&self, turn: &Turn) -> Result<String, TemplateError> {
        Ok(after_question(&self.conversation(turn)?).to_owned())
    }

    /// What stands between the model's text and the user's next words.
    pub fn before_question(&self) -> Option<String> {
        let messages = json!([question(), self.message(&Turn::text(SAID)), question()]);
        let whole = self.render(&messages, false).ok()?;
        let (before, _) = whole.rsplit_once(QUESTION)?;
        before
            .rsplit_once(SAID)
            .map(|(_, between)| between.to_owned())
    }

    /// How a result follows a call, with `..` for the result, and `NAME` and `ID` for those of the call.
    pub fn results(&self) -> Option<String> {
        const RESULT: &str = "Grey heron.";
        let turn = Turn::call(TOOLS[0], json!({(KEYS[0]): VALUES[0]}));
        let result = json!({
            "role": "tool",
            "tool_call_id": self.id(TOOLS[0], 0),
            "name": TOOLS[0],
            "content": RESULT,
        });
        let messages = json!([question(), self.message(&turn), result]);
        let whole = self.render(&messages, false).ok()?;
        let call = self.conversation(&turn).ok()?;
        let (same, _) = common_start(&whole, &call);
        let after = whole[same..].trim();
        let words = [
            (RESULT, ".."),
            (&self.id(TOOLS[0], 0), "ID"),
            (TOOLS[0], "NAME"),
        ];
        let shown = || {
            words
                .iter()
                .fold(after.to_owned(), |text, (from, to)| text.replace(from, to))
        };
        after.contains(RESULT).then(shown)
    }

    /// The end of the prompt, and what the template writes after it, without the end of the turn.
    pub fn write(&self, turn: &Turn) -> Result<Written, TemplateError> {
        let whole = self.conversation(turn)?;
        let header = self.header();
        let begin = self.prompt.len() - header.len();
        let after = after_question(&whole);
        let (mut tail, reply) = after_header(header, after);
        let closes = |reply: &str| {
            let opener = header.trim_end().rsplit('<').next().unwrap_or_default();
            opener.ends_with('>') && reply.trim_start().starts_with(&format!("</{opener}"))
        };
        // Later prompts omit the beginning of the reasoning, which this one wrote. The same holds for empty reasoning.
        let thought = turn.reasoning.trim();
        if !thought.is_empty() && reply.trim_start().starts_with(thought) || closes(reply) {
            tail = header;
        }
        Ok(Written {
            prompt: format!("{}{tail}", &self.prompt[..begin]),
            reply: self.without_end(reply).to_owned(),
        })
    }

    fn without_end<'r>(&self, reply: &'r str) -> &'r str {
        for (at, _) in self.end.char_indices() {
            let part = &self.end[at..];
            let Some(rest) = reply.strip_suffix(part) else {
                continue;
            };
            let edge = part.starts_with(['<', '[', '\n']) && rest.ends_with(['>', ']', '}', '\n']);
            if at == 0 || edge {
                return rest;
            }
        }
        reply
    }
}

fn question() -> Json {
    json!({"role": "user", "content": QUESTION})
}

fn after_question(text: &str) -> &str {
    text.rfind(QUESTION)
        .map_or(text, |at| &text[at + QUESTION.len()..])
}

/// The parts of the prompt's header and of the template's output up to which both agree, ignoring white space, in whole tokens:
/// the header so far, and the output after it.
fn after_header<'t>(header: &'t str, after: &'t str) -> (&'t str, &'t str) {
    let (mut i, mut j) = common_start(header, after);
    if i < header.len() {
        // Not within a token.
        while j > 0 && i > 0 && !(is_edge(&header[..i]) || is_edge(&after[..j])) {
            let back = |text: &str, at: usize| {
                at - text[..at].chars().next_back().map_or(0, char::len_utf8)
            };
            (i, j) = (back(header, i), back(after, j));
        }
    }
    (&header[..i], &after[j..])
}
