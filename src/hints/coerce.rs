//! Gives untyped text the type that a schema asks for.
//!
//! Types are tried in the order null, integer, number, boolean, object, array, string. Numbers keep their spelling and
//! never pass through a float. Text that fits no type stays a string.

use super::{Schema, Types};
use crate::body::json;

/// How it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coerced {
    /// The value has a type that the schema allows.
    Fits,
    /// It fits no type and stays a string.
    Mismatch,
    /// It begins as the JSON that its type demands and does not parse.
    Malformed,
}

/// Writes `text` as JSON of the type that `schema` asks for. Linear.
pub(crate) fn coerce(text: &str, schema: &Schema, out: &mut String) -> Coerced {
    let types = schema.types;
    if types.plain() {
        json::string(text, out);
        return Coerced::Fits;
    }
    let bare = text.trim();
    let verbatim = scalar(bare, types)
        || (types.has(Types::OBJECT) && bare.starts_with('{') && is_json(bare))
        || (types.has(Types::ARRAY) && bare.starts_with('[') && is_json(bare));
    if verbatim {
        out.push_str(bare);
        return Coerced::Fits;
    }
    if types.has(Types::BOOLEAN) {
        for word in ["true", "false"] {
            if bare.eq_ignore_ascii_case(word) {
                out.push_str(word);
                return Coerced::Fits;
            }
        }
    }
    if !types.has(Types::STRING) {
        let begun = (types.has(Types::OBJECT) && bare.starts_with('{'))
            || (types.has(Types::ARRAY) && bare.starts_with('['));
        if begun {
            return Coerced::Malformed;
        }
        if types.has(Types::ARRAY) {
            return single(text, schema, out);
        }
    }
    json::string(text, out);
    if types.has(Types::STRING) {
        Coerced::Fits
    } else {
        Coerced::Mismatch
    }
}

/// One value where a list is asked for.
fn single(text: &str, schema: &Schema, out: &mut String) -> Coerced {
    out.push('[');
    let plain = Schema::default();
    let items = schema.items.as_deref().unwrap_or(&plain);
    // A list of lists is not guessed: the inner value would be wrapped without end.
    let items = if items.types.has(Types::ARRAY) {
        &plain
    } else {
        items
    };
    let result = coerce(text, items, out);
    out.push(']');
    result
}

fn scalar(bare: &str, types: Types) -> bool {
    (types.has(Types::NULL) && bare == "null")
        || (types.has(Types::INTEGER) && json::is_integer(bare))
        || (types.has(Types::NUMBER) && json::is_number(bare))
}

/// Whether it is one JSON value. Linear; nothing recurses.
pub(crate) fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::super::Schema;
    use super::*;

    fn try_one(types: &[Types], text: &str) -> (Coerced, String) {
        let mut schema = Schema::default();
        types.iter().for_each(|t| schema.types.add(*t));
        let mut out = String::new();
        let result = coerce(text, &schema, &mut out);
        (result, out)
    }

    #[test]
    fn spelling_is_kept_and_nothing_is_guessed() {
        let cases: &[(&[Types], &str, Coerced, &str)] = &[
            (&[], "007", Coerced::Fits, "\"007\""),
            (
                &[Types::INTEGER],
                " 20000000000000000001 ",
                Coerced::Fits,
                "20000000000000000001",
            ),
            (&[Types::INTEGER], "14.0", Coerced::Fits, "14.0"),
            (&[Types::INTEGER], "14.5", Coerced::Mismatch, "\"14.5\""),
            (&[Types::INTEGER], "007", Coerced::Mismatch, "\"007\""),
            (&[Types::NUMBER], "1.10", Coerced::Fits, "1.10"),
            (&[Types::NUMBER], "NaN", Coerced::Mismatch, "\"NaN\""),
            (&[Types::BOOLEAN], "True", Coerced::Fits, "true"),
            (&[Types::BOOLEAN], "1", Coerced::Mismatch, "\"1\""),
            (&[Types::NULL, Types::STRING], "null", Coerced::Fits, "null"),
            (
                &[Types::NULL, Types::STRING],
                "nul",
                Coerced::Fits,
                "\"nul\"",
            ),
            (
                &[Types::OBJECT],
                "{\"a\": 1.0}",
                Coerced::Fits,
                "{\"a\": 1.0}",
            ),
            (&[Types::OBJECT], "{\"a\": ", Coerced::Malformed, ""),
            (
                &[Types::OBJECT, Types::STRING],
                "{\"a\": ",
                Coerced::Fits,
                "\"{\\\"a\\\": \"",
            ),
            (&[Types::OBJECT], "a", Coerced::Mismatch, "\"a\""),
            (&[Types::ARRAY], "[1, 2]", Coerced::Fits, "[1, 2]"),
            (&[Types::ARRAY], "one", Coerced::Fits, "[\"one\"]"),
        ];
        for (types, text, result, json) in cases {
            assert_eq!(
                try_one(types, text),
                (*result, (*json).to_owned()),
                "{types:?} {text}"
            );
        }
    }
}
