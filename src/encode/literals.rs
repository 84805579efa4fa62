//! Payloads whose values carry their types: JSON, Python calls, calls with braces; and message headers.

use super::doc::{Doc, Node, Spelling, Style, Text, key, string};
use super::error::{Fault, Reason};
use super::framed::Block;
use super::text::{find_all, string as stays_string, texts};
use super::{Ctx, Item, fits};
use crate::body::precedes_names;
use crate::dialect::Framed;
use crate::dialect::channels::{ALL_TOOLS, MAX_HEADER, in_header};
use crate::dialect::spec::{Brackets, Channels, RouteKind};
use crate::hints::Types;

/// Calls as JSON objects, or as a list of them; with their ids on request.
pub(super) fn json(
    block: &mut Block<'_>,
    items: &[Item<'_>],
    list: bool,
    with_id: bool,
) -> Result<(), Fault> {
    let spec = &block.table.spec.json;
    let write = |spelling: Spelling| -> Result<String, Fault> {
        let style = if spec.python {
            Style::Python(spelling)
        } else {
            Style::Json(spelling)
        };
        // The name stays unescaped: openers may look for it.
        let plain = Style::Json(Spelling::Plain);
        let mut out = String::new();
        for (index, item) in items.iter().enumerate() {
            out.push_str(if index > 0 { "," } else { "" });
            out.push('{');
            let name = spelled(item.name, plain);
            short(block.ctx, &name)?;
            if spec.name_is_key {
                out.push_str(&name);
                out.push(':');
            } else {
                // Before the name: an id after the name is ignored.
                if let (Some(field), Some(id)) = (spec.id.first(), item.id.filter(|_| with_id)) {
                    let id = spelled(id, plain);
                    short(block.ctx, &id)?;
                    out.push_str(&format!("{}:{id},", spelled(field, plain)));
                }
                let member =
                    |list: &[String]| spelled(list.first().map_or("", String::as_str), plain);
                let (field, args) = (member(&spec.name), member(&spec.arguments));
                short(block.ctx, &field)?;
                short(block.ctx, &args)?;
                out.push_str(&format!("{field}:{name},{args}:"));
            }
            object(block.ctx, item, style, &mut out)?;
            out.push('}');
        }
        Ok(out)
    };
    let mut text = write(Spelling::Plain)?;
    // The parser ignores closers inside strings; other parsers do not.
    if block
        .table
        .closers
        .iter()
        .any(|close| text.contains(close.as_str()) && close.len() > 1)
    {
        text = write(Spelling::Marks)?;
    }
    block
        .text
        .push_str(&if list { format!("[{text}]") } else { text });
    Ok(())
}

/// Only the arguments.
pub(super) fn arguments(block: &mut Block<'_>, item: &Item<'_>) -> Result<(), Fault> {
    let python = block.table.spec.json.python;
    let style = |spelling| {
        if python {
            Style::Python(spelling)
        } else {
            Style::Json(spelling)
        }
    };
    let mut text = String::new();
    object(block.ctx, item, style(Spelling::Plain), &mut text)?;
    if block
        .table
        .closers
        .iter()
        .any(|close| text.contains(close.as_str()) && close.len() > 1)
    {
        text.clear();
        object(block.ctx, item, style(Spelling::Marks), &mut text)?;
    }
    block.text.push_str(&text);
    Ok(())
}

fn spelled(text: &str, style: Style<'_>) -> String {
    let mut out = String::new();
    string(&Text::Whole(text.to_owned()), style, &mut out);
    out
}

/// Checks that a string is short enough for a name or a key in its spelling.
fn short(ctx: &Ctx<'_>, spelled: &str) -> Result<(), Reason> {
    // Its quotes do not count.
    if spelled.len() > ctx.limits.max_name as usize + 2 {
        return Err(Reason::Limit { limit: "max_name" });
    }
    Ok(())
}

fn depth(ctx: &Ctx<'_>, doc: &Doc) -> Result<(), Reason> {
    if doc.depth(0) > ctx.limits.max_depth as usize {
        return Err(Reason::Limit { limit: "max_depth" });
    }
    Ok(())
}

/// The arguments as an object, member by member, so that a rejection identifies its value.
pub(super) fn object(
    ctx: &Ctx<'_>,
    item: &Item<'_>,
    style: Style<'_>,
    out: &mut String,
) -> Result<(), Fault> {
    depth(ctx, &item.doc)?;
    out.push('{');
    for (index, (name, node)) in item.arguments().enumerate() {
        let fault = |reason| Fault::at(name, reason);
        let (mut written, mut value) = (String::new(), String::new());
        key(&Text::Whole(name.to_owned()), style, &mut written);
        short(ctx, &written).map_err(fault)?;
        item.doc.write(node, style, &mut value);
        fits(ctx, &value).map_err(fault)?;
        out.push_str(if index > 0 { "," } else { "" });
        out.push_str(&format!("{written}:{value}"));
    }
    out.push('}');
    Ok(())
}

/// Calls in Python syntax.
pub(super) fn python(block: &mut Block<'_>, items: &[Item<'_>]) -> Result<(), Fault> {
    let spec = &block.table.spec.python;
    let style = Style::Python(Spelling::Plain);
    let mut calls = vec![];
    for item in items {
        depth(block.ctx, &item.doc)?;
        let starts = |b: u8| b.is_ascii_alphabetic() || b == b'_' || b >= 0x80;
        let goes = |b: u8| starts(b) || b.is_ascii_digit() || b == b'.' || b == b'-';
        if !item.name.bytes().next().is_some_and(starts) || !item.name.bytes().all(goes) {
            return Err(Reason::Name {
                why: "it cannot be the name of a function",
            }
            .into());
        }
        if item.name.len() + spec.method.len() > block.ctx.limits.max_name as usize {
            return Err(Reason::Limit { limit: "max_name" }.into());
        }
        let mut members = vec![];
        for (name, node) in item.arguments() {
            let fault = |reason| Fault::at(name, reason);
            let fits_key = |b: u8| starts(b) || b.is_ascii_digit();
            let odd = name.starts_with(precedes_names);
            if odd || !name.bytes().next().is_some_and(starts) || !name.bytes().all(fits_key) {
                let why = "it cannot be the name of an argument";
                return Err(fault(Reason::Key { why }));
            }
            if let (true, Node::String(text)) = (spec.quoted_typed, item.doc.node(node)) {
                // A lone surrogate becomes U+FFFD wherever it is read as text.
                let schema = item.schema(name);
                if !schema.types.plain() {
                    let text = text.whole().ok_or_else(|| fault(Reason::Surrogate))?;
                    stays_string(text, schema).map_err(fault)?;
                }
            }
            let mut value = String::new();
            item.doc.write(node, style, &mut value);
            fits(block.ctx, &value).map_err(fault)?;
            members.push(format!("{name}={value}"));
        }
        calls.push(format!(
            "{}{}({})",
            item.name,
            spec.method,
            members.join(", ")
        ));
    }
    let text = match spec.brackets {
        Brackets::Required | Brackets::Optional => format!("[{}]", calls.join(", ")),
        Brackets::Forbidden => format!("\n{}\n", calls.join("\n")),
        Brackets::One => calls.concat(),
    };
    block.text.push_str(&text);
    Ok(())
}

