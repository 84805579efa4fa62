//! Turns responses of model servers into events, and into chunks of another response.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use toolglot::rewrite::{self, Given};
use toolglot::sink::openai::{Delta, Deltas, Head, Settings};
use toolglot::source::{Anthropic, Ended, Feeder, Ollama, OpenAi, Source, SourceError, Telling};
use toolglot::{Collect, Finish, Parser, Sink, Turn};

use crate::chunk::{self, Chunk};
use crate::engine::Core;
use crate::guard::Failure;
use crate::made::{Later, Maker, Now, Out};
use crate::options;
use crate::stream::Owned;

/// The input: text, or the bytes of a response.
enum Input {
    Text(Box<Parser>),
    Response(Box<Feeder<Box<dyn Source + Send>>>),
}

impl Input {
    /// The input of a response that is rewritten in OpenAI's form: what it says about itself goes into the head.
    fn told(
        core: &Core,
        source: &str,
        writing: &Writing,
        head: &Arc<Mutex<Head>>,
    ) -> PyResult<Self> {
        let choice = writing.choice.unwrap_or(0);
        let learn = writing.given.learn(Arc::clone(head));
        Self::through(core, source, u64::from(choice), |source| {
            Box::new(Telling::new(source, learn))
        })
    }

    fn new(core: &Core, source: &str, choice: u64) -> PyResult<Self> {
        Self::through(core, source, choice, |source| source)
    }

    fn through(
        core: &Core,
        source: &str,
        choice: u64,
        wrap: impl FnOnce(Box<dyn Source + Send>) -> Box<dyn Source + Send>,
    ) -> PyResult<Self> {
        let source: Box<dyn Source + Send> = match source {
            "text" => return Ok(Self::Text(Box::new(core.parser()))),
            "openai" => Box::new(OpenAi::new().choice(choice)),
            "anthropic" => Box::new(Anthropic::new()),
            "ollama" => Box::new(Ollama::new()),
            other => {
                let why = format!(
                    "source='{other}': it is one of 'text', 'openai', 'anthropic', 'ollama'"
                );
                return Err(PyValueError::new_err(why));
            }
        };
        let feeder =
            Feeder::new(wrap(source), core.parser()).max_native(core.options.limits.max_native);
        Ok(Self::Response(Box::new(feeder)))
    }

    /// Feeds bytes; returns what could not be read.
    fn feed(&mut self, bytes: &[u8], sink: &mut dyn Sink) -> Vec<String> {
        match self {
            Self::Text(parser) => {
                parser.feed(bytes, sink);
                vec![]
            }
            Self::Response(feeder) => feeder
                .feed(bytes, sink)
                .iter()
                .map(ToString::to_string)
                .collect(),
        }
    }

    /// Ends the input.
    fn finish(&mut self, reason: Option<Finish>, sink: &mut dyn Sink) -> Ended {
        match self {
            Self::Text(parser) => {
                let reason = reason.unwrap_or_default();
                parser.finish(reason, sink);
                Ended::new(reason)
            }
            Self::Response(feeder) => feeder.finish(reason, sink),
        }
    }

    fn parser(&self) -> &Parser {
        match self {
            Self::Text(parser) => parser,
            Self::Response(feeder) => feeder.parser(),
        }
    }
}

/// What a reader and a rewriter have in common.
struct Ending {
    errors: Vec<String>,
    reason: Option<Finish>,
}

impl Ending {
    const fn new() -> Self {
        Self {
            errors: vec![],
            reason: None,
        }
    }

    fn open(&self, what: &str) -> Result<(), Failure> {
        match self.reason {
            Some(_) => Err(Failure::state(format!("the {what} is finished"))),
            None => Ok(()),
        }
    }
}

struct Reading {
    input: Input,
    maker: Maker,
    ending: Ending,
}

