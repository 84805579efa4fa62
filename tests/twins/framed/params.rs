//! Parameters between tags.

use serde_json::{Map, Value};

use crate::naive::schema::{self, Typed};

use super::pattern::{self, Fit, Pattern, Walk, literal, pattern, walk};
use super::spec::Param;
use super::{Place, Stop, Twin, spaced};

/// Where a value ends.
struct Value_ {
    text: String,
    /// Where the block goes on.
    next: usize,
}

impl<'a> Twin<'a> {
    /// Reads the parameters of a call and what ends it.
    pub(super) fn params(
        &mut self,
        index: usize,
        fit: &Fit<Place>,
        inside: bool,
    ) -> Result<(usize, Option<Fit<Place>>), Stop> {
        let unit = &self.spec.units[index];
        let param = self.spec.param.as_ref().expect("params have their table");
        let name = self.tool(index, fit)?;
        let mut arguments = Map::new();
        if let Some(tag) = fit.holes.get("tag") {
            let (list, closed) = pattern::attributes(tag);
            if unit.attributes {
                for (key, value) in list.into_iter().filter(|(key, _)| *key != unit.name) {
                    self.set(&name, &mut arguments, key, value, None, fit.end)?;
                }
            }
            if closed {
                self.out.calls.push((name, Value::Object(arguments)));
                return Ok((fit.end, None));
            }
        }
        let stray: Vec<Pattern> = param.close.iter().map(|close| pattern(close)).collect();
        let mut places = self.tail(index);
        places.extend(param.open.iter().map(|p| (p, Place::Param)));
        let all: Vec<(Pattern, Place)> = places
            .iter()
            .map(|(p, place)| ((*p).clone(), *place))
            .chain(stray.into_iter().map(|p| (p, Place::Stray)))
            .collect();
        let all: Vec<(&Pattern, Place)> = all.iter().map(|(p, place)| (p, *place)).collect();
        let mut at = fit.end;
        loop {
            let fit = self.walk_on(at, &all)?;
            match fit.action {
                Place::Stray => at = fit.end,
                Place::Param => at = self.param(&name, &mut arguments, param, &fit, &all)?,
                Place::Close | Place::End => {
                    self.out.calls.push((name, Value::Object(arguments)));
                    return self.behind(at, fit, inside);
                }
                // The call is void: it has no end.
                _ => return self.behind(at, fit, inside),
            }
        }
    }

    fn param(
        &mut self,
        tool: &str,
        arguments: &mut Map<String, Value>,
        param: &Param,
        fit: &Fit<Place>,
        all: &[(&Pattern, Place)],
    ) -> Result<usize, Stop> {
        let (attributes, closed) = match fit.holes.get("tag") {
            Some(tag) => pattern::attributes(tag),
            None => (vec![], false),
        };
        let attribute = |name: &str| {
            let found = attributes.iter().find(|(key, _)| key == name);
            found.map(|(_, value)| value.clone())
        };
        let key = fit.holes.get("key").cloned();
        let key = key.or_else(|| attribute(&param.name)).unwrap_or_default();
        let key = key.trim().to_owned();
        let told = param.hint.as_ref().and_then(|hint| match &hint.attribute {
            Some(name) => attribute(name),
            None => fit.holes.get("type").cloned(),
        });
        let value = if closed {
            Value_ {
                text: String::new(),
                next: fit.end,
            }
        } else {
            self.value(param, fit.end, all)?
        };
        if !key.is_empty() {
            self.set(tool, arguments, key, value.text, told, value.next)?;
        }
        Ok(value.next)
    }

    /// Gives an argument its type.
    fn set(
        &self,
        tool: &str,
        arguments: &mut Map<String, Value>,
        key: String,
        text: String,
        told: Option<String>,
        at: usize,
    ) -> Result<(), Stop> {
        let param = self.spec.param.as_ref().expect("params have their table");
        let hint = param.hint.as_ref();
        let json = |text: &str| {
            let value = serde_json::from_str::<Value>(text.trim()).ok();
            value.unwrap_or_else(|| Value::String(text.to_owned()))
        };
        let schema = schema::tool(self.tools, tool)
            .map(schema::params)
            .and_then(|list| list.into_iter().find(|(name, _)| *name == key))
            .map(|(_, schema)| schema);
        let value = match (hint, told) {
            (Some(hint), Some(word)) if hint.text.contains(&word) => Value::String(text),
            (Some(_), Some(_)) => json(&text),
            (Some(hint), None) if hint.json => json(&text),
            (_, _) => {
                let text = if param.frame == "trim" {
                    text.trim()
                } else {
                    &text
                };
                match schema::typed(text, schema) {
                    Typed::Fits(value) | Typed::Mismatch(value) => value,
                    Typed::Malformed => return Err(Stop::Malformed(at)),
                }
            }
        };
        if schema::is_list(schema)
            && let Some(Value::Array(have)) = arguments.get_mut(&key)
        {
            match value {
                Value::Array(more) => have.extend(more),
                one => have.push(one),
            }
            return Ok(());
        }
        arguments.insert(key, value);
        Ok(())
    }

    /// The value that begins at `from`.
    fn value(&self, param: &Param, from: usize, all: &[(&Pattern, Place)]) -> Result<Value_, Stop> {
        let input = self.input;
        for at in (from..input.len()).filter(|at| input.is_char_boundary(*at)) {
            let close = param
                .close
                .iter()
                .find(|c| input[at..].starts_with(c.as_str()));
            if let Some(close) = close {
                let next = at + close.len();
                let blanks = self.unspaced(next) - next;
                let fits = blanks <= param.confirm
                    && match self.walk_on(next, all) {
                        Ok(_) => true,
                        Err(Stop::Cut) => return Err(Stop::Cut),
                        Err(_) => false,
                    };
                if fits || param.confirm == 0 {
                    let text = framed(param, &input[from..at]);
                    return Ok(Value_ { text, next });
                }
            }
            let line = input[..at].ends_with('\n');
            if param.line && line && at > from {
                let open = spaced(&param.open[0]);
                let next = self.unspaced(at);
                let begins = next - at <= 3
                    && input[next..].starts_with(&literal(&param.open[0]))
                    && matches!(walk(input, at, &[(&open, ())]), Walk::Fits(_));
                if begins {
                    let text = framed(param, &input[from..at]);
                    return Ok(Value_ { text, next: at });
                }
            }
        }
        Err(Stop::Cut)
    }
}

/// What of the text between the tags is the value.
fn framed(param: &Param, text: &str) -> String {
    let inner = match param.frame.as_str() {
        "newline" => match text.strip_prefix('\n') {
            Some(rest) => {
                let end = rest
                    .strip_suffix("\r\n")
                    .or_else(|| rest.strip_suffix('\n'));
                end.unwrap_or(rest)
            }
            None => text,
        },
        _ => text,
    };
    inner.to_owned()
}
