//! A whole turn.

use std::collections::BTreeMap;

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use serde::Deserialize;
use toolglot::{Grade, Kind, KindSet, Origin, Span};

use crate::arguments::Json;
use crate::events::{Issue, graded, kinds, show};

/// What was not delivered, as deserialised from its JSON.
#[derive(Default, Deserialize)]
struct Left {
    #[serde(default)]
    dropped: Vec<LeftSpan>,
}

#[derive(Deserialize)]
struct LeftSpan {
    span: (u64, u64),
    kinds: Vec<String>,
}

fn set_of(names: &[String]) -> KindSet {
    let mut set = KindSet::default();
    for kind in names.iter().filter_map(|name| Kind::from_name(name)) {
        set.insert(kind);
    }
    set
}

/// The whole content of one model output.
#[pyclass(frozen, eq, module = "toolglot")]
#[derive(Debug)]
pub struct Turn {
    /// The text outside calls and reasoning, joined.
    #[pyo3(get)]
    text: String,
    /// The reasoning, joined, without its markers.
    #[pyo3(get)]
    reasoning: String,
    calls: Vec<Py<Call>>,
    issues: Vec<Py<Issue>>,
    /// What was not delivered, as JSON.
    left: Option<Json>,
    /// Everything the model wrote, markup included. `None` without `original=True`, or if not all of it was retained. Invalid
    /// UTF-8 is replaced, as in `text`.
    #[pyo3(get)]
    original: Option<String>,
    /// Problems in the list of tools of this output, one sentence each: what was left out or ignored, and where.
    #[pyo3(get)]
    tool_issues: Vec<String>,
}

impl PartialEq for Turn {
    fn eq(&self, other: &Self) -> bool {
        let calls = self.calls.iter().zip(&other.calls);
        let issues = self.issues.iter().zip(&other.issues);
        self.text == other.text
            && self.reasoning == other.reasoning
            && self.calls.len() == other.calls.len()
            && self.issues.len() == other.issues.len()
            && self.left == other.left
            && self.original == other.original
            && self.tool_issues == other.tool_issues
            && calls.into_iter().all(|(a, b)| a.get() == b.get())
            && issues.into_iter().all(|(a, b)| a.get() == b.get())
    }
}

#[pymethods]
impl Turn {
    #[new]
    #[pyo3(signature = (text="", reasoning="", calls: "list[Call] | None" = None, issues: "list[Issue] | None" = None, toolglot_json: "str | None" = None, original: "str | None" = None, tool_issues: "list[str] | None" = None))]
    fn make(
        text: &str,
        reasoning: &str,
        calls: Option<Vec<Py<Call>>>,
        issues: Option<Vec<Py<Issue>>>,
        toolglot_json: Option<String>,
        original: Option<String>,
        tool_issues: Option<Vec<String>>,
    ) -> Self {
        Self {
            text: text.to_owned(),
            reasoning: reasoning.to_owned(),
            calls: calls.unwrap_or_default(),
            issues: issues.unwrap_or_default(),
            left: toolglot_json.map(Json::new),
            original,
            tool_issues: tool_issues.unwrap_or_default(),
        }
    }

    #[classattr]
    fn __match_args__(py: Python<'_>) -> PyResult<Py<PyTuple>> {
        Ok(PyTuple::new(py, ["text", "reasoning", "calls", "issues"])?.unbind())
    }

    /// The calls, in order.
    #[getter]
    fn calls(&self, py: Python<'_>) -> Vec<Py<Call>> {
        self.calls.iter().map(|call| call.clone_ref(py)).collect()
    }

    /// The issues of the output, errors and warnings, in order of detection.
    #[getter]
    fn issues(&self, py: Python<'_>) -> Vec<Py<Issue>> {
        self.issues
            .iter()
            .map(|issue| issue.clone_ref(py))
            .collect()
    }

    /// The issues, under the name that they have in JSON.
    #[getter]
    fn errors(&self, py: Python<'_>) -> Vec<Py<Issue>> {
        self.issues(py)
    }

