//! The content of a declaration, as far as a dialect can express it.

use toolglot::json::{Map, Value};

use super::pattern::{self, Order, Piece};
use super::{ImportError, wrong};

const CALLS: [&str; 5] = [
    "tool_calls",
    "tool_call",
    "function_calls",
    "function_call",
    "tools",
];
const REASONING: [&str; 6] = [
    "thinking",
    "reasoning",
    "reasoning_content",
    "thought",
    "thoughts",
    "think",
];
const TEXT: [&str; 4] = ["content", "response", "text", "answer"];

/// Supported keys of a field; others are noted.
const KEYS: [&str; 11] = [
    "open",
    "open_pattern",
    "close",
    "close_pattern",
    "content",
    "content_args",
    "repeats",
    "join",
    "transform",
    "transform_each",
    "start_anchor",
];

/// The content of a dialect file.
#[derive(Debug, Default)]
pub struct Draft {
    pub units: Vec<Unit>,
    pub reasoning: Vec<Reasoning>,
    pub framing: Vec<String>,
    pub notes: Vec<String>,
}

/// One form of a call.
#[derive(Debug)]
pub struct Unit {
    pub open: Vec<Vec<Piece>>,
    pub close: Vec<Vec<Piece>>,
    pub payload: Payload,
}

/// How arguments are written.
#[derive(Debug)]
pub enum Payload {
    /// JSON that names the tool, or only the arguments if the opener names it.
    Json,
    /// `call:f{a:1}`, with the delimiter of strings.
    Braces { delimiters: Vec<String> },
    /// Parameters between tags.
    Params { open: Vec<Piece>, close: Vec<Piece> },
}

/// Reasoning markers.
#[derive(Debug)]
pub struct Reasoning {
    pub open: Vec<String>,
    pub close: Vec<String>,
    pub implicit: bool,
}

/// Reads a `tokenizer_config.json`, or the bare declaration.
pub fn read(json: &Value) -> Result<Draft, ImportError> {
    let whole = "the file";
    let Some(root) = json.as_object() else {
        return wrong(whole, "a JSON object is needed");
    };
    let declared = match root.get("response_template") {
        // Some files hold the declaration as JSON text.
        Some(Value::String(text)) => match serde_json::from_str(text) {
            Ok(value) => value,
            Err(error) => return wrong("response_template", error.to_string()),
        },
        Some(value) => value.clone(),
        None => json.clone(),
    };
    let fields = declared.get("fields").unwrap_or(&declared);
    let Some(fields) = fields.as_object() else {
        return wrong("response_template", "an object of fields is needed");
    };
    let mut draft = Draft::default();
    for (name, field) in fields {
        if let Some(field) = field.as_object() {
            draft.field(name, field)?;
        }
    }
    if draft.units.is_empty() && draft.reasoning.is_empty() {
        return wrong(
            whole,
            "it has no response_template with a field of calls or reasoning",
        );
    }
    Ok(draft)
}

impl Draft {
    fn field(&mut self, name: &str, field: &Map) -> Result<(), ImportError> {
        let known = |list: &[&str]| list.contains(&name);
        if known(&CALLS) {
            let unit = self.unit(name, field)?;
            self.units.push(unit);
        } else if known(&REASONING) {
            self.reasoning(name, field)?;
        } else if known(&TEXT) {
            for key in ["open", "close"] {
                self.framing.extend(strings(name, key, field)?);
            }
        } else if field.contains_key("open") || field.contains_key("open_pattern") {
            self.note(format!(
                "field {name} was left out: a dialect has no such field"
            ));
        }
        let odd = field.keys().filter(|key| !KEYS.contains(&key.as_str()));
        for key in odd {
            self.note(format!("{name}.{key} was left out: it is not known"));
        }
        Ok(())
    }

    fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    fn unit(&mut self, name: &str, field: &Map) -> Result<Unit, ImportError> {
        let open = markers(name, "open", field, pattern::OPENER)?;
        let close = markers(name, "close", field, &[])?;
        if open.is_empty() {
            return wrong(&format!("{name}.open"), "nothing opens a call");
        }
        for key in ["transform", "transform_each"] {
            if field.contains_key(key) {
                self.note(format!(
                    "{name}.{key} was left out: check the keys that name the tool and its arguments"
                ));
            }
        }
        let names = open.iter().all(|pieces| pieces.contains(&Piece::Name));
        let args = field.get("content_args").and_then(Value::as_object);
        let empty = Map::new();
        let args = args.unwrap_or(&empty);
        let payload = match content(name, field)? {
            "json" => json(name, args)?,
            "xml-inline" if !names => {
                return wrong(
                    &format!("{name}.open"),
                    "calls of tags need an open_pattern with a group for the tool's name",
                );
            }
            "xml-inline" => {
                if args.contains_key("value_parser") {
                    self.note(format!(
                        "{name}.content_args.value_parser was left out: the declared tools type the values"
                    ));
                }
                params(name, args)?
            }
            other => {
                let place = format!("{name}.content");
                return wrong(&place, format!("no family has calls of `{other}`"));
            }
        };
        Ok(Unit {
            open,
            close,
            payload,
        })
    }

