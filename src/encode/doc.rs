//! JSON text as a tree that keeps what a value tree loses: spelling of numbers, lone surrogates, order of keys.
//!
//! The tree is an arena; nothing here recurses, so depth costs memory but no stack.

use std::collections::HashMap;

use toolglot_scan::json;

use crate::pointer::member as pointer;

/// A JSON string: text, or code units if it contains a lone surrogate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Text {
    Whole(String),
    Units(Vec<u16>),
}

impl Text {
    /// The text, unless it contains a lone surrogate.
    pub fn whole(&self) -> Option<&str> {
        match self {
            Self::Whole(text) => Some(text),
            Self::Units(_) => None,
        }
    }
}

/// One value; children are indices.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Null,
    Bool(bool),
    /// As it is spelled.
    Number(String),
    String(Text),
    Array(Vec<usize>),
    Object(Vec<(Text, usize)>),
}

/// How strings are escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    /// Escape only what JSON requires.
    Plain,
    /// Escape everything but ASCII letters, digits and spaces.
    Marks,
    /// Escape everything.
    All,
}

impl Spelling {
    pub const EVERY: [Self; 3] = [Self::Plain, Self::Marks, Self::All];
}

/// How values are written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Style<'s> {
    Json(Spelling),
    /// Python literals.
    Python(Spelling),
    /// Strings and keys between delimiters.
    Delimited(&'s str),
}

/// A JSON text; the root is node 0.
#[derive(Clone, Debug)]
pub(super) struct Doc {
    nodes: Vec<Node>,
}

