//! Counts how often a validator would visit a schema, before it does.
//!
//! A few lines of references can ask a validator for more work than is feasible. Here each pair of a schema and a value is
//! priced once, so that counting is cheap even if the work would never end.

use std::collections::HashMap;

use toolglot::json::Value;
use toolglot::layer::Doc;

/// The maximum number of schema visits in one validation.
pub(super) const MAX_WORK: u64 = 2_000_000;
/// This many listed values count as one schema.
pub(super) const LISTED: usize = 8;
/// The maximum depth to which a validation may follow references and values.
const MAX_FOLLOWED: usize = 400;

/// The number of times a validator would visit schemas of the document to validate a value; far too large numbers are not
/// exact.
///
/// # Errors
/// Why the number does not exist.
pub(super) fn price(doc: &Doc<'_>, value: &Value) -> Result<u64, &'static str> {
    let known = HashMap::new();
    Price { doc, known }.of(doc.root, value, 0)
}

struct Price<'d, 's> {
    doc: &'d Doc<'s>,
    /// `None` while it is being computed.
    known: HashMap<(*const Value, *const Value), Option<u64>>,
}

impl<'s> Price<'_, 's> {
    fn of(&mut self, schema: &'s Value, value: &Value, depth: usize) -> Result<u64, &'static str> {
        let Some(map) = schema.as_object() else {
            return Ok(1);
        };
        let pair = (std::ptr::from_ref(schema), std::ptr::from_ref(value));
        match self.known.get(&pair) {
            Some(Some(price)) => return Ok(*price),
            Some(None) => return Err("a reference leads back to itself"),
            None => {}
        }
        if depth > MAX_FOLLOWED || self.known.len() as u64 > MAX_WORK / 4 {
            return Err("its references are too many or too deep for this value");
        }
        self.known.insert(pair, None);
        let listed = map.get("enum").and_then(Value::as_array);
        let mut sum = 1 + listed.map_or(0, |list| (list.len() / LISTED) as u64);
        for (key, part) in map {
            match (key.as_str(), part) {
                ("$ref", Value::String(target)) => {
                    // A target that is not found here has an anchor or an encoded pointer; the whole document is an upper
                    // bound.
                    let target = self.doc.target(target).unwrap_or(self.doc.root);
                    let back = std::ptr::eq(target, schema);
                    if back {
                        return Err("a reference leads back to itself");
                    }
                    self.add(&mut sum, target, value, depth)?;
                }
                ("$dynamicRef" | "$recursiveRef", _) => {
                    self.add(&mut sum, self.doc.root, value, depth)?;
                }
                ("allOf" | "anyOf" | "oneOf", Value::Array(list)) => {
                    for part in list {
                        self.add(&mut sum, part, value, depth)?;
                    }
                }
                ("not" | "if" | "then" | "else", part) => self.add(&mut sum, part, value, depth)?,
                ("dependentSchemas" | "dependencies", Value::Object(parts)) => {
                    for part in parts.values() {
                        self.add(&mut sum, part, value, depth)?;
                    }
                }
                _ => self.inside(&mut sum, key, part, value, depth)?,
            }
        }
        self.known.insert(pair, Some(sum));
        Ok(sum)
    }

    /// The price of a keyword's members and items.
    fn inside(
        &mut self,
        sum: &mut u64,
        key: &str,
        part: &'s Value,
        value: &Value,
        depth: usize,
    ) -> Result<(), &'static str> {
        match (key, part, value) {
            ("properties", Value::Object(parts), Value::Object(members)) => {
                for (name, member) in members {
                    if let Some(part) = parts.get(name) {
                        self.add(sum, part, member, depth)?;
                    }
                }
            }
            ("patternProperties", Value::Object(parts), Value::Object(members)) => {
                for part in parts.values() {
                    for member in members.values() {
                        self.add(sum, part, member, depth)?;
                    }
                }
            }
            ("additionalProperties" | "unevaluatedProperties", part, Value::Object(members)) => {
                for member in members.values() {
                    self.add(sum, part, member, depth)?;
                }
            }
            ("items" | "prefixItems", Value::Array(parts), Value::Array(items)) => {
                for (part, item) in parts.iter().zip(items) {
                    self.add(sum, part, item, depth)?;
                }
            }
            (
                "items" | "additionalItems" | "unevaluatedItems" | "contains",
                part,
                Value::Array(items),
            ) => {
                for item in items {
                    self.add(sum, part, item, depth)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn add(
        &mut self,
        sum: &mut u64,
        part: &'s Value,
        value: &Value,
        depth: usize,
    ) -> Result<(), &'static str> {
        *sum = sum.saturating_add(self.of(part, value, depth + 1)?);
        Ok(())
    }
}
