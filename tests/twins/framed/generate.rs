//! Random outputs in a framed dialect, made from the patterns of its own file.

mod message;
mod values;
mod yaml;

use crate::naive::generate::Gen;
use crate::naive::pieces::SENTENCES;

use super::pattern::{Part, Pattern};
use super::spec::{Spec, Unit};

use message::message;
use values::{braces, json, object, python};
use yaml::yaml;

/// Declared tools, with every type.
pub const TOOLS: &str = r#"[
  {"name": "go", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}, "path": {"type": "string"},
   "l": {"type": "array", "items": {"type": "integer"}}, "o": {"type": "object"}, "b": {"type": "boolean"}}}},
  {"name": "read_file", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}]"#;

pub(super) const NAMES: &[&str] = &[
    "go",
    "go",
    "go",
    "read_file",
    "read_file",
    "t-1",
    "查",
    "a b",
    "x",
];

pub(super) const KEYS: &[&str] = &["path", "n", "l", "o", "b", "k_2", "路径"];

pub(super) const TEXTS: &[&str] = &[
    "a text",
    "",
    "\n",
    "\na line\n",
    "\n\ntwo\n\n",
    " 7 ",
    "7",
    "true",
    "[1, 2]",
    "{\"a\": 1}",
    "{broken",
    "\r\nwide\r\n",
    "a < b && c",
    "<b>bold</b>",
    "文",
    "a\nb",
    "null",
    "\nx\r\n",
];

pub(super) const GAPS: &[&str] = &["", "", "\n", " ", "\n\n  "];

/// One output.
pub fn sample(spec: &Spec, seed: u64) -> String {
    let mut g = Gen::new(seed);
    let special = |g: &mut Gen| special(g, spec);
    for _ in 0..=g.below(3) {
        match &spec.channels {
            Some(channels) => message(&mut g, spec, channels),
            None => {
                if g.chance(50) {
                    prose(&mut g, spec);
                }
                // Only where the position counts, so that it is usually the start of a line.
                if spec.fenced() && g.chance(60) {
                    g.push("\n");
                }
                block(&mut g, spec);
            }
        }
    }
    if g.chance(50) {
        prose(&mut g, spec);
    }
    if g.chance(45) {
        g.mutate(special);
    }
    g.finish()
}

pub(super) fn prose(g: &mut Gen, spec: &Spec) {
    let piece = if g.chance(80) {
        g.pick(SENTENCES).to_owned()
    } else {
        special(g, spec)
    };
    g.push(piece);
}

/// A marker of the dialect, or the beginning of one.
fn special(g: &mut Gen, spec: &Spec) -> String {
    let sections = spec
        .section
        .iter()
        .flat_map(|s| s.open.iter().chain(&s.close));
    let units = spec
        .units
        .iter()
        .flat_map(|u| u.open.iter().chain(&u.close));
    let params = spec.param.iter().chain(&spec.tree);
    let params = params.flat_map(|p| &p.open);
    let all: Vec<&Pattern> = sections.chain(units).chain(params).collect();
    let mut words: Vec<String> = spec.framing.clone();
    words.extend(
        spec.reasoning
            .iter()
            .flat_map(|r| r.open.iter().chain(&r.close).cloned()),
    );
    words.extend(spec.param.iter().flat_map(|p| p.close.iter().cloned()));
    if let Some(channels) = &spec.channels {
        let lists = [&channels.start, &channels.end, &channels.close];
        words.extend(lists.into_iter().flatten().cloned());
        words.extend([channels.first.clone(), channels.recipient.clone()]);
        words.extend(spec.markup.iter().cloned());
    }
    words.extend(
        spec.spans
            .iter()
            .flat_map(|span| [span.open.clone(), span.close.clone()]),
    );
    let at = g.below(all.len() + words.len());
    let text = match all.get(at) {
        Some(pattern) => {
            let fix = match spec.fixes.is_empty() {
                true => None,
                false => Some(("x", suffix(g, spec))),
            };
            write(g, pattern, fix.as_slice()).concat()
        }
        .replace("$tag", " name=\"go\""),
        None => words[at - all.len()]
            .replace("$x", "")
            .replace("$key", "path"),
    };
    if g.chance(15) {
        let cut = g.below(text.chars().count() + 1);
        return text.chars().take(cut).collect();
    }
    text
}

