//! Markers inside the bytes read: the undecided marker may become longer, or be text before one that counts.

use super::candidate::bare;
use super::{Candidate, CandidateAt, Opening};
use crate::dialect::{BESIDE, Family, Role, TOGETHER};
use crate::engine::machine::{Chunk, Machine};
use crate::engine::{Mode, Region};
use crate::event::Span;
use crate::kind::Kind;

impl Machine<'_> {
    /// Whether the decided marker may become a longer one: then the longer one opens something, or nothing does. Irrelevant
    /// if nothing is reported of a marker that opens nothing.
    pub(super) fn grows(&self, opening: &Opening, end: u64) -> bool {
        let dfa = &self.scanner().dfa;
        !opening.bare && dfa.settled(self.st.node, end) == opening.start
    }

    /// Whether a pattern of the open thought precedes a part of the header that is being read.
    fn is_part(&self, pattern: u16) -> bool {
        let marker = &*self.scanner().dfa.patterns()[usize::from(pattern)].bytes;
        let part = |candidate: &Candidate| {
            let channels = self.dialect(candidate.dialect).channels.as_ref();
            matches!(candidate.at, CandidateAt::Message { .. })
                && channels.is_some_and(|channels| channels.spec.content.as_bytes() == marker)
        };
        self.st.candidates.iter().any(part)
    }

    /// Whether JSON that must show a call is being read, and the marker opens only such JSON, too.
    fn in_bare(&self, refs: u16) -> bool {
        let mut candidates = self.st.candidates.iter();
        let mut refs = self.set.plan.opens[refs].iter();
        candidates.any(|candidate| candidate.bare(self.dialect(candidate.dialect)))
            && refs.all(|opener| bare(self.dialect(opener.dialect), *opener).is_some())
    }

    /// Acts on markers that end before `end` while this one is undecided. Returns `None` if they change nothing, otherwise
    /// the bytes to read again, if any.
    pub(super) fn inner_marker(
        &mut self,
        chunk: Chunk<'_>,
        opening: &Opening,
        end: u64,
    ) -> Option<Option<Vec<u8>>> {
        let dfa = &self.scanner().dfa;
        let hits = dfa.hits(self.st.node);
        let mut inside = None;
        for pattern in hits {
            let start = end - dfa.len_of(*pattern) as u64;
            match self.role(*pattern) {
                Some(Role::Open { refs }) if start == opening.start => {
                    // A longer marker at the same place adds candidates.
                    let thinks = self.thinks();
                    let own = match thinks {
                        true => self.own_enders(refs),
                        false => self.set.plan.opens[refs].to_vec(),
                    };
                    self.candidates(chunk, &own, start, end, start);
                    if !matches!(self.st.mode, Mode::Opening(_)) {
                        return Some(None);
                    }
                }
                // Nested JSON is part of the JSON being read.
                Some(Role::Open { refs }) if self.in_bare(refs) => {}
                // A single byte begins many things; it is examined if this marker fails.
                Some(Role::Open { .. })
                    if dfa.len_of(*pattern) == 1 && !self.st.candidates.is_empty() =>
                {
                    if let Mode::Opening(opening) = &mut self.st.mode {
                        opening.inner = opening.inner.or(Some(start));
                    }
                }
                Some(Role::Open { refs }) if self.in_header(chunk, opening, refs, start) => {}
                Some(Role::Open { .. } | Role::Reasoning { .. } | Role::Span { .. }) => {
                    inside = Some(start);
                }
                Some(Role::Token { .. }) if start == opening.start => {
                    // A longer marker at the same place is framing.
                    self.st.candidates.clear();
                    self.st.mode = Mode::Flow;
                    self.markers(chunk, end);
                    self.release(chunk, end);
                    return Some(None);
                }
                None if self.in_rest(chunk, opening, start) => {}
                None if self.is_part(*pattern) => {}
                None if self.ends_here(*pattern) => inside = Some(start),
                // The token is examined if this marker fails. The content of a header is its own.
                Some(Role::Token { .. }) if self.dialect(opening.first).channels.is_none() => {
                    if let Mode::Opening(opening) = &mut self.st.mode {
                        opening.inner = opening.inner.or(Some(start));
                    }
                }
                Some(Role::Token { .. }) | None => {}
            }
        }
        let inside = inside?;
        let expected = self.st.candidates.iter().any(|candidate| {
            let Family::Framed(table) = &self.dialect(candidate.dialect).family else {
                return false;
            };
            let opener = candidate.begins.of(table);
            let probe = opener.and_then(|opener| opener.probe.as_ref());
            matches!((candidate.at, probe), (CandidateAt::Probe(walk), Some(probe))
                if walk.start().is_some_and(|start| start <= inside) && probe.literal(&walk))
        });
        if expected {
            if let Mode::Opening(opening) = &mut self.st.mode {
                opening.inner = opening.inner.or(Some(inside));
            }
            return None;
        }
        // The next marker begins inside: this one is text.
        self.st.candidates.clear();
        self.lost_header(chunk, opening, inside);
        if let Some(again) = self.second_token(chunk, opening, inside, end) {
            return Some(Some(again));
        }
        self.st.mode = Mode::Flow;
        self.untagged(opening);
        if let Some(marker) = self.has_twin(chunk, opening, end) {
            self.wait_twin(chunk, opening, marker);
            let opening = self.before_twin(chunk, *opening, marker, end);
            return Some(self.after_text(chunk, &opening, end));
        }
        let reported = !opening.bare && inside > opening.start;
        if reported || opening.unknown.is_some() {
            self.settle_twin(chunk, opening.start);
        }
        self.report_unknown(chunk, opening, end);
        if reported {
            let span = Span::new(opening.start, opening.start);
            self.was_text(opening.first, opening.start);
            self.dialect_issue(chunk, opening.first, Kind::LookalikeMarker, span);
        }
        Some(self.after_text(chunk, opening, end))
    }

    /// Continues after a marker that is text; another one ends before `end`. Returns the bytes to read again.
    fn after_text(&mut self, chunk: Chunk<'_>, opening: &Opening, end: u64) -> Option<Vec<u8>> {
        let again = self.read_again(chunk, opening, end);
        if again.is_none() {
            self.markers(chunk, end);
            self.release(chunk, end);
        }
        again
    }

    /// The opener that shows nothing and is repeated after it, with at most white space between: its last repetition decides
    /// which one counts. It is the marker, or the marker with the name that follows it: `<function=f>`. One in quotation
    /// marks is a mention.
    pub(super) fn has_twin(&self, chunk: Chunk<'_>, opening: &Opening, end: u64) -> Option<Span> {
        let plain = matches!(opening.kind, None | Some(Kind::LookalikeMarker));
        let plain = plain && !opening.bare && opening.unknown.is_none();
        let here = self.st.region == Region::Text && opening.start + 1 < opening.end;
        let most = (opening.end.saturating_sub(opening.start) + BESIDE) * (TOGETHER as u64 - 1);
        let free = match self.st.waiting {
            Some(waiting) => {
                let since = opening.start.checked_sub(waiting.first);
                waiting.twin && since.is_some_and(|since| since < most)
            }
            None => !self.st.tail.quoted() && self.st.from() == opening.start,
        };
        if !(opening.whole && plain && here && free && opening.end < end) {
            return None;
        }
        let looked = self.bytes(chunk, opening.start, end);
        let (marker, after) = looked.split_at_checked((opening.end - opening.start) as usize)?;
        // A marker that a name continues is only the beginning of an opener.
        let whole = matches!(marker.last(), Some(b'>' | b']')) && is_repeated(marker, after);
        if whole {
            return Some(Span::new(opening.start, opening.end));
        }
        let first = self.dialect(opening.first);
        let named = match first.family {
            Family::Framed(_) | Family::NamedParams(_) | Family::AttributeParams(_) => true,
            Family::KeyQuote(_) | Family::ElementTree(_) | Family::Line(_) | Family::Plain => false,
        };
        let begins = after.iter().rposition(|byte| Some(byte) == marker.first());
        let begins = begins.filter(|at| named && *at > 0)?;
        let (opener, again) = looked.split_at_checked(marker.len() + begins)?;
        // Not an opener if it contains another one.
        let alone = opening.start + opener.len() as u64;
        if opening.inner.is_some_and(|inner| inner < alone) {
            return None;
        }
        let opener = opener.trim_ascii_end();
        let near = marker.len() + begins - opener.len() <= BESIDE as usize;
        let span = Span::new(opening.start, opening.start + opener.len() as u64);
        // The beginning of a payload is not part of it.
        let ends = opener.last().is_some_and(|byte| {
            byte.is_ascii_alphanumeric() || *byte >= 0x80 || matches!(byte, b'_' | b'>' | b']')
        });
        let near = near && ends && !opener.contains(&b'{');
        (near && opener.len() > marker.len() && is_repeated(opener, again)).then_some(span)
    }

    /// Where the scan goes back to what was read after `marker`, it goes back to the repetition of the marker: whatever
    /// begins inside that one comes later.
    pub(super) fn before_twin(
        &self,
        chunk: Chunk<'_>,
        opening: Opening,
        marker: Span,
        end: u64,
    ) -> Opening {
        let after = self.bytes(chunk, marker.end, end);
        let blanks = after.len() - after.trim_ascii_start().len();
        let twin = marker.end + blanks as u64;
        Opening {
            inner: opening.inner.map(|inner| inner.min(twin)),
            ..opening
        }
    }
}

/// Whether a marker is repeated after itself, with at most white space between, as far as the repetition has come.
fn is_repeated(marker: &[u8], after: &[u8]) -> bool {
    let rest = after.trim_ascii_start();
    let near = (after.len() - rest.len()) as u64 <= BESIDE;
    near && (marker.starts_with(rest) || rest.starts_with(marker))
}
