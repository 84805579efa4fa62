//! What must follow the marker of a framed block before it opens one.
//!
//! A marker alone is not evidence, however it is spelled: people mention markers. Evidence is the next complete structural
//! token: for JSON, a bracket and what may come first in it; for a section, a call's opener with its own evidence, or the
//! section's closer; for a name, what must follow it; for a tag, the whole tag, with an attribute. A file overrides this
//! (`probe`) if its models need more or less. Free text has no evidence.

use toolglot_scan::path::{self, Hole, Part};

use super::spec::{self, Brackets, Payload};

/// What a pattern of evidence requires in addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Evidence {
    Whole,
    /// Its tag must have an attribute.
    Attribute,
    /// It is a name and a closer: a call without arguments, or a placeholder between the markers.
    Name,
}

impl Evidence {
    pub fn of(pattern: &str) -> Self {
        let name = pattern.split_once("$name");
        let after = name.map_or("", |(_, after)| {
            after.trim_start_matches(|hole| "$/_ ".contains(hole))
        });
        if pattern.contains("$tag") {
            Self::Attribute
        } else if after.starts_with("</") {
            Self::Name
        } else {
            Self::Whole
        }
    }
}

/// What may come first in a JSON object or list.
const OBJECT: [&str; 4] = ["{$_\"", "{$_'", "{$_}", "{{$_\""];
const LIST: [&str; 4] = ["[$_{", "[$_]", "[$_\"", "[$_'"];

/// What may open a code fence around it.
const FENCES: [&str; 2] = ["```", "```json"];

/// What must follow the opener of a section.
pub(super) fn of_section(spec: &spec::Framed, opener: &str) -> Vec<String> {
    let Some(section) = &spec.section else {
        return vec![];
    };
    if !section.probe.is_empty() {
        let probe = deepened(&with_objects(spec, &section.probe));
        let probe = with_strings(spec.unit.iter(), whole_names(probe));
        let arguments = |unit: &&spec::Unit| unit.payload == Payload::Arguments;
        return match spec.unit.iter().find(arguments) {
            Some(unit) => fenced(unit, "", probe),
            None => probe,
        };
    }
    let mut out = vec![];
    for unit in &spec.unit {
        for open in &unit.open {
            match open.find("$^") {
                Some(0) => out.extend(payload(spec, unit)),
                _ => out.extend(continuation(spec, unit, open, open)),
            }
        }
    }
    out.extend(section.close.iter().cloned());
    out.retain(|pattern| !pattern.is_empty());
    // The rest of its own tag comes first.
    let rest = holes(opener);
    out.iter()
        .map(|pattern| format!("{rest}$_{pattern}"))
        .collect()
}

/// What must follow a message's header that consists of one marker, if the message is a call.
pub(super) fn of_message(spec: &spec::Framed) -> Vec<String> {
    let mut out = vec![];
    if let Some(section) = &spec.section {
        out.extend(section.open.iter().map(|open| format!("$_{open}")));
        if !section.optional {
            return out;
        }
    }
    for unit in &spec.unit {
        for open in &unit.open {
            match path::literal(open).as_deref() {
                Ok("") | Err(_) => out.extend(payload(spec, unit)),
                Ok(_) => out.extend(continuation(spec, unit, open, open)),
            }
        }
    }
    out.retain(|pattern| !pattern.is_empty());
    out
}

/// What must follow the literal beginning of a call's opener.
pub(super) fn of_unit(spec: &spec::Framed, unit: &spec::Unit, open: &str) -> Vec<String> {
    if !unit.probe.is_empty() {
        let probe = deepened(&with_objects(spec, &unit.probe));
        return fenced(unit, open, with_strings([unit], whole_names(probe)));
    }
    if unit.bare.is_some() || open.starts_with("$^") {
        return vec![];
    }
    let mut out = continuation(spec, unit, open, holes(open));
    // People quote the tag of a call. Without its section, what comes first in the call must follow.
    let mentioned = spec.section.is_some() && unit.payload == Payload::Params;
    if let [whole] = &out[..]
        && mentioned
        && whole.contains("$tag")
        && !whole.contains("$^")
    {
        let objects = spec.param.iter().flat_map(|param| &param.whole);
        let objects = objects.map(|open| format!("$_{open}"));
        let first = payload(spec, unit).into_iter().chain(objects);
        out = first.map(|first| format!("{whole}{first}")).collect();
    }
    out.retain(|pattern| !pattern.is_empty());
    fenced(unit, open, out)
}

