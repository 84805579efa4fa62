//! A whole output, for hosts that do not need it piece by piece.

use std::ffi::c_void;
use std::sync::Arc;

use crate::batch::graded;
use crate::config;
use crate::engine::{self, toolglot_engine};
use crate::event::{TOOLGLOT_FLAG_ERROR, TOOLGLOT_FLAG_NATIVE, toolglot_batch};
use crate::guard;
use crate::handle::{self, Handle, Kind};
use crate::memory;
use crate::options::{self, Odd, Settings, toolglot_options};
use crate::raw::{self, first_of, toolglot_view};
use crate::replay::{Take, replay};
use crate::status::{Done, Fault, toolglot_status};
use crate::stream::{in_pieces, reason};
use crate::tg::{Call, Collect, DialectSet, Event, Origin, Parser, Report, Severity, Sink};

/// The contents of an output, collected: its text, its reasoning, its calls with whole arguments, its issues. One thread at a
/// time. What it returns is valid until something is added to it, or it is reset or freed.
pub struct toolglot_turn {
    _private: (),
}

/// The contents of a turn.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    pub collect: Collect,
    calls: Vec<toolglot_call>,
    open: Option<toolglot_call>,
    details: Vec<toolglot_detail>,
    kinds: Vec<u8>,
    issues: Vec<toolglot_issue>,
    asked: Asked,
    /// The problems of the tools that it was parsed with.
    odd: Option<Arc<Odd>>,
    /// What was left out, as JSON; empty if there is nothing to report.
    left: String,
    /// The guarded text, if it ends here; until something is added.
    guarded: Option<Vec<u8>>,
    /// The arrays do not show everything that was collected.
    stale: bool,
}

/// What the host asked of a turn; kept across a reset.
#[derive(Debug, Default)]
struct Asked {
    /// The set for whose readers the text is guarded.
    guard: Option<DialectSet>,
    /// All that the model wrote is kept.
    original: bool,
}

impl Kind for Turn {
    const MAGIC: u32 = 0x7467_7475;
    const NAME: &'static str = "the turn";
}

pub(crate) fn handle(turn: *const toolglot_turn) -> *const Handle<Turn> {
    turn.cast()
}

impl Sink for Gathering<'_> {
    fn event(&mut self, event: Event<'_>) {
        self.0.event(event);
    }
}

struct Gathering<'a>(&'a mut Collect);

impl Take for Gathering<'_> {
    fn report(&mut self, report: Report) {
        self.0.report(report);
    }
}

/// What a format says about a call besides name and arguments, for example `id`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct toolglot_detail {
    /// The key.
    pub key: toolglot_view,
    /// The value.
    pub value: toolglot_view,
}

/// A call: 104 bytes with 8-byte pointers.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct toolglot_call {
    /// Name of the tool.
    pub name: toolglot_view,
    /// JSON text of an object; numbers are spelled as the model spelled them. A repeated key has its last value.
    pub arguments: toolglot_view,
    /// Id of its dialect; empty for an API tool call.
    pub dialect: toolglot_view,
    /// Why it is not complete: kinds of issues, one byte each, ascending.
    pub kinds: toolglot_view,
    /// The first of its details.
    pub details: *const toolglot_detail,
    /// The number of details.
    pub details_len: usize,
    /// Offset of its first byte.
    pub start: u64,
    /// Offset after its last byte.
    pub end: u64,
    /// Flags: complete, repaired or recovered (do not run it without asking); native.
    pub flags: u32,
    /// Its number in the turn, from 0.
    pub index: u32,
}

/// One mistake in what the model wrote.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct toolglot_issue {
    /// Its kind, `TOOLGLOT_ISSUE_...`.
    pub code: u32,
    /// `TOOLGLOT_FLAG_ERROR`, or 0 for a warning.
    pub flags: u32,
    /// One sentence for people.
    pub message: toolglot_view,
    /// What to tell the model.
    pub observation: toolglot_view,
    /// Id of the dialect that reports it, or empty.
    pub dialect: toolglot_view,
    /// Offset of its first byte.
    pub start: u64,
    /// Offset after its last byte.
    pub end: u64,
}

