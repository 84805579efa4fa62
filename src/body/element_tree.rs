//! `<ACTION><tool><param>value</param></tool></ACTION>`: reads the tags.
//!
//! The tags are read as they arrive, with an explicit stack. What they enclose stays in the block's retained bytes and
//! becomes JSON when the block ends (`tree.rs`). What cannot be parsed as a tag is text. The carry begins with the construct
//! that is under way.

use memchr::memchr;
use serde::{Deserialize, Serialize};
use toolglot_scan::xml::{self, Header, HeaderStep};

use super::args::tool_name;
use super::named_params::limit;
use super::tags::{COMMENT, Edge, InXmlSection, MAX_BLANKS, Match, MatchStep, XmlSectionStep};
use super::tree::{self, Element};
use super::{Flow, Out, Short};
use crate::dialect::ElementTree;
use crate::event::{Event, Span};
use crate::kind::{Kind, KindSet, Severity};
use crate::limits::Limits;

/// The body of an open block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Body {
    at: ElementAt,
    /// In order of their opening tags; the elements without a parent are the tools.
    elements: Vec<Element>,
    open: Vec<u32>,
    kinds: KindSet,
    /// Unescaped markup was reported.
    bare: bool,
    /// Where text directly in the block began. It is reported only when the block continues after it; otherwise it may be
    /// the rest of the reply.
    junk: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum ElementAt {
    Text,
    /// After `<`.
    Lt,
    /// In the name of an opening tag; `slash` right after a `/`.
    Name {
        slash: bool,
    },
    /// After that name, which ends at `name`.
    Header {
        name: u64,
        header: Header,
    },
    /// After the name of a tool, in text that is not an attribute: up to the end of the tag, or to the next tag.
    Loose {
        name: u64,
    },
    /// In a closing tag; `name` once its name has ended.
    Closing {
        name: Option<u64>,
        /// Blanks before the name.
        blanks: u8,
    },
    /// After `<!`.
    Bang(Match),
    Comment(InXmlSection),
    /// After this many bytes of `]]>`.
    Cdata {
        len: u8,
    },
    /// In a document type declaration.
    Doctype {
        depth: u32,
        quote: u8,
    },
}

const BANGS: [(&[u8], Edge); 3] = [
    (b"<!--", Edge::None),
    (b"<![CDATA[", Edge::None),
    (b"<!DOCTYPE", Edge::None),
];

impl Body {
    /// The body of a block; where its opener ended does not matter.
    pub fn new(_at: u64) -> Self {
        let bare = false;
        Self {
            at: ElementAt::Text,
            elements: vec![],
            open: vec![],
            kinds: KindSet::default(),
            bare,
            junk: None,
        }
    }

    pub fn fits(&self) -> bool {
        let known = |index: &u32| (*index as usize) < self.elements.len();
        let earlier = |(index, element): (usize, &Element)| {
            element
                .parent
                .is_none_or(|parent| (parent as usize) < index)
        };
        self.open.iter().all(known) && self.elements.iter().enumerate().all(earlier)
    }

    /// The open value, if its next bytes can be delivered unchanged.
    pub fn short(&self, limits: &Limits) -> Option<Short> {
        let element = &self.elements[*self.open.last()? as usize];
        if self.open.len() < 2 || !element.text {
            return None;
        }
        let short = Short::late(element.inner.0.saturating_add(limits.max_value));
        match self.at {
            ElementAt::Text => short.stops_at(b'<'),
            ElementAt::Cdata { len: 0 } => short.stops_at(b']'),
            _ => None,
        }
    }

    /// Ends the stream: the block is not closed.
    pub fn finish(&mut self, _out: &mut Out<'_>) -> Option<u64> {
        None
    }

    /// Delivers the tools that are closed.
    pub fn salvage(&mut self, out: &mut Out<'_>, table: &ElementTree, end: u64) -> bool {
        if let Some(tool) = self.open.first() {
            self.elements.truncate(*tool as usize);
            self.open.clear();
        }
        self.kinds.insert(Kind::UnclosedBlock);
        !self.elements.is_empty()
            && tree::assemble(out, table, &self.elements, self.kinds, end).is_ok()
    }

