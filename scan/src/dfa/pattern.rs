//! Bytes to look for.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Whether letters of a marker match in either case.
///
/// ```
/// use toolglot_scan::{Case, Pattern};
///
/// assert!(Pattern::new("<think>", Case::Ignore).accepts(1, b'T'));
/// assert!(!Pattern::new("<think>", Case::Exact).accepts(1, b'T'));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Case {
    /// Bytes must match exactly.
    #[default]
    Exact,
    /// ASCII letters match in either case.
    Ignore,
}

/// Bytes to look for.
///
/// See the example of [`Dfa`](crate::Dfa).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The marker.
    pub bytes: Cow<'static, [u8]>,
    /// Whether its letters match in either case.
    pub case: Case,
    /// Whether a prefix of it must be held back until it is decided.
    pub hold: bool,
}

impl Pattern {
    /// A pattern whose prefixes are held back.
    pub fn new(bytes: impl AsRef<[u8]>, case: Case) -> Self {
        Self {
            bytes: Cow::Owned(bytes.as_ref().to_vec()),
            case,
            hold: true,
        }
    }

    /// Whether the pattern accepts `byte` at index `at`.
    pub fn accepts(&self, at: usize, byte: u8) -> bool {
        match self.case {
            Case::Exact => self.bytes[at] == byte,
            Case::Ignore => self.bytes[at].eq_ignore_ascii_case(&byte),
        }
    }

    /// Whether the pattern alone determines the bytes it matched.
    pub fn exact(&self) -> bool {
        self.case == Case::Exact || !self.bytes.iter().any(u8::is_ascii_alphabetic)
    }
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        (&self.bytes, self.case, self.hold).serialize(to)
    }
}

/// Its bytes are those that it is read from.
impl<'de: 'static> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (bytes, case, hold) = Deserialize::deserialize(from)?;
        Ok(Self {
            bytes: Cow::Borrowed(bytes),
            case,
            hold,
        })
    }
}