fn of(text: &str) -> toolglot_view {
    toolglot_view::of(text.as_bytes())
}

impl Turn {
    /// An empty turn with these settings.
    fn asked(asked: Asked) -> Self {
        let mut collect = Collect::new();
        if let Some(set) = &asked.guard {
            collect = collect.guard(set);
        }
        if asked.original {
            collect = collect.keep_original();
        }
        Self {
            collect,
            asked,
            ..Self::default()
        }
    }

    /// Empties it, and changes its settings.
    fn anew(&mut self, change: impl FnOnce(&mut Asked)) {
        let mut asked = std::mem::take(&mut self.asked);
        change(&mut asked);
        *self = Self::asked(asked);
    }

    /// Rebuilds the arrays if necessary.
    fn show(&mut self) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        self.details.clear();
        self.kinds.clear();
        for call in self.collect.calls().iter().chain(self.collect.open_call()) {
            let pair = |(key, value): &(String, String)| toolglot_detail {
                key: of(key),
                value: of(value),
            };
            self.details.extend(call.meta.iter().map(pair));
            self.kinds
                .extend(call.kinds.iter().map(|kind| kind.code() as u8));
        }
        // Both lists are complete and do not move from here on.
        let (mut details, mut kinds) = (&self.details[..], &self.kinds[..]);
        let mut show = |(index, call): (u32, &Call)| {
            let (own, rest) = details.split_at(call.meta.len());
            details = rest;
            let (why, rest) = kinds.split_at(call.kinds.iter().count());
            kinds = rest;
            let native = match call.origin {
                Origin::Native => TOOLGLOT_FLAG_NATIVE,
                _ => 0,
            };
            toolglot_call {
                name: of(&call.name),
                arguments: of(&call.arguments),
                dialect: of(&call.dialect),
                kinds: toolglot_view::of(why),
                details: first_of(own),
                details_len: own.len(),
                start: call.span.start,
                end: call.span.end,
                flags: graded(call.grade) | native,
                index,
            }
        };
        self.calls.clear();
        self.calls
            .extend((0..).zip(self.collect.calls()).map(&mut show));
        self.open = self.collect.open_call().map(|call| {
            let mut open = show((self.calls.len() as u32, call));
            // Its grade is known only when it closes.
            open.flags &= TOOLGLOT_FLAG_NATIVE;
            open
        });
        let issue = |report: &Report| toolglot_issue {
            code: u32::from(report.kind.code()),
            flags: match report.severity {
                Severity::Error => TOOLGLOT_FLAG_ERROR,
                Severity::Warning => 0,
            },
            message: of(&report.message),
            observation: of(&report.observation),
            dialect: of(&report.dialect),
            start: report.span.start,
            end: report.span.end,
        };
        self.issues.clear();
        self.issues.extend(self.collect.issues().iter().map(issue));
        let left = self.collect.not_delivered();
        self.left = match left.is_empty() {
            true => String::new(),
            false => left.to_json(),
        };
    }
}

/// Creates an empty turn, to be filled with the batches of a stream; the caller frees it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_turn_new(out: *mut *mut toolglot_turn) -> toolglot_status {
    guard::status(|| {
        // SAFETY: the contract of the header, see the essay in lib.rs.
        let out = unsafe { raw::out(out) }?;
        out.write(handle::new(Turn::default())?.cast());
        Ok(())
    })
}

/// Prevents the text from being read as a call by another reader of this engine's dialects, for hosts that send it on without
/// the calls: text that comes back from a retracted block is escaped (`toolglot_escape`), and text around a removed call does
/// not join to form a marker. Without it the text is verbatim. NULL for `engine` disables it. This empties the turn and is kept
/// across `toolglot_turn_reset`; the engine may be freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_turn_guard(
    turn: *mut toolglot_turn,
    engine: *const toolglot_engine,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(handle(turn), |turn| {
            let set = engine::set(engine)?;
            turn.anew(|asked| asked.guard = set);
            Ok(())
        })
    })
}