/// A call with braces.
pub(super) fn braces(block: &mut Block<'_>, item: &Item<'_>) -> Result<(), Fault> {
    let spec = &block.table.spec.braces;
    depth(block.ctx, &item.doc)?;
    let bad = |b: u8| b < 0x20 || b"<>\"'}{[](),".contains(&b);
    if item.name.bytes().any(bad) {
        return Err(Reason::Name {
            why: "brackets and commas would end it",
        }
        .into());
    }
    let delimiter = spec.delimiters.first().map_or("", String::as_str);
    let style = Style::Delimited(delimiter);
    let mut out = format!("{}{}{{", spec.prefix, item.name);
    for (index, (name, node)) in item.arguments().enumerate() {
        let fault = |reason| Fault::at(name, reason);
        let text = Text::Whole(name.to_owned());
        delimited(&text, delimiter).map_err(fault)?;
        let mut written = String::new();
        key(&text, style, &mut written);
        short(block.ctx, &written).map_err(fault)?;
        let value = brace_value(block, item, name, node, delimiter).map_err(fault)?;
        fits(block.ctx, &value).map_err(fault)?;
        out.push_str(if index > 0 { "," } else { "" });
        out.push_str(&format!("{written}:{value}"));
    }
    out.push('}');
    block.text.push_str(&out);
    Ok(())
}

