//! Tables that are built when they are first needed: a stream meets few of the dialects of a set.

use std::convert::Infallible;
use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;

use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

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

/// A part of a plan that few streams need: it stays as its file has it until one does.
#[derive(Debug)]
pub(crate) struct Stored<T> {
    bytes: &'static [u8],
    value: OnceLock<T>,
}

impl<T> From<T> for Stored<T> {
    fn from(value: T) -> Self {
        Self {
            bytes: &[],
            value: value.into(),
        }
    }
}

impl<T: Default + Deserialize<'static>> Deref for Stored<T> {
    type Target = T;

    fn deref(&self) -> &T {
        once(&self.value, || {
            let value = postcard::from_bytes(self.bytes);
            debug_assert!(value.is_ok(), "a plan that is not as it was written");
            value.unwrap_or_default()
        })
    }
}

impl<T: Default + Serialize + Deserialize<'static>> Serialize for Stored<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let bytes = postcard::to_allocvec(&**self).map_err(S::Error::custom)?;
        to.serialize_bytes(&bytes)
    }
}

impl<'de: 'static, T> Deserialize<'de> for Stored<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let bytes = Deserialize::deserialize(from)?;
        let value = OnceLock::new();
        Ok(Self { bytes, value })
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
