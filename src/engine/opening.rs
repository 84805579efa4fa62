//! A marker is complete: is it one?
//!
//! A tag must have attributes that fit and a name; `<ACTION>` must be followed by a tag. The bytes looked at wait in the
//! carry. The scan for markers runs on beside, so that text after all is scanned already; a header that holds another
//! opener is none.

use serde::{Deserialize, Serialize};

use super::Mode;
use super::machine::{Chunk, Concat, Machine};
use crate::body::xml::{self, Header, HeaderStep};
use crate::body::{Opened, PROBE_BLANKS, pieces, tool_name};
use crate::dialect::{Family, Role};
use crate::error::{Kind, Severity};
use crate::event::Span;

/// A marker that is not decided yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Opening {
    pub dialect: u16,
    pub start: u64,
    at: At,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum At {
    /// In the tag; `complete` once an attribute is.
    Header { header: Header, complete: bool },
    /// Behind a tag without a name: what the body begins with tells an error from a mention.
    Nameless {
        blanks: u32,
        matched: u16,
        alive: u32,
    },
    /// Behind a marker that a tag must follow.
    Tag { blanks: u32 },
}

/// What a byte decided.
enum Verdict {
    More,
    /// It opens a block; the byte is part of the header if `taken`.
    Open {
        taken: bool,
        closed: bool,
    },
    /// It is text.
    Text(Option<Kind>),
    /// It is text, as a quote that is not closed shows.
    Unquoted,
}

impl Opening {
    /// None if the marker alone opens a block.
    pub fn new(family: &Family, dialect: u16, start: u64) -> Option<Self> {
        let at = match family {
            Family::KeyQuote(_) => return None,
            Family::ElementTree(_) => At::Tag { blanks: 0 },
            Family::NamedParams(_) | Family::AttributeParams(_) => At::Header {
                header: Header::Edge,
                complete: false,
            },
        };
        Some(Self { dialect, start, at })
    }

    /// Whether the stream may end here without a word: the marker itself is not complete.
    pub fn unborn(&self) -> bool {
        matches!(
            self.at,
            At::Header {
                header: Header::Edge,
                ..
            } | At::Nameless { .. }
        )
    }
}

fn nameless(family: &Family) -> &[String] {
    match family {
        Family::NamedParams(body) => &body.spec.nameless,
        Family::AttributeParams(body) => &body.spec.nameless,
        Family::KeyQuote(_) | Family::ElementTree(_) => &[],
    }
}

fn name_attribute(family: &Family) -> &str {
    match family {
        Family::NamedParams(body) => &body.spec.name,
        Family::AttributeParams(body) => &body.spec.name,
        Family::KeyQuote(_) | Family::ElementTree(_) => "",
    }
}