    pub fn feed(
        &mut self,
        out: &mut Out<'_>,
        table: &ElementTree,
        mut i: usize,
        end: usize,
    ) -> (usize, Flow) {
        while i < end {
            let pos = out.base + i as u64;
            let byte = out.seg[i];
            let step = match self.at {
                ElementAt::Text => self.text(out, i, end),
                ElementAt::Cdata { len } => self.cdata(out, len, i, end),
                ElementAt::Lt => Ok(self.lt(out, byte, i)),
                ElementAt::Name { slash } => self.name(out, byte, slash, pos, i),
                ElementAt::Header { name, mut header } => match header.step(byte) {
                    HeaderStep::More => {
                        self.at = ElementAt::Header { name, header };
                        self.length(out, out.limits().max_header, Kind::LimitHeader, pos, i)
                    }
                    // Otherwise a parameter inside it could pass for the tool.
                    HeaderStep::Bad if self.open.is_empty() => {
                        self.at = ElementAt::Loose { name };
                        Ok(i)
                    }
                    HeaderStep::Bad => Ok(self.literal(out, i)),
                    HeaderStep::End { closed } => {
                        self.opened(out, table, name, pos + 1, closed, i + 1)
                    }
                },
                ElementAt::Loose { name } if byte == b'<' || byte == b'>' => {
                    let taken = usize::from(byte == b'>');
                    let span = Span::new(out.from(), pos);
                    self.misfit(out, span, "");
                    self.opened(out, table, name, pos + taken as u64, false, i + taken)
                }
                ElementAt::Loose { .. } => {
                    self.length(out, out.limits().max_header, Kind::LimitHeader, pos, i)
                }
                ElementAt::Closing { name, blanks } => {
                    self.closing(out, table, byte, (name, blanks), pos, i)
                }
                ElementAt::Bang(mut bang) => match bang.step(byte, &BANGS) {
                    MatchStep::More => {
                        self.at = ElementAt::Bang(bang);
                        Ok(i + 1)
                    }
                    MatchStep::Found { index, .. } => Ok(self.bang(out, index, pos, i)),
                    MatchStep::None => Ok(self.literal(out, i)),
                },
                ElementAt::Comment(mut comment) => {
                    out.skip(pos + 1);
                    let step = comment.step(&COMMENT, byte);
                    if step == XmlSectionStep::Nested {
                        out.repaired(Kind::MalformedXml, Span::new(pos, pos + 1));
                    }
                    self.at = match step {
                        XmlSectionStep::End => ElementAt::Text,
                        XmlSectionStep::More | XmlSectionStep::Nested => {
                            ElementAt::Comment(comment)
                        }
                    };
                    Ok(i + 1)
                }
                ElementAt::Doctype { depth, quote } => {
                    out.skip(pos + 1);
                    self.at = match (quote, byte) {
                        (0, b'"' | b'\'') => ElementAt::Doctype { depth, quote: byte },
                        (0, b'[' | b'<') => ElementAt::Doctype {
                            depth: depth.saturating_add(1),
                            quote: 0,
                        },
                        (0, b']') => ElementAt::Doctype {
                            depth: depth.saturating_sub(1),
                            quote: 0,
                        },
                        (0, b'>') if depth == 0 => ElementAt::Text,
                        (0, b'>') => ElementAt::Doctype {
                            depth: depth - 1,
                            quote: 0,
                        },
                        (q, b) if q == b => ElementAt::Doctype { depth, quote: 0 },
                        _ => ElementAt::Doctype { depth, quote },
                    };
                    Ok(i + 1)
                }
            };
            match step {
                Ok(next) => i = next,
                Err(stop) => return stop,
            }
        }
        if let ElementAt::Text = self.at {
            let pos = out.base + i as u64;
            self.content(out, pos);
        }
        (i, Flow::More)
    }

