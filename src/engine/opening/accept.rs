//! A candidate is satisfied: its block, region or message begins.

use toolglot_scan::path::{Go, Hole, Walk};
use toolglot_scan::{ROOT, lossy, quote_after};

use super::candidate::name_attribute;
use super::{Candidate, CandidateAt, Opening, Verdict};
use crate::body::Opened;
use crate::dialect::bounds::PROBE_BLANKS;
use crate::dialect::{Begins, Family, Opener};
use crate::engine::machine::{Chunk, Machine};
use crate::engine::{Mode, Region, Shown};
use crate::event::{Event, Span};
use crate::kind::Kind;

impl Machine<'_> {
    /// The same for a token.
    pub(super) fn own_token(
        &self,
        opening: &Opening,
        candidate: &mut Candidate,
        go: Go<u16>,
        end: u64,
    ) -> Verdict {
        let most = u64::from(PROBE_BLANKS.min(self.opts.limits.max_header));
        let (id, taken) = match go {
            Go::More if end.saturating_sub(opening.start) <= most => return Verdict::More,
            Go::More | Go::None => return Verdict::Text(None),
            Go::Found { action, taken } => (action, taken),
        };
        candidate.begins = Begins::Token(id);
        match self.is_token_here(id) {
            true => Verdict::Open {
                taken,
                closed: false,
            },
            false => Verdict::Text(None),
        }
    }

    /// Decides a complete loose token as if it were spelled exactly.
    fn loose_token(&mut self, chunk: Chunk<'_>, id: u16, span: Span) {
        self.st.mode = Mode::Flow;
        if let Region::Reasoning { id: thought, .. } = self.st.region {
            self.flow_end(chunk);
            self.st.reasoned = true;
            self.enter(Region::Text, span.start);
            self.near_thought(thought, span.start);
        }
        let dfa = &self.set.text.dfa;
        let looked = self.bytes(chunk, span.start, span.end);
        let node = looked.iter().fold(ROOT, |node, byte| dfa.next(node, *byte));
        self.st.node = node;
        let safe = dfa.settled(node, span.end);
        let waiting = self.st.waiting;
        if waiting.is_some_and(|waiting| !waiting.twin && waiting.start() == span.start) {
            // A token that begins with the waiting one.
            self.longer_token(id, span.start, span.end);
            self.release(chunk, span.end);
        } else if !self.token(chunk, id, span.start, span.end, safe) {
            self.release(chunk, span.end);
        }
    }

    /// Ends the open thought, if any, before a message with the header `span`. Returns false if the thought only quotes the
    /// message.
    fn ends_thought(&mut self, chunk: Chunk<'_>, span: Span) -> bool {
        let Region::Reasoning { .. } = self.st.region else {
            return true;
        };
        if let Some(shown) = self.quotes(span.start) {
            self.st.mode = Mode::Flow;
            self.st.node = ROOT;
            self.deliver(chunk, span.end);
            self.st.shown = Some(shown);
            return false;
        }
        self.flow_end(chunk);
        self.st.reasoned = true;
        self.enter(Region::Text, span.start);
        true
    }

    /// How the open thought quotes what begins at `start`, if it does.
    pub fn quotes(&mut self, start: u64) -> Option<Shown> {
        if self.st.io.vouches(start) {
            return None;
        }
        self.st.code.settle();
        if self.st.code.hides() {
            return Some(Shown::InCode);
        }
        // A backtick that does not begin code has ended it.
        let quote = self.st.tail.opening();
        let quote = quote.filter(|quote| quote_after(*quote) != b"`");
        quote.map(Shown::Quoted)
    }

    /// Lets a marker wait that ends the open thought and follows a quotation mark.
    pub fn await_quote(&mut self, chunk: Chunk<'_>, pattern: Option<u16>, marker: Span, quote: u8) {
        let at = CandidateAt::Quoted {
            pattern,
            quote,
            came: 0,
        };
        self.await_after(chunk, marker, at);
    }

    /// Lets a marker wait that ends the open thought, if it is in the middle of a sentence, for what follows it. Returns
    /// whether it does.
    pub fn await_words(&mut self, chunk: Chunk<'_>, pattern: u16, marker: Span) -> bool {
        self.deliver(chunk, marker.start);
        let Region::Reasoning { id, .. } = self.st.region else {
            return false;
        };
        let dialect = self.set.plan.reasoning[usize::from(id)].dialect;
        let waits = self.is_in_sentence(dialect, marker.start);
        if waits {
            let pattern = Some(pattern);
            self.await_after(chunk, marker, CandidateAt::Words { pattern });
        }
        waits
    }

    /// Lets a marker wait that ends the open thought, for what follows it.
    fn await_after(&mut self, chunk: Chunk<'_>, marker: Span, at: CandidateAt) {
        let Region::Reasoning { id, .. } = self.st.region else {
            return;
        };
        let dialect = self.set.plan.reasoning[usize::from(id)].dialect;
        self.deliver(chunk, marker.start);
        self.adopt(marker.start);
        self.st.candidates = vec![Candidate {
            dialect,
            begins: Begins::Thought(id),
            end: marker.end,
            loose: false,
            at,
        }];
        self.st.mode = Mode::Opening(Opening {
            end: marker.end,
            count: 1,
            ..Opening::new(marker.start, dialect)
        });
    }

    /// Opens a thought, or closes the open one, with a complete loose marker.
    fn thought_mark(&mut self, chunk: Chunk<'_>, id: u16, span: Span, suffix: Vec<u8>) {
        self.st.mode = Mode::Flow;
        if let Region::Reasoning { depth, start, .. } = self.st.region
            && depth > 1
        {
            self.st.region = Region::Reasoning {
                id,
                depth: depth - 1,
                start,
                label: None,
            };
            self.st.node = ROOT;
            self.deliver(chunk, span.end);
            return;
        }
        let closes = matches!(self.st.region, Region::Reasoning { .. });
        if !closes {
            self.meet_thought(chunk, id, span.start);
        }
        self.thought_framing(chunk, span);
        if closes {
            self.st.reasoned = true;
            self.leave(chunk, span.end);
            return;
        }
        self.st.suffix = suffix;
        let region = Region::Reasoning {
            id,
            depth: 1,
            start: span.start,
            label: self.set.plan.reasoning[usize::from(id)].label(),
        };
        self.enter(region, span.end);
    }

    /// Emits a complete marker of a thought, which is not part of it.
    fn thought_framing(&mut self, chunk: Chunk<'_>, span: Span) {
        let data = self.bytes(chunk, span.start, span.end);
        self.flow_end(chunk);
        self.out(chunk).event(Event::Reasoning {
            data: &data,
            span,
            framing: true,
        });
        self.st.io.cursor.hold(span.end);
    }

    /// Acts on a repetition of the open thought's opener, which was in the prompt.
    pub fn thought_again(&mut self, chunk: Chunk<'_>, id: u16, span: Span) {
        let Region::Reasoning { depth, start, .. } = self.st.region else {
            return;
        };
        self.st.mode = Mode::Flow;
        self.thought_framing(chunk, span);
        let region = Region::Reasoning {
            id,
            depth,
            start,
            label: self.set.plan.reasoning[usize::from(id)].label(),
        };
        self.enter(region, span.end);
    }

    /// Acts on the candidate, whose marker counts; it has read up to `end`. Returns the bytes to read again: those that a
    /// probe read belong to the body.
    pub fn accept(
        &mut self,
        chunk: Chunk<'_>,
        opening: Opening,
        candidate: Candidate,
        end: u64,
        closed: bool,
    ) -> Option<Vec<u8>> {
        let Candidate {
            dialect, at, loose, ..
        } = candidate;
        if !matches!(candidate.begins, Begins::Token(_)) {
            self.st.untagged = None;
        }
        let family = &self.dialect(dialect).family;
        let span = Span::new(opening.start, end);
        let mut again = None;
        match at {
            CandidateAt::Message { .. } | CandidateAt::First { .. } | CandidateAt::Rest { .. } => {
                if self.ends_thought(chunk, span) {
                    self.message_begins(chunk, dialect, span);
                }
            }
            CandidateAt::Head(walk) => again = self.line_begins(chunk, dialect, &walk, span),
            CandidateAt::Header { .. } => {
                let mut meta = self.attributes(chunk, &candidate, end);
                let key = name_attribute(family);
                let name = meta
                    .iter()
                    .position(|(have, _)| have == key)
                    .map(|n| meta.remove(n).1)
                    .unwrap_or_default();
                let name = name.trim();
                let again = meta.iter().any(|(have, _)| have == key);
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
                if again {
                    // Which of the two attributes names the tool is a guess.
                    self.out(chunk).repaired(Kind::ExtraKey, span);
                }
                if closed {
                    self.close_empty(chunk, end);
                }
            }
            CandidateAt::Suffix => {
                let Begins::Thought(id) = candidate.begins else {
                    return None;
                };
                let suffix = self.bytes(chunk, candidate.end, end - 1);
                let inside = matches!(self.st.region, Region::Reasoning { .. });
                let quote = self.st.tail.opening().filter(|_| inside);
                if let Some(quote) = quote.filter(|_| !self.st.io.vouches(span.start)) {
                    self.await_quote(chunk, None, span, quote);
                } else if inside && self.opens(chunk, id, span.start, candidate.end) {
                    self.st.suffix = suffix;
                    self.thought_again(chunk, id, span);
                } else {
                    self.thought_mark(chunk, id, span, suffix);
                }
            }
            CandidateAt::Nameless { .. } | CandidateAt::Own(_) => match candidate.begins {
                Begins::Mark(number) => {
                    let mark = &self.set.plan.marks[usize::from(number)];
                    let (id, closes) = (mark.id, mark.closes);
                    self.dialect_issue(chunk, dialect, Kind::RepairedMarker, span);
                    match self.st.region {
                        Region::Reasoning { .. } if !closes => self.thought_again(chunk, id, span),
                        _ => self.thought_mark(chunk, id, span, vec![]),
                    }
                }
                Begins::Token(id) => self.loose_token(chunk, id, span),
                Begins::Block(_)
                | Begins::Tag(_)
                | Begins::Message
                | Begins::Rest
                | Begins::Thought(_) => {
                    let opened = Opened {
                        name: "",
                        meta: &[],
                        span,
                        at: end,
                    };
                    self.open(chunk, dialect, opened);
                    if loose {
                        self.out(chunk).repaired(Kind::RepairedMarker, span);
                    }
                }
            },
            CandidateAt::Payload(_)
            | CandidateAt::Ended { .. }
            | CandidateAt::Words { pattern: None } => {
                let header = Span::new(opening.start, candidate.end);
                if self.ends_thought(chunk, header) {
                    self.message_begins(chunk, dialect, header);
                }
                again = Some(self.rewind(chunk, candidate.end, end));
            }
            CandidateAt::Quoted { pattern, .. } | CandidateAt::Words { pattern } => {
                let marker = Span::new(opening.start, candidate.end);
                self.st.mode = Mode::Flow;
                self.st.node = ROOT;
                match (pattern, candidate.begins) {
                    (Some(pattern), _) => {
                        let Span { start, end, .. } = marker;
                        if !self.in_reasoning(chunk, pattern, start, end, end, false) {
                            // It closed a thought inside the thought.
                            self.deliver(chunk, end);
                        }
                    }
                    (None, Begins::Thought(id)) => self.thought_mark(chunk, id, marker, vec![]),
                    (None, _) => {}
                }
                again = Some(self.rewind(chunk, candidate.end, end));
            }
            CandidateAt::Tag(_)
            | CandidateAt::Field(_)
            | CandidateAt::Probe(_)
            | CandidateAt::FirstKey { .. }
            | CandidateAt::Json(_) => {
                self.open(
                    chunk,
                    dialect,
                    Opened {
                        name: "",
                        meta: &[],
                        span: Span::new(opening.start, candidate.end),
                        at: candidate.end,
                    },
                );
                let bare = match family {
                    Family::Framed(table) => {
                        candidate.begins.of(table).is_some_and(Opener::unmarked)
                    }
                    _ => false,
                };
                if let Some(block) = self.st.io.block.as_mut().filter(|_| bare) {
                    block.unmarked = true;
                }
                if loose {
                    let span = Span::new(opening.start, candidate.end);
                    self.out(chunk).repaired(Kind::RepairedMarker, span);
                }
                again = Some(self.rewind(chunk, candidate.end, end));
            }
        }
        again
    }

    /// The name that a walk found, or an empty string.
    pub(super) fn named_in(&self, chunk: Chunk<'_>, walk: &Walk) -> String {
        let span = walk.span(Hole::Name);
        if span.is_empty() {
            return String::new();
        }
        let name = self.bytes(chunk, span.start, span.end);
        lossy(&name).into_owned()
    }

    /// Closes a call whose opening tag closes itself.
    fn close_empty(&mut self, chunk: Chunk<'_>, end: u64) {
        let mut mode = std::mem::replace(&mut self.st.mode, Mode::Flow);
        if let Mode::Body(body) = &mut mode {
            // A call without parameters exceeds no limit.
            let _ = body.close_empty(&mut self.out(chunk), end);
            self.close(chunk, end);
        } else {
            // A limit forbade the call; there is nothing to skip.
            self.flow_again(end);
        }
    }
}
