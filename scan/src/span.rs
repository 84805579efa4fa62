//! A place in the input.

/// A half-open range of stream bytes. Offsets count from the first byte of the stream.
///
/// ```
/// let text = "Hi Leith";
/// let span = toolglot_scan::Span::new(3, 8);
/// assert_eq!(span.len(), 5);
/// assert_eq!(&text[span.start as usize..span.end as usize], "Leith");
/// ```
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u64,
    /// Offset after the last byte.
    pub end: u64,
}

impl Span {
    /// The range `start..end`.
    #[must_use]
    pub const fn new(start: u64, end: u64) -> Self {
        Self { start, end }
    }

    /// Its length in bytes.
    #[must_use]
    pub const fn len(self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Whether it is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.end <= self.start
    }
}
