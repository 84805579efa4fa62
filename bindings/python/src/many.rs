//! Many streams at once: what a server does after each step of its model.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PySequence, PyString};

use crate::chunk::Chunk;
use crate::events::Text;
use crate::guard::{Failure, caught};
use crate::made::{Class, Now, Out};
use crate::stream::{Held, Inner, Stream};

/// Feeds `chunks[i]` to `streams[i]` in one call. Returns a list with, for each stream, a `str` if nothing but plain text came of its
/// chunk (`""` if nothing came), otherwise the list of events that `Stream.feed` returns.
///
/// Of most chunks only text comes, which needs no event here, so a step of a batch costs a fraction of as many calls of `feed`.
///
/// Raises `ValueError` if the lengths differ, `TypeError` for what is no stream or no chunk, `StateError` and `BusyError` as `feed`
/// does. The message has the index, and nothing has been fed then. Should a stream fail only when it is fed (`InternalError`), the
/// others are fed first, and `results` of the exception has what they returned, and `None` for this one.
///
/// ```
/// >>> import toolglot
/// >>> engine = toolglot.Engine()
/// >>> streams = [engine.stream() for _ in range(3)]
/// >>> toolglot.feed_many(streams, ["Hi", "<think>", "<tool_"])
/// ['Hi', [Reasoning(text='<think>', start=0, end=7, framing=True)], '']
///
/// ```
#[pyfunction]
#[pyo3(signature = (
    streams: "Iterable[Stream]",
    chunks: "Iterable[str | bytes | bytearray | memoryview]",
) -> "list[str | list[Event]]")]
pub fn feed_many<'py>(
    py: Python<'py>,
    streams: &Bound<'py, PyAny>,
    chunks: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyList>> {
    let (streams, chunks) = (items(streams)?, items(chunks)?);
    if streams.len() != chunks.len() {
        let why = format!("{} streams, but {} chunks", streams.len(), chunks.len());
        return Err(PyValueError::new_err(why));
    }
    let mut steps = Vec::with_capacity(streams.len());
    for (place, chunk) in chunks.iter().enumerate() {
        steps.push(Step {
            stream: hold(&streams, place)?,
            chunk: Chunk::of(chunk, format_args!("chunks[{place}]"))?,
        });
    }
    let (results, failed) = run(py, &mut steps);
    drop(steps);
    let results = PyList::new(py, results)?;
    let Some((place, error)) = failed else {
        return Ok(results);
    };
    let value = error.value(py);
    value.setattr("args", (format!("streams[{place}]: {value}"),))?;
    value.setattr("results", results)?;
    Err(error)
}

fn items<'py>(object: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    match object.cast::<PySequence>() {
        Ok(items) => Ok(items.to_tuple()?.iter().collect()),
        Err(_) => object.try_iter()?.collect(),
    }
}

/// A stream and what it is to read. No other thread can use it before it is dropped.
struct Step<'a, 'py> {
    stream: Held<'a, Inner>,
    chunk: Chunk<'a, 'py>,
}

fn hold<'a>(streams: &'a [Bound<'_, PyAny>], place: usize) -> PyResult<Held<'a, Inner>> {
    let stream = &streams[place];
    let Ok(found) = stream.cast::<Stream>() else {
        let class = stream.get_type().name()?;
        let why = format!("streams[{place}]: a Stream is needed, not {class}");
        return Err(PyTypeError::new_err(why));
    };
    found.get().hold().map_err(|failure| {
        match streams[..place].iter().position(|other| other.is(stream)) {
            Some(first) => {
                PyValueError::new_err(format!("streams[{place}]: it is streams[{first}] too"))
            }
            None => failure.of(format_args!("streams[{place}]")).into(),
        }
    })
}

/// Feeds all streams. The result of one that fails is `None`; returns the first failure and its place.
fn run<'py>(
    py: Python<'py>,
    steps: &mut [Step<'_, 'py>],
) -> (Vec<Bound<'py, PyAny>>, Option<(usize, PyErr)>) {
    let mut results = Vec::with_capacity(steps.len());
    let mut failed = None;
    while results.len() < steps.len() {
        let from = results.len();
        // One guard for all, because it costs as much as a short chunk.
        let fed = caught(|| feed(py, &mut steps[from..], &mut results));
        let place = results.len();
        let error = match fed {
            Ok(Ok(())) => break,
            Ok(Err(error)) => error,
            Err(failure) => {
                steps[place].stream.fail();
                failure.into()
            }
        };
        failed.get_or_insert((place, error));
        results.push(py.None().into_bound(py));
    }
    (results, failed)
}

fn feed<'py>(
    py: Python<'py>,
    steps: &mut [Step<'_, 'py>],
    results: &mut Vec<Bound<'py, PyAny>>,
) -> PyResult<()> {
    let none = Chunk::NONE;
    let mut out = Plain {
        only: None,
        rest: Now::new(py, &none),
        mixed: false,
    };
    for Step { stream, chunk } in steps {
        let chunk = &*chunk;
        let inner = stream.value().ok_or_else(|| Failure::broken("stream"))?;
        if chunk.is_long() {
            results.push(joined(inner.read_long(py, chunk)?)?);
            continue;
        }
        out.rest.turn_to(chunk);
        out.mixed = false;
        inner.read(chunk, &mut out);
        results.push(match out.only.take() {
            Some(only) => only.text.into_bound(py).into_any(),
            None if out.rest.is_empty() => PyString::new(py, "").into_any(),
            None if out.mixed => out.rest.list()?.into_any(),
            None => joined(out.rest.list()?)?,
        });
    }
    Ok(())
}

/// The events of a chunk, or their text if they are nothing else.
fn joined(events: Bound<'_, PyList>) -> PyResult<Bound<'_, PyAny>> {
    let mut text = String::new();
    for event in events.iter() {
        let Ok(event) = event.cast::<Text>() else {
            return Ok(events.into_any());
        };
        text.push_str(event.get().text.to_str(events.py())?);
    }
    Ok(PyString::new(events.py(), &text).into_any())
}

/// Takes events. If there is only one, and it is text, no object is made of it.
struct Plain<'a, 'py> {
    only: Option<Text>,
    /// All events, if there are others.
    rest: Now<'a, 'py>,
    /// Whether there are others than text.
    mixed: bool,
}

impl<'a, 'py> Plain<'a, 'py> {
    fn rest(&mut self) -> &mut Now<'a, 'py> {
        if let Some(text) = self.only.take() {
            self.rest.add(text);
        }
        &mut self.rest
    }
}

impl Out for Plain<'_, '_> {
    fn add<T: Class>(&mut self, event: T) {
        self.mixed = true;
        self.rest().add(event);
    }

    fn text<T: Class>(
        &mut self,
        text: &[u8],
        event: impl FnOnce(Py<PyString>) -> T + Send + 'static,
    ) {
        self.mixed = true;
        self.rest().text(text, event);
    }

    fn plain(&mut self, text: &[u8], event: impl FnOnce(Py<PyString>) -> Text + Send + 'static) {
        if self.only.is_some() || !self.rest.is_empty() {
            return self.rest().text(text, event);
        }
        match self.rest.read(text) {
            Ok(text) => self.only = Some(event(text)),
            Err(error) => self.rest.fail(error),
        }
    }

    fn data<T: Class>(
        &mut self,
        data: &[u8],
        event: impl FnOnce(Py<PyBytes>) -> T + Send + 'static,
    ) {
        self.mixed = true;
        self.rest().data(data, event);
    }
}
