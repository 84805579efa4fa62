//! Generates calls from bytes: every choice is read from them, so that tests and fuzzers generate the same calls.

/// Calls, and the tools with which they are read.
pub struct Made {
    /// Name, arguments as JSON text, id.
    pub calls: Vec<(String, String, Option<String>)>,
    /// A JSON array of tools.
    pub tools: Option<String>,
}

/// Reads choices; zeros at the end of the input.
struct Choices<'d> {
    data: &'d [u8],
    depth: u32,
    /// Schemas will be available.
    known: bool,
    words: &'d [String],
}

/// Generates calls from bytes; hostile strings are assembled from `words`.
pub fn make(data: &[u8], words: &[String]) -> Made {
    let mut choices = Choices {
        data,
        depth: 0,
        known: false,
        words,
    };
    let count = [1, 1, 1, 2, 3][choices.below(5)];
    let known = choices.below(3) > 0;
    choices.known = known;
    let (mut calls, mut tools) = (vec![], vec![]);
    for _ in 0..count {
        let name = choices.name();
        let (arguments, props) = choices.arguments();
        let id = (choices.below(4) == 0).then(|| format!("call_{}", choices.name()));
        if known
            && !calls
                .iter()
                .any(|(have, ..): &(String, String, _)| *have == name)
        {
            let name = json(&name);
            tools.push(format!(
                "{{\"name\":{name},\"parameters\":{{\"type\":\"object\",\"properties\":{{{}}}}}}}",
                props.join(",")
            ));
        }
        calls.push((name, arguments, id));
    }
    Made {
        calls,
        tools: known.then(|| format!("[{}]", tools.join(","))),
    }
}

/// Arguments that some dialects write in every call, used if the dialect's words include them; true: an object.
const ASKED: [(&str, bool); 3] = [("artifact", true), ("content", false), ("filePath", false)];

