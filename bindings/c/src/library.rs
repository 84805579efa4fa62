//! Versions and names of the library.

use std::ffi::c_char;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::guard;
use crate::status::{NAMES, toolglot_status};
use crate::tg::Kind;

/// The version of the ABI. It changes when programs must be recompiled; new functions, options, event kinds and statuses do not
/// change it.
pub const TOOLGLOT_ABI_VERSION: u32 = 1;

/// The number of streams that were created and not freed.
pub(crate) static LIVE: AtomicUsize = AtomicUsize::new(0);

/// The version of the library, NUL-terminated, for example `0.1.0`. Static. Any thread. Constant time.
#[unsafe(no_mangle)]
pub extern "C" fn toolglot_version() -> *const c_char {
    guard::value(c"".as_ptr(), || {
        Some(concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast())
    })
}

/// The ABI version of the library. `toolglot_config_new` compares it with the header's version. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn toolglot_abi_version() -> u32 {
    guard::value(0, || Some(TOOLGLOT_ABI_VERSION))
}

/// The name of a status, NUL-terminated; `unknown` if there is no such status. Static. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn toolglot_status_name(status: toolglot_status) -> *const c_char {
    guard::value(c"unknown".as_ptr(), || {
        let (_, name) = NAMES.iter().find(|(code, _)| *code == status)?;
        Some(name.as_ptr().cast())
    })
}

/// The name of a kind of event, NUL-terminated, for example `arg_delta`; `unknown` if there is no such kind. Static. Any
/// thread.
#[unsafe(no_mangle)]
pub extern "C" fn toolglot_event_name(kind: u32) -> *const c_char {
    guard::value(c"unknown".as_ptr(), || {
        let (_, name) = crate::event::NAMES.iter().find(|(code, _)| *code == kind)?;
        Some(name.as_ptr().cast())
    })
}

/// The name of a kind of issue (`code` of an issue event), NUL-terminated, for example `unclosed_block`; `unknown` if there is
/// no such kind. Static. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn toolglot_issue_name(code: u32) -> *const c_char {
    guard::value(c"unknown".as_ptr(), || {
        let kind = Kind::ALL
            .iter()
            .find(|kind| u32::from(kind.code()) == code)?;
        crate::issues::name(*kind)
    })
}

/// The number of streams in the process that were created and not freed: for leak checks. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn toolglot_live_streams() -> usize {
    guard::value(0, || Some(LIVE.load(Ordering::Relaxed)))
}
