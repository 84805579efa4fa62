//! Gives values the types that a schema asks for.
//!
//! A value is changed only if its type is not one of those that the schema allows, so a valid value never changes. Text is
//! tried as null, integer, number, boolean, object and array, in this order; it is never truncated, rounded or guessed at:
//!
//! | value | becomes | where |
//! |---|---|---|
//! | text of a JSON null, number, object or array | that value, its digits kept | the schema wants that type |
//! | `true`, `False`, in any case | a boolean | the schema wants one |
//! | a number or boolean | its text | the schema wants text alone |
//! | `{"item": [..]}`, `{"item": x}`, `<item>x</item>..` | a list | the schema wants a list |
//! | any other single value | a list of it | the schema wants a list that is no item of a list, and it fits as an item |
//! | text that spells one of the listed values, white space around it aside | that value | `enum` or `const` lists it |
//!
//! A value that fits nothing better stays as it was, for the validator to reject. Of alternatives the first one that can be met
//! counts. Coercion is idempotent.

use toolglot::json::{Map, Number, Value};
use toolglot::layer::step;
use toolglot::layer::{Bounds, read};
use toolglot::layer::{Doc, Typed, Types, listed, spelled as meant, typed, unions};

/// How a value was changed.
///
/// See the example of [`Change`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChangeKind {
    /// A parameter was renamed to the schema's spelling.
    Key,
    /// A missing parameter got the schema's default.
    Default,
    /// A missing parameter got the agent's preset.
    Preset,
    /// It became null.
    Null,
    /// It became an integer.
    Integer,
    /// It became a number.
    Number,
    /// It became a boolean.
    Boolean,
    /// It became text.
    String,
    /// It became an object.
    Object,
    /// It became a list.
    Array,
    /// It became the listed value that it spells.
    Enum,
}

toolglot::words! {
    ChangeKind, "kind of change":
    Key = "key",
    Default = "default",
    Preset = "preset",
    Null = "null",
    Integer = "integer",
    Number = "number",
    Boolean = "boolean",
    String = "string",
    Object = "object",
    Array = "array",
    Enum = "enum",
}

/// A change of the arguments.
///
/// ```
/// use toolglot::json::json;
/// use toolglot_tools::{ChangeKind, CheckOptions, Inventory, Tool};
///
/// let schema = json!({"type": "object", "properties": {"days": {"type": "integer"}}});
/// let inventory = Inventory::of([Tool::new("weather").parameters(schema)])?;
/// let checked = inventory.checked("weather", r#"{"days": "3"}"#, &CheckOptions::default());
/// let change = &checked.changes[0];
/// assert_eq!((change.path.as_str(), change.kind), ("/days", ChangeKind::Integer));
/// assert_eq!((&change.before, &change.after), (&Some(json!("3")), &json!(3)));
/// # Ok::<(), toolglot_tools::RegistryError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Change {
    /// Where: a JSON pointer into the arguments as they are after all changes.
    pub path: String,
    /// What was done.
    pub kind: ChangeKind,
    /// The value before; for a renamed parameter, its old name; `None` if there was none.
    pub before: Option<Value>,
    /// The value after; for a renamed parameter, its new name.
    pub after: Value,
}

/// The bounds of arguments: deeper ones are rejected, as are longer numbers, which have no practical use.
pub(super) const ARGUMENTS: Bounds = Bounds {
    depth: 96,
    number: 1024,
};

/// The same for text at this depth inside arguments.
fn inside(depth: usize) -> Bounds {
    Bounds {
        depth: ARGUMENTS.depth.saturating_sub(depth),
        ..ARGUMENTS
    }
}

/// The work budget, for schemas and values; beyond it, the rest stays as it is.
pub(super) const WORK: u64 = 200_000;
/// How deep values are followed.
const MAX_DEPTH: usize = 100;

/// Coerces arguments by their schema document. The changes are returned in order.
pub(super) fn coerce(arguments: &mut Value, doc: &Doc<'_>) -> Vec<Change> {
    let run = |value: &mut Value| {
        let mut work = Work::new(doc);
        work.value(value, &[doc.root], 0);
        work.changes
    };
    let mut new = arguments.clone();
    let changes = run(&mut new);
    // Recursive schemas can ask for another change of every result: then nothing is changed.
    if changes.is_empty() || !run(&mut new.clone()).is_empty() {
        return vec![];
    }
    *arguments = new;
    changes
}

