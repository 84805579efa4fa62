//! Reads YAML as JSON: arguments that models write, and files that people write.
//!
//! `saphyr-parser` reads the text; this module builds values from its events. Plain scalars have the types of the core schema,
//! unless a schema asks for a string: then the source text counts. Anchors, aliases and tags are refused, because a few lines
//! of them can expand to gigabytes. Linear in the text. Nothing recurses; depth, names and the number of values are limited.

use std::borrow::Cow;

use saphyr_parser::{Event, Parser, ScalarStyle};

use crate::hints::{Coerced, Schema, Types, coerce};
use crate::json::{Map, Number, Value};
use crate::kind::Kind;
use crate::limits::Limits;

/// The parser counts open brackets in a byte and fails if it overflows.
const MAX_DEPTH: usize = 250;
const TOO_DEEP: &str = "recursion limit exceeded";

/// Why a text was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is not YAML, or uses a refused feature.
    Malformed {
        /// The index of the character.
        at: usize,
        /// What is wrong.
        why: String,
    },
    /// It is too large.
    Limit(Kind),
}

/// The contents of a text.
#[derive(Debug, Default)]
pub struct Yaml {
    /// The value, if there is one; of a repeated key, the last one.
    pub value: Option<Value>,
    /// Repeated keys of a mapping, with the character index of the repetition.
    pub repeated: Vec<(String, usize)>,
    /// The nearest keys of values that do not fit their types.
    pub misfits: Vec<String>,
    /// The nearest keys of numbers from which leading zeros were removed.
    pub zeros: Vec<String>,
    /// The nearest keys of text with half of a surrogate pair, which became U+FFFD.
    pub halves: Vec<String>,
}

static UNTYPED: Schema = Schema::UNKNOWN;

/// An open collection.
enum Open<'s> {
    List(Vec<Value>, &'s Schema),
    /// With the key whose value comes next.
    Map(Map, Option<String>, &'s Schema),
}

/// Reads one document. `root` has the schemas of the members of the top-level value.
///
/// # Errors
/// The text cannot be read.
pub fn read<'s>(
    text: &str,
    limits: &Limits,
    root: impl Fn(&str) -> Option<&'s Schema>,
) -> Result<Yaml, Fault> {
    let fault = |at: usize, why: &str| {
        let why = why.to_owned();
        Err(Fault::Malformed { at, why })
    };
    // The parser takes a NUL for the end of the text.
    if let Some(at) = text.chars().position(|c| c == '\0') {
        return fault(at, "a NUL is not allowed in text");
    }
    let whole = pairs(text);
    let halves = matches!(whole, Cow::Owned(_));
    let depth = MAX_DEPTH.min(limits.max_depth as usize);
    let mut out = Yaml::default();
    let mut open: Vec<Open<'s>> = vec![];
    let mut count = 0;
    let mut near = String::new();
    for event in Parser::new_from_str(&whole) {
        let (event, at) = match event {
            Ok((event, span)) => (event, span.start.index()),
            Err(error) if error.info() == TOO_DEEP => return Err(Fault::Limit(Kind::LimitDepth)),
            Err(error) => return fault(error.marker().index(), error.info()),
        };
        match &event {
            Event::DocumentStart(_) if out.value.is_some() => {
                return fault(at, "there is more than one document");
            }
            Event::Scalar(_, _, 0, None)
            | Event::SequenceStart(0, None)
            | Event::MappingStart(0, None) => {}
            Event::Scalar(..)
            | Event::SequenceStart(..)
            | Event::MappingStart(..)
            | Event::Alias(_) => {
                return fault(at, "anchors, aliases and tags are not read");
            }
            _ => {}
        }
        let top = open.len() == 1;
        let schema = match open.last() {
            Some(Open::List(_, schema)) => schema.items.as_deref(),
            Some(Open::Map(_, Some(key), _)) if top => root(key),
            Some(Open::Map(_, Some(key), schema)) => schema.prop(key),
            Some(Open::Map(_, None, _)) | None => None,
        };
        let schema = schema.unwrap_or(&UNTYPED);
        let begins = |kind: Types| schema.types == Types::none() || schema.types.has(kind);
        let value = match event {
            Event::Scalar(text, style, ..) => {
                let text = if halves {
                    let (text, lone) = joined(&text, style);
                    if lone {
                        out.halves.push(near.clone());
                    }
                    text.into()
                } else {
                    text
                };
                if let Some(Open::Map(map, key @ None, _)) = open.last_mut() {
                    if text.len() > limits.max_name as usize {
                        return Err(Fault::Limit(Kind::LimitName));
                    }
                    near = text.to_string();
                    if map.contains_key(&near) {
                        out.repeated.push((near.clone(), at));
                    }
                    *key = Some(text.into_owned());
                    continue;
                }
                let (value, fits) = match style {
                    ScalarStyle::Plain => scalar(&text, schema),
                    _ => (Value::String(text.to_string()), begins(Types::STRING)),
                };
                if !fits {
                    out.misfits.push(near.clone());
                }
                if matches!(value, Value::Number(_)) && has_zeros(&text) {
                    out.zeros.push(near.clone());
                }
                value
            }
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                if matches!(open.last(), Some(Open::Map(_, None, _))) {
                    return fault(at, "a key must be a string");
                }
                if open.len() >= depth {
                    return Err(Fault::Limit(Kind::LimitDepth));
                }
                let list = matches!(event, Event::SequenceStart(..));
                if !begins(if list { Types::ARRAY } else { Types::OBJECT }) {
                    out.misfits.push(near.clone());
                }
                open.push(match list {
                    true => Open::List(vec![], schema),
                    false => Open::Map(Map::new(), None, schema),
                });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List(items, _)) => Value::Array(items),
                Some(Open::Map(map, ..)) => Value::Object(map),
                None => continue,
            },
            _ => continue,
        };
        count += 1;
        if count > (limits.max_params as usize).saturating_add(1) {
            return Err(Fault::Limit(Kind::LimitParams));
        }
        match open.last_mut() {
            Some(Open::List(items, _)) => items.push(value),
            Some(Open::Map(map, key, _)) => {
                map.insert(key.take().unwrap_or_default(), value);
            }
            None => out.value = Some(value),
        }
    }
    Ok(out)
}

