//! What the C files ask of memory. Here an allocation that fails traps, as a panic does: the instance is lost, and nothing is
//! left to answer. Nothing is counted then, and no call fails for want of memory.

use crate::status::Done;

/// Chunks are taken in pieces of so many bytes, as in C.
pub(crate) const PIECE: usize = 16 << 10;

/// A call of the host.
#[derive(Debug)]
pub(crate) struct Scope;

impl Scope {
    pub fn enter() -> Self {
        Self
    }
}

/// What a handle holds.
#[derive(Debug, Default)]
pub(crate) struct Holding(());

impl Holding {
    pub fn of_call() -> Self {
        Self(())
    }

    /// Runs what may change the handle's value.
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

/// Makes room for more items.
pub(crate) fn grow<T>(list: &mut Vec<T>, more: usize) -> bool {
    list.try_reserve(more).is_ok()
}

pub(crate) fn taken() -> usize {
    0
}

pub(crate) fn apart<R>(run: impl FnOnce() -> R) -> R {
    run()
}
