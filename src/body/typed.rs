//! Text where a schema demands a type: as JSON, or as Python prints it (`['a', 'b']`, `('a', 'b')`, `None`).
//!
//! Text that the schema accepts is parsed again only if it may contain a lone surrogate. In text that the schema rejects, a
//! list, an object or a literal may have slips, which are repaired and reported. Text that the schema types as a string is
//! never converted.

use super::lexer::forgiven;
use crate::hints::{Coerced, Schema, Types, coerce, is_json};
use crate::kind::{Kind, KindSet};

/// The outcome of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Typed {
    pub how: Coerced,
    /// What was repaired.
    pub kinds: KindSet,
}

impl From<Coerced> for Typed {
    fn from(how: Coerced) -> Self {
        let kinds = KindSet::default();
        Self { how, kinds }
    }
}

/// Writes `text` as JSON of the type that `schema` demands; `unknown` is the schema of a list's items if it has none. What
/// nests deeper than `max_depth` is malformed. Linear.
pub(super) fn typed(
    text: &str,
    schema: &Schema,
    unknown: &Schema,
    max_depth: u32,
    out: &mut String,
) -> Typed {
    let from = out.len();
    let typed = any_depth(text, schema, unknown, max_depth, out);
    let deep = typed.how == Coerced::Fits && nests_deeper(&out[from..], max_depth);
    match deep {
        true => {
            out.truncate(from);
            too_deep()
        }
        false => typed,
    }
}

/// A value that nests too deep.
fn too_deep() -> Typed {
    let how = Coerced::Malformed;
    let kinds = KindSet::from_iter([Kind::LimitDepth]);
    Typed { how, kinds }
}

/// Whether JSON nests deeper than `max`. Linear.
fn nests_deeper(json: &str, max: u32) -> bool {
    let (max, mut depth) = (max as usize, 0usize);
    // As many brackets close as open.
    if json.len() < 2 * max || !json.starts_with(['[', '{']) {
        return false;
    }
    let mut string = false;
    let mut bytes = json.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => string = !string,
            // What is escaped ends no string.
            b'\\' if string => drop(bytes.next()),
            b'[' | b'{' if !string => depth += 1,
            b']' | b'}' if !string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > max {
            return true;
        }
    }
    false
}

/// As [`typed`], whatever the depth.
fn any_depth(
    text: &str,
    schema: &Schema,
    unknown: &Schema,
    max_depth: u32,
    out: &mut String,
) -> Typed {
    let from = out.len();
    let how = coerce(text, schema, unknown, out);
    let bare = text.trim();
    let types = schema.types;
    let tuple = bare.starts_with('(') && types.has(Types::ARRAY) && !types.has(Types::STRING);
    let opens = tuple || bare.starts_with(['[', '{']);
    let slip = match how {
        Coerced::Fits => tuple || opens && out.len() == from + bare.len() && has_surrogate(bare),
        Coerced::Malformed => opens,
        Coerced::Mismatch => opens,
    };
    if !slip {
        return how.into();
    }
    let mut again = String::new();
    match forgiven(bare, max_depth) {
        Some((json, kinds))
            if !kinds.is_empty() && coerce(&json, schema, unknown, &mut again) == Coerced::Fits =>
        {
            out.truncate(from);
            out.push_str(&again);
            let how = Coerced::Fits;
            Typed { how, kinds }
        }
        _ => how.into(),
    }
}

/// Writes a text that is declared to be JSON. Returns `None` if it is not.
pub(super) fn declared_json(text: &str, max_depth: u32, out: &mut String) -> Option<Typed> {
    if !is_json(text) {
        return None;
    }
    if nests_deeper(text, max_depth) {
        return Some(too_deep());
    }
    let mended = match has_surrogate(text) {
        true => forgiven(text, max_depth),
        false => None,
    };
    let (json, kinds) = match &mended {
        Some((json, kinds)) => (json.as_str(), *kinds),
        None => (text, KindSet::default()),
    };
    out.push_str(json);
    let how = Coerced::Fits;
    Some(Typed { how, kinds })
}

