//! `<tool_action name="n"><k value="v"/></tool_action>`.
//!
//! A quote inside a value ends it only if the end of the tag or another attribute follows, with blanks between; otherwise it
//! is content. At most `confirm` bytes decide that, and they are held in the carry.

use memchr::memchr2;
use serde::{Deserialize, Serialize};
use toolglot_scan::xml;

use super::content::{Content, EntityStep, Step, entity, report_spaced};
use super::entities::Entities;
use super::given::is_fact;
use super::inner::Inner;
use super::named_params::{fail, limit, malformed};
use super::object::Object;
use super::opener_again::{self as again, Again};
use super::tags::{COMMENT, Edge, InXmlSection, Match, MatchStep, XmlSectionStep};
use super::{Args, Finished, Flow, Out, Short};
use crate::dialect::AttributeParams;
use crate::event::Span;
use crate::kind::{Kind, Severity};
use crate::limits::Limits;

/// The body of an open call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Body {
    args: Args,
    at: AttributesAt,
    /// The closing tag of the open parameter, up to the end of its name.
    closer: String,
    tag_start: u64,
    /// The parameter has its value.
    valued: bool,
    /// An attribute was read as a fact about the parameter.
    fact: bool,
    /// A quote inside the value was reported.
    bare: bool,
    /// The parameter's name, if an attribute gives it: `<param name="k" value="v"/>`.
    key: String,
    /// Finds tags in the content that are parameters.
    inner: Inner,
    /// All arguments as one object, in place of parameters.
    object: Option<Box<Object>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum AttributesAt {
    Between,
    /// After `<`; the carry begins with it.
    Name,
    /// In a repetition of the call's own opening tag.
    Again(Again),
    /// After `<!`, matching a comment.
    Bang(Match),
    Comment(InXmlSection),
    /// In the closing tag of the call, or in a repeated closing tag of the last parameter, up to the end of its name.
    Closing(Match),
    /// After that name.
    Close,
    /// Between attributes; `edge` right after the name or a value.
    Space {
        edge: bool,
    },
    /// In an attribute's name; the carry begins with it.
    Attribute,
    /// Between an attribute's name and its value; `equals` once `=` was seen.
    Equals {
        role: Role,
        equals: bool,
    },
    /// In the value of the parameter.
    Value {
        quote: u8,
    },
    /// After `&` in the value; the carry begins with it.
    Entity {
        quote: u8,
        len: u8,
    },
    /// After a quote in the value; the carry begins with the quote.
    Tail {
        quote: u8,
        len: u32,
        tail: Tail,
    },
    /// In another attribute's value.
    Other {
        quote: u8,
    },
    /// In the attribute that names the parameter; the carry begins with its value.
    Named {
        quote: u8,
    },
    /// After `/` of a tag.
    Slash,
    /// In the content that is the value.
    Content(Content),
    /// After `>` of a parameter that has its value: only its closing tag, or its opening tag again, may follow.
    Empty(Option<Match>),
    /// This many bytes into the name of the repeated opening tag.
    Reopens(u32),
    /// In the closing tag of a parameter, after its name.
    End,
}

/// The role of an attribute in a parameter's tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Role {
    Value,
    /// It names the parameter.
    Name,
    Other,
}

/// Tag names that only mark a parameter; an attribute names it.
const PARAMS: [&str; 4] = ["param", "parameter", "arg", "argument"];

/// What follows a quote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Tail {
    Blanks {
        some: bool,
    },
    Slash,
    /// In the name of another attribute, which begins at `start`.
    Name {
        start: u64,
    },
    AfterName {
        start: u64,
        end: u64,
        equals: bool,
    },
}

/// What one byte after a quote decided.
enum Verdict {
    Open(Tail),
    Ends { closed: bool },
    Attribute { start: u64, end: u64 },
    Content,
}

