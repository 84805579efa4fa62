//! One stream.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use pyo3::prelude::*;
use pyo3::types::PyList;
use serde::{Deserialize, Serialize};
use toolglot::{Call, Grade, Kind, KindSet, NativeCall, Origin, Parser, Retain, Span};

use crate::chunk::Chunk;
use crate::engine::{Core, Engine};
use crate::guard::{Failure, caught};
use crate::made::{Later, Maker, Now, Out};
use crate::options;

/// The number of live streams, readers and rewriters.
static LIVE: AtomicUsize = AtomicUsize::new(0);

/// The number of live streams, readers and rewriters in this process. A service can watch it for leaks.
#[pyfunction]
pub fn live_streams() -> usize {
    LIVE.load(Ordering::Relaxed)
}

/// Counts its own instances.
#[derive(Debug)]
pub struct Counted;

impl Counted {
    pub fn new() -> Self {
        LIVE.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A value that one thread at a time may use, and that is unusable after a panic.
#[derive(Debug)]
pub struct Owned<T> {
    what: &'static str,
    cell: Mutex<Option<T>>,
    _counted: Counted,
}

impl<T: Send> Owned<T> {
    pub fn new(what: &'static str, value: T) -> Self {
        Self {
            what,
            cell: Mutex::new(Some(value)),
            _counted: Counted::new(),
        }
    }

    /// Takes the value for this thread. Never blocks.
    pub fn hold(&self) -> Result<Held<'_, T>, Failure> {
        let cell = self.cell.try_lock().map_err(|_| Failure::busy(self.what))?;
        if cell.is_none() {
            return Err(Failure::broken(self.what));
        }
        Ok(Held(cell))
    }

    /// Runs engine code on the value. Never blocks.
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> Result<R, Failure>) -> Result<R, Failure> {
        let mut cell = self.cell.try_lock().map_err(|_| Failure::busy(self.what))?;
        let Some(value) = cell.as_mut() else {
            return Err(Failure::broken(self.what));
        };
        match caught(|| work(value)) {
            Ok(done) => done,
            Err(failure) => {
                *cell = None;
                Err(failure)
            }
        }
    }
}

/// A value in use.
pub struct Held<'a, T>(MutexGuard<'a, Option<T>>);

impl<T> Held<'_, T> {
    /// The value, until it has failed.
    pub fn value(&mut self) -> Option<&mut T> {
        self.0.as_mut()
    }

    /// Makes the value unusable, after a panic.
    pub fn fail(&mut self) {
        *self.0 = None;
    }
}

/// The state of a stream.
#[derive(Clone, Debug)]
pub struct Inner {
    parser: Parser,
    maker: Maker,
    /// For tests: the next chunk is to panic.
    doomed: bool,
}

impl Inner {
    /// Takes a chunk, and gives its events to `out`.
    pub fn read(&mut self, bytes: &[u8], out: &mut impl Out) {
        assert!(!self.doomed, "asked for");
        self.parser.feed(bytes, &mut self.maker.sink(out));
    }

    /// Takes a long chunk with the interpreter released.
    pub fn read_long<'py>(
        &mut self,
        py: Python<'py>,
        bytes: &[u8],
    ) -> PyResult<Bound<'py, PyList>> {
        let mut later = Later::default();
        py.detach(|| self.read(bytes, &mut later));
        later.list(py)
    }

    fn open(&self) -> Result<(), Failure> {
        if self.parser.is_finished() {
            return Err(Failure::state(
                "the stream is finished; reset() starts it over",
            ));
        }
        Ok(())
    }
}

/// One stream: the output of one model turn. Made by `Engine.stream`.
///
/// Feed chunks split anywhere, even inside a character, then call `finish`. One thread at a time may use a stream; a second one
/// gets `BusyError` at once. A `with` block that ends without an exception finishes the stream; the resulting events are in `tail`.
///
/// ```
/// >>> import toolglot
/// >>> stream = toolglot.Engine().stream()
/// >>> stream.feed("Hi <tool_"), stream.held
/// ([Text(text='Hi ', start=0, end=3, recovered=False)], 6)
/// >>> stream.finish()
/// [Text(text='<tool_', start=3, end=9, recovered=False)]
///
/// ```
#[pyclass(frozen, module = "toolglot")]
pub struct Stream {
    engine: Py<Engine>,
    core: Core,
    inner: Owned<Inner>,
    tail: Mutex<Vec<Py<PyAny>>>,
}

impl Stream {
    pub fn new(engine: Py<Engine>, core: Core) -> Self {
        let inner = Inner {
            parser: core.parser(),
            maker: Maker::new(core.keeps()),
            doomed: false,
        };
        Self::with(engine, core, inner)
    }

