//! Dialects from chat templates.

use std::ffi::c_void;

use layer::{DeriveOptions, STEPS, TemplateSource, deep, derive};

use crate::config::{self, toolglot_config};
use crate::status::{Done, Fault, TOOLGLOT_E_DIALECT, TOOLGLOT_E_NOMEM, toolglot_status};
use crate::{guard, handle, memory, raw};

/// The memory that deriving a dialect takes, in bytes; and the factor for each byte of a template.
const DERIVING: usize = 32 << 20;
const READ: usize = 32;
/// Bytes of a GGUF file that count: of its metadata, little is kept.
const METADATA: usize = 4 << 20;

/// Adds the dialects of a model by its chat template: the text of a template, of a `tokenizer_config.json` or of the answer of
/// llama.cpp's `/props`, or a GGUF file, of which the metadata suffices. They are the built-in dialects that read everything that
/// the template writes, or else one that is made of it, with the id `derived`; `toolglot_engine_dialects` tells which. Takes some
/// tens of milliseconds for most templates. Returns `TOOLGLOT_E_DIALECT`, and adds nothing, for an invalid template, one that
/// writes no calls, or one that no dialect reads; `toolglot_config_error` says why.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_config_add_template(
    config: *mut toolglot_config,
    source: *const c_void,
    len: usize,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guarded(
        Given(config, source, len),
        |Given(config, source, len)| unsafe {
            handle::write(config::handle(config), |config| {
                let bytes = raw::chunk(source, len)?;
                let given = match bytes.starts_with(b"GGUF") {
                    true => len.min(METADATA),
                    false => len,
                };
                memory::ensure(DERIVING.saturating_add(given.saturating_mul(READ)))?;
                let unusable = |why: String| Fault::new(TOOLGLOT_E_DIALECT, why);
                let source = TemplateSource::from_bytes("a chat template", bytes);
                let source = source.map_err(|error| unusable(error.to_string()))?;
                let derived = derive(&source, &DeriveOptions::default());
                let derived = derived.map_err(|error| unusable(error.to_string()))?;
                memory::check()?;
                match &derived.toml {
                    Some(toml) => config.toml("the derived dialect", toml),
                    None => {
                        let ids = derived.dialects.iter();
                        config.change(|set| ids.fold(set, |set, id| set.builtin(id)));
                    }
                }
                Ok(())
            })
        },
    )
}

/// Runs the body where templates are rendered: the memory of a call is counted by thread.
fn guarded(given: Given, body: impl FnOnce(Given) -> Done + Send) -> toolglot_status {
    deep(STEPS, move || guard::status(|| body(given))).unwrap_or(TOOLGLOT_E_NOMEM)
}

/// The arguments of the call, on their way to its thread.
struct Given(*mut toolglot_config, *const c_void, usize);

// SAFETY: the caller waits for the thread, and uses none of it meanwhile.
unsafe impl Send for Given {}
