//! Writes batches as OpenAI chat completions.

use std::ffi::{c_char, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use crate::buffer::{self, toolglot_buffer};
use crate::engine::{self, toolglot_engine};
use crate::event::toolglot_batch;
use crate::guard;
use crate::handle::{self, Handle, Kind};
use crate::raw::{self, toolglot_view};
use crate::replay::{Take, replay};
use crate::seed;
use crate::status::{Done, Fault, TOOLGLOT_E_STATE, toolglot_status};
use crate::stream::reason;
use crate::tg::sink::openai::{Calls, Delta, Deltas, Head, Recovered, Settings, completion};
use crate::tg::{DialectSet, Event, Finish, Report, Sink};
use crate::turn::{self, toolglot_turn};

/// A writer for the chat completion of one output: chunks for a streamed response, or one object. The documentation of the Rust
/// module `sink::openai` describes the order, the ids, `finish_reason` and how calls are retracted; above all, no client takes
/// a retracted call for a complete one. One thread at a time.
pub struct toolglot_openai {
    _private: (),
}

/// A function of the host that makes the id of a call: it writes at most `cap` bytes of UTF-8 to `out` and returns how many.
/// `index` counts calls from 0. It is called if the format gave no id, or a repeated one; it must return unique ids. It must
/// return: no exception, no `longjmp`.
pub type toolglot_id_callback = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        index: u32,
        name: *const c_char,
        name_len: usize,
        out: *mut c_char,
        cap: usize,
    ) -> usize,
>;

/// Maximum size of an id, in bytes.
const ID: usize = 256;

/// When calls are sent: 0 while they are written, with the last `}` once the call is final (default); 1 whole, when their block
/// has closed.
pub const TOOLGLOT_OPENAI_CALLS: u32 = 1;
/// What happens to recovered calls: 0 they are withheld (default), 1 they are delivered like complete ones.
pub const TOOLGLOT_OPENAI_RECOVERED: u32 = 2;
/// 1: include protected regions in the content. Default 0.
pub const TOOLGLOT_OPENAI_PROTECTED: u32 = 3;
/// 1: the host forced a tool by name; the reason is then `stop` even if there is a call. Default 0.
pub const TOOLGLOT_OPENAI_FORCED: u32 = 4;
/// The seed of generated ids: equal seeds give equal ids. By default every response has its own.
pub const TOOLGLOT_OPENAI_ID_SEED: u32 = 5;
/// `created`: seconds since 1970. Default 0.
pub const TOOLGLOT_OPENAI_CREATED: u32 = 6;
/// `index` of the choice. Default 0.
pub const TOOLGLOT_OPENAI_CHOICE: u32 = 7;
/// 1: chunks are framed as server-sent events, `data: {...}` and an empty line, with `data: [DONE]` at the end (unless the
/// output was cancelled). Default 0: one line each.
pub const TOOLGLOT_OPENAI_SSE: u32 = 8;
/// Text: `id` of the response. Default empty.
pub const TOOLGLOT_OPENAI_ID: u32 = 32;
/// Text: `model`. Default empty.
pub const TOOLGLOT_OPENAI_MODEL: u32 = 33;
/// Text: the member that holds reasoning; empty omits reasoning. Default `reasoning_content`.
pub const TOOLGLOT_OPENAI_REASONING: u32 = 34;
/// Text: the prefix of generated ids. Default `call_`.
pub const TOOLGLOT_OPENAI_ID_PREFIX: u32 = 35;

type Door = Box<dyn FnMut(Delta<'_>) + Send>;

/// The contents of a writer.
#[derive(Default)]
pub(crate) struct Writer {
    settings: Settings,
    /// The host's seed for ids; without it each response gets its own.
    seed: Option<u64>,
    head: Head,
    sse: bool,
    /// The set for whose readers the content is guarded.
    guard: Option<DialectSet>,
    ids: Option<Host>,
    /// The current response, once something was written.
    deltas: Option<Deltas<Door>>,
    written: Arc<Mutex<Vec<u8>>>,
}

/// The host's rule for ids.
#[derive(Clone, Copy)]
struct Host {
    rule: unsafe extern "C" fn(*mut c_void, u32, *const c_char, usize, *mut c_char, usize) -> usize,
    user: *mut c_void,
}

// SAFETY: the host gave the pointer for calls from any thread that uses the handle, one at a time.
unsafe impl Send for Host {}

impl Host {
    fn make(&self, index: u32, name: &str) -> String {
        let mut out = [0u8; ID];
        // SAFETY: the host gave this function for this purpose; it writes at most `cap` bytes.
        let len = unsafe {
            (self.rule)(
                self.user,
                index,
                name.as_ptr().cast(),
                name.len(),
                out.as_mut_ptr().cast(),
                ID,
            )
        };
        String::from_utf8_lossy(&out[..len.min(ID)]).into_owned()
    }
}

impl Kind for Writer {
    const MAGIC: u32 = 0x7467_6f61;
    const NAME: &'static str = "the writer";
}

fn handle(openai: *const toolglot_openai) -> *const Handle<Writer> {
    openai.cast()
}

struct Through<'a>(&'a mut Deltas<Door>);

