//! Arguments of a call: JSON text, and the Python object that it says, made when it is asked for.

use std::hash::{Hash, Hasher};
use std::sync::OnceLock;

use pyo3::exceptions::{PyRecursionError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::guard::Failure;

/// JSON text with its value. Compares by text.
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
        // Made without a lock: whatever Python code runs meanwhile may ask for it too, and the first to be done counts.
        let made = loads(py, &self.text)?;
        Ok(self.value.get_or_init(|| made).clone_ref(py))
    }

    /// What the collector of cycles has to know: the value may come to hold what holds it.
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
                "the arguments cannot be Python objects ({error}); arguments_json has them"
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
