//! Dialects from chat templates, as JSON.

use std::ffi::c_void;

use ::engine::json::{Map, Value, json};
use layer::{DeriveOptions, TemplateError, TemplateOptions, TemplateSource};
use serde::Deserialize;

use crate::buffer::{self, toolglot_buffer};
use crate::host::answer;
use crate::raw;
use crate::status::{Done, Fault, TOOLGLOT_E_DIALECT, toolglot_status};
use crate::{guard, handle};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Options {
    variables: Map,
    own: bool,
    id: Option<String>,
}

/// A conversation, with the variables of its template.
#[derive(Deserialize)]
struct Conversation {
    messages: Value,
    tools: Option<Value>,
    generate: bool,
    variables: Map,
    now: i64,
}

fn unusable(error: impl ToString) -> Fault {
    Fault::new(TOOLGLOT_E_DIALECT, error.to_string())
}

/// Reads a JSON document of the host.
///
/// # Safety
/// As [`raw::text`].
unsafe fn read<'a, T: Deserialize<'a>>(data: *const c_void, len: usize) -> Done<T> {
    // SAFETY: guaranteed by the caller.
    let text = unsafe { raw::text(data, len) }?;
    serde_json::from_str(text).map_err(|error| Fault::arg(error.to_string()))
}

/// Derives the dialects of a chat template, which is given as the content of a file or as text: `dialects`, `toml`, `start`,
/// `stop` and `report`, and for rendering `template` and `variables`. `options` are `variables`, `own` and `id`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_wasm_derive(
    template: *const c_void,
    len: usize,
    options: *const c_void,
    options_len: usize,
    buffer: *mut toolglot_buffer,
) -> toolglot_status {
    let make = || {
        // SAFETY: the contract of the header.
        let (bytes, given) = unsafe {
            let given: Options = read(options, options_len)?;
            (raw::bytes(template, len)?, given)
        };
        let source = TemplateSource::from_bytes("a chat template", bytes).map_err(unusable)?;
        let mut options = DeriveOptions::default().own(given.own);
        if let Some(id) = given.id {
            options = options.id(id);
        }
        options.template.variables = given.variables;
        let derived = layer::derive(&source, &options).map_err(unusable)?;
        let mut variables = source.variables;
        for (name, value) in &options.template.variables {
            variables.insert(name.to_owned(), value.clone());
        }
        Ok(json!({
            "dialects": derived.dialects,
            "toml": derived.toml,
            "start": derived.start,
            "stop": derived.stop,
            "report": derived.report.to_string(),
            "template": source.template,
            "variables": Value::Object(variables),
        }))
    };
    // SAFETY: the contract of the header.
    unsafe { answer(buffer, make) }
}

/// Renders a conversation as a template writes it: `messages`, `tools`, `generate`, `variables`, and `now` in seconds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_wasm_render(
    template: *const c_void,
    len: usize,
    conversation: *const c_void,
    conversation_len: usize,
    buffer: *mut toolglot_buffer,
) -> toolglot_status {
    guard::status(|| {
        let write = |buffer: &mut Vec<u8>| {
            // SAFETY: the contract of the header.
            let (source, said) = unsafe {
                let said: Conversation = read(conversation, conversation_len)?;
                (TemplateSource::text(raw::text(template, len)?), said)
            };
            let options = TemplateOptions::default()
                .variables(said.variables)
                .now(Some(said.now));
            let render = || -> Result<String, TemplateError> {
                let template = source.compile(&options)?;
                template.render(&said.messages, said.tools.as_ref(), said.generate)
            };
            *buffer = render().map_err(unusable)?.into_bytes();
            Ok(())
        };
        // SAFETY: the contract of the header.
        unsafe { handle::write(buffer::handle(buffer), write) }
    })
}
