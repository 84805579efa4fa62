//! From the engine's events to objects of Python.
//!
//! For a short chunk they are made at once ([`Now`]), under the lock of the stream: most chunks give one event, and this way it is
//! copied nowhere. A long chunk is read with the interpreter released, so they are made afterwards ([`Later`]).

use pyo3::PyClass;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};
use toolglot::sink::Gather;
use toolglot::{Arguments, Event, Origin, Sink, Span};

use crate::arguments::Json;
use crate::chunk::{self, Chunk};
use crate::events::{
    ArgDelta, BlockAbandoned, BlockClose, BlockOpen, CallAbandoned, CallClose, CallNamed, CallOpen,
    ParamClose, ParamDelta, ParamOpen, Protected, Raw, Reasoning, Text, kinds,
};

/// The class of an event.
pub trait Class: PyClass<BaseType = PyAny> + Send {}

impl<T: PyClass<BaseType = PyAny> + Send> Class for T {}

/// Takes events.
pub trait Out {
    /// Takes an event of plain data.
    fn add<T: Class>(&mut self, event: T);

    /// Takes an event with text of the model.
    fn text<T: Class>(
        &mut self,
        text: &[u8],
        event: impl FnOnce(Py<PyString>) -> T + Send + 'static,
    );

    /// Takes plain text of the reply.
    fn plain(&mut self, text: &[u8], event: impl FnOnce(Py<PyString>) -> Text + Send + 'static) {
        self.text(text, event);
    }

    /// Takes an event with bytes of the model.
    fn data<T: Class>(
        &mut self,
        data: &[u8],
        event: impl FnOnce(Py<PyBytes>) -> T + Send + 'static,
    );
}

/// Makes objects at once.
pub struct Now<'a, 'py> {
    py: Python<'py>,
    chunk: &'a Chunk<'a, 'py>,
    /// Most chunks give no more than two, which need no vector.
    first: Option<Py<PyAny>>,
    second: Option<Py<PyAny>>,
    more: Vec<Py<PyAny>>,
    error: Option<PyErr>,
}

impl<'a, 'py> Now<'a, 'py> {
    /// `chunk` is what the parser reads.
    pub fn new(py: Python<'py>, chunk: &'a Chunk<'a, 'py>) -> Self {
        Self {
            py,
            chunk,
            first: None,
            second: None,
            more: vec![],
            error: None,
        }
    }

    /// Returns the events.
    pub fn list(&mut self) -> PyResult<Bound<'py, PyList>> {
        let py = self.py;
        match (self.first.take(), self.second.take(), self.error.take()) {
            (_, _, Some(error)) => Err(error),
            (None, ..) => Ok(PyList::empty(py)),
            (Some(only), None, _) => PyList::new(py, [only]),
            (Some(first), Some(second), _) if self.more.is_empty() => {
                PyList::new(py, [first, second])
            }
            (first, second, _) => {
                let more = std::mem::take(&mut self.more);
                PyList::new(py, first.into_iter().chain(second).chain(more))
            }
        }
    }

    /// Takes the events of another chunk, when those of the last have been returned.
    pub fn turn_to(&mut self, chunk: &'a Chunk<'a, 'py>) {
        self.chunk = chunk;
    }

    /// Whether there were no events.
    pub fn is_empty(&self) -> bool {
        self.first.is_none() && self.error.is_none()
    }

    /// Text of an event.
    pub fn read(&self, text: &[u8]) -> PyResult<Py<PyString>> {
        self.chunk.text(self.py, text)
    }

    /// Takes note that an event could not be made.
    #[cold]
    pub fn fail(&mut self, error: PyErr) {
        self.error = Some(error);
    }
}

impl Out for Now<'_, '_> {
    fn add<T: Class>(&mut self, event: T) {
        match Py::new(self.py, event) {
            Ok(event) if self.first.is_none() => self.first = Some(event.into_any()),
            Ok(event) if self.second.is_none() => self.second = Some(event.into_any()),
            Ok(event) => self.more.push(event.into_any()),
            Err(error) => self.fail(error),
        }
    }

    fn text<T: Class>(
        &mut self,
        text: &[u8],
        event: impl FnOnce(Py<PyString>) -> T + Send + 'static,
    ) {
        match self.read(text) {
            Ok(text) => self.add(event(text)),
            Err(error) => self.fail(error),
        }
    }

    fn data<T: Class>(
        &mut self,
        data: &[u8],
        event: impl FnOnce(Py<PyBytes>) -> T + Send + 'static,
    ) {
        self.add(event(self.chunk.data(self.py, data)));
    }
}

type Waiting = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

/// Makes objects when the interpreter is held again.
#[derive(Default)]
pub struct Later(Vec<Waiting>);

impl Later {
    /// Makes the events and returns them.
    pub fn list<'py>(self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let made = self.0.into_iter().map(|event| event(py));
        PyList::new(py, made.collect::<PyResult<Vec<_>>>()?)
    }
}