fn brace_value(
    block: &Block<'_>,
    item: &Item<'_>,
    name: &str,
    node: usize,
    delimiter: &str,
) -> Result<String, Reason> {
    let schema = item.schema(name);
    if block.table.spec.braces.all_delimited {
        let typed = texts(&item.doc, node, schema, |text| {
            delimited(&Text::Whole(text.to_owned()), delimiter)?;
            Ok(format!("{delimiter}{text}{delimiter}"))
        });
        match (typed, item.doc.node(node)) {
            (Ok(text), _) => return Ok(text),
            (Err(reason), Node::String(_)) => return Err(reason),
            (Err(_), _) => {}
        }
    }
    let literals = [Types::INTEGER, Types::NUMBER, Types::BOOLEAN, Types::NULL];
    let text_only =
        schema.types.has(Types::STRING) && !literals.iter().any(|t| schema.types.has(*t));
    let literal = matches!(
        item.doc.node(node),
        Node::Null | Node::Bool(_) | Node::Number(_)
    );
    if text_only && literal {
        return Err(Reason::Coerced);
    }
    for text in item.doc.strings(node) {
        delimited(text, delimiter)?;
    }
    let mut out = String::new();
    item.doc.write(node, Style::Delimited(delimiter), &mut out);
    Ok(out)
}

/// Checks that a text between delimiters ends where it should.
fn delimited(text: &Text, delimiter: &str) -> Result<(), Reason> {
    let text = text.whole().ok_or(Reason::Surrogate)?;
    let whole = format!("{text}{delimiter}");
    if find_all(&whole, delimiter, false).next() != Some(text.len()) {
        return Err(Reason::Marker {
            marker: delimiter.to_owned(),
        });
    }
    Ok(())
}

/// Whether messages of the dialect name their tool in the header.
pub(super) fn names(ctx: &Ctx<'_>) -> bool {
    let channels = ctx.dialect.channels.as_ref();
    channels.is_some_and(|channels| {
        let mut routes = channels.spec.route.iter();
        routes.any(|route| route.kind == RouteKind::Call)
    })
}

/// The header of a message that is a call, or contains calls.
pub(super) fn header(
    table: &Framed,
    spec: &Channels,
    items: &[&Item<'_>],
) -> Result<String, Fault> {
    let Some(item) = items.first() else {
        return Ok(String::new());
    };
    let routes = spec.route.iter();
    for route in routes.filter(|r| matches!(r.kind, RouteKind::Call | RouteKind::Calls)) {
        let pick = |words: &Option<Vec<String>>, any: &str| {
            let word = words.as_ref().and_then(|words| {
                let plain = words.iter().find(|word| !word.is_empty() && *word != "*");
                plain.or(words.first()).cloned()
            });
            match word.as_deref() {
                Some("*") => any.to_owned(),
                word => word.unwrap_or_default().to_owned(),
            }
        };
        let before = table
            .spec
            .ids
            .first()
            .map_or("", |[before, _]| before.as_str());
        let recipients = match route.kind {
            RouteKind::Call => vec![format!("{before}{}", item.name)],
            _ => vec![
                pick(&route.recipient, item.name),
                pick(&route.recipient, ALL_TOOLS),
            ],
        };
        let end = route.end.as_ref().and_then(|ends| ends.first());
        let end = end.or(spec.end.first()).map_or("", String::as_str);
        for recipient in recipients {
            let part = |before: &str, word: &str| match (before, word) {
                ("", _) | (_, "") => String::new(),
                _ => format!("{before}{word}"),
            };
            let content = match part(&spec.content, &pick(&route.content, "json")) {
                content if content.is_empty() => content,
                content => format!(" {content}"),
            };
            let start = spec.start.first().map_or("", String::as_str);
            let who = if spec.recipient.is_empty() {
                ""
            } else {
                "assistant"
            };
            let header = format!(
                "{start}{who}{}{}{content}{end}",
                part(&spec.channel, &pick(&route.channel, "commentary")),
                part(&spec.recipient, &recipient),
            );
            let read = spec.read(&header);
            let named = route.kind == RouteKind::Calls || read.recipient == recipient;
            let short = header.len() as u64 <= MAX_HEADER && header.bytes().all(in_header);
            if named && short && spec.route(&read) == Some(route.kind) {
                return Ok(header);
            }
        }
    }
    Err(Reason::Name {
        why: "no header of the dialect holds it",
    }
    .into())
}
