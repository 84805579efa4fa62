//! Numbers as text.

use std::fmt;

/// A JSON number as it is spelled. Two are equal if they are spelled alike; [`Decimal`](super::Decimal) compares values.
///
/// ```
/// use toolglot::json::Number;
///
/// let number = Number::read("1e2").expect("a number");
/// assert_eq!((number.as_str(), number.as_f64(), number.as_u64()), ("1e2", Some(100.0), None));
/// assert!(Number::read("1e").is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Number(String);

impl Number {
    /// Reads a text that is exactly one number.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        toolglot_scan::json::is_number(text).then(|| Self(text.to_owned()))
    }

    /// The number as it is spelled.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The value, if it is spelled as an integer in this range.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        self.0.parse().ok()
    }

    /// The value, if it is spelled as an integer in this range.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        self.0.parse().ok()
    }

    /// The nearest float, if it is finite.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        self.0.parse().ok().filter(|float: &f64| float.is_finite())
    }

    /// Whether [`as_i64`](Self::as_i64) has a value.
    #[must_use]
    pub fn is_i64(&self) -> bool {
        self.as_i64().is_some()
    }

    /// Whether [`as_u64`](Self::as_u64) has a value.
    #[must_use]
    pub fn is_u64(&self) -> bool {
        self.as_u64().is_some()
    }

    pub(super) fn new(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
