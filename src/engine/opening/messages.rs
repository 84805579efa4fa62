//! Headers of messages: their content, where they end, and what they open.

use super::{Candidate, CandidateAt, Opening, Verdict};
use toolglot_scan::lossy;
use toolglot_scan::path::Paths;

use crate::body::{Opened, name_in_id};
use crate::dialect::channels::{ALL_TOOLS, MAX_HEADER, in_header};
use crate::dialect::spec::{Channels, RouteKind};
use crate::dialect::{BESIDE, Begins, Dialect, Evidence, Family, channels};
use crate::engine::code::Code;
use crate::engine::machine::{Chunk, Machine};
use crate::engine::{Mode, Region};
use crate::event::{Event, Span};
use crate::kind::Kind;
use crate::limits::{Prefer, ToolChoice};

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
        match kind {
            Some(RouteKind::Call | RouteKind::Calls) => {
                self.st.candidates[index].at = CandidateAt::Ended { shows: true };
            }
            Some(RouteKind::Text | RouteKind::Reasoning)
                if self.st.region == Region::Text
                    && (!self.has_place(candidate.dialect, opening.start)
                        || self.is_in_fence(candidate.dialect, opening.start)) =>
            {
                self.st.candidates.remove(index);
                if self.st.candidates.is_empty() {
                    self.st.mode = Mode::Flow;
                    let span = Span::new(opening.start, end);
                    self.dialect_issue(chunk, opening.first, Kind::LookalikeMarker, span);
                    self.release(chunk, end);
                }
            }
            Some(RouteKind::Text | RouteKind::Reasoning)
                if self.is_in_sentence(candidate.dialect, opening.start) =>
            {
                self.st.candidates[index].at = CandidateAt::Words { pattern: None };
            }
            Some(_) if doubles(self.dialect(candidate.dialect)) => {
                let at = CandidateAt::Ended { shows: false };
                self.st.candidates = vec![Candidate { at, ..candidate }];
            }
            Some(_) => {
                self.st.candidates.clear();
                self.accept(chunk, opening, candidate, end, false);
            }
            None => {}
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
        let header = lossy(&header);
        let (header, _) = channels.spec.tidied(&header);
        self.kind_of(&channels.spec, &channels.spec.read(&header))
    }

    /// What a message with that header is. A part of another's message is what that message is.
    fn kind_of(&self, channels: &Channels, header: &channels::Header<'_>) -> Option<RouteKind> {
        let kind = channels.route(header)?;
        // A waiting token is assumed to be framing.
        let others = self.st.others.filter(|_| !self.awaits_closer());
        let others = others.filter(|_| !channels.names_author(header));
        Some(others.map_or(kind, |(kind, _)| kind))
    }

    /// Acts on a header that is complete before `end`. In the middle of a line it may only be mentioned, and so may one
    /// that lacks its beginning: a call must show itself after it, and other messages must not begin as the rest of a
    /// sentence does.
    fn routed(
        &self,
        chunk: Chunk<'_>,
        opening: &Opening,
        candidate: &mut Candidate,
        end: u64,
    ) -> Verdict {
        let rest = candidate.begins == Begins::Rest;
        let Some(kind) = self.route(chunk, opening, candidate, end) else {
            return Verdict::Text((!rest).then_some(Kind::MalformedHeader));
        };
        let calls = matches!(kind, RouteKind::Call | RouteKind::Calls);
        // No marker of the reply began the header, so none was asked whether calls count.
        let unasked = rest || candidate.end <= opening.start;
        if unasked && calls && !self.may_call(chunk, opening, candidate.dialect, end) {
            return Verdict::Text(Some(Kind::LookalikeMarker));
        }
        candidate.end = end;
        let doubles = doubles(self.dialect(candidate.dialect));
        candidate.at = if calls {
            let shows = rest || !self.has_place(candidate.dialect, opening.start);
            CandidateAt::Ended { shows }
        } else if self.is_in_fence(candidate.dialect, opening.start) {
            return Verdict::Text(Some(Kind::LookalikeMarker));
        } else if self.is_in_sentence(candidate.dialect, opening.start) {
            CandidateAt::Words { pattern: None }
        } else if doubles {
            CandidateAt::Ended { shows: false }
        } else {
            return Verdict::Open {
                taken: true,
                closed: false,
            };
        };
        Verdict::More
    }

    /// Whether the rest of a header that the prompt began may be that of a call.
    fn may_call(&self, chunk: Chunk<'_>, opening: &Opening, dialect: u16, end: u64) -> bool {
        let native = self.opts.prefer == Prefer::Native && self.st.native;
        let marker = self
            .end_of_header(chunk, dialect, (opening.start, end))
            .next();
        let start = marker.map_or(end, |marker| end - marker.len() as u64);
        let trusted = !self.opts.trusted_only || self.st.io.vouches(start);
        trusted && !native && self.opts.tool_choice != ToolChoice::None
    }

    /// The markers that end the headers of a dialect and this one.
    fn end_of_header(
        &self,
        chunk: Chunk<'_>,
        dialect: u16,
        (start, end): (u64, u64),
    ) -> impl Iterator<Item = &String> + Clone {
        let channels = self.dialect(dialect).channels.as_ref();
        let ends = channels.into_iter().flat_map(|channels| &channels.spec.end);
        let longest = ends.clone().map(String::len).max().unwrap_or_default();
        let last = self.bytes(chunk, start.max(end.saturating_sub(longest as u64)), end);
        ends.filter(move |marker| last.ends_with(marker.as_bytes()))
    }

    /// Consumes a byte after the header of a call: the marker that ends the header may be repeated. Otherwise the call
    /// begins, and if the header may only be mentioned, it must show itself.
    pub(super) fn ended(
        &self,
        chunk: Chunk<'_>,
        opening: &Opening,
        candidate: &mut Candidate,
        shows: bool,
        end: u64,
    ) -> Verdict {
        let after = self.bytes(chunk, candidate.end, end);
        let rest = after.trim_ascii_start();
        let near = (after.len() - rest.len()) as u64 <= BESIDE;
        let mut ends = self.end_of_header(chunk, candidate.dialect, (opening.start, candidate.end));
        if near && ends.clone().any(|marker| marker.as_bytes() == rest) {
            if end - opening.start > u64::from(self.opts.limits.max_header) {
                return Verdict::Text(None);
            }
            candidate.end = end;
            return Verdict::More;
        }
        if near && ends.any(|marker| marker.as_bytes().starts_with(rest)) {
            return Verdict::More;
        }
        match self.message_shows(candidate.dialect).filter(|_| shows) {
            Some(shows) => candidate.at = CandidateAt::Payload(shows.begin()),
            None => {
                return Verdict::Open {
                    taken: false,
                    closed: false,
                };
            }
        }
        let mut came = after.iter().zip(candidate.end + 1..);
        let decided = came.find_map(|(byte, end)| {
            let verdict = self.verdict(chunk, opening, candidate, *byte, end);
            (!matches!(verdict, Verdict::More)).then_some(verdict)
        });
        decided.unwrap_or(Verdict::More)
    }

    /// Whether the undecided marker is a complete header after which nothing shows a message.
    pub fn mentions_header(&self, chunk: Chunk<'_>, opening: &Opening) -> bool {
        let Some(end) = opening.inner.filter(|end| *end > opening.start) else {
            return false;
        };
        let header = self.bytes(chunk, opening.start, end);
        let mut markers = self.set.plan.headers.iter().flat_map(|header| &header.end);
        markers.any(|marker| header.ends_with(marker.as_bytes()))
    }

    /// What a call of a dialect must show after the header of its message.
    fn message_shows(&self, dialect: u16) -> Option<&Paths<Evidence>> {
        match &self.dialect(dialect).family {
            Family::Framed(table) => table.message.as_ref(),
            _ => None,
        }
    }

    /// Whether a header of a dialect at `start` is where messages begin: at the beginning of the reply or of a line, or right
    /// after something of its dialect.
    pub(super) fn has_place(&self, dialect: u16, start: u64) -> bool {
        let blank = self.st.region == Region::Text && self.st.blank;
        blank || self.begins() || self.follows(dialect, start) || self.st.io.vouches(start)
    }

    /// Whether a marker of a dialect at `start` is shown in a code fence of the text.
    pub fn is_in_fence(&self, dialect: u16, start: u64) -> bool {
        self.is_shown(dialect, start, Code::in_fence)
    }

    /// Whether a marker of a dialect at `start` is shown in the text's code, of a kind that `hides` it.
    pub fn is_shown(&self, dialect: u16, start: u64, hides: fn(Code) -> bool) -> bool {
        let mut code = self.st.code;
        code.settle();
        let shown = self.st.region == Region::Text && hides(code);
        shown && !self.follows(dialect, start) && !self.st.io.vouches(start)
    }

    /// Whether a header of a dialect at `start` is in the middle of a sentence.
    pub fn is_in_sentence(&self, dialect: u16, start: u64) -> bool {
        self.st.tail.in_sentence() && !self.has_place(dialect, start)
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
        let refs = &self.set.plan.opens[refs];
        let mut candidates = std::mem::take(&mut self.st.candidates);
        let mut found = false;
        for candidate in &mut candidates {
            found |= candidate.after_header() && inside < candidate.end;
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
            let part = lossy(&part);
            let looks = channels.spec.shaped(&channels.spec.tidied(&part).0)
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
                    return self.routed(chunk, opening, candidate, end);
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
        let kind = self.route(chunk, opening, candidate, end);
        let shows = self.message_shows(candidate.dialect);
        let (Some(RouteKind::Call), Some(shows)) = (kind, shows) else {
            return false;
        };
        candidate.end = end;
        candidate.at = CandidateAt::Payload(shows.begin());
        true
    }

    /// Notes that the header of another author, which began in its place, is none: a call after it may be that author's.
    pub(super) fn lost_header(&mut self, chunk: Chunk<'_>, opening: &Opening, end: u64) {
        // The reply may begin without a marker.
        let marked = opening.start < opening.end;
        let mentioned = || {
            self.is_in_sentence(opening.first, opening.start) || self.st.tail.bracket().is_some()
        };
        if !marked || self.set.header(opening.first).is_none() || mentioned() {
            return;
        }
        let Some(channels) = &self.dialect(opening.first).channels else {
            return;
        };
        let begun = self.bytes(chunk, opening.start, end);
        let len = begun.iter().take_while(|byte| in_header(**byte)).count();
        let header = lossy(&begun[..len]);
        let read = channels.spec.read(&header);
        let others = channels.spec.of_others(&read).is_some();
        self.st.broken_author |= others || channels.spec.is_unknown(&read);
    }

    /// Begins a message; `span` is its header.
    pub(super) fn message_begins(&mut self, chunk: Chunk<'_>, dialect: u16, span: Span) {
        let compiled = self.dialect(dialect);
        let Some(channels) = &compiled.channels else {
            return;
        };
        let header = self.bytes(chunk, span.start, span.end);
        let text = lossy(&header);
        let (text, odd) = channels.spec.tidied(&text);
        let mut read = channels.spec.read(&text);
        read.slipped |= odd;
        let kind = self
            .kind_of(&channels.spec, &read)
            .unwrap_or(RouteKind::Text);
        self.meet_block(chunk, dialect, span.start);
        if channels.spec.names_author(&read) {
            self.st.others = None;
            self.st.turn = None;
            self.st.broken_author = false;
        }
        if matches!(kind, RouteKind::Call | RouteKind::Calls) {
            read.unread |= self.st.broken_author;
        }
        let others = channels.spec.of_others(&read);
        self.st.others = self.st.others.or(others.map(|kind| (kind, dialect)));
        self.st.broken_author |= self.st.others.is_none() && channels.spec.is_unknown(&read);
        self.near_block(dialect, span.end);
        self.st.paired = None;
        // Code that begins in a message ends with it. A fence that shows a call goes on after it.
        let calls = matches!(kind, RouteKind::Call | RouteKind::Calls);
        if !(calls && self.st.code.in_fence()) {
            self.st.code = Code::default();
        }
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

/// Whether a marker that ends a header of a dialect could begin another one.
fn doubles(dialect: &Dialect) -> bool {
    let begins = |have: &Channels| have.end.iter().any(|end| have.start.contains(end));
    let channels = dialect.channels.as_ref();
    channels.is_some_and(|channels| begins(&channels.spec))
}