impl Sink for Through<'_> {
    fn event(&mut self, event: Event<'_>) {
        self.0.event(event);
    }
}

impl Take for Through<'_> {
    fn report(&mut self, report: Report) {
        self.0.report(&report);
    }
}

impl Writer {
    fn set(&mut self, option: u32, value: u64) -> Done {
        self.idle()?;
        let flag = || match value {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Fault::arg(format!(
                "option {option} is 0 or 1, not {value}"
            ))),
        };
        let settings = &mut self.settings;
        match option {
            TOOLGLOT_OPENAI_CALLS => {
                settings.calls = if flag()? { Calls::AtClose } else { Calls::Live };
            }
            TOOLGLOT_OPENAI_RECOVERED => {
                settings.recovered = if flag()? {
                    Recovered::Deliver
                } else {
                    Recovered::Withhold
                };
            }
            TOOLGLOT_OPENAI_PROTECTED => settings.protected = flag()?,
            TOOLGLOT_OPENAI_FORCED => settings.forced = flag()?,
            TOOLGLOT_OPENAI_ID_SEED => self.seed = Some(value),
            TOOLGLOT_OPENAI_CREATED => self.head.created = value,
            TOOLGLOT_OPENAI_CHOICE => {
                let choice = u32::try_from(value);
                self.head.choice =
                    choice.map_err(|_| Fault::arg("the choice number is too large"))?;
            }
            TOOLGLOT_OPENAI_SSE => self.sse = flag()?,
            _ => {
                return Err(Fault::arg(format!(
                    "there is no option {option} with a number"
                )));
            }
        }
        Ok(())
    }

    fn set_text(&mut self, option: u32, text: &str) -> Done {
        self.idle()?;
        let owned = text.to_owned();
        match option {
            TOOLGLOT_OPENAI_ID => self.head.id = owned,
            TOOLGLOT_OPENAI_MODEL => self.head.model = owned,
            TOOLGLOT_OPENAI_REASONING => {
                self.settings.reasoning = (!owned.is_empty()).then_some(owned);
            }
            TOOLGLOT_OPENAI_ID_PREFIX => self.settings.id_prefix = owned,
            _ => {
                return Err(Fault::arg(format!(
                    "there is no option {option} with a text"
                )));
            }
        }
        Ok(())
    }

    fn idle(&self) -> Done {
        match self.deltas {
            None => Ok(()),
            Some(_) => Err(Fault::new(TOOLGLOT_E_STATE, "the response has begun")),
        }
    }

    fn deltas(&mut self) -> &mut Deltas<Door> {
        let (head, sse, written) = (&self.head, self.sse, &self.written);
        let (settings, seed, ids) = (&self.settings, self.seed, self.ids);
        let guard = self.guard.as_ref();
        self.deltas.get_or_insert_with(|| {
            let settings = seeded(settings, seed);
            let (head, written) = (head.clone(), Arc::clone(written));
            let take: Door = Box::new(move |delta| {
                let mut out = written.lock().unwrap_or_else(PoisonError::into_inner);
                line(&mut out, sse, &delta.to_json(&head));
            });
            let deltas = Deltas::new(settings, take);
            let deltas = match guard {
                Some(set) => deltas.guard(set),
                None => deltas,
            };
            match ids {
                Some(host) => deltas.with_ids(move |index, name| host.make(index, name)),
                None => deltas,
            }
        })
    }

    /// Writes the output to a buffer.
    fn give(&self, buffer: &mut Vec<u8>) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut *written, buffer);
        written.clear();
    }
}

/// The settings of one response.
fn seeded(settings: &Settings, seed: Option<u64>) -> Settings {
    let mut settings = settings.clone();
    settings.id_seed = seed.unwrap_or_else(seed::fresh);
    settings
}

fn line(out: &mut Vec<u8>, sse: bool, json: &str) {
    let (before, after) = if sse { ("data: ", "\n\n") } else { ("", "\n") };
    for part in [before, json, after] {
        out.extend_from_slice(part.as_bytes());
    }
}

