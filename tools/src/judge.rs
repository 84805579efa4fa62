//! The validator: another crate implements the rules of JSON Schema, but numbers are compared here.
//!
//! That crate reads schemas of `serde_json`, in which numbers other than 64-bit integers are floats. So each keyword that
//! compares numbers is passed to it under another name, with the text of its number, and evaluated with exact arithmetic.
//! Arguments are read in place, with the text of their numbers.

use std::borrow::Cow;
use std::fmt;

use jsonschema::json::{Array, Json, JsonNumber, Node, NodeIdentity, Object};
use jsonschema::{Draft, JsonType, Keyword, PatternOptions, ValidationError, Validator};
use serde_json::Value as Plain;
use toolglot::json::{Decimal, Map, Number, Value};
use toolglot::layer::{Place, same};

use super::short::some;

/// The prefix of keywords that are evaluated here.
const PREFIX: &str = "toolglot:";

/// The arguments as the validator reads them.
pub(super) struct Arguments;

/// A validator of them.
pub(super) type Judge = Validator<Arguments>;

/// Compiles a schema.
///
/// # Errors
/// It is not a schema, or exceeds a limit.
pub(super) fn compile(schema: &Value, draft: Draft) -> Result<Judge, ValidationError<'static>> {
    let patterns = PatternOptions::fancy_regex()
        .backtrack_limit(100_000)
        .size_limit(1 << 20)
        .dfa_size_limit(1 << 20);
    let mut options = jsonschema::options_for::<Arguments>()
        .with_draft(draft)
        .with_pattern_options(patterns)
        .should_validate_formats(false)
        .offline();
    for rule in Rule::ALL {
        options = options.with_keyword(format!("{PREFIX}{}", rule.name()), move |_, value, _| {
            let limit = Limit::new(rule, value.as_str().unwrap_or_default());
            let limit =
                limit.ok_or_else(|| ValidationError::schema("its number cannot be used"))?;
            Ok(Box::new(limit))
        });
    }
    options.build(&plain(schema, Place::Schema, draft == Draft::Draft4))
}

/// The name of a keyword in the original schema.
pub(super) fn named(path: &str) -> String {
    path.replace(PREFIX, "")
}

/// A keyword that compares numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Minimum,
    Maximum,
    ExclusiveMinimum,
    ExclusiveMaximum,
    MultipleOf,
    Enum,
    Const,
}

impl Rule {
    const ALL: [Self; 7] = [
        Self::Minimum,
        Self::Maximum,
        Self::ExclusiveMinimum,
        Self::ExclusiveMaximum,
        Self::MultipleOf,
        Self::Enum,
        Self::Const,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Minimum => "minimum",
            Self::Maximum => "maximum",
            Self::ExclusiveMinimum => "exclusiveMinimum",
            Self::ExclusiveMaximum => "exclusiveMaximum",
            Self::MultipleOf => "multipleOf",
            Self::Enum => "enum",
            Self::Const => "const",
        }
    }
}

