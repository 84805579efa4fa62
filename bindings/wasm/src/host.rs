//! What JavaScript needs beyond the C interface: memory to write into, the message of a panic, and JSON answers that C
//! programs get as structs or not at all.

use std::alloc::{Layout, alloc, dealloc};
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use ::engine::json::{Value, json};

use crate::buffer::{self, toolglot_buffer};
use crate::engine::{self, toolglot_engine};
use crate::options::{self, toolglot_options};
use crate::raw::{self, toolglot_view};
use crate::status::{Done, Fault, TOOLGLOT_E_DIALECT, toolglot_status};
use crate::tg::sink::Gather;
use crate::tg::{
    Arguments, Call, CallState, Detector, Dialect, DialectSet, Evidence, Kind, KindSet, Span,
    builtin_files, models,
};
use crate::{guard, handle};

/// Structs of the interface are placed in this memory too.
const ALIGN: usize = 8;

/// The message of the last panic.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// Must be called first, once. From then on a panic leaves its message.
#[unsafe(no_mangle)]
pub extern "C" fn toolglot_wasm_start() {
    std::panic::set_hook(Box::new(|panic| {
        *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = panic.to_string();
    }));
}

/// The message of the panic at which the instance trapped; empty for any other trap.
#[unsafe(no_mangle)]
pub extern "C" fn toolglot_wasm_panic() -> toolglot_view {
    let said = PANIC.lock().unwrap_or_else(PoisonError::into_inner);
    toolglot_view::of(said.as_bytes())
}

fn layout(len: usize) -> Layout {
    Layout::from_size_align(len.max(1), ALIGN).expect("a length that memory can have")
}

/// Allocates memory for the host to write into; NULL if there is not enough.
#[unsafe(no_mangle)]
pub extern "C" fn toolglot_wasm_alloc(len: usize) -> *mut u8 {
    match isize::try_from(len) {
        // SAFETY: the size is not 0.
        Ok(_) => unsafe { alloc(layout(len)) },
        Err(_) => std::ptr::null_mut(),
    }
}

/// Frees memory; `len` must be the length that was requested.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_wasm_free(memory: *mut u8, len: usize) {
    // SAFETY: the caller got it from `toolglot_wasm_alloc` with this length.
    unsafe { dealloc(memory, layout(len)) }
}

/// Writes an answer as JSON into a buffer.
///
/// # Safety
/// The pointer is NULL, or a buffer that was not freed.
pub(crate) unsafe fn answer(
    buffer: *mut toolglot_buffer,
    make: impl FnOnce() -> Done<Value>,
) -> toolglot_status {
    guard::status(|| {
        let write = |buffer: &mut Vec<u8>| {
            *buffer = make()?.to_string().into_bytes();
            Ok(())
        };
        // SAFETY: the caller promises it.
        unsafe { handle::write(buffer::handle(buffer), write) }
    })
}

fn dialect(dialect: &Dialect) -> Value {
    json!({
        "id": dialect.id(),
        "title": dialect.title(),
        "family": dialect.family(),
        "aliases": dialect.aliases(),
        "models": dialect.models(),
        "sources": dialect.sources(),
        "inDefaultSet": dialect.in_default_set(),
        "group": dialect.group(),
        "switches": dialect.switches().map(|(name, valued)| json!({"name": name, "valued": valued})).collect::<Vec<_>>(),
        "openers": dialect.openers(),
        "closers": dialect.closers(),
        "reasoningOpeners": dialect.reasoning_openers(),
        "reasoningClosers": dialect.reasoning_closers(),
    })
}

/// Describes every built-in dialect, as a list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_wasm_dialects(buffer: *mut toolglot_buffer) -> toolglot_status {
    let make = || {
        let mut all = vec![];
        for (id, _) in builtin_files() {
            let set = DialectSet::builtin(id);
            let set = set.map_err(|error| Fault::new(TOOLGLOT_E_DIALECT, error.to_string()))?;
            all.extend(set.dialects().map(dialect));
        }
        Ok(Value::Array(all))
    };
    // SAFETY: the contract of the header.
    unsafe { answer(buffer, make) }
}

