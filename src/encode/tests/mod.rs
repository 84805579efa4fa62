//! For every dialect: written calls read back, and rejections follow their rule.

mod generate;
mod made;

use std::sync::{Arc, LazyLock};

use proptest::prelude::*;

use super::doc::{Doc, Node, Text};
use super::{EncodeCall, EncodeOptions, Encoder, NotRepresentable, Reason};
use crate::dialect::{DialectSet, Family, builtin_files};
use crate::hints::{Schema, Tools, Types, coerce};
use crate::limits::Untyped;

/// A dialect that has calls.
struct Case {
    id: String,
    encoder: Encoder,
    /// The parts of hostile strings.
    words: Vec<String>,
}

/// Every string of a dialect file, and the parts of its patterns.
fn words(text: &str) -> Vec<String> {
    let mut out = vec![];
    let table: toml::Table = toml::from_str(text).expect("a dialect");
    let mut stack: Vec<toml::Value> = table
        .into_iter()
        .filter(|(key, _)| {
            !["id", "title", "models", "sources", "observe", "aliases"].contains(&key.as_str())
        })
        .map(|(_, value)| value)
        .collect();
    while let Some(value) = stack.pop() {
        match value {
            toml::Value::String(text) => {
                out.extend(
                    text.split('$')
                        .filter(|part| part.len() > 2)
                        .map(str::to_owned),
                );
                out.push(
                    text.replace("$_", "")
                        .replace("$name", "n")
                        .replace("$key", "k"),
                );
                out.push(text);
            }
            toml::Value::Array(items) => stack.extend(items),
            toml::Value::Table(table) => stack.extend(table.into_iter().map(|(_, value)| value)),
            _ => {}
        }
    }
    out.retain(|word| !word.is_empty());
    out
}

static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let all: Vec<String> = builtin_files()
        .iter()
        .flat_map(|(_, text)| words(text))
        .collect();
    let mut out = vec![];
    for (id, text) in builtin_files().iter().chain(&made::MADE) {
        let set = DialectSet::builder().toml(id, text).build();
        let set = set.unwrap_or_else(|error| panic!("{id}: {error}"));
        if matches!(set.inner.dialects[0].family, Family::Plain) {
            continue;
        }
        // The dialect's own words, then some of the others'.
        let mut mine = words(text);
        let share = mine.len().max(8);
        mine.extend(
            all.iter()
                .skip(out.len() * 7)
                .step_by(11)
                .take(share)
                .cloned(),
        );
        out.push(Case {
            id: (*id).to_owned(),
            encoder: Encoder::new(&set, id).expect("it has calls"),
            words: mine,
        });
    }
    out
});

fn options(tools: Option<&str>) -> EncodeOptions {
    EncodeOptions {
        tools: tools.map(|text| Arc::new(Tools::from_json(text).expect("tools"))),
        ..EncodeOptions::default()
    }
}

