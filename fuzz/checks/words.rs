//! All words over a few symbols: where words are short, every one is tried instead of some.
//!
//! A family of formats has at most twelve symbols: the pieces of a dialect's markers, quotes, a line break, a letter, and a character of
//! several bytes.

use toolglot::{DialectSet, Finish, Options, Parser};

use super::watch::Watch;

/// The symbols of each family: one dialect that has its payload, frame and quotes.
pub const FAMILIES: [(&str, [&str; 12]); 12] = [
    (
        "hermes",
        [
            "<tool_call>",
            "</tool_call>",
            "{\"name\": \"f\"",
            ", \"arguments\": {",
            "\"s\": \"v\"",
            "}",
            "<think>",
            "</think>",
            "\"",
            "\n",
            "a",
            "好",
        ],
    ),
    (
        "tam",
        [
            "<|[REQUEST_TOOL]|>",
            "<|[END_TOOL]|>",
            "tool_name:",
            "»»»",
            "«««",
            "f",
            "\n",
            "<",
            "|",
            "s_s:",
            "[",
            "好",
        ],
    ),
    (
        "vcp",
        [
            "<<<[TOOL_REQUEST]>>>",
            "<<<[END_TOOL_REQUEST]>>>",
            "tool_name:",
            "「始」",
            "「末」",
            "f",
            ",",
            "\n",
            "s:",
            "<",
            "「",
            "好",
        ],
    ),
    (
        "action",
        [
            "<ACTION>",
            "</ACTION>",
            "<f>",
            "</f>",
            "<s>",
            "</s>",
            "<",
            "&lt;",
            "\n",
            "a",
            "`",
            "好",
        ],
    ),
    (
        "tool-call-xml",
        [
            "<tool_call name=\"f\">",
            "</tool_call>",
            "<param name=\"s\">",
            "</param>",
            "<",
            "&amp;",
            "\"",
            "\n",
            "a",
            "<![CDATA[",
            "]]>",
            "好",
        ],
    ),
    (
        "tool-action",
        [
            "<tool_action name=\"f\">",
            "</tool_action>",
            "<s>",
            "</s>",
            "<",
            "&gt;",
            "\"",
            "\n",
            "a",
            "<![CDATA[",
            "]]>",
            "好",
        ],
    ),
    (
        "qwen3-coder",
        [
            "<tool_call>",
            "</tool_call>",
            "<function=f>",
            "</function>",
            "<parameter=s>",
            "</parameter>",
            "\n",
            "<",
            "a",
            "=",
            "`",
            "好",
        ],
    ),
    (
        "pythonic",
        [
            "[", "]", "f(", ")", "s=", "\"v\"", "'", ", ", "{", "\n", "1", "好",
        ],
    ),
    (
        "harmony",
        [
            "<|start|>assistant",
            "<|channel|>",
            "commentary",
            " to=functions.f",
            "<|message|>",
            "<|call|>",
            "<|end|>",
            "{",
            "}",
            "analysis",
            "\n",
            "好",
        ],
    ),
    (
        "kimi-k2",
        [
            "<|tool_calls_section_begin|>",
            "<|tool_call_begin|>",
            "functions.f:0",
            "<|tool_call_argument_begin|>",
            "{",
            "}",
            "<|tool_call_end|>",
            "<|tool_calls_section_end|>",
            "\"",
            "\n",
            "a",
            "好",
        ],
    ),
    (
        "deepseek-v3",
        [
            "<｜tool▁calls▁begin｜>",
            "<｜tool▁call▁begin｜>",
            "function<｜tool▁sep｜>f",
            "\n```json\n",
            "{",
            "}",
            "\n```",
            "<｜tool▁call▁end｜>",
            "<｜tool▁calls▁end｜>",
            "a",
            "<",
            "好",
        ],
    ),
    (
        "react-text",
        [
            "Thought:",
            "Action:",
            "Action Input:",
            " f",
            "{",
            "}",
            "\"",
            "\n",
            "Observation:",
            "Final Answer:",
            "a",
            "好",
        ],
    ),
];

