//! Errors of drivers and of what they call.

/// Why an executor or a model's client cannot be set up.
///
/// ```
/// use toolglot_agent::driver::{Process, ProcessSpec, SetupError};
///
/// let error = Process::new(ProcessSpec::new(["{program}", "--version"])).unwrap_err();
/// assert_eq!(error, SetupError::Program("{program}".to_owned())); // no model chooses the program
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// An address is invalid, or not one that is asked.
    #[error("`{address}`: {why}")]
    Address {
        /// The address as given.
        address: String,
        /// Why it is refused.
        why: String,
    },
    /// A host is not listed.
    #[error("`{0}` is not listed in `http.hosts` or `http.private`")]
    Host(String),
    /// A method is not one of HTTP.
    #[error("`{0}` is not a method")]
    Method(String),
    /// A header's name is invalid.
    #[error("`{0}` is not a header")]
    HeaderName(String),
    /// A header's value is invalid.
    #[error("header `{0}`: a value is text on one line")]
    HeaderValue(String),
    /// A variable in a header's value is malformed.
    #[error("`{0}`: `${{` has no end")]
    OpenVariable(String),
    /// An environment variable is not set.
    #[error("the variable {0} is not set")]
    Variable(String),
    /// A placeholder is malformed.
    #[error("`{text}`: {why}")]
    Placeholder {
        /// The text that contains it.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// `argv` of a process is empty.
    #[error("`argv` is empty; its first item is the program")]
    NoProgram,
    /// The program of a process is empty or contains a placeholder.
    #[error("`{0}`: the program cannot be an argument")]
    Program(String),
    /// TLS cannot be set up, or the client for another reason.
    #[error("{0}")]
    Client(String),
}

/// Why a call failed, as a message for the model.
///
/// ```
/// use toolglot_agent::driver::ToolFailed;
///
/// assert_eq!(ToolFailed::from("no such city").message(), "no such city");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolFailed(String);

/// Why a run could not be saved.
///
/// ```
/// use toolglot_agent::driver::{SaveError, Watch};
///
/// struct Full;
///
/// impl Watch for Full {
///     fn save(&mut self, _: &toolglot_agent::Run) -> Result<(), SaveError> {
///         Err(SaveError::new("the disk is full"))
///     }
/// }
/// assert_eq!(SaveError::new("the disk is full").message(), "the disk is full");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SaveError(String);

/// Both hold a message.
macro_rules! message {
    ($($name:ident)*) => {$(
        impl $name {
            /// Creates an error from a message, or from an error of another kind.
            pub fn new(why: impl std::fmt::Display) -> Self {
                Self(why.to_string())
            }

            /// Returns the message.
            #[must_use]
            pub fn message(&self) -> &str {
                &self.0
            }
        }

        impl From<String> for $name {
            fn from(why: String) -> Self {
                Self(why)
            }
        }

        impl From<&str> for $name {
            fn from(why: &str) -> Self {
                Self(why.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(error: $name) -> Self {
                error.0
            }
        }
    )*};
}

message!(ToolFailed SaveError);
