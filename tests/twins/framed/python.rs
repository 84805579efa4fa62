//! Calls as Python writes them, with positions. Literals only.

use toolglot::json::{Map, Value};

use crate::naive::schema::{self, Typed};

use super::Stop;
use super::json::{Fault, Reader};
use super::spec::Python;

/// Reads calls and passes each to `call` where its parenthesis closes. Returns their end.
pub fn calls(
    reader: &mut Reader<'_>,
    rules: &Python,
    tools: Option<&Value>,
    mut call: impl FnMut(&str, Map),
) -> Result<(), Stop> {
    reader.blanks();
    let list = match rules.brackets.as_str() {
        "required" => true,
        "optional" => reader.peek() == Some(b'['),
        _ => false,
    };
    if list {
        reader.take(b'[')?;
        reader.blanks();
        if reader.peek() == Some(b']') {
            reader.at += 1;
            return Ok(());
        }
    }
    let mut called = None;
    loop {
        reader.blanks();
        if let Some(end) = called.filter(|_| !list)
            && reader.input[reader.at + dotted(reader)..]
                .trim_ascii()
                .is_empty()
        {
            return Err(Stop::Word(end));
        }
        let name = name(reader)?;
        let name = match rules.method.as_str() {
            "" => name.as_str(),
            method => match name.strip_suffix(method) {
                Some(name) => name,
                None => return Err(reader.fault().into()),
            },
        };
        reader.blanks();
        let tool = schema::tool(tools, name).filter(|_| rules.quoted_typed);
        let arguments = arguments(reader, tool)?;
        call(name, arguments);
        if rules.brackets == "one" {
            return Ok(());
        }
        let end = reader.at;
        called = Some(end);
        reader.blanks();
        if list {
            match reader.peek() {
                Some(b',') => reader.at += 1,
                _ => {
                    reader.take(b']')?;
                    return Ok(());
                }
            }
            reader.blanks();
            if reader.peek() == Some(b']') {
                reader.at += 1;
                return Ok(());
            }
        } else {
            if reader.peek() == Some(b',') {
                reader.at += 1;
                reader.blanks();
            }
            match reader.peek() {
                Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80 => {}
                _ => {
                    reader.at = end;
                    return Ok(());
                }
            }
        }
    }
}

/// The number of bytes of the dotted name that comes next.
fn dotted(reader: &Reader<'_>) -> usize {
    let rest = &reader.input[reader.at..];
    let part = |c: char| {
        c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | ':') || !c.is_ascii()
    };
    rest.find(|c| !part(c)).unwrap_or(rest.len())
}

/// A dotted name.
fn name(reader: &mut Reader<'_>) -> Result<String, Fault> {
    let rest = &reader.input[reader.at..];
    let len = dotted(reader);
    if !rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii()) {
        return Err(reader.fault());
    }
    crate::naive::name_of(&rest[..len]).map_err(|_| reader.fault())?;
    reader.at += len;
    Ok(rest[..len].to_owned())
}

/// Keyword arguments. With a given tool, quoted text gets the type of its parameter.
fn arguments(reader: &mut Reader<'_>, tool: Option<&Value>) -> Result<Map, Fault> {
    let params = tool.map(schema::params).unwrap_or_default();
    let mut out = Map::new();
    listed(reader, b'(', b')', |reader| {
        let from = reader.at;
        let rest = &reader.input[from..];
        let len = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii()))
            .unwrap_or(rest.len());
        if len == 0 || rest.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(reader.fault());
        }
        reader.at += len;
        reader.blanks();
        reader.take(b'=')?;
        reader.blanks();
        let quoted = matches!(reader.peek(), Some(b'"' | b'\''));
        let value = value(reader)?;
        let known = params.iter().find(|(name, _)| *name == &rest[..len]);
        let value = match (known, &value) {
            (Some((_, schema)), Value::String(text)) if quoted => {
                match schema::typed(text, Some(schema)) {
                    Typed::Fits(value) | Typed::Mismatch(value) => value,
                    Typed::Malformed => return Err(Fault::At(reader.at)),
                }
            }
            _ => value,
        };
        out.insert(rest[..len].to_owned(), value);
        Ok(())
    })?;
    Ok(out)
}

/// Items between brackets; a trailing comma is allowed.
fn listed<'a>(
    reader: &mut Reader<'a>,
    open: u8,
    close: u8,
    mut item: impl FnMut(&mut Reader<'a>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    reader.take(open)?;
    loop {
        reader.blanks();
        if reader.peek() == Some(close) {
            reader.at += 1;
            return Ok(());
        }
        item(reader)?;
        reader.blanks();
        match reader.peek() {
            Some(b',') => reader.at += 1,
            Some(byte) if byte == close => {}
            _ => return Err(reader.fault()),
        }
    }
}

