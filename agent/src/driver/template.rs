//! Texts with placeholders for arguments: `--city={city}`. `{{` and `}}` are literal braces.

use toolglot::json::{Map, Value};

use super::SetupError;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Argument(String),
}

/// A text with placeholders for arguments. Inserted values are not searched for placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

impl Template {
    pub fn new(text: &str) -> Result<Self, SetupError> {
        let wrong = |why: String| SetupError::Placeholder {
            text: text.to_owned(),
            why,
        };
        let mut parts = vec![];
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            plain.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some(after) = rest.strip_prefix("{{").or(rest.strip_prefix("}}")) {
                plain.push_str(&rest[..1]);
                rest = after;
                continue;
            }
            let end = rest.strip_prefix('{').and_then(|inner| inner.find('}'));
            let Some(end) = end else {
                return Err(wrong("a brace stands alone; write it twice".to_owned()));
            };
            let name = &rest[1..=end];
            if name.is_empty() || name.contains('{') {
                return Err(wrong(format!("`{{{name}}}` names no argument")));
            }
            if !plain.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut plain)));
            }
            parts.push(Part::Argument(name.to_owned()));
            rest = &rest[end + 2..];
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Self { parts })
    }

    /// Returns the text before the first placeholder.
    pub fn head(&self) -> &str {
        match self.parts.first() {
            Some(Part::Text(text)) => text,
            Some(Part::Argument(_)) | None => "",
        }
    }

    /// Returns the text with a letter for each placeholder.
    #[cfg(feature = "http")]
    pub fn blank(&self) -> String {
        let parts = self.parts.iter().map(|part| match part {
            Part::Text(text) => text,
            Part::Argument(_) => "x",
        });
        parts.collect()
    }

    /// Returns whether it has no placeholder.
    pub fn plain(&self) -> bool {
        !self
            .parts
            .iter()
            .any(|part| matches!(part, Part::Argument(_)))
    }

    /// Returns the name of the argument if the text is a single placeholder.
    pub fn whole(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Argument(name)] => Some(name),
            _ => None,
        }
    }

    /// Returns the text with arguments inserted; `None` if one of them is missing or null.
    pub fn fill(&self, arguments: &Map, write: impl Fn(&str) -> String) -> Option<String> {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Argument(name) => out.push_str(&write(&spelled(arguments.get(name)?)?)),
            }
        }
        Some(out)
    }
}

/// Returns a value as text: a string as it is, any other value as JSON; `None` for null.
pub fn spelled(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled_once() {
        let arguments: Map =
            serde_json::from_str(r#"{"a": "{b}", "n": 1, "z": null, "l": [1]}"#).expect("JSON");
        let fill = |text: &str| {
            Template::new(text)
                .expect(text)
                .fill(&arguments, str::to_owned)
        };
        assert_eq!(fill("x{{{a}}}-{n}{l}").as_deref(), Some("x{{b}}-1[1]"));
        assert_eq!(fill("plain").as_deref(), Some("plain"));
        assert_eq!(fill("{z}"), None);
        assert_eq!(fill("{nobody}"), None);
        for wrong in ["{", "}", "a{}", "{a", "a}b", "{a{b}"] {
            assert!(Template::new(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Template::new("{a}").expect("a place").whole(), Some("a"));
        assert_eq!(Template::new("x{a}").expect("a place").head(), "x");
    }
}
