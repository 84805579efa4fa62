//! Which dialects are looked for.

use std::ffi::c_void;

use crate::guard;
use crate::handle::{self, Handle, Kind};
use crate::library::TOOLGLOT_ABI_VERSION;
use crate::memory;
use crate::raw::{self, toolglot_view};
use crate::status::{Done, Fault, TOOLGLOT_E_ABI, TOOLGLOT_E_DIALECT, toolglot_status};
use crate::tg::{DialectSet, SetBuilder};

/// A list of dialects that is to become an engine. One thread at a time, also in
/// `toolglot_engine_new`.
pub struct toolglot_config {
    _private: (),
}

/// What stands after it.
#[derive(Debug, Default)]
pub(crate) struct Config {
    set: SetBuilder,
    some: bool,
    /// Bytes of the host's files.
    written: usize,
}

/// What the built-in dialects take together while they are compiled, and what each byte of a host's file may.
const BUILTIN: usize = 3 << 20;
const COMPILED: usize = 64;

/// A set is compiled: of the built-in dialects, and of so many bytes of a host's files.
pub(crate) fn compiling(written: usize) -> Done {
    memory::ensure(BUILTIN.saturating_add(written.saturating_mul(COMPILED)))
}

impl Kind for Config {
    const MAGIC: u32 = 0x7467_6366;
    const NAME: &'static str = "the config";
}

impl Config {
    fn change(&mut self, step: impl FnOnce(SetBuilder) -> SetBuilder) {
        self.set = step(std::mem::take(&mut self.set));
        self.some = true;
    }

    /// The set; the default one if no dialect was named.
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

/// Makes a config without dialects, which is the caller's to free. `abi` is `TOOLGLOT_ABI_VERSION`; the answer is
/// `TOOLGLOT_E_ABI` if the library is of another version, and `*out` is not touched then.
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

/// Adds a built-in dialect by its id or an alias, for example `hermes`. That it exists is checked when the engine is made.
/// Dialects added first come first where one byte satisfies several. A config to which nothing is added stands for the
/// default set.
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

/// Adds every dialect of the default set that is not there yet: those that cannot fire on ordinary prose or code.
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

/// Adds every dialect of calls that can be active beside those that are there, for outputs of which nothing is known: bare and
/// fenced JSON, bare lists and tags named after tools too. Only calls of declared tools count (`toolglot_options_set_tools`):
/// without tools none that has no marker of its own, and with them calls of other tools are text unless
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

/// Adds a dialect of the host: the text of a TOML file as `docs/DIALECTS.md` describes it. `origin` names it in messages
/// and may be empty. The text is copied; it is read when the engine is made.
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
            config.written = config.written.saturating_add(toml.len());
            config.change(|set| set.toml(origin, toml));
            Ok(())
        })
    })
}

/// Switches on a named variation of a dialect that is or will be added, for example `vcp` and `fuzzy`.
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

/// One sentence about the last failure on this config, or of `toolglot_engine_new` with it; empty if there was none. Lives
/// until the next call with the config.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_config_error(config: *const toolglot_config) -> toolglot_view {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::value(toolglot_view::EMPTY, || {
        Some(unsafe { handle::message(handle(config)) })
    })
}

/// Frees the config. Engines made of it stay. NULL is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_config_free(config: *mut toolglot_config) {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::run(|| unsafe { handle::free(handle(config).cast_mut()) })
}
