//! Random outputs of a model: prose, blocks and all kinds of mistakes.
//!
//! A sample is a list of pieces (a marker, a key, a value, a tag, a sentence). Most samples are left as they are and hold
//! real calls; in the others a few pieces are dropped, doubled, swapped, added or truncated. The seed determines everything.

use super::pieces::{
    ATTR_VALUES, BAD_NAMES, Marks, NAMED_VALUES, NAMES, PLAIN, SENTENCES, TAG_KEYS, TAG_VALUES,
    TAM, TAM2, TREE_VALUES, VCP,
};

/// One output in the given dialect.
///
/// # Panics
/// There is no generator for that dialect.
pub fn sample(dialect: &str, seed: u64) -> String {
    let mut g = Gen::new(seed);
    let grammar = match dialect {
        "tam" => Grammar::KeyQuote(&TAM),
        "tam2" => Grammar::KeyQuote(&TAM2),
        "vcp" => Grammar::KeyQuote(&VCP),
        "tool-call-xml" => Grammar::Named,
        "tool-action" => Grammar::Attribute,
        "action" => Grammar::Tree,
        other => panic!("there is no generator for {other}"),
    };
    for _ in 0..=g.below(4) {
        if g.chance(55) {
            g.prose(&grammar);
        }
        g.block(&grammar);
    }
    if g.chance(60) {
        g.prose(&grammar);
    }
    if g.chance(45) {
        g.mutate(|g| g.special(&grammar).to_owned());
    }
    g.finish()
}

