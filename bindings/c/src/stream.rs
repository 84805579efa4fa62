//! One model output.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::atomic::Ordering;

use crate::batch::{Batch, Wanted};
use crate::buffer::{self, toolglot_buffer};
use crate::engine::{self, toolglot_engine};
use crate::event::{TOOLGLOT_EVENT_TEXT, toolglot_batch, toolglot_event};
use crate::guard;
use crate::handle::{self, Handle, Kind};
use crate::library::LIVE;
use crate::memory::{self, PIECE};
use crate::options::{self, Settings, toolglot_options};
use crate::raw::{self, toolglot_view};
use crate::status::{
    Done, Fault, TOOLGLOT_E_SNAPSHOT, TOOLGLOT_E_STATE, TOOLGLOT_E_STOPPED, toolglot_status,
};
use crate::tg::{Finish, NativeCall, Options, Parser, Stage};

/// One model output, from its first byte to its end. One thread at a time; it may move between threads. A second thread that
/// calls meanwhile gets `TOOLGLOT_E_BUSY`.
pub struct toolglot_stream {
    _private: (),
}

/// The contents of a stream.
#[derive(Debug)]
pub(crate) struct Stream {
    parser: Parser,
    options: Options,
    wanted: Wanted,
    batch: Batch,
    /// The number of events that a callback has taken.
    taken: usize,
    finished: bool,
}

impl Kind for Stream {
    const MAGIC: u32 = 0x7467_7374;
    const NAME: &'static str = "the stream";

    fn born() {
        LIVE.fetch_add(1, Ordering::Relaxed);
    }

