//! Writes the arguments of a call as they arrive.
//!
//! A value that is a string, by its type or for lack of one, is delivered at once as an escaped JSON string; one without a
//! type that may be JSON is buffered until it cannot be. A value whose type decides its form is buffered until it ends, a
//! list that repetition may extend until the call ends. The joined pieces are one JSON object.

use serde::{Deserialize, Serialize};
use toolglot_scan::{Gate, json, lossy};

use super::call::{CallWriter, UNTYPED};
use super::given::{Attribute, Given, given, is_fact, unread};
use super::live::LiveCall;
use super::plain::Clean;
use super::tree::{ends_cdata_again, half_cdata};
use super::tree_payload::{Decoder, Elements};
use super::typed::{Typed, declared_json, each, repeated, typed};
use super::{Opened, Out, Short};
use crate::dialect::Family;
use crate::dialect::spec::Deltas;
use crate::event::{Event, Span};
use crate::hints::{Coerced, Schema, Tools, Types, may_be_json};
use crate::kind::Kind;

/// The open call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Args {
    call: CallWriter,
    /// Whether a member was written into the object.
    any: bool,
    param: Option<Param>,
    /// Lists that repetition may extend, in order.
    lists: Vec<(String, Vec<String>)>,
    /// Set if values may consist of elements.
    elements: Option<Elements>,
    /// What its tag contains beside its name.
    attributes: Vec<(String, String)>,
    tag: Span,
}

/// The open parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Param {
    key: String,
    start: u64,
    writer: Writer,
}

/// How to interpret the text of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum As {
    /// By the schema; a string if there is no schema.
    Schema,
    /// By the schema, without white space at either end.
    Trimmed,
    /// A string.
    Text,
    /// JSON, or a string if it is not valid JSON.
    Json,
    /// A string, cleaned when it ends.
    Clean(Clean),
    /// By the schema: a string, or elements.
    Element,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Writer {
    /// Delivered as it arrives.
    Live(Gate),
    /// Delivered as it arrives, with entities decoded.
    Decoded(Decoder),
    /// Buffered until it ends, because its type decides its form.
    Typed(Vec<u8>),
    /// Buffered until it ends, then trimmed.
    Trimmed(Vec<u8>),
    /// Buffered until it ends: JSON if it is valid.
    Json(Vec<u8>),
    /// Buffered until it cannot be JSON any more, or until it ends.
    Guess(Vec<u8>),
    /// Buffered until it ends, then cleaned.
    Clean(Vec<u8>, Clean),
    /// Buffered, because it may be repeated.
    List(Vec<u8>),
    /// Omitted, because it has no name.
    Left,
}

impl Writer {
    /// The buffer, if the value is only read when it ends.
    fn kept(&mut self) -> Option<&mut Vec<u8>> {
        match self {
            Self::Typed(bytes)
            | Self::Trimmed(bytes)
            | Self::Json(bytes)
            | Self::Clean(bytes, _)
            | Self::List(bytes) => Some(bytes),
            Self::Live(_) | Self::Decoded(_) | Self::Guess(_) | Self::Left => None,
        }
    }
}

/// Whether a piece of a value stays in the buffer.
enum Wait {
    No,
    Yes,
    /// Not any longer: the text before it is delivered now.
    Over(String, Span),
}

/// The effective name of a tool, or what is wrong with it.
pub(crate) fn tool_name(raw: &str, max: u32) -> Result<&str, Kind> {
    let name = raw.trim();
    let bad = |c: char| c.is_whitespace() || c.is_control() || "<>\"'`「」『』“”‘’«»".contains(c);
    if name.is_empty() {
        Err(Kind::MissingName)
    } else if name.len() > max as usize {
        Err(Kind::LimitName)
    } else if name.contains(bad) {
        Err(Kind::MalformedBody)
    } else {
        Ok(name)
    }
}

/// Whether a name contains a remainder of markup: `=f`, `f(`, `f]code`, `functionsf` where ids begin with `functions.`. Such
/// a name is valid only if a tool of that name is declared. Dots, colons and slashes inside a name are common, and `$f`, `/f`,
/// `@f`, `-f` and `_f` are written on purpose.
pub(crate) fn is_torn(name: &str, ids: &[[String; 2]], tools: Option<&Tools>) -> bool {
    let edge = |c: char| ":.\\&*：，。；、《》".contains(c);
    let inner = |c: char| "=,;()[]{}|（）［］｛｝【】＝".contains(c);
    let mut before = ids.iter().map(|[before, _]| before.as_str());
    let in_id = |before: &str| {
        let word = before.trim_end_matches(['.', '_']);
        !word.is_empty() && (name.starts_with(word) || name.contains(before))
    };
    let torn =
        name.starts_with(edge) || name.ends_with(edge) || name.contains(inner) || before.any(in_id);
    torn && tools.is_none_or(|tools| tools.get(name).is_none())
}

