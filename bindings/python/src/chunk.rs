//! The types that can be fed: `str`, `bytes`, `bytearray`, `memoryview`.

use std::ops::Deref;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView, PyString};

/// Chunks longer than this are read with the interpreter released. For shorter ones the switch costs more than
/// it gains.
const LONG: usize = 4096;

/// The bytes of a chunk: borrowed from the Python object if it is immutable, otherwise copied.
pub enum Chunk {
    Str(PyBackedStr),
    Bytes(PyBackedBytes),
}

impl Deref for Chunk {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Str(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

impl Chunk {
    pub fn is_long(&self) -> bool {
        self.len() > LONG
    }

    pub fn is_str(&self) -> bool {
        matches!(self, Self::Str(_))
    }

    /// Reads a Python argument; `what` names it in the error.
    pub fn of(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Self> {
        if let Ok(text) = object.cast::<PyString>() {
            return Ok(Self::Str(text.clone().try_into()?));
        }
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Self::Bytes(bytes.clone().into()));
        }
        if let Ok(bytes) = object.cast::<PyByteArray>() {
            return Ok(Self::Bytes(bytes.clone().into()));
        }
        match PyMemoryView::from(object) {
            Ok(view) => {
                let copy = view.call_method0("tobytes")?;
                Ok(Self::Bytes(copy.cast::<PyBytes>()?.clone().into()))
            }
            Err(_) => {
                let class = object.get_type().name()?;
                let why =
                    format!("{what}: str, bytes, bytearray or memoryview is needed, not {class}");
                Err(PyTypeError::new_err(why))
            }
        }
    }
}

/// Runs `work` with the interpreter released if the chunk is long.
pub fn run<T: Send>(py: Python<'_>, chunk: &Chunk, work: impl FnOnce(&[u8]) -> T + Send) -> T {
    let bytes: &[u8] = chunk;
    if chunk.is_long() {
        py.detach(|| work(bytes))
    } else {
        work(bytes)
    }
}
