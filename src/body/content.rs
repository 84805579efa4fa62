//! The text of an element that holds a value: up to its closing tag, with CDATA and entities decoded.
//!
//! Only the element's own closing tag is structural. All constructs begin with `<` or `&` and contain neither again, so a
//! construct that fails is content as written, and no byte is read twice. While one is under way the carry begins with it;
//! everything before it has been delivered.

use memchr::memchr2;
use serde::{Deserialize, Serialize};
use toolglot_scan::{lossy, xml};

use super::entities::Entities;
use super::inner::Inner;
use super::tags::{CDATA, InXmlSection, MAX_BLANKS, XmlSectionStep};
use super::{Args, Out, Short};
use crate::dialect::bounds::CLOSER_BLANKS;
use crate::event::Span;
use crate::kind::Kind;
use crate::limits::Limits;

/// How far bytes that begin with `<` match the closing tag and the opener of CDATA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Lt {
    len: u16,
    close: bool,
    cdata: bool,
    /// Blanks after `</`.
    blanks: u8,
}

impl Lt {
    /// Right after `<`.
    pub const fn new() -> Self {
        Self {
            len: 1,
            close: true,
            cdata: true,
            blanks: 0,
        }
    }

    pub fn len(self) -> u64 {
        u64::from(self.len) + u64::from(self.blanks)
    }

    /// Consumes the next byte; returns false if neither fits any more.
    pub fn step(&mut self, byte: u8, closer: &[u8]) -> bool {
        let at = usize::from(self.len);
        if at == 2 && self.close && xml::is_space(byte) && self.blanks < MAX_BLANKS {
            self.cdata = false;
            self.blanks += 1;
            return true;
        }
        self.close &= closer.get(at) == Some(&byte);
        self.cdata &= CDATA.open.get(at) == Some(&byte);
        self.len += 1;
        self.close || self.cdata
    }
}

/// The position in a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum ContentAt {
    Text,
    Lt(Lt),
    /// After the name of the closing tag.
    Tail {
        blanks: u32,
    },
    /// After `&`.
    Entity {
        len: u8,
    },
    Cdata(InXmlSection),
}

/// The state of an open value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Content {
    at: ContentAt,
    /// Unescaped markup was reported.
    bare: bool,
    /// The last closing tag that was read has blanks after its `</`.
    spaced: bool,
}

/// How far the content was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// All bytes were consumed.
    More,
    /// The closing tag is complete; the carry begins with it.
    Closed,
    Limit(Kind),
}

impl Content {
    pub fn new() -> Self {
        Self {
            at: ContentAt::Text,
            bare: false,
            spaced: false,
        }
    }

    /// Continues before `pos`, after the beginning of a tag that was not its own. The carry begins with that tag.
    pub fn begun(
        &mut self,
        out: &mut Out<'_>,
        args: &mut Args,
        (begun, pos): (&[u8], u64),
        inner: &mut Inner,
    ) {
        match begun {
            [] => {}
            [_] => self.at = ContentAt::Lt(Lt::new()),
            [_, name @ ..] => {
                self.markup(out, args);
                args.value(out, pos);
                inner.begin();
                name.iter().for_each(|byte| inner.step(*byte));
            }
        }
    }

    /// Continues before `pos`, after a closing tag that turned out to be content; `lt` is a construct that has begun since.
    pub fn resume(
        &mut self,
        out: &mut Out<'_>,
        args: &mut Args,
        (lt, closer): (Option<Lt>, &[u8]),
        pos: u64,
    ) {
        self.at = match lt {
            Some(lt) if lt.close && usize::from(lt.len) == closer.len() => {
                self.spaced = lt.blanks > 0;
                ContentAt::Tail { blanks: 0 }
            }
            Some(lt) => ContentAt::Lt(lt),
            None => ContentAt::Text,
        };
        args.value(out, pos.saturating_sub(lt.map_or(0, Lt::len)));
    }

    /// Reports blanks after the `</` of the closing tag that ended the content. The carry begins with that tag.
    pub fn report_spaced(&self, out: &mut Out<'_>, args: &mut Args, end: u64) {
        if self.spaced {
            report_spaced(out, args, Span::new(out.from(), end));
        }
    }

    /// The open value, if its next bytes can be delivered unchanged.
    pub fn short(&self, args: &Args, limits: &Limits) -> Option<Short> {
        let until = args.value_start().saturating_add(limits.max_value);
        match self.at {
            ContentAt::Text => args.short(until)?.stops_at(b'<')?.stops_at(b'&'),
            ContentAt::Cdata(InXmlSection::IDLE) => {
                args.short(until)?.stops_at(b']')?.stops_at(b'<')
            }
            _ => None,
        }
    }

