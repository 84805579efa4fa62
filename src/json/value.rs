//! JSON values.

use std::fmt;
use std::str::FromStr;

use super::{Map, Number};

/// A JSON value.
///
/// ```
/// let value: toolglot::json::Value = r#"{"a": [1, "b"], "n": 9007199254740993.0}"#.parse()?;
/// assert_eq!(value["a"][1].as_str(), Some("b"));
/// assert_eq!(value.pointer("/a/0").and_then(|one| one.as_u64()), Some(1));
/// assert_eq!(value["n"].to_string(), "9007199254740993.0"); // numbers keep their spelling
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as it is spelled.
    Number(Number),
    /// A string.
    String(String),
    /// A list.
    Array(Vec<Value>),
    /// An object.
    Object(Map),
}

/// An index into a value: a key, or a position in a list.
///
/// ```
/// use toolglot::json::Value;
///
/// let call: Value = r#"{"name": "f", "ids": [7, 8]}"#.parse()?;
/// assert_eq!(call.get("name").and_then(Value::as_str), Some("f")); // a key
/// assert_eq!(call["ids"].get(1).and_then(Value::as_u64), Some(8)); // a position
/// # Ok::<(), serde_json::Error>(())
/// ```
pub trait Index {
    /// The value at the index.
    fn of<'v>(&self, value: &'v Value) -> Option<&'v Value>;
    /// The value at the index, mutably.
    fn of_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value>;
}

impl Index for str {
    fn of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        value.as_object()?.get(self)
    }
    fn of_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        value.as_object_mut()?.get_mut(self)
    }
}

impl Index for String {
    fn of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.as_str().of(value)
    }
    fn of_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        self.as_str().of_mut(value)
    }
}

impl Index for usize {
    fn of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        value.as_array()?.get(*self)
    }
    fn of_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        value.as_array_mut()?.get_mut(*self)
    }
}

impl<T: Index + ?Sized> Index for &T {
    fn of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        (**self).of(value)
    }
    fn of_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        (**self).of_mut(value)
    }
}

impl Value {
    /// The value at a key or position, if this is an object or a list that has it.
    pub fn get<I: Index>(&self, index: I) -> Option<&Value> {
        index.of(self)
    }

    /// As [`get`](Self::get), mutably.
    pub fn get_mut<I: Index>(&mut self, index: I) -> Option<&mut Value> {
        index.of_mut(self)
    }

    /// The value at a JSON pointer.
    #[must_use]
    pub fn pointer(&self, pointer: &str) -> Option<&Value> {
        if pointer.is_empty() {
            return Some(self);
        }
        let mut steps = pointer.strip_prefix('/')?.split('/');
        steps.try_fold(self, |value, step| match value {
            Value::Object(map) => map.get(&crate::pointer::key(step)),
            Value::Array(list) => list.get(crate::pointer::index(step)?),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        })
    }

    /// Takes the value, leaving null.
    pub fn take(&mut self) -> Value {
        std::mem::take(self)
    }

    /// The text, if it is a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The number, if it is one.
    #[must_use]
    pub fn as_number(&self) -> Option<&Number> {
        match self {
            Self::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The boolean, if it is one.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(bool) => Some(*bool),
            _ => None,
        }
    }

    /// The value of an integer of this range.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        self.as_number()?.as_u64()
    }

    /// The value of an integer of this range.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number()?.as_i64()
    }

    /// The nearest float of a number.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        self.as_number()?.as_f64()
    }

    /// The items, if it is a list.
    #[must_use]
    pub fn as_array(&self) -> Option<&Vec<Value>> {
        match self {
            Self::Array(list) => Some(list),
            _ => None,
        }
    }

    /// The items, if it is a list, to be changed.
    pub fn as_array_mut(&mut self) -> Option<&mut Vec<Value>> {
        match self {
            Self::Array(list) => Some(list),
            _ => None,
        }
    }

    /// The members, if it is an object.
    #[must_use]
    pub fn as_object(&self) -> Option<&Map> {
        match self {
            Self::Object(map) => Some(map),
            _ => None,
        }
    }

    /// The members, if it is an object, to be changed.
    pub fn as_object_mut(&mut self) -> Option<&mut Map> {
        match self {
            Self::Object(map) => Some(map),
            _ => None,
        }
    }

    /// Whether it is null.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Whether it is a boolean.
    #[must_use]
    pub fn is_boolean(&self) -> bool {
        matches!(self, Self::Bool(_))
    }

    /// Whether it is a number.
    #[must_use]
    pub fn is_number(&self) -> bool {
        matches!(self, Self::Number(_))
    }

    /// Whether it is a string.
    #[must_use]
    pub fn is_string(&self) -> bool {
        matches!(self, Self::String(_))
    }

    /// Whether it is a list.
    #[must_use]
    pub fn is_array(&self) -> bool {
        matches!(self, Self::Array(_))
    }

    /// Whether it is an object.
    #[must_use]
    pub fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }
}

