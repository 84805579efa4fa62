//! Calls that are JSON, or Python's spelling of it.

use toolglot::json::Value as Json;

use super::super::asked::{KEYS, TOOLS, VALUES};
use super::super::draft::{Draft, Keys, Payload};
use super::super::text::pattern;
use super::Seen;
use super::frame::Frame;

/// Calls that are JSON, or Python's spelling of it, and name their tools.
impl Seen {
    pub(super) fn json(&self, one: &str, value: usize, out: &mut Vec<Draft>) {
        for start in openers(one, value) {
            let Some(found) = literal(&one[start..]) else {
                continue;
            };
            let end = start + found.len;
            let Some(keys) = (end > value).then(|| keys(&found.json, &self.id)).flatten() else {
                continue;
            };
            let list = found.json.is_array();
            let payload = Payload::Json {
                keys,
                python: found.python,
            };
            for frame in self.frames((start, end), self.two_literals()) {
                out.extend(json_units(&frame, &payload, list));
            }
            // A list holds all calls.
            if list || self.two.is_none() {
                let call = &one[start..end];
                let alone = Frame::new(self.lead(&one[..start], call), call, &one[end..]);
                out.splice(0..0, json_units(&alone, &payload, list));
            }
        }
    }

    /// The literals of both calls in the turn with two, if they are apart.
    fn two_literals(&self) -> Option<[(usize, usize); 2]> {
        let two = self.two.as_deref()?;
        let place = |name: &str, value: &str, from: usize| {
            let at = two.find(value)?;
            let start = openers(two, at).into_iter().find(|start| {
                *start >= from
                    && literal(&two[*start..]).is_some_and(|found| {
                        let text = &two[*start..*start + found.len];
                        text.contains(value) && text.contains(name)
                    })
            })?;
            Some((start, start + literal(&two[start..])?.len))
        };
        let first = place(TOOLS[0], VALUES[0], 0)?;
        let second = place(TOOLS[1], VALUES[1], first.1)?;
        Some([first, second])
    }
}

/// Calls in JSON, with a marker or without.
fn json_units(frame: &Frame, payload: &Payload, list: bool) -> Vec<Draft> {
    let open = pattern(&frame.open);
    if !open.is_empty() {
        return vec![frame.unit(open, payload.clone())];
    }
    // Without a marker the JSON itself must show a call, unless a section has begun.
    let bracket = match list {
        true => "$^[",
        false => "$^{",
    };
    let mut draft = frame.unit(bracket.to_owned(), payload.clone());
    if frame
        .section
        .as_ref()
        .is_some_and(|section| !section.open.is_empty())
    {
        return vec![draft];
    }
    draft.section = None;
    let separator = frame.separator().to_owned();
    draft.unit.more = Some(format!("$_{separator}$_{bracket}").replace("$_$_", "$_"));
    ["start", "line-start", "anywhere"]
        .into_iter()
        .map(|at| {
            let mut draft = draft.clone();
            draft.unit.bare = Some(at);
            draft
        })
        .collect()
}

/// Places before `end` at which a literal with brackets may begin, outermost first.
fn openers(text: &str, end: usize) -> Vec<usize> {
    let all = text[..end].char_indices();
    all.filter(|(_, c)| matches!(c, '{' | '['))
        .map(|(at, _)| at)
        .take(64)
        .collect()
}

/// A literal at the beginning of a text.
pub(super) struct Literal {
    json: Json,
    pub len: usize,
    pub python: bool,
}

pub(super) fn literal(text: &str) -> Option<Literal> {
    let len = balanced(text)?;
    let own = &text[..len];
    if let Ok(json) = own.parse::<Json>() {
        return Some(Literal {
            json,
            len,
            python: false,
        });
    }
    // The values that were asked for hold no quotes.
    let swapped = own.replace('\'', "\"");
    swapped.parse::<Json>().ok().map(|json| Literal {
        json,
        len,
        python: true,
    })
}

/// The length of a bracket with its contents.
fn balanced(text: &str) -> Option<usize> {
    let mut open = vec![];
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(mark), c) if c == mark => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '{') => open.push('}'),
            (None, '[') => open.push(']'),
            (None, '}' | ']') => {
                if open.pop() != Some(c) {
                    return None;
                }
                if open.is_empty() {
                    return Some(at + c.len_utf8());
                }
            }
            (None, _) => {}
        }
    }
    None
}

/// The keys of a call in JSON, if it is one.
fn keys(json: &Json, id: &str) -> Option<Keys> {
    let call = match json {
        Json::Array(list) => list.first()?,
        other => other,
    };
    let map = call.as_object()?;
    let arguments = |value: &Json| {
        let read = value.as_str().and_then(|text| text.parse::<Json>().ok());
        read.as_ref().unwrap_or(value).get(KEYS[0]).is_some()
    };
    if map.len() == 1 && map.get(TOOLS[0]).is_some_and(arguments) {
        return Some(Keys {
            name_is_key: true,
            ..Keys::default()
        });
    }
    let named = |value: &Json| value.as_str() == Some(TOOLS[0]);
    let key = |map: &toolglot::json::Map, fits: &dyn Fn(&Json) -> bool| {
        map.iter()
            .find(|(_, value)| fits(value))
            .map(|(key, _)| key.clone())
    };
    let id = key(map, &|value| value.as_str() == Some(id));
    if let (Some(name), Some(arguments)) = (key(map, &named), key(map, &arguments)) {
        return Some(Keys {
            name,
            arguments,
            id,
            ..Keys::default()
        });
    }
    let mut inner = map.iter().filter_map(|(wrapper, value)| {
        let map = value.as_object()?;
        Some(Keys {
            name: key(map, &named)?,
            arguments: key(map, &arguments)?,
            id: id.clone(),
            wrapper: Some(wrapper.clone()),
            name_is_key: false,
        })
    });
    inner.next()
}
