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
/// comes meanwhile gets `TOOLGLOT_E_BUSY`.
pub struct toolglot_stream {
    _private: (),
}

/// What stands after it.
#[derive(Debug)]
pub(crate) struct Stream {
    parser: Parser,
    options: Options,
    wanted: Wanted,
    batch: Batch,
    /// Events that a callback has taken.
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
/// Its length limit cut it.
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

/// Gives a chunk to a parser, in pieces: what one may take has a bound. Ends with the first one that there is no memory for.
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

    /// One step of the parser, with its events in the batch.
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
        // The batch may lack events.
        memory::check()?;
        Ok(self.batch.end(self.parser.held(), self.parser.position()))
    }

    /// Takes a chunk of nothing but text, if that can be told at once.
    #[inline]
    fn quick(&mut self, chunk: &[u8]) -> Option<toolglot_batch> {
        if self.wanted.kinds & (1 << TOOLGLOT_EVENT_TEXT) == 0 || !self.batch.ready() {
            return None;
        }
        let span = self.parser.feed_text(chunk)?;
        self.taken = 0;
        Some(self.batch.text(chunk, span))
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

    /// What callbacks have not taken of the last call's events.
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

    /// Where it stands.
    fn state(&self) -> u32 {
        let parser = &self.parser;
        let stage = parser.stage();
        let told = [
            (parser.in_reasoning(), TOOLGLOT_STATE_REASONING),
            (parser.may_hold_marker(), TOOLGLOT_STATE_MARKER),
            (self.finished, TOOLGLOT_STATE_FINISHED),
            (stage == Stage::TagOpening, TOOLGLOT_STATE_TAG_OPENING),
            (stage == Stage::TagContent, TOOLGLOT_STATE_TAG_CONTENT),
            (stage == Stage::TagClosing, TOOLGLOT_STATE_TAG_CLOSING),
        ];
        told.iter()
            .filter(|(is, _)| *is)
            .map(|(_, flag)| flag)
            .sum()
    }

    /// Hands the last call's events to a callback.
    fn hand_over(&mut self, take: toolglot_callback, user: *mut c_void) -> Done {
        let take = take.ok_or_else(|| Fault::null("the callback"))?;
        while let Some(event) = self.batch.events().get(self.taken) {
            self.taken += 1;
            // SAFETY: the host gave this function for this; the event lives until it returns, and longer.
            if unsafe { take(user, event) } != 0 {
                return Err(Fault::new(TOOLGLOT_E_STOPPED, "the callback stopped"));
            }
        }
        Ok(())
    }
}

/// A function of the host that takes an event. 0 goes on, anything else stops. It must return: no exception, no `longjmp`.
/// Functions that are given the same stream answer `TOOLGLOT_E_BUSY` meanwhile.
pub type toolglot_callback =
    Option<unsafe extern "C" fn(user: *mut c_void, event: *const toolglot_event) -> i32>;

/// Makes a stream of an engine, which is the caller's to free. `options` may be NULL for all defaults; they are copied
/// (tools are shared). Any thread. Cheap: no allocation that grows with the dialects.
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

/// Takes the next bytes of the output, cut anywhere, also inside a character, and tells what they say. An empty chunk
/// changes nothing. `*out` lives until the next call with this stream; `data` must live as long as `*out` is used, because
/// views may point into it. If it fails, `*out` is not touched.
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
        guard::inside(
            handle(stream),
            |stream| {
                let out = out.cast::<MaybeUninit<_>>().as_mut()?;
                out.write(stream.quick(raw::few(data, len)?)?);
                Some(Ok(()))
            },
            |stream| {
                let out = raw::out(out)?;
                let chunk = raw::chunk(data, len)?;
                out.write(stream.feed(chunk)?);
                Ok(())
            },
        )
    }
}

/// As `toolglot_stream_feed`, for the bytes of one special token that the host knows by its id. A marker that lies wholly in
/// them counts also where a dialect, or `TOOLGLOT_OPTION_TRUSTED_ONLY`, wants the host to vouch for it.
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