/// Reads the body of one response: takes bytes in any chunks and returns events. Made by `Engine.reader`.
///
/// Offsets count the bytes of the response's text, not of its body.
///
/// ```
/// >>> import toolglot
/// >>> reader = toolglot.Engine().reader("ollama")
/// >>> reader.feed(b'{"message":{"content":"Hi"},"done":true,"done_reason":"stop"}\n')
/// [Text(text='Hi', start=0, end=2, recovered=False)]
/// >>> reader.finish(), reader.reason, reader.errors
/// ([], 'stop', [])
///
/// ```
#[pyclass(frozen, module = "toolglot")]
pub struct Reader {
    inner: Owned<Reading>,
}

impl Reader {
    pub fn new(core: &Core, source: &str, choice: u64) -> PyResult<Self> {
        let inner = Reading {
            input: Input::new(core, source, choice)?,
            maker: Maker::new(core.keeps()),
            ending: Ending::new(),
        };
        Ok(Self {
            inner: Owned::new("reader", inner),
        })
    }

    fn read(&self, bytes: &[u8], out: &mut impl Out) -> Result<(), Failure> {
        self.inner.with(|inner| {
            inner.ending.open("reader")?;
            let errors = inner.input.feed(bytes, &mut inner.maker.sink(out));
            inner.ending.errors.extend(errors);
            Ok(())
        })
    }
}

#[pymethods]
impl Reader {
    /// Takes the next bytes of the response. What cannot be read is added to `errors`; reading goes on.
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
            py.detach(|| self.read(bytes, &mut later))?;
            return later.list(py);
        }
        let mut now = Now::new(py, &chunk);
        self.read(&chunk, &mut now)?;
        now.list()
    }

    /// Ends the response. `reason` overrides the reason that the response gives.
    #[pyo3(signature = (
        reason: "Literal['stop', 'length', 'tool_calls', 'error', 'cancelled'] | None" = None
    ) -> "list[Event]")]
    fn finish<'py>(&self, py: Python<'py>, reason: Option<&str>) -> PyResult<Bound<'py, PyList>> {
        let reason = reason.map(options::finish).transpose()?;
        let none = Chunk::NONE;
        let mut now = Now::new(py, &none);
        self.inner.with(|inner| {
            if inner.ending.reason.is_some() {
                return Ok(());
            }
            let sink = &mut inner.maker.sink(&mut now);
            let ended = inner.input.finish(reason, sink);
            inner.ending.reason = Some(ended.reason);
            inner.ending.errors.extend(told(&ended.errors));
            Ok(())
        })?;
        now.list()
    }

    /// What could not be read so far, one sentence each.
    #[getter]
    fn errors(&self) -> PyResult<Vec<String>> {
        Ok(self.inner.with(|inner| Ok(inner.ending.errors.clone()))?)
    }

    /// Why the response ended; `None` until it is finished.
    #[getter]
    fn reason(&self) -> PyResult<Option<&'static str>> {
        Ok(self
            .inner
            .with(|inner| Ok(inner.ending.reason.map(Finish::name)))?)
    }

    /// Bytes of the text that no event covers yet.
    #[getter]
    fn held(&self) -> PyResult<usize> {
        Ok(self.inner.with(|inner| Ok(inner.input.parser().held()))?)
    }

    fn __repr__(&self) -> &'static str {
        "<toolglot.Reader>"
    }
}

