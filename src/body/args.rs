//! Writes the arguments of a call while they come.
//!
//! A value whose form is settled (text, or nothing known of its type) leaves as an escaped JSON string at once. A value
//! whose type decides its form waits for its end; a list that repetition may add to waits for the end of the call. The
//! joined pieces are one JSON object.

use serde::{Deserialize, Serialize};
use toolglot_scan::{Gate, json};

use super::call::{CallWriter, UNTYPED};
use super::given::{Attribute, Given, given, is_fact, unread};
use super::live::LiveCall;
use super::plain::Clean;
use super::tree_payload::{Decoder, Elements};
use super::typed::{Typed, each, repeated, said_json, typed};
use super::{Opened, Out, Short};
use crate::dialect::spec::Deltas;
use crate::error::Kind;
use crate::event::{Event, Span};
use crate::hints::{Coerced, Schema, Tools, Types, may_be_json};

/// The open call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Args {
    call: CallWriter,
    /// Something was written into the object.
    any: bool,
    param: Option<Param>,
    /// Lists that repetition may add to, in order.
    lists: Vec<(String, Vec<String>)>,
    /// Values may be made of elements.
    elements: Option<Elements>,
    /// What its tag says beside its name.
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

/// How the text of a value is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum As {
    /// By the schema; a string without one.
    Schema,
    /// By the schema, without white space at both ends.
    Trimmed,
    /// A string.
    Text,
    /// JSON, or a string if it does not parse.
    Json,
    /// A string, of which something goes when it ends.
    Clean(Clean),
    /// By the schema: a string, or elements.
    Element,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Writer {
    /// Leaves as it comes.
    Live(Gate),
    /// Leaves as it comes, with characters for entities.
    Decoded(Decoder),
    /// Waits for its type.
    Typed(Vec<u8>),
    /// Waits for its end, which is cut to what is not blank.
    Trimmed(Vec<u8>),
    /// Waits for its end: JSON if it parses.
    Json(Vec<u8>),
    /// Waits until it can be no JSON any more, or for its end.
    Guess(Vec<u8>),
    /// Waits for its end, when something of it goes.
    Clean(Vec<u8>, Clean),
    /// Waits for repetition.
    List(Vec<u8>),
    /// Has no name and is left out.
    Left,
}

/// Whether a piece of a value waits.
enum Wait {
    No,
    Yes,
    /// No longer: what stands before it comes out now.
    Over(String, Span),
}

/// A tool's name as it counts, or what is wrong with it.
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

