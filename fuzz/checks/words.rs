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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cuts {
    /// Into two and into three at all places.
    Three,
    /// Into two at all places.
    Two,
    /// Into bytes.
    Bytes,
}

/// How many words were read, and how many streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub words: u64,
    pub parses: u64,
}

/// Reads all words of `length` symbols that begin with the one at `first`.
pub fn words(family: usize, first: usize, length: u32, cuts: Cuts) -> Count {
    let (dialect, symbols) = &FAMILIES[family];
    let set = DialectSet::builtin(dialect).expect("a built-in dialect");
    let options = Options::default();
    let mut parser = Parser::new(&set, options.clone());
    let mut count = Count::default();
    let mut word = String::new();
    for number in 0..(symbols.len() as u64).pow(length - 1) {
        word.clear();
        word.push_str(symbols[first]);
        let mut rest = number;
        for _ in 1..length {
            word.push_str(symbols[(rest % symbols.len() as u64) as usize]);
            rest /= symbols.len() as u64;
        }
        let bytes = word.as_bytes();
        let mut run = |chunks: &mut dyn Iterator<Item = &[u8]>| {
            let mut watch = Watch::new(bytes, &options);
            for chunk in chunks {
                watch.fed += chunk.len() as u64;
                parser.feed(chunk, &mut watch);
            }
            parser.finish(Finish::Stop, &mut watch);
            watch.at_end(&mut parser);
            parser.reset();
            count.parses += 1;
            watch.log
        };
        let whole = run(&mut [bytes].into_iter());
        if cuts == Cuts::Bytes {
            whole.same(&run(&mut bytes.chunks(1)), "whole and byte by byte");
        } else {
            for at in 1..bytes.len() {
                let (head, tail) = bytes.split_at(at);
                whole.same(
                    &run(&mut [head, tail].into_iter()),
                    "whole and cut into two",
                );
                let ends = if cuts == Cuts::Three {
                    1..tail.len()
                } else {
                    0..0
                };
                for end in ends {
                    let (middle, tail) = tail.split_at(end);
                    whole.same(
                        &run(&mut [head, middle, tail].into_iter()),
                        "whole and cut into three",
                    );
                }
            }
        }
        count.words += 1;
    }
    count
}
