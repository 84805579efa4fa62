//! Members of objects as JSON text: nothing is read of them that need not be, and numbers keep their spelling.

use crate::source::json::Node;

/// The members of an object, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Members(Vec<(String, String)>);

impl Members {
    /// Sets a member to a JSON text.
    pub fn set(&mut self, key: &str, json: &str) {
        match self.0.iter_mut().find(|(have, _)| have == key) {
            Some((_, value)) => json.clone_into(value),
            None => self.0.push((key.to_owned(), json.to_owned())),
        }
    }

    /// Sets a member to a string.
    pub fn text(&mut self, key: &str, text: &str) {
        self.set(key, &string(text));
    }

    /// Sets all members of another one.
    pub fn add(&mut self, other: &Self) {
        for (key, json) in &other.0 {
            self.set(key, json);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether all of it is `null`.
    pub fn is_null(&self) -> bool {
        self.0.iter().all(|(_, json)| json == "null")
    }

    /// The object, on one line.
    pub fn json(&self) -> String {
        let mut out = String::from("{");
        self.write(&mut out);
        out.push('}');
        out
    }

    /// The text of an object with these members at its end.
    pub fn spliced(&self, object: &str) -> String {
        let Some(open) = object.strip_suffix('}') else {
            return object.to_owned();
        };
        let mut out = open.to_owned();
        if open != "{" && !self.is_empty() {
            out.push(',');
        }
        self.write(&mut out);
        out.push('}');
        out
    }

    fn write(&self, out: &mut String) {
        for (at, (key, json)) in self.0.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            out.push_str(&string(key));
            out.push(':');
            out.push_str(&one_line(json));
        }
    }
}

/// Whether a value is neither an object nor a list.
pub(super) fn is_plain(node: Node<'_>) -> bool {
    !node.json().starts_with(['{', '['])
}

/// A JSON text without the line breaks that may stand between its tokens; in strings there are none.
pub(super) fn one_line(json: &str) -> String {
    json.replace(['\n', '\r'], " ")
}

/// A string as JSON. Strings always have a JSON text.
fn string(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// The object of an error that only has words.
pub(super) fn error(message: &str) -> String {
    let message = string(message.trim());
    format!(
        r#"{{"error":{{"message":{message},"type":"upstream_error","param":null,"code":null}}}}"#
    )
}
