//! The event classes, and how they are made of the engine's events.
//!
//! They hold plain Rust data, so they can be made while the interpreter is released. All are frozen, compare by value, can
//! be pickled and matched (`case Text(text)`); their constructors take the fields in the order of `__match_args__`.

use std::collections::BTreeMap;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use toolglot::sink::Gather;
use toolglot::{Abandoned, Arguments, Call, Event, KindSet, Origin, Span};

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
        /// The text. What is not UTF-8 is U+FFFD.
        text: String,
        /// Offset of its first byte in the stream.
        start: u64 = 0,
        /// Offset after its last byte.
        end: u64 = 0,
        /// It was taken for a block first; see `BlockAbandoned`.
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
        /// The text is the marker (`<think>`), not the reasoning itself.
        framing: bool = false,
    }
}

record! {
    /// Part of a region that a dialect protects: no calls are looked for inside.
    Protected {
        /// The text, markers included.
        text: String,
        /// The kind of region, as its dialect names it.
        kind: String,
        /// Offset of its first byte.
        start: u64 = 0,
        /// Offset after its last byte.
        end: u64 = 0,
    }
}

record! {
    /// Bytes of a block that broke a limit; they go on until the block's own closer.
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
        /// Offset after the opening marker with its header.
        end: u64 = 0,
    }
}

record! {
    /// The name of a call is written. It comes before the `CallOpen`, as early as the name is known; only that opens a call.
    CallNamed {
        /// Number of the block in this stream, from 0.
        block: u32,
        /// Number of the name in its block, from 0.
        ordinal: u32,
        /// Name of the tool.
        name: String,
        /// What follows can still take the name back: a `CallOpen` of the block replaces it, or it is void when the block ends.
        provisional: bool = false,
        /// Offset of what names it.
        start: u64 = 0,
        /// Offset after that.
        end: u64 = 0,
    }
}

record! {
    /// A call begins; its name is final.
    CallOpen {
        /// Number of the call in this stream, from 0.
        call: u32,
        /// Name of the tool.
        name: String,
        /// The id of its dialect; empty for a native call.
        dialect: String = String::new(),
        /// What the format says of the call beside name and arguments (an `id`, for example).
        meta: BTreeMap<String, String> = BTreeMap::new(),
        /// The host gave it beside the text.
        native: bool = false,
        /// Offset of what named it.
        start: u64 = 0,
        /// Offset after what named it.
        end: u64 = 0,
    }
}

record! {
    /// The next piece of a call's arguments: final JSON text.
    ArgDelta {
        /// Number of the call.
        call: u32,
        /// The piece.
        json: String,
        /// Offset of the source bytes that it came from.
        start: u64 = 0,
        /// Offset after them.
        end: u64 = 0,
    }
}

record! {
    /// A parameter begins. Provisional: what counts are the arguments of the call.
    ParamOpen {
        /// Its name as written.
        name: String,
        /// Nesting depth; 0 is a parameter of the call.
        depth: u32 = 0,
        /// Offset of where it is named.
        start: u64 = 0,
        /// Offset after that.
        end: u64 = 0,
    }
}

record! {
    /// Raw bytes of the open parameter's value, at once; they may end inside a character.
    ParamDelta {
        /// The bytes as written.
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
    /// The open call is retracted: it broke its grammar or a limit, or was truncated. It never closes, and its deltas are void.
    CallAbandoned {
        /// Number of the call.
        call: u32,
        /// Offset of the call.
        start: u64 = 0,
        /// Offset after it, as far as it went.
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
        /// Its bytes if they were retained, else empty.
        raw: Vec<u8> = Vec::new(),
    }
}

record! {
    /// The block was none after all. All calls since its `BlockOpen` are void.
    BlockAbandoned {
        /// What becomes of its bytes: `"text"` (they follow as one `Text`) or `"drop"`.
        becomes: String,
        /// Offset of the whole block.
        start: u64 = 0,
        /// Offset after it, as far as it went.
        end: u64 = 0,
        /// Its bytes if they were retained, else empty.
        raw: Vec<u8> = Vec::new(),
    }
}

record! {
    /// Something is wrong with what the model wrote. Parsing goes on.
    Issue {
        /// What, for example `"unclosed_block"`.
        kind: String,
        /// `"error"` or `"warning"`.
        severity: String = String::from("error"),
        /// One sentence for people.
        message: String = String::new(),
        /// Offset of the bytes concerned.
        start: u64 = 0,
        /// Offset after them.
        end: u64 = 0,
        /// Id of the dialect that speaks, or empty.
        dialect: String = String::new(),
        /// Number of the call concerned.
        call: Option<u32> = None,
        /// The tool concerned, or empty.
        tool: String = String::new(),
        /// The parameter, entity or tag concerned, or empty.
        subject: String = String::new(),
        /// A name that was probably meant, or empty.
        suggestion: String = String::new(),
        /// What to tell the model.
        observation: String = String::new(),
    }