    /// Delivers bytes up to `to` as content of the open element.
    fn content(&mut self, out: &mut Out<'_>, to: u64) {
        let from = out.from();
        if to <= from {
            return;
        }
        let bytes = out.pieces(from, to);
        let blank = || bytes.iter().all(|(p, _)| p.trim_ascii().is_empty());
        match self
            .open
            .last()
            .map(|index| &mut self.elements[*index as usize])
        {
            Some(element) => element.text = element.text || !blank(),
            None if self.junk.is_none() && !blank() => {
                // One byte, so that the span does not depend on the chunks.
                let blanks = bytes
                    .iter()
                    .flat_map(|(p, _)| p.iter())
                    .take_while(|b| b.is_ascii_whitespace())
                    .count();
                self.junk = Some(from + blanks as u64);
            }
            None => {}
        }
        if self.open.len() > 1 {
            out.param(to)
        } else {
            out.skip(to)
        }
    }

    /// Reports text directly in the block, now that the block continues after it.
    fn report_junk(&mut self, out: &mut Out<'_>) {
        if let Some(at) = self.junk.take() {
            self.kinds.insert(Kind::JunkInBlock);
            out.issue(Kind::JunkInBlock, Span::new(at, at + 1), "");
        }
    }

    /// Consumes text up to the next tag.
    fn text(&mut self, out: &mut Out<'_>, i: usize, end: usize) -> Result<usize, (usize, Flow)> {
        let start = self.open.last().map_or(out.base + i as u64, |index| {
            self.elements[*index as usize].inner.0
        });
        let max = out.longest(start);
        let stop = out.clip(max, i + 1, end);
        let found = memchr(b'<', &out.seg[i..stop]);
        let at = out.base + (i + found.unwrap_or(stop - i)) as u64;
        if self.open.len() > 1 && at >= max {
            self.content(out, at);
            return Err(((at - out.base) as usize, limit(Kind::LimitValue)));
        }
        let Some(n) = found else { return Ok(stop) };
        self.content(out, at);
        self.at = ElementAt::Lt;
        Ok(i + n + 1)
    }

    fn lt(&mut self, out: &mut Out<'_>, byte: u8, i: usize) -> usize {
        self.at = match byte {
            b'/' => ElementAt::Closing {
                name: None,
                blanks: 0,
            },
            b'!' => {
                let mut bang = Match::after_lt(BANGS.len());
                bang.step(byte, &BANGS);
                ElementAt::Bang(bang)
            }
            b if b.is_ascii_alphabetic() || b == b'_' || b >= 0x80 => {
                ElementAt::Name { slash: false }
            }
            _ => return self.literal(out, i),
        };
        i + 1
    }

    /// Makes text of a construct that is not a tag, up to the byte at `i`.
    fn literal(&mut self, out: &mut Out<'_>, i: usize) -> usize {
        if !self.bare {
            self.bare = true;
            let span = Span::new(out.from(), out.from() + 1);
            let subject = self
                .open
                .last()
                .map_or("", |index| &self.elements[*index as usize].name);
            out.issue(Kind::BareMarkup, span, subject);
        }
        self.at = ElementAt::Text;
        let pos = out.base + i as u64;
        self.content(out, pos);
        i
    }

    fn length(
        &self,
        out: &Out<'_>,
        max: u32,
        kind: Kind,
        pos: u64,
        i: usize,
    ) -> Result<usize, (usize, Flow)> {
        if (pos + 1).saturating_sub(out.from()) > u64::from(max) + 2 {
            Err((i + 1, limit(kind)))
        } else {
            Ok(i + 1)
        }
    }

    /// Consumes a byte of an opening tag's name. A slash belongs to the name unless the tag ends after it.
    fn name(
        &mut self,
        out: &mut Out<'_>,
        byte: u8,
        slash: bool,
        pos: u64,
        i: usize,
    ) -> Result<usize, (usize, Flow)> {
        if slash && byte == b'>' {
            self.at = ElementAt::Header {
                name: pos - 1,
                header: Header::Slash,
            };
            return Ok(i);
        }
        if byte == b'/' || xml::is_name(byte) {
            self.at = ElementAt::Name {
                slash: byte == b'/',
            };
            return self.length(out, out.limits().max_name, Kind::LimitName, pos, i);
        }
        if xml::is_space(byte) || byte == b'>' {
            self.at = ElementAt::Header {
                name: pos,
                header: Header::Edge,
            };
            return Ok(i);
        }
        Ok(self.literal(out, i))
    }

