//! Replies read with many dialects active: what is text, what is reasoning and what is a call, byte by byte, under every 2-way split and
//! under some 3-way splits.

use std::sync::Arc;

use toolglot::{DialectSet, Finish, Options, Parser, Tools, Turn};

use crate::support::{ANY, DEFAULTS, none_wrong, places, turn_of};

const TOOLS: &str = r#"[
    {"name": "search", "parameters": {"properties": {"q": {"type": "string"}}}},
    {"name": "now", "parameters": {"properties": {}}}]"#;

const CALL: &str =
    "<tool_call>\n{\"name\": \"search\", \"arguments\": {\"q\": \"x\"}}\n</tool_call>";

/// About how many places of a reply are one of the two at which it is cut into three.
const CUTS: usize = 20;

/// A reply, in which `@` is a call, and what it becomes.
struct Reply {
    set: &'static DialectSet,
    tools: bool,
    input: String,
    text: String,
    reasoning: &'static str,
    calls: Vec<&'static str>,
    errors: Vec<&'static str>,
}

fn reply(input: &str, text: &str) -> Reply {
    Reply {
        set: &DEFAULTS,
        tools: false,
        input: input.replace('@', CALL),
        text: text.to_owned(),
        reasoning: "",
        calls: input.matches('@').map(|_| "search").collect(),
        errors: vec![],
    }
}

impl Reply {
    fn any(self) -> Self {
        let set = &*ANY;
        Self {
            set,
            tools: true,
            ..self
        }
    }

    fn tools(self) -> Self {
        Self {
            tools: true,
            ..self
        }
    }

    fn thinks(self, reasoning: &'static str) -> Self {
        Self { reasoning, ..self }
    }

