//! Text in, text out: masking, escaping, encoding, transcoding, detection; and descriptions of the built-in dialects.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyString};
use toolglot::sink::mask::{Mask, Show};
use toolglot::{
    Detector, DialectSet, EncodeCall, EncodeOptions, Encoder, Options, Parser, Transcoder,
};

use crate::chunk::{self, Chunk};
use crate::engine::{Engine, tools_of};
use crate::guard::{Failure, caught, entry};
use crate::options;
use crate::stream::Owned;

/// Returns text of the type that was given: `str` for `str`, otherwise `bytes`.
fn alike(py: Python<'_>, chunk: &Chunk<'_, '_>, bytes: &[u8]) -> Py<PyAny> {
    if chunk.is_str() {
        PyString::new(py, &String::from_utf8_lossy(bytes))
            .into_any()
            .unbind()
    } else {
        PyBytes::new(py, bytes).into_any().unbind()
    }
}

/// Escapes text so that no dialect of the engine sees a marker in it.
#[pyfunction]
#[pyo3(signature = (engine: "Engine", text: "str | bytes | bytearray | memoryview") -> "str | bytes")]
pub fn escape(
    py: Python<'_>,
    engine: &Bound<'_, Engine>,
    text: &Bound<'_, PyAny>,
) -> PyResult<Py<PyAny>> {
    let chunk = Chunk::of(text, "text")?;
    let set = &engine.get().core.set;
    let out = chunk::run(py, &chunk, |bytes| caught(|| toolglot::escape(set, bytes)))?;
    Ok(alike(py, &chunk, &out.map_err(Failure::encode)?))
}

/// Returns the text from which `escape` made this one.
#[pyfunction]
#[pyo3(signature = (engine: "Engine", text: "str | bytes | bytearray | memoryview") -> "str | bytes")]
pub fn unescape(
    py: Python<'_>,
    engine: &Bound<'_, Engine>,
    text: &Bound<'_, PyAny>,
) -> PyResult<Py<PyAny>> {
    let chunk = Chunk::of(text, "text")?;
    let set = &engine.get().core.set;
    let out = chunk::run(py, &chunk, |bytes| {
        caught(|| toolglot::unescape(set, bytes))
    })?;
    Ok(alike(py, &chunk, &out.map_err(Failure::encode)?))
}

/// Writes calls, each `(name, arguments as JSON, id)`, in a dialect of the engine.
#[pyfunction]
#[pyo3(signature = (
    engine: "Engine",
    dialect,
    calls: "list[tuple[str, str, str | None]]",
    tools: "str | None" = None,
    verify=true,
))]
pub fn encode(
    engine: &Bound<'_, Engine>,
    dialect: &str,
    calls: Vec<(String, String, Option<String>)>,
    tools: Option<&str>,
    verify: bool,
) -> PyResult<String> {
    let core = &engine.get().core;
    let call = |(name, arguments, id)| EncodeCall::new(name, arguments).id(id);
    let calls: Vec<EncodeCall> = calls.into_iter().map(call).collect();
    let mut settings = settings(engine, tools)?;
    settings.verify = verify;
    entry(|| Ok(toolglot::encode(&core.set, dialect, &calls, &settings).map_err(Failure::encode)?))
}

/// Rewrites a transcript from the dialects of one engine into a dialect of another.
#[pyfunction]
#[pyo3(signature = (
    engine: "Engine",
    text: "str | bytes | bytearray | memoryview",
    to: "Engine",
    dialect,
    tools: "str | None" = None,
    keep=false,
    finish="stop",
) -> "str | bytes")]
#[allow(clippy::too_many_arguments)]
pub fn transcode(
    py: Python<'_>,
    engine: &Bound<'_, Engine>,
    text: &Bound<'_, PyAny>,
    to: &Bound<'_, Engine>,
    dialect: &str,
    tools: Option<&str>,
    keep: bool,
    finish: &str,
) -> PyResult<Py<PyAny>> {
    let settings = settings(engine, tools)?;
    let finish = options::finish(finish)?;
    let chunk = Chunk::of(text, "text")?;
    let (from, to) = (&engine.get().core.set, &to.get().core.set);
    let out = chunk::run(py, &chunk, |bytes| {
        caught(|| {
            let encoder = Encoder::new(to, dialect).map_err(Failure::encode)?;
            let mut coder = Transcoder::new(from, encoder, settings);
            coder.keep = keep;
            coder.finish = finish;
            coder.run(bytes).map_err(Failure::encode)
        })
    })??;
    Ok(alike(py, &chunk, &out))
}

