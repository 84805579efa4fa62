//! YAML: one mapping, read by a library.

use std::iter::Peekable;
use std::vec::IntoIter;

use saphyr_parser::{Event, Parser, ScalarStyle};
use toolglot::json::{Map, Value};

use crate::naive::schema::{self, Typed};

use super::pattern::{self, Fit};
use super::{Place, Stop, Twin};

impl Twin<'_> {
    /// Reads a call whose opener matched, including its closer.
    pub(super) fn yaml(&mut self, index: usize, fit: &Fit<Place>) -> Result<usize, Stop> {
        let unit = &self.spec.units[index];
        let name = self.tool(index, fit)?;
        if unit.fix_name {
            self.fix = Some(name.clone());
        }
        let fix = self.fix.as_deref().unwrap_or_default();
        let closers = unit.close.iter();
        let closers = closers.map(|close| pattern::literal(&pattern::fixed(close, fix)));
        let text = &self.input[fit.end..];
        let mut quoted = self.quoted;
        let ends = closers.filter_map(|close| {
            let mut all = text.match_indices(&close).map(|(at, _)| at);
            let end = all.find(|at| {
                let counts = closes(&text[..*at], &text[at + close.len()..]);
                quoted |= !counts;
                counts
            })?;
            Some((fit.end + end, fit.end + end + close.len()))
        });
        let ends = ends.min();
        let cut = if quoted { Stop::RunsOn } else { Stop::Cut };
        let (end, next) = ends.ok_or(cut)?;
        // The blanks before the closer indent it.
        let text = self.input[fit.end..end].trim_end_matches([' ', '\t']);
        let members = mapping(text).ok_or(Stop::Malformed(end))?;
        let tool = schema::tool(self.tools, &name);
        let params = tool.map(schema::params).unwrap_or_default();
        let mut arguments = Map::new();
        for (key, node) in members {
            let schema = params.iter().find(|(name, _)| *name == key);
            arguments.insert(key, typed(node, schema.map(|(_, schema)| *schema)));
        }
        self.out.calls.push((name, Value::Object(arguments)));
        Ok(next)
    }
}

/// Whether a closer between `before` and `after` is one: it begins a line, or ends the only line or a mapping in brackets. In the
/// middle of a line nothing but 63 blanks may follow it there, and no indented line.
fn closes(before: &str, after: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or(before);
    let whole = before.trim();
    let brackets = whole.starts_with('{') && whole.ends_with('}');
    if line.len() == before.len() || line.trim().is_empty() || brackets {
        return true;
    }
    let rest = after.trim_start_matches([' ', '\t', '\r']);
    let next = rest.trim_start_matches('\n');
    if after.len() - rest.len() > 63 + usize::from(rest.is_empty()) {
        return false;
    }
    rest.is_empty() || next.len() < rest.len() && !next.starts_with([' ', '\t'])
}

enum Node {
    Plain(String),
    Quoted(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

fn typed(node: Node, schema: Option<&Value>) -> Value {
    match node {
        Node::Plain(text) => plain(&text, schema),
        Node::Quoted(text) => Value::String(text),
        Node::List(list) => {
            let items = schema.and_then(schema::items);
            Value::Array(list.into_iter().map(|node| typed(node, items)).collect())
        }
        Node::Map(members) => {
            let mut out = Map::new();
            for (key, node) in members {
                let schema = schema.and_then(|schema| schema::prop(schema, &key));
                out.insert(key, typed(node, schema));
            }
            Value::Object(out)
        }
    }
}

fn plain(text: &str, schema: Option<&Value>) -> Value {
    let types = schema.map(schema::types).unwrap_or_default();
    let core = core(text);
    let string = || Value::String(text.to_owned());
    if types.is_empty() {
        return core.unwrap_or_else(string);
    }
    if core == Some(Value::Null) && (types.contains("null") || !types.contains("string")) {
        return Value::Null;
    }
    if let Typed::Fits(value) = schema::typed(text, schema) {
        return value;
    }
    let fits = |value: &Value| match value {
        Value::Bool(_) => types.contains("boolean"),
        Value::Number(number) => {
            let whole = !number.to_string().contains(['.', 'e', 'E']);
            types.contains("number") || whole && types.contains("integer")
        }
        _ => false,
    };
    core.filter(fits).unwrap_or_else(string)
}

/// A plain scalar by the core schema; `None` if it is text.
fn core(text: &str) -> Option<Value> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Some(Value::Null),
        "true" | "True" | "TRUE" => return Some(Value::Bool(true)),
        "false" | "False" | "FALSE" => return Some(Value::Bool(false)),
        _ => {}
    }
    let number = |text: &str| serde_json::from_str(text).ok().filter(Value::is_number);
    if let Some(number) = number(text) {
        return Some(number);
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = text.strip_prefix(prefix).filter(|d| !d.starts_with('+')) {
            return u128::from_str_radix(digits, radix)
                .ok()
                .and_then(|n| number(&n.to_string()));
        }
    }
    // JSON has no leading zeros, plus signs or bare decimal points: the number is respelled without them.
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let (minus, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, power) = match rest.split_once(['e', 'E']) {
        Some((mantissa, power)) => (mantissa, Some(power)),
        None => (rest, None),
    };
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let good =
        digits(whole) && (part.is_empty() || digits(part)) || whole.is_empty() && digits(part);
    if !good || !power.is_none_or(|power| digits(power.strip_prefix(['+', '-']).unwrap_or(power))) {
        return None;
    }
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        other => other,
    };
    let part = match part {
        "" => String::new(),
        part => format!(".{part}"),
    };
    let power = power.map(|power| format!("e{power}")).unwrap_or_default();
    number(&format!("{minus}{whole}{part}{power}"))
}

/// The members of a text that is a mapping, or empty.
fn mapping(text: &str) -> Option<Vec<(String, Node)>> {
    let mut events = vec![];
    let mut documents = 0;
    for event in Parser::new_from_str(text) {
        match event.ok()?.0 {
            Event::StreamStart | Event::DocumentEnd | Event::StreamEnd => {}
            Event::DocumentStart(_) => documents += 1,
            event => events.push(event),
        }
    }
    if documents > 1 || events.is_empty() {
        return (documents < 2).then(Vec::new);
    }
    match node(&mut events.into_iter().peekable())? {
        Node::Map(members) => Some(members),
        _ => None,
    }
}

/// The next node, unless it is not supported.
fn node(events: &mut Peekable<IntoIter<Event<'_>>>) -> Option<Node> {
    match events.next()? {
        Event::Scalar(text, ScalarStyle::Plain, 0, None) => Some(Node::Plain(text.into())),
        Event::Scalar(text, _, 0, None) => Some(Node::Quoted(text.into())),
        Event::SequenceStart(0, None) => {
            let mut out = vec![];
            while events.next_if_eq(&Event::SequenceEnd).is_none() {
                out.push(node(events)?);
            }
            Some(Node::List(out))
        }
        Event::MappingStart(0, None) => {
            let mut out: Vec<(String, Node)> = vec![];
            while events.next_if_eq(&Event::MappingEnd).is_none() {
                let (Node::Plain(name) | Node::Quoted(name)) = node(events)? else {
                    return None;
                };
                let value = node(events)?;
                match out.iter_mut().find(|(have, _)| *have == name) {
                    Some((_, have)) => *have = value,
                    None => out.push((name, value)),
                }
            }
            Some(Node::Map(out))
        }
        _ => None,
    }
}
