//! The members of an object as written: a key may occur more than once.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

/// The members of a JSON object with their source text.
pub(crate) struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut list = vec![];
                while let Some(entry) = map.next_entry()? {
                    list.push(entry);
                }
                Ok(Members(list))
            }
        }
        input.deserialize_map(Read)
    }
}

impl<'a> Members<'a> {
    /// Reads the members of an object; `None` if the text is not an object.
    pub fn read(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Repeated keys, once per repetition.
    pub fn repeated(&self) -> Vec<String> {
        let mut seen: HashSet<&str> = HashSet::new();
        let again = self.0.iter().filter(|(key, _)| !seen.insert(key));
        again.map(|(key, _)| key.clone()).collect()
    }

    /// The canonical text: each key once, at its first position, with its last value.
    pub fn last_wins(&self) -> String {
        let mut last: HashMap<&str, &str> = HashMap::new();
        for (key, value) in &self.0 {
            last.insert(key, value.get());
        }
        let mut out = String::from("{");
        for (key, _) in &self.0 {
            if let Some(value) = last.remove(key.as_str()) {
                if out.len() > 1 {
                    out.push(',');
                }
                toolglot_scan::json::string(key, &mut out);
                out.push(':');
                out.push_str(value);
            }
        }
        out.push('}');
        out
    }
}
