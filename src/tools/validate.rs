//! What of the arguments breaks which rule.

use std::borrow::Cow;

use jsonschema::error::ValidationErrorKind as Rule;
use jsonschema::{ValidationError, Validator};
use serde_json::Value;

use super::schema::short;
use crate::error::Kind;
use crate::event::Span;
use crate::hints::closest;
use crate::pointer::{self, step};

/// A rule that a call breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// `unknown_tool`, `unknown_param`, `missing_required`, `type_mismatch` (any rule for a value), `duplicate_param`,
    /// `malformed_json` (the arguments are no JSON object) or `malformed_value` (nobody can tell: the tool's own schema
    /// cannot be used).
    pub kind: Kind,
    /// The value concerned, as a JSON pointer into the arguments; a missing or unknown parameter has the pointer that it
    /// would have or has.
    pub path: String,
    /// The rule, as a JSON pointer into the tool's schema; empty where it is none of the schema.
    pub schema_path: String,
    /// What is wrong, in one sentence.
    pub message: String,
    /// The parameter concerned, with dots between steps; empty if the whole call is.
    pub subject: String,
    /// What was probably meant: a name of a tool or parameter, or a listed value.
    pub suggestion: Option<String>,
    /// The bytes of the stream, where they are known: those of the parameter, or else of the call.
    pub span: Option<Span>,
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
        }
    }

    pub(super) fn meant(mut self, suggestion: Option<&str>) -> Self {
        if let Some(suggestion) = suggestion {
            self.message = format!("{} (did you mean {suggestion}?)", self.message);
            self.suggestion = Some(suggestion.to_owned());
        }
        self
    }
}

/// A pointer as people write a place: `options.depth`.
fn subject(path: &str) -> String {
    let steps = path.split('/').skip(1);
    steps.map(pointer::key).collect::<Vec<_>>().join(".")
}

/// The most violations that one call is told of.
const MAX: usize = 20;

/// The rules of the schema that arguments break, in the order of the schema; at most 20.
pub(super) fn validate(validator: &Validator, arguments: &Value) -> Vec<Violation> {
    let mut out = vec![];
    for error in validator.iter_errors(arguments) {
        told(&error, &mut out);
        if out.len() >= MAX {
            break;
        }
    }
    out
}

/// Adds what an error says; one that speaks of several members is several violations.
fn told(error: &ValidationError<'_>, out: &mut Vec<Violation>) {
    let path = error.instance_path().as_str();
    let at = |key: &str| {
        let mut path = path.to_owned();
        step(&mut path, key);
        path
    };
    let mut add = |mut violation: Violation| {
        violation.schema_path = error.schema_path().as_str().to_owned();
        out.push(violation);
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
        Rule::Enum { options } => {
            let listed = options.as_array().map_or(&[][..], Vec::as_slice);
            let texts = listed.iter().filter_map(Value::as_str);
            let near = error
                .instance()
                .as_str()
                .and_then(|have| closest(have, texts));
            let shown: Vec<String> = listed.iter().take(10).map(Value::to_string).collect();
            let more = listed.len().saturating_sub(shown.len());
            let more = match more {
                0 => String::new(),
                more => format!(" or {more} more"),
            };
            let message = format!(
                "{} is none of {}{more}",
                value(error.instance()),
                short(&shown.join(", "))
            );
            add(Violation::new(Kind::TypeMismatch, path.to_owned(), message).meant(near));
        }
        _ => {
            let shown = value(error.instance());
            let message = short(&error.masked_with(shown).to_string());
            add(Violation::new(Kind::TypeMismatch, path.to_owned(), message));
        }
    }
}

/// A value as a message shows it: short ones as they are.
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
