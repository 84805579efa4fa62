//! The evidence that must follow an opener if the dialect's file does not define it.

use toml::{Table, Value};

use super::spec::{strings, word};

/// The evidence for the section and for a unit: from the file, otherwise from the grammar.
pub(super) fn evidence(framed: &Table) -> (Vec<String>, impl Fn(&Table) -> Vec<String>) {
    let table = |key: &str| framed.get(key).and_then(Value::as_table).cloned();
    let (param, tree, python, braces) = (
        table("param"),
        table("tree"),
        table("python"),
        table("braces"),
    );
    const OBJECT: [&str; 3] = ["{$_\"", "{$_'", "{$_}"];
    const LIST: [&str; 4] = ["[$_{", "[$_]", "[$_\"", "[$_'"];
    let list = |parts: &[&str]| -> Vec<String> { parts.iter().map(|p| (*p).to_owned()).collect() };
    let payload = move |unit: &Table| -> Vec<String> {
        let close = strings(unit, "close", &[]);
        let tags = |param: &Option<Table>| -> Vec<String> {
            let open = param.iter().flat_map(|param| strings(param, "open", &[]));
            let first = open.map(|open| match open.find('$') {
                Some(at) if at > 1 => open[..at].to_owned(),
                _ => open,
            });
            first.chain(close.clone()).collect()
        };
        let first = match word(unit, "payload", "").as_str() {
            "json" => [list(&OBJECT), list(&LIST)].concat(),
            "arguments" => [list(&OBJECT), vec!["\"$_{".to_owned()]].concat(),
            "params" => tags(&param),
            "tree" => tags(&tree),
            "braces" => {
                let prefix = braces
                    .as_ref()
                    .map(|b| word(b, "prefix", ""))
                    .unwrap_or_default();
                vec![format!("{prefix}$_$name$_{{")]
            }
            "python" => {
                let python = python.clone().unwrap_or_default();
                let call = format!("$name{}$_(", word(&python, "method", ""));
                let mut bracketed = vec![format!("[$_{call}"), "[$_]".to_owned()];
                if python
                    .get("json")
                    .is_some_and(|json| json.as_bool() == Some(true))
                {
                    bracketed.extend(list(&LIST));
                    bracketed.extend(list(&OBJECT));
                }
                match word(&python, "brackets", "optional").as_str() {
                    "required" => bracketed,
                    "optional" => [bracketed, vec![call]].concat(),
                    _ => vec![call],
                }
            }
            _ => vec![],
        };
        first.iter().map(|first| format!("$_{first}")).collect()
    };
    let first = payload.clone();
    let whole = table("param").map_or(vec![], |param| strings(&param, "whole", &[]));
    let sectioned = table("section").is_some();
    let behind = move |unit: &Table, open: &str, rest: &str| -> Vec<String> {
        let last = ["$name", "$id", "$tag"]
            .iter()
            .filter_map(|hole| Some((open.rfind(hole)?, hole.len())))
            .max();
        let token = |rest: &str| {
            !rest
                .replace("$_", "")
                .replace("$/", "")
                .replace("$x", "")
                .is_empty()
        };
        let all = payload(unit);
        if all.is_empty() || last.is_some_and(|(at, len)| token(&open[at + len..])) {
            return vec![rest.to_owned()];
        }
        let rest = rest.find("$^").map_or(rest, |at| &rest[..at]);
        all.iter().map(|first| format!("{rest}{first}")).collect()
    };
    let deepened = |probe: Vec<String>| -> Vec<String> {
        let named = |p: &str| {
            ["$name", "$id", "$tag", "$^"]
                .iter()
                .any(|hole| p.contains(hole))
        };
        let deeper = |p: String| match p.as_bytes().last() {
            Some(b'{') if !named(&p) => OBJECT
                .iter()
                .map(|f| format!("{}{f}", &p[..p.len() - 1]))
                .collect(),
            Some(b'[') if !named(&p) => LIST
                .iter()
                .map(|f| format!("{}{f}", &p[..p.len() - 1]))
                .collect(),
            _ => vec![p],
        };
        let mut all: Vec<String> = probe.into_iter().flat_map(deeper).collect();
        // Single quotes are a slip.
        let single = |p: &String| {
            let at = p.find("{$_\"")?;
            Some(p[..at].to_owned() + &p[at..].replace('"', "'"))
        };
        all.extend(all.iter().filter_map(single).collect::<Vec<_>>());
        all
    };
    // A string may hold arguments.
    let with_strings = |mut probe: Vec<String>, units: &[&Table]| -> Vec<String> {
        let arguments = |unit: &&Table| word(unit, "payload", "") == "arguments";
        if units.iter().all(arguments) {
            let head = |p: &String| {
                let head = &p[..p.find('{')?];
                Some(format!("{}\"$_{{", head.trim_end_matches("$^")))
            };
            probe.extend(probe.iter().filter_map(head).collect::<Vec<_>>());
        }
        probe
    };
    let units = framed
        .get("unit")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let mut of_section = vec![];
    if let Some(section) = table("section") {
        let all: Vec<&Table> = units.iter().filter_map(Value::as_table).collect();
        of_section = with_strings(deepened(strings(&section, "probe", &[])), &all);
        if of_section.is_empty() {
            for unit in units.iter().filter_map(Value::as_table) {
                for open in strings(unit, "open", &[]) {
                    of_section.extend(behind(unit, &open, &open));
                }
            }
            of_section.extend(strings(&section, "close", &[]));
            of_section.retain(|p| !p.is_empty());
            of_section = of_section.iter().map(|p| format!("$_{p}")).collect();
        }
    }
    let of_unit = move |unit: &Table| {
        let probe = with_strings(deepened(strings(unit, "probe", &[])), &[unit]);
        if !probe.is_empty() || unit.contains_key("bare") {
            return probe;
        }
        let mut out = vec![];
        for open in strings(unit, "open", &[])
            .iter()
            .filter(|open| !open.starts_with("$^"))
        {
            let rest = open.find('$').map_or("", |at| &open[at..]);
            // Without its section, the tag of a call needs what comes first in it.
            let tag = open.contains("$tag") && !open.contains("$^");
            match sectioned && tag && word(unit, "payload", "") == "params" {
                true => {
                    let whole = whole.iter().map(|open| format!("$_{open}"));
                    let all = first(unit).into_iter().chain(whole);
                    out.extend(all.map(|first| format!("{rest}{first}")));
                }
                false => out.extend(behind(unit, open, rest)),
            }
        }
        out.retain(|p| !p.is_empty());
        out
    };
    (of_section, of_unit)
}
