//! The event classes, and how they are made from the engine's events.
//!
//! They hold plain data, and what was read as an object of Python, which each access returns. All are frozen, compare by value,
//! and support pickling and `match` (`case Text(text)`). Their constructors take the fields in the order of `__match_args__`.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple};
use toolglot::KindSet;

use crate::arguments::Json;

/// `Name(field=value, ...)`.
pub fn show(py: Python<'_>, name: &str, fields: &[(&str, Py<PyAny>)]) -> PyResult<String> {
    let mut text = format!("{name}(");
    for (place, (field, value)) in fields.iter().enumerate() {
        let comma = if place == 0 { "" } else { ", " };
        let value = value.bind(py).repr()?;
        text.push_str(&format!("{comma}{field}={}", value.to_str()?));
    }
    text.push(')');
    Ok(text)
}

/// A field of a class: values of Rust, and objects of Python that compare and hash as the values that they hold.
trait Field {
    /// What a constructor takes.
    type Given;

    fn of(py: Python<'_>, given: Self::Given) -> Self;
    fn equals(&self, other: &Self) -> bool;
    fn mix(&self, state: &mut impl Hasher);
}

macro_rules! field {
    ($($kind:ty),*) => {
        $(impl Field for $kind {
            type Given = Self;

            fn of(_: Python<'_>, given: Self) -> Self {
                given
            }

            fn equals(&self, other: &Self) -> bool {
                self == other
            }

            fn mix(&self, state: &mut impl Hasher) {
                self.hash(state);
            }
        })*
    };
}

field!(bool, u32, u64, Option<u32>, String, BTreeMap<String, String>, Vec<u8>);

impl Field for Py<PyString> {
    type Given = String;

    fn of(py: Python<'_>, given: String) -> Self {
        PyString::new(py, &given).unbind()
    }

    fn equals(&self, other: &Self) -> bool {
        Python::attach(|py| self.to_string_lossy(py) == other.to_string_lossy(py))
    }

    fn mix(&self, state: &mut impl Hasher) {
        Python::attach(|py| self.to_string_lossy(py).hash(state));
    }
}

impl Field for Py<PyBytes> {
    type Given = Vec<u8>;

    fn of(py: Python<'_>, given: Vec<u8>) -> Self {
        PyBytes::new(py, &given).unbind()
    }

    fn equals(&self, other: &Self) -> bool {
        Python::attach(|py| self.as_bytes(py) == other.as_bytes(py))
    }

