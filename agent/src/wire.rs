//! Agents, and the inputs of runs, as JSON: for hosts in other languages, for logs and for tests.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toolglot::json::{Map, Value, json};
use toolglot::{DialectSet, Finish, Kind, NativeCall};
use toolglot_tools::outcome::{RenderOptions, Shape, ToolResult};
use toolglot_tools::prompt::Lang;
use toolglot_tools::{CallConfig, Inventory, ReadError, RegistryError, read};

use crate::agent::{Agent, AgentError, Budget, Recovered};
use crate::policy::Policy;
use crate::response::Said;
use crate::run::{Run, RunError};
use crate::step::Decision;

/// Why a text does not describe an agent.
///
/// ```
/// use toolglot::DialectSet;
/// use toolglot_agent::{Agent, FormError};
///
/// let text = r#"{"dialect": "hermes", "tools": [], "callable": ["weather"]}"#;
/// let agent = Agent::from_json(&DialectSet::defaults(), text);
/// assert!(matches!(agent, Err(FormError::Callable(id)) if id == "weather"));
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FormError {
    /// It is not JSON, lacks a member, or has an unknown member or an invalid value.
    #[error("this is not an agent: {0}")]
    Json(String),
    /// Its tools cannot be read.
    #[error(transparent)]
    Tools(#[from] ReadError),
    /// Its tools conflict.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// An id in `callable` is not that of a tool.
    #[error("`callable` names `{0}`, which is not a tool of the agent")]
    Callable(String),
    /// The agent cannot be created.
    #[error(transparent)]
    Agent(#[from] AgentError),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    dialect: Option<String>,
    #[serde(default)]
    tools: Value,
    callable: Option<Vec<String>>,
    #[serde(default)]
    config: Map,
    #[serde(default)]
    policy: Policy,
    shape: Option<Shape>,
    lang: Option<Lang>,
    #[serde(default)]
    recovered: Recovered,
    #[serde(default)]
    references: bool,
    max_concurrent: Option<usize>,
    #[serde(default)]
    budget: Budget,
    task_timeout: Option<u64>,
    #[serde(default)]
    grammar: bool,
}

impl Agent {
    /// Reads an agent: an object with `dialect` (or `protocol` in its `config`) and optionally `tools` (a list in any form that
    /// [`read::any`] accepts), `callable` (ids of tools; by default all listed tools), `config` ([`CallConfig`], enabled by default),
    /// `policy` ([`Policy`]; without one nothing runs), `shape`, `lang`, `recovered`, `references`, `max_concurrent`,
    /// `grammar`, `budget` ([`Budget`]) and `task_timeout`, like the functions of those names.
    ///
    /// ```
    /// use toolglot::DialectSet;
    /// use toolglot_agent::Agent;
    ///
    /// let agent = Agent::from_json(
    ///     &DialectSet::defaults(),
    ///     r#"{"dialect": "hermes", "tools": [{"name": "weather", "parameters": {}}], "policy": {"allow": [{}]}}"#,
    /// )?;
    /// assert_eq!(agent.offered().tools().len(), 1);
    /// # Ok::<(), toolglot_agent::FormError>(())
    /// ```
    ///
    /// # Errors
    /// The text does not describe an agent; the dialect is not in the set; a tool cannot be read.
    pub fn from_json(set: &DialectSet, text: &str) -> Result<Self, FormError> {
        let no_agent = |error: serde_json::Error| FormError::Json(error.to_string());
        let form: Form = serde_json::from_str(text).map_err(no_agent)?;
        let mut tools = match form.tools {
            Value::Null => vec![],
            tools => read::any("tools", &tools.to_string())?,
        };
        if let Some(names) = &form.callable {
            let missing = names
                .iter()
                .find(|name| tools.iter().all(|tool| tool.id != **name));
            if let Some(name) = missing {
                return Err(FormError::Callable(name.clone()));
            }
        }
        for tool in &mut tools {
            let named = |names: &Vec<String>| names.contains(&tool.id);
            tool.agent_callable = form.callable.as_ref().is_none_or(named);
        }
        let mut config = form.config;
        let protocol = config.get("protocol").and_then(Value::as_str);
        let dialect = form.dialect.or_else(|| protocol.map(str::to_owned));
        let dialect =
            dialect.ok_or_else(|| FormError::Json("missing field `dialect`".to_owned()))?;
        if config.get("enabled").is_none() {
            config.insert("enabled".to_owned(), true.into());
        }
        let config: CallConfig = serde_json::from_str(&Value::Object(config).to_string())
            .map_err(|error| FormError::Json(format!("config: {error}")))?;
        let mut agent = Self::new(set, &dialect, Inventory::of(tools)?)?
            .config(config)
            .policy(form.policy)
            .recovered(form.recovered)
            .references(form.references)
            .grammar(form.grammar)
            .budget(form.budget)
            .render(RenderOptions::new(form.lang.unwrap_or(Lang::En)));
        if let Some(shape) = form.shape {
            agent = agent.shape(shape);
        }
        if let Some(time) = form.task_timeout {
            agent = agent.task_timeout(time);
        }
        if let Some(calls) = form.max_concurrent {
            agent = agent.max_concurrent(calls);
        }
        Ok(agent)
    }
}

/// An input of a run; each variant is a method of [`Run`]. In JSON an object with one member:
/// `{"model": "Hello"}`, `{"ended": "stop"}`, `{"decision": ["call_0_0", "approve"]}`, `{"cancel": null}`.
///
/// ```
/// # use toolglot::{DialectSet, Finish};
/// # use toolglot_agent::{Agent, Do, Policy};
/// # use toolglot_tools::{CallConfig, Inventory, Tool};
/// # let tools = Inventory::of([Tool::new("weather").description("Tells the weather").callable(true)])?;
/// # let agent = Agent::new(&DialectSet::defaults(), "hermes", tools)?.config(CallConfig::enabled()).policy(Policy::allow_all());
/// use toolglot_agent::{Outcome, Told};
///
/// let mut run = agent.run("Hi");
/// for line in [r#"{"model": "Hello."}"#, r#"{"ended": "stop"}"#] {
///     run.tell(serde_json::from_str::<Told>(line)?)?;
/// }
/// assert_eq!(run.outcome(), Some(&Outcome::Answer { text: "Hello.".to_owned() }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Told {
    /// Bytes of the reply: a string, or a list of numbers if they are not valid UTF-8.
    #[serde(with = "bytes")]
    Model(Vec<u8>),
    /// Reasoning beside the text.
    Reasoning(String),
    /// An API tool call, in the form of OpenAI's `tool_calls`.
    #[serde(with = "native")]
    Native(NativeCall),
    /// Part of the reply could not be read, and why.
    Gap(String),
    /// An API tool call that could not be read: its name, the kind of issue that the model is told, and why.
    Refused(String, #[serde(with = "crate::kind")] Kind, String),
    /// The reply has ended.
    Ended(Finish),
    /// The model failed, with the reason.
    Failed(String),
    /// Ask the model again.
    AskAgain,
    /// A person's decision on a call: its id, and `"approve"`, `{"edit": arguments}` or `{"deny": reason}`.
    Decision(String, Decision),
    /// A piece of the output of a call or task: its id, and the piece.
    Progress(String, String),
    /// The result of a call.
    Done(ToolResult),
    /// A call continues as a task: the call's id, and the task's.
    Begun(String, String),
    /// The id of a call or task whose result is unknown.
    Lost(String),
    /// The result of a task; its id is the task's.
    Later(ToolResult),
    /// The time, in milliseconds.
    Tick(u64),
    /// The run is cancelled.
    Cancel,
}

impl From<Said> for Told {
    fn from(said: Said) -> Self {
        match said {
            Said::Text(bytes) => Self::Model(bytes),
            Said::Reasoning(text) => Self::Reasoning(text),
            Said::Native(call) => Self::Native(call),
            Said::Gap(why) => Self::Gap(why),
            Said::Refused { name, kind, why } => Self::Refused(name, kind, why),
            Said::End(reason) => Self::Ended(reason),
            Said::Failed(why) => Self::Failed(why),
        }
    }
}

mod bytes {
    use super::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(bytes: &[u8], out: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(bytes) {
            Ok(text) => out.serialize_str(text),
            Err(_) => out.collect_seq(bytes),
        }
    }

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Given {
        Text(String),
        Bytes(Vec<u8>),
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        Ok(match Given::deserialize(from)? {
            Given::Text(text) => text.into_bytes(),
            Given::Bytes(bytes) => bytes,
        })
    }
}

mod native {
    use serde::de::Error as _;

    use super::{Deserialize, Deserializer, NativeCall, Serialize, Serializer, Value, json};

    pub fn serialize<S: Serializer>(call: &NativeCall, out: S) -> Result<S::Ok, S::Error> {
        let function = json!({"name": call.name, "arguments": call.arguments});
        json!({"id": call.id, "type": "function", "function": function}).serialize(out)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<NativeCall, D::Error> {
        let value = Value::deserialize(from)?;
        let calls = NativeCall::from_openai(&Value::Array(vec![value]));
        let call = calls.map_err(D::Error::custom)?.pop();
        call.ok_or_else(|| D::Error::custom("there is no call"))
    }
}

impl Run {
    /// Passes an input to the run.
    ///
    /// # Errors
    /// Those of the corresponding method; nothing has changed then.
    pub fn tell(&mut self, told: Told) -> Result<(), RunError> {
        match told {
            Told::Model(bytes) => self.model(&bytes),
            Told::Reasoning(text) => self.reasoning(&text),
            Told::Native(call) => self.native_call(&call),
            Told::Gap(why) => self.gap(&why),
            Told::Refused(name, kind, why) => self.native_refused(&name, kind, &why),
            Told::Ended(reason) => self.model_ended(reason),
            Told::Failed(why) => self.model_failed(&why),
            Told::AskAgain => self.ask_again(),
            Told::Decision(id, decision) => self.decision(&id, decision),
            Told::Progress(id, piece) => self.progress(&id, &piece),
            Told::Done(result) => self.done(result),
            Told::Begun(id, task) => self.begun(&id, &task),
            Told::Lost(id) => self.lost(&id),
            Told::Later(result) => self.later(result),
            Told::Tick(now) => {
                self.tick(now);
                Ok(())
            }
            Told::Cancel => {
                self.cancel();
                Ok(())
            }
        }
    }
}