/// Converts a schema for the other crate. Recursion is bounded by the earlier measurement.
fn plain(value: &Value, place: Place, draft4: bool) -> Plain {
    match value {
        Value::Array(list) => list.iter().map(|part| plain(part, place, draft4)).collect(),
        Value::Object(map) => {
            let mut out = serde_json::Map::new();
            for (key, part) in map {
                let rule = Some(place).filter(|place| *place == Place::Schema);
                match rule.map_or(Given::Same, |_| given(map, key, part, draft4)) {
                    Given::Same => {
                        out.insert(key.clone(), plain(part, place.inside(key), draft4));
                    }
                    Given::Rule(rule) => {
                        out.insert(format!("{PREFIX}{}", rule.name()), part.to_string().into());
                    }
                    Given::Nothing => {}
                }
            }
            Plain::Object(out)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.into(),
    }
}

/// What is passed to the other crate for a keyword.
enum Given {
    Same,
    Rule(Rule),
    /// Nothing: another keyword covers it.
    Nothing,
}

fn given(map: &Map, key: &str, part: &Value, draft4: bool) -> Given {
    let Some(rule) = Rule::ALL.into_iter().find(|rule| rule.name() == key) else {
        return Given::Same;
    };
    let number = part.is_number();
    // In draft 4 the bound is one keyword, and whether it is exclusive another.
    let beside = |key: &str| draft4 && map.get(key).is_some_and(|value| *value == true);
    let bound =
        |key: &str| draft4 && part.is_boolean() && map.get(key).is_some_and(Value::is_number);
    match rule {
        Rule::Minimum if number && beside("exclusiveMinimum") => {
            Given::Rule(Rule::ExclusiveMinimum)
        }
        Rule::Maximum if number && beside("exclusiveMaximum") => {
            Given::Rule(Rule::ExclusiveMaximum)
        }
        Rule::ExclusiveMinimum if bound("minimum") => Given::Nothing,
        Rule::ExclusiveMaximum if bound("maximum") => Given::Nothing,
        Rule::Minimum | Rule::Maximum if number => Given::Rule(rule),
        Rule::MultipleOf if number && positive(part) => Given::Rule(rule),
        Rule::ExclusiveMinimum | Rule::ExclusiveMaximum if number && !draft4 => Given::Rule(rule),
        Rule::Enum if part.is_array() && !held(part) => Given::Rule(rule),
        Rule::Const if !draft4 && !held(part) => Given::Rule(rule),
        Rule::Minimum
        | Rule::Maximum
        | Rule::ExclusiveMinimum
        | Rule::ExclusiveMaximum
        | Rule::MultipleOf
        | Rule::Enum
        | Rule::Const => Given::Same,
    }
}

/// The other crate rejects zero and negative values.
fn positive(value: &Value) -> bool {
    let zero = Decimal::read("0");
    value
        .as_number()
        .and_then(|number| Decimal::read(number.as_str()))
        > zero
}

/// Whether `serde_json` represents all numbers of a value exactly.
fn held(value: &Value) -> bool {
    match value {
        Value::Number(number) => {
            let plain = Plain::from(value).to_string();
            Decimal::read(number.as_str()).is_some_and(|exact| Decimal::read(&plain) == Some(exact))
        }
        Value::Array(list) => list.iter().all(held),
        Value::Object(map) => map.values().all(held),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

/// The requirement of a keyword.
enum Limit {
    Number(Rule, Decimal, String),
    Listed(Vec<Value>),
}

impl Limit {
    fn new(rule: Rule, text: &str) -> Option<Self> {
        Some(match (rule, text.parse().ok()?) {
            (Rule::Enum, Value::Array(list)) => Self::Listed(list),
            (Rule::Enum | Rule::Const, value) => Self::Listed(vec![value]),
            (_, _) => Self::Number(rule, Decimal::read(text)?, text.to_owned()),
        })
    }

    /// Whether a value meets it; false for a number whose value cannot be determined.
    fn holds(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Listed(list), _) => list.iter().any(|have| same(have, value)),
            (Self::Number(rule, limit, _), Value::Number(number)) => Decimal::read(number.as_str())
                .is_some_and(|number| match rule {
                    Rule::Minimum => number >= *limit,
                    Rule::Maximum => number <= *limit,
                    Rule::ExclusiveMinimum => number > *limit,
                    Rule::ExclusiveMaximum => number < *limit,
                    Rule::MultipleOf => number.is_multiple_of(limit) == Some(true),
                    Rule::Enum | Rule::Const => true,
                }),
            (Self::Number(..), _) => true,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listed(list) => write!(f, "is none of {}", some(list)),
            Self::Number(rule, _, limit) => match rule {
                Rule::Minimum => write!(f, "is less than the minimum of {limit}"),
                Rule::Maximum => write!(f, "is greater than the maximum of {limit}"),
                Rule::ExclusiveMinimum => {
                    write!(f, "is less than or equal to the minimum of {limit}")
                }
                Rule::ExclusiveMaximum => {
                    write!(f, "is greater than or equal to the maximum of {limit}")
                }
                Rule::MultipleOf | Rule::Enum | Rule::Const => {
                    write!(f, "is not a multiple of {limit}")
                }
            },
        }
    }
}

impl<'i> Keyword<'i, Arguments> for Limit {
    fn validate(&self, value: &'i Value) -> Result<(), ValidationError<'i>> {
        match self.holds(value) {
            true => Ok(()),
            false => Err(ValidationError::custom(self.to_string())),
        }
    }

    fn is_valid(&self, value: &'i Value) -> bool {
        self.holds(value)
    }
}

impl Json for Arguments {
    type Node<'a> = &'a Value;
    type PreparedKey = String;
    type StringBuffer = Value;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(buffer: &mut Value, string: &str, f: impl FnOnce(&Value) -> T) -> T {
        *buffer = string.into();
        f(buffer)
    }
}

impl<'a> Node<'a, Arguments> for &'a Value {
    type Object = &'a Map;
    type Array = &'a [Value];
    type Number = Written<'a>;

    fn as_object(&self) -> Option<&'a Map> {
        Value::as_object(self)
    }

    fn as_array(&self) -> Option<&'a [Value]> {
        Value::as_array(self).map(Vec::as_slice)
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        Value::as_str(self).map(Cow::Borrowed)
    }

    fn as_number(&self) -> Option<Written<'a>> {
        Value::as_number(self).map(Written)
    }

    fn as_boolean(&self) -> Option<bool> {
        Value::as_bool(self)
    }

    fn is_null(&self) -> bool {
        Value::is_null(self)
    }

    fn json_type(&self) -> JsonType {
        match self {
            Value::Null => JsonType::Null,
            Value::Bool(_) => JsonType::Boolean,
            Value::Number(_) => JsonType::Number,
            Value::String(_) => JsonType::String,
            Value::Array(_) => JsonType::Array,
            Value::Object(_) => JsonType::Object,
        }
    }

    fn equals_value(&self, expected: &Plain) -> bool {
        same(self, &expected.clone().into())
    }

    fn to_value(&self) -> Cow<'a, Plain> {
        Cow::Owned(Plain::from(*self))
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(NodeIdentity::new(std::ptr::from_ref::<Value>(self) as usize))
    }
}

