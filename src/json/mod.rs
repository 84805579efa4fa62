//! JSON values that preserve the order of keys and the spelling of numbers.
//!
//! `serde_json` has features for both, but a feature that a library enables is enabled for its host too, whose own types then
//! fail to read floats. So the library has its own values. They read and write through `serde_json`, which preserves the text
//! of a number in a [`RawValue`](serde_json::value::RawValue).
//!
//! ```
//! use toolglot::json::{Value, json};
//! let value: Value = r#"{"b": 1.50, "a": 20000000000000000001}"#.parse()?;
//! assert_eq!(value.to_string(), r#"{"b":1.50,"a":20000000000000000001}"#);
//! assert_eq!(json!({"b": value["b"]}).to_string(), r#"{"b":1.50}"#);
//! # Ok::<(), serde_json::Error>(())
//! ```

mod decimal;
mod map;
mod members;
mod number;
pub(crate) mod read;
mod serde;
mod value;

pub use crate::json_value as json;
pub use decimal::Decimal;
pub use map::Map;
pub(crate) use members::Members;
pub use number::Number;
pub(crate) use read::{Bounds, read};
pub use value::{Index, Value};

/// Converts anything that serde can write to a JSON value.
///
/// # Errors
/// It cannot be written as JSON, for example a map whose keys are not strings.
///
/// ```
/// let value = toolglot::json::to_value(&("a", 1))?;
/// assert_eq!(value.to_string(), r#"["a",1]"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn to_value<T: ::serde::Serialize + ?Sized>(value: &T) -> Result<Value, serde_json::Error> {
    serde_json::to_string(value)?.parse()
}

/// Converts a JSON value to a type that serde can read.
///
/// # Errors
/// The value does not have the type's form.
///
/// ```
/// use toolglot::json::{from_value, json};
///
/// let (name, count): (String, u32) = from_value(&json!(["a", 1]))?;
/// assert_eq!((name.as_str(), count), ("a", 1));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn from_value<T: ::serde::de::DeserializeOwned>(value: &Value) -> Result<T, serde_json::Error> {
    serde_json::from_str(&value.to_string())
}

/// Builds a list item by item.
#[doc(hidden)]
pub fn filled(fill: impl FnOnce(&mut Vec<Value>)) -> Value {
    let mut list = vec![];
    fill(&mut list);
    Value::Array(list)
}

/// Builds a [`Value`] from JSON-like syntax, like `serde_json::json!`.
#[macro_export]
#[doc(hidden)]
macro_rules! json_value {
    (null) => { $crate::json::Value::Null };
    ([]) => { $crate::json::Value::Array(::std::vec::Vec::new()) };
    ([ $($items:tt)+ ]) => {
        $crate::json::filled(|list| { $crate::json_items!(list, $($items)+); })
    };
    ({}) => { $crate::json::Value::Object($crate::json::Map::new()) };
    ({ $($members:tt)+ }) => {{
        let mut map = $crate::json::Map::new();
        $crate::json_members!(map, $($members)+);
        $crate::json::Value::Object(map)
    }};
    ($value:expr) => { $crate::json::to_value(&$value).expect("it can be written as JSON") };
}

/// The items of a list.
#[macro_export]
#[doc(hidden)]
macro_rules! json_items {
    ($list:ident $(,)?) => {};
    ($list:ident, null $(, $($rest:tt)*)?) => {
        $list.push($crate::json::Value::Null); $($crate::json_items!($list, $($rest)*);)?
    };
    ($list:ident, [ $($value:tt)* ] $(, $($rest:tt)*)?) => {
        $list.push($crate::json_value!([ $($value)* ])); $($crate::json_items!($list, $($rest)*);)?
    };
    ($list:ident, { $($value:tt)* } $(, $($rest:tt)*)?) => {
        $list.push($crate::json_value!({ $($value)* })); $($crate::json_items!($list, $($rest)*);)?
    };
    ($list:ident, $value:expr $(, $($rest:tt)*)?) => {
        $list.push($crate::json_value!($value)); $($crate::json_items!($list, $($rest)*);)?
    };
}

/// The members of an object.
#[macro_export]
#[doc(hidden)]
macro_rules! json_members {
    ($map:ident $(,)?) => {};
    ($map:ident, $key:tt : null $(, $($rest:tt)*)?) => {
        $map.insert(($key).into(), $crate::json::Value::Null);
        $($crate::json_members!($map, $($rest)*);)?
    };
    ($map:ident, $key:tt : [ $($value:tt)* ] $(, $($rest:tt)*)?) => {
        $map.insert(($key).into(), $crate::json_value!([ $($value)* ]));
        $($crate::json_members!($map, $($rest)*);)?
    };
    ($map:ident, $key:tt : { $($value:tt)* } $(, $($rest:tt)*)?) => {
        $map.insert(($key).into(), $crate::json_value!({ $($value)* }));
        $($crate::json_members!($map, $($rest)*);)?
    };
    ($map:ident, $key:tt : $value:expr $(, $($rest:tt)*)?) => {
        $map.insert(($key).into(), $crate::json_value!($value));
        $($crate::json_members!($map, $($rest)*);)?
    };
}

#[cfg(test)]
mod tests {
    use super::{Value, json};

    #[test]
    fn order_and_spelling_survive() {
        for text in [
            r#"{"z":1,"a":[1.0,-0.00,1e400,20000000000000000001],"m":{"b":null,"a":true}}"#,
            r#"["\"\\\n",{},[]]"#,
            "0.10",
        ] {
            let value: Value = text.parse().expect("JSON");
            assert_eq!(value.to_string(), text);
            assert_eq!(serde_json::to_string(&value).expect("JSON"), text);
            let read: Value = serde_json::from_slice(text.as_bytes()).expect("JSON");
            assert_eq!(read, value);
            let other: serde_json::Value = serde_json::from_str("{\"a\": [1, 2.5]}").expect("JSON");
            assert_eq!(Value::from(other), json!({"a": [1, 2.5]}));
        }
    }

    #[test]
    fn the_macro_takes_what_json_is() {
        let name = "n";
        let value = json!({name: [1, null, {"a": []}, -2.5, format!("x{name}")], "o": {}, "e": 1 + 1, "v": vec![name],});
        assert_eq!(
            value.to_string(),
            r#"{"n":[1,null,{"a":[]},-2.5,"xn"],"o":{},"e":2,"v":["n"]}"#
        );
    }

    #[test]
    fn invalid_json_is_refused() {
        for text in [
            "",
            "{",
            "[1,]",
            "{a:1}",
            "01",
            "NaN",
            "1 2",
            "\"\\ud800\"",
            &"[".repeat(100_000),
        ] {
            assert!(text.parse::<Value>().is_err(), "{text:.20}");
            assert!(serde_json::from_str::<Value>(text).is_err(), "{text:.20}");
        }
    }
}