    /// Completes an opening tag.
    fn opened(
        &mut self,
        out: &mut Out<'_>,
        table: &ElementTree,
        name_end: u64,
        end: u64,
        closed: bool,
        next: usize,
    ) -> Result<usize, (usize, Flow)> {
        let start = out.from();
        let name = out.slice(start + 1, name_end);
        self.report_junk(out);
        if name == table.tag && self.open.len() > 1 {
            // Inside a parameter it is data.
            return Ok(self.literal(out, next));
        }
        if name == table.tag {
            return Err((
                next,
                Flow::Reopened {
                    start,
                    end,
                    done: false,
                },
            ));
        }
        if self.open.len() >= out.limits().max_depth as usize {
            return Err((next, limit(Kind::LimitDepth)));
        }
        if self.elements.len() >= out.limits().max_params as usize {
            return Err((next, limit(Kind::LimitParams)));
        }
        if !out.retains() && out.slice(name_end, end).contains('=') {
            // Without retained bytes there are no attributes either.
            self.kinds.insert(Kind::ExtraKey);
            out.issue(Kind::ExtraKey, Span::new(start, end), &name);
        }
        out.skip(end);
        let parent = self.open.last().copied();
        if parent.is_some() {
            let depth = self.open.len() as u32 - 1;
            out.event(Event::ParamOpen {
                name: &name,
                depth,
                span: Span::new(start, end),
            });
        }
        if parent.is_none()
            && let Ok(tool) = tool_name(&name, out.limits().max_name)
        {
            out.call_named(tool, true, Span::new(start, end));
        }
        let index = self.elements.len() as u32;
        self.elements.push(Element {
            name,
            parent,
            start,
            inner: (end, end),
            end,
            text: false,
        });
        self.open.push(index);
        self.at = ElementAt::Text;
        if closed {
            self.close(out, end, end);
        }
        Ok(next)
    }

    /// Consumes a byte of a closing tag.
    fn closing(
        &mut self,
        out: &mut Out<'_>,
        table: &ElementTree,
        byte: u8,
        (name, blanks): (Option<u64>, u8),
        pos: u64,
        i: usize,
    ) -> Result<usize, (usize, Flow)> {
        let first = out.from() + 2 + u64::from(blanks);
        match (name, byte) {
            (_, b'>') if pos > first => {
                let tag = out.slice(first, name.unwrap_or(pos));
                if blanks > 0 && !self.is_open(table, &tag) {
                    return Ok(self.literal(out, i));
                }
                if blanks > 0 {
                    let span = Span::new(out.from(), pos + 1);
                    self.kinds.insert(Kind::RepairedCloseTag);
                    out.issue(Kind::RepairedCloseTag, span, &tag);
                }
                return self.closed(out, table, &tag, pos + 1, i + 1);
            }
            (_, b) if xml::is_space(b) && pos > first => {
                self.at = ElementAt::Closing {
                    name: name.or(Some(pos)),
                    blanks,
                }
            }
            (None, b) if xml::is_space(b) && blanks < MAX_BLANKS => {
                self.at = ElementAt::Closing {
                    name,
                    blanks: blanks + 1,
                }
            }
            (None, b) if xml::is_name(b) || b == b'/' => {}
            _ => return Ok(self.literal(out, i)),
        }
        self.length(out, out.limits().max_name, Kind::LimitName, pos, i)
    }

    /// Whether a closing tag closes something: the block, or an element that is open.
    fn is_open(&self, table: &ElementTree, tag: &str) -> bool {
        let mut open = self.open.iter();
        tag == table.tag || open.any(|index| self.elements[*index as usize].name == tag)
    }

