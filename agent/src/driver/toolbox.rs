//! Files of tools, with the executor of each.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use toolglot::json::{Map, Value};
use toolglot_tools::read::{self, Source};
use toolglot_tools::{Inventory, Tool};

use super::function::content;
use super::inside::{AgentSpec, Inside, WorkflowSpec};
use super::{
    Approver, Executor, Executors, Model, Piece, Process, ProcessSpec, SetupError, Stream, pieces,
};
use crate::agent::Agent;
use crate::step::Start;

/// Why a file of tools cannot be used, and where.
///
/// ```
/// use toolglot_agent::driver::Toolbox;
///
/// let text = r#"{"tools": [{"name": "today", "description": "Tells the date"}]}"#; // no `execute`
/// let error = Toolbox::read("tools.json", text, ".".as_ref()).unwrap_err();
/// assert_eq!((error.origin.as_str(), error.path.starts_with("tools[0]")), ("tools.json", true));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{origin}{}{path}: {why}", if .path.is_empty() { "" } else { ": " })]
#[non_exhaustive]
pub struct ToolboxError {
    /// The file, or the caller's name for it.
    pub origin: String,
    /// The path in it, for example `tools[2].execute`.
    pub path: String,
    /// What is wrong there.
    pub why: String,
}

/// Tools and their executors.
///
/// ```
/// use toolglot_agent::driver::Toolbox;
///
/// let text = r#"
/// [[tools]]
/// name = "today"
/// description = "Tells the date"
/// execute = { process = { argv = ["date", "--iso-8601"] } }
/// "#;
/// let toolbox = Toolbox::read("tools.toml", text, ".".as_ref())?;
/// assert_eq!(toolbox.tools[0].id, "today");
/// assert!(toolbox.executors.get("today").is_some());
/// # Ok::<(), toolglot_agent::driver::ToolboxError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Toolbox {
    /// Their definitions.
    pub tools: Vec<Tool>,
    /// Their executors; those of workflows and agents are added by [`join`](Self::join).
    pub executors: Executors,
    /// Workflows and agents: the path in the file, the tool, and its parts.
    pub(super) inside: Vec<(String, String, Inside)>,
    /// Servers that are still to be connected to.
    #[cfg(feature = "mcp")]
    pub(super) servers: std::collections::BTreeMap<String, Server>,
    /// Connections, kept as long as their tools.
    #[cfg(feature = "mcp")]
    connections: Vec<Arc<super::Mcp>>,
}

/// A server of the Model Context Protocol.
#[cfg(feature = "mcp")]
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Server {
    process: Option<ProcessSpec>,
    url: Option<String>,
    key_env: Option<String>,
    /// Tools that agents may call; `*` matches any sequence of characters.
    tools: Vec<String>,
}

/// How a tool is executed.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Execute {
    Process(ProcessSpec),
    #[cfg(feature = "http")]
    Http(super::HttpSpec),
    /// A constant result.
    Value(Value),
    Workflow(WorkflowSpec),
    Agent(AgentSpec),
}

/// A tool's executor, or its parts.
enum Way {
    Whole(Arc<dyn Executor>),
    Inside(Inside),
}

struct Fixed(Value);

impl Executor for Fixed {
    fn start(&self, _: Start) -> Stream<Piece> {
        let value = self.0.clone();
        pieces(async move |_| Piece::Done(Ok(content(value))))
    }
}

/// Members of the file other than `tools`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Rest {
    #[cfg(feature = "http")]
    http: super::Hosts,
    #[cfg(feature = "mcp")]
    mcp: std::collections::BTreeMap<String, Server>,
}

impl Toolbox {
    /// Reads TOML, JSON, or YAML (by the ending of the name): any list of definitions in a member `tools`, each with a member
    /// `execute`. That is `{"process": {..}}` ([`ProcessSpec`]), `{"http": {..}}` (feature `http`), `{"value": ..}`, a constant
    /// result, or `{"workflow": {..}}` or `{"agent": {..}}`, which [`join`](Self::join) builds. Working directories are relative to
    /// `folder`. `connect` connects to servers in a member `mcp` (feature `mcp`), with which `tools` may be omitted.
    ///
    /// # Errors
    /// The text or a definition cannot be read, or a definition does not say how it is executed.
    pub fn read(origin: &str, text: &str, folder: &Path) -> Result<Self, ToolboxError> {
        Self::read_with(origin, text, folder, &Executors::new())
    }