    fn gone() {
        LIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

pub(crate) fn handle(stream: *const toolglot_stream) -> *const Handle<Stream> {
    stream.cast()
}

/// The model stopped by itself.
pub const TOOLGLOT_FINISH_STOP: u32 = 0;
/// A length limit truncated it.
pub const TOOLGLOT_FINISH_LENGTH: u32 = 1;
/// It stopped to have tools called.
pub const TOOLGLOT_FINISH_TOOL_CALLS: u32 = 2;
/// The connection or the server failed.
pub const TOOLGLOT_FINISH_ERROR: u32 = 3;
/// The host cancelled it.
pub const TOOLGLOT_FINISH_CANCELLED: u32 = 4;

pub(crate) fn reason(finish: u32) -> Done<Finish> {
    let found = Finish::ALL.get(finish as usize);
    found
        .copied()
        .ok_or_else(|| Fault::arg(format!("there is no reason {finish}")))
}

/// Feeds a chunk to a parser in pieces, because the memory for one piece is bounded. Stops after a piece for which memory ran
/// out.
pub(crate) fn in_pieces(chunk: &[u8], mut feed: impl FnMut(&[u8])) {
    for piece in chunk.chunks(PIECE) {
        if memory::failed() || memory::ensure(piece.len()).is_err() {
            return;
        }
        feed(piece);
    }
}

impl Stream {
    fn new(parser: Parser, options: Options, wanted: Wanted) -> Self {
        Self {
            parser,
            options,
            wanted,
            batch: Batch::default(),
            taken: 0,
            finished: false,
        }
    }

    #[inline]
    fn open(&self) -> Done {
        match self.finished {
            false => Ok(()),
            true => Err(Fault::new(TOOLGLOT_E_STATE, "the stream is finished")),
        }
    }

    /// Runs one step of the parser, with its events in the batch.
    #[inline]
    fn step(
        &mut self,
        chunk: &[u8],
        step: impl FnOnce(&mut Parser, &mut Batch),
    ) -> Done<toolglot_batch> {
        self.open()?;
        self.taken = 0;
        self.batch.begin(chunk, self.wanted);
        step(&mut self.parser, &mut self.batch);
        // Events of the batch may be missing.
        memory::check()?;
        Ok(self.batch.end(self.parser.held(), self.parser.position()))
    }

    /// Takes a chunk that is only text or only bytes of an open value, if that can be decided quickly.
    #[inline(always)]
    fn quick(&mut self, chunk: &[u8], out: &mut MaybeUninit<toolglot_batch>) -> Option<()> {
        if !self.batch.ready() {
            return None;
        }
        let text = self.wanted.kinds & (1 << TOOLGLOT_EVENT_TEXT) != 0;
        if text && let Some(span) = self.parser.feed_text(chunk) {
            self.taken = 0;
            out.write(self.batch.text(chunk, span));
            return Some(());
        }
        self.value(chunk, out)
    }

    /// Takes a chunk that is only bytes of an open value. Allocates nothing: the batch is ready for two events of the chunk's bytes.
    #[inline(never)]
    fn value(&mut self, chunk: &[u8], out: &mut MaybeUninit<toolglot_batch>) -> Option<()> {
        self.batch.begin(chunk, self.wanted);
        if !self.parser.feed_value(chunk, &mut self.batch) {
            return None;
        }
        self.taken = 0;
        // In a value nothing is held back.
        out.write(self.batch.end(0, self.parser.position()));
        Some(())
    }

    fn feed(&mut self, chunk: &[u8]) -> Done<toolglot_batch> {
        self.step(chunk, |parser, batch| {
            in_pieces(chunk, |piece| {
                parser.feed(piece, batch);
            })
        })
    }

    fn finish(&mut self, reason: Finish) -> Done<toolglot_batch> {
        let batch = self.step(&[], |parser, batch| parser.finish(reason, batch))?;
        self.finished = true;
        Ok(batch)
    }

    /// The events of the last call that callbacks have not taken.
    fn rest(&self) -> toolglot_batch {
        let events = self.batch.events().get(self.taken..).unwrap_or_default();
        toolglot_batch {
            events: match events.is_empty() {
                true => toolglot_batch::EMPTY.events,
                false => events.as_ptr(),
            },
            len: events.len(),
            held: self.parser.held(),
            position: self.parser.position(),
        }
    }

    /// The state flags.
    fn state(&self) -> u32 {
        let parser = &self.parser;
        let stage = parser.stage();
        let flags = [
            (parser.in_reasoning(), TOOLGLOT_STATE_REASONING),
            (parser.may_hold_marker(), TOOLGLOT_STATE_MARKER),
            (self.finished, TOOLGLOT_STATE_FINISHED),
            (stage == Stage::TagOpening, TOOLGLOT_STATE_TAG_OPENING),
            (stage == Stage::TagContent, TOOLGLOT_STATE_TAG_CONTENT),
            (stage == Stage::TagClosing, TOOLGLOT_STATE_TAG_CLOSING),
        ];
        flags
            .iter()
            .filter(|(is, _)| *is)
            .map(|(_, flag)| flag)
            .sum()
    }

    /// Passes the last call's events to a callback.
    fn hand_over(&mut self, take: toolglot_callback, user: *mut c_void) -> Done {
        let take = take.ok_or_else(|| Fault::null("the callback"))?;
        while let Some(event) = self.batch.events().get(self.taken) {
            self.taken += 1;
            // SAFETY: the host gave this function for this purpose; the event lives until it returns, and longer.
            if unsafe { take(user, event) } != 0 {
                return Err(Fault::new(TOOLGLOT_E_STOPPED, "the callback stopped"));
            }
        }
        Ok(())
    }
}

/// A function of the host that takes an event. It returns 0 to continue, anything else to stop. It must return: no exception,
/// no `longjmp`. Functions called with the same stream meanwhile return `TOOLGLOT_E_BUSY`.
pub type toolglot_callback =
    Option<unsafe extern "C" fn(user: *mut c_void, event: *const toolglot_event) -> i32>;

/// Creates a stream from an engine; the caller frees it. `options` may be NULL for all defaults; they are copied (tools are
/// shared). Any thread. Cheap: no allocation grows with the dialects.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_stream_new(
    engine: *const toolglot_engine,
    options: *const toolglot_options,
    out: *mut *mut toolglot_stream,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        let out = raw::out(out)?;
        let Settings {
            options, wanted, ..
        } = options::settings(options)?;
        let parser = handle::read(engine::handle(engine), |engine| {
            Ok(Parser::new(&engine.set, options.clone()))
        })?;
        out.write(handle::new(Stream::new(parser, options, wanted))?.cast());
        Ok(())
    })
}

/// Feeds the next bytes of the output, in chunks of any size, even splitting a character, and returns their events. An empty
/// chunk changes nothing. `*out` is valid until the next call with this stream; `data` must live as long as `*out` is used,
/// because views may point into it. On failure `*out` is untouched.
///
/// Linear in `len`. Text costs no allocation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_stream_feed(
    stream: *mut toolglot_stream,
    data: *const c_void,
    len: usize,
    out: *mut toolglot_batch,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    unsafe {
        handle::change(
            handle(stream),
            len,
            move |stream| {
                let out = out.cast::<MaybeUninit<_>>().as_mut()?;
                stream.quick(raw::few(data, len)?, out)?;
                Some(Ok(()))
            },
            move |stream| {
                let out = raw::out(out)?;
                let chunk = raw::chunk(data, len)?;
                out.write(stream.feed(chunk)?);
                Ok(())
            },
        )
    }
}

