//! Where every exported function runs: neither a panic nor a want of memory ever reaches C.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::handle::{self, Handle, Kind};
use crate::memory::{self, Scope};
use crate::status::{Done, TOOLGLOT_E_NOMEM, TOOLGLOT_E_PANIC, TOOLGLOT_OK, toolglot_status};

/// Runs the body of a function that answers with a status.
pub(crate) fn status(body: impl FnOnce() -> Done) -> toolglot_status {
    let _scope = Scope::enter();
    // What a panic leaves behind is poisoned by its handle, or was local to the body.
    let status = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => TOOLGLOT_OK,
        Ok(Err(fault)) => fault.status,
        Err(cause) => {
            forget(cause);
            TOOLGLOT_E_PANIC
        }
    };
    match memory::failed() {
        false => status,
        true => TOOLGLOT_E_NOMEM,
    }
}

/// Runs the body of a function that may change what is behind a handle and answers with a status. First `quick` is tried,
/// which does what `body` does, or gives nothing and has done nothing; it allocates nothing.
///
/// # Safety
/// The pointer is NULL or a handle that was not freed.
#[inline]
pub(crate) unsafe fn inside<T: Kind>(
    handle: *const Handle<T>,
    quick: impl FnOnce(&mut T) -> Option<Done>,
    body: impl FnOnce(&mut T) -> Done,
) -> toolglot_status {
    // SAFETY: promised. Panics are caught there.
    unsafe { handle::change(handle, quick, body) }
}

/// Runs the body of a function that answers with a value, or with `otherwise` if it cannot.
pub(crate) fn value<T>(otherwise: T, body: impl FnOnce() -> Option<T>) -> T {
    let _scope = Scope::enter();
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(found) => found.unwrap_or(otherwise),
        Err(cause) => {
            forget(cause);
            otherwise
        }
    }
}

/// Runs the body of a function that answers nothing.
pub(crate) fn run(body: impl FnOnce()) {
    let _scope = Scope::enter();
    if let Err(cause) = catch_unwind(AssertUnwindSafe(body)) {
        forget(cause);
    }
}

/// Drops what was thrown; if that throws again, no third time.
pub(crate) fn forget(cause: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(cause))) {
        std::mem::forget(again);
    }
}
