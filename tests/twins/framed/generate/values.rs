//! Payloads with typed values: JSON, Python and braces.

use crate::naive::generate::Gen;

use crate::naive::framed::spec::Spec;

use super::{GAPS, KEYS, NAMES, TEXTS};

pub(super) const JSON: &[&str] = &[
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

const QUOTED: &[&str] = &[
    "\"7\"",
    "'-2.5'",
    "\"true\"",
    "'True'",
    "\"null\"",
    "'[1, 2]'",
    "\"[\\\"a\\\", {}]\"",
    "'{\"a\": 1}'",
    "\"{broken\"",
    "'[1,'",
    "\" 7 \"",
    "\"a text\"",
    "\"\"",
    "'文'",
    "\"1.0\"",
    "'\\x37'",
    "\"07\"",
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

pub(super) fn object(g: &mut Gen, as_python: bool) {
    g.push("{");
    for at in 0..g.below(4) {
        g.push(if at > 0 { ", " } else { "" });
        let key = g.pick(KEYS);
        g.push(quoted(key, as_python));
        let colon = g.pick(&[":", ": ", " :\n"]);
        g.push(colon);
        let value = match g.chance(96) {
            true if as_python => g.pick(PYTHON),
            true => g.pick(JSON),
            false => g.pick(BROKEN_JSON),
        };
        g.push(value);
    }
    let gap = g.pick(GAPS);
    g.push(gap);
    g.push("}");
}

/// A key, or a name, as a string.
fn quoted(text: &str, as_python: bool) -> String {
    match as_python {
        true => format!("'{text}'"),
        false => format!("\"{text}\""),
    }
}

pub(super) fn json(g: &mut Gen, spec: &Spec) {
    if g.chance(40) {
        list(g, spec);
        return;
    }
    // Mutations remove, double or move single pieces; a piece may be empty.
    g.push("");
    g.push("");
    named(g, spec);
    g.push("");
}

fn list(g: &mut Gen, spec: &Spec) {
    g.push("[");
    for at in 0..g.below(4) {
        g.push(if at > 0 { ", " } else { "" });
        named(g, spec);
    }
    g.push("]");
}

fn named(g: &mut Gen, spec: &Spec) {
    let rules = &spec.json;
    let name = g.pick(NAMES);
    let key_of = |key: &str| quoted(key, rules.python);
    g.push("{");
    if rules.name_is_key {
        g.push(format!("{}: ", key_of(name)));
        object(g, rules.python);
        g.push("}");
        return;
    }
    let wrapped = !rules.wrapper.is_empty() && g.chance(60);
    if wrapped {
        g.push(format!("{}: {{", key_of(&rules.wrapper[0])));
    }
    let key = g.below(rules.name.len());
    let name = format!("{}: {}", key_of(&rules.name[key]), key_of(name));
    let key = g.below(rules.arguments.len());
    let last = g.chance(15);
    if !last {
        g.push(name.clone());
        g.push(", ");
    }
    if g.chance(10) {
        g.push(format!("{}: ", key_of("extra")));
        let value = g.pick(if rules.python { PYTHON } else { JSON });
        g.push(value);
        g.push(", ");
    }
    g.push(format!("{}: ", key_of(&rules.arguments[key])));
    match g.below(12) {
        0 => g.push("\"{\\\"path\\\": \\\"a\\\"}\""),
        1 => g.push(if rules.python { "None" } else { "null" }),
        2 => {
            let value = g.pick(if rules.python { PYTHON } else { JSON });
            g.push(value);
        }
        _ => object(g, rules.python),
    }
    if last {
        g.push(", ");
        g.push(name);
    }
    g.push(if wrapped { "}}" } else { "}" });
}

pub(super) fn braces(g: &mut Gen, spec: &Spec) {
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

/// The delimiter of a text; empty in `none` percent of the cases.
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

pub(super) fn python(g: &mut Gen, spec: &Spec) {
    let rules = &spec.python;
    if rules.json && g.chance(40) {
        list(g, spec);
        return;
    }
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
            // Where quotes only delimit, quoted text is typed like plain text.
            let value = match rules.quoted_typed && g.chance(60) {
                true => g.pick(QUOTED),
                false => g.pick(PYTHON),
            };
            g.push(value);
        }
        g.push(")");
    }
    g.push(if list { "]" } else { "" });
}
