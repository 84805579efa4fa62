//! One call with a long argument, in the markup of each dialect.

use super::corpus::Kind;

/// How a dialect writes a call with one long value.
pub struct Shape {
    pub dialect: &'static str,
    pub before: &'static str,
    pub after: &'static str,
    /// How the value must be spelled so that it is one.
    spell: fn(&str) -> String,
}

pub const SHAPES: [Shape; 5] = [
    Shape {
        dialect: "tam",
        before: "<|[REQUEST_TOOL]|>\ncommand:「始」write「末」\ncontent:「始」",
        after: "「末」\n<|[END_TOOL]|>",
        spell: str::to_owned,
    },
    Shape {
        dialect: "vcp",
        before: "<<<[TOOL_REQUEST]>>>\ntool_name:「始」write「末」,\ncontent:「始」",
        after: "「末」\n<<<[END_TOOL_REQUEST]>>>",
        spell: str::to_owned,
    },
    Shape {
        dialect: "tool-call-xml",
        before: "<tool_call name=\"write\"><param name=\"content\">",
        after: "</param></tool_call>",
        spell: str::to_owned,
    },
    Shape {
        dialect: "action",
        before: "<ACTION><write><content><![CDATA[",
        after: "]]></content></write></ACTION>",
        spell: str::to_owned,
    },
    Shape {
        dialect: "tool-action",
        before: "<tool_action name=\"write\"><content value=\"",
        after: "\"/></tool_action>",
        spell: |text| {
            text.replace('&', "&amp;")
                .replace('"', "&quot;")
                .replace('<', "&lt;")
        },
    },
];

impl Shape {
    /// A whole call whose value is source code of some `len` bytes.
    pub fn call(&self, len: usize) -> String {
        let mut value = (self.spell)(&Kind::Code.text(len));
        let cut = (0..=len)
            .rev()
            .find(|at| value.is_char_boundary(*at))
            .unwrap_or(0);
        value.truncate(cut);
        // An escape that was cut would be content of its own.
        value.truncate(value.rfind('\n').unwrap_or(value.len()));
        format!("{}{value}{}", self.before, self.after)
    }
}
