//! YAML.

use crate::naive::generate::Gen;

use super::KEYS;

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

pub(super) fn yaml(g: &mut Gen) {
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

/// What follows a key or a dash at a column.
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
            // A list may have the column of its key.
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