    /// Completes a closing tag.
    fn closed(
        &mut self,
        out: &mut Out<'_>,
        table: &ElementTree,
        tag: &str,
        end: u64,
        next: usize,
    ) -> Result<usize, (usize, Flow)> {
        let start = out.from();
        out.skip(end);
        self.at = ElementAt::Text;
        self.report_junk(out);
        let block = tag == table.tag;
        let keep = if block {
            Some(0)
        } else {
            self.open
                .iter()
                .rposition(|index| self.elements[*index as usize].name == tag)
        };
        let Some(keep) = keep else {
            self.misfit(out, Span::new(start, end), tag);
            return Ok(next);
        };
        let implied = self.open.len() - keep - usize::from(!block);
        if implied > 0 {
            let inner = self.open.last().map_or(String::new(), |index| {
                self.elements[*index as usize].name.clone()
            });
            self.misfit(out, Span::new(start, end), &inner);
        }
        while self.open.len() > keep {
            // Only the element that the tag names ends after the tag.
            let own = !block && self.open.len() == keep + 1;
            self.close(out, start, if own { end } else { start });
        }
        if !block {
            return Ok(next);
        }
        tree::assemble(out, table, &self.elements, self.kinds, end).map_err(|flow| (next, flow))?;
        Err((next, Flow::Closed { end }))
    }

    /// Reports tags that do not match; the call is recovered.
    fn misfit(&mut self, out: &mut Out<'_>, span: Span, tag: &str) {
        self.kinds.insert(Kind::MalformedXml);
        out.report(Kind::MalformedXml, Severity::Warning, span, "", tag, "");
    }

    /// Closes the innermost element: its content ends at `inner`, its tag at `end`.
    fn close(&mut self, out: &mut Out<'_>, inner: u64, end: u64) {
        let Some(index) = self.open.pop() else { return };
        let element = &mut self.elements[index as usize];
        element.inner.1 = inner;
        element.end = end;
        if element.parent.is_some() {
            let span = Span::new(element.inner.0, inner);
            out.event(Event::ParamClose { span });
        }
    }

    fn bang(&mut self, out: &mut Out<'_>, index: usize, pos: u64, i: usize) -> usize {
        let span = Span::new(out.from(), pos + 1);
        self.report_junk(out);
        out.skip(pos + 1);
        self.at = match index {
            0 => ElementAt::Comment(InXmlSection::default()),
            1 => {
                match self
                    .open
                    .last()
                    .map(|index| &mut self.elements[*index as usize])
                {
                    Some(element) => element.text = true,
                    None => {
                        self.kinds.insert(Kind::JunkInBlock);
                        out.issue(Kind::JunkInBlock, span, "");
                    }
                }
                ElementAt::Cdata { len: 0 }
            }
            _ => {
                self.kinds.insert(Kind::DtdForbidden);
                out.issue(Kind::DtdForbidden, span, "");
                ElementAt::Doctype { depth: 0, quote: 0 }
            }
        };
        i + 1
    }

    /// Consumes CDATA.
    fn cdata(
        &mut self,
        out: &mut Out<'_>,
        len: u8,
        i: usize,
        end: usize,
    ) -> Result<usize, (usize, Flow)> {
        let start = self
            .open
            .last()
            .map_or(out.base, |index| self.elements[*index as usize].inner.0);
        let max = out.longest(start);
        let stop = out.clip(max, i + 1, end);
        let (next, len) = if len == 0 {
            match memchr(b']', &out.seg[i..stop]) {
                Some(n) => (i + n + 1, 1),
                None => (stop, 0),
            }
        } else {
            match (len, out.seg[i]) {
                (2, b'>') => (i + 1, 3),
                (_, b']') => (i + 1, 2),
                _ => (i + 1, 0),
            }
        };
        let pos = out.base + next as u64;
        let content = pos.saturating_sub(u64::from(len));
        if self.open.len() > 1 {
            out.param(content)
        } else {
            out.skip(content)
        }
        if self.open.len() > 1 && content >= max {
            return Err((next, limit(Kind::LimitValue)));
        }
        self.at = ElementAt::Cdata { len };
        if len == 3 {
            out.skip(pos);
            self.at = ElementAt::Text;
        }
        Ok(next)
    }
}
