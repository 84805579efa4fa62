//! Decides which calls may run. Deny takes precedence over confirm, and confirm over allow. A call that no rule matches is denied.

use regex::Regex;
use serde::{Deserialize, Serialize};
use toolglot::json::{Map, Value};
use toolglot_tools::Tool;

/// A policy's decision on a call.
///
/// See the example of [`Policy`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// It runs.
    Allow,
    /// A person is asked.
    Confirm,
    /// It does not run.
    Deny,
}

toolglot::words! {
    Verdict, "verdict":
    Allow = "allow",
    Confirm = "confirm",
    Deny = "deny",
}

/// A pattern for an argument.
///
/// See the example of [`Rule`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Argument {
    /// A JSON pointer (RFC 6901) into the arguments. A segment `*` matches every member or item.
    pub pointer: String,
    /// A regular expression to search for: in the text of a string, in the JSON text of any other value.
    pub pattern: String,
}

impl Argument {
    /// Creates a pattern for the arguments at a pointer.
    #[must_use]
    pub fn new(pointer: impl Into<String>, pattern: impl Into<String>) -> Self {
        Self {
            pointer: pointer.into(),
            pattern: pattern.into(),
        }
    }
}

/// A rule. It applies to a call if all its conditions hold; a rule without conditions applies to every call.
///
/// ```
/// use toolglot::json::{json, to_value};
/// use toolglot_agent::{Argument, Policy, Rule, Verdict};
/// use toolglot_tools::Tool;
///
/// let rule = Rule::default()
///     .tools(vec!["fs:*".to_owned()])
///     .arguments(vec![Argument::new("/path", "^/etc/")]);
/// let rule = to_value(&rule)?;
/// let policy = Policy::from_json(&json!({"deny": [rule], "allow": [{}]}).to_string())?;
/// let arguments = |text: &str| serde_json::from_str(text).unwrap();
/// let read = Tool::new("fs:read");
/// assert_eq!(policy.verdict(&read, &arguments(r#"{"path": "/etc/passwd"}"#)).0, Verdict::Deny);
/// assert_eq!(policy.verdict(&read, &arguments(r#"{"path": "/tmp/notes"}"#)).0, Verdict::Allow);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Rule {
    /// Ids of tools; `*` matches any sequence of characters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Tags, of which the tool must have at least one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Namespaces; the tool's must be one of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
    /// MCP annotations that the tool must have, with these values (`readOnlyHint`). They are hints from the tool's author:
    /// rely on them only if the author is trusted.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub annotations: Map,
    /// Patterns for arguments, all of which must match.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<Argument>,
    /// The reason given to the model if the rule denies, to the person if it requires confirmation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

toolglot::setters! {
    Rule:
    tools = Vec<String>,
    tags = Vec<String>,
    namespaces = Vec<String>,
    annotations = Map,
    arguments = Vec<Argument>,
    reason: Option<String>,
}

/// Rules for calls. Serializes to and from JSON and TOML: `{"deny": [{"tools": ["fs.*"]}], "confirm": [..], "allow": [..]}`.
///
/// ```
/// use toolglot_agent::{Policy, Verdict};
/// use toolglot_tools::Tool;
///
/// let policy = Policy::from_json(
///     r#"{"deny": [{"tools": ["sh"], "arguments": [{"pointer": "/argv/*", "pattern": "^rm$"}], "reason": "nothing is removed"}],
///         "confirm": [{"tools": ["sh"]}], "allow": [{"tags": ["read"]}]}"#,
/// )?;
/// let arguments = |text: &str| serde_json::from_str(text).unwrap();
/// let sh = Tool::new("sh");
/// assert_eq!(policy.verdict(&sh, &arguments(r#"{"argv": ["ls"]}"#)).0, Verdict::Confirm);
/// assert_eq!(policy.verdict(&sh, &arguments(r#"{"argv": ["rm", "x"]}"#)), (Verdict::Deny, "nothing is removed"));
/// assert_eq!(policy.verdict(&Tool::new("other"), &arguments("{}")).0, Verdict::Deny);
/// # Ok::<(), toolglot_agent::PolicyError>(())
/// ```
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "Rules", into = "Rules")]
pub struct Policy {
    rules: Rules,
    /// One for each rule: deny, then confirm, then allow.
    compiled: Vec<Compiled>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Rules {
    deny: Vec<Rule>,
    confirm: Vec<Rule>,
    allow: Vec<Rule>,
}

#[derive(Clone, Debug)]
struct Compiled {
    verdict: Verdict,
    rule: Rule,
    tools: Vec<Regex>,
    patterns: Vec<Regex>,
}

/// Why a policy is invalid.
///
/// ```
/// use toolglot_agent::{Policy, PolicyError};
///
/// let text = r#"{"allow": [{"arguments": [{"pointer": "path", "pattern": "^/tmp/"}]}]}"#;
/// assert!(matches!(Policy::from_json(text), Err(PolicyError::Pointer { index: 0, .. })));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// The text is not a policy.
    #[error("the policy cannot be read: {0}")]
    Shape(String),
    /// A pattern is not a regular expression, or is too large.
    #[error("{verdict} rule {index}: `{pattern}` is not a pattern: {message}")]
    Pattern {
        /// The list of the rule.
        verdict: Verdict,
        /// The rule's number in its list, from 0.
        index: usize,
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        message: String,
    },
    /// A pointer is not empty and does not begin with `/`.
    #[error(
        "{verdict} rule {index}: `{pointer}` is not a JSON pointer; it is empty or begins with `/`"
    )]
    Pointer {
        /// The list of the rule.
        verdict: Verdict,
        /// The rule's number in its list, from 0.
        index: usize,
        /// The pointer.
        pointer: String,
    },
}

