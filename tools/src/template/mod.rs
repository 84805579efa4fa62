//! Chat templates: whole conversations as a model's own template writes them.
//!
//! Templates are untrusted: steps, depth, size and output are bounded.

mod adapt;
mod gguf;
pub(crate) mod json;
mod source;
pub mod stack;
#[cfg(test)]
mod tests;
mod values;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::Offset;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Kwargs;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior, Value};

use toolglot::json::{Map, Value as Json};

pub use source::TemplateSource;

/// The bounds and variables of a chat template.
///
/// ```
/// use toolglot_tools::{ChatTemplate, TemplateOptions};
///
/// let options = TemplateOptions::default().max_source(20);
/// let long = "{% for message in messages %}{{ message.content }}{% endfor %}";
/// assert!(ChatTemplate::new(long, &options).is_err());
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TemplateOptions {
    /// Maximum bytes of its source. Default 1 MiB.
    pub max_source: usize,
    /// Maximum steps of one rendering. Default a million. A rendering has a thread with a stack of 512 bytes a step, because a step may
    /// nest a value more deeply, and nested values are freed by recursion.
    pub fuel: u64,
    /// Maximum nesting of macros and blocks. Default 64.
    pub max_depth: usize,
    /// Maximum bytes of output. Default 4 MiB.
    pub max_output: usize,
    /// The time that `strftime_now` tells, in seconds since 1970, UTC. Default none: it writes the variable `date_string`, or
    /// nothing.
    pub now: Option<i64>,
    /// Additional variables, for example `bos_token` and `enable_thinking`.
    pub variables: Map,
}

toolglot::setters! {
    TemplateOptions:
    max_source = usize,
    fuel = u64,
    max_depth = usize,
    max_output = usize,
    now: Option<i64>,
    variables = Map,
}

impl Default for TemplateOptions {
    fn default() -> Self {
        Self {
            max_source: 1 << 20,
            fuel: 1_000_000,
            max_depth: 64,
            max_output: 4 << 20,
            now: None,
            variables: Map::new(),
        }
    }
}

/// A chat template is invalid, or refuses a conversation.
///
/// ```
/// use toolglot_tools::{ChatTemplate, TemplateOptions};
///
/// let error = ChatTemplate::new("{% if %}", &TemplateOptions::default()).unwrap_err();
/// assert!(error.message.contains("syntax error") && !error.bound);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct TemplateError {
    /// What is wrong, with the line where it is known.
    pub message: String,
    /// Whether a bound of [`TemplateOptions`] was reached.
    pub bound: bool,
}

impl TemplateError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            bound: false,
        }
    }

    pub(crate) fn bound(message: String) -> Self {
        Self {
            message,
            bound: true,
        }
    }

    /// An error of the template engine, with its causes.
    pub(crate) fn of(error: &Error) -> Self {
        let mut message = error.to_string();
        let mut cause = std::error::Error::source(error);
        while let Some(more) = cause {
            message = format!("{message}: {more}");
            cause = more.source();
        }
        Self {
            message,
            bound: error.kind() == ErrorKind::OutOfFuel,
        }
    }
}

/// A compiled chat template. Cheap to clone; share it between threads.
///
/// It renders as Jinja2 does with the settings of the field's servers: `trim_blocks`, `lstrip_blocks`, loop controls,
/// `generation` blocks, methods of Python's strings and dicts, `tojson` in Python's spacing, `raise_exception` and
/// `strftime_now`.
///
/// ```
/// use toolglot_tools::{ChatTemplate, TemplateOptions};
/// use toolglot::json::json;
///
/// let template = "{% for m in messages %}<|{{ m.role }}|>{{ m.content.strip() }}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}";
/// let template = ChatTemplate::new(template, &TemplateOptions::default())?;
/// let messages = json!([{"role": "user", "content": " Hello "}]);
/// assert_eq!(template.render(&messages, None, true)?, "<|user|>Hello<|assistant|>");
/// # Ok::<(), toolglot_tools::TemplateError>(())
/// ```
#[derive(Clone)]
pub struct ChatTemplate {
    env: Arc<Environment<'static>>,
    options: TemplateOptions,
    fingerprint: u64,
}

impl std::fmt::Debug for ChatTemplate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChatTemplate").finish_non_exhaustive()
    }
}

