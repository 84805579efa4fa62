//! Finds the rules that arguments break.

use std::borrow::Cow;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Rule;
use toolglot::Kind;
use toolglot::Span;
use toolglot::json::Value;
use toolglot::layer::closest;
use toolglot::layer::sentence;
use toolglot::layer::{key, step};

use super::chinese as zh;
use super::coerce::ChangeKind;
use super::judge::{self, Judge};
use super::schema::{Plan, SchemaError};
use super::short::{short, some};

/// A rule that a call breaks.
///
/// ```
/// use toolglot::json::json;
/// use toolglot_tools::{CheckOptions, Inventory, Tool};
///
/// let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
/// let inventory = Inventory::of([Tool::new("weather").parameters(schema)])?;
/// let checked = inventory.checked("weather", r#"{"ctiy": "Leith"}"#, &CheckOptions::default());
/// let violation = &checked.violations[0];
/// assert_eq!((violation.kind.name(), violation.path.as_str()), ("unknown_param", "/ctiy"));
/// assert_eq!(violation.suggestion.as_deref(), Some("city"));
/// # Ok::<(), toolglot_tools::RegistryError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// `unknown_tool`, `unknown_param`, `missing_required`, `type_mismatch` (any rule for a value), `duplicate_param`,
    /// `malformed_json` (the arguments are not a JSON object) or `malformed_value` (undecidable, because the tool's own schema
    /// cannot be used).
    pub kind: Kind,
    /// The value concerned: a JSON pointer into the arguments. For a missing or unknown parameter, the pointer that it would
    /// have or has.
    pub path: String,
    /// The rule: a JSON pointer into the tool's schema; empty if it is not part of the schema.
    pub schema_path: String,
    /// What is wrong, in one sentence.
    pub message: String,
    /// The parameter concerned, with dots between steps; empty if the whole call is.
    pub subject: String,
    /// What was probably meant: a name of a tool or parameter, or a listed value.
    pub suggestion: Option<String>,
    /// The bytes of the stream, if known: those of the parameter, or else of the call.
    pub span: Option<Span>,
    /// Whether the application has to correct it, and not the model: the definition of the tool cannot be used, or a preset or
    /// a default value breaks a rule.
    pub host: bool,
    /// The message for observations in Chinese.
    pub(super) chinese: String,
}

impl Violation {
    pub(super) fn new(kind: Kind, path: String, message: impl Into<String>) -> Self {
        Self {
            kind,
            subject: subject(&path),
            path,
            schema_path: String::new(),
            message: message.into(),
            suggestion: None,
            span: None,
            host: false,
            chinese: sentence(kind).to_owned(),
        }
    }

    /// A violation that the definition of a tool causes.
    pub(super) fn of_definition(error: &SchemaError) -> Self {
        let message = format!("the parameters of the tool cannot be checked: {error}");
        let mut violation = Self::new(Kind::MalformedValue, String::new(), message);
        violation.host = true;
        violation.in_chinese("工具的参数定义有误，无法检查".to_owned())
    }

    /// Says that the model did not write the value.
    pub(super) fn not_written(&mut self, kind: ChangeKind) {
        let (what, chinese) = match kind {
            ChangeKind::Preset => ("its preset value is wrong", "预设值有误"),
            _ => ("its default value is wrong", "默认值有误"),
        };
        self.host = true;
        self.message = format!("{what}: {}", self.message);
        self.chinese = format!("{chinese}：{}", self.chinese);
    }

    /// Sets a Chinese message other than that of its kind.
    fn in_chinese(mut self, message: String) -> Self {
        self.chinese = message;
        self
    }

    pub(super) fn meant(mut self, suggestion: Option<&str>) -> Self {
        if let Some(suggestion) = suggestion {
            self.message = format!("{} (did you mean {suggestion}?)", self.message);
            self.chinese
                .push_str(&format!("（是否为 \"{suggestion}\"？）"));
            self.suggestion = Some(suggestion.to_owned());
        }
        self
    }
}

/// A pointer in a readable form: `options.depth`.
fn subject(path: &str) -> String {
    let steps = path.split('/').skip(1);
    steps.map(key).collect::<Vec<_>>().join(".")
}