impl Machine<'_> {
    /// Takes bytes from index `at` on until it is decided.
    pub fn opening(&mut self, chunk: Chunk<'_>, mut at: usize) -> usize {
        let scanner = self.scanner();
        while at < chunk.seg.len() {
            let Mode::Opening(mut opening) = self.st.mode else {
                return at;
            };
            let byte = chunk.seg[at];
            let end = chunk.base + at as u64 + 1;
            let node = scanner.dfa.next(self.st.node, byte);
            if scanner.dfa.is_hit(node) && self.opens(node) {
                // The next marker begins in here: this one is text.
                self.st.node = node;
                self.st.mode = Mode::Flow;
                self.tell(
                    chunk,
                    opening.dialect,
                    Kind::LookalikeMarker,
                    Span::new(opening.start, opening.start),
                );
                self.markers(chunk, end);
                self.release(chunk, end);
                return at + 1;
            }
            match self.verdict(chunk, &mut opening, byte, end) {
                Verdict::More => {
                    self.st.node = node;
                    self.st.mode = Mode::Opening(opening);
                    at += 1;
                }
                Verdict::Unquoted => {
                    self.st.node = node;
                    self.st.mode = Mode::Flow;
                    let compiled = self.dialect(opening.dialect);
                    let span = Span::new(opening.start, end);
                    let (kind, severity) = (Kind::MalformedXml, Severity::Warning);
                    self.out(chunk)
                        .report_for(Some(compiled), kind, severity, span, "", "", "");
                    self.release(chunk, end);
                    return at + 1;
                }
                Verdict::Text(kind) => {
                    self.st.node = node;
                    self.st.mode = Mode::Flow;
                    if let Some(kind) = kind {
                        self.tell(chunk, opening.dialect, kind, Span::new(opening.start, end));
                    }
                    self.release(chunk, end);
                    return at + 1;
                }
                Verdict::Open { taken, closed } => {
                    at += usize::from(taken);
                    self.accept(chunk, opening, chunk.base + at as u64, closed);
                    return at;
                }
            }
        }
        at
    }

    /// Delivers what the marker that was none withheld, up to `end`.
    fn release(&mut self, chunk: Chunk<'_>, end: u64) {
        if self.flows() {
            let hold = self.scanner().dfa.hold(self.st.node) as u64;
            self.deliver(chunk, end - hold);
            self.natives_now(end);
        }
    }

    fn opens(&self, node: u16) -> bool {
        let roles = self
            .scanner()
            .dfa
            .hits(node)
            .iter()
            .filter_map(|pattern| self.role(*pattern));
        roles.into_iter().any(|role| match role {
            Role::Open { .. } | Role::Reasoning { .. } | Role::Span { .. } => true,
            Role::Close { .. } => false,
        })
    }

    fn verdict(&mut self, chunk: Chunk<'_>, opening: &mut Opening, byte: u8, end: u64) -> Verdict {
        let family = &self.dialect(opening.dialect).family;
        match &mut opening.at {
            At::Tag { blanks } => {
                if byte == b'<' {
                    return Verdict::Open {
                        taken: false,
                        closed: false,
                    };
                }
                if !xml::is_space(byte) {
                    return Verdict::Text(Some(Kind::LookalikeMarker));
                }
                *blanks += 1;
                if *blanks > PROBE_BLANKS {
                    Verdict::Text(Some(Kind::LookalikeMarker))
                } else {
                    Verdict::More
                }
            }
            At::Nameless {
                blanks,
                matched,
                alive,
            } => {
                let starts = nameless(family);
                if *matched == 0 && xml::is_space(byte) && *blanks < PROBE_BLANKS {
                    *blanks += 1;
                    return Verdict::More;
                }
                for (index, start) in starts.iter().enumerate().take(32) {
                    if start.as_bytes().get(usize::from(*matched)) != Some(&byte) {
                        *alive &= !(1 << index);
                    } else if *alive & (1 << index) != 0 && start.len() == usize::from(*matched) + 1
                    {
                        return Verdict::Text(Some(Kind::MissingName));
                    }
                }
                *matched += 1;
                if *alive == 0 {
                    Verdict::Text(Some(Kind::LookalikeMarker))
                } else {
                    Verdict::More
                }
            }
            At::Header { header, complete } => {
                let edge = *header == Header::Edge;
                match header.step(byte) {
                    // No value of a header holds the beginning of a tag: an unclosed quote ends here.
                    HeaderStep::More if byte == b'<' => Verdict::Unquoted,
                    HeaderStep::More
                        if end - opening.start > u64::from(self.opts.limits.max_header) =>
                    {
                        Verdict::Text(Some(Kind::LimitHeader))
                    }
                    HeaderStep::More => {
                        *complete |= *header == Header::AfterValue;
                        Verdict::More
                    }
                    HeaderStep::Bad if edge => Verdict::Text(None),
                    HeaderStep::Bad => Verdict::Text(Some(broken(*complete))),
                    HeaderStep::End { closed } => self.named(chunk, opening, end, closed),
                }
            }
        }
    }

    /// The tag is complete: does it name a tool?
    fn named(
        &mut self,
        chunk: Chunk<'_>,
        opening: &mut Opening,
        end: u64,
        closed: bool,
    ) -> Verdict {
        let family = &self.dialect(opening.dialect).family;
        let attributes = self.attributes(chunk, opening, end);
        let Some((_, name)) = attributes
            .iter()
            .find(|(key, _)| key == name_attribute(family))
        else {
            if closed {
                return Verdict::Text(Some(Kind::LookalikeMarker));
            }
            let alive = ((1_u64 << nameless(family).len().min(32)) - 1) as u32;
            opening.at = At::Nameless {
                blanks: 0,
                matched: 0,
                alive,
            };
            return if alive == 0 {
                Verdict::Text(Some(Kind::LookalikeMarker))
            } else {
                Verdict::More
            };
        };
        match tool_name(name, self.opts.limits.max_name) {
            Ok(_) => Verdict::Open {
                taken: true,
                closed,
            },
            Err(kind) => Verdict::Text(Some(kind)),
        }
    }

    fn attributes(&self, chunk: Chunk<'_>, opening: &Opening, end: u64) -> Vec<(String, String)> {
        let open = self
            .dialect(opening.dialect)
            .family
            .openers()
            .first()
            .map_or(0, String::len);
        let header = pieces(
            &self.st.io.carry,
            chunk.seg,
            chunk.base,
            opening.start + open as u64,
            end,
        )
        .concat_bytes();
        xml::attributes(&header)
    }

    /// The marker counts; its header ends at `end`.
    fn accept(&mut self, chunk: Chunk<'_>, opening: Opening, end: u64, closed: bool) {
        let Opening { dialect, start, at } = opening;
        let family = &self.dialect(dialect).family;
        let span = Span::new(start, end);
        match at {
            At::Header { .. } => {
                let mut meta = self.attributes(chunk, &opening, end);
                let key = name_attribute(family);
                let name = meta
                    .iter()
                    .position(|(have, _)| have == key)
                    .map(|n| meta.remove(n).1)
                    .unwrap_or_default();
                let name = name.trim();
                self.open(
                    chunk,
                    dialect,
                    Opened {
                        name,
                        meta: &meta,
                        span,
                        at: end,
                    },
                );
                if closed {
                    self.close_empty(chunk, end);
                }
            }
            At::Tag { .. } | At::Nameless { .. } => {
                self.open(
                    chunk,
                    dialect,
                    Opened {
                        name: "",
                        meta: &[],
                        span,
                        at: end,
                    },
                );
            }
        }
    }

    /// The opening tag closed itself.
    fn close_empty(&mut self, chunk: Chunk<'_>, end: u64) {
        let mut mode = std::mem::replace(&mut self.st.mode, Mode::Flow);
        if let Mode::Body(body) = &mut mode {
            // A call without parameters breaks no limit.
            let _ = body.close_empty(&mut self.out(chunk), end);
            self.close(chunk, end);
        } else {
            // A limit forbade the call; there is nothing to skip.
            self.flow_again(end);
        }
    }
}

fn broken(complete: bool) -> Kind {
    if complete {
        Kind::MalformedXml
    } else {
        Kind::LookalikeMarker
    }
}