impl<'a> Object<'a, Arguments> for &'a Map {
    type Node = &'a Value;
    type MemberName = &'a str;
    type MembersIter = Members<'a>;

    fn len(&self) -> usize {
        Map::len(self)
    }

    fn get(&self, key: &String) -> Option<&'a Value> {
        Map::get(self, key)
    }

    fn members(&self) -> Members<'a> {
        Members(self.iter())
    }
}

/// The members of an object.
pub(super) struct Members<'a>(indexmap::map::Iter<'a, String, Value>);

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, &'a Value);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (key.as_str(), value))
    }
}

impl<'a> Array<'a, Arguments> for &'a [Value] {
    type Node = &'a Value;
    type ElementsIter = std::slice::Iter<'a, Value>;

    fn len(&self) -> usize {
        <[Value]>::len(self)
    }

    fn elements(&self) -> std::slice::Iter<'a, Value> {
        self.iter()
    }

    fn is_unique(&self) -> bool {
        let mut seen = std::collections::HashSet::new();
        self.iter().all(|item| seen.insert(canonical(item)))
    }
}

/// The same text for all equal values: for `1`, `1.0` and `1e0`, and for objects with members in another order.
fn canonical(value: &Value) -> String {
    match value {
        Value::Number(number) => match Decimal::read(number.as_str()) {
            Some(exact) => format!("{exact:?}"),
            None => number.to_string(),
        },
        Value::Array(list) => format!(
            "[{}]",
            list.iter().map(canonical).collect::<Vec<_>>().join(",")
        ),
        Value::Object(map) => {
            let member = |(key, value): (&String, &Value)| format!("{key:?}:{}", canonical(value));
            let mut members: Vec<String> = map.iter().map(member).collect();
            members.sort_unstable();
            format!("{{{}}}", members.join(","))
        }
        Value::Null | Value::Bool(_) | Value::String(_) => value.to_string(),
    }
}

/// A number of an argument.
pub(super) struct Written<'a>(&'a Number);

impl JsonNumber for Written<'_> {
    fn as_u64(&self) -> Option<u64> {
        self.0.as_u64()
    }

    fn as_i64(&self) -> Option<i64> {
        self.0.as_i64()
    }

    fn as_f64(&self) -> Option<f64> {
        self.0.as_f64()
    }

    fn as_str(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.0.as_str())
    }

    fn to_number(&self) -> Cow<'_, serde_json::Number> {
        let float = || serde_json::Number::from_f64(self.0.as_f64()?);
        let number = self.0.as_u64().map(Into::into);
        let number = number.or_else(|| self.0.as_i64().map(Into::into));
        Cow::Owned(number.or_else(float).unwrap_or_else(|| 0.into()))
    }

    fn is_integer(&self) -> bool {
        Decimal::read(self.0.as_str()).is_some_and(|exact| exact.is_integer())
    }

    fn is_written_as_integer(&self) -> bool {
        !self.0.as_str().contains(['.', 'e', 'E'])
    }
}