/// The value at a pointer.
fn at<'d>(doc: &'d Doc, pointer: &str) -> Option<(&'d Node, usize)> {
    let mut node = 0;
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        node = match doc.node(node) {
            Node::Object(members) => {
                members
                    .iter()
                    .find(|(key, _)| *key == Text::Whole(part.clone()))?
                    .1
            }
            Node::Array(items) => *items.get(part.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some((doc.node(node), node))
}

/// Whether every dialect can write a name.
fn ordinary(name: &str) -> bool {
    let letters = name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    letters && name.starts_with(|c: char| c.is_ascii_lowercase())
}

/// Names that have a meaning in some dialect.
const MEANT: [&str; 16] = [
    "invoke",
    "command",
    "tool_name",
    "item",
    "comment",
    "retry",
    "common_a",
    "type_hint_a",
    "self",
    "all",
    "file_path",
    "name",
    "thinking",
    "on_error",
    "request_id",
    "tool_action",
];

/// Whether a rejection follows its rule, as far as that can be decided without the encoder.
fn follows(
    case: &Case,
    call: &EncodeCall,
    pointer: &str,
    reason: &Reason,
    options: &EncodeOptions,
) -> bool {
    let doc = Doc::parse(&call.arguments).expect("JSON");
    let value = at(&doc, pointer);
    let strings = |node: usize| {
        doc.strings(node)
            .into_iter()
            .map(|t| t.whole().unwrap_or(""))
            .collect::<Vec<_>>()
    };
    let own = pointer
        .split('/')
        .next_back()
        .unwrap_or("")
        .replace("~1", "/")
        .replace("~0", "~");
    let tools = options.tools.as_ref();
    let tool = tools.and_then(|tools| tools.get(&call.name));
    let family = &case.encoder.dialect().family;
    match (reason, value) {
        (Reason::Name { why }, _) if why.contains("declared") => tool.is_none(),
        (Reason::Key { why }, _) if why.contains("another spelling") => {
            tool.is_some_and(|tool| tool.param(&own).is_none() && !tool.params.is_empty())
        }
        // A tag that does not belong to a parameter.
        (Reason::Key { why }, _) if why.starts_with("its tag is") || why.contains("no such") => {
            tool.is_some_and(|tool| tool.param(&own).is_none())
        }
        (Reason::Key { why }, _) if why.starts_with("the attribute") => match family {
            Family::Framed(table) => table.spec.unit.iter().any(|unit| unit.name == own),
            _ => false,
        },
        // Such a call consists only of text between tags without attributes.
        (Reason::Key { why }, _) if why.contains("no place") => case.id == "made-content",
        (Reason::Missing { key }, None) | (Reason::Missing { key }, Some((_, 0))) => {
            at(&doc, &super::error::pointer("", key)).is_none()
        }
        (Reason::Name { .. }, _) => !ordinary(&call.name) || MEANT.contains(&call.name.as_str()),
        // Folding maps `A` to `a`, and a chain consumes digits.
        (Reason::Key { .. }, _) => {
            let keys = doc.strings(0).len();
            !ordinary(&own)
                || MEANT.contains(&own.as_str())
                || (keys > 1 && matches!(family, Family::KeyQuote(_)))
        }
        // The name of the parameter contains it.
        (Reason::Marker { marker }, _) if own.contains(marker.as_str()) => true,
        (Reason::Marker { marker }, Some((_, node))) => {
            let joined = strings(node).concat();
            let json = doc.json(node, super::doc::Spelling::Plain);
            let near = |text: &str| {
                marker
                    .chars()
                    .next()
                    .is_some_and(|c| text.to_lowercase().contains(&c.to_lowercase().to_string()))
            };
            near(&joined) || near(&json) || joined.contains(':') || joined.contains('：')
        }
        (Reason::Untyped, Some((node, _))) => !matches!(node, Node::String(_)),
        (Reason::Coerced, Some((node, _))) => match node {
            Node::String(text) => {
                let schema = tool
                    .and_then(|tool| tool.param(&own))
                    .map(|param| &param.schema);
                schema.is_none_or(|schema| {
                    let (text, mut out) = (text.whole().unwrap_or(""), String::new());
                    // A value without a schema is JSON if it parses, if the dialect says so.
                    let json = case.encoder.dialect().spec.untyped == Untyped::Json;
                    if json && schema.types == Types::none() {
                        return serde_json::from_str::<crate::json::Value>(text).is_ok();
                    }
                    coerce(text, schema, &Schema::UNKNOWN, &mut out);
                    // An empty text is an empty object, if the schema asks for one.
                    let blank = text.trim().is_empty() && !schema.types.has(Types::STRING);
                    !out.starts_with('"') || out.is_empty() || blank
                }) || pointer.matches('/').count() > 1
            }
            _ => options.tools.is_some(),
        },
        (Reason::Blanks, Some((node, at))) => match node {
            Node::String(text) => {
                let text = text.whole().unwrap_or("");
                text.trim() != text || call.name == "file"
            }
            _ => !strings(at).is_empty(),
        },
        (Reason::Surrogate, _) => doc.strings(0).iter().any(|text| text.whole().is_none()),
        (Reason::Shape { .. }, Some((node, _))) => match node {
            Node::Object(members) => {
                let item = |(key, _): &(Text, usize)| key.whole() == Some("item");
                members.iter().all(item)
            }
            Node::Array(items) => items.len() < 2,
            _ => false,
        },
        (Reason::Limit { .. }, _) => call.arguments.len() > 200,
        _ => false,
    }
}

fn check(case: &Case, data: &[u8]) {
    let made = generate::make(data, &case.words);
    let options = options(made.tools.as_deref());
    let calls: Vec<EncodeCall> = made
        .calls
        .into_iter()
        .map(|(name, arguments, id)| EncodeCall {
            name,
            arguments,
            id,
        })
        .collect();
    match case.encoder.write(&calls, &options) {
        Ok(text) => {
            if let Err(error) = case.encoder.verify(&text, &calls, &options) {
                panic!("{}: {error}\n{text}\n{calls:#?}\n{:?}", case.id, made.tools);
            }
        }
        Err(error) => {
            let call = &calls[error.call];
            assert!(
                follows(case, call, &error.pointer, &error.reason, &options),
                "{}: {error}: {:?}\n{call:#?}\n{:?}",
                case.id,
                error.reason,
                made.tools
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000.max(ProptestConfig::default().cases), max_shrink_iters: 4000, ..ProptestConfig::default() })]

    /// Hostile calls in every dialect: each reads back exactly, or is rejected by a rule that applies. The final check of
    /// `encode` is enabled here and must never fail.
    #[test]
    fn every_dialect_writes_what_it_reads(data in proptest::collection::vec(any::<u8>(), 0..240), which: prop::sample::Index) {
        let case = which.get(&CASES);
        check(case, &data);
    }
}

const TOOLS: &str = r#"[{"name": "get_weather", "parameters": {"type": "object", "properties": {
    "city": {"type": "string"}, "days": {"type": "integer"}, "scale": {"type": "number"}, "exact": {"type": "boolean"},
    "tags": {"type": "array", "items": {"type": "string"}}, "sizes": {"type": "array", "items": {"type": "integer"}},
    "area": {"type": "object", "properties": {"lat": {"type": "number"}, "label": {"type": "string"}}}}}},
    {"name": "stop", "parameters": {}}]"#;

