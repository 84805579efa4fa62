//! Converts text to the types that a schema allows.
//!
//! Types are tried in the order null, integer, number, boolean, object, array; other text is a string. Numbers keep their
//! spelling and are never converted to a float. The parser and the validation of calls use the same function.

use toolglot_scan::json;

use super::{Schema, Types, whole};
use crate::json::{Decimal, Value};

/// The type of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Typed {
    Null,
    Integer,
    Number,
    Boolean(bool),
    /// It begins like an object, and may be malformed.
    Object,
    /// It begins like a list, and may be malformed.
    Array,
}

/// Returns the first of the types whose syntax the trimmed text has. Linear.
pub fn typed(text: &str, types: Types) -> Option<Typed> {
    // Python's word for null may also be a string.
    let none = text == "None" && !types.has(Types::STRING);
    if types.has(Types::NULL) && (text == "null" || none) {
        return Some(Typed::Null);
    }
    if types.has(Types::INTEGER) && json::is_number(text) && whole(text) {
        return Some(Typed::Integer);
    }
    if types.has(Types::NUMBER) && json::is_number(text) {
        return Some(Typed::Number);
    }
    if types.has(Types::BOOLEAN) {
        for (word, value) in [("true", true), ("false", false)] {
            // If any type is allowed, only JSON's own words are not strings.
            let meant = match types == Types::ANY {
                true => text == word,
                false => text.eq_ignore_ascii_case(word),
            };
            if meant {
                return Some(Typed::Boolean(value));
            }
        }
    }
    match text.as_bytes().first() {
        Some(b'{') if types.has(Types::OBJECT) => Some(Typed::Object),
        Some(b'[') if types.has(Types::ARRAY) => Some(Typed::Array),
        _ => None,
    }
}

/// Returns the listed value that a text spells: strings are compared as they are, numbers by value.
pub fn spelled<'v>(
    text: &str,
    listed: impl Iterator<Item = &'v Value> + Clone,
) -> Option<&'v Value> {
    let bare = text.trim();
    let exact = |have: &&Value| have.as_str() == Some(text);
    let means = |have: &&Value| match have {
        Value::String(have) => have == bare,
        // To be compared, they would have to be written out.
        Value::Array(_) | Value::Object(_) => false,
        Value::Number(have) => {
            have.as_str() == bare
                || json::is_number(bare) && {
                    let value = Decimal::read(bare);
                    value.is_some() && value == Decimal::read(have.as_str())
                }
        }
        Value::Bool(have) => bare.eq_ignore_ascii_case(if *have { "true" } else { "false" }),
        Value::Null => matches!(bare, "null" | "None"),
    };
    listed
        .clone()
        .find(exact)
        .or_else(|| listed.clone().find(means))
}

/// The result of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coerced {
    /// The value has a type that the schema allows.
    Fits,
    /// It has no allowed type, and is null or stays a string.
    Mismatch,
    /// It begins like the JSON that its type requires and does not parse.
    Malformed,
}

/// Writes `text` as JSON of the type that `schema` asks for; `unknown` is the schema of a list's items if it has none. Linear.
pub fn coerce(text: &str, schema: &Schema, unknown: &Schema, out: &mut String) -> Coerced {
    let types = schema.types;
    if schema.is_text() {
        json::string(text, out);
        return Coerced::Fits;
    }
    let bare = text.trim();
    if let Some(value) = spelled(text, schema.listed.iter()) {
        // A number keeps its spelling in the text.
        match value {
            Value::Number(_) => out.push_str(bare),
            other => out.push_str(&other.to_string()),
        }
        return Coerced::Fits;
    }
    match typed(bare, types) {
        Some(Typed::Null) => out.push_str("null"),
        Some(Typed::Boolean(value)) => out.push_str(if value { "true" } else { "false" }),
        Some(Typed::Integer | Typed::Number) => out.push_str(bare),
        Some(Typed::Object | Typed::Array) if is_json(bare) => out.push_str(bare),
        Some(Typed::Object | Typed::Array) if !types.has(Types::STRING) => {
            return Coerced::Malformed;
        }
        _ if types.has(Types::STRING) => json::string(text, out),
        // Models write it for a parameter that they leave out.
        _ if matches!(bare, "null" | "None") => {
            out.push_str("null");
            return Coerced::Mismatch;
        }
        _ if types.has(Types::ARRAY) && bare.is_empty() => out.push_str("[]"),
        _ if types.has(Types::OBJECT) && bare.is_empty() => out.push_str("{}"),
        _ if types.has(Types::ARRAY) => return single(text, schema, unknown, out),
        _ => {
            json::string(text, out);
            return Coerced::Mismatch;
        }
    }
    Coerced::Fits
}

/// A single value, if a list is required.
fn single(text: &str, schema: &Schema, unknown: &Schema, out: &mut String) -> Coerced {
    out.push('[');
    let items = match schema.items.as_deref() {
        // Lists of lists are not guessed: the inner value would be wrapped endlessly.
        Some(items) if items.types.has(Types::ARRAY) => &Schema::UNKNOWN,
        Some(items) if items.types != Types::NONE => items,
        _ => unknown,
    };
    let result = coerce(text, items, &Schema::UNKNOWN, out);
    out.push(']');
    result
}

