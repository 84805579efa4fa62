//! The implementation of opaque types.
//!
//! One atomic word records who is inside: a writer, or a number of readers, and whether the handle was freed meanwhile. A
//! caller that finds it taken gets `TOOLGLOT_E_BUSY` immediately and never waits. So a callback that calls back, and two
//! threads on one stream, are mistakes with a status and not undefined behaviour. A handle that is freed during its own call is
//! dropped when that call returns. (Using a pointer to a dropped handle is still undefined behaviour: the word is gone too.)

use std::any::Any;
use std::borrow::Cow;
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::guard;
use crate::memory::{self, Holding, Scope};
use crate::raw::toolglot_view;
use crate::status::{
    Done, Fault, TOOLGLOT_E_ARG, TOOLGLOT_E_BUSY, TOOLGLOT_E_NOMEM, TOOLGLOT_E_NULL,
    TOOLGLOT_E_PANIC, TOOLGLOT_E_POISONED, TOOLGLOT_OK, toolglot_status,
};

/// A call is inside that may change the value.
const WRITER: u32 = 1 << 30;
/// The handle was freed while a call was inside.
const FREED: u32 = 1 << 31;

/// A type that a handle holds.
pub(crate) trait Kind: Sized {
    /// Distinguishes handles of different types, as far as possible.
    const MAGIC: u32;
    /// For messages.
    const NAME: &'static str;
    /// A handle was made.
    fn born() {}
    /// A handle was freed.
    fn gone() {}
}

/// The magic word comes first in every handle, so that it can be read from a handle of another type.
#[repr(C)]
pub(crate) struct Handle<T> {
    magic: u32,
    users: AtomicU32,
    slot: UnsafeCell<Slot<T>>,
}

struct Slot<T> {
    state: State<T>,
    /// About the last failure.
    message: Cow<'static, str>,
    /// The memory that the value takes.
    holding: Holding,
}

enum State<T> {
    Ready(T),
    /// A call panicked. The value is not used any more.
    Poisoned(T),
    /// A call ran out of memory. The value was dropped, so that its memory can be reused.
    Ended,
}

/// Leaves a handle; the last one to leave a freed handle drops it.
struct Inside<T: Kind> {
    handle: *const Handle<T>,
    weight: u32,
}

impl<T: Kind> Drop for Inside<T> {
    fn drop(&mut self) {
        // SAFETY: the handle exists while a call is inside; `free` leaves dropping it to the last one.
        let users = unsafe { &(*self.handle).users };
        if users.fetch_sub(self.weight, Ordering::AcqRel) == self.weight | FREED {
            // SAFETY: it was freed, and no other call is inside or can enter.
            unsafe { discard(self.handle.cast_mut()) };
        }
    }
}

/// # Safety
/// The handle is from `new`, and is neither used now nor later.
#[cold]
#[inline(never)]
unsafe fn discard<T: Kind>(handle: *mut Handle<T>) {
    // SAFETY: guaranteed by the caller.
    let mut boxed = unsafe { Box::from_raw(handle) };
    boxed.magic = 0;
    T::gone();
    dispose(boxed);
}

/// Drops a value; catches panics.
fn dispose<T>(value: T) {
    if let Err(cause) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        guard::forget(cause);
    }
}

/// Creates a handle, owned by whoever gets the pointer; fails if memory ran out meanwhile.
pub(crate) fn new<T: Kind>(value: T) -> Done<*mut Handle<T>> {
    let boxed = Box::new(Handle {
        magic: T::MAGIC,
        users: AtomicU32::new(0),
        slot: UnsafeCell::new(Slot {
            state: State::Ready(value),
            message: Cow::Borrowed(""),
            holding: Holding::of_call(),
        }),
    });
    memory::check()?;
    T::born();
    Ok(Box::into_raw(boxed))
}

/// Enters a handle, or says why not. Readers may enter together, a writer only alone.
///
/// # Safety
/// The pointer is NULL or a handle that was not freed.
#[inline]
unsafe fn entered<T: Kind>(
    handle: *const Handle<T>,
    write: bool,
) -> Result<Inside<T>, toolglot_status> {
    // SAFETY: guaranteed by the caller.
    let it = unsafe { handle.as_ref() }.ok_or(TOOLGLOT_E_NULL)?;
    if it.magic != T::MAGIC {
        return Err(TOOLGLOT_E_ARG);
    }
    let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
    let (entered, weight) = if write {
        let entered = it.users.compare_exchange(0, WRITER, acquire, relaxed);
        (entered.is_ok(), WRITER)
    } else {
        let step = |users: u32| (users < WRITER - 1).then_some(users + 1);
        let entered = it.users.fetch_update(acquire, relaxed, step);
        (entered.is_ok(), 1)
    };
    match entered {
        true => Ok(Inside { handle, weight }),
        false => Err(TOOLGLOT_E_BUSY),
    }
}

