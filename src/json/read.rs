//! Reads JSON text strictly.
//!
//! What is validated must be what is delivered. A reader that takes the first of two equal keys and one that takes the last see
//! different calls in one text. Repeated keys are therefore recorded with their position; the last one counts. Linear in the
//! text; the depth is bounded.

use toolglot_scan::json::plain;

use super::{Map, Number, Value};
use crate::pointer::step;

/// The contents of a text.
#[derive(Debug)]
pub struct Read {
    /// The value; of a repeated key, the last one.
    pub value: Value,
    /// JSON pointers of repeated keys.
    pub twice: Vec<String>,
}

/// The bounds of a reader.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The maximum nesting of values.
    pub depth: usize,
    /// The maximum number of characters in a number.
    pub number: usize,
}

/// Reads one JSON value.
///
/// # Errors
/// What is wrong, and at which byte.
pub fn read(text: &str, max: Bounds) -> Result<Read, String> {
    let mut reader = Reader {
        text,
        at: 0,
        max,
        twice: vec![],
        path: String::new(),
    };
    reader.blanks();
    let value = reader.value(0)?;
    reader.blanks();
    if reader.at < text.len() {
        return reader.wrong("nothing may follow");
    }
    Ok(Read {
        value,
        twice: reader.twice,
    })
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    max: Bounds,
    twice: Vec<String>,
    path: String,
}

impl Reader<'_> {
    fn wrong<T>(&self, why: &str) -> Result<T, String> {
        Err(format!("{why}, at byte {}", self.at))
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Recursion is bounded by `max.depth`.
    fn value(&mut self, depth: usize) -> Result<Value, String> {
        match self.peek() {
            None => self.wrong("the text ends where a value is needed"),
            Some(b'{' | b'[') if depth >= self.max.depth => self.wrong("it is nested too deep"),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Value::String),
            Some(_) => self.word(),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, String> {
        self.at += 1;
        let mut map = Map::new();
        self.blanks();
        if self.take(b'}') {
            return Ok(Value::Object(map));
        }
        loop {
            if self.peek() != Some(b'"') {
                return self.wrong("a key is needed");
            }
            let key = self.string()?;
            self.blanks();
            if !self.take(b':') {
                return self.wrong("a colon is needed");
            }
            let outer = self.path.len();
            step(&mut self.path, &key);
            self.blanks();
            let value = self.value(depth + 1)?;
            if map.contains_key(&key) {
                self.twice.push(self.path.clone());
            }
            self.path.truncate(outer);
            map.insert(key, value);
            self.blanks();
            if self.take(b'}') {
                return Ok(Value::Object(map));
            }
            if !self.take(b',') {
                return self.wrong("a comma or } is needed");
            }
            self.blanks();
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, String> {
        self.at += 1;
        let mut list = vec![];
        self.blanks();
        if self.take(b']') {
            return Ok(Value::Array(list));
        }
        loop {
            self.blanks();
            let outer = self.path.len();
            step(&mut self.path, &list.len().to_string());
            list.push(self.value(depth + 1)?);
            self.path.truncate(outer);
            self.blanks();
            if self.take(b']') {
                return Ok(Value::Array(list));
            }
            if !self.take(b',') {
                return self.wrong("a comma or ] is needed");
            }
        }
    }

    fn string(&mut self) -> Result<String, String> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let mut end = start + 1;
        loop {
            end += plain(&bytes[end..], b'"');
            match bytes.get(end) {
                None => return self.wrong("a string has no end"),
                Some(b'"') => break,
                // The character after a backslash does not end the string; it is checked below.
                Some(b'\\') => end = (end + 2).min(bytes.len()),
                Some(_) => return self.wrong("a string holds a control character"),
            }
        }
        match serde_json::from_str(&self.text[start..=end]) {
            Ok(string) => {
                self.at = end + 1;
                Ok(string)
            }
            Err(_) => self.wrong("a string has a wrong escape"),
        }
    }

    fn word(&mut self) -> Result<Value, String> {
        let rest = &self.text[self.at..];
        let len = rest
            .bytes()
            .position(|byte| !byte.is_ascii_alphanumeric() && !matches!(byte, b'+' | b'-' | b'.'))
            .unwrap_or(rest.len());
        let word = &rest[..len];
        let value = match word {
            "null" => Value::Null,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ if word.len() > self.max.number => return self.wrong("a number is too long"),
            _ => match Number::read(word) {
                Some(number) => Value::Number(number),
                None => return self.wrong("no value begins so"),
            },
        };
        self.at += len;
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds {
        depth: 96,
        number: 1024,
    };

    #[test]
    fn values_are_read_unchanged() {
        let text = r#" {"a": [1, -2.50, 123456789012345678901234567890, true, null], "b\n\u00e9\"": {"c": "x"}, "d": {}, "e": []} "#;
        let read = read(text, BOUNDS).expect("JSON");
        let want: Value = text.parse().expect("JSON");
        assert_eq!(read.value.to_string(), want.to_string());
        assert!(read.twice.is_empty());
    }

    /// The last of equal keys counts, and every repetition is reported, however it is spelled.
    #[test]
    fn repeated_keys_are_noted() {
        let read = read(
            r#"{"a": 1, "b": [{"x": 1, "\u0078": 2}], "a": 3, "/~": 0, "/~": 1}"#,
            BOUNDS,
        );
        let read = read.expect("JSON");
        assert_eq!(read.value.to_string(), r#"{"a":3,"b":[{"x":2}],"/~":1}"#);
        assert_eq!(read.twice, ["/b/0/x", "/a", "/~1~0"]);
    }

    #[test]
    fn invalid_json_is_refused() {
        let deep = "[".repeat(100_000);
        let long = "1".repeat(1025);
        for text in [
            "",
            "{",
            "[1,]",
            "{\"a\":1,}",
            "{a:1}",
            "01",
            "1.",
            "+1",
            "NaN",
            "nul",
            "\"a",
            "\"\\",
            "\"\\x\"",
            "\"\n\"",
            "1 2",
            "[1 2]",
            "{\"a\" 1}",
            "\u{feff}1",
            "'a'",
            "\"\\ud800\"",
            &deep,
            &long,
        ] {
            assert!(read(text, BOUNDS).is_err(), "{text:.40}");
        }
    }
}
