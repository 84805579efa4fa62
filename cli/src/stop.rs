//! How a command ends.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use crate::terminal;

/// How a command that ran to its end turned out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No errors, or `--strict` is not set.
    Clean,
    /// Errors were found.
    Errors,
    /// The run of an agent waits for a decision, and is saved.
    #[cfg(feature = "agent")]
    Waits,
    /// The run of an agent was interrupted.
    #[cfg(feature = "agent")]
    Interrupted,
}

impl Verdict {
    /// Errors count only with `--strict`.
    pub fn of(errors: bool, strict: bool) -> Self {
        if errors && strict {
            Self::Errors
        } else {
            Self::Clean
        }
    }

    /// Returns the exit status.
    pub fn status(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::Errors => 1,
            #[cfg(feature = "agent")]
            Self::Waits => 3,
            // The value that shells use for a command ended by Ctrl-C.
            #[cfg(feature = "agent")]
            Self::Interrupted => 130,
        }
    }
}

/// Why a command cannot continue.
#[derive(Debug)]
pub enum Stop {
    /// The message for the user: what and where.
    Message(String),
    /// The reader of the output has closed it, which is not an error.
    Closed,
    /// The user interrupted it.
    #[cfg(feature = "agent")]
    Interrupted,
}

impl Stop {
    /// The input or the usage is wrong.
    pub fn because(what: impl Display) -> Self {
        Self::Message(what.to_string())
    }

    /// The output cannot be written.
    pub fn output(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Message(format!("cannot write the output: {error}")),
        }
    }

    /// Prints the reason, and returns the exit status.
    pub fn report(&self) -> u8 {
        match self {
            Self::Closed => 0,
            #[cfg(feature = "agent")]
            Self::Interrupted => Verdict::Interrupted.status(),
            Self::Message(text) => {
                // If standard error is closed too, the exit status must suffice.
                let _ = writeln!(
                    io::stderr(),
                    "toolglot: {}",
                    terminal::lines(text.trim_end())
                );
                2
            }
        }
    }
}
