//! Dialects that are compiled together.

use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::config::{self, Config, toolglot_config};
use crate::guard;
use crate::handle::{self, Handle, Kind};
use crate::memory;
use crate::raw::{self, toolglot_view};
use crate::status::{Done, toolglot_status};
use crate::tg::{DialectSet, Limits, builtin_files, models};

/// Compiled dialects. Immutable: any number of threads may use one engine at once, and any number of streams can be made from
/// it. Streams keep what they need, so the engine may be freed before them.
pub struct toolglot_engine {
    _private: (),
}

/// The contents of an engine.
#[derive(Debug)]
pub(crate) struct Engine {
    pub set: DialectSet,
    dialects: Vec<toolglot_view>,
    /// Made when they are asked for, because that takes all dialects.
    markers: OnceLock<Markers>,
    /// Whether what escaping needs was made.
    escapes: AtomicBool,
    /// Memory that the set takes with all its dialects, in bytes, or more. Anything made from it later takes less.
    weight: usize,
}

#[derive(Debug)]
struct Markers {
    list: Vec<toolglot_marker>,
    /// The texts that the markers point into.
    _texts: Vec<String>,
}

impl Kind for Engine {
    const MAGIC: u32 = 0x7467_656e;
    const NAME: &'static str = "the engine";
}

pub(crate) fn handle(engine: *const toolglot_engine) -> *const Handle<Engine> {
    engine.cast()
}

/// The dialects of an engine; `None` for NULL.
///
/// # Safety
/// The pointer is NULL or an engine that was not freed.
pub(crate) unsafe fn set(engine: *const toolglot_engine) -> Done<Option<DialectSet>> {
    if engine.is_null() {
        return Ok(None);
    }
    // SAFETY: guaranteed by the caller.
    unsafe {
        handle::read(handle(engine), |engine| {
            Ok(Some(engine.compiling()?.clone()))
        })
    }
}

/// A marker of the engine: for stop strings (closers), for tokens that a tokenizer must keep (all), and for starting
/// constrained decoding (openers).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct toolglot_marker {
    /// The marker. A tag is given up to its name, a pattern with holes (`$name`) up to the first one.
    pub text: toolglot_view,
    /// Id of its dialect.
    pub dialect: toolglot_view,
    /// One of `TOOLGLOT_MARKER_...`.
    pub role: u32,
    /// 0.
    pub reserved: u32,
}

/// Opens blocks of calls.
pub const TOOLGLOT_MARKER_OPEN: u32 = 1;
/// Closes blocks of calls.
pub const TOOLGLOT_MARKER_CLOSE: u32 = 2;
/// Opens reasoning.
pub const TOOLGLOT_MARKER_REASONING_OPEN: u32 = 3;
/// Closes reasoning.
pub const TOOLGLOT_MARKER_REASONING_CLOSE: u32 = 4;

impl Engine {
    fn new(set: DialectSet) -> Self {
        Self {
            dialects: set.ids().map(view).collect(),
            markers: OnceLock::new(),
            escapes: AtomicBool::new(false),
            set,
            weight: memory::taken().max(config::BUILTIN),
        }
    }

    fn markers(&self) -> Done<&[toolglot_marker]> {
        if self.markers.get().is_none() {
            let made = Markers::of(self.compiling()?);
            memory::check()?;
            self.markers.get_or_init(|| made);
        }
        Ok(self.markers.get().map_or(&[], |made| &made.list))
    }

    /// Returns the set, after reserving memory for callers that compile more of it than streams do.
    pub fn compiling(&self) -> Done<&DialectSet> {
        memory::ensure(self.weight)?;
        Ok(&self.set)
    }

    /// Escapes or unescapes. The first time builds tables, for which memory is reserved.
    pub fn escaping<R>(&self, body: impl FnOnce(&DialectSet) -> Done<R>) -> Done<R> {
        if self.escapes.load(Ordering::Relaxed) {
            return body(&self.set);
        }
        let done = body(self.compiling()?)?;
        memory::check()?;
        self.escapes.store(true, Ordering::Relaxed);
        Ok(done)
    }
}