    fn with(engine: Py<Engine>, core: Core, inner: Inner) -> Self {
        Self {
            engine,
            core,
            inner: Owned::new("stream", inner),
            tail: Mutex::default(),
        }
    }

    pub fn restore(engine: Py<Engine>, core: Core, snapshot: &[u8]) -> Result<Self, Failure> {
        let (head, parser) =
            unpack(snapshot).ok_or_else(|| Failure::snapshot("the snapshot is damaged"))?;
        let parser =
            Parser::restore(&core.set, core.options.clone(), parser).map_err(Failure::snapshot)?;
        let open: Option<OpenCall> = serde_json::from_slice(head)
            .map_err(|_| Failure::snapshot("the snapshot is damaged"))?;
        let maker = Maker {
            gather: open.map(Call::from).into(),
            keep: core.options.retain == Retain::Block,
        };
        let inner = Inner {
            parser,
            maker,
            doomed: false,
        };
        Ok(Self::with(engine, core, inner))
    }

    /// Takes an open stream for this thread.
    pub fn hold(&self) -> Result<Held<'_, Inner>, Failure> {
        let mut held = self.inner.hold()?;
        held.value().map_or(Ok(()), |inner| inner.open())?;
        Ok(held)
    }

    /// Runs work on the stream, and returns the events that it gives.
    fn run<'py>(
        &self,
        py: Python<'py>,
        chunk: &Chunk<'_, 'py>,
        work: impl FnOnce(&mut Inner, &mut Now<'_, 'py>) -> Result<(), Failure>,
    ) -> PyResult<Bound<'py, PyList>> {
        let mut now = Now::new(py, chunk);
        self.inner.with(|inner| work(inner, &mut now))?;
        now.list()
    }

    /// Runs a step of an open stream.
    fn step<'py>(
        &self,
        py: Python<'py>,
        chunk: &Chunk<'_, 'py>,
        step: impl FnOnce(&mut Parser, &mut dyn toolglot::Sink),
    ) -> PyResult<Bound<'py, PyList>> {
        self.run(py, chunk, |inner, now| {
            inner.open()?;
            step(&mut inner.parser, &mut inner.maker.sink(now));
            Ok(())
        })
    }

    fn set_tail(&self, events: Vec<Py<PyAny>>) {
        let mut tail = self
            .tail
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let old = std::mem::replace(&mut *tail, events);
        // Dropping the old events may run Python code, which must find the lock free.
        drop(tail);
        drop(old);
    }
}

/// Problems in a list of tools.
pub fn odd(options: &toolglot::Options) -> Vec<String> {
    let tools = options.tools.iter();
    tools
        .flat_map(|tools| tools.issues())
        .map(ToString::to_string)
        .collect()
}