impl Out for Later {
    fn add<T: Class>(&mut self, event: T) {
        self.0
            .push(Box::new(|py| Ok(Py::new(py, event)?.into_any())));
    }

    fn text<T: Class>(
        &mut self,
        text: &[u8],
        event: impl FnOnce(Py<PyString>) -> T + Send + 'static,
    ) {
        let text = text.to_vec();
        self.0.push(Box::new(move |py| {
            Ok(Py::new(py, event(chunk::text(py, &text)?))?.into_any())
        }));
    }

    fn data<T: Class>(
        &mut self,
        data: &[u8],
        event: impl FnOnce(Py<PyBytes>) -> T + Send + 'static,
    ) {
        let data = data.to_vec();
        self.0.push(Box::new(move |py| {
            let data = PyBytes::new(py, &data).unbind();
            Ok(Py::new(py, event(data))?.into_any())
        }));
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

    /// A sink that makes events for `out`.
    pub fn sink<'a, O: Out>(&'a mut self, out: &'a mut O) -> Making<'a, O> {
        Making { maker: self, out }
    }

    fn make(&mut self, event: &Event<'_>, out: &mut impl Out) {
        match *event {
            Event::Text {
                data,
                span: Span { start, end },
                recovered,
                ..
            } => out.plain(data, move |text| Text {
                text,
                start,
                end,
                recovered,
            }),
            Event::Reasoning {
                data,
                span: Span { start, end },
                framing,
                ..
            } => out.text(data, move |text| Reasoning {
                text,
                start,
                end,
                framing,
            }),
            Event::Protected {
                kind,
                data,
                span: Span { start, end },
                ..
            } => {
                let kind = kind.to_owned();
                out.text(data, move |text| Protected {
                    text,
                    kind,
                    start,
                    end,
                });
            }
            Event::Raw {
                data,
                span: Span { start, end },
                ..
            } => out.data(data, move |data| Raw { data, start, end }),
            Event::ArgDelta {
                call,
                json,
                span: Span { start, end },
                ..
            } => {
                if self.keep {
                    self.gather.event(event);
                }
                out.text(json.as_bytes(), move |json| ArgDelta {
                    call,
                    json,
                    start,
                    end,
                });
            }
            Event::ParamDelta {
                data,
                span: Span { start, end },
                ..
            } => out.data(data, move |data| ParamDelta { data, start, end }),
            _ => self.rare(event, out),
        }
    }

    /// The events that say where something begins or ends.
    fn rare(&mut self, event: &Event<'_>, out: &mut impl Out) {
        let whole = self.gather.event(event);
        match *event {
            Event::BlockOpen {
                dialect,
                span: Span { start, end },
                ..
            } => out.add(BlockOpen {
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
            } => out.add(CallNamed {
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
            } => out.add(CallOpen {
                call,
                name: name.to_owned(),
                dialect: dialect.to_owned(),
                meta: meta.iter().cloned().collect(),
                native: origin == Origin::Native,
                start,
                end,
            }),
            Event::ParamOpen {
                name,
                depth,
                span: Span { start, end },
                ..
            } => out.add(ParamOpen {
                name: name.to_owned(),
                depth,
                start,
                end,
            }),
            Event::ParamClose {
                span: Span { start, end },
                ..
            } => out.add(ParamClose { start, end }),
            Event::CallAbandoned {
                call,
                span: Span { start, end },
                ..
            } => out.add(CallAbandoned { call, start, end }),
            Event::CallClose {
                call,
                arguments,
                span: Span { start, end },
                ..
            } => {
                let Some(whole) = whole else { return };
                let known = self.keep && arguments == Arguments::Deltas;
                out.add(CallClose {
                    call,
                    name: whole.name,
                    json: known.then(|| Json::new(whole.arguments)),
                    grade: whole.grade.name().to_owned(),
                    kinds: kinds(whole.kinds),
                    start,
                    end,
                });
            }
            Event::BlockClose {
                span: Span { start, end },
                raw,
                ..
            } => out.add(BlockClose {
                start,
                end,
                raw: raw.to_vec(),
            }),
            Event::BlockAbandoned {
                span: Span { start, end },
                becomes,
                raw,
                ..
            } => out.add(BlockAbandoned {
                becomes: becomes.name().to_owned(),
                start,
                end,
                raw: raw.to_vec(),
            }),
            Event::Issue(ref issue) => out.add(crate::events::Issue::from(issue)),
            // An event of a newer engine.
            _ => {}
        }
    }
}

/// The sink of a maker.
pub struct Making<'a, O> {
    maker: &'a mut Maker,
    out: &'a mut O,
}

impl<O: Out> Sink for Making<'_, O> {
    fn event(&mut self, event: Event<'_>) {
        self.maker.make(&event, self.out);
    }
}