enum Grammar {
    KeyQuote(&'static Marks),
    Named,
    Attribute,
    Tree,
}

pub(super) struct Gen {
    state: u64,
    pub(super) pieces: Vec<String>,
}

impl Gen {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            state: seed ^ 0x5851_F42D_4C95_7F2D,
            pieces: vec![],
        }
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n as u64).expect("a small number")
    }

    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(super) fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    pub(super) fn push(&mut self, piece: impl Into<String>) {
        self.pieces.push(piece.into());
    }

    fn pick_name(&mut self) -> &'static str {
        if self.chance(5) {
            self.pick(BAD_NAMES)
        } else {
            self.pick(NAMES)
        }
    }

    fn prose(&mut self, grammar: &Grammar) {
        for _ in 0..=self.below(3) {
            let piece = if self.chance(75) {
                self.pick(SENTENCES)
            } else {
                self.special(grammar)
            };
            self.push(piece);
        }
    }

    /// Something that looks like markup of the dialect.
    fn special(&mut self, grammar: &Grammar) -> &'static str {
        match grammar {
            Grammar::KeyQuote(marks) => self.pick(marks.prose),
            Grammar::Named => self.pick(&[
                "<tool_call>",
                "</tool_call>",
                "<tool_calls>",
                "<tool_call",
                "<tool_call is",
                "<tool_call/>",
                "<tool_call name=x>",
                "<tool_call id=\"1\" name=x>",
                "<tool_call name=\"lost ",
                "<param name=\"p\">",
                "</param>",
                "<tool_call>\n<param name=\"p\">",
            ]),
            Grammar::Attribute => self.pick(&[
                "<tool_action>",
                "</tool_action>",
                "<tool_actions>",
                "<tool_action",
                "<tool_action is",
                "<tool_action/>",
                "<tool_action name=x>",
                "<tool_action type=\"a\" name=x>",
                "<tool_action name=\"lost ",
                "<k value=\"v\"/>",
                "<tool_action> <k value=\"v\"/>",
            ]),
            Grammar::Tree => self.pick(&[
                "<ACTION>",
                "</ACTION>",
                "<ACTIONS>",
                "<action>",
                "<ACTION> 与",
                "<ACTIO",
                "</action>",
            ]),
        }
    }

    fn block(&mut self, grammar: &Grammar) {
        match grammar {
            Grammar::KeyQuote(marks) => self.key_quote(marks),
            Grammar::Named => self.named(),
            Grammar::Attribute => self.attribute(),
            Grammar::Tree => self.tree(),
        }
    }

    /// All pieces, occasionally truncated.
    pub(super) fn finish(mut self) -> String {
        let mut out = self.pieces.concat();
        if self.chance(8) {
            let cut = self.below(out.chars().count() + 1);
            out = out.chars().take(cut).collect();
        }
        out
    }

    /// Drops, doubles, swaps, adds or truncates a few pieces. `special` makes text that looks like markup.
    pub(super) fn mutate(&mut self, special: impl Fn(&mut Self) -> String) {
        for _ in 0..=self.below(3) {
            if self.pieces.is_empty() {
                return;
            }
            let at = self.below(self.pieces.len());
            match self.below(10) {
                0..4 => {
                    self.pieces.remove(at);
                }
                4 => {
                    let piece = self.pieces[at].clone();
                    self.pieces.insert(at, piece);
                }
                5 => {
                    let other = self.below(self.pieces.len());
                    self.pieces.swap(at, other);
                }
                6 => {
                    let cut = self.below(self.pieces[at].chars().count() + 1);
                    self.pieces[at] = self.pieces[at].chars().take(cut).collect();
                }
                7 => {
                    let piece = self.pick(SENTENCES);
                    self.pieces.insert(at, piece.to_owned());
                }
                _ => {
                    let piece = special(self);
                    self.pieces.insert(at, piece);
                }
            }
        }
    }

    fn key_quote(&mut self, marks: &'static Marks) {
        let open = self.pick(marks.open);
        self.push(open);
        let newline = if self.chance(85) { "\n" } else { "" };
        self.push(newline);
        let chain = if self.chance(25) {
            1 + self.below(3)
        } else {
            0
        };
        let first = self.pick(&[1, 1, 1, 9]);
        let infix = if std::ptr::eq(marks, &TAM2) {
            self.pick(&["_", ""])
        } else {
            ""
        };
        let numbered = if std::ptr::eq(marks, &VCP) {
            "command"
        } else {
            marks.name
        };
        if chain == 0 || numbered != marks.name || self.chance(10) {
            let name = self.pick_name();
            self.field(marks, marks.name, name);
        }
        for index in first..first + chain {
            let name = self.pick_name();
            self.field(marks, &format!("{numbered}{infix}{index}"), name);
        }
        for _ in 0..self.below(5) {
            let mut key = self.pick(marks.keys).to_owned();
            if chain > 0 && self.chance(60) {
                key = format!("{key}{infix}{}", first + self.below(chain + 1));
            }
            let value = if self.chance(65) {
                self.pick(PLAIN)
            } else {
                self.pick(marks.values)
            };
            self.field(marks, &key, value);
            if self.chance(6) {
                let comment = format!(
                    "{} see {}\n",
                    marks.comment,
                    self.pick(&["x:「始」no「末」", "below", "以下"])
                );
                self.push(comment);
            }
            if self.chance(3) {
                self.push("stray words ");
            }
        }
        if !self.chance(4) {
            let close = self.pick(marks.close);
            self.push(close);
        }
    }

    fn field(&mut self, marks: &Marks, key: &str, value: &str) {
        let (open, close) = self.pick(marks.quotes);
        let colon = self.pick(&[":", ":", ":", ": ", " : ", "：", ":\n"]);
        let end = self.pick(&["\n", "\n", "\n", ",\n", "，\n", "", " ", "\r\n"]);
        self.push(key);
        self.push(colon);
        self.push(open);
        self.push(value);
        if !self.chance(3) {
            self.push(close);
        }
        self.push(end);
    }

    fn gap(&mut self) -> &'static str {
        self.pick(&["", "", "\n", "\n  ", " ", "<!-- 注 -->"])
    }

    fn call_header(&mut self, tag: &str) -> bool {
        let name = self.pick_name().replace('"', "&quot;");
        let extra = self.pick(&["", "", "", " id=\"c1\"", " type='mcp'"]);
        let blank = self.pick(&["", "", " ", "\n"]);
        let closed = self.chance(5);
        let head = match self.below(10) {
            0 => format!("<{tag}{extra} name = '{name}'{blank}"),
            1 => format!("<{tag}\n name=\"{name}\"{extra}{blank}"),
            _ => format!("<{tag} name=\"{name}\"{extra}{blank}"),
        };
        self.push(head);
        self.push(if closed { "/>" } else { ">" });
        !closed
    }

    fn named(&mut self) {
        if !self.call_header("tool_call") {
            return;
        }
        for _ in 0..self.below(4) {
            let gap = self.gap();
            self.push(gap);
            let key = self.pick(TAG_KEYS);
            if self.chance(6) {
                self.push(format!("<param name=\"{key}\"/>"));
                continue;
            }
            let open = if self.chance(4) {
                "<param>".to_owned()
            } else {
                format!("<param name=\"{key}\">")
            };
            self.push(open);
            for _ in 0..=self.below(2) {
                let value = match self.below(10) {
                    0..6 => self.pick(PLAIN),
                    6..8 => self.pick(TAG_VALUES),
                    _ => self.pick(NAMED_VALUES),
                };
                self.push(value);
            }
            let close = self.pick(&[
                "</param>",
                "</param>",
                "</param>",
                "</param >",
                "</param\n>",
            ]);
            self.push(close);
        }
        let gap = self.gap();
        self.push(gap);
        if !self.chance(4) {
            let close = self.pick(&["</tool_call>", "</tool_call>", "</tool_call >"]);
            self.push(close);
        }
    }

    fn attribute(&mut self) {
        if !self.call_header("tool_action") {
            return;
        }
        for _ in 0..self.below(4) {
            let gap = self.gap();
            self.push(gap);
            let key = self.pick(TAG_KEYS);
            let value = match self.below(10) {
                0..6 => self.pick(PLAIN),
                6..8 => self.pick(TAG_VALUES),
                _ => self.pick(ATTR_VALUES),
            };
            let extra = self.pick(&["", "", "", " type=\"s\"", " unit='m'"]);
            match self.below(12) {
                0 => self.push(format!("<{key}>")),
                1 => self.push(format!("<{key}{extra} value='")),
                _ => self.push(format!("<{key} value=\"")),
            }
            let open = self.pieces.last().expect("just pushed").clone();
            self.push(value);
            let end = match open.chars().last() {
                Some('>') => format!("</{key}>"),
                Some(quote) => {
                    let slash = self.pick(&["/>", " />", "\n/>"]);
                    if self.chance(10) {
                        format!("{quote}></{key}>")
                    } else {
                        format!("{quote}{extra}{slash}")
                    }
                }
                None => String::new(),
            };
            self.push(end);
        }
        let gap = self.gap();
        self.push(gap);
        if !self.chance(4) {
            let close = self.pick(&["</tool_action>", "</tool_action>", "</tool_action >"]);
            self.push(close);
        }
    }

    fn tree(&mut self) {
        self.push("<ACTION>");
        for _ in 0..=self.below(2) {
            let gap = self.gap();
            self.push(gap);
            let tool = self.pick(&[
                "go",
                "检查库存",
                "workflows/skills/a.json",
                "read_file",
                "t-1",
            ]);
            if self.chance(8) {
                self.push(format!("<{tool}/>"));
                continue;
            }
            let attrs = self.pick(&["", "", "", " id='1'", " x=\"a > b\" ", "\n"]);
            self.push(format!("<{tool}{attrs}>"));
            if self.chance(8) {
                let value = self.pick(PLAIN);
                self.push(value);
            }
            for _ in 0..self.below(5) {
                let gap = self.gap();
                self.push(gap);
                self.element();
            }
            let gap = self.gap();
            self.push(gap);
            self.push(format!("</{tool}>"));
        }
        let gap = self.gap();
        self.push(gap);
        if !self.chance(4) {
            self.push("</ACTION>");
        }
    }

    fn element(&mut self) {
        let key = self.pick(&["path", "关键词", "max-hits", "n", "list", "k"]);
        if self.chance(6) {
            self.push(format!("<{key}/>"));
            return;
        }
        self.push(format!("<{key}>"));
        let value = match self.below(10) {
            0..6 => self.pick(PLAIN),
            6..8 => self.pick(TAG_VALUES),
            _ => self.pick(TREE_VALUES),
        };
        self.push(value);
        self.push(format!("</{key}>"));
    }
}