/// The closers of a call in JSON, with its arguments in JSON, or with an object in place of parameters, that follow the end of a code
/// fence around it.
pub(super) fn fence_ends(unit: &spec::Unit) -> Vec<String> {
    let json = matches!(
        unit.payload,
        Payload::Json | Payload::Arguments | Payload::Params | Payload::Tree
    );
    let plain = unit
        .close
        .iter()
        .filter(|close| json && !close.contains('`'));
    plain.map(|close| format!("```$_{close}")).collect()
}

/// What an object in place of parameters may begin with.
pub(super) fn objects(unit: &spec::Unit) -> Vec<String> {
    let bare = "$^{".to_owned();
    let fenced = !unit.close.iter().any(|close| close.contains('`'));
    let fences = FENCES.iter().filter(|_| fenced);
    let fences = fences.map(|fence| format!("{fence}$_{bare}"));
    [bare.clone()].into_iter().chain(fences).collect()
}

/// The evidence after an opener, plus the same in a code fence, if the call or its arguments are JSON between markers.
fn fenced(unit: &spec::Unit, open: &str, mut probe: Vec<String>) -> Vec<String> {
    let whole = !open.contains('`') && !open.contains("$^");
    let begins: &[&str] = match unit.payload {
        Payload::Json => &["$_{", "$_["],
        Payload::Arguments => &["$_{"],
        _ => &[],
    };
    if !unit.close.is_empty() && whole {
        let shown = |pattern: &String| {
            let at = begins
                .iter()
                .filter_map(|begin| pattern.find(begin))
                .min()?;
            // Of JSON, only white space comes before it.
            let alone = unit.payload == Payload::Arguments || at == 0;
            alone.then(|| (pattern[..at].to_owned(), pattern[at..].to_owned()))
        };
        let plain: Vec<_> = probe.iter().filter_map(shown).collect();
        for fence in FENCES {
            let fenced = plain.iter();
            probe.extend(fenced.map(|(before, json)| format!("{before}$_{fence}{json}")));
        }
    }
    probe
}

/// The part of an opener from its first hole on.
fn holes(open: &str) -> &str {
    let hole = open.match_indices('$').find(|(at, _)| {
        let before = open[..*at].bytes().rev().take_while(|b| *b == b'$').count();
        before % 2 == 0 && !open[at + 1..].starts_with('$')
    });
    hole.map_or("", |(at, _)| &open[at..])
}

/// The rest of an opener and, unless a name in it is evidence enough, the beginning of its payload.
fn continuation(spec: &spec::Framed, unit: &spec::Unit, open: &str, rest: &str) -> Vec<String> {
    let parts = path::parts(open).unwrap_or_default();
    let named = |part: &Part| matches!(part, Part::Hole(Hole::Name | Hole::Id | Hole::Tag));
    let token = |part: &Part| matches!(part, Part::Bytes(_));
    let last = parts.iter().rposition(named);
    if last.is_some_and(|at| parts[at..].iter().any(token)) {
        return vec![rest.to_owned()];
    }
    let all = payload(spec, unit);
    if all.is_empty() {
        return vec![rest.to_owned()];
    }
    // The first byte of the payload is only looked at.
    let rest = rest.find("$^").map_or(rest, |at| &rest[..at]);
    let joined = |first: &String| format!("{rest}{first}");
    all.iter().map(joined).collect()
}

/// What the payload of a call begins with; empty if it is free text.
fn payload(spec: &spec::Framed, unit: &spec::Unit) -> Vec<String> {
    let blank = |first: &str| format!("$_{first}");
    let params = |param: &Option<spec::Param>| -> Vec<String> {
        let open = param.iter().flat_map(|param| &param.open);
        // The first token of a parameter's opener is enough.
        let first = open.map(|open| match path::literal(open) {
            Ok(literal) if literal.len() > 1 => literal,
            _ => open.clone(),
        });
        let object = OBJECT.iter().map(|first| (*first).to_owned());
        first
            .chain(unit.close.iter().cloned())
            .chain(object)
            .map(|first| blank(&first))
            .collect()
    };
    match unit.payload {
        Payload::Json => OBJECT
            .iter()
            .chain(&LIST)
            .map(|first| blank(first))
            .collect(),
        Payload::Arguments => {
            let object = OBJECT.iter().map(|first| blank(first));
            with_strings([unit], object.collect())
        }
        Payload::Params => params(&spec.param),
        Payload::Tree => params(&spec.tree),
        Payload::Braces => {
            // The word of the prefix may be missing.
            let prefix = &spec.braces.prefix;
            let colon = prefix.ends_with(':').then_some(":");
            let all = [prefix.as_str()].into_iter().chain(colon);
            all.map(|prefix| blank(&format!("{prefix}$_$name$_{{")))
                .collect()
        }
        Payload::Python => python(spec)
            .into_iter()
            .map(|first| blank(&first))
            .collect(),
        Payload::Mapping(_) | Payload::Content => vec![],
    }
}

