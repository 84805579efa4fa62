//! Schemas as the parser needs them: types, members and items, fully resolved.

use super::Types;
use super::resolve::{Doc, unions};
use crate::json::{Map, Value};

/// How deep a schema is followed.
const MAX_DEPTH: usize = 32;
/// The maximum number of schemas compiled from one document, because references can multiply them. The rest counts as unknown.
const MAX_SCHEMAS: u32 = 10_000;

/// What a schema says about a value.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// Empty if unknown.
    pub types: Types,
    /// The values that it may have, if they are listed.
    pub listed: Vec<Value>,
    pub items: Option<Box<Schema>>,
    pub props: Vec<(String, Schema)>,
}

/// One parameter of a tool.
#[derive(Clone, Debug)]
pub struct Param {
    pub name: String,
    pub schema: Schema,
    pub required: bool,
}

/// The parameters that a document names, including those of alternatives.
pub fn params(doc: &Doc<'_>) -> Vec<Param> {
    let root = Compile {
        doc,
        left: MAX_SCHEMAS,
    }
    .schema(&[doc.root], 0);
    let parts = doc.parts(&[doc.root]);
    let required: Vec<&str> = parts
        .iter()
        .flat_map(|part| names(part, "required"))
        .collect();
    let param = |(name, schema): (String, Schema)| Param {
        required: required.contains(&name.as_str()),
        name,
        schema,
    };
    root.props.into_iter().map(param).collect()
}

/// What a document says about the parameters that it does not name, if it says so without patterns.
pub fn others(doc: &Doc<'_>) -> Option<Schema> {
    let parts = doc.parts(&[doc.root]);
    let patterns = parts
        .iter()
        .any(|part| part.contains_key("patternProperties"));
    let more = parts
        .iter()
        .filter_map(|part| part.get("additionalProperties"));
    let more: Vec<&Value> = more.filter(|schema| schema.is_object()).collect();
    let left = MAX_SCHEMAS;
    (!patterns && !more.is_empty()).then(|| Compile { doc, left }.schema(&more, 0))
}

/// Whether a schema explicitly allows an object to have members that it does not name.
pub fn open(doc: &Doc<'_>) -> bool {
    let more = |part: &Map, word: &str| part.get(word).is_some_and(|value| *value != false);
    let words = [
        "additionalProperties",
        "unevaluatedProperties",
        "patternProperties",
    ];
    let parts = doc.parts(&[doc.root]);
    parts
        .iter()
        .any(|part| words.iter().any(|word| more(part, word)))
}

fn names<'s>(part: &'s Map, word: &str) -> impl Iterator<Item = &'s str> {
    let list = part.get(word).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str)
}

struct Compile<'d, 's> {
    doc: &'d Doc<'s>,
    left: u32,
}

impl<'s> Compile<'_, 's> {
    /// Combines all of `schemas`. Recursion is bounded by [`MAX_DEPTH`] and by the remaining budget.
    fn schema(&mut self, schemas: &[&'s Value], depth: usize) -> Schema {
        if depth == MAX_DEPTH || self.left == 0 || schemas.is_empty() {
            return Schema::UNKNOWN;
        }
        self.left -= 1;
        let parts = self.doc.parts(schemas);
        let types = self.doc.types(&parts);
        let mut out = Schema {
            types: if types == Types::ANY {
                Types::NONE
            } else {
                types
            },
            listed: parts
                .iter()
                .find_map(|part| values(part))
                .unwrap_or_default(),
            ..Schema::UNKNOWN
        };
        if types == Types::NULL && out.listed.is_empty() {
            // Beside an alternative that lists its values, the list stays complete.
            out.listed.push(Value::Null);
        }
        let items = self.doc.item(&parts, usize::MAX);
        if !items.is_empty() {
            out.items = Some(Box::new(self.schema(&items, depth + 1)));
        }
        for (at, part) in parts.iter().enumerate() {
            for name in part
                .get("properties")
                .and_then(Value::as_object)
                .into_iter()
                .flat_map(Map::keys)
            {
                let own = |part: &&'s Map| part.get("properties")?.get(name);
                let before = parts[..at].iter().any(|part| own(part).is_some());
                if !before {
                    let all: Vec<&'s Value> = parts.iter().filter_map(own).collect();
                    out.props.push((name.clone(), self.schema(&all, depth + 1)));
                }
            }
        }
        for branches in parts.iter().flat_map(|part| unions(part)) {
            let each = branches
                .iter()
                .map(|branch| self.schema(&[branch], depth + 1));
            if let Some(any) = each.collect::<Vec<_>>().into_iter().reduce(Schema::or) {
                out.also(any);
            }
        }
        for branch in parts.iter().flat_map(|part| conditional(part)) {
            let any = self.schema(&[branch], depth + 1);
            out.also(any);
        }
        out
    }
}

