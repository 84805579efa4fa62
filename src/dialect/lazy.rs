//! Tables that are built when they are first needed: a stream meets few of the dialects of a set.

use std::convert::Infallible;
use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;

/// Builds a table, or says what is wrong with its description.
type Make<T> = Box<dyn Fn() -> Result<T, String> + Send + Sync>;

/// A table, and how it is built.
pub(crate) struct Lazy<T> {
    make: Make<T>,
    table: OnceLock<T>,
}

impl<T: Default> Lazy<T> {
    pub fn new(make: impl Fn() -> Result<T, String> + Send + Sync + 'static) -> Self {
        Self {
            make: Box::new(make),
            table: OnceLock::new(),
        }
    }

    /// Builds the table, which may be described wrongly.
    pub fn build(&self) -> Result<(), String> {
        try_once(&self.table, || (self.make)()).map(|_| ())
    }
}

/// What the cell holds, or else what `make` builds.
#[inline]
pub(crate) fn once<T>(cell: &OnceLock<T>, make: impl FnOnce() -> T) -> &T {
    let Ok(table) = try_once(cell, || Ok::<T, Infallible>(make()));
    table
}

/// The same, where `make` may fail.
#[inline]
pub(crate) fn try_once<T, E>(
    cell: &OnceLock<T>,
    make: impl FnOnce() -> Result<T, E>,
) -> Result<&T, E> {
    match cell.get() {
        Some(table) => Ok(table),
        None => fill(cell, make),
    }
}

/// The cell is not locked while `make` builds, because a process may fork meanwhile.
#[cold]
#[inline(never)]
fn fill<T, E>(cell: &OnceLock<T>, make: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
    let table = make()?;
    Ok(cell.get_or_init(|| table))
}

/// Tables of a description that is not known to be right were built with it, so here nothing is wrong with any.
impl<T: Default> Deref for Lazy<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        once(&self.table, || (self.make)().unwrap_or_default())
    }
}

impl<T: fmt::Debug> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.table.fmt(f)
    }
}
