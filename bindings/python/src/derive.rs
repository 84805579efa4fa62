//! Dialects from chat templates.

use std::path::PathBuf;
use std::time::SystemTime;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use toolglot::json::Value;
use toolglot_tools::{DeriveOptions, TemplateError, TemplateOptions, TemplateSource};

use crate::engine::{Engine, tools_json};
use crate::guard::{Failure, caught};

/// What was derived from a chat template: the dialects that read what the model writes, and the template itself, which writes
/// its prompts. `derive` makes it.
#[pyclass(frozen, module = "toolglot")]
pub struct Derived {
    inner: toolglot_tools::Derived,
    source: TemplateSource,
    options: TemplateOptions,
}

#[pymethods]
impl Derived {
    /// Ids of the dialects, that of the calls first: built-in ones, or the one that was made.
    #[getter]
    fn dialects(&self) -> Vec<String> {
        self.inner.dialects.clone()
    }

    /// The file of the dialect that was made; `None` if built-in ones read the same.
    #[getter]
    fn toml(&self) -> Option<&str> {
        self.inner.toml.as_deref()
    }

    /// The text with which the template begins the model's turn.
    #[getter]
    fn start(&self) -> &str {
        &self.inner.start
    }

    /// Tokens that end the model's turn.
    #[getter]
    fn stop(&self) -> Vec<String> {
        self.inner.stop.clone()
    }

    /// What was found, what the template itself loses, and what it leaves open.
    #[getter]
    fn report(&self) -> String {
        self.inner.report.to_string()
    }

    /// Compiles an engine of the dialects. `options` are those of `Engine` except `dialects` and `toml`.
    #[pyo3(signature = (**options: "Any") -> "Engine")]
    pub fn engine(
        &self,
        py: Python<'_>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let all = match options {
            Some(options) => options.copy()?,
            None => PyDict::new(py),
        };
        for fixed in ["dialects", "toml"] {
            if all.contains(fixed)? {
                let why = format!("{fixed} come from the template; make an Engine for others");
                return Err(PyTypeError::new_err(why));
            }
        }
        match &self.inner.toml {
            Some(toml) => {
                let files = PyDict::new(py);
                files.set_item("the derived dialect", toml)?;
                all.set_item("toml", files)?;
            }
            None => all.set_item("dialects", &self.inner.dialects)?,
        }
        Ok(py.get_type::<Engine>().call((), Some(&all))?.unbind())
    }

    /// Renders a conversation as the template writes it: the prompt of a model. With `generate` it ends where the model's turn
    /// begins; give it to `stream` as `prompt_tail`. Messages reach the template as they are. Most templates want the arguments
    /// of calls as objects, not as JSON text. `strftime_now` tells the current time, UTC.
    ///
    /// Raises `DialectError` if the template refuses the conversation.
    #[pyo3(signature = (
        messages: "Iterable[Any]",
        tools: "str | Iterable[Any] | None" = None,
        *,
        generate=true,
    ))]
    fn render(
        &self,
        py: Python<'_>,
        messages: &Bound<'_, PyAny>,
        tools: Option<&Bound<'_, PyAny>>,
        generate: bool,
    ) -> PyResult<String> {
        let messages: String = py
            .import("toolglot._support")?
            .call_method1("messages_json", (messages,))?
            .extract()?;
        let messages = json("messages", &messages)?;
        let tools = tools
            .map(|tools| json("tools", &tools_json(py, tools)?))
            .transpose()?;
        let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = clock
            .ok()
            .and_then(|since| i64::try_from(since.as_secs()).ok());
        let render = || -> Result<String, TemplateError> {
            let template = self.source.compile(&self.options.clone().now(now))?;
            template.render(&messages, tools.as_ref(), generate)
        };
        Ok(py.detach(|| caught(render))?.map_err(Failure::dialect)?)
    }

    fn __repr__(&self) -> String {
        format!("<toolglot.Derived {}>", self.inner.dialects.join(", "))
    }
}

fn json(what: &str, text: &str) -> PyResult<Value> {
    let read = text.parse::<Value>();
    read.map_err(|error| PyValueError::new_err(format!("{what}: {error}")))
}

/// Derives the dialect of a model from its chat template, so that models without a built-in dialect can be read.
///
/// `template` is the template's text, or a path (an object such as `pathlib.Path`; a `str` is always text): of a model's folder,
/// of a `.jinja` file, of a `tokenizer_config.json`, of the answer of llama.cpp's `/props` or of a GGUF file; or the content of
/// such a file, as bytes. `variables` are those with which the template is rendered, for example `enable_thinking`. Built-in
/// dialects are taken if they read everything that the template writes, because they know slips of models that no template
/// shows; with `own` a dialect is made in any case, with the id `id`.
///
/// Raises `DialectError` if the template is invalid, writes no calls, or no dialect reads what it writes.
///
/// ```
/// >>> import toolglot
/// >>> template = '''
/// ... {%- for m in messages %}<|{{ m.role }}|>{{ m.content }}
/// ... {%- for c in m.tool_calls or [] %}<call>{{ c.function.name }}: {{ c.function.arguments | tojson }}</call>{% endfor %}
/// ... {%- endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}'''
/// >>> derived = toolglot.derive(template)
/// >>> derived.engine().parse('It rains.<call>find: {"what": "coat"}</call>').calls[0].arguments
/// {'what': 'coat'}
/// >>> derived.render([{"role": "user", "content": "Hello"}])
/// '<|user|>Hello<|assistant|>'
///
/// ```
#[pyfunction]
#[pyo3(signature = (
    template: "str | bytes | PathLike[str]",
    *,
    variables: "Mapping[str, Any] | None" = None,
    own=false,
    id="derived",
))]
pub fn derive(
    py: Python<'_>,
    template: &Bound<'_, PyAny>,
    variables: Option<&Bound<'_, PyAny>>,
    own: bool,
    id: &str,
) -> PyResult<Derived> {
    let source = source(template)?;
    let mut options = DeriveOptions::default().own(own).id(id);
    if let Some(variables) = variables {
        let text: String = py
            .import("toolglot._support")?
            .call_method1("dumps", ("variables", variables))?
            .extract()?;
        let Value::Object(map) = json("variables", &text)? else {
            return Err(PyTypeError::new_err("variables: a mapping is needed"));
        };
        options.template.variables = map;
    }
    let inner = py.detach(|| caught(|| toolglot_tools::derive(&source, &options)))?;
    Ok(Derived {
        inner: inner.map_err(Failure::dialect)?,
        source,
        options: options.template,
    })
}

fn source(template: &Bound<'_, PyAny>) -> PyResult<TemplateSource> {
    if let Ok(text) = template.cast::<PyString>() {
        return Ok(TemplateSource::text(text.to_str()?));
    }
    if let Ok(bytes) = template.cast::<PyBytes>() {
        let bytes = bytes.as_bytes();
        let read = caught(|| TemplateSource::from_bytes("a chat template", bytes))?;
        return Ok(read.map_err(Failure::dialect)?);
    }
    let Ok(path) = template.extract::<PathBuf>() else {
        let name = template.get_type().name()?;
        let why = format!("template: text, bytes or a path is needed, not {name}");
        return Err(PyTypeError::new_err(why));
    };
    let read = template
        .py()
        .detach(|| caught(|| TemplateSource::open(&path)))?;
    Ok(read.map_err(Failure::dialect)?)
}
