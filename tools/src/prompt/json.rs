//! JSON in templates: values that preserve the order of their keys and the spelling of their numbers.
//!
//! [`text`] writes JSON as Python's `json.dumps` does with `ensure_ascii=False`, which chat templates expect: a space after `,`
//! and `:`, members in order.

use std::io;
use std::sync::Arc;

use minijinja::value::{Enumerator, Kwargs, Object, ObjectRepr, ValueKind};
use minijinja::{Error, Value};
use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};
use toolglot::json::{Map, Value as Json};

/// A list, an object, or a number that does not fit the template engine's types.
#[derive(Debug)]
struct Node(Json);

impl Object for Node {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        match &self.0 {
            Json::Array(_) => ObjectRepr::Seq,
            Json::Object(_) => ObjectRepr::Map,
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => ObjectRepr::Plain,
        }
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match &self.0 {
            Json::Array(list) => list.get(key.as_usize()?).map(value),
            Json::Object(map) => map.get(key.as_str()?).map(value),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => None,
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        match &self.0 {
            Json::Array(list) => Enumerator::Seq(list.len()),
            Json::Object(map) => {
                let keys = map.keys().map(|key| Value::from(key.as_str()));
                Enumerator::Values(keys.collect())
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {
                Enumerator::NonEnumerable
            }
        }
    }

    fn render(self: &Arc<Self>, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&text(&self.0, None))
    }
}

/// A JSON value for a template.
pub(crate) fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::from(()),
        Json::Bool(bool) => Value::from(*bool),
        Json::String(text) => Value::from(text.as_str()),
        Json::Number(number) => match number.as_i64() {
            Some(small) if small.to_string() == number.to_string() => Value::from(small),
            _ => Value::from_object(Node(json.clone())),
        },
        Json::Array(_) | Json::Object(_) => Value::from_object(Node(json.clone())),
    }
}

/// Converts a template's value to JSON.
pub(crate) fn json(value: &Value) -> Result<Json, Error> {
    if let Some(node) = value.downcast_object_ref::<Node>() {
        return Ok(node.0.clone());
    }
    let plain = |what: &str| {
        let why = format!("{what} is not JSON");
        Error::new(minijinja::ErrorKind::InvalidOperation, why)
    };
    match value.kind() {
        ValueKind::Undefined | ValueKind::None => Ok(Json::Null),
        ValueKind::Bool => Ok(Json::Bool(value.is_true())),
        ValueKind::String => Ok(Json::from(value.as_str().unwrap_or_default())),
        ValueKind::Number => {
            let text = value.to_string();
            serde_json::from_str(&text).map_err(|_| plain(&text))
        }
        ValueKind::Map => {
            let mut map = Map::new();
            for key in value.try_iter()? {
                let item = json(&value.get_item(&key)?)?;
                map.insert(key.to_string(), item);
            }
            Ok(Json::Object(map))
        }
        _ => {
            let items = value.try_iter()?;
            items
                .map(|item| json(&item))
                .collect::<Result<_, _>>()
                .map(Json::Array)
        }
    }
}

/// Arguments in a template: a value, or JSON text, which has an order of keys.
pub(super) fn arguments(value: &Value) -> Result<Json, Error> {
    let wrong = |error: serde_json::Error| {
        let why = format!("the arguments are not JSON: {error}");
        Error::new(minijinja::ErrorKind::InvalidOperation, why)
    };
    match value.as_str() {
        Some(text) => text.parse().map_err(wrong),
        None => json(value),
    }
}

/// The filter `json`, with `indent` as an option.
pub(super) fn filter(value: &Value, options: Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = options.get("indent")?;
    options.assert_all_used()?;
    Ok(text(&json(value)?, indent))
}

/// The filter `plain`: strings as they are, everything else as JSON.
pub(super) fn plain(value: &Value) -> Result<String, Error> {
    match value.as_str() {
        Some(text) => Ok(text.to_owned()),
        None => Ok(text(&json(value)?, None)),
    }
}

/// The filter `as_json`: text that is one JSON value unchanged, other text as a JSON string.
pub(super) fn as_json(value: &str) -> String {
    match serde_json::from_str::<serde::de::IgnoredAny>(value) {
        Ok(_) => value.to_owned(),
        Err(_) => text(&Json::from(value), None),
    }
}

/// JSON text in Python's style.
pub(crate) fn text(json: &Json, indent: Option<usize>) -> String {
    fn write(json: &Json, formatter: impl Formatter) -> String {
        let mut out = vec![];
        let mut serializer = Serializer::with_formatter(&mut out, formatter);
        json.serialize(&mut serializer)
            .expect("keys are strings, and memory takes what is written");
        String::from_utf8(out).expect("JSON text is UTF-8")
    }
    match indent {
        None => write(json, Spaced),
        Some(width) => write(
            json,
            PrettyFormatter::with_indent(" ".repeat(width).as_bytes()),
        ),
    }
}

/// One line, with a space after `,` and `:`.
struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }
}
