//! What the value of a parameter between tags is searched for.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use toolglot_scan::tag::{self, Room};
use toolglot_scan::{Needle, path};

use super::framed::written;
use super::lazy::once;
use super::spec;

/// What ends a value, or should not be in it.
#[derive(Clone, Debug)]
pub(crate) struct Marks {
    pub closers: Vec<Needle>,
    /// An opener at the start of a line, which also ends the value.
    pub line: Option<Needle>,
    /// What begins a parameter.
    pub start: Option<ParamStart>,
    /// The tag that ends the opener of a parameter.
    pub again: Option<Needle>,
    /// What begins an element that the closer of the value would close.
    pub element: Option<ParamStart>,
}

/// What begins a parameter: the part that all parameters share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ParamStart {
    /// The shared part, up to where a tag may hold what it does not spell out. White space before that point is allowed.
    pub needle: Needle,
    pub then: Then,
}

/// What must follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Then {
    Any,
    /// White space, since the tag has attributes.
    Blank,
    /// Another byte, since closers begin like it.
    Not(u8),
    /// This byte, which ends the tag, or white space and attributes before it.
    End(u8),
}

impl Marks {
    /// For parameters that a description spells this way. `halves` are more closers; `fix` is the suffix of the block's
    /// markers.
    fn new(spec: &spec::Param, halves: &[String], fix: &str, key: &str) -> Self {
        let closer = |close: &String| Needle::tag(written(close, fix, key).as_bytes());
        let line = || {
            let open = spec.open.first().and_then(|open| path::literal(open).ok());
            Needle::new(format!("\n{}", open.unwrap_or_default()).into_bytes())
        };
        Self {
            closers: spec.close.iter().chain(halves).map(closer).collect(),
            line: spec.line.then(line),
            start: ParamStart::new(spec, fix, key),
            again: last_tag(spec, fix),
            element: spec
                .close
                .first()
                .and_then(|close| ParamStart::element(&written(close, fix, key))),
        }
    }

    /// Whether they depend on the name of the parameter.
    fn keyed(spec: &spec::Param) -> bool {
        let open = spec.open.first().and_then(|open| path::literal(open).ok());
        let any = open.is_none_or(|literal| literal.len() <= 1);
        any || spec.close.iter().any(|close| close.contains("$key"))
    }
}

/// The marks of a description, made when a value is first searched for them, and shared by all values if they depend
/// neither on the name of the parameter nor on a suffix.
#[derive(Debug, Default)]
pub(crate) struct SharedMarks(OnceLock<Option<Marks>>);

impl SharedMarks {
    /// Those of one value. The description must be the same each time.
    pub fn of(&self, spec: &spec::Param, halves: &[String], fix: &str, key: &str) -> Marks {
        let make = || (!Marks::keyed(spec)).then(|| Marks::new(spec, halves, "", ""));
        match once(&self.0, make) {
            Some(shared) if fix.is_empty() => shared.clone(),
            _ => Marks::new(spec, halves, fix, key),
        }
    }
}

impl ParamStart {
    /// For parameters that a description spells this way. `fix` is the suffix of the block's markers, `key` the open
    /// parameter.
    pub fn new(spec: &spec::Param, fix: &str, key: &str) -> Option<Self> {
        let open = spec.open.first()?.replace("$x", fix);
        let literal = path::literal(&open).ok()?;
        let after = open.get(literal.len()..).unwrap_or_default();
        let close = spec
            .close
            .first()
            .and_then(|close| close.strip_prefix(&literal));
        let next = close.and_then(|rest| rest.bytes().next());
        let then = match next {
            _ if after.starts_with("$tag") => Then::Blank,
            Some(byte) => Then::Not(byte),
            None => Then::Any,
        };
        // A tag named after its parameter looks like any other tag, unless it is the parameter's own.
        let (text, then) = match literal.len() {
            0 => return None,
            1 => (open.replace("$key", key), Then::Any),
            _ => (literal, then),
        };
        let mut text = text.into_bytes();
        let mut then = then;
        let last = tag::rooms(&text)
            .filter(|at| tag::room(&text[..*at], &text[*at..]) == Some(Room::Attributes))
            .last();
        if let Some(at) = last.filter(|_| then == Then::Any) {
            then = Then::End(text[at]);
            text.truncate(at);
        }
        Some(Self {
            needle: Needle::opener(&text),
            then,
        })
    }

    /// What begins an element that a tag closes.
    fn element(close: &str) -> Option<Self> {
        let name = close.strip_prefix("</")?.strip_suffix('>')?;
        let plain = !name.contains(['<', '>']);
        plain.then(|| Self {
            needle: Needle::new(format!("<{name}").into_bytes()),
            then: Then::End(b'>'),
        })
    }

    /// The same after an opener of a call: there any tag is a parameter's, where each is named after one.
    pub fn after_opener(spec: &spec::Param, fix: &str, key: &str) -> Option<Self> {
        let own = Self::new(spec, fix, key)?;
        let open = spec.open.first()?.replace("$x", fix);
        let any = path::literal(&open).is_ok_and(|literal| literal.len() == 1);
        Some(match (any, open.as_bytes().first()) {
            (true, Some(first)) => Self {
                needle: Needle::new(vec![*first]),
                then: Then::Not(b'/'),
            },
            _ => own,
        })
    }
}

/// The tag that ends the opener of parameters that a description spells this way, if it is the opener's own. `fix` is the
/// suffix of the block's markers.
pub(crate) fn last_tag(spec: &spec::Param, fix: &str) -> Option<Needle> {
    let open = spec.open.first()?.replace("$x", fix);
    let close = spec.close.first()?;
    let tag = &open[open.rfind('<')?..];
    let whole = tag.ends_with('>') && tag.len() > 2 && !tag.contains(['$', '=', ' ']);
    // A tag that follows a parameter's name within another marker is not an opener by itself.
    let own = whole && !tag.starts_with("</") && close.starts_with('<') && open.len() > tag.len();
    own.then(|| Needle::new(tag.as_bytes().to_vec()))
}

#[cfg(test)]
mod tests {
    use crate::dialect::{DialectSet, Family};

    use super::*;

    /// Shared marks must be those that each value would get.
    #[test]
    fn shared_marks_do_not_depend_on_the_parameter() {
        let set = DialectSet::any();
        let mut shared = 0;
        let framed = set
            .inner
            .dialects
            .iter()
            .filter_map(|one| match &one.family {
                Family::Framed(framed) => Some(framed),
                _ => None,
            });
        for framed in framed {
            for (unit, table) in framed.units.iter().enumerate() {
                let Some(spec) = framed.params(unit as u16) else {
                    continue;
                };
                for key in ["city", "</", "$x", "深"] {
                    for fix in ["", "_7"] {
                        let own = Marks::new(spec, &table.close, fix, key);
                        let got = table.marks.of(spec, &table.close, fix, key);
                        assert_eq!(format!("{got:?}"), format!("{own:?}"), "{:?}", spec.open);
                    }
                }
                shared += usize::from(!Marks::keyed(spec));
            }
        }
        assert!(shared > 10, "{shared}");
    }
}
