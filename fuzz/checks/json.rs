//! Checks that a text is one JSON object, and finds the keys that it repeats.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

/// The result of reading a call's arguments.
pub struct Object {
    /// Whether a key of the object itself is repeated.
    pub repeats: bool,
}

/// Reads the arguments of a call.
///
/// # Panics
/// The text is not a JSON object.
pub fn object(text: &str) -> Object {
    match serde_json::from_str::<Keys>(text) {
        Ok(Keys { repeats }) => Object { repeats },
        // serde_json gives up at a depth of 128, which is its own limit, not a fault of the text.
        Err(error) if error.to_string().contains("recursion limit") => Object { repeats: false },
        // A lone surrogate is valid by the grammar of JSON, but serde_json rejects it.
        Err(error) if is_half(&error) && serde_json::from_str::<IgnoredAny>(text).is_ok() => {
            Object { repeats: false }
        }
        Err(error) => panic!("the arguments are not a JSON object ({error}): {text:?}"),
    }
}

fn is_half(error: &serde_json::Error) -> bool {
    let text = error.to_string();
    text.contains("surrogate") || text.contains("hex escape")
}

struct Keys {
    repeats: bool,
}

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Keys;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
                let mut seen = HashSet::new();
                let mut repeats = false;
                while let Some((key, _)) = map.next_entry::<String, IgnoredAny>()? {
                    repeats |= !seen.insert(key);
                }
                Ok(Keys { repeats })
            }
        }
        input.deserialize_map(Read)
    }
}
