//! Sets of JSON types.

use crate::json::{Decimal, Value};

/// A set of JSON types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Types(u8);

impl Types {
    pub const NULL: Self = Self(1);
    pub const BOOLEAN: Self = Self(2);
    pub const INTEGER: Self = Self(4);
    /// All numbers, including integers.
    pub const NUMBER: Self = Self(8 | 4);
    pub const STRING: Self = Self(16);
    pub const ARRAY: Self = Self(32);
    pub const OBJECT: Self = Self(64);
    pub const ANY: Self = Self(127);
    pub const NONE: Self = Self(0);

    /// The empty set; for a schema: unknown.
    pub const fn none() -> Self {
        Self::NONE
    }

    /// Returns the type of a name or one of its synonyms; `None` if there is no such type.
    pub fn named(name: &str) -> Option<Self> {
        Some(match alias(name).unwrap_or(name) {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "integer" => Self::INTEGER,
            "number" => Self::NUMBER,
            "string" => Self::STRING,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => return None,
        })
    }

    /// The type of a value.
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if whole(number.as_str()) => Self::INTEGER,
            Value::Number(_) => Self(8),
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    /// Whether the sets intersect.
    pub fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether this set contains all of the other.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether text of this type is already the value: a string, or unknown.
    pub fn plain(self) -> bool {
        self == Self::NONE || self == Self::STRING
    }

    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Whether a number is an integer, in any spelling: `5`, `5.0` and `1e3` are.
pub fn whole(number: &str) -> bool {
    match number.contains(['.', 'e', 'E']) {
        true => Decimal::read(number).is_some_and(|exact| exact.is_integer()),
        false => true,
    }
}

/// The types by name, in display order.
const NAMES: [(&str, Types); 6] = [
    ("string", Types::STRING),
    ("number", Types::NUMBER),
    ("boolean", Types::BOOLEAN),
    ("object", Types::OBJECT),
    ("array", Types::ARRAY),
    ("null", Types::NULL),
];

impl std::fmt::Display for Types {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if *self == Self::ANY {
            return f.write_str("any");
        }
        let name = |(name, types): &(&'static str, Types)| match *types {
            Self::NUMBER if self.has(Self::INTEGER) && !self.has(Self::NUMBER) => Some("integer"),
            types => self.meets(types).then_some(*name),
        };
        let names: Vec<&str> = NAMES.iter().filter_map(name).collect();
        f.write_str(&names.join(" or "))
    }
}

/// The JSON Schema name of a type that has another name in a language or an API.
pub fn alias(name: &str) -> Option<&'static str> {
    // Gemini's API capitalizes types.
    Some(match name.to_ascii_lowercase().as_str() {
        "int" | "int32" | "int64" | "uint" | "uint32" | "uint64" | "long" | "short" | "bigint" => {
            "integer"
        }
        "integer" => "integer",
        "float" | "float32" | "float64" | "double" | "decimal" | "number" => "number",
        "bool" | "boolean" => "boolean",
        "str" | "text" | "varchar" | "char" | "enum" | "string" => "string",
        "dict" | "map" | "hash" | "struct" | "object" => "object",
        "list" | "tuple" | "set" | "arr" | "array" => "array",
        "none" | "nonetype" | "nil" | "null" => "null",
        _ => return None,
    })
}
