//! Statuses.

use std::borrow::Cow;

/// What a function answers: 0 for success, less for a failure. Numbers are never reused; treat an unknown negative number as
/// a failure. `toolglot_status_name` gives the name.
///
/// Where the failing function has a handle, the handle's `..._error` function gives one sentence about its last failure. A
/// failure changes nothing unless the function says otherwise.
pub type toolglot_status = i32;

/// Success.
pub const TOOLGLOT_OK: i32 = 0;
/// A pointer is NULL that must not be. (NULL with length 0 is an empty input and no mistake.)
pub const TOOLGLOT_E_NULL: i32 = -1;
/// An argument cannot be used: an unknown number, a value out of range, text that is not UTF-8 or no JSON, a handle of
/// another type.
pub const TOOLGLOT_E_ARG: i32 = -2;
/// The stream is finished: `toolglot_stream_reset` it or make another one. Or the run does not take that now.
pub const TOOLGLOT_E_STATE: i32 = -3;
/// There is not enough memory. A handle that the call was to change has ended: what it held and handed out is gone, every
/// further call on it gives this status, and only freeing it is possible. Other handles are not concerned.
pub const TOOLGLOT_E_NOMEM: i32 = -4;
/// A mistake inside the library, which was caught. The handle is poisoned from now on; other handles are not concerned.
pub const TOOLGLOT_E_PANIC: i32 = -5;
/// The header that the program was compiled with is of another ABI version than the library.
pub const TOOLGLOT_E_ABI: i32 = -6;
/// The handle is in use: by another thread, or by the call whose callback is running. Nothing was done, no message is left.
pub const TOOLGLOT_E_BUSY: i32 = -7;
/// More than a limit of the interface allows.
pub const TOOLGLOT_E_LIMIT: i32 = -8;
/// A dialect cannot be read or does not exist, or dialects cannot be active together; the message says which key and why.
pub const TOOLGLOT_E_DIALECT: i32 = -9;
/// An earlier call on this handle ended with `TOOLGLOT_E_PANIC`. Only freeing it is possible.
pub const TOOLGLOT_E_POISONED: i32 = -10;
/// The snapshot is damaged, of another version, or was made with other dialects or options.
pub const TOOLGLOT_E_SNAPSHOT: i32 = -11;
/// A call cannot be written in the dialect; the message says which value and why.
pub const TOOLGLOT_E_ENCODE: i32 = -12;
/// The callback did not return 0, so the rest of the events was not delivered. `toolglot_stream_rest` has them.
pub const TOOLGLOT_E_STOPPED: i32 = -13;

/// Every status with its name, for people. NUL-terminated.
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