/// As `toolglot_stream_feed`, for the bytes of one special token that the host knows by its id. A marker that lies wholly
/// within them also counts if `TOOLGLOT_OPTION_TRUSTED_ONLY` requires the host to vouch for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_stream_feed_special(
    stream: *mut toolglot_stream,
    data: *const c_void,
    len: usize,
    out: *mut toolglot_batch,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(handle(stream), |stream| {
            let out = raw::out(out)?;
            let chunk = raw::bytes(data, len)?;
            out.write(stream.step(chunk, |parser, batch| parser.feed_special(chunk, batch))?);
            Ok(())
        })
    })
}

/// As `toolglot_stream_feed`, for what the prompt already contains of the reply, for example the opener of a forced call. It is
/// parsed and counts in offsets, but text and reasoning in it are not delivered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_stream_prefill(
    stream: *mut toolglot_stream,
    data: *const c_void,
    len: usize,
    out: *mut toolglot_batch,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(handle(stream), |stream| {
            let out = raw::out(out)?;
            let chunk = raw::bytes(data, len)?;
            out.write(stream.step(chunk, |parser, batch| parser.prefill(chunk, batch))?);
            Ok(())
        })
    })
}

/// Takes API tool calls of the response: OpenAI's `tool_calls`, a JSON array. `TOOLGLOT_OPTION_PREFER` determines when they are
/// delivered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_stream_native_calls(
    stream: *mut toolglot_stream,
    json: *const c_void,
    len: usize,
    out: *mut toolglot_batch,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(handle(stream), |stream| {
            let out = raw::out(out)?;
            let calls = NativeCall::from_json(raw::text(json, len)?)
                .map_err(|error| Fault::arg(error.to_string()))?;
            let give = |parser: &mut Parser, batch: &mut Batch| {
                calls
                    .iter()
                    .for_each(|call| parser.native_call(call, batch));
            };
            out.write(stream.step(&[], give)?);
            Ok(())
        })
    })
}

/// Ends the output: held bytes are delivered, and whatever is open is reported. `reason` is one of `TOOLGLOT_FINISH_...`.
/// Afterwards the stream accepts nothing more (`TOOLGLOT_E_STATE`) until it is reset.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_stream_finish(
    stream: *mut toolglot_stream,
    reason: u32,
    out: *mut toolglot_batch,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(handle(stream), |stream| {
            let out = raw::out(out)?;
            out.write(stream.finish(self::reason(reason)?)?);
            Ok(())
        })
    })
}

/// `toolglot_stream_feed` with a callback: `take` gets each event, in order. If it does not return 0, no further event is
/// delivered and the result is `TOOLGLOT_E_STOPPED`; all bytes were consumed nevertheless, and `toolglot_stream_rest` returns
/// the other events.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_stream_feed_each(
    stream: *mut toolglot_stream,
    data: *const c_void,
    len: usize,
    take: toolglot_callback,
    user: *mut c_void,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    unsafe {
        handle::change(
            handle(stream),
            len,
            move |stream| {
                take?;
                stream.quick(raw::few(data, len)?, &mut MaybeUninit::uninit())?;
                Some(stream.hand_over(take, user))
            },
            move |stream| {
                take.ok_or_else(|| Fault::null("the callback"))?;
                stream.feed(raw::chunk(data, len)?)?;
                stream.hand_over(take, user)
            },
        )
    }
}

/// `toolglot_stream_finish` with a callback, like `toolglot_stream_feed_each`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_stream_finish_each(
    stream: *mut toolglot_stream,
    reason: u32,
    take: toolglot_callback,
    user: *mut c_void,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(handle(stream), |stream| {
            take.ok_or_else(|| Fault::null("the callback"))?;
            stream.finish(self::reason(reason)?)?;
            stream.hand_over(take, user)
        })
    })
}

/// The events of the last call that no callback has taken: after a callback that stopped, the remaining ones; after a call
/// without a callback, all of them again. Valid as long as the batch of that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_stream_rest(
    stream: *mut toolglot_stream,
    out: *mut toolglot_batch,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(handle(stream), |stream| {
            let out = raw::out(out)?;
            out.write(stream.rest());
            Ok(())
        })
    })
}