    /// What should not be used without asking, or was not delivered: `{"withheld": [{"name", "kinds", "span"}], "dropped": [{"span",
    /// "kinds"}]}`. `withheld` lists the recovered calls, `dropped` the bytes of dropped blocks and calls. `None` if there is neither.
    #[getter]
    fn toolglot(&self, py: Python<'_>) -> PyResult<Option<Py<PyDict>>> {
        self.left.as_ref().map(|json| json.value(py)).transpose()
    }

    /// Returns the turn as plain objects, which `json.dumps` accepts.
    ///
    /// ```
    /// >>> import json, toolglot
    /// >>> turn = toolglot.parse('Hi <tool_call name="f"><param name="a">1</param></tool_call>')
    /// >>> json.dumps(turn.to_dict()["calls"][0]["arguments"])
    /// '{"a": "1"}'
    ///
    /// ```
    #[pyo3(signature = () -> "dict[str, Any]")]
    fn to_dict(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("text", &self.text)?;
        dict.set_item("reasoning", &self.reasoning)?;
        let calls = self.calls.iter().map(|call| call.get().to_dict(py));
        dict.set_item(
            "calls",
            PyList::new(py, calls.collect::<PyResult<Vec<_>>>()?)?,
        )?;
        let issues = self.issues.iter().map(|issue| issue.get().to_dict(py));
        dict.set_item(
            "errors",
            PyList::new(py, issues.collect::<PyResult<Vec<_>>>()?)?,
        )?;
        if let Some(left) = &self.left {
            dict.set_item("toolglot", left.value(py)?)?;
        }
        if let Some(original) = &self.original {
            dict.set_item("original", original)?;
        }
        if !self.tool_issues.is_empty() {
            dict.set_item("tool_issues", &self.tool_issues)?;
        }
        Ok(dict.unbind())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let fields = [
            ("text", self.text.as_str().into_py_any(py)?),
            ("reasoning", self.reasoning.as_str().into_py_any(py)?),
            ("calls", self.calls(py).into_py_any(py)?),
            ("issues", self.issues(py).into_py_any(py)?),
        ];
        show(py, "Turn", &fields)
    }

    #[pyo3(signature = () -> "tuple[object, ...]")]
    fn __reduce__(&self, py: Python<'_>) -> PyResult<Py<PyTuple>> {
        let fields = (
            self.text.as_str(),
            self.reasoning.as_str(),
            self.calls(py),
            self.issues(py),
            self.left.as_ref().map(Json::text),
            self.original.as_deref(),
            self.tool_issues.clone(),
        );
        Ok((py.get_type::<Self>(), fields).into_pyobject(py)?.unbind())
    }
}

/// Sets the key only if there is a value.
fn some(dict: &Bound<'_, PyDict>, key: &str, value: &Option<Vec<String>>) -> PyResult<()> {
    value
        .as_ref()
        .map_or(Ok(()), |value| dict.set_item(key, value))
}

impl Turn {
    /// The turn in the engine's type, without issues.
    pub fn engine(&self) -> PyResult<toolglot::Turn> {
        let wrong = |error: serde_json::Error| {
            PyValueError::new_err(format!("the turn's `toolglot` cannot be read: {error}"))
        };
        let left: Left = match &self.left {
            None => Left::default(),
            Some(json) => serde_json::from_str(json.text()).map_err(wrong)?,
        };
        let mut turn = toolglot::Turn::default();
        turn.text.clone_from(&self.text);
        turn.reasoning.clone_from(&self.reasoning);
        turn.calls = self.calls.iter().map(|call| call.get().engine()).collect();
        let dropped = left.dropped.into_iter().map(|one| {
            toolglot::Dropped::new(Span::new(one.span.0, one.span.1), set_of(&one.kinds))
        });
        turn.not_delivered.dropped = dropped.collect();
        Ok(turn)
    }

