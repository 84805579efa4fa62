//! Kinds of issues in JSON: by their names.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toolglot::Kind;

pub fn serialize<S: Serializer>(kind: &Kind, out: S) -> Result<S::Ok, S::Error> {
    kind.name().serialize(out)
}

pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Kind, D::Error> {
    let name = String::deserialize(from)?;
    let kind = Kind::from_name(&name);
    kind.ok_or_else(|| D::Error::custom(format!("there is no kind of issue `{name}`")))
}