    fn reasoning(&mut self, name: &str, field: &Map) -> Result<(), ImportError> {
        for key in ["open_pattern", "close_pattern"] {
            if field.contains_key(key) {
                let why = "reasoning has literal markers; write them as open and close";
                return wrong(&format!("{name}.{key}"), why);
            }
        }
        let mut open = strings(name, "open", field)?;
        let close = strings(name, "close", field)?;
        if close.is_empty() {
            return wrong(&format!("{name}.close"), "nothing closes reasoning");
        }
        let implicit = open.is_empty();
        if implicit {
            // The prompt opened it: the closer determines the spelling.
            open.extend(
                close
                    .iter()
                    .filter(|c| c.contains('/'))
                    .map(|c| c.replacen('/', "", 1)),
            );
            if open.is_empty() {
                return wrong(&format!("{name}.open"), "nothing opens reasoning");
            }
            self.note(format!(
                "{name} has no opener: every stream starts inside it"
            ));
        }
        self.reasoning.push(Reasoning {
            open,
            close,
            implicit,
        });
        Ok(())
    }
}

fn content<'a>(name: &str, field: &'a Map) -> Result<&'a str, ImportError> {
    match field.get("content") {
        None => Ok("text"),
        Some(Value::String(word)) => Ok(word),
        Some(_) => wrong(&format!("{name}.content"), "a word is needed"),
    }
}

fn json(name: &str, args: &Map) -> Result<Payload, ImportError> {
    let unquoted = args.get("unquoted_keys").and_then(Value::as_bool);
    let Some(given) = args.get("string_delims") else {
        return Ok(match unquoted {
            Some(true) => Payload::Braces { delimiters: vec![] },
            Some(false) | None => Payload::Json,
        });
    };
    let mut delimiters = vec![];
    let mut stack = vec![given];
    while let Some(value) = stack.pop() {
        match value {
            Value::String(text) => delimiters.push(text.clone()),
            Value::Array(list) => stack.extend(list.iter().rev()),
            _ => {
                let place = format!("{name}.content_args.string_delims");
                return wrong(&place, "strings are needed");
            }
        }
    }
    delimiters.dedup();
    Ok(Payload::Braces { delimiters })
}

/// The tags of a parameter: the text before its value, and after.
fn params(name: &str, args: &Map) -> Result<Payload, ImportError> {
    let place = format!("{name}.content_args.tag_pattern");
    let Some(source) = args.get("tag_pattern").and_then(Value::as_str) else {
        let why =
            "tags that are named after their parameters cannot be expressed; a pattern is needed";
        return wrong(&place, why);
    };
    let pieces = pattern::read(source, pattern::PARAMETER).or_else(|why| wrong(&place, why))?;
    let value = pieces.iter().position(|piece| *piece == Piece::Value);
    match value {
        Some(at) if pieces[..at].contains(&Piece::Key) && at + 1 < pieces.len() => {
            Ok(Payload::Params {
                open: pieces[..at].to_vec(),
                close: pieces[at + 1..].to_vec(),
            })
        }
        _ => wrong(
            &place,
            "it must match a key, then a value, and end with the closer",
        ),
    }
}

/// Returns the literals and expressions under `key` and `key_pattern`.
fn markers(
    name: &str,
    key: &str,
    field: &Map,
    order: Order,
) -> Result<Vec<Vec<Piece>>, ImportError> {
    let literals = strings(name, key, field)?;
    let mut out: Vec<Vec<Piece>> = literals.iter().map(|text| pattern::literal(text)).collect();
    let key = format!("{key}_pattern");
    for source in strings(name, &key, field)? {
        let place = format!("{name}.{key}");
        let pieces = pattern::read(&source, order).or_else(|why| wrong(&place, why))?;
        if !matches!(pieces.first(), Some(Piece::Text(_))) {
            return wrong(
                &place,
                "it must begin with a literal, or it would match everywhere",
            );
        }
        out.push(pieces);
    }
    Ok(out)
}

/// A string, or a list of strings.
fn strings(name: &str, key: &str, field: &Map) -> Result<Vec<String>, ImportError> {
    let one = |value: &Value| match value {
        Value::String(text) if !text.is_empty() => Ok(text.clone()),
        _ => wrong(
            &format!("{name}.{key}"),
            "a string or a list of strings is needed",
        ),
    };
    match field.get(key) {
        None | Some(Value::Null) => Ok(vec![]),
        Some(Value::Array(list)) => list.iter().map(one).collect(),
        Some(value) => Ok(vec![one(value)?]),
    }
}