    pub fn new(
        py: Python<'_>,
        turn: toolglot::Turn,
        issues: Vec<Issue>,
        tool_issues: Vec<String>,
    ) -> PyResult<Self> {
        let calls = turn
            .calls
            .into_iter()
            .map(|call| Py::new(py, Call::from(call)));
        let issues = issues.into_iter().map(|issue| Py::new(py, issue));
        let left = &turn.not_delivered;
        let left = (!left.is_empty()).then(|| Json::new(left.to_json()));
        Ok(Self {
            left,
            original: turn.original,
            tool_issues,
            text: turn.text,
            reasoning: turn.reasoning,
            calls: calls.collect::<PyResult<_>>()?,
            issues: issues.collect::<PyResult<_>>()?,
        })
    }
}

/// One tool invocation.
#[pyclass(frozen, eq, hash, module = "toolglot")]
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// Name of the tool.
    #[pyo3(get)]
    name: String,
    json: Json,
    /// Its index in the turn, from 0.
    #[pyo3(get)]
    index: u32,
    /// `"complete"`; `"repaired"`: the text broke a rule, but leaves no doubt about the call; `"recovered"`: something may be
    /// truncated, mixed or guessed, so do not execute the call without asking.
    #[pyo3(get)]
    grade: String,
    /// The issue kinds that explain why the call is not complete.
    #[pyo3(get)]
    kinds: Vec<String>,
    /// Id of its dialect; empty for an API tool call.
    #[pyo3(get)]
    dialect: String,
    /// What the format says of the call besides name and arguments (an `id`, for example).
    #[pyo3(get)]
    meta: BTreeMap<String, String>,
    /// Whether the host delivered it beside the text.
    #[pyo3(get)]
    native: bool,
    /// Offset of its first byte.
    #[pyo3(get)]
    start: u64,
    /// Offset after its last byte.
    #[pyo3(get)]
    end: u64,
}