impl<I: Index> std::ops::Index<I> for Value {
    type Output = Value;
    /// The value at the index; null if there is none.
    fn index(&self, index: I) -> &Value {
        static NULL: Value = Value::Null;
        index.of(self).unwrap_or(&NULL)
    }
}

impl std::ops::IndexMut<&str> for Value {
    /// The value of a key. Null becomes an object, and a missing value null.
    ///
    /// # Panics
    /// This is neither an object nor null.
    fn index_mut(&mut self, key: &str) -> &mut Value {
        if self.is_null() {
            *self = Self::Object(Map::new());
        }
        let map = self.as_object_mut().expect("an object has keys");
        if !map.contains_key(key) {
            map.insert(key.to_owned(), Self::Null);
        }
        map.get_mut(key).expect("it was inserted")
    }
}

impl std::ops::IndexMut<usize> for Value {
    /// The value at a position.
    ///
    /// # Panics
    /// This is not a list, or it is too short.
    fn index_mut(&mut self, at: usize) -> &mut Value {
        self.get_mut(at).expect("a list that has the place")
    }
}

impl FromStr for Value {
    type Err = serde_json::Error;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        serde_json::from_str(text)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match f.alternate() {
            true => serde_json::to_string_pretty(self),
            false => serde_json::to_string(self),
        };
        f.write_str(&text.map_err(|_| fmt::Error)?)
    }
}

impl PartialEq<str> for Value {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == Some(other)
    }
}

impl PartialEq<&str> for Value {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == Some(*other)
    }
}

impl PartialEq<String> for Value {
    fn eq(&self, other: &String) -> bool {
        self.as_str() == Some(other)
    }
}

impl PartialEq<bool> for Value {
    fn eq(&self, other: &bool) -> bool {
        self.as_bool() == Some(*other)
    }
}

macro_rules! numbers {
    ($($kind:ty),*) => {$(
        impl PartialEq<$kind> for Value {
            fn eq(&self, other: &$kind) -> bool {
                self.as_number().is_some_and(|number| number.as_str() == other.to_string())
            }
        }
        impl From<$kind> for Value {
            fn from(number: $kind) -> Self {
                Self::Number(Number::new(number.to_string()))
            }
        }
    )*};
}
numbers!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize);

impl From<f64> for Value {
    /// Null if JSON has no number for the float.
    fn from(float: f64) -> Self {
        serde_json::to_string(&float)
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or_default()
    }
}

impl From<bool> for Value {
    fn from(bool: bool) -> Self {
        Self::Bool(bool)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        Self::String(text.clone())
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Self {
        Self::Number(number)
    }
}

impl From<Map> for Value {
    fn from(map: Map) -> Self {
        Self::Object(map)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(list: Vec<T>) -> Self {
        list.into_iter().collect()
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl FromIterator<(String, Value)> for Value {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(members: I) -> Self {
        Self::Object(members.into_iter().collect())
    }
}

impl<T: Into<Value>> FromIterator<T> for Value {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self::Array(items.into_iter().map(Into::into).collect())
    }
}

/// Keys and numbers are as `serde_json` has them; what it has lost stays lost.
impl From<serde_json::Value> for Value {
    fn from(value: serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(bool) => Self::Bool(bool),
            serde_json::Value::Number(number) => Self::Number(Number::new(number.to_string())),
            serde_json::Value::String(text) => Self::String(text),
            serde_json::Value::Array(list) => list.into_iter().collect(),
            serde_json::Value::Object(map) => Self::Object(
                map.into_iter()
                    .map(|(key, value)| (key, value.into()))
                    .collect(),
            ),
        }
    }
}

/// Numbers that no type of `serde_json` can represent become the nearest float; those beyond the range of floats become null.
impl From<&Value> for serde_json::Value {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(bool) => Self::Bool(*bool),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => number.into(),
                (None, Some(number)) => number.into(),
                (None, None) => number.as_f64().into(),
            },
            Value::String(text) => text.as_str().into(),
            Value::Array(list) => list.iter().map(Self::from).collect(),
            Value::Object(map) => Self::Object(
                map.iter()
                    .map(|(key, value)| (key.clone(), value.into()))
                    .collect(),
            ),
        }
    }
}
