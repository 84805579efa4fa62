//! A mapping in YAML. One leniency: a plain value may contain `: ` (`title: Hut: repairs`).

use crate::hints::Tool;
use crate::json::{Map, Value};
use crate::limits::Limits;
use crate::yaml::{self, Fault, Yaml};

/// Reads the arguments: a mapping, or nothing.
pub(super) fn read(text: &str, limits: &Limits, tool: Option<&Tool>) -> Result<(Map, Yaml), Fault> {
    let schema = |name: &str| tool?.schema(name);
    let read = yaml::read(text, limits, schema).or_else(|fault| match &fault {
        Fault::Malformed { .. } => match with_quotes(text) {
            Some(text) => yaml::read(&text, limits, schema).map_err(|_| fault),
            None => Err(fault),
        },
        Fault::Limit(_) => Err(fault),
    });
    let mut read = read?;
    match read.value.take() {
        None => Ok((Map::new(), read)),
        Some(Value::Object(map)) => Ok((map, read)),
        Some(_) => Err(Fault::Malformed {
            at: 0,
            why: "it is not a mapping".to_owned(),
        }),
    }
}

/// Quotes the plain values that contain `: `. Returns `None` if there are none, or if a quoted or bracketed value continues
/// on the next line, because its content is unknown.
fn with_quotes(text: &str) -> Option<String> {
    let mut out = String::new();
    // The column of the entry that a literal or folded scalar belongs to.
    let mut block = None;
    let mut mended = false;
    for line in text.split_inclusive('\n') {
        let body = line.trim_end();
        let indent = body.len() - body.trim_start_matches(' ').len();
        if block.is_some_and(|column| indent > column) || body.is_empty() {
            out.push_str(line);
            continue;
        }
        let entry = body.trim_start_matches([' ', '-']);
        let value = match entry.find(": ") {
            Some(at) if !entry.starts_with(['"', '\'']) => entry[at + 1..].trim_start(),
            _ => entry,
        };
        let start = body.len() - value.len();
        let scalar = value.starts_with(['|', '>']);
        block = scalar.then_some(match value.len() == entry.len() {
            true => indent,
            false => body.len() - entry.len(),
        });
        let closed =
            |open: char, close: char| !value.starts_with(open) || value[1..].ends_with(close);
        if !(closed('"', '"') && closed('\'', '\'') && closed('[', ']') && closed('{', '}')) {
            return None;
        }
        let plain = !value.starts_with([
            '"', '\'', '[', '{', '|', '>', '&', '*', '!', '#', '%', '@', '`',
        ]);
        let text = &value[..value.find(" #").unwrap_or(value.len())];
        if plain && value.len() < entry.len() && (text.contains(": ") || text.ends_with(':')) {
            out.push_str(&line[..start]);
            out.push_str(&format!("'{}'", text.replace('\'', "''")));
            out.push_str(&line[start + text.len()..]);
            mended = true;
        } else {
            out.push_str(line);
        }
    }
    mended.then_some(out)
}
