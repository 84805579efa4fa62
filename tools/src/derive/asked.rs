//! The turns that a template is asked to write, with one trait each, and the tools that they call.

use toolglot::json::{Map, Value as Json, json};

/// A call in a turn.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Said {
    pub name: String,
    pub arguments: Map,
}

/// What an assistant says and calls in one turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Turn {
    pub text: String,
    pub reasoning: String,
    pub calls: Vec<Said>,
}

impl Turn {
    pub fn text(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            ..Self::default()
        }
    }

    pub fn call(name: &str, arguments: Json) -> Self {
        Self::default().and(name, arguments)
    }

    pub fn and(mut self, name: &str, arguments: Json) -> Self {
        let arguments = match arguments {
            Json::Object(map) => map,
            _ => Map::new(),
        };
        let name = name.to_owned();
        self.calls.push(Said { name, arguments });
        self
    }

    pub fn saying(mut self, text: &str) -> Self {
        text.clone_into(&mut self.text);
        self
    }

    pub fn thinking(mut self, thought: &str) -> Self {
        thought.clone_into(&mut self.reasoning);
        self
    }
}

/// Every turn by its name.
pub(super) fn shapes() -> Vec<(&'static str, Turn)> {
    let weather = json!({"city": "Paris", "days": 3});
    let one = || Turn::call("get_weather", weather.clone());
    let two = || {
        one().and(
            "send_mail",
            json!({"to": "ann@example.org", "urgent": false}),
        )
    };
    let note = |arguments| Turn::call("store_note", arguments);
    let numbers = r#"{"count": 12345678901234567890, "ratio": 0.1, "huge": 1e+22, "small": -7}"#;
    vec![
        ("one call", one()),
        ("two calls", two()),
        ("text before", one().saying("Let me look that up.")),
        (
            "reasoning before",
            one().thinking("The user asks for the weather."),
        ),
        (
            "all three",
            two()
                .saying("One moment.")
                .thinking("Two tools are needed.\n\nFirst the weather."),
        ),
        (
            "text alone",
            Turn::text("It will rain.\n\n- Take a coat.\n- Stay dry."),
        ),
        (
            "reasoning and text",
            Turn::text("It will rain.").thinking("No tool is needed."),
        ),
        (
            "nested",
            note(json!({
                "nested": {"a": [1, {"b": null, "c": [true, "x"]}], "d": {"e": {}}},
                "items": ["p", "q, r"],
            })),
        ),
        (
            "unicode",
            note(json!({"text": "Zürich 東京 🎉 naïve", "title": "“中文，引号”"})),
        ),
        (
            "quotes",
            note(json!({
                "text": "She said \"hi\", it's",
                "title": "back\\slash \\n",
                "extra": "'\"'",
                "mark": "\"",
            })),
        ),
        (
            "lines",
            note(json!({
                "text": "first\nsecond\n\nfourth",
                "title": "tab\there",
                "extra": "carriage\r\nreturn",
            })),
        ),
        (
            "markup",
            note(json!({
                "text": "<b>bold</b> & <br/>",
                "title": "a < b > c",
                "extra": "&amp; &lt;",
                "mark": "{x} [y] (z), k: v; w=1",
            })),
        ),
        (
            "literals",
            note(json!({
                "text": "true",
                "title": "null",
                "extra": "42",
                "mark": "None",
                "flag": true,
                "count": 42,
                "ratio": null,
            })),
        ),
        ("numbers", note(numbers.parse().expect("JSON"))),
        (
            "empty",
            note(json!({"text": "", "items": [], "nested": {}})),
        ),
        ("no arguments", Turn::call("ping", json!({}))),
        (
            "look-alikes",
            note(json!({
                "text": "a <tool_call> b </tool> c <think> d",
                "title": "<|tool_end|> [TOOL] </s ",
                "extra": "```json\n{\"name\": \"rm\"}\n```",
                "mark": "Action: rm",
            })),
        ),
        (
            "blanks",
            note(json!({
                "text": "  two on each side  ",
                "title": " ",
                "extra": "tail\n",
                "mark": "\nhead",
            })),
        ),
    ]
}

/// Names and keys that stand for a tool's own, and values that no template writes by itself.
pub(super) const TOOLS: [&str; 2] = ["find_parcel", "move_crate"];
pub(super) const KEYS: [&str; 2] = ["shelf", "aisle"];
pub(super) const VALUES: [&str; 2] = ["amberfox", "cobaltowl"];
pub(super) const COUNT: &str = "amount";
pub(super) const NUMBER: i64 = 907_153;
pub(super) const SAID: &str = "Quiet harbour.";
pub(super) const THOUGHT: &str = "Slow lantern.";

/// The parameters of every tool: name, type, and whether null is allowed.
const PARAMETERS: &[(&str, &[(&str, &str)])] = &[
    ("get_weather", &[("city", "string"), ("days", "integer")]),
    ("send_mail", &[("to", "string"), ("urgent", "boolean")]),
    ("ping", &[]),
    (
        "store_note",
        &[
            ("text", "string"),
            ("title", "string"),
            ("extra", "string"),
            ("mark", "string"),
            ("nested", "object"),
            ("items", "array"),
            ("flag", "boolean"),
            ("count", "integer"),
            ("ratio", "number"),
            ("huge", "number"),
            ("small", "integer"),
        ],
    ),
    (
        TOOLS[0],
        &[(KEYS[0], "string"), (KEYS[1], "string"), (COUNT, "integer")],
    ),
    (
        TOOLS[1],
        &[(KEYS[0], "string"), (KEYS[1], "string"), (COUNT, "integer")],
    ),
];

/// The type of a parameter.
pub(super) fn kind(tool: &str, key: &str) -> Option<&'static str> {
    let (_, list) = PARAMETERS.iter().find(|(name, _)| *name == tool)?;
    list.iter()
        .find(|(name, _)| *name == key)
        .map(|(_, kind)| *kind)
}

/// All tools, in the form of a chat API.
pub(super) fn tools() -> Json {
    let described = |name: &str, kind: &str| match (name, kind) {
        (_, "array") => {
            json!({"type": "array", "items": {"type": "string"}, "description": "Several."})
        }
        // Some templates describe the values of every object.
        (_, "object") => {
            json!({"type": "object", "additionalProperties": {}, "description": "Some."})
        }
        ("ratio", _) => json!({"type": "number", "nullable": true, "description": "One."}),
        _ => json!({"type": kind, "description": "One."}),
    };
    let tool = |(name, list): &(&str, &[(&str, &str)])| {
        let properties: Map = list
            .iter()
            .map(|(key, kind)| ((*key).to_owned(), described(key, kind)))
            .collect();
        let parameters = json!({"type": "object", "properties": properties, "required": []});
        json!({
            "type": "function",
            "function": {"name": name, "description": "A tool.", "parameters": parameters},
        })
    };
    Json::Array(PARAMETERS.iter().map(tool).collect())
}