/// Halves of surrogate pairs are mapped here: JSON escapes them separately, YAML has no such escapes, and the plane is for
/// private use.
const HALVES: &str = "\\U0010";

/// Rewrites escaped halves of surrogate pairs so that the parser accepts them.
fn pairs(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut from = 0;
    for (at, _) in text.match_indices("\\u") {
        let half = matches!(
            text.as_bytes()[at + 2..],
            [b'd' | b'D', b'8'..=b'9' | b'a'..=b'f' | b'A'..=b'F', ..]
        );
        // An even number of backslashes before it is text.
        let before = text[..at].bytes().rev().take_while(|b| *b == b'\\');
        if half && before.count() % 2 == 0 {
            out.push_str(&text[from..at]);
            out.push_str(HALVES);
            from = at + 2;
        }
    }
    if out.is_empty() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(out + &text[from..])
}

/// The value of a scalar of a rewritten text, and whether it has a lone half: two halves become one character, a lone half
/// U+FFFD.
fn joined(text: &str, style: ScalarStyle) -> (String, bool) {
    if style != ScalarStyle::DoubleQuoted {
        let text = text.replace(&format!("{HALVES}d"), "\\ud");
        return (text.replace(&format!("{HALVES}D"), "\\uD"), false);
    }
    let mut units = vec![];
    for c in text.chars() {
        match u32::from(c) {
            code @ 0x10_D800..=0x10_DFFF => units.push(code as u16),
            _ => units.extend_from_slice(c.encode_utf16(&mut [0; 2])),
        }
    }
    let lone = char::decode_utf16(units.iter().copied()).any(|unit| unit.is_err());
    (String::from_utf16_lossy(&units), lone)
}

/// Whether a number has zeros before its first digit, which may make it a code.
fn has_zeros(text: &str) -> bool {
    let digits = text.trim_start_matches(['-', '+']).as_bytes();
    digits.first() == Some(&b'0') && digits.get(1).is_some_and(u8::is_ascii_digit)
}

/// Returns the value of a plain scalar, and whether it fits its type.
pub fn scalar(text: &str, schema: &Schema) -> (Value, bool) {
    let types = schema.types;
    let core = core(text);
    let string = || Value::String(text.to_owned());
    if types == Types::none() {
        return (core.map_or_else(string, |(_, value)| value), true);
    }
    if matches!(core, Some((_, Value::Null)))
        && (types.has(Types::NULL) || !types.has(Types::STRING))
    {
        return (Value::Null, types.has(Types::NULL));
    }
    let mut out = String::new();
    if coerce(text, schema, &Schema::UNKNOWN, &mut out) == Coerced::Fits
        && let Ok(value) = out.parse()
    {
        return (value, true);
    }
    match core.filter(|(kind, _)| types.has(*kind)) {
        Some((_, value)) => (value, true),
        None => (string(), false),
    }
}

/// The value of a plain scalar by the core schema, unless it is a string.
fn core(text: &str) -> Option<(Types, Value)> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Some((Types::NULL, Value::Null)),
        "true" | "True" | "TRUE" => return Some((Types::BOOLEAN, true.into())),
        "false" | "False" | "FALSE" => return Some((Types::BOOLEAN, false.into())),
        _ => {}
    }
    // A JSON number keeps its spelling.
    let number = Number::read(text).or_else(|| {
        for (prefix, radix) in [("0x", 16), ("0o", 8)] {
            if let Some(digits) = text.strip_prefix(prefix) {
                let number = u128::from_str_radix(digits, radix).ok();
                let number = number.filter(|_| !digits.starts_with('+'))?;
                return Number::read(&number.to_string());
            }
        }
        // Leading zeros, a plus sign, or a bare point.
        let (minus, body) = match text.strip_prefix('-') {
            Some(body) => ("-", body),
            None => ("", text.strip_prefix('+').unwrap_or(text)),
        };
        if body.starts_with('-') {
            return None;
        }
        let (number, power) = body.split_at(body.find(['e', 'E']).unwrap_or(body.len()));
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        let zeros = whole.len() - whole.trim_start_matches('0').len();
        let whole = match &whole[zeros..] {
            "" if zeros > 0 || !part.is_empty() => "0",
            whole => whole,
        };
        let point = if part.is_empty() { "" } else { "." };
        Number::read(&format!("{minus}{whole}{point}{part}{power}"))
    })?;
    let whole = !number.as_str().contains(['.', 'e', 'E']) && !text.contains('.');
    let kind = if whole { Types::INTEGER } else { Types::NUMBER };
    Some((kind, Value::Number(number)))
}

#[cfg(test)]
mod tests;
