//! Turns words, limits and switches from Python into options of the engine.
//!
//! The configuration of an engine is kept as one JSON text, the *config*. Engines are compared, hashed, pickled and cached
//! by it. Both ways to an engine, the constructor and a pickle, go through it.

use std::str::FromStr;

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::{Deserialize, Serialize};
use toolglot::{Finish, Limits, Options, Start, TextMode, ToolChoice, Tools, UnknownWord};

use crate::events::show;
use crate::guard::{Failure, caught};

/// The configuration of an engine. The definitions of the tools stand beside the options, which keep only a part of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub set: SetConfig,
    pub tools: Option<String>,
    pub options: Options,
}

/// The part of the configuration that is compiled.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetConfig {
    pub dialects: Vec<String>,
    /// `(origin, text)`.
    pub toml: Vec<(String, String)>,
    /// `(dialect, switch)`.
    pub switches: Vec<(String, String)>,
}

/// Parses the word of an option; the error lists the words it may have.
pub fn word<T: FromStr<Err = UnknownWord>>(option: &str, word: &str) -> PyResult<T> {
    word.parse().map_err(|unknown: UnknownWord| {
        let known: Vec<String> = unknown
            .expected
            .iter()
            .map(|have| format!("'{have}'"))
            .collect();
        PyValueError::new_err(format!(
            "{option}='{word}': it is one of {}",
            known.join(", ")
        ))
    })
}

pub fn finish(reason: &str) -> PyResult<Finish> {
    word("reason", reason)
}

pub fn start(text: &str) -> PyResult<Start> {
    word("start", text)
}

/// The `tool_choice` of a request: a word, or JSON text.
pub fn tool_choice(text: &str) -> PyResult<ToolChoice> {
    ToolChoice::from_json(text).map_err(|error| PyValueError::new_err(error.to_string()))
}

pub fn tools(json: &str) -> PyResult<std::sync::Arc<Tools>> {
    let tools = caught(|| Tools::from_json(json).map_err(Failure::tools))??;
    Ok(std::sync::Arc::new(tools))
}

/// Splits a switch as it is written: `vcp.fuzzy`, or with a value `hy-v4.suffix=:7b2e`.
pub fn switch(text: &str) -> PyResult<(String, String)> {
    // The id of a dialect may contain dots and so may the value; the name of a switch may not.
    let named = text.split_once('=').map_or(text, |(named, _)| named);
    match named.rfind('.').map(|dot| (&text[..dot], &text[dot + 1..])) {
        Some((dialect, name)) if !dialect.is_empty() && !name.is_empty() => {
            Ok((dialect.to_owned(), name.to_owned()))
        }
        _ => {
            let why = format!(
                "switches: '{text}' is not a switch; write 'DIALECT.NAME', for example 'vcp.fuzzy'"
            );
            Err(PyValueError::new_err(why))
        }
    }
}

impl Config {
    /// The options of its streams: text comes in whole characters.
    pub fn options(&self) -> PyResult<Options> {
        let mut options = self.options.clone();
        options.text = TextMode::Chars;
        options.tools = self.tools.as_deref().map(tools).transpose()?;
        Ok(options)
    }
}

macro_rules! limits {
    ($($(#[$doc:meta])* $field:ident: $kind:ty,)*) => {
        /// Upper bounds on what one stream may hold or deliver. Each limit takes effect at the same offset however the input is
        /// chunked, is reported as an `Issue` of its own kind, and loses no bytes. A limit that is not given has its default.
        ///
        /// ```
        /// >>> Limits(max_calls=2).max_calls
        /// 2
        /// >>> Limits().max_block
        /// 16777216
        ///
        /// ```
        #[pyclass(frozen, eq, hash, module = "toolglot", name = "Limits", from_py_object)]
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub struct PyLimits {
            pub limits: Limits,
        }

        #[pymethods]
        impl PyLimits {
            #[new]
            #[pyo3(signature = (*, $($field = None),*))]
            #[allow(clippy::too_many_arguments)]
            fn new($($field: Option<i128>),*) -> PyResult<Self> {
                let mut limits = Limits::default();
                $(if let Some(value) = $field {
                    limits.$field = <$kind>::try_from(value).map_err(|_| {
                        let most = <$kind>::MAX;
                        let why = format!("{}: {value} is not a number from 0 to {most}", stringify!($field));
                        PyValueError::new_err(why)
                    })?;
                })*
                Ok(Self { limits })
            }

            $(
                $(#[$doc])*
                #[getter]
                fn $field(&self) -> $kind {
                    self.limits.$field
                }
            )*

            fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
                show(py, "Limits", &[$((stringify!($field), self.limits.$field.into_py_any(py)?)),*])
            }

            #[pyo3(signature = () -> "tuple[tuple[()], dict[str, int]]")]
            fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<((), Bound<'py, PyDict>)> {
                let given = PyDict::new(py);
                $(given.set_item(stringify!($field), self.limits.$field)?;)*
                Ok(((), given))
            }
        }
    };
}

limits! {
    /// Bytes of one parameter value.
    max_value: u64,
    /// Bytes of one block; also the bytes retained of it.
    max_block: u64,
    /// Calls in one stream.
    max_calls: u32,
    /// Calls that one numbered chain may hold.
    max_chain: u32,
    /// Nesting depth of elements in a block.
    max_depth: u32,
    /// Parameters of one block, all levels together.
    max_params: u32,
    /// Bytes of a tool name, parameter name or tag name.
    max_name: u32,
    /// Bytes of an opening tag with its attributes.
    max_header: u32,
    /// Bytes that a lookahead may hold back.
    max_lookahead: u32,
    /// Issues that are reported individually.
    max_issues: u32,
    /// Bytes of API tool calls that may wait for the end of the text.
    max_native: u64,
}
