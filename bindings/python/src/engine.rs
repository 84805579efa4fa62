//! The engine: dialects compiled together, and the options of the streams that read them.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyMapping, PyString, PyTuple, PyType};
use toolglot::rewrite::Given;
use toolglot::sink::openai::{Head, Recovered, Settings};
use toolglot::{Collect, DialectSet, Event, Limits, NativeCall, Options, Parser, Sink};

use crate::chunk::{self, Chunk};
use crate::derive::derive;
use crate::events::Issue;
use crate::guard::{Failure, caught, entry};
use crate::options::{self, Config, PyLimits, SetConfig, word};
use crate::reader::{self, Reader, Rewriter, Writing};
use crate::stream::Stream;
use crate::turn::Turn;

/// Recently compiled sets, so that equal engines share one.
static SETS: Mutex<Vec<(SetConfig, DialectSet)>> = Mutex::new(Vec::new());
const KEPT: usize = 16;

/// What all streams of an engine share; cheap to clone.
#[derive(Clone, Debug)]
pub struct Core {
    pub set: DialectSet,
    pub options: Options,
}

impl Core {
    pub fn parser(&self) -> Parser {
        Parser::new(&self.set, self.options.clone())
    }

    pub fn keeps(&self) -> bool {
        self.options.retain == toolglot::Retain::Block
    }
}

/// Dialects compiled together, and the options of streams that read them. An engine is immutable: it can be shared between
/// threads, hashed, compared and pickled.
///
/// `dialects` names built-in dialects: one id, several, `"default"` for all dialects that cannot fire on ordinary prose or
/// code, or `"any"` for whatever an output may contain (calls of declared tools only). `toml` adds your own dialects, as the
/// text of their files (a mapping gives them names for error messages). Without either, the engine has the default set.
///
/// ```
/// >>> import toolglot
/// >>> engine = toolglot.Engine("tool-call-xml")
/// >>> turn = engine.parse('Now: <tool_call name="f"><param name="a">1</param></tool_call>')
/// >>> turn.text, turn.calls[0].name, turn.calls[0].arguments
/// ('Now: ', 'f', {'a': '1'})
///
/// ```
#[pyclass(frozen, module = "toolglot")]
pub struct Engine {
    pub core: Core,
    config: Config,
    text: String,
}