fn settings(engine: &Bound<'_, Engine>, tools: Option<&str>) -> PyResult<EncodeOptions> {
    let own = &engine.get().core.options;
    let mut settings = EncodeOptions::default();
    settings.limits = own.limits.clone();
    settings.tools = match tools {
        Some(json) => Some(options::tools(json)?),
        None => own.tools.clone(),
    };
    Ok(settings)
}

/// The evidence for one dialect in a text.
#[pyclass(frozen, get_all, module = "toolglot")]
#[derive(Debug)]
pub struct Evidence {
    /// Its id.
    dialect: String,
    /// Its title.
    title: String,
    /// `"strong"`, `"fair"`, `"weak"` or `"faint"`.
    confidence: String,
    /// The evidence, in one sentence.
    reason: String,
    /// The number of calls that are well formed and closed.
    complete: usize,
    /// The number of calls that were recovered.
    recovered: usize,
    /// The number of blocks that broke or were truncated.
    broken: usize,
    /// Where the evidence is, as `(start, end)`.
    spans: Vec<(u64, u64)>,
    /// Whether the default set reads calls of the input as this dialect.
    chosen: bool,
    /// Whether it belongs to the default set.
    in_default_set: bool,
    /// The group of dialects with the same markup; an engine can hold only one of them.
    group: Option<String>,
    /// The dialect whose blocks include all blocks of this one.
    inside: Option<String>,
}

#[pymethods]
impl Evidence {
    fn __repr__(&self) -> String {
        format!(
            "<toolglot.Evidence {}: {} ({})>",
            self.dialect, self.confidence, self.reason
        )
    }
}

