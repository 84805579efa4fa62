//! The memory functions that the C files need. Here a failed allocation traps, like a panic, and the instance is lost. So
//! nothing is counted, and no call fails for lack of memory.

use crate::status::Done;

/// The maximum size of the pieces in which chunks are taken, as in C.
pub(crate) const PIECE: usize = 16 << 10;

/// A call of the host.
#[derive(Debug)]
pub(crate) struct Scope;

impl Scope {
    pub fn enter() -> Self {
        Self
    }
}

/// The memory that a handle holds.
#[derive(Debug, Default)]
pub(crate) struct Holding(());

impl Holding {
    pub fn of_call() -> Self {
        Self(())
    }

    pub fn is_brief(&self, _given: usize) -> bool {
        true
    }

    pub fn briefly<R>(&mut self, body: impl FnOnce() -> R) -> (R, bool) {
        (body(), false)
    }

    /// Runs code that may change the handle's value.
    pub fn during<R>(&mut self, body: impl FnOnce() -> R) -> R {
        body()
    }
}

pub(crate) fn check() -> Done {
    Ok(())
}

pub(crate) fn failed() -> bool {
    false
}

pub(crate) fn ensure(_bytes: usize) -> Done {
    Ok(())
}

/// Reserves space for more items.
pub(crate) fn grow<T>(list: &mut Vec<T>, more: usize) -> bool {
    list.try_reserve(more).is_ok()
}

pub(crate) fn taken() -> usize {
    0
}

pub(crate) fn apart<R>(run: impl FnOnce() -> R) -> R {
    run()
}
