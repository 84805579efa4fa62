//! What a request says about calls: which tools, whether one must be called, and how many calls a reply may have.

use toolglot::ToolChoice;
use toolglot::json::Value;

use crate::face::{list, text};

/// `tool_choice` and `parallel_tool_calls` of chat completions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub choice: ToolChoice,
    /// Only these tools may be called; `None`: all.
    allowed: Option<Vec<String>>,
    /// A reply may have one call at most.
    pub single: bool,
}

impl Choice {
    /// # Errors
    /// The gateway does not know the value of `tool_choice`: which one.
    pub fn of(chat: &Value) -> Result<Self, String> {
        let parallel = chat.get("parallel_tool_calls").and_then(Value::as_bool);
        let value = chat.get("tool_choice").unwrap_or(&Value::Null);
        let (value, allowed) = match text(value, "type") {
            "allowed_tools" => {
                let own = value.get("allowed_tools").unwrap_or(value);
                let tools = list(own, "tools").iter().map(name);
                let tools = tools.collect::<Option<Vec<_>>>();
                let tools = tools.filter(|tools| !tools.is_empty());
                let tools = tools.ok_or_else(|| unknown(value))?;
                let mode = own.get("mode").filter(|mode| mode.is_string());
                (mode.ok_or_else(|| unknown(value))?, Some(tools))
            }
            "" | "function" | "auto" | "none" | "required" | "any" => (value, None),
            _ => return Err(unknown(value)),
        };
        Ok(Self {
            choice: ToolChoice::from_value(value).map_err(|_| unknown(value))?,
            allowed,
            single: parallel == Some(false),
        })
    }

    /// Whether only some of the tools may be called.
    pub fn limits(&self) -> bool {
        self.allowed.is_some() || matches!(self.choice, ToolChoice::Named(_))
    }

    /// The tools that may be called, if not all.
    pub fn only(&self) -> impl Iterator<Item = &str> {
        let named = match &self.choice {
            ToolChoice::Named(name) => Some(&**name),
            _ => None,
        };
        let allowed = self.allowed.iter().flatten().map(String::as_str);
        allowed.chain(named)
    }
}

/// The name of an allowed tool.
fn name(tool: &Value) -> Option<String> {
    let own = tool.get("function").unwrap_or(tool);
    let name = text(own, "name");
    (text(tool, "type") == "function" && !name.is_empty()).then(|| name.to_owned())
}

/// Names a value that is not known. The reason is logged, so it has little of the request.
fn unknown(value: &Value) -> String {
    let short = |word: &str| word.chars().take(40).collect::<String>();
    match value.as_str() {
        Some(word) => format!("`tool_choice` {:?} is not known", short(word)),
        None => {
            let kind = short(text(value, "type"));
            format!("`tool_choice` of type {kind:?} and this form is not known")
        }
    }
}