#[pymethods]
impl Engine {
    /// Compiles an engine. Equal sets of dialects are compiled once and shared.
    ///
    /// Raises `DialectError` for an unusable dialect or switch, `ToolsError` for unusable tools, `ValueError` for an unusable option.
    #[new]
    #[pyo3(signature = (
        dialects: "str | Iterable[str] | None" = None,
        *,
        toml: "str | Iterable[str] | Mapping[str, str] | None" = None,
        switches: "Iterable[str] | None" = None,
        tools: "str | Iterable[Any] | None" = None,
        limits: "Limits | Mapping[str, int] | None" = None,
        retain: "Literal['block', 'none']" = "block",
        prefer: "Literal['text', 'native', 'both']" = "text",
        reasoning: "Literal['split', 'off', 'text']" = "split",
        calls_in_reasoning=false,
        trusted_only=false,
        fence: "Literal['skip', 'allow'] | None" = None,
        unclosed: "Literal['drop', 'text', 'salvage'] | None" = None,
        untyped: "Literal['string', 'json'] | None" = None,
        broken: "Literal['text', 'drop']" = "text",
        start: "Literal['dialect', 'text', 'reasoning']" = "dialect",
        unknown_tool: "Literal['deliver', 'text', 'drop'] | None" = None,
        tool_choice: "str | Mapping[str, Any] | None" = None,
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        dialects: Option<Bound<'_, PyAny>>,
        toml: Option<Bound<'_, PyAny>>,
        switches: Option<Bound<'_, PyAny>>,
        tools: Option<Bound<'_, PyAny>>,
        limits: Option<Bound<'_, PyAny>>,
        retain: &str,
        prefer: &str,
        reasoning: &str,
        calls_in_reasoning: bool,
        trusted_only: bool,
        fence: Option<&str>,
        unclosed: Option<&str>,
        untyped: Option<&str>,
        broken: &str,
        start: &str,
        unknown_tool: Option<&str>,
        tool_choice: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let switches = strings("switches", switches.as_ref())?;
        let mut switches = switches
            .iter()
            .map(|text| options::switch(text))
            .collect::<PyResult<Vec<_>>>()?;
        switches.sort();
        switches.dedup();
        let toml = toml.as_ref().map(files).transpose()?.unwrap_or_default();
        let mut dialects = strings("dialects", dialects.as_ref())?;
        for id in &mut dialects {
            if id == "auto" {
                "default".clone_into(id);
            }
        }
        if dialects.is_empty() && toml.is_empty() {
            dialects.push("default".to_owned());
        }
        let mut options = Options::default();
        if let Some(given) = &limits {
            options.limits = limits_of(py, given)?;
        }
        options.retain = word("retain", retain)?;
        options.prefer = word("prefer", prefer)?;
        options.reasoning = word("reasoning", reasoning)?;
        options.calls_in_reasoning = calls_in_reasoning;
        options.trusted_only = trusted_only;
        options.fence = fence.map(|text| word("fence", text)).transpose()?;
        options.unclosed = unclosed.map(|text| word("unclosed", text)).transpose()?;
        options.untyped = untyped.map(|text| word("untyped", text)).transpose()?;
        options.broken = word("broken", broken)?;
        options.start = options::start(start)?;
        let fate = |text| word("unknown_tool", text);
        options.unknown_tool = unknown_tool.map(fate).transpose()?;
        if let Some(choice) = &tool_choice {
            options.tool_choice = options::tool_choice(&choice_json(py, choice)?)?;
        }
        let config = Config {
            set: SetConfig {
                dialects,
                toml,
                switches,
            },
            tools: tools
                .as_ref()
                .map(|tools| tools_json(py, tools))
                .transpose()?,
            options,
        };
        Self::build(config)
    }

    /// Compiles the dialects that read what a chat template writes. `template`, `variables` and `own` are as for `derive`,
    /// `options` those of `Engine` except `dialects` and `toml`.
    ///
    /// Raises `DialectError` if the template is invalid, writes no calls, or no dialect reads what it writes.
    #[classmethod]
    #[pyo3(signature = (
        template: "str | bytes | PathLike[str]",
        *,
        variables: "Mapping[str, Any] | None" = None,
        own=false,
        **options: "Any",
    ) -> "Engine")]
    fn for_template(
        cls: &Bound<'_, PyType>,
        template: &Bound<'_, PyAny>,
        variables: Option<&Bound<'_, PyAny>>,
        own: bool,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let py = cls.py();
        derive(py, template, variables, own, "derived")?.engine(py, options)
    }

    /// Returns the same engine with other options; dialects, `toml` and `switches` stay.
    ///
    /// ```
    /// >>> import toolglot
    /// >>> engine = toolglot.Engine("reasoning-think").replace(start="reasoning")
    /// >>> engine.parse("hm</think>yes").reasoning
    /// 'hm'
    ///
    /// ```
    #[pyo3(signature = (**options: "Any") -> "Engine")]
    fn replace(slf: &Bound<'_, Self>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let own = slf.get();
        let config = &own.config;
        let fixed = ["dialects", "toml", "switches"];
        let text = serde_json::to_string(&config.options).map_err(Failure::internal)?;
        let all = py.import("json")?.call_method1("loads", (text,))?;
        let all = all.cast_into::<PyDict>()?;
        for not_of_an_engine in ["text", "prompt_tail"] {
            all.del_item(not_of_an_engine)?;
        }
        all.set_item("dialects", &config.set.dialects)?;
        let toml = PyDict::new(py);
        for (origin, text) in &config.set.toml {
            toml.set_item(origin, text)?;
        }
        all.set_item("toml", toml)?;
        let switches = config
            .set
            .switches
            .iter()
            .map(|(dialect, name)| format!("{dialect}.{name}"));
        all.set_item("switches", PyList::new(py, switches.collect::<Vec<_>>())?)?;
        all.set_item("tools", &config.tools)?;
        for (key, value) in options.into_iter().flatten() {
            let name = key.cast::<PyString>()?.to_string();
            if fixed.contains(&name.as_str()) {
                let why = format!("replace() changes options, not {name}; make a new Engine");
                return Err(PyTypeError::new_err(why));
            }
            all.set_item(key, value)?;
        }
        Ok(slf.get_type().call((), Some(&all))?.unbind())
    }

    /// Opens a stream, which parses the output of one model turn. `start` and `tools` replace the engine's own. `prompt_tail` is
    /// the prompt, or the end of it: if its last 4 KiB open something (a thought, a header, a call), the output continues it.
    ///
    /// ```
    /// >>> import toolglot
    /// >>> with toolglot.Engine("tool-call-xml").stream() as stream:
    /// ...     events = stream.feed('Hi <tool')
    /// >>> events, stream.tail
    /// ([Text(text='Hi ', start=0, end=3, recovered=False)], [Text(text='<tool', start=3, end=8, recovered=False)])
    ///
    /// ```
    #[pyo3(signature = (
        *,
        start: "Literal['dialect', 'text', 'reasoning'] | None" = None,
        prompt_tail: "str | None" = None,
        tools: "str | Iterable[Any] | None" = None,
        tool_choice: "str | Mapping[str, Any] | None" = None,
    ))]
    fn stream(
        slf: &Bound<'_, Self>,
        start: Option<&str>,
        prompt_tail: Option<&str>,
        tools: Option<Bound<'_, PyAny>>,
        tool_choice: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Stream> {
        let core = slf
            .get()
            .core_with(slf.py(), start, prompt_tail, tools, tool_choice)?;
        entry(|| Ok(Stream::new(slf.clone().unbind(), core)))
    }

    /// Restores a stream from a snapshot. `start`, `prompt_tail` and `tools` must be those of the original stream.
    ///
    /// Raises `SnapshotError` if the snapshot is damaged, or comes from another engine, other options or another version.
    #[pyo3(signature = (
        snapshot: "bytes",
        *,
        start: "Literal['dialect', 'text', 'reasoning'] | None" = None,
        prompt_tail: "str | None" = None,
        tools: "str | Iterable[Any] | None" = None,
        tool_choice: "str | Mapping[str, Any] | None" = None,
    ))]
    fn restore(
        slf: &Bound<'_, Self>,
        snapshot: &[u8],
        start: Option<&str>,
        prompt_tail: Option<&str>,
        tools: Option<Bound<'_, PyAny>>,
        tool_choice: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Stream> {
        let core = slf
            .get()
            .core_with(slf.py(), start, prompt_tail, tools, tool_choice)?;
        entry(|| Ok(Stream::restore(slf.clone().unbind(), core, snapshot)?))
    }

    /// Parses a whole output and returns the turn.
    ///
    /// `native_calls` are the API tool calls of the output: an OpenAI `tool_calls` array, or its JSON text. `guard` escapes the
    /// turn's text so that another reader of this engine's dialects finds no call in it; use it if you forward the text without the
    /// calls. By default the text is verbatim. `original` keeps everything the model wrote, markup included, as `Turn.original`.
    #[pyo3(signature = (
        text: "str | bytes | bytearray | memoryview",
        *,
        finish: "Literal['stop', 'length', 'tool_calls', 'error', 'cancelled']" = "stop",
        native_calls: "str | Iterable[Any] | None" = None,
        start: "Literal['dialect', 'text', 'reasoning'] | None" = None,
        prompt_tail: "str | None" = None,
        tools: "str | Iterable[Any] | None" = None,
        tool_choice: "str | Mapping[str, Any] | None" = None,
        guard=false,
        original=false,
    ))]
    // The keyword arguments of a Python method.
    #[allow(clippy::too_many_arguments)]
    fn parse(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        finish: &str,
        native_calls: Option<Bound<'_, PyAny>>,
        start: Option<&str>,
        prompt_tail: Option<&str>,
        tools: Option<Bound<'_, PyAny>>,
        tool_choice: Option<Bound<'_, PyAny>>,
        guard: bool,
        original: bool,
    ) -> PyResult<Turn> {
        let core = self.core_with(py, start, prompt_tail, tools, tool_choice)?;
        let finish = options::finish(finish)?;
        let native = native_calls
            .as_ref()
            .map(|calls| native(py, calls))
            .transpose()?
            .unwrap_or_default();
        let chunk = Chunk::of(text, "text")?;
        let (turn, issues) = chunk::run(py, &chunk, |bytes| {
            caught(|| {
                let mut sink = Whole::default();
                if guard {
                    sink.turn = Collect::new().guard_with(&core.set, &core.options);
                }
                if original {
                    sink.turn = std::mem::take(&mut sink.turn).keep_original();
                }
                let mut parser = core.parser();
                parser.feed(bytes, &mut sink);
                native
                    .iter()
                    .for_each(|call| parser.native_call(call, &mut sink));
                parser.finish(finish, &mut sink);
                let issues = &mut sink.issues;
                let tools = core.options.hinted();
                sink.turn.hints(tools, |issue| issues.push(issue.into()));
                (sink.turn.turn(), sink.issues)
            })
        })?;
        Turn::new(py, turn, issues, crate::stream::odd(&core.options))
    }

    /// Creates a reader for response bodies of model servers. `source` is `"openai"`, `"anthropic"` or `"ollama"`; `choice` is
    /// the index of the choice to read from an OpenAI response.
    #[pyo3(signature = (
        source: "Literal['openai', 'anthropic', 'ollama']",
        *,
        choice=0,
        start: "Literal['dialect', 'text', 'reasoning'] | None" = None,
        prompt_tail: "str | None" = None,
        tools: "str | Iterable[Any] | None" = None,
        tool_choice: "str | Mapping[str, Any] | None" = None,
    ))]
    #[allow(clippy::too_many_arguments)]
    fn reader(
        &self,
        py: Python<'_>,
        source: &str,
        choice: u64,
        start: Option<&str>,
        prompt_tail: Option<&str>,
        tools: Option<Bound<'_, PyAny>>,
        tool_choice: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Reader> {
        let core = self.core_with(py, start, prompt_tail, tools, tool_choice)?;
        entry(|| Reader::new(&core, source, choice))
    }

    /// Creates a rewriter, which turns text (`source="text"`) or responses of model servers into OpenAI chat completion chunks.
    ///
    /// `calls` says when calls are sent: `"live"` while the model writes them (the last `}` waits until the call is committed),
    /// or `"close"` when their block has closed. `recovered` calls are withheld unless this is `True`. `reasoning` names the
    /// member that holds reasoning; `None` or an empty name leaves reasoning out. `forced` says that the host forced a tool by
    /// name, so the finish reason stays `stop`.
    ///
    /// `model`, `id` and `created` override what an OpenAI-shaped response says; if neither gives an id or a time, one is
    /// generated. Of such a response all choices are rewritten, or only the one that `choice` names. Calls without an id get
    /// one derived from `id_seed`: the same seed gives the same ids. Without a seed, ids differ from response to response.
    #[pyo3(signature = (
        source: "Literal['text', 'openai', 'anthropic', 'ollama']" = "text",
        *,
        model: "str | None" = None,
        id: "str | None" = None,
        created: "int | None" = None,
        choice: "int | None" = None,
        calls: "Literal['live', 'close']" = "live",
        recovered=false,
        reasoning: "str | None" = "reasoning_content",
        protected=false,
        forced=false,
        id_prefix="call_",
        id_seed: "int | None" = None,
        start: "Literal['dialect', 'text', 'reasoning'] | None" = None,
        prompt_tail: "str | None" = None,
        tools: "str | Iterable[Any] | None" = None,
        tool_choice: "str | Mapping[str, Any] | None" = None,
    ))]
    #[allow(clippy::too_many_arguments)]
    fn rewriter(
        &self,
        py: Python<'_>,
        source: &str,
        model: Option<&str>,
        id: Option<&str>,
        created: Option<u64>,
        choice: Option<u32>,
        calls: &str,
        recovered: bool,
        reasoning: Option<&str>,
        protected: bool,
        forced: bool,
        id_prefix: &str,
        id_seed: Option<u64>,
        start: Option<&str>,
        prompt_tail: Option<&str>,
        tools: Option<Bound<'_, PyAny>>,
        tool_choice: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Rewriter> {
        use toolglot::sink::openai::Calls;
        let core = self.core_with(py, start, prompt_tail, tools, tool_choice)?;
        let mut writing = writing(py, Said { model, id, created }, id_seed)?;
        writing.choice = choice;
        writing.head.choice = choice.unwrap_or(0);
        let settings = &mut writing.settings;
        settings.calls = match calls {
            "live" => Calls::Live,
            "close" => Calls::AtClose,
            other => {
                return Err(PyValueError::new_err(format!(
                    "calls='{other}': it is one of 'live', 'close'"
                )));
            }
        };
        settings.recovered = rule(recovered);
        settings.reasoning = member(reasoning);
        settings.protected = protected;
        settings.forced = forced;
        id_prefix.clone_into(&mut settings.id_prefix);
        entry(|| Rewriter::new(&core, source, writing))
    }

    /// Returns one OpenAI `chat.completion` object, as JSON text, for an output (text, or a `Turn`) or for a whole response of
    /// a server (`source`). `to_completion` returns it as a `dict`. The options are those of `rewriter`.
    ///
    /// ```
    /// >>> import json, toolglot
    /// >>> text = toolglot.Engine().completion('<tool_call name="f"><param name="a">1</param></tool_call>', id_seed=7)
    /// >>> json.loads(text)["choices"][0]["message"]["tool_calls"][0]["function"]
    /// {'name': 'f', 'arguments': '{"a":"1"}'}
    ///
    /// ```
    #[pyo3(signature = (
        output: "str | bytes | bytearray | memoryview | Turn",
        source: "Literal['text', 'openai', 'anthropic', 'ollama']" = "text",
        *,
        finish: "Literal['stop', 'length', 'tool_calls', 'error', 'cancelled'] | None" = None,
        model: "str | None" = None,
        id: "str | None" = None,
        created: "int | None" = None,
        recovered=false,
        reasoning: "str | None" = "reasoning_content",
        forced=false,
        id_prefix="call_",
        id_seed: "int | None" = None,
        start: "Literal['dialect', 'text', 'reasoning'] | None" = None,
        prompt_tail: "str | None" = None,
        tools: "str | Iterable[Any] | None" = None,
        tool_choice: "str | Mapping[str, Any] | None" = None,
    ))]
    #[allow(clippy::too_many_arguments)]
    fn completion(
        &self,
        py: Python<'_>,
        output: &Bound<'_, PyAny>,
        source: &str,
        finish: Option<&str>,
        model: Option<&str>,
        id: Option<&str>,
        created: Option<u64>,
        recovered: bool,
        reasoning: Option<&str>,
        forced: bool,
        id_prefix: &str,
        id_seed: Option<u64>,
        start: Option<&str>,
        prompt_tail: Option<&str>,
        tools: Option<Bound<'_, PyAny>>,
        tool_choice: Option<Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let core = self.core_with(py, start, prompt_tail, tools, tool_choice)?;
        let finish = finish.map(options::finish).transpose()?;
        let mut writing = writing(py, Said { model, id, created }, id_seed)?;
        let settings = &mut writing.settings;
        settings.recovered = rule(recovered);
        settings.reasoning = member(reasoning);
        settings.forced = forced;
        id_prefix.clone_into(&mut settings.id_prefix);
        if let Ok(turn) = output.cast::<Turn>() {
            let turn = turn.get().engine()?;
            return entry(|| Ok(reader::written(&turn, &writing, finish.unwrap_or_default())));
        }
        let data = Chunk::of(output, "output")?;
        chunk::run(py, &data, |bytes| {
            caught(|| reader::completion(&core, source, writing, bytes, finish))
        })?
    }

    /// Problems in the list of its tools, one sentence each: what was left out or ignored, and where.
    #[getter]
    fn tool_issues(&self) -> Vec<String> {
        crate::stream::odd(&self.core.options)
    }

    /// The ids of its dialects, in order.
    #[getter]
    fn dialects(&self) -> Vec<String> {
        self.core.set.ids().map(str::to_owned).collect()
    }

    /// The names of its tools, in order.
    #[getter]
    fn tools(&self) -> Vec<String> {
        let tools = self.core.options.tools.iter();
        tools
            .flat_map(|tools| tools.names())
            .map(str::to_owned)
            .collect()
    }

    /// Its limits.
    #[getter]
    fn limits(&self) -> PyLimits {
        PyLimits {
            limits: self.core.options.limits.clone(),
        }
    }

    /// The maximum number of bytes of text that a stream ever holds back.
    #[getter]
    fn bound(&self) -> PyResult<usize> {
        entry(|| Ok(self.core.set.bound(&self.core.options.limits)))
    }

    /// Warnings about dialects that work but may surprise, one sentence each.
    #[getter]
    fn lints(&self) -> PyResult<Vec<String>> {
        entry(|| {
            Ok(self
                .core
                .set
                .lints()
                .iter()
                .map(ToString::to_string)
                .collect())
        })
    }

    /// The complete configuration, as one text: equal engines have equal texts, in every process.
    #[getter]
    fn config(&self) -> &str {
        &self.text
    }

    #[staticmethod]
    fn _from_config(config: &str) -> PyResult<Self> {
        let config = serde_json::from_str(config);
        let config = config.map_err(|error| {
            PyValueError::new_err(format!("not a config of an Engine: {error}"))
        })?;
        Self::build(config)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other
            .cast::<Self>()
            .is_ok_and(|other| other.get().text == self.text)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.text.hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        let dialects = self.dialects();
        match dialects.len() {
            0..=4 => format!("<toolglot.Engine of {}>", dialects.join(", ")),
            some => format!("<toolglot.Engine of {some} dialects>"),
        }
    }

    #[pyo3(signature = () -> "Engine")]
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (_memo: "Any", /) -> "Engine")]
    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = () -> "tuple[object, ...]")]
    fn __reduce__(&self, py: Python<'_>) -> PyResult<Py<PyTuple>> {
        let load = py.get_type::<Self>().getattr("_from_config")?;
        Ok((load, (self.text.as_str(),)).into_pyobject(py)?.unbind())
    }
}

