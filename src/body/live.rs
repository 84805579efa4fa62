//! Writes the arguments of a call whose values have their own types: emits the source as JSON text while it arrives.
//!
//! A [`Lexer`] reads one object. Its output is the arguments text; its top-level keys are the call's parameters. A value is
//! buffered until it ends, up to `max_value` bytes, only if a dialect says that quotes are delimiters and not types
//! ([`LiveCall::typed`]).

#[cfg(test)]
pub(super) mod rig;
mod single;

use serde::{Deserialize, Serialize};

use super::call::CallWriter;
use super::given::ARGUMENTS;
use super::hidden::Torn;
use super::lexer::{Emit, Lexer, Rules, Shape, Token};
use super::typed::typed;
use super::{Out, Short};
use crate::dialect::payload::Syntax;
use crate::event::{Event, Span};
use crate::hints::Types;
use crate::kind::{Kind, KindSet};
use crate::limits::Limits;

/// How far a payload was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// All bytes were consumed.
    More,
    /// A line break in a string of the stream was repaired; the index is after it.
    Line,
    /// The payload is complete; the index is after its last byte.
    Done,
    /// The payload is malformed at the index, or the value before it is; that was reported.
    Malformed,
    /// A limit fired, which was not reported.
    Limit(Kind),
}

/// The source of a payload's bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'s> {
    pub bytes: &'s [u8],
    /// Offset of the first byte.
    pub base: u64,
    /// Offset after the last byte. A character that replaces an ill-formed byte is longer than that byte, so this may be
    /// less than `base` plus the length.
    pub until: u64,
    /// The bytes come from the stream and are emitted as parameter deltas.
    pub raw: bool,
}

impl<'s> Source<'s> {
    /// The current chunk, up to `end`.
    pub fn chunk(out: &Out<'s>, end: usize) -> Self {
        Self {
            bytes: &out.seg[..end],
            base: out.base,
            until: out.base + end as u64,
            raw: true,
        }
    }

    pub fn pos(&self, i: usize) -> u64 {
        (self.base + i as u64).min(self.until)
    }

    /// The offset of a byte at `pos`. A character that replaces ill-formed bytes may seem to reach behind the last of them.
    pub fn place(&self, pos: u64) -> u64 {
        match self.raw {
            true => pos,
            false => pos.min(self.until.saturating_sub(1)),
        }
    }

    /// The step after a repaired slip, if the reader stops there.
    pub fn line(&self, kind: Kind) -> Option<Step> {
        (self.raw && kind == Kind::RepairedNewline).then_some(Step::Line)
    }

    /// The bytes before the offset `max`.
    pub fn clip(&self, max: u64) -> &'s [u8] {
        let stop = usize::try_from(max.saturating_sub(self.base)).unwrap_or(usize::MAX);
        &self.bytes[..stop.min(self.bytes.len())]
    }
}

/// The rules of a stream for values in this syntax.
pub(crate) fn rules<'r>(out: &Out<'_>, syntax: &'r Syntax) -> Rules<'r> {
    Rules {
        syntax,
        max_depth: out.limits().max_depth,
        max_name: out.limits().max_name,
    }
}

/// An open call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LiveCall {
    call: CallWriter,
    /// Top-level strings are typed by the schema.
    typed: bool,
    /// The object has begun.
    begun: bool,
    param: Option<Param>,
    lexer: Lexer,
    /// The parameter that takes a text in place of the object if no schema says which one; empty if none may appear.
    plain: String,
    /// The members so far that a JSON schema of an object has: a `type` that is text, and `properties` that are an object.
    schema: (bool, bool),
}

/// The open parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Param {
    /// Offset of its value, once that begins.
    start: Option<u64>,
    /// The text that is buffered for its type.
    wait: Option<String>,
}

struct Writer<'w, 'p> {
    out: &'w mut Out<'p>,
    call: u32,
    until: u64,
    wait: Option<&'w mut String>,
}

impl Emit for Writer<'_, '_> {
    fn json(&mut self, text: &str, span: Span) {
        if self.wait.is_none() {
            let span = Span::new(span.start.min(self.until), span.end.min(self.until));
            self.out.arg(self.call, text, span);
        }
    }

    fn text(&mut self, text: &str, _: Span) {
        if let Some(wait) = &mut self.wait {
            wait.push_str(text);
        }
    }
}

impl LiveCall {
    /// Opens a call that `span` names. The call's own bytes begin at `start`.
    pub fn open(
        out: &mut Out<'_>,
        name: &str,
        meta: &[(String, String)],
        span: Span,
        start: u64,
    ) -> Result<Self, Kind> {
        Ok(Self::of(CallWriter::open(out, name, meta, span, start)?))
    }

