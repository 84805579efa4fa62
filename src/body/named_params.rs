//! `<tool_call name="n"><param name="k">v</param></tool_call>`.
//!
//! A value's closing tag is provisional. The value ended there only if the next parameter, the end of the call, the next
//! call or a comment follows, with blanks between; otherwise the tag was content. At most `confirm` blanks and one tag name
//! decide that, and the bytes in between are held in the carry. The same closing tag may be repeated in between, at most
//! twice.

use memchr::memchr2;
use serde::{Deserialize, Serialize};
use toolglot_scan::xml::{self, Header, HeaderStep};

use super::content::{Content, Lt, Step, report_spaced};
use super::given::is_fact;
use super::inner::Inner;
use super::object::Object;
use super::opener_again::{self as again, Again};
use super::tags::{COMMENT, Edge, InXmlSection, Match, MatchStep, XmlSectionStep};
use super::{Args, Finished, Flow, Out, Short};
use crate::dialect::NamedParams;
use crate::dialect::bounds::CLOSER_TWINS;
use crate::dialect::spec::Reopen;
use crate::event::Span;
use crate::kind::{Kind, Severity};
use crate::limits::Limits;

/// The body of an open call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Body {
    args: Args,
    at: NamedAt,
    /// Finds tags in the open value that open a parameter.
    inner: Inner,
    /// All arguments as one object, in place of parameters.
    object: Option<Box<Object>>,
    /// The opening tag of the open parameter, if it may be repeated.
    opener: Vec<u8>,
    /// It was repeated.
    twice: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum NamedAt {
    /// Where parameters may begin.
    Between,
    /// In a tag, up to the end of its name.
    Tag {
        start: u64,
        tag: Match,
    },
    /// In the opening tag of a parameter; the carry begins with it.
    Header(Header),
    /// In a repetition of the call's own opening tag.
    Again(Again),
    /// At the beginning of a value, this many bytes into a repetition of its parameter's opening tag; the carry begins with it.
    Twin(u32),
    /// At the beginning of the first value, this many bytes into what closes the quotation mark before the block; the carry
    /// begins with them.
    Quote(u8),
    Value(Content),
    /// After a closing tag of a value; the carry begins with that tag.
    Confirm {
        value: Content,
        blanks: u32,
        next: Option<(Match, Option<Lt>)>,
        end: u64,
        twins: Twins,
    },
    /// In the closing tag of the call.
    Close,
    Comment(InXmlSection),
}

/// Repetitions of the value's closing tag after the first one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Twins {
    count: u8,
    /// The last of them is incomplete.
    open: bool,
    /// Offset after the last of them.
    end: u64,
}

/// The attribute that contains the value of a parameter whose tag closes itself.
const VALUE: &str = "value";
const PARAM: usize = 0;
const CLOSE: usize = 1;
const OPEN: usize = 2;
const TWIN: usize = 4;
const COUNT: usize = 5;

fn literals(table: &NamedParams) -> [(&[u8], Edge); COUNT] {
    [
        (table.param_open.as_bytes(), Edge::Open),
        (table.close.as_bytes(), Edge::Close),
        (table.open.as_bytes(), Edge::Open),
        (b"<!--", Edge::None),
        (table.param_close.as_bytes(), Edge::Close),
    ]
}

impl Body {
    pub fn new(args: Args) -> Self {
        Self {
            args,
            at: NamedAt::Between,
            inner: Inner::default(),
            object: None,
            opener: vec![],
            twice: false,
        }
    }

    /// A tag in a value may open a parameter. The value is verbatim, but a closer may be missing before it.
    fn mixed(&mut self, table: &NamedParams) {
        if self.inner.take().is_some_and(|tag| tag == table.spec.param) {
            self.args.recovered(Kind::BareMarkup);
        }
    }

