//! Statuses.

use std::borrow::Cow;

/// The result of a function: 0 for success, negative for a failure. Numbers are never reused; treat an unknown negative number
/// as a failure. `toolglot_status_name` returns the name.
///
/// If the failing function has a handle, the handle's `..._error` function returns one sentence about its last failure. A
/// failure changes nothing unless the function says otherwise.
pub type toolglot_status = i32;

/// Success.
pub const TOOLGLOT_OK: i32 = 0;
/// A pointer is NULL that must not be. (NULL with length 0 is an empty input and not a mistake.)
pub const TOOLGLOT_E_NULL: i32 = -1;
/// An argument cannot be used: an unknown number, a value out of range, invalid UTF-8 or JSON, a handle of another type.
pub const TOOLGLOT_E_ARG: i32 = -2;
/// The stream is finished: `toolglot_stream_reset` it or create another one. Or the run does not accept that now.
pub const TOOLGLOT_E_STATE: i32 = -3;
/// There is not enough memory. A handle that the call was to change has ended: its contents and everything it handed out are
/// gone, every further call on it gives this status, and it can only be freed. Other handles are not affected.
pub const TOOLGLOT_E_NOMEM: i32 = -4;
/// An internal error of the library, which was caught. The handle is poisoned; other handles are not affected.
pub const TOOLGLOT_E_PANIC: i32 = -5;
/// The program was compiled with a header of another ABI version than the library's.
pub const TOOLGLOT_E_ABI: i32 = -6;
/// The handle is in use: by another thread, or by the call whose callback is running. Nothing was done, and there is no
/// message.
pub const TOOLGLOT_E_BUSY: i32 = -7;
/// A limit of the interface was exceeded.
pub const TOOLGLOT_E_LIMIT: i32 = -8;
/// A dialect cannot be read or does not exist, or dialects are not compatible; the message says which key and why.
pub const TOOLGLOT_E_DIALECT: i32 = -9;
/// An earlier call on this handle ended with `TOOLGLOT_E_PANIC`. It can only be freed.
pub const TOOLGLOT_E_POISONED: i32 = -10;
/// The snapshot is damaged, has another version, or was made with other dialects or options.
pub const TOOLGLOT_E_SNAPSHOT: i32 = -11;
/// A call cannot be written in the dialect; the message says which value and why.
pub const TOOLGLOT_E_ENCODE: i32 = -12;
/// The callback did not return 0, so the remaining events were not delivered. `toolglot_stream_rest` returns them.
pub const TOOLGLOT_E_STOPPED: i32 = -13;

/// Every status with its name. NUL-terminated.
pub(crate) const NAMES: &[(i32, &str)] = &[
    (TOOLGLOT_OK, "ok\0"),
    (TOOLGLOT_E_NULL, "null\0"),
    (TOOLGLOT_E_ARG, "argument\0"),
    (TOOLGLOT_E_STATE, "state\0"),
    (TOOLGLOT_E_NOMEM, "out of memory\0"),
    (TOOLGLOT_E_PANIC, "panic\0"),
    (TOOLGLOT_E_ABI, "abi version\0"),
    (TOOLGLOT_E_BUSY, "busy\0"),
    (TOOLGLOT_E_LIMIT, "limit\0"),
    (TOOLGLOT_E_DIALECT, "dialect\0"),
    (TOOLGLOT_E_POISONED, "poisoned\0"),
    (TOOLGLOT_E_SNAPSHOT, "snapshot\0"),
    (TOOLGLOT_E_ENCODE, "encode\0"),
    (TOOLGLOT_E_STOPPED, "stopped\0"),
];

/// Why a function failed.
#[derive(Debug)]
pub(crate) struct Fault {
    pub status: i32,
    pub message: Cow<'static, str>,
}

impl Fault {
    pub fn new(status: i32, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            status,
            message: message.into(),
        }
    }

    pub fn null(what: &str) -> Self {
        Self::new(TOOLGLOT_E_NULL, format!("{what} is NULL"))
    }

    pub fn arg(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(TOOLGLOT_E_ARG, message)
    }

    pub fn no_memory() -> Self {
        Self::new(TOOLGLOT_E_NOMEM, "there is not enough memory")
    }
}

pub(crate) type Done<T = ()> = Result<T, Fault>;
