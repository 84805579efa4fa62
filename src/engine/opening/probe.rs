//! Steps a candidate by one byte: it opens, continues, or is text.

use toolglot_scan::path::{Go, Hole, Walk};
use toolglot_scan::xml;
use toolglot_scan::xml::{Header, HeaderStep};
use toolglot_scan::{lossy, quote_after};

use super::candidate::{name_attribute, nameless};
use super::evidence::Shown as Shows;
use super::{Candidate, CandidateAt, MAX_SUFFIX, Opening, Verdict, member, opens};
use crate::body::tool_name;
use crate::dialect::bounds::{BARE, PROBE_BLANKS};
use crate::dialect::{Begins, Evidence, Family, Head, OpenRef, Opener};
use crate::engine::Region;
use crate::engine::bare::{Bare, Shown};
use crate::engine::machine::{Chunk, Machine};
use crate::event::Span;
use crate::hints::Tool;
use crate::kind::Kind;
use crate::limits::UnknownTool;

impl Machine<'_> {
    pub(super) fn verdict(
        &self,
        chunk: Chunk<'_>,
        opening: &Opening,
        candidate: &mut Candidate,
        byte: u8,
        end: u64,
    ) -> Verdict {
        if candidate.at == (CandidateAt::First { have: 0 })
            && !self.set.begins_reply(candidate.dialect, byte)
        {
            return Verdict::Text(None);
        }
        if let (
            CandidateAt::First { .. } | CandidateAt::Message { .. } | CandidateAt::Rest { .. },
            Some(channels),
        ) = (candidate.at, &self.dialect(candidate.dialect).channels)
        {
            return self.message(chunk, opening, candidate, &channels.spec, byte, end);
        }
        if let (CandidateAt::Own(walk), Begins::Token(_)) = (&mut candidate.at, candidate.begins) {
            let go = self.set.plan.loose.paths().step(walk, byte, end - 1, b"");
            return self.own_token(opening, candidate, go, end);
        }
        if let CandidateAt::Own(walk) = &mut candidate.at {
            let opener = OpenRef {
                dialect: candidate.dialect,
                begins: candidate.begins,
            };
            let paths = self.spelt(opener);
            let go = paths.map_or(Go::None, |paths| paths.step(walk, byte, end - 1, b""));
            return self.own_tag(opening, candidate, go, end);
        }
        let family = &self.dialect(candidate.dialect).family;
        let after = candidate.end;
        match &mut candidate.at {
            CandidateAt::Probe(walk) => {
                let Family::Framed(table) = family else {
                    return Verdict::Text(None);
                };
                let Some(opener) = candidate.begins.of(table) else {
                    return Verdict::Text(None);
                };
                let Some(probe) = &opener.probe else {
                    return Verdict::Text(None);
                };
                if end.saturating_sub(candidate.end) > u64::from(PROBE_BLANKS) {
                    return Verdict::Text(Some(Kind::LookalikeMarker));
                }
                // A single byte opens many things that resemble nothing.
                let look = (opener.literal.len() > 1).then_some(Kind::LookalikeMarker);
                let go = probe.step(walk, byte, end - 1, b"");
                let open = probe.in_hole(walk) && matches!(go, Go::More);
                // In a thought, a wrapper before it may be quoted: only a declared tool shows that the call is used.
                let name = walk.span(Hole::Name);
                let quotable = opener.bare && opener.typed && self.thinks();
                let quotable_tag = quotable && !opener.names.is_empty();
                let asked = opener.offered || quotable && !name.is_empty();
                if asked && !self.offered(chunk, name, open) {
                    return Verdict::Text(look);
                }
                match go {
                    Go::More if self.is_prose(chunk, opener, walk, byte, end) => {
                        Verdict::Text(look)
                    }
                    Go::More => Verdict::More,
                    Go::None
                        if self.guided_after(chunk, (&opener.literal, after), table, byte, end) =>
                    {
                        Verdict::Open {
                            taken: true,
                            closed: false,
                        }
                    }
                    Go::None => Verdict::Text(look),
                    Go::Found { taken, .. } if opener.json.is_some() => {
                        let start = end - u64::from(!taken);
                        let mut json = Bare::new(start);
                        let shown = match taken {
                            true => Shown::More,
                            false => json.step(byte, end - 1, false),
                        };
                        candidate.at = CandidateAt::Json(json);
                        if shown == Shown::More {
                            Verdict::More
                        } else {
                            Verdict::Text(None)
                        }
                    }
                    Go::Found { .. }
                        if quotable_tag && !self.names_tool(chunk, walk, &opener.names) =>
                    {
                        Verdict::Text(look)
                    }
                    Go::Found {
                        action: Evidence::Attribute,
                        ..
                    } if !self.has_attribute(chunk, walk, &opener.names) => Verdict::Text(look),
                    Go::Found { action, .. } => {
                        let name = self.word(chunk, walk.span(Hole::Name));
                        let tool = self.declared(&name);
                        let section = table.spec.section.is_some();
                        if byte == b'(' && name.contains(['[', ']']) {
                            // A link of Markdown is no call of Python.
                            return Verdict::Text(look);
                        }
                        let mere = action == Evidence::Name && tool.is_none() && !section;
                        if mere && self.is_placeholder(opener) {
                            return Verdict::Text(look);
                        }
                        // Among many formats, elements of other markup have the names of tools, too.
                        let alone =
                            opener.offered && opener.literal == "<" && !self.set.plan.chosen;
                        if alone && matches!(byte, b'<' | b'"' | b'\'') {
                            candidate.at = CandidateAt::FirstKey {
                                tool: walk.span(Hole::Name),
                                from: end,
                                quote: if byte == b'<' { 0 } else { byte },
                            };
                            Verdict::More
                        } else if alone && !self.fits_tool(chunk, tool, walk, byte) {
                            Verdict::Text(look)
                        } else if opens(opener, &name, tool.is_some()) {
                            Verdict::Open {
                                taken: true,
                                closed: false,
                            }
                        } else {
                            Verdict::Text(look)
                        }
                    }
                }
            }
            CandidateAt::FirstKey { tool, from, quote } => {
                self.first_key(chunk, *tool, Span::new(*from, end), *quote)
            }
            CandidateAt::Json(json) => {
                let Family::Framed(table) = family else {
                    return Verdict::Text(None);
                };
                let shown = match json.step(byte, end - 1, table.json.syntax.python) {
                    _ if end.saturating_sub(json.start) > u64::from(BARE) => {
                        json.called().map_or(Shown::None, Shown::Call)
                    }
                    Shown::Key(key) => {
                        let key = self.bytes(chunk, key.start, key.end);
                        match json.member(member(table, &key), &key) {
                            true => Shown::More,
                            false => Shown::None,
                        }
                    }
                    shown => shown,
                };
                let (name, alone) = match shown {
                    Shown::Call(name) => (name, false),
                    Shown::Definition(name, key) => {
                        let tool = self.tool_in_json(chunk, name);
                        if tool.is_none_or(|tool| tool.param(key).is_none()) {
                            return Verdict::Text(None);
                        }
                        (name, false)
                    }
                    Shown::Name(name) => (name, true),
                    Shown::More => return Verdict::More,
                    Shown::Key(_) | Shown::None => return Verdict::Text(None),
                };
                let tool = self.tool_in_json(chunk, name);
                // A name alone calls a tool that needs nothing else.
                if tool.is_some_and(|tool| !(alone && needs(tool))) {
                    Verdict::Open {
                        taken: true,
                        closed: false,
                    }
                } else if alone {
                    Verdict::Text(None)
                } else {
                    Verdict::Unknown(name)
                }
            }
            CandidateAt::Head(walk) => {
                let Family::Line(table) = family else {
                    return Verdict::Text(None);
                };
                let offered = table.spec.offered;
                match table.heads.step(walk, byte, end - 1, b"") {
                    _ if offered && self.opts.tools.is_none() => Verdict::Text(None),
                    _ if end.saturating_sub(opening.start)
                        > u64::from(self.opts.limits.max_header) =>
                    {
                        Verdict::Text(None)
                    }
                    Go::More => Verdict::More,
                    Go::None => Verdict::Text(None),
                    Go::Found { action, taken } => {
                        let name = walk.span(Hole::Name);
                        if name.len() > u64::from(self.opts.limits.max_name) {
                            return Verdict::Text(Some(Kind::LimitName));
                        }
                        let blob = action == Head::Blob;
                        let lone = name.is_empty() && !self.acted(candidate.dialect) && !blob;
                        // Among many formats, nothing shows that a result is invented before there was a thought or an
                        // action; if only declared tools count, before an action of one.
                        let thought = self.st.reasoned || self.st.region != Region::Text;
                        let result =
                            action == Head::Observation && !thought && !self.set.plan.chosen;
                        if lone && (offered || result) {
                            return Verdict::Text(None);
                        }
                        if offered && !name.is_empty() && !self.offered(chunk, name, false) {
                            return Verdict::Unknown(name);
                        }
                        Verdict::Open {
                            taken,
                            closed: false,
                        }
                    }
                }
            }
            CandidateAt::Suffix => self.suffix(chunk, after, byte, end),
            CandidateAt::Quoted { quote, came, .. } => {
                let close = quote_after(*quote);
                if close.get(usize::from(*came)) != Some(&byte) {
                    return Verdict::Open {
                        taken: false,
                        closed: false,
                    };
                }
                *came += 1;
                match usize::from(*came) == close.len() {
                    true => Verdict::Text(None),
                    false => Verdict::More,
                }
            }
            CandidateAt::Own(_)
            | CandidateAt::First { .. }
            | CandidateAt::Message { .. }
            | CandidateAt::Rest { .. } => Verdict::Text(None),
            CandidateAt::Payload(walk) => {
                let Family::Framed(table) = family else {
                    return Verdict::Text(None);
                };
                let long = end.saturating_sub(candidate.end) > u64::from(PROBE_BLANKS);
                match table
                    .message
                    .as_ref()
                    .map(|paths| paths.step(walk, byte, end - 1, b""))
                {
                    Some(Go::More) if !long => Verdict::More,
                    Some(Go::Found { .. }) => shown(Shows::Yes),
                    Some(Go::More | Go::None) | None => shown(Shows::No),
                }
            }
            CandidateAt::Ended { shows } => {
                let shows = *shows;
                self.ended(chunk, opening, candidate, shows, end)
            }
            CandidateAt::Words { .. } => {
                let after = self.bytes(chunk, after, end);
                shown(continues(self.st.tail.opening().map(quote_after), &after))
            }
            CandidateAt::Tag(tag) => {
                let Family::ElementTree(table) = family else {
                    return Verdict::Text(None);
                };
                let long =
                    end.saturating_sub(opening.start) > u64::from(self.opts.limits.max_header);
                shown(if long {
                    Shows::No
                } else {
                    tag.step(byte, table)
                })
            }
            CandidateAt::Field(field) => {
                let Family::KeyQuote(table) = family else {
                    return Verdict::Text(None);
                };
                let came = (end - 1).saturating_sub(candidate.end);
                shown(field.step(byte, table, came, self.opts.limits.max_lookahead))
            }
            CandidateAt::Nameless {
                blanks,
                matched,
                alive,
            } => {
                let (starts, param) = nameless(family);
                if *matched == 0 && xml::is_space(byte) && *blanks < PROBE_BLANKS {
                    *blanks += 1;
                    return Verdict::More;
                }
                for (index, start) in starts.iter().enumerate().take(32) {
                    if start.as_bytes().get(usize::from(*matched)) != Some(&byte) {
                        *alive &= !(1 << index);
                    } else if *alive & (1 << index) != 0 && start.len() == usize::from(*matched) + 1
                    {
                        return Verdict::Nameless {
                            params: !param.is_empty() && start.starts_with(param),
                        };
                    }
                }
                *matched += 1;
                if *alive == 0 {
                    Verdict::Text(Some(Kind::LookalikeMarker))
                } else {
                    Verdict::More
                }
            }
            CandidateAt::Header { header, complete } => {
                let edge = *header == Header::Edge;
                match header.step(byte) {
                    // No value of a header may contain `<`: an unclosed quote ends here.
                    HeaderStep::More if byte == b'<' => Verdict::Unquoted,
                    HeaderStep::More
                        if end.saturating_sub(opening.start)
                            > u64::from(self.opts.limits.max_header) =>
                    {
                        Verdict::Text(Some(Kind::LimitHeader))
                    }
                    HeaderStep::More => {
                        *complete |= *header == Header::AfterValue;
                        Verdict::More
                    }
                    HeaderStep::Bad if edge => Verdict::Text(None),
                    HeaderStep::Bad => Verdict::Text(Some(broken(*complete))),
                    HeaderStep::End { closed } => self.named(chunk, candidate, end, closed),
                }
            }
        }
    }

    /// Acts on a byte of a loose marker, which ends before `end`. After a complete one, the evidence for the plain marker
    /// must follow.
    fn own_tag(
        &self,
        opening: &Opening,
        candidate: &mut Candidate,
        go: Go<()>,
        end: u64,
    ) -> Verdict {
        let most = u64::from(PROBE_BLANKS.min(self.opts.limits.max_header));
        match go {
            Go::More if end.saturating_sub(opening.start) <= most => return Verdict::More,
            Go::More | Go::None => return Verdict::Text(Some(Kind::LookalikeMarker)),
            Go::Found { .. } => {}
        }
        let Begins::Tag(number) = candidate.begins else {
            return Verdict::Open {
                taken: true,
                closed: false,
            };
        };
        let opener = OpenRef {
            dialect: candidate.dialect,
            begins: Begins::Block(number),
        };
        let span = Span::new(opening.start, end);
        match Candidate::new(self.dialect(candidate.dialect), opener, span) {
            Some(plain) => {
                *candidate = Candidate {
                    loose: true,
                    ..plain
                };
                Verdict::More
            }
            None => Verdict::Open {
                taken: true,
                closed: false,
            },
        }
    }

    /// The attributes of the tag that a walk consumed.
    fn tag_attributes(&self, chunk: Chunk<'_>, walk: &Walk) -> Vec<(String, String)> {
        let tag = walk.span(Hole::Tag);
        xml::loose_attributes(&self.bytes(chunk, tag.start, tag.end))
    }

    /// Whether the tag that a walk consumed has an attribute with one of these names, or any attribute if there are none:
    /// without one it does not name a tool.
    fn has_attribute(&self, chunk: Chunk<'_>, walk: &Walk, names: &[String]) -> bool {
        let attributes = self.tag_attributes(chunk, walk);
        let mut attributes = attributes.iter();
        attributes.any(|(key, _)| names.is_empty() || names.contains(key))
    }

    /// Whether a mere name between markers that people type stands for what belongs there, as its tool is not declared: among many
    /// formats, if other tools are declared or if it is a word of a sentence.
    fn is_placeholder(&self, opener: &Opener) -> bool {
        let word = self.st.tail.in_sentence() && self.st.tail.ends_blank();
        // Unless the host says what becomes of such calls.
        let open = !matches!(
            self.opts.unknown_tool,
            Some(UnknownTool::Deliver | UnknownTool::Drop)
        );
        let others = self.opts.tools.is_some() && open;
        opener.typed && !self.set.plan.chosen && (word || others)
    }

    /// Whether the attribute of a tag that names its tool, if the tag has one, names a declared tool.
    fn names_tool(&self, chunk: Chunk<'_>, walk: &Walk, names: &[String]) -> bool {
        let attributes = self.tag_attributes(chunk, walk);
        let name = attributes.iter().find(|(key, _)| names.contains(key));
        name.is_none_or(|(_, name)| self.declared(name).is_some())
    }

    /// Whether a name after a marker that people type is prose: its last byte is not ASCII, and no declared tool's name
    /// begins with it.
    fn is_prose(&self, chunk: Chunk<'_>, opener: &Opener, walk: &Walk, byte: u8, end: u64) -> bool {
        let name = walk.span(Hole::Name);
        if byte < 0x80 || !opener.typed || name.end != end {
            return false;
        }
        let word = self.bytes(chunk, name.start, name.end);
        let tools = self.opts.tools.as_deref();
        !tools.is_some_and(|tools| tools.names().any(|tool| tool.as_bytes().starts_with(&word)))
    }

    /// Whether what a probe found in a tag that is named like a tool can be a call of it, if it is no key in a tag or in quotes: a
    /// key of a line, or nothing at all where the tool needs nothing.
    fn fits_tool(&self, chunk: Chunk<'_>, tool: Option<&Tool>, walk: &Walk, byte: u8) -> bool {
        tool.is_some_and(|tool| match byte {
            b'/' | b'>' => !needs(tool),
            b':' => {
                let key = self.word(chunk, walk.span(Hole::Key));
                tool.params.is_empty() || tool.param(&key).is_some()
            }
            _ => false,
        })
    }

    /// What a hole holds: nothing if the pattern does not have it.
    fn word(&self, chunk: Chunk<'_>, span: Span) -> String {
        let bytes = match span.is_empty() {
            true => vec![],
            false => self.bytes(chunk, span.start, span.end),
        };
        lossy(&bytes).into_owned()
    }

    /// The declared tool that a JSON string names.
    fn tool_in_json(&self, chunk: Chunk<'_>, name: Span) -> Option<&Tool> {
        let tools = self.opts.tools.as_deref()?;
        match name.is_empty() {
            true => None,
            false => tools.in_json(&self.bytes(chunk, name.start, name.end)),
        }
    }

    /// The declared tool of this name.
    fn declared(&self, name: &str) -> Option<&Tool> {
        self.opts.tools.as_deref()?.get(name)
    }

    /// Steps the first key in a tag that is named like a tool: it must be a parameter of the tool, if any is declared. The
    /// tag's closer may come first if the tool needs no parameter.
    fn first_key(&self, chunk: Chunk<'_>, tool: Span, read: Span, quote: u8) -> Verdict {
        let Some(tool) = self.declared(&self.word(chunk, tool)) else {
            return Verdict::Text(None);
        };
        let read = self.bytes(chunk, read.start, read.end);
        let untold = tool.params.is_empty();
        let closes = quote == 0 && read == b"/" && !needs(tool);
        let ends = |byte: u8| match quote {
            0 => matches!(byte, b'>' | b'/') || byte.is_ascii_whitespace(),
            quote => byte == quote,
        };
        let mut keys = tool.params.iter().map(|param| param.name.as_bytes());
        let whole = |key: &[u8]| read.strip_prefix(key).is_some_and(|rest| rest.len() == 1);
        if untold
            || closes
            || read.last().is_some_and(|last| ends(*last)) && keys.clone().any(whole)
        {
            Verdict::Open {
                taken: true,
                closed: false,
            }
        } else if keys.any(|key| key.starts_with(&read)) {
            Verdict::More
        } else {
            Verdict::Text(None)
        }
    }

    /// Whether a name is declared or, if it is still `open`, the beginning of a declared one.
    pub(super) fn offered(&self, chunk: Chunk<'_>, name: Span, open: bool) -> bool {
        let Some(tools) = &self.opts.tools else {
            return false;
        };
        if name.is_empty() {
            // The name has not come yet, or the probe does not ask for it.
            return true;
        }
        tools.offers(&self.bytes(chunk, name.start, name.end), open)
    }

    /// Consumes a byte of the suffix, which begins at `from`, in a marker of a thought. Inside the thought it must equal the
    /// opener's suffix, if that is known.
    pub(super) fn suffix(&self, chunk: Chunk<'_>, from: u64, byte: u8, end: u64) -> Verdict {
        let word = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        let len = (end - 1).saturating_sub(from);
        if word && len < MAX_SUFFIX {
            return Verdict::More;
        }
        let closes = matches!(self.st.region, Region::Reasoning { .. });
        let own = !closes
            || self.st.suffix.is_empty()
            || self.bytes(chunk, from, end - 1) == self.st.suffix;
        match byte == b'>' && len > 0 && own {
            true => Verdict::Open {
                taken: true,
                closed: false,
            },
            false => Verdict::Text(None),
        }
    }

    /// Whether a marker ends at `end`, within the last `room` bytes, of which `last` is the last.
    pub(super) fn ends_with(
        &self,
        chunk: Chunk<'_>,
        marker: &[u8],
        last: u8,
        end: u64,
        room: u64,
    ) -> bool {
        let len = marker.len() as u64;
        let may = len <= room && marker.last() == Some(&last);
        may && self.bytes(chunk, end - len, end) == marker
    }

    /// Whether the complete tag names a tool.
    fn named(
        &self,
        chunk: Chunk<'_>,
        candidate: &mut Candidate,
        end: u64,
        closed: bool,
    ) -> Verdict {
        let family = &self.dialect(candidate.dialect).family;
        let attributes = self.attributes(chunk, candidate, end);
        let Some((_, name)) = attributes
            .iter()
            .find(|(key, _)| key == name_attribute(family))
        else {
            if closed {
                return Verdict::Text(Some(Kind::LookalikeMarker));
            }
            let alive = ((1_u64 << nameless(family).0.len().min(32)) - 1) as u32;
            candidate.at = CandidateAt::Nameless {
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

    pub(super) fn attributes(
        &self,
        chunk: Chunk<'_>,
        candidate: &Candidate,
        end: u64,
    ) -> Vec<(String, String)> {
        xml::attributes(&self.bytes(chunk, candidate.end, end))
    }
}

/// Whether a word looks like the name of a tool and not like prose.
pub(super) fn like_a_name(word: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || "_-.:/".contains(c);
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && word.chars().all(inner)
}

/// Whether what follows the header of a message begins it, and does not continue a sentence around the header. `quote`
/// closes the quotation mark that precedes the header.
fn continues(quote: Option<&[u8]>, after: &[u8]) -> Shows {
    const MARKS: [&str; 6] = ["，", "。", "；", "：", "、", "）"];
    let marks = MARKS.iter().map(|mark| mark.as_bytes());
    if let Some(quote) = quote {
        if after.starts_with(quote) {
            return Shows::No;
        }
        if quote.starts_with(after) {
            return Shows::More;
        }
    }
    match after {
        [b' ', ..] => Shows::No,
        [b',' | b'.' | b';' | b':' | b'?' | b'!' | b')'] => Shows::More,
        [b',' | b'.' | b';' | b':' | b'?' | b'!' | b')', next, ..] => {
            match next.is_ascii_whitespace() || *next == b'<' {
                true => Shows::No,
                false => Shows::Yes,
            }
        }
        _ if marks.clone().any(|mark| after == mark) => Shows::No,
        _ if marks.clone().any(|mark| mark.starts_with(after)) => Shows::More,
        _ => Shows::Yes,
    }
}

fn shown(shown: Shows) -> Verdict {
    match shown {
        Shows::More => Verdict::More,
        Shows::Yes => Verdict::Open {
            taken: true,
            closed: false,
        },
        Shows::No => Verdict::Text(Some(Kind::LookalikeMarker)),
    }
}

fn broken(complete: bool) -> Kind {
    if complete {
        Kind::MalformedXml
    } else {
        Kind::LookalikeMarker
    }
}

/// Whether a tool has a required parameter.
fn needs(tool: &Tool) -> bool {
    tool.params.iter().any(|param| param.required)
}