#[pymethods]
impl Stream {
    /// Takes the next chunk and returns its events. An event is delivered as soon as it is certain.
    ///
    /// Raises `StateError` after `finish`, and `BusyError` while another thread uses the stream.
    #[pyo3(signature = (chunk: "str | bytes | bytearray | memoryview") -> "list[Event]")]
    fn feed<'py>(
        &self,
        py: Python<'py>,
        chunk: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        let chunk = Chunk::of(chunk, "chunk")?;
        if chunk.is_long() {
            let bytes: &[u8] = &chunk;
            let mut later = Later::default();
            py.detach(|| {
                self.inner.with(|inner| {
                    inner.open()?;
                    inner.read(bytes, &mut later);
                    Ok(())
                })
            })?;
            return later.list(py);
        }
        self.run(py, &chunk, |inner, now| {
            inner.open()?;
            inner.read(&chunk, now);
            Ok(())
        })
    }

    /// Takes one special token that the host recognised by its id. Its markers count even where `trusted_only`
    /// accepts only tokens that the host vouches for.
    #[pyo3(signature = (marker: "str | bytes | bytearray | memoryview") -> "list[Event]")]
    fn feed_special<'py>(
        &self,
        py: Python<'py>,
        marker: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        let chunk = Chunk::of(marker, "marker")?;
        self.step(py, &chunk, |parser, sink| {
            parser.feed_special(&chunk, sink);
        })
    }

    /// Takes text that the prompt has already put at the beginning of the reply. It counts in offsets, but its text and
    /// reasoning are not delivered.
    #[pyo3(signature = (text: "str | bytes | bytearray | memoryview") -> "list[Event]")]
    fn prefill<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        let chunk = Chunk::of(text, "text")?;
        self.step(py, &chunk, |parser, sink| parser.prefill(&chunk, sink))
    }

    /// Takes an API tool call; the option `prefer` says when it is delivered. `arguments` is JSON text; an empty string means
    /// no arguments.
    #[pyo3(signature = (name, arguments="", id=None) -> "list[Event]")]
    fn native_call<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        arguments: &str,
        id: Option<&str>,
    ) -> PyResult<Bound<'py, PyList>> {
        let call = NativeCall::new(name, arguments).id(id.map(str::to_owned));
        self.step(py, &Chunk::NONE, |parser, sink| {
            parser.native_call(&call, sink);
        })
    }

    /// Ends the stream: delivers what is held back and reports what is still open. A second call returns nothing.
    #[pyo3(signature = (
        reason: "Literal['stop', 'length', 'tool_calls', 'error', 'cancelled']" = "stop"
    ) -> "list[Event]")]
    fn finish<'py>(&self, py: Python<'py>, reason: &str) -> PyResult<Bound<'py, PyList>> {
        let reason = options::finish(reason)?;
        self.run(py, &Chunk::NONE, |inner, now| {
            inner.parser.finish(reason, &mut inner.maker.sink(now));
            Ok(())
        })
    }

    /// Starts over with the same options.
    fn reset(&self) -> PyResult<()> {
        self.inner.with(|inner| {
            inner.parser.reset();
            inner.maker = Maker::new(inner.maker.keep);
            Ok(())
        })?;
        self.set_tail(vec![]);
        Ok(())
    }

    /// Returns the state of the stream as bytes, for `Engine.restore`, in this process or another. Its size does not grow with
    /// the stream, except by the bytes of an open block.
    #[pyo3(signature = () -> "bytes")]
    fn snapshot(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let bytes = self.inner.with(|inner| {
            let open = inner.maker.gather.open().map(OpenCall::from);
            let head = serde_json::to_vec(&open).map_err(Failure::internal)?;
            Ok(pack(&head, &inner.parser.snapshot()))
        })?;
        Ok(pyo3::types::PyBytes::new(py, &bytes).into_any().unbind())
    }

    /// Returns an independent stream in the same state.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        let inner = self.inner.with(|inner| Ok(inner.clone()))?;
        Ok(Self::with(
            self.engine.clone_ref(py),
            self.core.clone(),
            inner,
        ))
    }

    /// Bytes fed that no event covers yet.
    #[getter]
    fn held(&self) -> PyResult<usize> {
        Ok(self.inner.with(|inner| Ok(inner.parser.held()))?)
    }

    /// Bytes fed so far.
    #[getter]
    fn position(&self) -> PyResult<u64> {
        Ok(self.inner.with(|inner| Ok(inner.parser.position()))?)
    }

    /// Whether a thought is open: text is reasoning until the closer, or until a call that ends the thought. Before the first
    /// byte: whether the dialects, `start` or `prompt_tail` have opened one.
    ///
    /// ```
    /// >>> import toolglot
    /// >>> stream = toolglot.Engine().stream(prompt_tail="<|im_start|>assistant\n<think>\n")
    /// >>> stream.in_reasoning, stream.feed("hm</thi"), stream.in_reasoning, stream.may_hold_marker
    /// (True, [Reasoning(text='hm', start=0, end=2, framing=False)], True, True)
    ///
    /// ```
    #[getter]
    fn in_reasoning(&self) -> PyResult<bool> {
        Ok(self.inner.with(|inner| Ok(inner.parser.in_reasoning()))?)
    }

    /// Where the stream is between two chunks: `"normal"`, `"tag_opening"` (the held bytes may be a marker), `"tag_content"` (a call
    /// is being written, or the first call of a block is still to come) or `"tag_closing"` (in a block, after one of its calls).
    ///
    /// ```
    /// >>> import toolglot
    /// >>> stream = toolglot.Engine("hermes").stream()
    /// >>> for chunk in ["Hi ", "<tool_", 'call>{"name": "f"', ', "arguments": {}}', "</tool_call>"]:
    /// ...     _ = stream.feed(chunk)
    /// ...     print(stream.stage)
    /// normal
    /// tag_opening
    /// tag_content
    /// tag_closing
    /// normal
    ///
    /// ```
    #[getter]
    fn stage(&self) -> PyResult<&'static str> {
        Ok(self.inner.with(|inner| Ok(inner.parser.stage().name()))?)
    }

    /// Whether a marker, a block or a protected region may be open: the held bytes may begin a marker, or a call is being
    /// written. If false, everything that was fed has been delivered, except perhaps an incomplete character.
    #[getter]
    fn may_hold_marker(&self) -> PyResult<bool> {
        Ok(self
            .inner
            .with(|inner| Ok(inner.parser.may_hold_marker()))?)
    }

    /// Problems in the list of its tools, one sentence each: what was left out or ignored, and where.
    #[getter]
    fn tool_issues(&self) -> Vec<String> {
        odd(&self.core.options)
    }

    /// Whether the stream is finished.
    #[getter]
    fn finished(&self) -> PyResult<bool> {
        Ok(self.inner.with(|inner| Ok(inner.parser.is_finished()))?)
    }

    /// The events that were delivered when a `with` block ended the stream.
    #[getter]
    fn tail(&self, py: Python<'_>) -> Vec<Py<PyAny>> {
        let tail = self
            .tail
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        tail.iter().map(|event| event.clone_ref(py)).collect()
    }

    /// The engine of the stream.
    #[getter]
    fn engine(&self, py: Python<'_>) -> Py<Engine> {
        self.engine.clone_ref(py)
    }

    #[pyo3(signature = () -> "Stream")]
    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (kind: "object", _value: "object", _trace: "object", /) -> "None")]
    fn __exit__(
        &self,
        py: Python<'_>,
        kind: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _trace: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        if kind.is_none() && !self.finished()? {
            let events = self.finish(py, "stop")?;
            self.set_tail(events.iter().map(Bound::unbind).collect());
        }
        Ok(())
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
        self.copy(py)
    }

    #[pyo3(signature = (_memo: "Any", /) -> "Stream")]
    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.copy(py)
    }

    #[pyo3(signature = () -> "tuple[object, ...]")]
    fn __reduce__(&self) -> PyResult<Py<PyAny>> {
        let why = "a Stream cannot be pickled; send stream.snapshot() and use engine.restore()";
        Err(pyo3::exceptions::PyTypeError::new_err(why))
    }

    fn __repr__(&self) -> String {
        match self
            .inner
            .with(|inner| Ok((inner.parser.position(), inner.parser.is_finished())))
        {
            Ok((at, true)) => format!("<toolglot.Stream, finished at byte {at}>"),
            Ok((at, false)) => format!("<toolglot.Stream at byte {at}>"),
            Err(_) => "<toolglot.Stream, in use or broken>".to_owned(),
        }
    }

    /// For tests: panics like a bug in the engine, or makes the next chunk panic.
    #[pyo3(signature = (later=false))]
    fn _panic(&self, later: bool) -> PyResult<()> {
        Ok(self.inner.with(|inner| {
            inner.doomed = true;
            assert!(later, "asked for");
            Ok(())
        })?)
    }

    fn __traverse__(&self, visit: pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        visit.call(&self.engine)?;
        match self.tail.try_lock() {
            Ok(tail) => tail.iter().try_for_each(|event| visit.call(event)),
            Err(_) => Ok(()),
        }
    }

    fn __clear__(&self) {
        self.set_tail(vec![]);
    }
}

