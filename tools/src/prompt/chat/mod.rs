//! A model's own chat template as the layout of prompts and results.
//!
//! A template writes whole conversations. Its text about tools is what it writes only if there are tools, and its text for
//! results is what it writes after the call that they belong to. So no template needs to be understood, and the model reads
//! what it was trained with.

#[cfg(test)]
mod tests;

use minijinja::Value;

use super::tool::Facts;
use super::{Part, PromptError};
use crate::ChatTemplate;
use crate::template::json;
use toolglot::json::{Value as Json, json};

/// A placeholder for people's words in a conversation.
const SYSTEM: &str = "Qz5system5";
const USER: &str = "Qz6user6";

/// A chat template as a layout.
#[derive(Clone)]
pub(super) struct Chat {
    template: ChatTemplate,
}

impl Chat {
    pub fn new(template: &ChatTemplate) -> Self {
        Self {
            template: template.clone(),
        }
    }

    /// Renders a part of the layout, from the variables of its template.
    pub fn part(&self, part: Part, context: &Facts) -> Result<String, PromptError> {
        match part {
            Part::Tools => self.tools(&items(context.get("tools"))?),
            // A template's text about calls comes with the definitions.
            Part::Usage => Ok(String::new()),
            Part::Results => self.results(&items(context.get("results"))?),
        }
    }

    fn tools(&self, tools: &[Value]) -> Result<String, PromptError> {
        if tools.is_empty() {
            return Ok(String::new());
        }
        let list = tools.iter().map(|tool| fact(tool, "openai"));
        let list = Json::Array(list.collect::<Result<_, _>>()?);
        let talk =
            json!([{"role": "system", "content": SYSTEM}, {"role": "user", "content": USER}]);
        let short = json!([{"role": "user", "content": USER}]);
        // Some templates have no system message.
        let with = self.conversation(&talk, Some(&list));
        let (talk, with) = match with {
            Ok(text) => (talk, text),
            Err(_) => {
                let text = self.conversation(&short, Some(&list))?;
                (short, text)
            }
        };
        // Without tools some templates expect none, and some an empty list.
        let empty = || self.conversation(&talk, Some(&json!([])));
        let without = self.conversation(&talk, None).or_else(|_| empty())?;
        let text = between(&with, &without);
        if text.trim().is_empty() {
            return Err(wrong("it says nothing of tools".to_owned()));
        }
        Ok(text.to_owned())
    }

    fn results(&self, results: &[Value]) -> Result<String, PromptError> {
        let spelled = |arguments: Json| -> Result<String, PromptError> {
            let mut calls = vec![];
            let mut answers = vec![];
            for result in results {
                let [id, name, text] = [
                    fact(result, "id")?,
                    fact(result, "name")?,
                    fact(result, "text")?,
                ];
                calls.push(json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}));
                answers.push(
                    json!({"role": "tool", "tool_call_id": id, "name": name, "content": text}),
                );
            }
            let calls = Json::Array(calls);
            let talk = vec![
                json!({"role": "user", "content": USER}),
                json!({"role": "assistant", "content": "", "tool_calls": calls}),
            ];
            let both = |talk: Vec<Json>, tools: Option<&Json>| {
                let without = self.conversation(&Json::Array(talk.clone()), tools)?;
                let talk = [talk, answers.clone()].concat();
                Ok::<_, PromptError>((self.conversation(&Json::Array(talk), tools)?, without))
            };
            let none = json!([]);
            let (with, without) = both(talk.clone(), None).or_else(|_| both(talk, Some(&none)))?;
            let rest = with.strip_prefix(without.as_str());
            Ok(rest.unwrap_or_else(|| between(&with, &without)).to_owned())
        };
        // Most templates expect arguments as an object, some as text.
        let text = spelled(json!({})).or_else(|_| spelled(Json::from("{}")))?;
        if text.trim().is_empty() {
            return Err(wrong("it writes no results".to_owned()));
        }
        Ok(text)
    }

    fn conversation(&self, messages: &Json, tools: Option<&Json>) -> Result<String, PromptError> {
        Ok(self.template.render(messages, tools, false)?)
    }
}

fn wrong(message: String) -> PromptError {
    PromptError::Template {
        part: "chat template".to_owned(),
        message,
    }
}

fn items(list: Option<&Value>) -> Result<Vec<Value>, PromptError> {
    let Some(list) = list else { return Ok(vec![]) };
    let items = list.try_iter();
    Ok(items
        .map_err(|error| PromptError::template("chat template", &error))?
        .collect())
}

fn fact(of: &Value, key: &str) -> Result<Json, PromptError> {
    let value = of.get_attr(key).and_then(|value| json::json(&value));
    value.map_err(|error| PromptError::template("chat template", &error))
}

/// The text in `with` that is missing in `without`, where both begin and end alike. Of several such places the first one.
fn between<'t>(with: &'t str, without: &str) -> &'t str {
    let same = |(a, b): &(char, char)| a == b;
    let before: usize = with
        .chars()
        .zip(without.chars())
        .take_while(same)
        .map(|(c, _)| c.len_utf8())
        .sum();
    let behind: usize = with[before..]
        .chars()
        .rev()
        .zip(without[before..].chars().rev())
        .take_while(same)
        .map(|(c, _)| c.len_utf8())
        .sum();
    let (mut from, mut to) = (before, with.len() - behind);
    while let (Some(a), Some(b)) = (
        with[..from].chars().next_back(),
        with[from..to].chars().next_back(),
    ) {
        if a != b {
            break;
        }
        from -= a.len_utf8();
        to -= a.len_utf8();
    }
    &with[from..to]
}