/// What a caller sets on a response; an empty text sets nothing.
struct Said<'a> {
    model: Option<&'a str>,
    id: Option<&'a str>,
    created: Option<u64>,
}

/// How to write a response. An id or time that is not given is generated here: the engine has no clock and no randomness.
fn writing(py: Python<'_>, said: Said<'_>, seed: Option<u64>) -> PyResult<Writing> {
    let fresh = py
        .import("toolglot._support")?
        .call_method1("fresh", (seed,))?;
    let (made, now, fresh): (String, u64, u64) = fresh.extract()?;
    let text = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(str::to_owned);
    let given = Given::default()
        .id(text(said.id))
        .created(said.created)
        .model(text(said.model));
    let head = Head::default()
        .id(given.id.clone().unwrap_or(made))
        .created(said.created.unwrap_or(now))
        .model(given.model.clone().unwrap_or_default())
        .choice(0);
    let mut settings = Settings::default();
    settings.id_seed = fresh;
    Ok(Writing {
        head,
        given,
        choice: None,
        settings,
    })
}

/// The member that holds reasoning, if any.
fn member(name: Option<&str>) -> Option<String> {
    name.filter(|name| !name.is_empty()).map(str::to_owned)
}

fn rule(recovered: bool) -> Recovered {
    match recovered {
        true => Recovered::Deliver,
        false => Recovered::Withhold,
    }
}