    /// Continues a call that is open.
    pub fn of(call: CallWriter) -> Self {
        Self {
            call,
            typed: false,
            begun: false,
            param: None,
            lexer: Lexer::new(1),
            plain: String::new(),
            schema: (false, false),
        }
    }

    /// Lets the schema type top-level strings: their quotes are delimiters.
    pub fn typed(mut self, typed: bool) -> Self {
        self.typed = typed;
        self
    }

    /// Adds to the call's grade issues that were reported before it was open.
    pub fn recovered(&mut self, kinds: KindSet) {
        self.call.insert(kinds.iter());
    }

    /// Reports a repaired slip at `at`, each kind once per call.
    pub fn repaired(&mut self, out: &mut Out<'_>, kind: Kind, at: u64) {
        self.call.report_once(out, kind, Span::new(at, at + 1), "");
    }

    /// Reports, each time, that the bytes at `span` were repaired or could not be read.
    pub fn recovered_at(&mut self, out: &mut Out<'_>, kind: Kind, span: Span, subject: &str) {
        self.call.report(out, kind, span, subject);
    }

    /// Whether an issue of this kind was reported for it.
    pub fn doubts(&self, kind: Kind) -> bool {
        self.call.doubts(kind)
    }

    /// Whether a parameter of that name has come.
    pub fn has(&self, key: &str) -> bool {
        self.call.has(key)
    }

    /// Name of the tool.
    pub fn tool(&self) -> &str {
        self.call.tool()
    }

    /// The bytes of the call up to `end`.
    pub fn span(&self, end: u64) -> Span {
        self.call.span(end)
    }

    /// Whether no parameter has come.
    pub fn is_empty(&self) -> bool {
        self.call.count() == 0
    }

    /// Whether a key or a value is due.
    pub fn due(&self) -> bool {
        self.lexer.due()
    }

    /// Whether the object has begun.
    pub fn begun(&self) -> bool {
        self.begun
    }

    /// Reports that the call is malformed at `at`.
    pub fn broken(&self, out: &mut Out<'_>, kind: Kind, at: u64) -> Step {
        let key = if self.param.is_some() {
            self.lexer.key()
        } else {
            ""
        };
        out.tool_issue(kind, Span::new(at, at + 1), self.tool(), key);
        Step::Malformed
    }

    /// Begins the arguments of a Python call with the bracket `(` at index `i`.
    pub fn begin_call(
        &mut self,
        out: &mut Out<'_>,
        rules: &Rules<'_>,
        source: Source<'_>,
        i: usize,
    ) -> (usize, Step) {
        self.begun = true;
        let mut writer = Writer {
            out,
            call: self.call.number(),
            until: source.until,
            wait: None,
        };
        let (i, token) = self
            .lexer
            .open_call(rules, source.bytes, source.base, i, &mut writer);
        match token {
            Token::Limit(kind) => (i, Step::Limit(kind)),
            _ => (i, Step::More),
        }
    }

    /// Consumes the source from index `i` on: one object, after blanks.
    pub fn feed(
        &mut self,
        out: &mut Out<'_>,
        rules: &Rules<'_>,
        source: Source<'_>,
        mut i: usize,
    ) -> (usize, Step) {
        loop {
            let max = self.max(out);
            let bytes = source.clip(max);
            let mut writer = Writer {
                out,
                call: self.call.number(),
                until: source.until,
                wait: self.param.as_mut().and_then(|param| param.wait.as_mut()),
            };
            let (to, token) = self.lexer.next(rules, bytes, source.base, i, &mut writer);
            let pos = source.pos(to);
            if source.raw && to > i && max < u64::MAX {
                out.event(Event::ParamDelta {
                    data: &bytes[i..to],
                    span: Span::new(source.pos(i), pos),
                });
            }
            if pos >= max {
                return (to, Step::Limit(Kind::LimitValue));
            }
            i = to;
            let step = match token {
                Token::More => Some(Step::More),
                Token::Open(shape) => self.value(out, shape, source.place(pos)),
                Token::Key => self.key(out, source.raw, pos),
                Token::Close if self.lexer.depth() == 0 => Some(Step::Done),
                Token::Close => self.end(out, source.raw, pos),
                Token::Repaired(kind, at) => {
                    self.repaired(out, kind, source.place(at));
                    source.line(kind)
                }
                Token::Malformed(kind) => Some(self.broken(out, kind, source.place(pos))),
                Token::Limit(kind) => Some(Step::Limit(kind)),
            };
            if let Some(step) = step {
                return (i, step);
            }
        }
    }

    /// What was open where the call broke.
    pub(super) fn torn(&self, syntax: &Syntax, torn: &mut Torn) {
        self.lexer.torn(syntax, torn);
    }

    /// Whether no string, number or word is open.
    pub fn between(&self) -> bool {
        self.lexer.between()
    }