type Lines = Arc<Mutex<Vec<String>>>;
type Push = Box<dyn FnMut(Delta<'_>) + Send>;

/// How to write a response.
pub struct Writing {
    pub head: Head,
    /// Overrides what the server says about its response.
    pub given: Given,
    /// The choice of a server's response to rewrite; `None` means all of them.
    pub choice: Option<u32>,
    pub settings: Settings,
}

/// One output: text, or a response of another API.
struct One {
    input: Input,
    deltas: Deltas<Push>,
    lines: Lines,
}

impl One {
    fn new(core: &Core, source: &str, writing: Writing) -> PyResult<Self> {
        let head = Arc::new(Mutex::new(writing.head.clone()));
        let input = Input::told(core, source, &writing, &head)?;
        let lines = Lines::default();
        let out = Arc::clone(&lines);
        let push: Push = Box::new(move |delta: Delta<'_>| {
            let line = delta.to_json(&head.lock().unwrap_or_else(PoisonError::into_inner));
            out.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(line);
        });
        Ok(Self {
            input,
            deltas: Deltas::new(writing.settings, push).guard_with(&core.set, &core.options),
            lines,
        })
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.lines.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

enum Way {
    One(Box<One>),
    /// A response of OpenAI's own shape: whatever is not rewritten stays.
    Openai(Box<rewrite::Rewriter>),
}

struct Rewriting {
    way: Way,
    ending: Ending,
}

fn told(errors: &[SourceError]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

impl Rewriting {
    fn feed(&mut self, bytes: &[u8]) -> Vec<String> {
        let (lines, errors) = match &mut self.way {
            Way::One(one) => {
                let errors = one.input.feed(bytes, &mut one.deltas);
                (one.take(), errors)
            }
            Way::Openai(rewriter) => {
                let mut lines = vec![];
                let errors = rewriter.feed(bytes, &mut |line| lines.push(line.to_owned()));
                (lines, told(&errors))
            }
        };
        self.ending.errors.extend(errors);
        lines
    }

    fn finish(&mut self, reason: Option<Finish>) -> Vec<String> {
        let (lines, reason, errors) = match &mut self.way {
            Way::One(one) => {
                let ended = one.input.finish(reason, &mut one.deltas);
                if let Some(error) = &ended.error {
                    one.deltas.fail(&error.message, &error.kind);
                }
                one.deltas.finish(ended.reason);
                (one.take(), ended.reason, told(&ended.errors))
            }
            Way::Openai(rewriter) => {
                let mut lines = vec![];
                let end = rewriter.finish(reason, &mut |line| lines.push(line.to_owned()));
                (lines, end.reason, told(&end.errors))
            }
        };
        self.ending.reason = Some(reason);
        self.ending.errors.extend(errors);
        lines
    }
}

/// One `chat.completion` object of an output or of a response.
pub fn completion(
    core: &Core,
    source: &str,
    writing: Writing,
    data: &[u8],
    finish: Option<Finish>,
) -> PyResult<String> {
    if source == "openai" {
        let mut completer = rewrite::Completer::new(&core.set, core.options.clone())
            .settings(writing.settings)
            .spare(&writing.head)
            .given(writing.given);
        if let Some(choice) = writing.choice {
            completer = completer.choice(u64::from(choice));
        }
        let _ = completer.feed(data);
        return Ok(completer.finish(finish).0);
    }
    let head = Arc::new(Mutex::new(writing.head.clone()));
    let mut input = Input::told(core, source, &writing, &head)?;
    let mut collect = Collect::new().guard_with(&core.set, &core.options);
    input.feed(data, &mut collect);
    let ended = input.finish(finish, &mut collect);
    Ok(match ended.error {
        Some(error) => error.to_json(),
        None => {
            let head = head.lock().unwrap_or_else(PoisonError::into_inner);
            toolglot::sink::openai::completion(
                &collect.turn(),
                &head,
                &writing.settings,
                ended.reason,
            )
        }
    })
}

/// A turn as one `chat.completion` object.
pub fn written(turn: &Turn, writing: &Writing, reason: Finish) -> String {
    toolglot::sink::openai::completion(turn, &writing.head, &writing.settings, reason)
}

/// Writes OpenAI chat completion chunks, one line of JSON each. Made by `Engine.rewriter`.
///
/// Calls that the model wrote into its text become `tool_calls` deltas, and `finish_reason` says so. If a call is retracted
/// after part of it was sent, its arguments never become valid JSON, and the reason is then never `tool_calls`.
///
/// A response of OpenAI's own shape keeps everything else: `id`, `created`, `model`, `usage`, `logprobs`,
/// `system_fingerprint`, every other member, and its errors. Each choice is parsed on its own.
///
/// ```
/// >>> import json, toolglot
/// >>> rewriter = toolglot.Engine().rewriter(model="m")
/// >>> lines = rewriter.feed('<tool_call name="f"><param name="a">1</param></tool_call>') + rewriter.finish()
/// >>> json.loads(lines[-1])["choices"][0]["finish_reason"]
/// 'tool_calls'
///
/// ```
#[pyclass(frozen, module = "toolglot")]
pub struct Rewriter {
    inner: Owned<Rewriting>,
}

impl Rewriter {
    pub fn new(core: &Core, source: &str, writing: Writing) -> PyResult<Self> {
        let way = match source {
            "openai" => {
                let Writing {
                    head,
                    given,
                    choice,
                    settings,
                } = writing;
                let options = core.options.clone();
                let mut rewriter = rewrite::Rewriter::new(&core.set, options).settings(settings);
                rewriter = rewriter.spare(&head).given(given);
                if let Some(choice) = choice {
                    rewriter = rewriter.choice(u64::from(choice));
                }
                Way::Openai(Box::new(rewriter))
            }
            _ => Way::One(Box::new(One::new(core, source, writing)?)),
        };
        let inner = Rewriting {
            way,
            ending: Ending::new(),
        };
        Ok(Self {
            inner: Owned::new("rewriter", inner),
        })
    }
}

#[pymethods]
impl Rewriter {
    /// Takes the next chunk and returns the chunks that result from it, as JSON.
    #[pyo3(signature = (chunk: "str | bytes | bytearray | memoryview"))]
    fn feed(&self, py: Python<'_>, chunk: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
        let chunk = Chunk::of(chunk, "chunk")?;
        let lines = chunk::run(py, &chunk, |bytes| {
            self.inner.with(|inner| {
                inner.ending.open("rewriter")?;
                Ok(inner.feed(bytes))
            })
        })?;
        Ok(lines)
    }

    /// Ends the response and returns the last chunks. The finish reason is that of the response that is read (`"stop"` for
    /// text) unless `reason` is given.
    #[pyo3(signature = (
        reason: "Literal['stop', 'length', 'tool_calls', 'error', 'cancelled'] | None" = None
    ))]
    fn finish(&self, reason: Option<&str>) -> PyResult<Vec<String>> {
        let reason = reason.map(options::finish).transpose()?;
        let lines = self.inner.with(|inner| match inner.ending.reason {
            Some(_) => Ok(vec![]),
            None => Ok(inner.finish(reason)),
        })?;
        Ok(lines)
    }

    /// What could not be read so far, one sentence each.
    #[getter]
    fn errors(&self) -> PyResult<Vec<String>> {
        Ok(self.inner.with(|inner| Ok(inner.ending.errors.clone()))?)
    }

    /// Why the response ended; `None` until it is finished.
    #[getter]
    fn reason(&self) -> PyResult<Option<&'static str>> {
        Ok(self
            .inner
            .with(|inner| Ok(inner.ending.reason.map(Finish::name)))?)
    }

    /// Indices of the calls that were sent in part and then retracted. With several choices: those of the first choice that has any.
    #[getter]
    fn void(&self) -> PyResult<Vec<u32>> {
        Ok(self.inner.with(|inner| {
            Ok(match &inner.way {
                Way::One(one) => one.deltas.void().to_vec(),
                Way::Openai(rewriter) => {
                    let first = rewriter.void().into_iter().next();
                    first.map(|(_, calls)| calls).unwrap_or_default()
                }
            })
        })?)
    }

    fn __repr__(&self) -> &'static str {
        "<toolglot.Rewriter>"
    }
}