/// Keeps all that the model wrote, markup included, for `toolglot_turn_original`: as much memory again as the output is long.
/// `keep` is 1, or 0 to disable it. This empties the turn and is kept across `toolglot_turn_reset`. For `toolglot_parse` use
/// `TOOLGLOT_OPTION_ORIGINAL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_turn_keep_original(
    turn: *mut toolglot_turn,
    keep: u32,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(handle(turn), |turn| {
            if keep > 1 {
                return Err(Fault::arg(format!("`keep` is 0 or 1, not {keep}")));
            }
            turn.anew(|asked| asked.original = keep == 1);
            Ok(())
        })
    })
}

/// Adds the events of a batch, which must still be valid. Give it every batch of one stream in order, with all kinds of events.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_turn_add(
    turn: *mut toolglot_turn,
    batch: *const toolglot_batch,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(handle(turn), |turn| {
            let batch = raw::value(batch)?;
            (turn.stale, turn.guarded) = (true, None);
            replay(&batch, &mut Gathering(&mut turn.collect))
        })
    })
}

/// Adds hints to a finished turn without calls: an issue (`TOOLGLOT_ISSUE_BARE_CALL`) for each call of a declared tool in its
/// text that no dialect of the engine has read. `options` say which tools are declared; the problems of their list are in
/// `toolglot_turn_tool_issues` from now on. `toolglot_parse` has done this already.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_turn_hint(
    turn: *mut toolglot_turn,
    options: *const toolglot_options,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        let Settings { options, odd, .. } = options::settings(options)?;
        handle::write(handle(turn), |turn| {
            turn.stale = true;
            turn.odd = odd;
            config::compiling(0)?;
            turn.collect.hint(options.hinted());
            Ok(())
        })
    })
}

/// Parses a whole output into a new turn; the caller frees it. `options` may be NULL; `reason` is one of `TOOLGLOT_FINISH_...`.
/// The result equals that of a stream fed with the output in any chunks. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_parse(
    engine: *const toolglot_engine,
    options: *const toolglot_options,
    data: *const c_void,
    len: usize,
    reason: u32,
    out: *mut *mut toolglot_turn,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        let out = raw::out(out)?;
        let input = raw::chunk(data, len)?;
        let finish = self::reason(reason)?;
        let Settings {
            options,
            original,
            odd,
            ..
        } = options::settings(options)?;
        let asked = Asked {
            original,
            ..Asked::default()
        };
        let mut turn = Turn::asked(asked);
        handle::read(engine::handle(engine), |engine| {
            let tools = options.hinted().cloned();
            let mut parser = Parser::new(&engine.set, options);
            in_pieces(input, |piece| {
                parser.feed(piece, &mut turn.collect);
            });
            memory::check()?;
            parser.finish(finish, &mut turn.collect);
            if tools.is_some() {
                config::compiling(0)?;
                turn.collect.hint(tools.as_ref());
            }
            Ok(())
        })?;
        turn.stale = true;
        turn.odd = odd;
        out.write(handle::new(turn)?.cast());
        Ok(())
    })
}

/// The text outside calls and reasoning, concatenated: the bytes as they arrived, not necessarily UTF-8. Empty if `turn` is
/// NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_turn_text(turn: *const toolglot_turn) -> toolglot_view {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::value(toolglot_view::EMPTY, || unsafe {
        handle::write(handle(turn), |turn| {
            let Turn {
                collect, guarded, ..
            } = turn;
            let text = match turn.asked.guard {
                None => collect.text(),
                Some(_) => guarded.get_or_insert_with(|| {
                    // More may come: what waits is only shown.
                    let mut ended = collect.clone();
                    ended.finished();
                    ended.text().to_vec()
                }),
            };
            Ok(toolglot_view::of(text))
        })
        .ok()
    })
}

/// The reasoning, concatenated, without its markers. Empty if `turn` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_turn_reasoning(turn: *const toolglot_turn) -> toolglot_view {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::value(toolglot_view::EMPTY, || unsafe {
        handle::read(handle(turn), |turn| {
            Ok(toolglot_view::of(turn.collect.reasoning()))
        })
        .ok()
    })
}

