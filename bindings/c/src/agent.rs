//! The agent: runs of a model with its tools. A run does no input or output: it gives instructions, as JSON, and is told the
//! results. docs/AGENT.md has the rules and the shapes.

use std::ffi::c_void;

use agents::{Agent, FormError, Response, Run, RunError, Said, Step, Told, Waits};

use crate::buffer::{self, toolglot_buffer};
use crate::engine::{self, toolglot_engine};
use crate::guard;
use crate::handle::{self, Handle, Kind};
use crate::memory;
use crate::options::{self, toolglot_options};
use crate::raw::{self, toolglot_view};
use crate::status::{
    Done, Fault, TOOLGLOT_E_DIALECT, TOOLGLOT_E_SNAPSHOT, TOOLGLOT_E_STATE, toolglot_status,
};
use crate::tg::source::{Anthropic, Ollama, OpenAi};

/// What runs share: dialect, tools, policy. One thread at a time. Runs keep what they need, so the agent may be freed before
/// them.
pub struct toolglot_agent {
    _private: (),
}

/// A conversation of a model with its tools. One thread at a time.
pub struct toolglot_run {
    _private: (),
}

/// A reader for the response of a model server. One thread at a time.
pub struct toolglot_response {
    _private: (),
}

impl Kind for Option<Agent> {
    const MAGIC: u32 = 0x7467_6167;
    const NAME: &'static str = "the agent";
}

/// The contents of a run.
#[derive(Debug)]
pub(crate) struct Running {
    run: Run,
    /// The last instruction that was handed out.
    last: String,
}

impl Kind for Running {
    const MAGIC: u32 = 0x7467_726e;
    const NAME: &'static str = "the run";
}

impl Kind for Response {
    const MAGIC: u32 = 0x7467_7273;
    const NAME: &'static str = "the response";
}

fn agent_of(agent: *const toolglot_agent) -> *const Handle<Option<Agent>> {
    agent.cast()
}

fn run_of(run: *const toolglot_run) -> *const Handle<Running> {
    run.cast()
}

fn response_of(response: *const toolglot_response) -> *const Handle<Response> {
    response.cast()
}

/// The run waits for the model's reply, or for its end.
pub const TOOLGLOT_WAITS_MODEL: u32 = 0;
/// It waits for decisions on calls, or for their results.
pub const TOOLGLOT_WAITS_CALLS: u32 = 1;
/// It is over.
pub const TOOLGLOT_WAITS_NOTHING: u32 = 2;

/// The whole run, for `toolglot_agent_restore`. Instructions that were not taken are not part of it: take them first.
pub const TOOLGLOT_RUN_SAVED: u32 = 0;
/// The conversation so far: a list of messages.
pub const TOOLGLOT_RUN_MESSAGES: u32 = 1;
/// What remains of calls that were started: a list of `{"id", "tool", "digest"}`.
pub const TOOLGLOT_RUN_RECEIPTS: u32 = 2;
/// How the run ended: `{"outcome": "answer", "text": ..}`; `null` if it has not ended.
pub const TOOLGLOT_RUN_OUTCOME: u32 = 3;

/// The response has the form of OpenAI's chat completions.
pub const TOOLGLOT_SOURCE_OPENAI: u32 = 0;
/// The form of Anthropic's messages.
pub const TOOLGLOT_SOURCE_ANTHROPIC: u32 = 1;
/// The form of Ollama's API.
pub const TOOLGLOT_SOURCE_OLLAMA: u32 = 2;

/// The memory that filling templates may take for a run's messages, in bytes.
const FILLING: usize = 8 << 20;

fn form_fault(error: &FormError) -> Fault {
    match error {
        FormError::Agent(_) => Fault::new(TOOLGLOT_E_DIALECT, error.to_string()),
        _ => Fault::arg(error.to_string()),
    }
}

fn run_fault(error: &RunError) -> Fault {
    let status = match error {
        RunError::Saved(_) => TOOLGLOT_E_SNAPSHOT,
        _ => TOOLGLOT_E_STATE,
    };
    Fault::new(status, error.to_string())
}

fn json<T: serde::Serialize + ?Sized>(value: &T) -> Done<String> {
    serde_json::to_string(value).map_err(|error| Fault::arg(error.to_string()))
}

/// Creates an agent without contents; fill it with `toolglot_agent_read`. The caller frees it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_agent_new(out: *mut *mut toolglot_agent) -> toolglot_status {
    guard::status(|| {
        // SAFETY: the contract of the header, see the essay in lib.rs.
        let out = unsafe { raw::out(out) }?;
        out.write(handle::new(None::<Agent>)?.cast());
        Ok(())
    })
}

