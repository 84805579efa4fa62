//! Members of a JSON object with their text: those of a record pass through unchanged.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use toolglot::json::Value;

/// Members in order, with their JSON text.
pub struct Beside(Vec<(String, Box<RawValue>)>);

impl Beside {
    /// Returns the members without these names.
    pub fn without(mut self, keys: &[&str]) -> Self {
        self.0.retain(|(key, _)| !keys.contains(&key.as_str()));
        self
    }

    /// Returns the members in order; a name may occur twice.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.0.iter().map(|(key, raw)| (key.as_str(), &**raw))
    }

    /// Returns the first name.
    pub fn first(&self) -> Option<&str> {
        self.0.first().map(|(key, _)| key.as_str())
    }

    /// Returns the JSON text of a member; of several with one name the last counts, as for most readers.
    pub fn get(&self, key: &str) -> Option<&str> {
        let found = self.0.iter().rev().find(|(have, _)| have == key);
        found.map(|(_, raw)| raw.get())
    }

    /// The same for a member that says something: null is what tables write where a record has none.
    pub fn given(&self, key: &str) -> Option<&str> {
        self.get(key).filter(|raw| *raw != "null")
    }

    /// Appends them to the members of a turn. One whose name a turn uses itself goes into `record`.
    pub fn behind(&self, turn: String, names: &[&str]) -> String {
        let Some(open) = turn.strip_suffix('}').filter(|_| !self.0.is_empty()) else {
            return turn;
        };
        let (own, free) = self.split(names);
        format!("{open}{free}{}}}", record(&own))
    }

    /// Puts them before added members. One whose name is among the added goes into `record`.
    pub fn before(&self, added: &str, names: &[&str]) -> String {
        let (own, free) = self.split(names);
        let all = format!("{free},{added}{}", record(&own));
        format!("{{{}}}", all.trim_start_matches(','))
    }

    /// The members of these names and the others, each with a comma before it.
    fn split(&self, names: &[&str]) -> (String, String) {
        let (mut own, mut free) = (String::new(), String::new());
        for (key, raw) in &self.0 {
            let to = match names.contains(&key.as_str()) {
                true => &mut own,
                false => &mut free,
            };
            to.push_str(&format!(",{}:{}", Value::from(key.as_str()), raw.get()));
        }
        (own, free)
    }
}

fn record(members: &str) -> String {
    match members.strip_prefix(',') {
        Some(inner) => format!(",\"record\":{{{inner}}}"),
        None => String::new(),
    }
}

impl<'de> Deserialize<'de> for Beside {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Beside;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Beside, A::Error> {
                let mut list = vec![];
                while let Some(member) = map.next_entry()? {
                    list.push(member);
                }
                Ok(Beside(list))
            }
        }
        input.deserialize_map(Read)
    }
}
