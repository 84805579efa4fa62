//! Arguments of a call: JSON text, and its Python object, which is made on first access.

use std::hash::{Hash, Hasher};
use std::sync::OnceLock;

use pyo3::exceptions::{PyRecursionError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::guard::Failure;

/// JSON text with its parsed value. Compares by text.
#[derive(Debug)]
pub struct Json {
    text: String,
    value: OnceLock<Py<PyDict>>,
}

impl Json {
    pub fn new(text: String) -> Self {
        Self {
            text,
            value: OnceLock::new(),
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn value(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        if let Some(value) = self.value.get() {
            return Ok(value.clone_ref(py));
        }
        // Parsed outside any lock: Python code that runs meanwhile may ask for the value too. The first result is kept.
        let made = loads(py, &self.text)?;
        Ok(self.value.get_or_init(|| made).clone_ref(py))
    }

    /// For the garbage collector: the value is mutable and may come to refer to its own owner.
    pub fn visit(&self, visit: pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        self.value.get().map_or(Ok(()), |value| visit.call(value))
    }
}

fn loads(py: Python<'_>, text: &str) -> PyResult<Py<PyDict>> {
    let value = py.import("json")?.call_method1("loads", (text,));
    match value {
        Ok(value) => Ok(value.cast_into::<PyDict>()?.unbind()),
        Err(error)
            if error.is_instance_of::<PyRecursionError>(py)
                || error.is_instance_of::<PyValueError>(py) =>
        {
            let message = format!(
                "the arguments cannot become Python objects ({error}); arguments_json has them"
            );
            let failure = PyErr::from(Failure::limit(message));
            failure.set_cause(py, Some(error));
            Err(failure)
        }
        Err(error) => Err(error),
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Json {}

impl Hash for Json {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}
