//! YAML as JSON: what manifests are written in.
//!
//! One document of plain values, lists and mappings with string keys, by the core schema. Aliases are refused, for a few
//! lines of them can mean gigabytes, and so are repeated keys. Numbers keep their digits.

use saphyr_parser::{Event, Parser, ScalarStyle};
use toolglot::json::{Map, Value};

/// How deep a document may be nested.
const MAX_DEPTH: usize = 128;

/// A list or mapping under way.
enum Open {
    List(Vec<Value>),
    /// With the key whose value is to come.
    Map(Map, Option<String>),
}

/// Reads one document. Linear in the text.
///
/// # Errors
/// What is wrong, with line and column.
pub(super) fn read(text: &str) -> Result<Value, String> {
    let mut open: Vec<Open> = vec![];
    let mut whole = None;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| format!("no YAML: {error}"))?;
        let wrong = |why: &str| {
            let (line, column) = (span.start.line(), span.start.col() + 1);
            Err(format!("line {line}, column {column}: {why}"))
        };
        let value = match event {
            Event::Alias(_) => return wrong("aliases are not read"),
            Event::DocumentStart(_) if whole.is_some() => {
                return wrong("a second document begins");
            }
            Event::Scalar(text, style, ..) => match scalar(&text, style) {
                Ok(value) => value,
                Err(why) => return wrong(why),
            },
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                if open.len() == MAX_DEPTH {
                    return wrong("it is nested too deep");
                }
                if matches!(open.last(), Some(Open::Map(_, None))) {
                    return wrong("a key must be a string");
                }
                open.push(match event {
                    Event::SequenceStart(..) => Open::List(vec![]),
                    _ => Open::Map(Map::new(), None),
                });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List(items)) => Value::Array(items),
                Some(Open::Map(map, _)) => Value::Object(map),
                None => continue,
            },
            _ => continue,
        };
        match open.last_mut() {
            None => whole = Some(value),
            Some(Open::List(items)) => items.push(value),
            Some(Open::Map(map, key)) => match (key.take(), value) {
                (Some(key), value) => {
                    map.insert(key, value);
                }
                (None, Value::String(name)) if map.contains_key(&name) => {
                    return wrong(&format!("the key {name} stands twice"));
                }
                (None, Value::String(name)) => *key = Some(name),
                (None, _) => return wrong("a key must be a string"),
            },
        }
    }
    whole.ok_or_else(|| "it is empty".to_owned())
}

/// A value by the core schema.
fn scalar(text: &str, style: ScalarStyle) -> Result<Value, &'static str> {
    if style != ScalarStyle::Plain {
        return Ok(text.into());
    }
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => true.into(),
        "false" | "False" | "FALSE" => false.into(),
        _ => match number(text) {
            Some(number) => number?,
            None => text.into(),
        },
    })
}

/// A number, if the text is one.
fn number(text: &str) -> Option<Result<Value, &'static str>> {
    let radix = |digits: &str, radix| u64::from_str_radix(digits, radix).ok();
    let based = |prefix, base| {
        let digits = text
            .strip_prefix(prefix)
            .filter(|rest| !rest.starts_with('+'));
        digits.and_then(|digits| radix(digits, base))
    };
    if let Some(number) = based("0x", 16).or_else(|| based("0o", 8)) {
        return Some(Ok(number.into()));
    }
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    if matches!(digits, ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN") {
        return Some(Err("JSON has no such number"));
    }
    let (mantissa, exponent) = match digits.find(['e', 'E']) {
        Some(at) => digits.split_at(at),
        None => (digits, ""),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let all = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let some = !whole.is_empty() || fraction.is_some_and(|fraction| !fraction.is_empty());
    if !some || !all(whole) || !fraction.is_none_or(all) {
        return None;
    }
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    let fraction = match fraction {
        None => String::new(),
        Some("") => ".0".to_owned(),
        Some(digits) => format!(".{digits}"),
    };
    let json = format!("{sign}{whole}{fraction}{exponent}");
    serde_json::from_str(&json).ok().map(Ok)
}
