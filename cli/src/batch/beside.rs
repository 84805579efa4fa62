//! Members of a record that are not ours: they pass through to its turn as they stand.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use toolglot::json::Value;

/// Members in order, with their JSON text.
pub struct Beside(Vec<(String, Box<RawValue>)>);

/// What a turn, or the answer to a line that is not a record, says itself. A member of that name goes into `record`.
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
    /// Without members of these names.
    pub fn without(mut self, keys: &[&str]) -> Self {
        self.0.retain(|(key, _)| !keys.contains(&key.as_str()));
        self
    }

    /// The first name.
    pub fn first(&self) -> Option<&str> {
        self.0.first().map(|(key, _)| key.as_str())
    }

    /// Puts them after the members of a turn.
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
