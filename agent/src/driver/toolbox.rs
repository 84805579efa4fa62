//! A file of tools and how each is carried out.

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
use super::{Executor, Executors, Piece, Process, ProcessSpec, Stream, pieces};
use crate::step::Start;

/// Why a file of tools cannot be used: where, and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{origin}{}{path}: {why}", if .path.is_empty() { "" } else { ": " })]
pub struct ToolboxError {
    /// The file, or what the caller calls it.
    pub origin: String,
    /// Where in it, for example `tools[2].execute`.
    pub path: String,
    /// What is wrong there.
    pub why: String,
}

/// Tools, and what carries them out.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Toolbox {
    /// Their definitions.
    pub tools: Vec<Tool>,
    /// What carries them out.
    pub executors: Executors,
}

/// How a tool is carried out.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Execute {
    Process(ProcessSpec),
    #[cfg(feature = "http")]
    Http(super::HttpSpec),
    /// The result is always this.
    Value(Value),
}

struct Fixed(Value);

impl Executor for Fixed {
    fn start(&self, _: Start) -> Stream<Piece> {
        let value = self.0.clone();
        pieces(async move |_| Piece::Done(Ok(content(value))))
    }
}

/// What the file says beside its tools.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Rest {
    #[cfg(feature = "http")]
    http: super::Hosts,
}

impl Toolbox {
    /// Reads TOML or JSON: any list of definitions in a member `tools`, in which each has a member `execute`. That is
    /// `{"process": {..}}` ([`ProcessSpec`]), `{"http": {..}}` (feature `http`) or `{"value": ..}`, a fixed result. Folders are
    /// looked up in `folder`.
    ///
    /// # Errors
    /// The text is neither TOML nor JSON, a definition cannot be read, or it does not say how it is carried out.
    pub fn read(origin: &str, text: &str, folder: &Path) -> Result<Self, ToolboxError> {
        let fail = |path: &str, why: String| ToolboxError {
            origin: origin.to_owned(),
            path: path.to_owned(),
            why,
        };
        // A bracket opens a table of TOML.
        let json = text.trim_start().starts_with('{');
        let mut file: Map = match json {
            true => {
                serde_json::from_str(text).map_err(|error| fail("", format!("no JSON: {error}")))?
            }
            false => {
                let wrong = |why: String| fail("", format!("no TOML: {}", why.trim_end()));
                let file = DeTable::parse(text).map_err(|error| wrong(error.to_string()))?;
                map(file.into_inner()).map_err(wrong)?
            }
        };
        let Some(Value::Array(mut list)) = file.remove("tools") else {
            return Err(fail("tools", "a list of tools is needed".to_owned()));
        };
        let rest = Value::Object(file).to_string();
        let rest: Rest =
            serde_json::from_str(&rest).map_err(|error| fail("", error.to_string()))?;
        let mut ways = vec![];
        for (at, item) in list.iter_mut().enumerate() {
            let path = format!("tools[{at}].execute");
            let Value::Object(item) = item else {
                return Err(fail(
                    &format!("tools[{at}]"),
                    "an object is needed".to_owned(),
                ));
            };
            let Some(way) = item.remove("execute") else {
                return Err(fail(
                    &path,
                    "it does not say how the tool is carried out: `process`, `http` or `value`"
                        .to_owned(),
                ));
            };
            let way = serde_json::from_str::<Execute>(&way.to_string());
            let way = way.map_err(|error| fail(&path, error.to_string()))?;
            ways.push(executor(way, &rest, folder).map_err(|why| fail(&path, why))?);
        }
        let definitions = toolglot::json::json!({"tools": list}).to_string();
        let read =
            read::listing(origin, &definitions).map_err(|error| fail(&error.path, error.why))?;
        if let Some(error) = read.odd.into_iter().next() {
            return Err(fail(&error.path, error.why));
        }
        let mut tools = read.tools;
        if read.source != Source::Plugin {
            // Whoever says how a tool is carried out wants it carried out; a manifest says itself whether agents may.
            tools.iter_mut().for_each(|tool| tool.agent_callable = true);
        }
        let inventory =
            Inventory::of(tools.clone()).map_err(|error| fail("tools", error.to_string()))?;
        if let Some((id, fault)) = inventory.faults().next() {
            return Err(fail("tools", format!("{id}: parameters: {fault}")));
        }
        let mut executors = Executors::new();
        for (tool, way) in tools.iter().zip(ways) {
            executors.add(&tool.id, way);
        }
        Ok(Self { tools, executors })
    }
}

fn executor(way: Execute, rest: &Rest, folder: &Path) -> Result<Arc<dyn Executor>, String> {
    #[cfg(not(feature = "http"))]
    let Rest {} = rest;
    Ok(match way {
        Execute::Process(spec) => Arc::new(Process::new(spec)?.within(folder)),
        #[cfg(feature = "http")]
        Execute::Http(spec) => Arc::new(super::Http::new(spec, &rest.http)?),
        Execute::Value(value) => Arc::new(Fixed(value)),
    })
}

/// A table of TOML as an object of JSON, with its keys in the order of the text, which models see. (`toml` has a feature for that,
/// which would change what hosts read with it.) The parser bounds the depth.
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
