//! Grammars as trees, and their notations.

use std::fmt::Write;

use toolglot::json::Value as Json;

/// A grammar expression.
#[derive(Clone, Debug)]
pub(super) enum Expr {
    /// This text.
    Text(String),
    /// One character, none of these.
    NoneOf(Vec<char>),
    /// A reference to a rule.
    Rule(String),
    /// A sequence.
    Seq(Vec<Expr>),
    /// Alternatives.
    Or(Vec<Expr>),
    /// Any number of repetitions.
    Many(Box<Expr>),
    /// A JSON value of a schema, for notations that support schemas.
    Schema(Json),
}

/// Named rules, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Grammar {
    rules: Vec<(String, Expr)>,
}

impl Grammar {
    /// Adds a rule, unless there is one with that name.
    pub fn add(&mut self, name: &str, expr: Expr) {
        if !self.has(name) {
            self.rules.push((name.to_owned(), expr));
        }
    }

    pub fn has(&self, name: &str) -> bool {
        self.rules.iter().any(|(have, _)| have == name)
    }

    /// Adds a rule for any text without the characters in `never`, up to and including the first `closer`: the search
    /// automaton, state by state. Returns a reference to the rule.
    pub fn until(&mut self, closer: &str, never: &[char]) -> Expr {
        let hash = {
            let mut fnv = toolglot_scan::Fnv::default();
            fnv.add(closer.as_bytes());
            fnv.add(never.iter().collect::<String>().as_bytes());
            format!("until{:x}", fnv.0)
        };
        let start = format!("{hash}s0");
        if self.has(&start) {
            return Expr::Rule(start);
        }
        let chars: Vec<char> = closer.chars().collect();
        let mut letters = chars.clone();
        letters.sort_unstable();
        letters.dedup();
        let state = |index: usize| match index == chars.len() {
            true => Expr::Seq(vec![]),
            false => Expr::Rule(format!("{hash}s{index}")),
        };
        for index in 0..chars.len() {
            let mut ways = vec![];
            for letter in &letters {
                // A character that never occurs in a value may still occur in its closer.
                if never.contains(letter) && *letter != chars[index] {
                    continue;
                }
                let next = step(&chars, index, *letter);
                ways.push(Expr::Seq(vec![Expr::Text(letter.to_string()), state(next)]));
            }
            let other = letters.iter().chain(never).copied().collect();
            ways.push(Expr::Seq(vec![Expr::NoneOf(other), state(0)]));
            self.rules.push((format!("{hash}s{index}"), Expr::Or(ways)));
        }
        Expr::Rule(start)
    }

    /// The grammar in llama.cpp's notation.
    pub fn gbnf(&self) -> String {
        let mut out = String::new();
        for (name, expr) in self.rules.iter().rev() {
            let _ = writeln!(out, "{name} ::= {}", spell(expr, Notation::Gbnf, false));
        }
        out
    }

    /// The grammar in llguidance's notation.
    pub fn lark(&self) -> String {
        let mut out = "%llguidance {}\n".to_owned();
        for (name, expr) in self.rules.iter().rev() {
            let _ = writeln!(out, "{name}: {}", spell(expr, Notation::Lark, false));
        }
        out
    }
}

/// The length of the prefix of `closer` that a text ends with, given the length before this letter.
fn step(closer: &[char], index: usize, letter: char) -> usize {
    let mut text = closer[..index].to_vec();
    text.push(letter);
    let mut longest = text.len().min(closer.len());
    while !text.ends_with(&closer[..longest]) {
        longest -= 1;
    }
    longest
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Notation {
    Gbnf,
    Lark,
}

fn spell(expr: &Expr, notation: Notation, inside: bool) -> String {
    let list = |items: &[Expr], joint: &str| {
        let items = items.iter().map(|item| spell(item, notation, true));
        items
            .filter(|item| !item.is_empty())
            .collect::<Vec<_>>()
            .join(joint)
    };
    let empty = "\"\"".to_owned();
    match expr {
        Expr::Text(text) if text.is_empty() => {
            if inside {
                String::new()
            } else {
                empty
            }
        }
        // The lexer of llguidance takes the longest token and never backtracks, so each character is a separate token.
        Expr::Text(text) if notation == Notation::Lark => {
            let letters = text.chars().map(|c| quoted(&c.to_string()));
            letters.collect::<Vec<_>>().join(" ")
        }
        Expr::Text(text) => quoted(text),
        Expr::NoneOf(chars) => class(chars, notation),
        Expr::Rule(name) => name.clone(),
        Expr::Seq(items) => {
            let text = list(items, " ");
            if text.is_empty() && !inside {
                empty
            } else {
                text
            }
        }
        Expr::Or(items) => {
            let items: Vec<String> = items
                .iter()
                .map(|item| spell(item, notation, false))
                .collect();
            let text = items.join(" | ");
            if inside { format!("({text})") } else { text }
        }
        Expr::Many(item) => format!("({})*", spell(item, notation, false)),
        Expr::Schema(schema) => format!("%json {schema}"),
    }
}

fn quoted(text: &str) -> String {
    let mut out = "\"".to_owned();
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => out.push(c),
        }
    }
    out + "\""
}

fn class(chars: &[char], notation: Notation) -> String {
    let mut all = chars.to_vec();
    all.sort_unstable();
    all.dedup();
    let mut out = String::new();
    for c in all {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' | ']' | '[' | '^' | '-' => out.extend(['\\', c]),
            '/' if notation == Notation::Lark => out.push_str("\\/"),
            c => out.push(c),
        }
    }
    match notation {
        Notation::Gbnf => format!("[^{out}]"),
        Notation::Lark => format!("/[^{out}]/"),
    }
}
