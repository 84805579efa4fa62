//! The parts of a call: the tool that its opener names, and its payload.

use crate::naive::schema;
use toolglot::json::{Map, Value};

use super::json::{Fault, Reader};
use super::pattern::{self, Fit};
use super::{Place, Stop, Twin, braces, python};

impl<'a> Twin<'a> {
    /// The tool that an opener names.
    pub(super) fn tool(&self, index: usize, fit: &Fit<Place>) -> Result<String, Stop> {
        let unit = &self.spec.units[index];
        let attributes = fit.holes.get("tag").map(|tag| pattern::attributes(tag).0);
        let raw = match (attributes, fit.holes.get("name"), fit.holes.get("id")) {
            (Some(list), ..) => {
                let found = list.into_iter().find(|(key, _)| *key == unit.name);
                found.map(|(_, value)| value).unwrap_or_default()
            }
            (None, Some(name), _) => name.clone(),
            (None, None, Some(id)) => self.tool_of(id),
            (None, None, None) => String::new(),
        };
        let name = crate::naive::name_of(&raw).map_err(|_| Stop::Malformed(fit.end))?;
        let known = |name: &str| schema::tool(self.tools, name).is_some();
        let once = match name.split_once(&self.spec.doubled) {
            Some((head, tail)) if head == tail && known(head) && !known(&name) => head.to_owned(),
            _ => return Ok(name),
        };
        Ok(once)
    }

    pub(super) fn tool_of(&self, id: &str) -> String {
        if schema::tool(self.tools, id).is_some() {
            return id.to_owned();
        }
        for (before, between) in &self.spec.ids {
            let Some(rest) = id.strip_prefix(before.as_str()) else {
                continue;
            };
            if between.is_empty() {
                return rest.to_owned();
            }
            if let Some((name, number)) = rest.rsplit_once(between.as_str())
                && !number.is_empty()
                && number.bytes().all(|b| b.is_ascii_digit())
            {
                return name.to_owned();
            }
        }
        id.to_owned()
    }

    pub(super) fn payload(&mut self, index: usize, fit: &Fit<Place>) -> Result<usize, Stop> {
        let unit = &self.spec.units[index];
        let mut reader = Reader {
            input: self.input,
            at: fit.end,
            python: unit.payload == "json" && self.spec.json.python,
        };
        match unit.payload.as_str() {
            "arguments" => {
                let name = self.tool(index, fit)?;
                reader.blanks();
                let from = reader.at;
                let value = match reader.peek() {
                    Some(b'{' | b'"' | b'n') => reader.value()?,
                    Some(_) if !unit.close.is_empty() => {
                        let tail = self.tail(index);
                        match self.walk(from, &tail)?.action {
                            Place::Close | Place::End => Value::Null,
                            // Left open: what else comes in place of the arguments.
                            _ => {
                                self.out.open = true;
                                return Err(reader.fault().into());
                            }
                        }
                    }
                    _ => return Err(reader.fault().into()),
                };
                self.out.calls.push((name, object(value, from)?));
            }
            "braces" => {
                let (name, arguments) = braces::call(&mut reader, &self.spec.braces, self.tools)?;
                self.out.calls.push((name, arguments));
            }
            "python" if self.spec.python.json && lists_objects(&reader) => {
                reader.blanks();
                reader.objects(|reader| self.json_call(reader))?;
            }
            "python" if self.spec.python.json && is_object(&reader) => {
                reader.blanks();
                self.json_call(&mut reader)?;
            }
            "python" => {
                let calls = &mut self.out.calls;
                let tools = self.tools;
                python::calls(&mut reader, &self.spec.python, tools, |name, arguments| {
                    calls.push((name.to_owned(), Value::Object(arguments)));
                })?;
            }
            _ => {
                reader.blanks();
                if reader.peek() == Some(b'[') {
                    reader.objects(|reader| self.json_call(reader))?;
                } else {
                    self.json_call(&mut reader)?;
                }
            }
        }
        Ok(reader.at)
    }