impl Args {
    /// Opens the call that a header names.
    pub fn open(out: &mut Out<'_>, header: &Opened<'_>) -> Result<Self, Kind> {
        let span = header.span;
        Ok(Self {
            call: CallWriter::open(out, header.name, header.meta, span, span.start)?,
            any: false,
            param: None,
            lists: vec![],
            elements: None,
            attributes: header.meta.to_vec(),
            tag: header.span,
        })
    }

    /// Lets values consist of elements.
    pub fn with_elements(&mut self, elements: Elements) {
        self.elements = Some(elements);
    }

    /// Whether elements in the open value have a meaning.
    pub fn nests(&self) -> bool {
        let waits = |param: &Param| matches!(param.writer, Writer::Typed(_) | Writer::List(_));
        self.elements.is_some() && self.param.as_ref().is_some_and(waits)
    }

    /// Adds to the call's grade an issue that was already reported.
    pub fn recovered(&mut self, kind: Kind) {
        self.call.insert([kind]);
    }

    /// Whether the call's grade includes `kind`.
    pub fn doubts(&self, kind: Kind) -> bool {
        self.call.doubts(kind)
    }

    /// Offset of the open value.
    pub fn value_start(&self) -> u64 {
        self.param.as_ref().map_or(0, |param| param.start)
    }

    /// The open value as text, which may extend to `until`, if its next bytes can be delivered unchanged.
    pub fn short(&self, until: u64) -> Option<Short> {
        let short = Short::text(self.call.number(), until);
        match &self.param.as_ref()?.writer {
            Writer::Live(gate) => (gate.len() == 0).then_some(short),
            Writer::Decoded(decoder) if decoder.idle() => short.stops_at(b'&'),
            Writer::Typed(_)
            | Writer::Trimmed(_)
            | Writer::Json(_)
            | Writer::Clean(..)
            | Writer::List(_) => Some(Short::late(until)),
            Writer::Decoded(_) | Writer::Guess(_) | Writer::Left => None,
        }
    }

    /// Keeps bytes of the open value that bypassed it.
    pub fn passed(&mut self, bytes: &[u8]) {
        let kept = self.param.as_mut().and_then(|param| param.writer.kept());
        if let Some(kept) = kept {
            kept.extend_from_slice(bytes);
        }
    }

    /// Name of the open parameter.
    pub fn key(&self) -> &str {
        self.param.as_ref().map_or("", |param| &param.key)
    }

    pub fn tool(&self) -> &str {
        self.call.tool()
    }

    /// Whether an opener repeats the call's own and no parameter has come yet.
    pub fn opens_again(&self, tool: &str, attributes: &[(String, String)]) -> bool {
        self.count() == 0 && self.tool() == tool && self.attributes == attributes
    }

    /// Continues the call as one whose arguments are a JSON object.
    pub(super) fn live(&mut self, out: &mut Out<'_>) -> LiveCall {
        let attributes = std::mem::take(&mut self.attributes);
        for (key, _) in attributes.iter().filter(|(key, _)| !is_fact(key)) {
            self.report(out, Kind::ExtraKey, self.tag, key);
        }
        LiveCall::of(self.call.clone())
    }

    /// How many parameters have come so far.
    pub fn count(&self) -> u32 {
        self.call.count()
    }

    /// Opens a parameter whose value begins at `start`. An empty name is reported and its value omitted.
    pub fn param_open(
        &mut self,
        out: &mut Out<'_>,
        name: &str,
        span: Span,
        start: u64,
    ) -> Result<(), Kind> {
        self.param_open_as(out, name, span, start, As::Schema)
    }

