//! Calls with braces: `call:f{key:<|"|>text<|"|>,n:1,o:{..}}`.

use toolglot::json::{Map, Value};

use crate::naive::schema::{self, Typed};

use super::json::{Fault, Reader};
use super::spec::Braces;

/// Reads the only call of a payload.
pub fn call(
    reader: &mut Reader<'_>,
    rules: &Braces,
    tools: Option<&Value>,
) -> Result<(String, Value), Fault> {
    reader.blanks();
    for byte in rules.prefix.bytes() {
        reader.take(byte)?;
    }
    let from = reader.at;
    loop {
        match reader.peek() {
            Some(b'{') => break,
            // Chosen: no name contains a character with a meaning in braces.
            Some(
                0..0x20 | b'<' | b'>' | b'"' | b'\'' | b'}' | b'[' | b']' | b'(' | b')' | b',',
            )
            | None => return Err(reader.fault()),
            Some(_) => reader.at += 1,
        }
    }
    let name = crate::naive::name_of(&reader.input[from..reader.at]);
    let name = name.map_err(|_| reader.fault())?;
    let tool = schema::tool(tools, &name);
    let params = tool.map(schema::params).unwrap_or_default();
    let mut braces = Read { rules };
    let arguments = braces.object(reader, &|key| {
        let known = params.iter().find(|(name, _)| *name == key);
        known.map(|(_, schema)| *schema)
    })?;
    Ok((name, arguments))
}

struct Read<'s> {
    rules: &'s Braces,
}

impl Read<'_> {
    /// `schema` gives the types of the members, for the top level only.
    fn object<'v>(
        &mut self,
        reader: &mut Reader<'_>,
        schema: &dyn Fn(&str) -> Option<&'v Value>,
    ) -> Result<Value, Fault> {
        let mut out = Map::new();
        reader.items(b'{', b'}', |reader| {
            let key = self.key(reader)?;
            reader.blanks();
            reader.take(b':')?;
            let value = self.value(reader, schema(&key))?;
            out.insert(key, value);
            Ok(())
        })?;
        Ok(Value::Object(out))
    }

    fn key(&self, reader: &mut Reader<'_>) -> Result<String, Fault> {
        if reader.peek() == Some(b'"') {
            return reader.string();
        }
        if let Some(text) = self.delimited(reader)? {
            return Ok(text);
        }
        let rest = &reader.input[reader.at..];
        // Chosen: a key without quotes is a word of letters, digits and the characters of paths and addresses.
        let part = |c: char| c.is_ascii_alphanumeric() || !c.is_ascii() || "_$-./@+".contains(c);
        let len = rest.find(|c| !part(c)).unwrap_or(rest.len());
        if len == 0 {
            // An incomplete delimiter breaks where it stops matching.
            let begun = |delim: &String| {
                let same = delim.bytes().zip(rest.bytes()).take_while(|(a, b)| a == b);
                same.count()
            };
            reader.at += self.rules.delimiters.iter().map(begun).max().unwrap_or(0);
            return Err(reader.fault());
        }
        reader.at += len;
        Ok(rest[..len].to_owned())
    }

    /// The text between delimiters, if one begins here.
    fn delimited(&self, reader: &mut Reader<'_>) -> Result<Option<String>, Fault> {
        let rest = &reader.input[reader.at..];
        let mut delims = self.rules.delimiters.iter();
        let Some(delim) = delims.find(|delim| rest.starts_with(delim.as_str())) else {
            return Ok(None);
        };
        let (text, _) = rest[delim.len()..]
            .split_once(delim.as_str())
            .ok_or(Fault::Cut)?;
        reader.at += delim.len() * 2 + text.len();
        Ok(Some(text.to_owned()))
    }

    fn value(&mut self, reader: &mut Reader<'_>, schema: Option<&Value>) -> Result<Value, Fault> {
        reader.blanks();
        match reader.peek() {
            Some(b'{') => return self.object(reader, &|_| None),
            Some(b'[') => {
                let mut out = vec![];
                reader.items(b'[', b']', |reader| {
                    out.push(self.value(reader, None)?);
                    Ok(())
                })?;
                return Ok(Value::Array(out));
            }
            Some(b',' | b':' | b'}' | b']' | 0..0x20) | None => return Err(reader.fault()),
            Some(_) => {}
        }
        let quoted = match reader.peek() {
            Some(b'"') => Some(reader.string()?),
            _ => self.delimited(reader)?,
        };
        if let Some(text) = quoted {
            if !self.rules.all_delimited {
                return Ok(Value::String(text));
            }
            return Self::typed(reader, &text, schema);
        }
        let from = reader.at;
        let value = self.bare(reader, schema)?;
        // Chosen: where all values are delimited, text that begins like a delimiter has the type of delimited text.
        let mut delims = self.rules.delimiters.iter();
        let begins = delims.any(|delim| reader.input[from..].starts_with(&delim[..1]));
        match value {
            Value::String(text) if begins && self.rules.all_delimited => {
                Self::typed(reader, &text, schema)
            }
            other => Ok(other),
        }
    }

    fn typed(reader: &Reader<'_>, text: &str, schema: Option<&Value>) -> Result<Value, Fault> {
        match schema::typed(text, schema) {
            Typed::Fits(value) | Typed::Mismatch(value) => Ok(value),
            Typed::Malformed => Err(Fault::At(reader.at)),
        }
    }

    /// A value without quotes: JSON if it is a JSON scalar, otherwise text. It is always text if the schema asks for text.
    fn bare(&self, reader: &mut Reader<'_>, schema: Option<&Value>) -> Result<Value, Fault> {
        let rest = &reader.input[reader.at..];
        let closers = self.rules.closers.iter();
        let closer = closers.filter_map(|close| rest.find(close.as_str())).min();
        let end = rest.find([',', '}', ']']);
        if let Some(at) = closer.filter(|at| end.is_none_or(|end| *at < end)) {
            return Err(Fault::At(reader.at + at));
        }
        let len = end.ok_or(Fault::Cut)?;
        reader.at += len;
        let text = rest[..len].trim_end_matches([' ', '\t', '\n', '\r']);
        let types = schema.map(schema::types).unwrap_or_default();
        let literal = ["integer", "number", "boolean", "null"];
        let is_text = types.contains("string") && !literal.iter().any(|name| types.contains(*name));
        let json = toolglot_testkit::vectors::value(text).ok();
        let json = json.filter(|value| !is_text && !value.is_string());
        Ok(json.unwrap_or_else(|| Value::String(text.to_owned())))
    }
}