/// Whether it is one JSON value. Linear; nothing recurses.
pub fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Whether text with this beginning may become JSON other than a string. Once the answer is no, it stays no.
pub fn may_be_json(text: &[u8]) -> bool {
    /// Longer numbers, and longer whitespace before a value, occur in no template.
    const MAX: usize = 64;
    let begun = text.trim_ascii_start();
    let structure = matches!(begun.first(), Some(b'{' | b'['));
    if text.len() - begun.len() > MAX || !structure && begun.len() > MAX {
        return false;
    }
    let text = begun;
    let rest = text.trim_ascii_end();
    match rest.first() {
        None => true,
        Some(_) if structure => true,
        Some(b'-' | b'0'..=b'9') => {
            let part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
            rest.iter().all(part)
        }
        Some(_) => ["true", "false", "null"].iter().any(|word| {
            let whole = rest.len() == text.len();
            word.as_bytes() == rest || whole && word.as_bytes().starts_with(rest)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Doc, params, ready};
    use super::*;

    fn try_one(schema: &str, text: &str) -> (Coerced, String) {
        let root = format!("{{\"properties\": {{\"p\": {schema}}}}}")
            .parse()
            .expect("JSON");
        let root = ready(&root);
        let param = params(&Doc::new(&root, false, 1000)).remove(0);
        let mut out = String::new();
        let result = coerce(text, &param.schema, &Schema::ANY, &mut out);
        (result, out)
    }

    #[test]
    fn what_may_be_json_is_known_by_its_first_bytes() {
        for text in [
            "",
            "-1",
            "3.5e7",
            "true",
            "tru",
            "null",
            "{\"a\": 1}",
            "[1",
            "true ",
        ] {
            assert!(may_be_json(text.as_bytes()), "{text}");
        }
        for text in ["\"x\"", "1 a", "truth", "tru ", "nil", "abc", "1-a"] {
            assert!(!may_be_json(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn spelling_is_kept_and_nothing_is_guessed() {
        use Coerced::{Fits, Malformed, Mismatch};
        let one = |name: &str| format!("{{\"type\": \"{name}\"}}");
        let two = |a: &str, b: &str| format!("{{\"type\": [\"{a}\", \"{b}\"]}}");
        for (schema, text, result, json) in [
            ("{}".to_owned(), "007", Fits, "\"007\""),
            (
                one("integer"),
                " 20000000000000000001 ",
                Fits,
                "20000000000000000001",
            ),
            (one("integer"), "14.0", Fits, "14.0"),
            (one("int"), "1e3", Fits, "1e3"),
            (one("integer"), "1e-3", Mismatch, "\"1e-3\""),
            (one("integer"), "120e-1", Fits, "120e-1"),
            (one("integer"), "14.5", Mismatch, "\"14.5\""),
            (one("integer"), "007", Mismatch, "\"007\""),
            (one("number"), "1.10", Fits, "1.10"),
            (one("float"), "NaN", Mismatch, "\"NaN\""),
            (one("boolean"), "True", Fits, "true"),
            (one("bool"), "1", Mismatch, "\"1\""),
            (two("null", "string"), "null", Fits, "null"),
            (two("null", "string"), "nul", Fits, "\"nul\""),
            (two("null", "string"), "None", Fits, "\"None\""),
            (two("null", "integer"), "None", Fits, "null"),
            (one("integer"), "null", Mismatch, "null"),
            (one("list"), "None", Mismatch, "null"),
            (one("dict"), "{\"a\": 1.0}", Fits, "{\"a\": 1.0}"),
            (one("object"), "{\"a\": ", Malformed, ""),
            (
                two("object", "string"),
                "{\"a\": ",
                Fits,
                "\"{\\\"a\\\": \"",
            ),
            (one("object"), "a", Mismatch, "\"a\""),
            (one("list"), "[1, 2]", Fits, "[1, 2]"),
            (one("array"), "one", Fits, "[\"one\"]"),
            (one("array"), "{\"x\": 1}", Fits, "[{\"x\": 1}]"),
            (one("array"), " \n", Fits, "[]"),
            (one("object"), "", Fits, "{}"),
            (two("array", "string"), "", Fits, "\"\""),
            (two("array", "object"), "[1]", Fits, "[1]"),
            (two("array", "object"), "{}", Fits, "{}"),
            (
                "{\"enum\": [\"1\", 2, null]}".to_owned(),
                "1",
                Fits,
                "\"1\"",
            ),
            (
                "{\"enum\": [\"1\", 2, null]}".to_owned(),
                "2.0",
                Fits,
                "2.0",
            ),
            (
                "{\"enum\": [\"1\", 2, null]}".to_owned(),
                "null",
                Fits,
                "null",
            ),
            ("{\"const\": true}".to_owned(), "TRUE", Fits, "true"),
        ] {
            assert_eq!(
                try_one(&schema, text),
                (result, json.to_owned()),
                "{schema} {text}"
            );
        }
    }

    #[test]
    fn beginnings_of_json_may_become_json() {
        for whole in [
            "true",
            " false \n",
            "null",
            "-1.5e+9",
            "{\"a\": x",
            "[",
            "\n 12 ",
        ] {
            for end in 0..=whole.len() {
                let begun = &whole.as_bytes()[..end];
                assert!(may_be_json(begun), "{whole}, {end} bytes");
            }
        }
        let long = "1".repeat(65);
        let blank = " ".repeat(65);
        for text in [
            "tru ", "trues", "True", "\"a\"", "1 2", "1a", "nil", &long, &blank,
        ] {
            assert!(!may_be_json(text.as_bytes()), "{text}");
        }
        assert!(may_be_json(&long.as_bytes()[1..]) && may_be_json(&blank.as_bytes()[1..]));
    }
}
