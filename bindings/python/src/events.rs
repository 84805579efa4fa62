//! The event classes, and how they are made from the engine's events.
//!
//! They hold plain Rust data, so they can be made while the interpreter is released. All are frozen, compare by value, and
//! support pickling and `match` (`case Text(text)`). Their constructors take the fields in the order of `__match_args__`.

use std::collections::BTreeMap;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use toolglot::sink::Gather;
use toolglot::{Arguments, Call, Event, KindSet, Origin, Span};

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

/// Declares a frozen class whose constructor takes its fields.
macro_rules! record {
    (
        $(#[$doc:meta])*
        $name:ident { $($(#[$field_doc:meta])* $field:ident: $kind:ty $(= $default:expr)?,)* }
        $($extra:item)*
    ) => {
        $(#[$doc])*
        #[pyclass(frozen, eq, hash, module = "toolglot")]
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub struct $name {
            $($(#[$field_doc])* #[pyo3(get)] pub $field: $kind,)*
        }

        #[pymethods]
        impl $name {
            #[new]
            #[pyo3(signature = ($($field $(= $default)?),*))]
            #[allow(clippy::too_many_arguments)]
            fn new($($field: $kind),*) -> Self {
                Self { $($field),* }
            }

            #[classattr]
            fn __match_args__(py: Python<'_>) -> PyResult<Py<PyTuple>> {
                Ok(PyTuple::new(py, [$(stringify!($field)),*])?.unbind())
            }

            fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
                show(py, stringify!($name), &[$((stringify!($field), self.$field.clone().into_py_any(py)?)),*])
            }

            #[pyo3(signature = () -> "tuple[object, ...]")]
            fn __reduce__(&self, py: Python<'_>) -> PyResult<Py<PyTuple>> {
                let fields = PyTuple::new(py, [$(self.$field.clone().into_py_any(py)?),*])?;
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
        text: String,
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
        text: String,
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
        text: String,
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
        data: Vec<u8>,
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
        json: String,
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
        data: Vec<u8>,
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
        /// What happens to its bytes: `"text"` (they follow as one `Text`) or `"drop"`.
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
    call: u32,
    /// Name of the tool.
    #[pyo3(get)]
    name: String,
    json: Option<Json>,
    /// `"complete"`; `"repaired"`: the text broke a rule, but leaves no doubt about the call; `"recovered"`: something may be
    /// truncated, mixed or guessed, so do not execute the call without asking.
    #[pyo3(get)]
    grade: String,
    /// The issue kinds that explain why the call is not complete.
    #[pyo3(get)]
    kinds: Vec<String>,
    /// Offset of the call.
    #[pyo3(get)]
    start: u64,
    /// Offset after it.
    #[pyo3(get)]
    end: u64,
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

/// Any event, not yet handed to Python.
#[derive(Debug)]
pub enum Made {
    Text(Text),
    Reasoning(Reasoning),
    Protected(Protected),
    Raw(Raw),
    BlockOpen(BlockOpen),
    CallNamed(CallNamed),
    CallOpen(CallOpen),
    ArgDelta(ArgDelta),
    ParamOpen(ParamOpen),
    ParamDelta(ParamDelta),
    ParamClose(ParamClose),
    CallAbandoned(CallAbandoned),
    CallClose(CallClose),
    BlockClose(BlockClose),
    BlockAbandoned(BlockAbandoned),
    Issue(Issue),
}

impl Made {
    pub fn give(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(match self {
            Self::Text(event) => Py::new(py, event)?.into_any(),
            Self::Reasoning(event) => Py::new(py, event)?.into_any(),
            Self::Protected(event) => Py::new(py, event)?.into_any(),
            Self::Raw(event) => Py::new(py, event)?.into_any(),
            Self::BlockOpen(event) => Py::new(py, event)?.into_any(),
            Self::CallNamed(event) => Py::new(py, event)?.into_any(),
            Self::CallOpen(event) => Py::new(py, event)?.into_any(),
            Self::ArgDelta(event) => Py::new(py, event)?.into_any(),
            Self::ParamOpen(event) => Py::new(py, event)?.into_any(),
            Self::ParamDelta(event) => Py::new(py, event)?.into_any(),
            Self::ParamClose(event) => Py::new(py, event)?.into_any(),
            Self::CallAbandoned(event) => Py::new(py, event)?.into_any(),
            Self::CallClose(event) => Py::new(py, event)?.into_any(),
            Self::BlockClose(event) => Py::new(py, event)?.into_any(),
            Self::BlockAbandoned(event) => Py::new(py, event)?.into_any(),
            Self::Issue(event) => Py::new(py, event)?.into_any(),
        })
    }
}

/// Makes events; remembers about the open call what its `CallClose` needs.
#[derive(Clone, Debug)]
pub struct Maker {
    pub gather: Gather,
    /// Whether arguments are kept until their call closes.
    pub keep: bool,
}

impl Maker {
    pub fn new(keep: bool) -> Self {
        Self {
            gather: Gather::default(),
            keep,
        }
    }

    pub fn make(&mut self, event: &Event<'_>) -> Option<Made> {
        let whole = match event {
            Event::ArgDelta { .. } if !self.keep => None,
            event => self.gather.event(event),
        };
        let place = |span: Span| (span.start, span.end);
        Some(match *event {
            Event::Text {
                data,
                span: Span { start, end },
                recovered,
                ..
            } => Made::Text(Text {
                text: text(data),
                start,
                end,
                recovered,
            }),
            Event::Reasoning {
                data,
                span: Span { start, end },
                framing,
                ..
            } => Made::Reasoning(Reasoning {
                text: text(data),
                start,
                end,
                framing,
            }),
            Event::Protected {
                kind,
                data,
                span: Span { start, end },
                ..
            } => Made::Protected(Protected {
                text: text(data),
                kind: kind.to_owned(),
                start,
                end,
            }),
            Event::Raw {
                data,
                span: Span { start, end },
                ..
            } => Made::Raw(Raw {
                data: data.to_vec(),
                start,
                end,
            }),
            Event::BlockOpen {
                dialect,
                span: Span { start, end },
                ..
            } => Made::BlockOpen(BlockOpen {
                dialect: dialect.to_owned(),
                start,
                end,
            }),
            Event::CallNamed {
                block,
                ordinal,
                name,
                provisional,
                span: Span { start, end },
                ..
            } => Made::CallNamed(CallNamed {
                block,
                ordinal,
                name: name.to_owned(),
                provisional,
                start,
                end,
            }),
            Event::CallOpen {
                call,
                name,
                meta,
                dialect,
                origin,
                span: Span { start, end },
                ..
            } => Made::CallOpen(CallOpen {
                call,
                name: name.to_owned(),
                dialect: dialect.to_owned(),
                meta: meta.iter().cloned().collect(),
                native: origin == Origin::Native,
                start,
                end,
            }),
            Event::ArgDelta {
                call,
                json,
                span: Span { start, end },
                ..
            } => Made::ArgDelta(ArgDelta {
                call,
                json: json.to_owned(),
                start,
                end,
            }),
            Event::ParamOpen {
                name,
                depth,
                span: Span { start, end },
                ..
            } => Made::ParamOpen(ParamOpen {
                name: name.to_owned(),
                depth,
                start,
                end,
            }),
            Event::ParamDelta {
                data,
                span: Span { start, end },
                ..
            } => Made::ParamDelta(ParamDelta {
                data: data.to_vec(),
                start,
                end,
            }),
            Event::ParamClose {
                span: Span { start, end },
                ..
            } => Made::ParamClose(ParamClose { start, end }),
            Event::CallAbandoned {
                call,
                span: Span { start, end },
                ..
            } => Made::CallAbandoned(CallAbandoned { call, start, end }),
            Event::CallClose {
                call,
                arguments,
                span,
                ..
            } => {
                let (start, end) = place(span);
                let Call {
                    name,
                    arguments: json,
                    grade,
                    kinds: set,
                    ..
                } = whole?;
                let known = self.keep && arguments == Arguments::Deltas;
                Made::CallClose(CallClose {
                    call,
                    name,
                    json: known.then(|| Json::new(json)),
                    grade: grade.name().to_owned(),
                    kinds: kinds(set),
                    start,
                    end,
                })
            }
            Event::BlockClose { span, raw, .. } => Made::BlockClose(BlockClose {
                start: span.start,
                end: span.end,
                raw: raw.to_vec(),
            }),
            Event::BlockAbandoned {
                span, becomes, raw, ..
            } => Made::BlockAbandoned(BlockAbandoned {
                becomes: becomes.name().to_owned(),
                start: span.start,
                end: span.end,
                raw: raw.to_vec(),
            }),
            Event::Issue(ref issue) => Made::Issue(issue.into()),
            // An event of a newer engine.
            _ => return None,
        })
    }
}

/// The engine delivers whole characters, so nothing is replaced here.
fn text(data: &[u8]) -> String {
    String::from_utf8_lossy(data).into_owned()
}
