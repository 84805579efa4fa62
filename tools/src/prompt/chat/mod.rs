//! A model's own chat template as the layout of prompts and results.
//!
//! A template writes whole conversations. Its text about tools is what it writes only if there are tools, and its text for
//! results is what it writes after the call that they belong to. So no template needs to be understood, and the model reads
//! what it was trained with.
//!
//! Templates are untrusted: steps, depth, size and output are bounded.

#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, ValueKind};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, State, UndefinedBehavior, Value};

use super::json;
use super::tool::Facts;
use super::{Part, PromptError};
use toolglot::json::{Value as Json, json};

/// The bounds and variables of a chat template.
///
/// ```
/// use toolglot_tools::prompt::{Layout, TemplateOptions};
///
/// let set = toolglot::DialectSet::builtin("hermes")?;
/// let options = TemplateOptions::default().max_source(20);
/// let long = "{% for message in messages %}{{ message.content }}{% endfor %}";
/// assert!(Layout::from_template(&set, "hermes", long, &options).is_err());
/// # Ok::<(), toolglot::BuildError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TemplateOptions {
    /// Maximum bytes of its source. Default 1 MiB.
    pub max_source: usize,
    /// Maximum steps of one rendering. Default 10 million.
    pub fuel: u64,
    /// Maximum nesting of macros and blocks. Default 64.
    pub max_depth: usize,
    /// Maximum bytes of output. Default 4 MiB.
    pub max_output: usize,
    /// Additional variables, for example `bos_token` and `enable_thinking`.
    pub variables: toolglot::json::Map,
}

toolglot::setters! {
    TemplateOptions:
    max_source = usize,
    fuel = u64,
    max_depth = usize,
    max_output = usize,
    variables = toolglot::json::Map,
}

impl Default for TemplateOptions {
    fn default() -> Self {
        Self {
            max_source: 1 << 20,
            fuel: 10_000_000,
            max_depth: 64,
            max_output: 4 << 20,
            variables: toolglot::json::Map::new(),
        }
    }
}

/// A placeholder for people's words in a conversation.
const SYSTEM: &str = "Qz5system5";
const USER: &str = "Qz6user6";

/// A compiled chat template.
#[derive(Clone)]
pub(super) struct Chat {
    env: Arc<Environment<'static>>,
    options: TemplateOptions,
}

impl Chat {
    /// Compiles a template.
    pub fn new(source: &str, options: &TemplateOptions) -> Result<Self, PromptError> {
        if source.len() > options.max_source {
            return Err(wrong(format!(
                "it is longer than {} bytes",
                options.max_source
            )));
        }
        let mut env = Environment::new();
        env.set_auto_escape_callback(|_| AutoEscape::None);
        env.set_undefined_behavior(UndefinedBehavior::Lenient);
        env.set_fuel(Some(options.fuel));
        env.set_recursion_limit(options.max_depth);
        let syntax = SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build();
        env.set_syntax(syntax.expect("the usual marks differ"));
        env.add_filter("tojson", tojson);
        env.add_function("raise_exception", |why: String| -> Result<Value, Error> {
            Err(Error::new(ErrorKind::InvalidOperation, why))
        });
        // There is no clock here.
        let date = options.variables.get("date_string").cloned();
        env.add_function("strftime_now", move |_: &str| {
            json::value(date.as_ref().unwrap_or(&Json::from("")))
        });
        env.set_unknown_method_callback(method);
        env.add_template_owned("chat", without_generation(source))
            .map_err(|error| PromptError::template("chat template", &error))?;
        Ok(Self {
            env: Arc::new(env),
            options: options.clone(),
        })
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
        let mut context = self.options.variables.clone();
        for (key, value) in [
            ("messages", messages.clone()),
            ("tools", tools.cloned().unwrap_or(Json::Null)),
            ("add_generation_prompt", Json::Bool(false)),
        ] {
            context.insert(key.to_owned(), value);
        }
        for token in ["bos_token", "eos_token"] {
            context.or_insert(token, || Json::from(""));
        }
        let facts: std::collections::BTreeMap<String, Value> = context
            .iter()
            .map(|(key, value)| (key.clone(), json::value(value)))
            .collect();
        let told = |error: &Error| PromptError::template("chat template", error);
        let template = self
            .env
            .get_template("chat")
            .map_err(|error| told(&error))?;
        let mut out = Bounded {
            text: vec![],
            left: self.options.max_output,
            full: false,
        };
        match template.render_captured_to(Value::from_object(facts), &mut out) {
            Ok(_) => Ok(String::from_utf8_lossy(&out.text).into_owned()),
            Err(_) if out.full => Err(wrong(format!(
                "it writes more than {} bytes",
                self.options.max_output
            ))),
            Err(error) => Err(told(&error)),
        }
    }
}