/// Creates a writer with all defaults; the caller frees it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_openai_new(out: *mut *mut toolglot_openai) -> toolglot_status {
    guard::status(|| {
        // SAFETY: the contract of the header, see the essay in lib.rs.
        let out = unsafe { raw::out(out) }?;
        out.write(handle::new(Writer::default())?.cast());
        Ok(())
    })
}

/// Sets a numeric option, `TOOLGLOT_OPENAI_...`, before the response begins (else `TOOLGLOT_E_STATE`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_openai_set(
    openai: *mut toolglot_openai,
    option: u32,
    value: u64,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe { handle::write(handle(openai), |writer| writer.set(option, value)) })
}

/// Sets a text option, `TOOLGLOT_OPENAI_...`, before the response begins (else `TOOLGLOT_E_STATE`). The text is copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_openai_set_text(
    openai: *mut toolglot_openai,
    option: u32,
    text: *const c_void,
    len: usize,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(handle(openai), |writer| {
            writer.set_text(option, raw::text(text, len)?)
        })
    })
}

/// Lets the host make ids of calls. Set it before the response begins (else `TOOLGLOT_E_STATE`). NULL for `rule` returns to
/// generated ids. `user` is passed to every call of `rule` and must live as long as the writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_openai_set_ids(
    openai: *mut toolglot_openai,
    rule: toolglot_id_callback,
    user: *mut c_void,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(handle(openai), |writer| {
            writer.idle()?;
            writer.ids = rule.map(|rule| Host { rule, user });
            Ok(())
        })
    })
}

/// Prevents the content of responses from being read as a call by another reader of this engine's dialects, like
/// `toolglot_turn_guard` for a turn (`toolglot_openai_completion` takes its content from the turn). Set it before the response
/// begins (else `TOOLGLOT_E_STATE`); it stays set for later responses. NULL for `engine` disables it; the engine may be freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_openai_guard(
    openai: *mut toolglot_openai,
    engine: *const toolglot_engine,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(handle(openai), |writer| {
            writer.idle()?;
            writer.guard = engine::set(engine)?;
            Ok(())
        })
    })
}

/// Writes the chunks for a batch into the buffer, replacing its contents; often there are none. Give it every batch of one
/// stream in order, with all kinds of events.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_openai_write(
    openai: *mut toolglot_openai,
    batch: *const toolglot_batch,
    buffer: *mut toolglot_buffer,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(handle(openai), |writer| {
            handle::write(buffer::handle(buffer), |buffer| {
                let batch = raw::value(batch)?;
                replay(&batch, &mut Through(writer.deltas()))?;
                writer.give(buffer);
                Ok(())
            })
        })
    })
}

/// Ends the response: writes its last chunks, with `finish_reason`, into the buffer. The writer is then ready for the next
/// response. `reason` is one of `TOOLGLOT_FINISH_...`, the one that the stream was finished with.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_openai_finish(
    openai: *mut toolglot_openai,
    reason: u32,
    buffer: *mut toolglot_buffer,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(handle(openai), |writer| {
            handle::write(buffer::handle(buffer), |buffer| {
                let reason = self::reason(reason)?;
                writer.deltas().finish(reason);
                writer.deltas = None;
                writer.give(buffer);
                if writer.sse && reason != Finish::Cancelled {
                    line(buffer, true, "[DONE]");
                }
                Ok(())
            })
        })
    })
}

/// Writes a turn as one `chat.completion` object into the buffer, with the settings of the writer (except ids made by the
/// host). `reason` is one of `TOOLGLOT_FINISH_...`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_openai_completion(
    openai: *mut toolglot_openai,
    turn: *const toolglot_turn,
    reason: u32,
    buffer: *mut toolglot_buffer,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(handle(openai), |writer| {
            handle::write(buffer::handle(buffer), |buffer| {
                let reason = self::reason(reason)?;
                let turn =
                    handle::read(turn::handle(turn), |turn| Ok(turn.collect.clone().turn()))?;
                let settings = seeded(&writer.settings, writer.seed);
                *buffer = completion(&turn, &writer.head, &settings, reason).into_bytes();
                Ok(())
            })
        })
    })
}

/// One sentence about the last failure on this writer; empty if there was none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_openai_error(openai: *const toolglot_openai) -> toolglot_view {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::value(toolglot_view::EMPTY, || {
        Some(unsafe { handle::message(handle(openai)) })
    })
}

/// Frees the writer. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_openai_free(openai: *mut toolglot_openai) {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::run(|| unsafe { handle::free(handle(openai).cast_mut()) })
}