/// The maximum number of violations reported per call.
const MAX: usize = 20;
/// The maximum number of errors from which they are selected.
const LOOKED_AT: usize = 200;

/// The schema rules that arguments break, in the order of the schema; at most 20.
pub(super) fn validate(plan: &Plan, judge: &Judge, arguments: &Value) -> Vec<Violation> {
    let mut out = vec![];
    for error in judge.iter_errors(arguments).take(LOOKED_AT) {
        told(&error, plan, arguments, &mut out);
    }
    out.sort_by_cached_key(|violation| place(&plan.schema, &violation.schema_path));
    out.truncate(MAX);
    out
}

/// The position of a keyword in the document: the index of each step on the path to it.
fn place(schema: &Value, path: &str) -> Vec<usize> {
    let mut out = vec![];
    let mut at = Some(schema);
    for step in path.split('/').skip(1) {
        let key = key(step);
        out.push(match at {
            Some(Value::Object(map)) => map
                .keys()
                .position(|have| *have == key)
                .unwrap_or(usize::MAX),
            _ => key.parse().unwrap_or(usize::MAX),
        });
        at = at.and_then(|at| match at {
            Value::Array(list) => list.get(key.parse::<usize>().ok()?),
            other => other.get(&key),
        });
    }
    out
}

/// Adds the violations of an error; an error about several members gives several violations.
fn told(error: &ValidationError<'_>, plan: &Plan, arguments: &Value, out: &mut Vec<Violation>) {
    let path = error.instance_path().as_str();
    // At its position in the arguments, the numbers of the value are as written.
    let have = arguments.pointer(path).unwrap_or(&Value::Null);
    let schema_path = judge::named(error.schema_path().as_str());
    let at = |key: &str| {
        let mut path = path.to_owned();
        step(&mut path, key);
        path
    };
    let mut add = |mut violation: Violation| {
        violation.schema_path.clone_from(&schema_path);
        out.push(violation);
    };
    let in_chinese = || {
        let keyword = schema_path.rsplit('/').next().unwrap_or_default();
        let rule = plan.schema.pointer(&schema_path);
        // In draft 4 the bound is under another keyword.
        let bound = schema_path.replace("exclusiveM", "m");
        let demand = match rule {
            Some(Value::Bool(_)) => plan.schema.pointer(&bound),
            other => other,
        };
        zh::broken(keyword, demand, have)
    };
    match error.kind() {
        Rule::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            let message = format!("the required parameter {name} is missing");
            add(Violation::new(Kind::MissingRequired, at(name), message));
        }
        Rule::AdditionalProperties { unexpected } | Rule::UnevaluatedProperties { unexpected } => {
            for name in unexpected.iter().take(MAX) {
                let message = format!("there is no parameter {}", short(name));
                add(Violation::new(Kind::UnknownParam, at(name), message));
            }
        }
        Rule::Enum { .. } => {
            let listed = plan.schema.pointer(&schema_path).and_then(Value::as_array);
            let listed = listed.map_or(&[][..], Vec::as_slice);
            let texts = listed.iter().filter_map(Value::as_str);
            let near = have.as_str().and_then(|have| closest(have, texts));
            let message = format!("{} is none of {}", value(have), short(&some(listed)));
            let violation = Violation::new(Kind::TypeMismatch, path.to_owned(), message);
            add(violation.in_chinese(in_chinese()).meant(near));
        }
        Rule::Custom { message, .. } => {
            let message = short(&format!("{} {message}", value(have)));
            let violation = Violation::new(Kind::TypeMismatch, path.to_owned(), message);
            add(violation.in_chinese(in_chinese()));
        }
        _ => {
            let message = short(&error.masked_with(value(have)).to_string());
            let violation = Violation::new(Kind::TypeMismatch, path.to_owned(), message);
            add(violation.in_chinese(in_chinese()));
        }
    }
}

/// A value as a message shows it: short values verbatim.
fn value(value: &Value) -> Cow<'static, str> {
    const LEN: usize = 60;
    match value {
        Value::Array(_) => "the list".into(),
        Value::Object(_) => "the object".into(),
        Value::String(text) if text.len() > LEN => "the text".into(),
        Value::Number(number) if number.as_str().len() > LEN => "the number".into(),
        short => short.to_string().into(),
    }
}
