//! The tools that a model may call: prompts, checks, results.

use std::ffi::c_void;

use layer::outcome::{RenderOptions, Renderer, ToolResult};
use layer::prompt::{Lang, Layout, PromptError, PromptOptions};
use layer::{CheckOptions, Inventory, NameRule, Tool, read};

use crate::buffer::{self, toolglot_buffer};
use crate::engine::{self, toolglot_engine};
use crate::guard;
use crate::handle::{self, Handle, Kind};
use crate::memory;
use crate::raw::{self, toolglot_view};
use crate::status::{Done, Fault, TOOLGLOT_E_DIALECT, toolglot_status};
use crate::tg::json::{Value, json};

/// Definitions of tools that a model may call. Any number of threads may use them at once; a change requires exclusive access.
pub struct toolglot_tools {
    _private: (),
}

impl Kind for Inventory {
    const MAGIC: u32 = 0x7467_746c;
    const NAME: &'static str = "the tools";
}

pub(crate) fn handle(tools: *const toolglot_tools) -> *const Handle<Inventory> {
    tools.cast()
}

/// The library's own text is English.
pub const TOOLGLOT_LANG_EN: u32 = 0;
/// It is Chinese.
pub const TOOLGLOT_LANG_ZH: u32 = 1;

/// A list in OpenAI's form, for the `tools` of a request.
pub const TOOLGLOT_TOOLS_OPENAI: u32 = 0;
/// A plugin manifest, with everything that is known about them; `toolglot_tools_add` and the `tools` of an agent accept it.
pub const TOOLGLOT_TOOLS_MANIFEST: u32 = 1;

/// The memory that filling templates may take, in bytes; and the factor for each byte of a definition.
const FILLING: usize = 4 << 20;
const FILLED: usize = 64;

fn lang(lang: u32) -> Done<Lang> {
    match lang {
        TOOLGLOT_LANG_EN => Ok(Lang::En),
        TOOLGLOT_LANG_ZH => Ok(Lang::Zh),
        other => Err(Fault::arg(format!("there is no language {other}"))),
    }
}

pub(crate) fn prompt_fault(error: &PromptError) -> Fault {
    Fault::new(TOOLGLOT_E_DIALECT, error.to_string())
}

/// Creates an empty list; the caller frees it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_tools_new(out: *mut *mut toolglot_tools) -> toolglot_status {
    guard::status(|| {
        // SAFETY: the contract of the header, see the essay in lib.rs.
        let out = unsafe { raw::out(out) }?;
        let none = Inventory::of([]).map_err(|error| Fault::arg(error.to_string()))?;
        out.write(handle::new(none)?.cast());
        Ok(())
    })
}

/// Adds definitions from JSON text: a list in OpenAI's or Anthropic's form, the result of MCP's `tools/list`, or a plugin
/// manifest. All of them may be called. Returns `TOOLGLOT_E_ARG`, and adds nothing, for anything else or for a repeated name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_tools_add(
    tools: *mut toolglot_tools,
    json: *const c_void,
    len: usize,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(handle(tools), |tools| {
            let added = read::any("tools", raw::text(json, len)?);
            let added = added.map_err(|error| Fault::arg(error.to_string()))?;
            let callable = |mut tool: Tool| {
                tool.agent_callable = true;
                tool
            };
            let have = tools.tools().iter().map(|tool| (**tool).clone());
            let all = have.chain(added.into_iter().map(callable));
            *tools = Inventory::of(all).map_err(|error| Fault::arg(error.to_string()))?;
            Ok(())
        })
    })
}

/// Writes the definitions into the buffer as JSON. `form` is one of `TOOLGLOT_TOOLS_...`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_tools_json(
    tools: *const toolglot_tools,
    form: u32,
    buffer: *mut toolglot_buffer,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(buffer::handle(buffer), |buffer| {
            handle::read(handle(tools), |tools| {
                let list = tools.tools().iter().map(|tool| &**tool);
                let json = match form {
                    TOOLGLOT_TOOLS_OPENAI => {
                        let names = tools.names("", NameRule::Api);
                        let list = list.zip(&names);
                        Value::Array(
                            list.map(|(tool, name)| read::to_openai(tool, name))
                                .collect(),
                        )
                    }
                    TOOLGLOT_TOOLS_MANIFEST => read::to_manifest(list),
                    other => return Err(Fault::arg(format!("there is no form {other}"))),
                };
                *buffer = json.to_string().into_bytes();
                Ok(())
            })
        })
    })
}