#[pymethods]
impl Call {
    #[new]
    #[pyo3(signature = (
        name,
        arguments_json="{}",
        index=0,
        recovered: "list[str] | None" = None,
        dialect="",
        meta: "dict[str, str] | None" = None,
        native=false,
        start=0,
        end=0,
        repaired: "list[str] | None" = None,
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        name: String,
        arguments_json: &str,
        index: u32,
        recovered: Option<Vec<String>>,
        dialect: &str,
        meta: Option<BTreeMap<String, String>>,
        native: bool,
        start: u64,
        end: u64,
        repaired: Option<Vec<String>>,
    ) -> Self {
        let (grade, kinds) = graded(recovered, repaired);
        Self {
            name,
            json: Json::new(arguments_json.to_owned()),
            index,
            grade: grade.to_owned(),
            kinds,
            dialect: dialect.to_owned(),
            meta: meta.unwrap_or_default(),
            native,
            start,
            end,
        }
    }

    #[classattr]
    fn __match_args__(py: Python<'_>) -> PyResult<Py<PyTuple>> {
        Ok(PyTuple::new(py, ["name", "arguments", "index", "recovered"])?.unbind())
    }

    /// The arguments as a `dict`, the same object at each access. Raises `LimitError` like `CallClose.arguments`.
    #[getter]
    fn arguments(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        self.json.value(py)
    }

    /// The arguments as JSON text; numbers keep the model's spelling.
    #[getter]
    fn arguments_json(&self) -> &str {
        self.json.text()
    }

    /// Whether the call is well formed and closed.
    #[getter]
    fn complete(&self) -> bool {
        self.grade == "complete"
    }

    /// The issue kinds of a recovered call, otherwise `None`.
    #[getter]
    fn recovered(&self) -> Option<Vec<String>> {
        (self.grade == "recovered").then(|| self.kinds.clone())
    }

    /// The issue kinds of a repaired call, otherwise `None`.
    #[getter]
    fn repaired(&self) -> Option<Vec<String>> {
        (self.grade == "repaired").then(|| self.kinds.clone())
    }

    /// Returns the call as plain objects, which `json.dumps` accepts: `name`, `arguments`, `index`, `grade`, `dialect`, `meta`,
    /// `native`, `start`, `end`, and for a call that is not complete its issue kinds, as `recovered` or `repaired`.
    ///
    /// ```
    /// >>> import json, toolglot
    /// >>> call = toolglot.parse('<tool_call name="f"><param name="a">1</param></tool_call>').calls[0]
    /// >>> sorted(json.loads(json.dumps(call.to_dict())))
    /// ['arguments', 'dialect', 'end', 'grade', 'index', 'meta', 'name', 'native', 'start']
    ///
    /// ```
    #[pyo3(signature = () -> "dict[str, Any]")]
    pub fn to_dict(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("name", &self.name)?;
        dict.set_item("arguments", self.json.value(py)?)?;
        dict.set_item("index", self.index)?;
        dict.set_item("grade", &self.grade)?;
        some(&dict, "recovered", &self.recovered())?;
        some(&dict, "repaired", &self.repaired())?;
        dict.set_item("dialect", &self.dialect)?;
        dict.set_item("meta", self.meta.clone())?;
        dict.set_item("native", self.native)?;
        dict.set_item("start", self.start)?;
        dict.set_item("end", self.end)?;
        Ok(dict.unbind())
    }

    /// Returns the call as an OpenAI message has it: `{"id", "type", "function": {"name", "arguments"}}`. The `id` is the
    /// format's own, else the one given here, else a generated one.
    #[pyo3(signature = (id: "str | None" = None) -> "dict[str, Any]")]
    fn to_openai(&self, py: Python<'_>, id: Option<&str>) -> PyResult<Py<PyDict>> {
        let own = self.meta.get("id").filter(|id| !id.is_empty());
        let id = match own.map(String::as_str).or(id) {
            Some(id) => id.to_owned(),
            None => py
                .import("toolglot._support")?
                .call_method0("call_id")?
                .extract()?,
        };
        let function = PyDict::new(py);
        function.set_item("name", &self.name)?;
        function.set_item("arguments", self.json.text())?;
        let dict = PyDict::new(py);
        dict.set_item("id", id)?;
        dict.set_item("type", "function")?;
        dict.set_item("function", function)?;
        Ok(dict.unbind())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let fields = [
            ("name", self.name.as_str().into_py_any(py)?),
            ("arguments_json", self.json.text().into_py_any(py)?),
            ("index", self.index.into_py_any(py)?),
            ("recovered", self.recovered().into_py_any(py)?),
            ("dialect", self.dialect.as_str().into_py_any(py)?),
            ("meta", self.meta.clone().into_py_any(py)?),
            ("native", self.native.into_py_any(py)?),
            ("start", self.start.into_py_any(py)?),
            ("end", self.end.into_py_any(py)?),
            ("repaired", self.repaired().into_py_any(py)?),
        ];
        show(py, "Call", &fields)
    }

    #[pyo3(signature = () -> "tuple[object, ...]")]
    fn __reduce__(&self, py: Python<'_>) -> PyResult<Py<PyTuple>> {
        let fields = (
            self.name.as_str(),
            self.json.text(),
            self.index,
            self.recovered(),
            self.dialect.as_str(),
            self.meta.clone(),
            self.native,
            self.start,
            self.end,
            self.repaired(),
        );
        Ok((py.get_type::<Self>(), fields).into_pyobject(py)?.unbind())
    }

    fn __traverse__(&self, visit: pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        self.json.visit(visit)
    }
}

impl Call {
    fn engine(&self) -> toolglot::Call {
        toolglot::Call::new(self.name.clone(), self.json.text().to_owned())
            .index(self.index)
            .grade(match self.grade.as_str() {
                "complete" => Grade::Complete,
                "repaired" => Grade::Repaired,
                _ => Grade::Recovered,
            })
            .kinds(set_of(&self.kinds))
            .dialect(self.dialect.clone())
            .origin(match self.native {
                true => Origin::Native,
                false => Origin::Text,
            })
            .meta(self.meta.clone().into_iter().collect())
            .span(Span::new(self.start, self.end))
    }
}

impl From<toolglot::Call> for Call {
    fn from(call: toolglot::Call) -> Self {
        Self {
            name: call.name,
            json: Json::new(call.arguments),
            index: call.index,
            grade: call.grade.name().to_owned(),
            kinds: kinds(call.kinds),
            dialect: call.dialect,
            meta: call.meta.into_iter().collect(),
            native: call.origin == toolglot::Origin::Native,
            start: call.span.start,
            end: call.span.end,
        }
    }
}
