//! Headers of messages: their content, where they end, and what they open.

use super::{Candidate, CandidateAt, Opening, Verdict};
use crate::body::{Opened, name_in_id};
use crate::dialect::channels::{ALL_TOOLS, MAX_HEADER, in_header};
use crate::dialect::spec::{Channels, RouteKind};
use crate::dialect::{Begins, Dialect, Family, channels};
use crate::engine::code::Code;
use crate::engine::machine::{Chunk, Machine};
use crate::engine::{Mode, Region};
use crate::error::Kind;
use crate::event::{Event, Span};

impl Machine<'_> {
    /// Acts on headers that are complete with their first marker. A call must show itself after such a header; for other
    /// messages there is no evidence, and the place decides.
    pub(super) fn whole_headers(&mut self, chunk: Chunk<'_>, opening: Opening, end: u64) {
        let marker = self.bytes(chunk, opening.start, end);
        let whole = self.st.candidates.iter().position(|candidate| {
            let channels = self.dialect(candidate.dialect).channels.as_ref();
            let ends = |have: &Channels| have.end.iter().any(|end| end.as_bytes() == marker);
            matches!(candidate.at, CandidateAt::Message { .. })
                && candidate.end == end
                && channels.is_some_and(|channels| ends(&channels.spec))
        });
        let Some(index) = whole else { return };
        let candidate = self.st.candidates[index];
        let kind = self.route(chunk, &opening, &candidate, end);
        let shows = match &self.dialect(candidate.dialect).family {
            Family::Framed(table) => table.message.as_ref(),
            _ => None,
        };
        match (kind, shows) {
            (Some(RouteKind::Call | RouteKind::Calls), Some(shows)) => {
                self.st.candidates[index].at = CandidateAt::Payload(shows.begin());
            }
            (Some(RouteKind::Text | RouteKind::Reasoning), _)
                if self.st.region == Region::Text
                    && !self.st.blank
                    && !self.begins()
                    && !self.follows(candidate.dialect, opening.start) =>
            {
                self.st.candidates.remove(index);
                if self.st.candidates.is_empty() {
                    self.st.mode = Mode::Flow;
                    let span = Span::new(opening.start, end);
                    self.dialect_issue(chunk, opening.first, Kind::LookalikeMarker, span);
                    self.release(chunk, end);
                }
            }
            (Some(_), _) => {
                self.st.candidates.clear();
                self.accept(chunk, opening, candidate, end, false);
            }
            (None, _) => {}
        }
    }

    /// What a message's header, which is complete before `end`, opens.
    pub(super) fn route(
        &self,
        chunk: Chunk<'_>,
        opening: &Opening,
        candidate: &Candidate,
        end: u64,
    ) -> Option<RouteKind> {
        let channels = self.dialect(candidate.dialect).channels.as_ref()?;
        let header = self.bytes(chunk, opening.start, end);
        let header = String::from_utf8_lossy(&header);
        let (header, _) = channels::joined(&header);
        channels.spec.route(&channels.spec.read(&header))
    }

    fn routed(
        &self,
        chunk: Chunk<'_>,
        opening: &Opening,
        candidate: &Candidate,
        end: u64,
    ) -> Verdict {
        match self.route(chunk, opening, candidate, end) {
            Some(_) => Verdict::Open {
                taken: true,
                closed: false,
            },
            None => Verdict::Text(Some(Kind::MalformedHeader)),
        }
    }

    /// Whether a marker that begins at `inside` is part of a message's header: it is one of the dialect's own, and the text
    /// before it looks like a header. A marker ends a part of the header, and no part is read twice.
    pub(super) fn in_header(
        &mut self,
        chunk: Chunk<'_>,
        opening: &Opening,
        refs: u16,
        inside: u64,
    ) -> bool {
        let refs = &self.set.opens[usize::from(refs)];
        let mut candidates = std::mem::take(&mut self.st.candidates);
        let mut found = false;
        for candidate in &mut candidates {
            let own = refs.iter().any(|open| open.dialect == candidate.dialect);
            let channels = self.dialect(candidate.dialect).channels.as_ref();
            let (CandidateAt::Message { shaped, .. }, Some(channels), true) =
                (&mut candidate.at, channels, own)
            else {
                continue;
            };
            let Some(to) = *shaped else { continue };
            // A marker around another one ends after it.
            let from = if to <= inside { to } else { opening.start };
            let part = self.bytes(chunk, from, inside);
            let part = String::from_utf8_lossy(&part);
            let looks = channels.spec.shaped(&channels::joined(&part).0)
                && !channels
                    .spec
                    .crowded(&self.bytes(chunk, opening.start, inside));
            found |= looks;
            if to <= inside {
                *shaped = looks.then_some(inside);
            }
        }
        self.st.candidates = candidates;
        found
    }

    /// Whether a marker that begins at `inside` is the first one of a header that lacks its beginning.
    pub(super) fn in_rest(&self, chunk: Chunk<'_>, opening: &Opening, inside: u64) -> bool {
        let rest = |candidate: &Candidate| candidate.begins == Begins::Rest;
        let word = || self.bytes(chunk, opening.start, inside.max(opening.start));
        self.st.candidates.iter().any(rest) && !word().contains(&b'<')
    }

    /// Consumes a byte of a message's header.
    pub(super) fn message(
        &self,
        chunk: Chunk<'_>,
        opening: &Opening,
        candidate: &mut Candidate,
        channels: &Channels,
        byte: u8,
        end: u64,
    ) -> Verdict {
        match &mut candidate.at {
            CandidateAt::First { have } => {
                let first = &channels.first;
                // The blank before the recipient may be missing, as in any header.
                let blanks = first.len() - first.trim_start_matches(' ').len();
                let skips = *have == 0 && byte != b' ';
                let at = if skips { blanks } else { usize::from(*have) };
                if first.as_bytes().get(at) != Some(&byte) {
                    return Verdict::Text(None);
                }
                *have = at as u8 + 1;
                if at + 1 == first.len() {
                    candidate.at = CandidateAt::Message {
                        from: end,
                        gap: false,
                        shaped: Some(opening.start),
                    };
                }
                Verdict::More
            }
            CandidateAt::Message { from, gap, .. } => {
                if end.saturating_sub(opening.start) > MAX_HEADER {
                    return Verdict::Text(Some(Kind::MalformedHeader));
                }
                let room = end.saturating_sub(*from);
                let ends =
                    |marker: &String| self.ends_with(chunk, marker.as_bytes(), byte, end, room);
                let complete = channels.end.iter().any(ends);
                if complete {
                    return self.routed(chunk, opening, candidate, end);
                }
                let ends_line = matches!(byte, b'\n' | b'\r' | b'\t');
                if !ends_line && (!in_header(byte) || *gap && !b" <".contains(&byte)) {
                    return match self.unended(chunk, opening, candidate, end - 1) {
                        true => self.verdict(chunk, opening, candidate, byte, end),
                        false => Verdict::Text(Some(Kind::MalformedHeader)),
                    };
                }
                *gap = ends_line || *gap && byte == b' ';
                Verdict::More
            }
            CandidateAt::Rest { marker } => {
                let from = match *marker {
                    Some(from) => from,
                    None if byte == b'<' => end - 1,
                    None if byte != b' ' && in_header(byte) => return Verdict::More,
                    None => return Verdict::Text(None),
                };
                *marker = Some(from);
                let mut came = self.bytes(chunk, from, end - 1);
                came.push(byte);
                let is = |marker: &String| marker.as_bytes() == came;
                if channels.end.iter().any(is) {
                    return self.rest_ends(chunk, opening, candidate, end);
                }
                if is(&channels.channel) {
                    candidate.at = CandidateAt::Message {
                        from: end,
                        gap: false,
                        shaped: Some(opening.start),
                    };
                    return Verdict::More;
                }
                let mut markers = channels.end.iter().chain([&channels.channel]);
                match markers.any(|marker| marker.as_bytes().starts_with(&came)) {
                    true if end.saturating_sub(opening.start) <= MAX_HEADER => Verdict::More,
                    true | false => Verdict::Text(None),
                }
            }
            _ => Verdict::Text(None),
        }
    }

    /// Whether an unterminated header is that of a call, which the byte at `end` may begin: the call must then show itself
    /// there.
    fn unended(
        &self,
        chunk: Chunk<'_>,
        opening: &Opening,
        candidate: &mut Candidate,
        end: u64,
    ) -> bool {
        let Family::Framed(table) = &self.dialect(candidate.dialect).family else {
            return false;
        };
        let kind = self.route(chunk, opening, candidate, end);
        let (Some(RouteKind::Call), Some(shows)) = (kind, &table.message) else {
            return false;
        };
        candidate.end = end;
        candidate.at = CandidateAt::Payload(shows.begin());
        true
    }

    /// Begins a message; `span` is its header.
    pub(super) fn message_begins(&mut self, chunk: Chunk<'_>, dialect: u16, span: Span) {
        let compiled = self.dialect(dialect);
        let Some(channels) = &compiled.channels else {
            return;
        };
        let header = self.bytes(chunk, span.start, span.end);
        let text = String::from_utf8_lossy(&header);
        let (text, gaps) = channels::joined(&text);
        let mut read = channels.spec.read(&text);
        read.slipped |= gaps;
        let kind = channels.spec.route(&read).unwrap_or(RouteKind::Text);
        self.meet_block(chunk, dialect, span.start);
        self.near_block(dialect, span.end);
        self.st.paired = None;
        // Code that begins in a message ends with it.
        self.st.code = Code::default();
        let reads = self.opts.reasoning.reads();
        self.st.mode = Mode::Flow;
        self.st.odd_header = read.unread;
        self.st.message = match kind {
            RouteKind::Text => true,
            RouteKind::Reasoning => !reads,
            // Its closer may be the block's.
            RouteKind::Calls => compiled.blocks_close > 0,
            RouteKind::Call | RouteKind::Result => false,
        };
        match kind {
            RouteKind::Reasoning if reads => {
                self.flow_end(chunk);
                self.out(chunk).event(Event::Reasoning {
                    data: &header,
                    span,
                    framing: true,
                });
                self.st.io.cursor.hold(span.end);
                let id = channels.reasoning;
                let region = Region::Reasoning {
                    id,
                    depth: 1,
                    start: span.start,
                    label: None,
                };
                self.enter(region, span.end);
                self.report_header(chunk, dialect, &read, span);
            }
            RouteKind::Reasoning | RouteKind::Text => {
                self.flow_end(chunk);
                self.framing(chunk, span.end);
                self.report_header(chunk, dialect, &read, span);
            }
            RouteKind::Result => {
                let opened = Opened {
                    name: "",
                    meta: &[],
                    span,
                    at: span.end,
                };
                self.invented(chunk, dialect, opened);
            }
            RouteKind::Call | RouteKind::Calls => {
                let name = match &compiled.family {
                    Family::Framed(table) if kind == RouteKind::Call => {
                        name_in_id(read.recipient, &table.spec.ids)
                    }
                    _ => "",
                };
                let meta = [("recipient".to_owned(), read.recipient.to_owned())];
                let opened = Opened {
                    name,
                    meta: if name == read.recipient { &[] } else { &meta },
                    span,
                    at: span.end,
                };
                self.open(chunk, dialect, opened);
                if kind == RouteKind::Calls {
                    self.announce(compiled, &read);
                }
                // In every dialect with such headers, the header of one call has a channel and an end.
                let lacks = read.channel.is_empty() || read.end.is_empty();
                let lacks = kind == RouteKind::Call && lacks;
                if read.slipped || lacks {
                    self.out(chunk).repaired(Kind::RepairedMarker, span);
                }
                if read.unread {
                    self.out(chunk).repaired(Kind::MalformedHeader, span);
                }
            }
        }
    }

    /// Remembers the tool that the header of calls names: the first call must have that name.
    fn announce(&mut self, dialect: &Dialect, read: &channels::Header<'_>) {
        let (Family::Framed(table), Some(channels)) = (&dialect.family, &dialect.channels) else {
            return;
        };
        let name = match channels.spec.recipient.is_empty() {
            true => read.role,
            false => name_in_id(read.recipient, &table.spec.ids),
        };
        let declared = |name| {
            let tools = self.opts.tools.as_ref();
            tools.is_some_and(|tools| tools.get(name).is_some())
        };
        let names = !name.is_empty() && (name != ALL_TOOLS || declared(name));
        if let Some(block) = self.st.io.block.as_mut().filter(|_| names) {
            block.announced = vec![("name".to_owned(), name.to_owned())];
        }
    }

    /// Reports errors in the header of a message that is not a call.
    fn report_header(
        &mut self,
        chunk: Chunk<'_>,
        dialect: u16,
        read: &channels::Header<'_>,
        span: Span,
    ) {
        if read.slipped {
            self.dialect_issue(chunk, dialect, Kind::RepairedMarker, span);
        }
        if read.unread {
            self.dialect_issue(chunk, dialect, Kind::MalformedHeader, span);
        }
    }

    /// Reports a message that is not a call but ends like one: a call may have been meant.
    pub fn ends_as_call(&mut self, chunk: Chunk<'_>, dialect: u16, span: Span) {
        if !std::mem::replace(&mut self.st.odd_header, true) {
            self.dialect_issue(chunk, dialect, Kind::MalformedHeader, span);
        }
    }
}