/// Reads the description of an agent, a JSON text, with a dialect of the engine: `{"dialect", "tools", "policy", "config",
/// "shape", "lang", "recovered", "references", "max_concurrent", "grammar"}`. Only the first member is required; without a
/// policy nothing runs. See docs/AGENT.md. `options` (limits) may be NULL; the engine may be freed. Returns `TOOLGLOT_E_ARG`
/// for an invalid description, `TOOLGLOT_E_DIALECT` for a dialect that the engine does not have, or that has no calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_agent_read(
    agent: *mut toolglot_agent,
    engine: *const toolglot_engine,
    options: *const toolglot_options,
    form: *const c_void,
    len: usize,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(agent_of(agent), |agent| {
            let form = raw::text(form, len)?;
            let settings = options::settings(options)?;
            handle::read(engine::handle(engine), |engine| {
                memory::ensure(FILLING)?;
                let made = Agent::from_json(engine.compiling()?, form);
                let made = made.map_err(|error| form_fault(&error))?;
                *agent = Some(made.options(settings.options));
                Ok(())
            })
        })
    })
}

/// Creates a run of an agent.
///
/// # Safety
/// The pointers are NULL or what their types say.
unsafe fn begin(
    agent: *const toolglot_agent,
    data: *const c_void,
    len: usize,
    out: *mut *mut toolglot_run,
    make: impl FnOnce(&Agent, &str) -> Done<Run>,
) -> Done {
    // SAFETY: guaranteed by the caller.
    unsafe {
        handle::look(agent_of(agent), |agent| {
            let (out, text) = (raw::out(out)?, raw::text(data, len)?);
            let agent = agent.as_ref().ok_or_else(|| {
                Fault::new(
                    TOOLGLOT_E_STATE,
                    "the agent was not read: toolglot_agent_read",
                )
            })?;
            memory::ensure(FILLING)?;
            let running = Running {
                run: make(agent, text)?,
                last: String::new(),
            };
            out.write(handle::new(running)?.cast());
            Ok(())
        })
    }
}

/// Creates a run that continues a conversation; the caller frees it. `messages` is a JSON list of `{"role", "content"}`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_agent_run(
    agent: *const toolglot_agent,
    messages: *const c_void,
    len: usize,
    out: *mut *mut toolglot_run,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        begin(agent, messages, len, out, |agent, text| {
            let messages = serde_json::from_str(text)
                .map_err(|error| Fault::arg(format!("messages: {error}")))?;
            Ok(agent.run_with(messages))
        })
    })
}

/// Creates a workflow, a run without a model; the caller frees it. `steps` is a JSON list of calls, `{"tool", "arguments"}`,
/// that run one after the other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_agent_steps(
    agent: *const toolglot_agent,
    steps: *const c_void,
    len: usize,
    out: *mut *mut toolglot_run,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        begin(agent, steps, len, out, |agent, text| {
            let steps: Vec<Step> = serde_json::from_str(text)
                .map_err(|error| Fault::arg(format!("steps: {error}")))?;
            Ok(agent.steps(&steps))
        })
    })
}

/// Restores a saved run, with an agent of the same dialect; the caller frees it. Decisions on waiting calls are asked for
/// again; each call that was started gets a `recall`. Returns `TOOLGLOT_E_SNAPSHOT` if the text is not a saved run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_agent_restore(
    agent: *const toolglot_agent,
    saved: *const c_void,
    len: usize,
    out: *mut *mut toolglot_run,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        begin(agent, saved, len, out, |agent, text| {
            Run::restore(agent, text).map_err(|error| run_fault(&error))
        })
    })
}

/// One sentence about the last failure on this agent; empty if there was none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_agent_error(agent: *const toolglot_agent) -> toolglot_view {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::value(toolglot_view::EMPTY, || {
        Some(unsafe { handle::message(agent_of(agent)) })
    })
}

/// Frees the agent. Its runs remain valid. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_agent_free(agent: *mut toolglot_agent) {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::run(|| unsafe { handle::free(agent_of(agent).cast_mut()) })
}

/// Feeds bytes of the model's reply to the run, in chunks of any size. Returns `TOOLGLOT_E_STATE` if the model was not asked,
/// or its reply has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_run_model(
    run: *mut toolglot_run,
    data: *const c_void,
    len: usize,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(run_of(run), |running| {
            let bytes = raw::bytes(data, len)?;
            running.run.model(bytes).map_err(|error| run_fault(&error))
        })
    })
}

/// Tells the run anything else, as a JSON object with one member: `{"ended": "stop"}`, `{"failed": why}`, `{"native":
/// tool_call}`, `{"gap": why}`, `{"refused": [name, kind, why]}`, `{"decision": [id, "approve"]}` (or `{"edit": arguments}`,
/// `{"deny": reason}`), `{"progress": [id, text]}`, `{"done": {"id", "name", "status", "content"}}`, `{"lost": id}`, `{"begun": [id,
/// task]}`, `{"later": result}`, `{"tick": milliseconds}`, `{"ask_again": null}`, `{"cancel": null}`. Returns `TOOLGLOT_E_STATE` if it
/// is too late or too early for that; nothing changes then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_run_tell(
    run: *mut toolglot_run,
    what: *const c_void,
    len: usize,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(run_of(run), |running| {
            let told: Told = serde_json::from_str(raw::text(what, len)?)
                .map_err(|error| Fault::arg(format!("this cannot be told: {error}")))?;
            memory::ensure(FILLING)?;
            running.run.tell(told).map_err(|error| run_fault(&error))
        })
    })
}