/// The same with a message about why not.
///
/// # Safety
/// The pointer is NULL or a handle that was not freed.
unsafe fn enter<T: Kind>(handle: *const Handle<T>, write: bool) -> Done<Inside<T>> {
    // SAFETY: guaranteed by the caller.
    unsafe { entered(handle, write) }.map_err(|status| match status {
        TOOLGLOT_E_NULL => Fault::null(T::NAME),
        TOOLGLOT_E_BUSY => Fault::new(status, format!("{} is in use", T::NAME)),
        _ => Fault::new(status, "the handle is of another type, or was freed"),
    })
}

/// Runs a function that may change the handle's value, like [`write`], and returns its status. `quick` is tried first; if it
/// returns nothing, it has done nothing, and `body` runs, for which the handle is entered again: what only `body` needs costs
/// `quick` nothing. `given` bytes of arguments are processed, in pieces.
///
/// # Safety
/// The pointer is NULL or a handle that was not freed.
#[inline]
pub(crate) unsafe fn change<T: Kind>(
    handle: *const Handle<T>,
    given: usize,
    quick: impl FnOnce(&mut T) -> Option<Done>,
    body: impl FnOnce(&mut T) -> Done,
) -> toolglot_status {
    // SAFETY: guaranteed by the caller.
    match unsafe { attempt(handle, quick) } {
        Some(status) => status,
        // SAFETY: guaranteed by the caller.
        None => unsafe { guarded(handle, given, body) },
    }
}

/// Runs a body that may do nothing, which it says by returning nothing. Returns nothing either if the handle could not be entered.
///
/// # Safety
/// The pointer is NULL or a handle that was not freed.
#[inline]
unsafe fn attempt<T: Kind>(
    handle: *const Handle<T>,
    quick: impl FnOnce(&mut T) -> Option<Done>,
) -> Option<toolglot_status> {
    // SAFETY: guaranteed by the caller.
    let _inside = unsafe { entered(handle, true) }.ok()?;
    // SAFETY: we are inside as the writer: no other call is.
    let slot = unsafe { &mut *(*handle).slot.get() };
    let State::Ready(value) = &mut slot.state else {
        return None;
    };
    match catch_unwind(AssertUnwindSafe(|| quick(value))) {
        Ok(Some(Ok(()))) => Some(TOOLGLOT_OK),
        Ok(Some(Err(fault))) => Some(slot.fails(fault)),
        Ok(None) => None,
        Err(cause) => Some(slot.poison(cause).status),
    }
}

/// Runs a body that may change the handle's value, and returns its status.
///
/// # Safety
/// The pointer is NULL or a handle that was not freed.
#[inline(never)]
unsafe fn guarded<T: Kind>(
    handle: *const Handle<T>,
    given: usize,
    body: impl FnOnce(&mut T) -> Done,
) -> toolglot_status {
    let status = |done: Done| done.map_or_else(|fault| fault.status, |()| TOOLGLOT_OK);
    // SAFETY: guaranteed by the caller.
    let _inside = match unsafe { entered(handle, true) } {
        Ok(inside) => inside,
        Err(status) => return status,
    };
    // SAFETY: we are inside as the writer: no other call is.
    let slot = unsafe { &mut *(*handle).slot.get() };
    match &mut slot.state {
        State::Ready(value) if slot.holding.is_brief(given) => {
            let caught = || catch_unwind(AssertUnwindSafe(|| body(value)));
            match slot.holding.briefly(caught) {
                (Ok(Ok(())), false) => TOOLGLOT_OK,
                (done, failed) => {
                    let _scope = Scope::enter();
                    status(slot.not_done(done, failed, true))
                }
            }
        }
        _ => {
            let _scope = Scope::enter();
            status(slot.run(true, body))
        }
    }
}

impl<T> Slot<T> {
    /// Keeps the message of a failure, and returns its status.
    #[cold]
    fn fails(&mut self, fault: Fault) -> toolglot_status {
        self.message = fault.message;
        fault.status
    }

    /// Runs a body on the value. A failure leaves its message; a panic poisons the handle. If memory runs out, the handle ends
    /// if the body may have changed the value.
    fn run<R>(&mut self, changes: bool, body: impl FnOnce(&mut T) -> Done<R>) -> Done<R> {
        let State::Ready(value) = &mut self.state else {
            return Err(Fault::new(self.over(), self.message.clone()));
        };
        let guarded = || {
            memory::ensure(0)?;
            let done = body(value)?;
            memory::check()?;
            Ok(done)
        };
        let caught = || catch_unwind(AssertUnwindSafe(guarded));
        match self.holding.during(caught) {
            Ok(Ok(done)) if !memory::failed() => Ok(done),
            done => self.not_done(done, memory::failed(), changes),
        }
    }