/// Returns the built-in dialects that a text shows evidence of, strongest first. Give `tools` if you can: without them,
/// dialects whose tags are tool names, or that have no marker, show nothing.
///
/// ```
/// >>> import toolglot
/// >>> found = toolglot.detect('<tool_call name="f"><param name="a">1</param></tool_call>')
/// >>> found[0].dialect, found[0].confidence
/// ('tool-call-xml', 'strong')
///
/// ```
#[pyfunction]
#[pyo3(signature = (text: "str | bytes | bytearray | memoryview", tools: "str | Iterable[Any] | None" = None))]
pub fn detect(
    py: Python<'_>,
    text: &Bound<'_, PyAny>,
    tools: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Evidence>> {
    static DETECTOR: OnceLock<Detector> = OnceLock::new();
    let mut options = Options::default();
    options.tools = tools_of(py, tools)?;
    let chunk = Chunk::of(text, "text")?;
    let bytes: &[u8] = &chunk;
    // Every dialect reads the text, so this takes long even for short text.
    let found = py.detach(|| {
        caught(|| {
            DETECTOR
                .get_or_init(Detector::builtin)
                .detect(bytes, &options)
        })
    })?;
    let evidence = |one: toolglot::Evidence| Evidence {
        confidence: one.confidence.name().to_owned(),
        spans: one
            .spans
            .iter()
            .map(|span| (span.start, span.end))
            .collect(),
        dialect: one.dialect,
        title: one.title,
        reason: one.reason,
        complete: one.complete,
        recovered: one.recovered,
        broken: one.broken,
        chosen: one.chosen,
        in_default_set: one.in_default_set,
        group: one.group,
        inside: one.inside,
    };
    Ok(found.into_iter().map(evidence).collect())
}

/// The description of a dialect.
#[pyclass(frozen, get_all, module = "toolglot")]
#[derive(Debug)]
pub struct Dialect {
    /// Its id.
    id: String,
    /// Its title.
    title: String,
    /// The family of its body.
    family: String,
    /// Other names that it accepts.
    aliases: Vec<String>,
    /// Which models or programs write it.
    models: Vec<String>,
    /// The sources of its rules.
    sources: Vec<String>,
    /// Whether it belongs to the default set.
    in_default_set: bool,
    /// The group of dialects with the same markup; an engine can hold only one of them.
    group: Option<String>,
    /// Its switches, and whether each takes a value.
    switches: Vec<(String, bool)>,
    /// The markers that open its blocks; a tag is shown up to its name.
    openers: Vec<String>,
    /// The markers that close its blocks.
    closers: Vec<String>,
    /// The markers that open its reasoning.
    reasoning_openers: Vec<String>,
    /// The markers that close its reasoning.
    reasoning_closers: Vec<String>,
}

#[pymethods]
impl Dialect {
    fn __repr__(&self) -> String {
        format!("<toolglot.Dialect {}: {}>", self.id, self.title)
    }
}

/// Describes the dialects of an engine; without one, all built-in dialects.
///
/// ```
/// >>> import toolglot
/// >>> {dialect.id: dialect for dialect in toolglot.dialects()}["vcp"].family
/// 'key-quote'
///
/// ```
#[pyfunction]
#[pyo3(signature = (engine: "Engine | None" = None))]
pub fn dialects(engine: Option<&Bound<'_, Engine>>) -> PyResult<Vec<Dialect>> {
    let info = |dialect: &toolglot::Dialect| Dialect {
        id: dialect.id().to_owned(),
        title: dialect.title().to_owned(),
        family: dialect.family().to_owned(),
        aliases: dialect.aliases().to_vec(),
        models: dialect.models().to_vec(),
        sources: dialect.sources().to_vec(),
        in_default_set: dialect.in_default_set(),
        group: dialect.group().map(str::to_owned),
        switches: dialect
            .switches()
            .map(|(name, valued)| (name.to_owned(), valued))
            .collect(),
        openers: dialect.openers(),
        closers: dialect.closers(),
        reasoning_openers: dialect.reasoning_openers(),
        reasoning_closers: dialect.reasoning_closers(),
    };
    entry(|| match engine {
        Some(engine) => Ok(engine.get().core.set.dialects().map(info).collect()),
        None => {
            let mut out = vec![];
            for (id, _) in toolglot::builtin_files() {
                let set = DialectSet::builtin(id).map_err(Failure::dialect)?;
                out.extend(set.dialects().map(info));
            }
            Ok(out)
        }
    })
}

/// The built-in dialects of a model; see `model_dialects`.
#[pyclass(frozen, get_all, module = "toolglot")]
#[derive(Debug)]
pub struct ModelDialects {
    /// The dialects of its calls; empty if none is known.
    calls: Vec<&'static str>,
    /// The dialect that reads its reasoning alone.
    reasoning: Option<&'static str>,
    /// Those to read its replies with, which fit in one engine: those of its calls, then that of its reasoning unless they read it.
    all: Vec<&'static str>,
}

/// Guesses which built-in dialects a model writes from its name: the publisher's, a server's or a file's. Fine-tuned
/// models keep names but change formats; `detect` looks at what a model wrote.
///
/// ```
/// >>> import toolglot
/// >>> found = toolglot.model_dialects("Qwen3-8B-Q4_K_M.gguf")
/// >>> found.calls, found.reasoning
/// (['hermes'], 'reasoning-think')
/// >>> toolglot.Engine(found.all).dialects
/// ['hermes', 'reasoning-think']
///
/// ```
#[pyfunction]
pub fn model_dialects(name: &str) -> ModelDialects {
    let found = toolglot::models::dialects(name);
    ModelDialects {
        all: found.all().collect(),
        calls: found.calls,
        reasoning: found.reasoning,
    }
}

/// Returns the TOML file of a built-in dialect, as a starting point for your own.
///
/// ```
/// >>> import toolglot
/// >>> 'id = "vcp"' in toolglot.dialect_toml("vcp")
/// True
///
/// ```
#[pyfunction]
pub fn dialect_toml(id: &str) -> PyResult<&'static str> {
    let found = toolglot::builtin_files()
        .iter()
        .find(|(have, _)| *have == id);
    let none = || Failure::dialect(format!("there is no built-in dialect {id}"));
    Ok(found.map(|(_, text)| *text).ok_or_else(none)?)
}

