//! The native part of the Python package `toolglot`.
//!
//! | file | holds |
//! |---|---|
//! | `guard` | failures, and the only place that catches panics |
//! | `events`, `turn`, `arguments` | the output: frozen classes |
//! | `made` | from the engine's events to those classes |
//! | `options`, `engine` | the configuration of an engine, and the engine |
//! | `chunk`, `stream`, `many`, `reader` | the input: text, or responses of model servers |
//! | `text` | masking, escaping, encoding, detection |
//! | `tools`, `agent` | the tools layer and the agent, in JSON |
//! | `derive` | dialects from chat templates |
//! | `command` | the command `toolglot` |
//! | `arrow` | columns of transcripts into columns of turns; `arrow::abi` is the only file with `unsafe` |
//!
//! Rules: engine code runs only inside `guard`. The lock around a parser is only ever tried, so no thread waits for another's engine
//! work. Nothing calls Python while it holds a lock; objects are made meanwhile, so the garbage collector may run, and what it
//! finalizes finds the stream in use.

#![deny(unsafe_code)]

mod agent;
mod arguments;
mod arrow;
mod chunk;
#[cfg(feature = "command")]
mod command;
mod derive;
mod engine;
mod events;
mod guard;
mod made;
mod many;
mod options;
mod reader;
mod stream;
mod text;
mod tools;
mod turn;

/// The native part of `toolglot`; use that package, not this module.
#[pyo3::pymodule(name = "_native", gil_used = false)]
mod native {
    #[pymodule_export]
    use crate::agent::{AgentCore, ResponseCore, RunCore};
    #[pymodule_export]
    use crate::arrow::{Turns, parse_arrow};
    #[cfg(feature = "command")]
    #[pymodule_export]
    use crate::command::command;
    #[pymodule_export]
    use crate::derive::{Derived, derive};
    #[pymodule_export]
    use crate::engine::Engine;
    #[pymodule_export]
    use crate::events::{
        ArgDelta, BlockAbandoned, BlockClose, BlockOpen, CallAbandoned, CallClose, CallNamed,
        CallOpen, Issue, ParamClose, ParamDelta, ParamOpen, Protected, Raw, Reasoning, Text,
    };
    #[pymodule_export]
    use crate::many::feed_many;
    #[pymodule_export]
    use crate::options::PyLimits;
    #[pymodule_export]
    use crate::reader::{Reader, Rewriter};
    #[pymodule_export]
    use crate::stream::{Stream, live_streams};
    #[pymodule_export]
    use crate::text::{
        Dialect, Evidence, ModelDialects, PyMask, detect, dialect_toml, dialects, encode, escape,
        issue_kinds, model_dialects, transcode, unescape,
    };
    #[pymodule_export]
    use crate::tools::{ToolSet, results};
    #[pymodule_export]
    use crate::turn::{Call, Turn};

    /// The version of the engine.
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
