//! What a translated request cannot carry. If the answer would not be what the client asked for without it, the request is refused;
//! otherwise the client is told by a header. The table of both is in `docs/GATEWAY.md`.

use std::collections::BTreeSet;

use axum::http::header::{HeaderName, HeaderValue};
use toolglot::json::Value;

/// The header that lists ignored settings.
pub const IGNORED: HeaderName = HeaderName::from_static("toolglot-ignored");
/// Maximum length of its value; clients choose the names.
const LONGEST: usize = 1024;

/// The losses of one translation.
#[derive(Clone, Debug, Default)]
pub struct Lost {
    ignored: BTreeSet<String>,
    refused: Option<String>,
}

impl Lost {
    /// A setting has no equal, and the answer means the same without it.
    pub fn ignore(&mut self, name: impl Into<String>) {
        self.ignored.insert(name.into());
    }

    /// The request cannot be answered as asked; the first reason is reported.
    pub fn refuse(&mut self, why: impl Into<String>) {
        self.refused.get_or_insert_with(|| why.into());
    }

    /// Settings that reach the server in another way.
    pub fn keep(&mut self, carried: impl Fn(&str) -> bool) {
        self.ignored.retain(|name| !carried(name));
    }

    /// Accounts for every member of an object: those in `carried` were translated, those in `needed` cannot be missing.
    pub fn rest(&mut self, from: &Value, place: &str, carried: &[&str], needed: &[&str]) {
        let Some(members) = from.as_object() else {
            return;
        };
        for (key, value) in members {
            if carried.contains(&key.as_str()) || !says(value) {
                continue;
            }
            match needed.contains(&key.as_str()) && value.as_u64() != Some(0) {
                true => self.refuse(format!(
                    "`{place}{key}`: the server's protocol has no such setting, and without it the answer would be another"
                )),
                false => self.ignore(format!("{place}{key}")),
            }
        }
    }

    /// # Errors
    /// The reason for which the request is refused.
    pub fn allowed(&self) -> Result<(), String> {
        self.refused.clone().map_or(Ok(()), Err)
    }

    /// Returns the value of the header: names separated by commas.
    pub fn header(&self) -> Option<HeaderValue> {
        let names = self.ignored.iter().map(|name| name.escape_default());
        let names = names.map(|name| name.to_string()).collect::<Vec<_>>();
        let mut value = names.join(", ");
        value.truncate(LONGEST);
        HeaderValue::from_str(&value)
            .ok()
            .filter(|value| !value.is_empty())
    }
}

/// Whether a value asks for anything.
fn says(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Bool(true) | Value::Number(_) => true,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => members.iter().next().is_some(),
    }
}

#[cfg(test)]
mod tests {
    use toolglot::json::json;

    use super::*;

    #[test]
    fn members_are_carried_refused_or_listed() {
        let mut lost = Lost::default();
        let asked = json!({"a": 1, "b": 0, "c": false, "d": [], "é": 2, "n": 0});
        lost.rest(&asked, "x.", &["a"], &["n"]);
        assert_eq!(lost.header().unwrap(), "x.b, x.n, x.\\u{e9}");
        assert_eq!(lost.allowed(), Ok(()));
        lost.keep(|name| name != "x.b");
        assert_eq!(lost.header().unwrap(), "x.b");
        lost.rest(&json!({"n": 1}), "", &[], &["n"]);
        assert!(lost.allowed().unwrap_err().contains("`n`"));
    }
}