/// Returns the code, name and usual severity of every kind of issue.
#[pyfunction]
pub fn issue_kinds() -> Vec<(u16, &'static str, &'static str)> {
    let kinds = toolglot::Kind::ALL.iter();
    kinds
        .map(|kind| (kind.code(), kind.name(), kind.severity().name()))
        .collect()
}

type Push = Box<dyn FnMut(&[u8]) + Send>;

struct Masking {
    parser: Parser,
    mask: Mask<Push>,
    out: Arc<Mutex<Vec<u8>>>,
}

impl Masking {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.out.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Removes or replaces calls in a live text, for renderers and logs.
///
/// `calls`, `reasoning` and `protected` say what is written for each: `True` its text, `False` nothing, a `str` that text
/// (for calls, `{tools}` in it is replaced with their names). Everything written is final: a block leaves nothing, or its
/// placeholder, when it ends; one that turns out not to be a block comes back verbatim.
///
/// ```
/// >>> import toolglot
/// >>> mask = toolglot.Mask(toolglot.Engine(), calls="[{tools}]")
/// >>> mask.feed('Now: <tool_call name="f"><param name="a">1</param></tool_call> done.') + mask.finish()
/// 'Now: [f] done.'
///
/// ```
#[pyclass(frozen, module = "toolglot", name = "Mask")]
pub struct PyMask {
    inner: Owned<Masking>,
}

#[pymethods]
impl PyMask {
    #[new]
    #[pyo3(signature = (
        engine: "Engine",
        *,
        calls: "bool | str | None" = None,
        reasoning: "bool | str | None" = None,
        protected: "bool | str | None" = None,
    ))]
    fn new(
        engine: &Bound<'_, Engine>,
        calls: Option<&Bound<'_, PyAny>>,
        reasoning: Option<&Bound<'_, PyAny>>,
        protected: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let out = Arc::<Mutex<Vec<u8>>>::default();
        let write = Arc::clone(&out);
        let push: Push = Box::new(move |bytes: &[u8]| {
            write
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .extend_from_slice(bytes);
        });
        let core = &engine.get().core;
        let parser = core.parser();
        let mask = Mask::new(push)
            .guard_with(&core.set, &core.options)
            .calls(show("calls", calls, Show::Drop)?)
            .reasoning(show("reasoning", reasoning, Show::Keep)?)
            .protected(show("protected", protected, Show::Keep)?);
        Ok(Self {
            inner: Owned::new("mask", Masking { parser, mask, out }),
        })
    }

    /// Takes the next chunk and returns the text that is final.
    #[pyo3(signature = (chunk: "str | bytes | bytearray | memoryview"))]
    fn feed(&self, py: Python<'_>, chunk: &Bound<'_, PyAny>) -> PyResult<String> {
        let chunk = Chunk::of(chunk, "chunk")?;
        let bytes = chunk::run(py, &chunk, |bytes| {
            self.inner.with(|inner| {
                if inner.parser.is_finished() {
                    return Err(Failure::state("the mask is finished"));
                }
                inner.parser.feed(bytes, &mut inner.mask);
                Ok(inner.take())
            })
        })?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Ends the text and returns what was held back.
    #[pyo3(signature = (
        reason: "Literal['stop', 'length', 'tool_calls', 'error', 'cancelled']" = "stop"
    ))]
    fn finish(&self, reason: &str) -> PyResult<String> {
        let reason = options::finish(reason)?;
        let bytes = self.inner.with(|inner| {
            inner.parser.finish(reason, &mut inner.mask);
            Ok(inner.take())
        })?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn __repr__(&self) -> &'static str {
        "<toolglot.Mask>"
    }
}

fn show(what: &str, given: Option<&Bound<'_, PyAny>>, default: Show) -> PyResult<Show> {
    let Some(given) = given else {
        return Ok(default);
    };
    if let Ok(keep) = given.cast::<PyBool>() {
        return Ok(if keep.is_true() {
            Show::Keep
        } else {
            Show::Drop
        });
    }
    match given.cast::<PyString>() {
        Ok(text) => Ok(Show::With(text.to_str()?.to_owned())),
        Err(_) => {
            let class = given.get_type().name()?;
            Err(PyTypeError::new_err(format!(
                "{what}: True, False or a string is needed, not {class}"
            )))
        }
    }
}