/// The value of `$x`, or of the end of a fence, in a block.
fn suffix<'s>(g: &mut Gen, spec: &'s Spec) -> &'s str {
    match spec.fixes.as_slice() {
        [] if spec.fenced() => g.pick(&["", "", "`", "``"]),
        [] => g.pick(&["", ":7b2e"]),
        fixes => &fixes[g.below(fixes.len())],
    }
}

/// A pattern with its holes filled, as pieces; `given` sets some of the holes.
fn write(g: &mut Gen, pattern: &Pattern, given: &[(&str, &str)]) -> Vec<String> {
    let mut out: Vec<Vec<u8>> = vec![vec![]];
    for part in pattern {
        let text = match part {
            Part::Byte(b) => {
                out.last_mut().expect("never empty").push(*b);
                continue;
            }
            Part::Peek(_) => continue,
            Part::Blanks => g.pick(GAPS).to_owned(),
            Part::Lines => g.pick(&["", "\n"]).to_owned(),
            Part::Hole(hole) if given.iter().any(|(name, _)| name == hole) => {
                let found = given.iter().find(|(name, _)| name == hole);
                found.expect("it is given").1.to_owned()
            }
            Part::Hole("name") => g.pick(NAMES).to_owned(),
            Part::Hole("id") => {
                let name = g.pick(NAMES);
                match g.below(4) {
                    0 => name.to_owned(),
                    1 => format!("{name}:{}", g.below(3)),
                    _ => format!("functions.{name}:{}", g.below(3)),
                }
            }
            Part::Hole("key") => g.pick(KEYS).to_owned(),
            Part::Hole("tag") => String::from("$tag"),
            Part::Hole("x") => g.pick(&["", "", ":7b2e"]).to_owned(),
            Part::Hole("ticks") => g.pick(&["", "", "`"]).to_owned(),
            Part::Hole("digits") => g.below(30).to_string(),
            Part::Hole(_) => g
                .pick(&["string", "number", "boolean", "null", "object"])
                .to_owned(),
        };
        out.push(text.into_bytes());
        out.push(vec![]);
    }
    let text = |bytes| String::from_utf8(bytes).expect("patterns are text");
    out.into_iter().map(text).collect()
}

/// Pushes a marker; `attributes` are those of its tag, `given` sets other holes.
fn marker(g: &mut Gen, patterns: &[Pattern], attributes: &[(&str, &str)], given: &[(&str, &str)]) {
    if patterns.is_empty() {
        return;
    }
    let at = g.below(patterns.len());
    let mut tag = String::new();
    for (key, value) in attributes {
        let quote = g.pick(&["\"", "\"", "\"", "'"]);
        tag.push_str(&format!(" {key}={quote}{value}{quote}"));
    }
    if g.chance(3) {
        tag.push('/');
    }
    for piece in write(g, &patterns[at], given) {
        g.push(if piece == "$tag" { tag.clone() } else { piece });
    }
}

pub(super) fn block(g: &mut Gen, spec: &Spec) {
    let in_section = spec.section.is_some() && !(spec.stands_alone() && g.chance(25));
    let calls = if in_section { g.below(4) } else { 1 };
    let fix = suffix(g, spec);
    if let Some(section) = spec.section.as_ref().filter(|_| in_section) {
        marker(g, &section.open, &[], &[("x", fix)]);
    }
    for at in 0..calls {
        if let Some(section) = &spec.section
            && at > 0
            && g.chance(80)
        {
            marker(g, &section.separators, &[], &[("x", fix)]);
        }
        let gap = g.pick(GAPS);
        g.push(gap);
        let unit = &spec.units[g.below(spec.units.len())];
        call(g, spec, unit, fix);
    }
    if let Some(section) = spec.section.as_ref().filter(|_| in_section) {
        let gap = g.pick(GAPS);
        g.push(gap);
        marker(g, &section.close, &[], &[("x", fix)]);
    }
}

