//! Calls that the host got beside the text, in the same event stream.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::machine::Machine;
use crate::body::{json, tool_name};
use crate::error::{Kind, KindSet, Severity};
use crate::event::{Arguments, Origin, Span};
use crate::json::{Map, Value};
use crate::limits::Prefer;

/// A call from the `tool_calls` of an API response.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NativeCall {
    /// Its id, if it has one; delivered as `id` in the call's meta.
    pub id: Option<String>,
    /// Name of the tool.
    pub name: String,
    /// JSON text of an object. Empty means no arguments.
    pub arguments: String,
}

impl NativeCall {
    /// Reads the JSON text of an OpenAI `tool_calls` array.
    ///
    /// # Errors
    /// It is no JSON, or no such array; the message says where.
    pub fn from_json(text: &str) -> Result<Vec<Self>, String> {
        let value: Value = serde_json::from_str(text)
            .map_err(|error| format!("native_tool_calls: no JSON: {error}"))?;
        Self::from_openai(&value)
    }

    /// Reads an OpenAI `tool_calls` array.
    ///
    /// # Errors
    /// It is no such array; the message says where.
    pub fn from_openai(value: &Value) -> Result<Vec<Self>, String> {
        let list = value
            .as_array()
            .ok_or("native_tool_calls: an array is needed")?;
        let read = |(index, item): (usize, &Value)| {
            let function = item
                .get("function")
                .ok_or(format!("native_tool_calls[{index}]: it has no `function`"))?;
            let name = function.get("name").and_then(Value::as_str);
            let name = name.ok_or(format!(
                "native_tool_calls[{index}].function.name: a string is needed"
            ))?;
            let arguments = match function.get("arguments") {
                None | Some(Value::Null) => String::new(),
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
            };
            let id = item.get("id").and_then(Value::as_str).map(str::to_owned);
            Ok(Self {
                id,
                name: name.to_owned(),
                arguments,
            })
        };
        list.iter().enumerate().map(read).collect()
    }

    fn len(&self) -> u64 {
        (self.name.len() + self.arguments.len() + self.id.as_ref().map_or(0, String::len)) as u64
    }
}

/// What arguments mean, however they are written: equal texts for equal meanings. The order of keys is none, nor is the
/// spelling of numbers; and a string that holds a number, a literal, a list or an object counts as that, since untyped
/// text cannot say which it is. None if the arguments are no JSON.
fn meaning(arguments: &str) -> Option<String> {
    let text = if arguments.trim().is_empty() {
        "{}"
    } else {
        arguments
    };
    let value: Value = serde_json::from_str(text).ok()?;
    let mut out = String::with_capacity(text.len());
    write_meaning(&value, true, &mut out);
    Some(out)
}

/// As deep as the reader of JSON lets values nest; `inside` if strings are looked into.
fn write_meaning(value: &Value, inside: bool, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&number_meaning(&number.to_string())),
        Value::String(text) => {
            let bare = text.trim();
            let held = match bare.to_ascii_lowercase().as_str() {
                "true" => Some(Value::Bool(true)),
                "false" => Some(Value::Bool(false)),
                _ => serde_json::from_str(bare).ok(),
            };
            match held.filter(|held| inside && !held.is_string()) {
                Some(held) => write_meaning(&held, false, out),
                None => json::string(text, out),
            }
        }
        Value::Array(items) => {
            out.push('[');
            for item in items {
                write_meaning(item, inside, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            let sorted: BTreeMap<&String, &Value> = members.iter().collect();
            for (key, value) in sorted {
                json::string(key, out);
                out.push(':');
                write_meaning(value, inside, out);
                out.push(',');
            }
            out.push('}');
        }
    }
}

/// A number without what does not change it: `1.0` and `1e0` are `1`. Integers that no float holds stay as they are.
fn number_meaning(text: &str) -> String {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let integer = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'-');
    match text.parse::<f64>() {
        Ok(value) if !integer && value.abs() < EXACT && value.fract() == 0.0 => {
            format!("{}", value as i64)
        }
        Ok(value) if !integer => format!("{value:?}"),
        _ => text.to_owned(),
    }
}

/// The native calls that stand for calls of the text that nobody gets: one for each, by name.
fn instead(lost: &[String], natives: &[NativeCall]) -> Vec<bool> {
    let mut left: HashMap<&str, usize> = HashMap::new();
    for name in lost {
        *left.entry(name).or_default() += 1;
    }
    let counts = natives
        .iter()
        .map(|call| match left.get_mut(call.name.as_str()) {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            Some(_) | None => false,
        });
    counts.collect()
}

/// A call of the text as it is compared, if it is.
fn meant((name, arguments): &(String, Option<String>)) -> Option<(String, String)> {
    Some((name.clone(), meaning(arguments.as_ref()?)?))
}

/// Whether a native call repeats one of the text.
fn repeats(said: &BTreeSet<(String, String)>, call: &NativeCall) -> bool {
    let meant = meaning(&call.arguments).map(|meant| (call.name.clone(), meant));
    meant.is_some_and(|meant| said.contains(&meant))
}

