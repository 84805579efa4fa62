//! Guards every exported function: neither a panic nor an allocation failure reaches C.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::memory::{self, Scope};
use crate::status::{Done, TOOLGLOT_E_NOMEM, TOOLGLOT_E_PANIC, TOOLGLOT_OK, toolglot_status};

/// Runs the body of a function that returns a status.
pub(crate) fn status(body: impl FnOnce() -> Done) -> toolglot_status {
    let _scope = Scope::enter();
    // State that a panic leaves behind is in a poisoned handle, or was local to the body.
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

/// Runs the body of a function that returns a value, or `otherwise` if the body fails.
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

/// Runs the body of a function that returns nothing.
pub(crate) fn run(body: impl FnOnce()) {
    let _scope = Scope::enter();
    if let Err(cause) = catch_unwind(AssertUnwindSafe(body)) {
        forget(cause);
    }
}

/// Drops a panic's payload; if that panics too, the second payload is leaked.
pub(crate) fn forget(cause: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(cause))) {
        std::mem::forget(again);
    }
}