/// How the words of one length are cut.
#[allow(dead_code, reason = "the tests of the repository use one")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cuts {
    /// Into any chunks.
    All,
    /// Into any chunks, of which the last begins at any byte, but ends with a symbol.
    Symbols,
    /// Whole and into bytes.
    Bytes,
}

/// How many words were read, and how many chunks were fed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub words: u64,
    pub chunks: u64,
}

/// A stream after the first bytes of a word, and its events so far.
#[derive(Clone)]
struct Step {
    parser: Parser,
    watch: Watch<'static>,
}

/// Reads all words of `length` symbols that begin with the one at `first`, and their beginnings.
///
/// Words are read as a tree, so what they have in common is read once. The state after each byte is compared, and the events so far: a
/// chunk from any earlier byte to this one must lead to the same. What follows depends on the state alone, so this covers, by induction, all
/// ways to cut the word, at a cost that is quadratic in its bytes.
pub fn words(family: usize, first: usize, length: usize, cuts: Cuts) -> Count {
    let (dialect, symbols) = &FAMILIES[family];
    let set = DialectSet::builtin(dialect).expect("a built-in dialect");
    let options = Options::default();
    let mut tree = Tree {
        word: String::new(),
        steps: vec![Step {
            watch: Watch::new(&[], &options),
            parser: Parser::new(&set, options),
        }],
        count: Count::default(),
        cuts,
    };
    tree.grow(symbols, symbols[first], length);
    tree.count
}

struct Tree {
    word: String,
    /// After each byte of the word, and before it.
    steps: Vec<Step>,
    count: Count,
    cuts: Cuts,
}

impl Tree {
    /// Reads the word with one more symbol, and all words of `left` more symbols that begin so.
    fn grow(&mut self, symbols: &[&str], symbol: &str, left: usize) {
        let before = self.word.len();
        self.word.push_str(symbol);
        for end in before + 1..=self.word.len() {
            self.step(end, end == self.word.len(), left == 1);
        }
        self.finish();
        if left == 1 {
            self.count.words += 1;
        } else {
            for symbol in symbols {
                self.grow(symbols, symbol, left - 1);
            }
        }
        self.word.truncate(before);
        self.steps.truncate(before + 1);
    }

    /// Reads the chunks that end at `end`.
    fn step(&mut self, end: usize, symbol: bool, last: bool) {
        let from = match self.cuts {
            Cuts::All => 0,
            Cuts::Symbols if symbol => 0,
            Cuts::Symbols | Cuts::Bytes => end - 1,
        };
        let mut step = self.fed(end - 1, end);
        let state = step.parser.snapshot();
        let mut agree = |other: Step, from: usize| {
            let which = || format!("{:?}, bytes {from}..{end} as one chunk", self.word);
            if other.watch.log != step.watch.log {
                other.watch.log.same(&step.watch.log, &which());
            }
            assert!(
                other.parser.snapshot() == state,
                "{}: the states differ:\n  {:?}\n  {:?}",
                which(),
                other.parser,
                step.parser
            );
            // What a stream takes for granted follows from its state; it goes on from one chunking or another, in case it does not.
            if from % 7 == end % 7 {
                step = other;
            }
        };
        for from in from..end - 1 {
            agree(self.fed(from, end), from);
        }
        if self.cuts == Cuts::Bytes && symbol && last {
            agree(self.fed(0, end), 0);
        }
        self.count.chunks += (end - from) as u64;
        self.steps.push(step);
    }

    fn fed(&self, from: usize, end: usize) -> Step {
        let mut step = self.steps[from].clone();
        step.watch.goes_on(self.word.as_bytes());
        step.watch.fed = end as u64;
        step.parser
            .feed(&self.word.as_bytes()[from..end], &mut step.watch);
        step
    }

    fn finish(&self) {
        let Step {
            mut parser,
            mut watch,
        } = self.steps[self.word.len()].clone();
        parser.finish(Finish::Stop, &mut watch);
        watch.at_end(&mut parser);
    }
}
