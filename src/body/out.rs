//! The only way by which events leave.
//!
//! [`Io`] is the part of a stream's state that all modes share. [`Out`] lends it to a mode together with the current bytes.
//! The code that delivers bytes advances the [`Cursor`].

use serde::{Deserialize, Serialize};
use toolglot_scan::{Gate, lossy, quote_after};

use super::call::Names;
use super::cursor::{Chunk, Cursor, Pieces, joined, pieces};
use super::heard::{Heard, Mark};
use crate::dialect::{Dialect, SetInner};
use crate::event::{Event, Sink, Span};
use crate::hints::{Schema, Tool, Tools, Types};
use crate::issue::Issue;
use crate::kind::{Kind, KindSet, Severity};
use crate::limits::{Limits, Options, Retain, TextMode, UnknownTool, Untyped};

/// What has come since a string that may still be open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Quotation {
    words: bool,
    /// A line has ended.
    line: bool,
    /// The string opens and closes with a delimiter of a dialect.
    marks: Option<Marks>,
    /// It is no string but a block of this dialect that broke right behind its opener.
    block: Option<u16>,
}

impl Quotation {
    /// Consumes text; returns whether the string may still be open.
    fn goes_on_over(&mut self, data: &[u8]) -> bool {
        self.words |= !data.trim_ascii().is_empty();
        self.line |= data.contains(&b'\n');
        !(self.words && self.line)
    }

    /// The same for one byte, where strings are between `delimiters`. Lines end in such strings as elsewhere.
    fn goes_on(&mut self, delimiters: &[String], byte: u8) -> bool {
        let open = self.marks.as_mut().is_some_and(|marks| {
            marks.step(delimiters, byte);
            marks.odd && marks.broke
        });
        self.goes_on_over(&[byte]) || open
    }

    /// Whether a call broke in a string between delimiters.
    fn broke(&self) -> bool {
        self.marks.is_some_and(|marks| marks.broke)
    }
}

/// Delimiters of strings in the text after an opener that opened nothing, or after a call that broke in a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Marks {
    dialect: u16,
    /// How many bytes of a delimiter have come.
    have: u8,
    /// An odd number of delimiters has come.
    odd: bool,
    /// A call broke in such a string, which is open until a delimiter comes.
    broke: bool,
}

impl Marks {
    /// For the delimiters of a dialect, if it has any; whether a call `broke` in a string between them.
    fn of(set: &SetInner, dialect: u16, broke: bool) -> Option<Self> {
        let found = set.dialect(dialect)?;
        let any = !found.family.delimiters().is_empty();
        any.then_some(Self {
            dialect,
            have: 0,
            odd: broke,
            broke,
        })
    }

    /// Consumes a byte of the text.
    fn step(&mut self, delimiters: &[String], byte: u8) {
        let have = usize::from(self.have);
        let mut lists = delimiters.iter().map(String::as_bytes);
        let next = lists.clone().find(|list| list.get(have) == Some(&byte));
        self.have = match next {
            Some(list) if have + 1 == list.len() => {
                self.odd = !self.odd;
                0
            }
            Some(_) => self.have + 1,
            None => u8::from(lists.any(|list| list.first() == Some(&byte))),
        };
    }
}

/// The state of a stream beside its mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[repr(C)] // see `Parser`
pub(crate) struct Io {
    pub cursor: Cursor,
    /// An incomplete character of text.
    pub gate: Gate,
    /// After a block whose hidden part ended inside a string: the string may go on, and blocks in it are recovered.
    pub quoted: Option<Quotation>,
    /// Calls opened so far.
    pub calls: u32,
    /// The open call.
    pub open: Option<u32>,
    /// Where the last closed call in the text ended.
    pub closed: u64,
    /// The open block.
    pub block: Option<Box<Block>>,
    /// How many blocks have opened, by dialect, up to the last one that has opened some.
    pub blocks: Vec<u32>,
    /// The tool of the open call, if the call is not delivered because that tool is not declared.
    pub undeclared: Option<String>,
    /// What must be remembered of calls in the text because of API tool calls.
    pub heard: Heard,
    /// The host vouches for markers from this offset on.
    pub trusted_from: Option<u64>,
    /// Blocks that open before this offset follow a provisional closer, and may be content of what it closed.
    ///
    /// Wider than an offset, because it may lie beyond every offset.
    pub doubted: u128,
    /// What the name of the open call says about its grade.
    pub named: KindSet,
    /// Valid calls in the text so far.
    pub valid: u32,
    /// How many of them are not withheld.
    pub good: u32,
    /// Issues so far.
    pub issues: u32,
    /// How many blocks have opened.
    pub opened: u32,
    /// The buffer of the last block, reused for the next one.
    #[serde(skip)]
    pub spare: Vec<u8>,
}