/// Describes an engine with these options: `dialects`, `lints`, `bound`, the names of `tools`, and problems in their list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_wasm_about(
    engine: *const toolglot_engine,
    options: *const toolglot_options,
    buffer: *mut toolglot_buffer,
) -> toolglot_status {
    let make = || {
        // SAFETY: the contract of the header.
        let options = unsafe { options::settings(options) }?.options;
        let tools: Vec<&str> = options
            .tools
            .iter()
            .flat_map(|tools| tools.names())
            .collect();
        let odd: Vec<String> = options
            .tools
            .iter()
            .flat_map(|tools| tools.issues())
            .map(ToString::to_string)
            .collect();
        let about = |engine: &engine::Engine| {
            Ok(json!({
                "dialects": engine.set.dialects().map(dialect).collect::<Vec<_>>(),
                "lints": engine.set.lints().iter().map(ToString::to_string).collect::<Vec<_>>(),
                "bound": engine.set.bound(&options.limits),
                "tools": tools,
                "toolIssues": odd,
            }))
        };
        // SAFETY: the contract of the header.
        unsafe { handle::read(engine::handle(engine), about) }
    };
    // SAFETY: the contract of the header.
    unsafe { answer(buffer, make) }
}

/// The dialects of a model, guessed from its name: `calls` and `reasoning`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_wasm_model(
    name: *const c_void,
    len: usize,
    buffer: *mut toolglot_buffer,
) -> toolglot_status {
    let make = || {
        // SAFETY: the contract of the header.
        let found = models::dialects(unsafe { raw::text(name, len) }?);
        let all: Vec<_> = found.all().collect();
        Ok(json!({"calls": found.calls, "reasoning": found.reasoning, "all": all}))
    };
    // SAFETY: the contract of the header.
    unsafe { answer(buffer, make) }
}

/// The file of a built-in dialect, verbatim.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_wasm_dialect_toml(
    id: *const c_void,
    len: usize,
    buffer: *mut toolglot_buffer,
) -> toolglot_status {
    guard::status(|| {
        let write = |buffer: &mut Vec<u8>| {
            // SAFETY: the contract of the header.
            let id = unsafe { raw::text(id, len) }?;
            let found = builtin_files().iter().find(|(have, _)| *have == id);
            let none = || {
                Fault::new(
                    TOOLGLOT_E_DIALECT,
                    format!("there is no built-in dialect {id}"),
                )
            };
            *buffer = found.ok_or_else(none)?.1.as_bytes().to_vec();
            Ok(())
        };
        // SAFETY: the contract of the header.
        unsafe { handle::write(buffer::handle(buffer), write) }
    })
}

/// Detects the built-in dialects of a text: a list, strongest evidence first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_wasm_detect(
    options: *const toolglot_options,
    data: *const c_void,
    len: usize,
    buffer: *mut toolglot_buffer,
) -> toolglot_status {
    let make = || {
        // SAFETY: the contract of the header.
        let (input, options) =
            unsafe { (raw::bytes(data, len)?, options::settings(options)?.options) };
        let found = Detector::builtin().detect(input, &options);
        Ok(found.iter().map(evidence).collect())
    };
    // SAFETY: the contract of the header.
    unsafe { answer(buffer, make) }
}

fn evidence(one: &Evidence) -> Value {
    json!({
        "dialect": one.dialect,
        "title": one.title,
        "confidence": one.confidence.name(),
        "reason": one.reason,
        "complete": one.complete,
        "recovered": one.recovered,
        "broken": one.broken,
        "spans": one.spans.iter().map(|span| json!({"start": span.start, "end": span.end})).collect::<Vec<_>>(),
        "chosen": one.chosen,
        "inDefaultSet": one.in_default_set,
        "group": one.group,
        "inside": one.inside,
    })
}

/// The arguments of a call whose deltas repeat a key: each key once, with its last value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_wasm_last_wins(
    data: *const c_void,
    len: usize,
    buffer: *mut toolglot_buffer,
) -> toolglot_status {
    guard::status(|| {
        let write = |buffer: &mut Vec<u8>| {
            // SAFETY: the contract of the header.
            let json = unsafe { raw::text(data, len) }?;
            let mut repeated = KindSet::default();
            repeated.insert(Kind::DuplicateParam);
            *buffer = gathered(json, CallState::Recovered(repeated)).into_bytes();
            Ok(())
        };
        // SAFETY: the contract of the header.
        unsafe { handle::write(buffer::handle(buffer), write) }
    })
}

/// The arguments of a call, as the engine collects them.
fn gathered(json: &str, state: CallState) -> String {
    let mut gather = Gather::from(Some(Call::new("", json)));
    let closed = gather.close(state, Arguments::Deltas, Span::new(0, 0));
    closed.map(|call| call.arguments).unwrap_or_default()
}