    /// An object that names its tool.
    pub(super) fn json_call(&mut self, reader: &mut Reader<'_>) -> Result<(), Fault> {
        let rules = &self.spec.json;
        let mut name = None;
        // The arguments and their position.
        let mut arguments: Option<(Value, usize)> = None;
        // Where the last member of the object ended.
        let mut whole = 0;
        let calls = &mut self.out.calls;
        let mut take = |reader: &mut Reader<'_>, key: String| {
            let from = reader.at;
            if rules.name_is_key {
                // Each member is a call of its own.
                let name = crate::naive::name_of(&key).map_err(|_| Fault::At(from))?;
                let value = match (reader.peek(), reader.value()) {
                    (Some(first), Err(Fault::Cut)) if !matches!(first, b'{' | b'"' | b'n') => {
                        return Err(Fault::At(from));
                    }
                    (_, value) => value?,
                };
                calls.push((name, object(value, from)?));
                return Ok(());
            }
            // With two names, or arguments twice, it is not a call.
            let again = rules.name.contains(&key) && name.is_some()
                || rules.arguments.contains(&key) && arguments.is_some();
            if again {
                return Err(Fault::At(from));
            }
            let value = match (reader.peek(), reader.value()) {
                // Only an object, a string or null can become arguments.
                (Some(first), Err(Fault::Cut))
                    if name.is_some()
                        && rules.arguments.contains(&key)
                        && !matches!(first, b'{' | b'"' | b'n') =>
                {
                    return Err(Fault::At(from));
                }
                (_, value) => value?,
            };
            if rules.name.contains(&key) {
                let text = value.as_str().ok_or(Fault::At(from))?;
                name = Some(crate::naive::name_of(text).map_err(|_| Fault::At(reader.at))?);
            } else if rules.arguments.contains(&key) {
                arguments = Some((value, from));
            }
            // Arguments are converted once the tool is known.
            if name.is_some()
                && let Some((value, from)) = arguments.take()
            {
                arguments = Some((object(value, from)?, from));
            }
            Ok(())
        };
        let may = |key: &str| !rules.name_is_key || crate::naive::name_of(key).is_ok();
        let read = reader.members_named(may, |reader, key| {
            match rules.wrapper.contains(&key) && reader.peek() == Some(b'{') {
                true => reader.members(&mut take)?,
                false => take(reader, key)?,
            }
            whole = reader.at;
            Ok(())
        });
        // At the end of the input only its bracket may be missing.
        let lacks = read == Err(Fault::Cut) && reader.input[whole..].trim().is_empty();
        if rules.name_is_key || !(lacks && name.is_some() && arguments.is_some()) {
            read?;
        }
        if rules.name_is_key {
            return Ok(());
        }
        let name = name.ok_or(Fault::At(reader.at))?;
        let arguments = arguments.map_or_else(|| Value::Object(Map::new()), |(value, _)| value);
        self.out.calls.push((name, arguments));
        read
    }
}

/// Whether a list that starts with an object begins there.
fn lists_objects(reader: &Reader<'_>) -> bool {
    let list = reader.input[reader.at..].trim_start().strip_prefix('[');
    list.is_some_and(|list| list.trim_start().starts_with('{'))
}

fn is_object(reader: &Reader<'_>) -> bool {
    reader.input[reader.at..].trim_start().starts_with('{')
}

/// Arguments: an object, a string that holds one, or null.
fn object(value: Value, at: usize) -> Result<Value, Fault> {
    match value {
        Value::Object(_) => Ok(value),
        Value::Null => Ok(Value::Object(Map::new())),
        Value::String(text) if text.trim().is_empty() => Ok(Value::Object(Map::new())),
        Value::String(text) => {
            let inner = toolglot_testkit::vectors::value(&text).ok();
            inner.filter(Value::is_object).ok_or(Fault::At(at))
        }
        _ => Err(Fault::At(at)),
    }
}