/// A JSON string.
fn json(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

impl Choices<'_> {
    fn byte(&mut self) -> usize {
        match self.data.split_first() {
            Some((first, rest)) => {
                self.data = rest;
                usize::from(*first)
            }
            None => 0,
        }
    }

    fn below(&mut self, count: usize) -> usize {
        self.byte() % count
    }

    fn pick<'w>(&mut self, words: &[&'w str]) -> &'w str {
        words[self.below(words.len())]
    }

    fn name(&mut self) -> String {
        const NAMES: [&str; 27] = [
            "f",
            "get_time",
            "ns.tool",
            "a:b",
            "天气",
            "x/y",
            "a-b",
            "f1",
            "(x)",
            "a[b]c",
            "item",
            "command",
            "all",
            "functions.x",
            "x:0",
            "a{b}",
            "$x",
            "a,b",
            "x=y",
            "A&B",
            "sha256",
            "self",
            "é",
            "-",
            "file",
            "thinking",
            "a=b",
        ];
        let file = self.words.iter().any(|word| word == "file");
        if file && self.below(3) == 0 {
            return "file".to_owned();
        }
        let few = if self.below(4) == 0 { NAMES.len() } else { 3 };
        self.pick(&NAMES[..few]).to_owned()
    }

    fn key(&mut self) -> String {
        const KEYS: [&str; 36] = [
            "a",
            "b",
            "path",
            "file_path",
            "filePath",
            "A",
            "x1",
            "x2",
            "sha256",
            "command",
            "command1",
            "tool_name",
            "item",
            "__raw",
            "name",
            "k.x",
            "k-x",
            "k x",
            "",
            " k",
            "k\n",
            "天",
            "<k>",
            "k\"",
            "type_hint_a",
            "common_a",
            "retry",
            "comment",
            "$k",
            "k/",
            "a&b",
            "path_1",
            "f",
            "content",
            "k`",
            "type",
        ];
        match self.below(16) {
            0 => self.string(),
            1 => self.pick(&KEYS).to_owned(),
            _ => self.pick(&KEYS[..7]).to_owned(),
        }
    }

    /// A string of pieces that have a meaning in some dialect.
    fn string(&mut self) -> String {
        const PIECES: [&str; 52] = [
            "a",
            "word",
            " ",
            "\n",
            "\r\n",
            "\t",
            "\r",
            "\0",
            "\u{1}",
            "\u{7f}",
            "\u{a0}",
            "\u{2028}",
            "é",
            "中",
            "🌊",
            "5",
            "-0",
            "1e400",
            "true",
            "null",
            "{}",
            "[1]",
            "{\"a\": 1",
            "<",
            ">",
            "&",
            "&amp;",
            "&#10;",
            "\"",
            "'",
            "\\",
            "]]>",
            "<![CDATA[",
            "]",
            "`",
            "```",
            ",",
            "，",
            ":",
            "k:",
            "\nk:",
            "=",
            "$",
            "0x1",
            "</",
            "<a>",
            "</a>",
            "<item>",
            " #",
            "- ",
            "~",
            "\u{85}",
        ];
        let mut out = String::new();
        for _ in 0..self.below(6) {
            match self.below(3) {
                0 if !self.words.is_empty() => {
                    let at = self.byte() * 251 + self.byte();
                    let word = self.words[at % self.words.len()].clone();
                    match self.below(4) {
                        0 => out.extend(word.chars().take(self.below(word.len().max(1)))),
                        1 => out.extend(word.chars().skip(self.below(word.len().max(1)))),
                        _ => out.push_str(&word),
                    }
                }
                _ => out.push_str(self.pick(&PIECES)),
            }
        }
        out
    }

    /// The arguments, and the schemas of some of them.
    fn arguments(&mut self) -> (String, Vec<String>) {
        let (mut members, mut props, mut keys) = (vec![], vec![], vec![]);
        for (key, object) in ASKED {
            let asked = self.depth == 0 && self.words.iter().any(|word| word == key);
            if !asked || self.below(8) == 0 {
                continue;
            }
            let value = if object {
                let members = (0..self.below(3)).map(|at| (["a", "k`", "b"][at], self.string()));
                let members = members.map(|(key, text)| format!("{}:{}", json(key), json(&text)));
                format!("{{{}}}", members.collect::<Vec<_>>().join(","))
            } else {
                json(&self.string())
            };
            members.push(format!("{}:{value}", json(key)));
            keys.push(key.to_owned());
        }
        for _ in 0..self.below(5) {
            let key = self.key();
            if keys.contains(&key) {
                continue;
            }
            let (value, kind) = self.value();
            let schema = match self.below(16) {
                0 => None,
                1 => Some("{}".to_owned()),
                2 => Some("{\"type\":\"string\"}".to_owned()),
                3 => Some("{\"type\":[\"integer\",\"boolean\",\"null\"]}".to_owned()),
                4 => Some("{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}".to_owned()),
                _ => Some(kind),
            };
            let name = json(&key);
            props.extend(schema.map(|schema| format!("{name}:{schema}")));
            members.push(format!("{name}: {value}"));
            keys.push(key);
        }
        (format!("{{{}}}", members.join(" ,")), props)
    }

    /// A value as JSON text, and the schema that fits it.
    fn value(&mut self) -> (String, String) {
        const NUMBERS: [&str; 10] = [
            "0",
            "-0",
            "5",
            "-1.50",
            "1e400",
            "12345678901234567890",
            "1E5",
            "0.1e-9",
            "14.0",
            "100000000000000000000.0",
        ];
        let kind = |name: &str| format!("{{\"type\":\"{name}\"}}");
        let deep = self.depth > 3;
        let most = if self.known || self.below(8) == 0 {
            12
        } else {
            4
        };
        match self.below(if deep { most.min(8) } else { most }) {
            0..=3 => (json(&self.string()), kind("string")),
            4 => (self.pick(&NUMBERS).to_owned(), kind("number")),
            5 => (self.pick(&["true", "false"]).to_owned(), kind("boolean")),
            6 => ("null".to_owned(), kind("null")),
            7 => (
                self.pick(&[
                    "\"\\ud800\"",
                    "\"a\\udc00b\"",
                    "\"\\ud83c\\udf0a\"",
                    "\"\\/\\b\"",
                ])
                .to_owned(),
                kind("string"),
            ),
            8 => {
                let depth = 1 + self.byte() / [1, 16, 64][self.below(3)];
                (
                    format!("{}{}", "[".repeat(depth), "]".repeat(depth)),
                    kind("array"),
                )
            }
            9 | 10 => {
                self.depth += 1;
                let (mut items, mut schema) = (vec![], "{}".to_owned());
                for _ in 0..self.below(4) {
                    let (item, kind) = self.value();
                    items.push(item);
                    schema = kind;
                }
                self.depth -= 1;
                (
                    format!("[{}]", items.join(" , ")),
                    format!("{{\"type\":\"array\",\"items\":{schema}}}"),
                )
            }
            _ => {
                self.depth += 1;
                let (text, props) = self.arguments();
                self.depth -= 1;
                (
                    text,
                    format!(
                        "{{\"type\":\"object\",\"properties\":{{{}}}}}",
                        props.join(",")
                    ),
                )
            }
        }
    }
}