/// The open call, as it is saved in a snapshot.
#[derive(Serialize, Deserialize)]
struct OpenCall {
    index: u32,
    name: String,
    arguments: String,
    grade: String,
    kinds: Vec<String>,
    dialect: String,
    native: bool,
    meta: Vec<(String, String)>,
    span: Span,
}

impl From<&Call> for OpenCall {
    fn from(call: &Call) -> Self {
        Self {
            index: call.index,
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            grade: call.grade.name().to_owned(),
            kinds: crate::events::kinds(call.kinds),
            dialect: call.dialect.clone(),
            native: call.origin == Origin::Native,
            meta: call.meta.clone(),
            span: call.span,
        }
    }
}

impl From<OpenCall> for Call {
    fn from(open: OpenCall) -> Self {
        let kinds = |names: Vec<String>| {
            let mut set = KindSet::default();
            names
                .iter()
                .filter_map(|name| Kind::from_name(name))
                .for_each(|kind| set.insert(kind));
            set
        };
        Self::new(open.name, open.arguments)
            .index(open.index)
            .grade(Grade::from_name(&open.grade).unwrap_or(Grade::Recovered))
            .kinds(kinds(open.kinds))
            .dialect(open.dialect)
            .origin(match open.native {
                true => Origin::Native,
                false => Origin::Text,
            })
            .meta(open.meta)
            .span(open.span)
    }
}

const MAGIC: &[u8; 5] = b"TGpy\x02";

/// Layout: the length of the head, its checksum, the head, then the parser's own snapshot, which has a checksum too.
fn pack(head: &[u8], parser: &[u8]) -> Vec<u8> {
    let len = (head.len() as u64).to_le_bytes();
    [MAGIC.as_slice(), &len, &checksum(head), head, parser].concat()
}

/// FNV-1a: guards against accidents, not against attacks.
fn checksum(bytes: &[u8]) -> [u8; 8] {
    let add = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, add).to_le_bytes()
}

fn unpack(snapshot: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = snapshot.strip_prefix(MAGIC)?;
    let (len, rest) = rest.split_first_chunk::<8>()?;
    let (sum, rest) = rest.split_first_chunk::<8>()?;
    let (head, parser) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)?;
    (checksum(head) == *sum).then_some((head, parser))
}
