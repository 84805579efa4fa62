//! Calls in a JSON text: a turn, toolglot's or OpenAI's, a list of calls, or one call.

use serde::Deserialize;
use serde_json::value::RawValue;
use toolglot::json::Map;

/// A turn.
#[derive(Deserialize)]
pub struct Turn<'j> {
    #[serde(borrow, alias = "tool_calls")]
    pub calls: Vec<Given<'j>>,
    #[serde(default, alias = "errors")]
    pub issues: Vec<Told>,
}

/// A call as `parse` prints it, or in OpenAI's form.
#[derive(Deserialize)]
pub struct Given<'j> {
    pub id: Option<String>,
    name: Option<String>,
    #[serde(borrow)]
    arguments: Option<&'j RawValue>,
    #[serde(borrow)]
    function: Option<Function<'j>>,
    pub dialect: Option<String>,
    pub index: Option<u32>,
    pub span: Option<(u64, u64)>,
    pub state: Option<String>,
    #[serde(default)]
    pub kinds: Vec<String>,
}

#[derive(Deserialize)]
struct Function<'j> {
    name: String,
    #[serde(borrow)]
    arguments: Option<&'j RawValue>,
}

/// Issues that the parser reported.
#[derive(Deserialize)]
pub struct Told {
    pub kind: String,
    pub severity: String,
    pub observation: String,
}

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl<'j> Turn<'j> {
    pub fn read(json: &'j [u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(json).map_err(told)?;
        let list = |calls| Self {
            calls,
            issues: vec![],
        };
        if text.trim_start().starts_with('[') {
            return serde_json::from_str(text).map(list).map_err(told);
        }
        let named: Map = serde_json::from_str(text).map_err(told)?;
        if named.contains_key("calls") || named.contains_key("tool_calls") {
            return serde_json::from_str(text).map_err(told);
        }
        let one = |call| list(vec![call]);
        serde_json::from_str(text).map(one).map_err(told)
    }
}

impl Given<'_> {
    /// Returns the name and the arguments of the call with that index.
    pub fn said(&self, index: usize) -> Result<(String, String), String> {
        let (name, arguments) = match &self.function {
            Some(function) => (Some(&function.name), function.arguments),
            None => (self.name.as_ref(), self.arguments),
        };
        let arguments = match arguments.map(RawValue::get) {
            None | Some("null") => "{}".to_owned(),
            // JSON in a string.
            Some(text) if text.starts_with('"') => serde_json::from_str(text).map_err(told)?,
            Some(text) => text.to_owned(),
        };
        let name = name.ok_or_else(|| format!("call {index} has no `name`"))?;
        Ok((name.clone(), arguments))
    }
}
