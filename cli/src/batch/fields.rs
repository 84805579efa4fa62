//! Where a model's texts stand in a record of somebody else's making: JSON pointers, and the lists of messages of chat APIs and of
//! ShareGPT.

use toolglot::json::Value;
use toolglot::layer::{self, AUTHORS, TEXTS};

use super::beside::Beside;
use crate::field::Field;

/// A text of a model, with the pointer to it.
#[derive(Debug, PartialEq, Eq)]
pub struct Text {
    pub at: String,
    pub text: String,
}

/// Members that hold a conversation. Data sets mix the two.
pub const CONVERSATIONS: [&str; 2] = ["messages", "conversations"];

/// Whether a record is a conversation.
pub fn is_conversation(record: &Beside) -> bool {
    CONVERSATIONS
        .iter()
        .any(|list| record.given(list).is_some())
}

/// Returns the texts of the model in a conversation.
pub fn conversation(record: &Beside) -> Result<Vec<Text>, String> {
    let mut texts = vec![];
    for list in CONVERSATIONS {
        let Some(raw) = record.given(list) else {
            continue;
        };
        let value = read(raw, &layer::member("", list))?;
        let Value::Array(messages) = &value else {
            return Err(format!("/{list} is not a list"));
        };
        for (number, message) in messages.iter().enumerate() {
            let found = first_of(message, TEXTS);
            // A message of API tool calls alone need not have a text.
            if let (Some((key, content)), true) = (found, is_model(message)) {
                end(content, &format!("/{list}/{number}/{key}"), &mut texts)?;
            }
        }
    }
    Ok(texts)
}

/// Returns the texts at these pointers.
pub fn texts(record: &Beside, fields: &[Field]) -> Result<Vec<Text>, String> {
    let mut texts = vec![];
    for field in fields {
        let (first, rest) = field.keys.split_first().expect("a pointer has a key");
        let raw = record
            .get(first)
            .ok_or_else(|| format!("there is nothing at {field}"))?;
        let at = layer::member("", first);
        let value = read(raw, &at)?;
        let mut walk = Walk {
            texts: &mut texts,
            ends: 0,
            empty: false,
        };
        walk.step(&value, rest, &at, true)?;
        // Elements may lack a member that others have, and a list may have no elements. If it is neither, the pointer is misspelt.
        if walk.ends == 0 && !walk.empty {
            return Err(format!("there is nothing at {field}"));
        }
    }
    Ok(texts)
}

struct Walk<'a> {
    texts: &'a mut Vec<Text>,
    /// How often the end of the pointer was reached.
    ends: u64,
    /// `*` met a list without elements.
    empty: bool,
}

impl Walk<'_> {
    /// Follows the keys; `own` is false in a message of somebody else than the model.
    fn step(&mut self, value: &Value, keys: &[String], at: &str, own: bool) -> Result<(), String> {
        let Some((key, rest)) = keys.split_first() else {
            self.ends += 1;
            return match own {
                true => end(value, at, self.texts),
                false => Ok(()),
            };
        };
        match value {
            Value::Array(list) if key == "*" => {
                self.empty |= list.is_empty();
                for (number, one) in list.iter().enumerate() {
                    let own = own && (author(one).is_none() || is_model(one));
                    self.step(one, rest, &format!("{at}/{number}"), own)?;
                }
                Ok(())
            }
            Value::Array(list) => {
                let one = layer::index(key).and_then(|number| list.get(number));
                one.map_or(Ok(()), |one| {
                    self.step(one, rest, &format!("{at}/{key}"), own)
                })
            }
            Value::Object(map) if key != "*" || map.contains_key(key) => {
                map.get(key).map_or(Ok(()), |one| {
                    self.step(one, rest, &layer::member(at, key), own)
                })
            }
            _ if key == "*" => Err(format!("{at} is not a list")),
            _ => Ok(()),
        }
    }
}

/// The author of a message.
fn author(message: &Value) -> Option<&str> {
    first_of(message, AUTHORS).and_then(|(_, name)| name.as_str())
}

/// The first of these members that says something. Tables that mix data sets write the others as null.
fn first_of<'v>(message: &'v Value, keys: [&'static str; 2]) -> Option<(&'static str, &'v Value)> {
    keys.into_iter().find_map(|key| {
        let value = message.get(key).filter(|value| !value.is_null());
        value.map(|value| (key, value))
    })
}

/// Reads a member of a record.
fn read(raw: &str, at: &str) -> Result<Value, String> {
    serde_json::from_str(raw).map_err(|error| format!("{at}: {error}"))
}

fn is_model(message: &Value) -> bool {
    author(message).is_some_and(layer::is_model)
}

/// Takes the text at the end of a pointer. A list of content parts has one in each part of type `text`; null is a message without a text.
fn end(value: &Value, at: &str, texts: &mut Vec<Text>) -> Result<(), String> {
    match value {
        Value::Null => Ok(()),
        Value::String(text) => {
            texts.push(Text {
                at: at.to_owned(),
                text: text.clone(),
            });
            Ok(())
        }
        Value::Array(parts) if parts.iter().all(|part| part.get("type").is_some()) => {
            for (number, part) in parts.iter().enumerate() {
                if let Some(text) = part.get("text").filter(|_| is_text(part)) {
                    end(text, &format!("{at}/{number}/text"), texts)?;
                }
            }
            Ok(())
        }
        Value::Array(_) | Value::Object(_) | Value::Number(_) | Value::Bool(_) => {
            Err(format!("{at} is not a text"))
        }
    }
}

fn is_text(part: &Value) -> bool {
    part.get("type").and_then(Value::as_str) == Some("text")
}
