//! Why a dialect, a set of dialects or a snapshot cannot be used.

/// Why a dialect or a set of dialects cannot be used.
///
/// ```
/// use toolglot::{BuildError, DialectSet};
///
/// match DialectSet::builtin("hermess") {
///     Err(BuildError::Unknown { suggestion, .. }) => assert_eq!(suggestion.as_deref(), Some("hermes")),
///     other => panic!("{other:?}"),
/// }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The text is not TOML, or a key is unknown, missing or of the wrong type.
    #[error("{origin}: {message}")]
    Toml {
        /// The file or built-in id.
        origin: String,
        /// What is wrong and where, with line and column.
        message: String,
    },
    /// A key has an invalid value.
    #[error("dialect {dialect}: key `{key}`: {why}")]
    Key {
        /// Its dialect.
        dialect: String,
        /// The key with its path.
        key: String,
        /// Why.
        why: String,
    },
    /// Dialects cannot be active together.
    #[error("dialects {first} and {second}: {why}")]
    Clash {
        /// One of them.
        first: String,
        /// The other.
        second: String,
        /// Why.
        why: String,
    },
    /// There is no built-in dialect with that id.
    #[error("there is no dialect {id}{}", suggestion.as_ref().map(|s| format!(" (did you mean {s}?)")).unwrap_or_default())]
    Unknown {
        /// The id that was asked for.
        id: String,
        /// The id that was probably meant.
        suggestion: Option<String>,
    },
    /// A set needs at least one dialect.
    #[error("a set needs at least one dialect")]
    Empty,
}

/// Why a snapshot cannot be restored.
///
/// ```
/// use toolglot::{DialectSet, Options, Parser, SnapshotError};
///
/// let snapshot = Parser::new(&DialectSet::defaults(), Options::default()).snapshot();
/// let other = DialectSet::builtin("hermes")?;
/// let error = Parser::restore(&other, Options::default(), &snapshot).unwrap_err();
/// assert_eq!(error, SnapshotError::OtherSet);
/// # Ok::<(), toolglot::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// It was made by another version of the snapshot format.
    #[error("the snapshot has format version {found}, this library reads {expected}")]
    Version {
        /// The snapshot's version.
        found: u16,
        /// The version that this library reads.
        expected: u16,
    },
    /// It was made with another set of dialects or other options.
    #[error("the snapshot was made with other dialects or options")]
    OtherSet,
    /// It is truncated or corrupted.
    #[error("the snapshot is damaged")]
    Damaged,
}