#[test]
fn ordinary_calls_are_written_in_every_dialect() {
    let call = |name: &str, arguments: &str| EncodeCall {
        name: name.to_owned(),
        arguments: arguments.to_owned(),
        id: None,
    };
    let weather = call(
        "get_weather",
        r#"{"city": "Leith, by the sea: 5 < 6 & more", "days": 3, "scale": -1.50, "exact": true, "tags": ["a", "b c"],
            "sizes": [1, 20], "area": {"lat": 55.97, "label": "harbour (old)"}}"#,
    );
    let text = call(
        "get_weather",
        r#"{"city": "two\nlines, {braces}, 'quotes' and \"quotes\"\n"}"#,
    );
    let none = call("stop", "{}");
    let mut refused = vec![];
    let made = |case: &&Case| case.id.starts_with("made-");
    for case in CASES.iter().filter(|case| !made(case)) {
        for calls in [
            vec![weather.clone()],
            vec![text.clone()],
            vec![none.clone()],
            vec![weather.clone(), none.clone(), text.clone()],
        ] {
            // One dialect requires certain arguments, one trims whitespace at the ends of values.
            let known = |error: &NotRepresentable| match &error.reason {
                Reason::Missing { .. } => case.id == "bolt-action",
                Reason::Blanks => case.id == "cline-xml" && calls.contains(&text),
                _ => false,
            };
            if let Err(error) = case.encoder.encode(&calls, &options(Some(TOOLS)))
                && !known(&error)
            {
                refused.push(format!("{}: {error}", case.id));
            }
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}