/// Writes instructions for the model's system message into the buffer: how to write calls of the tools in a dialect of the
/// engine. `lang` is one of `TOOLGLOT_LANG_...`. Returns `TOOLGLOT_E_DIALECT` for a dialect that the engine does not have, or
/// that has no calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_tools_prompt(
    tools: *const toolglot_tools,
    engine: *const toolglot_engine,
    dialect: *const c_void,
    dialect_len: usize,
    lang: u32,
    buffer: *mut toolglot_buffer,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(buffer::handle(buffer), |buffer| {
            let dialect = raw::text(dialect, dialect_len)?;
            let mut options = PromptOptions::default();
            options.lang = self::lang(lang)?;
            handle::read(engine::handle(engine), |engine| {
                handle::read(handle(tools), |tools| {
                    memory::ensure(FILLING)?;
                    let layout = Layout::new(engine.compiling()?, dialect);
                    let text = layout.and_then(|layout| layout.system(tools, &options));
                    *buffer = text.map_err(|error| prompt_fault(&error))?.into_bytes();
                    Ok(())
                })
            })
        })
    })
}

/// Writes into the buffer, as JSON, whether a call may be carried out: `{"tool", "name", "valid", "arguments", "changes",
/// "violations", "observation"}`, with the arguments to pass on and, if it is not valid, what to tell the model. `arguments` is
/// the JSON text of the call. `dialect` is that of the call, for the wording of the observation; `engine` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_tools_check(
    tools: *const toolglot_tools,
    engine: *const toolglot_engine,
    dialect: *const c_void,
    dialect_len: usize,
    name: *const c_void,
    name_len: usize,
    arguments: *const c_void,
    arguments_len: usize,
    buffer: *mut toolglot_buffer,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(buffer::handle(buffer), |buffer| {
            let (dialect, name, arguments) = (
                raw::text(dialect, dialect_len)?,
                raw::text(name, name_len)?,
                raw::text(arguments, arguments_len)?,
            );
            handle::read(handle(tools), |tools| {
                let mut check = |options: &CheckOptions<'_>| {
                    let checked = tools.checked(name, arguments, options);
                    *buffer = checked.to_json().to_string().into_bytes();
                    Ok(())
                };
                if engine.is_null() {
                    return check(&CheckOptions::default());
                }
                handle::read(engine::handle(engine), |engine| {
                    let mut options = CheckOptions::default();
                    options.dialect = engine.compiling()?.dialect(dialect);
                    check(&options)
                })
            })
        })
    })
}

/// Writes the message that tells a model the results of its calls into the buffer, as JSON: `{"role", "content"}`. `results` is
/// a JSON list of `{"id", "name", "status", "content"}`; the default status is `success`. Text that looks like a marker of the
/// engine is escaped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_results(
    engine: *const toolglot_engine,
    dialect: *const c_void,
    dialect_len: usize,
    lang: u32,
    results: *const c_void,
    results_len: usize,
    buffer: *mut toolglot_buffer,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(buffer::handle(buffer), |buffer| {
            let (dialect, results) = (
                raw::text(dialect, dialect_len)?,
                raw::text(results, results_len)?,
            );
            let options = RenderOptions::new(self::lang(lang)?);
            let results: Vec<ToolResult> = serde_json::from_str(results)
                .map_err(|error| Fault::arg(format!("results: {error}")))?;
            handle::read(engine::handle(engine), |engine| {
                memory::ensure(FILLING.saturating_add(results_len.saturating_mul(FILLED)))?;
                let set = engine.compiling()?;
                let message = || {
                    let renderer = Renderer::new(set, Layout::new(set, dialect)?)?;
                    let content = renderer.render(&results, &options)?;
                    Ok(json!({"role": renderer.role(), "content": content}))
                };
                let message = message().map_err(|error: PromptError| prompt_fault(&error))?;
                *buffer = message.to_string().into_bytes();
                Ok(())
            })
        })
    })
}

/// One sentence about the last failure on these tools; empty if there was none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_tools_error(tools: *const toolglot_tools) -> toolglot_view {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::value(toolglot_view::EMPTY, || {
        Some(unsafe { handle::message(handle(tools)) })
    })
}

/// Frees the tools. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_tools_free(tools: *mut toolglot_tools) {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::run(|| unsafe { handle::free(handle(tools).cast_mut()) })
}