/// Reasoning is open: what follows is reasoning until its closer, or a call that ends it. Before the first byte: what the
/// dialects, `TOOLGLOT_OPTION_START` and the prompt tail have opened.
pub const TOOLGLOT_STATE_REASONING: u32 = 1;
/// A marker or a block is open: bytes are held that may be the beginning of a marker, or a call is being written. Without this
/// flag everything that was fed was delivered as text or reasoning, except an incomplete character, and nothing else is open.
pub const TOOLGLOT_STATE_MARKER: u32 = 2;
/// The stream is finished. Nothing is open then.
pub const TOOLGLOT_STATE_FINISHED: u32 = 4;
/// Bytes are held that may be a marker: the beginning of one, or a whole one whose following bytes decide what it is. At most
/// one of this flag and the next two is set, and none outside markers and blocks.
pub const TOOLGLOT_STATE_TAG_OPENING: u32 = 8;
/// In a block, while a call of it is being written or its first call is still to come. Formats whose calls are assembled when
/// their block ends stay in this state until then.
pub const TOOLGLOT_STATE_TAG_CONTENT: u32 = 16;
/// In a block, after a call of it: the block's closer follows, or a separator and the next call.
pub const TOOLGLOT_STATE_TAG_CLOSING: u32 = 32;

/// The state of the stream between two chunks: `*flags` is set to the sum of `TOOLGLOT_STATE_...`. The last batch remains
/// valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_stream_state(
    stream: *const toolglot_stream,
    flags: *mut u32,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::look(handle(stream), |stream| {
            let flags = raw::out(flags)?;
            flags.write(stream.state());
            Ok(())
        })
    })
}

/// Starts over with the same options, for another output. Keeps memory and no data.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_stream_reset(stream: *mut toolglot_stream) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(handle(stream), |stream| {
            stream.parser.reset();
            stream.batch.begin(&[], stream.wanted);
            stream.taken = 0;
            stream.finished = false;
            Ok(())
        })
    })
}

/// Creates a second stream in the same state; the caller frees it. It allows continuing from here twice, or returning to this
/// point. Linear in the bytes of the open block. The copy has no batch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_stream_clone(
    stream: *const toolglot_stream,
    out: *mut *mut toolglot_stream,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::look(handle(stream), |stream| {
            let out = raw::out(out)?;
            let mut copy =
                Stream::new(stream.parser.clone(), stream.options.clone(), stream.wanted);
            copy.finished = stream.finished;
            out.write(handle::new(copy)?.cast());
            Ok(())
        })
    })
}

/// Writes the state of the stream into a buffer, to continue from it later or on another machine. It contains what the stream
/// remembers and nothing that it has delivered: it does not grow with the output, only with the bytes of an open block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_stream_snapshot(
    stream: *const toolglot_stream,
    buffer: *mut toolglot_buffer,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::look(handle(stream), |stream| {
            handle::write(buffer::handle(buffer), |buffer| {
                *buffer = stream.parser.snapshot();
                Ok(())
            })
        })
    })
}

/// Restores the state of a snapshot, which must be of a stream with the same dialects, options and library version; otherwise
/// the result is `TOOLGLOT_E_SNAPSHOT`, and the stream is unchanged. Invalidates the last batch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_stream_restore(
    stream: *mut toolglot_stream,
    data: *const c_void,
    len: usize,
) -> toolglot_status {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::status(|| unsafe {
        handle::write(handle(stream), |stream| {
            let snapshot = raw::bytes(data, len)?;
            let set = stream.parser.dialects();
            let parser = Parser::restore(set, stream.options.clone(), snapshot);
            stream.parser =
                parser.map_err(|error| Fault::new(TOOLGLOT_E_SNAPSHOT, error.to_string()))?;
            stream.batch.begin(&[], stream.wanted);
            stream.taken = 0;
            stream.finished = stream.parser.is_finished();
            Ok(())
        })
    })
}

/// One sentence about the last failure on this stream; empty if there was none, and while another thread uses the stream. Valid
/// until the next call with the stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_stream_error(stream: *const toolglot_stream) -> toolglot_view {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::value(toolglot_view::EMPTY, || {
        Some(unsafe { handle::message(handle(stream)) })
    })
}

/// Frees the stream, its batch and all views into it. NULL is allowed. It may be called inside a callback of this stream: the
/// stream is then freed when the call that called back returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_stream_free(stream: *mut toolglot_stream) {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::run(|| unsafe { handle::free(handle(stream).cast_mut()) })
}