impl ChatTemplate {
    /// Compiles a template.
    ///
    /// # Errors
    /// It is too long, or no template.
    pub fn new(source: &str, options: &TemplateOptions) -> Result<Self, TemplateError> {
        if source.len() > options.max_source {
            let message = format!("it is longer than {} bytes", options.max_source);
            return Err(TemplateError::bound(message));
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
        // As Python has it: nothing is not iterable, and numbers of any size are numbers.
        env.add_test("iterable", |value: &Value| {
            !value.is_none() && value.try_iter().is_ok()
        });
        env.add_test("number", |value: &Value| {
            value.is_number() || matches!(json::json(value), Ok(Json::Number(_)))
        });
        env.add_function("raise_exception", |why: String| -> Result<Value, Error> {
            Err(Error::new(ErrorKind::InvalidOperation, why))
        });
        let date = options.variables.get("date_string").cloned();
        let now = options.now;
        env.add_function(
            "strftime_now",
            move |format: &str| -> Result<Value, Error> {
                let Some(now) = now else {
                    return Ok(json::python(date.as_ref().unwrap_or(&Json::from(""))));
                };
                let wrong =
                    |error: jiff::Error| Error::new(ErrorKind::InvalidOperation, error.to_string());
                let time = Timestamp::from_second(now).map_err(wrong)?;
                let text = jiff::fmt::strtime::format(format, Offset::UTC.to_datetime(time))
                    .map_err(wrong)?;
                Ok(Value::from(text))
            },
        );
        env.add_function(adapt::DICT, values::dict);
        env.add_function(adapt::LIST, values::list);
        env.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        env.add_template_owned("chat", adapt::adapt(source))
            .map_err(|error| TemplateError::of(&error))?;
        let mut print = toolglot_scan::Fnv::default();
        print.add(source.as_bytes());
        print.add(format!("{options:?}").as_bytes());
        Ok(Self {
            env: Arc::new(env),
            options: options.clone(),
            fingerprint: print.0,
        })
    }

    /// Distinguishes templates and their options.
    pub(crate) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Writes a conversation. `messages` and `tools` are lists in the form of a chat API; with `generate` the text ends where
    /// the model's reply begins.
    ///
    /// # Errors
    /// The template refuses the conversation, or a bound is reached.
    pub fn render(
        &self,
        messages: &Json,
        tools: Option<&Json>,
        generate: bool,
    ) -> Result<String, TemplateError> {
        let mut facts: BTreeMap<String, Value> = BTreeMap::new();
        let mut set = |key: &str, value| facts.insert(key.to_owned(), value);
        set("bos_token", Value::from(""));
        set("eos_token", Value::from(""));
        for (key, value) in &self.options.variables {
            set(key, json::python(value));
        }
        set("messages", json::python(messages));
        set("tools", json::python(tools.unwrap_or(&Json::Null)));
        set("add_generation_prompt", Value::from(generate));
        stack::deep(self.options.fuel, || self.write(facts))?
    }

    fn write(&self, facts: BTreeMap<String, Value>) -> Result<String, TemplateError> {
        let template = self.env.get_template("chat");
        let template = template.map_err(|error| TemplateError::of(&error))?;
        let mut out = Bounded {
            text: vec![],
            left: self.options.max_output,
            full: false,
        };
        match template.render_captured_to(Value::from_object(facts), &mut out) {
            Ok(_) => Ok(String::from_utf8_lossy(&out.text).into_owned()),
            Err(_) if out.full => Err(TemplateError::bound(format!(
                "it writes more than {} bytes",
                self.options.max_output
            ))),
            Err(error) => Err(TemplateError::of(&error)),
        }
    }
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

/// The filter `tojson` of Hugging Face's templates: `json.dumps` of Python with its options.
fn tojson(value: &Value, ascii: Option<bool>, options: Kwargs) -> Result<String, Error> {
    let named: Option<bool> = options.get("ensure_ascii")?;
    let indent: Option<usize> = options.get("indent")?;
    let separators: Option<Vec<String>> = options.get("separators")?;
    let sorted: Option<bool> = options.get("sort_keys")?;
    options.assert_all_used()?;
    let style = json::Style {
        indent,
        ascii: named.or(ascii).unwrap_or(false),
        separators: separators.and_then(|both| <[String; 2]>::try_from(both).ok()),
        sorted: sorted.unwrap_or(false),
    };
    Ok(style.text(&json::json(value)?))
}
