//! Blocks that begin at the start of a line, and what is complete when the stream ends.

use toolglot_scan::path::{Hole, Walk};
use toolglot_scan::{Line, ROOT};

use super::{Candidate, CandidateAt};
use crate::body::Opened;
use crate::dialect::{Begins, Family, Head, NAME_MARKS};
use crate::engine::machine::{Chunk, Machine};
use crate::engine::{Mode, Region};
use crate::event::{Event, Span};
use crate::kind::Kind;

impl Machine<'_> {
    /// Whether the marker may be a token.
    pub fn looks_at_token(&self) -> bool {
        let token = |candidate: &Candidate| matches!(candidate.begins, Begins::Token(_));
        self.st.candidates.iter().any(token)
    }

    /// The token that is complete if the stream ends here, although a longer one may begin with it.
    pub fn complete_token(&self, end: u64) -> Option<Candidate> {
        let mut candidates = self.st.candidates.iter().copied();
        candidates.find_map(|candidate| {
            let (CandidateAt::Own(walk), Begins::Token(_)) = (candidate.at, candidate.begins)
            else {
                return None;
            };
            let id = self.set.plan.loose.paths().complete(&walk, end, b"")?;
            let counts = self.is_token_here(id);
            let begins = Begins::Token(id);
            counts.then_some(Candidate {
                begins,
                ..candidate
            })
        })
    }

    /// Whether a token has a meaning in the region: in a thought it must be one that ends the thought.
    pub(super) fn is_token_here(&self, id: u16) -> bool {
        match self.st.region {
            Region::Text => true,
            Region::Reasoning { id: thought, .. } => {
                let token = self.set.plan.tokens.get(usize::from(id));
                token.is_some_and(|token| token.ends.contains(&thought))
            }
            Region::Span { .. } => false,
        }
    }

    /// The header at the start of a line that is complete if the stream ends here.
    pub fn complete_head(&self, chunk: Chunk<'_>, end: u64) -> Option<Candidate> {
        let complete = |candidate: &&Candidate| {
            let (CandidateAt::Head(walk), Family::Line(table)) =
                (candidate.at, &self.dialect(candidate.dialect).family)
            else {
                return false;
            };
            let name = self.named_in(chunk, &walk);
            // A name is known to be complete if a tool has it.
            let tools = self.opts.tools.as_ref();
            let known = tools.is_some_and(|tools| tools.get(&name).is_some());
            if table.spec.offered && name.is_empty() {
                return tools.is_some() && self.acted(candidate.dialect);
            }
            known
                || (!table.spec.offered
                    && (table.heads.complete(&walk, end, b"").is_some() || table.is_null(&name)))
        };
        self.st.candidates.iter().find(complete).copied()
    }

    /// Whether lines of the dialect without a name follow an action: one of its own, if the set has many dialects.
    pub(super) fn acted(&self, dialect: u16) -> bool {
        match self.set.plan.chosen {
            true => self.st.io.valid > 0,
            false => self.st.acted.contains(&dialect),
        }
    }

    /// Acts on a header at the start of a line, which counts; `span` is what it consumed. Returns the bytes to read again.
    pub fn line_begins(
        &mut self,
        chunk: Chunk<'_>,
        dialect: u16,
        walk: &Walk,
        span: Span,
    ) -> Option<Vec<u8>> {
        let Family::Line(table) = &self.dialect(dialect).family else {
            return None;
        };
        let bytes = self.bytes(chunk, span.start, span.end);
        let name = self.named_in(chunk, walk);
        let kind = match (table.heads.complete(walk, span.end, b""), name.is_empty()) {
            (Some(kind), true) => kind,
            (_, false) | (None, true) => Head::Action,
        };
        self.meet_block(chunk, dialect, span.start);
        self.flow_end(chunk);
        if let Region::Reasoning { .. } = self.st.region {
            self.st.region = Region::Text;
            self.st.reasoned = true;
        }
        self.st.mode = Mode::Flow;
        let opened = Opened {
            name: &name,
            meta: &[],
            span,
            at: span.end,
        };
        match kind {
            Head::Thought if self.opts.reasoning.reads() => {
                self.out(chunk).event(Event::Reasoning {
                    data: &bytes,
                    span,
                    framing: true,
                });
                self.st.io.cursor.hold(span.end);
                let region = Region::Reasoning {
                    id: table.thoughts,
                    depth: 1,
                    start: span.start,
                    label: None,
                };
                self.enter(region, span.end);
                self.st.line = Line::Other;
            }
            Head::Thought => {
                self.deliver(chunk, span.end);
                self.st.node = ROOT;
            }
            Head::Answer if self.st.io.valid == 0 => {
                self.framing(chunk, span.end);
                self.st.line = Line::Other;
            }
            Head::Blob => {
                let (at, fenced) = table.blob(&bytes);
                let end = span.start + at as u64;
                self.open(
                    chunk,
                    dialect,
                    Opened {
                        span: Span::new(span.start, end),
                        at: end,
                        ..opened
                    },
                );
                if let Mode::Body(body) = &mut self.st.mode {
                    body.begin_blob(fenced);
                }
                return Some(self.rewind(chunk, end, span.end));
            }
            Head::Action => {
                self.open(chunk, dialect, opened);
                let before = walk.span(Hole::Name).start.saturating_sub(span.start);
                let before = bytes.get(..before as usize).unwrap_or_default();
                if before.last().is_some_and(|last| NAME_MARKS.contains(last)) {
                    self.out(chunk).repaired(Kind::RepairedMarker, span);
                }
                if table.is_null(&name) {
                    self.out(chunk).issue(Kind::NullAction, span, &name);
                }
            }
            _ => {
                self.open(chunk, dialect, opened);
                let issue = match kind {
                    Head::Answer => Kind::FinalAnswerWithAction,
                    _ => Kind::HallucinatedResult,
                };
                self.out(chunk).issue(issue, span, "");
            }
        }
        None
    }

    /// Whether the marker may begin the header of a message.
    pub fn heads(&self) -> bool {
        let heads =
            |one: &Candidate| matches!(one.at, CandidateAt::Message { .. }) || one.after_header();
        self.st.candidates.iter().any(heads)
    }

    /// Whether the marker is a complete header in the middle of a line, after which there must be a call.
    pub fn lacks_call(&self, start: u64) -> bool {
        self.st.candidates.iter().any(|one| {
            let shows = matches!(
                one.at,
                CandidateAt::Payload(_) | CandidateAt::Ended { shows: true }
            );
            shows && !self.has_place(one.dialect, start)
        })
    }

    /// The marker that ends a thought, or begins a message, unless something else follows.
    pub fn complete_unless(&self) -> Option<Candidate> {
        let mut candidates = self.st.candidates.iter();
        let quoted = |one: &&Candidate| {
            matches!(
                one.at,
                CandidateAt::Quoted { .. }
                    | CandidateAt::Words { .. }
                    | CandidateAt::Ended { shows: false }
            )
        };
        candidates.find(quoted).copied()
    }

    /// Whether the stream may end here without an issue.
    pub fn unborn(&self) -> bool {
        self.under_way().is_none()
    }

    /// The first dialect whose marker is complete and still fits.
    pub fn under_way(&self) -> Option<u16> {
        let born = |candidate: &&Candidate| {
            let dialect = self.dialect(candidate.dialect);
            !(candidate.unborn(&dialect.family)
                || candidate.bare(dialect)
                || candidate.in_partial_head(dialect))
        };
        self.st.candidates.iter().find(born).map(|c| c.dialect)
    }
}
