//! Reads JSON documents without changing them: numbers and arguments keep their spelling.
//!
//! A document is validated once. After that each object or list that is read is scanned once per level.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::SourceError;
use crate::json::Value;

/// A value of a validated document.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a>(&'a RawValue);

/// The members of an object; empty for any other value.
#[derive(Default)]
pub(crate) struct Object<'a>(pub Vec<(Cow<'a, str>, Node<'a>)>);

impl<'a> Node<'a> {
    /// Validates a document that begins at `line`.
    pub fn read(line: u64, data: &'a [u8]) -> Result<Self, SourceError> {
        let fail = |error: serde_json::Error| {
            let text = error.to_string();
            let what = text.split(" at line ").next().unwrap_or_default();
            let why = format!("{what} at column {}", error.column());
            let line = line + (error.line() as u64).saturating_sub(1);
            SourceError::Json { line, why }
        };
        let raw = serde_json::from_slice(data).map_err(fail)?;
        // The scan leaves only lone surrogates unchecked.
        let escapes = [b"\\ud".as_slice(), b"\\uD"];
        if escapes
            .iter()
            .any(|escape| memchr::memmem::find(data, escape).is_some())
        {
            serde_json::from_slice::<Value>(data).map_err(fail)?;
        }
        Ok(Self(raw))
    }

    /// Its JSON text.
    pub fn json(self) -> &'a str {
        self.0.get()
    }

    pub fn is_null(self) -> bool {
        self.json() == "null"
    }

    pub fn is_object(self) -> bool {
        self.json().starts_with('{')
    }

    pub fn string(self) -> Option<Cow<'a, str>> {
        serde_json::from_str(self.json())
            .ok()
            .map(|Text(text)| text)
    }

    pub fn number(self) -> Option<u64> {
        self.json().parse().ok()
    }

    pub fn object(self) -> Object<'a> {
        serde_json::from_str(self.json()).unwrap_or_default()
    }

    /// The items of a list; empty for any other value.
    pub fn items(self) -> Vec<Node<'a>> {
        let list: Vec<&RawValue> = serde_json::from_str(self.json()).unwrap_or_default();
        list.into_iter().map(Node).collect()
    }
}

impl<'a> Object<'a> {
    /// Returns a member; of duplicates, the last.
    pub fn get(&self, key: &str) -> Option<Node<'a>> {
        let found = self.0.iter().rfind(|(name, _)| name == key);
        found.map(|(_, node)| *node)
    }

    /// Returns a member that is present and not `null`.
    pub fn some(&self, key: &str) -> Option<Node<'a>> {
        self.get(key).filter(|node| !node.is_null())
    }

    /// Returns a member that is an object, or an empty object.
    pub fn object(&self, key: &str) -> Object<'a> {
        self.get(key).map(Node::object).unwrap_or_default()
    }

    /// Returns the items of a member that is a list.
    pub fn items(&self, key: &str) -> Vec<Node<'a>> {
        self.get(key).map(Node::items).unwrap_or_default()
    }

    /// Returns a member that is a non-empty string.
    pub fn text(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key)?.string().filter(|text| !text.is_empty())
    }

    /// Returns a member that holds arguments: a string as it is, any other value as JSON text, nothing for `null`.
    pub fn arguments(&self, key: &str) -> Cow<'a, str> {
        match self.some(key) {
            None => Cow::Borrowed(""),
            Some(node) => node.string().unwrap_or(Cow::Borrowed(node.json())),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A string, borrowed if it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Object<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
                let mut list = vec![];
                while let Some((Text(key), raw)) = map.next_entry()? {
                    list.push((key, Node(raw)));
                }
                Ok(Object(list))
            }
        }
        input.deserialize_map(Read)
    }
}
