//! One call with a long argument, in the markup of each family and of each kind of body.

use std::sync::Arc;

use super::corpus::Kind;
use toolglot::{DialectSet, Options, Retain, Tools};

/// How a dialect writes a call with one long value.
pub struct Shape {
    pub dialect: &'static str,
    /// Its name in tables: the kind of body.
    pub body: &'static str,
    pub before: &'static str,
    pub after: &'static str,
    /// How the value must be spelled to be valid.
    spell: fn(&str) -> String,
}

/// A tool for dialects that search only for the names of tools.
const TOOLS: &str = r#"[{"name": "write", "parameters": {"type": "object",
    "properties": {"content": {"type": "string"}}}}]"#;

pub const SHAPES: [Shape; 20] = [
    Shape {
        dialect: "tam",
        body: "key-quote",
        before: "<|[REQUEST_TOOL]|>\ncommand:「始」write「末」\ncontent:「始」",
        after: "「末」\n<|[END_TOOL]|>",
        spell: str::to_owned,
    },
    Shape {
        dialect: "vcp",
        body: "key-quote",
        before: "<<<[TOOL_REQUEST]>>>\ntool_name:「始」write「末」,\ncontent:「始」",
        after: "「末」\n<<<[END_TOOL_REQUEST]>>>",
        spell: str::to_owned,
    },
    Shape {
        dialect: "tool-call-xml",
        body: "named-params",
        before: "<tool_call name=\"write\"><param name=\"content\">",
        after: "</param></tool_call>",
        spell: str::to_owned,
    },
    Shape {
        dialect: "action",
        body: "element-tree",
        before: "<ACTION><write><content><![CDATA[",
        after: "]]></content></write></ACTION>",
        spell: str::to_owned,
    },
    Shape {
        dialect: "tool-action",
        body: "attribute-params",
        before: "<tool_action name=\"write\"><content value=\"",
        after: "\"/></tool_action>",
        spell: |text| {
            text.replace('&', "&amp;")
                .replace('"', "&quot;")
                .replace('<', "&lt;")
        },
    },
    Shape {
        dialect: "hermes",
        body: "JSON object",
        before: "<tool_call>\n{\"name\": \"write\", \"arguments\": {\"content\": \"",
        after: "\"}}\n</tool_call>",
        spell: json,
    },
    Shape {
        dialect: "mistral-array",
        body: "JSON array",
        before: "[TOOL_CALLS] [{\"name\": \"write\", \"arguments\": {\"content\": \"",
        after: "\"}}]",
        spell: json,
    },
    Shape {
        dialect: "kimi-k2",
        body: "name and JSON",
        before: "<|tool_calls_section_begin|><|tool_call_begin|>functions.write:0<|tool_call_argument_begin|>{\"content\": \"",
        after: "\"}<|tool_call_end|><|tool_calls_section_end|>",
        spell: json,
    },
    Shape {
        dialect: "qwen3-coder",
        body: "tagged parameters",
        before: "<tool_call>\n<function=write>\n<parameter=content>\n",
        after: "\n</parameter>\n</function>\n</tool_call>",
        spell: str::to_owned,
    },
    Shape {
        dialect: "minimax-m2",
        body: "named parameters",
        before: "<minimax:tool_call>\n<invoke name=\"write\">\n<parameter name=\"content\">",
        after: "</parameter>\n</invoke>\n</minimax:tool_call>",
        spell: str::to_owned,
    },
    Shape {
        dialect: "glm45",
        body: "key and value tags",
        before: "<tool_call>write\n<arg_key>content</arg_key>\n<arg_value>",
        after: "</arg_value>\n</tool_call>",
        spell: str::to_owned,
    },
    Shape {
        dialect: "lfm2",
        body: "pythonic",
        before: "<|tool_call_start|>[write(content='",
        after: "')]<|tool_call_end|>",
        spell: |text| {
            text.replace('\\', "\\\\")
                .replace('\'', "\\'")
                .replace('\n', "\\n")
        },
    },
    Shape {
        dialect: "gemma4",
        body: "braces",
        before: "<|tool_call>call:write{content:<|\"|>",
        after: "<|\"|>}<tool_call|>",
        spell: str::to_owned,
    },
    Shape {
        dialect: "minimax-m3",
        body: "tree",
        before: "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"write\">]<]minimax[>[<content>",
        after: "]<]minimax[>[</content>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
        spell: str::to_owned,
    },
    Shape {
        dialect: "yaml-xml",
        body: "YAML",
        before: "<write>\ncontent: |\n  ",
        after: "\n</write>",
        spell: |text| text.replace('\n', "\n  "),
    },
    Shape {
        dialect: "bolt-action",
        body: "content",
        before: "<boltArtifact id=\"a\" title=\"t\"><boltAction type=\"shell\">",
        after: "</boltAction></boltArtifact>",
        spell: str::to_owned,
    },
    Shape {
        dialect: "react-text",
        body: "line",
        before: "Thought: write\nAction: write\nAction Input: {\"content\": \"",
        after: "\"}\n",
        spell: json,
    },
    Shape {
        dialect: "markdown-json",
        body: "fenced JSON",
        before: "```json\n{\"name\": \"write\", \"arguments\": {\"content\": \"",
        after: "\"}}\n```\n",
        spell: json,
    },
    Shape {
        dialect: "json-bare",
        body: "bare JSON",
        before: "{\"name\": \"write\", \"arguments\": {\"content\": \"",
        after: "\"}}",
        spell: json,
    },
    Shape {
        dialect: "harmony",
        body: "messages",
        before: "<|start|>assistant to=functions.write<|channel|>commentary <|constrain|>json<|message|>{\"content\": \"",
        after: "\"}<|call|>",
        spell: json,
    },
];

fn json(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

impl Shape {
    pub fn set(&self) -> DialectSet {
        DialectSet::builtin(self.dialect).expect("a built-in dialect")
    }

    pub fn options(&self, retain: Retain) -> Options {
        let mut options = super::retaining(retain);
        options.tools = Some(Arc::new(Tools::from_json(TOOLS).expect("a list of tools")));
        options
    }

    /// A whole call whose value is source code of about `len` bytes.
    pub fn call(&self, len: usize) -> String {
        // The spelled text must not be cut inside an escape.
        let text = Kind::Code.text(len);
        let mut value = String::new();
        for line in text.split_inclusive('\n') {
            let line = (self.spell)(line);
            if value.len() + line.len() > len {
                break;
            }
            value.push_str(&line);
        }
        let blank = value.trim_end_matches([' ', '\n']).len();
        value.truncate(blank);
        format!("{}{value}{}", self.before, self.after)
    }
}