/// The schemas that apply under a condition.
fn conditional(part: &Map) -> impl Iterator<Item = &Value> {
    let words = ["then", "else"].into_iter();
    let named = part.get("dependentSchemas").and_then(Value::as_object);
    let named = named.into_iter().flat_map(Map::values);
    words.filter_map(|word| part.get(word)).chain(named)
}

/// The values that a schema lists itself.
fn values(part: &Map) -> Option<Vec<Value>> {
    let list = part.get("enum").and_then(Value::as_array).cloned();
    part.get("const").map(|value| vec![value.clone()]).or(list)
}

impl Schema {
    /// Nothing is known.
    pub const UNKNOWN: Self = Self {
        types: Types::none(),
        listed: vec![],
        items: None,
        props: vec![],
    };

    /// Everything is allowed: text that is JSON is read as JSON, otherwise as a string.
    pub const ANY: Self = Self {
        types: Types::ANY,
        listed: vec![],
        items: None,
        props: vec![],
    };

    /// Whether text is the value as it is: it is a string or unknown, and no values are listed.
    pub fn is_text(&self) -> bool {
        self.types.plain() && self.listed.is_empty()
    }

    pub fn prop(&self, name: &str) -> Option<&Schema> {
        self.props
            .iter()
            .find(|(have, _)| have == name)
            .map(|(_, schema)| schema)
    }

    /// Either of two schemas: a member that only one of them names has that one's schema.
    fn or(mut self, other: Self) -> Self {
        let known = self.types != Types::NONE && other.types != Types::NONE;
        self.types = if known {
            self.types.or(other.types)
        } else {
            Types::NONE
        };
        match self.listed.is_empty() || other.listed.is_empty() {
            true => self.listed.clear(),
            false => self.listed.extend(other.listed),
        }
        self.items = match (self.items, other.items) {
            (Some(a), Some(b)) => Some(Box::new(a.or(*b))),
            (a, b) => a.or(b),
        };
        for (name, schema) in other.props {
            match self.props.iter_mut().find(|(have, _)| *have == name) {
                Some((_, have)) => *have = std::mem::take(have).or(schema),
                None => self.props.push((name, schema)),
            }
        }
        self
    }

    /// Adds the alternatives beside the schema; its own types already include theirs.
    fn also(&mut self, any: Self) {
        if self.listed.is_empty() {
            self.listed = any.listed;
        }
        if self.items.is_none() {
            self.items = any.items;
        }
        for (name, schema) in any.props {
            match self.props.iter_mut().find(|(have, _)| *have == name) {
                Some((_, have)) if have.types == Types::NONE => *have = schema,
                Some(_) => {}
                None => self.props.push((name, schema)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled(schema: &str) -> Schema {
        let root = schema.parse().expect("JSON");
        let schema = |param: Param| (param.name, param.schema);
        let props = params(&Doc::new(&root, false, u64::MAX));
        Schema {
            props: props.into_iter().map(schema).collect(),
            ..Schema::UNKNOWN
        }
    }

    /// Where one of two schemas allows every type, so does either.
    #[test]
    fn alternatives_allow_what_one_of_them_allows() {
        for (first, second, types) in [
            (r#"{"type": "integer"}"#, "{}", Types::NONE),
            ("{}", r#"{"type": "integer"}"#, Types::NONE),
            (
                r#"{"type": "integer"}"#,
                r#"{"type": "integer"}"#,
                Types::INTEGER,
            ),
        ] {
            let one = |of: &str| format!(r#"{{"properties": {{"p": {of}}}}}"#);
            let either = format!(
                r#"{{"properties": {{"o": {{"anyOf": [{}, {}]}}}}}}"#,
                one(first),
                one(second)
            );
            let schema = compiled(&either);
            let inner = schema.props[0].1.prop("p").expect("a member");
            assert_eq!(inner.types, types, "{either}");
        }
    }

    #[test]
    fn schemas_that_contain_themselves_end() {
        fn depth(schema: &Schema, inner: fn(&Schema) -> Option<&Schema>) -> usize {
            1 + inner(schema).map_or(0, |one| depth(one, inner))
        }
        let members = compiled(r##"{"properties": {"p": {"$ref": "#"}}}"##);
        assert_eq!(depth(&members, |one| one.prop("p")), MAX_DEPTH + 1);
        let items = compiled(r##"{"properties": {"p": {"items": {"$ref": "#/properties/p"}}}}"##);
        assert_eq!(
            depth(&items.props[0].1, |one| one.items.as_deref()),
            MAX_DEPTH
        );

        fn all(schema: &Schema) -> usize {
            1 + schema
                .props
                .iter()
                .map(|(_, inner)| all(inner))
                .sum::<usize>()
        }
        let two = r##"{"properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}}"##;
        let made = all(&compiled(two));
        let most = usize::try_from(MAX_SCHEMAS).expect("a small number");
        assert!((most..=3 * most).contains(&made), "{made}");
    }
}