    /// The same, with a given interpretation of the value.
    pub fn param_open_as(
        &mut self,
        out: &mut Out<'_>,
        name: &str,
        span: Span,
        start: u64,
        form: As,
    ) -> Result<(), Kind> {
        self.call.counts(out, name)?;
        out.event(Event::ParamOpen {
            name,
            depth: 0,
            span,
        });
        let mut writer = Writer::Left;
        if name.is_empty() {
            self.call.report(out, Kind::MissingParamName, span, "");
        } else {
            writer = match (self.writer(out, name, span), form) {
                (_, As::Text) => Writer::Live(Gate::default()),
                (_, As::Clean(clean)) => Writer::Clean(vec![], clean),
                (_, As::Json) => Writer::Json(vec![]),
                (Writer::Live(_) | Writer::Typed(_) | Writer::Guess(_), As::Trimmed) => {
                    Writer::Trimmed(vec![])
                }
                (Writer::Live(_) | Writer::Guess(_), As::Element) if !self.is_text(out, name) => {
                    Writer::Typed(vec![])
                }
                (Writer::Live(_), As::Element) if self.entities() => {
                    Writer::Decoded(Decoder::default())
                }
                (writer, As::Schema | As::Trimmed | As::Element) => writer,
            };
            let list = matches!(writer, Writer::List(_));
            if !list {
                // Its tag gives its form, so it is not part of a list, and the last one wins.
                self.lists.retain(|(key, _)| key != name);
            }
            if !self.call.remember(name) && !list {
                self.call.report(out, Kind::DuplicateParam, span, name);
            }
        }
        if matches!(writer, Writer::Live(_) | Writer::Decoded(_)) {
            let mut head = self.head(name);
            head.push('"');
            self.call.arg(out, &head, span);
        }
        self.param = Some(Param {
            key: name.to_owned(),
            start,
            writer,
        });
        Ok(())
    }

    fn entities(&self) -> bool {
        self.elements.as_ref().is_some_and(|form| form.entities)
    }

    /// Whether the schema types a parameter as a string.
    fn is_text(&self, out: &Out<'_>, name: &str) -> bool {
        let schema = self.call.schema(out, name);
        schema.is_text() && schema.types != Types::none()
    }

    fn writer(&self, out: &mut Out<'_>, name: &str, span: Span) -> Writer {
        self.call.known(out, name, span);
        let schema = self.call.schema(out, name);
        let types = schema.types;
        if types.has(Types::ARRAY) && !types.has(Types::STRING) {
            Writer::List(vec![])
        } else if !schema.is_text() {
            Writer::Typed(vec![])
        } else if types == Types::none() {
            self.untyped(out)
        } else {
            self.text(out)
        }
    }

    fn untyped(&self, out: &Out<'_>) -> Writer {
        match out.unknown().types == Types::none() {
            true => self.text(out),
            false => Writer::Guess(vec![]),
        }
    }

    fn text(&self, out: &Out<'_>) -> Writer {
        match out.dialect().map(|dialect| dialect.spec.deltas) {
            Some(Deltas::AtValueEnd) => Writer::Typed(vec![]),
            _ => Writer::Live(Gate::default()),
        }
    }

    /// Returns the text before a value: `{"key":` or `,"key":`.
    fn head(&mut self, key: &str) -> String {
        let mut head = String::from(if self.any { "," } else { "{" });
        self.any = true;
        json::string(key, &mut head);
        head.push(':');
        head
    }

    /// Delivers bytes up to `to` unchanged.
    pub fn value(&mut self, out: &mut Out<'_>, to: u64) {
        let (chunk, from) = (out.chunk(), out.from());
        if to <= from {
            return;
        }
        for (data, at) in out.io.cursor.pieces(chunk, from, to) {
            if data.is_empty() {
                continue;
            }
            if out.io.undeclared.is_some() {
                // The tool is not declared: nobody gets the value.
                continue;
            }
            out.sink.event(Event::ParamDelta {
                data,
                span: Span::new(at, at + data.len() as u64),
            });
            // Does the same as `Out::arg`, while the cursor lends its bytes.
            let call = self.call.number();
            let (prefer, max) = (out.opts.prefer, out.opts.limits.max_native);
            let remembers = out.io.heard.listens(prefer);
            let (heard, sink) = (&mut out.io.heard, &mut *out.sink);
            let mut arg = |json: &str, span: Span| {
                if !(remembers && heard.takes(json, span, max, prefer)) {
                    sink.event(Event::ArgDelta { call, json, span });
                }
            };
            match self.waits(data, at) {
                Wait::No => {}
                Wait::Yes => continue,
                Wait::Over(head, span) => arg(&head, span),
            }
            let Some(param) = &mut self.param else {
                continue;
            };
            match &mut param.writer {
                Writer::Decoded(decoder) => decoder.push(data, at, |piece, span| {
                    json::escape_joined(piece, |json, _| arg(json, span));
                }),
                Writer::Live(gate) => gate.push(data, at, |piece, span| {
                    json::escape_joined(piece, |json, _| arg(json, span));
                }),
                other => {
                    if let Some(kept) = other.kept() {
                        kept.extend_from_slice(data);
                    }
                }
            }
        }
        out.skip(to);
    }