    fn calls(self, calls: &[&'static str]) -> Self {
        let calls = calls.to_vec();
        Self { calls, ..self }
    }

    fn errors(self, errors: &[&'static str]) -> Self {
        let errors = errors.to_vec();
        Self { errors, ..self }
    }

    fn read(&self, pieces: &[&[u8]]) -> Turn {
        let mut options = Options::default();
        options.tools = self
            .tools
            .then(|| Arc::new(Tools::from_json(TOOLS).expect("tools")));
        let parser = Parser::new(self.set, options);
        turn_of(parser, pieces.iter().copied(), Finish::Stop)
    }

    fn wrong(&self) -> Option<String> {
        let bytes = self.input.as_bytes();
        let whole = self.read(&[bytes]);
        let calls: Vec<&str> = whole.calls.iter().map(|call| &*call.name).collect();
        let errors: Vec<&str> = whole.issues.iter().map(|issue| issue.kind.name()).collect();
        let same = whole.text == self.text
            && whole.reasoning == self.reasoning
            && calls == self.calls
            && errors == self.errors;
        if !same {
            return Some(format!("{:?}: {whole:?}", self.input));
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        let two = (0..bytes.len()).map(|at| bytes.split_at(at));
        let two = two.map(|(a, b)| self.read(&[a, b]));
        let three = places(bytes.len(), CUTS).flat_map(|to| {
            let (head, c) = bytes.split_at(to);
            places(to, CUTS).map(move |at| {
                let (a, b) = head.split_at(at);
                self.read(&[a, b, c])
            })
        });
        let mut all = two.chain(three).chain([self.read(&single)]);
        let other = all.find(|cut| *cut != whole);
        other.map(|other| format!("{:?}: {other:?}", self.input))
    }
}

/// What prose says about a format: a marker, a word that stands for a call, and the closer.
const SENTENCES: [&str; 4] = [
    "Put the JSON between <tool_call>JSON</tool_call> tags.",
    "Write <tool_call>function_name</tool_call> to call it.",
    "用 <tool_call>name</tool_call> 调用。",
    "- an empty <tool_call>none</tool_call> calls nothing",
];

/// Lines of which formats with headers have others, after a call of another format.
const LINES: [&str; 6] = [
    "**Answer:** 42",
    "Answer: 42\n\nMore text.",
    "Final Answer: 42",
    "Observation: it rains",
    "## Observation: it rains",
    "Thought: a\n\nMore text.",
];

/// Lists in which the token of another author's turn is named.
const ROLES: [&str; 3] = [
    "Roles:\n\n1. <|user|>\n\nNow:\n\n",
    "a. <|user|>\n\n",
    "1. <｜User｜>\n\n",
];

fn replies() -> Vec<Reply> {
    let mut all = vec![
        // The closer of a thought that was delivered as text.
        reply("I need it.\n</think>\n\n@", "I need it.\n\n\n").errors(&["orphan_close"]),
        reply("先查。</think>@", "先查。").errors(&["orphan_close"]),
        reply("</think>\n\n@", "\n\n"),
        // A name alone is a call if its tool is declared.
        reply("<tool_call>now</tool_call>", "").tools().calls(&["now"]),
        reply("Let me see: <tool_call>now</tool_call> ok", "Let me see:  ok").tools().calls(&["now"]),
        reply("<tool_call>\nnone\n</tool_call>\nNo.", "<tool_call>\nnone\n</tool_call>\nNo.")
            .tools()
            .errors(&["lookalike_marker", "orphan_close"]),
        reply("Ready.<tool_call>ping</tool_call>", "Ready.").calls(&["ping"]),
        // A tool whose name begins as a type of another format.
        reply(
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>functions<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
            "",
        )
        .calls(&["functions"]),
        // A fence that shows a message's header goes on after it.
        reply(
            "```\n<|start|>assistant<|channel|>commentary to=functions.now <|constrain|>json<|message|>{}<|call|>\n```\n\n```\n<think>\nhm\n</think>\n42\n```\n",
            "```\n\n```\n\n```\n<think>\nhm\n</think>\n42\n```\n",
        )
        .calls(&["now"])
        .errors(&["hidden_by_code"]),
        // A quoted call in a thought.
        reply(
            "<think>\n<function_calls>\n<invoke name=\"f\">\n<parameter name=\"q\">x</parameter>\n</invoke>\n</function_calls>\nNo.\n</think>\nHi.",
            "\nHi.",
        )
        .thinks("\n<function_calls>\n<invoke name=\"f\">\n<parameter name=\"q\">x</parameter>\n</invoke>\n</function_calls>\nNo.\n"),
        // One in the section of another dialect.
        reply(
            "<seed:think>I could\n<seed:tool_call>\n<function=f>\n<parameter=q>x</parameter>\n</function>\n</seed:tool_call>\nNo.</seed:think>Hi.",
            "Hi.",
        )
        .tools()
        .thinks("I could\n<seed:tool_call>\n<function=f>\n<parameter=q>x</parameter>\n</function>\n</seed:tool_call>\nNo."),
        // The opener of a section is missing: any closer of a section that has such calls is its closer.
        reply("<function=f>\n<parameter=q>x</parameter>\n</function>\n</seed:tool_call>", "\n")
            .calls(&["f"])
            .errors(&["repaired_opener"]),
        reply("<invoke name=\"f\">\n<parameter name=\"q\">x</parameter>\n</invoke>\n</dots_function_call>", "\n")
            .calls(&["f"])
            .errors(&["repaired_opener"]),
        // A call of a tool that is not declared, in a thought.
        reply(
            "<think>\n<tool_call>\n{\"name\": \"example\", \"arguments\": {}}\n</tool_call>\nNo.\n</think>\n@",
            "\n",
        )
        .any()
        .thinks("\n<tool_call>\n{\"name\": \"example\", \"arguments\": {}}\n</tool_call>\nNo.\n")
        .errors(&["unknown_tool"]),
    ];
    for sentence in SENTENCES {
        let errors = ["lookalike_marker", "orphan_close"];
        all.push(reply(sentence, sentence).errors(&errors));
        all.push(reply(sentence, sentence).tools().errors(&errors));
    }
    for line in LINES {
        all.push(reply(&format!("@\n\n{line}"), &format!("\n\n{line}")).any());
        all.push(reply(&format!("@\n\n{line}\n\n@"), &format!("\n\n{line}\n\n")).any());
    }
    for roles in ROLES {
        all.push(reply(&format!("{roles}@"), roles));
    }
    all
}

#[test]
fn replies_become_what_a_reader_sees_in_them() {
    let all = replies();
    let failures: Vec<String> = all.iter().filter_map(Reply::wrong).collect();
    none_wrong(&failures, all.len());
}