    /// Handles what a body returned that failed, panicked, or ran out of memory.
    #[cold]
    #[inline(never)]
    fn not_done<R>(
        &mut self,
        done: std::thread::Result<Done<R>>,
        out_of_memory: bool,
        changes: bool,
    ) -> Done<R> {
        let done = done.unwrap_or_else(|cause| Err(self.poison(cause)));
        if let Err(fault) = &done {
            self.message = fault.message.clone();
        }
        match out_of_memory {
            false => done,
            true => Err(self.end(changes)),
        }
    }

    /// The status of a handle that accepts no calls.
    #[cold]
    fn over(&self) -> toolglot_status {
        match self.state {
            State::Ended => TOOLGLOT_E_NOMEM,
            State::Ready(_) | State::Poisoned(_) => TOOLGLOT_E_POISONED,
        }
    }

    /// Handles an allocation failure. The fault's message may itself come from the reserve.
    #[cold]
    fn end(&mut self, changes: bool) -> Fault {
        if changes {
            let state = std::mem::replace(&mut self.state, State::Ended);
            memory::apart(|| dispose(state));
            self.holding = Holding::default();
        }
        let fault = Fault::no_memory();
        self.message = fault.message.clone();
        fault
    }

    #[cold]
    fn poison(&mut self, cause: Box<dyn Any + Send>) -> Fault {
        guard::forget(cause);
        if let State::Ready(value) = std::mem::replace(&mut self.state, State::Ended) {
            self.state = State::Poisoned(value);
        }
        let fault = Fault::new(
            TOOLGLOT_E_PANIC,
            "the library failed inside; please report it",
        );
        self.message = fault.message.clone();
        fault
    }
}

/// Runs a body that may change the handle's value. The message of a fault stays on the handle; a panic poisons it, and an
/// allocation failure ends it.
///
/// # Safety
/// The pointer is NULL or a handle that was not freed.
pub(crate) unsafe fn write<T: Kind, R>(
    handle: *const Handle<T>,
    body: impl FnOnce(&mut T) -> Done<R>,
) -> Done<R> {
    // SAFETY: guaranteed by the caller.
    let _inside = unsafe { enter(handle, true) }?;
    // SAFETY: we are inside as the writer: no other call is.
    unsafe { &mut *(*handle).slot.get() }.run(true, body)
}

/// As [`write()`], for a body that only reads: if memory runs out, the handle remains as it was.
///
/// # Safety
/// The pointer is NULL or a handle that was not freed.
pub(crate) unsafe fn look<T: Kind, R>(
    handle: *const Handle<T>,
    body: impl FnOnce(&T) -> Done<R>,
) -> Done<R> {
    // SAFETY: guaranteed by the caller.
    let _inside = unsafe { enter(handle, true) }?;
    // SAFETY: we are inside as the writer: no other call is.
    unsafe { &mut *(*handle).slot.get() }.run(false, |value| body(value))
}

/// Runs a body that only reads. Several threads may do so at once.
///
/// # Safety
/// The pointer is NULL or a handle that was not freed.
pub(crate) unsafe fn read<T: Kind, R>(
    handle: *const Handle<T>,
    body: impl FnOnce(&T) -> Done<R>,
) -> Done<R> {
    // SAFETY: guaranteed by the caller.
    let _inside = unsafe { enter(handle, false) }?;
    // SAFETY: we are inside as a reader: nothing is changed meanwhile.
    let slot = unsafe { &*(*handle).slot.get() };
    match &slot.state {
        State::Ready(value) => body(value),
        State::Poisoned(_) | State::Ended => Err(Fault::new(slot.over(), slot.message.clone())),
    }
}

/// The message about the last failure on a handle; empty if there was none, or if the handle is NULL or busy.
///
/// # Safety
/// The pointer is NULL or a handle that was not freed.
pub(crate) unsafe fn message<T: Kind>(handle: *const Handle<T>) -> toolglot_view {
    guard::value(toolglot_view::EMPTY, || {
        // SAFETY: guaranteed by the caller.
        let _inside = unsafe { enter(handle, false) }.ok()?;
        // SAFETY: we are inside as a reader: nothing is changed meanwhile.
        let slot = unsafe { &*(*handle).slot.get() };
        Some(toolglot_view::of(slot.message.as_bytes()))
    })
}

/// Frees a handle; NULL is allowed. If a call is inside, the handle is dropped when that call returns.
///
/// # Safety
/// The pointer is NULL or a handle that was not freed.
pub(crate) unsafe fn free<T: Kind>(handle: *mut Handle<T>) {
    guard::value((), || {
        // SAFETY: guaranteed by the caller.
        let it = unsafe { handle.as_ref() }?;
        if it.magic != T::MAGIC {
            return None;
        }
        if it.users.fetch_or(FREED, Ordering::AcqRel) == 0 {
            // SAFETY: no call is inside, and none can enter any more.
            unsafe { discard(handle) };
        }
        Some(())
    })
}
