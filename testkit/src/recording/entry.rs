//! A joined log as JSON, so that it can be stored in a file and compared.
//!
//! Every entry has `type` and `span`; the other fields are those of the event. Bytes are in `data`, or in `data_b64` if
//! they are invalid UTF-8. The wording of messages is left out: it may change without a change of meaning.

use toolglot::json::{Map, Value, json};

use crate::base64;
use crate::json::kinds;
use crate::vectors::{Entry, Log, What};

/// The entries of a log.
#[must_use]
pub fn entries(log: &Log) -> Vec<Value> {
    log.entries().iter().map(entry).collect()
}

/// The index of the first entry in which two lists differ, with the entry of each.
#[must_use]
pub fn difference<'a>(
    expected: &'a [Value],
    got: &'a [Value],
) -> Option<(usize, Option<&'a Value>, Option<&'a Value>)> {
    (0..expected.len().max(got.len()))
        .map(|at| (at, expected.get(at), got.get(at)))
        .find(|(_, expected, got)| expected != got)
}

fn entry(entry: &Entry) -> Value {
    let (kind, fields) = what(&entry.what);
    let mut out = Map::new();
    out.insert("type".to_owned(), kind.into());
    out.insert("span".to_owned(), json!([entry.span.start, entry.span.end]));
    if let Value::Object(fields) = fields {
        out.extend(fields);
    }
    if has_data(&entry.what) {
        bytes(&mut out, "data", &entry.data);
    }
    Value::Object(out)
}

/// Puts bytes into an object, as text if they are valid UTF-8.
pub(super) fn bytes(out: &mut Map, key: &str, data: &[u8]) {
    let (key, text) = match std::str::from_utf8(data) {
        Ok(text) => (key.to_owned(), text.to_owned()),
        Err(_) => (format!("{key}_b64"), base64::encode(data)),
    };
    out.insert(key, Value::String(text));
}

fn has_data(what: &What) -> bool {
    match what {
        What::Text { .. }
        | What::Reasoning { .. }
        | What::Protected { .. }
        | What::Raw
        | What::ParamDelta
        | What::ArgDelta { .. } => true,
        // The bytes of a block are those of its span; `check` verifies them.
        What::BlockClose | What::BlockAbandoned { .. } => false,
        What::BlockOpen { .. }
        | What::CallNamed { .. }
        | What::CallOpen { .. }
        | What::ParamOpen { .. }
        | What::ParamClose
        | What::CallAbandoned { .. }
        | What::CallClose { .. }
        | What::Issue(_)
        | What::Other(_) => false,
    }
}

fn what(what: &What) -> (&'static str, Value) {
    match what {
        What::Text { recovered } => ("text", json!({"recovered": recovered})),
        What::Reasoning { framing } => ("reasoning", json!({"framing": framing})),
        What::Protected { kind } => ("protected", json!({"kind": kind})),
        What::Raw => ("raw", json!({})),
        What::ParamDelta => ("param_delta", json!({})),
        What::ArgDelta { call } => ("arg_delta", json!({"call": call})),
        What::BlockOpen { dialect } => ("block_open", json!({"dialect": dialect})),
        What::CallNamed {
            block,
            ordinal,
            name,
            provisional,
        } => (
            "call_named",
            json!({"block": block, "ordinal": ordinal, "name": name, "provisional": provisional}),
        ),
        What::CallOpen {
            call,
            name,
            meta,
            dialect,
            origin: from,
        } => (
            "call_open",
            json!({"call": call, "name": name, "dialect": dialect, "origin": from, "meta": meta}),
        ),
        What::ParamOpen { name, depth } => ("param_open", json!({"name": name, "depth": depth})),
        What::ParamClose => ("param_close", json!({})),
        What::CallAbandoned { call } => ("call_abandoned", json!({"call": call})),
        What::CallClose {
            call,
            state,
            arguments,
        } => {
            let arguments = arguments.name();
            (
                "call_close",
                json!({"call": call, "state": state.grade().name(), "kinds": kinds(state.kinds()), "arguments": arguments}),
            )
        }
        What::BlockClose => ("block_close", json!({})),
        What::BlockAbandoned { becomes } => ("block_abandoned", json!({"becomes": becomes.name()})),
        What::Issue(issue) => (
            "issue",
            json!({
                "kind": issue.kind.name(), "severity": issue.severity.name(), "dialect": issue.dialect,
                "call": issue.call, "tool": issue.tool, "subject": issue.subject, "suggestion": issue.suggestion,
            }),
        ),
        What::Other(debug) => ("other", json!({"debug": debug})),
    }
}