fn python(spec: &spec::Framed) -> Vec<String> {
    let call = format!("$name{}$_(", spec.python.method);
    let list = [format!("[$_{call}"), "[$_]".to_owned()];
    let mut out = match spec.python.brackets {
        Brackets::Required => list.to_vec(),
        Brackets::Optional => list.into_iter().chain([call]).collect(),
        Brackets::Forbidden | Brackets::One => vec![call],
    };
    if spec.python.json {
        let first = LIST.iter().chain(&OBJECT);
        out.extend(first.map(|first| (*first).to_owned()));
        out.sort();
        out.dedup();
    }
    out
}

/// The patterns of a file, plus variants in which an object of all arguments replaces a parameter, or the end of a call without
/// parameters.
fn with_objects(spec: &spec::Framed, probe: &[String]) -> Vec<String> {
    let params = [&spec.param, &spec.tree];
    let mut opens: Vec<&String> = params.into_iter().flatten().flat_map(|p| &p.open).collect();
    if opens.is_empty() {
        return probe.to_vec();
    }
    opens.extend(spec.unit.iter().flat_map(|unit| &unit.close));
    let object = |pattern: &String| -> Vec<String> {
        // The first token at that place, or a part of it.
        let cut = pattern.rfind('<').filter(|at| {
            let token = &pattern[*at..];
            let token = token.trim_end_matches('>');
            opens.iter().any(|open| open.starts_with(token))
        });
        let head = cut.map(|cut| &pattern[..cut]);
        let all = head.map(|head| OBJECT.map(|first| format!("{head}{first}")));
        all.into_iter().flatten().collect()
    };
    let mut objects: Vec<String> = probe.iter().flat_map(object).collect();
    objects.sort();
    objects.dedup();
    probe.iter().cloned().chain(objects).collect()
}

/// Adds a string that holds the object where all `units` have arguments as JSON.
fn with_strings<'u>(
    units: impl IntoIterator<Item = &'u spec::Unit>,
    probe: Vec<String>,
) -> Vec<String> {
    let arguments = |unit: &spec::Unit| unit.payload == Payload::Arguments;
    if !units.into_iter().all(arguments) {
        return probe;
    }
    let head = |pattern: &String| {
        let head = &pattern[..pattern.find('{')?];
        let head = head.strip_suffix("$^").unwrap_or(head);
        Some(format!("{head}\"$_{{"))
    };
    let mut strings: Vec<String> = probe.iter().filter_map(head).collect();
    strings.dedup();
    probe.iter().cloned().chain(strings).collect()
}

/// What may follow the name of a tag.
const AFTER_NAME: [&str; 7] = [" ", "\t", "\n", "\r", ">", "/", ":"];

/// The patterns, with the end of the name where one ends in the name of a tag: `<param` is not the beginning of `<params>`.
fn whole_names(probe: Vec<String>) -> Vec<String> {
    let in_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let names = |pattern: &String| {
        let name = pattern.rsplit_once('<').map_or("", |(_, name)| name);
        let name = name.strip_prefix("$x").unwrap_or(name);
        !name.is_empty() && name.bytes().all(in_name)
    };
    let (open, mut whole): (Vec<String>, Vec<String>) = probe.into_iter().partition(names);
    let ends = |pattern: &String| AFTER_NAME.map(|after| format!("{pattern}$^{after}"));
    whole.extend(open.iter().flat_map(ends));
    whole
}

/// The patterns of a file, extended where they end in a bracket, which alone is not evidence of JSON.
fn deepened(probe: &[String]) -> Vec<String> {
    let named = |pattern: &str| {
        ["$name", "$id", "$tag", "$^"]
            .iter()
            .any(|hole| pattern.contains(hole))
    };
    let mut out = vec![];
    for pattern in probe {
        let deeper: &[&str] = match pattern.as_bytes().last() {
            _ if named(pattern) => &[],
            Some(b'{') => &OBJECT,
            Some(b'[') => &LIST,
            _ => &[],
        };
        match pattern.get(..pattern.len().saturating_sub(1)) {
            Some(head) if !deeper.is_empty() => {
                out.extend(deeper.iter().map(|first| format!("{head}{first}")));
            }
            _ => out.push(pattern.clone()),
        }
    }
    // Single quotes are a slip, wherever the evidence ends.
    let single = |pattern: &String| {
        let at = pattern.find("{$_\"")?;
        Some(pattern[..at].to_owned() + &pattern[at..].replace('"', "'"))
    };
    let singles: Vec<String> = out.iter().filter_map(single).collect();
    out.extend(singles.into_iter().filter(|slip| !probe.contains(slip)));
    out
}
