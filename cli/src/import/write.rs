//! Writes the dialect file.

use std::fmt::Write as _;

use super::pattern::{Piece, spelled};
use super::template::{Draft, Payload, Reasoning, Unit};

/// The text of the file.
pub fn dialect(draft: &Draft, id: &str, origin: &str) -> String {
    let mut out = String::new();
    for note in &draft.notes {
        let _ = writeln!(out, "# Note: {}", note.replace(['\n', '\r'], " "));
    }
    let _ = writeln!(out, "id = {}", quoted(id));
    let _ = writeln!(
        out,
        "title = {}",
        quoted(&format!("Imported from {origin}"))
    );
    let _ = writeln!(
        out,
        "sources = {}",
        list(&[format!("response_template of {origin}")])
    );
    if !draft.framing.is_empty() {
        let _ = writeln!(out, "framing = {}", list(&draft.framing));
    }
    let _ = writeln!(out, "deltas = \"live\"");
    draft.units.iter().for_each(|one| unit(&mut out, one));
    draft
        .reasoning
        .iter()
        .for_each(|one| reasoning(&mut out, one));
    out
}

fn unit(out: &mut String, unit: &Unit) {
    let names = unit.open.iter().all(|open| open.contains(&Piece::Name));
    let (open, prefix) = match &unit.payload {
        Payload::Braces { .. } => braces_prefix(&unit.open),
        Payload::Json | Payload::Params { .. } => {
            (unit.open.iter().map(|open| spelled(open)).collect(), None)
        }
    };
    let word = match &unit.payload {
        Payload::Json if names => "arguments",
        Payload::Json => "json",
        Payload::Braces { .. } => "braces",
        Payload::Params { .. } => "params",
    };
    let close: Vec<String> = unit.close.iter().map(|close| spelled(close)).collect();
    let _ = writeln!(out, "\n[[framed.unit]]\nopen = {}", list(&open));
    let _ = writeln!(out, "close = {}\npayload = \"{word}\"", list(&close));
    let probe = probe(unit, &open, &close);
    if !probe.is_empty() {
        let _ = writeln!(out, "probe = {}", list(&probe));
    }
    match &unit.payload {
        Payload::Params { open, close } => {
            let (open, close) = (list(&[spelled(open)]), list(&[spelled(close)]));
            let _ = writeln!(out, "\n[framed.param]\nopen = {open}\nclose = {close}");
        }
        Payload::Braces { delimiters } => {
            let prefix = quoted(prefix.as_deref().unwrap_or_default());
            let delimiters = list(delimiters);
            let _ = writeln!(
                out,
                "\n[framed.braces]\nprefix = {prefix}\ndelimiters = {delimiters}"
            );
        }
        Payload::Json => {}
    }
}

/// In braces the name belongs to the body, with the text before it: `<open>call:` is `<open>` and `call:`.
fn braces_prefix(open: &[Vec<Piece>]) -> (Vec<String>, Option<String>) {
    let mut prefix = None;
    let mut cut = |pieces: &Vec<Piece>| {
        let kept = pieces.iter().take_while(|piece| **piece != Piece::Name);
        let text = spelled(&kept.cloned().collect::<Vec<_>>());
        let edge = text.rfind(['>', ']', '|']).map_or(text.len(), |at| at + 1);
        let (marker, word) = text.split_at(edge);
        if !word.is_empty() {
            prefix = Some(word.to_owned());
        }
        marker.to_owned()
    };
    (open.iter().map(&mut cut).collect(), prefix)
}

/// What must follow an opener that a person can type. Openers spelled like special tokens need no probe.
fn probe(unit: &Unit, open: &[String], close: &[String]) -> Vec<String> {
    let special = |open: &String| open.contains(['|', '｜']);
    if open.iter().all(special) {
        return vec![];
    }
    let follows: Vec<String> = match &unit.payload {
        Payload::Json => {
            let names = unit.open.iter().all(|open| open.contains(&Piece::Name));
            let starts: &[&str] = if names {
                &["$_$^{"]
            } else {
                &["$_$^{", "$_$^["]
            };
            starts.iter().map(|start| (*start).to_owned()).collect()
        }
        Payload::Params { open, .. } => {
            let starts = [head(&spelled(open))].into_iter();
            let ends = close.iter().map(|close| head(close));
            starts.chain(ends).map(|text| format!("$_{text}")).collect()
        }
        Payload::Braces { .. } => return vec![],
    };
    let mut out: Vec<String> = vec![];
    for rest in open.iter().map(|open| &open[head(open).len()..]) {
        out.extend(
            follows
                .iter()
                .map(|follow| format!("{rest}{follow}").replace("$_$_", "$_")),
        );
    }
    out.sort();
    out.dedup();
    out
}

/// The literal beginning of a pattern.
fn head(pattern: &str) -> String {
    let mut from = 0;
    while let Some(at) = pattern[from..].find('$') {
        // A doubled sign is the sign itself.
        if !pattern[from + at + 1..].starts_with('$') {
            return pattern[..from + at].to_owned();
        }
        from += at + 2;
    }
    pattern.to_owned()
}

fn reasoning(out: &mut String, one: &Reasoning) {
    let (open, close) = (list(&one.open), list(&one.close));
    let _ = writeln!(out, "\n[[reasoning]]\nopen = {open}\nclose = {close}");
    let _ = writeln!(out, "at = \"line-start\"");
    if one.implicit {
        let _ = writeln!(out, "implicit = true");
    }
}

/// Writes a string as TOML. JSON escapes are valid in TOML, which requires one more control character to be escaped.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text)
        .to_string()
        .replace('\u{7f}', "\\u007f")
}

fn list(items: &[String]) -> String {
    let items: Vec<String> = items.iter().map(|item| quoted(item)).collect();
    format!("[{}]", items.join(", "))
}