    /// The number of its call.
    pub(super) fn number(&self) -> u32 {
        self.call.number()
    }

    /// Whether [`Entities`](super::entities::Entities) can deliver the next bytes of the value: it is delivered as it arrives, and no
    /// character is under way.
    pub(super) fn takes_decoded(&self, out: &Out<'_>) -> bool {
        let writer = self.param.as_ref().map(|param| &param.writer);
        let live = matches!(writer, Some(Writer::Live(gate)) if gate.len() == 0);
        live && out.io.undeclared.is_none()
    }

    /// Buffers a piece of a value that may be JSON. Once it cannot be JSON, it is text and is delivered as it arrives.
    fn waits(&mut self, data: &[u8], at: u64) -> Wait {
        let Some(Param { key, writer, start }) = &mut self.param else {
            return Wait::No;
        };
        let Writer::Guess(bytes) = writer else {
            return Wait::No;
        };
        let had = bytes.len();
        // Its beginning mostly shows it.
        let (first, rest) = data.split_at(data.len().min(128));
        bytes.extend_from_slice(first);
        if may_be_json(bytes) {
            bytes.extend_from_slice(rest);
            if may_be_json(bytes) {
                return Wait::Yes;
            }
        }
        // The buffer holds the beginning of a number or a word, or white space.
        let waited = lossy(&bytes[..had]).into_owned();
        let (key, span) = (key.clone(), Span::new(*start, at));
        *writer = Writer::Live(Gate::default());
        let mut head = self.head(&key);
        head.push('"');
        json::escape(&waited, |json| head.push_str(json));
        Wait::Over(head, span)
    }

    /// Delivers bytes up to `to`, which mean `text`.
    pub fn value_as(&mut self, out: &mut Out<'_>, to: u64, text: &str) {
        let span = Span::new(out.from(), to);
        out.param(to);
        match self.waits(text.as_bytes(), span.start) {
            Wait::No => {}
            Wait::Yes => return,
            Wait::Over(head, span) => self.call.arg(out, &head, span),
        }
        let Some(param) = &mut self.param else { return };
        match &mut param.writer {
            Writer::Live(gate) => {
                let call = self.call.number();
                gate.end(span.start, |piece, _| out.arg(call, piece, span));
                json::escape_joined(text, |piece, _| out.arg(call, piece, span));
            }
            // Decoded text has been read already, and so have bytes that may be JSON.
            other => {
                if let Some(kept) = other.kept() {
                    kept.extend_from_slice(text.as_bytes());
                }
            }
        }
    }