/// Returns the next instruction, a JSON object: `{"do": "ask", "messages": ..}`, `"confirm"`, `"start"`, `"abort"`, `"recall"`,
/// `"event"`, `"finished"`. Empty if there is none until the run is told something else. Valid until the next call on the run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_run_take(
    run: *mut toolglot_run,
    out: *mut toolglot_view,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(run_of(run), |running| {
            let out = raw::out(out)?;
            running.last = match running.run.take() {
                None => String::new(),
                Some(one) => json(&one)?,
            };
            out.write(toolglot_view::of(running.last.as_bytes()));
            Ok(())
        })
    })
}

/// What the run waits for once there are no instructions: `*waits` is set to one of `TOOLGLOT_WAITS_...`, `*now` to the latest
/// time that the run was told, and `*deadline` to the time at which it must be told the time again (`UINT64_MAX`: never).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_run_waits(
    run: *const toolglot_run,
    waits: *mut u32,
    now: *mut u64,
    deadline: *mut u64,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::look(run_of(run), |running| {
            let (waits, now, deadline) = (raw::out(waits)?, raw::out(now)?, raw::out(deadline)?);
            waits.write(match running.run.waits() {
                Waits::Model => TOOLGLOT_WAITS_MODEL,
                Waits::Calls => TOOLGLOT_WAITS_CALLS,
                _ => TOOLGLOT_WAITS_NOTHING,
            });
            now.write(running.run.now());
            deadline.write(running.run.deadline().unwrap_or(u64::MAX));
            Ok(())
        })
    })
}

/// Writes a part of the run into the buffer, as JSON: `what` is one of `TOOLGLOT_RUN_...`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_run_write(
    run: *const toolglot_run,
    what: u32,
    buffer: *mut toolglot_buffer,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(buffer::handle(buffer), |buffer| {
            handle::look(run_of(run), |running| {
                let run = &running.run;
                let text = match what {
                    TOOLGLOT_RUN_SAVED => run.save(),
                    TOOLGLOT_RUN_MESSAGES => json(run.messages())?,
                    TOOLGLOT_RUN_RECEIPTS => json(run.receipts())?,
                    TOOLGLOT_RUN_OUTCOME => json(&run.outcome())?,
                    other => return Err(Fault::arg(format!("a run has no {other}"))),
                };
                *buffer = text.into_bytes();
                Ok(())
            })
        })
    })
}

/// One sentence about the last failure on this run; empty if there was none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_run_error(run: *const toolglot_run) -> toolglot_view {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::value(toolglot_view::EMPTY, || {
        Some(unsafe { handle::message(run_of(run)) })
    })
}

/// Frees the run. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_run_free(run: *mut toolglot_run) {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::run(|| unsafe { handle::free(run_of(run).cast_mut()) })
}

/// Creates a reader for one response; the caller frees it. `source` is one of `TOOLGLOT_SOURCE_...`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_response_new(
    source: u32,
    out: *mut *mut toolglot_response,
) -> toolglot_status {
    guard::status(|| {
        // SAFETY: the contract of the header, see the essay in lib.rs.
        let out = unsafe { raw::out(out) }?;
        let response = match source {
            TOOLGLOT_SOURCE_OPENAI => Response::new(OpenAi::new()),
            TOOLGLOT_SOURCE_ANTHROPIC => Response::new(Anthropic::new()),
            TOOLGLOT_SOURCE_OLLAMA => Response::new(Ollama::new()),
            other => return Err(Fault::arg(format!("there is no source {other}"))),
        };
        out.write(handle::new(response)?.cast());
        Ok(())
    })
}

/// Feeds bytes of the response, in chunks of any size, and writes what they contain into the buffer: lines, each for
/// `toolglot_run_tell`. The last one is `{"ended": ..}` or `{"failed": ..}`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_response_feed(
    response: *mut toolglot_response,
    data: *const c_void,
    len: usize,
    buffer: *mut toolglot_buffer,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(buffer::handle(buffer), |buffer| {
            handle::write(response_of(response), |response| {
                *buffer = lines(response.feed(raw::bytes(data, len)?))?.into_bytes();
                Ok(())
            })
        })
    })
}

/// Ends the response, and writes the remaining lines into the buffer, like `toolglot_response_feed`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_response_finish(
    response: *mut toolglot_response,
    buffer: *mut toolglot_buffer,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(buffer::handle(buffer), |buffer| {
            handle::write(response_of(response), |response| {
                *buffer = lines(response.end())?.into_bytes();
                Ok(())
            })
        })
    })
}

fn lines(said: Vec<Said>) -> Done<String> {
    let mut out = String::new();
    for one in said {
        out.push_str(&json(&Told::from(one))?);
        out.push('\n');
    }
    Ok(out)
}

/// Frees the response. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_response_free(response: *mut toolglot_response) {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::run(|| unsafe { handle::free(response_of(response).cast_mut()) })
}