/// An open block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Block {
    pub dialect: u16,
    pub start: u64,
    /// Its bytes from `start` on, if they are retained.
    pub raw: Vec<u8>,
    /// Its last bytes before the limit of its length: its closer may begin in them.
    pub last: Vec<u8>,
    /// The state before the block: valid calls, how many of them are not withheld, and what was remembered for API tool
    /// calls.
    pub before: (u32, u32, Mark),
    /// Some of its calls are final, whatever follows.
    pub kept: bool,
    /// Calls of it were left out because their tools are not declared.
    pub undeclared: bool,
    /// No marker opened it: if it breaks, it is text.
    pub unmarked: bool,
    /// The quotation mark right before its opener, if the host does not vouch for the opener: it may be a mention.
    pub quoted: Option<u8>,
    /// What was repaired about the block itself; applies to all its calls.
    pub kinds: KindSet,
    /// The part of it that is the answer and not a call.
    pub answer: Option<Span>,
    /// What its header and the tags around its first call say about that call; the tool's name has the key `name`.
    pub announced: Vec<(String, String)>,
    /// Number of the block in the stream.
    pub number: u32,
    pub names: Names,
}

impl Block {
    /// Retained bytes of a range of the stream; empty if they were not retained.
    pub fn slice(&self, from: u64, to: u64) -> &[u8] {
        let index = |at: u64| {
            at.checked_sub(self.start)
                .and_then(|n| usize::try_from(n).ok())
        };
        match (index(from), index(to)) {
            (Some(from), Some(to)) => self.raw.get(from..to).unwrap_or_default(),
            _ => &[],
        }
    }
}

impl Io {
    /// Whether the text may be in a string that a broken call left open.
    pub fn in_string(&self) -> bool {
        let marks = |quotation: &Quotation| {
            quotation.block.is_none() && quotation.marks.is_none_or(|marks| marks.odd)
        };
        self.quoted.as_ref().is_some_and(marks)
    }

    /// Watches for strings in the text after an opener that opened nothing, if the dialect has delimiters of its own: the
    /// opener may be that of a call with a slip, and a call in such a string is part of it.
    pub fn watch_strings(&mut self, set: &SetInner, dialect: u16) {
        if self.quoted.is_none() {
            let marks = Marks::of(set, dialect, false);
            self.quoted = marks.map(|marks| Quotation {
                marks: Some(marks),
                ..Quotation::default()
            });
        }
    }

    /// The dialect of a block that broke right behind its opener and may go on.
    pub fn broken_block(&self) -> Option<u16> {
        self.quoted.and_then(|quotation| quotation.block)
    }

    /// Notes that a block broke right behind its opener.
    pub fn open_block(&mut self, dialect: u16) {
        self.quoted.get_or_insert(Quotation {
            block: Some(dialect),
            ..Quotation::default()
        });
    }

    /// Notes that a string may be open.
    pub fn open_string(&mut self) {
        if !self.quoted.as_ref().is_some_and(Quotation::broke) {
            self.quoted = Some(Quotation::default());
        }
    }

    /// Notes that a string between delimiters of the block's dialect is open.
    pub fn open_delimited(&mut self, set: &SetInner) {
        let block = self.block.as_ref();
        let marks = block.and_then(|block| Marks::of(set, block.dialect, true));
        self.quoted = Some(Quotation {
            marks,
            ..Quotation::default()
        });
    }

    /// Whether the host vouches for a marker that begins at `start`.
    pub fn vouches(&self, start: u64) -> bool {
        self.trusted_from.is_some_and(|from| from <= start)
    }

    pub fn new(bound: usize) -> Self {
        Self {
            cursor: Cursor::new(bound),
            gate: Gate::default(),
            calls: 0,
            open: None,
            undeclared: None,
            named: KindSet::default(),
            closed: 0,
            quoted: None,
            valid: 0,
            good: 0,
            issues: 0,
            doubted: 0,
            block: None,
            opened: 0,
            blocks: vec![],
            trusted_from: None,
            heard: Heard::default(),
            spare: vec![],
        }
    }
}

