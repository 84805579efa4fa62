//! What to tell the model about a rejected call, and about one that was carried out.
//!
//! The wording is that of the dialect's table `observe`; for a kind without its own wording the text is generic and names the
//! kind.

use toolglot::Dialect;
use toolglot::json::{Value, json};
use toolglot::layer::{self, expand, is_chinese, observation};

use super::guard::Guard;
use super::{Checked, Tool, Violation};

impl Violation {
    /// What to tell the model about the violation, in the dialect's wording.
    #[must_use]
    pub fn observation(&self, tool: &str, dialect: Option<&Dialect>) -> String {
        let own = dialect.and_then(|dialect| dialect.refusal(self.kind));
        let template = own.unwrap_or(match self.host {
            // The model would write the same call again.
            true => "Error ({kind}): [[{tool}: ]][[parameter {name}: ]]{message}. The call was not executed.",
            false => {
                "Error ({kind}): [[{tool}: ]][[parameter {name}: ]]{message}. The call was not executed; write it again."
            }
        });
        let suggestion = self.suggestion.as_deref().unwrap_or_default();
        let message = match is_chinese(template) {
            true => &self.chinese,
            false => &self.message,
        };
        observation(
            template,
            self.kind,
            [message, tool, &self.subject, suggestion],
        )
    }

    fn to_json(&self) -> Value {
        json!({
            "kind": self.kind.name(),
            "code": self.kind.code(),
            "path": self.path,
            "schemaPath": self.schema_path,
            "message": self.message,
            "suggestion": self.suggestion,
            "span": self.span.map(|span| [span.start, span.end]),
            "host": self.host,
        })
    }
}

impl Checked {
    /// The check as JSON: `{"tool", "name", "valid", "arguments", "state", "kinds", "changes", "violations", "observation"}`.
    /// The tool is null if there is none, the observation if there are no violations.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let changes = self.changes.iter().map(|change| {
            json!({
                "path": change.path,
                "kind": change.kind.name(),
                "before": change.before,
                "after": change.after,
            })
        });
        json!({
            "tool": self.tool.as_ref().map(|tool| &tool.id),
            "name": self.name,
            "valid": self.valid(),
            "arguments": self.arguments,
            "state": self.grade.name(),
            "kinds": self.kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>(),
            "changes": changes.collect::<Vec<_>>(),
            "violations": self.violations.iter().map(Violation::to_json).collect::<Vec<_>>(),
            "observation": self.observation,
        })
    }

    /// The violations as JSON, for hosts whose models read JSON: `{"error": {"type", "tool", "message", "violations"}}`; `None`
    /// if there are none.
    #[must_use]
    pub fn error(&self) -> Option<Value> {
        let first = self.violations.first()?;
        Some(json!({"error": {
            "type": first.kind.name(),
            "tool": self.name,
            "message": first.message,
            "violations": self.violations.iter().map(Violation::to_json).collect::<Vec<_>>(),
        }}))
    }

    /// The violations as a message of OpenAI's API, for the call with this id; `None` if there are none.
    #[must_use]
    pub fn message(&self, call_id: &str) -> Option<Value> {
        let content = self.observation.as_ref()?;
        Some(json!({"role": "tool", "tool_call_id": call_id, "content": content}))
    }
}

/// What to tell the model about a call that was carried out, using the template `executed` of the dialect's table `observe`.
/// Values other than text are written as JSON. If the text contains the wording of an observation at the start of a line, or
/// the name contains it, it is broken by a backslash, so that it remains one result.
///
/// ```
/// use toolglot::json::json;
///
/// let text = toolglot_tools::executed("weather", &json!({"sky": "grey"}), None);
/// assert!(text.contains("weather") && text.contains("grey"));
/// ```
#[must_use]
pub fn executed(name: &str, result: &Value, dialect: Option<&Dialect>) -> String {
    outcome(
        "executed",
        "Tool {tool} executed successfully. Result: {result}",
        name,
        result,
        dialect,
    )
}

/// The same for a call that was carried out and failed, using the template `failed`.
///
/// ```
/// use toolglot::json::json;
///
/// let text = toolglot_tools::failed("weather", &json!("no such city"), None);
/// assert!(text.contains("weather") && text.contains("no such city"));
/// ```
#[must_use]
pub fn failed(name: &str, why: &Value, dialect: Option<&Dialect>) -> String {
    outcome(
        "failed",
        "Error - Tool {tool} failed. {result}",
        name,
        why,
        dialect,
    )
}

fn outcome(
    key: &str,
    plain: &str,
    name: &str,
    result: &Value,
    dialect: Option<&Dialect>,
) -> String {
    let template = dialect
        .and_then(|dialect| layer::spec(dialect).observe.get(key))
        .map(String::as_str)
        .unwrap_or(plain);
    let result = match result {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut guard = Guard::of_sentence(template);
    if let Some(dialect) = dialect {
        guard.observations(&layer::spec(dialect).observe);
    }
    let (name, result) = (guard.field(name), guard.text(&result));
    expand(template, &[("{tool}", &name), ("{result}", &result)])
}

/// The answer if a tool cannot take one object of named arguments: the error as JSON, with the advice to wrap the tool in a
/// facade.
///
/// ```
/// use toolglot_tools::{Tool, incompatible};
///
/// let answer = incompatible(&Tool::new("sum"), "it takes a list");
/// assert_eq!(answer["error"]["tool"], "sum");
/// ```
#[must_use]
pub fn incompatible(tool: &Tool, why: &str) -> Value {
    json!({"error": {
        "type": "incompatible_signature",
        "tool": tool.id,
        "message": format!("{} cannot be called with one object of named arguments: {why}", tool.id),
        "advice": "give the tool a facade that takes one object, and register the facade instead",
    }})
}