impl Tail {
    fn step(self, byte: u8, pos: u64) -> Verdict {
        let blank = xml::is_space(byte);
        match self {
            Self::Blanks { .. } if byte == b'>' => Verdict::Ends { closed: false },
            Self::Blanks { .. } if byte == b'/' => Verdict::Open(Self::Slash),
            Self::Blanks { .. } if blank => Verdict::Open(Self::Blanks { some: true }),
            Self::Blanks { some: true } if xml::is_name(byte) => {
                Verdict::Open(Self::Name { start: pos })
            }
            Self::Slash if byte == b'>' => Verdict::Ends { closed: true },
            Self::Name { .. } if xml::is_name(byte) => Verdict::Open(self),
            Self::Name { start } if byte == b'=' => Verdict::Open(Self::AfterName {
                start,
                end: pos,
                equals: true,
            }),
            Self::Name { start } if blank => Verdict::Open(Self::AfterName {
                start,
                end: pos,
                equals: false,
            }),
            Self::AfterName { .. } if blank => Verdict::Open(self),
            Self::AfterName {
                start,
                end,
                equals: false,
            } if byte == b'=' => Verdict::Open(Self::AfterName {
                start,
                end,
                equals: true,
            }),
            Self::AfterName {
                start,
                end,
                equals: true,
            } if byte == b'"' || byte == b'\'' => Verdict::Attribute { start, end },
            _ => Verdict::Content,
        }
    }
}

impl Body {
    pub fn new(args: Args) -> Self {
        Self {
            args,
            at: AttributesAt::Between,
            closer: String::from("</"),
            tag_start: 0,
            valued: false,
            fact: false,
            bare: false,
            key: String::new(),
            inner: Inner::default(),
            object: None,
        }
    }

    /// The name of the open parameter.
    fn param_name(&self) -> &str {
        if self.key.is_empty() {
            tag(&self.closer)
        } else {
            &self.key
        }
    }

    pub fn close_empty(&mut self, out: &mut Out<'_>, end: u64) -> Result<(), Kind> {
        self.args.close(out, end)
    }

    /// Whether a parameter has begun, or was read; `None` in the closing tag of the call.
    pub fn begun(&self) -> Option<bool> {
        match self.at {
            AttributesAt::Closing(_) | AttributesAt::Close => None,
            AttributesAt::Between
            | AttributesAt::Name
            | AttributesAt::Again(_)
            | AttributesAt::Bang(_)
            | AttributesAt::Comment(_) => Some(self.args.count() > 0),
            _ => Some(true),
        }
    }

