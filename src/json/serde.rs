//! Reading and writing with serde, through raw JSON text. Only JSON can be read.

use serde::de::Error;
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::{Bounds, Map, Number, Value, read};

/// The bounds of reading: as deep as `serde_json` reads.
const BOUNDS: Bounds = Bounds {
    depth: 128,
    number: usize::MAX,
};

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(input)?;
        read(raw.get(), BOUNDS)
            .map(|read| read.value)
            .map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Map {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        match Value::deserialize(input)? {
            Value::Object(map) => Ok(map),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Err(D::Error::custom("an object is needed")),
        }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let raw = RawValue::from_string(self.as_str().to_owned());
        raw.map_err(serde::ser::Error::custom)?.serialize(out)
    }
}

impl Serialize for Map {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut map = out.serialize_map(Some(self.len()))?;
        for (key, value) in self {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => out.serialize_unit(),
            Self::Bool(bool) => out.serialize_bool(*bool),
            Self::Number(number) => number.serialize(out),
            Self::String(text) => out.serialize_str(text),
            Self::Array(list) => {
                let mut items = out.serialize_seq(Some(list.len()))?;
                for item in list {
                    items.serialize_element(item)?;
                }
                items.end()
            }
            Self::Object(map) => map.serialize(out),
        }
    }
}