    /// Like [`read`](Self::read), and for manifests of plugins, whose tools may have an `implementation` in place of `execute`: a node or
    /// service is executed by the handler in `handlers` under its type or name, a workflow is a file in `folder` with a list of steps.
    ///
    /// # Errors
    /// Like [`read`](Self::read); there is no handler of that name.
    pub fn read_with(
        origin: &str,
        text: &str,
        folder: &Path,
        handlers: &Executors,
    ) -> Result<Self, ToolboxError> {
        let fail = |path: &str, why: String| ToolboxError {
            origin: origin.to_owned(),
            path: path.to_owned(),
            why,
        };
        let mut file = document(origin, text).map_err(|(path, why)| fail(&path, why))?;
        let servers = cfg!(feature = "mcp") && file.get("mcp").is_some();
        let mut list = match file.remove("tools") {
            Some(Value::Array(list)) => list,
            None if servers => vec![],
            _ => return Err(fail("tools", "a list of tools is needed".to_owned())),
        };
        let ways = ways(&mut list).map_err(|(path, why)| fail(&path, why))?;
        let name = file.get("name").cloned().unwrap_or_default();
        let definitions = toolglot::json::json!({"name": name, "tools": list}).to_string();
        let read =
            read::listing(origin, &definitions).map_err(|error| fail(&error.path, error.why))?;
        if let Some(error) = read.odd.into_iter().next() {
            return Err(fail(&error.path, error.why));
        }
        if read.source == Source::Plugin {
            // Manifests have other members too.
            file.retain(|key, _| ["http", "mcp"].contains(&key));
        }
        let rest = Value::Object(file).to_string();
        let rest: Rest =
            serde_json::from_str(&rest).map_err(|error| fail("", error.to_string()))?;
        let mut tools = read.tools;
        let mut executors = Executors::new();
        let mut inside = vec![];
        for ((at, tool), way) in tools.iter_mut().enumerate().zip(ways) {
            let path = format!("tools[{at}].execute");
            let way = match way {
                Some(way) => executor(way, &rest, folder),
                None => implemented(tool, folder, handlers),
            };
            match way.map_err(|why| fail(&path, why))? {
                Way::Whole(executor) => executors.add(&tool.id, executor),
                Way::Inside(one) => {
                    one.define(tool).map_err(|why| fail(&path, why))?;
                    inside.push((path, tool.id.clone(), one));
                }
            }
        }
        if read.source != Source::Plugin {
            // A file of tools makes its tools callable; a manifest says itself whether agents may call them.
            tools.iter_mut().for_each(|tool| tool.agent_callable = true);
        }
        let inventory =
            Inventory::of(tools.clone()).map_err(|error| fail("tools", error.to_string()))?;
        if let Some((id, fault)) = inventory.faults().next() {
            return Err(fail("tools", format!("{id}: parameters: {fault}")));
        }
        Ok(Self {
            tools,
            executors,
            inside,
            #[cfg(feature = "mcp")]
            servers: servers_of(rest.mcp, folder, &fail)?,
            #[cfg(feature = "mcp")]
            connections: vec![],
        })
    }

    /// Builds the workflows and agents of the file from the tools that precede them, including those of connected servers. Rules,
    /// dialect and language are those of `agent`; each has its own budget. `model` answers for agents without a script,
    /// and `approver` is asked about calls that need confirmation.
    ///
    /// # Errors
    /// One of them names a tool that does not exist or does not precede it.
    pub fn join(
        &mut self,
        origin: &str,
        agent: &Agent,
        model: &Arc<dyn Model>,
        approver: &Arc<dyn Approver>,
    ) -> Result<(), ToolboxError> {
        for (path, id, inside) in std::mem::take(&mut self.inside) {
            let made = inside.executor(agent, &self.tools, &self.executors, model, approver);
            let made = made.map_err(|why| ToolboxError {
                origin: origin.to_owned(),
                path,
                why,
            })?;
            self.executors.add(&id, made);
        }
        Ok(())
    }

    /// Waits until the servers have been told which calls are cancelled. Call it before the runtime ends.
    pub async fn settle(&self) {
        #[cfg(feature = "mcp")]
        for connection in &self.connections {
            connection.settle().await;
        }
    }