impl Engine {
    fn build(config: Config) -> PyResult<Self> {
        let options = config.options()?;
        let set = caught(|| compiled(&config.set))??;
        let text = serde_json::to_string(&config).map_err(Failure::internal)?;
        Ok(Self {
            core: Core { set, options },
            config,
            text,
        })
    }

    /// Its core, with a stream's own `start` and tools.
    fn core_with(
        &self,
        py: Python<'_>,
        start: Option<&str>,
        prompt_tail: Option<&str>,
        tools: Option<Bound<'_, PyAny>>,
        tool_choice: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Core> {
        let mut core = self.core.clone();
        if let Some(start) = start {
            core.options.start = options::start(start)?;
        }
        if let Some(prompt) = prompt_tail {
            core.options.set_prompt_tail(prompt.as_bytes());
        }
        if let Some(tools) = tools {
            core.options.tools = Some(options::tools(&tools_json(py, &tools)?)?);
        }
        if let Some(choice) = tool_choice {
            core.options.tool_choice = options::tool_choice(&choice_json(py, &choice)?)?;
        }
        Ok(core)
    }
}

/// Returns the compiled set, from the cache if possible.
fn compiled(config: &SetConfig) -> Result<DialectSet, Failure> {
    let find = |sets: &mut Vec<(SetConfig, DialectSet)>| {
        let place = sets.iter().position(|(have, _)| have == config)?;
        let found = sets.remove(place);
        let set = found.1.clone();
        sets.push(found);
        Some(set)
    };
    let lock = || SETS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(set) = find(&mut lock()) {
        return Ok(set);
    }
    let mut builder = DialectSet::builder();
    for (origin, text) in &config.toml {
        builder = builder.toml(origin, text);
    }
    for id in config.dialects.iter().filter(|id| *id != "default") {
        builder = builder.builtin(id);
    }
    if config.dialects.iter().any(|id| id == "default") {
        builder = builder.defaults();
    }
    for (dialect, name) in &config.switches {
        builder = builder.switch(dialect, name);
    }
    let set = builder.build().map_err(Failure::dialect)?;
    let mut sets = lock();
    if sets.len() == KEPT {
        sets.remove(0);
    }
    sets.push((config.clone(), set.clone()));
    Ok(set)
}

/// A turn, with issues as Python has them.
#[derive(Default)]
struct Whole {
    turn: Collect,
    issues: Vec<Issue>,
}

impl Sink for Whole {
    fn event(&mut self, event: Event<'_>) {
        if let Event::Issue(issue) = &event {
            self.issues.push(issue.into());
        }
        self.turn.event(event);
    }