/// How many issues of a stream may come with a suggestion.
const SUGGESTIONS: u32 = 64;

/// The kinds of events for bytes outside blocks.
#[derive(Clone, Copy)]
pub(crate) enum Stuff<'k> {
    Text,
    Reasoning,
    Protected(&'k str),
}

impl<'k> Stuff<'k> {
    pub fn event<'e>(self, data: &'e [u8], span: Span) -> Event<'e>
    where
        'k: 'e,
    {
        match self {
            Self::Text => Event::Text {
                data,
                span,
                recovered: false,
            },
            Self::Reasoning => Event::Reasoning {
                data,
                span,
                framing: false,
            },
            Self::Protected(kind) => Event::Protected { kind, data, span },
        }
    }
}

/// Lends the shared state and the current bytes to a mode.
pub(crate) struct Out<'p> {
    pub io: &'p mut Io,
    pub set: &'p SetInner,
    pub opts: &'p Options,
    pub sink: &'p mut dyn Sink,
    /// The chunk.
    pub seg: &'p [u8],
    /// Offset of its first byte.
    pub base: u64,
}

impl<'p> Out<'p> {
    pub fn limits(&self) -> &'p Limits {
        &self.opts.limits
    }

    pub fn tools(&self) -> Option<&'p Tools> {
        self.opts.tools.as_deref()
    }

    pub fn tool(&self, name: &str) -> Option<&'p Tool> {
        self.tools()?.get(name)
    }

    /// The parameter of a call that is one text: `param`, or the only one that a declared tool has for it.
    pub fn text_param(&self, tool: &str, param: &str) -> String {
        let sole = self.tool(tool).filter(|tool| tool.param(param).is_none());
        let sole = sole.and_then(Tool::sole);
        sole.map_or(param, |sole| &sole.name).to_owned()
    }

    pub fn dialect(&self) -> Option<&'p Dialect> {
        let index = self.io.block.as_ref()?.dialect;
        self.set.dialect(index)
    }

    /// The schema to use for a value whose type is unknown.
    pub fn unknown(&self) -> &'static Schema {
        static UNKNOWN: Schema = Schema::UNKNOWN;
        static ANY: Schema = Schema::ANY;
        let dialect = self.dialect().map(|dialect| dialect.spec.untyped);
        match self.opts.untyped.or(dialect).unwrap_or_default() {
            Untyped::String => &UNKNOWN,
            Untyped::Json => &ANY,
        }
    }

    /// The same, unless `schema` gives a type.
    pub fn known<'s>(&self, schema: Option<&'s Schema>) -> &'s Schema {
        let typed = schema.filter(|schema| schema.types != Types::none());
        typed.unwrap_or_else(|| self.unknown())
    }

    pub fn retains(&self) -> bool {
        self.opts.retain == Retain::Block
    }

    /// Whether a marker that begins at `start` counts, as far as the host must vouch for it.
    pub fn trusts(&self, start: u64) -> bool {
        !self.opts.trusted_only || self.io.vouches(start)
    }

    /// The offset from which markers of the open block's dialect count.
    pub fn trusted(&self) -> u64 {
        if self.opts.trusted_only {
            self.io.trusted_from.unwrap_or(u64::MAX)
        } else {
            0
        }
    }

    pub fn event(&mut self, event: Event<'_>) {
        let part = matches!(
            event,
            Event::ParamOpen { .. }
                | Event::ParamDelta { .. }
                | Event::ParamClose { .. }
                | Event::ArgDelta { .. }
        );
        if part && self.io.undeclared.is_some() {
            return;
        }
        if self.opts.text == TextMode::Chars {
            return self.whole_characters(event);
        }
        self.sink.event(event);
    }

    /// Reasoning and framing contain the bytes that the model wrote. If whole characters are asked for, U+FFFD replaces
    /// invalid UTF-8 in them.
    fn whole_characters(&mut self, event: Event<'_>) {
        match event {
            Event::Reasoning {
                data,
                span,
                framing,
            } => {
                let text = lossy(data);
                let data = text.as_bytes();
                self.sink.event(Event::Reasoning {
                    data,
                    span,
                    framing,
                });
            }
            Event::Protected { kind, data, span } => {
                let text = lossy(data);
                let data = text.as_bytes();
                self.sink.event(Event::Protected { kind, data, span });
            }
            other => self.sink.event(other),
        }
    }

    /// What becomes of calls of tools that are not declared.
    pub fn unknown_tool_policy(&self) -> UnknownTool {
        match (self.opts.unknown_tool, self.set.any) {
            (Some(policy), _) => policy,
            (None, true) => UnknownTool::Text,
            (None, false) => UnknownTool::Deliver,
        }
    }

    /// Whether a call of that name is left out.
    pub fn is_left_out(&self, name: &str) -> bool {
        let unknown = self.tools().is_some_and(|tools| tools.get(name).is_none());
        unknown && self.unknown_tool_policy() != UnknownTool::Deliver
    }

    #[inline]
    pub fn chunk(&self) -> Chunk<'p> {
        Chunk {
            seg: self.seg,
            base: self.base,
        }
    }

    /// The first byte that no event covers yet.
    #[inline]
    pub fn from(&self) -> u64 {
        self.io.cursor.from()
    }

    /// The bytes `from..to`. They must not have been delivered.
    #[inline]
    pub fn pieces(&self, from: u64, to: u64) -> Pieces<'_> {
        self.io.cursor.pieces(self.chunk(), from, to)
    }

    /// The same in one piece.
    pub fn bytes(&self, from: u64, to: u64) -> Vec<u8> {
        joined(self.pieces(from, to))
    }

    /// The same as text.
    pub fn slice(&self, from: u64, to: u64) -> String {
        lossy(&self.bytes(from, to)).into_owned()
    }

    /// The byte at `pos`, if it was not delivered.
    pub fn byte(&self, pos: u64) -> Option<u8> {
        self.io.cursor.peek(self.chunk(), pos)
    }

    /// Drops bytes up to `to`: they are structure.
    #[inline]
    pub fn skip(&mut self, to: u64) {
        self.io.cursor.skip(to);
    }

    /// Holds back the bytes from `from` on.
    #[inline]
    pub fn hold(&mut self, from: u64) {
        self.io.cursor.hold(from);
    }

    /// Delivers bytes up to `to` as the open parameter's value.
    pub fn param(&mut self, to: u64) {
        let (chunk, from) = (self.chunk(), self.from());
        for (data, at) in self.io.cursor.pieces(chunk, from, to) {
            if !data.is_empty() && self.io.undeclared.is_none() {
                self.sink.event(Event::ParamDelta {
                    data,
                    span: Span::new(at, at + data.len() as u64),
                });
            }
        }
        self.skip(to);
    }

    /// Delivers bytes up to `to` as text-like data, in whole characters if asked for. `held` replaces the bytes before the
    /// chunk.
    pub fn flow(&mut self, held: &[u8], to: u64, stuff: Stuff<'_>) {
        let from = self.from();
        if to <= from {
            return;
        }
        for (data, at) in pieces(held, self.chunk(), from, to) {
            if data.is_empty() {
                continue;
            }
            if self.io.quoted.is_some() {
                self.unquote(data, stuff);
            }
            self.show(data, at, stuff);
        }
        self.hold(to);
    }

    /// Emits bytes that begin at `at` as text-like data, in whole characters if asked for.
    pub fn show(&mut self, data: &[u8], at: u64, stuff: Stuff<'_>) {
        match self.opts.text {
            TextMode::Bytes => self
                .sink
                .event(stuff.event(data, Span::new(at, at + data.len() as u64))),
            TextMode::Chars => {
                let sink = &mut *self.sink;
                self.io.gate.push(data, at, |piece, span| {
                    sink.event(stuff.event(piece.as_bytes(), span))
                });
            }
        }
    }

    /// The mark that closes the quotation in which the open block begins, if any.
    pub fn closing_quote(&self) -> &'static [u8] {
        let block = self.io.block.as_ref();
        block
            .and_then(|block| block.quoted)
            .map_or(&[], quote_after)
    }

    /// Consumes a byte that may belong to that mark, directly after markers that end at `start`. `have` is how much of the mark
    /// has come, `None` where it may no longer follow. If the byte completes it, the markers are a mention: returns `start`.
    pub fn closes_mention(
        &self,
        have: &mut Option<u8>,
        start: u64,
        byte: u8,
        pos: u64,
    ) -> Option<u64> {
        let came = have.take()?;
        let close = self.closing_quote();
        let place = pos.checked_sub(start) == Some(u64::from(came));
        let fits = place && close.get(usize::from(came)) == Some(&byte);
        *have = fits.then(|| came + 1);
        (fits && usize::from(came) + 1 == close.len()).then_some(start)
    }

    /// Notes text between two blocks: words and the end of a line show that the string does not go on.
    fn unquote(&mut self, data: &[u8], stuff: Stuff<'_>) {
        let (Stuff::Text | Stuff::Reasoning, Some(quotation)) = (stuff, &mut self.io.quoted) else {
            return;
        };
        let goes_on = match quotation.marks {
            Some(marks) => {
                let dialect = self.set.dialect(marks.dialect);
                let list = dialect.map_or(&[][..], |dialect| dialect.family.delimiters());
                data.iter().all(|byte| quotation.goes_on(list, *byte))
            }
            None => quotation.goes_on_over(data),
        };
        if !goes_on {
            self.io.quoted = None;
        }
    }

    /// Ends the text-like run: an incomplete character will not be completed.
    pub fn flow_end(&mut self, stuff: Stuff<'_>) {
        let sink = &mut *self.sink;
        let from = self.io.cursor.from();
        self.io.gate.end(from, |piece, span| {
            sink.event(stuff.event(piece.as_bytes(), span))
        });
    }

    /// Reports an issue with its usual severity.
    pub fn issue(&mut self, kind: Kind, span: Span, subject: &str) {
        self.report(kind, kind.severity(), span, "", subject, "");
    }

    /// The name that was probably meant. Only the first issues of a stream get suggestions, so that a flood costs little.
    pub fn suggest<'a>(&self, name: &str, names: impl Iterator<Item = &'a str>) -> &'a str {
        let early = self.io.issues < SUGGESTIONS;
        early
            .then(|| crate::hints::closest(name, names))
            .flatten()
            .unwrap_or_default()
    }

    /// Reports an issue about a tool with its usual severity.
    pub fn tool_issue(&mut self, kind: Kind, span: Span, tool: &str, subject: &str) {
        self.report(kind, kind.severity(), span, tool, subject, "");
    }

    /// Reports an issue.
    pub fn report(
        &mut self,
        kind: Kind,
        severity: Severity,
        span: Span,
        tool: &str,
        subject: &str,
        suggestion: &str,
    ) {
        let dialect = self.dialect();
        self.report_for(dialect, kind, severity, span, tool, subject, suggestion);
    }

    /// Warns that text calls a tool that is not declared.
    pub fn unknown_tool(&mut self, dialect: &Dialect, tool: &str, span: Span) {
        let close = self.tools().map(|tools| self.suggest(tool, tools.names()));
        let (kind, severity) = (Kind::UnknownTool, Severity::Warning);
        let close = close.unwrap_or_default();
        self.report_for(Some(dialect), kind, severity, span, tool, "", close);
    }

    /// Reports an issue of a given dialect.
    #[expect(clippy::too_many_arguments, reason = "an issue has that many parts")]
    pub fn report_for(
        &mut self,
        dialect: Option<&Dialect>,
        kind: Kind,
        severity: Severity,
        span: Span,
        tool: &str,
        subject: &str,
        suggestion: &str,
    ) {
        self.io.issues = self.io.issues.saturating_add(1);
        if self.io.issues > self.opts.limits.max_issues {
            return;
        }
        let call = self.io.open;
        self.sink.event(Event::Issue(Issue {
            kind,
            severity,
            span,
            dialect,
            call,
            tool,
            subject,
            suggestion,
        }));
    }

    /// The span of the open block, up to `end`.
    pub fn block_span(&self, end: u64) -> Span {
        Span::new(self.io.block.as_ref().map_or(end, |block| block.start), end)
    }

    /// Reports a block that names nothing and ends at `end`.
    pub fn empty_block(&mut self, kinds: KindSet, end: u64) {
        let junk = kinds.contains(Kind::JunkInBlock);
        let kind = if junk {
            Kind::MalformedBody
        } else {
            Kind::EmptyBlock
        };
        self.issue(kind, self.block_span(end), "");
    }

    /// Where a byte too many of a value ends that begins at `start`.
    pub fn longest(&self, start: u64) -> u64 {
        let end = start.saturating_add(self.limits().max_value);
        end.saturating_add(1)
    }

    /// Where a scan of a value from index `i` on must stop: at `end`, or where the value would be `max` bytes long, so that
    /// the limit fires at one offset for all chunkings. Never before `i`.
    pub fn clip(&self, max: u64, i: usize, end: usize) -> usize {
        usize::try_from(max.saturating_sub(self.base)).map_or(end, |n| n.clamp(i, end))
    }
}
