//! The event struct, frozen for ABI version 1.

use crate::raw::toolglot_view;

/// One event of a stream: 64 bytes with 8-byte pointers.
///
/// Every event has the absolute range `start..end` of the input bytes that it covers. Text, reasoning, protected regions, raw
/// bytes and whole blocks are *leaves*: their ranges partition the input. Concatenated they are the input, byte for byte.
/// Adjacent fragments of one kind may be split anywhere; concatenated they are the same for every chunking of the input.
///
/// The meaning of the fields depends on `kind`; fields that a kind does not mention are 0, empty, or `TOOLGLOT_NO_CALL`. Skip
/// events of unknown kinds, ignore unknown flags.
///
/// The views are valid as long as the batch of the event: until the next call on its stream. They may point into the chunk that
/// was fed, so the chunk must live as long.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct toolglot_event {
    /// One of `TOOLGLOT_EVENT_...`.
    pub kind: u32,
    /// `TOOLGLOT_FLAG_...`.
    pub flags: u32,
    /// Number of the call in this stream, from 0, or `TOOLGLOT_NO_CALL`.
    pub call: u32,
    /// Issue: its kind, `TOOLGLOT_ISSUE_...`. Parameter: its depth, 0 for a parameter of the call.
    pub code: u32,
    /// Depends on the kind.
    pub data: toolglot_view,
    /// Depends on the kind.
    pub aux: toolglot_view,
    /// Offset of the first byte, counted from the first byte of the stream.
    pub start: u64,
    /// Offset after the last byte.
    pub end: u64,
}

/// `call` of an event that concerns no call.
pub const TOOLGLOT_NO_CALL: u32 = 0xffff_ffff;

/// Plain text of the reply. `data`: the bytes, which may end inside a character unless `TOOLGLOT_OPTION_TEXT` is set to chars.
/// Flag: recovered.
pub const TOOLGLOT_EVENT_TEXT: u32 = 1;
/// Reasoning. `data`: the bytes. Flag: framing.
pub const TOOLGLOT_EVENT_REASONING: u32 = 2;
/// Part of a region that a dialect protects: no calls are looked for inside. `data`: the bytes; `aux`: the kind of region.
pub const TOOLGLOT_EVENT_PROTECTED: u32 = 3;
/// Bytes of a block after it exceeded a limit, up to and including its own closer. `data`: the bytes.
pub const TOOLGLOT_EVENT_RAW: u32 = 4;
/// A block begins. `aux`: id of its dialect.
pub const TOOLGLOT_EVENT_BLOCK_OPEN: u32 = 5;
/// A call begins; its name is final. `call`; `data`: name of the tool; `aux`: id of the dialect, empty for an API tool call.
/// Flag: native. Details may follow: what the format says about the call besides name and arguments, for example `id`.
pub const TOOLGLOT_EVENT_CALL_OPEN: u32 = 6;
/// A detail of the preceding event (other details may be in between). `aux`: key; `data`: value; `call` as in that event. An
/// issue may have `dialect`, `tool`, `subject` (the parameter, entity or tag concerned) and `suggestion` (a name that was
/// probably meant).
pub const TOOLGLOT_EVENT_DETAIL: u32 = 7;
/// The next piece of a call's arguments: final JSON text. `call`; `data`: the piece. The concatenated pieces are one JSON
/// object.
pub const TOOLGLOT_EVENT_ARG_DELTA: u32 = 8;
/// A parameter begins. Provisional, for display: the call's arguments are authoritative. `data`: its name as written; `code`:
/// nesting depth.
pub const TOOLGLOT_EVENT_PARAM_OPEN: u32 = 9;
/// Raw bytes of the open parameter's value, as soon as they arrive. `data`: the bytes.
pub const TOOLGLOT_EVENT_PARAM_DELTA: u32 = 10;
/// The open parameter ends.
pub const TOOLGLOT_EVENT_PARAM_CLOSE: u32 = 11;
/// The open call is retracted: it broke its grammar, exceeded a limit or was truncated. It never closes, and its pieces are
/// retracted with it. `call`.
pub const TOOLGLOT_EVENT_CALL_ABANDONED: u32 = 12;
/// A call ends. It is final unless its block is abandoned. `call`. Flags: complete, repaired or recovered, with the kinds of
/// issues that say why in `data`, one byte each (`TOOLGLOT_ISSUE_...`), ascending; params only.
pub const TOOLGLOT_EVENT_CALL_CLOSE: u32 = 13;
/// The block ends. `data`: its bytes, markers included, if they were retained.
pub const TOOLGLOT_EVENT_BLOCK_CLOSE: u32 = 14;
/// The block turned out not to be one: all calls since its block open are retracted. `data`: its bytes if they were retained.
/// Flag: as text.
pub const TOOLGLOT_EVENT_BLOCK_ABANDONED: u32 = 15;
/// Something is wrong with what the model wrote; parsing continues. `code`: its kind; `call` if one is concerned; `data`: one
/// sentence for people; `aux`: what to tell the model so that it can do better. Flag: error. Details may follow.
pub const TOOLGLOT_EVENT_ISSUE: u32 = 16;