    /// Consumes the chunk from index `i` up to `end`; `closer` is the closing tag up to its name.
    pub fn feed(
        &mut self,
        out: &mut Out<'_>,
        args: &mut Args,
        (closer, inner): (&[u8], &mut Inner),
        mut i: usize,
        end: usize,
    ) -> (usize, Step) {
        let max = out.longest(args.value_start());
        while i < end {
            let pos = out.base + i as u64;
            let byte = out.seg[i];
            match self.at {
                // An entity in a value of that tag is decoded as everywhere else.
                ContentAt::Text if inner.looks() && !matches!(byte, b'<' | b'&') => {
                    let stop = out.clip(max, i + 1, end);
                    i += inner.run(&out.seg[i..stop]);
                }
                ContentAt::Text | ContentAt::Cdata(InXmlSection::IDLE) => {
                    let stop = out.clip(max, i + 1, end);
                    i = self.text(out, args, (closer, &mut *inner), i, stop);
                }
                ContentAt::Lt(mut lt) => {
                    let torn = lt.cdata && CDATA.tears(usize::from(lt.len), byte);
                    if lt.step(byte, closer) {
                        i += 1;
                        self.at = ContentAt::Lt(lt);
                        if lt.close && usize::from(lt.len) == closer.len() {
                            self.spaced = lt.blanks > 0;
                            self.at = ContentAt::Tail { blanks: 0 };
                        } else if lt.cdata && usize::from(lt.len) == CDATA.open.len() {
                            out.skip(pos + 1);
                            self.at = ContentAt::Cdata(InXmlSection::default());
                        }
                    } else {
                        self.markup(out, args);
                        if torn {
                            // CDATA was to protect what follows, closers among it.
                            args.recovered(Kind::BareMarkup);
                        }
                        self.at = ContentAt::Text;
                        if lt.len() == 2 {
                            inner.begin();
                            // Text sees every other byte itself.
                            if matches!(byte, b'<' | b'&') {
                                inner.step(byte);
                            }
                        }
                    }
                }
                ContentAt::Tail { blanks } => match byte {
                    b'>' => return (i + 1, Step::Closed),
                    b if xml::is_space(b) && blanks < CLOSER_BLANKS => {
                        i += 1;
                        self.at = ContentAt::Tail { blanks: blanks + 1 };
                    }
                    _ => {
                        self.markup(out, args);
                        self.at = ContentAt::Text;
                    }
                },
                ContentAt::Entity { len } => {
                    i += usize::from(self.entity(out, args, byte, pos, len))
                }
                ContentAt::Cdata(mut cdata) => {
                    i += 1;
                    let step = cdata.step(&CDATA, byte);
                    if step == XmlSectionStep::Nested {
                        // It does not nest: the end of the first may be missing.
                        args.value(out, pos + 1);
                        let span = Span::new(pos + 1 - CDATA.open.len() as u64, pos + 1);
                        let key = args.key().to_owned();
                        args.report(out, Kind::BareMarkup, span, &key);
                    }
                    self.at = match step {
                        XmlSectionStep::End => {
                            args.value(out, pos - 2);
                            out.skip(pos + 1);
                            ContentAt::Text
                        }
                        XmlSectionStep::More | XmlSectionStep::Nested => ContentAt::Cdata(cdata),
                    };
                }
            }
            if inner.found_tag() {
                // The caller asks about one tag before the next one comes.
                break;
            }
            if self.settled(out, out.base + i as u64) >= max {
                args.value(out, max);
                return (i, Step::Limit(Kind::LimitValue));
            }
        }
        args.value(out, self.settled(out, out.base + i as u64));
        (i, Step::More)
    }

    /// The end of what is known to be content after reading everything before `pos`.
    fn settled(&self, out: &Out<'_>, pos: u64) -> u64 {
        match self.at {
            ContentAt::Text => pos,
            ContentAt::Cdata(cdata) => pos.saturating_sub(cdata.ending()),
            ContentAt::Lt(lt) => pos.saturating_sub(lt.len()).max(out.from()),
            ContentAt::Tail { .. } | ContentAt::Entity { .. } => out.from(),
        }
    }