    /// Closes the open value, which ends at `end`.
    pub fn param_close(&mut self, out: &mut Out<'_>, end: u64) -> Result<(), Kind> {
        let Some(param) = self.param.take() else {
            return Ok(());
        };
        let span = Span::new(param.start, end);
        if tears_cdata(out, span) {
            // CDATA was to protect more of it, closers among it.
            self.call.insert([Kind::BareMarkup]);
            out.tool_issue(Kind::BareMarkup, span, self.call.tool(), &param.key);
        }
        out.event(Event::ParamClose { span });
        match param.writer {
            Writer::Live(mut gate) => {
                let mut tail = String::new();
                gate.end(end, |piece, _| tail.push_str(piece));
                tail.push('"');
                self.call.arg(out, &tail, Span::new(end, end));
            }
            Writer::Decoded(mut decoder) => {
                let mut tail = String::new();
                decoder.end(end, |piece, _| {
                    json::escape(piece, |json| tail.push_str(json))
                });
                tail.push('"');
                self.call.arg(out, &tail, Span::new(end, end));
            }
            ref writer @ (Writer::Typed(ref bytes)
            | Writer::Trimmed(ref bytes)
            | Writer::Guess(ref bytes)) => {
                let text = lossy(bytes);
                let value = match writer {
                    Writer::Trimmed(_) => text.trim(),
                    _ => &text,
                };
                let schema = self.call.schema(out, &param.key);
                let mut json = String::new();
                let result = self.coerced(out, value, schema, &mut json)?;
                self.typed(out, result, &param.key, span)?;
                let head = self.head(&param.key);
                self.call.arg(out, &(head + &json), span);
            }
            Writer::Clean(bytes, clean) => {
                let mut text = self.head(&param.key);
                json::string(&clean.apply(&lossy(&bytes)), &mut text);
                self.call.arg(out, &text, span);
            }
            Writer::Json(bytes) => {
                let text = lossy(&bytes);
                let mut json = String::new();
                let declared = declared_json(text.trim(), out.limits().max_depth, &mut json);
                // Its tag says that it is no text, and the schema may say what it is.
                let read = || self.no_text(out, &text, &param.key, &mut json);
                match declared.or_else(read) {
                    Some(result) => self.typed(out, result, &param.key, span)?,
                    None => {
                        out.tool_issue(Kind::TypeMismatch, span, self.call.tool(), &param.key);
                        json::string(&text, &mut json);
                    }
                }
                let head = self.head(&param.key);
                self.call.arg(out, &(head + &json), span);
            }
            Writer::List(bytes) => {
                let text = lossy(&bytes).into_owned();
                match self.lists.iter_mut().find(|(key, _)| *key == param.key) {
                    Some((_, items)) => items.push(text),
                    None => self.lists.push((param.key, vec![text])),
                }
            }
            Writer::Left => {}
        }
        Ok(())
    }

    /// Writes a whole parameter from the call's header.
    pub fn whole(&mut self, out: &mut Out<'_>, key: &str, value: &str, span: Span) {
        let mut json = String::new();
        json::string(value, &mut json);
        self.json(out, key, &json, span);
    }

    /// Writes a whole parameter with its value as JSON, unless one of that name exists.
    pub fn json(&mut self, out: &mut Out<'_>, key: &str, json: &str, span: Span) {
        if self.call.remember(key) {
            let head = self.head(key);
            self.call.arg(out, &(head + json), span);
        }
    }

    /// Writes the text of a value that is no string and no JSON as the schema reads it. Leaves `json` empty if it does not.
    fn no_text(&self, out: &Out<'_>, text: &str, key: &str, json: &mut String) -> Option<Typed> {
        let schema = self.call.schema(out, key);
        if schema.types == Types::none() || schema.types.has(Types::STRING) {
            return None;
        }
        let depth = out.limits().max_depth;
        let result = typed(text, schema, out.unknown(), depth, json);
        if result.how != Coerced::Fits {
            json.clear();
            return None;
        }
        Some(result)
    }

    /// Writes the text of a value as JSON.
    fn coerced(
        &self,
        out: &Out<'_>,
        text: &str,
        schema: &Schema,
        json: &mut String,
    ) -> Result<Typed, Kind> {
        let schema = out.known(Some(schema));
        match &self.elements {
            Some(elements) => elements.value(text, schema, out.limits(), json),
            None => {
                let depth = out.limits().max_depth;
                Ok(typed(text, schema, out.unknown(), depth, json))
            }
        }
    }

    /// Writes a list from the occurrences of a repeated parameter.
    fn repeated(
        &self,
        out: &Out<'_>,
        items: &[String],
        schema: &Schema,
        json: &mut String,
    ) -> Result<Typed, Kind> {
        if self.elements.is_none() {
            let schema = out.known(Some(schema));
            return Ok(repeated(items, schema, out.limits().max_depth, json));
        }
        each(items, schema, json, |item, json| {
            self.coerced(out, item, schema, json)
        })
    }

    fn typed(
        &mut self,
        out: &mut Out<'_>,
        result: Typed,
        key: &str,
        span: Span,
    ) -> Result<(), Kind> {
        let fits = self.call.typed(out, result, key, span);
        fits.then_some(()).ok_or(Kind::MalformedValue)
    }

    /// Closes the call, which ends at `end`.
    pub fn close(&mut self, out: &mut Out<'_>, end: u64) -> Result<(), Kind> {
        let span = self.call.span(end);
        for (key, items) in std::mem::take(&mut self.lists) {
            let schema = self.call.schema(out, &key);
            let mut text = String::new();
            let result = match items.as_slice() {
                [one] => self.coerced(out, one, schema, &mut text)?,
                many => {
                    let schema = schema.items.as_deref().unwrap_or(&UNTYPED);
                    self.repeated(out, many, schema, &mut text)?
                }
            };
            self.typed(out, result, &key, span)?;
            let head = self.head(&key);
            self.call.arg(out, &(head + &text), span);
        }
        self.attributes(out);
        self.call.missing(out, end);
        self.call
            .arg(out, if self.any { "}" } else { "{}" }, Span::new(end, end));
        self.call.close(out, end);
        Ok(())
    }