impl Machine<'_> {
    /// Takes a native call.
    pub fn native(&mut self, call: &NativeCall) {
        let waiting = self.st.native_bytes.saturating_add(call.len());
        if waiting > self.opts.limits.max_native {
            let chunk = self.nothing();
            let span = Span::new(self.st.pos, self.st.pos);
            return self.tell_all(chunk, Kind::LimitNative, Severity::Error, span, &call.name);
        }
        self.st.native_bytes = waiting;
        self.st.natives.push(call.clone());
        if self.flows() {
            self.natives_now(self.st.pos);
        }
    }

    /// Where native calls are preferred: brings out those that wait, and lets the calls of the text give way to them. No
    /// block is open, and text goes on at `at`.
    pub fn natives_now(&mut self, at: u64) {
        if self.opts.prefer != Prefer::Native {
            return;
        }
        self.st.native_bytes = 0;
        for call in std::mem::take(&mut self.st.natives) {
            self.bring(&call, at);
        }
        if self.st.native {
            self.replace();
        }
    }

    /// Calls of the text that were held give way to a native call.
    fn replace(&mut self) {
        let chunk = self.nothing();
        for held in self.st.io.heard.release() {
            self.out(chunk).call_replaced(&held);
        }
    }

    /// The text is finished: brings out the calls that count and were not yet told. Linear in the calls of both kinds.
    pub fn natives_last(&mut self) {
        let natives = &self.st.natives;
        let heard = &mut self.st.io.heard;
        let counts: Vec<bool> = match self.opts.prefer {
            Prefer::Native => {
                self.natives_now(self.st.pos);
                return self.held_last();
            }
            Prefer::Text | Prefer::Both if natives.is_empty() => return,
            Prefer::Text if self.st.io.good == 0 => vec![true; natives.len()],
            Prefer::Text => instead(&heard.lost(), natives),
            Prefer::Both => {
                let said: BTreeSet<_> = heard.calls.iter().filter_map(meant).collect();
                let new = natives.iter().map(|call| !repeats(&said, call));
                new.collect()
            }
        };
        let natives = std::mem::take(&mut self.st.natives);
        for (call, _) in natives.iter().zip(counts).filter(|(_, counts)| *counts) {
            self.bring(call, self.st.pos);
        }
    }

    /// No native call came: those of the text count.
    fn held_last(&mut self) {
        let chunk = self.nothing();
        for held in self.st.io.heard.release() {
            self.out(chunk).call_release(&held);
        }
    }

    /// Delivers a native call at an offset.
    fn bring(&mut self, native: &NativeCall, at: u64) {
        let chunk = self.nothing();
        let span = Span::new(at, at);
        let max = self.opts.limits.max_name;
        let mut out = self.out(chunk);
        let name = match tool_name(&native.name, max) {
            Ok(name) => name,
            Err(kind) => {
                return out.report_for(None, kind, Severity::Error, span, "", &native.name, "");
            }
        };
        let text = native.arguments.trim();
        let text = if text.is_empty() { "{}" } else { text };
        let Ok(members) = serde_json::from_str::<Map>(text) else {
            return out.report_for(
                None,
                Kind::MalformedJson,
                Severity::Error,
                span,
                "",
                name,
                "",
            );
        };
        let meta: Vec<(String, String)> = native
            .id
            .iter()
            .map(|id| ("id".to_owned(), id.clone()))
            .collect();
        if out.io.calls < out.limits().max_calls && !out.is_left_out(name) {
            // It counts, so others give way before it.
            self.st.native = true;
            self.replace();
        }
        let mut out = self.out(chunk);
        match out.call_open(name, &meta, span, Origin::Native) {
            Ok(call) => {
                out.arg(call, text, span);
                let tool = out.tool(name);
                for key in members
                    .keys()
                    .filter(|key| tool.is_some_and(|tool| tool.param(key).is_none()))
                {
                    out.unknown_param(name, key, span);
                }
                out.missing(name, span, |key| members.contains_key(key));
                out.call_close(call, KindSet::default(), Arguments::Deltas, span);
            }
            Err(kind) => out.report_for(None, kind, Severity::Error, span, "", name, ""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_the_same_is_the_same() {
        for (a, b) in [
            ("", "{}"),
            ("{\"a\":1,\"b\":2}", " {\"b\":2, \"a\":1.0}"),
            ("{\"n\":\"5\"}", "{\"n\":5}"),
            ("{\"n\":\"1e2\"}", "{\"n\":100}"),
            ("{\"n\":\"True\"}", "{\"n\":true}"),
            ("{\"n\":\"null\"}", "{\"n\":null}"),
            ("{\"n\":\"[1, 2]\"}", "{\"n\":[1,2.0]}"),
            ("{\"n\":{\"深\":\"-3\"}}", "{\"n\":{\"深\":-3}}"),
        ] {
            assert_eq!(meaning(a), meaning(b), "{a} {b}");
        }
        for (a, b) in [
            ("{\"n\":\"5 \"}", "{\"n\":6}"),
            ("{\"n\":\"a\"}", "{\"n\":\"A\"}"),
            (
                "{\"n\":10000000000000000001}",
                "{\"n\":10000000000000000002}",
            ),
            ("{\"n\":[1]}", "{\"n\":[1,1]}"),
            ("{}", "{\"n\":null}"),
        ] {
            assert_ne!(meaning(a), meaning(b), "{a} {b}");
        }
        assert_eq!(meaning("{"), None);
    }
}