    /// Connects to the servers of the file and adds their tools, prefixed with the server's name (`server:tool`). Does
    /// nothing if there are none, or they are already connected.
    ///
    /// # Errors
    /// A server cannot be started or reached, does not list its tools, or has no tool for a pattern of the file.
    #[cfg(feature = "mcp")]
    pub async fn connect(&mut self, origin: &str) -> Result<(), ToolboxError> {
        for (name, server) in std::mem::take(&mut self.servers) {
            let fail = |why: String| ToolboxError {
                origin: origin.to_owned(),
                path: format!("mcp.{name}"),
                why,
            };
            let mcp = server.connect(&name).await.map_err(fail)?;
            let mut tools = mcp.tools().await.map_err(|error| fail(error.why))?;
            let own: Vec<String> = tools
                .iter()
                .map(|tool| tool.id[name.len() + 1..].to_owned())
                .collect();
            let executor: Arc<dyn Executor> = Arc::new(mcp.executor());
            for glob in &server.tools {
                let pattern = regex::Regex::new(&crate::policy::pattern_of(glob));
                let pattern = pattern.map_err(|error| fail(format!("`{glob}`: {error}")))?;
                let mut found = false;
                for (tool, own) in tools.iter_mut().zip(&own) {
                    let may = pattern.is_match(own);
                    tool.agent_callable |= may;
                    found |= may;
                }
                if !found {
                    let known = own.join(", ");
                    return Err(fail(format!("it has no tool `{glob}`; there are {known}")));
                }
            }
            for tool in &tools {
                self.executors.add(&tool.id, executor.clone());
            }
            self.tools.append(&mut tools);
            self.connections.push(Arc::new(mcp));
            let inventory = Inventory::of(self.tools.clone());
            let inventory = inventory.map_err(|error| fail(error.to_string()))?;
            if let Some((id, fault)) = inventory.faults().next() {
                return Err(fail(format!("{id}: parameters: {fault}")));
            }
        }
        Ok(())
    }
}

/// Reads the servers, with resolved folders and keys.
#[cfg(feature = "mcp")]
fn servers_of(
    servers: std::collections::BTreeMap<String, Server>,
    folder: &Path,
    fail: &dyn Fn(&str, String) -> ToolboxError,
) -> Result<std::collections::BTreeMap<String, Server>, ToolboxError> {
    let looked = |(name, mut server): (String, Server)| {
        let path = format!("mcp.{name}");
        if name.is_empty() || name.contains(':') {
            return Err(fail(
                &path,
                "a name must not be empty or contain a colon".to_owned(),
            ));
        }
        if server.process.is_some() == server.url.is_some() {
            return Err(fail(&path, "it has either `process` or `url`".to_owned()));
        }
        if server.tools.is_empty() {
            let why = "`tools` says which of its tools agents may call; [\"*\"] are all";
            return Err(fail(&path, why.to_owned()));
        }
        if let Some(spec) = &mut server.process {
            let own = spec.cwd.take().unwrap_or_else(|| ".".into());
            spec.cwd = Some(folder.join(own));
            super::Process::new(spec.clone()).map_err(|why| fail(&path, why.to_string()))?;
        }
        Ok((name, server))
    };
    servers.into_iter().map(looked).collect()
}

#[cfg(feature = "mcp")]
impl Server {
    async fn connect(&self, name: &str) -> Result<super::Mcp, String> {
        use super::{Mcp, McpLimits};
        let limits = McpLimits::default();
        let connected = match (&self.process, &self.url) {
            (Some(spec), _) => {
                let process = Process::new(spec.clone()).map_err(|why| why.to_string())?;
                let mut command = process.command(&Map::new())?;
                command.stderr(std::process::Stdio::inherit());
                Mcp::process(name, command, limits).await
            }
            (None, url) => {
                let key = match &self.key_env {
                    None => None,
                    Some(variable) => Some(std::env::var(variable).map_err(|_| {
                        format!("key_env: the environment has no variable {variable}")
                    })?),
                };
                let url = url.as_deref().unwrap_or_default();
                Mcp::http(name, url, key.as_deref(), limits).await
            }
        };
        connected.map_err(|error| error.why)
    }
}

fn executor(way: Execute, rest: &Rest, folder: &Path) -> Result<Way, String> {
    #[cfg(not(feature = "http"))]
    let Rest {} = rest;
    let wrong = |why: SetupError| why.to_string();
    let whole: Arc<dyn Executor> = match way {
        Execute::Process(spec) => Arc::new(Process::new(spec).map_err(wrong)?.within(folder)),
        #[cfg(feature = "http")]
        Execute::Http(spec) => Arc::new(super::Http::new(spec, &rest.http).map_err(wrong)?),
        Execute::Value(value) => Arc::new(Fixed(value)),
        Execute::Workflow(spec) => return Ok(Way::Inside(Inside::Workflow(spec))),
        Execute::Agent(spec) => return Inside::agent(spec, folder).map(Way::Inside),
    };
    Ok(Way::Whole(whole))
}

