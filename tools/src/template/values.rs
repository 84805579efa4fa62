//! Values of chat templates as Python has them: dicts in order, lists that grow, and their spelling.

use std::sync::{Arc, Mutex, PoisonError};

use minijinja::value::{Enumerator, Object, ObjectRepr, Rest, ValueKind, from_args};
use minijinja::{Error, ErrorKind, State, Value};

/// A dict with its keys in the order in which they were written.
#[derive(Debug)]
struct Dict(Vec<(Value, Value)>);

impl Object for Dict {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let pair = self.0.iter().find(|(have, _)| have == key);
        pair.map(|(_, value)| value.clone())
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.0.iter().map(|(key, _)| key.clone()).collect())
    }

    fn render(self: &Arc<Self>, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&spelled(&Value::from_dyn_object(self.clone())))
    }
}

/// Makes a dict of keys and values in turn. A later key replaces the value of an equal one, in its place.
pub(super) fn dict(parts: Rest<Value>) -> Value {
    let mut pairs: Vec<(Value, Value)> = vec![];
    for pair in parts.chunks(2) {
        let [key, value] = pair else { continue };
        match pairs.iter_mut().find(|(have, _)| have == key) {
            Some((_, old)) => *old = value.clone(),
            None => pairs.push((key.clone(), value.clone())),
        }
    }
    Value::from_object(Dict(pairs))
}

/// A list that a template appends to.
#[derive(Debug)]
struct List(Mutex<Vec<Value>>);

impl List {
    fn items(&self) -> Vec<Value> {
        let items = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        items.clone()
    }
}

impl Object for List {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let items = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        items.get(key.as_usize()?).cloned()
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.items())
    }

    fn render(self: &Arc<Self>, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&spelled(&Value::from(self.items())))
    }

    fn call_method(
        self: &Arc<Self>,
        _: &mut State<'_, '_>,
        method: &str,
        args: &[Value],
    ) -> Result<Value, Error> {
        // The lock is not held while other values are read: a list may extend itself.
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Places may be counted from the end.
        let place = |at: i64, len: usize| -> Option<usize> {
            let from = if at < 0 { len } else { 0 };
            usize::try_from(at + i64::try_from(from).ok()?).ok()
        };
        match method {
            "append" => {
                let (item,): (Value,) = from_args(args)?;
                lock().push(item);
            }
            "extend" => {
                let (items,): (Value,) = from_args(args)?;
                let items: Vec<Value> = items.try_iter()?.collect();
                lock().extend(items);
            }
            "insert" => {
                let (at, item): (i64, Value) = from_args(args)?;
                let mut items = lock();
                let at = place(at, items.len()).unwrap_or(0).min(items.len());
                items.insert(at, item);
            }
            "pop" => {
                let (at,): (Option<i64>,) = from_args(args)?;
                let mut items = lock();
                let at = place(at.unwrap_or(-1), items.len()).filter(|at| *at < items.len());
                let none = || Error::new(ErrorKind::InvalidOperation, "pop from an empty place");
                return Ok(items.remove(at.ok_or_else(none)?));
            }
            _ => return Err(Error::from(ErrorKind::UnknownMethod)),
        }
        Ok(Value::from(()))
    }
}

/// Makes a list that can grow.
pub(super) fn list(items: Rest<Value>) -> Value {
    Value::from_object(List(Mutex::new(items.0)))
}

/// A value as Python's `repr` spells it.
pub(crate) fn spelled(value: &Value) -> String {
    let mut out = String::new();
    spell(value, 0, &mut out);
    out
}

/// Values deeper than any template needs are left out, so that a list that contains itself ends.
const DEPTH: usize = 64;

fn spell(value: &Value, depth: usize, out: &mut String) {
    if depth > DEPTH {
        out.push_str("...");
        return;
    }
    let items = || value.try_iter().into_iter().flatten().enumerate();
    match value.kind() {
        ValueKind::String => quoted(value.as_str().unwrap_or_default(), out),
        ValueKind::Map => {
            out.push('{');
            for (index, key) in items() {
                out.push_str(if index > 0 { ", " } else { "" });
                spell(&key, depth + 1, out);
                out.push_str(": ");
                spell(&value.get_item(&key).unwrap_or_default(), depth + 1, out);
            }
            out.push('}');
        }
        ValueKind::Seq | ValueKind::Iterable => {
            out.push('[');
            for (index, item) in items() {
                out.push_str(if index > 0 { ", " } else { "" });
                spell(&item, depth + 1, out);
            }
            out.push(']');
        }
        _ => out.push_str(&value.to_string()),
    }
}

fn quoted(text: &str, out: &mut String) {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    out.push(quote);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if (c as u32) < 0x20 || (0x7f..0xa1).contains(&(c as u32)) => {
                out.push_str(&format!("\\x{:02x}", c as u32));
            }
            c => out.push(c),
        }
    }
    out.push(quote);
}