/// As `toolglot_stream_feed`, for what the prompt has already put at the beginning of the reply, for example the opener of a
/// forced call. It is read and counts in offsets, but text and reasoning in it are not delivered.
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

/// Takes calls that the host got beside the text: OpenAI's `tool_calls`, a JSON array. When they come out is what
/// `TOOLGLOT_OPTION_PREFER` says.
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

/// Ends the output: what is held comes out, what is open is reported. `reason` is one of `TOOLGLOT_FINISH_...`. After it
/// the stream takes nothing more (`TOOLGLOT_E_STATE`) until it is reset.
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
/// delivered and the answer is `TOOLGLOT_E_STOPPED`; all bytes were taken nevertheless, and `toolglot_stream_rest` has the
/// other events.
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
        guard::inside(
            handle(stream),
            |stream| {
                take?;
                stream.quick(raw::few(data, len)?)?;
                Some(stream.hand_over(take, user))
            },
            |stream| {
                take.ok_or_else(|| Fault::null("the callback"))?;
                stream.feed(raw::chunk(data, len)?)?;
                stream.hand_over(take, user)
            },
        )
    }
}

/// `toolglot_stream_finish` with a callback, as `toolglot_stream_feed_each`.
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

/// The events of the last call that no callback has taken: after a callback that stopped, what it did not get; after a
/// call without callback, all of them again. Lives as long as the batch of that call.
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

/// A thought is open: what comes next is reasoning until its closer, or a call that ends it. Before the first byte: what the
/// dialects, `TOOLGLOT_OPTION_START` and the prompt's tail have opened.
pub const TOOLGLOT_STATE_REASONING: u32 = 1;
/// A marker or a block is under way: bytes are held that may be the beginning of a marker, or a call is being written.
/// Without this flag whatever was fed has come out as text or reasoning, but for half a character, and nothing else is open.
pub const TOOLGLOT_STATE_MARKER: u32 = 2;
/// The stream is finished. Nothing is open then.
pub const TOOLGLOT_STATE_FINISHED: u32 = 4;
/// Bytes are held that may be a marker: the beginning of one, or a whole one, while what follows it has to show what it is. At
/// most one of this flag and the two after it is set; none of them outside.
pub const TOOLGLOT_STATE_TAG_OPENING: u32 = 8;
/// In a block, while a call of it is written or its first is still to come. Formats whose calls are made when their block ends
/// stay here until then.
pub const TOOLGLOT_STATE_TAG_CONTENT: u32 = 16;
/// In a block, after a call of it: what comes is the block's closer, or a separator and the next call.
pub const TOOLGLOT_STATE_TAG_CLOSING: u32 = 32;

/// Where the stream stands between two chunks: `*flags` becomes the sum of `TOOLGLOT_STATE_...`. The last batch stays alive.
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

/// Makes a second stream in the same state, which is the caller's to free: to go on from here twice, or to come back. Linear in
/// the bytes of the open block. The copy has no batch.
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

/// Writes the state of the stream into a buffer, to go on from it later or on another machine. It holds what the stream
/// remembers and nothing that it delivered: it does not grow with the output, only with the bytes of an open block.
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

/// Puts the stream into the state of a snapshot, which must be of a stream with the same dialects, options and library
/// version; else the answer is `TOOLGLOT_E_SNAPSHOT`, and the stream is as it was. Ends the life of the last batch.
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

/// One sentence about the last failure on this stream; empty if there was none, and while another thread uses the stream.
/// Lives until the next call with the stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_stream_error(stream: *const toolglot_stream) -> toolglot_view {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::value(toolglot_view::EMPTY, || {
        Some(unsafe { handle::message(handle(stream)) })
    })
}

/// Frees the stream, its batch and all views into it. NULL is nothing. Inside a callback of this stream it is allowed: the
/// stream goes away when the call that called back returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toolglot_stream_free(stream: *mut toolglot_stream) {
    // SAFETY: the contract of the header, see the essay in lib.rs.
    guard::run(|| unsafe { handle::free(handle(stream).cast_mut()) })
}
