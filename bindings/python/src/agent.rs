//! Agents, runs and responses. Input and output are JSON, as `toolglot_agent` writes it; `toolglot._agent` turns it into
//! Python objects.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use toolglot::source::{Anthropic, Ollama, OpenAi};
use toolglot_agent::{Agent, FormError, Response, Run, RunError, Said, Step, Told, Waits};

use crate::chunk::Chunk;
use crate::engine::Engine;
use crate::guard::{Failure, caught, entry};
use crate::stream::Owned;

fn form_error(error: FormError) -> PyErr {
    match error {
        FormError::Tools(_) | FormError::Registry(_) | FormError::Callable(_) => {
            Failure::tools(error).into()
        }
        FormError::Agent(_) => Failure::dialect(error).into(),
        _ => PyValueError::new_err(error.to_string()),
    }
}

fn run_error(error: RunError) -> Failure {
    match error {
        RunError::Saved(_) => Failure::snapshot(error),
        _ => Failure::state(error),
    }
}

fn told(text: &str) -> PyResult<Told> {
    serde_json::from_str(text)
        .map_err(|error| PyValueError::new_err(format!("this cannot be told: {error}")))
}

/// What the runs of an agent share. `toolglot.Agent` is built on it.
#[pyclass(frozen, module = "toolglot._native")]
pub struct AgentCore {
    agent: Agent,
}

#[pymethods]
impl AgentCore {
    /// Reads an agent from JSON text. Dialects and limits are those of the engine.
    #[new]
    fn new(engine: &Engine, form: &str) -> PyResult<Self> {
        let core = &engine.core;
        let agent = caught(|| Agent::from_json(&core.set, form))?.map_err(form_error)?;
        Ok(Self {
            agent: agent.options(core.options.clone()),
        })
    }

    /// Starts a run that continues a conversation: the JSON text of a list of messages.
    fn run(&self, messages: &str) -> PyResult<RunCore> {
        let messages = serde_json::from_str(messages)
            .map_err(|error| PyValueError::new_err(format!("messages: {error}")))?;
        entry(|| Ok(RunCore::of(self.agent.run_with(messages))))
    }

    /// Starts a run of a workflow: the JSON text of a list of steps.
    fn steps(&self, steps: &str) -> PyResult<RunCore> {
        let steps: Vec<Step> = serde_json::from_str(steps)
            .map_err(|error| PyValueError::new_err(format!("steps: {error}")))?;
        entry(|| Ok(RunCore::of(self.agent.steps(&steps))))
    }

    /// Restores a saved run.
    fn restore(&self, saved: &str) -> PyResult<RunCore> {
        entry(|| {
            let run = Run::restore(&self.agent, saved).map_err(run_error)?;
            Ok(RunCore::of(run))
        })
    }
}

/// A run. `toolglot.Run` is built on it.
#[pyclass(frozen, module = "toolglot._native")]
pub struct RunCore {
    run: Owned<Run>,
}

impl RunCore {
    fn of(run: Run) -> Self {
        Self {
            run: Owned::new("run", run),
        }
    }

    fn with<T>(&self, look: impl FnOnce(&mut Run) -> Result<T, Failure>) -> PyResult<T> {
        Ok(self.run.with(look)?)
    }
}

#[pymethods]
impl RunCore {
    /// Feeds a piece of the model's text.
    #[pyo3(signature = (chunk: "str | bytes | bytearray | memoryview"))]
    fn model(&self, chunk: &Bound<'_, PyAny>) -> PyResult<()> {
        let chunk = Chunk::of(chunk, "chunk")?;
        self.with(|run| run.model(&chunk).map_err(run_error))
    }

    /// Passes in anything else that happened, as JSON.
    fn tell(&self, what: &str) -> PyResult<()> {
        let told = told(what)?;
        self.with(|run| run.tell(told).map_err(run_error))
    }

    /// Returns the next instruction, as JSON.
    fn take(&self) -> PyResult<Option<String>> {
        self.with(|run| match run.take() {
            None => Ok(None),
            Some(one) => serde_json::to_string(&one)
                .map(Some)
                .map_err(Failure::internal),
        })
    }

    /// Returns the state of the run, as JSON.
    fn save(&self) -> PyResult<String> {
        self.with(|run| Ok(run.save()))
    }

    /// What the run waits for: `"model"`, `"calls"` or `"nothing"`.
    fn waits(&self) -> PyResult<&'static str> {
        self.with(|run| {
            Ok(match run.waits() {
                Waits::Model => "model",
                Waits::Calls => "calls",
                _ => "nothing",
            })
        })
    }

    /// The next time at which the run must be given the time.
    fn deadline(&self) -> PyResult<Option<u64>> {
        self.with(|run| Ok(run.deadline()))
    }

    /// The latest time that the run was given.
    fn now(&self) -> PyResult<u64> {
        self.with(|run| Ok(run.now()))
    }

    /// The conversation, as JSON.
    fn messages(&self) -> PyResult<String> {
        self.with(|run| serde_json::to_string(run.messages()).map_err(Failure::internal))
    }

    /// Receipts of the calls that were started, as JSON.
    fn receipts(&self) -> PyResult<String> {
        self.with(|run| serde_json::to_string(run.receipts()).map_err(Failure::internal))
    }

    /// How the run ended, as JSON.
    fn outcome(&self) -> PyResult<Option<String>> {
        self.with(|run| match run.outcome() {
            None => Ok(None),
            Some(outcome) => serde_json::to_string(outcome)
                .map(Some)
                .map_err(Failure::internal),
        })
    }
}

/// Turns a response of a model server into what a run takes.
#[pyclass(frozen, module = "toolglot._native")]
pub struct ResponseCore {
    response: Owned<Response>,
}

#[pymethods]
impl ResponseCore {
    /// `source` is `"openai"`, `"anthropic"` or `"ollama"`.
    #[new]
    fn new(source: &str) -> PyResult<Self> {
        let response = match source {
            "openai" => Response::new(OpenAi::new()),
            "anthropic" => Response::new(Anthropic::new()),
            "ollama" => Response::new(Ollama::new()),
            other => {
                let why = format!("source='{other}': it is one of 'openai', 'anthropic', 'ollama'");
                return Err(PyValueError::new_err(why));
            }
        };
        Ok(Self {
            response: Owned::new("response", response),
        })
    }

    /// Takes bytes; returns what to pass to a run, as JSON.
    #[pyo3(signature = (chunk: "str | bytes | bytearray | memoryview"))]
    fn feed(&self, chunk: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
        let chunk = Chunk::of(chunk, "chunk")?;
        Ok(self
            .response
            .with(|response| lines(response.feed(&chunk)))?)
    }

    /// Ends the response.
    fn finish(&self) -> PyResult<Vec<String>> {
        Ok(self.response.with(|response| lines(response.end()))?)
    }
}

fn lines(said: Vec<Said>) -> Result<Vec<String>, Failure> {
    let text = |one: Said| serde_json::to_string(&Told::from(one)).map_err(Failure::internal);
    said.into_iter().map(text).collect()
}
