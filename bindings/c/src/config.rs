//! Selects dialects.

use std::ffi::c_void;

use crate::guard;
use crate::handle::{self, Handle, Kind};
use crate::library::TOOLGLOT_ABI_VERSION;
use crate::memory;
use crate::raw::{self, toolglot_view};
use crate::status::{Done, Fault, TOOLGLOT_E_ABI, TOOLGLOT_E_DIALECT, toolglot_status};
use crate::tg::{DialectSet, SetBuilder};

/// A list of dialects from which an engine is made. One thread at a time, also in `toolglot_engine_new`.
pub struct toolglot_config {
    _private: (),
}

/// The contents of a config.
#[derive(Debug, Default)]
pub(crate) struct Config {
    set: SetBuilder,
    some: bool,
    /// Total size of the host's files, in bytes.
    written: usize,
}

/// The memory that compiling all built-in dialects takes, in bytes; and the factor for each byte of a host's file.
pub(crate) const BUILTIN: usize = 3 << 20;
const COMPILED: usize = 64;

/// Reserves the memory for compiling a set: the built-in dialects, and `written` bytes of a host's files.
pub(crate) fn compiling(written: usize) -> Done {
    memory::ensure(BUILTIN.saturating_add(written.saturating_mul(COMPILED)))
}

impl Kind for Config {
    const MAGIC: u32 = 0x7467_6366;
    const NAME: &'static str = "the config";
}

impl Config {
    /// Adds a file of the host.
    pub fn toml(&mut self, origin: &str, toml: &str) {
        self.written = self.written.saturating_add(toml.len());
        self.change(|set| set.toml(origin, toml));
    }

    pub fn change(&mut self, step: impl FnOnce(SetBuilder) -> SetBuilder) {
        self.set = step(std::mem::take(&mut self.set));
        self.some = true;
    }

    /// Builds the set; the default one if no dialect was added.
    pub fn build(&self) -> Result<DialectSet, Fault> {
        compiling(self.written)?;
        let set = self.set.clone();
        let set = if self.some { set } else { set.defaults() };
        set.build()
            .map_err(|error| Fault::new(TOOLGLOT_E_DIALECT, error.to_string()))
    }
}

pub(crate) fn handle(config: *const toolglot_config) -> *const Handle<Config> {
    config.cast()
}

/// Creates a config without dialects; the caller frees it. Pass `TOOLGLOT_ABI_VERSION` as `abi`. Returns `TOOLGLOT_E_ABI`, and
/// leaves `*out` untouched, if the library has another ABI version.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_config_new(
    abi: u32,
    out: *mut *mut toolglot_config,
) -> toolglot_status {
    guard::status(|| {
        if abi != TOOLGLOT_ABI_VERSION {
            return Err(Fault::new(
                TOOLGLOT_E_ABI,
                "the header is of another version",
            ));
        }
        // SAFETY: the contract of the header, see the essay in lib.rs.
        let out = unsafe { raw::out(out) }?;
        out.write(handle::new(Config::default())?.cast());
        Ok(())
    })
}

/// Adds a built-in dialect by its id or an alias, for example `hermes`. Its existence is checked when the engine is created. If
/// one byte matches several dialects, the one added first has precedence. A config without dialects means the default set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_config_add_builtin(
    config: *mut toolglot_config,
    id: *const c_void,
    len: usize,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(handle(config), |config| {
            let id = raw::text(id, len)?;
            config.change(|set| set.builtin(id));
            Ok(())
        })
    })
}

/// Adds every dialect of the default set that was not added yet: those that cannot fire on ordinary prose or code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_config_add_defaults(
    config: *mut toolglot_config,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(handle(config), |config| {
            config.change(SetBuilder::defaults);
            Ok(())
        })
    })
}

/// Adds every tool-call dialect that is compatible with those already added, for outputs of unknown format: also bare and
/// fenced JSON, bare lists, and tags named after tools. Only calls of declared tools count (`toolglot_options_set_tools`):
/// without tools, dialects without a marker of their own find nothing; with tools, calls of other tools are text unless
/// `TOOLGLOT_OPTION_UNKNOWN_TOOL` says otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_config_add_any(config: *mut toolglot_config) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(handle(config), |config| {
            config.change(SetBuilder::any);
            Ok(())
        })
    })
}

/// Adds a dialect of the host: the text of a TOML file as described in `docs/DIALECTS.md`. `origin` identifies it in messages
/// and may be empty. The text is copied; it is parsed when the engine is created.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_config_add_toml(
    config: *mut toolglot_config,
    origin: *const c_void,
    origin_len: usize,
    toml: *const c_void,
    toml_len: usize,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(handle(config), |config| {
            let (origin, toml) = (raw::text(origin, origin_len)?, raw::text(toml, toml_len)?);
            let origin = if origin.is_empty() { "dialect" } else { origin };
            config.toml(origin, toml);
            Ok(())
        })
    })
}

/// Enables a named variation of a dialect that was or will be added, for example `vcp` and `fuzzy`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_config_switch(
    config: *mut toolglot_config,
    dialect: *const c_void,
    dialect_len: usize,
    name: *const c_void,
    name_len: usize,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(handle(config), |config| {
            let (dialect, name) = (raw::text(dialect, dialect_len)?, raw::text(name, name_len)?);
            config.set = std::mem::take(&mut config.set).switch(dialect, name);
            Ok(())
        })
    })
}

/// One sentence about the last failure on this config, or of `toolglot_engine_new` with it; empty if there was none. Valid
/// until the next call with the config.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_config_error(config: *const toolglot_config) -> toolglot_view {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::value(toolglot_view::EMPTY, || {
        Some(unsafe { handle::message(handle(config)) })
    })
}

/// Frees the config. Engines made from it remain valid. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_config_free(config: *mut toolglot_config) {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::run(|| unsafe { handle::free(handle(config).cast_mut()) })
}