    /// The issue as plain objects, which `json.dumps` takes: its fields.
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
    /// Number of the call.
    #[pyo3(get)]
    call: u32,
    /// Name of the tool.
    #[pyo3(get)]
    name: String,
    json: Option<Json>,
    /// `"complete"`; `"repaired"`: a rule was broken, but the call is not in doubt; `"recovered"`: something may be cut,
    /// mixed or guessed, so it should not be executed without asking.
    #[pyo3(get)]
    grade: String,
    /// Why it is not complete.
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

    /// The arguments as a `dict`, the same one at each access. `None` if they were not kept (`retain="none"`).
    ///
    /// `LimitError` if they cannot be Python objects: nested deeper than the interpreter can follow, or an integer longer
    /// than `sys.get_int_max_str_digits()` allows. `arguments_json` has them all the same.
    #[getter]
    fn arguments(&self, py: Python<'_>) -> PyResult<Option<Py<PyDict>>> {
        self.json.as_ref().map(|json| json.value(py)).transpose()
    }

    /// The arguments as JSON text; numbers are spelled as the model spelled them. `None` if they were not kept.
    #[getter]
    fn arguments_json(&self) -> Option<&str> {
        self.json.as_ref().map(Json::text)
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

    /// The call as plain objects, which `json.dumps` takes. `arguments` is `None` if they were not kept.
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

/// The grade of a call that is made of its kinds.
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

/// Any event, made and not yet handed to Python.
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

/// Makes events, and remembers of the open call what its `CallClose` will say.
#[derive(Clone, Debug)]
pub struct Maker {
    pub gather: Gather,
    /// Arguments are kept until their call closes.
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
            } => Made::Protected(Protected {
                text: text(data),
                kind: kind.to_owned(),
                start,
                end,
            }),
            Event::Raw {
                data,
                span: Span { start, end },
            } => Made::Raw(Raw {
                data: data.to_vec(),
                start,
                end,
            }),
            Event::BlockOpen {
                dialect,
                span: Span { start, end },
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
            } => Made::ParamOpen(ParamOpen {
                name: name.to_owned(),
                depth,
                start,
                end,
            }),
            Event::ParamDelta {
                data,
                span: Span { start, end },
            } => Made::ParamDelta(ParamDelta {
                data: data.to_vec(),
                start,
                end,
            }),
            Event::ParamClose {
                span: Span { start, end },
            } => Made::ParamClose(ParamClose { start, end }),
            Event::CallAbandoned {
                call,
                span: Span { start, end },
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
            Event::BlockClose { span, raw } => Made::BlockClose(BlockClose {
                start: span.start,
                end: span.end,
                raw: raw.to_vec(),
            }),
            Event::BlockAbandoned { span, becomes, raw } => {
                let becomes = match becomes {
                    Abandoned::Text => "text",
                    Abandoned::Drop => "drop",
                };
                Made::BlockAbandoned(BlockAbandoned {
                    becomes: becomes.to_owned(),
                    start: span.start,
                    end: span.end,
                    raw: raw.to_vec(),
                })
            }
            Event::Issue(ref issue) => Made::Issue(issue.into()),
            // A kind of event that a newer engine may have.
            _ => return None,
        })
    }
}

/// Whole characters already, so nothing is replaced here.
fn text(data: &[u8]) -> String {
    String::from_utf8_lossy(data).into_owned()
}
