//! Canonical form of arguments, and digests.

use sha2::{Digest, Sha256};
use toolglot::json::Value;

/// Returns the SHA-256 of a text as hexadecimal digits.
pub fn digest(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the JSON text of a value with sorted keys: two calls are the same if these texts are equal.
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut members: Vec<_> = map.iter().collect();
            members.sort_by(|a, b| a.0.cmp(b.0));
            out.push('{');
            for (at, (key, value)) in members.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (at, value) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(value, out);
            }
            out.push(']');
        }
        other => out.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolglot::json::json;

    #[test]
    fn order_of_keys_does_not_matter() {
        let a = json!({"b": [1, {"y": "\"", "x": null}], "a": true});
        let b = json!({"a": true, "b": [1, {"x": null, "y": "\""}]});
        assert_eq!(canonical(&a), canonical(&b));
        assert_eq!(canonical(&a), r#"{"a":true,"b":[1,{"x":null,"y":"\""}]}"#);
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digest("abc"), abc);
    }
}
