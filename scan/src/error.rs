//! Why patterns cannot be compiled.

/// Why a pattern, or an automaton of patterns, cannot be built.
///
/// ```
/// use toolglot_scan::PatternError;
/// use toolglot_scan::path::parts;
///
/// assert_eq!(parts("$nme"), Err(PatternError::UnknownHole("nme".to_owned())));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// A `$` begins none of the known holes; with the text after it.
    #[error("`${0}` is not a hole")]
    UnknownHole(String),
    /// `$^` is not before the last byte.
    #[error("`$^` must be before the last byte of a pattern")]
    PeekPlace,
    /// Two patterns have different holes at the same place.
    #[error("two holes begin at one place")]
    TwoHoles,
    /// A hole directly follows a hole.
    #[error("a hole begins where another one does not end")]
    AdjacentHoles,
    /// The last hole takes everything.
    #[error("something must end the last hole")]
    OpenHole,
    /// The patterns exceed the size of a table.
    #[error("the markers are too many or too long")]
    TooMany,
    /// The patterns use every byte value.
    #[error("the markers use too many different bytes")]
    TooManyBytes,
    /// One of several patterns is wrong.
    #[error("`{pattern}`: {why}")]
    In {
        /// The pattern as written.
        pattern: String,
        /// Why it is wrong.
        why: Box<PatternError>,
    },
}

impl From<PatternError> for String {
    fn from(error: PatternError) -> Self {
        error.to_string()
    }
}
