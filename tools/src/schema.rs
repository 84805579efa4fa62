//! Prepares a tool's schema: checks it, normalizes it to plain JSON Schema, and compiles it once.
//!
//! Schemas are untrusted. References that leave the document, documents that are too large, and circular chains of references
//! are rejected. The work of a validation is computed before it runs, because a few lines of references can ask for more work
//! than is feasible.

use jsonschema::Draft;
use toolglot::json::{Map, Value};
use toolglot::layer::step;
use toolglot::layer::{Doc, Place, Types, ready, ref_alone};

use super::coerce::weight;
use super::judge::{self, Judge};
use super::price::{LISTED, MAX_WORK, price};
use super::short::short;

/// The maximum nesting of a schema.
const MAX_DEPTH: usize = 64;
/// The maximum number of schemas, lists and objects in a document.
const MAX_NODES: usize = 50_000;
/// The maximum number of references in a document; a chain of them is followed recursively.
const MAX_REFS: usize = 1000;
/// Why the schema of a tool cannot be used.
///
/// ```
/// use toolglot::json::json;
/// use toolglot_tools::{Inventory, Tool};
///
/// let schema = json!({"type": "object", "properties": {"city": {"type": "string", "pattern": "("}}});
/// let inventory = Inventory::of([Tool::new("weather").parameters(schema)])?;
/// let (id, error) = inventory.faults().next().unwrap();
/// assert_eq!((id, error.path.as_str()), ("weather", "/properties/city/pattern"));
/// # Ok::<(), toolglot_tools::RegistryError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {why}", path = if .path.is_empty() { "the schema" } else { .path })]
#[non_exhaustive]
pub struct SchemaError {
    /// Where in the schema: a JSON pointer.
    pub path: String,
    /// What is wrong there.
    pub why: String,
}

/// A prepared schema.
#[derive(Debug)]
pub(super) struct Plan {
    /// In plain JSON Schema, node for node as it was written.
    pub schema: Value,
    pub ref_alone: bool,
    size: Size,
    validator: Judge,
}

impl Plan {
    /// Linear in the schema.
    pub fn new(parameters: &Value) -> Result<Self, SchemaError> {
        let named = draft(parameters)?;
        let mut size = Size {
            draft4: named == Some(Draft::Draft4),
            ..Size::default()
        };
        measure(parameters, Place::Schema, &mut String::new(), 0, &mut size)?;
        let draft = named.unwrap_or(match size.tuples {
            true => Draft::Draft201909,
            false => Draft::Draft202012,
        });
        let mut schema = ready(parameters);
        let Some(map) = schema.as_object_mut() else {
            return Err(wrong("", "it must be an object"));
        };
        map.remove("$schema");
        // Arguments are an object; a call cannot have any other signature.
        match map.get("type") {
            None => {
                map.insert("type".to_owned(), "object".into());
            }
            Some(kind) if is_object(kind) => {}
            Some(_) => return Err(wrong("/type", FACADE)),
        }
        let ref_alone = ref_alone(parameters);
        let validator = judge::compile(&schema, draft).map_err(|error| {
            let why = error.masked_with("this").to_string();
            wrong(error.instance_path().as_str(), &short(&why))
        })?;
        Ok(Self {
            schema,
            ref_alone,
            size,
            validator,
        })
    }

    /// The document for queries without validation, with a work budget.
    pub fn doc(&self, work: u64) -> Doc<'_> {
        Doc::new(&self.schema, self.ref_alone, work)
    }

    /// The validator, if validating this value is feasible.
    pub fn validator(&self, value: &Value) -> Result<&Judge, SchemaError> {
        // Without references each part of the schema visits each part of the value at most once.
        let most = self.size.nodes as u64 * weight(value);
        if self.size.refs > 0 || most > MAX_WORK {
            let work = price(&self.doc(u64::MAX), value).map_err(|why| wrong("", why))?;
            if work > MAX_WORK {
                return Err(wrong("", "its alternatives are too many for this value"));
            }
        }
        Ok(&self.validator)
    }
}

