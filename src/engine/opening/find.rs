//! Finds the dialects that may own a complete marker.

use toolglot_scan::path::Paths;

use super::candidate::{bare, unborn, whole_opener};
use super::{Candidate, CandidateAt, Opening};
use crate::body::Opened;
use crate::dialect::spec::ReasoningAt;
use crate::dialect::{Begins, Family, OpenRef};
use crate::engine::link::InLink;
use crate::engine::machine::{Chunk, Machine};
use crate::engine::{Mode, Region};
use crate::event::Span;
use crate::kind::Kind;

impl Machine<'_> {
    /// Acts on a complete marker `start..end`; text up to `safe` is decided. Returns true if it opens a block or may do so.
    pub fn candidates(
        &mut self,
        chunk: Chunk<'_>,
        refs: &[OpenRef],
        start: u64,
        end: u64,
        safe: u64,
    ) -> bool {
        let mut opening = match self.st.mode {
            Mode::Opening(opening) if opening.start == start => Some(opening),
            _ => None,
        };
        if safe < start {
            // A marker that is under way takes precedence over one inside it.
            self.displace(Span::new(start, end));
            return false;
        }
        let mut reported = opening.is_some();
        for opener in refs {
            let thought = match opener.begins {
                Begins::Thought(id) => {
                    let inside = matches!(self.st.region, Region::Reasoning { .. });
                    if inside
                        && self.opens(chunk, id, start, end)
                        && !self.echoes(chunk, start, safe)
                    {
                        continue;
                    }
                    Some(id)
                }
                Begins::Mark(number) => {
                    let mark = &self.set.plan.marks[usize::from(number)];
                    let (id, closes) = (mark.id, mark.closes);
                    let inside = matches!(self.st.region, Region::Reasoning { .. });
                    let echo = inside && !closes && self.echoes(chunk, start, safe);
                    if closes != inside && !echo {
                        continue;
                    }
                    Some(id)
                }
                Begins::Block(_)
                | Begins::Tag(_)
                | Begins::Message
                | Begins::Rest
                | Begins::Token(_) => None,
            };
            let whose = (opener.dialect, thought);
            let token = matches!(opener.begins, Begins::Token(_));
            let call = matches!(opener.begins, Begins::Block(_) | Begins::Tag(_));
            if token {
                self.deliver(chunk, start.min(safe));
            } else if call && self.is_of_others(chunk, start.min(safe)) {
                // Only the model calls tools.
                let said = reported || bare(self.dialect(opener.dialect), *opener).is_some();
                if !said {
                    reported = true;
                    let (kind, span) = (Kind::LookalikeMarker, Span::new(start, end));
                    self.dialect_issue(chunk, opener.dialect, kind, span);
                }
                continue;
            } else {
                // `</ ` may begin any tag, and where it does not count nobody waits for what follows.
                let names = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
                let any = matches!(opener.begins, Begins::Mark(_))
                    && !self.bytes(chunk, start, end).iter().any(names);
                let span = Span::new(start, end);
                if !self.counts(chunk, whose, span, safe, reported || any) {
                    reported |= !any;
                    continue;
                }
            }
            let compiled = self.dialect(opener.dialect);
            let must_show = bare(compiled, *opener);
            let head = matches!(compiled.family, Family::Line(_));
            let displaced = must_show.is_some_and(|bare| !self.may_show(bare.at))
                || (head && !token && !self.begins());
            let mut candidate = Candidate::new(compiled, *opener, Span::new(start, end));
            if let Some(CandidateAt::Own(walk)) =
                candidate.as_mut().map(|candidate| &mut candidate.at)
            {
                let bytes = self.bytes(chunk, start, end);
                match self.spelt(*opener) {
                    Some(paths) => {
                        paths.seek(walk, &bytes, end);
                    }
                    None => {
                        self.set.plan.loose.paths().seek(walk, &bytes, end);
                    }
                }
            }
            if displaced {
                continue;
            }
            if opening.is_none() {
                self.st.candidates.clear();
            }
            let opening = opening.get_or_insert(Opening::new(start, opener.dialect));
            opening.count += 1;
            let whole = whole_opener(compiled, *opener);
            opening.whole = whole || opening.whole && end <= opening.end;
            opening.end = opening.end.max(end);
            // A single byte is not reported, either.
            let unborn = unborn(opener.begins);
            opening.bare &= must_show.is_some() || end == start + 1 || unborn;
            match candidate {
                // An exactly spelled marker takes precedence over a loose one.
                Some(candidate) if candidate.loose => self.st.candidates.push(candidate),
                Some(candidate) => {
                    let others = self.st.candidates.iter();
                    let at = others.take_while(|other| !other.loose).count();
                    self.st.candidates.insert(at, candidate);
                }
                None => {
                    self.st.candidates.clear();
                    self.deliver(chunk, start);
                    self.adopt(start);
                    let span = Span::new(start, end);
                    // No byte after the marker has come that could show a link.
                    if matches!(
                        self.in_link(chunk, opener.dialect, span, end),
                        InLink::Waits
                    ) {
                        return true;
                    }
                    let opened = Opened {
                        name: "",
                        meta: &[],
                        span,
                        at: end,
                    };
                    self.open(chunk, opener.dialect, opened);
                    return true;
                }
            }
        }
        let Some(opening) = opening else {
            // The beginning of a thought's marker or of a token does not pair with anything, nor does what begins many
            // things.
            let pairs = |opener: &&OpenRef| {
                let mark = matches!(opener.begins, Begins::Mark(_) | Begins::Token(_));
                !mark && bare(self.dialect(opener.dialect), **opener).is_none()
            };
            let opener = refs.iter().find(pairs).filter(|_| end > start + 1);
            if let Some(opener) = opener.filter(|_| start <= safe) {
                // The waiting opener is not repeated, and it came first.
                self.settle_twin(chunk, start);
                self.was_text(opener.dialect, start);
            }
            return false;
        };
        // A longer marker that began earlier is given up.
        self.deliver(chunk, start);
        self.adopt(start);
        self.st.mode = Mode::Opening(opening);
        self.whole_headers(chunk, opening, end);
        true
    }

    /// Whether `start..end` is the beginning of a thought's opener with a suffix.
    pub(super) fn opens(&self, chunk: Chunk<'_>, thought: u16, start: u64, end: u64) -> bool {
        let marker = self.bytes(chunk, start, end);
        self.set.plan.reasoning[usize::from(thought)].opens_with_suffix(&marker)
    }

    /// The patterns of a loose marker.
    pub(super) fn spelt(&self, opener: OpenRef) -> Option<&Paths<()>> {
        match opener.begins {
            Begins::Tag(number) => {
                let spelt = &self.dialect(opener.dialect).spelt;
                spelt.get(usize::from(number))?.as_ref()
            }
            Begins::Mark(number) => Some(self.set.plan.marks.get(usize::from(number))?.paths()),
            Begins::Block(_)
            | Begins::Message
            | Begins::Rest
            | Begins::Thought(_)
            | Begins::Token(_) => None,
        }
    }

    /// Whether an opener that must show a call is at a place where it may.
    fn may_show(&self, at: ReasoningAt) -> bool {
        let here = self.counts_at(at);
        // An opener that waits for its repetition is text if something else follows.
        let here = here && !self.st.waiting.is_some_and(|waiting| waiting.twin);
        // Without declared tools it could not call anything.
        here && self.opts.tools.is_some()
    }
}