    /// Writes the attributes of the call's tag that are arguments.
    fn attributes(&mut self, out: &mut Out<'_>) {
        if self.attributes.is_empty() {
            return;
        }
        let attributes = std::mem::take(&mut self.attributes);
        let (span, inside) = (self.tag, self.count() > 0);
        let depth = out.limits().max_depth;
        if inside {
            let unread: Vec<_> = unread(&attributes, out.tool(self.tool())).collect();
            for key in unread {
                self.report(out, Kind::ExtraKey, span, key);
            }
        }
        match given(&attributes, out.tool(self.tool()), inside, depth) {
            Given::Object(json, keys, kinds) => {
                for key in keys {
                    self.call.remember(&key);
                }
                self.call.insert(kinds.iter());
                self.report(out, Kind::AttributeArguments, span, "");
                // Without its last bracket, which the end of the call adds.
                let inner = json
                    .trim_end()
                    .strip_suffix('}')
                    .unwrap_or(&json)
                    .trim_end();
                self.any = inner.trim_start().len() > 1;
                if self.any {
                    self.call.arg(out, inner, span);
                }
            }
            Given::Each(all) => {
                for attribute in all {
                    let Attribute { key, value, again } = attribute;
                    // The parameters inside take precedence over the tag's attributes.
                    if again || self.call.has(key) {
                        self.report(out, Kind::DuplicateParam, span, key);
                        continue;
                    }
                    let mut json = String::new();
                    let schema = self.call.schema(out, key);
                    let value = typed(value, schema, out.unknown(), depth, &mut json);
                    if value.how == Coerced::Malformed {
                        self.report(out, Kind::ExtraKey, span, key);
                        continue;
                    }
                    self.call.known(out, key, span);
                    let kind = attribute.kind(out.tool(self.tool()));
                    self.report(out, kind, span, key);
                    // Neither of the two remaining outcomes ends the call.
                    self.typed(out, value, key, span).unwrap_or_default();
                    self.json(out, key, &json, span);
                }
            }
        }
    }

    /// Reports that the open value, which ends at `end`, contains the beginning of a parameter: its closer may be missing
    /// before that.
    pub fn mixed(&mut self, out: &mut Out<'_>, mixed: bool, end: u64) {
        if mixed {
            let (span, key) = (Span::new(self.value_start(), end), self.key().to_owned());
            self.report(out, Kind::BareMarkup, span, &key);
        }
    }

    /// Reports an issue and adds it to the call's grade.
    pub fn report(&mut self, out: &mut Out<'_>, kind: Kind, span: Span, subject: &str) {
        self.call.report(out, kind, span, subject);
    }

    /// Writes a whole parameter whose value is in its tag, which ends at `end`.
    pub fn given(
        &mut self,
        out: &mut Out<'_>,
        name: &str,
        value: &str,
        span: Span,
        end: u64,
    ) -> Result<(), Kind> {
        self.report(out, Kind::AttributeArguments, span, name);
        self.param_open(out, name, span, end)?;
        self.value_as(out, end, value);
        self.param_close(out, end)
    }
}

/// How much white space may precede CDATA.
const BEFORE_CDATA: u64 = 16;

/// Whether a value begins with an opener of CDATA that is torn, or has more ends of CDATA than openers, in a dialect that reads CDATA.
fn tears_cdata(out: &Out<'_>, value: Span) -> bool {
    let reads = out.dialect().is_some_and(|dialect| match &dialect.family {
        Family::NamedParams(_) | Family::AttributeParams(_) => true,
        Family::Framed(table) => table.spec.param.as_ref().is_some_and(|param| param.cdata),
        Family::KeyQuote(_) | Family::ElementTree(_) | Family::Line(_) | Family::Plain => false,
    });
    let block = out.io.block.as_ref().filter(|_| reads);
    block.is_some_and(|block| {
        let end = value.end.min(value.start.saturating_add(BEFORE_CDATA));
        half_cdata(block.slice(value.start, end).trim_ascii_start())
            || ends_cdata_again(block.slice(value.start, value.end))
    })
}
