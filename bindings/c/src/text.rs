//! Encodes calls as text, and escapes untrusted text.

use std::ffi::c_void;

use crate::buffer::{self, toolglot_buffer};
use crate::engine::{self, toolglot_engine};
use crate::guard;
use crate::handle;
use crate::options::{self, toolglot_options};
use crate::raw;
use crate::status::{Done, Fault, TOOLGLOT_E_DIALECT, TOOLGLOT_E_ENCODE, toolglot_status};
use crate::tg::{
    DialectSet, EncodeCall, EncodeOptions, EscapeError, NativeCall, NotRepresentable, Reason,
    encode, escape, unescape,
};

/// Writes calls into the buffer as a dialect of the engine spells them: what a model would have written. `dialect` is its id;
/// `calls` is OpenAI's `tool_calls`, a JSON array; `options` (limits and tools with which the text will be parsed) may be NULL.
/// The text parses to the same calls. A call that the dialect cannot express gives `TOOLGLOT_E_ENCODE`, and the buffer's error
/// says which value and why; a dialect that the engine does not have gives `TOOLGLOT_E_DIALECT`. Fastest with an engine of this
/// dialect alone. Any thread, with its own buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_encode(
    engine: *const toolglot_engine,
    options: *const toolglot_options,
    dialect: *const c_void,
    dialect_len: usize,
    calls: *const c_void,
    calls_len: usize,
    buffer: *mut toolglot_buffer,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(buffer::handle(buffer), |buffer| {
            let (dialect, calls) = (
                raw::text(dialect, dialect_len)?,
                raw::text(calls, calls_len)?,
            );
            let settings = options::settings(options)?;
            let mut how = EncodeOptions::default();
            how.tools = settings.options.tools;
            how.limits = settings.options.limits;
            let calls: Vec<EncodeCall> = NativeCall::from_json(calls)
                .map_err(|error| Fault::arg(error.to_string()))?
                .into_iter()
                .map(call)
                .collect();
            handle::read(engine::handle(engine), |engine| {
                let text = encode(engine.compiling()?, dialect, &calls, &how);
                let refused = |error: NotRepresentable| {
                    let status = match error.reason {
                        Reason::Dialect { .. } => TOOLGLOT_E_DIALECT,
                        _ => TOOLGLOT_E_ENCODE,
                    };
                    Fault::new(status, error.to_string())
                };
                *buffer = text.map_err(refused)?.into_bytes();
                Ok(())
            })
        })
    })
}

fn call(native: NativeCall) -> EncodeCall {
    EncodeCall::new(
        native.name,
        match native.arguments.trim() {
            "" => "{}".to_owned(),
            _ => native.arguments,
        },
    )
    .id(native.id)
}

/// Writes untrusted text (a tool's result, a user's message) into the buffer so that it contains none of the engine's markers.
/// Text without markers is unchanged. `toolglot_unescape` restores it. Linear. Any thread, with its own buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_escape(
    engine: *const toolglot_engine,
    data: *const c_void,
    len: usize,
    buffer: *mut toolglot_buffer,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(buffer::handle(buffer), |buffer| {
            *buffer = convert(engine, raw::bytes(data, len)?, escape)?;
            Ok(())
        })
    })
}

/// Reverses `toolglot_escape`, with an engine of the same dialects.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_unescape(
    engine: *const toolglot_engine,
    data: *const c_void,
    len: usize,
    buffer: *mut toolglot_buffer,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(buffer::handle(buffer), |buffer| {
            *buffer = convert(engine, raw::bytes(data, len)?, unescape)?;
            Ok(())
        })
    })
}

/// Returns the result, and writes it nowhere: the text may be a view of the buffer that gets it.
///
/// # Safety
/// The pointer is NULL or an engine that was not freed.
unsafe fn convert(
    engine: *const toolglot_engine,
    text: &[u8],
    way: impl FnOnce(&DialectSet, &[u8]) -> Result<Vec<u8>, EscapeError>,
) -> Done<Vec<u8>> {
    // SAFETY: guaranteed by the caller.
    unsafe {
        handle::read(engine::handle(engine), |engine| {
            engine.escaping(|set| {
                way(set, text).map_err(|error| Fault::new(TOOLGLOT_E_DIALECT, error.to_string()))
            })
        })
    }
}
