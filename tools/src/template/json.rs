//! JSON in templates: values that preserve the order of their keys and the spelling of their numbers.
//!
//! [`text`] writes JSON as Python's `json.dumps` does with `ensure_ascii=False`, which chat templates expect: a space after `,`
//! and `:`, members in order.

use std::io;
use std::sync::Arc;

use minijinja::value::{Enumerator, Kwargs, Object, ObjectRepr, ValueKind};
use minijinja::{Error, Value};
use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use toolglot::json::{Map, Value as Json};

/// A list, an object, or a number that does not fit the template engine's types.
#[derive(Debug)]
struct Node {
    json: Json,
    /// Printed as Python does, else as JSON.
    python: bool,
}

impl Object for Node {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        match &self.json {
            Json::Array(_) => ObjectRepr::Seq,
            Json::Object(_) => ObjectRepr::Map,
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => ObjectRepr::Plain,
        }
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match &self.json {
            Json::Array(list) => list
                .get(key.as_usize()?)
                .map(|json| wrapped(json, self.python)),
            Json::Object(map) => map
                .get(key.as_str()?)
                .map(|json| wrapped(json, self.python)),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => None,
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        match &self.json {
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
        match &self.json {
            Json::Array(_) | Json::Object(_) if self.python => {
                f.write_str(&super::values::spelled(&wrapped(&self.json, true)))
            }
            json => f.write_str(&text(json, None)),
        }
    }
}

/// A JSON value for a template, which prints it as JSON.
pub(crate) fn value(json: &Json) -> Value {
    wrapped(json, false)
}

/// A JSON value for a chat template, which prints it as Python does.
pub(crate) fn python(json: &Json) -> Value {
    wrapped(json, true)
}

fn wrapped(json: &Json, python: bool) -> Value {
    let node = || {
        let json = json.clone();
        Value::from_object(Node { json, python })
    };
    match json {
        Json::Null => Value::from(()),
        Json::Bool(bool) => Value::from(*bool),
        Json::String(text) => Value::from(text.as_str()),
        Json::Number(number) => {
            let text = number.to_string();
            let whole = text.parse::<i128>().ok().map(Value::from);
            let number = || number.as_f64().map(Value::from);
            match whole.or_else(number) {
                Some(plain) if plain.to_string() == text => plain,
                _ => node(),
            }
        }
        Json::Array(_) | Json::Object(_) => node(),
    }
}

/// Converts a template's value to JSON.
pub(crate) fn json(value: &Value) -> Result<Json, Error> {
    nested(value, MAX_DEPTH)
}

/// Lists and objects in each other that a template may make.
const MAX_DEPTH: usize = 256;

fn nested(value: &Value, depth: usize) -> Result<Json, Error> {
    if let Some(node) = value.downcast_object_ref::<Node>() {
        return Ok(node.json.clone());
    }
    let wrong = |why: String| Error::new(minijinja::ErrorKind::InvalidOperation, why);
    let inner = || {
        let left = depth.checked_sub(1);
        left.ok_or_else(|| wrong(format!("a value is nested more than {MAX_DEPTH} deep")))
    };
    match value.kind() {
        ValueKind::Undefined | ValueKind::None => Ok(Json::Null),
        ValueKind::Bool => Ok(Json::Bool(value.is_true())),
        ValueKind::String => Ok(Json::from(value.as_str().unwrap_or_default())),
        ValueKind::Number => {
            let text = value.to_string();
            serde_json::from_str(&text).map_err(|_| wrong(format!("{text} is not JSON")))
        }
        ValueKind::Map => {
            let depth = inner()?;
            let mut map = Map::new();
            for key in value.try_iter()? {
                let item = nested(&value.get_item(&key)?, depth)?;
                map.insert(key.to_string(), item);
            }
            Ok(Json::Object(map))
        }
        _ => {
            let depth = inner()?;
            let items = value.try_iter()?;
            items
                .map(|item| nested(&item, depth))
                .collect::<Result<_, _>>()
                .map(Json::Array)
        }
    }
}

/// Arguments in a template: a value, or JSON text, which has an order of keys.
pub(crate) fn arguments(value: &Value) -> Result<Json, Error> {
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
pub(crate) fn filter(value: &Value, options: Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = options.get("indent")?;
    options.assert_all_used()?;
    Ok(text(&json(value)?, indent))
}

/// The filter `plain`: strings as they are, everything else as JSON.
pub(crate) fn plain(value: &Value) -> Result<String, Error> {
    match value.as_str() {
        Some(text) => Ok(text.to_owned()),
        None => Ok(text(&json(value)?, None)),
    }
}

/// The filter `as_json`: text that is one JSON value unchanged, other text as a JSON string.
pub(crate) fn as_json(value: &str) -> String {
    match serde_json::from_str::<serde::de::IgnoredAny>(value) {
        Ok(_) => value.to_owned(),
        Err(_) => text(&Json::from(value), None),
    }
}

/// JSON text in Python's style.
pub(crate) fn text(json: &Json, indent: Option<usize>) -> String {
    let style = Style {
        indent,
        ..Style::default()
    };
    style.text(json)
}

/// The options of Python's `json.dumps`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Style {
    /// Blanks of each level; none writes one line.
    pub indent: Option<usize>,
    /// Whether characters outside ASCII are escaped.
    pub ascii: bool,
    /// Between items, and after keys.
    pub separators: Option<[String; 2]>,
    /// Whether keys are sorted.
    pub sorted: bool,
}

impl Style {
    /// Writes a value.
    pub fn text(&self, json: &Json) -> String {
        let mut out = vec![];
        let formatter = Python {
            style: self,
            depth: 0,
            empty: true,
        };
        let mut serializer = Serializer::with_formatter(&mut out, formatter);
        let sorted = self.sorted.then(|| sorted(json));
        sorted
            .as_ref()
            .unwrap_or(json)
            .serialize(&mut serializer)
            .expect("keys are strings, and memory takes what is written");
        String::from_utf8(out).expect("JSON text is UTF-8")
    }
}

/// The value with the keys of its objects in order.
fn sorted(json: &Json) -> Json {
    match json {
        Json::Array(list) => Json::Array(list.iter().map(sorted).collect()),
        Json::Object(map) => {
            let mut pairs: Vec<_> = map.iter().collect();
            pairs.sort_by_key(|(key, _)| *key);
            let mut out = Map::new();
            for (key, value) in pairs {
                out.insert(key.to_owned(), sorted(value));
            }
            Json::Object(out)
        }
        other => other.clone(),
    }
}

struct Python<'s> {
    style: &'s Style,
    depth: usize,
    /// Whether the innermost list or object has no items yet.
    empty: bool,
}

