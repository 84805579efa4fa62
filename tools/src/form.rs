//! Tools as JSON, with the keys of a manifest; the readers read it back.

use toolglot::json::{Map, Value, json};

use super::{ImplementationKind, Tool, ToolKind};

impl Tool {
    /// Writes the tool as an entry of a manifest's `tools`. Reading it returns the same tool. Keys with default values are
    /// omitted, except `agentCallable`, which is always written.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut out = Map::new();
        let mut put = |key: &str, value: Value| {
            let empty = match &value {
                Value::Null => true,
                Value::String(text) => text.is_empty(),
                Value::Array(list) => list.is_empty(),
                Value::Object(map) => map.is_empty() && key != "parameters",
                Value::Bool(_) | Value::Number(_) => false,
            };
            if !empty {
                out.insert(key.to_owned(), value);
            }
        };
        put("id", json!(self.id));
        put("displayName", json!(self.display_name));
        put("description", json!(self.description));
        put("parameters", json!(self.parameters));
        put(
            "kind",
            match self.kind {
                ToolKind::Tool => Value::Null,
                ToolKind::Skill => "skill".into(),
            },
        );
        put(
            "implementation",
            self.implementation.as_ref().map_or(Value::Null, |made| {
                let (kind, key) = match made.kind {
                    ImplementationKind::Node => ("node", "nodeType"),
                    ImplementationKind::Workflow => ("workflow", "workflowId"),
                    ImplementationKind::Service => ("service", "service"),
                };
                json!({"type": kind, key: made.target})
            }),
        );
        put("agentCallable", json!(self.agent_callable));
        put("aliases", json!(self.aliases));
        let commands = self.commands.iter();
        let commands: Map = commands
            .map(|(dialect, name)| (dialect.clone(), json!(name)))
            .collect();
        put("commands", commands.into());
        put("usage", json!(self.usage));
        let examples = self
            .examples
            .iter()
            .map(|example| match &example.description {
                Some(text) => json!({"description": text, "arguments": example.arguments}),
                None => json!({"arguments": example.arguments}),
            });
        put("examples", examples.collect());
        put("tags", json!(self.tags));
        put("extra", json!(self.extra));
        out.into()
    }
}