/// The advice for a tool that takes something other than one object.
pub(super) const FACADE: &str = "the arguments of a call are one object, so this must be \"object\"; \
    give the tool a facade that takes one";

/// Whether a type, by any of its names, or one of several is that of an object.
pub(super) fn is_object(kind: &Value) -> bool {
    let one = |name: &Value| name.as_str().and_then(Types::named) == Some(Types::OBJECT);
    one(kind) || kind.as_array().is_some_and(|names| names.iter().any(one))
}

fn wrong(path: &str, why: &str) -> SchemaError {
    SchemaError {
        path: path.to_owned(),
        why: why.to_owned(),
    }
}

/// The draft that `$schema` names. Without it the draft is 2020-12, as in MCP, unless the schema has tuples of older drafts.
fn draft(schema: &Value) -> Result<Option<Draft>, SchemaError> {
    let name = match schema.get("$schema") {
        None | Some(Value::Null) => return Ok(None),
        Some(name) => name.as_str().unwrap_or_default(),
    };
    let drafts = [
        ("draft-04", Draft::Draft4),
        ("draft-06", Draft::Draft6),
        ("draft-07", Draft::Draft7),
        ("2019-09", Draft::Draft201909),
        ("2020-12", Draft::Draft202012),
    ];
    let found = drafts
        .iter()
        .find(|(part, _)| name.contains("json-schema.org") && name.contains(part));
    found.map(|(_, draft)| Some(*draft)).ok_or_else(|| {
        wrong(
            "/$schema",
            "it names no draft of JSON Schema that is known here",
        )
    })
}

/// The size of a document.
#[derive(Debug, Default)]
struct Size {
    /// Schemas, objects and lists; long lists count more than once.
    nodes: usize,
    refs: usize,
    /// Whether `id` has the meaning of `$id` in later drafts.
    draft4: bool,
    /// Whether `items` is a list of schemas somewhere, as before draft 2020-12.
    tuples: bool,
}

/// Checks the size and the references. Recursion is bounded by [`MAX_DEPTH`].
fn measure(
    value: &Value,
    place: Place,
    path: &mut String,
    depth: usize,
    size: &mut Size,
) -> Result<(), SchemaError> {
    if depth > MAX_DEPTH {
        let why = format!("a schema may be nested {MAX_DEPTH} deep");
        return Err(wrong(path, &why));
    }
    let outer = path.len();
    match value {
        Value::Object(map) => {
            size.nodes += 1;
            if place == Place::Schema {
                references(map, path, depth, size)?;
                size.tuples |= map.get("items").is_some_and(Value::is_array);
            }
            for (key, value) in map {
                step(path, key);
                measure(value, place.inside(key), path, depth + 1, size)?;
                path.truncate(outer);
            }
        }
        Value::Array(list) => {
            size.nodes += 1 + list.len() / LISTED;
            for (index, value) in list.iter().enumerate() {
                step(path, &index.to_string());
                measure(value, place, path, depth + 1, size)?;
                path.truncate(outer);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    if size.nodes > MAX_NODES || size.refs > MAX_REFS {
        return Err(wrong("", "it is too large"));
    }
    Ok(())
}

fn references(map: &Map, path: &str, depth: usize, size: &mut Size) -> Result<(), SchemaError> {
    let text = |word: &str| map.get(word).and_then(Value::as_str);
    let id = text("$id").or_else(|| text("id").filter(|_| size.draft4));
    // References below it would not resolve against the document.
    if depth > 0 && id.is_some_and(|id| !id.starts_with('#')) {
        let why = "a document inside the document ($id) is not read";
        return Err(wrong(path, why));
    }
    if let Some(Value::String(target)) = map.get("$ref") {
        size.refs += 1;
        if !target.starts_with('#') {
            let target = short(target);
            let why = format!("{target} is not fetched: a reference must begin with #");
            return Err(wrong(path, &why));
        }
    }
    let moving = ["$dynamicRef", "$recursiveRef"];
    size.refs += usize::from(moving.iter().any(|word| map.contains_key(word)));
    Ok(())
}