/// Whether a text may contain escapes of surrogates, which must be checked in pairs.
fn has_surrogate(text: &str) -> bool {
    let digits = |at: usize| text.as_bytes().get(at + 2..at + 4);
    text.match_indices("\\u")
        .filter_map(|(at, _)| digits(at))
        .any(|two| matches!(two, [b'd' | b'D', b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F']))
}

/// Writes a list from the occurrences of a repeated parameter.
pub(super) fn repeated(
    items: &[String],
    schema: &Schema,
    max_depth: u32,
    out: &mut String,
) -> Typed {
    each(items, schema, out, |item, out| {
        Ok(typed(item, schema, &Schema::UNKNOWN, max_depth, out))
    })
    .unwrap_or(Coerced::Malformed.into())
}

/// Whether an occurrence of a repeated parameter is all of the list, and not an item that `schema` describes: it is written twice.
pub(super) fn is_whole_list(item: &str, schema: &Schema) -> bool {
    let listed = schema.types != Types::ANY && schema.types.has(Types::ARRAY);
    let item = item.trim();
    let list = item.starts_with('[') && item.ends_with(']');
    !listed && (list || item.starts_with('(') && item.ends_with(')'))
}

/// Writes a list of items that `schema` describes with `write`; the worst item decides the outcome.
pub(super) fn each(
    items: &[String],
    schema: &Schema,
    out: &mut String,
    mut write: impl FnMut(&str, &mut String) -> Result<Typed, Kind>,
) -> Result<Typed, Kind> {
    let mut worst = Typed::from(Coerced::Fits);
    if items.iter().any(|item| is_whole_list(item, schema)) {
        worst.kinds.insert(Kind::DuplicateParam);
    }
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        let value = write(item, out)?;
        worst.kinds.extend(value.kinds);
        match value.how {
            Coerced::Fits => {}
            Coerced::Mismatch => worst.how = Coerced::Mismatch,
            Coerced::Malformed => return Ok(value),
        }
    }
    out.push(']');
    Ok(worst)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hints::Tools;

    fn read(types: &str, text: &str) -> (String, Typed) {
        let tools = format!(
            r#"[{{"name": "t", "parameters": {{"properties": {{"p": {{"type": {types}}}}}}}}}]"#
        );
        let tools = Tools::from_json(&tools).expect("tools");
        let param = tools.get("t").and_then(|tool| tool.param("p"));
        let mut out = String::new();
        let schema = &param.expect("p").schema;
        let value = typed(text, schema, &Schema::UNKNOWN, 64, &mut out);
        (out, value)
    }

    #[test]
    fn python_output_is_read_where_the_schema_demands_a_type() {
        use Kind::{LoneSurrogate, RepairedComma, RepairedLiteral, RepairedQuotes};
        let cases: [(&str, &str, &str, &[Kind]); 9] = [
            (
                r#""array""#,
                "['a', 'b']",
                r#"["a", "b"]"#,
                &[RepairedQuotes],
            ),
            (
                r#""object""#,
                "{'k': None,}",
                r#"{"k": null}"#,
                &[RepairedComma, RepairedQuotes, RepairedLiteral],
            ),
            // The schema's own interpretation of null.
            (r#"["integer", "null"]"#, "None", "null", &[]),
            (
                r#""array""#,
                r#"["\ud83d"]"#,
                r#"["\ufffd"]"#,
                &[LoneSurrogate],
            ),
            (
                r#""array""#,
                r#"["\ud83d\udea2"]"#,
                r#"["\ud83d\udea2"]"#,
                &[],
            ),
            (r#""string""#, "['a']", r#""['a']""#, &[]),
            (r#"["string", "null"]"#, "None", r#""None""#, &[]),
            (r#""array""#, "[1, 2]", "[1, 2]", &[]),
            (r#""integer""#, "007", r#""007""#, &[]),
        ];
        for (types, text, json, kinds) in cases {
            let (out, value) = read(types, text);
            assert_eq!(out, json, "{text}");
            assert_eq!(value.kinds.iter().collect::<Vec<_>>(), kinds, "{text}");
        }
        let broken = read(r#""array""#, "['a', nope").1;
        assert_eq!(broken, Coerced::Malformed.into());
    }
}