    /// What closes the quotation mark before the block, if the tags between are a mention where it follows.
    fn closing_quote(&self, out: &Out<'_>) -> &'static [u8] {
        match self.args.count() {
            0 | 1 => out.closing_quote(),
            _ => &[],
        }
    }

    pub fn fits(&self, _table: &NamedParams) -> bool {
        true
    }

    pub fn close_empty(&mut self, out: &mut Out<'_>, end: u64) -> Result<(), Kind> {
        self.args.close(out, end)
    }

    /// Whether a parameter has begun, or was read; `None` in the closing tag of the call.
    pub fn begun(&self) -> Option<bool> {
        match self.at {
            NamedAt::Close => None,
            NamedAt::Between | NamedAt::Tag { .. } | NamedAt::Again(_) | NamedAt::Comment(_) => {
                Some(self.args.count() > 0)
            }
            _ => Some(true),
        }
    }

    /// The open value, if its next bytes can be delivered unchanged.
    pub fn short(&self, table: &NamedParams, limits: &Limits) -> Option<Short> {
        if let Some(object) = &self.object {
            return object.short(&table.json, limits);
        }
        match &self.at {
            NamedAt::Value(value) if !self.inner.looks() => value.short(&self.args, limits),
            _ => None,
        }
    }

    /// Keeps bytes of the open value that bypassed it.
    pub fn passed(&mut self, bytes: &[u8]) {
        self.args.passed(bytes);
    }

    /// Whether the call is final, whatever follows.
    pub fn is_final(&self) -> bool {
        self.object.as_ref().is_some_and(|object| object.is_final())
    }

    /// Ends the stream at `end`, `stopped` if the model ended it: the call is not closed.
    pub fn finish(&mut self, out: &mut Out<'_>, end: u64, stopped: bool) -> Finished {
        if let Some(object) = &mut self.object {
            return object.finish(out, end, stopped);
        }
        if let NamedAt::Value(_) | NamedAt::Twin(_) | NamedAt::Quote(_) = self.at {
            let span = Span::new(self.args.value_start(), out.from());
            let key = self.args.key().to_owned();
            out.report(
                Kind::UnclosedValue,
                Severity::Error,
                span,
                self.args.tool(),
                &key,
                "",
            );
        }
        Finished::Open
    }

    /// Delivers the call if all its parameters are closed. A part of an open one would have been delivered already.
    pub fn salvage(&mut self, out: &mut Out<'_>, end: u64) -> bool {
        if self.at != NamedAt::Between || self.object.is_some() {
            return false;
        }
        self.args.recovered(Kind::UnclosedBlock);
        self.args.close(out, end).is_ok()
    }

    pub fn feed(
        &mut self,
        out: &mut Out<'_>,
        table: &NamedParams,
        mut i: usize,
        end: usize,
    ) -> (usize, Flow) {
        let literals = literals(table);
        while i < end {
            if let Some(object) = &mut self.object {
                return object.feed(out, (&table.json, &table.close), i, end);
            }
            let pos = out.base + i as u64;
            let byte = out.seg[i];
            match &mut self.at {
                NamedAt::Between => {
                    if byte == b'<' {
                        out.hold(pos);
                        self.at = NamedAt::Tag {
                            start: pos,
                            tag: Match::after_lt(TWIN),
                        };
                    } else if xml::is_space(byte) {
                        out.skip(pos + 1);
                    } else if let Some(object) = Object::begin(out, &mut self.args, byte, pos) {
                        self.object = Some(object);
                        continue;
                    } else {
                        return malformed(out, Kind::MalformedBody, pos, i);
                    }
                    i += 1;
                }
                NamedAt::Tag { start, tag } => {
                    let start = *start;
                    match tag.step(byte, &literals) {
                        MatchStep::More => i += 1,
                        MatchStep::None => return malformed(out, Kind::MalformedBody, pos, i),
                        MatchStep::Found { index, taken } => {
                            i += usize::from(taken);
                            let tag = *tag;
                            if let Some(flow) = self.tag(out, index, start, tag) {
                                return (i, flow);
                            }
                        }
                    }
                }
                NamedAt::Header(header) => match header.step(byte) {
                    HeaderStep::More
                        if pos + 1 - out.from() > u64::from(out.limits().max_header) =>
                    {
                        return (i + 1, limit(Kind::LimitHeader));
                    }
                    HeaderStep::More => i += 1,
                    HeaderStep::Bad => return malformed(out, Kind::MalformedBody, pos, i),
                    HeaderStep::End { closed } => {
                        i += 1;
                        if let Err(kind) = self.param(out, table, pos + 1, closed) {
                            return (i, fail(kind, false));
                        }
                    }
                },
                NamedAt::Again(again) => {
                    match again.step(out, &mut self.args, &table.spec.name, byte, pos) {
                        again::Step::More => {}
                        again::Step::Same => self.at = NamedAt::Between,
                        again::Step::Other => {
                            let (again, start) = (*again, out.from());
                            let done = self.leaves(out);
                            return (i, again.other(start, done));
                        }
                    }
                    i += 1;
                }
                NamedAt::Quote(have) => {
                    let have = *have;
                    let at = usize::from(have);
                    let close = self.closing_quote(out);
                    if close.get(at) != Some(&byte) {
                        if have == 0 {
                            self.at = NamedAt::Twin(0);
                            continue;
                        }
                        // Another character begins with the same bytes.
                        self.args.value(out, pos);
                        self.at = NamedAt::Value(Content::new());
                        continue;
                    }
                    i += 1;
                    if at + 1 == close.len() {
                        let at = pos.saturating_sub(at as u64);
                        return (i, Flow::Mention { at });
                    }
                    self.at = NamedAt::Quote(have + 1);
                }
                NamedAt::Twin(have) => {
                    let at = *have as usize;
                    if self.opener.get(at) != Some(&byte) {
                        let mut value = Content::new();
                        let begun = (self.opener.get(..at).unwrap_or_default(), pos);
                        value.begun(out, &mut self.args, begun, &mut self.inner);
                        self.at = NamedAt::Value(value);
                        self.mixed(table);
                        continue;
                    }
                    i += 1;
                    *have += 1;
                    if *have as usize == self.opener.len() {
                        let span = Span::new(out.from(), pos + 1);
                        let key = self.args.key().to_owned();
                        self.args.report(out, Kind::RepeatedMarker, span, &key);
                        out.skip(pos + 1);
                        self.twice = true;
                        self.at = NamedAt::Value(Content::new());
                    }
                }
                NamedAt::Value(value) => {
                    let parts = (table.param_close.as_bytes(), &mut self.inner);
                    let (next, step) = value.feed(out, &mut self.args, parts, i, end);
                    let value = *value;
                    i = next;
                    self.mixed(table);
                    match step {
                        Step::More => {}
                        Step::Limit(kind) => return (i, limit(kind)),
                        Step::Closed => {
                            let end = out.base + i as u64;
                            self.at = NamedAt::Confirm {
                                value,
                                blanks: 0,
                                next: None,
                                end,
                                twins: Twins::default(),
                            };
                        }
                    }
                }
                NamedAt::Confirm { .. } => {
                    let (taken, flow) = self.confirm(out, table, byte, pos);
                    i += usize::from(taken);
                    if let Some(flow) = flow {
                        return (i, flow);
                    }
                }
                NamedAt::Close => {
                    if byte != b'>' && !xml::is_space(byte) {
                        return malformed(out, Kind::MalformedBody, pos, i);
                    }
                    i += 1;
                    out.skip(pos + 1);
                    if byte == b'>' {
                        return match self.args.close(out, pos + 1) {
                            Ok(()) => (i, Flow::Closed { end: pos + 1 }),
                            Err(kind) => (i, fail(kind, true)),
                        };
                    }
                }
                NamedAt::Comment(comment) => {
                    i += 1;
                    out.skip(pos + 1);
                    match comment.step(&COMMENT, byte) {
                        XmlSectionStep::More => {}
                        XmlSectionStep::Nested => {
                            let span = Span::new(pos, pos + 1);
                            self.args.report(out, Kind::MalformedXml, span, "");
                        }
                        XmlSectionStep::End => self.at = NamedAt::Between,
                    }
                }
            }
        }
        (i, Flow::More)
    }

    /// Acts on a tag that may appear between parameters; it begins at `start`, and its name is complete.
    fn tag(&mut self, out: &mut Out<'_>, index: usize, start: u64, tag: Match) -> Option<Flow> {
        if tag.spaced() {
            report_spaced(out, &mut self.args, Span::new(start, start + tag.len()));
        }
        match index {
            PARAM => {
                out.hold(start);
                self.at = NamedAt::Header(Header::Edge);
            }
            CLOSE => self.at = NamedAt::Close,
            OPEN => {
                out.hold(start);
                let marker = start + tag.len();
                if self.args.count() > 0 {
                    let done = self.leaves(out);
                    return Some(Again::new(marker).other(start, done));
                }
                self.at = NamedAt::Again(Again::new(marker));
            }
            _ => self.at = NamedAt::Comment(InXmlSection::default()),
        }
        None
    }

    /// Ends this call, whose parameters are all closed, where the next one begins at the carry. Returns whether this call is valid.
    fn leaves(&mut self, out: &mut Out<'_>) -> bool {
        let start = out.from();
        if out
            .dialect()
            .is_none_or(|dialect| dialect.spec.reopen == Reopen::Abandon)
        {
            return false;
        }
        self.args.recovered(Kind::UnclosedBlock);
        out.report(
            Kind::UnclosedBlock,
            Severity::Warning,
            Span::new(start, start),
            self.args.tool(),
            "",
            "",
        );
        self.args.close(out, start).is_ok()
    }

    /// Opens a parameter; its tag ends at `end`, and the carry begins with it.
    fn param(
        &mut self,
        out: &mut Out<'_>,
        table: &NamedParams,
        end: u64,
        closed: bool,
    ) -> Result<(), Kind> {
        let start = out.from();
        let mut header = out.bytes(start + table.param_open.len() as u64, end);
        out.skip(end);
        let attributes = xml::attributes(&header);
        let name = attributes
            .iter()
            .find(|(key, _)| *key == table.spec.name)
            .map_or("", |(_, name)| name.trim());
        let span = Span::new(start, end);
        let value = attributes.iter().find(|(key, _)| key == VALUE);
        let unread = |(key, _): &&(String, String)| {
            *key != table.spec.name && !is_fact(key) && !(closed && key == VALUE)
        };
        let unread = attributes.iter().find(unread).map(|(key, _)| key.clone());
        if let Some(key) = unread.or_else(|| xml::doubtful(&header)) {
            self.args.report(out, Kind::ExtraKey, span, &key);
        }
        if let Some((_, value)) = value.filter(|_| closed && !name.is_empty()) {
            self.at = NamedAt::Between;
            return self.args.given(out, name, value, span, end);
        }
        self.args.param_open(out, name, span, end)?;
        if closed {
            self.at = NamedAt::Between;
            return self.args.param_close(out, end);
        }
        self.inner = Inner::new(&table.spec.name);
        self.twice = false;
        // A tag with an entity in its name may be the beginning of any text.
        let fits = memchr2(b'&', b'<', &header).is_none();
        let len = end - start;
        if !fits || len > out.limits().max_value {
            self.at = NamedAt::Value(Content::new());
            return Ok(());
        }
        self.opener.clear();
        self.opener.extend_from_slice(table.param_open.as_bytes());
        self.opener.append(&mut header);
        self.at = match self.closing_quote(out) {
            [] => NamedAt::Twin(0),
            _ => NamedAt::Quote(0),
        };
        Ok(())
    }

    /// Consumes a byte after the closing tag of a value, which may confirm that the value ended.
    fn confirm(
        &mut self,
        out: &mut Out<'_>,
        table: &NamedParams,
        byte: u8,
        pos: u64,
    ) -> (bool, Option<Flow>) {
        let NamedAt::Confirm {
            value,
            blanks,
            next,
            end,
            twins,
        } = &mut self.at
        else {
            return (true, None);
        };
        let closer = table.param_close.as_bytes();
        let lt = match next {
            _ if twins.open && byte == b'>' => {
                twins.open = false;
                twins.end = pos + 1;
                return (true, None);
            }
            None if xml::is_space(byte) && *blanks < table.spec.confirm => {
                *blanks += 1;
                return (true, None);
            }
            None if byte == b'<' && !twins.open => {
                *next = Some((Match::after_lt(COUNT), Some(Lt::new())));
                return (true, None);
            }
            None => None,
            Some((tag, lt)) => {
                let start = pos.saturating_sub(tag.len());
                match tag.step(byte, &literals(table)) {
                    MatchStep::More => {
                        *lt = lt.and_then(|mut lt| lt.step(byte, closer).then_some(lt));
                        return (true, None);
                    }
                    MatchStep::Found { index: TWIN, .. } if twins.count < CLOSER_TWINS => {
                        twins.count += 1;
                        twins.open = true;
                        *next = None;
                        return (false, None);
                    }
                    // This may be the tag that ends the value.
                    MatchStep::Found { index: TWIN, .. } => *lt,
                    MatchStep::Found { index, taken } => {
                        let (tag, end, twins) = (*tag, *end, *twins);
                        value.report_spaced(out, &mut self.args, end);
                        self.report_twins(out, end, twins);
                        let flow = self.ended(out, index, start, tag);
                        return (taken, flow);
                    }
                    MatchStep::None => *lt,
                }
            }
        };
        // Nothing confirms it: the closing tag was content. The byte is read again as part of the value.
        let mut value = *value;
        let span = Span::new(out.from(), *end);
        let key = self.args.key().to_owned();
        self.args.recovered(Kind::AmbiguousClose);
        out.tool_issue(Kind::AmbiguousClose, span, self.args.tool(), &key);
        value.resume(out, &mut self.args, (lt, closer), pos);
        self.at = NamedAt::Value(value);
        (false, None)
    }

    /// Reports repeated closers after that of the open value, which ends at `end`.
    fn report_twins(&mut self, out: &mut Out<'_>, end: u64, twins: Twins) {
        if twins.count == 0 {
            return;
        }
        let key = self.args.key().to_owned();
        let span = Span::new(end, twins.end);
        self.args.report(out, Kind::RepeatedMarker, span, &key);
        if self.twice {
            // Its opener is repeated as well: the value may quote its parameter.
            self.args.report(out, Kind::BareMarkup, span, &key);
        }
    }

    /// Ends the value where the carry begins; a tag that begins at `start` follows.
    fn ended(&mut self, out: &mut Out<'_>, index: usize, start: u64, tag: Match) -> Option<Flow> {
        let end = out.from();
        out.skip(start);
        match self.args.param_close(out, end) {
            Ok(()) => self.tag(out, index, start, tag),
            Err(kind) => Some(fail(kind, false)),
        }
    }
}

/// Reports that the block is malformed at `pos`; that byte is not part of it.
pub(super) fn malformed(out: &mut Out<'_>, kind: Kind, pos: u64, i: usize) -> (usize, Flow) {
    out.skip(pos);
    out.issue(kind, Span::new(pos, pos + 1), "");
    (i, Flow::Malformed { ended: false })
}

/// How the block ends if its arguments are refused.
pub(super) fn fail(kind: Kind, ended: bool) -> Flow {
    if kind == Kind::MalformedValue {
        Flow::Malformed { ended }
    } else {
        Flow::Limit { kind, ended }
    }
}

/// How the block ends at a limit.
pub(super) fn limit(kind: Kind) -> Flow {
    Flow::Limit { kind, ended: false }
}