/// The name of a call is known; precedes the call's open, as early as the name is known. For display: only a call open opens a
/// call. `call`: number of the block in this stream, from 0; `code`: number of the name in its block, from 0; `data`: the name.
/// Flag: provisional.
pub const TOOLGLOT_EVENT_CALL_NAMED: u32 = 17;

/// Text: the bytes were first taken for a block; a block abandoned came before.
pub const TOOLGLOT_FLAG_RECOVERED_TEXT: u32 = 1;
/// Reasoning: the bytes are the marker (`<think>`), not the reasoning itself.
pub const TOOLGLOT_FLAG_FRAMING: u32 = 2;
/// Call open: an API tool call, given by the host.
pub const TOOLGLOT_FLAG_NATIVE: u32 = 4;
/// Call close: well formed and closed.
pub const TOOLGLOT_FLAG_COMPLETE: u32 = 8;
/// Call close: something may be truncated, mixed or guessed. Do not run it without asking.
pub const TOOLGLOT_FLAG_RECOVERED: u32 = 16;
/// Call close: the arguments were delivered only as parameters (`TOOLGLOT_RETAIN_NONE`); there were no pieces of JSON.
pub const TOOLGLOT_FLAG_PARAMS_ONLY: u32 = 32;
/// Block abandoned: the bytes follow as one text event, flagged recovered. Without this flag they are not text.
pub const TOOLGLOT_FLAG_AS_TEXT: u32 = 64;
/// Issue: an error. Otherwise a warning: worth knowing, nothing was lost.
pub const TOOLGLOT_FLAG_ERROR: u32 = 128;
/// Call close: the text broke a rule, but without leaving doubt about the call.
pub const TOOLGLOT_FLAG_REPAIRED: u32 = 256;
/// Call named: the name can still be taken back. A later call open of the block replaces it, or it is retracted when the block
/// ends.
pub const TOOLGLOT_FLAG_PROVISIONAL: u32 = 512;
/// Block abandoned: it opened in a thought that goes on. The bytes follow as one reasoning event.
pub const TOOLGLOT_FLAG_AS_REASONING: u32 = 1024;

/// Every kind of event with its name. NUL-terminated.
pub(crate) const NAMES: &[(u32, &str)] = &[
    (TOOLGLOT_EVENT_TEXT, "text\0"),
    (TOOLGLOT_EVENT_REASONING, "reasoning\0"),
    (TOOLGLOT_EVENT_PROTECTED, "protected\0"),
    (TOOLGLOT_EVENT_RAW, "raw\0"),
    (TOOLGLOT_EVENT_BLOCK_OPEN, "block_open\0"),
    (TOOLGLOT_EVENT_CALL_OPEN, "call_open\0"),
    (TOOLGLOT_EVENT_DETAIL, "detail\0"),
    (TOOLGLOT_EVENT_ARG_DELTA, "arg_delta\0"),
    (TOOLGLOT_EVENT_PARAM_OPEN, "param_open\0"),
    (TOOLGLOT_EVENT_PARAM_DELTA, "param_delta\0"),
    (TOOLGLOT_EVENT_PARAM_CLOSE, "param_close\0"),
    (TOOLGLOT_EVENT_CALL_ABANDONED, "call_abandoned\0"),
    (TOOLGLOT_EVENT_CALL_CLOSE, "call_close\0"),
    (TOOLGLOT_EVENT_BLOCK_CLOSE, "block_close\0"),
    (TOOLGLOT_EVENT_BLOCK_ABANDONED, "block_abandoned\0"),
    (TOOLGLOT_EVENT_ISSUE, "issue\0"),
    (TOOLGLOT_EVENT_CALL_NAMED, "call_named\0"),
];

/// The events of one call, in order. Valid, with all views in its events, until the next call on its stream, and only as long
/// as the chunk that was fed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct toolglot_batch {
    /// The first event. Never NULL, even if there are none.
    pub events: *const toolglot_event,
    /// The number of events.
    pub len: usize,
    /// Bytes that were fed and are not in an event yet: the beginning of a marker, or bytes of a lookahead. There is no flush:
    /// held bytes are undecided, and `toolglot_stream_finish` decides them.
    pub held: usize,
    /// Total bytes fed so far.
    pub position: u64,
}

impl toolglot_event {
    pub(crate) const BLANK: Self = Self {
        kind: 0,
        flags: 0,
        call: TOOLGLOT_NO_CALL,
        code: 0,
        data: toolglot_view::EMPTY,
        aux: toolglot_view::EMPTY,
        start: 0,
        end: 0,
    };
}

impl toolglot_batch {
    pub(crate) const EMPTY: Self = Self {
        events: &raw const BLANK_PLACE,
        len: 0,
        held: 0,
        position: 0,
    };
}

/// The target of an empty batch's pointer.
static BLANK_PLACE: toolglot_event = toolglot_event::BLANK;
