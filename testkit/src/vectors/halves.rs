//! JSON with lone surrogates (`"\ud800"`). The grammar of JSON permits them, and a model may write them, but they are not
//! Unicode text, so `serde_json` rejects them.

use toolglot::json::Value;

/// The first of the private-use characters that represent surrogates in a value, in order: U+F0000 for `\ud800`.
const FIRST: u32 = 0xF_0000;

/// Reads JSON. A lone surrogate becomes a private-use character of its own, so such values can be compared.
///
/// # Errors
/// The text is not JSON.
pub fn value(json: &str) -> serde_json::Result<Value> {
    serde_json::from_str(&without_halves(json))
}

fn without_halves(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let len = match (unit(rest), rest.get(6..).and_then(unit)) {
            (Some(0xD800..0xDC00), Some(0xDC00..0xE000)) => 12,
            (Some(half @ 0xD800..0xE000), _) => {
                out.extend(char::from_u32(FIRST + (half - 0xD800)));
                rest = &rest[6..];
                continue;
            }
            _ => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        };
        out.push_str(&rest[..len]);
        rest = &rest[len..];
    }
    out.push_str(rest);
    out
}

/// The code unit that the text begins with, if it begins with an escaped one.
fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surrogates_are_distinguished_and_everything_else_stays() {
        assert_eq!(
            without_halves(r#""a\ud83d\udea2\u00e9\n\\ud800 \"\"#),
            r#""a\ud83d\udea2\u00e9\n\\ud800 \"\"#
        );
        let read = |text: &str| value(text).expect("JSON");
        assert_eq!(read(r#""\uD800""#), read(r#""\ud800""#));
        assert_ne!(read(r#""\ud800""#), read(r#""\ud801""#));
        assert_ne!(read(r#""\ud800""#), read(r#""\\ud800""#));
        assert_eq!(read(r#""\ud800\ud83d\udea2""#), read("\"\u{F0000}🚢\""));
        assert_eq!(read(r#""\udc00\ud800""#), read("\"\u{F0400}\u{F0000}\""));
        assert!(value(r#""\u12"#).is_err());
    }
}