impl Doc {
    /// Parses JSON text; the error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        Reader::new(text).read()
    }

    pub fn node(&self, index: usize) -> &Node {
        &self.nodes[index]
    }

    /// The number of values, including the root.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The members of the root, if it is an object.
    pub fn members(&self) -> Option<&[(Text, usize)]> {
        match &self.nodes[0] {
            Node::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The number of brackets open around the deepest value below `index`, including its own.
    pub fn depth(&self, index: usize) -> usize {
        let mut deepest = 0;
        let mut stack = vec![(index, 1)];
        while let Some((index, depth)) = stack.pop() {
            let children: Vec<usize> = match &self.nodes[index] {
                Node::Array(items) => items.clone(),
                Node::Object(members) => members.iter().map(|(_, at)| *at).collect(),
                _ => continue,
            };
            deepest = deepest.max(depth);
            stack.extend(children.into_iter().map(|at| (at, depth + 1)));
        }
        deepest
    }

    /// All strings below `index`, keys included.
    pub fn strings(&self, index: usize) -> Vec<&Text> {
        let mut out = vec![];
        let mut stack = vec![index];
        while let Some(index) = stack.pop() {
            match &self.nodes[index] {
                Node::String(text) => out.push(text),
                Node::Array(items) => stack.extend(items),
                Node::Object(members) => {
                    out.extend(members.iter().map(|(key, _)| key));
                    stack.extend(members.iter().map(|(_, at)| *at));
                }
                Node::Null | Node::Bool(_) | Node::Number(_) => {}
            }
        }
        out
    }

    /// The JSON pointer to a lone surrogate in the value, if any.
    pub fn half_pair(&self, index: usize) -> Option<String> {
        let mut stack = vec![(index, String::new())];
        while let Some((index, path)) = stack.pop() {
            match &self.nodes[index] {
                Node::String(text) if text.whole().is_none() => return Some(path),
                Node::Array(items) => stack.extend(
                    items
                        .iter()
                        .enumerate()
                        .map(|(at, item)| (*item, format!("{path}/{at}"))),
                ),
                Node::Object(members) => {
                    for (key, value) in members {
                        let Some(key) = key.whole() else {
                            return Some(path);
                        };
                        stack.push((*value, pointer(&path, key)));
                    }
                }
                Node::String(_) | Node::Null | Node::Bool(_) | Node::Number(_) => {}
            }
        }
        None
    }

    /// The value without whitespace between its parts.
    pub fn json(&self, index: usize, spelling: Spelling) -> String {
        let mut out = String::new();
        self.write(index, Style::Json(spelling), &mut out);
        out
    }

    /// Writes the value without whitespace between its parts.
    pub fn write(&self, index: usize, style: Style<'_>, out: &mut String) {
        enum Task {
            Value(usize),
            Member(usize, usize),
            Text(&'static str),
        }
        let [null, yes, no] = match style {
            Style::Json(_) | Style::Delimited(_) => ["null", "true", "false"],
            Style::Python(_) => ["None", "True", "False"],
        };
        let mut tasks = vec![Task::Value(index)];
        while let Some(task) = tasks.pop() {
            let index = match task {
                Task::Text(text) => {
                    out.push_str(text);
                    continue;
                }
                Task::Member(object, at) => {
                    if let Node::Object(members) = &self.nodes[object] {
                        key(&members[at].0, style, out);
                        out.push(':');
                        tasks.push(Task::Value(members[at].1));
                    }
                    continue;
                }
                Task::Value(index) => index,
            };
            match &self.nodes[index] {
                Node::Null => out.push_str(null),
                Node::Bool(value) => out.push_str(if *value { yes } else { no }),
                Node::Number(text) => out.push_str(text),
                Node::String(text) => string(text, style, out),
                Node::Array(items) => {
                    out.push('[');
                    tasks.push(Task::Text("]"));
                    for (at, item) in items.iter().enumerate().rev() {
                        tasks.push(Task::Value(*item));
                        if at > 0 {
                            tasks.push(Task::Text(","));
                        }
                    }
                }
                Node::Object(members) => {
                    out.push('{');
                    tasks.push(Task::Text("}"));
                    for at in (0..members.len()).rev() {
                        tasks.push(Task::Member(index, at));
                        if at > 0 {
                            tasks.push(Task::Text(","));
                        }
                    }
                }
            }
        }
    }

    /// Whether both are equal: numbers by spelling, members in any order.
    pub fn same(&self, other: &Self) -> bool {
        self.same_at(0, other, 0)
    }

    /// Whether a value here equals one there.
    pub fn same_at(&self, mine: usize, other: &Self, theirs: usize) -> bool {
        let mut stack = vec![(mine, theirs)];
        while let Some((mine, theirs)) = stack.pop() {
            match (&self.nodes[mine], &other.nodes[theirs]) {
                (Node::Null, Node::Null) => {}
                (Node::Bool(a), Node::Bool(b)) if a == b => {}
                (Node::Number(a), Node::Number(b)) if a == b => {}
                (Node::String(a), Node::String(b)) if a == b => {}
                (Node::Array(a), Node::Array(b)) if a.len() == b.len() => {
                    stack.extend(a.iter().copied().zip(b.iter().copied()));
                }
                (Node::Object(a), Node::Object(b)) if a.len() == b.len() => {
                    let mine: HashMap<&Text, usize> = a.iter().map(|(k, v)| (k, *v)).collect();
                    for (key, theirs) in b {
                        let Some(mine) = mine.get(key) else {
                            return false;
                        };
                        stack.push((*mine, *theirs));
                    }
                }
                _ => return false,
            }
        }
        true
    }
}

/// Writes a key: as a string, or without quotes if possible.
pub(super) fn key(text: &Text, style: Style<'_>, out: &mut String) {
    match (style, text) {
        (Style::Delimited(_), Text::Whole(key)) if bare(key) => out.push_str(key),
        _ => string(text, style, out),
    }
}

/// Whether a key can be written without quotes.
fn bare(key: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !key.is_empty() && key.chars().all(fits)
}

/// Writes a string.
pub(super) fn string(text: &Text, style: Style<'_>, out: &mut String) {
    let spelling = match (style, text) {
        (Style::Delimited(delimiter), Text::Whole(text)) => {
            out.push_str(delimiter);
            out.push_str(text);
            out.push_str(delimiter);
            return;
        }
        (Style::Json(spelling) | Style::Python(spelling), _) => spelling,
        (Style::Delimited(_), Text::Units(_)) => Spelling::Plain,
    };
    let unit = |unit: u16, out: &mut String| out.push_str(&format!("\\u{unit:04x}"));
    match (text, spelling) {
        (Text::Whole(text), Spelling::Plain) => json::string(text, out),
        (Text::Whole(text), _) => {
            out.push('"');
            for c in text.chars() {
                let free = c.is_ascii_alphanumeric() || c == ' ';
                if free && spelling == Spelling::Marks {
                    out.push(c);
                } else {
                    let units = c.encode_utf16(&mut [0; 2]).to_vec();
                    units.into_iter().for_each(|code| unit(code, out));
                }
            }
            out.push('"');
        }
        (Text::Units(units), _) => {
            out.push('"');
            units.iter().for_each(|code| unit(*code, out));
            out.push('"');
        }
    }
}

/// An open bracket.
struct Frame {
    node: usize,
    key: Option<Text>,
    keys: std::collections::HashSet<Text>,
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    nodes: Vec<Node>,
    stack: Vec<Frame>,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text,
            at: 0,
            nodes: vec![],
            stack: vec![],
        }
    }

    fn peek(&mut self) -> Option<u8> {
        let blank = |b: &u8| matches!(b, b' ' | b'\t' | b'\n' | b'\r');
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|b| blank(b)).count();
        self.text.as_bytes().get(self.at).copied()
    }

    fn wrong<T>(&self) -> Result<T, String> {
        Err(format!("no JSON at byte {}", self.at))
    }

    fn read(mut self) -> Result<Doc, String> {
        loop {
            self.value()?;
            // After a value: close what ends here, or continue with the next one.
            loop {
                let Some(top) = self.stack.len().checked_sub(1) else {
                    return match self.peek() {
                        None => Ok(Doc { nodes: self.nodes }),
                        Some(_) => self.wrong(),
                    };
                };
                let node = self.stack[top].node;
                let object = matches!(self.nodes[node], Node::Object(_));
                let empty = match &self.nodes[node] {
                    Node::Array(items) => items.is_empty(),
                    Node::Object(members) => members.is_empty(),
                    _ => false,
                };
                let closer = if object { b'}' } else { b']' };
                match self.peek() {
                    Some(byte) if byte == closer => {
                        self.at += 1;
                        self.stack.pop();
                    }
                    Some(b',') if !empty => {
                        self.at += 1;
                        if object {
                            self.key(top)?;
                        }
                        break;
                    }
                    Some(_) if empty => {
                        if object {
                            self.key(top)?;
                        }
                        break;
                    }
                    _ => return self.wrong(),
                }
            }
        }
    }

    fn key(&mut self, top: usize) -> Result<(), String> {
        if self.peek() != Some(b'"') {
            return self.wrong();
        }
        let key = self.string()?;
        if !self.stack[top].keys.insert(key.clone()) {
            return Err(format!("a key occurs twice, before byte {}", self.at));
        }
        if self.peek() != Some(b':') {
            return self.wrong();
        }
        self.at += 1;
        self.stack[top].key = Some(key);
        Ok(())
    }

    fn value(&mut self) -> Result<(), String> {
        let rest = |at: usize| &self.text[at..];
        let node = match self.peek() {
            Some(b'{') => Node::Object(vec![]),
            Some(b'[') => Node::Array(vec![]),
            Some(b'"') => Node::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') if rest(self.at).starts_with("true") => self.word(4, Node::Bool(true)),
            Some(b'f') if rest(self.at).starts_with("false") => self.word(5, Node::Bool(false)),
            Some(b'n') if rest(self.at).starts_with("null") => self.word(4, Node::Null),
            _ => return self.wrong(),
        };
        let index = self.nodes.len();
        if let Some(top) = self.stack.last_mut() {
            match &mut self.nodes[top.node] {
                Node::Array(items) => items.push(index),
                Node::Object(members) => members.extend(top.key.take().map(|key| (key, index))),
                _ => {}
            }
        }
        if let Node::Object(_) | Node::Array(_) = node {
            self.at += 1;
            self.stack.push(Frame {
                node: index,
                key: None,
                keys: std::collections::HashSet::new(),
            });
        }
        self.nodes.push(node);
        Ok(())
    }

    fn word(&mut self, len: usize, node: Node) -> Node {
        self.at += len;
        node
    }

    fn number(&mut self) -> Result<Node, String> {
        let rest = &self.text[self.at..];
        let part = |b: &u8| b.is_ascii_digit() || matches!(b, b'-' | b'+' | b'.' | b'e' | b'E');
        let text = &rest[..rest.bytes().take_while(|b| part(b)).count()];
        if !json::is_number(text) {
            return self.wrong();
        }
        self.at += text.len();
        Ok(Node::Number(text.to_owned()))
    }

    /// Reads a string, starting at its opening quote.
    fn string(&mut self) -> Result<Text, String> {
        self.at += 1;
        let mut units: Vec<u16> = vec![];
        loop {
            let rest = &self.text[self.at..];
            let Some(c) = rest.chars().next() else {
                return self.wrong();
            };
            self.at += c.len_utf8();
            match c {
                '"' => break,
                '\\' => units.push(self.escape()?),
                c if c < ' ' => return self.wrong(),
                c => units.extend_from_slice(c.encode_utf16(&mut [0; 2])),
            }
        }
        Ok(String::from_utf16(&units).map_or(Text::Units(units), Text::Whole))
    }

    fn escape(&mut self) -> Result<u16, String> {
        let rest = &self.text.as_bytes()[self.at..];
        let simple = |c: char| Ok((1, u32::from(c)));
        let (len, unit) = match rest.first() {
            Some(b @ (b'"' | b'\\' | b'/')) => simple(char::from(*b)),
            Some(b'b') => simple('\u{8}'),
            Some(b'f') => simple('\u{c}'),
            Some(b'n') => simple('\n'),
            Some(b'r') => simple('\r'),
            Some(b't') => simple('\t'),
            Some(b'u') => {
                let hex = rest
                    .get(1..5)
                    .filter(|d| d.iter().all(u8::is_ascii_hexdigit));
                let hex = hex.and_then(|digits| std::str::from_utf8(digits).ok());
                let unit = hex.and_then(|digits| u32::from_str_radix(digits, 16).ok());
                unit.map_or_else(|| self.wrong(), |unit| Ok((5, unit)))
            }
            _ => self.wrong(),
        }?;
        self.at += len;
        Ok(unit as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_what_serde_reads() {
        for text in [
            "{}",
            "[]",
            " {\"a\" : [1, 2.50, -0, 1e400, null, true, false], \"\": {\"b\": \"\\u00e9\\n\\/\"}} ",
            "\"\\ud83c\\udf0a\"",
            "12345678901234567890",
            "[[[]]]",
            "",
            "{",
            "[1,]",
            "{\"a\":}",
            "{\"a\" 1}",
            "[1 2]",
            "{,}",
            "\"\u{1}\"",
            "\"\\x\"",
            "01",
            "tru",
            "[]]",
            "{\"a\":1,}",
            "\"a",
            "\"\\u12\"",
            "nulls",
            "{1:2}",
        ] {
            let real = serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
            assert_eq!(Doc::parse(text).is_ok(), real, "{text}");
            if let Ok(doc) = Doc::parse(text) {
                for spelling in Spelling::EVERY {
                    let again = Doc::parse(&doc.json(0, spelling)).expect("JSON");
                    assert!(doc.same(&again), "{text} {spelling:?}");
                }
            }
        }
        assert!(Doc::parse("{\"a\":1,\"a\":2}").is_err());
    }

    #[test]
    fn spelling_of_numbers_and_halves_of_pairs_are_kept() {
        let read = |text: &str| Doc::parse(text).expect("JSON");
        assert!(!read("1.0").same(&read("1.00")));
        assert!(!read("-0").same(&read("0")));
        assert!(!read("\"\\ud800\"").same(&read("\"\\ud801\"")));
        assert!(read("{\"a\":1,\"b\":2}").same(&read("{\"b\":2,\"a\":1}")));
        assert_eq!(
            read("\"\\ud800a\"").json(0, Spelling::Plain),
            "\"\\ud800\\u0061\""
        );
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
        let doc = Doc::parse(&deep).expect("JSON");
        assert_eq!(doc.depth(0), 200_000);
        assert!(doc.same(&doc) && doc.json(0, Spelling::Plain) == deep);
    }
}
