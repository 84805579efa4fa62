//! A whole turn.

use std::collections::BTreeMap;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::arguments::Json;
use crate::events::{Issue, graded, kinds, show};

/// Everything that one model output says.
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
    errors: Vec<Py<Issue>>,
    /// What was not delivered, as JSON.
    left: Option<Json>,
}

impl PartialEq for Turn {
    fn eq(&self, other: &Self) -> bool {
        let calls = self.calls.iter().zip(&other.calls);
        let errors = self.errors.iter().zip(&other.errors);
        self.text == other.text
            && self.reasoning == other.reasoning
            && self.calls.len() == other.calls.len()
            && self.errors.len() == other.errors.len()
            && self.left == other.left
            && calls.into_iter().all(|(a, b)| a.get() == b.get())
            && errors.into_iter().all(|(a, b)| a.get() == b.get())
    }
}

#[pymethods]
impl Turn {
    #[new]
    #[pyo3(signature = (text="", reasoning="", calls: "list[Call] | None" = None, errors: "list[Issue] | None" = None, toolglot_json: "str | None" = None))]
    fn make(
        text: &str,
        reasoning: &str,
        calls: Option<Vec<Py<Call>>>,
        errors: Option<Vec<Py<Issue>>>,
        toolglot_json: Option<String>,
    ) -> Self {
        Self {
            text: text.to_owned(),
            reasoning: reasoning.to_owned(),
            calls: calls.unwrap_or_default(),
            errors: errors.unwrap_or_default(),
            left: toolglot_json.map(Json::new),
        }
    }

    #[classattr]
    fn __match_args__(py: Python<'_>) -> PyResult<Py<PyTuple>> {
        Ok(PyTuple::new(py, ["text", "reasoning", "calls", "errors"])?.unbind())
    }

    /// The calls, in order.
    #[getter]
    fn calls(&self, py: Python<'_>) -> Vec<Py<Call>> {
        self.calls.iter().map(|call| call.clone_ref(py)).collect()
    }

    /// What is wrong with the output, errors and warnings, in order of detection.
    #[getter]
    fn errors(&self, py: Python<'_>) -> Vec<Py<Issue>> {
        self.errors
            .iter()
            .map(|issue| issue.clone_ref(py))
            .collect()
    }

    /// What a host does not get, or should not act on without asking: `{"withheld": [{"name", "kinds", "span"}],
    /// "dropped": [{"span", "kinds"}]}`, recovered calls and bytes of blocks that were dropped. `None` where there is nothing
    /// to say.
    #[getter]
    fn toolglot(&self, py: Python<'_>) -> PyResult<Option<Py<PyDict>>> {
        self.left.as_ref().map(|json| json.value(py)).transpose()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let fields = [
            ("text", self.text.as_str().into_py_any(py)?),
            ("reasoning", self.reasoning.as_str().into_py_any(py)?),
            ("calls", self.calls(py).into_py_any(py)?),
            ("errors", self.errors(py).into_py_any(py)?),
        ];
        show(py, "Turn", &fields)
    }

    #[pyo3(signature = () -> "tuple[object, ...]")]
    fn __reduce__(&self, py: Python<'_>) -> PyResult<Py<PyTuple>> {
        let fields = (
            self.text.as_str(),
            self.reasoning.as_str(),
            self.calls(py),
            self.errors(py),
            self.left.as_ref().map(Json::text),
        );
        Ok((py.get_type::<Self>(), fields).into_pyobject(py)?.unbind())
    }
}

impl Turn {
    pub fn new(py: Python<'_>, turn: toolglot::Turn, issues: Vec<Issue>) -> PyResult<Self> {
        let calls = turn
            .calls
            .into_iter()
            .map(|call| Py::new(py, Call::from(call)));
        let errors = issues.into_iter().map(|issue| Py::new(py, issue));
        let left = &turn.not_delivered;
        let left = (!left.is_empty()).then(|| Json::new(left.to_json()));
        Ok(Self {
            left,
            text: turn.text,
            reasoning: turn.reasoning,
            calls: calls.collect::<PyResult<_>>()?,
            errors: errors.collect::<PyResult<_>>()?,
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
    /// Its number in the turn, from 0.
    #[pyo3(get)]
    index: u32,
    /// `"complete"`; `"repaired"`: a rule was broken, but the call is not in doubt; `"recovered"`: something may be cut,
    /// mixed or guessed, so it should not be executed without asking.
    #[pyo3(get)]
    grade: String,
    /// Why it is not complete.
    #[pyo3(get)]
    kinds: Vec<String>,
    /// Id of its dialect; empty for a native call.
    #[pyo3(get)]
    dialect: String,
    /// What the format says of the call beside name and arguments (an `id`, for example).
    #[pyo3(get)]
    meta: BTreeMap<String, String>,
    /// The host gave it beside the text.
    #[pyo3(get)]
    native: bool,
    /// Offset of its first byte.
    #[pyo3(get)]
    start: u64,
    /// Offset behind its last byte.
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

    /// The arguments as a `dict`, the same one at each access; `LimitError` as in `CallClose.arguments`.
    #[getter]
    fn arguments(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        self.json.value(py)
    }

    /// The arguments as JSON text; numbers are spelled as the model spelled them.
    #[getter]
    fn arguments_json(&self) -> &str {
        self.json.text()
    }

    /// Whether it is well formed and closed.
    #[getter]
    fn complete(&self) -> bool {
        self.grade == "complete"
    }

    /// The kinds of a recovered call; `None` for any other.
    #[getter]
    fn recovered(&self) -> Option<Vec<String>> {
        (self.grade == "recovered").then(|| self.kinds.clone())
    }

    /// The kinds of a repaired call; `None` for any other.
    #[getter]
    fn repaired(&self) -> Option<Vec<String>> {
        (self.grade == "repaired").then(|| self.kinds.clone())
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