/// The value that a single one becomes.
pub(super) fn coerced<'s>(value: &Value, schema: &'s Value, doc: &Doc<'s>) -> Value {
    let mut new = value.clone();
    Work::new(doc).value(&mut new, &[schema], 0);
    new
}

struct Work<'d, 's> {
    doc: &'d Doc<'s>,
    path: String,
    /// Whether the value is an item of a list.
    listed: bool,
    changes: Vec<Change>,
}

impl<'d, 's> Work<'d, 's> {
    fn new(doc: &'d Doc<'s>) -> Self {
        Self {
            doc,
            path: String::new(),
            listed: false,
            changes: vec![],
        }
    }

    /// Coerces a value for which all of `schemas` hold. Recursion is bounded by [`MAX_DEPTH`].
    fn value(&mut self, value: &mut Value, schemas: &[&'s Value], depth: usize) {
        if depth == MAX_DEPTH || schemas.is_empty() || !self.doc.spend(1) {
            return;
        }
        let parts = self.doc.parts(schemas);
        let types = self.doc.types(&parts);
        let new = if types.meets(Types::of(value)) {
            spelled(value, &parts)
        } else {
            self.convert(value, types, &parts, depth)
        };
        if let Some((kind, new)) = new {
            let before = std::mem::replace(value, new);
            self.changes.push(Change {
                path: self.path.clone(),
                kind,
                before: Some(before),
                after: value.clone(),
            });
        }
        let outer = (self.path.len(), self.listed);
        match value {
            Value::Object(map) => {
                self.listed = false;
                for (key, value) in map {
                    step(&mut self.path, key);
                    let schemas = self.doc.property(&parts, key);
                    self.value(value, &schemas, depth + 1);
                    self.path.truncate(outer.0);
                }
            }
            Value::Array(list) => {
                self.listed = true;
                for (index, value) in list.iter_mut().enumerate() {
                    step(&mut self.path, &index.to_string());
                    let schemas = self.doc.item(&parts, index);
                    self.value(value, &schemas, depth + 1);
                    self.path.truncate(outer.0);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        self.listed = outer.1;
        for branches in parts.iter().flat_map(|part| unions(part)) {
            self.union(value, branches, depth);
        }
    }

    /// Makes a value fit one of the branches, unless it already fits one.
    fn union(&mut self, value: &mut Value, branches: &'s [Value], depth: usize) {
        if branches
            .iter()
            .any(|branch| self.doc.fits(value, branch, 0))
        {
            return;
        }
        for branch in branches {
            if !self.doc.spend(1 + weight(value)) {
                return;
            }
            let mut trial = value.clone();
            let done = self.changes.len();
            self.value(&mut trial, &[branch], depth + 1);
            // Once the budget is used up, everything seems to fit.
            if self.doc.fits(&trial, branch, 0) && self.doc.spend(1) {
                *value = trial;
                return;
            }
            self.changes.truncate(done);
        }
    }

    /// Converts a value to one of the types, if it has none of them.
    fn convert(
        &self,
        value: &Value,
        types: Types,
        parts: &[&'s Map],
        depth: usize,
    ) -> Option<(ChangeKind, Value)> {
        match value {
            Value::String(text) => {
                let bare = text.trim();
                if let Some(new) = parsed(bare, types, depth) {
                    return Some(new);
                }
                if types.has(Types::ARRAY) {
                    if bare.is_empty() {
                        return Some((ChangeKind::Array, Value::Array(vec![])));
                    }
                    let broken = types.has(Types::OBJECT) && bare.starts_with('{');
                    if broken || bare.starts_with('[') {
                        return None;
                    }
                    if let Some(items) = items(bare) {
                        return Some((ChangeKind::Array, Value::Array(items)));
                    }
                }
            }
            Value::Number(_) | Value::Bool(_) if types.has(Types::STRING) => {
                return Some((ChangeKind::String, Value::String(value.to_string())));
            }
            Value::Object(map) if types.has(Types::ARRAY) && map.len() == 1 => {
                if let Some(item) = map.get("item") {
                    let list = match item {
                        Value::Array(list) => list.clone(),
                        one => vec![one.clone()],
                    };
                    return Some((ChangeKind::Array, Value::Array(list)));
                }
            }
            Value::Null | Value::Array(_) => return None,
            Value::Number(_) | Value::Bool(_) | Value::Object(_) => {}
        }
        let single = types.has(Types::ARRAY) && self.is_item(value, parts, depth);
        single.then(|| (ChangeKind::Array, Value::Array(vec![value.clone()])))
    }

    /// Whether a value can be the only item of the required list. Lists of lists are not guessed: neither the inner list nor
    /// the outer one.
    fn is_item(&self, value: &Value, parts: &[&'s Map], depth: usize) -> bool {
        if self.listed {
            return false;
        }
        let items = self.doc.item(parts, 0);
        if items.is_empty() && parts.iter().any(|part| unions(part).next().is_some()) {
            // The branches determine the items; each branch is tried.
            return false;
        }
        let parts = self.doc.parts(&items);
        let types = self.doc.types(&parts).without(Types::ARRAY);
        types.meets(Types::of(value))
            || match value {
                Value::String(text) => parsed(text.trim(), types, depth).is_some(),
                Value::Number(_) | Value::Bool(_) => types.has(Types::STRING),
                Value::Null | Value::Array(_) | Value::Object(_) => false,
            }
    }
}

/// Converts text at some depth to one of the types, in the order in which they are tried.
fn parsed(text: &str, types: Types, depth: usize) -> Option<(ChangeKind, Value)> {
    let number = |kind| {
        let short = text.len() <= ARGUMENTS.number;
        let number = short.then(|| Number::read(text)).flatten()?;
        Some((kind, Value::Number(number)))
    };
    // Text with repeated keys is ambiguous.
    let nested = |kind| {
        let read = read(text, inside(depth)).ok()?;
        read.twice.is_empty().then_some((kind, read.value))
    };
    match typed(text, types)? {
        Typed::Null => Some((ChangeKind::Null, Value::Null)),
        Typed::Integer => number(match types.has(Types::NUMBER) {
            true => ChangeKind::Number,
            false => ChangeKind::Integer,
        }),
        Typed::Number => number(ChangeKind::Number),
        Typed::Boolean(value) => Some((ChangeKind::Boolean, Value::Bool(value))),
        Typed::Object => nested(ChangeKind::Object),
        Typed::Array => nested(ChangeKind::Array),
    }
}

/// The listed value that a text spells, if the text is not listed itself.
fn spelled<'s>(value: &Value, parts: &[&'s Map]) -> Option<(ChangeKind, Value)> {
    let text = value.as_str()?;
    if listed(value, parts) {
        return None;
    }
    let values = |part: &&'s Map| {
        let list = part.get("enum").and_then(Value::as_array);
        let list = list.map_or(&[][..], Vec::as_slice);
        list.iter().chain(part.get("const"))
    };
    // Every part must list it; otherwise it is not allowed.
    let new = match meant(text, parts.iter().flat_map(values))? {
        // A number keeps its spelling in the text.
        Value::Number(_) => Value::Number(Number::read(text.trim())?),
        other => other.clone(),
    };
    listed(&new, parts).then_some((ChangeKind::Enum, new))
}

/// The texts in `<item>a</item> <item>b</item>`, if the text is nothing else: without markup inside, entities decoded.
fn items(text: &str) -> Option<Vec<Value>> {
    let mut out = vec![];
    let mut rest = text;
    while !rest.is_empty() {
        let (item, tail) = rest.strip_prefix("<item>")?.split_once("</item>")?;
        if item.contains('<') {
            return None;
        }
        out.push(toolglot_scan::xml::decode(item.as_bytes()).into());
        rest = tail.trim_start();
    }
    (!out.is_empty()).then_some(out)
}

/// The cost of copying a value.
pub(super) fn weight(value: &Value) -> u64 {
    match value {
        Value::String(text) => 1 + text.len() as u64 / 256,
        Value::Array(list) => list.iter().map(weight).sum::<u64>() + 1,
        Value::Object(map) => map.values().map(weight).sum::<u64>() + 1,
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}