/// Removes `generation` blocks, which mark the model's words for training, and keeps their contents.
fn without_generation(source: &str) -> String {
    let mut out = source.to_owned();
    for (open, close) in [("{%", "%}"), ("{%-", "%}"), ("{%", "-%}"), ("{%-", "-%}")] {
        for (word, same) in [("generation", "if true"), ("endgeneration", "endif")] {
            let have = format!("{open} {word} {close}");
            out = out.replace(&have, &format!("{open} {same} {close}"));
        }
    }
    out
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

/// Accepts a limited number of bytes.
struct Bounded {
    text: Vec<u8>,
    left: usize,
    full: bool,
}

impl io::Write for Bounded {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        if data.len() > self.left {
            self.full = true;
            return Err(io::Error::other("the output is too long"));
        }
        self.left -= data.len();
        self.text.extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The filter `tojson` of Hugging Face's templates: Python-style JSON, without escaping characters.
fn tojson(value: &Value, options: Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = options.get("indent")?;
    // Characters are never escaped and keys never sorted, whatever the options say.
    for key in ["ensure_ascii", "sort_keys", "separators"] {
        let _: Option<Value> = options.get(key)?;
    }
    options.assert_all_used()?;
    Ok(json::text(&json::json(value)?, indent))
}

/// The methods of Python's strings and dicts that chat templates use.
fn method(_: &mut State<'_, '_>, of: &Value, name: &str, args: &[Value]) -> Result<Value, Error> {
    let unknown = || {
        Error::new(
            ErrorKind::UnknownMethod,
            format!("there is no method {name}"),
        )
    };
    if of.kind() == ValueKind::Map {
        let keys = of.try_iter()?;
        return match name {
            "items" => {
                let pair = |key: Value| Ok(Value::from(vec![key.clone(), of.get_item(&key)?]));
                keys.map(pair)
                    .collect::<Result<Vec<_>, Error>>()
                    .map(Value::from)
            }
            "keys" => Ok(Value::from(keys.collect::<Vec<_>>())),
            "values" => {
                let values = keys.map(|key| of.get_item(&key));
                values.collect::<Result<Vec<_>, Error>>().map(Value::from)
            }
            "get" => {
                let key = args.first().ok_or_else(unknown)?;
                let found = of.get_item(key)?;
                let other = args.get(1).cloned().unwrap_or_else(|| Value::from(()));
                Ok(if found.is_undefined() { other } else { found })
            }
            _ => Err(unknown()),
        };
    }
    let Some(text) = of.as_str() else {
        return Err(unknown());
    };
    let word = |index: usize| args.get(index).and_then(Value::as_str);
    let set = |c: char| word(0).map_or(c.is_whitespace(), |set| set.contains(c));
    Ok(match (name, word(0)) {
        ("strip", _) => Value::from(text.trim_matches(set)),
        ("lstrip", _) => Value::from(text.trim_start_matches(set)),
        ("rstrip", _) => Value::from(text.trim_end_matches(set)),
        ("upper", _) => Value::from(text.to_uppercase()),
        ("lower", _) => Value::from(text.to_lowercase()),
        ("title" | "capitalize", _) => {
            let mut chars = text.chars();
            let first = chars.next().map(|c| c.to_uppercase().collect::<String>());
            Value::from(first.unwrap_or_default() + &chars.as_str().to_lowercase())
        }
        ("split", None) => list(text.split_whitespace()),
        ("split", Some(at)) if !at.is_empty() => match args.get(1).and_then(Value::as_usize) {
            Some(most) => list(text.splitn(most + 1, at)),
            None => list(text.split(at)),
        },
        ("startswith", Some(start)) => Value::from(text.starts_with(start)),
        ("endswith", Some(end)) => Value::from(text.ends_with(end)),
        ("replace", Some(from)) => Value::from(text.replace(from, word(1).ok_or_else(unknown)?)),
        ("find", Some(what)) => {
            let at = text.find(what).map(|at| text[..at].chars().count() as i64);
            Value::from(at.unwrap_or(-1))
        }
        _ => return Err(unknown()),
    })
}

fn list<'t>(parts: impl Iterator<Item = &'t str>) -> Value {
    Value::from(parts.map(Value::from).collect::<Vec<_>>())
}
