//! What can go wrong at the boundary to Python, and the only place that catches panics.
//!
//! Python sees exceptions of `toolglot._errors`, never a `PanicException`: that class does not derive from `Exception`
//! and would end a service. All engine code runs through [`caught`] or [`entry`].

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;

/// A failure that can be created without the interpreter.
#[derive(Debug)]
pub struct Failure {
    class: &'static str,
    message: String,
}

impl Failure {
    pub fn dialect(message: impl ToString) -> Self {
        Self::new("DialectError", message)
    }

    pub fn tools(message: impl ToString) -> Self {
        Self::new("ToolsError", message)
    }

    pub fn encode(message: impl ToString) -> Self {
        Self::new("EncodeError", message)
    }

    pub fn snapshot(message: impl ToString) -> Self {
        Self::new("SnapshotError", message)
    }

    pub fn state(message: impl ToString) -> Self {
        Self::new("StateError", message)
    }

    pub fn limit(message: impl ToString) -> Self {
        Self::new("LimitError", message)
    }

    pub fn busy(what: &str) -> Self {
        let message = format!(
            "another thread is using this {what}; one {what} belongs to one thread at a time"
        );
        Self::new("BusyError", message)
    }

    /// Of what has failed with an internal error.
    pub fn broken(what: &str) -> Self {
        Self::state(format!(
            "this {what} failed with an internal error and cannot be used any more"
        ))
    }

    pub fn internal(message: impl ToString) -> Self {
        Self::new("InternalError", message)
    }

    /// The same failure of one of several things, which `what` names.
    pub fn of(mut self, what: impl Display) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }

    fn new(class: &'static str, message: impl ToString) -> Self {
        Self {
            class,
            message: message.to_string(),
        }
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        Python::attach(|py| {
            let class = py.import("toolglot._errors")?.getattr(failure.class)?;
            class.call1((failure.message,)).map(PyErr::from_value)
        })
        .unwrap_or_else(|error: PyErr| error)
    }
}

/// Runs engine code; turns a panic into an internal error.
pub fn caught<T>(run: impl FnOnce() -> T) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        let text = text.unwrap_or("no message");
        Failure::internal(format!(
            "toolglot failed with an internal error ({text}); please report it"
        ))
    })
}

/// The body of a function that Python calls.
pub fn entry<T>(run: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    caught(run)?
}