    /// What reads the open value.
    pub(super) fn lexer(&mut self) -> &mut Lexer {
        &mut self.lexer
    }

    /// The open string, if its next bytes can be delivered unchanged.
    pub fn short(&self, syntax: &Syntax, limits: &Limits) -> Option<Short> {
        let start = self.param.as_ref()?.start?;
        let until = start.saturating_add(limits.max_value);
        self.lexer.short(syntax, self.call.number(), until)
    }

    /// The offset at which the open value is too long.
    fn max(&self, out: &Out<'_>) -> u64 {
        let start = self.param.as_ref().and_then(|param| param.start);
        start.map_or(u64::MAX, |start| out.longest(start))
    }

    /// Ends a key at `pos`.
    fn key(&mut self, out: &mut Out<'_>, raw: bool, pos: u64) -> Option<Step> {
        let name = self.lexer.key();
        let span = Span::new(self.lexer.key_at(), pos);
        if let Err(kind) = self.call.counts(out, name) {
            return Some(Step::Limit(kind));
        }
        if raw {
            out.event(Event::ParamOpen {
                name,
                depth: 0,
                span,
            });
        }
        self.call.known(out, name, span);
        self.call.comes(out, name, span);
        self.param = Some(Param {
            start: None,
            wait: None,
        });
        None
    }

    /// Begins a value at `pos`.
    fn value(&mut self, out: &mut Out<'_>, shape: Shape, pos: u64) -> Option<Step> {
        if self.lexer.depth() == 0 {
            self.begun = shape == Shape::Object;
            return (!self.begun).then(|| self.broken(out, Kind::MalformedBody, pos));
        }
        match (self.lexer.key(), shape) {
            ("type", Shape::String) => self.schema.0 = true,
            ("properties", Shape::Object) => self.schema.1 = true,
            _ => {}
        }
        let types = self.call.schema(out, self.lexer.key()).types;
        let param = self.param.as_mut()?;
        param.start = Some(pos);
        match shape {
            Shape::String if self.typed && !types.plain() => {
                param.wait = Some(String::new());
                self.lexer.decode();
            }
            Shape::Bare if text_only(types) => self.lexer.force_text(),
            Shape::Object
            | Shape::Array
            | Shape::String
            | Shape::Number
            | Shape::Bool
            | Shape::Null
            | Shape::Bare => {}
        }
        None
    }

    /// Ends the value of a parameter at `pos`.
    fn end(&mut self, out: &mut Out<'_>, raw: bool, pos: u64) -> Option<Step> {
        let param = self.param.take()?;
        let span = Span::new(param.start.unwrap_or(pos), pos);
        if raw {
            out.event(Event::ParamClose { span });
        }
        let wait = param.wait?;
        let mut text = String::new();
        let depth = out.limits().max_depth;
        let key = self.lexer.key();
        let schema = self.call.schema(out, key);
        let result = typed(&wait, schema, out.unknown(), depth, &mut text);
        if !self.call.typed(out, result, key, span) {
            return Some(Step::Malformed);
        }
        self.call.arg(out, &text, span);
        None
    }

    /// Writes empty arguments, as is known at `at`.
    pub fn empty(&mut self, out: &mut Out<'_>, at: u64) {
        self.begun = true;
        self.call.arg(out, "{}", Span::new(at, at));
    }

    /// How many bytes of a delimiter have come, if it is incomplete and opens a string.
    pub fn begun_delimiter(&self) -> u64 {
        self.lexer.begun_delimiter()
    }

    /// Whether its arguments are a call in turn: a name and its arguments, which the tool is not known to take.
    pub fn names_another(&self, out: &Out<'_>) -> bool {
        let tool = out.tool(self.tool());
        let takes = tool.is_some_and(|tool| tool.param("name").is_some());
        !takes
            && self.call.has("name")
            && self.call.count() == 2
            && ARGUMENTS.iter().any(|key| self.has(key))
    }

    /// Whether its arguments are the JSON schema of an object, which the tool is not known to take.
    pub fn is_schema(&self, out: &Out<'_>) -> bool {
        let takes = |key: &str| {
            let tool = out.tool(self.tool());
            tool.is_some_and(|tool| tool.param(key).is_some())
        };
        self.schema == (true, true) && !(takes("type") && takes("properties"))
    }

    /// Closes the call, which ends at `end`. One that has no arguments has empty ones.
    pub fn close(&mut self, out: &mut Out<'_>, end: u64) {
        if !self.begun {
            self.empty(out, end);
        }
        self.call.missing(out, end);
        self.call.close(out, end);
    }
}

/// Whether a schema demands text in place of a literal.
fn text_only(types: Types) -> bool {
    let literals = [Types::INTEGER, Types::NUMBER, Types::BOOLEAN, Types::NULL];
    types.has(Types::STRING) && !literals.iter().any(|literal| types.has(*literal))
}