/// Whether a name begins or ends with what is left of markup: `=f`, `f(`. Such a name is one only where a tool is declared
/// by it. Dots, colons and slashes inside a name are parts of many, and `$f`, `/f`, `@f`, `-f` and `_f` are written on purpose.
pub(crate) fn is_torn(name: &str, tools: Option<&Tools>) -> bool {
    let rest = |c: char| "=:.,;()[]{}|\\&*：，。；、（）［］｛｝【】《》＝".contains(c);
    let torn = name.starts_with(rest) || name.ends_with(rest);
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

    /// Values may be made of elements.
    pub fn with_elements(&mut self, elements: Elements) {
        self.elements = Some(elements);
    }

    /// Whether elements in the open value matter.
    pub fn nests(&self) -> bool {
        let waits = |param: &Param| matches!(param.writer, Writer::Typed(_) | Writer::List(_));
        self.elements.is_some() && self.param.as_ref().is_some_and(waits)
    }

    /// Something about the call was recovered.
    pub fn recovered(&mut self, kind: Kind) {
        self.call.insert([kind]);
    }

    /// Whether that has been said of the call.
    pub fn doubts(&self, kind: Kind) -> bool {
        self.call.doubts(kind)
    }

    /// Offset of the open value.
    pub fn value_start(&self) -> u64 {
        self.param.as_ref().map_or(0, |param| param.start)
    }

    /// The open value as text, which may reach up to `until`, if its next bytes leave as they stand.
    pub fn short(&self, until: u64) -> Option<Short> {
        let short = Short::text(self.call.number(), until);
        match &self.param.as_ref()?.writer {
            Writer::Live(gate) => (gate.len() == 0).then_some(short),
            Writer::Decoded(decoder) if decoder.idle() => short.stops_at(b'&'),
            _ => None,
        }
    }

    /// Name of the open parameter.
    pub fn key(&self) -> &str {
        self.param.as_ref().map_or("", |param| &param.key)
    }

    pub fn tool(&self) -> &str {
        self.call.tool()
    }

    /// Whether an opener says what the call's own does, and nothing of the call has come.
    pub fn opens_again(&self, tool: &str, attributes: &[(String, String)]) -> bool {
        self.count() == 0 && self.tool() == tool && self.attributes == attributes
    }

    /// The call, as one whose arguments are an object in JSON.
    pub(super) fn live(&mut self, out: &mut Out<'_>) -> LiveCall {
        let attributes = std::mem::take(&mut self.attributes);
        for (key, _) in attributes.iter().filter(|(key, _)| !is_fact(key)) {
            self.told(out, Kind::ExtraKey, self.tag, key);
        }
        LiveCall::of(self.call.clone())
    }

    /// How many parameters came so far.
    pub fn count(&self) -> u32 {
        self.call.count()
    }

    /// Opens a parameter whose value begins at `start`. An empty name is reported and its value left out.
    pub fn param_open(
        &mut self,
        out: &mut Out<'_>,
        name: &str,
        span: Span,
        start: u64,
    ) -> Result<(), Kind> {
        self.param_open_as(out, name, span, start, As::Schema)
    }

    /// The same, with a value that is meant in a certain way.
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
            self.call.tell(out, Kind::MissingParamName, span, "");
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
                // Its tag tells what it is, so it takes no part in a list; and the last one wins.
                self.lists.retain(|(key, _)| key != name);
            }
            if !self.call.remember(name) && !list {
                self.call.tell(out, Kind::DuplicateParam, span, name);
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

    /// Whether the schema says that a parameter is text.
    fn is_text(&self, out: &Out<'_>, name: &str) -> bool {
        self.call.schema(out, name).types == Types::STRING
    }

    fn writer(&self, out: &mut Out<'_>, name: &str, span: Span) -> Writer {
        let Some(param) = self.call.known(out, name, span) else {
            return self.untyped(out);
        };
        let types = param.schema.types;
        if types.has(Types::ARRAY) && !types.has(Types::STRING) {
            Writer::List(vec![])
        } else if types == Types::STRING {
            self.text(out)
        } else if types == Types::none() {
            self.untyped(out)
        } else {
            Writer::Typed(vec![])
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

    /// What stands before a value: `{"key":` or `,"key":`.
    fn head(&mut self, key: &str) -> String {
        let mut head = String::from(if self.any { "," } else { "{" });
        self.any = true;
        json::string(key, &mut head);
        head.push(':');
        head
    }

    /// Delivers bytes up to `to` as they stand.
    pub fn value(&mut self, out: &mut Out<'_>, to: u64) {
        let (chunk, from) = (out.chunk(), out.from());
        if to <= from {
            return;
        }
        for (data, at) in out.io.cursor.pieces(chunk, from, to) {
            if data.is_empty() {
                continue;
            }
            if out.io.stranger.is_some() {
                // Nobody gets it.
                continue;
            }
            out.sink.event(Event::ParamDelta {
                data,
                span: Span::new(at, at + data.len() as u64),
            });
            // As `Out::arg`, while the cursor lends its bytes.
            let call = self.call.number();
            let (remembers, max) = (out.opts.prefer.remembers(), out.opts.limits.max_native);
            let (heard, sink) = (&mut out.io.heard, &mut *out.sink);
            let mut arg = |json: &str, span: Span| {
                if !(remembers && heard.takes(json, span, max)) {
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
                    json::escape(piece, |json| arg(json, span));
                }),
                Writer::Live(gate) => gate.push(data, at, |piece, span| {
                    json::escape(piece, |json| arg(json, span));
                }),
                Writer::Typed(bytes)
                | Writer::Trimmed(bytes)
                | Writer::Json(bytes)
                | Writer::Clean(bytes, _)
                | Writer::List(bytes) => bytes.extend_from_slice(data),
                Writer::Guess(_) | Writer::Left => {}
            }
        }
        out.skip(to);
    }

    /// Takes a piece of a value that may be JSON. Once it can be none it is text, and leaves as it comes.
    fn waits(&mut self, data: &[u8], at: u64) -> Wait {
        let Some(Param { key, writer, start }) = &mut self.param else {
            return Wait::No;
        };
        let Writer::Guess(bytes) = writer else {
            return Wait::No;
        };
        let had = bytes.len();
        bytes.extend_from_slice(data);
        if may_be_json(bytes) {
            return Wait::Yes;
        }
        // What waited is the beginning of a number or a word, or white space.
        let waited = String::from_utf8_lossy(&bytes[..had]).into_owned();
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
                json::escape(text, |piece| out.arg(call, piece, span));
            }
            Writer::Typed(bytes)
            | Writer::Trimmed(bytes)
            | Writer::Json(bytes)
            | Writer::Clean(bytes, _)
            | Writer::List(bytes) => bytes.extend_from_slice(text.as_bytes()),
            // What stands for other text was read already, and what waits too.
            Writer::Decoded(_) | Writer::Guess(_) | Writer::Left => {}
        }
    }

    /// The open value ends at `end`.
    pub fn param_close(&mut self, out: &mut Out<'_>, end: u64) -> Result<(), Kind> {
        let Some(param) = self.param.take() else {
            return Ok(());
        };
        let span = Span::new(param.start, end);
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
                let text = String::from_utf8_lossy(bytes);
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
                json::string(&clean.apply(&String::from_utf8_lossy(&bytes)), &mut text);
                self.call.arg(out, &text, span);
            }
            Writer::Json(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                let mut json = String::new();
                match said_json(text.trim(), out.limits().max_depth, &mut json) {
                    Some(result) => self.typed(out, result, &param.key, span)?,
                    None => json::string(&text, &mut json),
                }
                let head = self.head(&param.key);
                self.call.arg(out, &(head + &json), span);
            }
            Writer::List(bytes) => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                match self.lists.iter_mut().find(|(key, _)| *key == param.key) {
                    Some((_, items)) => items.push(text),
                    None => self.lists.push((param.key, vec![text])),
                }
            }
            Writer::Left => {}
        }
        Ok(())
    }

    /// A whole parameter that stands in the call's header.
    pub fn whole(&mut self, out: &mut Out<'_>, key: &str, value: &str, span: Span) {
        let mut json = String::new();
        json::string(value, &mut json);
        self.json(out, key, &json, span);
    }

    /// A whole parameter with its value as JSON. One that is there already stays as it is.
    pub fn json(&mut self, out: &mut Out<'_>, key: &str, json: &str, span: Span) {
        if self.call.remember(key) {
            let head = self.head(key);
            self.call.arg(out, &(head + json), span);
        }
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
            None => Ok(typed(text, schema, out.limits().max_depth, json)),
        }
    }

    /// A list from the occurrences of a repeated parameter.
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
        each(items, json, |item, json| {
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

    /// The call ends at `end`.
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

    /// Attributes of the call's tag that are arguments.
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
                self.told(out, Kind::ExtraKey, span, key);
            }
        }
        match given(&attributes, out.tool(self.tool()), inside, depth) {
            Given::Object(json, keys, kinds) => {
                for key in keys {
                    self.call.remember(&key);
                }
                self.call.insert(kinds.iter());
                self.told(out, Kind::AttributeArguments, span, "");
                // Without its last bracket, which the call's end writes.
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
                for Attribute { key, value, again } in all {
                    // Parameters inside come after the tag.
                    if again || self.call.has(key) {
                        self.told(out, Kind::DuplicateParam, span, key);
                        continue;
                    }
                    let mut json = String::new();
                    let value = typed(value, self.call.schema(out, key), depth, &mut json);
                    if value.how == Coerced::Malformed {
                        self.told(out, Kind::ExtraKey, span, key);
                        continue;
                    }
                    self.call.known(out, key, span);
                    self.told(out, Kind::AttributeArguments, span, key);
                    // Neither of its two outcomes that are left ends the call.
                    self.typed(out, value, key, span).unwrap_or_default();
                    self.json(out, key, &json, span);
                }
            }
        }
    }

    /// What begins a parameter stands in the open value, which ends at `end`: its closer may be missing before that.
    pub fn mixed(&mut self, out: &mut Out<'_>, mixed: bool, end: u64) {
        if mixed {
            let (span, key) = (Span::new(self.value_start(), end), self.key().to_owned());
            self.told(out, Kind::BareMarkup, span, &key);
        }
    }

    /// Something about the call is not as it should be, and said.
    pub fn told(&mut self, out: &mut Out<'_>, kind: Kind, span: Span, subject: &str) {
        self.call.tell(out, kind, span, subject);
    }

    /// A whole parameter whose value stands in its tag, which ends at `end`.
    pub fn given(
        &mut self,
        out: &mut Out<'_>,
        name: &str,
        value: &str,
        span: Span,
        end: u64,
    ) -> Result<(), Kind> {
        self.told(out, Kind::AttributeArguments, span, name);
        self.param_open(out, name, span, end)?;
        self.value_as(out, end, value);
        self.param_close(out, end)
    }
}