impl Markers {
    fn of(set: &DialectSet) -> Self {
        let mut texts = vec![];
        let mut places = vec![];
        for dialect in set.dialects() {
            let lists = [
                (TOOLGLOT_MARKER_OPEN, dialect.openers()),
                (TOOLGLOT_MARKER_CLOSE, dialect.closers()),
                (TOOLGLOT_MARKER_REASONING_OPEN, dialect.reasoning_openers()),
                (TOOLGLOT_MARKER_REASONING_CLOSE, dialect.reasoning_closers()),
            ];
            for (role, list) in lists {
                places.extend(list.iter().map(|_| (role, view(dialect.id()))));
                texts.extend(list);
            }
        }
        let marker = |(text, (role, dialect)): (&String, &(u32, toolglot_view))| toolglot_marker {
            text: view(text),
            dialect: *dialect,
            role: *role,
            reserved: 0,
        };
        Self {
            list: texts.iter().zip(&places).map(marker).collect(),
            _texts: texts,
        }
    }
}

/// A view of text that lives as long as a set.
fn view(text: &str) -> toolglot_view {
    toolglot_view::of(text.as_bytes())
}

/// Compiles the dialects of a config, or the default set if `config` is NULL. The caller keeps the config, and frees the
/// engine. On `TOOLGLOT_E_DIALECT`, `toolglot_config_error` says which key of which dialect is wrong and why. Takes
/// a few milliseconds for the default set, whose dialects are built when a stream first meets them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_engine_new(
    config: *const toolglot_config,
    out: *mut *mut toolglot_engine,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        let out = raw::out(out)?;
        let set = match config.is_null() {
            true => {
                config::compiling(0)?;
                DialectSet::defaults()
            }
            false => handle::look(config::handle(config), Config::build)?,
        };
        out.write(handle::new(Engine::new(set))?.cast());
        Ok(())
    })
}

/// The markers of the engine, in the order of its dialects: `*markers` is set to the first of `*len`. They live as long as the
/// engine. The first call takes some ten milliseconds for the default set, whose dialects it builds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_engine_markers(
    engine: *const toolglot_engine,
    markers: *mut *const toolglot_marker,
    len: *mut usize,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::read(handle(engine), |engine| {
            raw::list(engine.markers()?, markers, len)
        })
    })
}

/// The ids of the engine's dialects, in order: `*ids` is set to the first of `*len`. They live as long as the engine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_engine_dialects(
    engine: *const toolglot_engine,
    ids: *mut *const toolglot_view,
    len: *mut usize,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::read(handle(engine), |engine| {
            raw::list(&engine.dialects, ids, len)
        })
    })
}

/// The maximum number of bytes of text that a stream with default limits holds back. 0 if `engine` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_engine_bound(engine: *const toolglot_engine) -> usize {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::value(0, || unsafe {
        handle::read(handle(engine), |engine| {
            Ok(engine.compiling()?.bound(&Limits::default()))
        })
        .ok()
    })
}

/// The id of a built-in dialect by its index, from 0; empty if the index is too large. Static. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn toolglot_builtin_dialect(number: usize) -> toolglot_view {
    guard::value(toolglot_view::EMPTY, || {
        let (id, _) = builtin_files().get(number)?;
        Some(toolglot_view::of(id.as_bytes()))
    })
}

/// The built-in dialects in which a model writes its calls, by the model's name (that of its publisher, of a server or of a
/// file): the id of one by its index, from 0; empty if the index is too large, or no dialect is known for the name. Most models
/// have one; those of one model are compatible in one engine. Static. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_model_dialect(
    name: *const c_void,
    len: usize,
    number: usize,
) -> toolglot_view {
    guard::value(toolglot_view::EMPTY, || {
        // SAFETY: the contract of the header, see the essay in lib.rs.
        let name = unsafe { raw::text(name, len) }.ok()?;
        let id = models::dialects(name).calls.get(number).copied()?;
        Some(toolglot_view::of(id.as_bytes()))
    })
}

/// The built-in dialect that reads a model's reasoning alone. Where a dialect of its calls reads the reasoning as well, an engine
/// with both is refused (`TOOLGLOT_E_DIALECT`): leave this one out. Empty if there is none. Static. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_model_reasoning(
    name: *const c_void,
    len: usize,
) -> toolglot_view {
    guard::value(toolglot_view::EMPTY, || {
        // SAFETY: the contract of the header, see the essay in lib.rs.
        let name = unsafe { raw::text(name, len) }.ok()?;
        let id = models::dialects(name).reasoning?;
        Some(toolglot_view::of(id.as_bytes()))
    })
}

/// Frees the engine and its markers. Its streams remain valid. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_engine_free(engine: *mut toolglot_engine) {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::run(|| unsafe { handle::free(handle(engine).cast_mut()) })
}