/// The calls that closed and were not retracted, in order: `*calls` is set to the first of `*len`. Linear in the calls and
/// issues of the turn if something was added since the last query.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_turn_calls(
    turn: *const toolglot_turn,
    calls: *mut *const toolglot_call,
    len: *mut usize,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(handle(turn), |turn| {
            turn.show();
            memory::check()?;
            raw::list(&turn.calls, calls, len)
        })
    })
}

/// The open call, with its arguments so far: JSON text, final as far as it goes, and no grade yet. `*call` is set to NULL if no
/// call is open, and for formats whose calls open only when their block ends. Cost: that of `toolglot_turn_calls`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_turn_open_call(
    turn: *const toolglot_turn,
    call: *mut *const toolglot_call,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(handle(turn), |turn| {
            let out = raw::out(call)?;
            turn.show();
            memory::check()?;
            out.write(
                turn.open
                    .as_ref()
                    .map_or(std::ptr::null(), std::ptr::from_ref),
            );
            Ok(())
        })
    })
}

/// The issues, errors and warnings, in order of detection: `*issues` is set to the first of `*len`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_turn_issues(
    turn: *const toolglot_turn,
    issues: *mut *const toolglot_issue,
    len: *mut usize,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(handle(turn), |turn| {
            turn.show();
            memory::check()?;
            raw::list(&turn.issues, issues, len)
        })
    })
}

/// What a host does not get, or should not act on without asking, as JSON text: recovered calls, and bytes of dropped blocks.
/// `{"withheld": [{"name", "kinds", "span"}], "dropped": [{"span", "kinds"}]}`; kinds by their names, spans as `[start, end]`.
/// Empty if there is nothing to report.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_turn_not_delivered(
    turn: *const toolglot_turn,
    json: *mut toolglot_view,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        let json = raw::out(json)?;
        handle::write(handle(turn), |turn| {
            turn.show();
            memory::check()?;
            json.write(of(&turn.left));
            Ok(())
        })
    })
}

/// All that the model wrote, markup included: the bytes as they arrived. `*kept` is set to 1 if `toolglot_turn_keep_original`
/// or `TOOLGLOT_OPTION_ORIGINAL` asked for it and all of it was retained; otherwise to 0, and the text is empty: a block of a
/// stream with `TOOLGLOT_RETAIN_NONE`, or without `TOOLGLOT_OPTION_BLOCK_BYTES`, has no bytes to keep.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_turn_original(
    turn: *const toolglot_turn,
    original: *mut toolglot_view,
    kept: *mut u32,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        let (original, kept) = (raw::out(original)?, raw::out(kept)?);
        handle::read(handle(turn), |turn| {
            let bytes = turn.collect.original();
            kept.write(u32::from(bytes.is_some()));
            original.write(toolglot_view::of(bytes.unwrap_or_default()));
            Ok(())
        })
    })
}

/// The problems of the list of tools that was given to `toolglot_parse` or `toolglot_turn_hint`, one sentence each, like
/// `toolglot_options_tool_issues`: `*issues` is set to the first of `*len`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_turn_tool_issues(
    turn: *const toolglot_turn,
    issues: *mut *const toolglot_view,
    len: *mut usize,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::read(handle(turn), |turn| {
            raw::list(Odd::views(turn.odd.as_deref()), issues, len)
        })
    })
}

/// Empties the turn for another output.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_turn_reset(turn: *mut toolglot_turn) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(handle(turn), |turn| -> Done {
            turn.anew(|_| {});
            Ok(())
        })
    })
}

/// One sentence about the last failure on this turn; empty if there was none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_turn_error(turn: *const toolglot_turn) -> toolglot_view {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::value(toolglot_view::EMPTY, || {
        Some(unsafe { handle::message(handle(turn)) })
    })
}

/// Frees the turn and everything that it returned. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_turn_free(turn: *mut toolglot_turn) {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::run(|| unsafe { handle::free(handle(turn).cast_mut()) })
}