impl Python<'_> {
    fn line<W: ?Sized + io::Write>(&self, out: &mut W) -> io::Result<()> {
        let Some(width) = self.style.indent else {
            return Ok(());
        };
        out.write_all(b"\n")?;
        (0..self.depth * width).try_for_each(|_| out.write_all(b" "))
    }

    fn begin<W: ?Sized + io::Write>(&mut self, out: &mut W, mark: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.empty = true;
        out.write_all(mark)
    }

    fn item<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.empty = false;
        if !first {
            let usual = if self.style.indent.is_some() {
                ","
            } else {
                ", "
            };
            let own = self.style.separators.as_ref();
            out.write_all(own.map_or(usual, |[comma, _]| comma).as_bytes())?;
        }
        self.line(out)
    }

    fn end<W: ?Sized + io::Write>(&mut self, out: &mut W, mark: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        if !std::mem::replace(&mut self.empty, false) {
            self.line(out)?;
        }
        out.write_all(mark)
    }
}

impl Formatter for Python<'_> {
    fn begin_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b"[")
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b"{")
    }

    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.item(out, first)
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.item(out, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        let own = self.style.separators.as_ref();
        out.write_all(own.map_or(": ", |[_, colon]| colon).as_bytes())
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"]")
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"}")
    }

    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        text: &str,
    ) -> io::Result<()> {
        if !self.style.ascii {
            return out.write_all(text.as_bytes());
        }
        for unit in text.encode_utf16() {
            match u8::try_from(unit) {
                Ok(byte) if byte.is_ascii() => out.write_all(&[byte])?,
                _ => write!(out, "\\u{unit:04x}")?,
            }
        }
        Ok(())
    }
}
