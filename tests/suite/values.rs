//! In an open value chunks bypass the body as far as nothing in them has a meaning. The path that a chunk took leaves no trace: after
//! every chunk the state is that of a stream without such paths (`feed_until` has none), and so are the events.

use std::sync::Arc;

use toolglot::{DialectSet, Finish, Options, Parser, Retain, Tools};
use toolglot_testkit::vectors::Log;

/// What a call with a value begins with: a string as it is written, text between delimiters, between tags and in lines, with types
/// and without.
const BEGINNINGS: [(&str, &str); 20] = [
    (
        "hermes",
        "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"k\": \"",
    ),
    (
        "hermes",
        "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"n\": [\"",
    ),
    (
        "hermes",
        "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"",
    ),
    (
        "kimi-k2",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{\"k\": \"",
    ),
    (
        "react-text",
        "Thought: f\nAction: f\nAction Input: {\"k\": \"",
    ),
    (
        "harmony",
        "<|start|>assistant to=functions.f<|channel|>commentary <|constrain|>json<|message|>{\"k\": \"",
    ),
    ("lfm2", "<|tool_call_start|>[f(k='"),
    ("lfm2", "<|tool_call_start|>[f(k=\"\"\""),
    ("gemma4", "<|tool_call>call:f{k:<|\"|>"),
    ("qwen3-coder", "<tool_call>\n<function=f>\n<parameter=k>\n"),
    ("qwen3-coder", "<tool_call>\n<function=f>\n<parameter=n>"),
    (
        "minimax-m2",
        "<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"k\">",
    ),
    (
        "minimax-m2",
        "<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"k\"><x</parameter>",
    ),
    ("glm45", "<tool_call>f\n<arg_key>k</arg_key>\n<arg_value>"),
    (
        "minimax-m3",
        "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"f\">]<]minimax[>[<k>",
    ),
    ("tool-call-xml", "<tool_call name=\"f\"><param name=\"k\">"),
    ("tool-action", "<tool_action name=\"f\"><k value=\""),
    ("action", "<ACTION><f><k><![CDATA["),
    (
        "vcp",
        "<<<[TOOL_REQUEST]>>>\ntool_name:「始」f「末」,\nk:「始」",
    ),
    (
        "bolt-action",
        "<boltArtifact id=\"a\" title=\"t\"><boltAction type=\"shell\">",
    ),
];

/// What values are made of: text, and bytes that may have a meaning, whole and in parts.
const PARTS: [&str; 34] = [
    "a",
    "word ",
    "if a < b",
    "<",
    "<",
    "<<",
    "< /",
    "</",
    "<p",
    "<parameter",
    "</parameter>",
    "</parameter ",
    "<T>",
    "]<",
    "]",
    "\n",
    "\n\n",
    "\r",
    "\r\n",
    "\\",
    "\\",
    "\\n",
    "\\\\",
    "\\\"",
    "\\u00e9",
    "\\/",
    "\\'",
    "&",
    "&lt;",
    "<|",
    "\"",
    "'",
    "中",
    "é",
];

const TOOLS: &str = r#"[{"name": "f", "parameters": {"type": "object",
    "properties": {"k": {"type": "string"}, "n": {"type": "array"}}}}]"#;

/// A generator with the same numbers for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// A value of some parts, which are rarely those that end most values, and often from only a few of all.
fn value(dice: &mut Dice) -> Vec<u8> {
    let few: Vec<&str> = (0..1 + dice.below(8))
        .map(|_| PARTS[dice.below(PARTS.len())])
        .collect();
    let parts = (0..dice.below(60)).map(|_| few[dice.below(few.len())]);
    parts.collect::<String>().into_bytes()
}

#[test]
fn the_path_of_a_chunk_leaves_no_trace() {
    let tools = Arc::new(Tools::from_json(TOOLS).expect("a list of tools"));
    let mut dice = Dice(1);
    for (dialect, begin) in BEGINNINGS {
        let set = DialectSet::builtin(dialect).expect("a built-in dialect");
        for round in 0..400 {
            let mut options = Options::default();
            options.tools = Some(Arc::clone(&tools));
            if round % 2 == 0 {
                options.retain = Retain::None;
            }
            let value = value(&mut dice);
            let (mut fast, mut slow) = (
                Parser::new(&set, options.clone()),
                Parser::new(&set, options),
            );
            let (mut log, mut naive) = (Log::new(), Log::new());
            fast.feed(begin.as_bytes(), &mut log);
            slow.feed_until(begin.as_bytes(), &mut naive);
            let longest = [3, 6, 20, 90][dice.below(4)];
            let mut rest = &value[..];
            while !rest.is_empty() {
                let (chunk, more) = rest.split_at(rest.len().min(1 + dice.below(longest)));
                fast.feed(chunk, &mut log);
                assert_eq!(slow.feed_until(chunk, &mut naive), chunk.len());
                let at = value.len() - more.len();
                let told = || {
                    format!(
                        "{dialect} {begin:?} {:?} {at}",
                        String::from_utf8_lossy(&value)
                    )
                };
                assert!(fast.snapshot() == slow.snapshot(), "{}", told());
                rest = more;
            }
            fast.finish(Finish::Stop, &mut log);
            slow.finish(Finish::Stop, &mut naive);
            assert_eq!(
                log.difference(&naive),
                None,
                "{dialect} {begin:?} {:?}",
                String::from_utf8_lossy(&value)
            );
        }
    }
}