    /// The open value, if its next bytes can be delivered unchanged.
    pub fn short(&self, table: &AttributeParams, limits: &Limits) -> Option<Short> {
        if let Some(object) = &self.object {
            return object.short(&table.json, limits);
        }
        match &self.at {
            AttributesAt::Content(value) if !self.inner.looks() => value.short(&self.args, limits),
            AttributesAt::Value { quote } => {
                let until = self.args.value_start().saturating_add(limits.max_value);
                self.args.short(until)?.stops_at(*quote)?.stops_at(b'&')
            }
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
        if let AttributesAt::Value { .. }
        | AttributesAt::Entity { .. }
        | AttributesAt::Tail { .. }
        | AttributesAt::Content(_) = self.at
        {
            let span = Span::new(self.args.value_start(), out.from());
            out.report(
                Kind::UnclosedValue,
                Severity::Error,
                span,
                self.args.tool(),
                tag(&self.closer),
                "",
            );
        }
        Finished::Open
    }

    /// Delivers the call if all its parameters are closed. A part of an open one would have been delivered already.
    pub fn salvage(&mut self, out: &mut Out<'_>, end: u64) -> bool {
        if self.at != AttributesAt::Between || self.object.is_some() {
            return false;
        }
        self.args.recovered(Kind::UnclosedBlock);
        self.args.close(out, end).is_ok()
    }

    pub fn feed(
        &mut self,
        out: &mut Out<'_>,
        table: &AttributeParams,
        mut i: usize,
        end: usize,
    ) -> (usize, Flow) {
        while i < end {
            if let Some(object) = &mut self.object {
                return object.feed(out, (&table.json, &table.close), i, end);
            }
            let step = match self.at {
                AttributesAt::Value { quote } => self.value(out, quote, i, end),
                AttributesAt::Content(mut content) => {
                    let parts = (self.closer.as_bytes(), &mut self.inner);
                    let (next, step) = content.feed(out, &mut self.args, parts, i, end);
                    self.at = AttributesAt::Content(content);
                    self.mixed(out);
                    match step {
                        Step::More => Ok(next),
                        Step::Limit(kind) => Err((next, limit(kind))),
                        Step::Closed => {
                            let to = out.base + next as u64;
                            content.report_spaced(out, &mut self.args, to);
                            self.param_end(out, out.from(), out.base + next as u64, next)
                        }
                    }
                }
                _ => self.structure(out, table, out.seg[i], i),
            };
            match step {
                Ok(next) => i = next,
                Err(stop) => return stop,
            }
        }
        (i, Flow::More)
    }

    /// Closes the value, which ends at `end`; its tag ends at `to`.
    fn param_end(
        &mut self,
        out: &mut Out<'_>,
        end: u64,
        to: u64,
        next: usize,
    ) -> Result<usize, (usize, Flow)> {
        out.skip(to);
        self.at = AttributesAt::Between;
        self.args
            .param_close(out, end)
            .map_err(|kind| (next, fail(kind, false)))?;
        Ok(next)
    }

    /// Consumes value bytes up to the next quote or entity.
    fn value(
        &mut self,
        out: &mut Out<'_>,
        quote: u8,
        i: usize,
        end: usize,
    ) -> Result<usize, (usize, Flow)> {
        let max = out.longest(self.args.value_start());
        let stop = out.clip(max, i + 1, end);
        let mut entities = Entities::new(out, &self.args, i);
        let mut at = i;
        let found = loop {
            let found = memchr2(quote, b'&', &out.seg[at..stop]);
            at += found.unwrap_or(stop - at);
            match found.and_then(|_| entities.takes(out, at, stop)) {
                Some(next) => at = next,
                None => break found,
            }
        };
        entities.deliver(out);
        self.args.value(out, out.base + at as u64);
        if out.from() >= max {
            return Err((at, limit(Kind::LimitValue)));
        }
        if found.is_none() {
            return Ok(at);
        }
        self.at = if out.seg[at] == quote {
            AttributesAt::Tail {
                quote,
                len: 0,
                tail: Tail::Blanks { some: false },
            }
        } else {
            AttributesAt::Entity { quote, len: 0 }
        };
        Ok(at + 1)
    }

    /// Consumes one byte of anything but a value.
    fn structure(
        &mut self,
        out: &mut Out<'_>,
        table: &AttributeParams,
        byte: u8,
        i: usize,
    ) -> Result<usize, (usize, Flow)> {
        let pos = out.base + i as u64;
        let blank = xml::is_space(byte);
        let next = match self.at {
            AttributesAt::Between if blank => AttributesAt::Between,
            AttributesAt::Between if byte == b'<' => {
                out.hold(pos);
                self.tag_start = pos;
                self.at = AttributesAt::Name;
                return Ok(i + 1);
            }
            AttributesAt::Name => return self.name(out, table, byte, i),
            AttributesAt::Again(mut again) => {
                let step = again.step(out, &mut self.args, &table.spec.name, byte, pos);
                self.at = match step {
                    again::Step::More => AttributesAt::Again(again),
                    again::Step::Same => AttributesAt::Between,
                    again::Step::Other => return Err((i, again.other(out.from(), false))),
                };
                return Ok(i + 1);
            }
            AttributesAt::Bang(mut bang) => match bang.step(byte, &[(b"<!--", Edge::None)]) {
                MatchStep::More => AttributesAt::Bang(bang),
                MatchStep::Found { .. } => AttributesAt::Comment(InXmlSection::default()),
                MatchStep::None => return Err(malformed(out, Kind::MalformedBody, pos, i)),
            },
            AttributesAt::Closing(mut closing) => match closing.step(byte, &self.closers(table)) {
                MatchStep::More => AttributesAt::Closing(closing),
                MatchStep::Found { index: 0, .. } => {
                    self.spaced(out, closing, pos);
                    self.at = AttributesAt::Close;
                    return Ok(i);
                }
                MatchStep::Found { .. } => {
                    let span = Span::new(pos.saturating_sub(closing.len()), pos);
                    let name = tag(&self.closer).to_owned();
                    self.args.report(out, Kind::RepeatedMarker, span, &name);
                    self.at = AttributesAt::End;
                    return Ok(i);
                }
                MatchStep::None => return Err(malformed(out, Kind::MalformedBody, pos, i)),
            },
            AttributesAt::Comment(mut comment) => {
                let step = comment.step(&COMMENT, byte);
                if step == XmlSectionStep::Nested {
                    let span = Span::new(pos, pos + 1);
                    self.args.report(out, Kind::MalformedXml, span, "");
                }
                match step {
                    XmlSectionStep::End => AttributesAt::Between,
                    XmlSectionStep::More | XmlSectionStep::Nested => AttributesAt::Comment(comment),
                }
            }
            AttributesAt::Close if byte == b'>' => {
                out.skip(pos + 1);
                self.args
                    .close(out, pos + 1)
                    .map_err(|kind| (i + 1, fail(kind, true)))?;
                return Err((i + 1, Flow::Closed { end: pos + 1 }));
            }
            AttributesAt::Close if blank => AttributesAt::Close,
            AttributesAt::Space { .. } if blank => AttributesAt::Space { edge: false },
            AttributesAt::Space { .. } if byte == b'/' => AttributesAt::Slash,
            AttributesAt::Space { .. } if byte == b'>' => {
                return self.tag_end(out, table, pos + 1, false, i + 1);
            }
            AttributesAt::Space { edge: false } if xml::is_name(byte) => {
                out.hold(pos);
                self.at = AttributesAt::Attribute;
                return Ok(i + 1);
            }
            AttributesAt::Attribute if xml::is_name(byte) => {
                if pos.saturating_sub(out.from()) >= u64::from(out.limits().max_name) {
                    return Err((i, limit(Kind::LimitName)));
                }
                return Ok(i + 1);
            }
            AttributesAt::Attribute if blank || byte == b'=' => {
                let name = out.slice(out.from(), pos);
                let equals = byte == b'=';
                let role = self.role(out, table, &name, Span::new(out.from(), pos));
                AttributesAt::Equals { role, equals }
            }
            AttributesAt::Equals { .. } if blank => self.at,
            AttributesAt::Equals {
                role,
                equals: false,
            } if byte == b'=' => AttributesAt::Equals { role, equals: true },
            AttributesAt::Equals { role, equals: true } if byte == b'"' || byte == b'\'' => {
                out.skip(pos + 1);
                return self.quoted(out, role, byte, pos + 1, i + 1);
            }
            AttributesAt::Named { quote } => {
                if byte != quote {
                    if pos.saturating_sub(out.from()) >= u64::from(out.limits().max_name) {
                        return Err((i, limit(Kind::LimitName)));
                    }
                    return Ok(i + 1);
                }
                let name = out.slice(out.from(), pos);
                self.key = xml::decode(name.as_bytes()).trim().to_owned();
                AttributesAt::Space { edge: true }
            }
            AttributesAt::Other { quote } => {
                if byte == quote {
                    AttributesAt::Space { edge: true }
                } else {
                    AttributesAt::Other { quote }
                }
            }
            AttributesAt::Slash if byte == b'>' => {
                return self.tag_end(out, table, pos + 1, true, i + 1);
            }
            AttributesAt::Entity { quote, len } => {
                return self.entity(out, byte, pos, quote, len, i);
            }
            AttributesAt::Tail { quote, len, tail } => {
                return self.tail(out, table, byte, quote, len, tail, i);
            }
            AttributesAt::Empty(None) if blank => AttributesAt::Empty(None),
            AttributesAt::Empty(None) if byte == b'<' => {
                self.tag_start = pos;
                AttributesAt::Empty(Some(Match::after_lt(1)))
            }
            AttributesAt::Empty(Some(closing)) if closing.len() == 1 && byte != b'/' => {
                self.at = AttributesAt::Reopens(0);
                return Ok(i);
            }
            AttributesAt::Reopens(have)
                if tag(&self.closer).as_bytes().get(have as usize) == Some(&byte) =>
            {
                AttributesAt::Reopens(have + 1)
            }
            // Either value may be the right one.
            AttributesAt::Reopens(have)
                if have as usize == tag(&self.closer).len()
                    && (blank || byte == b'>' || byte == b'/') =>
            {
                self.named(out, pos);
                return Ok(i);
            }
            AttributesAt::Empty(Some(mut closing)) => {
                match closing.step(byte, &[(self.closer.as_bytes(), Edge::Close)]) {
                    MatchStep::More => AttributesAt::Empty(Some(closing)),
                    MatchStep::Found { .. } => {
                        self.spaced(out, closing, pos);
                        self.at = AttributesAt::End;
                        return Ok(i);
                    }
                    MatchStep::None => return Err(malformed(out, Kind::MalformedBody, pos, i)),
                }
            }
            AttributesAt::End if blank => AttributesAt::End,
            AttributesAt::End if byte == b'>' => AttributesAt::Between,
            AttributesAt::Between => {
                let Some(object) = Object::begin(out, &mut self.args, byte, pos) else {
                    return Err(malformed(out, Kind::MalformedBody, pos, i));
                };
                self.object = Some(object);
                return Ok(i);
            }
            _ => return Err(malformed(out, Kind::MalformedBody, pos, i)),
        };
        out.skip(pos + 1);
        self.at = next;
        Ok(i + 1)
    }

    /// Reports blanks after the `</` of a closing tag, whose name ends before `pos`.
    fn spaced(&mut self, out: &mut Out<'_>, closing: Match, pos: u64) {
        if closing.spaced() {
            let start = pos.saturating_sub(closing.len());
            report_spaced(out, &mut self.args, Span::new(start, pos));
        }
    }

    /// Consumes a byte of a tag's name.
    fn name(
        &mut self,
        out: &mut Out<'_>,
        table: &AttributeParams,
        byte: u8,
        i: usize,
    ) -> Result<usize, (usize, Flow)> {
        let pos = out.base + i as u64;
        let first = pos == out.from() + 1;
        if first && byte == b'!' {
            let mut bang = Match::after_lt(1);
            bang.step(byte, &[(b"<!--", Edge::None)]);
            self.at = AttributesAt::Bang(bang);
            out.skip(pos + 1);
            return Ok(i + 1);
        }
        if first && byte == b'/' {
            let mut closing = Match::after_lt(2);
            closing.step(byte, &self.closers(table));
            self.at = AttributesAt::Closing(closing);
            out.skip(pos + 1);
            return Ok(i + 1);
        }
        if xml::is_name(byte) && byte != b'?' {
            if pos.saturating_sub(out.from()) > u64::from(out.limits().max_name) {
                return Err((i, limit(Kind::LimitName)));
            }
            return Ok(i + 1);
        }
        let name = out.slice(out.from() + 1, pos);
        let ends = xml::is_space(byte) || byte == b'>' || byte == b'/';
        if !ends || name.is_empty() {
            return Err(malformed(out, Kind::MalformedBody, pos, i));
        }
        if name == table.spec.call {
            let again = Again::new(pos);
            if self.args.count() > 0 {
                return Err((i, again.other(out.from(), false)));
            }
            self.at = AttributesAt::Again(again);
            return Ok(i);
        }
        self.closer.truncate(2);
        self.closer.push_str(&name);
        self.named(out, pos);
        Ok(i)
    }

    /// Begins a parameter's tag, whose name ends before `pos`.
    fn named(&mut self, out: &mut Out<'_>, pos: u64) {
        out.skip(pos);
        self.valued = false;
        self.fact = false;
        self.key.clear();
        self.at = AttributesAt::Space { edge: true };
    }

    /// The closing tags that may appear here: the call's, or again the last parameter's.
    fn closers<'a>(&'a self, table: &'a AttributeParams) -> [(&'a [u8], Edge); 2] {
        let last = match self.args.count() {
            0 => "",
            _ => &self.closer,
        };
        let close = table.close.as_bytes();
        [(close, Edge::Close), (last.as_bytes(), Edge::Close)]
    }

    /// Begins an attribute's value.
    fn quoted(
        &mut self,
        out: &mut Out<'_>,
        role: Role,
        quote: u8,
        start: u64,
        next: usize,
    ) -> Result<usize, (usize, Flow)> {
        match role {
            Role::Value => {}
            Role::Name => {
                self.at = AttributesAt::Named { quote };
                return Ok(next);
            }
            Role::Other => {
                self.at = AttributesAt::Other { quote };
                return Ok(next);
            }
        }
        self.valued = true;
        self.bare = false;
        self.at = AttributesAt::Value { quote };
        let span = Span::new(self.tag_start, start);
        let name = self.param_name().to_owned();
        self.args
            .param_open(out, &name, span, start)
            .map_err(|kind| (next, fail(kind, false)))?;
        if !self.key.is_empty() {
            let key = self.key.clone();
            self.args.report(out, Kind::AttributeArguments, span, &key);
        }
        Ok(next)
    }

    /// The role of an attribute in a parameter's tag. One that nothing reads is reported.
    fn role(&mut self, out: &mut Out<'_>, table: &AttributeParams, name: &str, span: Span) -> Role {
        let tag = tag(&self.closer).to_owned();
        if name == table.spec.value {
            return Role::Value;
        }
        let known = out.tool(self.args.tool());
        let known = known.is_some_and(|tool| tool.param(&tag).is_some());
        if name == table.spec.name && !known && !self.valued && PARAMS.contains(&tag.as_str()) {
            return Role::Name;
        }
        match is_fact(name) {
            true => self.fact = true,
            false => self.args.report(out, Kind::ExtraKey, span, name),
        }
        Role::Other
    }

    /// Ends the opening tag of a parameter at `end`.
    fn tag_end(
        &mut self,
        out: &mut Out<'_>,
        table: &AttributeParams,
        end: u64,
        closed: bool,
        next: usize,
    ) -> Result<usize, (usize, Flow)> {
        out.skip(end);
        if self.valued {
            self.at = if closed {
                AttributesAt::Between
            } else {
                AttributesAt::Empty(None)
            };
            return Ok(next);
        }
        let span = Span::new(self.tag_start, end);
        let name = self.param_name().to_owned();
        self.args
            .param_open(out, &name, span, end)
            .map_err(|kind| (next, fail(kind, false)))?;
        let element = tag(&self.closer).to_owned();
        self.args
            .report(out, Kind::MissingValueAttr, span, &element);
        if self.fact {
            // That attribute may be the value.
            let name = tag(&self.closer).to_owned();
            self.args.report(out, Kind::ExtraKey, span, &name);
        }
        if closed {
            return self.param_end(out, end, end, next);
        }
        self.inner = Inner::new(&table.spec.value).with_plain(tag(&self.closer));
        self.at = AttributesAt::Content(Content::new());
        Ok(next)
    }

    /// A tag in the content that has its own value is a parameter if the tool has one of that name or is unknown. Then a
    /// closer is missing before it, and the content may be two values.
    fn mixed(&mut self, out: &Out<'_>) {
        let Some(name) = self.inner.take() else {
            return;
        };
        let tool = out.tool(self.args.tool());
        let known = tool.is_none_or(|tool| tool.param(&name).is_some());
        if known || name == tag(&self.closer) || PARAMS.contains(&name.as_str()) {
            self.args.recovered(Kind::BareMarkup);
        }
    }

    /// Consumes a byte after `&`.
    fn entity(
        &mut self,
        out: &mut Out<'_>,
        byte: u8,
        pos: u64,
        quote: u8,
        len: u8,
        i: usize,
    ) -> Result<usize, (usize, Flow)> {
        self.at = AttributesAt::Value { quote };
        match entity(out, &mut self.args, byte, pos, len) {
            EntityStep::More => {
                self.at = AttributesAt::Entity {
                    quote,
                    len: len + 1,
                };
                Ok(i + 1)
            }
            EntityStep::Done => {
                self.args.value(out, pos + 1);
                match out.from() >= out.longest(self.args.value_start()) {
                    true => Err((i + 1, limit(Kind::LimitValue))),
                    false => Ok(i + 1),
                }
            }
            EntityStep::None => {
                self.args.value(out, pos);
                Ok(i)
            }
        }
    }

    /// Consumes a byte after a quote in the value.
    #[expect(clippy::too_many_arguments, reason = "the parts of one state")]
    fn tail(
        &mut self,
        out: &mut Out<'_>,
        table: &AttributeParams,
        byte: u8,
        quote: u8,
        len: u32,
        tail: Tail,
        i: usize,
    ) -> Result<usize, (usize, Flow)> {
        let pos = out.base + i as u64;
        let end = out.from();
        match tail.step(byte, pos) {
            Verdict::Open(tail) if byte == b'/' || byte == b'=' => {
                self.at = AttributesAt::Tail { quote, len, tail };
                Ok(i + 1)
            }
            Verdict::Open(tail) if len < table.spec.confirm => {
                self.at = AttributesAt::Tail {
                    quote,
                    len: len + 1,
                    tail,
                };
                Ok(i + 1)
            }
            Verdict::Ends { closed } => {
                self.param_end(out, end, pos + 1, i + 1)?;
                self.at = if closed {
                    AttributesAt::Between
                } else {
                    AttributesAt::Empty(None)
                };
                Ok(i + 1)
            }
            Verdict::Attribute {
                start,
                end: name_end,
            } => {
                let name = out.slice(start, name_end);
                let role = self.role(out, table, &name, Span::new(start, name_end));
                self.param_end(out, end, pos + 1, i + 1)?;
                self.quoted(out, role, byte, pos + 1, i + 1)
            }
            Verdict::Open(_) | Verdict::Content => {
                if !self.bare {
                    self.bare = true;
                    let span = Span::new(end, end + 1);
                    self.args.recovered(Kind::BareQuote);
                    out.tool_issue(Kind::BareQuote, span, self.args.tool(), tag(&self.closer));
                }
                self.args.value(out, pos);
                self.at = AttributesAt::Value { quote };
                Ok(i)
            }
        }
    }
}

/// The tag name in the beginning of a closing tag.
fn tag(closer: &str) -> &str {
    closer.strip_prefix("</").unwrap_or(closer)
}
