//! The arguments of API tool calls: whether they are usable, and what they mean.

use std::collections::BTreeMap;

use toolglot_scan::json;

use super::native::Native;
use crate::body::{is_torn, tool_name};
use crate::json::{Map, Members, Value};
use crate::kind::Kind;
use crate::limits::Options;

/// A checked API tool call. All of them pass this one check, whatever server or host they came from.
pub(super) struct Checked<'a> {
    pub name: &'a str,
    /// The name contains a remainder of markup.
    torn: bool,
    /// JSON text of an object, each of its own keys once.
    pub arguments: String,
    /// The keys in it.
    pub members: Map,
    /// Keys that appeared more than once, one entry for each repetition.
    pub repeated: Vec<String>,
}

impl<'a> Checked<'a> {
    /// Checks a call. The kind says why it is not valid.
    pub fn of(native: &'a Native, opts: &Options) -> Result<Self, Kind> {
        if let Some(kind) = native.refused {
            return Err(kind);
        }
        let call = &native.call;
        let name = tool_name(&call.name, opts.limits.max_name)?;
        let text = match call.arguments.trim() {
            "" => "{}",
            text => text,
        };
        // Strict: half a surrogate pair is not text, and nesting beyond the limit is not an object.
        let members: Map = serde_json::from_str(text).map_err(|_| Kind::MalformedJson)?;
        let spelt = Members::read(text).ok_or(Kind::MalformedJson)?;
        let repeated = spelt.repeated();
        Ok(Self {
            name,
            torn: is_torn(name, &[], opts.tools.as_deref()),
            arguments: match repeated.is_empty() {
                true => text.to_owned(),
                false => spelt.last_wins(),
            },
            members,
            repeated,
        })
    }

    /// Whether hosts get the call without asking for it.
    pub fn is_good(&self) -> bool {
        self.repeated.is_empty() && !self.torn
    }
}

/// The meaning of arguments in any spelling: equal texts for equal meanings. The order of keys and the spelling of numbers
/// make no difference. A string that contains a number, a literal, a list or an object counts as that value, since untyped
/// text cannot tell them apart. `None` if the arguments are not JSON.
pub(super) fn meaning(arguments: &str) -> Option<String> {
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

/// Recurses as deep as the JSON reader lets values nest; `inside` if the content of strings is read.
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

/// A number in its shortest spelling: `1.0` and `1e0` are `1`. Integers that no float can represent stay unchanged.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_meanings_give_equal_texts() {
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
