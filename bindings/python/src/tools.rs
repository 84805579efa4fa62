//! The tools layer: definitions, prompts, checks, results. `toolglot._tools` turns its JSON into Python objects.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use toolglot::json::Value;
use toolglot_tools::outcome::{RenderOptions, Renderer, ToolResult};
use toolglot_tools::prompt::{Lang, Layout, PromptError, PromptOptions};
use toolglot_tools::{CheckOptions, Inventory, NameRule, Unknown, read};

use crate::engine::Engine;
use crate::guard::{Failure, caught, entry};
use crate::options::word;

pub fn prompt_error(error: PromptError) -> PyErr {
    Failure::dialect(error).into()
}

/// Definitions of the tools that may be called. `toolglot.Tools` is built on it.
#[pyclass(frozen, module = "toolglot._native")]
pub struct ToolSet {
    inventory: Inventory,
}

#[pymethods]
impl ToolSet {
    /// Reads lists of tools, each as JSON text in any supported form.
    #[new]
    #[pyo3(signature = (lists: "list[str]"))]
    fn new(lists: Vec<String>) -> PyResult<Self> {
        let tools = caught(|| {
            let mut tools = vec![];
            for text in &lists {
                tools.extend(read::any("tools", text).map_err(Failure::tools)?);
            }
            for tool in &mut tools {
                tool.agent_callable = true;
            }
            Inventory::of(tools).map_err(Failure::tools)
        })??;
        Ok(Self { inventory: tools })
    }

    /// The ids of the tools, in order.
    fn ids(&self) -> Vec<String> {
        let tools = self.inventory.tools().iter();
        tools.map(|tool| tool.id.clone()).collect()
    }

    /// What is unusable in their schemas, one sentence each.
    fn faults(&self) -> Vec<String> {
        let faults = self.inventory.faults();
        faults.map(|(id, why)| format!("{id}: {why}")).collect()
    }

    /// The tools as a list in OpenAI's form, as JSON.
    fn openai(&self) -> PyResult<String> {
        entry(|| {
            let names = self.inventory.names("", NameRule::Api);
            let list = self.inventory.tools().iter().zip(&names);
            let list = list.map(|(tool, name)| read::to_openai(tool, name));
            Ok(Value::Array(list.collect()).to_string())
        })
    }

    /// The tools as a plugin manifest, which keeps everything known about them, as JSON.
    fn manifest(&self) -> PyResult<String> {
        entry(|| {
            let tools: Vec<_> = self
                .inventory
                .tools()
                .iter()
                .map(|tool| (**tool).clone())
                .collect();
            Ok(read::to_manifest(&tools).to_string())
        })
    }

    /// The prompt text that declares the tools to a model.
    fn prompt(
        &self,
        engine: &Engine,
        dialect: &str,
        lang: &str,
        examples: bool,
    ) -> PyResult<String> {
        let mut options = PromptOptions::default();
        options.lang = word("lang", lang)?;
        options.examples = examples;
        entry(|| {
            let layout = Layout::new(&engine.core.set, dialect).map_err(prompt_error)?;
            layout
                .system(&self.inventory, &options)
                .map_err(prompt_error)
        })
    }

    /// Checks whether a call may be carried out, and with which arguments. Returns JSON.
    #[pyo3(signature = (name, arguments, engine: "Engine | None", dialect, unknown))]
    fn check(
        &self,
        name: &str,
        arguments: &str,
        engine: Option<&Engine>,
        dialect: &str,
        unknown: bool,
    ) -> PyResult<String> {
        entry(|| {
            let mut options = CheckOptions::default();
            options.dialect = engine.and_then(|engine| engine.core.set.dialect(dialect));
            if unknown {
                options.unknown = Unknown::Allow;
            }
            let checked = self.inventory.checked(name, arguments, &options);
            Ok(checked.to_json().to_string())
        })
    }
}

/// Renders results of calls, the JSON text of a list, as a message in a dialect. Returns its role and its content.
#[pyfunction]
pub fn results(
    engine: &Engine,
    dialect: &str,
    results: &str,
    lang: &str,
) -> PyResult<(String, String)> {
    let lang: Lang = word("lang", lang)?;
    entry(|| {
        let results: Vec<ToolResult> = serde_json::from_str(results)
            .map_err(|error| PyValueError::new_err(format!("results: {error}")))?;
        let layout = Layout::new(&engine.core.set, dialect).map_err(prompt_error)?;
        let renderer = Renderer::new(&engine.core.set, layout).map_err(prompt_error)?;
        let text = renderer.render(&results, &RenderOptions::new(lang));
        Ok((renderer.role().to_owned(), text.map_err(prompt_error)?))
    })
}
