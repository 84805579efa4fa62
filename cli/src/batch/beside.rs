//! Unknown members of a record: they pass through to its turn unchanged.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use toolglot::json::Value;

/// Members in order, with their JSON text.
pub struct Beside(Vec<(String, Box<RawValue>)>);

/// Members that a turn, or the answer to an invalid line, has itself. An input member of that name goes into `record`.
const TURN: [&str; 10] = [
    "id",
    "text",
    "reasoning",
    "calls",
    "errors",
    "toolglot",
    "tool_issues",
    "record",
    "line",
    "error",
];

impl Beside {
    /// Returns the members without these names.
    pub fn without(mut self, keys: &[&str]) -> Self {
        self.0.retain(|(key, _)| !keys.contains(&key.as_str()));
        self
    }

    /// Returns the first name.
    pub fn first(&self) -> Option<&str> {
        self.0.first().map(|(key, _)| key.as_str())
    }

    /// Appends them to the members of a turn.
    pub fn behind(&self, turn: String) -> String {
        let Some(open) = turn.strip_suffix('}').filter(|_| !self.0.is_empty()) else {
            return turn;
        };
        let (own, free): (Vec<_>, Vec<_>) = self
            .0
            .iter()
            .partition(|(key, _)| TURN.contains(&key.as_str()));
        let mut out = open.to_owned();
        for (key, raw) in free {
            out.push_str(&member(key, raw.get()));
        }
        if !own.is_empty() {
            let inner: String = own
                .iter()
                .map(|(key, raw)| member(key, raw.get()))
                .collect();
            out.push_str(&member("record", &format!("{{{}}}", &inner[1..])));
        }
        out.push('}');
        out
    }
}

/// A member, with the comma before it.
fn member(key: &str, json: &str) -> String {
    format!(",{}:{json}", Value::from(key))
}

impl<'de> Deserialize<'de> for Beside {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Beside;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a record")
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