    fn finished(&mut self) {
        self.turn.finished();
    }
}

/// One string or several; `None` means an empty list.
fn strings(what: &str, given: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<String>> {
    let Some(given) = given else {
        return Ok(vec![]);
    };
    if let Ok(one) = given.cast::<PyString>() {
        return Ok(vec![one.to_str()?.to_owned()]);
    }
    let wrong = |object: &Bound<'_, PyAny>| {
        let class = object
            .get_type()
            .name()
            .map_or_else(|_| String::new(), |name| name.to_string());
        PyTypeError::new_err(format!(
            "{what}: a string or several are needed, not {class}"
        ))
    };
    let items = given.try_iter().map_err(|_| wrong(given))?;
    items
        .map(|item| {
            let item = item?;
            let text = item.cast::<PyString>().map_err(|_| wrong(&item))?;
            Ok(text.to_str()?.to_owned())
        })
        .collect()
}

/// Dialect files: `(origin, text)`.
fn files(given: &Bound<'_, PyAny>) -> PyResult<Vec<(String, String)>> {
    if let Ok(map) = given.cast::<PyMapping>() {
        return map.items()?.iter().map(|item| item.extract()).collect();
    }
    let texts = strings("toml", Some(given))?;
    let numbered = texts.into_iter().enumerate();
    Ok(numbered
        .map(|(index, text)| (format!("toml[{index}]"), text))
        .collect())
}

fn limits_of(py: Python<'_>, given: &Bound<'_, PyAny>) -> PyResult<Limits> {
    if let Ok(limits) = given.cast::<PyLimits>() {
        return Ok(limits.get().limits.clone());
    }
    let Ok(map) = given.cast::<PyMapping>() else {
        let class = given.get_type().name()?;
        let why = format!("limits: Limits or a mapping of names to numbers is needed, not {class}");
        return Err(PyTypeError::new_err(why));
    };
    let names = PyDict::new(py);
    names.update(map)?;
    let made = py.get_type::<PyLimits>().call((), Some(&names))?;
    Ok(made.cast::<PyLimits>()?.get().limits.clone())
}

/// The `tool_choice` of a request: a word, or any other value as JSON.
fn choice_json(py: Python<'_>, given: &Bound<'_, PyAny>) -> PyResult<String> {
    match given.cast::<PyString>() {
        Ok(text) => Ok(text.to_str()?.to_owned()),
        Err(_) => py
            .import("json")?
            .call_method1("dumps", (given,))?
            .extract(),
    }
}

/// Tools as JSON text.
pub fn tools_json(py: Python<'_>, tools: &Bound<'_, PyAny>) -> PyResult<String> {
    support(py, "tools_json", tools)
}

fn native(py: Python<'_>, calls: &Bound<'_, PyAny>) -> PyResult<Vec<NativeCall>> {
    let text = support(py, "native_json", calls)?;
    let wrong = |error: toolglot::NativeCallError| PyValueError::new_err(error.to_string());
    caught(|| NativeCall::from_json(&text))?.map_err(wrong)
}

fn support(py: Python<'_>, function: &str, object: &Bound<'_, PyAny>) -> PyResult<String> {
    py.import("toolglot._support")?
        .call_method1(function, (object,))?
        .extract()
}

/// The tools of a Python argument, as the engine takes them.
pub fn tools_of(
    py: Python<'_>,
    tools: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Arc<toolglot::Tools>>> {
    tools
        .map(|tools| options::tools(&tools_json(py, tools)?))
        .transpose()
}
