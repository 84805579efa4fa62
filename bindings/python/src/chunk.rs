//! The types that can be fed: `str`, `bytes`, `bytearray`, `memoryview`.

use std::fmt::Display;
use std::ops::Deref;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView, PyString};

/// Chunks longer than this are read with the interpreter released. For shorter ones the switch costs more than
/// it gains.
const LONG: usize = 4096;

/// The bytes of a chunk: borrowed from the Python object if it is immutable, otherwise copied.
pub enum Chunk<'a, 'py> {
    Str(&'a Bound<'py, PyString>, &'a str),
    Bytes(&'a Bound<'py, PyBytes>, &'a [u8]),
    Copy(Vec<u8>),
}

impl Deref for Chunk<'_, '_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Str(_, text) => text.as_bytes(),
            Self::Bytes(_, bytes) => bytes,
            Self::Copy(bytes) => bytes,
        }
    }
}

impl<'a, 'py> Chunk<'a, 'py> {
    /// What a step reads that takes no chunk.
    pub const NONE: Self = Self::Copy(Vec::new());

    pub fn is_long(&self) -> bool {
        self.len() > LONG
    }

    pub fn is_str(&self) -> bool {
        matches!(self, Self::Str(..))
    }

    /// Reads a Python argument; `what` names it in the error.
    #[inline]
    pub fn of(object: &'a Bound<'py, PyAny>, what: impl Display) -> PyResult<Self> {
        if let Ok(text) = object.cast::<PyString>() {
            return Ok(Self::Str(text, text.to_str()?));
        }
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Self::Bytes(bytes, bytes.as_bytes()));
        }
        Self::copied(object, &what)
    }

    #[cold]
    fn copied(object: &Bound<'py, PyAny>, what: &dyn Display) -> PyResult<Self> {
        if let Ok(bytes) = object.cast::<PyByteArray>() {
            return Ok(Self::Copy(bytes.to_vec()));
        }
        let Ok(view) = PyMemoryView::from(object) else {
            let class = object.get_type().name()?;
            let why = format!("{what}: str, bytes, bytearray or memoryview is needed, not {class}");
            return Err(PyTypeError::new_err(why));
        };
        let copy = view.call_method0("tobytes")?;
        Ok(Self::Copy(copy.cast::<PyBytes>()?.as_bytes().to_vec()))
    }

    /// Text of an event as a `str`. If the chunk is a `str` and the text all of it, it is that object itself.
    pub fn text(&self, py: Python<'py>, text: &[u8]) -> PyResult<Py<PyString>> {
        match self {
            Self::Str(whole, all)
                if std::ptr::eq(text, all.as_bytes())
                    && whole.is_exact_instance_of::<PyString>() =>
            {
                Ok((*whole).clone().unbind())
            }
            _ => self::text(py, text),
        }
    }

    /// Bytes of an event as `bytes`, likewise.
    pub fn data(&self, py: Python<'py>, data: &[u8]) -> Py<PyBytes> {
        match self {
            Self::Bytes(whole, all)
                if std::ptr::eq(data, *all) && whole.is_exact_instance_of::<PyBytes>() =>
            {
                (*whole).clone().unbind()
            }
            _ => PyBytes::new(py, data).unbind(),
        }
    }
}

/// Bytes of the model as a `str`. The engine delivers whole characters, so only what is not UTF-8 is replaced.
pub fn text(py: Python<'_>, bytes: &[u8]) -> PyResult<Py<PyString>> {
    let text = match PyString::from_bytes(py, bytes) {
        Ok(text) => text,
        Err(_) => PyString::new(py, &String::from_utf8_lossy(bytes)),
    };
    Ok(text.unbind())
}

/// Runs `work` with the interpreter released if the chunk is long.
pub fn run<T: Send>(
    py: Python<'_>,
    chunk: &Chunk<'_, '_>,
    work: impl FnOnce(&[u8]) -> T + Send,
) -> T {
    let bytes: &[u8] = chunk;
    if chunk.is_long() {
        py.detach(|| work(bytes))
    } else {
        work(bytes)
    }
}