pub(super) fn value(reader: &mut Reader<'_>) -> Result<Value, Fault> {
    reader.blanks();
    match reader.peek() {
        Some(b'"' | b'\'') => string(reader).map(Value::String),
        Some(b'[') => {
            let mut out = vec![];
            listed(reader, b'[', b']', |reader| {
                out.push(value(reader)?);
                Ok(())
            })?;
            Ok(Value::Array(out))
        }
        Some(b'(') => {
            let mut out = vec![];
            listed(reader, b'(', b')', |reader| {
                out.push(value(reader)?);
                Ok(())
            })?;
            Ok(Value::Array(out))
        }
        Some(b'{') => {
            let mut out = Map::new();
            listed(reader, b'{', b'}', |reader| {
                let key = string(reader)?;
                reader.blanks();
                reader.take(b':')?;
                let value = value(reader)?;
                out.insert(key, value);
                Ok(())
            })?;
            Ok(Value::Object(out))
        }
        _ => word(reader),
    }
}

/// A number, `True` and the like.
fn word(reader: &mut Reader<'_>) -> Result<Value, Fault> {
    let rest = &reader.input[reader.at..];
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '+');
    let len = rest.find(|c| !part(c)).unwrap_or(rest.len());
    let found = match &rest[..len] {
        "True" | "true" => Some(Value::Bool(true)),
        "False" | "false" => Some(Value::Bool(false)),
        "None" | "null" => Some(Value::Null),
        text if text.ends_with('.') => serde_json::from_str(&format!("{text}0")).ok(),
        text => serde_json::from_str(text).ok().filter(Value::is_number),
    };
    if len == rest.len() {
        // A word that cannot become a literal has already broken the list.
        let literals = ["True", "true", "False", "false", "None", "null"];
        let letters = rest.starts_with(char::is_alphabetic);
        let grows = literals.iter().any(|word| word.starts_with(rest));
        return Err(if letters && !grows {
            reader.fault()
        } else {
            Fault::Cut
        });
    }
    match found {
        Some(value) => {
            reader.at += len;
            Ok(value)
        }
        None => Err(reader.fault()),
    }
}

pub(super) fn string(reader: &mut Reader<'_>) -> Result<String, Fault> {
    let quote = match reader.peek() {
        Some(quote @ (b'"' | b'\'')) => quote,
        _ => return Err(reader.fault()),
    };
    reader.at += 1;
    let mut out = String::new();
    loop {
        let Some(c) = reader.input[reader.at..].chars().next() else {
            return Err(Fault::Cut);
        };
        reader.at += c.len_utf8();
        if c == char::from(quote) {
            return Ok(out);
        }
        if c == '\n' {
            // A string ends at the end of its line, which is not part of it.
            return Err(Fault::At(reader.at - 1));
        }
        if c != '\\' {
            out.push(c);
            continue;
        }
        let Some(c) = reader.input[reader.at..].chars().next() else {
            return Err(Fault::Cut);
        };
        reader.at += c.len_utf8();
        match c {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'a' => out.push('\u{7}'),
            'b' => out.push('\u{8}'),
            'v' => out.push('\u{b}'),
            'f' => out.push('\u{c}'),
            '\n' => {}
            '\\' | '\'' | '"' => out.push(c),
            'x' => out.push(code(reader, 2, 16)?),
            'u' => out.push(code(reader, 4, 16)?),
            'U' => out.push(code(reader, 8, 16)?),
            '0'..='7' => {
                reader.at -= 1;
                let digits = reader.input.as_bytes()[reader.at..].iter().take(3);
                let len = digits.take_while(|b| (b'0'..=b'7').contains(b)).count();
                out.push(code(reader, len, 8)?);
            }
            // Python keeps unknown escapes.
            other => out.extend(['\\', other]),
        }
    }
}

/// A character by its number. A lone surrogate becomes the private-use character that represents it in compared values.
fn code(reader: &mut Reader<'_>, len: usize, radix: u32) -> Result<char, Fault> {
    let digits = reader.input.get(reader.at..reader.at + len);
    let number = digits.and_then(|digits| u32::from_str_radix(digits, radix).ok());
    let c = number.and_then(|number| match number {
        0xD800..0xE000 => char::from_u32(0xF_0000 + number - 0xD800),
        other => char::from_u32(other),
    });
    reader.at += len;
    c.ok_or(Fault::At(reader.at - len))
}