    fn mix(&self, state: &mut impl Hasher) {
        Python::attach(|py| self.as_bytes(py).hash(state));
    }
}

/// Declares a frozen class whose constructor takes its fields.
macro_rules! record {
    (
        $(#[$doc:meta])*
        $name:ident { $($(#[$field_doc:meta])* $field:ident: $kind:ty $(= $default:expr)?,)* }
        $($extra:item)*
    ) => {
        $(#[$doc])*
        #[pyclass(frozen, eq, hash, module = "toolglot")]
        #[derive(Debug)]
        pub struct $name {
            $($(#[$field_doc])* #[pyo3(get)] pub $field: $kind,)*
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                $(self.$field.equals(&other.$field))&&*
            }
        }

        impl Hash for $name {
            fn hash<H: Hasher>(&self, state: &mut H) {
                $(self.$field.mix(state);)*
            }
        }

        #[pymethods]
        impl $name {
            #[new]
            #[pyo3(signature = ($($field $(= $default)?),*))]
            #[allow(clippy::too_many_arguments)]
            fn new(py: Python<'_>, $($field: <$kind as Field>::Given),*) -> Self {
                Self { $($field: Field::of(py, $field)),* }
            }

            #[classattr]
            fn __match_args__(py: Python<'_>) -> PyResult<Py<PyTuple>> {
                Ok(PyTuple::new(py, [$(stringify!($field)),*])?.unbind())
            }

            fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
                show(py, stringify!($name), &[$((stringify!($field), (&self.$field).into_py_any(py)?)),*])
            }

            #[pyo3(signature = () -> "tuple[object, ...]")]
            fn __reduce__(&self, py: Python<'_>) -> PyResult<Py<PyTuple>> {
                let fields = PyTuple::new(py, [$((&self.$field).into_py_any(py)?),*])?;
                Ok((py.get_type::<Self>(), fields).into_pyobject(py)?.unbind())
            }

            $($extra)*
        }
    };
}

record! {
    /// Plain text of the reply, in whole characters.
    Text {
        /// The text. Invalid UTF-8 is replaced with U+FFFD.
        text: Py<PyString>,
        /// Offset of its first byte in the stream.
        start: u64 = 0,
        /// Offset after its last byte.
        end: u64 = 0,
        /// Whether these bytes were first taken for a block; see `BlockAbandoned`.
        recovered: bool = false,
    }
}

record! {
    /// Reasoning of the model, in whole characters.
    Reasoning {
        /// The text.
        text: Py<PyString>,
        /// Offset of its first byte.
        start: u64 = 0,
        /// Offset after its last byte.
        end: u64 = 0,
        /// Whether the text is a marker (`<think>`), not the reasoning itself.
        framing: bool = false,
    }
}

record! {
    /// Part of a region that a dialect protects: it is not searched for calls.
    Protected {
        /// The text, markers included.
        text: Py<PyString>,
        /// The kind of the region, as its dialect names it.
        kind: String,
        /// Offset of its first byte.
        start: u64 = 0,
        /// Offset after its last byte.
        end: u64 = 0,
    }
}

record! {
    /// Bytes of a block that exceeded a limit; they continue until the block's own closer.
    Raw {
        /// The bytes.
        data: Py<PyBytes>,
        /// Offset of the first byte.
        start: u64 = 0,
        /// Offset after the last byte.
        end: u64 = 0,
    }
}

record! {
    /// A block begins.
    BlockOpen {
        /// The id of its dialect.
        dialect: String,
        /// Offset of its opening marker.
        start: u64 = 0,
        /// Offset after the opening marker and its header.
        end: u64 = 0,
    }
}

record! {
    /// The name of a call is known. This event comes before the `CallOpen`, as early as possible; only `CallOpen` opens a call.
    CallNamed {
        /// Index of the block in this stream, from 0.
        block: u32,
        /// Index of the name in its block, from 0.
        ordinal: u32,
        /// Name of the tool.
        name: String,
        /// Whether the name can still be retracted: a `CallOpen` of the block replaces it, or the block ends without the call.
        provisional: bool = false,
        /// Offset of the bytes that name it.
        start: u64 = 0,
        /// Offset after them.
        end: u64 = 0,
    }
}

record! {
    /// A call begins; its name is final.
    CallOpen {
        /// Index of the call in this stream, from 0.
        call: u32,
        /// Name of the tool.
        name: String,
        /// The id of its dialect; empty for an API tool call.
        dialect: String = String::new(),
        /// What the format says of the call besides name and arguments (an `id`, for example).
        meta: BTreeMap<String, String> = BTreeMap::new(),
        /// Whether the host delivered it beside the text.
        native: bool = false,
        /// Offset of the bytes that name it.
        start: u64 = 0,
        /// Offset after them.
        end: u64 = 0,
    }
}

record! {
    /// The next piece of a call's arguments: final JSON text.
    ArgDelta {
        /// Index of the call.
        call: u32,
        /// The piece.
        json: Py<PyString>,
        /// Offset of the source bytes.
        start: u64 = 0,
        /// Offset after them.
        end: u64 = 0,
    }
}

record! {
    /// A parameter begins. Provisional: only the arguments of the call are final.
    ParamOpen {
        /// Its name, as written.
        name: String,
        /// Nesting depth; 0 for a parameter of the call itself.
        depth: u32 = 0,
        /// Offset of the bytes that name it.
        start: u64 = 0,
        /// Offset after them.
        end: u64 = 0,
    }
}

record! {
    /// Raw bytes of the open parameter's value, as they arrive; they may end inside a character.
    ParamDelta {
        /// The bytes, as written.
        data: Py<PyBytes>,
        /// Offset of the first byte.
        start: u64 = 0,
        /// Offset after the last byte.
        end: u64 = 0,
    }
}

record! {
    /// The open parameter ends.
    ParamClose {
        /// Offset of its value.
        start: u64 = 0,
        /// Offset after its value.
        end: u64 = 0,
    }
}

record! {
    /// The open call is retracted: it broke its grammar, exceeded a limit or was truncated. It never closes; discard its deltas.
    CallAbandoned {
        /// Index of the call.
        call: u32,
        /// Offset of the call.
        start: u64 = 0,
        /// Offset after the part of it that was read.
        end: u64 = 0,
    }
}

record! {
    /// The block ends. Its calls are committed.
    BlockClose {
        /// Offset of the whole block.
        start: u64 = 0,
        /// Offset after it.
        end: u64 = 0,
        /// Its bytes if they were retained, otherwise empty.
        raw: Vec<u8> = Vec::new(),
    }
}

record! {
    /// The block turned out not to be one. All calls since its `BlockOpen` are retracted.
    BlockAbandoned {
        /// What happens to its bytes: `"text"` (they follow as one `Text`), `"reasoning"` (they follow as one `Reasoning` of the
        /// thought that goes on) or `"drop"`.
        becomes: String,
        /// Offset of the whole block.
        start: u64 = 0,
        /// Offset after the part of it that was read.
        end: u64 = 0,
        /// Its bytes if they were retained, otherwise empty.
        raw: Vec<u8> = Vec::new(),
    }
}

record! {
    /// An error in the model's text. Parsing continues.
    Issue {
        /// The kind, for example `"unclosed_block"`.
        kind: String,
        /// `"error"` or `"warning"`.
        severity: String = String::from("error"),
        /// One sentence for people.
        message: String = String::new(),
        /// Offset of the bytes concerned.
        start: u64 = 0,
        /// Offset after them.
        end: u64 = 0,
        /// Id of the dialect that reported it, or empty.
        dialect: String = String::new(),
        /// Index of the call concerned.
        call: Option<u32> = None,
        /// The tool concerned, or empty.
        tool: String = String::new(),
        /// The parameter, entity or tag concerned, or empty.
        subject: String = String::new(),
        /// The name that was probably meant, or empty.
        suggestion: String = String::new(),
        /// The observation: one sentence for the model.
        observation: String = String::new(),
    }

    /// Returns the fields of the issue as plain objects, which `json.dumps` accepts.
    #[pyo3(signature = () -> "dict[str, Any]")]
    pub fn to_dict(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let dict = PyDict::new(py);
        let texts = [
            ("kind", &self.kind),
            ("severity", &self.severity),
            ("message", &self.message),
            ("dialect", &self.dialect),
            ("tool", &self.tool),
            ("subject", &self.subject),
            ("suggestion", &self.suggestion),
            ("observation", &self.observation),
        ];
        for (key, text) in texts {
            dict.set_item(key, text)?;
        }
        dict.set_item("start", self.start)?;
        dict.set_item("end", self.end)?;
        dict.set_item("call", self.call)?;
        Ok(dict.unbind())
    }
}

impl From<&toolglot::Issue<'_>> for Issue {
    fn from(issue: &toolglot::Issue<'_>) -> Self {
        Self {
            kind: issue.kind.name().to_owned(),
            severity: issue.severity.name().to_owned(),
            message: issue.message(),
            start: issue.span.start,
            end: issue.span.end,
            dialect: issue.dialect.map(|d| d.id().to_owned()).unwrap_or_default(),
            call: issue.call,
            tool: issue.tool.to_owned(),
            subject: issue.subject.to_owned(),
            suggestion: issue.suggestion.to_owned(),
            observation: issue.observation(),
        }
    }
}

/// A call ends. It is final unless its block is abandoned.
#[pyclass(frozen, eq, hash, module = "toolglot")]
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct CallClose {
    /// Index of the call.
    #[pyo3(get)]
    pub call: u32,
    /// Name of the tool.
    #[pyo3(get)]
    pub name: String,
    pub json: Option<Json>,
    /// `"complete"`; `"repaired"`: the text broke a rule, but leaves no doubt about the call; `"recovered"`: something may be
    /// truncated, mixed or guessed, so do not execute the call without asking.
    #[pyo3(get)]
    pub grade: String,
    /// The issue kinds that explain why the call is not complete.
    #[pyo3(get)]
    pub kinds: Vec<String>,
    /// Offset of the call.
    #[pyo3(get)]
    pub start: u64,
    /// Offset after it.
    #[pyo3(get)]
    pub end: u64,
}

#[pymethods]
impl CallClose {
    #[new]
    #[pyo3(signature = (call, name, arguments_json=None, recovered: "list[str] | None" = None, start=0, end=0, repaired: "list[str] | None" = None))]
    fn new(
        call: u32,
        name: String,
        arguments_json: Option<String>,
        recovered: Option<Vec<String>>,
        start: u64,
        end: u64,
        repaired: Option<Vec<String>>,
    ) -> Self {
        let (grade, kinds) = graded(recovered, repaired);
        Self {
            call,
            name,
            json: arguments_json.map(Json::new),
            grade: grade.to_owned(),
            kinds,
            start,
            end,
        }
    }

    #[classattr]
    fn __match_args__(py: Python<'_>) -> PyResult<Py<PyTuple>> {
        let names = ["call", "name", "arguments", "recovered", "start", "end"];
        Ok(PyTuple::new(py, names)?.unbind())
    }

    /// The arguments as a `dict`, the same object at each access. `None` if they were not kept (`retain="none"`).
    ///
    /// Raises `LimitError` if they cannot become Python objects: they are nested deeper than the interpreter can follow, or
    /// hold an integer longer than `sys.get_int_max_str_digits()` allows. `arguments_json` has them even then.
    #[getter]
    fn arguments(&self, py: Python<'_>) -> PyResult<Option<Py<PyDict>>> {
        self.json.as_ref().map(|json| json.value(py)).transpose()
    }

    /// The arguments as JSON text; numbers keep the model's spelling. `None` if the arguments were not kept.
    #[getter]
    fn arguments_json(&self) -> Option<&str> {
        self.json.as_ref().map(Json::text)
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

    /// Returns the call as plain objects, which `json.dumps` accepts. `arguments` is `None` if they were not kept.
    #[pyo3(signature = () -> "dict[str, Any]")]
    fn to_dict(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("call", self.call)?;
        dict.set_item("name", &self.name)?;
        dict.set_item("arguments", self.arguments(py)?)?;
        dict.set_item("grade", &self.grade)?;
        let kinds = [
            ("recovered", self.recovered()),
            ("repaired", self.repaired()),
        ];
        for (key, kinds) in kinds {
            if let Some(kinds) = kinds {
                dict.set_item(key, kinds)?;
            }
        }
        dict.set_item("start", self.start)?;
        dict.set_item("end", self.end)?;
        Ok(dict.unbind())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let fields = [
            ("call", self.call.into_py_any(py)?),
            ("name", self.name.as_str().into_py_any(py)?),
            ("arguments_json", self.arguments_json().into_py_any(py)?),
            ("recovered", self.recovered().into_py_any(py)?),
            ("start", self.start.into_py_any(py)?),
            ("end", self.end.into_py_any(py)?),
            ("repaired", self.repaired().into_py_any(py)?),
        ];
        show(py, "CallClose", &fields)
    }

    #[pyo3(signature = () -> "tuple[object, ...]")]
    fn __reduce__(&self, py: Python<'_>) -> PyResult<Py<PyTuple>> {
        let fields = (
            self.call,
            self.name.as_str(),
            self.arguments_json(),
            self.recovered(),
            self.start,
            self.end,
            self.repaired(),
        );
        Ok((py.get_type::<Self>(), fields).into_pyobject(py)?.unbind())
    }

    fn __traverse__(&self, visit: pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        self.json.as_ref().map_or(Ok(()), |json| json.visit(visit))
    }
}

/// The grade that follows from the kinds of a call.
pub fn graded(
    recovered: Option<Vec<String>>,
    repaired: Option<Vec<String>>,
) -> (&'static str, Vec<String>) {
    match (recovered, repaired) {
        (Some(kinds), _) => ("recovered", kinds),
        (None, Some(kinds)) if !kinds.is_empty() => ("repaired", kinds),
        (None, _) => ("complete", vec![]),
    }
}

/// Names of kinds.
pub fn kinds(set: KindSet) -> Vec<String> {
    set.iter().map(|kind| kind.name().to_owned()).collect()
}