    /// Skips to the next byte that has a meaning.
    fn text(
        &mut self,
        out: &mut Out<'_>,
        args: &mut Args,
        (closer, inner): (&[u8], &mut Inner),
        i: usize,
        stop: usize,
    ) -> usize {
        let hay = &out.seg[..stop];
        let cdata = matches!(self.at, ContentAt::Cdata(_));
        let mut entities = Entities::new(out, args, i);
        let mut at = i;
        loop {
            let rest = &hay[at..];
            let found = if cdata {
                memchr2(b']', b'<', rest)
            } else {
                memchr2(b'<', b'&', rest)
            };
            let Some(n) = found else {
                entities.deliver(out);
                return stop;
            };
            at += n;
            if !cdata && hay[at] == b'&' && !inner.looks() {
                if self.bare && xml::begins_no_entity(&hay[at..]) {
                    at += 1;
                    continue;
                }
                if let Some(next) = entities.takes(out, at, stop) {
                    at = next;
                    continue;
                }
            }
            match self.means_itself(&hay[at..], closer, inner) {
                0 => break,
                len => at += len,
            }
            if inner.found_tag() {
                entities.deliver(out);
                return at;
            }
        }
        let pos = out.base + at as u64;
        if cdata {
            let mut cdata = InXmlSection::default();
            cdata.step(&CDATA, hay[at]);
            self.at = ContentAt::Cdata(cdata);
        } else {
            entities.deliver(out);
            args.value(out, pos);
            self.at = if hay[at] == b'<' {
                ContentAt::Lt(Lt::new())
            } else {
                ContentAt::Entity { len: 0 }
            };
        }
        at + 1
    }

    /// The number of bytes at the beginning of `hay`, where something may begin, that begin nothing and need no report.
    fn means_itself(&self, hay: &[u8], closer: &[u8], inner: &mut Inner) -> usize {
        let &[byte, next, ref rest @ ..] = hay else {
            return 0;
        };
        match (self.at, byte) {
            (ContentAt::Cdata(_), b']') => usize::from(next != b']'),
            (ContentAt::Cdata(_), _) => usize::from(CDATA.open[1] != next),
            (_, b'&') => 0,
            _ if !self.bare || Lt::new().step(next, closer) => 0,
            _ => {
                inner.begin();
                inner.step(next);
                match inner.looks() {
                    true => 2 + inner.run(rest),
                    false => 1,
                }
            }
        }
    }

    /// Consumes a byte after `&`; returns false if the byte is not part of the entity.
    fn entity(&mut self, out: &mut Out<'_>, args: &mut Args, byte: u8, pos: u64, len: u8) -> bool {
        let step = entity(out, args, byte, pos, len);
        self.at = match step {
            EntityStep::More => ContentAt::Entity { len: len + 1 },
            EntityStep::Done | EntityStep::None => ContentAt::Text,
        };
        if step == EntityStep::None {
            self.markup(out, args);
        }
        step != EntityStep::None
    }

    /// Reports unescaped markup: the construct under way is content.
    fn markup(&mut self, out: &mut Out<'_>, args: &Args) {
        if !self.bare {
            self.bare = true;
            let span = Span::new(out.from(), out.from() + 1);
            let subject = args.key().to_owned();
            out.tool_issue(Kind::BareMarkup, span, args.tool(), &subject);
        }
    }
}

/// Reports blanks after the `</` of a closing tag, which is valid all the same.
pub(super) fn report_spaced(out: &mut Out<'_>, args: &mut Args, span: Span) {
    out.issue(Kind::RepairedCloseTag, span, "");
    args.recovered(Kind::RepairedCloseTag);
}

/// The effect of a byte after `&`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EntityStep {
    More,
    /// The entity is complete. An unknown one is content as written and was reported.
    Done,
    /// It is not an entity; the byte is not part of it.
    None,
}

/// Consumes a byte of an entity. The carry begins with its `&`, and `len` bytes have come.
pub(super) fn entity(
    out: &mut Out<'_>,
    args: &mut Args,
    byte: u8,
    pos: u64,
    len: u8,
) -> EntityStep {
    if xml::is_entity(byte) && usize::from(len) < xml::MAX_ENTITY {
        return EntityStep::More;
    }
    if byte != b';' || len == 0 {
        return EntityStep::None;
    }
    // On the stack, so that values cost no allocation.
    let mut bytes = [0; xml::MAX_ENTITY];
    let mut have = 0;
    for (piece, _) in out.pieces(pos.saturating_sub(u64::from(len)), pos) {
        for byte in piece.iter().take(bytes.len() - have) {
            bytes[have] = *byte;
            have += 1;
        }
    }
    let name = &bytes[..have];
    match xml::entity(name) {
        Some(c) => args.value_as(out, pos + 1, c.encode_utf8(&mut [0; 4])),
        None => {
            let span = Span::new(out.from(), pos + 1);
            let entity = format!("&{};", lossy(name));
            out.tool_issue(Kind::UnknownEntity, span, args.tool(), &entity);
        }
    }
    EntityStep::Done
}