/// The name of a tool, possibly of one with its own rule in the unit.
fn tool<'s>(g: &mut Gen, unit: &'s Unit) -> &'s str {
    let rules = unit.content.iter().flat_map(|content| &content.rules);
    match rules.flat_map(|rule| &rule.tools).next() {
        Some(name) if g.chance(50) => name,
        _ => g.pick(NAMES),
    }
}

pub(super) fn call(g: &mut Gen, spec: &Spec, unit: &Unit, fix: &str) {
    let name = tool(g, unit);
    let fix = if unit.fix_name { name } else { fix };
    let given: &[(&str, &str)] = if unit.fix_name {
        &[("name", name)]
    } else {
        &[("x", fix), ("ticks", fix)]
    };
    let mut with = vec![];
    if g.chance(10) {
        with.push((g.pick(KEYS), "v &amp; w"));
    }
    with.push((unit.name.as_str(), name));
    for rule in unit.content.iter().flat_map(|content| &content.rules) {
        if let Some(key) = rule.requires.first().filter(|_| g.chance(80)) {
            with.push((key, g.pick(&["a.js", "b.md"])));
        }
    }
    marker(g, &unit.open, &with, given);
    match unit.payload.as_str() {
        "params" | "tree" => params(g, spec, unit, fix),
        "content" => {
            let text = g.pick(TEXTS);
            let text = if g.chance(30) {
                format!("\n```js\n{text}\n```\n")
            } else {
                text.to_owned()
            };
            g.push(text);
        }
        "arguments" => object(g, false),
        "python" => python(g, spec),
        "yaml" => yaml(g),
        "braces" => braces(g, spec),
        _ => json(g, spec),
    }
    let gap = g.pick(GAPS);
    g.push(gap);
    // A fence may close with more backticks, but not with fewer.
    let slip = spec.fenced() && g.chance(20);
    let ticks = if slip { g.pick(&["", "`", "```"]) } else { fix };
    marker(g, &unit.close, &[], &[("x", fix), ("ticks", ticks)]);
    if !unit.more.is_empty() && g.chance(30) {
        marker(g, &unit.more, &[], &[]);
        json(g, spec);
    }
}

fn params(g: &mut Gen, spec: &Spec, unit: &Unit, fix: &str) {
    let tree = unit.payload == "tree";
    let param = if tree { &spec.tree } else { &spec.param };
    let param = param.as_ref().expect("params have their table");
    for _ in 0..g.below(4) {
        let gap = g.pick(GAPS);
        g.push(gap);
        let key = g.pick(KEYS);
        let hint = param
            .hint
            .as_ref()
            .and_then(|hint| hint.attribute.as_deref());
        let told = g.pick(&["true", "false", "string", "number"]);
        let with: &[(&str, &str)] = match hint {
            Some(hint) if g.chance(70) => &[(&param.name, key), (hint, told)],
            _ => &[(&param.name, key)],
        };
        marker(g, &param.open, with, &[("x", fix), ("key", key)]);
        if tree && g.chance(40) {
            let open = write(g, &param.open[0], &[("x", fix), ("key", "$key")]).concat();
            let close = param.close[0].replace("$x", fix);
            elements(g, &open, &close, 2);
        }
        if param.cdata && g.chance(30) {
            g.push("<![CDATA[");
            let text = g.pick(TEXTS);
            g.push(text);
            g.push("]]>");
        }
        let value = if g.chance(90) {
            g.pick(TEXTS).to_owned()
        } else {
            special(g, spec)
        };
        g.push(value);
        let close = g.below(param.close.len());
        g.push(param.close[close].replace("$x", fix).replace("$key", key));
    }
    let gap = g.pick(GAPS);
    g.push(gap);
}

/// Elements in a value; `$key` in their tags is their name.
fn elements(g: &mut Gen, open: &str, close: &str, depth: usize) {
    let gap = g.pick(&["", "", "\n"]);
    for _ in 0..=g.below(2) {
        let name = g.pick(&["item", "item", "k", "path", "l"]);
        g.push(gap);
        g.push(open.replace("$key", name));
        if depth > 0 && g.chance(30) {
            elements(g, open, close, depth - 1);
        } else {
            let text = g.pick(TEXTS);
            g.push(text);
        }
        g.push(close.replace("$key", name));
    }
    g.push(gap);
}