/// Returns the executor or the parts of a tool from its manifest.
fn implemented(tool: &Tool, folder: &Path, handlers: &Executors) -> Result<Way, String> {
    let Some(implementation) = &tool.implementation else {
        return Err("it does not say how the tool is executed: `process`, `http`, `value`, `workflow` or `agent`".to_owned());
    };
    if let Some(inside) = Inside::of(implementation, folder)? {
        return Ok(Way::Inside(inside));
    }
    let target = &implementation.target;
    let found = handlers.all.get(target).cloned();
    found
        .map(Way::Whole)
        .ok_or_else(|| format!("it is missing, and the host has no executor for `{target}`"))
}

/// Parses a file: JSON, YAML by the ending of its name, otherwise TOML. An error is the path in it and what is wrong there.
fn document(origin: &str, text: &str) -> Result<Map, (String, String)> {
    let wrong = |why: String| (String::new(), why.trim_end().to_owned());
    // Windows writes one.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // TOML cannot begin with a brace, or with a bracket and a brace.
    let begun = text.trim_start();
    let list = begun
        .strip_prefix('[')
        .is_some_and(|rest| rest.trim_start().starts_with(['{', ']']));
    let yaml = [".yaml", ".yml"].iter().any(|end| origin.ends_with(end));
    if list || yaml || begun.starts_with('{') {
        return match read::document(origin, text) {
            Ok(Value::Object(file)) => Ok(file),
            // The definitions alone.
            Ok(tools @ Value::Array(_)) => Ok([("tools".to_owned(), tools)].into_iter().collect()),
            Ok(_) => Err(wrong("a mapping is needed".to_owned())),
            Err(error) => Err((error.path, error.why)),
        };
    }
    let no_toml = |why: String| wrong(format!("no TOML: {why}"));
    let file = DeTable::parse(text).map_err(|error| no_toml(error.to_string()))?;
    map(file.into_inner()).map_err(no_toml)
}

/// Removes and returns the member `execute` of each definition, if there is one.
fn ways(list: &mut [Value]) -> Result<Vec<Option<Execute>>, (String, String)> {
    let way = |(at, item): (usize, &mut Value)| {
        let Value::Object(item) = item else {
            return Err((format!("tools[{at}]"), "an object is needed".to_owned()));
        };
        let way = item.remove("execute").map(|way| way.to_string());
        let way = way.map(|way| serde_json::from_str::<Execute>(&way));
        way.transpose()
            .map_err(|error| (format!("tools[{at}].execute"), error.to_string()))
    };
    list.iter_mut().enumerate().map(way).collect()
}

/// Converts a TOML table to a JSON object, with keys in the order of the text, because models see them. (The feature of `toml` for
/// that order would also change what hosts read with it.) The parser bounds the depth.
fn map(table: DeTable<'_>) -> Result<Map, String> {
    let mut list: Vec<_> = table.into_iter().collect();
    list.sort_by_key(|(key, _)| key.span().start);
    let one = |(key, value): (Spanned<Cow<'_, str>>, Spanned<DeValue<'_>>)| {
        Ok((key.into_inner().into_owned(), json(value.into_inner())?))
    };
    list.into_iter().map(one).collect()
}

fn json(value: DeValue<'_>) -> Result<Value, String> {
    Ok(match value {
        DeValue::String(text) => Value::from(text.into_owned()),
        DeValue::Boolean(value) => Value::Bool(value),
        DeValue::Integer(number) => {
            let read = i64::from_str_radix(number.as_str(), number.radix());
            Value::from(read.map_err(|error| format!("{number}: {error}"))?)
        }
        DeValue::Float(number) => match number.as_str().parse::<f64>() {
            Ok(value) if value.is_finite() => Value::from(value),
            _ => return Err(format!("{number}: JSON has no such number")),
        },
        DeValue::Datetime(time) => Value::from(time.to_string()),
        DeValue::Array(list) => {
            let items = list.into_iter().map(|item| json(item.into_inner()));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => Value::Object(map(table)?),
    })
}