impl PartialEq for Policy {
    fn eq(&self, other: &Self) -> bool {
        self.rules == other.rules
    }
}

impl From<Policy> for Rules {
    fn from(policy: Policy) -> Self {
        policy.rules
    }
}

impl TryFrom<Rules> for Policy {
    type Error = PolicyError;

    fn try_from(rules: Rules) -> Result<Self, PolicyError> {
        let lists = [
            (Verdict::Deny, &rules.deny),
            (Verdict::Confirm, &rules.confirm),
            (Verdict::Allow, &rules.allow),
        ];
        let mut compiled = vec![];
        for (verdict, list) in lists {
            for (index, rule) in list.iter().enumerate() {
                compiled.push(compile(verdict, index, rule)?);
            }
        }
        Ok(Self { rules, compiled })
    }
}

/// Returns the regular expression for a glob in which `*` matches any sequence of characters.
pub(crate) fn pattern_of(glob: &str) -> String {
    let parts: Vec<String> = glob.split('*').map(regex::escape).collect();
    format!("(?s)^{}$", parts.join(".*"))
}

fn compile(verdict: Verdict, index: usize, rule: &Rule) -> Result<Compiled, PolicyError> {
    let regex = |source: &str, shown: &str| {
        Regex::new(source).map_err(|error| PolicyError::Pattern {
            verdict,
            index,
            pattern: shown.to_owned(),
            message: error.to_string(),
        })
    };
    let glob = |glob: &String| regex(&pattern_of(glob), glob);
    for argument in &rule.arguments {
        if !argument.pointer.is_empty() && !argument.pointer.starts_with('/') {
            return Err(PolicyError::Pointer {
                verdict,
                index,
                pointer: argument.pointer.clone(),
            });
        }
    }
    let patterns = rule
        .arguments
        .iter()
        .map(|one| regex(&one.pattern, &one.pattern));
    Ok(Compiled {
        verdict,
        rule: rule.clone(),
        tools: rule.tools.iter().map(glob).collect::<Result<_, _>>()?,
        patterns: patterns.collect::<Result<_, _>>()?,
    })
}

impl Policy {
    /// Allows every declared tool.
    #[must_use]
    pub fn allow_all() -> Self {
        let rules = Rules {
            allow: vec![Rule::default()],
            ..Rules::default()
        };
        // A rule without patterns always compiles.
        Self::try_from(rules).unwrap_or_default()
    }

    /// Requires confirmation of every call.
    #[must_use]
    pub fn confirm_all() -> Self {
        let rules = Rules {
            confirm: vec![Rule::default()],
            ..Rules::default()
        };
        Self::try_from(rules).unwrap_or_default()
    }

    /// Reads a policy from JSON text.
    ///
    /// # Errors
    /// The text is not a policy; a pattern or pointer is invalid.
    pub fn from_json(text: &str) -> Result<Self, PolicyError> {
        let rules: Rules =
            serde_json::from_str(text).map_err(|error| PolicyError::Shape(error.to_string()))?;
        Self::try_from(rules)
    }

    /// Returns the verdict on a call, and the rule's reason if it has one (otherwise an empty text). The first rule that applies decides:
    /// deny rules first, then confirm rules, then allow rules. Linear in the rules and the arguments.
    #[must_use]
    pub fn verdict(&self, tool: &Tool, arguments: &Map) -> (Verdict, &str) {
        let found = self
            .compiled
            .iter()
            .find(|rule| rule.applies(tool, arguments));
        found.map_or((Verdict::Deny, ""), |rule| {
            (
                rule.verdict,
                rule.rule.reason.as_deref().unwrap_or_default(),
            )
        })
    }
}

impl Compiled {
    fn applies(&self, tool: &Tool, arguments: &Map) -> bool {
        let rule = &self.rule;
        let annotations = tool.extra.get("annotations");
        let annotated = |(key, value): (&String, &Value)| {
            annotations.and_then(|all| all.get(key)) == Some(value)
        };
        let space = |one: &String| tool.namespace() == Some(one.as_str());
        (self.tools.is_empty() || self.tools.iter().any(|glob| glob.is_match(&tool.id)))
            && (rule.tags.is_empty() || rule.tags.iter().any(|tag| tool.tags.contains(tag)))
            && (rule.namespaces.is_empty() || rule.namespaces.iter().any(space))
            && rule.annotations.iter().all(annotated)
            && rule
                .arguments
                .iter()
                .zip(&self.patterns)
                .all(|(argument, pattern)| {
                    let values = at(arguments, &argument.pointer);
                    values.iter().any(|value| match value.as_str() {
                        Some(text) => pattern.is_match(text),
                        None => pattern.is_match(&value.to_string()),
                    })
                })
    }
}

/// Returns the values at a pointer, in which `*` matches every member or item.
fn at(arguments: &Map, pointer: &str) -> Vec<Value> {
    let mut values = vec![Value::Object(arguments.clone())];
    for part in pointer.split('/').skip(1) {
        let name = toolglot::layer::key(part);
        let inside = |value: &Value| -> Vec<Value> {
            match (value, part) {
                (Value::Object(map), "*") => map.values().cloned().collect(),
                (Value::Array(items), "*") => items.clone(),
                (Value::Object(map), _) => map.get(&name).cloned().into_iter().collect(),
                (Value::Array(items), _) => {
                    let item = name.parse().ok().and_then(|at: usize| items.get(at));
                    item.cloned().into_iter().collect()
                }
                _ => vec![],
            }
        };
        values = values.iter().flat_map(inside).collect();
    }
    values
}
