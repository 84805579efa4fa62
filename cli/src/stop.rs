//! How a command ends.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use crate::terminal;

/// A command ran to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing to complain about, or nobody asked to be strict.
    Clean,
    /// Errors were found.
    Errors,
    /// The run of an agent waits for a decision, and is saved.
    #[cfg(feature = "agent")]
    Waits,
    /// Somebody ended the run of an agent.
    #[cfg(feature = "agent")]
    Interrupted,
}

impl Verdict {
    /// Errors count only if somebody asked to be strict.
    pub fn of(errors: bool, strict: bool) -> Self {
        if errors && strict {
            Self::Errors
        } else {
            Self::Clean
        }
    }

    /// The exit status.
    pub fn status(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::Errors => 1,
            #[cfg(feature = "agent")]
            Self::Waits => 3,
            // As shells give it for a command that Ctrl-C ended.
            #[cfg(feature = "agent")]
            Self::Interrupted => 130,
        }
    }
}

/// A command cannot go on.
#[derive(Debug)]
pub enum Stop {
    /// What to tell the user: what and where.
    Message(String),
    /// Nobody reads the output any more, which is not an error.
    Closed,
}

impl Stop {
    /// Something is wrong with the input or the usage.
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

    /// Says why, and gives the exit status.
    pub fn report(&self) -> u8 {
        match self {
            Self::Closed => 0,
            Self::Message(text) => {
                // If standard error is closed too, the status has to do.
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
