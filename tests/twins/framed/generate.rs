//! Random outputs in a framed dialect, made of the patterns of its own file.

use crate::naive::generate::Gen;
use crate::naive::pieces::SENTENCES;

use super::pattern::{Part, Pattern};
use super::spec::{Channels, Route, Spec, Unit};

/// Tools on offer, with every type.
pub const TOOLS: &str = r#"[
  {"name": "go", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}, "path": {"type": "string"},
   "l": {"type": "array", "items": {"type": "integer"}}, "o": {"type": "object"}, "b": {"type": "boolean"}}}},
  {"name": "read_file", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}]"#;

const NAMES: &[&str] = &[
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
const KEYS: &[&str] = &["path", "n", "l", "o", "b", "k_2", "路径"];
const JSON: &[&str] = &[
    "\"a text\"",
    "\"\"",
    "\"a \\\"quoted\\\" word\\n\\u00e9\"",
    "1",
    "-2.50e+3",
    "true",
    "null",
    "[1, [], {}]",
    "{\"deep\": {\"er\": [null]}}",
    "\"}] </x> <|y|>\"",
    "\"文\"",
    "[ ]",
    "{ }",
];
const BROKEN_JSON: &[&str] = &[
    "tru",
    "01",
    "\"\\x\"",
    "'a'",
    "+1",
    "\"line\nend\"",
    "{a: 1}",
    "[1,]",
    "1.",
    "-",
];
const PYTHON: &[&str] = &[
    "\"a text\"",
    "'it'",
    "1",
    "-2.5",
    "True",
    "None",
    "[1, 'a', ()]",
    "{'k': [1, 2]}",
    "'a\\'b\\n'",
    "(1, 2)",
    "'文'",
    "\"[f(a=1)]\"",
];
const TEXTS: &[&str] = &[
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
const BARE: &[&str] = &[
    "7",
    "-2.50e+3",
    "true",
    "null",
    "word",
    "two words ",
    "nullx",
    "01",
    "1.",
    "<|",
    "文",
    "a\nb",
    "tru e",
    "7 8",
    "a\"b",
];
const YAML: &[&str] = &[
    "word",
    "two words",
    "7",
    "-2.50e+3",
    "0070",
    "0x1F",
    "0o17",
    "+5",
    ".5",
    "1_000",
    ".nan",
    "true",
    "True",
    "yes",
    "null",
    "~",
    "Hut: repairs",
    "a#b",
    "http://x.y/z",
    "-x",
    "文",
    "\u{3000}文\u{3000}",
    "\u{a0}",
    "'it''s'",
    "'# no: comment \\n'",
    "''",
    "\"\"",
    "\"a \\\"b\\\" \\u00e9\\n\\x41\\t\"",
    "\"\\ud83d\\ude00 \\ud800\"",
    "\"a \\\n   b\"",
    "\"a \\\r\n   b\"",
    "\"a \\\n\n   b\"",
    "\"]} </x> [\"",
    "[1, 2]",
    "{a: 1}",
    "&x 1",
    "*x",
    "!!str 1",
    "- x",
    "'cut",
    "\"\\q\"",
    "'x' y",
    "`x`",
    "a, b",
];
const YAML_LINES: &[&str] = &[
    "a line",
    "",
    "key: value",
    "# no comment",
    "- x",
    "</x> <go>",
    "  deep",
    "文 ",
    "\"",
    "a\tb",
];
const GAPS: &[&str] = &["", "", "\n", " ", "\n\n  "];

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

fn prose(g: &mut Gen, spec: &Spec) {
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
    }
    let at = g.below(all.len() + words.len());
    let text = match all.get(at) {
        Some(pattern) => write(g, pattern, &[])
            .concat()
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

/// A pattern with something in its holes, as pieces; some of them are given.
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

/// Pushes a marker; `attributes` is what its tag says, `given` what stands in other holes.
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

/// A message with its header; the body is mostly what the header says.
fn message(g: &mut Gen, spec: &Spec, channels: &Channels) {
    // Most messages are calls, where there are any.
    let calls = |route: &&Route| route.kind.starts_with("call");
    let of_calls: Vec<&Route> = channels.routes.iter().filter(calls).collect();
    let route = match of_calls.len() {
        0 => &channels.routes[g.below(channels.routes.len())],
        _ if g.chance(40) => &channels.routes[g.below(channels.routes.len())],
        some => of_calls[g.below(some)],
    };
    header(g, channels, route);
    match route.kind.as_str() {
        "call" if g.chance(95) => {
            let unit = &spec.units[g.below(spec.units.len())];
            call(g, spec, unit, "");
        }
        "calls" if g.chance(95) => {
            block(g, spec);
            if spec.section.is_some() && g.chance(80) {
                let close = g.below(channels.close.len());
                g.push(channels.close[close].clone());
            }
        }
        _ => {
            for _ in 0..g.below(3) {
                prose(g, spec);
            }
            if g.chance(85) {
                let close = g.below(channels.close.len());
                g.push(channels.close[close].clone());
            }
        }
    }
    if g.chance(20) {
        prose(g, spec);
    }
}

fn header(g: &mut Gen, channels: &Channels, route: &Route) {
    let first = g.pieces.is_empty() && !channels.first.is_empty() && g.chance(50);
    let mut start = channels.start[g.below(channels.start.len())].clone();
    if first {
        start.clone_from(&channels.first);
    }
    g.push(start.clone());
    if channels.end.contains(&start) {
        return;
    }
    let of = |g: &mut Gen, wanted: &Option<Vec<String>>| {
        let any = g.pick(&["", "", "final", "json", "a/b"]).to_owned();
        let Some(wanted) = wanted.as_ref().filter(|_| g.chance(95)) else {
            return any;
        };
        let word = &wanted[g.below(wanted.len())];
        match word.as_str() {
            "*" => g
                .pick(&[
                    "go",
                    "read_file",
                    "functions.go",
                    "查",
                    "analysis",
                    "go",
                    "a<b",
                ])
                .to_owned(),
            word => word.to_owned(),
        }
    };
    let recipient = of(g, &route.recipient);
    let channel = of(g, &route.channel);
    let content = of(g, &route.content);
    let mut parts: Vec<(&str, String)> = vec![];
    for (before, word) in [
        (&channels.recipient, recipient),
        (&channels.channel, channel),
    ] {
        if !word.is_empty() && !before.is_empty() {
            parts.push((before, format!("{before}{word}")));
        }
    }
    if g.chance(30) && !first {
        parts.reverse();
    }
    if !content.is_empty() && !channels.content.is_empty() {
        let before = if g.chance(30) { " " } else { &channels.content };
        parts.push((before, format!("{before}{content}")));
    }
    // What the beginning has said already need not be said again.
    if let Some(at) = parts
        .iter()
        .position(|(before, _)| *before == start.as_str())
    {
        let (_, text) = parts.remove(at);
        g.push(text[start.len()..].to_owned());
    } else if start != channels.first {
        let role = g.pick(&["assistant", "assistant", "", "go"]);
        g.push(role);
    }
    for (_, text) in parts {
        let gap = g.pick(&["", "", " "]);
        g.push(gap);
        g.push(text);
    }
    if g.chance(3) {
        // About as long as a header may be.
        let len = 440 + g.below(90);
        g.push("x".repeat(len));
    }
    let end = match &route.end {
        Some(ends) => ends[0].clone(),
        None => channels.end[g.below(channels.end.len())].clone(),
    };
    g.push(end);
}

fn block(g: &mut Gen, spec: &Spec) {
    let in_section = spec.section.is_some() && !(spec.stands_alone() && g.chance(25));
    let calls = if in_section { g.below(4) } else { 1 };
    let fix = g.pick(&["", ":7b2e"]);
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

/// The name of a tool, maybe of one that the unit has a rule for.
fn tool<'s>(g: &mut Gen, unit: &'s Unit) -> &'s str {
    let rules = unit.content.iter().flat_map(|content| &content.rules);
    match rules.flat_map(|rule| &rule.tools).next() {
        Some(name) if g.chance(50) => name,
        _ => g.pick(NAMES),
    }
}

fn call(g: &mut Gen, spec: &Spec, unit: &Unit, fix: &str) {
    let name = tool(g, unit);
    let fix = if unit.fix_name { name } else { fix };
    let given: &[(&str, &str)] = if unit.fix_name {
        &[("name", name)]
    } else {
        &[("x", fix)]
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
        "arguments" => object(g),
        "python" => python(g, spec),
        "yaml" => yaml(g),
        "braces" => braces(g, spec),
        _ => json(g, spec),
    }
    let gap = g.pick(GAPS);
    g.push(gap);
    marker(g, &unit.close, &[], &[("x", fix)]);
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

fn object(g: &mut Gen) {
    g.push("{");
    for at in 0..g.below(4) {
        g.push(if at > 0 { ", " } else { "" });
        let key = g.pick(KEYS);
        g.push(format!("\"{key}\""));
        let colon = g.pick(&[":", ": ", " :\n"]);
        g.push(colon);
        let value = if g.chance(96) {
            g.pick(JSON)
        } else {
            g.pick(BROKEN_JSON)
        };
        g.push(value);
    }
    let gap = g.pick(GAPS);
    g.push(gap);
    g.push("}");
}

fn json(g: &mut Gen, spec: &Spec) {
    let list = g.chance(40);
    g.push(if list { "[" } else { "" });
    for at in 0..if list { g.below(4) } else { 1 } {
        g.push(if at > 0 { ", " } else { "" });
        named(g, spec);
    }
    g.push(if list { "]" } else { "" });
}

fn named(g: &mut Gen, spec: &Spec) {
    let rules = &spec.json;
    let name = g.pick(NAMES);
    g.push("{");
    if rules.name_is_key {
        g.push(format!("\"{name}\": "));
        object(g);
        g.push("}");
        return;
    }
    let wrapped = !rules.wrapper.is_empty() && g.chance(60);
    if wrapped {
        g.push(format!("\"{}\": {{", rules.wrapper[0]));
    }
    let key = g.below(rules.name.len());
    let name = format!("\"{}\": \"{name}\"", rules.name[key]);
    let key = g.below(rules.arguments.len());
    let last = g.chance(15);
    if !last {
        g.push(name.clone());
        g.push(", ");
    }
    if g.chance(10) {
        g.push("\"extra\": ");
        let value = g.pick(JSON);
        g.push(value);
        g.push(", ");
    }
    g.push(format!("\"{}\": ", rules.arguments[key]));
    match g.below(12) {
        0 => g.push("\"{\\\"path\\\": \\\"a\\\"}\""),
        1 => g.push("null"),
        2 => {
            let value = g.pick(JSON);
            g.push(value);
        }
        _ => object(g),
    }
    if last {
        g.push(", ");
        g.push(name);
    }
    g.push(if wrapped { "}}" } else { "}" });
}

fn braces(g: &mut Gen, spec: &Spec) {
    let rules = &spec.braces;
    g.push(rules.prefix.clone());
    let name = g.pick(NAMES);
    g.push(name);
    members(g, spec, 2);
}

fn members(g: &mut Gen, spec: &Spec, depth: usize) {
    g.push("{");
    for at in 0..g.below(4) {
        g.push(if at > 0 { "," } else { "" });
        let key = g.pick(KEYS);
        let quote = delimiter(g, spec, 90);
        g.push(format!("{quote}{key}{quote}"));
        let colon = g.pick(&[":", ":", ": ", " :"]);
        g.push(colon);
        in_braces(g, spec, depth);
    }
    let gap = g.pick(GAPS);
    g.push(gap);
    g.push("}");
}

/// What encloses a text; nothing in so many of a hundred.
fn delimiter(g: &mut Gen, spec: &Spec, none: usize) -> String {
    if g.chance(none) || spec.braces.delimiters.is_empty() {
        return String::new();
    }
    let at = g.below(spec.braces.delimiters.len());
    spec.braces.delimiters[at].clone()
}

fn in_braces(g: &mut Gen, spec: &Spec, depth: usize) {
    let nested = !spec.braces.all_delimited && depth > 0;
    match g.below(10) {
        0 if nested => members(g, spec, depth - 1),
        1 if nested => {
            g.push("[");
            for at in 0..g.below(3) {
                g.push(if at > 0 { ", " } else { "" });
                in_braces(g, spec, depth - 1);
            }
            g.push("]");
        }
        2 => {
            let value = g.pick(JSON);
            g.push(value);
        }
        3 => {
            let value = g.pick(BARE);
            g.push(value);
        }
        _ => {
            let quote = delimiter(g, spec, 0);
            let text = g.pick(TEXTS);
            g.push(quote.clone());
            g.push(text);
            g.push(quote);
        }
    }
}

fn yaml(g: &mut Gen) {
    if g.chance(8) {
        flow(g, 2);
        return;
    }
    let start = g.pick(&["\n", "\n", "\n", "\n---\n", "\n# a comment\n\n", "\r\n"]);
    g.push(start);
    let column = g.pick(&[0, 0, 0, 2]);
    yaml_map(g, column, 2);
    // Blanks before the closer.
    let end = g.pick(&["", "", "", "  ", "\n"]);
    g.push(end);
}

fn yaml_map(g: &mut Gen, column: usize, depth: usize) {
    for _ in 0..g.below(4) {
        g.push(" ".repeat(column));
        yaml_pair(g, column, depth);
    }
}

fn yaml_pair(g: &mut Gen, column: usize, depth: usize) {
    let key = g.pick(KEYS);
    let quote = g.pick(&["", "", "", "\"", "'"]);
    g.push(format!("{quote}{key}{quote}:"));
    yaml_value(g, column, depth);
}

/// What stands behind a key, or a dash, at a column.
fn yaml_value(g: &mut Gen, column: usize, depth: usize) {
    let inner = " ".repeat(column + 1 + g.below(3));
    match g.below(if depth > 0 { 12 } else { 8 }) {
        0..4 => {
            let gap = g.pick(&[" ", " ", "  ", "\t"]);
            let value = g.pick(YAML);
            let comment = g.pick(&["", "", "", " # no", "#no", " "]);
            g.push(format!("{gap}{value}{comment}"));
        }
        4 => {
            let head = g.pick(&["|", "|-", "|+", ">", ">-", ">+", "|2", ">1-", "| # why"]);
            g.push(format!(" {head}\n"));
            for _ in 0..g.below(4) {
                let line = g.pick(YAML_LINES);
                let gap = g.pick(&["", "", "", "  "]);
                let filled = if line.is_empty() { "" } else { inner.as_str() };
                g.push(format!("{filled}{gap}{line}\n"));
            }
            return;
        }
        5 => {
            // Over several lines.
            let quote = g.pick(&["", "'", "\""]);
            let gap = g.pick(&["\n", "\n", " \n", "\n\n", "\n \n\n", "\r\n"]);
            g.push(format!(" {quote}one{gap}{inner}two{quote}"));
        }
        6 => {
            g.push(" ");
            flow(g, depth);
        }
        7 => {
            let end = g.pick(&["", " ", " # nothing"]);
            g.push(end);
        }
        8 | 9 => {
            g.push("\n");
            yaml_map(g, inner.len(), depth - 1);
            return;
        }
        _ => {
            g.push("\n");
            // A list may stand at the column of its key.
            let at = if g.chance(30) { column } else { inner.len() };
            for _ in 0..1 + g.below(3) {
                g.push(format!("{}-", " ".repeat(at)));
                match g.below(4) {
                    0 => {
                        g.push(" ");
                        yaml_pair(g, at + 2, depth - 1);
                        yaml_map(g, at + 2, depth - 1);
                    }
                    1 => {
                        g.push(" -");
                        yaml_value(g, at + 2, 0);
                    }
                    _ => yaml_value(g, at, depth - 1),
                }
            }
            return;
        }
    }
    let end = g.pick(&["\n", "\n", "\n", "\n\n", "\r\n"]);
    g.push(end);
}

fn flow(g: &mut Gen, depth: usize) {
    let list = g.chance(50);
    g.push(if list { "[" } else { "{" });
    for at in 0..g.below(4) {
        let comma = g.pick(&[",", ", ", " ,\n  ", ", # no\n  "]);
        g.push(if at > 0 { comma } else { "" });
        if !list {
            let key = g.pick(KEYS);
            let colon = g.pick(&[": ", ": ", ":", "", " : ", ":\n "]);
            let quote = g.pick(&["", "\""]);
            g.push(format!("{quote}{key}{quote}{colon}"));
        }
        if depth > 0 && g.chance(30) {
            flow(g, depth - 1);
        } else {
            let value = g.pick(YAML);
            g.push(value);
        }
    }
    let end = g.pick(&["", "", ",", "\n", " "]);
    g.push(end);
    g.push(if list { "]" } else { "}" });
}

fn python(g: &mut Gen, spec: &Spec) {
    let rules = &spec.python;
    let list = match rules.brackets.as_str() {
        "required" => true,
        "optional" => g.chance(60),
        _ => false,
    };
    let count = if rules.brackets == "one" {
        1
    } else {
        g.below(4)
    };
    g.push(if list { "[" } else { "" });
    for at in 0..count {
        g.push(match (at > 0, list) {
            (false, _) => "",
            (true, true) => ", ",
            (true, false) => "\n",
        });
        let name = g.pick(NAMES);
        g.push(format!("{name}{}", rules.method));
        g.push("(");
        for at in 0..g.below(4) {
            g.push(if at > 0 { ", " } else { "" });
            let key = g.pick(KEYS);
            g.push(key);
            let equals = g.pick(&["=", "=", " = "]);
            g.push(equals);
            let value = g.pick(PYTHON);
            g.push(value);
        }
        g.push(")");
    }
    g.push(if list { "]" } else { "" });
}
