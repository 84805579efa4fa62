//! The names of enum variants in messages, files and interfaces. Each enum has one table; its names, their parsers and its
//! serde form follow from it. The order of a table is pinned: binary formats and the C interface use the indices.

use std::fmt;
use std::marker::PhantomData;

pub use serde;
use serde::de::{Deserialize as _, Deserializer, Error as _, Unexpected, Visitor};
use serde::ser::Serializer;

/// A word that names nothing in its context.
///
/// ```
/// use toolglot::{Prefer, UnknownWord};
///
/// let wrong: UnknownWord = "texts".parse::<Prefer>().unwrap_err();
/// assert_eq!(wrong.expected, ["text", "native", "both"]);
/// assert_eq!(wrong.to_string(), "`texts` is none of: text, native, both");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownWord {
    /// What was expected, for example `finish reason`.
    pub what: &'static str,
    /// The word that was given.
    pub word: String,
    /// The words that are known.
    pub expected: &'static [&'static str],
}

/// Longer lists are left out of messages.
const LISTED: usize = 12;

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.expected.len() > LISTED {
            true => write!(f, "`{}` is no {}", self.word, self.what),
            false => write!(
                f,
                "`{}` is none of: {}",
                self.word,
                self.expected.join(", ")
            ),
        }
    }
}

impl std::error::Error for UnknownWord {}

/// An enum with a table of words.
pub trait Word: Copy + 'static {
    /// What its words name.
    const WHAT: &'static str;
    /// All of them, in order.
    const EACH: &'static [Self];
    /// Their words, in the same order.
    const WORDS: &'static [&'static str];

    /// Its index in the table.
    fn place(self) -> usize;
}

/// The value that a word names.
pub fn find<W: Word>(word: &str) -> Option<W> {
    let place = W::WORDS.iter().position(|known| *known == word)?;
    W::EACH.get(place).copied()
}

/// The value that a word names.
///
/// # Errors
/// The word is not in the table.
pub fn read<W: Word>(word: &str) -> Result<W, UnknownWord> {
    find(word).ok_or_else(|| UnknownWord {
        what: W::WHAT,
        word: word.to_owned(),
        expected: W::WORDS,
    })
}

/// Writes the word, or in binary formats its index in the table.
///
/// # Errors
/// The serializer's.
pub fn serialize<W: Word, S: Serializer>(word: W, out: S) -> Result<S::Ok, S::Error> {
    let place = word.place();
    match out.is_human_readable() {
        true => out.serialize_str(W::WORDS.get(place).copied().unwrap_or_default()),
        false => out.serialize_u32(place as u32),
    }
}

/// Reads what [`serialize`] wrote.
///
/// # Errors
/// The deserializer's, and a word or index that is not in the table.
pub fn deserialize<'de, W: Word, D: Deserializer<'de>>(from: D) -> Result<W, D::Error> {
    if from.is_human_readable() {
        return from.deserialize_str(Words(PhantomData));
    }
    let place = u32::deserialize(from)?;
    W::EACH
        .get(place as usize)
        .copied()
        .ok_or_else(|| D::Error::invalid_value(Unexpected::Unsigned(u64::from(place)), &W::WHAT))
}

struct Words<W>(PhantomData<W>);

impl<W: Word> Visitor<'_> for Words<W> {
    type Value = W;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the word of a {}", W::WHAT)
    }

    fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<W, E> {
        find(word).ok_or_else(|| E::unknown_variant(word, W::WORDS))
    }
}

/// Gives an enum its words: `ALL`, `name` and `from_name` from a table. For an enum that already has `ALL` and `name` (the
/// second form) it adds only `Display`, `FromStr`, `Serialize` and `Deserialize`.
#[doc(hidden)]
#[macro_export]
macro_rules! words {
    ($type:ident, $what:literal: $($variant:ident = $word:literal,)*) => {
        impl $type {
            /// All of them, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            #[doc = concat!("Its word: ", $("`", $word, "` ",)* ".")]
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// The variant with that name. `FromStr` reports the expected names, too.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                $crate::words::find(name)
            }
        }

        $crate::words!($type, $what);
    };
    ($type:ident, $what:literal) => {
        impl $crate::words::Word for $type {
            const WHAT: &'static str = $what;
            const EACH: &'static [Self] = Self::ALL;
            const WORDS: &'static [&'static str] = &{
                let mut words = [""; $type::ALL.len()];
                let mut place = 0;
                while place < words.len() {
                    words[place] = $type::ALL[place].name();
                    place += 1;
                }
                words
            };

            fn place(self) -> usize {
                Self::ALL.iter().position(|one| *one == self).unwrap_or_default()
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::words::UnknownWord;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                $crate::words::read(word)
            }
        }

        impl $crate::words::serde::Serialize for $type {
            fn serialize<S: $crate::words::serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
                $crate::words::serialize(*self, out)
            }
        }

        impl<'de> $crate::words::serde::Deserialize<'de> for $type {
            fn deserialize<D: $crate::words::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $crate::words::deserialize(from)
            }
        }
    };
}
